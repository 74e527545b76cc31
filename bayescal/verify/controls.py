"""Positive controls: samplers that are wrong on purpose, each of which the checks must catch.

A check that never fails proves nothing. Each `Control` is one mistake that somebody could make (many of them somebody
has made) put into the package's own sampler; `run_controls` says which mistakes simulation-based calibration sees.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._draws import BinDraws
from bayescal.posterior.dirichlet import DirichletPosterior, dirichlet_posterior
from bayescal.posterior.truncated_normal import sample_truncated_normal
from bayescal.verify.sbc import Model, ReferenceModel, Sampler, StackedCounts, reference_model, sbc

Floats = NDArray[np.float64]

#: Masses must sum to 1 within this.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Control:
    """One mistake.

    Parameters
    ----------
    name : str
        The mistake in words.
    problem : str
        Where it is looked for: a name out of `problems`.
    sampler : callable
        From the problem to the wrong sampler.
    of : str
        The sampler that is spoilt.
    """

    name: str
    problem: str
    sampler: Callable[[Any], Sampler]
    of: str = "dirichlet"


@dataclass(frozen=True)
class ControlResults:
    """What became of the controls; made by `run_controls`.

    Parameters
    ----------
    rows : list of dict
        One per control: name, of, problem, caught, by (what saw it: the worst quantities, or which rule of
        probabilities the draws break), p (Bonferroni, of all ranks).
    right : list of dict
        The same for the right sampler on each problem: here `caught` is a false alarm.
    runs : int
        Simulated data sets for each.
    error_rate : float
        Probability of a false alarm for one sampler.
    """

    rows: list[dict[str, Any]]
    right: list[dict[str, Any]]
    runs: int
    error_rate: float

    @property
    def caught(self) -> int:
        """How many controls were caught."""
        return sum(row["caught"] for row in self.rows)

    @property
    def kill_rate(self) -> float:
        """Share of the controls that were caught, in [0, 1]."""
        return self.caught / len(self.rows)

    @property
    def survivors(self) -> list[str]:
        """Names of the controls that were not caught."""
        return [row["name"] for row in self.rows if not row["caught"]]

    @property
    def false_alarms(self) -> list[str]:
        """Problems on which the right sampler was "caught"."""
        return [row["problem"] for row in self.right if row["caught"]]

    def __str__(self) -> str:
        width = max(len(row["name"]) for row in self.rows)
        lines = [
            f"{row['name']:{width}}  {'caught' if row['caught'] else 'MISSED'}  {', '.join(row['by'])}".rstrip()
            for row in self.rows
        ]
        return "\n".join(
            [
                *lines,
                f"{self.caught} of {len(self.rows)} wrong samplers caught, {len(self.false_alarms)} of "
                f"{len(self.right)} right ones ({self.runs} data sets each, error rate {self.error_rate:g})",
            ]
        )


def run_controls(
    *,
    runs: int = 1000,
    error_rate: float = 1e-6,
    rng: Any = None,
    chosen: Sequence[Control] | None = None,
    progress: bool = False,
) -> ControlResults:
    """Run every wrong sampler, and the right one on the same problems.

    Parameters
    ----------
    runs : int, default 1000
        Simulated data sets for each sampler.
    error_rate : float, default 1e-6
        Probability that a right sampler is called wrong.
    rng : None, int, SeedSequence or Generator
        Randomness; every sampler has a stream of its own.
    chosen : sequence of Control, optional
        Which ones; all of `controls` by default.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    ControlResults
        Printing it gives the table and the kill rate.

    Examples
    --------
    >>> few = [control for control in controls() if control.name == "Beta arguments swapped"]
    >>> results = run_controls(runs=200, rng=1, chosen=few)
    >>> results.kill_rate, results.false_alarms
    (1.0, [])
    """
    error_rate = _checks.fraction("error_rate", error_rate)
    wrong = list(controls() if chosen is None else chosen)
    used = list(dict.fromkeys(control.problem for control in wrong))
    jobs: list[tuple[dict[str, Any], Model, Sampler]] = []
    for name in used:
        model = problems()[name]
        jobs.append(({"name": "right sampler", "of": "", "problem": name}, model, model.sample))
    for control in wrong:
        model = problems()[control.problem]
        about = {"name": control.name, "of": control.of, "problem": control.problem}
        jobs.append((about, model, control.sampler(model)))
    seeds = _checks.generator(rng).spawn(len(jobs))
    rows = [
        {**about, **_examine(model, sampler, runs, error_rate, seed)}
        for (about, model, sampler), seed in zip(_shown(jobs, progress), seeds, strict=True)
    ]
    return ControlResults(rows[len(used) :], rows[: len(used)], runs, error_rate)


def _examine(model: Model, sampler: Sampler, runs: int, error_rate: float, rng: np.random.Generator) -> dict[str, Any]:
    """Whether the draws obey the rules of probabilities, and whether truths rank uniformly among them."""
    broken: set[str] = set()

    def watched(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
        drawn = sampler(counts, n_draws, rng)
        broken.update(broken_rules(drawn, counts))
        return drawn

    ranks = sbc(model, watched, runs=runs, rng=rng)
    rejected = ranks.rejected(error_rate)
    return {"caught": bool(rejected or broken), "by": [*sorted(broken), *rejected[:3]], "p": ranks.p_value}


def broken_rules(bins: BinDraws, counts: StackedCounts) -> list[str]:
    """Rules that every draw must obey and these do not.

    Parameters
    ----------
    bins : BinDraws
        Draws (n_draws, n_sets, n_bins).
    counts : StackedCounts
        The data.

    Returns
    -------
    list of str
        Empty if all is well.
    """
    edges = counts.bins.edges
    inside = (bins.confidence >= edges[:-1]) & (bins.confidence <= edges[1:])
    rules = {
        "masses sum to 1": np.abs(bins.mass.sum(axis=-1) - 1) < SUM_TOLERANCE,
        "accuracies lie in [0, 1]": (bins.accuracy >= 0) & (bins.accuracy <= 1),
        "mean confidences lie in their bins": inside,
    }
    return [f"not: {rule}" for rule, holds in rules.items() if not holds.all()]


@cache
def problems() -> dict[str, Model]:
    """Sources of data by name; the right sampler passes on each."""
    skew = np.stack([np.linspace(0.5, 3.0, 10), np.linspace(2.0, 0.25, 10)])
    return {
        "weak prior": reference_model(),
        "jeffreys": reference_model(alpha="jeffreys", bins=10),
        "uniform": reference_model(alpha="uniform", bins=10, rows=100),
        "few rows": reference_model(alpha="uniform", bins=10, rows=15),
        "three bins": reference_model(alpha="uniform", bins=3, rows=3),
        "skew prior": reference_model(alpha=skew, bins=10, rows=100),
        "weights": reference_model(alpha="jeffreys", bins=10, weight=3.0, discarded=60),
    }


# --- ways to be wrong: what the sampler is told, its prior, its parameters, its draws


def _told(change: Callable[[StackedCounts], StackedCounts]) -> Callable[[ReferenceModel], Sampler]:
    """The right posterior of other counts."""
    return lambda model: lambda counts, n, rng: model.posterior(change(counts)).sample(n, rng=rng)


def _believing(change: Callable[[Floats], Any]) -> Callable[[ReferenceModel], Sampler]:
    """The right counts with another prior."""
    return lambda model: (
        lambda counts, n, rng: dirichlet_posterior(counts, alpha=change(model.alpha)).sample(n, rng=rng)
    )


def _with(**changes: Callable[[DirichletPosterior, Any], Any]) -> Callable[[ReferenceModel], Sampler]:
    """The right sampler with other parameters: each a function of the posterior and of what is right."""

    def altered(name: str, change: Callable[[DirichletPosterior, Any], Any]) -> property:
        right = getattr(DirichletPosterior, f"{name}_parameters").fget
        return property(lambda posterior: change(posterior, right(posterior)))

    wrong = type("Wrong", (DirichletPosterior,), {f"{n}_parameters": altered(n, f) for n, f in changes.items()})

    def sampler(model: ReferenceModel) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            right = model.posterior(counts)
            return wrong(**{f.name: getattr(right, f.name) for f in fields(right)}).sample(n_draws, rng=rng)

        return sample

    return sampler


def _confidence(
    change: Callable[[DirichletPosterior, Floats, Floats, Floats, Floats], tuple[Any, Any, Any, Any]],
) -> Callable[[ReferenceModel], Sampler]:
    """The right sampler with other (loc, scale, low, high) of the mean confidences."""

    def sampler(model: ReferenceModel) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            posterior = model.posterior(counts)
            right = posterior.sample(n_draws, rng=rng)
            other = change(posterior, *posterior.confidence_parameters)
            return replace(right, confidence=sample_truncated_normal(*other, n_draws, rng=rng))

        return sample

    return sampler


def _drawn(
    change: Callable[[BinDraws, StackedCounts, np.random.Generator], dict[str, Floats]],
) -> Callable[[ReferenceModel], Sampler]:
    """The right draws, then spoilt; a changed mass changes the weight of the errors too."""

    def sampler(model: ReferenceModel) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            right = model.sample(counts, n_draws, rng)
            changed: dict[str, Any] = change(right, counts, rng)
            return replace(right, **({"weight": changed["mass"]} if "mass" in changed else {}), **changed)

        return sample

    return sampler


def _rows_times(factor: float) -> Callable[[StackedCounts], StackedCounts]:
    """As many rows as that, with the same shares and means."""
    return lambda c: replace(
        c, weight=factor * c.weight, deviation=factor * c.deviation, weight_sq=factor * c.weight_sq
    )


def _last_bin_empty(c: StackedCounts) -> StackedCounts:
    kept = np.arange(len(c.bins)) < len(c.bins) - 1
    return replace(c, weight=c.weight * kept, deviation=c.deviation * kept, weight_sq=c.weight_sq * kept)


def _outcomes_flipped(c: StackedCounts) -> StackedCounts:
    return replace(c, cells=c.cells[::-1], weight=c.weight[::-1], deviation=c.deviation[::-1])


def _rows_for_weights(c: StackedCounts) -> StackedCounts:
    """Every row counts once, those of weight 0 too."""
    return replace(c, weight=c.cells.astype(float), weight_sq=c.n.astype(float))


def _weights_for_rows(c: StackedCounts) -> StackedCounts:
    """The sum of weights taken for a number of rows."""
    return replace(c, weight_sq=c.weight.sum(axis=0))


def _no_rows(c: StackedCounts) -> StackedCounts:
    return _rows_times(0.0)(c)


def _each_thrice(values: Floats) -> Floats:
    return np.repeat(values[: len(values) // 3], 3, axis=0)


def _sticky(bins: BinDraws, _: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    """A Markov chain that stays where it is three times out of four."""
    moves = rng.random(len(bins)) < 0.25
    at = np.maximum.accumulate(np.where(moves, np.arange(len(bins)), 0))
    return {"mass": bins.mass[at], "accuracy": bins.accuracy[at], "confidence": bins.confidence[at]}


def _together(values: Floats, leader: Floats) -> Floats:
    """The same values in the order of the leader: what comes of using one uniform number for both."""
    order = leader.argsort(axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(values, axis=0), order, axis=0)


def _normal_accuracy(bins: BinDraws, _: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    mean, sd = bins.accuracy.mean(axis=0), bins.accuracy.std(axis=0)
    return {"accuracy": np.clip(rng.normal(mean, sd, bins.accuracy.shape), 0, 1)}


def _lone_masses(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    """Each mass from its own Beta margin, as if they need not sum to 1; each draw takes the bins from other draws."""
    shuffled = rng.permuted(bins.mass, axis=0)
    return {"mass": shuffled}


def _normalised_betas(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    shuffled = rng.permuted(bins.mass, axis=0)
    return {"mass": shuffled / shuffled.sum(axis=-1, keepdims=True)}


def _resampled_shares(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    rows = np.rint(counts.effective_rows[:, 0]).astype(np.int64)
    return {"mass": rng.multinomial(rows, counts.share, size=bins.mass.shape[:-1]) / rows[:, None]}


def _bootstrapped_accuracy(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    n = np.rint(counts.effective_n).astype(np.int64)
    share = np.where(counts.occupied, counts.accuracy, 0.5)
    return {"accuracy": rng.binomial(np.maximum(n, 1), share, bins.accuracy.shape) / np.maximum(n, 1)}


def _averaged_pairs(values: Floats) -> Floats:
    return (values + np.roll(values, 1, axis=0)) / 2


def controls() -> tuple[Control, ...]:
    """All positive controls.

    A mistake in another sampler joins by a `Control` of its own, with `of` naming the sampler and its model among
    `problems`: for a model whose `sample` is the right sampler, the wrong one is any function
    ``(counts, n_draws, rng) -> BinDraws``.

    Returns
    -------
    tuple of Control
        With different names.
    """
    return (*_CONTROLS,)


_CONTROLS = [
    # what the sampler is told
    Control("posterior = prior", "jeffreys", _told(_no_rows)),
    Control("half the data", "jeffreys", _told(_rows_times(0.5))),
    Control("data counted twice", "jeffreys", _told(_rows_times(2.0))),
    Control("last bin's rows dropped", "jeffreys", _told(_last_bin_empty)),
    Control("correct and incorrect rows swapped", "jeffreys", _told(_outcomes_flipped)),
    Control("weights ignored", "weights", _told(_rows_for_weights)),
    Control("sum of weights for number of rows", "weights", _told(_weights_for_rows)),
    # its prior
    Control("prior forgotten", "jeffreys", _believing(lambda alpha: 1e-6)),
    Control("alpha off by one", "jeffreys", _believing(lambda alpha: alpha + 1)),
    Control("Perks for reference: half the pseudo-rows", "weak prior", _believing(lambda alpha: alpha / 2)),
    Control("Jeffreys for uniform", "uniform", _believing(lambda alpha: alpha / 2)),
    Control("rows of alpha swapped", "skew prior", _believing(lambda alpha: alpha[::-1])),
    Control("columns of alpha reversed", "skew prior", _believing(lambda alpha: alpha[:, ::-1])),
    Control("alpha averaged over cells", "skew prior", _believing(lambda alpha: alpha.mean())),
    # masses
    Control(
        "masses: alpha of one outcome only", "few rows", _with(mass=lambda p, right: right - p.alpha.sum(axis=0) / 2)
    ),
    Control(
        "masses from counts without prior",
        "jeffreys",
        _with(mass=lambda p, right: np.maximum(right - p.alpha.sum(axis=0), 1e-6)),
    ),
    Control("masses from correct rows only", "uniform", _with(mass=lambda p, right: p.alpha[1] + p.counts.effective_k)),
    Control("masses independent of each other", "uniform", _drawn(_lone_masses)),
    Control("masses independent, then normalised", "three bins", _drawn(_normalised_betas)),
    Control("masses = observed shares", "uniform", _drawn(lambda b, c, _: {"mass": np.tile(c.share, (len(b), 1, 1))})),
    Control("masses by bootstrap", "uniform", _drawn(_resampled_shares)),
    # accuracies
    Control("Beta arguments swapped", "skew prior", _with(accuracy=lambda p, ab: (ab[1], ab[0]))),
    Control("n for n - k in the Beta", "jeffreys", _with(accuracy=lambda p, ab: (ab[0], ab[1] + p.counts.effective_k))),
    Control("alpha + 1 in the first Beta argument", "uniform", _with(accuracy=lambda p, ab: (ab[0] + 1, ab[1]))),
    Control(
        "accuracy of the neighbouring bin", "jeffreys", _drawn(lambda b, c, _: {"accuracy": np.roll(b.accuracy, 1, -1)})
    ),
    Control("Normal accuracies", "jeffreys", _drawn(_normal_accuracy)),
    Control("accuracies by bootstrap", "uniform", _drawn(_bootstrapped_accuracy)),
    Control(
        "mean accuracy for a draw",
        "uniform",
        _drawn(lambda b, c, _: {"accuracy": np.tile(b.accuracy.mean(axis=0), (len(b), 1, 1))}),
    ),
    Control("pairs of draws averaged", "uniform", _drawn(lambda b, c, _: {"accuracy": _averaged_pairs(b.accuracy)})),
    Control(
        "one uniform for the accuracies of all bins",
        "uniform",
        _drawn(lambda b, c, _: {"accuracy": np.sort(b.accuracy, axis=0)}),
    ),
    Control(
        "one uniform for accuracy and mean confidence",
        "uniform",
        _drawn(lambda b, c, _: {"accuracy": _together(b.accuracy, b.confidence)}),
    ),
    # mean confidences
    Control("truncation forgotten", "few rows", _confidence(lambda p, m, s, a, b: (m, s, -np.inf, np.inf))),
    Control("truncation on the wrong side", "uniform", _confidence(lambda p, m, s, a, b: (m, s, b, b + (b - a)))),
    Control(
        "clipped for truncated",
        "weak prior",
        _drawn(lambda b, c, rng: {"confidence": _clipped_normals(b, c, rng)}),
    ),
    Control("variance for standard deviation", "uniform", _confidence(lambda p, m, s, a, b: (m, s**2, a, b))),
    Control("standard deviation for variance", "uniform", _confidence(lambda p, m, s, a, b: (m, np.sqrt(s), a, b))),
    Control(
        "n for n + 1 in the precision",
        "few rows",
        _confidence(lambda p, m, s, a, b: (m, s * _root_ratio(p.counts.effective_n), a, b)),
    ),
    Control(
        "width / 12 for width^2 / 12",
        "uniform",
        lambda model: (
            lambda counts, n, rng: dirichlet_posterior(
                counts, alpha=model.alpha, bin_variance=model.bins.widths / 12
            ).sample(n, rng=rng)
        ),
    ),
    Control(
        "middle of the bin for the observed mean",
        "uniform",
        _confidence(lambda p, m, s, a, b: (p.counts.bins.midpoints, s, a, b)),
    ),
    Control(
        "observed mean alone, not pulled to the middle",
        "few rows",
        _confidence(
            lambda p, m, s, a, b: (np.where(p.counts.occupied, p.counts.mean_confidence, m), s, a, b),
        ),
    ),
    Control(
        "mean confidence uniform in its bin",
        "uniform",
        _drawn(lambda b, c, rng: {"confidence": rng.uniform(c.bins.edges[:-1], c.bins.edges[1:], b.gap.shape)}),
    ),
    # the draws as a whole
    Control(
        "float32",
        "weak prior",
        _drawn(lambda b, c, _: {"accuracy": b.accuracy.astype(np.float32).astype(float)}),
    ),
    Control(
        "each draw thrice",
        "uniform",
        _drawn(
            lambda b, c, _: {
                "mass": _each_thrice(b.mass),
                "accuracy": _each_thrice(b.accuracy),
                "confidence": _each_thrice(b.confidence),
            }
        ),
    ),
    Control("a chain that sticks", "uniform", _drawn(_sticky)),
    Control(
        "weights of the original formula: P(bin | outcome 1)",
        "uniform",
        _drawn(
            lambda b, c, _: {"weight": b.mass * b.accuracy / (b.mass * b.accuracy).sum(axis=-1, keepdims=True)},
        ),
    ),
]


def _clipped_normals(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> Floats:
    loc, scale, low, high = dirichlet_posterior(counts).confidence_parameters
    return np.clip(rng.normal(loc, scale, bins.confidence.shape), low, high)


def _root_ratio(n: Floats) -> Floats:
    """sqrt((n + 1) / n), and 1 where a bin is empty."""
    return np.sqrt((n + 1) / np.where(n > 0, n, 1)) * np.where(n > 0, 1.0, np.sqrt(1 / (n + 1)))


def _shown(jobs: list[Any], progress: bool) -> Any:
    if not progress:
        return jobs
    from rich.progress import track

    return track(jobs, description="wrong samplers")
