"""The plots of decision curves, computed as a record, then drawn; of loss ratios; risk-coverage curves; top-k."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Bools, Floats
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.decisions.loss_ratio_result import LossRatio
from bayescal.decisions.result import HasDecisionCurve, NetBenefit
from bayescal.decisions.selective_result import SelectivePrediction
from bayescal.decisions.top_classes import TopK
from bayescal.decisions.words import FEW_ROWS_PER_SIDE, of_draws, ranges
from bayescal.draws import Draws
from bayescal.report import drawing

ROOM = (4.2, 3.2)  #: Width and height in inches below which labels are fewer and smaller.
#: The axis reaches at least and at most so far below 0, as a share of its part above 0: the line of treating all is
#: unbounded below.
BELOW_LEAST, BELOW_MOST = 0.1, 0.35
TITLED = 2  #: Maximum numbers of chosen thresholds and of models in the title.
#: Height of the bars that mark useful thresholds, as a share of the axes, and how far the bar of one threshold extends
#: on each side at most: it marks thresholds that were computed, not those between them.
BAR, WIDEST_HALF_BAR = 0.016, 0.01
#: The vertical axis ends at most at this multiple of the largest mean ratio: intervals of few errors are wide.
MOST = 1.5


@dataclass(frozen=True, eq=False)
class DecisionCurvePoints:
    """Content of the plot of decision curves; arrays of shape (n_thresholds,), by model."""

    thresholds: Floats
    mean: dict[str, Floats]  # posterior mean
    low: dict[str, Floats]  # ends of the interval
    high: dict[str, Floats]
    useful: dict[str, Bools]  # with the probability of the intervals; false where `few_rows` is true
    treat_all: Floats  # posterior mean of treating all
    limits: tuple[float, float]  # of the vertical axis; the lower one may cut off treating all, and models that do harm


@dataclass(frozen=True, eq=False)
class ChosenPoints:
    """Numbers at thresholds that were chosen beforehand, which the title states; shape (n_chosen,), by model."""

    thresholds: Floats
    mean: dict[str, Floats]  # posterior mean
    treat_all: Floats  # posterior mean of treating all
    p_useful: dict[str, Floats]  # probability of being useful; NaN where too few rows lie on a side of the threshold


def chosen_points(dc: NetBenefit, at: Any, *, standardized: bool = False) -> ChosenPoints:
    """Compute the numbers at chosen thresholds of `dc`; `standardized` divides net benefits by the prevalence."""
    chosen = np.atleast_1d(np.asarray(at, dtype=np.float64))
    same = np.isclose(chosen[:, None], dc.thresholds, rtol=0, atol=1e-9)
    if not same.any(axis=1).all():
        raise ValueError(
            f"`at` must hold thresholds of `dc`, which {chosen[~same.any(axis=1)][0]:g} is not; name it in "
            "`net_benefit(..., thresholds=)`."
        )
    place = same.argmax(axis=1)
    if standardized:
        mean = {name: each.mean()[place] for name, each in dc.standardized.items()}
        treat_all = (dc.treat_all.values / dc.prevalence_draws).mean(axis=0)[place]
    else:
        mean = {name: exact[place] for name, (exact, _) in dc.moments.items()}
        treat_all = np.array([row["mean"] for row in dc.treat_all_table()])[place]
    useful = {name: np.where(dc.few_rows[name], np.nan, p)[place] for name, p in dc.p_useful.items()}
    return ChosenPoints(chosen, mean, treat_all, useful)


def decision_curve_points(dc: NetBenefit, prob: float = 0.95, *, standardized: bool = False) -> DecisionCurvePoints:
    """Compute the values that `plot_decision_curve` draws; `standardized` divides net benefits by the prevalence."""
    draws = dc.standardized if standardized else dc.net_benefit
    ends = {name: each.interval(prob) for name, each in draws.items()}
    mean = {name: each.mean() for name, each in draws.items()}
    treat_all = (dc.treat_all.values / dc.prevalence_draws).mean(axis=0) if standardized else dc.treat_all.mean()
    low, high = ({name: each[side] for name, each in ends.items()} for side in (0, 1))
    return DecisionCurvePoints(
        thresholds=dc.thresholds,
        mean=mean,
        low=low,
        high=high,
        useful={name: (p >= prob) & ~dc.few_rows[name] for name, p in dc.p_useful.items()},
        treat_all=treat_all,
        limits=_limits(np.concatenate([*high.values(), treat_all]), np.concatenate(list(low.values()))),
    )


def _limits(high: Floats, low: Floats) -> tuple[float, float]:
    top = 1.05 * max(float(high.max()), 1e-6)
    return -min(max(-float(low.min(initial=0.0)), BELOW_LEAST * top), BELOW_MOST * top), top


def _ended(points: DecisionCurvePoints, dc: NetBenefit) -> DecisionCurvePoints:
    """End the curve of each model at the last threshold that some of its rows reach."""
    reached = {}
    for i, name in enumerate(dc.models):
        rows = dc.counts.margin(i, dc.counts.n).sum(axis=0)
        reached[name] = np.cumsum(rows[::-1])[::-1][1:] >= FEW_ROWS_PER_SIDE
    mean, low, high = (
        {name: np.where(reached[name], each, np.nan) for name, each in values.items()}
        for values in (points.mean, points.low, points.high)
    )
    shown = np.concatenate([*high.values(), points.treat_all]), np.concatenate(list(low.values()))
    return replace(points, mean=mean, low=low, high=high, limits=_limits(*(each[np.isfinite(each)] for each in shown)))


@public
def plot_decision_curve(
    dc: NetBenefit | HasDecisionCurve,
    ax: "Axes | None" = None,
    *,
    at: Any = None,
    prob: float = 0.95,
    standardized: bool = False,
    color: Any = None,
) -> "Axes":
    """Draw decision curves: the net benefit of each model at each threshold, treating all, and treating none.

    A model is useful where its curve lies above both other lines. A bar at the bottom marks the thresholds at which
    this is so with at least the probability `prob`, joint over the three strategies, which bands that overlap do not
    show. Thresholds with too few rows on a side (`few_rows`) have no bar. A curve ends at the last threshold that 5
    rows reach: beyond it, the net benefit depends on the prior.

    Parameters
    ----------
    dc : NetBenefit or ClinicalSummary
        From `net_benefit`, with at least two thresholds; or from `bayescal.clinical.summary`, whose `thresholds` are
        then marked and stated.
    at : float or array-like of float, optional
        Thresholds of a `NetBenefit`, chosen before looking: they are marked by lines, and the title states the net
        benefit there. Without them, the title states where the model is useful, which is a range found after looking.
    prob : float, default 0.95
        Probability of the band at each threshold, in (0, 1), and from which a model is marked as useful.
    standardized : bool, default False
        Whether net benefits are divided by the prevalence, so that a perfect model has 1.
    color : color, sequence of colors or mapping of str to color, optional
        One colour, one per model, or some by name. Default colours are lighter on a dark background.

    Examples
    --------
    >>> dc = bc.decisions.net_benefit([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], [0.3, 0.5, 0.8], rng=1)
    >>> ax = bc.decisions.plot_decision_curve(dc, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.lines)
    ('threshold probability', 3)
    """
    prob, chosen_at, summary = _checks.fraction("prob", prob), None, None
    if isinstance(dc, HasDecisionCurve):
        summary, dc = dc, dc.decision_curve
        if at is not None:
            raise ValueError("`at` is for a NetBenefit; a summary marks its own `thresholds`.")
    _checks.instance("dc", dc, NetBenefit, "; make one with `bayescal.decisions.net_benefit(y_true, y_prob)`.")
    if len(dc.thresholds) < 2:
        raise ValueError(
            f"`dc` must have at least two thresholds to draw a curve; it has {quoted(dc.thresholds.tolist())}. Without "
            "`thresholds=`, `net_benefit` has 99."
        )
    points = _ended(decision_curve_points(dc, prob, standardized=standardized), dc)
    if summary is not None:
        if summary.net_benefit is not None:
            of = summary.net_benefit
            chosen_at = chosen_points(of, of.thresholds, standardized=standardized)
    elif at is not None:
        chosen_at = chosen_points(dc, at, standardized=standardized)
    ax = drawing.axes_or_new(ax, figsize=(6.4, 4.6))
    small = drawing.is_small(ax, *ROOM)
    colours = drawing.palette(ax)
    cycle = [colours.cycle[i % len(colours.cycle)] for i in range(len(dc.models))]
    chosen = dict(zip(dc.models, drawing.colors_by_name(color, dc.models, cycle), strict=True))
    _draw(ax, points, chosen, colours.grey)
    _axes(ax, points, standardized=standardized)
    if chosen_at is not None:
        low, high = ax.get_xlim()  # a chosen threshold may lie beyond the curves
        ax.set_xlim(min(low, chosen_at.thresholds.min()), max(high, chosen_at.thresholds.max()))
        for i, t in enumerate(chosen_at.thresholds):
            ax.axvline(t, color=colours.grey, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=1.5, gid=f"chosen {i}")
    marked = any(map(np.any, points.useful.values()))
    n_chosen = 0 if chosen_at is None else len(chosen_at.thresholds)
    key = _key(ax, prob, chosen, colours.grey, marked=marked, n_chosen=n_chosen, small=small)
    title = _title(points, prob, small=small) if chosen_at is None else _title_at(chosen_at, small=small)
    return _finished(ax, title, dc.spec, key, small=small)


def _over_thresholds(ax: "Axes", quantity: str) -> None:
    """Label axes of a quantity over thresholds."""
    ax.set_xlabel("threshold probability", fontsize=drawing.SMALL)
    ax.set_ylabel(quantity, fontsize=drawing.SMALL)
    ax.tick_params(labelsize=drawing.SMALL)
    ax.spines[["right", "top"]].set_visible(False)


def _finished(ax: "Axes", title: str, spec: str, above: float, *, small: bool) -> "Axes":
    """Write the title and, in axes that are not small, the specification; keep all within the cell of the axes."""
    drawing.titled(ax, title, [] if small else [spec], above=above, small=small)
    return drawing.finished(ax, small=small)


def _with_interval(draws: Draws, prob: float) -> str:
    """Return mean and interval of draws for a title, whose lines are not divided within the interval."""
    low, high = draws.interval(prob)
    d = _render.interval_decimals(low, high)
    mean, low_text, high_text = (_render.number(value, d) for value in (draws.mean(), low, high))
    return f"{mean} [{low_text},\u00a0{high_text}]"


def _title(points: DecisionCurvePoints, prob: float, *, small: bool) -> str:
    """Return where the model is useful, or, of several models, how many are."""
    useful = {name: marked for name, marked in points.useful.items() if marked.any()}
    at_least = f"(P\u00a0\u2265\u00a0{prob:g})"  # not divided between lines
    if len(points.mean) == 1:
        if not useful:
            return f"Useful at no threshold with P \u2265 {prob:g}"
        (marked,) = useful.values()
        return f"Useful at {ranges(points.thresholds, marked)} {at_least}"
    some = "" if small else " at some threshold"
    return f"{len(useful)} of {len(points.mean)} models useful{some} {at_least}"


def _title_at(chosen: ChosenPoints, *, small: bool) -> str:
    """Return the numbers at the first of the chosen thresholds, a line each."""
    lines = []
    for i, t in enumerate(chosen.thresholds[:TITLED]):
        stated = {name: "-" if np.isnan(p[i]) else of_draws(p[i]) for name, p in chosen.p_useful.items()}
        if len(stated) > 1:
            names = [f"{_render.cut(_render.name(name), 16)} {p}" for name, p in list(stated.items())[: 1 + TITLED]]
            more = ", ..." * (len(stated) > len(names))
            lines.append(f"P(useful) at {t:g}: {', '.join(names)}{more}")
            continue
        ((name, p),) = stated.items()
        if small:
            lines.append(f"P(useful) {p} at {t:g}")
            continue
        value, default = _render.number(chosen.mean[name][i], 3), _render.number(chosen.treat_all[i], 3)
        lines.append(f"At {t:g}: net benefit {value} (treat all {default}), P(useful) {p}")
    return "\n".join(lines)


def _draw(ax: "Axes", points: DecisionCurvePoints, chosen: Mapping[str, str], grey: str) -> None:
    t, dark = points.thresholds, drawing.is_dark(drawing.background(ax))
    opacity = (0.3 if dark else 0.18) / (1 if len(chosen) < 3 else 1.5)
    ax.plot(t, np.zeros_like(t), color=grey, linewidth=1.2, zorder=1, gid="treat none")
    ax.plot(t, points.treat_all, color=grey, linewidth=1.4, linestyle=(0, (4, 2)), zorder=2, gid="treat all")
    for i, (name, colour) in enumerate(chosen.items()):
        band = points.low[name], points.high[name]
        ax.fill_between(t, *band, color=colour, alpha=opacity, linewidth=0, zorder=3, gid=f"band {i}")
        ax.plot(t, points.mean[name], color=colour, linewidth=1.6, zorder=5, gid=f"model {i}")
        half = np.minimum(np.diff(t) / 2, WIDEST_HALF_BAR)
        ends = np.stack([t - np.append(half[:1], half), t + np.append(half, half[-1:])], axis=1)[points.useful[name]]
        if len(ends):
            height = 1.5 * BAR * (len(chosen) - 1 - i) + BAR / 2
            style: dict[str, Any] = {"color": colour, "linewidth": 0, "zorder": 4, "gid": f"useful {i}"}
            ax.broken_barh([(a, b - a) for a, b in ends], (height, BAR), transform=ax.get_xaxis_transform(), **style)


def _axes(ax: "Axes", points: DecisionCurvePoints, *, standardized: bool) -> None:
    low, high = points.limits
    n_models = len(points.mean)
    # the bars of useful thresholds lie below the curves
    ax.set_ylim(low - (high - low) * (1.5 * BAR * n_models + BAR), high)
    ax.set_xlim(points.thresholds[0], points.thresholds[-1])
    _over_thresholds(ax, "standardized net benefit" if standardized else "net benefit")


def _key(
    ax: "Axes", prob: float, chosen: Mapping[str, str], grey: str, *, marked: bool, n_chosen: int, small: bool
) -> float:
    """Draw the key above the axes; return the points that it takes."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Any, str]] = [
        (Line2D([], [], color=colour, linewidth=1.6), _render.cut(_render.name(name), 16 if small else 30))
        for name, colour in chosen.items()
    ]
    entries.append((Line2D([], [], color=grey, linewidth=1.4, linestyle=(0, (3, 1.5))), "treat all"))
    first = next(iter(chosen.values())) if len(chosen) == 1 else grey
    if not small:
        entries.append((Line2D([], [], color=grey, linewidth=1.2), "treat none"))
        entries.append((Patch(color=first, alpha=0.3, linewidth=0), f"{100 * prob:g} % interval"))
    if marked:
        entries.append((Line2D([], [], color=first, linewidth=3.5), "useful"))
    if n_chosen:
        dotted = Line2D([], [], color=grey, linewidth=1.0, linestyle=(0, (1, 1.5)))
        entries.append((dotted, f"chosen threshold{'s' * (n_chosen > 1)}"))
    return drawing.key_above(ax, entries, small=small)


