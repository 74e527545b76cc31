"""Counts of all classes of a classifier as plain data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Floats
from bayescal._rules import NOT_NEGATIVE
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import MOST_CELLS, ClasswiseCounts
from bayescal.stats.documents import sums as plain
from bayescal.stats.stored import CountsKind, register


def classes_document(counts: ClasswiseCounts) -> dict[str, Any]:
    """Return classes, their edges (once if they are equal), their sums, and the lower triangle of the joint sums."""
    labels = labels_document(counts.classes)
    edges = [plain.bins_document(each.bins) for each in counts.by_class]
    joint = counts.joint
    return {
        "classes": labels,
        "bins": edges[0] if all(each == edges[0] for each in edges) else edges,
        "by_class": [plain.sums_document(each) for each in counts.by_class],
        "joint": None if joint is None else plain.triangle(joint),
    }


def classes_from_document(document: dict[str, Any]) -> ClasswiseCounts:
    """Convert plain data to counts of all classes, with validation."""
    _files.require_entries(document, ["classes", "bins", "by_class", "joint"])
    by_class, edges = (document[name] for name in ("by_class", "bins"))
    classes = labels_from_document(document["classes"])
    if not isinstance(by_class, list) or len(by_class) != len(classes):
        raise ValueError(f"`by_class` must be an array of the sums of all {len(classes)} classes.")
    edges = edges if isinstance(edges, list) else [edges] * len(classes)
    if len(edges) != len(classes):
        raise ValueError(
            f"`bins` must be the edges of all classes, or an array of {len(classes)}; it has {len(edges)}."
        )
    bins = [plain.bins_from_document(each) for each in edges]
    counts = [
        plain.sums_from_document(sums, each, "classwise", where=f"by_class[{k}].")
        for k, (sums, each) in enumerate(zip(by_class, bins, strict=True))
    ]
    return ClasswiseCounts(classes, tuple(counts), _joint(document["joint"], counts))


def labels_document(classes: Sequence[Any]) -> list[Any]:
    """Return the labels of classes as text and numbers."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    for label in labels:
        if not isinstance(label, str | int | float):
            raise TypeError(f"`classes` must be text or numbers to be stored; {label!r} is {type(label).__name__}.")
    return labels


def labels_from_document(classes: Any) -> tuple[Any, ...]:
    """Convert plain data to the labels of classes, with validation."""
    if not isinstance(classes, list) or not all(isinstance(label, str | int | float) for label in classes):
        raise ValueError("`classes` must be an array of labels: text or numbers.")
    return tuple(classes)


def _joint(document: Any, counts: Sequence[BinnedCounts]) -> Floats | None:
    """Read the joint sums of residuals; their diagonal must fit the counts."""
    if document is None:
        return None
    cells = sum(len(each.bins) for each in counts)
    if cells > MOST_CELLS or not isinstance(document, list) or len(document) != cells:
        raise ValueError(
            f"`joint` must be null or an array of {cells} rows (one per bin and class, at most {MOST_CELLS})."
        )
    joint = plain.read_triangle("joint", document, cells)
    squares = np.diag(joint).copy()
    NOT_NEGATIVE.require("joint", squares)
    of_class = np.repeat(np.arange(len(counts)), [len(each.bins) for each in counts])
    wrong = (of_class[:, None] == of_class) & (joint != 0) & ~np.eye(cells, dtype=bool)
    if wrong.any():
        _checks.refuse("joint", "must be 0 for two bins of one class", wrong, joint, "A row is in one of them only.")
    sd = np.sqrt(squares)
    plain.within("joint", "be covariances", np.abs(joint), np.outer(sd, sd) + plain.TINY, joint)
    most = np.concatenate([each.weight_sq for each in counts])
    plain.within("joint", "fit `weight_sq`: residuals are at most 1", squares, most, squares)
    if not any(each.weighted for each in counts):
        losses = np.concatenate([each.losses.total.sum(axis=0) for each in counts if each.losses is not None])
        n = np.concatenate([each.n for each in counts])
        plain.within("joint", "fit `losses`", np.abs(squares - losses) - plain.ROUNDING * n, 0 * losses, squares)
    return joint


def _about(counts: ClasswiseCounts) -> str:
    return f"classwise, {len(counts)} classes, {counts.by_class[0].bins}"


register(
    CountsKind(
        "classwise",
        ClasswiseCounts,
        classes_document,
        classes_from_document,
        "counts of all classes",
        binary=lambda counts: counts.by_class[0],
        about=_about,
    )
)
