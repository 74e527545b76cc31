"""The plot of a cumulative difference: computed as a record, then drawn."""

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats, Indices
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.cumulative.base import P_OF_CHANCE, Cumulative, significant
from bayescal.cumulative.result import CumulativeDifference
from bayescal.cumulative.subpopulation_result import SUBPOPULATION, SubpopulationDifference, SubpopulationScreen
from bayescal.cumulative.subpopulation_sums import Responses
from bayescal.report import drawing
from bayescal.results.wording import p_words
from bayescal.stats.bins import equal_effective_mass_edges

#: Ways to bin mean responses.
EFFECTIVE, EQUAL_WIDTH = "equal-effective-mass", "equal-width"
PIECES = 2000  #: Pieces of the curve of which at most the smallest and the largest value are drawn.
#: Shares of the weight whose scores label the lower axis; in small axes, every second one.
TICKS = np.linspace(0, 1, 6)
TRIANGLE = 0.045  #: Width of the triangle, as a share of the axis.
ROOM = (4.2, 3.2)  #: Width and height in inches below which labels are fewer and smaller.


@dataclass(frozen=True, eq=False)
class CumulativePoints:
    """Content of the plot of a cumulative difference."""

    share: Floats  # of the weight, shape (n_points,), without points that cannot be seen
    curve: Floats  # at these shares
    score: Floats  # at these points but the first, which is the origin; shape (n_points - 1,)
    low: Floats  # ends of the band, shape (n_points,)
    high: Floats
    sigma: float  # standard deviation of the end of the curve under calibration
    worst: Floats  # share and curve at both ends of the worst interval, shape (2, 2)
    tick_share: Floats
    tick_score: Floats  # scores at which the cumulative weight reaches the shares


def cumulative_points(cd: Cumulative, prob: float = 0.95) -> CumulativePoints:
    """Compute the values that `plot_cumulative` draws; `prob` is the probability of the band."""
    share, curve = cd.abscissae, cd.curve
    band = cd.band(prob)
    start = (band.high[0] - band.low[0]) / 2  # before the first score, the curve is 0
    ends = sorted((int(curve.argmin()), int(curve.argmax())))
    # a share is reached at the first score whose cumulative weight is not below it, up to rounding
    reached = np.searchsorted(share[1:], TICKS - 1e-12, side="left")
    seen = _visible(curve)
    return CumulativePoints(
        share=share[seen],
        curve=curve[seen],
        score=cd.score[seen[1:] - 1],
        low=np.append(-start, band.low)[seen],
        high=np.append(start, band.high)[seen],
        sigma=cd.null_sigma,
        worst=np.column_stack([share[ends], curve[ends]]),
        tick_share=TICKS,
        tick_score=cd.score[np.minimum(reached, len(cd.score) - 1)].astype(np.float64),
    )


def _visible(curve: Floats) -> Indices:
    """Return the first and last point, and the smallest and largest of each piece."""
    if len(curve) <= 2 * PIECES:
        return np.arange(len(curve))
    size = len(curve) // PIECES
    pieces = curve[: size * PIECES].reshape(PIECES, size)
    begins = size * np.arange(PIECES)
    rest = np.arange(size * PIECES, len(curve))
    return np.unique(
        np.concatenate([[0], begins + pieces.argmin(axis=1), begins + pieces.argmax(axis=1), rest, [len(curve) - 1]])
    )


