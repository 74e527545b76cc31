"""Calibration intercept and slope: rows -> counts by logit -> posterior on a grid -> Recalibration."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np
from scipy.special import expit, stdtrit

from bayescal import _checks
from bayescal._arrays import Classes, Floats
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.clinical.imputed import mixed_recalibration
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import WEAK, RecalibrationPosterior, lever_of, recalibration_posterior
from bayescal.clinical.slope.result import GroupedRecalibration, Recalibration
from bayescal.data.frames import same_rows, to_array
from bayescal.data.groups import UNNAMED, Clusters, Groups
from bayescal.data.imputations import imputed_sets
from bayescal.data.predictions import Columns, Predictions, read_rows
from bayescal.results.imputed import of_imputations
from bayescal.results.of_groups import of_each_group
from bayescal.stats.clusters import require_several
from bayescal.stats.contract import require_kind, total_of
from bayescal.stats.sums import effective_number, sums_at

MOST_LEVERAGE = 0.9  #: Largest share of the information of a cluster whose score is corrected for its own influence.
TAIL = 0.975  #: Probability at which the Normal and the t distribution have the same quantile.


@public
def recalibration(
    y_true: Any,
    y_prob: Any,
    *,
    prior: Any = WEAK,
    floor: float | None = None,
    weights: Any = None,
    by: Any = None,
    cluster: Any = None,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> Recalibration | GroupedRecalibration:
    r"""Compute the posterior of the calibration intercept and slope, and of the calibration in the large.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        Whether the event happened; a list of such arrays if outcomes were imputed.
    y_prob : array-like of float, shape (n_rows,)
        Probability of the event, in [0, 1]; a list of such arrays has one per imputation.
    prior : (float, float), "weak", "jeffreys" or "flat", default (2.5, 1.0)
        Standard deviations of Normal priors: of the shift at the mean logit, around 0, and of the slope, around 1.
        "weak" is the default. "jeffreys" is refused if outcomes are separated or nearly so. "flat" gives the
        profile-likelihood intervals of logistic regression, and is refused if outcomes are separated.
    floor : float, optional
        Keep probabilities at least this far from 0 and 1. By default, rows at exactly 0 or 1 whose outcome agrees are
        left out and counted, since they are certain under every intercept and positive slope. Rows that contradict a
        probability of 0 or 1 raise an error.
    by : array-like, shape (n_rows,), optional
        Group of each row. Each group has a result of its own.
    cluster : array-like, shape (n_rows,), optional
        Cluster of each row, such as the patient or the hospital, if outcomes of one cluster may depend on each other.
        Intervals are then as wide as differences between clusters show. The part of a cluster inside a group is a
        cluster.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`. Intervals of intercept and slope in tables come from a
        grid and do not depend on it.

    Returns
    -------
    Recalibration or GroupedRecalibration
        Joint draws of ``in_the_large``, ``intercept`` and ``slope``, exact intervals, the Bayes factor, and
        recalibrated predictions. A `GroupedRecalibration` if `by` is given. Of imputations, the result is also
        `Imputed`.

    Raises
    ------
    ValueError, TypeError
        If values are missing or invalid, rows contradict a probability of 0 or 1 and there is no `floor`, or all
        probabilities are equal.

    See Also
    --------
    LogisticRecalibration : A transformer that changes predictions by an intercept and a slope.

    Notes
    -----
    Intercept a and slope b are those of :math:`\mathrm{logit}\,E[y] = a + b\,\mathrm{logit}\,p` [1]_. The calibration
    in the large is the shift s with mean :math:`\mathrm{expit}(\mathrm{logit}\,p + s)` equal to the event rate: it is
    computed for each draw of (a, b), does not assume a slope of 1, and equals a if the slope is 1. Rows are grouped in
    cells of 0.05 on the logit scale, which changes the slope by about 1 % of its standard deviation (up to 2 % on small
    samples). [Intercept and slope](../explanation/recalibration.md) has the model and the coverage of the intervals.

    For rows in clusters, the likelihood is that of independent rows, widened until the covariance of intercept and
    slope is a sandwich estimate with corrected scores of clusters and a quantile of the t distribution [2]_. Clusters
    may differ in intercept and in slope. `GroupedRecalibration.new_centre` predicts a new cluster.

    In case-control data, where the study design fixes the share of events, intercept and calibration in the large
    depend on that share: only the slope has a meaning for the population.

    References
    ----------
    .. [1] D. R. Cox (1958), "Two further applications of a model for binary regression", Biometrika 45, 562-565.
    .. [2] R. E. Chandler and S. Bate (2007), "Inference for clustered data using the independence loglikelihood",
       Biometrika 94, 167-183.

    Examples
    --------
    Probabilities that are too extreme by a factor of 2 on the logit scale:

    >>> rows = simulate(5000, population="flat", curve="temperature", strength=2, rng=1)
    >>> rc = bc.clinical.recalibration(rows.outcome, rows.confidence, rng=1)
    >>> [round(end, 2) for end in rc.exact_interval("slope")]
    [0.47, 0.55]
    """
    arguments = locals()
    if sets := imputed_sets(y_true, y_prob):
        return of_imputations(recalibration, mixed_recalibration, sets, arguments)
    columns = read_rows(y_true, y_prob, target="event", weights=weights, classes=classes, logits=logits)
    assert isinstance(columns, Columns)  # the target `event` has one column
    options = {"prior": prior, "floor": floor, "draws": draws, "rng": rng}
    clusters = None if cluster is None else Clusters.from_column(cluster, len(columns))
    if by is None:
        rows = columns if columns.weight is None else columns.checked().scale_free()
        counted = LogitCounts.from_predictions(rows, clusters=clusters)
        if floor is None and counted.contradicted.any():
            _refuse_contradicted(columns.checked())
        return recalibration_counts(counted, **options)
    same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights, "by": by, "cluster": cluster})
    rows, groups = columns.checked().scale_free(), Groups.from_column(by, len(columns))
    if floor is None:
        _refuse_contradicted(rows, by)
    within = [None if clusters is None else clusters.take(inside) for inside in groups.rows()]
    counts = {
        label: LogitCounts.from_predictions(part, clusters=part_of)
        for label, part, part_of in zip(groups.labels, groups.split(rows), within, strict=True)
    }
    if clusters is None:
        return recalibration_counts(counts, name=groups.name, **options)
    alone = [label for label, part_of in zip(groups.labels, within, strict=True) if part_of and len(part_of) < 2]
    if alone:
        raise ValueError(text_of("groups with one cluster", alone=len(alone), groups=len(groups), first=alone[0]))
    result = recalibration_counts(counts, name=groups.name, **options)
    whole = recalibration_counts(LogitCounts.from_predictions(rows, clusters=clusters), **options)
    return replace(result, overall=whole)


def _refuse_contradicted(rows: Predictions, by: Any = None) -> None:
    """Name the first row that contradicts a probability of 0 or 1, and its group."""
    bad = ((rows.confidence == 0) & (rows.outcome == 1)) | ((rows.confidence == 1) & (rows.outcome == 0))
    if rows.weight is not None:
        bad &= rows.weight > 0
    if not bad.any():
        return
    group = "" if by is None else f"The first is in group {quoted(to_array('by', by).tolist()[int(bad.argmax())])}. "
    rule = "must not be exactly 0 for rows with outcome 1, nor exactly 1 for rows with outcome 0"
    hint = (
        f"{group}No finite intercept and slope explains such rows. Pass `floor=1e-6` to keep probabilities that far "
        "from 0 and 1, or look at these rows; the slope depends on the floor."
    )
    _checks.refuse("y_prob", rule, bad, rows.confidence, hint, verb=("is", "are"))


@overload
def recalibration_counts(
    counts: LogitCounts,
    *,
    prior: Any = ...,
    floor: float | None = ...,
    draws: int = ...,
    rng: Any = ...,
    name: str = ...,
) -> Recalibration: ...
@overload
def recalibration_counts(
    counts: Mapping[Any, LogitCounts],
    *,
    prior: Any = ...,
    floor: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    name: str = ...,
) -> GroupedRecalibration: ...
@public
def recalibration_counts(
    counts: LogitCounts | Mapping[Any, LogitCounts],
    *,
    prior: Any = WEAK,
    floor: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    name: str = UNNAMED,
) -> Recalibration | GroupedRecalibration:
    """Compute the posterior of the calibration intercept and slope from counts.

    Parameters
    ----------
    counts : LogitCounts, or mapping of label to LogitCounts
        Counts by logit, of one set of rows or of groups, as from ``LogitCounts.from_frame(..., by=...)``.
    prior, floor, draws, rng
        As for `recalibration`.
    name : str, optional
        Name of the grouping, such as "site".

    Returns
    -------
    Recalibration or GroupedRecalibration
        As for `recalibration`.

    Raises
    ------
    ValueError, TypeError
        As for `recalibration`; also if counts are of another type.

    Examples
    --------
    >>> counts = bc.clinical.LogitCounts.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> round(bc.clinical.recalibration_counts(counts + counts, rng=1).slope.mean(), 1)
    1.3
    """
    draws = _checks.whole_number("draws", draws, at_least=2)
    generator = _checks.generator(rng)
    overall_seeds = _checks.seeds(generator, 2)
    if not isinstance(counts, Mapping):
        return _one(prior, floor, draws, overall_seeds, counts)
    total = total_of(counts, _require_counts)
    seeds = [_checks.seeds(seed, 2) for seed in _checks.seeds(generator, len(counts))]
    groups = of_each_group(partial(_one, prior, floor, draws), counts, seeds, counts.values())
    return GroupedRecalibration(groups, _one(prior, floor, draws, overall_seeds, total), name)


def _one(prior: Any, floor: float | None, draws: int, seeds: list[int], counts: Any) -> Recalibration:
    _require_counts(counts, "counts")
    kept = counts if floor is None else counts.floored(floor)
    if kept.clusters is not None:
        require_several(len(np.unique(kept.in_clusters[0])), kept.n_rows)
    posterior = in_clusters(recalibration_posterior(kept, prior=prior))
    seed, for_large = seeds
    return Recalibration(kept, posterior, posterior.sample(draws, rng=seed), for_large, floor)


_require_counts = partial(
    require_kind,
    LogitCounts,
    ": counts in other bins do not contain logits. Use `LogitCounts.from_arrays`, or `LogitCounts(count_file(path, "
    "..., bins=logit_bins()))`.",
)


def in_clusters(posterior: RecalibrationPosterior) -> RecalibrationPosterior:
    r"""Widen the posterior of intercept and slope, if its counts have clusters.

    The likelihood L of independent rows becomes :math:`L(\bar\theta + A^{-1} (\theta - \bar\theta))` (Chandler and Bate
    2007), with the posterior mean :math:`\bar\theta`, and the prior stays. Without a prior, the covariance S of the
    posterior becomes V. V is the sandwich estimate :math:`S \sum_c s_c s_c' S` of the scores of clusters, times the
    squared ratio of t and Normal quantiles with one degree of freedom less than there are (effective) clusters. Each
    score is multiplied by :math:`(I - H_c S)^{-1}` with the information :math:`H_c` of its rows, which is nearly a
    jackknife over clusters. No direction is narrower than that of independent rows.

    A is upper triangular, so that the grid of (t, b) becomes another grid, whose t is the line at another logit.
    """
    counts = posterior.counts
    if not isinstance(counts, LogitCounts) or counts.clusters is None:
        return posterior
    mass = np.exp(posterior.log_mass)
    of_t, of_b = mass.sum(axis=1), mass.sum(axis=0)
    mean = np.array([of_t @ posterior.t, of_b @ posterior.b])
    dt, db = posterior.t - mean[0], posterior.b - mean[1]
    across = dt @ mass @ db
    covariance = np.array([[of_t @ dt**2, across], [across, of_b @ db**2]])
    meat = _scores(posterior, mean, covariance)
    # coordinates in which the posterior has unit variances
    root = _upper(covariance)
    back = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(back @ covariance @ meat @ covariance @ back.T)
    cluster, _, _, weight = counts.in_clusters
    of_cluster = np.bincount(cluster, weight)
    degrees = max(effective_number(of_cluster, of_cluster @ of_cluster) - 1, 1.0)
    quantiles = float(stdtrit(degrees, TAIL) / stdtrit(np.inf, TAIL))
    wider = quantiles**2 * (vectors * np.maximum(values, 1.0)) @ vectors.T
    to = root @ _upper(wider) @ back
    exact = mean + np.linalg.solve(to, np.array([posterior.lever, 1.0]) - mean)
    moved = to[0, 1] / to[1, 1]
    lever, t, b = posterior.lever - moved, mean[0] - moved * mean[1] + to[0, 0] * dt, mean[1] + to[1, 1] * db
    # the prior stays where it is
    log_mass = posterior.log_mass + _log_prior(posterior, t, b, lever)
    log_mass -= _log_prior(posterior, posterior.t, posterior.b, posterior.lever)
    total = float(np.logaddexp.reduce(log_mass, axis=None))
    return replace(
        posterior,
        lever=lever,
        t=t,
        b=b,
        log_mass=log_mass - total,
        log_evidence=posterior.log_evidence + float(np.log(to[0, 0] * to[1, 1])) + total,
        exact=(float(exact[0] - exact[1] * posterior.lever), float(exact[1])),
        wider=(float(np.hypot(*(back @ to @ root)[0])), float(to[1, 1])),
    )


def _log_prior(posterior: RecalibrationPosterior, t: Floats, b: Floats, lever: float) -> Floats:
    """Return the log of the prior on a grid, up to a constant; 0 if it is not Normal."""
    prior, centre = posterior.prior, lever_of(posterior.counts)
    if prior.kind != "normal":
        return np.zeros((len(t), len(b)))
    shift = t[:, None] + b * (centre - lever) - centre
    return np.asarray(-0.5 * ((shift / prior.shift_sd) ** 2 + ((b - 1) / prior.slope_sd) ** 2))


def _scores(posterior: RecalibrationPosterior, mean: Floats, covariance: Floats) -> Floats:
    """Return the sum of squares of the scores of clusters at the posterior mean, corrected for their influence."""
    counts = posterior.counts
    assert isinstance(counts, LogitCounts)
    cluster, place, outcome, weight = counts.in_clusters
    d = counts.logit[place] - posterior.lever
    p, number = expit(mean[0] + mean[1] * d), int(cluster.max()) + 1
    residual, spread = weight * (outcome - p), weight * p * (1 - p)
    score = np.stack([sums_at(cluster, residual * d**k, number) for k in (0, 1)], axis=1)
    first, mixed, second = (sums_at(cluster, spread * d**k, number) for k in (0, 1, 2))
    share = np.moveaxis(np.array([[first, mixed], [mixed, second]]), 2, 0) @ covariance
    largest = np.abs(np.linalg.eigvals(share)).max(axis=1)
    share *= np.minimum(1.0, MOST_LEVERAGE / np.maximum(largest, MOST_LEVERAGE))[:, None, None]
    corrected = np.linalg.solve(np.eye(2) - share, score[:, :, None])[:, :, 0]
    return corrected.T @ corrected * ((number - 1) / number)


def _upper(matrix: Floats) -> Floats:
    """Return the upper triangular U with U U' equal to a symmetric matrix of shape (2, 2)."""
    last = np.sqrt(matrix[1, 1])
    mixed = matrix[0, 1] / last
    return np.array([[np.sqrt(matrix[0, 0] - mixed**2), mixed], [0.0, last]])
