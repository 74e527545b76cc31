"""The plot of a comparison: classifiers, differences and ranks."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayescal import _render
from bayescal._meant import public
from bayescal._render import wrapped
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.report.comparison_panels import (
    EMPTY,
    WRITTEN,
    Colors,
    difference_label,
    draw_curve,
    draw_difference,
    draw_probabilities,
    draw_sides,
    limits_of,
    sides_in_words,
    write_above,
)
from bayescal.report.comparison_shapes import ComparisonShapes, comparison_shapes
from bayescal.report.drawing import SMALL, axes_or_new
from bayescal.report.forest import (
    NAME_WIDTH,
    axis_label,
    direction,
    draw_forest,
    has_sign,
    key,
    mark_zero,
    name_lines,
    rows_height,
)
from bayescal.report.room import TINY, add_part, cell, characters, is_small, keep_within, small_words
from bayescal.results.compared import Compared

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Width of a table of probabilities, in units of the width of the forest plot at its left.
TABLE = 0.62


@public
def plot_comparison(
    comparison: Compared,
    ax: "Axes | None" = None,
    *,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
    color: Any = None,
    other_color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw the classifiers, their differences, and the probabilities that one is better.

    Above, every classifier with its mean (dot) and intervals, the best first. Below, the difference with the region of
    practical equivalence shaded: on the left of it one classifier is better, on the right the other; the three
    probabilities are written above. Differences have the sign of the table: of two classifiers, the first given minus
    the second, as the posterior of the difference, and below it the probability that they are equal as a function of
    the half-width of the region. Of more, the best minus each of the others; the probability of each rank is shown
    beside the classifiers.

    The plot stays within its subplot. If the subplot is too small for all panels, `ax` shows only the difference of
    two classifiers, or only the classifiers if there are more than two.

    Parameters
    ----------
    comparison : Comparison or Change
        From `compare`, `compare_independent`, `GroupedEvaluation.compare` or `CalibrationMonitor.change`.
    ax : matplotlib Axes, optional
        Where to draw; the axes are divided into panels. By default on a new pyplot figure.
    estimand : str or callable, default "ece"
        What is compared: a name as for `Comparison`, or a function of draws of the bins.
    prob : float, default 0.95
        Probability of the equal-tailed intervals, in (0, 1).
    color, other_color : matplotlib color, optional
        Colours of the first and of the second classifier. For more classifiers, `color` is that of all of them and of
        the best, where it is better, and `other_color` marks where another one is better than it.
    reference_color : matplotlib color, optional
        Colour of the difference, its zero, and the region of practical equivalence. All default colours are lighter on
        a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one, with the classifiers. The other panels are ``ax.child_axes``: for two classifiers the
        difference and the curve; for more the differences, the ranks, and the probabilities beside the differences;
        none in small axes.

    Raises
    ------
    TypeError
        If `comparison` is not a comparison, or `ax` is not an Axes.
    ValueError
        If `prob` is not strictly between 0 and 1, a colour is unknown to matplotlib, or `ax` is divided already.

    See Also
    --------
    plot_forest : Plot classifiers or groups alone.

    Examples
    --------
    >>> import bayescal as bc
    >>> from matplotlib.figure import Figure
    >>> comparison = bc.compare([0, 1, 1, 0], {"a": [0.2, 0.4, 0.7, 0.9], "b": [0.3, 0.4, 0.6, 0.7]}, rng=1)
    >>> ax = plot_comparison(comparison, Figure().subplots())
    >>> len(ax.child_axes)
    2
    """
    shapes = comparison_shapes(comparison, prob, estimand=estimand)
    shapes, names = _named(shapes), tuple(map(_render.name, comparison.names))
    two, n = shapes.density is not None, len(shapes.classifiers)
    height, lines = rows_height(shapes.classifiers.names), name_lines(shapes.classifiers.names)
    ax = axes_or_new(ax, figsize=(6.6, 4.5 + height + 0.3 * lines) if two else (9.0, min(2.4 + 2 * height, 20.0)))
    if ax.get_axes_locator() is not None:
        raise ValueError("`ax` is divided already. Give each plot axes of its own: `fig, axes = plt.subplots(1, 2)`.")
    colors = Colors.chosen(ax, color, other_color, reference_color)
    verdict, target = comparison.verdict(estimand=estimand), comparison[comparison.names[0]].counts.target
    axis, what = axis_label(estimand, target), _render.name(comparison.quantity(estimand))
    larger = as_estimand(estimand).better == "larger"
    if is_small(ax, 4.6, 4.0 + height) if two else is_small(ax, 6.5, min(1.9 + 1.4 * height, 15.0)):
        _in_small(ax, shapes, names, axis, what, verdict, colors, larger=larger)
        if not two and has_sign(estimand, shapes.classifiers):
            mark_zero(ax, colors.reference)
        keep_within(ax)
        return ax
    colours = [colors.main] * n
    if two:
        colours = [colors.main, colors.other] if shapes.classifiers.names == names else [colors.other, colors.main]
    draw_forest(ax, shapes.classifiers, colours)
    if has_sign(estimand, shapes.classifiers):
        mark_zero(ax, colors.reference)
    words = direction(estimand, target)
    label = [axis, *words, key(prob)]
    if two and not words and len("; ".join(label)) < 0.9 * characters(ax, SMALL):
        label = ["; ".join(label)]
    ax.set_xlabel("\n".join(label), fontsize=SMALL, parse_math=False)
    if two:
        _two(ax, shapes, names, what, colors, lines=len(label), larger=larger)
    else:
        _several(ax, shapes, what, colors, lines=len(label), larger=larger)
    _verdict(ax, verdict, above=4 if two else 20)
    keep_within(ax)
    return ax


