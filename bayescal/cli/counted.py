"""``bayescal count`` and ``bayescal merge``: files of rows -> a file of counts; files of counts -> one."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayescal._files import existing_file
from bayescal._invalid import prefixed
from bayescal.cli import outputs
from bayescal.cli.counting import bars
from bayescal.cli.options import defaults_of
from bayescal.cli.request import ReportRequest, bins_asked, columns_of
from bayescal.cli.words import console, say, say_saved, warnings_as_notes
from bayescal.data.files.records import BOM
from bayescal.data.files.source import FileError
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.files import Counting, count_stream
from bayescal.stats.paired import PairedCounts
from bayescal.stats.stored import load_counts, save_counts

type Counts = BinnedCounts | PairedCounts

#: What a document of this package says it is, however JSON is laid out, and how far to look for it.
MARK, HEAD_BYTES = re.compile(rb'"schema"\s*:\s*"bayescal\.'), 2**20


def holds_counts(path: Path) -> bool:
    """Whether a file is a document that this package wrote, and not rows."""
    with existing_file(path).open("rb") as file:
        head = file.read(HEAD_BYTES).removeprefix(BOM)
    return head.lstrip().startswith(b"{") and MARK.search(head) is not None


def read_counts(path: Path, bins: Any = None) -> BinnedCounts:
    """Read a file of counts, perhaps on fewer bins.

    Parameters
    ----------
    path : Path
        The file.
    bins : int or list of float, optional
        Bins whose edges are among those that were counted.

    Returns
    -------
    BinnedCounts
        The counts.

    Raises
    ------
    ValueError
        If the file is broken, holds counts of two models, or `bins` are not among its own.
    """
    counts = load_counts(path)
    if not isinstance(counts, BinnedCounts):
        raise ValueError(
            f"'{path.name}' holds counts of two models on the same rows, which `bayescal.compare_counts` compares; "
            "a report is of one."
        )
    if bins is None:
        return counts
    try:
        return counts.coarsen(make_bins(bins))
    except ValueError as problem:
        raise ValueError(f"{problem} '{path.name}' has {counts.bins}.") from problem


def count(requests: Sequence[ReportRequest], output: Path) -> None:
    """Count the rows of files, one after the other, save their sum, and say what was counted.

    Parameters
    ----------
    requests : sequence of ReportRequest
        What was typed, for each file.
    output : Path
        The file of counts.

    Raises
    ------
    ValueError, TypeError, OSError
        For anything that is wrong with the options, a file or the place to write to; of several files, the message
        names the one.
    """
    files = [request.file for request in requests]
    outputs.check({"output": output}, besides=files)
    _each_once(files)
    parts = []
    for request in requests:
        with _of(request.file, files):
            parts.append(_count(request))
    _save(parts[0], parts[1:], files, output)


def merge(files: Sequence[Path], output: Path) -> None:
    """Add counts from files, save their sum, and say what it is of.

    Parameters
    ----------
    files : sequence of Path
        Files that ``bayescal count`` or `save_counts` wrote.
    output : Path
        The file of their sum; it may be one of `files`.

    Raises
    ------
    ValueError, OSError
        If a file is broken, or was counted on other bins or for another target.
    """
    outputs.check({"output": output})
    _each_once(files)
    first, *others = map(load_counts, files)
    _save(first, others, files, output)


def _each_once(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise ValueError(f"FILE '{file}' is named twice: the same rows counted again would look like new ones.")
        seen.add(file.resolve())


@contextmanager
def _of(file: Path, files: Sequence[Path]) -> Iterator[None]:
    """Add the name of the file to error messages if there are several files."""
    try:
        yield
    except (ValueError, TypeError) as problem:
        if len(files) == 1 or isinstance(problem, FileError):
            raise
        raise prefixed(problem, f"'{file.name}': ") from problem


def _count(request: ReportRequest) -> BinnedCounts:
    columns = columns_of(request)
    asked = {**defaults_of(BinnedCounts.from_arrays), **{k: v for k, v in request.asked.items() if v is not None}}
    target = request.asked["target"] or columns.target
    if target == "classwise":
        raise ValueError(
            "`target='classwise'` is one set of counts for each class; count one class at a time, as an event: --prob "
            "with the column of its probability, and a column of 0 and 1 for --label."
        )
    stream = columns.open(request.file, request)
    how = Counting(target, bins_asked(asked["bins"]), "equal-width", asked["logits"])
    with warnings_as_notes(stream, stream.called), bars(request.file.name) as progress:
        return count_stream(stream, how, progress)


def _note_copies(parts: Sequence[Counts], files: Sequence[Path]) -> None:
    """Another name is no other file: where sums are equal to the last digit, rows are likely the same."""
    seen: dict[bytes, Path] = {}
    for counts, file in zip(parts, files, strict=True):
        one = counts if isinstance(counts, BinnedCounts) else counts.first
        sums = one.deviation.tobytes() + one.cells.tobytes()
        if counts.n_rows and sums in seen:
            told = f"'{file.name}' has the sums of '{seen[sums].name}' to the last digit: are its rows counted twice?"
            say("Note", "yellow", told)
        seen.setdefault(sums, file)


def _save(first: Counts, others: Sequence[Counts], files: Sequence[Path], output: Path) -> None:
    total: Any = first
    for file, counts in zip(files[1:], others, strict=True):
        with _of(file, files):
            if type(counts) is not type(first):
                raise ValueError("counts of one model and of two cannot be added.")
            total = total + counts
    save_counts(total, output)
    _note_copies([first, *others], files)
    one = total if isinstance(total, BinnedCounts) else total.first
    screen = console()
    screen.print(
        f"{total.n_rows:,} rows of {len(files)} file{'s' * (len(files) > 1)}: target {one.target}, {one.bins}",
        soft_wrap=True,
    )
    say_saved(screen, output)
