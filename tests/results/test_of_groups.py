"""Results of groups of rows and their order."""

from datetime import UTC, datetime

import numpy as np
import pytest

from bayescal import net_benefit, recalibration
from bayescal.results.of_groups import in_order, of_each_group, usual_order


def test_groups_of_recalibrations_and_decision_curves_are_ordered_too():
    """Slopes 1, 0.4 and 2.5 of the three groups; only the first group has useful predictions at the threshold."""
    rng = np.random.default_rng(1)
    x, by = rng.normal(0, 1.5, 6000), np.repeat(["exact", "over", "under"], 2000)
    p = 1 / (1 + np.exp(-x))
    slope = {"exact": 1.0, "over": 0.4, "under": 2.5}
    y = rng.random(6000) < 1 / (1 + np.exp(-x * np.vectorize(slope.get)(by)))
    lines = recalibration(y, p, by=by, rng=1)
    assert lines.in_order() == ["under", "over", "exact"]
    assert [row[0] for row in lines.sheet().rows] == ["under", "over", "exact", "all rows"]
    assert list(dict.fromkeys(row["group"] for row in lines.table())) == ["under", "over", "exact"]
    curves = net_benefit(y, p, 0.5, by=by, rng=1)
    assert curves.in_order() == [row[0] for row in curves.sheet().rows[:-1]] == ["over", "exact", "under"]
    assert curves.in_order("given") == ["exact", "over", "under"]


def test_the_worst_group_is_first_and_ties_keep_their_order():
    groups = {"a": 1, "b": 3, "c": 1}
    assert in_order(groups, float, None) == ["b", "a", "c"]
    assert in_order(groups, float, "given") == in_order(groups, None, "worst first") == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"`order` must be one of .*'worst first', 'given'.*not 'best first'"):
        in_order(groups, float, "best first")


def test_windows_of_time_are_in_the_order_of_time():
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2)]
    assert usual_order(days) == "given"
    assert usual_order([*days, "later"]) == "worst first"
    assert in_order(dict(zip(days, (1, 2), strict=True)), float, None) == days


def test_example_of_in_order():
    assert (in_order({"a": 1, "b": 3, "c": 1}, float, None), in_order({"a": 1, "b": 3}, float, "given")) == (
        ["b", "a", "c"],
        ["a", "b"],
    )


def test_example_of_each_group():
    assert of_each_group(max, ["a", "b"], [1, 4], [2, 3]) == {"a": 2, "b": 4}
