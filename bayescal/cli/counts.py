"""Files of rows or of counts -> their counts, as ``bayescal count`` and ``bayescal merge`` save them."""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bayescal import _render
from bayescal._arrays import Console
from bayescal._files import existing_file
from bayescal.cli.columns import ColumnNames, columns_of
from bayescal.cli.command import Result
from bayescal.cli.keywords import keywords_of
from bayescal.cli.options import ColumnOptions, CountQuestionOptions
from bayescal.cli.words import console, file_named, say, warnings_as_notes
from bayescal.data.files.records import BOM
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.files import COUNTING, EDGES, Counting, Progress, count_classes_of_stream, count_stream
from bayescal.stats.stored import SavedCounts, kind_of, load_counts

STEPS = {COUNTING: "Counting", EDGES: "Edges of bins"}  #: Words for the passes over a file.


class Bars:
    """One bar per pass over a file, on stderr if that is a terminal; a file of one block has none."""

    def __init__(self, file: str) -> None:
        self._file, self._step = file, ""
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, at: Progress) -> None:
        """Show how far a pass has come."""
        if at.step != self._step:
            self._begin(at)
        if at.about is None or at.rows < at.about:
            self._bar.start()
        of_all = "" if at.about is None else f" of {at.about:,}"
        self._bar.update(self._task, completed=at.rows, so_far=f"{at.rows:,}{of_all} rows")

    def _begin(self, at: Progress) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.close()
        text = partial(TextColumn, markup=False)
        columns = text("{task.description}"), BarColumn(), text("{task.fields[so_far]}"), TimeRemainingColumn()
        screen = console(stderr=True)
        self._bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
        self._task = self._bar.add_task(f"{STEPS[at.step]} '{_render.name(self._file)}'", total=at.about, so_far="")
        self._step = at.step

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def bars(file: str) -> closing[Bars]:
    """Show bars while a file is read; the context is the argument `progress` of functions that read it."""
    return closing(Bars(file))


#: Marks a document of this package, in any layout of JSON; and the number of bytes in which it is searched.
MARK, HEAD_BYTES = re.compile(rb'"schema"\s*:\s*"bayescal\.'), 2**20


def holds_counts(path: Path) -> bool:
    """Return whether a file is a document of this package, and not rows."""
    with existing_file(path).open("rb") as file:
        head = file.read(HEAD_BYTES).removeprefix(BOM)
    return head.lstrip().startswith(b"{") and MARK.search(head) is not None


def read_counts(path: Path, bins: Any = None) -> BinnedCounts | ClasswiseCounts:
    """Read a file of counts, and merge its bins if fewer are asked for."""
    counts: Any = load_counts(path)
    kind = kind_of(counts)
    if kind.instead:
        raise ValueError(f"'{path.name}' {kind.instead}")
    if bins is None:
        return counts  # BinnedCounts or ClasswiseCounts
    try:
        return counts.coarsen(make_bins(bins))
    except ValueError as problem:
        raise ValueError(f"{problem} '{path.name}' has {counts.bins}.") from problem


@dataclass(frozen=True)
class CountedFiles(Result):
    """Counts of files of rows or of counts, and their sum."""

    files: Sequence[Path]
    parts: Sequence[SavedCounts]
    total: SavedCounts

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Return the sum of the counts."""
        return {"output": lambda: self.total}

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print the number of rows, the target and the bins."""
        _note_copies(self.parts, self.files)
        files = f"{len(self.files)} file{'s' * (len(self.files) > 1)}"
        target = kind_of(self.total).described(self.total)
        screen.print(f"{self.total.n_rows:,} rows of {files}: target {target}", soft_wrap=True)


def count_files(files: Sequence[Path], options: ColumnOptions, question: CountQuestionOptions) -> CountedFiles:
    """Count the rows of files with the same columns, one after the other; errors name the file if there are several."""
    _require_different(files)
    columns = columns_of(options)
    target, bins = question.target or columns.target, keywords_of(BinnedCounts.from_arrays, question)["bins"]
    how = Counting(target, bins, "equal-width", options.logits)
    return _summed(files, [_count(file, files, columns, how) for file in files])


def load_files(files: Sequence[Path]) -> CountedFiles:
    """Load counts from files that ``bayescal count`` or `save_counts` wrote."""
    _require_different(files)
    return _summed(files, [load_counts(file) for file in files])


def _count(file: Path, files: Sequence[Path], columns: ColumnNames, how: Counting) -> BinnedCounts | ClasswiseCounts:
    with file_named(file, files):
        stream = columns.open(file)
        with warnings_as_notes(stream, stream.called), bars(file.name) as progress:
            return (count_classes_of_stream if how.target == "classwise" else count_stream)(stream, how, progress)


def _summed(files: Sequence[Path], parts: Sequence[SavedCounts]) -> CountedFiles:
    total: Any = parts[0]
    for file, counts in zip(files[1:], parts[1:], strict=True):
        with file_named(file, files):
            if type(counts) is not type(total):
                kinds = f"{kind_of(total).words} and {kind_of(counts).words}"
                raise ValueError(f"{kinds} cannot be added; count all files with one target.")
            total = total + counts
    return CountedFiles(files, parts, total)


def _require_different(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise ValueError(f"FILE '{file}' is given twice, and its rows would be counted twice.")
        seen.add(file.resolve())


def _note_copies(parts: Sequence[SavedCounts], files: Sequence[Path]) -> None:
    """Show a note if two files have equal sums to the last digit: they probably hold the same rows."""
    seen: dict[bytes, Path] = {}
    for counts, file in zip(parts, files, strict=True):
        sums = kind_of(counts).sums_of(counts)
        if counts.n_rows and sums in seen:
            both = f"'{seen[sums].name}' and '{file.name}'"
            say("Note", "yellow", f"{both} have equal sums to the last digit. Are the same rows counted twice?")
        seen.setdefault(sums, file)
