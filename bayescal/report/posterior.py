"""The posterior of the ECE and its null distribution: computed as a record, then drawn on any axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Axes, Floats
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.report import drawing
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation

BAR = -0.13  #: Vertical position of the bar of the interval, below the base line of its curve, in units of the peak.


@dataclass(frozen=True, eq=False)
class Density:
    """A distribution to draw: a curve for the continuous part, stems for values that occur repeatedly."""

    x: Floats
    height: Floats  # of the curve; empty if every draw lies on a stem
    stem_x: Floats  # values with a probability of their own
    stem_pr: Floats  # these probabilities
    mean: float
    low: float
    high: float


def density_of(draws: Draws, prob: float) -> Density:
    """Compute the curve and stems of draws, with their mean and equal-tailed interval."""
    low, high = draws.interval(prob)
    values = np.round(draws.values, 12)  # sums in another order differ by rounding
    points, times = np.unique(values, return_counts=True)
    often = times >= max(2, 0.01 * len(values))
    if times[often].sum() >= 0.9 * len(values) or len(points[points != 0]) < 2:
        stems, smooth = often | (len(points) < 3), values[:0]
    else:
        stems, smooth = points == 0, values[values != 0]
    x = height = smooth
    if len(smooth):
        from arviz_stats.base import array_stats

        with np.errstate(all="ignore"):  # the choice of bandwidth divides by zero for evenly spaced draws, harmlessly
            x, height, _ = array_stats.kde(smooth)
    return Density(x, height, points[stems], times[stems] / len(values), draws.mean(), low, high)


def draw_density(ax: "Axes", density: Density, base: float, height: float, colour: str) -> None:
    """Draw one row: curve and stems, with heights in proportion to their probability, and mean and interval below."""
    smooth = 1 - float(density.stem_pr.sum())
    most = max(smooth if len(density.x) else 0.0, *density.stem_pr, 0.0)
    if len(density.x):
        top = base + height * smooth / most * density.height / density.height.max()
        ax.fill_between(density.x, base, top, color=colour, alpha=0.25, linewidth=0)
        ax.plot(density.x, top, color=colour, linewidth=1.5)
    if len(density.stem_x):
        ax.vlines(density.stem_x, base, base + height * density.stem_pr / most, color=colour, linewidth=3)
    ax.axhline(base, color=colour, linewidth=0.6, alpha=0.5)
    ax.plot([density.low, density.high], [base + BAR] * 2, color=colour, linewidth=4, solid_capstyle="butt")
    ax.plot(density.mean, base + BAR, marker="o", markersize=7, color=colour, markeredgecolor=drawing.background(ax))


ROOM = (4.0, 3.2)  #: Width and height in inches below which labels are fewer and smaller.


@dataclass(frozen=True, eq=False)
class PosteriorShapes:
    """Content of a posterior plot of the ECE."""

    posterior: Density  # the prior, without rows
    prior: Density | None  # only if asked for, and if there are rows
    null: Density | None  # of the plug-in value if the classifier were calibrated; None without rows
    plug_in: float  # NaN without rows


def posterior_shapes(
    evaluation: Evaluation | ClasswiseEvaluation, prob: float = 0.95, *, prior: bool = False
) -> PosteriorShapes:
    """Compute the values that `plot_posterior` draws; TypeError if `evaluation` is something else."""
    drawing.require_evaluation(evaluation)
    _checks.one_of("prior", prior, [True, False])
    if prior and not isinstance(evaluation, Evaluation):
        raise TypeError("`prior=True` draws the prior of one Evaluation; choose a class, as in `evaluation[label]`.")
    has_null = isinstance(evaluation, ClasswiseEvaluation) or evaluation.null_bin_draws is not None
    beside = None
    if isinstance(evaluation, Evaluation) and prior and evaluation.counts.n_rows:
        beside = density_of(evaluation.under_prior().ece, prob)
    return PosteriorShapes(
        posterior=density_of(evaluation.ece, prob), prior=beside,
        null=density_of(evaluation.null, prob) if has_null else None, plug_in=evaluation.plug_in,
    )  # fmt: skip


@public
def plot_posterior(
    evaluation: Evaluation | ClasswiseEvaluation,
    ax: "Axes | None" = None,
    *,
    prob: float = 0.95,
    prior: bool = False,
    color: Any = None,
    prior_color: Any = None,
    null_color: Any = None,
    reference_color: Any = None,
) -> "Axes":
    """Draw the posterior of the ECE, and the null distribution of the plug-in value below it.

    Above, the posterior with its mean (dot) and equal-tailed interval (bar). Below, lighter, the null distribution: the
    plug-in ECE of data of the same size if the classifier were exactly calibrated. The dashed line is the plug-in
    value; if it lies inside the null distribution, it is no evidence of miscalibration.

    Parameters
    ----------
    evaluation : Evaluation or ClasswiseEvaluation
        The result of `evaluate`.
    prior : bool, default False
        Whether to draw the prior below the posterior, as `Evaluation.under_prior` has it; not for all classes. The axis
        ends near the upper end of its interval. Without rows, the only row is the prior.
    prior_color : matplotlib color, optional
        Colour of the prior.
    null_color : matplotlib color, optional
        Colour of the null distribution.
    reference_color : matplotlib color, optional
        Colour of the plug-in value. All default colours are lighter on a dark background.

    See Also
    --------
    plot_reliability : Plot the bins.

    Notes
    -----
    Curves are kernel density estimates from ArviZ, reflected at the ends of the range of the draws so that no density
    lies below 0. Each curve is scaled to its own peak. A value with a probability of its own, such as an ECE of 0, is
    drawn as a stem and not as a part of the curve.

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, model="dirichlet", rng=1)
    >>> ax = bc.plot_posterior(ev, Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['posterior', 'if calibrated']
    """
    shapes, ax = posterior_shapes(evaluation, prob, prior=prior), drawing.axes_or_new(ax, figsize=(6.0, 3.8))
    from matplotlib.ticker import MaxNLocator  # `axes_or_new` says if matplotlib is not installed

    small = drawing.is_small(ax, *ROOM)
    default = drawing.palette(ax)
    name = "prior" if isinstance(evaluation, Evaluation) and not evaluation.counts.n_rows else "posterior"
    rows = [(name, shapes.posterior, _checks.color("color", color, default.blue), 1.0)]
    null_color = _checks.color("null_color", null_color, default.grey)
    reference_color = _checks.color("reference_color", reference_color, default.orange)
    prior_color = _checks.color("prior_color", prior_color, default.cycle[2])
    if shapes.prior is not None:
        rows.append(("prior", shapes.prior, prior_color, 0.7))
    if shapes.null is not None:
        rows.append(("if calibrated", shapes.null, null_color, 0.7))
    bases: list[float] = []
    base = 0.0
    for _, density, colour, height in rows:
        base -= 0.0 if not bases else height + 0.42
        bases.append(base)
        draw_density(ax, density, base, height, colour)
    right = 1.06 * max(max(d.high, *d.x[-1:], *d.stem_x[-1:]) for _, d, _, _ in rows if d is not shapes.prior)
    if shapes.prior is not None:  # the tail of a wide prior would leave little room for the posterior
        right = max(right, 1.06 * shapes.prior.high)
    right = max(right, 1.06 * np.nan_to_num(shapes.plug_in), 1e-6)
    ax.set(xlim=(-0.02 * right, right), ylim=(bases[-1] - 0.3, 1.3))
    key = f"dot: mean, bar: {100 * prob:g} % interval"
    quantity = "classwise ECE" if isinstance(evaluation, ClasswiseEvaluation) else "Expected Calibration Error (ECE)"
    ax.set_xlabel(f"ECE; {key}" if small else f"{quantity}\n{key}")
    ax.xaxis.set_major_locator(MaxNLocator(3 if small else 5, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter("{x:.4g}")  # otherwise a common factor in the corner would overlap the label
    ax.set_yticks(bases, [_row_name(name, density) for name, density, _, _ in rows])
    for label, (_, _, colour, _) in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(colour)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)
    if shapes.null is not None:
        _draw_plug_in(ax, shapes.plug_in, right, reference_color)
    drawing.headline(ax, evaluation, prob, above=4, small=small)
    return drawing.finished(ax, small=small)


def _row_name(name: str, density: Density) -> str:
    """Return the name of a row, with the probability of exactly 0 if it is positive."""
    at_zero = 100 * density.stem_pr[density.stem_x == 0].sum()
    return f"{name}\n({'< 1' if at_zero < 1 else f'{at_zero:.0f}'} % at 0)" if at_zero else name


def _draw_plug_in(ax: "Axes", plug_in: float, right: float, color: str) -> None:
    ax.axvline(plug_in, color=color, linewidth=1.5, linestyle="--")
    move, side = (-4, "right") if plug_in > right / 2 else (4, "left")
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
    words = f"plug-in {_render.number(plug_in)}"
    ax.annotate(words, (plug_in, 1), xytext=(move, -2), ha=side, color=color, fontsize=drawing.SMALL, **place)
