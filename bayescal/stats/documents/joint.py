"""Counts of all classes of a classifier, and of two classifiers, as plain data, with sums of joint cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Floats, Ints
from bayescal._rules import NOT_NEGATIVE
from bayescal.data.predictions import TARGETS
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import MOST_CELLS, ClasswiseCounts
from bayescal.stats.documents import sums as plain
from bayescal.stats.losses import DIFFERENCES, KINDS, LossSums
from bayescal.stats.paired import PairedCounts
from bayescal.stats.stored import register_counts
from bayescal.stats.sums import row_counts


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


register_counts(
    *("classwise", ClasswiseCounts, classes_document, classes_from_document, "counts of all classes"),
    binary=lambda counts: counts.by_class[0],
    about=lambda counts: f"classwise, {len(counts)} classes, {counts.by_class[0].bins}",
)


def pair_document(counts: PairedCounts) -> dict[str, Any]:
    """Return the sums of both classifiers, and those of their joint cells."""
    return {
        "target": counts.first.target,
        **{
            name: {"bins": plain.bins_document(margin.bins), **plain.sums_document(margin)}
            for name, margin in (("first", counts.first), ("second", counts.second))
        },
        "cells": counts.cells.tolist(),
        "n": counts.n.tolist(),
        **plain.losses_document({name: getattr(counts, name) for name in DIFFERENCES}),
        **plain.weights_document(counts),
        **plain.pair_clusters_document(counts),
    }


def pair_from_document(document: dict[str, Any]) -> PairedCounts:
    """Convert plain data to counts of two classifiers, with validation."""
    needed = ["target", "first", "second", "cells", "n", "loss_difference"]
    _files.require_entries(document, needed, [*plain.WEIGHTS, "log_loss_difference", "clusters"])
    target = document["target"]
    _checks.one_of("target", target, TARGETS)
    first, second = (_margin(document[name], name, target) for name in ("first", "second"))
    top = [len(first.bins), 2, len(second.bins), 2]
    cells, n = read_cells(document, top, "bin, outcome, bin, outcome")
    weight, weight_sq = plain.read_weights(document, n, "")
    plain.require_possible_weights("", n, weight, weight_sq)
    for columns, name, margin in ((cells[:, :2], "first", first), (cells[:, 2:], "second", second)):
        place = columns[:, 1] * len(margin.bins) + columns[:, 0]
        rows, weights = np.zeros(margin.cells.size, np.int64), np.zeros(margin.cells.size)
        np.add.at(rows, place, n)
        np.add.at(weights, place, weight)
        differs = rows.reshape(margin.cells.shape) != margin.cells
        if differs.any():
            _checks.refuse(f"{name}.cells", "must be what `cells` and `n` add up to", differs, margin.cells)
        differs = ~np.isclose(weights.reshape(margin.weight.shape), margin.weight, rtol=plain.ROUNDING, atol=0)
        if differs.any():
            _checks.refuse(f"{name}.weight", "must be what `cells` and `weight` add up to", differs, margin.weight)
    pair = PairedCounts(first, second, cells, n, weight, weight_sq)
    differences: dict[str, Any] = {kind.difference: _loss_difference(document, k, pair) for k, kind in KINDS.items()}
    return replace(pair, **differences, clusters=plain.read_pair_clusters(document, pair))


def _loss_difference(document: Mapping[str, Any], member: str, pair: PairedCounts) -> LossSums | None:
    """Return the sums of the difference of losses after checking them against the losses of both margins."""
    name, first, second = KINDS[member].difference, getattr(pair.first, member), getattr(pair.second, member)
    if document.get(name) is None:
        return None if pair.n_rows else LossSums.empty()
    if first is None or second is None:
        raise ValueError(f"`{name}` stands alone: it needs `first.{member}` and `second.{member}`.")
    losses = plain.loss_sums(name, document[name], ())
    total, squares, weight = (np.atleast_1d(v) for v in (losses.total, losses.squares, pair.weight.sum()))
    infinite = first.infinite.sum(), second.infinite.sum()
    rule, rows = "be the rows where either loss is infinite", np.atleast_1d(losses.infinite)
    plain.within(f"{name}.infinite", rule, np.atleast_1d(max(infinite)), rows, rows)
    plain.within(f"{name}.infinite", rule, rows, np.atleast_1d(sum(infinite)), rows)
    if not rows.any():  # the sums of both include rows where only the other loss is infinite
        room = plain.ROUNDING * (weight + first.total.sum() + second.total.sum())
        differs = np.abs(total - (first.total.sum() - second.total.sum()))
        plain.within(f"{name}.total", "be what the losses of both differ by", differs, room, total)
    plain.within(f"{name}.squares", "fit `total`", total * (total / np.maximum(weight, plain.TINY)), squares, squares)
    # (a - b)^2 <= a^2 + b^2 for losses >= 0
    most = np.atleast_1d(first.squares.sum() + second.squares.sum())
    plain.within(f"{name}.squares", "fit the losses of both", squares, most, squares)
    return losses


def _margin(document: Any, name: str, target: str) -> BinnedCounts:
    _files.require_entries(document, ["bins", *plain.NEEDED], plain.MAY_LACK, f"'{name}'")
    sums = {key: value for key, value in document.items() if key != "bins"}
    return plain.sums_from_document(sums, plain.bins_from_document(document["bins"]), target, f"{name}.")


def read_cells(document: Mapping[str, Any], top: Sequence[int], words: str) -> tuple[Ints, Ints]:
    """Read joint cells, shape (n_cells, n_columns), and their rows; refuse unordered cells and cells without rows."""
    if not isinstance(document["n"], list):
        raise ValueError("`n` must be an array.")
    size = len(document["n"])
    n = row_counts("n", plain.integers("n", document["n"], (size,)))
    cells = plain.integers("cells", document["cells"], (size, len(top)))
    if (n == 0).any():
        _checks.refuse("n", "must be >= 1: only cells with rows are kept", n == 0, n)
    outside = cells >= np.array(top)
    if outside.any():
        _checks.refuse("cells", f"must be {words}, each below {list(top)}", outside, cells)
    _ascending(cells)
    return cells, n


def _ascending(cells: Ints) -> None:
    """Require cells in lexicographic order without duplicates."""
    steps = np.diff(cells, axis=0)
    first = np.argmax(steps != 0, axis=1)
    falls = np.zeros(len(cells), bool)
    falls[1:] = np.take_along_axis(steps, first[:, None], axis=1)[:, 0] <= 0
    if falls.any():
        _checks.refuse("cells", "must be in ascending order, each once", falls)


register_counts(
    *("paired", PairedCounts, pair_document, pair_from_document, "counts of two classifiers"),
    "holds counts of two classifiers on the same rows, and a report evaluates one. `bayescal.compare_counts` "
    "compares the two in Python.",
    binary=lambda counts: counts.first,
)
