"""Columns of files: every row is read or the file is refused, numbers follow a grammar, names are exact."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_tables import WRITERS, N, as_json_lines, write

from bayescal.data.files.formats import Delimited, open_source
from bayescal.data.files.predictions import open_predictions
from bayescal.data.files.source import Source


@pytest.mark.parametrize("name", ['a"b', "it's", "p/q", "p~1", "select", "d.x", "ß 1", ""])
def test_a_column_may_have_any_name(tmp_path, name):
    table = {"label": [0, 1], "x": [0.75, 0.5], name: [0.25, 0.125]}
    files = [write(tmp_path / "a.jsonl", as_json_lines(table)), tmp_path / "a.parquet"]
    pq.write_table(pa.table(table), files[1])
    quoted = '"' + name.replace('"', '""') + '"'
    files.append(write(tmp_path / "a.csv", f"label,x,{quoted}\n0,0.75,0.25\n1,0.5,0.125\n"))
    for file in files:
        assert open_predictions(file, label="label", prob=name).read().y_prob.tolist() == [0.25, 0.125], file


def test_a_column_that_is_not_there_brings_the_nearest_names(tmp_path):
    file = write(tmp_path / "x.csv", "label,probability,proba\n0,0.5,0.5\n")
    with pytest.raises(ValueError, match=r"no column 'probablity'. Did you mean 'probability' or 'proba'\?"):
        open_predictions(file, label="label", prob="probablity").read()
    with pytest.raises(ValueError, match=r"no column 'Label'. Did you mean 'label'\?"):
        open_predictions(file, label="Label", prob="proba").read()


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
            open_predictions(file, label="label", prob="p").read()
    else:
        np.testing.assert_array_equal(open_predictions(file, label="label", prob="p").read().y_true, labels)


def test_the_engine_reads_what_python_reads(tmp_path):
    """Decimal text to double, correctly rounded, on 20000 numbers of 1 to 25 digits."""
    rng = np.random.default_rng(3)
    text = [f"0.{int(rng.integers(10**9)):0{rng.integers(9, 12)}d}{int(rng.integers(10**12))}" for _ in range(20_000)]
    file = write(tmp_path / "x.csv", "label,p\n" + "".join(f"0,{t}\n" for t in text))
    assert open_predictions(file, label="label", prob="p").read().y_prob.tolist() == [float(t) for t in text]


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


def test_keys_of_any_length_are_read_whole(tmp_path):
    long = "k" * 200_000
    file = write(tmp_path / "x.csv", f"key,p\n{long}1,0.5\n{long}2,0.25\n")
    (keys,) = open_source(file).read([("key", "text")])
    assert keys.tolist() == [f"{long}1", f"{long}2"]


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
        open_predictions(write(tmp_path / "x.csv", text), label="label", **asked).read()
    assert len(str(refused.value)) < 1500
