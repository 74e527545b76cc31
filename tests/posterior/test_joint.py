"""How one estimand of several models varies together: against draws of the joint Dirichlet, and by hand.

Seeds are fixed. Monte Carlo comparisons allow five standard errors (`close_to`): a false alarm in 1.7 million. A
correlation r of D draws has standard error (1 - r^2) / sqrt(D).
"""

import numpy as np
import pytest

from bayescal import BinDraws, PairedCounts, ece, signed_error
from bayescal.posterior.joint import correlation, reorder, symmetric_root, with_common_cause, with_ranks_of
from bayescal.posterior.shrinkage.model import shrinkage_posterior

N_BINS = 6


def model(counts, n_draws=500, seed=1):
    return shrinkage_posterior(counts).sample(n_draws, rng=seed)


def posteriors(pair, n_draws=500):
    return [model(counts, n_draws) for counts in (pair.first, pair.second)]


def two_models(n=400, seed=1, noise=1.0, **known):
    """Two models of the same event, each with noise of its own."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    x = np.log(p / (1 - p))
    a, b = (1 / (1 + np.exp(-x - noise * rng.standard_normal(n))) for _ in range(2))
    return PairedCounts.from_arrays(y, a, y, b, bins=N_BINS, **known), (y, a, b)


def linear_estimand(bins, counts, seed):
    """Values that are a linear function of the bins, and what one row adds to it by (outcome, bin)."""
    rng = np.random.default_rng(seed)
    of_gap, of_mass = rng.standard_normal((2, N_BINS))
    values = (bins.mass * bins.gap) @ of_gap + bins.mass @ of_mass
    each = of_gap * (np.array([[0.0], [1.0]]) - counts.mean_confidence) + of_mass
    return values, each


def between(values, bins, pair):
    return correlation(values, bins, {(0, 1): pair})[0, 1]


@pytest.mark.parametrize("noise", [0.2, 1.0, 3.0])
def test_linear_estimands_go_together_as_under_the_joint_dirichlet(noise, close_to):
    pair, _ = two_models(noise=noise)
    bins = posteriors(pair)
    (first, add_a), (second, add_b) = (
        linear_estimand(d, c, s) for d, c, s in zip(bins, (pair.first, pair.second), (5, 6), strict=True)
    )
    q = np.random.default_rng(7).dirichlet(pair.n, 20_000)
    at_a, z_a, at_b, z_b = pair.cells.T
    drawn = np.corrcoef(q @ add_a[z_a, at_a], q @ add_b[z_b, at_b])[0, 1]
    found = between([first, second], bins, pair)
    close_to(found, drawn, (1 - drawn**2) / np.sqrt(20_000))


def test_with_weights_they_go_together_as_under_the_bayesian_bootstrap(close_to):
    """Rubin's: every row gets an Exponential number times its weight; row by row here."""
    rng = np.random.default_rng(3)
    weights = rng.gamma(0.7, size=400)
    pair, (y, a, b) = two_models(weights=weights)
    bins = posteriors(pair)
    (first, add_a), (second, add_b) = (
        linear_estimand(d, c, s) for d, c, s in zip(bins, (pair.first, pair.second), (5, 6), strict=True)
    )
    at_a, at_b = ((c * N_BINS).astype(int) for c in (a, b))
    drawn_weight = weights * rng.standard_exponential((40_000, 400))
    drawn_weight /= drawn_weight.sum(axis=1, keepdims=True)
    drawn = np.corrcoef(drawn_weight @ add_a[y, at_a], drawn_weight @ add_b[y, at_b])[0, 1]
    found = between([first, second], bins, pair)
    # the bootstrap's ratio is linear up to 1 / (effective rows), about 1 / 160 here
    close_to(found, drawn, (1 - drawn**2) / np.sqrt(40_000) + 0.002)


def test_in_one_bin_signed_errors_go_together_as_who_is_right():
    """One bin, outcomes of their own: the phi coefficient of the table [[30, 10], [20, 40]] is 0.408.

    (30 * 40 - 10 * 20) / sqrt(40 * 60 * 50 * 50).
    """
    z_a, z_b = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], [30, 10, 20, 40], axis=1)
    c = np.full(100, 0.5)
    pair = PairedCounts.from_arrays(z_a, c, z_b, c, bins=1)
    bins = posteriors(pair)
    found = between([signed_error(d).values for d in bins], bins, pair)
    assert found == pytest.approx(1000 / np.sqrt(40 * 60 * 50 * 50), abs=1e-6)


