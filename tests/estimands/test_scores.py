"""The Brier score: draws against means and variances derived by hand and from rows; coverage where bins are wide."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import bayescal as bc
from bayescal import BinDraws, BinnedCounts, PairedCounts, evaluate
from bayescal.estimands.scores import brier_score, joint_brier_scores, mean_losses
from bayescal.posterior.dirichlet import dirichlet_posterior


def fixed(mass, accuracy, n_draws):
    """Draws of bins that are all the same."""
    mass, accuracy = (np.broadcast_to(v, (n_draws, len(v))) for v in (mass, accuracy))
    return BinDraws(mass, accuracy, np.full((1, len(mass[0])), 0.5), np.ones(len(mass[0]), bool), mass)


# --- the mean squared error of a bin and outcome


def test_the_sums_are_the_mean_squared_error():
    """As scikit-learn computes it, from rows, whatever the bins."""
    from sklearn.metrics import brier_score_loss

    rng = np.random.default_rng(1)
    confidence = rng.random(700)
    outcome = (rng.random(700) < confidence**2).astype(int)
    for weights in (None, rng.gamma(1, size=700)):
        expected = brier_score_loss(outcome, confidence, sample_weight=weights)
        for n_bins in (1, 3, 15, 200):
            counts = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=weights)
            assert counts.losses.total.sum() / counts.weight.sum() == pytest.approx(expected, rel=1e-11)


def test_mean_losses_by_hand():
    """One bin [0, 1], rows (0, 0.2), (0, 0.4) and (1, 0.9): losses 0.04 and 0.16; 0.01. Half rows at 0 and 1.

    Outcome 0: mean (0.04 + 0.16 + 0.5) / 3, mean square (0.0016 + 0.0256 + 0.5) / 3, variance by 2 + 2. Outcome 1: mean
    0.51 / 2, mean square 0.5001 / 2, variance by 1 + 2.
    """
    counts = BinnedCounts.from_arrays([0, 0, 1], [0.2, 0.4, 0.9], bins=1)
    mean, sd, least, most = mean_losses(counts)
    np.testing.assert_allclose(mean, [[0.7 / 3], [0.255]], rtol=1e-12)
    variances = [(0.5272 / 3 - (0.7 / 3) ** 2) / 4, (0.25005 - 0.255**2) / 3]
    np.testing.assert_allclose(sd[:, 0] ** 2, variances, rtol=1e-12)
    np.testing.assert_array_equal(least, [[0], [0]])
    np.testing.assert_array_equal(most, [[1], [1]])


def test_bounds_of_a_bin():
    """In [0.25, 0.5): squared errors from 1/16 to 1/4 for outcome 0, from 1/4 to 9/16 for outcome 1."""
    _, _, least, most = mean_losses(BinnedCounts.empty(4))
    np.testing.assert_allclose(least[:, 1], [1 / 16, 1 / 4])
    np.testing.assert_allclose(most[:, 1], [1 / 4, 9 / 16])


def test_a_cell_without_rows_may_be_anywhere_in_its_bin():
    """Mean and mean square of two half rows at the bounds, variance by 0 + 2: a quarter of the width squared over 2."""
    mean, sd, least, most = mean_losses(BinnedCounts.from_arrays([0], [0.9], bins=4))
    np.testing.assert_allclose(mean[1], (least[1] + most[1]) / 2)
    np.testing.assert_allclose(sd[1], (most[1] - least[1]) / 2 / np.sqrt(2))


def test_weights_count_as_effective_rows():
    """Weights 1 and 3 of one bin are 16 / 10 rows, three quarters with outcome 1; equal weights change nothing."""
    counts = BinnedCounts.from_arrays([0, 1], [0.2, 0.4], bins=1, weights=[1, 3])
    mean, sd, _, _ = mean_losses(counts)
    for z, rows, loss in ((0, 0.4, 0.04), (1, 1.2, 0.36)):
        expected = (rows * loss + 0.5) / (rows + 1)
        assert mean[z, 0] == pytest.approx(expected, rel=1e-12)
        variance = ((rows * loss**2 + 0.5) / (rows + 1) - expected**2) / (rows + 2)
        assert sd[z, 0] ** 2 == pytest.approx(variance, rel=1e-12)
    plain = BinnedCounts.from_arrays([0, 1], [0.2, 0.4], bins=3)
    heavy = BinnedCounts.from_arrays([0, 1], [0.2, 0.4], bins=3, weights=[7.0, 7.0])
    for one, other in zip(mean_losses(plain), mean_losses(heavy), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


# --- draws


def test_mean_and_variance_of_the_draws_are_those_derived(close_to):
    """At fixed masses: Normal mean losses, far from their bounds with 5000 rows a cell, and accuracies from Betas.

    Accuracies of two bins are Beta(1/2 + k, 1/2 + n - k), whatever those of the draws of the bins.
    """
    rng = np.random.default_rng(2)
    confidence, outcome = rng.random(20_000), rng.integers(0, 2, 20_000)
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=2)
    mass, accuracy, n_draws = np.array([0.3, 0.7]), np.array([0.25, 0.6]), 40_000
    drawn = brier_score(fixed(mass, accuracy, n_draws), counts, rng=1).values
    mean = variance = 0.0
    for b in range(2):
        centre, spread, number = np.zeros(2), np.zeros(2), np.zeros(2)
        for z in (0, 1):
            rows = (outcome == z) & ((confidence >= 0.5) == b)
            bounds = (np.array([b / 2, (b + 1) / 2]) - z) ** 2
            values = np.append((z - confidence[rows]) ** 2, bounds)
            weight = np.append(np.ones(rows.sum()), [0.5, 0.5])
            centre[z] = np.average(values, weights=weight)
            spread[z] = np.average((values - centre[z]) ** 2, weights=weight) / (weight.sum() + 1)
            number[z] = rows.sum()
        beta = stats.beta(0.5 + number[1], 0.5 + number[0])
        share = np.array([1 - beta.mean(), beta.mean()])
        mean += mass[b] * share @ centre
        of_bin = beta.var() * (centre[1] - centre[0]) ** 2 + (beta.var() + share**2) @ spread
        variance += mass[b] ** 2 * of_bin
    close_to(drawn.mean(), mean, np.sqrt(variance / n_draws))
    close_to(drawn.var(), variance, variance * np.sqrt(2 / n_draws))


@pytest.mark.parametrize(("first", "expected"), [(0.1, [0.15, 0.175]), (0.9, [0.175, 0.15])])
def test_each_draw_has_its_own_masses_and_the_rank_of_its_accuracies(first, expected):
    """A million confidences of 0 and 1, a tenth and a fifth of them wrong: a draw is the share of wrong rows.

    With masses (1/2, 1/2) and (1/4, 3/4) the shares are 0.15 and 0.175. Accuracies of the draws of the bins say only
    which of the two has the larger score: 0.5 * first + 0.5 * 0.2, or 0.25 * 0.1 + 0.75 * 0.2.
    """
    outcome = np.r_[np.tile([1] + [0] * 9, 50_000), np.tile([0] + [1] * 4, 100_000)]
    counts = BinnedCounts.from_arrays(outcome, np.repeat([0.0, 1.0], 500_000), bins=2)
    mass, accuracy = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([[first, 0.8], [0.1, 0.8]])
    bins = BinDraws(mass, accuracy, np.full((1, 2), 0.5), np.array([True, True]), mass)
    found = brier_score(bins, counts, rng=1).values
    np.testing.assert_allclose(found, expected, atol=4e-3)


def test_draws_stay_within_what_the_bins_allow():
    """One row in four bins: cells are as good as unknown, and no draw leaves the bounds of its bin.

    Squared errors in [0.25, 0.5) are from 1/16 (outcome 0) to 9/16 (outcome 1), which the accuracies of draws reach.
    """
    counts = BinnedCounts.from_arrays([1], [0.3], bins=4)
    drawn = brier_score(fixed(np.array([0, 1.0, 0, 0]), np.array([0, 1.0, 0, 0]), 4000), counts, rng=1).values
    assert 1 / 16 <= drawn.min() < 1 / 4
    assert 9 / 16 - 1e-3 < drawn.max() <= 9 / 16


def test_the_seed_says_all():
    counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=2)
    bins = dirichlet_posterior(counts).sample(100, rng=1)
    one, same, other = (brier_score(bins, counts, rng=seed).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_counts_without_losses_are_refused():
    counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=2)
    made = bc.evaluate_counts(replace(counts, losses=None), rng=1)
    with pytest.raises(ValueError, match="needs the sums of losses, which these counts lack: they were made by hand"):
        _ = made.brier_score
    assert np.isfinite(made.ece.values).all()


# --- evaluations


def test_an_evaluation_has_it(close_to):
    """20 000 rows: around the mean squared error, as wide as its standard error, or less wide through shrinkage."""
    rng = np.random.default_rng(5)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    squares = (y - p) ** 2
    error = squares.std() / np.sqrt(len(p))
    for n_bins in (1, 2, 5, 15):
        for model, least in (("shrinkage", 0.3), ("dirichlet", 0.95)):
            found = evaluate(y, p, bins=n_bins, model=model, rng=1).brier_score
            close_to(found.mean(), squares.mean(), error)
            assert least * error < found.sd() < 1.1 * error


def test_it_does_not_depend_on_what_was_asked_before():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = rng.random(300) < p
    first, second = (evaluate(y, p, bins=3, draws=200, rng=7) for _ in range(2))
    for asked in ("ece", "dirichlet_ece", "null", "parameters", "e90_bins"):
        getattr(second, asked)
    np.testing.assert_array_equal(first.brier_score.values, second.brier_score.values)
    other = evaluate(y, p, bins=3, draws=200, rng=8)
    assert not np.isin(first.brier_score.values, other.brier_score.values).any()


def test_losses_within_bins_are_not_those_of_the_bins_again():
    """The stream of mean losses is another than that of the bins: with the same numbers they would be correlated."""
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    found = evaluate(rng.random(2000) < p, p, bins=1, model="dirichlet", draws=4000, rng=7)
    mean, _, _, _ = mean_losses(found.counts)
    within = (
        found.brier_score.values
        - (1 - found.bin_draws.accuracy[:, 0]) * mean[0, 0]
        - found.bin_draws.accuracy[:, 0] * mean[1, 0]
    )
    assert abs(np.corrcoef(within, found.bin_draws.accuracy[:, 0])[0, 1]) < 5 / np.sqrt(4000)


def within_bins_as_observed(bins, counts):
    """The formula of release 0.1.0: nothing that varies inside a bin is drawn."""
    mean, _, _, _ = mean_losses(counts)
    return ((1 - bins.accuracy) * bins.mass * mean[0] + bins.accuracy * bins.mass * mean[1]).sum(axis=-1)


def test_with_one_bin_intervals_contain_the_truth():
    """Uniform confidences, calibrated: the truth is E p (1 - p) = 1/6. 200 test sets of 300 rows.

    95 % of 200 is 190, with a standard deviation of 3.1. Without draws of the losses within the bin it is 20 at most.
    """
    rng = np.random.default_rng(1)
    inside, inside_wrong = 0, 0
    for _ in range(200):
        p = rng.random(300)
        counts = BinnedCounts.from_arrays(rng.random(300) < p, p, bins=1)
        bins = dirichlet_posterior(counts).sample(500, rng=rng)
        low, high = np.quantile(brier_score(bins, counts, rng=rng).values, [0.025, 0.975])
        inside += low <= 1 / 6 <= high
        low, high = np.quantile(within_bins_as_observed(bins, counts), [0.025, 0.975])
        inside_wrong += low <= 1 / 6 <= high
    assert 178 <= inside <= 200
    assert inside_wrong < 60


# --- several classifiers on the same rows


def three(n=800, seed=3):
    """Confidences of three classifiers of one event; the last two are the same."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    other = np.clip(p + rng.normal(0, 0.05, n), 0, 1)
    return (rng.random(n) < p).astype(int), {"a": p, "b": other, "c": other.copy()}


