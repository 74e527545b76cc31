"""Posteriors of the bins given counts, sampled in closed form."""
