"""Truncated Normals against mpmath, out to ten thousand standard deviations."""

import mpmath as mp
import numpy as np
import pytest

from bayescal.posterior.dirichlet import (
    sample_truncated_normal,
    truncated_normal_moments,
    truncated_normal_quantile,
    truncated_normal_rule,
)

#: loc, scale, low, high: inside, one-sided, far out on either side, wide and narrow intervals.
PARAMETERS = [
    (0.05, 0.02, 0.0, 0.1),
    (0.5, 10.0, 0.4, 0.6),
    (0.0, 1.0, -3.0, 1e-3),
    (0.0, 1.0, 0.0, 5.0),
    (-0.2, 0.05, 0.0, 1 / 15),
    (0.3, 0.05, 0.0, 1 / 15),
    (0.0, 1.0, 8.0, 9.0),
    (0.0, 1.0, -40.0, -39.9),
    (0.0, 1.0, 37.0, 60.0),
    (0.0, 1e-3, 0.1, 0.2),
    (1.0, 1e-3, 0.1, 0.2),
    (0.0, 1e-4, 1.0, 1.1),
    (0.0, 1.0, 1e4, 1e4 + 1),
    (0.0, 1.0, -1e4 - 1, -1e4),
    (0.5, 1e-9, 0.4, 0.6),
    (0.4 + 1e-12, 1e-9, 0.4, 0.6),
]
U = [1e-12, 1e-3, 0.025, 0.5, 0.975, 1 - 1e-3, 1 - 1e-9]


