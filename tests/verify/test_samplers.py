"""One-sample tests of the draws against exact distributions, 300 000 draws, error rate 1e-6, and what they can see.

The statistic is Kolmogorov's: sup |F_n - F| > d has probability at most 2 exp(-2 n d^2) (Dvoretzky, Kiefer, Wolfowitz;
Massart 1990), so d = 0.0049 here. An error that moves the distribution function by 0.0091 somewhere is seen with
probability above 1 - 3e-6 (the empirical function errs by less than 0.0042 there: 4.6 standard errors); each test
says which errors do, and makes some of them.
"""

import numpy as np
import pytest
from scipy import stats

from bayescal import BinnedCounts, dirichlet_posterior, ece

N_DRAWS = 300_000
ERROR_RATE = 1e-6
BOUND = np.sqrt(np.log(2 / ERROR_RATE) / (2 * N_DRAWS))
#: Error of the distribution function that is seen all but surely.
SEEN = 0.0091


def distance(draws, distribution):
    """Kolmogorov's distance from a distribution.

    A draw stands for the real numbers that round to it, and gets a random one of their probabilities: under a weak
    prior 4 % of all accuracies round to 1. Above 1/2 these are probabilities of 1 - x, which is exact.
    """
    x = draws[draws <= 0.5]
    half = np.spacing(x) / 2
    below, above = distribution.cdf(np.maximum(x - half, 0)), distribution.cdf(x + half)
    x = draws[draws > 0.5]
    half = np.spacing(0.5) / 2
    upper_below, upper_above = distribution.mirrored(1 - x + half), distribution.mirrored(np.maximum(1 - x - half, 0))
    low, high = np.concatenate([below, 1 - upper_below]), np.concatenate([above, 1 - upper_above])
    u = np.sort(low + (high - low) * np.random.default_rng(0).random(len(draws)))
    i = np.arange(len(u))
    return max((u - i / len(u)).max(), ((i + 1) / len(u) - u).max())


class Beta:
    """Beta distribution; `mirrored(y)` is P(1 - X <= y) with all the digits that y has."""

    def __init__(self, a, b):
        self.cdf, self.mirrored = stats.beta(a, b).cdf, stats.beta(b, a).cdf
        self.sd = stats.beta(a, b).std()


class Truncated:
    """Normal(loc, scale^2) on [low, high], by scipy.stats."""

    def __init__(self, loc, scale, low, high):
        self.cdf = stats.truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale).cdf
        self.mirrored = stats.truncnorm((loc - high) / scale, (loc - low) / scale, 1 - loc, scale).cdf
        self.sd = stats.truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale).std()


def assert_seen(draws, distribution, shift, scale=None):
    """The test rejects draws that are shifted by so many standard deviations, and scaled by so much."""
    for moved in (draws + shift * distribution.sd, draws - shift * distribution.sd):
        assert distance(np.clip(moved, 0, 1), distribution) > BOUND
    if scale is not None:
        mean = draws.mean()
        assert distance(np.clip(mean + scale * (draws - mean), 0, 1), distribution) > BOUND


def moved_by(distribution, shift):
    """How far a shift of so many standard deviations moves the distribution function."""
    x = np.linspace(0, 1, 20_001)
    return np.abs(distribution.cdf(np.clip(x - shift * distribution.sd, 0, 1)) - distribution.cdf(x)).max()


# Rows and the parameters that they give by conjugacy, written out: three bins on thirds, alpha a cell.
OUTCOME = np.array([0] * 30 + [1] * 10 + [0, 1, 1])
CONFIDENCE = np.concatenate([np.linspace(0.05, 0.3, 40), [0.7, 0.8, 0.95]])
ROW_BIN = np.array([0] * 40 + [2] * 3)
ROWS, POSITIVE = np.array([40, 0, 3]), np.array([10, 0, 2])


def posterior(alpha):
    return dirichlet_posterior(BinnedCounts.from_arrays(OUTCOME, CONFIDENCE, bins=3), alpha=alpha)