@public
def plot_loss_ratio(result: LossRatio, ax: "Axes | None" = None, *, prob: float = 0.95, color: Any = None) -> "Axes":
    """Draw the loss of decisions after recalibration, as a share of the loss before, at each threshold.

    Where the band lies below 1, recalibration lowers the loss. The intervals are pointwise; thresholds at which fewer
    than 5 test rows are decided wrongly are not drawn, because their intervals would be too narrow.

    Parameters
    ----------
    result : LossRatio
        From `loss_ratio`, with at least two thresholds that can be drawn.

    Examples
    --------
    >>> first, second = (simulate(2000, curve="shift", population="flat", strength=1, rng=seed) for seed in (1, 2))
    >>> rows = first.outcome, first.confidence, second.outcome, second.confidence
    >>> ax = bc.decisions.plot_loss_ratio(bc.decisions.loss_ratio(*rows, rng=1), Figure().subplots())
    >>> ax.get_ylabel()
    'loss after / before'
    """
    _checks.instance("result", result, LossRatio, "; make one with `bayescal.decisions.loss_ratio(...)`.")
    prob = _checks.fraction("prob", prob)
    shown = ~result.few_wrong
    if np.count_nonzero(shown) < 2:
        raise ValueError(
            "`result` must have at least two thresholds at which 5 or more test rows are decided wrongly; it has "
            f"{np.count_nonzero(shown)} of {len(shown)}."
        )
    ax = drawing.axes_or_new(ax, figsize=(6.4, 4.2))
    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    main = _checks.color("color", color, colours.blue)
    t, opacity = result.thresholds, 0.35 if drawing.is_dark(drawing.background(ax)) else 0.2
    # NaN divides the line where a threshold is not drawn
    mean, low, high = (np.where(shown, each, np.nan) for each in (result.ratio.mean(), *result.ratio.interval(prob)))
    ax.axhline(1, color=colours.grey, linewidth=1.2, zorder=1, gid="no change")
    band: dict[str, Any] = {"color": main, "linewidth": 0, "alpha": opacity, "zorder": 2, "gid": "band"}
    ax.fill_between(t, low, high, label=f"{100 * prob:g} % interval", **band)
    ax.plot(t, mean, color=main, linewidth=1.6, zorder=3, gid="ratio", label="loss after / before")
    top, bottom = max(1.0, float(np.nanmax(mean))), min(1.0, float(np.nanmin(low)))
    top = min(MOST * top, max(1.0, float(np.nanmax(high))))
    room = 0.06 * (top - bottom)
    ax.set(xlim=(t[shown][0], t[shown][-1]), ylim=(bottom - room, top + room))
    _over_thresholds(ax, "loss after / before")
    title = f"Mean loss ratio {_with_interval(result.mean_ratio, prob)}"
    return _finished(ax, title, result.spec, drawing.key_above(ax, small=small), small=small)


