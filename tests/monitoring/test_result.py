"""Results of a monitor: a change is now minus the baseline, runs and remarks of intervals, and what an alarm says."""

import numpy as np
import pytest
from monitored_streams import REFERENCE

import bayescal as bc
from bayescal import CalibrationMonitor, ConfidenceSequence
from bayescal.monitoring.result import in_e_words


@pytest.mark.parametrize("worse", [0, 1])
def test_the_table_of_a_change_is_in_the_order_of_time(worse):
    rng = np.random.default_rng(1)
    monitor = bc.monitoring.CalibrationMonitor(window=1, target="event")
    for time in (0, 1):
        p = rng.random(1500)
        monitor.add(rng.random(1500) < (p**2 if time == worse else p), p, time=time)
    change = monitor.change((0, 1), (1, 2), rng=1, draws=300)
    (row,) = change.table()
    assert (row["first"], row["second"]) == ("now", "baseline")
    assert row["mean"] == change.difference().mean()
    assert (row["mean"] > 0) is (worse == 1)
    assert change.sheet().rows[-1][0] == "now - baseline"
    as_table = change.to_latex(estimand="brier_score")
    assert f"{change.difference(estimand='brier_score').mean():.4f}".lstrip("-") in as_table
    assert "event Brier score" in as_table
    assert ("has risen" if worse == 1 else "has fallen") in change.sentence()


def test_p_values_never_rise(monitor):
    evidence = monitor.evidence()
    assert (np.diff(evidence.p_values) <= 0).all()
    assert evidence.p_values[0] <= 1
    assert evidence.p_values[-1] == pytest.approx(1 / evidence.values.max())


def test_the_frame_of_a_confidence_sequence_has_its_own_intervals(monitor):
    """They are neither equal-tailed nor intervals of another probability."""
    sequence = monitor.confidence_sequence(prob=0.9)
    frame = sequence.to_frame()
    assert list(frame.columns) == ["n_rows", "plug_in", "low", "high"]
    np.testing.assert_array_equal(frame["high"], sequence.high)
    assert sequence.to_frame(prob=0.9).equals(frame)
    with pytest.raises(ValueError, match=r"`prob` must be 0.9, the probability of this sequence, not 0.8"):
        sequence.to_frame(prob=0.8)


def made(low, high):
    n = len(low)
    return ConfidenceSequence(
        tuple(range(n)), np.arange(1, n + 1) * 10, np.array(low), np.array(low), np.array(high), 0.95, "question"
    )


def test_runs_of_windows_on_one_side_of_a_limit():
    """The first window with an interval above or below a limit does not say where the last one lies."""
    sequence = made([0.0, 0.0, 0.0, 0.1, 0.1, 0.3], [0.5, 0.1, 0.19, 0.3, 0.19, 0.4])
    assert sequence.runs(0.2) == [("below", 1, 2), ("below", 4, 4), ("above", 5, 5)]
    assert (sequence.below(0.2), sequence.above(0.2)) == (1, 5)
    assert made([0.3, 0.3], [0.4, 0.4]).runs(0.2) == [("above", 0, 1)]
    one = CalibrationMonitor(window=1).add([1], [0.2], time=0).confidence_sequence()
    assert one.sentence().startswith("If accuracies do not change, the ECE of the 1 row lies between")
    on_it = made([0.1, 0.2], [0.2, 0.4])
    assert (on_it.runs(0.2), on_it.above(0.2), on_it.below(0.2)) == ([], None, None)


def test_intervals_that_exclude_each_other_are_named():
    assert made([0.0, 0.1, 0.1], [0.3, 0.2, 0.2]).remarks == ()
    (rising,) = made([0.0, 0.0, 0.25, 0.1], [0.3, 0.2, 0.4, 0.3]).remarks
    assert "the one after the window 1 ends at 0.2000, and the one after 2 begins at 0.2500" in rising
    (falling,) = made([0.25, 0.0], [0.4, 0.2]).remarks
    assert "the one after the window 1 ends at 0.2000, and the one after 0 begins at 0.2500" in falling
    c = np.full(1000, 0.5)
    monitor = CalibrationMonitor(window=1)
    for time in range(8):
        monitor.add(np.arange(1000) % 2 if time < 4 else np.ones(1000, int), c, time=time)
    assert "Begin anew with `start=`" in monitor.confidence_sequence().remarks[-1]
    assert monitor.confidence_sequence(end=4).remarks == monitor.confidence_sequence(start=4).remarks == ()


def test_an_alarm_in_the_window_0_is_an_alarm():
    """0 is false, and so would be `if monitor.alarm`."""
    monitor = CalibrationMonitor(window=1).add([1] * 20, [0.2] * 20, time=0)
    assert (monitor.alarm, monitor.evidence().raised) == (0, True)
    with pytest.raises(TypeError, match="an Evidence is neither true nor false"):
        bool(monitor.evidence())


def test_an_alarm_says_which_result_has_its_size(monitor):
    """Intervals that assume constant accuracies begin after the alarm of a change."""
    evidence, change = monitor.evidence(), monitor.evidence(reference=REFERENCE)
    assert f"`monitor.confidence_sequence(start={evidence.alarm + 1})`" in evidence.remarks[-1]
    assert "not valid after a change" not in evidence.remarks[-1]
    assert "`monitor.change(baseline=..., now=...)`" in change.remarks[-1]
    start = f"`monitor.confidence_sequence(start={change.alarm + 1})`"
    assert f"not valid after a change; begin one after the alarm, with {start}" in change.remarks[-1]
    assert "start=...)" in monitor.evidence(end=evidence.alarm + 1).remarks[-1]


@pytest.mark.parametrize(
    ("log_value", "words"),
    [(np.log(35.26), "35.3"), (1000.0, "2.0e+434"), (-1000.0, "5.1e-435"), (0.0, "1"), (12.0, "1.6e+05")],
)
def test_e_values_beyond_floats_in_words(log_value, words):
    """e^1000 = 10^434.294 = 1.97 x 10^434, and 1 / 1.97 = 0.508."""
    assert in_e_words(log_value) == words
