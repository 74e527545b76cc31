"""Hostile and awkward inputs: an error that says what, how many and where, or the right number; never a wrong one.

Every case runs through `plug_in_ece`, `evaluate` and `BinnedCounts.from_arrays`. Right numbers are computed in exact
rational arithmetic.
"""

import decimal
import fractions
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xarray as xr

import bayescal as bc
from bayescal.estimands.plug_in import observed_bins

N = 60


def exact_ece(y, p, n_bins=10, w=None, edges=None):
    """Sum over bins of |sum of w (y - p)| over the sum of w, in rational arithmetic on [a, b) bins."""
    p = [Fraction(float(v)) for v in p]
    w = [Fraction(1)] * len(p) if w is None else [Fraction(float(v)) for v in w]
    edges = [Fraction(k, n_bins) for k in range(n_bins + 1)] if edges is None else [Fraction(float(e)) for e in edges]
    sums = [Fraction(0)] * (len(edges) - 1)
    for yi, pi, wi in zip(y, p, w, strict=True):
        b = min(sum(e <= pi for e in edges) - 1, len(sums) - 1)
        sums[b] += wi * (int(yi) - pi)
    return float(sum(map(abs, sums)) / sum(w))


def binary():
    """Scores away from every k/10, and outcomes somewhat below them."""
    rng = np.random.default_rng(1)
    p = np.round(rng.random(N) * 0.9 + 0.05, 3) + 0.00037
    return (rng.random(N) < p**1.4).astype(np.int64), p


def multiclass():
    rng = np.random.default_rng(2)
    matrix = rng.dirichlet(np.full(4, 0.8), N)
    return np.array([rng.choice(4, p=row) for row in matrix]), matrix


def changed(array, index, value, dtype=None):
    array = array.astype(dtype) if dtype else array.copy()
    array[index] = value
    return array


@dataclass
class Refused:
    """A case that must raise `error` naming `argument`, `count` bad values and the `first` index, and say `also`."""

    name: str
    y: Any
    p: Any
    error: type
    argument: str
    count: int | None = None
    first: int | str | None = None
    also: str = ""
    options: dict = field(default_factory=dict)


