"""One table in all shapes that pandas, polars and others write: read with its numbers, or refused with its shape.

Each refusal has a line of code. The line is run here, and the file that it writes is read with the numbers.
"""

import json
import pickle
import re
import sqlite3
import zipfile
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

from bayescal.data.files.predictions import open_predictions

N = 40
RNG = np.random.default_rng(11)
TABLE = pd.DataFrame(
    {"label": RNG.integers(0, 2, N), "p": RNG.random(N).round(6), "note": ["plain", "a b", "it's", "c; d"] * (N // 4)}
)
NUMBERS = TABLE[["label", "p"]]
POLARS = pl.DataFrame(TABLE.to_dict("list"))
LINES = NUMBERS.to_csv(index=False).splitlines(keepends=True)


def sqlite_of(path):
    with closing(sqlite3.connect(path)) as database:
        TABLE.to_sql("answers", database, index=False)


def npz_of(path):
    with path.open("wb") as file:
        np.savez(file, **NUMBERS)


def archive_of(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, "{}")


#: Shapes that are read as they are: a function that writes the file.
READ = {
    "CSV": lambda path: TABLE.to_csv(path, index=False),
    "CSV with an index": lambda path: TABLE.to_csv(path),
    "CSV of Europe": lambda path: TABLE.to_csv(path, index=False, sep=";"),
    "TSV": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "gzipped CSV": lambda path: TABLE.to_csv(path, index=False, compression="gzip"),
    "CSV of polars": lambda path: POLARS.write_csv(path),
    "JSON lines": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "JSON lines of polars": lambda path: POLARS.write_ndjson(path),
    "Parquet": lambda path: TABLE.to_parquet(path),
    "Parquet of polars": lambda path: POLARS.write_parquet(path),
}

#: Text in shapes that are refused: what it is called, and the text.
TEXTS = {
    "a line for Excel": ("begins with the line 'sep=;' for Excel", "sep=;\n" + TABLE.to_csv(index=False, sep=";")),
    "a line for Excel, commas": ("'sep=,' for Excel", "sep=,\n" + TABLE.to_csv(index=False)),
    "a line for Excel, decimal commas": (
        "'SEP=;' for Excel",
        "SEP=;\r\n" + TABLE.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n"),
    ),
    "comments": ("begins with 2 comment lines", "# by a program, version 3\n#\n" + TABLE.to_csv(index=False)),
    "comments of Matlab": ("begins with 1 comment line", "% by a program\n" + TABLE.to_csv(index=False, sep="\t")),
    "a commented header": ("begins with 1 comment line", "#" + "".join(LINES)),
    "comments and a commented header": ("begins with 2 comment lines", "# made today\n# " + "".join(LINES)),
    "comments between rows": ("A comment?", "".join([*LINES[:5], "# a break, here\n", *LINES[5:]])),
    "blanks": ("has blanks between its fields", NUMBERS.to_csv(index=False, sep=" ")),
    "aligned columns": ("has blanks between its fields", NUMBERS.to_string(index=False)),
    "aligned columns with an index": ("has blanks between its fields", NUMBERS.to_string()),
    "blanks and decimal commas": ("has blanks between", NUMBERS.to_csv(index=False, sep=" ", decimal=",")),
    "blanks and a commented header": ("has blanks", "# label p\n" + NUMBERS.to_csv(index=False, header=False, sep=" ")),
    "decimal commas": ("Decimal commas?", TABLE.to_csv(index=False, sep=";", decimal=",")),
    "decimal commas in quotes": ("Decimal commas?", NUMBERS.to_csv(index=False, decimal=",")),
    "decimal commas and tabs": ("Decimal commas?", TABLE.to_csv(index=False, sep="\t", decimal=",")),
    "JSON records": ("one JSON array", TABLE.to_json(orient="records")),
    "JSON records on several lines": ("one JSON array", TABLE.to_json(orient="records", indent=2)),
    "JSON of polars": ("one JSON array", POLARS.write_json()),
    "JSON split": ("object of columns, index and data", TABLE.to_json(orient="split")),
    "JSON split without an index": ("object of columns, index and data", TABLE.to_json(orient="split", index=False)),
    "JSON split on several lines": ("object of columns, index and data", TABLE.to_json(orient="split", indent=2)),
    "JSON of pandas": ("an object for each column", TABLE.to_json()),
    "JSON of pandas on several lines": ("an object for each column", TABLE.to_json(indent=4)),
    "JSON index": ("an object for each row", TABLE.to_json(orient="index")),
    "JSON table": ("object of a schema and data", TABLE.to_json(orient="table")),
    "JSON of lists": ("a list for each column", json.dumps(TABLE.to_dict("list"))),
}

#: Binary shapes that are refused: what they are called, and a function that writes the file.
BINARY = {
    "Feather": ("an Arrow (Feather) file", lambda path: POLARS.write_ipc(path, compression="zstd")),
    "Arrow stream": ("an Arrow stream", lambda path: POLARS.write_ipc_stream(path)),
    "Avro": ("an Avro file", lambda path: POLARS.write_avro(path)),
    "ORC": ("an ORC file", lambda path: TABLE.to_orc(path)),
    "SQLite": ("an SQLite database", sqlite_of),
    "netCDF": ("an HDF5 or netCDF file", lambda path: xr.Dataset.from_dataframe(NUMBERS).to_netcdf(path)),
    "npz": ("an archive of NumPy arrays", npz_of),
    "pickle": ("a pickle", lambda path: TABLE.to_pickle(path)),
    "zip": (
        "a zip archive with the file 'x.csv'",
        lambda path: TABLE.to_csv(path, index=False, compression={"method": "zip", "archive_name": "x.csv"}),
    ),
    "bzip2": ("compressed with bzip2", lambda path: TABLE.to_csv(path, index=False, compression="bz2")),
    "xz": ("compressed with xz", lambda path: TABLE.to_csv(path, index=False, compression="xz")),
    "UTF-16": ("UTF-16 text", lambda path: TABLE.to_csv(path, index=False, encoding="utf-16")),
}


def read_with_the_numbers(path, label="label", prob="p"):
    rows = open_predictions(path, label=label, prob=prob).read()
    np.testing.assert_array_equal(rows.y_true, TABLE["label"])
    np.testing.assert_array_equal(rows.y_prob, TABLE["p"])


def run_the_line(path, told, **columns):
    """Run the line of code of a refusal, and read the file that it writes."""
    (line, written) = re.search(r"`(.*\.(?:to|write)_csv\('([^']*)'.*)`", told).groups()
    assert written != path.name
    with closing(sqlite3.connect(path)) as database:  # the line leaves its connection open
        opened = SimpleNamespace(connect=lambda _: database)
        exec(line, {"pandas": pd, "polars": pl, "numpy": np, "xarray": xr, "sqlite3": opened, "path": path})
    read_with_the_numbers(path.with_name(written), **columns)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "table.txt"


def refused(path, **columns):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011  # the callers check the message
        open_predictions(path, **{"label": "label", "prob": "p", **columns}).read()
    return str(refusal.value)


@pytest.mark.parametrize("shape", READ)
def test_these_shapes_are_read(path, shape):
    READ[shape](path)
    read_with_the_numbers(path)


@pytest.mark.parametrize("shape", TEXTS)
def test_text_in_another_shape_is_refused_with_a_line_that_reads_it(path, shape):
    words, text = TEXTS[shape]
    path.write_bytes(text.encode())
    told = refused(path)
    assert words in told
    run_the_line(path, told)


@pytest.mark.parametrize("shape", BINARY)
def test_binary_files_are_refused_with_a_line_that_reads_them(path, shape):
    words, write = BINARY[shape]
    write(path)
    told = refused(path)
    assert f"'table.txt' is {words}" in told
    run_the_line(path, told)


def test_a_table_without_names_gets_the_numbers_of_its_columns(path):
    """No row becomes a header: all rows are in the file that the line writes."""
    numbered = {"label": "0", "prob": "1"}
    np.savetxt(path, NUMBERS.to_numpy())
    run_the_line(path, refused(path), **numbered)
    path.write_text(TABLE.to_json(orient="values"))
    run_the_line(path, refused(path), **numbered)
    with path.open("wb") as file:
        np.save(file, NUMBERS.to_numpy())
    run_the_line(path, refused(path), **numbered)


def test_numbers_keep_their_digits_on_the_way(path):
    p = np.random.default_rng(5).random(2000)
    label = np.arange(2000) % 2
    for text in (
        json.dumps({"label": label.tolist(), "p": p.tolist()}),
        "# x\n" + pd.DataFrame({"label": label, "p": p}).to_csv(index=False),
    ):
        path.write_text(text)
        line = re.search(r"`(.*)`", refused(path))[1]
        exec(line, {"pandas": pd, "path": path})
        np.testing.assert_array_equal(
            open_predictions(path.with_name("table-rows.csv"), label="label", prob="p").read().y_prob, p
        )


def test_archives_are_told_apart_by_their_members(path):
    archive_of(path, ["_journal/start.json", "samples/1_epoch_1.json", "header.json"])
    told = refused(path)
    assert "is a log of Inspect: read it with --format inspect" in told
    assert "Excel" not in told
    archive_of(path, ["[Content_Types].xml", "xl/workbook.xml"])
    assert "is an Excel workbook" in (told := refused(path))
    assert "`pandas.read_excel(path).to_csv('table-rows.csv', index=False)`" in told
    archive_of(path, ["a.csv", "b.csv"])
    assert "is a zip archive of 2 files" in refused(path)
    path.write_bytes(path.read_bytes()[:40])
    assert "is a broken zip archive" in refused(path)


def test_words_that_begin_like_another_format_are_text(path):
    for name in ("PK", "ORC", "BZh", "CDF", "sep", "sep=", "[label]", "#id", "%id", "ARROW1"):
        path.write_text(
            f"{name},label,p\n" + "".join(f"x,{y},{p}\n" for y, p in zip(TABLE["label"], TABLE["p"], strict=True))
        )
        read_with_the_numbers(path)
    path.write_text("#label,p\n" + "".join(LINES[1:]))
    read_with_the_numbers(path, label="#label")


def test_one_row_of_json_is_not_a_table_of_another_shape(path):
    path.write_text('{"scores": {"a": 1}, "right": {"a": 0}}')
    assert refused(path).startswith("'table.txt' has no column 'label'.")
    path.write_text('{"label": 1,\n"p": 0.5}')
    assert "2 of 2 lines are not, first in line 1" in refused(path)


def test_a_pickle_is_not_opened(path):
    class Opened:
        def __reduce__(self):
            return exec, ("raise AssertionError('opened')",)

    path.write_bytes(pickle.dumps(Opened()))
    assert "a pickle, which may run code when it is read" in refused(path)
