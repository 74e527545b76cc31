"""Make docs/performance.md from measured numbers: its tables, its picture, and an estimate for a cluster."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pages import table

DOCS = Path(__file__).resolve().parents[1]
PAGE, PICTURE = DOCS / "performance.md", DOCS / "_static" / "performance.png"
COMPILED, NUMPY, TWO = "bayescal", "bayescal, numpy", "bayescal, two threads"
READING = "reading the bytes, no more"
#: Colour, marker and name of each line of the picture; points by which its name is moved up to avoid overlaps.
LINES = {
    "row bootstrap": ("#CC79A7", "v", "row bootstrap, 1000 resamples", 0),
    "netcal": ("#E69F00", "D", "netcal", 10),
    "torchmetrics": ("#56B4E9", "^", "torchmetrics", 4),
    "scikit-learn": ("#009E73", "s", "scikit-learn", -9),
    NUMPY: ("#0072B2", "o", "bayescal without numba", 0),
    COMPILED: ("#0072B2", "o", "bayescal", 0),
    TWO: ("#0072B2", "x", "bayescal, two threads", 0),
}
#: Assumed cluster: machines, rows on each, counts files that one machine adds, seconds per request of a file.
MACHINES, ROWS_EACH, FAN_IN, REQUEST = 100, 10_000_000_000, 10, 0.1
#: Targets of counting, in words, with the largest or smallest number allowed.
TIMES_READ, EXTRA_MB, TIMES_FASTER, TOP_OF_MANY, TOP_OF_FEW = 6.0, 100.0, 40.0, 3.0, 6.0

Row = dict[str, Any]

# --- formats of numbers


def seconds(value: float) -> str:
    """Format a time with two digits and a unit, as in 0.24 s, 3.8 ms, 54 min."""
    for unit, size in (("h", 3600.0), ("min", 120.0), ("s", 0.1), ("ms", 1e-3)):
        if value >= size:
            return f"{two_digits(value / {'min': 60.0, 's': 1.0}.get(unit, size))} {unit}"
    return f"{two_digits(value / 1e-6)} µs"


def two_digits(value: float) -> str:
    """Format a number, as in 0.24, 3.8, 54, 120, 26,000."""
    if value <= 0:
        return "0"
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def times(value: float) -> str:
    """Format a ratio, as in 4.1 ×."""
    return f"{two_digits(value)} ×"


def memory(megabytes: float | None) -> str:
    """Format memory, as in 84 MB; differences below 1 MB are noise."""
    if megabytes is None:
        return "not known"
    if megabytes < 1:
        return "under 1 MB"
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"


def count(rows: int) -> str:
    """Format a large number, as in 100 million."""
    for size, word in ((10**9, " billion"), (10**6, " million")):
        if rows >= size:
            return f"{rows / size:g}{word}"
    return f"{rows:,}"


# --- tables


def at(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Select rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def largest(rows: list[Row]) -> list[Row]:
    """Select measurements with the largest number of rows."""
    return at(rows, n_rows=max(row["n_rows"] for row in rows))


def way(row: Row) -> str:
    """Return the name of a program; if its time is a sum of parts, with an explanation."""
    name = row["way"] if row["way"] not in LINES else LINES[row["way"]][2]
    return name if row["times"] == 1 else f"{name} (one measured, times {row['times']:,})"


def answer(numbers: Row) -> str:
    """Make the table at the largest number of rows."""
    rows = largest(numbers["rows"])
    ours, read = at(rows, way=COMPILED)[0]["seconds"], rows[0]["read"]
    lines = [[READING, seconds(read), times(1.0), "", ""]]
    lines += [
        [way(r), seconds(r["seconds"]), times(r["seconds"] / read), times(r["seconds"] / ours), memory(r["extra_mb"])]
        for r in sorted(rows, key=lambda row: row["seconds"])
    ]
    of = f"{count(rows[0]['n_rows'])} rows, {rows[0]['bins']} bins"
    return table(f"{of} | Time: | Reads: | Times bayescal: | Memory beside the rows:", lines)


def targets(numbers: Row) -> list[tuple[str, str, str, bool]]:
    """Make the table of targets: allowed and measured numbers, and whether each target is met."""
    rows = largest(numbers["rows"])
    ours, of = at(rows, way=COMPILED)[0], count(rows[0]["n_rows"])
    reads = ours["seconds"] / ours["read"]
    found = [(f"{of} rows, in reads", f"at most {TIMES_READ:g}", times(reads), reads <= TIMES_READ)]
    if (extra := ours["extra_mb"]) is not None:
        found.append((f"{of} rows, memory", f"under {EXTRA_MB:g} MB", memory(extra), extra < EXTRA_MB))
    for row, threads in ((ours, "one thread"), *((row, "two threads") for row in at(rows, way=TWO))):
        for other in (other for other in rows if other["way"] in ("scikit-learn", "torchmetrics")):
            faster = other["seconds"] / row["seconds"]
            what = f"faster than {other['way']}, {threads}"
            found.append((what, f"at least {TIMES_FASTER:g}", times(faster), faster >= TIMES_FASTER))
    for row in at(numbers["labels"], of="top_label", way=COMPILED):
        reads, most = row["seconds"] / row["read"], TOP_OF_MANY if row["classes"] > 100 else TOP_OF_FEW
        found.append((f"top label of {matrix(row)}, in reads", f"at most {most:g}", times(reads), reads <= most))
    return found


def matrix(row: Row) -> str:
    """Describe shape and type of a matrix."""
    return f"({row['n_rows']:,}, {row['classes']:,}) {row['dtype']}"


def by_size(numbers: Row, part: str, key: str, head: str) -> str:
    """Make a table with one line per number of rows or bins, and one column per program."""
    rows = numbers[part]
    names = list(dict.fromkeys(row["way"] for row in rows))
    first = (lambda row: count(row[key])) if key == "n_rows" else (lambda row: f"{row[key]:,}")
    lines: dict[int, list[str]] = {}
    for row in rows:
        lines.setdefault(row[key], [first(row)])
    for size, line in lines.items():
        for name in names:
            found = at(rows, way=name, **{key: size})
            line.append(seconds(found[0]["seconds"]) if found else "")
        if key == "n_rows":
            line.insert(1, seconds(at(rows, n_rows=size)[0]["read"]))
    titles = [LINES[name][2] for name in names]
    shown = [head, *(["reading"] if key == "n_rows" else []), *titles]
    return table(" | ".join(f"{title}:" for title in shown), lines.values())


OF_LABELS = {
    "top_label": "most probable class, and is it right?",
    "top_label_ece": "ECE of the most probable class",
    "classwise": "counts of every class",
}


def labels(numbers: Row) -> str:
    """Make the table of matrices."""
    return table(
        "Matrix | What | How | Time: | Reads: | Memory beside the matrix:",
        (
            [
                matrix(r),
                OF_LABELS[r["of"]],
                way(r),
                seconds(r["seconds"]),
                times(r["seconds"] / r["read"]),
                memory(r["extra_mb"]),
            ]
            for r in numbers["labels"]
        ),
    )


def frames(numbers: Row) -> str:
    """Make the table of engines."""
    return table(
        f"{count(numbers['frames'][0]['n_rows'])} rows | Threads | Time: | Memory beside the frame:",
        ([r["way"], r["threads"], seconds(r["seconds"]), memory(r["extra_mb"])] for r in numbers["frames"]),
    )


FIRST = {
    "numpy": "numpy's loops, which few rows take",
    "compiled before": "compiled loops, from the cache on the disk",
    "compiling": "compiled loops, being compiled",
}


def first_calls(numbers: Row) -> str:
    """Make the table of costs at the start of a process."""
    return table(
        f"First call of a process, {count(numbers['first_call'][0]['n_rows'])} rows | Import: | Call: | Memory:",
        (
            [
                FIRST[r["what"]],
                seconds(r["import_seconds"]),
                seconds(r["seconds"]),
                memory(r["grown_mb"]),
            ]
            for r in sorted(numbers["first_call"], key=lambda row: row["seconds"])
        ),
    )


def parallel(numbers: Row) -> str:
    """Make the table of one and two processes."""
    alone = numbers["parallel"][0]["seconds"]
    return table(
        f"{count(numbers['parallel'][0]['n_rows'])} rows in two files | Time: | Faster:",
        (
            [f"{r['processes']} at a time", seconds(r["seconds"]), times(alone / r["seconds"])]
            for r in numbers["parallel"]
        ),
    )


def out_of_core(numbers: Row) -> str:
    """Make the table of the command line on a large file."""
    rows = numbers["out_of_core"]
    if not rows:
        return "Not measured yet.\n"
    one = rows[0]
    said = f"{count(one['n_rows'])} rows in a Parquet file of {one['file_bytes'] / 1e9:.1f} GB"
    return table(
        f"{said} | Time: | Largest memory of the process:",
        ([r["what"], seconds(r["seconds"]), memory(r["peak_mb"]) if r["peak_mb"] else ""] for r in rows),
    )


def stored(numbers: Row) -> str:
    """Make the table of counts files."""
    return table(
        "Bins: | Size of a counts file: | Time to read and add one:",
        ([f"{r['bins']:,}", f"{r['bytes'] / 1000:.1f} kB", seconds(r["merge_seconds"])] for r in numbers["stored"]),
    )


def cluster(numbers: Row) -> str:
    """Estimate the time of a cluster from the measured numbers."""
    rows = largest(numbers["rows"])
    ours, file = at(rows, way=COMPILED)[0], at(numbers["stored"], bins=15)[0]
    each = ours["seconds"] / ours["n_rows"] * ROWS_EACH
    disk = next((r for r in numbers["out_of_core"] if r["what"].startswith("`bayescal count`")), None)
    levels = math.ceil(math.log(MACHINES, FAN_IN) - 1e-9)
    level = FAN_IN * (REQUEST + file["merge_seconds"])
    moved = MACHINES * file["bytes"]
    lines = [
        [f"count {count(ROWS_EACH)} rows on each machine, from memory, one thread", seconds(each)],
    ]
    if disk is not None:
        from_file = disk["seconds"] / disk["n_rows"] * ROWS_EACH
        lines.append(["the same from Parquet files, with `bayescal count`", seconds(from_file)])
    lines += [
        [f"bytes that leave each machine, of {ROWS_EACH * 9 / 1e9:,.0f} GB there", f"{file['bytes'] / 1000:.1f} kB"],
        [f"bytes moved in all, {MACHINES} files", f"{moved / 1000:,.0f} kB"],
        [f"{levels} levels of merging, {FAN_IN} files each, {seconds(REQUEST)} a request", seconds(levels * level)],
        ["or one machine that adds them all, one after another", seconds(MACHINES / FAN_IN * level)],
    ]
    return table(f"{MACHINES} machines, {count(MACHINES * ROWS_EACH)} rows, 15 bins | On paper:", lines)


def conditions(numbers: Row) -> str:
    """Describe machine and versions."""
    machine = numbers["machine"]
    programs = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    days = numbers["dates"]
    most = max(days.values())
    earlier = [f"{part.replace('_', ' ')} on {day}" for part, day in days.items() if day != most]
    return (
        f"Measured on {most} on a shared virtual machine with {machine['cores']} cores and "
        f"{machine['memory_gb']:.0f} GB of memory, with {programs}."
        + (f" Earlier: {', '.join(earlier)}." if earlier else "")
        + "\n"
    )


def in_words(numbers: Row) -> str:
    """Summarise the results in a sentence."""
    rows = largest(numbers["rows"])
    ours = at(rows, way=COMPILED)[0]
    others = [row for row in rows if row["way"] in ("scikit-learn", "torchmetrics")]
    beside = " and ".join(f"{seconds(row['seconds'])} for {row['way']}" for row in others)
    return (
        f"**{count(ours['n_rows'])} rows are counted in {seconds(ours['seconds'])}**, by one thread, with "
        f"{memory(ours['extra_mb'])} of memory beside the rows. Reading the same bytes and doing nothing takes "
        f"{seconds(ours['read'])}" + (f"; on the same arrays it is {beside}" if beside else "") + ".\n"
    )


def page_of(numbers: Row) -> dict[str, str]:
    """Return the text between each pair of markers."""
    kept = [[what, allowed, found, "yes" if fine else "**no**"] for what, allowed, found, fine in targets(numbers)]
    return {
        "words": in_words(numbers),
        "answer": answer(numbers),
        "targets": table("What | Held to | Found: | Kept", kept),
        "rows": by_size(numbers, "rows", "n_rows", "Rows"),
        "first": first_calls(numbers),
        "bins": by_size(numbers, "bins", "bins", f"Bins, {count(numbers['bins'][0]['n_rows'])} rows"),
        "labels": labels(numbers),
        "frames": frames(numbers),
        "parallel": parallel(numbers),
        "out_of_core": out_of_core(numbers),
        "stored": stored(numbers),
        "cluster": cluster(numbers),
        "conditions": conditions(numbers),
    }


# --- the picture


def draw(numbers: Row) -> Any:
    """Draw time against rows, with the name of each line at its end."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    rows = numbers["rows"]
    sizes = sorted({row["n_rows"] for row in rows})
    figure, ax = plt.subplots(figsize=(9, 5.2), layout="constrained")
    read = [at(rows, n_rows=size)[0]["read"] for size in sizes]
    ax.fill_between(sizes, read, 1e-7, color="#808080", alpha=0.18, linewidth=0)
    label(ax, sizes[-1], read[-1], f"reading the bytes  {seconds(read[-1])}", "#666666", -4)
    for name, (colour, marker, said, shift) in LINES.items():
        of = at(rows, way=name)
        if not of or name == TWO:  # the picture is of one thread
            continue
        ours, thin = name == COMPILED, name == NUMPY
        x, y = [r["n_rows"] for r in of], [r["seconds"] for r in of]
        style = {"linewidth": 2.6 if ours else 1.4, "linestyle": "--" if thin else "-", "zorder": 4 if ours else 3}
        ax.plot(x, y, marker, color=colour, markersize=6 if ours else 4.5, clip_on=False, **style)
        label(ax, x[-1], y[-1], f"{said}  {seconds(y[-1])}", colour, shift, bold=ours)
    ax.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.3, sizes[-1]), ylim=(min(read) / 2, None))
    ax.set_xticks(sizes, [count(size) for size in sizes])
    ticks = [(1e-5, "10 µs"), (1e-4, "0.1 ms"), (1e-3, "1 ms"), (1e-2, "10 ms"), (0.1, "0.1 s"), (1, "1 s")]
    ticks += [(10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h")]
    top = max(row["seconds"] for row in rows)
    shown = [tick for tick in ticks if min(read) / 2 <= tick[0] <= 1.5 * top]
    ax.set_yticks([value for value, _ in shown], [name for _, name in shown])
    ax.minorticks_off()
    ax.grid(axis="y", color="#808080", alpha=0.2, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("rows")
    bins = rows[0]["bins"]
    said = f"Time to bin rows for the ECE: {bins} bins, one thread, all code loaded before"
    ax.set_title(said, loc="left", fontsize=11.5)
    return figure


def label(ax: Any, x: float, y: float, text: str, colour: str, shift: float, bold: bool = False) -> None:
    """Write the name of a line to the right of its end."""
    ax.annotate(
        text,
        (x, y),
        xytext=(8, shift),
        textcoords="offset points",
        color=colour,
        va="center",
        fontsize=9.5,
        fontweight="bold" if bold else "normal",
        annotation_clip=False,
    )
