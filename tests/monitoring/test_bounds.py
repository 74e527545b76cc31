"""The confidence sequence of the ECE: its martingale by enumeration, its range by a grid, and its coverage."""

import itertools
from math import comb

import numpy as np
import pytest
from scipy.special import betaln, expit, logit
from scipy.stats import binom

from bayescal.monitoring.statistics import PRIOR, SHIFT, SIZES, STRETCH, _log_mixture, ece_intervals, log_marginals

MIDPOINTS = np.array([0.25, 0.75])


def test_marginal_probabilities_of_all_outcomes_add_up_to_1():
    """Two windows of two bins; the mean confidences of the second window are the centres of no window before it."""
    sizes = ((2, 3), (3, 0))
    mean = np.array([[0.1, 0.9], [0.2, 0.85]])
    total = 0.0
    for k in itertools.product(*(range(n + 1) for window in sizes for n in window)):
        k = np.array(k, float).reshape(2, 2)
        n = np.array(sizes, float)
        ways = np.prod([comb(int(a), int(b)) for a, b in zip(n.ravel(), k.ravel(), strict=True)])
        found = log_marginals(n.cumsum(axis=0), k.cumsum(axis=0), MIDPOINTS, mean)
        total += ways * np.exp(found[-1])
    assert total == pytest.approx(1, rel=1e-12)


def test_parts_of_the_mixture_have_equal_weights_that_add_up_to_1():
    """Calibrated, drifts, off, sparsely off: by their definition for one bin, where the last is a mean of two."""
    c, n, k = 0.3, 6.0, 4.0
    exact = c**k * (1 - c) ** (n - k)
    moved = expit(logit(c) + SHIFT + STRETCH * logit(c))
    drifts = (PRIOR * moved**k * (1 - moved) ** (n - k)).sum()
    off = np.mean([np.exp(betaln(s * c + k, s * (1 - c) + n - k) - betaln(s * c, s * (1 - c))) for s in SIZES])
    sparse = np.mean([(1 - share) * exact + share * off for share in (0.1, 0.4)])
    found = np.exp(_log_mixture(np.array([n]), np.array([k]), np.array([c])))
    assert found == pytest.approx((exact + drifts + off + sparse) / 4, rel=1e-12)
    assert _log_mixture(np.zeros(2), np.zeros(2), MIDPOINTS) == pytest.approx(0, abs=1e-12)


def test_intervals_contain_no_impossible_ece():
    """One row: the ECE of a bin with mean confidence 0.3 is at most 0.7, and that of 0.9 at most 0.9."""
    n = np.array([1.0, 1.0])
    low, high = ece_intervals(n, np.array([1.0, 0.0]), np.array([0.3, 0.9]), np.array(0.0), 1e-9)
    assert (low, high) == (0.0, pytest.approx((0.7 + 0.9) / 2, rel=1e-12))


def test_centres_are_the_means_of_earlier_windows():
    n, k = np.array([[5.0, 5.0], [9.0, 7.0]]), np.array([[2.0, 4.0], [3.0, 6.0]])
    mean = np.array([[0.4, 0.8], [0.3, 0.7]])
    found = log_marginals(n, k, MIDPOINTS, mean)
    other = log_marginals(n, k, MIDPOINTS, np.array([[0.4, 0.8], [0.1, 0.99]]))
    np.testing.assert_array_equal(found, other)
    assert log_marginals(n, k, MIDPOINTS, mean + 0.1)[1] != found[1]
    empty = log_marginals(np.zeros((1, 2)), np.zeros((1, 2)), MIDPOINTS, np.full((1, 2), np.nan))
    np.testing.assert_allclose(empty, 0, atol=1e-12)


def grid_range(n, k, c, log_marginal, level):
    """Range of the ECE over a grid of accuracies of two bins, each in steps of 0.0005."""
    theta = np.linspace(0.0005, 0.9995, 1999)
    log_likelihood = [k[b] * np.log(theta) + (n[b] - k[b]) * np.log1p(-theta) for b in range(2)]
    inside = np.add.outer(*log_likelihood) >= log_marginal + np.log(level)
    gap = [n[b] / n.sum() * np.abs(theta - c[b]) for b in range(2)]
    values = np.add.outer(*gap)[inside]
    return values.min(), values.max()


