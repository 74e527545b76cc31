"""Functions that YAML files of lm_eval name; `tests/hosts` calls them from the program."""

import math

import numpy as np
import pytest

import bayescal as bc
from bayescal.plugins import lm_eval

RNG = np.random.default_rng(3)
LOGS = [np.sort(RNG.normal(-8, 1.5, RNG.integers(2, 6))) for _ in range(200)]
GOLD = [int(RNG.integers(len(logs))) for logs in LOGS]


def expected():
    right = [int(np.argmax(logs)) == gold for logs, gold in zip(LOGS, GOLD, strict=True)]
    confidence = [max(map(math.exp, logs)) / sum(map(math.exp, logs)) for logs in LOGS]
    ev = bc.evaluate(right, confidence, target="confidence", rng=1)
    low, high = ev.ece.interval()
    return [ev.ece.mean(), low, high, ev.null.mean()]


FORMS = {
    "pairs": [lm_eval.calibration(gold, logs)["ece"] for gold, logs in zip(GOLD, LOGS, strict=True)],
    "log-likelihoods": list(zip(GOLD, LOGS, strict=True)),
    "probabilities": [(gold, np.exp(logs) / np.exp(logs).sum()) for gold, logs in zip(GOLD, LOGS, strict=True)],
    "several right choices": [([gold], logs) for gold, logs in zip(GOLD, LOGS, strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_those_of_evaluate(form):
    functions = (lm_eval.ece, lm_eval.ece_low, lm_eval.ece_high, lm_eval.ece_if_calibrated)
    assert [function(FORMS[form]) for function in functions] == pytest.approx(expected(), abs=1e-12)


def test_the_right_choice_of_a_document():
    results = [(-2.0, False), (-1.0, True), (-3.0, False)]
    for doc in ({"answer": 1}, {"answerKey": "B"}, {"label": 1, "answer": "b"}, {"gold": 1, "question": "?"}):
        assert lm_eval.process_results(doc, results)["acc"] == 1
    assert lm_eval.process_results({"gold": 0}, results)["ece"][0] == 0
    for doc in ({}, {"answer": 3}, {"answer": "Oslo"}, {"answer": 1, "label": 2}, {"answer": True}):
        with pytest.raises(ValueError, match="from 0 to 2, or its letter"):
            lm_eval.process_results(doc, results)


INFINITE = -math.inf


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        *(
            (item, "a correctness of 0 or 1")
            for item in [(0.5, 0.7), (2, 0.7), (math.nan, 0.7), (1, 1.2), (1, math.nan)]
        ),
        *(((0, values), "at least two choices") for values in ([-1.0], [1.0], [], [INFINITE], [[0.5, 0.5]])),
        *(((0, values), "at most 0") for values in ([0.5, 0.2], [math.nan, -1.0], [INFINITE] * 2, [math.inf, 0.0])),
        *(((gold, [0.5, 0.5]), "the number of the right choice") for gold in (2, -1, 0.5, "A", [], [0, 2])),
        *(
            (item, "two parts, which are numbers")
            for item in (1, (1, 0.7, 0.3), ("C", 0.7), (1, None), (0, ["a", "b"]))
        ),
    ],
)
def test_values_of_another_form_are_refused_with_their_number_and_place(item, rule):
    """A correctness of 0.5, 2 or NaN would otherwise count as right, and one choice as a confidence of 1."""
    with pytest.raises(ValueError, match=rf"{rule}.*; 2 of 3 do not, first at index 1: "):
        lm_eval.ece([(1, 0.7), item, item])


def test_log_likelihoods_that_tell_nothing_are_refused():
    """All choices are impossible, so that no confidence exists."""
    for gold, logs in ((0, [INFINITE] * 2), (7, [-1.0, -2.0]), (0, [-1.0])):
        with pytest.raises(ValueError, match="a question must have"):
            lm_eval.calibration(gold, logs)
    with pytest.raises(ValueError, match="one that is finite"):
        lm_eval.process_results({"gold": 0}, [(INFINITE, False)] * 2)
    assert lm_eval.calibration(1, [INFINITE, -3.0])["ece"] == (1.0, 1.0)


def test_a_question_without_a_right_choice_counts_as_wrong():
    """lm_eval replaces a label that is no choice by -100, with a warning, and counts the answer as wrong in `acc`."""
    assert lm_eval.ece([(-100, [0.7, 0.3])] * 9) == lm_eval.ece([(0, 0.7)] * 9)
