"""Simulation-based calibration: a truth drawn from the prior must rank uniformly among draws from its posterior."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal._draws import BinDraws
from bayescal.estimands.errors import ece, signed_error
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior, dirichlet_posterior
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Data sets at a time: their draws (99 of 15 bins, each a double) stay in a few megabytes.
CHUNK = 200
#: p-values are right to this, absolutely; smaller ones are reported as this.
SMALLEST_P = 1e-12


class StackedCounts(BinnedCounts):
    """Counts of many data sets on the same bins, so that what a posterior computes from counts broadcasts over them.

    The arrays are those of `BinnedCounts` with one axis more before that of the bins: ``cells``, ``weight`` and
    ``deviation`` have shape (2, n_sets, n_bins), the others (n_sets, n_bins).
    """

    @property
    def n_rows(self) -> Any:
        """Number of rows of each data set, shape (n_sets, 1)."""
        return self.n.sum(axis=-1, keepdims=True)

    @property
    def share(self) -> Floats:
        """Share of each data set's (weighted) rows in each bin, shape (n_sets, n_bins)."""
        weight = self.weight.sum(axis=0)
        total = weight.sum(axis=-1, keepdims=True)
        return weight / np.where(total > 0, total, 1.0)

    @property
    def effective_rows(self) -> Any:
        """Kish's effective number of all rows of each data set, shape (n_sets, 1)."""
        total = self.weight.sum(axis=(0, -1))[:, None]
        squares = self.weight_sq.sum(axis=-1, keepdims=True)
        return np.divide(total**2, squares, out=np.zeros_like(squares), where=squares > 0)

    def __len__(self) -> int:
        return self.cells.shape[1]

    def __iter__(self) -> Iterator[BinnedCounts]:
        for i in range(len(self)):
            yield BinnedCounts(
                self.bins,
                self.cells[:, i],
                self.weight[:, i],
                self.deviation[:, i],
                self.deviation_sq[i],
                self.weight_sq[i],
                self.target,
            )

    def __repr__(self) -> str:
        return f"StackedCounts({self.bins}, {len(self)} data sets)"


#: Draws of shape (n_draws, n_sets, n_bins) from the posterior of each data set: (counts, n_draws, rng) -> draws.
Sampler = Callable[[StackedCounts, int, np.random.Generator], BinDraws]


class Model(Protocol):
    """A prior and a likelihood that data sets can be simulated from, and the sampler that claims their posterior."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """What is ranked in every bin: fields of `BinDraws`."""

    @property
    def independent(self) -> tuple[str, ...]:
        """Those of them that are independent between bins given the data, so that ranks of all bins may be pooled."""

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[BinDraws, StackedCounts]:
        """Truths of shape (1, n_sets, n_bins) from the prior, and data given each."""

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Log likelihood of the data sets, up to a constant, at draws (..., n_sets, n_bins)."""

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's own sampler."""


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    r"""The reference model as a source of data; made by `reference_model`.

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
        """Draw parameters from the prior, and data given each; see `Model`."""
        from scipy.special import expit

        shape = (n_sets, len(self.bins))
        log_cell = _log_gamma_draws(np.broadcast_to(self.alpha[:, None], (2, *shape)), rng)
        log_mass = np.logaddexp(*log_cell)
        mass = np.exp(log_mass - np.logaddexp.reduce(log_mass, axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
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
        return _bin_draws(mass[None], accuracy[None], (self.bins.midpoints + offset)[None]), counts

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
        """Log likelihood of cells and confidences, up to a constant; see `Model`."""
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


def reference_model(
    *, bins: Any = 15, alpha: str | ArrayLike = "reference", rows: int = 200, weight: float = 1.0, discarded: int = 0
) -> ReferenceModel:
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
    ReferenceModel
        The simulator.

    Examples
    --------
    >>> truth, counts = reference_model(bins=4, rows=50).simulate(3, np.random.default_rng(1))
    >>> counts.n.shape, counts.n.sum(axis=1)
    ((3, 4), array([50, 50, 50]))
    """
    made = make_bins(bins)
    pseudo_rows = dirichlet_posterior(BinnedCounts.empty(made), alpha=alpha).alpha
    return ReferenceModel(made, pseudo_rows, _checks.whole_number("rows", rows), float(weight), discarded)


