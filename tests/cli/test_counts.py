"""Counts of files: counted, added, and evaluated."""

import json

import numpy as np
import pytest
from counted_files import ROW, N, done, matrix_of, refused, run, write

import bayescal as bc


def test_count_and_merge_give_one_pass(rows, tmp_path):
    """Three workers, three files, one sum: the same integers, and a report that says the same."""
    whole = write(rows, tmp_path / "whole.parquet")
    parts = []
    for i, slice_ in enumerate(np.array_split(np.arange(N), 3)):
        part = write({name: values[slice_] for name, values in rows.items()}, tmp_path / f"part{i}.csv")
        parts.append(tmp_path / f"part{i}.json")
        assert f"{len(slice_):,} rows of 1 file: target event, 15 equal-width" in done(
            "count", part, *ROW, "-o", parts[-1]
        )
    done("merge", *parts, "-o", tmp_path / "sum.json")
    at_once = tmp_path / "at_once.json"
    assert f"{N:,} rows of 3 files" in done("count", *sorted(tmp_path.glob("part*.csv")), *ROW, "-o", at_once)
    expected = bc.BinnedCounts.from_arrays(rows["y"], rows["p"], target="event")
    for path in (tmp_path / "sum.json", at_once):
        counts = bc.load_counts(path)
        np.testing.assert_array_equal(counts.cells, expected.cells)
        np.testing.assert_allclose(counts.deviation, expected.deviation, rtol=1e-12)
        assert done("report", path).splitlines() == done("report", whole, *ROW).splitlines()


def test_fine_counts_are_reported_on_fewer_bins(rows, tmp_path):
    path = write(rows, tmp_path / "rows.parquet")
    done("count", path, *ROW, "--bins", 300, "-o", tmp_path / "fine.json")
    assert done("report", tmp_path / "fine.json", "--bins", 15) == done("report", path, *ROW)
    told = refused("report", tmp_path / "fine.json", "--bins", 7)
    assert "--bins must be among the edges of the counts; 6 of 8 values are not" in told
    assert "'fine.json' has 300 equal-width bins" in told


def test_top_labels_of_a_matrix_are_counted(rows, tmp_path):
    path = write(rows, tmp_path / "rows.parquet")
    done("count", path, "--label", "label", "--prob-prefix", "q", "-o", tmp_path / "top.json")
    assert bc.load_counts(tmp_path / "top.json") == bc.evaluate(rows["label"], matrix_of(rows), draws=2, rng=1).counts


@pytest.fixture
def counted(rows, tmp_path):
    path = write(rows, tmp_path / "rows.parquet")
    done("count", path, *ROW, "-o", tmp_path / "c.json")
    return tmp_path / "c.json"


def test_counts_refuse_what_is_about_rows(counted):
    told = refused("report", counted, *ROW, "--logits")
    assert "--label, --prob, --logits cannot be used with a file of counts, only with rows." in told


@pytest.mark.parametrize(
    "layout",
    [
        lambda document: json.dumps(document, separators=(",", ":")),
        lambda document: json.dumps(document, sort_keys=True, indent=4),
        lambda document: "\ufeff" + json.dumps(document),
    ],
    ids=["compact", "sorted", "byte order mark"],
)
def test_counts_are_counts_however_their_json_is_laid_out(counted, layout):
    expected = done("report", counted)
    counted.write_text(layout(json.loads(counted.read_text(encoding="utf-8"))), encoding="utf-8")
    assert done("report", counted) == expected


