"""ConfidenceSequence: intervals of the ECE after each window of a monitor, all of which hold at once."""

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _presented, _render
from bayescal._meant import public
from bayescal.data.times import Start, in_words
from bayescal.monitoring.evidence import PRINTED

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

HEADER = ("window", "rows so far", "plug-in ECE", "low", "high")


class Run(NamedTuple):
    """Successive windows whose intervals lie on one side of a limit; `first` and `last` are their indexes."""

    side: str
    first: int
    last: int


@public
@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSequence(_presented.Presented):
    """Intervals of the ECE of all rows up to each window, valid however often one looks.

    Returned by `CalibrationMonitor.confidence_sequence`. If the accuracies of the bins do not change, all intervals
    contain the ECE of the rows up to their window with probability at least `prob`, all at once. So one may look after
    every window and stop as soon as an interval lies above or below a limit.

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
    prob : float
        Probability that all intervals contain their ECE, at least.
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
    prob: float
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
        """Start of the first window whose interval lies above a limit; later intervals may not.

        If accuracies change, or the shares of the bins do, the ECE of the rows so far changes too. The last interval is
        `interval`.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).

        Returns
        -------
        number, datetime or None
            None if no interval lies above the limit. The start may be 0, so compare it with None.

        Raises
        ------
        ValueError, TypeError
            If `limit` is not a number in [0, 1).
        """
        return self._first(self.low > _limit(limit))

    def below(self, limit: float) -> Start:
        """Start of the first window whose interval lies below a limit; later intervals may not.

        If accuracies change, or the shares of the bins do, the ECE of the rows so far changes too. The last interval is
        `interval`.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).

        Returns
        -------
        number, datetime or None
            None if no interval lies below the limit. The start may be 0, so compare it with None.

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

    def to_frame(self, prob: float | None = None, **options: Any) -> "pd.DataFrame":
        """Return the table as a pandas DataFrame, with numbers that are not rounded.

        Parameters
        ----------
        prob : float, optional
            Not needed: the probability of the intervals. Another one than that of the sequence raises an error.
        **options
            None.

        Returns
        -------
        pandas.DataFrame
            Index: window. Columns: n_rows, plug_in, low and high, the ends of the confidence sequence.

        Raises
        ------
        ValueError
            If `prob` is not that of the sequence.
        """
        from bayescal import _export

        if prob is not None and prob != self.prob:
            raise ValueError(
                f"`prob` must be {self.prob:g}, the probability of this sequence, not {_checks.quoted(prob)}. For "
                "other intervals, use `monitor.confidence_sequence(prob=...)`."
            )
        return _export.frame(self.table(**options), self._index, self._columns)

    def runs(self, limit: float) -> list[Run]:
        """Successive windows whose intervals lie above a limit, or below it.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).

        Returns
        -------
        list of (str, int, int)
            "above" or "below", and the indexes of the first and the last window, in order.

        Raises
        ------
        ValueError, TypeError
            If `limit` is not a number in [0, 1).
        """
        limit = _limit(limit)
        side = (self.low > limit).astype(np.int64) - (self.high < limit)
        first = np.flatnonzero(np.diff(side, prepend=2))
        last = np.append(first[1:], len(side)) - 1
        found = zip(side[first].tolist(), first.tolist(), last.tolist(), strict=True)
        return [Run("above" if sign > 0 else "below", *ends) for sign, *ends in found if sign]

    def sentence(self) -> str:
        """The last interval in words.

        Returns
        -------
        str
            The interval, the number of rows, and the probability with which all intervals hold.
        """
        low, high = _render.numbers(*self.interval)
        rows = f"{self.n_rows[-1]} row{'s' * bool(self.n_rows[-1] != 1)}"
        return (
            f"If accuracies do not change, the ECE of the {rows} lies between {low} and {high}. All "
            f"intervals of this sequence hold together with a probability of at least {self.prob:g}."
        )

    @property
    def spec(self) -> str:
        """Probability, windows, rows, target and bins, on one line."""
        return f"{100 * self.prob:g} % confidence sequence of the ECE, {self.question}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows that are not used, and on intervals that exclude each other."""
        least, most = int(self.high.argmin()), int(self.low.argmax())
        if self.low[most] <= self.high[least]:
            return self.notes
        end, begin = _render.number(self.high[least]), _render.number(self.low[most])
        return (
            *self.notes,
            f"Two intervals exclude each other: the one after the window {in_words(self.windows[least])} ends at "
            f"{end}, and the one after {in_words(self.windows[most])} begins at {begin}. Accuracies or the shares of "
            "the bins have changed. Begin anew with `start=`.",
        )

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
