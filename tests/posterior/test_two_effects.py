"""Two random effects: limits in closed form, quadrature over one effect, and PyMC."""

import numpy as np
import pytest
from scipy import stats

from bayescal.posterior.random_effects import RandomEffectsPosterior, TwoEffectsPosterior

ESTIMATE = np.array([[0.42, 0.61], [-0.15, 0.93], [0.10, 1.12], [0.65, 0.55], [0.22, 0.80], [-0.40, 1.05]])
ERROR = np.array([[0.2, 0.15], [0.1, 0.2], [0.3, 0.25], [0.15, 0.1], [0.25, 0.2], [0.2, 0.3]])


def posterior(estimate=ESTIMATE, error=ERROR, scales=(0.5, 0.3)):
    """Estimates with independent errors."""
    precision = np.zeros((len(estimate), 2, 2))
    precision[:, 0, 0], precision[:, 1, 1] = (error**-2.0).T
    return TwoEffectsPosterior(precision, estimate / error**2, scales)


def test_the_likelihood_given_the_population_is_that_of_normal_estimates():
    """Differences of log likelihoods between populations, with the mean integrated on a fine grid by scipy."""
    first, second = (0.3, 0.2, 0.5), (0.7, 0.1, -0.4)

    def by_scipy(a, b, rho):
        between = np.array([[a * a, rho * a * b], [rho * a * b, b * b]])
        grid = np.stack(np.meshgrid(np.linspace(-3, 3, 401), np.linspace(-2, 4, 401), indexing="ij"), axis=-1)
        log_density = sum(
            stats.multivariate_normal.logpdf(grid, y, np.diag(e**2) + between)
            for y, e in zip(ESTIMATE, ERROR, strict=True)
        )
        return np.log(np.exp(log_density - log_density.max()).sum()) + log_density.max()

    at = np.array([[a * a, rho * a * b, b * b] for a, b, rho in (first, second)]).T
    found = posterior()._of_means(at)[2]
    assert found[0] - found[1] == pytest.approx(by_scipy(*first) - by_scipy(*second), abs=1e-6)


def test_an_effect_without_information_leaves_the_other_alone():
    """Then the first effect has the posterior of one random effect; shares of 20 000 draws within 5 standard errors."""
    precision = np.zeros((6, 2, 2))
    precision[:, 0, 0] = ERROR[:, 0] ** -2.0
    precision[0, 1, 1] = 1.0  # a proper mean of the second
    shift = np.stack([ESTIMATE[:, 0] / ERROR[:, 0] ** 2, np.zeros(6)], axis=1)
    drawn = TwoEffectsPosterior(precision, shift, (0.5, 0.3))
    drawn_mean, drawn_spread, _, drawn_new = drawn.sample(20_000, np.random.default_rng(1))
    alone = RandomEffectsPosterior(ESTIMATE[None, :, 0], ERROR[None, :, 0], 0.5)
    mean, spread, new = alone.sample(20_000, np.random.default_rng(2))
    limit = 5 * np.sqrt(2 * 0.25 / 20_000)
    for values, other in ((drawn_mean[:, 0], mean), (drawn_spread[:, 0], spread), (drawn_new[:, 0], new)):
        for point in np.quantile(other, [0.05, 0.25, 0.5, 0.75, 0.95]):
            assert (values <= point).mean() == pytest.approx((other <= point).mean(), abs=limit)


def test_many_exact_centres_show_their_population():
    """400 centres without error: mean, standard deviations and correlation of the sample."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((400, 2))
    lines = np.stack([0.2 + 0.4 * z[:, 0], 0.8 + 0.2 * (0.6 * z[:, 0] + 0.8 * z[:, 1])], axis=1)
    mean, spread, correlation, new = posterior(lines, np.full((400, 2), 1e-3)).sample(4000, rng)
    np.testing.assert_allclose(mean.mean(axis=0), lines.mean(axis=0), atol=0.005)
    np.testing.assert_allclose(spread.mean(axis=0), lines.std(axis=0, ddof=1), rtol=0.02)
    assert correlation.mean() == pytest.approx(np.corrcoef(lines.T)[0, 1], abs=0.02)
    np.testing.assert_allclose(new.std(axis=0), lines.std(axis=0), rtol=0.1)


@pytest.mark.measuring
def test_the_posterior_agrees_with_pymc(monkeypatch):
    """Correlated errors of different size; means of all quantities within the Monte Carlo error."""
    pytest.importorskip("pymc")
    from pathlib import Path

    import bayescal as bc

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "make"))
    from verify_cases import two_effects_twin

    found = bc.verify.agreement(two_effects_twin(), draws=4000, rng=1)
    assert found.agrees, found
