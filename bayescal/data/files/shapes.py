"""Tables in unsupported shapes: their description, and a line of pandas or polars that converts them.

Each line writes CSV, which the package reads. This module reads no table.
"""

import json
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bayescal.data.files.source import FileError

#: First bytes of unsupported formats, the name of the format, and a line that reads it.
FORMATS = {
    b"\x93NUMPY": ("a NumPy array", "pandas.DataFrame(numpy.load(path))"),
    b"\x89HDF": ("an HDF5 or netCDF file", "xarray.open_dataset(path).to_dataframe().reset_index()"),
    b"CDF": ("a netCDF file", "xarray.open_dataset(path).to_dataframe().reset_index()"),
    b"ARROW1": ("an Arrow (Feather) file", "polars.read_ipc(path)"),
    b"\xff\xff\xff\xff": ("an Arrow stream", "polars.read_ipc_stream(path)"),
    b"Obj\x01": ("an Avro file", "polars.read_avro(path)"),
    b"ORC": ("an ORC file", "pandas.read_orc(path)"),
    b"SQLite format": ("an SQLite database", "pandas.read_sql('SELECT * FROM {table}', sqlite3.connect(path))"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "polars.read_csv(path)"),
    b"BZh": ("compressed with bzip2", "pandas.read_csv(path, compression='bz2')"),
    b"\xfd7zXZ": ("compressed with xz", "pandas.read_csv(path, compression='xz')"),
    b"\xff\xfe": ("UTF-16 text, not UTF-8", "pandas.read_csv(path, encoding='utf-16')"),
    b"\xfe\xff": ("UTF-16 text, not UTF-8", "pandas.read_csv(path, encoding='utf-16')"),
}
PICKLE = re.compile(rb"\x80[\x02-\x05]")
#: Prefixes of member names in zip archives, the name of the format, and a line that reads it.
ARCHIVES = {
    ("xl/",): ("an Excel workbook", "pandas.read_excel(path)"),
    ("content.xml",): ("an OpenDocument file", "pandas.read_excel(path)"),
}
COMMENTS = ("#", "%")  #: Beginnings of comment lines.
MUST_BE = "it must be Parquet, or CSV, TSV or JSON lines in UTF-8."
EXACT = "precise_float=True"  #: Argument of pandas with which numbers keep all their digits.
LARGEST_JSON = 2**26  #: Maximum number of bytes of a JSON file whose shape is determined.


def rewriting(path: Path, reading: str) -> str:
    """Return the sentence with the line of code that reads a table, and writes a file that is read here."""
    writing = f"write_csv('{path.stem}-rows.csv')"
    if not reading.startswith("polars."):
        writing = f"to_csv('{path.stem}-rows.csv', index=False)"
    return f"This line writes a file that can be read: `{reading}.{writing}`."


def refuse_binary(path: Path, head: bytes) -> None:
    """Raise a `FileError` if the first bytes are those of another format, or of no text."""
    if head.startswith(b"PK\x03\x04"):
        what, reading = _of_archive(path)
    elif PICKLE.match(head):
        what, reading = "a pickle, which may run code when it is read", "pandas.read_pickle(path)"
    else:
        what, reading = next(
            (form for magic, form in FORMATS.items() if head.startswith(magic) and b"\0" in head),
            ("a binary file that is not Parquet", ""),
        )
        if b"\0" not in head and not reading:
            return
    table = _first_table(path) if "{table}" in reading else ""
    line = f" {rewriting(path, reading.replace('{table}', table))}" if reading else ""
    raise FileError(f"'{path.name}' is {what}; {MUST_BE}{line}")


