"""Parts of the plot of a comparison: the difference, the curve of P(equal), and tables of probabilities."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _render
from bayescal._render import wrapped
from bayescal.report.comparison_shapes import ComparisonShapes
from bayescal.report.density import draw_density
from bayescal.report.drawing import SMALL, SMALLER, background, palette, text_on
from bayescal.report.forest import (
    calm,
)
from bayescal.report.room import characters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
#: Cells of a table show their probabilities if there are at most this many columns; smaller probabilities are left out.
WRITTEN, EMPTY = 10, 0.01


@dataclass(frozen=True)
class Colors:
    """Colours of the first classifier of a pair, of the second, and of what they are compared with."""

    main: str
    other: str
    reference: str

    @classmethod
    def chosen(cls, ax: "Axes", color: Any, other_color: Any, reference_color: Any) -> "Colors":
        """Return the given colours, or those for the background of the axes."""
        default = palette(ax)
        return cls(
            _checks.color("color", color, default.blue),
            _checks.color("other_color", other_color, default.orange),
            _checks.color("reference_color", reference_color, default.grey),
        )

    @property
    def three(self) -> tuple[str, str, str]:
        """Colours of the first being better, of both being equal, and of the second being better."""
        return self.main, self.reference, self.other

    def sides(self, *, larger: bool) -> "Colors":
        """Colours of both sides of a difference, first minus second: the first is better on the left, or right."""
        return replace(self, main=self.other, other=self.main) if larger else self


def difference_label(names: tuple[str, ...], what: str, longest: int) -> str:
    """Return the label of the difference, without long names: the arrows above the axes name the classifiers."""
    first, second = names
    label = f"{what} of {first} minus that of {second}"
    return label if len(label) < longest else f"difference of {what}"


def limits_of(low: float, high: float, rope: float) -> tuple[float, float]:
    """Return limits that hold the differences and the rope, with a margin on both sides."""
    low, high = min(low, -1.5 * rope), max(high, 1.5 * rope)
    margin = 0.04 * (high - low) or 1e-3
    return low - margin, high + margin


def draw_sides(ax: "Axes", limits: tuple[float, float], rope: float, colors: Colors) -> None:
    """Colour both sides of the region of practical equivalence, and the region itself in the third colour."""
    ax.axvspan(limits[0], -rope, color=colors.main, alpha=0.10, linewidth=0, zorder=0)
    ax.axvspan(-rope, rope, color=colors.reference, alpha=0.22, linewidth=0, zorder=0, gid="rope")
    ax.axvspan(rope, limits[1], color=colors.other, alpha=0.10, linewidth=0, zorder=0)
    ax.axvline(0, color=colors.reference, linewidth=1, linestyle="--", zorder=1)
    ax.set_xlim(*limits)


def draw_difference(ax: "Axes", shapes: ComparisonShapes, words: list[str], colors: Colors, ticks: int = 5) -> None:
    """Draw the density of the difference of two classifiers, above which words name the better one on each side."""
    density = shapes.density
    assert density is not None
    ends = [density.low, density.high, *density.x[[0, -1][: len(density.x)]], *density.stem_x]
    draw_sides(ax, limits_of(min(ends), max(ends), shapes.rope), shapes.rope, colors)
    draw_density(ax, density, 0.0, 1.0, colors.reference)
    ax.set_ylim(-0.3, 1.15)
    ax.set_yticks([])
    calm(ax, ticks)
    write_above(ax, tuple(zip((0.0, 0.5, 1.0), ("left", "center", "right"), words, colors.three, strict=True)))


def write_above(ax: "Axes", words: Iterable[tuple[float, str, str, str]]) -> None:
    """Write words above the axes: (position from 0 to 1, alignment, words, colour)."""
    for x, side, word, colour in words:
        ax.annotate(
            word,
            (x, 1),
            xycoords="axes fraction",
            xytext=(0, 4),
            textcoords="offset points",
            ha=side,
            va="bottom",
            color=colour,
            fontsize=SMALL + 0.5,
            parse_math=False,
        )


def sides_in_words(
    ax: "Axes", names: tuple[str, ...], shapes: ComparisonShapes, size: float, *, larger: bool
) -> list[str]:
    """Return the words above the difference: which classifier is better on each side, with its probability.

    If larger values are better, the first classifier is better where the difference is positive, on the right.
    """
    third = int(0.9 * characters(ax, size) / 3)
    chances = [f"P {_render.probability(float(p))}" for p in shapes.decided[0]]
    if larger:
        names, chances = names[::-1], chances[::-1]
    left, right = (wrapped(f"{name} better", third) for name in names)
    return [
        f"\N{LEFTWARDS ARROW} {left}\n{chances[0]}",
        f"{wrapped(f'equal within {shapes.rope:g}', third)}\n{chances[1]}",
        f"{right} \N{RIGHTWARDS ARROW}\n{chances[2]}",
    ]


def draw_curve(ax: "Axes", shapes: ComparisonShapes, color: str) -> None:
    """Draw the probability that two classifiers are equal against the difference that still counts as equal."""
    ax.axvspan(0, shapes.rope, color=color, alpha=0.22, linewidth=0, zorder=0)
    ax.plot(shapes.ropes, shapes.p_equal, color=color, linewidth=1.6, drawstyle="steps-post", gid="curve")
    ax.plot(
        shapes.rope,
        shapes.decided[0, 1],
        marker="o",
        markersize=6,
        color=color,
        markeredgecolor=background(ax),
        clip_on=False,
    )
    ax.set(xlim=(0, shapes.ropes[-1]), ylim=(0, 1.08), yticks=[0, 0.5, 1])
    ax.set_xlabel("difference that still counts as equal", fontsize=SMALL)
    ax.set_ylabel("P(equal)", fontsize=SMALL)
    calm(ax)
    ax.tick_params(axis="y", labelsize=SMALL)


def draw_probabilities(ax: "Axes", probabilities: Floats, titles: list[str], colours: list[str]) -> None:
    """Draw a table of probabilities, darker if more probable; rows as in the forest plot at its left."""
    from matplotlib.colors import to_rgb

    n_rows, n_columns = probabilities.shape
    row, column = (index.ravel() for index in np.indices(probabilities.shape))
    p = probabilities.ravel()
    tint = [(*to_rgb(colours[c]), 0.85 * value) for c, value in zip(column, p.tolist(), strict=True)]
    ax.bar(column, 0.86, 0.94, bottom=row - 0.43, color=tint, gid="cells")
    if n_columns <= WRITTEN:
        for r, c, value, fill in zip(row.tolist(), column.tolist(), p.tolist(), tint, strict=True):
            if value >= EMPTY:
                written = _render.probability(value).removeprefix("= ")
                color = text_on(ax, fill)
                ax.text(c, r, written, ha="center", va="center", fontsize=SMALLER, color=color, gid="probability")
    step = -(-n_columns // WRITTEN)
    ax.set_xticks(range(0, n_columns, step), titles[::step], fontsize=SMALL)
    ax.xaxis.tick_top()
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.4, -0.6), yticks=[])
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)
