"""Measure intervals of the ECE of many groups without pooling, with partial and with complete pooling; write
docs/explanation/partial_pooling.md: part of `make coverage`.
"""

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import expit, logit
from scipy.stats import rankdata
from studies import FEWER_DRAWS, errors_near, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, true_curve
from bayescal.results.joint import p_smallest
from bayescal.verify.coverage import contains
from bayescal.verify.methods import TOLERANCE

Floats = NDArray[np.float64]

SEED, PROB, BINS = 23, 0.95, 15
#: Settings with these keys have groups of different kinds, and this many times as many repeats as the others.
UNLIKE, TIMES = "LMNOPQRSTUVWXYZ", 3
#: Quantiles of a population from which truths are computed.
QUANTILES = 15_000
TAILS = [(1 - PROB) / 2, 0.5, (1 + PROB) / 2]
METHODS = {"no pooling": "none", "partial pooling": "partial", "complete pooling": "complete"}
COLUMNS = (
    *("setting", "groups", "method", "coverage", "above", "width", "rmse", "correlation"),
    *("found", "stated", "sd_truth", "sd_median", "sd_covered", "repeats"),
)

#: From the logits of the common curve, the number of the group and a generator to the logits of the group.
Deviation = Callable[[Floats, int, np.random.Generator], Floats]


@dataclass(frozen=True)
class Setting:
    """Groups with known truths.

    Parameters
    ----------
    key, words : str
        Letter and description.
    rows : tuple of int
        Rows of each group.
    curve : (str, float or None)
        Common curve.
    deviation : callable
        How the curve of a group differs from the common one.
    populations : tuple of str, default ("flat",)
        Populations of the groups, in turn.
    """

    key: str
    words: str
    rows: tuple[int, ...]
    curve: tuple[str, float | None]
    deviation: Deviation
    populations: tuple[str, ...] = ("flat",)


