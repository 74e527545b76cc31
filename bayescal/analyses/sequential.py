"""Sequential tests of a stream: counts by window -> e-processes and a confidence sequence of the ECE."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.times import Start
from bayescal.estimands.confidence_sequence import ece_intervals, log_marginals
from bayescal.estimands.eprocess import Mixture, blocks, calibration_e_values, change_e_values, score_scale
from bayescal.estimands.normal_scores import hypergeometric_scores
from bayescal.results.confidence_sequence import ConfidenceSequence
from bayescal.results.evidence import Evidence
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.windowed import WindowedCounts

Floats = NDArray[np.float64]


class SequentialTests:
    """Methods of a monitor that stay valid however often one looks.

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
        rng: Any = 0,
    ) -> Evidence:
        """Evidence against exact calibration, or against no change since a reference, after each window.

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            Starts of windows; by default the first window and the end of the last one. `end` is not included. Choose
            `start` without looking at outcomes after it.
        reference : (start, end) or BinnedCounts, optional
            Bounds of the windows of a reference, or counts of other rows, such as the test set. The hypothesis is then
            that in each bin the rows of the reference and those after it are exchangeable, whatever their accuracies.
            By default the hypothesis is exact calibration.
        level : float, default 0.05
            Probability of a false alarm, at most: an alarm is raised at 1 / `level`.
        rng : None, int, SeedSequence or Generator, default 0
            Randomness that breaks ties between counts, if there is a reference. With the same integer, the same windows
            have the same values at every call. Use no other value on the next look: the first alarm over several values
            is more often false.

        Returns
        -------
        Evidence
            An e-process with one value per window, the alarm, and a sentence. Without windows in the span, it is empty.

        Raises
        ------
        ValueError
            If the monitor has no windows or rows have weights, `level` is not strictly between 0 and 1, or the
            reference has no rows or no end; as for `counts`.
        TypeError
            If `reference` is neither a pair of bounds nor counts.

        Notes
        -----
        A window must be complete: look at it only when all its rows have arrived, or exclude it by `end`. Rows without
        labels must not be more frequent for one of the outcomes.

        Examples
        --------
        >>> import bayescal as bc
        >>> rng = np.random.default_rng(1)
        >>> confidence, time = rng.random(8000), np.arange(8000)
        >>> truth = np.where(time < 6000, confidence**1.5, confidence)
        >>> monitor = bc.CalibrationMonitor(window=1000)
        >>> monitor = monitor.add(rng.random(8000) < truth, confidence, time=time)
        >>> monitor.evidence().alarm, monitor.evidence(reference=(0, 4000)).alarm
        (0, 6000)
        """
        level = _checks.fraction("level", level)
        held = self._held
        held.require_windows("`evidence` needs windows")
        if reference is None:
            chosen = held.between(start, end)
            values = _calibration(_Stacked(held, chosen))
            return _evidence(held, chosen, values, level, "exact calibration", [])
        before, bound, words = _reference(held, reference)
        chosen = held.between(start, end)
        used = chosen if bound is None else [k for k in chosen if k >= bound]
        seed = int(_checks.generator(rng).integers(2**63))
        values = _change(_Stacked(held, used), used, before, seed)
        hypothesis = f"no change since the reference {words}"
        return _evidence(held, used, values, level, hypothesis, _notes(held, chosen, used, before))

    @property
    def alarm(self) -> Start:
        """Start of the window in which the evidence against exact calibration reached 20, or None; see `evidence`."""
        return self.evidence().alarm

    def confidence_sequence(self, start: Any = None, end: Any = None, *, level: float = 0.05) -> ConfidenceSequence:
        """Intervals of the ECE of all rows up to each window, valid however often one looks.

        Parameters
        ----------
        start, end : number, datetime, datetime64 or str, optional
            As for `evidence`. Rows before `start` are not used.
        level : float, default 0.05
            Probability that any of the intervals misses its ECE, at most.

        Returns
        -------
        ConfidenceSequence
            One interval per window, and the first window after which the ECE is known to be above or below a limit.

        Raises
        ------
        ValueError
            If the monitor has no windows, there are no rows or rows have weights, or `level` is not strictly between 0
            and 1; as for `counts`.

        Notes
        -----
        The intervals assume that accuracies of bins are constant. After a change, begin anew with `start`.

        Examples
        --------
        >>> import bayescal as bc
        >>> rng = np.random.default_rng(1)
        >>> confidence = rng.random(8000)
        >>> monitor = bc.CalibrationMonitor(window=1000)
        >>> monitor = monitor.add(rng.random(8000) < confidence**2, confidence, time=np.arange(8000))
        >>> monitor.confidence_sequence().above(0.02)
        0
        """
        level = _checks.fraction("level", level)
        held = self._held
        held.require_windows("`confidence_sequence` needs windows")
        chosen = held.between(start, end)
        held.total_of_rows(chosen, "[start, end)")  # raises if there are none
        rows = _Stacked(held, chosen).cumulative()
        marginals = log_marginals(rows.n, rows.k, held.bins.midpoints, rows.mean_confidence)
        parts = [_intervals(rows, marginals, part, level) for part in blocks(rows.n.shape)]
        low, high = np.concatenate(parts, axis=1)
        gaps = np.abs(rows.k - rows.n * np.where(rows.n > 0, rows.mean_confidence, 0.0)).sum(axis=1)
        total = rows.n.sum(axis=1)
        windows = tuple(held.start(k) for k in chosen)
        return ConfidenceSequence(
            windows, total.astype(np.int64), gaps / total, low, high, level, _question(held, chosen), _forgotten(held)
        )


