"""Small records of cumulative differences: the mean difference in an interval of scores, and bands of the curve."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Slope(NamedTuple):
    """The mean difference in an interval of scores: the slope of the cumulative difference.

    Parameters
    ----------
    difference : float
        Weighted mean of the residuals of the rows in the interval.
    standard_error : float
        Its standard error, from the spread of these residuals; NaN for a single row.
    null_standard_error : float
        Standard error under calibration (for subpopulations, equal means).
    weight : float
        Share of the weight of all rows that lies in the interval.
    """

    difference: float
    standard_error: float
    null_standard_error: float
    weight: float


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
