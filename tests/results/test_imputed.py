"""The mixture of the results of imputations: joined draws, means, the share of missing information, remarks."""

import numpy as np
import pytest

from bayescal._presented import Presented
from bayescal.draws import Draws
from bayescal.results.imputed import Imputed, _missing, averaged, joined


def test_draws_are_joined_and_keep_their_name():
    found = joined([Draws(np.array([1.0, 2.0]), "ece", 1), Draws(np.array([3.0]), "ece", 2)])
    assert (found.values.tolist(), found.name) == ([1.0, 2.0, 3.0], "ece")
    other = joined([Draws(np.array([1.0, 2.0]), "slope", 1), Draws(np.array([3.0]), "slope", 2)])
    assert (found + other).values.tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="same evaluation"):
        found + Draws(np.array([1.0, 2.0, 3.0]), "ece", 1)
    assert joined([{"a": (np.ones(1), np.zeros((1, 2)))}] * 2)["a"][1].shape == (2, 2)


def test_means():
    assert averaged([1.0, 2.0]) == 1.5
    assert averaged([None, None]) is None
    assert averaged([{"a": np.array([False, True])}, {"a": np.array([False, False])}])["a"].tolist() == [False, True]
    assert averaged([{"a": np.array([1.0, 2.0])}, {"a": np.array([3.0, 4.0])}])["a"].tolist() == [2.0, 3.0]


def test_share_of_missing_information():
    """B = 4, W = 2.5: with M = 3, 4 / 3 B / (4 / 3 B + W) = 16 / 23.5."""
    sets = [{"mean": 0.0, "sd": 1.0}, {"mean": 2.0, "sd": 2.0}, {"mean": 4.0, "sd": 2.5**0.5}]
    assert _missing(sets) == pytest.approx(16 / 23.5)
    assert _missing([{"mean": 1.0, "sd": 0.0}] * 3) == 0.0


class Warned(Presented):
    """A result with remarks."""

    def __init__(self, *remarks):
        self.remarks = remarks


class Mixed(Imputed[Warned]):
    """A mixture of such results."""

    def __init__(self, *results):
        self.imputations = results


def test_each_remark_occurs_once():
    """Remarks that differ in numbers alone are one; two such remarks on one imputation are two."""
    found = Mixed(*[Warned(f"Only {k} events.", "a 1", "a 2", *["rare"] * (k == 2)) for k in range(6)]).remarks
    assert found == ("Only 0 events.", "a 1", "a 2", "1 of 6 imputations: rare")
    few = Mixed(*[Warned()] * 4).remarks
    assert few == ("Only 4 imputations: intervals may be too narrow. Make at least 5, better 20.",)
    assert Mixed(*[Warned()] * 5).remarks == ()
