"""``bayescal survival``: columns, clusters, groups and several models of a file, and errors in its words."""

import json

import numpy as np
import pytest
from censored_rows import COLUMNS, run

import bayescal as bc


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("--time", "say where the times are: --time COLUMN"),
        ("--event", "say where the kinds of exit"),
        ("--risk", "say where the stated risks are: --risk COLUMN"),
        ("--horizon", "say at which time the risks are stated: --horizon NUMBER"),
    ],
)
def test_every_column_is_needed(patients, missing, message):
    at = COLUMNS.index(missing)
    done = run(patients[0], *COLUMNS[:at], *COLUMNS[at + 2 :])
    assert done.exit_code == 2
    assert message in done.stderr


def test_errors_name_lines_and_columns(patients, tmp_path):
    _, frame = patients
    frame.loc[3, "years"] = -1.0
    frame.to_csv(tmp_path / "bad.csv", index=False)
    done = run(tmp_path / "bad.csv", *COLUMNS)
    assert done.exit_code == 2
    assert "column 'years' must be >= 0; 1 of 500 values is not, first in line 5: -1" in done.stderr
    late = run(patients[0], *COLUMNS[:-1], "100")
    assert late.exit_code == 2
    assert "--horizon must not exceed the last time" in late.stderr


def test_rows_in_clusters(patients, tmp_path):
    file, frame = patients
    frame["site"] = np.char.add("s", (np.arange(500) // 5).astype(str))
    frame.to_csv(file, index=False)
    done = run(file, *COLUMNS, "--cluster", "site", "--json", tmp_path / "out.json", "--details")
    assert done.exit_code == 0, done.output
    ev = bc.evaluate_survival(frame["years"], frame["died"], frame["p"], horizon=1, cluster=frame["site"], rng=1)
    assert ev.spec in done.stdout
    assert "in 100 clusters (effective N = " in done.stdout
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["parameters"]["cluster"] == "site"
    for name, held in (("died", "the kinds of exit"), ("p", "stated risks")):
        done = run(file, *COLUMNS, "--cluster", name)
        assert done.exit_code == 2
        assert f"--cluster must name a column of clusters; '{name}' holds {held}" in done.stderr
    done = run(file, *COLUMNS, "--risk", "w", "--cluster", "site")
    assert done.exit_code == 2
    assert "--cluster cannot be used with several models" in done.stderr
    frame.loc[3, "site"] = None
    frame.to_csv(file, index=False)
    done = run(file, *COLUMNS, "--cluster", "site")
    assert done.exit_code == 2
    assert "column 'site' must be complete; it has no value in 1 of 500 rows, first in line 5" in done.stderr


def test_events_in_words_are_refused(patients, tmp_path):
    _, frame = patients
    frame.assign(died=np.where(frame["died"], "dead", "alive")).to_csv(tmp_path / "words.csv", index=False)
    done = run(tmp_path / "words.csv", *COLUMNS)
    assert done.exit_code == 2
    assert "column 'died' must hold numbers or true/false" in done.stderr
    assert "Write 0 for censored rows, 1 for the event" in done.stderr
    assert "--classes" not in done.stderr


def test_several_risks_are_compared(patients, tmp_path):
    _, frame = patients
    frame["q"] = (frame["p"] ** 0.7).round(6)
    frame.to_csv(tmp_path / "both.csv", index=False)
    both, out = ("--risk", "q", "--risk", "Old=p"), tmp_path / "out.json"
    rest = ("--time", "years", "--event", "died", "--horizon", "1")
    html = tmp_path / "out.html"
    done = run(tmp_path / "both.csv", *both, *rest, "--json", out, "--html", html, "--rope", "0.02")
    assert done.exit_code == 0, done.output
    risks = {"q": frame["q"], "Old": frame["p"]}
    found = bc.compare_survival(frame["years"], frame["died"], risks, horizon=1, rng=1, rope=0.02)
    assert found.sentence() in " ".join(done.stdout.split())
    assert done.stdout.count("Observed / expected: q: ") == 1
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert saved["parameters"]["risk"] == ["q", "p"]
    assert saved["parameters"]["rope"] == 0.02
    assert html.stat().st_size > 1000
    scores = run(tmp_path / "both.csv", *both, *rest, "--estimand", "brier-score")
    assert "smaller Brier score than" in " ".join(scores.stdout.split())
    frame.loc[3, "q"] = 1.2
    frame.to_csv(tmp_path / "both.csv", index=False)
    bad = run(tmp_path / "both.csv", *both, *rest)
    assert bad.exit_code == 2
    assert "model 'q'" in bad.stderr
    assert "first in line 5: 1.2" in bad.stderr


def test_options_of_a_comparison_need_several_risks(patients):
    done = run(patients[0], *COLUMNS, "--rope", "0.1")
    assert done.exit_code == 2
    assert "--rope cannot be used with a single model: repeat --risk to compare several" in done.stderr


def test_groups_are_those_of_the_library(patients, tmp_path):
    _, frame = patients
    frame["site"] = np.arange(500) % 3 * 5  # 0, 5 and 10: not in the order of texts
    frame.to_csv(tmp_path / "sites.csv", index=False)
    out = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = ["--json", out["json"], "--html", out["html"], "--plot", out["png"], "--netcdf", out["nc"]]
    done = run(tmp_path / "sites.csv", *COLUMNS, "--by", "site", *given, "--details")
    assert done.exit_code == 0, done.output
    found = bc.evaluate_survival(frame["years"], frame["died"], frame["p"], horizon=1, by=frame["site"], rng=1)
    assert list(found) == [0, 5, 10]
    assert found.spec in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["groups"]) == str(json.loads(found.to_json())["groups"])
    assert (saved["parameters"]["by"], saved["parameters"]["rows"]) == ("site", 500)
    assert all(path.stat().st_size > 1000 for path in out.values())


def test_columns_of_groups_that_cannot_be_meant(patients):
    file, _ = patients
    done = run(file, *COLUMNS, "--by", "w")
    assert done.exit_code == 2
    assert "--by must name a column of group labels; it holds" in done.stderr
    done = run(file, *COLUMNS, "--by", "died")
    assert "--by must name a column of groups; 'died' holds the kinds of exit" in done.stderr
    done = run(file, *COLUMNS, "--risk", "w", "--by", "p")
    assert "--by cannot be used with several models" in done.stderr
    done = run(file, *COLUMNS, "--by", "site")
    assert "has no column 'site'" in done.stderr
