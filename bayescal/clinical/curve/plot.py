"""The plot of a calibration curve: computed as a record, then drawn."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.clinical.curve.result import CELLS, CalibrationCurve
from bayescal.clinical.result import ClinicalSummary
from bayescal.report.diagram import (
    CROWDED,
    ROOM,
    Limits,
    SideColors,
    axis_words,
    divided,
    draw_sides,
    require_undivided,
    scale_histogram,
)
from bayescal.report.drawing import (
    axes_or_new,
    background,
    is_dark,
    is_small,
    keep_within,
    key_above,
    palette,
    small_words,
    titled,
)
from bayescal.results import wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Largest number of bars in the distribution of scores.
BARS = 50
#: Number of equidistant scores at which the curve is drawn, beside its knots.
POINTS = 101


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Content of the plot of a calibration curve.

    Parameters
    ----------
    score, mean, low, high : ndarray, shape (n_points,)
        The curve and its band.
    x, y : tuple of float
        Limits of the axes.
    left, share : ndarray, shape (n_bars,)
        Left ends of the bars of the distribution of scores, and the shares of the rows.
    width : float
        Width of a bar.
    """

    score: Floats
    mean: Floats
    low: Floats
    high: Floats
    x: Limits
    y: Limits
    left: Floats
    share: Floats
    width: float


def curve_points(cv: CalibrationCurve, prob: float = 0.95) -> CurvePoints:
    """Compute what `plot_calibration_curve` draws.

    Parameters
    ----------
    cv : CalibrationCurve
        The result.
    prob : float, default 0.95
        Probability of the interval at each score.

    Returns
    -------
    CurvePoints
        The numbers to draw.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(1000, population="flat", rng=1)
    >>> points = curve_points(bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1))
    >>> len(points.score), points.x, len(points.share), float(points.share.sum())
    (131, (-0.02, 1.02), 50, 1.0)
    """
    low, high = cv.span
    knots = cv.score[(low <= cv.score) & (cv.score <= high)]
    score = np.unique(np.concatenate([np.linspace(low, high, POINTS), knots]))
    rates = cv.rates(score)
    return points_of(score, np.asarray(rates.mean()), *rates.interval(prob), cv.distribution)


def points_of(score: Floats, mean: Floats, low: Floats, high: Floats, distribution: Floats) -> CurvePoints:
    """Add limits of the axes, and bars of the distribution, to a curve; parameters as for `CurvePoints`.

    Parameters
    ----------
    score, mean, low, high
        As for `CurvePoints`.
    distribution : ndarray, shape (1000,)
        Share of the rows in equal-width cells of scores.
    """
    x, y = _limits(score, low, high)
    # cells are joined, so that the window holds at most BARS bars
    inside = max(min(x[1], 1.0) - max(x[0], 0.0), 1 / CELLS)
    joined = max(int(np.ceil(inside * CELLS / BARS)), 1)
    starts = np.arange(0, CELLS, joined)
    shares = np.add.reduceat(distribution, starts)
    return CurvePoints(score, mean, low, high, x, y, starts / CELLS, shares, joined / CELLS)


def _limits(score: Floats, low: Floats, high: Floats) -> tuple[Limits, Limits]:
    """Return the limits of both axes: [0, 1], or the part that holds the curve and the diagonal if scores crowd."""
    everything = (-0.02, 1.02)
    first, last = float(score[0]), float(score[-1])
    if last - first > CROWDED:
        return everything, everything
    margin = max(0.08 * (last - first), 1e-4)
    x = (max(first - margin, -margin / 4), min(last + margin, 1.0 + margin / 4))
    bottom, top = min(float(low.min()), x[0]), max(float(high.max()), x[1])
    room = 0.08 * (top - bottom)
    return x, (max(bottom - room, -room), min(top + room, 1.0 + room))


