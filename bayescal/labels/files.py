"""Counting rows with a judge's labels in a file, in blocks: memory does not grow with the number of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.data.files.findings import BlockFindings, NamedColumns
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import as_wide_as_classes, named_classes
from bayescal.data.files.source import NO_LABEL, Kind, require_column_names
from bayescal.labels.sums import JudgedCounts, JudgedRows
from bayescal.stats.bins import VALUES, make_bins
from bayescal.stats.files import COUNTING, EDGES, Progress


@public
def count_file(
    path: str | Path,
    *,
    label: str,
    prob: str,
    judge: str,
    classes: Sequence[str] | None = None,
    target: str = "confidence",
    logits: bool = False,
    logprob: bool = False,
    bins: Any = 15,
    binning: str = "equal-width",
    progress: Callable[[Progress], None] | None = None,
) -> JudgedCounts:
    r"""Count rows with a judge's labels in a Parquet, CSV, TSV or JSON-lines file, which may be larger than memory.

    Parameters
    ----------
    label : str
        Column of true labels: numbers or true/false, or text with `classes`. They are missing where the field is empty,
        null, NaN, NA or None, unless this word is one of `classes`. ``y_true=`` is accepted for it, and ``y_prob=`` for
        `prob`.
    prob : str
        Column of probabilities, such as confidences.
    judge : str
        Column of the judge's labels. They may be missing in rows with a true label.
    classes : sequence of two str, optional
        The label of 0 and the label of 1, in both columns of labels.
    target : {"confidence", "event"}, default "confidence"
        As for `bayescal.labels.judged`.
    logits, logprob, bins, binning, progress
        As for `bayescal.count_file`.

    Returns
    -------
    JudgedCounts
        The counts of all rows, for `bayescal.labels.judged_counts`.

    Raises
    ------
    ValueError
        If the file lacks a column, has no rows, or values are invalid. The message names the column, the rule, the
        number of invalid values in the whole file, and the line of the first.
    FileNotFoundError, IsADirectoryError
        If there is no such file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("human,sure,grade\n,0.9,1\n1,0.8,1\n0,0.3,0\n")
    ...     counts = bc.labels.count_file(path, label="human", prob="sure", judge="grade", bins=2)
    >>> counts
    JudgedCounts(2 equal-width bins [a, b), 3 rows, 2 of them checked)
    """
    columns = {"label": label, "prob": prob, "judge": judge}
    require_column_names(columns)
    if prob is None or judge is None:
        raise TypeError(f"`{'judge' if judge is None else 'prob'}` must be the name of a column of the file, not None.")
    if judge in (label, prob):
        raise ValueError(f"`judge` must name a column of its own; {quoted(judge)} is that of `label` or `prob`.")
    _checks.one_scale(logits, logprob)
    blocks = _Blocks(Path(path), columns, classes, (target, logits), logprob, progress)
    if binning == "equal-width":
        edges = make_bins(bins)
    else:
        parts = [np.unique(c) if binning == VALUES else c for c in (each.confidence for each in blocks.read(EDGES))]
        edges = make_bins(bins, binning=binning, confidence=np.concatenate(parts))
    counted = (JudgedCounts.from_rows(rows, edges) for rows in blocks.read(COUNTING))
    return reduce(add, counted)


@dataclass(frozen=True)
class _Blocks:
    """A file, its columns of labels, probabilities and the judge's labels, and how they are read."""

    path: Path
    columns: dict[str, str]
    classes: Sequence[str] | None
    how: tuple[str, bool]  # target, and whether probabilities are logits
    logprob: bool
    progress: Callable[[Progress], None] | None

    def read(self, step: str) -> Iterator[JudgedRows]:
        """Yield the rows of blocks; report invalid values after the last, about all rows."""
        source, n_rows = open_source(self.path), 0
        classes = None if self.classes is None else named_classes(self.classes)
        kind: Kind = "text or none" if classes and isinstance(classes[0], str) else "label or none"
        label, prob, judge = self.columns.values()
        words = {"y_true": label, "y_prob": prob, "judge": judge}
        findings = BlockFindings(NamedColumns(source, {name: f"column {each!r}" for name, each in words.items()}))
        wanted: list[tuple[str, Kind]] = [(label, kind), (prob, "log" if self.logprob else "number"), (judge, kind)]
        target, logits = self.how
        for y, p, j in source.blocks(wanted):
            rows = None
            with findings.block(len(p)):
                labels, grades = (each if kind == "label or none" else _words(each, classes) for each in (y, j))
                rows = JudgedRows.read(labels, p, grades, target, classes, logits)
            n_rows += len(p)
            if self.progress is not None:
                self.progress(Progress(step, n_rows, source.rows_about()))
            if rows is not None:
                yield rows
        findings.report()


def _words(labels: Array, classes: Any) -> Array:
    """Return labels that are words as a masked array; words for no label are masked, unless they are classes."""
    missing = labels == None  # noqa: E711  # elementwise
    fixed = as_wide_as_classes(np.where(missing, "", labels), classes)
    missing |= np.isin(np.char.lower(np.char.strip(fixed)), NO_LABEL) & ~np.isin(fixed, classes)
    return np.ma.array(fixed, mask=missing)
