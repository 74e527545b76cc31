"""Classes from the names of columns: never from values, and never by position where a name says something else."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayescal as bc
from bayescal.data.matrix import ClassRows, class_names, named_by_columns
from bayescal.data.predictions import Predictions

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]])
#: Class numbers of the rows, and the same labels in words, for columns in an order that is not that of the alphabet.
NUMBERS, WORDS, COLUMNS = [0, 1, 2, 1], ["eel", "cat", "dog", "cat"], ["eel", "cat", "dog"]
FRAMES = {
    "pandas": lambda names: pd.DataFrame(P, columns=names),
    "polars": lambda names: pl.DataFrame(P, schema=names),
    "pyarrow": lambda names: pa.table(dict(zip(names, P.T, strict=True))),
    "pyarrow batch": lambda names: pa.RecordBatch.from_pydict(dict(zip(names, P.T, strict=True))),
}
LABELS = {
    "list": list,
    "numpy": np.array,
    "objects": lambda words: np.array(words, dtype=object),
    "pandas": pd.Series,
    "categorical": pd.Categorical,
    "polars": pl.Series,
}


def outcomes(y, frame, **options):
    return Predictions.from_labels(y, frame, **options).outcome.tolist()


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_are_matched_with_names(make, labels):
    """Rows 0, 1 and 2 are right, row 3 is of class cat and says eel."""
    frame = make(COLUMNS)
    assert outcomes(labels(WORDS), frame) == [True, True, True, False]
    by_class = Predictions.classwise(labels(WORDS), frame)
    assert [each.outcome.tolist() for each in by_class] == [[n == k for n in NUMBERS] for k in range(3)]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_the_order_of_the_columns_does_not_change_the_result(make, order):
    """Labels are matched by name: permuted columns give the plug-in value of numbers beside an array."""
    if make is FRAMES["pandas"]:
        frame = pd.DataFrame(P, columns=COLUMNS)[[COLUMNS[k] for k in order]]
    else:
        frame = pl.DataFrame(P, schema=COLUMNS).select([COLUMNS[k] for k in order])
    expected = bc.plug_in_ece(NUMBERS, P, target="classwise")
    assert bc.plug_in_ece(WORDS, frame, target="classwise") == pytest.approx(expected, rel=1e-12)


def test_results_carry_the_names():
    ev = bc.evaluate(WORDS, FRAMES["pandas"](COLUMNS), target="classwise", rng=1, draws=20)
    assert ev.classes == ("eel", "cat", "dog")
    numbers = bc.evaluate([30, 10, 20, 10], FRAMES["pandas"]([30, 10, 20]), target="classwise", rng=1, draws=20)
    assert numbers.classes == (30, 10, 20)
    assert bc.evaluate(NUMBERS, P, target="classwise", rng=1, draws=20).classes == (0, 1, 2)
    counts = bc.BinnedCounts.classwise(WORDS, FRAMES["polars"](COLUMNS), bins=5)
    assert [int(each.k.sum()) for each in counts] == [1, 2, 1]


@pytest.mark.parametrize(
    "names", [[0, 1, 2], ["0", "1", "2"], ["p0", "p1", "p2"], ["column_0", "column_1", "column_2"]]
)
def test_names_that_number_the_columns_are_positions(names):
    assert outcomes(NUMBERS, FRAMES["pandas"](names)) == [True, True, True, False]
    assert outcomes(np.array(NUMBERS, float), FRAMES["pandas"](names)) == [True, True, True, False]


@pytest.mark.parametrize("names", [[2, 0, 1], ["2", "0", "1"], [2.0, 0.0, 1.0], np.array([2, 0, 1])])
def test_numbers_as_names_are_matched_as_numbers(names):
    """0.1.0 took columns by position, whatever their names."""
    y = [2, 0, 1, 0]  # the columns 0, 1, 2, 1
    assert outcomes(y, FRAMES["pandas"](names)) == [True, True, True, False]


def test_booleans_as_names():
    frame = pd.DataFrame({False: [0.7, 0.4], True: [0.3, 0.6]})
    assert outcomes([False, True], frame) == [True, True]
    assert outcomes([False, True], frame.iloc[:, ::-1]) == [True, True]


@pytest.mark.parametrize("names", [COLUMNS, ["p2", "p1", "p0"], ["p1", "p2", "p3"], ["a0", "b1", "c2"]])
@pytest.mark.parametrize("y", [NUMBERS, np.array(NUMBERS, float)], ids=["int", "float"])
def test_numbers_beside_other_names_are_not_guessed(names, y):
    with pytest.raises(TypeError, match=r"so the column of each label is unknown.*`classes=range\(3\)`"):
        Predictions.from_labels(y, FRAMES["pandas"](names))
    assert outcomes(y, FRAMES["pandas"](names), classes=range(3)) == [True, True, True, False]


def test_a_tuple_is_no_name_of_a_number():
    frame = pd.DataFrame(P, columns=pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("a", 2)]))
    with pytest.raises(TypeError, match="so the column of each label is unknown"):
        bc.evaluate(NUMBERS, frame)


def test_labels_that_are_no_column():
    message = (
        r"`y_true` must be labels from the columns of `y_prob` \['eel', 'cat', 'dog'\]; 2 of 4 values are not, first "
        r"at index 1: 'cow'\. Columns with other names need `classes`"
    )
    with pytest.raises(ValueError, match=message):
        bc.evaluate(["eel", "cow", "dog", "hen"], FRAMES["pandas"](COLUMNS))
    with pytest.raises(ValueError, match=r"1 of 4 values is not, first at index 0: 0\."):
        bc.evaluate([0, 1, 2, 3], FRAMES["pandas"]([1, 2, 3]))


@pytest.mark.parametrize(
    ("names", "classes", "said"),
    [
        (COLUMNS, ["cat", "dog", "eel"], "the same names in another order"),
        (
            COLUMNS,
            ["eel", "cat", "cow"],
            r"contradicts the columns.*2 of 3 columns have the name of a class, first 'eel'",
        ),
        (["p_eel", "cat", "p_dog"], ["cat", "dog", "eel"], "1 of 3 columns have the name of a class, first 'cat'"),
        ([0, 1, 2], [1, 2, 0], "the same names in another order"),
        ([10, 20, 30], [20, 30, 40], "contradicts the columns"),
        ([2, 1, 0], [0.0, 1.0, 2.0], "the same names in another order"),
        (["2", "1", "0"], np.array([0.0, 1.0, 2.0]), "the same names in another order"),
        (["1.0", "3.0", "2.0"], [1, 2, 3], "the same names in another order"),
    ],
)
def test_classes_must_not_contradict_the_columns(names, classes, said):
    for frame in (FRAMES["pandas"](names), *([FRAMES["polars"](names)] if isinstance(names[0], str) else [])):
        with pytest.raises(ValueError, match=said):
            bc.evaluate([classes[0]] * 4, frame, classes=classes)


@pytest.mark.parametrize(
    ("names", "classes", "y"),
    [
        (["p_eel", "p_cat", "p_dog"], COLUMNS, WORDS),
        (COLUMNS, COLUMNS, WORDS),
        ([0, 1, 2], [1, 2, 3], [1, 2, 3, 2]),  # the default numbering says nothing about labels
        (["0", "1", "2"], COLUMNS, WORDS),
        (COLUMNS, range(3), NUMBERS),
    ],
)
def test_classes_that_do_not_contradict_the_columns(names, classes, y):
    assert outcomes(y, FRAMES["pandas"](names), classes=classes) == [True, True, True, False]


def test_values_of_labels_do_not_decide():
    """Only the type of labels is used, so the same names mean the same for every sample."""
    for y in (np.array([0]), np.array([2, 2]), np.array([7])):
        assert class_names(y, ["p0", "p1", "p2"], None) is None
        assert class_names(y, ["2", "0", "1"], None) == (2, 0, 1)
    for y in (np.array(["0"]), np.array(["cat"])):
        assert class_names(y, ["0", "cat"], None) == ("0", "cat")


def test_boolean_columns_are_numbers():
    frame = pd.DataFrame({True: P[:, 0], False: 1 - P[:, 0]})
    with pytest.raises(ValueError, match="the same names in another order"):
        bc.evaluate([0, 1, 1, 0], frame, classes=[0, 1])


def test_numbers_that_do_not_begin_at_0_are_no_positions():
    with pytest.raises(TypeError, match="the column of each label is unknown"):
        class_names(np.array([0, 1, 2]), ["p10", "p11", "p12"], None)


def test_repeated_names_are_refused():
    with pytest.raises(ValueError, match="columns of different names"):
        bc.evaluate(WORDS, pd.DataFrame(P, columns=["eel", "eel", "dog"]))
    with pytest.raises(ValueError, match="the columns of `y_prob` must name each label once"):
        bc.evaluate([7, 7, 8, 8], pd.DataFrame(P, columns=["7", "07", "8"]))


def test_arrays_have_no_names():
    with pytest.raises(TypeError, match=r"`classes=\[name of column 0, ...\]`"):
        bc.evaluate(WORDS, P)
    with pytest.raises(TypeError, match=r"`classes=\[name of column 0, ...\]`"):
        bc.evaluate(WORDS, pd.DataFrame(P))


def test_comparisons_and_nested_calls_match_names_too():
    frame = FRAMES["pandas"](COLUMNS)
    comparison = bc.compare(WORDS, {"a": frame, "b": frame[["dog", "eel", "cat"]]}, rng=1, draws=50)
    assert comparison.difference("a", "b").values.tolist() == [0.0] * 50


def test_a_label_that_is_not_a_class_is_reported_with_the_number_of_classes():
    with pytest.raises(ValueError, match=r"labels from `classes` \['c0', .*, 'c9'\], \.\.\. \(12 labels\); 1 of 1"):
        bc.evaluate(["dog"], np.full((1, 12), 1 / 12), classes=[f"c{k}" for k in range(12)])


@pytest.mark.parametrize(
    ("labels", "names", "classes"),
    [(["b", "a"], ["a", "b"], ("a", "b")), ([30, 10], ["10", "30"], (10, 30)), ([1, 0], ["prob_0", "prob_1"], None)],
)
def test_classes_that_names_of_columns_state(labels, names, classes):
    assert class_names(np.array(labels), names, None) == classes


def test_the_top_label_is_the_first_of_equals():
    rows = ClassRows.read([1, 1, 2], [[0.4, 0.4, 0.2], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    confidence, correct, _ = rows.top_label()
    assert confidence.tolist() == [0.4, 0.5, 0.7]
    assert correct.tolist() == [False, True, True]


def test_example_of_named_by_columns():
    assert (named_by_columns(["cat", "dog"]), named_by_columns(["prob_0", "prob_1"]), named_by_columns(["0", "1"])) == (
        ("cat", "dog"),
        (),
        (),
    )
