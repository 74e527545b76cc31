"""Parts shared by reliability diagrams: the points as a record, the axes for both parts, the limits, the two sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Axes, AxesDivider, Bools, Floats, Ints
from bayescal._texts import text_of
from bayescal.draws import Draws
from bayescal.posterior.contract import HasHypotheses
from bayescal.report.drawing import SMALL, add_part, background, is_dark, palette, require_evaluation
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.bins import VALUES
from bayescal.stats.contract import Counts

#: A bin with fewer (effective) rows is thin: its dot is hollow, and its bar has less than half of the full opacity.
THIN_BIN = 10
CROWDED_RANGE = 0.35  #: The axes are enlarged if three points or more lie within this range of confidence.
DOT = 0.012  #: Radius of a dot, as a share of the height of the axes.
ROOM = (4.0, 3.6)  #: Width and height in inches below which labels are fewer and smaller.


Limits = tuple[float, float]


@dataclass(frozen=True)
class SideColors:
    """Colours of the diagonal, and of the words and tints above and below it."""

    reference: str
    above: str
    below: str
    above_tint: str

    @classmethod
    def chosen(cls, ax: "Axes", reference_color: Any, above_color: Any, below_color: Any) -> "SideColors":
        """Return the given colours, or those for the background of the axes."""
        default, color = palette(ax), _checks.color
        above, tint = (color("above_color", above_color, usual) for usual in (default.blue, default.sky))
        below = color("below_color", below_color, default.orange)
        return cls(color("reference_color", reference_color, default.grey), above, below, tint)


@dataclass(frozen=True, eq=False)
class ReliabilityPoints:
    """Content of a reliability diagram: one entry per occupied bin, in the order of the bins."""

    bin_low: Floats
    bin_high: Floats
    n: Ints  # rows
    effective_n: Floats  # Kish's effective number of rows; equal to `n` without weights
    share: Floats  # of the (weighted) rows; sums to 1
    confidence: Floats  # observed mean; NaN in bins that are not followed to the horizon
    accuracy: Floats  # observed share of outcome 1, NaN as above; without labels, from the labelled rows of the source
    low: Floats  # ends of the equal-tailed credible interval of the accuracy
    high: Floats
    censored: Floats | None = None  # share of rows in the bin and censored before the horizon; None without times

    @property
    def outside(self) -> Bools:
        """Flag bins whose observed accuracy lies outside the interval, shape (n_occupied,)."""
        return (self.accuracy < self.low) | (self.accuracy > self.high)


def reliability_points(evaluation: Evaluation, prob: float = 0.95) -> ReliabilityPoints:
    """Compute the values that `plot_reliability` draws, one entry per bin with rows."""
    one_problem(evaluation)
    counts = evaluation.counts
    keep = counts.occupied
    low, high = Draws(evaluation.bin_draws.accuracy[:, keep]).interval(prob)
    (low_ends, high_ends), censored = _ends(counts), evaluation._censored_share
    return ReliabilityPoints(
        bin_low=low_ends[keep], bin_high=high_ends[keep], n=counts.n[keep],
        effective_n=counts.effective_n[keep], share=counts.share[keep],
        confidence=counts.mean_confidence[keep], accuracy=evaluation._observed_accuracy[keep],
        low=low, high=high, censored=None if censored is None else censored[keep],
    )  # fmt: skip


def _ends(counts: Counts) -> tuple[Floats, Floats]:
    """Return the edges of the bars; with one bin per value, bars around the values."""
    edges, values = counts.bins.edges, counts.mean_confidence
    if counts.bins.kind != VALUES:
        return edges[:-1], edges[1:]
    half = max(0.4 * float(np.diff(values[counts.occupied]).min(initial=0.1)), 0.004)
    return values - half, values + half


@dataclass(frozen=True)
class Scales:
    """Limits and symbols that diagrams have in common."""

    x: Limits  # limits of confidence
    y: Limits  # limits of accuracy
    share: float  # largest share of rows in a bin
    thin: bool  # whether any bin is thin, so that the key explains hollow dots


def common_scales(points: Sequence[ReliabilityPoints]) -> Scales:
    """Return the limits that contain those of all diagrams (at least one); diagrams without rows do not count."""
    limits = [window(each) for each in points if len(each.n)] or [window(points[0])]
    x, y = ((min(low for low, _ in ends), max(high for _, high in ends)) for ends in zip(*limits, strict=True))
    largest = max((float(share) for each in points for share in each.share), default=1.0)
    return Scales(x, y, largest, any(bool((each.effective_n < THIN_BIN).any()) for each in points))


def one_problem(evaluation: Any) -> Evaluation:
    """Return the argument if it is the evaluation of one binary problem, otherwise raise TypeError."""
    require_evaluation(evaluation)
    if isinstance(evaluation, ClasswiseEvaluation):
        raise TypeError(
            f"`evaluation` holds {len(evaluation)} binary problems, one per class, and a reliability diagram shows "
            f"one: index a class, as in `evaluation[{evaluation.classes[0]!r}]`."
        )
    one: Evaluation = evaluation
    return one


def require_undivided(ax: "Axes") -> None:
    """Refuse axes that hold a diagram already: two histograms cannot share their lower part."""
    if ax.get_axes_locator() is not None:
        raise ValueError(text_of("occupied axes"))


def divided(ax: "Axes") -> "tuple[AxesDivider, Axes]":
    """Divide axes: add axes that share x in their lower part."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    divider = make_axes_locatable(ax)
    below = divider.new_vertical("20%", pad=0.12, pack_start=True, sharex=ax)
    add_part(ax, below)
    below.set(ylabel="rows")
    below.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelbottom=False)
    return divider, below


