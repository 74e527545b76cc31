"""Files: the same table in every format gives the same arrays, and whatever is wrong is told with its line."""

import gzip
import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayescal.data.files import delimiter
from bayescal.data.files.formats import Delimited, JsonLines, Parquet, open_source
from bayescal.data.files.predictions import class_columns, open_predictions, read_predictions
from bayescal.data.files.source import Source

N = 200


@pytest.fixture(scope="module")
def table():
    """Labels and probabilities with all 17 digits, and a column of text that would confuse a splitter of lines."""
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.random(N - 4) ** 3, [0.0, 1.0, 5e-324, 1 - 2**-53]])
    note = [("plain", "a, b", 'say "so"', "it's")[i % 4] for i in range(N)]
    return {"label": rng.integers(0, 2, N).tolist(), "p": p.tolist(), "note": note}


def as_delimited(table, delimiter=",", newline="\n"):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)

    rows = [delimiter.join(table), *(delimiter.join(map(quoted, row)) for row in zip(*table.values(), strict=True))]
    return newline.join(rows) + newline


def as_json_lines(table):
    return "".join(json.dumps(dict(zip(table, row, strict=True))) + "\n" for row in zip(*table.values(), strict=True))


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


WRITERS = {
    "csv": as_delimited,
    "csv of Excel": lambda t: "\ufeff" + as_delimited(t, ";", "\r\n"),
    "tsv": lambda t: as_delimited(t, "\t"),
    "pipes": lambda t: as_delimited(t, "|"),
    "json lines": as_json_lines,
    "gzipped csv": lambda t: gzip.compress(as_delimited(t).encode()),
    "gzipped json lines": lambda t: gzip.compress(as_json_lines(t).encode()),
}


@pytest.mark.parametrize("name", ["right.csv", "wrong.parquet", "none", "strange [1]*?' {x}.txt"])
@pytest.mark.parametrize("form", [*WRITERS, "parquet"])
def test_every_format_gives_the_same_numbers_whatever_the_file_is_called(table, tmp_path, form, name):
    path = tmp_path / name
    if form == "parquet":
        pq.write_table(pa.table(table), path)
    else:
        write(path, WRITERS[form](table))
    rows = read_predictions(path, label="label", prob="p")
    np.testing.assert_array_equal(rows.y_true, table["label"])
    np.testing.assert_array_equal(rows.y_prob, table["p"])  # to the last bit
    assert rows.y_prob.dtype == np.float64
    (note,) = open_source(path).read([("note", "text")])
    assert note.tolist() == table["note"]


def test_the_content_decides_the_format(table, tmp_path):
    pq.write_table(pa.table(table), tmp_path / "a.csv")
    assert isinstance(open_source(tmp_path / "a.csv"), Parquet)
    assert isinstance(open_source(write(tmp_path / "a.parquet", as_json_lines(table))), JsonLines)
    assert isinstance(open_source(write(tmp_path / "a.jsonl", as_delimited(table))), Delimited)


def test_parquet_keeps_types_and_tells_names_apart_that_differ_in_case(tmp_path):
    folder = tmp_path / "label=3"  # which engines take for a column
    folder.mkdir()
    columns = {
        "nested": pa.array([{"P": 1.0, "label": 2}, {"P": 2.0, "label": 3}]),
        "P": pa.array([0.25, 0.5], pa.float32()),
        "p": pa.array([0.1, 0.2], pa.float32()),
        "label": pa.array([True, False]),
        "small": pa.array([1, 0], pa.uint8()),
    }
    pq.write_table(pa.table(columns), folder / "x.parquet")
    source = open_source(folder / "x.parquet")
    assert source.columns == ("nested", "P", "p", "label", "small")
    lower, upper, label, small = source.read([("p", "number"), ("P", "number"), ("label", "label"), ("small", "label")])
    assert lower.dtype == np.float32
    np.testing.assert_array_equal(lower, np.float32([0.1, 0.2]))
    np.testing.assert_array_equal(upper, np.float32([0.25, 0.5]))
    assert label.tolist() == [True, False]
    assert small.tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"column 'nested' must hold numbers; its type is STRUCT"):
        source.read([("nested", "number")])