@public
def plot_selective(
    result: SelectivePrediction,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    simultaneous: bool = False,
    risk: float | None = None,
    color: Any = None,
) -> "Axes":
    """Draw risk-coverage curves: the share of wrong predictions among those that are kept, by the share that is kept.

    Parameters
    ----------
    result : SelectivePrediction
        From `selective`.
    simultaneous : bool, default False
        Whether the band contains the whole curve with this probability; by default, the risk at each share.
    risk : float, optional
        A risk that is marked by a line; the title then states the largest share that can be kept.
    color : color, sequence of colors or mapping of str to color, optional
        One colour, one per classifier, or some by name. Default colours are lighter on a dark background.

    Examples
    --------
    >>> kept = bc.decisions.selective([0, 1, 1, 1], [0.2, 0.7, 0.8, 0.9], target="confidence", rng=1)
    >>> ax = bc.decisions.plot_selective(kept, Figure().subplots())
    >>> ax.get_ylabel()
    'share of wrong predictions'
    """
    _checks.instance("result", result, SelectivePrediction, "; make one with `bayescal.decisions.selective(...)`.")
    prob = _checks.fraction("prob", prob)
    limit = None if risk is None else _checks.fraction("risk", risk)
    ax = drawing.axes_or_new(ax, figsize=(6.4, 4.6))
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    names, alpha = result.classifiers, 0.35 if drawing.is_dark(drawing.background(ax)) else 0.2
    cycle = [colours.cycle[i % len(colours.cycle)] for i in range(len(names))]
    tops = []
    for name, chosen in zip(names, drawing.colors_by_name(color, names, cycle), strict=True):
        draws = result.risk[name]
        low, high = draws.band(prob) if simultaneous else draws.interval(prob)
        ax.fill_between(result.shares, low, high, color=chosen, alpha=alpha, linewidth=0, gid="band")
        label = "posterior mean" if len(names) == 1 else _render.cut(_render.name(name), 16 if small else 30)
        ax.plot(result.shares, draws.mean(), color=chosen, linewidth=1.6, gid=f"risk of {name}", label=label)
        dots: dict[str, Any] = {"color": chosen, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
        ax.plot(result.shares, result.observed[name], gid=f"observed risk of {name}", **dots)
        tops.append(float(high[len(high) // 10 :].max()))
    if limit is not None:
        dashes: dict[str, Any] = {"color": colours.grey, "linewidth": 1.2, "linestyle": (0, (3, 1.5))}
        ax.axhline(limit, gid="risk", label=f"risk {limit:g}", **dashes)
    ax.set(xlim=(0, 1), ylim=(0, 1.05 * max(*tops, limit or 0.0)))
    _over_thresholds(ax, "share of wrong predictions")
    first_kept = "" if small else ", the most confident first"
    ax.set_xlabel(f"share of predictions that are kept{first_kept}", fontsize=drawing.SMALL)
    first = cycle[0] if len(names) == 1 and color is None else colours.grey
    labelled = ((line, str(line.get_label())) for line in ax.lines)
    entries: list[tuple[Any, str]] = [each for each in labelled if each[1][0] != "_"]
    if not small:
        entries.append((Line2D([], [], color=first, linewidth=1.0, linestyle=(0, (1, 1.5))), "observed"))
        kind = "band" if simultaneous else "interval"
        entries.append((Patch(color=first, alpha=alpha, linewidth=0), f"{100 * prob:g} % {kind}"))
    key = drawing.key_above(ax, entries, small=small)
    return _finished(ax, _selective_title(result, limit, prob, small=small), result.question, key, small=small)


def _selective_title(result: SelectivePrediction, limit: float | None, prob: float, *, small: bool) -> str:
    """Return the AUGRC of the first classifiers, or the largest share that can be kept at a risk."""
    named = len(result.classifiers) > 1
    draws = result.augrc if limit is None else result.largest_share(limit)
    area = "AUGRC" if small else "AUGRC (smaller is better)"
    lines = [area if limit is None else f"Largest share at risk {limit:g}"]
    if len(draws) > TITLED:
        lines[0] += f", {TITLED} of {len(draws)} classifiers"
    for name, each in list(draws.items())[:TITLED]:
        of = f"{_render.cut(_render.name(name), 30)}: " if named else ""
        lines.append(f"{of}{_with_interval(each, prob)}")
    return "\n".join(lines) if named else ": ".join(lines)


@public
def plot_top_k(result: TopK, ax: "Axes | None" = None, *, prob: float = 0.95, color: Any = None) -> "Axes":
    """Draw how often the true class is among the k most probable ones, and how often the probabilities state it.

    Parameters
    ----------
    result : TopK
        From `top_k`.

    Examples
    --------
    >>> top = bc.decisions.top_k([0, 1, 2, 1], [[0.6, 0.3, 0.1]] * 4, rng=1)
    >>> bc.decisions.plot_top_k(top, Figure().subplots()).get_xlabel()
    'k'
    """
    _checks.instance("result", result, TopK, "; make one with `bayescal.decisions.top_k(...)`.")
    prob = _checks.fraction("prob", prob)
    ax = drawing.axes_or_new(ax, figsize=(6.4, 4.2))
    small, colours = drawing.is_small(ax, *ROOM), drawing.palette(ax)
    main = _checks.color("color", color, colours.blue)
    k, rows = np.array(list(result)), result.table(prob)
    accuracy = np.array([(each.accuracy.mean(), *each.accuracy.interval(prob)) for each in result.values()]).T
    ax.plot(k, [row["stated"] for row in rows], color=colours.grey, marker="o", linestyle=(0, (3, 1.5)), label="stated")
    ends = np.clip(np.abs(accuracy[1:] - accuracy[0]), 0, None)
    label = f"true class among k, {100 * prob:g} % interval"
    ax.errorbar(k, accuracy[0], ends, color=main, marker="o", linewidth=1.6, capsize=3, label=label)
    lowest = min(accuracy[1].min(), *(row["stated"] for row in rows))
    ax.set(xticks=k, ylim=(min(0.98 * lowest, 0.95), 1.01))
    _over_thresholds(ax, "share of rows")
    ax.set_xlabel("k", fontsize=drawing.SMALL)
    worst = max(result, key=lambda number: result[number].ece.mean())
    title = f"Largest ECE at k = {worst}: {_with_interval(result[worst].ece, prob)}"
    return _finished(ax, title, result.spec, drawing.key_above(ax, small=small), small=small)
