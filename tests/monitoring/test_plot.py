"""Plots of evidence and of confidence sequences: what is drawn, what is refused, and that it fits its space."""

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import date2num
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.monitoring.result import in_e_words


@pytest.fixture(scope="module")
def monitor():
    """Ten days of a calibrated classifier, then ten days of one whose events are rarer than stated."""
    rng = np.random.default_rng(1)
    monitor = bc.monitoring.CalibrationMonitor(window="1d")
    for day in range(20):
        c = rng.random(500)
        z = rng.random(500) < (c if day < 10 else c**1.6)
        monitor.add(z, c, time=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=day))
    return monitor


def words(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax, gid):
    (found,) = (each for each in ax.get_children() if each.get_gid() == gid)
    return found


def test_the_line_has_the_evidence_as_exponents_of_ten(monitor):
    evidence = monitor.evidence()
    ax = bc.plot_evidence(evidence, Figure().subplots())
    x, y = drawn(ax, "line").get_data()
    assert list(x) == list(evidence.windows)
    np.testing.assert_allclose(y, np.log10(evidence.values))
    assert ax.get_ylim()[1] < 10  # evidence reaches 10^17; on an axis up to there, 1 and 20 fall together
    assert f"up to {in_e_words(evidence.log_values.max())} \N{UPWARDS ARROW}" in words(ax)
    assert {"1: no evidence", "alarm at 20"} <= set(words(ax))
    assert drawn(ax, "threshold").get_ydata()[0] == pytest.approx(np.log10(20))
    (at,), (value,) = drawn(ax, "alarm").get_data()
    assert at == evidence.alarm
    assert value == pytest.approx(np.log10(evidence.values[list(evidence.windows).index(at)]))
    assert ax.get_title(loc="left") == f"Alarm in the window {evidence.alarm:%Y-%m-%d} UTC: not exactly calibrated"


def test_evidence_of_a_change_says_so(monitor):
    change = monitor.evidence(reference=("2026-03-01T00:00+00:00", "2026-03-06T00:00+00:00"))
    ax = bc.plot_evidence(change, Figure().subplots())
    assert ax.get_title(loc="left").endswith(" UTC: changed since the reference")
    small = bc.plot_evidence(change, Figure(figsize=(2.4, 1.8)).subplots())
    assert small.get_title(loc="left").startswith("Alarm: 2026-03-1")
    assert small.get_ylabel().replace("\n", " ") == "e-value (change)"
    calm = monitor.evidence(
        reference=("2026-03-01T00:00+00:00", "2026-03-06T00:00+00:00"), end="2026-03-11T00:00+00:00"
    )
    assert (
        bc.plot_evidence(calm, Figure().subplots()).get_title(loc="left")
        == "No alarm: there is not enough evidence of a change"
    )


@pytest.mark.parametrize("level", [0.05, 1e-12])
def test_the_threshold_lies_on_the_axis(monitor, level):
    evidence = monitor.evidence(level=level)
    ax = bc.plot_evidence(evidence, Figure().subplots())
    low, high = ax.get_ylim()
    assert low < np.log10(evidence.threshold) < high


def test_an_alarm_beyond_the_axis_is_drawn_at_its_end():
    evidence = bc.monitoring.CalibrationMonitor(window=1).add([1] * 200, [0.2] * 200, time=0).evidence()
    ax = bc.plot_evidence(evidence, Figure().subplots())
    assert evidence.log_values[0] > 9 * np.log(10)
    assert drawn(ax, "alarm").get_ydata() == [8]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0"]


def test_one_window_has_an_interval():
    """A band of one point is invisible."""
    sequence = bc.monitoring.CalibrationMonitor(window=1).add([1] * 20, [0.2] * 20, time=0).confidence_sequence()
    ax = bc.plot_confidence_sequence(sequence, Figure().subplots())
    (bar,) = drawn(ax, "band").get_segments()
    np.testing.assert_allclose(bar, [[0, sequence.low[0]], [0, sequence.high[0]]])
    assert drawn(ax, "band").get_linewidth()[0] > 1
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0"]


def test_evidence_without_an_alarm(monitor):
    evidence = monitor.evidence(end="2026-03-11T00:00+00:00")
    ax = bc.plot_evidence(evidence, Figure().subplots())
    assert ax.get_title(loc="left") == "No alarm: exact calibration is not rejected"
    assert not [each for each in ax.get_children() if each.get_gid() == "alarm"]
    low, high = ax.get_ylim()
    assert low < np.log10(evidence.values.min())
    assert high > np.log10(20)