def test_opposite_signs_go_against_each_other():
    """One event, one bin: what makes one model's over-confidence smaller makes the other's under-confidence larger."""
    y = np.repeat([0, 1], 200)
    pair = PairedCounts.from_arrays(y, np.full(400, 0.9), y, np.full(400, 0.1), bins=1)
    bins = posteriors(pair)
    assert between([ece(d).values for d in bins], bins, pair) < -0.98
    assert between([signed_error(d).values for d in bins], bins, pair) == pytest.approx(1, abs=1e-6)


def test_models_that_are_right_and_wrong_by_themselves_do_not_go_together(close_to):
    """Confidences and outcomes are independent: 0, with the standard error 1 / sqrt(rows) of a correlation."""
    rng, n = np.random.default_rng(8), 10_000
    a, b = rng.random((2, n))
    z_a, z_b = rng.random((2, n)) < (a, b)
    pair = PairedCounts.from_arrays(z_a, a, z_b, b, bins=N_BINS)
    bins = posteriors(pair)
    close_to(between([signed_error(d).values for d in bins], bins, pair), 0, 1 / np.sqrt(n), "signed")
    close_to(between([ece(d).values for d in bins], bins, pair), 0, 1 / np.sqrt(n), "ece")


def test_what_bins_do_not_explain_goes_with_the_fourth_power_of_likeness(close_to):
    """Values that have nothing to do with the bins; gaps (0.1, 0.1) and (0.1, 0) in bins of 1 and 3 rows of 4.

    The cosine over rows is 0.01 / sqrt(0.01 * 0.0025) = 1/2 where the second gap holds in a quarter of the rows.
    """
    c = np.tile([0.2, 0.8, 0.8, 0.8], 50)
    z = np.tile([0, 1], 100)
    pair = PairedCounts.from_arrays(z, c, z, c, bins=2)
    rng, n_draws = np.random.default_rng(9), 4000
    masses = rng.dirichlet([50, 150], n_draws)

    def draws(gap):
        accuracy = np.tile(np.array([0.2, 0.8]) + gap, (n_draws, 1))
        return BinDraws(masses, accuracy, np.array([[0.2, 0.8]]), np.array([True, True]), masses)

    bins = [draws([0.1, 0.1]), draws([0.1, 0.0])]
    values = rng.standard_normal((2, n_draws))
    # chance explains about 2 of 4000 parts of each; the linear part is at most that share
    assert between(list(values), bins, pair) == pytest.approx(0.5**4, abs=0.01)
    against = [draws([0.1, 0.1]), draws([-0.1, -0.1])]
    assert between(list(values), against, pair) == pytest.approx(0, abs=0.01)


@pytest.mark.slow
def test_two_names_of_one_model_are_one():
    for seed in range(20):  # rounding differs
        rng = np.random.default_rng(seed)
        p = rng.random(300)
        y = rng.random(300) < p
        pair = PairedCounts.from_arrays(y, p, y, p, bins=15)
        drawn = model(pair.first)
        for estimand in (ece, signed_error):
            values = estimand(drawn).values
            assert between([values, values.copy()], [drawn, drawn], pair) == 1.0


def test_where_nothing_varies_one_model_is_still_one_and_another_is_not():
    """If gaps are exactly 0 and masses constant, the cosine is undefined and the cells decide."""
    c, z = np.tile([0.2, 0.2, 0.8, 0.8], 5), np.tile([0, 1, 0, 1], 5)
    mass = np.tile([0.5, 0.5], (100, 1))
    still = BinDraws(mass, np.tile([0.2, 0.8], (100, 1)), np.array([[0.2, 0.8]]), np.array([True, True]), mass)
    values = list(np.random.default_rng(1).standard_normal((2, 100)))
    own = PairedCounts.from_arrays(z, c, z, c, bins=2)
    assert between(values, [still, still], own) == pytest.approx(1)
    others = [
        PairedCounts.from_arrays(z, c, 1 - z, c, bins=2),  # the same bins, other outcomes
        PairedCounts.from_arrays(z, c, z, 1 - c, bins=2),  # other bins, the same outcomes
    ]
    for other in others:
        assert between(values, [still, still], other) == 0


