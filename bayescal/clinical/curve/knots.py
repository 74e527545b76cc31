"""Knots of a calibration curve: scores, or bins of nearly equal weight, divided where scores are sparse."""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from bayescal._arrays import Bools, Floats
from bayescal.draws import BinDraws
from bayescal.stats.ordered import MergedCounts, Steps, ends_of_equal_weight, merge_between
from bayescal.stats.sums import effective_number, logit

#: A bin is divided if its scores span more than WIDEST_LOGIT on the logit scale and more than WIDEST; scores closer to
#: 0 or 1 than LOGIT_FLOOR count as this far away.
WIDEST_LOGIT, WIDEST, LOGIT_FLOOR = 0.5, 0.05, 1e-3
AT_END = 1e-9  #: Distance from 0 or 1 within which scores count as exactly 0 or 1.
#: Smallest (effective) number of rows of a part, and of a knot at exactly 0 or 1; rounding is allowed for.
LEAST_ROWS = 5 * (1 - 1e-12)
AT_KNOT = 1e-9  #: Distance within which a score is that of a knot apart.
MOST_SCORES = 200  #: Largest number of scores that are knots each.


def merge_to_knots(steps: Steps, n_bins: int) -> MergedCounts:
    """Merge the steps of a cumulative difference into the knots of a calibration curve.

    There are at most `n_bins` bins of nearly equal weight, see `merge_scores`. A bin whose scores span more than 0.5 on
    the logit scale and more than 0.05 is divided from its lower end into parts that span 0.5 and have at least 5
    (effective) rows; fewer rows at its upper end stay with the last part. Scores within 1e-9 of 0 with at least 5
    (effective) rows have one knot of their own, and so do those of 1.
    """
    ends = ends_of_equal_weight(steps, n_bins)
    score = steps.score.astype(np.float64, copy=False)
    x = logit(score, LOGIT_FLOOR)
    first, last = np.append(0, ends), np.append(ends, len(score))
    wide = (x[last - 1] - x[first] > WIDEST_LOGIT) & (score[last - 1] - score[first] > WIDEST)
    cuts = [_cuts(steps, x, a, b) for a, b in zip(first[wide].tolist(), last[wide].tolist(), strict=True)]
    cut = np.concatenate([ends, *cuts]).astype(np.intp)
    below, above = int(np.searchsorted(score, AT_END, "right")), int(np.searchsorted(score, 1 - AT_END))
    if _rows(steps, slice(0, below)) >= LEAST_ROWS:
        cut = np.append(cut[cut > below], below)
    if _rows(steps, slice(above, len(score))) >= LEAST_ROWS:
        cut = np.append(cut[cut < above], above)
    cut = np.unique(cut)
    return merge_between(steps, cut[(cut > 0) & (cut < len(score))])


def scores_as_knots(steps: Steps) -> MergedCounts:
    """Make a knot of each score, of at most `MOST_SCORES` bins, in which weights have the same scale."""
    each = np.arange(1, len(steps)) if len(steps) <= MOST_SCORES else ends_of_equal_weight(steps, MOST_SCORES)
    knots = merge_between(steps, each)
    return replace(knots, weight_sq=knots.weight * (knots.weight_sq.sum() / knots.weight.sum()))


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


def rates_at(knots: BinDraws, score: Floats, apart: Bools, *, logistic: bool = False) -> Floats:
    r"""Interpolate draws of a calibration curve, at scores in [0, 1], between its knots; shape (n_draws, n_scores).

    The error of a knot with score c and rate m is measured in angles, :math:`e = \arcsin\sqrt m - \arcsin\sqrt c`. It
    is linear in :math:`\arcsin\sqrt c` between knots, and constant below the first and above the last one. In logits
    the error of a score near 0 or 1 would have no bound; in rates, a shift of rare events would not be smooth. Rates of
    knots `apart`, at exactly 0 or 1, concern this score alone; if all knots are apart, they are interpolated. Curves
    that are lines on the logit scale (`logistic`) are interpolated there, which is exact.
    """
    used = np.ones_like(apart) if apart.all() else ~apart
    scale = logit if logistic else _angle
    knot_angle, angle = scale(knots.confidence[0, used]), scale(score)
    error = scale(knots.accuracy[:, used]) - knot_angle
    after = np.clip(np.searchsorted(knot_angle, angle), 1, max(len(knot_angle) - 1, 1))
    right = np.minimum(after, len(knot_angle) - 1)
    width = np.where(right > after - 1, knot_angle[right] - knot_angle[after - 1], 1.0)
    part = np.clip((angle - knot_angle[after - 1]) / width, 0.0, 1.0)
    moved = angle + (1 - part) * error[:, after - 1] + part * error[:, right]
    rates: Floats = expit(moved) if logistic else np.sin(np.clip(moved, 0.0, np.pi / 2)) ** 2
    for knot in np.flatnonzero(apart):
        rates[:, np.abs(score - knots.confidence[0, knot]) <= AT_KNOT] = knots.accuracy[:, [knot]]
    return rates


def _angle(probability: Floats) -> Floats:
    angle: Floats = np.arcsin(np.sqrt(np.clip(probability, 0.0, 1.0)))
    return angle
