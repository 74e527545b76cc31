"""Counts in cells of logits as plain data: only cells with rows are stored."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal import _files
from bayescal.clinical.slope.counts import LogitBins, LogitCounts, logit_bins
from bayescal.stats.documents.sums import WEIGHTS, floats, integers, sums_document, sums_from_document
from bayescal.stats.stored import register_bins, register_counts

SUMS = ("cells", "deviation", "deviation_sq", *WEIGHTS)  #: Sums with one entry per cell, on the last axis.
WITHOUT = ("losses", "reading")  #: Sums that cells of logits lack, and what is not stored.


def logits_document(counts: LogitCounts) -> dict[str, Any]:
    """Return the width of the cells, the numbers of the cells with rows, and their sums."""
    used = np.flatnonzero(counts.binned.cells.any(axis=0))
    sums = {name: value for name, value in sums_document(counts.binned).items() if name not in WITHOUT}
    kept = {name: np.asarray(value)[..., used].tolist() for name, value in sums.items() if name in SUMS}
    return {"step": counts.step, "cell": used.tolist(), **sums, **kept}


def logits_from_document(document: Mapping[str, Any]) -> LogitCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, ["step", "cell", "rows", *SUMS[:3]], WEIGHTS)
    bins = logit_bins(float(floats("step", document["step"], ())))
    size = len(document["cell"]) if isinstance(document["cell"], list) else 0
    cell = integers("cell", document["cell"], (size,))
    if np.any(np.diff(cell) <= 0) or (size and cell[-1] >= len(bins)):
        raise ValueError(f"`cell` must hold increasing numbers of cells from 0 to {len(bins) - 1}.")
    full: dict[str, Any] = {"rows": document["rows"], "losses": None}
    for name in [name for name in SUMS if name in document]:
        shape = (2, size) if name in ("cells", "deviation", "weight") else (size,)
        read = integers if name == "cells" else floats
        values = np.zeros((*shape[:-1], len(bins)), np.int64 if name == "cells" else np.float64)
        values[..., cell] = read(name, document[name], shape)
        full[name] = values.tolist()
    return LogitCounts(sums_from_document(full, bins, "event"))


def _read_bins(document: Mapping[str, Any]) -> LogitBins:
    _files.require_entries(document, ["kind", "step"], where="'bins'")
    return logit_bins(float(floats("bins.step", document["step"], ())))


register_bins("logit", LogitBins, lambda bins: {"step": bins.step}, _read_bins)
register_counts(
    "logit",
    LogitCounts,
    logits_document,
    logits_from_document,
    "counts in cells of logits",
    "holds counts in cells of logits, for an intercept and a slope, and a report has bins. "
    "`bayescal.clinical.recalibration_counts` evaluates them in Python.",
    binary=lambda counts: counts.binned,
)
