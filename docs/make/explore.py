"""Simulate the test sets of the page docs/explore, compute their intervals, write docs/explore/data.js: `make explore`.

With --quick, a few stored test sets are computed again and compared with the file; nothing is written.
"""

import argparse
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jobs import run_jobs
from numpy.typing import ArrayLike, NDArray

from bayescal import BinnedCounts, __version__
from bayescal.analyses.one import DEFAULT_MODEL, MODELS
from bayescal.datasets.simulate import Simulated, simulate, true_curve, true_ece
from bayescal.draws import Draws
from bayescal.estimands.errors import ece
from bayescal.verify.coverage import METHODS, contains

PAGE = Path(__file__).resolve().parents[1] / "explore"
DATA = PAGE / "data.js"
#: Text of the file before and after the JSON document.
BEFORE, AFTER = '"use strict";\n// made by `make explore`\nconst STORED = ', ";\n"
#: Largest size of the page with all its files, in bytes.
MOST_BYTES = 2_000_000

SEED, PROB, POPULATION = 1, 0.95, "flat"
ROWS = (100, 300, 1000, 3000, 10_000)
TEMPERATURES = (0.7, 1.0, 1.1, 1.25, 1.5, 2.0)
#: All divide the last one, in which the rows are stored: the page merges neighbouring bins.
BINS = (5, 10, 15, 30)
#: Test sets per number of rows and temperature; posterior draws, and bootstrap resamples, per interval.
SETS, DRAWS = 110, 2000
#: With more rows than this, a bin may have more than 255.
LARGE = 5000
#: Values of the ECE are stored as multiples of this.
UNIT = 1e-5
#: Dots of a quantile dot plot, each for 1/20 of the posterior. The first and the last are the ends of the interval, and
#: all are stored as places between the two, in 1/255.
DOTS = 20
#: Mean confidences are stored as places in their bin, in 1/255 of its width.
STEPS = 255

#: Names of the stored values of the ECE.
COLUMNS = ("plug_in", "bootstrap_low", "bootstrap_high", "posterior_low", "posterior_high", "posterior_mean")
#: Arrays are stored as little-endian integers in base64, those with these names in two bytes and others in one. Counts
#: need two bytes if a bin has more than 255 rows.
TWO_BYTES = ("ece", "large_counts")

Array = NDArray[Any]
#: Number of rows, temperature, number of test sets, and a random stream.
Job = tuple[int, float, int, np.random.Generator]


def in_units(values: ArrayLike) -> Array:
    """Return values of the ECE as multiples of the unit."""
    units = np.rint(np.asarray(values) / UNIT).astype(np.int64)
    if units.min() < 0 or units.max() >= 2**16:
        raise ValueError("the ECE must lie in [0, 0.65535] to fit into two bytes.")
    return units


def in_steps(places: Array) -> Array:
    """Return places in [0, 1] as multiples of 1/255."""
    return np.rint(STEPS * np.clip(places, 0, 1)).astype(np.int64)


def dots_of(draws: Draws) -> Array:
    """Return the dots as places in the interval that contains all of them."""
    dots = draws.quantile((np.arange(DOTS) + 0.5) / DOTS)
    width = dots[-1] - dots[0]
    return in_steps((dots - dots[0]) / (width if width > 0 else 1.0))


def rows_of_bins(data: Simulated) -> dict[str, Array]:
    """Return numbers of rows, of positive rows, and mean confidences, in the finest bins."""
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=BINS[-1])
    edges, widths = counts.bins.edges[:-1], counts.bins.widths
    place = np.where(counts.occupied, (counts.mean_confidence - edges) / widths, 0.0)
    return {name_of_counts(counts.n_rows): np.stack([counts.n, counts.k]), "confidence": in_steps(place)}


def intervals(data: Simulated, bins: int, truth: float, seed: int) -> dict[str, Array]:
    """Compute what the page shows of one test set in a number of bins; both methods get the same seed."""
    counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=bins)
    low, high, plug_in = METHODS["percentile bootstrap"](counts, PROB, DRAWS, np.random.default_rng(seed))
    drawn = ece(MODELS[DEFAULT_MODEL](counts).sample(DRAWS, rng=np.random.default_rng(seed)))
    ends = drawn.interval(PROB)
    return {
        "ece": in_units([plug_in, low, high, *ends, drawn.mean()]),
        "dots": dots_of(drawn),
        # 1 if the bootstrap interval contains the truth, plus 2 if the posterior interval does; before rounding
        "contains": contains([low, ends[0]], [high, ends[1]], truth) @ [1, 2],
    }


def truths(temperature: float) -> dict[int, float]:
    """Return the true ECE by number of bins."""
    curve = true_curve("temperature", temperature)
    return {bins: true_ece(POPULATION, curve, bins=bins) for bins in BINS}


def test_sets(job: Job) -> list[dict[str, Any]]:
    """Simulate the test sets of one setting; each has a random stream of its own, so that it can be computed alone."""
    n_rows, temperature, n_sets, stream = job
    truth, curve = truths(temperature), true_curve("temperature", temperature)
    sets = []
    for rng in stream.spawn(n_sets):
        data = simulate(n_rows, population=POPULATION, curve=curve, rng=rng)
        seeds = [int(seed) for seed in rng.integers(2**63, size=len(BINS))]
        by_bins = {bins: intervals(data, bins, truth[bins], seed) for bins, seed in zip(BINS, seeds, strict=True)}
        sets.append({**rows_of_bins(data), "by_bins": by_bins})
    return sets


def settings() -> list[tuple[int, float]]:
    """Return all pairs of a number of rows and a temperature."""
    return list(product(ROWS, TEMPERATURES))


