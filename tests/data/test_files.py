"""Files: the same table in every format gives the same arrays, and whatever is wrong is told with its line."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayescal.data.files import class_columns, read_predictions
from bayescal.data.formats import Delimited, JsonLines, Parquet, open_source

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
    "an open quote": ('label,p\n0,0.5\n1,"0.5\n0,0.5\n', r"opens a quote in line 3 that is never closed"),
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