Y, PROB = binary()
LABEL, MATRIX = multiclass()
LATE = np.arange(N) >= N - 3
#: NaN would be a plausible number in peers that drop it, put it into bin 0, or return 0.1.
REFUSED = [
    # missing and infinite
    Refused("NaN in p", Y, changed(PROB, 17, np.nan), ValueError, "y_prob", 1, 17, "missing"),
    Refused("NaN in float32 p", Y, changed(PROB, [17, 20], np.nan, np.float32), ValueError, "y_prob", 2, 17, "missing"),
    Refused("inf in p", Y, changed(PROB, 17, np.inf), ValueError, "y_prob", 1, 17, "finite"),
    Refused("-inf in p", Y, changed(PROB, [3, 17], -np.inf), ValueError, "y_prob", 2, 3, "finite"),
    Refused("None in p", Y, changed(PROB, 17, None, object), ValueError, "y_prob", 1, 17, "missing"),
    Refused("None in a list", Y, [None, *PROB[1:]], ValueError, "y_prob", 1, 0, "missing"),
    Refused("NaN in y", changed(Y, 5, np.nan, float), PROB, ValueError, "y_true", 1, 5, "missing"),
    Refused("inf in y", changed(Y, 5, np.inf, float), PROB, ValueError, "y_true", 1, 5, "finite"),
    Refused(
        "NA of pandas in p", pd.Series(Y), pd.Series(PROB, dtype="Float64").mask(LATE), ValueError, "y_prob", 3, 57
    ),
    Refused("NA of pandas in y", pd.Series(Y, dtype="Int64").mask(LATE), pd.Series(PROB), ValueError, "y_true", 3, 57),
    Refused(
        "null of arrow in pandas", Y, pd.Series(PROB, dtype="double[pyarrow]").mask(LATE), ValueError, "y_prob", 3, 57
    ),
    Refused("null of polars", Y, pl.Series([None, *PROB[1:]]), ValueError, "y_prob", 1, 0, "missing"),
    Refused("NaN of polars", Y, pl.Series(changed(PROB, 4, np.nan)), ValueError, "y_prob", 1, 4, "missing"),
    Refused("null of pyarrow", pa.array([None, *Y[1:].tolist()]), PROB, ValueError, "y_true", 1, 0, "missing"),
    Refused("masked p", Y, np.ma.masked_array(PROB, LATE), ValueError, "y_prob", 3, 57, "masked"),
    # range
    Refused("just above 1", Y, changed(PROB, 17, 1.001), ValueError, "y_prob", 1, 17, "1.001"),
    Refused("just below 0", Y, changed(PROB, [8, 9], -0.001), ValueError, "y_prob", 2, 8, "-0.001"),
    Refused("logits", Y, np.log(PROB / (1 - PROB)), ValueError, "y_prob", None, None, "Logits?"),
    Refused("percentages", Y, changed(100 * PROB, 0, 50.0), ValueError, "y_prob", N, 0, "Percentages?"),
    Refused("bytes of an image", Y, np.full(N, 200, np.uint8), ValueError, "y_prob", N, 0, "200"),
    Refused("y and p swapped", PROB, Y.astype(float), ValueError, "y_true", N, 0, "swapped"),
    # shape
    Refused("empty", np.array([], int), np.array([]), ValueError, "y_true", None, None, "empty"),
    Refused("one row short", Y, PROB[:-1], ValueError, "y_true", 60, 59, "has 59"),
    Refused("one row over", Y[:-1], PROB, ValueError, "y_true", 59, 59, "has 60"),
    Refused("p of one row", Y, PROB[None, :], ValueError, "y_prob"),
    Refused("one-hot y", np.eye(2, dtype=int)[Y], PROB, ValueError, "y_true", None, None, "(60, 2)"),
    # labels
    Refused("labels -1 and 1", changed(np.ones(N, int), [2, 7], -1), PROB, ValueError, "y_true", 2, 2, "-1"),
    Refused("labels 0 and 2", changed(np.zeros(N, int), [2, 7], 2), PROB, ValueError, "y_true", 2, 2, "classes"),
    Refused("labels 1 and 2", Y + 1, PROB, ValueError, "y_true", int(Y.sum()), int(np.argmax(Y)), "2"),
    Refused("a soft label", changed(Y, 11, 0.5, float), PROB, ValueError, "y_true", 1, 11, "0.5"),
    Refused("a huge label", changed(Y, 11, 2**40), PROB, ValueError, "y_true", 1, 11, str(2**40)),
    Refused("labels as strings", Y.astype(str), PROB, TypeError, "y_true", None, None, "string labels ('0', '1')"),
    # types
    Refused("complex p", Y, PROB.astype(complex), TypeError, "y_prob", None, None, "complex"),
    Refused("durations", Y, (PROB > 0.5).astype("timedelta64[ns]"), TypeError, "y_prob", None, None, "timedelta64[ns]"),
    Refused("strings for p", Y, PROB.astype(str), TypeError, "y_prob", None, None, "numbers"),
    Refused("booleans for p", Y, PROB > 0.5, TypeError, "y_prob", None, None, "astype(float)"),
    Refused("numbers and strings", Y, [*PROB[:-1], "high"], TypeError, "y_prob"),
    Refused("the same as objects", Y, changed(PROB, 9, "high", object), TypeError, "y_prob", 1, 9, "'high'"),
    Refused("sparse p", Y, scipy.sparse.csr_matrix(PROB[:, None]), TypeError, "y_prob", None, None, "sparse"),
    Refused(
        "fields",
        Y,
        np.array(list(zip(PROB, PROB, strict=True)), dtype=[("a", float), ("b", float)]),
        TypeError,
        "y_prob",
        None,
        None,
        "fields",
    ),
    Refused("a scalar", 1, 0.5, TypeError, "y_", None, None, "must be an array"),
    Refused("a name", Y, "p", TypeError, "y_prob", None, None, "'p'"),
    Refused("ragged rows", Y[:2], [[0.1, 0.9], [0.2]], ValueError, "y_prob", 1, 1, "same length"),
    # weights
    Refused(
        "a negative weight", Y, PROB, ValueError, "weights", 1, 9, ">= 0", {"weights": changed(np.ones(N), 9, -1.0)}
    ),
    Refused(
        "a weight of NaN", Y, PROB, ValueError, "weights", 1, 9, "missing", {"weights": changed(np.ones(N), 9, np.nan)}
    ),
    Refused(
        "an infinite weight",
        Y,
        PROB,
        ValueError,
        "weights",
        1,
        9,
        "finite",
        {"weights": changed(np.ones(N), 9, np.inf)},
    ),
    Refused("weights too short", Y, PROB, ValueError, "weights", 59, 59, "same length", {"weights": np.ones(N - 1)}),
    Refused("weights of zero", Y, PROB, ValueError, "weights", 60, 0, "all zero", {"weights": np.zeros(N)}),
    Refused("weights as strings", Y, PROB, TypeError, "weights", None, None, "numbers", {"weights": ["a"] * N}),
    Refused("a weight for all", Y, PROB, TypeError, "weights", None, None, "2.0", {"weights": 2.0}),
    # bins
    Refused("no bins", Y, PROB, ValueError, "bins", None, None, "0", {"bins": 0}),
    Refused("half a bin", Y, PROB, TypeError, "bins", None, None, "2.5", {"bins": 2.5}),
    Refused("bins in words", Y, PROB, TypeError, "bins", None, None, "'10'", {"bins": "10"}),
    Refused("falling edges", Y, PROB, ValueError, "edges", 1, 2, "0.3", {"bins": [0, 0.6, 0.3, 1]}),
    Refused("an edge of NaN", Y, PROB, ValueError, "edges", 1, 1, "missing", {"bins": [0, np.nan, 1]}),
    Refused("edges that lose rows", Y, PROB, ValueError, "edges", None, None, "from 0.2 to 1", {"bins": [0.2, 0.5, 1]}),
    Refused(
        "a wrong binning",
        Y,
        PROB,
        ValueError,
        "binning",
        None,
        None,
        "Did you mean 'equal-mass'",
        {"binning": "equal mass"},
    ),
]
REFUSED_MATRICES = [
    Refused("a label beyond the columns", changed(LABEL, [7, 30], 4), MATRIX, ValueError, "y_true", 2, 7, "0..3"),
    Refused("a label of -1", changed(LABEL, 7, -1), MATRIX, ValueError, "y_true", 1, 7, "-1"),
    Refused("a label between classes", changed(LABEL, 7, 1.5, float), MATRIX, ValueError, "y_true", 1, 7, "1.5"),
    Refused("a label of NaN", changed(LABEL, 7, np.nan, float), MATRIX, ValueError, "y_true", 1, 7, "missing"),
    Refused("string labels", LABEL.astype(str), MATRIX, TypeError, "y_true", None, None, "classes="),
    Refused(
        "a negative entry", LABEL, changed(MATRIX, 5, [-0.1, 0.5, 0.4, 0.2]), ValueError, "y_prob", 1, "(5, 0)", "-0.1"
    ),
    Refused("NaN in a row", LABEL, changed(MATRIX, (5, 2), np.nan), ValueError, "y_prob", 1, "(5, 2)", "missing"),
    Refused("transposed", LABEL, MATRIX.T, ValueError, "y_prob", 60, 4, "(4, 60)"),
    Refused("a square, transposed or not", LABEL[:3], MATRIX, ValueError, "y_true", 3, 3, "(60, 4)"),
    Refused("logits in a matrix", LABEL, np.log(MATRIX) + 3, ValueError, "y_prob", None, None, "Logits?"),
    Refused("scores that do not sum to 1", LABEL, MATRIX / 2, ValueError, "y_prob", N, 0, "sum to 1"),
    Refused("one row that does not", LABEL, changed(MATRIX, 33, [0.2] * 4), ValueError, "y_prob", 1, 33, "sum to 1"),
    Refused("three dimensions", LABEL, MATRIX.reshape(N, 2, 2), ValueError, "y_prob", None, None, "(60, 2, 2)"),
    Refused(
        "null in a data frame",
        LABEL,
        pl.DataFrame(changed(MATRIX, (8, 1), np.nan)).fill_nan(None),
        ValueError,
        "y_prob",
        1,
        "(8, 1)",
    ),
]


