"""The plot of a recalibration: the line of intercept and slope as event rates, computed as a record, then drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.clinical.curve.plot import CurvePoints, draw_curve, finish, points_of
from bayescal.clinical.curve.result import CELLS
from bayescal.clinical.slope.result import Recalibration
from bayescal.report.diagram import ROOM, SideColors, require_undivided
from bayescal.report.drawing import axes_or_new, is_small, key_above, palette, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of probabilities at which the line is drawn.
POINTS = 201


def recalibration_points(rc: Recalibration, prob: float = 0.95) -> CurvePoints:
    """Compute what `plot_recalibration` draws.

    Parameters
    ----------
    rc : Recalibration
        The result.
    prob : float, default 0.95
        Probability of the interval at each stated probability.

    Returns
    -------
    CurvePoints
        The numbers to draw, from the smallest to the largest stated probability between 0 and 1.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="flat", curve="shift", strength=1, rng=1)
    >>> points = recalibration_points(bc.clinical.recalibration(rows.outcome, rows.confidence, rng=1))
    >>> float(np.interp(0.5, points.score, points.mean).round(1))
    0.7
    """
    logit = rc.counts.logit
    # half of the points are spread over probabilities, half over logits
    even = 1 / (1 + np.exp(-np.linspace(logit[0], logit[-1], POINTS // 2)))
    score = np.union1d(even, np.linspace(even[0], even[-1], POINTS // 2))
    mean, low, high = rc.recalibrated(score, prob)
    binned = rc.counts.binned
    cell = np.minimum((binned.mean_confidence[binned.occupied] * CELLS).astype(np.intp), CELLS - 1)
    return points_of(score, mean, low, high, np.bincount(cell, binned.share[binned.occupied], CELLS))


@public
def plot_recalibration(
    rc: Recalibration,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes":
    """Draw the recalibration line: the event rate that intercept and slope give to each stated probability.

    The line is straight on the logit scale. On the diagonal, the intercept is 0 and the slope 1. The band contains the
    event rate at each probability with probability `prob`, if the logit of the event rate is linear in the logit of
    the stated probability; it is pointwise. The distribution of the stated probabilities is drawn below.

    Parameters
    ----------
    rc : Recalibration
        From `recalibration`.
    ax : matplotlib Axes, optional
        Where to draw; the distribution takes its lower part. By default on a new pyplot figure.
    prob : float, default 0.95
        Probability of the interval at each stated probability, in (0, 1).
    color : matplotlib color, optional
        Colour of the line, the band and the distribution.
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
        If `rc` is something else, or `ax` is not an Axes.
    ValueError
        If `prob` is not strictly between 0 and 1, a colour is unknown to matplotlib, or `ax` already holds a diagram.

    See Also
    --------
    plot_calibration_curve : A smooth curve, which need not be a line on the logit scale.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> from matplotlib.figure import Figure
    >>> rows = simulate(1000, population="flat", curve="temperature", rng=1)
    >>> ax = plot_recalibration(bc.clinical.recalibration(rows.outcome, rows.confidence, rng=1), Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    if not isinstance(rc, Recalibration):
        raise TypeError(
            f"`rc` must be a Recalibration, not {type(rc).__name__}; make one with "
            "`bayescal.clinical.recalibration(y_true, y_prob)`. Of groups, draw one, as in `by_group[label]`."
        )
    points = recalibration_points(rc, _checks.fraction("prob", prob))
    ax = axes_or_new(ax, figsize=(5.0, 6.0))
    require_undivided(ax)
    small = is_small(ax, *ROOM)
    main = _checks.color("color", color, palette(ax).blue)
    sides = SideColors.chosen(ax, reference_color, above_color, below_color)
    entries = draw_curve(ax, points, main, sides, "event", prob)
    titled(ax, _title(rc, prob), [] if small else [rc.spec], above=key_above(ax, entries, small=small), small=small)
    finish(ax, small=small)
    return ax


def _title(rc: Recalibration, prob: float) -> str:
    """Return slope and calibration in the large with their intervals."""
    rows = {row["quantity"]: row for row in rc.table(prob)}
    words = []
    for key, name in (("slope", "Slope"), ("in_the_large", "in the large")):
        mean, low, high = (_render.number(rows[key][each], 2) for each in ("mean", "low", "high"))
        words.append(f"{name} {mean} [{low}, {high}]".replace(" ", "\u00a0"))  # lines end between quantities
    return ", ".join(words)
