"""The Dirichlet model: parameters by conjugacy, exact moments against independent quadrature, the original formula."""

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from bayescal import BinnedCounts, dirichlet_posterior, ece
from bayescal.posterior.dirichlet import _dirichlet, absolute_gap


@pytest.fixture
def counts():
    """n = (2, 0, 3), k = (1, 0, 2) on thirds."""
    return BinnedCounts.from_arrays([0, 1, 1, 0, 1], [0.1, 0.3, 0.7, 0.8, 0.9], bins=3)


@pytest.mark.parametrize(
    ("alpha", "pseudo_rows", "said"),
    [
        (None, 1 / 3, "two-rows prior"),
        ("two-rows", 1 / 3, "two-rows prior"),
        ("perks", 1 / 6, "perks prior"),
        ("jeffreys", 0.5, "jeffreys prior"),
        ("uniform", 1.0, "uniform prior"),
        (2, 2.0, "prior of 2 per cell"),
        (0.25, 0.25, "prior of 0.25 per cell"),
    ],
)
def test_priors(counts, alpha, pseudo_rows, said):
    posterior = dirichlet_posterior(counts, alpha=alpha)
    np.testing.assert_allclose(posterior.alpha, np.full((2, 3), pseudo_rows))
    assert posterior.prior == said
    np.testing.assert_allclose(posterior.mass_parameters, 2 * pseudo_rows + np.array([2, 0, 3]))
    a, b = posterior.accuracy_parameters
    np.testing.assert_allclose(a, pseudo_rows + np.array([1, 0, 2]))
    np.testing.assert_allclose(b, pseudo_rows + np.array([1, 0, 1]))


def test_a_prior_of_ones_own(counts):
    """Rows of alpha: outcome 0, outcome 1."""
    posterior = dirichlet_posterior(counts, alpha=[[1, 2, 3], [4, 5, 6]])
    assert posterior.prior == "custom prior"
    np.testing.assert_array_equal(posterior.mass_parameters, [7, 7, 12])
    np.testing.assert_array_equal(posterior.accuracy_parameters, [[5, 5, 8], [2, 2, 4]])
    np.testing.assert_allclose(posterior.mass_mean(), np.array([7, 7, 12]) / 26)
    np.testing.assert_allclose(posterior.accuracy_mean(), [5 / 7, 5 / 7, 8 / 12])
    # variance of Beta(5, 2): 10 / (49 * 8)
    assert posterior.accuracy_variance()[0] == pytest.approx(10 / (49 * 8))


def test_bin_means_by_conjugacy(counts):
    """Precision 1/s0^2 + n/s^2 with s0^2 = s^2 = width^2 / 12; the mean is the precision-weighted mean."""
    loc, scale, low, high = dirichlet_posterior(counts).confidence_parameters
    variance = (1 / 3) ** 2 / 12
    np.testing.assert_allclose(loc, [(1 / 6 + 0.1 + 0.3) / 3, 1 / 2, (5 / 6 + 0.7 + 0.8 + 0.9) / 4])
    np.testing.assert_allclose(scale**2, [variance / 3, variance, variance / 4])
    np.testing.assert_allclose([low, high], [[0, 1 / 3, 2 / 3], [1 / 3, 2 / 3, 1]])


def test_the_originals_variance_and_an_own_one(counts):
    _, scale, _, _ = dirichlet_posterior(counts, formula="original").confidence_parameters
    np.testing.assert_allclose(scale**2, np.array([1 / 36, 1 / 36, 1 / 36]) / [3, 1, 4])
    _, scale, _, _ = dirichlet_posterior(counts, bin_variance=0.01).confidence_parameters
    np.testing.assert_allclose(scale**2, 0.01 / np.array([3, 1, 4]))


