"""CalibrationMonitor: batches into windows, what has changed, and a state that merges and survives."""

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinnedCounts, CalibrationMonitor, Predictions
from bayescal.datasets.simulate import simulate

DAYS = [datetime(2026, 3, 1) + timedelta(days=d) for d in range(10)]


def stream(n=3000, seed=1):
    """Outcome, confidence, and seconds over ten days in no order."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.random(n), rng.integers(0, 10 * 86400, n)


def as_dates(seconds):
    return np.datetime64("2026-03-01", "s") + seconds.astype("m8[s]")


def filled(window="1d", seed=1, **options):
    monitor = CalibrationMonitor(window=window, **options)
    z, c, seconds = stream(seed=seed)
    monitor.add(z, c, time=as_dates(seconds))
    return monitor


def assert_same(one, other):
    """The same integers in the same windows; sums equal but for the order of additions."""
    assert list(one.windows) == list(other.windows)
    for start, counts in one.windows.items():
        np.testing.assert_array_equal(counts.cells, other.windows[start].cells)
        for name in ("weight", "deviation", "deviation_sq", "weight_sq"):
            np.testing.assert_allclose(getattr(counts, name), getattr(other.windows[start], name), atol=1e-10)
        for name in ("total", "squares"):
            found, expected = (getattr(c.losses, name) for c in (counts, other.windows[start]))
            np.testing.assert_allclose(found, expected, atol=1e-10)


# --- counting


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_go_to_the_window_of_their_time(weighted):
    z, c, seconds = stream()
    w = np.random.default_rng(2).random(len(z)) if weighted else None
    monitor = CalibrationMonitor(window="1d")
    monitor.add(z, c, time=as_dates(seconds), weights=w)
    assert list(monitor.windows) == DAYS
    for d, counts in enumerate(monitor.windows.values()):
        of_day = seconds // 86400 == d
        expected = BinnedCounts.from_arrays(z[of_day], c[of_day], weights=None if w is None else w[of_day])
        assert counts == expected
    assert monitor.n_rows == monitor.total.n_rows == len(z)
    assert len(monitor) == 10
    np.testing.assert_array_equal(monitor.total.cells, BinnedCounts.from_arrays(z, c).cells)


def test_batches_of_any_size_and_order_give_the_same():
    z, c, seconds = stream()
    whole, parts, by_time = filled(), CalibrationMonitor(window="1d"), CalibrationMonitor(window="1d")
    for rows in np.array_split(np.random.default_rng(3).permutation(len(z)), 17):
        parts.add(z[rows], c[rows], time=as_dates(seconds[rows]))
    for d, day in enumerate(DAYS):
        rows = seconds // 86400 == d
        by_time.add(z[rows], c[rows], time=str(day.date()) if d % 2 else day + timedelta(hours=5))
    assert_same(parts, whole)
    assert_same(by_time, whole)


def test_numbers_as_times():
    z, c, seconds = stream()
    monitor = CalibrationMonitor(5, window=86400)
    monitor.add(z, c, time=seconds)
    assert list(monitor.windows) == [86400 * d for d in range(10)]
    assert monitor.counts(86400, 3 * 86400).n_rows == ((seconds >= 86400) & (seconds < 3 * 86400)).sum()
    tenths = CalibrationMonitor(window=0.1)
    tenths.add([0, 1], [0.2, 0.7], time=[0.05, 0.35])
    tenths.add([0, 1, 1], [0.2, 0.7, 0.9], time=[0.3, 0.6, 0.7])
    assert list(tenths.windows) == [0, 0.3, 0.6, 0.7]  # as one writes it, though 3 * 0.1 is another float
    assert tenths.counts(0.3, 0.4).n_rows == 2
    assert tenths.counts(0.1 + 0.2, 0.6).n_rows == 2
    assert tenths.counts(0.7).n_rows == tenths.counts(0.6, 0.7).n_rows == 1
    with pytest.raises(ValueError, match=r"nearest are 0\.3 and 0\.4"):
        tenths.counts(0.33)


def test_a_batch_of_many_windows():
    """More windows than ranks of 8 and of 16 bits tell apart, close together and far apart."""
    from bayescal.monitoring.windowed import _ranked

    times = np.random.default_rng(5).permutation(np.arange(600) // 2)
    monitor = CalibrationMonitor(window=1)
    monitor.add(times % 2, np.full(600, 0.5), time=times)
    assert [(start, counts.n_rows, counts.k.sum()) for start, counts in monitor.windows.items()] == [
        (k, 2, 2 * (k % 2)) for k in range(300)
    ]
    for numbers in (np.arange(70_000), np.arange(5) * 10**15 - 10**9, np.arange(65_536) - 40_000):
        found, ranks = _ranked(numbers[::-1])
        np.testing.assert_array_equal(found, numbers)
        np.testing.assert_array_equal(ranks, np.arange(len(numbers))[::-1])


def test_one_total_without_windows():
    z, c, _ = stream()
    monitor = CalibrationMonitor()
    assert (len(monitor), monitor.n_rows, bool(monitor), dict(monitor.windows)) == (0, 0, True, {})
    monitor.add(z, c)
    monitor.add_counts(BinnedCounts.from_arrays(z, c))
    assert monitor.total == BinnedCounts.from_arrays(z, c) + BinnedCounts.from_arrays(z, c)
    assert list(monitor.windows) == [None]
    assert monitor.evaluate(draws=50, rng=1).counts == monitor.total


def test_targets_and_matrices():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    monitor = CalibrationMonitor(window=1, target="top-label")
    monitor.add_predictions(Predictions.from_labels(y, p), time=0)
    assert monitor.windows[0] == BinnedCounts.from_predictions(Predictions.from_labels(y, p))
    with pytest.raises(ValueError, match=r"one number per row.*from_labels"):
        monitor.add(y, p, time=0)
    with pytest.raises(ValueError, match=r"'event' do not belong.*'top-label'"):
        monitor.add_predictions(Predictions.from_labels([0, 1], [0.2, 0.7]), time=0)
    with pytest.raises(TypeError, match="must be Predictions"):
        monitor.add_predictions(p, time=0)


REFUSED = {
    "no time": (lambda m: m.add([0, 1], [0.2, 0.7]), TypeError, "`time` is needed.*1 day"),
    "a number": (lambda m: m.add([0, 1], [0.2, 0.7], time=3), TypeError, "a date.*1 day"),
    "a zone": (lambda m: m.add([0, 1], [0.2, 0.7], time=datetime.now(UTC)), TypeError, "same kind as earlier times"),
    "length": (lambda m: m.add([0, 1], [0.2, 0.7], time=[DAYS[0]]), ValueError, "`time` has 1, `outcome` has 2"),
    "a gap": (lambda m: m.add([0, 1], [0.2, 0.7], time=[DAYS[0], None]), ValueError, "first at index 1"),
    "labels": (lambda m: m.add([0, 2], [0.2, 0.7], time=DAYS[0]), ValueError, "`y_true`"),
    "range": (lambda m: m.add([0, 1], [0.2, 7], time=DAYS[0]), ValueError, "`y_prob`"),
    "weights": (
        lambda m: m.add([0, 1], [0.2, 0.7], time=DAYS[:2], weights=[1, 0]),
        ValueError,
        "`weights` are all zero.*2026-03-02",
    ),
    "bins": (lambda m: m.add_counts(BinnedCounts.from_arrays([1], [0.5], bins=3), time=DAYS[0]), ValueError, "edges"),
    "target": (
        lambda m: m.add_counts(BinnedCounts.from_arrays([1], [0.5], target="event"), time=DAYS[0]),
        ValueError,
        "'event'",
    ),
    "no counts": (lambda m: m.add_counts([1], time=DAYS[0]), TypeError, "BinnedCounts"),
    "counts of a column": (
        lambda m: m.add_counts(BinnedCounts.from_arrays([1], [0.5]), time=[DAYS[0]]),
        TypeError,
        "`time` must be",
    ),
    "start": (lambda m: m.counts("2026-03-02T05:00"), ValueError, "nearest are 2026-03-02 and 2026-03-03"),
    "order": (lambda m: m.counts(DAYS[3], DAYS[3]), ValueError, "`end` must be after `start`"),
    "nothing there": (lambda m: m.evaluate("2027-01-01"), ValueError, r"no rows in \[start, end\).*3000 rows"),
    "one bound": (lambda m: m.change(DAYS[0]), TypeError, r"`baseline` must be a pair"),
    "a bad bound": (lambda m: m.change((DAYS[0], 3)), TypeError, r"`baseline`: `end` must be a date"),
    "overlap": (lambda m: m.change((DAYS[0], None)), ValueError, "share 1, first at 2026-03-10"),
    "no baseline": (lambda m: m.change(now=(None, None)), ValueError, "no rows in `baseline`"),
    "empty baseline": (lambda m: m.change(BinnedCounts.empty()), ValueError, "`baseline` has no rows"),
    "other bins": (lambda m: m.change(BinnedCounts.from_arrays([1], [0.5], bins=3)), ValueError, "edges"),
    "rope": (lambda m: m.change(rope=-1), ValueError, "`rope`"),
    "an option": (lambda m: m.evaluate(n_draws=3), TypeError, r"The number of draws is `.*draws=4000\)`"),
    "forget within": (lambda m: m.forget("2026-03-02T01:00"), ValueError, "`before` must be where"),
    "other window": (lambda m: m + CalibrationMonitor(window="2d"), ValueError, "same window.*1 day and 2 days"),
    "other bins sum": (lambda m: m + CalibrationMonitor(3, window="1d"), ValueError, "same bins"),
    "other target": (lambda m: m + CalibrationMonitor(window="1d", target="event"), ValueError, "same target"),
    "a number added": (lambda m: m + 3, TypeError, "unsupported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name):
    call, error, said = REFUSED[name]
    monitor = filled()
    before = copy.deepcopy(monitor)
    with pytest.raises(error, match=said):
        call(monitor)
    assert monitor == before
    monitor.add([1], [0.5], time=DAYS[0])
    assert monitor != before


def test_a_first_batch_that_is_refused_does_not_choose_the_kind_of_time():
    monitor = CalibrationMonitor(window="1d")
    with pytest.raises(ValueError, match="`y_true`"):
        monitor.add([0, 2], [0.2, 0.7], time=datetime.now(UTC))
    monitor.add([0, 1], [0.2, 0.7], time=DAYS[0])
    assert list(monitor.windows) == [DAYS[0]]


def test_without_windows_times_are_refused():
    monitor = CalibrationMonitor()
    for call in (lambda: monitor.add([1], [0.5], time=3), lambda: monitor.counts(3), lambda: monitor.forget(3)):
        with pytest.raises(ValueError, match="without windows"):
            call()
    monitor.add([1], [0.5])
    for call in (monitor.track, monitor.change):
        with pytest.raises(ValueError, match="needs windows"):
            call()


def test_counts_of_a_span_are_those_of_its_rows():
    monitor, (_, _, seconds) = filled(), stream()
    for start, end in ((0, 3), (2, 9), (None, 4), (7, None), (None, None)):
        bounds = [None if d is None else DAYS[d] for d in (start, end)]
        low, high = 0 if start is None else start, 10 if end is None else end
        assert monitor.counts(*bounds).n_rows == ((seconds >= 86400 * low) & (seconds < 86400 * high)).sum()
    assert monitor.counts("2026-03-11").n_rows == 0
    assert monitor.counts(np.datetime64("2026-03-02"), "2026-03-03") == monitor.windows[DAYS[1]]


def test_what_is_handed_out_does_not_change_the_monitor():
    monitor = filled()
    with pytest.raises(TypeError):
        monitor.windows[DAYS[0]] = None
    with pytest.raises(ValueError, match="read-only"):
        monitor.total.cells[0] += 1


# --- forgetting, merging, keeping


def test_forgetting_drops_old_windows_and_takes_no_more_rows_of_them():
    monitor = filled()
    kept = monitor.counts(DAYS[4])
    monitor.forget(DAYS[4])
    assert list(monitor.windows) == DAYS[4:]
    assert monitor.total == kept
    for call in (
        lambda: monitor.add([1], [0.5], time=DAYS[3]),
        lambda: monitor.counts(DAYS[3]),
        lambda: monitor + filled(seed=2),
        lambda: filled(seed=2) + monitor,
    ):
        with pytest.raises(ValueError, match="forgot"):
            call()
    other = filled(seed=2)
    other.forget(DAYS[2])
    other.forget(DAYS[5])
    other.forget(DAYS[2])  # what is forgotten stays so
    with pytest.raises(ValueError, match="2026-03-06: the windows before it are forgotten"):
        other.add([1], [0.5], time=DAYS[3])
    monitor.forget(DAYS[5])
    assert list((monitor + other).windows) == DAYS[5:]
    early, late = CalibrationMonitor(window="1d"), CalibrationMonitor(window="1d")
    early.forget(DAYS[2])
    late.forget(DAYS[5])
    for both in (monitor + other, early + late, late + early, late + CalibrationMonitor(window="1d")):
        with pytest.raises(ValueError, match="forgot"):
            both.add([1], [0.5], time=DAYS[4])


def test_workers_add_up_to_the_single_monitor(tmp_path):
    """Each worker sees some rows, saves, and is merged from its file: integer for integer the single monitor."""
    z, c, seconds = stream()
    paths = []
    for worker in range(4):
        monitor = CalibrationMonitor(window="1d")
        monitor.add(z[worker::4], c[worker::4], time=as_dates(seconds[worker::4]))
        paths.append(monitor.save(tmp_path / f"{worker}.json"))
    merged = sum(map(CalibrationMonitor.load, paths))
    assert_same(merged, filled())
    assert (CalibrationMonitor(window="1d") + merged) == merged == (merged + CalibrationMonitor(window="1d"))
    parts = [CalibrationMonitor.load(path) for path in paths]
    total = sum(parts)
    parts[0].add([1], [0.5], time=DAYS[0])  # what was added up stays
    assert_same(total, merged)
    alone = sum([parts[1]])
    parts[1].add([1], [0.5], time=DAYS[0])
    assert alone.n_rows == parts[1].n_rows - 1


def utc_monitor():
    monitor = CalibrationMonitor([0, 0.5, 1], window="6h", target="event")
    monitor.add([0, 1], [0.2, 0.7], time=[datetime(1969, 12, 31, 23, tzinfo=UTC), datetime(2026, 3, 1, 6, tzinfo=UTC)])
    return monitor


def float_monitor():
    monitor = CalibrationMonitor(window=0.1)
    monitor.add([0, 1, 1], [0.2, 0.7, 0.1], time=[-0.05, 0.35, 12345.6], weights=[1, 2, 0.5])
    return monitor


def forgetful():
    monitor = filled()
    monitor.forget(DAYS[4])
    return monitor


def total():
    monitor = CalibrationMonitor()
    monitor.add([0, 1], [0.2, 0.7])
    return monitor


MONITORS = {
    "days": filled,
    "utc": utc_monitor,
    "floats": float_monitor,
    "forgetful": forgetful,
    "total": total,
    "new": lambda: CalibrationMonitor(window="1d"),
    "new total": CalibrationMonitor,
}


@pytest.mark.parametrize("name", MONITORS)
def test_a_monitor_comes_back_as_it_was(tmp_path, name):
    monitor = MONITORS[name]()
    path = monitor.save(tmp_path / "state.json")
    again = CalibrationMonitor.load(path)
    assert again == monitor == pickle.loads(pickle.dumps(monitor))
    assert list(again.windows) == list(monitor.windows)
    assert again.window == monitor.window
    assert again.bins.kind == monitor.bins.kind
    assert str(again) == str(monitor)
    assert again.save(tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema",), "bayescal.counts/1", "something else"),
        (("schema",), "bayescal.monitor/3", "Update"),
        (("schema",), "bayescal.monitor/1", "Make the document again"),
        (("extra",), 1, "'extra'.* unknown"),
        (("target",), "x", "`target`"),
        (("time",), None, "does not fit"),
        (("time",), "utc", "same kind as earlier times"),
        (("time",), "number", "must be a number|kind|a date"),
        (("window",), None, "does not fit"),
        (("window",), {"microseconds": 0}, "> 0"),
        (("window",), {"microseconds": 1.5}, "integer"),
        (("window",), {"number": 86400}, "a number"),
        (("window",), {}, "one length"),
        (("window",), {"microseconds": 7 * 86400 * 10**6}, "where a window"),
        (("windows",), {}, "array"),
        (("windows", 0), 3, "an object"),
        (("windows", 0, "start"), "2026-03-01T01:00:00", r"windows\[0\].start` must be where"),
        (("windows", 1, "start"), "2026-03-01T00:00:00", r"windows\[1\].start` must be after"),
        (("windows", 2, "cells", 0, 3), -1, r"windows\[2\].cells` must hold integers"),
        (("windows", 2, "rows"), 7, r"windows\[2\].rows"),
        (("forgotten_before",), "2026-03-02T00:00:00", "forgotten"),
        (("forgotten_before",), "2026-03-01T03:00:00", "forgotten_before"),
        (("bins", "number"), 14, "shape"),
    ],
)
def test_a_wrong_state_is_refused_with_its_name(tmp_path, path, value, said):
    file = filled().save(tmp_path / "state.json")
    document = json.loads(file.read_text())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=said) as raised:
        CalibrationMonitor.load(file)
    assert str(raised.value).startswith(f"'{file}'")


@pytest.mark.parametrize(("window", "time"), [(None, "naive"), ("1d", "number"), (1, "utc")])
def test_a_state_without_rows_must_fit_too(tmp_path, window, time):
    file = CalibrationMonitor(window=window).save(tmp_path / "state.json")
    file.write_text(file.read_text().replace('"time": null', f'"time": "{time}"'))
    with pytest.raises(ValueError, match="`time`"):
        CalibrationMonitor.load(file)


# --- what is asked


def test_an_evaluation_of_a_span_is_that_of_its_counts():
    monitor = filled()
    ev = monitor.evaluate(DAYS[2], DAYS[5], draws=100, rng=1)
    expected = bc.evaluate_counts(monitor.counts(DAYS[2], DAYS[5]), draws=100, rng=1)
    np.testing.assert_array_equal(ev.ece.values, expected.ece.values)


def test_a_track_has_each_window_and_plots():
    from matplotlib.figure import Figure

    monitor = filled()
    track = monitor.track(DAYS[1], DAYS[4], draws=100, rng=1)
    assert list(track) == DAYS[1:4]
    assert track.overall.counts == monitor.counts(DAYS[1], DAYS[4])
    assert track[DAYS[2]].counts == monitor.windows[DAYS[2]]
    assert track.names == ("2026-03-02", "2026-03-03", "2026-03-04")
    again = bc.evaluate_counts(monitor.windows[DAYS[2]], draws=100, rng=track.seeds[DAYS[2]])
    np.testing.assert_array_equal(track[DAYS[2]].ece.values, again.ece.values)
    labels = [t.get_text() for t in bc.plot_forest(track, Figure().subplots()).get_yticklabels()]
    assert labels[0].startswith("2026-03-02 (n = ")
    assert [row["group"] for row in track.table()] == DAYS[1:4]


def drifting():
    """Calibrated for three windows, then over-confident: the true ECE is 0, then 0.1."""
    monitor = CalibrationMonitor(window=1, target="event")
    for window in range(6):
        strength = 1.0 if window < 3 else 2.0
        rows = simulate(1500, population="top", curve="temperature", strength=strength, rng=window)
        monitor.add(rows.outcome, rows.confidence, time=window)
    return monitor


def test_a_change_is_now_minus_baseline():
    monitor = drifting()
    truth = [simulate(1, population="top", curve="temperature", strength=s).true_ece() for s in (1.0, 2.0)]
    change = monitor.change((0, 3), (3, 6), rng=1)
    assert change.names == ("now", "baseline")
    low, high = change.difference().interval(0.99)
    assert low < truth[1] - truth[0] < high
    assert low > 0.05
    assert change["now"].counts == monitor.counts(3, 6)
    assert change["baseline"].counts == monitor.counts(0, 3)
    assert change.verdict() == "The ECE has risen by more than 0.01"
    assert "P(risen by more than 0.01) = 1.00; P(equal within 0.01) = 0.00" in change.sentence()
    assert f"now minus baseline {change.difference().mean():.3f}" in change.sentence()
    back = monitor.change((3, 6), (0, 3), rng=1)
    assert back.verdict() == "The ECE has fallen by more than 0.01"
    np.testing.assert_allclose(back.difference().mean(), -change.difference().mean(), atol=0.005)
    same = monitor.change((4, 6), (3, 4), rng=1, rope=0.1)
    assert same.verdict() == "The ECE is practically unchanged"
    likely = float(np.quantile(np.abs(same.difference().values), 0.8))  # equal within it with probability 0.8
    assert "It is uncertain whether" in monitor.change((4, 6), (3, 4), rng=1, rope=likely).verdict()
    unsure = monitor.change((4, 6), (3, 4), rng=1, rope=0.0)
    assert unsure.verdict() == "It is uncertain whether the ECE has risen or fallen"
    assert "by more than" not in unsure.sentence()


def test_how_a_change_prints():
    change = drifting().change((0, 3), (3, 6), rng=1, draws=500)
    text = str(change)
    assert text.startswith("The ECE has risen by more than 0.01 (now minus baseline")
    for line in ("baseline [0, 3)  4500", "now [3, 6)       4500", "now - baseline"):
        assert line in text
    assert change.spec.startswith("now [3, 6), N = 4500, against baseline [0, 3), N = 4500: event ECE, 15 equal-width")
    assert "<table>" in change._repr_html_()
    assert repr(change) == f"Change({change.spec})"
    rows = [text.index(line) for line in ("baseline [0, 3)  ", "now [3, 6)  ", "now - baseline  ")]
    assert rows == sorted(rows)
    # ever further below 0: the signed difference falls, its size rises
    assert change.difference(estimand="signed_error").mean() < -0.05
    assert "The size of the signed error has risen" in change.sentence(estimand="signed_error")
    assert "now minus baseline 0.1" in change.sentence(estimand="signed_error")
    assert change.sentence(0.5).count("50 % credible interval") == 1


def test_a_change_without_arguments_is_the_last_window_against_all_before():
    monitor = drifting()
    change = monitor.change(rng=1, draws=100)
    assert change["now"].counts == monitor.windows[5]
    assert change["baseline"].counts == monitor.counts(0, 5)
    explicit = monitor.change((None, 5), (5, None), rng=1, draws=100)
    np.testing.assert_array_equal(change.difference().values, explicit.difference().values)


def test_the_test_set_as_baseline():
    monitor = drifting()
    rows = simulate(4000, population="top", rng=99)
    counts = BinnedCounts.from_arrays(rows.outcome, rows.confidence, target="event")
    change = monitor.change(counts, rng=1, draws=500)
    assert change["baseline"].counts == counts
    assert "has risen" in change.verdict()
    assert "baseline counts" in str(change)


def test_two_times_are_independent():
    drawn = drifting().change((3, 5), (5, 6), rng=1).draws().values
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / np.sqrt(len(drawn))


@pytest.mark.measuring
@pytest.mark.parametrize(("strength", "seed"), [(1.0, 10), (2.0, 11)], ids=["calibrated", "over-confident"])
def test_false_alarms_of_a_single_look(strength, seed):
    """A stream that does not change: how often does the 95 % interval of the change exclude 0?

    5 % of looks, or 2.5 of 50, and fewer where both are calibrated. With p = 0.05, 9 or more of 50 have probability
    0.0008 (binomial). In 150 longer runs each, shares were 0 to 0.07.
    """
    from scipy.stats import binom

    rng = np.random.default_rng(seed)
    assert binom.sf(8, 50, 0.05) < 0.001
    monitor = CalibrationMonitor(window=1)
    for window in range(50):
        rows = simulate(600, population="top", curve="temperature", strength=strength, rng=rng)
        monitor.add(rows.outcome, rows.confidence, time=2 * window)
        rows = simulate(300, population="top", curve="temperature", strength=strength, rng=rng)
        monitor.add(rows.outcome, rows.confidence, time=2 * window + 1)
    alarms = 0
    for k in range(0, 100, 2):
        change = monitor.change((k, k + 1), (k + 1, k + 2), rng=rng, draws=400)
        low, high = change.difference().interval(0.95)
        alarms += not low <= 0 <= high
    assert alarms <= 8


# --- how it prints


def test_how_a_monitor_prints():
    monitor = filled(bins=4, target="event")
    assert repr(monitor) == (
        "CalibrationMonitor(event, 4 equal-width bins [a, b), 3000 rows in 10 windows of 1 day, "
        "2026-03-01 to 2026-03-10)"
    )
    z, c, seconds = stream()
    of_day = seconds // 86400 == 9
    line = next(line for line in str(monitor).splitlines() if "2026-03-10" in line and "rows" not in line)
    plug_in = bc.plug_in_ece(z[of_day], c[of_day], bins=4)
    expected = [str(of_day.sum()), *(f"{x:.4f}" for x in (z[of_day].mean(), c[of_day].mean(), plug_in))]
    assert line.split() == ["2026-03-10", *expected]
    assert "not shown" not in str(monitor)
    monitor.add([1], [0.5], time="2026-03-11")
    assert "1 earlier window is not shown." in str(monitor)
    assert "<table>" in monitor._repr_html_()


def test_how_the_smallest_monitors_print():
    monitor = CalibrationMonitor(3, window="1d")
    assert repr(monitor) == "CalibrationMonitor(confidence, 3 equal-width bins [a, b), no rows yet, windows of 1 day)"
    monitor.add_counts(BinnedCounts.empty(3), time=DAYS[0])
    assert "no rows yet" in str(monitor)
    monitor.add([1], [0.5], time=DAYS[0])
    assert repr(monitor).endswith("1 row in 1 window of 1 day, 2026-03-01)")
    assert repr(total()) == "CalibrationMonitor(confidence, 15 equal-width bins [a, b), 2 rows)"
    assert "all rows" in str(total())


def test_weeks_that_begin_on_a_monday(tmp_path):
    """2 March 2026 is a Monday; without an origin, weeks begin on a Thursday."""
    monitor = CalibrationMonitor(bins=2, window="1w", origin="2026-03-02")
    for day in ("2026-03-01", "2026-03-02", "2026-03-08", "2026-03-09"):
        monitor.add([1], [0.7], time=day)
    assert [(start.day, counts.n_rows) for start, counts in monitor.windows.items()] == [(23, 1), (2, 2), (9, 1)]
    assert monitor.origin == datetime(1970, 1, 5)
    assert monitor.counts("2026-03-02", "2026-03-09").n_rows == 2
    loaded = CalibrationMonitor.load(monitor.save(tmp_path / "state.json"))
    assert loaded == monitor
    assert loaded.origin == monitor.origin
    assert (monitor + loaded).n_rows == 8
    thursdays = CalibrationMonitor(bins=2, window="1w")
    assert thursdays != CalibrationMonitor(bins=2, window="1w", origin="2026-03-02")
    with pytest.raises(ValueError, match="only with the same window") as caught:
        monitor + thursdays
    assert "7 days from 1970-01-05" in str(caught.value)
    with pytest.raises(ValueError, match="`start` must be where a window of 7 days begins"):
        monitor.counts("2026-03-05")


def test_an_origin_at_a_multiple_of_the_length_changes_nothing():
    monitor = CalibrationMonitor(window="1d", origin="2026-03-02")
    assert monitor == CalibrationMonitor(window="1d")
    monitor.add([1], [0.7], time="2026-03-01T05:00+00:00")  # no window moves, so any kind of time may come
    assert CalibrationMonitor(window=2, origin=4).origin == 0
    assert CalibrationMonitor().origin is None


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"origin": 3}, ValueError, "`origin` has no meaning without windows"),
        ({"window": "1w", "origin": 3}, TypeError, "`origin` must be a date"),
        ({"window": 2, "origin": "2026-03-02"}, TypeError, "`origin` must be a number"),
        ({"window": "1w", "origin": "monday"}, ValueError, "`origin` must be a time like"),
        ({"window": 2, "origin": float("inf")}, ValueError, "`origin` must be finite"),
    ],
)
def test_origins_that_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        CalibrationMonitor(**options)


def test_times_are_of_the_kind_of_the_origin():
    monitor = CalibrationMonitor(window="1w", origin="2026-03-02T00:00+01:00")
    assert monitor.origin == datetime(1970, 1, 4, 23, tzinfo=UTC)
    with pytest.raises(TypeError, match="of the same kind as `origin`, times with a zone"):
        monitor.add([1], [0.7], time="2026-03-02")
    assert monitor.add([1], [0.7], time="2026-03-02T00:00+01:00").n_rows == 1


@pytest.mark.parametrize("origin", [-1, 604_800_000_000, 1.5, True, "a"])
def test_a_stored_origin_must_fit_its_windows(tmp_path, origin):
    path = CalibrationMonitor(window="1w", origin="2026-03-02").save(tmp_path / "state.json")
    document = json.loads(path.read_text())
    assert document["window"]["origin"] == 4 * 86_400_000_000
    document["window"]["origin"] = origin
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"`window\.origin` must"):
        CalibrationMonitor.load(path)
