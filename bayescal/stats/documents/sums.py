"""Counts as plain data: sums of bins, edges, rows, weights, losses, clusters; all classes; pairs of classifiers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Array, Floats, Ints
from bayescal._rules import NOT_NEGATIVE
from bayescal.data.predictions import TARGETS
from bayescal.data.reading import Reading
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import BINNINGS, MOST_BINS, SIDES, Bins, equal_width_edges, make_bins
from bayescal.stats.classwise import MOST_CELLS, ClasswiseCounts
from bayescal.stats.clusters import ClusterSums, PairedClusters, require_few
from bayescal.stats.losses import DIFFERENCES, KINDS, LARGEST_LOG_LOSS, LossSums, total_without_squares
from bayescal.stats.paired import PairedCounts
from bayescal.stats.stored import bins_kinds, register_counts
from bayescal.stats.sums import MOST_ROWS, by_bin, row_counts, unit_weights

ROUNDING = 1e-6  #: Bound of the rounding error of a sequential sum of 1e9 rows, relative to the sum of absolute values.
TINY = float(np.finfo(np.float64).tiny)
#: Sums of squared weights below `_rules.LARGEST_WEIGHT` over any number of rows are smaller; they can be added.
LARGEST = 1e300
WEIGHTS = ("weight", "weight_sq")
#: Entries of the sums of each bin, and those that only some have.
NEEDED = ("rows", "cells", "deviation", "deviation_sq", "losses")
MAY_LACK = (*WEIGHTS, "log_losses", "clusters", "reading")
#: Rounding (half a unit in the last place) can put a float16 confidence this far outside a bin with float64 edges.
HALF_DIGIT = 2.0**-12
OPTIONAL = ("log_losses", "log_loss_difference")  #: Sums of losses that a document may lack.
CLUSTERS = "clusters"
_SUMS = [field.name for field in fields(ClusterSums) if field.name != "number"]
_PAIRED = [field.name for field in fields(PairedClusters)]
_SYMMETRIC = ("rr", "nn", "nn_size")


def integers(name: str, values: Any, shape: tuple[int, ...]) -> Ints:
    """Read JSON integers >= 0 of the given shape; 1.0 and true are not integers."""
    array = _array(name, values, shape, (int,), "integers >= 0 below 2^63", lambda v: 0 <= v <= MOST_ROWS)
    return array.astype(np.int64)


def floats(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Read finite JSON numbers of the given shape; numbers whose sums could overflow are refused."""
    rule = f"finite numbers up to {LARGEST:g}"
    return _array(name, values, shape, (int, float), rule, lambda v: abs(v) <= LARGEST).astype(np.float64)


def _array(name: str, values: Any, shape: tuple[int, ...], kinds: tuple[type, ...], rule: str, holds: Any) -> Array:
    flat = [values]
    for length in shape:
        if not all(isinstance(part, list) and len(part) == length for part in flat):
            raise ValueError(f"`{name}` must be an array of {rule} of shape {shape}.")
        flat = [value for part in flat for value in part]
    for i, value in enumerate(flat):
        if type(value) not in kinds or not holds(value):
            at = f" at index {tuple(map(int, np.unravel_index(i, shape)))}" if shape else ""
            raise ValueError(f"`{name}` must hold {rule}; {_checks.quoted(value)}{at} is not.")
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def require_total(name: str, stated: Any, cells: Ints) -> None:
    """Require a stated number of rows that is the sum of the cells."""
    rows = int(cells.sum())
    if int(integers(name, stated, ())) != rows:
        raise ValueError(f"`{name}` must be what the cells add up to, {rows}; it is {stated}.")


def within(name: str, rule: str, values: Array, most: Array, shown: Array) -> None:
    """Require values up to `most`, apart from rounding; the message has the rule and the first value of `shown`."""
    bad = values > most * (1 + ROUNDING)
    if bad.any():
        _checks.refuse(name, f"must {rule}", bad, shown, hint="These are not sums over rows.")


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
    stated = document if isinstance(document, Mapping) else {}
    kind, closed = stated.get("kind"), stated.get("closed", "left")
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


def weights_document(counts: BinnedCounts | PairedCounts) -> dict[str, Any]:
    """Return sums of weights and of squared weights; nothing if every weight is 1."""
    if not counts.weighted:
        return {}
    return {name: getattr(counts, name).tolist() for name in WEIGHTS}