def test_evidence_beyond_the_range_of_floats():
    monitor = bc.monitoring.CalibrationMonitor(window=1)
    for time in range(3):
        monitor.add([1] * 2000, [0.3] * 2000, time=time)
    evidence = monitor.evidence()
    assert np.isinf(evidence.values[-1])
    ax = bc.plot_evidence(evidence, Figure().subplots())
    ax.figure.canvas.draw()
    assert drawn(ax, "line").get_ydata()[-1] > 308
    assert "$10^{8}$" in [label.get_text() for label in ax.get_yticklabels()]
    assert any(f"up to {in_e_words(evidence.log_values[-1])}" in each for each in words(ax))
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
    assert ax.get_title(loc="left") == f"ECE below 0.15 since the window {first:%Y-%m-%d} UTC"


def test_titles_of_confidence_sequences(monitor):
    sequence = monitor.confidence_sequence(start="2026-03-11T00:00+00:00")
    titles = [
        bc.plot_confidence_sequence(sequence, Figure().subplots(), limit=limit).get_title(loc="left")
        for limit in (0.01, 0.1, None)
    ]
    assert titles[0].startswith("ECE above 0.01 since the window 2026-03-1")
    low, high = (f"{end:.4f}" for end in sequence.interval)
    assert titles[1] == f"ECE between {low} and {high}, which includes 0.1"
    assert titles[2] == f"ECE between {low} and {high}"


def test_the_title_is_about_the_last_interval():
    """Calibrated, then not: the ECE was below the limit, and this is no longer known."""
    monitor = bc.monitoring.CalibrationMonitor(window=1)
    for time in range(60):
        confidence = np.full(500, 0.5)
        monitor.add(np.arange(500) < (250 if time < 40 else 400), confidence, time=time)
    sequence = monitor.confidence_sequence()
    runs = sequence.runs(0.05)
    assert [run.side for run in runs] == ["below", "above"]
    for end, title in (
        (runs[0].last + 1, "ECE below 0.05 since the window "),
        (60, "ECE above 0.05 since the window "),
    ):
        ax = bc.plot_confidence_sequence(monitor.confidence_sequence(end=end), Figure().subplots(), limit=0.05)
        assert ax.get_title(loc="left").startswith(title)
    first, last = runs[0].first, runs[0].last
    said = f"Earlier, the interval lay below 0.05 in {last - first + 1} windows between {first} and {last}."
    assert said in " ".join(words(ax)).replace("\n", " ")
    ax = bc.plot_confidence_sequence(monitor.confidence_sequence(end=last + 2), Figure().subplots(), limit=0.05)
    assert ax.get_title(loc="left").endswith(", which includes 0.05")


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
        (
            lambda m: bc.plot_evidence(bc.monitoring.CalibrationMonitor(window=1).evidence()),
            ValueError,
            "has no windows",
        ),
        (
            lambda m: bc.plot_evidence(m.evidence(reference=(None, "2026-03-21T00:00+00:00"))),
            ValueError,
            "no windows to t",
        ),
        (lambda m: bc.plot_evidence(m.evidence(), ax=3), TypeError, "`ax` must be"),
        (lambda m: bc.plot_evidence(m.evidence(), alarm_color="reddish"), ValueError, "`alarm_color` must be a color"),
        (lambda m: bc.plot_confidence_sequence(m.evidence()), TypeError, r"`monitor.confidence_sequence\(\)`"),
        (lambda m: bc.plot_confidence_sequence(m.confidence_sequence(), limit=2), ValueError, "`limit` must lie"),
    ],
)
def test_what_is_refused(monitor, call, error, said):
    with pytest.raises(error, match=said):
        call(monitor)


def test_the_limit_and_the_line_of_no_evidence_are_named_where_nothing_is_drawn():
    rng = np.random.default_rng(2)
    confidence = rng.random(6000)
    outcome, time = rng.random(6000) < confidence, np.arange(6000) // 500
    monitor = bc.monitoring.CalibrationMonitor(window=1).add(outcome, confidence, time=time)
    ax = bc.plot_confidence_sequence(monitor.confidence_sequence(), Figure().subplots(), limit=0.02)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["95 % interval", "plug-in ECE", "limit 0.02"]
    evidence = monitor.evidence()
    for log_values, side in ((np.r_[np.full(11, -1.0), 1.0], "left"), (np.r_[1.0, np.full(11, -1.0)], "right")):
        ax = bc.plot_evidence(dataclasses.replace(evidence, log_values=log_values), Figure().subplots())
        (label,) = (text for text in ax.texts if text.get_text() == "1: no evidence")
        assert label.get_ha() == side
