"""Two groups at equal scores: cells, bins, masses and variances by hand and by simulation."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.matched import MatchedRows, compared_steps, matched_bins
from bayescal.cumulative.subpopulation_sums import Responses

#: Group (A, B, or neither), score, response and weight of each row. Equal scores are one cell: rows with the score 3
#: have no row of B, and those with 0 lie below all of B.
HAND = [
    *[("A", 0, 9.0, 1.0)],
    *[("A", 1, y, 1.0) for y in (1.0, 3.0)],
    *[("B", 1, y, 1.0) for y in (0.0, 1.0, 2.0)],
    *[("A", 2, 5.0, 2.0), ("A", 2, 8.0, 1.0), ("B", 2, 4.0, 2.0), ("B", 2, 0.0, 2.0)],
    *[("A", 3, 7.0, 1.0)] * 4,
    *[("-", 2, 70.0, 1.0)] * 3,
    *[("A", 4, 2.0, 1.0)] * 2,
    *[("B", 4, 2.0, 1.0)] * 2,
]


def hand():
    group, score, response, weight = (np.array(each) for each in zip(*HAND, strict=True))
    return Responses.read(response, score, weight, others={}), group == "A", group == "B"


def simulated(n=600, *, seed=1, weighted=True, decimals=2):
    rng = np.random.default_rng(seed)
    score, first = rng.random(n).round(decimals), rng.random(n) < 0.4
    response = rng.normal(score + 0.2 * first, 0.5).round(3)
    return response, score, first, rng.exponential(size=n) if weighted else None


def read(response, score, weights=None):
    return Responses.read(response, score, weights, others={})


# --- by hand


def test_cells_of_equal_scores():
    """A has the weight 12, of which 5 has scores without rows of B."""
    rows = MatchedRows.of(*hand())
    assert rows.starts.tolist() == [0, 5, 9]
    assert rows.ends.tolist() == [5, 9, 13]
    assert rows.score.tolist() == [1] * 5 + [2] * 4 + [4] * 4
    np.testing.assert_allclose(rows.left_out, [5 / 12, 0])
    np.testing.assert_array_equal(rows.in_cells(rows.weight), [[2, 3, 2], [3, 4, 2]])


def test_steps_have_the_weights_of_mantel_and_haenszel():
    """Differences 2 - 1, 6 - 2 and 2 - 2, with the weights 6 / 5, 12 / 7 and 4 / 4."""
    steps = compared_steps(MatchedRows.of(*hand()), weighted=True)
    np.testing.assert_allclose(steps.weight, [6 / 5, 12 / 7, 1])
    np.testing.assert_allclose(steps.deviation, [6 / 5, 4 * 12 / 7, 0], atol=1e-15)
    assert steps.deviation[2] == 0
    assert steps.calibrated_variance[2] == 0
    np.testing.assert_allclose(steps.lower, [1, 2, 4])
    # coefficients: 3/5 for each of two rows and 2/5 for each of three; 2 * 4/7, 4/7 and twice 2 * 3/7
    np.testing.assert_allclose(steps.weight_sq, [2 * 9 / 25 + 3 * 4 / 25, (64 + 16 + 72) / 49, 4 * 0.25])
    # residuals of A -2/5, 8/5 and of B -7/5, -2/5, 3/5; of A 9/7, 30/7 and of B 2/7, -26/7; W^2 / (W^2 - S) is unbiased
    squares = [25 / 20 * (9 * 68 + 4 * 62) / 625, 49 / 36 * (72**2 + 120**2 + 12**2 + 156**2) / 7**4, 0]
    np.testing.assert_allclose(steps.deviation_sq, squares)
    # responses have the sample variances 5.2 / 4 and 2422 / 49 * 7 / 36; their sum is that of these squares
    variances = np.array([5.2 / 4 * 30 / 25, 2422 / 49 * 7 / 36 * 152 / 49, 0])
    np.testing.assert_allclose(steps.calibrated_variance, variances * sum(squares) / variances.sum())


def test_the_comparison_is_the_mean_of_these_differences():
    """(6/5 + 48/7) / (6/5 + 12/7 + 1) = 282 / 137."""
    group, score, response, weight = (np.array(each) for each in zip(*HAND, strict=True))
    compared = bc.cumulative.compare_subpopulations(response, score, group == "A", group == "B", weights=weight)
    assert compared.average_difference == pytest.approx(282 / 137)
    assert compared.kuiper == pytest.approx(282 / 137)


@pytest.mark.parametrize("of_both", [False, True])
def test_bins(of_both):
    """Three cells are three bins; masses are V U W / (W^2 - S), with the sums S of squares of weights 5, 13 and 4."""
    bins = matched_bins(MatchedRows.of(*hand()), of_both=of_both)
    masses = np.array([6 * 5 / (25 - 5), 12 * 7 / (49 - 13), 4 * 4 / (16 - 4)])
    np.testing.assert_allclose(bins.mass, masses / (masses.sum() if of_both else 12))
    np.testing.assert_allclose(bins.difference, [1, 4, 0], atol=1e-15)
    np.testing.assert_array_equal(bins.upper, [1, 2, 4])
    np.testing.assert_array_equal(bins.weight_sq, [[2, 5, 2], [3, 8, 2]])
    np.testing.assert_allclose(bins.per_variance, [[1 / 2, 5 / 9, 1 / 2], [1 / 3, 1 / 2, 1 / 2]])


def test_differences_within_bins_have_these_weights():
    """200 scores in 64 bins: Mantel and Haenszel's estimate from the rows of each bin."""
    score = np.repeat(np.arange(200), 25)
    rng = np.random.default_rng(1)
    first, response = rng.random(5000) < rng.uniform(0.2, 0.8, 200)[score], rng.random(5000)
    bins = matched_bins(MatchedRows.of(read(response, score), first, ~first), of_both=True)
    assert 40 <= len(bins.upper) <= 64
    low = np.append(-1, bins.upper[:-1])
    for i, (begin, end) in enumerate(zip(low, bins.upper, strict=True)):
        weights, differences = [], []
        for each in range(int(begin) + 1, int(end) + 1):
            a, b = response[(score == each) & first], response[(score == each) & ~first]
            weights.append(len(a) * len(b) / 25)
            differences.append(a.mean() - b.mean())
        assert bins.difference[i] == pytest.approx(np.average(differences, weights=weights))