def read_weights(document: Mapping[str, Any], rows: Ints, where: str) -> tuple[Floats, Floats]:
    """Read sums of weights and of squared weights; without them in the document, every weight is 1."""
    names = [name for name in WEIGHTS if name in document]
    if not names:
        return unit_weights(rows)
    if len(names) == 1:
        raise ValueError(f"`{where}{names[0]}` stands alone: weights need both of {list(WEIGHTS)}.")
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


def losses_document(losses: Mapping[str, LossSums | None]) -> dict[str, Any]:
    """Return sums of losses of every kind as plain data; None if the counts lack the sums of squared errors."""
    document: dict[str, Any] = {}
    for name, sums in losses.items():
        if sums is not None:
            parts = ("total", "squares", *["infinite"] * bool(sums.infinite.any()))
            document[name] = {part: getattr(sums, part).tolist() for part in parts}
        elif name not in OPTIONAL:
            document[name] = None
    return document


def read_losses(
    document: Mapping[str, Any], key: str, counts: BinnedCounts, where: str, check: Callable[..., None]
) -> LossSums | None:
    """Return the sums of losses after checking them against the other sums; without rows they are 0."""
    if document.get(key) is None:
        return None if counts.n_rows else LossSums.empty(*counts.cells.shape)
    losses = loss_sums(f"{where}{key}", document[key], counts.cells.shape)
    check(f"{where}{key}", losses, counts)
    return losses


def loss_sums(name: str, document: Any, shape: tuple[int, ...]) -> LossSums:
    """Read two sums >= 0 of one shape, and numbers of rows with infinite loss."""
    allowed = ["infinite"] if name.rpartition(".")[2] in OPTIONAL else []
    _files.require_entries(document, ["total", "squares"], allowed, where=f"'{name}'")
    total, squares = (floats(f"{name}.{key}", document[key], shape) for key in ("total", "squares"))
    for key, values in (("total", total if shape else np.abs(total)), ("squares", squares)):
        NOT_NEGATIVE.require(f"{name}.{key}", np.atleast_1d(values))
    if "infinite" not in document:
        return LossSums(total, squares)
    return LossSums(total, squares, integers(f"{name}.infinite", document["infinite"], shape))


def require_squared(name: str, losses: LossSums, counts: BinnedCounts) -> None:
    """Require sums of squared errors that are possible given the other sums."""
    weight, middle = counts.weight, counts.bins.midpoints
    reach = counts.bins.widths / 2 + HALF_DIGIT
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(weight > 0, counts.deviation * (counts.deviation / weight), 0)
        mean = np.where(weight > 0, losses.total / weight, 0)
    # a loss is e^2 - 2 e d + d^2; what remains is the sum of d^2, which must obey the rules of `deviation_sq`
    squares = losses.total - total_without_squares(middle, weight, counts.deviation)
    room = ROUNDING * weight
    within(f"{name}.total", "fit `deviation`", least - room, squares, losses.total)
    within(f"{name}.total", "lie within its bin", squares - room, weight * reach**2, losses.total)
    differs = np.abs(squares.sum(axis=0) - counts.deviation_sq) - room.sum(axis=0)
    within(f"{name}.total", "fit `deviation_sq`", differs, 0 * differs, losses.total.sum(axis=0))
    largest = (np.abs(np.stack([-middle, 1 - middle])) + reach) ** 2
    within(f"{name}.squares", "fit `total`", losses.total * mean - room, losses.squares, losses.squares)
    within(f"{name}.squares", "fit `total`", losses.squares - room, losses.total * largest, losses.squares)


