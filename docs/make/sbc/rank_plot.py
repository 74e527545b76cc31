"""Plot of the ranks of simulation-based calibration: differences of distribution functions from uniform."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _packages
from sbc.ranks import Ranks
from sbc.uniformity import ecdf_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#808080"


def plot_ranks(
    ranks: Ranks,
    ax: Any = None,
    *,
    prob: float = 0.95,
    color: Any = None,
    band_color: Any = None,
    outside_color: Any = None,
) -> "Axes":
    """Draw differences of the ranks' distribution functions from uniform, with their simultaneous band.

    Parameters
    ----------
    ranks : Ranks
        Result of `sbc`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    prob : float, default 0.95
        Probability that all lines are inside the band if the sampler is right (Bonferroni over the lines).
    color, band_color, outside_color : matplotlib color, optional
        Colours of lines inside the band, of the band, and of lines that leave it.

    Returns
    -------
    matplotlib Axes
        One line per quantity. Pooled samples have narrower bands and are left out. Lines that leave the band are orange
        and labelled where there is room.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications in
    goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32.
    """
    _packages.require("matplotlib")
    from matplotlib import pyplot as plt

    color, band_color, outside_color = (
        _checks.color(name, value, default)
        for name, value, default in (
            ("color", color, GREY),
            ("band_color", band_color, BLUE),
            ("outside_color", outside_color, ORANGE),
        )
    )
    if ax is None:
        ax = plt.figure(figsize=(6.4, 4.2), layout="tight").subplots()
    single = [name for name, sample in ranks.samples.items() if len(sample) == ranks.n_runs]
    low, high = ecdf_band(ranks.n_runs, ranks.n_cells, 1 - (1 - _checks.fraction("prob", prob)) / len(single))
    place = np.arange(ranks.n_cells + 1) / ranks.n_cells
    ends = [np.concatenate([[0], end, [ranks.n_runs]]) / ranks.n_runs - place for end in (low, high)]
    ax.fill_between(place, *ends, color=band_color, alpha=0.15, linewidth=0)
    ax.axhline(0, color=color, linewidth=0.8)
    outside: dict[str, Floats] = {}
    for name in single:
        line = np.concatenate([[0], np.cumsum(ranks.histogram(name))]) / ranks.n_runs - place
        if np.any((line < ends[0] - 1e-12) | (line > ends[1] + 1e-12)):
            outside[name] = line
        else:
            ax.plot(place, line, color=color, alpha=0.35, linewidth=0.8)
    for line in outside.values():
        ax.plot(place, line, color=outside_color, alpha=0.9, linewidth=1.4)
    ax.margins(y=0.1)
    _name_lines(ax, place, outside, outside_color)
    verdict = f"all {len(single)} inside" if not outside else f"{len(outside)} of {len(single)} outside"
    ax.set_title(
        f"{verdict} the {100 * prob:g} % band ({ranks.n_runs} data sets, {ranks.n_draws} draws each)",
        loc="left",
        fontsize=9.5,
    )
    ax.set_xlabel("rank of the truth among the draws, as a share")
    ax.set_ylabel("share of truths below, minus expected")
    ax.set_xlim(0, 1)
    return ax


def _name_lines(ax: "Axes", place: Floats, lines: dict[str, Floats], color: str) -> None:
    """Names at the peaks, largest first; one that would cover another is left out."""
    height = float(np.diff(ax.get_ylim())[0])
    taken: list[tuple[float, float]] = []
    for name, line in sorted(lines.items(), key=lambda item: -np.abs(item[1]).max()):
        peak = int(np.argmax(np.abs(line)))
        x, y = float(place[peak]), float(line[peak])
        if any(abs(x - other) < 0.3 and abs(y - level) < 0.06 * height for other, level in taken):
            continue
        taken.append((x, y))
        right = x > 0.7
        ax.annotate(
            name,
            (x, y),
            xytext=(-3 if right else 3, 3 if y > 0 else -4),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom" if y > 0 else "top",
            color=color,
            fontsize=7.5,
        )
