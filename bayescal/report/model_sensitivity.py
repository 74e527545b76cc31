"""The plot of model sensitivity: intervals under several models and priors, with leave-one-out differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.report import forest as forests
from bayescal.report.drawing import SMALL, TINY, axes_or_new, colors_by_name, is_small, palette
from bayescal.results.model_sensitivity import LOG_DECIMALS, ModelSensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def model_forest(result: ModelSensitivity, prob: float = 0.95) -> tuple[forests.Forest, list[str], list[str]]:
    """Return the rows of the plot, the model of each row, and its leave-one-out difference in words."""
    rows = result.table(prob)
    values = np.stack([each.values for each in result._draws_by_choice.values()], axis=1)
    names = [", ".join(choice) for choice in result]
    differences = [
        " \u00b1 ".join(_render.number(row[name], LOG_DECIMALS) for name in ("elpd_difference", "se_difference"))
        for row in rows
    ]
    return forests.forest(names, values, prob), [row["model"] for row in rows], differences


@public
def plot_model_sensitivity(
    result: ModelSensitivity, ax: "Axes | None" = None, *, prob: float = 0.95, color: Any = None
) -> "Axes":
    """Draw one row per model and prior: mean and intervals, and at the right the leave-one-out difference.

    Parameters
    ----------
    result : ModelSensitivity
        From `Evaluation.sensitivity`.
    color : matplotlib color, or mapping or sequence of colors, optional
        Colours of the models: one, a mapping such as ``{"shrinkage": ..., "dirichlet": ...}``, or one per model.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. Small axes have no differences, and their rows are named by the prior.

    Raises
    ------
    TypeError
        If `ax` is not an Axes.
    ValueError
        If `prob` is not strictly between 0 and 1, or a colour is unknown to matplotlib.

    Examples
    --------
    >>> import bayescal as bc
    >>> from matplotlib.figure import Figure
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> ax = plot_model_sensitivity(ev.sensitivity(priors={}), Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['shrinkage, default', 'dirichlet, default']
    """
    prob = _checks.fraction("prob", prob)
    rows, models, differences = model_forest(result, prob)
    ax = axes_or_new(ax, figsize=(6.6, 1.1 + forests.forest_height(rows.names)))
    small = is_small(ax, *forests.ROOM)
    each = list(dict.fromkeys(models))
    colours = dict(zip(each, colors_by_name(color, each, palette(ax).cycle[: len(each)]), strict=True))
    if small:
        rows = replace(rows, names=tuple(prior for _, prior in result))
    forests.draw_forest(ax, rows, [colours[model] for model in models], small=small)
    if small:
        _name_small(ax, rows.names, colours)
    target = result._first.counts.target
    if forests.has_sign(result.estimand, rows):
        forests.mark_zero(ax, palette(ax).grey)
    elif result.estimand.bounds[0] == 0:
        ax.set_xlim(left=0)
    words = [*forests.direction(result.estimand, target), forests.key(prob)]
    if not small:
        right = ax.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), differences, fontsize=SMALL)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        words.append("right: log probability of left-out outcomes, minus the best, \u00b1 standard error")
    forests.write_label(ax, rows, (forests.axis_label(result.estimand, target), *words), small=small)
    return ax


def _name_small(ax: "Axes", priors: Sequence[str], colours: Mapping[str, Any]) -> None:
    """Name every row of small axes if there is room, and the models above them."""
    if 0.8 * ax.bbox.height * 72 / ax.figure.dpi / len(priors) >= 1.15 * TINY:  # labels take room from the axes
        ax.set_yticks(range(len(priors)), [_render.cut(each, forests.NAME_WIDTH) for each in priors], fontsize=TINY)
    for model, colour in colours.items():
        ax.plot([], [], color=colour, linewidth=3, label=model)
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(colours), frameon=False, fontsize=TINY, handlelength=1
    )
