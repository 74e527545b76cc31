"""Invalid values in the blocks of a file, reported once about all rows, with columns and lines of the file."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from bayescal._arrays import Array
from bayescal._checks import PACKAGE
from bayescal._invalid import Finding, InvalidRows, Rounding, RoundingWarning
from bayescal.data.files.source import Source
from bayescal.data.reading import RowSums, is_about_sums, sums_of_blocks


class Named(Protocol):
    """A file whose columns and rows have words for messages, as `RowStream` has."""

    @property
    def called(self) -> Mapping[str, str]:
        """Words for the column of each argument."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns of a matrix."""

    def place(self, row: int) -> str:
        """Position of a row in words."""


@dataclass(frozen=True)
class NamedColumns:
    """Words of messages for columns of a file; see `Named`."""

    source: Source
    called: dict[str, str]
    columns: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Position of a row in words."""
        return self.source.place(row)


class BlockFindings:
    """Findings about the blocks of a file, which are reported as if all rows had been checked together."""

    def __init__(self, stream: Named) -> None:
        self._stream = stream
        self._rows: list[int] = []
        self._invalid: list[Finding | None] = []
        self._rounding: list[Rounding | None] = []

    @contextmanager
    def block(self, rows: int) -> Iterator[None]:
        """Keep the findings about the next block, which has so many rows, until `report`."""
        problem = rounding = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except InvalidRows as refused:
                problem = refused.finding
        for warning in caught:
            if isinstance(warning.message, RoundingWarning):
                rounding = warning.message.finding
            else:
                warnings.warn(warning.message, skip_file_prefixes=PACKAGE)
        self._rows.append(rows)
        self._invalid.append(problem)
        self._rounding.append(rounding)

    def report(self) -> None:
        """Raise `InvalidRows`, or warn that values were clipped, if any block gave cause."""
        problem, rounding = self._together(self._invalid), self._together(self._rounding)
        if problem is not None:
            raise InvalidRows(in_file(problem, self._stream))
        if rounding is not None:
            warnings.warn(RoundingWarning(in_file(rounding, self._stream)), skip_file_prefixes=PACKAGE)

    def _together[F: Finding](self, findings: list[F | None]) -> F | None:
        """The first finding, with the counts of all that break the same rule; rows are numbered within the file."""
        at = next((i for i, finding in enumerate(findings) if finding is not None), None)
        first = None if at is None else findings[at]
        if at is None or first is None or first.first is None:
            return None
        row, *column = first.first
        same_rule = [finding for finding in findings if finding is not None and finding.is_like(first)]
        if first.of_all and any(finding is None or finding.hint != first.hint for finding in findings):
            first = replace(first, hint=first.of_all)
        if isinstance(first, Rounding):
            first = replace(first, most=max(finding.most for finding in same_rule if isinstance(finding, Rounding)))
        return replace(
            first,
            count=sum(finding.count for finding in same_rule),
            size=sum(self._rows) * (first.size // self._rows[at]),
            first=(row + sum(self._rows[:at]), *column),
            # a block that breaks another rule was perhaps not checked for this one
            at_least=len(same_rule) < sum(finding is not None for finding in findings),
        )


def sums_of_file(
    problem: InvalidRows, blocks: Callable[[], Iterator[Array]], stream: Named, argument: str = "y_prob"
) -> RowSums:
    """Return the sums of all rows of a matrix, by which its rows are to be divided; otherwise raise.

    Blocks are first read without division. If rows do not sum to 1 (`problem`), the decimals of all rows say whether
    this is rounding: a pass over the file, begun by `blocks`, finds them, and a second one reports the rows if it is
    not.
    """
    sums = sums_of_blocks(blocks()) if is_about_sums(problem) else None
    if sums is None:
        raise problem
    if not sums.accepted:
        findings = BlockFindings(stream)
        for block in blocks():
            with findings.block(len(block)):
                sums.require(argument, block)
        findings.report()
    return sums


def in_file[F: Finding](finding: F, stream: Named) -> F:
    """Name the column and the line of a finding about `y_true`, `y_prob` or `weights` that were read from a file."""
    place, hint = "", finding.hint
    if finding.first is not None:
        row, *column = finding.first
        place = f"in {stream.place(row)}" + "".join(f", column {stream.columns[k]!r}" for k in column)
    hint = hint.replace("`np.exp(y_prob)`", "`logprob=True`")  # keyword of functions that read files
    for argument, name in stream.called.items():
        hint = hint.replace(f"`{argument}`", name)
    return replace(finding, called=stream.called.get(finding.argument, ""), place=place, hint=hint)
