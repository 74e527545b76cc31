"""The forest plot of a measure of risk models by group."""

from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes
from bayescal.clinical.subgroups import GroupedClinicalSummary, measure_of
from bayescal.clinical.words import WORDS
from bayescal.data.groups import in_words
from bayescal.report import drawing, forest

#: Values of calibrated predictions, which the plot marks.
CALIBRATED = {"observed_expected": 1.0, "in_the_large": 0.0, "slope": 1.0}


def plot_subgroups(
    result: GroupedClinicalSummary,
    ax: "Axes | None" = None,
    *,
    quantity: str = "auc",
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw a measure of each group, with pooled values as thin bars below, and of all rows (dashed line)."""
    alone, pooled = result.draws(quantity), result.draws(quantity, pooled=True) if len(result) > 1 else {}
    prob, labels = _checks.fraction("prob", prob), [label for label in result.in_order() if label in alone]
    if not labels:
        raise ValueError(f"`quantity` must be a measure of some group; none has {quantity!r}.")
    shown = [*((in_words(label, result.name), result[label]) for label in labels), ("all rows", result.overall)]
    names = [f"{_render.name(name)} ({each.n_events} of {each.n_rows})" for name, each in shown]
    values = [*(alone[label] for label in labels), measure_of(result.overall, quantity)]
    rows = forest.forest(names, np.column_stack([np.asarray(each) for each in values]), prob)
    ax = drawing.axes_or_new(ax, figsize=(6.0, 1.4 + forest.forest_height(names)))
    small, colours = drawing.is_small(ax, *forest.ROOM), drawing.palette(ax)
    line = _checks.color("reference_color", reference_color, colours.grey)
    main = _checks.color("color", color, colours.blue)
    ax.axvline(rows.mean[-1], color=line, linewidth=1, linestyle="--", zorder=1)
    if quantity in CALIBRATED:
        ax.axvline(CALIBRATED[quantity], color=line, linewidth=1.2, zorder=1, gid="calibrated")
    forest.draw_forest(ax, rows, [*[main] * len(labels), line], small=small)
    texts = ["beside names: events of rows", *(["solid line: calibrated"] if quantity in CALIBRATED else [])]
    if pooled:
        below = forest.forest(names[:-1], np.column_stack([pooled[label].values for label in labels]), prob)
        place = np.arange(len(labels)) + forest.BELOW
        ax.hlines(place, below.low, below.high, colors=line, linewidth=1, gid="pooled", zorder=2)
        ax.scatter(below.mean, place, s=10, c=line, gid="pooled mean", zorder=2)
        texts.append("thin bars below: pooled")
    forest.write_label(ax, rows, (WORDS[quantity], "; ".join(texts), forest.key(prob)), small=small)
    return ax