def counted(outcome, stated, weights=None, bins=1):
    rows = [bc.Predictions.from_outcomes(outcome, c, weights, target="event") for c in stated.values()]
    counts = [BinnedCounts.from_predictions(p, bins=bins) for p in rows]
    pairs = {
        (i, j): PairedCounts.from_predictions(rows[i], rows[j], counts[i], counts[j])
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    }
    return counts, pairs


@pytest.mark.parametrize("weighted", [False, True])
def test_joint_scores_have_the_moments_of_a_student_t(weighted, close_to):
    """Centre: the mean losses. Covariance: that of losses over rows / (n - 1), times (n - 1) / (n - 3)."""
    outcome, stated = three()
    weights = np.random.default_rng(1).gamma(2, size=800) if weighted else None
    counts, pairs = counted(outcome, stated, weights)
    n_draws = 40_000
    drawn = joint_brier_scores(counts, pairs, n_draws, rng=1)
    losses = np.stack([(outcome - c) ** 2 for c in stated.values()])
    w = np.ones(800) if weights is None else weights
    rows = w.sum() ** 2 / (w**2).sum()
    mean = np.average(losses, axis=1, weights=w)
    covariance = np.cov(losses, aweights=w, bias=True) / (rows - 3)
    close_to(drawn.mean(axis=0), mean, np.sqrt(np.diag(covariance) / n_draws))
    difference = drawn[:, 0] - drawn[:, 1]
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    close_to(difference.var(), variance, variance * np.sqrt(2.1 / n_draws))
    close_to(difference.mean(), mean[0] - mean[1], np.sqrt(variance / n_draws))
    close_to(drawn[:, 0].var(), covariance[0, 0], covariance[0, 0] * np.sqrt(2.1 / n_draws))
    np.testing.assert_array_equal(drawn[:, 1], drawn[:, 2])


