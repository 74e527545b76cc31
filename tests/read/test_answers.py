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
    with pytest.raises(ValueError, match=r"1 of 3 answers .* first question 'x' of model 'model': at indexes 0 and 2"):
        bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6], question=["x", "y", "x"])
    with pytest.raises(ValueError, match=r"`subject` .* 1 of 2 values .* first at index 1"):
        bc.read.Answers([1, 0], [0.9, 0.8], subject=["x", None])


def test_clusters_and_subjects_of_models_must_agree():
    a, b = (
        bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "y"], subject=["s", each], cluster=["c", each])
        for each in ("s", "t")
    )
    with pytest.raises(
        ValueError, match=r"the cluster of 1 of 2 answers differs .* question 'y', which is 's' and 't'"
    ):
        bc.read.matched({"a": a, "b": b})
    a, b = (bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "y"], subject=["s", each]) for each in ("s", "t"))
    with pytest.raises(ValueError, match=r"the subject of 1 of 2 .* question 'y', which is 's' and 't'"):
        bc.read.matched({"a": a, "b": b}, by="subject")
    assert "by" not in bc.read.matched({"a": a, "b": b})


def test_a_list_of_answers_is_named_by_its_models():
    a, b = (bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "y"], model=[name, name]) for name in "ab")
    assert list(bc.read.matched([a, b])["y_prob"]) == ["a", "b"]
    with pytest.raises(ValueError, match=r"different names of models; they are \['a', 'a'\]\. Pass a dict"):
        bc.read.matched([a, a])
    for wrong in ([a, 1], {"a": a, "b": 1}, 1):
        with pytest.raises(TypeError, match=r"it holds int"):
            bc.read.matched(wrong)


def test_confidences_keep_their_type():
    """A number of single precision is in the bin in which `evaluate` puts it."""
    p = np.full(20, 0.7, dtype=np.float32)
    answers = bc.read.Answers(np.arange(20) % 2, p)
    assert answers.confidence.dtype == np.float32
    ours = bc.evaluate(**answers.rows(), bins=10, rng=1).counts.n
    assert ours.tolist() == bc.evaluate(np.arange(20) % 2, p, bins=10, target="confidence", rng=1).counts.n.tolist()
    assert bc.read.Answers([1], [1]).confidence.dtype == np.float64


def test_epochs_are_part_of_the_key():
    each = {
        "a": bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "x"], epoch=[1, 2]),
        "b": bc.read.Answers([1, 0], [0.7, 0.6], question=["x", "x"], epoch=[2, 1]),
    }
    rows = bc.read.matched(each)
    assert rows["y_prob"]["b"].tolist() == [0.6, 0.7]
    assert rows["cluster"].tolist() == ["x", "x"]


@pytest.mark.parametrize(
    ("correct", "n", "i"),
    [(["C", "I"], 2, 0), ([1, 2], 1, 1), ([0.5, 1], 1, 0), ([True, None], 1, 1), ([np.nan, 1.0], 1, 0)],
)
def test_what_is_neither_true_nor_false_is_refused(correct, n, i):
    with pytest.raises(ValueError, match=rf"true or false, or 1 or 0; {n} of 2 values are not, first .* at index {i}"):
        bc.read.Answers(correct, [0.9, 0.8])


EVALUATED, COMPARED = (
    "`bayescal.evaluate(**answers.rows())`",
    "`bayescal.compare(**bayescal.read.matched({'a': answers, ",
)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bc.evaluate(A), EVALUATED),
        (lambda: bc.evaluate(A, A), EVALUATED),
        (lambda: bc.plot(A), EVALUATED),
        (lambda: bc.compare(A, B), COMPARED),
        (lambda: bc.compare({"a": A, "b": B}), COMPARED),
        (lambda: A.evaluate(), EVALUATED),
        (lambda: A.ece, EVALUATED),
        (lambda: A.compare(B), COMPARED),
        (lambda: A.to_frame(), "`pandas.DataFrame({'question': answers.question, 'correct': answers.correct})`"),
        (lambda: A.corect, "Did you mean 'correct'"),
        (lambda: bc.read.inspect("x", score="match"), "Here it is called 'scorer'"),
        (lambda: bc.read.inspect("x", correct="match"), "Here it is called 'scorer'"),
        (lambda: bc.read.lm_eval("x", metric="acc"), "Here it is called 'score'"),
        (lambda: bc.read.lm_eval("x", by="doc.topic"), "Here it is called 'subject'"),
        (lambda: bc.read.lm_eval("x", filter="strict"), "Here it is called 'filter_name'"),
        (lambda: bc.read.json_lines("x", score="a", confidence="b"), "Here it is called 'correct'"),
        (lambda: bc.read.json_lines("x", correct="a", prob="b"), "Here it is called 'confidence'"),
        (lambda: bc.read.json_lines("x", correct="a", confidence="b", key="c"), "Here it is called 'question'"),
        (lambda: bc.read.matched([A, B], subject="x"), "Here it is called 'by'"),
        (lambda: bc.read.matched([A, B], abstain="drop"), "Here it is called 'unmatched'"),
    ],
)
def test_first_guesses_lead_to_what_there_is(call, said):
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    assert said in str(caught.value)


# --- grades of a judge and of a person


def test_grades_of_a_person_are_found_by_question():
    checked = bc.read.Answers([0, 1], [0.6, 0.9], question=["z", "x"])
    rows = bc.read.judged(A, checked)
    np.testing.assert_array_equal(rows["y_true"], [1, np.nan, 0])
    assert rows["judge"].tolist() == [True, False, True]
    assert rows["y_prob"].tolist() == [0.9, 0.8, 0.6]
    assert set(rows) == {"y_true", "judge", "y_prob", "target"}
    assert bc.labels.judged(**rows, rates=(0.9, 0.8), draws=20, rng=1).counts.checked.n_rows == 2


def test_epochs_are_told_apart_and_name_clusters():
    answers = bc.read.Answers([1, 0], [0.9, 0.8], question=["x", "x"], epoch=[1, 2])
    rows = bc.read.judged(answers, bc.read.Answers([1], [0.8], question=["x"], epoch=[2]))
    np.testing.assert_array_equal(rows["y_true"], [np.nan, 1])
    assert rows["cluster"].tolist() == ["x", "x"]


@pytest.mark.parametrize(
    ("checked", "error", "message"),
    [
        (bc.read.Answers([1, 0], [0.9, 0.3], question=["x", "w"]), ValueError, "1 of 2 are not, first to question 'w'"),
        (
            bc.read.Answers([1], [0.7], question=["x"]),
            ValueError,
            "the confidence of 1 of 1 differs, first of",
        ),
        (bc.read.Answers([1, 1], [0.9, 0.8], model=["a", "b"]), ValueError, "the answers are of 2 models"),
        ([1, 0, 1], TypeError, "`answers` and `checked` must be Answers, not list"),
    ],
)
def test_grades_of_other_answers_are_refused(checked, error, message):
    with pytest.raises(error, match=message):
        bc.read.judged(A, checked)


def test_grades_of_other_texts_are_refused():
    texts, others = (np.array(list(each), dtype=object) for each in ("pqr", "pqs"))
    one, other = (bc.read.Answers(A.correct, A.confidence)._with_content(each) for each in (texts, others))
    assert len(bc.read.judged(one, one)["y_true"]) == 3
    with pytest.raises(ValueError, match="the content of 1 of 3 differs, first of question '2'"):
        bc.read.judged(one, other)
