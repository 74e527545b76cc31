"""The plots of a calibration curve, of the line of a recalibration, of risks by outcome, and of measures by group."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.clinical.curve.result import CELLS, CalibrationCurve
from bayescal.clinical.result import ClinicalSummary
from bayescal.clinical.slope.new_centre import NewCentre
from bayescal.clinical.slope.result import Recalibration
from bayescal.clinical.subgroups import GroupedClinicalSummary, measure_of
from bayescal.clinical.words import WORDS
from bayescal.data.groups import in_words
from bayescal.decisions.thresholds import as_thresholds
from bayescal.report import diagram, drawing, forest
from bayescal.results import wording
from bayescal.results.evaluation import Evaluation

BARS = 50  #: Largest number of bars in the distribution of scores.
#: Numbers of points: equidistant scores beside the knots of a curve, and those of a line.
POINTS, OF_LINE = 101, 201
#: Fewest and most bars of the risks of one outcome; between them, there are twice as many as the root of the rows.
FEWEST_BARS, MOST_BARS = 10, 40
#: Values of calibrated predictions, which the plot marks.
CALIBRATED = {"observed_expected": 1.0, "in_the_large": 0.0, "slope": 1.0}


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Content of the plot of a calibration curve, or of a recalibration line."""

    score: Floats  # shape (n_points,)
    mean: Floats  # at each score
    low: Floats  # ends of the band
    high: Floats
    x: diagram.Limits  # limits of the axes
    y: diagram.Limits
    left: Floats  # left ends of the bars of the distribution of scores, shape (n_bars,)
    share: Floats  # of the rows, by bar
    width: float  # of a bar


def curve_points(cv: CalibrationCurve, prob: float = 0.95) -> CurvePoints:
    """Compute the values that `plot_calibration_curve` draws, with intervals of probability `prob` at each score."""
    low, high = cv.span
    knots = cv.score[(low <= cv.score) & (cv.score <= high)]
    score = np.unique(np.concatenate([np.linspace(low, high, POINTS), knots]))
    rates = cv.rates(score)
    return points_of(score, np.asarray(rates.mean()), *rates.interval(prob), cv.distribution)


def points_of(score: Floats, mean: Floats, low: Floats, high: Floats, distribution: Floats) -> CurvePoints:
    """Add limits of the axes, and bars of `distribution`, the shares of rows in CELLS equal cells of scores."""
    x, y = _limits(score, low, high)
    # cells are joined, so that the window holds at most BARS bars
    inside = max(min(x[1], 1.0) - max(x[0], 0.0), 1 / CELLS)
    joined = max(int(np.ceil(inside * CELLS / BARS)), 1)
    starts = np.arange(0, CELLS, joined)
    shares = np.add.reduceat(distribution, starts)
    return CurvePoints(score, mean, low, high, x, y, starts / CELLS, shares, joined / CELLS)


def _limits(score: Floats, low: Floats, high: Floats) -> tuple[diagram.Limits, diagram.Limits]:
    """Return the limits of both axes: [0, 1], or the part that holds the curve and the diagonal if scores crowd."""
    everything = (-0.02, 1.02)
    first, last = float(score[0]), float(score[-1])
    if last - first > diagram.CROWDED_RANGE:
        return everything, everything
    margin = max(0.08 * (last - first), 1e-4)
    x = (max(first - margin, -margin / 4), min(last + margin, 1.0 + margin / 4))
    bottom, top = min(float(low.min()), x[0]), max(float(high.max()), x[1])
    room = 0.08 * (top - bottom)
    return x, (max(bottom - room, -room), min(top + room, 1.0 + room))


