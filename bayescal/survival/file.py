"""Counting right-censored rows of a file in blocks: memory does not grow with the number of rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array
from bayescal._invalid import AllZero, InvalidRows
from bayescal._meant import public
from bayescal.data.files.findings import BlockFindings, NamedColumns
from bayescal.data.files.formats import open_source
from bayescal.data.files.source import Kind, require_column_names
from bayescal.data.groups import Groups, in_order, require_group_labels, without_weight
from bayescal.stats.bins import make_bins
from bayescal.stats.files import COUNTING, Progress
from bayescal.survival.counts import MOST_CELLS, SurvivalCounts, checked_times, countable_rows
from bayescal.survival.rows import SurvivalRows

#: Why the number of groups is limited, and what to do.
OF_CELLS = ("the counts of more do not fit into memory", "Use fewer `times` or `bins`, or a column with fewer values.")
KINDS: dict[str, Kind] = {"event": "label", "by": "text"}  #: Kinds of the columns that do not hold numbers.


@public
def count_file(
    path: str | Path,
    *,
    time: str,
    event: str,
    risk: str,
    times: Any,
    weights: str | None = None,
    by: str | None = None,
    bins: Any = 10,
    cause: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> SurvivalCounts | dict[Any, SurvivalCounts]:
    r"""Count the right-censored rows of a Parquet, CSV, TSV or JSON-lines file, which may be larger than memory.

    Parameters
    ----------
    time, event, risk : str
        Columns of times, kinds of exit and stated risks, as for `bayescal.survival.evaluate`.
    times : array-like of float, shape (n_times,)
        The grid of times, strictly increasing and > 0; horizons are taken from it.
    weights : str, optional
        Column of importance weights >= 0.
    by : str, optional
        Column of group labels: rows are counted by label, in the same pass. Labels are integers if all of them are
        written as integers, otherwise text.
    bins : int, array-like or Bins, default 10
        Number of equal-width bins of the risk, or edges.
    cause : int, default 1
        The cause of the event that the risks are about.
    progress : callable, optional
        Called after each block of rows, with a record that has `step`, `rows` and `about`.

    Returns
    -------
    SurvivalCounts, or dict of label to SurvivalCounts
        The counts of all rows; with `by`, a dict of the counts of each group, in the order of the labels. Both can be
        passed to `bayescal.survival.evaluate_counts`.

    Raises
    ------
    ValueError, TypeError
        If the file lacks a column or has no rows, or values are invalid. The message names the column, the rule, the
        number of invalid values in the whole file, and the line of the first. Also if the counts of all groups do
        not fit into memory, the column of groups is a measurement, or all weights of a group are zero.
    FileNotFoundError, IsADirectoryError
        If there is no such file.

    See Also
    --------
    SurvivalCounts.from_frame : Counts rows where a database or data frame engine holds them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     _ = path.write_text("week,died,p\n3,1,0.6\n5,0,0.2\n5,1,0.7\n")
    ...     counts = bc.survival.count_file(path, time="week", event="died", risk="p", times=[3, 5], bins=2)
    >>> counts
    SurvivalCounts(2 equal-width bins [a, b), 2 times from 3 to 5, 3 rows)
    """
    grid, edges, cause = checked_times(times), make_bins(bins), _checks.whole_number("cause", cause)
    columns = {"time": time, "event": event, "risk": risk}
    columns |= {name: column for name, column in {"weights": weights, "by": by}.items() if column is not None}
    require_column_names(columns)
    source = open_source(Path(path))
    named = NamedColumns(source, {name: f"column {column!r}" for name, column in columns.items()})
    nothing = SurvivalCounts.empty(times=grid, bins=edges, cause=cause)
    findings, totals, rows = BlockFindings(named), dict[Any, SurvivalCounts](), 0
    most = MOST_CELLS // nothing.exits.size
    for values in source.blocks([(column, KINDS.get(name, "number")) for name, column in columns.items()]):
        with findings.block(len(values[0])):
            for label, part in _parts(dict(zip(columns, values, strict=True)), totals, most):
                totals[label] = totals.get(label, nothing) + SurvivalCounts.from_rows(part, grid, edges, cause)
        rows += len(values[0])
        if progress is not None:
            progress(Progress(COUNTING, rows, source.rows_about()))
    findings.report()
    if weights is not None:
        weightless = {label: counts.n_rows for label, counts in totals.items() if not counts.weights[0].any()}
        if len(weightless) == len(totals):
            raise InvalidRows(AllZero(count=rows, size=rows, called=named.called["weights"]))
        for label, n_rows in weightless.items():
            raise without_weight(label, n_rows)
    return totals[None] if by is None else {label: totals[text] for label, text in in_order(totals).items()}


def _parts(block: Mapping[str, Array], counted: Iterable[Any], most: int) -> Iterator[tuple[Any, SurvivalRows]]:
    """Check the rows of a block together; yield those of each group with its label, or all with None without groups."""
    weight, by = block.get("weights"), block.get("by")
    columns = {name: values for name, values in block.items() if name != "by"}
    if weight is None or np.any(weight):
        rows = countable_rows(**columns)
    else:
        rows = replace(countable_rows(**columns | {"weights": np.ones(len(weight))}), weight=np.zeros(len(weight)))
    if by is None:
        yield None, rows
    else:
        groups = Groups.from_column(by, len(rows), rows="time")
        require_group_labels(dict.fromkeys([*counted, *groups.labels]), most, OF_CELLS)
        yield from zip(groups.labels, map(rows.part, groups.rows()), strict=True)
