"""Noisy labels: evidence and means against plain grids and quadrature, draws against both; cells of the grids."""

from itertools import pairwise

import numpy as np
import pytest
from moments_of_ece import sums_of_gaps
from scipy import integrate, stats

from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds, _adaptive_cells, crowded_ends

N = np.array([40.0, 25.0, 60.0, 30.0])
K = np.array([15.0, 14.0, 31.0, 28.0])
C = np.array([0.2, 0.45, 0.7, 0.9])
MASS = N + 0.5
DRAWS = 200_000


def noisy(free_rate, log_likelihood):
    """Plain grid: weights, gaps, shares of noise and rates."""
    u = (np.arange(800) + 0.5) / 800
    rate = (np.arange(400) + 0.5) / 400 if free_rate else np.array([0.5])
    share, rate = (v.ravel() for v in np.meshgrid(1.25 * u**2, rate, indexing="ij"))
    accuracy = (1 - share[:, None]) * C + share[:, None] * rate[:, None]
    weight = np.exp(np.array([log_likelihood(a, N, K, C).sum() for a in accuracy])) / len(share)
    return weight, accuracy - C, share, rate


@pytest.mark.measuring
@pytest.mark.parametrize("free_rate", [False, True])
def test_noise_is_that_of_a_plain_grid(free_rate, close_to, gap_sums, log_likelihood):
    weight, gaps, share, rate = noisy(free_rate, log_likelihood)
    found = LabelNoise(N, K, C, free_rate)
    assert found.log_evidence == pytest.approx(np.log(weight.sum()), abs=2e-3)
    mean, variance, squares = gap_sums(weight, gaps, MASS)
    np.testing.assert_allclose(sums_of_gaps(found, MASS), (mean, variance, squares), rtol=1e-2)
    drawn = found.draw(DRAWS, np.random.default_rng(6))
    total = np.abs(drawn.accuracy - C) @ MASS
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS) + 2e-3 * mean, "sum of gaps")
    close_to(total.std(), np.sqrt(variance), 2e-3 * np.sqrt(variance), "its sd")
    for name, values in (("noise", share), ("noise_rate", rate)):
        expected = weight @ values / weight.sum()
        close_to(drawn.parameters[name].mean(), expected, 2e-3 * expected, name)
        assert found.parameter_means()[name] == pytest.approx(expected, rel=5e-3)
    assert not drawn.off.any()
    assert not found.off_probability.any()


def test_noise_beyond_all_rows_ends_at_certainty(close_to):
    """A share of up to 1.25 with a rate near 1 leads beyond 1, where accuracies end: the same for draws and moments."""
    found = LabelNoise(N, N, C, free_rate=True)
    total = np.abs(found.draw(DRAWS, np.random.default_rng(7)).accuracy - C) @ MASS
    mean, variance, _ = sums_of_gaps(found, MASS)
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS) + 2e-3 * mean, "sum of gaps")
    close_to(total.std(), np.sqrt(variance), 5e-3 * np.sqrt(variance), "its sd")
    assert mean < MASS @ (1 - C)


def test_noise_of_many_rows_is_no_wider_than_it_is(close_to):
    """Two bins of 150 000 rows determine share and rate: accuracies vary as Binomials do."""
    n, c = np.full(2, 150_000.0), np.array([0.3, 0.8])
    k = np.round(n * (0.7 * c + 0.3 * 0.4))
    drawn = LabelNoise(n, k, c, free_rate=True).draw(DRAWS, np.random.default_rng(8)).accuracy
    close_to(drawn.std(axis=0), np.sqrt(k / n * (1 - k / n) / n), 0.02 * np.sqrt(0.25 / n), "sd")


#: Of bins at both ends and one between: rows, contrary outcomes at the ends, stated shares of contrary outcomes.
END_N, CONTRARY, STATED = np.array([300.0, 40.0, 500.0]), np.array([6.0, 0.0, 1.0]), np.array([0.004, 0.0, 1e-3])
END_C, END_K = np.array([0.004, 0.5, 0.999]), np.array([6.0, 17.0, 499.0])


