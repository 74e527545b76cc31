"""Other names of keywords and attributes: every function and result answers them alike, and the answers are right."""

import copy
import inspect
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.special

import bayescal as bc
from bayescal import _meant
from bayescal._lazy import MODULES, former_names, place_of
from bayescal._meant import TABLE, UnknownKeywordError, known_keywords, public
from bayescal.datasets.simulate import simulate

ROWS = simulate(400, population="flat", rng=1)
Y, P = ROWS.outcome, ROWS.confidence
COUNTS = bc.BinnedCounts.from_arrays(Y, P)
GENERATOR = np.random.default_rng(1)
MATRIX = GENERATOR.dirichlet(np.ones(3), 400)
LABELS = np.array([GENERATOR.choice(3, p=each) for each in MATRIX])
TIMES = np.ceil(20 * GENERATOR.random(400))
FAST = {"draws": 50, "rng": 1}
MODELS = {"a": P, "b": P**1.2}


def monitored():
    monitor = bc.CalibrationMonitor(window=4)
    for start in range(0, 12, 4):
        monitor.add(Y, P, time=start)
    return monitor


def shift_counts():
    how = {"cells": bc.ShiftCells.predicted_class(2), "bins": 5}
    return bc.ShiftCounts.of_source(Y, P, **how) + bc.ShiftCounts.of_target(P, **how)


MONITOR = monitored()
OVER_DATASETS = bc.compare_over_datasets(
    {str(k): (Y[k:], {n: p[k:] for n, p in MODELS.items()}) for k in range(3)}, **FAST
)
RESULTS = {
    "Evaluation": bc.evaluate(Y, P, **FAST),
    "Recalibration": bc.recalibration(Y, P, **FAST),
    "NetBenefit": bc.net_benefit(Y, MODELS, [0.2, 0.5], **FAST),
    "CalibrationCurve": bc.calibration_curve(Y, P, **FAST),
    "CalibrationTests": bc.calibration_tests(Y, P),
    "ClinicalSummary": bc.clinical_summary(Y, P, 0.2, **FAST),
    "LossRatio": bc.loss_ratio(Y[:200], P[:200], Y[200:], P[200:], **FAST),
    "GroupedEvaluation": bc.evaluate(Y, P, by=P > 0.5, **FAST),
    "ClasswiseEvaluation": bc.evaluate(LABELS, MATRIX, target="classwise", **FAST),
    "Comparison": bc.compare(Y, MODELS, **FAST),
    "ComparisonOverDatasets": OVER_DATASETS,
    "BinSensitivity": bc.bin_sensitivity(Y, P, n_bins=(5, 10), **FAST),
    "CumulativeDifference": bc.cumulative_difference(Y, P),
    "SubpopulationDifference": bc.cumulative_difference_subpopulation(Y, P, P > 0.5),
    "CumulativePosterior": bc.cumulative_difference(Y, P).posterior(50, rng=1),
    "Evidence": MONITOR.evidence(rng=1),
    "ConfidenceSequence": MONITOR.confidence_sequence(),
    "SurvivalHorizons": bc.evaluate_survival(TIMES, Y, np.column_stack([P / 2, P]), horizon=[5, 10], **FAST),
    "Draws": bc.evaluate(Y, P, **FAST).ece,
    "LogisticRecalibration": bc.LogisticRecalibration().fit(P, Y),
}
#: What readers have where the messages write these names.
READER = {
    "bayescal": bc, "scipy": scipy, "y_true": Y, "y_prob": P, "y_prob_target": P, "y_target": Y, "weights": 1 + P,
    "site": np.arange(400) % 3, "patient": np.arange(400) // 2, "labels": LABELS, "matrix": MATRIX,
    "correct": Y, "confidence": P, "alpha": 0.05,
    "matrices": {"a": MATRIX, "b": MATRIX[::-1]}, "models": MODELS, "counts": COUNTS, "time": TIMES, "event": Y,
    "risk": P, "monitor": MONITOR, "result": RESULTS["Evaluation"], "logits": MATRIX,
}  # fmt: skip
#: Keywords of other programs, and of other functions here.
WORDS = (
    *("y_proba", "y_score", "y_pred", "probs", "pos_label", "n_bins", "strategy", "norm", "sensitive_features"),
    *("random_state", "groups", "seed", "metric", "confidence_level"),
)
PUBLIC = [getattr(bc, name) for name in (*bc.__all__, *former_names())]
PUBLIC += [getattr(getattr(bc, module), name) for module in MODULES for name in getattr(bc, module).__all__]
#: Functions by their names in messages, and classes.
FUNCTIONS = {".".join(filter(None, place_of(thing))): thing for thing in PUBLIC if inspect.isfunction(thing)}
CLASSES = {
    thing.__name__: thing for thing in PUBLIC if inspect.isclass(thing) and not issubclass(thing, BaseException | tuple)
}


