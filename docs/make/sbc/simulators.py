"""Data sets with known truths: parameters from each prior of the package, implemented independently, and data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, xlog1py, xlogy

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.dirichlet import DirichletPosterior, dirichlet_posterior
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import INDEPENDENT, POOL_WEIGHT, SATURATED, SHARED, ShrinkagePrior
from bayescal.posterior.shrinkage.sub_model import PARAMETERS
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.quantities import PARAMETERS_OF
from sbc.joint_posterior import RANKED, JointPosterior, behind_the_bins
from sbc.ranks import one_by_one
from sbc.stacked import JointDraws, StackedCounts
from sbc.truths import (
    CROWDED_WITHIN,
    is_saturated,
    log_gamma_draws,
    normalised,
    saturated_accuracies,
    truncated_normal_draws,
    truth_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Draws of one shrinkage posterior, of which a random few are kept; see `one_by_one`.
POOL = 500


@dataclass(frozen=True, eq=False)
class DirichletSimulator:
    r"""Simulator of the Dirichlet model; made by `dirichlet_simulator`.

    It shares no code with the sampler under test: cells come from gammas on a logarithmic scale, and bin means are
    truncated by rejection. The likelihood of the confidences is not truncated, so their mean in a bin can fall outside
    the bin, which is impossible for counted rows; such bins are drawn again. This selection depends on the data alone
    and therefore does not change the posterior.

    Parameters
    ----------
    bins : Bins
        The bins.
    alpha : ndarray, shape (2, n_bins)
        Prior pseudo-rows of each cell (outcome, bin).
    rows : int
        Rows of each data set.
    weight : float
        Weight of each row.
    discarded : int
        Number of further rows of weight 0, in random cells. With them, Kish's effective number still equals `rows`, but
        the number of rows and the sum of weights do not.
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
        shape = (n_sets, len(self.bins))
        log_cell = log_gamma_draws(np.broadcast_to(self.alpha[:, None], (2, *shape)), rng)
        mass = normalised(np.logaddexp(*log_cell))
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
            np.full(shape, np.nan),  # not simulated; NaN would show if it were used
            self.weight**2 * n.astype(np.float64),
        )
        return _all_bins(mass[None], accuracy[None], (self.bins.midpoints + offset)[None]), counts

    def _confidences(self, cells: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw bin means and sums of confidences by outcome, relative to the middle of the bin."""
        n, widths = cells.sum(axis=0), self.bins.widths
        offset, deviation = np.zeros(n.shape), np.zeros(cells.shape)
        again = np.ones(n.shape, bool)
        while again.any():
            mean = widths * truncated_normal_draws(n.shape, rng)
            total = cells * mean + np.sqrt(cells) * self._sd * rng.standard_normal(cells.shape)
            offset, deviation = np.where(again, mean, offset), np.where(again, total, deviation)
            again = np.abs(deviation.sum(axis=0)) > n * widths / 2
        return offset, deviation

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Compute the log likelihood of cells and confidences, up to a constant; see `Simulator`."""
        n, k = counts.effective_n, counts.effective_k
        deviation = np.where(counts.occupied, counts.mean_confidence, 0.0) - bins.confidence
        return _cell_log_likelihood(bins, n, k) - (n * (deviation / self._sd) ** 2).sum(axis=-1) / 2

    def posterior(self, counts: BinnedCounts) -> DirichletPosterior:
        """Return the package's posterior under this prior, for one data set or many."""
        return dirichlet_posterior(counts, alpha=self.alpha)

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's sampler, all data sets at once."""
        return self.posterior(counts).sample(n_draws, rng=rng)

    @property
    def _sd(self) -> Floats:
        return self.bins.widths / np.sqrt(12)


def dirichlet_simulator(
    *, bins: Any = 15, alpha: str | ArrayLike = "two-rows", rows: int = 200, weight: float = 1.0, discarded: int = 0
) -> DirichletSimulator:
    """Make a simulator of the Dirichlet model, for `sbc`.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges.
    alpha : {"two-rows", "perks", "jeffreys", "uniform"}, float or array of shape (2, n_bins), default "two-rows"
        Prior pseudo-rows of each cell. Under the weak ones most truths have all their mass in a few bins.
    rows : int, default 200
        Rows of each data set.
    weight : float, default 1.0
        Weight of each row.
    discarded : int, default 0
        Number of further rows of weight 0, in random cells.

    Returns
    -------
    DirichletSimulator
        Source of truths and data.

    Examples
    --------
    >>> truth, counts = dirichlet_simulator(bins=4, rows=50).simulate(3, np.random.default_rng(1))
    >>> counts.n.shape, counts.n.sum(axis=1)
    ((3, 4), array([50, 50, 50]))
    """
    edges = make_bins(bins)
    pseudo_rows = dirichlet_posterior(BinnedCounts.empty(edges), alpha=alpha).alpha
    return DirichletSimulator(edges, pseudo_rows, _checks.whole_number("rows", rows), float(weight), discarded)


@dataclass(frozen=True, eq=False)
class ShrinkageSimulator:
    r"""Simulator of the shrinkage model; made by `shrinkage_simulator`.

    It shares no code with the sampler under test; see `sbc.truths`.

    Mean confidences are uniform in their bins; the posterior conditions on them. Where a bin is not off and there is no
    drift, its accuracy equals the mean confidence of the counts to the last bit, so that such truths tie with such
    draws. As in the posterior, bins without rows are left out: they have mass 0 and gap 0, and the other masses sum to
    1. This does not affect the check: the renormalised masses of the remaining bins are again Dirichlet, and the data
    determine the set of empty bins. Sub-models describe the remaining bins. Saturated bins are never all exactly as
    stated, neither in truths nor in draws, because that state has no prior probability.

    Parameters
    ----------
    bins : Bins
        The bins.
    rows : int
        Rows of each data set.
    prior : ShrinkagePrior
        Constants of the prior.
    crowded : bool
        Whether mean confidences of the first and the last bin are as near to 0 and 1 as `label_noise_ends` requires.
    pool : int
        Number of draws from each posterior, of which a random subset is kept; see `one_by_one`.
    """

    bins: Bins
    rows: int
    prior: ShrinkagePrior
    crowded: bool = False
    pool: int = POOL

    parameters = ("mass", "accuracy")
    independent = ()

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[JointDraws, StackedCounts]:
        """Draw parameters from the prior, and data given each; see `Simulator`."""
        shape = (n_sets, len(self.bins))
        mass, n = self._rows(shape, rng)
        confidence = self._confidences(shape, rng)
        apart = is_saturated(confidence) & (SATURATED in self.prior.sub_models)
        described = (n > 0) & ~apart
        crowded = described & self._at_ends
        sub_model, chosen = self._sub_models(crowded.any(axis=1), rng)
        accuracy, off, exact = saturated_accuracies(confidence, rng), apart & (n > 0), np.zeros(shape, bool)
        behind = {name: np.full(n_sets, PARAMETERS[name]) for name in self._ranked}
        for name in np.unique(chosen).tolist():
            of = np.flatnonzero(chosen == name)
            truth = truth_of(name, confidence[of], described[of], crowded[of], self.prior, rng)
            accuracy[of] = np.where(apart[of], accuracy[of], truth.accuracy)
            off[of] |= truth.off
            exact[of] = truth.exact
            for parameter in truth.parameters.keys() & behind.keys():
                behind[parameter][of] = truth.parameters[parameter]
        counts = self._counts(n, rng.binomial(n, accuracy), confidence)
        seen = np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), self.bins.midpoints)
        accuracy = np.where((apart | ~exact) & counts.occupied, accuracy, seen)
        parameters = behind_the_bins(sub_model, off, behind)
        truths = _all_bins(mass[None], accuracy[None], seen[None], {name: v[None] for name, v in parameters.items()})
        return truths, counts

    @property
    def _at_ends(self) -> NDArray[np.bool_]:
        """Whether each bin has a noise share of its own under label noise at extreme confidences, if it has rows."""
        place = np.arange(len(self.bins))
        return ((place == 0) | (place == len(self.bins) - 1)) & self.crowded

    def _confidences(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Draw mean confidences: uniform in their bins or, in crowded bins, in the tenth nearest to 0 or 1."""
        place = rng.random(shape)
        if self.crowded:
            place[:, 0] *= CROWDED_WITHIN
            place[:, -1] = 1 - CROWDED_WITHIN * place[:, -1]
        return self.bins.edges[:-1] + self.bins.widths * place

    def _sub_models(self, with_ends: NDArray[np.bool_], rng: np.random.Generator) -> tuple[Ints, NDArray[np.str_]]:
        """Draw the sub-model of each data set, as index and name; `label_noise_ends` needs a crowded end."""
        index, chosen = np.zeros(len(with_ends), np.int64), np.full(len(with_ends), max(self.prior.names, key=len))
        for prior, of in ((self.prior, with_ends), (self.prior.without_ends(), ~with_ends)):
            index[of] = rng.choice(len(prior.names), of.sum(), p=prior_probabilities(prior))
            chosen[of] = np.array(prior.names)[index[of]]
        return index, chosen

    @property
    def _ranked(self) -> list[str]:
        """Parameters of the sub-models that are ranked; not tau, whose draws lie on a grid."""
        return [p for p in RANKED if any(p in PARAMETERS_OF[name] for name in self.prior.names)]

    def _rows(self, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Draw masses, and rows in each bin."""
        alpha = 2 / shape[1] if self.prior.mass_alpha is None else self.prior.mass_alpha
        log_mass = log_gamma_draws(np.full(shape, alpha), rng)
        n = rng.multinomial(self.rows, normalised(log_mass))
        return normalised(np.where(n > 0, log_mass, -np.inf)), n

    def _counts(self, n: Ints, k: Ints, confidence: Floats) -> StackedCounts:
        cells = np.stack([n - k, k])
        unknown = np.full(n.shape, np.nan)  # squares are not simulated; NaN would show if they were used
        deviation = cells * (confidence - self.bins.midpoints)
        return StackedCounts(self.bins, cells, cells.astype(np.float64), deviation, unknown, n.astype(np.float64))

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Compute the log likelihood of bins and outcomes, up to a constant; see `Simulator`."""
        return _cell_log_likelihood(bins, counts.effective_n, counts.effective_k)

    def posterior(self, counts: BinnedCounts) -> "JointPosterior":
        """Return the package's posterior under this prior, for one data set."""
        return JointPosterior(ShrinkagePosterior(counts, self.prior))

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's sampler, one data set after the other."""
        return one_by_one(self.posterior, pool=self.pool)(counts, n_draws, rng)


def prior_probabilities(prior: ShrinkagePrior) -> Floats:
    """Compute prior probabilities of the sub-models, for at most one family of the pool.

    Parameters
    ----------
    prior : ShrinkagePrior
        The prior.

    Returns
    -------
    ndarray
        Probabilities in the order of ``prior.names``.
    """
    weight = {
        name: (POOL_WEIGHT if family in prior.pooled else sum(of.values())) * w / sum(of.values())
        for family, of in prior.families.items()
        for name, w in of.items()
    }
    each = np.array([weight.get(name, 0.0) for name in prior.names])
    return each / each.sum()


def shrinkage_simulator(
    *,
    bins: Any = 15,
    rows: int = 500,
    mass_alpha: float = 2.0,
    sub_models: Sequence[str] = (INDEPENDENT,),
    crowded: bool = False,
    **prior: Any,
) -> ShrinkageSimulator:
    """Make a simulator of the shrinkage model, for `sbc`.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges.
    rows : int, default 500
        Rows of each data set.
    mass_alpha : float, default 2.0
        Dirichlet parameter of each bin's mass. The package's own default, 2 / M, leaves most bins without rows.
    sub_models : sequence of str, default ("independent",)
        As for `shrinkage_posterior`. At most one of the families "independent", "shared" and "small_errors" can take
        part, because no prior has their linear pool as its posterior.
    crowded : bool, default False
        Whether mean confidences of the first and the last bin lie within a tenth of its width of 0 and 1, as label
        noise at the ends requires. Otherwise that sub-model takes no part, and mean confidences are uniform in all
        bins.
    **prior
        Other constants of the prior, as for `shrinkage_posterior`.

    Returns
    -------
    ShrinkageSimulator
        Source of truths and data.

    Raises
    ------
    ValueError, TypeError
        As `shrinkage_posterior` does, if several families of the pool take part, or if `rows` is not a positive
        integer.

    Examples
    --------
    >>> truth, counts = shrinkage_simulator(bins=4, rows=50).simulate(3, np.random.default_rng(1))
    >>> counts.n.sum(axis=1), sorted(truth.behind)
    (array([50, 50, 50]), ['bins_off', 'intercept', 'rho', 'slope', 'sub_model'])
    """
    edges = make_bins(bins)
    empty = shrinkage_posterior(BinnedCounts.empty(edges), mass_alpha=mass_alpha, sub_models=sub_models, **prior)
    pool = [family for family in empty.prior_options.pooled if family in empty.prior_options.families]
    if len(pool) > 1:
        raise ValueError(
            f"`sub_models` must have at most one of {pool}: their linear pool is the posterior of no prior. "
            f"Simulate each family, as in `sub_models=[{SHARED!r}]`."
        )
    options = empty.prior_options if crowded else empty.prior_options.without_ends()
    return ShrinkageSimulator(edges, _checks.whole_number("rows", rows), options, crowded)


# --- parts


def _all_bins(mass: Floats, accuracy: Floats, confidence: Floats, behind: dict[str, Any] | None = None) -> JointDraws:
    return JointDraws(mass, accuracy, confidence, np.ones(mass.shape[-1], bool), mass, behind or {})


def _cell_log_likelihood(bins: BinDraws, n: Floats, k: Floats) -> Floats:
    """Compute the log likelihood of multinomial bins and binomial outcomes."""
    outcome = xlogy(k, bins.accuracy) + xlog1py(n - k, -bins.accuracy)
    return (xlogy(n, bins.mass) + outcome).sum(axis=-1)
