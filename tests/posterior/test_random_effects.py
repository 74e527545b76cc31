"""Random effects: quadrature over both parameters, limits that are known in closed form, and invariance."""

import numpy as np
import pytest
from scipy import stats

from bayescal.posterior.random_effects import RandomEffectsPosterior

ESTIMATE, ERROR = np.array([0.02, -0.01, 0.05, 0.03]), np.array([0.01, 0.02, 0.015, 0.01])


def by_quadrature(estimate, error, scale):
    """Probabilities on a fine grid of mean and standard deviation; the prior by scipy."""
    root = np.linspace(0, 1, 2001)[1:]
    mean, spread = np.linspace(-1, 1, 4001)[:, None], (60 * scale * root**3)[None]
    log_density = stats.t.logpdf(spread / scale, 4) + np.log(root**2)
    for m, s in zip(estimate, error, strict=True):
        log_density = log_density + stats.norm.logpdf(m, mean, np.hypot(s, spread))
    share = np.exp(log_density - log_density.max())
    return mean, spread, share / share.sum()


@pytest.mark.slow
def test_moments_and_distribution_functions_agree_with_quadrature():
    """Shares of 200 000 draws within 5 standard errors; moments to 1e-3."""
    posterior = RandomEffectsPosterior(ESTIMATE[None], ERROR[None], 0.05)
    mean, spread, share = by_quadrature(ESTIMATE, ERROR, 0.05)
    center = (share * mean).sum()
    found = posterior.mean_moments
    assert found[0][0] == pytest.approx(center, rel=1e-3)
    assert found[1][0] == pytest.approx(np.sqrt((share * (mean - center) ** 2).sum()), rel=1e-3)
    assert posterior.spread_mean[0] == pytest.approx((share * spread).sum(), rel=1e-3)
    drawn = posterior.sample(200_000, np.random.default_rng(1))
    limit = 5 * 0.5 / np.sqrt(200_000) + 1e-3
    for point in (0.0, 0.01, 0.02, 0.03, 0.05):
        for values, grid in ((drawn[0], mean), (drawn[1], spread)):
            below = share * ((grid <= point - 1e-9) / 2 + (grid <= point + 1e-9) / 2)  # half of a cell at the point
            assert (values <= point).mean() == pytest.approx(below.sum(), abs=limit)
        new = (share * stats.norm.cdf(point, mean, spread)).sum()
        assert (drawn[2] <= point).mean() == pytest.approx(new, abs=limit)


def test_a_tiny_prior_scale_gives_the_fixed_effect():
    """Weights 1 / s^2: mean and standard error of the inverse-variance method."""
    posterior = RandomEffectsPosterior(ESTIMATE[None], ERROR[None], 1e-7)
    weight = ERROR**-2
    center, sd = posterior.mean_moments
    assert center[0] == pytest.approx((weight * ESTIMATE).sum() / weight.sum(), rel=1e-6)
    assert sd[0] == pytest.approx(weight.sum() ** -0.5, rel=1e-4)


def test_many_exact_differences_give_the_t_interval():
    """Without errors and with a wide prior, tau has a flat prior: mu is t with n - 2 degrees of freedom."""
    rng = np.random.default_rng(3)
    exact = rng.normal(0.02, 0.01, 12)
    posterior = RandomEffectsPosterior(exact[None], np.full((1, 12), 1e-9), 100.0)
    drawn = posterior.sample(200_000, np.random.default_rng(1))[0][:, 0]
    scale = np.sqrt(((exact - exact.mean()) ** 2).sum() / 10 / 12)
    for share in (0.025, 0.25, 0.5, 0.975):
        point = stats.t.ppf(share, 10, exact.mean(), scale)
        assert (drawn <= point).mean() == pytest.approx(share, abs=5 * 0.5 / np.sqrt(200_000) + 1e-3)


def test_shifts_units_and_order_of_data_sets_do_not_matter():
    one = RandomEffectsPosterior(ESTIMATE[None], ERROR[None], 0.05)
    other = RandomEffectsPosterior(-10 * ESTIMATE[None, ::-1] + 3, 10 * ERROR[None, ::-1], 0.5)
    assert other.mean_moments[0][0] == pytest.approx(3 - 10 * one.mean_moments[0][0])
    assert other.mean_moments[1][0] == pytest.approx(10 * one.mean_moments[1][0])
    assert other.spread_mean[0] == pytest.approx(10 * one.spread_mean[0])


def test_several_problems_are_those_alone():
    both = RandomEffectsPosterior(np.stack([ESTIMATE, -ESTIMATE]), np.stack([ERROR, ERROR]), 0.05)
    first, second = both.mean_moments[0]
    assert (first, second) == (pytest.approx(0.02457329, rel=1e-5), -first)
    drawn = both.sample(1000, np.random.default_rng(1), common=True)
    np.testing.assert_allclose(drawn[1][:, 0], drawn[1][:, 1])
    one = RandomEffectsPosterior(ESTIMATE[None], ERROR[None], 0.05)
    alone = one.sample(1000, np.random.default_rng(1), common=True)
    np.testing.assert_allclose(drawn[0][:, 0], alone[0][:, 0])
    independent = both.sample(4000, np.random.default_rng(1))
    assert abs(np.corrcoef(independent[1].T)[0, 1]) < 0.1


def test_equal_estimates_without_errors():
    """Two names of one classifier differ by exactly 0 on every data set."""
    mean, spread, new = RandomEffectsPosterior(np.zeros((1, 3)), np.zeros((1, 3)), 0.05).sample(
        500, np.random.default_rng(1)
    )
    assert np.isfinite([mean, spread, new]).all()
    assert np.abs(mean).max() < 0.001


def test_sets_given_the_population_are_shrunk_to_its_mean():
    """By hand: precision-weighted means of estimate and population; exact sets keep their value, tau = 0 gives mu."""
    posterior = RandomEffectsPosterior(np.array([[0.0, 1.0, 3.0]]), np.array([[1.0, 1.0, 0.0]]), 1.0)
    mean, spread = np.full((100_000, 1), 2.0), np.full((100_000, 1), 0.5)
    sets = posterior.sets_given(mean, spread, np.random.default_rng(1))[:, 0]
    np.testing.assert_allclose(sets.mean(axis=0), [1.6, 1.8, 3.0], atol=0.01)
    np.testing.assert_allclose(sets.var(axis=0), [0.2, 0.2, 0.0], atol=0.005)
    same = posterior.sets_given(mean[:5], np.zeros((5, 1)), np.random.default_rng(1))[:, 0, :2]
    np.testing.assert_allclose(same, 2.0)
