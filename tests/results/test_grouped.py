"""The headline names a group by the probability that its error is the largest."""

import json
from datetime import datetime

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayescal import BinDraws, Estimand, Evaluation, evaluate_counts, plot_forest
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts


def grouped_of(draws):
    """Make groups whose ECE has these draws: one bin with accuracy 0 and the ECE as its confidence."""
    counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=1)
    plain = evaluate_counts(counts, draws=2, rng=1)
    groups = {}
    for label, values in draws.items():
        column = np.array(values)[:, None]
        one = np.ones_like(column)
        bins = BinDraws(one, 0 * column, column, np.array([True]), one)
        groups[label] = Evaluation(counts, plain.posterior, bins, plain.null_bin_draws, "shrinkage", 1, 2)
        np.testing.assert_array_equal(groups[label].ece.values, values)
    return GroupedEvaluation(groups, plain, dict.fromkeys(draws, 1), "site", 3)


def test_the_largest_group_by_hand():
    """The largest group by draw: a; a tie of a and b; b; c; a."""
    grouped = grouped_of({"a": [0.3, 0.2, 0.1, 0.0, 0.5], "b": [0.1, 0.2, 0.4, 0.0, 0.3], "c": [0, 0, 0, 0.1, 0.2]})
    assert grouped.p_largest() == pytest.approx({"a": 2.5 / 5, "b": 1.5 / 5, "c": 1 / 5})
    assert grouped.standing_out() is None
    assert grouped.sentence().startswith(
        "No group stands out: of 3 groups, a (3 rows) is the most likely to have the largest ECE, with "
        "probability 0.50. The posterior means lie between 0.060 and 0.220; the ECE of all rows is 0."
    )


def test_lower_ends_that_tie_at_zero_do_not_decide():
    """Every group may be exactly calibrated; the first has the smallest mean."""
    spread = np.linspace(0, 0.1, 19)
    grouped = grouped_of({name: [0.0, *(k * spread)] for name, k in (("a", 0.1), ("b", 3), ("c", 1))})
    assert {float(e.ece.interval(0.95)[0]) for e in grouped.values()} == {0.0}
    assert grouped.standing_out() == "b"
    assert grouped.sentence().startswith("Of 3 groups, b (3 rows) stands out: its ECE is 0.1")


@pytest.mark.parametrize(("ahead", "named"), [(79, None), (80, "b")])
def test_a_group_stands_out_from_a_probability_of_four_fifths(ahead, named):
    grouped = grouped_of({"a": [0.1] * 100, "b": [0.2] * ahead + [0.0] * (100 - ahead)})
    assert grouped.p_largest()["b"] == pytest.approx(ahead / 100)
    assert grouped.standing_out() == named
    assert ("No group stands out" in grouped.sentence()) is (named is None)
    assert str(grouped).startswith(grouped.sentence()[:60])


@pytest.mark.slow
def test_folds_that_differ_by_chance_have_no_headline():
    """Five folds of one calibrated model, eight times: a fold that is named has the largest mean."""
    named = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        counts = {}
        for fold in range(5):
            p = rng.random(200)
            counts[fold] = BinnedCounts.from_arrays(rng.random(200) < p, p, bins=8, target="event")
        grouped = evaluate_counts(counts, draws=300, rng=seed)
        out = grouped.standing_out()
        named += out is not None
        if out is not None:
            assert out == max(grouped, key=lambda fold: grouped[fold].ece.mean())
        assert ("No group stands out" in grouped.sentence()) is (out is None)
    assert named <= 1


def test_one_group_is_told_by_itself():
    grouped = grouped_of({"a": [0.1, 0.3]})
    assert grouped.standing_out() is None
    assert grouped.sentence().startswith("The ECE of a (3 rows) is 0.200 (95 % credible interval 0.105 to 0.295);")


def test_what_has_a_sign_goes_by_its_size():
    grouped = grouped_of({"a": [0.1, 0.3], "b": [0.2, 0.2]})
    assert grouped.p_largest("signed_error") == {"a": 0.5, "b": 0.5}
    assert grouped.p_largest(lambda bins: -bins.confidence[:, 0]) == {"a": 0.5, "b": 0.5}


# --- the order of groups


def test_groups_are_shown_by_their_mean_the_largest_error_first():
    """Means 0.2, 0.3, 0.1 and 0.2: ties keep their order. Draws, datatree and mapping keep the given order."""
    grouped = grouped_of({"a": [0.1, 0.3], "b": [0.3, 0.3], "c": [0.1, 0.1], "d": [0.2, 0.2]})
    assert grouped.in_order() == [row["group"] for row in grouped.table()] == ["b", "a", "d", "c"]
    assert [line.split()[0] for line in str(grouped).splitlines() if line.startswith((" a ", " b ", " c ", " d "))] == (
        ["b", "a", "d", "c"]
    )
    assert list(grouped.to_frame().index) == ["b", "a", "d", "c"]
    assert list(grouped.to_frame(order="given").index) == list(grouped) == ["a", "b", "c", "d"]
    assert [row["group"] for row in grouped.table(order="given")] == ["a", "b", "c", "d"]
    assert [each["label"] for each in json.loads(grouped.to_json())["groups"]] == ["b", "a", "d", "c"]
    rows = [label.get_text().split()[0] for label in plot_forest(grouped, Figure().subplots()).get_yticklabels()]
    assert rows == ["b", "a", "d", "c", "all"]
    np.testing.assert_allclose(grouped.draws().mean(), [0.2, 0.3, 0.1, 0.2])
    with pytest.raises(ValueError, match="`order` must be one of"):
        grouped.table(order="best")


@pytest.mark.parametrize(
    ("estimand", "expected"),
    [
        ("signed_error", ["b", "a", "c"]),  # -0.3, -0.2, -0.1: the farthest from 0 first
        (Estimand("worth", lambda bins: 1 - bins.confidence[:, 0], "worth", better="larger"), ["b", "a", "c"]),
        (Estimand("size", lambda bins: bins.confidence[:, 0], "size", better=None), ["a", "b", "c"]),
    ],
)
def test_the_order_has_the_direction_of_the_estimand(estimand, expected):
    grouped = grouped_of({"a": [0.2] * 3, "b": [0.3] * 3, "c": [0.1] * 3})
    assert grouped.in_order(estimand) == [row["group"] for row in grouped.table(estimand=estimand)] == expected


def test_windows_of_time_stay_in_the_order_of_time():
    days = [datetime(2026, 1, day) for day in (1, 2, 3)]
    grouped = grouped_of(dict(zip(days, ([0.1] * 3, [0.3] * 3, [0.2] * 3), strict=True)))
    assert grouped.order == "given"
    assert grouped.in_order() == days
    assert grouped.in_order(order="worst first") == [days[1], days[2], days[0]]


def test_the_group_that_the_headline_names_is_always_shown():
    """The named group has the largest ECE in half of the draws, but the smallest mean of 40 groups."""
    draws = {f"g{i}": [0.2 + i / 1000, 0.2 + (40 - i) / 1000, 0.2, 0.2] for i in range(39)}
    draws["odd"] = [0.3, 0.3, 0.0, 0.0]
    grouped = grouped_of(draws)
    assert "odd (3 rows)" in grouped.sentence()
    assert grouped.in_order()[-1] == "odd"
    shown = [line.split()[0] for line in str(grouped).splitlines() if line.startswith((" g", " odd"))]
    assert len(shown) == 25
    assert shown[-1] == "odd"
    assert shown[:-1] == grouped.in_order()[:24]
    assert [row[0] for row in grouped.sheet(whole=True).rows[1:]] == grouped.in_order()
