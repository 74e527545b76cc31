"""Verification: every model again in PyMC, comparisons of closed forms with Markov chains, and coverage.

`bayescal.pymc_model` writes the model of a result in PyMC. Its parts are `dirichlet_model`, `shrinkage_model` and
`calibrated_model`, which take counts and constants of the prior. `agreement` samples the model of an evaluation and
compares it with the closed form, quantity by quantity; `bayescal.verify.named.Twin` describes a posterior of your own.
`coverage_study` simulates how often intervals contain the true value. `printed_formula` computes the formula that the
document of the original program prints, and says why it is not the ECE.

The models need PyMC. ``bayescal verify FILE`` runs `agreement` on the command line.

Examples
--------
The same posterior by Markov chains, which takes tens of seconds:

>>> import bayescal as bc
>>> ev = bc.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2, model="dirichlet", rng=1)
>>> print(bc.verify.agreement(ev, rng=1).verdict)  # doctest: +SKIP
They agree: 19 quantities, the largest difference is 1.2 standard errors (10000 draws, 0 divergences, ...).

The model that it samples:

>>> model = bc.verify.dirichlet_model(ev.counts, form="rates")
>>> [v.name for v in model.free_RVs]
['rate', 'mu']
"""

from bayescal._lazy import public_names as _public_names

__getattr__, __dir__, __all__ = _public_names(__name__, __file__)
