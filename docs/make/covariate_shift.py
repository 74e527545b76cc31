"""Measure intervals under covariate shift with true, estimated and wrong weights, and alarms of the tests of shift;
write docs/explanation/covariate_shift.md: part of `make coverage`.
"""

import argparse
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, table
from scipy.special import expit
from studies import FEWER_DRAWS, conditions, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.shift.covariate_shift import WeightsWarning
from bayescal.stats.ranks import Ranks
from bayescal.verify.coverage import contains, stacked

Floats = NDArray[np.float64]

SEED, PROB, LEVEL = 20, 0.95, 0.05
#: Effects of the three features on the logit of the event, and the bins.
EFFECT, BINS = np.array([1.0, 0.7, 0.6]), 10
SIZES, TARGET_ROWS, TRUTH_ROWS = (500, 2000), 2000, 400_000
#: Slope by which logits are multiplied, and features that the classifier knows.
CLASSIFIERS = {"calibrated": (1.0, 3), "too extreme": (1.5, 3), "blind to a feature": (0.95, 2)}
ESTIMANDS = ("ece", "signed_error", "brier_score", "auc")
COLUMNS = (
    "part", "quantity", "n_rows", "shift", "classifier", "truth", "method", "coverage", "width", "kish", "refused",
    "repeats",
)  # fmt: skip


@dataclass(frozen=True)
class Shift:
    """Means and standard deviations of the features in the target; in the source they are 0 and 1."""

    mean: tuple[float, float, float]
    sd: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw target rows."""
        return rng.normal(self.mean, self.sd, (n, 3))

    def weights(self, x: Floats) -> Floats:
        """Density of the target divided by that of the source, up to a factor."""
        z = (x - self.mean) / self.sd
        return np.exp(((x**2 - z**2) / 2).sum(axis=1))


def _along(size: float) -> tuple[float, float, float]:
    first, second, third = size * EFFECT / np.linalg.norm(EFFECT)
    return first, second, third


#: The feature that the blind classifier misses moves in "other feature"; in "wider" a linear ratio is the wrong family.
SHIFTS = {
    "0.7 along the score": Shift(_along(0.7)),
    "1.4 along the score": Shift(_along(1.4)),
    "0.8 in the third feature": Shift((0.0, 0.0, 0.8)),
}
QUADRATIC = {
    "0.5, first feature narrower": Shift((0.0, 0.5, 0.0), (0.6, 1.0, 1.0)),
    "third feature wider": Shift((0.0, 0.0, 0.4), (1.0, 1.0, 1.3)),
}
SITUATIONS = SHIFTS | QUADRATIC
IGNORED, MASSES, TRUE, LINEAR, SQUARES = (
    "shift ignored", "masses alone", "true weights", "logistic regression", "logistic regression with squares",
)  # fmt: skip
METHODS = {"linear": (IGNORED, MASSES, TRUE, LINEAR), "quadratic": (IGNORED, MASSES, TRUE, LINEAR, SQUARES)}
#: Evidence: classes, rows of source and target, and what differs.
PROBLEMS = ((2, 500, 500), (2, 2000, 500), (2, 300, 3000), (5, 1000, 1000), (10, 2000, 1000))
KINDS = ("no shift", "label shift", "a class moves", "classes wider")
DISTANCE, MOVED, WIDER, REFERENCE_ROWS = 3.0, 0.6, 1.3, 50_000


def score_of(x: Floats, classifier: str) -> Floats:
    """Probability that the classifier states; the blind one is calibrated in the source."""
    slope, known = CLASSIFIERS[classifier]
    return expit(slope * x[:, :known] @ EFFECT[:known])


@cache
def true_values(shift: str, classifier: str) -> dict[str, float]:
    """Values in the target, from many rows with the probabilities of their outcomes."""
    x = SITUATIONS[shift].draw(TRUTH_ROWS, np.random.default_rng(SEED))
    theta, p = expit(x @ EFFECT), score_of(x, classifier)
    cell = np.minimum((p * BINS).astype(int), BINS - 1)
    gap = np.bincount(cell, theta - p, BINS) / len(p)
    brier = theta * (1 - theta) + (theta - p) ** 2
    both, outcome = np.concatenate([p, p]), np.repeat([0, 1], len(p))
    area = Ranks.of_rows(both, outcome, np.concatenate([1 - theta, theta])).auc
    values = {"ece": np.abs(gap).sum(), "signed_error": gap.sum(), "brier_score": brier.mean(), "auc": area}
    return {name: float(value) for name, value in values.items()}


def density_ratio(x: Floats, z: Floats, squares: bool) -> Floats:
    """Estimate the density ratio at source rows x by logistic regression of the side on the features."""
    from sklearn.linear_model import LogisticRegression

    both = np.concatenate([x, z])
    features = np.concatenate([both, both**2], axis=1) if squares else both
    side = np.repeat([0, 1], (len(x), len(z)))
    p = LogisticRegression(C=100.0, max_iter=1000).fit(features, side).predict_proba(features[: len(x)])[:, 1]
    return p / (1 - p)


def evaluations(
    shift: str, classifier: str, n: int, methods: Iterable[str], draws: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Evaluations of one data set by method; None if weights are refused."""
    x, z = rng.standard_normal((n, 3)), SITUATIONS[shift].draw(TARGET_ROWS, rng)
    y, p, q = rng.random(n) < expit(x @ EFFECT), score_of(x, classifier), score_of(z, classifier)
    weights = {
        MASSES: lambda: np.ones(n),
        TRUE: lambda: SITUATIONS[shift].weights(x),
        LINEAR: lambda: density_ratio(x, z, squares=False),
        SQUARES: lambda: density_ratio(x, z, squares=True),
    }
    found: dict[str, Any] = {}
    warnings.simplefilter("ignore", WeightsWarning)
    for method in methods:
        options = {"bins": BINS, "draws": draws, "rng": int(rng.integers(2**63))}
        if method == IGNORED:
            found[method] = bc.evaluate(y, p, **options)
            continue
        try:
            found[method] = bc.evaluate_shifted(y, p, q, shift="covariate", weights=weights[method](), **options)
        except ValueError:  # fewer than 30 effective rows
            found[method] = None
    return found


