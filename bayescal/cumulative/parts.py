"""Parts of cumulative differences: mean differences in an interval, bands, and hints about unknown attributes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal import _render
from bayescal._meant import public

Floats = NDArray[np.float64]


class Slope(NamedTuple):
    """The mean difference in an interval of scores: the slope of the cumulative difference.

    Parameters
    ----------
    difference : float
        Weighted mean of the residuals of the rows in the interval.
    standard_error : float
        Its standard error, from the spread of these residuals; NaN for a single row. For subpopulations, it is
        multiplied by the ratio of `null_sigma` and `sigma`, because members are part of the means.
    null_standard_error : float
        Standard error under calibration (for subpopulations, equal means).
    weight : float
        Share of the weight of all rows that lies in the interval.
    """

    difference: float
    standard_error: float
    null_standard_error: float
    weight: float


@public
class CumulativeBand(NamedTuple):
    """A band of the cumulative difference of the population.

    Parameters
    ----------
    score : ndarray, shape (n_points,)
        Scores at which the band is known.
    low, high : ndarray, shape (n_points,)
        Ends of the band.
    """

    score: NDArray[Any]
    low: Floats
    high: Floats


def significant(value: float, places: int) -> str:
    """Format a number with at most `places` decimals, and with at most four significant digits from 1 on.

    Examples
    --------
    >>> significant(431.2454, 4), significant(0.43125, 4), significant(12345.6, 4)
    ('431.2', '0.4313', '12346')
    """
    before = len(str(int(abs(value)))) if abs(value) >= 1 and np.isfinite(value) else 0
    return _render.number(value, max(0, min(places, 4 - before)))