@public
def plot_calibration_curve(
    cv: CalibrationCurve,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes":
    """Draw a calibration curve with its band, and the distribution of the scores below it.

    Where the curve lies on the diagonal, the scores are calibrated. The band contains the event rate at each score with
    probability `prob`; it is pointwise. The band of a calibrated classifier touches the diagonal everywhere.

    Parameters
    ----------
    cv : CalibrationCurve
        From `calibration_curve`.
    ax : matplotlib Axes, optional
        Where to draw; the distribution takes its lower part. By default on a new pyplot figure.
    prob : float, default 0.95
        Probability of the interval at each score, in (0, 1).
    color : matplotlib color, optional
        Colour of the curve, the band and the distribution.
    reference_color : matplotlib color, optional
        Colour of the diagonal.
    above_color, below_color : matplotlib color, optional
        Colours of the sides above and below the diagonal. All default colours are lighter on a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. The distribution is ``ax.child_axes[0]``.

    Raises
    ------
    TypeError
        If `cv` is something else, or `ax` is not an Axes.
    ValueError
        If `prob` is not strictly between 0 and 1, a colour is unknown to matplotlib, or `ax` already holds a
        diagram.

    See Also
    --------
    plot_reliability : Bins with intervals of their own.

    Notes
    -----
    The curve is drawn from the smallest to the largest score, see `CalibrationCurve.at`. Both axes run from 0 to 1
    unless these scores crowd into a third of the range.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> from matplotlib.figure import Figure
    >>> rows = simulate(1000, population="flat", curve="shift", rng=1)
    >>> curve = bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> ax = plot_calibration_curve(curve, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    if isinstance(cv, ClinicalSummary):
        raise TypeError(
            "`cv` must be a CalibrationCurve: of a clinical summary pass `summary.calibration_curve`, of one of "
            "several models `summary[name].calibration_curve`."
        )
    if not isinstance(cv, CalibrationCurve):
        raise TypeError(
            f"`cv` must be a CalibrationCurve, not {type(cv).__name__}; make one with "
            "`bayescal.clinical.calibration_curve(y_true, y_prob)`. Evaluations are drawn by `plot_reliability`."
        )
    points = curve_points(cv, _checks.fraction("prob", prob))
    ax = axes_or_new(ax, figsize=(5.0, 6.0))
    require_undivided(ax)
    small = is_small(ax, *ROOM)
    main = _checks.color("color", color, palette(ax).blue)
    sides = SideColors.chosen(ax, reference_color, above_color, below_color)
    entries = draw_curve(ax, points, main, sides, cv.target, prob)
    _headline(ax, cv, prob, above=key_above(ax, entries, small=small), small=small)
    finish(ax, small=small)
    return ax


def draw_curve(
    ax: "Axes", points: CurvePoints, color: str, sides: SideColors, target: str, prob: float
) -> list[tuple[Any, str]]:
    """Draw a curve with its band against the diagonal, and the distribution of scores; return the entries of a key."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    _, below = divided(ax)
    draw_sides(ax, wording.direction_words(target), sides)
    opacity = 0.4 if is_dark(background(ax)) else 0.25
    style: dict[str, Any] = {"color": color, "alpha": opacity, "linewidth": 0}
    ax.fill_between(points.score, points.low, points.high, zorder=2, gid="band", **style)
    ax.plot(points.score, points.mean, color=color, linewidth=1.8, zorder=4, gid="curve")
    below.bar(points.left, points.share, points.width, align="edge", color=color, alpha=0.55, linewidth=0)
    scale_histogram(below, max(float(points.share.max()), 1e-9))
    stated, happened = axis_words(target)
    below.set_xlabel(stated)
    ax.set(xlim=points.x, ylim=points.y, ylabel=happened)
    return [
        (Line2D([], [], color=color, linewidth=1.8), "posterior mean"),
        (Patch(**style), f"{100 * prob:g} % interval at each score"),
    ]


def finish(ax: "Axes", *, small: bool) -> None:
    """Reduce labels of small axes, and keep the diagram within its cell."""
    if small:
        small_words(ax)
        ax.child_axes[0].set_yticks([])
    keep_within(ax)


def _headline(ax: "Axes", cv: CalibrationCurve, prob: float, *, above: float, small: bool) -> None:
    low, high = cv.ici.interval(prob)
    d = _render.interval_decimals(low, high)
    mean, low, high = (_render.number(v, d) for v in (cv.ici.mean(), low, high))
    interval = "" if small else f", {100 * prob:g} % interval"
    exact = f"P(exactly calibrated) {_render.probability(cv.p_calibrated)}"
    titled(ax, f"ICI {mean}{interval} [{low}, {high}]", [] if small else [cv.question, exact], above=above, small=small)
