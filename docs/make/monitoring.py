"""Measure false alarms and delays of the evidence of a monitor, and how often its confidence sequence misses the ECE;
write docs/explanation/monitoring.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from scipy.special import chdtrc
from studies import about, errors_near, jobs_of, rows_of_jobs, run_study

from bayescal.analyses.one import evaluate_one
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve, true_ece
from bayescal.monitoring.statistics import (
    Mixture,
    calibration_e_values,
    change_e_values,
    ece_intervals,
    hypergeometric_scores,
    log_marginals,
    score_scale,
)
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]

SEED, LEVEL, BINS = 18, 0.05, 15
EDGES = np.linspace(0, 1, BINS + 1)
MIDPOINTS = (EDGES[:-1] + EDGES[1:]) / 2
REFERENCE = 10_000
#: Rows of a stream without a change; rows before and after a change.
LENGTH, BEFORE, AFTER = 100_000, 10_000, 30_000
PROCESSES = ("calibration", "change")
RIVALS = ("chi-squared", "Bonferroni")
#: Streams and windows that are held in memory at once.
STREAMS, BLOCK = 20, 25
CALIBRATED, TEMPERATURE = ("calibrated",), ("temperature", 1.5)
#: Populations, curves and batches of streams without a change.
UNCHANGED = (
    *((population, CALIBRATED, batch) for population in ("flat", "top") for batch in (100, 1000)),
    ("rare", CALIBRATED, 1000),
    *((population, TEMPERATURE, 1000) for population in ("flat", "top")),
    ("top", TEMPERATURE, 100),
)
#: Changes: the curves before and after.
CHANGES = (
    (CALIBRATED, ("shift", 0.3)),
    (CALIBRATED, ("shift", 0.1)),
    (CALIBRATED, ("temperature", 1.5)),
    (CALIBRATED, ("one bad bin", 0.3)),
)
#: Rows per window of the confidence sequence, its windows, and the rows at which it is compared with a posterior.
WINDOW, WINDOWS, LOOKS = 500, 64, (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
SEQUENCES = (CALIBRATED, TEMPERATURE, ("wave", 0.05), ("one bad bin", 0.3))
#: The posterior is computed for one in this many streams.
ONE_IN = 5

ALARM_COLUMNS = ("population", "curve", "batch", "method", "alarms", "streams")
DELAY_COLUMNS = ("population", "change", "batch", "method", "median", "upper", "before", "never", "streams")
SEQUENCE_COLUMNS = ("population", "curve", "truth", "method", "missed", "low", "width_2000", "width_32000", "streams")


def counted(
    shape: tuple[int, int, int], population: str, curve: Any, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Rows, outcomes 1 and sums of confidences by window, stream and bin; `shape` ends in the rows of a window."""
    c = POPULATIONS[population].sample(int(np.prod(shape)), rng=rng)
    z = rng.random(len(c)) < curve(c)
    windows, streams, rows = shape
    at = np.repeat(np.arange(windows * streams) * BINS, rows) + np.minimum((c * BINS).astype(np.int64), BINS - 1)
    size = windows * streams * BINS
    n, k, sums = (np.bincount(at, w, size).reshape(windows, streams, BINS) for w in (None, z, c))
    return n.astype(float), k, sums


def evidence(counts: tuple[Floats, Floats, Floats], reference: tuple[Floats, ...], rng: Any) -> dict[str, Floats]:
    """Log values of both processes, shape (n_windows, n_streams)."""
    n, k, sums = counts
    mean = sums / np.maximum(n, 1)
    first_n, first_k, first_sums = (each[0] for each in reference)
    centre = np.where(first_n > 0, first_sums / np.maximum(first_n, 1), MIDPOINTS)
    all_n, all_k = first_n + n.cumsum(axis=0), first_k + k.cumsum(axis=0)
    before = all_n - n
    z, both = np.zeros_like(n), (n > 0) & (before > 0)
    values: dict[str, list[Floats]] = {name: [] for name in PROCESSES}
    mixtures = dict.fromkeys(PROCESSES, Mixture.start(*n.shape[1:]))
    for part in (slice(i, i + BLOCK) for i in range(0, len(n), BLOCK)):
        live = both[part]
        of = (each[part][live] for each in (k, n, all_k, all_n))
        z[part][live] = hypergeometric_scores(*of, rng.random(int(live.sum())))
        scale = np.where(live, score_scale(n[part], before[part], centre), 0.0)
        found = {
            "calibration": calibration_e_values(n[part], k[part], mean[part], MIDPOINTS),
            "change": change_e_values(z[part], scale, centre),
        }
        for name in PROCESSES:
            mixtures[name], block = mixtures[name].after(found[name])
            values[name].append(block)
    return {name: np.concatenate(blocks) for name, blocks in values.items()}


