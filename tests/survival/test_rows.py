"""Validation of survival rows, and risks from survival curves."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.survival.rows import SurvivalRows


@pytest.mark.parametrize(
    ("time", "event", "risk", "message"),
    [
        ([1, -2, 3], [1, 0, 1], [0.1, 0.2, 0.3], r"`time` must be >= 0; 1 of 3 values is not, first at index 1: -2"),
        ([1, np.nan, 3], [1, 0, 1], [0.1, 0.2, 0.3], r"`time` must be complete; 1 of 3 values is missing.* index 1"),
        ([1, np.inf, 3], [1, 0, 1], [0.1, 0.2, 0.3], r"`time` must be finite; 1 of 3 values is not.*index 1"),
        ([1, 2, 3], [1, -1, 1], [0.1, 0.2, 0.3], r"`event` must be 0 \(censored\).*1 of 3 values .*index 1: -1"),
        ([1, 2, 3], [1, 0.5, 1], [0.1, 0.2, 0.3], r"`event` must be 0 .*first at index 1: 0.5"),
        ([1, 2, 3], [1, np.nan, 1], [0.1, 0.2, 0.3], r"`event` must be complete; 1 of 3 .*index 1"),
        ([1, 2, 3], [1, 0, 1], [0.1, 1.2, 0.3], r"`risk` must lie in \[0, 1\]; 1 of 3 .*first at index 1: 1.2"),
        ([1, 2, 3], [1, 0, 1], [0.1, -2, 0.3], r"`risk` must lie in \[0, 1\];.*linear predictor is no risk"),
        ([1, 2, 3], [1, 0, 1], [0.1, np.nan, 0.3], r"`risk` must be complete; 1 of 3 .*index 1"),
        ([1, 2], [1, 0, 1], [0.1, 0.2, 0.3], r"must have the same length"),
        ([], [], [], r"`time` is empty"),
    ],
)
def test_invalid_rows(time, event, risk, message):
    with pytest.raises(ValueError, match=message):
        SurvivalRows.read(time, event, risk)


def test_swapped_columns_are_suspected():
    with pytest.raises(ValueError, match="Are `time` and `event` swapped"):
        SurvivalRows.read([1, 0, 1], [12.5, 3.25, 4.5], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("time", "event", "risk", "message"),
    [
        (["a", "b"], [1, 0], [0.1, 0.2], "`time` must hold numbers.*swapped"),
        ([1, 2], ["dead", "alive"], [0.1, 0.2], "`event` must hold 0, 1, 2.*Pass 0 for censored rows"),
        (np.array([1, 2], "m8[D]"), [1, 0], [0.1, 0.2], "divide durations by their unit"),
        ([1, 2], [1, 0], ["0.1", "0.2"], "`risk` must hold numbers in"),
        ([1, 2], [1, 0], [[0.1, 0.2], [0.1, 0.2]], "`risk` must be one-dimensional"),
    ],
)
def test_invalid_types(time, event, risk, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SurvivalRows.read(time, event, risk)


def test_causes():
    rows = SurvivalRows.read([1, 2, 3], [0, 2, 1], [0.1, 0.2, 0.3], cause=2)
    assert rows.cause == 2
    with pytest.raises(ValueError, match=r"`cause` must be a value of `event`; 3 does not occur among \[0, 1, 2\]"):
        SurvivalRows.read([1, 2, 3], [0, 2, 1], [0.1, 0.2, 0.3], cause=3)
    with pytest.raises(ValueError, match="`cause` must be an integer >= 1"):
        SurvivalRows.read([1, 2], [0, 1], [0.1, 0.2], cause=0)


def test_booleans_and_data_are_not_changed():
    time = np.array([3, 1])
    rows = SurvivalRows.read(time, [True, False], [0.1, 0.2])
    assert rows.event.tolist() == [1, 0]
    assert time.tolist() == [3, 1]


def test_indexes_are_compared():
    time, event = pd.Series([1.0, 2.0]), pd.Series([1, 0], index=[1, 0])
    with pytest.raises(ValueError, match="`event` must have the index of `time`"):
        SurvivalRows.read(time, event, [0.1, 0.2])


def test_risks_of_a_data_frame_of_curves():
    """As `predict_survival_function` of lifelines returns them: times are the index, rows are columns."""
    curves = pd.DataFrame({7: [0.9, 0.8, 0.5], 3: [1.0, 1.0, 0.25]}, index=[1.0, 2.0, 4.0])
    assert bc.risk_at_horizon(curves, 3).tolist() == pytest.approx([0.2, 0.0])
    assert bc.risk_at_horizon(curves, 4).tolist() == pytest.approx([0.5, 0.75])
    assert bc.risk_at_horizon(curves, 0.5).tolist() == [0.0, 0.0]
    assert bc.risk_at_horizon(curves, [2, 4]).tolist() == pytest.approx(np.array([[0.2, 0.5], [0.0, 0.75]]))


def test_risks_of_step_functions():
    """As `predict_survival_function` of scikit-survival returns them: an object array; the value is a * y + b."""
    steps = np.empty(2, object)
    steps[0] = SimpleNamespace(x=np.array([1.0, 2.0]), y=np.array([0.9, 0.6]), a=1.0, b=0.0)
    steps[1] = SimpleNamespace(x=np.array([1.0, 3.0]), y=np.array([0.4, 0.2]), a=0.5, b=0.5)
    assert bc.risk_at_horizon(steps, 2).tolist() == pytest.approx([0.4, 0.3])
    assert bc.risk_at_horizon(list(steps), [1, 2]).tolist() == pytest.approx(np.array([[0.1, 0.4], [0.3, 0.3]]))
    with pytest.raises(ValueError, match=r"`horizon` must not exceed the last time of `curves\[0\]`, 2"):
        bc.risk_at_horizon(steps, 2.5)
    with pytest.raises(TypeError, match="For survival curves, pass `risk_at_horizon"):
        bc.evaluate_survival([1, 2], [1, 0], steps, horizon=1)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [0.1, 0.4]}, index=[1, 2]), "do not increase with time.*Pass survival probabilities"),
        (pd.DataFrame({"a": [0.9, 0.4]}, index=[2, 1]), "must have times that increase"),
        (pd.DataFrame({"a": [1.9, 0.4]}, index=[1, 2]), r"must lie in \[0, 1\]"),
        ([0.3, 0.2], "must be a data frame with times as its index"),
        ("curves", "must be a data frame with times as its index"),
    ],
)
def test_invalid_curves(frame, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bc.risk_at_horizon(frame, 1)


@pytest.mark.parametrize(
    ("risk", "horizons", "message"),
    [
        (np.full((3, 5), 0.2), None, r"its shape is \(3, 5\).* a sequence as `horizon`.*risk_at_horizon\(curves"),
        (np.full((3, 5), 0.2), 2, r"one column per horizon.*not \(3, 5\).*risk_at_horizon\(curves"),
        (np.array([2.0, 3.0, 9.0]), None, "Percentages.* hazard ratio or a linear predictor is no risk"),
        (np.array([0.2, np.nan, 0.5]), None, "`risk` must be complete.*Rows are never dropped"),
    ],
)
def test_errors_of_risks_say_what_to_pass(risk, horizons, message):
    with pytest.raises(ValueError, match=message):
        SurvivalRows.read([1, 2, 3], [1, 0, 1], risk, horizons=horizons)


def test_negative_codes_are_not_taken_for_times():
    with pytest.raises(ValueError, match="`event` must be 0") as caught:
        SurvivalRows.read([1, 2, 3], [-1, -1, 1], [0.1, 0.2, 0.3])
    assert "swapped" not in str(caught.value)


def test_errors_of_curves_say_how_they_are_arranged():
    curves = pd.DataFrame({0: [1.0, 0.9, 0.7], 1: [1.0, 0.5, 0.4]}, index=[0.0, 2.0, 5.0])
    with pytest.raises(ValueError, match="the index holds the times: transpose it"):
        bc.risk_at_horizon(curves.assign(more=1.0).T.set_axis([0, 1, 2]), 1)
    with pytest.raises(TypeError, match=r"not ndarray. An array has no times.*pandas.DataFrame\(array.T, index=times"):
        bc.risk_at_horizon(curves.T.to_numpy(), 1)
    with pytest.raises(ValueError, match=r"at least one time and one row; its shape is \(3, 0\)"):
        bc.risk_at_horizon(curves.iloc[:, :0], 1)
