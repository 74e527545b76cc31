"""Draw the intervals of 40 test sets of a calibrated classifier, by two methods; part of `make pictures`."""

import argparse
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.verify.methods import bootstrap_ece

PICTURE = Path(__file__).resolve().parents[1] / "_static" / "forty_test_sets.png"
SETS, ROWS, PROB, SEED = 40, 2000, 0.95, 1
GREY, ORANGE, BLUE = "#808080", "#D55E00", "#0072B2"  # Okabe and Ito


class Intervals(NamedTuple):
    """Intervals of all test sets, shape (SETS, 2), by a bootstrap of the plug-in ECE and by the default model."""

    bootstrap: np.ndarray
    posterior: np.ndarray


def measure() -> Intervals:
    """Draw test sets of an exactly calibrated classifier: uniform probabilities, and labels that follow them."""
    bootstrap, posterior = np.empty((2, SETS, 2))
    for i, rng in enumerate(np.random.default_rng(SEED).spawn(SETS)):
        p = rng.random(ROWS)
        counts = bc.BinnedCounts.from_arrays(rng.random(ROWS) < p, p)
        bootstrap[i] = bootstrap_ece(counts, 4000, rng=rng).interval(PROB)
        posterior[i] = bc.evaluate_counts(counts, rng=rng).ece.interval(PROB)
    return Intervals(bootstrap, posterior)


def draw(intervals: Intervals) -> Figure:
    """Draw one panel per method, with one bar per test set."""
    figure = Figure(figsize=(7.2, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _panel(left, intervals.bootstrap, "Bootstrap of the usual ECE", ORANGE)
    _panel(right, intervals.posterior, "bayescal", BLUE)
    left.set_ylabel(f"{SETS} test sets of {ROWS} rows each")
    figure.supxlabel(f"ECE: {100 * PROB:g} % intervals", fontsize=10)
    figure.suptitle("A perfectly calibrated classifier: its ECE is 0", fontsize=12)
    return figure


def _panel(ax: Axes, intervals: np.ndarray, method: str, color: str) -> None:
    low, high = intervals.T
    contained = int((low <= 0).sum())
    ax.hlines(np.arange(SETS), low, high, color=color, linewidth=2.4)
    ax.axvline(0, color="black", linewidth=1.2)
    ax.set_title(f"{method}:\n{contained} of {SETS} intervals contain 0", fontsize=11, color=color)
    ax.set(xlim=(-0.002, None), ylim=(-1, SETS + 3), yticks=[])
    ax.annotate("true ECE", (0, SETS + 0.5), (4, 0), textcoords="offset points", fontsize=9)
    ax.spines[["top", "right", "left"]].set_visible(False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write nothing")
    quick = parser.parse_args().quick
    # without date and version, so that equal pictures are equal files
    draw(measure()).savefig(io.BytesIO() if quick else PICTURE, dpi=110, metadata={"Software": None})