# --- scores that are not in common


def test_groups_without_common_scores_are_refused():
    message = r"of the first lie in \[0, 9\], those of the second in \[10, 29\]\..* so all rows would be left out"
    with pytest.raises(ValueError, match=message):
        bc.cumulative.compare_subpopulations(np.arange(30) % 2, np.arange(30), np.arange(30) < 10, np.arange(30) >= 10)


def test_both_sides_of_a_gap_are_not_compared():
    """Of 400 rows, each cell has about 20, so that one contains at least nine rows from either side of the jump."""
    score = np.r_[np.arange(30), 100 + np.arange(30), 200 + np.arange(30)].astype(float)
    first = np.repeat([True, False, True], 30)
    with pytest.raises(ValueError, match=r"first lie in \[0, 229\], those of the second in \[100, 129\]"):
        MatchedRows.of(read(score, score), first, ~first)
    score, i = np.arange(400) / 400, np.arange(400)
    first = (i != 5) & (i < 185) | (i >= 360) & (i % 2 == 0)
    rows = MatchedRows.of(read(score, score), first, ~first)
    assert not ((rows.score > 0.06) & (rows.score < 0.84)).any()
    assert rows.left_out[0] == pytest.approx(167 / 204, abs=0.02)
    assert rows.score[0] == 5 / 400
    cell = np.repeat(np.arange(len(rows.starts)), rows.ends - rows.starts)
    for i in range(len(rows.starts)):
        of = rows.weight[:, cell == i] > 0
        a, b = (rows.score[cell == i][each] for each in of)
        assert len(a) < 5 or len(b) < 5 or (a.min() <= b.max() and b.min() <= a.max())


def test_equal_scores_share_a_cell():
    response, score, first, _ = simulated(2000, decimals=2)
    rows = MatchedRows.of(read(response, score), first, ~first)
    assert (rows.score[rows.starts[1:]] > rows.score[rows.starts[1:] - 1]).all()
    assert (rows.ends - rows.starts).max() < 20 + 45


# --- what has no effect


