"""Sub-models other than independent bins: evidence and means against enumeration and quadrature, draws against both."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logit

from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds, _adaptive_cells, crowded_ends
from bayescal.posterior.shrinkage.offsets import EqualOffsets
from bayescal.posterior.shrinkage.saturated import EXACT_ODDS, SaturatedBins, is_saturated
from bayescal.posterior.shrinkage.segments import Segments
from bayescal.posterior.shrinkage.sub_model import Exact, GapSums, ece_moments

N = np.array([40.0, 25.0, 60.0, 30.0])
K = np.array([15.0, 14.0, 31.0, 28.0])
C = np.array([0.2, 0.45, 0.7, 0.9])
MASS = N + 0.5
DRAWS = 200_000


def log_likelihood(accuracy):
    """Relative to exact calibration, by bin."""
    accuracy = np.clip(accuracy, 1e-9, 1 - 1e-9)
    return K * np.log(accuracy / C) + (N - K) * np.log((1 - accuracy) / (1 - C))


def gap_sums(weight, gaps):
    """Of joint states with probabilities `weight` (n,) and gaps (n, n_bins)."""
    weight = weight / weight.sum()
    total = np.abs(gaps) @ MASS
    mean = weight @ total
    return np.array([mean, weight @ (total - mean) ** 2, weight @ (gaps**2 @ MASS)])


# --- the ECE from sums of gaps


def test_moments_of_the_ece_are_those_of_a_dirichlet():
    """A single state of gaps: the mean and variance of a Dirichlet's linear form."""
    gaps, total = np.array([0.1, 0.3, 0.02, 0.2]), MASS.sum()
    share = MASS / total
    mean, sd = ece_moments([1.0], [GapSums(*gap_sums(np.ones(1), gaps[None]))], total)
    assert mean == pytest.approx(share @ gaps, rel=1e-12)
    assert sd**2 == pytest.approx((share @ gaps**2 - (share @ gaps) ** 2) / (total + 1), rel=1e-9)


def test_moments_of_the_ece_average_sub_models():
    """Of two sub-models, one without gaps: the law of total variance."""
    sums = GapSums(*gap_sums(np.array([1.0, 3.0]), np.array([[0.1, 0.0, 0.2, 0.0], [0.0, 0.05, 0.0, 0.1]])))
    (mean, sd), (half, spread) = (ece_moments(p, [sums, GapSums(0, 0, 0)], MASS.sum()) for p in ([1, 0], [0.5, 0.5]))
    assert half == pytest.approx(mean / 2)
    assert spread**2 == pytest.approx(sd**2 / 2 + mean**2 / 4)


def test_moments_of_the_ece_take_probabilities_in_proportion():
    """Sub-models that hardly matter are left out, so that the probabilities add up to less than 1."""
    sums = [GapSums(*gap_sums(np.ones(1), np.array([gap]))) for gap in ([0.1, 0.0, 0.2, 0.0], [0.0, 0.05, 0.0, 0.1])]
    assert ece_moments([0.3, 0.1], sums, MASS.sum()) == pytest.approx(ece_moments([0.75, 0.25], sums, MASS.sum()))


def test_exact_calibration_has_no_gaps():
    exact = Exact(C)
    assert exact.gap_sums(MASS) == (0, 0, 0)
    np.testing.assert_array_equal(exact.draw(3, np.random.default_rng(1)).accuracy, np.tile(C, (3, 1)))


# --- runs of bins


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
    np.testing.assert_allclose(found.gap_sums(MASS), sums, rtol=2e-3)


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
    moments = found.gap_sums(np.ones(1))
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


# --- one amount


@pytest.fixture(scope="module")
def by_amount():
    """States of all bins (exact, up, down) for each rho and amount, on a fine grid of log amounts."""
    amounts = np.exp(np.linspace(np.log(1e-4), np.log(0.7), 4001))
    weights, gaps, off, amount = [], [], [], []
    angle = np.arcsin(np.sqrt(C))
    each = np.stack(
        [np.broadcast_to(C, (len(amounts), 4))]
        + [np.sin(np.clip(angle + s * amounts[:, None], 0, np.pi / 2)) ** 2 for s in (1, -1)]
    )
    likelihood = np.exp([[log_likelihood(a) for a in of] for of in each])
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


