"""Counting the rows of a labelled source and of a target in blocks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats
from bayescal._invalid import InvalidRows, prefixed
from bayescal._meant import public
from bayescal.data.files.findings import BlockFindings, NamedColumns, sums_of_file
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import Rows, RowStream, open_predictions
from bayescal.data.files.source import Source, require_column_names
from bayescal.data.reading import Reading, divided
from bayescal.shift import rows
from bayescal.shift.counts import ShiftCells, ShiftCounts, default_cells, require_cells
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.files import COUNTING, EDGES, Progress

ADAPTED = "adapt(p)"  #: What messages call the values that `adapt` returns.

type OnProgress = Callable[[Progress], None] | None


@public
def count_files(
    source: str | Path,
    target: str | Path,
    *,
    label: str,
    prob: str | None = None,
    prob_prefix: str | None = None,
    classes: Sequence[str] | None = None,
    logits: bool = False,
    logprob: bool = False,
    cells: ShiftCells | None = None,
    bins: Any = None,
    adapt: Callable[[Floats], Floats] | None = None,
    progress: OnProgress = None,
) -> ShiftCounts:
    r"""Count labelled rows and rows of a target in two files, which may be larger than memory.

    Parameters
    ----------
    source, target : str or Path
        Parquet, CSV, TSV or JSON-lines files: the labelled rows, and the rows of the target. The target must have the
        same columns of probabilities; its other columns are not read.
    label : str
        Column of labels in `source`: numbers or true/false, or text with `classes` or with class names after
        `prob_prefix`. ``y_true=`` is accepted for it, and ``y_prob=`` for `prob`.
    prob : str, optional
        Column of probabilities of one event, in both files. Either this or `prob_prefix`.
    prob_prefix, classes, logprob
        As for `bayescal.count_file`.
    logits : bool, default False
        Whether the columns hold logits.
    cells : ShiftCells, optional
        Cells of the predictions, for class frequencies. By default those of `class_priors`. Up to five classes, their
        cuts need all probabilities of the source in memory, in a separate pass.
    bins : int, array-like or Bins, optional
        Number of equal-width bins, or edges. With bins, rows are also counted for `bayescal.shift.label_counts`.
    adapt : callable, optional
        Function that changes probabilities before they are counted, such as ``evaluation.adapt``; for one event it
        takes and returns a column. A second pass with it gives the counts ``adapted`` of `bayescal.shift.label_counts`.
        It requires `cells`, so that both passes use the same cells.
    progress : callable, optional
        Called after each block of rows, for one file after the other, with a record that has `step` ("edges" for cells,
        or "counting"), `rows` (rows so far) and `about` (their approximate total).

    Returns
    -------
    ShiftCounts
        The counts of both files.

    Raises
    ------
    ValueError, TypeError
        If a file lacks a column or has no rows, values are invalid, or `adapt` is given without `cells`. For values,
        the message names the file, column, rule, number of invalid values in the file, and the line of the first.
    FileNotFoundError, IsADirectoryError
        If there is no such file.

    See Also
    --------
    bayescal.shift.label_counts : Evaluates the counts.
    class_priors_counts : The class frequencies alone.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     hospital, screening = Path(folder, "hospital.csv"), Path(folder, "screening.csv")
    ...     _ = hospital.write_text("ill,p\n0,0.2\n1,0.7\n1,0.9\n")
    ...     _ = screening.write_text("p\n0.1\n0.3\n0.6\n")
    ...     counts = bc.shift.count_files(hospital, screening, label="ill", prob="p", bins=2)
    >>> counts.n_source, counts.n_target, counts.cells
    (3, 3, 2 predicted classes x 3 ranges of confidence)
    """
    columns = {"prob": prob, "prob_prefix": prob_prefix}
    require_column_names({"label": label} | columns)
    if cells is not None:
        require_cells(cells)
    elif adapt is not None:
        raise ValueError(
            "`adapt` needs `cells`, those of the counts of the stated probabilities: `cells=counts.cells`."
        )
    if adapt is not None and not callable(adapt):
        raise TypeError(f"`adapt` must be a function, such as `evaluation.adapt`, not {type(adapt).__name__}.")
    if prob is not None and prob_prefix is not None:
        raise ValueError("`prob` and `prob_prefix` exclude each other: pass one of them.")
    edges = None if bins is None else make_bins(bins)
    _checks.one_scale(logits, logprob)
    stream = open_predictions(source, label=label, classes=classes, logprob=logprob, **columns)
    files = _Files(stream, open_source(target), logits, adapt, progress)
    return files.count(cells, edges)


@dataclass(frozen=True)
class _Files:
    """Both files, and how their blocks are validated and counted."""

    stream: RowStream
    target: Source
    logits: bool
    adapt: Callable[[Floats], Floats] | None
    progress: OnProgress
    readings: dict[str, Reading] = field(default_factory=dict)

    def count(self, cells: ShiftCells | None, bins: Bins | None) -> ShiftCounts:
        """Count the rows of both files, rounded to the precision of the coarser one."""
        sides: dict[str, tuple[Callable[[], Iterator[Array]], NamedColumns]] = {
            "y_prob": (lambda: (block.y_prob for block in self._source_blocks()), self._source_columns),
            rows.TARGET: (self._target_blocks, self._target_columns),
        }
        try:
            return self._count(cells, bins)
        except InvalidRows as problem:
            argument = problem.finding.argument
            if argument not in sides or argument in self.readings:
                raise
            sums = sums_of_file(problem, *sides[argument], argument)
            return replace(self, readings=self.readings | {argument: sums.reading}).count(cells, bins)

    def _count(self, cells: ShiftCells | None, bins: Bins | None) -> ShiftCounts:
        (source, labelled), (target, unlabelled) = _peeked(self._source_blocks()), _peeked(self._target_blocks())
        certain = [True, True]
        coarse = rows.coarser(source.y_prob.dtype, target.dtype)
        if cells is None:
            cells, labelled = self._default_cells(labelled, coarse)

        def of_source(block: Rows) -> ShiftCounts:
            certain[0] &= rows.is_certain(block.y_prob)
            read = self._labelled(block)
            matrix = self._adapted(rows.rounded_to(coarse, read.matrix, read.event), self.stream.source)
            return ShiftCounts.from_source(replace(read, matrix=matrix), cells, bins)

        def of_target(block: Array) -> ShiftCounts:
            certain[1] &= rows.is_certain(block)
            matrix, reading = self._unlabelled(block)
            matrix = self._adapted(rows.rounded_to(coarse, matrix, self.event), self.target)
            counted = ShiftCounts.from_target(matrix, self.event, cells, bins, counts.classes)
            return replace(counted, readings=(Reading(), reading))

        counts = reduce(add, self._each(labelled, COUNTING, self._source_columns, of_source))
        counts += reduce(add, self._each(unlabelled, COUNTING, self._target_columns, of_target))
        if not self.logits:
            called = (self._source_columns.called["y_prob"], self._target_columns.called[rows.TARGET])
            rows.refuse_certain((certain[0], certain[1]), (counts.n_source, counts.n_target), called)
        read = [self.readings.get(side, Reading()) for side in ("y_prob", rows.TARGET)]
        return replace(counts, readings=(counts.readings[0] + read[0], counts.readings[1] + read[1]))

    def _default_cells(self, blocks: Iterator[Rows], coarse: np.dtype[Any]) -> tuple[ShiftCells, Iterator[Rows]]:
        """Return the default cells, and an iterator over all blocks of the source, which are still to be counted."""
        read = False

        def matrix() -> Floats:
            nonlocal read
            read = True
            labelled = self._each(blocks, EDGES, self._source_columns, self._labelled)
            return np.concatenate([rows.rounded_to(coarse, each.matrix, self.event) for each in labelled])

        cells = default_cells(2 if self.event else len(self.stream.columns), matrix)
        return cells, self._source_blocks() if read else blocks

    @property
    def event(self) -> bool:
        """Whether probabilities are those of one event."""
        return self.stream.one_column

    def _each[Block: (Rows, Array), Result](
        self, blocks: Iterator[Block], step: str, named: NamedColumns, work: Callable[[Block], Result]
    ) -> Iterator[Result]:
        """Apply a function to the blocks of a file; report invalid values once, about all rows of the file."""
        findings, n_rows = BlockFindings(named), 0
        for block in blocks:
            size = len(block.y_true) if isinstance(block, Rows) else len(block)
            result = None
            with findings.block(size):
                result = work(block)
            n_rows += size
            if self.progress is not None:
                self.progress(Progress(step, n_rows, named.source.rows_about()))
            if result is not None:
                yield result
        findings.report()

    def _source_blocks(self) -> Iterator[Rows]:
        """Read the labelled rows."""
        for block in _naming_file(self.stream.blocks(), self._quoted(self.stream.source)):
            yield replace(block, y_prob=divided(block.y_prob)) if "y_prob" in self.readings else block

    def _target_blocks(self) -> Iterator[Array]:
        """Read the probabilities of the target."""
        columns = self.target.blocks(self.stream.places.probs)
        for block in _naming_file(columns, self._quoted(self.target)):
            matrix = block[0] if self.event else np.column_stack(block)
            yield divided(matrix) if rows.TARGET in self.readings else matrix

    def _labelled(self, block: Rows) -> rows.SourceRows:
        return rows.SourceRows.read(block.y_true, block.y_prob, classes=block.classes, logits=self.logits, whole=False)

    def _unlabelled(self, block: Array) -> tuple[Floats, Reading]:
        if self.event:
            return rows.target_event(block, self.logits)
        return rows.target_matrix(block, block.shape[1], logits=self.logits, whole=False)

    def _adapted(self, matrix: Floats, source: Source) -> Floats:
        """Apply `adapt` to rows of a file and check what it returns."""
        if self.adapt is None:
            return matrix
        returned = self.adapt(matrix[:, 1] if self.event else matrix)
        try:
            changed = rows.stated_probabilities(returned, ADAPTED, None if self.event else matrix.shape[1], whole=False)
        except InvalidRows:
            raise
        except ValueError as problem:
            raise ValueError(f"{self._quoted(source)}: {problem}") from problem
        if len(changed) != len(matrix):
            lengths = f"it has {len(changed)} for {len(matrix)} rows"
            raise ValueError(f"{self._quoted(source)}: `{ADAPTED}` must have one value per row; {lengths}.")
        return changed

    @property
    def _source_columns(self) -> NamedColumns:
        return self._named(self.stream.source, self.stream.called)

    @property
    def _target_columns(self) -> NamedColumns:
        return self._named(self.target, {rows.TARGET: self.stream.called["y_prob"]})

    def _named(self, source: Source, called: dict[str, str]) -> NamedColumns:
        words = {argument: f"{column} of {self._quoted(source)}" for argument, column in called.items()}
        words[ADAPTED] = f"`{ADAPTED}` of {self._quoted(source)}"
        return NamedColumns(source, words, self.stream.columns)

    def _quoted(self, source: Source) -> str:
        """Name of a file in messages; the path if two files have the same name."""
        both = (self.stream.source.path, self.target.path)
        same_name = both[0] != both[1] and both[0].name == both[1].name
        return f"'{source.path if same_name else source.path.name}'"


def _naming_file[Block](blocks: Iterator[Block], name: str) -> Iterator[Block]:
    """Name the file in messages about values that cannot be read."""
    try:
        yield from blocks
    except InvalidRows as problem:
        if name in str(problem):
            raise
        raise prefixed(problem, f"{name}: ") from problem


def _peeked[Block](blocks: Iterator[Block]) -> tuple[Block, Iterator[Block]]:
    """Return the first block, and all blocks."""
    first = next(blocks)
    return first, chain([first], blocks)
