"""Measure how often intervals of net benefit, of its difference between two models, and of the regret contain the
truth, also where few rows decide and under other priors, how often a model is useful that is called so with a
probability, and how often one is called useful that is not; write docs/explanation/net_benefit.md: part of
`make coverage`.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, rows_of, save_parts, table
from sbc.net_benefit import NetBenefitSimulator
from scipy.special import expit, logit, ndtr
from scipy.stats import norm
from studies import about, conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, BetaPopulation, simulate, true_curve
from bayescal.decisions.thresholds import decide, odds
from bayescal.verify.coverage import stacked

Floats = NDArray[np.float64]

SEED, PROB = 17, 0.95
SIZES = (100, 300, 2000)
THRESHOLDS = np.array([0.05, 0.1, 0.2, 0.5, 0.8])
CURVES = (("calibrated", None), ("temperature", 1.5), ("shift", 0.5))
#: Quantiles of the population from which truths are computed.
QUANTILES = 200_000
#: Standard deviation of the noise in the logits of the second model.
NOISE = 0.5
TAILS = [(1 - PROB) / 2, (1 + PROB) / 2]
#: Bins of 0.05, so that all thresholds are edges.
REGRET_BINS = 20
COLUMNS = (
    *("quantity", "n_rows", "population", "curve", "threshold", "truth"),
    *("method", "coverage", "above", "width", "repeats"),
)  # fmt: skip
#: The regret needs this number of rows on each side of a threshold.
FEW = 5
#: Bins of stated probabilities of being useful; random truths, and data sets for each cell. There, low thresholds have
#: few expected events.
STATED, USEFUL_SETS = (0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1), 150
LOW_THRESHOLDS = np.concatenate([[0.01, 0.02], THRESHOLDS])
#: Data sets of each size whose truth is drawn from the prior.
PRIOR_SETS = 2000
#: Rows of which a share lies below a threshold and has a multiple of its risk, so that treating all is no worse; the
#: others have higher scores and this risk.
FALSE_SIZES, FALSE_SETS, SHARE_BELOW, RISK_ABOVE = (60, 200, 600, 2000), 300, 0.25, 0.4
FALSE_THRESHOLDS, MULTIPLES = (0.01, 0.02, 0.1), (1.0, 1.5, 3.0)
#: Standard deviations of intercept and log slope of random curves: models of all kinds, and models nearly calibrated.
SPREADS = {"all kinds": (0.7, 0.4), "nearly calibrated": (0.2, 0.15)}
#: Cells in which few rows decide: scores, curve, rows and threshold. About 0.5 % have the event if it is rare; a score
#: of 0.99 is reached by few rows without event, or by most rows.
RARE, MIDDLE, TOP = BetaPopulation(0.6, 120), BetaPopulation(1.5, 1.5), BetaPopulation(30, 0.3)
FEW_CELLS = (
    *(("rare", RARE, ("shift", 0.35), n, t) for n in (3000, 20_000) for t in (0.01, 0.02, 0.03)),
    *(("middle", MIDDLE, ("calibrated", None), n, 0.99) for n in (30_000, 70_000, 140_000)),
    *(("middle", MIDDLE, ("calibrated", None), n, 0.01) for n in (30_000, 140_000)),
    *(("near 1", TOP, ("calibrated", None), 500, t) for t in (0.9, 0.99)),
    *(("near 1", TOP, ("temperature", 1.5), 500, t) for t in (0.9, 0.99)),
)  # fmt: skip
#: The prior of earlier versions.
UNIFORM = "uniform scores, 4 pseudo-rows"
#: Prior parameter of the rows in one of the eight cells of two models at a threshold t: treated by each, and outcome.
PRIORS: dict[str, Callable[[float], Floats]] = {
    "scores 0 and 1, 2 pseudo-rows": lambda t: product_cells(2, 0.45 + 0.1 * (1 - t)),
    "scores 0 and 1, 4 pseudo-rows": lambda t: product_cells(4, 0.45 + 0.1 * (1 - t)),
    "half a row in each cell": lambda t: np.full((2, 2, 2), 0.5),
    UNIFORM: lambda t: product_cells(4, 1 - t),
}

Draw = dict[str, Floats]
Ends = tuple[float, float]


def product_cells(pseudo_rows: float, above: float) -> Floats:
    """Prior parameters of two models with independent scores, of which a share lies above the threshold."""
    share = np.array([1 - above, above])
    return pseudo_rows / 2 * share[:, None, None] * share[:, None] * np.ones(2)


def of_priors(
    y: NDArray[Any], p: Floats, other: Floats, thresholds: Floats, draws: int, rng: np.random.Generator
) -> dict[tuple[str, str], Floats]:
    """Intervals under each of `PRIORS`, from the eight cells of both models at one threshold after the other."""
    found: dict[tuple[str, str], list[Floats]] = {}
    for t in thresholds:
        place = 4 * (p >= t) + 2 * (other >= t) + y
        rows = np.bincount(place.astype(np.intp), minlength=8).reshape(2, 2, 2)
        gain = np.array([-odds(t), 1.0])
        for method, prior in PRIORS.items():
            mass = rng.standard_gamma(rows + prior(float(t)), (draws, 2, 2, 2))
            mass /= mass.sum(axis=(1, 2, 3), keepdims=True)
            first, second = (mass[:, 1].sum(axis=1) @ gain, mass[:, :, 1].sum(axis=1) @ gain)
            found.setdefault(("net benefit", method), []).append(ends_of(first))
            found.setdefault(("difference", method), []).append(ends_of(first - second))
    return {name: np.stack(ends, axis=1) for name, ends in found.items()}


@cache
def quantiles(population: str) -> Floats:
    """Scores that represent equal shares of a population."""
    return equal_shares(POPULATIONS[population])


def equal_shares(population: Any) -> Floats:
    """Scores that represent equal shares of a population, which is given itself."""
    shares: Floats = population.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    return shares


def true_net_benefit(score: Floats, mean: Floats, noise: float = 0.0, thresholds: Floats = THRESHOLDS) -> Floats:
    """Net benefit at each threshold of the scores, or of scores with noise in their logits."""
    found = []
    for t in thresholds:
        treated = ndtr((logit(score) - logit(t)) / noise) if noise else score >= t
        found.append(np.mean(treated * (mean - odds(t) * (1 - mean))))
    return np.array(found)


def true_regret(score: Floats, mean: Floats) -> Floats:
    """Regret at each threshold, by bins."""
    place = np.minimum((score * REGRET_BINS).astype(int), REGRET_BINS - 1)
    mass = np.bincount(place, minlength=REGRET_BINS) / len(score)
    accuracy = np.bincount(place, mean, REGRET_BINS) / np.maximum(mass * len(score), 1)
    low = np.arange(REGRET_BINS) / REGRET_BINS
    wrong = [(low >= t - 1e-9) != (accuracy >= t) for t in THRESHOLDS]
    return np.array([(mass * abs(accuracy - t) * w).sum() for t, w in zip(THRESHOLDS, wrong, strict=True)])


def ends_of(drawn: Floats) -> Floats:
    """Equal-tailed interval at each threshold, shape (2, n_thresholds)."""
    return np.quantile(drawn, TAILS, axis=0)


def wald(contribution: Floats) -> Floats:
    """Mean of a contribution of each row, plus and minus standard errors; shape (2, n_thresholds)."""
    half = norm.ppf(TAILS[1]) * contribution.std(axis=0, ddof=1) / np.sqrt(len(contribution))
    return contribution.mean(axis=0) + np.array([[-1], [1]]) * half


def contributions(y: NDArray[Any], p: Floats) -> Floats:
    """Contribution of each row to the net benefit at each threshold."""
    return (p[:, None] >= THRESHOLDS) * np.where(y[:, None] == 1, 1.0, -odds(THRESHOLDS))


def independent_betas(
    y: NDArray[Any], p: Floats, draws: int, rng: np.random.Generator, thresholds: Floats = THRESHOLDS
) -> tuple[Floats, Floats]:
    """bayesDCA: uniform priors of prevalence, sensitivity and specificity, drawn anew at each threshold.

    Returns the net benefit of the model and of treating all.
    """
    treated, size = p[:, None] >= thresholds, (draws, len(thresholds))
    cells = np.array([[(treated[y == z] == own).sum(axis=0) for own in (True, False)] for z in (0, 1)])
    prevalence = rng.beta(1 + y.sum(), 1 + (1 - y).sum(), (draws, 1))
    sensitivity, false = (rng.beta(1 + of[0], 1 + of[1], size) for of in (cells[1], cells[0]))
    default = prevalence - odds(thresholds) * (1 - prevalence)
    return prevalence * sensitivity - odds(thresholds) * (1 - prevalence) * false, default


def intervals_of(y: NDArray[Any], p: Floats, other: Floats, draws: int, seed: int) -> dict[tuple[str, str], Floats]:
    """Intervals by quantity and method, each of shape (2, n_thresholds)."""
    rng = np.random.default_rng(seed)
    joint = bc.decisions.net_benefit(y, {"first": p, "second": other}, THRESHOLDS, draws=draws, rng=rng)
    found = {("net benefit", "bayescal"): ends_of(joint.net_benefit["first"].values)}
    found["difference", "bayescal"] = ends_of(joint.difference().values)
    found |= of_priors(y, p, other, THRESHOLDS, draws, rng)
    first, second = contributions(y, p), contributions(y, other)
    weights = rng.standard_exponential((draws, len(y)))
    weights /= weights.sum(axis=1, keepdims=True)
    for quantity, rows in (("net benefit", first), ("difference", first - second)):
        found[quantity, "Bayesian bootstrap"] = ends_of(weights @ rows)
        found[quantity, "Wald"] = wald(rows)
    found["net benefit", "independent Betas (bayesDCA)"] = ends_of(independent_betas(y, p, draws, rng)[0])
    return found


def regrets_of(y: NDArray[Any], p: Floats, draws: int, seed: int) -> dict[tuple[str, str], Floats]:
    """Intervals of the regret by method, each of shape (2, n_thresholds); NaN where a side has too few rows."""
    rng, found = np.random.default_rng(seed), {}
    evaluation = bc.evaluate(y, p, bins=REGRET_BINS, draws=draws, rng=rng)
    of_bins = bc.evaluate(y, p, bins=REGRET_BINS, draws=draws, rng=rng, model="dirichlet")
    nan = np.full(2, np.nan)
    regret = [
        np.array(evaluation.regret(t).interval(PROB)) if min((p < t).sum(), (p >= t).sum()) >= 5 else nan
        for t in THRESHOLDS
    ]
    found["regret", "bayescal"] = np.array(regret).T
    again = [np.array(regret_of_bins(of_bins, t)) for t in THRESHOLDS]
    found["regret", "Dirichlet model"] = np.where(np.isnan(found["regret", "bayescal"]), np.nan, np.array(again).T)
    return found


def regret_of_bins(evaluation: bc.Evaluation, t: float) -> Floats:
    """Interval of the regret under any model of the bins."""
    from bayescal.estimands.regret import regret_draws

    return np.quantile(regret_draws(evaluation.bin_draws, t, round(t * REGRET_BINS)), TAILS)


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of net benefit and difference, of all methods on the same data sets."""
    n_rows, population, given, repeats, draws, rng = job
    curve, score = true_curve(*given), quantiles(population)
    first = true_net_benefit(score, curve(score))
    truths = {"net benefit": first, "difference": first - true_net_benefit(score, curve(score), NOISE)}

    def intervals() -> Iterator[dict[tuple[str, str], Floats]]:
        for _ in range(repeats):
            data = simulate(n_rows, population=population, curve=curve, rng=rng)
            p, y = data.confidence, data.outcome
            other = expit(logit(p) + NOISE * rng.standard_normal(n_rows))
            yield intervals_of(y, p, other, draws, int(rng.integers(2**63)))

    return covered(truths, intervals(), {"n_rows": n_rows, "population": population, "curve": str(curve)})