@pytest.mark.parametrize("scale", [1e-5, 7.3, 1e5])
def test_the_scale_of_weights_has_no_effect(scale):
    response, score, first, weight = simulated()
    a, b = (
        matched_bins(MatchedRows.of(read(response, score, each), first, ~first), of_both=False)
        for each in (weight, scale * weight)
    )
    for name in ("mass", "difference", "mean", "per_variance"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9)
    np.testing.assert_allclose(b.noise(a.difference)[0], a.noise(a.difference)[0], rtol=1e-9)
    assert b.noise(a.difference)[1] == pytest.approx(a.noise(a.difference)[1])
    np.testing.assert_allclose(
        b.draw_masses(5, np.random.default_rng(1)), a.draw_masses(5, np.random.default_rng(1)), rtol=1e-9
    )


def test_the_order_of_rows_has_no_effect():
    response, score, first, weight = simulated()
    order = np.random.default_rng(2).permutation(len(score))
    a, b = (
        matched_bins(MatchedRows.of(read(response[i], score[i], weight[i]), first[i], ~first[i]), of_both=False)
        for i in (np.arange(len(score)), order)
    )
    for name in ("upper", "mass", "difference", "per_variance"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9)


def test_rows_of_weight_0_have_no_effect():
    response, score, first, weight = simulated()
    without = matched_bins(MatchedRows.of(read(response, score, weight), first, ~first), of_both=False)
    more = np.append(score, [-5.0, 0.5, 7.0])
    rows = read(np.append(response, [1e3] * 3), more, np.append(weight, [0.0] * 3))
    first = np.append(first, [True] * 3)
    np.testing.assert_allclose(matched_bins(MatchedRows.of(rows, first, ~first), of_both=False).mass, without.mass)


# --- mass


@pytest.mark.parametrize("weighted", [False, True])
def test_mass_is_unbiased(weighted):
    """Ten scores with the shares m of the first group: the weight of the first group times the mass is W m (1 - m).

    600 sets; a right estimator deviates by 4 standard errors with probability 6e-5. Without the factor W^2 / (W^2 - S)
    in each cell, the mean is too small by more than that.
    """
    rng = np.random.default_rng(3)
    score, share = np.repeat(np.arange(10), 6), np.repeat(np.linspace(0.1, 0.7, 10), 6)
    weight = rng.exponential(size=60) if weighted else np.ones(60)
    found, naive = [], []
    for _ in range(600):
        first = rng.random(60) < share
        rows = MatchedRows.of(read(first, score, weight), first, ~first)
        unit = weight[first].sum()
        found.append(matched_bins(rows, of_both=False).mass.sum() * unit)
        naive.append(compared_steps(rows, weighted=True).weight.sum())
    expected = (weight * share * (1 - share)).sum()
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / 600**0.5
    assert np.mean(naive) < expected - 5 * np.std(naive) / 600**0.5


def test_the_sum_of_masses_for_continuous_scores():
    """m(s) = 0.2 + 0.6 s: the integral of m (1 - m) is 0.22, that of m is 0.5.

    400 sets of 1000 rows; the mean of a right estimator deviates by 4 standard errors with probability 6e-5. Rows at
    the ends of the scores and the width of cells have an effect of less than 0.002.
    """
    rng, found = np.random.default_rng(4), []
    for _ in range(400):
        score = rng.random(1000)
        first = rng.random(1000) < 0.2 + 0.6 * score
        rows = MatchedRows.of(read(score, score), first, ~first)
        found.append(matched_bins(rows, of_both=False).mass.sum())
    assert abs(np.mean(found) - 0.22 / 0.5) < 4 * np.std(found) / 400**0.5 + 0.002


def test_drawn_masses():
    """Means are the masses, and those of two groups sum to 1; without the factor 1 + 1 / n, the sum is 1.6 % too small.

    A right sum deviates by 4 standard errors with probability 6e-5.
    """
    response, score, first, _ = simulated(4000, weighted=False)
    rows = MatchedRows.of(read(response, score), first, ~first)
    bins = matched_bins(rows, of_both=False)
    drawn = bins.draw_masses(4000, np.random.default_rng(1))
    assert drawn.shape == (4000, len(bins.upper))
    np.testing.assert_allclose(drawn.mean(axis=0), bins.mass, rtol=0.05)
    whole = drawn.sum(axis=1)
    assert abs(whole.mean() - bins.mass.sum()) < 4 * whole.std() / 4000**0.5 + 1e-3 * bins.mass.sum()
    both = matched_bins(rows, of_both=True).draw_masses(50, np.random.default_rng(1))
    np.testing.assert_allclose(both.sum(axis=1), 1)


# --- variances


