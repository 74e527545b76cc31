"""HorizonRows: right-censored rows at one horizon in the bins of one model, and what each row adds to a total."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import sums_at
from bayescal.survival.curves import Exits
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HorizonRows:
    """Rows at one horizon, in the bins of the stated risk.

    Parameters
    ----------
    bin_of : ndarray of int64, shape (n_rows,)
        Bin of each row.
    outcome : ndarray of bool, shape (n_rows,)
        Whether the event of the cause was observed by the horizon.
    censored : ndarray of bool, shape (n_rows,)
        Whether the outcome at the horizon is unknown.
    stay : ndarray of bool, shape (n_rows,)
        Whether the row is known to be free of events at the horizon.
    weight : ndarray, shape (n_rows,)
        Weights; 1 if rows have none.
    exits : Exits
        The rows of positive weight that leave.
    leaving : ndarray of int64, shape (n_exits,)
        Their positions among the rows, in the order of `exits`.
    """

    bin_of: Ints
    outcome: Bools
    censored: Bools
    stay: Bools
    weight: Floats
    exits: Exits
    leaving: Ints

    @classmethod
    def of_rows(cls, rows: SurvivalRows, horizon: float, bins: Bins) -> "HorizonRows":
        """Sort the rows that leave by bin and time."""
        hit, censored = (rows.event > 0) & (rows.time <= horizon), censored_before(rows, horizon)
        bin_of = bin_index(rows.risk, bins)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        leaving, stay = np.flatnonzero((hit | censored) & (weight > 0)), ~(hit | censored)
        of_cause = rows.event == rows.cause
        staying = sums_at(bin_of[stay], weight[stay], len(bins))
        exits, order = Exits.sorted(
            bin_of[leaving], rows.time[leaving], hit[leaving], of_cause[leaving], weight[leaving], staying
        )
        return cls(bin_of, hit & of_cause, censored, stay, weight, exits, leaving[order])

    def squared_errors(self, risk: NDArray[Any]) -> Floats:
        """Squared error of the stated risk of each row; unknown outcomes are treated as 0."""
        return (self.outcome - risk.astype(np.float64)) ** 2

    @property
    def inverse_censoring(self) -> Floats:
        """Weight of each row by the inverse probability of censoring, times its weight; 0 if its outcome is unknown."""
        of_events, of_staying = self.exits.inverse_censoring
        inverse = np.zeros(len(self.bin_of))
        inverse[self.leaving] = of_events
        staying = self.exits.staying
        factor = np.divide(of_staying, staying, out=np.zeros_like(of_staying), where=staying > 0)
        own = factor[self.bin_of[self.stay]]
        inverse[self.stay] = own * self.weight[self.stay]
        return inverse

    def influences(self, values: Floats) -> Floats:
        """Return how much one more unit of weight of each row would add to a total over rows with known outcome.

        Parameters
        ----------
        values : ndarray, shape (n_rows,)
            Value of each row; those of rows with unknown outcome do not matter.

        Returns
        -------
        ndarray, shape (n_rows,)
            See `Exits.influences`; 0 for rows of weight 0 that leave.
        """
        exits, at = self.exits, self.bin_of[self.stay]
        of_stay = values[self.stay]
        of_exits, of_censoring = exits.influences(
            values[self.leaving], sums_at(at, self.weight[self.stay] * of_stay, len(exits.staying))
        )
        found = np.zeros(len(values))
        found[self.leaving] = of_exits
        found[self.stay] = of_stay / exits.uncensored_at_horizon[at] - of_censoring[at]
        return found

    def on_mean(self, values: Floats) -> tuple[float, Floats]:
        """Return a mean over rows with known outcome, weighted for censoring, and the influence of each row on it.

        Parameters
        ----------
        values : ndarray, shape (n_rows,)
            Value of each row; those of rows with unknown outcome do not matter.

        Returns
        -------
        (mean, influences) : tuple of float and ndarray, shape (n_rows,)
            The influences are derivatives of the mean with respect to the weight of each row, times the total weight;
            their weighted mean is 0. Both are NaN if no outcome is known.
        """
        inverse = self.inverse_censoring
        known = float(inverse.sum())
        if not known:
            return float("nan"), np.full(len(values), np.nan)
        mean = float(inverse @ values) / known
        # the total weight of the known rows varies too
        return mean, self.influences(values - mean) * (float(self.weight.sum()) / known)

    def on_area(self, ranks: Ranks, risk: NDArray[Any]) -> Floats:
        """Return the influence of each row on the area under the ROC curve of the known rows, up to a constant factor.

        Parameters
        ----------
        ranks : Ranks
            Ranks of the rows with known outcome, weighted for censoring; both outcomes occur.
        risk : ndarray, shape (n_rows,)
            Stated risk of each row.
        """
        known = self.inverse_censoring > 0
        of_known = np.zeros(len(risk))
        of_known[known] = ranks.influences[self.outcome[known].astype(np.int64), ranks.cell_of(risk[known])]
        return self.influences(of_known)


def censored_before(rows: SurvivalRows, horizon: float) -> Bools:
    """Flag rows that are censored before the horizon."""
    return (rows.event == 0) & (rows.time < horizon)
