"""The shrinkage model: a Bayesian average of sub-models of calibration."""

from bayescal._moved import names_of

__getattr__ = names_of("bayescal.posterior.shrinkage")
