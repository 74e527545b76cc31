"""The prior of an evaluation."""

import numpy as np
import pytest

import bayescal as bc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    p = rng.random(200)
    return (rng.random(200) < p).astype(int), p


@pytest.mark.parametrize(
    "options",
    [{}, {"prior_odds": 3.0, "intercept_sd": 1.0}, {"model": "dirichlet", "alpha": "uniform"}],
)
def test_it_is_the_same_evaluation_under_empty_counts(rows, options):
    evaluation = bc.evaluate(*rows, bins=[0, 0.3, 1], draws=500, rng=7, **options).under_prior()
    expected = bc.evaluate_counts(bc.BinnedCounts.empty([0, 0.3, 1], target="event"), draws=500, rng=7, **options)
    np.testing.assert_array_equal(evaluation.ece.values, expected.ece.values)
    assert evaluation.spec == expected.spec
    assert evaluation.sentence() == expected.sentence()
    assert evaluation.null_bin_draws is None


def test_the_prior_mean_of_the_uniform_prior(rows):
    """With Beta(1, 1) accuracies and a confidence c, E|t - c| = (c^2 + (1 - c)^2) / 2, here averaged over two bins."""
    evaluation = bc.evaluate(*rows, bins=2, model="dirichlet", alpha=1.0, bin_variance=1e-10, draws=20_000, rng=1)
    assert evaluation.under_prior().ece.mean() == pytest.approx((0.25**2 + 0.75**2) / 2, abs=0.006)


def test_what_has_no_prior_of_its_own(rows):
    grouped = bc.evaluate(*rows, by=np.arange(200) % 2, pooling="partial", draws=50, rng=1)
    with pytest.raises(TypeError, match="`under_prior` exists for the shrinkage model and the Dirichlet model"):
        grouped[0].under_prior()
    survival = bc.survival.evaluate(np.arange(200) + 1.0, *rows, horizon=100, draws=50, rng=1)
    with pytest.raises(TypeError, match="`under_prior` exists for BinnedCounts, not for HorizonCounts"):
        survival.under_prior()
