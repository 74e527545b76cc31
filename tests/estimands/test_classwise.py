"""Means over classes."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import Draws
from bayescal.estimands.classwise import classwise_mean, jointly_exact, marginal_mean


@pytest.fixture
def by_class():
    return Draws(np.array([[0.1, 0.2, 0.6], [0.0, 0.3, 0.3]]))


def test_by_hand(by_class):
    np.testing.assert_allclose(classwise_mean(by_class).values, [0.3, 0.2])
    np.testing.assert_allclose(marginal_mean(by_class, [0.5, 0.25, 0.25]).values, [0.25, 0.15])
    assert classwise_mean(by_class).name == "classwise_ece"
    assert marginal_mean(by_class, [0.5, 0.25, 0.25]).name == "marginal_error"


def test_equal_frequencies_make_them_equal(by_class):
    np.testing.assert_allclose(marginal_mean(by_class, np.full(3, 1 / 3)).values, classwise_mean(by_class).values)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ([0.5, 0.5], "`frequency` has 2, `by_class` has 3"),
        ([0.5, 0.5, 0.5], "must be >= 0 and sum to 1; it sums to 1.5"),
        ([1.5, -0.5, 0.0], "must be >= 0 and sum to 1"),
        ([50, 25, 25], "it sums to 100"),
    ],
)
def test_frequencies_that_are_none(by_class, frequency, message):
    with pytest.raises(ValueError, match=message):
        marginal_mean(by_class, frequency)


@pytest.mark.parametrize(
    ("log_bayes_factors", "share"),
    [([1.0, 2.0], 0.05), ([3.0, -1.0], 0.05), ([-1.0, 0.0], 0.05 / np.e), ([-40.0, 1.0], 0.0), ([800.0], 0.05)],
)
def test_all_classes_are_exact_in_at_most_five_percent(log_bayes_factors, share):
    chosen = jointly_exact(log_bayes_factors, 10_000, rng=1)
    assert abs(chosen.sum() - share * 10_000) <= 1
    if share:
        assert 0.3 < chosen[:5000].sum() / chosen.sum() < 0.7  # anywhere among the draws
    np.testing.assert_array_equal(chosen, jointly_exact(log_bayes_factors, 10_000, rng=1))


def test_the_mean_over_calibrated_classes_can_be_zero():
    """Ten calibrated classes; independent posteriors are never exact in all classes at once."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (1000, 10))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1).clip(max=9)
    ev = bc.evaluate(y, p, target="classwise", rng=1)
    for mean in (ev.ece, ev.marginal_error):
        low, high = mean.interval(0.95)
        assert low == 0 < high < 0.03
    earlier = bc.evaluate(y, p, target="classwise", rng=1, sub_models=["independent"])
    assert earlier.ece.interval(0.95)[0] > 0.0005
    assert not earlier.exact.any()
    assert not bc.evaluate(y, p, target="classwise", rng=1, model="dirichlet").exact.any()
