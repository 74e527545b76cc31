"""Joint posterior draws under the shrinkage model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal import _moved
from bayescal.draws import BinDraws

Floats = NDArray[np.float64]


@_moved.fields(bins="bin_draws")
@dataclass(frozen=True, eq=False)
class ShrinkageDraws:
    """Joint posterior draws of the bins and of their parameters.

    Parameters
    ----------
    bin_draws : BinDraws
        The bins, as `ShrinkagePosterior.sample` gives them.
    sub_model : ndarray of int, shape (n_draws,)
        Index of the sub-model, in the order of `ShrinkagePosterior.probabilities`.
    intercept, slope : ndarray, shape (n_draws,)
        Calibration intercept a and slope exp(s); 0 and 1 without drift.
    tau : ndarray, shape (n_draws,)
        Standard deviation of accuracies around their centres h in units of sqrt(h (1 - h)), on a grid, where all bins
        share one; NaN elsewhere.
    rho : ndarray, shape (n_draws,)
        Prior share of bins that are off; NaN where that is not a parameter.
    amount : ndarray, shape (n_draws,)
        Common offset of the bins under "offset", on the scale of arcsin(sqrt(accuracy)); NaN elsewhere.
    noise, noise_rate : ndarray, shape (n_draws,)
        Share of noisy labels, and the rate of outcome 1 among them; NaN elsewhere.
    off : ndarray of bool, shape (n_draws, n_bins)
        Whether a bin deviates from the drift, from exact calibration or, if saturated, from what is stated.
    """

    bin_draws: BinDraws
    sub_model: NDArray[np.intp]
    intercept: Floats
    slope: Floats
    tau: Floats
    rho: Floats
    amount: Floats
    noise: Floats
    noise_rate: Floats
    off: NDArray[np.bool_]
