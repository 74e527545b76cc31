"""Simulation-based calibration: truths drawn from the prior rank uniformly among draws from their posteriors."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from jobs import run_jobs
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.estimands.errors import ece, signed_error
from bayescal.stats.binned import BinnedCounts
from sbc.stacked import JointDraws, StackedCounts
from sbc.uniformity import chi_square_p, ecdf_p

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Number of data sets that are processed together; their draws (99 of 15 bins) take a few megabytes.
CHUNK = 100

#: Draws of shape (n_draws, n_sets, n_bins) from the posterior of each data set: (counts, n_draws, rng) -> draws.
#: If the simulator is of named quantities: (data sets, n_draws, rng) -> draws by name.
Sampler = Callable[[Any, int, np.random.Generator], Any]


class Simulator(Protocol):
    """A prior and a likelihood to simulate data sets from, and the sampler of their posterior that is tested.

    This one is of a posterior of the bins. If truths and draws are mappings from names to arrays, `sbc` ranks these
    instead; see `NamedSimulator`.
    """

    @property
    def parameters(self) -> tuple[str, ...]:
        """Fields of `BinDraws` that are ranked in every bin."""

    @property
    def independent(self) -> tuple[str, ...]:
        """Parameters that are independent between bins given the data, so that ranks of all bins can be pooled."""

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[BinDraws, StackedCounts]:
        """Draw truths of shape (1, n_sets, n_bins) from the prior, and data given each.

        If the truths are `JointDraws`, the parameters behind the bins are ranked too.
        """

    def log_likelihood(self, bins: BinDraws, counts: StackedCounts) -> Floats:
        """Compute the log likelihood of the data sets, up to a constant, at draws (..., n_sets, n_bins)."""

    def sample(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        """Draw with the package's sampler."""


class NamedSimulator(ABC):
    """Base class of simulators for `sbc` whose truths are named quantities; it loops over the data sets.

    A subclass draws one truth and its data, and samples one posterior. `sbc` ranks every quantity that truths and draws
    both have, and the log likelihood.
    """

    #: Quantities with an axis of their own that are independent given the data; see `Ranks`.
    independent: tuple[str, ...] = ()

    @abstractmethod
    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], Any]:
        """Draw the parameters from the prior, and a data set given them: numbers, or arrays of shape (k,), by name."""

    @abstractmethod
    def sample_one(self, data: Any, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw independently from the posterior of one data set: arrays of shape (n_draws,) or (n_draws, k) by name."""

    @abstractmethod
    def log_likelihood_one(self, values: Mapping[str, Any], data: Any) -> Floats:
        """Compute the log likelihood of one data set, up to a constant, at parameters with draws on axis 0."""

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[dict[str, Any], list[Any]]:
        """Draw truths of shape (1, n_sets) or (1, n_sets, k), and a list of data sets."""
        truths, data = zip(*(self.simulate_one(rng) for _ in range(n_sets)), strict=True)
        return {name: np.array([truth[name] for truth in truths])[None] for name in truths[0]}, list(data)

    def sample(self, data: Sequence[Any], n_draws: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draw with the package's sampler: arrays of shape (n_draws, n_sets) or (n_draws, n_sets, k) by name."""
        drawn = [self.sample_one(one, n_draws, rng) for one in data]
        return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}

    def log_likelihood(self, values: Mapping[str, Any], data: Sequence[Any]) -> Floats:
        """Compute the log likelihood of every data set, of shape (n_draws, n_sets)."""
        each = ({name: drawn[:, i] for name, drawn in values.items()} for i in range(len(data)))
        return np.stack([self.log_likelihood_one(one, of) for one, of in zip(each, data, strict=True)], axis=1)


