"""Measure what evaluations cost: time of each quantity below, as a ratio to a yardstick of the same process.

    python docs/make/speed.py                 measure all, write the tables and the picture of docs/performance.md;
                                              exit 1, and write nothing, if a ratio is above 1.3 times the stored one
    python docs/make/speed.py --accept        write also where it is
    python docs/make/speed.py --before TREE   measure the package in the folder TREE, an earlier checkout
    python docs/make/speed.py --quick         the quick ones, printed beside the stored ratios; write nothing
    python docs/make/speed.py --redraw        write the page from the stored numbers

A yardstick is what cannot be avoided, or a call of numpy that takes a similar time: the maximum of the same arrays, one
Beta variate per bin and draw, a sort of the scores. Ratios depend less on the machine than seconds do.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from pages import fill, rounded, save_parts, table
from performance_page import count, seconds, times
from rich.console import Console
from rich.table import Table

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PAGE, PICTURE = DOCS / "_static" / "speed.json", DOCS / "performance.md", DOCS / "_static" / "growth.png"
COMMIT = "058fc40f"  #: The state of the package to which the targets refer.
MORE = 1.3  #: Largest ratio to the stored one.
DRAWS, SEED = 4000, 1
#: Seconds for which a call is repeated, and number of repetitions at least and at most.
BUDGET, AT_LEAST, AT_MOST = 2.0, 3, 30

Row = dict[str, Any]
Call = Callable[[], Any]
console = Console(highlight=False)


@dataclass(frozen=True)
class Quantity:
    """A quantity, its target, and the job that measures it."""

    name: str
    command: str  # the call that is timed
    job: str  # name of a function below, and its arguments
    before: float | None  # seconds at `COMMIT` on the machine of the targets, where they are known
    target: float | None  # seconds at most on that machine
    ratio: float | None = None  # or at most so many yardsticks
    quick: bool = False  # measured by the short form as well


INTERVAL, COUNT = "evaluate_counts(counts).ece.interval()", "BinnedCounts.from_arrays(y, p)"
#: Jobs that take longer than a few seconds, and are timed once.
LONG = {"bins 10_000", "problems 1000", "classes 1000", "groups 500", "shifted 100", "file parquet", "file csv"}
QUANTITIES = (
    Quantity("100 million rows, one thread", COUNT, "rows 100_000_000 1", None, None, 3.0),
    Quantity("100 million rows, two threads", COUNT, "rows 100_000_000 2", None, None, 1.5),
    Quantity("4 million rows, one thread", COUNT, "rows 4_000_000 1", None, None, quick=True),
    Quantity("1 million rows", "evaluate(y, p).ece.interval()", "evaluated 1_000_000", 0.060, 0.038, quick=True),
    Quantity("first call, 1000 rows", "import bayescal; print(evaluate(y, p))", "first", None, 0.4, quick=True),
    Quantity("15 bins", INTERVAL, "bins 15", 0.030, 0.010, quick=True),
    Quantity("100 bins", INTERVAL, "bins 100", 0.178, 0.060, quick=True),
    Quantity("1000 bins", INTERVAL, "bins 1000", 1.6, 0.6),
    Quantity("10,000 bins", INTERVAL, "bins 10_000", 48.0, 8.0),
    Quantity("1000 problems of 15 bins", "evaluate(y, p, by=...), pooling 'none'", "problems 1000", 8.9, 4.0),
    Quantity("first use of many problems, over the next", "nothing compiled", "compiling", 120.0, 10.0),
    Quantity(
        "two models, 100,000 rows", "compare(y, models).difference().interval()", "compared", 0.116, 0.040, quick=True
    ),
    Quantity("1000 classes, 50,000 rows", "evaluate(label, matrix, target='classwise')", "classes 1000", 9.0, 6.0),
    Quantity("500 pooled groups", "evaluate(y, p, by=site, pooling='partial')", "groups 500", 6.9, 3.0),
    Quantity("label shift, 10 classes", "shift.class_priors(y, p, target)", "shifted 10", None, 0.1),
    Quantity("label shift, 100 classes", "shift.class_priors(y, p, target)", "shifted 100", 37.0, 5.0),
    Quantity("10 million weighted rows", "cumulative.difference(y, p, weights=w)", "weighted 10_000_000", None, 1.0),
    Quantity("10 million rows with times", "survival.evaluate_counts(counts)", "timed 10_000_000", None, 1.5),
    Quantity("Parquet file of 50 million rows", "bayescal report FILE.parquet", "file parquet", None, None, 1.3),
    Quantity("CSV file of 10 million rows", "bayescal report FILE.csv", "file csv", None, None, 1.5),
)
#: Growth: what grows, the job, and its sizes.
GROWTH = {
    "bins": ("bins {}", (15, 50, 100, 300, 1000, 3000, 10_000)),
    "draws": ("drawn {}", (1000, 4000, 16_000, 64_000)),
    "classes": ("classes {}", (10, 30, 100, 300, 1000)),
    "groups": ("groups {}", (10, 30, 100, 300, 1000)),
    "rows": ("rows {} 1", (100_000, 1_000_000, 10_000_000, 100_000_000)),
}


def repeats_of(job: str) -> int:
    """Return how often a job is timed at least."""
    return 1 if job in LONG else AT_LEAST


# --- jobs: each returns the call, and its yardstick


def outcomes(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make scores, and outcomes that are a little rarer than stated."""
    rng = np.random.default_rng(SEED)
    p = rng.random(n_rows)
    return (rng.random(n_rows) < p**1.1).astype(float), p


