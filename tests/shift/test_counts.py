"""Counts of source and target: batches add up, and counts of other cells or classes are refused."""

import numpy as np
import pytest
from shifted_sides import PREDICTED, several, three, two

import bayescal as bc


def test_batches_add_up_to_all_rows():
    rng = np.random.default_rng(2)
    p, y = rng.dirichlet(np.ones(4), 500), rng.integers(4, size=500)
    cells = bc.ShiftCells.of_confidences(p, 2)
    whole = bc.ShiftCounts.of_source(y, p, cells=cells) + bc.ShiftCounts.of_target(p, cells=cells)
    parts = [bc.ShiftCounts.of_source(y[i::3], p[i::3], cells=cells) for i in range(3)]
    parts += [bc.ShiftCounts.of_target(p[i::3], cells=cells) for i in range(3)]
    summed = sum(parts)
    np.testing.assert_array_equal(summed.source, whole.source)
    np.testing.assert_array_equal(summed.target, whole.target)
    assert whole.n_source == whole.n_target == 500


def test_counts_with_other_cells_or_classes_are_refused():
    target = bc.ShiftCounts.of_target([0.2, 0.9], cells=PREDICTED)
    other = bc.ShiftCounts.of_target([0.2, 0.9], cells=bc.ShiftCells(np.array([[0.6], [0.6]])))
    with pytest.raises(ValueError, match="same cells"):
        target + other
    named = [bc.ShiftCounts.of_source(list(c), [0.2, 0.9], cells=PREDICTED, classes=tuple(c)) for c in ("ab", "xy")]
    assert (named[0] + target).classes == ("a", "b")
    with pytest.raises(ValueError, match="same classes"):
        named[0] + named[1]


def test_counts_of_one_side_are_named():
    source = bc.ShiftCounts.of_source([0, 1], [0.2, 0.9], cells=PREDICTED)
    for counts, side in ((source, "target"), (bc.ShiftCounts.of_target([0.2], cells=PREDICTED), "source")):
        with pytest.raises(ValueError, match=f"`counts` have no rows of the {side}"):
            bc.class_priors_counts(counts)


def test_counts_that_differ_are_unequal():
    assert three() == three()
    assert three() != three(None)
    assert three() != three(5)
    assert two() != bc.ShiftCounts.of_target([0.2, 0.9], cells=PREDICTED)
    assert two() != 3


def test_columns_of_data_frames_name_the_classes_of_counts():
    pd = pytest.importorskip("pandas")
    y, p, p_target, _ = several(60, np.random.default_rng(7))
    cells = bc.ShiftCells.predicted_class(3)
    for order in (["0", "1", "2"], ["x", "y", "z"], [10, 20, 30]):
        source, target = pd.DataFrame(p, columns=order), pd.DataFrame(p_target, columns=order)
        labels = y if order[0] == "0" else np.array(order)[y]
        counts = bc.ShiftCounts.of_source(labels, source, cells=cells)
        text = bc.ShiftCounts.of_target(target.rename(columns=str), cells=cells)
        assert (text + counts).classes == ((0, 1, 2) if order[0] == "0" else tuple(order))
        with pytest.raises(ValueError, match="same classes in the same order"):
            counts + bc.ShiftCounts.of_target(target[[order[1], order[0], order[2]]], cells=cells)
    priors = bc.class_priors_counts(counts + text, rng=1)
    np.testing.assert_array_equal(priors.adapt(target), priors.adapt(p_target))
    with pytest.raises(ValueError, match="the same names in another order"):
        priors.adapt(target[[20, 10, 30]])
