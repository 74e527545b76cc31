"""The reliability diagram: computed as a record, then drawn on any matplotlib axes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import Draws
from bayescal.posterior.contract import HasHypotheses
from bayescal.report.drawing import BLUE, GREY, ORANGE, SKY, SMALL, axes_or_new, headline, require_evaluation
from bayescal.report.room import TINY, characters, is_small, keep_within, small_words
from bayescal.results import wording
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Axis labels of a reliability diagram, for targets other than confidence.
AXES = {
    "event": ("stated probability", "event rate"),
    "classwise": ("stated probability", "class frequency"),
}
#: A bin with fewer (effective) rows is thin: its dot is hollow, and its bar has less than half of the full opacity.
THIN = 10
#: Radius of a dot, as a share of the height of the axes.
DOT = 0.012
#: The axes are enlarged if three points or more lie within this range of confidence.
CROWDED = 0.35
#: Width and height in inches below which labels are fewer and smaller.
ROOM = (4.0, 3.6)


@dataclass(frozen=True, eq=False)
class ReliabilityPoints:
    """Content of a reliability diagram: one entry per occupied bin, in the order of the bins.

    Parameters
    ----------
    bin_low, bin_high : ndarray, shape (n_occupied,)
        Edges of the bins.
    n : ndarray of int, shape (n_occupied,)
        Rows.
    effective_n : ndarray, shape (n_occupied,)
        Kish's effective number of rows; equal to `n` without weights.
    share : ndarray, shape (n_occupied,)
        Share of the (weighted) rows; sums to 1.
    confidence, accuracy : ndarray, shape (n_occupied,)
        Observed mean confidence and observed share of outcome 1.
    low, high : ndarray, shape (n_occupied,)
        Ends of the equal-tailed credible interval of the accuracy.
    """

    bin_low: Floats
    bin_high: Floats
    n: NDArray[np.int64]
    effective_n: Floats
    share: Floats
    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Flag bins whose observed accuracy lies outside the interval, shape (n_occupied,)."""
        return (self.accuracy < self.low) | (self.accuracy > self.high)


def reliability_points(evaluation: Evaluation, prob: float = 0.95) -> ReliabilityPoints:
    """Compute what `plot_reliability` draws.

    Parameters
    ----------
    evaluation : Evaluation
        The result of `evaluate`.
    prob : float, default 0.95
        Probability of the credible intervals, in (0, 1).

    Returns
    -------
    ReliabilityPoints
        One entry for each bin with rows; empty for an evaluation without rows.

    Raises
    ------
    TypeError
        If `evaluation` is something else; a `ClasswiseEvaluation` has one diagram per class.
    ValueError
        If `prob` is not strictly between 0 and 1.

    Examples
    --------
    >>> import bayescal as bc
    >>> points = reliability_points(bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1))
    >>> points.confidence, points.accuracy
    (array([0.3, 0.8]), array([0.5, 1. ]))
    """
    _one_problem(evaluation)
    counts = evaluation.counts
    keep = counts.occupied
    low, high = Draws(evaluation.bin_draws.accuracy[:, keep]).interval(prob)
    edges = counts.bins.edges
    return ReliabilityPoints(
        bin_low=edges[:-1][keep],
        bin_high=edges[1:][keep],
        n=counts.n[keep],
        effective_n=counts.effective_n[keep],
        share=counts.share[keep],
        confidence=counts.mean_confidence[keep],
        accuracy=counts.accuracy[keep],
        low=low,
        high=high,
    )


