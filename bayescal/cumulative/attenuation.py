"""Attenuation of the cumulative difference of a subpopulation, whose members are part of the means of their cells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.cumulative.subpopulation_sums import SubpopulationSteps

Floats = NDArray[np.float64]

#: Largest number of parts of the curve in which the share of members is compared, and members per part.
PARTS, MEMBERS = 10, 50


@dataclass(frozen=True, eq=False)
class Attenuation:
    """Differences in the curve as a share of those from the mean of the full population at the same score."""

    mean: float  # over the whole curve, in (0, 1]  # over the whole curve, in (0, 1]
    least: float  # smallest share of a part of the curve, in (0, 1]  # smallest share of a part of the curve, in (0, 1]
    most: float  # largest one  # largest one
    curve: Floats  # the cumulative difference at each score, steps divided by the share of their part; (n_scores,)  # the cumulative difference at each score, steps divided by the share of their part; (n_scores,)


def attenuation(steps: SubpopulationSteps) -> Attenuation:
    r"""Estimate how much smaller differences are in the curve than in the population.

    If members and others differ by :math:`\Delta` at a score, and the share of members there is s, members differ from
    the mean of the full population by :math:`(1 - s) \Delta`. In a cell whose members have the weight V of W, they
    differ from its mean by :math:`(1 - V / W) \Delta` on average. Small cells contain more members than others, because
    each has at least one. So the ratio is :math:`\sum_j V_j (1 - V_j / W_j)` over the cells of a part of the curve,
    divided by :math:`V (1 - V / W)` of the part as a whole. There are up to 10 parts of equal weight, with at least 50
    members on average.

    With one member and one other in each cell, the share of members is that of all rows.

    >>> from bayescal.cumulative.responses import Responses
    >>> from bayescal.cumulative.subpopulation_sums import subpopulation_steps
    >>> rows = Responses.read([1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], None, others={})
    >>> steps = subpopulation_steps(rows, np.array([True, False, True, False]))
    >>> steps.weight, steps.cell_weight
    (array([1., 1.]), array([2., 2.]))
    >>> attenuation(steps).mean
    1.0
    """
    own, cell = steps.weight, steps.cell_weight
    parts = int(np.clip(steps.n_rows.sum() // MEMBERS, 1, PARTS))
    reached = np.cumsum(own)
    starts = np.unique(np.searchsorted(reached, reached[-1] * np.arange(parts) / parts, side="right"))

    def total(values: Floats) -> Floats:
        return np.add.reduceat(values, starts)

    shown = total(own * (cell - own) / cell)
    weight, whole = total(own), total(cell)
    meant = weight * (whole - weight) / whole
    ratio = np.divide(shown, meant, out=np.ones(len(starts)), where=meant > 0)
    ratio = np.minimum(ratio, 1.0)
    mean = shown.sum() / meant.sum() if meant.sum() > 0 else 1.0
    corrected = steps.deviation / np.repeat(ratio, np.diff(starts, append=len(own)))
    return Attenuation(
        float(min(mean, 1.0)), float(ratio.min()), float(ratio.max()), np.cumsum(corrected) / reached[-1]
    )
