"""Counts as small JSON files: written atomically, and validated completely when read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _files
from bayescal._rules import NOT_NEGATIVE
from bayescal.data.predictions import TARGETS
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import MOST_BINS, SIDES, Bins, equal_width_edges, make_bins
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.dependence import MOST_CELLS
from bayescal.stats.losses import DIFFERENCES, KINDS, LARGEST_LOG_LOSS, LossSums, total_without_squares
from bayescal.stats.paired import PairedCounts, require_paired
from bayescal.stats.row_counts import MOST_ROWS, by_bin, row_counts, unit_weights

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

type SavedCounts = BinnedCounts | PairedCounts | ClasswiseCounts

#: The version changes whenever readers of the file have to change.
SCHEMA = "bayescal.counts/2"
#: Schema of release 0.1.0, without sums of losses.
WITHOUT_LOSSES = "bayescal.counts/1"
#: Bound of the rounding error of a sequential sum of 1e9 rows, relative to the sum of absolute values.
ROUNDING = 1e-6
#: Rounding (half a unit in the last place) can put a float16 confidence this far outside a bin with float64 edges.
HALF_DIGIT = 2.0**-12
TINY = float(np.finfo(np.float64).tiny)
LARGEST = float(np.finfo(np.float64).max)


def save_counts(counts: SavedCounts, path: str | Path) -> Path:
    """Write counts to a small JSON file, to merge or evaluate them elsewhere.

    Parameters
    ----------
    counts : BinnedCounts, PairedCounts or ClasswiseCounts
        The counts.
    path : str or Path
        The file. An existing file is replaced in one step, so that readers never see an incomplete file.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    TypeError
        If `counts` are of another type, or the label of a class is neither text nor a number.
    OSError
        If the folder does not exist or is not writable.

    See Also
    --------
    load_counts : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_counts(counts, Path(folder) / "counts.json")
    ...     load_counts(path) == counts
    True
    """
    return _files.write_atomically(path, _files.document_text(counts_document(counts)))


def load_counts(path: str | Path) -> SavedCounts:
    """Read counts from a file that `save_counts` wrote; all sums are equal bit for bit.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    BinnedCounts, PairedCounts or ClasswiseCounts
        The saved counts. To merge the files of several workers, use ``sum(map(load_counts, paths))``. Files of release
        0.1.0 have no sums of losses: counts that include one give every result except the Brier score.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist; the message suggests similar names.
    ValueError
        If the file is not JSON, is truncated, has another schema, or holds impossible sums, such as negative numbers
        of rows or a mean confidence outside its bin. The message names the file and the entry.

    See Also
    --------
    save_counts : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     workers = [
    ...         save_counts(BinnedCounts.from_arrays([0, 1], [0.2, c], bins=2), Path(folder) / f"{c}.json")
    ...         for c in (0.7, 0.9)
    ...     ]
    ...     sum(map(load_counts, workers)).n
    array([2, 2])
    """
    document = _files.read_document(path, SCHEMA, [WITHOUT_LOSSES])
    try:
        return counts_from_document(document)
    except ValueError as problem:
        raise ValueError(f"'{path}': {problem}") from problem


def counts_document(counts: SavedCounts) -> dict[str, Any]:
    """Convert counts to plain data for JSON.

    Parameters
    ----------
    counts : BinnedCounts, PairedCounts or ClasswiseCounts
        The counts.

    Returns
    -------
    dict
        Keys "schema", "kind" ("binned", "paired" or "classwise") and the sums of that kind.
    """
    if isinstance(counts, BinnedCounts):
        about = {"target": counts.target, "bins": bins_document(counts.bins)}
        return {"schema": SCHEMA, "kind": "binned", **about, **sums_document(counts)}
    if isinstance(counts, ClasswiseCounts):
        return {"schema": SCHEMA, "kind": "classwise", **_classwise_document(counts)}
    require_paired(counts)
    return {
        "schema": SCHEMA,
        "kind": "paired",
        "target": counts.first.target,
        **{
            name: {"bins": bins_document(margin.bins), **sums_document(margin)}
            for name, margin in (("first", counts.first), ("second", counts.second))
        },
        "cells": counts.cells.tolist(),
        "n": counts.n.tolist(),
        **_losses_document({name: getattr(counts, name) for name in DIFFERENCES}),
        **_weights_document(counts),
    }


def counts_from_document(document: Any) -> SavedCounts:
    """Convert plain data to counts, with validation.

    Parameters
    ----------
    document : mapping
        Data as `counts_document` returns them.

    Returns
    -------
    BinnedCounts, PairedCounts or ClasswiseCounts
        The counts.

    Raises
    ------
    ValueError
        If an entry is missing, unknown or invalid, or sums are impossible for rows.
    """
    document = _files.require_schema(document, SCHEMA, [WITHOUT_LOSSES])
    kind = document.pop("kind", None)
    _checks.one_of("kind", kind, ["binned", "paired", "classwise"])
    losses = [] if document.pop("schema") == WITHOUT_LOSSES else LOSSES
    if kind == "paired":
        return _paired(document, losses)
    if kind == "classwise":
        return _classwise(document)
    _files.require_entries(document, ["target", "bins", *NEEDED, *losses], _may(losses))
    _checks.one_of("target", document["target"], TARGETS)
    sums = {name: value for name, value in document.items() if name not in ("target", "bins")}
    return sums_from_document(sums, bins_from_document(document["bins"]), document["target"], losses=losses)


def bins_document(bins: Bins) -> dict[str, Any]:
    """Convert edges to plain data; equal-width edges are stored as their number of bins."""
    closed = {} if bins.closed == "left" else {"closed": bins.closed}
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
        number = int(_integers("bins.number", document["number"], ()))
        if not 1 <= number <= MOST_BINS:
            raise ValueError(f"`bins.number` must be from 1 to {MOST_BINS}, not {number}.")
        return make_bins(number, closed=closed)
    _files.require_entries(document, ["kind", "edges"], ["closed"], where="'bins'")
    _checks.one_of("bins.kind", kind, ["equal-width", "equal-mass", "custom"])
    if not isinstance(document["edges"], list) or len(document["edges"]) < 2:
        raise ValueError("`bins.edges` must be an array of at least two edges.")
    return Bins(make_bins(_floats("bins.edges", document["edges"], (len(document["edges"]),))).edges, str(kind), closed)


NEEDED = ("rows", "cells", "deviation", "deviation_sq")
WEIGHTS = ("weight", "weight_sq")
LOSSES = ("losses",)
#: Sums of losses that a document may lack.
OPTIONAL = ("log_losses", "log_loss_difference")


def sums_document(counts: BinnedCounts) -> dict[str, Any]:
    """Return the sums of each bin without the edges, and sums of weights only if a weight differs from 1."""
    return {
        "rows": counts.n_rows,
        "cells": counts.cells.tolist(),
        "deviation": counts.deviation.tolist(),
        "deviation_sq": counts.deviation_sq.tolist(),
        **_losses_document({name: getattr(counts, name) for name in KINDS}),
        **_weights_document(counts),
    }


def _losses_document(losses: Mapping[str, LossSums | None]) -> dict[str, Any]:
    """Return sums of losses of every kind as plain data; None if the counts include a file without them."""
    return {
        name: None if sums is None else {part: getattr(sums, part).tolist() for part in _parts(sums)}
        for name, sums in losses.items()
        if sums is not None or name not in OPTIONAL
    }


def _parts(sums: LossSums) -> list[str]:
    return ["total", "squares", *(["infinite"] if sums.infinite.any() else [])]


def _weights_document(counts: BinnedCounts | PairedCounts) -> dict[str, Any]:
    if not counts.weighted:
        return {}
    return {name: getattr(counts, name).tolist() for name in WEIGHTS}


def sums_from_document(
    document: Any, bins: Bins, target: str, where: str = "", losses: Sequence[str] = LOSSES
) -> BinnedCounts:
    """Convert the sums of each bin to counts, with validation.

    `where` is the prefix of names in messages; `losses` is empty for a document of release 0.1.0.
    """
    _files.require_entries(document, [*NEEDED, *losses], _may(losses), where.rstrip("."))
    size = len(bins)
    cells = row_counts(f"{where}cells", _integers(f"{where}cells", document["cells"], (2, size)))
    _total(f"{where}rows", document["rows"], cells)
    deviation = _floats(f"{where}deviation", document["deviation"], (2, size))
    deviation_sq = _floats(f"{where}deviation_sq", document["deviation_sq"], (size,))
    weight, weight_sq = _weights(document, cells, where)
    _possible_weights(where, cells, weight, weight_sq)
    reach = bins.widths / 2 + HALF_DIGIT
    _within(f"{where}deviation", "lie within its bin", np.abs(deviation), weight * reach, deviation)
    # Cauchy-Schwarz inequality in each bin, with a tolerance for the rounding of long sums
    room = ROUNDING * weight.sum(axis=0) * reach**2
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(weight > 0, deviation * (deviation / weight), 0).sum(axis=0)
    _within(f"{where}deviation_sq", "fit `deviation`", least - room, deviation_sq, deviation_sq)
    _within(f"{where}deviation_sq", "lie within its bin", deviation_sq, weight.sum(axis=0) * reach**2, deviation_sq)
    counts = BinnedCounts(bins, cells, weight, deviation, deviation_sq, weight_sq, target)
    checks = {"losses": _require_squared, "log_losses": _require_log}
    losses_of: dict[str, Any] = {name: _losses(document, name, counts, where, checks[name]) for name in KINDS}
    return replace(counts, **losses_of)


def _may(losses: Sequence[str], name: str = OPTIONAL[0]) -> list[str]:
    """Return the entries that a document may lack; one of release 0.1.0 has no sums of losses."""
    return [*WEIGHTS, *([name] if losses else [])]


def _losses(
    document: Mapping[str, Any], key: str, counts: BinnedCounts, where: str, check: Callable[..., None]
) -> LossSums | None:
    """Return the sums of losses after checking them against the other sums; without rows they are 0."""
    if document.get(key) is None:
        return None if counts.n_rows else LossSums.empty(*counts.cells.shape)
    losses = _loss_sums(f"{where}{key}", document[key], counts.cells.shape)
    check(f"{where}{key}", losses, counts)
    return losses


def _require_squared(name: str, losses: LossSums, counts: BinnedCounts) -> None:
    """Require sums of squared errors that are possible given the other sums."""
    weight, middle = counts.weight, counts.bins.midpoints
    reach = counts.bins.widths / 2 + HALF_DIGIT
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(weight > 0, counts.deviation * (counts.deviation / weight), 0)
        mean = np.where(weight > 0, losses.total / weight, 0)
    # a loss is e^2 - 2 e d + d^2; what remains is the sum of d^2, which must obey the rules of `deviation_sq`
    squares = losses.total - total_without_squares(middle, weight, counts.deviation)
    room = ROUNDING * weight
    _within(f"{name}.total", "fit `deviation`", least - room, squares, losses.total)
    _within(f"{name}.total", "lie within its bin", squares - room, weight * reach**2, losses.total)
    differs = np.abs(squares.sum(axis=0) - counts.deviation_sq) - room.sum(axis=0)
    _within(f"{name}.total", "fit `deviation_sq`", differs, 0 * differs, losses.total.sum(axis=0))
    largest = (np.abs(np.stack([-middle, 1 - middle])) + reach) ** 2
    _within(f"{name}.squares", "fit `total`", losses.total * mean - room, losses.squares, losses.squares)
    _within(f"{name}.squares", "fit `total`", losses.squares - room, losses.total * largest, losses.squares)


def _require_log(name: str, losses: LossSums, counts: BinnedCounts) -> None:
    """Require sums of log losses that are possible given the other sums."""
    possible = np.zeros(counts.cells.shape, bool)
    possible[0, -1] = possible[1, 0] = True  # the cells of confidence 1 with outcome 0, and of 0 with outcome 1
    most_rows = np.where(possible & (counts.weight > 0), counts.cells, 0)
    _within(f"{name}.infinite", "be rows that may have infinite loss", losses.infinite, most_rows, losses.infinite)
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
    _within(
        f"{name}.total", "lie within its bin", np.where(finite, weight * least, 0) - room, losses.total, losses.total
    )
    _within(f"{name}.total", "lie within its bin", losses.total - room, weight * most, losses.total)
    _within(f"{name}.total", "fit `deviation`", np.where(finite, weight * jensen, 0) - room, losses.total, losses.total)
    _within(f"{name}.squares", "fit `total`", squared_mean - room, losses.squares, losses.squares)
    _within(f"{name}.squares", "fit `total`", losses.squares - room, losses.total * most, losses.squares)


def _loss_sums(name: str, document: Any, shape: tuple[int, ...]) -> LossSums:
    """Read two sums >= 0 of one shape, and numbers of rows with infinite loss.

    The total of a difference (shape ()) may be negative.
    """
    allowed = ["infinite"] if name.rpartition(".")[2] in OPTIONAL else []
    _files.require_entries(document, ["total", "squares"], allowed, where=f"'{name}'")
    total, squares = (_floats(f"{name}.{key}", document[key], shape) for key in ("total", "squares"))
    for key, values in (("total", total if shape else np.abs(total)), ("squares", squares)):
        NOT_NEGATIVE.require(f"{name}.{key}", np.atleast_1d(values))
    if "infinite" not in document:
        return LossSums(total, squares)
    return LossSums(total, squares, _integers(f"{name}.infinite", document["infinite"], shape))


def _weights(document: Mapping[str, Any], rows: Ints, where: str) -> tuple[Floats, Floats]:
    """Read sums of weights and of squared weights; without them in the document, every weight is 1."""
    given = [name for name in WEIGHTS if name in document]
    if not given:
        return unit_weights(rows)
    if len(given) == 1:
        raise ValueError(f"`{where}{given[0]}` stands alone: weights need both of {list(WEIGHTS)}.")
    weight = _floats(f"{where}weight", document["weight"], rows.shape)
    weight_sq = _floats(f"{where}weight_sq", document["weight_sq"], rows.shape[-1:])
    for name, values in (("weight", weight), ("weight_sq", weight_sq)):
        NOT_NEGATIVE.require(f"{where}{name}", values)
    return weight, weight_sq


def _possible_weights(where: str, rows: Ints, weight: Floats, weight_sq: Floats) -> None:
    """Require sums of squared weights between those of equal weights and of a single positive weight."""
    if rows.any() and not weight.any():
        raise ValueError(f"`{where}weight` is 0 everywhere, though there are {rows.sum()} rows.")
    _within(f"{where}weight", "be 0 where there are no rows", np.where(rows == 0, weight, 0), 0 * weight, weight)
    with np.errstate(over="ignore"):
        each = weight * (weight / np.maximum(rows, 1))
    least, total = by_bin(each), by_bin(weight)
    with np.errstate(over="ignore"):
        most = total**2
    tiny = TINY * np.maximum(by_bin(rows), 1)  # squares that float64 does not hold
    _within(f"{where}weight_sq", "fit `weight`", least * (1 - ROUNDING) - tiny, weight_sq, weight_sq)
    _within(f"{where}weight_sq", "fit `weight`", weight_sq, most * (1 + ROUNDING) + tiny, weight_sq)


def _within(name: str, rule: str, values: Array, most: Array, shown: Array) -> None:
    bad = values > most * (1 + ROUNDING)
    if bad.any():
        _checks.refuse(name, f"must {rule}", bad, shown, hint="These are not sums over rows.")


def _classwise_document(counts: ClasswiseCounts) -> dict[str, Any]:
    """Return classes, their edges (once if they are equal), their sums, and the lower triangle of the joint sums."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in counts.classes]
    for label in labels:
        if not isinstance(label, str | int | float):
            raise TypeError(f"`classes` must be text or numbers to be stored; {label!r} is {type(label).__name__}.")
    edges = [bins_document(each.bins) for each in counts.by_class]
    joint = counts.joint
    return {
        "classes": labels,
        "bins": edges[0] if all(each == edges[0] for each in edges) else edges,
        "by_class": [sums_document(each) for each in counts.by_class],
        "joint": None if joint is None else [row[: i + 1].tolist() for i, row in enumerate(joint)],
    }


