"""Counts of rows with a judge's labels as plain data."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bayescal import _checks, _files
from bayescal.labels.sums import TARGETS, JudgedCounts
from bayescal.stats.documents.sums import bins_document, bins_from_document, sums_document, sums_from_document
from bayescal.stats.stored import register_counts

PARTS = tuple(field.name for field in fields(JudgedCounts))


def judged_document(counts: JudgedCounts) -> dict[str, Any]:
    """Return target, bins, and the sums of all rows and of the parts."""
    parts = {name: sums_document(getattr(counts, name)) for name in PARTS}
    return {"target": counts.target, "bins": bins_document(counts.bins), **parts}


def judged_from_document(document: Mapping[str, Any]) -> JudgedCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, ["target", "bins", *PARTS])
    _checks.one_of("target", document["target"], TARGETS)
    bins = bins_from_document(document["bins"])
    for name in PARTS:
        if "weight" in document[name]:
            raise ValueError(f"`{name}` must hold rows without weights.")
    return JudgedCounts(*(sums_from_document(document[name], bins, document["target"], f"{name}.") for name in PARTS))


register_counts(
    "judged",
    JudgedCounts,
    judged_document,
    judged_from_document,
    "counts of rows with a judge's labels",
    "holds a judge's labels, some of them checked. `bayescal.labels.judged_counts` evaluates them in Python.",
    binary=lambda counts: counts.rows,
)
