"""Partial pooling in PyMC."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import betabinom, binom
from twins.examples import few_groups
from twins.pooling import CURVE, PoolingTwin, prior_of

pytestmark = pytest.mark.slow

BINS = few_groups()


def test_the_density_of_the_pymc_model():
    """At a point, for both families: SciPy's distributions, summed over components by their definition."""
    z = np.random.default_rng(1).standard_normal((3, 2))
    for together, alone in ((False, 0.0), (True, 0.0), (False, 0.4), (True, 0.4)):
        twin = PoolingTwin(BINS, prior_of(together=together, alone=alone))
        model, prior = twin.model(), twin.prior
        of = []
        for centre, a, b, tau in prior.components:
            if centre == "alone":  # under a uniform accuracy all numbers of positive rows are equally probable
                of.append(-np.log(BINS.n + 1).sum(axis=1))
                continue
            eta = BINS.start + (np.array(CURVE) if centre == "common" else 0) + a * z[:, :1] + b * z[:, 1:] * BINS.lever
            h, kappa = expit(eta), 1 / max(tau, 1e-3) ** 2 - 1
            law = betabinom(BINS.n, kappa * h, kappa * (1 - h)) if tau else binom(BINS.n, h)
            of.append(law.logpmf(BINS.k).sum(axis=1))
        of = np.array(of).T
        given = {model["z"]: z}
        if together:
            expected = np.log(np.exp(of.sum(axis=0)) @ prior.weights)
        else:
            weights = np.random.default_rng(2).dirichlet(np.ones(len(prior.components)))
            given[model["weights"]] = weights
            expected = np.log(np.exp(of) @ weights).sum()
        # compiling for speed would take longer than this point
        assert model.potentials[0].eval(given, mode="FAST_COMPILE") == pytest.approx(expected)