def alarms(counts: tuple[Floats, Floats, Floats], reference: tuple[Floats, ...], rng: Any) -> dict[str, Floats]:
    """Number of windows at the end of which each method raises its first alarm, infinite without one; by stream."""
    n, k, sums = counts
    reached = {name: log_e >= np.log(1 / LEVEL) for name, log_e in evidence(counts, reference, rng).items()}
    mean = sums / np.maximum(n, 1)
    variance = n * mean * (1 - mean)
    squares = np.divide((k - sums) ** 2, variance, out=np.zeros_like(n), where=variance > 0).sum(axis=-1)
    p_value = chdtrc(np.maximum((n > 0).sum(axis=-1), 1), squares)
    reached |= {"chi-squared": p_value < LEVEL, "Bonferroni": p_value < LEVEL / len(n)}
    return {name: np.where(hit.any(axis=0), hit.argmax(axis=0) + 1.0, np.inf) for name, hit in reached.items()}


def in_parts(streams: int) -> Iterator[int]:
    """Sizes of groups of streams."""
    yield from (min(STREAMS, streams - i) for i in range(0, streams, STREAMS))


def of_unchanged(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Share of streams with a false alarm."""
    population, named, batch, streams, length, rng = job
    curve, found = true_curve(*named), []
    for size in in_parts(streams):
        reference = counted((1, size, REFERENCE), population, curve, rng)
        found.append(alarms(counted((length // batch, size, batch), population, curve, rng), reference, rng))
    methods = (*PROCESSES, *RIVALS) if named == CALIBRATED else ("change",)
    cell = {"population": population, "curve": str(curve), "batch": batch, "streams": streams}
    shares = {name: np.isfinite(np.concatenate([each[name] for each in found])).mean() for name in methods}
    return [{**cell, "method": name, "alarms": float(share)} for name, share in shares.items()]


def of_change(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Rows from the change to the end of the window with the alarm, for streams without an alarm before."""
    population, (named, after), batch, streams, rng = job
    old, new = true_curve(*named), true_curve(*after)
    found = []
    for size in in_parts(streams):
        reference = counted((1, size, REFERENCE), population, old, rng)
        parts = [((BEFORE // batch, size, batch), old), ((AFTER // batch, size, batch), new)]
        stream = [counted(shape, population, curve, rng) for shape, curve in parts]
        joined = tuple(np.concatenate(each) for each in zip(*stream, strict=True))
        found.append(alarms(joined, reference, rng))
    rows = []
    for name in (*PROCESSES, "Bonferroni"):
        delay = np.concatenate([each[name] for each in found]) * batch - BEFORE
        late = delay[delay > 0]
        median, upper = (float(np.quantile(late, q, method="higher")) for q in (0.5, 0.9))
        shares = {"before": float((delay <= 0).mean()), "never": float(np.isinf(delay).mean())}
        cell = {"population": population, "change": f"{old} to {new}", "batch": batch, "streams": streams}
        rows.append({**cell, "method": name, "median": _or_none(median), "upper": _or_none(upper), **shares})
    return rows


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


@cache
def accuracies(population: str, curve: Any) -> Floats:
    """Accuracies of the bins of a population, from 300 000 quantiles."""
    c = POPULATIONS[population].quantile((np.arange(300_000) + 0.5) / 300_000)
    at = np.minimum((c * BINS).astype(np.int64), BINS - 1)
    sums, n = np.bincount(at, curve(c), BINS), np.bincount(at, minlength=BINS)
    return np.divide(sums, n, out=np.zeros(BINS), where=n > 0)


def of_sequence(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """How often any interval misses the ECE, and widths; the posterior is looked at seven times, the sequence 64."""
    population, named, streams, draws, rng = job
    curve = true_curve(*named)
    n, k, sums = (x.cumsum(axis=0) for x in counted((WINDOWS, streams, WINDOW), population, curve, rng))
    mean = np.divide(sums, n, out=np.zeros_like(n), where=n > 0)
    low, high = ece_intervals(n, k, mean, log_marginals(n, k, (EDGES[:-1] + EDGES[1:]) / 2, mean), LEVEL)
    truth = (n / n.sum(axis=-1, keepdims=True) * np.abs(accuracies(population, curve) - mean)).sum(axis=-1)
    ends = {"confidence sequence": (low, high, (truth < low) | (truth > high))}
    exact = true_ece(population, curve, bins=BINS)
    looks = [rows // WINDOW - 1 for rows in LOOKS]
    shape = (WINDOWS, -(-streams // ONE_IN))
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    for i in range(shape[1]):
        data = simulate(max(LOOKS), population=population, curve=curve, rng=rng)
        for at, rows in zip(looks, LOOKS, strict=True):
            counts = BinnedCounts.from_arrays(data.outcome[:rows], data.confidence[:rows], bins=BINS)
            low[at, i], high[at, i] = evaluate_one(counts, draws=draws, rng=rng).ece.interval(1 - LEVEL)
    ends["shrinkage posterior"] = (low, high, (exact < low - 1e-9) | (exact > high + 1e-9))
    return [
        {
            "population": population,
            "curve": str(curve),
            "truth": exact,
            "method": name,
            "missed": float(missed.any(axis=0).mean()),
            "low": float(low[-1].mean()),
            **{f"width_{rows}": float((high - low)[rows // WINDOW - 1].mean()) for rows in (2000, 32_000)},
            "streams": low.shape[1],
        }
        for name, (low, high, missed) in ends.items()
    ]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, a few streams of some cells."""
    rng, streams = np.random.default_rng(SEED), options.repeats
    length = 10_000 if options.quick else LENGTH
    changes = [(p, change, batch) for p in ("flat", "top") for change in CHANGES for batch in (250, 1000)]
    sequences = [(p, curve) for p in ("flat", "top") for curve in SEQUENCES]
    unchanged, changes, sequences = (
        list(all_cells)[:: 5 if options.quick else 1] for all_cells in (UNCHANGED, changes, sequences)
    )
    parts = {
        "alarms": (ALARM_COLUMNS, of_unchanged, jobs_of(unchanged, streams, length, rng=rng)),
        "delays": (DELAY_COLUMNS, of_change, jobs_of(changes, streams, rng=rng)),
        "sequences": (SEQUENCE_COLUMNS, of_sequence, jobs_of(sequences, streams, options.draws, rng=rng)),
    }
    settings = {"streams": streams, "draws": options.draws, "level": LEVEL, "reference": REFERENCE, "length": length}
    return {
        **about(SEED, settings),
        **{name: rows_of(parts[name][0], rows_of_jobs(*parts[name][1:])) for name in parts if name in options.only},
        "repeats": streams,
    }


def of_part(numbers: dict[str, Any], name: str, columns: Iterable[str]) -> list[dict[str, Any]]:
    """Return the stored rows of a part as dicts."""
    return [dict(zip(columns, row, strict=True)) for row in numbers.get(name, [])]


def alarm_table(rows: list[dict[str, Any]]) -> str:
    """One line per cell: shares of streams with a false alarm."""
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault((row["population"], row["curve"], row["batch"]), {**row, **dict.fromkeys(RIVALS, "-")})
        line[row["method"]] = f"{row['alarms']:.3f}"
    form = "{population}|{curve}|{batch}|{calibration}|{change}|{chi-squared}|{Bonferroni}"
    head = "Confidences | Curve | Rows per window: | Calibration: | Change: | Chi-squared: | Bonferroni:"
    return table(head, cells(({"calibration": "-", **line} for line in lines.values()), form))


def delay_table(rows: list[dict[str, Any]]) -> str:
    """One line per cell and method: delays in rows."""
    shown = [
        {**row, **{q: f"more than {AFTER}" if row[q] is None else f"{row[q]:.0f}" for q in ("median", "upper")}}
        for row in rows
    ]
    form = "{population}|{change}|{batch}|{method}|{median}|{upper}|{before:.3f}|{never:.3f}"
    head = "Confidences | Change | Rows per window: | Method | Median: | 90 % quantile: | Alarm before: | Never:"
    return table(head, cells(shown, form))


def sequence_table(rows: list[dict[str, Any]]) -> str:
    """One line per cell and method: streams with an interval that misses the ECE, and widths."""
    form = (
        "{population}|{curve}|{truth:.4f}|{method}|{missed:.3f}|{low:.4f}|{width_2000:.4f}|{width_32000:.4f}|{streams}"
    )
    head = (
        "Confidences | Curve | ECE: | Method | Ever missed: | Lower end, 32 000 rows: | Width, 2000 rows: | "
        "Width, 32 000 rows: | Streams:"
    )
    return table(head, cells(rows, form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    of_one = errors_near(LEVEL, numbers["streams"])[0]
    return {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {numbers['streams']} streams per cell, seed {numbers['seed']}; reference "
            f"of {numbers['reference']} rows.\nThe standard error of a share near {LEVEL:g} is {of_one}.\n"
        ),
        "alarms": alarm_table(of_part(numbers, "alarms", ALARM_COLUMNS)),
        "delays": delay_table(of_part(numbers, "delays", DELAY_COLUMNS)),
        "sequences": sequence_table(of_part(numbers, "sequences", SEQUENCE_COLUMNS)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="monitoring.json",
        page="monitoring.md",
        save=save_parts,
        shown=("conditions", "alarms", "delays", "sequences"),
        repeats=(300, 10),
        draws=(1000, 200),
        parts=("alarms", "delays", "sequences"),
    )