@pytest.fixture(scope="module", params=[1 / 15, 0.5, 3.0], ids="alpha={:.3g}".format)
def drawn(request):
    """Alpha and draws; of no rows too, where small parameters are."""
    alpha = request.param
    empty = dirichlet_posterior(BinnedCounts.empty(3), alpha=alpha)
    return alpha, posterior(alpha).sample(N_DRAWS, rng=20), empty.sample(N_DRAWS, rng=21)


@pytest.mark.measuring
def test_masses_are_dirichlet(drawn):
    """Margins are Beta(a_b, A - a_b) with a_b = 2 alpha + n_b; so is the sum of two bins."""
    alpha, bins, prior = drawn
    for mass, rows in ((bins.mass, ROWS), (prior.mass, np.zeros(3))):
        a = 2 * alpha + rows
        for b in range(3):
            margin = Beta(a[b], a.sum() - a[b])
            assert distance(mass[:, b], margin) < BOUND
        assert distance(np.minimum(mass[:, 0] + mass[:, 2], 1), Beta(a[0] + a[2], a[1])) < BOUND


def test_masses_are_neutral(drawn):
    """m_2 / (m_1 + m_2) is Beta(a_2, a_1) and independent of m_0: a Dirichlet, not just its margins."""
    alpha, bins, _ = drawn
    a = 2 * alpha + ROWS
    part = bins.mass[:, 2] / (bins.mass[:, 0] + bins.mass[:, 2])
    whole = bins.mass[:, 0] + bins.mass[:, 2]
    assert distance(part, Beta(a[2], a[0])) < BOUND
    correlation = stats.spearmanr(part, whole).statistic
    assert abs(correlation) < 5 / np.sqrt(N_DRAWS)


@pytest.mark.measuring
def test_accuracies_are_beta(drawn):
    """Beta(alpha + k, alpha + n - k), down to Beta(1/15, 1/15) of an empty bin."""
    alpha, bins, prior = drawn
    for b in range(3):
        exact = Beta(alpha + POSITIVE[b], alpha + ROWS[b] - POSITIVE[b])
        assert distance(bins.accuracy[:, b], exact) < BOUND
        assert distance(prior.accuracy[:, b], Beta(alpha, alpha)) < BOUND


@pytest.mark.measuring
def test_mean_confidences_are_truncated_normal():
    """Mean (mid + sum c) / (n + 1) and variance (1/3)^2 / 12 / (n + 1), on the bin; the prior of cells does not matter.

    A wrong n for n + 1 in the precision of the first bin is 1.3 % of its width, too little for this test: it is one of
    the positive controls of simulation-based calibration.
    """
    bins = posterior(0.5).sample(N_DRAWS, rng=20)
    prior = dirichlet_posterior(BinnedCounts.empty(3), alpha=0.5).sample(N_DRAWS, rng=21)
    for b, shift in enumerate((0.025, 0.03, 0.03)):
        low, high = b / 3, (b + 1) / 3
        sums = CONFIDENCE[b == ROW_BIN].sum()
        loc = ((low + high) / 2 + sums) / (ROWS[b] + 1)
        exact = Truncated(loc, np.sqrt((1 / 3) ** 2 / 12 / (ROWS[b] + 1)), low, high)
        assert distance(bins.confidence[:, b], exact) < BOUND
        assert_seen(bins.confidence[:, b], exact, shift, 1.05)
    alone = Truncated(0.5, np.sqrt((1 / 3) ** 2 / 12), 1 / 3, 2 / 3)
    assert distance(prior.confidence[:, 1], alone) < BOUND


@pytest.mark.measuring
def test_masses_accuracies_and_confidences_are_independent(drawn):
    """Rank correlations within five standard errors of 0: 27 of masses with others, 6 pairs of bins."""
    _, bins, _ = drawn
    ranks = stats.rankdata(np.hstack([bins.mass, bins.accuracy, bins.confidence]), axis=0)
    correlation = np.corrcoef(ranks, rowvar=False)
    correlation[:3, :3] = 0  # masses sum to 1
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5 / np.sqrt(N_DRAWS)