def one_by_one(posterior: Callable[[BinnedCounts], Posterior], *, pool: int | None = None) -> Sampler:
    """Make a sampler of many data sets from any posterior of the package, by a loop over the data sets.

    Parameters
    ----------
    posterior : callable
        From counts to a posterior.
    pool : int, optional
        Draw so many and keep a random few. Needed where the draws of one call are not quite independent (as where
        sub-models are allotted in proportion): such draws are *more* even than chance, which ranks would show.

    Returns
    -------
    callable
        A sampler for `sbc`.

    Examples
    --------
    >>> model = reference_model(bins=4, rows=50)
    >>> ranks = sbc(model, one_by_one(model.posterior), runs=100, cells=5, rng=1)
    >>> ranks.values["ece"].shape
    (100,)
    """

    def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        size = max(pool or n_draws, n_draws)
        fields: dict[str, list[Floats]] = {"mass": [], "accuracy": [], "confidence": [], "weight": []}
        for one in counts:
            drawn = posterior(one).sample(size, rng=rng)
            kept = rng.choice(size, n_draws, replace=False) if size > n_draws else slice(None)
            for name, values in fields.items():
                values.append(np.broadcast_to(getattr(drawn, name), (size, len(one.bins)))[kept])
        mass, accuracy, confidence, weight = (np.stack(values, axis=1) for values in fields.values())
        return BinDraws(mass, accuracy, confidence, np.ones(mass.shape[-1], bool), weight)

    return sample


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of truths among posterior draws, and whether they are uniform on 0..n_draws.

    Parameters
    ----------
    values : dict of str to ndarray of int, shape (n_runs,) or (n_runs, n_bins)
        How many of the draws lie below the truth, ties broken at random.
    n_draws : int
        Draws that each truth was compared with.
    n_cells : int
        Cells of the histograms; divides ``n_draws + 1``.
    pooled : tuple of str
        Quantities of bins whose ranks are independent between bins, so that all bins are tested as one sample too.
    """

    values: dict[str, Ints]
    n_draws: int
    n_cells: int
    pooled: tuple[str, ...] = ()

    @property
    def n_runs(self) -> int:
        """Number of simulated data sets."""
        return len(next(iter(self.values.values())))

    @cached_property
    def samples(self) -> dict[str, Ints]:
        """Every tested sample of ranks by name: ``ece``, ``accuracy[3]``, ``accuracy, all bins``, ..."""
        found = {}
        for name, ranks in self.values.items():
            if ranks.ndim == 1:
                found[name] = ranks
                continue
            if name in self.pooled:
                found[f"{name}, all bins"] = ranks.ravel()
            found |= {f"{name}[{b}]": ranks[:, b] for b in range(ranks.shape[1])}
        return found

    def histogram(self, name: str) -> Ints:
        """Ranks of one sample counted in `n_cells` cells of equal width."""
        cell = self.samples[name] // ((self.n_draws + 1) // self.n_cells)
        return np.bincount(cell, minlength=self.n_cells)

    @cached_property
    def chi_square(self) -> dict[str, float]:
        """p-value of the chi-square test of each sample (asymptotic)."""
        return {name: chi_square_p(self.histogram(name)) for name in self.samples}

    @cached_property
    def ecdf(self) -> dict[str, float]:
        """p-value of each sample's empirical distribution function leaving its simultaneous band (exact)."""
        return {name: ecdf_p(self.histogram(name)) for name in self.samples}

    @cached_property
    def p_values(self) -> dict[str, float]:
        """p-value of each sample by both tests together: twice the smaller."""
        return {name: min(1.0, 2 * min(self.chi_square[name], self.ecdf[name])) for name in self.samples}

    @property
    def p_value(self) -> float:
        """p-value of all samples together: the smallest, times their number (Bonferroni)."""
        return min(1.0, len(self.samples) * min(self.p_values.values()))

    def rejected(self, error_rate: float = 0.01) -> list[str]:
        """Names of the samples that are not uniform, worst first.

        Parameters
        ----------
        error_rate : float, default 0.01
            Probability that a right sampler has any.
        """
        limit = _checks.fraction("error_rate", error_rate) / len(self.samples)
        return sorted((n for n, p in self.p_values.items() if p < limit), key=self.p_values.__getitem__)

    def summary(self) -> list[dict[str, Any]]:
        """One dict per sample: quantity, ranks, both p-values, and both together."""
        return [
            {
                "quantity": name,
                "ranks": len(ranks),
                "chi_square_p": self.chi_square[name],
                "ecdf_p": self.ecdf[name],
                "p": self.p_values[name],
            }
            for name, ranks in self.samples.items()
        ]

    def __repr__(self) -> str:
        return f"Ranks({self.n_runs} runs, {self.n_draws} draws, {len(self.samples)} samples, p = {self.p_value:.2g})"


