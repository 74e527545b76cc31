"""Plan a test set: pilot -> draws of the truth -> simulated counts -> their posteriors -> rows needed."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Generator
from bayescal._meant import public
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.estimands.registry import EstimandLike
from bayescal.planning.goal_curve import NEAR, Simulated, curve_near_answer
from bayescal.planning.result import Plan
from bayescal.planning.studies import Narrow, OneClassifier, TwoClassifiers, WithinLimit, checked_goal
from bayescal.posterior.shrinkage.model import compiled_form_pays, wait_for_compilation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.paired import PairedCounts

#: Simulates the posterior after more rows; returns a verdict that meets the goal, or None.
Study = Callable[[int, int, Generator], str | None]
#: Numbers of rows that are simulated: these times powers of ten; where the curve's width is below STEEP_WIDTH, 48 a
#: decade.
ROUND_NUMBERS = (1, 1.5, 2, 3, 5, 7)
FINE_NUMBERS = tuple(round(10 ** (k / 48), 2) for k in range(48))
STEEP_WIDTH = 0.5
#: The search begins with steps of this many round numbers (about a factor of 5), and this many simulations at each.
STRIDE, SCOUTS = 4, 8
#: Then follow this many rounds, at numbers of rows up to this many widths of the fitted curve from the answer.
ROUNDS, LOOK = 20, 0.8
#: What simulates the studies of each goal.
PLANNED: dict[str, Callable[..., OneClassifier | TwoClassifiers]] = {
    "width": Narrow,
    "below": WithinLimit,
    "above": WithinLimit,
    "difference": TwoClassifiers,
}


@public
def labels_needed(
    pilot_counts: BinnedCounts | PairedCounts,
    *,
    width: float | None = None,
    difference: float | None = None,
    below: float | None = None,
    above: float | None = None,
    estimand: EstimandLike = "ece",
    assurance: float = 0.8,
    prob: float = 0.95,
    keep_pilot: bool = True,
    largest: int = 10_000_000,
    simulations: int = 400,
    model: str = DEFAULT_MODEL,
    draws: int = 1000,
    rng: Any = None,
    progress: bool = False,
    **options: Any,
) -> Plan:
    r"""Plan how many rows to label for a narrow interval, to be sure of a limit, or to settle a difference.

    Parameters
    ----------
    pilot_counts : BinnedCounts or PairedCounts
        Counts of the rows labelled so far, a few hundred or more: of one classifier for `width`, `below` and `above`,
        of two classifiers on the same rows for `difference`. The plan knows nothing of bins without pilot rows.
    width : float, optional
        Goal: an equal-tailed interval of the estimand no wider than this, in units of the estimand. Exactly one of
        `width`, `difference`, `below` and `above` must be given.
    difference : float, optional
        Goal: with a posterior probability of at least `prob` one ECE (or other `estimand`) is smaller by more than
        this, or the other is, or they differ by no more. It is the ``rope`` of `compare`; with 0 only the sign is
        settled.
    below : float, optional
        Goal: with a posterior probability of at least `prob` the estimand is below this limit, as for the acceptance of
        a classifier. For an estimand whose values nearest 0 are best, its absolute value.
    above : float, optional
        The same for an estimand of which larger values are better, such as the AUC.
    estimand : str, Estimand or callable, default "ece"
        The quantity. For the AUC, the pilot must hold the order of the rows: ``evaluate(y_true, y_prob).counts`` and
        ``compare(...).pairs[0, 1]`` do, and so do counts on many bins after `BinnedCounts.coarsen`.
    assurance : float, default 0.8
        Probability that the goal is met, averaged over the posterior of the pilot and over the rows to come (a
        preposterior probability). Power is the same probability at one assumed truth; it is smaller than the assurance
        for some truths.
    prob : float, default 0.95
        Probability of the interval, of the limit, or of the verdict on the difference.
    keep_pilot : bool, default True
        Whether the rows of the pilot will be analysed together with the new ones. False if the classifier or its bins
        were chosen with the pilot.
    largest : int, default 10_000_000
        Largest number of rows to consider. The plan does not extrapolate beyond it.
    simulations : int, default 400
        Number of simulated studies, at least 20. Each computes one posterior (0.02 s) or two; from 100 simulations on,
        in compiled form (0.004 s; compiled once, in about half a minute, and stored). The width of the interval of the
        answer is inversely proportional to the square root of their number.
    model, **options
        As for `evaluate`, for the posterior of the pilot and for the simulated analyses.
    draws : int, default 1000
        Posterior draws in each simulated analysis; their Monte Carlo error is about 3 % of the width of an interval.

    Returns
    -------
    Plan
        Rows needed, with an interval of the simulation error, the simulated curve, and a sentence.

    Raises
    ------
    ValueError, TypeError
        If not exactly one goal is given, it does not fit the counts or the estimand, the pilot has no rows or lacks
        what the estimand needs, or a number is out of range.

    Notes
    -----
    Each simulation draws a truth from the pilot's posterior (bin masses, accuracies), then the cells of n rows from
    the truth (multinomial; mean confidences as in the pilot), and evaluates the counts as `evaluate` or `compare` will.
    The share of simulated studies that meet the goal is thus a probability under the posterior of the pilot, and a
    larger pilot makes the plan more precise.

    The truth of two classifiers takes their accuracies from their own posteriors, with draws paired as `compare` pairs
    those of their ECEs. The joint cells give the frequency of each pair of bins (a Dirichlet draw over pairs that
    occur) and the agreement of outcomes. A joint Dirichlet of all cells would have the bias of the Dirichlet model: no
    classifier would be calibrated. So an event may have different outcomes for the two classifiers in a few rows.

    With unlimited rows the posterior is concentrated at the truth. So for `below` and `above`, the share of studies
    that meet the goal tends to the probability c, given the pilot, that the truth is within the limit. If this is at
    most the assurance, nothing is simulated, and the plan states c (`Plan.reachable`). A finite number of rows with
    the pilot gives at most c / `prob`, because the expected posterior probability of the limit is c.

    Near the answer, the share is modelled as :math:`\Phi(z_p + (\log n - x) / s)`, where x is the log of the rows
    needed and p the assurance; its posterior has flat priors of x and log s. If unlimited rows give a share c below 1,
    it is :math:`\Phi(z_c - (z_c - z_p) (e^x / n)^g)` with g between 1/4 and 1. The next n to simulate is chosen from
    the current posterior of x, as in a psychometric experiment. The answer is the n at which the posterior mean of the
    share is p, so the assurance includes the simulation error.

    New rows have the effective number of rows per row of the pilot (Kish). The losses of new rows vary around mean
    losses drawn from their posterior, by outcome and bin (see `brier_score`, `log_score`); those of two classifiers are
    Normal, with means and covariance from the posterior of `compare`. For the AUC, the true area is drawn from its
    posterior and the area of the new rows is Beta around it, with the variance of DeLong; the new rows have the ranks
    of the pilot, tilted exponentially to this area. The correlation between two classifiers is that of the pilot.

    References
    ----------
    O'Hagan and Stevens (2001), Bayesian assessment of sample size for clinical trials of cost-effectiveness, Medical
    Decision Making 21. Watson and Pelli (1983), QUEST: a Bayesian adaptive psychometric method, Perception &
    Psychophysics 33. Kruschke (2018), Rejecting or accepting parameter values in Bayesian estimation, AMPPS 1.

    Examples
    --------
    >>> confidence = rng.random(300)
    >>> pilot = bc.BinnedCounts.from_arrays(rng.random(300) < confidence, confidence, bins=5)
    >>> plan = bc.planning.labels_needed(pilot, width=0.03, simulations=20, draws=200, rng=1)
    >>> plan.rows > 300
    True
    >>> bc.planning.labels_needed(pilot, width=0.5, rng=1).rows
    0
    """
    goals = {"width": width, "below": below, "above": above, "difference": difference}
    goal = checked_goal(pilot_counts, goals, estimand, prob)
    assurance = _checks.fraction("assurance", assurance)
    largest = _checks.whole_number("largest", largest)
    simulations = _checks.whole_number("simulations", simulations, at_least=20)
    draws = _checks.whole_number("draws", draws, at_least=100)
    if not isinstance(keep_pilot, bool | np.bool_):
        raise TypeError(f"`keep_pilot` must be True or False, not {keep_pilot!r}.")
    rng = _checks.generator(rng)
    compiled = compiled_form_pays(simulations)
    arguments = {"model": model, "draws": draws, "compiled": compiled, **options}
    planned = PLANNED[goal.kind](pilot_counts, goal, bool(keep_pilot), arguments, rng)
    verdict = planned.pilot_verdict if keep_pilot else None
    simulated: Simulated = {}
    if verdict is None and planned.reachable > assurance:
        with bar(simulations, "Simulating studies", progress, wait_for_compilation(compiled)) as advance:
            simulated = search(
                planned.study, planned.guess, assurance, planned.reachable, largest, simulations, rng, advance
            )
    return Plan(
        goal=planned.in_words,
        assurance=assurance,
        pilot=planned.spec,
        pilot_now=planned.pilot_now,
        pilot_verdict=verdict,
        keep_pilot=bool(keep_pilot),
        largest=largest,
        verdicts=planned.verdicts,
        simulated=simulated,
        reachable=planned.reachable,
    )


def search(
    study: Study,
    guess: float,
    assurance: float,
    reachable: float,
    largest: int,
    simulations: int,
    rng: Generator,
    advance: Callable[[], None],
) -> Simulated:
    """Simulate studies at numbers of rows that approach the number at which the share of met goals is `assurance`."""
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
        grid = fine if fit.width < STEEP_WIDTH else sizes
        run(grid[_nearest(grid, fit.quantile(0.5) + side * min(LOOK * fit.width, math.log(NEAR) / 2))], batch)
    return simulated


def _numbers(factors: tuple[float, ...], largest: int) -> list[int]:
    """The factors times powers of ten, as whole numbers, and `largest`."""
    numbers = {round(f * 10**k) for k in range(len(str(largest))) for f in factors}
    return sorted({n for n in numbers if n < largest} | {largest})


def _nearest(sizes: list[int], log_rows: float) -> int:
    return int(np.abs(np.log(sizes) - log_rows).argmin())
