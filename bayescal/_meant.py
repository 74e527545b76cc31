"""The table of names that users may write for something else, and the messages about unknown keywords and attributes.

`public` marks the public functions and classes. Unknown keywords and attributes are looked up only after Python has
refused them, so that a correct call costs no more than one call of a function.
"""

import functools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from types import FunctionType, UnionType
from typing import Any, NamedTuple, NoReturn

from bayescal import _checks, _lazy
from bayescal._invalid import quoted


class Meant(NamedTuple):
    """Words for one thing, and where it is in this package.

    `here` are keywords or attributes, as they are written; the first one that exists is the answer.
    ``function:keyword`` is a keyword of one function only, ``keyword=value`` no attribute. Otherwise the answer is the
    code `elsewhere`, with names of the reader: `y_true`, `result`, ... In a topic that has its own call (`CALLS`), it
    takes the place of the code. A row without a place is a whole sentence.
    """

    words: str  # other names, separated by spaces, in small letters and without underscores
    says: str  # the beginning of the answer
    here: tuple[str, ...] = ()
    elsewhere: str = ""
    of: str = ""  # functions, results or topics for which the words have this meaning; all by default


_EVALUATE = "bayescal.evaluate(y_true, y_prob"
_COUNTS = "bayescal.BinnedCounts.from_arrays(y_true, y_prob"
_LABELS = "ytest truth outcome outcomes response actual actuals obs labels label y data ysource targets"
_PROBABILITIES = (
    "yproba ypred yscore yhat probs probas proba probability probabilities prob prediction predictions preds pred "
    "predicted score scores confidence confidences forecast p pr modelnames psource yprobsource"
)
#: Words for columns of rows, without `prob`, which is also the probability of an interval.
_COLUMNS = f"ytrue yprob {_LABELS} {_PROBABILITIES}".replace(" prob ", " ")
_RECALIBRATION = "bayescal.clinical.recalibration(y_true, y_prob)"
_CURVE = "bayescal.clinical.calibration_curve(y_true, y_prob)"
_CUMULATIVE = "bayescal.cumulative.difference(y_true, y_prob)"
_COMPARE, _PLAN = "bayescal.compare(y_true, models", "bayescal.labels_needed(counts, width=0.1"
_SHIFTED = "(y_true, y_prob, y_prob_target"
#: Calls of each topic, in the names of the reader. Where the table names `evaluate`, `compare`, `labels_needed` or
#: counts, messages of a topic name its first call that takes the keyword, or whose result has the attribute.
TOPIC_CALLS = {
    "": (_EVALUATE, _COMPARE, "bayescal.evaluate_counts(counts", "bayescal.compare_counts(pairs",
         "bayescal.bin_sensitivity(y_true, y_prob"),
    "clinical": (_RECALIBRATION[:-1], _CURVE[:-1], "bayescal.clinical.summary(y_true, y_prob, [0.1, 0.2]",
                 "bayescal.clinical.LogitCounts.from_arrays(y_true, y_prob"),
    "cumulative": (_CUMULATIVE[:-1], "bayescal.cumulative.screen(y_true, y_prob, by=site", f"{_CUMULATIVE}.posterior("),
    "decisions": ("bayescal.net_benefit(y_true, y_prob, [0.1, 0.2]",
                  "bayescal.decisions.ThresholdCounts.from_arrays(y_true, y_prob, thresholds=[0.1, 0.2]"),
    "monitoring": ("monitor.evaluate(", "monitor.change((0, 4)", "monitor.evidence(", "monitor.confidence_sequence(",
                   "bayescal.CalibrationMonitor(window=4", "monitor.add(y_true, y_prob, time=12"),
    "planning": (_PLAN, _COUNTS),  # of a pilot
    "scores": ("bayescal.scores.log_decomposition(y_true, y_prob", "bayescal.scores.compare(labels, matrices",
               "bayescal.scores.brier_decomposition(y_true, y_prob, method='murphy'", _COUNTS),
    "shift": (f"bayescal.shift.label{_SHIFTED}", f"bayescal.shift.evidence{_SHIFTED}",
              f"bayescal.shift.covariate{_SHIFTED}, weights=weights"),
    "survival": ("bayescal.survival.evaluate(time, event, risk, horizon=5",
                 "bayescal.survival.compare(time, event, models, horizon=5",
                 "bayescal.survival.SurvivalCounts.from_arrays(time, event, risk, times=[5]"),
}  # fmt: skip
#: Topics with rows for which other functions give wrong numbers: a target without labels, and right-censored rows.
_OTHER_ROWS = ("shift", "survival")
#: What functions take as options of a model.
_OPTIONS = {"model", "alpha", "draws", "rng"}
#: Draws of the main quantity of results, and statistics of draws with their names elsewhere.
_DRAWS = {
    "Evaluation": "result.ece", "ClasswiseEvaluation": "result.ece", "GroupedEvaluation": "result.overall.ece",
    "Comparison Change ScoreComparison SurvivalComparison": "result.difference(first, second)",
    "ComparisonOverDatasets": "result.difference(first, second)", "BinSensitivity": "result.average",
    "Recalibration": "result.slope", "GroupedRecalibration": "result.overall.slope", "CalibrationCurve": "result.ici",
    "ClinicalSummary": "result.evaluation.ece", "NetBenefit": "result.net_benefit[model]",
    "GroupedNetBenefit": "result.overall.net_benefit[model]", "LossRatio": "result.mean_ratio",
    "CumulativePosterior": "result.kuiper", "CumulativeDifference": "result.posterior().kuiper",
    "ClassPriors": "result.draws", "ShiftEvidence": "result.total_variation", "LabelShiftClasses": "result[label].ece",
    "SurvivalHorizons": "result[horizon].ece", "CalibrationMonitor": "monitor.evaluate().ece",
}  # fmt: skip
_STATISTICS = {
    "mean average avg expectation estimate": "mean()", "std sd stdev se stderr bse standarddeviation": "sd()",
    "median": "median()", "quantile quantiles percentile ppf": "quantile([0.05, 0.95])", "hdi hpd": "hdi(0.95)",
    "ci eti interval intervals confint confidenceinterval credibleinterval lower upper low high": "interval(0.95)",
    "samples draws values trace chain array": "values",
}  # fmt: skip
_NO_PICTURE = (
    "CalibrationMonitor CalibrationTests ClassPriors CorpDecomposition GroupedNetBenefit GroupedRecalibration "
    "ModelParts MurphyDecomposition Plan ShiftEvidence WeightReport"
)
_SEEDS = "randomstate seed randomseed key generator"
_PROBS = "prob level conflevel confidencelevel ciprob ci hdiprob interval credible"

