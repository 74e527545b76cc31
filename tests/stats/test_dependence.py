"""How errors of classes vary together: against the correlation of every row's influence, written out."""

import warnings

import numpy as np
import pytest

import bayescal as bc
from bayescal.data.matrix import ClassRows
from bayescal.stats.classwise import CHUNK, ClasswiseCounts, _exclusive, error_correlation


def rows_of(n, weighted):
    rng = np.random.default_rng(n)
    matrix = rng.dirichlet([0.3, 0.7, 2.0], n)
    weight = rng.gamma(0.7, size=n) if weighted else None
    return ClassRows(label=rng.integers(0, 3, n), matrix=matrix, weight=weight)


def written_out(rows, counts):
    """sign(gap of the bin) times weight times (outcome - confidence), a row and a class at a time."""
    edges = np.arange(16) / 15
    w = np.ones(len(rows)) if rows.weight is None else rows.weight
    residual = w[:, None] * ((rows.label[:, None] == np.arange(3)) - rows.matrix)
    influence = np.empty_like(residual)
    for k in range(3):
        b = np.minimum(np.searchsorted(edges, rows.matrix[:, k], side="right") - 1, 14)
        gap = counts[k].accuracy - counts[k].mean_confidence
        influence[:, k] = np.sign(gap[b]) * residual[:, k]
    squares = residual.T @ residual
    size = np.sqrt(np.diag(squares))
    return np.corrcoef(influence.T), squares / np.outer(size, size)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations(weighted):
    rows = rows_of(CHUNK + 500, weighted)
    counts = ClasswiseCounts.from_rows(rows)
    assert_same(counts.correlations, written_out(rows, counts.by_class))


def test_correlations_of_parts_are_those_of_the_whole():
    rows = rows_of(3000, True)
    parts = [
        ClassRows(label=rows.label[part], matrix=rows.matrix[part], weight=rows.weight[part])
        for part in (slice(0, 1000), slice(1000, None))
    ]
    counts = sum(map(ClasswiseCounts.from_rows, parts))
    assert_same(counts.correlations, written_out(rows, counts.by_class))


def test_correlations_on_merged_bins():
    rows = rows_of(2000, False)
    counts = ClasswiseCounts.from_rows(rows, bins=60).coarsen(15)
    assert_same(counts.correlations, written_out(rows, ClasswiseCounts.from_rows(rows).by_class))