def betas(n_bins: int, draws: int = DRAWS) -> Call:
    """Draw one Beta variate per bin and draw."""
    rng, a = np.random.default_rng(SEED), np.linspace(5, 500, n_bins)
    return lambda: rng.beta(a, a[::-1], (draws, n_bins))


def rows(n_rows: int, threads: int) -> tuple[Call, Call]:
    """Count rows; the maximum of the same arrays."""
    import bayescal as bc

    os.environ.update(BAYESCAL_COMPILE="always", BAYESCAL_THREADS=str(threads))
    y, p = outcomes(n_rows)
    return lambda: bc.BinnedCounts.from_arrays(y, p), lambda: (y.max(), p.max())


def evaluated(n_rows: int) -> tuple[Call, Call]:
    """Evaluate rows; their maximum."""
    import bayescal as bc

    y, p = outcomes(n_rows)
    return lambda: bc.evaluate(y, p, rng=SEED).ece.interval(), lambda: (y.max(), p.max())


def counted(n_bins: int) -> Any:
    """Count 100,000 simulated rows."""
    import bayescal as bc

    y, p = outcomes(100_000)
    return bc.BinnedCounts.from_arrays(y, p, bins=n_bins)


def bins(n_bins: int) -> tuple[Call, Call]:
    """Evaluate counts."""
    return drawn(DRAWS, n_bins)


def drawn(draws: int, n_bins: int = 15) -> tuple[Call, Call]:
    """Evaluate counts with a number of draws."""
    import bayescal as bc

    counts = counted(n_bins)
    return lambda: bc.evaluate_counts(counts, draws=draws, rng=SEED).ece.interval(), betas(n_bins, draws)


def compared() -> tuple[Call, Call]:
    """Compare two models of the same rows."""
    import bayescal as bc

    y, p = outcomes(100_000)
    other = np.clip(p + 0.05 * np.random.default_rng(2).standard_normal(len(p)), 0, 1)
    models = {"a": p, "b": other}
    return lambda: bc.compare(y, models, rng=SEED).difference().interval(), betas(15)


