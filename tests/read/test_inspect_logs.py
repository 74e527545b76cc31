"""Logs that inspect_ai wrote (`tests/make_logs.py`), against its own results and the text of its samples."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc

LOGS = Path(__file__).parent / "logs"
TEXT = "output.completion"


def documents():
    return [json.loads(path.read_text()) for path in sorted((LOGS / "inspect_json").iterdir())]


def changed(tmp_path, change):
    """Write the first log again, with every sample changed by a function."""
    log = documents()[0]
    for sample in log["samples"]:
        change(sample)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    return path


@pytest.mark.parametrize("scorer", ["graded", "match"])
def test_accuracies_are_those_that_the_program_reports(scorer):
    answers = bc.read.inspect(LOGS / "inspect_json", scorer=scorer, confidence="metadata.said", abstain="wrong")
    for log in documents():
        of_task = answers.subject == log["eval"]["task"]
        (score,) = [each for each in log["results"]["scores"] if each["name"] == scorer]
        assert answers.correct[of_task].mean() == pytest.approx(score["metrics"]["accuracy"]["value"], abs=1e-14)
    assert (answers.subjects, len(answers), answers.epoch.max()) == (("capitals", "sums"), 24, 2)


def test_archives_hold_the_same_answers_as_text():
    of_text = bc.read.inspect(LOGS / "inspect_json", scorer="graded", confidence=TEXT, abstain="drop")
    archives = bc.read.inspect(LOGS / "inspect_eval", scorer="graded", confidence=TEXT, abstain="drop")
    small = archives.by_model()["mockllm/small"]
    for name in ("correct", "confidence", "subject", "question", "epoch"):
        assert getattr(small, name).tolist() == getattr(of_text, name).tolist()


def test_the_last_confidence_in_the_text_counts():
    answers = bc.read.inspect(LOGS / "inspect_json", scorer="graded", confidence=TEXT, abstain="drop")
    texts = [sample["output"]["completion"] for log in documents() for sample in log["samples"]]
    expected = [float(re.search(r"\nConfidence: (\d+)%", text)[1]) / 100 for text in texts if "ANSWER" in text]
    assert answers.confidence.tolist() == expected


@pytest.mark.parametrize(
    ("place", "n"),
    [("scores.graded.metadata.confidence", 24), ("metadata.said", 24), ("scores.certainty.value", 24)],
)
def test_confidences_of_metadata_and_scores(place, n):
    answers = bc.read.inspect(LOGS / "inspect_json", scorer="match", confidence=place)
    said = [sample["metadata"]["said"] for log in documents() for sample in log["samples"]]
    assert answers.confidence.tolist() == said
    assert len(answers) == n


def test_several_scores_and_places_are_refused():
    with pytest.raises(ValueError, match=r"`scorer` .* 4 scores .*\['graded', 'match', 'partly', 'certainty'\]"):
        bc.read.inspect(LOGS / "inspect_json")
    with pytest.raises(ValueError, match=r"several: 'scores\.graded\.metadata\.confidence' \(24 of 24"):
        bc.read.inspect(LOGS / "inspect_json", scorer="graded")
    with pytest.raises(ValueError, match=r"no score 'mach'\. Did you mean 'match'"):
        bc.read.inspect(LOGS / "inspect_json", scorer="mach")


def test_the_only_place_is_used():
    answers = bc.read.inspect(LOGS / "inspect_json", scorer="match", abstain="wrong")  # the text is the only one
    assert set(answers.confidence.tolist()) <= {0.0, 0.5, 0.7, 0.9, 1.0}


def test_missing_answers_are_never_dropped_silently():
    wanted = {"scorer": "graded", "confidence": TEXT}
    n = sum(sample["scores"]["graded"]["value"] == "N" for log in documents() for sample in log["samples"])
    assert n > 0
    with pytest.raises(ValueError, match=rf"`abstain` .* of 24 answers, {n} have no grade \(first question 'capitals/"):
        bc.read.inspect(LOGS / "inspect_json", **wanted)
    dropped = bc.read.inspect(LOGS / "inspect_json", **wanted, abstain="drop")
    wrong = bc.read.inspect(LOGS / "inspect_json", **wanted, abstain="wrong")
    assert (len(dropped), dropped.dropped, len(wrong), wrong.wrong) == (24 - n, n, 24, n)
    assert dropped.correct.sum() == wrong.correct.sum()
    assert (wrong.confidence == 0).sum() == n
    assert dropped.remarks[0].startswith(f"Of 24 answers, {n} have no grade")


def test_right_answers_without_a_confidence_are_not_counted_as_wrong(tmp_path):
    def silent(sample):
        if sample["id"] == 1:
            sample["output"]["completion"] = "ANSWER: word1"
            sample["scores"]["match"]["value"] = "C"

    path = changed(tmp_path, silent)
    with pytest.raises(
        ValueError, match=r"2 right answers without a confidence as wrong, first to question 'capitals/1'"
    ):
        bc.read.inspect(path, scorer="match", confidence=TEXT, abstain="wrong")


def test_partial_credit_and_scores_that_are_missing():
    wanted = {"scorer": "partly", "confidence": "metadata.said", "abstain": "drop"}
    with pytest.raises(ValueError, match=r"`partial` must say .* first 'P' of sample"):
        bc.read.inspect(LOGS / "inspect_json", **wanted)
    right = bc.read.inspect(LOGS / "inspect_json", **wanted, partial="right")
    wrong = bc.read.inspect(LOGS / "inspect_json", **wanted, partial="wrong")
    grades = [s["scores"]["partly"]["value"] for log in documents() for s in log["samples"] if s["id"] != 5]
    assert right.dropped == wrong.dropped == 4  # sample 5 has NaN, in two epochs of two tasks
    assert right.correct.tolist() == [grade in ("C", "P") for grade in grades]
    assert wrong.correct.tolist() == [grade == "C" for grade in grades]


def test_epochs_are_clusters_and_models_are_compared():
    answers = bc.read.inspect(LOGS / "inspect_eval", scorer="match", confidence="metadata.said")
    rows = answers.by_model()["mockllm/small"].rows(by=None)
    assert len(set(rows["cluster"].tolist())) == 12
    whole = bc.evaluate(**rows, rng=1)
    assert whole.counts.n_rows == 24
    comparison = bc.compare(**bc.read.matched(answers), rng=1)
    small = answers.by_model()["mockllm/small"]
    again = bc.evaluate(small.correct, small.confidence, target="confidence", cluster=small.question, rng=1)
    assert comparison["mockllm/small"].plug_in == pytest.approx(again.plug_in, abs=1e-12)


def test_other_questions_of_the_same_number_are_not_matched(tmp_path):
    """Data sets without ids that were shuffled differently number their samples alike."""
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    here = bc.read.inspect(LOGS / "inspect_json" / "1-capitals.json", **wanted)

    def other(**change):
        return bc.read.inspect(
            changed(tmp_path, lambda each: each.update(change) if each["id"] == 3 else None), **wanted
        )

    for change in ({"input": "sums 1?"}, {"target": "word4"}):
        with pytest.raises(
            ValueError, match=r"content of 2 of 12 .* 'a' and 'b', first of question 'capitals/3'\. Samp"
        ):
            bc.read.matched({"a": here, "b": other(**change)})
    wanted |= {"scorer": "graded", "abstain": "drop"}  # samples without an answer are left out of one log only
    of_all = bc.read.inspect(LOGS / "inspect_json" / "1-capitals.json", **wanted | {"abstain": "wrong"})
    with pytest.warns(UserWarning, match="left out"):
        bc.read.matched({"a": of_all, "b": other()}, unmatched="drop")
    wanted["scorer"] = "match"
    with_choices = [
        other(input=[{"id": name, "role": "user", "content": "?"}], choices=choices, target=target)
        for name, choices, target in (("u", ["x", "y"], "A"), ("v", ["y", "x"], "B"))
    ]
    rows = bc.read.matched(dict(zip("ab", with_choices, strict=True)))  # messages have new ids, choices another order
    assert len(rows["y_true"]["a"]) == 12


def test_names_with_dots_and_numbers_as_text(tmp_path):
    def dotted(sample):
        sample["scores"] = {"pkg.match": {"value": {"a": "C", "b.c": "I"}, "metadata": {"p.q": 0.5}}}
        sample["id"] = str(sample["id"] - 1) if sample["id"] % 2 else sample["id"]

    path = changed(tmp_path, dotted)
    for key, right in (("a", 1.0), ("b.c", 0.0)):
        answers = bc.read.inspect(path, scorer=f"pkg.match.{key}", confidence="scores.pkg.match.metadata.p.q")
        assert answers.accuracy == right
    assert set(answers.question.tolist()) == {f"capitals/{i}" for i in (0, 2, 4, '"0"', '"2"', '"4"')}


def test_clusters_lie_within_tasks():
    wanted = {"scorer": "match", "confidence": "metadata.said", "cluster": "epoch"}
    answers = bc.read.inspect(LOGS / "inspect_json", **wanted)
    assert sorted(set(answers.cluster.tolist())) == ["capitals/1", "capitals/2", "sums/1", "sums/2"]
    with pytest.raises(
        ValueError, match=r"`cluster` must be in every sample; sample 0 in '1-capitals\.json' has no 'x\.y'"
    ):
        bc.read.inspect(LOGS / "inspect_json", **wanted | {"cluster": "x.y"})


def test_files_beside_the_logs_of_a_folder(tmp_path):
    log = documents()[0]
    (tmp_path / "eval-set.json").write_text(json.dumps({"eval_set_id": "a", "tasks": []}))
    (tmp_path / "logs.json").write_text(json.dumps({"log.json": {k: v for k, v in log.items() if k != "samples"}}))
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    with pytest.raises(ValueError, match=r"no log of Inspect; its files are others: \['eval-set.json', 'logs.json'\]"):
        bc.read.inspect(tmp_path, **wanted)
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert len(bc.read.inspect(tmp_path, **wanted)) == len(bc.read.inspect(tmp_path / "*.json", **wanted)) == 12
    with pytest.raises(ValueError, match=r"'logs\.json' is not a log of Inspect"):
        bc.read.inspect([tmp_path, tmp_path / "logs.json"], **wanted)


def test_a_task_with_several_arguments_is_several(tmp_path):
    log = documents()[0]
    for level in (1, 2):
        log["eval"]["task_args"] = {"level": level, "a": "x"}
        (tmp_path / f"{level}.json").write_text(json.dumps(log))
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    answers = bc.read.inspect(tmp_path, **wanted)
    assert answers.subjects == ("capitals(a='x', level=1)", "capitals(a='x', level=2)")
    assert len(set(answers.question.tolist())) == 12
    assert bc.read.inspect(tmp_path / "1.json", **wanted).subjects == ("capitals",)


def test_what_a_path_without_confidences_leads_to():
    for path, said in {
        "certainty": "Paths begin with metadata, scores or are 'output.completion'",
        "metadata.sad": r"The keys at 'metadata' are \['said'\]",
        "target": "The first sample holds 'word0'",
    }.items():
        with pytest.raises(ValueError, match=said):
            bc.read.inspect(LOGS / "inspect_json", scorer="match", confidence=path)


def test_a_score_that_is_a_confidence():
    with pytest.raises(ValueError, match="belongs to `confidence`"):
        bc.read.inspect(LOGS / "inspect_json", scorer="certainty", confidence="metadata.said")


def test_texts_that_state_no_confidence_are_shown(tmp_path):
    path = changed(tmp_path, lambda each: each["metadata"].update(said="low") if each["id"] == 1 else None)
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    words = r"2 have no confidence \(first question 'capitals/1'; the first text without a number is 'low'\)"
    with pytest.raises(ValueError, match=words):
        bc.read.inspect(path, **wanted)
    (remark,) = bc.read.inspect(path, **wanted, abstain="drop").remarks
    assert "is 'low'" in remark


@pytest.mark.parametrize("values", [[0.9, 28.0], [3.0, 10.0]])
def test_other_numbers_are_not_called_percentages(tmp_path, values):
    path = changed(tmp_path, lambda each: each["metadata"].update(said=values[each["id"] % 2]))
    with pytest.raises(ValueError, match=r"confidences must lie in \[0, 1\]") as caught:
        bc.read.inspect(path, scorer="match", confidence="metadata.said")
    assert "Percentages" not in str(caught.value)


def test_percentages_must_be_stated(tmp_path):
    path = changed(tmp_path, lambda sample: sample["metadata"].update(said=100 * sample["metadata"]["said"]))
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    with pytest.raises(ValueError, match=r"12 of 12 do not, first [0-9]+ of question 'capitals/0'\. Percentages\?"):
        bc.read.inspect(path, **wanted)
    percent = bc.read.inspect(path, **wanted, percent=True)
    usual = bc.read.inspect(LOGS / "inspect_json" / "1-capitals.json", **wanted)
    np.testing.assert_allclose(percent.confidence, usual.confidence, rtol=1e-15)


def test_grades_of_another_form_are_refused(tmp_path):
    path = changed(tmp_path, lambda sample: sample["scores"]["match"].update(value={"a": "C", "b": "I"}))
    with pytest.raises(ValueError, match=r"12 of 12 are not, first .* of sample 0"):
        bc.read.inspect(path, scorer="match", confidence="metadata.said")
    assert bc.read.inspect(path, scorer="match.a", confidence="metadata.said").correct.all()


def test_incomplete_and_foreign_files(tmp_path):
    log = documents()[0]
    log["samples"] = log["samples"][:-3]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    with pytest.raises(ValueError, match=r"3 samples are not in the logs, of 1 incomplete runs, first 'log\.json'"):
        bc.read.inspect(path, **wanted)
    (remark,) = bc.read.inspect(path, **wanted, abstain="drop").remarks
    assert remark.startswith("3 samples are not in the logs, of 1 incomplete runs, first 'log.json' with status")
    del log["results"]  # a run that stopped: its ids are those that were asked for, of a larger data set
    log["status"], log["eval"]["dataset"]["samples"] = "error", 1000
    path.write_text(json.dumps(log))
    with pytest.raises(ValueError, match=r"3 samples are not in the logs, .* with status 'error'"):
        bc.read.inspect(path, **wanted)
    path.write_text('{"a": 1}')
    with pytest.raises(ValueError, match=r"'log\.json' is not a log of Inspect"):
        bc.read.inspect(path)
    path.write_bytes(b"PK not an archive")
    with pytest.raises(ValueError, match=r"'log\.json' cannot be read as a log of Inspect"):
        bc.read.inspect(path)


def test_members_of_older_archives(tmp_path):
    """Earlier versions compressed with deflate."""
    log = documents()[0]
    path = tmp_path / "old.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps({key: value for key, value in log.items() if key != "samples"}))
    wanted = {"scorer": "match", "confidence": "metadata.said"}
    usual = bc.read.inspect(LOGS / "inspect_json" / "1-capitals.json", **wanted)
    assert bc.read.inspect(path, **wanted).confidence.tolist() == usual.confidence.tolist()
