"""The plot of decision curves: computed as a record, then drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _render
from bayescal._invalid import quoted
from bayescal.report.drawing import SMALL, axes_or_new, background, colors_by_name, is_dark, key_above, palette, titled
from bayescal.report.room import is_small, keep_within, small_words
from bayescal.results.net_benefit import NetBenefit
from bayescal.results.net_benefit_words import ranges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

#: Width and height in inches below which labels are fewer and smaller.
ROOM = (4.2, 3.2)
#: The axis reaches at least and at most so far below 0, as a share of its part above 0: the line of treating all is
#: unbounded below.
BELOW_LEAST, BELOW_MOST = 0.1, 0.35
#: Height of the bars that mark useful thresholds, as a share of the axes.
BAR = 0.016


@dataclass(frozen=True, eq=False)
class DecisionCurvePoints:
    """Content of the plot of decision curves.

    Parameters
    ----------
    thresholds : ndarray, shape (n_thresholds,)
        The thresholds.
    mean, low, high : dict of str to ndarray, shape (n_thresholds,)
        Posterior mean and interval of each model.
    useful : dict of str to ndarray of bool, shape (n_thresholds,)
        Whether each model is useful with at least the probability of the intervals; false at thresholds
        that `few_rows` marks.
    treat_all : ndarray, shape (n_thresholds,)
        Posterior mean of treating all.
    limits : (float, float)
        Limits of the vertical axis. The lower one may cut off treating all, and models that do harm.
    """

    thresholds: Floats
    mean: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    useful: dict[str, NDArray[np.bool_]]
    treat_all: Floats
    limits: tuple[float, float]


def decision_curve_points(dc: NetBenefit, prob: float = 0.95, *, standardized: bool = False) -> DecisionCurvePoints:
    """Compute what `plot_decision_curve` draws.

    Parameters
    ----------
    dc : NetBenefit
        The result.
    prob : float, default 0.95
        Probability of the bands, and from which a model is marked as useful.
    standardized : bool, default False
        Whether net benefits are divided by the prevalence.

    Returns
    -------
    DecisionCurvePoints
        The numbers to draw.

    Examples
    --------
    >>> import bayescal as bc
    >>> dc = bc.net_benefit([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, [0.3, 0.5, 0.8], rng=1)
    >>> points = decision_curve_points(dc)
    >>> points.useful["model"], points.treat_all.round(2)
    (array([ True,  True,  True]), array([ 0.29,  0.  , -1.5 ]))
    """
    drawn = dc.standardized if standardized else dc.net_benefit
    ends = {name: each.interval(prob) for name, each in drawn.items()}
    mean = {name: each.mean() for name, each in drawn.items()}
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
    return -min(max(-float(low.min()), BELOW_LEAST * top), BELOW_MOST * top), top


def plot_decision_curve(
    dc: NetBenefit,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    standardized: bool = False,
    color: Any = None,
) -> "Axes":
    """Draw decision curves: the net benefit of each model at each threshold, treating all, and treating none.

    A model is useful where its curve lies above both other lines. A bar at the bottom marks the thresholds at which
    this is so with at least the probability `prob`, joint over the three strategies, which bands that overlap do not
    show. Thresholds with too few rows on a side (`few_rows`) have no bar.

    Parameters
    ----------
    dc : NetBenefit
        From `net_benefit`, with at least two thresholds.
    ax : matplotlib Axes, optional
        Where to draw. By default on a new pyplot figure.
    prob : float, default 0.95
        Probability of the band at each threshold, in (0, 1), and from which a model is marked as useful.
    standardized : bool, default False
        Whether net benefits are divided by the prevalence, so that a perfect model has 1.
    color : color, sequence of colors or mapping of str to color, optional
        One colour, one per model, or some by name. Default colours are lighter on a dark background.

    Returns
    -------
    matplotlib Axes
        `ax`, or the new one.

    Raises
    ------
    TypeError
        If `dc` is something else, or `ax` is not an Axes.
    ValueError
        If there is only one threshold, `prob` is not strictly between 0 and 1, or a colour is unknown to matplotlib.

    Examples
    --------
    >>> import bayescal as bc
    >>> from matplotlib.figure import Figure
    >>> dc = bc.net_benefit([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], [0.3, 0.5, 0.8], rng=1)
    >>> ax = plot_decision_curve(dc, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.lines)
    ('threshold probability', 3)
    """
    _require_curve(dc)
    points = decision_curve_points(dc, _checks.fraction("prob", prob), standardized=standardized)
    ax = axes_or_new(ax, figsize=(6.4, 4.6))
    small = is_small(ax, *ROOM)
    colours = palette(ax)
    cycle = [colours.cycle[i % len(colours.cycle)] for i in range(len(dc.models))]
    chosen = dict(zip(dc.models, colors_by_name(color, dc.models, cycle), strict=True))
    _draw(ax, points, chosen, colours.grey)
    _axes(ax, points, standardized=standardized)
    key = _key(ax, prob, chosen, colours.grey, marked=any(map(np.any, points.useful.values())), small=small)
    titled(ax, _title(points, prob, small=small), [] if small else [dc.spec], above=key, small=small)
    if small:
        small_words(ax)
    keep_within(ax)
    return ax


def _require_curve(dc: Any) -> None:
    if not isinstance(dc, NetBenefit):
        raise TypeError(
            f"`dc` must be a NetBenefit, not {type(dc).__name__}; make one with `bayescal.net_benefit(y_true, y_prob)`."
        )
    if len(dc.thresholds) < 2:
        raise ValueError(
            f"`dc` must have at least two thresholds to draw a curve; it has {quoted(dc.thresholds.tolist())}. Without "
            "`thresholds=`, `net_benefit` has 99."
        )


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


def _draw(ax: "Axes", points: DecisionCurvePoints, chosen: Mapping[str, str], grey: str) -> None:
    t, dark = points.thresholds, is_dark(background(ax))
    opacity = (0.3 if dark else 0.18) / (1 if len(chosen) < 3 else 1.5)
    ax.plot(t, np.zeros_like(t), color=grey, linewidth=1.2, zorder=1, gid="treat none")
    ax.plot(t, points.treat_all, color=grey, linewidth=1.4, linestyle=(0, (4, 2)), zorder=2, gid="treat all")
    for i, (name, colour) in enumerate(chosen.items()):
        band = points.low[name], points.high[name]
        ax.fill_between(t, *band, color=colour, alpha=opacity, linewidth=0, zorder=3, gid=f"band {i}")
        ax.plot(t, points.mean[name], color=colour, linewidth=1.6, zorder=5, gid=f"model {i}")
        half = np.diff(t) / 2
        ends = np.stack([t - np.append(half[:1], half), t + np.append(half, half[-1:])], axis=1)[points.useful[name]]
        if len(ends):
            ax.broken_barh(
                [(a, b - a) for a, b in ends],
                (1.5 * BAR * (len(chosen) - 1 - i) + BAR / 2, BAR),
                transform=ax.get_xaxis_transform(),
                color=colour,
                linewidth=0,
                zorder=4,
                gid=f"useful {i}",
            )


def _axes(ax: "Axes", points: DecisionCurvePoints, *, standardized: bool) -> None:
    low, high = points.limits
    n_models = len(points.mean)
    # the bars of useful thresholds lie below the curves
    ax.set_ylim(low - (high - low) * (1.5 * BAR * n_models + BAR), high)
    ax.set_xlim(points.thresholds[0], points.thresholds[-1])
    ax.set_xlabel("threshold probability", fontsize=SMALL)
    ax.set_ylabel("standardized net benefit" if standardized else "net benefit", fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)


def _key(ax: "Axes", prob: float, chosen: Mapping[str, str], grey: str, *, marked: bool, small: bool) -> float:
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
    return key_above(ax, entries, small=small)
