"""The reliability diagram: computed as a record, then drawn on any matplotlib axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayescal import _checks, _packages
from bayescal._arrays import Array, Axes
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.report import diagram, drawing
from bayescal.report.overlay import add_evaluation, several
from bayescal.results import wording
from bayescal.results.comparison import Compared
from bayescal.results.evaluation import Evaluation
from bayescal.results.sensitivity import BinSensitivity

MOST_APART = 4  #: Largest number of diagrams side by side on a new figure.

type Several = Mapping[Any, Evaluation] | Sequence[Evaluation] | Compared | BinSensitivity


@public
def plot_reliability(
    evaluation: Evaluation | Several,
    ax: Any = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes | Array":
    """Draw a reliability diagram: accuracy against confidence with a credible bar for each bin.

    Dots are what was observed, at the bin's mean confidence; bars are credible intervals of the accuracy. For a
    `SurvivalEvaluation`, dots are the Kaplan-Meier or Aalen-Johansen estimates at the horizon; for a target without
    labels, they are the shares that follow from the labelled rows of the source. Below the diagonal, accuracy is lower
    than confidence: the classifier is over-confident or, for an event, the probability is stated too high. Bins with
    few rows are pale, those with fewer than ten are hollow, and empty bins are not drawn. The histogram below shows the
    share of rows per bin, over the bin's interval; rows censored before the horizon of a `SurvivalEvaluation` are
    hatched.

    Parameters
    ----------
    evaluation : Evaluation, mapping of name to Evaluation, sequence of Evaluation, Comparison, Change or BinSensitivity
        The result of `evaluate`; for a `ClasswiseEvaluation`, one class, as in ``evaluation[label]``. Several
        evaluations with the same target are drawn in one diagram: each has its own colour and marker, and the legend
        states its name, its ECE and the interval of the ECE. Evaluations of a sequence are named 1, 2, .... A
        `BinSensitivity` of two to four choices of bins is drawn side by side, one diagram per choice.
    ax : matplotlib Axes, or sequence or array of Axes, optional
        Where to draw, without another diagram; the histogram takes its lower part. By default on a new pyplot figure.
        Several axes, one per evaluation, show the evaluations side by side, with equal limits, as in
        ``plot_reliability([a, b], plt.subplots(1, 2)[1])``; the line above each one states its name, or for a sequence
        its bins.
    color : matplotlib color, or mapping or sequence of colors, optional
        Colour of the dots, bars and histogram. For several evaluations, a colour per name or one per evaluation. Side
        by side, all have the same colour by default.

    Returns
    -------
    matplotlib Axes, or array of Axes
        `ax`, or the new one; its ``.figure`` saves the picture. The histogram is ``ax.child_axes[0]``. Side by side, an
        array of the axes, shape (n_evaluations,).

    See Also
    --------
    plot_posterior : Plot the posterior of the ECE.
    CalibrationDisplay : The diagram of a scikit-learn estimator.

    Notes
    -----
    Both axes run from 0 to 1 unless three or more bins crowd into a third of the range, as they do for an
    accurate network; then that part is enlarged. No global style is changed. Murphy and Winkler [1]_ is an early use
    of such diagrams.

    A dot may lie outside its bar. Where this can be seen, a line above the axes explains it. The dot shows its own bin
    alone. Under the shrinkage model the bar also uses the other bins: if they indicate that the classifier is nearly
    calibrated, a gap in one bin is likely due to chance. Under the other models the bar combines the rows of its bin
    with the prior. In a bin without positive rows, or with these only, an equal-tailed interval ends short of 0 or 1.

    For the same rows, look at equal-width bins beside equal-mass bins, or for weighted rows beside bins of equal
    effective mass (see `equal_effective_mass_edges`). Equal-width bins show the whole range of confidences, but a few
    bins may contain nearly all rows; the other bins are about equally precise, but merge all that happens where rows
    are few. A pattern that only one of them shows needs another look, such as `plot_cumulative`, which has no bins.

    In a diagram of several evaluations, dots of the same bin would hide each other, so the marks of each evaluation but
    the first are moved sideways by a few points. The coordinates of the artists are unchanged.

    The picture stays within its subplot; in less than 4 by 3.6 inches, labels are fewer and smaller.
    ``plt.subplots(2, 2, layout="constrained")`` makes the best use of the space.

    References
    ----------
    .. [1] A. H. Murphy and R. L. Winkler (1977), "Reliability of subjective probability forecasts of precipitation and
       temperature", Applied Statistics 26, 41-47.

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> ax = bc.plot_reliability(ev, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'

    Two classifiers in one diagram:

    >>> other = bc.evaluate([0, 1, 1, 1], [0.1, 0.3, 0.8, 0.9], bins=2, rng=1)
    >>> ax = bc.plot_reliability({"A": ev, "B": other}, Figure().subplots())
    >>> [line.get_label()[:5] for line in ax.get_lines() if line.get_gid() == "observed"]
    ['A: EC', 'B: EC']

    Two choices of bins for the same rows, side by side:

    >>> both = bc.bin_sensitivity([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], n_bins=2, rng=1)
    >>> axes = bc.plot_reliability(both, Figure().subplots(1, 2))
    >>> [ax.get_title("left").splitlines()[0] for ax in axes]
    ['2 equal-width bins', '2 equal-mass bins']
    """
    sides = {"above_color": above_color, "below_color": below_color}
    colors: dict[str, Any] = {"reference_color": reference_color, **sides}
    named = several(evaluation)
    if named is not None and (np.iterable(ax) or (ax is None and isinstance(evaluation, BinSensitivity))):
        unnamed = isinstance(evaluation, list | tuple)
        titles = [str(each.counts.bins) for each in named.values()] if unnamed else list(named)
        return _plot_apart(named, titles, ax, prob, color, colors)
    if named is not None:
        return _plot_several(named, ax, prob, color, colors)
    return _plot_one(diagram.one_problem(evaluation), ax, prob, color, colors)


def _plot_apart(
    named: Mapping[str, Evaluation], titles: Sequence[str], ax: Any, prob: float, color: Any, colors: dict[str, Any]
) -> Array:
    """Draw each evaluation on axes of its own, with common limits."""
    prob, axes = _checks.fraction("prob", prob), _axes_for(list(named), ax)
    main = drawing.colors_by_name(color, list(named), [drawing.palette(each).blue for each in axes])
    scales = diagram.common_scales([diagram.reliability_points(each, prob) for each in named.values()])
    for each, evaluation, title, main_color in zip(axes, named.values(), titles, main, strict=True):
        _plot_one(evaluation, each, prob, main_color, colors, scales=scales, name=title)
    return axes


def _axes_for(names: Sequence[str], ax: Any) -> Array:
    """Return one Axes per evaluation: those that are given, or those of a new pyplot figure, in one row."""
    if ax is None:
        if len(names) > MOST_APART:
            raise ValueError(text_of("many choices of bins", choices=len(names), most=MOST_APART))
        _packages.require("matplotlib")
        from matplotlib import pyplot as plt

        return plt.figure(figsize=(4.8 * len(names), 6.0), layout="tight").subplots(1, len(names), squeeze=False)[0]
    axes = np.empty(np.size(ax), dtype=object)
    axes[:] = [drawing.require_axes(f"ax[{i}]", each) for i, each in enumerate(np.ravel(ax))]
    if len(axes) != len(names):
        raise ValueError(
            f"`ax` must have one Axes per evaluation: it has {len(axes)}, for {len(names)} evaluations. With a single "
            "Axes in place of an array, all evaluations are drawn in one diagram."
        )
    for each in axes:
        diagram.require_undivided(each)
    return axes


def _plot_one(
    evaluation: Evaluation,
    ax: "Axes | None",
    prob: float,
    color: Any,
    colors: dict[str, Any],
    *,
    scales: diagram.Scales | None = None,
    name: str = "",
) -> "Axes":
    """Draw one evaluation, with a headline; `scales` and `name` for one of several side by side."""
    points = diagram.reliability_points(evaluation, prob)
    scales = scales or diagram.common_scales([points])
    ax = drawing.axes_or_new(ax, figsize=(5.0, 6.0))
    diagram.require_undivided(ax)
    main, sides = _checks.color("color", color, drawing.palette(ax).blue), diagram.SideColors.chosen(ax, **colors)
    small = drawing.is_small(ax, *diagram.ROOM)
    _, below = diagram.divided(ax)
    if not len(points.n):
        ax.text(0.5, 0.5, "no rows", transform=ax.transAxes, ha="center", va="center", color=sides.reference)
    diagram.draw_sides(ax, wording.direction_words(evaluation.counts.target), sides)
    _draw_points(ax, points, 0.6 if small else 1.0, main)
    _draw_mass(below, points, main, scales.share)
    stated, happened = wording.axis_words(evaluation.counts.target)
    below.set_xlabel(stated)
    ax.set(xlim=scales.x, ylim=scales.y, ylabel=happened)
    hatched = points.censored is not None and bool(points.censored.any())
    above = _reliability_key(ax, prob, main, evaluation._observed_words, thin=scales.thin, small=small, hatched=hatched)
    note = diagram.outside_note(points, evaluation, scales.y)
    drawing.headline(ax, evaluation, prob, above=above, note=note, small=small, name=name)
    if small:
        below.set_yticks([])
    return drawing.finished(ax, small=small)


def _plot_several(
    named: Mapping[str, Evaluation], ax: "Axes | None", prob: float, color: Any, colors: dict[str, Any]
) -> "Axes":
    """Draw several evaluations in one diagram."""
    prob, ax = _checks.fraction("prob", prob), drawing.axes_or_new(ax, figsize=(5.6, 6.4))
    diagram.require_undivided(ax)
    cycle = drawing.palette(ax).cycle
    main = drawing.colors_by_name(color, list(named), [cycle[i % len(cycle)] for i in range(len(named))])
    for (name, evaluation), each in zip(named.items(), main, strict=True):
        add_evaluation(ax, evaluation, name, prob=prob, style={"color": each}, **colors)
    return ax


def _draw_points(ax: "Axes", points: diagram.ReliabilityPoints, scale: float, color: str) -> None:
    """Draw a dot and a bar for each bin: paler with few rows, hollow with fewer than `THIN_BIN`."""
    from matplotlib.colors import to_rgba

    n = points.effective_n
    inside = np.tile(to_rgba(color), (len(n), 1))
    inside[n < diagram.THIN_BIN] = to_rgba(drawing.background(ax))
    crowd = scale * min(1.0, (25 / max(len(n), 1)) ** 0.5)  # thinner strokes for a hundred bins
    ax.vlines(
        points.confidence, points.low, points.high, colors=diagram.bar_colors(ax, color, n),
        linewidth=4 * crowd, zorder=3, gid="credible intervals",
    )  # fmt: skip
    ax.scatter(
        points.confidence, points.accuracy, s=30 * crowd, c=inside,
        edgecolors=color, linewidths=1.1 * crowd, zorder=4, gid="observed",
    )  # fmt: skip


def _draw_mass(below: "Axes", points: diagram.ReliabilityPoints, color: str, largest: float) -> None:
    width = points.bin_high - points.bin_low
    below.bar(
        points.bin_low, points.share, width, align="edge", color=color, alpha=0.55,
        edgecolor=below.get_facecolor(), linewidth=min(0.6, 15 / max(len(width), 1)),
    )  # fmt: skip
    if points.censored is not None and points.censored.any():
        bottom = points.share - points.censored
        below.bar(points.bin_low, points.censored, width, bottom, align="edge", gid="censored", **_hatched(below))
    diagram.scale_histogram(below, largest)


def _hatched(ax: "Axes", **style: Any) -> dict[str, Any]:
    """Return the style of censored rows in the histogram."""
    return {"facecolor": "none", "edgecolor": drawing.background(ax), "hatch": "//////", "linewidth": 0, **style}


def _reliability_key(
    ax: "Axes", prob: float, color: str, dots: str, *, thin: bool, small: bool, hatched: bool = False
) -> float:
    """Draw the key above the axes; return the points that it takes."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"color": color, "marker": "o", "linestyle": "", "markersize": 5}
    hollow = Line2D([], [], markerfacecolor=drawing.background(ax), **dot)
    of_thin: list[tuple[Any, str]] = [(hollow, f"< {diagram.THIN_BIN} {'effective ' * hatched}rows")]
    bar = Line2D([], [], color=color, alpha=0.65, linewidth=4)
    entries = [(Line2D([], [], **dot), dots), *of_thin * thin, (bar, f"{100 * prob:g} % interval")]
    if hatched:
        from matplotlib.patches import Patch

        entries.append((Patch(**_hatched(ax, facecolor=color, alpha=0.55)), "censored"))
    return drawing.key_above(ax, entries, small=small)
