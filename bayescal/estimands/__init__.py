"""Estimands: quantities of one evaluation, as functions of draws of its bins.

Every registered estimand is an attribute of an evaluation, as in ``ev.ece``, and a value of ``estimand=``. The
functions of this module compute the same from ``ev.bin_draws``, and `lp_error` and `largest_error` have parameters.
`Estimand` describes your own quantity, and `register` adds it to tables, comparisons and plots; `registered` lists all.

Examples
--------
Two draws of three bins:

>>> import bayescal as bc
>>> from bayescal.estimands.errors import EXAMPLE
>>> bc.estimands.ece(EXAMPLE).values
array([0.21, 0.2 ])
>>> float(bc.estimands.lp_error(EXAMPLE, 4).values[0])
0.278
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
