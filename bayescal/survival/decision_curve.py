"""Decision curves at a horizon, from right-censored times: rows -> cells between thresholds -> posterior -> result."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayescal._arrays import Bools, Floats, Ints
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal.data.frames import same_rows
from bayescal.decisions.analysis import PSEUDO_ROWS, of_counts
from bayescal.decisions.cells import MOST_KEYS, check_keys, merged
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.result import NetBenefit
from bayescal.decisions.thresholds import TREAT_ALL, as_thresholds, bins_between, odds, probabilities_by_model
from bayescal.stats._kernel import bin_index
from bayescal.stats.sums import sums_at
from bayescal.survival.analysis import warn_of_codes
from bayescal.survival.horizon_counts import KnownRows, share_with_event
from bayescal.survival.rows import SurvivalRows


@dataclass(frozen=True, eq=False, kw_only=True)
class HorizonThresholds(ThresholdCounts):
    """Right-censored rows at one horizon by outcome and the cells between thresholds, in strata of the stated risk.

    `n` counts rows with observed events as outcome 1 and all others as outcome 0; `weight` has the rows with known
    outcome, which stand for the censored ones.
    """

    stratum: Ints  # of each joint cell, shape (n_cells,)
    rows: Floats  # as for `KnownRows`
    worth: Floats  # as for `KnownRows`
    n_censored: int

    @classmethod
    def of_rows(cls, models: Mapping[str, SurvivalRows], horizon: float, thresholds: Floats) -> "HorizonThresholds":
        """Count the rows of one or several models, in strata of the mean of their risks."""
        first = next(iter(models.values()))
        mean = np.mean([each.risk.astype(np.float64) for each in models.values()], axis=0)
        known = KnownRows.of_rows(first, horizon, mean)
        at = thresholds[thresholds > 0]
        bins, shift = bins_between(at), len(thresholds) - len(at)
        size = max(len(thresholds) + 1, len(known.rows))
        check_keys(2 * size ** (len(models) + 1), MOST_KEYS, len(at), len(models))
        columns = [known.stratum, *(bin_index(each.risk, bins) + shift for each in models.values()), known.outcome]
        rows, one = np.stack(columns, axis=1).astype(np.int64), np.ones(len(first), np.int64)
        joint, n, weight = merged(rows, one, known.weight, size)
        squares = sums_at(known.outcome.astype(np.int64), known.weight**2, 2)
        sums, stratum, worth = (joint[:, 1:], n, weight, squares), joint[:, 0], known.worth
        options: dict[str, Any] = {"rows": known.rows, "worth": worth, "n_censored": known.n_censored}
        return cls(thresholds, tuple(models), *sums, stratum=stratum, **options)

    def _plus(self, other: ThresholdCounts) -> "HorizonThresholds":
        raise TypeError("counts at one horizon cannot be added, because curves of all rows do not follow from parts.")

    def at(self, thresholds: Any) -> "HorizonThresholds":
        """Refuse to merge cells, which would lose the strata."""
        raise TypeError("counts at one horizon keep their thresholds: pass others to `survival.net_benefit`.")

    @property
    def strata(self) -> tuple[Ints, Floats]:
        """Stratum of each joint cell, and effective rows of each stratum."""
        return self.stratum, self.rows

    def effective(self, *, by_outcome: bool = False) -> Floats:
        """Effective number of uncensored rows of each joint cell, shape (n_cells,)."""
        return self.weight * (self.rows.sum() / self.weight.sum()) * self.worth[self.stratum]

    @property
    def effective_rows(self) -> float:
        """Number of uncensored rows that the rows are worth."""
        return float(self.effective().sum())


@public
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SurvivalNetBenefit(NetBenefit):
    """Decision curves at a horizon: the net benefit of treating rows from a threshold of the risk on.

    Returned by `bayescal.survival.net_benefit`. It is a `NetBenefit` whose outcome is the event by the horizon.

    Parameters
    ----------
    posterior, harm, prevalence, n_draws, draws_seed, of_rows
        As for `NetBenefit`.
    horizon : float
        The horizon, in the unit of the times.
    product_limit : dict of str to ndarray
        Net benefit of each model and of treating all from product-limit estimates, without harm, per threshold.
    """

    horizon: float
    product_limit: dict[str, Floats]

    @property
    def observed(self) -> dict[str, Floats]:
        """Net benefit of each model and of treating all from product-limit estimates, without a prior.

        NaN at thresholds where no row reaches, or the last row that reaches it is censored before the horizon.
        """
        return {name: values - self.harm.get(name, 0.0) for name, values in self.product_limit.items()}

    @property
    def spec(self) -> str:
        """Models, thresholds, rows, prior and horizon, on one line."""
        counts = self.counts
        assert isinstance(counts, HorizonThresholds)
        events = f"{int(counts.by_outcome(counts.n)[1])} events by the horizon, {counts.n_censored} censored before"
        return f"{super().spec}, horizon {self.horizon:g}, {events}"


@public
def net_benefit(
    time: Any,
    event: Any,
    risk: Any,
    thresholds: Any = None,
    *,
    horizon: float,
    cause: int = 1,
    weights: Any = None,
    pseudo_rows: float = PSEUDO_ROWS,
    harm: Any = None,
    draws: int = 4000,
    rng: Any = None,
) -> SurvivalNetBenefit:
    r"""Compute decision curves at a horizon: the net benefit of treating all rows whose risk reaches a threshold.

    Parameters
    ----------
    time, event : array-like, shape (n_rows,)
        As for `bayescal.survival.evaluate`.
    risk : array-like of float, shape (n_rows,), or mapping of str to array-like, or data frame
        Stated probability of an event of `cause` by the horizon. For several models, a mapping from name to column, or
        a data frame with one column per model.
    thresholds : float or array-like of float, optional
        Thresholds t of the risk, strictly increasing in [0, 1); by default 0.01, 0.02, ..., 0.99.
    horizon : float
        The time by which the risks are stated, in the unit of `time`; at most the last time.
    cause, weights, pseudo_rows, harm
        As for `bayescal.survival.evaluate` and `bayescal.decisions.net_benefit`.

    Returns
    -------
    SurvivalNetBenefit
        A `NetBenefit`, with all that it holds; `observed` has the product-limit estimates.

    Raises
    ------
    ValueError, TypeError
        As for `bayescal.survival.evaluate` and `bayescal.decisions.net_benefit`.

    Notes
    -----
    With the probability :math:`F_t` of the event by the horizon among the rows whose risk r reaches the threshold, the
    net benefit is

    .. math:: NB(t) = P(r \ge t) \left(F_t - \frac{t}{1 - t} (1 - F_t)\right).

    `observed` takes the Kaplan-Meier, or with competing causes the Aalen-Johansen, estimate of :math:`F_t` in the group
    of these rows [1]_. The posterior is that of `bayescal.decisions.net_benefit`, which it equals in distribution if no
    row is censored before the horizon. Otherwise the rows with known outcome stand for the censored rows of their
    stratum, one of up to ten of equal mass of the risk, or of the mean of the risks of several models, so that
    censoring may depend on it. Shares within a stratum have a Dirichlet distribution whose parameters are effective
    numbers of rows, those of `bayescal.survival.evaluate` with the stratum in place of the bin; strata have that of all
    rows.

    References
    ----------
    .. [1] A. J. Vickers, A. M. Cronin, E. B. Elkin and M. Gonen (2008), "Extensions to decision curve analysis, a novel
       method for evaluating diagnostic tests, prediction models and molecular markers", BMC Medical Informatics and
       Decision Making 8, 53.

    Examples
    --------
    >>> risk = rng.beta(1.2, 2.4, 2000)
    >>> died = (np.log(rng.random(2000)) / np.log1p(-risk)) ** 0.8
    >>> lost = rng.exponential(1.5, 2000)
    >>> curve = bc.survival.net_benefit(np.minimum(died, lost), died <= lost, risk, [0.2, 0.5], horizon=1, rng=1)
    >>> curve.observed["model"].round(3)
    array([0.203, 0.046])
    >>> low, high = curve.net_benefit["model"].interval(0.95)
    >>> low.round(2), high.round(2)
    (array([0.17, 0.02]), array([0.23, 0.07]))
    """
    named, by_model = probabilities_by_model(risk)
    columns = {f"risk[{name!r}]" if named else "risk": values for name, values in by_model.items()}
    same_rows({"time": time, "event": event, "weights": weights, **columns})
    models: dict[str, SurvivalRows] = {}
    for name, values in by_model.items():
        with errors_of(f"model {name!r}" if named else ""):
            models[name] = SurvivalRows.read(time, event, values, weights, cause=cause)
    first = next(iter(models.values()))
    warn_of_codes(first)
    at, every = first.checked_horizon(horizon), as_thresholds(thresholds)
    counts = HorizonThresholds.of_rows(models, at, every)
    base = of_counts(counts, pseudo_rows, harm, None, draws, rng)
    weight = np.ones(len(first)) if first.weight is None else first.weight / first.weight.mean()
    reached: dict[str, Bools] = {
        name: np.stack([rows.risk >= rows.risk.dtype.type(t) for t in every]) for name, rows in models.items()
    }
    reached[TREAT_ALL] = np.ones((1, len(first)), bool)
    product_limit = {}
    for name, each in reached.items():
        share = share_with_event(first, at, each)
        product_limit[name] = each @ weight / len(first) * (share - odds(every) * (1 - share))
    values = {field.name: getattr(base, field.name) for field in fields(base)}
    return SurvivalNetBenefit(**values, horizon=at, product_limit=product_limit)