def _classwise(document: dict[str, Any]) -> ClasswiseCounts:
    _files.require_entries(document, ["classes", "bins", "by_class", "joint"])
    classes, by_class, edges = (document[name] for name in ("classes", "by_class", "bins"))
    if not isinstance(classes, list) or not all(isinstance(label, str | int | float) for label in classes):
        raise ValueError("`classes` must be an array of labels: text or numbers.")
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
    return ClasswiseCounts(tuple(classes), tuple(counts), _joint(document["joint"], counts))


def _joint(document: Any, counts: Sequence[BinnedCounts]) -> Floats | None:
    """Read the joint sums of residuals; their diagonal must fit the counts."""
    if document is None:
        return None
    cells = sum(len(each.bins) for each in counts)
    if cells > MOST_CELLS or not isinstance(document, list) or len(document) != cells:
        raise ValueError(
            f"`joint` must be null or an array of {cells} rows (one per bin and class, at most {MOST_CELLS})."
        )
    joint = np.zeros((cells, cells))
    for i, row in enumerate(document):
        joint[i, : i + 1] = joint[: i + 1, i] = _floats(f"joint[{i}]", row, (i + 1,))
    squares = np.diag(joint).copy()
    NOT_NEGATIVE.require("joint", squares)
    of_class = np.repeat(np.arange(len(counts)), [len(each.bins) for each in counts])
    wrong = (of_class[:, None] == of_class) & (joint != 0) & ~np.eye(cells, dtype=bool)
    if wrong.any():
        _checks.refuse("joint", "must be 0 for two bins of one class", wrong, joint, "A row is in one of them only.")
    sd = np.sqrt(squares)
    _within("joint", "be covariances", np.abs(joint), np.outer(sd, sd) + TINY, joint)
    if not any(each.weighted for each in counts):
        losses = np.concatenate([each.losses.total.sum(axis=0) for each in counts if each.losses is not None])
        n = np.concatenate([each.n for each in counts])
        _within("joint", "fit `losses`", np.abs(squares - losses) - ROUNDING * n, 0 * losses, squares)
    return joint