def test_few_rows_have_the_tails_of_their_degrees_of_freedom():
    """Five rows: 95 % of a Student t with 4 degrees of freedom lies within 2.776 standard errors, against 1.96."""
    outcome, stated = np.array([0, 1, 0, 1, 1]), {"a": np.full(5, 0.5), "b": np.array([0.45, 0.5, 0.52, 0.55, 0.48])}
    counts, pairs = counted(outcome, stated)
    drawn = joint_brier_scores(counts, pairs, 40_000, rng=1)
    difference = (outcome - stated["a"]) ** 2 - (outcome - stated["b"]) ** 2
    error = difference.std(ddof=1) / np.sqrt(5)
    low, high = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
    assert (high - low) / 2 == pytest.approx(2.776 * error, rel=0.05)


def test_bins_do_not_matter_for_a_difference():
    outcome, stated = three()
    one, many = (bc.compare(outcome, stated, bins=n, rng=1).difference("a", "b", "brier_score") for n in (1, 15))
    np.testing.assert_allclose(one.values, many.values, atol=1e-8)
    assert one.sd() > 0


def test_two_classifiers_that_differ_within_the_bin_only():
    """One bin. The observed difference of means, with its standard error over rows; the interval excludes 0."""
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    outcome, mixed = (rng.random(4000) < p).astype(int), rng.permutation(p)
    difference = bc.compare(outcome, {"a": p, "b": mixed}, bins=1, rng=1).difference("a", "b", "brier_score")
    losses = (outcome - p) ** 2 - (outcome - mixed) ** 2
    assert difference.mean() == pytest.approx(losses.mean(), abs=0.2 * losses.std() / np.sqrt(4000))
    assert difference.sd() == pytest.approx(losses.std() / np.sqrt(4000), rel=0.1)


