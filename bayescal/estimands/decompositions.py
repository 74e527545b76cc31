"""Parts of the Brier score and of the log score: by bins (Murphy) and by isotonic regression (CORP)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py, xlogy

from bayescal._arrays import Array, Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.registry import estimand
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import total_without_squares


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """Isotonic regression of outcomes on confidences."""

    confidence: Floats  #: Distinct confidences of rows with positive weight, increasing, shape (n_levels,).
    weight: Floats  #: Sums of weights by outcome, shape (2, n_levels).
    #: The non-decreasing function of the confidence with the smallest Brier score, at each distinct confidence.
    fitted: Floats


def isotonic_fit(confidence: Array, outcome: Array, weight: Floats | None) -> IsotonicFit:
    """Fit outcomes by a non-decreasing function of the confidence; rows of weight 0 are left out.

    The algorithm is that of Busing (2022), "Monotone regression: a simple and fast O(n) PAVA implementation", Journal
    of Statistical Software 102, code snippet 1. For binary outcomes, the same function minimises the log score.
    """
    from scipy.optimize import isotonic_regression

    weight = np.ones(len(outcome)) if weight is None else weight
    counted = weight > 0
    confidence, outcome, weight = confidence[counted].astype(np.float64), outcome[counted] == 1, weight[counted]
    levels, level = np.unique(confidence, return_inverse=True)
    by_outcome = np.zeros((2, len(levels)))
    np.add.at(by_outcome, (outcome.astype(np.intp), level), weight)
    total = by_outcome.sum(axis=0)
    fitted = isotonic_regression(by_outcome[1] / total, weights=total).x
    return IsotonicFit(levels, by_outcome, np.clip(fitted, 0.0, 1.0))


# --- parts of the observed score


def murphy_parts(counts: BinnedCounts) -> dict[str, float]:
    """Compute the Brier score of counts with rows and its parts by bins: the fields of `MurphyDecomposition`."""
    keep = counts.occupied
    share, accuracy = counts.share[keep], counts.accuracy[keep]
    base = float(counts.weight[1].sum() / counts.weight.sum())
    loss = total_without_squares(counts.bins.midpoints, counts.weight, counts.deviation).sum()
    return {
        # Stephenson, Coelho and Jolliffe (2008), equations 5 to 9
        "reliability": float(share @ (counts.mean_confidence[keep] - accuracy) ** 2),
        "resolution": float(share @ (accuracy - base) ** 2),
        "uncertainty": base * (1 - base),
        "within_bin_variance": float(share @ counts.within_variance[keep]),
        "within_bin_covariance": float(share @ (2 * counts.within_covariance[keep])),
        "score": max(float(loss + counts.deviation_sq.sum()) / float(counts.weight.sum()), 0.0),
    }


def corp_parts(fit: IsotonicFit, mean_loss: Callable[[Floats, Floats], float]) -> dict[str, float]:
    """Compute a mean score of rows and its parts by isotonic regression: the fields of `CorpDecomposition`.

    `mean_loss` takes sums of weights by outcome and level, and a probability per level: `mean_squared_error` or
    `mean_log_loss`.
    """
    base = np.full(len(fit.fitted), fit.weight[1].sum() / fit.weight.sum())
    score, recalibrated, constant = (mean_loss(fit.weight, p) for p in (fit.confidence, fit.fitted, base))
    if not np.isfinite([score, recalibrated, constant]).all():
        raise ValueError(
            "`weights` must not differ by more than about 1e15 among rows with equal or neighbouring probabilities: "
            "the share of an outcome rounds to 0, and its log loss to infinity."
        )
    # Dimitriadis, Gneiting and Jordan (2021), equation 4; both are >= 0, except for rounding
    return {
        "miscalibration": max(score - recalibrated, 0.0),
        "discrimination": max(constant - recalibrated, 0.0),
        "uncertainty": constant,
        "score": score,
    }


def mean_squared_error(weight: Floats, probability: Floats) -> float:
    """Return the Brier score of levels: `weight` has shape (2, n_levels), one row per outcome."""
    return float((weight[0] @ probability**2 + weight[1] @ (1 - probability) ** 2) / weight.sum())


def mean_log_loss(weight: Floats, probability: Floats) -> float:
    """Return the log score of levels, in nats; infinite if an observed outcome has probability 0."""
    return float(-(xlog1py(weight[0], -probability) + xlogy(weight[1], probability)).sum() / weight.sum())


# --- the reliability of the population, as a function of each draw of the bins. Intervals of the resolution and of the
# uncertainty have too little coverage: see docs/explanation/decompositions.md.


@estimand(
    "squared l_2 error",
    of_calibration=True,
    reported=False,
    citation="Murphy (1973), J. Appl. Meteorol. 12; Kumar, Liang and Ma (2019), NeurIPS, section 2",
    formula=r"\sum_b m_b (\theta_b - \mu_b)^2",
    synonyms=("reliability (Murphy)", "squared calibration error", "mean squared calibration error"),
)
@public
def squared_l2_error(bin_draws: BinDraws) -> Draws:
    r"""Draw the squared l_2 calibration error, :math:`\sum_b m_b (\theta_b - \mu_b)^2`.

    It is the reliability in Murphy's decomposition of the Brier score [1]_, and the square of `l2_error`.

    Returns
    -------
    Draws
        In [0, 1]; 0 if every bin is calibrated on average.

    References
    ----------
    .. [1] A. H. Murphy (1973), "A new vector partition of the probability score", Journal of Applied Meteorology 12,
       595-600.

    Examples
    --------
    The bins of `ece`: 0.5 x 0.2^2 + 0.3 x 0.1^2 + 0.2 x 0.4^2 = 0.055.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.squared_l2_error(EXAMPLE).values
    array([0.055, 0.085])
    """
    return Draws((bin_draws.weight * bin_draws.gap**2).sum(axis=1), "squared_l2_error")
