"""Calibration from rows of which some have an outcome: rows -> counts -> posterior -> evaluation of all rows."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from bayescal import _checks
from bayescal._arrays import Bools, Classes, Floats
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one, evaluation_of
from bayescal.data.columns import allowed_weights, scale_free, weight_column
from bayescal.data.frames import same_rows, with_missing
from bayescal.data.predictions import Predictions, read_rows
from bayescal.estimands.registry import registered
from bayescal.labels import partial_result
from bayescal.labels.evidence import VerifiedCounts
from bayescal.labels.partial_result import COVARIATES, LARGEST_RATIO, NOT_AT_RANDOM, SCORE, PartlyObservedEvaluation
from bayescal.labels.posterior import LabelPosterior, Problem, Solved, solve_known
from bayescal.posterior.shrinkage.prior import EXACT, ShrinkagePrior
from bayescal.results.evaluation import extended
from bayescal.shift.rows import MOST_WITHOUT_SOURCE
from bayescal.shift.target import TargetCounts
from bayescal.shift.weights import FEWEST_ROWS, WeightReport, report_of
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.sums import effective_number

CALLED = dict.fromkeys(("mar", "at random", "at_random", "score only"), SCORE)  #: Other names of the assumptions.
CALLED |= dict.fromkeys(("mnar", "nmar", "not at random", "not missing at random"), NOT_AT_RANDOM)
CALLED |= dict.fromkeys(("covariate", "features", "weights"), COVARIATES)
#: Quantiles of the prior of the log odds ratio, and largest step of the log odds ratio within a band.
QUANTILES, STEP = 16, np.log(2) / 8
#: Values of the log odds ratio at which the lower end of the ECE is searched, and draws of each.
SEARCHED, SEARCH_DRAWS = np.linspace(-np.log(LARGEST_RATIO), np.log(LARGEST_RATIO), 41), 400


@public
def partly_observed(
    y_true: Any,
    y_prob: Any,
    *,
    missing: str,
    weights: Any = None,
    odds_ratio: Any = None,
    prior_sd: float | None = None,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> PartlyObservedEvaluation | partial_result.PartlyObservedBand:
    r"""Compute the posterior of the calibration error of all rows if the outcome is known for some of them.

    Without the other rows, the result is the error of the rows with known outcome. It is that of all rows only if both
    have the same scores, and the same outcomes at equal scores.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels, as for `bayescal.evaluate`; missing (NaN, None, NA or masked) where the outcome is unknown. At least 30
        are known.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Stated probabilities of all rows, in [0, 1].
    missing : {"score", "covariates", "not_at_random"}
        What outcomes may be missing for. It has no default, because the data cannot tell.

        * ``"score"``: rows with equal scores have the same probability of the outcome, known or not.
        * ``"covariates"``: rows with equal recorded covariates have. Needs `weights`.
        * ``"not_at_random"``: within a bin of the score, the odds of the outcome are another multiple where it is
          missing. Needs `odds_ratio` or `prior_sd`.
    weights : array-like of float, shape (n_rows,), optional
        For ``"covariates"``: 1 / P(outcome known | covariates) >= 0, up to a factor. Values of rows without an outcome
        are not used and may be missing.
    odds_ratio : float or (float, float), optional
        For ``"not_at_random"``: odds of the outcome where it is missing, divided by those where it is known. A number
        g means all values between 1/g and g; a pair is the range itself. Values between 1/20 and 20.
    prior_sd : float, optional
        For ``"not_at_random"``, in place of `odds_ratio`: standard deviation of a Normal prior of the log odds ratio
        with mean 0, at most 1.5.
    target, bins, binning, draws, rng, classes, logits
        As for `bayescal.evaluate`; bins are made from all rows.

    Returns
    -------
    PartlyObservedEvaluation or PartlyObservedBand
        An `Evaluation` of all rows. With `odds_ratio`, a band: evaluations at fixed values, the union of their
        intervals, and the values at which the lower end of the ECE reaches 0.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `bayescal.evaluate`; if `missing` is not given, or an argument belongs to another
        value of it; if fewer than 30 outcomes are known, or `weights` make them worth fewer than 30 rows; if more than
        half of the rows are in bins without a known outcome; if `weights` look like probabilities.

    See Also
    --------
    bayescal.labels.judged : If a judge labels the other rows.
    bayescal.survival.evaluate : If outcomes are missing because the time of observation ended.
    bayescal.decisions.net_benefit, bayescal.clinical.recalibration : With `weights=` and the rows with known outcome,
        net benefit, and intercept and slope of all rows, for ``missing="covariates"``.

    Notes
    -----
    Masses and mean confidences of the bins are those of all rows. With ``"score"`` and ``"covariates"`` accuracies are
    those of the (weighted) rows with known outcome, as in `bayescal.shift.covariate`.

    With ``"not_at_random"``, rows of bin b with known outcome have outcome 1 with probability :math:`v_b`, and the odds
    of the others are :math:`\Gamma` times as high, so that the accuracy of the bin is :math:`\theta_b = f_b v_b + (1 -
    f_b) \Gamma v_b / (1 - v_b + \Gamma v_b)` with the share :math:`f_b` of known outcomes [1]_. The data contain no
    information on :math:`\Gamma`. Therefore `prior_sd` gives 16 quantiles of the prior equal weights in the posterior:
    weights by the marginal likelihood would prefer the :math:`\Gamma` under which the classifier looks calibrated.

    Outcomes that arrive late are missing at random only if whole dates are complete. A label that arrives early because
    the event happened is not: use dates whose outcomes are all known, or `bayescal.survival`.

    References
    ----------
    .. [1] A. S. Kosinski and H. X. Barnhart (2003), "Accounting for nonignorable verification bias in assessment of
       diagnostic tests", Biometrics 59, 163-171.

    Examples
    --------
    Outcomes are known more often at high scores. The true ECE is 0.15:

    >>> p = rng.beta(1, 3, 5000)
    >>> y = np.where(rng.random(5000) < 0.05 + 0.9 * p, rng.random(5000) < 0.2 + 0.8 * p, np.nan)
    >>> ev = bc.labels.partly_observed(y, p, missing="score", rng=1)
    >>> round(ev.ece.mean(), 2), round(ev.known_only.ece.mean(), 2)
    (0.14, 0.11)
    >>> band = bc.labels.partly_observed(y, p, missing="not_at_random", odds_ratio=2, rng=1)
    >>> band.interval("ece")
    (0.0..., 0.2...)
    """
    _require_assumption(missing, weights=weights, odds_ratio=odds_ratio, prior_sd=prior_sd)
    draws = _checks.whole_number("draws", draws, at_least=2)
    ratios = _ratios(odds_ratio, prior_sd) if missing == NOT_AT_RANDOM else None
    rows = PartlyObservedRows.read(y_true, y_prob, weights, target, classes, logits)
    counts, known = rows.counts(bins, binning)
    about: dict[str, Any] = {"known": known, "missing": missing, "weight_report": rows.report}
    if ratios is None:
        return extended(PartlyObservedEvaluation, evaluate_one(counts, draws=draws, rng=rng), **about)
    verified = VerifiedCounts.of(counts)
    problem = Problem(verified, verified.evidence(), ShrinkagePrior())
    seed, for_solving = _checks.seeds(rng, 2)
    solver = np.random.default_rng(for_solving)
    if prior_sd is not None:
        near = -(-4 * draws // QUANTILES)
        posterior = LabelPosterior(solve_known([problem], ratios[:, None], near, solver))
        return _evaluation(posterior, draws, seed, **about, odds_ratios=tuple(ratios.tolist()), prior_sd=prior_sd)
    solved = solve_known([problem], ratios[:, None], draws, solver)
    each = {ratio: LabelPosterior(_one_value(solved, i)) for i, ratio in enumerate(ratios.tolist())}
    evaluations = {g: _evaluation(of, draws, seed, **about, odds_ratios=(g,)) for g, of in each.items()}
    at_zero = partial(reaching_zero, problem, for_solving)
    return partial_result.PartlyObservedBand(evaluations, registered()["ece"], at_zero)


@dataclass(frozen=True, eq=False)
class PartlyObservedRows:
    """Validated rows: all of them, whose outcomes are arbitrary where they are not `known`, and weights."""

    predictions: Predictions
    known: Bools
    weight: Floats | None

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, weights: Any, target: str | None, classes: Classes, logits: bool
    ) -> "PartlyObservedRows":
        """Check the columns."""
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights})
        outcome, known = with_missing("y_true", y_true)
        n = int(np.count_nonzero(known))
        if n < FEWEST_ROWS:
            number = "all are missing" if not n else f"{n} of {len(known)} are not missing"
            raise ValueError(
                f"`y_true` must have the outcomes of at least {FEWEST_ROWS} rows; {number}. Learn more outcomes, at "
                "random or more of them where scores are rare."
            )
        rows = read_rows(outcome, y_prob, target=target, classes=classes, logits=logits).checked()
        weight = None if weights is None else _weight(weights, known)
        return cls(rows, known, weight)

    @property
    def report(self) -> WeightReport | None:
        """Report on the weights, if there are any."""
        return None if self.weight is None else report_of(self.weight[self.known])

    def counts(self, bins: Any, binning: str) -> tuple[TargetCounts, BinnedCounts]:
        """Count all rows, and those with known outcome on the same bins; the latter also without weights.

        Without weights, rows with known outcome are weighted by the inverse share of known outcomes in their bin. This
        changes the order of the scores only, as for the AUC, and no quantity of a single bin.
        """
        rows, known = self.predictions, self.known
        edges = make_bins(bins, binning=binning, confidence=rows.confidence)
        cell = bin_index(rows.confidence, edges)
        n, n_known = (np.bincount(each, minlength=len(edges)) for each in (cell, cell[known]))
        weight = self.weight[known] if self.weight is not None else (n / np.maximum(n_known, 1))[cell[known]]
        effective = effective_number(weight, weight @ weight)
        if self.weight is not None and effective < FEWEST_ROWS:
            raise ValueError(
                f"`weights` must leave at least {FEWEST_ROWS} effective rows; the {len(weight)} rows with known "
                f"outcome are worth {effective:.3g}. Learn outcomes of rows with the largest weights."
            )
        observed = replace(rows, confidence=rows.confidence[known], outcome=rows.outcome[known])
        weighted = replace(observed, weight=weight)
        alone, source = (count_rows(each, edges, "equal-width", ranked=True) for each in (observed, weighted))
        counts = TargetCounts.from_confidences(source, rows.confidence, rows.reading)
        if counts.uncovered > MOST_WITHOUT_SOURCE:
            raise ValueError(
                text_of(
                    "scores without known outcomes", share=100 * counts.uncovered, allowed=100 * MOST_WITHOUT_SOURCE
                )
            )
        return counts, alone


def _weight(weights: Any, known: Bools) -> Floats:
    """Return weights of all rows, with any value where the outcome is unknown."""
    values, stated = with_missing("weights", weights)
    weight = weight_column(values, len(known), "y_true")
    assert weight is not None  # `weights` are not None
    _checks.no_missing("weights", known & ~stated)
    weight = np.where(known, weight, weight[known][0])
    allowed_weights(weight)
    used = weight[known]
    if used.max() <= 1 < used.sum() * (1 - 1e-9) and used.min() < used.max():
        raise ValueError(text_of("weights below 1", largest=used.max()))
    return scale_free(weight)


def _require_assumption(missing: str, **options: Any) -> None:
    """Require one of the assumptions, and the arguments that belong to it."""
    _checks.one_of("missing", missing, (SCORE, COVARIATES, NOT_AT_RANDOM), CALLED)
    belongs = {"weights": COVARIATES, "odds_ratio": NOT_AT_RANDOM, "prior_sd": NOT_AT_RANDOM}
    for name, value in options.items():
        if value is not None and belongs[name] != missing:
            raise TypeError(f"`{name}=` is an option of `missing={belongs[name]!r}`, not of `missing={missing!r}`.")
    if missing == COVARIATES and options["weights"] is None:
        raise TypeError(text_of("weights of known outcomes"))
    if missing == NOT_AT_RANDOM and (options["odds_ratio"] is None) == (options["prior_sd"] is None):
        raise TypeError(text_of("odds ratio of missing outcomes"))


def _ratios(odds_ratio: Any, prior_sd: Any) -> Floats:
    """Return the values of the odds ratio: a grid of a range that contains 1 if the range does, or quantiles."""
    if prior_sd is not None:
        sd = float(_checks.positive("prior_sd", prior_sd, ()))
        if sd > 1.5:
            raise ValueError(
                f"`prior_sd` must be at most 1.5, not {sd:g}: 95 % of the odds ratios would be between "
                f"{np.exp(-1.96 * sd):.2g} and {np.exp(1.96 * sd):.3g}."
            )
        return np.asarray(np.exp(sd * ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)))
    try:
        stated = np.asarray(odds_ratio, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"`odds_ratio` must be a number or two numbers, not {quoted(odds_ratio)}.") from problem
    inside = (stated >= 1 / LARGEST_RATIO) & (stated <= LARGEST_RATIO)
    if stated.shape not in ((), (2,)) or not inside.all():
        raise ValueError(
            f"`odds_ratio` must be one or two numbers between 1/{LARGEST_RATIO:g} and {LARGEST_RATIO:g}, not "
            f"{quoted(odds_ratio)}."
        )
    low, high = np.sort([1 / stated, stated]) if stated.shape == () else stated
    if low > high:
        raise ValueError(f"`odds_ratio` must be an increasing pair, not {quoted(odds_ratio)}.")
    if low == high:
        return np.array([low])
    parts = [low, 1.0, high] if low < 1 < high else [low, np.sqrt(low * high), high]
    grids = [np.geomspace(a, b, 1 + int(np.ceil(np.log(b / a) / STEP - 1e-9))) for a, b in pairwise(parts)]
    return np.concatenate([grids[0], grids[1][1:]])


def _one_value(solved: Solved, i: int) -> Solved:
    """Return the solution for one of the values."""
    (values,) = solved.of
    of_value = type(values)(*(getattr(values, name)[i : i + 1] for name in values.__dataclass_fields__))
    return replace(solved, of=(of_value,), log_shrunk=np.zeros(1), log_free=np.zeros(1))


def _evaluation(posterior: LabelPosterior, draws: int, seed: int, **about: Any) -> PartlyObservedEvaluation:
    evaluation = evaluation_of(posterior.counts, lambda counts: posterior, model=DEFAULT_MODEL, draws=draws, rng=seed)
    return extended(PartlyObservedEvaluation, evaluation, **about)


def reaching_zero(problem: Problem, seed: int, prob: float) -> tuple[float, float]:
    """Return the odds ratios below and above 1, and nearest to it, at which the interval of the ECE reaches 0.

    They are 1 if it does without a difference, and NaN beyond 1/20 and 20.
    """
    solved = solve_known([problem], np.exp(SEARCHED)[:, None], SEARCH_DRAWS, np.random.default_rng(seed))
    (values,) = solved.of
    exact = list(LabelPosterior(solved).probabilities).index(EXACT)
    # the lower end is 0 if so many draws are exactly calibrated
    excess = (values.draw_weights * (values.sub_model == exact)).sum(axis=1) - (1 - prob) / 2
    middle = len(SEARCHED) // 2
    sides = (SEARCHED[middle::-1], excess[middle::-1]), (SEARCHED[middle:], excess[middle:])
    low, high = (_crossing(*side) for side in sides)
    return low, high


def _crossing(log_ratio: Floats, excess: Floats) -> float:
    """Return the ratio at which a function is first 0 or above, by linear interpolation; NaN if it is nowhere."""
    reached = np.flatnonzero(excess >= 0)
    if not len(reached):
        return float("nan")
    i = int(reached[0])
    if i == 0:
        return 1.0
    part = -excess[i - 1] / (excess[i] - excess[i - 1])
    return float(np.exp(log_ratio[i - 1] + part * (log_ratio[i] - log_ratio[i - 1])))
