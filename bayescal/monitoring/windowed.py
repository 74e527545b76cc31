"""WindowedCounts: counts of a stream of rows by window of time. Frozen and addable."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Array, Ints
from bayescal._invalid import errors_of, quoted
from bayescal.data import times
from bayescal.data.groups import Groups
from bayescal.data.predictions import TARGETS, Predictions
from bayescal.data.times import Start, Window
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.contract import require_counts
from bayescal.stats.documents.sums import bins_document, bins_from_document, sums_document, sums_from_document

SCHEMA = "bayescal.monitor/2"  #: The version changes whenever readers of the file have to change.
#: Tolerance for computed bounds, such as 0.1 + 0.2 = 0.30000000000000004, relative to the length of a window.
SAME_BOUND = 1e-9
RANKED_BY_TABLE = 2**16  #: Maximum range of window numbers whose ranks fit into 16 bits.


@dataclass(frozen=True)
class WindowedCounts:
    """Counts by the number of their window of time; only windows with rows are stored.

    Without a `window`, all rows are counted under number 0. `kind` of the times is a key of `times.KINDS`, None before
    the first rows. Windows before the number `forgotten` were dropped; rows in them raise an error.
    """

    bins: Bins
    target: str
    window: Window | None
    kind: str | None = None
    counts: dict[int, BinnedCounts] = field(default_factory=dict)
    forgotten: int | None = None

    @property
    def origin(self) -> Start:
        """Beginning of window 0."""
        return self.start(0)

    def start(self, number: int) -> Start:
        """First moment of a window."""
        return None if self.window is None else self.window.start(number, self.kind or "naive")

    def start_text(self, number: int) -> str:
        """First moment of a window, as text."""
        return times.in_words(self.start(number))

    def span_text(self, numbers: Sequence[int]) -> str:
        """Time span from the first to the last window, as text."""
        if self.window is None:
            return "all rows"
        return f"[{self.start_text(numbers[0])}, {self.start_text(numbers[-1] + 1)})"

    def windows_text(self, number: int) -> str:
        """Number of windows and their length, as text."""
        return f"{number} window{'s' * (number != 1)} of {self._length}"

    @property
    def _length(self) -> str:
        return f"length {self.window}" if self.window is not None and not self.window.of_dates else str(self.window)

    def __str__(self) -> str:
        n_rows, size = sum(counts.n_rows for counts in self.counts.values()), len(self.counts)
        rows = f"{n_rows} row{'s' * (n_rows != 1)}" if size else "no rows yet"
        if self.window is None or not size:
            return rows if self.window is None else f"{rows}, windows of {self._length}"
        last = f" to {self.start_text(max(self.counts))}" if size > 1 else ""
        return f"{rows} in {self.windows_text(size)}, {self.start_text(min(self.counts))}{last}"

    def batch(self, predictions: Predictions, time: Any) -> "WindowedCounts":
        """Count rows, each in the window of its time, without adding them to the counts of this object."""
        _checks.instance("predictions", predictions, Predictions, "; `add` takes outcome, confidence.")
        if predictions.target != self.target:
            raise ValueError(
                f"rows of target {predictions.target!r} do not belong to this monitor, whose target is "
                f"{self.target!r}: the two calibration errors are defined differently. Use one monitor per target."
            )
        kind, numbers = self._numbers(time, len(predictions))
        present, rank = _ranked(numbers)
        empty = replace(self, kind=kind, counts={}, forgotten=None)
        parts: Iterable[Predictions] = [predictions]
        if len(present) > 1:
            parts = Groups(tuple(map(empty.start_text, present.tolist())), rank, "window").split(predictions)
        counted = (BinnedCounts.from_predictions(part, bins=self.bins) for part in parts)
        return replace(empty, counts=dict(zip(present.tolist(), counted, strict=True)))

    def batch_of_counts(self, counts: BinnedCounts, time: Any) -> "WindowedCounts":
        """Assign counts to one window, without adding them to the counts of this object."""
        require_counts(counts)
        refuse_clusters(counts, "counts", "a monitor")
        kind, numbers = self._numbers(time, None)
        summed = BinnedCounts.empty(self.bins, target=self.target) + counts
        return replace(self, kind=kind, counts={int(numbers[0]): summed}, forgotten=None)

    def with_batch(self, batch: "WindowedCounts") -> "WindowedCounts":
        """Add a batch; check it again, since another thread may have set the kind of time or dropped windows."""
        if batch.kind is not None:
            self._require_kind("time", batch.kind)
        return self._with(batch.kind, batch.counts)

    def without(self, before: Any) -> "WindowedCounts":
        """Drop the windows before a bound."""
        kind, bound = self.bound("before", before)
        forgotten = bound if self.forgotten is None else max(bound, self.forgotten)
        kept = {k: counts for k, counts in self.counts.items() if k >= bound}
        return replace(self, kind=kind, counts=kept, forgotten=forgotten)

    def between(self, start: Any = None, end: Any = None) -> list[int]:
        """Return the numbers of the windows with rows in [start, end), in order."""
        low = None if start is None else self.bound("start", start)[1]
        high = None if end is None else self.bound("end", end)[1]
        if low is not None and high is not None and high <= low:
            raise ValueError(
                f"`end` must be after `start`; `start` is {start}, and `end` is {end}. The end is not included."
            )
        if low is not None and self.forgotten is not None and low < self.forgotten:
            raise ValueError(
                f"`start` must not be before {self.start_text(self.forgotten)}: windows before it are forgotten."
            )
        return [k for k in sorted(self.counts) if (low is None or k >= low) and (high is None or k < high)]

    def total(self, numbers: Iterable[int]) -> BinnedCounts:
        """Sum the counts of windows."""
        return sum((self.counts[k] for k in numbers), BinnedCounts.empty(self.bins, target=self.target))

    def total_of_rows(self, chosen: list[int], what: str, hint: str = "") -> BinnedCounts:
        """Sum the counts of windows; raise if they have no rows, because the result would be the prior."""
        counts = self.total(chosen)
        if not counts.n_rows:
            raise ValueError(f"there are no rows in {what}; the monitor holds {self}.{hint}")
        return counts

    def span(self, name: str, span: Any) -> list[int]:
        """Return the numbers of the windows with rows between a pair of bounds."""
        if not isinstance(span, tuple | list) or len(span) != 2:
            also = ", or BinnedCounts of other rows" if name in ("baseline", "reference") else ""
            shown = quoted(span) if isinstance(span, str | tuple | list) else type(span).__name__
            raise TypeError(f"`{name}` must be a pair of bounds (start, end), either of them None{also}; not {shown}.")
        with errors_of(f"`{name}`"):
            return self.between(*span)

    def require_windows(self, why: str) -> None:
        """Raise ValueError if there are no windows; the message begins with `why`."""
        if self.window is None:
            raise ValueError(f"{why}; this monitor has one total. Make it with `window=`, as in '1d'.")

    def now_and_baseline(self, now: Any, baseline: Any) -> tuple[dict[str, BinnedCounts], dict[str, str]]:
        """Return the counts of two disjoint spans, and the spans as text; see `CalibrationMonitor.change`."""
        chosen = sorted(self.counts)[-1:] if now is None else self.span("now", now)
        counts = {"now": self.total_of_rows(chosen, "`now`")}
        spans = {"now": self.span_text(chosen)}
        if isinstance(baseline, BinnedCounts):
            refuse_clusters(baseline, "baseline", "a monitor")
            counts["baseline"] = BinnedCounts.empty(self.bins, target=self.target) + baseline
            if not baseline.n_rows:
                raise ValueError("`baseline` has no rows; a comparison needs at least one.")
            return counts, spans | {"baseline": "counts"}
        self.require_windows("`change` needs windows, or a `baseline` that is counts")
        before = [k for k in sorted(self.counts) if k < chosen[0]]
        others = before if baseline is None else self.span("baseline", baseline)
        if both := sorted({*others} & {*chosen}):
            raise ValueError(
                f"`baseline` and `now` must have no window in common; they share {len(both)}, first at "
                f"{self.start_text(both[0])}."
            )
        counts["baseline"] = self.total_of_rows(others, "`baseline`")
        return counts, spans | {"baseline": self.span_text(others)}

    def __add__(self, other: "WindowedCounts") -> "WindowedCounts":
        for what in ("bins", "target", "window"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                if str(mine) == str(theirs):
                    mine, theirs = (f"{each.window} from {each.start_text(0)}" for each in (self, other))
                raise ValueError(f"monitors can be added only with the same {what}; these have {mine} and {theirs}.")
        if None not in (self.kind, other.kind) and self.kind != other.kind:
            raise ValueError(
                f"monitors can be added only with times of one kind; these have {times.KINDS[str(self.kind)]} and "
                f"{times.KINDS[str(other.kind)]}."
            )
        marks = [m for m in (self.forgotten, other.forgotten) if m is not None]
        for one in (self, other):
            if marks and min(one.counts, default=max(marks)) < max(marks):
                bound = replace(one, forgotten=None).start_text(max(marks))
                raise ValueError(
                    f"one monitor has forgotten the windows before {bound}, and the other has rows in them, so the "
                    "sum would be incomplete. Call `forget` with the same bound on both first."
                )
        merged = replace(self, kind=self.kind or other.kind, forgotten=max(marks) if marks else None)
        return merged._with(merged.kind, other.counts)

    def _with(self, kind: str | None, more: Mapping[int, BinnedCounts]) -> "WindowedCounts":
        more = {k: counts for k, counts in more.items() if counts.n_rows}
        if self.forgotten is not None and min(more, default=self.forgotten) < self.forgotten:
            raise ValueError(
                f"`time` must not be before {self.start_text(self.forgotten)}: the windows before it are forgotten, "
                f"and there are rows for {replace(self, kind=kind).start_text(min(more))}. Remove these rows."
            )
        summed = {k: self.counts[k] + counts if k in self.counts else counts for k, counts in more.items()}
        return replace(self, kind=kind, counts=self.counts | summed)

    def _numbers(self, time: Any, n_rows: int | None) -> tuple[str | None, Ints]:
        """Return the kind of the times, and the window of each row; one number if all rows have the same time."""
        if self.window is None:
            if time is not None:
                raise ValueError(
                    "`time` has no meaning for a monitor without windows; make one with `window=`, as in '1d'."
                )
            return None, np.zeros(1, np.int64)
        if time is None:
            raise TypeError(
                f"`time` is needed: rows are counted in windows of {self.window}. Pass one time or a column."
            )
        if n_rows is None or np.ndim(time) == 0:
            kind, read = times.read_moment("time", time)
        else:
            kind, read = times.read_column("time", time)
            _checks.same_length(("time", "outcome"), (len(read), n_rows))
        self._require_kind("time", kind)
        return kind, self.window.index(read)

    def _require_kind(self, name: str, kind: str) -> None:
        if self.window is not None and self.window.of_dates == (kind == "number"):
            wanted = "a date" if self.window.of_dates else "a number"
            raise TypeError(
                f"`{name}` must be {wanted}, because windows have the length {self.window}; not {times.KINDS[kind]}."
            )
        if self.kind is not None and kind != self.kind:
            hint = " In UTC: '2026-03-01T00:00+00:00'." if self.kind == "utc" else ""
            earlier = (
                "`origin`" if self.window is not None and self.window.origin and not self.counts else "earlier times"
            )
            raise TypeError(
                f"`{name}` must be of the same kind as {earlier}, {times.KINDS[self.kind]}; not "
                f"{times.KINDS[kind]}.{hint}"
            )

    def bound(self, name: str, moment: Any) -> tuple[str, int]:
        """Return the kind of a moment, and the number of the window that begins at it."""
        if self.window is None:
            raise ValueError(
                f"`{name}` has no meaning for a monitor without windows; make one with `window=`, as in '1d'."
            )
        kind, moments = times.read_moment(name, moment)
        self._require_kind(name, kind)
        number, read = int(self.window.index(moments, name)[0]), moments[0].item()
        length = self.window.length
        for k in (number, number + 1):
            begin = self.window.begin(k)
            if read == begin or (isinstance(length, float) and abs(read - begin) < SAME_BOUND * length):
                return kind, k
        near = " and ".join(replace(self, kind=kind).start_text(k) for k in (number, number + 1))
        raise ValueError(
            f"`{name}` must be where a window of {self.window} begins, because rows inside a window can no longer be "
            f"separated; {moment} is not. The nearest are {near}."
        )

    def document(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        window = None
        if self.window is not None:
            window = {"microseconds" if self.window.of_dates else "number": self.window.length}
            window |= {"origin": self.window.origin} if self.window.origin else {}
        return {
            "schema": SCHEMA,
            "target": self.target,
            "bins": bins_document(self.bins),
            "window": window,
            "time": self.kind,
            "forgotten_before": None if self.forgotten is None else self._written(self.forgotten),
            "windows": [{"start": self._written(k)} | sums_document(self.counts[k]) for k in sorted(self.counts)],
        }

    def _written(self, number: int) -> Any:
        start = self.start(number)
        return start if start is None or isinstance(start, int | float) else start.isoformat()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "WindowedCounts":
        """Convert plain data to counts, with validation."""
        names = ["schema", "target", "bins", "window", "time", "forgotten_before", "windows"]
        _files.require_entries(document, names)
        _checks.one_of("target", document["target"], TARGETS)
        _checks.one_of("time", document["time"], [None, *times.KINDS])
        if not isinstance(document["windows"], list):
            raise ValueError("`windows` must be an array.")
        bins, window = bins_from_document(document["bins"]), _window(document["window"])
        empty = cls(bins, document["target"], window, document["time"])
        if empty.kind is not None:
            if window is None:
                raise ValueError(f"`time` is {empty.kind!r}, which does not fit 'window'.")
            empty._require_kind("time", empty.kind)
        mark = document["forgotten_before"]
        read = replace(empty, forgotten=None if mark is None else empty._read("forgotten_before", mark))
        last = None
        for i, entry in enumerate(document["windows"]):
            where = f"windows[{i}]."
            if not isinstance(entry, dict) or "start" not in entry:
                raise ValueError(f"`windows[{i}]` must be an object with an entry 'start'.")
            number = read._read(f"{where}start", entry["start"])
            if last is not None and number <= last:
                raise ValueError(f"`{where}start` must be after that of the window before it.")
            sums = {name: value for name, value in entry.items() if name != "start"}
            counts = sums_from_document(sums, bins, read.target, where)
            read, last = read._with(read.kind, {number: counts}), number
        return read

    def _read(self, name: str, written: Any) -> int:
        if (self.window is None) != (written is None) or (self.window is not None and self.kind is None):
            raise ValueError(f"`{name}` is {_checks.quoted(written)}, which does not fit 'window' and 'time'.")
        if self.window is None:
            return 0
        return self.bound(name, written)[1]


def _ranked(numbers: Ints) -> tuple[Ints, Array]:
    """Return the distinct numbers in order, and the rank of each row's number; sort rows only if the range is large."""
    low = int(numbers.min())
    size = int(numbers.max()) - low + 1
    if size > RANKED_BY_TABLE:
        return np.unique(numbers, return_inverse=True)
    there = np.bincount(numbers - low, minlength=size) > 0
    # numpy sorts 16-bit integers by counting, which makes splitting the rows by window ten times faster
    rank = (np.cumsum(there) - 1).astype(np.uint16)
    return np.flatnonzero(there) + low, rank[numbers - low]


def _window(document: Any) -> Window | None:
    if document is None:
        return None
    _files.require_entries(document, [], ["microseconds", "number", "origin"], "'window'")
    lengths = {unit: value for unit, value in document.items() if unit != "origin"}
    if len(lengths) != 1:
        raise ValueError("`window` must have one length, 'microseconds' or 'number'.")
    ((unit, length),) = lengths.items()
    kinds, words = {"microseconds": ((int,), "an integer"), "number": ((int, float), "a number")}[unit]
    origin = document.get("origin", 0)
    for name, value in ((unit, length), ("origin", origin)):
        if type(value) not in kinds:  # neither true nor "1d" is a length
            raise ValueError(f"`window.{name}` must be {words}, not {_checks.quoted(value)}.")
    window = Window.of(length)
    if not 0 <= origin < window.length:
        raise ValueError(f"`window.origin` must lie in [0, {length}), not {_checks.quoted(origin)}.")
    return replace(window, of_dates=unit == "microseconds", origin=origin)
