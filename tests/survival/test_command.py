"""``bayescal survival``: the numbers of the library, from a file with times."""

import json

import pytest
from censored_rows import COLUMNS, run

import bayescal as bc


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_evaluation_of_the_library(patients, tmp_path, weighted):
    file, frame = patients
    out = {kind: tmp_path / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = ["--json", out["json"], "--html", out["html"], "--plot", out["png"], "--netcdf", out["nc"]]
    done = run(file, *COLUMNS, *given, "--details", "--bins", "8", *(["--weights", "w"] if weighted else []))
    assert done.exit_code == 0, done.output
    weights = frame["w"] if weighted else None
    ev = bc.evaluate_survival(frame["years"], frame["died"], frame["p"], horizon=1, bins=8, weights=weights, rng=1)
    assert ev.spec in done.stdout
    assert "observed / expected" in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["table"]) == str(json.loads(ev.to_json())["table"])
    assert (saved["parameters"]["time"], saved["parameters"]["horizon"]) == ("years", 1.0)
    assert all(path.stat().st_size > 1000 for path in out.values())
