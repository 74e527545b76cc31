"""Runs of bins: evidence and means against enumeration and quadrature, draws against both; the grid of shifts."""

from itertools import pairwise, product

import numpy as np
import pytest
from moments_of_ece import sums_of_gaps
from scipy import integrate
from scipy.special import expit, logit

from bayescal.posterior.shrinkage.segments import Segments

N = np.array([40.0, 25.0, 60.0, 30.0])
K = np.array([15.0, 14.0, 31.0, 28.0])
C = np.array([0.2, 0.45, 0.7, 0.9])
MASS = N + 0.5
DRAWS = 200_000


def slab_density(shift):
    """Prior density of a shift: Normal(0, tau^2) with tau = 2.5 u^2, u uniform."""
    edges = [0, *np.geomspace(1e-6, 1, 25)]  # the integrand is narrow where the shift is small

    def density(u):
        return np.exp(-0.5 * (shift / (2.5 * u**2)) ** 2) / (2.5 * u**2 * np.sqrt(2 * np.pi)) if u else 0.0

    return sum(integrate.quad(density, a, b, epsabs=1e-13)[0] for a, b in pairwise(edges))


@pytest.fixture(scope="module")
def enumerated():
    """Every segmentation of four bins, and for every segment whether it is off: weights and moments.

    Shifts are summed over a plain grid whose prior comes from quadrature.
    """
    edge = np.concatenate([[0.0], np.geomspace(1e-7, 8, 260)])
    middle = 0.5 * (edge[1:] + edge[:-1])
    mass = np.array([slab_density(x) for x in middle]) * np.diff(edge)
    mass[0] = 0.5 - mass[1:].sum()  # the pole at 0
    shift, prior = np.r_[-middle[::-1], middle], np.r_[mass[::-1], mass]
    accuracy = expit(logit(C)[:, None] + shift)
    ratio = np.array([K * np.log(a / C) + (N - K) * np.log((1 - a) / (1 - C)) for a in accuracy.T]).T
    gap = np.abs(accuracy - C[:, None])

    def segment(first, last):
        """Evidence, and moments of the sum of mass x gap, of one segment that is off."""
        weight = prior * np.exp(ratio[first:last].sum(axis=0))
        total = MASS[first:last] @ gap[first:last]
        squares = MASS[first:last] @ gap[first:last] ** 2
        moments = [weight @ v / weight.sum() for v in (total, total**2, squares)]
        return weight.sum(), moments

    rates = np.array([1.0, 4.0, 16.0]) / 3
    states = []
    for changes in product([False, True], repeat=3):
        bounds = [0, *(i + 1 for i, c in enumerate(changes) if c), 4]
        segments = list(pairwise(bounds))
        p = np.mean([np.prod(np.where(changes, q, 1 - q)) for q in np.minimum(rates, 0.9)])
        for off in product([False, True], repeat=len(segments)):
            weight, mean, variance, squares, where = p * 0.5 ** len(segments), 0.0, 0.0, 0.0, np.zeros(4)
            for (first, last), is_off in zip(segments, off, strict=True):
                if is_off:
                    evidence, (one, two, square) = segment(first, last)
                    weight, mean, variance = weight * evidence, mean + one, variance + two - one**2
                    squares, where[first:last] = squares + square, 1
            states.append((weight, mean, variance, squares, *where))
    weight, mean, variance, squares, *off = np.array(states).T
    share = weight / weight.sum()
    centre = share @ mean
    spread = share @ (variance + (mean - centre) ** 2)
    return np.log(weight.sum()), (centre, spread, share @ squares), np.array(off) @ share


def test_segments_are_those_of_an_enumeration(enumerated):
    log_evidence, sums, off = enumerated
    found = Segments(N, K, logit(C), C)
    assert found.log_evidence == pytest.approx(log_evidence, abs=2e-3)
    np.testing.assert_allclose(found.off_probability, off, atol=1e-3)
    np.testing.assert_allclose(sums_of_gaps(found, MASS), sums, rtol=2e-3)


