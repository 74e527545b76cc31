"""Cosine similarity over rows, from sums of squares and products."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TINY = float(np.finfo(np.float64).tiny)
#: Coefficients by bin, for the first and for the second classifier.
Coefficients = tuple[Floats, Floats]


def cosine(xx: float, yy: float, xy: float, *, same: bool) -> float:
    """Return xy / sqrt(xx yy), which is at most 1; if a square is 0, 1 for the same classifier and 0 otherwise.

    Examples
    --------
    >>> cosine(4.0, 9.0, 3.0, same=False), cosine(0.0, 9.0, 0.0, same=True)
    (0.5, 1.0)
    """
    if xx <= 0 or yy <= 0:
        return 1.0 if same else 0.0
    # the product is 0 or infinite if weights are far from 1
    root = np.sqrt(xx * yy) if TINY < xx * yy < np.inf else np.sqrt(xx) * np.sqrt(yy)
    return float(np.clip(xy / root, -1.0, 1.0))


def cosine_of(x: Floats, y: Floats, weight: Floats, *, same: bool) -> float:
    """Weighted cosine similarity of two vectors."""
    return cosine(*(float((weight * p).sum()) for p in (x * x, y * y, x * y)), same=same)