def test_weights_count_as_kishs_effective_rows():
    """Masses rest on all rows' effective number (3 + 1)^2 / (9 + 1) = 1.6, shared out by weight: (1.2, 0.4)."""
    counts = BinnedCounts.from_arrays([1, 0], [0.2, 0.8], bins=2, weights=[3, 1])
    posterior = dirichlet_posterior(counts, alpha=1)
    np.testing.assert_allclose(posterior.mass_parameters, [2 + 1.2, 2 + 0.4])
    np.testing.assert_allclose(posterior.accuracy_parameters, [[2, 1], [1, 2]])  # one row each, whatever its weight


def test_the_scale_of_weights_does_not_matter():
    rng = np.random.default_rng(5)
    outcome, confidence, weight = rng.integers(0, 2, 200), rng.random(200), rng.gamma(1, size=200)
    one, other = (
        dirichlet_posterior(BinnedCounts.from_arrays(outcome, confidence, weights=w)) for w in (weight, 1e6 * weight)
    )
    assert one.ece_mean() == pytest.approx(other.ece_mean(), rel=1e-12)
    assert one.ece_sd() == pytest.approx(other.ece_sd(), rel=1e-10)


# --- exact moments


@pytest.mark.slow
@pytest.mark.parametrize("a", [0.02, 1.0, 200.0])
@pytest.mark.parametrize("b", [0.02, 3.5, 40.0])
@pytest.mark.parametrize("c", [0.0, 1e-6, 0.3, 0.999, 1.0])
def test_absolute_gap(c, a, b):
    """E|theta - c| as the area between the distribution function of theta and the step at c, by mpmath."""

    def cdf(t):
        return mp.betainc(a, b, 0, t, regularized=True)

    area = mp.quad(cdf, [0, c]) + mp.quad(lambda t: 1 - cdf(t), [c, 1])
    assert absolute_gap(c, a, b) == pytest.approx(float(area), rel=1e-9)


def slow_moments(posterior):
    """Mean and sd of the ECE, one bin at a time: the truncated Normal by scipy.stats, the Beta in closed form."""
    from scipy.stats import truncnorm

    a, b = posterior.accuracy_parameters
    first, second = [], []
    for j, (loc, scale, low, high) in enumerate(zip(*posterior.confidence_parameters, strict=True)):
        mu = truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale)
        kinks = np.clip([low, high, loc, a[j] / (a[j] + b[j])], low, high)
        first.append(
            integrate.quad(
                lambda x, j=j, mu=mu: mu.pdf(x) * absolute_gap(x, a[j], b[j]), low, high, points=kinks, epsabs=1e-13
            )[0]
        )
        theta = a[j] / (a[j] + b[j])
        theta_variance = theta * (1 - theta) / (a[j] + b[j] + 1)
        second.append(theta_variance + mu.var() + (theta - mu.mean()) ** 2)
    alpha = posterior.mass_parameters
    total = alpha.sum()
    covariance = (np.diag(alpha) * total - np.outer(alpha, alpha)) / (total**2 * (total + 1))
    mass = alpha / total
    mean = mass @ first
    variance = sum(
        (covariance[i, j] + mass[i] * mass[j]) * (second[i] if i == j else first[i] * first[j])
        for i in range(len(mass))
        for j in range(len(mass))
    )
    return mean, np.sqrt(variance - mean**2)


@pytest.mark.parametrize("alpha", [None, "perks", "jeffreys", 5.0])
@pytest.mark.parametrize("n", [0, 5, 300])
def test_exact_moments_against_a_slow_twin(alpha, n):
    rng = np.random.default_rng(6)
    confidence = rng.beta(5, 2, n)
    counts = BinnedCounts.empty(6)
    if n:
        counts = BinnedCounts.from_arrays(rng.random(n) < confidence**2, confidence, bins=6)
    posterior = dirichlet_posterior(counts, alpha=alpha)
    mean, sd = slow_moments(posterior)
    assert posterior.ece_mean() == pytest.approx(mean, rel=1e-9)
    assert posterior.ece_sd() == pytest.approx(sd, rel=1e-8)


