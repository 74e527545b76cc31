"""SurvivalEvaluation: calibration of stated risks at one horizon, from right-censored times; and several horizons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Array, Floats, xr
from bayescal._arviz import chains
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand, UnavailableError
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.posterior.joint import nearest_correlation, reorder, with_ranks_of
from bayescal.results import wording
from bayescal.results.evaluation import Evaluation
from bayescal.results.of_groups import ByLabel
from bayescal.results.remarks import of_several
from bayescal.stats.contract import Counts
from bayescal.survival.horizon_counts import MOST_NOT_FOLLOWED, HorizonCounts

#: Mean risks are clipped to this distance from 0 and 1, so that parameters of Beta distributions are positive.
LEAST_MEAN_RISK = 1e-9
#: Together with the seed of the bins, this number seeds the draws of the ratio of observed to expected events.
RATIO_SEED = 2
#: Name and label of the ratio.
NAME, LABEL = "observed_expected", "observed / expected"
#: Statistic of a trend below minus this number: risks that fall with the events, by chance once in 30 000 data sets.
REVERSED_TREND = 4.0
#: Events are far fewer, or far more, than expected if the interval of observed / expected is beyond this factor.
FAR_OFF = 2.0
MANY_EXPECTED_EVENTS = 8.0  #: No event where more are expected: by chance in fewer than 1 of 2000 calibrated data sets.
#: Quantities whose draws are joint over horizons, so that they have a mean over time.
INTEGRATED = ("brier_score", "auc")
HEADER = ("horizon", "events", "censored", "mean", "sd", "2.5 %", "97.5 %", "plug-in", LABEL)


def observed_expected(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the ratio of the probability of the event to the mean stated risk; 1 if calibrated on average.

    Values above 1 mean that more events happen than the risks say. The ratio is :math:`\sum_b m_b \theta_b / \sum_b m_b
    \mu_b` with masses m and mean risks :math:`\mu`, those of `bin_draws`, which come from a posterior given `counts`.
    The probabilities are not shrunk towards the risks:

    .. math:: \theta_b \sim \mathrm{Beta}(k_b + \mu_b,\; n_b - k_b + 1 - \mu_b)

    with effective numbers of rows and events n and k, and one further row per bin at the stated risk. The draws have
    the ranks of the ratio that follows from `bin_draws`, so that they are joint with the draws of the ECE. A ValueError
    is raised if all stated risks are 0, so that no event is expected.
    """
    used = bin_draws.mass.any(axis=0)
    mass, mean = bin_draws.mass[:, used], np.clip(bin_draws.confidence[:, used], LEAST_MEAN_RISK, 1 - LEAST_MEAN_RISK)
    if not expects_events(counts):
        raise ValueError("all stated risks are 0: no event is expected, and there is no ratio to the expected events.")
    n, k = counts.effective_n[used], counts.effective_k[used]
    k = np.clip(k, 0.0, n)
    accuracy = _checks.generator(rng).beta(k + mean[0], n - k + 1 - mean[0], mass.shape)
    expected = (mass * mean).sum(axis=1)
    shrunk = (mass * bin_draws.accuracy[:, used]).sum(axis=1) / expected
    return Draws(with_ranks_of(shrunk, (mass * accuracy).sum(axis=1) / expected), "observed_expected")


def expects_events(counts: Counts) -> bool:
    """Return whether the mean stated risk is above 0, or there are no rows."""
    used = counts.occupied
    return not used.any() or float(counts.share[used] @ counts.mean_confidence[used]) > LEAST_MEAN_RISK


def observed_ratio(counts: Counts) -> float:
    """Return the observed ratio: that of the bins' estimates, weighted with the rows; NaN without rows."""
    used = counts.occupied & (counts.effective_n > 0)
    if not used.any():
        return float("nan")
    expected = float(counts.share[used] @ counts.mean_confidence[used])
    return float(counts.share[used] @ counts.accuracy[used]) / max(expected, LEAST_MEAN_RISK)


