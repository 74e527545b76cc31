"""Counting files with a judge's labels: the counts of arrays, in every format, in blocks; errors name lines."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judged_sets import judged_set

import bayescal as bc
from bayescal.data.files import source
from bayescal.labels.sums import JudgedCounts

COLUMNS = {"label": "human", "prob": "sure", "judge": "grade"}


def count(path, **options):
    return bc.labels.count_file(path, **COLUMNS | options)


def written(path, lines):
    path.write_text("\n".join(["human,sure,grade", *lines, ""]))
    return path


def words(values, missing=""):
    return [missing if np.isnan(each) else str(int(each)) for each in values]


def write(folder, kind, y, p, judge):
    """Write a file in which missing labels are as usual in the format."""
    path = folder / f"answers.{kind}"
    rows = list(zip(y, p.tolist(), judge, strict=True))
    if kind == "jsonl":
        records = [{"human": None if np.isnan(a) else bool(a), "sure": b, "grade": int(c)} for a, b, c in rows]
        path.write_text("".join(json.dumps(each) + "\n" for each in records))
    elif kind == "parquet":
        known = pa.array([None if np.isnan(a) else bool(a) for a in y])
        pq.write_table(pa.table({"human": known, "sure": p, "grade": np.asarray(judge, float)}), path)
    else:
        missing = {"csv": "", "tsv": "NA", "csv.gz": "nan"}[kind]
        lines = zip(words(y, missing), map(repr, p.tolist()), words(judge), strict=True)
        separator = "\t" if kind == "tsv" else ","
        text = "\n".join(map(separator.join, [("human", "sure", "grade"), *lines])) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
def test_a_file_of_every_format_has_the_counts_of_the_arrays(kind, tmp_path):
    rows = judged_set(n=300, checked=60)
    path = write(tmp_path, kind, rows.y, rows.confidence, rows.judge)
    assert count(path) == JudgedCounts.from_arrays(rows.y, rows.confidence, judge=rows.judge)


@pytest.mark.parametrize("rows_per_block", [16, 64, 256])
def test_counts_do_not_depend_on_the_blocks(rows_per_block, tmp_path, monkeypatch):
    """Confidences are multiples of 1/1024, and bins those of 16: all sums are equal to the last digit."""
    rows = judged_set(n=1000, checked=150)
    confidence, seen = np.round(rows.confidence * 1024) / 1024, []
    path = write(tmp_path, "csv", rows.y, confidence, rows.judge)
    monkeypatch.setattr(source, "ROWS", rows_per_block)
    monkeypatch.setattr(source, "BLOCK", 1)
    counts = count(path, bins=16, progress=lambda step: seen.append((step.step, step.rows)))
    assert len(seen) == -(-1000 // rows_per_block)
    assert seen[-1] == ("counting", 1000)
    expected = JudgedCounts.from_arrays(rows.y, confidence, judge=rows.judge, bins=16)
    for name in ("rows", "checked", "both_0", "both_1"):
        one, other = getattr(counts, name), getattr(expected, name)
        assert all(np.all(getattr(one, s) == getattr(other, s)) for s in ("cells", "deviation", "deviation_sq"))
    mass = count(path, bins=4, binning="equal-mass")
    assert mass.bins == bc.make_bins(4, binning="equal-mass", confidence=confidence)


def test_one_bin_for_each_value(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 1)
    monkeypatch.setattr(source, "BLOCK", 1)
    counts = count(written(tmp_path / "a.csv", ["1,0.9,1", ",0.5,0", ",0.9,1", "0,0.7,1"]), binning="values")
    assert counts.bins == bc.make_bins(binning="values", confidence=[0.9, 0.5, 0.7])
    assert counts.rows.n.tolist() == [1, 1, 2]


def test_words_logarithms_and_nested_fields(tmp_path):
    path = written(tmp_path / "words.csv", ["C,-0.1,I", ",-0.2,C", "NA,-3,C", "I,-1,I"])
    counts = count(path, classes=["I", "C"], logprob=True, bins=2)
    expected = JudgedCounts.from_arrays([1, None, None, 0], np.exp([-0.1, -0.2, -3, -1]), judge=[0, 1, 1, 0], bins=2)
    assert counts == expected
    # a word for no label that is a class is a label
    counts = count(written(tmp_path / "none.csv", ["none,0.1,some", ",0.2,none"]), classes=["none", "some"])
    assert (counts.n_rows, counts.n_checked, counts.both.sum(axis=2).tolist()) == (2, 1, [[0, 1], [0, 0]])
    lines = [{"s": {"human": 1, "judge": 1}, "p": 2.0}, {"s": {"judge": 0}, "p": -1.0}]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    nested = {"label": "s.human", "prob": "p", "judge": "s.judge", "logits": True, "target": "event"}
    counts = count(tmp_path / "n.jsonl", **nested)
    assert (counts.n_rows, counts.n_checked, counts.target) == (2, 1, "event")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,0.9,1", ",0.8,", ",0.7,NA"], "column 'grade' must be known where the true label is missing; 2 of 3"),
        (["1,0.9,1", ",0.8,1", "2,0.7,1"], "column 'human' must be binary labels.* 1 of 3 .*in line 4: 2"),
        ([",0.9,1", "inf,0.8,1"], "column 'human' must hold numbers or true/false; 1 of 2 rows does not"),
        ([",0.9,1", "C,0.8,1", "I,0.8,1"], r"String labels \('C', 'I'\) need `classes=`"),
        (["1,0.9,1", "1,1.5,0"], r"column 'sure' must lie in \[0, 1\]; 1 of 2.*line 3: 1.5"),
        (["1,0.9,1", "1,,0"], r"column 'sure' must be complete; it has no value in 1 of 2 rows, first in line 3"),
    ],
)
@pytest.mark.parametrize("rows_per_block", [1, 16_384])
def test_errors_name_the_column_and_the_line(lines, message, rows_per_block, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS", rows_per_block)
    monkeypatch.setattr(source, "BLOCK", 1)
    with pytest.raises(ValueError, match=message):
        count(written(tmp_path / "a.csv", lines))


def test_names_of_columns_as_elsewhere(tmp_path):
    path = written(tmp_path / "a.csv", ["1,0.9,1", ",0.4,0"])
    assert bc.labels.count_file(path, y_true="human", y_prob="sure", judge="grade") == count(path)
    with pytest.raises(TypeError, match="Here it is called 'label'"):
        bc.labels.count_file(path, labels="human", y_prob="sure", judge="grade")


def test_columns_must_be_different(tmp_path):
    path = written(tmp_path / "a.csv", ["1,0.9,1"])
    with pytest.raises(ValueError, match="`judge` must name a column of its own; 'human' is"):
        count(path, judge="human")
    with pytest.raises(ValueError, match=r"'a.csv' has no column 'grades'. Did you mean 'grade'"):
        count(path, judge="grades")
    with pytest.raises(TypeError, match="`judge`"):
        count(path, judge=None)