NONE = (float("nan"), float("nan"), float("nan"))


def intervals_of(found: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Interval and Kish's share by method and quantity."""
    return {
        (method, quantity): NONE
        if each is None
        else (
            *each.draws(quantity).interval(PROB),
            1.0 if method == IGNORED else each.counts.labelled_rows / each.counts.n_rows,
        )
        for method, each in found.items()
        for quantity in ESTIMANDS
    }


def of_target(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods and quantities on the same data sets."""
    part, shift, classifier, n, repeats, draws, rng = job
    truths = true_values(shift, classifier)

    def intervals() -> Iterator[dict[tuple[str, str], tuple[float, float, float]]]:
        for _ in range(repeats):
            yield intervals_of(evaluations(shift, classifier, n, METHODS[part], draws, rng))

    about, rows = {"part": part, "n_rows": n, "shift": shift, "classifier": classifier}, []
    for (method, quantity), ends in stacked(intervals()).items():
        kept = ends[np.isfinite(ends[:, 0])]
        numbers = {
            "coverage": float(contains(*kept[:, :2].T, truths[quantity]).mean()) if len(kept) else NONE[0],
            "width": float((kept[:, 1] - kept[:, 0]).mean()) if len(kept) else NONE[0],
            "kish": float(kept[:, 2].mean()) if len(kept) else NONE[0],
            "refused": len(ends) - len(kept),
            "repeats": len(ends),
        }
        rows.append({**about, "quantity": quantity, "truth": truths[quantity], "method": method, **numbers})
    return rows


# ------------------------------------------------------------------------------------------- evidence


def frequencies(n_classes: int) -> Floats:
    """Class frequencies of the target under label shift."""
    given = np.linspace(1, 0.1, n_classes) ** 2
    return given / given.sum()


def gaussian_rows(n_classes: int, n: int, kind: str, rng: np.random.Generator) -> tuple[Any, Floats]:
    """Labels and probabilities of Gaussian classes; `kind` is what differs from the source."""
    centre = np.array([[-1.0], [1.0]]) if n_classes == 2 else DISTANCE / np.sqrt(2) * np.eye(n_classes)
    share = np.full(n_classes, 1 / n_classes) if kind == "no shift" else frequencies(n_classes)
    label = rng.choice(n_classes, n, p=share)
    noise = rng.standard_normal((n, centre.shape[1]))
    noise = noise * (WIDER if kind == "classes wider" else 1.0)
    x = centre[label] + noise
    if kind == "a class moves":
        x[label == 0] += MOVED * (centre[1] - centre[0]) / np.linalg.norm(centre[1] - centre[0])
    logit = x @ centre.T - (centre**2).sum(axis=1) / 2
    p = np.exp(logit - logit.max(axis=1, keepdims=True))
    return label, p / p.sum(axis=1, keepdims=True)


def of_evidence(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Alarms of both tests at 0.05, and coverage of the total variation of the cells that were chosen."""
    (n_classes, n, m), kind, repeats, draws, rng = job
    sides = [gaussian_rows(n_classes, REFERENCE_ROWS, each, rng)[1] for each in ("no shift", kind)]
    found = []
    for _ in range(repeats):
        y, p = gaussian_rows(n_classes, n, "no shift", rng)
        q = gaussian_rows(n_classes, m, kind, rng)[1]
        given = (y, p, q) if n_classes > 2 else (y, p[:, 1], q[:, 1])
        evidence = bc.shift_evidence(*given, draws=draws, simulations=199, rng=rng)
        truth = 0.0
        if kind != "no shift":
            cells = evidence.counts.cells
            own = [np.bincount(cells.of_rows(each), minlength=len(cells)) / REFERENCE_ROWS for each in sides]
            truth = float(np.abs(own[0] - own[1]).sum() / 2)
        low, high = evidence.total_variation.interval(PROB)
        tests = evidence.no_shift.p_value <= LEVEL, evidence.label_shift.p_value <= LEVEL
        found.append((*tests, contains(np.array([low]), np.array([high]), truth)[0], high - low, truth))
    none, label, covered, width, truth = np.mean(np.array(found, dtype=float), axis=0).tolist()
    about = {"classes": n_classes, "n_source": n, "n_target": m, "kind": kind}
    numbers = {"no_shift_alarms": none, "label_shift_alarms": label, "coverage": covered, "width": width}
    return [{**about, **numbers, "total_variation": truth, "repeats": repeats}]


EVIDENCE = (
    "classes", "n_source", "n_target", "kind", "no_shift_alarms", "label_shift_alarms", "coverage", "width",
    "total_variation", "repeats",
)  # fmt: skip


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, a few of each part."""
    places = [("linear", s, c, n) for s in SHIFTS for c in CLASSIFIERS for n in SIZES]
    places += [("quadratic", s, c, n) for s in QUADRATIC for c in CLASSIFIERS for n in SIZES]
    problems = [(problem, kind) for problem in PROBLEMS for kind in KINDS]
    if options.quick:
        places, problems = [places[0], places[-1]], [problems[0], problems[-3]]
    rng = np.random.default_rng(SEED)
    jobs = jobs_of(places, options.repeats, options.draws, rng=rng)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    numbers = measured(SEED, settings, COLUMNS, rows_of_jobs(of_target, jobs))
    # alarms are rarer than misses of a quantity: twice as many data sets
    evidence = rows_of_jobs(of_evidence, jobs_of(problems, 2 * options.repeats, options.draws, rng=rng))
    return {"evidence_columns": list(EVIDENCE), "evidence": [[row[c] for c in EVIDENCE] for row in evidence], **numbers}


def overall(rows: Iterable[dict[str, Any]], quantities: Iterable[str]) -> str:
    """One line per quantity and method: mean and worst coverage over cells."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["coverage"] == row["coverage"] and row["quantity"] in quantities:
            groups.setdefault((row["quantity"], row["method"]), []).append(row)
    lines = []
    for (quantity, method), of in sorted(groups.items(), key=lambda item: ESTIMANDS.index(item[0][0])):
        covered = np.array([row["coverage"] for row in of])
        worst = of[int(covered.argmin())]
        where = "{shift}, {classifier}, {n_rows}".format(**worst)
        width, refused = np.mean([row["width"] for row in of]), sum(row["refused"] for row in of)
        lines.append(
            [quantity, method, f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{width:.3f}", refused, where]
        )
    return table("Quantity | Weights | Mean coverage: | Worst cell: | Width: | Refused: | Where it is worst", lines)


def by_cell(rows: Iterable[dict[str, Any]], methods: Iterable[str]) -> str:
    """One line per cell: true ECE, Kish's share of true weights, and the coverage of each method."""
    lines: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        if row["quantity"] != "ece":
            continue
        key = (row["shift"], row["classifier"], row["n_rows"])
        line = lines.setdefault(key, [*key, f"{row['truth']:.3f}", ""])
        if row["method"] == TRUE:
            line[4] = f"{row['kish']:.2f}"
        line.append(f"{row['coverage']:.2f}")
    heads = " | ".join(f"{method}:" for method in methods)
    return table(f"Shift | Classifier | Source rows: | True ECE: | Kish's share: | {heads}", lines.values())


def evidence_table(numbers: dict[str, Any]) -> str:
    """One line per problem and kind of shift."""
    lines = []
    for stored in numbers["evidence"]:
        row = dict(zip(numbers["evidence_columns"], stored, strict=True))
        shares = (f"{row[name]:.3f}" for name in ("no_shift_alarms", "label_shift_alarms"))
        size = (f"{row[name]:.3f}" for name in ("total_variation", "coverage", "width"))
        lines.append([row["classes"], row["n_source"], row["n_target"], row["kind"], *shares, *size])
    return table(
        "Classes: | Source: | Target: | What differs | No shift rejected: | Label shift rejected: | Total variation: "
        "| Coverage: | Width:",
        lines,
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    linear, quadratic = ([row for row in rows if row["part"] == part] for part in ("linear", "quadratic"))
    n_cells = len({(row["shift"], row["classifier"], row["n_rows"]) for row in linear})
    return {
        "conditions": conditions(numbers, n_cells),
        "overall": overall(linear, ("ece",)),
        "others": overall([row for row in linear if row["method"] in (TRUE, LINEAR)], ESTIMANDS[1:]),
        "cells": by_cell(linear, METHODS["linear"]),
        "wrong": by_cell(quadratic, METHODS["quadratic"]),
        "evidence": evidence_table(numbers),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="covariate_shift.json",
        page="covariate_shift.md",
        shown=("conditions", "overall", "others", "cells", "wrong", "evidence"),
        repeats=(40, 2),
        draws=FEWER_DRAWS,
    )
