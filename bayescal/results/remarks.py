"""Remarks: warnings about the interval of a result, derived from its counts and its model."""

from collections.abc import Iterable, Mapping

import numpy as np

from bayescal import _render
from bayescal._texts import text_of
from bayescal.data.reading import Reading, reading_of
from bayescal.estimands.area_under_roc import auc_grid_error, grid_of
from bayescal.estimands.errors import SHARE_OF_E90, e90_bins
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.selective import augrc_grid_error
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts, HasSpread
from bayescal.stats.ranks import Ranks

SMALL_GRID_ERROR = 0.001  #: Error of the AUC up to which no remedy is named.
#: Thresholds of remarks: share of rows in bins of mean confidence near 0 or 1, and the distance that counts as near;
#: effective rows per bin; effective rows.
SATURATED_SHARE, NEAR_CERTAINTY, FEW_ROWS_PER_BIN, FEW_ROWS = 0.9, 0.002, 10, 30
FEW_CLUSTERS = 40  #: Effective number of clusters below which intervals of rows in clusters are doubtful.
#: Observed gaps differ clearly by this many standard errors of a calibrated bin, if the variance of its number of
#: positive rows is at least this.
CLEAR_GAP, LEAST_VARIANCE = 5, 5
#: Remarks on mistakes: least number of rows, and of effective rows of each outcome; mean of l - l^2 up to which all
#: probabilities count as 0 or 1; share of wrong rows up to which they count as outcomes; and the same for other
#: probabilities, as a share of the variance of the outcomes.
ROWS_JUDGED, OF_EACH_OUTCOME, CERTAIN_SPREAD, OUTCOMES_SHARE, OUTCOMES_VARIANCE = 20, 10, 1e-12, 0.01, 0.005
CLEARLY_REVERSED_AUC = 3.29  #: Standard errors by which the AUC must be below 0.5: the upper end of a 99.9 % interval.
#: What an AUC below 0.5 suggests, by target; that of a top label says how well errors are recognised.
REVERSED = {
    "event": "Are these the probabilities of the other outcome?",
    "confidence": "Does the outcome mark wrong predictions, in place of right ones?",
    "classwise": "Are the columns of probabilities in the order of the classes?",
}
#: Share of the rows of a bin about whose inside a remark may be made, and the slope of outcomes on confidences inside a
#: bin, minus 1, if the confidences are in reverse order.
MOST_ROWS_OF_BIN, REVERSED_SLOPE = 0.5, 2.0
ROUNDING = 1e-9  #: Tolerance for rounding of shares.
NAMED_RESULTS = 3  #: Maximum number of results named at the beginning of a remark that they share.


def remarks_of(counts: Counts, model: str) -> tuple[str, ...]:
    """Return remarks of one or two sentences on one result; empty if no problem is known."""
    about_rows = (*cluster_remarks(counts), *row_remarks(counts))
    if not counts.n_rows:
        return about_rows
    of_model = _REMARKS if model == "shrinkage" else ()
    texts = (remark(counts) for remark in (hidden_errors, *of_model))
    return (*about_rows, *(text for text in texts if text is not None))


def row_remarks(counts: Counts) -> tuple[str, ...]:
    """State how the probabilities were read, and ask about mistakes: `reading_remarks` and `mistake_remarks`."""
    return (*reading_remarks(reading_of(counts), counts.n_rows), *mistake_remarks(counts))


def reading_remarks(reading: Reading, n: int) -> tuple[str, ...]:
    """State how many of the `n` rows of a matrix were divided by their sum, and logits of which none is above 0."""
    texts = []
    if reading.divided:
        texts.append(
            f"{reading.divided} of {n} rows sum to 1 only up to rounding (largest deviation {reading.deviation:.2g}); "
            "the rows were divided by their sums."
        )
    if n >= ROWS_JUDGED and reading.not_above_half == n:
        texts.append("All logits are <= 0: no probability exceeds 0.5; log-probabilities need exp instead.")
    if n >= ROWS_JUDGED and reading.like_probabilities == n:
        texts.append("All logits lie in [0, 1], as probabilities do; as logits, they are probabilities of 0.5 to 0.73.")
    return tuple(texts)


def mistake_remarks(counts: Counts) -> tuple[str, ...]:
    """Ask about outcomes or hard predictions in place of probabilities, and about those of the other outcome."""
    if not isinstance(counts, BinnedCounts) or counts.n_rows < ROWS_JUDGED or not counts.occupied.any():
        return ()
    texts = (_certain(counts), _reversed(counts))
    return tuple(text for text in texts if text is not None)


