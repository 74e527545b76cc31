"""Measure how often intervals of imputed predictions contain the truth: mixtures of the draws of all imputations beside
Rubin's rules, complete cases and a single imputation; write docs/explanation/recalibration.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, table
from recalibration import fitted, shift_of
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr
from scipy.stats import rankdata
from scipy.stats import t as student
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study, with_fresh_sets

import bayescal as bc
from bayescal.clinical.imputed import ImputedEvaluation, mixed_recalibration
from bayescal.decisions.result import mixed_net_benefit
from bayescal.verify.coverage import stacked

Floats = NDArray[np.float64]
Ends = tuple[float, float]

SEED, PROB, NORMAL, BAR = 29, 0.95, 1.959964, 0.85
#: Rows, shares of rows without the second predictor, and truths: event rate, shift and factor of the stated log odds.
SIZES, MISSING = (200, 1000), (0.2, 0.5)
TRUTHS = {"calibrated": (0.4, 0.0, 1.0), "too extreme": (0.2, 0.3, 1.5)}
#: Differences of the means of both predictors between the outcomes, and the correlation of the predictors.
DIFFERENCE, CORRELATION = np.array([0.5, 1.0]), 0.3
IMPUTATIONS, THRESHOLD = (5, 20), 0.3
QUANTITIES = ("slope", "in the large", "O/E", "AUC", "Brier score", "net benefit")
#: Model of the bins: AUC and Brier score hardly depend on it, and this one is eight times as fast as the default.
MODEL = "dirichlet"
MIXTURES, RUBIN = (tuple(f"{words}, M = {m}" for m in IMPUTATIONS) for words in ("bayescal", "Rubin's rules"))
METHODS = (*MIXTURES, *RUBIN, "complete cases", "single imputation")
COLUMNS = (
    "quantity", "n_rows", "missing", "truth", "method", "coverage", "above", "width", "first", "repeats",
)  # fmt: skip
INVERSE = np.linalg.inv(np.array([[1.0, CORRELATION], [CORRELATION, 1.0]]))
SPREAD = float(DIFFERENCE @ INVERSE @ DIFFERENCE)


@cache
def true_values(truth: str) -> dict[str, float]:
    """All quantities: given the outcome, the log odds are Normal, so that Gauss-Hermite quadrature is exact."""
    rate, shift, factor = TRUTHS[truth]
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    weights = weights / weights.sum()
    stated = [shift + factor * (logit(rate) + sign * SPREAD / 2 + np.sqrt(SPREAD) * nodes) for sign in (-1, 1)]

    def mean(values: Any) -> float:
        means = [float(weights @ values(x, y)) for y, x in enumerate(stated)]
        return (1 - rate) * means[0] + rate * means[1]

    at = (logit(THRESHOLD) - shift) / factor - logit(rate)
    treated = [1 - ndtr((at - sign * SPREAD / 2) / np.sqrt(SPREAD)) for sign in (-1, 1)]
    return {
        "slope": 1 / factor,
        "in the large": brentq(lambda s: mean(lambda x, y: expit(x + s)) - rate, -5, 5),
        "O/E": rate / mean(lambda x, y: expit(x)),
        "AUC": float(ndtr(np.sqrt(SPREAD / 2))),
        "Brier score": mean(lambda x, y: (expit(x) - y) ** 2),
        "net benefit": float(rate * treated[1] - THRESHOLD / (1 - THRESHOLD) * (1 - rate) * treated[0]),
    }


def simulated(n: int, missing: float, rate: float, rng: np.random.Generator) -> tuple[Floats, Floats, Any]:
    """Outcomes, predictors, and whether the second one is missing: at random given the first one and the outcome."""
    y = (rng.random(n) < rate).astype(float)
    first = rng.standard_normal(n)
    second = CORRELATION * first + np.sqrt(1 - CORRELATION**2) * rng.standard_normal(n)
    z = np.stack([first, second], axis=1) + np.outer(y, DIFFERENCE)
    eta = 0.8 * z[:, 0] + 0.8 * y
    shift = brentq(lambda s: expit(s + eta).mean() - missing, -20, 20)
    return y, z, rng.random(n) < expit(shift + eta)


def imputed(y: Floats, z: Floats, lost: Any, rng: np.random.Generator) -> Floats:
    """Draw the second predictor from its Bayesian linear regression on the first one and the outcome."""
    design = np.stack([np.ones(len(y)), z[:, 0], y], axis=1)
    x, target = design[~lost], z[~lost, 1]
    covariance = np.linalg.inv(x.T @ x)
    best = covariance @ (x.T @ target)
    sd = np.sqrt(((target - x @ best) ** 2).sum() / rng.chisquare(len(x) - 3))
    line = rng.multivariate_normal(best, sd**2 * covariance)
    return np.where(lost, design @ line + sd * rng.standard_normal(len(y)), z[:, 1])


def stated_risks(z: Floats, truth: str) -> Floats:
    """Risks of the model that is evaluated, which has fixed coefficients."""
    rate, shift, factor = TRUTHS[truth]
    log_odds = logit(rate) + (z - DIFFERENCE / 2) @ INVERSE @ DIFFERENCE
    return np.asarray(expit(shift + factor * log_odds))


def estimates(y: Floats, p: Floats) -> dict[str, tuple[float, float]]:
    """Estimates of all quantities with their variances, without a prior; that of O/E on the scale of logarithms."""
    n, events, x = len(y), y.sum(), logit(p)
    shift = shift_of(x, np.ones(n), events)
    h = expit(x + shift)
    found = fitted(x, np.ones(n), y)
    treated = p >= THRESHOLD
    gains = treated * (y - THRESHOLD / (1 - THRESHOLD) * (1 - y))
    losses = (p - y) ** 2
    ranks = rankdata(p)
    # DeLong et al. (1988): shares of rows of the other outcome below each event, and above each row without event
    below = (ranks[y == 1] - rankdata(p[y == 1])) / (n - events)
    above = 1 - (ranks[y == 0] - rankdata(p[y == 0])) / events
    return {
        "slope": (np.nan, np.nan) if found is None else (found[0][1], found[1][1, 1]),
        "in the large": (shift, 1 / (h * (1 - h)).sum()),
        "O/E": (np.log(events / p.sum()), 1 / events - 1 / n),
        "AUC": (below.mean(), below.var(ddof=1) / events + above.var(ddof=1) / (n - events)),
        "Brier score": (losses.mean(), losses.var(ddof=1) / n),
        "net benefit": (gains.mean(), gains.var(ddof=1) / n),
    }


def pooled(quantity: str, sets: list[dict[str, tuple[float, float]]]) -> Ends:
    """Interval by Rubin's rules with his degrees of freedom; the Wald interval of one set."""
    best, variance = np.array([each[quantity] for each in sets]).T
    total, reach, m = variance.mean(), NORMAL, len(sets)
    if m > 1:
        between = (1 + 1 / m) * best.var(ddof=1)
        total += between
        reach = student.ppf(0.5 + PROB / 2, (m - 1) * (total / max(between, 1e-12)) ** 2)
    ends = best.mean() + np.array([-1, 1]) * reach * np.sqrt(total)
    low, high = np.exp(ends) if quantity == "O/E" else ends
    return float(low), float(high)


