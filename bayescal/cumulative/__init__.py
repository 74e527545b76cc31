"""Calibration without bins: cumulative differences between outcomes and scores.

`difference` adds the differences of the rows in the order of their scores. The range of the curve is the Kuiper
statistic, the largest error of any interval of scores; the largest absolute value is the statistic of Kolmogorov and
Smirnov. `subpopulation` compares a group with the rows of all groups at equal scores, and `screen` all groups.

State: settled.

Examples
--------
>>> import bayescal as bc
>>> cd = bc.cumulative.difference([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])
>>> round(cd.kuiper, 2), cd.worst_interval, round(cd.p_kuiper, 2)
(0.12, (0.2, 0.2), 0.98)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