class Classifier:
    """A fitted classifier of two classes."""

    classes_ = (0, 1)

    def predict_proba(self, features):
        return np.column_stack([1 - features[:, 0], features[:, 0]])


#: Functions whose surplus keywords are options of a model, or of a line: arguments with which they run.
WITH_OPTIONS = {
    "CalibrationDisplay.from_estimator": (Classifier(), P[:, None], Y),
    "CalibrationDisplay.from_predictions": (Y, P),
    "bin_sensitivity": (Y, P),
    "compare": (Y, MODELS),
    "compare_counts": ({("a", "b"): bc.PairedCounts.from_arrays(Y, P, Y, P**1.2)},),
    "compare_over_datasets": ({str(k): (Y[k:], {n: p[k:] for n, p in MODELS.items()}) for k in range(3)},),
    "survival.compare": (TIMES, Y, MODELS),
    "evaluate": (Y, P),
    "evaluate_counts": (COUNTS,),
    "evaluate_shifted": (Y, P, P),
    "evaluate_shifted_counts": (shift_counts(),),
    "shift.covariate": (Y, P, P),
    "shift.label": (Y, P, P),
    "shift.label_counts": (shift_counts(),),
    "plot": (RESULTS["Evaluation"],),
    "survival.evaluate": (TIMES, Y, P),
    "survival.evaluate_counts": (bc.SurvivalCounts.from_arrays(TIMES, Y, P, times=[5, 10]),),
    "labels_needed": (COUNTS,),
}
#: Functions whose options are keywords of another function.
OPTIONS_OF = {
    "compare_over_datasets": bc.compare, "evaluate_shifted_counts": bc.shift.label_counts, "plot": bc.plot_reliability,
}  # fmt: skip
NEEDED = {
    "survival.compare": {"horizon": 5}, "evaluate_shifted": {"shift": "label"}, "survival.evaluate": {"horizon": 5},
    "evaluate_shifted_counts": {"shift": "label"}, "survival.evaluate_counts": {"horizon": 5},
    "shift.covariate": {"weights": 1 + P},
    "labels_needed": {"width": 0.1},
}  # fmt: skip


def callables():
    """Name -> function, constructor or class method that users call."""
    yield from FUNCTIONS.items()
    yield from CLASSES.items()
    for name, each in CLASSES.items():
        for method, member in vars(each).items():
            if isinstance(member, classmethod) and not method.startswith("_"):
                yield f"{name}.{method}", getattr(each, method)


CALLABLES = dict(callables())


def refusal(called, *args, **given):
    """Return the message about an unknown keyword, or what happened instead."""
    try:
        called(*args, **given)
    except UnknownKeywordError as problem:
        return str(problem)
    except Exception as problem:
        return f"{type(problem).__name__} instead: {problem}"
    return "no error"


def parameters(called):
    return inspect.signature(called).parameters


def test_everything_public_is_marked():
    """The mark is what makes a function answer."""
    unmarked = [name for name, each in FUNCTIONS.items() if not hasattr(each, "public")]
    for name, each in CLASSES.items():
        for method, member in inspect.getmembers(each, inspect.isfunction):
            if member.__module__.startswith("bayescal") and not (method.startswith("_") or hasattr(member, "public")):
                unmarked.append(f"{name}.{method}")
    assert unmarked == []


