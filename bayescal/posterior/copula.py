"""Independent draws of several quantities -> joint draws with the same margins and a given dependence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks

Floats = NDArray[np.float64]

#: Eigenvalues below are 0: their roots would part what is perfectly correlated.
ROUNDING = 1e-12


#: Correlation that the errors of all classes of a classifier have in common, beside that of their rows: what makes one
#: class over-confident often makes all of them so, and the posterior of a single class cannot know.
COMMON_CAUSE = 0.3


def with_common_cause(correlation: Floats) -> Floats:
    """Add a common cause to a correlation matrix: 0.3 of the variance of every quantity.

    Parameters
    ----------
    correlation : ndarray, shape (n_quantities, n_quantities)
        Positive semi-definite, with a unit diagonal.

    Returns
    -------
    ndarray, shape (n_quantities, n_quantities)
        0.7 times the matrix plus 0.3.
    """
    return (1 - COMMON_CAUSE) * correlation + COMMON_CAUSE


def reorder(draws: Floats, correlation: Floats, *, rng: Any = None) -> Floats:
    """Reorder each column so that ranks depend on each other as those of correlated Normals (a Gaussian copula).

    Parameters
    ----------
    draws : ndarray, shape (n_draws, n_quantities)
        Draws of each quantity.
    correlation : ndarray, shape (n_quantities, n_quantities)
        Positive semi-definite, with a unit diagonal.
    rng : None, int, SeedSequence or Generator
        Randomness.

    Returns
    -------
    ndarray, shape (n_draws, n_quantities)
        Every column holds its own draws, in another order.

    Examples
    --------
    >>> both = reorder(np.array([[1.0, 10.0], [2.0, 30.0], [3.0, 20.0]]), np.ones((2, 2)), rng=1)
    >>> both[both[:, 0].argsort()]
    array([[ 1., 10.],
           [ 2., 20.],
           [ 3., 30.]])
    """
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.where(values > ROUNDING, values, 0.0))
    normals = _checks.generator(rng).standard_normal((len(draws), len(values))) @ root.T
    # rounding splits what is perfectly correlated only far below the spacing of ranks that matter
    ranks = np.round(normals, 9).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return np.take_along_axis(np.sort(draws, axis=0), ranks, axis=0)