def check_message(case, caught, names):
    message = str(caught.value)
    argument = names.get(case.argument, case.argument)
    assert f"`{argument}" in message
    if case.count is not None:
        assert str(case.count) in message.replace(f"index {case.first}", "")
    if case.first is not None:
        assert f"index {case.first}" in message
    assert names.get(case.also, case.also) in message


def from_arrays(y, p, **options):
    return bc.BinnedCounts.from_arrays(y, p, **options)


def evaluate_events(y, p, **options):
    return bc.evaluate(y, p, target="event", draws=10, rng=1, **options)


def plug_in_events(y, p, **options):
    return bc.plug_in_ece(y, p, target="event", **options)


@pytest.mark.parametrize("function", [plug_in_events, evaluate_events, from_arrays])
@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c.name)
def test_refused(case, function):
    names = {"y_": ""} | ({"classes": "`y_true == label`"} if function is from_arrays else {})  # it takes no classes
    with pytest.raises(case.error) as caught:
        function(case.y, case.p, **case.options)
    check_message(case, caught, names)


@pytest.mark.parametrize("target", ["top-label", "classwise"])
@pytest.mark.parametrize("case", REFUSED_MATRICES, ids=lambda c: c.name)
def test_matrices_refused(case, target):
    with pytest.raises(case.error) as caught:
        bc.plug_in_ece(case.y, case.p, target=target)
    check_message(case, caught, {})
    with pytest.raises(case.error) as caught:
        bc.evaluate(case.y, case.p, target=target, draws=10, rng=1)
    check_message(case, caught, {})


