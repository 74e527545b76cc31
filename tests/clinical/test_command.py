"""``bayescal clinical``: the numbers of the library, from one file or several."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.datasets.simulate import simulate

ROWS = simulate(600, population="flat", rng=1)
OTHER = np.clip(0.9 * ROWS.confidence + 0.02, 0, 1)
WEIGHTS = np.arange(1.0, 601)


@pytest.fixture
def file(tmp_path):
    frame = pd.DataFrame({"id": range(600), "died": ROWS.outcome.astype(int), "risk": ROWS.confidence, "other": OTHER})
    frame["w"] = WEIGHTS
    frame["word"] = np.where(ROWS.outcome, "dead", "alive")
    frame.to_csv(tmp_path / "patients.csv", index=False)
    frame.iloc[::-1][["id", "died", "other"]].to_csv(tmp_path / "second.csv", index=False)
    return tmp_path / "patients.csv"


def run(*arguments, columns=("--label", "died")):
    given = ["clinical", *map(str, arguments), *columns]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})


def words(done):
    return " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_it_is_the_summary_of_the_library(file, tmp_path, weights):
    out = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "tex", "png")}
    given = ["--json", out["json"], "--html", out["html"], "--latex", out["tex"], "--plot", out["png"]]
    more = [] if weights is None else ["--weights", "w"]
    done = run(file, "--prob", "risk", "--threshold", "0.3", "--threshold", "0.1,0.2", "--details", *given, *more)
    assert done.exit_code == 0, done.output
    summary = bc.clinical_summary(ROWS.outcome, {"risk": ROWS.confidence}, [0.1, 0.2, 0.3], weights=weights, rng=1)
    assert summary.sentence() in words(done)
    assert summary.spec in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["table"]) == str(json.loads(summary.to_json())["table"])
    assert saved["parameters"]["threshold"] == [0.1, 0.2, 0.3]
    assert saved["parameters"]["models"][0]["prob"] == ["risk"]
    assert saved["parameters"]["logits"] is False
    assert out["tex"].read_text(encoding="utf-8") == summary.to_latex()
    assert "column of weights" in out["html"].read_text(encoding="utf-8") or weights is None
    assert out["png"].stat().st_size > 10_000


def test_several_models_in_one_file_and_in_two(file, tmp_path):
    columns = run(file, "--prob", "New=risk", "--prob", "Old=other", "--threshold", "0.2")
    assert columns.exit_code == 0, columns.output
    models = {"New": ROWS.confidence, "Old": OTHER}
    summary = bc.clinical_summary(ROWS.outcome, models, [0.2], rng=1)
    assert summary.sentence() in words(columns)
    assert "as from `bayescal compare --estimand auc`" in words(columns)
    files = run(
        file, tmp_path / "second.csv", "--key", "id", "--prob", "New=risk", "--prob", "Old=other", "--threshold", "0.2"
    )
    assert files.exit_code == 0, files.output
    assert files.stdout == columns.stdout


def test_options_reach_the_library(file):
    done = run(file, "--prob", "risk", "--bins", 10, "--floor", 0.01, "--draws", 200, "--seed", 7, "--details")
    assert done.exit_code == 0, done.output
    summary = bc.clinical_summary(ROWS.outcome, {"risk": ROWS.confidence}, bins=10, floor=0.01, draws=200, rng=7)
    assert summary.spec in done.stdout
    assert summary.sentence() in words(done)
    assert "it needs --threshold, the risks" in words(done)
    labelled = run(file, "--prob", "risk", "--label", "word", "--classes", "alive,dead", columns=())
    assert labelled.exit_code == 0, labelled.output
    assert bc.clinical_summary(ROWS.outcome, {"risk": ROWS.confidence}, rng=1).sentence() in words(labelled)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--prob", "risk", "--threshold", "5%"),
            "--threshold must be numbers between 0 and 1, as in 0.1,0.2; not '5%'",
        ),
        (("--prob", "risk", "--threshold", "10"), "--threshold must lie in [0, 1)"),
        (("--prob", "risk", "--threshold", "0.1,0.1"), "--threshold must be strictly increasing"),
        ((), "--prob COLUMN, once per model"),
        (("--prob", "risk", "--prob", "risk"), "classifiers must have different names; 'risk' names two of them"),
        (("--prob", "risk", "--latex", "table.txt"), "--latex writes .tex files"),
        (("--prob", "absent"), "absent"),
        (("--prob", "w"), "column 'w'"),
    ],
)
def test_messages_name_options_and_columns(file, arguments, said):
    done = run(file, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr.replace("\n", " ")


def test_counts_are_refused(tmp_path):
    counts = bc.BinnedCounts.from_arrays(ROWS.outcome, ROWS.confidence, bins=20, target="event")
    bc.save_counts(counts, tmp_path / "counts.json")
    done = run(tmp_path / "counts.json", "--prob", "risk")
    assert done.exit_code == 2
    assert "a clinical summary needs the rows of predictions" in done.stderr


def test_labels_are_needed(file):
    done = run(file, "--prob", "risk", columns=())
    assert done.exit_code == 2
    assert "--label COLUMN" in done.stderr


def test_help_has_the_defaults_of_the_library():
    text = CliRunner().invoke(app, ["clinical", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    for words in ("[default: 15]", "[default: 4000]", "--threshold", "--latex", "Examples"):
        assert words in text


def test_models_stand_below_each_other_in_narrow_terminals(file):
    done = CliRunner().invoke(
        app,
        ["clinical", str(file), "--label", "died", "--prob", "New=risk", "--prob", "Old=other", "--seed", "1"],
        env={"COLUMNS": "78", "TERM": "dumb"},
    )
    assert done.exit_code == 0, done.output
    lines = done.stdout.split("\n")
    assert [line.strip() for line in lines if line.strip() in ("New", "Old")] == ["New", "Old"]
    table = [line for line in lines if line.startswith((" calibration in the large (slope = 1)", " AUC"))]
    assert len(table) == 4


def test_labels_that_are_words_and_predictions_that_are_outcomes(tmp_path, file):
    words_file = tmp_path / "words.csv"
    words_file.write_text("died,risk\n" + "\n".join(f"{'yes' if i % 3 else 'no'},0.{i % 9 + 1}" for i in range(40)))
    done = run(words_file, "--prob", "risk")
    assert "first the label of outcome 0 (no event, or a wrong answer)" in " ".join(done.stderr.split())
    assert "prob-prefix" not in done.stderr
    same = run(file, "--prob", "died")
    assert same.exit_code == 2
    assert "outcomes, not predicted risks" in " ".join(same.stderr.split())
