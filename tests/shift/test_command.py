"""``bayescal shift``: the numbers of the library, from a file per population."""

import json

import pytest
from shifted_sides import BOTH, run

import bayescal as bc


@pytest.mark.slow
def test_it_is_the_evaluation_of_the_library(files):
    folder, y, p, p_target = files
    out = {kind: folder / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = [
        "--json",
        out["json"],
        "--html",
        out["html"],
        "--plot",
        out["png"],
        "--netcdf",
        out["nc"],
        "--bins",
        "8",
        "--details",
    ]
    done = run(
        folder / "source.csv", folder / "target.csv", "--label", "ill", "--prob", "p", "--shift", "label", *given
    )
    assert done.exit_code == 0, done.output
    ev = bc.evaluate_shifted(y, p, p_target, shift="label", bins=8, rng=1)
    assert ev.spec in done.stdout
    assert ev.priors.sentence() in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["table"]) == str(json.loads(ev.to_json())["table"])
    assert saved["class_frequencies"] == ev.priors.table()
    assert (saved["parameters"]["shift"], saved["parameters"]["target"]) == ("label", "target.csv")
    assert all(path.stat().st_size > 1000 for path in out.values())


def test_the_shift_must_be_stated(files):
    done = run(files[0] / "source.csv", files[0] / "target.csv", "--label", "ill", "--prob", "p")
    assert done.exit_code == 2
    assert "state what differs between source and target: --shift label" in done.stderr
    assert "--shift covariate with --weights COLUMN" in done.stderr


def test_labels_are_no_probabilities(files):
    done = run(files[0] / "source.csv", files[0] / "target.csv", "--label", "p", "--prob", "p", "--shift", "label")
    assert done.exit_code == 2
    assert "--label and --prob must name different columns; both are 'p'" in done.stderr


@pytest.mark.slow
def test_covariate_shift_is_that_of_the_library(weighted):
    folder, frame, p_target = weighted
    out = {kind: folder / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = ["--json", out["json"], "--html", out["html"], "--plot", out["png"], "--netcdf", out["nc"], "--bins", "6"]
    files = (folder / "source.csv", folder / "target.csv", *BOTH)
    done = run(*files, "--shift", "covariate", "--weights", "w", *given, "--details")
    assert done.exit_code == 0, done.output
    y, p, w = (frame[name].to_numpy() for name in ("y", "p", "w"))
    ev = bc.evaluate_shifted(y, p, p_target, shift="covariate", weights=w, bins=6, rng=1)
    assert ev.spec in done.stdout
    assert bc.weight_report(w).sentence() in " ".join(done.stdout.split())
    assert "effective rows (Kish)" in done.stdout
    saved = json.loads(out["json"].read_text(encoding="utf-8"))
    assert str(saved["table"]) == str(json.loads(ev.to_json())["table"])
    assert saved["weight_report"] == bc.weight_report(w).table()
    assert (saved["parameters"]["shift"], saved["parameters"]["weights"]) == ("covariate", "w")
    assert "evidence" not in saved
    assert all(path.stat().st_size > 1000 for path in out.values())
    assert "Weights of the source" in out["html"].read_text(encoding="utf-8")
