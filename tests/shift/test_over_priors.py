"""Draws given the class frequency that masses and accuracies imply."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from bayescal.shift.over_priors import CountsGivenPriors, OverPriors, near
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.stats.bins import make_bins


def test_draws_near_a_value_have_the_moments_of_a_product_of_normals():
    """N(0, 1) times N(1, 0.3²): mean 1 / (1 + 0.09), variance 0.09 / 1.09."""
    values = np.random.default_rng(1).standard_normal(400_000)
    chosen = values[near(values, np.array([1.0]), 20_000, np.random.default_rng(2))]
    assert chosen.mean() == pytest.approx(1 / 1.09, abs=0.012)  # five standard errors
    assert chosen.var() == pytest.approx(0.09 / 1.09, rel=0.05)


def test_several_values_have_equal_numbers_of_draws():
    """Around -1 and 1 the means are -1 / 1.09 and 1 / 1.09; the variance is that within plus that between."""
    values = np.random.default_rng(1).standard_normal(400_000)
    chosen = values[near(values, np.array([-1.0, 1.0]), 20_000, np.random.default_rng(2))]
    assert (chosen > 0).mean() == pytest.approx(0.5, abs=0.02)
    assert chosen.var() == pytest.approx(0.09 / 1.09 + 1 / 1.09**2, rel=0.05)


def test_a_value_far_from_all_draws_has_little_influence():
    """The weights become wider until half as many draws as are chosen are effective."""
    values = np.random.default_rng(1).standard_normal(4000)
    chosen = near(values, np.array([50.0]), 1000, np.random.default_rng(2))
    assert len(np.unique(chosen)) > 300
    assert 0 < values[chosen].mean() < 2


@pytest.mark.parametrize("n_draws", [16, 100, 128, 1000])
def test_draws_of_the_frequencies_belong_to_their_part(n_draws):
    near_priors = np.random.default_rng(1).random((16, 8, 3))
    posterior = OverPriors(None, (None,) * 16, near_priors)
    part, row = posterior.part_of(n_draws, 5), posterior.priors_of(n_draws, 5)
    assert sorted(row.tolist()) == sorted(q % 128 for q in range(n_draws))
    for i, q in zip(part, row, strict=True):
        assert (posterior.each_near[q] == near_priors[i]).all(axis=1).any()


def test_equal_values_are_taken_in_order():
    assert near(np.full(8, 0.3), np.array([0.1, 0.2]), 2, np.random.default_rng(1)).tolist() == [0, 1]


#: Middle of each bin.
SCORES = {2: np.array([0.25, 0.75]), 4: np.array([0.125, 0.375, 0.625, 0.875])}


def binned(by_class, target, of=1):
    """Rows with these numbers by class and bin."""
    by_class, target = np.asarray(by_class), np.asarray(target)
    scores = SCORES[by_class.shape[1]]
    label = np.repeat(np.arange(len(by_class)), by_class.sum(axis=1))
    source = np.concatenate([np.repeat(scores, rows) for rows in by_class])
    bins = make_bins(by_class.shape[1])
    counted = ShiftedBins.of_source(label, source, of, len(by_class), bins)
    return counted + ShiftedBins.of_target(np.repeat(scores, target), of, len(by_class), bins)


def exact_rows(priors, scale=1):
    """Rows of both sides without sampling error: classes (8, 2) and (2, 8) of ten, in two bins."""
    by_class = np.array([[8, 2], [2, 8]]) * 100 * scale
    target = np.array([0.8 * priors[0] + 0.2 * priors[1], 0.2 * priors[0] + 0.8 * priors[1]])
    return binned(by_class, np.rint(target * 1000 * scale).astype(int))


def test_rows_that_agree_with_the_frequencies_change_no_share():
    """Bayes' rule: shares 0.2 w / (0.8 (1 - w) + 0.2 w) and 0.8 w / (0.2 (1 - w) + 0.8 w), masses of the target."""
    counts = CountsGivenPriors(exact_rows([0.75, 0.25], scale=20), np.array([0.75, 0.25]))
    share = np.array([0.05 / 0.65, 0.2 / 0.35])
    np.testing.assert_allclose(counts.effective_k / counts.effective_n, share, rtol=1e-4)
    np.testing.assert_allclose(counts.share, [0.65, 0.35], rtol=1e-4)


def likelihood(theta, at, rows, priors):
    """Logarithm of P(labels | bin) and P(source | bin), the latter with the density ratio of Bayes' rule."""
    (none, one), t = rows.by_class[:, at], rows.target_rows[at]
    rho = rows.frequency
    weight = rho / priors
    density = weight[1] * theta + weight[0] * (1 - theta)
    in_source = weight[1] * theta / density
    of_source = rows.by_class.sum() * density / (rows.by_class.sum() * density + rows.target_rows.sum())
    labels = xlogy(one, in_source) + xlogy(none, 1 - in_source)
    return labels + (none + one) * np.log(of_source) + t * np.log(1 - of_source)