def jobs(n_sets: int) -> list[Job]:
    """Return one job per setting."""
    streams = np.random.default_rng(SEED).spawn(len(settings()))
    return [(*setting, n_sets, stream) for setting, stream in zip(settings(), streams, strict=True)]


def type_of(name: str) -> str:
    """Return the type in which an array is stored."""
    return "<u2" if name in TWO_BYTES else "u1"


def packed(name: str, arrays: Sequence[Array]) -> str:
    """Return arrays of the same kind from all test sets as text."""
    values, kind = np.stack(arrays), np.dtype(type_of(name))
    if values.max() > np.iinfo(kind).max:
        raise ValueError(f"`{name}` must be at most {np.iinfo(kind).max} to be stored.")
    return b64encode(values.astype(kind).tobytes()).decode()


def unpacked(name: str, text: str, *shape: int) -> Array:
    """Return the arrays of all test sets, with one row per test set."""
    return np.frombuffer(b64decode(text), type_of(name)).reshape(-1, *shape).astype(np.int64)


def name_of_counts(n_rows: int) -> str:
    """Return the name under which counts are stored."""
    return "large_counts" if n_rows > LARGE else "counts"


def stored_setting(n_rows: int, temperature: float, sets: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a setting as the file holds it."""
    truth = truths(temperature)

    def part(bins: int) -> dict[str, Any]:
        of = [each["by_bins"][bins] for each in sets]
        return {"truth": round(truth[bins], 6), **{name: packed(name, [each[name] for each in of]) for name in of[0]}}

    return {
        "rows": n_rows,
        "temperature": temperature,
        **{name: packed(name, [each[name] for each in sets]) for name in sets[0] if name != "by_bins"},
        "by_bins": {str(bins): part(bins) for bins in BINS},
    }


def document(results: Iterator[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return everything that the page reads."""
    about = {"bayescal": __version__, "seed": SEED, "prob": PROB, "draws": DRAWS, "sets": SETS, "unit": UNIT}
    grid = {"rows": ROWS, "temperatures": TEMPERATURES, "bins": BINS, "dots": DOTS, "columns": COLUMNS}
    rows = [stored_setting(*setting, sets) for setting, sets in zip(settings(), results, strict=True)]
    return {**about, **grid, "settings": rows}


def text_of(numbers: dict[str, Any]) -> str:
    """Return the script file: one setting per line."""
    about = "".join(f'"{name}": {json.dumps(value)},\n' for name, value in numbers.items() if name != "settings")
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in numbers["settings"])
    return f'{BEFORE}{{\n{about}"settings": [\n{rows}\n]\n}}{AFTER}'


def read() -> dict[str, Any]:
    """Read the stored numbers again."""
    text = DATA.read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text.removeprefix(BEFORE).removesuffix(AFTER))
    return numbers


def page_bytes() -> int:
    """Return the size of the page with all its files."""
    return sum(file.stat().st_size for file in PAGE.iterdir())


def differences(setting: dict[str, Any], sets: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the names of stored arrays that differ from the first test sets of a setting, computed again."""
    name = f"{setting['rows']} rows, temperature {setting['temperature']:g}"

    def differs(kind: str, text: str, fresh: list[Array]) -> bool:
        expected = np.stack(fresh)
        stored = unpacked(kind, text, *expected.shape[1:])[: len(fresh)]
        # the last digit may differ between machines
        return bool(np.abs(stored - expected).max() > (kind in ("ece", "dots", "confidence")))

    for kind in (name for name in sets[0] if name != "by_bins"):
        if differs(kind, setting[kind], [each[kind] for each in sets]):
            yield f"{name}: {kind}"
    for bins, kind in product(BINS, ("ece", "dots", "contains")):
        if differs(kind, setting["by_bins"][str(bins)][kind], [each["by_bins"][bins][kind] for each in sets]):
            yield f"{name}, {bins} bins: {kind}"


def check(every: int, n_sets: int = 1) -> list[str]:
    """Compute the first test sets of some settings again; return what differs from the file."""
    chosen = list(zip(read()["settings"], jobs(n_sets), strict=True))[::every]
    return [problem for setting, job in chosen for problem in differences(setting, test_sets(job))]


def shares(numbers: dict[str, Any]) -> str:
    """Return one line per rows and temperature: the shares of intervals that contain the truth, by number of bins."""
    lines = [f"{'rows':>6} {'temp.':>6}  bootstrap / posterior, {', '.join(map(str, numbers['bins']))} bins"]
    for row in numbers["settings"]:
        of = [unpacked("contains", part["contains"]) for part in row["by_bins"].values()]
        parts = [f"{(each & 1).mean():.3f} / {(each >> 1).mean():.3f}" for each in of]
        lines.append(f"{row['rows']:6} {row['temperature']:6g}  {'  '.join(parts)}")
    return "\n".join(lines)


def main() -> None:
    """Compute and write the data of the page, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="compute a few test sets again; write nothing")
    options = parser.parse_args()
    if options.quick:
        if problems := check(every=4):
            sys.exit("docs/explore/data.js differs from the library, run `make explore`: " + "; ".join(problems))
    else:
        results = run_jobs(test_sets, jobs(SETS), workers=options.workers, progress=True, description="test sets")
        DATA.write_text(text_of(document(results)), encoding="utf-8")
    print(shares(read()))
    size = page_bytes()
    print(f"docs/explore: {size / 1e6:.2f} MB")
    if size > MOST_BYTES:
        sys.exit(f"docs/explore must have at most {MOST_BYTES / 1e6:g} MB.")


if __name__ == "__main__":
    main()