def test_every_function_and_class_answers_names_of_other_programs():
    """The message names the function, the keyword, and what to write: its own keyword, or another call."""
    offenders = []
    for name, called in CALLABLES.items():
        kinds = {p.kind for p in parameters(called).values()}
        has_options = inspect.Parameter.VAR_KEYWORD in kinds
        if has_options and name not in WITH_OPTIONS:
            offenders.append((name, "takes options, and is not in WITH_OPTIONS"))
            continue
        for word in WORDS:
            if word in parameters(called):
                continue
            said = refusal(called, *WITH_OPTIONS.get(name, ()), **NEEDED.get(name, {}), **{word: 1})
            if not said.startswith(f"`{name}` takes no '{word}'."):
                offenders.append((name, word, said))
            elif found := re.search(r"Here it is called '(\w+)': `([\w.]+)\((.*)\)`\.", said):
                own = parameters(OPTIONS_OF.get(name, called))
                if found[1] not in own or found[1] not in found[3] or found[2] != name:
                    offenders.append((name, word, said))
            elif "`bayescal." not in said and "`result." not in said:
                offenders.append((name, word, said))
    assert offenders == []


def test_methods_of_results_answer_too():
    offenders = []
    for name, result in RESULTS.items():
        for method in dir(type(result)):
            member = getattr(type(result), method)
            if method.startswith("_") or not hasattr(member, "public"):
                continue
            kinds = {p.kind for p in parameters(member).values()}
            if member.__name__ != method or "level" in parameters(member) or inspect.Parameter.VAR_KEYWORD in kinds:
                continue
            said = refusal(getattr(result, method), level=0.9)
            right = "Here it is called 'prob': " if "prob" in parameters(member) else "`result.table(prob=0.9)`"
            if not said.startswith(f"`{name}.{method}` takes no 'level'.") or right not in said:
                offenders.append((name, method, said))
    assert offenders == []
    for result in ("Evaluation", "Comparison", "Recalibration"):
        said = refusal(RESULTS[result].to_frame, level=0.9)
        assert said.startswith(f"`{result}.to_frame` takes no 'level'. Here it is called 'prob': ")
        assert said.endswith(f"`{result.casefold()}.to_frame(prob=0.95)`.")


def codes(text):
    return [code for code in re.findall("`([^`]+)`", f"`{text}`") if "(" in code and "..." not in code]


@pytest.mark.filterwarnings("ignore")
def test_every_place_that_a_message_names_exists(tmp_path, monkeypatch):
    """The code of each answer runs with the reader's names, on the results for which the answer is given."""
    offenders = []
    monkeypatch.setitem(READER, "path", tmp_path / "rows.csv")
    READER["path"].write_text("correct,confidence\n1,0.7\n0,0.6\n", encoding="utf-8")
    for meant in TABLE:
        for code in {*codes(meant.elsewhere), *codes(_meant._place(meant.elsewhere, {"survival"}))}:
            of = next((RESULTS[name] for name in meant.of.split() if name in RESULTS), READER["result"])
            try:
                plots = "plot" in code
                eval(code, READER | {"result": of}) if not plots else drawn(code, of)
            except Exception as problem:
                offenders.append((code, f"{type(problem).__name__}: {problem}"))
    assert offenders == []


def drawn(code, result):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    eval(code, READER | {"result": result})
    plt.close("all")


def test_every_attribute_and_keyword_of_the_table_exists():
    taken = {word for called in CALLABLES.values() for word in parameters(called)}
    attributes = {name for result in RESULTS.values() for name in dir(result)}
    attributes |= {
        word
        for each in CLASSES.values()
        for _, m in inspect.getmembers(each, inspect.isfunction)
        for word in parameters(m)
    }
    missing = []
    for meant in TABLE:
        for code in meant.here:
            function, _, keyword = code.rpartition(":")
            if _meant._head(keyword) not in (taken | attributes if not function else parameters(CALLABLES[function])):
                missing.append((meant.says, code))
        for owner in meant.of.split():
            if owner not in FUNCTIONS and owner.partition(".")[0] not in {*CLASSES, *MODULES}:
                missing.append((meant.says, owner))
    assert missing == []


