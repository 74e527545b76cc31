"""Means over classes of one binary error each."""

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks
from bayescal._draws import Draws


def classwise_mean(by_class: Draws) -> Draws:
    """Draw the unweighted mean over classes (classwise ECE).

    Parameters
    ----------
    by_class : Draws
        Shape (n_draws, n_classes).

    Returns
    -------
    Draws
        Shape (n_draws,).
    """
    return Draws(by_class.values.mean(axis=1), "classwise_ece")


def marginal_mean(by_class: Draws, frequency: ArrayLike) -> Draws:
    """Draw the mean over classes weighted by class frequency (marginal error).

    Parameters
    ----------
    by_class : Draws
        Shape (n_draws, n_classes).
    frequency : array-like, shape (n_classes,)
        Share of each class, >= 0; sums to 1.

    Returns
    -------
    Draws
        Shape (n_draws,).

    Raises
    ------
    ValueError
        If `frequency` does not sum to 1 or has another length.
    """
    share = np.asarray(frequency, dtype=np.float64)
    _checks.same_length(("frequency", "by_class"), (len(share), by_class.values.shape[1]))
    if (share < 0).any() or abs(share.sum() - 1) > 1e-9:
        raise ValueError(f"`frequency` must be >= 0 and sum to 1; it sums to {share.sum():g}.")
    return Draws(by_class.values @ share, "marginal_error")
