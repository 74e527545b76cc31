"""Decisions, ranks and tables of joint draws: made by hand, so that every probability and rank is known."""

import numpy as np
import pytest

from bayescal.estimands.registry import registered
from bayescal.results.joint import checked_rope, listed, mean_ranks, p_smallest, rank_shares, ranks_of


def test_decisions_by_hand(comparison_of, eight_draws):
    """Half-width 0.015: left of it -3, -4; within it -1, 0, 0, 0; right of it 4, 3 hundredths."""
    decided = comparison_of(eight_draws, rope=0.015).decide("A", "B")
    assert [decided[name] for name in ("p_left", "p_rope", "p_right")] == [2 / 8, 4 / 8, 2 / 8]
    for name, p in (("p_left", 1 / 4), ("p_rope", 1 / 2), ("p_right", 1 / 4)):
        # the standard error of a share of 8 independent draws
        assert decided[f"{name}_mcse"] == pytest.approx(np.sqrt(p * (1 - p) / 8), rel=1e-12)


def test_the_ends_of_the_rope_belong_to_it(comparison_of):
    made = comparison_of({"A": [0.25, 0.75, 0.5, 0.5], "B": [0.5, 0.5, 0.5, 0.0]}, rope=0.25)
    decided = made.decide("A", "B")
    assert (decided["p_left"], decided["p_rope"], decided["p_right"]) == (0, 3 / 4, 1 / 4)
    assert made.decide("A", "B", rope=0.5)["p_rope"] == 1
    assert made.decide("A", "B", rope=0)["p_rope"] == 1 / 4


@pytest.mark.parametrize("rope", [0.0, 0.004, 0.015, 0.1])
def test_the_other_way_round_left_is_right_and_they_add_to_one(eight, rope):
    there, back = eight.decide("A", "C", rope=rope), eight.decide("C", "A", rope=rope)
    assert (there["p_left"], there["p_rope"], there["p_right"]) == (back["p_right"], back["p_rope"], back["p_left"])
    assert there["p_left"] + there["p_rope"] + there["p_right"] == pytest.approx(1, abs=1e-15)


def test_the_rope_curve_by_hand(eight):
    """Sizes of A - B: 0, 0, 0, 1, 3, 3, 4, 4 hundredths."""
    widths = [0, 0.005, 0.011, 0.029, 0.031, 0.041, 1]
    np.testing.assert_allclose(eight.rope_curve(widths, "A", "B"), np.array([3, 3, 4, 4, 6, 8, 8]) / 8)
    np.testing.assert_array_equal(eight.rope_curve(widths, "B", "A"), eight.rope_curve(widths, "A", "B"))


def test_the_rope_curve_rises_to_one_and_is_what_decide_says(real):
    widths = np.linspace(0, 1, 201)
    curve = real.rope_curve(widths, "A", "B")
    assert (np.diff(curve) >= 0).all()
    assert curve[0] == np.mean(real.difference("A", "B").values == 0)
    assert curve[-1] == 1
    assert curve[4] == real.decide("A", "B", rope=widths[4])["p_rope"]
    assert real.decide("A", "B")["p_rope"] == real.decide("A", "B", rope=0.02)["p_rope"]


def test_the_probability_to_be_best_by_hand(eight):
    """Draw by draw: A; all three; A and C; B; C; B; A; A and B."""
    best = eight.p_best()
    third, half = 1 / 3, 1 / 2
    assert best["A"] == pytest.approx((1 + third + half + 1 + half) / 8)
    assert best["B"] == pytest.approx((third + 1 + 1 + half) / 8)
    assert best["C"] == pytest.approx((third + half + 1) / 8)
    assert sum(best.values()) == pytest.approx(1)


def test_expected_ranks_are_those_of_scipy(eight, eight_draws):
    from scipy.stats import rankdata

    expected = rankdata(np.array(list(eight_draws.values())).T, axis=1).mean(axis=0)
    ranks = eight.expected_ranks()
    np.testing.assert_allclose([ranks[name] for name in "ABC"], expected)
    assert sum(ranks.values()) == pytest.approx(3 * 4 / 2)


def test_what_has_a_sign_is_compared_by_its_size(comparison_of):
    made = comparison_of({"A": [-0.05, 0.01], "B": [0.02, -0.03]}, rope=0.001)
    made._joint["signed_error"] = registered()["signed_error"], made._joint["ece"][1]
    assert made.decide("A", "B", estimand="signed_error")["p_left"] == 1 / 2
    assert made.p_best("signed_error") == {"A": 1 / 2, "B": 1 / 2}
    assert made.expected_ranks("signed_error") == {"A": 1.5, "B": 1.5}
    np.testing.assert_allclose(made.difference("A", "B", "signed_error").values, [-0.07, 0.04])


def test_the_table_has_every_pair_once_in_order(eight, eight_draws):
    table = eight.table(0.5)
    assert [(row["first"], row["second"]) for row in table] == [("A", "B"), ("A", "C"), ("B", "C")]
    row, difference = table[0], np.array(eight_draws["A"]) - np.array(eight_draws["B"])
    assert row["mean"] == pytest.approx(difference.mean())
    assert row["sd"] == pytest.approx(difference.std(ddof=1))
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(difference, [0.25, 0.75]))
    assert {k: row[k] for k in eight.decide("A", "B")} == eight.decide("A", "B")


def test_one_row_per_classifier(eight, eight_draws):
    told = eight.each(0.5)
    assert [row["classifier"] for row in told] == ["A", "B", "C"]
    assert told[1]["mean"] == pytest.approx(np.mean(eight_draws["B"]))
    assert told[1]["sd"] == pytest.approx(np.std(eight_draws["B"], ddof=1))
    assert [told[1]["low"], told[1]["high"]] == pytest.approx(np.quantile(eight_draws["B"], [0.25, 0.75]))
    assert [row["p_best"] for row in told] == list(eight.p_best().values())
    assert [row["rank"] for row in told] == list(eight.expected_ranks().values())


@pytest.mark.parametrize("rope", [-1e-9, np.nan, np.inf, "0.01", None, [0.01], True])
def test_a_rope_is_a_number_that_is_not_negative(rope):
    with pytest.raises(ValueError, match="`rope` must be a number >= 0 in units of the estimand"):
        checked_rope(rope)


def test_a_rope_may_be_nothing():
    assert checked_rope(0) == 0.0
    assert checked_rope(np.float32(0.5)) == 0.5


def test_the_order_of_pairs():
    assert listed(("b", "a"), ("a", "b")) == ("b", "a")
    assert listed(("c", "b", "a"), ("b", "a", "c")) == ("b", "a", "c")


def test_example_of_p_smallest():
    assert p_smallest(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]])).tolist() == [0.75, 0.25, 0.0]


def test_example_of_ranks_of():
    assert ranks_of(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]])).tolist() == [[1.0, 2.0, 3.0], [1.5, 1.5, 3.0]]


def test_example_of_mean_ranks():
    assert mean_ranks(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]])).tolist() == [1.25, 1.75, 3.0]


def test_example_of_rank_shares():
    assert rank_shares(np.array([[0.0, 0.1], [0.3, 0.3]])).tolist() == [[0.75, 0.25], [0.25, 0.75]]
