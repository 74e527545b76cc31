"""The demonstration: two classifiers, their comparison, and what it suggests."""

from pathlib import Path

import numpy as np
import pytest

import bayescal
from bayescal import datasets
from bayescal.cli.tour import in_plain_words, your_own


def _cancer():
    cancer = datasets.load_breast_cancer()
    return cancer.y_true, cancer.y_prob["naive_bayes"]


@pytest.mark.slow
def test_demo_compares_the_two(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    shown = run("demo", width=80).stdout
    digits = datasets.load_digits()
    both = {"Naive Bayes": digits.y_prob["naive_bayes"], "Random forest": digits.y_prob["random_forest"]}
    comparison = bayescal.compare(digits.y_true, both, rng=1)
    assert comparison.sentence() in " ".join(shown.split())
    (row,) = comparison.table()
    line = next(line for line in shown.splitlines() if line.startswith(" Naive Bayes  ") and "0." in line)
    assert line.split()[2:5] == [f"{row[key]:.4f}" for key in ("mean", "low", "high")]


@pytest.mark.slow
def test_what_demo_suggests_works(tmp_path, monkeypatch, run):
    import shlex

    monkeypatch.chdir(tmp_path)
    shown = run("demo").stdout.splitlines()
    commands = [line.strip() for line in shown if "digits.parquet" in line]
    assert [shlex.split(command)[1] for command in commands] == ["report", "compare"]
    again = [run(*shlex.split(command)[1:]) for command in commands]
    assert [done.exit_code for done in again] == [0, 0]
    assert next(line for line in shown if line.startswith("The Expected ")) in again[0].stdout.splitlines()
    # the sentence, however it is broken into lines, and the row of the table
    verdict = next(i for i, line in enumerate(shown) if line.startswith("Naive Bayes is better calibrated"))
    assert set(shown[verdict : verdict + 7]) <= set(again[1].stdout.splitlines())
    code = [line.strip() for line in shown if line.startswith("    ") and ("bc." in line or "bayescal as bc" in line)]
    assert len(code) == 4
    wine = datasets.load_wine()
    given = {"y_true": wine.y_true, "y_prob": wine.y_prob["naive_bayes"], "y_prob_new": wine.y_prob["random_forest"]}
    exec("\n".join(code), given)


def test_plain_words_say_how_far_and_which_way():
    y, p = _cancer()
    near = bayescal.evaluate(y, p, rng=1)
    worse = bayescal.evaluate(y, np.full(len(y), 0.01), rng=1)
    said = in_plain_words({"One": near, "Two": worse})
    assert f"One: off by {near.ece.mean():.3f} on average" in said
    assert f"Two: off by {worse.ece.mean():.3f} on average, nearly always underconfident" in said  # 63 % are benign


@pytest.mark.slow
def test_what_demo_suggests_for_logs_works(tmp_path, monkeypatch, run):
    import shlex

    logs = Path(__file__).parents[1] / "read" / "logs"
    folders = {
        "lm-eval": {"FOLDER": logs / "lm_eval" / "small", "FOLDER_OF_ANOTHER_MODEL": logs / "lm_eval" / "large"},
        "inspect": {"FOLDER": logs / "inspect_json"},
    }
    commands = [
        shlex.split(line) for line in dict(your_own())["In the shell, for logs of language models"].splitlines()
    ]
    assert [command[1] for command in commands] == ["report", "compare", "report"]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        places = folders[command[command.index("--format") + 1]]
        # the logs of Inspect have several scores
        more = ["--correct", "match", "--partial", "wrong"] if "inspect" in command else []
        done = run(*[str(places.get(word, word)) for word in command[1:]], *more)
        assert done.exit_code == 0, done.stderr
        assert "ECE" in done.stdout
