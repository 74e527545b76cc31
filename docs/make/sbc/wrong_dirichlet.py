"""Mistakes in the sampler of the Dirichlet model: in its counts, prior, parameters and draws."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.posterior.dirichlet import DirichletPosterior, dirichlet_posterior, sample_truncated_normal
from sbc.control import Control, last_bin_empty, outcomes_flipped, rows_times, with_counts
from sbc.ranks import Sampler
from sbc.simulators import DirichletSimulator
from sbc.stacked import StackedCounts

Floats = NDArray[np.float64]


def _with_prior(change: Callable[[Floats], Any]) -> Callable[[DirichletSimulator], Sampler]:
    """Draw with the right counts and another prior."""
    return lambda simulator: (
        lambda counts, n, rng: dirichlet_posterior(counts, alpha=change(simulator.alpha)).sample(n, rng=rng)
    )


def _with(**changes: Callable[[DirichletPosterior, Any], Any]) -> Callable[[DirichletSimulator], Sampler]:
    """Draw with other parameters: each a function of the posterior and of the right parameters."""

    def altered(name: str, change: Callable[[DirichletPosterior, Any], Any]) -> property:
        right = getattr(DirichletPosterior, f"{name}_parameters").fget
        return property(lambda posterior: change(posterior, right(posterior)))

    wrong = type("Wrong", (DirichletPosterior,), {f"{n}_parameters": altered(n, f) for n, f in changes.items()})

    def sampler(simulator: DirichletSimulator) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            right = simulator.posterior(counts)
            return wrong(**{f.name: getattr(right, f.name) for f in fields(right)}).sample(n_draws, rng=rng)

        return sample

    return sampler


def _confidence(
    change: Callable[[DirichletPosterior, Floats, Floats, Floats, Floats], tuple[Any, Any, Any, Any]],
) -> Callable[[DirichletSimulator], Sampler]:
    """Draw mean confidences with another (loc, scale, low, high)."""

    def sampler(simulator: DirichletSimulator) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            posterior = simulator.posterior(counts)
            right = posterior.sample(n_draws, rng=rng)
            other = change(posterior, *posterior.confidence_parameters)
            return replace(right, confidence=sample_truncated_normal(*other, n_draws, rng=rng))

        return sample

    return sampler


def _drawn(
    change: Callable[[BinDraws, StackedCounts, np.random.Generator], dict[str, Floats]],
) -> Callable[[DirichletSimulator], Sampler]:
    """Change right draws. A changed mass changes the weight of the errors, too."""

    def sampler(simulator: DirichletSimulator) -> Sampler:
        def sample(counts: StackedCounts, n_draws: int, rng: np.random.Generator) -> BinDraws:
            right = simulator.sample(counts, n_draws, rng)
            changed: dict[str, Any] = change(right, counts, rng)
            return replace(right, **({"weight": changed["mass"]} if "mass" in changed else {}), **changed)

        return sample

    return sampler


def _rows_for_weights(c: StackedCounts) -> StackedCounts:
    """Count every row once, including rows of weight 0."""
    return replace(c, weight=c.cells.astype(float), weight_sq=c.n.astype(float))


def _weights_for_rows(c: StackedCounts) -> StackedCounts:
    """Take the sum of weights for the number of rows."""
    return replace(c, weight_sq=c.weight.sum(axis=0))


def _each_thrice(values: Floats) -> Floats:
    return np.repeat(values[: len(values) // 3], 3, axis=0)


def _sticky(bins: BinDraws, _: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    """Make a Markov chain that repeats its value with probability 3/4."""
    moves = rng.random(len(bins)) < 0.25
    at = np.maximum.accumulate(np.where(moves, np.arange(len(bins)), 0))
    return {"mass": bins.mass[at], "accuracy": bins.accuracy[at], "confidence": bins.confidence[at]}


def _together(values: Floats, leader: Floats) -> Floats:
    """Sort the values in the order of the leader, as if one uniform number were used for both."""
    order = leader.argsort(axis=0).argsort(axis=0)
    return np.take_along_axis(np.sort(values, axis=0), order, axis=0)


def _normal_accuracy(bins: BinDraws, _: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    mean, sd = bins.accuracy.mean(axis=0), bins.accuracy.std(axis=0)
    return {"accuracy": np.clip(rng.normal(mean, sd, bins.accuracy.shape), 0, 1)}


def _lone_masses(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw each mass from its own Beta margin, so that they do not sum to 1: bins come from different draws."""
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


def _clipped_normals(bins: BinDraws, counts: StackedCounts, rng: np.random.Generator) -> Floats:
    loc, scale, low, high = dirichlet_posterior(counts).confidence_parameters
    return np.clip(rng.normal(loc, scale, bins.confidence.shape), low, high)


def _root_ratio(n: Floats) -> Floats:
    """Return sqrt((n + 1) / n), and 1 for an empty bin."""
    return np.sqrt((n + 1) / np.where(n > 0, n, 1)) * np.where(n > 0, 1.0, np.sqrt(1 / (n + 1)))


DIRICHLET_MISTAKES = (
    # its counts
    Control("posterior = prior", "jeffreys", with_counts(rows_times(0.0))),
    Control("half the data", "jeffreys", with_counts(rows_times(0.5))),
    Control("data counted twice", "jeffreys", with_counts(rows_times(2.0))),
    Control("last bin's rows dropped", "jeffreys", with_counts(last_bin_empty)),
    Control("correct and incorrect rows swapped", "jeffreys", with_counts(outcomes_flipped)),
    Control("weights ignored", "weights", with_counts(_rows_for_weights)),
    Control("sum of weights for number of rows", "weights", with_counts(_weights_for_rows)),
    # its prior
    Control("prior forgotten", "jeffreys", _with_prior(lambda alpha: 1e-6)),
    Control("alpha off by one", "jeffreys", _with_prior(lambda alpha: alpha + 1)),
    Control("Perks for two-rows: half the pseudo-rows", "weak prior", _with_prior(lambda alpha: alpha / 2)),
    Control("Jeffreys for uniform", "uniform", _with_prior(lambda alpha: alpha / 2)),
    Control("rows of alpha swapped", "skew prior", _with_prior(lambda alpha: alpha[::-1])),
    Control("columns of alpha reversed", "skew prior", _with_prior(lambda alpha: alpha[:, ::-1])),
    Control("alpha averaged over cells", "skew prior", _with_prior(lambda alpha: alpha.mean())),
    # masses
    Control(
        "masses: alpha of one outcome only",
        "few rows",
        _with(mass=lambda p, right: right - p.alpha.sum(axis=0) / 2),
        runs=2000,
    ),
    Control(
        "masses from counts without prior",
        "jeffreys",
        _with(mass=lambda p, right: np.maximum(right - p.alpha.sum(axis=0), 1e-6)),
    ),
    Control("masses from correct rows only", "uniform", _with(mass=lambda p, right: p.alpha[1] + p.counts.effective_k)),
    Control("masses independent of each other", "uniform", _drawn(_lone_masses)),
    Control("masses independent, then normalised", "three bins", _drawn(_normalised_betas), runs=2000),
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
        runs=2000,
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
        lambda simulator: (
            lambda counts, n, rng: dirichlet_posterior(
                counts, alpha=simulator.alpha, bin_variance=simulator.bins.widths / 12
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
)
