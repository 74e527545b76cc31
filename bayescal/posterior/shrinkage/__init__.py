"""The shrinkage model: a Bayesian average of sub-models of calibration."""