def mixture(results: list[tuple[Any, Any, Any]]) -> dict[str, Ends]:
    """Intervals of the mixture of the draws of all imputations, as `clinical.summary` prints them."""
    lines, evaluations, benefits = map(list, zip(*results, strict=True))
    rc, ev, nb = mixed_recalibration(lines), ImputedEvaluation.of(evaluations), mixed_net_benefit(benefits)
    low, high = nb.net_benefit["model"].interval(PROB)
    return {
        "slope": rc.exact_interval("slope", PROB),
        "in the large": rc.in_the_large.interval(PROB),
        "O/E": rc.observed_expected.interval(PROB),
        "AUC": ev.auc.interval(PROB),
        "Brier score": ev.brier_score.interval(PROB),
        "net benefit": (low[0], high[0]),
    }


def intervals_of(n: int, missing: float, truth: str, draws: int, rng: np.random.Generator) -> Any:
    """Intervals by quantity and method, on one data set."""
    y, z, lost = simulated(n, missing, TRUTHS[truth][0], rng)
    risks = [
        stated_risks(np.stack([z[:, 0], imputed(y, z, lost, rng)], axis=1), truth) for _ in range(max(IMPUTATIONS))
    ]
    results = [
        (
            bc.clinical.recalibration(y, p, draws=draws, rng=rng),
            bc.evaluate(y, p, target="event", model=MODEL, draws=draws, rng=rng),
            bc.decisions.net_benefit(y, p, THRESHOLD, draws=draws, rng=rng),
        )
        for p in risks
    ]
    sets = [estimates(y, p) for p in risks]
    by_method = {f"bayescal, M = {m}": mixture(results[:m]) for m in IMPUTATIONS}
    by_hand = {f"Rubin's rules, M = {m}": sets[:m] for m in IMPUTATIONS}
    by_hand |= {"complete cases": [estimates(y[~lost], stated_risks(z[~lost], truth))], "single imputation": sets[:1]}
    by_method |= {method: {q: pooled(q, each) for q in QUANTITIES} for method, each in by_hand.items()}
    return {(q, method): ends[q] for method, ends in by_method.items() for q in QUANTITIES}


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets; quantities below the bar again, on fresh ones."""
    n, missing, truth, repeats, draws, rng = job

    def covered(times: int) -> list[dict[str, Any]]:
        def intervals() -> Iterator[Any]:
            for _ in range(times * repeats):
                yield intervals_of(n, missing, truth, draws, rng)

        by_both = stacked(intervals())
        rows = []
        for quantity in QUANTITIES:
            cell = {"quantity": quantity, "n_rows": n, "missing": missing, "truth": truth}
            ends = {method: by_both[quantity, method] for method in METHODS}
            rows += coverage_rows(cell, ends, true_values(truth)[quantity])
        return [{**row, "ours": row["method"] in MIXTURES} for row in rows]

    return with_fresh_sets(covered(1), covered, bar=BAR, where={"ours": True}, of=("quantity",))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, two of them."""
    places = [(n, missing, truth) for n in SIZES for missing in MISSING for truth in TRUTHS]
    jobs = jobs_of(
        places[:2] if options.quick else places, options.repeats, options.draws, rng=np.random.default_rng(SEED)
    )
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def by_method(rows: Iterable[dict[str, Any]]) -> str:
    """One line per quantity and method: mean and lowest coverage, where it is lowest, and mean width."""
    listed, lines = list(rows), []
    for quantity in QUANTITIES:
        for method in METHODS:
            of = [row for row in listed if (row["quantity"], row["method"]) == (quantity, method)]
            covered, width = np.array([row["coverage"] for row in of]), np.mean([row["width"] for row in of])
            where = "{n_rows} rows, {missing:.0%} missing, {truth}".format(**of[int(covered.argmin())])
            again = sum(row["first"] is not None for row in of)
            numbers = f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{width:.3f}", again
            lines.append([quantity, method, *numbers, where])
    head = "Quantity | Method | Mean coverage: | Worst cell: | Width: | Cells measured again: | Where it is worst"
    return table(head, lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and the table by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["n_rows"], row["missing"], row["truth"]) for row in rows})
    return {"imputed_conditions": conditions(numbers, n_cells), "imputed": by_method(rows)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="imputed.json",
        page="recalibration.md",
        shown=("imputed_conditions", "imputed"),
        repeats=(100, 2),
        draws=(200, 50),
    )
