"""Attributes that other programs have -> what to write here, for the messages of missing attributes."""

from collections.abc import Mapping
from typing import NoReturn

from bayescal import _checks
from bayescal.estimands.estimand import letters

_LARGE = " The calibration in the large is `in_the_large`."
_ICI = " The integrated calibration index is `ici`."
_CURVE = "`bayescal.calibration_curve(y_true, y_prob)`"
_RECALIBRATION = "`bayescal.recalibration(y_true, y_prob)`"
_EVALUATION = "`bayescal.evaluate(y_true, y_prob)`"
_DISCRIMINATION = dict.fromkeys(
    ("auc", "roc", "rocauc", "cstatistic", "cindex", "dxy"), f" The AUC (C statistic) is `auc` of {_EVALUATION}."
)
_SCORES = dict.fromkeys(
    ("brier", "brierscore", "logscore", "logloss"), f" The Brier score and the log score belong to {_EVALUATION}."
)
_OF_CURVES = dict.fromkeys(
    ("ici", "eavg", "e50", "e90", "emax", "eci", "integratedcalibrationindex"),
    f" ICI, E50, E90 and Emax belong to {_CURVE}.",
)
_OF_LINES = dict.fromkeys(
    ("slope", "intercept", "citl", "inthelarge", "calibrationinthelarge", "calibrationslope", "calibrationintercept"),
    f" Intercept, slope and calibration in the large belong to {_RECALIBRATION}.",
)

#: For `Recalibration`: names of rms (val.prob), CalibrationCurves, glm, scikit-learn and statsmodels.
RECALIBRATION = {
    **dict.fromkeys(("citl", "calibrationinthelarge", "large", "meancalibration", "calibrationatlarge"), _LARGE),
    **dict.fromkeys(("a", "alpha", "calibrationintercept", "intercept"), " The intercept is `intercept`."),
    **dict.fromkeys(("b", "beta", "calibrationslope", "slope"), " The slope is `slope`."),
    **dict.fromkeys(("coef", "coefs", "coefficients", "params"), " Coefficients are `intercept` and `slope`."),
    **dict.fromkeys(
        ("predict", "predictproba", "transform", "recalibrate", "fitted"),
        " Probabilities are recalibrated by `recalibrated(y_prob)`; a transformer is `bayescal.LogisticRecalibration`.",
    ),
    **dict.fromkeys(
        ("confint", "confidenceinterval", "ci", "interval"),
        " Intervals are `exact_interval(name)`, or `slope.interval()`.",
    ),
    **dict.fromkeys(
        ("pvalue", "p", "unreliability", "up", "sp", "sz"),
        " The evidence for calibration is `bayes_factor`; P-values belong to `bayescal.calibration_tests`.",
    ),
    **dict.fromkeys(
        ("oe", "oeratio", "eo", "eoratio", "observedexpected", "observedexpectedratio"),
        " The ratio of observed to expected events is `observed_expected`.",
    ),
    "plot": " The recalibration line is drawn by `bayescal.plot_recalibration(result)`.",
    **_OF_CURVES,
    **_DISCRIMINATION,
    **_SCORES,
}
#: For `NetBenefit`: names of dcurves, rmda and bayesDCA.
NET_BENEFIT = {
    **dict.fromkeys(
        ("standardised", "standardisednetbenefit", "standardizednetbenefit", "snb", "standardnetbenefit"),
        " The standardized net benefit is `standardized[model]`.",
    ),
    **dict.fromkeys(("nb", "netbenefits"), " The net benefit is `net_benefit[model]`."),
    **dict.fromkeys(
        ("interventionsavoided", "netinterventionsavoided", "netinterventionavoided", "netreduction", "testsavoided"),
        " Treatments avoided are `avoided[model]`.",
    ),
    **dict.fromkeys(("all", "treatall", "nball"), " The net benefit of treating all is `treat_all`."),
    **dict.fromkeys(("none", "treatnone", "nbnone"), " The net benefit of treating none is 0 at every threshold."),
    **dict.fromkeys(("delta", "diff", "differences"), " Differences are `difference(first, second)`."),
    **dict.fromkeys(("puseful", "useful", "probuseful"), " The probability that a model is useful is `p_useful`."),
    **dict.fromkeys(("best", "pbest", "probbest", "beststrategy"), " The probability of being best is `p_best`."),
    **dict.fromkeys(("threshold", "pt", "thresholdprobability"), " Thresholds are `thresholds`."),
    **dict.fromkeys(("harms", "testharm"), " The harm of each model is `harm`."),
    **dict.fromkeys(("voi", "evpi"), " The expected value of perfect information is `evpi`."),
    **dict.fromkeys(
        ("tpr", "fpr", "sensitivity", "specificity", "tpos", "fpos", "tprate", "fprate"),
        " Shares of true and false positives are no part of the result; `posterior.sample()` draws the probability of "
        "each outcome and score cell.",
    ),
    "plot": " Decision curves are drawn by `bayescal.plot_decision_curve(result)`.",
    **_DISCRIMINATION,
    **_SCORES,
}


def _of_part(words: str, path: str) -> str:
    return f" {words} `{path}`, with several models `summary[name].{path}`; `to_frame()` has all numbers."