class Sampled(Protocol):
    """A posterior that can be sampled, for `one_by_one`."""

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins independently; draws are on axis 0."""


@dataclass(frozen=True)
class OneByOne:
    """A sampler of many data sets, one after the other; made by `one_by_one`.

    Parameters
    ----------
    posterior : callable
        Function from counts to a posterior.
    pool : int or None
        Number of draws, of which a random subset is kept.
    """

    posterior: Callable[[BinnedCounts], Sampled]
    pool: int | None = None

    def __call__(self, counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> JointDraws:
        """Draw from the posterior of each data set in turn."""
        size = max(self.pool or n_draws, n_draws)
        drawn: dict[str, list[Floats]] = {}
        for one in counts:
            every = self.posterior(one).sample(size, rng=rng)
            kept = rng.choice(size, n_draws, replace=False) if size > n_draws else slice(None)
            shape = (size, len(one.bins))
            for name in ("mass", "accuracy", "confidence", "weight"):
                drawn.setdefault(name, []).append(np.broadcast_to(getattr(every, name), shape)[kept])
            for name, values in _parameters_behind(every).items():
                drawn.setdefault(name, []).append(values[kept])
        mass, accuracy, confidence, weight, *others = (np.stack(values, axis=1) for values in drawn.values())
        behind = dict(zip(list(drawn)[4:], others, strict=True))
        return JointDraws(mass, accuracy, confidence, np.ones(mass.shape[-1], bool), weight, behind)


def one_by_one(posterior: Callable[[BinnedCounts], Sampled], *, pool: int | None = None) -> OneByOne:
    """Make a sampler of many data sets from any posterior of the package, by a loop over the data sets.

    Parameters
    ----------
    posterior : callable
        Function from counts to a posterior. If its draws are `JointDraws`, the parameters behind the bins are kept.
    pool : int, optional
        Number of draws, of which a random subset is kept. Needed if the draws of one call are not quite independent, as
        when numbers of draws per sub-model are proportional to probabilities: such draws are *more* even than random
        ones, and their ranks are not uniform.

    Returns
    -------
    callable
        A sampler for `sbc`.

    Notes
    -----
    In the worst case every draw comes from a stratum of its own. Of L draws out of a pool of P, the number below a
    point then has the Binomial variance times 1 - (L - 1) / (P - 1). Truths rank among the lowest (or highest)
    twentieth too rarely: by up to 10 % for P = L = 99, and by up to 2 % for P = 500 and L = 99, which is too little to
    detect with 10000 data sets.

    Examples
    --------
    >>> from sbc.simulators import dirichlet_simulator
    >>> simulator = dirichlet_simulator(bins=4, rows=50)
    >>> ranks = sbc(simulator, one_by_one(simulator.posterior), runs=100, cells=5, rng=1)
    >>> ranks.values["ece"].shape
    (100,)
    """
    return OneByOne(posterior, pool)


def _parameters_behind(bins: BinDraws) -> Mapping[str, Floats]:
    """Return the parameters behind the bins; empty for draws without them."""
    return bins.behind if isinstance(bins, JointDraws) else {}


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of truths among posterior draws, with tests of their uniformity on 0..n_draws.

    Parameters
    ----------
    values : dict of str to ndarray of int, shape (n_runs,) or (n_runs, n_bins)
        Number of draws below the truth, with ties broken at random.
    n_draws : int
        Number of draws that each truth is ranked among.
    n_cells : int
        Number of cells of the histograms; divides ``n_draws + 1``.
    pooled : tuple of str
        Quantities of bins whose ranks are independent between bins; all bins are tested as one sample, too.

    References
    ----------
    Histograms: Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
    Distribution functions: Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its
    applications in goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32.
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
        samples = {}
        for name, ranks in self.values.items():
            if ranks.ndim == 1:
                samples[name] = ranks
                continue
            if name in self.pooled:
                samples[f"{name}, all bins"] = ranks.ravel()
            samples |= {f"{name}[{b}]": ranks[:, b] for b in range(ranks.shape[1])}
        return samples

    def histogram(self, name: str) -> Ints:
        """Count the ranks of one sample in `n_cells` cells of equal width."""
        cell = self.samples[name] // ((self.n_draws + 1) // self.n_cells)
        return np.bincount(cell, minlength=self.n_cells)

    @cached_property
    def chi_square(self) -> dict[str, float]:
        """p-values of the chi-square test (asymptotic), by sample."""
        return {name: chi_square_p(self.histogram(name)) for name in self.samples}

    @cached_property
    def ecdf(self) -> dict[str, float]:
        """p-values of the simultaneous test of the empirical distribution function (exact), by sample."""
        return {name: ecdf_p(self.histogram(name)) for name in self.samples}

    @cached_property
    def p_values(self) -> dict[str, float]:
        """p-values of both tests together, by sample: twice the smaller one."""
        return {name: min(1.0, 2 * min(self.chi_square[name], self.ecdf[name])) for name in self.samples}

    @property
    def p_value(self) -> float:
        """p-value of all samples together: the smallest times the number of samples (Bonferroni)."""
        return min(1.0, len(self.samples) * min(self.p_values.values()))

    def rejected(self, error_rate: float = 0.01) -> list[str]:
        """Names of the samples whose uniformity is rejected, worst first.

        Parameters
        ----------
        error_rate : float, default 0.01
            Upper bound of the probability that any sample of a right sampler is rejected.

        Returns
        -------
        list of str
            Empty if no sample is rejected.
        """
        limit = _checks.fraction("error_rate", error_rate) / len(self.samples)
        return sorted((n for n, p in self.p_values.items() if p < limit), key=self.p_values.__getitem__)

    def summary(self) -> list[dict[str, Any]]:
        """Return one dict per sample: quantity, number of ranks, both p-values, and both tests together."""
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
    simulator: Simulator | NamedSimulator,
    sampler: Sampler | None = None,
    *,
    runs: int = 1000,
    draws: int = 99,
    cells: int = 20,
    rng: Any = None,
    workers: int = 1,
    progress: bool = False,
) -> Ranks:
    r"""Check a sampler by simulation-based calibration.

    Parameters
    ----------
    simulator : Simulator or NamedSimulator
        Source of truths and data: one of `sbc.simulators`, or your own.
    sampler : callable, optional
        ``(counts, n_draws, rng) -> BinDraws`` with arrays of shape (n_draws, n_sets, n_bins), or draws by name if the
        simulator is of named quantities. Default: the package's sampler of that simulator. `one_by_one` makes one from
        any posterior of the bins.
    runs : int, default 1000
        Number of simulated data sets. Under the Dirichlet model with 15 bins, the pooled ranks of all accuracies detect
        (p < 1e-6) a standard deviation that is 20 % too large with 100 runs, 5 % with 1000, and 1.5 % with 10000. One
        quantity alone needs far more: the ranks of the ECE detect 20 % with 1000 runs, and 5 % with 10000 about every
        other time.
    draws : int, default 99
        Number L of posterior draws that each truth is ranked among; ranks are 0..L.
    cells : int, default 20
        Number of cells of the histograms; must divide L + 1.
    rng : None, int, SeedSequence or Generator
        Randomness. Data sets have a stream of their own, so that two samplers see the same ones.
    workers : int, default 1
        Processes that share the data sets; the ranks are the same for any number. More than one needs a simulator and
        a sampler that other processes can import (no lambda), and a script of your own must run under
        ``if __name__ == "__main__":``.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    Ranks
        Of every parameter in every bin, and of the data-dependent quantities ``ece``, ``signed_error``,
        ``log_likelihood`` and ``worst_gap`` (the gap of the bin whose observed gap is largest); and of the parameters
        behind the bins that truths and draws both have. With a simulator of named quantities: of those that truths and
        draws both have, and of ``log_likelihood``.

    Raises
    ------
    ValueError, TypeError
        If `cells` does not divide `draws` + 1, a number is not a positive integer, or a function cannot be sent to
        the workers.

    Notes
    -----
    If :math:`\vartheta \sim p(\vartheta)`, :math:`y \sim p(y \mid \vartheta)` and the draws are independent from
    :math:`p(\vartheta \mid y)`, then truth and draws are exchangeable, and the rank of any
    :math:`f(\vartheta, y)` is uniform on 0..L [1]_. Quantities that depend on the data are needed: a sampler that
    ignores the data and draws from the prior has uniform ranks of every parameter, but not of the likelihood [2]_.

    References
    ----------
    .. [1] Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
       simulation-based calibration, arXiv:1804.06788, theorem 1.
    .. [2] Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman and Vehtari (2023), Simulation-based calibration
       checking for Bayesian computation: the choice of test quantities shapes sensitivity, Bayesian Analysis.

    Examples
    --------
    >>> from sbc.simulators import dirichlet_simulator
    >>> ranks = sbc(dirichlet_simulator(bins=5, rows=100), runs=200, cells=10, rng=1)
    >>> ranks.rejected(0.001)
    []
    """
    runs = _checks.whole_number("runs", runs)
    draws = _checks.whole_number("draws", draws)
    cells = _checks.whole_number("cells", cells, 2)
    if (draws + 1) % cells:
        raise ValueError(
            f"`cells` must divide `draws` + 1, so that all cells hold equally many ranks; {cells} does not divide "
            f"{draws + 1}. Use for example `draws={cells * max(1, (draws + 1) // cells) - 1}`."
        )
    streams = zip(*(stream.spawn(-(-runs // CHUNK)) for stream in _checks.generator(rng).spawn(3)), strict=True)
    chunks = [
        _Chunk(simulator, sampler, min(CHUNK, runs - CHUNK * i), draws, *three) for i, three in enumerate(streams)
    ]
    done = list(run_jobs(_chunk_ranks, chunks, workers=workers, progress=progress, description="simulated data sets"))
    values = {name: np.concatenate([ranks[name] for ranks in done]) for name in done[0]}
    return Ranks(values, draws, cells, simulator.independent)


class _Chunk(NamedTuple):
    """Some data sets, with separate random streams for data, draws and ties."""

    simulator: Simulator | NamedSimulator
    sampler: Sampler | None
    n_sets: int
    n_draws: int
    for_data: np.random.Generator
    for_draws: np.random.Generator
    for_ties: np.random.Generator


def _chunk_ranks(chunk: _Chunk) -> dict[str, Ints]:
    simulator: Any = chunk.simulator
    truth, data = simulator.simulate(chunk.n_sets, chunk.for_data)
    drawn = (chunk.sampler or simulator.sample)(data, chunk.n_draws, chunk.for_draws)
    quantities: Callable[..., dict[str, Floats]] = _named_quantities if isinstance(truth, Mapping) else _quantities
    of_truth, of_draws = (quantities(values, data, simulator) for values in (truth, drawn))
    return {name: _ranks(of_truth[name], of_draws[name], chunk.for_ties) for name in of_truth if name in of_draws}


def _named_quantities(values: Mapping[str, Floats], data: Any, simulator: NamedSimulator) -> dict[str, Floats]:
    return {**values, "log_likelihood": simulator.log_likelihood(values, data)}


def _quantities(bins: BinDraws, counts: StackedCounts, simulator: Simulator) -> dict[str, Floats]:
    """Quantities that are ranked, of shape (n_draws, n_sets) or (n_draws, n_sets, n_bins)."""
    gap = bins.gap
    observed = np.where(counts.occupied, np.abs(counts.accuracy - counts.mean_confidence), -1.0)
    worst = observed.argmax(axis=-1)
    fields = (np.broadcast_to(v, gap.shape) for v in (bins.mass, bins.accuracy, bins.confidence, bins.weight))
    mass, accuracy, confidence, weight = (v.reshape(-1, gap.shape[-1]) for v in fields)
    flat = BinDraws(mass, accuracy, confidence, bins.occupied, weight)
    return {
        "ece": ece(flat).values.reshape(gap.shape[:-1]),
        "signed_error": signed_error(flat).values.reshape(gap.shape[:-1]),
        "log_likelihood": simulator.log_likelihood(bins, counts),
        "worst_gap": gap[:, np.arange(len(worst)), worst],
        **_parameters_behind(bins),
        **{name: np.broadcast_to(getattr(bins, name), gap.shape) for name in simulator.parameters},
    }


def _ranks(truth: Floats, draws: Floats, rng: np.random.Generator) -> Ints:
    """Count draws below the truth, plus a random number of the draws equal to it."""
    ties = (draws == truth).sum(axis=0)
    return (draws < truth).sum(axis=0) + rng.integers(0, ties, endpoint=True)