def sites(n_groups: int, n_rows: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make groups of 30 to 400 rows, or of `n_rows`, whose log odds differ."""
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(n_groups), n_rows or rng.integers(30, 400, n_groups))
    x, moved = rng.normal(0, 1.5, len(site)), rng.normal(0, 0.3, n_groups)
    p = 1 / (1 + np.exp(-x))
    return (rng.random(len(site)) < 1 / (1 + np.exp(-x - moved[site]))).astype(int), p, site


def problems(number: int) -> tuple[Call, Call]:
    """Evaluate groups one by one."""
    import bayescal as bc

    y, p, site = sites(number, 2000)
    return lambda: list(bc.evaluate(y, p, by=site, rng=SEED)), betas(15 * number)


def groups(number: int) -> tuple[Call, Call]:
    """Evaluate groups under partial pooling."""
    import bayescal as bc

    y, p, site = sites(number)
    return lambda: list(bc.evaluate(y, p, by=site, pooling="partial", rng=SEED)), betas(15 * number)


def classes(number: int) -> tuple[Call, Call]:
    """Evaluate all classes of a matrix; its maximum."""
    import bayescal as bc

    rng = np.random.default_rng(SEED)
    matrix = rng.standard_exponential((50_000, number))
    matrix /= matrix.sum(axis=1, keepdims=True)
    label = rng.integers(0, number, len(matrix))
    return lambda: bc.evaluate(label, matrix, target="classwise", rng=SEED), matrix.max


def shifted(number: int) -> tuple[Call, Call]:
    """Estimate class frequencies of a target without labels."""
    from scipy.special import softmax

    import bayescal as bc

    try:
        class_priors = bc.shift.class_priors
    except AttributeError:  # at `COMMIT`, the topic had no module
        class_priors = bc.class_priors
    rng, n_rows = np.random.default_rng(3), 2000 if number <= 10 else 10_000
    label = [np.arange(n_rows) % number, rng.integers(number, size=n_rows) % (number - 1)]
    x = (rng.standard_normal((n_rows, number)) + 2 * np.eye(number)[each] for each in label)
    p, target = (softmax(2 * each, axis=1) for each in x)
    return lambda: class_priors(label[0], p, target, rng=SEED).mean(), betas(number)


def weighted(n_rows: int) -> tuple[Call, Call]:
    """Cumulative differences of weighted rows; a sort of the scores."""
    import bayescal as bc

    difference = getattr(bc, "cumulative_difference", None) or bc.cumulative.difference
    y, p = outcomes(n_rows)
    weights = np.random.default_rng(3).exponential(size=n_rows)
    return lambda: difference(y, p, weights=weights), lambda: np.sort(p)


def timed(n_rows: int) -> tuple[Call, Call]:
    """Evaluate right-censored rows through their counts; a sort of the times."""
    from bayescal import survival

    rng = np.random.default_rng(SEED)
    risk = rng.random(n_rows)
    event, censored = rng.exponential(5 / (0.1 + risk)), rng.exponential(8, n_rows)
    time_, happened = np.minimum(event, censored), event <= censored

    def call() -> Any:
        counts = survival.SurvivalCounts.from_arrays(time_, happened, risk, times=[3.0])
        return survival.evaluate_counts(counts, rng=SEED)

    return call, lambda: np.sort(time_)


def file(kind: str) -> tuple[Call, Call]:
    """Report a file with the command line; duckdb's sums of the same columns."""
    import duckdb

    folder, n_rows = Path(tempfile.mkdtemp()), 50_000_000 if kind == "parquet" else 10_000_000
    path = folder / f"rows.{kind}"
    source = f"SELECT (random() < 0.5)::INT8 AS y, random() AS p FROM range({n_rows})"
    duckdb.sql(f"COPY ({source}) TO '{path}' (FORMAT {kind})")
    command = [sys.executable, "-m", "bayescal", "report", str(path), "--label", "y", "--prob", "p", "--seed", "1"]
    query = f"import duckdb; duckdb.sql(\"SELECT sum(y), sum(p), count(*) FROM '{path}'\").fetchall()"

    def run(*arguments: str) -> None:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return lambda: run(*command), lambda: run(sys.executable, "-c", query)


# --- one process


def shortest(call: Call, at_least: int) -> float:
    """Return the smallest time of some calls."""
    taken: list[float] = []
    while len(taken) < at_least or (sum(taken) < BUDGET and len(taken) < AT_MOST):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def first() -> Row:
    """Measure the first evaluation of a process; the import of numpy and scipy."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy, scipy.special, scipy.stats"], check=True)
    yard = time.perf_counter() - begin
    y, p = outcomes(1000)
    import scipy

    assert scipy
    begin = time.perf_counter()
    import bayescal as bc

    str(bc.evaluate(y, p, rng=SEED))
    return {"seconds": time.perf_counter() - begin, "yard": yard}


def compiling() -> Row:
    """Measure how much longer the first use of many problems takes, with an empty folder for compiled code."""
    call, yard = problems(300)
    taken = []
    for _ in range(2):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return {"seconds": taken[0] - taken[1], "yard": shortest(yard, AT_LEAST)}


def one(job: str, repeats: int) -> Row:
    """Measure one job in this process; call and yardstick take turns, because the speed of machines varies."""
    name, *arguments = job.split()
    made = globals()[name](*(int(each) if each[0].isdigit() else each for each in arguments))
    if isinstance(made, dict):
        return made
    call, yard = made
    if repeats > 1:
        call()
    pairs = [(shortest(call, repeats), shortest(yard, AT_LEAST)) for _ in range(2 if repeats > 1 else 1)]
    return dict(zip(("seconds", "yard"), map(min, zip(*pairs, strict=True)), strict=True))


def measure(job: str, repeats: int, tree: Path | None = None, times: int = 1) -> Row:
    """Measure one job in processes of its own; keep the smallest ratio."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    if tree is not None:
        environment["PYTHONPATH"] = str(tree)
    found: list[Row] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as empty:
            if job == "compiling":
                environment["NUMBA_CACHE_DIR"] = empty
            command = [sys.executable, __file__, "--job", job, "--repeats", str(repeats)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"{job}: {done.stderr[-2000:]}")
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(found, key=lambda row: row["seconds"] / row["yard"])


# --- all


def known() -> Row:
    """Read the stored numbers."""
    return (
        json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"before": [], "now": [], "growth": []}
    )


