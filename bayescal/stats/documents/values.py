"""Numbers of a document: their type, shape and range, and bounds between sums; edges of bins."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _files
from bayescal.stats.bins import BINNINGS, MOST_BINS, SIDES, Bins, equal_width_edges, make_bins
from bayescal.stats.kinds import bins_kinds
from bayescal.stats.sums import MOST_ROWS

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Bound of the rounding error of a sequential sum of 1e9 rows, relative to the sum of absolute values.
ROUNDING = 1e-6
TINY = float(np.finfo(np.float64).tiny)
#: Sums of squared weights below `_rules.LARGEST_WEIGHT` over any number of rows are smaller; they can be added.
LARGEST = 1e300


def integers(name: str, values: Any, shape: tuple[int, ...]) -> Ints:
    """Read JSON integers >= 0 of the given shape; 1.0 and true are not integers."""
    return _array(name, values, shape, (int,), "integers >= 0 below 2^63", lambda v: 0 <= v <= MOST_ROWS).astype(
        np.int64
    )


def floats(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Read finite JSON numbers of the given shape; numbers whose sums could overflow are refused."""
    rule = f"finite numbers up to {LARGEST:g}"
    return _array(name, values, shape, (int, float), rule, lambda v: abs(v) <= LARGEST).astype(np.float64)


def _array(
    name: str, values: Any, shape: tuple[int, ...], kinds: tuple[type, ...], rule: str, holds: Any
) -> NDArray[np.object_]:
    flat = [values]
    for length in shape:
        if not all(isinstance(part, list) and len(part) == length for part in flat):
            raise ValueError(f"`{name}` must be an array of {rule} of shape {shape}.")
        flat = [value for part in flat for value in part]
    for i, value in enumerate(flat):
        if type(value) not in kinds or not holds(value):
            at = f" at index {tuple(map(int, np.unravel_index(i, shape)))}" if shape else ""
            raise ValueError(f"`{name}` must hold {rule}; {_checks.quoted(value)}{at} is not.")
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def require_total(name: str, stated: Any, cells: Ints) -> None:
    """Require a stated number of rows that is the sum of the cells."""
    rows = int(cells.sum())
    if int(integers(name, stated, ())) != rows:
        raise ValueError(f"`{name}` must be what the cells add up to, {rows}; it is {stated}.")


def within(name: str, rule: str, values: Array, most: Array, shown: Array) -> None:
    """Require values up to `most`, apart from rounding; the message has the rule and the first value of `shown`."""
    bad = values > most * (1 + ROUNDING)
    if bad.any():
        _checks.refuse(name, f"must {rule}", bad, shown, hint="These are not sums over rows.")


def bins_document(bins: Bins) -> dict[str, Any]:
    """Convert edges to plain data; equal-width edges are stored as their number of bins."""
    closed = {} if bins.closed == "left" else {"closed": bins.closed}
    if bins.kind in bins_kinds():
        return {"kind": bins.kind, **bins_kinds()[bins.kind].document(bins)}
    if bins.kind == "equal-width":
        if not np.array_equal(bins.edges, equal_width_edges(len(bins))):
            raise ValueError(f"these {bins} do not have the edges k / {len(bins)} that their kind stands for.")
        return {"kind": bins.kind, "number": len(bins), **closed}
    return {"kind": bins.kind, "edges": bins.edges.tolist(), **closed}


def bins_from_document(document: Any) -> Bins:
    """Convert plain data to edges, with validation."""
    kind, closed = (
        (document.get("kind"), document.get("closed", "left")) if isinstance(document, Mapping) else (None, "left")
    )
    _checks.one_of("bins.closed", closed, SIDES)
    if kind == "equal-width":
        _files.require_entries(document, ["kind", "number"], ["closed"], where="'bins'")
        number = int(integers("bins.number", document["number"], ()))
        if not 1 <= number <= MOST_BINS:
            raise ValueError(f"`bins.number` must be from 1 to {MOST_BINS}, not {number}.")
        return make_bins(number, closed=closed)
    if isinstance(kind, str) and kind in bins_kinds():
        return bins_kinds()[kind].read(document)
    _files.require_entries(document, ["kind", "edges"], ["closed"], where="'bins'")
    _checks.one_of("bins.kind", kind, [*BINNINGS, "custom", *bins_kinds()])
    if not isinstance(document["edges"], list) or len(document["edges"]) < 2:
        raise ValueError("`bins.edges` must be an array of at least two edges.")
    return Bins(make_bins(floats("bins.edges", document["edges"], (len(document["edges"]),))).edges, str(kind), closed)
