"""Labels and probabilities of files: which columns form a matrix, and which class each stands for."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_tables import MATRIX, as_delimited, as_json_lines, write

from bayescal import datasets
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import class_columns, open_predictions


def test_endings_that_are_integers_are_sorted_as_numbers(tmp_path):
    rows = open_predictions(write(tmp_path / "x.csv", MATRIX), label="label", prob_prefix="p").read()
    assert rows.columns == ("p1", "p2", "p10")
    assert rows.classes == (1, 2, 10)
    np.testing.assert_array_equal(rows.y_prob, [[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]])


def test_other_endings_are_class_names_in_the_order_of_the_file(tmp_path):
    file = write(tmp_path / "x.csv", "p_label,p_dog,p_cat\ncat,0.2,0.8\ndog,0.6,0.4\n")
    rows = open_predictions(file, label="p_label", prob_prefix="p_").read()  # the label itself begins like this
    assert rows.classes == ("dog", "cat")
    assert rows.y_true.tolist() == ["cat", "dog"]
    by_name = open_predictions(file, label="p_label", prob_prefix="p_", classes=["cat", "dog"]).read()
    np.testing.assert_array_equal(by_name.y_prob, rows.y_prob[:, ::-1])
    with pytest.raises(ValueError, match=r"`classes` \['cat', 'cow'\] must be the classes that the columns name"):
        open_predictions(file, label="p_label", prob_prefix="p_", classes=["cat", "cow"]).read()


def test_classes_name_numbered_columns(tmp_path):
    file = write(tmp_path / "x.csv", "label,p1,p0\ncat,0.2,0.8\ndog,0.6,0.4\n")
    rows = open_predictions(file, label="label", prob_prefix="p", classes=["cat", "dog"]).read()
    assert rows.classes == ("cat", "dog")
    np.testing.assert_array_equal(rows.y_prob, [[0.8, 0.2], [0.4, 0.6]])
    with pytest.raises(ValueError, match="or 2 names for them"):
        open_predictions(file, label="label", prob_prefix="p", classes=["cat", "dog", "cow"]).read()


@pytest.mark.parametrize(
    ("header", "prefix", "told"),
    [
        ("label,p0,p1,p_mean,pq", "p", r"integers follow in 'p0', 'p1', something else in 'p_mean', 'pq'. A longer"),
        ("label,p_0,p_1", "p", r"begin with '_'. Did you mean the prefix 'p_'\?"),
        ("label,p_0,p_1", "q_", "at least two columns of 'x.csv'; none does.* The columns are 'label', 'p_0', 'p_1'"),
        ("label,p_0", "p_", "only 'p_0' does"),
        ("label,p1,p1", "p", "2 columns called 'p1'"),
    ],
)
def test_endings_that_are_no_classes(tmp_path, header, prefix, told):
    file = write(tmp_path / "x.csv", header + "\n" + ",".join(["0"] * (header.count(",") + 1)) + "\n")
    with pytest.raises(ValueError, match=told):
        open_predictions(file, label="label", prob_prefix=prefix).read()


def test_weights_are_no_class(tmp_path):
    file = write(tmp_path / "x.csv", "label,p_a,p_b,p_w\na,0.5,0.5,2\n")
    rows = open_predictions(file, label="label", prob_prefix="p_", weights="p_w").read()
    assert rows.columns == ("p_a", "p_b")
    assert rows.weights.tolist() == [2]


def test_class_columns_of_a_source(tmp_path):
    source = open_source(write(tmp_path / "x.csv", MATRIX))
    assert class_columns(source, "p", classes=["10", "2", "1"]) == (("p10", "p2", "p1"), (10, 2, 1))


BIG = ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_classes_that_float64_cannot_tell_apart_are_told_apart(tmp_path, form):
    table = {"label": [int(BIG[1]), int(BIG[0])], f"p_{BIG[0]}": [0.75, 0.5], f"p_{BIG[1]}": [0.25, 0.5]}
    file = tmp_path / "x"
    if form == "parquet":
        pq.write_table(pa.table(table), file)
    else:
        write(file, as_json_lines(table) if form == "jsonl" else as_delimited(table))
    rows = open_predictions(file, label="label", prob_prefix="p_").read()
    assert rows.classes == BIG
    assert rows.y_true.tolist() == [BIG[1], BIG[0]]
    assert rows.y_prob.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    event = open_predictions(file, label="label", prob=f"p_{BIG[1]}", classes=BIG).read()
    assert event.y_true.tolist() == [BIG[1], BIG[0]]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_one_long_label_does_not_widen_all_labels(tmp_path, form):
    labels = ["cat", "dog"] * 5000
    table = {"label": [*labels, "x" * 100_000, "cat\0"], "p_cat": [0.5] * 10_002, "p_dog": [0.5] * 10_002}
    text = as_json_lines(table) if form == "jsonl" else as_delimited(table)
    rows = open_predictions(write(tmp_path / "x", text), label="label", prob_prefix="p_").read()
    assert rows.y_true.nbytes < 10_002 * 400
    assert rows.y_true[:2].tolist() == ["cat", "dog"]
    assert not set(rows.y_true[-2:].tolist()) & {"cat", "dog"}  # so they are refused as unknown classes
    assert rows.y_true[-2].startswith("xxx")


def test_a_shipped_file_has_a_matrix_of_three_classes():
    rows = open_predictions(datasets.path("wine"), label="label", prob_prefix="random_forest_").read()
    assert (rows.y_prob.shape, rows.classes) == ((178, 3), (0, 1, 2))
    np.testing.assert_array_equal(rows.y_true, datasets.load_wine().y_true)


def test_blocks_of_a_stream_are_the_rows_of_the_file():
    stream = open_predictions(datasets.path("wine"), label="label", prob_prefix="random_forest_")
    (block,) = stream.blocks()
    np.testing.assert_array_equal(block.y_prob, stream.read().y_prob)
    assert block.y_prob.shape == (178, 3)
