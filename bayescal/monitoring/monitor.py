"""Watch a stream: batches -> counts by window of time -> ECE over time, and its change since a baseline."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _checks, _files, _presented, _render
from bayescal._locks import ProcessLock
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.groups import evaluate_groups
from bayescal.analyses.one import evaluate_one
from bayescal.data.columns import own_hints
from bayescal.data.frames import same_rows
from bayescal.data.predictions import TARGETS, Predictions
from bayescal.data.times import Start, read_windows
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.monitoring.result import PRINTED_WINDOWS, Change, not_shown
from bayescal.monitoring.sequential import SequentialTests
from bayescal.monitoring.windowed import SCHEMA, WindowedCounts
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.joint import checked_rope
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins

HEADER = ("window", "n", "accuracy", "confidence", "plug-in ECE")
#: Bounds of a span of windows, [start, end); None for an open bound.
Span = tuple[Any, Any]


@public
class CalibrationMonitor(SequentialTests, _presented.Presented):
    """Watch the calibration of a stream of batches: counts by window of time, and the posterior of a change.

    A window holds sums over its rows, not the rows, so memory does not grow with the number of rows. Several threads
    may add to one monitor at once: they count in parallel, and no row is lost.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges, as from `equal_mass_edges` of a sample. They cannot change later.
    window : timedelta, str, numpy.timedelta64 or number, optional
        Length of a window: a span of time, as ``"1d"``, ``"6h"`` or ``"15min"``, or a number if times are numbers.
        Windows begin at multiples of the length, counted from `origin`. Times with a zone are converted to UTC; others
        are used as they are. By default there is one total without time.
    target : {"confidence", "event", "top-label", "classwise"}, default "confidence"
        The meaning of outcome and confidence; see `BinnedCounts.from_arrays`.
    origin : number, datetime, datetime64 or str, optional
        A moment at which a window begins, as ``"2026-03-02"`` for weeks that begin on a Monday, or
        ``"2026-03-01T06:00"`` for days that begin at six. By default 0 or 1970-01-01T00:00, a Thursday. All times must
        be of its kind: with or without a zone.

    Raises
    ------
    ValueError, TypeError
        If `bins` is neither a number nor edges, `window` is not a length > 0, or `origin` is not a time.

    Notes
    -----
    *Repeated looks.* `evidence` and `alarm` are anytime-valid: the probability of any false alarm over the life of a
    stream is at most 0.05, for any number of looks; likewise for any interval of `confidence_sequence` that misses the
    ECE. This holds for one stream and one hypothesis; with m of them, pass ``level=0.05 / m``. Each posterior of
    `change` is valid for its own rows, regardless of earlier looks, and states the size of a change. However, a rule
    that triggers the first time a 95 % interval of the change excludes 0 will eventually trigger on a stream that has
    not changed: if each look is wrong with probability 0.05, thirty independent looks are wrong at least once with
    probability :math:`1 - 0.95^{30} = 0.79`.

    Examples
    --------
    >>> monitor = bc.monitoring.CalibrationMonitor(window="1d", target="event")
    >>> for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
    ...     confidence = rng.random(2000)
    ...     truth = confidence if day < "2026-03-03" else confidence**2
    ...     monitor = monitor.add(rng.random(2000) < truth, confidence, time=day)
    >>> monitor
    CalibrationMonitor(event, 15 equal-width bins [a, b), 6000 rows in 3 windows of 1 day, 2026-03-01 to 2026-03-03)
    >>> monitor.change(("2026-03-01", "2026-03-03"), ("2026-03-03", "2026-03-04"), rng=1).verdict()
    'The ECE has risen by more than 0.01'
    """

    def __init__(self, bins: Any = 15, *, window: Any = None, target: str = "confidence", origin: Any = None) -> None:
        _checks.one_of("target", target, TARGETS)
        kind, length = read_windows(window, origin)
        # replaced and never modified, so that a batch is counted in all its windows or in none; code that reads it
        # twice may read two states, and code that replaces it must hold the lock
        self._held = WindowedCounts(make_bins(bins), target, length, kind)
        self._changing, self._saving = ProcessLock(), ProcessLock()

    @property
    def bins(self) -> Bins:
        """The edges."""
        return self._held.bins

    @property
    def window(self) -> timedelta | float | None:
        """Length of a window; None without time."""
        return None if self._held.window is None else self._held.window.duration

    @property
    def origin(self) -> Start:
        """Start of the first window at or after 0 or 1970-01-01; None without time."""
        return self._held.origin

    @property
    def target(self) -> str:
        """The target of outcome and confidence, as for `evaluate`."""
        return self._held.target

    @property
    def n_rows(self) -> int:
        """Number of rows in all windows that are held."""
        return sum(counts.n_rows for counts in self._held.counts.values())

    @property
    def windows(self) -> Mapping[Start, BinnedCounts]:
        """Counts by the start of their window, in order; windows without rows are omitted.

        Starts have the kind of the times: numbers, or datetimes without a zone or in UTC. Without windows, the key of
        all rows is None.
        """
        held = self._held
        return MappingProxyType({held.start(k): held.counts[k] for k in sorted(held.counts)})

    @property
    def total(self) -> BinnedCounts:
        """Counts of all windows."""
        return self.counts()

    def __len__(self) -> int:
        """Number of windows with rows."""
        return len(self._held.counts)

    def __bool__(self) -> bool:
        """True, also before the first batch."""
        return True

    def add(self, y_true: Any, y_prob: Any, *, time: Any = None, weights: Any = None) -> "CalibrationMonitor":
        """Count a batch and return the monitor; a batch that raises an error leaves it unchanged.

        Parameters
        ----------
        y_true : array-like of {0, 1} or bool, shape (n_rows,)
            Outcomes.
        y_prob : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        time : number, datetime, datetime64, str or array-like, shape (n_rows,)
            Time of the batch, or one time per row. Needed if there are windows. A string is one time, as in
            ``"2026-03-01T06:00"``. Naive times, times with a zone and numbers cannot be mixed.

        Raises
        ------
        ValueError, TypeError
            For columns that `BinnedCounts.from_arrays` refuses; if times are missing, of another kind than before, or
            in a window that was forgotten.
        """
        if len(np.shape(y_prob)) == 2 and np.shape(y_prob)[1] > 1:
            raise ValueError(text_of("matrix in a monitor", shape=np.shape(y_prob)))
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights, "time": time})
        names = ("y_true", "y_prob")
        with own_hints():
            predictions = Predictions.from_outcomes(y_true, y_prob, weights, target=self.target, names=names)
        return self.add_predictions(predictions, time=time)

    def add_predictions(self, predictions: Predictions, *, time: Any = None) -> "CalibrationMonitor":
        """Count checked rows, as from `Predictions.from_labels`, and return the monitor.

        Parameters
        ----------
        predictions : Predictions
            The rows; their target must be the monitor's.
        time
            As for `add`.
        """
        return self._add(self._held.batch(predictions, time))

    def add_counts(self, counts: BinnedCounts, *, time: Any = None) -> "CalibrationMonitor":
        """Add counts of rows of one window, and return the monitor.

        Parameters
        ----------
        counts : BinnedCounts
            Counts on the monitor's bins, with its target.
        time : number, datetime, datetime64 or str
            Time of the rows; needed if there are windows.

        Raises
        ------
        ValueError, TypeError
            If bins or target differ, or as for `add`.
        """
        return self._add(self._held.batch_of_counts(counts, time))

    def counts(self, start: Any = None, end: Any = None) -> BinnedCounts:
        """Counts of the windows in [start, end).

        They are the sum over these windows, and empty if they have no rows.

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            Starts of windows; by default the first window and the end of the last one. `end` is not included.

        Raises
        ------
        ValueError, TypeError
            If a bound lies within a window (the nearest bounds are named), or `end` is not after `start`.
        """
        held = self._held
        return held.total(held.between(start, end))

    def evaluate(self, start: Any = None, end: Any = None, **options: Any) -> Evaluation:
        """Posterior of the ECE of the windows in [start, end).

        The result also has the plug-in value and its null distribution.

        Parameters
        ----------
        start, end
            As for `counts`.
        **options
            As for `evaluate_counts`: model, draws, rng, and options of the model.

        Raises
        ------
        ValueError, TypeError
            As for `counts`; also if there are no rows.
        """
        held = self._held
        hint = " For the prior, use `evaluate_counts(BinnedCounts.empty(bins))`."
        return evaluate_one(held.total_of_rows(held.between(start, end), "[start, end)", hint), **options)

    def track(self, start: Any = None, end: Any = None, *, rng: Any = None, **options: Any) -> GroupedEvaluation:
        """Posterior of the ECE of every window in [start, end), by its start, and of all their rows.

        Parameters
        ----------
        start, end
            As for `counts`.
        **options
            As for `evaluate_counts`.
        """
        held = self._held
        held.require_windows("`track` needs windows")
        chosen = held.between(start, end)
        overall = held.total_of_rows(chosen, "[start, end)")
        labels, counts = [held.start(k) for k in chosen], [held.counts[k] for k in chosen]
        return evaluate_groups(labels, counts, overall, name="window", rng=rng, **options)

    def change(
        self,
        baseline: Span | BinnedCounts | None = None,
        now: Span | None = None,
        *,
        rope: float = 0.01,
        rng: Any = None,
        **options: Any,
    ) -> Change:
        """Posterior of the change of the ECE from a baseline to now.

        The result compares ``"now"`` with ``"baseline"``. For repeated looks, see the notes of the class.

        Parameters
        ----------
        baseline : (start, end) or BinnedCounts, optional
            The baseline: bounds of windows, as for `counts`, or counts of other rows, such as the test set. By default
            all windows before `now`.
        now : (start, end), optional
            By default the last window that has rows.
        **options
            As for `evaluate_counts`.

        Raises
        ------
        ValueError, TypeError
            If the two overlap or one has no rows; as for `counts`.
        """
        width = checked_rope(rope)
        counts, spans = self._held.now_and_baseline(now, baseline)
        *seeds, order = _checks.seeds(rng, 3)
        both = {name: evaluate_one(counts[name], rng=s, **options) for name, s in zip(counts, seeds, strict=True)}
        return Change(both, None, width, order, spans)

    def forget(self, before: Any) -> "CalibrationMonitor":
        """Drop the windows before a time, to keep the state small, and return the monitor.

        Later batches must not hold rows of these windows.

        Parameters
        ----------
        before : number, datetime, datetime64 or str
            Start of a window; this window and all later ones are kept. Errors are those of `counts`.
        """
        return self._change(lambda held: held.without(before))

    def __add__(self, other: object) -> "CalibrationMonitor":
        if isinstance(other, int) and other == 0:  # what sum() begins with
            return self._of(self._held)
        if not isinstance(other, CalibrationMonitor):
            return NotImplemented
        return self._of(self._held + other._held)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CalibrationMonitor) and self._held == other._held

    __hash__ = None  # type: ignore[assignment]  # equality is by content, and content changes

    def save(self, path: str | Path) -> Path:
        """Write the state to a small JSON file in one step, so that an interrupted process leaves no partial file.

        Parameters
        ----------
        path : str or Path
            The file; an existing file is replaced.

        Raises
        ------
        OSError
            If the folder is missing or cannot be written to.
        """
        with self._saving:  # prevents an older state from replacing a newer one
            return _files.write_atomically(path, _files.document_text(self._held.document()))

    @classmethod
    def load(cls, path: str | Path) -> "CalibrationMonitor":
        """Read a state that `save` wrote, to continue after a restart or to add the state of another worker.

        Parameters
        ----------
        path : str or Path
            The file. Errors are those of `load_counts`.
        """
        document = _files.read_document(path, SCHEMA)
        try:
            return cls._of(WindowedCounts.from_document(document))
        except (ValueError, TypeError) as problem:
            raise ValueError(f"'{path}': {problem}") from problem

    def table(self) -> list[dict[str, Any]]:
        """Return the observed numbers of every window, as data: one dict per window.

        Keys are window (its start; None without time), n_rows, accuracy, confidence and plug_in_ece.
        """
        held = self._held
        return [{"window": held.start(k), **_observed(held.counts[k])} for k in sorted(held.counts)]

    _index = ("window",)
    _columns = ("n_rows", "accuracy", "confidence", "plug_in_ece")

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        held = self._held
        rows = []
        windows = sorted(held.counts)
        for k in windows if whole else windows[-PRINTED_WINDOWS:]:
            name = "all rows" if held.window is None else held.start_text(k)
            n_rows, *numbers = _observed(held.counts[k]).values()
            rows.append([name, str(n_rows), *map(_render.number, numbers)])
        remarks = not_shown(len(held.counts) - len(rows))
        return _render.Sheet(f"Calibration monitor: {held}.", self.spec, HEADER, rows, remarks)

    @property
    def spec(self) -> str:
        """Target and bins, on one line."""
        return f"{self.target}, {self.bins}"

    def __repr__(self) -> str:
        return f"CalibrationMonitor({self.spec}, {self._held})"

    @classmethod
    def _of(cls, held: WindowedCounts) -> "CalibrationMonitor":
        monitor = cls()
        monitor._held = held
        return monitor

    def _add(self, batch: WindowedCounts) -> "CalibrationMonitor":
        return self._change(lambda held: held.with_batch(batch))

    def _change(self, change: Callable[[WindowedCounts], WindowedCounts]) -> "CalibrationMonitor":
        with self._changing:
            held = None
            while held is not self._held:  # repeated if a signal handler has added a batch during the change
                held = self._held
                changed = change(held)
            self._held = changed
        return self


def _observed(counts: BinnedCounts) -> dict[str, Any]:
    """Return the number of rows of a window, its accuracy, mean confidence and plug-in ECE."""
    bins = observed_bins(counts)
    accuracy, confidence = (float((bins.mass * each).sum()) for each in (bins.accuracy, bins.confidence))
    numbers = {"n_rows": counts.n_rows, "accuracy": accuracy, "confidence": confidence}
    return numbers | {"plug_in_ece": float(ece(bins).values[0])}