def sbc(
    model: Model,
    sampler: Sampler | None = None,
    *,
    runs: int = 1000,
    draws: int = 99,
    cells: int = 20,
    rng: Any = None,
    progress: bool = False,
) -> Ranks:
    r"""Simulation-based calibration of a sampler.

    Parameters
    ----------
    model : ReferenceModel or other Model
        Where truths and data come from.
    sampler : callable, optional
        ``(counts, n_draws, rng) -> BinDraws`` with arrays of shape (n_draws, n_sets, n_bins). Default: the package's
        sampler of that model. `one_by_one` makes one from any posterior.
    runs : int, default 1000
        Simulated data sets. Under the reference model with 15 bins the pooled ranks of all accuracies show (p < 1e-6)
        a standard deviation that is 20 % too large in 100 runs, 5 % in 1000, 1.5 % in 10000. One quantity alone needs
        far more: the ranks of the ECE show 20 % in 1000 runs and hardly 5 % in 10000.
    draws : int, default 99
        Posterior draws L that each truth is ranked among; ranks are 0..L.
    cells : int, default 20
        Cells of the histograms; must divide L + 1.
    rng : None, int, SeedSequence or Generator
        Randomness. Data sets have a stream of their own, so that two samplers see the same ones.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    Ranks
        Of every parameter in every bin, and of the data-dependent quantities ``ece``, ``signed_error``,
        ``log_likelihood`` and ``worst_gap`` (the gap of the bin whose observed gap is largest).

    Raises
    ------
    ValueError, TypeError
        If `cells` does not divide `draws` + 1, or a number is not a positive integer.

    Notes
    -----
    If :math:`\vartheta \sim p(\vartheta)`, :math:`y \sim p(y \mid \vartheta)` and the draws are independent from
    :math:`p(\vartheta \mid y)`, then truth and draws are exchangeable, and the rank of any
    :math:`f(\vartheta, y)` is uniform on 0..L. Functions of the data too are needed: a sampler that ignores the
    data and draws from the prior has uniform ranks of every parameter, but not of the likelihood.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
    simulation-based calibration. Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman and Vehtari (2023),
    Simulation-based calibration checking for Bayesian computation: the choice of test quantities shapes sensitivity.

    Examples
    --------
    >>> ranks = sbc(reference_model(bins=5, rows=100), runs=200, cells=10, rng=1)
    >>> ranks.rejected(0.001)
    []
    """
    runs = _checks.whole_number("runs", runs)
    draws = _checks.whole_number("draws", draws)
    cells = _checks.whole_number("cells", cells, 2)
    if (draws + 1) % cells:
        raise ValueError(
            f"`cells` must divide `draws` + 1, or cells hold unequal numbers of ranks; {cells} does not divide "
            f"{draws + 1}. `draws={cells * max(1, (draws + 1) // cells) - 1}` would do."
        )
    for_data, for_draws, for_ties = _checks.generator(rng).spawn(3)
    parts: dict[str, list[Ints]] = {}
    for start in _shown(range(0, runs, CHUNK), progress):
        truth, counts = model.simulate(min(CHUNK, runs - start), for_data)
        drawn = (sampler or model.sample)(counts, draws, for_draws)
        expected = _quantities(truth, counts, model)
        for name, values in _quantities(drawn, counts, model).items():
            parts.setdefault(name, []).append(_ranks(expected[name], values, for_ties))
    return Ranks({name: np.concatenate(ranks) for name, ranks in parts.items()}, draws, cells, model.independent)