def plot_reliability(evaluation: Evaluation, ax: "Axes | None" = None, *, prob: float = 0.95) -> "Axes":
    """Draw a reliability diagram: accuracy against confidence with a credible bar for each bin.

    Dots are what was observed, at the bin's mean confidence; bars are credible intervals of the accuracy. Below the
    diagonal, accuracy is lower than confidence: the classifier is over-confident or, for an event, the probability is
    stated too high. Bins with few rows are pale, those with fewer than ten are hollow, and empty bins are not drawn.
    The histogram below shows the share of rows per bin, over the bin's interval.

    Parameters
    ----------
    evaluation : Evaluation
        The result of `evaluate`; for a `ClasswiseEvaluation`, one class, as in ``evaluation[label]``.
    ax : matplotlib Axes, optional
        Where to draw; the histogram takes its lower part. By default on a new pyplot figure.
    prob : float, default 0.95
        Probability of the credible intervals, in (0, 1).

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one; its ``.figure`` saves the picture. The histogram is ``ax.child_axes[0]``.

    Raises
    ------
    TypeError
        If `evaluation` is not the evaluation of one binary problem, or `ax` is not an Axes.
    ValueError
        If `prob` is not strictly between 0 and 1, or `ax` already holds a reliability diagram.

    See Also
    --------
    plot_posterior : Plot the posterior of the ECE.

    Notes
    -----
    Both axes run from 0 to 1 unless three or more bins crowd into a third of the range, as they do for an
    accurate network; then that part is enlarged. No global style is changed. Murphy and Winkler [1]_ is an early use
    of such diagrams.

    A dot may lie outside its bar. Where this can be seen, a line above the axes explains it. The dot shows its own bin
    alone. Under the shrinkage model the bar also uses the other bins: if they indicate that the classifier is nearly
    calibrated, a gap in one bin is likely due to chance. Under the other models the bar combines the rows of its bin
    with the prior. In a bin without positive rows, or with positive rows only, an equal-tailed interval ends short of
    0 or 1.

    The picture stays within its subplot; in less than 4 by 3.6 inches, labels are fewer and smaller.
    ``plt.subplots(2, 2, layout="constrained")`` makes the best use of the space.

    References
    ----------
    .. [1] A. H. Murphy and R. L. Winkler (1977), "Reliability of subjective probability forecasts of precipitation and
       temperature", Applied Statistics 26, 41-47.

    Examples
    --------
    >>> import bayescal as bc
    >>> from matplotlib.figure import Figure
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> ax = plot_reliability(ev, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    points = reliability_points(evaluation, prob)
    ax = axes_or_new(ax, figsize=(5.0, 6.0))
    if ax.get_axes_locator() is not None:
        raise ValueError(
            "`ax` already holds a reliability diagram, or is part of a grid that moves it. "
            "Give each diagram axes of its own: `fig, axes = plt.subplots(1, 2)`."
        )
    small = is_small(ax, *ROOM)
    below = _axes_below(ax)
    window = _window(points)
    if not len(points.n):
        ax.text(0.5, 0.5, "no rows", transform=ax.transAxes, ha="center", va="center", color=GREY)
    _draw_sides(ax, *window, wording.direction_words(evaluation.counts.target))
    _draw_points(ax, points, 0.6 if small else 1.0)
    _draw_mass(below, points)
    stated, happened = axis_words(evaluation.counts.target)
    below.set_xlabel(stated)
    ax.set(xlim=window[0], ylim=window[1], ylabel=happened)
    ax.tick_params(labelbottom=False)
    lines = _reliability_key(ax, prob, thin=bool((points.effective_n < THIN).any()), small=small)
    above = (TINY if small else SMALL) * 1.4 * lines + 4
    headline(ax, evaluation, prob, above=above, note=_note(points, evaluation, window[1]), small=small)
    if small:
        small_words(ax)
        below.set_yticks([])
    keep_within(ax)
    return ax


def axis_words(target: str) -> tuple[str, str]:
    """Return the words for what a classifier states and for what is observed, with this target."""
    return AXES.get(target, ("confidence", "accuracy"))


def _note(points: ReliabilityPoints, evaluation: Evaluation, window: tuple[float, float]) -> str:
    """Return the explanation of dots outside their bars; empty if every dot touches its bar in the picture."""
    away = np.maximum(points.low - points.accuracy, points.accuracy - points.high)
    if not (away > DOT * (window[1] - window[0])).any():
        return ""
    if isinstance(evaluation.posterior, HasHypotheses):
        return "Dot outside its bar: a dot is one bin alone, a bar uses all bins."
    return "Dot outside its bar: a bar combines its bin with the prior."


def _one_problem(evaluation: Any) -> None:
    require_evaluation(evaluation)
    if isinstance(evaluation, ClasswiseEvaluation):
        raise TypeError(
            f"`evaluation` holds {len(evaluation)} binary problems, one per class, and a reliability diagram shows "
            f"one: index a class, as in `evaluation[{evaluation.classes[0]!r}]`."
        )


def _axes_below(ax: "Axes") -> "Axes":
    """Divide axes: add axes that share x in their lower part."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    below = make_axes_locatable(ax).new_vertical("20%", pad=0.12, pack_start=True, sharex=ax)
    ax.add_child_axes(below)  # constrained layout leaves room for the labels of child axes only
    return below