def test_how_many_there_are():
    """At least forty refusals, thirty of them with argument, count and first index."""
    every = [*REFUSED, *REFUSED_MATRICES]
    assert len({c.name for c in every}) == len(every) >= 40
    assert sum(c.count is not None and c.first is not None for c in every) >= 30


# --- awkward, but right


@dataclass
class Accepted:
    name: str
    y: Any
    p: Any
    expected: float
    options: dict = field(default_factory=dict)
    rel: float = 1e-12


def grid(n_bins, dtype=np.float64):
    """Every k/M six times, the residuals of neighbouring values of opposite sign: merged neighbours would show.

    Returned with sum over values of |k - 6 v| / N: each value alone in its bin.
    """
    y, p, total = [], [], Fraction(0)
    for k in range(1, n_bins):
        ones = min(max(round(6 * k / n_bins) + (1 if k % 2 else -1), 0), 6)
        y += [1] * ones + [0] * (6 - ones)
        p += [k / n_bins] * 6
        total += abs(ones - 6 * Fraction(k, n_bins))
    return np.array(y), np.array(p, dtype=dtype), float(total / len(y))


QUARTER = (np.arange(N) % 4 > 0).astype(float)
EDGES = [0, 0.111, 0.253, 0.405, 0.521, 1.0]
ACCEPTED = [
    Accepted("plain", Y, PROB, exact_ece(Y, PROB)),
    Accepted("one bin", Y, PROB, abs(Y.mean() - PROB.mean()), {"bins": 1}),
    Accepted("more bins than rows", Y, PROB, exact_ece(Y, PROB, 500), {"bins": 500}),
    Accepted("a whole float of bins", Y, PROB, exact_ece(Y, PROB), {"bins": 10.0}),
    Accepted("own edges", Y, PROB, exact_ece(Y, PROB, edges=EDGES), {"bins": EDGES}),
    Accepted("one row", [1], [0.25], 0.75),
    Accepted("all labels 1", np.ones(N, int), PROB, exact_ece(np.ones(N), PROB)),
    Accepted("all scores equal", Y, np.full(N, 0.37), abs(Y.mean() - 0.37)),
    Accepted("all scores 1", Y, np.ones(N), 1 - Y.mean()),
    Accepted("all scores 0", Y, np.zeros(N), Y.mean()),
    Accepted("integers 0 and 1", Y, Y, 0.0),
    Accepted("boolean labels", Y.astype(bool), PROB, exact_ece(Y, PROB)),
    Accepted("labels as objects", Y.astype(object), PROB, exact_ece(Y, PROB)),
    Accepted("labels as floats", Y.astype(float), PROB, exact_ece(Y, PROB)),
    Accepted("labels as int8", Y.astype(np.int8), PROB, exact_ece(Y, PROB)),
    Accepted("categories", pd.Series(pd.Categorical(Y)), pd.Series(PROB), exact_ece(Y, PROB)),
    Accepted("Decimals", Y, [decimal.Decimal(repr(float(v))) for v in PROB], exact_ece(Y, PROB)),
    Accepted("Fractions", Y, [fractions.Fraction(float(v)) for v in PROB], exact_ece(Y, PROB)),
    Accepted("subnormal scores", [0, 1] * 10, [5e-324, 1e-310] * 10, 0.5),
    # peers: torchmetrics, relplot and Google's GCE give 0.525
    Accepted("1 shares the last bin", [1, 0], [0.95, 1.0], 0.475, {"bins": 1}),
    Accepted("and in ten bins", [0] * 10 + [1] * 190, [1.0] * 10 + [0.95] * 190, abs(190 - 10 - 190 * 0.95) / 200),
    # peers: calzone drops exact zeros (0.029 for 0.102)
    Accepted("0 is counted", [1, 0, 0, 0], [0.0, 0.0, 0.0, 0.05], abs(1 - 0.05) / 4),
    # peers: p / width and int(p * M) misplace 0.3, 0.6 and 0.7
    Accepted("tenths", *grid(10)[:2], grid(10)[2]),
    Accepted("tenths in float32", *grid(10, np.float32)[:2], grid(10)[2], rel=1e-6),
    Accepted("tenths in float16", *grid(10, np.float16)[:2], grid(10)[2], rel=2e-3),
    Accepted("fifteenths", *grid(15)[:2], grid(15)[2], {"bins": 15}),
    Accepted("hundredths", *grid(100)[:2], grid(100)[2], {"bins": 100}),
    Accepted(
        "a billionth",
        [0, 1] * 500,
        np.full(1000, 0.5 + 1e-9),
        float(Fraction(0.5 + 1e-9) - Fraction(1, 2)),
        {"bins": 9},
        1e-5,
    ),
    Accepted(
        "six thousand float16", np.arange(6000) % 10 < 3, np.full(6000, 0.63, np.float16), float(np.float16(0.63)) - 0.3
    ),
    Accepted(
        "weights of zero here and there", Y, PROB, exact_ece(Y[QUARTER > 0], PROB[QUARTER > 0]), {"weights": QUARTER}
    ),
    Accepted("weights", Y, PROB, exact_ece(Y, PROB, w=np.arange(1, N + 1)), {"weights": np.arange(1, N + 1)}),
    Accepted("weights of 1e307", Y, PROB, exact_ece(Y, PROB), {"weights": np.full(N, 1e307)}),
    Accepted("weights of 1e-300", Y, PROB, exact_ece(Y, PROB), {"weights": np.full(N, 1e-300)}),
    Accepted("unit weights", Y, PROB, exact_ece(Y, PROB), {"weights": np.ones(N, int)}),
]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda c: c.name)
def test_accepted(case):
    options = {"bins": 10, **case.options}
    close = pytest.approx(case.expected, rel=case.rel, abs=1e-15)
    assert bc.plug_in_ece(case.y, case.p, **options) == close
    assert bc.evaluate(case.y, case.p, draws=10, rng=1, **options).plug_in == close
    if "1e" not in case.name:  # batches of such weights could not be added: refused there, see test_binned
        counts = bc.BinnedCounts.from_arrays(case.y, case.p, **options)
        assert bc.ece(observed_bins(counts)).values[0] == close


