"""States of rows in an engine are those of the rules of a row; types that cannot play a role are refused."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from bayescal._invalid import InvalidRows
from bayescal.stats.query.row_states import (
    FRACTION,
    INFINITE,
    KINDS,
    MISSING,
    NEGATIVE,
    OK,
    OTHER,
    OUTSIDE,
    TOO_LARGE,
    InvalidStates,
    confidence_state,
    outcome_state,
    refuse_types,
    together,
    weight_state,
)

NAN, INF = float("nan"), float("inf")


def states(expression, values):
    frame = nw.from_native(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}))
    return frame.select(expression(nw.col("x")).alias("s"))["s"].to_list()


@pytest.mark.parametrize(
    ("expression", "values", "expected"),
    [
        (
            confidence_state,
            [0.0, 1.0, 1 + 1e-9, 1.1, -0.1, INF, NAN, None],
            [OK, OK, OK, OUTSIDE, OUTSIDE, INFINITE, MISSING, MISSING],
        ),
        (
            outcome_state,
            [0.0, 1.0, 0.5, 2.0, -1.0, -INF, NAN, None],
            [OK, OK, FRACTION, OTHER, OTHER, INFINITE, MISSING, MISSING],
        ),
        (
            weight_state,
            [0.0, 3.0, -1.0, 1e200, INF, NAN, None],
            [OK, OK, NEGATIVE, TOO_LARGE, INFINITE, MISSING, MISSING],
        ),
    ],
)
def test_each_value_has_its_state(expression, values, expected):
    assert states(expression, values) == expected


def test_states_of_two_columns_are_one_number():
    frame = nw.from_native(pl.DataFrame({"x": [0.5, 7.0], "y": [2.0, 1.0]}))
    both = together([confidence_state(nw.col("x")), outcome_state(nw.col("y"))])
    assert frame.select(both.alias("s"))["s"].to_list() == [KINDS * OTHER, OUTSIDE]


def test_rows_of_a_state_are_counted_with_their_number():
    invalid = InvalidStates(np.array([0, KINDS * MISSING, MISSING]), np.array([10, 2, 3]), {"p": "`p`", "y": "`y`"})
    with pytest.raises(InvalidRows, match=r"`p` must be complete; 2 of 15 values are missing"):
        invalid.refuse_missing(1, "p")
    invalid.refuse_weights(1, "p")
    with pytest.raises(InvalidRows, match=r"`y` must be complete; 3 of 15 values are missing"):
        invalid.refuse_missing(0, "y")


@pytest.mark.parametrize(
    ("role", "dtype", "message"),
    [
        ("outcome", nw.String(), "holds string labels"),
        ("outcome", nw.Date(), "must hold 0 and 1 or booleans, not dtype Date"),
        ("confidence", nw.Boolean(), r"numbers \(probabilities\), not dtype Boolean. Hard predictions\?"),
        ("weights", nw.String(), r"must hold numbers, not dtype String\.$"),
        ("confidence", nw.Object(), "dtype object"),
    ],
)
def test_types_that_do_not_suit_a_role(role, dtype, message):
    with pytest.raises(TypeError, match=message):
        refuse_types("`x`", role, dtype)


def test_types_that_suit_a_role():
    for role, dtype in (
        ("outcome", nw.Boolean()),
        ("outcome", nw.Int8()),
        ("confidence", nw.Float32()),
        ("weights", nw.Int64()),
    ):
        refuse_types("`x`", role, dtype)
