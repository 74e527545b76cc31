"""The log score: observed values against scikit-learn, moments of draws by hand, infinite losses, and coverage."""

import math
from dataclasses import replace

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinDraws, BinnedCounts, PairedCounts
from bayescal.estimands.scores import joint_log_scores, log_score, mean_log_losses, sample_mean_log_losses
from bayescal.posterior.dirichlet import dirichlet_posterior


def rows(n=700, seed=1):
    rng = np.random.default_rng(seed)
    confidence = rng.random(n)
    return (rng.random(n) < confidence**2).astype(int), confidence


def fixed(mass, accuracy, n_draws):
    """Draws of bins that are all the same."""
    mass, accuracy = (np.broadcast_to(v, (n_draws, len(v))) for v in (mass, accuracy))
    return BinDraws(mass, accuracy, np.full((1, len(mass[0])), 0.5), np.ones(len(mass[0]), bool), mass)


def test_the_observed_score_is_that_of_scikit_learn():
    from sklearn.metrics import log_loss

    outcome, confidence = rows()
    for weights in (None, np.random.default_rng(2).gamma(1, size=700)):
        expected = log_loss(outcome, confidence, sample_weight=weights)
        for n_bins in (1, 3, 15, 200):
            counts = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=weights)
            assert bc.evaluate_counts(counts, draws=10, rng=1).plug_in_of("log_score") == pytest.approx(
                expected, rel=1e-12
            )
            coarse = BinnedCounts.from_arrays(outcome, confidence, bins=200, weights=weights).coarsen(5)
            assert coarse.log_losses.total.sum() / coarse.weight.sum() == pytest.approx(expected, rel=1e-12)


def test_mean_losses_by_hand():
    """One bin [0, 1]: a row with uniform probability has mean 1 and mean square 2. Outcome 1: log 2 and log 4."""
    mean, sd, least, most = mean_log_losses(BinnedCounts.from_arrays([1, 1], [0.5, 0.25], bins=1))
    np.testing.assert_allclose(mean, [[1], [(math.log(2) + math.log(4) + 1) / 3]], rtol=1e-14)
    square = (math.log(2) ** 2 + math.log(4) ** 2 + 2) / 3
    np.testing.assert_allclose(sd[:, 0] ** 2, [1 / 2, (square - mean[1, 0] ** 2) / 4], rtol=1e-13)
    np.testing.assert_array_equal(least, [[0], [0]])
    np.testing.assert_array_equal(most, [[np.inf], [np.inf]])


def test_a_row_with_uniform_confidence_by_quadrature():
    """Mean and variance of the log loss, by the midpoint rule in bins without an edge 0 or 1; bounds at the edges."""
    mean, sd, least, most = mean_log_losses(BinnedCounts.empty(4))
    points = (np.arange(20_000) + 0.5) / 20_000 / 4
    for b in (1, 2):
        for z in (0, 1):
            losses = -np.log(b / 4 + points if z else 1 - b / 4 - points)
            assert mean[z, b] == pytest.approx(losses.mean(), rel=1e-8)
            assert sd[z, b] == pytest.approx(losses.std() / np.sqrt(2), rel=1e-6)
    np.testing.assert_allclose(least[:, 1], [-math.log(0.75), math.log(2)])
    np.testing.assert_allclose(most[:, 1], [math.log(2), math.log(4)])
    # an edge 0: log 4 + an exponential excess with mean 1
    assert mean[1, 0] == pytest.approx(math.log(4) + 1, rel=1e-14)
    assert sd[1, 0] == pytest.approx(1 / np.sqrt(2), rel=1e-13)


def test_narrow_bins_near_1_keep_their_bounds():
    """The closed forms cancel in bins of width 1e-13; the mean loss stays within what the bin allows."""
    counts = BinnedCounts.empty([0, 0.5, 1 - 2e-13, 1 - 1e-13, 1])
    mean, sd, least, most = mean_log_losses(counts)
    assert ((mean >= least) & (mean <= most)).all()
    assert np.isfinite(sd).all()
    drawn = log_score(dirichlet_posterior(counts).sample(200, rng=1), counts, rng=1).values
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize("n_bins", [1, 3])
def test_mean_and_variance_of_the_draws_are_those_derived(n_bins, close_to):
    """Shares of cells: Dirichlet, with the counts and 1 / n_bins rows each. Mean losses: independent of them."""
    rng = np.random.default_rng(2)
    outcome, confidence = rng.integers(0, 2, 40), rng.random(40)
    counts, n_draws = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins), 40_000
    at = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    rows = np.array([[np.sum((outcome == z) & (at == b)) for b in range(n_bins)] for z in (0, 1)]) + 1 / n_bins
    total, share = rows.sum(), rows / rows.sum()
    mean, sd, _, _ = mean_log_losses(counts)
    expected = (share * mean).sum()
    within = (share * (rows + 1) / (total + 1) * sd**2).sum()
    between = ((share * mean**2).sum() - expected**2) / (total + 1)
    bins = dirichlet_posterior(counts).sample(n_draws, rng=5)
    bins = replace(bins, accuracy=np.full((n_draws, n_bins), 0.5))  # without effect
    drawn = log_score(bins, counts, rng=1).values
    variance = within + between
    close_to(drawn.mean(), expected, np.sqrt(variance / n_draws))
    close_to(drawn.var(), variance, variance * np.sqrt(2.5 / n_draws))


