"""One function draws the picture of every result, or says that there is none and what to do instead."""

import importlib
import pkgutil
import re

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bayescal as bc
from bayescal._presented import Presented
from bayescal.clinical.plot import plot_new_centre, plot_subgroups
from bayescal.datasets.simulate import simulate
from bayescal.report.sensitivity import plot_model_sensitivity

ROWS = simulate(400, population="flat", rng=1)
Y, P = ROWS.outcome, ROWS.confidence
GENERATOR = np.random.default_rng(1)
MATRIX = GENERATOR.dirichlet(np.ones(3), 400)
LABELS = np.array([GENERATOR.choice(3, p=each) for each in MATRIX])
TIMES = np.ceil(20 * GENERATOR.random(400))
FAST = {"draws": 50, "rng": 1}
MODELS = {"a": P, "b": P**1.2}
HALVES = P > 0.5
IMPUTED = [P, P**1.2, P**1.1]


def monitored():
    monitor = bc.monitoring.CalibrationMonitor(window=4)
    for start in range(0, 12, 4):
        monitor.add(Y, P, time=start)
    return monitor


MONITOR = monitored()
CHECKED = np.where(np.arange(400) % 2, Y, np.nan)
KNOWN = {"judge": Y, "rates": (0.9, 0.8), **FAST}
#: Result -> how it is made, and the function that draws it.
DRAWN = {
    "Evaluation": (lambda: bc.evaluate(Y, P, **FAST), bc.plot_reliability),
    "SurvivalEvaluation": (lambda: bc.survival.evaluate(TIMES, Y, P, horizon=5, **FAST), bc.plot_reliability),
    "LabelShiftEvaluation": (lambda: bc.shift.label(Y, P, P, **FAST), bc.plot_reliability),
    "CovariateShiftEvaluation": (lambda: bc.shift.covariate(Y, P, P, weights=1 + P, **FAST), bc.plot_reliability),
    "JudgedEvaluation": (lambda: bc.labels.judged(CHECKED, P, **KNOWN), bc.plot_reliability),
    "JudgedComparison": (lambda: bc.labels.compare_judged(CHECKED, MODELS, **KNOWN), bc.plot_comparison),
    "PartlyObservedEvaluation": (
        lambda: bc.labels.partly_observed(CHECKED, P, missing="score", **FAST),
        bc.plot_reliability,
    ),
    "GroupedEvaluation": (lambda: bc.evaluate(Y, P, by=HALVES, **FAST), bc.plot_forest),
    "ClasswiseEvaluation": (lambda: bc.evaluate(LABELS, MATRIX, target="classwise", **FAST), bc.plot_forest),
    "LabelShiftClasses": (lambda: bc.shift.label(LABELS, MATRIX, MATRIX, **FAST), bc.plot_forest),
    "Comparison": (lambda: bc.compare(Y, MODELS, **FAST), bc.plot_comparison),
    "SurvivalComparison": (lambda: bc.survival.compare(TIMES, Y, MODELS, horizon=5, **FAST), bc.plot_comparison),
    "Change": (lambda: MONITOR.change(**FAST), bc.plot_comparison),
    "ComparisonOverDatasets": (
        lambda: bc.compare_over_datasets(
            {str(k): (Y[k:], {name: p[k:] for name, p in MODELS.items()}) for k in range(3)}, **FAST
        ),
        bc.plot_over_datasets,
    ),
    "BinSensitivity": (lambda: bc.bin_sensitivity(Y, P, n_bins=(5, 10), **FAST), bc.plot_bin_sensitivity),
    "ModelSensitivity": (lambda: bc.evaluate(Y, P, **FAST).sensitivity(priors={}), plot_model_sensitivity),
    "CalibrationCurve": (lambda: bc.clinical.calibration_curve(Y, P, **FAST), bc.clinical.plot_calibration_curve),
    "Recalibration": (lambda: bc.clinical.recalibration(Y, P, **FAST), bc.clinical.plot_recalibration),
    "NetBenefit": (lambda: bc.decisions.net_benefit(Y, MODELS, [0.2, 0.5], **FAST), bc.decisions.plot_decision_curve),
    "SurvivalNetBenefit": (
        lambda: bc.survival.net_benefit(TIMES, Y, MODELS, [0.2, 0.5], horizon=5, **FAST),
        bc.decisions.plot_decision_curve,
    ),
    "SurvivalRecalibration": (
        lambda: bc.survival.recalibration(TIMES, Y, P, horizon=5, **FAST),
        bc.clinical.plot_recalibration,
    ),
    "ClinicalSummary": (lambda: bc.clinical.summary(Y, P, 0.2, **FAST), bc.decisions.plot_decision_curve),
    "ImputedCurve": (lambda: bc.clinical.calibration_curve(Y, IMPUTED, **FAST), bc.clinical.plot_calibration_curve),
    "ImputedRecalibration": (lambda: bc.clinical.recalibration(Y, IMPUTED, **FAST), bc.clinical.plot_recalibration),
    "ImputedNetBenefit": (
        lambda: bc.decisions.net_benefit(Y, IMPUTED, [0.2, 0.5], **FAST),
        bc.decisions.plot_decision_curve,
    ),
    "ImputedSummary": (lambda: bc.clinical.summary(Y, IMPUTED, 0.2, **FAST), bc.decisions.plot_decision_curve),
    "ImputedEvaluation": (lambda: bc.clinical.summary(Y, IMPUTED, **FAST).evaluation, bc.plot_reliability),
    "GroupedClinicalSummary": (lambda: bc.clinical.summary(Y, P, by=HALVES, **FAST), plot_subgroups),
    "NewCentre": (
        lambda: bc.clinical.recalibration(Y, P, by=np.arange(400) % 3, **FAST).new_centre(),
        plot_new_centre,
    ),
    "LossRatio": (
        lambda: bc.decisions.loss_ratio(Y[:200], P[:200], Y[200:], P[200:], **FAST),
        bc.decisions.plot_loss_ratio,
    ),
    "SelectivePrediction": (
        lambda: bc.decisions.selective(Y, MODELS, target="confidence", **FAST),
        bc.decisions.plot_selective,
    ),
    "TopK": (lambda: bc.decisions.top_k(LABELS, MATRIX, **FAST), bc.decisions.plot_top_k),
    "CumulativeDifference": (lambda: bc.cumulative.difference(Y, P), bc.cumulative.plot_cumulative),
    "SubpopulationComparison": (
        lambda: bc.cumulative.compare_subpopulations(Y, P, np.arange(400) % 2 == 0, np.arange(400) % 2 == 1),
        bc.cumulative.plot_cumulative,
    ),
    "SubpopulationDifference": (lambda: bc.cumulative.subpopulation(Y, P, HALVES), bc.cumulative.plot_cumulative),
    "Evidence": (lambda: MONITOR.evidence(rng=1), bc.monitoring.plot_evidence),
    "ConfidenceSequence": (MONITOR.confidence_sequence, bc.monitoring.plot_confidence_sequence),
    "SurvivalHorizons": (
        lambda: bc.survival.evaluate(TIMES, Y, np.column_stack([P / 2, P]), horizon=[5, 10], **FAST),
        bc.survival.plot_horizons,
    ),
}
#: Results that are drawn by one of their parts, and the label of the horizontal axis.
PARTS = {
    "CumulativePosterior": (lambda: bc.cumulative.difference(Y, P).posterior(50, rng=1), "score (axis:"),
    "SubpopulationPosterior": (
        lambda: bc.cumulative.subpopulation(Y, P, np.arange(400) % 2 == 0).posterior(50, rng=1),
        "score (axis:",
    ),
    "SubpopulationScreen": (lambda: bc.cumulative.screen(Y, P, np.arange(400) % 3), "score (axis:"),
    "WorstRegret": (lambda: bc.evaluate(Y, P, bins=5, **FAST).worst_regret(), "threshold probability"),
    "MultiClassScore": (lambda: bc.scores.multiclass_brier(LABELS, MATRIX), "smaller is better"),
    "ScoreComparison": (
        lambda: bc.scores.compare(LABELS, {"a": MATRIX, "b": MATRIX[::-1]}, **FAST),
        "smaller is better",
    ),
    "ValidationPlan": (
        lambda: bc.planning.validation(prevalence=0.3, auc=0.8, width={"auc": 0.1}, simulations=50, rng=1),
        "rows",
    ),
}
#: Results without a picture, and the end of the answer.
WITHOUT = {
    "CalibrationTests": (lambda: bc.clinical.calibration_tests(Y, P), "`print(result)` shows its table."),
    "DistributionTests": (lambda: bc.survival.calibration_tests(P, Y), "`print(result)` shows its table."),
    "CorpDecomposition": (lambda: bc.scores.brier_decomposition(Y, P), "`print(result)` shows its table."),
    "MurphyDecomposition": (
        lambda: bc.scores.brier_decomposition(Y, P, method="murphy"),
        "`print(result)` shows its table.",
    ),
    "WeightReport": (lambda: bc.shift.weight_report(1 + P), "`print(result)` shows its table."),
    "JudgeReport": (lambda: bc.labels.judged(CHECKED, P, **KNOWN).judge, "`print(result)` shows its table."),
    "CheckPlan": (
        lambda: bc.planning.checks_needed(bc.labels.judged(CHECKED, P, **KNOWN), rows=9),
        "`print(result)` shows its table.",
    ),
    "PartlyObservedBand": (
        lambda: bc.labels.partly_observed(CHECKED, P, missing="not_at_random", odds_ratio=2, **FAST),
        "`print(result)` shows its table.",
    ),
    "ClassPriors": (lambda: bc.shift.class_priors(Y, P, P, **FAST), "`print(result)` shows its table."),
    "ShiftEvidence": (
        lambda: bc.shift.evidence(Y, P, P, simulations=99, **FAST),
        "`print(result)` shows its table.",
    ),
    "Plan": (
        lambda: bc.planning.labels_needed(
            bc.BinnedCounts.from_arrays(Y, P), width=0.5, simulations=20, draws=100, rng=1
        ),
        "`print(result)` shows its table.",
    ),
    "CalibrationMonitor": (lambda: MONITOR, "`monitor.change()` or `monitor.confidence_sequence()`."),
    "GroupedRecalibration": (
        lambda: bc.clinical.recalibration(Y, P, by=["a", "b"] * 200, **FAST),
        "'])`.",
    ),
    "GroupedNetBenefit": (
        lambda: bc.decisions.net_benefit(Y, P, [0.2, 0.5], by=["a", "b"] * 200, **FAST),
        "'])`.",
    ),
}