def by_name(numbers: Row, part: str) -> dict[str, Row]:
    """Return the stored numbers of a part by quantity."""
    return {row["name"]: row for row in numbers[part]}


def chosen(only: list[str] | None, quick: bool) -> list[Quantity]:
    """Choose quantities by the name of their job, or the quick ones."""
    return [q for q in QUANTITIES if (not only or q.job.split()[0] in only) and (q.quick or not quick)]


def earlier(tree: Path, only: list[str] | None) -> None:
    """Measure and store the quantities that an earlier checkout has."""
    for quantity in chosen(only, quick=False):
        try:
            row = {"name": quantity.name, **measure(quantity.job, repeats_of(quantity.job), tree)}
        except RuntimeError as problem:
            console.print(f"{quantity.name}: {str(problem).strip().splitlines()[-1]}")
            continue
        console.print(f"{quantity.name}: {seconds(row['seconds'])}, {times(row['seconds'] / row['yard'])}")
        store("before", {quantity.name: row})


def store(part: str, found: dict[str, Row]) -> None:
    """Store quantities beside the others of the part."""
    numbers = known()
    rows = by_name(numbers, part) | found
    numbers[part] = [rows[each.name] for each in QUANTITIES if each.name in rows]
    numbers["dates"] = numbers.get("dates", {}) | {part: date.today().isoformat()}
    save_parts(NUMBERS, rounded(numbers))


def beside_stored(quantities: list[Quantity], quick: bool) -> tuple[dict[str, Row], bool]:
    """Measure quantities, print ratios beside the stored ones; return whether none is above `MORE` times those."""
    stored = by_name(known(), "now")
    shown = Table("quantity", "time", "yardsticks", "stored", "times")
    found: dict[str, Row] = {}
    fine = True
    for quantity in quantities:
        row = measure(quantity.job, repeats_of(quantity.job))
        was = stored[quantity.name]["seconds"] / stored[quantity.name]["yard"] if quantity.name in stored else np.inf
        if row["seconds"] / row["yard"] > MORE * was and not quick:  # other work on the machine: three times more
            row = measure(quantity.job, repeats_of(quantity.job), times=3)
        found[quantity.name] = {"name": quantity.name, **row}
        ratio = row["seconds"] / row["yard"]
        above = ratio > MORE * was
        fine &= not above
        mark = "[red]" if above else ""
        beside = ["", ""] if was == np.inf else [times(was), f"{mark}{times(ratio / was)}"]
        shown.add_row(quantity.name, seconds(row["seconds"]), times(ratio), *beside)
        console.print(f"[dim]{quantity.name}: {seconds(row['seconds'])}[/]")
    console.print(shown)
    return found, fine


def grown() -> None:
    """Measure and store growth."""
    numbers = known()
    numbers["growth"] = []
    for what, (job, sizes) in GROWTH.items():
        for size in sizes:
            row = measure(job.format(size), 1 if size >= 300 and what in ("bins", "classes", "groups") else AT_LEAST)
            numbers["growth"].append({"of": what, "size": size, "seconds": row["seconds"]})
            console.print(f"growth: {what} {size} {seconds(row['seconds'])}")
    save_parts(NUMBERS, rounded(numbers))


# --- the page


def slower(numbers: Row) -> float:
    """Return how many times slower this machine is than that of the targets: the median of quantities known on both."""
    before = by_name(numbers, "before")
    ratios = [before[q.name]["seconds"] / q.before for q in QUANTITIES if q.before and q.name in before]
    return float(np.median(ratios)) if ratios else 1.0


