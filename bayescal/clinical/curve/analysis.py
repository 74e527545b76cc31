"""A calibration curve: rows -> knots -> its posterior -> CalibrationCurve."""

from typing import Any

from bayescal._arrays import Classes
from bayescal._meant import public
from bayescal.analyses.one import count_rows, remarks_on
from bayescal.clinical.curve.posterior import PRIOR_EXACT
from bayescal.clinical.curve.result import CalibrationCurve, curve_of
from bayescal.clinical.imputed import mixed_curve
from bayescal.data.groups import Clusters
from bayescal.data.imputations import imputed_sets
from bayescal.data.predictions import read_rows
from bayescal.results.imputed import of_imputations
from bayescal.results.remarks import cluster_remarks
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import require_several_clusters
from bayescal.stats.ordered import OrderedSums

BINS = 15  #: Bins of equal mass in which residuals of rows of one cluster are compared.


@public
def calibration_curve(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    weights: Any = None,
    cluster: Any = None,
    classes: Classes = None,
    logits: bool = False,
    prior_exact: float = PRIOR_EXACT,
    draws: int = 4000,
    rng: Any = None,
) -> CalibrationCurve:
    """Estimate a calibration curve, and its mean, median, 90th percentile and maximum error.

    The curve is m(c), the rate of outcome 1 among rows with score c. The integrated calibration index (ICI, also Eavg)
    is :math:`E|m(c) - c|`; E50, E90 and Emax are the median, the 90th percentile and the maximum of
    :math:`|m(c) - c|` over the population [1]_ [2]_.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Outcomes 0 and 1, or labels, as for `evaluate`.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Probabilities (scores) as for `evaluate`. A list of arrays of the shape (n_rows,) has one per imputation; the
        result is then also `Imputed`. So may `y_true`, if outcomes were imputed.
    cluster : array-like, shape (n_rows,), optional
        Cluster of each row, such as the patient or the hospital, if outcomes of one cluster may depend on each other.
        Rows then count less, by the design effect of the mean residual, which does not see different slopes.
    prior_exact : float, default 0.1
        Prior probability of exact calibration in the draws, in [0, 1). With 0, few intervals of the ICI contain 0, even
        if the classifier is calibrated.

    Returns
    -------
    CalibrationCurve
        Draws `ici`, `e50`, `e90` and `emax`; the curve with pointwise intervals, ``.band()``, and at any scores,
        ``.rates(scores)``; the probability of exact calibration, ``.p_calibrated``.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`. Also without rows, and if `prior_exact` is not in [0, 1).

    See Also
    --------
    evaluate : The ECE in bins, which is smaller if errors of opposite sign share a bin.
    bayescal.cumulative.difference : Calibration without bins and without an assumption that the curve is smooth.

    Notes
    -----
    Rows are merged into M = min(30, n / 10) bins of nearly equal mass; wide bins of sparse scores are divided, and
    scores of exactly 0 and 1 have knots of their own (`merge_to_knots`). At these knots, smooth curves (a drift, a
    Gaussian process, or both) compete with the shrinkage model of `evaluate`, which describes errors of single scores,
    of ranges of scores, and noisy labels. The families share the draws in proportion to the tenth powers of their
    marginal likelihoods, and exact calibration by its posterior probability. Without a positive probability of exact
    calibration, the absolute value makes every noisy curve look miscalibrated: the intervals of a calibrated classifier
    would never contain 0. The page "Calibration curve and ICI" states the model, and shows how often the intervals
    contain the truth, also for splines and bootstraps.

    With `cluster`, the effective number of rows is that of independent rows divided by the design effect, 1 plus the
    correlation of residuals of one cluster times the mean size of clusters minus 1.

    With fewer than 100 (effective) rows, the curve is a line on the logit scale, with the posterior of intercept and
    slope of `recalibration`; calibration is exact in a share of the draws. A remark says so.

    Limits: if errors are of equal size in most rows, or jump, E90 and Emax are too large, and the band misses scores
    next to the jump; if the share of rows in error is near 10 % (or 50 %), E90 (or E50) may be far off. A remark
    names these cases as far as the rows show them.

    The probability of exact calibration has prior odds of 2:3, with which stated probabilities agree with the share of
    calibrated classifiers among random ones; see the page.

    E90 is the largest error that 10 % of the population have. It differs from `e90_bins`, this percentile over bins.

    References
    ----------
    .. [1] P. C. Austin and E. W. Steyerberg (2019), "The Integrated Calibration Index (ICI) and related metrics for
       quantifying the calibration of logistic regression models", Statistics in Medicine 38, 4051-4065.
    .. [2] F. E. Harrell (2015), Regression Modeling Strategies, 2nd edition, Springer (Eavg, E50, E90 and Emax).

    Examples
    --------
    >>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> cv = bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> cv.ici
    Draws(ici: mean 0.06169, 95 % interval [0.04073, 0.08141], 4000 draws)
    >>> cv.ici < 0.05
    P(ici < 0.05) = 0.1405
    >>> {family: round(sum(shares.values()), 2) for family, shares in cv.posterior.families.items()}
    {'exact': 0.0, 'smooth': 0.34, 'independent': 0.32, 'shared': 0.13, 'noise': 0.22}
    """
    arguments = locals()
    if sets := imputed_sets(y_true, y_prob):
        return of_imputations(calibration_curve, mixed_curve, sets, arguments)
    rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights).checked()
    steps, of_rows = OrderedSums.from_rows(rows.scale_free()), remarks_on(rows)
    if cluster is not None:
        counts = count_rows(rows, BINS, "equal-mass", clusters=Clusters.from_column(cluster, len(rows)))
        require_several_clusters(counts)
        steps, of_rows = in_clusters(steps, counts), (*cluster_remarks(counts), *of_rows)
    return curve_of(steps, rows.target, draws=draws, rng=rng, exact=prior_exact, of_rows=of_rows)


def in_clusters(steps: OrderedSums, counts: BinnedCounts) -> OrderedSums:
    """Let rows count less, by the design effect of the mean residual of counts with clusters, if they have any."""
    return steps if counts.clusters is None else steps.with_effect(counts.clusters.total_effect)


#: Alias of `CalibrationCurve.from_counts`.
calibration_curve.from_counts = CalibrationCurve.from_counts  # type: ignore[attr-defined]  # functions have no such member
