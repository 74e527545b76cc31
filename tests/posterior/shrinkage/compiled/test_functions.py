"""Functions that all loops share: draws of a Dirichlet against its marginal distributions and covariances."""

import numpy as np
import pytest
from scipy import stats

from bayescal.posterior.shrinkage.compiled.functions import dirichlet

pytest.importorskip("numba")


DRAWS = 20_000


@pytest.mark.parametrize("alpha", [[0.2, 0.7, 1.0, 1.5, 30.0, 4e5], [0.01, 0.3], [2.5]])
def test_masses_have_the_marginal_distributions_of_a_dirichlet(alpha):
    alpha, mass = np.array(alpha), np.empty((DRAWS, len(alpha)))
    dirichlet(np.random.default_rng(1), alpha, mass)
    np.testing.assert_allclose(mass.sum(axis=1), 1, rtol=1e-14)
    for b, a in enumerate(alpha[:-1]):
        assert stats.kstest(mass[:, b], stats.beta(a, alpha.sum() - a).cdf).pvalue > 1e-4
    assert np.cov(mass.T).ravel() == pytest.approx(
        stats.dirichlet(alpha).cov().ravel(), rel=0.08, abs=0.02 * stats.dirichlet(alpha).var().max()
    )
