"""Labelled rows as counts of a target: ranks for any weights of the classes, Bayes' rule in a bin, losses."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.scores import mean_log_losses, mean_losses
from bayescal.shift.shifted_bins import ClassRanks, ShiftedBins
from bayescal.stats.bins import make_bins
from bayescal.stats.ranks import Ranks


def rows(n, n_classes, rng):
    """Classes of different frequencies, and confidences with ties."""
    label = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    return label, np.round(np.clip(rng.normal(0.3 + 0.1 * label, 0.2), 0, 1), 3)


@pytest.mark.parametrize(("n", "of"), [(500, 0), (500, 2), (150_000, 1)])
def test_several_classes_have_the_ranks_of_weighted_rows(n, of):
    """Rows with the weight of their class; beyond 2^17 rows the grid is the fine one."""
    label, confidence = rows(n, 3, np.random.default_rng(1))
    priors = np.array([0.2, 0.7, 0.1])
    counted = ShiftedBins.from_rows(label, confidence, confidence[:1], of, 3, make_bins(4))
    found = counted.ranked(priors)
    expected = Ranks.of_rows(confidence, label == of, (priors / counted.frequency)[label])
    assert found.grid == expected.grid
    np.testing.assert_array_equal(found.position, expected.position)
    np.testing.assert_allclose(found.weight, expected.weight)
    np.testing.assert_allclose(found.weight_sq, expected.weight_sq)


@pytest.mark.parametrize("of", [0, 1])
def test_either_of_two_classes(of):
    label, confidence = rows(300, 2, np.random.default_rng(2))
    found = ClassRanks.of_rows(confidence, label, of, 2).weighted(np.ones(2), of)
    np.testing.assert_array_equal(found.weight, Ranks.of_rows(confidence, label == of).weight)


def test_bins_as_the_grid():
    by_class = np.array([[3, 0, 1], [0, 0, 2], [4, 0, 0]])
    found = ClassRanks.of_bins(make_bins(3), by_class).weighted(np.array([1.0, 2.0, 3.0]), 1)
    assert found.position.tolist() == [0, 2]
    assert found.weight.tolist() == [[15, 1], [0, 4]]
    assert found.weight_sq.tolist() == [[39, 1], [0, 8]]


def shifted(label, source, target, of=1, n_classes=2):
    return ShiftedBins.from_rows(np.array(label), np.array(source), np.array(target), of, n_classes, make_bins(2))


def test_bayes_rule_in_a_bin():
    """20 of 40 rows have the event in one bin, and the odds are multiplied by 1/3: 1/4 of 40 (1/2 + 1/6)^2 3 rows."""
    y, p = [0] * 30 + [1] * 10 + [0] * 20 + [1] * 20, [0.2] * 40 + [0.8] * 40
    rows = shifted(y, p, [0.3] * 30 + [0.9] * 10)
    rho = 30 / 80
    pi = (rho / (1 - rho) / 3) / (1 + rho / (1 - rho) / 3)
    counts = rows.at(np.array([1 - pi, pi]))
    np.testing.assert_allclose(counts.accuracy[1], 1 / 4)
    np.testing.assert_allclose(counts.effective_n[1], 40 * (4 / 6) ** 2 * 3)
    np.testing.assert_allclose(counts.effective_k, counts.effective_n * counts.accuracy)
    np.testing.assert_allclose(counts.share, [0.75, 0.25])
    np.testing.assert_allclose(counts.mean_confidence, [0.3, 0.9])
    theta = counts.accuracy
    information = counts.effective_n * theta * (1 - theta)
    np.testing.assert_allclose(information, [40 * 0.25 * 0.75, 40 * 0.25])


def test_without_shift_counts_are_those_of_the_source():
    rng = np.random.default_rng(3)
    p, y = rng.random(300), rng.random(300) < 0.4
    rows = shifted(y.astype(int), p, p)
    counts = rows.at(rows.frequency)
    own = bc.BinnedCounts.from_arrays(y, p, bins=2)
    np.testing.assert_allclose(counts.effective_n, own.n)
    np.testing.assert_allclose(counts.effective_k, own.k)
    np.testing.assert_allclose(counts.weight, own.weight)
    np.testing.assert_allclose(counts.losses.total, own.losses.total)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_mean_losses_have_the_evidence_of_labelled_rows(share):
    """One bin: the losses of an outcome have the same distribution in both, so that their mean has the same error."""
    rng = np.random.default_rng(5)
    y = np.arange(600) % 2
    p = np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99)
    counts = ShiftedBins.from_rows(y, p, p, 1, 2, make_bins(1)).at(np.array([1 - share, share]))
    for moments, loss in ((mean_losses, (y - p) ** 2), (mean_log_losses, -np.log(np.where(y, p, 1 - p)))):
        mean, sd, _, _ = moments(counts)
        for z in (0, 1):
            own = loss[y == z]
            assert mean[z, 0] == pytest.approx(own.mean(), rel=0.05)
            assert sd[z, 0] == pytest.approx(own.std() / np.sqrt(len(own)), rel=0.15)


def test_several_classes_have_their_own_ratio_in_each_bin():
    """Weighted rows of a large source: w_1 s_1 / sum w_l s_l, whatever the mixture of the other classes."""
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=300_000)
    p = np.clip(rng.normal(0.2 + 0.25 * y, 0.2), 0, 1)
    priors = np.array([0.7, 0.1, 0.2])
    rows = ShiftedBins.from_rows(y, p, p, 1, 3, make_bins(5))
    weight = (priors / rows.frequency)[:, None] * rows.by_class
    np.testing.assert_allclose(rows.at(priors).accuracy, weight[1] / weight.sum(axis=0), rtol=1e-3)


def test_the_ratio_of_odds_without_labelled_rows_is_that_of_the_frequencies():
    """The second bin has no labelled row: pi / (1 - pi) over rho / (1 - rho), with rho = (1/2, 1/3, 1/6)."""
    priors = np.array([0.2, 0.5, 0.3])
    rows = ShiftedBins.from_rows(
        np.array([0, 0, 0, 1, 1, 2]), np.full(6, 0.2), np.array([0.2, 0.9]), 1, 3, make_bins(2)
    )
    assert rows.odds_ratio(priors)[1] == pytest.approx((0.5 / 0.5) / ((1 / 3) / (2 / 3)))
    # the first one has 3 and 1 rows of the others, and one more that is divided 3 : 1
    assert rows.odds_ratio(priors)[0] == pytest.approx(1.5 * 5 / (3.75 * 0.2 / 0.5 + 1.25 * 0.3 * 6))


def test_area_of_one_of_several_classes_by_hand():
    """Pairs of a row of class 1 and a row of the others, which weigh pi / rho of their class."""
    label, p = np.array([0, 0, 1, 1, 2, 2]), np.array([0.1, 0.3, 0.2, 0.6, 0.4, 0.7])
    rows = ShiftedBins.from_rows(label, p, p, 1, 3, make_bins(2))
    # 0.2 is above one row of class 0; 0.6 is above both rows of class 0 and one of class 2; weights 2 : 1 and 1 : 2
    assert rows.at(np.array([0.6, 0.1, 0.3])).ranks.auc == pytest.approx((2 + (4 + 1)) / (2 * 6))
    assert rows.at(np.array([0.3, 0.1, 0.6])).ranks.auc == pytest.approx((1 + (2 + 2)) / (2 * 6))


def test_observed_losses_are_weighted_by_class():
    """Two classes: sums over rows, with the weight pi / rho of the class of each row."""
    y, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.4, 0.7, 0.8])
    counts = shifted(y, p, p).at(np.array([0.4, 0.6]))
    weight = np.where(y == 1, 0.6 / 0.25, 0.4 / 0.75)
    np.testing.assert_allclose(counts.weight, [[2 * 0.4 / 0.75, 0.4 / 0.75], [0, 2.4]])
    assert counts.losses.total.sum() / counts.weight.sum() == pytest.approx((weight @ (y - p) ** 2) / weight.sum())
    log_loss = -np.log(np.where(y == 1, p, 1 - p))
    assert counts.log_losses.total.sum() / counts.weight.sum() == pytest.approx((weight @ log_loss) / weight.sum())


def test_bins_without_labelled_rows_are_counted():
    rows = shifted([0, 1, 1], [0.2, 0.3, 0.1], [0.2, 0.7, 0.8, 0.9])
    counts = rows.at(np.array([0.5, 0.5]))
    assert counts.without_labels == 0.75
    np.testing.assert_allclose(counts.accuracy[1], counts.mean_confidence[1])
    with pytest.raises(TypeError, match="cannot be added"):
        counts + counts
