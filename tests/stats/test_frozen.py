"""The bases of counts: read-only arrays, equality by content, addition; on all kinds of counts."""

import copy
import pickle
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import bayescal as bc
from bayescal.stats.frozen import Counted, Sums, Whole
from bayescal.stats.losses import LossSums

Y, P, Q = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4]), np.array([0.3, 0.6, 0.8, 0.5])
MATRIX = np.stack([1 - P, P], axis=1)
CELLS = bc.ShiftCells.predicted_class(2)
CLUSTER = [0, 0, 1, 1]
COUNTS = {
    "binned": bc.BinnedCounts.from_arrays(Y, P, bins=3, target="event"),
    "in clusters": bc.BinnedCounts.from_arrays(Y, P, bins=3, target="event", cluster=CLUSTER),
    "paired": bc.PairedCounts.from_arrays(Y, P, Y, Q, bins=3, target="event"),
    "classwise": bc.ClasswiseCounts.from_arrays(Y, MATRIX, bins=3),
    "logit": bc.LogitCounts.from_arrays(Y, P),
    "survival": bc.SurvivalCounts.from_arrays([1, 2, 2, 3], Y, P, times=[1, 2, 3]),
    "shift": bc.ShiftCounts.of_source(Y, P, cells=CELLS, bins=3) + bc.ShiftCounts.of_target(Q, cells=CELLS, bins=3),
    "judged": bc.labels.JudgedCounts.from_arrays([0, None, 1, None], P, judge=Y, bins=3),
    "threshold": bc.ThresholdCounts.from_arrays(Y, {"a": P, "b": Q}, [0.3, 0.5], cluster=CLUSTER),
}


def arrays_of(counts):
    """All arrays of counts, and of the counts that they hold."""
    for each in fields(counts):
        values = getattr(counts, each.name)
        for value in values if isinstance(values, tuple) else (values,):
            if isinstance(value, np.ndarray):
                yield value
            elif isinstance(value, Sums):
                yield from arrays_of(value)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_frozen_also_as_copies(name):
    for counts in (COUNTS[name], copy.deepcopy(COUNTS[name]), pickle.loads(pickle.dumps(COUNTS[name]))):
        assert counts == COUNTS[name]
        found = list(arrays_of(counts))
        assert found
        assert not any(values.flags.writeable for values in found)


@pytest.mark.parametrize("name", COUNTS)
def test_sum_begins_with_0_and_other_types_are_refused(name):
    counts = COUNTS[name]
    assert sum([counts]) == counts + 0 == counts != counts + counts
    assert counts != 0
    assert counts != "counts"
    for other in (1, "counts", None, COUNTS["binned" if name == "logit" else "logit"]):
        with pytest.raises(TypeError, match="unsupported operand"):
            counts + other
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


@dataclass(frozen=True, eq=False)
class Two(Sums):
    """An array, an optional one, and a field that is not compared."""

    total: NDArray[np.float64]
    other: NDArray[np.float64] | None = None
    note: str = field(default="", compare=False)


def test_lists_become_arrays_and_fields_are_compared_by_content():
    assert isinstance(Two([1.0, 2.0]).total, np.ndarray)
    assert Two([1.0, 2.0]) == Two(np.array([1.0, 2.0]), note="another")
    assert Two([1.0, 2.0]) != Two([1.0, 3.0])
    assert Two([1.0]) != Two([1.0, 1.0])
    assert Two([1.0]) != Two([1.0], np.ones(1))
    assert Two([1.0], np.ones(1)) == Two([1.0], np.ones(1))
    assert Two([1.0]) != LossSums([1.0], [1.0])


@dataclass(frozen=True, eq=False)
class Tally(Counted):
    """Numbers of rows, and a sum of floats that may be given as integers."""

    rows: NDArray[np.int64]
    total: NDArray[np.float64]

    rows_field = "rows"


def test_fields_have_the_annotated_type_and_are_added():
    tally = Tally(np.array([1, 2], np.uint8), [3, 4])
    assert (tally.rows.dtype, tally.total.dtype) == (np.int64, np.float64)
    twice = tally + tally
    assert (twice.rows.tolist(), twice.total.tolist(), twice.n_rows) == ([2, 4], [6.0, 8.0], 6)
    assert sum([tally, tally]) == twice
    with pytest.raises(ValueError, match="read-only"):
        twice.total[0] = 0


def test_numbers_of_rows_must_be_numbers_of_rows():
    with pytest.raises(ValueError, match=r"`rows` must be >= 0; 1 of 2 values is not, first at index 1: -2"):
        Tally(np.array([1, -2]), np.zeros(2))
    with pytest.raises(TypeError, match="`rows` must hold numbers of rows"):
        Tally(np.array([1.5]), np.zeros(1))


@dataclass(frozen=True, eq=False)
class Curve(Whole):
    """Something of all rows."""

    values: NDArray[np.float64]

    not_added = "curves cannot be added; pass all rows."


def test_what_is_of_all_rows_is_not_added_but_to_0():
    curve = Curve(np.zeros(2))
    assert sum([curve]) is curve
    with pytest.raises(TypeError, match=r"^curves cannot be added; pass all rows\.$"):
        curve + curve


def test_sums_of_other_types_are_not_added():
    class Other(Sums):
        pass

    with pytest.raises(TypeError, match="unsupported operand"):
        Tally(np.array([1]), np.zeros(1)) + Other()


def test_fractions_are_no_numbers_of_rows():
    counts = bc.PairedCounts.from_arrays([0, 1], [0.2, 0.7], [0, 1], [0.3, 0.6], bins=2)
    with pytest.raises(ValueError, match="must be whole"):
        replace(counts, cells=counts.cells + 0.5)
    assert replace(counts, cells=counts.cells.astype(float)) == counts