# fmt: off
TABLE = (
    # --- columns
    Meant(_LABELS, "Labels are", ("y_true", "outcome", "response", "event", "y", "count_file:label",
          "shift.count_files:label", "ClasswiseCounts.from_frame:label")),
    Meant(_PROBABILITIES, "Probabilities are", ("y_prob", "confidence", "risk", "y_prob_target",
          "cumulative.subpopulation:score", "cumulative.screen:score", "count_file:prob", "shift.count_files:prob")),
    Meant(_COLUMNS, "Labels and probabilities are evaluated by", (), f"{_EVALUATE})"),
    Meant(f"ytrue {_LABELS}", "Rows are added by", ("y_true",), "monitor.add(y_true, y_prob, time=12)",
          of="monitoring"),
    Meant(_COLUMNS, "Rows are added by", ("y_prob",), "monitor.add(y_true, y_prob, time=12)",
          of="monitoring"),
    Meant(_COLUMNS, "Labels and probabilities of a pilot become counts by", (),
          f"{_COUNTS})", of="planning"),
    Meant("correct correctness iscorrect hits", "Whether predictions are right is counted by", (),
          "bayescal.count_file(path, label='correct', prob='confidence', target='confidence')", of="count_file"),
    Meant("correct correctness iscorrect hits", "Whether predictions are right is evaluated by", (),
          "bayescal.evaluate(correct, confidence, target='confidence')"),
    Meant("yprobtarget ptarget targetprob ytargetprob probtarget", "Predictions for a target without labels are",
          ("y_prob_target",), "bayescal.shift.class_priors(y_true, y_prob, y_prob_target)"),
    Meant("ytarget ytruetarget labelstarget targetlabels",
          "Labels of the target are not used. If they are known, the evaluation needs no shift:",
          (), "bayescal.evaluate(y_target, y_prob_target)", of="shift"),
    Meant("sampleweight sampleweights weight weights w importanceweights", "Under covariate shift, ratios of "
          "densities are", ("weights",), f"bayescal.shift.covariate{_SHIFTED}, weights=weights)", of="shift"),
    Meant("sampleweight sampleweights weight weights w importanceweights", "The statistics are defined for rows of "
          "equal weight; weighted rows are evaluated by", (), f"{_EVALUATE}, weights=weights)",
          of="clinical.calibration_tests"),
    Meant("sampleweight sampleweights weight weights w importanceweights", "Weights belong to rows:", ("weights",),
          f"{_EVALUATE}, weights=weights)` or `{_COUNTS}, weights=weights)"),
    Meant("sensitivefeatures groups group groupby by", "Groups are compared with the population by", ("member",),
          "bayescal.cumulative.screen(y_true, y_prob, by=site)",
          of="cumulative.difference cumulative.subpopulation"),
    Meant("sensitivefeatures groups group groupby by subgroup subgroups protected strata mask",
          "Groups of rows are evaluated by", ("by", "member"), f"{_EVALUATE}, by=site)"),
    Meant("cluster clusters clusterid subject subjects", "Intervals are those of independent rows.",
          of="clinical cumulative monitoring planning scores shift"),
    Meant("cluster clusters clusterid subject subjects",
          "Intervals are those of independent rows; rows in clusters are evaluated by", (),
          f"{_EVALUATE}, cluster=patient)", of="clinical cumulative"),
    Meant("cluster clusters clusterid subject subjects",
          "Intervals are those of independent rows; rows in clusters are evaluated by", ("cluster",),
          f"{_EVALUATE}, cluster=patient)"),
    Meant("pooling pooled partialpooling", "Groups are pooled by", ("pooling",),
          f"{_EVALUATE}, by=site, pooling='partial')"),
    Meant("poslabel positivelabel positiveclass classes", "The kind of event is chosen by its number:", ("cause",),
          "bayescal.survival.evaluate(time, event, risk, horizon=5, cause=1)", of="survival"),
    Meant("poslabel positivelabel positiveclass", "The positive label is the second of two classes:",
          ("pos_label", "classes=[negative, positive]"), f"{_EVALUATE}, classes=[0, 1])"),
    Meant("classes labels classnames labelnames", "Labels of classes are", ("classes",),
          f"{_EVALUATE}, classes=[0, 1])"),
    Meant("logits fromlogits logit", "Logits must become probabilities:", ("logits",),
          "scipy.special.expit(logits)` or, for a matrix, `scipy.special.softmax(logits, axis=1)"),
    Meant("target task multiclass average", "It is about one event, for two classes with the probabilities "
          "`y_prob[:, 1]`.", of="clinical.recalibration clinical.summary cumulative decisions"),
    Meant("target task multiclass average", "It follows from `y_prob`: a column is about an event, a matrix about all "
          "classes.", of="shift"),
    Meant("target task multiclass average", "The outcome is chosen by", ("target",), f"{_EVALUATE}, target='event')"),
    Meant("time times timestamp", "Windows of time are made by", ("time",), "bayescal.CalibrationMonitor(window='1d')",
          of="CalibrationMonitor CalibrationMonitor.add CalibrationMonitor.add_counts"),
    # --- bins
    Meant("bins nbins numbins binning strategy", "There are no bins to choose; counts are evaluated by",
          (), "bayescal.cumulative.difference.from_counts(counts)", of="cumulative.difference"),
    Meant("bins nbins numbins", "Several numbers of bins are", ("n_bins=(10, 20)",), of="bin_sensitivity"),
    Meant("bins nbins numbins nbin bincount binedges edges", "Bins are chosen when rows are counted:",
          ("clinical.calibration_tests:groups", "bins", "n_bins"), f"{_EVALUATE}, bins=10)` or `{_COUNTS}, bins=10)"),
    Meant("ngroups g", "Groups of probabilities are", ("clinical.calibration_tests:groups",)),
    Meant("strategy binning binstrategy adaptive binningscheme", "How bins are chosen is",
          ("binning", "strategy"), f"{_EVALUATE}, bins=10, binning='quantile')"),
    Meant("closed", "The side on which bins are closed belongs to the bins:", (),
          f"{_EVALUATE}, bins=bayescal.make_bins(15, closed='right'))"),
    # --- what is drawn, and how often
    Meant(_SEEDS, "The seed is", (), "monitor.evaluate(rng=1)", of="CalibrationMonitor.evaluate"),
    Meant(_SEEDS, "The seed is", ("rng",), f"{_EVALUATE}, rng=1)"),
    Meant("ndraws nsamples numsamples samples niter nboot bootstrap", "The number of draws is", (),
          "monitor.evaluate(draws=4000)", of="CalibrationMonitor.evaluate"),
    Meant("ndraws nsamples numsamples samples niter nboot bootstrap", "The number of draws is",
          ("draws", "simulations"), f"{_EVALUATE}, draws=4000)"),
    Meant("nsimulations nsim", "The number of simulated data sets is", ("simulations", "draws"),
          f"{_PLAN}, simulations=400)"),
    Meant("chains tune cores njobs ncores", "There are no chains: draws are independent, and their number is",
          (), f"{_EVALUATE}, draws=4000)"),
    Meant("prior alpha", "The prior of the Dirichlet model is", ("alpha",),
          f"{_EVALUATE}, model='dirichlet', alpha='jeffreys')",
          of="evaluate evaluate_counts evaluate_shifted evaluate_shifted_counts shift.label shift.label_counts "
          "shift.covariate survival.evaluate survival.evaluate_counts survival.compare compare compare_counts "
          "dirichlet_posterior bin_sensitivity labels_needed"),
    Meant("prior priors priorrows", "The prior has the weight of a number of rows:", ("pseudo_rows",),
          of="net_benefit decisions.net_benefit_counts"),
    Meant("prior priors priorsd", "Priors are chosen by", ("prior", "prior_exact"),
          f"{_EVALUATE}, model='dirichlet', alpha='jeffreys')` or "
          "`bayescal.clinical.recalibration(y_true, y_prob, prior=(2.5, 1.0))"),
    Meant("threshold", "An alarm is raised where the evidence is at least 1 / `level`:", (),
          "monitor.evidence(level=0.05)", of="CalibrationMonitor.evidence"),
    Meant("alpha level significance", "The probability of a false alarm is", ("level", "fdr"),
          of="CalibrationMonitor.evidence cumulative.screen"),
    Meant("level alpha significance", "The probability of an interval is given to the result:", (),
          "result.table(prob=0.9)", of="count_file shift.count_files"),
    Meant("alpha significance", "Intervals have the probability 1 - alpha:", ("prob=1 - alpha",),
          "result.table(prob=1 - alpha)"),
    Meant("limit", "A limit belongs to the result:", (), "monitor.confidence_sequence().above(0.02)",
          of="CalibrationMonitor.confidence_sequence"),
    Meant("baseline reference", "The earlier windows are", ("reference", "baseline"), "monitor.change(baseline=(0, 4))",
          of="CalibrationMonitor.evidence CalibrationMonitor.change"),
    Meant(f"{_PROBS} alpha significance", "The result has no intervals.", of="CalibrationTests CorpDecomposition "
          "Evidence MurphyDecomposition SubpopulationScreen WeightReport"),
    Meant(_PROBS, "The probability that all intervals hold is", ("prob=0.95",),
          "monitor.confidence_sequence(prob=0.9)", of="ConfidenceSequence CalibrationMonitor.confidence_sequence"),
    Meant(_PROBS, "The probability that intervals are as narrow as planned for is", ("prob=0.95",),
          f"{_PLAN}, prob=0.9)", of="Plan"),
    Meant(_PROBS, "The probability of an interval is given to the result:", ("prob=0.95",), "result.ece.interval(0.9)` "
          "or `result.interval(prob=0.9)` or `result.table(prob=0.9)` or `result.band(prob=0.9)"),
    # --- quantities
    Meant("power assurance", "The probability that the goal is met is", ("assurance",),
          f"{_PLAN}, assurance=0.8)"),
    Meant("norm ord order", "The norm is chosen by its order, which is 1 for the ECE:",
          ("plug_in_error:order", "estimands.lp_error:p"),
          f"{_EVALUATE}).lp_error(2)` or `bayescal.plug_in_error(y_true, y_prob, order=2)"),
    Meant("debias debiased", "The plug-in value without its bias is", ("debiased",),
          "bayescal.plug_in_error(y_true, y_prob, order=2, debiased=True)"),
    Meant("estimand estimands metric metrics scoring", "The score is `score='brier'` or `score='log'`; errors of "
          "calibration are compared by", (), "bayescal.compare(labels, matrices)", of="scores.compare"),
    Meant("estimand estimands metric metrics scoring", "Methods of the result take it:", (),
          f"{_COMPARE}).table(estimand='auc')",
          of="compare compare_counts compare_independent compare_over_datasets survival.compare"),
    Meant("estimand estimands metric metrics scoring", "Results have all estimands:",
          ("estimand", "estimands"), f"{_EVALUATE}).auc"),
    Meant("score scoring", "The score is chosen by", (), "bayescal.scores.compare(labels, matrices, score='log')"),
    Meant("rope margin equivalence", "The region of practical equivalence is", ("rope",),
          f"{_COMPARE}, rope=0.01)"),
    Meant("share", "The share of rows with larger errors is", (),
          f"bayescal.estimands.largest_error({_EVALUATE}).bin_draws, share=0.05)"),
    Meant("nb netbenefit decisioncurve threshold thresholds difference delta puseful treatall",
          "The net benefit belongs to all models:", (), "summary.net_benefit", of="ModelParts"),
    Meant("threshold thresholds pt cutoff thresholdprobability", "Thresholds of decisions are",
          ("thresholds", "net_benefit.thresholds"), "bayescal.net_benefit(y_true, y_prob, [0.1, 0.2])"),
    Meant("prevalence casecontrolrho", "The net benefit takes the prevalence of case-control data:", (),
          "bayescal.net_benefit(y_true, y_prob, [0.1, 0.2], prevalence=0.1)", of="clinical"),
    Meant("prevalence casecontrolrho", "For case-control data, the prevalence is", ("prevalence",),
          "bayescal.net_benefit(y_true, y_prob, [0.1, 0.2], prevalence=0.1)"),
    Meant("harm harms testharm", "The harm of a test is", ("harm",),
          "bayescal.net_benefit(y_true, y_prob, [0.1, 0.2], harm=0.01)"),
    Meant("shift", "The shift of class frequencies is assumed by", (),
          "bayescal.shift.class_priors(y_true, y_prob, y_prob_target)"),
    Meant("ece expectedcalibrationerror", "The ECE is", ("ece", "evaluation.ece"), f"{_EVALUATE}).ece"),
    Meant("auc roc rocauc cstatistic cindex dxy", "The AUC (C statistic) is", ("auc", "evaluation.auc"),
          f"{_EVALUATE}).auc"),
    Meant("brier brierscore", "The Brier score is", ("brier_score", "evaluation.brier_score"),
          f"{_EVALUATE}).brier_score"),
    Meant("logscore logloss", "Right-censored rows have no log score.", of="survival"),
    Meant("logscore logloss", "The log score is", ("log_score", "evaluation.log_score"), f"{_EVALUATE}).log_score"),
    Meant("mce maxcalibrationerror maximumcalibrationerror maximumerror maxerror",
          "`e90` is the largest error that 10 % of the population have; that of any row is", ("emax",),
          of="CalibrationCurve"),
    Meant("mce maxcalibrationerror maximumcalibrationerror",
          "No interval of the maximum calibration error (MCE) is reliable. `e90_bins` of a result is the 90th "
          "percentile of the error (E90 of bins); draws and plug-in value of the MCE are", (),
          f"bayescal.estimands.largest_error({_EVALUATE}).bin_draws)` and "
          "`bayescal.plug_in_error(y_true, y_prob, order=float('inf'))"),
    Meant("ace adaptiveece adaptivecalibrationerror",
          "The average calibration error is no estimand of this package. The adaptive calibration error is", (),
          f"{_EVALUATE}, binning='equal-mass').ece` or, for a matrix, "
          "`bayescal.evaluate(labels, matrix, target='classwise', binning='equal-mass').ece"),
    Meant("sce classwiseece staticcalibrationerror", "The classwise ECE is", (),
          "bayescal.evaluate(labels, matrix, target='classwise').ece"),
    Meant("cemp kuiper kuiperstatistic pkuiper", "The Kuiper statistic (c_emp) is", ("kuiper",),
          f"{_CUMULATIVE}.kuiper"),
    Meant("ks kserror ksstatistic kolmogorovsmirnov kolmogorovsmirnovstatistic pkolmogorovsmirnov",
          "The Kolmogorov-Smirnov statistic is", ("kolmogorov_smirnov",), f"{_CUMULATIVE}.kolmogorov_smirnov"),
    Meant("citl inthelarge calibrationinthelarge large meancalibration calibrationatlarge",
          "The calibration in the large is", ("in_the_large", "recalibration.in_the_large"),
          f"{_RECALIBRATION}.in_the_large"),
    Meant("intercept calibrationintercept a alpha", "The intercept is", ("intercept", "recalibration.intercept"),
          f"{_RECALIBRATION}.intercept", of="Recalibration ClinicalSummary ModelParts"),
    Meant("slope calibrationslope b beta", "The slope is", ("slope", "recalibration.slope"),
          f"{_RECALIBRATION}.slope", of="Recalibration ClinicalSummary ModelParts"),
    Meant("intercept calibrationintercept", "The intercept is", (), f"{_RECALIBRATION}.intercept"),
    Meant("slope calibrationslope", "The slope is", (), f"{_RECALIBRATION}.slope"),
    Meant("recalibration", "Intercept and slope are", (), _RECALIBRATION),
    Meant("calibrationcurve smoothcurve", "The smooth calibration curve is", (), _CURVE),
    Meant("coef coefs coefficients params", "Coefficients are", ("intercept` and `slope",)),
    Meant("oe oeratio eo eoratio observedexpected observedexpectedratio", "The ratio of observed to expected events is",
          ("observed_expected", "recalibration.observed_expected"), f"{_RECALIBRATION}.observed_expected"),
    Meant("prevalence events eventrate", "The share of events is `event_rate`, their number", ("n_events",)),
    Meant("ici eavg integratedcalibrationindex ece meanerror", "The integrated calibration index is",
          ("ici", "calibration_curve.ici"), f"{_CURVE}.ici"),
    Meant("e50 medianerror emedian e05", "The median of the error of the curve is", ("e50", "calibration_curve.e50"),
          f"{_CURVE}.e50"),
    Meant("e90", "The 90th percentile of the error is `e90_bins` over bins, and `e90` of", (), _CURVE, of="Evaluation"),
    Meant("e90", "The 90th percentile of the error of the curve is", ("e90", "calibration_curve.e90"), f"{_CURVE}.e90"),
    Meant("emax", "The largest error of the curve is", ("emax", "calibration_curve.emax"), f"{_CURVE}.emax"),
    Meant("eci", "ECI is a mean of squared differences; the mean absolute difference is", ("ici",), f"{_CURVE}.ici"),
    Meant("probtrue probpred x y predictedprobability observed fitted",
          "The curve is `curve` at the scores `score`, and its band", ("band()",), of="CalibrationCurve"),
    Meant("predict predictproba transform recalibrate fitted", "Recalibrated probabilities are",
          ("at(score)", "recalibrated(y_prob)", "transform(y_prob)"),
          "bayescal.LogisticRecalibration().fit(y_prob, y_true).transform(y_prob)"),
    Meant("confint confidenceinterval ci hdi hpd interval intervals lower upper", "Intervals are",
          ("exact_interval('slope')", "interval()", "low` and `high", "table(prob=0.95)")),
    Meant("values intervals lower upper", "Intervals after each window are `low` and `high`, the last one is",
          ("interval",), of="ConfidenceSequence"),
    Meant("ece", "The plug-in ECE after each window is", ("plug_in",), of="ConfidenceSequence"),
    Meant("level", "The probability that all intervals hold is", ("prob",), of="ConfidenceSequence"),
    Meant("alarm", "The first window whose interval lies above a limit is", ("above(0.02)",), of="ConfidenceSequence"),
    Meant("pvalue pvalues p", "P-values are", ("p_values", "p_kuiper` and `p_kolmogorov_smirnov",
          "p_spiegelhalter` and `p_hosmer_lemeshow"), "bayescal.clinical.calibration_tests(y_true, y_prob).table()"),
    Meant("evalue evalues value", "E-values after each window are", ("values",), of="Evidence"),
    Meant("alarmed alarms", "Whether there is an alarm is", ("raised",), of="Evidence"),
    Meant("unreliability up sp sz pvalue pvalues p", "The evidence for calibration is", ("bayes_factor",),
          of="Recalibration"),
    Meant("sz spiegelhalter spiegelhalterz zvalue", "Spiegelhalter's Z is", ("z",),
          "bayescal.clinical.calibration_tests(y_true, y_prob).z"),
    Meant("sp pspiegelhalterz", "The P-value of Spiegelhalter's Z is", ("p_spiegelhalter",)),
    Meant("hl chisq chisquared chi2 xsquared statistic hosmerlemeshow", "The Hosmer-Lemeshow statistic is",
          ("hosmer_lemeshow.chi_squared",), "bayescal.clinical.calibration_tests(y_true, y_prob).hosmer_lemeshow"),
    Meant("df parameter dof", "Degrees of freedom are", ("hosmer_lemeshow.df",)),
    Meant("standardised standardisednetbenefit standardizednetbenefit snb standardnetbenefit",
          "The standardized net benefit is", ("standardized[model]", "net_benefit.standardized[model]")),
    Meant("nb netbenefit netbenefits decisioncurve", "The net benefit is", ("net_benefit[model]",), of="NetBenefit"),
    Meant("nb netbenefit netbenefits decisioncurve", "The net benefit is", ("net_benefit",),
          "bayescal.net_benefit(y_true, y_prob, [0.1, 0.2])"),
    Meant("interventionsavoided netinterventionsavoided netinterventionavoided netreduction testsavoided",
          "Treatments avoided are", ("avoided[model]", "net_benefit.avoided[model]")),
    Meant("all treatall nball", "The net benefit of treating all is", ("treat_all", "net_benefit.treat_all")),
    Meant("none treatnone nbnone", "The net benefit of treating none is 0 at every threshold, that of treating all is",
          ("treat_all", "net_benefit.treat_all"), of="NetBenefit ClinicalSummary"),
    Meant("delta diff differences compare difference", "Differences between periods are",
          ("difference(first, second)",), "monitor.change((0, 4))", of="monitoring"),
    Meant("delta diff differences compare difference", "Several models are compared by", ("difference(first, second)",),
          "bayescal.net_benefit(y_true, models, [0.1, 0.2])", of="decisions"),
    Meant("delta diff differences compare difference", "Several models are compared by",
          ("net_benefit.difference(first, second)",), "bayescal.clinical.summary(y_true, models, [0.1, 0.2])",
          of="clinical"),
    Meant("delta diff differences compare difference", "Differences are",
          ("difference(first, second)", "net_benefit.difference(first, second)"), f"{_COMPARE})"),
    Meant("puseful useful probuseful", "The probability that a model is useful is",
          ("p_useful", "net_benefit.p_useful")),
    Meant("best pbest probbest beststrategy", "The probability of being best is", ("p_best",)),
    Meant("voi evpi", "The expected value of perfect information is", ("evpi",)),
    Meant("tpr fpr sensitivity specificity tpos fpos tprate fprate",
          "The probability of each outcome and score cell is", ("posterior.sample()",), of="NetBenefit"),
    Meant("lossratio ratios", "The ratio at each threshold is `ratio`, and their mean", ("mean_ratio",),
          of="LossRatio"),
    Meant("lossbefore beforeloss", "The loss before recalibration is", ("before",), of="LossRatio"),
    Meant("lossafter afterloss", "The loss after recalibration is", ("after",), of="LossRatio"),
    Meant("draws samples", "Draws of the statistics are `kuiper` and `kolmogorov_smirnov`, those of the curve",
          ("curve",), of="CumulativePosterior"),
    Meant("posterior cempbound", "It needs outcomes 0 and 1 and their probabilities. For other responses there are",
          ("kuiper_interval` and `band",), of="SubpopulationDifference"),
    Meant("differencesbydataset", "Differences on each data set are", ("by_dataset()",)),
    Meant("evaluations", "The comparison of each data set is", ("comparisons[name]",), of="ComparisonOverDatasets"),
    Meant("rank meanrank meanranks", "Draws of the mean ranks over the data sets are", ("ranks()",),
          of="ComparisonOverDatasets"),
    Meant("mean", "Means over the data sets are", ("average().mean()",), of="ComparisonOverDatasets"),
    # --- results of other programs
    Meant("pvalue pvalues p significance", "There is no P-value; the posterior probability of exact calibration is",
          ("p_calibrated",), of="Evaluation CalibrationCurve"),
    Meant("pvalue pvalues p significance", "There is no P-value; the probabilities that the first is better, that both "
          "are equivalent, and that the second is better are", ("decide(first, second)",), of="Comparison Change "
          "ComparisonOverDatasets ScoreComparison SurvivalComparison GroupedEvaluation ClasswiseEvaluation"),
    Meant("pvalue pvalues p significance", "There is no P-value; the probability that a model is useful is",
          ("p_useful",), of="NetBenefit"),
    Meant("pvalue pvalues p significance", "There is no P-value; the probability that recalibration lowers the loss is",
          (), "result.mean_ratio.pr(lambda ratio: ratio < 1)", of="LossRatio"),
    Meant("pvalue pvalues p significance", "There is no P-value.",
          of="ClassPriors LabelShiftClasses ShiftEvidence SurvivalHorizons WeightReport"),
    Meant("median", "The median is", ("quantile(0.5)",), of="MultiClassScore"),
    Meant("std stdev se stderr", "The standard deviation of the posterior is", ("sd",), of="MultiClassScore"),
    Meant("rhat ess neff essbulk esstail divergences samplestats", "Draws are independent: there are no chains to "
          "diagnose. Monte Carlo standard errors are methods `mcse` of draws."),
    Meant("n nobs nrows size samplesize", "The number of rows is", ("n_rows", "counts.n_rows", "overall.counts.n_rows",
          "evaluation.counts.n_rows", "counts.n.sum()")),
    Meant("summary report results", "The table is", ("table()", "to_frame()")),
    Meant("dataframe df frame todataframe topandas todf asdataframe tocsv toexcel tomarkdown", "The data frame is",
          ("to_frame()",)),
    Meant("idata inferencedata posterior prior toinferencedata toarviz toxarray tonetcdf todataset", "Draws for ArviZ "
          "are", ("to_datatree()",)),
    *(Meant(words, "Statistics belong to the draws of one quantity:", ("prob=0.95",) if "interval" in words else (),
            f"{draws}.{statistic}", of=kinds)
      for kinds, draws in _DRAWS.items() for words, statistic in _STATISTICS.items()),
    # --- pictures
    Meant("plot figure picture", "Results have pictures, as in", (), "bayescal.plot(monitor.evidence())",
          of="CalibrationMonitor"),
    Meant("plot figure picture", "This result has no picture.", of=_NO_PICTURE),
    Meant("plot figure picture", "Pictures of results are drawn by", (), "bayescal.plot(result)"),
)
# fmt: on
#: scikit-learn's names of ways to choose bins.
BINNINGS = {"uniform": "equal-width", "quantile": "equal-mass"}
#: What else to say about a call with missing or surplus arguments.
CALLS = {
    "evaluate_shifted": "State what differs between source and target: `shift='label'` if it is the class frequencies "
    "alone, `shift='covariate'` with `weights=` if it is the distribution of the features. Labels of the target are "
    "not used.",
    "evaluate_shifted_counts": "State `shift='label'`: counts of classes and cells suffice for label shift only.",
    "labels_needed": "It takes the counts of a pilot, as in "
    "`labels_needed(evaluate(y_true, y_prob).counts, width=0.02)`.",
    "cumulative.screen": "It compares every group of a column.",
    **{
        f"{result}.{name}": f"Pass both ends of the interval, as in `{name}(0.2, 0.6)`."
        for result in ("CumulativeDifference", "SubpopulationDifference")
        for name in ("slope", "zoom")
    },
    "CalibrationMonitor.evidence": "A reference is `reference=(start, end)`.",
    "shift.evidence": "Labels of the target are not used.",
    "shift.class_priors": "Labels of the target are not used.",
    "shift.label": "Labels of the target are not used.",
    "shift.covariate": "Labels of the target are not used.",
}


