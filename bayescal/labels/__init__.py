"""Calibration when labels come from an imperfect judge, or are known for some rows only.

A judge, such as a language model that grades answers, labels all rows, and a person checks some of them. `judged` gives
the posterior of the calibration error for the true label: it learns how often the judge errs from the checked rows,
and includes this uncertainty in all intervals. `partly_observed` gives that of all rows if the outcome is known for
some of them, under a stated assumption about the others.

State: experimental. The judge's errors must not depend on the confidence within a range, given the true label; the data
cannot tell why outcomes are missing.

Examples
--------
The judge calls a fifth of the wrong answers right; 300 of 2000 answers are checked:

>>> import numpy as np
>>> import bayescal as bc
>>> rng = np.random.default_rng(1)
>>> confidence = rng.random(2000)
>>> right = rng.random(2000) < confidence
>>> judge = right | (rng.random(2000) < 0.2)
>>> ev = bc.labels.judged(np.where(np.arange(2000) < 300, right, np.nan), confidence, judge=judge, rng=1)
>>> round(ev.ece.mean(), 2), round(ev.judge_as_truth.ece.mean(), 2)
(0.01, 0.1)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
