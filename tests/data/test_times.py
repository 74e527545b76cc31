"""Times of rows and the windows they fall into; Python's own calendar and fractions are the oracle."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayescal.data.times import Window, in_code, in_words, read_column, read_moment

BERLIN_WINTER = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("window", "expected", "said"),
    [
        ("1d", timedelta(days=1), "1 day"),
        ("d", timedelta(days=1), "1 day"),
        ("2 Days", timedelta(days=2), "2 days"),
        ("6H", timedelta(hours=6), "6 hours"),
        ("36h", timedelta(hours=36), "36 hours"),
        ("15min", timedelta(minutes=15), "15 minutes"),
        ("90 s", timedelta(seconds=90), "90 seconds"),
        ("1w", timedelta(weeks=1), "7 days"),
        ("250ms", timedelta(milliseconds=250), "250 milliseconds"),
        ("5µs", timedelta(microseconds=5), "5 microseconds"),
        (timedelta(hours=1), timedelta(hours=1), "1 hour"),
        (np.timedelta64(1, "D"), timedelta(days=1), "1 day"),
        (np.timedelta64(3600, "s"), timedelta(hours=1), "1 hour"),
        (pd.Timedelta("1D"), timedelta(days=1), "1 day"),
        (100, 100, "100"),
        (np.int32(100), 100, "100"),
        (0.25, 0.25, "0.25"),
    ],
)
def test_lengths(window, expected, said):
    made = Window.of(window)
    assert made.duration == expected
    assert type(made.duration) is type(expected)
    assert str(made) == said
    assert Window.of(made.duration) == made


@pytest.mark.parametrize(
    ("window", "error", "said"),
    [
        ("1 month", ValueError, "months and years differ"),
        ("5m", ValueError, "For minutes say 'min'"),
        ("", ValueError, "a number and a unit"),
        ("-1d", ValueError, "a number and a unit"),
        ("0d", ValueError, "> 0"),
        (np.timedelta64(1, "M"), ValueError, "one length"),
        (np.timedelta64("NaT", "s"), ValueError, "one length"),
        (np.timedelta64(1500, "ns"), ValueError, "whole microseconds"),
        (timedelta(0), ValueError, "> 0"),
        (timedelta(-1), ValueError, "> 0"),
        (0, ValueError, "> 0"),
        (float("inf"), ValueError, "finite"),
        (float("nan"), ValueError, "finite"),
        (2**63, ValueError, r"2\^63"),
        ("1000000000d", ValueError, r"2\^63"),
        (timedelta.max, ValueError, r"2\^63"),
        (True, TypeError, "'1d'"),
        ([1], TypeError, "'1d'"),
    ],
)
def test_what_is_no_length(window, error, said):
    with pytest.raises(error, match=said):
        Window.of(window)


def test_dates_fall_into_the_window_that_python_finds():
    rng = np.random.default_rng(1)
    moments = [datetime(1, 1, 8) + timedelta(seconds=int(s), microseconds=7) for s in rng.integers(0, 3 * 10**11, 300)]
    moments += [datetime(1970, 1, 1) + timedelta(days=d, microseconds=m) for d in (-1, 0, 1) for m in (-1, 0, 1)]
    kind, read = read_column("time", moments)
    assert kind == "naive"
    for length in (timedelta(days=1), timedelta(hours=7), timedelta(weeks=1), timedelta(microseconds=3)):
        window = Window.of(length)
        for moment, k in zip(moments, window.index(read).tolist(), strict=True):
            start = window.start(k, kind)
            assert start <= moment < start + length
            assert (start - datetime(1970, 1, 1)) % length == timedelta(0)


@pytest.mark.parametrize("length", [0.1, 0.3, 7.0, 1e-9, 12345.678, 2.5])
@pytest.mark.parametrize("offset", [0, 10**8])
def test_numbers_fall_into_the_window_whose_bounds_as_one_writes_them_hold_them(length, offset):
    """Decimal is the oracle: the third window of 0.1 ends at 0.3, and a row at 0.3 is in the fourth."""
    k = np.arange(-50, 51) + offset
    edges = np.array([float(Decimal(repr(length)) * i) for i in k.tolist()])
    window = Window.of(length)
    np.testing.assert_array_equal(window.index(edges), k)
    np.testing.assert_array_equal(window.index(np.nextafter(edges, np.inf)), k)
    np.testing.assert_array_equal(window.index(np.nextafter(edges, -np.inf)), k - 1)
    assert [window.start(i, "number") for i in k.tolist()] == edges.tolist()


@pytest.mark.parametrize("length", [1 / 3, 1e300, 5e-324, 0.1234567890123456789])
def test_numbers_in_windows_of_many_digits(length):
    """Bounds that no one writes: they are what the window says, and hold their rows."""
    window, k = Window.of(length), np.arange(-50, 51)
    edges = window.begin(k)
    np.testing.assert_allclose(edges, k * length, rtol=1e-15)
    near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    found = window.index(near)
    assert ((window.begin(found) <= near) & (near < window.begin(found + 1))).all()
    np.testing.assert_array_equal(found[: len(k)], k)


@pytest.mark.parametrize(("moment", "fits"), [("0001-01-01", True), ("9999-12-30", True), ("9999-12-31", False)])
def test_windows_lie_in_the_calendar_with_both_ends(moment, fits):
    window, (_, read) = Window.of("1d"), read_moment("end", moment)
    if fits:
        k = int(window.index(read)[0])
        assert window.start(k, "naive") + timedelta(days=1) == window.start(k + 1, "utc").replace(tzinfo=None)
    else:
        with pytest.raises(ValueError, match=r"`end` must lie in a window .* ends in 9999 or before"):
            window.index(read, "end")
    with pytest.raises(ValueError, match="`time` must lie in a window of 7 days that begins in the year 1"):
        Window.of("1w").index(read_moment("time", "0001-01-03")[1])  # a Wednesday; windows begin on Thursdays
    assert Window.of("1w").start(int(Window.of("1w").index(read_moment("time", "0001-01-04")[1])[0]), "naive").day == 4


def test_integers_are_exact_beyond_the_digits_of_floats():
    times = np.array([-(2**62) - 1, 2**62 - 1, 2**62, 2**62 + 1])
    found = Window.of(3).index(times)
    assert [int(Fraction(int(t), 3).__floor__()) for t in times] == found.tolist()
    with pytest.raises(ValueError, match=r"2\^53 windows"):
        Window.of(0.5).index(np.array([1.0, 1e17]))


UTC_TIMES = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, 12, tzinfo=UTC)]
MICROSECONDS = [1767225600 * 10**6, 1782907200 * 10**6]


@pytest.mark.parametrize(
    "column",
    [
        UTC_TIMES,
        [datetime(2026, 1, 1, 1, tzinfo=BERLIN_WINTER), UTC_TIMES[1]],
        pd.Series(UTC_TIMES),
        pd.Series(UTC_TIMES).dt.tz_convert("Europe/Berlin"),
        pd.DatetimeIndex(UTC_TIMES).tz_convert("America/New_York"),
        pd.Series(UTC_TIMES).astype("timestamp[us, tz=UTC][pyarrow]"),
        pl.Series(UTC_TIMES).dt.convert_time_zone("Europe/Berlin"),
        pa.chunked_array([pa.array(UTC_TIMES)]),
        pa.array(UTC_TIMES, pa.timestamp("ns", "Europe/Berlin")),
    ],
    ids=range(9),
)
def test_columns_with_a_zone_are_taken_to_utc(column):
    kind, read = read_column("time", column)
    assert kind == "utc"
    assert read.tolist() == MICROSECONDS


NAIVE = [t.replace(tzinfo=None) for t in UTC_TIMES]


@pytest.mark.parametrize(
    "column",
    [
        NAIVE,
        [date(2026, 1, 1), NAIVE[1]],
        np.array(NAIVE, "M8[s]"),
        np.array(NAIVE, "M8[ns]"),
        pd.Series(NAIVE),
        pl.Series(NAIVE),
        pa.array(NAIVE),
    ],
    ids=range(7),
)
def test_columns_without_a_zone_are_taken_as_they_are(column):
    kind, read = read_column("time", column)
    assert kind == "naive"
    assert read.tolist() == MICROSECONDS


@pytest.mark.parametrize(
    ("moment", "kind", "value"),
    [
        ("2026-01-01", "naive", MICROSECONDS[0]),
        ("2026-01-01T01:00+01:00", "utc", MICROSECONDS[0]),
        ("2026-01-01T00:00Z", "utc", MICROSECONDS[0]),
        (date(2026, 1, 1), "naive", MICROSECONDS[0]),
        (pd.Timestamp("2026-01-01"), "naive", MICROSECONDS[0]),
        (pd.Timestamp("2026-01-01", tz="UTC"), "utc", MICROSECONDS[0]),
        (np.datetime64("2026-01-01"), "naive", MICROSECONDS[0]),
        (np.datetime64("1969-12-31T23:59:59.999999999", "ns"), "naive", -1),
        (np.datetime64("1969-12-31T23:59:59.999999999999", "ps"), "naive", -1),
        (np.array("2026-01-01", "M8[s]"), "naive", MICROSECONDS[0]),
        (3, "number", 3),
        (np.array(3), "number", 3),
        (np.float32(0.5), "number", 0.5),
    ],
)
def test_moments(moment, kind, value):
    found, read = read_moment("time", moment)
    assert (found, read.tolist()) == (kind, [value])


@pytest.mark.parametrize(
    ("column", "error", "said"),
    [
        ([datetime(2026, 1, 1), None], ValueError, "first at index 1"),
        ([datetime(2026, 1, 1), pd.NaT], ValueError, "first at index 1"),
        (np.array(["NaT", "2026-01-01"], "M8[s]"), ValueError, "first at index 0"),
        (pl.Series([None, datetime(2026, 1, 1)]), ValueError, "first at index 0"),
        (pd.Series([UTC_TIMES[0], None]), ValueError, "first at index 1"),
        (np.ma.MaskedArray([1, 2], [False, True]), ValueError, "masked, first at index 1"),
        ([1.0, float("nan")], ValueError, "first at index 1"),
        ([1.0, float("inf")], ValueError, "finite"),
        ([UTC_TIMES[0], NAIVE[0]], ValueError, "of one kind.*first at index 1"),
        (["2026-01-01", "2026-01-02"], TypeError, "Strings"),
        (np.array([True, False]), TypeError, "numbers or dates"),
        (np.zeros((2, 2)), ValueError, r"\(2, 2\)"),
        (np.array([2**64 - 1], np.uint64), ValueError, "2\\^63"),
        (np.array([20000], "M8[Y]"), ValueError, "years 1 to 9999"),
        ([2**70, 1], ValueError, "float64|numbers"),
    ],
    ids=range(15),
)
def test_what_is_no_column_of_times(column, error, said):
    with pytest.raises(error, match=said):
        read_column("time", column)


@pytest.mark.parametrize(
    ("moment", "said"), [("today", "like '2026"), (pd.NaT, "missing"), (True, "a number"), ([], "a")]
)
def test_what_is_no_time(moment, said):
    with pytest.raises((ValueError, TypeError), match=f"`start`.*{said}"):
        read_moment("start", moment)


def test_dates_in_words():
    words = {
        datetime(2026, 3, 1): "2026-03-01",
        datetime(2026, 3, 1, tzinfo=UTC): "2026-03-01 UTC",
        datetime(2026, 3, 1, 6, tzinfo=UTC): "2026-03-01 06:00 UTC",
        datetime(2026, 3, 1, 6, 0, 5): "2026-03-01 06:00:05",
        datetime(2026, 3, 1, 6, 0, 0, 5): "2026-03-01 06:00:00.000005",
        7: "7",
    }
    assert {moment: in_words(moment) for moment in words} == words


@pytest.mark.parametrize("length", [0.1, 2.5, 12345.678])
@pytest.mark.parametrize("origin", [0.05, -0.03, 7, 1234.5])
def test_windows_of_numbers_begin_at_the_origin(length, origin):
    """Decimal is the oracle: with windows of 0.1 from 0.05, the third one ends at 0.35."""
    _, window = Window.of(length).beginning(origin)
    first = Decimal(str(origin)) % Decimal(str(length))
    first += Decimal(str(length)) if first < 0 else 0
    k = np.arange(-50, 51)
    edges = np.array([float(Decimal(repr(length)) * i + first) for i in k.tolist()])
    np.testing.assert_array_equal(window.index(edges), k)
    np.testing.assert_array_equal(window.index(np.nextafter(edges, -np.inf)), k - 1)
    assert [window.start(i, "number") for i in k.tolist()] == edges.tolist()


def test_windows_of_integers_begin_at_the_origin():
    _, window = Window.of(3).beginning(-2)
    assert (window.origin, type(window.origin)) == (1, int)
    times = np.array([-(2**63), -2, 0, 1, 3, 4, 2**63 - 1])
    assert window.index(times).tolist() == [(int(t) - 1) // 3 for t in times]
    _, half = Window.of(1).beginning(0.5)
    assert half.index(np.array([0, 1, 2])).tolist() == [-1, 0, 1]
    assert half.start(2, "number") == 2.5


def test_dates_fall_into_the_window_that_begins_at_the_origin():
    """2 March 2026 is a Monday; the first and the last days of the calendar are in no whole window."""
    kind, monday = Window.of("1w").beginning("2026-03-02")
    assert kind == "naive"
    assert Window.of("1w").beginning("2031-12-29")[1] == monday
    assert monday.start(0, kind) == datetime(1970, 1, 5)
    for day, start in (("2026-03-01T23:59", datetime(2026, 2, 23)), ("2026-03-02", datetime(2026, 3, 2))):
        assert monday.start(int(monday.index(read_moment("time", day)[1])[0]), kind) == start
    assert monday.start(int(monday.index(read_moment("time", "0001-01-01")[1])[0]), kind) == datetime(1, 1, 1)
    with pytest.raises(ValueError, match="`time` must lie in a window"):
        monday.index(read_moment("time", "9999-12-31")[1])
    _, six = Window.of("1d").beginning("2026-03-02T06:00")
    with pytest.raises(ValueError, match="begins in the year 1"):
        six.index(read_moment("time", "0001-01-01T05:59")[1])
    assert six.start(int(six.index(read_moment("time", "0001-01-01T06:00")[1])[0]), kind) == datetime(1, 1, 1, 6)


def test_times_as_code():
    zoned = datetime(2026, 3, 1, 6, tzinfo=UTC)
    assert [in_code(each) for each in (7, datetime(2026, 3, 1), zoned)] == [
        "7",
        "'2026-03-01'",
        "'2026-03-01T06:00+00:00'",
    ]