def by_quadrature(b, power):
    """Integral of likelihood ratio, prior and a power of the gap, over the share of noise of one bin."""

    def of(share):
        accuracy = STATED[b] + share * (1 - STATED[b])
        ratio = stats.binom.pmf(CONTRARY[b], END_N[b], accuracy) / stats.binom.pmf(CONTRARY[b], END_N[b], STATED[b])
        return stats.beta.pdf(share, 0.5, 10) * ratio * (accuracy - STATED[b]) ** power

    whole = [integrate.quad(of, a, b, epsabs=0, epsrel=1e-11, limit=300)[0] for a, b in pairwise([0, 0.01, 0.05, 1])]
    return sum(whole)


def test_noise_at_the_ends_by_quadrature(close_to):
    found = NoiseAtEnds(END_N, END_K, END_C, np.array([True, False, True]))
    mass = np.array([10.0, 5.0, 20.0])
    integral = np.array([[by_quadrature(b, power) for b in (0, 2)] for power in range(3)])
    assert found.log_evidence == pytest.approx(np.log(integral[0]).sum(), abs=1e-4)
    first, second = integral[1:] / integral[0]
    weight = mass[[0, 2]]
    moments = (weight @ first, weight**2 @ (second - first**2), weight @ second)
    np.testing.assert_allclose(sums_of_gaps(found, mass), moments, rtol=1e-3)
    drawn = found.draw(DRAWS, np.random.default_rng(8))
    gaps = drawn.accuracy - END_C
    assert not gaps[:, 1].any()
    assert gaps[:, 0].min() >= 0
    assert gaps[:, 2].max() <= 0
    error = np.sqrt((second - first**2) / DRAWS)
    close_to(np.abs(gaps[:, [0, 2]]).mean(axis=0), first, error, "gaps")
    close_to((gaps[:, [0, 2]] ** 2).mean(axis=0), second, 0.02 * second, "their squares")
    assert not drawn.off.any()
    assert not found.off_probability.any()
    assert found.parameter_means() == {}


def test_without_rows_noise_at_the_ends_is_the_prior(close_to):
    found = NoiseAtEnds(np.zeros(2), np.zeros(2), np.array([0.0, 0.99]), np.array([True, True]))
    assert found.log_evidence == pytest.approx(0, abs=1e-3)
    share = found.draw(DRAWS, np.random.default_rng(9)).accuracy @ np.diag([1, -1 / 0.99]) + [0, 1]
    exact = stats.beta(0.5, 10)
    close_to(share.mean(axis=0), exact.mean(), exact.std() / np.sqrt(DRAWS) + 1e-3 * exact.mean(), "share")


def test_which_ends_are_crowded():
    edges = np.array([0, 0.2, 0.6, 1.0])
    assert crowded_ends(edges, np.array([0.019, 0.21, 0.961])).tolist() == [True, False, True]
    assert crowded_ends(edges, np.array([0.021, 0.59, 0.959])).tolist() == [False, False, False]
    for confidence in (0.05, 0.95):
        assert crowded_ends(np.array([0.0, 1.0]), np.array([confidence])).tolist() == [True]
    assert crowded_ends(np.array([0.0, 1.0]), np.array([0.5])).tolist() == [False]


@pytest.mark.parametrize(("axes", "sd"), [(1, 0.002), (2, 0.002), (1, 1e-7)])
def test_cells_are_small_where_a_density_is_narrow(axes, sd):
    """A narrow Normal density in the middle: its mass by the cells, which are narrower than its standard deviation."""
    centre = 0.37

    def log_density(at):
        return -0.5 * (((at - centre) / sd) ** 2).sum(axis=-1)

    starts, width, log_mass = _adaptive_cells(log_density, axes, 15)
    assert width.max() < sd
    assert np.exp(log_mass).sum() == pytest.approx((sd * np.sqrt(2 * np.pi)) ** axes, rel=0.01)
    assert len(starts) < 5000


def test_the_number_of_cells_is_limited_where_bins_are_many():
    """A density that is flat everywhere is divided until there would be too many values, one per cell and bin."""
    few, many = (len(_adaptive_cells(lambda at: np.zeros(len(at)), 2, n)[0]) for n in (15, 10_000))
    assert many <= 1500 < few <= 6000
