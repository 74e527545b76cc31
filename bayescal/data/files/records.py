"""Count the records of a text file from its bytes, independently of the engine that reads the values."""

import json
import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Bools, Indices

Bytes = NDArray[np.uint8]
Flags = Bools

CHUNK = 2**19  #: Number of bytes per read; arrays of this size fit in the processor cache.
LONGEST_LINE = 2**26  #: Maximum number of bytes per line.
BOM = b"\xef\xbb\xbf"
LF, CR, QUOTE, COMMA, CLOSE_OBJECT, CLOSE_ARRAY = b'\n\r",}]'
BLANKS = b" \t"
MARGIN = 256  #: Number of bytes that are searched before a quote; a field that begins with more blanks is refused.

CLOSED_AFTER_COMMA = re.compile(rb",\s*[}\]]")  #: A comma before a closing bracket, which JSON forbids outside strings.


class MisplacedQuoteError(ValueError):
    """A quote, after `offset` bytes, that neither opens nor closes a field but could be mistaken for one that does."""

    def __init__(self, offset: int, rule: str) -> None:
        super().__init__(rule)
        self.offset, self.rule = offset, rule


class NotStrictJsonError(ValueError):
    """A line that is not strict JSON; `offset` is the number of bytes before the line."""

    def __init__(self, offset: int) -> None:
        super().__init__("not JSON")
        self.offset = offset


class LongLineError(ValueError):
    """A line of more than `LONGEST_LINE` bytes."""


def count_delimited(file: IO[bytes], delimiter: str) -> tuple[int, int]:
    """Count the records of delimited text (RFC 4180) from its beginning, and the delimiters between their fields.

    Blank lines do not count as records. Refuse an opening quote that is not at the beginning of a field or never
    closed, and a closing quote that is not at the end of its field.
    """
    edge = np.zeros(256, dtype=bool)
    edge[[LF, CR, ord(delimiter)]] = True
    records = delimiters = last_turn = 0
    quoted = False
    for offset, chunk in _whole_lines(file):
        codes = np.frombuffer(chunk, np.uint8)
        ends = _line_ends(codes, chunk)
        splits = codes == ord(delimiter)
        records += not (quoted or ends[0])  # a chunk begins after a line end
        if quoted or b'"' in chunk:
            turns = _Quotes(chunk, codes, edge, offset).turns(quoted)
            outside = _outside(len(chunk), turns, quoted)
            ends &= outside
            splits &= outside
            quoted ^= len(turns) % 2 == 1
            last_turn = offset + int(turns[-1]) if len(turns) else last_turn
        records += int(np.count_nonzero(ends[:-1] > ends[1:]))
        delimiters += int(np.count_nonzero(splits))
    if quoted:
        raise MisplacedQuoteError(last_turn, "a quote must be closed before the file ends")
    return records, delimiters


def count_json_lines(file: IO[bytes]) -> int:
    """Count the lines that are not blank; refuse a comma before a closing bracket, which the engine accepts."""
    records = 0
    for offset, chunk in _whole_lines(file, b"\n"):
        codes = np.frombuffer(chunk, np.uint8)
        ends = codes == LF
        starts = np.flatnonzero(ends[:-1] > ends[1:]) + 1
        if (codes[starts] > BLANKS[0]).all() and codes[0] > BLANKS[0]:
            records += 1 + len(starts)
        else:
            records += sum(1 for line in chunk.split(b"\n") if line.strip())
        _require_strict_json(chunk, codes, offset)
    return records


def line_of(file: IO[bytes], offset: int) -> int:
    """Return the number (from 1) of the line that contains the byte at `offset`."""
    before = file.read(offset + 1)[:-1]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def line_endings(file: IO[bytes]) -> dict[str, int]:
    """Count the line endings of each kind, including those inside quotes."""
    counts = {r"\n": 0, r"\r\n": 0, r"\r": 0}
    last = b""
    for _, chunk in _whole_lines(file):
        both = chunk.count(b"\r\n")
        split = last == b"\r" and chunk.startswith(b"\n")
        counts[r"\r\n"] += both + split
        counts[r"\n"] += chunk.count(b"\n") - both - split
        counts[r"\r"] += chunk.count(b"\r") - both - split
        last = chunk[-1:]
    return {kind: count for kind, count in counts.items() if count}


