"""Ways to the same number, of bayescal and of others: each is given arrays or a frame, and makes a call to be timed.

A way is prepared before the clock runs: imports, and the containers that it wants rows in. Its call returns the plug-in
ECE where it gives one, so that what is compared is known to be the same.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Call = Callable[[], float | None]


@dataclass(frozen=True)
class Way:
    """One way to count.

    Parameters
    ----------
    name : str
        What tables say.
    prepare : callable
        (arrays, bins) -> what is timed.
    needs : tuple of str
        Modules without which it is left out.
    times : int
        How often its call would be made for what one reports.
    threads : str
        How many the call uses.
    """

    name: str
    prepare: Callable[[Arrays, int], Call]
    needs: tuple[str, ...] = ()
    times: int = 1
    threads: str = "one"

    @property
    def missing(self) -> list[str]:
        """Modules that are not installed."""
        return [module for module in self.needs if find_spec(module) is None]


def plug_in(counts: Any) -> float:
    """The plug-in ECE of counts."""
    there = counts.occupied
    gaps = np.abs(counts.accuracy[there] - counts.mean_confidence[there])
    return float((counts.share[there] * gaps).sum())


# --- a column of outcomes and a column of probabilities


def _bayescal(loops: str, threads: int = 1) -> Callable[[Arrays, int], Call]:
    def prepare(arrays: Arrays, bins: int) -> Call:
        from bayescal import BinnedCounts

        os.environ |= {"BAYESCAL_COMPILE": loops, "BAYESCAL_THREADS": str(threads)}
        return lambda: plug_in(BinnedCounts.from_arrays(arrays["y"], arrays["p"], bins=bins))

    return prepare


def _scikit_learn(arrays: Arrays, bins: int) -> Call:
    from sklearn.calibration import calibration_curve

    def call() -> None:  # a curve without the numbers of rows; no ECE comes out
        calibration_curve(arrays["y"], arrays["p"], n_bins=bins)

    return call


def _torch_in_one_thread() -> Any:
    import torch

    torch.set_num_threads(1)
    return torch


def _torchmetrics(arrays: Arrays, bins: int) -> Call:
    torch = _torch_in_one_thread()
    from torchmetrics.functional.classification import binary_calibration_error

    y, p = torch.from_numpy(arrays["y"]), torch.from_numpy(arrays["p"])
    return lambda: float(binary_calibration_error(p, y, n_bins=bins, norm="l1"))


def _netcal(arrays: Arrays, bins: int) -> Call:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of its own documentation
        from netcal.metrics import ECE

    return lambda: float(ECE(bins).measure(arrays["p"], arrays["y"]))


def row_bootstrap(y: np.ndarray, p: np.ndarray, bins: int, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Plug-in ECEs of resamples: draw rows with replacement, bin them, sum them."""
    errors = np.empty(n_resamples)
    for i in range(n_resamples):
        chosen = rng.integers(0, len(y), len(y))
        score, outcome = p[chosen], y[chosen]
        b = np.minimum((score * bins).astype(np.intp), bins - 1)
        gaps = np.bincount(b, outcome, bins) - np.bincount(b, score, bins)
        errors[i] = np.abs(gaps).sum() / len(y)
    return errors


def _bootstrap(arrays: Arrays, bins: int) -> Call:
    rng = np.random.default_rng(2)

    def call() -> None:  # another data set each time: its ECE is not that of the rows
        row_bootstrap(arrays["y"], arrays["p"], bins, 1, rng)

    return call


COMPILED, NUMPY, TWO = "bayescal", "bayescal, numpy", "bayescal, two threads"
SKLEARN, TORCH, NETCAL, BOOTSTRAP = "scikit-learn", "torchmetrics", "netcal", "row bootstrap"

OF_ROWS = [
    Way(COMPILED, _bayescal("always"), ("numba",)),
    Way(TWO, _bayescal("always", threads=2), ("numba",), threads="two"),
    Way(NUMPY, _bayescal("never")),
    Way(SKLEARN, _scikit_learn, ("sklearn",)),
    Way(TORCH, _torchmetrics, ("torchmetrics",)),
    Way(NETCAL, _netcal, ("netcal",)),
    Way(BOOTSTRAP, _bootstrap, times=1000),
]

# --- labels and a matrix, one column a class


def _top_label(loops: str) -> Callable[[Arrays, int], Call]:
    def prepare(arrays: Arrays, bins: int) -> Call:
        from bayescal.data.matrix import ClassRows

        os.environ["BAYESCAL_COMPILE"] = loops
        return lambda: float(ClassRows.read(arrays["label"], arrays["matrix"]).top_label()[1].mean())

    return prepare


def _argmax(arrays: Arrays, bins: int) -> Call:
    label, matrix = arrays["label"], arrays["matrix"]

    def call() -> float:
        top = matrix.argmax(axis=1)
        np.take_along_axis(matrix, top[:, None], axis=1)
        return float((top == label).mean())

    return call


def _top_label_ece(loops: str) -> Callable[[Arrays, int], Call]:
    def prepare(arrays: Arrays, bins: int) -> Call:
        from bayescal import plug_in_ece

        os.environ["BAYESCAL_COMPILE"] = loops
        return lambda: plug_in_ece(arrays["label"], arrays["matrix"], bins=bins)

    return prepare


