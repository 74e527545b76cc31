"""Cumulative differences: the definition on small data in exact arithmetic, ties, weights, slopes, parts and errors."""

import json
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import bayescal as bc
from bayescal._invalid import InvalidRows

HAND = ([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])


def simulated(n=300, *, seed=1, decimals=2, weighted=False):
    rng = np.random.default_rng(seed)
    score = rng.random(n).round(decimals)
    weights = rng.exponential(size=n) if weighted else None
    return rng.random(n) < score**1.2, score, weights


def largest_mean(outcome, score, weights):
    """Largest absolute weighted mean of 1{p1 < c <= p2} (z - c) over all pairs of scores, in rational numbers."""
    w = [Fraction(1)] * len(score) if weights is None else [Fraction(x) for x in weights.tolist()]
    sums = {}
    for z, c, x in zip(outcome, score.tolist(), w, strict=True):
        sums[c] = sums.get(c, 0) + x * (int(z) - Fraction(c))
    points = [Fraction(0)]
    for c in sorted(sums):
        points.append(points[-1] + sums[c] / sum(w))
    return float(max(abs(b - a) for a, b in combinations(points, 2))), float(max(map(abs, points)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_statistics_equal_the_definition(weighted, decimals):
    outcome, score, weights = simulated(120, decimals=decimals, weighted=weighted)
    cd = bc.cumulative_difference(outcome, score, weights=weights)
    kuiper, smirnov = largest_mean(outcome, score, weights)
    assert cd.kuiper == pytest.approx(kuiper, rel=1e-12)
    assert cd.kolmogorov_smirnov == pytest.approx(smirnov, rel=1e-12)
    w = np.ones(120) if weights is None else weights
    assert cd.sigma == pytest.approx(np.sqrt(np.sum(w**2 * score * (1 - score))) / w.sum(), rel=1e-12)
    assert cd.robust_sigma == pytest.approx(np.sqrt(np.sum(w**2 * (outcome - score) ** 2)) / w.sum(), rel=1e-12)


def test_hand_examples():
    cd = bc.cumulative_difference(*HAND)
    assert cd.curve == pytest.approx([0, 0.12, 0.08, 0.1])
    assert cd.abscissae == pytest.approx([0, 0.4, 0.8, 1])
    assert (cd.kuiper, cd.worst_interval) == (pytest.approx(0.12), (0.2, 0.2))
    assert bc.cumulative_difference([1, 0], [0.25, 0.75]).kuiper == 0.375
    flat = bc.cumulative_difference([1, 1, 0, 0, 1], [0.5] * 4 + [1.0])
    assert (flat.kuiper, flat.worst_interval) == (0, (0.5, 1.0))


def test_the_worst_interval_has_the_largest_deviation():
    for seed in range(20):
        outcome, score, weights = simulated(seed=seed, weighted=True)
        cd = bc.cumulative_difference(outcome, score, weights=weights)
        slope = cd.slope(*cd.worst_interval)
        assert abs(slope.difference) * slope.weight == pytest.approx(cd.kuiper, rel=1e-10)


def test_order_of_rows_has_no_effect_and_weights_only_have_ratios():
    outcome, score, weights = simulated(weighted=True)
    cd = bc.cumulative_difference(outcome, score)
    order = np.random.default_rng(2).permutation(len(score))
    assert np.array_equal(bc.cumulative_difference(outcome[order], score[order]).curve, cd.curve)
    assert np.array_equal(bc.cumulative_difference(outcome, score, weights=np.ones(300)).curve, cd.curve)
    one = bc.cumulative_difference(outcome, score, weights=weights)
    for factor in (2.0**20, 2.0**-700, 3.7, 1e-120, 1e120, 1e200):
        other = bc.cumulative_difference(outcome, score, weights=weights * factor)
        np.testing.assert_allclose(other.curve, one.curve, rtol=1e-12, atol=1e-16)
        assert other.sigma == pytest.approx(one.sigma, rel=1e-12)
        assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-11)


def test_very_small_scores_have_a_p_value():
    """Variances of 1e-250 and 1e-240: nearly a single step."""
    cd = bc.cumulative_difference([0, 0], [1e-250, 1e-240])
    assert cd.scale.mean_step == pytest.approx(1, abs=1e-4)
    assert cd.p_kuiper == pytest.approx(1)


def test_columns_of_other_types_give_the_same_numbers():
    outcome, score, _ = simulated()
    cd = bc.cumulative_difference(outcome, score)
    for y in (outcome.tolist(), outcome.astype(np.int8), outcome.astype(float)):
        assert bc.cumulative_difference(y, score.tolist()).kuiper == cd.kuiper
    single = score.astype(np.float32)
    assert bc.cumulative_difference(outcome, single).kuiper == pytest.approx(
        bc.cumulative_difference(outcome, single.astype(np.float64)).kuiper, rel=1e-12
    )


def test_slope_is_the_mean_residual_with_its_standard_error():
    outcome, score, _ = simulated(decimals=15)
    inside = (score >= 0.3) & (score <= 0.7)
    residual = (outcome - score)[inside]
    slope, error, calibrated, weight = bc.cumulative_difference(outcome, score).slope(0.3, 0.7)
    assert slope == pytest.approx(residual.mean(), rel=1e-12)
    assert error == pytest.approx(residual.std(ddof=1) / np.sqrt(len(residual)), rel=1e-10)
    assert calibrated == pytest.approx(np.sqrt(np.sum((score * (1 - score))[inside])) / inside.sum(), rel=1e-12)
    assert weight == pytest.approx(inside.mean())


def test_a_slope_of_one_row_has_no_standard_error():
    assert np.isnan(bc.cumulative_difference(*HAND).slope(0.9, 0.9).standard_error)


def test_zoom_equals_the_rows_in_the_interval():
    outcome, score, weights = simulated(weighted=True)
    inside = (score >= 0.3) & (score <= 0.7)
    part = bc.cumulative_difference(outcome, score, weights=weights).zoom(0.3, 0.7)
    alone = bc.cumulative_difference(outcome[inside], score[inside], weights=weights[inside])
    assert part.curve == pytest.approx(alone.curve, abs=1e-15)
    assert (part.sigma, part.p_kuiper) == (pytest.approx(alone.sigma), pytest.approx(alone.p_kuiper))
    assert "scores in [0.3, 0.7]" in part.spec


def test_correction_adds_the_shortfall_at_both_ends():
    """Steps of equal variance: the mean step is 1/sqrt(n), and the walk falls short by 0.5826 of it at each end."""
    from bayescal.cumulative.brownian import sf_max_abs, sf_range

    rng = np.random.default_rng(4)
    score = np.repeat([0.5], 400) + np.linspace(-1e-9, 1e-9, 400)
    cd = bc.cumulative_difference(rng.random(400) < 0.5, score)
    assert cd.scale.mean_step == pytest.approx(1 / 20, rel=1e-9)
    assert cd.p_kuiper == pytest.approx(sf_range(cd.kuiper / cd.sigma + 2 * 0.5825971579390106 / 20), rel=1e-9)
    smirnov = cd.kolmogorov_smirnov / cd.sigma
    assert cd.p_kolmogorov_smirnov == pytest.approx(sf_max_abs(smirnov + 0.5825971579390106 / 20), rel=1e-9)
    assert cd.p_kolmogorov_smirnov_uncorrected == pytest.approx(sf_max_abs(smirnov), rel=1e-12)


def test_certain_scores():
    """Scores of 0 and 1 leave no noise: a single contrary outcome refutes calibration."""
    right = bc.cumulative_difference([1, 0, 1], [1.0, 0.0, 1.0])
    assert (right.kuiper, right.p_kuiper, right.p_kolmogorov_smirnov) == (0, 1, 1)
    assert np.isnan(right.kuiper_interval()).all()
    assert "there is no interval" in str(right)
    wrong = bc.cumulative_difference([1, 0, 0], [1.0, 0.0, 1.0])
    assert (wrong.p_kuiper, wrong.p_kolmogorov_smirnov) == (0, 0)


def test_without_noise_there_is_no_band():
    band = bc.cumulative_difference([1], [1.0]).band()
    assert np.isnan([band.low, band.high]).all()


def test_intervals_use_the_larger_sigma():
    """1000 scores below 2e-4 and no outcome 1: residuals are smaller than their standard deviations."""
    score = np.linspace(0, 2e-4, 1001)[1:]
    cd = bc.cumulative_difference(np.zeros(1000, dtype=int), score)
    sigma = np.sqrt(np.sum(score * (1 - score))) / 1000
    assert cd.robust_sigma < 0.02 * sigma
    low, high = cd.kuiper_interval()
    assert (low, high) == (0, pytest.approx(score.mean() + 2.4976722 * sigma, rel=1e-6))
    band = cd.band()
    np.testing.assert_allclose(band.high - band.low, 2 * 2.2414027 * sigma, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "rate"), [(1, 1), (3, 1), (3, 1 / 3), (10, 1)])
