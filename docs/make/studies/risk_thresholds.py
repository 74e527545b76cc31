"""The promise of a confidence threshold: the true risk of the kept predictions is small enough in 90 % of data sets."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from pages import table
from scipy.special import betaincinv

from bayescal.analyses.one import count_rows
from bayescal.data.predictions import read_rows
from bayescal.datasets.simulate import POPULATIONS
from bayescal.decisions.selective_analysis import BINS
from bayescal.decisions.selective_result import GRID
from bayescal.estimands.selective import Cells, Selection
from bayescal.verify.coverage import standard_error
from studies.risk_curves import one_line_per_cell
from studies.selection import OURS, Floats, Row, largest_share, name_of, path_of, simulated

#: Probability of the promise; shares whose true risks are promised.
PROMISE, RISKS_OF = 0.9, (0.3, 0.6, 0.9)
CURVES, SIZES = (("calibrated", None), ("temperature", 1.5), ("shift", 0.3), ("one bad bin", 0.3)), (500, 2000, 10_000)
CELLS = tuple((population, curve, n) for curve, population, n in product(CURVES, POPULATIONS, SIZES))
CONFORMAL, BONFERRONI, PLUG_IN = "conformal", "Clopper-Pearson, Bonferroni", "observed share"
#: Prototypes; that with half a wrong row is measured where fewer wrong rows than this are expected in the best share.
LAST, HALF, FEW_WRONG = "last cell that fits", "half a wrong row at the top", 20
EXACT = "quantile of the last cell"
#: The best constant margin, and the same if a rule keeps no fewer rows than no wrong row among them could prove.
ORACLE, ENOUGH = "best margin", "best margin, enough rows"
#: Margins of the oracle, subtracted from the observed largest share.
MARGINS = np.arange(-200, 1001) / 1000
COLUMNS = (
    *("population", "curve", "n_rows", "at", "risk", "best", "method", "met", "kept", "none", "repeats"),
)  # fmt: skip


class DrawnOnce(Cells):
    """Cells whose draws under one prior serve all risks, to save time."""

    def draw(self, n_draws: int, rng: np.random.Generator, prior: Floats | None = None) -> Selection:
        """Return the draws of an earlier call with this prior, or draw."""
        drawn: dict[bytes, Selection] = self.__dict__.setdefault("drawn", {})
        key = b"" if prior is None else prior.tobytes()
        if key not in drawn:
            drawn[key] = super().draw(n_draws, rng, prior)
        return drawn[key]


def cells_of(z: Any, c: Floats) -> DrawnOnce:
    """Cells of the rows of one data set."""
    counts = count_rows(read_rows(z, c, target="confidence").checked(), BINS, "equal-width", ranked=True)
    return DrawnOnce(**vars(Cells.of_counts(counts)))


# ------------------------------------------------------------------------------------------------ rules
def bonferroni_cells(cells: Cells, risk: float) -> int:
    """Cells down to the last share of a grid whose limit of Clopper and Pearson, corrected for their number, fits."""
    at = np.unique(np.maximum(np.searchsorted(cells.shares, GRID + 1e-9, "right") - 1, 0))
    wrong, right = np.cumsum(cells.rows, axis=1)[:, at]
    fits = betaincinv(wrong + 1, np.maximum(right, 1e-9), 1 - (1 - PROMISE) / len(GRID)) <= risk
    return int(at[fits][-1]) + 1 if fits.any() else 0


def last_cells(cells: Cells, risk: float, draws: int, rng: np.random.Generator) -> int:
    """Cells down to the last one at whose end the risk is met with the probability of the promise."""
    drawn = cells.draw(draws, rng, top_prior(cells, 1.0))
    fits = (drawn.wrong <= risk * drawn.kept)[:, 1:].mean(axis=0) >= PROMISE
    return int(np.flatnonzero(fits)[-1]) + 1 if fits.any() else 0


def half_cells(cells: Cells, risk: float, draws: int, rng: np.random.Generator) -> int:
    """Cells of the rule of the package with half a wrong row at the top."""
    return cells.draw(draws, rng, top_prior(cells, 0.5)).last_with(risk, PROMISE)


def exact_cells(cells: Cells, risk: float, draws: int, rng: np.random.Generator) -> int:
    """Cells down to the quantile, at 1 minus the promise, of the last one that fits in a draw."""
    last = cells.draw(draws, rng, top_prior(cells, 1.0)).last_cell(risk)
    return int(np.quantile(last, 1 - PROMISE, method="lower"))


def top_prior(cells: Cells, wrong: float) -> Floats:
    """Wrong rows before the first cell, and half a row of each outcome in the last one, as `Cells.last_for` has."""
    prior = np.zeros((2, len(cells.confidence)))
    prior[:, -1] = 0.5
    prior[0, 0] += wrong
    return prior


Rule = Callable[[Cells, float, int, np.random.Generator], int]
RULES: dict[str, Rule] = {
    OURS: lambda cells, risk, draws, rng: cells.last_for(risk, PROMISE, draws, rng),
    LAST: last_cells,
    HALF: half_cells,
    EXACT: exact_cells,
    CONFORMAL: lambda cells, risk, draws, rng: cells.conformal_last(risk, PROMISE, GRID),
    BONFERRONI: lambda cells, risk, draws, rng: bonferroni_cells(cells, risk),
}


# ------------------------------------------------------------------------------------------------ truths
@dataclass(frozen=True)
class Population:
    """A population with known risks: shares that are kept, and kept and wrong, from the largest confidence on."""

    confidence: Floats  # falling
    kept: Floats
    wrong: Floats

    @classmethod
    def of_points(cls, c: Floats, right: Floats) -> "Population":
        """Population of points with rising confidences."""
        return cls(c[::-1], *path_of(c, right))

    def risk_at(self, share: float) -> float:
        """True risk of a share."""
        return float(np.interp(share, self.kept, self.wrong)) / share

    def shares_from(self, confidence: Floats) -> Floats:
        """Share of the population with at least these confidences."""
        return self.kept[np.searchsorted(-self.confidence, -confidence, "right")]

    def meets(self, share: Floats, risk: float) -> Any:
        """Whether the true risks of shares are at most `risk`; so that of no share is."""
        return np.interp(share, self.kept, self.wrong) <= risk * share + 1e-12


def oracle_shares(kept: Floats, observed: Floats, of: Population, risk: float, fewest: float = 0.0) -> Floats:
    """Shares of the population that the observed largest share keeps, minus the best margin that holds the promise.

    `kept` has the share of the population that 0, 1, ... rows of each data set keep; shape (n_sets, n_rows + 1).
    If fewer than `fewest` rows were kept, none is.
    """
    n_rows, best = kept.shape[1] - 1, np.zeros(len(kept))
    for margin in MARGINS:
        rows = np.clip(((observed - margin) * n_rows + 1e-9).astype(np.int64), 0, n_rows)
        rows[rows < fewest] = 0
        shares = kept[np.arange(len(kept)), rows]
        if of.meets(shares, risk).mean() >= PROMISE and shares.mean() > best.mean():
            best = shares
    return best


# ------------------------------------------------------------------------------------------------ one cell
def threshold_cell(job: tuple[tuple[str, Any, int], float, int, int, np.random.Generator]) -> list[Row]:
    """Share of data sets in which each rule holds its promise, and shares of the population that it keeps."""
    (population, curve, n_rows), _, repeats, draws, rng = job
    draw, points = simulated(population, curve, n_rows, rng)
    of = Population.of_points(*points)
    risks = {at: of.risk_at(at) for at in RISKS_OF}
    best = {at: largest_share(of.kept, of.wrong, risk) for at, risk in risks.items()}
    kept, observed = np.zeros((repeats, n_rows + 1)), np.empty((repeats, len(risks)))
    found: dict[tuple[float, str], list[float]] = {}
    for i in range(repeats):
        z, c = draw()
        cells = cells_of(z, c)
        kept[i, 1:] = of.shares_from(-np.sort(-c))
        path = path_of(c, z)
        observed[i] = [largest_share(*path, risk) for risk in risks.values()]
        for (at, risk), (method, rule) in product(risks.items(), RULES.items()):
            if method == HALF and best[at] * risk * n_rows >= FEW_WRONG:
                continue
            from_ = cells.kept(rule(cells, risk, draws, rng))[0]
            found.setdefault((at, method), []).append(of.shares_from(np.array([from_]))[0])
    rows = []
    for j, (at, risk) in enumerate(risks.items()):
        fewest = np.log1p(-PROMISE) / np.log1p(-risk)
        shares = {method: np.array(found[at, method]) for method in RULES if (at, method) in found}
        shares[ORACLE] = oracle_shares(kept, observed[:, j], of, risk)
        shares[ENOUGH] = oracle_shares(kept, observed[:, j], of, risk, fewest)
        shares[PLUG_IN] = kept[np.arange(repeats), (observed[:, j] * n_rows + 1e-9).astype(np.int64)]
        cell = {"population": population, "curve": name_of(curve), "n_rows": n_rows, "at": at, "risk": risk}
        for method, each in shares.items():
            numbers = {"met": of.meets(each, risk).mean(), "kept": each.mean(), "none": (each == 0).mean()}
            numbers = {name: float(value) for name, value in numbers.items()}
            rows.append({**cell, "best": best[at], "method": method, **numbers, "repeats": repeats})
    return rows


# ------------------------------------------------------------------------------------------------ tables
#: Cells by the number of wrong rows that are expected in the best share: smallest numbers of each group.
GROUPS = (0, 5, 20, 100)
#: Columns of a cell.
KEY = ("population", "curve", "n_rows", "at", "risk", "best")
#: Part of the share of the best margin that a rule should keep.
BAR = 0.95
METHODS = (OURS, EXACT, LAST, HALF, CONFORMAL, BONFERRONI, PLUG_IN, ENOUGH, ORACLE)


def missed(row: Row) -> bool:
    """Whether the promise is held in fewer data sets than it says, by more than two standard errors."""
    return bool(row["met"] < PROMISE - 2 * standard_error(PROMISE, row["repeats"]))


def in_groups(lines: list[Row]) -> list[tuple[str, list[Row]]]:
    """Cells by the number of wrong rows that are expected in the best share."""
    wrong = np.array([line["n_rows"] * line["best"] * line["risk"] for line in lines])
    place = np.searchsorted(GROUPS, wrong, "right") - 1
    names = [f"{low} to {high}" for low, high in pairwise(GROUPS)] + [f"{GROUPS[-1]} or more"]
    return [(name, [line for line, at in zip(lines, place, strict=True) if at == i]) for i, name in enumerate(names)]


def ratio(line: Row, method: str, to: str) -> float:
    """Share that a method keeps relative to that of another one; NaN if neither is above 0."""
    other = line["best"] if to == "best" else line[to]["kept"]
    return float(line[method]["kept"] / other) if other else float("nan")


def threshold_table(rows: list[Row]) -> str:
    """One line per number of wrong rows and method."""
    texts = []
    for name, lines in in_groups(one_line_per_cell(rows, KEY, "method")):
        for method in METHODS:
            of = [line for line in lines if method in line]
            if not of:
                continue
            met = [line[method]["met"] for line in of]
            relative, best, enough = (
                np.array([ratio(line, method, to) for line in of]) for to in (ORACLE, "best", ENOUGH)
            )
            texts.append(
                [
                    *(name, method, len(of), f"{np.mean(met):.3f}", f"{min(met):.3f}"),
                    *(sum(missed(line[method]) for line in of), f"{best.mean():.2f}", f"{np.nanmean(relative):.2f}"),
                    *(f"{np.nanmin(relative):.2f}", f"{np.nanmean(enough):.2f}"),
                ]
            )
    head = (
        "Expected wrong rows | Rule | Cells and risks: | Promise held: | Worst cell: | Too rarely: | "
        "Kept, of the best share: | Of the best margin: | Worst cell: | Of the best margin, enough rows:"
    )
    return table(head, texts)


def weak_table(rows: list[Row]) -> str:
    """One line per cell in which the package holds the promise too rarely, or keeps too little."""
    texts = []
    for line in one_line_per_cell(rows, KEY, "method"):
        kept = [ratio(line, OURS, to) for to in (ORACLE, ENOUGH)]
        if not missed(line[OURS]) and not kept[0] < BAR:
            continue
        met = {name: f"{line[name]['met']:.3f}, {ratio(line, name, ORACLE):.2f}" for name in METHODS if name in line}
        texts.append(
            [
                *(line["population"], line["curve"], line["n_rows"], f"{line['risk']:.4f}"),
                f"{line['n_rows'] * line['best'] * line['risk']:.1f}",
                *(f"{line[OURS]['met']:.3f}", f"{line[OURS]['none']:.2f}"),
                *(f"{ratio(line, OURS, 'best'):.2f}", f"{ratio(line, ORACLE, 'best'):.2f}"),
                *(f"{each:.2f}" for each in kept),
                *(met.get(name, "") for name in (LAST, HALF, CONFORMAL)),
            ]
        )
    head = (
        "Population | Curve | Rows: | Risk: | Expected wrong rows: | Promise held: | Nothing kept: | "
        "Kept, of the best: | Best margin, of the best: | Kept, of the best margin: | With enough rows: | "
        "Last cell that fits: | Half a wrong row: | Conformal:"
    )
    return table(head, texts)