@public
def plot_cumulative(
    cd: Cumulative,
    ax: "Axes | None" = None,
    *,
    zoom: tuple[float, float] | None = None,
    prob: float = 0.95,
    color: Any = None,
    worst_color: Any = None,
) -> "Axes":
    """Draw a cumulative difference: its slope is the miscalibration at each score.

    Where the curve is flat, the scores are calibrated; where it rises, outcome 1 is more frequent than stated, and
    where it falls, less frequent. Short, steep parts, which bins would hide, stay visible. The triangle at the
    origin shows how far the curve of a calibrated classifier would move by chance: it ends at 2 `null_sigma` above and
    below 0. The worst interval of scores, over which the curve changes most, is marked; this change is the Kuiper
    statistic. It is grey if the P-value is above 0.05.

    Parameters
    ----------
    cd : CumulativeDifference, SubpopulationDifference or SubpopulationComparison
        From `bayescal.cumulative.difference`, `subpopulation` or `compare_subpopulations`.
    zoom : (float, float), optional
        An interval that contains a score; the curve of its rows alone is computed anew.
    prob : float, default 0.95
        Probability that the band contains the whole curve of the population, in (0, 1).
    color, worst_color : matplotlib color, optional
        Colours of the curve and its band, and of the worst interval. Default colours are lighter on a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. The lower axis is labelled with scores; the upper one with the share of rows or weight.

    Examples
    --------
    >>> cd = bc.cumulative.difference([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])
    >>> ax = bc.cumulative.plot_cumulative(cd, Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0.20', '0.20', '0.20', '0.60', '0.60', '0.90']
    """
    if not isinstance(cd, Cumulative):
        instead = "make one with `bayescal.cumulative.difference(outcome, score)`"
        if isinstance(cd, SubpopulationScreen):
            instead = f"plot one group, as in `plot_cumulative(screen[{next(iter(cd))!r}])`"
        elif isinstance(getattr(cd, "observed", None), Cumulative):
            instead = "plot its `observed`"
        raise TypeError(
            f"`cd` must be a CumulativeDifference or a SubpopulationDifference, not {type(cd).__name__}; {instead}."
        )
    if zoom is not None:
        if isinstance(zoom, str) or not np.iterable(zoom) or len(ends := tuple(zoom)) != 2:
            raise TypeError(f"`zoom` must be the two ends of an interval of scores, as (0.2, 0.6), not {quoted(zoom)}.")
        cd = cd.zoom(*ends)
    points = cumulative_points(cd, _checks.fraction("prob", prob))
    ax = drawing.axes_or_new(ax, figsize=(6.4, 4.6))
    small, low = _space(ax)
    colours = drawing.palette(ax)
    main = _checks.color("color", color, colours.blue)
    # by chance, calibrated scores have a largest deviation too
    marked = _checks.color("worst_color", worst_color, colours.orange if cd.p_kuiper <= P_OF_CHANCE else colours.grey)
    _draw(ax, points, main, marked, colours.grey)
    _axes(ax, cd, points, small=small)
    chance = "if calibrated" if isinstance(cd, CumulativeDifference) else "if means are equal"
    key = _key(ax, prob, chance, (main, marked, colours.grey), small=small)
    drawing.titled(ax, _title(ax, cd, small=small), [] if small or low else [cd.spec], above=key, small=small)
    return drawing.finished(ax, small=small)


def mean_responses(rows: Responses, n_bins: int, binning: str) -> tuple[Floats, Floats]:
    """Return mean scores and responses of occupied bins, of equal width or nearly equal effective numbers of rows."""
    weight = rows.row_weight
    low, high = rows.score[weight > 0].min(), rows.score[weight > 0].max()
    if binning == EQUAL_WIDTH:
        place, edges = np.clip((rows.score - low) / (high - low or 1.0), 0, 1), np.linspace(0, 1, n_bins + 1)
    else:  # ranks of scores, because scores may have any range
        place = np.unique(rows.score, return_inverse=True)[1] / len(rows)
        edges = equal_effective_mass_edges(place, weight, n_bins)
    bin_of_row = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(edges) - 2)
    total, score, response = (
        np.bincount(bin_of_row, weight * one, len(edges) - 1) for one in (np.ones(len(rows)), rows.score, rows.response)
    )
    occupied = total > 0
    return score[occupied] / total[occupied], response[occupied] / total[occupied]


