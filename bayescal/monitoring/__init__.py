"""Calibration of a stream: windows of time, changes between periods, and anytime-valid alarms.

`CalibrationMonitor` counts rows by window. Its methods return the other results of this module: `change` compares two
periods, `evidence` collects evidence against calibration or against a reference after each window, and
`confidence_sequence` has intervals of the ECE that hold for all windows at once.

State: settled.

Examples
--------
Rows are calibrated in the first four windows, and over-confident in the others:

>>> import numpy as np
>>> import bayescal as bc
>>> rng = np.random.default_rng(1)
>>> monitor = bc.monitoring.CalibrationMonitor(window=1000)
>>> confidence, time = rng.random(8000), np.arange(8000)
>>> truth = np.where(time < 4000, confidence, confidence**1.5)
>>> evidence = monitor.add(rng.random(8000) < truth, confidence, time=time).evidence()
>>> evidence.raised, evidence.alarm
(True, 4000)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