def _window(points: ReliabilityPoints) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits of x and y: [0, 1], or the part that holds the points and the diagonal if they crowd."""
    everything = (-0.02, 1.02)
    c = points.confidence
    if len(c) < 3 or np.ptp(c) > CROWDED:
        return everything, everything
    margin = max(0.08 * float(np.ptp(c)), 1e-4)
    x = (float(c.min()) - margin, min(float(c.max()) + margin, 1.0 + margin / 2))
    shown = np.concatenate([points.accuracy, points.low, points.high, x])
    low, high = float(shown.min()), float(shown.max())
    room = 0.12 * (high - low)  # for the text in the corners
    return x, (max(low - room, -0.02), high + room)


def _draw_sides(ax: "Axes", x: tuple[float, float], y: tuple[float, float], words: tuple[str, str]) -> None:
    """Draw the diagonal, and label the sides above and below it."""
    ends = [-1.0, 2.0]
    ax.fill_between(ends, ends, 2.0, color=SKY, alpha=0.10, linewidth=0, zorder=0)
    ax.fill_between(ends, -1.0, ends, color=ORANGE, alpha=0.08, linewidth=0, zorder=0)
    ax.plot(ends, ends, color=GREY, linewidth=1, linestyle="--", zorder=1, gid="diagonal")
    style: dict[str, Any] = {
        "transform": ax.transAxes,
        "fontsize": SMALL,
        "zorder": 5,
        # keeps the text legible on the bars of thin bins, which reach into the corners
        "bbox": {"facecolor": ax.get_facecolor(), "alpha": 0.6, "linewidth": 0, "pad": 1},
    }
    too_high, too_low = words
    ax.text(0.03, 0.97, too_low, color=BLUE, va="top", **style)
    ax.text(0.97, 0.03, too_high, color=ORANGE, ha="right", **style)


def _draw_points(ax: "Axes", points: ReliabilityPoints, scale: float) -> None:
    """Draw a dot and a bar for each bin: paler with few rows, hollow with fewer than `THIN`."""
    from matplotlib.colors import to_rgba

    n = points.effective_n
    bar = np.tile(to_rgba(BLUE), (len(n), 1))
    bar[:, 3] = 0.2 + 0.45 * n / (n + THIN)
    inside = np.tile(to_rgba(BLUE), (len(n), 1))
    inside[n < THIN] = to_rgba(ax.get_facecolor())
    crowd = scale * min(1.0, (25 / max(len(n), 1)) ** 0.5)  # thinner strokes for a hundred bins
    ax.vlines(
        points.confidence,
        points.low,
        points.high,
        colors=list(map(tuple, bar)),
        linewidth=4 * crowd,
        zorder=3,
        gid="credible intervals",
    )
    ax.scatter(
        points.confidence,
        points.accuracy,
        s=30 * crowd,
        c=inside,
        edgecolors=BLUE,
        linewidths=1.1 * crowd,
        zorder=4,
        gid="observed",
    )


def _draw_mass(below: "Axes", points: ReliabilityPoints) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    width = points.bin_high - points.bin_low
    below.bar(
        points.bin_low,
        points.share,
        width,
        align="edge",
        color=BLUE,
        alpha=0.55,
        edgecolor=below.get_facecolor(),
        linewidth=min(0.6, 15 / max(len(width), 1)),
    )
    below.set(ylabel="rows", ylim=(0, 1.1 * max(points.share, default=1.0)))
    below.yaxis.set_major_locator(MaxNLocator(2))
    below.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    below.spines[["top", "right"]].set_visible(False)


def _reliability_key(ax: "Axes", prob: float, *, thin: bool, small: bool) -> int:
    """Draw the key above the axes, where it hides no data; return its number of lines."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "", "markersize": 5}
    handles = [
        Line2D([], [], label="observed", **dot),
        Line2D([], [], label=f"< {THIN} rows", markerfacecolor=ax.get_facecolor(), **dot),
        Line2D([], [], color=BLUE, alpha=0.65, linewidth=4, label=f"{100 * prob:g} % interval"),
    ]
    if not thin:
        del handles[1]
    # entries that do not fit side by side are stacked
    wide = sum(len(str(handle.get_label())) + 5 for handle in handles) > characters(ax, TINY if small else SMALL)
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=1 if wide else 3,
        frameon=False,
        fontsize=SMALL,
        borderaxespad=0.2,
        borderpad=0,
        handlelength=1.2,
        handletextpad=0.5,
        columnspacing=0.9,
    )
    return len(handles) if wide else 1