def _quantities(bins: BinDraws, counts: StackedCounts, model: Model) -> dict[str, Floats]:
    """Everything that is ranked, of shape (n_draws, n_sets) or (n_draws, n_sets, n_bins)."""
    gap = bins.gap
    observed = np.where(counts.occupied, np.abs(counts.accuracy - counts.mean_confidence), -1.0)
    worst = observed.argmax(axis=-1)
    flat = _bin_draws(*(np.broadcast_to(v, gap.shape).reshape(-1, gap.shape[-1]) for v in _fields(bins)))
    return {
        "ece": ece(flat).values.reshape(gap.shape[:-1]),
        "signed_error": signed_error(flat).values.reshape(gap.shape[:-1]),
        "log_likelihood": model.log_likelihood(bins, counts),
        "worst_gap": gap[:, np.arange(len(worst)), worst],
        **{name: np.broadcast_to(getattr(bins, name), gap.shape) for name in model.parameters},
    }


def _fields(bins: BinDraws) -> tuple[Floats, Floats, Floats, Floats]:
    return bins.mass, bins.accuracy, bins.confidence, bins.weight


def _bin_draws(mass: Floats, accuracy: Floats, confidence: Floats, weight: Floats | None = None) -> BinDraws:
    occupied = np.ones(mass.shape[-1], bool)
    return BinDraws(mass, accuracy, confidence, occupied, mass if weight is None else weight)


def _ranks(truth: Floats, draws: Floats, rng: np.random.Generator) -> Ints:
    """Draws below the truth, and a random number of those equal to it."""
    ties = (draws == truth).sum(axis=0)
    return (draws < truth).sum(axis=0) + rng.integers(0, ties, endpoint=True)


# --- parts of models


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


# --- tests of uniformity


def chi_square_p(histogram: ArrayLike) -> float:
    """p-value of Pearson's chi-square test that counts come from equally probable cells.

    Parameters
    ----------
    histogram : array-like of int, shape (n_cells,)
        The counts.

    Returns
    -------
    float
        In [0, 1]. Asymptotic: wants about five or more expected in a cell.

    Examples
    --------
    Two cells of 60 and 40: chi-square 4 on one degree of freedom.

    >>> chi_square_p([60, 40])
    0.0455
    """
    from scipy.special import chdtrc

    counts = np.asarray(histogram)
    expected = counts.sum() / len(counts)
    return float(chdtrc(len(counts) - 1, ((counts - expected) ** 2).sum() / expected))


def ecdf_p(histogram: ArrayLike) -> float:
    r"""p-value of the simultaneous test that an empirical distribution function is that of equally probable cells.

    Parameters
    ----------
    histogram : array-like of int, shape (n_cells,)
        The counts.

    Returns
    -------
    float
        Probability of an empirical distribution function that comes somewhere as far out in its pointwise Binomial
        tails as this one, or further. Exact but for rounding; at least 1e-12.

    Notes
    -----
    The statistic of Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications
    in goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32, eq. 2 and 13:
    :math:`\gamma = 2 \min_i \min(P(B_i \le c_i), P(B_i \ge c_i))`. Its distribution is found as there by following the
    cumulative counts from cell to cell; as a Poisson process conditioned on its total (Moscovich and Nadler 2017) each
    step is a convolution.

    Examples
    --------
    One point of evaluation, B ~ Binomial(3, 1/2): P(B = 0 or B = 3) = 1/4.

    >>> ecdf_p([3, 0])
    0.25
    """
    counts = np.asarray(histogram, dtype=np.int64)
    n, below = int(counts.sum()), np.cumsum(counts)[:-1]
    place = np.arange(1, len(counts)) / len(counts)
    level = 2 * min(float(_at_most(below, n, place).min()), float(_at_least(below, n, place).min()))
    if level >= 1:
        return 1.0
    if level * len(place) < SMALLEST_P:  # the union bound
        return SMALLEST_P
    # twice the Binomial tail is compared with itself at other points: equal but for rounding counts as equal
    return max(1 - _probability_inside(*_band(n, len(counts), level * (1 + 1e-9))), SMALLEST_P)


