"""Verdicts on two classifiers in words, and the pairs of a table."""

import numpy as np
import pytest

from bayescal import Draws
from bayescal.estimands.registry import registered
from bayescal.results.comparable import MOST_PAIRS, Verdict, better_words, label_lines, shown_pairs


def verdict(left, equal, right, *, exactly_equal=False):
    decision = {"p_left": left, "p_rope": equal, "p_right": right}
    difference = Draws(np.linspace(-0.1, 0.1, 2001))
    words = ("ECE", "ECE", "is better calibrated than")
    return Verdict("new", "old", decision, ("old", "new"), difference, *words, 0.01, exactly_equal)


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ((0.95, 0.05, 0.0), "new is better calibrated than old"),
        ((0.94, 0.06, 0.0), "It is uncertain whether new is better calibrated than old"),
        ((0.05, 0.95, 0.0), "new and old are practically equal"),
        ((0.0, 0.05, 0.95), "It is uncertain whether new is better calibrated than old"),
    ],
)
def test_from_95_in_100_on_a_verdict_is_certain(probabilities, words):
    assert verdict(*probabilities).short() == words


def test_the_sentence_subtracts_in_the_order_of_the_pair():
    """The draws lie evenly between -0.1 and 0.1, so that 90 % of them lie between -0.09 and 0.09."""
    text = verdict(0.6, 0.3, 0.1).sentence(0.9)
    assert "(ECE of old minus that of new: 0.000, 90 % credible interval -0.090 to 0.090; " in text
    assert text.endswith("P(better) = 0.60, P(worse) = 0.10, P(equal within 0.01) = 0.30).")


def test_equal_draws_have_no_interval():
    text = verdict(0.0, 1.0, 0.0, exactly_equal=True).sentence(0.95)
    assert text == "new and old have the same ECE in every draw: the difference is exactly 0."


def test_the_direction_of_an_estimand_is_in_the_words():
    words = {name: better_words(registered()[name], name, signed=False) for name in ("ece", "auc", "brier_score")}
    assert words["ece"] == "is better calibrated than"
    assert words["auc"] == "has a larger auc than"
    assert words["brier_score"] == "has a smaller brier_score than"


def test_many_labels_are_shown_against_the_first():
    """Six labels have 15 pairs, seven have 21."""
    assert MOST_PAIRS == 15
    assert len(shown_pairs(range(6), whole=False)) == 15
    assert shown_pairs(range(7), whole=False) == [(0, k) for k in range(1, 7)]
    assert len(shown_pairs(range(7), whole=True)) == 21


def test_a_line_per_label_has_the_observed_value_if_it_is_known():
    row = {"classifier": "a", "mean": 0.12345, "low": 0.1, "high": 0.2, "p_best": 0.25, "rank": 1.5}
    (line,) = label_lines([row], "classifier")
    assert line == "a: ECE 0.1235, 95 % interval [0.1000, 0.2000], P(best) = 0.25, expected rank 1.50."
    (line,) = label_lines([row | {"observed": 0.5}], "classifier")
    assert "], observed 0.5000, P(best)" in line