def test_what_cannot_be_counted_or_added(counted, rows, tmp_path):
    path = tmp_path / "rows.parquet"
    classwise = ["--target", "classwise", *ROW]
    assert "one column of probabilities per class" in refused("count", path, *classwise, "-o", tmp_path / "x.json")
    assert "given twice" in refused("count", path, path, *ROW, "-o", tmp_path / "x.json")
    assert "given twice" in refused("merge", counted, counted, "-o", tmp_path / "x.json")
    assert "Did you mean 'c.json'" in refused("report", tmp_path / "cc.json")
    lines = write(rows, tmp_path / "lines.jsonl").rename(tmp_path / "lines.json")
    assert "would overwrite FILE" in refused("count", lines, *ROW, "-o", lines)
    assert "writes .json files" in refused("count", path, *ROW, "-o", tmp_path / "x.csv")
    done("count", path, *ROW, "--bins", 10, "-o", tmp_path / "ten.json")
    told = refused("merge", counted, tmp_path / "ten.json", "-o", tmp_path / "x.json")
    assert "'ten.json': counts can be added only if they have the same edges" in told
    done("count", path, "--correct", "y", "--confidence", "p", "-o", tmp_path / "confidence.json")
    told = refused("merge", counted, tmp_path / "confidence.json", "-o", tmp_path / "x.json")
    assert "only if they have the same target; these have 'event' and 'confidence'" in told
    pair = bc.PairedCounts.from_arrays(rows["y"], rows["p"], rows["y"], rows["p"] ** 2)
    bc.save_counts(pair, tmp_path / "pair.json")
    assert "compare_counts" in refused("report", tmp_path / "pair.json")
    assert "'pair.json': counts of one classifier and counts of two" in refused(
        "merge", counted, tmp_path / "pair.json", "-o", tmp_path / "x.json"
    )
    assert not (tmp_path / "x.json").exists()


def test_of_several_files_the_one_that_is_wrong_is_named(rows, tmp_path):
    good = write(rows, tmp_path / "good.csv")
    bad = write({**rows, "p": rows["p"] + 1}, tmp_path / "bad.csv")
    told = refused("count", good, bad, *ROW, "-o", tmp_path / "x.json")
    assert "'bad.csv': column 'p' must lie in [0, 1]; 9000 of 9000 values do not" in told


def test_a_copy_is_noticed(counted, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes(counted.read_bytes())
    result = run("merge", counted, copy, "-o", tmp_path / "x.json")
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    assert result.stderr.startswith("Note: 'c.json' and 'copy.json' have equal sums to the last digit")
    bc.save_counts(bc.BinnedCounts.empty(15, target="event"), copy)
    assert run("merge", counted, copy, "-o", tmp_path / "x.json").stderr == ""


def test_a_broken_file_of_counts(counted):
    counted.write_text(counted.read_text()[:200])
    assert "'" in refused("report", counted)
    counted.write_text('{"schema": "bayescal.monitor/1"}')
    assert "bayescal.monitor/1" in refused("report", counted)


def test_counts_of_logits_can_be_merged_and_are_refused_by_report(tmp_path):
    """A report has bins: the message names the function that evaluates these counts."""
    paths = [
        bc.save_counts(bc.LogitCounts.from_arrays([0, 1, 1], p), tmp_path / f"{i}.json")
        for i, p in enumerate(([0.2, 0.5, 0.9], [0.1, 0.6, 0.7]))
    ]
    merged = tmp_path / "merged.json"
    assert "cells of 0.05 in logit" in done("merge", *paths, "-o", merged)
    assert bc.load_counts(merged) == sum(map(bc.load_counts, paths))
    assert "`bayescal.clinical.recalibration_counts` evaluates them" in refused("report", merged)
    binned = bc.save_counts(bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.9]), tmp_path / "binned.json")
    assert "counts in cells of logits" in refused("merge", paths[0], binned, "-o", tmp_path / "both.json")


def test_counts_between_thresholds_can_be_merged_and_are_refused_by_report(tmp_path):
    paths = [
        bc.save_counts(bc.ThresholdCounts.from_arrays([0, 1, 1], p, [0.3, 0.8]), tmp_path / f"{i}.json")
        for i, p in enumerate(([0.2, 0.5, 0.9], [0.1, 0.6, 0.7]))
    ]
    merged = tmp_path / "merged.json"
    assert "event, 2 thresholds of 1 model" in done("merge", *paths, "-o", merged)
    assert bc.load_counts(merged) == sum(map(bc.load_counts, paths))
    assert "`bayescal.decisions.net_benefit_counts` evaluates them" in refused("report", merged)
    binned = bc.save_counts(bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.9]), tmp_path / "binned.json")
    assert "counts between thresholds" in refused("merge", paths[0], binned, "-o", tmp_path / "both.json")