# --- attributes

TRIED = [
    ("Recalibration", "citl", "`in_the_large`"),
    ("Recalibration", "calibration_in_the_large", "`in_the_large`"),
    ("Recalibration", "Intercept", "`intercept`"),
    ("Recalibration", "coef_", "`intercept` and `slope`"),
    ("Recalibration", "calibration_slope", "`slope`"),
    ("Recalibration", "Eavg", "`bayescal.clinical.calibration_curve(y_true, y_prob).ici`"),
    ("Recalibration", "c_index", "`bayescal.evaluate(y_true, y_prob).auc`"),
    ("Recalibration", "Brier", "`bayescal.evaluate(y_true, y_prob).brier_score`"),
    ("Recalibration", "predict", "`recalibrated(y_prob)`"),
    ("Recalibration", "pvalue", "The evidence for calibration is `bayes_factor`"),
    ("NetBenefit", "standardised", "`standardized[model]`"),
    ("NetBenefit", "sNB", "`standardized[model]`"),
    ("NetBenefit", "net_intervention_avoided", "`avoided[model]`"),
    ("NetBenefit", "nb", "`net_benefit[model]`"),
    ("NetBenefit", "treat_none", "is 0 at every threshold"),
    ("NetBenefit", "delta", "`difference(first, second)`"),
    ("NetBenefit", "sensitivity", "`posterior.sample()`"),
    ("CalibrationCurve", "ICI", "`ici`"),
    ("CalibrationCurve", "integrated_calibration_index", "`ici`"),
    ("CalibrationCurve", "E_max", "`emax`"),
    ("CalibrationCurve", "mce", "that of any row is `emax`"),
    ("CalibrationCurve", "prob_true", "`band()`"),
    ("CalibrationCurve", "citl", "`bayescal.clinical.recalibration(y_true, y_prob).in_the_large`"),
    ("CalibrationTests", "chi2", "`hosmer_lemeshow.chi_squared`"),
    ("CalibrationTests", "p_value", "`p_spiegelhalter` and `p_hosmer_lemeshow`"),
    ("ClinicalSummary", "c_statistic", "`evaluation.auc`"),
    ("ClinicalSummary", "citl", "`recalibration.in_the_large`"),
    ("ClinicalSummary", "ICI", "`calibration_curve.ici`"),
    ("ClinicalSummary", "thresholds", "`net_benefit.thresholds`"),
    ("ClinicalSummary", "difference", "`net_benefit.difference(first, second)`"),
    ("ClinicalSummary", "plot", "`bayescal.plot(result)`"),
    ("LossRatio", "loss_ratio", "`mean_ratio`"),
    ("CumulativeDifference", "ks_statistic", "`kolmogorov_smirnov`"),
    ("CumulativeDifference", "p_value", "`p_kuiper` and `p_kolmogorov_smirnov`"),
    ("SubpopulationDifference", "posterior", "`kuiper_interval` and `band`"),
    ("CumulativePosterior", "samples", "`curve`"),
    ("Evidence", "e_value", "`values`"),
    ("Evidence", "p_value", "`p_values`"),
    ("Evidence", "plot", "`bayescal.plot(result)`"),
    ("ConfidenceSequence", "upper", "are `low` and `high`, the last one is `interval`."),
    ("ConfidenceSequence", "level", "`prob`"),
    ("ComparisonOverDatasets", "ece", "`result.average('ece')`, its mean over the data sets."),
    ("ComparisonOverDatasets", "mean", "`average().mean()`"),
    ("Comparison", "ece", "`result[classifier].ece`"),
    ("Evaluation", "expected_calibration_error", "`evaluation.ece`"),
    ("Evaluation", "slope", "`bayescal.clinical.recalibration(y_true, y_prob).slope`"),
    ("Evaluation", "recalibration", "Intercept and slope are `bayescal.clinical.recalibration(y_true, y_prob)`."),
    ("Evaluation", "y_true", "Labels and probabilities are evaluated by `bayescal.evaluate(y_true, y_prob)`."),
    ("ComparisonOverDatasets", "mean_ranks", "Draws of the mean ranks over the data sets are `ranks()`."),
    ("Evaluation", "mce", "No interval of the maximum calibration error"),
    ("Evaluation", "max_error", "90th percentile of the absolute error (E90 of bins) is `evaluation.e90_bins`."),
    ("Evaluation", "e90_bin", "(E90 of bins) is `evaluation.e90_bins`."),
    ("Evaluation", "postrior", "Did you mean 'posterior'"),
    ("Draws", "lower", "Intervals"),
]  # fmt: skip


