"""Forest plots: one row per classifier or group, with mean and intervals; computed as a record, then drawn."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal._render import wrapped
from bayescal._texts import text_of
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand, is_registered, registered
from bayescal.report import drawing
from bayescal.results import wording
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparable import values_of
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.scores import MultiClassScore

INNER = 0.5  #: Probability of the inner, thicker bar.
NAME_WIDTH = 24  #: Maximum number of characters of a name on one line beside the axes.
LEAST_LETTERS = 24  #: Least number of characters of a line of the axis label.
#: Height of a row in inches, of a row if there are many, and of the highest figure.
ROW, LEAST_ROW, HIGHEST = 0.36, 0.2, 40.0
FULL = 14.0  #: Height in inches up to which all rows have their full height.
BELOW = 0.3  #: Distance of bars for comparison from their row, in rows.
ROOM = (4.0, 1.4)  #: Width and height in inches below which labels are fewer and smaller.


@dataclass(frozen=True, eq=False)
class Forest:
    """Content of a forest plot, row by row from the top."""

    names: tuple[str, ...]
    mean: Floats
    low: Floats  # ends of the equal-tailed interval
    high: Floats
    inner_low: Floats  # ends of the interval of probability 1/2
    inner_high: Floats

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: Sequence[int]) -> "Forest":
        """Return some of the rows, in this order."""
        columns = (self.mean, self.low, self.high, self.inner_low, self.inner_high)
        return Forest(tuple(self.names[at] for at in rows), *(column[list(rows)] for column in columns))


def forest(names: Sequence[str], values: Floats, prob: float = 0.95) -> Forest:
    """Compute the means and intervals of a forest plot from draws of shape (n_draws, n_rows)."""
    draws = Draws(np.asarray(values, dtype=np.float64))
    return Forest(tuple(names), draws.mean(), *draws.interval(prob), *draws.interval(INNER))


@public
def plot_forest(
    evaluations: Mapping[Any, Evaluation] | ClasswiseEvaluation,
    ax: "Axes | None" = None,
    *,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
    most: int | None = None,
    order: str | None = None,
    color: Any = None,
    reference_color: Any = None,
    beside: GroupedEvaluation | None = None,
) -> "Axes":
    """Draw one row per group or class: mean (dot), interval (thin bar) and interval of probability 1/2 (thick bar).

    Parameters
    ----------
    evaluations : GroupedEvaluation, ClasswiseEvaluation or mapping of label to Evaluation
        From ``evaluate(..., by=...)``, whose last row and dashed line show all rows; from ``evaluate(...,
        target="classwise")``, whose last row and dashed line show the mean over classes; or evaluations by name. A
        solid line marks 0 for estimands with a sign, such as the signed error.
    ax : matplotlib Axes, optional
        Where to draw. By default on a new pyplot figure, whose height fits the rows.
    most : int, optional
        Draw at most this many rows, those with the worst posterior mean, and the row of all rows or of the mean. The
        label of the axis states how many are left out.
    order : {"worst first", "given"}, optional
        Order of the rows from the top. The worst mean of an error is the largest one; of estimands with a sign, the one
        farthest from 0. By default groups are drawn as `GroupedEvaluation.in_order` states, worst first, and classes
        and evaluations by name in their given order.
    color : matplotlib color, or mapping or sequence of colors, optional
        Colour of the rows: one, a mapping from labels, or one per row. The row of all rows keeps `reference_color`.
    reference_color : matplotlib color, optional
        Colour of the row of all rows and of lines. All default colours are lighter on a dark background.
    beside : GroupedEvaluation, optional
        The same groups evaluated otherwise, such as without pooling: a thin bar and a small dot below each row, in
        `reference_color`. Groups that it lacks have none.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. A new figure is up to 40 inches high, enough for about 190 names. If there is no room for
        all names, only some rows are named, and the label of the axis says so.

    See Also
    --------
    plot_comparison : Plot differences.

    Examples
    --------
    >>> grouped = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], by=["m", "f", "f", "m"], bins=2, rng=1)
    >>> ax = bc.plot_forest(grouped, Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['f (n = 2)', 'm (n = 2)', 'all rows (n = 4)']
    """
    shown = _classes(evaluations) if isinstance(evaluations, ClasswiseEvaluation) else _each(evaluations)
    every = forest(shown.names, shown.values(estimand), prob)
    if order is None:
        order = evaluations.order if isinstance(evaluations, GroupedEvaluation) else "given"
    chosen = _chosen(every, estimand, shown.total, most, order)
    rows = every.take(chosen)
    ax = drawing.axes_or_new(ax, figsize=(6.0, 1.1 + forest_height(rows.names)))
    small = drawing.is_small(ax, *ROOM)
    line, labels = _checks.color("reference_color", reference_color, drawing.palette(ax).grey), list(evaluations)
    colours = [*drawing.colors_by_name(color, labels, [drawing.palette(ax).blue] * len(labels)), line]
    colours = [colours[at] for at in chosen]
    if shown.total:
        ax.axvline(rows.mean[-1], color=line, linewidth=1, linestyle="--", zorder=1)
        ax.axhline(len(rows) - 1.5, color=line, linewidth=0.6, alpha=0.5)
    step = draw_forest(ax, rows, colours, small=small)
    if beside is not None:
        draw_beside(ax, labels, chosen, beside, estimand, prob, line)
    if has_sign(estimand, rows):
        mark_zero(ax, line)
    words = direction(estimand, shown.target)
    if len(every) > len(rows):
        words.append(f"the worst {len(rows) - shown.total} of {len(every) - shown.total} rows")
    if step > 1:
        words.append("some rows have no label, for lack of space")
    if beside is not None:
        words.append(f"thin bars below: {'no' if beside.pooling == 'none' else beside.pooling} pooling")
    write_label(ax, rows, (axis_label(estimand, shown.target), *words, key(prob)), small=small)
    return ax


def write_label(ax: "Axes", rows: Forest, texts: Iterable[str], *, small: bool) -> None:
    """Write texts below the axes, each on lines of its own, and keep all words within the figure."""
    # the label is centred below the axes, which names at the left make narrower
    narrower = min(NAME_WIDTH, max(map(len, rows.names)))
    letters = max(drawing.characters(ax, drawing.SMALL + 0.5) - narrower, LEAST_LETTERS)
    lines = [line for text in texts for line in wrap(text, letters)]
    ax.set_xlabel("\n".join(lines), fontsize=drawing.SMALL + 0.5, parse_math=False)
    drawing.finished(ax, small=small)


def draw_beside(
    ax: "Axes",
    labels: Sequence[Any],
    chosen: Sequence[int],
    beside: GroupedEvaluation,
    estimand: EstimandLike,
    prob: float,
    color: str,
) -> None:
    """Draw thin bars and small dots of the same groups below the rows of `draw_forest`."""
    if not isinstance(beside, GroupedEvaluation):
        raise TypeError(
            f"`beside` must be a GroupedEvaluation, from `evaluate(..., by=...)`, not {type(beside).__name__}."
        )
    places = [place for place, at in enumerate(chosen) if at < len(labels) and labels[at] in beside.groups]
    if not places:
        raise ValueError("`beside` must have groups of `evaluations`; it has none of them.")
    of = [beside.groups[labels[chosen[place]]] for place in places]
    other = forest([""] * len(of), np.stack([values_of(each, estimand) for each in of], axis=1), prob)
    below = np.array(places) + BELOW
    ax.hlines(below, other.low, other.high, colors=color, linewidth=1, gid="beside", zorder=2)
    ax.scatter(other.mean, below, s=10, c=color, gid="beside mean", zorder=2)


def draw_scores(ax: "Axes", scores: Mapping[str, MultiClassScore], prob: float = 0.95) -> None:
    """Draw one row per score of several classes, as `plot_forest` does; no number has a Monte Carlo error."""
    each = list(scores.values())
    ends = np.array([[*score.interval(prob), *score.interval(INNER)] for score in each]).T
    rows = Forest(tuple(map(_render.name, scores)), np.array([score.mean for score in each]), *ends)
    draw_forest(ax, rows, [drawing.palette(ax).blue] * len(rows))
    ax.set_xlabel(f"{each[0].name}: smaller is better\n{key(prob)}", fontsize=drawing.SMALL, parse_math=False)
    drawing.keep_within(ax)


def _chosen(rows: Forest, estimand: EstimandLike, total: bool, most: int | None, order: str) -> list[int]:
    """Return the positions of the rows to draw, from the top; the last row stays if it is the total."""
    _checks.one_of("order", order, ("given", "worst first"))
    record = as_estimand(estimand)
    size = rows.mean if record.better is None else record.badness(rows.mean)
    worst_first = np.argsort(-size[: len(rows) - total], kind="stable").tolist()
    if most is not None:
        worst_first = worst_first[: _checks.whole_number("most", most)]
    chosen = worst_first if order == "worst first" else sorted(worst_first)
    return [*chosen, len(rows) - 1] if total else chosen


@dataclass(frozen=True)
class _Shown:
    """Content of a forest plot: names of rows, draws of an estimand, target, and whether the last row is a total."""

    names: list[str]
    values: Callable[[EstimandLike], Floats]
    target: str
    total: bool


def _classes(result: ClasswiseEvaluation) -> _Shown:
    """Show one row per class, and the mean over classes."""
    rows = [int(counts.k.sum()) for counts in result.counts]
    names = [f"class {_render.name(label)} (n = {n})" for label, n in zip(result.classes, rows, strict=True)]

    def values(estimand: EstimandLike) -> Floats:
        by_class = result.draws(estimand)
        return np.column_stack([by_class.values, result.mean_over_classes(estimand).values])

    return _Shown([*names, "mean of classes"], values, result.counts[0].target, True)


def _each(evaluations: Any) -> _Shown:
    """Show one row per evaluation, and all rows of groups."""
    rows = _rows_of(evaluations)

    def values(estimand: EstimandLike) -> Floats:
        return np.stack([values_of(evaluation, estimand) for _, evaluation in rows], axis=1)

    total = isinstance(evaluations, GroupedEvaluation)
    names = [f"{_render.name(name)} (n = {evaluation.counts.n_rows})" for name, evaluation in rows]
    return _Shown(names, values, rows[0][1].counts.target, total)


def row_names(evaluations: Mapping[Any, Evaluation] | ClasswiseEvaluation) -> list[str]:
    """Return the names of the rows of `plot_forest`, with the number of rows of each group or class."""
    return (_classes(evaluations) if isinstance(evaluations, ClasswiseEvaluation) else _each(evaluations)).names


def _rows_of(evaluations: Any) -> list[tuple[str, Evaluation]]:
    if isinstance(evaluations, GroupedEvaluation):
        return [*zip(evaluations.names, evaluations.values(), strict=True), ("all rows", evaluations.overall)]
    if not isinstance(evaluations, Mapping):
        raise TypeError(text_of("type of evaluations in a forest plot", kind=type(evaluations).__name__))
    if not evaluations:
        raise ValueError("`evaluations` is empty; at least one evaluation is needed.")
    for name, evaluation in evaluations.items():
        _checks.instance(f"evaluations[{name!r}]", evaluation, Evaluation)
    sizes = {name: len(evaluation.bin_draws) for name, evaluation in evaluations.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"`evaluations` must have the same number of draws; the numbers are {sizes}.")
    return [(str(name), evaluation) for name, evaluation in evaluations.items()]


def draw_forest(ax: "Axes", rows: Forest, colours: Sequence[str], *, small: bool = False) -> int:
    """Draw dots and bars of rows 0, 1, ... from the top, with names at the left; return the step of `name_rows`."""
    place, thin = np.arange(len(rows)), min(1.0, (25 / max(len(rows), 1)) ** 0.5)
    ax.hlines(place, rows.low, rows.high, colors=list(colours), linewidth=1.6 * thin, gid="interval", zorder=3)
    ax.hlines(place, rows.inner_low, rows.inner_high, colors=list(colours), linewidth=5 * thin, gid="inner", zorder=3)
    ax.scatter(
        rows.mean, place, s=44 * thin, c=list(colours),
        edgecolors=[drawing.background(ax)] * len(rows), linewidths=thin, zorder=4, gid="mean",
    )  # fmt: skip
    ax.set_ylim(len(rows) - 0.4, -0.6)
    step = name_rows(ax, rows.names, small=small)
    calm(ax, ticks=3 if small else 5)
    return step


def name_rows(ax: "Axes", names: Sequence[str], *, small: bool = False) -> int:
    """Write the names at the left, on several lines if there is room; without room, only every `step`-th, returned."""
    size = drawing.TINY if small else drawing.SMALLER - 1 if len(names) > 25 else drawing.SMALL + 0.5
    height = (0.6 if small else 0.75) * ax.bbox.height * 72 / ax.figure.dpi
    room = height / (1.2 * size) / len(names)  # lines of text per row
    step = int(np.ceil(1 / room))
    width = NAME_WIDTH * 2 // 3 if small else NAME_WIDTH
    lines = [wrapped(name, width) for name in names[::step]]
    if small and max(name.count("\n") + 1 for name in lines) > room * step:
        lines = one_line_each([re.sub(r" \(n = \d+\)$", "", name) for name in names[::step]], width)
    ax.set_yticks(range(0, len(names), step), lines, fontsize=size, parse_math=False)
    ax.tick_params(axis="y", length=0)
    return step


def one_line_each(names: Sequence[str], width: int) -> list[str]:
    """Shorten names in the middle; if that makes two of them equal, remove their common beginning instead."""
    lines = [_render.cut(name, width) for name in names]
    if len(set(lines)) == len(set(names)):
        return lines
    same = next((i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    return [f"...{_render.cut(name[same:], width - 3)}" for name in names]


def mark_zero(ax: "Axes", color: str) -> None:
    """Draw a line at 0: to its left probabilities are too high, to its right too low."""
    ax.axvline(0, color=color, linewidth=1.2, zorder=1, gid="zero")


def has_sign(estimand: EstimandLike, rows: Forest) -> bool:
    """Return whether an estimand can be negative."""
    return as_estimand(estimand).bounds[0] < 0 and (is_registered(as_estimand(estimand)) or bool((rows.low < 0).any()))


def direction(estimand: EstimandLike, target: str) -> list[str]:
    """Return the label lines that explain the sign of the signed error; an empty list for other estimands."""
    if as_estimand(estimand) is not registered()["signed_error"]:
        return []
    too_high, too_low = wording.direction_words(target)
    return [f"below 0: {too_high}, above: {too_low}"]


def calm(ax: "Axes", ticks: int = 5) -> None:
    """Reduce the ticks, and remove the frame except the lower axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter("{x:.4g}")
    ax.tick_params(axis="x", labelsize=drawing.SMALL)
    ax.spines[["left", "right", "top"]].set_visible(False)


def name_lines(names: Sequence[str]) -> int:
    """Return the number of lines of the longest name beside the axes."""
    return max(wrapped(name, NAME_WIDTH).count("\n") for name in names) + 1


def rows_height(names: Sequence[str]) -> float:
    """Return the height in inches of rows with these names."""
    return len(names) * max(ROW, 0.08 + 0.17 * name_lines(names))


def forest_height(names: Sequence[str]) -> float:
    """Return the height in inches of the rows of a forest plot: rows are less high if there are many."""
    least = min(HIGHEST, LEAST_ROW * len(names))
    return min(rows_height(names), max(FULL, least))


def axis_label(estimand: EstimandLike, target: str) -> str:
    """Return the axis label of an estimand; the words for errors of one direction depend on the target."""
    return _render.name(as_estimand(estimand).axis_label(target))


def key(prob: float) -> str:
    """Explain the dots and bars."""
    return f"dot: mean, bars: {100 * INNER:g} % and {100 * prob:g} % intervals"