def test_one_amount_is_that_of_an_enumeration(by_amount):
    weight, gaps, off, amount = by_amount
    found = EqualOffsets(N, K, C)
    assert found.log_evidence == pytest.approx(np.log(weight.sum()), abs=2e-3)
    np.testing.assert_allclose(found.off_probability, weight @ off / weight.sum(), atol=2e-3)
    np.testing.assert_allclose(found.gap_sums(MASS), gap_sums(weight, gaps), rtol=5e-3)
    assert found.parameter_means()["amount"] == pytest.approx(weight @ amount / weight.sum(), rel=5e-3)


def test_drawn_amounts(by_amount, close_to):
    weight, gaps, off, amount = by_amount
    drawn = EqualOffsets(N, K, C).draw(DRAWS, np.random.default_rng(4))
    p = weight @ off / weight.sum()
    close_to(drawn.off.mean(axis=0), p, np.sqrt(p * (1 - p) / DRAWS) + 3e-4, "off")
    mean, variance, _ = gap_sums(weight, gaps)
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


# --- noise


def noisy(free_rate):
    """Plain grid: weights, gaps, shares of noise and rates."""
    u = (np.arange(800) + 0.5) / 800
    rate = (np.arange(400) + 0.5) / 400 if free_rate else np.array([0.5])
    share, rate = (v.ravel() for v in np.meshgrid(1.25 * u**2, rate, indexing="ij"))
    accuracy = (1 - share[:, None]) * C + share[:, None] * rate[:, None]
    weight = np.exp(np.array([log_likelihood(a).sum() for a in accuracy])) / len(share)
    return weight, accuracy - C, share, rate


@pytest.mark.slow
@pytest.mark.parametrize("free_rate", [False, True])
def test_noise_is_that_of_a_plain_grid(free_rate, close_to):
    weight, gaps, share, rate = noisy(free_rate)
    found = LabelNoise(N, K, C, free_rate)
    assert found.log_evidence == pytest.approx(np.log(weight.sum()), abs=2e-3)
    mean, variance, squares = gap_sums(weight, gaps)
    np.testing.assert_allclose(found.gap_sums(MASS), (mean, variance, squares), rtol=1e-2)
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
    mean, variance, _ = found.gap_sums(MASS)
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS) + 2e-3 * mean, "sum of gaps")
    close_to(total.std(), np.sqrt(variance), 5e-3 * np.sqrt(variance), "its sd")
    assert mean < MASS @ (1 - C)


def test_noise_of_many_rows_is_no_wider_than_it_is(close_to):
    """Two bins of 150 000 rows determine share and rate: accuracies vary as Binomials do."""
    n, c = np.full(2, 150_000.0), np.array([0.3, 0.8])
    k = np.round(n * (0.7 * c + 0.3 * 0.4))
    drawn = LabelNoise(n, k, c, free_rate=True).draw(DRAWS, np.random.default_rng(8)).accuracy
    close_to(drawn.std(axis=0), np.sqrt(k / n * (1 - k / n) / n), 0.02 * np.sqrt(0.25 / n), "sd")


# --- noise at the ends

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
    np.testing.assert_allclose(found.gap_sums(mass), moments, rtol=1e-3)
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


# --- saturated bins


