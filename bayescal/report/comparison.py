"""The plots of comparisons: classifiers, differences and ranks; the same over data sets."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal._render import wrapped
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.report import drawing
from bayescal.report import forest as forests
from bayescal.report.posterior import Density, density_of, draw_density
from bayescal.results.comparison import Compared
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.scores import ScoreComparison

CURVE = 201  #: Number of points of the curve of P(equal).


@dataclass(frozen=True, eq=False)
class ComparisonShapes:
    """Content of a comparison plot."""

    classifiers: forests.Forest  # the best (smallest expected rank) first
    ranks: Floats  # probability that a classifier (row, in that order) has a rank (column)
    differences: forests.Forest
    pairs: tuple[tuple[str, str], ...]  # the names of each difference: the first minus the second
    decided: Floats  # shape (n_differences, 3): P(first is better), P(equal within the rope), P(second is better)
    density: Density | None  # of the difference of two classifiers; None for more
    ropes: Floats  # for two classifiers, half-widths of the region of practical equivalence; empty for more
    p_equal: Floats  # probability that the two are equal within each of `ropes`
    rope: float  # half-width of the region of practical equivalence


def comparison_shapes(comparison: Compared, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> ComparisonShapes:
    """Compute the values that `plot_comparison` draws; TypeError if `comparison` is not a comparison."""
    if not isinstance(comparison, Compared):
        instead = "make one with `bayescal.compare(y_true, {'A': ..., 'B': ...})`"
        if isinstance(comparison, ScoreComparison):
            instead = "the page that `to_html` writes shows scores of all classes"
        raise TypeError(f"`comparison` must be a Comparison, not {type(comparison).__name__}; {instead}.")
    values, names = comparison.draws(estimand).values, comparison.names
    best = [names.index(name) for name in comparison._in_order(estimand)]
    first, *others = comparison._listed(estimand)
    pairs = [(first, other) for other in others]
    gaps = np.stack([comparison._compared_difference(*pair, estimand).values for pair in pairs], axis=1)
    decided = [comparison.decide(*pair, estimand=estimand) for pair in pairs]
    two = len(names) == 2
    reach = max(float(np.quantile(np.abs(gaps), 0.995)), 2.5 * comparison.rope) or 1e-6
    ropes = np.linspace(0, reach, CURVE) if two else np.empty(0)
    return ComparisonShapes(
        classifiers=forests.forest([names[i] for i in best], values[:, best], prob),
        ranks=comparison.rank_probabilities(estimand)[best], differences=forests.forest(others, gaps, prob),
        pairs=tuple(pairs), decided=np.array([[d["p_left"], d["p_rope"], d["p_right"]] for d in decided]),
        density=density_of(Draws(gaps[:, 0]), prob) if two else None, ropes=ropes,
        p_equal=comparison.rope_curve(ropes, *pairs[0], estimand) if two else ropes, rope=comparison.rope,
    )  # fmt: skip


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
        default = drawing.palette(ax)
        other = _checks.color("other_color", other_color, default.orange)
        reference = _checks.color("reference_color", reference_color, default.grey)
        return cls(_checks.color("color", color, default.blue), other, reference)

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
    forests.calm(ax, ticks)
    write_above(ax, tuple(zip((0.0, 0.5, 1.0), ("left", "center", "right"), words, colors.three, strict=True)))


def write_above(ax: "Axes", words: Iterable[tuple[float, str, str, str]]) -> None:
    """Write words above the axes: (position from 0 to 1, alignment, words, colour)."""
    for x, side, word, colour in words:
        ax.annotate(
            word, (x, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points",
            ha=side, va="bottom", color=colour, fontsize=drawing.SMALL + 0.5, parse_math=False,
        )  # fmt: skip


def sides_in_words(
    ax: "Axes", names: tuple[str, ...], shapes: ComparisonShapes, size: float, *, larger: bool
) -> list[str]:
    """Return the words above the difference: which classifier is better on each side, with its probability."""
    third = int(0.9 * drawing.characters(ax, size) / 3)
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
        shapes.rope, shapes.decided[0, 1], marker="o", markersize=6,
        color=color, markeredgecolor=drawing.background(ax), clip_on=False,
    )  # fmt: skip
    ax.set(xlim=(0, shapes.ropes[-1]), ylim=(0, 1.08), yticks=[0, 0.5, 1])
    ax.set_xlabel("largest difference that counts as equal", fontsize=drawing.SMALL)
    ax.set_ylabel("P(equal)", fontsize=drawing.SMALL)
    forests.calm(ax)
    ax.tick_params(axis="y", labelsize=drawing.SMALL)


def draw_probabilities(ax: "Axes", probabilities: Floats, titles: list[str], colours: list[str]) -> None:
    """Draw a table of probabilities, darker if more probable; rows as in the forest plot at its left."""
    from matplotlib.colors import to_rgb

    n_rows, n_columns = probabilities.shape
    row, column = (index.ravel() for index in np.indices(probabilities.shape))
    p = probabilities.ravel()
    tint = [(*to_rgb(colours[c]), 0.85 * value) for c, value in zip(column, p.tolist(), strict=True)]
    ax.bar(column, 0.86, 0.94, bottom=row - 0.43, color=tint, gid="cells")
    if n_columns <= WRITTEN:
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": drawing.SMALLER, "gid": "probability"}
        for r, c, value, fill in zip(row.tolist(), column.tolist(), p.tolist(), tint, strict=True):
            if value >= EMPTY:
                written = _render.probability(value).removeprefix("= ")
                ax.text(c, r, written, color=drawing.text_on(ax, fill), **style)
    step = -(-n_columns // WRITTEN)
    ax.set_xticks(range(0, n_columns, step), titles[::step], fontsize=drawing.SMALL)
    ax.xaxis.tick_top()
    ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.4, -0.6), yticks=[])
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)


TABLE = 0.62  #: Width of a table of probabilities, in units of the width of the forest plot at its left.


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
        Where to draw; the axes are divided into panels, once. By default on a new pyplot figure.
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

    See Also
    --------
    plot_forest : Plot classifiers or groups alone.

    Examples
    --------
    >>> comparison = bc.compare([0, 1, 1, 0], {"a": [0.2, 0.4, 0.7, 0.9], "b": [0.3, 0.4, 0.6, 0.7]}, rng=1)
    >>> ax = bc.plot_comparison(comparison, Figure().subplots())
    >>> len(ax.child_axes)
    2
    """
    shapes = comparison_shapes(comparison, prob, estimand=estimand)
    shapes, names = _named(shapes), tuple(map(_render.name, comparison.names))
    two, n = shapes.density is not None, len(shapes.classifiers)
    height, lines = forests.rows_height(shapes.classifiers.names), forests.name_lines(shapes.classifiers.names)
    size = (6.6, 4.5 + height + 0.3 * lines) if two else (9.0, min(2.4 + 2 * height, 20.0))
    ax = drawing.axes_or_new(ax, figsize=size)
    if ax.get_axes_locator() is not None:
        raise ValueError("`ax` is divided already. Give each plot axes of its own: `fig, axes = plt.subplots(1, 2)`.")
    colors = Colors.chosen(ax, color, other_color, reference_color)
    verdict, target = comparison.verdict(estimand=estimand), comparison[comparison.names[0]].counts.target
    axis, what = forests.axis_label(estimand, target), _render.name(comparison.quantity(estimand))
    larger = as_estimand(estimand).better == "larger"
    if drawing.is_small(ax, 4.6, 4.0 + height) if two else drawing.is_small(ax, 6.5, min(1.9 + 1.4 * height, 15.0)):
        _in_small(ax, shapes, names, axis, what, verdict, colors, larger=larger)
        if not two and forests.has_sign(estimand, shapes.classifiers):
            forests.mark_zero(ax, colors.reference)
        drawing.keep_within(ax)
        return ax
    colours = [colors.main] * n
    if two:
        colours = [colors.main, colors.other] if shapes.classifiers.names == names else [colors.other, colors.main]
    forests.draw_forest(ax, shapes.classifiers, colours)
    if forests.has_sign(estimand, shapes.classifiers):
        forests.mark_zero(ax, colors.reference)
    words = forests.direction(estimand, target)
    label = [axis, *words, forests.key(prob)]
    if two and not words and len("; ".join(label)) < 0.9 * drawing.characters(ax, drawing.SMALL):
        label = ["; ".join(label)]
    ax.set_xlabel("\n".join(label), fontsize=drawing.SMALL, parse_math=False)
    if two:
        _two(ax, shapes, names, what, colors, lines=len(label), larger=larger)
    else:
        _several(ax, shapes, what, colors, lines=len(label), larger=larger)
    lines_of_verdict = wrapped(verdict, int(ax.bbox.width * 72 / ax.figure.dpi / (0.62 * (drawing.SMALL + 1))))
    above = 4 if two else 20
    ax.set_title(lines_of_verdict, loc="left", fontsize=drawing.SMALL + 1, pad=above, parse_math=False)
    drawing.keep_within(ax)
    return ax


