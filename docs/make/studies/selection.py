"""Populations of confidences and correctness whose selective risks are known, for studies of selective prediction."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.datasets.clustered import simulate_clusters
from bayescal.datasets.simulate import POPULATIONS, true_curve

Floats = NDArray[np.float64]
Row = dict[str, Any]
#: Name of a curve, or its function, and its strength.
Shape = tuple[Any, float | None]
#: A function that draws correctness and confidence, then weights and clusters if rows have them; and points of the
#: population: confidences, probabilities of being right, and weights if these differ.
Source = tuple[Callable[[], tuple[Any, ...]], tuple[Floats, ...]]

#: Points that represent a simulated population.
POINTS = 400_000
#: Methods in tables.
OURS, BOOTSTRAP = "bayescal", "percentile bootstrap"
#: Upper share of the confidences with the weight 20, and by how much predictions in a bump are right less often.
HEAVY, DEPTH = 0.02, 0.3
#: Correlations of the latent variables of outcomes in a cluster, and of confidences if a cluster has one level.
DEPENDENCE, ALIKE = 0.5, 0.99
#: Clusters at the top, rows of each, the confidence above which they are, and their probability of being right; rows of
#: each other cluster.
LARGE, LARGE_ROWS, LARGE_FROM, LARGE_RIGHT, SMALL_ROWS = 12, 60, 0.9, 0.8, 5


def simulated(
    population: str, curve: Shape, n_rows: int, rng: np.random.Generator
) -> tuple[Callable[[], tuple[Any, Floats]], tuple[Floats, Floats]]:
    """A function that draws correctness and confidence, and points that represent the population."""
    of, shape = POPULATIONS[population], true_curve(*curve)

    def draw() -> tuple[Any, Floats]:
        c = of.sample(n_rows, rng=rng)
        return (rng.random(n_rows) < shape(c)).astype(np.int64), c

    c = of.quantile((np.arange(POINTS) + 0.5) / POINTS)
    return draw, (c, shape(c))


def weighted(
    population: str, heaviest: float, sd: float, curve: Shape, n_rows: int, rng: np.random.Generator
) -> Source:
    """Rows with larger weights in the upper share `HEAVY`, all times a log-normal factor that depends on nothing."""
    draw, (points, right) = simulated(population, curve, n_rows, rng)
    first = POPULATIONS[population].quantile(1 - HEAVY)

    def with_weights() -> tuple[Any, ...]:
        z, c = draw()
        return z, c, np.where(c > first, heaviest, 1.0) * rng.lognormal(0.0, sd, n_rows)

    return with_weights, (points, right, np.where(points > first, heaviest, 1.0))


def clustered(population: str, size: int, alike: float, curve: Shape, n_rows: int, rng: np.random.Generator) -> Source:
    """Rows in clusters of one size, whose outcomes depend on each other."""
    sizes, (name, strength) = np.full(n_rows // size, size), curve
    options: Row = {"dependence": DEPENDENCE, "alike": alike, "population": population}

    def draw() -> tuple[Any, ...]:
        rows = simulate_clusters(sizes, **options, curve=name, strength=strength, rng=rng)
        return rows.outcome, rows.confidence, None, rows.cluster

    return draw, simulated(population, curve, n_rows, rng)[1]


def large_at_top(population: str, curve: Shape, n_rows: int, rng: np.random.Generator) -> Source:
    """Rows in small clusters, and large clusters with large confidences that are right or wrong as a whole."""
    n_large = LARGE * LARGE_ROWS
    small, (points, right) = clustered(population, SMALL_ROWS, 0.0, curve, n_rows - n_large, rng)
    at_top = LARGE_FROM + (1 - LARGE_FROM) * (np.arange(POINTS) + 0.5) / POINTS

    def draw() -> tuple[Any, ...]:
        z, c, _, cluster = small()
        z_large = np.repeat(rng.random(LARGE) < LARGE_RIGHT, LARGE_ROWS)
        c_large = LARGE_FROM + (1 - LARGE_FROM) * rng.random(n_large)
        number = cluster[-1] + 1 + np.repeat(np.arange(LARGE), LARGE_ROWS)
        return np.append(z, z_large), np.append(c, c_large), None, np.append(cluster, number)

    rows = np.repeat([n_rows - n_large, n_large], POINTS).astype(np.float64)
    return draw, (np.append(points, at_top), np.append(right, np.full(POINTS, LARGE_RIGHT)), rows)


def with_bump(
    population: str, first: float, last: float, curve: Shape, n_rows: int, rng: np.random.Generator
) -> Source:
    """Rows that are right less often by `DEPTH` between two shares, counted from the largest confidence on."""
    low, high = POPULATIONS[population].quantile([1 - last, 1 - first])
    base = true_curve(*curve)

    def lower(c: Floats) -> Floats:
        return np.maximum(base(c) - np.where((c > low) & (c <= high), DEPTH, 0.0), 0.0)

    return simulated(population, (lower, None), n_rows, rng)


#: Sources with weights, clusters and bumps, from (curve, n_rows, rng).
SPECIAL: dict[str, Callable[[Shape, int, np.random.Generator], Source]] = {
    "top, log-normal weights": partial(weighted, "top", 1.0, 1.0),
    "flat, log-normal weights": partial(weighted, "flat", 1.0, 1.0),
    "flat, weight 20 at the top": partial(weighted, "flat", 20.0, 0.0),
    "top, weight 20 at the top, log-normal": partial(weighted, "top", 20.0, 1.0),
    "flat, clusters of 10": partial(clustered, "flat", 10, 0.0),
    "top, clusters of 10": partial(clustered, "top", 10, 0.0),
    "flat, clusters of 30 with one level": partial(clustered, "flat", 30, ALIKE),
    "flat, 12 clusters of 60 at the top": partial(large_at_top, "flat"),
    "top, bump up to share 0.05": partial(with_bump, "top", 0.0, 0.05),
    "top, bump from share 0.3 to 0.4": partial(with_bump, "top", 0.3, 0.4),
}
CALIBRATED, TEMPERATURE = ("calibrated", None), ("temperature", 1.5)
#: Population, curve and number of rows.
SPECIAL_CELLS: tuple[tuple[str, Shape, int], ...] = (
    ("top, log-normal weights", TEMPERATURE, 1000),
    ("flat, log-normal weights", CALIBRATED, 5000),
    ("flat, weight 20 at the top", CALIBRATED, 1000),
    ("top, weight 20 at the top, log-normal", TEMPERATURE, 5000),
    ("flat, clusters of 10", CALIBRATED, 1000),
    ("top, clusters of 10", TEMPERATURE, 1000),
    ("flat, clusters of 30 with one level", CALIBRATED, 1800),
    ("flat, 12 clusters of 60 at the top", CALIBRATED, 40 * SMALL_ROWS + LARGE * LARGE_ROWS),
    ("flat, 12 clusters of 60 at the top", CALIBRATED, 400 * SMALL_ROWS + LARGE * LARGE_ROWS),
    *(("top, bump up to share 0.05", CALIBRATED, n) for n in (200, 1000, 5000)),
    *(("top, bump from share 0.3 to 0.4", CALIBRATED, n) for n in (200, 1000, 5000)),
)


def name_of(curve: tuple[str, float | None]) -> str:
    """Name of a curve in tables."""
    name, strength = curve
    return name if strength is None else f"{name} {strength:g}"


def path_of(score: Floats, right: Floats, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Shares that are kept, and kept and wrong, after each distinct confidence from the largest one on."""
    distinct, at = np.unique(-score, return_inverse=True)
    mass = np.ones_like(score) if weight is None else weight
    rows, wrong = (np.bincount(at, values, len(distinct)) for values in (mass, mass * (1 - right)))
    kept, lost = (np.concatenate([[0.0], np.cumsum(each)]) / mass.sum() for each in (rows, wrong))
    return kept, lost


def largest_share(kept: Floats, wrong: Floats, risk: float) -> float:
    """Last share at which the line of wrong predictions is at most the risk times the share."""
    excess = wrong - risk * kept
    fits = np.flatnonzero(excess[1:] <= 1e-12) + 1
    if not len(fits):
        return 0.0
    last = fits[-1]
    if last == len(kept) - 1:
        return 1.0
    return float(kept[last] - excess[last] * (kept[last + 1] - kept[last]) / (excess[last + 1] - excess[last]))
