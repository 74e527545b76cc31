"""Bins that are off by one amount: evidence and means against enumeration, draws against both."""

from itertools import product

import numpy as np
import pytest
from moments_of_ece import sums_of_gaps

from bayescal.posterior.shrinkage.segments import EqualOffsets

N = np.array([40.0, 25.0, 60.0, 30.0])
K = np.array([15.0, 14.0, 31.0, 28.0])
C = np.array([0.2, 0.45, 0.7, 0.9])
MASS = N + 0.5
DRAWS = 200_000


@pytest.fixture(scope="module")
def by_amount(log_likelihood):
    """States of all bins (exact, up, down) for each rho and amount, on a fine grid of log amounts."""
    amounts = np.exp(np.linspace(np.log(1e-4), np.log(0.7), 4001))
    weights, gaps, off, amount = [], [], [], []
    angle = np.arcsin(np.sqrt(C))
    each = np.stack(
        [np.broadcast_to(C, (len(amounts), 4))]
        + [np.sin(np.clip(angle + s * amounts[:, None], 0, np.pi / 2)) ** 2 for s in (1, -1)]
    )
    likelihood = np.exp([[log_likelihood(a, N, K, C) for a in of] for of in each])
    for rho in (0.25, 0.5, 1.0):
        prior = np.array([1 - rho, rho / 2, rho / 2])
        for states in product(range(3), repeat=4):
            s = np.array(states)
            weights.append(prior[s].prod() * likelihood[s, :, range(4)].prod(axis=0))
            gaps.append(np.abs(each[s, :, range(4)].T - C))
            off.append(np.broadcast_to(s > 0, (len(amounts), 4)))
            amount.append(amounts)
    weight = np.concatenate(weights) / (3 * len(amounts))
    return weight, np.concatenate(gaps), np.concatenate(off), np.concatenate(amount)


def test_one_amount_is_that_of_an_enumeration(by_amount, gap_sums):
    weight, gaps, off, amount = by_amount
    found = EqualOffsets(N, K, C)
    assert found.log_evidence == pytest.approx(np.log(weight.sum()), abs=2e-3)
    np.testing.assert_allclose(found.off_probability, weight @ off / weight.sum(), atol=2e-3)
    np.testing.assert_allclose(sums_of_gaps(found, MASS), gap_sums(weight, gaps, MASS), rtol=5e-3)
    assert found.parameter_means()["amount"] == pytest.approx(weight @ amount / weight.sum(), rel=5e-3)


def test_drawn_amounts(by_amount, close_to, gap_sums):
    weight, gaps, off, amount = by_amount
    drawn = EqualOffsets(N, K, C).draw(DRAWS, np.random.default_rng(4))
    p = weight @ off / weight.sum()
    close_to(drawn.off.mean(axis=0), p, np.sqrt(p * (1 - p) / DRAWS) + 3e-4, "off")
    mean, variance, _ = gap_sums(weight, gaps, MASS)
    total = np.abs(drawn.accuracy - C) @ MASS
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS) + 1e-3 * mean, "sum of gaps")
    close_to(total.var(), variance, variance * 0.01, "its variance")
    close_to(drawn.parameters["amount"].mean(), weight @ amount / weight.sum(), 1e-3 * amount.mean(), "amount")
    assert np.all((drawn.accuracy == C) == ~drawn.off)
    # all bins that are off are off by the drawn amount
    angle = np.abs(np.arcsin(np.sqrt(drawn.accuracy)) - np.arcsin(np.sqrt(C)))
    inside = drawn.off & (drawn.accuracy > 0) & (drawn.accuracy < 1)
    np.testing.assert_allclose(angle[inside], np.repeat(drawn.parameters["amount"], inside.sum(axis=1)), rtol=1e-6)


def test_a_narrow_amount_is_resolved():
    """With 10^8 rows the amount is known to 0.005 %: the standard error of an arcsine is 1 / (2 sqrt(n))."""
    n = np.full(10, 1e7)
    c = (np.arange(10) + 0.5) / 10
    theta = np.sin(np.arcsin(np.sqrt(c)) + 0.05 * (-1.0) ** np.arange(10)) ** 2
    drawn = EqualOffsets(n, n * theta, c).draw(4000, np.random.default_rng(5)).parameters["amount"]
    assert drawn.mean() == pytest.approx(0.05, abs=5e-6)
    assert drawn.std() == pytest.approx(0.5 / np.sqrt(1e8), rel=0.05)
