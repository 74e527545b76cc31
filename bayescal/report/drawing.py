"""Colours, axes, headlines and space that all plots share."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _packages, _render
from bayescal._arrays import Axes, Bbox
from bayescal._invalid import quoted
from bayescal._presented import Presented
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation

TINY = 7.0  #: Font size in small axes, in points.
CHARACTER = 0.54  #: Mean width of a character, in units of the font size.
LEAST = 0.25  #: Axes never become smaller than this share of their cell.
PADDING = 3.0  #: Points between labels and the edge of their cell.


def cell(ax: "Axes") -> "Bbox":
    """Return the part of a figure that belongs to axes, in pixels."""
    from matplotlib.transforms import Bbox

    spec = ax.get_subplotspec()
    if spec is None:
        return Bbox(ax.get_position(original=True).transformed(ax.figure.transSubfigure))
    figure: Any = ax.figure
    grid = spec.get_gridspec()
    bottoms, tops, lefts, rights = grid.get_grid_positions(figure)
    outermost = spec.get_topmost_subplotspec().get_gridspec() is grid
    top = 1.0 if outermost and not figure.get_suptitle() else tops[0]
    edges = (0.0, 1.0) if outermost else (lefts[0], rights[-1])
    across = np.array([edges[0], *(rights[:-1] + lefts[1:]) / 2, edges[1]])
    down = np.array([top, *(bottoms[:-1] + tops[1:]) / 2, 0.0 if outermost else bottoms[-1]])
    columns, rows = spec.colspan, spec.rowspan
    box = Bbox([[across[columns.start], down[rows.stop]], [across[columns.stop], down[rows.start]]])
    return box.transformed(figure.transSubfigure)


def is_small(ax: "Axes", width: float, height: float) -> bool:
    """Return whether axes have less space than this, in inches."""
    box = cell(ax)
    return bool(box.width < width * ax.figure.dpi or box.height < height * ax.figure.dpi)


def characters(ax: "Axes", size: float) -> int:
    """Return how many characters of a font size (in points) fit on a line across the axes."""
    return max(12, int(ax.bbox.width * 72 / ax.figure.dpi / (CHARACTER * size)))


def small_words(ax: "Axes") -> None:
    """Reduce all labels of axes and their children to the font size `TINY`."""
    for part in (ax, *ax.child_axes):
        part.tick_params(labelsize=TINY, pad=2)
        legend = part.get_legend()
        words = [part.xaxis.label, part.yaxis.label, *part.texts, *(legend.get_texts() if legend else ())]
        for word in words:
            word.set_fontsize(min(word.get_fontsize(), TINY))


class _BesideMain:
    """Locator of a part of divided axes; the part keeps its place while the divided axes have another locator."""

    def __init__(self, main: "Axes", part: "Axes") -> None:
        self._main, self._divided, self._locate = main, main.get_axes_locator(), part.get_axes_locator()
        self._last: Bbox | None = None

    def __call__(self, part: Any, renderer: Any) -> "Bbox":
        if self._last is None or self._main.get_axes_locator() is self._divided:
            self._last = self._locate(part, renderer)
        return self._last


def add_part(ax: "Axes", part: "Axes") -> None:
    """Make a part, which a divider has cut off from axes, a child of these axes.

    For cropped pictures, matplotlib changes the size of the figure and fixes the positions of its axes, but not of
    their children. Without `_BesideMain`, the divider would place these again, for the changed size.
    """
    ax.add_child_axes(part)  # constrained layout leaves room for the labels of child axes only
    part.set_axes_locator(_BesideMain(ax, part))


def keep_within(ax: "Axes") -> None:
    """Shrink a subplot at each drawing until its labels lie inside its own cell, unless a layout engine does this.

    Other figures get a placeholder engine, which moves no other axes, and which a later layout replaces.
    """
    from matplotlib.layout_engine import PlaceHolderLayoutEngine

    figure = ax.figure.figure
    engine: Any = figure.get_layout_engine()
    if ax.get_subplotspec() is None or not (engine is None or isinstance(engine, PlaceHolderLayoutEngine)):
        return
    if not hasattr(engine, "kept"):
        engine = PlaceHolderLayoutEngine(adjust_compatible=True, colorbar_gridspec=True)
        engine.kept = []
        engine.execute = _shrink_all
        figure.set_layout_engine(engine)
    engine.kept.append(ax)


def finished(ax: "Axes", *, small: bool) -> "Axes":
    """Return axes whose labels stay inside their cell; in small axes they have the font size `TINY`."""
    if small:
        small_words(ax)
    keep_within(ax)
    return ax


def _shrink_all(figure: Any) -> None:
    for ax in figure.get_layout_engine().kept:
        if ax.figure is not None and ax.get_in_layout() and ax.get_subplotspec() is not None:
            _shrink(ax)


def _shrink(ax: Any) -> None:
    """Reset axes to their grid position, then shrink them until their labels lie inside their cell."""
    from matplotlib.transforms import Bbox

    figure, spec = ax.figure, ax.get_subplotspec()
    box = cell(ax).padded(-PADDING * figure.dpi / 72)
    least = LEAST * np.array([box.width, box.height])
    _place(ax, spec.get_position(figure))
    for _ in range(6):  # repeated, since a centred label moves when either end does
        words = ax.get_tightbbox()
        if words is None:
            return
        low, high = np.maximum(box.min - words.min, 0), np.maximum(words.max - box.max, 0)
        if max(*low, *high) < 0.5:
            return
        place = ax.get_position(original=True).transformed(figure.transSubfigure)
        low, high = place.min + low, place.max - high
        _place(ax, Bbox([low, np.maximum(high, low + least)]).transformed(figure.transSubfigure.inverted()))


def _place(ax: "Axes", place: "Bbox") -> None:
    ax.set_position(place)
    ax.set_in_layout(True)  # a layout that is requested later may move it


# the palette of Okabe and Ito, for colour-blind readers, and a grey that is visible on black and on white
BLUE, ORANGE, SKY, GREY = "#0072B2", "#D55E00", "#56B4E9", "#808080"
SMALL, SMALLER = 8.5, 7.5  # points; text fits above axes three inches wide
BESIDE = 5  #: Width of a symbol of a key and of the gaps beside it, in characters.
#: Relative luminance below which white has more contrast than black: 1.05 / (L + 0.05) = (L + 0.05) / 0.05.
DARK_BELOW = 0.179
READABLE = 4.5  #: Least contrast of readable text (WCAG 2, level AA).


@dataclass(frozen=True)
class Palette:
    """Default colours, which differ between light and dark backgrounds."""

    blue: str
    orange: str
    sky: str
    grey: str
    cycle: tuple[str, ...]  # colours of several classifiers in one plot


LIGHT = Palette(BLUE, ORANGE, SKY, GREY, (BLUE, ORANGE, "#007A5A", "#A9447F", "#7A5C00", "#404040", "#4B3FA8"))
#: The colours that HTML pages have on a dark background.
DARK = Palette(
    *("#4AA3DC", "#F0803C", "#56B4E9", "#9AA0A6"),
    ("#4AA3DC", "#F0803C", "#3CCB9C", "#E58FC0", "#F0E442", "#D0D0D0", "#A89CF5"),
)


def palette(ax: "Axes") -> Palette:
    """Return the default colours for the background of axes."""
    return DARK if is_dark(background(ax)) else LIGHT


def background(ax: "Axes") -> str:
    """Return the colour behind axes: theirs, that of the figure, or the opposite of that of text if both are clear."""
    from matplotlib import rcParams
    from matplotlib.colors import to_hex, to_rgba

    for face in (ax.get_facecolor(), ax.figure.get_facecolor(), ax.figure.figure.get_facecolor()):
        if to_rgba(face)[3] > 0.5:
            return to_hex(face)
    return "white" if is_dark(rcParams["text.color"]) else "black"


def is_dark(color: Any) -> bool:
    """Return whether a colour is so dark that white text is easier to read on it than black text."""
    return luminance(color) < DARK_BELOW


def luminance(color: Any) -> float:
    """Return the relative luminance of a colour, from 0 (black) to 1 (white), as WCAG 2 defines it."""
    from matplotlib.colors import to_rgb

    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def text_on(ax: "Axes", fill: tuple[float, float, float, float]) -> str:
    """Return the colour of text on a filled area: that of all text if it is readable there, else black or white."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    opacity = fill[3]
    behind = opacity * np.array(fill[:3]) + (1 - opacity) * np.array(to_rgb(background(ax)))
    usual: str = rcParams["text.color"]
    low, high = sorted((luminance(behind), luminance(usual)))
    if (high + 0.05) / (low + 0.05) >= READABLE:
        return usual
    return "white" if is_dark(behind) else "black"


