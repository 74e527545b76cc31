import bayescal.analyses.compare
import bayescal.analyses.plug_in
import bayescal.analyses.recalibrators
import bayescal.analyses.sensitivity
import bayescal.data.predictions
import bayescal.draws
import bayescal.posterior.dirichlet
import bayescal.posterior.shrinkage.model
import bayescal.report.comparison
import bayescal.report.sensitivity
import bayescal.results.classwise
import bayescal.results.grouped
import bayescal.results.over_datasets
import bayescal.results.sensitivity
import bayescal.shift.analysis
import bayescal.shift.label_shift
import bayescal.stats.bins
import bayescal.stats.classwise
import bayescal.stats.clusters
import bayescal.stats.paired

from . import clinical as clinical
from . import cumulative as cumulative
from . import datasets as datasets
from . import decisions as decisions
from . import estimands as estimands
from . import labels as labels
from . import monitoring as monitoring
from . import planning as planning
from . import plugins as plugins
from . import read as read
from . import scores as scores
from . import shift as shift
from . import survival as survival
from . import verify as verify
from ._invalid import InvalidRows as InvalidRows
from ._version import __version__ as __version__
from .analyses.compare import compare as compare
from .analyses.compare import compare_counts as compare_counts
from .analyses.plug_in import plug_in_ece as plug_in_ece
from .draws import Draws as Draws
from .evaluate import evaluate as evaluate
from .evaluate import evaluate_counts as evaluate_counts
from .report.comparison import plot_comparison as plot_comparison
from .report.display import CalibrationDisplay as CalibrationDisplay
from .report.forest import plot_forest as plot_forest
from .report.plot import plot as plot
from .report.posterior import plot_posterior as plot_posterior
from .report.reliability import plot_reliability as plot_reliability
from .results.comparison import Comparison as Comparison
from .results.evaluation import Evaluation as Evaluation
from .stats.binned import BinnedCounts as BinnedCounts
from .stats.bins import make_bins as make_bins
from .stats.files import count_file as count_file
from .stats.stored import load_counts as load_counts
from .stats.stored import save_counts as save_counts
from .verify.models import pymc_model as pymc_model

