"""Steps of a cumulative difference from counts in fine bins, and how much it can change within a bin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import total_without_squares
from bayescal.stats.ordered import StoredSteps

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GridSteps(StoredSteps):
    """Steps whose scores are the mean confidences of occupied bins.

    Parameters
    ----------
    rise, fall : ndarray of float64, shape (n_scores,)
        Sums of w (1 - c) over rows with outcome 1, and of w c over rows with outcome 0; their difference is
        `deviation`. Within the bin, the sum lies between -fall and rise in any order of its rows.
    edges : ndarray of float64, shape (n_scores, 2)
        Lower and upper edge of each bin.
    """

    rise: Floats
    fall: Floats
    edges: Floats

    @property
    def lower(self) -> Floats:
        """Lower edge of each bin."""
        return self.edges[:, 0]

    @property
    def upper(self) -> Floats:
        """Upper edge of each bin."""
        return self.edges[:, 1]


def steps_of_counts(counts: BinnedCounts) -> GridSteps:
    """Return one step per occupied bin.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row of positive weight.

    Returns
    -------
    GridSteps
        Weights and deviations are exact. Without weights, so are the sums of squares. With weights, the squares of the
        weights are assumed to be unrelated to outcome and confidence within a bin.

    Examples
    --------
    >>> steps = steps_of_counts(BinnedCounts.from_arrays([1, 0, 1], [0.2, 0.3, 0.9], bins=2))
    >>> steps.deviation.round(3), steps.rise.round(3), steps.fall.round(3)
    (array([0.5, 0.1]), array([0.8, 0.1]), array([0.3, 0. ]))
    """
    own = counts.occupied
    weight, middle = counts.weight[:, own], counts.bins.midpoints[own]
    deviation, squares, weight_sq = counts.deviation[:, own], counts.deviation_sq[own], counts.weight_sq[own]
    total, moved = weight.sum(axis=0), deviation.sum(axis=0)
    rise = np.maximum(weight[1] * (1 - middle) - deviation[1], 0.0)
    fall = np.maximum(weight[0] * middle + deviation[0], 0.0)
    per_weight = weight_sq / total
    # c (1 - c) = m (1 - m) + (1 - 2 m) (c - m) - (c - m)^2, with the midpoint m
    variance = total * middle * (1 - middle) + (1 - 2 * middle) * moved - squares
    loss = total_without_squares(middle, weight, deviation).sum(axis=0) + squares
    return GridSteps(
        score=counts.mean_confidence[own],
        weight=total,
        deviation=rise - fall,
        weight_sq=weight_sq,
        deviation_weight_sq=per_weight * (rise - fall),
        deviation_sq=per_weight * np.maximum(loss, 0.0),
        calibrated_variance=per_weight * np.maximum(variance, 0.0),
        n_rows=counts.n[own],
        weighted=counts.weighted,
        rise=rise,
        fall=fall,
        edges=np.column_stack([counts.bins.edges[:-1], counts.bins.edges[1:]])[own],
    )