def _certain(counts: BinnedCounts) -> str | None:
    """Judge the squared errors of rows: l and l^2 have one sum if, and only if, every probability is 0 or 1."""
    if counts.losses is None:
        return None
    weight, error = float(counts.weight.sum()), float(counts.losses.total.sum())
    wrong, both = error / weight, (counts.weight.sum(axis=1) > 0).all()
    if error - float(counts.losses.squares.sum()) <= CERTAIN_SPREAD * weight:
        if wrong > OUTCOMES_SHARE or not (both or counts.target == "top-label"):
            return text_of("hard predictions")
        n = counts.n_rows
        equal = f"{n - round(error)} of {n}" if not counts.weighted else f"{_render.percent(1 - wrong)} of the"
        if counts.target == "top-label":
            return (
                f"All probabilities are exactly 0 or 1, and {equal} predictions are right. Were labels passed as "
                "probabilities?"
            )
        return f"The probabilities equal the outcomes in {equal} rows. Were outcomes passed as probabilities?"
    rate = float(counts.weight[1].sum()) / weight
    if both and wrong <= OUTCOMES_VARIANCE * rate * (1 - rate):
        return (
            f"The probabilities differ from the outcomes by only {np.sqrt(wrong):.2g} (root mean square). Were "
            "outcomes passed as probabilities?"
        )
    return None


def _reversed(counts: BinnedCounts) -> str | None:
    """Judge the area under the ROC curve: a test of 0.5 whose false alarms are at most about 1 in 2000."""
    question = REVERSED.get(counts.target)
    ranks = counts.ranks or Ranks.of_bins(counts.bins, counts.weight, counts.weight_sq)
    if question is None or not ranks.both_outcomes or ranks.rows.min() < OF_EACH_OUTCOME:
        return None
    # the variance if both outcomes have the same distribution of scores, or that of the placements, if it is larger
    zero, one = ranks.rows
    variance = max((zero + one + 1) / (12 * zero * one), float((ranks.sampling_spread / ranks.rows).sum()))
    effect = 1.0 if counts.clusters is None else max(ranks.design_effect or counts.clusters.total_effect, 1.0)
    if ranks.auc + ranks.grid_error + CLEARLY_REVERSED_AUC * np.sqrt(effect * variance) >= 0.5:
        return None
    return f"The AUC is {ranks.auc:.2g}, clearly below 0.5. {question}"


def cluster_remarks(counts: Counts) -> tuple[str, ...]:
    """State the clusters of rows and how they change the evidence; warn about few clusters. Empty without clusters."""
    clusters, stated = clusters_of(counts), stated_clusters(counts)
    if clusters is None or stated is None:
        return ()
    few = (
        f"With fewer than {FEW_CLUSTERS} clusters the intra-cluster correlation is uncertain, and intervals may be too "
        "narrow."
    )
    return (stated, few) if clusters.effective_number < FEW_CLUSTERS else (stated,)


def stated_clusters(counts: Counts) -> str | None:
    """State the number of clusters, the correlation within them and the design effect; None without clusters."""
    clusters = clusters_of(counts)
    if clusters is None or not counts.n_rows:
        return None
    if clusters.number == counts.n_rows:
        return (
            f"Each of the {clusters.number} clusters has a single row, so that intervals of calibration errors are "
            "those of independent rows. If some rows belong together, this is not the column that says so."
        )
    inside = rows_in_clusters(counts.n_rows, clusters.number, weighted=counts.weighted)
    return (
        f"{inside}. The intra-cluster correlation of residuals is {clusters.icc:.2g}, and the design effect of the "
        f"mean residual is {clusters.total_effect:.3g}."
    )


def rows_in_clusters(n_rows: int, number: int, *, weighted: bool) -> str:
    """State the number of clusters, and their mean size; with weights, rows of weight 0 belong to none of them."""
    return f"The rows are in {number} clusters" + ("" if weighted else f" ({n_rows / number:.3g} rows on average)")


def grid_remarks(counts: Counts, estimands: Iterable[Estimand]) -> list[str]:
    """Return remarks on estimands of the order of rows, if the grid of the counts ties them."""
    asked, errors = {name for each in estimands for name in (each.name, *each.needs)}, {}
    if "outcomes" in asked:
        errors["AUC"] = auc_grid_error(counts)
    if "augrc" in asked:
        errors["AUGRC"] = augrc_grid_error(grid_of(counts))
    remedy = (
        " To reduce it, evaluate the rows in Python (a class as an event), or count in many bins and merge them: "
        "`bayescal count --bins 1500`, then `bayescal report --bins 15`."
    )
    return [
        f"The counts do not order rows of one bin, so the {name} is known to within {error:.2g}; its interval includes "
        f"this error.{remedy * (error > SMALL_GRID_ERROR)}"
        for name, error in errors.items()
        if error
    ]


