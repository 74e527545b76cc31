"""Exact leave-one-out cross-validation of the outcomes, given the bins of the rows, in the form that ArviZ compares.

Rows are identified only by bin and outcome. They are sorted by bin; within a bin, rows with outcome 0 are first.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats, Indices, Ints
from bayescal.draws import BinDraws
from bayescal.posterior.contract import PredictsOutcomes
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts
from bayescal.stats.log_odds import VALUE_FLOOR

if TYPE_CHECKING:
    import arviz as az


#: Largest number of rows with a value for each row.
MOST_POINTWISE = 10_000_000
#: Relative difference of effective and counted rows that is rounding.
ROUNDING = 1e-9
#: What to do in place of a comparison of models and priors.
AGAIN = "Evaluate again with another model or prior, as with `model='dirichlet'`, and compare the intervals."


def require_equal_rows(counts: Counts, name: str) -> None:
    """Refuse counts without rows, rows with different weights or in clusters, and outcomes that may be unknown."""
    if not isinstance(counts, BinnedCounts):
        known = "If all outcomes are known, evaluate them with `evaluate(y_true, y_prob)`."
        raise TypeError(
            f"`{name}` exists for BinnedCounts, whose rows all have an observed outcome, not for "
            f"{type(counts).__name__}. {AGAIN if name == 'sensitivity' else known}"
        )
    if not counts.n_rows:
        raise ValueError(f"`{name}` needs rows; these counts have none.")
    clusters = clusters_of(counts)
    if clusters is not None:
        raise ValueError(
            f"`{name}` needs independent rows; these are in {clusters.number} clusters, whose rows may depend on each "
            "other. Evaluate the rows without `cluster` if they are independent."
        )
    if abs(counts.effective_rows - counts.n_rows) > ROUNDING * counts.n_rows:
        raise ValueError(
            f"`{name}` needs rows with equal weights. The effective number of rows is {counts.effective_rows:g}, for "
            f"{counts.n_rows} rows; evaluate the rows without `weights` if each of them counts once."
        )


def require_exact(posterior: Any, name: str) -> PredictsOutcomes:
    """Refuse posteriors without exact predictive probabilities."""
    if not isinstance(posterior, PredictsOutcomes):
        how = "with `evaluate(y_true, y_prob)`, if their outcomes are known"
        how = f"Evaluate the rows {'without `pooling`' if hasattr(posterior, 'pooled') else how}."
        raise TypeError(
            f"`{name}` exists for the shrinkage model and the Dirichlet model, not for {type(posterior).__name__}. "
            f"{AGAIN if name == 'sensitivity' else how}"
        )
    return posterior


def cells_of_rows(counts: Counts) -> tuple[Indices, Indices]:
    """Return the bin and the outcome of each row."""
    number = np.stack([counts.n - counts.k, counts.k], axis=1).astype(np.int64).ravel()
    cell = np.repeat(np.arange(len(number)), number)
    return cell // 2, cell % 2


def row_coordinates(counts: Counts) -> dict[str, Any]:
    """Return the coordinates of a dimension `row`: its number, bin and outcome."""
    at, outcome = cells_of_rows(counts)
    return {"row": np.arange(len(at)), "row_bin": ("row", at), "row_outcome": ("row", outcome)}


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Log predictive probabilities of single rows, by outcome (first axis) and bin; NaN in cells without rows."""

    counts: Counts
    #: Numbers of rows, and log probabilities of the outcome given all other rows, and given all rows.
    number: Ints
    log_probability: Floats
    given_all: Floats

    @property
    def elpd(self) -> float:
        """Sum over rows."""
        return self._sum(self.log_probability)

    @property
    def se(self) -> float:
        """Standard error of the sum, from the variance over rows."""
        return self._se(self.log_probability)

    @property
    def p(self) -> float:
        """Effective number of parameters."""
        return self._sum(self.given_all - self.log_probability)

    def minus(self, other: "LeftOut") -> tuple[float, float]:
        """Return the difference from another model of the same rows, and its standard error."""
        difference = self.log_probability - other.log_probability
        return self._sum(difference), self._se(difference)

    def elpd_data(self, n_draws: int) -> "az.ELPDData":
        """Return the record of ArviZ."""
        _packages.require("arviz")
        import arviz as az
        import xarray as xr

        n_rows = int(self.number.sum())
        pointwise = None
        if n_rows <= MOST_POINTWISE:
            at, outcome = cells_of_rows(self.counts)
            values, coords = self.log_probability[outcome, at], row_coordinates(self.counts)
            pointwise = xr.DataArray(values, dims="row", coords=coords, name="elpd_i")
        return az.ELPDDataLOO(
            elpd=self.elpd,
            se=self.se,
            p=self.p,
            n_samples=n_draws,
            n_data_points=n_rows,
            scale="log",
            warning=False,
            good_k=None,
            elpd_i=pointwise,
            pareto_k=None,
        )

    def _sum(self, values: Floats) -> float:
        return float((self.number * values)[self.number > 0].sum())

    def _se(self, values: Floats) -> float:
        centred = values - self._sum(values) / self.number.sum()
        return float(np.sqrt(self._sum(centred**2)))


def left_out(counts: Counts, posterior: Any, bin_draws: BinDraws) -> LeftOut:
    """Compute the predictive probabilities of all cells; refuse rows and posteriors that have none."""
    exact = require_exact(posterior, "loo")
    require_equal_rows(counts, "loo")
    number = np.stack([counts.n - counts.k, counts.k]).astype(np.int64)
    inside = np.clip(bin_draws.accuracy.mean(axis=0), VALUE_FLOOR, 1 - VALUE_FLOOR)
    with np.errstate(divide="ignore"):  # cells without rows
        given_all = np.where(number > 0, np.log(np.stack([1 - inside, inside])), np.nan)
    return LeftOut(counts, number, exact.log_left_out(), given_all)
