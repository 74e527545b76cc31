"""Plan a test set: pilot -> draws of the truth -> simulated counts -> their posteriors -> rows needed."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _moved, _render
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL, evaluate_one
from bayescal.analyses.planning.goal_curve import NEAR, Simulated, curve_near_answer
from bayescal.analyses.planning.plan import Plan
from bayescal.posterior.copula import reorder
from bayescal.posterior.joint import correlation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Simulates the posterior after more rows; returns a verdict that meets the goal, or None.
Future = Callable[[int, int, np.random.Generator], str | None]
#: The verdicts that settle a difference, by the name under which `Comparison.decide` has their probability.
VERDICTS = {"p_left": "first better", "p_rope": "equal", "p_right": "second better"}
NARROW = "narrow enough"
#: Numbers of rows that are simulated: these times powers of ten; where the curve's width is below STEEP, 48 a decade.
ROUND_NUMBERS = (1, 1.5, 2, 3, 5, 7)
FINE_NUMBERS = tuple(round(10 ** (k / 48), 2) for k in range(48))
STEEP = 0.5
#: The search begins with steps of this many round numbers (about a factor of 5), and this many simulations at each.
STRIDE, SCOUTS = 4, 8
#: Then follow this many rounds, at numbers of rows up to this many widths of the fitted curve from the answer.
ROUNDS, LOOK = 20, 0.8
#: Draws of the posterior of the pilot, for truths and for the dependence between two classifiers.
TRUTHS = 4000
#: Outcomes of the two classifiers, in the order of the table of a pair.
PATTERNS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@_moved.keywords(probability="assurance")
def labels_needed(
    pilot_counts: BinnedCounts | PairedCounts,
    *,
    width: float | None = None,
    difference: float | None = None,
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
    r"""Plan how many rows to label for a narrow interval of the ECE, or to settle a difference of two classifiers.

    Parameters
    ----------
    pilot_counts : BinnedCounts or PairedCounts
        Counts of the rows labelled so far, a few hundred or more: of one classifier for `width`, of two classifiers on
        the same rows for `difference`. The plan has no information on bins without rows in the pilot.
    width : float, optional
        Goal: an equal-tailed interval of the ECE no wider than this, in units of ECE.
    difference : float, optional
        Goal: with a posterior probability of at least `prob` one ECE is smaller by more than this, or the other is, or
        they differ by no more. It is the ``rope`` of `compare`; with 0 only the sign is settled. Exactly one of `width`
        and `difference` must be given.
    assurance : float, default 0.8
        Probability that the goal is met, averaged over the posterior of the pilot and over the rows to come. Power is
        the same probability at one assumed truth.
    prob : float, default 0.95
        Probability of the interval, or of the verdict on the difference.
    keep_pilot : bool, default True
        Whether the rows of the pilot will be analysed together with the new ones. False if the classifier or its bins
        were chosen with the pilot.
    largest : int, default 10_000_000
        Largest number of rows to consider. The plan does not extrapolate beyond it.
    simulations : int, default 400
        Number of simulated futures, at least 20. Each computes one posterior (0.02 s) or two; the width of the interval
        of the answer is inversely proportional to the square root of their number.
    model, **options
        As for `evaluate`, for the posterior of the pilot and for the simulated analyses.
    draws : int, default 1000
        Posterior draws in each simulated analysis; their Monte Carlo error is about 3 % of the width of an interval.
    rng : None, int, SeedSequence or Generator
        Randomness.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    Plan
        Rows needed, with an interval of the simulation error, the simulated curve, and a sentence.

    Raises
    ------
    ValueError, TypeError
        If not exactly one goal is given, it does not fit the kind of counts, the pilot has no rows, or a number is out
        of range.

    Notes
    -----
    Each simulation draws a truth from the pilot's posterior (bin masses, accuracies), then the cells of n rows from
    the truth (multinomial; mean confidences as in the pilot), and evaluates the counts as `evaluate` or `compare` will.
    The share of futures that meet the goal is thus a probability under the posterior of the pilot, and a larger pilot
    makes the plan more precise.

    The truth of two classifiers takes their accuracies from their own posteriors, with draws paired as `compare` pairs
    those of their ECEs. The joint cells give the frequency of each pair of bins (a Dirichlet draw over pairs that
    occur) and the agreement of outcomes. A joint Dirichlet of all cells would have the bias of the Dirichlet model: no
    classifier would be calibrated. As a consequence, an event may have different outcomes for the two classifiers in a
    few rows.

    Near the answer, the share is modelled as :math:`\Phi(z_p + (\log n - x) / s)`, where x is the log of the rows
    needed and p the assurance; its posterior has flat priors of x and log s. The next n to simulate is chosen from the
    current posterior of x, as in a psychometric experiment.

    New rows have the effective number of rows per row of the pilot (Kish).

    References
    ----------
    O'Hagan and Stevens (2001), Bayesian assessment of sample size for clinical trials of cost-effectiveness, Medical
    Decision Making 21. Watson and Pelli (1983), QUEST: a Bayesian adaptive psychometric method, Perception &
    Psychophysics 33. Kruschke (2018), Rejecting or accepting parameter values in Bayesian estimation, AMPPS 1.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> confidence = rng.random(300)
    >>> pilot = BinnedCounts.from_arrays(rng.random(300) < confidence, confidence, bins=5)
    >>> plan = labels_needed(pilot, width=0.03, simulations=20, draws=200, rng=1)
    >>> plan.rows > 300
    True
    >>> labels_needed(pilot, width=0.5, rng=1).rows
    0
    """
    goal = _goal(pilot_counts, width, difference)
    assurance = _checks.fraction("assurance", assurance)
    prob = _checks.fraction("prob", prob)
    largest = _checks.whole_number("largest", largest)
    simulations = _checks.whole_number("simulations", simulations, at_least=20)
    draws = _checks.whole_number("draws", draws, at_least=100)
    if not isinstance(keep_pilot, bool | np.bool_):
        raise TypeError(f"`keep_pilot` must be True or False, not {keep_pilot!r}.")
    rng = _checks.generator(rng)
    arguments = {"model": model, "draws": draws, **options}
    planned: _Width | _Difference
    if isinstance(pilot_counts, PairedCounts):
        planned = _Difference(pilot_counts, goal, prob, keep_pilot, arguments, rng)
    else:
        planned = _Width(pilot_counts, goal, prob, keep_pilot, arguments, rng)
    verdict = planned.pilot_verdict if keep_pilot else None
    simulated: Simulated = {}
    if verdict is None:
        with bar(simulations, "Simulating futures", progress) as advance:
            simulated = _search(planned.future, planned.guess, assurance, largest, simulations, rng, advance)
    return Plan(
        goal=planned.goal,
        assurance=assurance,
        pilot=planned.spec,
        pilot_now=planned.pilot_now,
        pilot_verdict=verdict,
        keep_pilot=bool(keep_pilot),
        largest=largest,
        verdicts=planned.verdicts,
        simulated=simulated,
    )


def _goal(pilot: Any, width: Any, difference: Any) -> float:
    """Return the size of the goal, after checking that the counts fit it."""
    if (width is None) == (difference is None):
        given = "neither is" if width is None else "both are"
        raise ValueError(
            "exactly one of `width` (of the interval of one classifier) and `difference` (of two classifiers) must be "
            f"given; {given}."
        )
    wanted, name = (BinnedCounts, "width") if difference is None else (PairedCounts, "difference")
    if not isinstance(pilot, wanted):
        hints = {
            BinnedCounts: "For one classifier use `width`; for two, `PairedCounts.from_arrays`.",
            PairedCounts: "For two classifiers use `difference`; each has counts, `pilot_counts.first` and `.second`.",
            Evaluation: "Its counts are `.counts`.",
            Comparison: "Its counts are in `.pairs`, as in `comparison.pairs[0, 1]`.",
        }
        hint = hints.get(type(pilot), "Make them with `from_arrays`.")
        raise TypeError(f"`pilot_counts` must be {wanted.__name__} for `{name}`, not {type(pilot).__name__}. {hint}")
    if not pilot.weight.any():
        raise ValueError("`pilot_counts` must hold labelled rows, and is empty; a few hundred rows are enough.")
    if difference is None:
        return _checks.fraction("width", width)
    if isinstance(difference, bool) or not isinstance(difference, Real):
        raise TypeError(f"`difference` must be a number in [0, 1), not {difference!r}.")
    if not 0 <= float(difference) < 1:
        hint = " Percent? Divide by 100." if 1 <= float(difference) <= 100 else " Its sign is not needed."
        raise ValueError(f"`difference` must lie in [0, 1), in units of ECE, not {difference}.{hint}")
    return float(difference)


class _Width:
    """The goal of one classifier: a narrow interval of the ECE."""

    verdicts: tuple[str, ...] = (NARROW,)

    def __init__(
        self,
        pilot: BinnedCounts,
        size: float,
        prob: float,
        keep: bool,
        arguments: dict[str, Any],
        rng: np.random.Generator,
    ) -> None:
        self.pilot, self.size, self.prob, self.keep, self.arguments = pilot, size, prob, keep, arguments
        now = evaluate_one(pilot, rng=rng, **{**arguments, "draws": TRUTHS})
        low, high = now.ece.interval(prob)
        self.truths, self.spec = now.bin_draws, f"pilot: {now.question}"
        self.pilot_verdict = NARROW if high - low <= size else None
        self.goal = f"a {100 * prob:g} % interval of the ECE no wider than {size:g}"
        self.pilot_now = (
            f"the pilot's {pilot.n_rows} rows alone give {low:.3f} to {high:.3f}, a width of {high - low:.3f}"
        )
        #: The width is roughly proportional to the inverse square root of the number of rows.
        self.guess = pilot.n_rows * ((high - low) / size) ** 2 - (pilot.n_rows if keep else 0)

    def future(self, n: int, i: int, rng: np.random.Generator) -> str | None:
        mass, accuracy = self.truths.mass[i % TRUTHS], self.truths.accuracy[i % TRUTHS]
        rows, weight = _effective(self.pilot.n_rows, self.pilot.weight.sum(), self.pilot.weight_sq.sum(), n)
        total = rng.multinomial(rows, mass / mass.sum())
        positive = rng.binomial(total, accuracy)
        confidence = np.broadcast_to(self.truths.confidence, self.truths.accuracy.shape)[i % TRUTHS]
        counts = _counts_like(self.pilot, np.stack([total - positive, positive]), confidence, weight)
        evaluation = evaluate_one(self.pilot + counts if self.keep else counts, rng=rng, **self.arguments)
        low, high = evaluation.ece.interval(self.prob)
        return NARROW if high - low <= self.size else None


class _Difference:
    """The goal of two classifiers on the same rows: a verdict on which is better, or that they are equal."""

    verdicts: tuple[str, ...] = tuple(VERDICTS.values())

    def __init__(
        self,
        pilot: PairedCounts,
        size: float,
        prob: float,
        keep: bool,
        arguments: dict[str, Any],
        rng: np.random.Generator,
    ) -> None:
        self.pilot, self.size, self.prob, self.keep, self.arguments = pilot, size, prob, keep, arguments
        now = self._compared(pilot, TRUTHS, rng)
        self.pilot_verdict = self._verdict(now)
        self.goal = _settled(size, prob)
        decided = now.decide("first", "second")
        shares = ", ".join(f"P({word}) {_render.probability(decided[name])}" for name, word in VERDICTS.items())
        self.pilot_now = f"the pilot's {pilot.n_rows} rows alone give {shares}"
        self.spec = f"pilot: {now.spec}"
        self.guess = float(pilot.n_rows)
        self.truths = [evaluation.bin_draws for evaluation in now.evaluations.values()]
        values = [evaluation.ece.values for evaluation in now.evaluations.values()]
        # pairs of draws of the two classifiers, as the comparison pairs those of their ECEs
        places = np.tile(np.arange(float(TRUTHS))[:, None], 2)
        tied = reorder(places, correlation(values, self.truths, {(0, 1): pilot}), rng=rng).astype(np.intp)
        self.order = np.take_along_axis(np.argsort(np.stack(values, axis=1), axis=0, kind="stable"), tied, axis=0)
        self.weight, self.within, self.at = _pairs_of_bins(pilot)

    def future(self, n: int, i: int, rng: np.random.Generator) -> str | None:
        pilot, drawn = self.pilot, self.order[i % TRUTHS]
        accuracies = [truths.accuracy[j] for truths, j in zip(self.truths, drawn, strict=True)]
        rows, weight = _effective(pilot.n_rows, pilot.weight.sum(), pilot.weight_sq.sum(), n)
        effective = pilot.n_rows * rows / n
        mass = rng.dirichlet(self.weight / self.weight.sum() * effective)
        table = mass[:, None] * _outcomes(self.within, mass, self.at, accuracies)
        cells = rng.multinomial(rows, (table / table.sum()).ravel()).reshape(table.shape)
        margins = []
        for k, (own, truths, j) in enumerate(zip((pilot.first, pilot.second), self.truths, drawn, strict=True)):
            by_outcome = np.zeros((2, len(own.bins)), np.int64)
            for pattern, outcome in enumerate(PATTERNS[:, k]):
                np.add.at(by_outcome[outcome], self.at[k], cells[:, pattern])
            confidence = np.broadcast_to(truths.confidence, truths.accuracy.shape)[j]
            margins.append(_counts_like(own, by_outcome, confidence, weight))
        pair = _paired(margins, self.at, cells, weight)
        return self._verdict(self._compared(pilot + pair if self.keep else pair, self.arguments["draws"], rng))

    def _compared(self, pair: PairedCounts, draws: int, rng: np.random.Generator) -> Comparison:
        """Compare as `compare` does, with the same random numbers for both classifiers."""
        common, order = (int(s) for s in rng.integers(2**63, size=2))
        arguments = {**self.arguments, "draws": draws, "rng": common}
        both = {"first": evaluate_one(pair.first, **arguments), "second": evaluate_one(pair.second, **arguments)}
        return Comparison(both, {(0, 1): pair}, self.size, order)

    def _verdict(self, comparison: Comparison) -> str | None:
        decided = comparison.decide("first", "second")
        if comparison.rope == 0:  # if both are exactly 0, neither is smaller
            decided["p_rope"] = 0.0
        return next((word for name, word in VERDICTS.items() if decided[name] >= self.prob), None)


def _settled(size: float, prob: float) -> str:
    sure = f"with {100 * prob:g} % posterior probability"
    if size == 0:
        return f"a verdict {sure} on which of two classifiers has the smaller ECE"
    return f"a verdict {sure} on two ECEs (one smaller by more than {size:g}, or the two within {size:g})"


def _effective(n_rows: int, weight: float, weight_sq: float, n: int) -> tuple[int, float]:
    """Return the effective number of n rows like those of the pilot, and the weight of each; n and 1 if unweighted."""
    return max(1, round(n * (weight**2 / weight_sq / n_rows))), float(weight_sq / weight)


def _counts_like(pilot: BinnedCounts, cells: Ints, confidence: Floats, weight: float) -> BinnedCounts:
    """Counts of simulated rows, each with the mean confidence of its bin."""
    offset = np.where(cells.any(axis=0), confidence - pilot.bins.midpoints, 0.0)
    weights = weight * cells.astype(np.float64)
    total = weights.sum(axis=0)
    return BinnedCounts(pilot.bins, cells, weights, weights * offset, total * offset**2, weight * total, pilot.target)


def _pairs_of_bins(pilot: PairedCounts) -> tuple[Floats, Floats, tuple[Ints, Ints]]:
    """Weight of each pair of bins that occurs, shares of the four outcomes in it, and the bins.

    Shares are smoothed by one row with the outcomes of all rows, so that impossible outcomes keep a share of 0.
    """
    pairs, at = np.unique(pilot.cells[:, [0, 2]], axis=0, return_inverse=True)
    table = np.zeros((len(pairs), 4))
    np.add.at(table, (at, 2 * pilot.cells[:, 1] + pilot.cells[:, 3]), pilot.weight)
    table *= pilot.n_rows / pilot.weight.sum()
    # both outcomes are possible, also if the pilot has only one of them
    overall = table.sum(axis=0) + np.array([0.5, 0.0, 0.0, 0.5])
    rows = table.sum(axis=1)
    return rows, (table + overall / overall.sum()) / (rows[:, None] + 1), (pairs[:, 0], pairs[:, 1])


def _outcomes(within: Floats, mass: Floats, at: tuple[Ints, Ints], accuracies: list[Floats]) -> Floats:
    """Shares of the four outcomes in each pair of bins, such that each bin of both classifiers has its accuracy.

    The share of rows in which both outcomes are 1 lies at the same point as in `within` between the smallest and the
    largest share that the accuracies allow.
    """
    before = within[:, 2] + within[:, 3], within[:, 1] + within[:, 3]
    after = [_shifted(b, mass, i, accuracy) for b, i, accuracy in zip(before, at, accuracies, strict=True)]
    least, most = np.maximum(before[0] + before[1] - 1, 0.0), np.minimum(*before)
    along = np.clip((within[:, 3] - least) / (most - least), 0.0, 1.0)
    least, most = np.maximum(after[0] + after[1] - 1, 0.0), np.minimum(*after)
    both = least + along * (most - least)
    shares = np.stack([1 - after[0] - after[1] + both, after[1] - both, after[0] - both, both], axis=1)
    return np.maximum(shares, 0.0)


def _shifted(share: Floats, mass: Floats, at: Ints, accuracy: Floats) -> Floats:
    """Shares of outcome 1 in pairs of bins, moved towards 0 or 1 until each bin has its accuracy."""
    size = len(accuracy)
    total = np.bincount(at, mass, size)
    now = np.divide(np.bincount(at, mass * share, size), total, out=np.full(size, 0.5), where=total > 0)
    wanted, now = accuracy[at], now[at]
    return np.where(wanted < now, share * wanted / now, 1 - (1 - share) * (1 - wanted) / (1 - now))


def _paired(margins: list[BinnedCounts], at: tuple[Ints, Ints], cells: Ints, weight: float) -> PairedCounts:
    pair, pattern = np.nonzero(cells)
    outcome = PATTERNS[pattern]
    joint = np.stack([at[0][pair], outcome[:, 0], at[1][pair], outcome[:, 1]], axis=1)
    order = np.lexsort(joint.T[::-1])
    n = cells[pair, pattern][order]
    weights = weight * n.astype(np.float64)
    return PairedCounts(margins[0], margins[1], joint[order], n, weights, weight * weights)


def _search(
    future: Future,
    guess: float,
    assurance: float,
    largest: int,
    simulations: int,
    rng: np.random.Generator,
    advance: Callable[[], None],
) -> Simulated:
    """Simulate futures at numbers of rows that approach the number at which the share is `assurance`."""
    sizes, fine = _numbers(ROUND_NUMBERS, largest), _numbers(FINE_NUMBERS, largest)
    simulated: Simulated = {}
    done = iter(range(simulations))  # numbers of the futures

    def run(n: int, times: int) -> None:
        of = simulated.setdefault(n, Counter())
        for _, i in zip(range(times), done, strict=False):  # this order loses none of `done`
            of[future(n, i, rng)] += 1
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
        fit = curve_near_answer(simulated, assurance, largest)
        grid = fine if fit.width < STEEP else sizes
        run(grid[_nearest(grid, fit.quantile(0.5) + side * min(LOOK * fit.width, math.log(NEAR) / 2))], batch)
    return simulated


def _numbers(factors: tuple[float, ...], largest: int) -> list[int]:
    """The factors times powers of ten, as whole numbers, and `largest`."""
    numbers = {round(f * 10**k) for k in range(len(str(largest))) for f in factors}
    return sorted({n for n in numbers if n < largest} | {largest})


def _nearest(sizes: list[int], log_rows: float) -> int:
    return int(np.abs(np.log(sizes) - log_rows).argmin())
