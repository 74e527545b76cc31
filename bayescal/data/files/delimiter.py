"""Determine the delimiter of a text file from its first records."""

import csv
import io
from collections.abc import Iterable, Iterator

from bayescal._locks import ProcessLock
from bayescal.data.files.records import LONGEST_LINE

#: Candidates, the most common first.
DELIMITERS = (",", ";", "\t", "|")
#: Number of records that are examined.
RECORDS = 100


def delimiter_of(head: bytes, whole: bool) -> str:
    """Choose the delimiter for which most records have as many fields as the first; break ties by most fields.

    `head` is the beginning of the file, or the `whole` of it. The choice cannot lose rows: quotes and line ends have
    the same meaning with every delimiter, and records with another number of fields than the first are refused.
    """
    text = head.decode("utf-8-sig", errors="replace")
    return max(DELIMITERS, key=lambda delimiter: _fit(text, delimiter, whole))


def _fit(text: str, delimiter: str, whole: bool) -> tuple[float, int]:
    """Return the share of records with as many fields as the first, and that number; zeros if it is 1."""
    widths = []
    for _, fields in split(io.StringIO(text, newline=""), delimiter):
        widths.append(len(fields))
        if len(widths) > RECORDS:
            break
    if not (whole or len(widths) > RECORDS or len(widths) < 3):
        widths.pop()  # the last record may be incomplete
    if not widths or widths[0] == 1:
        return 0.0, 0
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]


def split(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line (from 1) and the fields of each record, by the rules of RFC 4180 and not by the engine.

    Lines have their line ends. Blank lines are skipped.
    """
    records = csv.reader(lines, delimiter=delimiter, quotechar='"', doublequote=True)
    begins = 1
    with _LONG_FIELDS:
        for fields in records:
            if fields:
                yield begins, fields
            begins = records.line_num + 1


class _LongFields:
    """Raises the limit of 131072 characters per field while text is read.

    The limit is a global setting of the csv module. Readers may overlap, in threads or because one has not finished:
    the first raises the limit, and the last restores it.
    """

    def __init__(self) -> None:
        self._lock, self._readers, self._before = ProcessLock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._readers:
                self._before = csv.field_size_limit(LONGEST_LINE)
            self._readers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._readers -= 1
            if not self._readers:
                csv.field_size_limit(self._before)


_LONG_FIELDS = _LongFields()
