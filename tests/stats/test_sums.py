"""Sums by index are floats, whatever the number of values; numbers of rows are exact up to 2^63 - 1."""

import ast
import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import bayescal.stats
from bayescal import BinnedCounts, CalibrationMonitor, PairedCounts, load_counts, save_counts
from bayescal.stats.bins import make_bins
from bayescal.stats.sums import cosine, effective_number, ratio, row_counts, sums_at

ODD = 2**53 + 1  # not representable as float64
MOST = 2**63 - 1


@pytest.mark.parametrize("index", [[], [1, 0, 1]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_are_floats(index, dtype):
    found = sums_at(np.array(index, int), np.ones(len(index), dtype), 3)
    assert found.dtype == np.float64
    assert found.tolist() == [index.count(0), index.count(1), 0]
    found += 0.5  # as callers do


def test_nothing_else_in_this_layer_uses_bincount_with_weights():
    """`np.bincount` returns integers if there are no values."""
    for file in Path(bayescal.stats.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.bincount" and file.name != "sums.py":
                weighted = len(node.args) > 1 or any(keyword.arg == "weights" for keyword in node.keywords)
                assert not weighted, f"{file}:{node.lineno} should call sums_at"


def counts_of(cells, bins=2, dtype=np.int64):
    """Make unweighted counts whose confidences are the bin midpoints."""
    cells = np.array(cells, dtype=dtype)
    n = cells.sum(axis=0)
    zeros = np.zeros(len(n))
    made = make_bins(bins)
    return BinnedCounts(made, cells, cells.astype(float), np.zeros(cells.shape), zeros, n.astype(float))


def pair_of(n):
    """Make two equal models with outcomes 0 in the first bin and outcomes 1 in the second."""
    margin = counts_of([[n[0], 0], [0, n[1]]])
    rows = np.array(n, dtype=np.int64)
    return PairedCounts(
        margin, margin, np.array([[0, 0, 0, 0], [1, 1, 1, 1]]), rows, rows.astype(float), rows.astype(float)
    )


def test_sums_of_rows_are_exact_beyond_what_floats_hold():
    total = counts_of([[ODD, 0], [4, 2]]) + counts_of([[2, 3], [ODD, 1]])
    assert total.cells.tolist() == [[ODD + 2, 3], [ODD + 4, 3]]
    assert total.n.tolist() == [2 * ODD + 6, 6]
    assert total.n_rows == 2 * ODD + 12
    assert total.coarsen(1).cells.tolist() == [[ODD + 5], [ODD + 7]]


def test_joint_sums_are_exact_beyond_what_floats_hold():
    total = pair_of([ODD, 4]) + pair_of([2, ODD])
    assert total.n.tolist() == [ODD + 2, ODD + 4]
    assert total.n_rows == 2 * ODD + 6
    assert total.first.cells.tolist() == [[ODD + 2, 0], [0, ODD + 4]]
    assert total.swapped().n.tolist() == [ODD + 2, ODD + 4]


@pytest.mark.parametrize("make", [lambda n: counts_of([[n, 0], [0, n]]), lambda n: pair_of([n, n])])
def test_unweighted_rows_stay_unweighted_however_many(tmp_path, make):
    """In floats, adding 1 to 2^53 twice gives 2^53."""
    total = make(2**53) + make(1) + make(1)
    assert not total.weighted
    assert not sum([make(1)] * 3, make(2**53)).weighted
    path = save_counts(total, tmp_path / "counts.json")
    assert "weight" not in json.loads(path.read_text())
    assert load_counts(path) == total
    assert total.n_rows == 2 * (2**53 + 2)


def test_fewer_bins_of_unweighted_rows_are_unweighted():
    fine = counts_of([[2**53, 1, 1, 0]] * 2, bins=4)
    assert not fine.coarsen(1).weighted
    assert fine.coarsen(1).n_rows == 2 * (2**53 + 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: counts_of([[n, 0], [0, 0]]),
        lambda n: counts_of([[0, 0], [0, n]]),
        lambda n: pair_of([n, 0]),
        lambda n: CalibrationMonitor(2).add_counts(counts_of([[n, 0], [0, 0]])),
        lambda n: CalibrationMonitor(2, window=1).add_counts(counts_of([[n, 0], [0, 0]]), time=3),
    ],
    ids=["outcome 0", "outcome 1", "pair", "monitor", "windows"],
)
def test_the_last_sum_that_fits_and_the_first_that_does_not(make):
    assert (make(MOST - 1) + make(1)).n_rows == MOST
    for one, other, said in ((MOST, 1, 2**63), (MOST, MOST, 2**64 - 2), (2**62, 2**62, 2**63)):
        with pytest.raises(ValueError, match=rf"less than 2\^63 rows; the sum is {said}\."):
            make(one) + make(other)


def test_a_monitor_that_is_full_stays_as_it_was():
    monitor = CalibrationMonitor(2, window=1).add_counts(counts_of([[MOST, 0], [0, 0]]), time=0)
    with pytest.raises(ValueError, match=r"less than 2\^63"):
        monitor.add([0, 1], [0.2, 0.7], time=[1, 0])
    assert monitor.n_rows == MOST
    monitor.add([0, 1], [0.2, 0.7], time=1)
    assert monitor.n_rows == MOST + 2  # Python's integers
    with pytest.raises(ValueError, match=r"less than 2\^63"):
        monitor.evaluate()
    assert monitor.counts(1, 2).n_rows == 2


def test_cells_overflow_together_though_none_does_alone():
    with pytest.raises(ValueError, match=rf"the sum is {4 * 2**62}\."):
        counts_of([[2**62, 2**62], [2**62, 2**62]], dtype=np.uint64)


@pytest.mark.parametrize(
    ("cells", "error", "said"),
    [
        (np.array([[2**63, 0], [0, 0]], np.uint64), ValueError, r"less than 2\^63"),
        (np.array([[2**64 - 1, 0], [0, 1]], np.uint64), ValueError, rf"the sum is {2**64}"),
        (
            np.array([[1, 0], [0, -1]]),
            ValueError,
            r"`cells` must be >= 0; 1 of 4 values is not, first .*\(1, 1\): -1",
        ),
        (np.array([[-(2**63), 0], [0, 0]]), ValueError, "must be >= 0"),
        (np.array([[1.0, 0], [0, 0]]), TypeError, "integers, not dtype float64"),
        (np.array([[True, False], [False, False]]), TypeError, "integers, not dtype bool"),
    ],
)
def test_what_is_no_number_of_rows_is_refused(cells, error, said):
    zeros = np.zeros((2, 2))
    with pytest.raises(error, match=said):
        BinnedCounts(make_bins(2), cells, zeros, zeros, zeros[0], zeros[0])


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "u8", "i8"])
def test_integers_of_any_size_become_int64(dtype):
    made = counts_of([[100, 100], [50, 0]], dtype=dtype)
    assert made.cells.dtype == np.int64
    assert (made + made).cells.tolist() == [[200, 200], [100, 0]]
    values = np.arange(3)
    assert row_counts("n", values) is values


