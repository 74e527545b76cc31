"""Covariate shift: weighted source rows and confidences of a target -> counts -> evaluation of the target."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _render
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.class_names import refuse_contradiction
from bayescal.data.frames import column_names
from bayescal.data.predictions import Predictions, TopLabels, read_rows
from bayescal.shift.covariate_shift_result import CovariateShiftEvaluation
from bayescal.shift.rows import (
    TARGET,
    is_certain,
    refuse_certain,
    refuse_labels,
    require_overlap,
    target_event,
    target_matrix,
)
from bayescal.shift.target_counts import TargetCounts
from bayescal.shift.weights import report_of
from bayescal.shift.weights_result import FEWEST_ROWS, WeightReport
from bayescal.stats.bins import Bins, make_bins


class WeightsWarning(UserWarning):
    """Weights are so uneven that results with them are not reliable; see `weight_report`."""


def evaluate_covariate_shift(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    weights: Any = None,
    target: str | None = None,
    classes: Any = None,
    logits: bool = False,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> CovariateShiftEvaluation:
    """Evaluate a target in which the features have a different distribution; see `evaluate_shifted`."""
    if weights is None:
        raise ValueError(
            "`weights` are needed for `shift='covariate'`: the density of the target divided by that of the source at "
            "each row of the source, up to a factor. Equal weights, `weights=np.ones(len(y_true))`, assume that the "
            "probability of the outcome at a score is the same in both."
        )
    given = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    if not logits:
        refuse_labels(y_prob, y_prob_target)
    rows = given.checked().scale_free()
    if isinstance(given, TopLabels):
        matrix, reading = target_matrix(y_prob_target, given.rows.n_classes, column_names(y_prob), logits)
        confidence = matrix.max(axis=1)
        refuse_contradiction(column_names(y_prob_target), given.rows.classes, name=TARGET)
    else:
        matrix, reading = target_event(y_prob_target, logits)
        confidence = matrix[:, 1]
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
    return CovariateShiftEvaluation.of(evaluation, report)


def _edges(rows: Predictions, confidence: NDArray[Any], bins: Any, binning: str) -> Bins:
    """Make the bins: with equal numbers of target rows, or with equal effective numbers of source rows."""
    if binning == "equal-effective-mass":
        return make_bins(bins, binning=binning, confidence=rows.confidence, weights=rows.weight)
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
