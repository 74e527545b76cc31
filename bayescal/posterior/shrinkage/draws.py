"""Joint posterior draws under the shrinkage model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShrinkageDraws:
    """Joint posterior draws of the bins, the sub-model and its parameters.

    Parameters
    ----------
    bin_draws : BinDraws
        The bins, as returned by `ShrinkagePosterior.sample`.
    sub_model : ndarray of int, shape (n_draws,)
        Index of the sub-model, in the order of `ShrinkagePosterior.probabilities`.
    intercept, slope : ndarray, shape (n_draws,)
        Calibration intercept a and slope exp(s); 0 and 1 under sub-models without drift.
    tau : ndarray, shape (n_draws,)
        Standard deviation of accuracies around their centres h, in units of sqrt(h (1 - h)), under a dense residual.
        Values are on a grid; NaN under other sub-models.
    rho : ndarray, shape (n_draws,)
        Prior probability that a bin is off under "sparse", "logistic_sparse" and "offset"; NaN under other sub-models.
    amount : ndarray, shape (n_draws,)
        Common offset of the bins under "offset", on the scale of arcsin(sqrt(accuracy)); NaN under other sub-models.
    noise, noise_rate : ndarray, shape (n_draws,)
        Share of noisy labels, and the rate of outcome 1 among them, under "label_noise" and "label_noise_any_rate"; NaN
        under other sub-models.
    off : ndarray of bool, shape (n_draws, n_bins)
        Whether each bin is off: deviates from what its sub-model prescribes (exact calibration, drift or label noise).
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

    def __repr__(self) -> str:
        n_draws, n_bins = self.off.shape
        return f"ShrinkageDraws({n_draws} draws of {n_bins} bins and of the parameters behind them)"
