"""Coverage of intercept, slope, curve and its errors in validation sets of 40 and 80 rows."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from pages import table
from scipy.optimize import brentq
from scipy.special import expit, ndtri

import bayescal as bc
from bayescal.verify.coverage import contains, stacked
from studies import Floats, Row

Ends = tuple[float, float]

#: Rows, truths (intercept, slope), and event rates of the cells; logits of the scores are Normal with sd 1, and their
#: mean gives the event rate.
SIZES, PREVALENCES = (40, 80), (0.1, 0.3, 0.5)
TRUTHS = {
    "calibrated": (0.0, 1.0), "slope 0.6": (0.0, 0.6), "slope 1.5": (0.0, 1.5), "shift 0.5": (0.5, 1.0),
    "shift -0.5": (-0.5, 1.0),
}  # fmt: skip
CELLS = tuple(product(SIZES, TRUTHS, PREVALENCES))
#: Data sets per cell, relative to the other parts of the study, and resamples of the bootstrap.
TIMES, RESAMPLES = 2, 300
QUANTILES = 20_000
#: Quantiles of the scores at which the curve is measured.
AT = (0.1, 0.5, 0.9)
RATES = tuple(f"rate {i + 1}" for i in range(len(AT)))
QUANTITIES = {
    "slope": ("slope",), "intercept": ("intercept",), "curve": RATES, "ICI": ("ici",), "E50": ("e50",), "E90": ("e90",)
}  # fmt: skip
OURS, WALD, FIRTH, BOOTSTRAP = "bayescal", "wald", "firth", "bootstrap"
WORDS = {
    OURS: "`recalibration`, `calibration_curve`",
    WALD: "maximum likelihood, Wald",
    FIRTH: "Firth, Wald",
    BOOTSTRAP: "percentile bootstrap",
}
COLUMNS = ("n_rows", "truth", "prevalence", "quantity", "value", "method", "coverage", "width", "none", "repeats")
NORMAL, NONE = 1.959964, (float("nan"), float("nan"))
#: Largest size of coefficients that count as an answer, and steps of Newton's method.
FARTHEST, STEPS = 20.0, 50


def logits_of(truth: tuple[float, float], prevalence: float) -> tuple[float, Floats]:
    """Mean of the logits of the scores with this event rate, and quantiles of the logits."""
    (a, b), z = truth, ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    mean = float(brentq(lambda m: expit(a + b * (m + z)).mean() - prevalence, -10, 10))
    return mean, mean + z


def summaries(lines: Floats, x: Floats, at: Floats) -> dict[str, Floats]:
    """Intercept, slope, rates at the logits `at`, and errors over the logits x, of lines (intercept, slope)."""
    a, b = lines[:, :1], lines[:, 1:]
    error = np.abs(expit(a + b * x) - expit(x))
    rates = expit(a + b * at)
    found = {"intercept": lines[:, 0], "slope": lines[:, 1], "ici": error.mean(axis=1)}
    found |= {"e50": np.quantile(error, 0.5, axis=1), "e90": np.quantile(error, 0.9, axis=1)}
    return found | {name: rates[:, i] for i, name in enumerate(RATES)}


def fitted(x: Floats, weight: Floats, y: Floats, *, firth: bool = False) -> tuple[Floats, Floats]:
    """Fit logistic regressions on x, one per row of `weight`, shape (n_fits, n_rows), by Newton's method.

    Returns (intercept, slope) and covariances, NaN without a finite maximum. With `firth`, the likelihood is multiplied
    by the root of the determinant of Fisher's information: Heinze and Schemper (2002), Statistics in Medicine 21,
    2409-2419, equation 2.
    """
    design = np.stack([np.ones_like(x), x])
    at = np.tile([0.0, 1.0], (len(weight), 1))
    for _ in range(STEPS):
        h = expit(at @ design)
        w = weight * h * (1 - h)
        information = np.einsum("ir,nr,jr->nij", design, w, design)
        covariance = np.linalg.inv(information + 1e-12 * np.eye(2))
        residual = weight * (y - h)
        if firth:
            residual = residual + w * np.einsum("ir,nij,jr->nr", design, covariance, design) * (0.5 - h)
        step = np.einsum("nij,nj->ni", covariance, residual @ design.T)
        size = np.abs(step).max(axis=1, keepdims=True)
        at = at + step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-12))
        if size.max() < 1e-8:
            break
    lost = (size[:, 0] > 1e-6) | (np.abs(at).max(axis=1) > FARTHEST)
    at[lost], covariance[lost] = np.nan, np.nan
    return at, covariance


def wald(line: Floats, covariance: Floats, at: Floats, x: Floats, draws: int, rng: np.random.Generator) -> Any:
    """Wald intervals, those of the curve on the logit scale; errors by draws of the Normal approximation."""
    names = ("intercept", "slope", *RATES, "ici", "e50", "e90")
    if np.isnan(line).any():
        return dict.fromkeys(names, NONE)
    sd = np.sqrt(np.diag(covariance))
    found: dict[str, Ends] = {
        name: (line[i] - NORMAL * sd[i], line[i] + NORMAL * sd[i]) for i, name in enumerate(names[:2])
    }
    for name, logit in zip(RATES, at, strict=True):
        direction = np.array([1.0, logit])
        half = NORMAL * np.sqrt(direction @ covariance @ direction)
        found[name] = tuple(expit(direction @ line + np.array([-half, half])).tolist())
    drawn = summaries(rng.multivariate_normal(line, covariance, draws), x, at)
    return found | {name: interval(drawn[name]) for name in names[-3:]}


def interval(values: Floats) -> Ends:
    """Equal-tailed interval of draws or resamples."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def intervals_of(y: Floats, x: Floats, at: Floats, draws: int, rng: np.random.Generator) -> dict[tuple[str, str], Ends]:
    """Intervals by quantity and method, of outcomes y and logits x of the scores."""
    score, seed = expit(x), int(rng.integers(2**63))
    rc = bc.clinical.recalibration_counts(bc.clinical.LogitCounts.from_arrays(y, score), draws=draws, rng=seed)
    cv = bc.clinical.calibration_curve(y, score, draws=draws, rng=seed)
    ends = np.transpose(cv.rates(np.clip(expit(at), *cv.span)).interval())
    found = {(name, OURS): rc.exact_interval(name) for name in ("intercept", "slope")}
    found |= {(name, OURS): getattr(cv, name).interval() for name in ("ici", "e50", "e90")}
    found |= {(name, OURS): tuple(each) for name, each in zip(RATES, ends, strict=True)}
    one = np.ones((1, len(y)))
    for method in (WALD, FIRTH):
        (line,), (covariance,) = fitted(x, one, y, firth=method == FIRTH)
        found |= {(name, method): e for name, e in wald(line, covariance, at, x, draws, rng).items()}
    resampled = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), RESAMPLES).astype(np.float64)
    lines = fitted(x, resampled, y)[0]
    kept = ~np.isnan(lines[:, 0])
    if kept.sum() < RESAMPLES / 2:
        return found | {(name, BOOTSTRAP): NONE for names in QUANTITIES.values() for name in names}
    drawn = summaries(lines[kept], x, at)
    return found | {(name, BOOTSTRAP): interval(values) for name, values in drawn.items()}