def _intervals(rows: "_Stacked", marginals: Floats, part: slice, level: float) -> Floats:
    return ece_intervals(rows.n[part], rows.k[part], rows.mean_confidence[part], marginals[part], level)


class _Stacked:
    """Counts of windows as arrays of shape (n_windows, n_bins)."""

    def __init__(self, held: WindowedCounts, chosen: list[int]) -> None:
        counts = [held.counts[k] for k in chosen]
        _refuse_weights(counts, [f"window {held.said(k)}" for k in chosen])
        shape = (len(counts), len(held.bins))
        self.n, self.k, self.mean_confidence = (
            np.array([getattr(each, name) for each in counts], dtype=np.float64).reshape(shape)
            for name in ("n", "k", "mean_confidence")
        )

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.n, self.k, self.mean_confidence

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
            f"sequential tests need rows without weights, because they bet on single outcomes; {len(weighted)} of "
            f"{len(counts)} have weights, first {weighted[0]}. Use `track` and `change`, or a monitor without weights."
        )


def _calibration(rows: _Stacked) -> Floats:
    """Return log values of the e-process against exact calibration."""
    mixture, values = Mixture.start(rows.n.shape[1]), [np.zeros(0)]
    for part in blocks(rows.n.shape):
        mixture, block = mixture.after(calibration_e_values(*(each[part] for each in rows.arrays)))
        values.append(block)
    return np.concatenate(values)


def _change(rows: _Stacked, numbers: list[int], reference: BinnedCounts, seed: int) -> Floats:
    """Return log values of the e-process against exchangeability with a reference."""
    centre = np.where(reference.occupied, reference.mean_confidence, reference.bins.midpoints)
    all_n, all_k = (of + per.cumsum(axis=0) for of, per in ((reference.n, rows.n), (reference.k, rows.k)))
    mixture, values = Mixture.start(len(centre)), [np.zeros(0)]
    for part in blocks(rows.n.shape):
        n, k, up_to, of_one = (each[part] for each in (rows.n, rows.k, all_n, all_k))
        before = up_to - n
        u = _uniform(seed, numbers[part], len(centre))
        both = (n > 0) & (before > 0)
        z = np.zeros_like(n)
        z[both] = hypergeometric_scores(k[both], n[both], of_one[both], up_to[both], u[both])
        scale = np.where(both, score_scale(n, before, centre), 0.0)
        mixture, block = mixture.after(change_e_values(z, scale, centre))
        values.append(block)
    return np.concatenate(values)


def _uniform(seed: int, numbers: list[int], n_bins: int) -> Floats:
    """Return uniform numbers, which depend only on the seed and on the number of their window."""
    generators = (
        np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, number % 2**64])) for number in numbers
    )
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
    return counts, held.bound("reference", end), held.said_span(chosen)


def _evidence(
    held: WindowedCounts, chosen: list[int], values: Floats, level: float, hypothesis: str, notes: list[str]
) -> Evidence:
    windows = tuple(held.start(k) for k in chosen)
    n_rows = np.array([held.counts[k].n_rows for k in chosen], dtype=np.int64)
    notes = [*_forgotten(held), *notes]
    return Evidence(windows, n_rows, values, level, hypothesis, _question(held, chosen), tuple(notes))


def _question(held: WindowedCounts, chosen: list[int]) -> str:
    n_rows = sum(held.counts[k].n_rows for k in chosen)
    span = f" {held.said_span(chosen)}" if chosen else ""
    return f"{len(chosen)} windows of {held.window}{span}, N = {n_rows}: {held.target}, {held.bins}"


def _forgotten(held: WindowedCounts) -> tuple[str, ...]:
    if held.forgotten is None:
        return ()
    return (
        f"The windows before {held.said(held.forgotten)} are forgotten, so that the evidence begins after them: each "
        "such beginning has the stated probability of error.",
    )


def _notes(held: WindowedCounts, chosen: list[int], used: list[int], reference: BinnedCounts) -> list[str]:
    """Return remarks on the rows that a test of change leaves out, and on its power."""
    notes, left_out = [], len(chosen) - len(used)
    if left_out:
        notes.append(f"{left_out} windows of the reference or before its end are not tested.")
    n_rows = sum(held.counts[k].n_rows for k in used)
    apart = sum(int(held.counts[k].n[reference.n == 0].sum()) for k in used)
    if apart:
        notes.append(
            f"{apart} of {n_rows} rows lie in bins without rows of the reference; they are compared with earlier "
            "windows only."
        )
    if n_rows > reference.n_rows:
        notes.append(
            f"Each window is compared with all rows before it; of these, {reference.n_rows} are the reference. Slow "
            "changes become part of the comparison and may raise no alarm."
        )
    return notes
