"""Colours of all plots: those of the user, and readable ones on any background."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from sbc.rank_plot import plot_ranks
from sbc.ranks import Ranks
from three_evaluations import FIRST, SECOND, N, P, Y, axes, of

import bayescal as bc
from bayescal.report.drawing import DARK, LIGHT, _columns, background, is_dark, luminance, palette, text_on

BY = np.arange(N) % 3
COMPARISON = bc.compare(Y, {"a": P, "b": P**2}, rng=1, draws=100)

THREE = bc.compare(Y, {"a": P, "b": P**2, "c": P**3}, rng=1, draws=100)

GROUPS = bc.evaluate(Y, P, by=BY, rng=1, draws=100)

RANKS = Ranks({"q": np.arange(200) % 20, "off": np.zeros(200, int)}, 200, 19)

PLOTS = {
    "reliability": (lambda ax, **k: bc.plot_reliability(FIRST, ax, **k), ("color", "reference_color", "above_color")),
    "several": (lambda ax, **k: bc.plot_reliability([FIRST, SECOND], ax, **k), ("color", "below_color")),
    "posterior": (lambda ax, **k: bc.plot_posterior(FIRST, ax, **k), ("color", "null_color", "reference_color")),
    "forest": (
        lambda ax, **k: bc.plot_forest(GROUPS, ax, estimand="signed_error", **k),
        ("color", "reference_color"),
    ),
    "two": (lambda ax, **k: bc.plot_comparison(COMPARISON, ax, **k), ("color", "other_color", "reference_color")),
    "three": (lambda ax, **k: bc.plot_comparison(THREE, ax, **k), ("color", "other_color", "reference_color")),
    "ranks": (lambda ax, **k: plot_ranks(RANKS, ax, **k), ("color", "band_color", "outside_color")),
}

KEYWORDS = [(name, keyword) for name, (_, keywords) in PLOTS.items() for keyword in keywords]


def colours_of(figure):
    """Return every colour that a figure draws."""
    found = set()
    for each in figure.findobj():
        for get in ("get_color", "get_facecolor", "get_edgecolor", "get_colors", "get_markeredgecolor"):
            value = getattr(each, get, lambda: None)()
            values = [] if value is None else [value] if isinstance(value, str) or np.ndim(value) == 1 else value
            found |= {to_hex(v) for v in values if mpl.colors.is_color_like(v)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keyword"), KEYWORDS)
def test_a_colour_is_used_and_a_wrong_one_is_named(name, keyword):
    plot, _ = PLOTS[name]
    assert "#12fe34" not in colours_of(plot(axes((9, 9))).figure)
    assert "#12fe34" in colours_of(plot(axes((9, 9)), **{keyword: "#12fe34"}).figure)
    assert "#12fe34" in colours_of(plot(axes((9, 9)), **{keyword: tuple(to_rgb("#12fe34"))}).figure)
    for wrong in ("bluee", (2.0, 0.0, 0.0), 3):
        with pytest.raises(ValueError, match=rf"`{keyword}"):
            plot(axes(), **{keyword: wrong})


def test_colours_of_names():
    ax = bc.plot_reliability({"a": FIRST, "b": SECOND}, axes(), color={"b": "k"})
    assert [to_hex(line.get_color()) for line in of(ax, "observed")] == [LIGHT.cycle[0].lower(), "#000000"]
    ax = bc.plot_forest(GROUPS, axes(), color=["r", "g", "b"], reference_color="k", order="given")
    rows = [to_hex(c) for c in of(ax, "mean")[0].get_facecolors()]
    assert rows == ["#ff0000", "#008000", "#0000ff", "#000000"]
    with pytest.raises(ValueError, match=r"`color` has colors for \['c'\], which the plot does not show.*'a', 'b'"):
        bc.plot_reliability({"a": FIRST, "b": SECOND}, axes(), color={"c": "k"})
    with pytest.raises(ValueError, match="one color for each of 2"):
        bc.plot_reliability({"a": FIRST, "b": SECOND}, axes(), color=["k"])
    with pytest.raises(ValueError, match=r"`color\[1\]`.*'bluee'"):
        bc.plot_reliability({"a": FIRST, "b": SECOND}, axes(), color=["k", "bluee"])


def test_luminance_of_known_colours():
    """WCAG 2: white has 1, black 0, and the three primaries of sRGB 0.2126, 0.7152 and 0.0722."""
    known = {"white": 1, "black": 0, (1, 0, 0): 0.2126, (0, 1, 0): 0.7152, (0, 0, 1): 0.0722}
    for color, expected in known.items():
        assert luminance(color) == pytest.approx(expected, abs=1e-12)
    # #777777 on white has the contrast 4.478 that WCAG tutorials quote
    assert 1.05 / (luminance("#777777") + 0.05) == pytest.approx(4.478, abs=1e-3)


def contrast(color, paper, alpha=1.0):
    mixed = alpha * np.array(to_rgb(color)) + (1 - alpha) * np.array(to_rgb(paper))
    low, high = sorted((luminance(mixed), luminance(paper)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("colors", "paper"), [(LIGHT, "white"), (DARK, "black"), (DARK, "#15181b")])
def test_default_colours_are_readable(colors, paper):
    """WCAG 2: text needs a contrast of 4.5, graphics and large text 3; short words beside an axis are between."""
    for color in (colors.blue, colors.orange, colors.grey, *colors.cycle):
        assert contrast(color, paper) >= 3.7, color
    assert contrast(colors.blue, paper) >= 4.5
    assert len(set(colors.cycle)) == 7


@pytest.mark.parametrize("name", PLOTS)
def test_in_a_dark_theme_all_words_and_lines_are_readable(name):
    with plt.style.context("dark_background"):
        ax = PLOTS[name][0](axes((9, 9)))
        ax.figure.canvas.draw()
        for text in ax.figure.findobj(Text):
            if text.get_text().strip() and text.get_visible() and text.get_gid() != "probability":
                assert contrast(text.get_color(), "black", text.get_alpha() or 1) >= 4.5, text
        for part in (ax, *ax.child_axes):
            for line in part.get_lines():
                assert contrast(line.get_color(), "black", line.get_alpha() or 1) >= 1.5


def test_text_on_a_filled_cell_is_readable():
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            ax = axes()
            for color in (palette(ax).blue, palette(ax).grey, palette(ax).orange):
                for alpha in np.linspace(0, 0.85, 18):
                    fill = (*to_rgb(color), float(alpha))
                    paper = to_rgb(background(ax))
                    mixed = alpha * np.array(to_rgb(color)) + (1 - alpha) * np.array(paper)
                    assert contrast(text_on(ax, fill), tuple(mixed)) >= 4.5


def test_the_palette_follows_the_paper_not_the_style():
    ax = axes()
    assert palette(ax) is LIGHT
    ax.set_facecolor("#202020")
    assert palette(ax) is DARK
    ax.set_facecolor("none")
    assert palette(ax) is LIGHT
    ax.figure.set_facecolor("black")
    assert palette(ax) is DARK
    ax.figure.set_facecolor("none")
    with mpl.rc_context({"text.color": "white"}):
        assert palette(ax) is DARK
        assert is_dark(background(ax))
    assert palette(ax) is LIGHT


def test_example_of_columns():
    assert (
        _columns(["treat all", "treat none", "useful"], 40),
        _columns(["treat all", "treat none", "useful"], 32),
    ) == (3, 2)
