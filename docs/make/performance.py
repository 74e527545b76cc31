"""Measure what counting costs, bayescal beside others on the same arrays; write the numbers, the picture and the tables
of docs/performance.md: a part of `make bench`, some minutes. With --out-of-core a file of a billion rows is counted as
well: nine gigabytes of disk and some minutes more; without it the last numbers of that part stay. With --redraw nothing
is measured. With --quick, every part runs with few rows and nothing is written.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from pages import fill, rounded, save_parts, versions_of
from performance_page import PAGE, PICTURE, draw, page_of
from rich.console import Console

DOCS = Path(__file__).resolve().parents[1]
NUMBERS = DOCS / "_static" / "performance.json"
BENCHMARKS = DOCS.parent / "tests" / "benchmarks"
PROGRAMS = ("bayescal", "numpy", "numba", "scikit-learn", "torchmetrics", "torch", "netcal")
PROGRAMS += ("polars", "duckdb", "pyarrow", "pandas", "dask")
SEED, BINS = 6, 15
MANY_BINS = (10, 100, 1000, 10_000)
#: Seconds of one call, from those of fewer rows, beyond which no more rows are tried.
LIMIT = 60.0
#: Largest difference of two ECE of the same rows. torchmetrics turns top labels into float32 and sums in it, as others
#: may with float32: an error of about sqrt(n) roundings.
SAME = 1e-12
READ_FILE = "reading the file, no more"
#: Counts files that are added to measure what adding costs, and numbers of bins for their size.
MERGED, STORED_BINS = 100, (15, 100, 1000)

Row = dict[str, Any]
console = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Sizes:
    """Sizes of the measurements.

    Parameters
    ----------
    rows : tuple of int
        Numbers of rows; the second largest is also measured with many bins.
    matrices : tuple of (str, int, int, str)
        Name, rows, classes and type of each matrix.
    groups, group_rows : int
        Row groups of the file that should be larger than memory, and rows per group.
    rounds : int
        Number of repetitions of the measurement with parallel processes; the shortest time is kept.
    at_once : int
        Number of processes that run side by side; more than one disturbs the times.
    """

    rows: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
    matrices: tuple[tuple[str, int, int, str], ...] = (
        ("many", 50_000, 1000, "f4"),
        ("few", 1_000_000, 10, "f4"),
        ("few_f8", 1_000_000, 10, "f8"),
    )
    groups: int = 100
    group_rows: int = 10_000_000
    rounds: int = 5
    at_once: int = 1


FULL = Sizes()
QUICK = Sizes(
    rows=(1000, 10_000, 20_000),
    matrices=(("few", 10_000, 10, "f4"),),
    groups=2,
    group_rows=10_000,
    rounds=1,
    at_once=2,
)


class Workshop:
    """A folder for arrays and compiled code, and processes that use it."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.folder, self.sizes = folder, sizes
        self.environment = os.environ | {"PYTHONWARNINGS": "ignore"}
        if sizes != QUICK:  # else what is compiled already may be used
            self.environment["NUMBA_CACHE_DIR"] = str(folder / "compiled")

    def start(self, job: Row, **environment: str) -> subprocess.Popen[str]:
        """Start a job."""
        command = [sys.executable, str(BENCHMARKS / "measuring.py"), json.dumps({"folder": str(self.folder), **job})]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=self.environment | environment)

    def result(self, process: subprocess.Popen[str], said: str = "") -> list[Row]:
        """Wait for a job and return its result."""
        printed, _ = process.communicate(said)
        if process.returncode:
            raise RuntimeError(f"a measurement failed: {process.args}")
        rows: list[Row] = json.loads(printed.splitlines()[-1])
        return rows

    def run(self, job: Row, **environment: str) -> list[Row]:
        """Run one job from start to end."""
        return self.result(self.start(job, **environment))

    def side_by_side(
        self, of: str, shapes: Iterable[tuple[int, int]], only: tuple[str, ...] = (), **job: Any
    ) -> list[Row]:
        """Run every installed program in a process of its own; report the shortest reading time."""
        one_thread = {} if of == "frames" else {"OMP_NUM_THREADS": "1"}  # pyarrow's threads, too, follow this

        def measure(way: Any) -> list[Row]:
            begin = time.perf_counter()
            found = self.run({"of": of, "way": way.name, "shapes": list(shapes), "limit": LIMIT, **job}, **one_thread)
            console.print(f"{of}: {way.name} [dim]{time.perf_counter() - begin:.0f} s[/]", soft_wrap=True)
            return found

        asked = [way for way in ways()[of] if not way.missing and (not only or way.name in only)]
        if self.sizes is QUICK:  # the tests in the same target call every program
            asked = asked[:2]
        with ThreadPoolExecutor(self.sizes.at_once) as pool:
            rows = [row for found in pool.map(measure, asked) for row in found]
        shortest: dict[tuple[int, int], float] = {}
        for row in rows:
            key = row["n_rows"], row["read_bytes"]
            shortest[key] = min(row.pop("read_here"), shortest.get(key, np.inf))
        agreeing(rows)
        return [row | {"read": shortest[row["n_rows"], row["read_bytes"]]} for row in rows]


