"""Recipes of the data behind 16 figures of Tygert (2021), and the statistics that their captions print.

M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8, 117:
synthetic subpopulations (Figures 1, 3, 5 and 7), calibration (appendix A, Figures 28 to 44) and calibrated scores
(appendix B, Figures 46 to 50). The text describes scores and members. The other formulas and the seeds are those of the
author's programs, https://github.com/facebookresearch/fbcdgraph (MIT licence), in the version of July 2021. Later
versions draw outcomes and members of subpopulations with another generator, so that their numbers differ.
"""

import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SEED = 987654321
#: Rows of the full population, and members of the subpopulations of Figures 5 and 7.
ROWS, MEMBERS = 50_000, 2500


class Caption(NamedTuple):
    """Number of scores and the four statistics of a caption, as printed."""

    n: str
    kuiper: str
    kuiper_over_sigma: str
    ks: str
    ks_over_sigma: str


#: Captions of subpopulations: members and their distance from the full population.
SUBPOPULATIONS = {
    1: Caption("5,000", "0.2037", "34.34", "0.2033", "34.27"),
    3: Caption("3,300", "0.01621", "2.243", "0.009983", "1.381"),
    5: Caption("2,500", "0.05536", "6.586", "0.04554", "5.418"),
    7: Caption("2,500", "0.03490", "3.318", "0.03490", "3.318"),
}
#: Captions about calibration: three numbers of rows for each of four kinds of scores and outcomes.
CALIBRATION = {
    28: Caption("10,000", "0.1031", "25.25", "0.09849", "24.12"),
    30: Caption("1,000", "0.1195", "9.256", "0.1195", "9.256"),
    32: Caption("100", "0.1388", "3.399", "0.1388", "3.399"),
    34: Caption("10,000", "0.1781", "48.77", "0.1781", "48.77"),
    36: Caption("1,000", "0.1907", "16.51", "0.1907", "16.51"),
    38: Caption("100", "0.1893", "5.185", "0.1867", "5.112"),
    40: Caption("10,000", "0.1475", "36.12", "0.1089", "26.67"),
    42: Caption("1,000", "0.1452", "11.24", "0.1095", "8.480"),
    44: Caption("100", "0.1483", "3.632", "0.1112", "2.723"),
    46: Caption("10,000", "0.004475", "1.226", "0.002627", "0.7194"),
    48: Caption("1,000", "0.01886", "1.633", "0.01606", "1.391"),
    50: Caption("100", "0.03541", "0.9696", "0.02050", "0.5615"),
}


class Rows(NamedTuple):
    """Scores, true probabilities and outcomes of all rows; for subpopulations, members and perhaps weights.

    Some formulas of Figure 1 are negative for small scores: outcomes are then 0, and so are the probabilities here.
    """

    score: Floats
    probability: Floats
    outcome: NDArray[np.bool_]
    member: NDArray[np.bool_] | None = None
    weights: Floats | None = None


def outcomes(probability: Floats) -> NDArray[np.bool_]:
    """Draw outcomes from the generator of Python's module random, whose stream is the same in all its versions."""
    generator = random.Random(SEED)
    return np.array([generator.random() for _ in probability]) <= probability


def calibration_rows(figure: int) -> Rows:
    """Rows of Figures 28 to 50: scores x, x^2 or sqrt(x) of equispaced x, plus an error."""
    n = int(CALIBRATION[figure].n.replace(",", ""))
    x = (np.arange(n) + 0.5) / n
    if figure <= 32:  # an error that falls from 0.4 to -0.4
        score, error = x, 0.4 * (1 - 2 * x)
    elif figure <= 38:  # a triangle of height 0.4 with a notch in its middle
        score, error = x**2, 0.4 * (1 - np.abs(1 - 2 * x))
        error[n // 2 - n // 50 : n // 2 + n // 50] = 0
    elif figure <= 44:  # oscillations that become shorter
        score = np.sqrt(x)
        error = 1 - score - np.sqrt(score * (1 - score)) * (1 - np.sin(5 / (1.1 - score)))
    else:
        score, error = x**2, np.zeros(n)
    return Rows(score, np.clip(score + error, 0, 1), outcomes(score + error))


def subpopulation_rows(figure: int) -> Rows:
    """Rows of Figures 1, 3, 5 and 7: members among `ROWS` rows, whose probabilities differ from the others'."""
    j = np.arange(ROWS)
    # not (j + 0.5) / ROWS: cells end midway between members, where other scores are, so that rounding matters
    x, half = j * (1 / ROWS) + 1 / (2 * ROWS), (1 + np.sin(j)) / 2
    member, weights = np.zeros(ROWS, dtype=bool), None
    if figure == 1:  # every 20th row, and more of them near the middle, where there is a notch
        score = x**2
        for begin, end, step in ((0, 1, 20), (1 / 4, 3 / 4, 10), (3 / 8, 5 / 8, 5)):
            member[int(begin * ROWS) : int(end * ROWS) : step] = True
        middle, high = 0.25 * (1 - 1.1 * (1 - 2 * x) ** 4), 0.7 * (1 - np.abs(1 - 2 * x))
        notch = np.abs(j - ROWS // 2 + 0.5) < ROWS // 50
        high[notch] = middle[notch]
        probability = score + middle + np.sin(j) * (high - middle)
        probability[member] = (score + high)[member]
        after = np.flatnonzero(member) + 1  # the neighbours of members deviate as much, in the other direction
        probability[after] = score[after - 1] + (2 * middle - high)[after - 1]
    elif figure == 3:  # members are dense where scores are small; their probabilities oscillate
        score = x
        member[np.unique(np.round(np.arange(ROWS**0.75) ** (4 / 3)).astype(int))[:3300]] = True
        excess = x**0.25 - x
        probability = score + np.where(member, excess * (1 + np.sin(50 * (j / ROWS) ** 0.25)) / 2, excess * half)
    else:
        member[np.random.RandomState(SEED).permutation(ROWS)[:MEMBERS]] = True
    if figure == 5:  # steps between three probabilities
        score, excess = np.sqrt(x), (1 - 2 * x) ** 2 / 2 - 0.5
        steps = 0.75 * np.round(1 + np.sin(10 * j / ROWS)) / 2
        probability = score + excess * np.where(member, steps, half)
    elif figure == 7:  # members have the probability 0, but for one of large weight between two rows of large weight
        score = x
        probability = np.where(member, 0, (np.sin(j) * np.sin(50 * (j / ROWS - 0.75))) ** 2 / 5)
        alone = member & ~np.roll(member, 1) & ~np.roll(member, -1)
        heavy = int(np.flatnonzero(alone & (j >= 3 * ROWS // 4 - 1))[0])
        weights = np.ones(ROWS)
        weights[heavy - 1 : heavy + 2] = ROWS / 500, MEMBERS / 50, ROWS / 500
        probability[heavy - 1 : heavy + 2] = 1, 1, 0
    return Rows(score, np.clip(probability, 0, 1), outcomes(probability), member, weights)