def of_cell(job: tuple[Any, ...]) -> list[Row]:
    """Coverage of all methods on the same data sets of one cell."""
    n_rows, truth, prevalence, repeats, draws, rng = job
    line = TRUTHS[truth]
    mean, x = logits_of(line, prevalence)
    at = np.quantile(x, AT)
    values = {name: float(each[0]) for name, each in summaries(np.array([line]), x, at).items()}
    sets = []
    for _ in range(repeats):
        of_rows = rng.normal(mean, 1, n_rows)
        y = (rng.random(n_rows) < expit(line[0] + line[1] * of_rows)).astype(np.float64)
        sets.append(intervals_of(y, of_rows, at, draws, rng))
    rows = []
    for (quantity, method), ends in stacked(sets).items():
        low, high = ends[np.isfinite(ends[:, 0])].T
        numbers = {
            "coverage": float(contains(low, high, values[quantity]).mean()) if len(low) else float("nan"),
            "width": float((high - low).mean()) if len(low) else float("nan"),
            "none": len(ends) - len(low),
            "repeats": len(ends),
        }
        cell = {"n_rows": n_rows, "truth": truth, "prevalence": prevalence, "quantity": quantity}
        rows.append({**cell, "value": values[quantity], "method": method, **numbers})
    return rows


def overall(rows: Iterable[Row]) -> str:
    """One line per quantity and method, over all cells and points of the curve."""
    rows, lines = list(rows), []
    for words, names in QUANTITIES.items():
        for method in WORDS:
            of = [row for row in rows if row["quantity"] in names and row["method"] == method]
            if not of:
                continue
            covered = np.array([row["coverage"] for row in of])
            worst = of[int(np.nanargmin(covered))]
            lines.append([
                words, WORDS[method], f"{np.nanmean(covered):.3f}", f"{np.nanmin(covered):.2f}",
                f"{np.nanmean([row['width'] for row in of]):.3f}", f"{sum(row['none'] for row in of) // len(names)}",
                "{truth}, event rate {prevalence:g}, n = {n_rows}".format(**worst),
            ])  # fmt: skip
    return table("Quantity | Method | Mean coverage: | Worst cell: | Width: | None: | Where it is worst", lines)


def by_cell(rows: Iterable[Row]) -> str:
    """One line per cell: coverage of the package's intervals."""
    cells: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if row["method"] == OURS:
            key = (row["n_rows"], row["truth"], row["prevalence"])
            cells.setdefault(key, {})[row["quantity"]] = row["coverage"]
    lines = [
        [*key, *(" ".join(f"{of[name]:.2f}" for name in names) for names in QUANTITIES.values())]
        for key, of in cells.items()
    ]
    return table("Rows: | Truth | Event rate: | " + " | ".join(f"{words}:" for words in QUANTITIES), lines)
