"""Counts of source and target under label shift as plain data."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal.data.reading import Reading
from bayescal.shift.counts import ShiftCells, ShiftCounts
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.stats.documents import sums as plain
from bayescal.stats.documents.sums import labels_document, labels_from_document
from bayescal.stats.stored import register_counts
from bayescal.stats.sums import row_counts

NEEDED = ("classes", "cuts", "source_rows", "source", "target_rows", "target", "binned")
#: Readings of probabilities that were used as they are.
UNCHANGED = (Reading(), Reading())
PARTS = ("class", "bins", "by_class", "source", "target")


def shift_document(counts: ShiftCounts) -> dict[str, Any]:
    """Return classes, cells, the rows of both sides by cell, and the sums of each class that is counted by bins."""
    readings = {} if counts.readings == UNCHANGED else {"readings": [asdict(each) for each in counts.readings]}
    return {
        "classes": labels_document(counts.classes),
        "cuts": counts.cells.cuts.tolist(),
        "source_rows": counts.n_source,
        "source": counts.source.tolist(),
        "target_rows": counts.n_target,
        "target": counts.target.tolist(),
        **readings,
        "binned": [
            {
                "class": each.of,
                "bins": plain.bins_document(each.bins),
                "by_class": each.by_class.tolist(),
                "source": plain.sums_document(each.source),
                "target": plain.sums_document(each.unlabelled),
            }
            for each in counts.binned
        ],
    }


def shift_from_document(document: Mapping[str, Any]) -> ShiftCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, list(NEEDED), ["readings"])
    classes = labels_from_document(document["classes"])
    cells = _cells(document["cuts"], len(classes))
    source = row_counts("source", plain.integers("source", document["source"], (len(classes), len(cells))))
    target = row_counts("target", plain.integers("target", document["target"], (len(cells),)))
    plain.require_total("source_rows", document["source_rows"], source)
    plain.require_total("target_rows", document["target_rows"], target)
    binned = document["binned"]
    if not isinstance(binned, list) or len(binned) not in {0, 1 if len(classes) == 2 else 0, len(classes)}:
        raise ValueError("`binned` must be an array: empty, of class 1 of two, or of all classes.")
    first = 1 if len(binned) == 1 else 0
    read = tuple(_binned(part, first + i, len(classes), f"binned[{i}]") for i, part in enumerate(binned))
    readings = _readings(document.get("readings"), (int(source.sum()), int(target.sum())))
    return ShiftCounts(source, target, cells, classes, read, readings)


def _readings(document: Any, n_rows: tuple[int, int]) -> tuple[Reading, Reading]:
    """Validate how the probabilities of source and target were read; a document without divided rows lacks it."""
    if document is None:
        return UNCHANGED
    if not isinstance(document, list) or len(document) != 2:
        raise ValueError("`readings` must be an array of two objects, of source and target.")
    source, target = (plain.read_reading(document[i], f"readings[{i}]", n_rows[i]) for i in range(2))
    return source, target


def _cells(cuts: Any, n_classes: int) -> ShiftCells:
    ranges = len(cuts[0]) if isinstance(cuts, list) and cuts and isinstance(cuts[0], list) else 0
    return ShiftCells(plain.floats("cuts", cuts, (n_classes, ranges)))


def _binned(document: Any, of: int, n_classes: int, where: str) -> ShiftedBins:
    """Read the sums of class number `of`; `where` is the name of the entry."""
    _files.require_entries(document, list(PARTS), where=f"'{where}'")
    if int(plain.integers(f"{where}.class", document["class"], ())) != of:
        raise ValueError(f"`{where}.class` must be {of}; it is {document['class']}.")
    bins, target = plain.bins_from_document(document["bins"]), "event" if n_classes == 2 else "classwise"
    source, unlabelled = (
        plain.sums_from_document(document[side], bins, target, f"{where}.{side}.") for side in ("source", "target")
    )
    for side, counts in (("source", source), ("target", unlabelled)):
        if counts.weighted or counts.clusters is not None:
            raise ValueError(f"`{where}.{side}` must hold rows without weights and clusters.")
    if unlabelled.k.any():
        _checks.refuse(f"{where}.target.cells", "must have outcome 0, because labels are unknown", unlabelled.k > 0)
    by_class = plain.integers(f"{where}.by_class", document["by_class"], (n_classes, len(bins)))
    if not (np.array_equal(by_class.sum(axis=0), source.n) and np.array_equal(by_class[of], source.k)):
        raise ValueError(f"`{where}.by_class` must add up to the rows of `{where}.source`, by bin and outcome.")
    return ShiftedBins(source, by_class, unlabelled, of)


register_counts(
    "shift",
    ShiftCounts,
    shift_document,
    shift_from_document,
    "counts of a source and a target",
    "holds counts of a source and a target without labels, and a report evaluates labelled rows. "
    "`bayescal.shift.label_counts` evaluates them in Python.",
    about=lambda counts: f"label shift, {counts.n_source:,} rows of the source, {counts.n_target:,} of the target",
    fingerprint=lambda counts: b"".join(
        [
            counts.source.tobytes() + counts.target.tobytes(),
            *(each.source.deviation.tobytes() + each.unlabelled.deviation.tobytes() for each in counts.binned),
        ]
    ),
)
