"""Tests of exact calibration: Spiegelhalter's Z and the chi-squared statistic of Hosmer and Lemeshow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HosmerLemeshow:
    """The statistic of Hosmer and Lemeshow and its groups.

    Parameters
    ----------
    chi_squared : float
        The statistic, >= 0; infinite if a group whose scores are all 0, or all 1, has other outcomes.
    df : int
        Degrees of freedom of its approximate distribution under calibration.
    n, observed, expected : ndarray, shape (n_groups,)
        Rows, rows with outcome 1, and sums of scores.
    divided : int
        Number of boundaries of groups between rows with equal scores.
    """

    chi_squared: float
    df: int
    n: NDArray[np.int64]
    observed: Floats
    expected: Floats
    divided: int


def spiegelhalter_z(score: Floats, outcome: Floats) -> float:
    r"""Compute Spiegelhalter's Z, :math:`\sum (z - c)(1 - 2c) / (\sum (1 - 2c)^2 c (1 - c))^{1/2}`.

    Spiegelhalter (1986), equation for Z in section 4: the Brier score minus its expectation under calibration, divided
    by its standard deviation. NaN if all scores are 0, 0.5 or 1, so that the standard deviation is 0.

    Two rows with score 0.2, one with outcome 1: (0.8 - 0.2) 0.6 / (2 x 0.36 x 0.16)^(1/2) = 0.36 / 0.3394.

    >>> round(spiegelhalter_z(np.array([0.2, 0.2]), np.array([1.0, 0.0])), 4)
    1.0607
    """
    slope = 1 - 2 * score
    variance = float((slope**2 * score * (1 - score)).sum())
    # with infinite precision, a score of 0.5 adds nothing
    return float(((outcome - score) * slope).sum() / np.sqrt(variance)) if variance > 0 else float("nan")


def hosmer_lemeshow_of(score: Floats, outcome: Floats, groups: int, *, fitted: bool) -> HosmerLemeshow:
    r"""Compute :math:`\sum_g (O_g - E_g)^2 / (E_g (1 - E_g / n_g))` over groups of sorted rows.

    Hosmer and Lemeshow (1980), statistic C: groups of nearly equal size, cut from the rows in the order of their
    scores; rows with equal scores are in the order of the data. A model fitted to these rows costs two degrees of
    freedom.

    Groups of two rows with expected numbers 0.5 and 1.5, of which 1 and 1 are observed: 0.25 / 0.375 twice.

    >>> test = hosmer_lemeshow_of(np.array([0.25, 0.25, 0.75, 0.75]), np.array([0.0, 1, 0, 1]), 2, fitted=False)
    >>> round(test.chi_squared, 4), test.df
    (1.3333, 2)
    """
    order = np.argsort(score, kind="stable")
    parts = np.array_split(np.arange(len(score)), groups)
    starts = np.array([part[0] for part in parts])
    sorted_score = score[order]
    n = np.array([len(part) for part in parts])
    observed, expected = (np.add.reduceat(each, starts) for each in (outcome[order], sorted_score))
    variance = expected * (1 - expected / n)
    difference = (observed - expected) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(difference > 0, difference / np.maximum(variance, 0.0), 0.0)
    divided = int((sorted_score[starts[1:]] == sorted_score[starts[1:] - 1]).sum())
    df = groups - 2 if fitted else groups
    return HosmerLemeshow(float(terms.sum()), df, n, observed, expected, divided)
