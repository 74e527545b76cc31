"""The same table in every format gives the same arrays, and whatever is wrong is told with its line."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_tables import GOOD, WRITERS, as_delimited, as_json_lines, write

from bayescal.data.files.formats import Delimited, JsonLines, Parquet, open_source
from bayescal.data.files.predictions import open_predictions


@pytest.mark.parametrize("name", ["right.csv", "wrong.parquet", "none", "strange [1]*?' {x}.txt"])
@pytest.mark.parametrize("form", [*WRITERS, "parquet"])
def test_every_format_gives_the_same_numbers_whatever_the_file_is_called(table, tmp_path, form, name):
    path = tmp_path / name
    if form == "parquet":
        pq.write_table(pa.table(table), path)
    else:
        write(path, WRITERS[form](table))
    rows = open_predictions(path, label="label", prob="p").read()
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


@pytest.mark.parametrize(("missing", "value"), [(None, "no value in 1 of 3"), (float("nan"), "first in row 2: 'nan'")])
def test_parquet_has_rows_and_no_lines(tmp_path, missing, value):
    column = pa.array([0.5, missing, 0.5], pa.float64(), from_pandas=False)
    pq.write_table(pa.table({"label": [0, 1, 1], "p": column}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=value):
        open_predictions(tmp_path / "x.parquet", label="label", prob="p").read()


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
    "JSON: an array": ('[{"label":1,"p":0.5}]', r"one JSON array, not JSON lines.*`pandas.read_json\(path"),
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
        open_predictions(write(tmp_path / "x.csv", content), label="label", prob="p").read()


def test_a_file_that_is_not_there_brings_the_nearest_names(tmp_path):
    write(tmp_path / "games.csv", "x")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'games.csv'\?"):
        open_source(tmp_path / "game.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_source(tmp_path)


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
    np.testing.assert_array_equal(open_predictions(name, label="label", prob="p").read().y_prob, table["p"])


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


def test_nothing_else_on_disk_is_touched(table, tmp_path):
    file = write(tmp_path / "x.csv", as_delimited(table))
    before = file.read_bytes()
    open_predictions(file, label="label", prob="p").read()
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["x.csv"]
