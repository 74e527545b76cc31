"""Statistics of windows: martingales by enumeration, mixtures by definition, exact tails, ranges by a grid."""

import itertools
from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from scipy.special import betaln, expit, log_ndtr, logit, ndtr, zeta
from scipy.stats import binom, hypergeom, norm

from bayescal.monitoring import statistics
from bayescal.monitoring.statistics import (
    JUMPING,
    JUMPS,
    PRIOR,
    SHIFT,
    SIZES,
    STRETCH,
    LogEValues,
    Mixture,
    _log_mixture,
    calibration_e_values,
    change_e_values,
    ece_intervals,
    hypergeometric_scores,
    log_marginals,
    score_scale,
)

#: Confidences of the rows of a window, by bin.
WINDOWS = {
    "equal confidences": [[0.3, 0.3, 0.3], [0.9]],
    "unequal confidences": [[0.05, 0.4, 0.45], [0.6, 0.99]],
    "near 0 and 1": [[1e-7, 1e-6, 3e-6], [0.999999, 1.0]],
    "certain": [[0.0, 0.0, 0.0], [1.0, 1.0]],
    "an empty bin": [[0.2, 0.7], []],
}


#: Midpoints of the two bins.
MIDPOINTS = np.array([0.25, 0.75])


def outcomes(rows):
    """Return all outcomes of the rows of a window with their probability, if each confidence is exact."""
    c = np.concatenate([np.array(bin_rows, float) for bin_rows in rows])
    for z in itertools.product((0, 1), repeat=len(c)):
        probability = float(np.prod(np.where(np.array(z), c, 1 - c)))
        if probability > 0:
            yield np.array(z), probability


def counts(rows, z):
    """Return n, k and mean confidence by bin; the mean of an empty bin is not a number."""
    ends = np.cumsum([len(bin_rows) for bin_rows in rows])[:-1]
    n = np.array([len(bin_rows) for bin_rows in rows], float)
    k = np.array([part.sum() for part in np.split(z, ends)], float)
    mean = np.array([np.mean(bin_rows) if bin_rows else np.nan for bin_rows in rows])
    return n, k, mean


@pytest.mark.parametrize("name", WINDOWS)
def test_the_mean_of_every_e_value_is_at_most_1(name):
    drift, jump = np.zeros(len(SHIFT)), np.zeros((2, len(JUMPS)))
    for z, probability in outcomes(WINDOWS[name]):
        n, k, mean = (each[None] for each in counts(WINDOWS[name], z))
        found = calibration_e_values(n, k, mean, MIDPOINTS)
        drift += probability * np.exp(found.drift[0])
        jump += probability * np.exp(found.jump[0])
    assert max(drift.max(), jump.max()) <= 1 + 1e-12
    if name == "equal confidences":
        np.testing.assert_allclose(np.append(drift, jump), 1, rtol=1e-12)
    if name == "unequal confidences":
        assert jump.min() < 0.999  # the bound is not sharp here


def test_many_certain_rows_are_no_evidence():
    """A bin of 10^9 rows with confidence 0 and outcome 0: with a margin of 1e-6 a bet on fewer would win e^1000."""
    n, none = np.array([[1e9]]), np.zeros((1, 1))
    for found in (
        calibration_e_values(n, none, none, np.array([0.03])),
        calibration_e_values(n, n, np.ones((1, 1)), np.array([0.97])),
    ):
        assert abs(found.drift).max() <= 1e-5
        assert abs(found.jump).max() <= 1e-5


def urn(z):
    """Confidences of an urn of 2 + 2 balls: each outcome is that of the ball, and a ball of its colour is added."""
    before = np.concatenate([[0], np.cumsum(z)[:-1]])
    return (2 + before) / (4 + np.arange(len(z)))