@pytest.mark.parametrize(("value", "dtype"), [(1 + 1e-9, np.float64), (1 + 2**-23, np.float32), (-1e-9, np.float64)])
def test_rounding_beyond_the_ends_is_clipped_with_one_warning(value, dtype):
    p = changed(PROB, 17, value, dtype)
    with pytest.warns(UserWarning, match=r"`y_prob`: 1 of 60 values lie outside .* \(first at index 17\)") as caught:
        found = bc.plug_in_ece(Y, p, bins=10)
    assert len(caught) == 1
    assert found == pytest.approx(exact_ece(Y, np.clip(p, 0, 1)), rel=1e-6)
    assert p[17] == dtype(value)


# --- containers


def memory_map(values):
    with tempfile.TemporaryFile() as file:  # the map outlives the file's name
        mapped = np.memmap(file, values.dtype, "w+", shape=values.shape)
    mapped[:] = values
    return mapped


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


CONTAINERS = {
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "numpy": lambda v: v,
    "objects": lambda v: v.astype(object),
    "column": lambda v: v[:, None],
    "negative stride": lambda v: v[::-1].copy()[::-1],
    "every other": lambda v: np.repeat(v, 2)[::2],
    "column of a matrix": lambda v: np.column_stack([v, v])[:, 1],
    "big-endian": lambda v: v.astype(v.dtype.newbyteorder(">")),
    "read-only": read_only,
    "memory map": memory_map,
    "pandas": pd.Series,
    "pandas, shuffled index": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas on arrow": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "pandas frame": lambda v: pd.DataFrame({"v": v}),
    "polars": lambda v: pl.Series(v),
    "polars frame": lambda v: pl.DataFrame({"v": v}),
    "pyarrow array": pa.array,
    "pyarrow chunked": lambda v: pa.chunked_array([v[:7], v[7:]]),
    "pyarrow table": lambda v: pa.table({"v": v}),
    "xarray": lambda v: xr.DataArray(v, dims="row"),
}


