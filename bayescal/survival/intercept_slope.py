"""Calibration intercept and slope at a horizon: right-censored rows -> effective counts by logit -> Recalibration."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.clinical.slope.analysis import recalibration_counts
from bayescal.clinical.slope.counts import SMALLEST_FLOOR, LogitCounts, logit_bins
from bayescal.clinical.slope.posterior import WEAK
from bayescal.clinical.slope.result import Recalibration
from bayescal.data.frames import same_rows
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.sums import sums_at
from bayescal.survival.analysis import warn_of_codes
from bayescal.survival.horizon_counts import KnownRows
from bayescal.survival.rows import SurvivalRows


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HorizonLogits(LogitCounts):
    """Right-censored rows at one horizon by the logit of their risk.

    `binned` has the rows with known outcome, whose weights are effective numbers of uncensored rows.
    """

    rows: Floats  # effective numbers of all rows, shape (n_bins,)
    whole: int  # number of all rows
    n_censored: int  # number of rows with unknown outcome
    has_weights: bool  # whether rows had weights

    @classmethod
    def of_rows(cls, rows: SurvivalRows, horizon: float) -> "HorizonLogits":
        """Count the rows of which the outcome is known, which stand for the censored ones."""
        known = KnownRows.of_rows(rows, horizon, rows.risk.astype(np.float64))
        kept = known.weight > 0
        bins, effective = logit_bins(), known.effective[kept]
        seen = Predictions(confidence=rows.risk[kept], outcome=known.outcome[kept], weight=effective, target="event")
        binned = BinnedCounts.from_predictions(seen, bins=bins)
        # weights are numbers of rows already, so that their sum is that of their squares
        binned = replace(binned, weight_sq=binned.weight.sum(axis=0))
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        every = known.rate * sums_at(bin_index(rows.risk, bins), weight, len(bins))
        return cls(
            binned, rows=every, whole=len(rows), n_censored=known.n_censored, has_weights=rows.weight is not None
        )

    def _plus(self, other: LogitCounts) -> "HorizonLogits":
        raise TypeError("counts at one horizon cannot be added, because curves of all rows do not follow from parts.")

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.whole

    @property
    def weighted(self) -> bool:
        """Whether rows had weights of their own, besides those that stand for censored rows."""
        return self.has_weights

    @property
    def mass(self) -> Floats:
        """Effective number of all rows in each cell, or nearest to it, shape (n_cells,)."""
        inside = np.flatnonzero(self._inside)
        nearest = np.searchsorted((inside[1:] + inside[:-1]) / 2, np.arange(1, len(self.rows) - 1))
        return sums_at(nearest, self.rows[1:-1], len(inside))


@public
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SurvivalRecalibration(Recalibration):
    """Posterior of the calibration intercept and slope of stated risks at a horizon.

    Returned by `bayescal.survival.recalibration`. It is a `Recalibration` whose outcome is the event by the horizon.

    Parameters
    ----------
    counts, posterior, drawn, shift_seed, floor
        As for `Recalibration`.
    horizon : float
        The horizon, in the unit of the times.
    """

    counts: HorizonLogits
    horizon: float

    @property
    def spec(self) -> str:
        """Rows, floor, prior and horizon, on one line."""
        worth = f"worth {self.counts.n.sum():.0f} rows without censoring"
        return f"{super().spec}, horizon {self.horizon:g}, {self.counts.n_censored} rows censored before, {worth}"


@public
def recalibration(
    time: Any,
    event: Any,
    risk: Any,
    *,
    horizon: float,
    cause: int = 1,
    weights: Any = None,
    prior: Any = WEAK,
    floor: float | None = None,
    draws: int = 4000,
    rng: Any = None,
) -> SurvivalRecalibration:
    r"""Compute the posterior of the calibration intercept and slope of stated risks at a horizon.

    Parameters
    ----------
    time, event : array-like, shape (n_rows,)
        As for `bayescal.survival.evaluate`.
    risk : array-like of float, shape (n_rows,)
        Stated probability of an event of `cause` by the horizon, in [0, 1].
    horizon : float
        The time by which the risks are stated, in the unit of `time`; at most the last time.
    cause, weights, prior, floor
        As for `bayescal.survival.evaluate` and `bayescal.clinical.recalibration`.

    Returns
    -------
    SurvivalRecalibration
        A `Recalibration`, with all that it holds, such as exact intervals of intercept and slope.

    Raises
    ------
    ValueError, TypeError
        As for `bayescal.survival.evaluate`; also if a risk of exactly 0 or 1 is contradicted and there is no `floor`,
        or all risks are equal.

    Notes
    -----
    Intercept a and slope b are those of :math:`\mathrm{logit}\,F(t \mid r) = a + b\,\mathrm{logit}\,r` with the
    probability F of the event by the horizon t. Without censoring before the horizon, the result is that of
    `bayescal.clinical.recalibration`. Otherwise rows with known outcome have weights for the inverse probability of not
    being censored before [1]_, with one censoring curve for each of up to ten strata of equal mass of the risk, so that
    censoring may depend on it. In the likelihood, a stratum counts as many rows as it is worth without censoring, the
    effective number of `bayescal.survival.evaluate`: the curvature of the log likelihood is then the inverse variance
    of the estimates. The distribution of the risks, for the calibration in the large, is that of all rows.

    References
    ----------
    .. [1] J. M. Robins and D. M. Finkelstein (2000), "Correcting for noncompliance and dependent censoring in an AIDS
       clinical trial with inverse probability of censoring weighted (IPCW) log-rank tests", Biometrics 56, 779-788.

    Examples
    --------
    Risks that are too extreme by a factor of 1.5 on the logit scale:

    >>> true = rng.beta(1.2, 2.4, 4000)
    >>> died = (np.log(rng.random(4000)) / np.log1p(-true)) ** 0.8
    >>> lost = rng.exponential(1.5, 4000)
    >>> risk = 1 / (1 + (1 / true - 1) ** 1.5)
    >>> rc = bc.survival.recalibration(np.minimum(died, lost), died <= lost, risk, horizon=1, rng=1)
    >>> [round(end, 2) for end in rc.exact_interval("slope")]
    [0.58, 0.7]
    """
    same_rows({"time": time, "event": event, "risk": risk, "weights": weights})
    rows = SurvivalRows.read(time, event, risk, weights, cause=cause)
    warn_of_codes(rows)
    at = rows.checked_horizon(horizon)
    distance = None if floor is None else _checks.fraction("floor", floor)
    if distance is not None:
        _checks.between("floor", np.atleast_1d(distance), SMALLEST_FLOOR, 0.5, "distances")
        rows = replace(rows, risk=np.clip(rows.risk.astype(np.float64), distance, 1 - distance))
    counts = HorizonLogits.of_rows(rows, at)
    try:
        base = recalibration_counts(counts, prior=prior, draws=draws, rng=rng)
    except ValueError as problem:
        instead = "survival.evaluate(time, event, risk, horizon=...).observed_expected"
        text = str(problem).replace("evaluate(y_true, y_prob).signed_error", instead)
        raise ValueError(text.replace("`y_prob`", "`risk`")) from problem
    values = {field.name: getattr(base, field.name) for field in fields(base)}
    return SurvivalRecalibration(**(values | {"floor": distance}), horizon=at)