def _torchmetrics_top_label(arrays: Arrays, bins: int) -> Call:
    torch = _torch_in_one_thread()
    from torchmetrics.functional.classification import multiclass_calibration_error

    label, matrix = torch.from_numpy(arrays["label"]), torch.from_numpy(arrays["matrix"])
    classes = matrix.shape[1]
    return lambda: float(multiclass_calibration_error(matrix, label, num_classes=classes, n_bins=bins, norm="l1"))


def _classwise(loops: str) -> Callable[[Arrays, int], Call]:
    def prepare(arrays: Arrays, bins: int) -> Call:
        from bayescal import BinnedCounts

        os.environ["BAYESCAL_COMPILE"] = loops
        label, matrix = arrays["label"], arrays["matrix"]
        return lambda: float(np.mean([plug_in(c) for c in BinnedCounts.classwise(label, matrix, bins=bins)]))

    return prepare


def _columns(arrays: Arrays, bins: int) -> Call:
    from bayescal import BinnedCounts

    os.environ["BAYESCAL_COMPILE"] = "always"
    label, matrix = arrays["label"], arrays["matrix"]

    def call() -> float:
        problems = (BinnedCounts.from_arrays(label == k, matrix[:, k], bins=bins) for k in range(matrix.shape[1]))
        return float(np.mean([plug_in(counts) for counts in problems]))

    return call


ARGMAX = "numpy's argmax"
TOP_LABEL = [
    Way(COMPILED, _top_label("always"), ("numba",)),
    Way(NUMPY, _top_label("never")),
    Way(ARGMAX, _argmax),
]
TOP_LABEL_ECE = [
    Way(COMPILED, _top_label_ece("always"), ("numba",)),
    Way(NUMPY, _top_label_ece("never")),
    Way(TORCH, _torchmetrics_top_label, ("torchmetrics",)),
]
CLASSWISE = [
    Way(COMPILED, _classwise("always"), ("numba",)),
    Way(NUMPY, _classwise("never")),
    Way("bayescal, column by column", _columns, ("numba",)),
]

# --- frames, which are counted by their engines


def _frame(made: Callable[[Arrays], Any]) -> Callable[[Arrays, int], Call]:
    def prepare(arrays: Arrays, bins: int) -> Call:
        from bayescal import BinnedCounts

        frame = made(arrays)
        return lambda: plug_in(BinnedCounts.from_frame(frame, outcome="y", confidence="p", bins=bins))

    return prepare


def _columns_of(arrays: Arrays) -> Arrays:
    return {"y": arrays["y"], "p": arrays["p"]}


def _polars(arrays: Arrays) -> Any:
    import polars

    return polars.DataFrame(_columns_of(arrays))


def _arrow(arrays: Arrays) -> Any:
    import pyarrow

    return pyarrow.table(_columns_of(arrays))


def _duckdb(arrays: Arrays) -> Any:
    import duckdb

    connection, rows = duckdb.connect(), _arrow(arrays)
    connection.register("rows", rows)
    connection.execute("create table counted as select * from rows")
    return connection.table("counted")


def _pandas(arrays: Arrays) -> Any:
    import pandas

    return pandas.DataFrame(_columns_of(arrays))


def _dask(arrays: Arrays) -> Any:
    from dask import dataframe

    return dataframe.from_pandas(_pandas(arrays), npartitions=8)


def _parquet(arrays: Arrays) -> str:
    """A file that lies beside the arrays, so that it is written once."""
    return str(arrays["folder"] / f"{len(arrays['y'])}.parquet")


def _duckdb_parquet(arrays: Arrays) -> Any:
    import duckdb

    return duckdb.connect().read_parquet(_parquet(arrays))


def _polars_parquet(arrays: Arrays) -> Any:
    import polars

    return polars.scan_parquet(_parquet(arrays))


ALL = "all"
OF_FRAMES = [
    Way("numpy arrays (`from_arrays`)", _bayescal("always"), ("numba",)),
    Way("polars", _frame(_polars), ("polars",), threads=ALL),
    Way("polars, lazy", _frame(lambda arrays: _polars(arrays).lazy()), ("polars",), threads=ALL),
    Way("duckdb table", _frame(_duckdb), ("duckdb", "pyarrow"), threads=ALL),
    Way("pyarrow", _frame(_arrow), ("pyarrow",), threads=ALL),
    Way("pandas", _frame(_pandas), ("pandas",)),
    Way("dask, 8 partitions", _frame(_dask), ("dask", "pandas"), threads=ALL),
    Way("Parquet file, duckdb", _frame(_duckdb_parquet), ("duckdb", "pyarrow"), threads=ALL),
    Way("Parquet file, polars", _frame(_polars_parquet), ("polars", "pyarrow"), threads=ALL),
]

WAYS = {
    "rows": OF_ROWS,
    "top_label": TOP_LABEL,
    "top_label_ece": TOP_LABEL_ECE,
    "classwise": CLASSWISE,
    "frames": OF_FRAMES,
}