@public
def plot_calibration_curve(
    cv: CalibrationCurve,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes":
    """Draw a calibration curve with its band, and the distribution of the scores below it.

    Where the curve lies on the diagonal, the scores are calibrated. The band contains the event rate at each score with
    probability `prob`; it is pointwise. The band of a calibrated classifier touches the diagonal everywhere.

    Parameters
    ----------
    cv : CalibrationCurve
        From `calibration_curve`.
    ax : matplotlib Axes, optional
        Where to draw, without another diagram; the distribution takes the lower part. By default on a new figure.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. The distribution is ``ax.child_axes[0]``.

    See Also
    --------
    plot_reliability : Bins with intervals of their own.

    Notes
    -----
    The curve is drawn from the smallest to the largest score, see `CalibrationCurve.at`. Both axes run from 0 to 1
    unless these scores crowd into a third of the range.

    Examples
    --------
    >>> rows = simulate(1000, population="flat", curve="shift", rng=1)
    >>> curve = bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> ax = bc.clinical.plot_calibration_curve(curve, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    if isinstance(cv, ClinicalSummary):
        raise TypeError(text_of("plot of a calibration curve"))
    remedy = "; make one with `bayescal.clinical.calibration_curve(y_true, y_prob)`. Evaluations are drawn by"
    _checks.instance("cv", cv, CalibrationCurve, f"{remedy} `plot_reliability`.")
    points = curve_points(cv, _checks.fraction("prob", prob))
    colors = color, reference_color, above_color, below_color
    exact = f"P(exactly calibrated) {_render.probability(cv.p_calibrated)}"
    ends = cv.ici.interval(prob)
    d = _render.interval_decimals(*ends)
    mean, low, high = (_render.number(value, d) for value in (cv.ici.mean(), *ends))
    titles = (f"ICI {mean}, {100 * prob:g} % interval [{low}, {high}]", f"ICI {mean} [{low}, {high}]")
    return _draw(ax, points, colors, cv.target, prob, titles, [cv.question, exact])


def _draw(
    ax: "Axes | None",
    points: CurvePoints,
    colors: tuple[Any, Any, Any, Any],
    target: str,
    prob: float,
    titles: tuple[str, str],
    paragraphs: list[str],
    outer: tuple[str, Floats, Floats] | None = None,
) -> "Axes":
    """Draw a curve with its band against the diagonal, and the distribution of scores; `outer` is a wider band."""
    ax = drawing.axes_or_new(ax, figsize=(5.0, 6.0))  # says what to install if matplotlib is missing
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    diagram.require_undivided(ax)
    small = drawing.is_small(ax, *diagram.ROOM)
    main = _checks.color("color", colors[0], drawing.palette(ax).blue)
    sides = diagram.SideColors.chosen(ax, *colors[1:])
    _, below = diagram.divided(ax)
    diagram.draw_sides(ax, wording.direction_words(target), sides)
    style: dict[str, Any] = {
        "color": main,
        "alpha": 0.4 if drawing.is_dark(drawing.background(ax)) else 0.25,
        "linewidth": 0,
    }
    ax.fill_between(points.score, points.low, points.high, zorder=2, gid="band", **style)
    ax.plot(points.score, points.mean, color=main, linewidth=1.8, zorder=4, gid="curve")
    below.bar(points.left, points.share, points.width, align="edge", color=main, alpha=0.55, linewidth=0)
    diagram.scale_histogram(below, max(float(points.share.max()), 1e-9))
    stated, happened = wording.axis_words(target)
    below.set_xlabel(stated)
    ax.set(xlim=points.x, ylim=points.y, ylabel=happened)
    entries = [
        (Line2D([], [], color=main, linewidth=1.8), "posterior mean"),
        (Patch(**style), f"{100 * prob:g} % interval at each score"),
    ]
    if outer is not None:
        lighter = style | {"alpha": style["alpha"] / 2}
        ax.fill_between(points.score, *outer[1:], zorder=1.5, gid="outer band", **lighter)
        entries.append((Patch(**lighter), outer[0]))
    above = drawing.key_above(ax, entries, small=small)
    drawing.titled(ax, titles[small], [] if small else paragraphs, above=above, small=small)
    if small:
        below.set_yticks([])
    return drawing.finished(ax, small=small)


def recalibration_points(rc: Recalibration | NewCentre, prob: float = 0.95) -> CurvePoints:
    """Compute the values that `plot_recalibration` draws, over the range of the probabilities between 0 and 1.

    For a new centre, they have the prediction interval.
    """
    logit = rc.counts.logit
    # half of the points are spread over probabilities, half over logits
    even = 1 / (1 + np.exp(-np.linspace(logit[0], logit[-1], OF_LINE // 2)))
    score = np.union1d(even, np.linspace(even[0], even[-1], OF_LINE // 2))
    if isinstance(rc, NewCentre):
        mean, _, _, low, high = rc.bands(score, prob)
    else:
        mean, low, high = rc.recalibrated(score, prob)
    binned = rc.counts.binned
    cell = np.minimum((binned.mean_confidence[binned.occupied] * CELLS).astype(np.intp), CELLS - 1)
    return points_of(score, mean, low, high, np.bincount(cell, binned.share[binned.occupied], CELLS))


@public
def plot_recalibration(
    rc: Recalibration,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes":
    """Draw the recalibration line: the event rate that intercept and slope give to each stated probability.

    The line is straight on the logit scale. On the diagonal, the intercept is 0 and the slope 1. The band contains the
    event rate at each probability with probability `prob`, if the logit of the event rate is linear in the logit of
    the stated probability; it is pointwise. The distribution of the stated probabilities is drawn below.

    Parameters
    ----------
    rc : Recalibration
        From `recalibration`.
    ax, prob, reference_color, above_color, below_color
        As for `plot_calibration_curve`.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one. The distribution is ``ax.child_axes[0]``.

    See Also
    --------
    plot_calibration_curve : A smooth curve, which need not be a line on the logit scale.

    Examples
    --------
    >>> rows = simulate(1000, population="flat", curve="temperature", rng=1)
    >>> rc = bc.clinical.recalibration(rows.outcome, rows.confidence, rng=1)
    >>> ax = bc.clinical.plot_recalibration(rc, Figure().subplots())
    >>> ax.get_ylabel()
    'event rate'
    """
    remedy = "; make one with `bayescal.clinical.recalibration(y_true, y_prob)`. Of groups, draw one, as in"
    _checks.instance("rc", rc, Recalibration, f"{remedy} `by_group[label]`.")
    points = recalibration_points(rc, _checks.fraction("prob", prob))
    colors = color, reference_color, above_color, below_color
    rows, words = {row["quantity"]: row for row in rc.table(prob)}, []
    for key, name in (("slope", "Slope"), ("in_the_large", "in the large")):
        mean, low, high = (_render.number(rows[key][each], 2) for each in ("mean", "low", "high"))
        words.append(f"{name} {mean} [{low}, {high}]".replace(" ", "\u00a0"))  # lines end between quantities
    return _draw(ax, points, colors, "event", prob, (", ".join(words),) * 2, [rc.spec])


def plot_new_centre(
    result: NewCentre,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
    above_color: Any = None,
    below_color: Any = None,
) -> "Axes":
    """Draw the line of the mean centre with its band, and the wider band that contains the rates of a new centre."""
    wide = recalibration_points(result, prob := _checks.fraction("prob", prob))
    mean, low, high, new_low, new_high = result.bands(wide.score, prob)
    points, row = replace(wide, mean=mean, low=low, high=high), result.table(prob)[1]
    numbers = [_render.number(row[key], 2) for key in ("mean", "low", "high", "new_low", "new_high")]
    title = "Slope {} [{}, {}], new centre [{}, {}]".format(*numbers)
    outer = (f"{100 * prob:g} % interval of a new centre", new_low, new_high)
    colors = color, reference_color, above_color, below_color
    return _draw(ax, points, colors, "event", prob, (title, title), [result.spec], outer)


@dataclass(frozen=True, eq=False)
class RiskPoints:
    """Content of the plot of risks by outcome."""

    edges: Floats  # of the bars, shape (n_bars + 1,)
    share: Floats  # of the (weighted) rows with outcome 0 and 1, by bar, shape (2, n_bars); 0 without rows
    median: Floats  # smallest risk that half of these rows do not exceed, shape (2,); NaN without rows


def risk_points(evaluation: Evaluation) -> RiskPoints:
    """Compute the values that `plot_risk_distributions` draws."""
    ranks = evaluation.counts.ranks
    if ranks is None:
        raise ValueError("`evaluation` must be made from rows, with `bayescal.evaluate(y_true, y_prob)`; not counts.")
    risk = ranks.middle
    low, high = float(risk[0]), float(risk[-1])
    if high - low > diagram.CROWDED_RANGE:
        low, high = 0.0, 1.0
    elif high == low:
        low, high = max(low - 0.05, 0.0), min(high + 0.05, 1.0)
    bars = np.clip(2 * np.sqrt(ranks.rows[ranks.rows > 0].min()), FEWEST_BARS, MOST_BARS)
    edges = np.linspace(low, high, int(bars) + 1)
    sums = np.stack([np.histogram(risk, edges, weights=each)[0] for each in ranks.weight])
    median = [
        np.quantile(risk, 0.5, weights=each, method="inverted_cdf") if each.any() else np.nan for each in ranks.weight
    ]
    return RiskPoints(edges, sums / np.maximum(ranks.total, np.finfo(np.float64).tiny)[:, None], np.array(median))


@public
def plot_risk_distributions(
    evaluation: Evaluation | ClinicalSummary, ax: "Axes | None" = None, *, thresholds: Any = None
) -> "Axes":
    """Draw the distribution of the predicted risks of the rows with event, and mirrored below it of those without.

    The better a model discriminates, the less the two overlap. Bars are shares of the rows of one outcome, so that both
    sides have the same area also if events are rare. Solid lines mark the medians.

    Parameters
    ----------
    evaluation : Evaluation or ClinicalSummary
        From `evaluate`, made from rows; or from `bayescal.clinical.summary` of one model, whose `thresholds` are then
        marked. Of several models, pass ``summary[name].evaluation``.
    thresholds : float or array-like of float, optional
        Thresholds of treatment to mark, strictly increasing in [0, 1).

    Notes
    -----
    B. Van Calster et al. (2025), The Lancet Digital Health 7, 100916, count this plot among the essential ones for a
    prediction model. With the target ``top-label`` or ``confidence``, an event is a right prediction.

    Examples
    --------
    >>> ev = bc.evaluate([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.4, 0.3, 0.6, 0.8], rng=1)
    >>> ax = bc.clinical.plot_risk_distributions(ev, Figure().subplots(), thresholds=0.25)
    >>> ax.get_title("left")
    'Median 0.60 with event, 0.20 without'
    """
    if isinstance(evaluation, ClinicalSummary):
        if thresholds is None and evaluation.net_benefit is not None:
            thresholds = evaluation.net_benefit.thresholds
        evaluation = evaluation.evaluation
    _checks.instance("evaluation", evaluation, Evaluation, "; make one with `bayescal.evaluate(y_true, y_prob)`.")
    marked = [] if thresholds is None else as_thresholds(thresholds).tolist()
    points = risk_points(evaluation)
    ax = drawing.axes_or_new(ax, figsize=(5.0, 4.2))
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    small, colors = drawing.is_small(ax, *diagram.ROOM), drawing.palette(ax)
    style: dict[str, Any] = {"color": colors.grey, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
    entries: list[tuple[Any, str]] = [(Line2D([], [], color=colors.grey, linewidth=2.0), "median")]
    for outcome, side, color, name in ((1, 1.0, colors.orange, "event"), (0, -1.0, colors.blue, "no event")):
        share = points.share[outcome]
        ax.stairs(side * share, points.edges, fill=True, color=color, alpha=0.7, zorder=2, gid=name)
        ends = [0.0, side * 1.08 * float(share.max())]
        ax.plot([points.median[outcome]] * 2, ends, color=color, linewidth=2.0, zorder=4, gid=f"median {outcome}")
        entries.insert(1 - outcome, (Patch(color=color, alpha=0.7, linewidth=0), name))
    for i, t in enumerate(marked):
        ax.axvline(t, zorder=3, gid=f"threshold {i}", **style)
    if marked:
        entries.append((Line2D([], [], **style), "threshold" + "s" * (len(marked) > 1)))
    ax.axhline(0, color=colors.grey, linewidth=1.0, zorder=3)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * abs(share):g} %"))
    ax.set_xlim(min([points.edges[0], *marked]), max([points.edges[-1], *marked]))
    ax.set(xlabel=wording.axis_words(evaluation.counts.target)[0], ylabel="share of the rows of an outcome")
    ax.spines[["right", "top"]].set_visible(False)
    least = np.nanmin(np.where(points.median > 0, points.median, np.nan), initial=1.0)
    digits = max(2, int(np.ceil(1 - np.log10(least))))  # two of the smaller median
    without, with_event = (_render.number(m, digits) if np.isfinite(m) else "-" for m in points.median)
    title = f"Median {with_event} with event, {without} without"
    drawing.titled(ax, title, [], above=drawing.key_above(ax, entries, small=small), small=small)
    return drawing.finished(ax, small=small)


def plot_subgroups(
    result: GroupedClinicalSummary,
    ax: "Axes | None" = None,
    *,
    quantity: str = "auc",
    prob: float = 0.95,
    color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw a measure of each group, with pooled values as thin bars below, and of all rows (dashed line)."""
    alone, pooled = result.draws(quantity), result.draws(quantity, pooled=True) if len(result) > 1 else {}
    prob, labels = _checks.fraction("prob", prob), [label for label in result.in_order() if label in alone]
    if not labels:
        raise ValueError(f"`quantity` must be a measure of some group; none has {quantity!r}.")
    shown = [*((in_words(label, result.name), result[label]) for label in labels), ("all rows", result.overall)]
    names = [f"{_render.name(name)} ({each.n_events} of {each.n_rows})" for name, each in shown]
    values = [*(alone[label] for label in labels), measure_of(result.overall, quantity)]
    rows = forest.forest(names, np.column_stack([np.asarray(each) for each in values]), prob)
    ax = drawing.axes_or_new(ax, figsize=(6.0, 1.4 + forest.forest_height(names)))
    small, colours = drawing.is_small(ax, *forest.ROOM), drawing.palette(ax)
    line = _checks.color("reference_color", reference_color, colours.grey)
    main = _checks.color("color", color, colours.blue)
    ax.axvline(rows.mean[-1], color=line, linewidth=1, linestyle="--", zorder=1)
    if quantity in CALIBRATED:
        ax.axvline(CALIBRATED[quantity], color=line, linewidth=1.2, zorder=1, gid="calibrated")
    forest.draw_forest(ax, rows, [*[main] * len(labels), line], small=small)
    texts = ["beside names: events of rows", *(["solid line: calibrated"] if quantity in CALIBRATED else [])]
    if pooled:
        below = forest.forest(names[:-1], np.column_stack([pooled[label].values for label in labels]), prob)
        place = np.arange(len(labels)) + forest.BELOW
        ax.hlines(place, below.low, below.high, colors=line, linewidth=1, gid="pooled", zorder=2)
        ax.scatter(below.mean, place, s=10, c=line, gid="pooled mean", zorder=2)
        texts.append("thin bars below: pooled")
    forest.write_label(ax, rows, (WORDS[quantity], "; ".join(texts), forest.key(prob)), small=small)
    return ax
