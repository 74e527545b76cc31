"""Covariate shift: weighted source rows and confidences of a target -> counts -> evaluation of the target."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Array, Classes
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.predictions import Predictions, TopLabels, read_rows
from bayescal.results.evaluation import extended
from bayescal.results.remarks import mistake_remarks, reading_remarks, remarks_of
from bayescal.shift.rows import is_certain, refuse_certain, refuse_labels, require_overlap, target_like
from bayescal.shift.target import TargetCounts, TargetEvaluation, few_labelled_rows
from bayescal.shift.weights import FEWEST_ROWS, WeightReport, report_of
from bayescal.stats.bins import VALUES, Bins, make_bins

MOST_UNCOVERED = 0.05  #: Share of the target rows in bins without source rows above which the interval is doubtful.
#: What no interval under covariate shift includes.
UNSEEN = (
    "The interval accounts neither for the uncertainty of the weights, nor for differences in features from which the "
    "weights were not computed."
)


@public
@dataclass(frozen=True, eq=False, repr=False)
class CovariateShiftEvaluation(TargetEvaluation):
    """The posterior of how well a classifier is calibrated in a target population under covariate shift.

    Returned by `bayescal.shift.covariate`. It is an `Evaluation` whose bins have the masses and mean
    confidences of the target, and the accuracies of the weighted source rows: every estimand, plot and table of an
    `Evaluation` is available. The area under the ROC curve, and the mean losses within bins, are those of the weighted
    source rows; the variance of the area includes that weights depend on the score.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`; `counts` have the masses of the target, and accuracies from weighted rows of the source.
    weight_report : WeightReport
        Effective number of rows, largest weight and Pareto shape of the weights.
    """

    counts: TargetCounts
    weight_report: WeightReport | None = None

    population: ClassVar[str] = " in a target under covariate shift"

    @property
    def question(self) -> str:
        """Estimand, bins, rows of source and target, and model, in words."""
        counts = self.counts
        model = f"{self.model} model ({self.posterior.prior})" if self.posterior.prior else f"{self.model} model"
        return (
            f"{counts.target} ECE{self._of_label}{self.population}, {counts.bins}, N = "
            f"{counts.n_target_rows} target rows and {counts.n_rows} source rows (weighted, effective N = "
            f"{counts.labelled_rows:.0f}), {model}"
        )

    @property
    def _subject(self) -> str:
        return (
            "If the distribution of the features alone differs, the Expected Calibration Error"
            f"{self._of_label} in the target"
        )

    def _more(self, prob: float) -> dict[str, Any]:
        return {"weight_report": None if self.weight_report is None else self.weight_report.table()}

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        return {} if self.weight_report is None else {"Weights of the source": self.weight_report.sheet()}

    def _row_numbers(self) -> dict[str, object]:
        counts = self.counts
        labelled = {"source rows": counts.n_rows, "effective source rows": f"{counts.labelled_rows:.0f}"}
        return {"target rows": counts.n_target_rows, **labelled}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table."""
        counts, texts = self.counts, [] if self.weight_report is None else [*self.weight_report.remarks]
        texts += [*remarks_of(counts, self.model), *mistake_remarks(counts.source)]
        texts += [f"Target: {text}" for text in reading_remarks(counts.target_reading, counts.n_target_rows)]
        texts += few_labelled_rows(counts.labelled_rows, counts, self.model)
        if counts.uncovered > 0:
            weak = " Intervals may contain the truth less often than stated." * (counts.uncovered > MOST_UNCOVERED)
            texts.append(
                f"{_render.percent(counts.uncovered)} of the target rows are in bins without source rows of positive "
                "weight: their calibration is taken from the other bins and the prior, and the plug-in estimate leaves "
                f"it out.{weak}"
            )
        return (*texts, UNSEEN)


class WeightsWarning(UserWarning):
    """Weights are so uneven that results with them are not reliable; see `weight_report`."""


@public
def covariate(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    weights: Any,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
    **options: Any,
) -> CovariateShiftEvaluation:
    """Compute the posterior of the calibration error in a target with another distribution of the features.

    Under covariate shift, rows with equal features have the same probability of each class in source and target.

    Parameters
    ----------
    y_true, y_prob, y_prob_target
        As for `class_priors`.
    weights : array-like of float, shape (n_source,)
        The density of the target divided by that of the source at each row of the source, up to a factor.
    target : {"event", "top-label", "confidence"}, optional
        As for `evaluate`.
    bins, binning, model, draws, rng, classes, logits
        As for `evaluate`. ``binning="equal-mass"`` divides the rows of the target.
    **options
        Options of the model, as for `evaluate`.

    Returns
    -------
    CovariateShiftEvaluation
        An `Evaluation` of the target, of the event or of the top label.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; if more than half of the rows of the target are in bins without labelled
        rows, or `weights` leave fewer than 30 effective rows.

    Warns
    -----
    WeightsWarning
        If weights are too uneven to be reliable; see `weight_report`.

    See Also
    --------
    bayescal.shift.label : If the class frequencies alone differ.
    bayescal.shift.weight_report : The evidence of weighted rows.
    bayescal.evaluate : If labels of the target are known.

    Notes
    -----
    Mean confidences of the bins are those of the target's rows. The accuracies are those of the weighted labelled rows
    [1]_, with Kish's effective number of rows. The uncertainty of the weights is not part of the interval, nor are
    differences in features from which the weights were not computed.

    References
    ----------
    .. [1] H. Shimodaira (2000), "Improving predictive inference under covariate shift by weighting the log-likelihood
       function", Journal of Statistical Planning and Inference 90, 227-244.

    Examples
    --------
    A feature has the mean 0 in the source and 1 in the target, and the classifier ignores half of its effect:

    >>> x, x_target = rng.standard_normal(2000), rng.standard_normal(5000) + 1
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-2 * x))
    >>> p, p_target = (1 / (1 + np.exp(-each)) for each in (x, x_target))
    >>> bc.shift.covariate(y, p, p_target, weights=np.exp(x), rng=1).ece.interval(0.95)
    (0.0..., 0.1...)
    """
    if weights is None:
        raise ValueError(
            "`weights` are needed under covariate shift: the density of the target divided by that of the source at "
            "each row of the source, up to a factor. Equal weights, `weights=np.ones(len(y_true))`, assume that the "
            "probability of the outcome at a score is the same in both."
        )
    labelled = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    if not logits:
        refuse_labels(y_prob, y_prob_target)
    rows = labelled.checked().scale_free()
    classes = labelled.rows.classes if isinstance(labelled, TopLabels) else None
    matrix, reading = target_like(y_prob, y_prob_target, classes, logits)
    confidence = matrix[:, 1] if classes is None else matrix.max(axis=1)
    if not logits:
        refuse_certain((is_certain(rows.confidence), is_certain(confidence)), (len(rows.confidence), len(confidence)))
    assert rows.weight is not None  # `weights` were given
    report = report_of(rows.weight)
    _require_evidence(report)
    source = count_rows(rows, _edges(rows, confidence, bins, binning), "equal-width", ranked=True)
    counts = TargetCounts.from_confidences(source, confidence, reading)
    empty = int(np.count_nonzero(counts.occupied & ~counts.source.occupied))
    require_overlap(counts.uncovered, counts.n_target_rows, empty, "labelled rows of positive weight")
    evaluation = evaluate_one(counts, model=model, draws=draws, rng=rng, **options)
    return extended(CovariateShiftEvaluation, evaluation, weight_report=report)


def _edges(rows: Predictions, confidence: Array, bins: Any, binning: str) -> Bins:
    """Make the bins: with equal numbers of target rows, or with equal effective numbers of source rows."""
    if binning == "equal-effective-mass":
        return make_bins(bins, binning=binning, confidence=rows.confidence, weights=rows.weight)
    if binning == VALUES:  # of the rows of both
        confidence = np.concatenate([rows.confidence, confidence])
    return make_bins(bins, binning=binning, confidence=confidence)


def _require_evidence(report: WeightReport) -> None:
    """Refuse weights that leave too few effective rows; warn about weights that are not reliable."""
    if report.effective_rows < FEWEST_ROWS:
        raise ValueError(
            f"`weights` must leave at least {FEWEST_ROWS} effective rows; the {report.n_rows} rows are worth "
            f"{report.effective_rows:.3g}, and the largest weight has {_render.percent(report.largest_share)} of the "
            "total. Source and target overlap too little: label rows of the target, and use `evaluate`."
        )
    for text in report.remarks:
        warnings.warn(f"{text} See `weight_report`.", WeightsWarning, skip_file_prefixes=_checks.PACKAGE)
