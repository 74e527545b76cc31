"""Data sets of known truth: parameters from each prior of the package, written once more, and data given them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal._draws import BinDraws
from bayescal.posterior._prior import ShrinkagePrior
from bayescal.posterior.dirichlet import DirichletPosterior, dirichlet_posterior
from bayescal.posterior.shrinkage import ShrinkageDraws, ShrinkagePosterior, shrinkage_posterior
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.sbc import one_by_one
from bayescal.verify.stacked import JointDraws, StackedCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Draws of one shrinkage posterior, of which a random few are kept; see `one_by_one`.
POOL = 500
#: Sub-models in the order of `ShrinkagePosterior.probabilities`: whether there is drift, and the kind of residual.
DRIFTS = np.array([True, False, False, True, True])
RESIDUALS = np.array(["none", "dense", "sparse", "dense", "sparse"])
#: How far from 0 and 1 the prior keeps a mean confidence, and where it sets the leverage of the slope.
FLOOR, LEVERAGE_FLOOR = 1e-9, 1e-4


@dataclass(frozen=True, eq=False)
class ReferenceSimulator:
    r"""The reference model as a source of data; made by `reference_simulator`.

    It shares no code with the sampler under test: cells are gammas of their own on a logarithmic scale, bin means are
    truncated by rejection. As the likelihood of the confidences is not truncated, their mean in a bin can fall
    outside it, which no counted rows can do; such bins are drawn again. That is a choice by the data alone, so the
    posterior stays what it is.

    Parameters
    ----------
    bins : Bins
        The edges.
    alpha : ndarray, shape (2, n_bins)
        Prior pseudo-rows of each cell (outcome, bin).
    rows : int
        Rows of each data set.
    weight : float
        Weight of each of them.
    discarded : int
        Further rows of weight 0, in random cells. Then Kish's effective number is `rows` exactly, and nothing else is.
    """

    bins: Bins
    alpha: Floats
    rows: int
    weight: float = 1.0
    discarded: int = 0

    parameters = ("mass", "accuracy", "confidence")
    independent = ("accuracy", "confidence")

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[BinDraws, StackedCounts]:
        """Draw parameters from the prior, and data given each; see `Simulator`."""
        from scipy.special import expit

        shape = (n_sets, len(self.bins))
        log_cell = _log_gamma_draws(np.broadcast_to(self.alpha[:, None], (2, *shape)), rng)
        mass = _normalised(np.logaddexp(*log_cell))
        accuracy = expit(log_cell[1] - log_cell[0])
        n = rng.multinomial(self.rows, mass)
        k = rng.binomial(n, accuracy)
        cells = np.stack([n - k, k])
        offset, deviation = self._confidences(cells, rng)
        zeros = rng.multinomial(self.discarded, np.full(2 * len(self.bins), 0.5 / len(self.bins)), n_sets)
        counts = StackedCounts(
            self.bins,
            cells + zeros.reshape(n_sets, 2, -1).swapaxes(0, 1),
            self.weight * cells.astype(np.float64),
            self.weight * deviation,
            np.full(shape, np.nan),  # not simulated: whatever used it would show
            self.weight**2 * n.astype(np.float64),
        )
        return _all_bins(mass[None], accuracy[None], (self.bins.midpoints + offset)[None]), counts

    def _confidences(self, cells: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Bin means and, by outcome, sums of confidences, all from the middle of the bin."""
        n, widths = cells.sum(axis=0), self.bins.widths
        offset, deviation = np.zeros(n.shape), np.zeros(cells.shape)
        again = np.ones(n.shape, bool)
        while again.any():
            mean = widths * _truncated_normal_draws(n.shape, rng)
            total = cells * mean + np.sqrt(cells) * self._sd * rng.standard_normal(cells.shape)
            offset, deviation = np.where(again, mean, offset), np.where(again, total, deviation)
            again = np.abs(deviation.sum(axis=0)) > n * widths / 2
        return offset, deviation

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Log likelihood of cells and confidences, up to a constant; see `Simulator`."""
        n, k = counts.effective_n, counts.effective_k
        deviation = np.where(counts.occupied, counts.mean_confidence, 0.0) - bins.confidence
        return _cell_log_likelihood(bins, n, k) - (n * (deviation / self._sd) ** 2).sum(axis=-1) / 2

    def posterior(self, counts: BinnedCounts) -> DirichletPosterior:
        """The package's posterior under this prior, of one data set or of many."""
        return dirichlet_posterior(counts, alpha=self.alpha)

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's own sampler, all data sets at once."""
        return self.posterior(counts).sample(n_draws, rng=rng)

    @property
    def _sd(self) -> Floats:
        return self.bins.widths / np.sqrt(12)


