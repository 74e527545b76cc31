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
    assert answers.question.tolist() == ["x/a", "x/a", "y/c"]
    assert answers.epoch.tolist() == [1, 2, 1]
    assert answers.subjects == ("x", "y")
    assert "cluster" in answers.rows()
    with pytest.raises(ValueError, match=r"of 4 answers, 1 has no grade \(first question 'y/b'\)"):
        bc.read.json_lines(path, **wanted)
    assert bc.read.json_lines(path, **wanted, abstain="wrong").confidence.tolist() == [0.9, 0.7, 0.0, 0.4]


def test_files_are_subjects_and_lines_questions(tmp_path):
    written(tmp_path, LINES[:2], "one.jsonl")
    written(tmp_path, LINES[:1], "two.jsonl")
    answers = bc.read.json_lines(tmp_path, correct="grade", confidence="sure")
    assert answers.subject.tolist() == ["one", "one", "two"]
    assert answers.question.tolist() == ["one/1", "one/2", "two/1"]


def test_files_of_one_name_in_two_folders_are_two(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        written(tmp_path, LINES[:2], f"{name}/law.jsonl")
    answers = bc.read.json_lines(tmp_path, correct="grade", confidence="sure")
    assert answers.subjects == ("x/law", "y/law")
    assert (len(set(answers.question.tolist())), set(answers.epoch.tolist())) == (4, {1})


def test_questions_and_clusters_lie_within_their_subject(tmp_path):
    lines = [{"id": i, "text": i // 2, "grade": "CI"[i % 2], "sure": 0.5} for i in range(4)]
    files = [written(tmp_path, lines, f"{name}.jsonl") for name in ("law", "math")]
    fields = {"correct": "grade", "confidence": "sure", "question": "id"}
    of_files = bc.read.json_lines(files, **fields, cluster="text")
    assert len(set(of_files.question.tolist())) == 8
    assert set(of_files.epoch.tolist()) == {1}
    assert sorted(set(of_files.cluster.tolist())) == ["law/0", "law/1", "math/0", "math/1"]
    merged = [line | {"topic": topic} for topic in ("law", "math") for line in lines]
    of_field = bc.read.json_lines(written(tmp_path, merged, "all.jsonl"), **fields, subject="topic", cluster="text")
    assert of_field.question.tolist() == of_files.question.tolist()
    assert set(of_field.cluster.tolist()) == {"0", "1"}  # a label that several subjects share is one cluster
    one = bc.read.json_lines(files[0], **fields)  # two models may have one file each, with other names
    assert one.question.tolist() == ["0", "1", "2", "3"]


def test_a_field_names_the_model(tmp_path):
    lines = [{"id": i, "m": m, "grade": "CI"[i % 2], "sure": 0.5} for m in ("a", "b") for i in range(4)]
    fields = {"correct": "grade", "confidence": "sure", "model": "m"}
    answers = bc.read.json_lines(written(tmp_path, lines), **fields, question="id")
    assert (answers.models, set(answers.epoch.tolist())) == (("a", "b"), {1})
    assert bc.read.matched(answers)["y_true"]["b"].tolist() == [True, False, True, False]
    with pytest.raises(ValueError, match="`model` must be a field of every line; 4 of 4 lines have no 'n'"):
        bc.read.json_lines(written(tmp_path, LINES), correct="grade", confidence="sure", model="n")


def test_classes_are_no_abstentions(tmp_path):
    path = written(tmp_path, [{"ok": each, "p": 0.5} for each in ("Y", "N", "N", "Y")])
    wanted = {"correct": "ok", "confidence": "p", "classes": ("N", "Y")}
    assert bc.read.json_lines(path, **wanted, abstain="drop").correct.tolist() == [True, False, False, True]
    with pytest.raises(ValueError, match="`abstained` must be other grades than `classes`; both hold 'N'"):
        bc.read.json_lines(path, **wanted, abstained="N")
    with pytest.raises(ValueError, match="`classes` must be the grades of wrong and of right answers"):
        bc.read.json_lines(path, **wanted | {"classes": (1, "1")})


def test_words_that_are_no_grades(tmp_path):
    path = written(tmp_path, [{"ok": each, "p": 0.5} for each in ("pass", "fail", "idk")])
    with pytest.raises(ValueError, match=r"\['pass', 'fail', 'idk'\]\. Other words are `classes=.*`abstained`"):
        bc.read.json_lines(path, correct="ok", confidence="p")
    wanted = {"classes": ("fail", "pass"), "abstained": "idk", "abstain": "drop"}
    assert bc.read.json_lines(path, correct="ok", confidence="p", **wanted).correct.tolist() == [True, False]


def test_numbers_of_lines_count_blank_ones(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"ok": 1, "p": 0.5}\n\n{"ok": 9, "p": 0.5}\n')
    with pytest.raises(ValueError, match="first 9 of line 4 of 'a'"):
        bc.read.json_lines(path, correct="ok", confidence="p")


def test_words_and_logarithms(tmp_path):
    path = written(tmp_path, [{"ok": "ja", "l": -0.5}, {"ok": "nein", "l": "-1e-3"}])
    answers = bc.read.json_lines(path, correct="ok", confidence="l", classes=["nein", "ja"], logprob=True)
    assert answers.correct.tolist() == [True, False]
    assert answers.confidence.tolist() == [math.exp(-0.5), math.exp(-1e-3)]
    with pytest.raises(ValueError, match="wrong and of right answers"):
        bc.read.json_lines(path, correct="ok", confidence="l", classes=["ja"])
    path = written(tmp_path, [{"ok": 1, "l": -1}, {"ok": 0, "l": 0.9}])
    with pytest.raises(ValueError, match=r"must not exceed 0; 1 of 2 do, first 0\.9 of line 2 of 'log'"):
        bc.read.json_lines(path, correct="ok", confidence="l", logprob=True)


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