def test_without_rows_there_is_nothing_to_go_by():
    pair = PairedCounts.empty(2)
    bins = posteriors(pair, 50)
    found = correlation([ece(d).values for d in bins], bins, {(0, 1): pair})
    assert np.isfinite(found).all()


def test_models_that_are_nearly_one_are_nearly_one():
    found = {}
    for noise in (2.0, 0.01, 0.0):
        pair, _ = two_models(2000, noise=noise)
        bins = posteriors(pair)
        found[noise] = between([ece(d).values for d in bins], bins, pair)
    assert found[0.0] == pytest.approx(1)
    assert found[2.0] < found[0.01] < found[0.0]
    assert found[0.01] > 0.8


def test_the_order_of_the_models_changes_nothing():
    pair, _ = two_models()
    bins = posteriors(pair)
    values = [ece(d).values for d in bins]
    assert between(values[::-1], bins[::-1], pair.swapped()) == pytest.approx(between(values, bins, pair), abs=1e-12)


def test_of_many_models_it_is_a_correlation_matrix():
    rng = np.random.default_rng(4)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    stated = [np.clip(p + s * rng.standard_normal(200), 0, 1) for s in (0, 0.01, 0.05, 0.2, 0.5)]
    pairs = {
        (i, j): PairedCounts.from_arrays(y, stated[i], y, stated[j], bins=5) for i in range(5) for j in range(i + 1, 5)
    }
    bins = [model(pairs[0, j].second if j else pairs[0, 1].first, 300) for j in range(5)]
    found = correlation([ece(d).values for d in bins], bins, pairs)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1)
    assert np.linalg.eigvalsh(found)[0] > -1e-9
    assert (np.abs(found) <= 1).all()


def test_pairs_that_contradict_each_other_give_the_matrix_with_negative_eigenvalues_cut():
    """Correlations 0.9, 0.9 and -0.9 of three cannot be: the smallest eigenvalue of such a matrix is 1 - 1.8 = -0.8."""
    from bayescal.posterior.joint import nearest_correlation

    contradictory = np.array([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]])
    assert np.linalg.eigvalsh(contradictory)[0] == pytest.approx(-0.8)
    found = nearest_correlation(contradictory)
    # by symmetry the eigenvectors stay: (2 / 3 of the trace each) the two left are equal, so correlations are +-1/2
    np.testing.assert_allclose(found, [[1, 0.5, 0.5], [0.5, 1, -0.5], [0.5, -0.5, 1]], atol=1e-12)
    np.testing.assert_array_equal(nearest_correlation(np.eye(3)), np.eye(3))


def test_two_names_of_one_model_stay_one_where_others_contradict_each_other():
    """Rows 0 and 1 are equal, and truncating eigenvalues keeps them equal: their correlation is exactly 1."""
    from bayescal.posterior.joint import nearest_correlation

    for c in (0.9, 0.7, 0.8123):
        contradictory = np.array([[1, 1, c, c], [1, 1, c, c], [c, c, 1, -c], [c, c, -c, 1]])
        assert np.linalg.eigvalsh(contradictory)[0] < -0.1
        assert nearest_correlation(contradictory)[0, 1] == 1.0


def test_values_that_do_not_vary_break_nothing():
    pair, _ = two_models()
    bins = posteriors(pair)
    found = correlation([np.zeros(500), ece(bins[1]).values], bins, {(0, 1): pair})
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(np.diag(found), 1)


def test_two_estimands_that_do_not_vary_go_together_by_their_gaps():
    """Nothing is explained by the bins, so the correlation is the fourth power of the similarity of the gaps."""
    pair, _ = two_models(noise=0.1)
    mass = np.full((50, N_BINS), 1 / N_BINS)
    gap = np.array([0.1, -0.2, 0.1, 0.05, -0.1, 0.2])
    still = BinDraws(mass, np.tile(0.5 + gap, (50, 1)), np.full((1, N_BINS), 0.5), np.ones(N_BINS, bool), mass)
    bin_a, _, bin_b, _ = pair.cells.T
    a, b, w = gap[bin_a], gap[bin_b], pair.weight
    similarity = (w * a * b).sum() / np.sqrt((w * a * a).sum() * (w * b * b).sum())
    assert similarity > 0.5
    assert between([np.zeros(50)] * 2, [still, still], pair) == pytest.approx(similarity**4)