def test_accuracies_of_the_bins_determine_the_order_only():
    """One bin with confidences 0.9: in the second half of the draws the accuracy, and thus the score, is larger."""
    confidence = np.full(2000, 0.9)
    counts = BinnedCounts.from_arrays(np.arange(2000) % 2, confidence, bins=2)
    half = np.repeat([[0.5, 0.9], [0.5, 0.1]], 500, axis=0)
    low, high = np.split(log_score(replace(fixed([0, 1], [0.5, 0.5], 1000), accuracy=half), counts, rng=1).values, 2)
    assert low.max() < high.min()
    random = np.random.default_rng(2).random((1000, 2))
    others = log_score(replace(fixed([0, 1], [0.5, 0.5], 1000), accuracy=random), counts, rng=1).values
    np.testing.assert_array_equal(np.sort(others), np.sort(np.concatenate([low, high])))


def test_the_score_is_joint_with_the_errors():
    """With confidences 0.9, a smaller accuracy means a larger error and a larger score."""
    ev = bc.evaluate(np.arange(300) % 4 > 0, np.full(300, 0.9), bins=2, rng=1)
    assert np.corrcoef(ev.ece.values, ev.log_score.values)[0, 1] > 0.9


def test_mean_losses_stay_within_what_the_bins_allow():
    counts = BinnedCounts.from_arrays([1], [0.3], bins=4)
    for outcome, (least, most) in enumerate([(4 / 3, 2), (2, 4)]):
        drawn = sample_mean_log_losses(counts, outcome, 4000, np.random.default_rng(1))[:, 1]
        assert math.log(least) - 1e-12 <= drawn.min() < drawn.max() <= math.log(most) + 1e-12


def test_an_evaluation_has_it(close_to):
    rng = np.random.default_rng(5)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    losses = -np.log(np.where(y == 1, p, 1 - p))
    error = losses.std() / np.sqrt(len(p))
    for n_bins in (1, 15):
        found = bc.evaluate(y, p, bins=n_bins, model="dirichlet", rng=1).log_score
        close_to(found.mean(), losses.mean(), error)
        assert 0.9 * error < found.sd() < 1.1 * error
    assert "log_score" not in str(bc.evaluate(y, p, rng=1))


# --- infinite losses


def test_a_probability_of_0_for_what_happened_is_never_clipped():
    outcome, confidence = rows()
    outcome[:3], confidence[:3] = [1, 1, 0], [0.0, 0.0, 1.0]
    ev = bc.evaluate(outcome, confidence, draws=100, rng=1)
    words = (
        r"the log score is infinite: 3 of 700 rows .* \(2 with confidence 0 and outcome 1, 1 with confidence 1 and "
        r"outcome 0\).*np\.clip\(p, 1e-15, 1 - 1e-15\)"
    )
    for ask in (lambda: ev.log_score, lambda: ev.plug_in_of("log_score")):
        with pytest.raises(ValueError, match=words):
            ask()
    assert np.isfinite(ev.brier_score.values).all()
    clipped = bc.evaluate(outcome, np.clip(confidence, 1e-15, 1 - 1e-15), draws=100, rng=1)
    assert clipped.log_score.mean() > 0.1
    two = bc.compare(outcome, {"a": confidence, "b": np.full(700, 0.5)}, draws=100, rng=1)
    with pytest.raises(ValueError, match="3 of 700 rows"):
        two.difference("a", "b", "log_score")
    tree = two.to_datatree().posterior
    assert "log_score" not in tree
    assert "brier_score" in tree


def test_infinite_rows_of_batches_add_and_merge():
    parts = [BinnedCounts.from_arrays([1, 0, 1], [0.0, 1.0, c], bins=6) for c in (0.25, 0.75)]
    total = sum(parts)
    assert total.log_losses.infinite.sum() == 4
    assert total.coarsen(2).log_losses.infinite.tolist() == [[0, 2], [2, 0]]
    assert total.log_losses.total.sum() == pytest.approx(math.log(4) + math.log(4 / 3), rel=1e-14)
    assert "4 rows with infinite loss" in repr(total.log_losses)


