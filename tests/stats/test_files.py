"""Counting a file in blocks is counting all of its rows, in every format."""

import gzip
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bayescal as bc
from bayescal._invalid import InvalidRows, RoundingWarning
from bayescal.data.files import source
from bayescal.data.files.predictions import open_predictions
from bayescal.stats import files
from bayescal.stats.files import Counting, Progress, count_classes_of_stream, count_file, count_groups_of_stream

N = 9001
SUMS = ("cells", "weight", "deviation", "deviation_sq", "weight_sq")
FORMATS = (".parquet", ".csv", ".csv.gz", ".tsv", ".jsonl")
#: With so many bins, distances from the middles of bins are binary fractions, as the confidences below are.
BINS = 16


@pytest.fixture(scope="module")
def rows():
    """Binary fractions: all sums are exact in float64, so the order of adding changes no bit."""
    rng = np.random.default_rng(1)
    p = rng.integers(0, 257, N) / 256
    parts = rng.multinomial(256, [0.5, 0.25, 0.25], size=N) / 256
    return {
        "y": (rng.random(N) < p).astype(np.int64),
        "p": p,
        "w": rng.integers(0, 9, N) / 4,
        "label": rng.integers(0, 3, N),
        **{f"q{k}": parts[:, k] for k in range(3)},
    }