def test_attributes_of_other_programs_are_explained():
    offenders = []
    for which, name, hint in TRIED:
        with pytest.raises(AttributeError) as caught:
            getattr(RESULTS[which], name)
        said = str(caught.value)
        if not said.startswith(f"'{which}' has no attribute '{name}'.") or hint not in said:
            offenders.append((which, name, said))
    assert offenders == []


def test_attributes_that_an_answer_names_exist():
    """Each answer for a word of the table, on each result, names an attribute of that result."""
    offenders = []
    for which, result in RESULTS.items():
        owners = [each.__name__ for each in type(result).__mro__]
        for word in {word for meant in TABLE for word in meant.words.split()} - set(dir(result)):
            answer = _meant._of_rows(_meant._rows(word, owners), set(dir(result)))
            for code in re.findall("is `([a-z_0-9]+)[^`]*`", answer):
                if code not in ("bayescal", "scipy", "monitor", "result") and not hasattr(result, code):
                    offenders.append((which, word, answer))
    assert offenders == []


SURVIVAL = RESULTS["SurvivalHorizons"][5]


def test_answers_about_right_censored_rows_do_not_name_functions_of_labels():
    """`evaluate` and `recalibration` would take a row that left the study for one without the event."""
    for call, said in {
        lambda: bc.compare_survival(TIMES, Y, MODELS, horizon=5, by=Y): "risk, horizon=5, by=site)`.",
        lambda: bc.compare_survival(TIMES, Y, MODELS, horizon=5, pos_label=1): "Here it is called 'cause'",
        lambda: bc.compare_survival(TIMES, Y, MODELS, horizon=5, metric="auc"): "horizon=5).table(estimand='auc')`.",
        lambda: bc.evaluate_survival(TIMES, Y, P, horizon=5, edges=3): "Here it is called 'bins'",
        lambda: bc.evaluate_survival(TIMES, Y, P, horizon=5, prior=1): "horizon=5, model='dirichlet', alpha=",
        lambda: bc.SurvivalCounts.from_arrays(TIMES, Y, P, times=[5], seed=1): "risk, horizon=5, rng=1)`.",
        lambda: SURVIVAL.c_index: "The AUC (C statistic) is `auc`.",
    }.items():
        with pytest.raises((TypeError, AttributeError), match=re.escape(said)) as caught:
            call()
        assert "y_true" not in str(caught.value)
    for name in ("slope", "citl", "ici", "recalibration", "labels", "mce", "sz", "kuiper", "nb", "brier_score_loss"):
        with pytest.raises(AttributeError) as caught:
            getattr(SURVIVAL, name)
        assert "y_true" not in str(caught.value)


