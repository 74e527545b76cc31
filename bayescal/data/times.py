"""Times of rows, as numbers or dates, and windows of equal length."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import lcm
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Bools, Ints
from bayescal._checks import quoted
from bayescal.data.frames import as_array

Start = int | float | datetime | None  #: First moment of a window, which identifies it; None for a stream without time.

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
EARLIEST, LATEST = ((end - EPOCH) // MICROSECOND for end in (datetime.min, datetime.max))
UNITS = {"us": 1, "ms": 1000, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6, "w": 604800 * 10**6}
SPELT = {"second": "s", "sec": "s", "minute": "min", "hour": "h", "day": "d", "week": "w"}
NAMES = {"w": "week", "d": "day", "h": "hour", "min": "minute", "s": "second", "ms": "millisecond", "us": "microsecond"}
LONGEST_WINDOW = 2**63 - 1  #: Length of a window in microseconds, or in units of numbers, up to which int64 can count.
EXACT = MOST_WINDOWS = 2**53  #: From here on, float64 does not represent every integer.
#: Kinds of times. A naive time has no zone and is used unchanged; others are converted to UTC.
KINDS = {"number": "numbers", "naive": "times without a zone", "utc": "times with a zone"}


@dataclass(frozen=True)
class Window:
    """Length of all windows. Window k begins k lengths after the origin, in decimal arithmetic: 3 times 0.1 is 0.3."""

    length: int | float  # microseconds, or the unit of times that are numbers
    of_dates: bool  # a span of time, counted from 1970-01-01T00:00
    origin: int | float = 0  # begin of window 0, in the same unit; at least 0 and below the length

    @classmethod
    def of(cls, window: Any) -> "Window":
        """Read a length: a timedelta, a string like "1d" or "15 min", or a number."""
        if isinstance(window, str):
            return cls(_spelt(window), True)
        if isinstance(window, np.timedelta64):
            return cls(_microseconds(window), True)
        if isinstance(window, timedelta):
            length, rest = divmod(window, MICROSECOND)
            return cls(_positive(length, window, bool(rest)), True)
        if isinstance(window, bool | np.bool_) or not isinstance(window, Real):
            raise TypeError(
                "`window` must be None, a timedelta, a string like '1d', '6h' or '15min', or a number; "
                f"not {quoted(window)} ({type(window).__name__})."
            )
        number = int(window) if isinstance(window, Integral) else float(window)
        return cls(_positive(number, window), False)

    def beginning(self, origin: Any) -> tuple[str, "Window"]:
        """Read a moment at which a window begins; return its kind, and the windows."""
        kind, read = read_moment("origin", origin)
        if self.of_dates == (kind == "number"):
            wanted = "a date" if self.of_dates else "a number"
            raise TypeError(f"`origin` must be {wanted}, because windows have the length {self}; not {KINDS[kind]}.")
        moment = read[0].item()
        if isinstance(moment, float) and moment.is_integer():
            moment = int(moment)
        if isinstance(self.length, int) and isinstance(moment, int):
            return kind, replace(self, origin=moment % self.length)
        length = float(self.length)
        first = float(Fraction(repr(moment)) % Fraction(repr(length)))
        return kind, replace(self, length=length, origin=first)

    def __str__(self) -> str:
        if not self.of_dates:
            return f"{self.length:g}" if isinstance(self.length, float) else str(self.length)
        unit = next(unit for unit in ("d", "h", "min", "s", "ms", "us") if self.length % UNITS[unit] == 0)
        number = int(self.length) // UNITS[unit]
        return f"{number} {NAMES[unit]}{'s' * (number > 1)}"

    @property
    def duration(self) -> timedelta | float:
        """The length as a timedelta or a number."""
        return timedelta(microseconds=int(self.length)) if self.of_dates else self.length

    def begin(self, index: Any) -> Any:
        """Return the times at which windows begin, from their numbers."""
        if isinstance(self.length, int):
            return index * self.length + self.origin
        # 3 * 0.1 differs from 0.3, but 3 / 10 does not: use the float nearest to the decimal product
        length, origin = Fraction(repr(self.length)), Fraction(repr(self.origin))
        bottom = lcm(length.denominator, origin.denominator)
        top, first = int(length * bottom), int(origin * bottom)
        return (index * top + first) / bottom if max(top, bottom) < EXACT else index * self.length + self.origin

    def index(self, times: Array, name: str = "time") -> Ints:
        """Return the window of each time: k with begin(k) <= time < begin(k + 1)."""
        if times.dtype.kind == "i" and isinstance(self.length, int):
            k = times // self.length
            k -= times % self.length < self.origin  # without a difference of times, which could overflow
            first, after = -((self.origin - EARLIEST) // self.length), (LATEST - self.origin) // self.length
            outside = ((k < first) | (k >= after)) if self.of_dates else np.zeros(0, bool)
            if outside.any():
                rule = f"must lie in a window of {self} that begins in the year 1 or later, and ends in 9999 or before"
                _checks.refuse(name, rule, outside)
            return k
        if isinstance(self.length, int):
            _refuse_beyond(name, times, 2**63, "must lie within 2^63 of 0")
            return self.index(np.floor(times).astype(np.int64), name)
        if times.dtype.kind == "i":
            rule = f"must lie within 2^53 of 0 if the window length is a float, here {self}"
            _refuse_beyond(name, times, EXACT, rule)
        with np.errstate(over="ignore"):  # overflow to infinity is refused below
            k = np.floor(times / self.length - self.origin / self.length)
        if k.size and np.abs(k).max() >= MOST_WINDOWS:
            bad = np.abs(k) >= MOST_WINDOWS
            _checks.refuse(name, f"must be less than 2^53 windows of {self} from 0", bad, times)
        # division rounds: 0.3 / 0.1 is below 3
        k -= times < self.begin(k)
        k += times >= self.begin(k + 1)
        return k.astype(np.int64)

    def start(self, index: int, kind: str) -> Start:
        """Return the first moment of a window as a number or a datetime."""
        begin = self.begin(index)
        if not self.of_dates:
            return begin
        moment = EPOCH + int(begin) * MICROSECOND
        return moment.replace(tzinfo=UTC) if kind == "utc" else moment


def read_windows(window: Any, origin: Any) -> tuple[str | None, Window | None]:
    """Read the length of windows, and a moment at which one begins (None: 0 or 1970-01-01T00:00)."""
    if window is None:
        if origin is not None:
            raise ValueError("`origin` has no meaning without windows; give `window=` too, as in '1w'.")
        return None, None
    windows = Window.of(window)
    if origin is None:
        return None, windows
    kind, windows = windows.beginning(origin)
    return (kind if windows.origin else None), windows


def _refuse_beyond(name: str, times: Array, bound: int, rule: str) -> None:
    bad = (times >= bound) | (times <= -bound)
    if bad.any():
        _checks.refuse(name, rule, bad, times)


def _spelt(window: str) -> int:
    match = re.fullmatch(r"\s*(\d*)\s*([a-zµ]+)\s*", window.lower())
    unit = match[2] if match else ""
    unit = SPELT.get(unit.removesuffix("s"), "us" if unit == "µs" else unit)
    if match is None or unit not in UNITS:
        hint = ""
        if unit in ("m", "mo", "month", "months", "y", "year", "years"):
            hint = " For minutes say 'min'; months and years differ in length, and windows do not."
        raise ValueError(
            f"`window` must be a number and a unit, as in '1d', '6h' or '15min', with a unit of {list(UNITS)}; not "
            f"{quoted(window)}.{hint}"
        )
    return int(_positive(int(match[1] or 1) * UNITS[unit], window))


def _microseconds(window: np.timedelta64) -> int:
    unit = np.datetime_data(window.dtype)[0]
    if np.isnat(window) or unit in ("generic", "Y", "M"):
        raise ValueError(
            f"`window` must be a span of one length, as numpy.timedelta64(1, 'D') or '1d'; {quoted(window)} is none."
        )
    whole = window.astype("m8[us]")
    return int(_positive(int(whole.astype(np.int64)), window, bool(whole != window)))


def _positive(length: int | float, window: Any, rest: bool = False) -> int | float:
    if rest:
        raise ValueError(f"`window` must be whole microseconds, not {quoted(window)}.")
    if not 0 < length < float("inf"):
        raise ValueError(f"`window` must be finite and > 0, not {quoted(window)}.")
    if isinstance(length, int) and length > LONGEST_WINDOW:
        raise ValueError(f"`window` must be below 2^63 (of spans of time, in microseconds), not {quoted(window)}.")
    return length


def read_moment(name: str, time: Any) -> tuple[str, Array]:
    """Read a number, date (in microseconds since 1970) or ISO 8601 string: its kind, and an array of shape (1,)."""
    if type(time).__name__ in ("NAType", "NaTType"):
        raise ValueError(f"`{name}` is missing ({quoted(time)}).")
    if isinstance(time, np.ndarray) and time.ndim == 0:
        time = time[()]
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError as problem:
            raise ValueError(
                f"`{name}` must be a time like '2026-03-01' or '2026-03-01T06:00+00:00', not {quoted(time)}."
            ) from problem
    if isinstance(time, np.datetime64):
        return "naive", _since_epoch(name, np.asarray([time]))
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if isinstance(time, datetime):
        if time.utcoffset() is None:
            return "naive", np.array([(time.replace(tzinfo=None) - EPOCH) // MICROSECOND])
        return "utc", np.array([(time - EPOCH.replace(tzinfo=UTC)) // MICROSECOND])
    if isinstance(time, bool | np.bool_) or not isinstance(time, Real):
        raise TypeError(f"`{name}` must be a number, a datetime or a string like '2026-03-01', not {quoted(time)}.")
    return "number", _numbers(name, np.array([time if isinstance(time, Integral) else float(time)]))


def read_column(name: str, time: Any) -> tuple[str, Array]:
    """Read a time for each row: numbers, or dates in a list, an array or a column of a data frame; as `read_moment`."""
    if isinstance(time, np.ma.MaskedArray):
        _checks.no_missing(name, np.ma.getmaskarray(time), "masked")
    dtype = getattr(time, "dtype", None)
    of_pandas = getattr(dtype, "tz", None)  # pandas converts to objects unless UTC is requested
    zone = of_pandas or getattr(dtype, "time_zone", None) or getattr(getattr(time, "type", None), "tz", None)
    array = np.asarray(time, dtype="M8[us]") if of_pandas else as_array(name, time)
    if array.ndim != 1:
        raise ValueError(f"`{name}` must be one time, or a column with one time per row; its shape is {array.shape}.")
    if array.dtype.kind == "M":
        return ("utc" if zone else "naive"), _since_epoch(name, array)
    if array.dtype.kind in "iuf":
        return "number", _numbers(name, array)
    if array.dtype.kind == "O" and not any(isinstance(t, str) for t in array):
        return _from_objects(name, array)
    raise TypeError(
        f"`{name}` must hold numbers or dates, not dtype {array.dtype}. Strings? Make dates of them first, as with "
        "`pandas.to_datetime` or `numpy.array(strings, 'datetime64[s]')`."
    )


def _from_objects(name: str, array: Array) -> tuple[str, Array]:
    """Read dates of Python, one object per row."""
    missing = np.fromiter((t is None or type(t).__name__ in ("NAType", "NaTType") for t in array), bool, len(array))
    _checks.no_missing(name, missing)
    read = [read_moment(name, t) for t in array]
    kinds = {kind for kind, _ in read}
    if len(kinds) > 1:
        first = read[0][0]
        other = np.fromiter((kind != first for kind, _ in read), bool, len(read))
        _checks.refuse(name, f"must hold times of one kind, {KINDS[first]} like the first", other, array)
    return kinds.pop() if kinds else "number", as_array(name, [value.item() for _, value in read])


def _numbers(name: str, array: Array) -> Array:
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"`{name}` must be below 2^63; its largest is {array.max()}.")
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind != "f":
        raise ValueError(f"`{name}` must be numbers that float64 holds, not {quoted(array[0])}.")
    array = array.astype(np.float64)
    _checks.finite(name, array)
    return array


def _since_epoch(name: str, array: Array) -> Ints:
    _checks.no_missing(name, np.isnat(array))
    ends = np.array([array.min(), array.max()] if array.size else [], array.dtype)
    if not _in_calendar(ends).all():
        _checks.refuse(name, "must lie in the years 1 to 9999", ~_in_calendar(array), array)
    return array.astype("M8[us]").astype(np.int64)


def _in_calendar(array: Array) -> Bools:
    if np.datetime_data(array.dtype)[0] in ("ps", "fs", "as"):
        return np.ones(array.shape, bool)  # 2^63 of them are less than a year
    years = array.astype("M8[Y]").astype(np.int64) + 1970
    return (years >= 1) & (years <= 9999)


def in_code(moment: Start) -> str:
    """Return a time as Python code that methods of a monitor accept."""
    if not isinstance(moment, datetime):
        return repr(moment)
    if moment.tzinfo is None and moment == datetime(moment.year, moment.month, moment.day):
        return repr(moment.date().isoformat())
    return repr(moment.isoformat(timespec="auto" if moment.second or moment.microsecond else "minutes"))


def in_words(moment: Any) -> str:
    """Return a time as short text: without midnight, without seconds that are zero, and with UTC by name."""
    if not isinstance(moment, datetime):
        return str(moment)
    if not any((moment.hour, moment.minute, moment.second, moment.microsecond)):
        text = moment.date().isoformat()
    else:
        brief = "auto" if moment.second or moment.microsecond else "minutes"
        text = moment.replace(tzinfo=None).isoformat(" ", brief)
    zone = moment.strftime("%z")
    return text + (" UTC" if zone == "+0000" else f" {zone}" if zone else "")
