"""Regret of a threshold: by definition, its bounds by calibration errors, and refusals."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.draws import curve_of
from bayescal.cumulative.statistics import kuiper
from bayescal.draws import BinDraws
from bayescal.estimands.regret import observed_curve, regret_draws, rows_per_side
from bayescal.stats.sums import effective_number

EDGES = np.arange(11) / 10


def random_bins(n_draws=2000, seed=1):
    """Draws of ten bins with confidences inside the bins and any accuracies."""
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(10), n_draws)
    confidence = EDGES[:-1] + 0.1 * rng.random((n_draws, 10))
    accuracy = np.clip(confidence + 0.3 * rng.standard_normal((n_draws, 10)), 0, 1)
    return BinDraws(mass, accuracy, confidence, np.ones(10, bool), mass)


def loss(bins, treated, t):
    """Mean loss: t for a false positive, 1 - t for a false negative."""
    return (bins.mass * np.where(treated, t * (1 - bins.accuracy), (1 - t) * bins.accuracy)).sum(axis=1)


@pytest.mark.parametrize("first", range(1, 10))
def test_regret_is_the_loss_above_that_of_the_best_rule(first):
    bins, t = random_bins(), EDGES[first]
    found = regret_draws(bins, t, first)
    actual = loss(bins, np.arange(10) >= first, t)
    np.testing.assert_allclose(found, actual - loss(bins, bins.accuracy >= t, t), atol=1e-12)
    # never above the ECE, nor above overconfidence above t plus underconfidence below t
    gap = bins.mass * bins.gap
    bound = np.maximum(-gap[:, first:], 0).sum(axis=1) + np.maximum(gap[:, :first], 0).sum(axis=1)
    assert (found <= bound + 1e-12).all()
    assert (bound <= np.abs(gap).sum(axis=1) + 1e-12).all()
    # against any other cut on the same scores, at most the Kuiper statistic; so is actual less stated loss
    d = kuiper(curve_of(bins))
    for cut in range(11):
        assert (actual - loss(bins, np.arange(10) >= cut, t) <= d + 1e-12).all()
    stated = loss(
        BinDraws(bins.mass, bins.confidence, bins.confidence, bins.occupied, bins.mass), np.arange(10) >= first, t
    )
    assert (np.abs(actual - stated) <= d + 1e-12).all()


def rows(n=2000, gap=0.0, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < np.clip(p + gap, 0, 1), p


def test_draws_of_an_evaluation():
    ev = bc.evaluate(*rows(gap=-0.15), bins=10, rng=1)
    found = ev.regret(0.3)
    np.testing.assert_array_equal(found.values, regret_draws(ev.bin_draws, 0.3, 3))
    assert found.name == "regret at 0.3"
    # scores from 0.3 to 0.45 are treated, although their accuracy is below 0.3: on average 0.15 * 0.075
    assert found.interval()[0] < 0.15 * 0.075 < found.interval()[1]
    assert (found < 0.05) > 0.99
    assert isinstance((ev.ece - found).mean(), float)  # draws of one evaluation can be combined


@pytest.mark.parametrize(
    ("options", "threshold", "message"),
    [
        ({}, 0.25, r"must be an inner edge.*0.25 is none. The nearest edge is 0.2"),
        ({}, 1.0, "`threshold` must lie strictly between 0 and 1"),
        ({"bins": 1}, 0.5, "must be an inner edge"),
        ({"model": "dirichlet"}, 0.3, "needs `model='shrinkage'`"),
        ({"bins": bc.make_bins(10, closed="right")}, 0.3, "closed on the left"),
    ],
)
def test_what_is_refused(options, threshold, message):
    ev = bc.evaluate(*rows(200), **({"bins": 10, "draws": 50, "rng": 1} | options))
    with pytest.raises(ValueError, match=message):
        ev.regret(threshold)


def test_few_rows_on_a_side_are_refused():
    y, p = rows(200)
    ev = bc.evaluate(np.append(y, [1, 1, 1, 1]), np.append(0.7 * p, [0.9] * 4), bins=10, draws=50, rng=1)
    with pytest.raises(ValueError, match=r"at least 5 rows on each side; 0.8 has 200 below and 4 from it on"):
        ev.regret(0.8)
    assert ev.regret(0.6).values.min() >= 0
    ev = bc.evaluate(y, p, weights=np.where(p >= 0.5, 0.0, 1.0), bins=10, draws=50, rng=1)
    with pytest.raises(ValueError, match=r"5 effective rows on each side; 0.5 has \d+ below and 0 from it on"):
        ev.regret(0.5)
    # Kish, by hand: weights 10 and eight times 1 are (10 + 8)^2 / (100 + 8) = 3 rows
    heavy = np.append(np.full(200, 1.0), [10.0, *[1.0] * 8])
    more = np.append(y, [1] * 9), np.append(0.7 * p, [0.92, *[0.9] * 4, *[0.85] * 4])
    ev = bc.evaluate(*more, weights=heavy, bins=10, draws=50, rng=1)
    with pytest.raises(ValueError, match=r"0.8 has 200 below and 3 from it on"):
        ev.regret(0.8)


def test_largest_regret_is_half_maximum_and_half_worst_threshold():
    ev = bc.evaluate(*rows(gap=-0.15), bins=10, rng=1)
    curve = np.stack([ev.regret(t).values for t in EDGES[1:-1]], axis=1)
    most, at_worst = curve.max(axis=1), curve[:, curve.mean(axis=0).argmax()]
    found = ev.largest_regret.values
    assert ((found == most) | (found == at_worst)).all()
    # some draws are both; of the others, half are the maximum
    differ = most > at_worst
    assert abs(np.mean(found[differ] == most[differ]) - 0.5) < 4.5 * 0.5 / np.sqrt(differ.sum())
    assert (found <= ev.ece.values + 1e-12).all()
    np.testing.assert_array_equal(found, bc.evaluate(*rows(gap=-0.15), bins=10, rng=1).largest_regret.values)


def test_observed_largest_regret_by_hand():
    """Two bins [0, 0.5) and [0.5, 1]: of two rows below 0.5 both have the event, so that not treating them loses."""
    ev = bc.evaluate([1, 1, 0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8, 0.9, 0.9], bins=2, rng=1)
    assert ev.plug_in_of("largest_regret") == pytest.approx(2 / 6 * (1 - 0.5))
    assert ev.worst_regret().observed == pytest.approx([2 / 6 * (1 - 0.5)])
    assert np.isnan(ev.row("largest_regret")["null_mean"])


def timid(rows_per_bin):
    """Scores in four bins from 0.4 to 0.6, whose outcomes have the shares 1/8, 3/8, 5/8 and 7/8."""
    score = np.repeat([0.425, 0.475, 0.525, 0.575], rows_per_bin)
    return np.concatenate([np.arange(rows_per_bin) < rows_per_bin * k / 8 for k in (1, 3, 5, 7)]), score


def test_thresholds_with_no_rows_on_a_side_count():
    """By hand and by all 16 rules on the bins: at 0.4 all are treated, and 1/4 (0.4 - 1/8) + 1/4 (0.4 - 3/8) is lost.

    Only 0.45, 0.5 and 0.55 have rows on both sides, and lose at most 1/4 (0.45 - 3/8) = 0.01875.
    """
    y, score = timid(800)
    ev = bc.evaluate(y, score, bins=20, rng=1)
    observed, edges = observed_curve(ev.counts), ev.counts.bins.edges[1:-1]
    rules = np.array(np.meshgrid(*[[False, True]] * 4)).reshape(4, -1).T
    for t, found in zip(edges, observed, strict=True):
        cost = np.where(np.vstack([score[::800] >= t, rules]), t * (1 - [[1, 3, 5, 7]] / np.array(8)), 0)
        cost = cost + np.where(np.vstack([score[::800] >= t, rules]), 0, (1 - t) * np.array([[1, 3, 5, 7]]) / 8)
        lost = cost.mean(axis=1)
        assert found == pytest.approx(lost[0] - lost.min(), abs=1e-12)
    assert ev.plug_in_of("largest_regret") == pytest.approx(0.075)
    low, high = ev.largest_regret.interval(0.95)
    assert 0.05 < low < 0.075 < high
    inner = [t for t in edges if (score < t).any() and (score >= t).any()]
    np.testing.assert_allclose(inner, [0.45, 0.5, 0.55])
    assert max(ev.regret(t).interval(0.95)[1] for t in inner) < low
    worst = ev.worst_regret()
    assert worst.threshold == pytest.approx(0.4) or worst.threshold == pytest.approx(0.6)
    with pytest.raises(ValueError, match=r"0\.4 has 0 below and 3.2e"):
        ev.regret(0.4)
    assert "16 of 19 thresholds have fewer than 5 (effective) rows on a side. They count" in worst.remarks[0]


def test_a_timid_classifier_is_not_the_best():
    y, score = timid(300)
    right = np.repeat([0.125, 0.375, 0.625, 0.875], 300)
    compared = bc.compare(y, {"timid": score, "right": right}, bins=20, rng=1)
    assert compared.difference("timid", "right", estimand="largest_regret").interval(0.95)[0] > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_on_each_side_are_those_of_kish(weighted):
    y, p = rows(200)
    weights = np.random.default_rng(2).gamma(0.5, size=200) if weighted else None
    counts = bc.evaluate(y, p * 0.9, weights=weights, bins=12, draws=20, rng=1).counts
    w = np.ones(200) if weights is None else weights
    for t, sides in zip(counts.bins.edges[1:-1], rows_per_side(counts).T, strict=True):
        assert sides == pytest.approx([effective_number(w[p * 0.9 < t]), effective_number(w[p * 0.9 >= t])])


def test_without_rows_the_largest_regret_is_that_of_the_prior():
    """As the ECE: the draws are those that many evaluations of few rows have before their outcomes are known."""
    ev = bc.evaluate_counts(bc.BinnedCounts.empty(10), rng=1)
    assert np.isnan(ev.plug_in_of("largest_regret"))
    assert np.isnan(observed_curve(ev.counts)).all()
    worst = ev.worst_regret()
    assert "per row under the prior, because there are no rows; the mean" in worst.sentence()
    np.testing.assert_array_equal(worst.largest.values, ev.largest_regret.values)
    assert not any("on a side" in each or "one bin is far off" in each for each in worst.remarks)
    with pytest.raises(ValueError, match=r"0\.3 has 0 below and 0 from it on"):
        ev.regret(0.3)


def test_the_largest_regret_needs_edges_and_the_shrinkage_model():
    y, p = rows(400)
    for options, match in (
        ({"model": "dirichlet"}, "needs `model='shrinkage'`"),
        ({"cluster": np.arange(400) // 2}, "independent rows: the regret, which is at most the ECE, would"),
        ({"bins": 1}, "needs 2 to 200 bins"),
        ({"bins": 201}, "there are 201"),
    ):
        ev = bc.evaluate(y, p, draws=50, rng=1, **options)
        with pytest.raises(ValueError, match=match):
            ev.draws("largest_regret")
    assert not hasattr(bc.evaluate(y, p, draws=50, rng=1, bins=1), "largest_regret")


def test_classifiers_are_compared_by_their_largest_regret():
    y, p = rows(gap=-0.15)
    compared = bc.compare(y, {"shifted": p, "right": np.clip(p - 0.15, 0, 1)}, bins=10, rng=1)
    assert compared.difference(estimand="largest_regret").interval(0.95)[0] > 0
