"""Counts of two classifiers on the same rows as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Ints
from bayescal.data.predictions import TARGETS
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.documents import sums as plain
from bayescal.stats.losses import DIFFERENCES, KINDS, LossSums
from bayescal.stats.paired import PairedCounts
from bayescal.stats.stored import CountsKind, register
from bayescal.stats.sums import row_counts


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


register(
    CountsKind(
        "paired",
        PairedCounts,
        pair_document,
        pair_from_document,
        "counts of two classifiers",
        "holds counts of two classifiers on the same rows, and a report evaluates one. `bayescal.compare_counts` "
        "compares the two in Python.",
        binary=lambda counts: counts.first,
    )
)
