"""Files that have misled readers, each with the table that an independent strict reader returns for it.

Readers: Python's csv with ``strict=True``, Python's json (without repeated keys), pyarrow for Parquet. Numbers follow
the grammar that `NUMBER` states. A file that a reader refuses must be refused; a file that it accepts must give the
same table, unless `may_refuse` says that the package is stricter than the reader.
"""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: The grammar of numbers in text.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
BLANKS = " \t\n\v\f\r"

Table = tuple[list[float], list[float]]


class Refused(Exception):  # noqa: N818  # an outcome, not an error
    """The independent reader refuses the file."""


@dataclass(frozen=True)
class Hostile:
    """A file and what is in it.

    Parameters
    ----------
    kind : str
        The kind of hostile content.
    content : bytes
        The file.
    table : tuple of two lists, or None
        Labels and probabilities; None if the independent reader refuses the file.
    may_refuse : bool
        Whether the package may refuse what the reader accepts.
    name : str
        The file name relative to the current folder of the reader.
    decoys : tuple of (str, bytes)
        Other files, which must not be read.
    """

    kind: str
    content: bytes
    table: Table | None
    may_refuse: bool = False
    name: str = "x.csv"
    decoys: tuple[tuple[str, bytes], ...] = field(default=())


# the independent readers


def number(text: str) -> float:
    if NUMBER.fullmatch(text.strip(BLANKS)) is None:
        raise Refused(f"{text!r} is no number")
    return float(text)


def label(text: str) -> float:
    word = text.strip(" ").lower()
    return float(word == "true") if word in ("true", "false") else number(text)


def csv_table(content: bytes, delimiter: str = ",") -> Table:
    limit = csv.field_size_limit(2**27)
    try:
        # invalid UTF-8 in other columns does not change labels and probabilities
        text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
        records = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if r]
    except csv.Error as problem:
        raise Refused(str(problem)) from problem
    finally:
        csv.field_size_limit(limit)
    header = records[0] if records else []
    if header.count("label") != 1 or header.count("p") != 1 or text[:1] in "\r\n" or len(records) == 1:
        raise Refused("header")
    if any(len(record) != len(header) for record in records):
        raise Refused("ragged")
    at = header.index("label"), header.index("p")
    return [label(r[at[0]]) for r in records[1:]], [number(r[at[1]]) for r in records[1:]]


def _once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        found[None] = "twice"
    return found


def json_table(content: bytes) -> Table:
    labels, probabilities = [], []
    try:
        lines = [line.strip(BLANKS) for line in content.decode().split("\n")]
        for line in filter(None, lines):
            line = re.sub(r'"t": (nan|-Inf)\b', '"t": NaN', line)  # the engine accepts any case
            row = json.loads(line, object_pairs_hook=_once, parse_float=str, parse_int=str)
            if not isinstance(row, dict) or None in row:
                raise Refused("not an object with each key once")
            one = [row.get("label"), row.get("p")]
            texts = [str(v) if isinstance(v, str | bool | float) else "no number" for v in one]
            labels.append(label(texts[0]))
            probabilities.append(number(texts[1]))
    except (ValueError, RecursionError) as problem:
        raise Refused(str(problem)) from problem
    if not labels:
        raise Refused("no rows")
    return labels, probabilities


def parquet_table(content: bytes) -> Table:
    try:
        found = pq.read_table(io.BytesIO(content))
        columns = [found.column(name).to_pylist() for name in ("label", "p")]
    except (pa.ArrowException, OSError, KeyError) as problem:
        raise Refused(str(problem)) from problem
    read = [
        [f(str(v)) if isinstance(v, str | bool) else v for v in c]
        for f, c in zip((label, number), columns, strict=True)
    ]
    if any(v is None or v != v for column in read for v in column) or not columns[0]:
        raise Refused("missing values")
    return [float(v) for v in read[0]], [float(v) for v in read[1]]


def unzipped(read: Callable[[bytes], Table]) -> Callable[[bytes], Table]:
    def table(content: bytes) -> Table:
        try:
            return read(gzip.decompress(content))
        except (OSError, EOFError) as problem:
            raise Refused(str(problem)) from problem
        except Exception as problem:  # zlib.error has no other base
            raise Refused(str(problem)) from problem

    return table


def accepted(read: Callable[[bytes], Table], content: bytes) -> Table | None:
    """Return the table, or None if the reader refuses the file."""
    try:
        return read(content)
    except Refused:
        return None


