"""Counts by window: bounds, wording and refusals. `tests/monitoring/test_monitor.py` tests the stream itself."""

import pytest

from bayescal.data.predictions import Predictions
from bayescal.data.times import Window
from bayescal.monitoring.windowed import WindowedCounts
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins


def with_rows(held, predictions, time):
    return held.with_batch(held.batch(predictions, time))


def with_counts(held, counts, time):
    return held.with_batch(held.batch_of_counts(counts, time))


def windowed(times, length=10):
    """One row at each time, in windows of ten."""
    empty = WindowedCounts(make_bins(2), "confidence", Window.of(length))
    for time in times:
        empty = with_rows(empty, Predictions.from_outcomes([1], [0.75]), time)
    return empty


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([], "no rows yet, windows of length 10"),
        ([3], "1 row in 1 window of length 10, 0"),
        ([3, 4], "2 rows in 1 window of length 10, 0"),
        ([3, 14], "2 rows in 2 windows of length 10, 0 to 10"),
        ([14, 3, 27], "3 rows in 3 windows of length 10, 0 to 20"),
    ],
)
def test_one_of_a_kind_is_in_the_singular(times, said):
    assert str(windowed(times)) == said


def test_words_of_a_span():
    assert windowed([3, 14]).span_text([0, 1]) == "[0, 20)"
    assert WindowedCounts(make_bins(2), "confidence", None).span_text([0]) == "all rows"


@pytest.mark.parametrize("span", [None, 3, (0,), (0, 10, 20), {0, 10}])
def test_a_span_is_a_pair_of_bounds(span):
    """Only a baseline may be given as counts instead of bounds, so only its message mentions counts."""
    with pytest.raises(TypeError, match=r"`now` must be a pair of bounds \(start, end\), either of them None; not"):
        windowed([3]).span("now", span)
    with pytest.raises(TypeError, match=r"`baseline` must be .* None, or BinnedCounts of other rows; not"):
        windowed([3]).span("baseline", span)


def test_windows_between_bounds():
    """Windows 0, 1, 3: the start is included, the end is not, and either may be left out."""
    counts = windowed([3, 14, 35])
    assert [counts.between(*b) for b in ((), (10,), (None, 10), (10, 30), (10, 40), (20, 30))] == [
        [0, 1, 3],
        [1, 3],
        [0],
        [1],
        [1, 3],
        [],
    ]
    for start, end in ((10, 10), (20, 10)):
        with pytest.raises(ValueError, match="`end` must be after `start`"):
            counts.between(start, end)


def test_what_is_forgotten_cannot_be_asked_for_and_takes_no_rows():
    counts = windowed([3, 14, 35]).without(10)
    assert sorted(counts.counts) == [1, 3]
    assert counts.between(10) == [1, 3]
    assert counts.between(20) == [3]
    with pytest.raises(ValueError, match="`start` must not be before 10: windows before it are forgotten"):
        counts.between(0)
    more = with_rows(counts, Predictions.from_outcomes([1], [0.75]), 10)
    assert more.counts[1].n_rows == 2
    with pytest.raises(ValueError, match=r"`time` must not be before 10: .* rows for 0"):
        with_rows(counts, Predictions.from_outcomes([1], [0.75]), 9)


def test_an_evaluation_of_no_rows_is_refused():
    counts = windowed([3])
    assert counts.total_of_rows([0], "all rows").n_rows == 1
    with pytest.raises(
        ValueError, match=r"there are no rows in March; the monitor holds 1 row in 1 window of length 10, 0\."
    ):
        counts.total_of_rows([], "March")


def test_counts_are_added_to_the_window_of_a_time():
    one = BinnedCounts.from_arrays([1, 0], [0.75, 0.25], bins=2)
    counts = with_counts(with_counts(windowed([3]), one, 9), one, 10)
    assert {k: c.n_rows for k, c in counts.counts.items()} == {0: 3, 1: 2}


def test_a_document_without_windows_has_no_times_and_one_with_windows_has_them():
    empty = WindowedCounts(make_bins(2), "confidence", None)
    total = with_counts(empty, BinnedCounts.from_arrays([1], [0.7], bins=2), None)
    for counts, start in ((total, 3), (windowed([3]), None)):
        document = counts.document()
        assert WindowedCounts.from_document(document) == counts
        for place, key in ((document["windows"][0], "start"), (document, "forgotten_before")):
            if key == "forgotten_before" and start is None:
                continue  # nothing has been forgotten
            before, place[key] = place[key], start
            with pytest.raises(ValueError, match=rf"{key}` is {start!r}, which does not fit 'window' and 'time'"):
                WindowedCounts.from_document(document)
            place[key] = before
