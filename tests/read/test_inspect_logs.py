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