def _of_archive(path: Path) -> tuple[str, str]:
    """Say what a zip archive is, from the names of its members."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return "a broken zip archive (an Excel workbook?)", ""
    if any(name == "header.json" or name.startswith(("samples/", "_journal/")) for name in names):
        raise FileError(
            f"'{path.name}' is a log of Inspect: read it with --format inspect on the command line, and with "
            "`bayescal.read.inspect(path)` in Python."
        )
    if names and all(name.endswith(".npy") for name in names):
        return "an archive of NumPy arrays", "pandas.DataFrame(dict(numpy.load(path)))"
    for beginnings, form in ARCHIVES.items():
        if any(name.startswith(beginnings) for name in names):
            return form
    if len(names) == 1:
        return f"a zip archive with the file {names[0]!r}", "pandas.read_csv(path, compression='zip')"
    return f"a zip archive of {len(names)} files", ""


def _first_table(path: Path) -> str:
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    except sqlite3.Error:
        return "TABLE"
    return str(names[0][0]) if names else "TABLE"


def shape_of_json(path: Path, text: bytes) -> str:
    """Return a sentence on a file that is one JSON object or array with a table of several rows; empty if it is not."""
    try:
        value: Any = json.loads(text) if len(text) <= LARGEST_JSON else None
    except (ValueError, RecursionError):
        return ""
    form, reading = _form_of_json(value)
    return f"It is one JSON {form}. {rewriting(path, reading)}" if form else ""


def _form_of_json(value: Any) -> tuple[str, str]:
    """Return the form of a table in JSON, as pandas calls it, and the line that reads it; empty strings if none."""
    if isinstance(value, list):
        return "array, not one object per line", f"pandas.read_json(path, {EXACT})"
    if not isinstance(value, dict) or not value:
        return "", ""
    if {"columns", "data"} <= value.keys() <= {"columns", "index", "data"}:
        return "object of columns, index and data", f"pandas.read_json(path, orient='split', {EXACT})"
    if value.keys() == {"schema", "data"}:
        return "object of a schema and data", f"pandas.read_json(path, orient='table', {EXACT})"
    columns = list(value.values())
    if all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns):
        return "object with a list for each column", f"pandas.read_json(path, {EXACT})"
    if all(isinstance(each, dict) and each.keys() == columns[0].keys() for each in columns):
        if _are_numbers(columns[0]):
            return "object with an object for each column", f"pandas.read_json(path, {EXACT})"
        if _are_numbers(value):
            return "object with an object for each row", f"pandas.read_json(path, orient='index', {EXACT})"
    return "", ""


def shape_of_text(path: Path, lines: Sequence[str], delimiter_of: Callable[[str], str]) -> str:
    """Return a sentence on text with a line for Excel, comments or blanks between its fields; empty if it has none."""
    declared = re.fullmatch(r"sep=(.)", lines[0], re.IGNORECASE) if lines else None
    comments = next((i for i, line in enumerate(lines) if not line.startswith(COMMENTS)), 0)
    skipped = 1 if declared else comments
    rest = lines[skipped:]
    if len(rest) < 2:
        return ""
    delimiter = declared[1] if declared else delimiter_of("\n".join(rest))
    blanks = delimiter not in rest[0] and 1 < len(rest[0].split()) <= len(rest[1].split()) <= len(rest[0].split()) + 1
    separator = None if blanks else delimiter
    if declared:
        traits = [f"begins with the line {lines[0]!r} for Excel"]
    else:
        traits = [f"begins with {comments} comment line{'s' * (comments > 1)}"] * bool(comments)
    traits += ["has blanks between its fields"] * blanks
    if not traits:
        return ""
    arguments = [f"skiprows={skipped}"] * bool(skipped)
    if _are_numbers(rest[0].split(separator)):  # the last comment line may name the columns
        names = lines[comments - 1].lstrip("#% ").split(separator) if comments else []
        complete = len(names) == len(rest[0].split(separator))
        arguments.append(f"names={[name.strip() for name in names]}" if complete else "header=None")
    return f"It {' and '.join(traits)}. {rewriting(path, reading_text(separator, rest, arguments))}"


def _are_numbers(fields: Iterable[str]) -> bool:
    return all(re.fullmatch(r"\s*[-+]?[\d.,]+([eE][-+]?\d+)?\s*", field) for field in fields)


def reading_text(separator: str | None, lines: Sequence[str], arguments: Sequence[str] = ()) -> str:
    """Return the line of pandas that reads text with this separator, None for blanks, decimal commas included."""
    number = r'"[-+]?\d+,\d+"' if separator == "," else r"(?<![\d,.])[-+]?\d+,\d+(?![\d,.])"
    options = ["path", *[r"sep=r'\s+'" if separator is None else f"sep={separator!r}"] * (separator != ","), *arguments]
    options += ["decimal=','"] * any(re.search(number, line) for line in lines[1:])
    return f"pandas.read_csv({', '.join(options)})"