# former names, which `bayescal._lazy` reads here: they are not in `dir(bayescal)`
CalibrationCurve = clinical.CalibrationCurve
CalibrationTests = clinical.CalibrationTests
ClinicalSummary = clinical.ClinicalSummary
CurveBand = clinical.CurveBand
GroupedRecalibration = clinical.GroupedRecalibration
LogitCounts = clinical.LogitCounts
ModelParts = clinical.ModelParts
Recalibration = clinical.Recalibration
calibration_curve = clinical.calibration_curve
calibration_tests = clinical.calibration_tests
clinical_summary = clinical.summary
logit_bins = clinical.logit_bins
plot_calibration_curve = clinical.plot_calibration_curve
plot_recalibration = clinical.plot_recalibration
recalibration = clinical.recalibration
recalibration_counts = clinical.recalibration_counts
CumulativeBand = cumulative.CumulativeBand
CumulativeDifference = cumulative.CumulativeDifference
CumulativePosterior = cumulative.CumulativePosterior
SubpopulationDifference = cumulative.SubpopulationDifference
SubpopulationScreen = cumulative.SubpopulationScreen
cumulative_difference = cumulative.difference
cumulative_difference_subpopulation = cumulative.subpopulation
plot_cumulative = cumulative.plot_cumulative
rows_for_c_emp = cumulative.rows_for_c_emp
screen_subpopulations = cumulative.screen
GroupedNetBenefit = decisions.GroupedNetBenefit
LossRatio = decisions.LossRatio
NetBenefit = decisions.NetBenefit
ThresholdCounts = decisions.ThresholdCounts
loss_ratio = decisions.loss_ratio
net_benefit = decisions.net_benefit
net_benefit_counts = decisions.net_benefit_counts
plot_decision_curve = decisions.plot_decision_curve
plot_loss_ratio = decisions.plot_loss_ratio
Estimand = estimands.Estimand
auc = estimands.auc
auc_grid_error = estimands.auc_grid_error
debiased_squared_l2_error = estimands.debiased_squared_l2_error
e90_bins = estimands.e90_bins
ece = estimands.ece
l2_error = estimands.l2_error
largest_error = estimands.largest_error
lp_error = estimands.lp_error
overconfidence = estimands.overconfidence
register_estimand = estimands.register
signed_error = estimands.signed_error
squared_l2_error = estimands.squared_l2_error
underconfidence = estimands.underconfidence
CalibrationMonitor = monitoring.CalibrationMonitor
ConfidenceSequence = monitoring.ConfidenceSequence
Evidence = monitoring.Evidence
plot_confidence_sequence = monitoring.plot_confidence_sequence
plot_evidence = monitoring.plot_evidence
Plan = planning.Plan
labels_needed = planning.labels_needed
CorpDecomposition = scores.CorpDecomposition
MultiClassScore = scores.MultiClassScore
MurphyDecomposition = scores.MurphyDecomposition
ScoreComparison = scores.ScoreComparison
brier_decomposition = scores.brier_decomposition
compare_scores = scores.compare
log_score_decomposition = scores.log_decomposition
multiclass_brier_score = scores.multiclass_brier
multiclass_log_score = scores.multiclass_log
murphy_decomposition = scores.murphy_decomposition
ClassPriors = shift.ClassPriors
CovariateShiftEvaluation = shift.CovariateShiftEvaluation
LabelShiftClasses = shift.LabelShiftClasses
LabelShiftEvaluation = shift.LabelShiftEvaluation
ShiftCells = shift.ShiftCells
ShiftCounts = shift.ShiftCounts
ShiftEvidence = shift.ShiftEvidence
WeightReport = shift.WeightReport
class_priors = shift.class_priors
class_priors_counts = shift.class_priors_counts
count_shift_files = shift.count_files
shift_evidence = shift.evidence
weight_report = shift.weight_report
SurvivalComparison = survival.SurvivalComparison
SurvivalCounts = survival.SurvivalCounts
SurvivalEvaluation = survival.SurvivalEvaluation
SurvivalHorizons = survival.SurvivalHorizons
compare_survival = survival.compare
count_survival_file = survival.count_file
evaluate_survival = survival.evaluate
evaluate_survival_counts = survival.evaluate_counts
plot_horizons = survival.plot_horizons
risk_at_horizon = survival.risk_at_horizon
bin_sensitivity = bayescal.analyses.sensitivity.bin_sensitivity
compare_independent = bayescal.analyses.compare.compare_independent
compare_over_datasets = bayescal.analyses.compare.compare_over_datasets
plug_in_error = bayescal.analyses.plug_in.plug_in_error
IsotonicRecalibration = bayescal.analyses.recalibrators.IsotonicRecalibration
LogisticRecalibration = bayescal.analyses.recalibrators.LogisticRecalibration
Predictions = bayescal.data.predictions.Predictions
BinDraws = bayescal.draws.BinDraws
dirichlet_posterior = bayescal.posterior.dirichlet.dirichlet_posterior
shrinkage_posterior = bayescal.posterior.shrinkage.model.shrinkage_posterior
plot_bin_sensitivity = bayescal.report.sensitivity.plot_bin_sensitivity
plot_over_datasets = bayescal.report.comparison.plot_over_datasets
BinSensitivity = bayescal.results.sensitivity.BinSensitivity
ClasswiseEvaluation = bayescal.results.classwise.ClasswiseEvaluation
GroupedEvaluation = bayescal.results.grouped.GroupedEvaluation
ModelSensitivity = bayescal.results.sensitivity.ModelSensitivity
ComparisonOverDatasets = bayescal.results.over_datasets.ComparisonOverDatasets
evaluate_shifted = bayescal.shift.analysis.evaluate_shifted
evaluate_shifted_counts = bayescal.shift.label_shift.evaluate_shifted_counts
Bins = bayescal.stats.bins.Bins
equal_effective_mass_edges = bayescal.stats.bins.equal_effective_mass_edges
equal_mass_edges = bayescal.stats.bins.equal_mass_edges
ClasswiseCounts = bayescal.stats.classwise.ClasswiseCounts
ClusterSums = bayescal.stats.clusters.ClusterSums
PairedCounts = bayescal.stats.paired.PairedCounts
