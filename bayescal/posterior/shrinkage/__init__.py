"""The shrinkage model."""

from bayescal._moved import names_of

__getattr__ = names_of("bayescal.posterior.shrinkage")
