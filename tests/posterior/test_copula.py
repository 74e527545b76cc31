"""The copula keeps every column's draws and gives their ranks the dependence of correlated Normals.

Spearman's correlation of Normals with correlation r is (6 / pi) arcsin(r / 2) (Pearson 1907).
"""

import numpy as np
import pytest

from bayescal.posterior.joint import reorder, with_common_cause

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