@pytest.mark.parametrize(("alpha", "rows"), [(1.0, 0), (0.5, 43)])
def test_the_ece_of_one_bin(alpha, rows):
    """|theta - mu|, its distribution function by quadrature over mu; one bin, so its mass is 1."""
    counts = BinnedCounts.from_arrays(OUTCOME, CONFIDENCE, bins=1) if rows else BinnedCounts.empty(1)
    draws = ece(dirichlet_posterior(counts, alpha=alpha).sample(N_DRAWS, rng=22)).values
    theta = stats.beta(alpha + OUTCOME.sum() * (rows > 0), alpha + (rows - OUTCOME.sum()) * (rows > 0))
    loc = (0.5 + CONFIDENCE.sum() * (rows > 0)) / (rows + 1)
    scale = np.sqrt(1 / 12 / (rows + 1))
    mu = stats.truncnorm(-loc / scale, (1 - loc) / scale, loc, scale).ppf((np.arange(4000) + 0.5) / 4000)
    x = np.linspace(0, 1, 401)[:, None]
    exact = (theta.cdf(mu + x) - theta.cdf(mu - x)).mean(axis=1)

    def largest(values):
        return np.abs(np.searchsorted(np.sort(values), x[:, 0], side="right") / N_DRAWS - exact).max()

    assert largest(draws) < BOUND
    sd = draws.std()
    assert largest(draws + 0.03 * sd) > BOUND
    assert largest(draws * 1.05) > BOUND


# --- power


@pytest.mark.parametrize(
    ("exact", "shift"),
    [
        (Beta(10.5, 30.5), 0.025),  # bell-shaped: the density at its middle is 0.4 / sd
        (Beta(0.5, 0.5), 0.02),
        (Beta(1 / 15, 1 / 15), 0.02),  # nearly all at the ends, where a shift moves all of it
        (Truncated(0.5, np.sqrt(1 / 12), 0.0, 1.0), 0.03),  # flat: 0.31 / sd
        (Truncated(0.2, np.sqrt(1 / 9 / 12 / 41), 0.0, 1 / 3), 0.025),
    ],
    ids=["Beta(10.5, 30.5)", "Beta(0.5, 0.5)", "Beta(1/15, 1/15)", "flat Normal", "narrow Normal"],
)
def test_shifts_that_are_seen_all_but_surely(exact, shift):
    """The exact distribution function moves by more than 0.0091; `shift` is in standard deviations."""
    assert moved_by(exact, shift) > SEEN


@pytest.mark.measuring
def test_power_beside_the_tests_above(drawn):
    """The very draws that pass, shifted by 0.02 to 0.03 sd or 5 % too wide, fail."""
    alpha, bins, prior = drawn
    a = 2 * alpha + ROWS
    assert_seen(bins.mass[:, 0], Beta(a[0], a.sum() - a[0]), 0.02, 1.05)
    assert_seen(bins.accuracy[:, 0], Beta(alpha + 10, alpha + 30), 0.02, 1.05)
    assert_seen(bins.accuracy[:, 2], Beta(alpha + 2, alpha + 1), 0.03)
    assert distance(prior.accuracy[:, 0], Beta(1.1 * alpha, alpha)) > BOUND  # one parameter of two 10 % off


@pytest.mark.parametrize("alpha", [1 / 15, 0.5])
def test_float32_would_be_seen_under_a_weak_prior(alpha):
    """Accuracies nearer to 1 than 3e-8 round to 1: 16 % of them under Beta(1/15, 1/15), 0.01 % under Beta(1/2, 1/2)."""
    prior = dirichlet_posterior(BinnedCounts.empty(1), alpha=alpha).sample(N_DRAWS, rng=23).accuracy[:, 0]
    found = distance(prior.astype(np.float32).astype(float), Beta(alpha, alpha)) > BOUND
    assert found == (alpha < 0.1)
