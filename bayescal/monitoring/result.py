"""Results of a monitor: the change since a baseline, evidence with its alarm, and intervals of the ECE."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Bools, Floats, Ints, pd
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.data.times import Start, in_code, in_words
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.comparable import P_SURE
from bayescal.results.comparison import Compared

CHANGE_HEADER = ("", "n", "mean", "sd", "2.5 %", "97.5 %")
NOW, BASELINE = "now", "baseline"
#: Maximum number of windows that are printed, the last ones.
PRINTED_WINDOWS = 10
EVIDENCE_HEADER = ("window", "n", "e-value", "P-value")
EVIDENCE_COLUMNS = text_of("columns of evidence")
#: What the absence of an alarm does not show, for exact calibration and for a change.
NOT_CALIBRATED = text_of("no alarm of calibration")
NOT_UNCHANGED = text_of("no alarm of change")
#: E-values between 1 / LARGE_E_VALUE and LARGE_E_VALUE are printed without a power of ten.
LARGE_E_VALUE = 1e5
SEQUENCE_HEADER = ("window", "rows so far", "plug-in ECE", "low", "high")


@public
@dataclass(frozen=True, eq=False, repr=False)
class Change(Compared):
    """The posterior of the change of an estimand between a baseline and now.

    Returned by `CalibrationMonitor.change`. Its names are ``"now"`` and ``"baseline"``, in this order, so
    ``change.difference()`` is the value of now minus that of the baseline: positive if the error has grown. It has the
    methods of a `Comparison`, and `plot_comparison` takes it.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        The evaluations of now and of the baseline.
    pairs : None
        The two periods have no row in common.
    rope : float
        Half-width of the region of practical equivalence, in units of the estimand.
    order_seed : int
        Seed with which draws are reordered to become joint draws.
    spans : dict of str to str
        The time span of each period in words.
    """

    spans: dict[str, str]

    axis = "period"

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """Return the result in words, with its direction.

        It states the verdict, the change with its interval, and the probabilities of a rise, equality and a fall.
        """
        change = self._compared_difference(NOW, BASELINE, estimand)
        mean, low, high = _render.numbers(change.mean(), *change.interval(prob), least=3)
        decided = self.decide(estimand=estimand)
        numbers = f"now minus baseline {mean}, {100 * prob:g} % credible interval {low} to {high}"
        shares = "; ".join(
            f"{words} {_render.probability(decided[key])}" for key, words in self._outcomes(estimand).items()
        )
        return f"{self.verdict(estimand=estimand)} ({numbers}; {shares})."

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """Return the beginning of `sentence`, without numbers, for a title."""
        words = self.quantity(estimand)
        decided = self.decide(estimand=estimand)
        if decided["p_rope"] >= P_SURE:
            return f"The {words} is practically unchanged"
        by_more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        if decided[risen] >= P_SURE:
            return f"The {words} has risen{by_more}"
        if decided[fallen] >= P_SURE:
            return f"The {words} has fallen{by_more}"
        if decided["p_rope"] <= 1 - P_SURE:
            return f"It is uncertain whether the {words} has risen or fallen{by_more}"
        return f"It is uncertain whether the {words} has changed{by_more}"

    @property
    def spec(self) -> str:
        """Rows, target, bins and model, on one line."""
        return self._specification("ece")

    def _specification(self, estimand: EstimandLike) -> str:
        periods = ", against ".join(
            f"{name} {self.spans[name]}, N = {each.counts.n_rows}" for name, each in self.evaluations.items()
        )
        now = self.evaluations[NOW]
        quantity = as_estimand(estimand).of_target(now.counts.target)
        return f"{periods}: {quantity}, {now.counts.bins}, {now.model} model, rope {self.rope:g}"

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = []
        for name in reversed(self.names):
            evaluation = self[name]
            first = [f"{name} {self.spans[name]}", str(evaluation.counts.n_rows)]
            rows.append([*first, *_cells(evaluation.draws(estimand))])
        label = "size now - size baseline" if self._signed(estimand) else "now - baseline"
        rows.append([label, "", *_cells(self._compared_difference(NOW, BASELINE, estimand))])
        return _render.Sheet(
            self.sentence(estimand=estimand), self._specification(estimand), CHANGE_HEADER, rows, self.remarks
        )

    @staticmethod
    def _directions(estimand: EstimandLike) -> tuple[str, str]:
        """Return the keys of `decide` for a rise and for a fall. A rise is worse, unless larger values are better."""
        keys = ("p_right", "p_left")
        return keys[::-1] if as_estimand(estimand).better == "larger" else keys

    def _outcomes(self, estimand: EstimandLike) -> dict[str, str]:
        """Return the words for the probabilities of `decide`."""
        more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        return {risen: f"P(risen{more})", "p_rope": f"P(equal within {self.rope:g})", fallen: f"P(fallen{more})"}


def _cells(draws: Draws) -> list[str]:
    """Return mean, standard deviation and 95 % interval."""
    return _render.numbers(draws.mean(), draws.sd(), *draws.interval(0.95))


@dataclass(frozen=True, eq=False, repr=False)
class OfWindows(_presented.Presented):
    """A result after each window of a stream; each kind has further columns."""

    windows: tuple[Start, ...]
    n_rows: Ints

    _index = ("window",)

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.windows)

    def _by_window(self, *columns: Floats) -> list[dict[str, Any]]:
        rows = zip(self.windows, *(column.tolist() for column in (self.n_rows, *columns)), strict=True)
        return [dict(zip(("window", *self._columns), row, strict=True)) for row in rows]


def not_shown(more: int) -> list[str]:
    """Return the remark on earlier windows that are not printed; empty if there are none."""
    return [f"{more} earlier window{'s are' if more > 1 else ' is'} not shown."] if more else []


@public
@dataclass(frozen=True, eq=False, repr=False)
class Evidence(OfWindows):
    r"""Evidence against a hypothesis about a stream, after each window, and the alarm that it raises.

    Returned by `CalibrationMonitor.evidence`. The values are an e-process: if the hypothesis is true, the probability
    that they *ever* reach 20 is at most 1/20, for any number of looks and any rule for stopping. An alarm at 20 is
    therefore false for at most 5 % of the streams for which the hypothesis is true. Use `raised` in an ``if``: `alarm`
    may be the window 0.

    Parameters
    ----------
    windows : tuple of number, datetime or None
        Starts of the windows, in order.
    n_rows : ndarray of int64, shape (n_windows,)
        Rows of each window.
    log_values : ndarray, shape (n_windows,)
        Natural logarithm of the e-process after each window.
    level : float
        Probability of a false alarm, at most.
    reference : str or None
        The reference since which nothing has changed if the hypothesis is true, in words; None if the hypothesis is
        exact calibration.
    question : str
        Windows, rows, target and bins, in words.
    notes : tuple of str
        Remarks on rows that are not used, and on power.
    """

    log_values: Floats
    level: float
    reference: str | None
    question: str
    notes: tuple[str, ...] = ()

    _columns = ("n_rows", "value", "log_value", "p_value")
    _numbers = ("raised",)
    _quantity_name = "e_value"

    def __bool__(self) -> NoReturn:
        """Evidence is not an alarm: `raised` is."""
        raise TypeError(text_of("truth of evidence"))

    @property
    def hypothesis(self) -> str:
        """The hypothesis, in words."""
        return "exact calibration" if self.reference is None else f"no change since the reference {self.reference}"

    @property
    def title(self) -> str:
        """The hypothesis that the evidence contradicts, as a title."""
        return "Evidence against exact calibration" if self.reference is None else "Evidence of a change of calibration"

    @property
    def values(self) -> Floats:
        """The e-process after each window, shape (n_windows,); infinite above 1.8e308, see `log_values`."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_values)

    @property
    def p_values(self) -> Floats:
        """P-values, valid at any stopping time: 1 / the largest value so far, at most 1; shape (n_windows,)."""
        return np.exp(-np.maximum(np.maximum.accumulate(self.log_values), 0)) if len(self) else np.ones(0)

    @property
    def threshold(self) -> float:
        """The value that raises an alarm: 1 / `level`."""
        return 1 / self.level

    @property
    def alarm(self) -> Start:
        """Start of the first window after which the value is at least `threshold`; None if there is none.

        The start may be 0, so test `raised`, or ``alarm is not None``.
        """
        first = self._first_alarm()
        return None if first is None else self.windows[first]

    @property
    def raised(self) -> bool:
        """Whether there is an alarm."""
        return self._first_alarm() is not None

    def _first_alarm(self) -> int | None:
        # the tolerance is far above rounding errors and far below evidence
        reached = np.flatnonzero(self.log_values >= np.log(self.threshold) - 1e-12)
        return int(reached[0]) if len(reached) else None

    def table(self) -> list[dict[str, Any]]:
        """Return the evidence as data: one dict per window.

        Keys are window (its start), n_rows, value, log_value (natural logarithm) and p_value.
        """
        return self._by_window(self.values, self.log_values, self.p_values)

    def sentence(self) -> str:
        """State whether there is an alarm, the evidence, and the guarantee of the threshold.

        It names the first window with an alarm and the values then and now, or the last and the largest value.
        """
        if not len(self):
            after = "" if self.reference is None else f" after the reference {self.reference}"
            return f"There are no windows to test{after}, and therefore no evidence."
        now, most = in_e_words(self.log_values[-1]), in_e_words(self.log_values.max())
        first, limit = self._first_alarm(), f"{self.threshold:g}"
        evidence, otherwise = self._claim()
        if first is None:
            largest = "" if now == most else f" (largest so far: {most})"
            windows = f"{len(self)} window{'s' * (len(self) > 1)}"
            return f"No alarm after {windows}: {evidence} is {now}{largest}; an alarm is raised at {limit}."
        then = in_e_words(self.log_values[first])
        later = f"; it is {now} now" if first < len(self) - 1 else ""
        return (
            f"Alarm in the window {in_words(self.alarm)}: {evidence} reached {then}{later}. {otherwise}, the "
            f"probability that it ever reaches {limit} would be at most {self.level:g}."
        )

    def _claim(self) -> tuple[str, str]:
        """Return the evidence with its hypothesis, and the hypothesis as a condition."""
        if self.reference is None:
            return (
                "the evidence that outcomes differ from the predicted probabilities",
                "If these probabilities were exact",
            )
        return (
            f"the evidence that accuracies of bins have changed since the reference {self.reference}",
            "If they had not changed",
        )

    @property
    def spec(self) -> str:
        """Hypothesis, windows, rows, target and bins, on one line."""
        return f"e-process against {self.hypothesis}, {self.question}, alarm at {self.threshold:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows that are not used, on power, and on the meaning of an alarm or of none."""
        return (*self.notes, self._meaning()) if len(self) else self.notes

    def _meaning(self) -> str:
        """Return the limits of an alarm, or of its absence, and the method that goes further."""
        first = self._first_alarm()
        if first is None:
            return NOT_CALIBRATED if self.reference is None else NOT_UNCHANGED
        later = self.windows[first + 1 : first + 2]
        start = in_code(later[0]) if later else "..."
        if self.reference is None:
            return (
                "An alarm is evidence against exact calibration; it does not state the size of the error. For the size "
                f"after the alarm, use `monitor.confidence_sequence(start={start})`."
            )
        return text_of("size of a change", start=start)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        shown = range(0 if whole else max(len(self) - PRINTED_WINDOWS, 0), len(self))
        p_values = self.p_values
        rows = [
            [in_words(self.windows[i]), str(self.n_rows[i]), in_e_words(self.log_values[i]), f"{p_values[i]:.2g}"]
            for i in shown
        ]
        remarks, notes = (*not_shown(len(self) - len(rows)), *self.remarks), [EVIDENCE_COLUMNS] * bool(rows)
        return _render.Sheet(self.sentence(), self.spec, EVIDENCE_HEADER, rows, remarks, notes)