def regret_in_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the regret."""
    n_rows, population, given, repeats, draws, rng = job
    curve, score = true_curve(*given), quantiles(population)

    def intervals() -> Iterator[dict[tuple[str, str], Floats]]:
        for _ in range(repeats):
            data = simulate(n_rows, population=population, curve=curve, rng=rng)
            yield regrets_of(data.outcome, data.confidence, draws, int(rng.integers(2**63)))

    truths = {"regret": true_regret(score, curve(score))}
    return covered(truths, intervals(), {"n_rows": n_rows, "population": population, "curve": str(curve)})


def covered(
    truths: dict[str, Floats],
    intervals: Iterable[dict[tuple[str, str], Floats]],
    cell: dict[str, Any],
    thresholds: Floats = THRESHOLDS,
) -> list[dict[str, Any]]:
    """One row per quantity, threshold and method."""
    by_method = stacked(
        {(*name, k): tuple(ends[:, k]) for name, ends in found.items() for k in range(len(thresholds))}
        for found in intervals
    )
    rows = []
    for quantity, truth in truths.items():
        for k, t in enumerate(thresholds):
            about = {"quantity": quantity, **cell, "threshold": float(t), "truth": float(truth[k])}
            mine = {m: ends for (q, m, at), ends in by_method.items() if (q, at) == (quantity, k)}
            # thresholds with fewer than five rows on a side have no regret
            mine = {m: ends[~np.isnan(ends).any(axis=1)] for m, ends in mine.items()}
            rows += coverage_rows(about, {m: ends for m, ends in mine.items() if len(ends)}, truth[k])
    return rows


def few_in_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage at one threshold at which few rows decide."""
    name, population, given, n_rows, t, repeats, draws, rng = job
    curve, score, at = true_curve(*given), equal_shares(population), np.array([t])
    mean = curve(score)
    first = true_net_benefit(score, mean, thresholds=at)
    truths = {"net benefit": first, "difference": first - true_net_benefit(score, mean, NOISE, at)}
    treated = np.array([np.mean((score >= t) * part) for part in (1 - mean, mean)]) * n_rows
    marked = []

    def intervals() -> Iterator[dict[tuple[str, str], Floats]]:
        for _ in range(repeats):
            p = population.sample(n_rows, rng=rng)
            y = (rng.random(n_rows) < curve(p)).astype(int)
            other = expit(logit(p) + NOISE * rng.standard_normal(n_rows))
            joint = bc.decisions.net_benefit(y, {"first": p, "second": other}, at, draws=draws, rng=rng)
            marked.append(joint.few_rows["first"][0] or joint.few_treated["first"][:, 0].any())
            found = {("net benefit", "bayescal"): ends_of(joint.net_benefit["first"].values)}
            found["difference", "bayescal"] = ends_of(joint.difference().values)
            found |= of_priors(y, p, other, at, draws, rng)
            one, two = ((each[:, None] >= at) * np.where(y[:, None] == 1, 1.0, -odds(at)) for each in (p, other))
            yield found | {("net benefit", "Wald"): wald(one), ("difference", "Wald"): wald(one - two)}

    cell = {"n_rows": n_rows, "population": name, "curve": str(curve)}
    rows = covered(truths, intervals(), cell, at)
    expected = {name: float(f"{n:.3g}") for name, n in zip(("zeros", "ones"), treated, strict=True)}
    expected["marked"] = float(np.mean(marked))
    return [row | {key: float(f"{row[key]:.4g}") for key in ("truth", "width")} | expected for row in rows]


