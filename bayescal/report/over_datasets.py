"""Plots of a comparison over data sets: mean ranks, or differences per data set; computed as records, then drawn."""

from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes
from bayescal._meant import public
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.report.drawing import axes_or_new, is_small, palette
from bayescal.report.forest import Forest, draw_forest, forest, forest_height, key, mark_zero, write_label
from bayescal.results.over_datasets import ComparisonOverDatasets

TOTALS = ("mean of these data sets", "population mean", "new data set")  #: Names of the rows below the data sets.
ROOM = (4.0, 1.8)  #: Width and height in inches below which labels are smaller.


def rank_rows(result: ComparisonOverDatasets, estimand: EstimandLike = "ece", prob: float = 0.95) -> Forest:
    """Compute mean ranks over data sets with intervals: one row per classifier, the best mean rank first."""
    ranks = result.ranks(estimand).values
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return forest([_render.name(result.names[at]) for at in order], ranks[:, order], prob)


def difference_rows(
    result: ComparisonOverDatasets,
    first: str | None = None,
    second: str | None = None,
    *,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
) -> Forest:
    """Compute differences of two classifiers: one row per data set, their mean, and the population."""
    population = result.population(first, second, estimand)
    differences, mean = result.differences(first, second, estimand), result.difference(first, second, estimand)
    values = [each.values for each in (differences, mean, population.mean, population.new)]
    sizes = result.n_rows
    names = [f"{_render.name(name)} (n = {sizes[name]})" for name in result.datasets]
    return forest([*names, *TOTALS], np.column_stack(values), prob)


@public
def plot_over_datasets(
    result: ComparisonOverDatasets,
    ax: "Axes | None" = None,
    *,
    first: str | None = None,
    second: str | None = None,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw mean ranks over data sets with intervals, or the difference of two classifiers on each data set.

    Parameters
    ----------
    result : ComparisonOverDatasets
        From `compare_over_datasets`.
    ax : matplotlib Axes, optional
        Where to draw. By default on a new pyplot figure, whose height fits the rows.
    first, second : str, optional
        Names of two classifiers (both or none), whose differences are drawn: one row per data set, below them the mean
        of these data sets, the mean of their population, and the difference on a new data set. Without names, two
        classifiers are drawn so; of more, the mean ranks, as in place of a diagram of critical differences.
    color, reference_color : matplotlib color, optional
        Colour of classifiers or data sets, and of the rows below the data sets.

    Examples
    --------
    >>> rows = {"one": ([0, 1, 1], {"A": [0.2, 0.4, 0.7], "B": [0.1, 0.1, 0.9]})}
    >>> rows["other"] = [0, 0, 1], {"A": [0.3, 0.4, 0.7], "B": [0.1, 0.2, 0.9]}
    >>> ax = bc.plot_over_datasets(bc.compare_over_datasets(rows, bins=2, rng=1), Figure().subplots())
    >>> [" ".join(label.get_text().split()) for label in ax.get_yticklabels()]
    ['one (n = 3)', 'other (n = 3)', 'mean of these data sets', 'population mean', 'new data set']
    """
    remedy = "; make one with `bayescal.compare_over_datasets({'data set': comparison, ...})`."
    _checks.instance("result", result, ComparisonOverDatasets, remedy)
    prob = _checks.fraction("prob", prob)
    of_pair = len(result) == 2 or first is not None or second is not None
    if of_pair:
        rows = difference_rows(result, first, second, estimand=estimand, prob=prob)
    else:
        rows = rank_rows(result, estimand, prob)
    ax = axes_or_new(ax, figsize=(6.4, 1.2 + forest_height(rows.names)))
    small, colours = is_small(ax, *ROOM), palette(ax)
    blue = _checks.color("color", color, colours.blue)
    grey = _checks.color("reference_color", reference_color, colours.grey)
    n_totals = len(TOTALS) * of_pair
    draw_forest(ax, rows, [blue] * (len(rows) - n_totals) + [grey] * n_totals, small=small)
    if of_pair:
        mark_zero(ax, grey)
        ax.axhline(len(rows) - n_totals - 0.5, color=grey, linewidth=0.6, alpha=0.5)
        label = _label_of_pair(result, first, second, estimand)
    else:
        ax.set_xlim(1 - 0.05 * (len(result) - 1), len(result) + 0.05 * (len(result) - 1))
        words = as_estimand(estimand).words(result.target)
        label = [f"mean rank by {words} over {len(result.datasets)} data sets, 1 is the best"]
    write_label(ax, rows, (*label, key(prob)), small=small)
    return ax


def _label_of_pair(
    result: ComparisonOverDatasets, first: str | None, second: str | None, estimand: EstimandLike
) -> list[str]:
    """Say whose difference it is, and who is better where."""
    one, other = (first, second) if first is not None and second is not None else result.labels
    record = as_estimand(estimand)
    label = "size of the " * (record.better == "nearest zero") + record.words(result.target)
    better, worse = (one, other) if record.better != "larger" else (other, one)
    names = [_render.name(name) for name in (one, other, better, worse)]
    return [f"{label}: {names[0]} - {names[1]}", f"{names[2]} is better left of 0, {names[3]} right of it"]