def colors_by_name(value: Any, names: Sequence[Any], defaults: Sequence[str]) -> list[str]:
    """Return one colour per name from the argument `color`: one colour, one per name in order, or a mapping."""
    _packages.require("matplotlib")
    from matplotlib.colors import is_color_like

    if value is None or isinstance(value, str) or is_color_like(value):
        return [_checks.color("color", value, default) for default in defaults]
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in list(names)]
        if unknown:
            raise ValueError(
                f"`color` has colors for {quoted(unknown[:5])}, which the plot does not show; it shows "
                f"{quoted(list(names)[:10])}."
            )
        pairs = zip(names, defaults, strict=True)
        return [_checks.color(f"color[{name!r}]", value.get(name), default) for name, default in pairs]
    colors = list(value) if np.iterable(value) else [value]
    if len(colors) != len(names):
        raise ValueError(
            f"`color` must be one color, a mapping, or one color for each of {len(names)} rows or classifiers, not "
            f"{quoted(value)}."
        )
    return [_checks.color(f"color[{i}]", each, "") for i, each in enumerate(colors)]


def require_evaluation(evaluation: Any) -> None:
    """Raise TypeError unless the argument is an evaluation; the message says how to make one."""
    if not isinstance(evaluation, Evaluation | ClasswiseEvaluation):
        instead = "make one with `bayescal.evaluate(y_true, y_prob)`."
        if isinstance(evaluation, Presented) and evaluation._one_evaluation:
            instead = f"{evaluation._one_evaluation}."
        elif hasattr(evaluation, "to_datatree"):
            instead = "ArviZ plots its draws, as in `arviz.plot_dist(result.to_datatree())`."
        raise TypeError(f"`evaluation` must be an Evaluation, not {type(evaluation).__name__}; {instead}")


