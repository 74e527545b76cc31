"""NormalSegments against enumeration of segmentations, and against quadrature over the scale."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from bayescal.cumulative.segments import CHANGES, LARGEST_RATE, LARGEST_SCALE, SCALE_WEIGHTS, SCALES, NormalSegments

#: Observed differences, their variances, and the standard deviation of a response.
DATA = [
    ([0.3, 0.25, -0.1], [0.02, 0.03, 0.02], 0.5),
    ([0.02, -0.01, 0.03], [0.02, 0.01, 0.02], 1.0),
    ([0.0, 0.4, 0.0], [0.005, 0.02, 0.001], 0.5),
    ([-40.0, 0.0, 40.0], [90.0, 200.0, 90.0], 60.0),
    ([0.3, 0.1], [0.02, 0.01], 0.5),
    ([0.2], [0.02], 0.5),
]


def enumerated(difference, variance, unit):
    """Means, probabilities of 0, and of a drift, by multivariate Normal densities of every segmentation and scale."""
    d, v, n = np.array(difference), np.array(variance), len(difference)
    tau_sq = (SCALES * unit) ** 2
    whole, mean, zero = 0.0, np.zeros(n), np.zeros(n)
    for changes in (1.0, 4.0, 16.0):
        rate = min(changes / max(n - 1, 1), 0.9)
        for ends in itertools.product([False, True], repeat=n - 1):
            edges = [0, *(i + 1 for i in range(n - 1) if ends[i]), n]
            weight, of_mean, of_zero = np.prod([rate if end else 1 - rate for end in ends]) / 3, [], []
            for i, j in itertools.pairwise(edges):
                noise = np.diag(v[i:j])
                null = 0.5 * stats.multivariate_normal(np.zeros(j - i), noise).pdf(d[i:j])
                off = np.array([
                    0.5 * p * stats.multivariate_normal(np.zeros(j - i), noise + t).pdf(d[i:j])
                    for t, p in zip(tau_sq, SCALE_WEIGHTS, strict=True)
                ])  # fmt: skip
                means = (d[i:j] / v[i:j]).sum() / ((1 / v[i:j]).sum() + 1 / tau_sq)
                weight *= null + off.sum()
                of_mean += [(off @ means) / (null + off.sum())] * (j - i)
                of_zero += [null / (null + off.sum())] * (j - i)
            whole, mean, zero = whole + weight, mean + weight * np.array(of_mean), zero + weight * np.array(of_zero)
    design = np.stack([np.ones(n), np.linspace(-1, 1, n) if n > 1 else np.zeros(1)], axis=1)
    drift = 0.0
    for t, p in zip(tau_sq, SCALE_WEIGHTS, strict=True):
        prior = t * design @ design.T
        density = p * stats.multivariate_normal(np.zeros(n), np.diag(v) + prior).pdf(d)
        drift, mean = drift + density, mean + density * (prior @ np.linalg.solve(np.diag(v) + prior, d))
    return mean / (whole + drift), zero / (whole + drift), drift / (whole + drift)


def close(found, expected, draws):
    """Means of draws; 4 standard errors have a false alarm with probability 6e-5 for each of 26 numbers."""
    error = found.std(axis=0) / draws**0.5
    return (np.abs(found.mean(axis=0) - expected) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize(("difference", "variance", "unit"), DATA)
def test_draws_have_the_moments_of_all_segmentations(difference, variance, unit):
    posterior = NormalSegments(np.array(difference), np.array(variance), unit)
    mean, zero, drift = enumerated(difference, variance, unit)
    assert posterior.p_drift == pytest.approx(drift, rel=1e-9)
    drawn = posterior.sample(60_000, np.random.default_rng(1))
    assert drawn.shape == (60_000, len(difference))
    assert close(drawn, mean, 60_000)
    assert close((drawn == 0).astype(float), zero, 60_000)


def test_an_enumeration_of_other_data_does_not_agree():
    posterior = NormalSegments(np.array([0.3, 0.25, -0.1]), np.array([0.02, 0.03, 0.02]), 0.5)
    drawn = posterior.sample(60_000, np.random.default_rng(1))
    for variance, unit in (([0.04, 0.06, 0.04], 0.5), ([0.02, 0.03, 0.02], 0.3)):
        mean, zero, _ = enumerated([0.3, 0.25, -0.1], variance, unit)
        assert not close(drawn, mean, 60_000)
        assert not close((drawn == 0).astype(float), zero, 60_000)


def test_the_constants():
    """The weights of the grid are those of tau = 1.5 u^2: P(tau < x) = sqrt(x / 1.5)."""
    assert (CHANGES.tolist(), LARGEST_RATE, LARGEST_SCALE) == ([1, 4, 16], 0.9, 1.5)
    assert SCALE_WEIGHTS.sum() == pytest.approx(1)
    below = np.cumsum(SCALE_WEIGHTS)[:-1]
    assert (np.sqrt(SCALES[:-1] / 1.5) < below).all()
    assert (below < np.sqrt(SCALES[1:] / 1.5)).all()


@pytest.mark.parametrize("z", [0.0, 1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize(("noise", "bound"), [(0.01, 0.3), (0.03, 0.05), (0.1, 0.005), (0.3, 0.005)])
def test_the_grid_of_scales_against_quadrature(z, noise, bound):
    """One bin: probabilities and the mean, as a share of it, differ from those of a continuous scale by less than this.

    The error is larger where the standard error of a difference is as small as the smallest scale, 1 % of the unit.
    A drift and a segment are the same for one bin, except that a segment is 0 with probability 1/2.
    """
    d, v, unit = z * noise * 0.5, (noise * 0.5) ** 2, 0.5

    def over_scales(f):
        return integrate.quad(lambda u: f((1.5 * unit * u**2) ** 2), 0, 1, points=[0.05, 0.3], epsabs=0, epsrel=1e-9)[0]

    null = stats.norm.pdf(d, 0, v**0.5)
    off = over_scales(lambda t: stats.norm.pdf(d, 0, (v + t) ** 0.5))
    mean = over_scales(lambda t: stats.norm.pdf(d, 0, (v + t) ** 0.5) * t / (v + t) * d)
    whole = 0.25 * null + 0.75 * off
    of_mean, of_zero, drift = enumerated([d], [v], unit)
    assert of_zero[0] == pytest.approx(0.25 * null / whole, abs=bound)
    assert of_mean[0] == pytest.approx(0.75 * mean / whole, rel=bound, abs=1e-12)
    assert drift == pytest.approx(0.5 * off / whole, abs=bound)


def test_draws_are_reproducible():
    posterior = NormalSegments(np.linspace(-0.2, 0.3, 12), np.full(12, 0.02), 0.5)
    first, same, other = (posterior.sample(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)
    again = NormalSegments(np.linspace(-0.2, 0.3, 12), np.full(12, 0.02), 0.5).sample(50, np.random.default_rng(1))
    np.testing.assert_array_equal(first, again)


def test_the_unit_of_responses_only_scales_differences():
    d, v = np.array([0.3, 0.25, -0.1, 0.0]), np.array([0.02, 0.03, 0.02, 0.01])
    one, thousand = NormalSegments(d, v, 0.5), NormalSegments(1000 * d, 1e6 * v, 500.0)
    assert thousand.p_drift == pytest.approx(one.p_drift)
    drawn = [each.sample(200, np.random.default_rng(1)) for each in (one, thousand)]
    np.testing.assert_allclose(drawn[1], 1000 * drawn[0], rtol=1e-6, atol=1e-9)


def test_clear_shapes_have_their_sub_models():
    """64 bins with a standard error of 0.02: a line, and one part of 12 bins that differs by 0.3."""
    noise = 0.02 * np.random.default_rng(1).standard_normal(64)
    line, part = np.linspace(-0.3, 0.3, 64), np.where(np.arange(64) // 12 == 2, 0.3, 0.0)
    v = np.full(64, 0.02**2)
    assert NormalSegments(line + noise, v, 0.5).p_drift > 0.99
    posterior = NormalSegments(part + noise, v, 0.5)
    assert posterior.p_drift < 0.01
    drawn = posterior.sample(500, np.random.default_rng(1))
    assert (drawn == 0).mean(axis=0)[part == 0].mean() > 0.75
    np.testing.assert_allclose(drawn.mean(axis=0), part, atol=0.03)
