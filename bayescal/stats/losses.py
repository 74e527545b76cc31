"""LossSums: sums of losses and of squared losses, which give the mean loss and its variance. Frozen and addable.

There are two kinds of losses: the squared error (outcome - confidence)^2, whose mean is the Brier score, and the log
loss -log(probability of the outcome), whose mean is the log score. `KINDS` lists where counts store
the sums of each kind.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal.stats.frozen import Sums

LARGEST_LOG_LOSS = 1074 * float(np.log(2))  #: Largest finite log loss: that of the smallest positive float64, 2^-1074.


@dataclass(frozen=True, eq=False)
class LossSums(Sums):
    """Sums over rows of a loss and of its square, which do not depend on bins: those of two bins can be added."""

    total: Floats  # sum of weight times loss, over rows with a finite loss
    squares: Floats  # sum of weight times squared loss, over the same rows
    #: Number of rows of positive weight with infinite loss; by default 0.
    infinite: Ints = field(default_factory=lambda: np.zeros((), np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "infinite", np.broadcast_to(self.infinite, np.shape(self.total)))
        super().__post_init__()

    def __repr__(self) -> str:
        infinite = f", and {self.infinite.sum()} rows with infinite loss" if self.infinite.any() else ""
        return f"LossSums({self.total.sum():.6g} in {self.total.size} cells{infinite})"

    @classmethod
    def empty(cls, *shape: int) -> "LossSums":
        """Return sums over no rows."""
        return cls(np.zeros(shape), np.zeros(shape))

    def apply(self, function: Callable[[Array], Any]) -> "LossSums":
        """Apply one function that adds or selects cells to all sums, for example to merge bins."""
        return LossSums(*map(function, (self.total, self.squares, self.infinite)))

    def negated(self) -> "LossSums":
        """Return the sums of the negative loss: of a difference, that of the other order."""
        return LossSums(-self.total, self.squares, self.infinite)

    def times(self, factor: float) -> "LossSums":
        """Return the sums of the same rows with all weights multiplied by a factor >= 0."""
        return LossSums(factor * self.total, factor * self.squares, self.infinite * (factor > 0))


def total_loss(middle: Floats, weight: Floats, deviation: Floats, deviation_sq: Floats) -> Floats:
    """Compute the sum of weight * (outcome - confidence)^2 by outcome and bin, from sums of the same shape (2, n_bins).

    With e = outcome - middle and d = confidence - middle, the squared error is e^2 - 2 e d + d^2.
    """
    # rounding must not make a sum of squares negative
    return np.maximum(total_without_squares(middle, weight, deviation) + deviation_sq, 0.0)


def total_without_squares(middle: Floats, weight: Floats, deviation: Floats) -> Floats:
    """Compute the part of `total_loss` without the sum of weight * d^2."""
    error = np.stack([-middle, 1 - middle])
    return error**2 * weight - 2 * error * deviation


def probability_of_outcome(confidence: Array, outcome: Array) -> Floats:
    """Return the probability that each row states for the outcome that occurred, c or 1 - c, in float64."""
    probability = np.subtract(1.0, outcome, dtype=np.float64)
    probability -= confidence
    return np.abs(probability, out=probability)


def log_losses(confidence: Array, outcome: Array) -> tuple[Floats, Bools | None]:
    """Return -log of the probability of the outcome, or 0 if it is infinite; and which rows are infinite, if any."""
    probability = probability_of_outcome(confidence, outcome)
    infinite = probability == 0
    loss = np.log(probability, out=np.zeros_like(probability), where=~infinite)
    return np.subtract(0.0, loss, out=loss), infinite if infinite.any() else None  # 0, not -0, for probability 1


def squared_losses(confidence: Array, outcome: Array) -> tuple[Floats, None]:
    """Return (outcome - confidence)^2, which is finite for every row."""
    error = outcome - confidence.astype(np.float64, copy=False)
    return np.multiply(error, error, out=error), None


@dataclass(frozen=True)
class Kind:
    """A kind of losses: where counts store its sums, and how it is computed."""

    difference: str  # member of `PairedCounts` with the sums of the difference
    #: Confidences and outcomes -> losses, 0 where a loss is infinite, and which rows these are, or None.
    of_rows: Callable[[Array, Array], tuple[Floats, Bools | None]]


#: Kinds of losses by the member of counts that holds their sums.
KINDS = {"losses": Kind("loss_difference", squared_losses), "log_losses": Kind("log_loss_difference", log_losses)}
#: The same for the members of paired counts with the sums of differences.
DIFFERENCES = tuple(kind.difference for kind in KINDS.values())


def add_losses(one: LossSums | None, other: LossSums | None) -> LossSums | None:
    """Add sums of two batches; the result is None if one of them was counted without losses."""
    return None if one is None or other is None else one + other


def added_by_name(names: Iterable[str], one: Any, other: Any) -> dict[str, Any]:
    """Add the sums of losses that two records of counts have under these names."""
    return {name: add_losses(getattr(one, name), getattr(other, name)) for name in names}


def is_finite(losses: LossSums | None) -> bool:
    """Return whether losses were counted and all of them are finite."""
    return losses is not None and not losses.infinite.any()


def applied_by_name(names: Iterable[str], counts: Any, function: Callable[[LossSums], LossSums]) -> dict[str, Any]:
    """Apply a function to the sums of losses that counts have under these names; None stays None."""
    sums = {name: getattr(counts, name) for name in names}
    return {name: None if of_kind is None else function(of_kind) for name, of_kind in sums.items()}