def test_the_meaning_for_one_function_is_the_only_answer():
    for call, said in {
        lambda: bc.evaluate(Y, P, prior=1): "`evaluate` takes no 'prior'. The prior of the Dirichlet model is "
        "`bayescal.evaluate(y_true, y_prob, model='dirichlet', alpha='jeffreys')`.",
        lambda: bc.net_benefit(Y, P, prior=1): "Here it is called 'pseudo_rows'",
        lambda: bc.cumulative.difference(Y, P, bins=10): "`cumulative.difference` takes no 'bins'. There are no bins "
        "to choose; counts are evaluated by `bayescal.cumulative.difference.from_counts(counts)`.",
        lambda: MONITOR.evidence(threshold=20): "An alarm is raised where the evidence is at least 1 / `level`: "
        "`monitor.evidence(level=0.05)`.",
        lambda: bc.compare(Y, MODELS, metric="auc"): "Methods of the result take it: "
        "`bayescal.compare(y_true, models).table(estimand='auc')`.",
        lambda: bc.survival.compare(TIMES, Y, MODELS, horizon=5, cluster=Y): "`survival.compare` takes no 'cluster'. "
        "Rows in clusters are evaluated by "
        "`bayescal.survival.evaluate(time, event, risk, horizon=5, cluster=patient)`.",
    }.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert said in str(caught.value)


def test_answers_do_not_suggest_another_value():
    """An alpha of 0.05 is no probability of an interval, and columns and labels of lines are no intervals."""
    for call, said in {
        lambda: RESULTS["Draws"].interval(alpha=0.05): "Here it is called 'prob': `draws.interval(prob=1 - alpha)`.",
        lambda: bc.plot_reliability(RESULTS["Evaluation"], level=0.9): "`plot_reliability(evaluation, prob=0.95)`.",
        lambda: bc.count_file("rows.csv", alpha=0.05): "given to the result: `result.table(prob=0.9)`.",
        lambda: bc.count_file("rows.csv", correct="right"): "prob='confidence', target='confidence')`.",
        lambda: bc.count_file("rows.csv", labels="y", y_prob="p"): "Here it is called 'label'",
        lambda: bc.count_file("rows.csv", label="y", y_score="p"): "Here it is called 'prob'",
        lambda: bc.CalibrationDisplay.from_estimator(Classifier(), P, outcome=Y): "Here it is called 'y'",
        lambda: bc.net_benefit(y_prob=P, target="event"): "The outcome is chosen by `bayescal.evaluate(y_true,",
        lambda: bc.evaluate_counts(COUNTS, logits=P): "or, for a matrix, `scipy.special.softmax(logits, axis=1)`.",
    }.items():
        with pytest.raises(TypeError, match=re.escape(said)):
            call()


def test_names_of_the_module():
    for name, said in {
        "expected_calibration_error": "Calibration Error (ECE) is `bayescal.evaluate(y_true, y_prob).ece`.",
        "brier_score_loss": "`bayescal.evaluate(y_true, y_prob).brier_score`.",
        "ici": "`bayescal.clinical.calibration_curve(y_true, y_prob).ici`.",
        "calibration_slope": "`bayescal.clinical.recalibration(y_true, y_prob).slope`.",
        "decision_curve": "`bayescal.net_benefit(y_true, y_prob, [0.1, 0.2])`.",
        "evalute": "Did you mean `bayescal.evaluate`",
    }.items():
        with pytest.raises(AttributeError, match=re.escape(said)):
            getattr(bc, name)


@pytest.mark.parametrize("which", RESULTS)
def test_results_can_still_be_copied(which):
    assert type(copy.copy(RESULTS[which])) is type(pickle.loads(pickle.dumps(RESULTS[which])))
    with pytest.raises(AttributeError, match="has no attribute '_repr_latex_'"):
        _ = RESULTS[which]._repr_latex_


def test_a_decision_curve_is_no_mapping():
    with pytest.raises(TypeError, match=r"`net_benefit\['b'\]`"):
        RESULTS["NetBenefit"]["b"]
    with pytest.raises(TypeError, match=r"`net_benefit\['a'\]`"):
        list(RESULTS["NetBenefit"])


# --- the mark


