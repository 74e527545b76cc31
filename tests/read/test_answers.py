"""Answers, and the questions that several models have in common."""

import numpy as np
import pytest

import bayescal as bc

A = bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6], question=["x", "y", "z"])
B = bc.read.Answers([1, 1, 0], [0.7, 0.9, 0.5], question=["z", "y", "x"])


def test_defaults_and_what_it_prints():
    assert (A.subjects, A.models, A.epoch.tolist(), A.accuracy) == (("all",), ("model",), [1, 1, 1], 2 / 3)
    assert repr(A) == "Answers(3 answers to 3 questions, 1 subject, 1 model, 1 epoch; 2 right)"
    assert list(A.rows()) == ["y_true", "y_prob", "target"]
    with pytest.raises(ValueError, match="`confidence`"):
        bc.read.Answers([1, 0], [0.9, 1.8])
    with pytest.raises(ValueError, match=r"`correct` .* 1 of 3 values are not, first 0\.5 at index 1"):
        bc.read.Answers([1, 0.5, 0], [0.9, 0.8, 0.7])
    with pytest.raises(ValueError, match="length"):
        bc.read.Answers([1, 0], [0.9])


def test_models_are_matched_by_question():
    rows = bc.read.matched({"a": A, "b": B})
    assert rows["y_true"]["b"].tolist() == [False, True, True]
    assert rows["y_prob"]["b"].tolist() == [0.5, 0.9, 0.7]
    assert "cluster" not in rows
    assert bc.compare(**rows, rng=1).names == ("a", "b")


def test_subjects_are_data_sets():
    subject = np.repeat(["s", "t"], 30)
    rng = np.random.default_rng(1)
    each = {
        name: bc.read.Answers(rng.random(60) < 0.7, rng.uniform(0.5, 1, 60), subject=subject) for name in ("a", "b")
    }
    rows = bc.read.matched(each, by="subject")
    assert rows["by"].tolist() == subject.tolist()


def test_questions_that_do_not_match_are_refused_or_counted():
    fewer = bc.read.Answers([1, 1], [0.7, 0.9], question=["z", "w"])
    with pytest.raises(ValueError, match=r"2 of 3 answers of 'a', first to question 'x'; 1 of 2 answers of 'b', first"):
        bc.read.matched({"a": A, "b": fewer})
    with pytest.warns(UserWarning, match=r"2 of 3 answers of 'a'"):
        rows = bc.read.matched({"a": A, "b": fewer}, unmatched="drop")
    assert rows["y_prob"]["a"].tolist() == [0.6]
    with pytest.raises(ValueError, match="No question is common"):
        bc.read.matched({"a": A, "b": bc.read.Answers([1], [0.5], question=["w"])}, unmatched="drop")


def test_one_model_and_repeated_questions_are_refused():
    with pytest.raises(ValueError, match="at least two models"):
        bc.read.matched({"a": A})
    twice = bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6], question=["x", "y", "x"])
    with pytest.raises(ValueError, match=r"1 of 3 answers of 'b' .* first to question 'x'"):
        bc.read.matched({"a": A, "b": twice})


def test_epochs_are_part_of_the_key():
    each = {
        "a": bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "x"], epoch=[1, 2]),
        "b": bc.read.Answers([1, 0], [0.7, 0.6], question=["x", "x"], epoch=[2, 1]),
    }
    rows = bc.read.matched(each)
    assert rows["y_prob"]["b"].tolist() == [0.6, 0.7]
    assert rows["cluster"].tolist() == ["x", "x"]


@pytest.mark.parametrize("correct", [["C", "I"], [1, 2], [0.5, 1], [None, True], [np.nan, 1.0]])
def test_what_is_neither_true_nor_false_is_refused(correct):
    with pytest.raises(ValueError, match=r"`correct` must be true or false, or 1 or 0; . of 2 values are not, first"):
        bc.read.Answers(correct, [0.9, 0.8])