def _named(shapes: ComparisonShapes) -> ComparisonShapes:
    """Return the shapes with names that are escaped and shortened for display."""
    classifiers, differences = (
        replace(rows, names=tuple(map(_render.name, rows.names))) for rows in (shapes.classifiers, shapes.differences)
    )
    return replace(shapes, classifiers=classifiers, differences=differences)


def _in_small(
    ax: "Axes",
    shapes: ComparisonShapes,
    names: tuple[str, ...],
    axis: str,
    what: str,
    verdict: str,
    colors: Colors,
    *,
    larger: bool,
) -> None:
    """Draw the difference of two classifiers, or the classifiers if there are more than two."""
    lines = characters(ax, TINY + 1)
    if shapes.density is not None:
        words = sides_in_words(ax, names, shapes, TINY, larger=larger)
        draw_difference(ax, shapes, words, colors.sides(larger=larger), ticks=3)
        ax.set_xlabel(difference_label(names, what, lines), parse_math=False)
        above = TINY * 1.25 * (1 + max(word.count("\n") for word in words)) + 8
    else:
        draw_forest(ax, shapes.classifiers, [colors.main] * len(shapes.classifiers), small=True)
        ax.set_xlabel("ECE" if what == "ECE" else axis, parse_math=False)
        longest = max(map(len, wrapped(max(shapes.classifiers.names, key=len), NAME_WIDTH * 2 // 3).split("\n")))
        room = (cell(ax).width * 72 / ax.figure.dpi - 0.6 * TINY * (longest + 2)) / (0.6 * (TINY + 1))
        lines, above = max(12, int(room)), 4
    ax.set_title(wrapped(verdict, lines), loc="left", fontsize=TINY + 1, pad=above, parse_math=False)
    small_words(ax)


def _two(
    ax: "Axes",
    shapes: ComparisonShapes,
    names: tuple[str, ...],
    what: str,
    colors: Colors,
    *,
    lines: int,
    larger: bool,
) -> None:
    """Draw the difference and the curve below the classifiers, whose label has `lines` lines."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    divider = make_axes_locatable(ax)
    words = sides_in_words(ax, names, shapes, SMALL + 0.5, larger=larger)
    # the height of the forest plot depends on its names; in a figure of default height the other panels keep theirs
    forest_height = rows_height(names)
    below = divider.new_vertical(
        f"{160 / forest_height:.0f}%",
        pad=0.46 + 0.16 * (1 + lines + max(w.count("\n") for w in words)),
        pack_start=True,
    )
    curve = divider.new_vertical(f"{70 / forest_height:.0f}%", pad=0.75, pack_start=True)
    for part in (below, curve):
        add_part(ax, part)
    draw_difference(below, shapes, words, colors.sides(larger=larger))
    below.set_xlabel(difference_label(names, what, 70), fontsize=SMALL, parse_math=False)
    draw_curve(curve, shapes, colors.reference)


def _several(ax: "Axes", shapes: ComparisonShapes, what: str, colors: Colors, *, lines: int, larger: bool) -> None:
    """Draw ranks, differences and their probabilities beside and below the classifiers, as `_two` does."""
    from matplotlib.axes import Axes
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    n, best = len(shapes.classifiers), shapes.classifiers.names[0]
    divider = make_axes_locatable(ax)
    # half of the left column each, less if names are long
    points = ax.bbox.width * 72 / ax.figure.dpi / (1 + TABLE) / 2
    half = int(points / (0.6 * (SMALL + 0.5))) - 8 * (name_lines(shapes.classifiers.names) > 1)
    left, right = f"{best} better", f"better than {best}"
    if larger:
        left, right = right, left
    sides = [f"\N{LEFTWARDS ARROW} {wrapped(left, half)}", f"{wrapped(right, half)} \N{RIGHTWARDS ARROW}"]
    room = 0.48 + 0.16 * (1 + lines + max(side.count("\n") for side in sides))
    below = divider.new_vertical(f"{100 * (n - 1) / n:.0f}%", pad=room, pack_start=True)
    ranks = divider.new_horizontal(f"{100 * TABLE:g}%", pad=0.15)
    beside = Axes(ax.figure, ax.get_position(original=True))
    beside.set_axes_locator(divider.new_locator(nx=2, ny=0))
    for part in (below, ranks, beside):
        add_part(ax, part)
    rows = shapes.differences
    ends = limits_of(float(rows.low.min()), float(rows.high.max()), shapes.rope)
    sided = colors.sides(larger=larger)
    draw_sides(below, ends, shapes.rope, sided)
    draw_forest(below, rows, [colors.reference] * len(rows))
    write_above(below, ((0.0, "left", sides[0], sided.main), (1.0, "right", sides[1], sided.other)))
    below.set_xlabel(
        f"{what} of {wrapped(best, 40)} minus that of each\ngrey: equal within {shapes.rope:g}",
        fontsize=SMALL,
        parse_math=False,
    )
    draw_probabilities(ranks, shapes.ranks, [str(r + 1) for r in range(n)], [colors.main] * n)
    empty = f"empty: < {EMPTY:g}"
    ranks.set_xlabel(
        f"probability of rank\n(1 is best; {empty if n <= WRITTEN else 'the darker, the more probable'})",
        fontsize=SMALL,
    )
    draw_probabilities(beside, shapes.decided, ["P(1st)", "P(equal)", "P(2nd)"], list(colors.three))
    beside.set_xlabel(f"1st: {_render.cut(best, 24)}, 2nd: the row\n({empty})", fontsize=SMALL, parse_math=False)


def _verdict(ax: "Axes", verdict: str, above: float) -> None:
    points = ax.bbox.width * 72 / ax.figure.dpi
    lines = wrapped(verdict, int(points / (0.62 * (SMALL + 1))))
    ax.set_title(lines, loc="left", fontsize=SMALL + 1, pad=above, parse_math=False)
