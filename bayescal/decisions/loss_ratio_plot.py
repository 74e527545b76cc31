"""The plot of a loss ratio over thresholds, with intervals."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.decisions.loss_ratio_result import LossRatio
from bayescal.report.drawing import (
    SMALL,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width and height in inches below which labels are fewer and smaller.
ROOM = (4.2, 3.2)
#: The vertical axis ends at most at this multiple of the largest mean ratio: intervals of few errors are wide.
MOST = 1.5


@public
def plot_loss_ratio(result: LossRatio, ax: "Axes | None" = None, *, prob: float = 0.95, color: Any = None) -> "Axes":
    """Draw the loss of decisions after recalibration, as a share of the loss before, at each threshold.

    Where the band lies below 1, recalibration lowers the loss. The intervals are pointwise; thresholds at which fewer
    than 5 test rows are decided wrongly are not drawn, because their intervals would be too narrow.

    Parameters
    ----------
    result : LossRatio
        From `loss_ratio`, with at least two thresholds.
    ax : matplotlib Axes, optional
        Where to draw. By default on a new pyplot figure.
    prob : float, default 0.95
        Probability of the interval at each threshold, in (0, 1).
    color : matplotlib color, optional
        Colour of the line and the band. The default colour is lighter on a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one.

    Raises
    ------
    TypeError
        If `result` is something else, or `ax` is not an Axes.
    ValueError
        If fewer than two thresholds can be drawn, `prob` is not strictly between 0 and 1, or a colour is unknown to
        matplotlib.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> from matplotlib.figure import Figure
    >>> first, second = (simulate(2000, curve="shift", population="flat", strength=1, rng=seed) for seed in (1, 2))
    >>> rows = first.outcome, first.confidence, second.outcome, second.confidence
    >>> ax = plot_loss_ratio(bc.decisions.loss_ratio(*rows, rng=1), Figure().subplots())
    >>> ax.get_ylabel()
    'loss after / before'
    """
    if not isinstance(result, LossRatio):
        raise TypeError(
            f"`result` must be a LossRatio, not {type(result).__name__}; make one with "
            "`bayescal.decisions.loss_ratio(...)`."
        )
    prob = _checks.fraction("prob", prob)
    drawn = ~result.few_wrong
    if np.count_nonzero(drawn) < 2:
        raise ValueError(
            "`result` must have at least two thresholds at which 5 or more test rows are decided wrongly; it has "
            f"{np.count_nonzero(drawn)} of {len(drawn)}."
        )
    ax = axes_or_new(ax, figsize=(6.4, 4.2))
    small, colours = is_small(ax, *ROOM), palette(ax)
    main = _checks.color("color", color, colours.blue)
    _draw(ax, result, drawn, prob, main)
    low, high = result.mean_ratio.interval(prob)
    d = _render.interval_decimals(low, high)
    mean, low_text, high_text = (_render.number(value, d) for value in (result.mean_ratio.mean(), low, high))
    title = f"Mean loss ratio {mean} [{low_text},\u00a0{high_text}]"
    above = key_above(ax, small=small)
    titled(ax, title, [] if small else [result.spec], above=above, small=small)
    if small:
        small_words(ax)
    keep_within(ax)
    return ax


def _draw(ax: "Axes", result: LossRatio, drawn: Any, prob: float, main: str) -> None:
    t, dark = result.thresholds, is_dark(background(ax))
    # NaN divides the line where a threshold is not drawn
    mean, low, high = (
        np.where(drawn, values, np.nan) for values in (result.ratio.mean(), *result.ratio.interval(prob))
    )
    ax.axhline(1, color=palette(ax).grey, linewidth=1.2, zorder=1, gid="no change")
    style: dict[str, Any] = {"color": main, "linewidth": 0, "alpha": 0.35 if dark else 0.2}
    ax.fill_between(t, low, high, zorder=2, gid="band", label=f"{100 * prob:g} % interval", **style)
    ax.plot(t, mean, color=main, linewidth=1.6, zorder=3, gid="ratio", label="loss after / before")
    top, bottom = max(1.0, float(np.nanmax(mean))), min(1.0, float(np.nanmin(low)))
    top = min(MOST * top, max(1.0, float(np.nanmax(high))))
    room = 0.06 * (top - bottom)
    ax.set(xlim=(t[drawn][0], t[drawn][-1]), ylim=(bottom - room, top + room))
    ax.set_xlabel("threshold probability", fontsize=SMALL)
    ax.set_ylabel("loss after / before", fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["right", "top"]].set_visible(False)
