"""Integration over the tau of a bin that is off, against scipy.integrate."""

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate
from scipy.special import logit

from bayescal.posterior.shrinkage.independent.integrated import SlabTable, tau_rule


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [1.0, 30.0, 1e4])
def test_rule(power, n):
    """Likelihood-like functions, even and odd in tau, narrow and wide; the first is that the prior adds to 1."""
    rule = tau_rule(n, 0.3, power)
    functions = (
        lambda t: 1.0 + 0 * t,
        lambda t: 1 / (1 + n * t * t),
        lambda t: np.sqrt(n) * t * np.exp(-n * t * t / 2),
        lambda t: 1 - t,
    )
    for function in functions:
        # in v = tau^power, whose density is 1
        def of_v(v, function=function):
            return function(v ** (1 / power))

        middle = n ** (-power / 2) / 2
        expected = sum(integrate.quad(of_v, *ends, epsabs=1e-12, limit=200)[0] for ends in ((0, middle), (middle, 1)))
        assert np.exp(rule.log_weight) @ function(rule.tau) == pytest.approx(expected, rel=2e-5, abs=1e-5)
    np.testing.assert_allclose(rule.kappa, 1 / rule.tau**2 - 1, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1.0, 12.5, 400.0])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.96, 1.0])
def test_table(n, share):
    """Beta-binomial times c tau^(c-1), integrated in v = tau^c by mpmath, at logits near and far."""
    c, k = 0.5, n * share
    table = SlabTable(np.array([n]), np.array([k]), tau_rule(n, 0.25, c), farthest=30.0, step=0.08)
    best = (k * np.log(share) if k else 0) + ((n - k) * np.log1p(-share) if k < n else 0)
    for eta in (-12.0, logit(np.clip(share, 0.02, 0.98)) + 0.3 / np.sqrt(n), 1.0):
        with mp.workdps(30):
            h = 1 / (1 + mp.exp(-mp.mpf(float(eta))))

            def beta_binomial(v, h=h):
                kappa = mp.mpf(v) ** (-2 / c) - 1
                return mp.beta(kappa * h + k, kappa * (1 - h) + n - k) / mp.beta(kappa * h, kappa * (1 - h))

            edges = [mp.mpf("1e-3"), 0.03, 0.1, 0.3, 0.6, 0.9, 1 - mp.mpf("1e-12")]
            slab = mp.quad(beta_binomial, edges) + edges[0] * beta_binomial(edges[0])
            expected = float(mp.log(slab)) - best
        assert table.log_slab(np.array([eta]))[0] == pytest.approx(expected, abs=2e-5)
        # and the posterior of tau adds to the same
        weights = table.log_tau_weights(np.array([0]), np.array([eta]))
        assert np.logaddexp.reduce(weights[0]) == pytest.approx(expected, abs=1e-4)
