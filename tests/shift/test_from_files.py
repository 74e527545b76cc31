"""``bayescal shift``: evidence, classes and weights of files, and errors in the words of the command."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import softmax
from shifted_sides import BOTH, run
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app


@pytest.mark.slow
def test_several_classes(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=200)
    p = softmax(2 * (rng.standard_normal((200, 3)) + 1.5 * np.eye(3)[y]), axis=1)
    names = ["p_a", "p_b", "p_c"]
    pd.DataFrame(p, columns=names).assign(y=np.array(["a", "b", "c"])[y]).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame(p, columns=names).to_csv(tmp_path / "t.csv", index=False)
    given = (tmp_path / "s.csv", tmp_path / "t.csv", "--label", "y", "--prob-prefix", "p_", "--shift", "label")
    done = run(*given, "--draws", "100", "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    assert "Of 3 classes in the target" in done.stdout
    assert len(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["class_frequencies"]) == 3
    refused = run(*given, "--draws", "100", "--plot", tmp_path / "out.png")
    assert refused.exit_code == 2
    assert "--plot needs a single event" in refused.stderr


def test_weights_that_are_not_reliable_are_reported_once(weighted):
    folder, frame, _ = weighted
    frame["w"] = np.where(np.arange(500) < 40, 1.0, 1e-9)
    frame.to_csv(folder / "source.csv", index=False)
    files = (folder / "source.csv", folder / "target.csv", *BOTH)
    done = run(*files, "--shift", "covariate", "--weights", "w", "--draws", "100")
    assert done.exit_code == 0, done.output
    assert done.output.count("The 500 rows are worth 40 rows of the target") == 1
    frame["w"] = np.where(np.arange(500) < 20, 1.0, 0.0)
    frame.to_csv(folder / "source.csv", index=False)
    refused = run(*files, "--shift", "covariate", "--weights", "w", "--draws", "100")
    assert refused.exit_code == 2
    assert "column 'w' of 'source.csv' must leave at least 30 effective rows" in refused.stderr


@pytest.mark.slow
def test_the_evidence_comes_with_the_evaluation_or_alone(weighted):
    folder, frame, p_target = weighted
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    evidence = bc.shift_evidence(y, p, p_target, rng=2, draws=200)
    files = (
        folder / "source.csv",
        folder / "target.csv",
        *BOTH,
        "--evidence",
        "--seed",
        "2",
        "--draws",
        "200",
        "--details",
    )
    out, html, tree = folder / "out.json", folder / "out.html", folder / "out.nc"
    alone = run(*files, "--json", out, "--html", html, "--netcdf", tree)
    assert alone.exit_code == 0, alone.output
    assert evidence.spec in alone.stdout
    assert "Calibration Error" not in alone.stdout
    with xr.open_datatree(tree) as stored:
        assert set(stored["posterior"].data_vars) == {"share_source", "share_target", "total_variation"}
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert (saved["kind"], saved["parameters"]["seed"]) == ("ShiftEvidence", 2)
    assert str(saved["table"]) == str(evidence.table())
    assert "Evidence of a shift" in html.read_text(encoding="utf-8")
    both = run(*files, "--shift", "label", "--json", out, "--html", html)
    assert both.exit_code == 0, both.output
    ev = bc.evaluate_shifted(y, p, p_target, shift="label", rng=2, draws=200)
    assert both.stdout.index(evidence.spec) < both.stdout.index(ev.priors.spec) < both.stdout.index(ev.spec)
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert str(saved["evidence"]["table"]) == str(evidence.table())
    assert str(saved["table"]) == str(json.loads(ev.to_json())["table"])
    page = html.read_text(encoding="utf-8")
    assert "Evidence of a shift" in page
    assert "Class frequencies of the target" in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--shift", "covariate"), "say where the weights of the source are: --weights COLUMN"),
        (("--shift", "covariate", "--weights", "w", "--using", "cells"), "--using cannot be used with --shift cov"),
        (("--shift", "label", "--weights", "w"), "--weights cannot be used with --shift label"),
        (("--evidence", "--bins", "5", "--weights", "w"), "--weights, --bins cannot be used without --shift"),
        (("--evidence", "--plot", "out.png"), "--plot needs an evaluation: state what differs"),
        (("--shift", "prior"), "--shift must be one of ['label', 'covariate'], not 'prior'"),
        (("--shift", "label", "--using", "both"), "--using must be one of ['cells', 'probabilities'], not 'both'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(weighted, given, message):
    done = run(weighted[0] / "source.csv", weighted[0] / "target.csv", *BOTH, *given)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(weighted[0].glob("out.*"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1.5", "column 'p' of 'target.csv' must lie in [0, 1]; 1 of 400 values does not, first in line 6: 1.5"),
        ("x", "'target.csv': column 'p' must hold numbers; 1 of 400 rows does not, first in line 6: 'x'"),
    ],
)
def test_errors_name_the_file_and_the_line(weighted, value, message):
    folder = weighted[0]
    lines = (folder / "target.csv").read_text(encoding="utf-8").splitlines()
    (folder / "target.csv").write_text("\n".join([*lines[:5], value, *lines[6:]]), encoding="utf-8")
    done = run(folder / "source.csv", folder / "target.csv", *BOTH, "--shift", "label")
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_note_is_shown_once(tmp_path):
    y, p = np.array([1, 1, 1, *([0] * 60)]), np.linspace(0.05, 0.95, 63).round(6)
    pd.DataFrame({"y": y, "p": p}).to_csv(tmp_path / "source.csv", index=False)
    pd.DataFrame({"p": p}).to_csv(tmp_path / "target.csv", index=False)
    given = ("--shift", "label", "--evidence", "--draws", "100")
    done = run(tmp_path / "source.csv", tmp_path / "target.csv", *BOTH, *given)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("1 of 2 classes have fewer than 5 labelled rows") == 1
    assert done.stdout.count("Fewer than 5 labelled rows: class 1.") == 1


def test_counts_of_two_sites_are_merged_and_no_report_takes_them(weighted):
    folder, frame, p_target = weighted
    cells = bc.ShiftCells.predicted_class(2)
    sides = {
        "source": bc.ShiftCounts.of_source(frame["y"], frame["p"], cells=cells, bins=5),
        "target": bc.ShiftCounts.of_target(p_target, cells=cells, bins=5),
    }
    files = [bc.save_counts(counts, folder / f"{name}.json") for name, counts in sides.items()]

    def bayescal(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200", "TERM": "dumb"})

    done = bayescal("merge", *files, "-o", folder / "both.json")
    assert done.exit_code == 0, done.output
    assert "900 rows of 2 files: target label shift, 500 rows of the source, 400 of the target" in done.stdout
    assert bc.load_counts(folder / "both.json") == sides["source"] + sides["target"]
    refused = bayescal("report", folder / "both.json")
    assert refused.exit_code == 2
    assert "`bayescal.shift.label_counts` evaluates them in Python" in refused.stderr
    other = bc.save_counts(bc.BinnedCounts.from_arrays(frame["y"], frame["p"], bins=5), folder / "other.json")
    mixed = bayescal("merge", files[0], other, "-o", folder / "no.json")
    assert mixed.exit_code == 2
    assert "counts of a source and a target and counts of one classifier cannot be added" in mixed.stderr
    rows = run(folder / "both.json", folder / "target.csv", *BOTH, "--shift", "label")
    assert "'both.json' holds counts; the rows of both files are needed" in rows.stderr
