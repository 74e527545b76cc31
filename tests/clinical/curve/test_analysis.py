"""calibration_curve: known errors, odds of exact calibration, invariances, weights, classes, and refusals."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


def test_the_truth_lies_within_the_intervals(cv):
    """Temperature 1.5 on a flat population: ICI 0.0587, E50 0.0657, E90 0.0888 and Emax 0.0897 by quadrature."""
    for name, truth in (("ici", 0.0587), ("e50", 0.0657), ("e90", 0.0888), ("emax", 0.0897)):
        low, high = getattr(cv, name).interval(0.99)
        assert low < truth < high
    band = cv.band(0.99)
    rate = 1 / (1 + (1 / band.score - 1) ** (1 / 1.5))
    assert np.mean((band.low < rate) & (rate < band.high)) > 0.9
    assert cv.at(0.5).mean() == pytest.approx(0.5, abs=0.04)


def test_odds_of_exact_calibration():
    """Posterior odds are prior odds times the Bayes factor: 2:3 for `p_calibrated`, 1:9 for the share of the draws."""
    rows = simulate(2000, population="flat", rng=4)
    spike, none = (bc.calibration_curve(rows.outcome, rows.confidence, prior_exact=p, rng=1) for p in (0.1, 0))
    assert spike.ici.interval()[0] == 0
    assert none.probabilities["exact"] == 0
    assert spike.p_calibrated == none.p_calibrated > 0.6
    for probability, prior in ((spike.p_calibrated, 2 / 3), (spike.probabilities["exact"], 1 / 9)):
        assert probability / (1 - probability) == pytest.approx(spike.bayes_factor * prior)
    # independent knots, runs and noise hold errors of exactly 0, too
    zeros = [(each.ici.values == 0).mean() for each in (spike, none)]
    assert zeros[0] > zeros[1] + 0.8 * spike.probabilities["exact"]


def test_order_ties_and_scale_of_weights_have_no_effect(sample, cv):
    order = np.random.default_rng(0).permutation(len(sample.outcome))
    again = bc.calibration_curve(sample.outcome[order], sample.confidence[order], rng=1)
    np.testing.assert_allclose(again.ici.values, cv.ici.values)
    tied = np.round(sample.confidence, 2)
    one, other = (bc.calibration_curve(sample.outcome[i], tied[i], rng=1) for i in (np.arange(2000), order))
    np.testing.assert_allclose(one.ici.values, other.ici.values)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(sample.outcome))
    a, b = (
        bc.calibration_curve(sample.outcome, sample.confidence, weights=factor * weights, rng=1)
        for factor in (1, 1e-200)
    )
    np.testing.assert_allclose(a.ici.values, b.ici.values)
    np.testing.assert_array_equal(
        bc.calibration_curve(sample.outcome, sample.confidence, weights=np.ones(2000), rng=1).ici.values, cv.ici.values
    )


def test_weights_count_as_effective_rows(sample):
    """Rows of weight 0 do not count; the effective number decides on the number of bins."""
    weights = np.where(np.arange(2000) < 150, 1.0, 0.0)
    part = bc.calibration_curve(sample.outcome[:150], sample.confidence[:150], rng=1)
    np.testing.assert_allclose(
        bc.calibration_curve(sample.outcome, sample.confidence, weights=weights, rng=1).ici.values, part.ici.values
    )
    assert 15 <= len(part.score) <= 20  # 15 bins of equal mass, of which some are divided
    heavy = np.where(np.arange(2000) < 10, 1000.0, 1.0)
    few = bc.calibration_curve(sample.outcome, sample.confidence, weights=heavy, rng=1)
    assert any("need 86 more effective rows" in remark for remark in few.remarks)  # 12 000^2 / 10 002 000 = 14.4


def test_classifiers_of_several_classes():
    rng = np.random.default_rng(2)
    probabilities = rng.dirichlet(np.ones(3), 500)
    labels = np.array([rng.choice(3, p=row) for row in probabilities])
    top = bc.calibration_curve(labels, probabilities, rng=1)
    correct, stated = probabilities.argmax(axis=1) == labels, probabilities.max(axis=1)
    again = bc.calibration_curve(correct.astype(int), stated, target="confidence", rng=1)
    np.testing.assert_array_equal(top.ici.values, again.ici.values)
    assert "top-label ICI" in top.spec
    assert "between confidence and accuracy" in top.sentence()
    with pytest.raises(ValueError, match="Pass one class as an event"):
        bc.calibration_curve(labels, probabilities, target="classwise")


def test_refusals(sample, cv):
    with pytest.raises(ValueError, match="`counts` must have at least one row of positive weight"):
        bc.calibration_curve.from_counts(bc.BinnedCounts.empty(50))
    with pytest.raises(TypeError, match="`counts` must be BinnedCounts, not ndarray; for rows, use"):
        bc.calibration_curve.from_counts(sample.outcome)
    with pytest.raises(ValueError, match="`prior_exact`"):
        bc.calibration_curve(sample.outcome, sample.confidence, prior_exact=1)
    with pytest.raises(ValueError, match="`draws`"):
        bc.calibration_curve(sample.outcome, sample.confidence, draws=1)
    with pytest.raises(ValueError, match=r"`y_prob` must lie in \[0, 1\]; 1 of 2000 values does not, first at index 0"):
        bc.calibration_curve(sample.outcome, np.concatenate([[1.5], sample.confidence[1:]]))
    with pytest.raises(TypeError, match="Here it is called 'rng'"):
        bc.calibration_curve(sample.outcome, sample.confidence, seed=1)
    for score in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match=r"`score` must lie between 0.0.*largest score of the rows, not"):
            cv.at(score)
    for scores in ([0.1, 0.2], np.array([0.3]), True, "0.3"):
        with pytest.raises(TypeError, match="`score` must be one number"):
            cv.at(scores)
    with pytest.raises(TypeError, match=r"Pass one classifier at a time, as `y_prob\['new'\]`\.$"):
        bc.calibration_curve(sample.outcome, {"new": sample.confidence, "old": sample.confidence})
    with pytest.raises(AttributeError, match="integrated calibration index is `ici`"):
        _ = cv.eavg
    with pytest.raises(ValueError, match="`prob`"):
        cv.band(1)
    with pytest.raises(ValueError, match=r"`score` must lie between .* not 1; the curve is not extrapolated"):
        cv.rates([0.5, 1.0])
    with pytest.raises(TypeError, match="`score`"):
        cv.rates(["a"])


def test_an_error_of_one_score_near_0_is_found(sample):
    """Two in a hundred rows at 1e-7 have the event: no smooth curve reaches this rate, a knot of its own does."""
    p = np.concatenate([np.full(200, 1e-7), sample.confidence])
    y = np.concatenate([np.arange(200) % 50 == 0, sample.outcome]).astype(int)
    cv = bc.calibration_curve(y, p, rng=1)
    low, high = cv.at(1e-7).interval()
    assert low < 0.02 < high < 0.1
    assert cv.p_calibrated < 1e-6


def test_an_error_at_one_tied_score():
    """Half of the rows at 0.3 with the rate 0.6: the ICI of the population is 0.5 x 0.3."""
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    p[::2] = 0.3
    y = rng.random(2000) < np.where(p == 0.3, 0.6, p)
    cv = bc.calibration_curve(y, p, rng=1)
    assert cv.ici.mean() == pytest.approx(0.15, abs=0.02)
    assert not any("average out" in remark for remark in cv.remarks)
