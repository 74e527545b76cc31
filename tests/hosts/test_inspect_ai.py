"""The adapter for inspect_ai, and fresh logs of it, in inspect_ai itself."""

import doctest
import importlib.util
import inspect
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.plugins.inspect_ai import POSTERIOR, calibration

SPEC = importlib.util.spec_from_file_location("make_logs", Path(__file__).parents[1] / "make_logs.py")
make_logs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_logs)

N, EPOCHS = 25, 3


def scores_of(log, name="graded"):
    return {
        key: each.value for score in log.results.scores if score.name == name for key, each in score.metrics.items()
    }


@pytest.mark.parametrize("abstain", ["drop", "wrong"])
@pytest.mark.parametrize("kind", ["eval", "json"])
def test_the_metric_gives_the_numbers_of_evaluate(tmp_path, kind, abstain):
    logs = make_logs.run_inspect(tmp_path, kind, N, EPOCHS, metrics=[calibration(abstain=abstain)])
    confidence = "scores.graded.metadata.confidence"
    for log, path in zip(logs, sorted(tmp_path.iterdir()), strict=True):
        assert log.status == "success"
        reported = scores_of(log)
        answers = bc.read.inspect(path, scorer="graded", confidence=confidence, abstain=abstain)
        ev = bc.evaluate(**answers.rows(), rng=1)
        low, high = ev.ece.interval()
        expected = {"ece": ev.ece.mean(), "ece_low": low, "ece_high": high, "ece_if_calibrated": ev.null.mean()}
        expected |= {
            "p_calibrated": ev.p_calibrated,
            "n_answers": len(answers),
            "missing": answers.dropped + answers.wrong,
        }
        assert {name: reported[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        assert "cluster" in answers.rows()
        assert len(answers) + answers.dropped == N * EPOCHS


def test_accuracy_is_what_the_program_reports(tmp_path):
    logs = make_logs.run_inspect(tmp_path, "eval", N, EPOCHS)
    answers = bc.read.inspect(tmp_path, scorer="graded", confidence="output.completion", abstain="wrong")
    for log in logs:
        of_task = answers.correct[answers.subject == log.eval.task]
        assert of_task.mean() == pytest.approx(scores_of(log)["accuracy"], abs=1e-12)


def test_one_command_each(tmp_path):
    for model in ("small", "large"):
        make_logs.run_inspect(tmp_path / model, "eval", N, EPOCHS, f"mockllm/{model}")
    options = ["--format", "inspect", "--correct", "graded", "--confidence", "output.completion", "--abstain", "wrong"]
    done = CliRunner().invoke(app, ["report", str(tmp_path / "small"), *options], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.stderr
    assert "capitals" in done.stdout
    folders = [str(tmp_path / name) for name in ("small", "large")]
    done = CliRunner().invoke(app, ["compare", *folders, *options], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.stderr
    assert "mockllm/small" in done.stdout


def test_the_entry_point_names_the_metric():
    from inspect_ai.scorer._metric import metric_create

    assert callable(metric_create("bayescal/calibration", abstain="drop"))


def test_the_example_and_the_signature():
    found = doctest.DocTestFinder().find(calibration, "calibration", globs={})
    assert [doctest.DocTestRunner().run(each) for each in found] == [(0, 5)]
    assert list(inspect.signature(calibration).parameters)[:2] == ["confidence", "pattern"]


def test_without_answers_and_with_missing_ones():
    from inspect_ai.scorer import SampleScore, Score

    scores = [SampleScore(score=Score(value="N"), sample_id="a"), SampleScore(score=Score(value="C"), sample_id="b")]
    numbers = calibration()(scores)
    assert (numbers["n_answers"], numbers["missing"]) == (0, 2)
    with pytest.raises(ValueError, match=r"of 2 answers, 1 has no grade \(first question 'a'\) and 1 has no conf"):
        calibration(abstain="refuse")(scores)
    with pytest.raises(ValueError, match="right answers without a confidence"):
        calibration(abstain="wrong")(scores)
    assert calibration(abstain="wrong")([])["n_answers"] == 0
    with pytest.raises(ValueError, match="`abstain` must be one of"):
        calibration(abstain="dropp")


def test_one_sample_in_two_epochs_has_no_posterior_and_its_run_has_its_accuracy(tmp_path):
    """Differences between samples show how uncertain a result is; an error of a metric would lose all results."""
    from inspect_ai.scorer import SampleScore, Score

    for log in make_logs.run_inspect(tmp_path, "eval", 1, 2, metrics=[calibration(abstain="drop")]):
        assert log.status == "success"
        numbers = scores_of(log)
        assert 0 <= numbers["accuracy"] <= 1
        assert numbers["n_answers"] + numbers["missing"] == 2
    scores = [SampleScore(score=Score(value=v, metadata={"confidence": 0.9}), sample_id="a") for v in "CI"]
    numbers = calibration()(scores)
    assert (numbers["n_answers"], numbers["missing"]) == (2, 0)
    assert all(math.isnan(numbers[name]) for name in POSTERIOR)
    assert calibration()(scores[:1])["ece"] > 0  # independent rows, though only one