def letters(words: str) -> str:
    """Return only letters and digits, in lower case, so that spellings of one name are equal.

    >>> letters("over-confidence"), letters("l_2 error"), letters("ROC AUC")
    ('overconfidence', 'l2error', 'rocauc')
    """
    return "".join(filter(str.isalnum, words.casefold()))


@functools.cache
def _by_word() -> dict[str, list[Meant]]:
    """Return the rows of the table for each word, in their order; also for the names here."""
    table: dict[str, list[Meant]] = {}
    for meant in TABLE:
        names = [] if meant.of else [letters(_head(each)) for each in meant.here if not re.search("[:=.]", each)]
        for word in dict.fromkeys([*meant.words.split(), *names]):
            table.setdefault(word, []).append(meant)
    return table


def _head(written: str) -> str:
    """Return the name at the beginning of code."""
    return re.match(r"\w*", written)[0]  # type: ignore[index]  # matches any text


def _rows(word: str, owners: Collection[str]) -> list[Meant]:
    rows = _by_word().get(letters(word), [])
    return sorted((each for each in rows if not each.of or set(each.of.split()) & set(owners)), key=lambda m: not m.of)


def _owners(where: str, thing: Any) -> set[str]:
    """Return the names under which the table may know a function or method: its own, its class and its topic."""
    public = _lazy.place_of(thing)[0] if hasattr(thing, "__name__") else ""
    return {where, where.partition(".")[0], public, *getattr(thing, "__module__", "").split(".")[1:2]} - {""}


