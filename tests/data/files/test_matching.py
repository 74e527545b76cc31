"""Predictions of several classifiers on the same rows, matched by keys where they are in several files."""

import numpy as np
import pytest
from file_tables import write

from bayescal import datasets
from bayescal.data.files.formats import open_source
from bayescal.data.files.matching import read_models
from bayescal.data.files.predictions import ModelColumns


def columns_of(*files):
    """One classifier per file, named a, b, ..."""
    return {name: ModelColumns(open_source(file), "y", prob="p") for name, file in zip("abc", files, strict=False)}


@pytest.fixture
def first(tmp_path):
    return write(tmp_path / "a.csv", "id,y,p,w\nx,0,0.25,1\ny,1,0.5,2\nz,1,0.75,3\n")


def test_two_classifiers_of_a_shipped_file():
    wine, names = open_source(datasets.path("wine")), ("naive_bayes", "random_forest")
    rows = read_models({name: ModelColumns(wine, "label", prob_prefix=f"{name}_") for name in names})
    for name in names:
        np.testing.assert_array_equal(rows[name].y_prob, datasets.load_wine().y_prob[name])


def test_rows_of_a_second_file_are_put_in_the_order_of_the_first(first, tmp_path):
    other = write(tmp_path / "b.csv", "id,y,p,w\nz,1,0.7,3\nx,0,0.2,1\ny,1,0.6,2\n")
    rows = read_models(columns_of(first, other), key="id", weights="w")
    assert rows["a"].y_prob.tolist() == [0.25, 0.5, 0.75]
    assert rows["b"].y_prob.tolist() == [0.2, 0.6, 0.7]
    assert rows["b"].weights.tolist() == [1, 2, 3]
    assert rows["b"].place(0) == "line 3 of 'b.csv'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,y,p\nx,0,0.2\ny,1,0.6\n", "1 of 3 rows of 'a.csv' have a key that is not in 'b.csv', first 'z' in line 4"),
        ("id,y,p\nx,0,0.2\ny,1,0.6\ny,1,0.7\n", "1 of 3 rows repeat the key of an earlier row, first 'y' in line 4"),
        (
            "id,y,p\nx,0,0.2\ny,0,0.6\nz,1,0.7\n",
            "'y' must be the same in both files; 1 of 3 rows differ, first key 'y'",
        ),
        ("id,y,p\n7,0,0.2\n8,1,0.6\n9,1,0.7\n", "No key is in both"),
    ],
)
def test_rows_that_do_not_match_are_refused(first, tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_models(columns_of(first, write(tmp_path / "b.csv", text)), key="id")


def test_several_files_need_a_key(first, tmp_path):
    with pytest.raises(ValueError, match="`key` must name the column"):
        read_models(columns_of(first, write(tmp_path / "b.csv", "id,y,p\nx,0,0.2\n")))