#: For `ClinicalSummary`, and for the results of one of its models.
CLINICAL = {
    **dict.fromkeys(("auc", "roc", "rocauc", "cstatistic", "cindex"), _of_part("The AUC is", "evaluation.auc")),
    **dict.fromkeys(("brier", "brierscore"), _of_part("The Brier score is", "evaluation.brier_score")),
    "ece": _of_part("The ECE is", "evaluation.ece"),
    **dict.fromkeys(("slope", "calibrationslope"), _of_part("The slope is", "recalibration.slope")),
    **dict.fromkeys(("intercept", "calibrationintercept"), _of_part("The intercept is", "recalibration.intercept")),
    **dict.fromkeys(
        ("citl", "inthelarge", "calibrationinthelarge"),
        _of_part("The calibration in the large is", "recalibration.in_the_large"),
    ),
    **dict.fromkeys(("oe", "oeratio", "eo", "observedexpected"), _of_part("O/E is", "recalibration.observed_expected")),
    **dict.fromkeys(
        ("ici", "e50", "e90", "emax", "eavg"), _of_part("ICI, E50, E90 and Emax belong to", "calibration_curve")
    ),
    **dict.fromkeys(
        ("netbenefit", "nb", "decisioncurve"), " Net benefit belongs to all models: `summary.net_benefit`."
    ),
    **dict.fromkeys(("thresholds", "threshold"), " Thresholds are `net_benefit.thresholds`."),
    **dict.fromkeys(("puseful", "useful"), " The probability that a model is useful is `net_benefit.p_useful`."),
    **dict.fromkeys(("treatall",), " The net benefit of treating all is `net_benefit.treat_all`."),
    **dict.fromkeys(("prevalence", "events"), " The share of events is `event_rate`, their number `n_events`."),
    **dict.fromkeys(
        ("difference", "delta", "compare"),
        " Differences of net benefit are `net_benefit.difference(first, second)`, those of AUC, Brier score and ECE "
        "`bayescal.compare(y_true, {name: y_prob})`.",
    ),
    **dict.fromkeys(
        ("plot", "figure", "picture"),
        " Curves are drawn by `bayescal.plot_decision_curve(summary)` and "
        "`bayescal.plot_calibration_curve(summary.calibration_curve)`.",
    ),
}
#: For `LossRatio`.
LOSS_RATIO = {
    **dict.fromkeys(("lossratio", "ratios"), " The ratio at each threshold is `ratio`, and their mean `mean_ratio`."),
    **dict.fromkeys(("lossbefore", "beforeloss"), " The loss before recalibration is `before`."),
    **dict.fromkeys(("lossafter", "afterloss"), " The loss after recalibration is `after`."),
    "plot": " Ratios are drawn by `bayescal.plot_loss_ratio(result)`.",
}
#: For `CalibrationCurve`: names of rms (val.prob), CalibrationCurves, scikit-learn and probcal.
CALIBRATION_CURVE = {
    **dict.fromkeys(("eavg", "ici", "integratedcalibrationindex", "ece", "meanerror"), _ICI),
    **dict.fromkeys(("medianerror", "emedian", "e05"), " The median of the error is `e50`."),
    **dict.fromkeys(
        ("maxerror", "mce", "maximumerror"),
        " `e90` is the largest error that 10 % of the population have, `emax` that of any row.",
    ),
    "eci": " ECI is a mean of squared differences, which this result does not have. Their mean absolute value is "
    "`ici`.",
    **dict.fromkeys(
        ("probtrue", "probpred", "x", "y", "predictedprobability", "observed", "fitted"),
        " The curve is `curve` at the scores `score`; see also `band()`.",
    ),
    **dict.fromkeys(("predict", "evaluate"), " The event rate at one score is `at(score)`."),
    "plot": " The curve is drawn by `bayescal.plot_calibration_curve(result)`.",
    **_OF_LINES,
    **_DISCRIMINATION,
    **_SCORES,
}
#: For `CalibrationTests`: names of rms (val.prob) and ResourceSelection.
CALIBRATION_TESTS = {
    **dict.fromkeys(("sz", "spiegelhalter", "spiegelhalterz", "zvalue"), " Spiegelhalter's Z is `z`."),
    **dict.fromkeys(("sp", "pspiegelhalterz"), " The P-value of Spiegelhalter's Z is `p_spiegelhalter`."),
    **dict.fromkeys(
        ("hl", "chisq", "chisquared", "chi2", "xsquared", "statistic"),
        " The Hosmer-Lemeshow statistic is `hosmer_lemeshow.chi_squared`.",
    ),
    **dict.fromkeys(("df", "parameter", "dof"), " Degrees of freedom are `hosmer_lemeshow.df`."),
    **dict.fromkeys(("pvalue", "p"), " There are two P-values, `p_spiegelhalter` and `p_hosmer_lemeshow`."),
    **_OF_CURVES,
    **_OF_LINES,
}


def no_attribute(result: object, name: str, meant: Mapping[str, str]) -> NoReturn:
    """Raise an `AttributeError` that names the attribute that may be meant.

    Parameters
    ----------
    result : object
        The result.
    name : str
        The attribute that it does not have.
    meant : mapping of str to str
        Other names, in any spelling, and what to write instead: a sentence after a space.
    """
    if hasattr(type(result), name):  # a property that raised AttributeError itself
        object.__getattribute__(result, name)
    hint = ""
    if not name.startswith("_"):
        public = [each for each in dir(result) if not each.startswith("_")]
        called = {letters(word): words for word, words in meant.items()}
        hint = called.get(letters(name)) or _checks.did_you_mean(name, public)
    raise AttributeError(f"{type(result).__name__!r} has no attribute {name!r}.{hint}")
