"""Plot of several horizons: an error of stated risks over time."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Axes
from bayescal._meant import public
from bayescal.report.drawing import axes_or_new, finished, is_small, key_above, palette, titled
from bayescal.survival.result import NAME, SurvivalHorizons, words_of

ROOM = (4.0, 2.6)  #: Width and height in inches below which labels are fewer and smaller.


@public
def plot_horizons(
    horizons: SurvivalHorizons,
    ax: "Axes | None" = None,
    *,
    estimand: Any = "ece",
    prob: float = 0.95,
    color: Any = None,
) -> "Axes":
    """Draw an error of stated risks at several horizons: posterior means, intervals and plug-in values.

    Parameters
    ----------
    horizons : SurvivalHorizons
        From `bayescal.survival.evaluate` with several horizons.
    estimand : str, Estimand or callable, default "ece"
        The quantity, one number; ``"observed_expected"`` is the ratio of observed to expected events.

    Examples
    --------
    >>> risk = np.linspace(0.05, 0.9, 200)
    >>> risks = np.stack([risk / 2, risk], axis=1)
    >>> horizons = bc.survival.evaluate(1 / risk, np.ones(200), risks, horizon=[2, 4], rng=1)
    >>> ax = bc.survival.plot_horizons(horizons, Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('horizon', 'ECE')
    """
    remedy = "; make them with `bayescal.survival.evaluate(time, event, risks, horizon=[1, 2, 5])`."
    _checks.instance("horizons", horizons, SurvivalHorizons, remedy)
    table = horizons.table(_checks.fraction("prob", prob), estimand=estimand)
    ax = axes_or_new(ax, figsize=(6.4, 3.8))
    small, colours = is_small(ax, *ROOM), palette(ax)
    main = _checks.color("color", color, colours.blue)
    at, mean, low, high, plug_in = (
        np.array([row[name] for row in table]) for name in ("horizon", "mean", "low", "high", "plug_in")
    )
    ratio = estimand == NAME
    ax.axhline(1.0 if ratio else 0.0, color=colours.grey, linewidth=0.8, linestyle="--", zorder=1, gid="calibrated")
    bars = ax.vlines(at, low, high, color=main, alpha=0.65, linewidth=4, zorder=2, gid="intervals")
    dots = ax.plot(at, mean, color=main, marker="o", markersize=5, linewidth=1, zorder=3, gid="means")[0]
    entries: list[tuple[Any, str]] = [(dots, "posterior mean"), (bars, f"{100 * prob:g} % interval")]
    if np.isfinite(plug_in).all():
        crosses = ax.plot(at, plug_in, "x", color=colours.orange, markersize=5, zorder=3, gid="plug-in")[0]
        entries.append((crosses, "plug-in"))
    shown = words_of(estimand)
    ax.set(xlabel="horizon", ylabel=shown)
    ax.margins(x=0.08)
    if low.min() >= 0 and not ratio:
        ax.set_ylim(bottom=-0.04 * max(float(high.max()), float(np.nanmax(plug_in)), 1e-9))
    above = key_above(ax, entries, small=small)
    below = [] if small else [horizons.specification(estimand=estimand)]
    titled(ax, f"{shown} at {len(table)} horizons", below, above=above, small=small)
    return finished(ax, small=small)
