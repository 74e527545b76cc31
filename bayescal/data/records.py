"""Number of records of a text file, counted from its bytes and independently of the engine that reads the values."""

import json
import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

#: Bytes that are read at once; arrays of this size stay in the cache of the processor.
CHUNK = 2**19
#: No line may be longer.
LONGEST_LINE = 2**26
BOM = b"\xef\xbb\xbf"
LF, CR, QUOTE, COMMA, CLOSE_OBJECT, CLOSE_ARRAY = b'\n\r",}]'
BLANKS = b" \t"
#: No more bytes before a quote are looked at; a field that begins with more blanks is refused.
MARGIN = 256

#: A comma before a closing bracket, which JSON forbids; it may also stand within a string.
CLOSED_AFTER_COMMA = re.compile(rb",\s*[}\]]")


class MisplacedQuoteError(ValueError):
    """A quote that neither opens nor closes a field, where it could be mistaken for one.

    Parameters
    ----------
    offset : int
        Number of bytes before it.
    rule : str
        The rule that it breaks.
    """

    def __init__(self, offset: int, rule: str) -> None:
        super().__init__(rule)
        self.offset, self.rule = offset, rule


class NotStrictJsonError(ValueError):
    """A line that a strict reader of JSON refuses; `offset` is the number of bytes before the line."""

    def __init__(self, offset: int) -> None:
        super().__init__("not JSON")
        self.offset = offset


def count_delimited(file: IO[bytes], delimiter: str) -> tuple[int, int]:
    r"""Count the records of delimited text (RFC 4180), and the delimiters between their fields.

    Parameters
    ----------
    file : binary file
        The text, from its beginning.
    delimiter : str
        One character of ASCII.

    Returns
    -------
    (records, delimiters) : tuple of int
        Blank lines are no records. A file whose records all have K fields has K - 1 delimiters per record.

    Raises
    ------
    MisplacedQuoteError
        If an opening quote does not stand at the beginning of a field or is never closed, or a closing quote does not
        stand at the end of a field.

    Examples
    --------
    >>> import io
    >>> count_delimited(io.BytesIO(b'label,note\n1,"a\nb, c"\n\n0,\'tis\n'), ",")
    (3, 3)
    """
    edge = np.zeros(256, dtype=bool)
    edge[[LF, CR, ord(delimiter)]] = True
    records = delimiters = last_turn = 0
    quoted = False
    for offset, chunk in _whole_lines(file):
        found = np.frombuffer(chunk, np.uint8)
        ends = _line_ends(found, chunk)
        splits = found == ord(delimiter)
        records += not (quoted or ends[0])  # a chunk begins after a line end
        if quoted or b'"' in chunk:
            turns = _Quotes(chunk, found, edge, offset).turns(quoted)
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
    r"""Count the lines that are not blank, and require what the engine does not: no comma before a closing bracket.

    Parameters
    ----------
    file : binary file
        The text, from its beginning.

    Returns
    -------
    int
        The number of lines.

    Raises
    ------
    NotStrictJsonError
        For the first line that a strict reader refuses, among those with such a comma.

    Examples
    --------
    >>> import io
    >>> count_json_lines(io.BytesIO(b'{"p": 0.5}\n  \n{"p": 0.25}'))
    2
    """
    records = 0
    for offset, chunk in _whole_lines(file, b"\n"):
        found = np.frombuffer(chunk, np.uint8)
        ends = found == LF
        starts = np.flatnonzero(ends[:-1] > ends[1:]) + 1
        if (found[starts] > BLANKS[0]).all() and found[0] > BLANKS[0]:
            records += 1 + len(starts)
        else:
            records += sum(1 for line in chunk.split(b"\n") if line.strip())
        _require_strict_json(chunk, found, offset)
    return records


