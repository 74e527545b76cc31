"""Columns whose indexes differ are refused wherever columns meet; values are combined by position."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayescal as bc
from bayescal.data.frames import same_rows
from bayescal.stats.paired import PairedCounts

RNG = np.random.default_rng(12)
P = RNG.random(40)
Y = (RNG.random(40) < P).astype(int)
LABELS = [f"row {i}" for i in range(40)]
OTHER_ORDER = RNG.permutation(40)
HONEST = pd.Series(Y, LABELS)
#: The same labels with the same values, in another order.
PROB = pd.Series(P, LABELS).iloc[OTHER_ORDER]
ONES = pd.Series(1.0, LABELS).iloc[OTHER_ORDER]
GROUP = pd.Series(["a", "b"] * 20, LABELS).iloc[OTHER_ORDER]
MATRIX = pd.DataFrame({0: 1 - P, 1: P}, LABELS).iloc[OTHER_ORDER]
RIGHT = pd.Series(P, LABELS)
#: (arguments that meet, the one refused)
DOORS = {
    "evaluate": (lambda: bc.evaluate(HONEST, PROB, rng=1), "y_prob"),
    "evaluate a matrix": (lambda: bc.evaluate(HONEST, MATRIX, rng=1), "y_prob"),
    "evaluate classes": (lambda: bc.evaluate(HONEST, MATRIX, target="classwise", rng=1), "y_prob"),
    "evaluate, weights": (lambda: bc.evaluate(HONEST, RIGHT, weights=ONES, rng=1), "weights"),
    "evaluate, weights of arrays": (lambda: bc.evaluate(Y, RIGHT, weights=ONES, rng=1), "weights"),
    "evaluate, by": (lambda: bc.evaluate(HONEST, RIGHT, by=GROUP, rng=1), "by"),
    "evaluate, by two columns": (lambda: bc.evaluate(Y, RIGHT, by=pd.DataFrame({"a": GROUP, "b": 1}), rng=1), "by"),
    "evaluate, logits": (lambda: bc.evaluate(HONEST, PROB, logits=True, rng=1), "y_prob"),
    "plug_in_ece": (lambda: bc.plug_in_ece(HONEST, PROB), "y_prob"),
    "plug_in_ece of classes": (lambda: bc.plug_in_ece(HONEST, MATRIX, target="classwise"), "y_prob"),
    "compare": (lambda: bc.compare(HONEST, {"a": RIGHT, "b": PROB}), r"y_prob\['b'\]"),
    "compare arrays": (lambda: bc.compare(Y, {"a": RIGHT, "b": PROB}), r"y_prob\['b'\]"),
    "compare confidences": (
        lambda: bc.compare({"a": Y, "b": HONEST}, {"a": PROB, "b": P}, target="confidence"),
        r"y_prob\['a'\]",
    ),
    "from_labels": (lambda: bc.Predictions.from_labels(HONEST, PROB), "y_prob"),
    "from_outcomes": (lambda: bc.Predictions.from_outcomes(HONEST, PROB), "confidence"),
    "classwise": (lambda: bc.Predictions.classwise(HONEST, MATRIX), "y_prob"),
    "from_arrays": (lambda: bc.BinnedCounts.from_arrays(HONEST, PROB), "y_prob"),
    "counts of classes": (lambda: bc.BinnedCounts.classwise(HONEST, MATRIX), "y_prob"),
    "pairs": (lambda: PairedCounts.from_arrays(Y, RIGHT, Y, PROB), "second_confidence"),
    "add": (lambda: bc.monitoring.CalibrationMonitor().add(HONEST, PROB), "y_prob"),
    "add, weights": (lambda: bc.monitoring.CalibrationMonitor().add(HONEST, RIGHT, weights=ONES), "weights"),
    "add, time": (lambda: bc.monitoring.CalibrationMonitor(window=1).add(HONEST, P, time=ONES), "time"),
}


@pytest.mark.parametrize(("call", "argument"), DOORS.values(), ids=DOORS)
def test_another_order_is_refused(call, argument):
    moved = int((np.arange(40) != OTHER_ORDER).sum())
    with pytest.raises(
        ValueError,
        match=rf"^`{argument}` must have the index of `.*`: the labels are the same, but {moved} of 40 are in "
        rf"other positions, first at position 0: 'row {OTHER_ORDER[0]}', not 'row 0'\..*`{argument}\.loc\[.*\.index\]`",
    ):
        call()


def test_what_the_message_says_gives_the_right_number():
    expected = bc.plug_in_ece(Y, P)
    assert bc.plug_in_ece(HONEST, PROB.loc[HONEST.index]) == pytest.approx(expected, rel=1e-12)
    assert bc.plug_in_ece(HONEST, PROB.to_numpy()) != pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    "columns",
    [
        (HONEST, P),
        (Y, PROB),
        (HONEST, P.tolist()),
        (HONEST, pl.Series(P)),
        (HONEST, pd.Series(P, pd.Index(LABELS, dtype="string"))),
        (pd.Series(Y), pd.Series(P, np.arange(40))),
        (pd.Series(Y), pd.Series(P, np.arange(40.0))),
        (pd.Series(Y, [0] * 40), pd.Series(P, [0] * 40)),
        (pd.Series(Y, [np.nan, *range(39)]), pd.Series(P, [np.nan, *range(39)])),
        # a part of a larger frame, and what a model said of it: no label of one is missing in an order of the other
        (pd.Series(Y, np.arange(40) * 7 + 3), pd.Series(P)),
        (pd.Series(Y), pd.Series(P, LABELS)),
        (pd.Series(Y), pd.Series(P, pd.date_range("2026-01-01", periods=40))),
        (pd.Series(Y), pd.Series(P, pd.MultiIndex.from_product([range(8), range(5)]))),
    ],
)
def test_rows_that_do_not_contradict_each_other(columns):
    same_rows({"y_true": columns[0], "y_prob": columns[1]})
    assert bc.plug_in_ece(*columns) == pytest.approx(bc.plug_in_ece(Y, np.asarray(columns[1], float)), rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        # the default index and the index of a shuffled frame are two orders of the same labels
        ([0, 1, 2], [2, 1, 0], r"2 of 3 are in other positions, first at position 0: 2, not 0.*`p\.loc\[y\.index\]`"),
        (["a", "b", "c"], ["a", "b", "d"], "1 of 3 labels differ, first at position 2: 'd', not 'c'.*indexes equal"),
        ([3, 4, 5], [4, 5, 6], "3 of 3 labels differ"),
        ([7, 7, 8], [7, 8, 7], "2 of 3 are in other positions, first at position 1: 8, not 7.*Make the indexes equal"),
        ([("a", 1), ("b", 1), ("b", 2)], [("a", 1), ("b", 2), ("b", 1)], r"position 1: \('b', 2\), not \('b', 1\)"),
        (["x" * 1000, "b", "c"], ["b", "x" * 1000, "c"], "'b', not 'x{56}\\.\\.\\.\\."),
    ],
)
def test_indexes_that_differ(first, second, message):
    with pytest.raises(ValueError, match=f"^`p` must have the index of `y`.*{message}") as caught:
        same_rows({"y": pd.Series([0, 1, 1], pd.Index(first)), "p": pd.Series([0.2, 0.4, 0.9], pd.Index(second))})
    assert len(str(caught.value)) < 400


def test_the_default_index_is_an_order_too():
    with pytest.raises(ValueError, match="2 of 3 are in other positions"):
        same_rows({"y": pd.Series([0, 1, 1]), "p": pd.Series([0.2, 0.4, 0.9], [2, 1, 0])})


def test_lengths_are_not_what_is_said_here():
    with pytest.raises(ValueError, match="same length"):
        bc.plug_in_ece(HONEST, PROB[:-1])


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(ValueError, match=r"the indexes of `y` and `p` cannot be compared: .*`y\.to_numpy\(\)`"):
        same_rows({"y": pd.Series([0, 1], pd.Index([[1], [2]])), "p": pd.Series([0.2, 0.4], pd.Index([[2], [1]]))})


def test_equal_labels_in_another_order_are_counted():
    with pytest.raises(
        ValueError, match=r"^`y_prob` must have the index of `y_true`: the labels are the same, but 2 of 2"
    ):
        same_rows({"y_true": pd.Series([0, 1]), "y_prob": pd.Series([0.2, 0.7], index=[1, 0])})