@pytest.fixture(params=[True, False], ids=["blocks", "one block"])
def blocks(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(source, "ROWS", 2048)
        monkeypatch.setattr(source, "BLOCK", 2048)
    return request.param


def write(rows, folder, suffix):
    path, frame = folder / f"rows{suffix}", pl.DataFrame(rows)
    if suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        text = frame.write_csv(separator="\t" if suffix == ".tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    return path


def matrix_of(rows):
    return np.column_stack([rows[f"q{k}"] for k in range(3)])


def same_bits(one, other):
    """Equal sums; those of logarithms, which are not exact, up to the order of additions."""
    assert (one.log_losses is None) == (other.log_losses is None)
    for name in ("total", "squares", "infinite") if one.log_losses else ():
        found, expected = (getattr(counts.log_losses, name) for counts in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    one, other = (replace(counts, log_losses=None) for counts in (one, other))
    return all(getattr(one, s).tobytes() == getattr(other, s).tobytes() for s in SUMS) and one == other


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_is_counted_as_its_rows_are(suffix, rows, tmp_path, blocks):
    path = write(rows, tmp_path, suffix)
    expected = bc.BinnedCounts.from_arrays(rows["y"], rows["p"], bins=BINS, target="event")
    assert expected.deviation.any()
    assert same_bits(count_file(path, label="y", prob="p", bins=BINS), expected)
    weighted = bc.BinnedCounts.from_arrays(rows["y"], rows["p"], weights=rows["w"], bins=BINS, target="confidence")
    found = count_file(path, label="y", prob="p", weights="w", bins=BINS, target="confidence")
    assert same_bits(found, weighted)
    assert found.weighted


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_matrices_and_equal_mass(suffix, rows, tmp_path, blocks):
    path = write(rows, tmp_path, suffix)
    top = bc.evaluate(rows["label"], matrix_of(rows), bins=BINS, draws=2, rng=1).counts
    assert same_bits(count_file(path, label="label", prob_prefix="q", bins=BINS), top)
    mass = bc.evaluate(rows["y"], rows["p"], bins=5, binning="equal-mass", draws=2, rng=1).counts
    found = count_file(path, label="y", prob="p", bins=5, binning="equal-mass")
    np.testing.assert_array_equal(found.bins.edges, mass.bins.edges)
    np.testing.assert_array_equal(found.cells, mass.cells)


@pytest.mark.parametrize("suffix", FORMATS)
def test_logits_and_labels_in_words(suffix, rows, tmp_path, blocks):
    words = np.array(["no", "yes"])[rows["y"]]
    path = write({"y": words, "x": 8 * rows["p"] - 4}, tmp_path, suffix)
    found = count_file(path, label="y", prob="x", classes=["no", "yes"], logits=True)
    expected = bc.evaluate(rows["y"], 1 / (1 + np.exp(4 - 8 * rows["p"])), draws=2, rng=1).counts
    np.testing.assert_array_equal(found.cells, expected.cells)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=0, atol=1e-10)


def test_classes_and_how_they_vary_together(rows, tmp_path, blocks):
    stream = open_predictions(write(rows, tmp_path, ".parquet"), label="label", prob_prefix="q")
    counts = count_classes_of_stream(stream, Counting(bins=BINS))
    expected = bc.evaluate(rows["label"], matrix_of(rows), target="classwise", bins=BINS, draws=2, rng=1)
    assert all(map(same_bits, counts.by_class, expected.counts))
    assert counts.classes == expected.classes
    residuals = np.eye(3)[rows["label"]] - matrix_of(rows)
    size = np.sqrt((residuals**2).sum(axis=0))
    np.testing.assert_allclose(counts.correlations[1], residuals.T @ residuals / np.outer(size, size), atol=1e-12)


def test_counts_of_a_file_are_evaluated_and_added(rows, tmp_path):
    first, second = ({name: values[half] for name, values in rows.items()} for half in (slice(5000), slice(5000, None)))
    parts = []
    for number, part in enumerate((first, second)):
        folder = tmp_path / str(number)
        folder.mkdir()
        parts.append(count_file(write(part, folder, ".parquet"), label="y", prob="p"))
    found, expected = (
        bc.evaluate_counts(parts[0] + parts[1], draws=50, rng=1),
        bc.evaluate(rows["y"], rows["p"], draws=50, rng=1),
    )
    np.testing.assert_allclose(found.ece.values, expected.ece.values, rtol=1e-9)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_progress_is_reported_after_each_block(suffix, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 2048)
    monkeypatch.setattr(source, "BLOCK", 2048)
    path, seen = write(rows, tmp_path, suffix), []
    count_file(path, label="y", prob="p", binning="equal-mass", bins=4, progress=seen.append)
    assert [at.step for at in seen] == ["edges"] * 5 + ["counting"] * 5
    assert [at.rows for at in seen] == [2048, 4096, 6144, 8192, N] * 2
    if suffix == ".parquet":
        assert seen[0] == Progress("edges", 2048, N)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_invalid_rows_are_reported_about_the_whole_file(suffix, rows, tmp_path, blocks):
    p = rows["p"].copy()
    p[[3000, 8999]] = 70, 12.5
    path = write({**rows, "p": p}, tmp_path, suffix)
    line = "line 3002" if suffix == ".csv" else "row 3001"
    said = f"column 'p' must lie in [0, 1]; 2 of {N} values do not, first in {line}: 70. Percentages? Divide by 100."
    with pytest.raises(InvalidRows, match=f"^{re.escape(said)}$") as caught:
        count_file(path, label="y", prob="p")
    found = caught.value.finding
    assert (found.argument, found.count, found.size, found.first, found.value) == ("y_prob", 2, N, (3000,), 70)


def test_rounding_is_reported_once(rows, tmp_path, blocks):
    p = rows["p"].copy()
    p[[3000, 8999]] = 1 + 1e-9, 1 + 2e-9
    path = write({**rows, "p": p}, tmp_path, ".parquet")
    with pytest.warns(RoundingWarning) as caught:
        count_file(path, label="y", prob="p")
    assert [str(w.message) for w in caught] == [
        f"column 'p': 2 of {N} values lie outside [0, 1] by at most 2e-09 (first in row 3001); taken as rounding and "
        "clipped."
    ]
    assert caught[0].filename == __file__


def test_other_names_in_a_hint_are_columns(tmp_path):
    path = write({"hit": [0.25, 0.5], "sure": [1, 0]}, tmp_path, ".csv")
    with pytest.raises(InvalidRows, match="are column 'hit' and column 'sure' swapped"):
        count_file(path, label="hit", prob="sure")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"prob": "p", "target": "classwise"}, "`target='classwise'` needs one column of probabilities per class"),
        ({}, "`prob` or `prob_prefix` must say"),
        ({"prob": "p", "binning": "equal"}, "`binning` must be one of"),
        ({"prob": "p", "weights": "zero"}, rf"column 'zero' are all zero \({N} of {N}, first in row 1\)"),
        ({"prob": "p", "weights": "little"}, "`weights` must be above 1e-140 at their largest, so that squares"),
        ({"prob": "z"}, "'rows.parquet' has no column 'z'"),
    ],
)
def test_what_is_refused(known, message, rows, tmp_path, blocks):
    path = write({**rows, "zero": np.zeros(N), "little": np.full(N, 1e-150)}, tmp_path, ".parquet")
    with pytest.raises(ValueError, match=message):
        count_file(path, label="y", **known)


def test_too_many_groups_are_refused_before_any_group_of_the_block_is_counted(rows, tmp_path, monkeypatch):
    """Both blocks have 2048 groups of their own, and every group of a block takes a count."""
    for name in ("ROWS", "BLOCK"):
        monkeypatch.setattr(source, name, 2048)
    path = write({name: rows[name] for name in ("y", "p")} | {"g": [f"g{i}" for i in range(N)]}, tmp_path, ".parquet")
    counted = []
    monkeypatch.setattr(files, "_count", lambda *given, count=files._count: (counted.append(1), count(*given))[1])
    for most, blocks in ((2047, 1), (2048, 2)):
        counted.clear()
        stream = open_predictions(path, label="y", prob="p", by="g")
        with pytest.raises(ValueError, match=rf"at most {most} groups, since .*; there are {2048 * blocks} or more"):
            count_groups_of_stream(stream, Counting(), most)
        assert len(counted) == blocks + 2048 * (blocks - 1)  # all rows of each block, and the groups of those before
