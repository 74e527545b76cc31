"""Sums of weights as plain data."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._rules import NOT_NEGATIVE
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.documents.values import ROUNDING, TINY, floats, within
from bayescal.stats.paired import PairedCounts
from bayescal.stats.row_counts import by_bin, unit_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEIGHTS = ("weight", "weight_sq")


def weights_document(counts: BinnedCounts | PairedCounts) -> dict[str, Any]:
    """Return sums of weights and of squared weights; nothing if every weight is 1."""
    if not counts.weighted:
        return {}
    return {name: getattr(counts, name).tolist() for name in WEIGHTS}


def read_weights(document: Mapping[str, Any], rows: Ints, where: str) -> tuple[Floats, Floats]:
    """Read sums of weights and of squared weights; without them in the document, every weight is 1."""
    given = [name for name in WEIGHTS if name in document]
    if not given:
        return unit_weights(rows)
    if len(given) == 1:
        raise ValueError(f"`{where}{given[0]}` stands alone: weights need both of {list(WEIGHTS)}.")
    weight = floats(f"{where}weight", document["weight"], rows.shape)
    weight_sq = floats(f"{where}weight_sq", document["weight_sq"], rows.shape[-1:])
    for name, values in (("weight", weight), ("weight_sq", weight_sq)):
        NOT_NEGATIVE.require(f"{where}{name}", values)
    return weight, weight_sq


def require_possible_weights(where: str, rows: Ints, weight: Floats, weight_sq: Floats) -> None:
    """Require sums of squared weights between those of equal weights and of a single positive weight."""
    if rows.any() and not weight.any():
        raise ValueError(f"`{where}weight` is 0 everywhere, though there are {rows.sum()} rows.")
    within(f"{where}weight", "be 0 where there are no rows", np.where(rows == 0, weight, 0), 0 * weight, weight)
    with np.errstate(over="ignore"):
        each = weight * (weight / np.maximum(rows, 1))
    least, total = by_bin(each), by_bin(weight)
    with np.errstate(over="ignore"):
        most = total**2
    tiny = TINY * np.maximum(by_bin(rows), 1)  # squares that float64 does not hold
    within(f"{where}weight_sq", "fit `weight`", least * (1 - ROUNDING) - tiny, weight_sq, weight_sq)
    within(f"{where}weight_sq", "fit `weight`", weight_sq, most * (1 + ROUNDING) + tiny, weight_sq)
