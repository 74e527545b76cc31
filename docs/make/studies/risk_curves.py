"""Coverage of bands of risk-coverage curves, and of differences of two classifiers on the same rows."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from pages import table

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS
from bayescal.estimands.selective import Selection
from bayescal.verify.coverage import contains
from studies import coverage_rows
from studies.differences import Stated
from studies.selection import BOOTSTRAP, OURS, Floats, Row, name_of, path_of, simulated

#: Resamples of the bootstrap.
RESAMPLES = 200
#: Smallest share of the curves that are compared, and differences.
FROM, AT = 0.05, (0.1, 0.5, 0.8, 0.95)
CURVES = (("calibrated", None), ("temperature", 1.5), ("shift", 0.3), ("wave", 0.05))
#: Curves and populations that are also measured with fewer and with more rows than `ROWS`.
ROWS, OTHER_ROWS, OTHERS = 1000, (200, 5000), tuple(product((CURVES[0], CURVES[3]), ("top", "rare")))
CURVE_CELLS = (
    *((population, curve, ROWS) for curve, population in product(CURVES, POPULATIONS)),
    *((population, curve, n) for (curve, population), n in product(OTHERS, OTHER_ROWS)),
)
POINTWISE, SIMULTANEOUS, RESAMPLED = f"{OURS}, pointwise", f"{OURS}, simultaneous", f"{BOOTSTRAP}, pointwise"
CURVE_COLUMNS = ("population", "curve", "n_rows", "method", "mean", "least", "least_at", "whole", "width", "repeats")

RISK, AREA = "difference of selective risks", "difference of AUGRCs"
INDEPENDENT = "as if independent"
#: Rows that represent the population of two classifiers.
TRUTH_ROWS = 2_000_000
SAME, OWN = "same predictions", "own predictions"
DIFFERENCE_COLUMNS = (
    *("population", "pair", "n_rows", "quantity", "at", "truth", "method"),
    *("coverage", "above", "width", "repeats"),
)  # fmt: skip


def tails(prob: float) -> list[float]:
    """Probabilities of the ends of an interval."""
    return [(1 - prob) / 2, (1 + prob) / 2]


def resampled(rows: Floats, z: Any, c: Floats) -> Selection:
    """Selections from resamples, given how often each row is in each of them, shape (n_resamples, n_rows)."""
    order = np.argsort(-c, kind="stable")
    first = np.flatnonzero(np.diff(c[order], prepend=np.inf))
    wrong, right = (np.add.reduceat((rows * each)[:, order], first, axis=1) for each in (1 - z, z))
    return Selection.of_cells(wrong, right)


def resamples(n_rows: int, rng: np.random.Generator) -> Floats:
    """Draw how often each row is in each resample."""
    return rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), RESAMPLES).astype(np.float64)


# ------------------------------------------------------------------------------------------------ bands of curves
def bands(z: Any, c: Floats, prob: float, draws: int, rng: np.random.Generator) -> tuple[Floats, dict[str, Floats]]:
    """Shares, and bands of one data set by method, shape (2, n_shares)."""
    kept = bc.decisions.selective(z, c, target="confidence", draws=draws, rng=int(rng.integers(2**63)))
    (risk,) = kept.risk.values()
    chosen = kept.shares >= FROM - 1e-9
    shares = kept.shares[chosen]
    found = {POINTWISE: np.stack(risk.interval(prob))[:, chosen], SIMULTANEOUS: np.stack(risk.band(prob))[:, chosen]}
    of_resamples = resampled(resamples(len(z), rng), z, c).risk(shares)
    return shares, {**found, RESAMPLED: np.quantile(of_resamples, tails(prob), axis=0)}


def curve_cell(job: tuple[tuple[str, Any, int], float, int, int, np.random.Generator]) -> list[Row]:
    """Coverage of all bands in data sets of one cell."""
    (population, curve, n_rows), prob, repeats, draws, rng = job
    draw, points = simulated(population, curve, n_rows, rng)
    path, every = path_of(*points), []
    for _ in range(repeats):
        shares, found = bands(*draw(), prob, draws, rng)
        every.append(found)
    truth = np.interp(shares, *path) / shares
    rows = []
    for method in every[0]:
        low, high = np.stack([each[method] for each in every], axis=1)
        inside = contains(low, high, truth)
        at_share = inside.mean(axis=0)
        rows.append(
            {
                "population": population, "curve": name_of(curve), "n_rows": n_rows, "method": method,
                "mean": float(at_share.mean()), "least": float(at_share.min()),
                "least_at": float(shares[at_share.argmin()]), "whole": float(inside.all(axis=1).mean()),
                "width": float((high - low).mean()), "repeats": repeats,
            }
        )  # fmt: skip
    return rows


# ------------------------------------------------------------------------------------------------ two classifiers
@dataclass(frozen=True)
class Pair:
    """Two classifiers on the same rows, whose true probabilities come from a population.

    With the same predictions, the first classifier states the true probability that a prediction is right, and the
    second one states it with noise. With their own predictions, both state a probability of one of two classes.
    """

    population: str
    kind: str
    first: Stated
    second: Stated
    n_rows: int

    @property
    def columns(self) -> Row:
        """Columns of the pair in the table."""
        pair = f"{self.kind}: {self.first}, {self.second}"
        return {"population": self.population, "pair": pair, "n_rows": self.n_rows}

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Draw true probabilities, and those that each classifier states."""
        p = POPULATIONS[self.population].sample(n_rows, rng=rng)
        return p, self.first(p, rng), self.second(p, rng)

    def states(self, stated: Floats) -> Floats:
        """Confidence of a classifier in its predictions."""
        return stated if self.kind == SAME else np.maximum(stated, 1 - stated)

    def is_right(self, label: Any, stated: Floats) -> Any:
        """Whether predictions are right, from labels, or with which probability, from those of the label."""
        return label if self.kind == SAME else np.where(stated > 0.5, label, 1 - label)

    def truths(self, rng: np.random.Generator) -> Floats:
        """Differences of the risks at the shares `AT`, and of the AUGRCs; shape (n_shares + 1,)."""
        p, *stated = self.draw(TRUTH_ROWS, rng)
        found = []
        for each in stated:
            kept, wrong = path_of(self.states(each), self.is_right(p, each))
            found.append([*np.interp(AT, kept, wrong) / AT, np.trapezoid(wrong, kept)])
        return np.subtract(*np.array(found))


