"""A change is now minus the baseline, whichever of them is better."""

import numpy as np
import pytest

import bayescal as bc


@pytest.mark.parametrize("worse", [0, 1])
def test_the_table_of_a_change_is_in_the_order_of_time(worse):
    rng = np.random.default_rng(1)
    monitor = bc.CalibrationMonitor(window=1, target="event")
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
