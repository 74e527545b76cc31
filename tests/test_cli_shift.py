"""``bayescal shift``: the numbers of the library, from a file per population."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from typer.testing import CliRunner

import bayescal as bc
from bayescal.cli import app


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    y, y_target = np.arange(400) % 2, rng.random(300) < 0.2
    p, p_target = (expit(2 * rng.normal(2.0 * each - 1, 1)).round(6) for each in (y, y_target))
    pd.DataFrame({"ill": y, "p": p}).to_csv(tmp_path / "source.csv", index=False)
    pd.DataFrame({"p": p_target}).to_csv(tmp_path / "target.csv", index=False)
    return tmp_path, y, p, p_target


def run(*arguments):
    given = ["shift", *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})


def test_it_is_the_evaluation_of_the_library(files):
    folder, y, p, p_target = files
    out = {kind: folder / f"out.{kind}" for kind in ("json", "html", "png", "nc")}
    given = ["--json", out["json"], "--html", out["html"], "--plot", out["png"], "--netcdf", out["nc"], "--bins", "8"]
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


def test_the_shift_must_be_stated(files):
    done = run(files[0] / "source.csv", files[0] / "target.csv", "--label", "ill", "--prob", "p")
    assert done.exit_code == 2
    assert "state what differs between source and target: --shift label" in done.stderr