def test_drawn_segments(enumerated, close_to, mcse):
    _, (mean, variance, squares), off = enumerated
    found = Segments(N, K, logit(C), C)
    drawn = found.draw(DRAWS, np.random.default_rng(1))
    close_to(drawn.off.mean(axis=0), off, np.sqrt(off * (1 - off) / DRAWS) + 2e-4, "off")
    total = np.abs(drawn.accuracy - C) @ MASS
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS) + 1e-3 * mean, "sum of gaps")
    close_to(total.var(), variance, variance * 0.01, "its variance")
    close_to((np.abs(drawn.accuracy - C) ** 2 @ MASS).mean(), squares, 0.01 * squares, "sum of squares")
    assert np.all((drawn.accuracy == C) == ~drawn.off)
    assert np.corrcoef(drawn.off[:, 0], drawn.off[:, 1])[0, 1] > 0.1  # neighbours share a segment


def test_likelihoods_of_segments_are_sums_over_shifts():
    """Every segment of 9 bins, also of neighbours with 30 000 rows and opposite shifts, whose product underflows."""
    n, c = np.array([30000.0, 30000, 5, 0, 80, 200, 3, 40, 1000]), np.linspace(0.1, 0.9, 9)
    k = np.round(n * np.clip(c + np.array([0.2, -0.15, 0, 0, 0.05, -0.1, 0.1, 0, 0.02]), 0, 1))
    found = Segments(n, k, logit(c), c)
    middles, prior = found._middles, np.exp(found._log_prior)
    h = expit(logit(c)[:, None] + middles)
    each = (k * np.log(h / c[:, None]).T).T + ((n - k) * np.log((1 - h) / (1 - c[:, None])).T).T
    for start in range(9):
        for end in range(start + 1, 10):
            total = each[start:end].sum(axis=0)
            expected = total.max() + np.log(prior @ np.exp(total - total.max()))
            if start == 0 and end > 1:  # far less than the first two bins with a shift each
                assert found._log_slab[end, 0] < found._log_slab[1, 0] + found._log_slab[end, 1] - 600
                assert expected < found._log_slab[1, 0] + found._log_slab[end, 1] - 600
            else:
                assert found._log_slab[end, start] == pytest.approx(expected, rel=1e-10, abs=1e-8)


def test_many_bins_form_blocks(close_to):
    """300 bins are summed by threes: bins of one block are off together; the likelihood remains that of the bins."""
    rng = np.random.default_rng(2)
    c = (np.arange(300) + 0.5) / 300
    n = np.full(300, 20.0)
    k = rng.binomial(20, np.where((c > 0.4) & (c < 0.6), c - 0.25, c)).astype(float)
    found = Segments(n, k, logit(c), c)
    drawn = found.draw(500, rng)
    assert np.all(drawn.off.reshape(500, 100, 3).all(axis=2) == drawn.off.reshape(500, 100, 3).any(axis=2))
    off = found.off_probability
    assert off[(c > 0.42) & (c < 0.58)].min() > 0.95
    assert off[(c < 0.3) | (c > 0.7)].max() < 0.6
    close_to(drawn.off.mean(axis=0), off, 0.025, "off")


@pytest.mark.parametrize(("n", "k", "c"), [(1000, 200, 0.01), (10_000, 2000, 0.001), (20_000, 10_000, 0.998)])
def test_large_shifts_are_resolved(n, k, c, close_to):
    """One bin far from what it states, by quadrature: the posterior there is narrower than it is near 0."""
    found = Segments(np.array([n * 1.0]), np.array([k * 1.0]), logit(np.array([c])), np.array([c]))
    centre, sd = logit(k / n) - logit(c), 1 / np.sqrt(k * (1 - k / n))
    shift = np.linspace(centre - 9 * sd, centre + 9 * sd, 401)
    log_weight = k * shift - n * np.logaddexp(0, logit(c) + shift) + np.log([slab_density(s) for s in shift])
    weight = np.exp(log_weight - log_weight.max())
    accuracy, weight = expit(logit(c) + shift), weight / weight.sum()
    mean = weight @ accuracy
    spread = np.sqrt(weight @ (accuracy - mean) ** 2)
    drawn = found.draw(DRAWS, np.random.default_rng(3)).accuracy[:, 0]
    close_to(drawn.mean(), mean, spread / np.sqrt(DRAWS) + 0.01 * spread, "mean")
    close_to(drawn.std(), spread, 0.01 * spread, "sd")
    moments = sums_of_gaps(found, np.ones(1))
    assert moments.mean == pytest.approx(abs(mean - c), abs=0.02 * spread)
    assert moments.variance == pytest.approx(spread**2, rel=0.02)


