"""Confidences of rows without labels, such as those of a target population."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.columns import column, numbers, sigmoid, softmax
from bayescal.data.frames import to_array

Floats = NDArray[np.float64]


def read_confidences(name: str, prob: Any, *, target: str, logits: bool = False) -> NDArray[Any]:
    """Check probabilities of rows without labels, and return the confidence of each.

    Parameters
    ----------
    name : str
        Name of the argument in messages.
    prob : array-like, shape (n_rows,) or (n_rows, n_classes)
        Probabilities of an event, confidences, or a matrix for the target ``top-label``.
    target : {"event", "top-label", "confidence"}
        Meaning of the confidence; see `evaluate`.
    logits : bool, default False
        Whether `prob` holds logits.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        In [0, 1]; for ``top-label`` the largest probability of each row.

    Raises
    ------
    ValueError, TypeError
        If there are no rows, the shape does not suit the target, or a value is missing or invalid.

    Examples
    --------
    >>> read_confidences("target_prob", [[0.2, 0.8], [0.6, 0.4]], target="top-label")
    array([0.8, 0.6])
    """
    given = to_array(name, prob)
    if target == "top-label":
        if given.ndim != 2 or given.shape[1] < 2:
            raise ValueError(f"`{name}` must have shape (N, K) with K >= 2, as `y_prob`; its shape is {given.shape}.")
        _checks.not_empty(name, len(given), hint="")
        matrix = _checks.probabilities(name, softmax(name, given) if logits else numbers(name, given))
        _checks.rows_sum_to_one(name, matrix)
        top: NDArray[Any] = matrix.max(axis=1)
        return top
    values = column(name, given)
    _checks.not_empty(name, len(values), hint="")
    return _checks.probabilities(name, sigmoid(name, values) if logits else numbers(name, values))