def _whole_lines(file: IO[bytes], line_ends: bytes = b"\n\r") -> Iterator[tuple[int, bytes]]:
    """Yield chunks of whole lines without byte order mark, each with the number of bytes before it."""
    offset, rest = 0, b""
    while block := file.read(CHUNK):
        cut = 1 + max(block.rfind(line_ends[i : i + 1]) for i in range(len(line_ends)))
        if cut == 0:
            rest += block
            if len(rest) > LONGEST_LINE:
                raise LongLineError(f"a line of the file is longer than {LONGEST_LINE:,} bytes")
            continue
        chunk, rest = rest + block[:cut], block[cut:]
        yield from _without_mark(offset, chunk)
        offset += len(chunk)
    if rest:
        yield from _without_mark(offset, rest)


def _without_mark(offset: int, chunk: bytes) -> Iterator[tuple[int, bytes]]:
    if offset == 0 and chunk.startswith(BOM):
        offset, chunk = len(BOM), chunk[len(BOM) :]
    if chunk:
        yield offset, chunk


def _line_ends(codes: Bytes, chunk: bytes) -> Flags:
    r"""Flag line ends; \r\n gives two, which looks like an additional blank line and so adds no record."""
    ends: Flags = codes == LF
    if b"\r" in chunk:
        ends |= codes == CR
    return ends


def _outside(length: int, turns: Indices, quoted: bool) -> Flags:
    """Flag bytes outside quotes, given the positions of opening and closing quotes."""
    outside = np.arange(quoted, len(turns) + 1 + quoted) % 2 == 0
    return np.repeat(outside, np.diff(turns, prepend=0, append=length))


class _Quotes:
    """The quotes in a chunk of whole lines, which open a field, close it or are text."""

    def __init__(self, chunk: bytes, codes: Bytes, edge: Flags, offset: int) -> None:
        self.chunk, self.edge, self.offset = chunk, edge, offset
        self.blanks = bytes(blank for blank in BLANKS if not edge[blank])
        self.at = np.flatnonzero(codes == QUOTE)
        padded = np.frombuffer(chunk + b"\n", np.uint8)  # a chunk is preceded and followed by a line end
        self.before, self.after = padded[self.at - 1], padded[self.at + 1]

    def turns(self, quoted: bool) -> Indices:
        """Return the positions of quotes that open or close a field; a doubled quote closes and reopens it."""
        beside = self.after.copy()
        beside[int(quoted) :: 2] = self.before[int(quoted) :: 2]
        if (self.edge[beside] | (beside == QUOTE)).all():
            return self.at
        if not (quoted or self.edge[self.before].any()):
            for at in self.at[np.isin(self.before, tuple(self.blanks))].tolist():
                self._require_text(at)
            return self.at[:0]
        return np.array(list(self._followed(quoted)), dtype=np.intp)

    def _followed(self, quoted: bool) -> Iterator[int]:
        closed_at = -2
        for at, before, after in zip(self.at.tolist(), self.before.tolist(), self.after.tolist(), strict=True):
            if quoted:
                self._require_end(at, after)
                quoted, closed_at = False, at
            elif self.edge[before] or closed_at == at - 1:
                quoted = True
            else:
                self._require_text(at)
                continue
            yield at

    def _require_end(self, at: int, after: int) -> None:
        if not (self.edge[after] or after == QUOTE):
            escaped = self.chunk[at - 1 : at] == b"\\"
            hint = "a quote within quotes is written twice" + escaped * ", not with a backslash"
            raise MisplacedQuoteError(self.offset + at, f"a closing quote must be at the end of its field ({hint})")

    def _require_text(self, at: int) -> None:
        """Accept a quote inside an unquoted field as text, unless only blanks precede it."""
        begins = self.chunk[max(0, at - MARGIN) : at].rstrip(self.blanks)
        if not begins or self.edge[begins[-1]]:
            raise MisplacedQuoteError(
                self.offset + at, "an opening quote must be at the beginning of its field, without a space before it"
            )


def _require_strict_json(chunk: bytes, codes: Bytes, offset: int) -> None:
    before = codes[:-1]
    suspect = ((codes[1:] == CLOSE_OBJECT) | (codes[1:] == CLOSE_ARRAY)) & ((before == COMMA) | (before <= BLANKS[0]))
    after = 0 if suspect.any() else len(chunk)
    while (hit := CLOSED_AFTER_COMMA.search(chunk, after)) is not None:
        begin = chunk.rfind(b"\n", 0, hit.start()) + 1
        after = chunk.find(b"\n", hit.start()) % (len(chunk) + 1)  # the end of the chunk if no newline follows
        if not is_json_object(chunk[begin:after]):
            raise NotStrictJsonError(offset + begin)


def is_json_object(line: bytes) -> bool:
    """Return whether a line is a JSON object by Python's parser, which also limits its depth."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)