def ecdf_band(n_ranks: int, n_cells: int, prob: float = 0.95) -> tuple[Ints, Ints]:
    """Simultaneous band of the cumulative counts of uniform ranks.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.
    n_cells : int
        Cells they are counted in.
    prob : float, default 0.95
        Probability (at least, and as nearly as counts can have it) that all cumulative counts are inside.

    Returns
    -------
    (low, high) : ndarray of int, shape (n_cells - 1,)
        Least and largest cumulative count at the inner ends of the cells; see `ecdf_p`.

    Examples
    --------
    >>> ecdf_band(100, 4, 0.95)
    (array([15, 39, 65]), array([35, 61, 85]))
    """
    prob = _checks.fraction("prob", prob)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if _probability_inside(*_band(n_ranks, n_cells, middle)) >= prob:
            low = middle
        else:
            high = middle
    lower, upper, _, _ = _band(n_ranks, n_cells, low)
    return lower, upper


def _at_most(count: Ints, n: int, place: Floats) -> Floats:
    from scipy.special import bdtr

    return np.where(count >= n, 1.0, bdtr(np.minimum(count, n - 1).astype(float), n, place))


def _at_least(count: Ints, n: int, place: Floats) -> Floats:
    from scipy.special import bdtrc

    return np.where(count <= 0, 1.0, bdtrc(np.maximum(count - 1, 0).astype(float), n, place))


def _band(n: int, n_cells: int, level: float) -> tuple[Ints, Ints, int, int]:
    """Counts whose Binomial tails both exceed level / 2, at each inner end of a cell."""
    place = np.arange(1, n_cells) / n_cells
    reach = 8 * np.sqrt(n * place * (1 - place)) + 12  # tails out there are below 1e-14
    offset = np.arange(-int(reach.max()) - 1, int(reach.max()) + 2)
    count = np.clip(np.rint(n * place).astype(np.int64)[:, None] + offset, 0, n)
    inside = (_at_most(count, n, place[:, None]) > level / 2) & (_at_least(count, n, place[:, None]) > level / 2)
    rows, last = np.arange(len(place)), count.shape[1] - 1
    low, high = count[rows, inside.argmax(axis=1)], count[rows, last - inside[:, ::-1].argmax(axis=1)]
    some = inside.any(axis=1)
    return np.where(some, low, 1), np.where(some, high, 0), n, n_cells


def _probability_inside(low: Ints, high: Ints, n: int, n_cells: int) -> float:
    """Probability that cumulative counts of n uniform ranks stay within low..high at the inner ends of the cells."""
    if np.any(low > high):
        return 0.0
    step, first = _poisson(n / n_cells)
    density, start = np.ones(1), 0
    for least, most in zip([*low.tolist(), n], [*high.tolist(), n], strict=True):
        density = np.convolve(density, step)
        start += first
        count = np.arange(least, most + 1) - start
        known = (count >= 0) & (count < len(density))
        density, start = np.where(known, density[np.clip(count, 0, len(density) - 1)], 0.0), least
    return float(density[0] / _poisson_at_mean(n))


def _poisson(mean: float) -> tuple[Floats, int]:
    """Poisson probabilities around the mean, from their ratios: the logarithm of a factorial would lose digits."""
    reach = 12 * np.sqrt(mean) + 40
    first = max(0, int(mean - reach))
    count = np.arange(first + 1, int(mean + reach))
    log_p = np.concatenate([[0.0], np.cumsum(np.log(mean / count))])
    p = np.exp(log_p - log_p.max())
    return p / p.sum(), first