def test_intervals_of_few_events_contain_the_truth(expected, rate):
    """400 sets of 1000 rows with so many expected events, and with true rates of this multiple of the scores.

    A review measured at least 0.986 over 1500 sets; 0.96 or less of 400 then has a probability below 2e-4.
    """
    rng = np.random.default_rng(3)
    score = np.linspace(0, 2 * expected / 1000, 1001)[1:]
    truth = (1 - rate) * score.mean()
    inside = 0
    for _ in range(400):
        low, high = bc.cumulative_difference(rng.random(1000) < rate * score, score).kuiper_interval()
        inside += low <= truth <= high
    assert inside > 0.96 * 400


def test_intervals_and_bands_have_their_quantiles():
    cd = bc.cumulative_difference(*simulated()[:2])
    _, low, high = cd.band(0.95)
    assert (high - low) / 2 == pytest.approx(2.2414027 * max(cd.sigma, cd.robust_sigma), rel=1e-6)
    low, high = cd.kuiper_interval(0.95)
    assert (high - cd.kuiper) == pytest.approx(2.4976722 * max(cd.sigma, cd.robust_sigma), rel=1e-6)
    assert low == max(0, cd.kuiper - 2.4976722 * max(cd.sigma, cd.robust_sigma))


def test_presentation():
    cd = bc.cumulative_difference(*simulated()[:2])
    assert cd.p_kuiper > 0.05
    text = " ".join(str(cd).split())
    assert text.startswith(
        "The rows do not show a difference between outcomes and scores. The largest deviation of all"
    )
    assert "outcome 1 is less frequent than the scores state, by" in text
    assert '"if calibrated": mean of the statistic under calibration' in " ".join(str(cd.details()).split())
    rows = simulated()
    clear = bc.cumulative_difference(rows[0], rows[1] * 0.5)
    assert clear.p_kuiper < 0.05
    assert clear.sentence().startswith("Between the scores ")
    assert cd.spec == "cumulative difference between outcomes and scores, N = 300, 98 distinct scores"
    assert repr(cd) == f"CumulativeDifference({cd.spec})"
    frame = cd.to_frame()
    assert frame.loc["kuiper", "value"] == cd.kuiper
    assert frame.loc["kolmogorov_smirnov", "p_value"] == cd.p_kolmogorov_smirnov
    assert "mean step" not in text
    assert "The P-values are rough" in str(bc.cumulative_difference(*HAND))
    assert "effective N = 4" in bc.cumulative_difference(*HAND, weights=[1, 2, 1, 1, 1]).spec