def tail(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def between(a, b):
    """P(a < Z < b) with the digits of the tail it lies in."""
    return tail(-b) - tail(-a) if b < 0 else tail(a) - tail(b)


def exact(loc, scale, low, high):
    loc, scale, low, high = map(mp.mpf, (loc, scale, low, high))
    a, b = (low - loc) / scale, (high - loc) / scale
    whole = between(a, b)
    first = (mp.npdf(a) - mp.npdf(b)) / whole
    second = 1 + (a * mp.npdf(a) - b * mp.npdf(b)) / whole
    return loc + scale * first, scale**2 * (second - first**2)


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(80):  # the variance at 1e4 standard deviations loses 17 digits by cancellation
        yield


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_quantiles(parameters):
    """The exact distribution function at each quantile is u, but for the rounding of u and of the quantile."""
    loc, scale, low, high = map(mp.mpf, parameters)
    whole = between((low - loc) / scale, (high - loc) / scale)
    for u in U:
        x = float(truncated_normal_quantile(u, *parameters))
        assert parameters[2] <= x <= parameters[3]
        z = (mp.mpf(x) - loc) / scale
        below, density = between((low - loc) / scale, z) / whole, mp.npdf(z) / whole / scale
        rounding = 4 * np.spacing(max(abs(parameters[0]), abs(x))) * density
        assert abs(below - mp.mpf(u)) <= 1e-13 + rounding, f"u = {u}: {mp.nstr(below, 15)}"


@pytest.mark.parametrize("loc", [-0.01, -0.3, -10.0, -100.0])
def test_quantiles_next_to_the_near_end(loc):
    """One to ten thousand standard deviations out, the distance from the end 0 has digits of its own.

    To ten digits, but for the 1e-16 below which uniform random numbers are not told apart anyway.
    """
    parameters = loc, 0.01, 0.0, 0.05
    start = -mp.mpf(loc) / mp.mpf(0.01)
    whole = between(start, (mp.mpf(0.05) - mp.mpf(loc)) / mp.mpf(0.01))
    for u in (1e-12, 1e-6, 1e-3, 0.5, 0.999):
        x = mp.mpf(float(truncated_normal_quantile(u, *parameters)))
        below = between(start, start + x / mp.mpf(0.01)) / whole
        assert abs(below - mp.mpf(u)) < 1e-10 * u + 1e-15, f"u = {u}: {mp.nstr(below, 15)}"


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_moments(parameters):
    mean, variance = exact(*parameters)
    ours = truncated_normal_moments(*parameters)
    low = parameters[2] if abs(parameters[2] - parameters[0]) < abs(parameters[3] - parameters[0]) else parameters[3]
    assert float(ours[0]) == pytest.approx(float(mean), rel=4e-16, abs=1e-11 * abs(float(mean) - low))
    assert float(ours[1]) == pytest.approx(float(variance), rel=1e-11)


def test_the_far_tail_is_an_exponential():
    """At a standard deviations out, a (X - low) tends to a unit exponential: its median is log 2 (1 - O(1/a^2))."""
    for a in (1e4, 1e6, 1e8):
        distance = truncated_normal_quantile(0.5, 0.0, 1.0, a, np.inf) - a
        assert distance * a == pytest.approx(np.log(2), abs=2 / a**2 + 2 * np.spacing(a) * a)


def test_the_ends():
    for parameters in PARAMETERS:
        assert truncated_normal_quantile(0.0, *parameters) == pytest.approx(parameters[2], rel=1e-11)
        assert truncated_normal_quantile(1.0, *parameters) == pytest.approx(parameters[3], rel=1e-11)
        ends = truncated_normal_quantile([0.0, 1.0, 5e-324, 1 - 2**-53], *parameters)
        assert np.all((ends >= parameters[2]) & (ends <= parameters[3]))


def test_quantiles_increase():
    u = np.linspace(0, 1, 10_001)
    for parameters in PARAMETERS:
        assert np.all(np.diff(truncated_normal_quantile(u, *parameters)) >= 0), parameters


def test_mirror_image():
    for loc, scale, low, high in PARAMETERS:
        one = truncated_normal_quantile(0.25, loc, scale, low, high)
        other = truncated_normal_quantile(0.75, -loc, scale, -high, -low)
        assert one == pytest.approx(-other, rel=1e-13)


def test_rows_of_mixed_kinds_are_what_each_is_alone():
    loc, scale, low, high = map(np.array, zip(*PARAMETERS, strict=True))
    together = truncated_normal_quantile(np.array(U)[:, None], loc, scale, low, high)
    assert together.shape == (len(U), len(PARAMETERS))
    for j, parameters in enumerate(PARAMETERS):
        np.testing.assert_allclose(together[:, j], truncated_normal_quantile(U, *parameters), rtol=1e-14)


def test_infinite_ends():
    """Without truncation it is the Normal; the upper half has median 0.6744897501960817 (quartile of the Normal)."""
    assert truncated_normal_quantile(0.975, 1.0, 2.0, -np.inf, np.inf) == pytest.approx(1 + 2 * 1.959963984540054)
    assert truncated_normal_quantile(0.5, 0.0, 1.0, 0.0, np.inf) == pytest.approx(0.6744897501960817, rel=1e-14)


# --- sampling: Dvoretzky-Kiefer-Wolfowitz, P(sup |F_n - F| > d) <= 2 exp(-2 n d^2)

N_DRAWS = 300_000
ERROR_RATE = 1e-6
BOUND = np.sqrt(np.log(2 / ERROR_RATE) / (2 * N_DRAWS))
SAMPLED = [PARAMETERS[i] for i in (0, 1, 4, 5, 9, 12, 13)]


def largest_distance(draws, parameters):
    """Of the empirical distribution function from the exact one, at 99 points (so at most the supremum)."""
    loc, scale, low, high = map(mp.mpf, parameters)
    points = truncated_normal_quantile(np.linspace(0.01, 0.99, 99), *parameters)
    start = (low - loc) / scale
    whole = between(start, (high - loc) / scale)
    cdf = np.array([float(between(start, (mp.mpf(float(x)) - loc) / scale) / whole) for x in points])
    return np.abs(np.searchsorted(np.sort(draws), points, side="right") / len(draws) - cdf).max()


@pytest.mark.parametrize("parameters", SAMPLED)
def test_draws_have_the_distribution(parameters):
    draws = sample_truncated_normal(*parameters, N_DRAWS, rng=40)
    assert draws.shape == (N_DRAWS,)
    assert largest_distance(draws, parameters) < BOUND


@pytest.mark.parametrize("parameters", SAMPLED)
def test_and_the_test_above_has_power(parameters):
    """A sampler that is 3 % off in its scale would fail wherever the scale matters; a shifted one everywhere."""
    loc, scale, low, high = parameters
    draws = sample_truncated_normal(*parameters, N_DRAWS, rng=40)
    moved = low + (draws - low) * 1.02 - 0.01 * draws.std()
    assert largest_distance(moved, parameters) > BOUND
    if (high - low) / scale > 1:
        wider = sample_truncated_normal(loc, 1.03 * scale, low, high, N_DRAWS, rng=40)
        assert largest_distance(wider, parameters) > BOUND


def test_shapes_and_seeds():
    low, high = np.array([0.0, 0.5]), np.array([0.5, 1.0])
    draws = sample_truncated_normal(0.5, 0.1, low, high, 7, rng=1)
    assert draws.shape == (7, 2)
    np.testing.assert_array_equal(draws, sample_truncated_normal(0.5, 0.1, low, high, 7, rng=1))
    assert not np.array_equal(draws, sample_truncated_normal(0.5, 0.1, low, high, 7, rng=2))
    assert np.all((draws >= low) & (draws <= high))


# --- the quadrature rule


def test_rule_integrates_powers():
    """Against the moments of mpmath, and exactly 1 for the constant."""
    loc, scale, low, high = map(np.array, zip(*PARAMETERS, strict=True))
    nodes, weights = truncated_normal_rule(loc, scale, low, high)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
    assert np.all((nodes >= low[:, None]) & (nodes <= high[:, None]))
    for j, parameters in enumerate(PARAMETERS):
        mean, _ = exact(*parameters)
        assert weights[j] @ nodes[j] == pytest.approx(float(mean), rel=1e-13)


def test_rule_with_a_kink_at_a_break():
    """E|X - 0.03| of a nearly uniform X on [0, 0.1] is (0.03^2 + 0.07^2) / 2 / 0.1 = 0.029 but for 1e-7."""
    arguments = (np.array([v]) for v in (0.05, 100.0, 0.0, 0.1))
    nodes, weights = truncated_normal_rule(*arguments, breaks=np.array([[0.03]]))
    assert weights[0] @ np.abs(nodes[0] - 0.03) == pytest.approx(0.029, rel=1e-6)
