"""Cells below the bar of a study are measured again: which rows count, and which coverage is beside them."""

import pytest
from studies import TIMES_AGAIN, with_fresh_sets

WHERE = {"method": "bayescal"}


def rows(*coverages):
    """Rows of two quantities, by this package and by another method."""
    keys = [(quantity, method) for quantity in ("ece", "auc") for method in ("bayescal", "other")]
    return [
        {"quantity": quantity, "method": method, "coverage": coverage}
        for (quantity, method), coverage in zip(keys, coverages, strict=True)
    ]


def counted(found):
    return [(row["coverage"], row["first"]) for row in found]


def refuse(times):
    raise AssertionError("no row is low")


def test_nothing_is_measured_again_above_the_bar():
    found = with_fresh_sets(rows(0.85, 0.1, 0.9, 0.2), refuse, bar=0.85, where=WHERE)
    assert counted(found) == [(0.85, None), (0.1, None), (0.9, None), (0.2, None)]


def test_other_rows_are_not_judged():
    first = rows(0.1, 0.1, 0.9, 0.1)
    found = with_fresh_sets(first, refuse, bar=0.85, where={**WHERE, "quantity": "auc"})
    assert [row["coverage"] for row in found] == [0.1, 0.1, 0.9, 0.1]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((), [(0.91, 0.8), (0.92, 0.7), (0.93, 0.9), (0.94, 0.6)]),
        (("quantity",), [(0.91, 0.8), (0.92, 0.7), (0.9, None), (0.6, None)]),
    ],
)
def test_rows_of_fresh_data_sets_count(of, expected):
    """All rows of the cell, or those that agree with a low row in the chosen columns."""
    asked = []

    def again(times):
        asked.append(times)
        return rows(0.91, 0.92, 0.93, 0.94)

    found = with_fresh_sets(rows(0.8, 0.7, 0.9, 0.6), again, bar=0.85, where=WHERE, of=of)
    assert counted(found) == expected
    assert asked == [TIMES_AGAIN]


def test_both_measurements_have_the_same_rows():
    with pytest.raises(ValueError, match="shorter"):
        with_fresh_sets(rows(0.8, 0.7, 0.9, 0.6), lambda times: [], bar=0.85, where=WHERE)
