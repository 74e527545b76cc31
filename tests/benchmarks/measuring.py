"""Seconds, memory, and the time of reading; and, run as a program, one job in a process of its own.

    python measuring.py '{"of": "rows", "way": "bayescal", "folder": ".", "shapes": [...]}'

prints what was measured as JSON in its last line. A process of its own, so that the memory of one way is not that of
another, and no library that one has loaded changes the threads of the next.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

#: Seconds for which a call is repeated, and how often at least, at most; a call of `LONG` seconds is not repeated.
BUDGET, AT_LEAST, AT_MOST, LONG = 1.0, 3, 200, 12.0
#: Rows of a call before the clock runs: what is imported and compiled at the first call.
FEW = 20_000


def shortest(call: Callable[[], Any]) -> tuple[float, int, Any]:
    """Smallest time of some calls, how many they were, and what the last one returned."""
    times: list[float] = []
    while len(times) < AT_LEAST or (sum(times) < BUDGET and len(times) < AT_MOST):
        begin = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - begin)
        if times[-1] > LONG:
            break
    return min(times), len(times), result


def reader() -> Callable[..., int]:
    """A compiled loop over arrays as 64-bit words, in one thread: the time of reading these bytes."""
    import numba

    @numba.njit
    def xor(words: np.ndarray) -> int:
        total = np.uint64(0)
        for word in words:
            total ^= word
        return total

    def read(*arrays: np.ndarray) -> int:
        total = np.uint64(0)
        for array in arrays:
            flat = array.reshape(-1).view(np.uint8)
            total ^= xor(flat[: len(flat) // 8 * 8].view(np.uint64))
        return int(total)

    read(np.zeros(8))
    return read


def resident(field: str) -> int | None:
    """Bytes of memory of this process now (VmRSS) or at most (VmHWM); None where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field))


def forget_peak() -> None:
    """Let VmHWM begin anew."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux, or not allowed: the peak is then that of the process, from its beginning
        return


def extra_memory(call: Callable[[], Any]) -> float | None:
    """Megabytes that a call needs at its peak beside what was there before."""
    before = resident("VmRSS")
    forget_peak()
    call()
    peak = resident("VmHWM")
    return None if before is None or peak is None else max(0.0, (peak - before) / 1e6)


# --- jobs


def arrays_of(job: Row) -> dict[str, Any]:
    """Arrays from files, wholly in memory."""
    folder = Path(job["folder"])
    return {name: np.load(folder / f"{file}.npy") for name, file in job["arrays"].items()}


def first_rows(arrays: dict[str, Any], n_rows: int, folder: Path) -> dict[str, Any]:
    """Without a copy."""
    return {name: array[:n_rows] for name, array in arrays.items()} | {"folder": folder}


def measure(job: Row) -> list[Row]:
    """One way on the first rows of its arrays, for each (number of rows, number of bins) asked for."""
    from ways import WAYS

    way = next(way for way in WAYS[job["of"]] if way.name == job["way"])
    arrays, folder, read = arrays_of(job), Path(job["folder"]), reader()
    way.prepare(first_rows(arrays, FEW, folder), 15)()
    rows: list[Row] = []
    for n_rows, bins in job["shapes"]:
        if too_long(rows, n_rows, job["limit"]):
            break
        given = first_rows(arrays, n_rows, folder)
        touched = [given[name] for name in job["read"]]
        reading = shortest(lambda touched=touched: read(*touched))[0]
        call = way.prepare(given, bins)
        extra = extra_memory(call)
        seconds, repeats, value = shortest(call)
        rows.append(
            {
                "way": way.name,
                "n_rows": n_rows,
                "bins": bins,
                "seconds": seconds * way.times,
                "repeats": repeats,
                "times": way.times,
                "threads": way.threads,
                "read_here": reading,
                "of_arrays": list(job["arrays"]),
                "dtype": str(given[job["read"][-1]].dtype),
                "read_bytes": sum(array.nbytes for array in touched),
                "extra_mb": extra,
                "value": value,
            }
        )
    return rows


def too_long(rows: list[Row], n_rows: int, limit: float) -> bool:
    """Whether the next number of rows would take longer than the limit, to judge by the last."""
    last = rows[-1] if rows else None
    return last is not None and last["seconds"] / last["times"] * n_rows / last["n_rows"] > limit


def first_call(job: Row) -> list[Row]:
    """Import, and the first call of a process."""
    rng = np.random.default_rng(1)
    y, p = rng.random(job["n_rows"]) < 0.5, rng.random(job["n_rows"])
    before = resident("VmRSS")
    begin = time.perf_counter()
    from bayescal import BinnedCounts

    imported = time.perf_counter()
    BinnedCounts.from_arrays(y, p)
    done, now = time.perf_counter(), resident("VmRSS")
    grown = None if before is None or now is None else (now - before) / 1e6
    return [{"import_seconds": imported - begin, "seconds": done - imported, "grown_mb": grown}]


def count_files(job: Row) -> list[Row]:
    """Count the rows of files as a worker does, from the moment that a line comes in."""
    from bayescal import BinnedCounts, save_counts

    BinnedCounts.from_arrays(np.zeros(FEW, np.int8), np.zeros(FEW))
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    parts = []
    for part in job["parts"]:
        y, p = (np.load(Path(job["folder"]) / f"{name}{part}.npy", mmap_mode="r") for name in "yp")
        parts.append(BinnedCounts.from_arrays(y, p))
    save_counts(sum(parts), job["to"])
    return [{"seconds": time.perf_counter() - begin}]


JOBS = {"measure": measure, "first_call": first_call, "count_files": count_files}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(JOBS[asked.get("do", "measure")](asked)))