@pytest.mark.parametrize("name", ['a"b', "it's", "p/q", "p~1", "select", "d.x", "ß 1", ""])
def test_a_column_may_have_any_name(tmp_path, name):
    table = {"label": [0, 1], "x": [0.75, 0.5], name: [0.25, 0.125]}
    files = [write(tmp_path / "a.jsonl", as_json_lines(table)), tmp_path / "a.parquet"]
    pq.write_table(pa.table(table), files[1])
    quoted = '"' + name.replace('"', '""') + '"'
    files.append(write(tmp_path / "a.csv", f"label,x,{quoted}\n0,0.75,0.25\n1,0.5,0.125\n"))
    for file in files:
        assert read_predictions(file, label="label", prob=name).y_prob.tolist() == [0.25, 0.125], file


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("label,p\ntrue,0.5\nFalse,0.5\n", [1, 0]),
        ("label,p\n1.0,0.5\n0,0.5\n", [1, 0]),
        ('{"label": true, "p": 0.5}\n{"label": 0, "p": 0.5}\n', [1, 0]),
        ("label,p\n #,.5\n", None),
    ],
)
def test_labels_are_numbers_or_true_and_false(tmp_path, text, labels):
    file = write(tmp_path / "x", text)
    if labels is None:
        with pytest.raises(ValueError, match=r"'label' must hold numbers or true/false; 1 of 1 rows does not"):
            read_predictions(file, label="label", prob="p")
    else:
        np.testing.assert_array_equal(read_predictions(file, label="label", prob="p").y_true, labels)


def test_a_row_that_looks_like_a_comment_is_a_row(tmp_path):
    file = write(tmp_path / "x.csv", "id,label,p\n#1,0,0.5\n2,1,0.25\n")
    assert read_predictions(file, label="label", prob="p").y_prob.tolist() == [0.5, 0.25]


def test_quotes_may_begin_after_what_a_sniffer_looks_at(tmp_path):
    rows = [f"{i % 2},0.5,plain" for i in range(100_000)]
    file = write(tmp_path / "x.csv", "\n".join(["label,p,note", *rows, '1,0.25,"a, b"']) + "\n")
    assert read_predictions(file, label="label", prob="p").y_prob[-1] == 0.25


MATRIX = "label,p10,p2,p1,other\n1,0.2,0.3,0.5,x\n10,0.5,0.25,0.25,y\n"


def test_endings_that_are_integers_are_sorted_as_numbers(tmp_path):
    rows = read_predictions(write(tmp_path / "x.csv", MATRIX), label="label", prob_prefix="p")
    assert rows.columns == ("p1", "p2", "p10")
    assert rows.classes == (1, 2, 10)
    np.testing.assert_array_equal(rows.y_prob, [[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]])


def test_other_endings_are_class_names_in_the_order_of_the_file(tmp_path):
    file = write(tmp_path / "x.csv", "p_label,p_dog,p_cat\ncat,0.2,0.8\ndog,0.6,0.4\n")
    rows = read_predictions(file, label="p_label", prob_prefix="p_")  # the label itself begins like this
    assert rows.classes == ("dog", "cat")
    assert rows.y_true.tolist() == ["cat", "dog"]
    by_name = read_predictions(file, label="p_label", prob_prefix="p_", classes=["cat", "dog"])
    np.testing.assert_array_equal(by_name.y_prob, rows.y_prob[:, ::-1])
    with pytest.raises(ValueError, match=r"`classes` \['cat', 'cow'\] must be the classes that the columns name"):
        read_predictions(file, label="p_label", prob_prefix="p_", classes=["cat", "cow"])