def _noisy(noise: float) -> Stated:
    return Stated(f"noise {noise:g}", noise=noise)


_EXACT = Stated("true probability")
_SIZES = (300, 1000, 5000)
DIFFERENCE_CELLS = (
    *(Pair("top", SAME, _EXACT, _noisy(0.5), n) for n in _SIZES),
    *(Pair("flat", OWN, _EXACT, _noisy(1.0), n) for n in _SIZES),
    Pair("top", SAME, _EXACT, _noisy(0.1), 1000),
    Pair("flat", OWN, _noisy(0.5), _noisy(0.5), 1000),
)


def of_selections(first: Selection, second: Selection) -> Floats:
    """Differences of the risks at the shares `AT`, and of the AUGRCs; shape (n_draws, n_shares + 1)."""
    risk, other = (each.risk(np.array(AT)) for each in (first, second))
    return np.column_stack([risk - other, first.area() - second.area()])


def intervals(pair: Pair, prob: float, draws: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Intervals of one data set by method, shape (n_quantities, 2)."""
    p, *stated = pair.draw(pair.n_rows, rng)
    label = (rng.random(pair.n_rows) < p).astype(np.int64)
    target = "confidence" if pair.kind == SAME else "top-label"
    given = {
        name: each if pair.kind == SAME else np.column_stack([1 - each, each])
        for name, each in zip(("first", "second"), stated, strict=True)
    }
    kept = bc.decisions.selective(label, given, target=target, draws=draws, rng=int(rng.integers(2**63)))
    first, second = kept.selections.values()
    order = rng.permutation(draws)
    alone = Selection(second.kept[order], second.wrong[order])
    rows = resamples(pair.n_rows, rng)
    of_each = [resampled(rows, pair.is_right(label, each), pair.states(each)) for each in stated]
    drawn = {
        OURS: of_selections(first, second),
        BOOTSTRAP: of_selections(*of_each),
        INDEPENDENT: of_selections(first, alone),
    }
    return {method: np.quantile(values, tails(prob), axis=0).T for method, values in drawn.items()}


def difference_cell(job: tuple[Pair, float, int, int, np.random.Generator]) -> list[Row]:
    """Coverage of all intervals of differences in data sets of one cell."""
    pair, prob, repeats, draws, rng = job
    of_truth, of_data = rng.spawn(2)
    truths = pair.truths(of_truth)
    every = [intervals(pair, prob, draws, of_data) for _ in range(repeats)]
    rows = []
    for i, truth in enumerate(truths.tolist()):
        quantity, at = (RISK, AT[i]) if i < len(AT) else (AREA, 0.0)
        cell = {**pair.columns, "quantity": quantity, "at": at, "truth": truth}
        rows += coverage_rows(
            cell, {method: np.stack([each[method][i] for each in every]) for method in every[0]}, truth
        )
    return rows


# ------------------------------------------------------------------------------------------------ tables
def where(row: Row) -> str:
    """Name of the cell of a row."""
    return f"{row['population']}, {row.get('curve') or row['pair']}, {row['n_rows']} rows"


def curve_table(rows: list[Row]) -> str:
    """One line per band over all cells, and one line per cell."""
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        of = [row for row in rows if row["method"] == method]
        share, whole = min(of, key=lambda row: row["least"]), min(of, key=lambda row: row["whole"])
        mean, mean_whole, width = (np.mean([row[name] for row in of]) for name in ("mean", "whole", "width"))
        worst = f"{share['least']:.2f} (share {share['least_at']:g}; {where(share)})"
        worst_whole = f"{whole['whole']:.2f} ({where(whole)})"
        lines.append([method, f"{mean:.3f}", worst, f"{mean_whole:.3f}", worst_whole, f"{width:.3f}"])
    overall = table(
        "Band | Mean over shares: | Worst share of a cell | Whole curve: | Worst cell | Width:",
        lines,
    )
    lines = []
    for line in one_line_per_cell(rows, ("population", "curve", "n_rows"), "method"):
        ours, band, rival = (line[name] for name in (POINTWISE, SIMULTANEOUS, RESAMPLED))
        lines.append(
            [
                *(line[name] for name in ("population", "curve", "n_rows")),
                *(f"{ours['mean']:.3f}", f"{ours['least']:.2f}", f"{band['whole']:.2f}"),
                *(f"{rival['mean']:.3f}", f"{rival['least']:.2f}", f"{rival['whole']:.2f}"),
                *(f"{each['width']:.3f}" for each in (ours, band, rival)),
            ]
        )
    head = (
        "Population | Curve | Rows: | Pointwise, mean: | Worst share: | Simultaneous, whole curve: | "
        "Bootstrap, mean: | Worst share: | Whole curve: | Width, pointwise: | Simultaneous: | Bootstrap:"
    )
    return f"{overall}\n{table(head, lines)}"


def one_line_per_cell(rows: list[Row], key: tuple[str, ...], by: str) -> list[Row]:
    """Join rows that agree in the columns `key`; each of them is the entry of its value of the column `by`."""
    lines: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        lines.setdefault(tuple(row[name] for name in key), {name: row[name] for name in key})[row[by]] = row
    return list(lines.values())


def difference_table(rows: list[Row]) -> str:
    """One line per quantity and method over all cells, and one line per cell."""
    lines = []
    for quantity, at in dict.fromkeys((row["quantity"], row["at"]) for row in rows):
        for method in (OURS, BOOTSTRAP, INDEPENDENT):
            of = [row for row in rows if (row["quantity"], row["at"], row["method"]) == (quantity, at, method)]
            worst = min(of, key=lambda row: row["coverage"])
            mean, width = (np.mean([row[name] for row in of]) for name in ("coverage", "width"))
            lines.append(
                [
                    f"{quantity} at share {at:g}" if at else quantity,
                    *(method, f"{mean:.3f}", f"{worst['coverage']:.3f}", f"{width:.4f}", where(worst)),
                ]
            )
    overall = table("Quantity | Method | Mean coverage: | Worst cell: | Width: | Worst cell", lines)
    lines = []
    for line in one_line_per_cell(rows, ("population", "pair", "n_rows", "quantity", "at", "truth"), "method"):
        ours, boot, alone = (line[name] for name in (OURS, BOOTSTRAP, INDEPENDENT))
        lines.append(
            [
                *(line[name] for name in ("population", "pair", "n_rows")),
                f"risk at share {line['at']:g}" if line["at"] else "AUGRC",
                f"{line['truth']:+.4f}",
                *(f"{each['coverage']:.3f}" for each in (ours, boot, alone)),
                *(f"{each['width']:.4f}" for each in (ours, boot, alone)),
            ]
        )
    head = (
        "Population | Classifiers | Rows: | Difference of | True difference: | Coverage: | Bootstrap: | "
        "As if independent: | Width: | Bootstrap: | As if independent:"
    )
    return f"{overall}\n{table(head, lines)}"
