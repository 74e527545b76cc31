"""Delimited text is read as Python reads it: delimiters, quotes, lines, compression."""

import csv
import gzip

import numpy as np
import pytest
from file_tables import write

from bayescal.data.files import text as text_files
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import open_predictions
from bayescal.data.files.text import delimiter_of, split


def test_a_row_that_looks_like_a_comment_is_a_row(tmp_path):
    file = write(tmp_path / "x.csv", "id,label,p\n#1,0,0.5\n2,1,0.25\n")
    assert open_predictions(file, label="label", prob="p").read().y_prob.tolist() == [0.5, 0.25]


def test_quotes_may_begin_after_what_a_sniffer_looks_at(tmp_path):
    rows = [f"{i % 2},0.5,plain" for i in range(100_000)]
    file = write(tmp_path / "x.csv", "\n".join(["label,p,note", *rows, '1,0.25,"a, b"']) + "\n")
    assert open_predictions(file, label="label", prob="p").read().y_prob[-1] == 0.25


TIS = "y,p,text\n1,0.9,'tis\n0,0.2,plain\n1,0.7,the boys'\n0,0.1,plain\n"


def test_apostrophes_are_no_quotes(tmp_path):
    assert len(open_predictions(write(tmp_path / "x.csv", TIS), label="y", prob="p").read().y_true) == 4
    rows = [f"{i % 2},0.5,plain" for i in range(100_000)]
    rows[10], rows[99_000] = "1,0.25,'tis", "1,0.25,the boys'"
    many = write(tmp_path / "many.csv", "\n".join(["y,p,text", *rows]) + "\n")
    found = open_predictions(many, label="y", prob="p").read()
    assert len(found.y_true) == 100_000
    assert np.flatnonzero(found.y_prob == 0.25).tolist() == [10, 99_000]


def test_a_column_without_a_name_is_a_column(tmp_path):
    """pandas writes its index as such a column; a delimiter at the end of every line also creates one."""
    for text in (",label,p\n0,1,0.5\n", "label,p,\n1,0.5,\n"):
        rows = open_predictions(write(tmp_path / "x.csv", text), label="label", prob="p").read()
        assert rows.y_prob.tolist() == [0.5]


def test_lines_are_counted_in_gzipped_files_too(tmp_path):
    file = write(tmp_path / "x.gz", gzip.compress(b"label,p\n0,0.5\n\n1,x\n"))
    with pytest.raises(ValueError, match="first in line 4: 'x'"):
        open_predictions(file, label="label", prob="p").read()


def test_place_counts_rows_as_the_engine_reads_them(tmp_path):
    text = 'label,p,n\n\n0,0.1,"a\n\nb"\n1,0.2,c\n\n\n0,0.3,"d"\n'
    source = open_source(write(tmp_path / "x.csv", text))
    (p,) = source.read([("p", "number")])
    lines = text.split("\n")
    for row, value in enumerate(p):
        line = int(source.place(row).removeprefix("line "))
        assert lines[line - 1].split(",")[1] == str(value)


def test_damaged_compressed_text_is_refused_although_it_can_be_decompressed(tmp_path):
    raw = bytearray(gzip.compress(b"label,p\n" + b"1,0.5\n" * 1000))
    raw[-6] ^= 1  # its checksum
    with pytest.raises(ValueError, match=r"begins as a gzip file but is broken: CRC check failed"):
        open_predictions(write(tmp_path / "x.gz", bytes(raw)), label="label", prob="p").read()


def test_cells_longer_than_pythons_reader_takes(tmp_path):
    cell = "x" * 200_000
    file = write(tmp_path / "x.csv", f'label,p,{cell}\n1,0.5,"{cell}"\n0,x,a\n')
    with pytest.raises(ValueError, match="first in line 3: 'x'"):
        open_predictions(file, label="label", prob="p").read()
    with pytest.raises(ValueError, match="1 of 2 rows does not, first in line 2: 4 fields"):
        open_predictions(write(file, f"label,p,a\n1,0.5,{cell},b\n1,0.5,c\n"), label="label", prob="p").read()


def test_a_field_that_python_does_not_read_is_refused_in_words(tmp_path, monkeypatch):
    """A quote that the header opens makes the whole file one field; Python's reader has a limit."""
    monkeypatch.setattr(text_files, "LONGEST_LINE", 70_000)
    path = tmp_path / "rows.csv"
    path.write_text('label,p,"note\n' + "0,0.5,a\n" * 20_000)
    with pytest.raises(ValueError, match=r"'rows.csv' cannot be read as .* field limit \(70000\)\. Is a quote never"):
        open_predictions(path, label="label", prob="p").read()


def test_overlapping_readers_leave_the_limit_of_the_csv_module_unchanged():
    """As in threads: the first of two readers ends before the second, which still needs long fields."""
    before, long = csv.field_size_limit(), "x" * (csv.field_size_limit() + 1)
    first, second = (split(["a,b\n", f"{long},1\n"], ",") for _ in range(2))
    for reader in (first, second):
        next(reader)
    first.close()
    assert next(second) == (2, [long, "1"])
    second.close()
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [(b"label;p\n0;0,5\n1;0,25\n", ";"), (b"label,a|b|c\n0,0.5\n1,0.25\n", ","), (b"label\n0\n", ",")],
)
def test_the_delimiter_splits_most_records_as_it_splits_the_first(head, delimiter):
    assert delimiter_of(head, whole=True) == delimiter


def test_a_record_begins_on_the_line_of_its_first_field():
    lines = ["label,note\n", '1,"a\n', 'b, c"\n', "\n", "0,x\n"]
    assert list(split(lines, ",")) == [(1, ["label", "note"]), (2, ["1", "a\nb, c"]), (5, ["0", "x"])]
