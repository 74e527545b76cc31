"""Measure how far the draws of class frequencies are from those of much longer chains; write
docs/explanation/shift.md: part of `make verify`.
"""

import argparse
from itertools import product
from typing import Any

import numpy as np
from label_shift import labels
from numpy.typing import NDArray
from pages import rounded, save_parts, table
from scipy.special import softmax
from studies import about, rows_of_jobs, run_study

from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior
from bayescal.shift.counts import ShiftCounts, default_cells

Floats = NDArray[np.float64]

SEED = 21
#: Numbers of classes, labelled rows and rows of the target.
SIZES = (
    *((2, *each) for each in ((100, 100), (500, 500), (2000, 2000), (500, 1000), (300, 900), (200, 2000))),
    *((2, *each) for each in ((100, 10_000), (300, 30_000), (1000, 100_000), (5000, 10**6), (10**6, 10**8))),
    *((5, *each) for each in ((2000, 2000), (500, 5000), (200, 20_000))),
)
#: Distances of the means of classes from the origin, each along an axis of its own, so that means are sqrt(2) times as
#: far apart, in standard deviations; and frequencies of the last class in the target.
DISTANCES, FREQUENCIES = (0.3, 0.5, 1.5, 3.0), (0.5, 0.15, 0.01)
#: Sweeps of the long chains: a multiple of the default, and at least a number, for two classes and for several.
LONGER, LONGEST, LONGEST_OF_SEVERAL = 5, 400, 100
#: The largest targets are drawn as counts, with cell probabilities estimated from so many rows of each class.
SIMULATED = 200_000


class LongChains(ClassPriorPosterior):
    """The same posterior from longer chains."""

    @property
    def sweeps(self) -> int:
        """Number of sweeps."""
        return max(LONGER * super().sweeps, LONGEST if self.counts.source.shape[0] == 2 else LONGEST_OF_SEVERAL)


def stated(label: NDArray[np.int64], n_classes: int, distance: float, rng: np.random.Generator) -> Floats:
    """Draw the features of rows with these labels; return calibrated probabilities for equal frequencies."""
    noise = rng.standard_normal((len(label), n_classes))
    return softmax(distance * (noise + distance * np.eye(n_classes)[label]), axis=1)


def counts_of(
    n_classes: int, n_source: int, n_target: int, distance: float, share: Floats, rng: np.random.Generator
) -> ShiftCounts:
    """Count the cells of Gaussian classes; the source has equal frequencies, and the target has those of `share`."""
    y = labels(min(n_source, SIMULATED), n_classes, rng)
    p = stated(y, n_classes, distance, rng)
    cells = default_cells(n_classes, lambda: p)
    source = np.stack([np.bincount(cells.of_rows(p[y == k]), minlength=len(cells)) for k in range(n_classes)])
    target = np.zeros(len(cells), np.int64)
    for k, n in enumerate(rng.multinomial(n_target, share)):
        simulated = stated(np.full(min(n, SIMULATED), k), n_classes, distance, rng)
        of_class = np.bincount(cells.of_rows(simulated), minlength=len(cells))
        target += of_class if n <= SIMULATED else rng.multinomial(n, of_class / SIMULATED)
    if n_source > SIMULATED:
        source = np.stack([rng.multinomial(n_source // n_classes, each / each.sum()) for each in source])
    return ShiftCounts(source, target, cells)


def compared(job: tuple[int, int, int, int, int]) -> list[dict[str, Any]]:
    """Compare the frequency of the last class in all settings of one size; distances are in standard deviations."""
    n_classes, n_source, n_target, draws, repeats = job
    apart, ratio, tails, sweeps, fast = [], [], [], [], []
    for at, (distance, frequency, repeat) in enumerate(product(DISTANCES, FREQUENCIES, range(repeats))):
        share = np.full(n_classes, (1 - frequency) / (n_classes - 1))
        share[-1] = frequency
        seeds = np.random.SeedSequence([SEED, n_classes, n_source, n_target, at, repeat]).spawn(3)
        counts = counts_of(n_classes, n_source, n_target, distance, share, np.random.default_rng(seeds[0]))
        short = ClassPriorPosterior(counts)
        own, long = (
            each.sample(draws, rng=seed)[:, -1]
            for each, seed in zip((short, LongChains(counts)), seeds[1:], strict=True)
        )
        sd = long.std()
        apart.append(float((own.mean() - long.mean()) / sd))
        ratio.append(float(own.std() / sd))
        low, high = np.quantile(long, [0.025, 0.975])
        tails.append(float(((own < low) | (own > high)).mean()))
        sweeps.append(short.sweeps)
        fast.append(not short.slow)
    without = [each for each, known in zip(apart, fast, strict=True) if known]
    row = {
        "n_classes": n_classes,
        "n_source": n_source,
        "n_target": n_target,
        "apart": [float(np.sqrt(np.mean(np.square(apart)))), max(apart, key=abs)],
        "without_remark": max(without, key=abs) if without else None,
        "ratio": [min(ratio), max(ratio)],
        "outside": [min(tails), max(tails)],
        "sweeps": [min(sweeps), max(sweeps)],
    }
    return [row]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compare all sizes; with --quick, one of each number of classes."""
    chosen = [SIZES[2], SIZES[-3]] if options.quick else SIZES
    jobs = [(*size, options.draws, options.repeats) for size in chosen]
    rows = rows_of_jobs(compared, jobs, workers=options.workers)
    return rounded(about(SEED, {"draws": options.draws, "repeats": options.repeats, "rows": rows}))


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
            "" if row["without_remark"] is None else f"{row['without_remark']:+.3f}",
            "{:.3f} to {:.3f}".format(*row["ratio"]),
            "{:.3f} to {:.3f}".format(*row["outside"]),
        ]
        for row in numbers["rows"]
    ]
    head = (
        "Classes: | Labelled rows: | Rows of the target: | Sweeps: | Means apart, root mean square: "
        "| Means apart, largest: | Without a remark: | Ratio of standard deviations: "
        "| Outside the interval of long chains:"
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
        repeats=(3, 1),
        draws=(2000, 300),
    )
