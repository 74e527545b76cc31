"""Counts of records from bytes agree with Python's csv and json, wherever a chunk of bytes ends."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from bayescal.data.files import records
from bayescal.data.files.formats import open_source
from bayescal.data.files.records import MisplacedQuoteError, NotStrictJsonError, count_delimited, count_json_lines


def python_counts(text, delimiter):
    """Return the numbers of records and delimiters by a strict reader; None if it refuses the text."""
    try:
        found = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return None
    return len(found), sum(len(row) - 1 for row in found)


def soups(count, alphabet, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield "".join(rng.choice(alphabet, rng.integers(1, 40)))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [1, 2, 7, 2**19])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_delimited_text_is_counted_as_python_reads_it(monkeypatch, chunk, delimiter):
    monkeypatch.setattr(records, "CHUNK", chunk)
    alphabet = [
        "a",
        "'",
        delimiter,
        delimiter,
        "\n",
        "\n",
        "\r",
        "\r\n",
        '"',
        '"',
        '""',
        f'{delimiter}"',
        f'"{delimiter}',
        " ",
    ]
    compared = 0
    for text in soups(1500, alphabet, seed=chunk):
        try:
            counted = count_delimited(io.BytesIO(text.encode()), delimiter)
        except MisplacedQuoteError:
            continue  # the package is stricter than Python and refuses
        expected = python_counts(text, delimiter)
        assert counted == expected, repr(text)
        compared += 1
    assert compared > 300


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b'a,b\n1,"x"y\n', 8),
        (b'a,b\n1,"x\\"y"\n', 9),
        (b'a,b\n1, "x"\n', 7),
        (b'a,b\n1,  "x,y"\n', 8),
        (b'a,b\n1,"x" "y"\n', 8),
        (b'a,b\n5" p,1\n2, "\n', 14),
        (b'\xef\xbb\xbfa,b\n1, "x"\n', 10),
    ],
)
def test_quotes_that_neither_open_nor_close_a_field_are_refused_where_they_stand(text, offset):
    with pytest.raises(MisplacedQuoteError) as refused:
        count_delimited(io.BytesIO(text), ",")
    assert refused.value.offset == offset


def test_a_quote_within_an_unquoted_field_is_text():
    assert count_delimited(io.BytesIO(b'a,b\n1,5" pipe\n2,6" pipe\n3,"x, y"\n'), ",") == (4, 4)


@pytest.mark.parametrize("chunk", [1, 5, 2**19])
def test_json_lines_are_counted_as_python_reads_them(monkeypatch, chunk):
    monkeypatch.setattr(records, "CHUNK", chunk)
    pieces = ['{"a": 1}', '{"a": "x, "}', " ", "\t", "\n", "\n", "\r\n", '{"a": [1 , 2]}']
    for text in soups(500, pieces, seed=chunk):
        expected = sum(1 for line in text.split("\n") if line.strip())
        assert count_json_lines(io.BytesIO(text.encode())) == expected, repr(text)


@pytest.mark.parametrize(
    ("line", "strict"),
    [
        ('{"a": 1,}', False),
        ('{"a": [1, ]}', False),
        ('{"a": [1 ,\t] }', False),
        ('{"a": ",}"}', True),
        ('{"a": "b, ]", "c": [{}]}', True),
    ],
)
def test_a_comma_before_a_closing_bracket_is_refused_outside_strings(line, strict):
    text = f'{{"a": 0}}\n{line}\n'.encode()
    if strict:
        json.loads(line)
        assert count_json_lines(io.BytesIO(text)) == 2
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(line)
        with pytest.raises(NotStrictJsonError) as refused:
            count_json_lines(io.BytesIO(text))
        assert refused.value.offset == 9


@pytest.mark.parametrize(("name", "text"), [("x.csv", b"a,b\n1,%s\n"), ("x.jsonl", b'{"a": 1, "b": "%s"}\n')])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_line_that_is_too_long_is_refused_with_the_name_of_the_file(name, text, zipped, tmp_path, monkeypatch):
    for limit in ("CHUNK", "LONGEST_LINE"):
        monkeypatch.setattr(records, limit, 100)
    content = text % (b"x" * 1000)
    (tmp_path / name).write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(ValueError, match=rf"^'{name}' must have lines of up to 67,108,864 bytes; it has a longer one"):
        open_source(tmp_path / name).read([("a", "number")])


def test_a_line_break_in_quotes_ends_no_record_and_an_apostrophe_begins_no_quote():
    assert count_delimited(io.BytesIO(b'label,note\n1,"a\nb, c"\n\n0,\'tis\n'), ",") == (3, 3)


def test_blank_lines_are_no_json_lines():
    assert count_json_lines(io.BytesIO(b'{"p": 0.5}\n  \n{"p": 0.25}')) == 2
