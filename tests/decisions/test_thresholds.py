"""Thresholds and names of models: values that are meant, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import as_thresholds


def test_thresholds_of_arange_are_the_numbers_meant():
    """0.29 in numpy.arange(0.01, 1, 0.01) is larger than 0.29, so that a score of 0.29 would not reach it."""
    arange = np.arange(0.01, 1, 0.01)
    assert arange[28] > 0.29
    np.testing.assert_array_equal(as_thresholds(arange), np.arange(1, 100) / 100)
    counts = ThresholdCounts.from_arrays([1], [0.29], arange)
    assert counts.cells.tolist() == [[29, 1]]


@pytest.mark.parametrize(
    ("thresholds", "error", "message"),
    [
        ([-0.1, 0.5], ValueError, r"must lie in \[0, 1\).*index 0"),
        ([0.5, 1.0], ValueError, r"must lie in \[0, 1\).*index 1.*odds are infinite"),
        ([10, 20], ValueError, "Percentages"),
        ([0.2, 0.1], ValueError, r"strictly increasing.*index 1: 0.1"),
        ([0.2, 0.2], ValueError, "strictly increasing"),
        ([0.2, np.nan], ValueError, r"complete.*index 1"),
        ([], ValueError, "empty"),
        (["0.1"], TypeError, "must be a number"),
        ([[0.1, 0.2]], TypeError, r"shape \(1, 2\)"),
        (1.5, ValueError, r"must lie in \[0, 1\)"),
    ],
)
def test_thresholds_that_are_refused(thresholds, error, message):
    with pytest.raises(error, match=message):
        ThresholdCounts.from_arrays([0, 1], [0.2, 0.7], thresholds)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, ValueError, "at least one model"),
        ({1: [0.2, 0.7]}, TypeError, "names that are strings"),
        ({"treat all": [0.2, 0.7]}, ValueError, "rename"),
    ],
)
def test_names_that_are_refused(models, error, message):
    with pytest.raises(error, match=message):
        ThresholdCounts.from_arrays([0, 1], models, 0.5)


def test_a_name_given_twice():
    frame = pd.DataFrame({"outcome": [0, 1], "a": [0.2, 0.7]})
    with pytest.raises(ValueError, match="'a' is given twice"):
        ThresholdCounts.from_frame(frame, 0.5, confidence=["a", "a"])
