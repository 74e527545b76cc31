"""Independent draws of several quantities -> joint draws with the same margins and a given dependence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks

Floats = NDArray[np.float64]

#: Eigenvalues below this are set to 0; rounding would otherwise separate perfectly correlated quantities.
ROUNDING = 1e-12
#: Draws that are made correlated at a time.
ROWS = 512
#: Share of the variance of the errors that all classes of a classifier have in common, besides the correlation over
#: rows. A cause of over-confidence in one class often acts on all classes; posteriors of single classes cannot show it.
COMMON_CAUSE = 0.3


def with_common_cause(correlation: Floats) -> Floats:
    """Add a common factor to a correlation matrix, which explains 0.3 of the variance of every quantity.

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
    """Reorder the draws of each quantity so that their ranks are those of correlated Normals (a Gaussian copula).

    Parameters
    ----------
    draws : ndarray, shape (n_draws, n_quantities)
        Independent draws of each quantity.
    correlation : ndarray, shape (n_quantities, n_quantities)
        Correlation matrix of the Normals: positive semi-definite, with a unit diagonal.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    ndarray, shape (n_draws, n_quantities)
        Each column holds the same draws as before, in another order.

    Notes
    -----
    The columns take the ranks of Normal draws with the given correlation. This is the reordering of [1]_, but with
    random Normals in place of fixed scores, so that the rank correlation varies as in a sample.

    References
    ----------
    .. [1] R. L. Iman and W. J. Conover (1982), "A distribution-free approach to inducing rank correlation among input
       variables", Communications in Statistics - Simulation and Computation 11, 311-334.

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
    # some rows, then one quantity at a time: with a thousand classes, each further array of all draws would be 32 MB
    generator, normals = _checks.generator(rng), np.empty(draws.shape)
    for start in range(0, len(draws), ROWS):
        rows = normals[start : start + ROWS]
        np.matmul(generator.standard_normal(rows.shape), root.T, out=rows)
    for normal, drawn in zip(normals.T, draws.T, strict=True):
        # perfectly correlated Normals differ by rounding errors only: round them, so that their ranks agree
        normal[:] = with_ranks_of(np.round(normal, 9), drawn)
    return normals


def with_ranks_of(others: Floats, draws: Floats) -> Floats:
    """Reorder draws so that their ranks are those of other draws.

    Parameters
    ----------
    others, draws : ndarray, shape (n_draws,)
        Draws of two quantities.

    Returns
    -------
    ndarray, shape (n_draws,)
        The values of `draws`; the smallest is at the place of the smallest of `others`, and so on.

    Examples
    --------
    >>> with_ranks_of(np.array([0.3, 0.1, 0.2]), np.array([10.0, 20.0, 30.0]))
    array([30., 10., 20.])
    """
    result = np.empty_like(draws)
    result[others.argsort(kind="stable")] = np.sort(draws)
    return result