def test_the_grid_is_fine_where_a_bin_with_many_rows_could_be():
    """Two bins by quadrature: 400 000 rows a little off and 300 rows far off need hundreds of cells, not 2000."""
    n, c = np.array([400_000.0, 300.0]), np.array([0.4, 0.1])
    k = np.round(n * expit(logit(c) + np.array([0.008, 2.0])))
    found = Segments(n, k, logit(c), c)
    assert len(found._edges) < 300
    edge = np.concatenate(
        [[0.0], np.geomspace(1e-7, 1e-3, 60), np.linspace(1.05e-3, 0.03, 400), np.geomspace(0.031, 9, 250)]
    )
    middle = 0.5 * (edge[1:] + edge[:-1])
    mass = np.array([slab_density(x) for x in middle]) * np.diff(edge)
    mass[0] = 0.5 - mass[1:].sum()  # the pole at 0
    shift, prior = np.r_[-middle[::-1], middle], np.r_[mass[::-1], mass]
    accuracy = expit(logit(c)[:, None] + shift).T
    ratio = k * np.log(accuracy / c) + (n - k) * np.log((1 - accuracy) / (1 - c))
    first, second, both = (
        np.logaddexp(np.log(0.5), np.log(0.5) + np.logaddexp.reduce(np.log(prior) + each))
        for each in (ratio[:, 0], ratio[:, 1], ratio.sum(axis=1))
    )
    # with two bins a change is as probable as it can be, 0.9, for each expected number of changes
    expected = np.logaddexp(np.log(0.9) + first + second, np.log(0.1) + both)
    assert found.log_evidence == pytest.approx(expected, abs=2e-3)


def test_with_few_rows_the_spacing_of_the_grid_grows_with_the_shift():
    """0.06 at 0, and 0.06 sqrt(1 + (2 x)^2) at a shift x, while that is below 0.4 posterior standard deviations."""
    found = Segments(np.ones(1), np.ones(1), np.zeros(1), np.full(1, 0.5))
    spacing, middle = np.diff(found._edges), found._middles
    some = (middle > 1) & (middle < 3)
    assert some.sum() > 5
    np.testing.assert_allclose(spacing[some], 0.06 * np.sqrt(1 + (2 * middle[some]) ** 2), rtol=0.03)


def test_the_middle_cell_of_the_grid_is_around_0():
    """No shift and shifts too small to matter share a cell; the grid is finest there and covers what was observed."""
    found = Segments(N, K, logit(C), C)
    low, high = found._edges[found._middle : found._middle + 2]
    assert low == -high < 0
    assert np.all(np.diff(found._edges) > 0)
    assert found._edges[0] < (logit(K / N) - logit(C)).min()
    assert found._edges[-1] > (logit(K / N) - logit(C)).max()
    spacing = 0.4 / np.sqrt(1 + (N * C * (1 - C)).sum())  # at most 0.06
    assert high - low == pytest.approx(min(spacing, 0.06), rel=1e-9)


def test_without_rows_segments_are_the_prior(close_to):
    nothing, c = np.zeros(15), (np.arange(15) + 0.5) / 15
    found = Segments(nothing, nothing, logit(c), c)
    assert found.log_evidence == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(found.off_probability, 0.5, atol=1e-4)
    shift = found.shifts(DRAWS // 4, np.random.default_rng(3))
    off = shift[:, 7] != 0
    # E tau^2 = 2.5^2 / 5 for tau = 2.5 u^2
    close_to(shift[off, 7].var(), 2.5**2 / 5, 0.03, "variance of a shift")
    changes = (np.diff(shift, axis=1) != 0).sum(axis=1)
    # a change shows unless both segments are exact
    close_to(changes.mean(), np.mean(np.minimum([1, 4, 16], 0.9 * 14)) * 0.75, 0.03, "changes")
