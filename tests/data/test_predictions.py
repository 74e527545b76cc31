"""Targets: how labels and probabilities become confidence and outcome."""

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal import Predictions

P = np.array([[0.2, 0.8, 0.0], [0.5, 0.1, 0.4], [0.3, 0.3, 0.4]])


@pytest.mark.parametrize(
    "changed",
    [
        {"confidence": np.array([0.5, 1.5])},
        {"confidence": np.array([0.5, np.nan])},
        {"confidence": np.array([0, 1])},
        {"confidence": [0.5, 0.5]},
        {"confidence": np.array([0.5])},
        {"outcome": np.array([0.5, 1])},
        {"outcome": np.array([2, 1])},
        {"outcome": np.array(["0", "1"])},
        {"outcome": [0, 1]},
        {"weight": np.array([1.0])},  # what follows it in memory would be taken for weights
        {"weight": np.array([1.0, -1.0])},
        {"weight": np.array([1.0, np.inf])},
        {"weight": np.array([1.0, np.nan])},
    ],
)
def test_columns_put_together_by_hand_are_looked_at(changed):
    columns = {"confidence": np.array([0.5, 0.25]), "outcome": np.array([0, 1]), "weight": np.ones(2)}
    assert len(Predictions(**columns)) == 2
    with pytest.raises(ValueError, match=r"`(confidence|outcome|weights)`"):
        Predictions(**columns | changed)


def test_event():
    made = Predictions.from_labels([0, 1, 1], [0.2, 0.7, 0.9])
    assert made.target == "event"
    assert made.outcome.tolist() == [0, 1, 1]
    assert made.confidence.tolist() == [0.2, 0.7, 0.9]
    assert made.weight is None
    assert len(made) == 3


def test_confidence_is_given():
    made = Predictions.from_labels([True, False], [0.9, 0.6], target="confidence")
    assert (made.target, made.outcome.tolist(), made.confidence.tolist()) == ("confidence", [True, False], [0.9, 0.6])


def test_top_label():
    made = Predictions.from_labels([1, 0, 0], P)
    assert made.target == "top-label"
    assert made.confidence.tolist() == [0.8, 0.5, 0.4]
    assert made.outcome.tolist() == [True, True, False]


def test_the_first_of_tied_classes_is_on_top():
    made = Predictions.from_labels([1, 0], [[0.4, 0.4, 0.2], [0.5, 0.5, 0.0]])
    assert made.outcome.tolist() == [False, True]


def test_classwise():
    made = Predictions.classwise([1, 0, 2], P)
    assert [p.target for p in made] == ["classwise"] * 3
    assert [p.outcome.tolist() for p in made] == [[False, True, False], [True, False, False], [False, False, True]]
    np.testing.assert_array_equal(np.column_stack([p.confidence for p in made]), P)


def test_a_class_nobody_has_keeps_its_column():
    """netcal guesses the number of classes from the labels present."""
    made = Predictions.classwise([0, 0, 0], P)
    assert len(made) == 3
    assert made[2].outcome.tolist() == [False, False, False]


def test_event_and_top_label_differ_on_two_classes():
    event = Predictions.from_labels([0, 1], [0.2, 0.3])
    top = Predictions.from_labels([0, 1], [[0.8, 0.2], [0.7, 0.3]])
    assert event.confidence.tolist() == [0.2, 0.3]
    assert top.confidence.tolist() == [0.8, 0.7]
    assert top.outcome.tolist() == [True, False]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1],
        [0.0, 1.0, 1.0],
        [False, True, True],
        np.array([0, 1, 1], np.uint8),
        np.array([0, 1, 1], object),
        [[0], [1], [1]],
    ],
)
def test_labels_of_any_kind(labels):
    made = Predictions.from_labels(labels, [0.2, 0.7, 0.9])
    assert np.array_equal(made.outcome.astype(int), [0, 1, 1])


def test_named_labels():
    event = Predictions.from_labels(["no", "yes", "yes"], [0.2, 0.7, 0.9], classes=["no", "yes"])
    assert event.outcome.tolist() == [0, 1, 1]
    turned = Predictions.from_labels(["no", "yes", "yes"], [0.2, 0.7, 0.9], classes=["yes", "no"])
    assert turned.outcome.tolist() == [1, 0, 0]
    top = Predictions.from_labels(["b", "a", "c"], P, classes=["a", "b", "c"])
    assert top.outcome.tolist() == [True, True, True]
    signs = Predictions.from_labels([-1, 1], [0.2, 0.7], classes=[-1, 1])
    assert signs.outcome.tolist() == [0, 1]
    digits = Predictions.from_labels([30, 10, 20], P, classes=np.array([10, 30, 20]))
    assert digits.outcome.tolist() == [True, True, True]


