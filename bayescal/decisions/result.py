"""NetBenefit: decision curves of one or several models on the same rows, of groups, or imputed, as posteriors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import Bools, Floats, xr
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.decisions import thresholds, words
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.posterior import ScoreCellsPosterior
from bayescal.decisions.thresholds import TREAT_ALL, TREAT_NONE, Decisions, decide, net_benefit_of, odds, share_treated
from bayescal.draws import Draws, fingerprint
from bayescal.results.imputed import UNBOUNDED, Bounds, Imputed
from bayescal.results.of_groups import OfGroups
from bayescal.results.remarks import of_several

#: Titles of the table of one set of rows, and of that of groups, after the name of the grouping.
HEADER = ("", "threshold", "net benefit", "2.5 %", "97.5 %", "observed", "treat all", "P(useful)", "P(best)")
OF_GROUPS = ("rows", "model", "threshold", "net benefit", "2.5 %", "97.5 %", "observed", "treat all", "P(useful)")


@public
@dataclass(frozen=True, eq=False, repr=False)
class NetBenefit(_presented.Presented):
    r"""Decision curves of one or several models: the net benefit of treating rows from a threshold on.

    Returned by `net_benefit`. All draws are joint, over thresholds and over models, and with treating all.

    Parameters
    ----------
    posterior : ScoreCellsPosterior
        The posterior of outcome and score cells, with the counts.
    harm : dict of str to float
        Net benefit that using each model costs per row.
    prevalence : float or None
        Known share of outcome 1, for case-control data; None if it is estimated from the rows.
    n_draws : int
        Number of draws.
    draws_seed : int
        Seed of the draws.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.
    """

    posterior: ScoreCellsPosterior
    harm: dict[str, float]
    prevalence: float | None
    n_draws: int
    draws_seed: int
    of_rows: tuple[str, ...] = ()

    _index = ("model", "threshold")
    _quantity_name = "net_benefit"

    def __getitem__(self, model: object) -> NoReturn:
        """Raise an error that says what has one entry per model."""
        named = model if model in self.models else self.models[0]
        raise TypeError(
            f"a {type(self).__name__} has several quantities per model: use `net_benefit[{named!r}]`, "
            f"`standardized[{named!r}]`, `p_useful[{named!r}]` or `difference({named!r}, {TREAT_ALL!r})`."
        )

    @property
    def counts(self) -> ThresholdCounts:
        """The counts of the rows."""
        return self.posterior.counts

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self.counts.models

    @property
    def thresholds(self) -> Floats:
        """The thresholds, shape (n_thresholds,)."""
        return self.counts.thresholds

    @property
    def strategies(self) -> tuple[str, ...]:
        """Names of all strategies: "treat none", "treat all" and the models."""
        return (TREAT_NONE, TREAT_ALL, *self.models)

    @cached_property
    def _benefits_and_prevalence(self) -> tuple[Floats, Floats]:
        """Draws of the net benefit of the models, and of the prevalence, shape (n_draws, 1)."""
        mass = self.posterior.sample(self.n_draws, rng=self.draws_seed)
        models = net_benefit_of(share_treated(mass), self._gain)
        # summed over the cells of the first model, which are the same rows as those of the others
        share = mass[:, 0, 1].sum(axis=-1, keepdims=True)
        return models - self._harms, share if self.prevalence is None else np.full_like(share, self.prevalence)

    @property
    def _closed_form(self) -> bool:
        """Whether means and standard deviations have closed forms."""
        return self.counts.clusters is None

    @property
    def _gain(self) -> Floats:
        return thresholds.gain_of_treating(self.thresholds, self.prevalence)

    @property
    def _harms(self) -> Floats:
        return np.array([[self.harm[name]] for name in self.models])

    @cached_property
    def _treat_all(self) -> Floats:
        share = self.prevalence_draws
        values: Floats = share - odds(self.thresholds) * (1 - share)
        return values

    @property
    def prevalence_draws(self) -> Floats:
        """Draws of the prevalence, shape (n_draws, 1); constant if it is known."""
        return self._benefits_and_prevalence[1]

    @cached_property
    def _origin(self) -> int:
        """Results of the same counts, prior and seed have the same draws, also if their harms differ."""
        prior = (self.posterior.pseudo_rows, self.posterior.given_outcome, self.prevalence)
        return fingerprint(type(self).__name__, self.counts.fingerprint, prior, self.draws_seed, self.n_draws)

    def _draws(self, values: Floats, name: str) -> Draws:
        return Draws(values, name, self._origin)

    def _by_model(self, values: Floats, name: str) -> dict[str, Draws]:
        return {model: self._draws(values[:, i], f"{name} of {model}") for i, model in enumerate(self.models)}

    @cached_property
    def net_benefit(self) -> dict[str, Draws]:
        """Draws of the net benefit of each model, less its harm, shape (n_draws, n_thresholds)."""
        return self._by_model(self._benefits_and_prevalence[0], "net benefit")

    @cached_property
    def treat_all(self) -> Draws:
        """Draws of the net benefit of treating all rows, shape (n_draws, n_thresholds); that of treating none is 0."""
        return self._draws(self._treat_all, f"net benefit of {TREAT_ALL}")

    @cached_property
    def standardized(self) -> dict[str, Draws]:
        """Draws of net benefit / prevalence of each model, at most 1; shape (n_draws, n_thresholds)."""
        return self._by_model(
            self._benefits_and_prevalence[0] / self.prevalence_draws[:, None], "standardized net benefit"
        )

    @cached_property
    def avoided(self) -> dict[str, Draws]:
        """Draws of the net number of treatments per row that each model avoids, against treating all.

        It is (net benefit - that of treating all) (1 - t) / t: the same difference in units of true negatives, shape
        (n_draws, n_thresholds). At the threshold 0 a model treats all, and avoids none.
        """
        gap, weight = self._benefits_and_prevalence[0] - self._treat_all[:, None], odds(self.thresholds)
        gained = np.divide(gap, weight, out=np.zeros_like(gap), where=np.broadcast_to(weight > 0, gap.shape))
        return self._by_model(gained, "treatments avoided by")

    @cached_property
    def _decisions(self) -> Decisions:
        return decide(self._benefits_and_prevalence[0], self._treat_all)

    @property
    def p_useful(self) -> dict[str, Floats]:
        """Probability that each model has a larger net benefit than treating all and treating none, per threshold."""
        return dict(zip(self.models, self._decisions.p_useful, strict=True))

    @cached_property
    def few_rows(self) -> dict[str, Bools]:
        """Whether too few rows reach each threshold t, or lie below it, by model.

        They are too few if they are fewer than 5. Rows below t are also too few if 3 or more events would not be
        expected among them at a risk of t, n t < 3: even without any event, they would not show that their risk is
        below t. Rows that reach t are too few if n (1 - t) < 3. There the probability that a model is useful depends on
        the prior: printing and plots leave it out, and no sentence calls the model useful. `p_useful` and `table` have
        the number.
        """
        return {name: sides.any(axis=0) for name, sides in words.few_rows(self.counts, self.prevalence).items()}

    @cached_property
    def few_treated(self) -> dict[str, Bools]:
        """Whether few treated rows of outcome 0, and of outcome 1, decide a net benefit, by model; (2, n_thresholds).

        They are fewer than 5, and contribute at least a tenth of its variance. At high thresholds these are false
        positives, each of which counts as much as t / (1 - t) true positives; with rare events, true positives. Mean
        and interval then depend on the prior, and a remark names the thresholds.
        """
        return words.few_treated(self.counts, self.prevalence)

    @property
    def p_best(self) -> dict[str, Floats]:
        """Probability that each strategy has the largest net benefit, per threshold; ties share it."""
        return dict(zip(self.strategies, self._decisions.p_best, strict=True))

    @property
    def evpi(self) -> Floats:
        """Expected value of perfect information: the net benefit per row that knowing the best strategy would add."""
        return self._decisions.evpi

    @cached_property
    def observed(self) -> dict[str, Floats]:
        """Net benefit of each model and of treating all in the rows themselves, without a prior; NaN without rows."""
        weight, known = self.counts.weight, self.prevalence is not None
        of_model = {}
        for i, name in enumerate(self.models):
            cells = self.counts.margin(i, weight)
            total = cells.sum(axis=1 if known else None, keepdims=True)
            share = np.divide(cells, total, out=np.full_like(cells, np.nan), where=total > 0)
            of_model[name] = net_benefit_of(share_treated(share), self._gain) - self.harm[name]
            every = share.sum(axis=1, keepdims=True)
        return of_model | {TREAT_ALL: net_benefit_of(every, self._gain)}

    @cached_property
    def moments(self) -> dict[str, tuple[Floats, Floats]]:
        """Exact posterior mean and standard deviation of the net benefit of each model, per threshold.

        For rows in clusters, which have no closed form, those of the draws.
        """
        if not self._closed_form:
            draws = self._benefits_and_prevalence[0]
            return dict(zip(self.models, zip(draws.mean(axis=0), draws.std(axis=0, ddof=1), strict=True), strict=True))
        mean, sd = self.posterior.mean_and_sd(self._gain)
        return dict(zip(self.models, zip(mean - self._harms, sd, strict=True), strict=True))

    @cached_property
    def design_effects(self) -> dict[str, Floats] | None:
        """Estimated variance of each model's net benefit, divided by that of independent rows; None without clusters.

        One number per threshold; NaN where no row is treated.
        """
        if self.counts.clusters is None:
            return None
        return dict(zip(self.models, self.posterior.design_effects(self._gain), strict=True))

    def difference(self, first: str | None = None, second: str | None = None) -> Draws:
        """Draws of the net benefit of the first strategy minus that of the second, on the same rows.

        Their shape is (n_draws, n_thresholds); positive means that the first strategy is better.

        Parameters
        ----------
        first, second : str, optional
            Names of two strategies: models, "treat all" or "treat none". May be omitted if there are two models.

        Raises
        ------
        ValueError, TypeError
            If there is no such strategy, or one is missing and there are not two models.

        Examples
        --------
        >>> curves = bc.decisions.net_benefit([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], 0.5, rng=1)
        >>> curves.difference("model", "treat all").mean().round(1)
        array([0.2])
        """
        if first is None and second is None and len(self.models) == 2:
            first, second = self.models
        if first is None or second is None:
            raise TypeError(f"`first` and `second` must be two of the strategies {list(self.strategies)}.")
        for name, strategy in (("first", first), ("second", second)):
            _checks.one_of(name, strategy, self.strategies)
        return self._draws(self._of(first) - self._of(second), f"net benefit: {first} - {second}")

    def _of(self, strategy: str) -> Floats:
        if strategy == TREAT_NONE:
            return np.zeros_like(self._treat_all)
        return self._treat_all if strategy == TREAT_ALL else self.net_benefit[strategy].values

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per model and threshold.

        Keys are model, threshold, mean, sd (both exact), low, high, observed, treat_all (exact posterior mean),
        p_useful and p_best.
        """
        prob = _checks.fraction("prob", prob)
        treat_all = np.array([row["mean"] for row in self.treat_all_table(prob)])
        rows = []
        for name in self.models:
            mean, sd = self.moments[name]
            low, high = self.net_benefit[name].interval(prob)
            columns = {"threshold": self.thresholds, "mean": mean, "sd": sd, "low": low, "high": high}
            columns |= {"observed": self.observed[name], "treat_all": treat_all}
            columns |= {"p_useful": self.p_useful[name], "p_best": self.p_best[name]}
            rows += [{"model": name, **row} for row in words.records(columns)]
        return rows

    def treat_all_table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the net benefit of treating all as data: one dict per threshold.

        Keys are threshold, mean, sd (both exact, except for rows in clusters), low, high and observed.
        """
        low, high = self.treat_all.interval(_checks.fraction("prob", prob))
        w = odds(self.thresholds)
        if not self._closed_form:
            moments = {"mean": self.treat_all.mean(), "sd": self.treat_all.sd()}
        else:
            mean, sd = (self.prevalence, 0.0) if self.prevalence else self.posterior.prevalence_mean_and_sd()
            moments = {"mean": mean - w * (1 - mean), "sd": (1 + w) * sd}
        columns = {"threshold": self.thresholds, **moments}
        return words.records(columns | {"low": low, "high": high, "observed": self.observed[TREAT_ALL]})

    def to_datatree(self) -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        It has the group ``posterior`` with one variable per strategy, ``net_benefit[new]`` and so on, along the
        dimension ``threshold``; group ``observed_data`` with the net benefit in the rows.
        """
        return _arviz.datatree(
            {f"net_benefit[{name}]": self._of(name) for name in self.strategies[1:]},
            observed={f"net_benefit[{name}]": self.observed[name] for name in self.models},
            constant={"odds": odds(self.thresholds)},
            along="threshold",
            coords={"threshold": self.thresholds},
            attrs={"spec": self.spec, "n_rows": self.counts.n_rows},
        )

    def sentence(self, prob: float = 0.95) -> str:
        """Return the result in words.

        For one threshold, it states the net benefit of each model with its interval, and the probability that it is
        useful; for several, the thresholds at which a model is useful with at least this probability.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval, and probability from which a model is called useful.
        """
        useful = {name: np.where(self.few_rows[name], np.nan, p) for name, p in self.p_useful.items()}
        models = {name: (self.net_benefit[name], self.moments[name][0], useful[name]) for name in self.models}
        return words.of_curve(self.thresholds, models, _checks.fraction("prob", prob), self.treat_all.mean())

    @property
    def spec(self) -> str:
        """Models, thresholds, rows and prior, on one line."""
        return words.question(self.counts, self.posterior.prior, self.prevalence, self.harm)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about rows and clusters, which are printed below the table; empty if none is known."""
        return (
            *self.of_rows,
            *words.remarks_of(self.counts, self.prevalence),
            *words.of_clusters(self.counts, self.design_effects),
        )

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all thresholds."""
        at = np.arange(len(self.thresholds)) if whole else words.shown(self.thresholds)
        listed = set(self.thresholds[at].tolist())
        few = np.concatenate([self.few_rows[name] for name in self.models]).tolist()
        both = [pair for pair in zip(self.table(), few, strict=True) if pair[0]["threshold"] in listed]
        d = words.decimals_of([row for row, _ in both])
        cells = [
            [
                row["model"],
                f"{row['threshold']:g}",
                *(_render.number(row[name], d) for name in ("mean", "low", "high", "observed", "treat_all")),
                *("-" if is_few else words.of_draws(row[name]) for name in ("p_useful", "p_best")),
            ]
            for row, is_few in both
        ]
        left_out = len(self.thresholds) - len(at)
        remarks = self.remarks
        if left_out:
            remarks = (f"The table shows {len(at)} of {len(self.thresholds)} thresholds; `table()` has all.", *remarks)
        key = KEY if not any(is_few for _, is_few in both) else f"{KEY[:-1]}; -: too few rows to state a probability."
        return _render.Sheet(self.sentence(), self.spec, HEADER, cells, remarks, (key,))


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedNetBenefit(OfGroups[NetBenefit]):
    """One `NetBenefit` per group of rows, and one of all rows; a mapping from labels.

    Made by ``net_benefit(..., by=...)``. Groups share no information.

    Parameters
    ----------
    groups : dict of label to NetBenefit
        The groups.
    overall : NetBenefit
        All rows.
    name : str
        Name of the grouping, such as "site".

    Examples
    --------
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> by_half = bc.decisions.net_benefit(rows.outcome, rows.confidence, 0.5, by=["a", "b"] * 1000, rng=1)
    >>> list(by_half), by_half["a"].counts.n_rows
    (['a', 'b'], 1000)
    """

    _index = ("group", "model", "threshold")

    def _badness(self, of_group: NetBenefit) -> float:
        without = np.maximum(of_group.treat_all.mean(), 0.0)
        return -float(np.mean([of_group.net_benefit[name].mean() - without for name in of_group.models]))

    def sentence(self, prob: float = 0.95) -> str:
        """Return `NetBenefit.sentence` of all rows; the table shows the groups.

        Parameters
        ----------
        prob
            As for `NetBenefit.sentence`.
        """
        return f"All rows: {self.overall.sentence(prob)}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all thresholds."""
        every = self.overall.thresholds
        listed = set((every if whole else every[words.shown(every)]).tolist())
        kept = [(name, each, row) for name, each in self._named() for row in each.table() if row["threshold"] in listed]
        d = words.decimals_of([row for *_, row in kept])
        cells = [[label, *_cells_of_group(each, row, d)] for label, each, row in kept]
        of_groups = {f"group {_render.name(label)}": each.remarks for label, each in self.groups.items()}
        remarks = [*self.overall.of_rows, *of_several(of_groups)]
        if len(listed) < len(every):
            remarks.insert(0, f"The table shows {len(listed)} of {len(every)} thresholds; `table()` has all.")
        return _render.Sheet(self.sentence(), self.spec, (self.name, *OF_GROUPS), cells, remarks)


