"""Whole figures of evaluations or of a comparison, which pyplot does not manage."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from bayescal import _packages
from bayescal._arrays import Figure
from bayescal.report.comparison import TOTALS, plot_comparison, plot_over_datasets
from bayescal.report.forest import forest_height, plot_forest, row_names, rows_height
from bayescal.report.page_content import drawn
from bayescal.report.posterior import plot_posterior
from bayescal.report.reliability import plot_reliability
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.over_datasets import ComparisonOverDatasets


def picture(evaluations: Mapping[str, Evaluation | ClasswiseEvaluation]) -> "Figure":
    """Draw, for each evaluation, its title (may be empty), reliability diagram and posterior side by side."""
    _packages.require("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.4 * len(evaluations)), layout="constrained")
    rows = figure.subfigures(len(evaluations), 1, squeeze=False)[:, 0]
    posteriors = []
    for row, (title, evaluation) in zip(rows, evaluations.items(), strict=True):
        if title:
            row.suptitle(title, x=0.01, ha="left", fontsize="x-large", fontweight="bold")
        if isinstance(evaluation, ClasswiseEvaluation):
            posteriors.append(plot_posterior(evaluation, row.subplots()))
            continue
        left, right = row.subplots(1, 2, width_ratios=[5, 6])
        plot_reliability(evaluation, left)
        posteriors.append(plot_posterior(evaluation, right))
    low, high = np.transpose([ax.get_xlim() for ax in posteriors])
    for ax in posteriors:
        ax.set_xlim(low.min(), high.max())  # all posteriors share one scale
    return figure


def groups_picture(grouped: GroupedEvaluation) -> "Figure":
    """Draw `bayescal.plot_forest` of the groups in a figure that pyplot does not manage."""
    return drawn(partial(plot_forest, grouped), 6.6, min(1.6 + rows_height(row_names(grouped)), 40.0))


def comparison_picture(comparison: Comparison, estimand: str) -> "Figure":
    """Draw `bayescal.plot_comparison` in a figure that pyplot does not manage."""
    height = rows_height(comparison.names)
    size = (6.6, 4.7 + height) if len(comparison.names) == 2 else (9.0, min(2.4 + 2 * height, 20.0))
    return drawn(partial(plot_comparison, comparison, estimand=estimand), *size)


def over_datasets_picture(result: ComparisonOverDatasets, estimand: str) -> "Figure":
    """Draw `bayescal.plot_over_datasets` in a figure that pyplot does not manage."""
    rows = [*result.datasets, *TOTALS] if len(result) == 2 else list(result.names)
    return drawn(partial(plot_over_datasets, result, estimand=estimand), 6.6, 1.4 + forest_height(rows))
