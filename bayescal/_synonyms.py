"""The table of names that users may write for something else, and the calls that answers name."""

from typing import NamedTuple


class Meant(NamedTuple):
    """Words for one thing, and where it is in this package.

    `here` are keywords or attributes, as they are written; the first one that exists is the answer.
    ``function:keyword`` is a keyword of one function only, ``keyword=value`` no attribute. Otherwise the answer is the
    code `elsewhere`, with names of the reader: `y_true`, `result`, ... In a topic that has its own call
    (`TOPIC_CALLS`), it takes the place of the code. A row without a place is a whole sentence.
    """

    words: str  # other names, separated by spaces, in small letters and without underscores
    says: str  # the beginning of the answer
    here: tuple[str, ...] = ()
    elsewhere: str = ""
    of: str = ""  # functions, results or topics for which the words have this meaning; all by default


EVALUATE = "bayescal.evaluate(y_true, y_prob"
COUNTS = "bayescal.BinnedCounts.from_arrays(y_true, y_prob"
LABELS = "ytest truth outcome outcomes response actual actuals obs labels label y data ysource targets"
PROBABILITIES = (
    "yproba ypred yscore yhat probs probas proba probability probabilities prob prediction predictions preds pred "
    "predicted score scores confidence confidences forecast p pr modelnames psource yprobsource"
)
TARGETS = "target task multiclass average"
WEIGHTS = "sampleweight sampleweights weight weights w importanceweights"
ESTIMANDS = "estimand estimands metric metrics scoring"
DIFFERENCES = "delta diff differences compare difference"
CLUSTERS = "cluster clusters clusterid subject subjects"
#: Words for columns of rows, without `prob`, which is also the probability of an interval.
COLUMNS = f"ytrue yprob {LABELS} {PROBABILITIES}".replace(" prob ", " ")
RECALIBRATION = "bayescal.clinical.recalibration(y_true, y_prob)"
CURVE = "bayescal.clinical.calibration_curve(y_true, y_prob)"
CUMULATIVE = "bayescal.cumulative.difference(y_true, y_prob)"
COMPARE, PLAN = "bayescal.compare(y_true, models", "bayescal.planning.labels_needed(counts, width=0.1"
SHIFTED = "(y_true, y_prob, y_prob_target"
#: Calls of each topic, in the names of the reader. Where the table names `evaluate`, `compare`, `labels_needed` or
#: counts, messages of a topic name its first call that takes the keyword, or whose result has the attribute.
TOPIC_CALLS = {
    "": (EVALUATE, COMPARE, "bayescal.evaluate_counts(counts", "bayescal.compare_counts(pairs",
         "bayescal.bin_sensitivity(y_true, y_prob"),
    "clinical": (RECALIBRATION[:-1], CURVE[:-1], "bayescal.clinical.summary(y_true, y_prob, [0.1, 0.2]",
                 "bayescal.clinical.LogitCounts.from_arrays(y_true, y_prob"),
    "cumulative": (CUMULATIVE[:-1], "bayescal.cumulative.screen(y_true, y_prob, by=site", f"{CUMULATIVE}.posterior("),
    "decisions": ("bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2]",
                  "bayescal.decisions.ThresholdCounts.from_arrays(y_true, y_prob, thresholds=[0.1, 0.2]",
                  "bayescal.decisions.selective(correct, confidence, target='confidence'"),
    "labels": ("bayescal.labels.judged(y_true, y_prob, judge=judge",
               "bayescal.labels.partly_observed(y_true, y_prob, missing='score'"),
    "monitoring": ("monitor.evaluate(", "monitor.change((0, 4)", "monitor.evidence(", "monitor.confidence_sequence(",
                   "bayescal.monitoring.CalibrationMonitor(window=4", "monitor.add(y_true, y_prob, time=12"),
    "planning": (PLAN, COUNTS),  # of a pilot
    "scores": ("bayescal.scores.log_decomposition(y_true, y_prob", "bayescal.scores.compare(labels, matrices",
               "bayescal.scores.brier_decomposition(y_true, y_prob, method='murphy'", COUNTS),
    "shift": (f"bayescal.shift.label{SHIFTED}", f"bayescal.shift.evidence{SHIFTED}",
              f"bayescal.shift.covariate{SHIFTED}, weights=weights"),
    "survival": ("bayescal.survival.evaluate(time, event, risk, horizon=5",
                 "bayescal.survival.compare(time, event, models, horizon=5",
                 "bayescal.survival.SurvivalCounts.from_arrays(time, event, risk, times=[5]"),
}  # fmt: skip
#: Topics with rows for which other functions give wrong numbers: a target without labels, and right-censored rows.
OTHER_ROWS = ("shift", "survival")
OPTIONS = {"model", "alpha", "draws", "rng"}  #: What functions take as options of a model.
#: Draws of the main quantity of results, and statistics of draws with their names elsewhere.
DRAWS = {
    "Evaluation": "result.ece", "ClasswiseEvaluation": "result.ece", "GroupedEvaluation": "result.overall.ece",
    "Comparison Change ScoreComparison SurvivalComparison": "result.difference(first, second)",
    "ComparisonOverDatasets": "result.difference(first, second)", "BinSensitivity": "result.average",
    "ModelSensitivity": "result[model, prior].ece",
    "Recalibration SurvivalRecalibration": "result.slope", "NewCentre": "result.new['slope']",
    "GroupedRecalibration": "result.overall.slope", "CalibrationCurve": "result.ici",
    "ClinicalSummary": "result.evaluation.ece", "GroupedClinicalSummary": "result.overall.evaluation.ece",
    "NetBenefit SurvivalNetBenefit": "result.net_benefit[model]",
    "GroupedNetBenefit": "result.overall.net_benefit[model]", "LossRatio": "result.mean_ratio",
    "SelectivePrediction": "result.risk[model]", "TopK": "result[1].ece",
    "CumulativePosterior": "result.kuiper", "CumulativeDifference": "result.posterior().kuiper",
    "SubpopulationPosterior": "result.kuiper", "SubpopulationDifference": "result.posterior().kuiper",
    "SubpopulationComparison": "result.posterior().kuiper",
    "JudgeReport": "result.sensitivity", "PartlyObservedBand": "result[1.0].ece",
    "ClassPriors": "result.draws", "ShiftEvidence": "result.total_variation", "LabelShiftClasses": "result[label].ece",
    "SurvivalHorizons": "result[horizon].ece", "CalibrationMonitor": "monitor.evaluate().ece",
}  # fmt: skip
STATISTICS = {
    "mean average avg expectation estimate": "mean()", "std sd stdev se stderr bse standarddeviation": "sd()",
    "median": "median()", "quantile quantiles percentile ppf": "quantile([0.05, 0.95])", "hdi hpd": "hdi(0.95)",
    "ci eti interval intervals confint confidenceinterval credibleinterval lower upper low high": "interval(0.95)",
    "samples draws values trace chain array": "values",
}  # fmt: skip
NO_PICTURE = (
    "CalibrationMonitor CalibrationTests ClassPriors CorpDecomposition GroupedNetBenefit GroupedRecalibration "
    "DistributionTests JudgeReport "
    "CheckPlan ModelParts MurphyDecomposition PartlyObservedBand Plan ShiftEvidence WeightReport"
)
SEEDS = "randomstate seed randomseed key generator"
PROBS = "prob level conflevel confidencelevel ciprob ci hdiprob interval credible"

