"""Counting the rows of a file in blocks: memory does not grow with the number of rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats, Ints
from bayescal._invalid import AllZero, InvalidRows
from bayescal._meant import public
from bayescal._rules import LARGEST_WEIGHT, too_small
from bayescal.data import groups as of_groups
from bayescal.data.files.findings import BlockFindings, in_file, sums_of_file
from bayescal.data.files.predictions import Rows, RowStream, open_predictions
from bayescal.data.files.source import require_column_names
from bayescal.data.groups import ClusterCodes, Groups, in_order, require_group_labels, without_weight
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Columns, Predictions, TopLabels, read_rows
from bayescal.data.reading import Reading
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import BINNINGS, VALUES, Bins, make_bins
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.clusters import ClusterSums, CollectedCells, require_few
from bayescal.stats.losses import KINDS, applied_by_name

LABELS_SEEN = 1000  #: Number of labels of clusters among which numbers of a measurement are looked for.
COUNTING, EDGES = "counting", "edges"  #: Passes over the rows of a file.


@dataclass(frozen=True)
class Progress:
    """Progress of one pass over the rows of a file."""

    step: str  # "counting" rows, or choosing "edges" of equal mass
    rows: int  # rows read so far
    about: int | None  # rows in the file; an estimate for text, and None if it is not known


type OnProgress = Callable[[Progress], None] | None


@dataclass(frozen=True)
class Counting:
    """How rows are counted: target, bins and binning as for `evaluate`, and whether probabilities are logits."""

    target: str | None = None
    bins: Any = 15
    binning: str = "equal-width"
    logits: bool = False

    def columns(self, rows: Rows) -> Columns:
        """Unvalidated columns of a block."""
        known: dict[str, Any] = {"target": self.target, "classes": rows.classes, "logits": self.logits}
        read = read_rows(rows.y_true, rows.y_prob, weights=rows.weights, **known)
        return replace(read, rows=replace(read.rows, whole=False)).columns() if isinstance(read, TopLabels) else read

    def class_rows(self, rows: Rows) -> ClassRows:
        """Unvalidated matrix of a block."""
        known: dict[str, Any] = {"classes": rows.classes, "logits": self.logits}
        return replace(ClassRows.read(rows.y_true, rows.y_prob, weights=rows.weights, **known), whole=False)


def _with_unit_rows[C](stream: RowStream, count: Callable[[RowStream], C]) -> C:
    """Count the rows of a file; if a matrix has rows that sum to 1 up to rounding, count them divided by their sums."""
    try:
        return count(stream)
    except InvalidRows as problem:
        sums = sums_of_file(problem, lambda: (rows.y_prob for rows in stream.blocks()), stream)
        return count(replace(stream, sums=sums))


@public
def count_file(
    path: str | Path,
    *,
    label: str,
    prob: str | None = None,
    prob_prefix: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
    target: str | None = None,
    logits: bool = False,
    logprob: bool = False,
    bins: Any = 15,
    binning: str = "equal-width",
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> BinnedCounts | ClasswiseCounts:
    r"""Count the rows of a Parquet, CSV, TSV or JSON-lines file, which may be larger than memory.

    Parameters
    ----------
    label : str
        Column of labels: numbers or true/false, or text with `classes` or with class names after `prob_prefix`.
        ``y_true=`` is accepted for it, and ``y_prob=`` for `prob`.
    prob : str, optional
        Column of probabilities of one event. Either this or `prob_prefix`.
    prob_prefix : str, optional
        Common beginning of the names of the columns of a probability matrix. The rest of each name is the class.
    weights : str, optional
        Column of importance weights >= 0.
    classes : sequence of str, optional
        With `prob`, the label of 0 and the label of 1. With `prob_prefix`, the order of the classes.
    target : {"event", "top-label", "classwise", "confidence"}, optional
        As for `evaluate`; by default "event" with `prob` and "top-label" with `prob_prefix`. With "confidence", `label`
        states whether the prediction was right. "classwise" needs `prob_prefix` and bins of equal width.
    logits : bool, default False
        Whether probabilities are logits.
    logprob : bool, default False
        Whether the columns hold logarithms of probabilities, such as those of language models.
    bins : int, array-like or Bins, default 15
        A number of bins, or edges that increase from 0 to 1.
    binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
        How edges are chosen; see `make_bins`. Edges that depend on the rows need a pass over the file and all
        confidences, for "equal-effective-mass" all weights, and for "values" the distinct confidences, in memory.
    cluster : str, optional
        Column of clusters of rows that may depend on each other, as for `evaluate`; its values are compared as text.
        A cluster may have rows anywhere in the file. Memory grows with the number of clusters. To add counts of two
        files, no cluster may have rows in both.
    progress : callable, optional
        Called after each block of rows, with a record that has `step`, `rows` and `about`.

    Returns
    -------
    BinnedCounts or ClasswiseCounts
        The counts of all rows; those of every class for ``target="classwise"``.

    Raises
    ------
    ValueError
        If the file lacks a column, has no rows, or values are invalid. The message names the column, the rule, the
        number of invalid values in the whole file, and the line of the first.
    TypeError
        If a column has a type that cannot be meant.
    FileNotFoundError, IsADirectoryError
        If there is no such file.

    See Also
    --------
    BinnedCounts.from_frame : Counts rows where a database or data frame engine holds them.
    evaluate_counts : Evaluates counts.

    Notes
    -----
    A block has at most some 100 MB. Numbers of rows are exact. Sums of confidences agree with those of `evaluate` to
    about 1e-15 of their size; in a file of one block, they are equal.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "forecasts.csv")
    ...     _ = path.write_text("rain,p\n0,0.2\n1,0.7\n1,0.9\n")
    ...     counts = bc.count_file(path, label="rain", prob="p", bins=2)
    >>> counts
    BinnedCounts(2 equal-width bins [a, b), 3 rows, 2 with outcome 1)
    >>> counts.target, counts.n
    ('event', array([1, 2]))
    """
    columns = {"prob": prob, "prob_prefix": prob_prefix, "weights": weights, "cluster": cluster}
    require_column_names({"label": label} | columns)
    _checks.one_scale(logits, logprob)
    stream = open_predictions(path, label=label, classes=classes, logprob=logprob, **columns)
    counted = count_classes_of_stream if target == "classwise" else count_stream
    return counted(stream, Counting(target, bins, binning, logits), progress)


def count_stream(stream: RowStream, how: Counting, progress: OnProgress = None) -> BinnedCounts:
    """Count all rows of an open file; invalid values are reported about all rows, as if they had been read at once."""
    return _with_unit_rows(stream, lambda stream: _count_stream(stream, how, progress)[1])


def count_groups_of_stream(
    stream: RowStream, how: Counting, most: int, progress: OnProgress = None
) -> tuple[dict[Any, BinnedCounts], BinnedCounts]:
    """Count the rows of every group, and all rows, in one pass over a file that was opened with a column of groups."""
    return _with_unit_rows(stream, lambda stream: _count_stream(stream, how, progress, most))


def _count_stream(
    stream: RowStream, how: Counting, progress: OnProgress, most: int | None = None
) -> tuple[dict[Any, BinnedCounts], BinnedCounts]:
    """Count all rows, and those of each group unless `most` is None."""
    bins = make_bins(how.bins) if how.binning == "equal-width" else _from_rows(stream, how, progress)
    findings = BlockFindings(stream)
    total = BinnedCounts.empty(bins, target=how.target or ("event" if stream.one_column else "top-label"))
    groups: dict[str, BinnedCounts] = {}
    clusters = _Clusters(stream, bins)
    for rows in _blocks(stream, COUNTING, progress):
        with findings.block(len(rows.y_true)):
            columns = how.columns(rows)
            total = total + _count(columns, bins)
            clusters.add(None, columns, rows.cluster)
            if most is None:
                continue
            for label, counts, part, chosen in _count_groups(columns, rows.group, bins, groups, most):
                groups[label] = groups[label] + counts if label in groups else counts
                clusters.add(label, part, None if rows.cluster is None else rows.cluster[chosen])
    findings.report()
    _require_weight(total, stream)
    for label, counts in groups.items():
        if not counts.occupied.any():
            raise without_weight(label, counts.n_rows)
    groups = {label: clusters.added_to(label, counts) for label, counts in groups.items()}
    total = clusters.added_to(None, _read_as(stream, total))
    return {label: groups[text] for label, text in in_order(groups).items()}, total


def _read_as(stream: RowStream, counts: BinnedCounts) -> BinnedCounts:
    """Return counts that state how the rows of the file were divided."""
    return replace(counts, reading=counts.reading + stream.reading)


class _Clusters:
    """Sums of clusters of a file, of all rows (None) and of each group; nothing if there is no column of clusters."""

    def __init__(self, stream: RowStream, bins: Bins) -> None:
        self._bins, self._used = bins, bool(stream.places.cluster)
        self._codes, self._cells = ClusterCodes(), dict[Any, CollectedCells]()
        if self._used:
            require_few(len(bins))

    def add(self, part: Any, rows: Columns | Predictions, labels: Any) -> None:
        """Add the rows of a block to those of a group, of a class, or of all (None)."""
        if self._used:
            self._cells.setdefault(part, CollectedCells(self._bins)).add(rows, self._codes.of(labels))

    def added_to(self, part: Any, counts: BinnedCounts) -> BinnedCounts:
        """Return counts with the sums over their clusters; refuse numbers of a measurement, once per file."""
        first = part in (None, 0)  # all rows, or the first class
        if first and (numbers := of_groups.numbers_of_measurement(islice(self._codes, LABELS_SEEN))):
            raise ValueError(
                "`cluster` must name a column of cluster labels, such as numbers of questions or patients; it holds "
                f"numbers that are not integers, such as {numbers[0]:.8g}. Is it another column?"
            )
        return replace(counts, clusters=ClusterSums.from_cells(self._cells[part].joined)) if self._used else counts


def _count_groups(
    columns: Columns, group: Any, bins: Bins, counted: Iterable[str], most: int
) -> Iterator[tuple[str, BinnedCounts, Predictions, Ints]]:
    """Count the groups of a block; yield the label, counts, rows, and the numbers of the rows in the block."""
    weight, _ = _weighable(columns.weight)
    rows = replace(columns, weight=weight).checked()  # as a whole, so that messages number the rows of the block
    groups = Groups.from_column(group, len(rows))
    require_group_labels(dict.fromkeys([*counted, *groups.labels]), most)
    for label, chosen in zip(groups.labels, groups.rows(), strict=True):
        of_group = None if columns.weight is None else columns.weight[chosen]
        of_rows: dict[str, Any] = {name: getattr(rows, name)[chosen] for name in ("confidence", "outcome")}
        part = replace(rows, **of_rows, weight=of_group, reading=Reading())  # all rows state how they were read
        yield label, _count(part, bins), part, chosen


def count_classes_of_stream(stream: RowStream, how: Counting, progress: OnProgress = None) -> ClasswiseCounts:
    """Count all rows for every class, in one pass over a file with a matrix; edges may not depend on the rows."""
    if stream.one_column:
        raise ValueError("`target='classwise'` needs one column of probabilities per class: pass `prob_prefix`.")
    if how.binning != "equal-width":
        raise ValueError(
            f"`binning={how.binning!r}` needs all rows of a class at once, and a file is counted in blocks; pass "
            "`bins`, the same edges for all classes."
        )
    return _with_unit_rows(stream, lambda stream: _count_classes_of_stream(stream, make_bins(how.bins), how, progress))


def _count_classes_of_stream(stream: RowStream, bins: Bins, how: Counting, progress: OnProgress) -> ClasswiseCounts:
    findings = BlockFindings(stream)
    total = ClasswiseCounts.empty(stream.classes or range(len(stream.columns)), bins)
    clusters = _Clusters(stream, bins)
    for rows in _blocks(stream, COUNTING, progress):
        with findings.block(len(rows.y_true)):
            matrix = how.class_rows(rows)
            total = total + _count_classes(matrix, bins, total.classes)
            for k, problem in enumerate(Predictions.of_classes(matrix) if rows.cluster is not None else ()):
                clusters.add(k, problem, rows.cluster)
    findings.report()
    _require_weight(total.by_class[0], stream)
    by_class = (clusters.added_to(k, _read_as(stream, each)) for k, each in enumerate(total.by_class))
    return replace(total, by_class=tuple(by_class))


def _blocks(stream: RowStream, step: str, progress: OnProgress) -> Iterator[Rows]:
    """The blocks of a file, with a report after each of them."""
    about = None if progress is None else stream.source.rows_about()
    done = 0
    for rows in stream.blocks():
        yield rows
        done += len(rows.y_true)
        if progress is not None:
            progress(Progress(step, done, about))


def _count(columns: Columns | Predictions, bins: Bins) -> BinnedCounts:
    weight, factor = _weighable(columns.weight)
    return _times(BinnedCounts.from_predictions(replace(columns, weight=weight), bins=bins), factor)


def _count_classes(rows: ClassRows, bins: Bins, classes: tuple[Any, ...]) -> ClasswiseCounts:
    weight, factor = _weighable(rows.weight)
    counts = ClasswiseCounts.from_rows(replace(rows, weight=weight, classes=classes), bins=bins)
    joint = None if counts.joint is None else factor * (factor * counts.joint)
    return ClasswiseCounts(classes, tuple(_times(each, factor) for each in counts.by_class), joint)


def _weighable(weight: Floats | None) -> tuple[Floats | None, float]:
    """Return weights whose squares can be summed, also if a block has tiny ones, and the factor for the sums."""
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
    losses = applied_by_name(KINDS, counts, lambda total: total.times(factor))
    return replace(counts, **sums, weight_sq=factor * (factor * counts.weight_sq), **losses)


def _require_weight(total: BinnedCounts, stream: RowStream) -> None:
    if not total.occupied.any():
        raise InvalidRows(in_file(AllZero(count=total.n_rows, size=total.n_rows, first=(0,)), stream))
    if np.sqrt(total.weight_sq.sum()) <= 1 / LARGEST_WEIGHT:
        raise too_small()


def _from_rows(stream: RowStream, how: Counting, progress: OnProgress) -> Bins:
    """Make bins whose edges depend on the rows, in a pass over the file."""
    _checks.one_of("binning", how.binning, BINNINGS)
    findings = BlockFindings(stream)
    parts: list[Array] = []
    weights: list[Array] = []
    for rows in _blocks(stream, EDGES, progress):
        with findings.block(len(rows.y_true)):
            columns = how.columns(rows)
            weight, _ = _weighable(columns.weight)
            confidence = replace(columns, weight=weight).checked().confidence
            parts.append(np.unique(confidence) if how.binning == VALUES else confidence)
            if columns.weight is not None and how.binning == "equal-effective-mass":
                weights.append(columns.weight)
    findings.report()
    weight = np.concatenate(weights) if weights else None
    return make_bins(how.bins, binning=how.binning, confidence=np.concatenate(parts), weights=weight)
