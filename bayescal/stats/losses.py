"""LossSums: sums of losses and of squared losses, which give the mean loss and its variance. Frozen and addable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LossSums:
    """Sums over rows of a loss and of its square, for example by outcome and bin.

    The loss of a row is the squared error (outcome - confidence)^2, whose mean is the Brier score. It does not depend
    on the bins, so sums of two bins can be added like sums of two batches.

    Parameters
    ----------
    total : ndarray
        Sum of weight times loss.
    squares : ndarray, of the same shape
        Sum of weight times squared loss.

    Examples
    --------
    >>> both = LossSums(np.array([0.2]), np.array([0.03])) + LossSums(np.array([0.1]), np.array([0.01]))
    >>> both.total, both.squares
    (array([0.3]), array([0.04]))
    """

    total: Floats
    squares: Floats

    def __post_init__(self) -> None:
        for name in ("total", "squares"):
            values = np.asarray(getattr(self, name), dtype=np.float64).view()
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def __repr__(self) -> str:
        return f"LossSums({self.total.sum():.6g} in {self.total.size} cells)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays from copies and pickles are writable

    @classmethod
    def empty(cls, *shape: int) -> "LossSums":
        """Return sums over no rows."""
        return cls(np.zeros(shape), np.zeros(shape))

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(self.total + other.total, self.squares + other.squares)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LossSums)
            and np.array_equal(self.total, other.total)
            and np.array_equal(self.squares, other.squares)
        )

    __hash__ = None  # type: ignore[assignment]  # equality is by content of the arrays, so there is no hash

    def apply(self, function: Callable[[Floats], Any]) -> "LossSums":
        """Apply one linear function to both sums, for example to merge bins or to multiply all weights."""
        return LossSums(function(self.total), function(self.squares))


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


def add_losses(one: LossSums | None, other: LossSums | None) -> LossSums | None:
    """Add sums of two batches; the result is None if one of them was counted without losses."""
    return None if one is None or other is None else one + other