def _elsewhere(
    rows: Iterable[Meant], owners: Collection[str], where: str = "", result_class: type | None = None
) -> str:
    """Return where a thing is otherwise; both places if a word has two meanings.

    `where` is the function, and `result_class` the class of the result that messages call ``result``, if it is known.
    """
    answers = []
    for each in rows:
        if places := _places(each, owners, where, result_class):
            answers.append(f" {each.says} `{'` or `'.join(places)}`.")
        elif not (each.here or each.elsewhere):
            answers.append(f" {each.says}")
    return "".join(answers[:2])


def _places(meant: Meant, owners: Collection[str], where: str, result_class: type | None) -> list[str]:
    """Return the codes with which a function or a result gets a thing: first its own call, then those of its topic."""
    topic, codes, no_picture = _topic_of(owners), [], _NO_PICTURE.split()
    for code in meant.elsewhere.split("` or `") if meant.elsewhere else ():
        base = next((each for each in (_EVALUATE, _COUNTS, _COMPARE, _PLAN) if code.startswith(each)), "")
        of_topic = [each for each in TOPIC_CALLS[topic] if ("Counts." in each) == (base == _COUNTS)]
        rest = code.removeprefix(base)
        names = [where] if rest != ")" else []
        names.append(where.removesuffix("_counts"))
        calls = [each for name in names for each in of_topic if _path(each) == name] + (of_topic if topic else [])
        if (base, rest) == (_COMPARE, ")"):
            calls = [each for each in calls if _path(each).endswith("compare")]
        if moved := next((each for each in calls if base and _fits(each, rest)), ""):
            codes.append(_joined(moved, rest))
        elif code.startswith("result.") and not meant.of:
            codes += [code] if result_class is None or _has(result_class, code.removeprefix("result.")) else []
        elif code == "bayescal.plot(result)":
            prints = hasattr(result_class, "sheet")
            codes += [code] if not result_class or (prints and result_class.__name__ not in no_picture) else []
        else:
            named = meant.of and (topic not in _OTHER_ROWS or topic in meant.of.split())
            of_package = code.startswith(("bayescal.", "monitor."))
            right = named or not topic or not of_package or _topic(code) == topic
            # another quantity of the same rows
            quantity = topic not in _OTHER_ROWS and code != f"{_COMPARE})" and not re.search(r", \w+=", code)
            codes += [code] if right or quantity else []
    return list(dict.fromkeys(codes))[:2]