@pytest.mark.parametrize("way", [copy.deepcopy, lambda counts: pickle.loads(pickle.dumps(counts))])
def test_copies_cannot_be_changed_either(way):
    counts = way(pair_of([3, 4]))
    assert counts == pair_of([3, 4])
    for array in (counts.n, counts.cells, counts.first.cells, counts.first.weight, counts.first.bins.edges):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_joint_cells_that_wrap_to_their_margins_are_refused(tmp_path):
    """In 64 bits, 2^63 - 1 + 2^63 - 1 + 4 wraps to 2."""
    margin = {
        "bins": {"kind": "equal-width", "number": 1},
        "rows": 2,
        "cells": [[2], [0]],
        "deviation": [[0.0], [0.0]],
        "deviation_sq": [0.0],
        "losses": None,
    }
    cells = {"bins": {"kind": "equal-width", "number": 3}, "rows": 2, "cells": [[2, 0, 0], [0, 0, 0]]}
    other = margin | cells | {"deviation": [[0.0] * 3] * 2, "deviation_sq": [0.0] * 3}
    document = {
        "schema": "bayescal.counts/2",
        "kind": "paired",
        "target": "event",
        "first": margin,
        "second": other,
        "cells": [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 2, 0]],
        "n": [MOST, MOST, 4],
        "loss_difference": None,
    }
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rf"counts\.json': `n` must add up to less than 2\^63 rows; .* {2**64 + 2}\."):
        load_counts(path)


def test_values_with_the_same_index_are_added_and_other_indexes_have_0():
    assert sums_at([2, 0, 2], [0.5, 1.0, 2.0], 4).tolist() == [1.0, 0.0, 2.5, 0.0]


def test_effective_rows_of_two_weights():
    """(1 + 1 + 2)^2 / (1 + 1 + 4) = 16 / 6."""
    assert effective_number(np.array([1.0, 1.0, 2.0])) == pytest.approx(8 / 3, rel=1e-15)
    assert effective_number(np.zeros(3)) == 0


def test_the_sum_of_unsigned_numbers_of_rows_is_exact():
    with pytest.raises(ValueError, match=r"must add up to less than 2\^63 rows; the sum is 9223372036854775808\.$"):
        row_counts("n", np.array([2**63 - 1, 1], np.uint64))


def test_quotients_of_empty_bins():
    top, bottom = np.array([1.0, 0.0, 3.0]), np.array([4.0, 0.0, 2.0])
    assert ratio(top, bottom, empty=-1.0).tolist() == [0.25, -1.0, 1.5]
    assert np.isnan(ratio(top, bottom)).tolist() == [False, True, False]


def test_the_cosine_of_squares_that_underflow():
    """The product of 1e-200 and 1e-200 is 0 in float64; the cosine of parallel vectors is 1."""
    assert cosine(1e-200, 1e-200, 1e-200, same=False) == pytest.approx(1, rel=1e-12)
    assert cosine(0.0, 1.0, 0.0, same=False) == 0


def test_example_of_cosine():
    assert (cosine(4.0, 9.0, 3.0, same=False), cosine(0.0, 9.0, 0.0, same=True)) == (0.5, 1.0)