def scale_histogram(below: "Axes", largest: float) -> None:
    """Give the histogram a scale in per cent that ends above its largest bin."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    below.set_ylim(0, 1.1 * largest)
    below.yaxis.set_major_locator(MaxNLocator(2))
    below.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def window(points: ReliabilityPoints) -> tuple[Limits, Limits]:
    """Return the limits of x and y: [0, 1], or the part that holds the points and the diagonal if they crowd."""
    everything = (-0.02, 1.02)
    c = points.confidence
    if len(c) < 3 or np.ptp(c) > CROWDED_RANGE:
        return everything, everything
    margin = max(0.08 * float(np.ptp(c)), 1e-4)
    x = (float(c.min()) - margin, min(float(c.max()) + margin, 1.0 + margin / 2))
    shown = np.concatenate([points.accuracy, points.low, points.high, x])
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    room = 0.12 * (high - low)  # for the text in the corners
    return x, (max(low - room, -0.02), high + room)


def draw_sides(ax: "Axes", words: tuple[str, str], colors: SideColors) -> None:
    """Draw the diagonal, and label the sides above and below it."""
    ends = [-1.0, 2.0]
    ax.fill_between(ends, ends, 2.0, color=colors.above_tint, alpha=0.10, linewidth=0, zorder=0)
    ax.fill_between(ends, -1.0, ends, color=colors.below, alpha=0.08, linewidth=0, zorder=0)
    ax.plot(ends, ends, color=colors.reference, linewidth=1, linestyle="--", zorder=1, gid="diagonal")
    style: dict[str, Any] = {
        "transform": ax.transAxes,
        "fontsize": SMALL,
        "zorder": 5,
        # keeps the text legible on the bars of thin bins, which reach into the corners
        "bbox": {"facecolor": ax.get_facecolor(), "alpha": 0.6, "linewidth": 0, "pad": 1},
    }
    too_high, too_low = words
    ax.text(0.03, 0.97, too_low, color=colors.above, va="top", **style)
    ax.text(0.97, 0.03, too_high, color=colors.below, ha="right", **style)


def bar_colors(ax: "Axes", color: str, n: Floats) -> list[tuple[float, float, float, float]]:
    """Return the colour of each bar: the fewer effective rows, the paler, but never invisible on dark paper."""
    from matplotlib.colors import to_rgba

    palest = 0.35 if is_dark(background(ax)) else 0.2
    red, green, blue, opacity = to_rgba(color)
    return [(red, green, blue, opacity * each) for each in (palest + (0.65 - palest) * n / (n + THIN_BIN)).tolist()]


def outside_note(points: ReliabilityPoints, evaluation: Evaluation, limits: Limits) -> str:
    """Return the explanation of dots outside their bars; empty if every dot touches its bar in the picture."""
    away = np.maximum(points.low - points.accuracy, points.accuracy - points.high)
    if not (away > DOT * (limits[1] - limits[0])).any():
        return ""
    if isinstance(evaluation.posterior, HasHypotheses):
        return "Dot outside its bar: a dot is one bin alone, a bar uses all bins."
    return "Dot outside its bar: a bar combines its bin with the prior."