# fmt: off
TABLE = (
    # --- columns
    Meant(LABELS, "Labels are", ("y_true", "outcome", "response", "event", "y", "count_file:label",
          "labels.count_file:label", "shift.count_files:label", "ClasswiseCounts.from_frame:label")),
    Meant(PROBABILITIES, "Probabilities are", ("y_prob", "confidence", "risk", "y_prob_target",
          "cumulative.subpopulation:score", "cumulative.screen:score", "count_file:prob", "labels.count_file:prob",
          "shift.count_files:prob")),
    Meant(COLUMNS, "Labels and probabilities are evaluated by", (), f"{EVALUATE})"),
    Meant(f"ytrue {LABELS}", "Rows are added by", ("y_true",), "monitor.add(y_true, y_prob, time=12)", of="monitoring"),
    Meant(COLUMNS, "Rows are added by", ("y_prob",), "monitor.add(y_true, y_prob, time=12)", of="monitoring"),
    Meant(COLUMNS, "Labels and probabilities of a pilot become counts by", (), f"{COUNTS})", of="planning"),
    Meant("correct correctness iscorrect hits", "Whether predictions are right is counted by", (),
          "bayescal.count_file(path, label='correct', prob='confidence', target='confidence')", of="count_file"),
    Meant("correct correctness iscorrect hits", "Whether predictions are right is evaluated by", (),
          "bayescal.evaluate(correct, confidence, target='confidence')"),
    Meant("yprobtarget ptarget targetprob ytargetprob probtarget", "Predictions for a target without labels are",
          ("y_prob_target",), "bayescal.shift.class_priors(y_true, y_prob, y_prob_target)"),
    Meant("ytarget ytruetarget labelstarget targetlabels", "Labels of the target are not used. If they are known, the "
          "evaluation needs no shift:", (), "bayescal.evaluate(y_target, y_prob_target)", of="shift"),
    Meant(WEIGHTS, "Under covariate shift, ratios of "
          "densities are", ("weights",), f"bayescal.shift.covariate{SHIFTED}, weights=weights)", of="shift"),
    Meant(WEIGHTS, "With a judge all rows have equal weights.", of="labels"),
    Meant("judge judges grader llmjudge judgelabels annotator", "Labels of an imperfect judge are used by", ("judge",),
          "bayescal.labels.judged(y_true, y_prob, judge=judge)` or "
          "`bayescal.labels.compare_judged(y_true, models, judge=judge)"),
    Meant(WEIGHTS, "The statistics are defined for rows of equal weight; weighted rows are evaluated by", (),
          f"{EVALUATE}, weights=weights)", of="clinical.calibration_tests"),
    Meant(WEIGHTS, "Weights belong to rows:", ("weights",),
          f"{EVALUATE}, weights=weights)` or `{COUNTS}, weights=weights)"),
    Meant("sensitivefeatures groups group groupby by", "Groups are compared with the population by", ("member",),
          "bayescal.cumulative.screen(y_true, y_prob, by=site)", of="cumulative.difference cumulative.subpopulation"),
    Meant("sensitivefeatures groups group groupby by subgroup subgroups protected strata mask",
          "Groups of rows are evaluated by", ("by", "member"), f"{EVALUATE}, by=site)"),
    Meant(CLUSTERS, "Intervals are those of independent rows.", of="monitoring planning scores shift"),
    Meant(CLUSTERS, "Intervals are those of independent rows: keep one row per cluster, chosen at random. With a "
          "judge, rows in clusters are evaluated, one classifier at a time, by", ("cluster",),
          "bayescal.labels.judged(y_true, y_prob, judge=judge, cluster=patient)", of="labels"),
    Meant(CLUSTERS, "Intervals are those of independent rows; rows in clusters are evaluated by", (),
          f"{EVALUATE}, cluster=patient)", of="cumulative"),
    Meant(CLUSTERS, "Intervals are those of independent rows; rows in clusters are evaluated by", ("cluster",),
          f"{EVALUATE}, cluster=patient)"),
    Meant("pooling pooled partialpooling", "Groups are pooled by", ("pooling",),
          f"{EVALUATE}, by=site, pooling='partial')"),
    Meant("poslabel positivelabel positiveclass classes", "The kind of event is chosen by its number:", ("cause",),
          "bayescal.survival.evaluate(time, event, risk, horizon=5, cause=1)", of="survival"),
    Meant("poslabel positivelabel positiveclass", "The positive label is the second of two classes:",
          ("pos_label", "classes=[negative, positive]"), f"{EVALUATE}, classes=[0, 1])"),
    Meant("classes labels classnames labelnames", "Labels of classes are", ("classes",),
          f"{EVALUATE}, classes=[0, 1])"),
    Meant("logits fromlogits logit", "Logits must become probabilities:", ("logits",),
          "scipy.special.expit(logits)` or, for a matrix, `scipy.special.softmax(logits, axis=1)"),
    Meant("sensitivefeatures groups group groupby by", "`bayescal.evaluate(y_true, y_prob, by=site)` has groups; here "
          "they are evaluated one at a time, as in `y_true[site == 'A'], y_prob[site == 'A']`.",
          of="decisions.top_k decisions.selective decisions.loss_ratio"),
    Meant(TARGETS, "The outcome is whether the true class is among the k most probable ones; "
          "others are evaluated by `bayescal.evaluate`.", of="decisions.top_k"),
    Meant(ESTIMANDS, "Methods of the result take it: `result.table(estimand='brier_score')`.", of="decisions.top_k"),
    Meant(TARGETS, "It is about one event, for two classes with the probabilities "
          "`y_prob[:, 1]`.", of="clinical.recalibration clinical.summary cumulative decisions.net_benefit "
          "decisions.loss_ratio ThresholdCounts"),
    Meant(TARGETS, "It follows from `y_prob`: a column is about an event, a matrix about all classes.", of="shift"),
    Meant(TARGETS, "The outcome is chosen by", ("target",), f"{EVALUATE}, target='event')"),
    Meant("time times timestamp", "Windows of time are made by", ("time",),
          "bayescal.monitoring.CalibrationMonitor(window='1d')",
          of="CalibrationMonitor CalibrationMonitor.add CalibrationMonitor.add_counts"),
    # --- logs of language models
    Meant(f"score scores scorer scoring metric metrics grade grades correct iscorrect {LABELS}".replace(" data ", " "),
          "Whether an answer is right is", ("scorer", "correct", "score"), of="read"),
    Meant("by groups group groupby task tasks topic category", "Subjects are", ("subject",), of="read"),
    Meant("subject subjects", "Models are compared over subjects by", ("by='subject'",), of="read.matched"),
    Meant("abstain drop missing", "Answers to questions that not all models answered are", ("unmatched='drop'",),
          of="read.matched"),
    Meant("key id ids sampleid docid item items", "The question is", ("question",), of="read"),
    Meant("filter filters", "The filter is", ("filter_name",), of="read"),
    Meant("passage cluster clusters group", "The cluster is", ("cluster",), of="read"),
    Meant("evaluate ece plot metrics table summary report plotreliability", "Answers are evaluated by", (),
          "bayescal.evaluate(**answers.rows())", of="Answers"),
    Meant("compare matched difference", "Answers of several models are compared by", (),
          "bayescal.compare(**bayescal.read.matched({'a': answers, 'b': others}))", of="Answers"),
    Meant("dataframe df frame toframe todataframe topandas todf asdataframe tocsv", "The columns are arrays, as in", (),
          "pandas.DataFrame({'question': answers.question, 'correct': answers.correct})", of="Answers"),
    # --- scorers for scikit-learn
    Meant("sampleweight weights weight cluster", "Columns of rows are metadata, as in "
          "`make_scorer().set_score_request(sample_weight=True, cluster=True)`.", of="make_scorer"),
    Meant("classes by pooling progress", "A scorer returns one number, for the classes of the estimator.",
          of="make_scorer"),
    Meant("logits responsemethod needsproba needsthreshold", "A scorer calls `predict_proba` of the estimator.",
          of="make_scorer"),
    Meant("greaterisbetter", "The sign follows from the estimand: a larger score is better.", of="make_scorer"),
    # --- bins
    Meant("bins nbins numbins binning strategy", "There are no bins to choose; counts are evaluated by",
          (), "bayescal.cumulative.difference.from_counts(counts)", of="cumulative.difference"),
    Meant("bins nbins numbins", "Several numbers of bins are", ("n_bins=(10, 20)",), of="bin_sensitivity"),
    Meant("bins nbins numbins nbin bincount binedges edges", "Bins are chosen when rows are counted:",
          ("clinical.calibration_tests:groups", "bins", "n_bins"), f"{EVALUATE}, bins=10)` or `{COUNTS}, bins=10)"),
    Meant("ngroups g", "Groups of probabilities are", ("clinical.calibration_tests:groups",)),
    Meant("strategy binning binstrategy adaptive binningscheme", "How bins are chosen is",
          ("binning", "strategy"), f"{EVALUATE}, bins=10, binning='quantile')"),
    Meant("closed", "The side on which bins are closed belongs to the bins:", (),
          f"{EVALUATE}, bins=bayescal.make_bins(15, closed='right'))"),
    # --- what is drawn, and how often
    Meant(SEEDS, "The seed is", (), "monitor.evaluate(rng=1)", of="CalibrationMonitor.evaluate"),
    Meant(SEEDS, "The seed is", ("rng",), f"{EVALUATE}, rng=1)"),
    Meant("ndraws nsamples numsamples samples niter nboot bootstrap", "The number of draws is", (),
          "monitor.evaluate(draws=4000)", of="CalibrationMonitor.evaluate"),
    Meant("ndraws nsamples numsamples samples niter nboot bootstrap", "The number of draws is",
          ("draws", "simulations"), f"{EVALUATE}, draws=4000)"),
    Meant("nsimulations nsim", "The number of simulated data sets is", ("simulations", "draws"),
          f"{PLAN}, simulations=400)"),
    Meant("chains tune cores njobs ncores", "There are no chains: draws are independent, and their number is",
          (), f"{EVALUATE}, draws=4000)"),
    Meant("prior alpha", "The prior of the Dirichlet model is", ("alpha",),
          f"{EVALUATE}, model='dirichlet', alpha='jeffreys')",
          of="evaluate evaluate_counts evaluate_shifted evaluate_shifted_counts shift.label shift.label_counts "
          "shift.covariate survival.evaluate survival.evaluate_counts survival.compare compare compare_counts "
          "dirichlet_posterior bin_sensitivity planning.labels_needed"),
    Meant("prior priors priorrows", "The prior has the weight of a number of rows:", ("pseudo_rows",),
          of="decisions.net_benefit decisions.net_benefit_counts survival.net_benefit"),
    Meant("alpha prior", "Priors have names and options, as in", (),
          "result.sensitivity(priors={'dirichlet': {'j': {'alpha': 'jeffreys'}}})", of="Evaluation.sensitivity"),
    Meant("priorodds pool submodels interceptsd logslopesd densescale", "Priors have names and options, as in", (),
          "result.sensitivity(priors={'shrinkage': {'odds 4:1': {'prior_odds': 4.0}}})", of="Evaluation.sensitivity"),
    Meant("prior priors", "The prior of an evaluation is drawn by", (), "bayescal.plot_posterior(result, prior=True)",
          of="plot plot_reliability"),
    Meant("prior predictive", "Prior and predictions are in the tree of one evaluation:", (),
          f"{EVALUATE}).to_datatree(prior=True, predictive=True)", of="Comparison.to_datatree "
          "ComparisonOverDatasets.to_datatree ClasswiseEvaluation.to_datatree GroupedEvaluation.to_datatree"),
    Meant("prior underprior", "The prior of an evaluation is", ("under_prior()` or `to_datatree(prior=True)",),
          f"{EVALUATE}).under_prior()", of="bayescal Evaluation"),
    Meant("prior priors priorsd", "Priors are chosen by", ("prior", "prior_exact"),
          f"{EVALUATE}, model='dirichlet', alpha='jeffreys')` or "
          "`bayescal.clinical.recalibration(y_true, y_prob, prior=(2.5, 1.0))"),
    Meant("threshold", "An alarm is raised where the evidence is at least 1 / `level`:", (),
          "monitor.evidence(level=0.05)", of="CalibrationMonitor.evidence"),
    Meant("alpha level significance", "The probability of a false alarm is", ("level", "fdr"),
          of="CalibrationMonitor.evidence cumulative.screen"),
    Meant("level alpha significance", "The probability of an interval is given to the result:", (),
          "result.table(prob=0.9)", of="count_file labels.count_file shift.count_files"),
    Meant("alpha significance", "Intervals have the probability 1 - alpha:", ("prob=1 - alpha",),
          "result.table(prob=1 - alpha)"),
    Meant("limit", "A limit belongs to the result:", (), "monitor.confidence_sequence().above(0.02)",
          of="CalibrationMonitor.confidence_sequence"),
    Meant("baseline reference", "The earlier windows are", ("reference", "baseline"), "monitor.change(baseline=(0, 4))",
          of="CalibrationMonitor.evidence CalibrationMonitor.change"),
    Meant(f"{PROBS} alpha significance", "The result has no intervals.", of="CalibrationTests "
          "CorpDecomposition DistributionTests Evidence MurphyDecomposition SubpopulationScreen WeightReport"),
    Meant(PROBS, "The probability that all intervals hold is", ("prob=0.95",),
          "monitor.confidence_sequence(prob=0.9)", of="ConfidenceSequence CalibrationMonitor.confidence_sequence"),
    Meant(PROBS, "The probability that intervals are as narrow as planned for is", ("prob=0.95",),
          f"{PLAN}, prob=0.9)", of="Plan"),
    Meant(PROBS, "The probability that intervals are as narrow as planned for is", ("prob=0.95",),
          "bayescal.planning.checks_needed(evaluation, rows=100, prob=0.9)", of="CheckPlan"),
    Meant(PROBS, "The probability that intervals are as narrow as planned for is", ("prob=0.95",),
          "bayescal.planning.validation(prevalence=0.1, auc=0.8, width={'auc': 0.1}, prob=0.9)", of="ValidationPlan"),
    Meant(PROBS, "The probability of an interval is given to the result:", ("prob=0.95",), "result.ece.interval(0.9)` "
          "or `result.interval(prob=0.9)` or `result.table(prob=0.9)` or `result.band(prob=0.9)"),
    # --- quantities
    Meant("power assurance", "The probability that the goal is met is", ("assurance",), f"{PLAN}, assurance=0.8)"),
    Meant("norm ord order", "The norm is chosen by its order, which is 1 for the ECE:", ("plug_in_error:order",
          "estimands.lp_error:p"), f"{EVALUATE}).lp_error(2)` or `bayescal.plug_in_error(y_true, y_prob, order=2)"),
    Meant("debias debiased", "The plug-in value without its bias is", ("debiased",),
          "bayescal.plug_in_error(y_true, y_prob, order=2, debiased=True)"),
    Meant(ESTIMANDS, "The score is `score='brier'` or `score='log'`; errors of "
          "calibration are compared by", (), "bayescal.compare(labels, matrices)", of="scores.compare"),
    Meant(ESTIMANDS, "Methods of the result take it:", (), f"{COMPARE}).table(estimand='auc')",
          of="compare compare_counts compare_independent compare_over_datasets survival.compare"),
    Meant(ESTIMANDS, "Results have all estimands:", ("estimand", "estimands"), f"{EVALUATE}).auc"),
    Meant("score scoring", "The score is chosen by", (), "bayescal.scores.compare(labels, matrices, score='log')"),
    Meant("rope margin equivalence", "The region of practical equivalence is", ("rope",), f"{COMPARE}, rope=0.01)"),
    Meant("share", "The share of rows with larger errors is", (),
          f"bayescal.estimands.largest_error({EVALUATE}).bin_draws, share=0.05)"),
    Meant("nb netbenefit decisioncurve threshold thresholds difference delta puseful treatall",
          "The net benefit belongs to all models:", (), "summary.net_benefit", of="ModelParts"),
    Meant("threshold thresholds pt cutoff thresholdprobability", "Thresholds of decisions are",
          ("thresholds", "net_benefit.thresholds"), "bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2])"),
    Meant("prevalence casecontrolrho", "The net benefit takes the prevalence of case-control data:", (),
          "bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2], prevalence=0.1)", of="clinical"),
    Meant("prevalence casecontrolrho", "For case-control data, the prevalence is", ("prevalence",),
          "bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2], prevalence=0.1)"),
    Meant("harm harms testharm", "The harm of a test is", ("harm",),
          "bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2], harm=0.01)"),
    Meant("shift", "The shift of class frequencies is assumed by", (),
          "bayescal.shift.class_priors(y_true, y_prob, y_prob_target)"),
    Meant("selectiverisk riskcoverage riskcoveragecurve coverage selective selectiveprediction "
          "selectiveclassification rejection rejectioncurve reject rejectoption abstain abstention defer deferral "
          "learntodefer accuracycoverage accuracyrejection", "The risk if only the most confident predictions are kept "
          "is", ("risk[model]", "selective_risk(0.8)"),
          "bayescal.decisions.selective(correct, confidence, target='confidence')"),
    Meant("augrc aurc eaurc areaunderriskcoverage", "The area under the generalized risk-coverage curve is",
          ("augrc", "augrc[model]"), "bayescal.evaluate(correct, confidence, target='confidence').augrc"),
    Meant("largestshare maxcoverage coverageatrisk", "The largest share that can be kept at a risk is",
          ("largest_share(0.02)",), "bayescal.decisions.selective(correct, confidence, target='confidence')"
          ".largest_share(0.02)"),
    Meant("ece expectedcalibrationerror", "The ECE is", ("ece", "evaluation.ece"), f"{EVALUATE}).ece"),
    Meant("auc roc rocauc cstatistic cindex dxy", "The AUC (C statistic) is", ("auc", "evaluation.auc"),
          f"{EVALUATE}).auc"),
    Meant("brier brierscore", "The Brier score is", ("brier_score", "evaluation.brier_score"),
          f"{EVALUATE}).brier_score"),
    Meant("logscore logloss", "Right-censored rows have no log score.", of="survival"),
    Meant("logscore logloss", "The log score is", ("log_score", "evaluation.log_score"), f"{EVALUATE}).log_score"),
    Meant("mce maxcalibrationerror maximumcalibrationerror maximumerror maxerror", "`e90` is the largest error that 10 "
          "% of the population have; that of any row is", ("emax",), of="CalibrationCurve"),
    Meant("mce maxcalibrationerror maximumcalibrationerror", "No interval of the maximum calibration error (MCE) is "
          "reliable. `e90_bins` of a result is the 90th percentile of the error (E90 of bins); draws and plug-in value "
          "of the MCE are", (), f"bayescal.estimands.largest_error({EVALUATE}).bin_draws)` and "
          "`bayescal.plug_in_error(y_true, y_prob, order=float('inf'))"),
    Meant("ace adaptiveece adaptivecalibrationerror", "The average calibration error is no estimand of this package. "
          "The adaptive calibration error is", (), f"{EVALUATE}, binning='equal-mass').ece` or, for a matrix, "
          "`bayescal.evaluate(labels, matrix, target='classwise', binning='equal-mass').ece"),
    Meant("sce classwiseece staticcalibrationerror", "The classwise ECE is", (),
          "bayescal.evaluate(labels, matrix, target='classwise').ece"),
    Meant("marginalcalibrationerror marginalcalibration mcemarginal", "The marginal calibration error is",
          ("marginal_calibration_error()",), "bayescal.evaluate(labels, matrix, target='classwise')"
          ".marginal_calibration_error()"),
    Meant("pooledcalibration pooledece pooledcalibrationerror eventpooled microece", "The error of all pairs of a "
          "probability and an outcome is", ("pooled_error()",),
          "bayescal.evaluate(labels, matrix, target='classwise').pooled_error()"),
    Meant("cemp kuiper kuiperstatistic pkuiper", "The Kuiper statistic (c_emp) is", ("kuiper",),
          f"{CUMULATIVE}.kuiper"),
    Meant("ks kserror ksstatistic kolmogorovsmirnov kolmogorovsmirnovstatistic pkolmogorovsmirnov",
          "The Kolmogorov-Smirnov statistic is", ("kolmogorov_smirnov",), f"{CUMULATIVE}.kolmogorov_smirnov"),
    Meant("citl inthelarge calibrationinthelarge large meancalibration calibrationatlarge", "The calibration in the "
          "large is", ("in_the_large", "recalibration.in_the_large"), f"{RECALIBRATION}.in_the_large"),
    Meant("intercept calibrationintercept a alpha", "The intercept is", ("intercept", "recalibration.intercept"),
          f"{RECALIBRATION}.intercept", of="Recalibration ClinicalSummary ModelParts"),
    Meant("slope calibrationslope b beta", "The slope is", ("slope", "recalibration.slope"),
          f"{RECALIBRATION}.slope", of="Recalibration ClinicalSummary ModelParts"),
    Meant("intercept calibrationintercept", "The intercept is", (), f"{RECALIBRATION}.intercept"),
    Meant("slope calibrationslope", "The slope is", (), f"{RECALIBRATION}.slope"),
    Meant("recalibration", "Intercept and slope are", (), RECALIBRATION),
    Meant("calibrationcurve smoothcurve", "The smooth calibration curve is", (), CURVE),
    Meant("coef coefs coefficients params", "Coefficients are", ("intercept` and `slope",)),
    Meant("oe oeratio eo eoratio observedexpected observedexpectedratio", "The ratio of observed to expected events is",
          ("observed_expected", "recalibration.observed_expected"), f"{RECALIBRATION}.observed_expected"),
    Meant("prevalence events eventrate", "The share of events is `event_rate`, their number", ("n_events",)),
    Meant("ici eavg integratedcalibrationindex ece meanerror", "The integrated calibration index is",
          ("ici", "calibration_curve.ici"), f"{CURVE}.ici"),
    Meant("e50 medianerror emedian e05", "The median of the error of the curve is", ("e50", "calibration_curve.e50"),
          f"{CURVE}.e50"),
    Meant("e90", "The 90th percentile of the error is `e90_bins` over bins, and `e90` of", (), CURVE, of="Evaluation"),
    Meant("e90", "The 90th percentile of the error of the curve is", ("e90", "calibration_curve.e90"), f"{CURVE}.e90"),
    Meant("emax", "The largest error of the curve is", ("emax", "calibration_curve.emax"), f"{CURVE}.emax"),
    Meant("eci", "ECI is a mean of squared differences; the mean absolute difference is", ("ici",), f"{CURVE}.ici"),
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
          "p_spiegelhalter` and `p_hosmer_lemeshow", "p_d_calibration` and `p_a_calibration"),
          "bayescal.clinical.calibration_tests(y_true, y_prob).table()"),
    Meant("evalue evalues value", "E-values after each window are", ("values",), of="Evidence"),
    Meant("alarmed alarms", "Whether there is an alarm is", ("raised",), of="Evidence"),
    Meant("unreliability up sp sz pvalue pvalues p", "The evidence for calibration is", ("bayes_factor",),
          of="Recalibration"),
    Meant("sz spiegelhalter spiegelhalterz zvalue", "Spiegelhalter's Z is", ("z",),
          "bayescal.clinical.calibration_tests(y_true, y_prob).z"),
    Meant("sp pspiegelhalterz", "The P-value of Spiegelhalter's Z is", ("p_spiegelhalter",)),
    Meant("hl chisq chisquared chi2 xsquared hosmerlemeshow", "The Hosmer-Lemeshow statistic is",
          ("hosmer_lemeshow.chi_squared",), "bayescal.clinical.calibration_tests(y_true, y_prob).hosmer_lemeshow"),
    Meant("df parameter dof", "Degrees of freedom are", ("hosmer_lemeshow.df",)),
    Meant("standardised standardisednetbenefit standardizednetbenefit snb standardnetbenefit",
          "The standardized net benefit is", ("standardized[model]", "net_benefit.standardized[model]")),
    Meant("nb netbenefit netbenefits decisioncurve", "The net benefit is", ("net_benefit[model]",), of="NetBenefit"),
    Meant("nb netbenefit netbenefits decisioncurve", "The net benefit is", ("net_benefit",),
          "bayescal.decisions.net_benefit(y_true, y_prob, [0.1, 0.2])"),
    Meant("interventionsavoided netinterventionsavoided netinterventionavoided netreduction testsavoided",
          "Treatments avoided are", ("avoided[model]", "net_benefit.avoided[model]")),
    Meant("all treatall nball", "The net benefit of treating all is", ("treat_all", "net_benefit.treat_all")),
    Meant("none treatnone nbnone", "The net benefit of treating none is 0 at every threshold, that of treating all is",
          ("treat_all", "net_benefit.treat_all"), of="NetBenefit ClinicalSummary"),
    Meant(DIFFERENCES, "Differences between periods are",
          ("difference(first, second)",), "monitor.change((0, 4))", of="monitoring"),
    Meant(DIFFERENCES, "Several models are compared by", ("difference(first, second)",),
          "bayescal.decisions.net_benefit(y_true, models, [0.1, 0.2])", of="decisions"),
    Meant(DIFFERENCES, "Several models are compared by", ("net_benefit.difference(first, second)",),
          "bayescal.clinical.summary(y_true, models, [0.1, 0.2])", of="clinical"),
    Meant(DIFFERENCES, "Differences are",
          ("difference(first, second)", "net_benefit.difference(first, second)"), f"{COMPARE})"),
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
          ("curve",), of="CumulativePosterior SubpopulationPosterior"),
    Meant("cempbound", "It needs outcomes 0 and 1 and their probabilities. For other responses there are",
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
    Meant("pvalue pvalues p significance", "There is no P-value; the probability that the first classifier is better "
          "at each share is", (), "result.difference(first, second).pr(lambda gap: gap < 0)", of="SelectivePrediction"),
    Meant("pvalue pvalues p significance", "P-values of tests of the assumptions about a judge are",
          ("p_errors_alike", "p_checked_at_random"), of="JudgeReport"),
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
    Meant("waic psis psisloo crossvalidation loocv elpd", "Leave-one-out cross-validation is", ("loo()",)),
    Meant("loo waic psis psisloo crossvalidation loocv elpd", "Leave-one-out cross-validation is a method of an "
          "evaluation:", (), f"{EVALUATE}).loo()", of="bayescal"),
    Meant("sensitivity priorsensitivity", "Models and priors are compared by a method of an evaluation:", (),
          f"{EVALUATE}).sensitivity()", of="bayescal"),
    Meant("plotmodelsensitivity plotsensitivity", "Models and priors are drawn by", (),
          f"bayescal.plot({EVALUATE}).sensitivity())", of="bayescal"),
    Meant("priorpredictive posteriorpredictive loglikelihood ppc samplepriorpredictive sampleposteriorpredictive",
          "Prior, predictions and log likelihood are in", ("predictive=True", "to_datatree(prior=True, "
          "predictive=True)"), f"{EVALUATE}).to_datatree(prior=True, predictive=True)", of="bayescal Evaluation"),
    Meant("sample mcmc nuts", "Chains are run by `pymc.sample(model=model)`; the model is", ("to_pymc()",),
          "bayescal.pymc_model(bayescal.evaluate(y_true, y_prob))", of="bayescal Evaluation Recalibration"),
    Meant("dirichletmodel shrinkagemodel calibratedmodel", "The model in PyMC is written by", ("to_pymc()",),
          of="Evaluation"),
    Meant("idata inferencedata posterior toinferencedata toarviz toxarray tonetcdf todataset", "Draws for ArviZ "
          "are", ("to_datatree()",)),
    Meant("pymc pymcmodel aspymc graphviz mermaid modelgraph", "The model in PyMC is written by", ("to_pymc()",),
          "bayescal.pymc_model(bayescal.evaluate(y_true, y_prob))"),
    *(Meant(name.replace("_", ""), "Models in PyMC take counts:", (), f"bayescal.verify.{name}(counts)")
      for name in ("dirichlet_model", "shrinkage_model", "calibrated_model")),
    *(Meant(words, "Statistics belong to the draws of one quantity:", ("prob=0.95",) if "interval" in words else (),
            f"{draws}.{statistic}", of=kinds)
      for kinds, draws in DRAWS.items() for words, statistic in STATISTICS.items()),
    # --- pictures
    Meant("plot figure picture", "Results have pictures, as in", (), "bayescal.plot(monitor.evidence())",
          of="CalibrationMonitor"),
    Meant("plot figure picture", "This result has no picture.", of=NO_PICTURE),
    Meant("plot figure picture", "Pictures of results are drawn by", (), "bayescal.plot(result)"),
)
# fmt: on
BINNINGS = {"uniform": "equal-width", "quantile": "equal-mass"}  #: scikit-learn's names of ways to choose bins.
#: What else to say about a call with missing or surplus arguments.
CALLS = {
    "evaluate_shifted": "State what differs between source and target: `shift='label'` if it is the class frequencies "
    "alone, `shift='covariate'` with `weights=` if it is the distribution of the features. Labels of the target are "
    "not used.",
    "labels.partly_observed": "State what missing outcomes are like, because the data cannot tell. `missing='score'`: "
    "known ones at equal scores. `missing='covariates'` with `weights=`: known ones at equal covariates. "
    "`missing='not_at_random'` with `odds_ratio=` or `prior_sd=`: their odds differ by a factor.",
    "evaluate_shifted_counts": "State `shift='label'`: counts of classes and cells suffice for label shift only.",
    "planning.labels_needed": "It takes the counts of a pilot, as in "
    "`planning.labels_needed(evaluate(y_true, y_prob).counts, width=0.02)`.",
    "cumulative.screen": "It compares every group of a column.",
    **{
        f"{result}.{name}": f"Pass both ends of the interval, as in `{name}(0.2, 0.6)`."
        for result in ("CumulativeDifference", "SubpopulationDifference", "SubpopulationComparison")
        for name in ("slope", "zoom")
    },
    "CalibrationMonitor.evidence": "A reference is `reference=(start, end)`.",
    **dict.fromkeys(
        ("shift.evidence", "shift.class_priors", "shift.label", "shift.covariate"), "Labels of the target are not used."
    ),
}