def test_exact_moments_of_a_case_by_hand():
    """One bin [0, 1], no rows, alpha = 1: theta ~ U(0, 1), mu a nearly uniform truncated Normal with sd 1/sqrt(12).

    With a very large bin variance mu is uniform too, and E|theta - mu| = 1/3, E(theta - mu)^2 = 1/6.
    """
    posterior = dirichlet_posterior(BinnedCounts.empty(1), alpha=1, bin_variance=1e8)
    assert posterior.ece_mean() == pytest.approx(1 / 3, rel=1e-8)
    assert posterior.ece_variance() == pytest.approx(1 / 6 - 1 / 9, rel=1e-7)


@pytest.mark.parametrize("n", [10, 1_000_000, 1_000_000_000])
def test_exact_moments_with_many_rows(n):
    """Beta and Normal as narrow as 1e-5 of a bin: the ECE tends to the plug-in |accuracy - confidence|."""
    one = BinnedCounts.from_arrays([0, 1, 1, 1], [0.55, 0.55, 0.55, 0.55], bins=2)
    counts = BinnedCounts(
        one.bins, one.cells * n, one.weight * n, one.deviation * n, one.deviation_sq * n, one.weight_sq * n
    )
    assert dirichlet_posterior(counts).ece_mean() == pytest.approx(0.2, abs=2 / np.sqrt(4 * n))
    assert 0 < dirichlet_posterior(counts).ece_sd() < 2 / np.sqrt(4 * n)


def test_the_original_formula_has_no_exact_moments(counts):
    posterior = dirichlet_posterior(counts, formula="original")
    for method in (posterior.ece_mean, posterior.ece_variance, posterior.ece_sd):
        with pytest.raises(NotImplementedError, match="Sample instead"):
            method()


# --- sampling


def test_sampler_against_exact_moments(counts, close_to, mcse):
    for alpha in (None, "perks", "uniform"):
        posterior = dirichlet_posterior(counts, alpha=alpha)
        drawn = ece(posterior.sample(200_000, rng=7)).values
        close_to(drawn.mean(), posterior.ece_mean(), mcse.mean(drawn), alpha)
        close_to(drawn.std(ddof=1), posterior.ece_sd(), mcse.sd(drawn), alpha)


def test_the_original_weight_is_the_share_of_correct_rows(counts):
    """q_1b / sum q_1: a bin that is always wrong weighs nothing (the erratum), and weights sum to 1."""
    bins = dirichlet_posterior(counts, formula="original").sample(1000, rng=8)
    joint = bins.mass * bins.accuracy
    np.testing.assert_allclose(bins.weight, joint / joint.sum(axis=1, keepdims=True))
    half = BinnedCounts.from_arrays([0] * 500 + [1] * 500, [0.9] * 500 + [0.499] * 500, bins=2)
    corrected, original = (
        ece(dirichlet_posterior(half, formula=f).sample(2000, rng=9)).mean() for f in ("corrected", "original")
    )
    assert corrected == pytest.approx((0.9 + 0.501) / 2, abs=0.02)
    assert original == pytest.approx(0.501, abs=0.02)


@pytest.mark.parametrize("n_bins", [30, 100, 1000])
@pytest.mark.parametrize("formula", ["corrected", "original"])
def test_empty_bins_give_no_nan(n_bins, formula):
    """The original gives NaN when a bin is empty: 9 of 300 draws at 30 bins, 297 of 300 at 100."""
    counts = BinnedCounts.from_arrays([1, 0, 1], [0.95, 0.97, 0.99], bins=n_bins)
    for given in (counts, BinnedCounts.empty(n_bins)):
        bins = dirichlet_posterior(given, formula=formula, alpha="perks").sample(300, rng=10)
        for values in (bins.mass, bins.accuracy, bins.confidence, bins.weight, ece(bins).values):
            assert np.isfinite(values).all()
        np.testing.assert_allclose(bins.weight.sum(axis=1), 1)
        assert np.all((bins.accuracy >= 0) & (bins.accuracy <= 1))


