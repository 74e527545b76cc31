"""``bayescal report --by``: the groups of a file, in one pass in parts, as `evaluate` gives them from arrays."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.data.files import source
from bayescal.data.files.predictions import open_predictions
from bayescal.stats.files import Counting, count_groups_of_stream

COLUMNS = ("--label", "y", "--prob", "p", "--draws", "100")


def rows(n=900):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    y = (rng.random(n) < p**1.3).astype(int)
    site = rng.choice(["north", "south", "Größe"], n)
    return pd.DataFrame({"y": y, "p": p, "fold": rng.integers(0, 12, n), "site": site, "w": rng.random(n)})


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "200"})


def refused(*arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("by", ["fold", "site"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_it_is_the_evaluation_of_the_library(tmp_path, suffix, by, weights):
    frame = rows()
    file, out = write(frame, tmp_path / f"rows{suffix}"), tmp_path / "out.json"
    done = run(file, *COLUMNS, "--by", by, "--json", out, *(["--weights", weights] if weights else []))
    assert done.exit_code == 0, done.stderr
    expected = bc.evaluate(
        frame["y"], frame["p"], by=frame[by], weights=None if weights is None else frame[weights], draws=100, rng=1
    )
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["schema"] == "bayescal.groups/1"
    assert document["parameters"]["by"] == document["by"] == by
    assert [group["label"] for group in document["groups"]] == expected.in_order()
    assert set(expected.in_order()) == set(expected)
    for group in document["groups"]:
        evaluation = expected[group["label"]]
        assert group["n_rows"] == (frame[by] == group["label"]).sum() == evaluation.counts.n_rows
        assert group["seed"] == str(expected.seeds[group["label"]])
        got = {row["quantity"]: row for row in group["table"]}
        for row in evaluation.table():
            assert [*got[row["quantity"]].values()][1:] == pytest.approx([*row.values()][1:], abs=1e-9, nan_ok=True)
    whole = document["overall"]["table"]
    assert whole[0]["mean"] == pytest.approx(expected.overall.ece.mean(), abs=1e-9)
    for name in expected.names:
        assert name in done.stdout


def test_a_file_in_many_blocks_gives_the_same_counts(tmp_path, monkeypatch):
    frame = rows(5000)
    file = write(frame, tmp_path / "rows.csv")
    whole = count_groups_of_stream(open_predictions(file, label="y", prob="p", by="site"), Counting(), 10)
    monkeypatch.setattr(source, "ROWS", 512)
    monkeypatch.setattr(source, "BLOCK", 4 * 512)
    seen = []
    groups, total = count_groups_of_stream(
        open_predictions(file, label="y", prob="p", by="site"), Counting(), 10, seen.append
    )
    assert len(seen) == 10
    assert list(groups) == ["Größe", "north", "south"]
    for label, counts in groups.items():
        expected = bc.BinnedCounts.from_arrays(*frame.loc[frame["site"] == label, ["y", "p"]].to_numpy().T)
        assert counts.n.tolist() == whole[0][label].n.tolist() == expected.n.tolist()
        assert counts.k.tolist() == expected.k.tolist()
        assert counts.mean_confidence == pytest.approx(expected.mean_confidence, abs=1e-12)
    assert total.n_rows == 5000
    assert (sum(groups.values(), bc.BinnedCounts.empty(15, target="event")).n == total.n).all()


def test_all_rows_are_those_of_a_report_without_groups(tmp_path):
    file = write(rows(), tmp_path / "rows.csv")
    for extra in ((), ("--binning", "equal-mass", "--bins", "7")):
        run(file, *COLUMNS, *extra, "--json", tmp_path / "one.json")
        run(file, *COLUMNS, *extra, "--by", "site", "--json", tmp_path / "by.json")
        one, by = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("one.json", "by.json"))
        assert by["overall"]["bins"] == one["bins"]
        assert by["overall"]["table"] == one["table"]
        edges = [[each["low"] for each in group["bins"]] for group in by["groups"]]
        assert all(of_group == [each["low"] for each in one["bins"]] for of_group in edges)


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["1", "10", "2", "-3"], [-3, 1, 2, 10]),
        (["1", "01", "2"], ["01", "1", "2"]),
        (["1", "x"], ["1", "x"]),
        (["0.5", "1.5"], ["0.5", "1.5"]),
        (["10.5", "2.5", "-1.0"], ["-1.0", "2.5", "10.5"]),
        (["", " "], None),
        (["true", "false"], ["false", "true"]),
        (["9" * 30, "1"], ["1", "9" * 30]),
    ],
)
def test_labels(tmp_path, written, labels):
    file = tmp_path / "rows.csv"
    lines = [f"{i % 2},0.{i % 9 + 1},{written[i % len(written)]}" for i in range(60)]
    file.write_text("\n".join(["y,p,g", *lines]) + "\n")
    done = run(file, *COLUMNS, "--by", "g", "--json", tmp_path / "out.json")
    if labels is None:
        assert "column 'g' must be complete; it has no value in 30 of 60 rows, first in line 2" in done.stderr
    else:
        document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
        shown = [(group["table"][0]["mean"], group["label"]) for group in document["groups"]]
        assert sorted((label for _, label in shown), key=labels.index) == labels
        assert [mean for mean, _ in shown] == sorted((mean for mean, _ in shown), reverse=True)


def test_columns_and_options_that_are_refused(tmp_path):
    frame = rows().assign(x=np.random.default_rng(1).normal(size=900), number=np.arange(900))
    file = write(frame, tmp_path / "rows.csv")
    frame.loc[[3, 7], "site"] = None
    holes = write(frame, tmp_path / "holes.parquet")
    counts = bc.save_counts(bc.BinnedCounts.from_arrays(frame["y"], frame["p"]), tmp_path / "counts.json")
    assert "has no column 'sites'. Did you mean 'site'?" in refused(file, *COLUMNS, "--by", "sites")
    assert "it has no value in 2 of 900 rows, first in row 4" in refused(holes, *COLUMNS, "--by", "site")
    assert "900 are numbers that are not integers, such as" in refused(file, *COLUMNS, "--by", "x")
    few = refused(file, *COLUMNS[:4], "--by", "number", "--draws", "200000")
    assert "--by must name a column with at most 33 groups" in few  # 1e8 / (200 000 draws * 15 bins)
    assert "there are 900 or more, such as '0', '1', '10'. Use fewer --draws or --bins" in few
    assert "--by must name a column of groups; 'y' holds the labels." in refused(file, *COLUMNS, "--by", "y")
    assert "'p' holds the probabilities" in refused(file, *COLUMNS, "--by", "p")
    assert "'w' holds the weights" in refused(file, *COLUMNS, "--by", "w", "--weights", "w")
    classwise = refused(file, *COLUMNS, "--by", "fold", "--target", "classwise")
    assert "--by cannot be used with --target classwise" in classwise
    assert "--by cannot be used with a file of counts" in refused(counts, "--by", "fold")


def test_invalid_rows_are_numbered_within_the_file(tmp_path, monkeypatch):
    frame = rows(3000)
    frame.loc[[2001, 2500], "p"] = 1.5
    monkeypatch.setattr(source, "ROWS", 512)
    monkeypatch.setattr(source, "BLOCK", 4 * 512)
    said = refused(write(frame, tmp_path / "rows.csv"), *COLUMNS, "--by", "site")
    assert "column 'p' must lie in [0, 1]" in said
    assert "2 of 3000" in said
    assert "line 2003" in said


def test_a_group_whose_weights_are_all_zero(tmp_path):
    frame = rows()
    frame.loc[frame["site"] == "north", "w"] = 0
    said = refused(write(frame, tmp_path / "rows.csv"), *COLUMNS, "--weights", "w", "--by", "site")
    n = (frame["site"] == "north").sum()
    assert f"column 'w' must not all be zero in a group; they are in all {n} rows of group 'north'" in said


@pytest.mark.slow
def test_every_group_is_printed_and_every_output_written(tmp_path):
    frame = rows().assign(day=lambda of: [f"d{i % 40:02d}" for i in range(len(of))])
    outputs = [f"out.{suffix}" for suffix in ("json", "html", "png", "nc")]
    options = zip(("--json", "--html", "--plot", "--netcdf"), (tmp_path / name for name in outputs), strict=True)
    done = run(
        write(frame, tmp_path / "rows.csv"), *COLUMNS, "--by", "day", *[word for pair in options for word in pair]
    )
    assert done.exit_code == 0, done.stderr
    for i in range(40):
        assert f" d{i:02d} " in done.stdout
    assert "Not shown" not in done.stdout
    assert all((tmp_path / name).stat().st_size for name in outputs)
    assert "column of groups" in (tmp_path / "out.html").read_text(encoding="utf-8")
