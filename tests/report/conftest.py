"""What tests of plots share: figures that pyplot does not know, parts of axes, and words that must not overlap."""

import itertools
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

sys.path.append(str(Path(__file__).parent))


def _page(size, layout="constrained"):
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def _words(figure):
    figure.canvas.draw()
    every = {t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()}
    for ax in figure.findobj(mpl.axes.Axes):
        box = ax.bbox.padded(1)
        for axis, horizontal in ((ax.xaxis, True), (ax.yaxis, False)):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                for label in (tick.label1, tick.label2):
                    at = ax.transData.transform((tick.get_loc(), tick.get_loc()))
                    inside = box.x0 <= at[0] <= box.x1 if horizontal else box.y0 <= at[1] <= box.y1
                    if not inside:
                        every.discard(label)
    return [(t.get_text(), t.get_window_extent()) for t in every]


def _assert_words_apart(figure):
    boxes = _words(figure)
    assert len(boxes) > 5
    whole = figure.bbox
    for word, box in boxes:
        outside = max(whole.x0 - box.x0, box.x1 - whole.x1, whole.y0 - box.y0, box.y1 - whole.y1)
        assert outside <= 1, f"{word!r} leaves the page by {outside:.0f} pixels"
    for (word, box), (other, its) in itertools.combinations(boxes, 2):
        wide = min(box.x1, its.x1) - max(box.x0, its.x0)
        tall = min(box.y1, its.y1) - max(box.y0, its.y0)
        assert wide <= 0.5 or tall <= 0.5, f"{word!r} lies on {other!r} by {wide:.1f} x {tall:.1f} pixels"


def _part(ax, gid):
    (artist,) = [a for a in ax.get_children() if a.get_gid() == gid]
    return artist


@pytest.fixture(scope="session")
def page():
    """A figure that pyplot does not know, of a size in inches."""
    return _page


@pytest.fixture(scope="session")
def axes():
    """Axes of such a figure."""
    return lambda size=(5, 6), layout="constrained": _page(size, layout).subplots()


@pytest.fixture(scope="session")
def part():
    """The only artist of axes with this gid."""
    return _part


@pytest.fixture(scope="session")
def words():
    """All visible words of a figure with their boxes; of tick labels those within the limits."""
    return _words


@pytest.fixture(scope="session")
def assert_words_apart():
    """Assert that no word of a figure lies on another one or leaves the page."""
    return _assert_words_apart