def results():
    """Names of all results that have no subclass, or are results themselves."""
    for module in pkgutil.walk_packages(bc.__path__, "bayescal."):
        if not module.name.startswith(
            ("bayescal.verify", "bayescal.__main__", "bayescal.plugins.", "bayescal.posterior")
        ):
            importlib.import_module(module.name)
    waiting, found = [Presented], set()
    while waiting:
        waiting += (new := [each for each in waiting.pop().__subclasses__() if each.__module__.startswith("bayescal.")])
        found |= set(new)
    return {each.__name__ for each in found if not each.__subclasses__() or hasattr(bc, each.__name__)}


def test_every_result_is_drawn_or_says_why_not():
    assert results() - {*DRAWN, *PARTS, *WITHOUT} == set()


def words(ax):
    """Labels, titles and legend of a picture, and the positions of its lines."""
    lines = [np.asarray(line.get_xydata(), float).tolist() for line in ax.get_lines()]
    return ax.get_title(loc="left"), ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), len(ax.texts), str(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_is_that_of_the_function_for_this_type(name):
    make, function = DRAWN[name]
    result = make()
    assert type(result).__name__ == name
    mine, theirs = (draw(result, Figure().subplots()) for draw in (bc.plot, function))
    assert isinstance(mine, Axes)
    assert words(mine) == words(theirs)


@pytest.mark.parametrize("name", PARTS)
def test_results_that_are_drawn_by_a_part(name):
    make, label = PARTS[name]
    result = make()
    assert type(result).__name__ == name
    axes = Figure().subplots()
    assert bc.plot(result, axes) is axes
    assert label in axes.get_xlabel()


@pytest.mark.parametrize("name", WITHOUT)
def test_results_without_a_picture_say_what_to_do(name):
    make, end = WITHOUT[name]
    result = make()
    assert type(result).__name__ == name
    with pytest.raises(TypeError, match=f"^A {name} has no picture.*{re.escape(end)}$"):
        bc.plot(result)


@pytest.mark.parametrize("thing", [P, bc.evaluate(Y, P, **FAST).ece, {"a": 1}, None])
def test_other_things_are_no_results(thing):
    with pytest.raises(TypeError, match=rf"from `bayescal\.evaluate\(y_true, y_prob\)`, not {type(thing).__name__}\."):
        bc.plot(thing)


def test_options_are_those_of_the_plot_and_a_figure_is_made():
    import matplotlib.pyplot as plt

    ev = bc.evaluate(Y, P, **FAST)
    ax = bc.plot(ev, prob=0.5)
    assert ax.figure is plt.gcf()
    with pytest.raises(ValueError, match="`prob`"):
        bc.plot(ev, prob=2)
    with pytest.raises(TypeError, match=r"`plot` takes no 'colour'\. Did you mean 'color'"):
        bc.plot(ev, colour="red")
    with pytest.raises(TypeError, match="`ax` must be"):
        bc.plot(ev, "axes")
