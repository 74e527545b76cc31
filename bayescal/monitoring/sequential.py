"""Sequential tests of a stream: counts by window -> e-processes and a confidence sequence of the ECE."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal._texts import text_of
from bayescal.data.times import Start
from bayescal.monitoring import statistics
from bayescal.monitoring.result import ConfidenceSequence, Evidence
from bayescal.monitoring.windowed import WindowedCounts
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters

#: Hints of errors about arguments.
BOUNDS = "`start` and `end` are bounds of the windows that are tested; a reference is `reference=(start, end)`."
LEVEL = "`level` is the probability of a false alarm, such as 0.05: an alarm is raised at 1 / `level`."
PROB = "`prob` is the probability that all intervals contain the ECE, such as 0.95."


class SequentialTests:
    """Anytime-valid methods of a monitor, which may be called after every window.

    The results are functions of the counts by window, so that no state is stored: the order in which batches arrive
    within a window, workers whose monitors are added, and restarts do not matter.
    """

    _held: WindowedCounts

    def evidence(
        self,
        start: Any = None,
        end: Any = None,
        *,
        reference: tuple[Any, Any] | BinnedCounts | None = None,
        level: float = 0.05,
        rng: int | np.random.SeedSequence | None = None,
    ) -> Evidence:
        """Evidence against exact calibration, or against no change since a reference, after each window.

        It is an e-process with one value per window, the alarm, and a sentence. Without windows there, it is empty.

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            Starts of windows; by default the first window and the end of the last one. `end` is not included. Choose
            `start` without looking at outcomes after it.
        reference : (start, end) or BinnedCounts, optional
            Bounds of the windows of a reference, or counts of OTHER rows, such as the test set; choose it without
            looking at outcomes after it. For windows of this monitor, pass their bounds: counts of them would be
            compared with themselves. The hypothesis is then that in each bin the rows of the reference and those after
            it are exchangeable, whatever their accuracies. By default the hypothesis is exact calibration.
        level : float, default 0.05
            Probability of a false alarm, at most, for one stream and one hypothesis; below 0.5. An alarm is raised at
            1 / `level`. For m streams or hypotheses together, pass 0.05 / m.
        rng : None, int or SeedSequence, optional
            Seed of the random numbers that break ties between counts, if there is a reference. The same windows have
            the same values at every call; None is the seed 0. Use no other seed on the next look: the first alarm over
            several seeds is more often false. For the same reason a Generator is refused, since it changes with every
            call.

        Raises
        ------
        ValueError
            If the monitor has no windows, rows have weights or the target is "classwise", `level` is not strictly
            between 0 and 0.5, or the reference has no rows or no end; as for `counts`.
        TypeError
            If `reference` is neither a pair of bounds nor counts, or `rng` is a Generator.

        Notes
        -----
        A window must be complete: look at it only when all its rows have arrived, or exclude it by `end`. Rows without
        labels must not be more frequent for one of the outcomes.

        Examples
        --------
        >>> import numpy as np
        >>> import bayescal as bc
        >>> rng = np.random.default_rng(1)
        >>> confidence, time = rng.random(8000), np.arange(8000)
        >>> truth = np.where(time < 6000, confidence**1.5, confidence)
        >>> monitor = bc.monitoring.CalibrationMonitor(window=1000)
        >>> monitor = monitor.add(rng.random(8000) < truth, confidence, time=time)
        >>> monitor.evidence().alarm, monitor.evidence(reference=(0, 4000)).alarm
        (0, 6000)
        """
        level, seed = _checks.fraction("level", level), _seed(rng)
        if level >= 0.5:
            raise ValueError(
                f"`level` must be below 0.5, not {level:g}. {LEVEL} The probability of intervals, such as 0.95, is "
                "`prob` of `confidence_sequence`."
            )
        if isinstance(start, tuple | list | BinnedCounts):
            raise TypeError(f"`start` must be one bound, not {_checks.quoted(start)}. {BOUNDS}")
        held = self._held
        held.require_windows("`evidence` needs windows")
        _refuse_classwise(held)
        if reference is None:
            chosen = held.between(start, end)
            values = _calibration(_Stacked(held, chosen), held.bins.midpoints)
            return _evidence(held, chosen, values, level, None, [])
        before, bound, words = _reference(held, reference)
        chosen = held.between(start, end)
        used = chosen if bound is None else [k for k in chosen if k >= bound]
        values = _change(_Stacked(held, used), used, before, seed)
        return _evidence(held, used, values, level, words, _notes(held, chosen, used, before))

    @property
    def alarm(self) -> Start:
        """Start of the window in which the evidence against exact calibration reached 20, or None; see `evidence`.

        All windows are used, so the last one must be complete; ``evidence(end=...).alarm`` excludes it. The start may
        be 0: in an ``if``, write ``monitor.alarm is not None`` or ``monitor.evidence().raised``.
        """
        return self.evidence().alarm

    def confidence_sequence(self, start: Any = None, end: Any = None, *, prob: float = 0.95) -> ConfidenceSequence:
        """Compute anytime-valid intervals of the ECE of all rows up to each window.

        It has one interval per window, and the first window whose interval lies above or below a limit.

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            As for `evidence`. Rows before `start` are not used.
        prob : float, default 0.95
            Probability that all intervals contain their ECE, at least; above 0.5.

        Raises
        ------
        ValueError
            If the monitor has no windows, there are no rows or rows have weights, or `prob` is not strictly between 0.5
            and 1; as for `counts`.

        Notes
        -----
        The intervals assume that accuracies of bins are constant. After a change, begin anew with `start`.

        Examples
        --------
        >>> import numpy as np
        >>> import bayescal as bc
        >>> rng = np.random.default_rng(1)
        >>> confidence = rng.random(8000)
        >>> monitor = bc.monitoring.CalibrationMonitor(window=1000)
        >>> monitor = monitor.add(rng.random(8000) < confidence**2, confidence, time=np.arange(8000))
        >>> monitor.confidence_sequence().above(0.02)
        0
        """
        prob = _checks.fraction("prob", prob)
        if prob <= 0.5:
            raise ValueError(
                f"`prob` must be above 0.5, not {prob:g}. {PROB} The probability of a false alarm, such as 0.05, is "
                "`level` of `evidence`."
            )
        held = self._held
        held.require_windows("`confidence_sequence` needs windows")
        _refuse_classwise(held)
        chosen = held.between(start, end)
        held.total_of_rows(chosen, "[start, end)")  # raises if there are none
        rows = _Stacked(held, chosen).cumulative()
        marginals = statistics.log_marginals(rows.n, rows.k, held.bins.midpoints, rows.mean_confidence)
        n, k, mean = rows.n, rows.k, rows.mean_confidence
        parts = [
            statistics.ece_intervals(n[i], k[i], mean[i], marginals[i], 1 - prob) for i in statistics.blocks(n.shape)
        ]
        low, high = np.concatenate(parts, axis=1)
        gaps = np.abs(k - n * np.where(n > 0, mean, 0.0)).sum(axis=1)
        total = n.sum(axis=1)
        windows = tuple(held.start(k) for k in chosen)
        return ConfidenceSequence(
            windows, total.astype(np.int64), gaps / total, low, high, prob, _question(held, chosen), _forgotten(held)
        )


def _seed(rng: Any) -> int:
    """Return the seed of a test of change, which is the same at every call."""
    if isinstance(rng, Generator | np.random.BitGenerator | np.random.RandomState):
        raise TypeError(text_of("generator of sequential tests"))
    return _checks.seeds(0 if rng is None else rng, 1)[0]


def _refuse_classwise(held: WindowedCounts) -> None:
    if held.target == "classwise":
        raise ValueError(text_of("classwise sequential tests"))


class _Stacked:
    """Counts of windows as arrays of shape (n_windows, n_bins)."""

    def __init__(self, held: WindowedCounts, chosen: list[int]) -> None:
        counts = [held.counts[k] for k in chosen]
        _refuse_weights(counts, [f"window {held.start_text(k)}" for k in chosen])
        shape = (len(counts), len(held.bins))
        columns = ([getattr(each, name) for each in counts] for name in ("n", "k", "mean_confidence"))
        self.n, self.k, self.mean_confidence = (np.array(each, np.float64).reshape(shape) for each in columns)

    def cumulative(self) -> "_Stacked":
        """Change the counts of each window to those of all windows up to it."""
        sums = np.cumsum(self.n * np.where(self.n > 0, self.mean_confidence, 0.0), axis=0)
        self.n, self.k = self.n.cumsum(axis=0), self.k.cumsum(axis=0)
        self.mean_confidence = np.divide(sums, self.n, out=np.full_like(sums, np.nan), where=self.n > 0)
        return self


def _refuse_weights(counts: list[BinnedCounts], names: list[str]) -> None:
    weighted = [name for name, each in zip(names, counts, strict=True) if each.weighted]
    if weighted:
        raise ValueError(
            f"sequential tests do not support weights: each row must count once; {len(weighted)} of {len(counts)} have "
            f"weights, first {weighted[0]}. Use `track` and `change`, or a monitor without weights."
        )


def _calibration(rows: _Stacked, midpoints: Floats) -> Floats:
    """Return log values of the e-process against exact calibration."""
    mixture, values = statistics.Mixture.start(rows.n.shape[1]), [np.zeros(0)]
    for part in statistics.blocks(rows.n.shape):
        e_values = statistics.calibration_e_values(rows.n[part], rows.k[part], rows.mean_confidence[part], midpoints)
        mixture, block = mixture.after(e_values)
        values.append(block)
    return np.concatenate(values)


def _change(rows: _Stacked, numbers: list[int], reference: BinnedCounts, seed: int) -> Floats:
    """Return log values of the e-process against exchangeability with a reference."""
    centre = np.where(reference.occupied, reference.mean_confidence, reference.bins.midpoints)
    all_n, all_k = (of + per.cumsum(axis=0) for of, per in ((reference.n, rows.n), (reference.k, rows.k)))
    mixture, values = statistics.Mixture.start(len(centre)), [np.zeros(0)]
    for part in statistics.blocks(rows.n.shape):
        n, k, up_to, ones = (each[part] for each in (rows.n, rows.k, all_n, all_k))
        before = up_to - n
        u = _uniform(seed, numbers[part], len(centre))
        both = (n > 0) & (before > 0)
        z = np.zeros_like(n)
        z[both] = statistics.hypergeometric_scores(k[both], n[both], ones[both], up_to[both], u[both])
        scale = np.where(both, statistics.score_scale(n, before, centre), 0.0)
        mixture, block = mixture.after(statistics.change_e_values(z, scale, centre))
        values.append(block)
    return np.concatenate(values)


def _uniform(seed: int, numbers: list[int], n_bins: int) -> Floats:
    """Return uniform numbers, which depend only on the seed and on the number of their window."""
    # an array, because numpy would round a list with integers above 2^63 to floats
    counters = (np.array([0, 0, 0, number % 2**64], dtype=np.uint64) for number in numbers)
    generators = (Generator(np.random.Philox(key=seed, counter=counter)) for counter in counters)
    return np.array([each.random(n_bins) for each in generators]).reshape(len(numbers), n_bins)


def _reference(held: WindowedCounts, reference: Any) -> tuple[BinnedCounts, int | None, str]:
    """Return the counts of a reference, the number of the first window after it (None: all), and its name."""
    if isinstance(reference, BinnedCounts):
        refuse_clusters(reference, "reference", "a monitor")
        counts = BinnedCounts.empty(held.bins, target=held.target) + reference
        if not counts.n_rows:
            raise ValueError("`reference` has no rows; a comparison needs at least one.")
        _refuse_weights([counts], ["the reference"])
        return counts, None, "(counts)"
    chosen = held.span("reference", reference)
    _, end = reference
    if end is None:
        raise ValueError(
            f"`reference` must have an end, because its evidence comes from the windows after it; it is {reference!r}."
        )
    counts = held.total_of_rows(chosen, "`reference`")
    _refuse_weights([counts], ["the reference"])
    return counts, held.bound("reference", end)[1], held.span_text(chosen)


def _evidence(
    held: WindowedCounts, chosen: list[int], values: Floats, level: float, reference: str | None, notes: list[str]
) -> Evidence:
    windows = tuple(held.start(k) for k in chosen)
    n_rows = np.array([held.counts[k].n_rows for k in chosen], dtype=np.int64)
    notes = [*_forgotten(held), *notes]
    return Evidence(windows, n_rows, values, level, reference, _question(held, chosen), tuple(notes))


def _question(held: WindowedCounts, chosen: list[int]) -> str:
    n_rows = sum(held.counts[k].n_rows for k in chosen)
    span = f" {held.span_text(chosen)}" if chosen else ""
    return f"{held.windows_text(len(chosen))}{span}, N = {n_rows}: {held.target}, {held.bins}"


def _forgotten(held: WindowedCounts) -> tuple[str, ...]:
    if held.forgotten is None:
        return ()
    return (
        f"The windows before {held.start_text(held.forgotten)} are forgotten, so that the evidence begins after them: "
        "each such beginning has the stated probability of error.",
    )


def _notes(held: WindowedCounts, chosen: list[int], used: list[int], reference: BinnedCounts) -> list[str]:
    """Return remarks on the rows that a test of change leaves out, and on its power."""
    notes, left_out = [], len(chosen) - len(used)
    if left_out:
        notes.append(
            "1 window is not tested: it belongs to the reference or precedes its end."
            if left_out == 1
            else f"{left_out} windows are not tested: they belong to the reference or precede its end."
        )
    n_rows = sum(held.counts[k].n_rows for k in used)
    apart = sum(int(held.counts[k].n[reference.n == 0].sum()) for k in used)
    if apart:
        notes.append(
            f"{apart} of {n_rows} rows lie in bins without rows of the reference; they are compared with earlier "
            "windows only."
        )
    if n_rows > reference.n_rows:
        notes.append(
            f"Each window is compared with all rows before it; of these, {reference.n_rows} are the reference."
        )
    return notes
