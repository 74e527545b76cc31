"""If threads or processes share a monitor, no batch is lost, split or counted twice."""

import contextlib
import copy
import os
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest

from bayescal import BinnedCounts, CalibrationMonitor, Predictions, _files
from bayescal.monitoring.windowed import WindowedCounts

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches():
    """Switch threads every microsecond, so that unprotected code soon loses batches."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def together(*works):
    """Run functions in threads that start at the same moment; raise the first exception."""
    start = threading.Barrier(len(works))

    def run(work):
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, work) for work in works]]


def rows(seed):
    """Return 100 batches of 3 rows in windows 0 to 4."""
    rng = np.random.default_rng(seed)
    shape = (100, 3)
    return rng.integers(0, 2, shape), rng.random(shape), rng.integers(0, 5, shape)


@pytest.mark.slow
def test_all_rows_of_all_threads_are_held():
    monitor = CalibrationMonitor(bins=4, window=1)
    batches = [rows(seed) for seed in range(THREADS)]

    def work(batch):
        for z, c, t in zip(*batch, strict=True):
            monitor.add(z, c, time=t)

    together(*(lambda batch=batch: work(batch) for batch in batches))
    z, c, t = (np.concatenate([batch[i] for batch in batches]).ravel() for i in range(3))
    assert monitor.n_rows == len(z) == 2400
    for window, counts in monitor.windows.items():
        there = t == window
        expected, *_ = np.histogram2d(z[there], c[there], bins=[[0, 1, 2], np.arange(5) / 4])
        np.testing.assert_array_equal(counts.cells, expected)


def test_all_ways_to_change_a_monitor_at_once():
    """Three methods add rows while other threads forget windows that receive no rows."""
    monitor = CalibrationMonitor(bins=2, window=1)
    for window in range(-100, 0):
        monitor.add([1], [0.5], time=window)
    counts = BinnedCounts.from_arrays([0, 1], [0.2, 0.7], bins=2)
    predictions = Predictions.from_outcomes([0, 1], [0.2, 0.7])
    adds = [
        lambda i: monitor.add([0, 1], [0.2, 0.7], time=i % 3),
        lambda i: monitor.add_predictions(predictions, time=i % 3),
        lambda i: monitor.add_counts(counts, time=i % 3),
        lambda i: monitor.forget(i - 99),
    ]
    together(*(lambda add=add: [add(i) for i in range(100)] for add in 2 * adds))
    assert list(monitor.windows) == [0, 1, 2]
    assert monitor.n_rows == 6 * 100 * 2
    with pytest.raises(ValueError, match="forgotten"):
        monitor.add([1], [0.5], time=-1)


@pytest.mark.slow
def test_states_saved_and_read_while_others_add_are_whole(tmp_path):
    """Each batch has a row in both windows; a saved or printed state never contains only one of them."""
    monitor, path = CalibrationMonitor(bins=2, window=1), tmp_path / "state.json"
    done = threading.Event()

    def work():
        for _ in range(150):
            monitor.add([0, 1], [0.2, 0.7], time=[0, 1])

    def look():
        seen = []
        while not done.is_set() or not seen:
            monitor.save(path)
            seen.append([counts.n_rows for counts in CalibrationMonitor.load(path).windows.values()])
            assert monitor.total.n_rows % 2 == 0
            assert len(set(copy.copy(monitor).windows)) in (0, 2)
            assert len(monitor.evidence()) in (0, 2)
            with contextlib.suppress(ValueError):  # no rows yet
                monitor.track(draws=10, rng=1)
        return seen

    def all_works():
        together(work, work, work)
        done.set()

    _, seen = together(all_works, look)
    assert all(len(set(n)) < 2 for n in seen)
    assert seen == sorted(seen)
    assert monitor.save(path) == path
    assert CalibrationMonitor.load(path) == monitor
    assert monitor.n_rows == 900


def test_an_older_state_does_not_replace_a_newer_one(tmp_path, monkeypatch):
    monitor, path = CalibrationMonitor(), tmp_path / "state.json"
    monitor.add([1], [0.5])
    write, waits, may_go = _files.write_atomically, threading.Event(), threading.Event()

    def slow(path, text):
        if not waits.is_set():
            waits.set()
            may_go.wait(20)
        return write(path, text)

    monkeypatch.setattr(_files, "write_atomically", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(monitor.save, path)
        waits.wait(20)
        monitor.add([1], [0.5])
        second = pool.submit(monitor.save, path)
        with contextlib.suppress(TimeoutError):
            second.result(0.2)
        may_go.set()
        first.result()
        second.result()
    assert CalibrationMonitor.load(path).n_rows == 2


MEANWHILE = {
    "kind": (lambda m: m.add([1], [0.5], time=datetime(2026, 3, 1, tzinfo=UTC)), TypeError, "times with a zone"),
    "forgotten": (lambda m: m.forget("2026-03-02"), ValueError, "must not be before 2026-03-02"),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_what_happens_while_a_batch_is_counted_is_seen(monkeypatch, name):
    """A batch is counted before the lock is acquired and must be checked against the state after that."""
    call, error, said = MEANWHILE[name]
    monitor, count = CalibrationMonitor(window="1d"), BinnedCounts.from_predictions

    def interrupted(predictions, **options):
        monkeypatch.setattr(BinnedCounts, "from_predictions", count)
        together(lambda: call(monitor))
        return count(predictions, **options)

    monkeypatch.setattr(BinnedCounts, "from_predictions", interrupted)
    with pytest.raises(error, match=said):
        monitor.add([0, 1], [0.2, 0.7], time="2026-03-01")
    expected = CalibrationMonitor(window="1d")
    call(expected)
    assert monitor == expected


def test_threads_count_at_the_same_time(monkeypatch):
    """Two batches are counted at the same time, because the lock is not held while counting."""
    monitor, count, both = CalibrationMonitor(), BinnedCounts.from_predictions, threading.Barrier(2)

    def met(predictions, **options):
        both.wait(20)
        return count(predictions, **options)

    monkeypatch.setattr(BinnedCounts, "from_predictions", met)
    together(*[lambda: monitor.add([0, 1], [0.2, 0.7])] * 2)
    assert monitor.n_rows == 4


@pytest.mark.slow
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: m + 0])
def test_copies_are_monitors_of_their_own(way):
    monitor = CalibrationMonitor()
    monitor.add([0, 1], [0.2, 0.7])
    with monitor._saving:  # a copy that is made meanwhile is not locked
        made = way(monitor)
    together(*[lambda: [made.add([0, 1], [0.2, 0.7]) for _ in range(50)]] * THREADS)
    assert monitor.n_rows == 2
    assert made.n_rows == 2 + 2 * 50 * THREADS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_in_the_middle_of_a_change_is_not_stuck(tmp_path):
    monitor = CalibrationMonitor()
    with monitor._changing, monitor._saving, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads, as tested here
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(30)
                monitor.add([1], [0.5]).save(tmp_path / "state.json")
            finally:
                os._exit(not (tmp_path / "state.json").exists())
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert CalibrationMonitor.load(tmp_path / "state.json").n_rows == 1


@pytest.mark.parametrize("outer", ["add", "save"])
def test_a_signal_handler_may_add_and_save_while_its_thread_does(tmp_path, monkeypatch, outer):
    """As who is told to end and saves the last batch; what the handler added stays."""
    monitor, path = CalibrationMonitor(), tmp_path / "state.json"
    place = {"add": (WindowedCounts, "with_batch"), "save": (_files, "write_atomically")}[outer]
    undisturbed = getattr(*place)

    def interrupted(*arguments):
        monkeypatch.setattr(*place, undisturbed)
        handler()
        return undisturbed(*arguments)

    def handler():
        monitor.add([0, 1], [0.5, 0.5]).save(path)

    def main():
        monitor.add([1], [0.25]) if outer == "add" else monitor.save(path)

    monkeypatch.setattr(*place, interrupted)
    working = threading.Thread(target=main, daemon=True)
    working.start()
    working.join(20)
    assert not working.is_alive()
    assert monitor.n_rows == {"add": 3, "save": 2}[outer]