def test_rows_of_weight_0_may_have_an_infinite_loss():
    ev = bc.evaluate([1, 1, 0], [0.0, 0.5, 0.5], weights=[0, 1, 1], draws=10, rng=1)
    assert ev.plug_in_of("log_score") == pytest.approx(math.log(2), rel=1e-15)


def test_counts_without_log_losses_are_refused():
    counts = BinnedCounts.from_arrays(*rows(), bins=2)
    old = bc.evaluate_counts(replace(counts, log_losses=None), draws=10, rng=1)
    with pytest.raises(ValueError, match="the log score needs the sums of log losses, which these counts lack"):
        _ = old.log_score
    assert np.isfinite(old.brier_score.values).all()
    matrix = np.random.default_rng(1).dirichlet([1, 1, 1], 50)
    (of_class, *_) = BinnedCounts.classwise(np.arange(50) % 3, matrix)
    with pytest.raises(ValueError, match="counts of one class of a matrix"):
        _ = bc.evaluate_counts(of_class, draws=10, rng=1).log_score


# --- several classifiers on the same rows


@pytest.mark.parametrize("weighted", [False, True])
def test_differences_have_the_moments_of_a_student_t(weighted, close_to):
    outcome, confidence = rows(800)
    other = np.sqrt(confidence)
    weights = np.random.default_rng(1).gamma(2, size=800) if weighted else None
    pair = PairedCounts.from_arrays(outcome, confidence, outcome, other, bins=1, weights=weights)
    n_draws = 40_000
    drawn = joint_log_scores([pair.first, pair.second], {(0, 1): pair}, n_draws, rng=1)
    losses = np.stack([-np.log(np.where(outcome == 1, c, 1 - c)) for c in (confidence, other)])
    w = np.ones(800) if weights is None else weights
    n = w.sum() ** 2 / (w**2).sum()
    covariance = np.cov(losses, aweights=w, bias=True) / (n - 3)
    mean = np.average(losses, axis=1, weights=w)
    close_to(drawn.mean(axis=0), mean, np.sqrt(np.diag(covariance) / n_draws))
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    close_to((drawn[:, 0] - drawn[:, 1]).var(), variance, variance * np.sqrt(2.1 / n_draws))
    assert drawn.max() > 0.5


def test_two_names_of_one_classifier_have_equal_draws():
    outcome, confidence = rows()
    two = bc.compare(outcome, {"a": confidence, "b": confidence.copy()}, draws=100, rng=1)
    assert not two.difference("a", "b", "log_score").values.any()


# --- coverage


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1, 1.5])
@pytest.mark.parametrize("n_bins", [1, 15])
def test_intervals_contain_the_truth(n_bins, slope):
    """Uniform confidences, calibrated or over-confident. 95 % of 200 is 190, with a standard deviation of 3.1."""
    rng = np.random.default_rng(1)
    at = (np.arange(100_000) + 0.5) / 100_000
    p = at ** (1 / slope) / (at ** (1 / slope) + (1 - at) ** (1 / slope))
    truth = -np.mean(p * np.log(at) + (1 - p) * np.log(1 - at))
    inside = 0
    for _ in range(200):
        rows = rng.integers(len(at), size=100)
        counts = BinnedCounts.from_arrays(rng.random(100) < p[rows], at[rows], bins=n_bins)
        bins = bc.dirichlet_posterior(counts).sample(500, rng=rng)
        calibrated = replace(bins, accuracy=np.tile(np.nan_to_num(counts.mean_confidence), (500, 1)))
        low, high = np.quantile(log_score(calibrated, counts, rng=rng).values, [0.025, 0.975])
        inside += low <= truth <= high
    assert 178 <= inside <= 200


def test_shrinkage_has_no_effect_on_the_interval():
    """An over-confident classifier, which the default model takes for calibrated in part: both models agree."""
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y = (rng.random(200) < 1 / (1 + ((1 - p) / p) ** (1 / 1.5))).astype(int)
    default, dirichlet = (bc.evaluate(y, p, rng=1, draws=20_000, model=m).log_score for m in ("shrinkage", "dirichlet"))
    sd = dirichlet.sd()
    assert abs(default.mean() - dirichlet.mean()) < 4 * np.sqrt(2 / 20_000) * sd
    assert abs(default.sd() - sd) < 4 * np.sqrt(1.2 / 20_000) * sd
