"""Plots of evidence and of confidence sequences: what is drawn, what is refused, and that it fits its space."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import date2num
from matplotlib.figure import Figure

import bayescal as bc


@pytest.fixture(scope="module")
def monitor():
    """Ten days of a calibrated classifier, then ten days of one whose events are rarer than stated."""
    rng = np.random.default_rng(1)
    monitor = bc.CalibrationMonitor(window="1d")
    for day in range(20):
        c = rng.random(500)
        z = rng.random(500) < (c if day < 10 else c**1.6)
        monitor.add(z, c, time=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=day))
    return monitor


def drawn(ax, gid):
    (found,) = (each for each in ax.get_children() if each.get_gid() == gid)
    return found


def test_the_line_has_the_evidence_as_exponents_of_ten(monitor):
    evidence = monitor.evidence()
    ax = bc.plot_evidence(evidence, Figure().subplots())
    x, y = drawn(ax, "line").get_data()
    assert list(x) == list(evidence.windows)
    np.testing.assert_allclose(y, np.log10(evidence.values))
    assert drawn(ax, "threshold").get_ydata()[0] == pytest.approx(np.log10(20))
    (at,), (value,) = drawn(ax, "alarm").get_data()
    assert at == evidence.alarm
    assert value == pytest.approx(np.log10(evidence.values[list(evidence.windows).index(at)]))
    assert ax.get_title(loc="left").startswith(f"Alarm in the window {evidence.alarm:%Y-%m-%d} UTC: evidence ")


def test_evidence_without_an_alarm(monitor):
    evidence = monitor.evidence(end="2026-03-11T00:00+00:00")
    ax = bc.plot_evidence(evidence, Figure().subplots())
    assert ax.get_title(loc="left").startswith("No alarm: evidence 0.")
    assert not [each for each in ax.get_children() if each.get_gid() == "alarm"]
    low, high = ax.get_ylim()
    assert low < np.log10(evidence.values.min())
    assert high > np.log10(20)


def test_evidence_beyond_the_range_of_floats():
    monitor = bc.CalibrationMonitor(window=1)
    for time in range(3):
        monitor.add([1] * 2000, [0.3] * 2000, time=time)
    evidence = monitor.evidence()
    assert np.isinf(evidence.values[-1])
    ax = bc.plot_evidence(evidence, Figure().subplots())
    ax.figure.canvas.draw()
    assert drawn(ax, "line").get_ydata()[-1] > 308
    assert "$10^{" in ax.get_yticklabels()[-1].get_text()
    assert "e+" in evidence.sentence()


def test_the_band_has_the_intervals(monitor):
    sequence = monitor.confidence_sequence()
    ax = bc.plot_confidence_sequence(sequence, Figure().subplots(), limit=0.15)
    ends = drawn(ax, "band").get_paths()[0].vertices
    at = {round(float(x), 6): [] for x in date2num(list(sequence.windows))}
    for x, y in ends:
        at[round(float(x), 6)].append(y)
    np.testing.assert_allclose([min(y) for y in at.values()], sequence.low, atol=1e-12)
    np.testing.assert_allclose([max(y) for y in at.values()], sequence.high, atol=1e-12)
    np.testing.assert_allclose(drawn(ax, "line").get_ydata(), sequence.plug_in)
    assert drawn(ax, "limit").get_ydata()[0] == 0.15
    first = next(w for w, high in zip(sequence.windows, sequence.high, strict=True) if high < 0.15)
    assert ax.get_title(loc="left") == f"ECE first below 0.15 in the window {first:%Y-%m-%d} UTC"


def test_titles_of_confidence_sequences(monitor):
    sequence = monitor.confidence_sequence(start="2026-03-11T00:00+00:00")
    titles = [
        bc.plot_confidence_sequence(sequence, Figure().subplots(), limit=limit).get_title(loc="left")
        for limit in (0.01, 0.1, None)
    ]
    assert titles[0].startswith("ECE first above 0.01 in the window 2026-03-1")
    assert titles[1] == "ECE not yet known to be above or below 0.1"
    assert titles[2].startswith("ECE between 0.0")


@pytest.mark.parametrize("size", [(2.4, 1.8), (6.4, 3.8), (14, 3)])
def test_all_words_lie_within_the_figure(monitor, size):
    for plot, result in (
        (bc.plot_evidence, monitor.evidence()),
        (bc.plot_confidence_sequence, monitor.confidence_sequence()),
    ):
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        ax = plot(result, figure.subplots())
        figure.canvas.draw()
        box = ax.get_tightbbox()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda m: bc.plot_evidence(m), TypeError, r"make one with `monitor.evidence\(\)`"),
        (lambda m: bc.plot_evidence(bc.CalibrationMonitor(window=1).evidence()), ValueError, "has no windows"),
        (lambda m: bc.plot_evidence(m.evidence(), ax=3), TypeError, "`ax` must be"),
        (lambda m: bc.plot_evidence(m.evidence(), alarm_color="reddish"), ValueError, "`alarm_color` must be a color"),
        (lambda m: bc.plot_confidence_sequence(m.evidence()), TypeError, r"`monitor.confidence_sequence\(\)`"),
        (lambda m: bc.plot_confidence_sequence(m.confidence_sequence(), limit=2), ValueError, "`limit` must lie"),
    ],
)
def test_what_is_refused(monitor, call, error, said):
    with pytest.raises(error, match=said):
        call(monitor)
