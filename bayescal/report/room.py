"""Measure the space of axes in their figure and keep plots within it."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

#: Font size in small axes, in points.
TINY = 7.0
#: Mean width of a character, in units of the font size.
CHARACTER = 0.54
#: Axes never become smaller than this share of their cell.
LEAST = 0.25
#: Points between labels and the edge of their cell.
PADDING = 3.0


def cell(ax: "Axes") -> "Bbox":
    """Return the part of a figure that belongs to axes, in pixels.

    For a subplot, the cell extends to the middle of the gaps to its neighbours and to the edges of the figure, except
    for the figure title. For axes that were placed by hand, the cell is their own position.
    """
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
    return Bbox([[across[columns.start], down[rows.stop]], [across[columns.stop], down[rows.start]]]).transformed(
        figure.transSubfigure
    )


def is_small(ax: "Axes", width: float, height: float) -> bool:
    """Return whether axes have less space than this, in inches."""
    own = cell(ax)
    return bool(own.width < width * ax.figure.dpi or own.height < height * ax.figure.dpi)


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

    For cropped pictures, as in notebooks and with ``savefig(bbox_inches="tight")``, matplotlib changes the size of the
    figure and fixes the positions of its axes, but not those of child axes. Without `_BesideMain`, the divider would
    place child axes again, for the changed size.
    """
    ax.add_child_axes(part)  # constrained layout leaves room for the labels of child axes only
    part.set_axes_locator(_BesideMain(ax, part))


def keep_within(ax: "Axes") -> None:
    """Shrink a subplot at each drawing until its labels lie inside its own cell.

    A figure with a layout engine (constrained, tight) does this itself. Any other figure gets a placeholder engine,
    which moves no other axes and which a layout that is requested later, as by ``figure.tight_layout()``, replaces.
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


def _shrink_all(figure: Any) -> None:
    for ax in figure.get_layout_engine().kept:
        if ax.figure is not None and ax.get_in_layout() and ax.get_subplotspec() is not None:
            _shrink(ax)


def _shrink(ax: Any) -> None:
    """Reset axes to their grid position, then shrink them until their labels lie inside their cell."""
    from matplotlib.transforms import Bbox

    figure, spec = ax.figure, ax.get_subplotspec()
    own = cell(ax).padded(-PADDING * figure.dpi / 72)
    least = LEAST * np.array([own.width, own.height])
    _place(ax, spec.get_position(figure))
    for _ in range(6):  # repeated, since a centred label moves when either end does
        words = ax.get_tightbbox()
        if words is None:
            return
        low, high = np.maximum(own.min - words.min, 0), np.maximum(words.max - own.max, 0)
        if max(*low, *high) < 0.5:
            return
        place = ax.get_position(original=True).transformed(figure.transSubfigure)
        low, high = place.min + low, place.max - high
        _place(ax, Bbox([low, np.maximum(high, low + least)]).transformed(figure.transSubfigure.inverted()))


def _place(ax: "Axes", place: "Bbox") -> None:
    ax.set_position(place)
    ax.set_in_layout(True)  # a layout that is requested later may move it
