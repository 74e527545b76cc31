"""Knots of a calibration curve: bins of nearly equal weight, divided where scores are sparse."""

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.log_odds import logit
from bayescal.stats.ordered import MergedCounts, Steps, ends_of_equal_weight, merge_between
from bayescal.stats.sums import effective_number

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: A bin is divided if its scores span more than WIDEST_LOGIT on the logit scale and more than WIDEST; scores closer to
#: 0 or 1 than LOGIT_FLOOR count as this far away.
WIDEST_LOGIT, WIDEST, LOGIT_FLOOR = 0.5, 0.05, 1e-3
#: Distance from 0 or 1 within which scores count as exactly 0 or 1.
AT_END = 1e-9
#: Smallest (effective) number of rows of a part, and of a knot at exactly 0 or 1; rounding is
#: allowed for.
LEAST_ROWS = 5 * (1 - 1e-12)


def merge_to_knots(steps: Steps, n_bins: int) -> MergedCounts:
    """Merge the steps of a cumulative difference into the knots of a calibration curve.

    Parameters
    ----------
    steps : Steps
        Steps of outcomes 0 and 1 less their scores, with at least one row.
    n_bins : int
        Largest number of bins of nearly equal weight; see `merge_scores`.

    Returns
    -------
    MergedCounts
        The bins of nearly equal weight. A bin whose scores span more than 0.5 on the logit scale and more than 0.05 is
        divided from its lower end into parts that span 0.5 and have at least 5 (effective) rows; fewer rows at its
        upper end stay with the last part. Scores within 1e-9 of 0 with at least 5 (effective) rows have one knot of
        their own, and so do those of 1.

    Examples
    --------
    The second of two bins holds scores from 0.05 to 0.9 and is divided.

    >>> from bayescal.data.predictions import Predictions
    >>> from bayescal.stats.ordered import OrderedSums
    >>> score = np.concatenate([np.full(20, 0.04), np.linspace(0.05, 0.9, 20)])
    >>> steps = OrderedSums.from_rows(Predictions.from_outcomes(np.arange(40) % 2, score))
    >>> counts = merge_to_knots(steps, 2)
    >>> counts.n, counts.upper.round(2)
    (array([20,  5,  5,  5,  5]), array([0.04, 0.23, 0.45, 0.68, 0.9 ]))
    """
    ends = ends_of_equal_weight(steps, n_bins)
    score = steps.score.astype(np.float64, copy=False)
    x = logit(score, LOGIT_FLOOR)
    first, last = np.append(0, ends), np.append(ends, len(score))
    wide = (x[last - 1] - x[first] > WIDEST_LOGIT) & (score[last - 1] - score[first] > WIDEST)
    cuts = [_cuts(steps, x, a, b) for a, b in zip(first[wide].tolist(), last[wide].tolist(), strict=True)]
    found = np.concatenate([ends, *cuts]).astype(np.intp)
    below, above = int(np.searchsorted(score, AT_END, "right")), int(np.searchsorted(score, 1 - AT_END))
    if _rows(steps, slice(0, below)) >= LEAST_ROWS:
        found = np.append(found[found > below], below)
    if _rows(steps, slice(above, len(score))) >= LEAST_ROWS:
        found = np.append(found[found < above], above)
    found = np.unique(found)
    return merge_between(steps, found[(found > 0) & (found < len(score))])


def _cuts(steps: Steps, x: Floats, first: int, last: int) -> list[int]:
    """Divide the scores ``first`` to ``last - 1``, from the lower end."""
    cuts: list[int] = []
    while True:
        rows = _effective(steps, slice(first, last))
        enough = int(np.argmax(rows >= LEAST_ROWS)) + 1
        end = first + max(int(np.searchsorted(x[first:last], x[first] + WIDEST_LOGIT)), enough)
        if rows.max() < LEAST_ROWS or end >= last or _rows(steps, slice(end, last)) < LEAST_ROWS:
            return cuts
        cuts.append(end)
        first = end


def _effective(steps: Steps, part: slice) -> Floats:
    """Return Kish's effective number of rows from the first score of a part to each of its scores."""
    total: Floats = np.cumsum(steps.weight[part]) ** 2 / np.cumsum(steps.weight_sq[part])
    return total


def _rows(steps: Steps, part: slice) -> float:
    """Return Kish's effective number of rows of a part; 0 if it is empty."""
    return effective_number(steps.weight[part], steps.weight_sq[part])
