"""Other names of keywords and attributes: every function and result answers them alike, and the answers are right."""

import copy
import inspect
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.special

import bayescal as bc
from bayescal import _meant
from bayescal._lazy import MODULES, former_names, place_of
from bayescal._meant import UnknownKeywordError, known_keywords, public, synonyms
from bayescal.datasets.simulate import simulate
from bayescal.estimands.estimand import UnavailableError

ROWS = simulate(400, population="flat", rng=1)
Y, P = ROWS.outcome, ROWS.confidence
COUNTS = bc.BinnedCounts.from_arrays(Y, P)
EVENT_COUNTS = bc.BinnedCounts.from_arrays(Y, P, target="event")
GENERATOR = np.random.default_rng(1)
MATRIX = GENERATOR.dirichlet(np.ones(3), 400)
LABELS = np.array([GENERATOR.choice(3, p=each) for each in MATRIX])
TIMES = np.ceil(20 * GENERATOR.random(400))
FAST = {"draws": 100, "rng": 1}
MODELS = {"a": P, "b": P**1.2}
SITE = np.arange(400) % 3


def monitored():
    monitor = bc.monitoring.CalibrationMonitor(window=4)
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
CHECKED = np.where(np.arange(400) % 2, Y, np.nan)
JUDGED = bc.labels.judged(CHECKED, P, judge=Y, **FAST)
RESULTS = {
    "Evaluation": bc.evaluate(Y, P, **FAST),
    "Recalibration": bc.recalibration(Y, P, **FAST),
    "NetBenefit": bc.decisions.net_benefit(Y, MODELS, [0.2, 0.5], **FAST),
    "TopK": bc.decisions.top_k(LABELS, MATRIX, **FAST),
    "SelectivePrediction": bc.decisions.selective(Y, MODELS, target="confidence", **FAST),
    "CalibrationCurve": bc.calibration_curve(Y, P, **FAST),
    "CalibrationTests": bc.calibration_tests(Y, P),
    "ClinicalSummary": bc.clinical_summary(Y, P, 0.2, **FAST),
    "LossRatio": bc.loss_ratio(Y[:200], P[:200], Y[200:], P[200:], **FAST),
    "GroupedEvaluation": bc.evaluate(Y, P, by=P > 0.5, **FAST),
    "ClasswiseEvaluation": bc.evaluate(LABELS, MATRIX, target="classwise", **FAST),
    "Comparison": bc.compare(Y, MODELS, **FAST),
    "ComparisonOverDatasets": OVER_DATASETS,
    "BinSensitivity": bc.bin_sensitivity(Y, P, n_bins=(5, 10), **FAST),
    "ModelSensitivity": bc.evaluate(Y, P, **FAST).sensitivity(priors={}),
    "CumulativeDifference": bc.cumulative_difference(Y, P),
    "SubpopulationDifference": bc.cumulative_difference_subpopulation(Y, P, SITE == 0),
    "CumulativePosterior": bc.cumulative_difference(Y, P).posterior(50, rng=1),
    "SubpopulationPosterior": bc.cumulative_difference_subpopulation(Y, P, SITE == 0).posterior(50, rng=1),
    "SubpopulationComparison": bc.cumulative.compare_subpopulations(Y, P, SITE == 0, SITE == 1),
    "Evidence": MONITOR.evidence(rng=1),
    "ConfidenceSequence": MONITOR.confidence_sequence(),
    "SurvivalHorizons": bc.evaluate_survival(TIMES, Y, np.column_stack([P / 2, P]), horizon=[5, 10], **FAST),
    "Draws": bc.evaluate(Y, P, **FAST).ece,
    "GroupedRecalibration": bc.recalibration(Y, P, by=SITE, **FAST),
    "GroupedClinicalSummary": bc.clinical.summary(Y, P, by=SITE, **FAST),
    "NewCentre": bc.clinical.recalibration(Y, P, by=SITE, **FAST).new_centre(),
    "GroupedNetBenefit": bc.decisions.net_benefit(Y, MODELS, [0.2, 0.5], by=SITE, **FAST),
    "ScoreComparison": bc.scores.compare(LABELS, {"a": MATRIX, "b": MATRIX[::-1]}, **FAST),
    "MultiClassScore": bc.scores.multiclass_brier(LABELS, MATRIX),
    "CorpDecomposition": bc.scores.log_decomposition(Y, P),
    "MurphyDecomposition": bc.scores.murphy_decomposition(EVENT_COUNTS),
    "Change": MONITOR.change((0, 4), **FAST),
    "CalibrationMonitor": MONITOR,
    "SubpopulationScreen": bc.cumulative.screen(Y, P, SITE),
    "ClassPriors": bc.shift.class_priors(Y, P, P, **FAST),
    "ShiftEvidence": bc.shift.evidence(Y, P, P, simulations=99, **FAST),
    "LabelShiftEvaluation": bc.shift.label(Y, P, P, **FAST),
    "LabelShiftClasses": bc.shift.label(LABELS, MATRIX, MATRIX, **FAST),
    "CovariateShiftEvaluation": bc.shift.covariate(Y, P, P, weights=1 + P, **FAST),
    "WeightReport": bc.shift.weight_report(1 + P),
    "JudgedEvaluation": JUDGED,
    "JudgeReport": JUDGED.judge,
    "PartlyObservedEvaluation": bc.labels.partly_observed(CHECKED, P, missing="score", **FAST),
    "PartlyObservedBand": bc.labels.partly_observed(CHECKED, P, missing="not_at_random", odds_ratio=2, **FAST),
    "JudgedComparison": bc.labels.compare_judged(CHECKED, MODELS, judge=Y, rates=(0.9, 0.8), **FAST),
    "SurvivalEvaluation": bc.survival.evaluate(TIMES, Y, P, horizon=5, **FAST),
    "SurvivalNetBenefit": bc.survival.net_benefit(TIMES, Y, MODELS, [0.2, 0.5], horizon=5, **FAST),
    "SurvivalRecalibration": bc.survival.recalibration(TIMES, Y, P, horizon=5, **FAST),
    "DistributionTests": bc.survival.calibration_tests(P, Y),
    "SurvivalComparison": bc.survival.compare(TIMES, Y, MODELS, horizon=5, **FAST),
    "Plan": bc.planning.labels_needed(COUNTS, width=0.2, simulations=40, draws=100, rng=1),
    "CheckPlan": bc.planning.checks_needed(JUDGED, rows=20),
    "ValidationPlan": bc.planning.validation(prevalence=0.3, auc=0.8, width={"auc": 0.1}, simulations=50, rng=1),
    "LogisticRecalibration": bc.LogisticRecalibration().fit(P, Y),
}
PAIRS = {("a", "b"): bc.PairedCounts.from_arrays(Y, P, Y, P**1.2)}