def axes_or_new(ax: Any, figsize: tuple[float, float]) -> "Axes":
    """Return the given axes, or those of a new pyplot figure, which notebooks and `plt.show()` display."""
    if ax is None:
        _packages.require("matplotlib")
        from matplotlib import pyplot as plt

        return plt.figure(figsize=figsize, layout="tight").subplots()
    return require_axes("ax", ax)


def require_axes(name: str, ax: Any) -> "Axes":
    """Return the argument if it is an Axes, otherwise raise TypeError."""
    _packages.require("matplotlib")
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"`{name}` must be a matplotlib Axes, not {type(ax).__name__}. "
            "From a figure use `figure.subplots()`; from an array of axes, one element, as in `axes[0]`."
        )
    return ax


def headline(
    ax: "Axes",
    evaluation: Evaluation | ClasswiseEvaluation,
    prob: float,
    *,
    above: float,
    note: str = "",
    small: bool = False,
    name: str = "",
) -> None:
    """Write the result as the title and the question below it in smaller type; in small axes only the result."""
    low, high = evaluation.ece.interval(prob)
    mean, low, high = _render.numbers(evaluation.ece.mean(), low, high)
    interval = "" if small else f", {100 * prob:g} % interval"
    paragraphs = [note] if small else [evaluation.question, note]
    shown = _render.cut(_render.visible(name), characters(ax, TINY + 1 if small else SMALL + 1))
    title = f"ECE {mean}{interval} [{low}, {high}]"
    titled(ax, f"{shown}\n{title}" if name else title, paragraphs, above=above, small=small)


def key_above(
    ax: "Axes", entries: Sequence[tuple[Any, str]] | None = None, *, small: bool = False, offset: float = 0.0
) -> float:
    """Draw the key above axes, where it hides no data, in as many columns as fit; return its height in points."""
    from matplotlib.transforms import ScaledTranslation

    size = TINY if small else SMALL
    room = characters(ax, size)
    chosen = list(zip(*ax.get_legend_handles_labels(), strict=True)) if entries is None else entries
    labels = [_render.cut(label, room - BESIDE) for _, label in chosen]
    columns = _columns(labels, room)
    legend = ax.legend(
        handles=[handle for handle, _ in chosen], labels=labels, loc="lower left", bbox_to_anchor=(0, 1),
        bbox_transform=ax.transAxes + ScaledTranslation(0, offset / 72, ax.figure.dpi_scale_trans),
        ncols=columns, frameon=False, fontsize=size, borderaxespad=0.2, borderpad=0, handlelength=1.2,
        handletextpad=0.5, columnspacing=0.9,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
    lines = -(-len(labels) // columns)
    return offset + (1.6 * lines - 0.2) * size + 4


def _columns(labels: Sequence[str], room: int) -> int:
    """Return how many columns of a key fit into a line of `room` characters."""

    def width(columns: int) -> int:
        rows = -(-len(labels) // columns)  # matplotlib fills columns from top to bottom
        return sum(max(map(len, labels[i : i + rows])) + BESIDE for i in range(0, len(labels), rows))

    return next((columns for columns in range(len(labels), 1, -1) if width(columns) <= room), 1)


def titled(ax: "Axes", title: str, paragraphs: Sequence[str], *, above: float, small: bool = False) -> None:
    """Write a title, and paragraphs below it in smaller type, all wrapped, `above` points above the axes."""
    size = TINY - 0.5 if small else SMALLER
    lines = [line for words in paragraphs for line in textwrap.wrap(_render.visible(words), characters(ax, size))]
    ax.annotate(
        "\n".join(lines), (0, 1), xycoords="axes fraction", xytext=(0, above),
        textcoords="offset points", fontsize=size, va="bottom", alpha=0.7, parse_math=False,
    )  # fmt: skip
    pad = above + 1.25 * size * len(lines) + 3
    title_size = TINY + 1 if small else SMALL + 1
    wrapped = [part for line in title.split("\n") for part in textwrap.wrap(line, characters(ax, title_size))]
    ax.set_title("\n".join(wrapped), loc="left", fontsize=title_size, pad=pad, parse_math=False)
