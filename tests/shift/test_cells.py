"""Counts of source and target by cell, and labelled rows as counts of a target."""

import numpy as np
import pytest
from shifted_sides import PREDICTED

import bayescal as bc


def test_cells_are_predicted_classes_and_ranges():
    cells = bc.ShiftCells(np.array([[0.5, 0.8], [0.6, 0.7], [0.4, 0.9]]))
    p = np.array([[0.45, 0.45, 0.1], [0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.0, 0.0, 1.0]])
    assert cells.of_rows(p).tolist() == [0, 1, 5, 7, 8]
    assert cells.of_rows(p.tolist()).tolist() == [0, 1, 5, 7, 8]
    assert len(cells) == 9


def test_ranges_hold_a_third_of_each_predicted_class():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 1.0], 3000)
    rows = np.bincount(bc.ShiftCells.of_confidences(p, 3).of_rows(p), minlength=6)
    top = np.bincount(p.argmax(axis=1))
    np.testing.assert_allclose(rows.reshape(2, 3), np.tile(top[:, None] / 3, 3), atol=1)


@pytest.mark.parametrize("of", [lambda p: p, lambda p: p.astype(np.float32).astype(float)])
def test_cells_do_not_depend_on_the_precision_of_equal_scores(of):
    """Scores of one decimal: cuts at observed values would move all rows of a value to another cell."""
    rng = np.random.default_rng(1)
    p = rng.integers(11, size=2000) / 10
    both = np.column_stack([1 - p, p])
    rounded = np.column_stack([1 - p.astype(np.float32).astype(float), p.astype(np.float32).astype(float)])
    cells = bc.ShiftCells.of_confidences(of(both), 3)
    np.testing.assert_array_equal(cells.of_rows(both), cells.of_rows(rounded))
    assert len(np.unique(cells.of_rows(both))) == 6


def test_ranges_of_nearly_equal_scores_are_not_joined():
    p = 1 - np.arange(1, 301) * 1e-12
    rows = np.bincount(
        bc.ShiftCells.of_confidences(np.column_stack([1 - p, p]), 3).of_rows(np.column_stack([1 - p, p]))
    )
    assert rows[3:].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([0.5, 0.6], "shape"),
        ([[0.5], [1.5]], r"`cuts` must be probabilities.*\(1, 0\): 1.5"),
        ([[0.5, 0.6], [0.6, 0.5]], r"decrease.*1 of 4 values does not, first at index \(1, 1\): 0.5"),
    ],
)
def test_impossible_cuts_are_refused(cuts, message):
    with pytest.raises(ValueError, match=message):
        bc.ShiftCells(np.array(cuts))


def test_other_things_than_cells_are_refused():
    y, p = [0, 1], [0.2, 0.9]
    for call in (
        lambda cells: bc.ShiftCounts.of_source(y, p, cells=cells),
        lambda cells: bc.ShiftCounts.of_target(p, cells=cells),
        lambda cells: bc.ShiftCounts([[1, 0], [0, 1]], [1, 1], cells),
        lambda cells: bc.class_priors([0, 1] * 5, p * 5, p, cells=cells),
        lambda cells: bc.shift_evidence([0, 1] * 5, p * 5, p, cells=cells),
    ):
        with pytest.raises(TypeError, match=r"`cells` must be ShiftCells, not 10 \(int\)"):
            call(10)
    with pytest.raises(ValueError, match="`cells` must be those of the 2 classes of `y_prob`; they have 3 classes"):
        bc.class_priors(y * 5, p * 5, p, cells=bc.ShiftCells.predicted_class(3))
    with pytest.raises(ValueError, match="`y_prob` must"):
        bc.ShiftCells.of_confidences([0.2, np.nan], 2)
    with pytest.raises(ValueError, match="`n_ranges` must be an integer >= 1, not 0"):
        bc.ShiftCells.of_confidences(p, 0)
    with pytest.raises(ValueError, match="`matrix` must have one column per class"):
        PREDICTED.of_rows([0.2, 0.9])
    with pytest.raises(TypeError, match=r"Call it as `ShiftCounts\.of_source\(y_true, y_prob, cells=\.\.\.\)`"):
        bc.ShiftCounts.of_source(y, p)