class Quick:
    """A module whose functions use the fastest model, few draws and few simulations."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        thing = getattr(self.module, name)
        if inspect.ismodule(thing):
            return Quick(thing)
        few = {"draws": 100, "simulations": 99, "model": "dirichlet"} if inspect.isfunction(thing) else {}
        few = {word: each for word, each in few.items() if word in inspect.signature(thing).parameters}

        def quick(*data, **options):
            own = few if "pooling" not in options else {"draws": 100}  # only the default model pools groups
            return thing(*data, **options | own)

        return quick if few else thing


#: What readers have where the messages write these names.
READER = {
    "bayescal": Quick(bc), "scipy": scipy, "y_true": Y, "y_prob": P, "y_prob_target": P, "y_target": Y,
    "weights": 1 + P, "site": SITE, "patient": np.arange(400) // 2, "labels": LABELS, "matrix": MATRIX, "correct": Y,
    "confidence": P, "alpha": 0.05, "matrices": {"a": MATRIX, "b": MATRIX[::-1]}, "models": MODELS, "counts": COUNTS,
    "time": TIMES, "event": Y, "risk": P, "monitor": MONITOR, "result": RESULTS["Evaluation"], "logits": MATRIX,
    "first": "a", "second": "b", "model": "a", "horizon": 5, "label": 1, "summary": RESULTS["ClinicalSummary"],
    "pairs": PAIRS, "answers": bc.read.Answers(Y, P), "others": bc.read.Answers(Y, P**2), "judge": Y,
    "evaluation": JUDGED,
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
    "compare_counts": (PAIRS,),
    "compare_over_datasets": ({str(k): (Y[k:], {n: p[k:] for n, p in MODELS.items()}) for k in range(3)},),
    "survival.compare": (TIMES, Y, MODELS),
    "evaluate": (Y, P),
    "evaluate_counts": (COUNTS,),
    "evaluate_shifted": (Y, P, P),
    "evaluate_shifted_counts": (shift_counts(),),
    "shift.covariate": (Y, P, P),
    "labels.judged": (Y, P),
    "labels.partly_observed": (Y, P),
    "labels.compare_judged": (Y, MODELS),
    "shift.label": (Y, P, P),
    "shift.label_counts": (shift_counts(),),
    "plot": (RESULTS["Evaluation"],),
    "survival.evaluate": (TIMES, Y, P),
    "survival.evaluate_counts": (bc.SurvivalCounts.from_arrays(TIMES, Y, P, times=[5, 10]),),
    "decisions.top_k": (LABELS, MATRIX),
    "planning.labels_needed": (COUNTS,),
    "planning.checks_needed": (JUDGED,),
    "verify.shrinkage_model": (COUNTS,),
    "verify.calibrated_model": (COUNTS,),
}
#: Functions whose options are keywords of another function.
OPTIONS_OF = {
    "compare_over_datasets": bc.compare, "evaluate_shifted_counts": bc.shift.label_counts, "plot": bc.plot_reliability,
    "verify.shrinkage_model": bc.shrinkage_posterior, "verify.calibrated_model": bc.shrinkage_posterior,
}  # fmt: skip
NEEDED = {
    "survival.compare": {"horizon": 5}, "evaluate_shifted": {"shift": "label"}, "survival.evaluate": {"horizon": 5},
    "evaluate_shifted_counts": {"shift": "label"}, "survival.evaluate_counts": {"horizon": 5},
    "shift.covariate": {"weights": 1 + P}, "labels.judged": {"judge": Y},
    "labels.partly_observed": {"missing": "score"}, "labels.compare_judged": {"judge": Y},
    "planning.labels_needed": {"width": 0.1}, "planning.checks_needed": {"rows": 10},
    "planning.validation": {"prevalence": 0.3, "auc": 0.8, "width": {"auc": 0.1}, "simulations": 50},
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


#: Parts of messages that answer.
PLACES = (
    *("`bayescal.", "`result", "`monitor.", "It is deterministic", "The result has no intervals.", "Its keywords are"),
    *("It takes no keywords.", "The options of"),
)


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
            elif not any(part in said for part in PLACES):
                offenders.append((name, word, said))
    assert offenders == []


def test_methods_of_results_answer_too():
    offenders = []
    for name, result in RESULTS.items():
        for method in dir(type(result)):
            member = getattr(type(result), method, None)  # fields that are computed when they are read have none
            if method.startswith("_") or not hasattr(member, "public"):
                continue
            kinds = {p.kind for p in parameters(member).values()}
            if member.__name__ != method or "level" in parameters(member) or inspect.Parameter.VAR_KEYWORD in kinds:
                continue
            said = refusal(getattr(result, method), level=0.9)
            right = "Here it is called" if "prob" in parameters(member) else r"0\.9\)`|0\.95\)`|no intervals|keywords"
            if not said.startswith(f"`{name}.{method}` takes no 'level'.") or not re.search(right, said):
                offenders.append((name, method, said))
    assert offenders == []
    for result in ("Evaluation", "Comparison", "Recalibration"):
        said = refusal(RESULTS[result].to_frame, level=0.9)
        assert said.startswith(f"`{result}.to_frame` takes no 'level'. Here it is called 'prob': ")
        assert said.endswith(f"`{result.casefold()}.to_frame(prob=0.95)`.")


#: Words of the table and names here.
ALL_WORDS = sorted(
    {word for meant in synonyms().rows for word in (*meant.words.split(), *map(_meant._head, meant.here)) if word}
)
#: Words with the same rows of the table, for which the answers are the same.
ALIKE = {}
for each in ALL_WORDS:
    ALIKE.setdefault(tuple(map(id, _meant._by_word().get(_meant.letters(each), ()))), []).append(each)
#: Beginnings of code with names of the reader; other code is an attribute of the result, or an argument.
OF_READER = ("bayescal.", "monitor.", "result.", "result[", "scipy.", "summary.")
#: Functions that messages of another topic name, and why; all topics name quantities of the same rows elsewhere.
IN_OTHER_TOPICS = {
    ("clinical", "bayescal.evaluate"): "rows in clusters, for which the topic has no intervals",
    ("cumulative", "bayescal.evaluate"): "rows in clusters, for which the topic has no intervals",
    ("decisions", "bayescal.evaluate"): "groups, which functions of the topic without thresholds do not have",
    ("clinical", "bayescal.decisions.net_benefit"): "a part of the clinical summary that has more options alone",
    ("planning", "bayescal.BinnedCounts.from_arrays"): "the counts of a pilot",
    ("scores", "bayescal.BinnedCounts.from_arrays"): "the counts that `murphy_decomposition` takes",
    ("shift", "bayescal.evaluate"): "labels of the target, with which there is no shift to consider",
}


#: Public modules that take no rows.
NO_TOPICS = {"estimands", "read", "verify"}


def topic_of(thing):
    """Return the public module to which a function or class belongs; empty for the package and modules without rows."""
    folder = thing.__module__.split(".")[1]
    public = [module for module in MODULES if getattr(getattr(bc, module), thing.__name__, None) is thing]
    return next((each for each in (folder, *public) if each in MODULES and each not in NO_TOPICS), "")


def codes(text):
    return [code for code in re.findall("`([^`]+)`", text) if code.startswith(OF_READER)]


def fault_of_topic(code, topic):
    """Return what is wrong if code names a function of another topic."""
    path = code.partition("(")[0]
    neutral = not code.startswith(("bayescal.", "monitor.")) or "(result)" in code
    if not topic or neutral or (topic, path) in IN_OTHER_TOPICS:
        return ""
    of_code = "monitoring" if path.startswith("monitor.") else topic_of(eval(path, {"bayescal": bc}))
    quantity = topic not in ("shift", "survival") and not re.search(r", \w+=", code)
    return "" if of_code == topic or quantity else f"{code} is no call of {topic}"


RUN = {}


def fault_of_run(code, kind):
    """Return the error of code with the reader's names, where `kind` is the class of ``result``; empty if it runs."""
    kind = kind if "result" in code else ""
    if (code, kind) not in RUN:
        result = RESULTS.get(kind, READER["result"])
        labels = getattr(result, "labels", ())
        pair = (
            {"first": labels[0], "second": labels[1], getattr(result, "axis", ""): labels[0]} if len(labels) > 1 else {}
        )
        pair |= {"monitor": monitored()} if "monitor" in code else {}
        pair |= {"model": "shrinkage", "prior": "default"} if kind == "ModelSensitivity" else {}
        try:
            (drawn if "plot" in code else eval)(code, READER | pair | {"result": result})
            RUN[code, kind] = ""
        except UnavailableError:
            RUN[code, kind] = ""  # the message says what is missing
        except Exception as problem:
            RUN[code, kind] = f"{code} of {kind}: {type(problem).__name__}: {problem}"
    return RUN[code, kind]