def _topic_of(owners: Collection[str]) -> str:
    return next((each for each in TOPIC_CALLS if each in owners), "")


def _path(call: str) -> str:
    """Return how messages name the function that a call in the names of the reader begins with."""
    return call.partition("(")[0].removeprefix("bayescal.").replace("monitor.", "CalibrationMonitor.")


def _function(call: str) -> Any:
    """Return the function or method that a call in the names of the reader ends with.

    >>> _function("bayescal.cumulative.difference(y_true, y_prob).posterior(").__name__
    'posterior'
    """
    thing: Any = sys.modules[_lazy.PACKAGE]
    path = re.match(r"[\w.]+(\(\)\.\w+)*", re.sub(r"\([^()]*\)\.", "().", call))[0]  # type: ignore[index]  # a name
    for name in path.removeprefix("bayescal.").replace("monitor.", "CalibrationMonitor.").split("."):
        thing = getattr(thing, name.removesuffix("()"))
        thing = made_by(thing) if name.endswith("()") else thing
    return thing


def made_by(function: Any) -> type:
    """Return the class of what a function returns, the first of several; `object` if it is no class."""
    import inspect

    if isinstance(function, type):
        return function
    annotation = inspect.signature(function).return_annotation
    first = annotation.__args__[0] if isinstance(annotation, UnionType) else annotation
    return first if isinstance(first, type) else object


