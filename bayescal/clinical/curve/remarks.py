"""Remarks on a calibration curve: missing outcomes, unequal bins, and weak quantiles."""

import numpy as np
from numpy.typing import NDArray

from bayescal import _render
from bayescal.draws import Draws
from bayescal.stats.ordered import MergedCounts

Floats = NDArray[np.float64]

#: Bins with more than this multiple of an equal share, and fewer bins than this, are named in a remark.
UNEQUAL, FEW_BINS = 2.0, 10
#: A quantile of the errors is flat if its mean exceeds the same quantile of the mean errors by more than FLAT posterior
#: standard deviations. It is steep if the mean errors of NEAR more and NEAR less of the rows differ by more than STEEP
#: standard deviations and by a factor of at least 2.
FLAT, STEEP, NEAR = 1.0, 1.5, 0.05
#: Distance of neighbouring knots above which a remark states that the curve is interpolated.
GAP = 0.25
#: Largest error of an observed rate by rounding.
ROUNDING = 1e-9


def of_outcomes(counts: MergedCounts, contradicted: float) -> list[str]:
    """Name outcomes that are missing, and rows that contradict a score of exactly 0 or 1."""
    texts, rate = [], float(counts.accuracy @ counts.share)
    if np.abs(counts.accuracy - np.round(rate)).max() < ROUNDING:
        texts.append(
            f"No row has outcome {1 - round(rate)}: the curve follows from the prior and from the absence of this "
            "outcome."
        )
    if contradicted:
        rows = (
            f"Rows with {_render.percent(contradicted)} of the weight contradict"
            if counts.weighted
            else f"{contradicted:.0f} of {counts.n_rows} rows contradict"
        )
        texts.append(f"{rows} a score of exactly 0 or 1, so that exact calibration is impossible. Look at these rows.")
    return texts


def of_bins(counts: MergedCounts, wanted: int, *, counted: bool) -> list[str]:
    """Name knots that are few or unequal, because equal scores, or counted bins, are not divided."""
    n_knots, largest = len(counts.share), float(counts.share.max())
    if n_knots >= FEW_BINS and largest * wanted <= UNEQUAL:
        return []
    whole = "counted bins" if counted else "equal scores"
    advice = " Count in finer bins: errors within a bin average out." if counted else ""
    return [
        f"The curve has {n_knots} knot{'s' * (n_knots > 1)}, and the largest holds {100 * largest:.0f} % of the rows, "
        f"because {whole} are not divided; coverage was measured with bins of equal mass.{advice}"
    ]


def of_gaps(score: Floats) -> list[str]:
    """Name the widest range without rows between knots, where the curve is interpolated.

    Examples
    --------
    >>> of_gaps(np.array([0.0, 0.1, 1.0]))
    ['No row has a score between 0.1 and 1: the curve is interpolated there.']
    """
    if len(score) < 2 or np.diff(score).max() <= GAP:
        return []
    widest = int(np.diff(score).argmax())
    low, high = score[widest : widest + 2]
    return [f"No row has a score between {low:.3g} and {high:.3g}: the curve is interpolated there."]


def of_quantiles(mean_error: Floats, share: Floats, quantiles: dict[str, tuple[Draws, float]]) -> list[str]:
    """Name quantiles of the errors that intervals often miss: of flat errors, and where the errors jump.

    Parameters
    ----------
    mean_error : ndarray, shape (n_knots,)
        Absolute differences between the posterior mean of the curve and the scores.
    share : ndarray, shape (n_knots,)
        Shares of the rows.
    quantiles : dict of str to (Draws, float)
        Draws of E50 and E90, and the share of the population that has at least such an error.
    """
    order = np.argsort(-mean_error, kind="stable")
    held, ordered = np.cumsum(share[order]), mean_error[order]

    def at(part: float) -> float:
        return float(ordered[min(int(np.searchsorted(held, part * (1 - 1e-9))), len(ordered) - 1)])

    texts = []
    for symbol, (drawn, part) in quantiles.items():
        sd, low = drawn.sd(), float(drawn.interval()[0])
        more, less = at(part - NEAR), at(min(part + NEAR, 1.0))
        if low == 0:
            continue
        if drawn.mean() - at(part) > FLAT * sd:
            texts.append(
                f"{symbol} and Emax may be too large: the largest errors differ by less than their noise, and a "
                "quantile of noisy errors is larger than that of the true errors."
            )
        elif more - less > STEEP * sd and less < more / 2:
            texts.append(
                f"{symbol} may be far off: near {100 * part:.0f} % of the rows the error jumps from {less:.2g} to "
                f"{more:.2g}, and {symbol} is one or the other."
            )
    return texts
