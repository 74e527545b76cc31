"""The plots of sensitivity: intervals for several choices of bins, and under several models and priors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal.report import drawing
from bayescal.report import forest as forests
from bayescal.results.sensitivity import LOG_DECIMALS, BinSensitivity, ModelSensitivity

APART = 0.3  #: Distance between the two ways of binning, in units of the distance between numbers of bins.
ROOM = (4.0, 2.4)  #: Width and height in inches below which labels are smaller.


@dataclass(frozen=True, eq=False)
class Series:
    """The choices with one way of binning, in the order of their numbers of bins."""

    binning: str
    place: Floats  # position on the horizontal axis
    mean: Floats
    low: Floats  # ends of the interval of the given probability
    high: Floats
    inner_low: Floats  # ends of the interval of probability 1/2
    inner_high: Floats
    plug_in: Floats


def series(result: BinSensitivity, prob: float = 0.95) -> tuple[list[int], list[Series]]:
    """Return the numbers of bins in increasing order, and the values that are drawn for each way of binning."""
    rows, inner = result.table(prob), result.table(forests.INNER)
    numbers = sorted({row["n_bins"] for row in rows})
    ways = list(dict.fromkeys(row["binning"] for row in rows))
    all_series = []
    for i, way in enumerate(ways):
        choices = sorted((row["n_bins"], k) for k, row in enumerate(rows) if row["binning"] == way)
        place = np.array([numbers.index(number) for number, _ in choices]) + APART * (i - (len(ways) - 1) / 2)
        ends = {name: np.array([rows[k][name] for _, k in choices]) for name in ("mean", "low", "high", "plug_in")}
        ends |= {f"inner_{name}": np.array([inner[k][name] for _, k in choices]) for name in ("low", "high")}
        all_series.append(Series(way, place, **ends))
    return numbers, all_series


@public
def plot_bin_sensitivity(
    result: BinSensitivity, ax: "Axes | None" = None, *, prob: float = 0.95, color: Any = None
) -> "Axes":
    """Draw means and intervals of every choice of bins against the number of bins, and the plug-in values.

    Parameters
    ----------
    result : BinSensitivity
        From `bin_sensitivity`.
    color : matplotlib color, or mapping or sequence of colors, optional
        Colours of the ways of binning: one, a mapping such as ``{"equal-width": ..., "equal-mass": ...}``, or one each.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. The numbers of bins have equal distances.

    Examples
    --------
    >>> result = bc.bin_sensitivity([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], n_bins=(1, 2), rng=1)
    >>> ax = bc.plot_bin_sensitivity(result, Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['1', '2']
    """
    _checks.instance("result", result, BinSensitivity, "; make one with `bayescal.bin_sensitivity(y_true, y_prob)`.")
    prob, ax = _checks.fraction("prob", prob), drawing.axes_or_new(ax, figsize=(6.4, 4.0))
    small = drawing.is_small(ax, *ROOM)
    numbers, all_series = series(result, prob)
    ways, cycle = [each.binning for each in all_series], drawing.palette(ax).cycle
    colours = drawing.colors_by_name(color, ways, cycle[: len(ways)])
    for each, colour in zip(all_series, colours, strict=False):
        _draw(ax, each, colour, scale=0.5 if small else 1.0)
    if result.estimand.bounds[0] < 0:
        ax.axhline(0, color=drawing.palette(ax).grey, linewidth=1, zorder=1)
    elif result.estimand.bounds[0] == 0:
        ax.set_ylim(bottom=0)
    ax.set_xlim(-0.6, len(numbers) - 0.4)
    ax.set_xticks(range(len(numbers)), [str(number) for number in numbers])
    ax.tick_params(labelsize=drawing.SMALL, length=0)
    ax.spines[["right", "top"]].set_visible(False)
    symbols = wrap(f"{forests.key(prob)}, diamond: plug-in estimate", drawing.characters(ax, drawing.SMALL))
    ax.set_xlabel("\n".join(["number of bins", *symbols]), fontsize=drawing.SMALL)
    label = forests.axis_label(result.estimand, next(iter(result.evaluations.values())).counts.target)
    lines = wrap(label, max(12, drawing.characters(ax, drawing.SMALL) // 2))
    ax.set_ylabel("\n".join(lines), fontsize=drawing.SMALL + 0.5, parse_math=False)
    drawing.key_above(ax, small=small)
    return drawing.finished(ax, small=small)


def _draw(ax: "Axes", shown: Series, colour: str, *, scale: float) -> None:
    """Draw one way of binning: bars, dots and plug-in values."""
    behind = drawing.background(ax)
    ax.vlines(shown.place, shown.low, shown.high, colors=colour, linewidth=1.6 * scale, zorder=3, gid="interval")
    ax.vlines(shown.place, shown.inner_low, shown.inner_high, colors=colour, linewidth=5 * scale, zorder=3, gid="inner")
    ax.scatter(
        shown.place, shown.mean, s=44 * scale, c=[colour], edgecolors=behind,
        linewidths=scale, zorder=4, gid="mean", label=f"{shown.binning} bins",
    )  # fmt: skip
    ax.scatter(
        shown.place, shown.plug_in, s=30 * scale, marker="D", facecolors=behind,
        edgecolors=colour, linewidths=scale, zorder=5, gid="plug-in",
    )  # fmt: skip


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

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> ax = plot_model_sensitivity(ev.sensitivity(priors={}), Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['shrinkage, default', 'dirichlet, default']
    """
    prob = _checks.fraction("prob", prob)
    rows, models, differences = model_forest(result, prob)
    ax = drawing.axes_or_new(ax, figsize=(6.6, 1.1 + forests.forest_height(rows.names)))
    small = drawing.is_small(ax, *forests.ROOM)
    each = list(dict.fromkeys(models))
    colours = dict(zip(each, drawing.colors_by_name(color, each, drawing.palette(ax).cycle[: len(each)]), strict=True))
    if small:
        rows = replace(rows, names=tuple(prior for _, prior in result))
    forests.draw_forest(ax, rows, [colours[model] for model in models], small=small)
    if small:
        _name_small(ax, rows.names, colours)
    target = result._first.counts.target
    if forests.has_sign(result.estimand, rows):
        forests.mark_zero(ax, drawing.palette(ax).grey)
    elif result.estimand.bounds[0] == 0:
        ax.set_xlim(left=0)
    words = [*forests.direction(result.estimand, target), forests.key(prob)]
    if not small:
        right = ax.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), differences, fontsize=drawing.SMALL)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        words.append("right: log probability of left-out outcomes, minus the best, \u00b1 standard error")
    forests.write_label(ax, rows, (forests.axis_label(result.estimand, target), *words), small=small)
    return ax


def _name_small(ax: "Axes", priors: Sequence[str], colours: Mapping[str, Any]) -> None:
    """Name every row of small axes if there is room, and the models above them."""
    if 0.8 * ax.bbox.height * 72 / ax.figure.dpi / len(priors) >= 1.15 * drawing.TINY:  # labels take room from the axes
        names = [_render.cut(each, forests.NAME_WIDTH) for each in priors]
        ax.set_yticks(range(len(priors)), names, fontsize=drawing.TINY)
    for model, colour in colours.items():
        ax.plot([], [], color=colour, linewidth=3, label=model)
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": len(colours)}
    ax.legend(**place, frameon=False, fontsize=drawing.TINY, handlelength=1)
