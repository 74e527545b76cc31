"""Streams that several tests of monitors share."""

import numpy as np

from bayescal import CalibrationMonitor

REFERENCE = (0, 4)


def rows(n_rows=4000, seed=1, change=2500):
    """Rows with times 0 to 9.99; after row `change`, events are rarer than stated."""
    rng = np.random.default_rng(seed)
    c = rng.random(n_rows)
    truth = np.where(np.arange(n_rows) < change, c, c**1.6)
    return (rng.random(n_rows) < truth).astype(int), c, np.arange(n_rows) * 10 / n_rows


def monitored(bins=10, **options):
    z, c, t = rows(**options)
    return CalibrationMonitor(bins=bins, window=1).add(z, c, time=t)
