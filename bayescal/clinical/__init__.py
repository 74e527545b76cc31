"""Risk models for a paper: discrimination, calibration intercept and slope, calibration curve, and net benefit.

`summary` computes one table of all of these. `recalibration` estimates intercept, slope, calibration in the large, and
the ratio of observed to expected events; `calibration_curve` a smooth curve without bins, with the integrated
calibration index (ICI); `calibration_tests` has the tests of Spiegelhalter and of Hosmer and Lemeshow, for comparison.

State: settled.

Examples
--------
Probabilities that are too extreme by a factor of 1.5 on the logit scale:

>>> import bayescal as bc
>>> from bayescal.datasets.simulate import simulate
>>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
>>> table = bc.clinical.summary(rows.outcome, rows.confidence, [0.3], rng=1)
>>> table.to_frame().loc["model"].loc[["auc", "slope", "net_benefit at 0.3"], "mean"].round(2).tolist()
[0.75, 0.63, 0.32]
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
