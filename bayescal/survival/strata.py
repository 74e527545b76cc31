"""Right-censored rows at one horizon as rows with known outcome, whose weights stand for the censored rows."""

from dataclasses import dataclass, replace

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.sums import effective_number, sums_at
from bayescal.survival.horizon_counts import HorizonRows
from bayescal.survival.rows import SurvivalRows

#: Strata of the stated risk: their largest number, and rows of each; one censoring curve per stratum.
MOST_STRATA, ROWS_PER_STRATUM = 10, 50
LEAST_WORTH = 10.0  #: A stratum that is worth fewer rows without censoring joins the stratum below it.


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows with known outcome at a horizon, which stand for the rows of their stratum.

    Shape (n_rows,): whether the event of the cause was observed by the horizon (`outcome`), the `stratum` of the risk,
    and the `weight`, divided by the probability of not being censored before; 0 if the outcome is unknown. Weights of a
    stratum add up to those of all its rows (Efron's redistribution to the right), so that weighted shares are
    product-limit estimates. Shape (n_strata,): effective numbers of all rows (`rows`), and how many uncensored rows
    each of them is `worth`, in (0, 1]. A weight counts as `rate` effective rows (Kish).
    """

    outcome: Bools
    stratum: Ints
    weight: Floats
    rows: Floats
    worth: Floats
    rate: float
    n_censored: int

    @classmethod
    def of_rows(cls, rows: SurvivalRows, horizon: float, risk: Floats) -> "KnownRows":
        """Weight rows in strata of equal mass of a risk, by which censoring may differ."""
        kept = risk if rows.weight is None else risk[rows.weight > 0]
        n_strata = int(np.clip(len(kept) // ROWS_PER_STRATUM, 1, MOST_STRATA))
        strata = make_bins(n_strata, binning="equal-mass", confidence=kept)
        scored = replace(rows, risk=risk)
        while True:
            at = HorizonRows.of_rows(scored, horizon, strata)
            total = sums_at(at.bin_of, at.weight, len(strata))
            mean = sums_at(at.bin_of, at.weight * risk, len(strata)) / np.where(total > 0, total, 1.0)
            rate = float(effective_number(at.weight, at.weight @ at.weight) / total.sum())
            worth = at.exits.worth(mean)
            weak = np.flatnonzero((rate * total * worth < LEAST_WORTH) & (total > 0))
            if not len(weak) or len(strata) == 1:
                break
            strata = Bins(np.delete(strata.edges, max(weak[-1], 1)), "custom")
        if not at.exits.followed.all():
            raise ValueError(
                f"`horizon` {horizon:g} is after the last time of the rows of positive weight, and nothing is known "
                "beyond it. Use an earlier horizon."
            )
        n_censored = int(at.censored.sum())
        return cls(at.outcome, at.bin_of, at.inverse_censoring, rate * total, worth, rate, n_censored)

    @property
    def effective(self) -> Floats:
        """Effective number of uncensored rows that each row counts for, shape (n_rows,)."""
        return self.weight * self.rate * self.worth[self.stratum]


def share_with_event(rows: SurvivalRows, horizon: float, marked: Array) -> Floats:
    """Product-limit estimate of the event by the horizon in each of several sets of rows, shape (n_sets,).

    `marked`, shape (n_sets, n_rows), flags the rows of each set. It is NaN if a set has no rows, or its last row is
    censored before the horizon.
    """
    at = HorizonRows.of_rows(replace(rows, risk=np.zeros(len(rows))), horizon, make_bins(1))
    shares = []
    for of_set in marked:
        kept = of_set[at.leaving]
        columns = {name: getattr(at.exits, name)[kept] for name in ("bin", "time", "event", "of_cause", "weight")}
        exits = replace(at.exits, **columns, staying=np.array([at.weight[at.stay & of_set].sum()]))
        known = exits.followed[0] and exits.weight.sum() + exits.staying[0] > 0
        shares.append(float(exits.incidence[0]) if known else np.nan)
    return np.array(shares)