def of_several(remarks: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Merge the remarks on several results: each occurs once, after the names of the results that it concerns."""
    concerned: dict[str, list[str]] = {}
    for name, texts in remarks.items():
        for text in texts:
            concerned.setdefault(text, []).append(name)
    return [f"{_listed(names)}: {text}" for text, names in concerned.items()]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED_RESULTS} more" if len(names) > NAMED_RESULTS else ""
    return ", ".join(names[:NAMED_RESULTS]) + more


def _saturated(counts: Counts) -> str | None:
    occupied = counts.occupied
    mean = counts.mean_confidence[occupied]
    near = np.minimum(mean, 1 - mean) < NEAR_CERTAINTY
    if counts.share[occupied][near].sum() < SATURATED_SHARE - ROUNDING:
        return None
    return text_of("saturated bins", share=100 * SATURATED_SHARE, distance=NEAR_CERTAINTY)


def _many_bins(counts: Counts) -> str | None:
    bins = int(counts.occupied.sum())
    if counts.effective_rows >= FEW_ROWS_PER_BIN * bins or bins < 2:
        return None
    return (
        f"There are fewer than {FEW_ROWS_PER_BIN} effective rows per occupied bin. With so few rows, errors that vary "
        "from bin to bin cannot be distinguished from noise. Use fewer bins."
    )


def few_rows(counts: Counts) -> str | None:
    """Warn about intervals that depend on the prior."""
    if counts.effective_rows >= FEW_ROWS:
        return None
    return f"With fewer than {FEW_ROWS} effective rows the interval depends mostly on the prior."


def hidden_errors(counts: Counts) -> str | None:
    """Warn if most rows are in one bin, inside which errors that cancel may be as large as the ECE.

    The bin has at least half of the rows, and :math:`w s d` is at least the plug-in ECE, where w is the share of the
    bin and s the standard deviation of its confidences. The least-squares slope of outcomes on confidences inside the
    bin is 1 under calibration; :math:`d` is a plausible distance from 1: 2, the distance if the order of the
    confidences is reversed, or the end nearest to it of the interval of two standard errors around the observed
    distance. The mean absolute error inside the bin is at most :math:`s d` if it is linear. No remark if s times the
    effective rows of the bin is below 1, or if the counts do not know s.
    """
    occupied = counts.occupied
    if not isinstance(counts, HasSpread) or not occupied.any():
        return None
    at = int(np.argmax(np.where(occupied, counts.share, 0.0)))
    share, n, variance = (float(values[at]) for values in (counts.share, counts.effective_n, counts.within_variance))
    if share < MOST_ROWS_OF_BIN - ROUNDING or not variance > 0 or n * np.sqrt(variance) < 1:
        return None
    confidence = float(counts.mean_confidence[at])
    error = 2 * np.sqrt(confidence * (1 - confidence) / (n * variance))
    distance = abs(float(counts.within_covariance[at]) / variance - 1)
    plausible = float(np.clip(REVERSED_SLOPE, distance - error, distance + error))
    observed = observed_bins(counts)
    if share * np.sqrt(variance) * plausible < float((observed.mass * np.abs(observed.gap)).sum()):
        return None
    low, high = (counts.bins.edges[at + side] for side in (0, 1))
    equal_mass = "bins of equal mass (`binning='equal-mass'`), " * (counts.bins.kind == "equal-width")
    return text_of("most rows in one bin", low=low, high=high, advice=equal_mass)


def rare_error(counts: Counts) -> str | None:
    """Name the bin with the largest gap that clearly exceeds `e90_bins`, which leaves rare bins out."""
    observed, n = observed_bins(counts), counts.effective_n[counts.occupied]
    gap, confidence = np.abs(observed.gap[0]), observed.confidence[0]
    variance, excess = n * confidence * (1 - confidence), gap - e90_bins(observed).values[0]
    clear = (variance >= LEAST_VARIANCE) & (excess * n >= CLEAR_GAP * np.sqrt(variance))
    if not clear.any():
        return None
    at = int(np.argmax(np.where(clear, gap, 0.0)))
    low, high = (counts.bins.edges[np.flatnonzero(counts.occupied)[at] + side] for side in (0, 1))
    return (
        f"The bin from {low:.3g} to {high:.3g} has {_render.percent(observed.mass[0, at])} of the rows and an "
        f"observed gap of {observed.gap[0, at]:.2g}. The E90 of bins (`e90_bins`) leaves such a bin out: it counts "
        f"errors that at least {100 * SHARE_OF_E90:g} % of the population have."
    )


#: All remarks on the shrinkage model: functions of counts that return a text or None.
_REMARKS = (_saturated, _many_bins, few_rows, rare_error)
