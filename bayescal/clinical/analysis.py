"""Clinical summary: rows of risk models -> all counts -> the results of each model -> ClinicalSummary."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import count_rows, evaluate_one
from bayescal.clinical.curve.analysis import in_clusters
from bayescal.clinical.curve.posterior import PRIOR_EXACT
from bayescal.clinical.curve.result import curve_of
from bayescal.clinical.imputed import mixed_summary
from bayescal.clinical.result import ClinicalSummary, ModelParts
from bayescal.clinical.slope.analysis import recalibration_counts
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.subgroups import GroupedClinicalSummary, summaries_by
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters
from bayescal.data.imputations import imputed_sets
from bayescal.data.predictions import Predictions, read_rows
from bayescal.decisions.analysis import net_benefit_counts
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import probabilities_by_model
from bayescal.decisions.words import FEW_ROWS_PER_SIDE
from bayescal.results.imputed import of_imputations
from bayescal.stats.clusters import require_several_clusters
from bayescal.stats.ordered import OrderedSums

#: Thresholds of the decision curve, and of that of more models than `MANY_MODELS`, whose joint cells are more.
FINE_THRESHOLDS, COARSE_THRESHOLDS, MANY_MODELS = np.arange(1, 100) / 100, np.arange(1, 20) / 20, 8


@public
def summary(
    y_true: Any,
    y_prob: Any,
    thresholds: Any = None,
    *,
    bins: Any = 15,
    binning: str = "equal-width",
    floor: float | None = None,
    weights: Any = None,
    by: Any = None,
    cluster: Any = None,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> ClinicalSummary | GroupedClinicalSummary:
    """Summarise risk models: discrimination, calibration and clinical utility, with credible intervals.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        Whether each row has the event, such as a disease; a list of such arrays if outcomes were imputed.
    y_prob : array-like of float, shape (n_rows,), or mapping of str to array-like, or data frame
        Probabilities of the event; of several models, by name. A data frame has one column per model. A list of arrays
        has one per imputation.
    thresholds : float or array-like of float, optional
        Thresholds of treatment, strictly increasing in [0, 1), at which the table states the net benefit. There
        is no default, because thresholds follow from the harm of treatment and of missed events; without them, the
        table has no net benefit.
    bins, binning
        Bins of the ECE, as for `evaluate`.
    floor : float, optional
        Keep probabilities at least this far from 0 and 1 for intercept and slope, as for `recalibration`. Rows that
        contradict a probability of 0 or 1 raise an error without it.
    by : array-like, shape (n_rows,), optional
        Group of each row, such as its hospital; for one model. All groups have the same bins.
    cluster : array-like, shape (n_rows,), optional
        Cluster of each row, such as the patient, if outcomes of one cluster may depend on each other; in all parts.

    Returns
    -------
    ClinicalSummary or GroupedClinicalSummary
        The table, and the results of which it shows numbers: ``evaluation``, ``recalibration``, ``calibration_curve``
        (logistic with fewer than 100 effective rows) and ``net_benefit``. A `GroupedClinicalSummary` if `by` is given.
        Of imputations, it is also `Imputed`.

    Raises
    ------
    ValueError, TypeError
        If values are missing or invalid, all probabilities of a model are equal, rows contradict a probability of 0 or
        1 and there is no `floor`, or thresholds lie outside [0, 1) or do not increase. If weights depend on the outcome
        alone, as for case-control data: Brier score and calibration then need the prevalence of a population.

    See Also
    --------
    compare : Differences of AUC, Brier score or ECE between models on the same rows.
    net_benefit : Net benefit with harms, or with a known prevalence.

    Notes
    -----
    The quantities are those that TRIPOD+AI [1]_ asks for: discrimination (AUC), calibration (in the large, slope,
    curve) and clinical utility (net benefit). AUC, Brier score and ECE are those of `evaluate`, the calibration in the
    large, intercept and slope those of `recalibration`, ICI, E50 and E90 those of `calibration_curve`, and net benefit
    that of `net_benefit`: each page states how often its intervals contain the truth. Posteriors of different parts are
    drawn independently of each other.

    References
    ----------
    .. [1] G. S. Collins et al. (2024), "TRIPOD+AI statement: updated guidance for reporting clinical prediction models
       that use regression or machine learning methods", BMJ 385, e078378.

    Examples
    --------
    Probabilities that are too extreme by a factor of 1.5 on the logit scale:

    >>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> table = bc.clinical.summary(rows.outcome, rows.confidence, [0.3], rng=1)
    >>> table.to_frame().loc["model"].loc[["auc", "slope", "net_benefit at 0.3"], "mean"].round(2).tolist()
    [0.75, 0.63, 0.32]
    >>> table.recalibration.slope < 1
    P(slope < 1) = 1
    """
    arguments: dict[str, Any] = locals()
    if sets := imputed_sets(y_true, y_prob):
        return of_imputations(summary, mixed_summary, sets, arguments)
    if by is not None:
        options = {key: value for key, value in arguments.items() if key not in ("y_true", "y_prob", "by")}
        return summaries_by(summary, y_true, y_prob, by, **options)
    named, by_model = probabilities_by_model(y_prob)
    columns = {f"y_prob[{name!r}]" if named else "y_prob": p for name, p in by_model.items()}
    same_rows({"y_true": y_true, **columns, "weights": weights, "cluster": cluster})
    options = {"classes": classes, "logits": logits, "weights": weights}
    stream = _checks.generator(rng)
    seeds = [_checks.seeds(stream, 3) for _ in range(len(by_model) + 1)]
    rows: dict[str, Predictions] = {}
    parts: dict[str, ModelParts] = {}
    for (name, p), of_model in zip(by_model.items(), seeds[1:], strict=True):
        with errors_of(f"model {name!r}" if named else ""):
            rows[name] = read_rows(y_true, p, target="event", **options).checked().scale_free()
            if len(rows[name]) and np.array_equal(rows[name].confidence, rows[name].outcome):
                raise ValueError("`y_prob` equals `y_true` in all rows: these are the outcomes, not predicted risks.")
            clusters = None if cluster is None else Clusters.from_column(cluster, len(rows[name]))
            parts[name] = _parts(rows[name], bins, binning, floor, draws, of_model, clusters)
    first = next(iter(rows.values()))
    kept = np.ones(len(first), bool) if first.weight is None else first.weight > 0
    curve = _of_curve(rows, clusters)
    if curve.weights_by_outcome_only:
        raise ValueError(text_of("summary of chosen outcomes"))
    return ClinicalSummary(
        parts=parts,
        net_benefit=None
        if thresholds is None
        else net_benefit_counts(
            ThresholdCounts.from_predictions(rows, thresholds, clusters), draws=draws, rng=seeds[0][0]
        ),
        decision_curve=net_benefit_counts(curve, draws=draws, rng=seeds[0][1]),
        n_rows=int(np.count_nonzero(kept)),
        n_events=int(np.count_nonzero(first.outcome[kept])),
        event_rate=float(np.average(first.outcome, weights=first.weight)),
    )


def _parts(
    rows: Predictions,
    bins: Any,
    binning: str,
    floor: float | None,
    draws: int,
    seeds: list[int],
    clusters: Clusters | None,
) -> ModelParts:
    counts = count_rows(rows, bins, binning, ranked=True, clusters=clusters)
    require_several_clusters(counts)
    logits, steps = LogitCounts.from_predictions(rows, clusters=clusters), OrderedSums.from_rows(rows)
    return ModelParts(
        evaluate_one(counts, draws=draws, rng=seeds[0]),
        recalibration_counts(logits, floor=floor, draws=draws, rng=seeds[1]),
        curve_of(in_clusters(steps, counts), rows.target, draws=draws, rng=seeds[2], exact=PRIOR_EXACT),
    )


def _of_curve(rows: Mapping[str, Predictions], clusters: Clusters | None) -> ThresholdCounts:
    """Count the rows between the thresholds of the decision curve, up to the last that some rows reach."""
    fine = FINE_THRESHOLDS if len(rows) <= MANY_MODELS else COARSE_THRESHOLDS
    counts = ThresholdCounts.from_predictions(rows, fine, clusters)
    at = counts.thresholds
    fifth = [
        np.sort(one.confidence)[-FEW_ROWS_PER_SIDE] if len(one) >= FEW_ROWS_PER_SIDE else 0.0 for one in rows.values()
    ]
    reached = at <= max(fifth)
    return counts.at(at[reached]) if reached.sum() > 1 else counts