def test_saturated_bins_are_mixtures_of_betas_or_all_as_stated(close_to, contrary_share):
    n, k, c = np.array([300.0, 200.0]), np.array([0.0, 200.0]), np.array([0.0, 1.0])
    found = SaturatedBins(n, k, c)
    assert found.exact_probability == pytest.approx(0.05)
    accuracy, off = found.draw(DRAWS, np.random.default_rng(7))
    close_to((~off).all(axis=1).mean(), 0.05, 5e-4, "all exact")
    assert np.all(off[:, 0] == off[:, 1])
    np.testing.assert_array_equal(accuracy[~off[:, 0]], np.tile(c, ((~off[:, 0]).sum(), 1)))
    contrary = np.abs(accuracy - c)[off[:, 0]]
    _, expected, variance = np.transpose([contrary_share(rows, 0) for rows in n])
    close_to(contrary.mean(axis=0), expected, np.sqrt(variance / len(contrary)), "mean share")
    close_to(contrary.var(axis=0), variance, 0.01 * variance, "its variance")
    mean, variance, squares = found.gap_sums(n)
    total = np.abs(accuracy - c) @ n
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS), "sum of gaps")
    close_to(total.var(), variance, 0.02 * variance, "its variance")
    close_to((np.abs(accuracy - c) ** 2 @ n).mean(), squares, 0.05 * squares, "sum of squares")


def test_the_evidence_of_saturated_bins_is_that_of_the_mixture(contrary_share):
    n, k, c = np.array([50.0, 80.0]), np.array([2.0, 79.0]), np.array([0.0, 1 - 1e-5])
    found = SaturatedBins(n, k, c)
    assert found.log_evidence == pytest.approx(contrary_share(50, 2)[0] + contrary_share(80, 1)[0], abs=1e-7)
    expected = 2 * np.log(1e-9) + 48 * np.log1p(-1e-9) + np.log(1e-5) + 79 * np.log1p(-1e-5)
    assert found.log_exact == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_intervals_of_saturated_bins_contain_any_true_share(n, confidence):
    """By enumeration over the numbers of contrary outcomes, at each share of .01, .02, ..., .90.

    Clopper-Pearson's intervals contain it with a probability of at least 0.95, and Beta(1/2, 10) alone had 0.00.
    """
    contrary = np.arange(n + 1)
    rows, stated = np.full(n + 1, float(n)), np.full(n + 1, confidence)
    outcomes = np.where(stated > 0.5, n - contrary, contrary).astype(float)
    # each bin is one possible data set; the state in which all are exact is a property of each alone
    low, high = np.transpose(
        [
            np.quantile(
                np.abs(SaturatedBins(*one).draw(20_000, np.random.default_rng(i))[0][:, 0] - confidence), [0.025, 0.975]
            )
            for i, one in enumerate(zip(rows[:, None], outcomes[:, None], stated[:, None], strict=True))
        ]
    )
    share = np.arange(1, 91) / 100
    inside = (low[:, None] <= share) & (share <= high[:, None])
    coverage = (stats.binom.pmf(contrary[:, None], n, share) * inside).sum(axis=0)
    assert coverage.min() > 0.85
    assert coverage.mean() > 0.93


def test_a_contrary_outcome_speaks_against_a_stated_zero():
    assert SaturatedBins(np.array([1000.0]), np.array([1.0]), np.array([0.0])).exact_probability == 0
    # 1e-5 stated, 1 of 1000 seen: odds 0.05 / 0.95 times the likelihood ratio
    ratio = np.log(1e-5) + 999 * np.log1p(-1e-5) - np.log(1e-3) - 999 * np.log1p(-1e-3)
    odds = 0.05 / 0.95 * np.exp(ratio)
    found = SaturatedBins(np.array([1000.0]), np.array([1.0]), np.array([1e-5]))
    assert found.exact_probability == pytest.approx(odds / (1 + odds))


def test_which_bins_are_saturated():
    four_digits = np.array([0.0001, 0.9999])  # 1 - 0.9999 is rounded below 0.0001
    assert is_saturated(four_digits).tolist() == [True, True]
    assert is_saturated(np.array([0, 9.9e-5, 1.01e-4, 0.5, 1 - 9.9e-5, 1.0])).tolist() == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


def test_saturated_bins_without_rows_are_the_prior():
    """Odds of exact calibration are those of the prior; nothing is divided by 0 rows."""
    nothing = np.zeros(1)
    found = SaturatedBins(nothing, nothing, np.full(1, 5e-5))
    assert found.exact_probability == pytest.approx(EXACT_ODDS / (1 + EXACT_ODDS))


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
