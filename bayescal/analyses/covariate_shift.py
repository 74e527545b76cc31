"""Covariate shift: weighted source rows and confidences of a target -> counts -> evaluation of the target."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.analyses.weight_report import report_of
from bayescal.data.confidences import read_confidences
from bayescal.data.predictions import Predictions, read_rows
from bayescal.results.covariate_shift import CovariateShiftEvaluation
from bayescal.results.weight_report import FEWEST_ROWS, WeightReport
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.target_counts import TargetCounts

#: Largest share of the target rows in bins without source rows.
REFUSED = 0.5


class WeightsWarning(UserWarning):
    """Weights are so uneven that results with them are not reliable; see `weight_report`."""


def evaluate_covariate_shift(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    weights: Any,
    names: tuple[str, str] = ("y_prob_target", "weights"),
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
    """Evaluate a target population; see `bayescal.evaluate_shifted`, which calls it with ``shift="covariate"``.

    Parameters
    ----------
    y_true, y_prob : array-like
        Labels and probabilities of the source rows.
    y_prob_target : array-like
        Probabilities of the target rows, of the same classifier.
    weights : array-like, shape (n_rows,)
        Density of the target divided by that of the source, at each source row, up to a factor.
    names : (str, str)
        Names of the last two arguments in messages.
    target, classes, logits, bins, binning, model, draws, rng, **options
        As for `evaluate`.
    """
    if weights is None:
        raise ValueError(
            f"`{names[1]}` is needed for `shift='covariate'`: the density of the target divided by that of the source "
            "at each source row, up to a factor. Weights of 1 assume that the probability of the outcome at a score is "
            "the same in both."
        )
    rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    checked = rows.checked().scale_free()
    confidence = read_confidences(names[0], y_prob_target, target=checked.target, logits=logits)
    assert checked.weight is not None  # `weights` were given
    report = report_of(checked.weight)
    _require_evidence(report, names[1])
    source = count_rows(checked, _edges(checked, confidence, bins, binning), "equal-width", ranked=True)
    counts = TargetCounts.from_confidences(source, confidence)
    _require_overlap(counts, names[0])
    evaluation = evaluate_one(counts, model=model, draws=draws, rng=rng, **options)
    return CovariateShiftEvaluation.of(evaluation, report)


def _edges(rows: Predictions, confidence: NDArray[Any], bins: Any, binning: str) -> Bins:
    """Make the bins: with equal numbers of target rows, or with equal effective numbers of source rows."""
    if binning == "equal-effective-mass":
        return make_bins(bins, binning=binning, confidence=rows.confidence, weights=rows.weight)
    return make_bins(bins, binning=binning, confidence=confidence)


def _require_evidence(report: WeightReport, name: str) -> None:
    """Refuse weights that leave too few effective rows; warn about weights that are not reliable."""
    if report.effective_rows < FEWEST_ROWS:
        raise ValueError(
            f"`{name}` must leave at least {FEWEST_ROWS} effective rows; the {report.n_rows} rows are worth "
            f"{report.effective_rows:.3g}, and the largest weight has {100 * report.largest_share:.2g} % of the total. "
            "Source and target overlap too little: label rows of the target, and use `evaluate`."
        )
    for text in report.warnings:
        warnings.warn(f"{text} See `weight_report`.", WeightsWarning, skip_file_prefixes=_checks.PACKAGE)


def _require_overlap(counts: TargetCounts, name: str) -> None:
    """Refuse a target most of whose rows have scores that no source row has."""
    if counts.uncovered > REFUSED:
        empty = int(np.count_nonzero(counts.occupied & ~counts.source.occupied))
        raise ValueError(
            f"`{name}` must have scores like those of the source: {100 * counts.uncovered:.0f} % of its "
            f"{counts.n_target_rows} rows are in {empty} bins without source rows of positive weight, and at most "
            f"{100 * REFUSED:g} % may be. Use fewer bins, or label rows of the target."
        )