def _poisson_at_mean(n: int) -> float:
    """exp(-n) n^n / n!, by Stirling's series where n is not small."""
    if n < 20:
        return float(np.exp(n * np.log(n) - n - np.log(np.arange(1, n + 1)).sum()))
    return float(np.exp(-1 / (12 * n) + 1 / (360 * n**3) - 1 / (1260 * n**5)) / np.sqrt(2 * np.pi * n))


def _shown(starts: range, progress: bool) -> Iterator[int]:
    if not progress:
        yield from starts
        return
    from rich.progress import track

    yield from track(starts, description="simulated data sets")


# --- picture

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#808080"


def plot_ranks(ranks: Ranks, ax: Any = None, *, prob: float = 0.95) -> "Axes":
    """Draw how far the ranks' distribution functions are from uniform, with the band that they should stay in.

    Parameters
    ----------
    ranks : Ranks
        From `sbc`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    prob : float, default 0.95
        Probability that all lines are inside the band if the sampler is right (Bonferroni over the lines).

    Returns
    -------
    matplotlib Axes
        With one line a quantity; pooled samples, which have narrower bands, are left out. Lines that leave the band
        are orange, and named where there is room.
    """
    from matplotlib import pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(6.4, 4.2), layout="tight").subplots()
    single = [name for name, sample in ranks.samples.items() if len(sample) == ranks.n_runs]
    low, high = ecdf_band(ranks.n_runs, ranks.n_cells, 1 - (1 - _checks.fraction("prob", prob)) / len(single))
    place = np.arange(ranks.n_cells + 1) / ranks.n_cells
    ends = [np.concatenate([[0], end, [ranks.n_runs]]) / ranks.n_runs - place for end in (low, high)]
    ax.fill_between(place, *ends, color=BLUE, alpha=0.15, linewidth=0)
    ax.axhline(0, color=GREY, linewidth=0.8)
    outside: dict[str, Floats] = {}
    for name in single:
        line = np.concatenate([[0], np.cumsum(ranks.histogram(name))]) / ranks.n_runs - place
        if np.any((line < ends[0] - 1e-12) | (line > ends[1] + 1e-12)):
            outside[name] = line
        else:
            ax.plot(place, line, color=GREY, alpha=0.35, linewidth=0.8)
    for line in outside.values():
        ax.plot(place, line, color=ORANGE, alpha=0.9, linewidth=1.4)
    ax.margins(y=0.1)
    _name_lines(ax, place, outside)
    verdict = f"all {len(single)} inside" if not outside else f"{len(outside)} of {len(single)} outside"
    ax.set_title(
        f"{verdict} the {100 * prob:g} % band ({ranks.n_runs} data sets, {ranks.n_draws} draws each)",
        loc="left",
        fontsize=9.5,
    )
    ax.set_xlabel("rank of the truth among the draws, as a share")
    ax.set_ylabel("share of truths below, minus expected")
    ax.set_xlim(0, 1)
    return ax


def _name_lines(ax: "Axes", place: Floats, lines: dict[str, Floats]) -> None:
    """Names at the peaks, largest first; one that would cover another is left out."""
    height = float(np.diff(ax.get_ylim())[0])
    taken: list[tuple[float, float]] = []
    for name, line in sorted(lines.items(), key=lambda item: -np.abs(item[1]).max()):
        peak = int(np.argmax(np.abs(line)))
        x, y = float(place[peak]), float(line[peak])
        if any(abs(x - other) < 0.3 and abs(y - level) < 0.06 * height for other, level in taken):
            continue
        taken.append((x, y))
        right = x > 0.7
        ax.annotate(
            name,
            (x, y),
            xytext=(-3 if right else 3, 3 if y > 0 else -4),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom" if y > 0 else "top",
            color=ORANGE,
            fontsize=7.5,
        )