@pytest.mark.parametrize(
    ("y_true", "y_prob", "weights", "words"),
    [
        ([0, 1], [0.2, np.nan], None, "`y_prob`"),
        ([0, 1], [0.2, 1.5], None, r"`y_prob` must lie in \[0, 1\]"),
        ([0, 2], [0.2, 0.5], None, "`y_true`"),
        ([0, 1], [0.2, 0.5], [1, -1], "`weights`"),
        ([0, 1], [0.2, 0.5], [0, 0], "`weights`"),
    ],
)
def test_invalid_rows(y_true, y_prob, weights, words):
    with pytest.raises(InvalidRows, match=words):
        bc.cumulative_difference(y_true, y_prob, weights=weights)


def test_lengths_and_intervals_are_checked():
    with pytest.raises(ValueError, match="`y_true` and `y_prob` must have the same length"):
        bc.cumulative_difference([0, 1, 1], [0.2, 0.3])
    cd = bc.cumulative_difference(*HAND)
    with pytest.raises(ValueError, match="`low` must not exceed `high`"):
        cd.slope(0.5, 0.4)
    with pytest.raises(ValueError, match="must enclose at least one score"):
        cd.zoom(0.3, 0.5)
    with pytest.raises(ValueError, match="`low` must be a number or infinity; it is NaN"):
        cd.slope(np.nan, 0.5)
    for interval in (((0.2, 0.6),), (0.2,), ((0.2, 0.6), 0.7)):
        with pytest.raises(TypeError, match=r"Pass both ends of the interval, as in `zoom\(0.2, 0.6\)`"):
            cd.zoom(*interval)
    for interval in ((0.5,), ("a", 1)):
        with pytest.raises(TypeError, match=r"Pass both ends of the interval, as in `slope\(0.2, 0.6\)`"):
            cd.slope(*interval)
    assert cd.slope(0.5, np.inf) == cd.slope(0.5, 0.9)
    with pytest.raises(ValueError, match="`prob`"):
        cd.band(1.0)


