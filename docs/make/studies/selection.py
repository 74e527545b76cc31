"""Populations of confidences and correctness whose selective risks are known, for studies of selective prediction."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.datasets.simulate import POPULATIONS, true_curve

Floats = NDArray[np.float64]
Row = dict[str, Any]

#: Points that represent a simulated population.
POINTS = 400_000
#: Methods in tables.
OURS, BOOTSTRAP = "bayescal", "percentile bootstrap"


def simulated(
    population: str, curve: tuple[str, float | None], n_rows: int, rng: np.random.Generator
) -> tuple[Callable[[], tuple[Any, Floats]], tuple[Floats, Floats]]:
    """A function that draws correctness and confidence, and points that represent the population."""
    of, shape = POPULATIONS[population], true_curve(*curve)

    def draw() -> tuple[Any, Floats]:
        c = of.sample(n_rows, rng=rng)
        return (rng.random(n_rows) < shape(c)).astype(np.int64), c

    c = of.quantile((np.arange(POINTS) + 0.5) / POINTS)
    return draw, (c, shape(c))


def name_of(curve: tuple[str, float | None]) -> str:
    """Name of a curve in tables."""
    name, strength = curve
    return name if strength is None else f"{name} {strength:g}"


def path_of(score: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Shares that are kept, and kept and wrong, after each distinct confidence from the largest one on."""
    distinct, at = np.unique(-score, return_inverse=True)
    rows, wrong = (np.bincount(at, values, len(distinct)) for values in (np.ones_like(score), 1 - right))
    kept, lost = (np.concatenate([[0.0], np.cumsum(each)]) / len(score) for each in (rows, wrong))
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
