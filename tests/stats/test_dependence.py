"""How errors of classes vary together: against the correlation of every row's influence, written out."""

import warnings

import numpy as np
import pytest

import bayescal as bc
from bayescal.data.matrix import ClassRows
from bayescal.stats.dependence import CHUNK, ErrorMoments, error_correlation


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


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations(weighted):
    rows = rows_of(CHUNK + 500, weighted)
    counts = bc.BinnedCounts.of_classes(rows)
    for found, expected in zip(error_correlation(rows, counts), written_out(rows, counts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_parts_are_the_whole():
    rows = rows_of(3000, True)
    counts = bc.BinnedCounts.of_classes(rows)
    moments = ErrorMoments(counts)
    for part in (slice(0, 1000), slice(1000, None)):
        moments.add(ClassRows(label=rows.label[part], matrix=rows.matrix[part], weight=rows.weight[part]))
    for found, expected in zip(moments.correlations(), error_correlation(rows, counts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_what_was_clipped_lies_in_the_bin_it_was_counted_in():
    """Confidences of -5e-7 and 1 + 5e-7: the gap of the first bin is positive, that of the last negative."""
    first = np.r_[np.full(500, -5e-7), np.full(500, 1 + 5e-7)]
    matrix = np.column_stack([first, 1 - first])
    label = (np.random.default_rng(1).random(1000) < 0.3).astype(np.int64)
    rows = ClassRows(label=label, matrix=matrix)
    clipped = ClassRows(label=label, matrix=np.clip(matrix, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = bc.BinnedCounts.of_classes(rows)
    for found, expected in zip(error_correlation(rows, counts), error_correlation(clipped, counts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


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
        counts = bc.BinnedCounts.of_classes(rows)
    for found, expected in zip(error_correlation(rows, counts), written_out(clipped, counts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_small_weights_do_not_change_correlations():
    """Sums of squares far below 1, as weights that add up to 1 give."""
    rows = rows_of(400, False)
    counts = bc.BinnedCounts.of_classes(rows)
    light = ClassRows(label=rows.label, matrix=rows.matrix, weight=np.full(400, 1 / 400))
    for found, expected in zip(error_correlation(light, counts), written_out(rows, counts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