def _paired(document: dict[str, Any], losses: Sequence[str]) -> PairedCounts:
    difference = ["loss_difference"] if losses else []
    may = _may(losses, OPTIONAL[1])
    _files.require_entries(document, ["target", "first", "second", "cells", "n", *difference], may)
    target = document["target"]
    _checks.one_of("target", target, TARGETS)
    first, second = (_margin(document[name], name, target, losses) for name in ("first", "second"))
    if not isinstance(document["n"], list):
        raise ValueError("`n` must be an array.")
    size = len(document["n"])
    n = row_counts("n", _integers("n", document["n"], (size,)))
    cells = _integers("cells", document["cells"], (size, 4))
    if (n == 0).any():
        _checks.refuse("n", "must be >= 1: only cells with rows are kept", n == 0, n)
    top = np.array([len(first.bins), 2, len(second.bins), 2])
    if (cells >= top).any():
        rule = f"must be bin, outcome, bin, outcome, each below {top.tolist()}"
        _checks.refuse("cells", rule, cells >= top, cells)
    _ascending(cells)
    weight, weight_sq = _weights(document, n, "")
    _possible_weights("", n, weight, weight_sq)
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
    return replace(pair, **differences)


def _loss_difference(document: Mapping[str, Any], member: str, pair: PairedCounts) -> LossSums | None:
    """Return the sums of the difference of losses after checking them against the losses of both margins."""
    name, first, second = KINDS[member].difference, getattr(pair.first, member), getattr(pair.second, member)
    if document.get(name) is None:
        return None if pair.n_rows else LossSums.empty()
    if first is None or second is None:
        raise ValueError(f"`{name}` stands alone: it needs `first.{member}` and `second.{member}`.")
    losses = _loss_sums(name, document[name], ())
    total, squares, weight = (np.atleast_1d(v) for v in (losses.total, losses.squares, pair.weight.sum()))
    infinite = first.infinite.sum(), second.infinite.sum()
    rule, rows = "be the rows where either loss is infinite", np.atleast_1d(losses.infinite)
    _within(f"{name}.infinite", rule, np.atleast_1d(max(infinite)), rows, rows)
    _within(f"{name}.infinite", rule, rows, np.atleast_1d(sum(infinite)), rows)
    if not rows.any():  # the sums of both include rows where only the other loss is infinite
        room = ROUNDING * (weight + first.total.sum() + second.total.sum())
        differs = np.abs(total - (first.total.sum() - second.total.sum()))
        _within(f"{name}.total", "be what the losses of both differ by", differs, room, total)
    _within(f"{name}.squares", "fit `total`", total * (total / np.maximum(weight, TINY)), squares, squares)
    # (a - b)^2 <= a^2 + b^2 for losses >= 0
    most = np.atleast_1d(first.squares.sum() + second.squares.sum())
    _within(f"{name}.squares", "fit the losses of both", squares, most, squares)
    return losses


