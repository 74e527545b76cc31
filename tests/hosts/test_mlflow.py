"""MLflow logs the metrics of results as they are, and reads the same numbers back."""

import re
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow.tracking import MlflowClient

import bayescal as bc

RNG = np.random.default_rng(4)
P = RNG.random(400)
Y = (RNG.random(400) < P**1.3).astype(int)
FAST = {"draws": 200, "rng": 1}


def results():
    groups = np.repeat(["New York, NY", "50 % (a/b)"], 200)
    monitor = bc.monitoring.CalibrationMonitor(window="1d", target="event")
    monitor.add(Y, P, time="2026-03-01")
    return {
        "evaluation": bc.evaluate(Y, P, **FAST),
        "groups": bc.evaluate(Y, P, by=groups, **FAST),
        "comparison": bc.compare(Y, {"a": P, "b ²": P**2}, **FAST),
        "decisions": bc.decisions.net_benefit(Y, P, [0.1, 0.5], **FAST),
        "clinical": bc.clinical.summary(Y, P, [0.1], **FAST),
        "bins": bc.evaluate(Y, P, **FAST).sensitivity(priors={}),
        "stream": monitor.evidence(),
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")  # MLflow 3.17 refuses a store of files
    experiment = mlflow.create_experiment("calibration", artifact_location=(folder / "files").as_uri())
    numbers, read = {}, {}
    for name, result in results().items():
        numbers[name] = result.metrics()
        with mlflow.start_run(experiment_id=experiment, run_name=name) as run:
            mlflow.log_metrics(numbers[name])
            mlflow.log_dict(result.to_dict(), "result.json")
            assert mlflow.artifacts.load_dict(f"runs:/{run.info.run_id}/result.json") == result.to_dict()
        read[name] = MlflowClient().get_run(run.info.run_id).data.metrics
    return numbers, read


@pytest.mark.parametrize("name", ["evaluation", "groups", "comparison", "decisions", "clinical", "bins", "stream"])
def test_mlflow_holds_the_numbers_of_the_result(stored, name):
    written, read = stored
    assert read[name] == written[name]
    assert len(read[name]) >= 4


def test_the_page_runs(tmp_path, monkeypatch):
    """Its block, with the evaluation of the blocks above it, in an empty folder."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "log_metrics.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```py\n(import mlflow\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    before, names = mlflow.get_tracking_uri(), {"ev": bc.evaluate(Y, P, **FAST)}
    exec(block, names)
    read = MlflowClient().get_run(names["run"].info.run_id).data.metrics
    mlflow.set_tracking_uri(before)
    assert read == names["ev"].metrics()


def test_names_are_those_of_the_docs(stored):
    _, read = stored
    assert {"ece", "ece_low", "ece_high", "ece_if_calibrated", "p_calibrated", "brier_score"} <= set(read["evaluation"])
    assert {"ece", "New_York__NY/ece", "50____a_b_/ece_low"} <= set(read["groups"])
    assert {"a_minus_b_²/ece", "a_minus_b_²/ece_p_left"} <= set(read["comparison"])
    assert "model/0.1/net_benefit_low" in read["decisions"]