def test_what_was_clipped_lies_in_the_bin_it_was_counted_in():
    """Confidences of -5e-7 and 1 + 5e-7: the gap of the first bin is positive, that of the last negative."""
    first = np.r_[np.full(500, -5e-7), np.full(500, 1 + 5e-7)]
    matrix = np.column_stack([first, 1 - first])
    label = (np.random.default_rng(1).random(1000) < 0.3).astype(np.int64)
    rows = ClassRows(label=label, matrix=matrix)
    clipped = ClassRows(label=label, matrix=np.clip(matrix, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ClasswiseCounts.from_rows(rows)
    assert_same(found.correlations, ClasswiseCounts.from_rows(clipped).correlations)


def test_what_was_clipped_is_clipped_again():
    """Three classes, so that correlations are not -1 whatever the residuals; written out with clipped probabilities."""
    rng = np.random.default_rng(2)
    matrix = np.eye(3)[rng.integers(0, 3, 600)]
    matrix[:, 0] += np.where(matrix[:, 0] == 1, 4e-7, -4e-7)
    matrix[:, 1] += np.where(matrix[:, 1] == 1, 3e-7, -3e-7)
    rows = ClassRows(label=rng.integers(0, 3, 600), matrix=matrix)
    clipped = ClassRows(label=rows.label, matrix=np.clip(matrix, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = ClasswiseCounts.from_rows(rows)
    assert_same(counts.correlations, written_out(clipped, counts.by_class))


def test_small_weights_do_not_change_correlations():
    """Sums of squares far below 1, as weights that add up to 1 give."""
    rows = rows_of(400, False)
    counts = ClasswiseCounts.from_rows(rows)
    light = ClassRows(label=rows.label, matrix=rows.matrix, weight=np.full(400, 1 / 400))
    assert_same(ClasswiseCounts.from_rows(light).correlations, written_out(rows, counts.by_class))


@pytest.mark.parametrize("alpha", [[1, 1, 1], [9, 1, 0.5], [30, 0.1, 0.1]])
def test_residuals_of_three_classes_follow_from_their_variances(alpha):
    """The residuals of a row sum to 0, so that 2 r_kl = v_m - v_k - v_l for the three classes k, l and m."""
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(alpha, 3000)
    label = (matrix.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).clip(max=2)
    counts = ClasswiseCounts.from_rows(ClassRows(label=label, matrix=matrix))
    of_errors, of_residuals = error_correlation(counts.by_class, None)
    np.testing.assert_array_equal(of_errors, np.eye(3))
    np.testing.assert_allclose(of_residuals, counts.correlations[1], atol=2e-3)


def test_without_joint_sums_residuals_sum_to_zero():
    """As multinomial counts do: the covariance matrix has the observed variances and annihilates the ones."""
    rng = np.random.default_rng(6)
    matrix = rng.dirichlet(np.r_[5.0, np.full(39, 0.2)], 2000)
    label = (matrix.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=39)
    counts = ClasswiseCounts.from_rows(ClassRows(label=label, matrix=matrix))
    assert counts.joint is None
    sd = np.sqrt(((np.eye(40)[label] - matrix) ** 2).sum(axis=0))
    covariance = counts.correlations[1] * np.outer(sd, sd)
    assert np.abs(covariance.sum(axis=0)).max() < 1e-6 * sd.max() ** 2
    assert np.linalg.eigvalsh(counts.correlations[1]).min() > -1e-9
    residual = np.eye(40)[label] - matrix
    np.testing.assert_allclose(counts.correlations[1], np.corrcoef(residual.T), atol=0.1)


def test_two_classes_are_one_problem_on_any_number_of_bins():
    """300 bins for each of two classes are too many cells; errors are equal in size nevertheless."""
    p = np.random.default_rng(7).random(500)
    counts = bc.ClasswiseCounts.from_arrays((p > 0.4).astype(int), np.column_stack([1 - p, p]), bins=300)
    assert counts.joint is None
    np.testing.assert_array_equal(counts.correlations, [[[1, 1], [1, 1]], [[1, -1], [-1, 1]]])


def test_classes_that_never_vary_are_uncorrelated():
    """All probabilities are 0 or 1 and right: there are no residuals."""
    matrix = np.eye(40)[np.arange(200) % 40]
    counts = ClasswiseCounts.from_rows(ClassRows(label=np.arange(200) % 40, matrix=matrix))
    assert_same(counts.correlations, (np.eye(40), np.eye(40)))


@pytest.mark.parametrize("variance", [[0.1, 0.1, 0.2], [1, 1, 3], [1, 0.5, 0.5, 0, 0], [0.1, 0.2, 0.15]])
def test_variances_of_exclusive_classes_at_the_limit(variance):
    """The residual of one class is minus the sum of the others: the search must end, with a covariance."""
    covariance = _exclusive(np.array(variance, dtype=float))
    assert np.linalg.eigvalsh(covariance).min() >= -1e-12
    assert covariance.sum(axis=0) == pytest.approx(0, abs=1e-8 if max(variance) * 2 != sum(variance) else 1)
    assert np.diag(covariance)[np.argmin(variance)] == pytest.approx(min(variance))


@pytest.mark.parametrize("seed", range(8))
def test_one_class_against_others_row_by_row(seed):
    rng = np.random.default_rng(seed)
    n, classes = 300, 40
    matrix, other, p = np.zeros((n, classes)), rng.choice([1, 2], n), rng.random(n)
    matrix[np.arange(n), 0], matrix[np.arange(n), other] = p, 1 - p
    label = np.where(rng.random(n) < p, 0, other)
    counts = ClasswiseCounts.from_arrays(label, matrix, classes=range(classes))
    assert counts.joint is None
    assert np.isfinite(counts.correlations[1]).all()
