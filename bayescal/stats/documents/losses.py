"""Sums of losses as plain data, and whether they are possible given the other sums."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayescal import _files
from bayescal._rules import NOT_NEGATIVE
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.documents.values import ROUNDING, floats, integers, within
from bayescal.stats.losses import LARGEST_LOG_LOSS, LossSums, total_without_squares

#: Rounding (half a unit in the last place) can put a float16 confidence this far outside a bin with float64 edges.
HALF_DIGIT = 2.0**-12
#: Sums of losses that a document may lack.
OPTIONAL = ("log_losses", "log_loss_difference")


def losses_document(losses: Mapping[str, LossSums | None]) -> dict[str, Any]:
    """Return sums of losses of every kind as plain data; None if the counts lack the sums of squared errors."""
    return {
        name: None if sums is None else {part: getattr(sums, part).tolist() for part in _parts(sums)}
        for name, sums in losses.items()
        if sums is not None or name not in OPTIONAL
    }


def _parts(sums: LossSums) -> list[str]:
    return ["total", "squares", *(["infinite"] if sums.infinite.any() else [])]


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
    """Read two sums >= 0 of one shape, and numbers of rows with infinite loss.

    The total of a difference (shape ()) may be negative.
    """
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
    within(
        f"{name}.total", "lie within its bin", np.where(finite, weight * least, 0) - room, losses.total, losses.total
    )
    within(f"{name}.total", "lie within its bin", losses.total - room, weight * most, losses.total)
    within(f"{name}.total", "fit `deviation`", np.where(finite, weight * jensen, 0) - room, losses.total, losses.total)
    within(f"{name}.squares", "fit `total`", squared_mean - room, losses.squares, losses.squares)
    within(f"{name}.squares", "fit `total`", losses.squares - room, losses.total * most, losses.squares)