def test_other_errors_and_signatures_are_unchanged():
    @public
    def a(x, *, weights=None):
        """Say what was given."""
        if x is None:
            raise TypeError("inside")
        return x, weights

    assert a(1, weights=2) == a(1, sample_weight=2) == (1, 2)
    assert str(inspect.signature(a)) == "(x, *, weights=None)"
    assert a.__doc__ == "Say what was given."
    with pytest.raises(TypeError, match=r"^inside$"):
        a(None)
    with pytest.raises(TypeError, match=r"`weights` and `sample_weight` are the same argument"):
        a(1, weights=2, sample_weight=2)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'\. Call it as `.*a\(x\)`\.$"):
        a()
    with pytest.raises(TypeError, match=r"takes 1 positional argument but 2 were given\. Call it as"):
        a(1, 2)
    with pytest.raises(TypeError, match=r"takes no 'wheights'\. Did you mean 'weights'\?"):
        a(1, wheights=2)


def test_a_wrong_number_of_arguments_shows_the_call():
    for call, said in {
        lambda: bc.evaluate(
            COUNTS
        ): "Call it as `evaluate(y_true, y_prob)`. For counts, use `evaluate_counts(counts)`.",
        lambda: bc.evaluate_survival(Y, Y, P): "Call it as `survival.evaluate(time, event, risk, horizon=...)`.",
        lambda: bc.calibration_curve(COUNTS): "For counts, use `clinical.calibration_curve.from_counts(counts)`.",
        lambda: bc.evaluate_shifted(Y, P, P): "`shift='label'` if it is the class frequencies alone",
        lambda: bc.labels_needed(): "`labels_needed(evaluate(y_true, y_prob).counts, width=0.02)`",
        lambda: bc.evaluate(
            Y, prob=P
        ): "`evaluate` takes no 'prob'. Here it is called 'y_prob': `evaluate(y_true, y_prob)`.",
    }.items():
        with pytest.raises(TypeError, match=re.escape(said)):
            call()


def test_weights_of_scikit_learn_are_weights():
    w = 1 + P
    assert bc.plug_in_ece(Y, P, sample_weight=w) == bc.plug_in_ece(Y, P, weights=w) != bc.plug_in_ece(Y, P)
    first, second = (bc.evaluate(Y, P, **{name: w}, **FAST).ece.mean() for name in ("weights", "sample_weight"))
    assert first == second
    offenders = [
        name
        for name, called in CALLABLES.items()
        if "weights" in parameters(called)
        and "are the same argument" not in refusal(called, weights=w, sample_weight=w)
    ]
    assert offenders == []


def test_columns_have_the_names_of_evaluate_everywhere(tmp_path):
    """Functions that name columns in another way accept `y_true` and `y_prob`, too; both names are an error."""
    frame = pd.DataFrame({"y": Y, "p": P})
    file = tmp_path / "rows.csv"
    frame.to_csv(file, index=False)
    event = {"target": "event"}
    for called, source, names, options in (
        (bc.BinnedCounts.from_frame, frame, ("outcome", "confidence"), event),
        (bc.decisions.ThresholdCounts.from_frame, frame, ("outcome", "confidence"), {"thresholds": [0.1, 0.5]}),
        (bc.count_file, file, ("label", "prob"), event),
    ):
        other = called(source, **dict(zip(names, ("y", "p"), strict=True)), **options)
        same = called(source, y_true="y", y_prob="p", **options)
        assert np.array_equal(same.n, other.n)
        with pytest.raises(TypeError, match=f"`{names[0]}` and `y_true` are the same argument"):
            called(source, y_true="y", y_prob="p", **{names[0]: "y"}, **options)