def reference_simulator(
    *, bins: Any = 15, alpha: str | ArrayLike = "reference", rows: int = 200, weight: float = 1.0, discarded: int = 0
) -> ReferenceSimulator:
    """Make data sets from the reference model, for `sbc`.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges.
    alpha : {"reference", "perks", "jeffreys", "uniform"}, float or array of shape (2, n_bins), default "reference"
        Prior pseudo-rows of each cell. Under the weak ones most truths have all their mass in a few bins.
    rows : int, default 200
        Rows of each data set.
    weight : float, default 1.0
        Weight of each row.
    discarded : int, default 0
        Further rows of weight 0, in random cells.

    Returns
    -------
    ReferenceSimulator
        The simulator.

    Examples
    --------
    >>> truth, counts = reference_simulator(bins=4, rows=50).simulate(3, np.random.default_rng(1))
    >>> counts.n.shape, counts.n.sum(axis=1)
    ((3, 4), array([50, 50, 50]))
    """
    made = make_bins(bins)
    pseudo_rows = dirichlet_posterior(BinnedCounts.empty(made), alpha=alpha).alpha
    return ReferenceSimulator(made, pseudo_rows, _checks.whole_number("rows", rows), float(weight), discarded)


@dataclass(frozen=True, eq=False)
class ShrinkageSimulator:
    r"""The shrinkage prior as a source of data; made by `shrinkage_simulator`.

    It shares no code with the sampler under test: Betas come from gammas on a logarithmic scale, tau from its density
    by inversion or rejection, and there is no grid.

    Mean confidences are uniform in their bins: the posterior is given them, whatever they are. Where a bin is not off
    and there is no drift, its accuracy *is* the mean confidence of the counts, to the last bit, so that such truths
    tie with such draws. Bins without rows are left out, as the posterior does: they have mass 0 and gap 0, and the
    others' masses sum to 1. That loses nothing: rescaled, the other components of a Dirichlet are a Dirichlet again
    and independent of those left out, and which bins those are is a function of the data.

    Parameters
    ----------
    bins : Bins
        The edges.
    rows : int
        Rows of each data set.
    prior : ShrinkagePrior
        Constants of the prior.
    pool : int
        Draws of each posterior, of which a random few are kept; see `one_by_one`.
    """

    bins: Bins
    rows: int
    prior: ShrinkagePrior
    pool: int = POOL

    parameters = ("mass", "accuracy")
    independent = ()

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[JointDraws, StackedCounts]:
        """Draw parameters from the prior, and data given each; see `Simulator`."""
        from scipy.special import expit, logit

        shape = (n_sets, len(self.bins))
        mass, n = self._rows(shape, rng)
        confidence = self.bins.edges[:-1] + self.bins.widths * rng.random(shape)
        sub_model = rng.choice(5, n_sets, p=np.exp(self.prior.log_weights))
        drift, residual = DRIFTS[sub_model], RESIDUALS[sub_model]
        intercept = np.where(drift, rng.normal(0, self.prior.intercept_sd, n_sets), 0.0)
        log_slope = np.where(drift, rng.normal(0, self.prior.log_slope_sd, n_sets), 0.0)
        x = logit(np.clip(confidence, LEVERAGE_FLOOR, 1 - LEVERAGE_FLOOR))
        eta = logit(np.clip(confidence, FLOOR, 1 - FLOOR)) + intercept[:, None] + np.expm1(log_slope)[:, None] * x
        rho = np.where(residual == "sparse", rng.choice(self.prior.rho, n_sets), 0.0)
        off = np.where((residual == "dense")[:, None], True, rng.random(shape) < rho[:, None]) & (n > 0)
        accuracy = np.where(off, _scattered(eta, self._tau(residual, shape, rng), rng), expit(eta))
        counts = self._counts(n, rng.binomial(n, accuracy), confidence)
        seen = np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), self.bins.midpoints)
        accuracy = np.where((drift[:, None] | off) & counts.occupied, accuracy, seen)
        behind = _behind(sub_model, intercept, np.exp(log_slope), rho, off)
        truth = _all_bins(mass[None], accuracy[None], seen[None], {name: v[None] for name, v in behind.items()})
        return truth, counts

    def _rows(self, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Masses, and rows in each bin."""
        alpha = 2 / shape[1] if self.prior.mass_alpha is None else self.prior.mass_alpha
        log_mass = _log_gamma_draws(np.full(shape, alpha), rng)
        n = rng.multinomial(self.rows, _normalised(log_mass))
        return _normalised(np.where(n > 0, log_mass, -np.inf)), n

    def _tau(self, residual: NDArray[np.str_], shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Of every bin: one for all under a dense residual, half-Normal on (0, 1); else of density c tau^(c-1)."""
        tau = np.abs(rng.normal(0, self.prior.dense_scale, shape[0]))
        while (outside := tau >= 1).any():
            tau[outside] = np.abs(rng.normal(0, self.prior.dense_scale, int(outside.sum())))
        each = (1 - rng.random(shape)) ** (1 / self.prior.sparse_shape)
        return np.where((residual == "dense")[:, None], tau[:, None], each)

    def _counts(self, n: Ints, k: Ints, confidence: Floats) -> StackedCounts:
        cells = np.stack([n - k, k])
        unknown = np.full(n.shape, np.nan)  # squares are not simulated: whatever used them would show
        deviation = cells * (confidence - self.bins.midpoints)
        return StackedCounts(self.bins, cells, cells.astype(np.float64), deviation, unknown, n.astype(np.float64))

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Log likelihood of bins and outcomes, up to a constant; see `Simulator`."""
        return _cell_log_likelihood(bins, counts.effective_n, counts.effective_k)

    def posterior(self, counts: BinnedCounts) -> "JointPosterior":
        """The package's posterior under this prior, of one data set."""
        return JointPosterior(ShrinkagePosterior(counts, self.prior))

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's own sampler, one data set after the other."""
        return one_by_one(self.posterior, pool=self.pool)(counts, n_draws, rng)


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """A shrinkage posterior whose draws tell the parameters behind the bins.

    Parameters
    ----------
    shrinkage : ShrinkagePosterior
        The posterior.
    """

    shrinkage: ShrinkagePosterior

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> JointDraws:
        """Draw bins and parameters; see `joint_draws`."""
        return joint_draws(self.shrinkage.sample_all(n_draws, rng=rng))


def joint_draws(drawn: ShrinkageDraws) -> JointDraws:
    """Draws of a shrinkage posterior as `sbc` ranks them.

    Parameters
    ----------
    drawn : ShrinkageDraws
        The draws.

    Returns
    -------
    JointDraws
        The bins, and behind them sub_model (its index), intercept, slope, rho (0 but under a sparse residual) and
        bins_off (their number). Not tau: its draws lie on a grid.
    """
    bins, rho = drawn.bins, np.nan_to_num(drawn.rho)
    behind = _behind(drawn.sub_model, drawn.intercept, drawn.slope, rho, drawn.off)
    return JointDraws(bins.mass, bins.accuracy, bins.confidence, bins.occupied, bins.weight, behind)


def _behind(sub_model: Ints, intercept: Floats, slope: Floats, rho: Floats, off: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        "sub_model": sub_model,
        "intercept": intercept,
        "slope": slope,
        "rho": rho,
        "bins_off": off.sum(axis=-1),
    }


def shrinkage_simulator(
    *, bins: Any = 15, rows: int = 500, mass_alpha: float = 2.0, **prior: Any
) -> ShrinkageSimulator:
    """Make data sets from the shrinkage prior, for `sbc`.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges.
    rows : int, default 500
        Rows of each data set.
    mass_alpha : float, default 2.0
        Dirichlet parameter of each bin's mass. The package's own default, 2 / M, leaves most bins without rows.
    **prior
        Other constants of the prior, as for `shrinkage_posterior`.

    Returns
    -------
    ShrinkageSimulator
        The simulator.

    Raises
    ------
    ValueError, TypeError
        As `shrinkage_posterior` does, or if `rows` is not a positive integer.

    Examples
    --------
    >>> truth, counts = shrinkage_simulator(bins=4, rows=50).simulate(3, np.random.default_rng(1))
    >>> counts.n.sum(axis=1), sorted(truth.behind)
    (array([50, 50, 50]), ['bins_off', 'intercept', 'rho', 'slope', 'sub_model'])
    """
    made = make_bins(bins)
    empty = shrinkage_posterior(BinnedCounts.empty(made), mass_alpha=mass_alpha, **prior)
    return ShrinkageSimulator(made, _checks.whole_number("rows", rows), empty.prior_options)


# --- parts


def _all_bins(mass: Floats, accuracy: Floats, confidence: Floats, behind: dict[str, Any] | None = None) -> JointDraws:
    return JointDraws(mass, accuracy, confidence, np.ones(mass.shape[-1], bool), mass, behind or {})


def _normalised(log_mass: Floats) -> Floats:
    """Masses that sum to 1 over the last axis; what is -inf has none."""
    mass = np.exp(log_mass - log_mass.max(axis=-1, keepdims=True))
    return mass / mass.sum(axis=-1, keepdims=True)


def _scattered(eta: Floats, tau: Floats, rng: np.random.Generator) -> Floats:
    """Betas of mean h = expit(eta) and standard deviation tau sqrt(h (1 - h))."""
    from scipy.special import expit

    kappa = 1 / tau**2 - 1
    with np.errstate(over="ignore"):
        return expit(_log_gamma_draws(kappa * expit(eta), rng) - _log_gamma_draws(kappa * expit(-eta), rng))


def _log_gamma_draws(shape: Floats, rng: np.random.Generator) -> Floats:
    """Logarithms of gamma draws, however small the shape: G(a) = G(a + 1) U^(1/a)."""
    return np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape


def _truncated_normal_draws(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Normal of variance 1/12 truncated to [-1/2, 1/2], by rejection."""
    drawn = rng.normal(0, np.sqrt(1 / 12), shape)
    while (outside := np.abs(drawn) > 0.5).any():
        drawn[outside] = rng.normal(0, np.sqrt(1 / 12), int(outside.sum()))
    return drawn


def _cell_log_likelihood(bins: BinDraws, n: Floats, k: Floats) -> Floats:
    """Of multinomial bins and binomial outcomes."""
    from scipy.special import xlog1py, xlogy

    outcome = xlogy(k, bins.accuracy) + xlog1py(n - k, -bins.accuracy)
    return (xlogy(n, bins.mass) + outcome).sum(axis=-1)