def test_classes_name_numbered_columns(tmp_path):
    file = write(tmp_path / "x.csv", "label,p1,p0\ncat,0.2,0.8\ndog,0.6,0.4\n")
    rows = read_predictions(file, label="label", prob_prefix="p", classes=["cat", "dog"])
    assert rows.classes == ("cat", "dog")
    np.testing.assert_array_equal(rows.y_prob, [[0.8, 0.2], [0.4, 0.6]])
    with pytest.raises(ValueError, match="or 2 names for them"):
        read_predictions(file, label="label", prob_prefix="p", classes=["cat", "dog", "cow"])


@pytest.mark.parametrize(
    ("header", "prefix", "told"),
    [
        ("label,p0,p1,p_mean,pq", "p", r"integers follow in 'p0', 'p1', something else in 'p_mean', 'pq'. A longer"),
        ("label,p_0,p_1", "p", r"begin with '_'. Did you mean the prefix 'p_'\?"),
        ("label,p_0,p_1", "q_", "at least two columns of 'x.csv'; none does.* The columns are 'label', 'p_0', 'p_1'"),
        ("label,p_0", "p_", "only 'p_0' does"),
        ("label,p1,p1", "p", "2 columns called 'p1'"),
    ],
)
def test_endings_that_are_no_classes(tmp_path, header, prefix, told):
    file = write(tmp_path / "x.csv", header + "\n" + ",".join(["0"] * (header.count(",") + 1)) + "\n")
    with pytest.raises(ValueError, match=told):
        read_predictions(file, label="label", prob_prefix=prefix)


def test_weights_are_no_class(tmp_path):
    file = write(tmp_path / "x.csv", "label,p_a,p_b,p_w\na,0.5,0.5,2\n")
    rows = read_predictions(file, label="label", prob_prefix="p_", weights="p_w")
    assert rows.columns == ("p_a", "p_b")
    assert rows.weights.tolist() == [2]


GOOD = "".join(f"{i % 2},0.{i}\n" for i in range(10))