def _topic(code: str) -> str:
    """Return the topic of the function with which code begins; empty for the others."""
    folder = _function(code.partition("(")[0]).__module__.split(".")[1]
    return folder if folder in TOPIC_CALLS else ""


@functools.cache
def _fits(call: str, rest: str) -> bool:
    """Return whether a function takes the keywords with which its call goes on, and its result has the attribute."""
    import inspect

    function, words = _function(call), re.findall(r", (\w+)=", re.sub(r"\([^()]*\)", "", rest))
    parameters = inspect.signature(function).parameters
    known = {*parameters, *(_OPTIONS if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else ())}
    attribute = re.search(r"\)\.(\w.*)$", rest)
    return known.issuperset(words) and (attribute is None or _has(made_by(function), attribute[1]))


def _has(kind: type, code: str) -> bool:
    """Return whether code after ``result.`` is right for a class: it has the attribute, which takes the keyword."""
    import inspect

    name, words = _head(code), re.findall(r"(\w+)=", code)
    if not hasattr(kind, name):
        return name in getattr(kind, "__dataclass_fields__", ())
    member = getattr(kind, name)
    return not words or (callable(member) and words[0] in inspect.signature(member).parameters)


def _joined(call: str, rest: str) -> str:
    """Return a call with the rest of another one; a keyword that it has already is not repeated."""
    word = re.match(r", (\w+)=", rest)
    if word and re.search(rf"\b{word[1]}=", call):
        return f"{call})"
    return call + (rest.removeprefix(", ") if call.endswith("(") else rest)


# --- attributes


def _of_rows(rows: Iterable[Meant], known: Collection[str], owners: Collection[str], kind: type | None = None) -> str:
    """Return the first name that is an attribute, or where else a thing is; may be empty."""
    for each in rows:
        for code in each.here:
            if _head(code) in known and not re.match(r"[\w.]+[:=]", code):
                return f" {each.says} `{code}`."
    return _elsewhere(rows, owners, result_class=kind)


def similar(name: str, known: Iterable[str]) -> str:
    """Return public names of similar spelling, after a space; may be empty."""
    return _checks.did_you_mean(name, [each for each in known if not each.startswith("_")])


def of_module(name: str, module: str, listed: Iterable[str]) -> str:
    """Return where in the package a thing is, or public names of similar spelling, after a space; may be empty.

    `name` was looked up in `module`, the package or one of its public modules, whose public names are `listed`.

    >>> of_module("evalute_survival", "bayescal", ["evaluate"])
    ' Did you mean `bayescal.survival.evaluate` or `bayescal.survival.evaluate_counts` or `bayescal.survival.compare`?'
    >>> of_module("compair", "bayescal.survival", ["compare", "evaluate"])
    ' Did you mean `bayescal.survival.compare`?'
    """
    owners = {module.rpartition(".")[2]}
    rows = _rows(name, owners)
    if elsewhere := _elsewhere([each for each in rows if each.of], owners) or _elsewhere(rows, owners):
        return elsewhere
    names = {each: f"{module}.{each}" for each in listed}
    if module == _lazy.PACKAGE:
        names = {each: _lazy.written(each) for each in _lazy.former_names()} | names
    # a verb of another topic is no misspelled function of this one
    similar = _checks.nearest(name, names) if module == _lazy.PACKAGE else get_close_matches(name, names, cutoff=0.7)
    near = [names[each] for each in similar if not each.startswith("_")]
    if near:
        return f" Did you mean {' or '.join(f'`{each}`' for each in dict.fromkeys(near))}?"
    functions = [f"`{names[each]}`" for each in listed if each.islower()]
    return "" if module == _lazy.PACKAGE else f" Its functions are {', '.join(functions)}."