@pytest.mark.parametrize("bins", [1, 7, 100, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_bound_the_statistics_of_their_rows(bins, weighted):
    for seed in range(10):
        outcome, score, weights = simulated(seed=seed, decimals=15, weighted=weighted)
        rows = bc.cumulative_difference(outcome, score, weights=weights)
        counts = bc.BinnedCounts.from_arrays(outcome, score, bins=bins, weights=weights)
        cd = bc.cumulative_difference.from_counts(counts)
        for statistic in ("kuiper", "kolmogorov_smirnov"):
            of_rows, of_counts = getattr(rows, statistic), getattr(cd, statistic)
            assert of_counts - 1e-12 <= of_rows <= of_counts + cd.grid_error + 1e-12
        assert cd.curve[-1] == pytest.approx(rows.curve[-1], abs=1e-14)
        if not weighted:
            assert cd.sigma == pytest.approx(rows.sigma, rel=1e-10)
            assert cd.robust_sigma == pytest.approx(rows.robust_sigma, rel=1e-10)


def test_the_grid_error_is_reached():
    """All outcomes 1 come first in the bin, so that the curve rises by 5/20 before it falls to 0."""
    score = np.linspace(0.49999, 0.50001, 20)
    outcome = np.repeat([1, 0], 10)
    counts = bc.BinnedCounts.from_arrays(outcome, score, bins=1)
    cd = bc.CumulativeDifference.from_counts(counts)
    assert cd.kuiper == pytest.approx(0, abs=1e-12)
    assert cd.grid_error == pytest.approx(0.25, abs=1e-4)
    assert bc.cumulative_difference(outcome, score).kuiper == pytest.approx(0.25, abs=1e-4)
    assert "1 equal-width bin" in cd.spec
    assert cd.spec.endswith(", 1 occupied bin")


def test_intervals_from_counts_end_at_edges():
    """The edges are 0, 1/3, 2/3 and 1, while the mean scores of the bins are 0.2, 0.5 and 0.9."""
    rows = [1, 1, 1, 0, 0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.9]
    counts = bc.BinnedCounts.from_arrays(*rows, bins=3)
    cd = bc.cumulative_difference.from_counts(counts)
    assert cd.score == pytest.approx([1 / 3, 2 / 3, 1])
    # deviations of the bins: 2.4, -0.5 and -1.8
    assert cd.curve == pytest.approx([0, 0.3, 0.2375, 0.0125])
    assert cd.worst_interval == pytest.approx((0, 1 / 3))
    assert cd.slope(0, 1 / 3).difference == pytest.approx(0.8)
    assert cd.slope(0.3, 1) == cd.slope(1 / 3, 1)
    assert cd.slope(1 / 3, 1).difference == pytest.approx(-2.3 / 5)
    assert cd.zoom(0, 0.7).curve == pytest.approx([0, 0.4, 1.9 / 6])
    with pytest.raises(ValueError, match=r"at least one bin; there is none in \[0.4, 0.6\]. All bins lie in \[0, 1\]"):
        cd.slope(0.4, 0.6)
    # the first bin can only rise; in the second, two outcomes of 0 come before or after that of 1
    assert cd.kuiper + cd.grid_error == pytest.approx(0.3 + 0.4 / 8)
    words = "statistic is at least 0.3000 (at most 0.3500, depending on the order of the rows within bins)"
    assert words in cd.sentence()


def test_counts_without_rows_and_other_objects_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        bc.CumulativeDifference.from_counts(bc.BinnedCounts.empty(10))
    with pytest.raises(TypeError, match="must be BinnedCounts, not list"):
        bc.CumulativeDifference.from_counts([1, 2])
    assert bc.cumulative_difference(*HAND).grid_error == 0


def test_ends_of_an_interval_have_the_precision_of_the_scores():
    cd = bc.cumulative_difference([1, 0, 1], np.float32([0.1, 0.2, 0.7]))
    assert cd.slope(0.1, 0.1).difference == pytest.approx(0.9)
    assert cd.slope(0.1, 0.2).weight == pytest.approx(2 / 3)
    assert len(cd.zoom(0.1, 0.7).score) == 3


def test_one_distinct_score_has_the_exact_law_of_one_step():
    """60 of 100 events at 0.5: the deviation is 0.1, or 2 sigma; a Normal number exceeds 2 with probability 0.0455."""
    cd = bc.cumulative_difference([1] * 60 + [0] * 40, [0.5] * 100)
    assert cd.p_kuiper == pytest.approx(0.04550026, rel=1e-6)
    assert cd.p_kolmogorov_smirnov == pytest.approx(0.04550026, rel=1e-6)
    assert "The curve has a single step" in " ".join(str(cd).split())
    assert "The P-values are rough" in " ".join(str(bc.cumulative_difference([1, 0], [0.5, 0.5])).split())


#: One step with 30 % of the variance among 140 small ones, as of many rows with one score.
CLUMP = [1] * 70 + [60] + [1] * 70


@pytest.mark.parametrize("steps", [[1, 1], [1, 1, 1], [1] * 5, [1] * 10, [1] * 25, [1] * 10 + [30] + [1] * 10, CLUMP])
def test_few_steps_do_not_reject_too_often(steps):
    """100 000 walks with Normal steps of these variances: the shares below 0.05 and 0.01 are at most 0.055 and 0.0125.

    The standard errors are 0.0007 and 0.0003; with the correction of many steps, the first share is 0.11 for two. With
    a mean step weighted by variance, it is 0.07 for the large step among small ones.
    """
    from bayescal.cumulative.brownian import sf_max_abs, sf_range
    from bayescal.cumulative.statistics import corrected_tail

    variance = np.array(steps) / np.sum(steps)
    walk = np.zeros((100_000, len(steps) + 1))
    walk[:, 1:] = np.cumsum(np.random.default_rng(1).normal(size=(100_000, len(steps))) * np.sqrt(variance), axis=1)
    mean_step = float(1 / np.sum(np.sqrt(variance)))
    for tail, ends, value in ((sf_range, 2, np.ptp(walk, axis=1)), (sf_max_abs, 1, np.abs(walk).max(axis=1))):
        p_value = corrected_tail(tail, value, mean_step, ends)
        assert 0.02 < np.mean(p_value < 0.05) < 0.055
        assert np.mean(p_value < 0.01) < 0.0125


@pytest.mark.parametrize("n", [1, 2, 5, 11, 100])
def test_the_mean_range_of_equal_steps_is_the_sum_of_spitzer(n):
    """E range = sqrt(2 / (pi n)) sum k^(-1/2) for n Normal steps of variance 1/n."""
    from bayescal.cumulative.statistics import Scale, null_mean

    exact = np.sqrt(2 / (np.pi * n)) * np.sum(np.arange(1, n + 1) ** -0.5)
    noise = Scale(1.0, 1.0, 3.0, n**-0.5)
    assert null_mean("kuiper", noise) == pytest.approx(3 * exact, rel=1e-3)
    walk = np.cumsum(np.random.default_rng(1).normal(size=(40_000, n)) / np.sqrt(n), axis=1)
    largest = np.abs(walk).max(axis=1)
    # the standard error of the mean is 0.4 % at most
    assert null_mean("kolmogorov_smirnov", noise) == pytest.approx(3 * largest.mean(), rel=0.02)
    assert null_mean("kolmogorov_smirnov", noise) <= null_mean("kuiper", noise)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [1, 11])
def test_the_mean_under_calibration_is_that_of_simulated_outcomes(scores):
    """1000 calibrated sets of 2000 rows with few scores; the tolerance is 4 standard errors and 2 %."""
    rng = np.random.default_rng(1)
    score = np.repeat(np.linspace(0.3, 0.7, scores) if scores > 1 else [0.5], 2200 // scores)
    sets = [bc.cumulative_difference(rng.random(len(score)) < score, score) for _ in range(1000)]
    for row in sets[0].table():
        values = np.array([getattr(each, row["quantity"]) for each in sets])
        mean = np.mean([each.table()[0 if row["quantity"] == "kuiper" else 1]["null_mean"] for each in sets])
        assert abs(mean - values.mean()) < 4 * values.std() / np.sqrt(1000) + 0.02 * mean


def test_p_values_that_underflow_are_bounded():
    cd = bc.cumulative_difference(np.zeros(10_000, dtype=int), np.linspace(0.4, 0.6, 10_000))
    assert cd.p_kuiper == 0
    assert "a statistic of at least this size is less than 1e-300." in cd.sentence()
    assert cd.sheet().rows[0][-2:] == ["< 1e-300", "< 1e-300"]
    assert "P-value < 1e-300" in bc.plot_cumulative(cd).get_title(loc="left")


def test_top_label_results_name_their_target():
    from bayescal.cumulative.analysis import cumulative_difference_of
    from bayescal.data.predictions import Predictions

    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 900)
    matrix = np.full((900, 3), 0.2)
    matrix[np.arange(900), label] = 0.6
    cd = cumulative_difference_of(Predictions.from_labels(label, matrix))
    counts = bc.BinnedCounts.from_arrays(np.ones(900), np.full(900, 0.6), bins=100, target="top-label")
    for each in (cd, bc.CumulativeDifference.from_counts(counts)):
        assert "predictions are right more often than their confidence states, by 0.400" in each.sentence()
        assert each.spec.startswith("top-label cumulative difference")
    assert "outcome 1 is more frequent" in bc.cumulative_difference(np.ones(900), np.full(900, 0.6)).sentence()


# --- advice


@pytest.mark.parametrize(
    ("y_true", "y_prob", "error", "words"),
    [
        (
            [0, 1],
            [-2.0, 3.0],
            InvalidRows,
            r"`y_prob` .* Logits\? Pass probabilities, as in `scipy.special.expit\(logits\)`\.",
        ),
        (
            ["no", "yes"],
            [0.2, 0.7],
            TypeError,
            r"`y_true` must hold 0 and 1.*\['no', 'yes'\].*as in `y_true == label`",
        ),
        ([1, 2], [0.2, 0.7], InvalidRows, "`y_true` must be binary.*Pass whether the event happened, as in"),
        ([0.2, 0.7], [0, 1], InvalidRows, "are `y_true` and `y_prob` swapped"),
        ([], [], ValueError, "`y_true` is empty; at least one row is needed[.]$"),
    ],
)
def test_messages_name_the_arguments_of_the_function(y_true, y_prob, error, words):
    with pytest.raises(error, match=words) as caught:
        bc.cumulative_difference(y_true, y_prob)
    for elsewhere in ("classes=", "`logits=", "`outcome`", "`score`"):
        assert elsewhere not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y, p: bc.cumulative_difference(y), "missing 1 .*`cumulative.difference.from_counts"),
        (lambda y, p: bc.cumulative_difference(y, p, bins=10), r"takes no 'bins'\. There are no bins to choose"),
        (
            lambda y, p: bc.cumulative_difference(y, p, by=y),
            r"bayescal\.cumulative\.screen\(y_true, y_prob, by=site\)`",
        ),
        (lambda y, p: bc.cumulative_difference(outcome=y, y_prob=p), "Here it is called 'y_true'"),
        (lambda y, p: bc.cumulative_difference(y_true=y, score=p), "Here it is called 'y_prob'"),
        (lambda y, p: bc.cumulative_difference(y, p, weigths=p), "Did you mean 'weights'"),
        (lambda y, p: bc.cumulative_difference_subpopulation(y, p, by=y), "Here it is called 'member'"),
        (lambda y, p: bc.screen_subpopulations(y, p, group=y), "Here it is called 'by'"),
    ],
)
def test_keywords_of_other_functions(call, words):
    with pytest.raises(TypeError, match=words):
        call([0, 1], [0.2, 0.7])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ks", "is `kolmogorov_smirnov`"),
        ("c_emp", "is `kuiper`"),
        ("p_value", "P-values are `p_kuiper` and `p_kolmogorov_smirnov`"),
        ("pvalues", "P-values are `p_kuiper` and `p_kolmogorov_smirnov`"),
        ("kupier", "Did you mean 'kuiper'"),
    ],
)
def test_attributes_with_other_names(name, words):
    cd = bc.cumulative_difference(*HAND)
    with pytest.raises(AttributeError, match=words):
        getattr(cd, name)
    assert not hasattr(cd, "_unknown")
    assert pickle.loads(pickle.dumps(cd)).kuiper == cd.kuiper