def line_of(file: IO[bytes], offset: int) -> int:
    """Return the number of the line, from 1, that holds the byte at `offset`."""
    before = file.read(offset + 1)[:-1]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def line_endings(file: IO[bytes]) -> dict[str, int]:
    """Count the line endings of each kind, quoted ones too."""
    found = {r"\n": 0, r"\r\n": 0, r"\r": 0}
    last = b""
    for _, chunk in _whole_lines(file):
        both = chunk.count(b"\r\n")
        split = last == b"\r" and chunk.startswith(b"\n")
        found[r"\r\n"] += both + split
        found[r"\n"] += chunk.count(b"\n") - both - split
        found[r"\r"] += chunk.count(b"\r") - both - split
        last = chunk[-1:]
    return {kind: count for kind, count in found.items() if count}


def _whole_lines(file: IO[bytes], line_ends: bytes = b"\n\r") -> Iterator[tuple[int, bytes]]:
    """Chunks that end with a line end, except the last one, and the number of bytes before each; no byte order mark."""
    offset, rest = 0, b""
    while block := file.read(CHUNK):
        cut = 1 + max(block.rfind(line_ends[i : i + 1]) for i in range(len(line_ends)))
        if cut == 0:
            rest += block
            if len(rest) > LONGEST_LINE:
                raise ValueError(f"a line is longer than {LONGEST_LINE:,} bytes")
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


def _line_ends(found: Bytes, chunk: bytes) -> Flags:
    r"""Where a line may end; \r\n is a line end and a blank line, which is no record."""
    ends: Flags = found == LF
    if b"\r" in chunk:
        ends |= found == CR
    return ends


def _outside(length: int, turns: NDArray[np.intp], quoted: bool) -> Flags:
    """Where quotes are closed, given the positions of those that open and close."""
    outside = np.arange(quoted, len(turns) + 1 + quoted) % 2 == 0
    return np.repeat(outside, np.diff(turns, prepend=0, append=length))


class _Quotes:
    """The quotes of a chunk of whole lines: which of them open or close a field, and which are text."""

    def __init__(self, chunk: bytes, found: Bytes, edge: Flags, offset: int) -> None:
        self.chunk, self.edge, self.offset = chunk, edge, offset
        self.blanks = bytes(blank for blank in BLANKS if not edge[blank])
        self.at = np.flatnonzero(found == QUOTE)
        padded = np.frombuffer(chunk + b"\n", np.uint8)  # a chunk begins and ends beside a line end
        self.before, self.after = padded[self.at - 1], padded[self.at + 1]

    def turns(self, quoted: bool) -> NDArray[np.intp]:
        """Positions of quotes that open or close; a doubled quote does both.

        If every quote does, they take turns, and each one must stand where it may. Else they are followed one by one.
        """
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
            raise MisplacedQuoteError(self.offset + at, f"a closing quote must stand at the end of its field ({hint})")

    def _require_text(self, at: int) -> None:
        """A quote within an unquoted field is text, but not after blanks alone."""
        begins = self.chunk[max(0, at - MARGIN) : at].rstrip(self.blanks)
        if not begins or self.edge[begins[-1]]:
            raise MisplacedQuoteError(
                self.offset + at, "an opening quote must stand at the beginning of its field, without a space before it"
            )


def _require_strict_json(chunk: bytes, found: Bytes, offset: int) -> None:
    before = found[:-1]
    suspect = ((found[1:] == CLOSE_OBJECT) | (found[1:] == CLOSE_ARRAY)) & ((before == COMMA) | (before <= BLANKS[0]))
    after = 0 if suspect.any() else len(chunk)
    while (hit := CLOSED_AFTER_COMMA.search(chunk, after)) is not None:
        begin = chunk.rfind(b"\n", 0, hit.start()) + 1
        after = chunk.find(b"\n", hit.start()) % (len(chunk) + 1)  # the end of the chunk if there is none
        if not is_json_object(chunk[begin:after]):
            raise NotStrictJsonError(offset + begin)


def is_json_object(line: bytes) -> bool:
    """Whether a line is a JSON object to a strict reader, nested no deeper than Python can follow."""
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict)