# --- errors


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0}, ValueError, "`alpha` must be finite and > 0; 1 of 1 values is not, first at index 0: 0"),
        ({"alpha": -1.0}, ValueError, "`alpha` must be finite and > 0"),
        ({"alpha": np.nan}, ValueError, "`alpha` must be finite and > 0"),
        ({"alpha": [[1, 1, 1], [1, 0, 1]]}, ValueError, "first at index (1, 1): 0"),
        ({"alpha": [1, 2, 3]}, ValueError, "`alpha` must be a number or have shape (2, 3), not (3,)"),
        ({"alpha": "jeffrey"}, ValueError, "Did you mean 'jeffreys'?"),
        ({"alpha": {}}, TypeError, "`alpha` must be a number or an array of numbers"),
        ({"formula": "orginal"}, ValueError, "Did you mean 'original'?"),
        ({"bin_variance": 0}, ValueError, "`bin_variance` must be finite and > 0"),
        ({"bin_variance": [1, 2]}, ValueError, "shape (3,)"),
    ],
)
def test_options_that_make_no_sense(counts, options, error, message):
    with pytest.raises(error) as caught:
        dirichlet_posterior(counts, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(("n_draws", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("9", TypeError)])
def test_numbers_of_draws_that_make_no_sense(counts, n_draws, error):
    with pytest.raises(error, match="`draws` must be an integer >= 1"):
        dirichlet_posterior(counts).sample(n_draws)


def test_pseudo_rows_and_spreads_may_be_at_the_ends_of_their_ranges(counts):
    for alpha in (1e-12, 1e12):
        assert dirichlet_posterior(counts, alpha=alpha).alpha[0, 0] == alpha
    for alpha in (0.99e-12, 1.01e12):
        with pytest.raises(ValueError, match=r"`alpha` must give values in \[1e-12, 1e\+12\]; 6 of 6"):
            dirichlet_posterior(counts, alpha=alpha)
    for sd in (1.01e-6, 0.99e6):  # in bins of width 1/3
        posterior = dirichlet_posterior(counts, bin_variance=(sd / 3) ** 2)
        np.testing.assert_allclose(posterior.confidence_parameters[1], sd / 3 / np.sqrt([3, 1, 4]))
    for sd in (0.99e-6, 1.01e6):
        with pytest.raises(ValueError, match=r"`bin_variance` must give standard deviations in bin widths in \[1e-06,"):
            dirichlet_posterior(counts, bin_variance=(sd / 3) ** 2)


def test_the_prior_says_when_the_formula_is_the_original(counts):
    assert dirichlet_posterior(counts, formula="original").prior == "two-rows prior, original formula"
    assert dirichlet_posterior(counts, alpha=2, formula="original").prior == "prior of 2 per cell, original formula"


def test_the_default_number_of_draws(counts):
    assert dirichlet_posterior(counts).sample(rng=1).mass.shape == (4000, 3)


def test_a_mean_confidence_that_rounding_put_outside_its_bin_counts_as_at_its_edge():
    """float16 has 0.09998 for 0.1, which is counted in [0.1, 0.2): one row and the midpoint's weight of one row.

    So the posterior's location is (0.1 + 0.15) / 2.
    """
    counts = BinnedCounts.from_arrays([1], np.array([0.1], np.float16), bins=10)
    assert counts.mean_confidence[1] < 0.1
    assert dirichlet_posterior(counts).confidence_parameters[0][1] == pytest.approx(0.125, rel=1e-12)
    below = BinnedCounts.from_arrays([1], np.array([np.nextafter(np.float16(0.7), np.float16(0))]), bins=10)
    assert dirichlet_posterior(below).confidence_parameters[0][6] < 0.7


@pytest.mark.parametrize("share", [1 / 3, 0.02, 0.98])
def test_the_exact_mean_where_an_accuracy_is_known_and_its_confidence_is_not(share):
    """theta has mean t and a variance v below 1e-9; c is Normal(1/2, 1/12), truncated to [0, 1], with density f.

    E|theta - c| = E|t - c| + f(t) v + O(v^2), whose second derivative in t is 2 f(t).
    """
    posterior = dirichlet_posterior(BinnedCounts.empty(1), alpha=[[3e8 * (1 - share)], [3e8 * share]])
    with mp.workdps(30):
        t, sd = mp.mpf(share), mp.sqrt(mp.mpf(1) / 12)
        whole = mp.ncdf(1 / (2 * sd)) - mp.ncdf(-1 / (2 * sd))

        def density(c):
            return mp.npdf(c, mp.mpf(1) / 2, sd) / whole

        expected = mp.quad(lambda c: density(c) * abs(t - c), [0, t, 1]) + density(t) * t * (1 - t) / (mp.mpf(3e8) + 1)
    assert posterior.ece_mean() == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_the_exact_mean_where_accuracies_crowd_at_0_and_1(alpha):
    """E|theta - c| grows like c^(1 + alpha) from 0, so it is no polynomial there; c as above."""
    posterior = dirichlet_posterior(BinnedCounts.empty(1), alpha=alpha)
    with mp.workdps(25):
        a, sd = mp.mpf(alpha), mp.sqrt(mp.mpf(1) / 12)

        def gap(c):
            below = mp.betainc(a, a, 0, c, regularized=True)
            return c * (2 * below - 1) + (1 - 2 * mp.betainc(a + 1, a, 0, c, regularized=True)) / 2

        # symmetric about 1/2
        ends = [mp.mpf(10) ** -k for k in (30, 20, 12, 8, 5, 3, 2, 1)]
        whole = mp.ncdf(1 / (2 * sd)) - mp.ncdf(-1 / (2 * sd))
        half = mp.quad(lambda c: mp.npdf(c, mp.mpf(1) / 2, sd) * gap(c), [0, *ends, 0.5])
    assert posterior.ece_mean() == pytest.approx(float(2 * half / whole), rel=1e-11)


def test_dirichlets_of_several_vectors_have_their_own_means(close_to):
    """Means of a Dirichlet are its parameters divided by their sum, for each vector."""
    parameters = np.array([[[1.0, 9.0], [9.0, 1.0], [5.0, 5.0]], [[2.0, 2.0], [1.0, 3.0], [3.0, 1.0]]])
    drawn = _dirichlet(parameters, 4000, np.random.default_rng(1))
    assert drawn.shape == (4000, 2, 3, 2)
    mean = parameters / parameters.sum(axis=-1, keepdims=True)
    sd = np.sqrt(mean * (1 - mean) / (parameters.sum(axis=-1, keepdims=True) + 1))
    close_to(drawn.mean(axis=0), mean, sd / np.sqrt(4000), "means")
    np.testing.assert_allclose(drawn.sum(axis=-1), 1)


def test_the_marginal_likelihood_is_the_product_of_predictive_probabilities(counts):
    """Outcomes arrive one after another; each has the predictive probability (alpha + count) / (sum of both)."""
    alpha = np.array([[0.3, 0.5, 1.0], [0.7, 0.2, 0.4]])
    product = 1.0
    seen = alpha.copy()
    for at, outcome in [(0, 0), (0, 1), (2, 1), (2, 0), (2, 1)]:
        product *= seen[outcome, at] / seen[:, at].sum()
        seen[outcome, at] += 1
    posterior = dirichlet_posterior(counts, alpha=alpha)
    assert np.exp(posterior.log_marginal_likelihood) == pytest.approx(product)
    expected = np.log([[0.3 / 2.0, np.nan, 1.0 / 3.4], [0.7 / 2.0, np.nan, 1.4 / 3.4]])
    np.testing.assert_allclose(posterior.log_left_out(), expected)
