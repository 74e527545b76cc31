"""Calibration of stated risks at a horizon, from right-censored times: rows -> counts -> posterior -> evaluation."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats, Ints
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.groups import evaluate_groups
from bayescal.analyses.one import DEFAULT_MODEL, evaluate_one
from bayescal.data.frames import same_rows
from bayescal.data.groups import UNNAMED, Clusters, Groups
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.contract import require_kind, total_of
from bayescal.survival.counts import SurvivalCounts
from bayescal.survival.horizon_counts import MOST_NOT_FOLLOWED, HorizonCounts, HorizonRows
from bayescal.survival.result import INTEGRATED, SurvivalEvaluation, SurvivalHorizons
from bayescal.survival.rows import SurvivalRows

REFUSED_NOT_FOLLOWED = 0.5  #: Largest share of rows in bins that are not followed.


class NotFollowedWarning(UserWarning):
    """More than 5 % of the rows are in bins whose last row was censored before the horizon."""


@overload
def evaluate(
    time: Any, event: Any, risk: Any, *, horizon: float, by: None = None, **options: Any
) -> SurvivalEvaluation: ...
@overload
def evaluate(
    time: Any, event: Any, risk: Any, *, horizon: Sequence[float], by: None = None, **options: Any
) -> SurvivalHorizons: ...
@overload
def evaluate(time: Any, event: Any, risk: Any, *, horizon: float, by: Any, **options: Any) -> GroupedEvaluation: ...
@public
def evaluate(
    time: Any,
    event: Any,
    risk: Any,
    *,
    horizon: Any,
    bins: Any = 10,
    binning: str = "equal-width",
    cause: int = 1,
    weights: Any = None,
    by: Any = None,
    cluster: Any = None,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> SurvivalEvaluation | SurvivalHorizons | GroupedEvaluation:
    r"""Compute the posterior of the calibration error of stated risks at a horizon, from right-censored times.

    Parameters
    ----------
    time : array-like of float, shape (n_rows,)
        Time from the moment at which the risk was stated to the event or to the end of follow-up, >= 0.
    event : array-like of int or bool, shape (n_rows,)
        0 if the row is censored at its time, 1 if it has the event, and 2, 3, ... for other causes that prevent the
        event (competing risks).
    risk : array-like of float, shape (n_rows,) or (n_rows, n_horizons)
        Stated probability of an event of `cause` by the horizon, in [0, 1]. Survival probabilities in its place are not
        refused, because they lie in [0, 1] too; the result remarks on it if events are rarer where the risk is higher.
        Pass ``1 - survival``; `risk_at_horizon` reads survival curves.
    horizon : float or sequence of float
        The time at which risks are compared with events, in the unit of `time`; at most the last time. A sequence
        needs one column of `risk` per horizon.
    bins : int, array-like or Bins, default 10
        Number of bins of the risk, or edges; see `bayescal.evaluate`.
    binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
        How the edges are chosen if `bins` is a number. For several horizons, they are chosen for each.
    cause : int, default 1
        The cause of the event that `risk` is about.
    weights : array-like, shape (n_rows,), optional
        Importance weights >= 0. If censoring depends on more than the risk: for rows with known outcome the inverse
        probability, from a model of censoring, of not being censored before the time or the horizon, and 0 for others.
    by : array-like, shape (n_rows,), or data frame of several columns, optional
        Group of each row; see `bayescal.evaluate`. It needs a single horizon.
    cluster : array-like, shape (n_rows,), or data frame of several columns, optional
        Cluster of each row, such as the patient of a stay or the hospital of a patient, if times of rows of one cluster
        may depend on each other; see `bayescal.evaluate`.

    Returns
    -------
    SurvivalEvaluation, SurvivalHorizons or GroupedEvaluation
        An `Evaluation` whose outcome is the event by the horizon. For a sequence of horizons a mapping from each to its
        evaluation; with `by` one evaluation per group and one of all rows.

    Raises
    ------
    ValueError, TypeError
        For invalid input. The message names the argument, the rule, the number of invalid values, the first index and
        value, and a remedy. A horizon after the last time is refused, data in which more than half of the rows are in
        bins that are not followed, and risks that are smaller at a later horizon in more than half of the rows.

    Warns
    -----
    NotFollowedWarning
        If more than 5 % of the rows are in bins whose last row was censored before the horizon.
    UserWarning
        If `event` holds 1 and 2 and no 0, as where 1 is the code of censored rows.

    See Also
    --------
    SurvivalCounts : Counts of streams and files.
    plot_reliability : The reliability diagram of the result.

    Notes
    -----
    The estimand is :math:`\sum_b m_b |F_b(t) - \mu_b|` with masses m and mean risks :math:`\mu` of the bins, and the
    probability :math:`F_b(t)` of the event by the horizon t. It is estimated by the method of Kaplan and Meier [1]_, or
    of Aalen and Johansen [2]_ with competing causes, within each bin, so that censoring may depend on the stated risk.
    It must not depend on anything else that predicts the event.

    The posterior is that of `bayescal.evaluate`, given effective numbers of rows and events

    .. math::
        n_b^* = n_b \Big/ \operatorname{mean} \frac{1}{G_b(u-)}, \qquad k_b^* = n_b^* F_b(t),

    where :math:`G_b` is the censoring curve of the bin, and the mean is over times u of events in all bins, weighted
    with the increments of the odds :math:`e^{c H(u)} - 1`; H is the pooled cumulative hazard, and c gives the bin its
    mean risk at t. This solves Greenwood's formula for the number of rows without using the bin's own events. Without
    censoring before the horizon, :math:`n_b^* = n_b`, and every number equals that of `bayescal.evaluate`.

    With `cluster`, effective numbers are divided by design effects, as in `bayescal.evaluate`. A pseudo-outcome
    replaces the outcome of a row: the derivative of :math:`n_b F_b(t)` with respect to the weight of the row, which is
    the outcome itself without censoring. The variances of the Brier score and of the AUC are between clusters.

    At one time, events come before censorings. A row censored exactly at the horizon is known to be free of events by
    then. Other programs count such rows as unknown in the Brier score, which changes it where many rows are censored
    at the end of a study.

    References
    ----------
    .. [1] E. L. Kaplan and P. Meier (1958), "Nonparametric estimation from incomplete observations", Journal of the
       American Statistical Association 53, 457-481.
    .. [2] O. O. Aalen and S. Johansen (1978), "An empirical transition matrix for non-homogeneous Markov chains based
       on censored observations", Scandinavian Journal of Statistics 5, 141-150.

    Examples
    --------
    >>> risk = rng.beta(1.2, 2.4, 2000)
    >>> died = (np.log(rng.random(2000)) / np.log1p(-risk)) ** 0.8
    >>> lost = rng.exponential(1.5, 2000)
    >>> ev = bc.survival.evaluate(np.minimum(died, lost), died <= lost, risk, horizon=1, rng=1)
    >>> ev.question
    'ECE at horizon 1, 10 equal-width bins [a, b), N = 2000, ... events by the horizon, ... censored before, ... model'
    >>> ev.ece.interval(0.95)
    (0.0, 0.03...)
    >>> ev.observed_expected.interval(0.95)
    (0.9..., 1.1...)
    """
    several = not isinstance(horizon, str) and np.ndim(horizon) > 0
    if several and np.ndim(horizon) > 1:
        raise TypeError(f"`horizon` must be a number or a sequence of numbers, not shape {np.shape(horizon)}.")
    count = len(horizon) if several else None
    rows = SurvivalRows.read(time, event, risk, weights, cause=cause, horizons=count)
    warn_of_codes(rows)
    if several and by is not None:
        raise ValueError("`by` needs a single `horizon`: call the function once per horizon.")
    same_rows({"time": time, "event": event, "risk": risk, "weights": weights, "by": by, "cluster": cluster})
    clusters = None if cluster is None else Clusters.from_column(cluster, len(rows), rows="time")
    arguments = {"rng": rng, "model": model, "draws": draws, **options}
    if several:
        return _evaluate_horizons(rows, horizon, bins, binning, clusters, **arguments)
    at = rows.checked_horizon(horizon)
    edges = edges_of_risks(rows, bins, binning)
    if by is not None:
        groups = Groups.from_column(by, len(rows), rows="time")
        return _evaluate_groups(rows, groups, at, edges, clusters, progress=progress, **arguments)
    return _evaluate(HorizonCounts.from_rows(rows, at, edges, clusters), **arguments)


@overload
def evaluate_counts(counts: SurvivalCounts, **options: Any) -> SurvivalEvaluation: ...
@overload
def evaluate_counts(counts: Mapping[Any, SurvivalCounts], **options: Any) -> GroupedEvaluation: ...
@public
def evaluate_counts(
    counts: SurvivalCounts | Mapping[Any, SurvivalCounts],
    *,
    horizon: float | None = None,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> SurvivalEvaluation | GroupedEvaluation:
    """Compute the posterior of the calibration error of stated risks at a horizon, from counts.

    Parameters
    ----------
    counts : SurvivalCounts, or mapping of label to SurvivalCounts
        Counts of the rows on a grid of times; of groups by label, as from ``SurvivalCounts.from_frame(..., by=)``.
    horizon : float, optional
        A time of the grid, at which the risks are stated; by default the last one.

    Returns
    -------
    SurvivalEvaluation or GroupedEvaluation
        That of the rows, if their times up to the horizon are times of the grid. Rows of one bin are not ordered, which
        matters for the AUC alone.

    Raises
    ------
    TypeError
        If `counts` is not `SurvivalCounts`, the model lacks an option, or `cluster`, which needs the rows, is given.
    ValueError
        If the horizon is not on the grid or no row reaches it, or as for `bayescal.survival.evaluate`.

    See Also
    --------
    bayescal.survival.evaluate : The same from rows.
    bayescal.survival.compare : Compares models, from rows; counts do not contain the joint distribution of two risks.

    Examples
    --------
    >>> week, risk = rng.integers(1, 53, 1000), rng.random(1000)
    >>> counts = bc.survival.SurvivalCounts.from_arrays(week, rng.random(1000) < risk, risk, times=np.arange(1, 53))
    >>> bc.survival.evaluate_counts(counts, horizon=26, rng=1).counts
    HorizonCounts(10 equal-width bins [a, b), 1000 rows, ... events by 26, ... censored before)
    """
    if isinstance(counts, Mapping):
        overall = total_of(counts, _require_counts).at(horizon)
        parts = (each.at(horizon) for each in counts.values())
        arguments = {"model": model, "draws": draws, "rng": rng, "progress": progress, **options}
        return _evaluated_groups(tuple(counts), parts, overall, UNNAMED, **arguments)
    _require_counts(counts, "counts")
    return _evaluate(counts.at(horizon), model=model, draws=draws, rng=rng, **options)


_require_counts = partial(
    require_kind,
    SurvivalCounts,
    "; make them with `SurvivalCounts.from_arrays(time, event, risk, times=grid)`, or use "
    "`bayescal.survival.evaluate`.",
)


def warn_of_codes(rows: SurvivalRows) -> None:
    """Warn if events may have the codes 1 (censored) and 2 (event), as often in R."""
    if rows.cause == 1 and (rows.event == 1).any() and (rows.event == 2).any() and rows.event.min() > 0:
        warnings.warn(text_of("no censored row"), UserWarning, skip_file_prefixes=_checks.PACKAGE)


def edges_of_risks(rows: SurvivalRows, bins: Any, binning: str) -> Bins:
    """Return bins of the stated risk."""
    return make_bins(bins, binning=binning, confidence=rows.risk, weights=rows.weight)


def _evaluate(counts: HorizonCounts, /, **arguments: Any) -> SurvivalEvaluation:
    return SurvivalEvaluation.of(evaluate_one(require_followed(counts), **arguments))


def require_followed(counts: HorizonCounts) -> HorizonCounts:
    """Refuse counts in which most of the rows are not followed to the horizon; warn if some are not."""
    share, lost = counts.not_followed, int(np.count_nonzero(~counts.followed))
    if share > REFUSED_NOT_FOLLOWED:
        raise ValueError(
            f"`horizon` {counts.horizon:g} is too late: {lost} of {int(counts.occupied.sum())} bins with "
            f"{100 * share:.0f} % of the rows end with a censored row before it, and at most "
            f"{100 * REFUSED_NOT_FOLLOWED:g} % of the rows may be in such bins. Use an earlier horizon, or fewer bins."
        )
    if share > MOST_NOT_FOLLOWED:
        warnings.warn(
            text_of("bins that end with a censored row", share=_render.percent(share), horizon=counts.horizon),
            NotFollowedWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )
    return counts


def _evaluate_horizons(
    rows: SurvivalRows, horizons: Any, bins: Any, binning: str, clusters: Clusters | None, *, rng: Any, **arguments: Any
) -> SurvivalHorizons:
    at = [rows.checked_horizon(each) for each in horizons]
    if not at:
        raise ValueError("`horizon` is empty; at least one is needed.")
    if (falls := np.diff(at, prepend=-np.inf) <= 0).any():
        _checks.refuse("horizon", "must be strictly increasing", falls, np.asarray(at))
    falls = (np.diff(np.atleast_2d(rows.risk.T), axis=0) < 0).any(axis=0)
    if 2 * np.count_nonzero(falls) > falls.size:
        hint = "Are these survival probabilities? Then pass 1 minus them."
        rule = "must not be smaller at a later horizon in more than half of the rows"
        _checks.refuse("risk", rule, falls, hint=hint, verb=("is", "are"))
    seeds = _checks.seeds(rng, len(at))
    evaluations, influences = {}, []
    for i, (each, seed) in enumerate(zip(at, seeds, strict=True)):
        rows_at = rows.at(i)
        edges = edges_of_risks(rows_at, bins, binning)
        counts = HorizonCounts.from_rows(rows_at, each, edges, clusters)
        evaluations[each] = _evaluate(counts, rng=seed, **arguments)
        influences.append(_on_scores(rows_at, counts, edges, None if clusters is None else clusters.of_row))
    correlations = {name: _correlations([each[name] for each in influences]) for name in INTEGRATED}
    return SurvivalHorizons(evaluations, dict(zip(at, seeds, strict=True)), correlations)


def _on_scores(rows: SurvivalRows, counts: HorizonCounts, bins: Bins, of_row: Ints | None) -> dict[str, Floats | None]:
    """Return weighted influences of rows, or of clusters, on the Brier score and the AUC; None if there is none."""
    at, ranks = HorizonRows.of_rows(rows, counts.horizon, bins), counts.ranks
    on: dict[str, Floats | None] = dict.fromkeys(INTEGRATED)
    if counts.losses is not None:
        on["brier_score"] = at.weight * at.on_mean(at.squared_errors(rows.risk))[1]
    if ranks is not None and ranks.both_outcomes:
        on["auc"] = at.weight * at.on_area(ranks, rows.risk)
    return {n: np.bincount(of_row, each) if of_row is not None and each is not None else each for n, each in on.items()}


def _correlations(influences: Sequence[Floats | None]) -> Floats | None:
    """Return the correlations over rows of influences on one quantity at several horizons; None if one is missing."""
    if any(each is None for each in influences):
        return None
    stacked = np.stack([each for each in influences if each is not None])
    length = np.sqrt(np.maximum(np.einsum("ij,ij->i", stacked, stacked), np.finfo(np.float64).tiny))
    products = np.einsum("ij,kj->ik", stacked, stacked) / (length[:, None] * length)
    np.fill_diagonal(products, 1.0)
    return products


def _evaluate_groups(
    rows: SurvivalRows, groups: Groups, horizon: float, edges: Bins, clusters: Clusters | None, /, **arguments: Any
) -> GroupedEvaluation:
    overall = HorizonCounts.from_rows(rows, horizon, edges, clusters)

    def counted(places: Ints) -> HorizonCounts:
        within = None if clusters is None else clusters.take(places)
        return HorizonCounts.from_rows(rows.part(places), horizon, edges, within)

    parts = map(counted, groups.rows())
    return _evaluated_groups(groups.labels, parts, overall, groups.name, **arguments)


def _evaluated_groups(
    labels: Sequence[Any], parts: Iterator[HorizonCounts], overall: HorizonCounts, name: str, **arguments: Any
) -> GroupedEvaluation:
    require_followed(overall)

    def counts() -> Iterator[HorizonCounts]:
        for label in labels:
            with errors_of(f"group {label!r}"):
                part = require_followed(next(parts))
            yield part

    grouped = evaluate_groups(labels, counts(), overall, name=name, **arguments)
    members: dict[Any, Evaluation] = {label: SurvivalEvaluation.of(each) for label, each in grouped.groups.items()}
    return replace(grouped, groups=members, overall=SurvivalEvaluation.of(grouped.overall))
