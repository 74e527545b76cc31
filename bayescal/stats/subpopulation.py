"""A subpopulation against the full population, averaged in cells around the scores of the subpopulation."""

import numpy as np
from numpy.typing import NDArray

from bayescal.data.responses import Responses
from bayescal.stats.ordered import StoredSteps

Floats = NDArray[np.float64]


def subpopulation_steps(rows: Responses, member: NDArray[np.bool_]) -> StoredSteps:
    r"""Sum the members of a subpopulation by score, minus the mean response of the full population near that score.

    Parameters
    ----------
    rows : Responses
        The full population, which includes the subpopulation.
    member : ndarray of bool, shape (n_rows,)
        The rows of the subpopulation.

    Returns
    -------
    StoredSteps
        One step per distinct score t_j of members with positive weight. The expected response is the weighted mean over
        all rows with scores in the cell (m_{j-1}, m_j], where m_j is the midpoint of t_j and t_{j+1}; the first cell
        begins at minus infinity and the last one ends at infinity [1]_. `calibrated_variance` is the sum of squared
        weights of the members times the variance of the responses in the cell.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 5 to 33.
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    member = member & (weight > 0)
    score, step = np.unique(rows.score[member], return_inverse=True)
    cell = np.searchsorted(midpoints(score), rows.score, side="left")
    # responses are centred, so that the variance within cells does not cancel
    response = rows.response - np.average(rows.response, weights=weight)

    def in_cells(values: Floats) -> Floats:
        return np.bincount(cell, values, len(score))

    total = in_cells(weight)
    mean = in_cells(weight * response) / total
    variance = in_cells(weight * (response - mean[cell]) ** 2) / total

    own, residual = weight[member], response[member] - mean[step]

    def of_members(values: Floats) -> Floats:
        return np.bincount(step, values, len(score))

    square = of_members(own**2)
    return StoredSteps(
        score=score,
        weight=of_members(own),
        deviation=of_members(own * residual),
        weight_sq=square,
        deviation_weight_sq=of_members(own**2 * residual),
        deviation_sq=of_members((own * residual) ** 2),
        calibrated_variance=square * variance,
        n_rows=np.bincount(step, minlength=len(score)),
        weighted=rows.weight is not None,
    )


def midpoints(score: Floats) -> Floats:
    """Return the ends of the cells between neighbouring scores; each lies below the higher score."""
    middle = score[:-1] / 2 + score[1:] / 2
    # between neighbouring floats the midpoint may round to the higher one, whose cell would lose its own rows
    return np.where(middle < score[1:], middle, score[:-1])
