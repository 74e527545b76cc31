"""Plan an external validation: published numbers -> possible truths -> widths of intervals -> rows needed."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import evaluate_one
from bayescal.clinical.curve.analysis import calibration_curve
from bayescal.planning.decision import NO_VALUE, Decision, first_above
from bayescal.planning.published import draws_of
from bayescal.planning.risks import WEIGHTS, Risks, log_odds_of, logit_normal, shift_to_mean
from bayescal.planning.validation_result import CHOICES, Goal, ValidationPlan, assured
from bayescal.planning.widths import WIDTHS, Moments, Width, rows_with, simulated
from bayescal.stats.binned import BinnedCounts

#: Quantities whose widths come from evaluations of simulated rows: their number, and draws of each.
EVALUATED, STUDIES, DRAWS = ("ece", "ici"), 200, 500
#: Relative standard deviation of the width of a 95 % interval from 4000 draws, the default: of two Normal quantiles.
NOISE = 0.0153
#: Rounds of the search, the change of rows at which it ends, its largest factor, and the fewest rows of a study.
ROUNDS, CLOSE, FACTOR, FEWEST_ROWS = 6, 0.03, 8.0, 100
#: Numbers that say how far risks are off on average, without and with `risks`.
DEVIATIONS = (("observed_expected", "intercept", "mean_risk"), ("prevalence", "observed_expected", "intercept"))


@public
def validation(
    *,
    prevalence: Any = None,
    auc: Any = None,
    slope: Any = 1.0,
    observed_expected: Any = None,
    intercept: Any = None,
    mean_risk: Any = None,
    risks: Any = None,
    width: Mapping[str, float] | None = None,
    threshold: float | None = None,
    best: float | None = None,
    information: float | None = None,
    assurance: float = 0.8,
    prob: float = 0.95,
    largest: int = 1_000_000,
    simulations: int = 1000,
    rng: Any = None,
) -> ValidationPlan:
    r"""Plan the number of rows of an external validation of a risk model from published numbers, without a pilot.

    Parameters
    ----------
    prevalence, auc : float, (mean, low, high) or frozen distribution
        Event rate and AUC (c-statistic): a known value; the mean and the 95 % interval of a Beta distribution; or a
        distribution of scipy.stats. Draws of different numbers are independent.
    slope : the same, default 1.0
        Calibration slope; an interval is that of a Normal distribution.
    observed_expected, intercept, mean_risk : the same, optional
        At most one: ratio of observed to expected events (log-Normal), calibration intercept (Normal), or mean
        predicted risk (Beta). By default, observed / expected is 1.
    risks : frozen distribution, optional
        Distribution of the predicted risks, as ``scipy.stats.beta(2, 18)``, from which the AUC follows. By default,
        true risks are logit-normal with this prevalence and AUC.
    width : mapping of str to float, optional
        Goals: largest widths of the intervals of "observed_expected", "in_the_large", "slope", "auc", "ece", "ici",
        "net_benefit" (per row) and "standardised_net_benefit" (per event).
    threshold : float, optional
        Threshold of treatment, for goals of the net benefit.
    best : float, optional
        Goal: probability that the study finds the best of three strategies: treat none, by the model, or all.
    information : float, optional
        Goal: expected value of the sample information as a share of that of perfect information (EVSI / EVPI).
    assurance : float, default 0.8
        Share of studies, over truths and rows, whose interval is narrow enough.
    largest : int, default 1_000_000
        Largest number of rows to consider.
    simulations : int, default 1000
        Number of truths, each with a study, at least 50; at most 200 studies for "ece" and "ici".

    Returns
    -------
    ValidationPlan
        Rows for each goal and for all of them.

    Raises
    ------
    ValueError, TypeError
        If there is no goal, a number is missing or impossible, or numbers contradict each other.

    See Also
    --------
    labels_needed : With a pilot.

    Notes
    -----
    *Rows on average* are those at which the mean width, over truths, is the goal. For known numbers these are the
    closed forms of Riley et al. [1]_ [2]_, with integrals over risks by quadrature. For the assurance, studies are
    simulated, each with a truth of its own [3]_; it includes chance in the rows, so that more rows are needed than on
    average. One standard error of the simulated share is added to the assurance. True risks p have
    :math:`\mathrm{logit}\,p = a + b\,\mathrm{logit}\,q` given predicted risks q. The AUC has the variance of Newcombe.
    ECE (15 bins) and ICI are those of `evaluate` and `calibration_curve`. A study chooses the strategy with the largest
    observed net benefit.

    References
    ----------
    .. [1] R. D. Riley et al. (2021), "Minimum sample size for external validation of a clinical prediction model with a
       binary outcome", Statistics in Medicine 40, 4230-4251.
    .. [2] R. D. Riley et al. (2024), "Evaluation of clinical prediction models (part 3)", BMJ 384, e074821.
    .. [3] M. Sadatsafavi et al. (2025), "Bayesian sample size calculations for external validation studies of risk
       prediction models", arXiv:2504.15923.

    Examples
    --------
    For known numbers, the rows for observed / expected are (1 - 0.1) / (0.1 s^2), with the error s = 0.0509:

    >>> goals = {"observed_expected": 0.2, "auc": 0.1}
    >>> plan = bc.planning.validation(prevalence=0.1, auc=0.8, width=goals, rng=1)
    >>> [row["rows_on_average"] for row in plan.table()]
    [3469, 837]
    """
    goals = _goals(width, threshold, {"best": best, "information": information})
    assurance, prob = _checks.fraction("assurance", assurance), _checks.fraction("prob", prob)
    largest = _checks.whole_number("largest", largest, at_least=FEWEST_ROWS)
    simulations, rng = _checks.whole_number("simulations", simulations, at_least=50), _checks.generator(rng)
    published = {
        "prevalence": prevalence,
        "auc": auc,
        "slope": slope,
        "observed_expected": observed_expected,
        "intercept": intercept,
        "mean_risk": mean_risk,
    }
    read = {name: draws_of(name, of, simulations, rng) for name, of in published.items() if of is not None}
    truths = _truths({name: draws for name, (draws, _) in read.items()}, risks)
    above, odds = truths.above(threshold or 0.5), (threshold or 0.5) / (1 - (threshold or 0.5))
    decision = Decision(odds, truths.risk @ truths.weight, *above)
    if "information" in goals and decision.evpi < NO_VALUE:
        raise ValueError(text_of("information without doubt"))
    true = Moments.of(truths.log_odds, truths.weight, truths.weight * truths.risk, truths.risk, above, odds)
    coarse, z = truths.coarse(), float(ndtri((1 + prob) / 2))
    planned: dict[str, Goal] = {}
    for key, seed in zip(goals, _checks.seeds(rng, len(goals)), strict=True):
        target, size = goals[key], min(simulations, STUDIES) if key in EVALUATED else simulations

        def needed(n: int, key: str = key, seed: int = seed, target: float = target, size: int = size) -> Floats:
            stream = np.random.default_rng(seed)
            if key in EVALUATED:
                return n * (np.array([*_evaluated(key, coarse, n, size, prob, stream)]) / target) ** 2
            study, noise = simulated(coarse, above, odds, n, size, stream), NOISE * stream.standard_normal(size)
            return rows_with(lambda n: WIDTHS[key](study, n, z) * (1 + noise), target, size)

        if key in CHOICES:
            values, which = decision.curves(largest, np.random.default_rng(seed)), CHOICES.index(key)
            curve = {n: of[which] / (1, decision.evpi)[which] for n, of in values.items()}
            planned[key] = Goal(target, first_above(curve, target), None, curve, target)
        elif key in EVALUATED:
            rows = _search(needed, 1000.0, assurance, largest)
            # widths are about proportional to the root of the rows
            planned[key] = Goal.of_width(target, rows, float(np.mean(np.sqrt(rows))) ** 2, assurance, largest)
        else:
            widths = partial(_widths, WIDTHS[key], true, z)
            mean = rows_with(partial(_mean_width, widths), target, 1)
            start = np.quantile(rows_with(widths, target, len(true.prevalence)), assurance)
            rows = _search(needed, float(start), assurance, largest)
            planned[key] = Goal.of_width(target, rows, float(mean[0]), assurance, largest)
    return ValidationPlan(
        {name: words for name, (_, words) in read.items()} | ({} if risks is None else {"risks": "as given"}),
        planned,
        assurance,
        prob,
        largest,
        threshold,
        float(decision.prevalence.mean()),
        None if threshold is None else decision,
    )


def _goals(width: Any, threshold: Any, choices: Mapping[str, Any]) -> dict[str, float]:
    """Return the goals by name; refuse none, unknown ones, and those that lack a threshold."""
    known = [*WIDTHS, *EVALUATED]
    if width is not None and not isinstance(width, Mapping):
        raise TypeError(f"`width` must be a mapping such as {{'slope': 0.3}}, not {_checks.quoted(width)}.")
    for name in width or {}:
        _checks.one_of("width", name, known)
    goals = {name: float(_checks.positive(f"width[{name!r}]", value)) for name, value in (width or {}).items()}
    goals |= {name: _checks.fraction(name, value) for name, value in choices.items() if value is not None}
    if not goals:
        raise ValueError(
            f"a plan needs a goal: `width={{...}}` of intervals of {', '.join(known)}; or `best=0.9` or "
            "`information=0.8`, with `threshold=`."
        )
    if threshold is not None:
        _checks.fraction("threshold", threshold)
    elif lacking := [name for name in goals if "net_benefit" in name or name in CHOICES]:
        raise ValueError(f"`threshold` is needed for the goal {lacking[0]!r}, as in `threshold=0.2`.")
    return goals


def _truths(draws: dict[str, Floats], risks: Any) -> Risks:
    """Return possible populations; refuse too few and too many numbers."""
    deviations = [f"`{name}`" for name in DEVIATIONS[risks is not None] if name in draws]
    if len(deviations) > 1:
        raise ValueError(f"give at most one of {' and '.join(deviations)}: one follows from the other.")
    slope, ratio, shift = draws["slope"][:, None], draws.get("observed_expected", np.ones(1)), draws.get("intercept")
    if risks is not None:
        if surplus := {"auc", "mean_risk"} & set(draws):
            raise ValueError(f"`{min(surplus)}` follows from `risks`; leave it out.")
        at = log_odds_of(risks)
        if shift is None:
            shift = shift_to_mean(slope * at, WEIGHTS, _mean(draws.get("prevalence", ratio * (expit(at) @ WEIGHTS))))
        return Risks(at, expit(slope * at + shift[:, None]))
    if lacking := [name for name in ("prevalence", "auc") if name not in draws]:
        raise ValueError(f"`{lacking[0]}` is needed, unless `risks` is the distribution of the predicted risks.")
    true = logit_normal(*np.broadcast_arrays(draws["prevalence"], draws["auc"]))
    if shift is None:
        mean = _mean(draws.get("mean_risk", draws["prevalence"] / ratio))
        shift = -slope[:, 0] * shift_to_mean(true / slope, WEIGHTS, mean)
    predicted = (true - shift[:, None]) / slope
    return Risks(predicted, np.broadcast_to(expit(true), predicted.shape))


def _mean(risk: Floats) -> Floats:
    """Require a possible mean risk."""
    if risk.max() >= 1:
        raise ValueError(
            f"`observed_expected` and the other numbers imply a mean risk of {risk.max():.3g}, which must be below 1; "
            "give narrower intervals."
        )
    return risk


def _widths(of: Width, truths: Moments, z: float, n: Floats) -> Floats:
    return of(truths, n, z)


def _mean_width(widths: Callable[[Floats], Floats], n: Floats) -> Floats:
    return np.mean(widths(n), keepdims=True)


def _search(needed: Callable[[int], Floats], start: float, assurance: float, largest: int) -> Floats:
    """Rows that studies need, simulated with about as many rows as the share `assurance` of them needs."""
    n = int(np.clip(start, FEWEST_ROWS, largest))
    for _ in range(ROUNDS):
        rows = needed(n)
        aim = assured(rows, assurance)
        new = int(np.clip(aim, max(FEWEST_ROWS, n / FACTOR), min(largest, n * FACTOR)))
        if abs(np.log(new / n)) < CLOSE:
            break
        n = new
    return rows


def _evaluated(key: str, truths: Risks, n: int, studies: int, prob: float, rng: Generator) -> Iterator[float]:
    """Widths of the intervals of evaluations of simulated rows."""
    stated = np.broadcast_to(expit(truths.log_odds), truths.risk.shape)
    for i in np.linspace(0, len(stated) - 1, studies).astype(int):
        node = rng.choice(len(truths.weight), n, p=truths.weight)
        p, y = stated[i][node], (rng.random(n) < truths.risk[i][node]).astype(int)
        if key == "ece":
            values = evaluate_one(BinnedCounts.from_arrays(y, p), draws=DRAWS, rng=rng).ece
        else:
            values = calibration_curve(y, p, draws=DRAWS, rng=rng).ici
        low, high = values.interval(prob)
        yield high - low