@pytest.mark.parametrize("name", ["kuiper", "ks", "c_emp"])
def test_evaluations_and_the_package_name_the_function(name):
    for owner in (bc, bc.evaluate([0, 1], [0.2, 0.7], draws=10, rng=1)):
        with pytest.raises(AttributeError, match=r"`bayescal.cumulative.difference\(y_true, y_prob\)[.]k"):
            getattr(owner, name)


def test_numbers_of_rows_and_rows_of_weight_0():
    """Kish: (1 + 3)^2 / (1 + 9) = 1.6 effective rows."""
    cd = bc.cumulative_difference([1, 0, 1], [0.2, 0.5, 0.7], weights=[1, 0, 3])
    assert (cd.n, cd.effective_n) == (2, pytest.approx(1.6))
    assert cd.average_difference == pytest.approx((0.8 + 3 * 0.3) / 4)
    assert cd.remarks[-1] == "1 row of weight 0 left out."
    assert "left out" not in str(bc.cumulative_difference(*HAND, weights=np.ones(5)))
    sub = bc.cumulative_difference_subpopulation([1, 0, 1, 1], [1, 2, 3, 4], [1, 1, 1, 0], weights=[1, 0, 0, 1])
    assert sub.remarks[-1] == "2 rows of weight 0 left out."
    screen = bc.screen_subpopulations([1, 0, 1, 1], [1, 2, 3, 4], list("aabb"), weights=[1, 0, 0, 1])
    assert "2 rows of weight 0 left out." in str(screen)