# what is wrong, the file, and what must be told; lines are counted by hand: the header is line 1
BAD = {
    "a word": (
        "label,p\n" + GOOD + "1,NA\n0,x\n",
        r"'p' must hold numbers; 2 of 12 rows do not, first in line 12: 'NA'",
    ),
    "NaN": ("label,p\n0,0.5\n1,nan\n", r"1 of 2 rows does not, first in line 3: 'nan'"),
    "empty": ("label,p\n0,0.5\n1,\n0,0.5\n", r"'p' must be complete; it has no value in 1 of 3 rows, first in line 3"),
    "empty and words": ("label,p\n0,\n1,x\n", r"2 of 2 rows do not \(1 of them empty\), first in line 2: no value"),
    "a thousand with _": ("label,p\n0,0_1\n1,0.5\n", r"first in line 2: '0_1'"),
    "decimal comma": ("label;p\n0;0,5\n1;0,25\n", r"first in line 2: '0,5'. Decimal commas\?"),
    "blank lines": ("label,p\n\n0,0.5\n\n\n1,x\n", r"first in line 6: 'x'"),
    "line breaks in quotes": ('n,label,p\n"a\nb\n",0,0.5\n"c\n",1,x\n', r"first in line 5: 'x'"),
    "Windows lines": ("label,p\r\n0,0.5\r\n1,x\r\n", r"first in line 3: 'x'"),
    "a byte order mark": ("\ufefflabel,p\n0,x\n", r"first in line 2: 'x'"),
    "string labels": ("label,p\nno,0.5\nyes,0.5\n", r"2 of 2 rows.*String labels \('no', 'yes'\) need `classes=`"),
    "one string label": ("label,p\n0,0.5\nyes,0.5\n", r"1 of 2 rows does not, first in line 3: 'yes'. Rows are never"),
    "ragged rows": (
        "label,p\n0,0.5\n1\n0,1,2\n1,0.5\n",
        r"2 fields in every row.*2 of 4 rows do not, first in line 3: 1 f",
    ),
    "a delimiter at the end of a row": (
        "label,p\n0,0.5\n1,0.5,\n",
        r"2 fields in every row.*1 of 2 rows does not, first in line 3: 3 fields",
    ),
    "a delimiter at the end of every row": ("label,p\n0,0.5,\n1,0.5,\n", r"2 of 2 rows do not, first in line 2: 3 f"),
    "two signs": ("label,p\n0,0.5\n1,+-0.5\n", r"first in line 3: '\+-0.5'"),
    "backslashes": (
        'label,p,n\n0,0.5,a\n1,0.5,"say \\"so\\""\n',
        r"RFC 4180: a closing quote must be at the end of its field \(.*not with a backslash\); line 3 breaks",
    ),
    "a space before a quote": (
        'label,p,n\n0,0.5, "a, b"\n',
        r"an opening quote must be at the beginning.*; line 2 br",
    ),
    "line endings of two kinds": (
        "label,p\n0,0.5\r\n1,0.5\n0,0.5\n",
        r"line endings of one kind; it has 3 \\n, 1 \\r\\n",
    ),
    "a quote other than the double quote": ("label,p,n\n0,0.5,'a, b'\n", r"first in line 2: 4 fields.*double quotes"),
    "a line beyond what is read": (
        "label,p,n\n0,0.5," + "x" * 2_100_000 + "\n",
        r"at most 2,000,000 characters; the row in line 2",
    ),
    "late damage of a gzip file": (
        gzip.compress(("label,p\n" + "".join(f"{i % 2},{i / 1e6}\n" for i in range(100_000))).encode())[:-9],
        r"begins as a gzip file but is broken",
    ),
    "JSON: a key twice": (
        '{"label":1,"p":0.5}\n{"p":0.5,"label":1,"p":0.25}\n',
        r"in line 2 the key 'p' occurs more than once",
    ),
    "JSON: a comma too many": ('{"label":1,"p":0.5}\n{"label":1,"p":0.5 ,}\n', r"line 2 is not strict JSON"),
    "JSON: nested without an end": ('{"label":1,"p":' + "[" * 100_000 + "}\n", r"1 of 1 lines is not, first in line 1"),
    "an open quote": ('label,p\n0,0.5\n1,"0.5\n0,0.5\n', r"a quote must be closed before the file ends; line 3 breaks"),
    "an open quote in the header": ('label,p,"note\n0,0.5,a\n', r"must be closed before the file ends; line 1 breaks"),
    "Latin-1": ("label,p\n0,0.5\n1,é\n".encode("latin-1"), r"must be UTF-8 text.*1 of 3 lines is not, first in line 3"),
    "late Latin-1": (("label,p\n" + "0,0.5\n" * 50_000 + "1,é\n").encode("latin-1"), r"first in line 50002"),
    "no header": ("0,0.5\n1,0.25\n", r"no column 'label'.*The first line must name the columns: is it missing\?"),
    "a blank header": ("\nlabel,p\n0,0.5\n", r"first line is blank"),
    "two columns of one name": ("label,p,p\n0,0.5,0.5\n", r"2 columns called 'p'"),
    "a header only": ("label,p\n", r"has columns but no rows"),
    "nothing": ("", r"is empty \(0 bytes\)"),
    "white space": ("\n  \n", r"is empty \(4 bytes\)"),
    "JSON: not an object": ('{"label":1,"p":0.5}\n\n[1]\n3\n', r"2 of 3 lines are not, first in line 3: '\[1\]'"),
    "JSON: broken off": ('{"label":1,"p":0.5}\n{"label":\n', r"1 of 2 lines is not, first in line 2"),
    "JSON: one object over lines": ('{"label":1,\n"p":0.5}\n', r"2 of 2 lines are not, first in line 1"),
    "JSON: an array": ('[{"label":1,"p":0.5}]', r"one JSON array, not JSON lines.*lines=True"),
    "JSON: two objects a line": ('{"label":1,"p":0.5}{"label":1,"p":0.5}\n', r"1 of 1 lines is not, first in line 1"),
    "JSON: a byte order mark": ('\ufeff{"label":1,"p":0.5}\n', r"byte order mark"),
    "JSON: broken late": (
        '{"label":1,"p":0.5}\n' * 50_000 + "{\n",
        r"1 of 50001 lines is not, first in line 50001: '{'",
    ),
    "JSON: missing keys": ('\n{"label":1,"p":0.5}\n{"label":1}\n', r"no value in 1 of 2 rows, first in line 3"),
    "JSON: null": ('{"label":1,"p":0.5}\n{"label":1,"p":null}\n', r"no value in 1 of 2 rows, first in line 2"),
    "JSON: NaN": ('{"label":1,"p":0.5}\n{"label":1,"p":NaN}\n', r"first in line 2: 'NaN'"),
    "JSON: a list": ('{"label":1,"p":[0.5]}\n', r"first in line 1: '\[0.5\]'"),
    "a broken Parquet file": (b"PAR1" + b"x" * 100, r"begins as a Parquet file but is broken"),
    "a broken gzip file": (gzip.compress(GOOD.encode())[:-12], r"begins as a gzip file but is broken"),
    "random bytes": (np.random.default_rng(0).bytes(5000), r"a binary file that is not Parquet"),
    "an Excel workbook": (b"PK\x03\x04\x14\x00\x06\x00", r"Excel workbook"),
    "UTF-16": ("label,p\n".encode("utf-16"), r"UTF-16 text"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_with_how_often_and_where(tmp_path, case):
    content, told = BAD[case]
    with pytest.raises(ValueError, match=told):
        read_predictions(write(tmp_path / "x.csv", content), label="label", prob="p")


def test_lines_are_counted_in_gzipped_files_too(tmp_path):
    file = write(tmp_path / "x.gz", gzip.compress(b"label,p\n0,0.5\n\n1,x\n"))
    with pytest.raises(ValueError, match="first in line 4: 'x'"):
        read_predictions(file, label="label", prob="p")


@pytest.mark.parametrize(("missing", "value"), [(None, "no value in 1 of 3"), (float("nan"), "first in row 2: 'nan'")])
def test_parquet_has_rows_and_no_lines(tmp_path, missing, value):
    column = pa.array([0.5, missing, 0.5], pa.float64(), from_pandas=False)
    pq.write_table(pa.table({"label": [0, 1, 1], "p": column}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=value):
        read_predictions(tmp_path / "x.parquet", label="label", prob="p")


def test_a_column_that_is_not_there_brings_the_nearest_names(tmp_path):
    file = write(tmp_path / "x.csv", "label,probability,proba\n0,0.5,0.5\n")
    with pytest.raises(ValueError, match=r"no column 'probablity'. Did you mean 'probability' or 'proba'\?"):
        read_predictions(file, label="label", prob="probablity")
    with pytest.raises(ValueError, match=r"no column 'Label'. Did you mean 'label'\?"):
        read_predictions(file, label="Label", prob="proba")


def test_a_file_that_is_not_there_brings_the_nearest_names(tmp_path):
    write(tmp_path / "games.csv", "x")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'games.csv'\?"):
        open_source(tmp_path / "game.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_source(tmp_path)


def test_place_counts_rows_as_the_engine_reads_them(tmp_path):
    text = 'label,p,n\n\n0,0.1,"a\n\nb"\n1,0.2,c\n\n\n0,0.3,"d"\n'
    source = open_source(write(tmp_path / "x.csv", text))
    (p,) = source.read([("p", "number")])
    lines = text.split("\n")
    for row, value in enumerate(p):
        line = int(source.place(row).removeprefix("line "))
        assert lines[line - 1].split(",")[1] == str(value)


def test_class_columns_of_a_source(tmp_path):
    source = open_source(write(tmp_path / "x.csv", MATRIX))
    assert class_columns(source, "p", classes=["10", "2", "1"]) == (("p10", "p2", "p1"), (10, 2, 1))


def test_nothing_else_on_disk_is_touched(table, tmp_path):
    file = write(tmp_path / "x.csv", as_delimited(table))
    before = file.read_bytes()
    read_predictions(file, label="label", prob="p")
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["x.csv"]


def test_the_engine_reads_what_python_reads(tmp_path):
    """Decimal text to double, correctly rounded, on 20000 numbers of 1 to 25 digits."""
    rng = np.random.default_rng(3)
    text = [f"0.{int(rng.integers(10**9)):0{rng.integers(9, 12)}d}{int(rng.integers(10**12))}" for _ in range(20_000)]
    file = write(tmp_path / "x.csv", "label,p\n" + "".join(f"0,{t}\n" for t in text))
    assert read_predictions(file, label="label", prob="p").y_prob.tolist() == [float(t) for t in text]


# every row is read, or the file is refused


TIS = "y,p,text\n1,0.9,'tis\n0,0.2,plain\n1,0.7,the boys'\n0,0.1,plain\n"


def test_apostrophes_are_no_quotes(tmp_path):
    assert len(read_predictions(write(tmp_path / "x.csv", TIS), label="y", prob="p").y_true) == 4
    rows = [f"{i % 2},0.5,plain" for i in range(100_000)]
    rows[10], rows[99_000] = "1,0.25,'tis", "1,0.25,the boys'"
    many = write(tmp_path / "many.csv", "\n".join(["y,p,text", *rows]) + "\n")
    found = read_predictions(many, label="y", prob="p")
    assert len(found.y_true) == 100_000
    assert np.flatnonzero(found.y_prob == 0.25).tolist() == [10, 99_000]


@pytest.mark.parametrize("form", ["csv", "gzipped csv", "json lines", "parquet"])
@pytest.mark.parametrize("lost", [1, N])
def test_rows_that_the_engine_loses_are_noticed(table, tmp_path, monkeypatch, form, lost):
    path = tmp_path / "x"
    if form == "parquet":
        pq.write_table(pa.table(table), path)
    else:
        write(path, WRITERS[form](table))
    monkeypatch.setattr(Source, "_fetch_blocks", lambda *_: iter([[np.zeros(N - lost)] * 2]))
    with pytest.raises(
        ValueError, match=rf"'x' .*it holds {N} rows by a count of its records, but {N - lost} were read"
    ):
        list(open_predictions(path, label="label", prob="p").blocks())


def test_no_caller_has_all_rows_before_they_are_counted(tmp_path, monkeypatch):
    """The last block is yielded after the count; a caller that stops early does not wait for it."""
    file = write(tmp_path / "x.csv", "label,p\n" + "1,0.5\n" * 5)
    blocks = [[np.ones(2), np.ones(2)], [np.ones(1), np.ones(1)]]
    monkeypatch.setattr(Source, "_fetch_blocks", lambda *_: iter(blocks))
    counted = []
    monkeypatch.setattr(Delimited, "_count_rows", lambda _: counted.append(1) or 4)
    stream = open_predictions(file, label="label", prob="p").blocks()
    assert len(next(stream).y_true) == 2
    assert counted == []
    with pytest.raises(ValueError, match="4 rows by a count of its records, but 3 were read"):
        next(stream)
    assert counted == [1]


def test_a_file_that_does_not_change_is_counted_once(tmp_path, monkeypatch):
    file = write(tmp_path / "x.csv", "label,p\n1,0.5\n")
    source = open_source(file)
    count, counted = Delimited._count_rows, []
    monkeypatch.setattr(Delimited, "_count_rows", lambda self: counted.append(1) or count(self))
    for _ in range(3):
        source.read([("p", "number")])
    assert counted == [1]
    write(file, "label,p\n1,0.5\n0,0.25\n")
    assert source.read([("p", "number")])[0].tolist() == [0.5, 0.25]
    assert counted == [1, 1]


def test_a_column_without_a_name_is_a_column(tmp_path):
    """pandas writes its index as such a column; a delimiter at the end of every line also creates one."""
    for text in (",label,p\n0,1,0.5\n", "label,p,\n1,0.5,\n"):
        assert read_predictions(write(tmp_path / "x.csv", text), label="label", prob="p").y_prob.tolist() == [0.5]


def test_damaged_compressed_text_is_refused_although_it_can_be_decompressed(tmp_path):
    raw = bytearray(gzip.compress(b"label,p\n" + b"1,0.5\n" * 1000))
    raw[-6] ^= 1  # its checksum
    with pytest.raises(ValueError, match=r"begins as a gzip file but is broken: CRC check failed"):
        read_predictions(write(tmp_path / "x.gz", bytes(raw)), label="label", prob="p")


# numbers


def test_numbers_in_text_follow_a_grammar(tmp_path):
    """Of 20 000 random strings, those that match the grammar are numbers, with the value that Python reads."""
    grammar = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
    rng = np.random.default_rng(5)
    signs = [*"01234567890123456789..eE++--_ xXinfaNI()", "٣", "\u00a0", "½", "−"]
    texts = [
        "+-0.5",
        "1_0",
        "nan(1)",
        "0x1p-1",
        "1e",
        ".5",
        "5.",
        "٠.٥",
        "1 0",
        " 1\t",
        "1e400",
        "-Infinity",
        "1" * 400,
    ]
    texts += ["".join(rng.choice(signs, rng.integers(1, 7))) for _ in range(20_000)]
    file = write(tmp_path / "x.jsonl", "".join(json.dumps({"p": text}) + "\n" for text in texts))
    source = open_source(file)
    sql = f"SELECT {source._number('p')} FROM {source._table(['p'])}"
    for text, (value,) in zip(texts, source._ask(sql), strict=True):
        accepted = value is not None and value == value
        assert accepted == (grammar.fullmatch(text.strip(" \t\n\v\f\r")) is not None), text
        assert not accepted or value == float(text), text
    assert sum(grammar.fullmatch(text.strip(" \t\n\v\f\r")) is not None for text in texts) > 1000


BIG = ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_classes_that_float64_cannot_tell_apart_are_told_apart(tmp_path, form):
    table = {"label": [int(BIG[1]), int(BIG[0])], f"p_{BIG[0]}": [0.75, 0.5], f"p_{BIG[1]}": [0.25, 0.5]}
    file = tmp_path / "x"
    if form == "parquet":
        pq.write_table(pa.table(table), file)
    else:
        write(file, as_json_lines(table) if form == "jsonl" else as_delimited(table))
    rows = read_predictions(file, label="label", prob_prefix="p_")
    assert rows.classes == BIG
    assert rows.y_true.tolist() == [BIG[1], BIG[0]]
    assert rows.y_prob.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    event = read_predictions(file, label="label", prob=f"p_{BIG[1]}", classes=BIG)
    assert event.y_true.tolist() == [BIG[1], BIG[0]]


# names that engines interpret


@pytest.mark.parametrize(
    "name", ["~", "~/x", "file:x", "file:{home}/x", "http:x", "s3:x", "label=1/x", "[a]*?{b,c}'\" \n.csv"]
)
def test_a_relative_name_is_the_file_of_this_name(table, tmp_path, monkeypatch, name):
    home = tmp_path / "home"
    home.mkdir()
    here = tmp_path / "here"
    name = name.replace("{home}", str(home))
    (here / name).parent.mkdir(parents=True)
    for decoy in (home / "x", here / "x", home / "file"):
        write(decoy, "label,p\n0,0\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    write(here / name, as_delimited(table))
    np.testing.assert_array_equal(read_predictions(name, label="label", prob="p").y_prob, table["p"])


# large and strange values


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_one_long_label_does_not_widen_all_labels(tmp_path, form):
    labels = ["cat", "dog"] * 5000
    table = {"label": [*labels, "x" * 100_000, "cat\0"], "p_cat": [0.5] * 10_002, "p_dog": [0.5] * 10_002}
    text = as_json_lines(table) if form == "jsonl" else as_delimited(table)
    rows = read_predictions(write(tmp_path / "x", text), label="label", prob_prefix="p_")
    assert rows.y_true.nbytes < 10_002 * 400
    assert rows.y_true[:2].tolist() == ["cat", "dog"]
    assert not set(rows.y_true[-2:].tolist()) & {"cat", "dog"}  # so they are refused as unknown classes
    assert rows.y_true[-2].startswith("xxx")


def test_keys_of_any_length_are_read_whole(tmp_path):
    long = "k" * 200_000
    file = write(tmp_path / "x.csv", f"key,p\n{long}1,0.5\n{long}2,0.25\n")
    (keys,) = open_source(file).read([("key", "text")])
    assert keys.tolist() == [f"{long}1", f"{long}2"]


def test_cells_longer_than_pythons_reader_takes(tmp_path):
    cell = "x" * 200_000
    file = write(tmp_path / "x.csv", f'label,p,{cell}\n1,0.5,"{cell}"\n0,x,a\n')
    with pytest.raises(ValueError, match="first in line 3: 'x'"):
        read_predictions(file, label="label", prob="p")
    with pytest.raises(ValueError, match="1 of 2 rows does not, first in line 2: 4 fields"):
        read_predictions(write(file, f"label,p,a\n1,0.5,{cell},b\n1,0.5,c\n"), label="label", prob="p")


def test_json_members_are_found_by_their_exact_names(tmp_path):
    """Names that differ only in case are read one by one, all others in one pass."""
    names = ["p_a", "P_A", "p_ß", 'p_"q"', "p_it's", "p_~/", "p_a.b"]
    table = {"label": ["a"], **{name: [(i + 1) / 64] for i, name in enumerate(names)}}
    source = open_source(write(tmp_path / "x.jsonl", as_json_lines(table)))
    read = source.read([(name, "number") for name in names])
    assert [float(values[0]) for values in read] == [(i + 1) / 64 for i in range(len(names))]


def test_files_whose_names_cannot_be_read(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to("gone.csv")
    with pytest.raises(FileNotFoundError, match=r"link.csv' is a symbolic link to 'gone.csv', which does not exist"):
        open_source(link)
    name = os.fsdecode(b"\xff\xfe.csv")
    try:
        write(tmp_path / name, GOOD)
    except (OSError, ValueError):
        pytest.skip("this file system takes UTF-8 names only")
    with pytest.raises(ValueError, match=r"\\xff\\xfe.csv' is not UTF-8; rename the file") as refused:
        open_source(tmp_path / name)
    str(refused.value).encode()


MEGABYTE = "m" * 1_000_000


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"label,p\n0,{MEGABYTE}\n", {"prob": "p"}),
        (f"label,p\n{MEGABYTE},0.5\n1,0.5\n", {"prob": "p"}),
        (f"label,{MEGABYTE}\n0,0.5\n", {"prob": "p"}),
        ("label,p\n0,0.5\n", {"prob": MEGABYTE}),
        (f"label,p_{MEGABYTE},p_0\n0,0.5,0.5\n", {"prob_prefix": "p_"}),
        (f"label,p_a,p_b\n{MEGABYTE},0.5,0.5\n", {"prob_prefix": "p_", "classes": [MEGABYTE, "b"]}),
        (f'{{"label":1,"p":"{MEGABYTE}"}}\n', {"prob": "p"}),
        (f'{{"label":1,"p":0.5,"{MEGABYTE}":1,"{MEGABYTE}":2}}\n', {"prob": "p"}),
        (f'{{"label":1,"p":0.5}}\n{MEGABYTE}\n', {"prob": "p"}),
    ],
)
def test_long_values_are_cut_in_messages(tmp_path, text, asked):
    with pytest.raises(ValueError, match=r"x\.csv|column") as refused:
        read_predictions(write(tmp_path / "x.csv", text), label="label", **asked)
    assert len(str(refused.value)) < 1500


def test_a_field_that_python_does_not_read_is_refused_in_words(tmp_path, monkeypatch):
    """A quote that the header opens makes the whole file one field; Python's reader has a limit."""
    monkeypatch.setattr(delimiter, "LONGEST_LINE", 70_000)
    path = tmp_path / "rows.csv"
    path.write_text('label,p,"note\n' + "0,0.5,a\n" * 20_000)
    with pytest.raises(ValueError, match=r"'rows.csv' cannot be read as .* field limit \(70000\)\. Is a quote never"):
        read_predictions(path, label="label", prob="p")
