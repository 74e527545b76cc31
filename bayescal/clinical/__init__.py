"""Risk models for a paper: discrimination, calibration intercept and slope, calibration curve, and net benefit.

`summary` computes one table of all of these. `recalibration` estimates intercept, slope, calibration in the large, and
the ratio of observed to expected events; `calibration_curve` a smooth curve without bins, with the integrated
calibration index (ICI); `calibration_tests` has the tests of Spiegelhalter and of Hosmer and Lemeshow, for comparison.

Examples
--------
>>> import bayescal as bc
>>> cancer = bc.datasets.load_breast_cancer()
>>> table = bc.clinical.summary(cancer.y_true, cancer.y_prob["naive_bayes"], rng=1)
>>> round(table.evaluation.auc.mean(), 2), round(table.recalibration.slope.mean(), 2)
(0, 0)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
