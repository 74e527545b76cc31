"""Evidence: an e-process over the windows of a monitor, and the alarm that it raises."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _presented, _render
from bayescal.data.times import Start, in_words

Floats = NDArray[np.float64]

#: Maximum number of windows that are printed, the last ones.
PRINTED = 10
HEADER = ("window", "n", "e-value", "P-value")
COLUMNS = (
    '"e-value": the e-process after the window; "P-value": 1 / its largest value so far, at most 1, which is valid '
    "whenever one looks."
)
NOT_A_SIZE = (
    "An alarm shows that the hypothesis is false, not by how much: `monitor.confidence_sequence()` has intervals of "
    "the ECE, and `monitor.change()` that of its change."
)
#: E-values between 1 / LARGE and LARGE are printed without a power of ten.
LARGE = 1e5


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(_presented.Presented):
    r"""Evidence against a hypothesis about a stream, after each window, and the alarm that it raises.

    Returned by `CalibrationMonitor.evidence`. The values are an e-process: if the hypothesis is true, the probability
    that they *ever* reach 20 is at most 1/20, however often one looks and whenever one stops. An alarm at 20 is
    therefore false for at most 5 % of the streams for which the hypothesis is true.

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
    hypothesis : str
        The hypothesis, in words.
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
    >>> evidence.alarm, evidence.log_values.round(1)
    (4000, array([-0.2, -0.3, -0.5, -0.7, 13.7, 37.3, 56.2, 87.2]))
    """

    windows: tuple[Start, ...]
    n_rows: NDArray[np.int64]
    log_values: Floats
    level: float
    hypothesis: str
    question: str
    notes: tuple[str, ...] = ()

    _index = ("window",)
    _columns = ("n_rows", "value", "log_value", "p_value")

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.windows)

    def __bool__(self) -> bool:
        """True, also without windows."""
        return True

    @property
    def values(self) -> Floats:
        """The e-process after each window, shape (n_windows,); infinite above 1.8e308, see `log_values`."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_values)

    @property
    def p_values(self) -> Floats:
        """P-values that are valid whenever one looks: 1 / the largest value so far, at most 1; shape (n_windows,)."""
        return np.exp(-np.maximum(np.maximum.accumulate(self.log_values), 0)) if len(self) else np.ones(0)

    @property
    def threshold(self) -> float:
        """The value that raises an alarm: 1 / `level`."""
        return 1 / self.level

    @property
    def alarm(self) -> Start:
        """Start of the first window after which the value is at least `threshold`; None if there is none."""
        first = self._first_alarm()
        return None if first is None else self.windows[first]

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
        """The result in words: alarm or no alarm, the evidence, and what the threshold guarantees.

        Returns
        -------
        str
            The first window with an alarm and the values then and now, or the largest value.
        """
        if not len(self):
            return f"No alarm: there are no windows yet, so there is no evidence against {self.hypothesis}."
        now, most = in_e_words(self.log_values[-1]), in_e_words(self.log_values.max())
        first, limit = self._first_alarm(), f"{self.threshold:g}"
        if first is None:
            largest = "" if now == most else f", at most {most}"
            return (
                f"No alarm: the evidence against {self.hypothesis} is {now} after {_windows(len(self))}{largest}; an "
                f"alarm is raised at {limit}."
            )
        then = in_e_words(self.log_values[first])
        later = f"; it is {now} now" if first < len(self) - 1 else ""
        return (
            f"Alarm in the window {in_words(self.alarm)}: the evidence against {self.hypothesis} reached {then}{later}"
            f". If the hypothesis were true, it would ever reach {limit} with probability {self.level:g} at most."
        )

    @property
    def spec(self) -> str:
        """Hypothesis, windows, rows, target and bins, on one line."""
        return f"e-process against {self.hypothesis}, {self.question}, alarm at {self.threshold:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows that are not used, on power, and on the meaning of an alarm."""
        return self.notes if self.alarm is None else (*self.notes, NOT_A_SIZE)

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
        key = [COLUMNS] if rows else []
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, (*earlier, *key, *self.remarks))


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
