"""Draws of one quantity as a curve, for the continuous part, and stems, for values with a probability of their own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import Draws
from bayescal.report.drawing import background

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Vertical position of the bar of the interval, below the base line of its curve, in units of the peak.
BAR = -0.13


@dataclass(frozen=True, eq=False)
class Density:
    """A distribution to draw: a curve for the continuous part, stems for values that occur repeatedly."""

    x: Floats
    height: Floats  # of the curve; empty if every draw lies on a stem
    stem_x: Floats  # values with a probability of their own
    stem_pr: Floats  # these probabilities
    mean: float
    low: float
    high: float


def density_of(draws: Draws, prob: float) -> Density:
    """Compute the curve and stems of draws, with their mean and equal-tailed interval."""
    low, high = draws.interval(prob)
    values = np.round(draws.values, 12)  # sums in another order differ by rounding
    points, times = np.unique(values, return_counts=True)
    often = times >= max(2, 0.01 * len(values))
    if times[often].sum() >= 0.9 * len(values) or len(points[points != 0]) < 2:
        stems, smooth = often | (len(points) < 3), values[:0]
    else:
        stems, smooth = points == 0, values[values != 0]
    x, height = _kde(smooth) if len(smooth) else (smooth, smooth)
    return Density(x, height, points[stems], times[stems] / len(values), draws.mean(), low, high)


def _kde(values: Floats) -> tuple[Floats, Floats]:
    from arviz_stats.base import array_stats

    with np.errstate(all="ignore"):  # the choice of bandwidth divides by zero for evenly spaced draws, harmlessly
        x, height, _ = array_stats.kde(values)
    return x, height


def draw_density(ax: "Axes", density: Density, base: float, height: float, colour: str) -> None:
    """Draw one row: curve and stems, with heights in proportion to their probability, and mean and interval below."""
    smooth = 1 - float(density.stem_pr.sum())
    most = max(smooth if len(density.x) else 0.0, *density.stem_pr, 0.0)
    if len(density.x):
        top = base + height * smooth / most * density.height / density.height.max()
        ax.fill_between(density.x, base, top, color=colour, alpha=0.25, linewidth=0)
        ax.plot(density.x, top, color=colour, linewidth=1.5)
    if len(density.stem_x):
        ax.vlines(density.stem_x, base, base + height * density.stem_pr / most, color=colour, linewidth=3)
    ax.axhline(base, color=colour, linewidth=0.6, alpha=0.5)
    ax.plot([density.low, density.high], [base + BAR] * 2, color=colour, linewidth=4, solid_capstyle="butt")
    ax.plot(density.mean, base + BAR, marker="o", markersize=7, color=colour, markeredgecolor=background(ax))
