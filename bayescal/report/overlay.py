"""Several evaluations in one reliability diagram, which can be added one at a time."""

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayescal import _checks, _render
from bayescal._arrays import Axes, Line2D
from bayescal._invalid import quoted
from bayescal._meant import unknown_keyword
from bayescal.report import diagram as diagrams
from bayescal.report import drawing
from bayescal.results import wording
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Compared
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.sensitivity import BinSensitivity

MARKERS = "os^DvPX*"  #: Markers of the evaluations, which can be told apart without colour.
DASHES = ("-", "--", "-.", ":")  #: Line styles of the histograms, so that equal ones do not hide each other.
STEP = 3.5  #: Points between the marks of neighbouring evaluations in the same bin.
WIDE = 0.8  #: Share of the characters of average width that a line of wide characters has.
STATE = "_bayescal_diagram"  #: Name of the attribute of axes that holds the state of their diagram.


@dataclass(frozen=True, eq=False)
class Shown:
    """One evaluation in a diagram."""

    evaluation: Evaluation
    points: diagrams.ReliabilityPoints
    line: "Line2D"  # through the observed points; its label stands in the legend
    prob: float  # of the intervals


@dataclass(eq=False)
class Diagram:
    """The parts of a diagram on divided axes: the histogram below, the legend above, and the evaluations."""

    below: "Axes"
    above: "Axes"
    small: bool  # whether the axes were small when they were divided
    shown: list[Shown] = field(default_factory=list)
    about: str = ""  # what the axis labels add, such as the positive class; may be empty

    @property
    def figure(self) -> Any:
        """The figure; with `get_window_extent`, what matplotlib asks of an artist to fit axes to its height."""
        return self.above.figure

    def get_window_extent(self, renderer: Any = None) -> Any:
        """Return the extent of the legend, which determines the height of the axes that hold it."""
        legend: Any = self.above.get_legend()
        return legend.get_window_extent(renderer)


def several(evaluation: Any) -> dict[str, Evaluation] | None:
    """Return the evaluations of a mapping, sequence, `Comparison` or `BinSensitivity` by name; otherwise None."""
    if isinstance(evaluation, Compared):
        members: dict[Any, Any] = dict(evaluation.evaluations)
    elif isinstance(evaluation, BinSensitivity):
        members = {f"{number} {binning} bins": each for (binning, number), each in evaluation.evaluations.items()}
    elif isinstance(evaluation, Mapping) and not isinstance(evaluation, GroupedEvaluation):
        members = dict(evaluation)
    elif isinstance(evaluation, list | tuple):
        members = {i + 1: each for i, each in enumerate(evaluation)}
        if members and not any(isinstance(each, Evaluation | ClasswiseEvaluation) for each in evaluation):
            return None
    else:
        return None
    if not members:
        raise ValueError("`evaluation` is empty; at least one evaluation is needed.")
    for name, each in members.items():
        if not isinstance(each, Evaluation):
            hint = " A reliability diagram shows one class: index it." if isinstance(each, ClasswiseEvaluation) else ""
            raise TypeError(
                f"`evaluation` must hold evaluations; that of {name!r} is {type(each).__name__}.{hint} Make them with "
                "`bayescal.evaluate(y_true, y_prob)`."
            )
    _same_target(members)
    named = {str(name): each for name, each in members.items()}
    if len(named) < len(members):
        raise ValueError(f"`evaluation` has names with equal text: {quoted(list(members))}. Give each another name.")
    return named


def _same_target(members: Mapping[Any, Evaluation]) -> None:
    first, *others = members
    wanted = members[first].counts.target
    for name in others:
        if (target := members[name].counts.target) != wanted:
            raise ValueError(
                f"`evaluation` must have one target: {first!r} has {wanted!r}, {name!r} has {target!r}, and the axes "
                "mean something else for each. Give each target axes of its own."
            )