def drift(intercept: float, slope: float = 0.0) -> Deviation:
    """Normal deviations of intercept and slope."""

    def deviated(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
        return eta + intercept * rng.standard_normal() + slope * rng.standard_normal() * eta

    return deviated


def same(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
    """No deviation."""
    return eta


def two_shifted(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
    """Two groups are shifted by 1."""
    return eta + (g < 2)


def half_distorted(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
    """Every other group has a temperature of 2."""
    return eta / 2 if g % 2 else eta


def own_board(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
    """Errors of 0.06 in every bin, of random sign; only for the flat population, whose bins are equal parts."""
    part = (np.arange(len(eta)) * BINS) // len(eta)
    return logit(np.clip(expit(eta) + 0.06 * rng.choice([-1, 1], BINS)[part], 1e-6, 1 - 1e-6))


def stretches(size: float, n_groups: int) -> Deviation:
    """Errors of one size in a stretch of scores, another one in each group, upwards and downwards in turn."""

    def deviated(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
        p, half = expit(eta), max(1 / n_groups, 0.12) / 2 + 0.04
        inside = np.abs(p - (g + 0.5) / n_groups) < half
        return logit(np.clip(p + size * (-1) ** g * inside, 0.005, 0.995))

    return deviated


def half_at(temperature: float) -> Deviation:
    """Every other group has this temperature."""
    return lambda eta, g, rng: eta / temperature if g % 2 else eta


def opposite(shift: float) -> Deviation:
    """Groups are shifted upwards and downwards in turn."""
    return lambda eta, g, rng: eta + (shift if g % 2 else -shift)


def one_shifted(shift: float) -> Deviation:
    """The first group is shifted."""
    return lambda eta, g, rng: eta + shift * (g == 0)


def waves(size: float, periods: int, n_groups: int) -> Deviation:
    """Sine waves whose phase differs between the groups."""

    def deviated(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
        p = expit(eta)
        wave = size * np.sin(2 * np.pi * (periods * p + g / n_groups))
        return logit(np.clip(p + wave, 0.005, 0.995))

    return deviated


def six_kinds(eta: Floats, g: int, rng: np.random.Generator) -> Floats:
    """Errors of six kinds in turn: none, a temperature, a shift, a stretch, waves, random signs."""
    each = (same, half_at(2.0), opposite(0.5), stretches(0.18, 6), waves(0.08, 2, 6), own_board)
    return each[g % 6](eta, (1, 1, 1, 2, 1, 1)[g % 6], rng)


def sizes(least: int, most: int, n_groups: int) -> tuple[int, ...]:
    """Numbers of rows with equal ratios."""
    return tuple(np.geomspace(least, most, n_groups).round().astype(int).tolist())


CALIBRATED, DISTORTED = ("calibrated", None), ("temperature", 1.5)
SETTINGS = (
    Setting(
        "A", "20 groups of 200 rows, temperature 1.5, intercepts vary by 0.2", (200,) * 20, DISTORTED, drift(0.2)
    ),
    Setting("B", "20 groups of 200 rows, calibrated", (200,) * 20, CALIBRATED, same),
    Setting("C", "50 groups of 100 rows, calibrated but 2, shifted by 1", (100,) * 50, CALIBRATED, two_shifted),
    Setting("D", "10 groups of 1000 rows, intercepts, slopes vary by 0.3", (1000,) * 10, CALIBRATED, drift(0.3, 0.3)),
    Setting(
        "E",
        "40 groups of 20 to 2000 rows, wave, intercepts vary by 0.15",
        tuple(np.geomspace(20, 2000, 40).round().astype(int).tolist()),
        ("wave", 0.05),
        drift(0.15),
    ),
    Setting("F", "5 groups of 100 rows, intercepts vary by 0.3", (100,) * 5, CALIBRATED, drift(0.3)),
    Setting(
        "G",
        "100 groups of 50 rows, confidences near 1, temperature 1.5, slopes vary by 0.2",
        (50,) * 100,
        ("temperature", 1.5),
        drift(0.0, 0.2),
        ("top",),
    ),
    Setting("H", "30 groups of 300 rows, half with temperature 2", (300,) * 30, CALIBRATED, half_distorted),
    Setting("I", "20 groups of 500 rows, errors of 0.06 with random signs in each", (500,) * 20, CALIBRATED, own_board),
    Setting("J", "20 groups of 20 rows, intercepts vary by 0.5", (20,) * 20, CALIBRATED, drift(0.5)),
    Setting(
        "K",
        "20 groups of 300 rows, populations in turn, temperature 1.4, intercepts vary by 0.2",
        (300,) * 20,
        ("temperature", 1.4),
        drift(0.2),
        ("top", "flat", "rare"),
    ),
    Setting("L", "6 groups of 400 rows, errors of 0.2 in own stretches", (400,) * 6, CALIBRATED, stretches(0.2, 6)),
    Setting(
        "M", "6 groups of 2000 rows, errors of 0.15 in own stretches", (2000,) * 6, CALIBRATED, stretches(0.15, 6)
    ),
    Setting("N", "3 groups of 400 rows, errors of 0.2 in own stretches", (400,) * 3, CALIBRATED, stretches(0.2, 3)),
    Setting(
        "O", "20 groups of 300 rows, errors of 0.2 in own stretches", (300,) * 20, CALIBRATED, stretches(0.2, 20)
    ),
    Setting(
        "P",
        "6 groups of 50 to 5000 rows, errors of 0.2 in own stretches",
        sizes(50, 5000, 6),
        CALIBRATED,
        stretches(0.2, 6),
    ),
    Setting("Q", "6 groups of 400 rows, half with temperature 2", (400,) * 6, CALIBRATED, half_at(2.0)),
    Setting("R", "20 groups of 200 rows, half with temperature 2", (200,) * 20, CALIBRATED, half_at(2.0)),
    Setting("S", "6 groups of 2000 rows, half with temperature 1.4", (2000,) * 6, CALIBRATED, half_at(1.4)),
    Setting("T", "6 groups of 400 rows, shifted by 0.5 and -0.5", (400,) * 6, CALIBRATED, opposite(0.5)),
    Setting("U", "6 groups of 400 rows, calibrated but 1, shifted by 1", (400,) * 6, CALIBRATED, one_shifted(1.0)),
    Setting("V", "20 groups of 500 rows, calibrated but 1, shifted by 0.4", (500,) * 20, CALIBRATED, one_shifted(0.4)),
    Setting("W", "6 groups of 400 rows, a wave of 0.1 with own phases", (400,) * 6, CALIBRATED, waves(0.1, 1, 6)),
    Setting(
        "X", "6 groups of 1000 rows, two waves of 0.08 with own phases", (1000,) * 6, CALIBRATED, waves(0.08, 2, 6)
    ),
    Setting("Y", "12 groups of 50 to 5000 rows, errors of six kinds", sizes(50, 5000, 12), CALIBRATED, six_kinds),
    Setting("Z", "6 groups of 400 rows, temperature 1.5 in all", (400,) * 6, DISTORTED, same),
)  # fmt: skip


@cache
def quantiles(population: str) -> Floats:
    """Confidences that represent equal shares of a population."""
    return POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)


def ece_of_bins(confidence: Floats, mean: Floats) -> float:
    """ECE of confidences with equal weights and known probabilities."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(place, mean - confidence, BINS)).sum() / len(confidence))


def simulated(setting: Setting, rng: np.random.Generator) -> tuple[dict[int, bc.BinnedCounts], Floats]:
    """Draw truths and counts of all groups: rows are drawn from the quantiles of the population."""
    curve, counts, truth = true_curve(*setting.curve), {}, []
    for g, n_rows in enumerate(setting.rows):
        confidence = quantiles(setting.populations[g % len(setting.populations)])
        mean = expit(setting.deviation(logit(np.clip(curve(confidence), 1e-9, 1 - 1e-9)), g, rng))
        truth.append(ece_of_bins(confidence, mean))
        rows = rng.integers(0, QUANTILES, n_rows)
        outcome = rng.random(n_rows) < mean[rows]
        counts[g] = bc.BinnedCounts.from_arrays(outcome, confidence[rows], bins=BINS)
    return counts, np.array(truth)


def correlation(estimate: Floats, truth: Floats) -> float:
    """Spearman's correlation; NaN if all truths are equal."""
    if np.ptp(truth) < TOLERANCE or np.ptp(estimate) < TOLERANCE:
        return float("nan")
    return float(np.corrcoef(rankdata(estimate), rankdata(truth))[0, 1])


def scored(drawn: Floats, truth: Floats) -> dict[str, float]:
    """Compare joint draws (n_draws, n_groups) with the truths; equal truths share being the worst."""
    low, _, high = np.quantile(drawn, TAILS, axis=0)
    worst = p_smallest(-drawn)
    largest = truth > truth.max() - TOLERANCE
    sd = drawn.std(axis=1)
    sd_low, sd_median, sd_high = np.quantile(sd, TAILS)
    return {
        "coverage": float(contains(low, high, truth).mean()),
        "above": float(np.mean(truth > high + TOLERANCE)),
        "width": float((high - low).mean()),
        "rmse": float(np.mean((drawn.mean(axis=0) - truth) ** 2)),
        "correlation": correlation(drawn.mean(axis=0), truth),
        "found": float(largest[worst.argmax()] / largest.sum()),
        "stated": float(worst.max()),
        "sd_truth": float(truth.std()),
        "sd_median": float(sd_median),
        "sd_covered": float(contains(sd_low, sd_high, truth.std())),
    }


def of_setting(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return the means over data sets, one row per method."""
    key, repeats, draws, rng = job
    repeats *= TIMES if key in UNLIKE else 1
    setting = next(each for each in SETTINGS if each.key == key)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for _ in range(repeats):
        counts, truth = simulated(setting, rng)
        seed = int(rng.integers(2**63))
        for name, pooling in METHODS.items():
            grouped = bc.evaluate_counts(counts, pooling=pooling, draws=draws, rng=seed, progress=False)
            found[name].append(scored(grouped.draws("ece").values, truth))
    rows = []
    for name, each in found.items():
        values = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
        values["rmse"] = float(np.sqrt(values["rmse"]))
        about = {"setting": setting.key, "groups": len(setting.rows), "method": name}
        rows.append(about | values | {"repeats": len(each)})
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all settings; with --quick, two of them."""
    os.environ.setdefault("BAYESCAL_COMPILE", "always")  # groups in compiled form, however few there are
    keys = ["B", "F", "N"] if options.quick else [setting.key for setting in SETTINGS]
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    jobs = jobs_of([(key,) for key in keys], options.repeats, options.draws, rng=np.random.default_rng(SEED))
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_setting, jobs, workers=options.workers))


def overall(rows: Iterable[dict[str, Any]]) -> str:
    """One line per method and part of the settings."""
    rows, lines = list(rows), []
    plain = {row["setting"]: row["width"] for row in rows if row["method"] == "no pooling"}
    for part, inside in (("A to K", False), ("L to Z", True)):
        for method in dict.fromkeys(row["method"] for row in rows):
            of = [row for row in rows if row["method"] == method and (row["setting"] in UNLIKE) == inside]
            if not of:
                continue
            covered = [row["coverage"] for row in of]
            worst = min(of, key=lambda row: row["coverage"])
            relative = np.mean([row["width"] / plain[row["setting"]] for row in of])
            rmse = np.mean([row["rmse"] for row in of])
            numbers = [f"{np.mean(covered):.3f}", f"{relative:.2f}", f"{rmse:.4f}"]
            lines.append([part, method, f"{min(covered):.3f} ({worst['setting']})", *numbers])
    return table("Settings | Groups | Worst coverage: | Mean: | Width, relative: | RMSE:", lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    partial = [row for row in rows if row["method"] == "partial pooling"]
    form = "{setting}|{method}|{coverage:.3f}|{above:.3f}|{width:.4f}|{rmse:.4f}|"
    form += "{correlation:.2f}|{found:.2f}|{stated:.2f}"
    head = (
        "Setting | Groups | Coverage: | Truth above: | Width: | RMSE: | Rank correlation: | Worst found: | As stated:"
    )
    (error,) = errors_near(PROB, numbers["repeats"])
    return {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {numbers['repeats']} repeats of each setting, and {TIMES} times as many "
            f"of L to Z, {numbers['draws']} draws, seed {numbers['seed']}.\n\n"
            + "\n".join(f"* {each.key}: {each.words}" for each in SETTINGS)
            + f"\n\nGroups of one repeat share the curve of all rows, so the standard error of a coverage lies between "
            f"those for independent groups and for one group per repeat, which is {error} near {PROB:g}.\n"
        ),
        "overall": overall(rows),
        "settings": table(head, cells(rows, form)),
        "heterogeneity": table(
            "Setting | Truth: | No pooling: | Partial pooling: | Interval contains it:",
            [
                [
                    *(r["setting"], f"{r['sd_truth']:.4f}", f"{plain['sd_median']:.4f}"),
                    *(f"{r['sd_median']:.4f}", f"{r['sd_covered']:.2f}"),
                ]
                for r in partial
                for plain in rows
                if plain["setting"] == r["setting"] and plain["method"] == "no pooling"
            ],
        ),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="pooling.json",
        page="partial_pooling.md",
        shown=("overall", "settings", "heterogeneity"),
        repeats=(34, 2),
        draws=FEWER_DRAWS,
    )