def require_log(name: str, losses: LossSums, counts: BinnedCounts) -> None:
    """Require sums of log losses that are possible given the other sums."""
    possible = np.zeros(counts.cells.shape, bool)
    possible[0, -1] = possible[1, 0] = True  # the cells of confidence 1 with outcome 0, and of 0 with outcome 1
    most_rows = np.where(possible & (counts.weight > 0), counts.cells, 0)
    within(f"{name}.infinite", "be rows that may have infinite loss", losses.infinite, most_rows, losses.infinite)
    weight, edges = counts.weight, counts.bins.edges
    ends = np.stack([edges[:-1] - HALF_DIGIT, edges[1:] + HALF_DIGIT])
    high, low = np.clip(np.stack([1 - ends[::-1], ends]), 0, 1).swapaxes(0, 1)[::-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        least, most = -np.log(high), np.minimum(-np.log(low), LARGEST_LOG_LOSS)
        mean = np.where(weight > 0, counts.bins.midpoints + counts.deviation / weight, 0.5)
        # the mean loss is at least that of the mean confidence (Jensen)
        jensen = -np.log(np.clip(np.stack([1 - mean[0], mean[1]]) + HALF_DIGIT, 0, 1))
        squared_mean = np.where(weight > 0, losses.total * (losses.total / weight), 0)
    room = ROUNDING * weight
    finite = losses.infinite == 0  # the weight of the other rows is unknown
    total, squares = losses.total, losses.squares
    within(f"{name}.total", "lie within its bin", np.where(finite, weight * least, 0) - room, total, total)
    within(f"{name}.total", "lie within its bin", total - room, weight * most, total)
    within(f"{name}.total", "fit `deviation`", np.where(finite, weight * jensen, 0) - room, total, total)
    within(f"{name}.squares", "fit `total`", squared_mean - room, squares, squares)
    within(f"{name}.squares", "fit `total`", squares - room, total * most, squares)


def clusters_document(counts: BinnedCounts) -> dict[str, Any]:
    """Return the sums over clusters, lower triangles of symmetric matrices; nothing if rows are independent."""
    clusters = counts.clusters
    if clusters is None:
        return {}
    sums: dict[str, Any] = {name: getattr(clusters, name).tolist() for name in _SUMS}
    sums |= {name: triangle(getattr(clusters, name)) for name in _SYMMETRIC}
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
        key: read_triangle(f"{name}.{key}", entry[key], size)
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


def triangle(matrix: Floats) -> list[list[float]]:
    """Return the lower triangle of a symmetric matrix."""
    return [row[: i + 1].tolist() for i, row in enumerate(matrix)]


def read_triangle(name: str, document: Any, size: int) -> Floats:
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
    expected_sums = {"weight": weight, "weight_sq": counts.weight_sq, "residual": counts.weight[1] - confidence}
    for key, expected in expected_sums.items():
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


register_counts("binned", BinnedCounts, _document, _read, "counts of one classifier")


def classes_document(counts: ClasswiseCounts) -> dict[str, Any]:
    """Return classes, their edges (once if they are equal), their sums, and the lower triangle of the joint sums."""
    labels = labels_document(counts.classes)
    edges = [bins_document(each.bins) for each in counts.by_class]
    joint = counts.joint
    return {
        "classes": labels,
        "bins": edges[0] if all(each == edges[0] for each in edges) else edges,
        "by_class": [sums_document(each) for each in counts.by_class],
        "joint": None if joint is None else triangle(joint),
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
    bins = [bins_from_document(each) for each in edges]
    counts = [
        sums_from_document(sums, each, "classwise", where=f"by_class[{k}].")
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
    joint = read_triangle("joint", document, cells)
    squares = np.diag(joint).copy()
    NOT_NEGATIVE.require("joint", squares)
    of_class = np.repeat(np.arange(len(counts)), [len(each.bins) for each in counts])
    wrong = (of_class[:, None] == of_class) & (joint != 0) & ~np.eye(cells, dtype=bool)
    if wrong.any():
        _checks.refuse("joint", "must be 0 for two bins of one class", wrong, joint, "A row is in one of them only.")
    sd = np.sqrt(squares)
    within("joint", "be covariances", np.abs(joint), np.outer(sd, sd) + TINY, joint)
    most = np.concatenate([each.weight_sq for each in counts])
    within("joint", "fit `weight_sq`: residuals are at most 1", squares, most, squares)
    if not any(each.weighted for each in counts):
        losses = np.concatenate([each.losses.total.sum(axis=0) for each in counts if each.losses is not None])
        n = np.concatenate([each.n for each in counts])
        within("joint", "fit `losses`", np.abs(squares - losses) - ROUNDING * n, 0 * losses, squares)
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
            name: {"bins": bins_document(margin.bins), **sums_document(margin)}
            for name, margin in (("first", counts.first), ("second", counts.second))
        },
        "cells": counts.cells.tolist(),
        "n": counts.n.tolist(),
        **losses_document({name: getattr(counts, name) for name in DIFFERENCES}),
        **weights_document(counts),
        **pair_clusters_document(counts),
    }


def pair_from_document(document: dict[str, Any]) -> PairedCounts:
    """Convert plain data to counts of two classifiers, with validation."""
    needed = ["target", "first", "second", "cells", "n", "loss_difference"]
    _files.require_entries(document, needed, [*WEIGHTS, "log_loss_difference", "clusters"])
    target = document["target"]
    _checks.one_of("target", target, TARGETS)
    first, second = (_margin(document[name], name, target) for name in ("first", "second"))
    top = [len(first.bins), 2, len(second.bins), 2]
    cells, n = read_cells(document, top, "bin, outcome, bin, outcome")
    weight, weight_sq = read_weights(document, n, "")
    require_possible_weights("", n, weight, weight_sq)
    for columns, name, margin in ((cells[:, :2], "first", first), (cells[:, 2:], "second", second)):
        place = columns[:, 1] * len(margin.bins) + columns[:, 0]
        rows, weights = np.zeros(margin.cells.size, np.int64), np.zeros(margin.cells.size)
        np.add.at(rows, place, n)
        np.add.at(weights, place, weight)
        differs = rows.reshape(margin.cells.shape) != margin.cells
        if differs.any():
            _checks.refuse(f"{name}.cells", "must be what `cells` and `n` add up to", differs, margin.cells)
        differs = ~np.isclose(weights.reshape(margin.weight.shape), margin.weight, rtol=ROUNDING, atol=0)
        if differs.any():
            _checks.refuse(f"{name}.weight", "must be what `cells` and `weight` add up to", differs, margin.weight)
    pair = PairedCounts(first, second, cells, n, weight, weight_sq)
    differences: dict[str, Any] = {kind.difference: _loss_difference(document, k, pair) for k, kind in KINDS.items()}
    return replace(pair, **differences, clusters=read_pair_clusters(document, pair))


def _loss_difference(document: Mapping[str, Any], member: str, pair: PairedCounts) -> LossSums | None:
    """Return the sums of the difference of losses after checking them against the losses of both margins."""
    name, first, second = KINDS[member].difference, getattr(pair.first, member), getattr(pair.second, member)
    if document.get(name) is None:
        return None if pair.n_rows else LossSums.empty()
    if first is None or second is None:
        raise ValueError(f"`{name}` stands alone: it needs `first.{member}` and `second.{member}`.")
    losses = loss_sums(name, document[name], ())
    total, squares, weight = (np.atleast_1d(v) for v in (losses.total, losses.squares, pair.weight.sum()))
    infinite = first.infinite.sum(), second.infinite.sum()
    rule, rows = "be the rows where either loss is infinite", np.atleast_1d(losses.infinite)
    within(f"{name}.infinite", rule, np.atleast_1d(max(infinite)), rows, rows)
    within(f"{name}.infinite", rule, rows, np.atleast_1d(sum(infinite)), rows)
    if not rows.any():  # the sums of both include rows where only the other loss is infinite
        room = ROUNDING * (weight + first.total.sum() + second.total.sum())
        differs = np.abs(total - (first.total.sum() - second.total.sum()))
        within(f"{name}.total", "be what the losses of both differ by", differs, room, total)
    within(f"{name}.squares", "fit `total`", total * (total / np.maximum(weight, TINY)), squares, squares)
    # (a - b)^2 <= a^2 + b^2 for losses >= 0
    most = np.atleast_1d(first.squares.sum() + second.squares.sum())
    within(f"{name}.squares", "fit the losses of both", squares, most, squares)
    return losses


def _margin(document: Any, name: str, target: str) -> BinnedCounts:
    _files.require_entries(document, ["bins", *NEEDED], MAY_LACK, f"'{name}'")
    sums = {key: value for key, value in document.items() if key != "bins"}
    return sums_from_document(sums, bins_from_document(document["bins"]), target, f"{name}.")


def read_cells(document: Mapping[str, Any], top: Sequence[int], words: str) -> tuple[Ints, Ints]:
    """Read joint cells, shape (n_cells, n_columns), and their rows; refuse unordered cells and cells without rows."""
    if not isinstance(document["n"], list):
        raise ValueError("`n` must be an array.")
    size = len(document["n"])
    n = row_counts("n", integers("n", document["n"], (size,)))
    cells = integers("cells", document["cells"], (size, len(top)))
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
