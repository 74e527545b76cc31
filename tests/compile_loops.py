"""Compile the loops of the shrinkage model once: each process of tests would compile them, for half a minute."""

import numpy as np

import bayescal as bc
from bayescal.posterior.shrinkage.model import compiled_form

rng = np.random.default_rng(1)
p = np.concatenate([rng.random(200), rng.beta(0.1, 5, 400), rng.beta(5, 0.1, 400)])  # crowded first and last bins
counts = bc.BinnedCounts.from_arrays(rng.random(1000) < p**1.3, p, bins=10, target="event")
compiled_form(bc.shrinkage_posterior(counts)).sample(10, rng=1)
