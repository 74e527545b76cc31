"""ConfidenceSequence: intervals of the ECE after each window of a monitor, all of which hold at once."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _presented, _render
from bayescal.data.times import Start, in_words
from bayescal.results.evidence import PRINTED

Floats = NDArray[np.float64]

HEADER = ("up to the end of", "n", "plug-in ECE", "low", "high")


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSequence(_presented.Presented):
    """Intervals of the ECE of all rows up to each window, valid however often one looks.

    Returned by `CalibrationMonitor.confidence_sequence`. If the accuracies of the bins do not change, all intervals
    contain the ECE of the rows up to their window with probability at least 1 - `level`, all at once. So one may look
    after every window and stop as soon as an interval lies above or below a limit.

    Parameters
    ----------
    windows : tuple of number, datetime or None
        Starts of the windows, in order.
    n_rows : ndarray of int64, shape (n_windows,)
        Rows up to the end of each window.
    plug_in : ndarray, shape (n_windows,)
        Plug-in ECE of these rows.
    low, high : ndarray, shape (n_windows,)
        Ends of the intervals.
    level : float
        Probability that any interval misses its ECE, at most.
    question : str
        Windows, rows, target and bins, in words.
    notes : tuple of str
        Remarks on rows that are not used.

    Examples
    --------
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> confidence = rng.random(8000)
    >>> monitor = bc.CalibrationMonitor(window=1000)
    >>> monitor = monitor.add(rng.random(8000) < confidence**2, confidence, time=np.arange(8000))
    >>> sequence = monitor.confidence_sequence()
    >>> [round(end, 3) for end in sequence.interval], sequence.above(0.1), sequence.below(0.1)
    ([0.128, 0.194], 0, None)
    """

    windows: tuple[Start, ...]
    n_rows: NDArray[np.int64]
    plug_in: Floats
    low: Floats
    high: Floats
    level: float
    question: str
    notes: tuple[str, ...] = ()

    _index = ("window",)
    _columns = ("n_rows", "plug_in", "low", "high")

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.windows)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval after the last window."""
        return float(self.low[-1]), float(self.high[-1])

    def above(self, limit: float) -> Start:
        """Start of the first window after which the ECE is known to be above a limit.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).

        Returns
        -------
        number, datetime or None
            None if no interval lies above the limit.

        Raises
        ------
        ValueError, TypeError
            If `limit` is not a number in [0, 1).
        """
        return self._first(self.low > _limit(limit))

    def below(self, limit: float) -> Start:
        """Start of the first window after which the ECE is known to be below a limit.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).

        Returns
        -------
        number, datetime or None
            None if no interval lies below the limit.

        Raises
        ------
        ValueError, TypeError
            If `limit` is not a number in [0, 1).
        """
        return self._first(self.high < _limit(limit))

    def _first(self, held: NDArray[np.bool_]) -> Start:
        found = np.flatnonzero(held)
        return self.windows[int(found[0])] if len(found) else None

    def table(self) -> list[dict[str, Any]]:
        """Return the intervals as data: one dict per window.

        Returns
        -------
        list of dict
            Keys window (its start), n_rows (up to its end), plug_in, low and high.
        """
        columns = (self.n_rows, self.plug_in, self.low, self.high)
        rows = zip(self.windows, *(column.tolist() for column in columns), strict=True)
        return [dict(zip(("window", *self._columns), row, strict=True)) for row in rows]

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(**options)

    def sentence(self) -> str:
        """The last interval in words.

        Returns
        -------
        str
            The interval, the number of rows, and the probability with which all intervals hold.
        """
        low, high = (_render.number(end) for end in self.interval)
        return (
            f"After {self.n_rows[-1]} rows the ECE lies between {low} and {high}. With probability "
            f"{1 - self.level:g}, this interval and those after all other windows hold at once, if accuracies are "
            "constant."
        )

    @property
    def spec(self) -> str:
        """Level, windows, rows, target and bins, on one line."""
        return f"{100 * (1 - self.level):g} % confidence sequence of the ECE, {self.question}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows that are not used."""
        return self.notes

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        rows = [
            [in_words(row["window"]), str(row["n_rows"]), *(_render.number(row[name]) for name in self._columns[1:])]
            for row in self.table()[0 if whole else -PRINTED :]
        ]
        more = len(self) - len(rows)
        earlier = [f"{more} earlier window{'s are' if more > 1 else ' is'} not shown."] if more else []
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, (*earlier, *self.remarks))


def _limit(limit: Any) -> float:
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"`limit` must be a number in [0, 1), not {_checks.quoted(limit)}.{_checks.of_percent(limit)}")
    return _checks.fraction("limit", limit, or_zero=True)