@public
@dataclass(frozen=True, eq=False, repr=False)
class SurvivalEvaluation(Evaluation):
    """The posterior of how well stated risks of an event by a horizon are calibrated.

    Returned by `bayescal.survival.evaluate` and `bayescal.survival.evaluate_counts`. It is an `Evaluation` whose
    outcome is the event by the horizon, with effective numbers of censored rows: every estimand, plot and table of an
    `Evaluation` is available, except for the log score if rows are censored.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`; `counts` are those of right-censored rows at one horizon.
    """

    counts: HorizonCounts

    @classmethod
    def of(cls, evaluation: Evaluation) -> "SurvivalEvaluation":
        """Make the evaluation at a horizon from an evaluation of censored counts."""
        values = {field.name: getattr(evaluation, field.name) for field in fields(evaluation)}
        if evaluation.null_bin_draws is not None:
            values["null_bin_draws"] = _followed_bins(evaluation.null_bin_draws, values["counts"])
        return cls(**values)

    @property
    def _observed_bins(self) -> BinDraws:
        return _followed_bins(super()._observed_bins, self.counts)

    _compared_by: ClassVar[str] = "bayescal.survival.compare"
    #: Methods that need the outcome of every row.
    _refused: ClassVar[tuple[str, ...]] = ("loo", "sensitivity", "under_prior")
    _bin_rows: ClassVar[Mapping[str, str]] = {"rows": "n", "censored": "n_censored", "effective rows": "effective_n"}
    _bin_dash: ClassVar[str] = "no rows in the bin, or its last row is censored before the horizon"

    @property
    def horizon(self) -> float:
        """The horizon, in the unit of the times."""
        return self.counts.horizon

    @property
    def _horizon(self) -> float:
        return self.horizon

    @property
    def _observed_accuracy(self) -> Floats:
        """Observed accuracy per bin; NaN in bins whose data end before the horizon."""
        return np.where(self.counts.followed, self.counts.accuracy, np.nan)

    @property
    def _censored_share(self) -> Floats:
        """Share of all rows that are in a bin and censored before the horizon, per bin."""
        return self.counts.share * self.counts.n_censored / np.maximum(self.counts.n, 1)

    def _bin_columns(self) -> dict[str, Array]:
        counts = self.counts
        return {"n_censored": counts.n_censored, "effective_n": counts.effective_n, "followed": counts.followed}

    def _more(self, prob: float) -> dict[str, Any]:
        return {"horizon": self.horizon, "not_followed": self.not_followed}

    @property
    def not_followed(self) -> float:
        """Share of the rows in bins whose last row was censored before the horizon.

        The posterior of such a bin comes from the other bins and the prior, and its interval is wide.
        """
        return self.counts.not_followed

    @cached_property
    def observed_expected(self) -> Draws:
        """Draws of the ratio of the probability of the event to the mean stated risk; 1 if calibrated on average.

        It raises a ValueError if all stated risks are 0. See `bayescal.survival.result.observed_expected`.
        """
        rng = np.random.SeedSequence((self.bin_draws_seed, RATIO_SEED))
        ratio = observed_expected(self.bin_draws, self.counts, rng=rng)
        if self.draw_total_bins is not None:
            total = observed_expected(self.draw_total_bins(), self.counts.with_total_effect(), rng=rng)
            ratio = replace(ratio, values=with_ranks_of(ratio.values, total.values))
        return replace(ratio, origin=self.bin_draws.fingerprint)

    def _draw(self, record: Estimand) -> Draws:
        self._require(record)
        return super()._draw(record)

    def plug_in_of(self, estimand: EstimandLike) -> float:
        """Plug-in value of any estimand; see `Evaluation.plug_in_of`. Censored rows are weighted as in its draws.

        Bins that are not followed are left out, here and in `null`, because their data end before the horizon.
        """
        self._require(as_scalar(estimand))
        return super().plug_in_of(estimand)

    def _require(self, record: Estimand) -> None:
        """Raise a ValueError for an estimand that censored rows do not determine."""
        censored = self.counts.n_censored.any() and "predictions" not in record.needs  # an event has no accuracy
        if record.needs and not record.available(self.counts) and censored:
            raise UnavailableError(self._lacking(record))

    def _lacking(self, record: Estimand) -> str:
        if record.needs & self.counts.lacking:
            return (
                f"{_render.percent(self.not_followed)} of the rows are in bins that were not followed to the horizon; "
                f"with more than {100 * MOST_NOT_FOLLOWED:g} % the {record.symbol} has no valid interval. Use an "
                "earlier horizon."
            )
        return (
            f"the {record.symbol} is not available: {int(self.counts.n_censored.sum())} rows are censored before the "
            "horizon, so that their outcome is unknown. The Brier score and the AUC weight the other rows."
        )

    @property
    def question(self) -> str:
        """Horizon, bins, rows and model, in words."""
        counts, before = self.counts, int(self.counts.n_censored.sum())
        quantity = f"ECE{self._of_label} at horizon {self.horizon:g}"
        followed = f"{int(counts.k.sum())} events by the horizon, {before} censored before, "
        return wording.question(quantity, [counts], self.model, self.posterior.prior, followed)

    @property
    def _subject(self) -> str:
        return f"The Expected Calibration Error{self._of_label} at horizon {self.horizon:g}"

    def table(self, prob: float = 0.95, *, estimands: Iterable[EstimandLike] | None = None) -> list[dict[str, Any]]:
        """The numbers of a table, as data; by default with a row ``observed_expected`` at the end.

        Parameters
        ----------
        prob, estimands
            As for `Evaluation.table`.
        """
        rows = super().table(prob, estimands=estimands)
        return rows if estimands is not None or not expects_events(self.counts) else [*rows, self._ratio_row(prob)]

    def _ratio_row(self, prob: float = 0.95) -> dict[str, Any]:
        expected = 1.0 if self.null_bin_draws is not None else float("nan")
        return wording.table_row(self.observed_expected, NAME, prob, observed_ratio(self.counts), expected)

    def sheet(self, *, whole: bool = False, estimands: Iterable[EstimandLike] | None = None) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows; see `Evaluation.sheet`."""
        sheet = super().sheet(whole=whole, estimands=estimands)
        if estimands is not None or not expects_events(self.counts):
            return sheet
        d, row = wording.decimals(self.ece), self._ratio_row()
        cells = [LABEL, *(_render.number(value, d) for value in list(row.values())[1:])]
        return replace(sheet, rows=[*sheet.rows, cells])

    def to_datatree(self, *, prior: bool = False, predictive: bool | str = False) -> "xr.DataTree":
        """Everything as an ArviZ DataTree; see `Evaluation.to_datatree`.

        There is no `prior`, and with censored rows no prediction.

        ``posterior`` also holds ``observed_expected``; the attributes hold the horizon and the share that is not
        followed, and ``observed_data`` the number of rows per bin that are censored before the horizon.
        """
        tree = super().to_datatree(prior=prior, predictive=predictive)
        posterior, numbers = tree["posterior"].to_dataset(), "constant_data" if predictive else "observed_data"
        if expects_events(self.counts):
            ratio = chains(self.observed_expected.values)
            tree["posterior"] = posterior.assign({NAME: (("chain", "draw"), ratio)})
        tree[numbers] = tree[numbers].to_dataset().assign(n_censored=("bin", self.counts.n_censored))
        tree.attrs |= {"horizon": self.horizon, "not_followed": self.not_followed}
        return tree

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table; empty if no problem is known."""
        return (*super().remarks, *self._doubts(), *_censoring_remarks(self.counts))

    def _doubts(self) -> list[str]:
        """Return remarks on probable mistakes: risks that are lower for rows with events, or far from their number."""
        counts = self.counts
        used = counts.occupied & counts.followed
        n, k, risk = counts.effective_n[used], counts.effective_k[used], counts.mean_confidence[used]
        if not k.any() and n @ risk > MANY_EXPECTED_EVENTS:
            return [
                f"No event is observed by the horizon {counts.horizon:g}, and {n @ risk:.0f} are expected. Is the "
                "horizon in the unit of the times, and does the event have the code of the cause?"
            ]
        scored = not counts.lacking and (counts.weight.sum(axis=1) > 0).all()
        area = self.auc.interval(0.95) if scored else (0.0, 1.0)
        z = _trend(n, k, risk)
        many = max(n @ risk, k.sum()) > MANY_EXPECTED_EVENTS and expects_events(counts)
        ratio = self.observed_expected.interval(0.95) if many else (1.0, 1.0)
        if area[1] < 0.5 or z < -REVERSED_TREND:
            shown = f"AUC {area[0]:.2f} to {area[1]:.2f}" if area[1] < 0.5 else f"trend over bins: z = {z:.1f}"
            return [
                f"Events are rarer where the stated risk is higher ({shown}). Are these survival probabilities? Then "
                "pass 1 minus them."
            ]
        if ratio[1] < 1 / FAR_OFF or ratio[0] > FAR_OFF:
            return [
                f"The stated risks are far from the share of events ({LABEL} {ratio[0]:.2g} to {ratio[1]:.2g}). Are "
                "these survival probabilities (then pass 1 minus them), or risks by another horizon?"
            ]
        return []