def test_confidences_may_depend_on_outcomes_of_their_window():
    """All outcomes of five rows of an urn, in one bin and in two; the hypothesis is true, whatever the bins.

    A change of slope that multiplied the logit of the window's mean confidence would have means up to 1.22 and 1.14.
    """
    means = {1: [0.0, 0.0], 2: [0.0, 0.0]}
    for z in itertools.product((0, 1), repeat=5):
        z, c = np.array(z), urn(z)
        probability = np.prod(np.where(z, c, 1 - c))
        for n_bins, mean in means.items():
            of_bin = (c * n_bins).astype(int)[:, None] == np.arange(n_bins)
            n, k, sums = ((of_bin * np.array(each)[:, None]).sum(axis=0)[None] for each in (np.ones(5), z, c))
            found = calibration_e_values(n, k, sums / np.maximum(n, 1), (np.arange(n_bins) + 0.5) / n_bins)
            for i, log_e in enumerate((found.drift, found.jump)):
                mean[i] = mean[i] + probability * np.exp(log_e[0])
    assert max(each.max() for mean in means.values() for each in mean) <= 1 + 1e-12


def test_few_streams_that_react_to_their_outcomes_raise_an_alarm():
    """Each window has 2000 rows of confidence 0.5, then 2000 of 0.532 or 0.468, whichever outcome was in excess.

    Fails with probability 0.001 if Ville's bound is sharp. The logit of the mean confidence of the window, in place of
    that of the midpoint, gave alarms in three of four streams.
    """
    rng, shape = np.random.default_rng(6), (60, 1000, 1)
    first = rng.binomial(2000, 0.5, shape)
    second = np.where(first > 1000, 0.532, 0.468)
    k, mean = (first + rng.binomial(2000, second)).astype(float), (0.5 + second) / 2
    found = calibration_e_values(np.full(shape, 4000.0), k, mean, np.array([0.5]))
    _, values = Mixture.start(1000, 1).after(found)
    assert int((values.max(axis=0) >= np.log(20)).sum()) <= binom.isf(0.001, 1000, 0.05)


def test_alternatives_by_their_definition():
    """The likelihood ratio of accuracies whose logit is moved; the slope multiplies the logit of the midpoint."""
    n, k, c = np.array([[7.0, 12.0]]), np.array([[2.0, 11.0]]), np.array([[0.3, 0.97]])
    found = calibration_e_values(n, k, c, MIDPOINTS)

    def log_ratio(delta):
        q = 1 / (1 + (1 - c[0]) / c[0] * np.exp(-delta))
        return k[0] * np.log(q / c[0]) + (n[0] - k[0]) * np.log((1 - q) / (1 - c[0]))

    for i, (a, s) in enumerate(zip(SHIFT, STRETCH, strict=True)):
        assert found.drift[0, i] == pytest.approx(log_ratio(a + s * np.log([1 / 3, 3])).sum(), rel=1e-12)
    for i, jump in enumerate(JUMPS):
        np.testing.assert_allclose(found.jump[0, :, i], log_ratio(jump), rtol=1e-12)


def test_the_mean_of_the_mixture_is_at_most_1():
    """All outcomes of three windows, merged by the mixture."""
    windows = [[[0.2, 0.4], [0.7]], [[0.3], [0.9, 0.6]], [[0.1, 0.45], []]]
    means = np.zeros(3)
    for parts in itertools.product(*(list(outcomes(rows)) for rows in windows)):
        stacked = (
            np.array(each)
            for each in zip(*(counts(r, z) for r, (z, _) in zip(windows, parts, strict=True)), strict=True)
        )
        _, values = Mixture.start(2).after(calibration_e_values(*stacked, MIDPOINTS))
        means += np.prod([probability for _, probability in parts]) * np.exp(values)
    assert (means <= 1 + 1e-12).all()
    assert (means > 0.9).all()


