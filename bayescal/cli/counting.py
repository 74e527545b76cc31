"""The rows of a file, a block at a time -> counts: memory does not grow with the file."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _render
from bayescal._invalid import AllZero, Finding, InvalidRows, Rounding, RoundingWarning
from bayescal._rules import LARGEST_WEIGHT, too_small
from bayescal.cli.words import console
from bayescal.data.files.predictions import Rows, RowStream
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Columns, TopLabels, read_rows
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.dependence import ErrorMoments


@dataclass(frozen=True)
class Question:
    """How each row is counted.

    Parameters
    ----------
    target : str or None
        As for `evaluate`.
    bins : int, list of float or Bins
        As for `evaluate`.
    binning : str
        As for `evaluate`.
    logits : bool
        Whether probabilities are logits.
    """

    target: str | None
    bins: Any
    binning: str
    logits: bool


def count_stream(stream: RowStream, asked: Question, *, progress: bool = True) -> BinnedCounts:
    """Count all rows of a file; what is wrong with values is said of all rows, as if they had been read at once.

    Parameters
    ----------
    stream : RowStream
        The file.
    asked : Question
        Target, bins and binning.
    progress : bool, default True
        Whether a bar is shown on stderr, if that is a terminal and the file has several blocks.

    Returns
    -------
    BinnedCounts
        The counts. Equal-mass bins take a pass of their own, and the memory of all confidences.

    Raises
    ------
    ValueError, TypeError
        As `evaluate` of all rows; and for weights whose squares cannot be summed, which `evaluate` divides by a number.
    """
    bins = make_bins(asked.bins) if asked.binning == "equal-width" else _equal_mass(stream, asked, progress)
    found = _AllRows()
    total = BinnedCounts.empty(bins, target=_target(stream, asked))
    for rows in _shown(stream, "Counting", progress):
        with found.block(len(rows.y_true)):
            total = total + _count(_columns(rows, asked), bins)
    found.tell()
    _require_weight(total)
    return total


def count_stream_of_classes(
    stream: RowStream, asked: Question, *, progress: bool = True
) -> tuple[tuple[BinnedCounts, ...], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Count all rows for every class, then read them again for how the errors of the classes vary together.

    Parameters
    ----------
    stream, asked, progress
        As for `count_stream`; bins of equal width.

    Returns
    -------
    (counts, correlations) : tuple
        What `evaluate_class_counts` takes.
    """
    bins = make_bins(asked.bins)
    found = _AllRows()
    counts = [BinnedCounts.empty(bins, target="classwise") for _ in stream.columns]
    for rows in _shown(stream, "Counting", progress):
        with found.block(len(rows.y_true)):
            counts = [a + b for a, b in zip(counts, _count_classes(_class_rows(rows, asked), bins), strict=True)]
    found.tell()
    _require_weight(counts[0])
    moments = ErrorMoments(counts)
    for rows in _shown(stream, "How the classes vary together", progress):
        moments.add(_class_rows(rows, asked))
    return tuple(counts), moments.correlations()


