"""Watch a stream: batches -> counts by window of time -> ECE over time, and its change since a reference."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _checks, _files, _render
from bayescal._locks import ProcessLock
from bayescal.analyses.groups import evaluate_groups
from bayescal.analyses.one import evaluate_one
from bayescal.data.alignment import same_rows
from bayescal.data.predictions import TARGETS, Predictions
from bayescal.data.times import Start, Window
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.results.change import Change
from bayescal.results.comparable import checked_rope
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.windowed import SCHEMA, WITHOUT_LOSSES, WindowedCounts

#: As many windows are printed, the last ones.
PRINTED = 10
HEADER = ("window", "n", "accuracy", "confidence", "plug-in ECE")
#: Bounds of a span of windows: a first moment and the first moment after, either of them open.
Span = tuple[Any, Any]


class CalibrationMonitor(_render.Presented):
    """Watch the calibration of a stream of batches: counts by window of time, and the posterior of what has changed.

    A window holds sums over its rows, not the rows, so the memory needed does not grow with them. Several threads may
    add to one monitor at once: they count in parallel, and no row is lost.

    Parameters
    ----------
    bins : int or array-like, default 15
        A number of equal-width bins, or edges, as from `equal_mass_edges` of a sample. They cannot change later.
    window : timedelta, str, numpy.timedelta64 or number, optional
        Length of a window: a span of time, as ``"1d"``, ``"6h"`` or ``"15min"``, or a number if times are numbers.
        Windows begin at multiples of it, counted from 0 or from 1970-01-01T00:00 (so those of a week begin on a
        Thursday); times with a zone are taken to UTC, others as they are. By default there is one total without time.
    target : {"confidence", "event", "top-label", "classwise"}, default "confidence"
        What outcome and confidence mean; see `BinnedCounts.from_arrays`.

    Raises
    ------
    ValueError, TypeError
        If `bins` are none, or `window` is not a length > 0.

    Notes
    -----
    *Looking repeatedly.* Each posterior is valid for its own rows, however often one looked before. But who looks every
    day and acts the first time that a 95 % interval of the change excludes 0 will sooner or later act on a stream that
    has not changed: if each look were wrong with probability 0.05, thirty independent looks are wrong at least once
    with probability :math:`1 - 0.95^{30} = 0.79`. So choose beforehand a change that matters (`rope`) and a
    probability that is enough, as ``P(risen by more than 0.01) > 0.99``; look at windows that are large enough to tell;
    and confirm an alarm with rows that came after it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> monitor = CalibrationMonitor(window="1d", target="event")
    >>> for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
    ...     confidence = rng.random(2000)
    ...     truth = confidence if day < "2026-03-03" else confidence**2
    ...     monitor = monitor.add(rng.random(2000) < truth, confidence, time=day)
    >>> monitor
    CalibrationMonitor(event, 15 equal-width bins [a, b), 6000 rows in 3 windows of 1 day, 2026-03-01 to 2026-03-03)
    >>> monitor.change(("2026-03-01", "2026-03-03"), ("2026-03-03", "2026-03-04"), rng=1).verdict()
    'The ECE has risen by more than 0.01'
    """

    def __init__(self, bins: Any = 15, *, window: Any = None, target: str = "confidence") -> None:
        _checks.one_of("target", target, TARGETS)
        # replaced and never modified, so that a batch is counted in all its windows or in none; code that reads it
        # twice may see two states, and code that replaces it must hold the lock
        self._held = WindowedCounts(make_bins(bins), target, None if window is None else Window.of(window))
        self._changing, self._saving = ProcessLock(), ProcessLock()

    @property
    def bins(self) -> Bins:
        """The edges."""
        return self._held.bins

    @property
    def window(self) -> timedelta | float | None:
        """Length of a window; None without time."""
        return None if self._held.window is None else self._held.window.given

    @property
    def target(self) -> str:
        """The question that outcome and confidence answer, as for `evaluate`."""
        return self._held.target

    @property
    def n_rows(self) -> int:
        """Number of rows in all windows that are held."""
        return sum(counts.n_rows for counts in self._held.counts.values())

    @property
    def windows(self) -> Mapping[Start, BinnedCounts]:
        """Counts by the first moment of their window, in order; windows without rows are not there.

        First moments are what the times were: numbers, or datetimes without a zone or in UTC. Without windows all rows
        are under None.
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
        """A monitor is something, also before its first batch."""
        return True

    def add(self, outcome: Any, confidence: Any, *, time: Any = None, weights: Any = None) -> "CalibrationMonitor":
        """Count a batch; one that is refused leaves the monitor as it was.

        Parameters
        ----------
        outcome : array-like of {0, 1} or bool, shape (n_rows,)
            What happened.
        confidence : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        time : number, datetime, datetime64, str or array-like, shape (n_rows,)
            When: one time for the batch, or one a row. Needed if there are windows. A string is one time, as
            ``"2026-03-01T06:00"``. Naive times, times with a zone and numbers cannot be mixed.
        weights : array-like, shape (n_rows,), optional
            Importance weights >= 0.

        Returns
        -------
        CalibrationMonitor
            The monitor itself.

        Raises
        ------
        ValueError, TypeError
            For columns that `BinnedCounts.from_arrays` refuses; if times are missing, of another kind than before, or
            in a window that was forgotten.
        """
        if len(np.shape(confidence)) == 2 and np.shape(confidence)[1] > 1:
            raise ValueError(
                f"`confidence` must be one number a row; its shape is {np.shape(confidence)}. Of a matrix of "
                "probabilities, `monitor.add_predictions(Predictions.from_labels(y_true, y_prob), time=...)`."
            )
        same_rows({"outcome": outcome, "confidence": confidence, "weights": weights, "time": time})
        predictions = Predictions.from_outcomes(outcome, confidence, weights, target=self.target)
        return self.add_predictions(predictions, time=time)

    def add_predictions(self, predictions: Predictions, *, time: Any = None) -> "CalibrationMonitor":
        """Count checked rows, as from `Predictions.from_labels`.

        Parameters
        ----------
        predictions : Predictions
            The rows; their target must be the monitor's.
        time
            As for `add`.

        Returns
        -------
        CalibrationMonitor
            The monitor itself.
        """
        return self._add(self._held.batch(predictions, time))

    def add_counts(self, counts: BinnedCounts, *, time: Any = None) -> "CalibrationMonitor":
        """Add rows that were counted elsewhere, all of one window.

        Parameters
        ----------
        counts : BinnedCounts
            Counts on the monitor's bins, with its target.
        time : number, datetime, datetime64 or str
            When; needed if there are windows.

        Returns
        -------
        CalibrationMonitor
            The monitor itself.

        Raises
        ------
        ValueError, TypeError
            If bins or target differ, or as for `add`.
        """
        return self._add(self._held.batch_of_counts(counts, time))

    def counts(self, start: Any = None, end: Any = None) -> BinnedCounts:
        """Counts of the windows in [start, end).

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            Where windows begin; by default the first and beyond the last. `end` itself is not included.

        Returns
        -------
        BinnedCounts
            Their sum; of no rows where no window has any.

        Raises
        ------
        ValueError, TypeError
            If a bound lies within a window (the nearest bounds are named), or `end` is not after `start`.
        """
        held = self._held
        return held.total(held.between(start, end))

    def evaluate(self, start: Any = None, end: Any = None, **options: Any) -> Evaluation:
        """Posterior of the ECE of the windows in [start, end).

        Parameters
        ----------
        start, end
            As for `counts`.
        **options
            As for `evaluate_counts`: model, draws, rng, and options of the model.

        Returns
        -------
        Evaluation
            The posterior with its reference points.

        Raises
        ------
        ValueError, TypeError
            As for `counts`; also if there are no rows.
        """
        held = self._held
        return evaluate_one(held.total_of_rows(held.between(start, end), "[start, end)"), **options)

    def track(self, start: Any = None, end: Any = None, *, rng: Any = None, **options: Any) -> GroupedEvaluation:
        """Posterior of the ECE of every window in [start, end), for a table or `plot_forest`.

        Parameters
        ----------
        start, end
            As for `counts`.
        rng : None, int, SeedSequence or Generator
            Randomness, as for `numpy.random.default_rng`.
        **options
            As for `evaluate_counts`.

        Returns
        -------
        GroupedEvaluation
            One evaluation a window, by its first moment, beside that of all rows.

        Raises
        ------
        ValueError, TypeError
            As for `evaluate`.
        """
        held = self._held
        held.require_windows("`track` needs windows")
        chosen = held.between(start, end)
        overall = held.total_of_rows(chosen, "[start, end)")
        labels, counts = [held.start(k) for k in chosen], [held.counts[k] for k in chosen]
        return evaluate_groups(labels, counts, overall, name="window", rng=rng, **options)

    def change(
        self,
        reference: Span | BinnedCounts | None = None,
        now: Span | None = None,
        *,
        rope: float = 0.01,
        rng: Any = None,
        **options: Any,
    ) -> Change:
        """Posterior of the change of the ECE from a reference to now.

        Parameters
        ----------
        reference : (start, end) or BinnedCounts, optional
            Windows to compare with, as bounds for `counts`, or counts of other rows, as of the test set. By default all
            windows before `now`.
        now : (start, end), optional
            By default the last window that has rows.
        rope : float, default 0.01
            Half-width of what counts as no change, in units of the ECE. Choose it before you look.
        rng : None, int, SeedSequence or Generator
            Randomness, as for `numpy.random.default_rng`.
        **options
            As for `evaluate_counts`.

        Returns
        -------
        Change
            A comparison of ``"now"`` with ``"reference"``; print it. Of repeated looks see the notes of the class.

        Raises
        ------
        ValueError, TypeError
            If the two overlap or one has no rows; as for `counts`.
        """
        width = checked_rope(rope)
        counts, spans = self._held.now_and_reference(now, reference)
        *seeds, order = (int(s) for s in _checks.generator(rng).integers(2**63, size=3))
        drawn = {name: evaluate_one(counts[name], rng=s, **options) for name, s in zip(counts, seeds, strict=True)}
        return Change(drawn, None, width, order, spans)

    def forget(self, before: Any) -> "CalibrationMonitor":
        """Drop the windows before a moment, to keep the state small; rows of that time are refused from then on.

        Parameters
        ----------
        before : number, datetime, datetime64 or str
            Where a window begins; it and all later ones stay.

        Returns
        -------
        CalibrationMonitor
            The monitor itself.

        Raises
        ------
        ValueError, TypeError
            As for `counts`.
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
        """Write the state to a small JSON file, whole or not at all; also a process that is killed leaves no half file.

        Parameters
        ----------
        path : str or Path
            The file; one that exists is replaced in one step.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        OSError
            If the folder is missing or cannot be written to.
        """
        with self._saving:  # prevents an older state from replacing a newer one
            return _files.write_atomically(path, _files.document_text(self._held.document()))

    @classmethod
    def load(cls, path: str | Path) -> "CalibrationMonitor":
        """Read what `save` wrote: this worker's before a restart, or another's to be added.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        CalibrationMonitor
            Equal to the one that was saved.

        Raises
        ------
        OSError, ValueError
            As for `load_counts`.
        """
        document = _files.read_document(path, SCHEMA, [WITHOUT_LOSSES])
        try:
            return cls._of(WindowedCounts.from_document(document))
        except (ValueError, TypeError) as problem:
            raise ValueError(f"'{path}': {problem}") from problem

    def sheet(self) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data."""
        held = self._held
        rows = []
        for k in sorted(held.counts)[-PRINTED:]:
            seen = observed_bins(held.counts[k])
            numbers = ((seen.mass * seen.accuracy).sum(), (seen.mass * seen.confidence).sum(), ece(seen).values[0])
            name = "all rows" if held.window is None else held.said(k)
            rows.append([name, str(held.counts[k].n_rows), *(_render.number(float(x)) for x in numbers)])
        more = len(held.counts) - len(rows)
        remarks = [f"{more} earlier window{'s are' if more > 1 else ' is'} not shown."] if more else []
        return _render.Sheet(f"Calibration monitor: {held}.", self.spec, HEADER, rows, remarks)

    @property
    def spec(self) -> str:
        """Target and bins, on one line."""
        return f"{self.target}, {self.bins}"

    def __repr__(self) -> str:
        return f"CalibrationMonitor({self.spec}, {self._held})"

    @classmethod
    def _of(cls, held: WindowedCounts) -> "CalibrationMonitor":
        made = cls()
        made._held = held
        return made

    def _add(self, batch: WindowedCounts) -> "CalibrationMonitor":
        return self._change(lambda held: held.with_batch(batch))

    def _change(self, change: Callable[[WindowedCounts], WindowedCounts]) -> "CalibrationMonitor":
        with self._changing:
            held = None
            while held is not self._held:  # a signal handler may add in the midst of a change, which is made again then
                held = self._held
                changed = change(held)
            self._held = changed
        return self
