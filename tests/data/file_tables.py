"""A table, and its text in several formats, for tests of files."""

import gzip
import json

N = 200


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


MATRIX = "label,p10,p2,p1,other\n1,0.2,0.3,0.5,x\n10,0.5,0.25,0.25,y\n"


GOOD = "".join(f"{i % 2},0.{i}\n" for i in range(10))