def test_longer_labels_than_the_names_are_unknown():
    """Fixed-width strings must not be cut to fit: 'catalogue' is not 'cat'."""
    with pytest.raises(ValueError, match="1 of 2 values is not, first at index 1: 'catalogue'"):
        Predictions.from_labels(["cat", "catalogue"], [0.1, 0.2], classes=["cat", "dog"])


def test_logits():
    made = Predictions.from_labels([0, 1, 1], [-2.0, 0.0, 800.0], logits=True)
    np.testing.assert_allclose(made.confidence, [1 / (1 + np.exp(2)), 0.5, 1.0])
    logit = np.array([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
    made = Predictions.from_labels([2, 0], logit, logits=True)
    e = np.exp([1.0, 2.0, 3.0])
    np.testing.assert_allclose(made.confidence, [e[2] / e.sum(), 1.0])


def test_logits_leave_the_callers_array():
    logit = np.array([-2.0, 0.0])
    Predictions.from_labels([0, 1], logit, logits=True)
    np.testing.assert_array_equal(logit, [-2, 0])


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [np.inf, 0.0]])
def test_logits_are_finite(bad):
    with pytest.raises(ValueError, match="`y_prob` must be"):
        Predictions.from_labels([0, 1], bad, logits=True)


def test_weights():
    made = Predictions.from_labels([0, 1], [0.1, 0.2], weights=[1, 3])
    assert made.weight.dtype == np.float64
    assert made.weight.tolist() == [1, 3]


def test_columns_are_not_copied():
    confidence, outcome = np.array([0.1, 0.2]), np.array([0, 1])
    made = Predictions.from_outcomes(outcome, confidence)
    assert np.shares_memory(made.confidence, confidence)
    assert np.shares_memory(made.outcome, outcome)


def test_float32_stays_float32_and_wider_floats_become_double():
    assert Predictions.from_outcomes([0], np.array([0.5], np.float32)).confidence.dtype == np.float32
    assert Predictions.from_outcomes([0], np.array([0.5], np.longdouble)).confidence.dtype == np.float64


@pytest.mark.parametrize(
    ("target", "y_prob", "message"),
    [
        ("event", P, r"`target='event'` needs one probability per row.*shape \(3, 3\)"),
        ("confidence", P, r"`target='confidence'` needs one probability per row"),
        ("top-label", [0.1, 0.2, 0.3], r"`target='top-label'` needs a matrix of shape \(N, K\) with K >= 2"),
        ("classwise", P, "`Predictions.classwise` makes the problems of all classes"),
        ("classwise", [0.1, 0.2, 0.3], r"`target='classwise'` needs a matrix"),
        ("toplabel", P, "Did you mean 'top-label'"),
        (None, P.reshape(1, 3, 3), r"must be a column, of shape \(N,\), or a matrix"),
    ],
)
def test_targets_and_shapes_must_fit(target, y_prob, message):
    with pytest.raises(ValueError, match=message):
        Predictions.from_labels([0, 1, 1], y_prob, target=target)


def test_classwise_needs_a_matrix():
    with pytest.raises(ValueError, match=r"`y_prob` must have shape \(N, K\) with K >= 2; its shape is \(3,\)"):
        Predictions.classwise([0, 1, 1], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("labels", "classes", "error", "message"),
    [
        (
            ["no", "yes"],
            None,
            TypeError,
            r"holds string labels \('no', 'yes'\); say what they mean with `classes=\('no', 'yes'\)`",
        ),
        (["0", "1"], None, TypeError, "string labels"),
        (["no", "yes"], ["no"], ValueError, "`classes` must name two labels"),
        (["no", "yes"], ["no", "no"], ValueError, "must name each label once"),
        (["no", "maybe"], ["no", "yes"], ValueError, "1 of 2 values is not, first at index 1: 'maybe'"),
        ([0, 1], ["no", "yes"], TypeError, "labels and classes must be of one type"),
        (["no", "yes"], [0, 1], TypeError, "labels and classes must be of one type"),
    ],
)
def test_classes_must_fit_the_labels(labels, classes, error, message):
    with pytest.raises(error, match=message):
        Predictions.from_labels(labels, [0.1, 0.2], classes=classes)