def _cells_of_group(of_group: NetBenefit, row: Mapping[str, Any], d: int) -> list[str]:
    place = of_group.thresholds.tolist().index(row["threshold"])
    few = bool(of_group.few_rows[row["model"]][place])
    numbers = [_render.number(row[name], d) for name in ("mean", "low", "high", "observed", "treat_all")]
    useful = "-" if few else words.of_draws(row["p_useful"])
    return [str(of_group.counts.n_rows), row["model"], f"{row['threshold']:g}", *numbers, useful]


class HasDecisionCurve:
    """Base of results that contain decision curves, and the net benefit at thresholds that were chosen beforehand."""

    decision_curve: NetBenefit
    net_benefit: NetBenefit | None


#: Meaning of the columns of the table.
KEY = text_of("columns of a net benefit")


@dataclass(frozen=True, eq=False, repr=False)
class ImputedNetBenefit(Imputed[NetBenefit], NetBenefit):
    """Decision curves of imputed predictions or outcomes: joint draws of all imputations."""

    imputations: tuple[NetBenefit, ...] = ()

    _joins: ClassVar[Mapping[str, Bounds]] = {"_benefits_and_prevalence": UNBOUNDED}
    _means = ("observed", "few_rows", "few_treated", "design_effects")
    _closed_form = False

    def _words_of(self, row: dict[str, Any]) -> str:
        return f"{row['model']} at {row['threshold']:g}"


def mixed_net_benefit(results: Sequence[NetBenefit]) -> ImputedNetBenefit:
    """Mix the net benefits of all imputations, at the thresholds that all have."""
    least = min((each.thresholds for each in results), key=len)
    common = [replace(each, posterior=replace(each.posterior, counts=each.counts.at(least))) for each in results]
    return ImputedNetBenefit.of(common, n_draws=sum(each.n_draws for each in common))