def no_attribute(result: Any, name: str) -> NoReturn:
    """Raise an `AttributeError` that names the attribute that may be meant; the `__getattr__` of public classes.

    A class may say more about its own attributes in a method ``_instead(name)``.
    """
    kind = type(result)
    if hasattr(kind, name):  # a property that raised AttributeError itself
        object.__getattribute__(result, name)
    hint = ""
    if not name.startswith("_"):
        owners = {each.__name__ for each in kind.__mro__} | _owners(kind.__name__, kind)
        known, rows = set(dir(result)), _rows(name, owners)
        hint = _of_rows([each for each in rows if each.of], known, owners, kind)
        hint = hint or (kind._instead(result, name) if hasattr(kind, "_instead") else "")
        hint = hint or _of_rows(rows, known, owners, kind) or similar(name, known)
    raise AttributeError(f"{kind.__name__!r} has no attribute {name!r}.{hint}")


# --- keywords


class SeveralClassifiersError(TypeError):
    """Columns of several classifiers where a function takes one; the function that the user called says what to do."""

    message = ""  # the message without that
    name = ""  # of the argument
    labels: tuple[Any, ...] = ()  # of the classifiers, or of the columns of a data frame
    in_frame = False


#: Calls that compare several classifiers, by the function that was called with them or its topic.
_COMPARING = {
    "": "compare(y_true, {0})",
    "survival": "survival.compare(time, event, {0}, horizon=5)",
    "scores.multiclass_brier": "scores.compare(y_true, {0})",
    "scores.multiclass_log": "scores.compare(y_true, {0})",
}


def several_classifiers(
    message: str, name: str, labels: Iterable[Any], *, in_frame: bool = False, where: str = "", topic: str | None = None
) -> SeveralClassifiersError:
    """Return the error about several classifiers, with what to do in a function `where` of a topic if it is known."""
    labels, hint = tuple(labels), ""
    if topic is not None and labels and (name in ("risk", "score") or name.startswith("y_prob")):
        first = f"{name}[{labels[0]!r}]"
        columns = f"{{name: {name}[name] for name in {name}.columns}}" if in_frame else name
        compared = "" if in_frame and topic == "scores" else where if where in _COMPARING else topic
        call = _COMPARING.get(compared, "").format(columns)
        hint = f"{' Columns of several classifiers?' if in_frame else ''} Pass one classifier at a time, as `{first}`"
        hint += f", or compare them by `{call}`." if call and "Recalibration" not in where else "."
    error = SeveralClassifiersError(f"{message}{hint}")
    error.message, error.name, error.labels, error.in_frame = message, name, labels, in_frame
    return error


class UnknownKeywordError(TypeError):
    """A keyword that a function does not take; the function that the user called names itself in the message."""

    word = ""
    known: tuple[str, ...] = ()
    rest = ""


def unknown_keyword(
    where: str,
    word: str,
    known: Iterable[str],
    *,
    owners: Collection[str] = (),
    call: str = "",
    passed: Collection[str] = (),
    rest: str = "",
    result_class: type | None = None,
    deterministic: bool = False,
) -> UnknownKeywordError:
    """Return the error about the keyword `word` of the function `where`, which takes the keywords `known`.

    `owners` are names under which the table may know the function, `passed` arguments that were given, `call` a call
    with the necessary arguments and no closing parenthesis, and `rest` what to add if the table has no answer.
    `result_class` is the class of the result, and `deterministic` says that the function draws no random numbers.
    """
    known = tuple(known)
    owners = owners or _owners(where, None)
    rows = _rows(word, owners)
    hint = ""
    for chosen in ([each for each in rows if each.of], rows):  # what a word means for this function counts alone
        for code in [code for each in chosen for code in each.here]:
            function_name, _, keyword = code.rpartition(":")
            name = keyword.partition("=")[0]
            if name in known and name not in passed and function_name in ("", where):
                shown = f": `{call}{_argument(keyword, call)})`" if call else ""
                hint = hint or f" Here it is called {name!r}{shown}."
        hint = hint or _elsewhere([each for each in chosen if each.of], owners, where, result_class)
        if not hint and deterministic and letters(word) in (*_SEEDS.split(), "rng"):
            hint = " It is deterministic: the same arguments give the same result."
    hint = hint or _elsewhere(rows, owners, where, result_class)
    if not hint:
        hint = ("" if rows else _checks.did_you_mean(word, known)) + rest  # a word of the table is not misspelled
        hint = hint or (f" Its keywords are {list(known)}." if known else " It takes no keywords.")
    error = UnknownKeywordError(f"`{where}` takes no {quoted(word)}.{hint}")
    error.word, error.known, error.rest = word, tuple(each for each in known if each not in passed), rest
    return error


def _argument(written: str, call: str) -> str:
    """Return how a keyword is added to a call; nothing if it is there already."""
    name = _head(written)
    if re.search(rf"\b{name}\b", call.partition("(")[2]):
        return ""
    comma = "" if call.endswith("(") else ", "
    return comma + (written if "=" in written else f"{name}=...")