def snapshot(container):
    if isinstance(container, xr.DataArray | pd.Series | pd.DataFrame | np.ndarray):
        return np.array(container, copy=True).tolist()
    if isinstance(container, list | tuple):
        return list(container)
    return (
        container.to_dict(as_series=False)
        if isinstance(container, pl.DataFrame)
        else container.to_pylist()
        if hasattr(container, "to_pylist")
        else container.to_list()
    )


@pytest.mark.parametrize("put", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_give_the_same_number_and_stay_as_they_were(put):
    expected = exact_ece(Y, PROB, w=np.arange(1, N + 1))
    y, p, w = put(Y), put(PROB), put(np.arange(1, N + 1))
    before = [snapshot(v) for v in (y, p, w)]
    assert bc.plug_in_ece(y, p, bins=10, weights=w) == pytest.approx(expected, rel=1e-12)
    ev = bc.evaluate(y, p, bins=10, weights=w, draws=10, rng=1)
    plain = bc.evaluate(Y, PROB, bins=10, weights=np.arange(1, N + 1), draws=10, rng=1)
    np.testing.assert_array_equal(ev.ece.values, plain.ece.values)
    assert bc.BinnedCounts.from_arrays(y, p, bins=10, weights=w) == bc.BinnedCounts.from_arrays(
        Y, PROB, bins=10, weights=np.arange(1, N + 1)
    )
    assert [snapshot(v) for v in (y, p, w)] == before


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_of_any_width(dtype):
    p = PROB.astype(dtype)
    assert bc.plug_in_ece(Y, p, bins=10) == pytest.approx(exact_ece(Y, p), rel=1e-12)


def test_zero_strides():
    p = np.broadcast_to(np.float64(0.37), (N,))
    assert bc.plug_in_ece(Y, p, bins=10) == pytest.approx(abs(Y.mean() - 0.37), rel=1e-12)


MATRICES = {
    "numpy": lambda m: m,
    "lists": lambda m: m.tolist(),
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "memory map": memory_map,
    "reversed": lambda m: m[::-1].copy()[::-1],
    "pandas": lambda m: pd.DataFrame(m, index=np.arange(len(m))[::-1]),
    "pandas nullable": lambda m: pd.DataFrame(m).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas on arrow": lambda m: pd.DataFrame(m).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda m: pl.DataFrame(m, schema=["p0", "p1", "p2", "p3"]),
    "pyarrow table": lambda m: pa.table({name: m[:, k] for k, name in enumerate("0123")}),
    "xarray": lambda m: xr.DataArray(m, dims=("row", "class")),
}


@pytest.mark.parametrize("put", MATRICES.values(), ids=MATRICES)
def test_matrices_of_any_container(put):
    matrix = put(MATRIX)
    top = exact_ece(MATRIX.argmax(axis=1) == LABEL, MATRIX.max(axis=1))
    by_class = np.mean([exact_ece(k == LABEL, MATRIX[:, k]) for k in range(4)])
    assert bc.plug_in_ece(LABEL, matrix, bins=10) == pytest.approx(top, rel=1e-12)
    assert bc.plug_in_ece(LABEL, matrix, bins=10, target="classwise") == pytest.approx(by_class, rel=1e-12)
    assert np.array_equal(np.asarray(matrix, dtype=float), MATRIX)


def test_a_float32_softmax_sums_to_one_nearly():
    matrix = MATRIX.astype(np.float32)
    top = exact_ece(matrix.argmax(axis=1) == LABEL, matrix.max(axis=1))
    assert bc.plug_in_ece(LABEL, matrix, bins=10) == pytest.approx(top, rel=1e-12)


def test_three_million_rows():
    """To eleven digits, against fsum."""
    import math

    rng = np.random.default_rng(5)
    p = rng.random(3_000_000)
    y = rng.random(3_000_000) < p
    b = np.minimum((p * 8).astype(int), 7)  # eighths are exact, so no score is misplaced
    exact = sum(abs(math.fsum((y - p)[b == k])) for k in range(8)) / len(y)
    assert bc.plug_in_ece(y, p, bins=8) == pytest.approx(exact, rel=1e-11)


# --- what else peers get wrong (each line of their conventions that applies here)


def test_one_number_whatever_the_batch():
    """torchmetrics decides per batch whether it sees logits; here a value outside [0, 1] is refused in any batch."""
    p = changed(PROB, 3, 1.7)
    for rows in (slice(None), slice(0, 10)):
        with pytest.raises(ValueError, match="first at index 3"):
            bc.plug_in_ece(Y[rows], p[rows])
    parts = bc.BinnedCounts.from_arrays(Y[:30], PROB[:30]) + bc.BinnedCounts.from_arrays(Y[30:], PROB[30:])
    whole = bc.BinnedCounts.from_arrays(Y, PROB)
    np.testing.assert_array_equal(parts.cells, whole.cells)


def test_a_class_without_rows_keeps_its_place():
    """netcal guesses the number of classes from the labels present."""
    label = np.where(LABEL == 3, 0, LABEL)
    expected = np.mean([exact_ece(label == k, MATRIX[:, k]) for k in range(4)])
    assert bc.plug_in_ece(label, MATRIX, bins=10, target="classwise") == pytest.approx(expected, rel=1e-12)
    assert len(bc.evaluate(label, MATRIX, target="classwise", draws=10, rng=1)) == 4


def test_bins_are_as_many_as_asked_for():
    """MAPIE makes K - 1 bins of K."""
    assert len(bc.BinnedCounts.from_arrays(Y, PROB, bins=10).n) == 10


def test_ties_are_not_split_by_the_order_of_rows():
    """Equal-mass bins of tied scores: the same answer however the rows are sorted."""
    p = np.round(PROB, 1)
    answers = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(N)
        answers.add(round(bc.plug_in_ece(Y[order], p[order], bins=7, binning="equal-mass"), 12))
    assert len(answers) == 1
    edges = bc.equal_mass_edges(p, 7)
    for value in np.unique(p):
        assert len(np.unique(np.searchsorted(edges, p[p == value], side="right"))) == 1
    assert len(edges) - 1 > 3