def _named(shapes: ComparisonShapes) -> ComparisonShapes:
    """Return the shapes with names that are escaped and shortened for display."""
    both = {name: getattr(shapes, name) for name in ("classifiers", "differences")}
    named = {name: replace(rows, names=tuple(map(_render.name, rows.names))) for name, rows in both.items()}
    return replace(shapes, **named)


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
    lines = drawing.characters(ax, drawing.TINY + 1)
    if shapes.density is not None:
        words = sides_in_words(ax, names, shapes, drawing.TINY, larger=larger)
        draw_difference(ax, shapes, words, colors.sides(larger=larger), ticks=3)
        ax.set_xlabel(difference_label(names, what, lines), parse_math=False)
        above = drawing.TINY * 1.25 * (1 + max(word.count("\n") for word in words)) + 8
    else:
        forests.draw_forest(ax, shapes.classifiers, [colors.main] * len(shapes.classifiers), small=True)
        ax.set_xlabel("ECE" if what == "ECE" else axis, parse_math=False)
        names_in_lines = wrapped(max(shapes.classifiers.names, key=len), forests.NAME_WIDTH * 2 // 3).split("\n")
        beside = 0.6 * drawing.TINY * (max(map(len, names_in_lines)) + 2)
        room = (drawing.cell(ax).width * 72 / ax.figure.dpi - beside) / (0.6 * (drawing.TINY + 1))
        lines, above = max(12, int(room)), 4
    ax.set_title(wrapped(verdict, lines), loc="left", fontsize=drawing.TINY + 1, pad=above, parse_math=False)
    drawing.small_words(ax)


def _two(
    ax: "Axes", shapes: ComparisonShapes, names: tuple[str, ...], what: str, colors: Colors, *, lines: int, larger: bool
) -> None:
    """Draw the difference and the curve below the classifiers, whose label has `lines` lines."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    divider = make_axes_locatable(ax)
    words = sides_in_words(ax, names, shapes, drawing.SMALL + 0.5, larger=larger)
    # the height of the forest plot depends on its names; in a figure of default height the other panels keep theirs
    height = forests.rows_height(names)
    pad = 0.46 + 0.16 * (1 + lines + max(w.count("\n") for w in words))
    below = divider.new_vertical(f"{160 / height:.0f}%", pad=pad, pack_start=True)
    curve = divider.new_vertical(f"{70 / height:.0f}%", pad=0.75, pack_start=True)
    for part in (below, curve):
        drawing.add_part(ax, part)
    draw_difference(below, shapes, words, colors.sides(larger=larger))
    below.set_xlabel(difference_label(names, what, 70), fontsize=drawing.SMALL, parse_math=False)
    draw_curve(curve, shapes, colors.reference)


def _several(ax: "Axes", shapes: ComparisonShapes, what: str, colors: Colors, *, lines: int, larger: bool) -> None:
    """Draw ranks, differences and their probabilities beside and below the classifiers, as `_two` does."""
    from matplotlib.axes import Axes
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    n, best = len(shapes.classifiers), shapes.classifiers.names[0]
    divider = make_axes_locatable(ax)
    # half of the left column each, less if names are long
    points = ax.bbox.width * 72 / ax.figure.dpi / (1 + TABLE) / 2
    half = int(points / (0.6 * (drawing.SMALL + 0.5))) - 8 * (forests.name_lines(shapes.classifiers.names) > 1)
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
        drawing.add_part(ax, part)
    rows = shapes.differences
    ends = limits_of(float(rows.low.min()), float(rows.high.max()), shapes.rope)
    sided = colors.sides(larger=larger)
    draw_sides(below, ends, shapes.rope, sided)
    forests.draw_forest(below, rows, [colors.reference] * len(rows))
    write_above(below, ((0.0, "left", sides[0], sided.main), (1.0, "right", sides[1], sided.other)))
    words = f"{what} of {wrapped(best, 40)} minus that of the row\ngrey: differences of at most {shapes.rope:g}"
    below.set_xlabel(words, fontsize=drawing.SMALL, parse_math=False)
    draw_probabilities(ranks, shapes.ranks, [str(r + 1) for r in range(n)], [colors.main] * n)
    empty = f"empty: < {EMPTY:g}"
    meaning = f"(1 is best; {empty if n <= WRITTEN else 'darker: more probable'})"
    ranks.set_xlabel(f"probability of rank\n{meaning}", fontsize=drawing.SMALL)
    draw_probabilities(beside, shapes.decided, ["P(1st)", "P(equal)", "P(2nd)"], list(colors.three))
    words = f"1st: {_render.cut(best, 24)}, 2nd: the row\n({empty})"
    beside.set_xlabel(words, fontsize=drawing.SMALL, parse_math=False)


TOTALS = ("mean of these data sets", "population mean", "new data set")  #: Names of the rows below the data sets.
ROOM = (4.0, 1.8)  #: Width and height in inches below which labels are smaller.


def rank_rows(result: ComparisonOverDatasets, estimand: EstimandLike = "ece", prob: float = 0.95) -> forests.Forest:
    """Compute mean ranks over data sets with intervals: one row per classifier, the best mean rank first."""
    ranks = result.ranks(estimand).values
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return forests.forest([_render.name(result.names[at]) for at in order], ranks[:, order], prob)


def difference_rows(
    result: ComparisonOverDatasets,
    first: str | None = None,
    second: str | None = None,
    *,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
) -> forests.Forest:
    """Compute differences of two classifiers: one row per data set, their mean, and the population."""
    population = result.population(first, second, estimand)
    differences, mean = result.differences(first, second, estimand), result.difference(first, second, estimand)
    values = [each.values for each in (differences, mean, population.mean, population.new)]
    sizes = result.n_rows
    names = [f"{_render.name(name)} (n = {sizes[name]})" for name in result.datasets]
    return forests.forest([*names, *TOTALS], np.column_stack(values), prob)


@public
def plot_over_datasets(
    result: ComparisonOverDatasets,
    ax: "Axes | None" = None,
    *,
    first: str | None = None,
    second: str | None = None,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw mean ranks over data sets with intervals, or the difference of two classifiers on each data set.

    Parameters
    ----------
    result : ComparisonOverDatasets
        From `compare_over_datasets`.
    ax : matplotlib Axes, optional
        Where to draw. By default on a new pyplot figure, whose height fits the rows.
    first, second : str, optional
        Names of two classifiers (both or none), whose differences are drawn: one row per data set, below them the mean
        of these data sets, the mean of their population, and the difference on a new data set. Without names, two
        classifiers are drawn so; of more, the mean ranks, as in place of a diagram of critical differences.
    color, reference_color : matplotlib color, optional
        Colour of classifiers or data sets, and of the rows below the data sets.

    Examples
    --------
    >>> rows = {"one": ([0, 1, 1], {"A": [0.2, 0.4, 0.7], "B": [0.1, 0.1, 0.9]})}
    >>> rows["other"] = [0, 0, 1], {"A": [0.3, 0.4, 0.7], "B": [0.1, 0.2, 0.9]}
    >>> ax = bc.plot_over_datasets(bc.compare_over_datasets(rows, bins=2, rng=1), Figure().subplots())
    >>> [" ".join(label.get_text().split()) for label in ax.get_yticklabels()]
    ['one (n = 3)', 'other (n = 3)', 'mean of these data sets', 'population mean', 'new data set']
    """
    remedy = "; make one with `bayescal.compare_over_datasets({'data set': comparison, ...})`."
    _checks.instance("result", result, ComparisonOverDatasets, remedy)
    prob = _checks.fraction("prob", prob)
    of_pair = len(result) == 2 or first is not None or second is not None
    if of_pair:
        rows = difference_rows(result, first, second, estimand=estimand, prob=prob)
    else:
        rows = rank_rows(result, estimand, prob)
    ax = drawing.axes_or_new(ax, figsize=(6.4, 1.2 + forests.forest_height(rows.names)))
    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    blue = _checks.color("color", color, colours.blue)
    grey = _checks.color("reference_color", reference_color, colours.grey)
    n_totals = len(TOTALS) * of_pair
    forests.draw_forest(ax, rows, [blue] * (len(rows) - n_totals) + [grey] * n_totals, small=small)
    if of_pair:
        forests.mark_zero(ax, grey)
        ax.axhline(len(rows) - n_totals - 0.5, color=grey, linewidth=0.6, alpha=0.5)
        label = _label_of_pair(result, first, second, estimand)
    else:
        ax.set_xlim(1 - 0.05 * (len(result) - 1), len(result) + 0.05 * (len(result) - 1))
        words = as_estimand(estimand).words(result.target)
        label = [f"mean rank by {words} over {len(result.datasets)} data sets, 1 is the best"]
    forests.write_label(ax, rows, (*label, forests.key(prob)), small=small)
    return ax


def _label_of_pair(
    result: ComparisonOverDatasets, first: str | None, second: str | None, estimand: EstimandLike
) -> list[str]:
    """Say whose difference it is, and who is better where."""
    one, other = (first, second) if first is not None and second is not None else result.labels
    record = as_estimand(estimand)
    label = "size of the " * (record.better == "nearest zero") + record.words(result.target)
    better, worse = (one, other) if record.better != "larger" else (other, one)
    names = [_render.name(name) for name in (one, other, better, worse)]
    return [f"{label}: {names[0]} - {names[1]}", f"{names[2]} is better left of 0, {names[3]} right of it"]