@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_the_variance_of_large_groups_is_that_of_their_samples(weight):
    """Three scores are three bins; about 30 further rows among 5000 change a variance by less than 1 %."""
    rng = np.random.default_rng(5)
    score, first = np.repeat([1, 2, 3], 20_000), rng.random(60_000) < 0.3
    response = rng.normal(score, np.where(first, score, 0.5))
    bins = matched_bins(MatchedRows.of(read(response, score, np.full(60_000, weight)), first, ~first), of_both=True)
    variance, unit = bins.noise(bins.difference)
    expected = [
        sum(response[(score == s) & each].var() / ((score == s) & each).sum() for each in (first, ~first))
        for s in (1, 2, 3)
    ]
    np.testing.assert_allclose(variance, expected, rtol=0.01)
    within = [response[(score == s) & each] for s in (1, 2, 3) for each in (first, ~first)]
    assert unit**2 == pytest.approx(sum(len(x) * x.var() for x in within) / 60_000)


def test_few_rows_share_variances():
    """One bin: four rows 1 of A and eight rows 0 and 2 of B, with the same mean; variances 0 and 1, of both 2/3.

    Ratios 0 and 3/2 are shrunk by ten rows, first to 1 and then, in the bin, to the result.
    """
    first = np.repeat([True, False], [4, 8])
    rows = MatchedRows.of(read([1, 1, 1, 1, 0, 2, 0, 2, 0, 2, 0, 2], np.zeros(12)), first, ~first)
    variance, unit = matched_bins(rows, of_both=True).noise(np.zeros(1))
    a, b = (0 + 10 * 10 / 14) / 14, (12 + 10 * 22 / 18) / 18
    assert variance.tolist() == [pytest.approx(2 / 3 * (a / 4 + b / 8))]
    assert unit == pytest.approx((2 / 3) ** 0.5)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_few_outcomes_do_not_make_small_variances(share):
    """Variances of bins are about the same whether or not they have rare outcomes: 0.06 x 0.94 times `per_variance`.

    Without averages over bins, the smallest variance is that of bins without outcomes, which is nearly 0.
    """
    rng = np.random.default_rng(6)
    score, first, response = rng.random(4000), rng.random(4000) < share, rng.random(4000) < 0.06
    bins = matched_bins(MatchedRows.of(read(response, score), first, ~first), of_both=False)
    ratio = bins.noise(np.zeros_like(bins.difference))[0] / (0.06 * 0.94 * bins.per_variance.sum(axis=0))
    assert np.isclose(bins.squares, bins.weight * bins.mean**2).any()  # bins without outcomes
    assert 0.5 < ratio.min() < ratio.max() < 1.6


def test_variances_of_groups_follow_the_score():
    """Standard deviations 2.1 - 2 s and 0.1 + s of 40 000 rows, by score s: a ratio from 441 to 0.008."""
    rng = np.random.default_rng(7)
    score, first = rng.random(40_000), rng.random(40_000) < 0.5
    response = rng.normal(0, np.where(first, 2.1 - 2 * score, 0.1 + score))
    bins = matched_bins(MatchedRows.of(read(response, score), first, ~first), of_both=True)
    middle = np.mean([np.append(0, bins.upper[:-1]), bins.upper], axis=0)
    expected = (bins.per_variance * np.stack([(2.1 - 2 * middle) ** 2, (0.1 + middle) ** 2])).sum(axis=0)
    inner = slice(6, -6)  # at the ends, averages lie on one side
    np.testing.assert_allclose(bins.noise(np.zeros_like(middle))[0][inner], expected[inner], rtol=0.25)


def test_rare_responses_determine_variances_poorly():
    """Ratios are shrunk by 4 (kurtosis - 1) rows: kurtosis 3 of a Normal distribution, 1 / (p (1 - p)) - 3 of outcomes.

    Means of cells of 20 rows reduce it by a twentieth.
    """
    rng = np.random.default_rng(8)
    score, first, rare = rng.random(40_000), rng.random(40_000) < 0.5, rng.random(40_000) < 0.02
    for response, kurtosis in ((rng.normal(size=40_000), 3), (1e99 * rare, 1 / (0.02 * 0.98) - 3)):
        rows = MatchedRows.of(read(response, score), first, ~first)
        assert matched_bins(rows, of_both=True).further == pytest.approx(max(4 * (kurtosis - 1), 10), rel=0.12)
