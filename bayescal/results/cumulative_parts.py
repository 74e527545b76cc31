"""Parts of cumulative differences: mean differences in an interval, bands, and hints about unknown attributes."""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks

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


def no_attribute(result: object, name: str, meant: Mapping[str, str]) -> NoReturn:
    """Raise an `AttributeError` that names the attribute that may be meant."""
    if hasattr(type(result), name):  # a property that raised AttributeError itself
        object.__getattribute__(result, name)
    public = [each for each in dir(result) if not each.startswith("_")]
    hint = "" if name.startswith("_") else meant.get(name) or _checks.did_you_mean(name, public)
    raise AttributeError(f"{type(result).__name__!r} has no attribute {name!r}.{hint}")
