"""Posteriors of mean losses: a proportion with Jeffreys' prior, and the moments of a Gamma distribution."""

import numpy as np
import pytest
from scipy import stats

from bayescal.results.scores import MultiClassScore


def score(n, observed, mean_square, largest, *, prior_loss=2.0):
    return MultiClassScore("score", "by hand", n, float(n), observed, mean_square, prior_loss, largest)


def test_losses_of_0_and_2_are_a_proportion_with_jeffreys_prior():
    """3 of 10 losses are 2: mean 0.6, mean square 1.2."""
    made = score(10, 0.6, 1.2, 2.0)
    exact = stats.beta(3.5, 7.5, scale=2)
    assert (made.mean, made.sd) == pytest.approx((exact.mean(), exact.std()), rel=1e-12)
    assert made.interval(0.9) == pytest.approx(exact.interval(0.9), rel=1e-9)
    np.testing.assert_allclose(made.quantile([0.0, 0.5, 1.0]), [0.0, exact.median(), 2.0], rtol=1e-9)


def test_a_loss_without_a_largest_value_has_a_gamma_distribution():
    made = score(50, 0.7, 0.9, np.inf, prior_loss=3.0)
    shape = (made.mean / made.sd) ** 2
    exact = stats.gamma(shape, scale=made.mean / shape)
    assert made.interval(0.5) == pytest.approx(exact.interval(0.5), rel=1e-9)


def test_draws_have_the_mean_of_the_posterior(close_to):
    made = score(10, 0.6, 1.2, 2.0)
    draws = made.sample(20_000, rng=1)
    close_to(draws.mean(), made.mean, made.sd / np.sqrt(20_000))
    assert ((draws.values >= 0) & (draws.values <= 2)).all()