def test_hints_stay_with_their_object():
    with pytest.raises(TypeError, match=r"Here it is called 'assurance'"):
        bc.labels_needed(COUNTS, width=0.1, power=0.8)
    with pytest.raises(TypeError, match=r"Labels and probabilities are evaluated by"):
        bc.scores.compare(Y, {"a": P}, y_score=P)
    with pytest.raises(TypeError, match=r"The seed is `monitor\.evaluate\(rng=1\)`"):
        bc.CalibrationMonitor(window=1).add([1, 0], [0.5, 0.2], time=[0, 1]).evaluate(seed=1)
    with pytest.raises(TypeError, match=r"The number of draws is `monitor\.evaluate\(draws=4000\)`\.$"):
        bc.CalibrationMonitor(window=1).add([1, 0], [0.5, 0.2], time=[0, 1]).evaluate(n_draws=10)
    with pytest.raises(AttributeError, match="has no attribute 'recalibration'") as caught:
        bc.survival.recalibration  # noqa: B018
    assert "clinical" not in str(caught.value)  # whose functions do not know censoring


def test_options_of_models():
    def model(counts, *, alpha=None, formula=None): ...

    known_keywords("the model", ["alpha"], model)
    with pytest.raises(
        TypeError, match=r"takes no 'alhpa'\. Did you mean 'alpha'\? The options .* \['alpha', 'formula'\]"
    ):
        known_keywords("the model", ["alhpa"], model)
    with pytest.raises(TypeError, match="takes no 'counts'"):
        known_keywords("the model", ["counts"], model)
    with pytest.raises(TypeError, match=r"Here it is called 'prior'"):
        known_keywords("recalibration", ["prior_sd"], bc.recalibration)
    with pytest.raises(
        TypeError, match=r"`model='shrinkage'` takes no 'alpha'\. It is an option of `model='dirichlet'`"
    ):
        bc.evaluate(Y, P, alpha="jeffreys")


def test_names_of_scikit_learn_for_ways_to_choose_bins():
    for theirs, own in {"quantile": "equal-mass", "uniform": "equal-width"}.items():
        assert bc.plug_in_ece(Y, P, binning=theirs) == bc.plug_in_ece(Y, P, binning=own)
        assert bc.evaluate(Y, P, binning=theirs, **FAST).counts.bins.kind == own
        assert (
            bc.bin_sensitivity(Y, P, n_bins=5, binning=[theirs, "equal-effective-mass"], **FAST)[own, 5].counts.n.sum()
            == 400
        )
    assert bc.make_bins(5, binning="quantile", confidence=P).kind == "equal-mass"
    with pytest.raises(ValueError, match="`binning` must be one of"):
        bc.evaluate(Y, P, binning="quantiles")
    taking = [name for name, called in CALLABLES.items() if "binning" in parameters(called)]
    assert len(taking) > 10
    assert all(hasattr(getattr(CALLABLES[name], "__func__", CALLABLES[name]), "public") for name in taking)


def test_unknown_keywords_of_a_display_are_not_those_of_a_line():
    with pytest.raises(TypeError, match=r"from_predictions` takes no 'colour'\. Did you mean 'color'"):
        bc.CalibrationDisplay.from_predictions(Y, P, colour="red")
    with pytest.raises(TypeError, match=r"`CalibrationDisplay.from_predictions` takes no 'unknown'\."):
        bc.CalibrationDisplay.from_predictions(Y, P, unknown=1)


def test_a_mapping_of_classifiers_is_not_printed():
    arrays = {"a": P, "b": np.array([0.123456])}
    for call in (
        bc.evaluate,
        bc.plug_in_ece,
        bc.bin_sensitivity,
        bc.brier_decomposition,
        bc.CalibrationDisplay.from_predictions,
    ):
        with pytest.raises(
            TypeError, match=r"`compare\(y_true, y_prob\)`; the first of them is `y_prob\['a'\]`"
        ) as caught:
            call(Y, arrays)
        assert "array(" not in str(caught.value)
        assert "0.1234" not in str(caught.value)
    with pytest.raises(TypeError, match=r"`survival\.compare\(time, event, risk, horizon=\.\.\.\)`"):
        bc.evaluate_survival(TIMES, Y, arrays, horizon=5)
    with pytest.raises(
        TypeError, match=r"`weights` must be an array, a list or a column, not a dict with the keys \['a', 'b'\]\.$"
    ):
        bc.evaluate(Y, P, weights=arrays)
