"""Evidence: an e-process over the windows of a monitor, and the alarm that it raises."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayescal import _presented, _render
from bayescal._meant import public
from bayescal.data.times import Start, in_code, in_words

Floats = NDArray[np.float64]

#: Maximum number of windows that are printed, the last ones.
PRINTED = 10
HEADER = ("window", "n", "e-value", "P-value")
COLUMNS = (
    '"e-value": the evidence after the window. It begins at 1 and is not a probability. "P-value": 1 / the largest '
    "e-value so far (at most 1); valid at any stopping time."
)
#: What the absence of an alarm does not show, for exact calibration and for a change.
NOT_CALIBRATED = (
    "The absence of an alarm does not show that the classifier is calibrated. This test cannot detect errors that "
    "average out within a bin."
)
NOT_UNCHANGED = (
    "The absence of an alarm does not show that nothing has changed: slow changes may raise none, and this test cannot "
    "detect changes that average out within a bin."
)
#: E-values between 1 / LARGE and LARGE are printed without a power of ten.
LARGE = 1e5


@public
@dataclass(frozen=True, eq=False, repr=False)
class Evidence(_presented.Presented):
    r"""Evidence against a hypothesis about a stream, after each window, and the alarm that it raises.

    Returned by `CalibrationMonitor.evidence`. The values are an e-process: if the hypothesis is true, the probability
    that they *ever* reach 20 is at most 1/20, however often one looks and whenever one stops. An alarm at 20 is
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

    Examples
    --------
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> monitor = bc.CalibrationMonitor(window=1000)
    >>> confidence = rng.random(8000)
    >>> truth = np.where(np.arange(8000) < 4000, confidence, confidence**1.5)
    >>> evidence = monitor.add(rng.random(8000) < truth, confidence, time=np.arange(8000)).evidence()
    >>> evidence.raised, evidence.alarm, evidence.log_values.round(1)
    (True, 4000, array([-0.2, -0.3, -0.5, -0.7, 13.7, 37.3, 56.1, 87.1]))
    """

    windows: tuple[Start, ...]
    n_rows: NDArray[np.int64]
    log_values: Floats
    level: float
    reference: str | None
    question: str
    notes: tuple[str, ...] = ()

    _index = ("window",)
    _columns = ("n_rows", "value", "log_value", "p_value")

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.windows)

    def __bool__(self) -> NoReturn:
        """Evidence is not an alarm: `raised` is."""
        raise TypeError(
            "an Evidence is neither true nor false. Whether there is an alarm: `evidence.raised`; its window: "
            "`evidence.alarm`; the number of windows: `len(evidence)`."
        )

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

        Returns
        -------
        list of dict
            Keys window (its start), n_rows, value, log_value (natural logarithm) and p_value.
        """
        columns = (self.windows, self.n_rows.tolist(), self.values, self.log_values, self.p_values)
        names = ("window", *self._columns)
        rows = zip(*(c if isinstance(c, tuple | list) else c.tolist() for c in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(**options)

    def sentence(self) -> str:
        """The result in words: alarm or no alarm, the evidence and for what, and what the threshold guarantees.

        Returns
        -------
        str
            The first window with an alarm and the values then and now, or the last and the largest value.
        """
        if not len(self):
            after = "" if self.reference is None else f" after the reference {self.reference}"
            return f"There are no windows to test{after}, and therefore no evidence."
        now, most = in_e_words(self.log_values[-1]), in_e_words(self.log_values.max())
        first, limit = self._first_alarm(), f"{self.threshold:g}"
        evidence, otherwise = self._claim()
        if first is None:
            largest = "" if now == most else f" (largest so far: {most})"
            return f"No alarm after {_windows(len(self))}: {evidence} is {now}{largest}; an alarm is raised at {limit}."
        then = in_e_words(self.log_values[first])
        later = f"; it is {now} now" if first < len(self) - 1 else ""
        return (
            f"Alarm in the window {in_words(self.alarm)}: {evidence} reached {then}{later}. {otherwise}, the "
            f"probability that it ever reaches {limit} would be at most {self.level:g}."
        )

    def _claim(self) -> tuple[str, str]:
        """Return the evidence and what it is for, and the hypothesis as a condition."""
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
        """Return what an alarm, or its absence, does not show, and the method that does."""
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
        return (
            "An alarm is evidence of a change; it does not state its size. For the size, use "
            "`monitor.change(baseline=..., now=...)`. A confidence sequence over all windows is not valid after a "
            f"change; begin one after the alarm, with `monitor.confidence_sequence(start={start})`."
        )

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        shown = range(0 if whole else max(len(self) - PRINTED, 0), len(self))
        p_values = self.p_values
        rows = [
            [in_words(self.windows[i]), str(self.n_rows[i]), in_e_words(self.log_values[i]), f"{p_values[i]:.2g}"]
            for i in shown
        ]
        more = len(self) - len(rows)
        earlier = [f"{more} earlier window{'s are' if more > 1 else ' is'} not shown."] if more else []
        return _render.Sheet(
            self.sentence(), self.spec, HEADER, rows, (*earlier, *self.remarks), [COLUMNS] * bool(rows)
        )


def in_e_words(log_value: float) -> str:
    """Format an e-value from its natural logarithm, which may be beyond the range of float64.

    Examples
    --------
    >>> in_e_words(np.log(35.26)), in_e_words(1000.0)
    ('35.3', '2.0e+434')
    """
    if abs(log_value) < np.log(LARGE):
        return f"{np.exp(log_value):.3g}"
    exponent, rest = divmod(log_value / np.log(10), 1)
    mantissa = f"{10**rest:.1f}"
    return f"{mantissa}e{int(exponent):+03d}" if mantissa != "10.0" else f"1.0e{int(exponent) + 1:+03d}"


def _windows(number: int) -> str:
    return f"{number} window{'s' * (number > 1)}"
