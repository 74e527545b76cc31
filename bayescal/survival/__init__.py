"""Risks of an event by a horizon, from right-censored times.

A risk model states for each row the probability of an event by a horizon, such as death within five years. Some rows
were not followed that long. `evaluate` estimates the calibration error from Kaplan-Meier or Aalen-Johansen estimates in
bins of the risk, `compare` compares risk models on the same rows, and `SurvivalCounts` holds rows on a grid of times,
which can be added, stored and evaluated at any horizon of the grid with `evaluate_counts`. `net_benefit` and
`recalibration` are decision curves, and intercept and slope, at a horizon; `calibration_tests` tests whole predicted
distributions.

State: experimental. Intervals are too narrow for rows in clusters, and for differences with 500 rows.

Examples
--------
Half of the rows die before the horizon, as stated, and a fifth is lost earlier:

>>> import numpy as np
>>> import bayescal as bc
>>> rng = np.random.default_rng(1)
>>> risk = rng.random(2000)
>>> died, lost = rng.exponential(-1 / np.log1p(-risk)), rng.exponential(4.0, 2000)
>>> ev = bc.survival.evaluate(np.minimum(died, lost), died <= lost, risk, horizon=1, rng=1)
>>> round(ev.ece.mean(), 3), round(ev.observed_expected.mean(), 2)
(0.006, 1.01)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
