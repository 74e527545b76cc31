"""The picture of any result: one function, which calls the plot that belongs to the type of the result."""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from bayescal import _checks, _render
from bayescal._arrays import Axes
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.report import drawing
from bayescal.report.comparison import plot_comparison, plot_over_datasets
from bayescal.report.document import load_page_of
from bayescal.report.forest import draw_scores, plot_forest
from bayescal.report.reliability import plot_reliability
from bayescal.report.sensitivity import plot_bin_sensitivity, plot_model_sensitivity
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.regret import WorstRegret
from bayescal.results.scores import MultiClassScore, ScoreComparison
from bayescal.results.sensitivity import BinSensitivity, ModelSensitivity


@public
def plot(result: Any, ax: "Axes | None" = None, **options: Any) -> "Axes":
    """Draw the picture of a result.

    Parameters
    ----------
    result : Evaluation, Comparison or other result
        A result of this package.
    **options
        Options of the function that draws results of this type, such as ``prob=`` and ``color=``.

    Raises
    ------
    TypeError
        If `result` is no result of this package, or a result without a picture, such as `CalibrationTests`; if `ax` is
        not an Axes, or an option is unknown.
    ValueError
        If an option is invalid.

    Notes
    -----
    The function is chosen by the type of the result:

    - `Evaluation`, also of survival predictions and of a target without labels: `plot_reliability`;
    - `GroupedEvaluation`, `ClasswiseEvaluation` and `LabelShiftClasses`: `plot_forest`;
    - `Comparison`, also of survival predictions, and `Change`: `plot_comparison`;
    - `ComparisonOverDatasets`: `plot_over_datasets`;
    - `MultiClassScore` and `ScoreComparison`: one interval per classifier;
    - `BinSensitivity`: `plot_bin_sensitivity`;
    - `ModelSensitivity`: one interval per model and prior, and leave-one-out differences;
    - `CalibrationCurve`: `plot_calibration_curve`;
    - `Recalibration`, also of survival predictions: `plot_recalibration`;
    - `NetBenefit`, also of survival predictions, and `ClinicalSummary`: `plot_decision_curve`;
    - `GroupedClinicalSummary`: a forest plot of the measure ``quantity=``, by default the AUC; `NewCentre`: the line of
      the mean centre, its band, and the band of a new centre;
    - `LossRatio`: `plot_loss_ratio`; `SelectivePrediction`: `plot_selective`; `TopK`: `plot_top_k`;
    - what `Evaluation.worst_regret` returns: the regret at each threshold, with a simultaneous band if
      ``simultaneous=True``;
    - `CumulativeDifference`, `SubpopulationDifference`, the curve of the rows of a `CumulativePosterior`, and the first
      group of a `SubpopulationScreen`: `plot_cumulative`;
    - `Evidence`: `plot_evidence`; `ConfidenceSequence`: `plot_confidence_sequence`;
    - `SurvivalHorizons`: `plot_horizons`;
    - `ValidationPlan`: the share of studies that meet each goal, by rows.

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> ax = bc.plot(ev, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    load_page_of(type(result))
    axes: Axes = drawn_by_type(result, ax, **options)
    return axes


@singledispatch
def drawn_by_type(result: Any, ax: "Axes | None" = None, **options: Any) -> Any:
    """Draw a result; topics register the plots of their results in ``page.py``."""
    kind = type(result).__name__
    if not isinstance(result, Presented):
        example = "as from `bayescal.evaluate(y_true, y_prob)`"
        raise TypeError(f"`result` must be a result of this package, {example}, not {kind}.")
    parts = [name for name in result if isinstance(result[name], Presented)] if isinstance(result, Mapping) else []
    if parts:
        one = f"bayescal.plot(result[{parts[0]!r}])"
        raise TypeError(f"A {kind} has no picture. Draw one of its results, as in `{one}`.")
    raise TypeError(f"A {kind} has no picture; `print(result)` shows its table.")


drawn_by_type.register(Evaluation, plot_reliability)
drawn_by_type.register(GroupedEvaluation, plot_forest)
drawn_by_type.register(ClasswiseEvaluation, plot_forest)
drawn_by_type.register(Comparison, plot_comparison)
drawn_by_type.register(ComparisonOverDatasets, plot_over_datasets)
drawn_by_type.register(BinSensitivity, plot_bin_sensitivity)
drawn_by_type.register(ModelSensitivity, plot_model_sensitivity)


@drawn_by_type.register(MultiClassScore)
@drawn_by_type.register(ScoreComparison)
def _(result: MultiClassScore | ScoreComparison, ax: "Axes | None" = None, *, prob: float = 0.95) -> Any:
    scores = result.scores if isinstance(result, ScoreComparison) else {result.name: result}
    prob, ax = _checks.fraction("prob", prob), drawing.axes_or_new(ax, figsize=(6.4, 1.6 + 0.4 * len(scores)))
    draw_scores(ax, scores, prob)
    return ax


@drawn_by_type.register(WorstRegret)
def _(result: WorstRegret, ax: "Axes | None" = None, *, prob: float = 0.95, simultaneous: bool = False) -> Any:
    prob, ax = _checks.fraction("prob", prob), drawing.axes_or_new(ax, figsize=(6.4, 4.2))
    small, colours = drawing.is_small(ax, 4.2, 3.2), drawing.palette(ax)
    curved = simultaneous and len(result.thresholds) > 1
    low, high = result.regret.band(prob) if curved else result.regret.interval(prob)
    dark, t = drawing.is_dark(drawing.background(ax)), result.thresholds
    label = f"{100 * prob:g} % {'band' if curved else 'interval'}"
    ax.fill_between(t, low, high, color=colours.blue, alpha=0.35 if dark else 0.2, linewidth=0, label=label)
    ax.plot(t, result.regret.mean(), color=colours.blue, marker="o", markersize=3, linewidth=1.6, label="regret")
    ax.plot(t, result.observed, color=colours.grey, linewidth=1.0, linestyle=(0, (1, 1.5)), label="observed")
    ax.set(xlim=(0, 1), ylim=(0, None))
    ax.set_xlabel("threshold probability", fontsize=drawing.SMALL)
    ax.set_ylabel("loss per row by miscalibration", fontsize=drawing.SMALL)
    ax.tick_params(labelsize=drawing.SMALL)
    ax.spines[["right", "top"]].set_visible(False)
    low_end, high_end = result.largest.interval(prob)
    d = _render.interval_decimals(low_end, high_end)
    mean, first, last = (_render.number(value, d) for value in (result.largest.mean(), low_end, high_end))
    title = f"Largest regret {mean} [{first},\u00a0{last}]"
    above = drawing.key_above(ax, small=small)
    drawing.titled(ax, title, [] if small else [result.spec], above=above, small=small)
    drawing.keep_within(ax)
    return ax
