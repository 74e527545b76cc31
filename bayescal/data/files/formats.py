"""Detection of file formats (Parquet, delimited text, JSON lines) from the content, not from the name."""

import gzip
import re
import zlib
from pathlib import Path

from bayescal._files import existing_file
from bayescal.data.files.json_lines import JsonLines
from bayescal.data.files.parquet import Parquet
from bayescal.data.files.records import BOM
from bayescal.data.files.source import FileError, Source
from bayescal.data.files.text import Delimited

#: Number of bytes from which the format is detected.
HEAD_BYTES = 65536

#: First bytes of other formats, for messages.
OTHER_FORMATS = {
    b"PK": "a zip archive (an Excel workbook?)",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 or netCDF file",
    b"CDF": "a netCDF file",
    b"ARROW1": "an Arrow (Feather) file",
    b"SQLite format": "an SQLite database",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\xff\xfe": "UTF-16 text, not UTF-8",
    b"\xfe\xff": "UTF-16 text, not UTF-8",
}


def open_source(path: str | Path) -> "Source":
    """Detect the format of a file from its first bytes, and read the names of its columns but no rows."""
    path = existing_file(path)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return Parquet(path)
    zipped = head.startswith(b"\x1f\x8b")
    if zipped:
        try:
            with gzip.open(path) as unzipped:
                head = unzipped.read(HEAD_BYTES)
        except (OSError, EOFError, zlib.error) as problem:
            raise FileError(f"'{path.name}' begins as a gzip file but is broken: {problem}.") from problem
    return _open_text(path, head, zipped)


def _open_text(path: Path, head: bytes, zipped: bool) -> "Source":
    body = head.removeprefix(BOM).lstrip()
    if not body:
        raise FileError(f"'{path.name}' is empty ({len(head)} bytes).")
    other = next((name for magic, name in OTHER_FORMATS.items() if head.startswith(magic) and b"\0" in head), None)
    if other or b"\0" in head:
        raise FileError(
            f"'{path.name}' is {other or 'a binary file that is not Parquet'}; "
            "it must be Parquet, or CSV, TSV or JSON lines in UTF-8."
        )
    if re.match(rb"\[\s*\{", body):
        raise FileError(
            f"'{path.name}' is one JSON array, not JSON lines: write one object per line "
            "(pandas: `to_json(path, orient='records', lines=True)`)."
        )
    if not body.startswith(b"{"):
        return Delimited(path, zipped)
    if head.startswith(BOM):
        raise FileError(f"'{path.name}' begins with a byte order mark, which JSON forbids: save it as plain UTF-8.")
    return JsonLines(path, zipped)
