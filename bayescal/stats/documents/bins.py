"""Edges of bins as plain data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal.stats.bins import BINNINGS, MOST_BINS, SIDES, Bins, equal_width_edges, make_bins
from bayescal.stats.documents.values import floats, integers
from bayescal.stats.kinds import bins_kinds


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