def test_certain_predictions_are_named():
    assert "All scores are 0 or 1: pass probabilities" in str(bc.cumulative_difference([1, 0, 0], [1, 0, 1]))
    assert "All scores" not in str(bc.cumulative_difference([1, 0, 0], [1, 0, 0.5]))


def test_the_average_difference_of_a_subpopulation_has_a_standard_error():
    """Members deviate by 1/2 and -1/2 from the means of their cells: 1 / (2 sqrt(2 - 1)) = 1/2."""
    sub = bc.cumulative_difference_subpopulation([1, 0, 2, 1], [0.1, 0.2, 0.3, 0.4], [True, False, False, True])
    assert sub.slope(-np.inf, np.inf).standard_error == pytest.approx(0.5)
    assert "Average difference over the subpopulation: 0.0000 (standard error 0.5000)." in sub.remarks[0]
    for name in ("posterior", "c_emp_bound"):
        with pytest.raises(AttributeError, match="It needs outcomes 0 and 1"):
            getattr(sub, name)


# --- documents


def test_the_document_has_what_the_text_states():
    member = [True, True, False, True, False]
    cd = bc.cumulative_difference(*HAND)
    sub = bc.cumulative_difference_subpopulation(*HAND, member)
    for result in (cd, sub):
        found = json.loads(result.to_json())
        assert found["worst_interval"] == dict(zip(("first", "last"), result.worst_interval, strict=True))
        assert (found["sigma"], found["robust_sigma"]) == (result.sigma, result.robust_sigma)
        assert (found["kuiper_interval"]["low"], found["kuiper_interval"]["high"]) == result.kuiper_interval()
        assert found["average_difference"] == result.curve[-1]
    # outcomes have the mean 3/5 and scores 1/2
    assert json.loads(cd.to_json())["average_difference"] == pytest.approx(0.1)
    counts = bc.BinnedCounts.from_arrays(*HAND, bins=2)
    counted = bc.CumulativeDifference.from_counts(counts)
    assert json.loads(counted.to_json())["grid_error"] == counted.grid_error > 0