N = 40_000


def ranks(column):
    return column.argsort().argsort()


def three_columns():
    rng = np.random.default_rng(1)
    return np.column_stack([rng.gamma(0.3, size=N), rng.random(N), -rng.standard_exponential(N)])


@pytest.mark.parametrize(
    "correlation",
    [np.eye(3), [[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]], [[1, 0.95, 0], [0.95, 1, 0], [0, 0, 1]]],
)
def test_ranks_go_together_as_those_of_normals(correlation, close_to):
    draws = three_columns()
    joint = reorder(draws, np.array(correlation, dtype=float), rng=2)
    np.testing.assert_array_equal(np.sort(joint, axis=0), np.sort(draws, axis=0))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        found = np.corrcoef(ranks(joint[:, i]), ranks(joint[:, j]))[0, 1]
        close_to(found, 6 / np.pi * np.arcsin(correlation[i][j] / 2), 1.1 / np.sqrt(N), (i, j))


def test_perfect_dependence_is_exact():
    """The first two of three quantities rise together while the third falls: one order and its reverse."""
    sign = np.array([1.0, 1.0, -1.0])
    joint = reorder(three_columns(), np.outer(sign, sign), rng=3)
    np.testing.assert_array_equal(ranks(joint[:, 0]), ranks(joint[:, 1]))
    np.testing.assert_array_equal(ranks(joint[:, 2]), N - 1 - ranks(joint[:, 0]))


def test_perfect_dependence_survives_what_rounding_leaves_of_the_matrix():
    """Eigenvalues of 1e-13 instead of 0 would make the two columns differ in the last of 40 000 ranks."""
    matrix = np.array([[1.0, 1 - 1e-13], [1 - 1e-13, 1.0]])
    joint = reorder(three_columns()[:, :2], matrix, rng=4)
    np.testing.assert_array_equal(ranks(joint[:, 0]), ranks(joint[:, 1]))


def test_a_dependence_that_is_not_quite_perfect_is_kept():
    """With correlation 1 - 1e-6, Normals differ by about 1.4e-3, which 40 000 ranks resolve."""
    matrix = np.array([[1.0, 1 - 1e-6], [1 - 1e-6, 1.0]])
    joint = reorder(three_columns()[:, :2], matrix, rng=5)
    one, other = ranks(joint[:, 0]), ranks(joint[:, 1])
    assert (one != other).mean() > 0.5
    assert np.corrcoef(one, other)[0, 1] > 1 - 1e-4


def test_a_common_cause_correlates_what_was_independent():
    """0.3 of the variance is common: rank correlations of Normals are 6 / pi arcsin(r / 2)."""
    draws = np.random.default_rng(1).standard_exponential((40_000, 3))
    tied = reorder(draws, with_common_cause(np.eye(3)), rng=2)
    np.testing.assert_array_equal(np.sort(tied, axis=0), np.sort(draws, axis=0))
    ranks = np.corrcoef(tied.argsort(axis=0).argsort(axis=0).T)
    np.testing.assert_allclose(ranks[~np.eye(3, dtype=bool)], 6 / np.pi * np.arcsin(0.15), atol=0.02)
    correlation = np.array([[1.0, -0.5], [-0.5, 1.0]])
    np.testing.assert_allclose(with_common_cause(correlation), [[1, -0.05], [-0.05, 1]])


def test_example_of_symmetric_root():
    assert symmetric_root(np.array([[2.0, 0.0], [0.0, 9.0]])).round(3).tolist() == [[1.414, 0.0], [0.0, 3.0]]


def test_example_of_with_ranks_of():
    assert with_ranks_of(np.array([0.3, 0.1, 0.2]), np.array([10.0, 20.0, 30.0])).tolist() == [30.0, 10.0, 20.0]
