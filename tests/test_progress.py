"""The progress bar: only for long work, on a terminal, or if it is asked for."""

import sys

import numpy as np
import pytest

import bayescal as bc
from bayescal import _loops
from bayescal._progress import bar
from bayescal.posterior.shrinkage.model import wait_for_compilation


def rows(n=600):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(int), p


Y, P = rows()

FAST = {"draws": 200, "rng": 1}

EV = bc.evaluate(Y, P, **FAST)

MONITOR = bc.monitoring.CalibrationMonitor(window="1d", target="event")
for _day in range(3):
    MONITOR.add(Y[_day::3], P[_day::3], time=f"2026-03-0{_day + 1}")


class Terminal:
    """Standard error that is a terminal."""

    encoding = "utf-8"

    def __init__(self):
        self.written = ""

    def write(self, text):
        self.written += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


def evaluations(**options):
    return [
        bc.evaluate(Y, P, by=np.arange(600) % 20, draws=50, rng=1, **options),
        bc.evaluate_counts(dict.fromkeys(range(20), EV.counts), draws=50, rng=1, **options),
        bc.evaluate(np.arange(600) % 20, np.full((600, 20), 0.05), target="classwise", draws=50, rng=1, **options),
        MONITOR.track(draws=50, rng=1, **options),
    ]


@pytest.mark.slow
def test_short_work_shows_no_bar(monkeypatch, capsys):
    evaluations()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("bayescal._progress.SECONDS_BEFORE_BAR", 1e6)
    evaluations()
    assert sys.stderr.written == ""


@pytest.mark.slow
def test_long_work_shows_a_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("bayescal._progress.SECONDS_BEFORE_BAR", 0.0)
    evaluations()
    assert sys.stderr.written.count("Evaluating groups") >= 3
    assert "Evaluating classes" in sys.stderr.written
    assert capsys.readouterr().out == ""
    sys.stderr.written = ""
    evaluations(progress=False)
    assert sys.stderr.written == ""


@pytest.mark.slow
def test_a_bar_that_is_asked_for_without_a_terminal_is_lines(capsys):
    first, *_ = evaluations(progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line for line in err.splitlines() if "groups" in line][:10] == [
        f"Evaluating groups: {done} of 20" for done in range(2, 21, 2)
    ]
    assert first.table() == evaluations()[0].table()


def test_what_progress_can_be():
    with pytest.raises(TypeError, match="`progress` must be True, False or None, not 'yes'"):
        bc.evaluate(Y, P, by=np.arange(600) % 2, progress="yes", **FAST)


def test_the_wait_for_compilation_is_announced_before_the_work(tmp_path, monkeypatch, capsys):
    """The cache is empty, then holds a loop; nothing is compiled here."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_loops, "in_cache", _loops.in_cache.__wrapped__)
    assert wait_for_compilation(compiled=False) == ""
    message = wait_for_compilation(compiled=True)
    assert message == "Loops are compiled and stored, once, which takes about half a minute."
    with bar(2, "Work", True, message) as advance:
        assert capsys.readouterr().err == f"{message}\n"
        advance()
    with bar(2, "Work", False, message):
        assert capsys.readouterr().err == "Work: 1 of 2\n"  # of the first bar only
    (tmp_path / "compiled_0123").mkdir()
    version = f"{sys.version_info[0]}{sys.version_info[1]}"
    (tmp_path / "compiled_0123" / f"problem.integrate-1.py{version}.nbi").touch()
    assert wait_for_compilation(compiled=True) == ""
