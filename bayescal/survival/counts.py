"""SurvivalCounts: right-censored rows by bin of the stated risk and by cell of a grid of times. Frozen and addable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats, Ints
from bayescal._meant import public
from bayescal._rules import LARGEST_WEIGHT
from bayescal._texts import text_of
from bayescal.data.columns import allowed_weights, refuse_scale, weight_column
from bayescal.data.frames import to_array
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.frozen import Counted
from bayescal.stats.losses import LossSums, total_loss
from bayescal.stats.sums import added, row_counts, summed_by_key, sums_at
from bayescal.survival.curves import Exits
from bayescal.survival.horizon_counts import HorizonCounts, Known, censored_counts, uncensored_counts
from bayescal.survival.query import survival_sums
from bayescal.survival.rows import SurvivalRows, require_horizon

#: Kinds of exits, on the first axis of the counts: at one time they leave in this order.
KINDS = ("event", "other event", "censored at the end of the cell", "censored inside the cell")
EVENT, OTHER, AT_END, INSIDE = range(len(KINDS))
MOST_CELLS = 50_000_000  #: Maximum number of cells, kinds of exits included: 0.4 GB for each of three sums.
WEIGHTS = ("weight", "weight_sq")  #: Sums of counts of weighted rows.


@public
@dataclass(frozen=True, eq=False)
class SurvivalCounts(Counted):
    """Numbers of rows by kind of exit, bin of the stated risk and cell of a grid of times, with sums of risks.

    Counts of different batches, files or workers can be added. A row belongs to the first time of the grid that is not
    below its own, so that results are exact if all times up to the horizon are times of the grid, as with times in
    weeks; otherwise exits within a cell are taken at its end, events first.

    Parameters
    ----------
    bins : Bins
        The bins of the stated risk.
    times : ndarray, shape (n_times,)
        The grid, strictly increasing and > 0.
    exits : ndarray of int64, shape (4, n_bins, n_times + 1)
        Numbers of rows: with the event, with another event, censored exactly at the time of the grid, censored before
        it. The last cell holds rows that leave after the last time.
    deviation : ndarray, shape (4, n_bins, n_times + 1)
        Sums of weight times (risk - midpoint of the bin).
    deviation_sq : ndarray, shape (4, n_bins, n_times + 1)
        Sums of weight times (risk - midpoint of the bin)^2.
    cause : int, default 1
        The cause of the event that the risks are about.
    weight : ndarray, shape (4, n_bins, n_times + 1), or None
        Sums of weights; None if rows have none.
    weight_sq : ndarray, shape (n_bins,), or None
        Sums of squared weights; None if rows have none.

    Examples
    --------
    >>> counts = bc.survival.SurvivalCounts.from_arrays([3, 5, 5], [1, 0, 1], [0.6, 0.2, 0.7], times=[3, 5], bins=2)
    >>> counts.exits[0].tolist()  # events by bin and cell of time
    [[0, 0, 0], [1, 1, 0]]
    >>> (counts + counts).n_rows
    6
    """

    not_paired: ClassVar[str] = text_of("survival counts are not paired")

    bins: Bins
    times: Floats
    exits: Ints
    deviation: Floats
    deviation_sq: Floats
    cause: int = 1
    weight: Floats | None = None
    weight_sq: Floats | None = None

    rows_field = "exits"

    @classmethod
    def empty(cls, *, times: Any, bins: Any = 10, cause: int = 1) -> "SurvivalCounts":
        """Return counts without rows; adding them changes nothing.

        Parameters
        ----------
        times, bins, cause
            As for `from_arrays`.

        Examples
        --------
        >>> bc.survival.SurvivalCounts.empty(times=[1, 2]).n_rows
        0
        """
        grid, edges = checked_times(times), make_bins(bins)
        shape = _shape(edges, grid)
        return cls(edges, grid, np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape), cause)

    @classmethod
    def from_arrays(
        cls, time: Any, event: Any, risk: Any, *, times: Any, bins: Any = 10, cause: int = 1, weights: Any = None
    ) -> "SurvivalCounts":
        """Count rows.

        Parameters
        ----------
        time, event, risk : array-like, shape (n_rows,)
            As for `bayescal.survival.evaluate`.
        times : array-like of float, shape (n_times,)
            The grid of times, strictly increasing; horizons are taken from it.
        bins : int, array-like or Bins, default 10
            Number of equal-width bins of the risk, or edges.
        cause : int, default 1
            The cause of the event that the risks are about.
        weights : array-like, shape (n_rows,), optional
            Importance weights >= 0. Counts with weights add to counts without, whose rows have the weight 1.

        Raises
        ------
        ValueError, TypeError
            As for `bayescal.survival.evaluate`; also if `times` do not increase, or squared weights cannot be summed.

        Examples
        --------
        >>> bc.survival.SurvivalCounts.from_arrays([1, 2], [1, 0], [0.2, 0.7], times=[1, 2])
        SurvivalCounts(10 equal-width bins [a, b), 2 times from 1 to 2, 2 rows)
        """
        grid, edges = checked_times(times), make_bins(bins)
        rows = countable_rows(time, event, risk, weights)
        return cls.from_rows(rows, grid, edges, _checks.whole_number("cause", cause))

    @classmethod
    def from_rows(cls, rows: SurvivalRows, times: Floats, bins: Bins, cause: int) -> "SurvivalCounts":
        """Count validated rows on a checked grid; see `from_arrays`."""
        shape = _shape(bins, times)
        bin_of = bin_index(rows.risk, bins)
        cell = np.searchsorted(times, rows.time, side="left")
        at_end = np.append(times, np.inf)[cell] == rows.time
        kind = np.where(rows.event == 0, np.where(at_end, AT_END, INSIDE), np.where(rows.event == cause, EVENT, OTHER))
        place = (kind * len(bins) + bin_of) * (len(times) + 1) + cell
        off, weight = rows.risk.astype(np.float64) - bins.midpoints[bin_of], rows.weight
        moment = off if weight is None else weight * off

        def summed(values: Floats) -> Floats:
            return sums_at(place, values, int(np.prod(shape))).reshape(shape)

        exits = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape)
        sums = exits, summed(moment), summed(moment * off), cause
        if weight is None:
            return cls(bins, times, *sums)
        return cls(bins, times, *sums, summed(weight), sums_at(bin_of, weight**2, len(bins)))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        time: str = "time",
        event: str = "event",
        risk: str = "risk",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        times: Any,
        bins: Any = 10,
        cause: int = 1,
    ) -> "SurvivalCounts | dict[Any, SurvivalCounts]":
        """Count the rows of a data frame in one query of its engine, which returns sums and no rows.

        With `by`, the result has the counts of each group, which `bayescal.survival.evaluate_counts` takes.

        Parameters
        ----------
        frame : data frame
            As for `BinnedCounts.from_frame`.
        time, event, risk : str
            Columns of times, kinds of exit and stated risks, as for `bayescal.survival.evaluate`.
        weights : str, optional
            Column of importance weights >= 0.
        by : str or sequence of str, optional
            Columns of group labels: rows are counted by label, in the same query.
        times, bins, cause
            As for `from_arrays`.

        Raises
        ------
        ValueError, TypeError
            As for `BinnedCounts.from_frame`; also if times are negative, or events are not 0, 1, 2, ...

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"week": [3, 5, 5], "event": [1, 0, 1], "risk": [0.6, 0.2, 0.7]})
        >>> bc.survival.SurvivalCounts.from_frame(frame, time="week", times=[3, 5], bins=2).exits[0].tolist()
        [[0, 0, 0], [1, 1, 0]]
        """
        grid, edges, cause = checked_times(times), make_bins(bins), _checks.whole_number("cause", cause)
        shape, groups = _shape(edges, grid), {}
        columns = {"time": time, "event": event, "risk": risk}
        for label, exit_of, rows in survival_sums(frame, columns, weights, by, edges, grid, cause):
            cell, kind, index = *exit_of, rows.index[0]
            place = np.ravel_multi_index((kind, index, cell), shape)
            off, squares, weight = (
                sums_at(place, each, int(np.prod(shape))).reshape(shape)
                for each in (rows.deviation[0], rows.deviation_sq[0], rows.n if rows.weight is None else rows.weight)
            )
            exits = row_counts("exits", summed_by_key(place, rows.n, int(np.prod(shape)))).reshape(shape)
            counts = cls(edges, grid, exits, off, squares, cause)
            if rows.weight_sq is not None:
                counts = replace(counts, weight=weight, weight_sq=sums_at(index, rows.weight_sq, len(edges)))
            groups[label] = counts
        return groups[None] if by is None else groups

    def _plus(self, other: "SurvivalCounts") -> "SurvivalCounts":
        for name, mine, theirs in (
            ("bins", self.bins, other.bins),
            ("times", self.times.tolist(), other.times.tolist()),
            ("cause", self.cause, other.cause),
        ):
            if mine != theirs:
                raise ValueError(
                    f"counts can be added only if they have the same {name}; these have {_checks.quoted(mine)} and "
                    f"{_checks.quoted(theirs)}."
                )
        sums = (
            row_counts("exits", added(self.exits, other.exits)),
            self.deviation + other.deviation,
            self.deviation_sq + other.deviation_sq,
        )
        if self.weight is None and other.weight is None:
            return SurvivalCounts(self.bins, self.times, *sums, self.cause)
        weights = (a + b for a, b in zip(self.weights, other.weights, strict=True))
        return SurvivalCounts(self.bins, self.times, *sums, self.cause, *weights)

    def __repr__(self) -> str:
        grid = f"{len(self.times)} times from {self.times[0]:g} to {self.times[-1]:g}"
        return f"SurvivalCounts({self.bins}, {grid}, {self.n_rows} rows)"

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not None

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """Sums of weights by cell, and of squared weights by bin; each row has the weight 1 if rows have none."""
        if self.weight is None or self.weight_sq is None:
            return self.exits.astype(np.float64), self.exits.sum(axis=(0, 2)).astype(np.float64)
        return self.weight, self.weight_sq

    @property
    def binned(self) -> BinnedCounts:
        """Counts of all rows by bin, with outcome 1 for events of the cause up to the last time of the grid."""
        return self._observed(len(self.times) - 1)

    def at(self, horizon: Any = None) -> HorizonCounts:
        """Return the counts at a horizon.

        They hold numbers of rows and events, estimates, and effective numbers by bin.

        Parameters
        ----------
        horizon : float, optional
            A time of the grid; by default the last one.

        Raises
        ------
        ValueError
            If the horizon is not on the grid, or all rows leave before it.

        Examples
        --------
        >>> counts = bc.survival.SurvivalCounts.from_arrays([3, 5, 5], [1, 0, 1], [0.6, 0.2, 0.7], times=[3, 5], bins=2)
        >>> counts.at(3).accuracy
        array([0. , 0.5])
        """
        at = self._place(horizon)
        counted = self._observed(at)
        n_censored = self._sum(self.exits, AT_END, at) + self._sum(self.exits, INSIDE, at + 1)
        number = float(self.times[at])
        if not n_censored.any():
            return uncensored_counts(counted, number, None)
        exits, place = self._exits(at)
        return censored_counts(counted, number, exits, n_censored, self._known(at, exits, place))

    def _place(self, horizon: Any) -> int:
        """Return the position of a horizon on the grid; refuse one that no row reaches."""
        number = float(self.times[-1]) if horizon is None else require_horizon(horizon)
        places = np.flatnonzero(self.times == number)
        if not len(places):
            nearest = self.times[np.abs(self.times - number).argmin()]
            raise ValueError(
                f"`horizon` must be a time of the grid of the counts; {number:g} is not, and the nearest one is "
                f"{nearest:g}. Count the rows again with `times` that contain it."
            )
        at = int(places[0])
        after = self.exits[..., at + 1 :].sum() + self.exits[[EVENT, OTHER, AT_END], :, at].sum()
        if self.n_rows and not after:
            raise ValueError(
                f"`horizon` {self.times[at]:g} is after the last time of the rows, and nothing is known beyond it."
            )
        return at

    @staticmethod
    def _sum(values: Array, kind: int, cells: int) -> Array:
        """Sum the first cells of one kind of exit, by bin."""
        return values[kind, :, :cells].sum(axis=1)

    def _by_outcome(self, values: Array, at: int) -> Array:
        """Sum over rows without and with an event observed up to the horizon, shape (2, n_bins)."""
        events = self._sum(values, EVENT, at + 1)
        return np.stack([values.sum(axis=(0, 2)) - events, events])

    def _observed(self, at: int) -> BinnedCounts:
        """Return the counts of all rows, with outcome 1 for events up to the horizon."""
        sums, (weights, weight_sq) = (self.exits, self.deviation, self.deviation_sq), self.weights
        cells, off, squares, weight = (self._by_outcome(v, at) for v in (*sums, weights))
        losses = _losses(self.bins, weight, off, squares)
        return BinnedCounts(self.bins, cells, weight, off, squares.sum(axis=0), weight_sq, "event", losses=losses)

    def _exits(self, at: int) -> tuple[Exits, tuple[Ints, Ints, Ints]]:
        """Return the exits up to the horizon, and the positions of their cells (bin, time, kind)."""
        weights = self.weights[0]
        leaving = weights[..., : at + 1].copy()
        leaving[AT_END, :, at] = 0
        bin_of, cell, kind = np.nonzero(leaving.transpose(1, 2, 0))  # in the order of bin, time and kind
        weight = leaving[kind, bin_of, cell]
        staying = _staying(weights, at)
        exits = Exits(bin_of, self.times[cell], kind <= OTHER, kind == EVENT, weight, staying)
        return exits, (bin_of, cell, kind)

    def _known(self, at: int, exits: Exits, place: tuple[Ints, Ints, Ints]) -> Known:
        """Sum rows with known outcome, weighted by the inverse probability of censoring."""
        bin_of, cell, kind = place
        size = len(self.bins)
        exit_weights, stay_weights = exits.inverse_censoring
        factor = exit_weights / exits.weight
        stay_factor = np.divide(stay_weights, exits.staying, out=np.zeros(size), where=exits.staying > 0)

        def summed(values: Array) -> Floats:
            weighted = factor * values[kind, bin_of, cell]
            outcomes = [sums_at(bin_of, np.where(exits.of_cause == z, weighted, 0.0), size) for z in (False, True)]
            outcomes[0] += stay_factor * _staying(values, at)
            return np.stack(outcomes)

        weight = summed(self.weights[0])
        losses = _losses(self.bins, weight, summed(self.deviation), summed(self.deviation_sq))
        return Known(weight, losses, None)


def _staying(values: Floats, at: int) -> Floats:
    """Sum the rows that stay up to a time of the grid, by bin."""
    return values[..., at + 1 :].sum(axis=(0, 2)) + values[AT_END, :, at]


def _losses(bins: Bins, weight: Floats, deviation: Floats, deviation_sq: Floats) -> LossSums:
    """Return sums of squared errors; those of their squares follow from the variance of the risks, to first order."""
    total = total_loss(bins.midpoints, weight, deviation, deviation_sq)
    some = np.maximum(weight, np.finfo(np.float64).tiny)
    variance = np.maximum(deviation_sq / some - (deviation / some) ** 2, 0.0)
    error = np.array([[0.0], [1.0]]) - (bins.midpoints + deviation / some)
    return LossSums(total, total**2 / some + 4 * error**2 * variance * weight)


def countable_rows(time: Any, event: Any, risk: Any, weights: Any = None) -> SurvivalRows:
    """Check columns and their values, and that squares of weights can be summed."""
    rows = SurvivalRows.read(time, event, risk)
    weight = weight_column(weights, len(rows), "time")
    if weight is not None and not 1 / LARGEST_WEIGHT < allowed_weights(weight).max() < LARGEST_WEIGHT:
        refuse_scale(weight)
    return replace(rows, weight=weight)


def checked_times(times: Any) -> Floats:
    """Require a grid of times: positive numbers that increase."""
    grid = np.atleast_1d(to_array("times", times))
    if grid.ndim != 1 or grid.dtype.kind not in "iuf" or not len(grid):
        raise TypeError(f"`times` must be an array of numbers, the grid of times, not shape {grid.shape}.")
    grid = _checks.positive("times", grid)
    falls = np.diff(grid, prepend=0.0) <= 0
    if falls.any():
        _checks.refuse("times", "must be strictly increasing", falls, grid)
    return grid


def _shape(bins: Bins, times: Floats) -> tuple[int, int, int]:
    shape = (len(KINDS), len(bins), len(times) + 1)
    if int(np.prod(shape)) > MOST_CELLS:
        raise ValueError(
            f"`times` times `bins` must be at most {MOST_CELLS // len(KINDS):g} cells, not {len(times)} times and "
            f"{len(bins)} bins. Use a coarser grid of times."
        )
    return shape
