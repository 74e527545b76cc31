"""Moments of the difference of two net benefits, by the aggregation property of the Dirichlet distribution."""

import numpy as np

from bayescal.decisions.posterior import base_shares


def difference_mean_and_sd(posterior, first, second, gain):
    """Mean and standard deviation of the difference of expected gains of two models, of rows without clusters.

    Only rows that one of both models treats, and the other does not, contribute.
    """
    counts, thresholds = posterior.counts, posterior.counts.thresholds
    index = np.arange(len(thresholds))
    one, other = (counts.cells[:, i, None] > index for i in (first, second))
    only = np.zeros((2, 2, len(thresholds)))  # (which model, outcome, threshold)
    for z in (0, 1):
        of_z = (counts.outcome == z) * posterior._rows
        only[0, z], only[1, z] = of_z @ (one & ~other), of_z @ (other & ~one)
    above = 1 - np.cumsum(base_shares(thresholds))[:-1]
    only += posterior.pseudo_rows / 2 * above * (1 - above)
    total = posterior.parameters(first).sum(axis=-1, keepdims=True)
    # treated by the first only and by the second only: cells of one Dirichlet, with opposite gains
    gains = np.stack([gain, -gain])
    sums, squares = (gains * only).sum(axis=0), (gains**2 * only).sum(axis=0)
    if not posterior.given_outcome:
        sums, squares, total = (values.sum(axis=0, keepdims=True) for values in (sums, squares, total))
    mean = sums / total
    variance = (squares / total - mean**2) / (total + 1)
    return mean.sum(axis=0), np.sqrt(variance.sum(axis=0))