def test_the_mixture_is_the_sum_over_beginnings():
    """The definition: half drifts, half jumps of single bins, with weight j^-1.5 / zeta(1.5) to begin in window j."""
    rng = np.random.default_rng(1)
    size, n_bins = 5, 3
    found = LogEValues(rng.normal(size=(size, len(SHIFT))), rng.normal(size=(size, n_bins, len(JUMPS))))
    _, values = Mixture.start(n_bins).after(found)
    begin = np.arange(1, size + 1) ** -1.5 / zeta(1.5)
    for t in range(size):
        rest = 1 - begin[: t + 1].sum()
        since = [np.exp(found.drift[j : t + 1].sum(axis=0)) for j in range(t + 1)]
        drifts = rest + sum(w * (PRIOR * e).sum() for w, e in zip(begin, since, strict=False))
        since = [np.exp(found.jump[j : t + 1].sum(axis=0)).mean(axis=1) for j in range(t + 1)]
        jumps = np.prod(1 - JUMPING + JUMPING * (rest + sum(w * e for w, e in zip(begin, since, strict=False))))
        assert values[t] == pytest.approx(np.log((drifts + jumps) / 2), abs=1e-12)


def test_prior_weights():
    """76 drifts; a shift of 0 has 1/4 and a change of slope of 0 has 1/2 before the point without drift is removed."""
    assert len(SHIFT) == 76
    assert PRIOR.sum() == pytest.approx(1)
    assert PRIOR[SHIFT == 0].sum() == pytest.approx((0.25 - 0.125) / 0.875)
    assert PRIOR[STRETCH == 0].sum() == pytest.approx((0.5 - 0.125) / 0.875)


def test_windows_in_parts_give_the_same_values():
    rng = np.random.default_rng(2)
    n = rng.integers(0, 30, (20, 4, 3)).astype(float)  # four streams
    k, c = rng.binomial(n.astype(int), 0.4).astype(float), rng.random((20, 4, 3))
    at = np.array([0.2, 0.5, 0.9])
    _, whole = Mixture.start(4, 3).after(calibration_e_values(n, k, c, at))
    mixture, parts = Mixture.start(4, 3), []
    for part in (slice(0, 1), slice(1, 1), slice(1, 13), slice(13, 20)):
        mixture, values = mixture.after(calibration_e_values(n[part], k[part], c[part], at))
        parts.append(values)
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)
    _, one = Mixture.start(3).after(calibration_e_values(n[:, 2], k[:, 2], c[:, 2], at))
    np.testing.assert_allclose(one, whole[:, 2], rtol=1e-12)


def test_long_streams_do_not_overflow():
    """10 000 windows against the process, then evidence beyond the range of float64."""
    n = np.full((11_000, 1), 1000.0)
    k = np.where(np.arange(11_000)[:, None] < 10_000, 500.0, 900.0)
    _, values = Mixture.start(1).after(calibration_e_values(n, k, np.full_like(n, 0.5), np.array([0.5])))
    assert np.isfinite(values).all()
    assert values[9999] < 0
    assert values[-1] > 300_000  # 1000 windows of about KL(0.9, 0.5) * 1000 = 368 nats


def test_change_e_values_by_their_definition():
    rng = np.random.default_rng(3)
    z, scale, c = rng.normal(size=(2, 3)), rng.random((2, 3)), np.array([0.1, 0.5, 0.9995])
    found = change_e_values(z, scale, c)
    logit = np.log(c / (1 - c))
    for i, (a, s) in enumerate(zip(SHIFT, STRETCH, strict=True)):
        d = (a + s * logit) * scale
        np.testing.assert_allclose(found.drift[:, i], (d * z - d**2 / 2).sum(axis=1), atol=1e-12)
    d = JUMPS * scale[..., None]
    np.testing.assert_allclose(found.jump, d * z[..., None] - d**2 / 2)


def test_the_scale_is_the_mean_of_the_score_of_a_shift():
    """k of a window with a small shift has mean n v delta above, and given the total the variance n v N / (N + n)."""
    n, before, c = np.array([100.0]), np.array([300.0]), np.array([0.2])
    expected = 100 * 0.16 * (300 / 400) / np.sqrt(100 * 0.16 * 300 / 400)
    assert score_scale(n, before, c)[0] == pytest.approx(expected)
    near = score_scale(n, before, np.array([0.0005]))[0]
    assert near == pytest.approx(np.sqrt(100 * 0.0005 * 0.9995 * 300 / 400))