def useful_in_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Stated probabilities of being useful, and whether it is so, for random truths of one population and size."""
    n_rows, population, models, repeats, draws, rng = job
    score, (of_intercept, of_slope) = quantiles(population), SPREADS[models]
    found: list[dict[str, Any]] = []
    for _ in range(repeats):
        a, b = of_intercept * rng.standard_normal(), np.exp(of_slope * rng.standard_normal())
        mean = expit(a + b * logit(score))
        truth = true_net_benefit(score, mean, thresholds=LOW_THRESHOLDS)
        default = np.maximum(mean.mean() - odds(LOW_THRESHOLDS) * (1 - mean.mean()), 0.0)
        p = POPULATIONS[population].sample(n_rows, rng=rng)
        y = (rng.random(n_rows) < expit(a + b * logit(p))).astype(int)
        result = bc.decisions.net_benefit(y, p, LOW_THRESHOLDS, draws=draws, rng=rng)
        mine, few = result.p_useful["model"], result.few_rows["model"]
        model, every = independent_betas(y, p, draws, rng, LOW_THRESHOLDS)
        theirs = decide(model[:, None], every).p_useful[0]
        for method, stated in (("bayescal", mine), ("independent Betas (bayesDCA)", theirs)):
            found += [
                {"method": method, "models": models, "stated": float(s), "useful": bool(u), "few": bool(f)}
                for s, u, f in zip(stated, truth > default + 1e-12, few, strict=True)
            ]
    return found


def calibration_of_useful(options: argparse.Namespace, rng: np.random.Generator) -> list[dict[str, Any]]:
    """One record per method and bin of stated probabilities: their mean, and the share in which the model is useful."""
    sizes = SIZES[:1] if options.quick else SIZES
    sets = 5 if options.quick else USEFUL_SETS
    places = [(n, population, models) for models in SPREADS for n in sizes for population in POPULATIONS]
    every = rows_of_jobs(useful_in_cell, jobs_of(places, sets, options.draws, rng=rng), workers=options.workers)
    records = []
    key = ("method", "models", "few")
    for values in dict.fromkeys(tuple(row[name] for name in key) for row in every):
        mine = [row for row in every if tuple(row[name] for name in key) == values]
        records += [{**dict(zip(key, values, strict=True)), **record} for record in by_stated(mine)]
    return records


def by_stated(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record per bin of stated probabilities: their mean, and the share of cases in which the model is useful."""
    cases = list(cases)
    stated, useful = (np.array([case[name] for case in cases]) for name in ("stated", "useful"))
    place = np.clip(np.searchsorted(STATED, stated, side="right") - 1, 0, len(STATED) - 2)
    records = []
    for i in np.unique(place):
        inside = place == i
        values = {"n": int(inside.sum()), "stated": float(f"{stated[inside].mean():.4g}")}
        values["frequency"] = float(f"{useful[inside].mean():.4g}")
        records.append({"low": STATED[i], "high": STATED[i + 1], **values})
    return records


