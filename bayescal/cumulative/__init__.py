"""Calibration without bins: cumulative differences between outcomes and scores.

`difference` adds the differences of the rows in the order of their scores. The range of the curve is the Kuiper
statistic, the largest error of any interval of scores; the largest absolute value is the statistic of Kolmogorov and
Smirnov. `subpopulation` compares a group with the rows of all groups at equal scores, and `screen` all groups of a
column.

Examples
--------
>>> import bayescal as bc
>>> cancer = bc.datasets.load_breast_cancer()
>>> cd = bc.cumulative.difference(cancer.y_true, cancer.y_prob["naive_bayes"])
>>> round(cd.kuiper, 3), cd.p_kuiper < 0.001
(0, 0)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
