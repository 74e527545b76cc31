"""Slopes, parts, intervals and bands of cumulative differences, and how they print."""

import pickle

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.base import significant

HAND = ([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])


def test_the_worst_interval_has_the_largest_deviation(simulated):
    for seed in range(20):
        outcome, score, weights = simulated(seed=seed, weighted=True)
        cd = bc.cumulative_difference(outcome, score, weights=weights)
        slope = cd.slope(*cd.worst_interval)
        assert abs(slope.difference) * slope.weight == pytest.approx(cd.kuiper, rel=1e-10)


def test_slope_is_the_mean_residual_with_its_standard_error(simulated):
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


def test_zoom_equals_the_rows_in_the_interval(simulated):
    outcome, score, weights = simulated(weighted=True)
    inside = (score >= 0.3) & (score <= 0.7)
    part = bc.cumulative_difference(outcome, score, weights=weights).zoom(0.3, 0.7)
    alone = bc.cumulative_difference(outcome[inside], score[inside], weights=weights[inside])
    assert part.curve == pytest.approx(alone.curve, abs=1e-15)
    assert (part.sigma, part.p_kuiper) == (pytest.approx(alone.sigma), pytest.approx(alone.p_kuiper))
    assert "scores in [0.3, 0.7]" in part.spec


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


def test_intervals_and_bands_have_their_quantiles(simulated):
    cd = bc.cumulative_difference(*simulated()[:2])
    _, low, high = cd.band(0.95)
    assert (high - low) / 2 == pytest.approx(2.2414027 * max(cd.sigma, cd.robust_sigma), rel=1e-6)
    low, high = cd.kuiper_interval(0.95)
    assert (high - cd.kuiper) == pytest.approx(2.4976722 * max(cd.sigma, cd.robust_sigma), rel=1e-6)
    assert low == max(0, cd.kuiper - 2.4976722 * max(cd.sigma, cd.robust_sigma))


def test_presentation(simulated):
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


def test_ends_of_an_interval_have_the_precision_of_the_scores():
    cd = bc.cumulative_difference([1, 0, 1], np.float32([0.1, 0.2, 0.7]))
    assert cd.slope(0.1, 0.1).difference == pytest.approx(0.9)
    assert cd.slope(0.1, 0.2).weight == pytest.approx(2 / 3)
    assert len(cd.zoom(0.1, 0.7).score) == 3


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


def test_ends_beyond_all_scores_are_infinite(recwarn):
    cd = bc.cumulative_difference([1, 0, 1], np.float16([0.1, 0.2, 0.7]))
    assert cd.slope(-(10**400), 1e30).difference == cd.slope(-np.inf, np.inf).difference
    assert len(cd.zoom(0.15, 10**400).score) == 2
    with pytest.raises(ValueError, match="must enclose at least one score"):
        cd.slope(10**400, 10**401)
    assert not [str(each.message) for each in recwarn if "overflow" in str(each.message)]
    with pytest.raises(ValueError, match="read-only"):
        cd.score[0] = 0


def test_example_of_significant():
    assert (significant(431.2454, 4), significant(0.43125, 4), significant(12345.6, 4)) == ("431.2", "0.4313", "12346")
