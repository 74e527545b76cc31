"""Event rates of a calibration curve at scores between its knots."""

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws

Floats = NDArray[np.float64]

#: Distance within which a score is that of a knot apart.
AT_KNOT = 1e-9


def rates_at(knots: BinDraws, score: Floats, apart: NDArray[np.bool_]) -> Floats:
    r"""Interpolate draws of a calibration curve, at scores in [0, 1], between its knots; shape (n_draws, n_scores).

    The error of a knot with score c and rate m is measured in angles, :math:`e = \arcsin\sqrt m - \arcsin\sqrt c`. It
    is linear in :math:`\arcsin\sqrt c` between knots, and constant below the first and above the last one. In logits
    the error of a score near 0 or 1 would have no bound; in rates, a shift of rare events would not be smooth. Rates of
    knots `apart`, at exactly 0 or 1, concern this score alone; if all knots are apart, they are interpolated.

    >>> knots = BinDraws(np.ones((1, 2)), np.array([[0.25, 0.5]]), np.array([[0.25, 0.75]]), np.ones(2, bool), 1)
    >>> rates_at(knots, np.array([0.1, 0.25, 0.5, 0.75, 1.0]), np.zeros(2, bool)).round(3)
    array([[0.1  , 0.25 , 0.371, 0.5  , 0.933]])
    """
    used = np.ones_like(apart) if apart.all() else ~apart
    own, at = _angle(knots.confidence[0, used]), _angle(score)
    error = _angle(knots.accuracy[:, used]) - own
    after = np.clip(np.searchsorted(own, at), 1, max(len(own) - 1, 1))
    right = np.minimum(after, len(own) - 1)
    width = np.where(right > after - 1, own[right] - own[after - 1], 1.0)
    part = np.clip((at - own[after - 1]) / width, 0.0, 1.0)
    moved = at + (1 - part) * error[:, after - 1] + part * error[:, right]
    rates: Floats = np.sin(np.clip(moved, 0.0, np.pi / 2)) ** 2
    for knot in np.flatnonzero(apart):
        rates[:, np.abs(score - knots.confidence[0, knot]) <= AT_KNOT] = knots.accuracy[:, [knot]]
    return rates


def _angle(probability: Floats) -> Floats:
    angle: Floats = np.arcsin(np.sqrt(np.clip(probability, 0.0, 1.0)))
    return angle
