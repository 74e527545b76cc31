"""The cumulative difference of bins, and the two statistics of a curve."""

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws

Floats = NDArray[np.float64]


def curve_of(bins: BinDraws) -> Floats:
    """Compute the cumulative difference C at the upper end of each bin, shape (n_draws, n_bins).

    Examples
    --------
    >>> mass, accuracy, confidence = np.array([[0.25, 0.75]]), np.array([[0.5, 0.75]]), np.array([[0.25, 0.875]])
    >>> curve_of(BinDraws(mass, accuracy, confidence, np.ones(2, bool), weight=mass))
    array([[ 0.0625 , -0.03125]])
    """
    return np.cumsum(bins.mass * bins.gap, axis=-1)


def kuiper(curve: Floats) -> Floats:
    """Compute D = max(C, 0) - min(C, 0) over the last axis: the range of a curve that begins at 0.

    Examples
    --------
    >>> float(kuiper(np.array([0.0625, -0.03125])))
    0.09375
    """
    return np.maximum(curve.max(axis=-1), 0.0) - np.minimum(curve.min(axis=-1), 0.0)


def kolmogorov_smirnov(curve: Floats) -> Floats:
    """Compute G = max |C| over the last axis.

    Examples
    --------
    >>> float(kolmogorov_smirnov(np.array([0.0625, -0.03125])))
    0.0625
    """
    return np.abs(curve).max(axis=-1)