@public
def plot_subpopulation(
    sub: SubpopulationDifference,
    axes: Any = None,
    *,
    bins: int = 10,
    binning: str = EFFECTIVE,
    prob: float = 0.95,
    color: Any = None,
    worst_color: Any = None,
) -> "NDArray[Any]":
    """Draw mean responses of a subpopulation and of the full population by score, above the cumulative difference.

    The upper axes show the mean response against the mean score in each bin: members dark, the full population light.
    The lower axes are those of `plot_cumulative`, which need no bins and show short intervals that bins hide. The worst
    interval of scores is shaded in both.

    Parameters
    ----------
    sub : SubpopulationDifference
        From `bayescal.cumulative.subpopulation`; responses and scores are real numbers, with or without weights.
    axes : array of two matplotlib Axes, optional
        Upper and lower axes; default: a new figure.
    bins : int, default 10
        Number of bins of each population.
    binning : {"equal-effective-mass", "equal-width"}, default "equal-effective-mass"
        Bins of nearly equal effective numbers of rows, so that means have similar precision, or of equal width between
        the smallest and largest score. Each population has its own bins; empty ones are left out.
    prob, color, worst_color
        As for `plot_cumulative`; `color` is also that of members.

    Returns
    -------
    ndarray of matplotlib Axes, shape (2,)
        The upper and the lower axes.

    Raises
    ------
    ValueError, TypeError
        If `sub` has another type, `axes` are not two axes, `bins` is not a positive integer, or `binning` is unknown.

    Examples
    --------
    >>> score = np.arange(40) / 40
    >>> sub = bc.cumulative.subpopulation(score**2, score, np.arange(40) % 4 == 0)
    >>> upper, lower = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1), bins=4)
    >>> upper.get_ylabel()
    'mean response'
    """
    if not isinstance(sub, SubpopulationDifference):
        rule = "`sub` must be a SubpopulationDifference from `bayescal.cumulative.subpopulation`"
        hint = "; `plot_cumulative` draws its curve" if isinstance(sub, Cumulative) else ""
        if isinstance(sub, SubpopulationScreen):
            hint = f"; draw one group, as in `plot_subpopulation(screen[{next(iter(sub))!r}])`"
        raise TypeError(f"{rule}, not {type(sub).__name__}{hint}.")
    bins = _checks.whole_number("bins", bins)
    _checks.one_of("binning", binning, (EFFECTIVE, EQUAL_WIDTH))
    if axes is None:
        first = drawing.axes_or_new(None, figsize=(6.4, 8.2))
        first.figure.clear()
        axes = first.figure.subplots(2, 1, height_ratios=[3, 4])
    if (axes := np.ravel(axes)).size != 2:
        raise ValueError(f"`axes` must be two axes, as from `plt.subplots(2, 1)`, not {axes.size}.")
    upper, lower = (drawing.require_axes("axes", each) for each in axes)
    colours = drawing.palette(upper)
    groups = (
        (sub.rows, "full population", _checks.color("color", None, colours.grey), "s"),
        (sub.rows.part(sub.member), sub.group, _checks.color("color", color, colours.blue), "o"),
    )
    for rows, label, colour, marker in groups:
        style: dict[str, Any] = {"linestyle": "-", "color": colour, "markersize": 5, "label": label, "gid": label}
        upper.plot(*mean_responses(rows, bins, binning), marker, **style)
    small = _space(upper)[0]
    size = drawing.TINY if small else drawing.SMALL
    upper.set_xlabel("mean score in the bin", fontsize=size)
    upper.set_ylabel("mean response", fontsize=size)
    upper.tick_params(labelsize=size)
    for side in ("top", "right"):
        upper.spines[side].set_visible(False)
    drawing.key_above(upper, small=small)
    drawing.finished(upper, small=small)
    plot_cumulative(sub, lower, prob=prob, color=color, worst_color=worst_color)
    marked = next(each for each in lower.patches if each.get_gid() == "worst interval").get_facecolor()
    upper.axvspan(*sub.worst_interval, color=marked, linewidth=0, zorder=0, gid="worst interval")
    return np.array([upper, lower])


def _space(ax: "Axes") -> tuple[bool, bool]:
    """Return whether axes are narrow, and whether they are low; all cells of a grid have the same size here."""
    spec = ax.get_subplotspec()
    if spec is None:
        return drawing.is_small(ax, ROOM[0], 0), drawing.is_small(ax, 0, ROOM[1])
    rows, columns = spec.get_gridspec().get_geometry()
    width, height = ax.figure.bbox.width * len(spec.colspan) / columns, ax.figure.bbox.height * len(spec.rowspan) / rows
    return width < ROOM[0] * ax.figure.dpi, height < ROOM[1] * ax.figure.dpi


def _title(ax: "Axes", cd: Cumulative, *, small: bool) -> str:
    """Return the statistic and its P-value, after the group if there is one."""
    kuiper = significant(cd.kuiper, _render.decimals(cd.robust_sigma / 10, 4))
    p = p_words(cd.p_kuiper)
    text = f"Kuiper {kuiper}, P {p}" if small else f"Kuiper statistic {kuiper}, P-value {p}"
    group = getattr(cd, "group", SUBPOPULATION)
    if group == SUBPOPULATION:
        return text
    room = drawing.characters(ax, drawing.TINY + 1 if small else drawing.SMALL + 1)
    return f"{group}: {text}" if len(group) + len(text) + 2 <= room else f"{_render.cut(group, room)}\n{text}"