def _followed_bins(bins: BinDraws, counts: HorizonCounts) -> BinDraws:
    """Select the bins that are followed among the occupied bins."""
    keep = counts.followed[counts.occupied]
    if keep.all():
        return bins
    share = bins.mass[:, keep] / bins.mass[:, keep].sum(axis=1, keepdims=True)
    return BinDraws(share, bins.accuracy[:, keep], bins.confidence[:, keep], bins.occupied[keep], share)


def _trend(n: Floats, k: Floats, risk: Floats) -> float:
    """Return the statistic of Cochran and Armitage for a trend of k events among n rows with the risk of the bin."""
    if not n.sum():
        return 0.0
    rate = k.sum() / n.sum()
    off = risk - n @ risk / n.sum()
    variance = rate * (1 - rate) * (n @ off**2)
    return float((k - n * rate) @ off / np.sqrt(variance)) if variance > 0 else 0.0


def _censoring_remarks(counts: HorizonCounts) -> list[str]:
    """State the effective number of rows under censoring, and how many rows are not followed."""
    if not counts.n_censored.any():
        return []
    independent = "" if counts.clusters is None else "independent "
    worth = f"The {counts.n_rows} rows are worth {counts.effective_n.sum():.0f} {independent}rows without censoring."
    lost = int(np.count_nonzero(~counts.followed))
    if not lost:
        return [worth]
    bins = "1 bin ends" if lost == 1 else f"{lost} bins end"
    weak = counts.not_followed > MOST_NOT_FOLLOWED
    more = " Intervals may contain the truth less often than stated; use an earlier horizon." * weak
    return [
        worth,
        f"Not followed: {_render.percent(counts.not_followed)} of the rows, because {bins} with a censored row before "
        f"the horizon. Plug-in values leave them out.{more}",
    ]


