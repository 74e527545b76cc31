"""Columns of which some are missing."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayescal.data.frames import with_missing
from bayescal.labels.sums import JudgedRows

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
        (
            [1, None, None],
            [0.1, 0.2, 0.3],
            [1, None, 0],
            "`judge` must be known where the true label is.*; 1 of 3",
        ),
        ([1, 2, None], [0.1, 0.2, 0.3], [1, 1, 0], "`y_true` must be binary labels, 0 or 1; 1 of 3.*index 1: 2"),
        ([None, 2, None], [0.1, 0.2, 0.3], [1, 1, 0], "`y_true` must be binary labels, 0 or 1; 1 of 3.*index 1: 2"),
        ([1, 0, None], [0.1, 0.2, 0.3], [0.5, 1, 0], "`judge` must be binary labels, 0 or 1; 1 of 3.*index 0: 0.5"),
        ([1, 0, None], [0.1, 1.2, 0.3], [1, 1, 0], r"`y_prob` must lie in \[0, 1\]; 1 of 3.*index 1"),
        ([1, 0, None], [0.1, 0.2], [1, 1, 0], "must have the same length"),
        ([1, 0], [0.1, 0.2], [1, 1, 0], "must have the same length"),
    ],
)
def test_errors_name_the_column_and_the_row(y, p, judge, message):
    with pytest.raises(ValueError, match=message):
        read(y, p, judge)


def test_errors_do_not_count_missing_words():
    with pytest.raises(ValueError, match=r"`y_true` must be labels from `classes` .*; 1 of 3 values is not.*index 1"):
        read([None, "maybe", None], [0.1, 0.2, 0.3], ["no", "yes", "yes"], classes=("no", "yes"))


def test_indexes_must_agree():
    with pytest.raises(ValueError, match="index"):
        read(pd.Series([1, 0, None], index=[5, 6, 7]), [0.1, 0.2, 0.3], pd.Series([1, 1, 0], index=[7, 6, 5]))
