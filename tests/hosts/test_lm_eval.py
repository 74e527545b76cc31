"""The adapter for lm_eval, and fresh logs of it, in lm_eval itself."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app

SPEC = importlib.util.spec_from_file_location("make_logs", Path(__file__).parents[1] / "make_logs.py")
make_logs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_logs)

FUNCTION = "!function bayescal.plugins.lm_eval."
NAMES = ("ece", "ece_low", "ece_high", "ece_if_calibrated")
METRICS = "  - {metric: acc, aggregation: mean, higher_is_better: true}\n"
OF_SCORE = METRICS + "".join(
    f"  - {{metric: {metric}, aggregation: {FUNCTION}ece, higher_is_better: false}}\n"
    for metric in ("brier_score", "likelihood")
)
OF_RESULTS = (
    METRICS
    + "".join(f"  - {{metric: {name}, aggregation: {FUNCTION}{name}, higher_is_better: false}}\n" for name in NAMES)
    + f"process_results: {FUNCTION}process_results\n"
)


def expected(answers):
    ev = bc.evaluate(answers.correct, answers.confidence, target="confidence", rng=1)
    low, high = ev.ece.interval()
    return dict(zip(NAMES, (ev.ece.mean(), low, high, ev.null.mean()), strict=True))


@pytest.mark.parametrize(("metrics", "names"), [(OF_SCORE, ("brier_score", "likelihood")), (OF_RESULTS, NAMES)])
def test_metrics_of_tasks_are_those_of_evaluate(tmp_path, metrics, names):
    make_logs.write_tasks(tmp_path, 40, metrics=metrics)
    results = make_logs.run_lm_eval(tmp_path, list(make_logs.SUBJECTS), 1.2, "fresh", tmp_path / "out")
    answers = bc.read.lm_eval(tmp_path / "out")
    assert answers.models == ("fresh",)
    for subject in make_logs.SUBJECTS:
        reported = results["results"][subject]
        of_subject = answers._rows(np.flatnonzero(answers.subject == subject))
        assert reported["acc,none"] == pytest.approx(of_subject.accuracy, abs=1e-12)
        numbers = expected(of_subject)
        for name in names:
            value = numbers[name if name in NAMES else "ece"]
            assert reported[f"{name},none"] == pytest.approx(value, abs=1e-12)


def test_57_subjects_of_two_models_with_one_command_each(tmp_path):
    subjects = tuple(f"subject{i:02}" for i in range(57))
    make_logs.write_tasks(tmp_path, 12, subjects)
    for name, skill in (("old", 0.8), ("new", 1.6)):
        make_logs.run_lm_eval(tmp_path, list(subjects), skill, name, tmp_path / "out")
    report, compare = ["--format", "lm-eval", "--draws", "500"], tmp_path / "compared.json"
    done = CliRunner().invoke(app, ["report", str(tmp_path / "out" / "old"), *report], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.stderr
    assert all(subject in done.stdout for subject in subjects)
    folders = [str(tmp_path / "out" / name) for name in ("old", "new")]
    done = CliRunner().invoke(app, ["compare", *folders, *report, "--json", str(compare)], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.stderr
    assert json.loads(compare.read_text())["parameters"]["rows"] == 57 * 12
    for name in ("old", "new"):
        (results,) = (tmp_path / "out" / name).glob("results_*.json")
        reported = json.loads(results.read_text())["results"]
        answers = bc.read.lm_eval(tmp_path / "out" / name)
        mean = np.mean([each["acc,none"] for each in reported.values()])
        assert answers.accuracy == pytest.approx(mean, abs=1e-12)


def test_generated_answers_of_two_filters(tmp_path):
    make_logs.write_tasks(tmp_path, 30)
    results = make_logs.run_lm_eval(tmp_path, ["written"], 1.0, "writer", tmp_path / "out")["results"]["written"]
    for name in ("strict", "flexible"):
        answers = bc.read.lm_eval(tmp_path / "out", filter_name=name, abstain="wrong")
        assert answers.accuracy == pytest.approx(results[f"exact_match,{name}"], abs=1e-12)
        assert len(answers) == 30