def in_e_words(log_value: float) -> str:
    """Format an e-value from its natural logarithm, which may be beyond the range of float64."""
    if abs(log_value) < np.log(LARGE_E_VALUE):
        return f"{np.exp(log_value):.3g}"
    exponent, rest = divmod(log_value / np.log(10), 1)
    mantissa = f"{10**rest:.1f}"
    return f"{mantissa}e{int(exponent):+03d}" if mantissa != "10.0" else f"1.0e{int(exponent) + 1:+03d}"


class Run(NamedTuple):
    """Successive windows whose intervals lie on one side of a limit; `first` and `last` are their indexes."""

    side: str
    first: int
    last: int


@public
@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSequence(OfWindows):
    """Anytime-valid intervals of the ECE of all rows up to each window.

    Returned by `CalibrationMonitor.confidence_sequence`. If the accuracies of the bins do not change, all intervals
    contain the ECE of the rows up to their window with probability at least `prob`, all at once. So one may look after
    every window and stop as soon as an interval lies above or below a limit.

    Parameters
    ----------
    windows, question
        As for `Evidence`.
    n_rows : ndarray of int64, shape (n_windows,)
        Rows up to the end of each window.
    plug_in : ndarray, shape (n_windows,)
        Plug-in ECE of these rows.
    low, high : ndarray, shape (n_windows,)
        Ends of the intervals.
    prob : float
        Probability that all intervals contain their ECE, at least.
    notes : tuple of str
        Remarks on rows that are not used.
    """

    plug_in: Floats
    low: Floats
    high: Floats
    prob: float
    question: str
    notes: tuple[str, ...] = ()

    _columns = ("n_rows", "plug_in", "low", "high")
    _quantity_name = "ece"

    @property
    def interval(self) -> tuple[float, float]:
        """The interval after the last window."""
        return float(self.low[-1]), float(self.high[-1])

    def above(self, limit: float) -> Start:
        """Start of the first window whose interval lies above a limit; later intervals may not.

        If accuracies change, or the shares of the bins do, the ECE of the rows so far changes too. The last interval is
        `interval`.

        It is None if no interval lies above the limit. The start may be 0, so compare it with None.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1); others raise an error.
        """
        return self._first(self.low > _limit(limit))

    def below(self, limit: float) -> Start:
        """Start of the first window whose interval lies below a limit; as for `above`, later intervals may not.

        It is None if no interval lies below the limit. The start may be 0, so compare it with None.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1).
        """
        return self._first(self.high < _limit(limit))

    def _first(self, flags: Bools) -> Start:
        positions = np.flatnonzero(flags)
        return self.windows[int(positions[0])] if len(positions) else None

    def table(self) -> list[dict[str, Any]]:
        """Return the intervals as data: one dict per window.

        Keys are window (its start), n_rows (up to its end), plug_in, low and high.
        """
        return self._by_window(self.plug_in, self.low, self.high)

    def to_frame(self, prob: float | None = None, **options: Any) -> "pd.DataFrame":
        """Return the table as a pandas DataFrame, with numbers that are not rounded.

        The index is window; columns are n_rows, plug_in, low and high, the ends of the confidence sequence.

        Parameters
        ----------
        prob : float, optional
            Not needed: the probability of the intervals. Another one than that of the sequence raises an error.
        **options
            None.

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

        Each is "above" or "below", and the indexes of the first and the last window, in order.

        Parameters
        ----------
        limit : float
            A value of the ECE, in [0, 1); others raise an error.
        """
        limit = _limit(limit)
        side = (self.low > limit).astype(np.int64) - (self.high < limit)
        first = np.flatnonzero(np.diff(side, prepend=2))
        last = np.append(first[1:], len(side)) - 1
        sides = zip(side[first].tolist(), first.tolist(), last.tolist(), strict=True)
        return [Run("above" if sign > 0 else "below", *ends) for sign, *ends in sides if sign]

    def sentence(self) -> str:
        """Return the last interval in words.

        It states the interval, the number of rows, and the probability with which all intervals hold.
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
            for row in self.table()[0 if whole else -PRINTED_WINDOWS :]
        ]
        remarks = (*not_shown(len(self) - len(rows)), *self.remarks)
        return _render.Sheet(self.sentence(), self.spec, SEQUENCE_HEADER, rows, remarks)


def _limit(limit: Any) -> float:
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"`limit` must be a number in [0, 1), not {_checks.quoted(limit)}.{_checks.of_percent(limit)}")
    return _checks.fraction("limit", limit, or_zero=True)