def useful_under_prior(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Stated probabilities of being useful, and whether it is so, for truths drawn from the prior."""
    n_rows, repeats, draws, rng = job
    simulator = NetBenefitSimulator(("model",), n_rows, tuple(THRESHOLDS))
    found: list[dict[str, Any]] = []
    for _ in range(repeats):
        truth, counts = simulator.simulate_one(rng)
        drawn = simulator.sample_one(counts, draws, rng)
        is_so, of_draws = (
            value["net benefit of model"] > np.maximum(value["treat all"], 0.0) for value in (truth, drawn)
        )
        stated = of_draws.mean(axis=0)
        found += [{"stated": float(s), "useful": bool(u)} for s, u in zip(stated, is_so, strict=True)]
    return found


def calibration_under_prior(options: argparse.Namespace, rng: np.random.Generator) -> list[dict[str, Any]]:
    """One record per bin of stated probabilities, over truths from the prior."""
    sizes, sets = (SIZES[:1], 100) if options.quick else (SIZES, PRIOR_SETS)
    jobs = jobs_of([(n,) for n in sizes], sets, options.draws, rng=rng)
    return by_stated(rows_of_jobs(useful_under_prior, jobs, workers=options.workers))


def false_in_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Shares of data sets in which a model that is not useful is called so with a probability of at least 0.95."""
    n_rows, t, multiple, sets, draws, rng = job
    claims, few, below = [], [], []
    for _ in range(sets):
        low = rng.random(n_rows) < SHARE_BELOW
        risk = np.where(low, multiple * t, RISK_ABOVE)
        stated = np.where(low, rng.uniform(0.2 * t, 0.9 * t, n_rows), rng.uniform(1.1 * t, 0.6, n_rows))
        found = bc.decisions.net_benefit(rng.random(n_rows) < risk, stated, t, draws=draws, rng=rng)
        claims.append(found.p_useful["model"][0] >= PROB)
        few.append(found.few_rows["model"][0])
        below.append(low.sum())
    claimed, marked = np.array(claims), np.array(few)
    about = {"n_rows": n_rows, "threshold": t, "multiple": multiple, "expected": round(float(np.mean(below)) * t, 2)}
    # without `few_rows`, five rows on each side were enough
    shares = {"five_rows": claimed & (np.array(below) >= FEW), "claimed": claimed & ~marked, "marked": marked}
    return [about | {name: round(float(share.mean()), 4) for name, share in shares.items()}]


def false_claims(options: argparse.Namespace, rng: np.random.Generator) -> list[dict[str, Any]]:
    """One record per size, threshold and risk of the rows below it."""
    sizes, sets = (FALSE_SIZES[:1], 20) if options.quick else (FALSE_SIZES, FALSE_SETS)
    places = [(n, t, multiple) for t in FALSE_THRESHOLDS for multiple in MULTIPLES for n in sizes]
    return rows_of_jobs(false_in_cell, jobs_of(places, sets, options.draws, rng=rng), workers=options.workers)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, 100 rows and two curves."""
    sizes, curves = (SIZES[:1], CURVES[:2]) if options.quick else (SIZES, CURVES)
    streams = np.random.default_rng(SEED).spawn(6)
    places = [(n, population, curve) for n in sizes for population in POPULATIONS for curve in curves]
    jobs = jobs_of(places, options.repeats, options.draws, rng=streams[0])
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    found: dict[str, Any] = {}
    if "useful" in options.only:
        found["useful"] = calibration_of_useful(options, streams[1])
    if "prior" in options.only:
        found["prior"] = calibration_under_prior(options, streams[2])
    if "false" in options.only:
        found["false"] = false_claims(options, streams[3])
    if "regret" in options.only:
        of_regret = jobs_of(places, options.repeats, options.draws, rng=streams[4])
        found["regret"] = rows_of(COLUMNS, rows_of_jobs(regret_in_cell, of_regret, workers=options.workers))
    if "few" in options.only:
        of_few = jobs_of(FEW_CELLS[:2] if options.quick else FEW_CELLS, options.repeats, options.draws, rng=streams[5])
        found["few"] = rows_of_jobs(few_in_cell, of_few, workers=options.workers)
    if "intervals" in options.only:
        found |= measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))
    return {**about(SEED, settings), **found}


def overall(rows: Iterable[dict[str, Any]], quantity: str) -> str:
    """One line per method and number of rows."""
    of = [row for row in rows if row["quantity"] == quantity]
    lines = []
    for n_rows in dict.fromkeys(row["n_rows"] for row in of):
        for method in dict.fromkeys(row["method"] for row in of if row["method"] not in PRIORS):
            mine = [row for row in of if (row["method"], row["n_rows"]) == (method, n_rows)]
            covered = np.array([row["coverage"] for row in mine])
            worst = mine[int(covered.argmin())]
            where = "{population}, {curve}, t = {threshold:g}".format(**worst)
            width = np.mean([row["width"] for row in mine])
            mean, least = f"{covered.mean():.3f}", f"{covered.min():.2f}"
            lines.append([n_rows, method, least, mean, f"{width:.4f}", len(mine), where])
    return table("Rows: | Method | Worst: | Mean: | Width: | Cells: | Where it is worst", lines)


def where_few(rows: Iterable[dict[str, Any]]) -> str:
    """One line per cell in which few rows decide: both quantities, under this prior and under uniform scores."""
    lines: dict[tuple[Any, ...], dict[tuple[str, str], dict[str, Any]]] = {}
    for row in rows:
        cell = tuple(row[name] for name in ("population", "curve", "n_rows", "threshold"))
        lines.setdefault(cell, {})[row["quantity"], row["method"]] = row
    made = []
    for cell, found in lines.items():
        mine = found["net benefit", "bayescal"]
        counts = [f"{mine['ones']:g}", f"{mine['zeros']:g}", f"{mine['marked']:.2f}"]
        of_methods = [
            f"{found[quantity, method]['coverage']:.2f}"
            for quantity in ("net benefit", "difference")
            for method in ("bayescal", UNIFORM, "Wald")
        ]
        made.append([f"{cell[0]}, {cell[1]}", cell[2], f"{cell[3]:g}", *counts, *of_methods])
    head = "Scores | Rows: | t: | Events: | Without: | Marked: | Net benefit: | Uniform: | Wald: | "
    return table(f"{head}Difference: | Uniform: | Wald:", made)


def by_prior(rows: Iterable[dict[str, Any]], few: Iterable[dict[str, Any]]) -> str:
    """One line per prior: all thresholds of the other tables, and those at which few rows decide."""
    lines = []
    of = {"all": list(rows), "few": list(few)}
    for method in ("bayescal", *PRIORS):
        line = ["scores 0 and 1, 3 pseudo-rows (shipped)" if method == "bayescal" else method]
        for cells_of in of.values():
            for quantity in ("net benefit", "difference"):
                mine = [r for r in cells_of if (r["quantity"], r["method"]) == (quantity, method)]
                own = [r for r in cells_of if (r["quantity"], r["method"]) == (quantity, UNIFORM)]
                covered = np.array([row["coverage"] for row in mine])
                width = np.mean([a["width"] / b["width"] for a, b in zip(mine, own, strict=True)])
                line += [f"{covered.mean():.3f} / {covered.min():.2f}", f"{width:.2f}"]
        lines.append(line)
    head = (
        "Prior | Net benefit: | Width: | Difference: | Width: | Few, net benefit: | Width: | Few, difference: | Width:"
    )
    return table(head, lines)


def of_useful(records: Iterable[dict[str, Any]]) -> str:
    """One line per bin of stated probabilities: both methods beside each other."""
    by_bin: dict[tuple[float, float], dict[str, dict[str, Any]]] = {}
    for record in records:
        by_bin.setdefault((record["low"], record["high"]), {})[record["method"]] = record

    def shown(found: dict[str, dict[str, Any]], method: str) -> list[str]:
        record = found.get(method)
        return ["-"] * 3 if record is None else [f"{record['stated']:.3f}", f"{record['frequency']:.3f}", record["n"]]

    lines = [
        [f"{low:g} to {high:g}", *shown(found, "bayescal"), *shown(found, "independent Betas (bayesDCA)")]
        for (low, high), found in sorted(by_bin.items())
    ]
    head = "P(useful) | Stated: | Useful: | Cases: | bayesDCA, stated: | Useful: | Cases:"
    return table(head, lines)


def of_prior(records: Iterable[dict[str, Any]]) -> str:
    """One line per bin of stated probabilities."""
    lines = [[f"{r['low']:g} to {r['high']:g}", f"{r['stated']:.3f}", f"{r['frequency']:.3f}", r["n"]] for r in records]
    return table("P(useful) | Stated: | Useful: | Cases:", lines)


def of_false(records: Iterable[dict[str, Any]]) -> str:
    """One line per threshold, risk below it and number of rows."""
    form = "{threshold:g}|{multiple:g} t|{n_rows}|{expected:.2f}|{five_rows:.3f}|{claimed:.3f}|{marked:.2f}"
    head = "t: | Risk below: | Rows: | n t: | Five rows: | `few_rows`: | Marked:"
    return table(head, cells(records, form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers) if "rows" in numbers else []
    n_cells = len({(row["n_rows"], row["population"], row["curve"]) for row in rows})

    def chosen(models: str, *, few: bool) -> Iterator[dict[str, Any]]:
        return (r for r in numbers["useful"] if (r["models"], r["few"]) == (models, few))

    made: dict[str, Callable[[], str]] = {
        "net_benefit_conditions": lambda: conditions(numbers, n_cells),
        "net_benefit_intervals": lambda: overall(rows, "net benefit"),
        "net_benefit_differences": lambda: overall(rows, "difference"),
        "net_benefit_regret": lambda: overall(rows_again({**numbers, "rows": numbers["regret"]}), "regret"),
        "net_benefit_few": lambda: where_few(numbers["few"]),
        "net_benefit_priors": lambda: by_prior(rows, numbers["few"]),
        "net_benefit_useful": lambda: of_useful(chosen("all kinds", few=False)),
        "net_benefit_useful_most": lambda: of_useful(chosen("nearly calibrated", few=False)),
        "net_benefit_useful_few": lambda: of_useful(chosen("all kinds", few=True)),
        "net_benefit_useful_prior": lambda: of_prior(numbers["prior"]),
        "net_benefit_false": lambda: of_false(numbers["false"]),
    }
    needed = {f"net_benefit_useful{which}": ["useful"] for which in ("", "_few", "_most")}
    needed |= {"net_benefit_useful_prior": ["prior"], "net_benefit_false": ["false"], "net_benefit_few": ["few"]}
    needed |= {"net_benefit_regret": ["regret"], "net_benefit_priors": ["rows", "few"]}
    return {name: make() for name, make in made.items() if set(needed.get(name, ["rows"])) <= set(numbers)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="net_benefit.json",
        page="net_benefit.md",
        save=save_parts,
        shown=(
            *("net_benefit_conditions", "net_benefit_intervals", "net_benefit_differences"),
            *("net_benefit_regret", "net_benefit_useful", "net_benefit_useful_few", "net_benefit_useful_prior"),
            *("net_benefit_useful_most", "net_benefit_false", "net_benefit_few", "net_benefit_priors"),
        ),
        repeats=(100, 3),
        draws=(1000, 300),
        parts=("intervals", "regret", "few", "useful", "prior", "false"),
    )