@pytest.mark.parametrize("priors", [[0.7, 0.3], [0.75, 0.25], [0.8, 0.2]])
@pytest.mark.parametrize("at", [0, 1])
def test_one_step_is_near_the_exact_likelihood(priors, at):
    """Mode and curvature of the product of both likelihoods, for rows that agree with the frequency 0.25."""
    rows, priors = exact_rows([0.75, 0.25]), np.array(priors)
    counts = CountsGivenPriors(rows, priors)
    found = minimize_scalar(
        lambda theta: -likelihood(theta, at, rows, priors), bounds=(1e-6, 1 - 1e-6), method="bounded"
    )
    mode, step = found.x, 1e-4
    curve = -np.diff([likelihood(mode + d, at, rows, priors) for d in (-step, 0, step)], 2)[0] / step**2
    n, k = counts.effective_n[at], counts.effective_k[at]
    assert k / n == pytest.approx(mode, abs=0.1 / np.sqrt(curve))
    assert n == pytest.approx(curve * mode * (1 - mode), rel=0.1)
    alone = rows.at(priors)
    assert n > alone.effective_n[at]
    if priors[1] != 0.25:  # otherwise both likelihoods have the same mode
        assert abs(k / n - mode) < 0.2 * abs(alone.accuracy[at] - mode)


@pytest.mark.measuring
def test_masses_of_rows_on_both_sides_vary_less():
    """Simulated rows: masses vary as those of `effective_rows` rows, which are more than those of the target."""
    rng, priors = np.random.default_rng(1), np.array([0.75, 0.25])
    classes, found, worth = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]), [], []
    for _ in range(2000):
        by_class = rng.multinomial(1000, classes)
        counts = CountsGivenPriors(binned(by_class, rng.multinomial(500, priors @ classes)), priors)
        found.append(counts.share)
        worth.append(counts.effective_rows)
    mass = priors @ classes
    np.testing.assert_allclose(np.mean(found, axis=0), mass, atol=5 * 0.02 / np.sqrt(2000))
    variance = np.var(found, axis=0).sum()
    assert variance == pytest.approx((mass * (1 - mass)).sum() / np.mean(worth), rel=0.15)
    assert np.mean(worth) > 1.3 * 500


def test_bins_of_one_side():
    """Without labelled rows a bin has no evidence, and without rows of the target no mass."""
    rows = binned([[40, 20, 10, 0], [5, 10, 20, 0]], [50, 30, 0, 7])
    counts = CountsGivenPriors(rows, np.array([0.7, 0.3]))
    assert counts.effective_n[3] == counts.effective_k[3] == 0
    assert counts.share[2] == 0
    assert counts.share[3] > 0
    assert counts.share.sum() == pytest.approx(1)
    assert counts.effective_n[2] == pytest.approx(rows.at(np.array([0.7, 0.3])).effective_n[2])


def test_bins_of_one_class_keep_shares_in_range():
    """Labels of one class only, and distributions of scores that no share explains."""
    for by_class, target, share in (
        ([[60, 0], [0, 60]], [5, 400], 0.5),
        ([[60, 0], [30, 30]], [400, 5], 0.5),
        ([[0, 16], [49, 0]], [145, 298], 0.965),  # the step ends above 1
        ([[38, 0], [21, 22]], [122, 215], 0.13),  # and below 0
    ):
        counts = CountsGivenPriors(binned(by_class, target), np.array([1 - share, share]))
        assert (counts.effective_k >= 0).all()
        assert (counts.effective_k <= counts.effective_n).all()
        assert np.isfinite([counts.effective_n, counts.share]).all()


def test_a_ratio_of_odds_less_certain_than_one_row_leaves_no_evidence():
    """A bin with rows of one class only: the ratio of the others' frequencies is known from the row that is added."""
    rows = binned([[0, 6], [0, 46], [14, 53]], [345, 77], of=1)
    counts = CountsGivenPriors(rows, np.array([0.346, 0.646, 0.008]))
    assert counts.effective_n[0] == counts.effective_k[0] == 0
    assert counts.effective_n[1] > 20


