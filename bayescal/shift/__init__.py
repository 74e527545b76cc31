"""Calibration in a target population without labels, from labelled rows of a source.

Predictions alone do not tell what differs between the two populations, so the function that is called states it:
`label` if it is the class frequencies alone, `covariate` if it is the distribution of the features, for which weights
of the rows are known. `evidence` tests whether the scores differ at all, and whether class frequencies explain it.
`class_priors` estimates the class frequencies alone, and `weight_report` says what weighted rows are worth. Counts of
streams and files are `ShiftCounts`, for `label_counts` and `class_priors_counts`.

State: experimental. Intervals under covariate shift take the weights as known, whether or not they are estimated.

Examples
--------
Half of the source has the event, and a sixth of the target:

>>> import numpy as np
>>> import bayescal as bc
>>> rng = np.random.default_rng(1)
>>> y, y_target = rng.random(2000) < 1 / 2, rng.random(2000) < 1 / 6
>>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
>>> ev = bc.shift.label(y, p, p_target, rng=1)
>>> round(ev.ece.mean(), 3), round(ev.adapted.ece.mean(), 3)
(0.148, 0.009)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
