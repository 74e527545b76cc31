"""The option ``--cluster`` of ``bayescal report``, ``compare`` and ``count``."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.datasets.clustered import simulate_clusters

COLUMNS = ("--label", "y", "--prob", "p", "--cluster", "q")


@pytest.fixture(scope="module")
def table():
    rows = simulate_clusters([5] * 60, dependence=0.5, rng=1)
    q = np.char.add("q", rows.cluster.astype(str))
    frame = pd.DataFrame(
        {"y": rows.outcome, "p": rows.confidence, "other": rows.confidence**1.5, "q": q, "site": rows.cluster % 2}
    )
    return frame.sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("clusters") / "rows.csv"
    table.to_csv(path, index=False)
    return path


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_report(table, path):
    out = path.with_suffix(".json")
    shown = run("report", path, *COLUMNS, "--seed", 1, "--json", out, "--details")
    ours = bc.evaluate(table["y"], table["p"], cluster=table["q"], rng=1)
    assert ours.counts.clusters.icc > 0.1
    assert f"N = 300 in 60 clusters (effective N = {ours.counts.effective_rows:.0f})" in shown
    document = json.loads(out.read_text())
    assert document["parameters"]["cluster"] == "q"


def test_report_of_groups(table, path):
    shown = run("report", path, *COLUMNS, "--by", "site", "--draws", 100)
    assert "in 60 clusters" in shown
    assert "all rows: The rows are in 60 clusters" in shown  # those of a group are among its remarks
    assert "site 0, site 1: With fewer than 40 clusters" in shown
    assert "site 0: The rows" not in shown


def test_count_and_report_of_counts(table, path):
    saved = path.with_name("counts.json")
    run("count", path, *COLUMNS, "-o", saved)
    arrays = bc.BinnedCounts.from_arrays(table["y"], table["p"], cluster=table["q"], target="event")
    np.testing.assert_allclose(bc.load_counts(saved).effective_n, arrays.effective_n, rtol=1e-9)
    assert "in 60 clusters" in run("report", saved, "--draws", 100, "--details")


def test_compare(table, path):
    columns = ("--label", "y", "--prob", "p", "--prob", "other", "--cluster", "q")
    out = path.with_name("compare.json")
    shown = run("compare", path, *columns, "--draws", 500, "--seed", 1, "--json", out)
    ours = bc.compare(table["y"], {"p": table["p"], "other": table["other"]}, cluster=table["q"], draws=500, rng=1)
    assert "in 60 clusters" in shown
    low, high = ours.difference("p", "other").interval(0.95)
    text = out.read_text()
    assert json.loads(text)["parameters"]["cluster"] == "q"
    assert json.loads(text)["remarks"] == list(ours.remarks)
    assert "p: The rows are in 60 clusters (5 rows on average)" in shown
    assert f"{low:.6g}"[:6] in text
    assert f"{high:.6g}"[:6] in text


def test_compare_files_refuses_clusters_that_differ(table, path):
    other = table.assign(key=np.arange(300))
    one, two = path.with_name("one.csv"), path.with_name("two.csv")
    other.to_csv(one, index=False)
    other.assign(q="q0").to_csv(two, index=False)
    columns = ("--label", "y", "--prob", "p", "--cluster", "q", "--key", "key")
    result = CliRunner().invoke(app, ["compare", str(one), str(two), *columns], env={"COLUMNS": "200"})
    assert result.exit_code != 0
    assert "must be the same in both files" in " ".join(result.output.split())


def test_columns_that_hold_something_else_are_refused(path):
    refused = CliRunner().invoke(app, ["report", str(path), "--label", "y", "--prob", "p", "--cluster", "p"])
    assert refused.exit_code == 2
    assert "--cluster must name a column of clusters; 'p' holds the probabilities" in refused.output
    refused = CliRunner().invoke(app, ["report", str(path), "--label", "y", "--prob", "p", "--cluster", "other"])
    assert refused.exit_code == 2
    assert "--cluster must name a column of cluster labels" in refused.output
    columns = ["--label", "y", "--prob", "p", "--by", "site", "--pooling", "partial", "--cluster", "q"]
    refused = CliRunner().invoke(app, ["report", str(path), *columns])
    assert "or leave out --cluster if the groups are the clusters" in refused.output