@public
@dataclass(frozen=True, eq=False, repr=False)
class SurvivalHorizons(ByLabel[SurvivalEvaluation]):
    """Evaluations of the same rows at several horizons: a mapping from horizon to `SurvivalEvaluation`.

    Returned by `bayescal.survival.evaluate` for several horizons. Draws of two horizons are not joint, except for those
    of `joint` and `integrated`.

    Parameters
    ----------
    evaluations : dict of float to SurvivalEvaluation
        The evaluations, in the order of the horizons.
    seeds : dict of float to int
        Seed of each horizon, which reproduces its evaluation.
    correlations : dict of str to ndarray
        Correlations between horizons of the influences of rows on the Brier score and on the AUC, each of shape
        (n_horizons, n_horizons), or None if a horizon has none.
    """

    evaluations: dict[float, SurvivalEvaluation]
    seeds: dict[float, int]
    correlations: dict[str, Floats | None]

    _index = ("horizon",)
    _label, _results = "horizon", "evaluations"

    @property
    def horizons(self) -> tuple[float, ...]:
        """The horizons, increasing."""
        return tuple(self.evaluations)

    def joint(self, estimand: EstimandLike = "brier_score") -> Draws:
        """Draws of the Brier score or of the AUC at all horizons, joint, shape (n_draws, n_horizons).

        Each horizon has the draws of its evaluation, in an order that gives them the correlations of the influences of
        rows on the two quantities.

        Parameters
        ----------
        estimand : {"brier_score", "auc"}, default "brier_score"
            The quantity.

        Raises
        ------
        ValueError
            For another quantity, or if it has no interval at one of the horizons.
        """
        name = as_scalar(estimand).name
        _checks.one_of("estimand", name, INTEGRATED)
        each = [evaluation.draws(name).values for evaluation in self.values()]
        correlation = self.correlations[name]
        assert correlation is not None  # otherwise there are no draws of a horizon
        rng = np.random.SeedSequence(list(self.seeds.values()))
        return Draws(reorder(np.stack(each, axis=1), nearest_correlation(correlation), rng=rng), f"{name} by horizon")

    def integrated(self, estimand: EstimandLike = "brier_score") -> Draws:
        r"""Draws of the mean over time of the Brier score or of the AUC, from the first to the last horizon.

        The integrated Brier score, and the mean of the AUC at each time, by the trapezoidal rule between horizons:
        :math:`\int B(t) \, dt / (t_k - t_1)`. `observed_integrated` is the value in the rows.

        Parameters
        ----------
        estimand : {"brier_score", "auc"}, default "brier_score"
            The quantity.

        Raises
        ------
        ValueError
            As for `joint`; also with a single horizon.

        Examples
        --------
        >>> risk = rng.beta(1.2, 2.4, 1000)
        >>> died, lost = (np.log(rng.random(1000)) / np.log1p(-risk)) ** 0.8, rng.exponential(1.5, 1000)
        >>> at = [0.25, 0.5, 1.0]
        >>> risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)
        >>> several = bc.survival.evaluate(np.minimum(died, lost), died <= lost, risks, horizon=at, rng=1)
        >>> round(several.observed_integrated(), 3), [round(end, 2) for end in several.integrated().interval(0.95)]
        (0.135, [0.12, 0.15])
        """
        return Draws(self._over_time(self.joint(estimand).values), f"integrated {as_scalar(estimand).name}")

    def observed_integrated(self, estimand: EstimandLike = "brier_score") -> float:
        """Return the observed value of `integrated`, in the rows with known outcome, weighted for censoring.

        Parameters
        ----------
        estimand
            As for `integrated`.
        """
        return float(self._over_time(np.array([each.plug_in_of(estimand) for each in self.values()])))

    def _over_time(self, values: Floats) -> Floats:
        """Return the mean over time of values at the horizons, on the last axis."""
        at = np.array(self.horizons)
        if len(at) < 2:
            raise ValueError("a mean over time needs at least two horizons; this result has one.")
        return np.asarray(np.trapezoid(values, at, axis=-1) / (at[-1] - at[0]))

    @property
    def spec(self) -> str:
        """Horizons, bins and rows on one line."""
        return self.specification()

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the quantity, horizons, bins and rows on one line, for a paper; `spec` is that of the ECE.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The quantity; ``"observed_expected"`` is the ratio of observed to expected events.
        """
        first = next(iter(self.values()))
        listed = ", ".join(f"{horizon:g}" for horizon in self)
        of = words_of(estimand)
        return f"{of} at horizons {listed}, {first.counts.bins}, N = {first.counts.n_rows}, {first.model} model"

    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return one dict per horizon, as data.

        Keys are horizon, n_rows, n_events, n_censored, not_followed, mean, sd, low, high, plug_in, null_mean.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The quantity; ``"observed_expected"`` is the ratio of observed to expected events.
        """
        return [self._row(horizon, each, prob, estimand) for horizon, each in self.items()]

    def _row(self, horizon: float, each: SurvivalEvaluation, prob: float, estimand: EstimandLike) -> dict[str, Any]:
        row = each._ratio_row(prob) if estimand == NAME else each.row(estimand, prob)
        counts = each.counts
        return {
            "horizon": horizon,
            "n_rows": counts.n_rows,
            "n_events": int(counts.k.sum()),
            "n_censored": int(counts.n_censored.sum()),
            "not_followed": counts.not_followed,
            **{name: value for name, value in row.items() if name != "quantity"},
        }

    def sentence(self, prob: float = 0.95) -> str:
        """Return the horizon with the largest posterior mean, in words."""
        horizon, worst = max(self.items(), key=lambda item: item[1].ece.mean())
        return (
            f"Of {len(self)} horizons, the Expected Calibration Error is largest at {horizon:g}: "
            f"{wording.mean_and_interval(worst.ece, prob)}."
        )

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        d = min(wording.decimals(each.ece) for each in self.values())
        rows = [
            [
                f"{row['horizon']:g}",
                str(row["n_events"]),
                str(row["n_censored"]),
                *(_render.number(row[name], d) for name in ("mean", "sd", "low", "high", "plug_in")),
                wording.with_interval(each.observed_expected, 2) if expects_events(each.counts) else "-",
            ]
            for row, each in zip(self.table(estimand=estimand), self.values(), strict=True)
        ]
        remarks = of_several({f"horizon {horizon:g}": each.remarks for horizon, each in self.items()})
        spec = self.specification(estimand=estimand)
        return _render.Sheet(self.sentence(), spec, HEADER, rows, remarks, question=spec)


def words_of(estimand: EstimandLike) -> str:
    """Return the short name of a quantity at a horizon, or of the ratio of observed to expected events."""
    return LABEL if estimand == NAME else as_scalar(estimand).words("event")
