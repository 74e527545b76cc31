"""Survival rows: times, kinds of exit and stated risks, validated; and risks from survival curves."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats, Ints
from bayescal._invalid import InvalidRows
from bayescal._meant import public
from bayescal._rules import IN_UNIT_INTERVAL
from bayescal._texts import text_of
from bayescal.data.columns import allowed_weights, column, of_two_classes, scale_free, weight_column
from bayescal.data.frames import same_rows, to_array

MOST_CAUSES = 1000  #: Largest number of causes of events.
EVENT_RULE = "must be 0 (censored), 1 (the event) or 2, 3, ... (other causes)"  #: The rule of kinds of exits.
#: What to do with survival curves in place of risks.
OF_CURVES = "For survival curves, pass `risk_at_horizon(curves, horizon)`."
#: What to pass as kinds of exits.
KINDS_OF_EXIT = text_of("kinds of exit")


@dataclass(frozen=True, eq=False)
class SurvivalRows:
    """Validated rows with right-censored times; arrays of shape (n_rows,)."""

    time: Floats  # >= 0
    event: Ints  # 0 for censored rows, otherwise the cause of the event
    risk: Array  # stated probability of an event of the `cause` by the horizon; (n_rows, n_horizons) for several
    weight: Array | None  # >= 0, with a positive sum
    cause: int

    @classmethod
    def read(
        cls, time: Any, event: Any, risk: Any, weights: Any = None, *, cause: Any = 1, horizons: int | None = None
    ) -> "SurvivalRows":
        """Check columns of one length and their values; `horizons` is the number of columns that `risk` may have."""
        same_rows({"time": time, "event": event, "risk": risk, "weights": weights})
        times = _times(time)
        _checks.not_empty("time", len(times))
        kinds = event_kinds(event)
        risks = _risks(risk, horizons)
        _checks.same_length(("time", "event", "risk"), (len(times), len(kinds), len(risks)))
        weight = weight_column(weights, len(times), "time")
        weight = None if weight is None else scale_free(allowed_weights(weight))
        cause = _checks.whole_number("cause", cause)
        if cause > 1 and not (kinds == cause).any():
            raise ValueError(
                f"`cause` must be a value of `event`; {cause} does not occur among {np.unique(kinds).tolist()[:10]}."
            )
        return cls(times, kinds, risks, weight, cause)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return f"SurvivalRows({len(self)} rows, {np.count_nonzero(self.event == self.cause)} events)"

    def at(self, column: int) -> "SurvivalRows":
        """Return the rows with the risks of one horizon."""
        return self if self.risk.ndim == 1 else replace(self, risk=self.risk[:, column])

    def part(self, rows: Ints) -> "SurvivalRows":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return SurvivalRows(self.time[rows], self.event[rows], self.risk[rows], weight, self.cause)

    def checked_horizon(self, horizon: Any) -> float:
        """Require a horizon that some row reaches."""
        number = require_horizon(horizon)
        last = float(self.time.max())
        if number > last:
            raise ValueError(
                f"`horizon` must not exceed the last time, {last:g}, because nothing is known beyond it; it is "
                f"{number:g}. Are both in the same unit?"
            )
        return number


def require_horizon(horizon: Any) -> float:
    """Require one positive number."""
    if horizon is None or isinstance(horizon, str | bytes | bool | np.bool_) or np.ndim(horizon) != 0:
        raise TypeError(f"`horizon` must be a number, in the unit of `time`, not {_checks.quoted(horizon)}.")
    return float(_checks.positive("horizon", horizon))


def _times(time: Any) -> Floats:
    kind = getattr(getattr(time, "dtype", None), "kind", "")
    if kind and kind in "mM":
        since = "" if kind == "m" else " since the beginning of each row"
        raise TypeError(
            f"`time` must hold numbers, not dtype {time.dtype}: divide durations{since} by their unit, as in "
            "`duration / numpy.timedelta64(1, 'D')`."
        )
    values = column("time", to_array("time", time))
    if values.dtype.kind not in "iuf":
        raise TypeError(f"`time` must hold numbers, not dtype {values.dtype}. Are `time` and `event` swapped?")
    _checks.finite("time", values)
    if values.size and values.min() < 0:
        hint = "A time is the duration from the moment at which the risk was stated to the end of follow-up."
        _checks.refuse("time", "must be >= 0", values < 0, values, hint=hint)
    return values.astype(np.float64, copy=False)


def event_kinds(event: Any) -> Ints:
    """Check a column of kinds of exits: 0 for censored rows, otherwise the cause of the event."""
    values = column("event", to_array("event", event))
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind not in "iuf":
        shown = _checks.quoted(np.unique(values.astype(str))[:3].tolist())
        raise TypeError(f"`event` must hold 0, 1, 2, ... or booleans; it holds {shown}. {KINDS_OF_EXIT}")
    _checks.finite("event", values)
    bad = (values < 0) | (values > MOST_CAUSES) | (values != np.floor(values))
    if bad.any():
        swapped = " Are `time` and `event` swapped?" if np.count_nonzero(bad & (values > 0)) * 2 > bad.size else ""
        _checks.refuse("event", EVENT_RULE, bad, values, hint=KINDS_OF_EXIT + swapped)
    return values.astype(np.int64)


def _risks(risk: Any, horizons: int | None) -> Array:
    if isinstance(risk, np.ndarray | list | tuple) and len(risk) and hasattr(risk[0], "x") and hasattr(risk[0], "y"):
        raise TypeError(f"`risk` must hold numbers. {OF_CURVES}")
    values = to_array("risk", risk)
    if horizons is None and values.ndim == 2 and values.shape[1] != 1:
        raise ValueError(
            f"`risk` must be one-dimensional (one value per row); its shape is {values.shape}. For risks at several "
            f"horizons, pass a sequence as `horizon`. {OF_CURVES}{of_two_classes('risk', values)}"
        )
    if horizons is None or values.ndim != 2 or (horizons == 1 and values.shape[1] == 1):
        values = column("risk", values)
    elif values.shape[1] != horizons:
        raise ValueError(
            f"`risk` must have one column per horizon, shape (n_rows, {horizons}), not {values.shape}; for a single "
            f"column, pass a single horizon. {OF_CURVES}"
        )
    if horizons is not None and horizons > 1 and values.ndim == 1:
        raise ValueError(
            f"`risk` must have one column per horizon, shape (n_rows, {horizons}): the risk of an event by a later "
            f"time is larger. It has shape {values.shape}."
        )
    if values.dtype.kind not in "iuf":
        raise TypeError(f"`risk` must hold numbers in [0, 1], not dtype {values.dtype}.")
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if not values.size:
        return values
    try:
        return _checks.probabilities("risk", values)
    except InvalidRows as problem:
        finding = problem.finding
        if finding.rule != IN_UNIT_INTERVAL.words:
            raise
        kept = f"{finding.hint} " if "Percentages" in finding.hint or "overshoot" in finding.hint else ""
        hint = "A hazard ratio or a linear predictor is no risk: pass the probability of an event by the horizon."
        raise InvalidRows(replace(finding, hint=kept + hint)) from None


@public
def risk_at_horizon(curves: Any, horizon: Any) -> Floats:
    """Compute risks, 1 - S(horizon), from survival curves that a fitted model returns.

    Parameters
    ----------
    curves : data frame, or sequence or array of step functions
        A data frame has times as its index and one column per row, as ``predict_survival_function`` of lifelines
        returns it. Step functions have the attributes ``x`` (times) and ``y`` (survival probabilities), and values on
        a scale ``a``, ``b`` if they have these attributes, as ``predict_survival_function`` of scikit-survival returns
        them. All survival probabilities are in [0, 1] and do not increase.
    horizon : float or sequence of float
        The time or times, in the unit of the curves.

    Returns
    -------
    ndarray, shape (n_rows,) or (n_rows, n_horizons)
        Probabilities of the event by the horizon. A curve is constant between its times; before its first time it is 1.

    Raises
    ------
    TypeError
        If `curves` are neither.
    ValueError
        If survival probabilities are outside [0, 1] or increase, times do not increase, or a horizon exceeds the last
        time of a curve.

    Notes
    -----
    With competing causes, 1 - S is not the probability of the event: pass the cumulative incidence as `risk` instead.

    lifelines interpolates between times if it is asked for survival at other times. For the same risks, ask it for the
    horizon, as in ``model.predict_survival_function(rows, times=[horizon])``.

    Examples
    --------
    >>> import pandas as pd
    >>> curves = pd.DataFrame({"a": [1.0, 0.9, 0.7], "b": [1.0, 0.5, 0.5]}, index=[0.0, 10.0, 20.0])
    >>> bc.survival.risk_at_horizon(curves, 10)
    array([0.1, 0.5])
    >>> bc.survival.risk_at_horizon(curves, [10, 20])
    array([[0.1, 0.3],
           [0.5, 0.5]])
    """
    single = np.ndim(horizon) == 0
    horizons = np.array([require_horizon(each) for each in np.atleast_1d(np.asarray(horizon, dtype=object))])
    if hasattr(curves, "columns") and hasattr(curves, "index"):
        times, surviving = to_array("curves", curves.index.to_numpy()), to_array("curves", curves)
        if times.dtype.kind not in "iuf" or surviving.dtype.kind not in "iuf":
            raise TypeError("`curves` must have numbers as its index (times) and as its values (survival).")
        if not surviving.size:
            raise ValueError(f"`curves` must have at least one time and one row; its shape is {surviving.shape}.")
        risks = _read_curve(times.astype(np.float64), surviving.astype(np.float64).T, horizons)
    else:
        risks = np.stack([_read_step(i, each, horizons) for i, each in enumerate(_sequence(curves))])
    return risks[:, 0] if single else risks


def _sequence(curves: Any) -> list[Any]:
    if not np.iterable(curves) or isinstance(curves, str | bytes):
        curves = [curves]
    steps = list(curves)
    if not steps or not all(hasattr(each, "x") and hasattr(each, "y") for each in steps):
        hint = (
            " An array has no times: with one row of survival probabilities per row of data, pass "
            "`pandas.DataFrame(array.T, index=times)`."
        )
        raise TypeError(
            "`curves` must be a data frame with times as its index and one column per row, or step functions with the "
            f"attributes `x` and `y`, not {type(curves).__name__}.{hint * (np.ndim(curves) == 2)}"
        )
    return steps


def _read_step(number: int, step: Any, horizons: Floats) -> Floats:
    """Return the risks of one step function; scikit-survival evaluates `a * y + b`."""
    values = getattr(step, "a", 1.0) * np.asarray(step.y, np.float64) + getattr(step, "b", 0.0)
    return _read_curve(np.asarray(step.x, np.float64), values[None], horizons, f"curves[{number}]")[0]


def _read_curve(times: Floats, surviving: Floats, horizons: Floats, name: str = "curves") -> Floats:
    """Return the risks of curves on common times, shape (n_curves, n_horizons)."""
    if times.ndim != 1 or surviving.shape[1:] != times.shape or not len(times):
        raise ValueError(f"`{name}` must have one survival probability per time.")
    _checks.finite(name, times)
    falls = np.diff(times, prepend=-np.inf) <= 0
    if falls.any():
        _checks.refuse(name, "must have times that increase", falls, times)
    surviving = _checks.probabilities(name, surviving)
    rises = np.diff(surviving, axis=1, prepend=1.0) > 1e-9
    if rises.any():
        hint = "Pass survival probabilities, not risks."
        if np.diff(surviving, axis=1).min(initial=0.0) < 0:
            hint = "In a data frame, the index holds the times: transpose it?"
        _checks.refuse(name, "must hold survival probabilities that do not increase with time", rises, surviving, hint)
    beyond = horizons > times[-1]
    if beyond.any():
        _checks.refuse("horizon", f"must not exceed the last time of `{name}`, {times[-1]:g}", beyond, horizons)
    at = np.searchsorted(times, horizons, side="right")
    return 1 - np.concatenate([np.ones((len(surviving), 1)), surviving], axis=1)[:, at]
