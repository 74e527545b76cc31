"""Estimands: quantities of one evaluation, as functions of draws of its bins.

Every registered estimand is an attribute of an evaluation, as in ``ev.ece``, and a value of ``estimand=``. The
functions of this module compute the same from ``ev.bin_draws``, and `lp_error` and `largest_error` have parameters.
`Estimand` describes a quantity of your own, and `register` adds it to tables, comparisons and plots; `registered` lists
all.

Examples
--------
>>> import bayescal as bc
>>> cancer = bc.datasets.load_breast_cancer()
>>> ev = bc.evaluate(cancer.y_true, cancer.y_prob["naive_bayes"], rng=1)
>>> round(ev.ece.mean(), 3), round(bc.estimands.lp_error(ev.bin_draws, 4).mean(), 3)
(0, 0)
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
