"""Groups from columns of labels: order, empty groups, names, labels that files hold as text."""

import numpy as np
import pandas as pd
import pytest

from bayescal._invalid import InvalidRows
from bayescal.data.groups import Groups, equation, in_order, in_words, numbers_of_measurement, require_group_labels
from bayescal.data.predictions import Predictions


def test_groups_are_sorted_and_rows_keep_their_label():
    groups = Groups.from_column(["b", "a", "b"], 3)
    assert (groups.labels, groups.of_row.tolist()) == (("a", "b"), [1, 0, 1])
    assert [rows.tolist() for rows in groups.rows()] == [[1], [0, 2]]


def test_several_columns_are_combined_by_row():
    frame = pd.DataFrame({"ward": [7, 7, 3], "sex": ["m", "f", "m"]})
    groups = Groups.from_column(frame, 3)
    assert groups.labels == ((3, "m"), (7, "f"), (7, "m"))
    assert groups.equation((7, "m")) == equation("ward, sex", (7, "m")) == "ward = 7, sex = m"


def test_categories_give_the_order_and_groups_without_rows():
    by = pd.Series(pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True), name="risk")
    groups = Groups.from_column(by, 2)
    assert groups.labels == ("low", "high")
    assert groups.with_empty(by).labels == ("low", "mid", "high")
    assert groups.with_empty(by).of_row.tolist() == [0, 2]


def test_rows_are_split_and_a_group_without_weight_is_refused():
    rows = Predictions.from_outcomes([0, 1, 1], [0.2, 0.7, 0.9], [1, 0, 2])
    parts = list(Groups.from_column(["a", "a", "b"], 3).split(rows))
    assert [part.confidence.tolist() for part in parts] == [[0.2, 0.7], [0.9]]
    with pytest.raises(InvalidRows, match="in group 'b'"):
        list(Groups.from_column(["a", "b", "a"], 3).split(rows))


def test_missing_labels_and_measurements_are_refused():
    with pytest.raises(ValueError, match=r"`by` must be complete; 1 of 2 values is missing"):
        Groups.from_column(["a", None], 2)
    with pytest.raises(ValueError, match=r"it holds 31 distinct numbers, 31 of them not integers, such as 0\.5"):
        Groups.from_column(np.arange(31) + 0.5, 31)
    assert len(Groups.from_column(np.arange(30) + 0.5, 30)) == 30


def test_labels_of_files_are_sorted_as_numbers_if_all_are():
    assert list(in_order(["10", "9"])) == [9, 10]
    assert list(in_order(["2.5", "-1.0", "10"])) == ["-1.0", "2.5", "10"]
    assert list(in_order(["10", "9b"])) == ["10", "9b"]


def test_labels_of_files_are_no_measurement_and_not_too_many():
    texts = [f"0.{i}" for i in range(10, 41)]
    assert numbers_of_measurement(texts) == [float(text) for text in texts]
    with pytest.raises(ValueError, match=r"31 are numbers that are not integers, such as 0\.1"):
        require_group_labels(texts, most=100)
    with pytest.raises(
        ValueError, match="at most 2 groups, since the draws of more do not fit into memory; there are 3"
    ):
        require_group_labels(["a", "b", "c"], most=2)


def test_example_of_in_words():
    assert (in_words("north", "site"), in_words(3, "fold"), in_words(("north", 3), "site, fold")) == (
        "north",
        "fold 3",
        "north, 3",
    )
