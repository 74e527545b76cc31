"""Right-censored rows on which other programs were run; see the tests for their calls."""

import numpy as np


def reference_rows(n=300):
    """Return times without ties, events, and calibrated risks at the horizon 1."""
    u = np.random.default_rng(7).random((n, 4))
    risk = 0.05 + 0.85 * u[:, 0] ** 2
    died = (np.log(u[:, 1]) / np.log1p(-risk)) ** 0.8
    lost = -1.5 * np.log(u[:, 2])
    return np.minimum(died, lost), died <= lost, risk