def calibrated_streams(n_streams, n_windows, rng):
    """Counts of calibrated streams with 20 rows per window in 5 bins: shape (n_windows, n_streams, 5)."""
    c = rng.random((n_windows, n_streams, 20))
    z = rng.random(c.shape) < c
    of_bin = (c * 5).astype(int)[..., None] == np.arange(5)
    n = of_bin.sum(axis=2).astype(float)
    k = (of_bin & z[..., None]).sum(axis=2).astype(float)
    return n, k, (of_bin * c[..., None]).sum(axis=2) / np.maximum(n, 1)


@pytest.mark.measuring
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_few_calibrated_streams_ever_reach_the_threshold(level):
    """Ville's bound; if it is sharp, this test fails with probability 0.001. Bets on seen outcomes break it."""
    n, k, c = calibrated_streams(1000, 60, np.random.default_rng(4))
    at = np.arange(0.1, 1, 0.2)
    _, values = Mixture.start(1000, 5).after(calibration_e_values(n, k, c, at))
    alarms = int((values.max(axis=0) >= np.log(1 / level)).sum())
    assert alarms <= binom.isf(0.001, 1000, level)
    seen = calibration_e_values(n, k, c, at)
    best = LogEValues(np.repeat(seen.drift.max(axis=-1)[..., None], len(SHIFT), axis=-1), seen.jump)
    _, wrong = Mixture.start(1000, 5).after(best)
    assert int((wrong.max(axis=0) >= np.log(1 / level)).sum()) > binom.isf(0.001, 1000, level)


def distribution_function(k, n, all_k, all_n, u):
    arrays = (np.array([float(value)]) for value in (k, n, all_k, all_n, u))
    return float(ndtr(hypergeometric_scores(*arrays))[0])


@pytest.mark.parametrize(("n", "all_k", "all_n"), [(3, 4, 9), (5, 1, 6), (4, 4, 4), (2, 0, 5), (6, 7, 10)])
def test_the_randomised_distribution_function_is_uniform(n, all_k, all_n):
    """The value at k covers an interval as long as P(X = k), and the intervals of all k cover (0, 1) in order."""
    at = 0.0
    for k in range(max(0, n + all_k - all_n), min(n, all_k) + 1):
        probability = comb(all_k, k) * comb(all_n - all_k, n - k) / comb(all_n, n)
        assert distribution_function(k, n, all_k, all_n, 0) == pytest.approx(at, abs=1e-12)
        assert distribution_function(k, n, all_k, all_n, 0.25) == pytest.approx(at + probability / 4, rel=1e-12)
        at += probability
        assert distribution_function(k, n, all_k, all_n, 1) == pytest.approx(at, rel=1e-12)
    assert at == pytest.approx(1)


def test_values_of_successive_windows_are_independent():
    """All orders of 4 outcomes 1 and 5 outcomes 0, in a reference of 3 rows and windows of 2, 1 and 3 rows.

    Given the counts of the windows, their values are uniform on a box, so the density of the three values at a point is
    the sum over orders of P(order) / volume of the box, if the point is inside. It must be 1 everywhere.
    """
    sizes, ones = (3, 2, 1, 3), 4
    weight = {}
    for places in itertools.combinations(range(9), ones):
        z = np.zeros(9, int)
        z[list(places)] = 1
        k = tuple(int(part.sum()) for part in np.split(z, np.cumsum(sizes)[:-1]))
        weight[k] = weight.get(k, 0) + 1
    points = np.random.default_rng(1).random((50, 3))
    density = np.zeros(50)
    for k, number in weight.items():
        box = []
        for t in (1, 2, 3):
            arguments = (k[t], sizes[t], sum(k[: t + 1]), sum(sizes[: t + 1]))
            box.append([distribution_function(*arguments, u) for u in (0, 1)])
        low, high = np.array(box).T
        inside = ((points > low) & (points < high)).all(axis=1)
        density += inside * number / comb(9, ones) / np.prod(high - low)
    np.testing.assert_allclose(density, 1, rtol=1e-10)