@pytest.mark.parametrize("n", [200, 2000])
def test_intervals_of_a_difference_contain_the_truth(n):
    """Calibrated and uniform, against the same with 0.1 (1 - 2 p) added: E (0.1 (1 - 2 p))^2 = 0.01 / 3 less.

    95 % of 200 is 190, with a standard deviation of 3.1.
    """
    rng = np.random.default_rng(6)
    inside = 0
    for _ in range(200):
        p = rng.random(n)
        counts, pairs = counted((rng.random(n) < p).astype(int), {"a": p, "b": p + 0.1 * (1 - 2 * p)})
        drawn = joint_brier_scores(counts, pairs, 500, rng=rng)
        low, high = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
        inside += low <= -0.01 / 3 <= high
    assert 178 <= inside <= 200


def test_two_rows_say_nothing_of_a_spread():
    """The scores of the single evaluations are used, which are wide."""
    counts, pairs = counted(np.array([0, 1]), {"a": np.array([0.2, 0.7]), "b": np.array([0.3, 0.6])})
    assert joint_brier_scores(counts, pairs, 10, rng=1) is None
    found = bc.compare_counts({("a", "b"): pairs[0, 1]}, rng=1)
    np.testing.assert_array_equal(
        np.sort(found.draws("brier_score").values[:, 0]), np.sort(found["a"].brier_score.values)
    )


def test_different_rows_are_independent():
    """Draws of the two evaluations, without correlation, also where both were drawn with one seed."""
    rng = np.random.default_rng(1)
    p = rng.random(1500)
    y = rng.random(1500) < p
    apart = {"a": evaluate(y[:800], p[:800], bins=1, rng=1), "b": evaluate(y[800:], p[800:], bins=1, rng=1)}
    found = bc.compare_independent(apart, rng=1).draws("brier_score").values
    assert abs(np.corrcoef(found.T)[0, 1]) < 5 / np.sqrt(4000)
    np.testing.assert_array_equal(np.sort(found[:, 1]), np.sort(apart["b"].brier_score.values))


def test_a_comparison_without_losses():
    """The Brier score is refused; everything else, and the DataTree, are there."""
    _, pairs = counted(*three())
    pair = replace(pairs[0, 1], loss_difference=None)
    found = bc.compare_counts({("a", "b"): pair}, draws=100, rng=1)
    with pytest.raises(ValueError, match="needs the sums of the difference of losses"):
        found.difference("a", "b", "brier_score")
    assert "brier_score" not in found.to_datatree().posterior
    made = {name: replace(c, losses=None) for name, c in (("x", pair.first), ("y", pair.second))}
    grouped = bc.evaluate_counts(made, draws=100, rng=1)
    assert "brier_score" not in grouped.to_datatree().posterior
    assert "brier_score" in bc.compare_counts({("a", "b"): pairs[0, 1]}, draws=100, rng=1).to_datatree().posterior
