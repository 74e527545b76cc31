"""Columns of which some are missing, strata of confidence, tables of checked rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from judged_sets import judged_set

import bayescal as bc
from bayescal.data.frames import with_missing
from bayescal.labels.rows import JudgedRows, strata_of

NAN = float("nan")


def read(y, p, judge, **options):
    return JudgedRows.read(y, p, judge, **{"target": "confidence", "classes": None, "logits": False} | options)


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 0, NAN],
        (True, None, False, None),
        np.array([1, NAN, 0, NAN]),
        np.array([[1], [NAN], [0], [NAN]]),
        np.ma.array([1, 0, 0, 1], mask=[False, True, False, True]),
        pd.Series([1, pd.NA, 0, pd.NA], dtype="Int64"),
        pd.Series([True, None, False, None]),
        pd.Series([1.0, NAN, 0.0, NAN]),
        pd.DataFrame({"y": [1, None, 0, None]}),
        pl.Series([1, None, 0, None]),
        pl.Series([1.0, NAN, 0.0, None]),
        pa.array([True, None, False, None]),
    ],
    ids=lambda column: f"{type(column).__module__.partition('.')[0]}-{getattr(column, 'dtype', '')}",
)
def test_every_container_may_have_missing_labels(column):
    array, known = with_missing("y_true", column)
    assert known.tolist() == [True, False, True, False]
    assert array[known].tolist() == [1, 0]
    rows = read(column, [0.2, 0.4, 0.6, 0.8], [0, 1, 1, 0])
    assert rows.checked.tolist() == [True, False, True, False]
    assert rows.outcome.tolist() == [True, False, False, False]


def test_missing_text_and_classes():
    rows = read(["yes", None, NAN, "no"], [0.2, 0.4, 0.6, 0.8], ["no", "yes", "no", None], classes=("no", "yes"))
    assert rows.outcome[rows.checked].tolist() == [True, False]
    assert rows.judge[rows.judged].tolist() == [False, True, False]
    # the outcome of counts is the judge's label, and the true one where there is none
    assert rows.predictions.outcome.tolist() == [False, True, False, False]


def test_columns_of_the_caller_are_not_changed():
    y = np.array([NAN, 1, 0])
    read(y, [0.2, 0.4, 0.6], [1, 1, 0])
    np.testing.assert_array_equal(y, [NAN, 1, 0])


@pytest.mark.parametrize(
    ("y", "p", "judge", "message"),
    [
        ([1, None, None], [0.1, 0.2, 0.3], [1, None, 0], "`judge` must be known where `y_true` is missing; 1 of 3"),
        ([1, 2, None], [0.1, 0.2, 0.3], [1, 1, 0], "`y_true` must be binary labels, 0 or 1; 1 of 3.*index 1: 2"),
        ([1, 0, None], [0.1, 0.2, 0.3], [0.5, 1, 0], "`judge` must be binary labels, 0 or 1; 1 of 3.*index 0: 0.5"),
        ([1, 0, None], [0.1, 1.2, 0.3], [1, 1, 0], r"`y_prob` must lie in \[0, 1\]; 1 of 3.*index 1"),
        ([1, 0, None], [0.1, 0.2], [1, 1, 0], "must have the same length"),
        ([1, 0], [0.1, 0.2], [1, 1, 0], "must have the same length"),
    ],
)
def test_errors_name_the_column_and_the_row(y, p, judge, message):
    with pytest.raises(ValueError, match=message):
        read(y, p, judge)


def test_indexes_must_agree():
    with pytest.raises(ValueError, match="index"):
        read(pd.Series([1, 0, None], index=[5, 6, 7]), [0.1, 0.2, 0.3], pd.Series([1, 1, 0], index=[7, 6, 5]))


def test_counts_evidence_and_table():
    c = [0.1, 0.1, 0.4, 0.6, 0.6, 0.9]
    y, judge = [0, None, 1, None, 1, 0], [1, 0, 1, 1, None, 0]
    rows = read(y, c, judge)
    counts = rows.counts(2, "equal-width")
    assert counts.n.tolist() == [3, 3]
    assert counts.n_checked.tolist() == [2, 2]
    assert counts.k.tolist() == [1, 1]
    np.testing.assert_allclose(counts.mean_confidence, [0.2, 0.7])
    np.testing.assert_allclose(counts.share, [0.5, 0.5])
    evidence = rows.evidence(counts.bins, np.array([0, 1]))
    assert evidence.n.tolist() == [1, 1]
    assert evidence.k.tolist() == [0, 1]
    # (1, 1), (1, 0), (0, 0), (0, 1); the row without a judge's label is not in it
    assert rows.table(counts.bins, np.array([0, 1])).tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]
    assert rows.judged_by_label(counts.bins, np.array([0, 1])).tolist() == [[2, 1], [1, 1]]
    given = counts.with_kernel(np.array([0.5, 2.0]), np.array([0.5, 1.0]))
    np.testing.assert_allclose(given.accuracy, [1.5 / 3, 3 / 5])
    np.testing.assert_allclose(given.effective_n, [3, 5])


def strata(which, n_checked=300, bins=15, slope=1.0):
    rows = judged_set(n=3000, checked=n_checked, slope=slope)
    read_rows = read(rows.y, rows.confidence, rows.judge)
    return strata_of(which, read_rows, read_rows.counts(bins, "equal-width"))


def test_strata_by_number_and_edges():
    assert strata("auto").tolist() == [0] * 7 + [1] * 8 or strata("auto").tolist() == [0] * 8 + [1] * 7
    assert strata("auto", n_checked=199).tolist() == [0] * 15
    assert strata(1).tolist() == [0] * 15
    assert strata(3).tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert strata([0.2, 0.61]).tolist() == [0] * 3 + [1] * 6 + [2] * 6
    assert strata([]).tolist() == [0] * 15


def test_auto_needs_ten_of_each_label_in_both():
    """Few checked rows with label 0 above: accuracies of 1 at high confidence."""
    rows = judged_set(n=3000, checked=300, slope=1.0)
    truth = rows.truth | (rows.confidence > 0.5)
    columns = np.where(rows.checked, truth, NAN), rows.confidence, np.where(rows.checked, truth, rows.judge)
    read_rows = read(*columns)
    assert strata_of("auto", read_rows, read_rows.counts(15, "equal-width")).max() == 0


@pytest.mark.parametrize("which", ["two", [0.5, 0.4], [0.0, 0.5], [0.52, 0.54], [0.001], [[0.5]], 40, 0, 1.5])
def test_impossible_strata(which):
    with pytest.raises((ValueError, TypeError), match="`strata"):
        strata(which)


def test_no_known_label():
    rows = read([None, None], [0.2, 0.7], [1, 0])
    assert not rows.checked.any()
    assert rows.counts(2, "equal-width").checked.n_rows == 0
    assert isinstance(rows.counts(2, "equal-width").checked, bc.BinnedCounts)