@pytest.mark.parametrize("bins", [1, 3, 100])
def test_bounds_from_counts_include_the_error_of_the_bins(bins):
    """The error is 1/4 of either sign in each half of the scores: D of the population is 1/8."""
    rng = np.random.default_rng(1)
    score = rng.uniform(0.25, 0.75, 20_000)
    outcome = rng.random(20_000) < score + np.where(score < 0.5, 0.25, -0.25)
    cd = bc.CumulativeDifference.from_counts(bc.BinnedCounts.from_arrays(outcome, score, bins=bins))
    low, high = cd.kuiper_interval()
    assert low < 1 / 8 < high
    assert abs(cd.kuiper - 1 / 8) <= cd.c_emp_bound()


def test_ends_beyond_all_scores_are_infinite(recwarn):
    cd = bc.cumulative_difference([1, 0, 1], np.float16([0.1, 0.2, 0.7]))
    assert cd.slope(-(10**400), 1e30).difference == cd.slope(-np.inf, np.inf).difference
    assert len(cd.zoom(0.15, 10**400).score) == 2
    with pytest.raises(ValueError, match="must enclose at least one score"):
        cd.slope(10**400, 10**401)
    assert not [str(each.message) for each in recwarn if "overflow" in str(each.message)]
    with pytest.raises(ValueError, match="read-only"):
        cd.score[0] = 0


def test_equal_weights_have_the_bound_of_rows():
    assert (
        bc.cumulative_difference(*HAND, weights=[3] * 5).c_emp_bound() == bc.cumulative_difference(*HAND).c_emp_bound()
    )
    for weights in ([1, 2, 1, 1, 1], [1, 3, 2, 2, 2]):
        with pytest.raises(ValueError, match="rows of equal weight"):
            bc.cumulative_difference(*HAND, weights=weights).c_emp_bound()
