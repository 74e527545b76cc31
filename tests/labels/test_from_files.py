"""``bayescal judged``: the numbers of the library, from a file; options that do not fit are refused in words."""

import json

import numpy as np
import pandas as pd
import pytest
from judged_sets import judged_set
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.labels.from_files import parse_rates, parse_strata

COLUMNS = ("--correct", "human", "--confidence", "sure", "--judge", "grade")
FAST = ("--rates", "0.9,0.8", "--draws", "200")


def run(*arguments):
    return CliRunner().invoke(app, ["judged", *map(str, arguments)], env={"COLUMNS": "120", "TERM": "dumb"})


def refused(*arguments):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture(scope="module")
def rows():
    return judged_set(n=900, checked=220)


@pytest.fixture(scope="module")
def file(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("judged") / "answers.csv"
    frame = pd.DataFrame({"human": rows.y, "sure": rows.confidence, "grade": rows.judge.astype(int)})
    frame.assign(word=np.where(rows.judge, "C", "I"), human_word=[{0: "I", 1: "C"}.get(y) for y in rows.y]).to_csv(
        path, index=False
    )
    return path


@pytest.mark.slow
def test_it_is_the_evaluation_of_the_library(rows, file, tmp_path):
    out = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = ["--json", out["json"], "--html", out["html"], "--plot", out["png"], "--netcdf", out["nc"]]
    done = run(file, *COLUMNS, *given, "--details", "--bins", "8", "--draws", "500", "--seed", "3")
    assert done.exit_code == 0, done.output
    ev = rows.judged(bins=8, draws=500, rng=3)
    assert ev.spec in done.stdout
    assert "judge as truth" in done.stdout
    assert "The judge has the sensitivity" in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["table"]) == str(json.loads(ev.to_json())["table"])
    assert str(saved["judge"]) == str(json.loads(ev.to_json())["judge"])
    about = saved["parameters"]
    assert [about[name] for name in ("correct", "judge", "strata", "rates")] == ["human", "grade", "auto", None]
    assert [about[name] for name in ("target", "bins", "draws", "seed")] == ["confidence", 8, 500, 3]
    assert all(path.stat().st_size > 1000 for path in out.values())


@pytest.mark.slow
def test_options_reach_the_library(rows, file, tmp_path):
    out = tmp_path / "out.json"
    words = ("--label", "human_word", "--prob", "sure", "--judge", "word", "--classes", "I,C")
    done = run(file, *words, *FAST, "--binning", "equal-mass", "--estimand", "ece,brier-score", "--json", out)
    assert done.exit_code == 0, done.output
    ev = rows.judged(rates=(0.9, 0.8), draws=200, binning="equal-mass", target="event")
    table = json.loads(out.read_text(encoding="utf-8"))["table"]
    assert [row["quantity"] for row in table] == ["ece", "brier_score"]
    assert table[0]["mean"] == ev.ece.mean()
    assert table[1]["mean"] == ev.brier_score.mean()
    done = run(file, *COLUMNS, "--strata", "0.3,0.7", "--draws", "100", "--json", out)
    assert done.exit_code == 0, done.output
    ends = [row["to"] for row in json.loads(out.read_text())["judge"]["rates"]]
    assert ends == pytest.approx([4 / 15, 2 / 3, 1] * 2)  # the nearest edges of bins


def test_a_requirement(file):
    met = run(file, *COLUMNS, *FAST, "--require-below", "0.5")
    assert (met.exit_code, "Met: P(ECE < 0.5) must be at least 0.9" in met.stdout) == (0, True)
    done = run(file, *COLUMNS, *FAST, "--estimand", "accuracy", "--require-above", "0.99")
    assert (done.exit_code, "Not met: P(accuracy > 0.99)" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (COLUMNS[2:], "--correct and --confidence go together"),
        (COLUMNS[:4], "say where the judge's labels are: --judge COLUMN"),
        (COLUMNS[4:], "say where labels and probabilities are: --correct and --confidence, or for an event --label"),
        ((*COLUMNS, "--label", "human"), "two kinds of columns are named"),
        ((*COLUMNS, "--by", "site"), "--by cannot be used with a judge; write one file per group"),
        ((*COLUMNS, "--weights", "w"), "--weights cannot be used with a judge, whose rows have equal weights"),
        ((*COLUMNS, "--cluster", "q"), "--cluster cannot be used with a judge; in Python, `bayescal.labels.judged"),
        ((*COLUMNS, "--prob-prefix", "p_"), "--prob-prefix cannot be used with a judge, who labels one event"),
        ((*COLUMNS, "--strata", "many"), "--strata must be a number of ranges, or inner edges like 0.5,0.8"),
        ((*COLUMNS, "--strata", "0.8,0.5"), "--strata must be"),
        ((*COLUMNS, "--rates", "0.9"), "--rates must be a sensitivity and a specificity like 0.9,0.8"),
        ((*COLUMNS, "--rates", "0.3,0.4"), "--rates must be a sensitivity and a specificity in [0, 1]"),
        ((*COLUMNS, *FAST, "--estimand", "auc"), "the AUC is not available from a judge's labels"),
        ((*COLUMNS[:5], "human"), "--correct, --confidence and --judge must name different columns"),
        ((*COLUMNS, "--logits", "--logprob"), "--logits and --logprob"),
    ],
)
def test_options_that_do_not_fit(file, arguments, message):
    assert message in refused(file, *arguments)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,0.9,1", ",0.8,"], "column 'grade' must be known where the true label is missing; 1 of 2 values is"),
        (["1,0.9,1", ",0.8,1"], "column 'human' must have true labels of at least 30 rows; 1 are not missing"),
        ([",0.9,1", ",0.8,1"], "Check some rows, or give the judge's --rates if they are known from elsewhere"),
    ],
)
def test_errors_have_the_words_of_the_file(lines, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["human,sure,grade", *lines, ""]))
    assert message in refused(path, *COLUMNS)


def test_counts_are_refused_with_the_function_that_evaluates_them(rows, tmp_path):
    counts = bc.labels.JudgedCounts.from_arrays(rows.y, rows.confidence, judge=rows.judge)
    path = bc.save_counts(counts, tmp_path / "counts.json")
    assert "holds counts" in refused(path, *COLUMNS)
    done = CliRunner().invoke(app, ["report", str(path)])
    assert "`bayescal.labels.judged_counts` evaluates them in Python" in done.stderr
    merged = CliRunner().invoke(app, ["merge", str(path), str(path), "-o", str(path)])
    assert merged.exit_code == 2  # the same file twice
    done = CliRunner().invoke(app, ["merge", str(path), "-o", str(tmp_path / "m.json")])
    assert "900 rows of 1 file: target confidence, 15 equal-width bins" in done.stdout


def test_numbers_of_options():
    assert parse_strata("auto") == "auto"
    assert parse_strata("3") == 3
    assert parse_rates(None) is None
    assert parse_rates("90,10,80,20") == ((90, 10), (80, 20))