def kept(quantity: Quantity, row: Row, factor: float) -> bool | None:
    """Return whether a target is met; None if there is none."""
    if quantity.ratio is not None:
        return bool(row["seconds"] / row["yard"] <= quantity.ratio)
    return None if quantity.target is None else bool(row["seconds"] / factor <= quantity.target)


def targets(numbers: Row) -> str:
    """Make the table of quantities."""
    before, now, factor = by_name(numbers, "before"), by_name(numbers, "now"), slower(numbers)
    lines = []
    for quantity in QUANTITIES:
        if quantity.name not in now:
            continue
        row, old = now[quantity.name], before.get(quantity.name)
        in_yards = f"{quantity.ratio:g} yardsticks" if quantity.ratio else ""
        fine = kept(quantity, row, factor)
        lines.append([
            quantity.name, f"`{quantity.command}`", seconds(old["seconds"]) if old else "", seconds(row["seconds"]),
            times(row["seconds"] / row["yard"]),
            in_yards or (seconds(factor * quantity.target) if quantity.target else ""),
            "" if fine is None else "yes" if fine else "**no**",
        ])  # fmt: skip
    return table(f"Quantity | Call | {COMMIT}: | Now: | Yardsticks: | Target: | Kept", lines)


def growth(numbers: Row) -> str:
    """Make the table of growth: times, and the exponent between the last two sizes."""
    lines = []
    for what in GROWTH:
        of = [row for row in numbers["growth"] if row["of"] == what]
        if len(of) < 2:
            continue
        (a, b) = of[-2:]
        power = np.log(b["seconds"] / a["seconds"]) / np.log(b["size"] / a["size"])
        said = ", ".join(f"{count(row['size'])}: {seconds(row['seconds'])}" for row in of)
        lines.append([what, said, f"{power:.2f}"])
    return table("What grows | Times | Power of the last step:", lines)


def conditions(numbers: Row) -> str:
    """Say when and where the quantities were measured."""
    days = numbers.get("dates", {})
    return (
        f"Measured on {max(days.values(), default='')} on a shared virtual machine with {os.cpu_count()} cores, which "
        f"takes {slower(numbers):.1f} times as long as the machine of the targets: the median over the quantities that "
        f"were measured on both at commit {COMMIT}. Targets in seconds are multiplied by it.\n"
    )


def draw(numbers: Row) -> Any:
    """Draw time against size on logarithmic axes."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    shown = [what for what in GROWTH if any(row["of"] == what for row in numbers["growth"])]
    figure, axes = plt.subplots(
        1, max(len(shown), 1), figsize=(11, 2.9), layout="constrained", sharey=True, squeeze=False
    )
    for ax, what in zip(axes[0], shown, strict=False):
        of = [row for row in numbers["growth"] if row["of"] == what]
        x, y = np.array([row["size"] for row in of]), np.array([row["seconds"] for row in of])
        ax.loglog(x, y[-1] * x / x[-1], color="#888888", linewidth=1, linestyle=":", label="linear")
        ax.loglog(x, y, "o-", color="#0072B2", markersize=4)
        ax.set_xlabel(what)
        ax.grid(color="#888888", alpha=0.2, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("seconds")
    axes[0][0].legend(frameon=False)
    return figure


def write(numbers: Row) -> None:
    """Write the page and the picture."""
    fill(PAGE, "make bench", {
        "quantities": targets(numbers), "growth": growth(numbers), "quantities_measured": conditions(numbers)
    })  # fmt: skip
    draw(numbers).savefig(PICTURE, dpi=110, metadata={"Software": None})


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="TREE", help=f"measure a checkout of {COMMIT}")
    parser.add_argument("--only", nargs="+", metavar="JOB", help="only these jobs; growth is not measured")
    parser.add_argument("--accept", action="store_true", help="store ratios above 1.3 times the stored ones, too")
    parser.add_argument("--quick", action="store_true", help="the quick ones, without a verdict; write nothing")
    parser.add_argument("--redraw", action="store_true", help="page and picture from the stored numbers")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=AT_LEAST, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        print(json.dumps(one(asked.job, asked.repeats)))
        return
    if asked.before:
        earlier(asked.before, asked.only)
    elif not asked.redraw:
        found, fine = beside_stored(chosen(asked.only, asked.quick), asked.quick)
        if asked.quick:
            return
        if not fine and not asked.accept:
            sys.exit(1)
        store("now", found)
        if not asked.only:
            grown()
    write(known())


if __name__ == "__main__":
    main()