def _margin(document: Any, name: str, target: str, losses: Sequence[str]) -> BinnedCounts:
    _files.require_entries(document, ["bins", *NEEDED, *losses], _may(losses), f"'{name}'")
    sums = {key: value for key, value in document.items() if key != "bins"}
    return sums_from_document(sums, bins_from_document(document["bins"]), target, f"{name}.", losses)


def _ascending(cells: Ints) -> None:
    """Require cells in lexicographic order without duplicates."""
    steps = np.diff(cells, axis=0)
    first = np.argmax(steps != 0, axis=1)
    falls = np.zeros(len(cells), bool)
    falls[1:] = np.take_along_axis(steps, first[:, None], axis=1)[:, 0] <= 0
    if falls.any():
        _checks.refuse("cells", "must be in ascending order, each once", falls)


def _total(name: str, stated: Any, cells: Ints) -> None:
    rows = int(cells.sum())
    if int(_integers(name, stated, ())) != rows:
        raise ValueError(f"`{name}` must be what the cells add up to, {rows}; it is {stated}.")


def _integers(name: str, values: Any, shape: tuple[int, ...]) -> Ints:
    """Read JSON integers >= 0 of the given shape; 1.0 and true are not integers."""
    return _array(name, values, shape, (int,), "integers >= 0 below 2^63", lambda v: 0 <= v <= MOST_ROWS).astype(
        np.int64
    )


def _floats(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Read finite JSON numbers of the given shape; numbers beyond the range of float64 are refused."""
    return _array(name, values, shape, (int, float), "finite numbers", lambda v: abs(v) <= LARGEST).astype(np.float64)


def _array(
    name: str, values: Any, shape: tuple[int, ...], kinds: tuple[type, ...], rule: str, holds: Any
) -> NDArray[np.object_]:
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
