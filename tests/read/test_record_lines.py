"""JSON lines of any program."""

import json
import math

import numpy as np
import pytest

import bayescal as bc

LINES = [
    {"id": "a", "topic": "x", "grade": "C", "sure": 0.9},
    {"id": "a", "topic": "x", "grade": "I", "sure": "70%"},
    {"id": "b", "topic": "y", "grade": "N"},
    {"id": "c", "topic": "y", "grade": "C", "sure": 0.4},
]


def written(tmp_path, lines=LINES, name="log.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_fields_are_read(tmp_path):
    path = written(tmp_path)
    wanted = {"correct": "grade", "confidence": "sure", "question": "id", "subject": "topic"}
    answers = bc.read.json_lines(path, **wanted, abstain="drop")
    assert answers.correct.tolist() == [True, False, True]
    assert answers.confidence.tolist() == [0.9, 0.7, 0.4]
    assert answers.question.tolist() == ["a", "a", "c"]
    assert answers.epoch.tolist() == [1, 2, 1]
    assert answers.subjects == ("x", "y")
    assert "cluster" in answers.rows()
    with pytest.raises(ValueError, match=r"of 4 answers, 1 has no grade \(first question 'b'\)"):
        bc.read.json_lines(path, **wanted)
    assert bc.read.json_lines(path, **wanted, abstain="wrong").confidence.tolist() == [0.9, 0.7, 0.0, 0.4]


def test_files_are_subjects_and_lines_questions(tmp_path):
    written(tmp_path, LINES[:2], "one.jsonl")
    written(tmp_path, LINES[:1], "two.jsonl")
    answers = bc.read.json_lines(tmp_path, correct="grade", confidence="sure")
    assert answers.subject.tolist() == ["one", "one", "two"]
    assert answers.question.tolist() == ["one/1", "one/2", "two/1"]


def test_words_and_logarithms(tmp_path):
    path = written(tmp_path, [{"ok": "ja", "l": -0.5}, {"ok": "nein", "l": "-1e-3"}])
    answers = bc.read.json_lines(path, correct="ok", confidence="l", classes=["nein", "ja"], logprob=True)
    assert answers.correct.tolist() == [True, False]
    assert answers.confidence.tolist() == [math.exp(-0.5), math.exp(-1e-3)]
    with pytest.raises(ValueError, match="wrong and of right answers"):
        bc.read.json_lines(path, correct="ok", confidence="l", classes=["ja"])


def test_fields_that_no_line_has(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ValueError, match=r"4 of 4 lines have no 'grad', first line 1 of 'log'\. Did you mean 'grade'"):
        bc.read.json_lines(path, correct="grad", confidence="sure")
    with pytest.raises(ValueError, match=r"`subject` .* 4 of 4 lines have no 'topik'"):
        bc.read.json_lines(path, correct="grade", confidence="sure", subject="topik")


@pytest.mark.parametrize("grade", ["C", "yes", 1, True, ["ja"], "Ja"])
def test_grades_that_are_not_among_the_classes_are_refused(tmp_path, grade):
    """Words that are grades by default, too; a list has no hash."""
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"ok": "ja", "p": 0.5}) + "\n" + json.dumps({"ok": grade, "p": 0.5}) + "\n")
    with pytest.raises(ValueError, match=r"one of `classes`, \['nein', 'ja'\]; 1 of 2 are not, first .* of line 2 of"):
        bc.read.json_lines(path, correct="ok", confidence="p", classes=["nein", "ja"])


@pytest.mark.parametrize(
    ("classes", "grades"), [(np.arange(2), [1, 0]), (("0", "1"), [1, 0]), (("false", "true"), [True, False])]
)
def test_classes_are_compared_as_text(tmp_path, classes, grades):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({"ok": grade, "p": 0.5}) + "\n" for grade in grades))
    answers = bc.read.json_lines(path, correct="ok", confidence="p", classes=classes)
    assert answers.correct.tolist() == [True, False]
