"""Plots of sequential results: evidence over time with its threshold, and a confidence sequence of the ECE."""

from textwrap import wrap
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal.data.times import in_words
from bayescal.monitoring.result import ConfidenceSequence, Evidence, Run, in_e_words
from bayescal.report import drawing

ROOM = (4.0, 2.6)  #: Width and height in inches below which labels are fewer and smaller.
DOTS = 60  #: Number of windows up to which each has a dot.
WRITTEN = range(-3, 5)  #: Exponents of ten that are written as a number.
HIGHEST = 8  #: Largest exponent of ten that is drawn, so that the threshold can be told from 1.


@public
def plot_evidence(
    evidence: Evidence, ax: "Axes | None" = None, *, color: Any = None, alarm_color: Any = None
) -> "Axes":
    """Draw evidence after each window on a logarithmic scale up to 1e8, the threshold, and the first alarm.

    Parameters
    ----------
    evidence : Evidence
        From `CalibrationMonitor.evidence`, with at least one window.
    color, alarm_color : matplotlib color, optional
        Colours of the evidence, and of the threshold and the alarm. Default colours are lighter on a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. Windows are drawn at their starts. The vertical axis has the exponents of ten as its
        coordinates, because evidence can be larger than a float. It ends at 8; larger evidence is written at its end.

    Examples
    --------
    >>> monitor = bc.monitoring.CalibrationMonitor(window=1).add([1] * 8, [0.2] * 8, time=range(8))
    >>> ax = bc.monitoring.plot_evidence(monitor.evidence(), Figure().subplots())
    >>> ax.get_title(loc="left")
    'Alarm in the window 7: not exactly calibrated'
    """
    _checks.instance("evidence", evidence, Evidence, "; make one with `monitor.evidence()`.")
    if not len(evidence):
        raise ValueError(f"`evidence` has no windows, so there is nothing to draw. {evidence.sentence()}")
    ax = drawing.axes_or_new(ax, figsize=(6.4, 3.8))
    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    main = _checks.color("color", color, colours.blue)
    marked = _checks.color("alarm_color", alarm_color, colours.orange)
    exponent, limit = evidence.log_values / np.log(10), np.log10(evidence.threshold)
    _line(ax, evidence.windows, exponent, main)
    ax.axhline(limit, color=marked, linewidth=1.2, linestyle=(0, (5, 2)), zorder=2, gid="threshold")
    ax.axhline(0, color=colours.grey, linewidth=0.8, zorder=1)
    first = evidence._first_alarm()
    top = max(min(float(exponent.max()), HIGHEST), limit)
    if first is not None:
        at: Any = evidence.windows[first : first + 1]
        shown = np.minimum(exponent[first : first + 1], top)
        ax.plot(at, shown, "o", color=marked, markersize=7, zorder=4, gid="alarm")
    low = min(float(exponent.min()), -0.3)
    ax.set_ylim(low - 0.06 * (top - low), top + 0.1 * (top - low))
    _label(ax, f"alarm at {evidence.threshold:g}", limit, marked, small=small)
    if not small:
        # at the right end if the line rises above 0 at the left, and not at the right
        part = max(len(exponent) // 3, 1)
        right = bool((exponent[:part] > 0).any() and not (exponent[-part:] > 0).any())
        _label(ax, "1: no evidence", 0, colours.grey, small=small, right=right)
    if exponent.max() > top:
        _label_beyond(ax, evidence, main, small=small)
    _exponents(ax)
    about = "calibration" if evidence.reference is None else "change"
    _axes(ax, evidence.windows, f"e-value ({about})" if small else "evidence (e-value)", small=small)
    drawing.titled(ax, _evidence_title(evidence, small=small), [] if small else [evidence.spec], above=4, small=small)
    return drawing.finished(ax, small=small)


def _evidence_title(evidence: Evidence, *, small: bool) -> str:
    """Return the title: alarm or not, and of what."""
    calibration = evidence.reference is None
    if not evidence.raised:
        meaning = "exact calibration is not rejected" if calibration else "there is not enough evidence of a change"
        return "No alarm" if small else f"No alarm: {meaning}"
    about = "not exactly calibrated" if calibration else "changed since the reference"
    return f"Alarm{_at(evidence.alarm, small=small)}{'' if small else f': {about}'}"


@public
def plot_confidence_sequence(
    sequence: ConfidenceSequence, ax: "Axes | None" = None, *, limit: float | None = None, color: Any = None
) -> "Axes":
    """Draw intervals of the ECE after each window as a band, and the plug-in ECE as a line.

    Parameters
    ----------
    sequence : ConfidenceSequence
        From `CalibrationMonitor.confidence_sequence`.
    limit : float, optional
        A value of the ECE in [0, 1) to mark; the title states whether the last interval lies above or below it, and
        since when. Earlier intervals on either side are named below the title.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. Windows are drawn at their starts.

    Examples
    --------
    >>> monitor = bc.monitoring.CalibrationMonitor(window=1).add([1] * 60, [0.2] * 60, time=np.arange(60) // 10)
    >>> ax = bc.monitoring.plot_confidence_sequence(monitor.confidence_sequence(), Figure().subplots(), limit=0.1)
    >>> ax.get_title(loc="left")
    'ECE above 0.1 since the window 0'
    """
    _checks.instance("sequence", sequence, ConfidenceSequence, "; make one with `monitor.confidence_sequence()`.")
    ax = drawing.axes_or_new(ax, figsize=(6.4, 3.8))
    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    main = _checks.color("color", color, colours.blue)
    opacity = 0.35 if drawing.is_dark(drawing.background(ax)) else 0.18
    interval = f"{100 * sequence.prob:g} % interval"
    windows: Any = sequence.windows  # matplotlib draws dates, which its annotations do not mention
    style: dict[str, Any] = {"color": main, "alpha": opacity, "linewidth": 0, "zorder": 2}
    if len(sequence) > 1:
        ax.fill_between(windows, sequence.low, sequence.high, gid="band", label=interval, **style)
    else:
        ax.vlines(windows, sequence.low, sequence.high, gid="band", label=interval, **{**style, "linewidth": 8})
    _line(ax, sequence.windows, sequence.plug_in, main, label="plug-in ECE")
    low, high = map(_render.number, sequence.interval)
    title, paragraphs = f"ECE [{low}, {high}]" if small else f"ECE between {low} and {high}", [sequence.spec]
    if limit is not None:
        *earlier, now = [*sequence.runs(limit), None]
        if earlier and earlier[-1].last == len(sequence) - 1:
            *earlier, now = earlier
        title = _against(sequence, limit, title, now, small=small)
        paragraphs = [*_before(sequence, limit, earlier), *paragraphs]
        style = {"color": colours.orange, "linewidth": 1.2, "linestyle": (0, (5, 2)), "zorder": 3}
        ax.axhline(limit, label=f"limit {limit:g}", gid="limit", **style)
    ax.set_ylim(0, 1.08 * max(float(sequence.high.max()), limit or 0))
    above = drawing.key_above(ax, small=small)
    _axes(ax, sequence.windows, "ECE of all rows so far", small=small)
    drawing.titled(ax, title, [] if small else paragraphs, above=above, small=small)
    return drawing.finished(ax, small=small)


def _against(sequence: ConfidenceSequence, limit: float, interval: str, now: Run | None, *, small: bool) -> str:
    """Return the title: where the last interval lies, and since when."""
    if now is None:
        return interval if small else f"{interval}, which includes {limit:g}"
    if small:
        return f"ECE {'>' if now.side == 'above' else '<'} {limit:g}"
    return f"ECE {now.side} {limit:g} since the window {in_words(sequence.windows[now.first])}"


def _before(sequence: ConfidenceSequence, limit: float, runs: list[Run]) -> list[str]:
    """Name the earlier windows whose intervals lie above or below a limit."""
    sentences = []
    for side in ("above", "below"):
        on_side = [run for run in runs if run.side == side]
        if on_side:
            first, last = (in_words(sequence.windows[at]) for at in (on_side[0].first, on_side[-1].last))
            number = sum(run.last - run.first + 1 for run in on_side)
            when = f"in the window {first}" if number == 1 else f"in {number} windows between {first} and {last}"
            sentences.append(f"Earlier, the interval lay {side} {limit:g} {when}.")
    return sentences


def _at(window: Any, *, small: bool) -> str:
    """Name a window in a title; dates in UTC do not say so in small axes."""
    words = in_words(window)
    return f": {words.removesuffix(' UTC')}" if small else f" in the window {words}"


def _line(ax: "Axes", windows: Any, values: Floats, colour: str, label: str | None = None) -> None:
    marker = "o" if len(windows) <= DOTS else None
    ax.plot(
        windows, values, color=colour, linewidth=1.6, marker=marker, markersize=3, zorder=3, gid="line", label=label
    )


def _label(ax: "Axes", words: str, height: float, colour: str, *, small: bool, right: bool = False) -> None:
    """Write words above a horizontal line, at its left or right end."""
    offset: Any = (-4, 3) if right else (4, 3)
    coordinates, side = ("axes fraction", "data"), "right" if right else "left"
    _write(ax, words, (float(right), height), coordinates, offset, colour, small=small, ha=side)


def _label_beyond(ax: "Axes", evidence: Evidence, colour: str, *, small: bool) -> None:
    """Write the largest evidence at the upper end of the axis, which it exceeds, on the longer side of the alarm."""
    first = evidence._first_alarm() or 0
    late = 2 * first >= len(evidence)
    at: Any = evidence.windows[first] if late else 1
    words = f"up to {in_e_words(evidence.log_values.max())} \N{UPWARDS ARROW}"
    coordinates = ("data" if late else "axes fraction", "axes fraction")
    _write(ax, words, (at, 1), coordinates, (-6 if late else -2, -2), colour, small=small, ha="right", va="top")


def _write(
    ax: "Axes", words: str, at: Any, coordinates: Any, offset: Any, colour: str, *, small: bool, **alignment: Any
) -> None:
    """Write words at an offset, in points, from a place in these coordinates."""
    size = drawing.TINY if small else drawing.SMALL
    style: dict[str, Any] = {"color": colour, "fontsize": size, "zorder": 5, **alignment}
    ax.annotate(words, at, xycoords=coordinates, xytext=offset, textcoords="offset points", **style)


def _exponents(ax: "Axes") -> None:
    """Label exponents of ten with the numbers that they stand for."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def named(exponent: float, _: Any) -> str:
        whole = round(exponent)
        return f"{10.0**whole:g}" if whole in WRITTEN else f"$10^{{{whole}}}$"

    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(named))


def _axes(ax: "Axes", windows: tuple[Any, ...], words: str, *, small: bool) -> None:
    from datetime import datetime

    if len(windows) == 1:
        ax.set_xticks(windows, [in_words(windows[0])])
    elif isinstance(windows[0], datetime):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        places = AutoDateLocator(minticks=2, maxticks=4 if small else 8)
        ax.xaxis.set_major_locator(places)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(places))
    ax.tick_params(labelsize=drawing.SMALL)
    dates = ax.xaxis.get_offset_text()  # year and month, at the right end
    dates.set_fontsize(drawing.TINY if small else drawing.SMALL)
    ax.spines[["right", "top"]].set_visible(False)
    ax.set_xlabel("window" if small else "start of the window", fontsize=drawing.SMALL, loc="left")
    height = max(12, int(drawing.characters(ax, drawing.SMALL) * ax.bbox.height / ax.bbox.width))
    ax.set_ylabel("\n".join(wrap(words, height)), fontsize=drawing.SMALL)