@pytest.mark.parametrize(
    ("n", "k", "c", "beyond"),
    [
        ((40, 60), (8, 55), (0.3, 0.8), 0.001),
        ((5, 200), (5, 100), (0.5, 0.5), 0.001),
        ((300, 30), (0, 30), (0.1, 0.9), 0.006),  # the largest ECE is not a convex problem
        ((50, 50), (30, 10), (0.1, 0.7), 0.001),
    ],
)
def test_the_interval_is_the_range_over_a_grid(n, k, c, beyond):
    """The dual values are never inside the range; the upper one may lie beyond it."""
    n, k, c = (np.array(each, float) for each in (n, k, c))
    log_marginal = log_marginals(n[None], k[None], MIDPOINTS, c[None])[0]
    low, high = ece_intervals(n, k, c, log_marginal, 0.05)
    least, most = grid_range(n, k, c, log_marginal, 0.05)
    assert low == pytest.approx(least, abs=0.001)
    assert low <= least + 1e-9
    assert most - 1e-9 <= high <= most + beyond


def test_empty_bins_and_many_problems_at_once():
    n, k, c = np.array([40.0, 60.0]), np.array([8.0, 55.0]), np.array([0.3, 0.8])
    marginal = log_marginals(n[None], k[None], MIDPOINTS, c[None])[0]
    alone = ece_intervals(n, k, c, marginal, 0.05)
    more = ece_intervals(np.append(n, 0), np.append(k, 0), np.append(c, np.nan), marginal, 0.05)
    np.testing.assert_allclose(more, alone, rtol=1e-12)
    many = ece_intervals(
        np.array([n, 2 * n]), np.array([k, 2 * k]), np.array([c, c]), np.array([marginal, marginal]), 0.05
    )
    np.testing.assert_allclose(many[:, 0], alone, rtol=1e-12)


def test_large_counts():
    """10^9 rows: the interval is a few 10^-5 wide and contains the ECE of 0.1."""
    n, c = np.full(2, 5e8), np.array([0.3, 0.7])
    k = n * (c + np.array([0.1, -0.1]))
    low, high = ece_intervals(n, k, c, log_marginals(n[None], k[None], MIDPOINTS, c[None])[0], 0.05)
    assert 0.0998 < low < 0.1 < high < 0.1002


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_intervals_hold_at_all_times_at_once(level):
    """400 streams, 30 windows of 25 rows, constant accuracies; fails with probability 0.001 if the bound is sharp.

    The intervals are conservative; a set around the maximum of the likelihood misses the truth more often.
    """
    rng = np.random.default_rng(5)
    streams, windows, rows = 400, 30, 25
    c = rng.random((windows, streams, rows))
    theta = np.array([0.2, 0.35, 0.5, 0.85])
    of_bin = (c * 4).astype(int)
    z = rng.random(c.shape) < theta[of_bin]
    marks = of_bin[..., None] == np.arange(4)
    n = marks.sum(axis=2).cumsum(axis=0).astype(float)
    k = (marks & z[..., None]).sum(axis=2).cumsum(axis=0).astype(float)
    mean = np.divide((marks * c[..., None]).sum(axis=2).cumsum(axis=0), n, out=np.zeros_like(n), where=n > 0)
    marginal = log_marginals(n, k, np.array([0.125, 0.375, 0.625, 0.875]), mean)
    low, high = ece_intervals(n, k, mean, marginal, level)
    truth = (n / rows / np.arange(1, windows + 1)[:, None, None] * np.abs(theta - mean)).sum(axis=-1)
    missed = ((truth < low) | (truth > high)).any(axis=0)
    assert missed.sum() <= binom.isf(0.001, streams, level)
    best = (
        k * np.log(np.clip(k / np.maximum(n, 1), 1e-12, 1))
        + (n - k) * np.log(np.clip(1 - k / np.maximum(n, 1), 1e-12, 1))
    ).sum(-1)
    low, high = ece_intervals(n, k, mean, best - 0.25, 0.75)  # a set around the maximum of the likelihood
    wrong = ((truth < low) | (truth > high)).any(axis=0)
    assert wrong.sum() > binom.isf(0.001, streams, 0.5)
