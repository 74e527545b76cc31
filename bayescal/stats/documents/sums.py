"""Sums of the rows of each bin as plain data."""

from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal.data.predictions import TARGETS
from bayescal.data.reading import Reading
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.documents.bins import bins_document, bins_from_document
from bayescal.stats.documents.clusters import clusters_document, read_clusters
from bayescal.stats.documents.losses import (
    HALF_DIGIT,
    losses_document,
    read_losses,
    require_log,
    require_squared,
)
from bayescal.stats.documents.values import ROUNDING, floats, integers, require_total, within
from bayescal.stats.documents.weights import WEIGHTS, read_weights, require_possible_weights, weights_document
from bayescal.stats.kinds import CountsKind, register
from bayescal.stats.losses import KINDS
from bayescal.stats.row_counts import row_counts

#: Entries of the sums of each bin, and those that only some have.
NEEDED = ("rows", "cells", "deviation", "deviation_sq", "losses")
MAY_LACK = (*WEIGHTS, "log_losses", "clusters", "reading")


def sums_document(counts: BinnedCounts) -> dict[str, Any]:
    """Return the sums of each bin without the edges, and sums of weights only if a weight differs from 1."""
    return {
        "rows": counts.n_rows,
        "cells": counts.cells.tolist(),
        "deviation": counts.deviation.tolist(),
        "deviation_sq": counts.deviation_sq.tolist(),
        **losses_document({name: getattr(counts, name) for name in KINDS}),
        **weights_document(counts),
        **clusters_document(counts),
        **({} if counts.reading == Reading() else {"reading": asdict(counts.reading)}),
    }


def sums_from_document(document: Any, bins: Bins, target: str, where: str = "") -> BinnedCounts:
    """Convert the sums of each bin to counts, with validation; `where` is the prefix of names in messages."""
    _files.require_entries(document, NEEDED, MAY_LACK, where.rstrip("."))
    size = len(bins)
    cells = row_counts(f"{where}cells", integers(f"{where}cells", document["cells"], (2, size)))
    require_total(f"{where}rows", document["rows"], cells)
    deviation = floats(f"{where}deviation", document["deviation"], (2, size))
    deviation_sq = floats(f"{where}deviation_sq", document["deviation_sq"], (size,))
    weight, weight_sq = read_weights(document, cells, where)
    require_possible_weights(where, cells, weight, weight_sq)
    reach = bins.widths / 2 + HALF_DIGIT
    within(f"{where}deviation", "lie within its bin", np.abs(deviation), weight * reach, deviation)
    # Cauchy-Schwarz inequality in each bin, with a tolerance for the rounding of long sums
    room = ROUNDING * weight.sum(axis=0) * reach**2
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(weight > 0, deviation * (deviation / weight), 0).sum(axis=0)
    within(f"{where}deviation_sq", "fit `deviation`", least - room, deviation_sq, deviation_sq)
    within(f"{where}deviation_sq", "lie within its bin", deviation_sq, weight.sum(axis=0) * reach**2, deviation_sq)
    counts = BinnedCounts(bins, cells, weight, deviation, deviation_sq, weight_sq, target)
    checks = {"losses": require_squared, "log_losses": require_log}
    losses_of: dict[str, Any] = {name: read_losses(document, name, counts, where, checks[name]) for name in KINDS}
    counts = replace(counts, **losses_of)
    reading = read_reading(document.get("reading"), f"{where}reading", counts.n_rows)
    return replace(counts, clusters=read_clusters(document, counts, where), reading=reading)


def read_reading(document: Any, name: str, n_rows: int) -> Reading:
    """Validate how the probabilities were read; a document without divided rows and without logits lacks it."""
    if document is None:
        return Reading()
    _files.require_entries(document, [field.name for field in fields(Reading)], where=f"'{name}'")
    counted = ("divided", "not_above_half", "like_probabilities")
    for key in counted:
        number = np.atleast_1d(integers(f"{name}.{key}", document[key], ()))
        within(f"{name}.{key}", "be at most the number of rows", number, np.array([n_rows]), number)
    deviation = floats(f"{name}.deviation", document["deviation"], ())
    _checks.between(f"{name}.deviation", np.atleast_1d(deviation), 0.0, 1.0)
    return Reading(deviation=float(deviation), **{key: int(document[key]) for key in counted})


def _document(counts: BinnedCounts) -> dict[str, Any]:
    return {"target": counts.target, "bins": bins_document(counts.bins), **sums_document(counts)}


def _read(document: dict[str, Any]) -> BinnedCounts:
    _files.require_entries(document, ["target", "bins", *NEEDED], MAY_LACK)
    _checks.one_of("target", document["target"], TARGETS)
    sums = {name: value for name, value in document.items() if name not in ("target", "bins")}
    return sums_from_document(sums, bins_from_document(document["bins"]), document["target"])


register(CountsKind("binned", BinnedCounts, _document, _read, "counts of one classifier"))