def drawn(code, names):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    eval(code, names)
    plt.close("all")


def answer(called, word):
    """Return the message about an unknown keyword; functions that pass on options are not run."""
    if not any(each.kind is each.VAR_KEYWORD for each in parameters(called).values()):
        return refusal(called, **{word: 1})
    problem = UnknownKeywordError()
    problem.word = word
    function = getattr(called, "__func__", called)
    return str(_meant._refused(function.__wrapped__, problem, (getattr(called, "__self__", None),), {word: 1}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_answer_runs_and_belongs_to_the_topic_of_the_function(tmp_path, monkeypatch):
    """For every function, constructor and result, and every word of the table: the code that the message suggests."""
    monkeypatch.setitem(READER, "path", tmp_path / "rows.csv")
    READER["path"].write_text("correct,confidence\n1,0.7\n0,0.6\n", encoding="utf-8")
    offenders = set()
    of_results = {f"{name}.to_html": result.to_html for name, result in RESULTS.items() if hasattr(result, "to_html")}
    of_users = {name: each for name, each in CALLABLES.items() if name not in RESULTS}  # nobody makes a result
    for name, called in (of_users | of_results).items():
        owner = CLASSES.get(name.partition(".")[0])
        topic = topic_of(owner or called)
        made = _meant.made_by(called)
        made = made if made.__module__.startswith("bayescal") or owner is None else owner
        unknown = ([word for word in words if word not in parameters(called)] for words in ALIKE.values())
        for word, *_ in filter(None, unknown):
            said = answer(called, word)
            clauses = re.split("[.;] ", said)
            if not said.startswith(f"`{name}` takes no '{word}'.") or len(clauses) > len(set(clauses)):
                offenders.add((name, word, said))
            for code in codes(said):
                offenders |= {
                    (name, word, fault)
                    for fault in (fault_of_topic(code, topic), fault_of_run(code, made.__name__))
                    if fault
                }
    assert len(RUN) > 200
    assert sorted(offenders) == []


def test_calls_of_topics_cover_all_topics():
    assert set(synonyms().topics) == {"", *MODULES} - NO_TOPICS


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
    for meant in synonyms().rows:
        for code in meant.here:
            function, _, keyword = code.rpartition(":")
            if _meant._head(keyword) not in (taken | attributes if not function else parameters(CALLABLES[function])):
                missing.append((meant.says, code))
        for owner in meant.of.split():
            if owner not in FUNCTIONS and owner.partition(".")[0] not in {
                "bayescal",
                "make_scorer",
                *CLASSES,
                *MODULES,
            }:
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
    ("SubpopulationDifference", "c_emp_bound", "`kuiper_interval` and `band`"),
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


#: Attributes of results of ArviZ, scipy, statsmodels, scikit-learn and pandas.
STATISTICS = (
    "mean",
    "std",
    "sd",
    "se",
    "median",
    "quantile",
    "hdi",
    "ci",
    "conf_int",
    "confidence_interval",
    "samples",
)
OF_OTHERS = (*STATISTICS, "pvalue", "p_value", "p_values", "rhat", "ess", "to_pandas", "to_dataframe", "to_csv", "plot")
#: Results whose `prob` is an argument of the function that makes them.
PLANS = ("CheckPlan", "Plan", "ValidationPlan", "ConfidenceSequence")
#: Results without draws of one quantity.
WITHOUT_DRAWS = (
    *("CalibrationTests", "DistributionTests", "CorpDecomposition", "Evidence", "MurphyDecomposition", "Plan"),
    *(
        "CheckPlan",
        "ValidationPlan",
        "SubpopulationScreen",
        "WeightReport",
        "ConfidenceSequence",
        "LogisticRecalibration",
    ),
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_answer_about_an_attribute_is_right(tmp_path, monkeypatch):
    """For every result and every word of the table: code runs, and attributes exist."""
    offenders = set()
    for which, result in RESULTS.items():
        topic, known = topic_of(type(result)), set(dir(result))
        owners = {each.__name__ for each in type(result).__mro__} | _meant._owners(which, type(result))
        for word in (each for each in ALL_WORDS if each not in known and _meant._rows(each, owners)):
            with pytest.raises(AttributeError) as caught:
                getattr(result, word)
            said = str(caught.value)
            for code in codes(said):
                offenders |= {
                    (which, word, fault) for fault in (fault_of_topic(code, topic), fault_of_run(code, which)) if fault
                }
            for head, code in re.findall(r"(?:is|are) `(\w+)([^`]*)`", said):
                if not f"{head}{code}".startswith(OF_READER) and head not in ("evaluation", "score", "y_prob"):
                    offenders |= {(which, word, said)} if head not in known else set()
    assert sorted(offenders) == []


@pytest.mark.slow
def test_attributes_of_the_parts_lead_to_the_parts():
    """Whatever an evaluation has, a result of several evaluations answers with a path to it that exists."""
    offenders, named = [], set()
    for which, result in RESULTS.items():
        for name in sorted(set(dir(RESULTS["Evaluation"])) - set(dir(result))):
            with pytest.raises(AttributeError) as caught:
                getattr(result, name)
            for path in re.findall(r"as in `result(\[.*?\]\.\w+)", str(caught.value)):
                named.add(which)
                eval(f"result{path}", {"result": result})  # raises if it does not exist
                offenders += [] if path.endswith(f".{name}") else [(which, name, path)]
    assert offenders == []
    assert {"Comparison", "GroupedEvaluation"} <= named


def test_attributes_of_other_programs_have_an_answer():
    """Nothing of what users of other programs try is answered by names of similar spelling, or not at all."""
    offenders = []
    for which, result in RESULTS.items():
        for name in OF_OTHERS:
            if name in dir(result) or (which in WITHOUT_DRAWS and name in STATISTICS) or not hasattr(result, "sheet"):
                continue
            with pytest.raises(AttributeError) as caught:
                getattr(result, name)
            said = str(caught.value).partition("'. ")[2]
            if not said or "Did you mean" in said:
                offenders.append((which, name, said))
    assert offenders == []


def test_results_without_intervals_say_so():
    """A result whose methods take no probability, except for the two of every result, has no intervals."""
    offenders = []
    for name, kind in CLASSES.items():
        if not hasattr(kind, "sheet") or name == "CalibrationMonitor":
            continue
        members = inspect.getmembers(kind, inspect.isfunction)
        methods = [member for key, member in members if key not in ("to_frame", "metrics") and not key.startswith("_")]
        has = any("prob" in parameters(each) for each in methods) or name in PLANS
        said = refusal(RESULTS[name].to_html, level=0.9)
        if ("The result has no intervals." in said) == has or (has and "0.9)`" not in said):
            offenders.append((name, said))
    assert offenders == []
    for call in (RESULTS["Evidence"].table, RESULTS["WeightReport"].table):
        assert refusal(call, prob=0.9).endswith("takes no 'prob'. The result has no intervals.")


def test_functions_without_random_numbers_say_that_they_are_deterministic():
    offenders = []
    for name, called in CALLABLES.items():
        options = any(each.kind is each.VAR_KEYWORD for each in parameters(called).values())
        for word in (
            () if options and name not in ("plot", "CalibrationDisplay.from_predictions") else ("seed", "random_state")
        ):
            random = "rng" in parameters(called)
            said = answer(called, word)
            if ("It is deterministic: the same arguments give the same result." in said) == random:
                offenders.append((name, word, said))
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
        lambda: bc.SurvivalCounts.from_arrays(TIMES, Y, P, times=[5], seed=1): "It is deterministic",
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
        lambda: bc.decisions.net_benefit(Y, P, prior=1): "Here it is called 'pseudo_rows'",
        lambda: bc.cumulative.difference(Y, P, bins=10): "`cumulative.difference` takes no 'bins'. There are no bins "
        "to choose; counts are evaluated by `bayescal.cumulative.difference.from_counts(counts)`.",
        lambda: MONITOR.evidence(threshold=20): "An alarm is raised where the evidence is at least 1 / `level`: "
        "`monitor.evidence(level=0.05)`.",
        lambda: bc.compare(Y, MODELS, metric="auc"): "Methods of the result take it: "
        "`bayescal.compare(y_true, models).table(estimand='auc')`.",
        lambda: bc.survival.net_benefit(
            TIMES, Y, P, horizon=5, cluster=Y
        ): "`survival.net_benefit` takes no 'cluster'. "
        "Intervals are those of independent rows; rows in clusters are evaluated by "
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
        lambda: bc.decisions.net_benefit(y_prob=P, target="event"): "It is about one event, for two classes with",
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
        "decision_curve": "`bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2])`.",
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
        lambda: bc.planning.labels_needed(): "`planning.labels_needed(evaluate(y_true, y_prob).counts, width=0.02)`",
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
        bc.planning.labels_needed(COUNTS, width=0.1, power=0.8)
    with pytest.raises(TypeError, match=r"Labels and probabilities are evaluated by"):
        bc.scores.compare(Y, {"a": P}, y_score=P)
    with pytest.raises(TypeError, match=r"The seed is `monitor\.evaluate\(rng=1\)`"):
        bc.monitoring.CalibrationMonitor(window=1).add([1, 0], [0.5, 0.2], time=[0, 1]).evaluate(seed=1)
    with pytest.raises(TypeError, match=r"The number of draws is `monitor\.evaluate\(draws=4000\)`\.$"):
        bc.monitoring.CalibrationMonitor(window=1).add([1, 0], [0.5, 0.2], time=[0, 1]).evaluate(n_draws=10)
    with pytest.raises(AttributeError, match="has no attribute 'calibration_curve'") as caught:
        bc.survival.calibration_curve  # noqa: B018
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


# --- columns of several classifiers, and of two classes

#: Arguments that functions of one classifier need besides its probabilities.
NEEDS = {
    "y_true": Y, "time": TIMES, "event": Y, "response": Y, "by": SITE, "member": P > 0.5, "y_prob_target": P,
    "weights": 1 + P, "y_true_validation": Y, "y_prob_validation": P, "horizon": 5, "times": [5], "shift": "label",
    "missing": "score",
}  # fmt: skip
TAKE_SEVERAL = {
    "survival.net_benefit",
    "compare",
    "scores.compare",
    "survival.compare",
    "decisions.net_benefit",
    "decisions.selective",
    "clinical.summary",
}
TWO_COLUMNS = np.column_stack([1 - P, P])


def of_one_classifier():
    """Name -> (function, argument of the probabilities, the other arguments that it needs)."""
    for name, called in CALLABLES.items():
        argument = next((each for each in ("y_prob", "risk", "score") if each in parameters(called)), None)
        all_needed = {each for each, p in parameters(called).items() if p.default is p.empty} - {argument}
        if argument and not inspect.isclass(called) and all_needed <= {*NEEDS}:
            yield name, (called, argument, {each: NEEDS[each] for each in all_needed})


def refused(called, **given):
    """Return the message of an error; empty if there is none."""
    try:
        called(**given)
    except (TypeError, ValueError) as problem:
        return str(problem)
    return ""


def test_a_mapping_of_classifiers_leads_to_the_comparison_of_the_topic():
    """No array is printed, and the function that is named takes the mapping."""
    arrays = {"a": P, "b": np.array([0.123456])}
    compared = {"": "compare(y_true, y_prob)", "survival": "survival.compare(time, event, risk, horizon=5)"}
    compared |= {f"scores.multiclass_{score}": "scores.compare(y_true, y_prob)" for score in ("brier", "log")}
    offenders = []
    for name, (called, argument, needed) in of_one_classifier():
        said = refused(called, **needed, **{argument: arrays})
        topic = topic_of(CLASSES.get(name.partition(".")[0]) or called)
        call = compared.get(name, compared.get(topic, ""))
        end = f"as `{argument}['a']`{f', or compare them by `{call}`' if call else ''}."
        if name not in TAKE_SEVERAL and (not said.endswith(end) or "array(" in said or "0.1234" in said):
            offenders.append((name, said))
    assert offenders == []
    bc_names = {"compare": bc.compare, "survival": bc.survival, "scores": bc.scores, "time": TIMES, "event": Y}
    for call in set(compared.values()):
        of_classes = call.startswith("scores")
        y_prob = READER["matrices"] if of_classes else MODELS
        eval(call, bc_names | {"y_true": LABELS if of_classes else Y, "y_prob": y_prob, "risk": MODELS})
    assert refused(bc.evaluate, y_true=Y, y_prob=P, weights=arrays).endswith("not a dict with the keys ['a', 'b'].")


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_of_classifiers_leads_to_their_comparison(library):
    frame = library.DataFrame(MODELS)
    call = "compare(y_true, {name: y_prob[name] for name in y_prob.columns})"
    for called in (bc.evaluate, bc.plug_in_ece, bc.scores.multiclass_brier, bc.CalibrationDisplay.from_predictions):
        said = refused(called, y_true=Y, y_prob=frame)
        assert said.endswith(
            f"several classifiers? Pass one classifier at a time, as `y_prob['a']`, or compare them by `{call}`."
        )
    assert refused(bc.clinical.calibration_tests, y_true=Y, y_prob=frame).endswith("at a time, as `y_prob['a']`.")
    assert list(eval(call, {"compare": bc.compare, "y_true": Y, "y_prob": frame})) == ["a", "b"]
    assert "of several classifiers, one column at a time" in refused(
        bc.evaluate, y_true=Y, y_prob=frame, target="event"
    )


def test_probabilities_of_two_classes_lead_to_those_of_the_event():
    """A function takes the matrix, or says which column it needs; under `target="event"` none takes it."""
    offenders = []
    for name, (called, argument, needed) in of_one_classifier():
        if name in TAKE_SEVERAL - {"decisions.net_benefit", "clinical.summary"}:
            continue
        needed = {word: TWO_COLUMNS if word == "y_prob_target" else value for word, value in needed.items()}
        said = refused(called, **needed, **{argument: TWO_COLUMNS})
        if said and f"`{argument}[:, 1]`" not in said:
            offenders.append((name, said))
        if "target" in parameters(called):
            said = refused(called, **needed, **{argument: TWO_COLUMNS}, target="event")
            if f"`{argument}[:, 1]`" not in said:
                offenders.append((name, "event", said))
    assert offenders == []


def test_words_about_the_model_lead_to_evaluations_and_trees():
    """Each word leads to the call that has the thing, not to an option of the prior."""
    ev, of = RESULTS["Evaluation"], "bayescal.evaluate(y_true, y_prob)"
    for word, code in {
        "prior": f"{of}.under_prior()",
        "under_prior": f"{of}.under_prior()",
        "loo": f"{of}.loo()",
        "waic": f"{of}.loo()",
        "sensitivity": f"{of}.sensitivity()",
        "prior_predictive": f"{of}.to_datatree(prior=True, predictive=True)",
        "plot_model_sensitivity": f"bayescal.plot({of}.sensitivity())",
        "sample": f"bayescal.pymc_model({of})",
    }.items():
        with pytest.raises(AttributeError, match=re.escape(f"`{code}`.")):
            getattr(bc, word)
    for word, code in {
        "prior": "`under_prior()` or `to_datatree(prior=True)`",
        "dirichlet_model": "is written by `to_pymc()`",
        "log_likelihood": "`to_datatree(prior=True, predictive=True)`",
        "sample": "`to_pymc()`",
    }.items():
        with pytest.raises(AttributeError, match=re.escape(code)):
            getattr(ev, word)
    assert "plot_posterior(result, prior=True)`" in refusal(bc.plot, ev, prior=True)
    assert "{'alpha': 'jeffreys'}" in refusal(ev.sensitivity, alpha="jeffreys")
    assert "Here it is called 'predictive'" in refusal(ev.to_datatree, log_likelihood=True)
    assert f"{of}.to_datatree(prior=True" in refusal(RESULTS["Comparison"].to_datatree, prior=True)
    assert refusal(bc.plot, RESULTS["ModelSensitivity"], reference_color="red").startswith("`plot` takes no")
    with pytest.raises(TypeError, match=r"not ModelSensitivity\. `bayescal.plot\(result\)` draws"):
        bc.plot_forest(RESULTS["ModelSensitivity"])