def ways() -> dict[str, Any]:
    """Import a module of tests/benchmarks, which makes the same calls one by one."""
    if str(BENCHMARKS) not in sys.path:
        sys.path.append(str(BENCHMARKS))
    from ways import WAYS

    return WAYS


def agreeing(rows: list[Row]) -> None:
    """Refuse to compare programs whose results for the same rows differ."""
    said: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row["value"] is None:
            continue
        one = said.setdefault((row["n_rows"], row["bins"]), row)
        in_single = row["dtype"] == "float32" or (row["way"] == "torchmetrics" and "label" in row["of_arrays"])
        allowed = np.finfo(np.float32).eps * np.sqrt(row["n_rows"]) if in_single else SAME
        if abs(row["value"] - one["value"]) > allowed:
            raise RuntimeError(f"{row['way']} says {row['value']}, {one['way']} says {one['value']}: {row}")


# --- data


def make_rows(folder: Path, sizes: Sizes) -> None:
    """Make probabilities and outcomes that are rarer than stated, as arrays and Parquet files."""
    import pyarrow
    import pyarrow.parquet

    n_rows, group_rows = sizes.rows[-1], sizes.group_rows
    rng = np.random.default_rng(SEED)
    p, y = np.empty(n_rows), np.empty(n_rows, np.int8)
    for start in range(0, n_rows, group_rows):
        part = slice(start, start + group_rows)
        p[part] = rng.random(len(p[part]))
        y[part] = rng.random(len(p[part])) < p[part] ** 2
    np.save(folder / "p.npy", p)
    np.save(folder / "y.npy", y)
    for i, part in enumerate((slice(0, n_rows // 2), slice(n_rows // 2, None))):
        np.save(folder / f"p{i}.npy", p[part])
        np.save(folder / f"y{i}.npy", y[part])
    for few in (20_000, sizes.rows[-2]):  # 20,000: what the first call, which is not timed, is given
        pyarrow.parquet.write_table(pyarrow.table({"y": y[:few], "p": p[:few]}), folder / f"{few}.parquet")


def make_matrices(folder: Path, sizes: Sizes) -> None:
    """Make random points of a simplex, and labels drawn from them by cumulative sums."""
    rng = np.random.default_rng(SEED)
    for name, n_rows, classes, dtype in sizes.matrices:
        matrix = rng.standard_exponential((n_rows, classes))
        matrix /= matrix.sum(axis=1, keepdims=True)
        label = (matrix.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=classes - 1)
        np.save(folder / f"{name}.npy", matrix.astype(dtype))
        np.save(folder / f"{name}_label.npy", label)


# --- parts


ROWS = {"arrays": {"y": "y", "p": "p"}, "read": ["y", "p"]}


def of_rows(shop: Workshop) -> list[Row]:
    """Measure time by number of rows."""
    return shop.side_by_side("rows", [(n_rows, BINS) for n_rows in shop.sizes.rows], **ROWS)


def of_bins(shop: Workshop) -> list[Row]:
    """Measure time by number of bins."""
    from ways import COMPILED, NUMPY, SKLEARN, TORCH

    shapes = [(shop.sizes.rows[-2], bins) for bins in MANY_BINS]
    return shop.side_by_side("rows", shapes, only=(COMPILED, NUMPY, SKLEARN, TORCH), **ROWS)


def of_frames(shop: Workshop) -> list[Row]:
    """Measure data-frame engines."""
    return shop.side_by_side("frames", [(shop.sizes.rows[-2], BINS)], **ROWS)


def of_labels(shop: Workshop) -> list[Row]:
    """Measure labels with matrices of probabilities."""
    rows: list[Row] = []
    for name, n_rows, classes, dtype in shop.sizes.matrices:
        job = {"arrays": {"label": f"{name}_label", "matrix": name}, "read": ["matrix"]}
        for of in ("top_label", "top_label_ece", "classwise"):
            found = shop.side_by_side(of, [(n_rows, BINS)], **job)
            rows += [row | {"of": of, "classes": classes, "dtype": np.dtype(dtype).name} for row in found]
    return rows


def first_calls(shop: Workshop) -> list[Row]:
    """Measure costs at the start of a process: with numpy, with cached compiled code, and with compiling."""
    cold = {"NUMBA_CACHE_DIR": str(shop.folder / "cold")}
    asked: tuple[tuple[str, dict[str, str]], ...] = (
        ("numpy", {"BAYESCAL_COMPILE": "never"}),
        ("compiling", {"BAYESCAL_COMPILE": "always", **cold}),
        ("compiled before", {"BAYESCAL_COMPILE": "always", **cold}),
    )
    job = {"do": "first_call", "n_rows": 20_000}
    shop.run(job, BAYESCAL_COMPILE="never")  # files of the package come from the disk once
    return [{"what": what, "n_rows": 20_000, **shop.run(job, **environment)[0]} for what, environment in asked]


def in_parallel(shop: Workshop) -> list[Row]:
    """Measure counting files with one process and with two, from the start until counts are merged."""
    from bayescal import load_counts

    rows = []
    for parts in ([[0, 1]], [[0], [1]]):
        best = np.inf
        for _ in range(shop.sizes.rounds):
            saved = [str(shop.folder / f"part-{i}.json") for i in range(len(parts))]
            jobs = [{"do": "count_files", "parts": part, "to": to} for part, to in zip(parts, saved, strict=True)]
            processes = [shop.start(job, BAYESCAL_COMPILE="always") for job in jobs]
            for process in processes:
                process.stdout.readline()  # type: ignore[union-attr]
            begin = time.perf_counter()
            for process in processes:
                process.stdin.write("go\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
            while not all(Path(to).exists() for to in saved):
                time.sleep(0.0005)
            merged = sum(load_counts(to) for to in saved)
            best = min(best, time.perf_counter() - begin)
            for process, to in zip(processes, saved, strict=True):
                shop.result(process)
                Path(to).unlink()
            assert merged.n_rows == shop.sizes.rows[-1]
        rows.append({"processes": len(parts), "n_rows": shop.sizes.rows[-1], "seconds": best})
    return rows


def of_stored(shop: Workshop) -> list[Row]:
    """Measure the size of a counts file, and the time to read and add one."""
    from bayescal import BinnedCounts, load_counts, save_counts

    y, p = (np.load(shop.folder / f"{name}.npy", mmap_mode="r")[: shop.sizes.group_rows] for name in "yp")
    rows = []
    for bins in STORED_BINS:
        path = save_counts(BinnedCounts.from_arrays(y, p, bins=bins), shop.folder / f"counts-{bins}.json")
        begin = time.perf_counter()
        sum(load_counts(path) for _ in range(MERGED))
        merging = (time.perf_counter() - begin) / MERGED
        rows.append({"bins": bins, "bytes": path.stat().st_size, "merge_seconds": merging})
    return rows


# --- larger than memory


def make_billion(folder: Path, sizes: Sizes) -> None:
    """Write a Parquet file of a billion rows, which repeat."""
    import pyarrow
    import pyarrow.parquet

    need = 1.2 * sizes.groups * sizes.group_rows * 9
    if shutil.disk_usage(folder).free < need:
        raise OSError(f"{need / 1e9:.0f} GB of disk are needed in {folder}; TMPDIR says where else.")
    columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r")[: sizes.group_rows] for name in "yp"}
    rows = pyarrow.table(columns)
    with pyarrow.parquet.ParquetWriter(folder / "billion.parquet", rows.schema) as writer:
        for _ in range(sizes.groups):
            writer.write_table(rows)


def out_of_core(shop: Workshop) -> list[Row]:
    """Measure the command line on that file, and on the counts that it saved."""
    path, counts = shop.folder / "billion.parquet", shop.folder / "billion.json"
    columns = ["--label", "y", "--prob", "p"]
    commands = {
        "`bayescal count`": ["count", str(path), *columns, "-o", str(counts)],
        "`bayescal report`, of the saved counts": ["report", str(counts)],
        "`bayescal report`, of the file": ["report", str(path), *columns],
    }
    about = {"n_rows": shop.sizes.groups * shop.sizes.group_rows, "file_bytes": path.stat().st_size}
    rows = [{"what": READ_FILE, **about, "seconds": read_file(path), "peak_mb": None}]
    for name, arguments in commands.items():
        rows.append({"what": name, **about, **command_line(arguments, shop.environment)})
        console.print(f"{name} [dim]{rows[-1]['seconds']:.0f} s, {rows[-1]['peak_mb']:.0f} MB[/]", soft_wrap=True)
    path.unlink()
    return rows


def read_file(path: Path) -> float:
    """Measure the time to read the bytes of a file, from the disk or from the system's cache."""
    begin = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        block = bytearray(2**24)
        while file.readinto(block):
            pass
    return time.perf_counter() - begin


def command_line(arguments: list[str], environment: dict[str, str]) -> Row:
    """Measure time and largest memory of one command. This process must be small, because its memory counts, too."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "bayescal", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"a command failed: {command}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {"seconds": time.perf_counter() - begin, "peak_mb": used.ru_maxrss * unit / 1e6}


# --- all of it


PARTS = {
    "out_of_core": out_of_core,
    "first_call": first_calls,
    "rows": of_rows,
    "bins": of_bins,
    "frames": of_frames,
    "labels": of_labels,
    "parallel": in_parallel,
    "stored": of_stored,
}


def measured(parts: list[str], sizes: Sizes) -> Iterator[tuple[str, list[Row]]]:
    """Measure parts one after the other and yield their results, in a temporary folder."""
    ways()
    with tempfile.TemporaryDirectory() as folder:
        # in a process of its own, because Linux counts the memory of the parent as that of a command
        options = ["--only", *parts, *(["--quick"] if sizes is QUICK else [])]
        subprocess.run([sys.executable, __file__, "--make-data", folder, *options], check=True)
        shop = Workshop(Path(folder), sizes)
        for part in (name for name in PARTS if name in parts):
            begin = time.perf_counter()
            yield part, PARTS[part](shop)
            console.print(f"[green]{part}[/] [dim]{time.perf_counter() - begin:.0f} s[/]")


def joined(known: Row, part: str, rows: list[Row]) -> Row:
    """Combine the new numbers of one part with the stored numbers of the others."""
    dates = known.get("dates", {}) | {part: date.today().isoformat()}
    return rounded({**about(), "dates": dates, **{name: known.get(name, []) for name in PARTS}, part: rows})


def about() -> Row:
    """Describe machine and versions."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return {
        "versions": {"python": platform.python_version(), **dict(versions_of(PROGRAMS))},
        "machine": {"cores": os.cpu_count(), "memory_gb": memory},
        "settings": {"seed": SEED, "bins": BINS, "limit": LIMIT, "merged": MERGED},
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out-of-core", action="store_true", help="a billion rows as well; 9 GB of disk")
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing; page and picture from the stored numbers"
    )
    parser.add_argument("--quick", action="store_true", help="few rows for every part; write nothing")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--make-data", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else FULL
    everything = asked.out_of_core or asked.quick
    parts = asked.only or [part for part in PARTS if everything or part != "out_of_core"]
    if asked.make_data:
        make_data(asked.make_data, parts, sizes)
        return
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    if not asked.redraw:
        for part, rows in measured(parts, sizes):
            numbers = joined(numbers, part, rows)
            if not asked.quick:
                save_parts(NUMBERS, numbers)  # save each part as soon as it is measured
    page, figure = page_of(numbers), draw(numbers)
    if not asked.quick:
        fill(PAGE, "make bench", page)
        figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


def make_data(folder: Path, parts: list[str], sizes: Sizes) -> None:
    """Write the arrays and files that the parts read."""
    make_rows(folder, sizes)
    make_matrices(folder, sizes)
    if "out_of_core" in parts:
        make_billion(folder, sizes)


if __name__ == "__main__":
    main()