def test_scores_are_those_of_scipy():
    """1000 problems with up to 10^5 rows; scipy 1.15: hypergeom.cdf and .pmf."""
    rng = np.random.default_rng(2)
    all_n = rng.integers(2, 10**5, 1000)
    all_k = (all_n * rng.random(1000)).astype(int)
    n = 1 + ((all_n - 1) * rng.random(1000) ** 3).astype(int)
    k, u = hypergeom.rvs(all_n, all_k, n, random_state=3), rng.random(1000)
    expected = hypergeom.cdf(k - 1, all_n, all_k, n) + u * hypergeom.pmf(k, all_n, all_k, n)
    found = hypergeometric_scores(*(a.astype(float) for a in (k, n, all_k, all_n)), u)
    np.testing.assert_allclose(found, norm.ppf(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("k", "n", "all_k", "all_n"), [(0, 500, 5000, 10_000), (500, 500, 5000, 10_000), (3, 200, 900, 2000)]
)
def test_far_tails(k, n, all_k, all_n):
    """Exact probabilities from binomial coefficients; scipy's distribution function underflows to 0 or 1 there."""
    below = range(max(0, n + all_k - all_n), k)
    ways = [comb(all_k, j) * comb(all_n - all_k, n - j) for j in (*below, k)]
    lower = Fraction(sum(ways[:-1]) * 2 + ways[-1], 2 * comb(all_n, n))
    z = hypergeometric_scores(*(np.array([float(v)]) for v in (k, n, all_k, all_n, 0.5)))[0]
    tail = lower if lower < Fraction(1, 2) else 1 - lower
    assert log_ndtr(-abs(z)) == pytest.approx(log(tail.numerator) - log(tail.denominator), rel=1e-10)
    assert (z < 0) == (lower < Fraction(1, 2))


def test_scores_are_finite_and_do_not_depend_on_the_size_of_blocks(monkeypatch):
    k, n, all_k, all_n = (
        np.array(v, float) for v in ([0, 4000, 10**6], [5000, 8000, 10**6], [5000, 9000, 10**6], [10**4, 10**5, 10**7])
    )
    found = hypergeometric_scores(k, n, all_k, all_n, np.full(3, 0.5))
    assert np.isfinite(found).all()
    assert found[2] > 37
    monkeypatch.setattr(statistics, "MOST_TERMS", 16)
    np.testing.assert_allclose(hypergeometric_scores(k, n, all_k, all_n, np.full(3, 0.5)), found, rtol=1e-12)


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


@pytest.mark.measuring
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


def test_a_row_at_one_half_moved_by_1():
    """Confidence 0.5 and outcome 1: the e-value is 2 / (1 + exp(-1))."""
    e_values = calibration_e_values(np.array([[1.0]]), np.array([[1.0]]), np.array([[0.5]]), np.array([0.5]))
    at = int(np.flatnonzero((SHIFT == 1.0) & (STRETCH == 0))[0])
    assert np.exp(e_values.drift[0, at]) == pytest.approx(2 / (1 + np.exp(-1)), rel=1e-12)


def test_one_row_of_each_side_has_an_even_chance():
    """One row of the window and one before it, of which one has outcome 1: the quantile of 1/2 + 1/4 is 0.6745."""
    one = np.ones(1)
    assert hypergeometric_scores(one, one, one, 2 * one, np.array([0.5])) == pytest.approx(norm.ppf(0.75), rel=1e-12)


def test_the_range_of_one_accuracy_is_where_its_likelihood_is_large():
    """5 of 10 rows: (theta (1 - theta))^5 >= 0.05 B(6, 6) between the roots of a quadratic equation."""
    product = (0.05 * np.exp(betaln(6, 6))) ** (1 / 5)
    half = np.sqrt(1 / 4 - product)
    low, high = ece_intervals(np.array([10.0]), np.array([5.0]), np.array([0.0]), betaln(6, 6), 0.05)
    assert (float(low), float(high)) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