# pieces


class Dice:
    """Random pieces of files."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, of):
        return of[int(self.rng.integers(len(of)))]

    def upto(self, n: int) -> int:
        return int(self.rng.integers(n))

    def rarely(self, chance: float = 0.1) -> bool:
        return bool(self.rng.random() < chance)

    def text(self, alphabet, longest: int = 12) -> str:
        return "".join(self.one(alphabet) for _ in range(self.upto(longest)))

    def rows(self, least: int = 1, most: int = 30) -> list[tuple[str, str]]:
        n = least + self.upto(most - least + 1)
        p = self.rng.random(n)
        return [(str(self.upto(2)), repr(float(v)) if self.rarely(0.5) else f"{v:.3f}") for v in p]

    def csv(self, texts=None, delimiter=",", newline="\n", header="label,p,text") -> str:
        """A file of rows; `texts` makes the third column."""
        texts = texts or (lambda: "plain")
        lines = [header.replace(",", delimiter)]
        lines += [delimiter.join((y, p, texts())) for y, p in self.rows()]
        return newline.join(lines) + (newline if self.rarely(0.8) else "")


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


WORDS = ("'tis", "the boys'", "it's", "'", "''", "'quoted'", "plain", "'a", "b'", "rock 'n' roll", "O'Neill")
DELIMITERS = ",;\t|"
APOSTROPHES = "apostrophes"


# kinds: functions of dice that return content, or (content, options of Hostile)


def apostrophes(dice):
    rare = dice.rarely(0.3)

    def text():
        word = dice.one(WORDS) if not rare or dice.rarely(0.05) else "plain"
        return quoted(word + dice.one(["", ", and more"])) if dice.rarely(0.2) else word

    if rare:  # far apart, so that a sniffer that examines only the first rows would miss them
        lines = [f"{i % 2},0.{i % 10}," for i in range(2500)]
        lines[10] += "'tis"
        lines[-dice.upto(50) - 1] += "the boys'"
        return "label,p,text\n" + "\n".join(lines) + "\n"
    return dice.csv(text)


def quoted_text(dice):
    return dice.csv(lambda: quoted(dice.text("a ,;\n\r\"'|\t", 14)), newline=dice.one(["\n", "\r\n"]))


def literal_quotes(dice):
    return dice.csv(lambda: dice.one(['5" pipe', 'a"b', 'x""y', 'say "so"', 'end"', "plain", '"quoted, too"']))


def backslashes(dice):
    words = ['"say \\"so\\""', "\\", '"\\"', 'a\\"b', '"a\\\\"', "\\n", '"a\\", b"', "\\,", '"\\""']
    return dice.csv(lambda: dice.one(words) if dice.rarely(0.3) else "plain")


def spaces_and_quotes(dice):
    words = [' "a, b"', ' "a"', '"a" ', '  "a"', '"a" "b"', ' "a\nb"', ' "', '"" ""', '\t"a"', ' a "b"', " a"]
    return dice.csv(lambda: dice.one(words) if dice.rarely(0.3) else "plain"), {"may_refuse": True}


def after_closing_quotes(dice):
    return dice.csv(
        lambda: dice.one(['"a"b', '"a"b"', '"a""', '"a', '""a', '"a"\'', "plain"]) if dice.rarely(0.3) else '"a"'
    )


def line_endings(dice):
    ends = dice.one([["\n", "\r\n"], ["\r"], ["\r\n"], ["\n", "\r"], ["\r\r\n"], ["\n\r"], ["\n"]])
    lines = ["label,p,text"] + [
        f"{y},{p},{dice.one(['a', quoted('a' + dice.one(ends) + 'b')])}" for y, p in dice.rows()
    ]
    return "".join(line + dice.one(ends) for line in lines), {"may_refuse": ends not in (["\n"], ["\r\n"], ["\r"])}


def blank_lines(dice):
    blank = dice.one(["\n", "\n\n", "\n", " \n", "\t\n", ",,\n", '""\n'])
    lines = ["label,p,text"] + [",".join((y, p, "a")) for y, p in dice.rows()]
    return blank * dice.rarely() + "".join(line + "\n" + blank * dice.rarely(0.3) for line in lines)


def trailing_delimiters(dice):
    header, rate = dice.one(["label,p,text", "label,p,text,"]), dice.one([0.05, 1.0])
    return dice.csv(lambda: "a" + "," * dice.rarely(rate), header=header)


def ragged_rows(dice):
    return dice.csv(lambda: dice.one(["a,b", "", ",", '"a","b"', "a,b,c"]) if dice.rarely(0.1) else "a")


ODD_NUMBERS = [
    "+-0.5",
    "-+1",
    "--1",
    "1_0",
    "_1",
    "0x10",
    "0x1p-1",
    "1e",
    "1e+",
    "e5",
    "1.",
    ".5",
    "5.e-1",
    ".",
    "",
    " ",
    " 0.5 ",
    "1 0",
    "\u0660.\u0665",
    "\uff10.5",
    "0,5",
    "50%",
    "1e400",
    "-1e400",
    "1e-400",
    "inf",
    "-Infinity",
    "+inf",
    "nan",
    "NaN",
    "nan(1)",
    "NA",
    "null",
    "None",
    "0.5f",
    "1/2",
    "1e5",
    "1E-3",
    "00.5",
    "-0",
    "+0.5",
    "1'0",
    "\u22120.5",
    "0.5\u00a0",
    "\u00a00.5",
    "0.1" + "0" * 300,
    "true",
    "True",
    "9007199254740993",
    "0.30000000000000004",
    "5e-324",
    "1" * 400,
    "infinit",
    "0b1",
    "$1",
    "(1)",
    "=1",
    "1\x00",
]


def odd_numbers(dice):
    odd = dice.one(ODD_NUMBERS) if dice.rarely(0.7) else dice.text("0123456789.eE+-_ ", 7)
    odd = quoted(odd) if "," in odd or dice.rarely(0.2) else odd
    lines = [f"{y},{p}" for y, p in dice.rows()]
    lines[dice.upto(len(lines))] = f"1,{odd}"
    return "label,p\n" + "\n".join(lines) + "\n"


def odd_labels(dice):
    odd = dice.one([*ODD_NUMBERS, "TRUE", "false", " true", "t", "yes", "1.0", "0.0", "'1'"])
    odd = quoted(odd) if "," in odd else odd
    lines = [f"{y},{p}" for y, p in dice.rows()]
    lines[dice.upto(len(lines))] = f"{odd},0.5"
    return "label,p\n" + "\n".join(lines) + "\n"


def other_delimiters(dice):
    delimiter = dice.one(DELIMITERS)
    others = [d for d in DELIMITERS if d != delimiter]

    def text():
        return "".join(dice.one([*others, "a", "b", " ", "'"]) for _ in range(dice.upto(9)))

    return dice.csv(text, delimiter, header="label,p,a text"), {"delimiter": delimiter}


def decoy_headers(dice):
    delimiter = dice.one(DELIMITERS)
    decoy = dice.one([d for d in DELIMITERS if d != delimiter])
    return dice.csv(lambda: dice.text("ab", 5), delimiter, header=f"label,p,a{decoy}b"), {"delimiter": delimiter}


def encodings(dice):
    text = dice.csv(lambda: dice.one(["é", "日本", "\U0001f600", "plain"]))
    way = dice.upto(5)
    if way == 0:
        return text.replace("日本", "ä").replace("\U0001f600", "ö").encode("latin-1"), {"may_refuse": True}
    if way == 1:
        return b"\xef\xbb\xbf" + text.encode()
    raw = bytearray(text.encode())
    if way == 2:
        raw[dice.upto(len(raw))] = dice.one([0xFF, 0xC0, 0x80, 0xED])
    if way == 3:
        raw = raw[: dice.upto(len(raw)) + 1]
    if way == 4:
        raw = text.encode("utf-16")
    return bytes(raw), {"may_refuse": way in (0, 2, 3)}


def control_characters(dice):
    return dice.csv(
        lambda: dice.text(["\x00", "\x01", "\x0b", "\x0c", "\x1a", "\x1b[31m", "\x7f", "\x85", "\u2028", "a"], 6)
    ), {"may_refuse": True}


def zipped(dice):
    plain = dice.csv(lambda: dice.one(WORDS)).encode() * dice.one([1, 1, 1])
    raw = bytearray(gzip.compress(plain))
    way = dice.upto(6)
    if way == 1:
        lines = plain.splitlines(keepends=True)
        raw = bytearray(b"".join(gzip.compress(line) for line in lines))
    if way == 2:
        raw = raw[: dice.upto(len(raw))]
    if way == 3:
        raw[2 + dice.upto(len(raw) - 2)] ^= 1 << dice.upto(8)
    if way == 4:
        raw += dice.one([b"garbage", b"\0" * 5, b"\x1f\x8b"])
    if way == 5:
        raw = bytearray(gzip.compress(bytes(raw)))
    return bytes(raw), {"reader": "gzip", "may_refuse": way in (3, 4)}


def json_rows(dice, extra=lambda: "", newline="\n"):
    lines = [f'{{"label": {y}, "p": {p}{extra()}}}' for y, p in dice.rows()]
    return newline.join(lines) + newline


def json_layouts(dice):
    text = json_rows(
        dice, lambda: dice.one(["", ', "t": "it\'s"', ', "t": "a\\"b, {}\\n]"', " ", "\t"]), dice.one(["\n", "\r\n"])
    )
    blank = dice.one(["\n", " \n", "\t\r\n", ""])
    return blank.join(text.splitlines(keepends=True)), {"reader": "json"}


def json_twice(dice):
    extra = [
        ', "p": 0.5',
        ', "label": 1',
        ', "\\u0070": 0.25',
        ', "t": 1, "t": 2',
        ', "P": 0.5',
        ', "t": {"p": 1, "q": 2}',
    ]
    return json_rows(dice, lambda: dice.one(extra) if dice.rarely(0.2) else ""), {"reader": "json"}


def json_not_strict(dice):
    bad = [
        ",",
        ', "t": [1,]',
        ', "t": [1, ]',
        ", ",
        ", 't': 1",
        ", t: 1",
        ', "t": 01',
        ', "t": +1',
        ', "t": .5',
        ', "t": 0x1',
        " /* c */",
        ', "t": "a\tb"',
        ', "t": ",]"',
        ', "t": "a, }"',
        ', "t": NaN',
        ', "t": "\\ud800"',
        ', "t": tRue',
        "}",
        ', "t": "\\x"',
        ', "t": nan',
        ', "t": -Inf',
        ', "t": ",}", "u": [1 , ]',
    ]
    return json_rows(dice, lambda: dice.one(bad) if dice.rarely(0.15) else ""), {"reader": "json", "may_refuse": True}


def json_values(dice):
    values = [
        "null",
        "true",
        "[0.5]",
        '{"a": 1}',
        '"0.5"',
        '" 0.5"',
        '"+-0.5"',
        '"1_0"',
        '"x"',
        '""',
        "NaN",
        "Infinity",
        "1e400",
        "-0.0",
        "1E-2",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        "9007199254740993",
        '"\\u0030.5"',
    ]
    lines = json_rows(dice).splitlines()
    key = dice.one(["label", "p"])
    odd = {"label": "1", "p": "0.5", key: dice.one(values)}
    lines[dice.upto(len(lines))] = "{" + ", ".join(f'"{k}": {v}' for k, v in odd.items() if dice.rarely(0.95)) + "}"
    return "\n".join(lines), {"reader": "json", "may_refuse": key == "label"}


def json_broken(dice):
    text = json_rows(dice)
    way = dice.upto(6)
    if way == 0:
        text = text[: dice.upto(len(text)) + 1]
    if way == 1:
        text = text.replace("\n", dice.one([" ", ",\n", "\r", ""]), 1)
    if way == 2:
        text += dice.one(["[1]\n", "null\n", "3\n", '"a"\n', "{\n", "}\n", "{}\n", "\ufeff{}\n"])
    if way == 3:
        text = "[" + text.replace("\n", ",\n") + "]"
    if way == 4:
        at = dice.upto(len(text))
        text = text[:at] + dice.one('{}[]",:\\ 0ae\n') + text[at + 1 :]
    if way == 5:
        text = text.replace('"', "'")
    return text, {"reader": "json" if text.lstrip().startswith("{") else "none"}


def json_deep(dice):
    depth = dice.one([10, 500, 5000, 100_000])
    open_, close = dice.one([("[", "]"), ('{"a":', "}")])
    balanced = dice.rarely(0.7)
    value = open_ * depth + ("1" if open_ != "[" else "") + close * (depth - (not balanced))
    # deeper than Python's reader can follow
    return f'{{"label": 1, "p": 0.5, "t": {value}}}\n', {"table": ([1.0], [0.5]) if balanced else None}


def json_many_keys(dice):
    keys = [f"k{dice.upto(10**6)}" for _ in range(dice.upto(300))]
    lines = [
        json.dumps({"label": dice.upto(2), "p": 0.5, **dict.fromkeys(keys[: dice.upto(300)], 1)}) for _ in range(20)
    ]
    return "\n".join(lines), {"reader": "json"}


def parquet(dice):
    n = 1 + dice.upto(50)
    kinds = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.int64(), pa.large_string()]
    y, p = pa.array(dice.rng.integers(0, 2, n)), pa.array(dice.rng.random(n))
    kind = dice.one(kinds)
    labels = y.cast(kind)
    p = p.cast(dice.one([pa.float64(), pa.float32(), pa.string()]))
    if dice.rarely(0.2):
        p = pa.array([None if dice.rarely(0.1) else v for v in p.to_pylist()], p.type)
    if dice.rarely(0.2):
        labels = labels.dictionary_encode()
    table = pa.table({"a": [b"'\n"] * n, "label": labels, "p": p})
    file = io.BytesIO()
    codec = dice.one(["snappy", "gzip", "zstd", "none"])
    pq.write_table(
        table,
        file,
        row_group_size=dice.one([1, 7, 1000]),
        compression=codec,
        data_page_version=dice.one(["1.0", "2.0"]),
    )
    return file.getvalue(), {"reader": "parquet"}


def parquet_damaged(dice):
    whole = parquet(dice)[0]
    raw = bytearray(whole)
    way = dice.upto(3)
    if way == 0:
        raw = raw[: 4 + dice.upto(len(raw) - 4)]
    if way == 1:
        raw[-8 - dice.upto(min(300, len(raw) - 8))] ^= 1 << dice.upto(8)
    if way == 2:
        raw += b"x"
    options = {"reader": "parquet", "may_refuse": True}
    try:
        parquet_table(bytes(raw))
    except Refused as problem:
        # pyarrow also stores its own schema beside Parquet's; only pyarrow reads it
        if re.search("flatbuffers|base64", str(problem)):
            options["table"] = accepted(parquet_table, whole)
    return bytes(raw), options


NAMES = [
    "~",
    "~root",
    "~/x.csv",
    "file:x.csv",
    "file:/x.csv",
    "http:x",
    "s3:b",
    "a[1].csv",
    "*.csv",
    "?.csv",
    "{a,b}.csv",
    "a'b.csv",
    'a"b.csv',
    "label=1/p=2.csv",
    "a b.csv",
    "%20.csv",
    "a\nb.csv",
    "-o",
    "x.parquet",
    "x.json.gz",
    "a;b.csv",
    "\\*.csv",
    "**",
    "é日.csv",
    ":memory:",
    "[!a].csv",
    "x.csv?x=1",
    "#x.csv",
    "data:text,1",
    "$HOME",
    "a\\b.csv",
    "[",
    "]",
    "hf:x.csv",
    "gcs:x",
    "~~",
    "stdin",
]


def file_names(dice):
    name = dice.one(NAMES)
    decoy = b"label,p,text\n1,0.123,decoy\n" * 1
    near = ("x.csv", "a1.csv", "ax.csv", "a.csv", "b.csv", "ab.csv", "1", "b", " .csv", "x", "!.csv", "*.csv.csv")
    return dice.csv(), {
        "name": name,
        "may_refuse": name == "\\*.csv",
        "decoys": tuple((d, decoy) for d in near if d != name),
    }


def long_cells(dice):
    size = dice.one([131_072, 131_073, 200_000, 1_000_000])
    cell = dice.one(["x" * size, quoted("x,\n" * (size // 3)), "'" * size])
    lines = [f"{y},{p},a" for y, p in dice.rows()]
    way = dice.upto(4)
    at = dice.upto(len(lines))
    lines[at] = f"1,0.5,{cell}" if way < 2 else f"{cell},0.5,a" if way == 2 else f"1,{cell},a"
    header = "label,p,text" if not dice.rarely(0.2) else f"label,p,{cell}"
    if dice.rarely(0.2):
        lines.append("1,0.5")
    return header + "\n" + "\n".join(lines) + "\n", {"may_refuse": "\n" in cell}


def odd_headers(dice):
    headers = [
        "label,p,p",
        "label,label,p",
        "label,p,",
        ",label,p",
        "label,p,''",
        '"label","p","a\nb"',
        "Label,p,text",
        "label,P,p",
        'label,p,"a,b"',
        "label,p,1",
        "1,0,0.5",
        " label,p,text",
        'label,"p",""',
        "label,p,text,more",
        "p,label,text",
        "label,p,it's",
        "#label,p,text",
        "",
    ]
    return dice.csv(header=dice.one(headers))


def comments_and_directives(dice):
    lines = dice.csv(lambda: dice.one(["#a", "# a", "--", "//"])).splitlines()
    lines.insert(dice.upto(len(lines) + 1), dice.one(["# comment", "#,#,#", "sep=,", "-- a", "...", "\\.", "%a,b,c"]))
    return "\n".join(lines) + "\n"


def other_quotes(dice):
    return dice.csv(lambda: dice.one(["'a, b'", "`a, b`", "\u201ca, b\u201d", "'a'", "plain", "'a\nb'"]))


def mutated(dice):
    raw = bytearray(dice.csv(lambda: dice.one([*WORDS, quoted("a, b"), quoted('a"b'), quoted("a\nb")])).encode())
    for _ in range(1 + dice.upto(3)):
        at = dice.upto(len(raw))
        piece = dice.one([b'"', b",", b"\n", b"\r", b"'", b" ", b"\\", b"\0", b"", b"0", b";", b"\xff", b'""', b"\t"])
        raw[at : at + dice.upto(2)] = piece
    return bytes(raw), {"may_refuse": True}


def alphabet_soup(dice):
    return "label,p\n" + dice.text(["0,0.5", "1,0.25", "\n", "\n", '"', ",", "'", " ", "1", "\r", "\\"], 25), {
        "may_refuse": True
    }


def json_mutated(dice):
    raw = bytearray(json_rows(dice, lambda: dice.one(["", ', "t": "a, b"', ', "t": [1, {"p": 2}]'])).encode())
    for _ in range(1 + dice.upto(2)):
        at = 1 + dice.upto(len(raw) - 1)
        raw[at : at + dice.upto(2)] = dice.one(
            [b'"', b",", b"\n", b"}", b"{", b"]", b" ", b"\\", b"\0", b"", b"0", b"\xff", b":", b"e"]
        )
    return bytes(raw), {"reader": "json" if raw.lstrip().startswith(b"{") else "none", "may_refuse": True}


def wide(dice):
    width = 1 + dice.upto(400)
    names = [f"c{i}" for i in range(width)]
    cells = ",".join("'" if dice.rarely(0.01) else "1" for _ in names)
    return "\n".join([f"label,p,{','.join(names)}", *(f"{y},{p},{cells}" for y, p in dice.rows(1, 5))])


KINDS: dict[str, Callable] = {
    f.__name__: f
    for f in (
        apostrophes,
        quoted_text,
        literal_quotes,
        backslashes,
        spaces_and_quotes,
        after_closing_quotes,
        line_endings,
        blank_lines,
        trailing_delimiters,
        ragged_rows,
        odd_numbers,
        odd_labels,
        other_delimiters,
        decoy_headers,
        encodings,
        control_characters,
        zipped,
        json_layouts,
        json_twice,
        json_not_strict,
        json_values,
        json_broken,
        json_deep,
        json_many_keys,
        json_mutated,
        parquet,
        parquet_damaged,
        file_names,
        long_cells,
        odd_headers,
        comments_and_directives,
        other_quotes,
        mutated,
        alphabet_soup,
        wide,
    )
}


def hostile_file(kind: str, seed: int) -> Hostile:
    """Make one file of a kind and read it with the independent reader."""
    made = KINDS[kind](Dice(seed))
    content, options = made if isinstance(made, tuple) else (made, {})
    content = content.encode() if isinstance(content, str) else content
    reader, delimiter = options.pop("reader", "csv"), options.pop("delimiter", ",")
    readers = {"csv": lambda c: csv_table(c, delimiter), "json": json_table, "parquet": parquet_table}
    readers["gzip"] = unzipped(readers["csv"])
    if "table" not in options:
        options["table"] = accepted(readers[reader], content) if reader != "none" else None
    return Hostile(kind, content, **options)


def hostile_files(count: int) -> Iterator[Hostile]:
    """Make files, cycling through all kinds."""
    kinds = list(KINDS)
    for i in range(count):
        yield hostile_file(kinds[i % len(kinds)], i)
