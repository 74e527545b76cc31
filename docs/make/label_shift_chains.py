"""Measure how far the draws of class frequencies are from those of much longer chains; write
docs/explanation/shift.md: part of `make verify`.
"""

import argparse
from typing import Any

import numpy as np
from label_shift import labels
from numpy.typing import NDArray
from pages import rounded, save_parts, table
from scipy.special import softmax
from studies import about, rows_of_jobs, run_study

from bayescal.data.shifted import ShiftedRows
from bayescal.posterior.class_priors import ClassPriorPosterior
from bayescal.stats.shift_cells import default_cells
from bayescal.stats.shift_counts import ShiftCounts

Floats = NDArray[np.float64]

SEED = 21
#: Classes, labelled rows and rows of the target.
SIZES = (
    *((2, *each) for each in ((2000, 2000), (500, 500), (100, 100), (200, 2000), (100, 10_000), (5000, 1_000_000))),
    *((5, *each) for each in ((2000, 2000), (500, 5000), (200, 20_000))),
)
#: Distances of the means of classes from the origin, each along an axis of its own, so that means are sqrt(2) times as
#: far apart, in standard deviations; and frequencies of the last class in the target.
DISTANCES, FREQUENCIES = (0.5, 1.5, 3.0), (0.5, 0.15, 0.01)
#: Sweeps of the long chains, relative to the default.
LONGER = {2: 20, 5: 5}


class LongChains(ClassPriorPosterior):
    """The same posterior from longer chains."""

    @property
    def sweeps(self) -> int:
        """Number of sweeps."""
        return LONGER[len(self.counts.source)] * super().sweeps


def counts_of(n_classes: int, n_source: int, n_target: int, distance: float, frequency: float) -> ShiftCounts:
    """Count the cells of Gaussian classes; the source has equal frequencies."""
    rng = np.random.default_rng([SEED, n_source, n_target])
    share = np.full(n_classes, (1 - frequency) / (n_classes - 1))
    share[-1] = frequency
    y, y_target = labels(n_source, n_classes, rng), rng.choice(n_classes, n_target, p=share)
    x = (rng.standard_normal((len(each), n_classes)) for each in (y, y_target))
    p, p_target = (
        softmax(distance * (noise + distance * np.eye(n_classes)[label]), axis=1)
        for noise, label in zip(x, (y, y_target), strict=True)
    )
    rows = ShiftedRows.read(y, p, p_target)
    return ShiftCounts.from_rows(rows, default_cells(n_classes, lambda: rows.source))


def compared(job: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """Compare the frequency of the last class in all settings of one size; distances are in standard deviations."""
    n_classes, n_source, n_target, draws = job
    apart, ratio, tails, sweeps = [], [], [], []
    for distance in DISTANCES:
        for frequency in FREQUENCIES:
            counts = counts_of(n_classes, n_source, n_target, distance, frequency)
            short = ClassPriorPosterior(counts)
            own, long = (each.sample(draws, rng=SEED)[:, -1] for each in (short, LongChains(counts)))
            sd = long.std()
            apart.append(float((own.mean() - long.mean()) / sd))
            ratio.append(float(own.std() / sd))
            low, high = np.quantile(long, [0.025, 0.975])
            tails.append(float(((own < low) | (own > high)).mean()))
            sweeps.append(short.sweeps)
    row = {
        "n_classes": n_classes,
        "n_source": n_source,
        "n_target": n_target,
        "apart": [float(np.sqrt(np.mean(np.square(apart)))), max(apart, key=abs)],
        "ratio": [min(ratio), max(ratio)],
        "outside": [min(tails), max(tails)],
        "sweeps": [min(sweeps), max(sweeps)],
    }
    return [row]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compare all sizes; with --quick, one of each number of classes."""
    chosen = [SIZES[0], SIZES[-3]] if options.quick else SIZES
    rows = rows_of_jobs(compared, [(*size, options.draws) for size in chosen], workers=options.workers)
    return rounded(about(SEED, {"draws": options.draws, "rows": rows}))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table of the page."""
    lines = [
        [
            row["n_classes"],
            row["n_source"],
            row["n_target"],
            "{} to {}".format(*row["sweeps"]),
            "{:.3f}".format(row["apart"][0]),
            "{:+.3f}".format(row["apart"][1]),
            "{:.3f} to {:.3f}".format(*row["ratio"]),
            "{:.3f} to {:.3f}".format(*row["outside"]),
        ]
        for row in numbers["rows"]
    ]
    head = (
        "Classes: | Labelled rows: | Rows of the target: | Sweeps: | Means apart, root mean square: "
        "| Means apart, largest: | Ratio of standard deviations: | Outside the interval of long chains:"
    )
    return {"label_chains": table(head, lines)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="label_shift_chains.json",
        page="shift.md",
        save=save_parts,
        shown=("label_chains",),
        command="make verify",
        repeats=(1, 1),
        draws=(5000, 300),
    )