def _draw(ax: "Axes", points: CumulativePoints, main: str, marked: str, grey: str) -> None:
    (x0, y0), (x1, y1) = points.worst
    ax.axhline(0, color=grey, linewidth=0.8, zorder=1)
    band: dict[str, Any] = {"color": main, "alpha": _opacity(ax), "linewidth": 0, "zorder": 2, "gid": "band"}
    ax.fill_between(points.share, points.low, points.high, **band)
    triangle = [0, 0, TRIANGLE], [-2 * points.sigma, 2 * points.sigma, 0]
    ax.fill(*triangle, color=grey, alpha=0.75, linewidth=0, zorder=3, gid="triangle")
    ax.axvspan(x0, x1, color=marked, alpha=0.1, linewidth=0, zorder=0, gid="worst interval")
    ax.plot(points.share, points.curve, color=main, linewidth=1.4, zorder=4, gid="curve")
    inside = (points.share >= x0) & (points.share <= x1)
    ax.plot(points.share[inside], points.curve[inside], color=marked, linewidth=2, zorder=5, gid="worst part")
    ax.plot([x0, x1], [y0, y1], "o", color=marked, markersize=4, zorder=6, gid="worst ends")


def _opacity(ax: "Axes") -> float:
    """Return the opacity of the band: on black, colours look darker."""
    return 0.35 if drawing.is_dark(drawing.background(ax)) else 0.18


def _axes(ax: "Axes", cd: Any, points: CumulativePoints, *, small: bool) -> None:
    every = 2 if small else 1
    # five steps: with every second tick, the last one is not drawn
    ax.set_xticks(points.tick_share[::every], score_labels(points.tick_score[::every]))
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"score (axis: {_share_of(cd)})", fontsize=drawing.SMALL)
    rises = "scores are too low" if isinstance(cd, CumulativeDifference) else "subgroup is higher"
    sign = " minus ".join(cd.names) if hasattr(cd, "names") else f"rises where {rises}"
    height = max(16, int(drawing.characters(ax, drawing.SMALL) * ax.bbox.height / ax.bbox.width))
    words = ["cumulative difference"] if small else ["cumulative difference", f"({sign})"]
    lines = (
        [" ".join(words)] if len(" ".join(words)) <= height else [each for part in words for each in wrap(part, height)]
    )
    ax.set_ylabel("\n".join(lines), fontsize=drawing.SMALL)
    ax.tick_params(labelsize=drawing.SMALL)
    ax.spines["right"].set_visible(False)
    upper = ax.secondary_xaxis("top")
    upper.set_xticks(points.tick_share[::every], [f"{share:g}" for share in points.tick_share[::every].round(2)])
    upper.tick_params(labelsize=drawing.TINY if small else drawing.SMALL, pad=2)
    upper.set_xlabel(_share_of(cd), fontsize=drawing.TINY, labelpad=2)


def _share_of(cd: Cumulative) -> str:
    return "share of the weight" if cd.steps.weighted else "share of the rows"


def score_labels(scores: Floats) -> list[str]:
    """Format scores with so many decimals that different scores have different labels, two to six.

    If six are too few, scores near 1 are written as differences from 1. Certain scores are "0" and "1".
    """
    certain = [score in (0, 1) for score in scores]
    for places in range(2, 7):
        labels = [f"{score:.{places}f}" for score in scores]
        rounded = {label for label, sure in zip(labels, certain, strict=True) if not sure}
        apart = places == 2 or not rounded & {f"{end:.{places}f}" for end in (0, 1)}
        if apart and len(set(labels)) == len(set(scores.tolist())):
            return [label[0] if sure else label for label, sure in zip(labels, certain, strict=True)]
    return [f"1 \u2212 {1 - score:.1g}" if 0.99 < score < 1 else f"{score:.4g}" for score in scores]


def _key(ax: "Axes", prob: float, chance: str, colours: tuple[str, str, str], *, small: bool) -> float:
    """Draw the key above the upper axis; return the points that it and the upper axis take."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    main, marked, grey = colours
    curve = (Patch(color=main, alpha=_opacity(ax), linewidth=0), Line2D([], [], color=main, linewidth=1.4))
    entries: list[tuple[Any, str]] = [
        (curve, f"curve, {100 * prob:g} % band"),
        (Line2D([], [], color=marked, linewidth=2), "largest deviation"),
        (Line2D([], [], color=grey, marker=">", linestyle="", markersize=7), f"\u00b1 2 sigma {chance}"),
    ]
    return drawing.key_above(ax, entries, small=small, offset=3.4 * (drawing.TINY if small else drawing.SMALL))
