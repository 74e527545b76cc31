"""Posterior of the cumulative difference and of its Kuiper and Kolmogorov-Smirnov statistics; see `posterior`."""