def add_evaluation(
    ax: "Axes",
    evaluation: Evaluation,
    name: str | None,
    *,
    prob: float,
    ref_line: bool = True,
    style: Mapping[str, Any] | None = None,
    about: str = "",
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Line2D":
    """Add an evaluation to the diagram on axes, which is prepared if needed; return the line through its points."""
    points, diagram = diagrams.reliability_points(evaluation, prob), getattr(ax, STATE, None)
    if diagram is not None and diagram.below not in ax.child_axes:  # the user has cleared the axes
        ax.set_axes_locator(None)  # type: ignore[arg-type]  # None is the default
        diagram = None
    place = 0 if diagram is None else len(diagram.shown)
    if diagram is None:
        diagrams.require_undivided(ax)
    else:
        _same_target({"the diagram on `ax`": diagram.shown[0].evaluation, name or "the new one": evaluation})
        if about and diagram.about and about != diagram.about:
            raise ValueError(
                f"`ax` has a diagram whose axes mean{diagram.about}, not{about}. Give each positive class axes of its "
                "own."
            )
    sides = diagrams.SideColors.chosen(ax, reference_color, above_color, below_color)
    line = _line(ax, evaluation, points, name, place, prob, dict(style or {}))
    diagram = _prepared(ax) if diagram is None else diagram
    target = evaluation.counts.target
    if ref_line and not any(each.get_gid() == "diagonal" for each in ax.get_lines()):
        diagrams.draw_sides(ax, wording.direction_words(target), sides)
    diagram.about = diagram.about or about
    diagram.shown.append(Shown(evaluation, points, line, prob))
    _draw(ax, diagram, diagram.shown[-1])
    stated, happened = wording.axis_words(target)
    diagram.below.set_xlabel(f"{stated}{diagram.about}")
    scales = diagrams.common_scales([each.points for each in diagram.shown])
    ax.set(xlim=scales.x, ylim=scales.y, ylabel=happened if diagram.small else f"{happened}{diagram.about}")
    diagrams.scale_histogram(diagram.below, scales.share)
    _legend(ax, diagram)
    if diagram.small:
        drawing.small_words(ax)
        diagram.below.set_yticks([])
    if place == 0:
        drawing.keep_within(ax)
    return line


def _prepared(ax: "Axes") -> Diagram:
    """Divide axes: the histogram below, and above the legend, as high as the legend is."""
    from mpl_toolkits.axes_grid1.axes_size import MaxHeight

    small = drawing.is_small(ax, *diagrams.ROOM)
    divider, below = diagrams.divided(ax)
    legend: list[Any] = []
    above = divider.new_vertical(MaxHeight(legend), pad=0.05)
    drawing.add_part(ax, above)
    above.set_axis_off()
    above.set_navigate(False)
    diagram = Diagram(below, above, small)
    legend.append(diagram)
    setattr(ax, STATE, diagram)
    return diagram


def known_properties(where: str, words: Collection[str]) -> None:
    """Raise if a keyword is no property of a line, before anything is drawn."""
    from matplotlib.artist import ArtistInspector
    from matplotlib.lines import Line2D

    inspector = ArtistInspector(Line2D)
    known = {*inspector.get_setters(), *(alias for names in inspector.aliasd.values() for alias in names)}
    for word in words:
        if word not in known:
            rest = " Other keywords are properties of matplotlib's lines."
            raise unknown_keyword(where, word, sorted(known), rest=rest)


def _line(
    ax: "Axes",
    evaluation: Evaluation,
    points: diagrams.ReliabilityPoints,
    name: str | None,
    place: int,
    prob: float,
    style: dict[str, Any],
) -> "Line2D":
    """Make the line of an evaluation; nothing is drawn yet, so that a wrong style leaves the axes as they are."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    cycle = drawing.palette(ax).cycle
    small = drawing.is_small(ax, *diagrams.ROOM)
    default: dict[str, Any] = {"color": cycle[place % len(cycle)], "marker": MARKERS[place % len(MARKERS)]}
    default |= {"linestyle": "", "markersize": 3.5 if small else 5.5, "zorder": 4}
    known_properties("CalibrationDisplay.plot", style)
    style = normalize_kwargs(style, Line2D)
    letters = drawing.characters(ax, drawing.TINY if small else drawing.SMALL) - 6
    default["label"] = _label(evaluation, name, prob, letters)
    default["color"] = _checks.color("color", style.pop("color", None), default["color"])
    line = Line2D(points.confidence, points.accuracy, **default | style)
    line.set_gid("observed")
    return line


def _label(evaluation: Evaluation, name: str | None, prob: float, letters: int) -> str:
    """Return name, mean and interval of the ECE; the name is on a line of its own if there is no room beside it."""
    low, high = evaluation.ece.interval(prob)
    mean, low, high = _render.numbers(evaluation.ece.mean(), low, high, least=3)
    estimate = f"ECE {mean} [{low}, {high}]"
    if not evaluation.counts.occupied.any():
        estimate = "no rows"
    if name is None:
        return estimate
    shown = _render.name(name)
    if len(shown) + 2 + len(estimate) <= letters:
        return f"{shown}: {estimate}"
    return f"{_render.cut(shown, max(int(WIDE * letters), 12))}\n{estimate}"


def _draw(ax: "Axes", diagram: Diagram, new: Shown) -> None:
    """Draw points, bars and histogram of one evaluation, moved sideways by its place among the others."""
    from matplotlib.transforms import ScaledTranslation

    points, line, place = new.points, new.line, len(diagram.shown) - 1
    n = points.effective_n
    crowd = (0.6 if diagram.small else 1.0) * min(1.0, (25 / max(len(n), 1)) ** 0.5)
    sideways = STEP * crowd * ((place + 1) // 2) * (1 if place % 2 else -1)  # 0, 1, -1, 2, -2, ...
    moved = ax.transData + ScaledTranslation(sideways / 72, 0, ax.figure.dpi_scale_trans)
    color = str(line.get_color())
    ax.vlines(
        points.confidence, points.low, points.high, colors=diagrams.bar_colors(ax, color, n),
        linewidth=3 * crowd, zorder=3, gid="credible intervals", transform=moved,
    )  # fmt: skip
    line.set_transform(moved)
    line.set_markersize(line.get_markersize() * crowd if len(n) > 25 else line.get_markersize())
    ax.add_line(line)
    thin = n < diagrams.THIN_BIN
    if thin.any() and line.get_marker() not in ("None", "none", "", " ", None):
        ax.plot(
            points.confidence[thin], points.accuracy[thin], color=color,
            marker=line.get_marker(), linestyle="", markersize=line.get_markersize(),
            markerfacecolor=drawing.background(ax), zorder=4.5, gid="thin", transform=moved,
        )  # fmt: skip
    counts = new.evaluation.counts
    if len(n):
        diagram.below.stairs(
            counts.share, counts.bins.edges, color=color, linewidth=1.3 * crowd,
            linestyle=DASHES[place % len(DASHES)], fill=False, gid="shares",
        )  # fmt: skip


def _legend(ax: "Axes", diagram: Diagram) -> None:
    """Write the legend above the axes, below what all evaluations have in common."""
    size = drawing.TINY if diagram.small else drawing.SMALL
    smaller = drawing.TINY - 0.5 if diagram.small else drawing.SMALLER
    words = [] if diagram.small else [_in_common([each.evaluation for each in diagram.shown])]
    words.append(_key(diagram))
    notes = (diagrams.outside_note(each.points, each.evaluation, ax.get_ylim()) for each in diagram.shown)
    words.extend(dict.fromkeys(filter(None, notes)))
    lines = [line for each in words for line in textwrap.wrap(_render.visible(each), drawing.characters(ax, smaller))]
    legend = diagram.above.legend(
        handles=[each.line for each in diagram.shown], title="\n".join(lines), title_fontsize=smaller,
        alignment="left", loc="lower left", bbox_to_anchor=(0, 0), frameon=False, fontsize=size,
        borderaxespad=0, borderpad=0, handlelength=2.2, labelspacing=0.3,
    )  # fmt: skip
    legend.get_title().set(alpha=0.7, parse_math=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _in_common(evaluations: list[Evaluation]) -> str:
    """Return target, population, bins, rows and model, with every value that occurs."""
    counts = [each.counts for each in evaluations]
    rows = sorted({each.n_rows for each in counts})
    n = f"{rows[0]}" if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"
    kinds = _each(str(each.bins) for each in counts)
    populations = list(dict.fromkeys(each.population or " in the labelled rows" for each in evaluations))
    population = "" if populations == [" in the labelled rows"] else " or".join(populations)
    labelled = " labelled rows" if population else ""
    models = _each(each.model for each in evaluations)
    return f"{counts[0].target} ECE{population}, {kinds}, N = {n}{labelled}, {models} model"


def _each(words: Any) -> str:
    return " or ".join(dict.fromkeys(words))


def _key(diagram: Diagram) -> str:
    probs = _each(f"{100 * each.prob:g} %" for each in diagram.shown)
    thin = any((each.points.effective_n < diagrams.THIN_BIN).any() for each in diagram.shown)
    return f"bars and brackets: {probs} intervals" + (f"; hollow: < {diagrams.THIN_BIN} rows" if thin else "")
