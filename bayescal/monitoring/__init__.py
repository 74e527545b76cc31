"""Calibration of a stream: windows of time, changes between periods, and alarms that stay valid.

`CalibrationMonitor` counts rows by window. Its methods return the other results of this module: `change` compares two
periods, `evidence` collects evidence against calibration or against a reference after each window, and
`confidence_sequence` has intervals of the ECE that hold for all windows at once.

Examples
--------
Rows are calibrated in five windows, and over-confident in the next five:

>>> import numpy as np
>>> import bayescal as bc
>>> rng, monitor = np.random.default_rng(1), bc.monitoring.CalibrationMonitor(window=1)
>>> for week in range(10):
...     p = rng.random(400)
...     truth = p if week < 5 else 0.5 + 0.6 * (p - 0.5)
...     _ = monitor.add(rng.random(400) < truth, p, time=week)
>>> monitor.evidence(rng=1).alarm
0
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
