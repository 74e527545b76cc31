"""Sums over clusters as plain data, and whether they are possible given the other sums."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _files
from bayescal._rules import NOT_NEGATIVE
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import ClusterSums, require_few
from bayescal.stats.documents.values import ROUNDING, TINY, floats, integers, within
from bayescal.stats.paired import PairedCounts
from bayescal.stats.paired_clusters import PairedClusters

Floats = NDArray[np.float64]

CLUSTERS = "clusters"
_SUMS = [field.name for field in fields(ClusterSums) if field.name != "number"]
_PAIRED = [field.name for field in fields(PairedClusters)]
_SYMMETRIC = ("rr", "nn", "nn_size")


def clusters_document(counts: BinnedCounts) -> dict[str, Any]:
    """Return the sums over clusters, lower triangles of symmetric matrices; nothing if rows are independent."""
    clusters = counts.clusters
    if clusters is None:
        return {}
    sums: dict[str, Any] = {name: getattr(clusters, name).tolist() for name in _SUMS}
    for name in _SYMMETRIC:
        sums[name] = [row[: i + 1].tolist() for i, row in enumerate(getattr(clusters, name))]
    return {CLUSTERS: {"number": clusters.number, **sums}}


def pair_clusters_document(counts: PairedCounts) -> dict[str, Any]:
    """Return the sums over clusters of two classifiers; nothing if rows are independent."""
    clusters = counts.clusters
    return {} if clusters is None else {CLUSTERS: {name: getattr(clusters, name).tolist() for name in _PAIRED}}


def read_clusters(document: Mapping[str, Any], counts: BinnedCounts, where: str) -> ClusterSums | None:
    """Return sums over clusters after checking them against the counts; None without them."""
    if CLUSTERS not in document:
        return None
    entry, name = document[CLUSTERS], f"{where}{CLUSTERS}"
    _files.require_entries(entry, ["number", *_SUMS], where=f"'{name}'")
    size = len(counts.bins)
    require_few(size)
    number = int(integers(f"{name}.number", entry["number"], ()))
    if not 1 <= number <= counts.n_rows:
        raise ValueError(f"`{name}.number` must be from 1 to the number of rows, {counts.n_rows}; it is {number}.")
    shapes = {"losses": (2,), "log_losses": (2,), "rn": (size, size)}
    sums = {
        key: _triangle(f"{name}.{key}", entry[key], size)
        if key in _SYMMETRIC
        else floats(f"{name}.{key}", entry[key], shapes.get(key, (size,)))
        for key in _SUMS
    }
    clusters = ClusterSums(number, **sums)
    _require_sums(name, clusters, counts)
    _require_products(name, clusters, counts)
    return clusters


def read_pair_clusters(document: Mapping[str, Any], pair: PairedCounts) -> PairedClusters | None:
    """Return sums over clusters of two classifiers after checking them against those of each; None without them."""
    first, second = pair.first.clusters, pair.second.clusters
    if (CLUSTERS in document) != (first is not None) or (first is None) != (second is None):
        raise ValueError("`clusters` must be given for both classifiers and for the pair, or for none of them.")
    if first is None or second is None:
        return None
    if first.number != second.number:
        raise ValueError(f"`clusters` must be those of the same rows; there are {first.number} and {second.number}.")
    entry = document[CLUSTERS]
    _files.require_entries(entry, _PAIRED, where=f"'{CLUSTERS}'")
    shape = len(first.weight), len(second.weight)
    shapes: dict[str, tuple[int, ...]] = {"losses": (), "log_losses": ()}
    sums = {key: floats(f"{CLUSTERS}.{key}", entry[key], shapes.get(key, shape)) for key in _PAIRED}
    for key in ("rr", "rn", "nr", "nn"):
        squares = (np.diag(getattr(side, 2 * letter)) for side, letter in zip((first, second), key, strict=True))
        most = np.sqrt(np.outer(*squares)) + TINY
        within(f"{CLUSTERS}.{key}", "fit the sums of each classifier", np.abs(sums[key]), most, sums[key])
    for key in ("losses", "log_losses"):
        most = np.sqrt(np.atleast_1d(getattr(first, key)[0] * getattr(second, key)[0])) + TINY
        value = np.atleast_1d(sums[key])
        within(f"{CLUSTERS}.{key}", "fit the sums of each classifier", np.abs(value), most, value)
    NOT_NEGATIVE.require(f"{CLUSTERS}.nn", sums["nn"])
    return PairedClusters(**sums)


def _triangle(name: str, document: Any, size: int) -> Floats:
    """Read the lower triangle of a symmetric matrix."""
    if not isinstance(document, list) or len(document) != size:
        raise ValueError(f"`{name}` must be an array of {size} rows, the lower triangle of a matrix.")
    matrix = np.zeros((size, size))
    for i, row in enumerate(document):
        matrix[i, : i + 1] = matrix[: i + 1, i] = floats(f"{name}[{i}]", row, (i + 1,))
    return matrix


def _require_sums(name: str, clusters: ClusterSums, counts: BinnedCounts) -> None:
    """Require sums over rows that are those of the counts."""
    weight = counts.weight.sum(axis=0)
    confidence = (counts.bins.midpoints * counts.weight + counts.deviation).sum(axis=0)
    for key, expected in (
        ("weight", weight),
        ("weight_sq", counts.weight_sq),
        ("residual", counts.weight[1] - confidence),
    ):
        values = getattr(clusters, key)
        room = ROUNDING * (counts.weight_sq if key == "weight_sq" else weight)
        within(f"{name}.{key}", "fit the sums of the bins", np.abs(values - expected), room, values)
    # Cauchy-Schwarz inequality for weights times residuals
    most = np.sqrt(np.maximum(clusters.own_sq, 0) * counts.weight_sq) + TINY
    within(f"{name}.own", "fit `own_sq`", np.abs(clusters.own), most, clusters.own)
    within(f"{name}.own_sq", "fit `weight_sq`", clusters.own_sq, counts.weight_sq, clusters.own_sq)
    NOT_NEGATIVE.require(f"{name}.own_sq", clusters.own_sq)


def _require_products(name: str, clusters: ClusterSums, counts: BinnedCounts) -> None:
    """Require products that sums over this number of clusters can have."""
    nn, rr, number = clusters.nn, clusters.rr, clusters.number
    NOT_NEGATIVE.require(f"{name}.nn", nn)
    n_sq, r_sq = np.diag(nn), np.diag(rr)
    NOT_NEGATIVE.require(f"{name}.rr", r_sq)
    weight = clusters.weight
    within(f"{name}.nn", "fit `weight`", n_sq, weight**2, n_sq)
    within(f"{name}.nn", "fit `weight` and `number`", weight**2 / number, n_sq, n_sq)
    within(f"{name}.nn", "fit `weight_sq`", clusters.weight_sq, n_sq, n_sq)
    NOT_NEGATIVE.require(f"{name}.nn_size", clusters.nn_size)
    largest = weight.sum() * nn
    within(f"{name}.nn_size", "fit `nn` and `weight`", clusters.nn_size, largest, clusters.nn_size)
    of_bin = np.diag(clusters.nn_size)
    within(f"{name}.nn_size", "fit `nn` and `weight`", n_sq**2, of_bin * weight, of_bin)
    within(f"{name}.rr", "fit `nn`", r_sq, n_sq, r_sq)
    within(f"{name}.rr", "fit `residual` and `number`", clusters.residual**2 / number, r_sq, r_sq)
    for key, one, other in (("nn", n_sq, n_sq), ("rr", r_sq, r_sq), ("rn", r_sq, n_sq)):
        values = getattr(clusters, key)
        within(f"{name}.{key}", "be sums of products", np.abs(values), np.sqrt(np.outer(one, other)) + TINY, values)
    for key in ("losses", "log_losses"):
        sums, total = getattr(clusters, key), getattr(counts, key)
        NOT_NEGATIVE.require(f"{name}.{key}", sums)
        most = np.sqrt(np.array([sums[0] * nn.sum()])) + TINY
        within(f"{name}.{key}", "be sums of products", sums[1:], most, sums[1:])
        if total is not None and not total.infinite.any():
            least = np.array([total.total.sum() ** 2 / number])
            within(f"{name}.{key}", f"fit `{key}` of the bins and `number`", least, sums[:1], sums[:1])
