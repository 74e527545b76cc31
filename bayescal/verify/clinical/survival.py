"""Survival curves of one bin a second time: moments of the product of Betas, and hazards in PyMC."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def beta_stacy_moments(time: Any, event: Any, horizon: float) -> tuple[float, float]:
    r"""Compute mean and variance of the probability of an event by the horizon under a Bayesian bootstrap of hazards.

    Parameters
    ----------
    time : array-like of float, shape (n_rows,)
        Times.
    event : array-like of {0, 1}, shape (n_rows,)
        1 for events, 0 for censored rows; one cause.
    horizon : float
        The horizon.

    Returns
    -------
    (mean, variance) : tuple of float
        The mean is the Kaplan-Meier estimate.

    Notes
    -----
    At each time with d events among Y rows at risk, the hazard is Beta(d, Y - d), independently: a beta-Stacy process
    with vanishing prior [1]_. Survival is a product of independent Betas,

    .. math::
        \mathrm{E}\,S = \prod \frac{Y - d}{Y}, \qquad \mathrm{E}\,S^2 = \prod \frac{(Y - d)(Y - d + 1)}{Y (Y + 1)}.

    Without censoring, 1 - S is exactly Beta(k, n - k) with the number k of events.

    References
    ----------
    .. [1] S. Walker and P. Muliere (1997), "Beta-Stacy processes and a generalization of the Polya-urn scheme", Annals
       of Statistics 25, 1762-1780.

    Examples
    --------
    >>> mean, variance = beta_stacy_moments([1, 2, 3, 4, 5], [1, 1, 0, 0, 0], 2.5)
    >>> round(mean, 3), round(variance, 3)
    (0.4, 0.04)
    """
    times, kinds = np.asarray(time, np.float64), np.asarray(event)
    at, events = np.unique(times[(kinds > 0) & (times <= horizon)], return_counts=True)
    at_risk = len(times) - np.searchsorted(np.sort(times), at, side="left")
    stay = at_risk - events
    mean = float(np.prod(stay / at_risk))
    square = float(np.prod(stay * (stay + 1) / (at_risk * (at_risk + 1.0))))
    return 1 - mean, max(square - mean**2, 0.0)