@pytest.mark.slow
def test_the_variance_of_the_ratio_of_odds_is_that_of_samples():
    """Three classes: the labelled rows of a bin are drawn again; two classes have no variance."""
    rng, priors = np.random.default_rng(2), np.array([0.6, 0.1, 0.3])
    rates, n = np.array([[0.5, 0.3], [0.3, 0.4], [0.2, 0.3]]), np.array([300, 200])
    frequency = rates @ n
    drawn = []
    for _ in range(1000):
        by_class = np.array([rng.multinomial(size, rates[:, b]) for b, size in enumerate(n)]).T
        rows = binned(by_class, [1, 1], of=2)
        # frequencies of the source are those of the population, as if its other bins were many
        weight = (priors / (frequency / frequency.sum()))[:2]
        others = rows.by_class[:2]
        drawn.append(np.log(others.sum(axis=0) / (weight @ others)))
    one = binned(np.rint(rates * n).astype(int), [1, 1], of=2)
    np.testing.assert_allclose(one.log_ratio_variance(priors), np.var(drawn, axis=0), rtol=0.2)
    assert (exact_rows([0.75, 0.25]).log_ratio_variance(np.array([0.7, 0.3])) == 0).all()


def test_three_classes_by_hand():
    """A Normal distribution of the share and log r, updated by the Binomial evidence; derivatives are numeric."""
    rows, priors = binned([[90, 30], [40, 60], [10, 70]], [300, 100], of=2), np.array([0.6, 0.3, 0.1])
    counts, alone, rho = CountsGivenPriors(rows, priors), rows.at(priors), rows.frequency
    masses = []
    for b, target in enumerate([300, 100]):
        n, of_ratio = alone.effective_n[b] + 1, rows.log_ratio_variance(priors)[b]
        theta = (alone.effective_k[b] + 0.1) / n
        others = (rows.by_class[:2, b] + rho[:2] / rho[:2].sum()) * priors[:2] / rho[:2]

        def log_density(share, log_ratio=0.0, others=others):
            rest = (rho[:2] / priors[:2]) @ others / others.sum() * np.exp(log_ratio)
            return np.log(rho[2] / priors[2] * share + (1 - share) * rest)

        gradient = np.array(
            [
                (log_density(theta + 1e-6) - log_density(theta - 1e-6)) / 2e-6,
                (log_density(theta, 1e-6) - log_density(theta, -1e-6)) / 2e-6,
            ]
        )
        with_ratio = np.array([theta * (1 - theta), 1.0])  # log r moves the log odds of the share
        before = np.diag([theta * (1 - theta) / n, 0]) + of_ratio * np.outer(with_ratio, with_ratio)
        odds, total = 300 / 400 * np.exp(log_density(theta)), rows.by_class[:, b].sum() + target
        binomial = total * odds / (1 + odds) ** 2
        after = np.linalg.inv(np.linalg.inv(before) + binomial * np.outer(gradient, gradient))
        step = after[0] @ gradient * (total - target - total * odds / (1 + odds))
        at_labels = alone.effective_k[b] / alone.effective_n[b] - theta
        step += (after @ np.linalg.solve(before, [at_labels, 0]))[0]
        assert counts.effective_n[b] + 1 == pytest.approx(theta * (1 - theta) / after[0, 0], rel=1e-6)
        assert counts.effective_k[b] / counts.effective_n[b] == pytest.approx(theta + step, rel=1e-6)
        phi = 1 / (1 + total * odds / (1 + odds) * (gradient @ before @ gradient))
        assert phi < 0.95
        masses.append((target + phi * (total - target)) / (400 + phi * 300 * np.exp(log_density(theta))))
    np.testing.assert_allclose(counts.share, np.array(masses) / sum(masses), rtol=1e-6)


@pytest.mark.measuring
def test_shares_of_three_classes_vary_as_stated():
    """Simulated rows: errors of shares divided by their standard deviation are near 1 in every bin.

    They are a little below 1 where bins have many rows of a class, because rows of each class are a fixed number.
    """
    rng, priors = np.random.default_rng(4), np.array([0.6, 0.1, 0.3])
    classes = np.array([[0.4, 0.3, 0.2, 0.1], [0.2, 0.3, 0.3, 0.2], [0.05, 0.15, 0.3, 0.5]])
    share, error = priors[2] * classes[2] / (priors @ classes), []
    for _ in range(1000):
        by_class = np.stack([rng.multinomial(400, each) for each in classes])
        counts = CountsGivenPriors(binned(by_class, rng.multinomial(800, priors @ classes), of=2), priors)
        near = (counts.effective_k + 0.3) / (counts.effective_n + 1)
        error.append((counts.accuracy - share) / np.sqrt(near * (1 - near) / (counts.effective_n + 1)))
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(error), axis=0)), 0.95, atol=0.13)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("doublings", "share"), [(27, 1e-9), (0, 1e-17)])
def test_billions_of_rows_and_tiny_frequencies_have_finite_evidence(doublings, share):
    rows = binned([[90, 30], [0, 60]], [300, 100])
    for _ in range(doublings):
        rows = rows + rows
    counts = CountsGivenPriors(rows, np.array([share, 1 - share]))
    assert np.isfinite([counts.effective_n, counts.effective_k, counts.share, counts.accuracy]).all()
