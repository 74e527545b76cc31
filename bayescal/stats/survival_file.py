"""Counting right-censored rows of a file in blocks: memory does not grow with the number of rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._invalid import AllZero, InvalidRows
from bayescal.data.files.findings import BlockFindings
from bayescal.data.files.formats import open_source
from bayescal.data.files.source import Kind, Source
from bayescal.data.survival import OF_CLUSTERS
from bayescal.stats.bins import make_bins
from bayescal.stats.files import COUNTING, Progress
from bayescal.stats.survival_counts import SurvivalCounts, checked_times


@dataclass(frozen=True)
class _Named:
    """Words of messages for the columns and the rows of a file.

    Parameters
    ----------
    source : Source
        The file.
    called : dict of str to str
        Words for each argument.
    """

    source: Source
    called: dict[str, str]
    columns: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Position of a row in words."""
        return self.source.place(row)


@_checks.explained("", cluster=OF_CLUSTERS)
def count_survival_file(
    path: str | Path,
    *,
    time: str,
    event: str,
    risk: str,
    times: Any,
    weights: str | None = None,
    bins: Any = 10,
    cause: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> SurvivalCounts:
    r"""Count the right-censored rows of a Parquet, CSV, TSV or JSON-lines file, which may be larger than memory.

    Parameters
    ----------
    path : str or Path
        The file. Its content decides its format; text may be compressed with gzip.
    time, event, risk : str
        Columns of times, kinds of exit and stated risks, as for `evaluate_survival`.
    times : array-like of float, shape (n_times,)
        The grid of times, strictly increasing and > 0; horizons are taken from it.
    weights : str, optional
        Column of importance weights >= 0.
    bins : int, array-like or Bins, default 10
        Number of equal-width bins of the risk, or edges.
    cause : int, default 1
        The cause of the event that the risks are about.
    progress : callable, optional
        Called after each block of rows, with a record that has `step`, `rows` and `about`.

    Returns
    -------
    SurvivalCounts
        The counts of all rows.

    Raises
    ------
    ValueError, TypeError
        If the file lacks a column or has no rows, or values are invalid. The message names the column, the rule, the
        number of invalid values in the whole file, and the line of the first.
    FileNotFoundError, IsADirectoryError
        If there is no such file.

    See Also
    --------
    SurvivalCounts.from_frame : Counts rows where a database or data frame engine holds them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     _ = path.write_text("week,died,p\n3,1,0.6\n5,0,0.2\n5,1,0.7\n")
    ...     counts = count_survival_file(path, time="week", event="died", risk="p", times=[3, 5], bins=2)
    >>> counts
    SurvivalCounts(2 equal-width bins [a, b), 2 times from 3 to 5, 3 rows)
    """
    grid, edges, own = checked_times(times), make_bins(bins), _checks.whole_number("cause", cause)
    columns = {"time": time, "event": event, "risk": risk} | ({} if weights is None else {"weights": weights})
    source = open_source(Path(path))
    kinds: dict[str, Kind] = {"event": "label"}
    named = _Named(source, {name: f"column {column!r}" for name, column in columns.items()})
    found, total, rows, heaviest = BlockFindings(named), SurvivalCounts.empty(times=grid, bins=edges, cause=own), 0, 0.0
    for values in source.blocks([(column, kinds.get(name, "number")) for name, column in columns.items()]):
        block = dict(zip(columns, values, strict=True))
        weight = block.get("weights")
        if weight is not None and len(weight) and not np.any(weight):
            block["weights"] = np.ones(len(weight))  # rows of weight 0 are checked and counted, without weight
        with found.block(len(values[0])):
            counts = SurvivalCounts.from_arrays(**block, times=grid, bins=edges, cause=own)
            total = total + (counts if weight is None or np.any(weight) else _without_weight(counts))
        rows += len(values[0])
        heaviest = heaviest if weight is None else max(heaviest, float(np.max(weight, initial=0.0)))
        if progress is not None:
            progress(Progress(COUNTING, rows, source.rows_about()))
    found.report()
    if weights is not None and heaviest == 0:
        raise InvalidRows(AllZero(count=rows, size=rows, called=named.called["weights"]))
    return total


def _without_weight(counts: SurvivalCounts) -> SurvivalCounts:
    """Return counts of the same rows with weight 0."""
    none = np.zeros_like(counts.deviation)
    assert counts.weight_sq is not None
    return replace(counts, deviation=none, deviation_sq=none, weight=none, weight_sq=0 * counts.weight_sq)