class _AllRows:
    """Findings of all blocks, reported once, as if all rows had been checked together."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._problems: list[Finding | None] = []
        self._rounding: list[Rounding | None] = []

    @contextmanager
    def block(self, rows: int) -> Iterator[None]:
        """Keep the findings about the next block until all rows are read."""
        problem = rounding = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except InvalidRows as refused:
                problem = refused.finding
                if problem.first is None:
                    raise
        for warning in caught:
            if not isinstance(warning.message, RoundingWarning):
                warnings.warn(warning.message, warning.category, stacklevel=3)
            else:
                rounding = warning.message.finding
        self._rows.append(rows)
        self._problems.append(problem)
        self._rounding.append(rounding)

    def tell(self) -> None:
        """Raise, or warn of, what was found."""
        problem, rounding = self._together(self._problems), self._together(self._rounding)
        if problem is not None:
            raise InvalidRows(problem)
        if rounding is not None:
            warnings.warn(RoundingWarning(rounding), stacklevel=2)

    def _together[F: Finding](self, findings: list[F | None]) -> F | None:
        at = next((i for i, finding in enumerate(findings) if finding is not None), None)
        first = None if at is None else findings[at]
        if at is None or first is None or first.first is None:
            return None
        row, *column = first.first
        alike = [finding for finding in findings if finding is not None and finding.is_like(first)]
        if isinstance(first, Rounding):
            first = replace(first, most=max(finding.most for finding in alike if isinstance(finding, Rounding)))
        return replace(
            first,
            count=sum(finding.count for finding in alike),
            size=sum(self._rows) * (first.size // self._rows[at]),
            first=(row + sum(self._rows[:at]), *column),
            # of a block with something else wrong this may not have been asked
            at_least=len(alike) < sum(finding is not None for finding in findings),
        )


def _target(stream: RowStream, asked: Question) -> str:
    return asked.target or ("event" if stream.one_column else "top-label")


def _columns(rows: Rows, asked: Question) -> Columns:
    read = read_rows(
        rows.y_true, rows.y_prob, target=asked.target, classes=rows.classes, logits=asked.logits, weights=rows.weights
    )
    return read.columns() if isinstance(read, TopLabels) else read


def _class_rows(rows: Rows, asked: Question) -> ClassRows:
    return ClassRows.read(rows.y_true, rows.y_prob, classes=rows.classes, logits=asked.logits, weights=rows.weights)


def _count(columns: Columns, bins: Bins) -> BinnedCounts:
    weight, factor = _weighable(columns.weight)
    return _times(BinnedCounts.from_predictions(replace(columns, weight=weight), bins=bins), factor)


def _count_classes(rows: ClassRows, bins: Bins) -> tuple[BinnedCounts, ...]:
    weight, factor = _weighable(rows.weight)
    return tuple(_times(counts, factor) for counts in BinnedCounts.of_classes(replace(rows, weight=weight), bins=bins))


def _weighable(weight: NDArray[np.float64] | None) -> tuple[NDArray[np.float64] | None, float]:
    """Weights that can be counted alone, and what to multiply their sums by.

    A block may weigh nothing, or too little for squares; all rows together may not. The factor is 0 or a power of two.
    """
    if weight is None:
        return None, 1.0
    if not weight.any():
        return None, 0.0
    if weight.min() >= 0 and weight.max() <= 1 / LARGEST_WEIGHT:
        exponent = int(np.frexp(weight.max())[1])
        return np.ldexp(weight, -exponent), float(np.ldexp(1.0, exponent))
    return weight, 1.0


def _times(counts: BinnedCounts, factor: float) -> BinnedCounts:
    """The same rows with all weights multiplied."""
    if factor == 1:
        return counts
    sums = {name: factor * getattr(counts, name) for name in ("weight", "deviation", "deviation_sq")}
    losses = None if counts.losses is None else counts.losses.apply(lambda total: factor * total)
    return replace(counts, **sums, weight_sq=factor * (factor * counts.weight_sq), losses=losses)


def _require_weight(total: BinnedCounts) -> None:
    n = total.n_rows
    if not total.occupied.any():
        raise InvalidRows(AllZero(count=n, size=n, first=(0,)))
    if np.sqrt(total.weight_sq.sum()) <= 1 / LARGEST_WEIGHT:
        raise too_small()


def _equal_mass(stream: RowStream, asked: Question, progress: bool) -> Bins:
    found = _AllRows()
    parts = []
    for rows in _shown(stream, "Edges of equal mass", progress):
        with found.block(len(rows.y_true)):
            columns = _columns(rows, asked)
            weight, _ = _weighable(columns.weight)
            parts.append(replace(columns, weight=weight).checked().confidence)
    found.tell()
    return make_bins(asked.bins, binning=asked.binning, confidence=np.concatenate(parts))


def _shown(stream: RowStream, doing: str, progress: bool) -> Iterator[Rows]:
    """The blocks of a file, with a bar on stderr if that is a terminal and there is more than one."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[so_far]}", markup=False),
        TimeRemainingColumn(),
    )
    about = stream.source.rows_about()
    of_all = "" if about is None else f" of {about:,}"
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    done = 0
    try:
        task = bar.add_task(f"{doing} '{_render.name(stream.source.path.name)}'", total=about, so_far="")
        for rows in stream.blocks():
            yield rows
            done += len(rows.y_true)
            if progress and (about is None or done < about):
                bar.start()
            bar.update(task, completed=done, so_far=f"{done:,}{of_all} rows")
    finally:
        bar.stop()