@pytest.mark.parametrize(
    ("labels", "hint"),
    [
        ([1, 2, 2], r"Two labels\? Pass `classes=\(1, 2\)`, first the one that counts as 0\."),
        ([1, -1, 1], r"Two labels\? Pass `classes=\(-1, 1\)`"),
        ([2.0, 0.0, 2.0], r"Two labels\? Pass `classes=\(0, 2\)`"),
        ([0, 1, 2], "Other labels need `classes"),
        ([7, 7, 7], "Other labels need `classes"),
        ([2**60, 1, 1], "Other labels need `classes"),
        ([0.2, 0.7, 0.2], "Partial credit, with 2 distinct values"),
    ],
)
def test_two_other_labels_get_a_hint(labels, hint):
    with pytest.raises(ValueError, match=hint):
        Predictions.from_labels(labels, [0.1, 0.2, 0.3])


def test_the_hint_for_two_other_labels_works():
    a = Predictions.from_labels([1, -1, 1], [0.1, 0.2, 0.3], classes=(-1, 1))
    np.testing.assert_array_equal(a.outcome, [1, 0, 1])


def test_classes_must_fit_the_columns():
    with pytest.raises(ValueError, match="`classes` must name the 3 columns of `y_prob`; it has 2 names"):
        Predictions.from_labels(["a", "b", "a"], P, classes=["a", "b"])
    with pytest.raises(TypeError, match=r"`classes=\[name of column 0, ...\]`"):
        Predictions.from_labels(["a", "b", "a"], P)


def test_messages_name_the_callers_columns():
    with pytest.raises(ValueError, match="`won` must be binary labels"):
        Predictions.from_outcomes([0, 2], [0.1, 0.2], names=("won", "probability"))
    with pytest.raises(ValueError, match=r"`probability` must lie in \[0, 1\]"):
        Predictions.from_outcomes([0, 1], [0.1, 1.2], names=("won", "probability"))


# labels in another form are refused with a hint


ONE_HOT = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
THREE = [[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]


@pytest.mark.parametrize("target", ["top-label", "classwise"])
@pytest.mark.parametrize("form", [list, np.array, pd.DataFrame, lambda m: np.array(m, bool)])
def test_one_hot_labels_get_a_hint(target, form):
    labels = form(ONE_HOT)
    with pytest.raises(
        ValueError, match=r"^`y_true` must be one-dim.*\(3, 3\)\. One-hot labels\? `numpy\.argmax\(y_true, axis=1\)`"
    ):
        bc.evaluate(labels, THREE, target=target)
    assert bc.plug_in_ece(np.argmax(labels, axis=1), THREE) == pytest.approx(bc.plug_in_ece([1, 0, 2], THREE))


@pytest.mark.parametrize("row", [[0, 2, 0], [0, 1, 1], [0, 0, 0], ["0", "1", "0"], [0.5, 0.5, 0], [-1, 1, 1]])
def test_other_matrices_of_labels_are_not_taken_for_one_hot(row):
    hint = r"( Several labels per row\? One column at a time: .*)?$"
    with pytest.raises(
        ValueError, match=rf"must be one-dimensional \(one value per row\); its shape is \(3, .\)\.{hint}"
    ):
        bc.plug_in_ece([row] * 3, THREE)


def test_labels_that_begin_with_one_get_a_hint():
    said = r"1 of 3 values is not, first at index 2: 3\. Labels 1\.\.3\? Pass `y_true - 1`, or `classes=range\(1, 4\)`"
    for labels in ([2, 1, 3], np.array([2.0, 1.0, 3.0])):
        with pytest.raises(ValueError, match=said):
            bc.plug_in_ece(labels, THREE)
    expected = bc.plug_in_ece([1, 0, 2], THREE)
    assert bc.plug_in_ece(np.array([2, 1, 3]) - 1, THREE) == expected
    assert bc.plug_in_ece([2, 1, 3], THREE, classes=range(1, 4)) == expected
    for labels in ([2, 0, 3], [2, 1, 4]):
        with pytest.raises(ValueError, match=r"first at index 2: \d\.$"):
            bc.plug_in_ece(labels, THREE)
