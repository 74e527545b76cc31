"""The search for the number of rows with which a goal is met: simulated studies where they are most informative."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import cycle

import numpy as np

from bayescal.planning.goal_curve import NEAR, Simulated, curve_near_answer

#: Simulates the posterior after more rows; returns a verdict that meets the goal, or None.
Study = Callable[[int, int, np.random.Generator], str | None]
#: Numbers of rows that are simulated: these times powers of ten; where the curve's width is below STEEP, 48 a decade.
ROUND_NUMBERS = (1, 1.5, 2, 3, 5, 7)
FINE_NUMBERS = tuple(round(10 ** (k / 48), 2) for k in range(48))
STEEP = 0.5
#: The search begins with steps of this many round numbers (about a factor of 5), and this many simulations at each.
STRIDE, SCOUTS = 4, 8
#: Then follow this many rounds, at numbers of rows up to this many widths of the fitted curve from the answer.
ROUNDS, LOOK = 20, 0.8


def search(
    study: Study,
    guess: float,
    assurance: float,
    reachable: float,
    largest: int,
    simulations: int,
    rng: np.random.Generator,
    advance: Callable[[], None],
) -> Simulated:
    """Simulate studies at numbers of rows that approach the number at which the share is `assurance`.

    Parameters
    ----------
    study : callable
        Simulates a study. Takes the number of rows, the number of the simulation and a generator.
    guess : float
        Number of rows at which the search begins.
    assurance : float
        The share that is asked for.
    reachable : float
        The share with unlimited rows, above `assurance`.
    largest : int
        Largest number of rows.
    simulations : int
        Number of simulated studies.
    rng : Generator
        Randomness.
    advance : callable
        Is called after each study.

    Returns
    -------
    dict of int to Counter
        How often each verdict was reached with each number of rows.
    """
    sizes, fine = _numbers(ROUND_NUMBERS, largest), _numbers(FINE_NUMBERS, largest)
    simulated: Simulated = {}
    done = iter(range(simulations))  # numbers of the studies

    def run(n: int, times: int) -> None:
        of = simulated.setdefault(n, Counter())
        for _, i in zip(range(times), done, strict=False):  # this order loses none of `done`
            of[study(n, i, rng)] += 1
            advance()

    at, last = _nearest(sizes, math.log(max(guess, 1.0))), 0
    while sum(of.total() for of in simulated.values()) < simulations // 2:
        run(sizes[at], SCOUTS)
        of = simulated[sizes[at]]
        step = -STRIDE if of.total() - of[None] >= assurance * of.total() else STRIDE
        further = min(max(at + step, 0), len(sizes) - 1)
        if step == -last or further == at:
            break
        at, last = further, step
    batch = math.ceil(simulations / ROUNDS)
    for side in cycle((0, -1, 1)):
        if sum(of.total() for of in simulated.values()) >= simulations:
            return simulated
        fit = curve_near_answer(simulated, assurance, largest, reachable)
        grid = fine if fit.width < STEEP else sizes
        run(grid[_nearest(grid, fit.quantile(0.5) + side * min(LOOK * fit.width, math.log(NEAR) / 2))], batch)
    return simulated


def _numbers(factors: tuple[float, ...], largest: int) -> list[int]:
    """The factors times powers of ten, as whole numbers, and `largest`."""
    numbers = {round(f * 10**k) for k in range(len(str(largest))) for f in factors}
    return sorted({n for n in numbers if n < largest} | {largest})


def _nearest(sizes: list[int], log_rows: float) -> int:
    return int(np.abs(np.log(sizes) - log_rows).argmin())