def known_keywords(
    where: str,
    options: Collection[str],
    allowed: Callable[..., Any],
    others: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Raise if a model does not take an option.

    `where` is the model as a keyword, `options` are their names, `allowed` is the function that takes them; `others`
    are the functions of other models, named as `where` is.
    """
    if not options:
        return
    known = _keywords_only(allowed)
    for word in options:
        if word in known:
            continue
        rest = f" The options of {where} are {known}."
        if other := next((name for name, each in (others or {}).items() if word in _keywords_only(each)), ""):
            raise TypeError(f"{where} takes no {quoted(word)}. It is an option of {other}.{rest}")
        raise unknown_keyword(where.strip("`"), word, known, rest=rest)


def _keywords_only(function: Callable[..., Any]) -> list[str]:
    import inspect

    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


# --- the mark of public functions and classes


def public[T: Any](thing: T) -> T:
    """Mark a public function or class, so that errors about its keywords and attributes say what may be meant.

    The function accepts ``sample_weight`` for `weights`, ``y_true`` and ``y_prob`` where columns are named otherwise,
    and scikit-learn's names of ways to choose bins; its signature is unchanged.
    """
    return _of_class(thing) if isinstance(thing, type) else _of_function(thing)  # type: ignore[return-value]  # a T


def _of_class(cls: type) -> type:
    for owner in cls.__mro__:
        if not owner.__module__.startswith(__package__ or "bayescal"):
            continue
        for name, member in list(vars(owner).items()):
            if name.startswith("_") and (name != "__init__" or owner is not cls):
                continue
            inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if isinstance(inner, FunctionType) and not hasattr(inner, "public"):
                outer = _of_function(inner)
                setattr(owner, name, type(member)(outer) if inner is not member else outer)
    created: Any = cls
    if created.__init__ is object.__init__ and not issubclass(cls, tuple):
        created.__init__ = _of_function(_no_arguments)
    if not hasattr(cls, "__getattr__") and not issubclass(cls, BaseException):
        created.__getattr__ = no_attribute
    return cls


def _no_arguments(self: Any) -> None: ...


#: Names that stand for other arguments: of functions with a column of weights, and of those that name the columns of
#: labels and of probabilities in another way than `evaluate`.
SAME = (
    {"sample_weight": "weights"},
    {"y_true": "outcome", "y_prob": "confidence"},
    {"y_true": "label", "y_prob": "prob"},
    {"y_true": "label", "y_prob": "probabilities"},
    {"y_true": "response", "y_prob": "score"},
)


def _of_function[F: Callable[..., Any]](function: F) -> F:
    code = _innermost(function).__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    same: dict[str, str] = {}
    for names in SAME:
        if {*names.values()} <= {*parameters} and not names.keys() & {*parameters, *same}:
            same |= names
    refused, way = functools.partial(_refused, function), _way  # not global: `called` has those of another module

    def called(*args: Any, **keywords: Any) -> Any:
        for word, name in same.items():
            if word in keywords:
                if keywords.get(name) is not None:
                    raise TypeError(f"`{name}` and `{word}` are the same argument: give one of them.")
                keywords[name] = keywords.pop(word)
        if "binning" in keywords:
            keywords["binning"] = way(keywords["binning"])
        try:
            return function(*args, **keywords)
        except TypeError as problem:
            if (better := refused(problem, args, keywords)) is None:
                raise
            raise better from None

    # with the globals of the other module, since doctest ignores functions that seem to be imported
    same_module = FunctionType(called.__code__, function.__globals__, closure=called.__closure__)
    functools.update_wrapper(same_module, function)
    same_module.public = True  # type: ignore[attr-defined]  # functions have no such member
    return same_module  # type: ignore[return-value]  # it is called as an F


def _refused(
    function: Callable[..., Any], problem: TypeError, args: tuple[Any, ...], keywords: dict[str, Any]
) -> TypeError | None:
    """Return the error about a call that Python or a model refused, with what may be meant; None for other errors."""
    several = isinstance(problem, SeveralClassifiersError) and bool(problem.message)
    named = isinstance(problem, UnknownKeywordError) and problem.word in keywords
    if not (several or named or _is_from_call(function, problem)):
        return None
    name, kind = _public_name(function, args), _kind(function, args)
    owners = _owners(name, kind or function)
    if isinstance(problem, SeveralClassifiersError):
        where = {"where": name, "topic": _topic_of(owners)}
        return several_classifiers(problem.message, problem.name, problem.labels, in_frame=problem.in_frame, **where)
    import inspect

    parameters = {each.name: each for each in inspect.signature(function).parameters.values()}
    method = kind is not None
    accepted = dict(list(parameters.items())[1:]) if method else parameters
    known = [each.name for each in accepted.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    passed = {*known[: len(args) - method], *keywords}
    needed = [each for each in accepted.values() if each.default is each.empty and each.name in known]
    call = ", ".join(each.name if each.kind is not each.KEYWORD_ONLY else f"{each.name}=..." for each in needed)
    result_class = made_by(function)
    options: dict[str, Any] = {
        "owners": owners,
        "passed": passed,
        "result_class": result_class if kind is None or result_class.__module__.startswith(_lazy.PACKAGE) else kind,
        "deterministic": "rng" not in (*known, *getattr(problem, "known", ())),
    }
    of_object = method and bool(args) and not isinstance(args[0], type) and "." in name
    call = f"{_snake_case(name) if of_object else name}({call}"
    if isinstance(problem, UnknownKeywordError) and named:
        known += [each for each in problem.known if each not in known]
        return unknown_keyword(name, problem.word, known, call=call, rest=problem.rest, **options)
    extra = [word for word in keywords if word not in accepted]
    if "unexpected keyword" in str(problem) and extra:
        return unknown_keyword(name, extra[0], known, call=call, **options)
    missing = [each.name for each in needed if each.name not in passed]
    for word in extra:  # it may be another name of an argument that is missing
        if any(code.rpartition(":")[2] in missing for each in _rows(word, owners) for code in each.here):
            return unknown_keyword(name, word, known, call=call, **options)
    message = str(problem).replace(f"{function.__qualname__}(", f"{name}(", 1).partition(" Did you mean")[0].rstrip(".")
    counts = _for_counts(function)
    counted = f" For counts, use `{counts}(counts)`." if counts else ""
    if hasattr(function.__globals__.get(function.__name__), "from_counts"):
        counted = f" For counts, use `{name}.from_counts(counts)`."
    more = f" {CALLS[name]}" if name in CALLS else ""
    return TypeError(f"{message}. Call it as `{call})`.{counted}{more}")


def _for_counts(function: Callable[..., Any]) -> str:
    """Return the public function for counts that is named as this one, followed by ``_counts``; may be empty."""
    module, name = _lazy.place_of(function)
    counted = f"{name}_counts"
    if counted in getattr(sys.modules[f"{_lazy.PACKAGE}.{module}".rstrip(".")], "__all__", ()):
        return f"{module}.{counted}".lstrip(".")
    return _lazy.written(counted).removeprefix(f"{_lazy.PACKAGE}.") if counted in _lazy.former_names() else ""


def _way(value: Any) -> Any:
    """Return this package's name of a way to choose bins, for one of scikit-learn's; of several, that of each."""
    if isinstance(value, list | tuple):
        return type(value)(_way(each) for each in value)
    return BINNINGS.get(value, value) if isinstance(value, str) else value


def _innermost(function: Any) -> FunctionType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _is_from_call(function: Callable[..., Any], problem: TypeError) -> bool:
    """Return whether Python refused the arguments, so that the function itself was not entered."""
    inner, trace = _innermost(function), problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is inner.__code__:
            return False
        trace = trace.tb_next
    return str(problem).startswith(f"{inner.__qualname__}(")


def _snake_case(method: str) -> str:
    """Return how a method of an object is written, as `draws.interval` for ``Draws.interval``."""
    kind, _, called = method.partition(".")
    return f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', kind).casefold()}.{called}"


def _kind(function: Callable[..., Any], args: tuple[Any, ...]) -> type | None:
    """Return the class of the object whose method was called; None for a function."""
    if _innermost(function).__code__.co_varnames[:1] not in (("self",), ("cls",)) or not args:
        return None
    return args[0] if isinstance(args[0], type) else type(args[0])


def _public_name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the name of a function, with its public module; of a method, with the class of its object."""
    owner, _, method = function.__qualname__.rpartition(".")
    if function is _no_arguments:
        owner, method = type(args[0]).__qualname__, "__init__"
    if owner and args:
        kind = args[0] if isinstance(args[0], type) else type(args[0])
        owner = kind.__qualname__ if any(each.__qualname__ == owner for each in kind.__mro__) else owner
    if not owner:
        return ".".join(filter(None, _lazy.place_of(function)))
    return owner if method == "__init__" else f"{owner}.{method}"
