"""GroupedClinicalSummary: the clinical summary of each group of rows, pooled estimates, and differences of groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import isnan, nan
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bayescal import _checks, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.analyses.groups import evaluate_groups
from bayescal.clinical import words
from bayescal.clinical.result import ClinicalSummary, ModelParts
from bayescal.clinical.slope.new_centre import LOG_SCALE, SHIFT_SCALE, SLOPE_SCALE, NewCentre, new_centre_of
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters, Groups
from bayescal.data.predictions import read_rows
from bayescal.decisions.thresholds import probabilities_by_model
from bayescal.draws import Draws
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.results.grouped import FEWEST_POOLED_GROUPS, PRINTED_GROUPS
from bayescal.results.of_groups import OfGroups
from bayescal.results.remarks import of_several
from bayescal.stats.bins import make_bins
from bayescal.stats.clusters import clusters_of

#: Distance of an AUC from 0 and 1 in logits: the draws of a group whose outcomes are separated reach both.
AUC_FLOOR = 1e-4
#: Least information about a slope from which the prior is divided out, in units of the prior's.
LEAST_INFORMATION = 0.2
HEADER = ("events", "mean", "2.5 %", "97.5 %", "pooled", "2.5 %", "97.5 %")
#: Titles and keys of differences, keys of pooled values, and the largest numbers of pairs, and of groups with pairs.
OF_PAIRS = ("groups", "difference", "2.5 %", "97.5 %", "P(> 0)", "pooled", "2.5 %", "97.5 %", "P(> 0)")
OF_PAIR, POOLED = ("mean", "low", "high", "p_larger"), ("pooled_mean", "pooled_low", "pooled_high")
MOST_PAIRS, MOST_GROUPS = 15, 30


def _logit(values: Floats) -> Floats:
    return np.asarray(logit(np.clip(values, AUC_FLOOR, 1 - AUC_FLOOR)))


#: Measures that are pooled, the scale on which their posterior is nearly Normal, its inverse, and the scale of the
#: prior of the standard deviation between groups. The model of `evaluate(..., by=)` pools the ECE.
SCALES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats], float]] = {
    "auc": (_logit, expit, LOG_SCALE),
    "brier_score": (np.log, np.exp, LOG_SCALE),
    "observed_expected": (np.log, np.exp, LOG_SCALE),
    "in_the_large": (np.asarray, np.asarray, SHIFT_SCALE),
    "slope": (np.asarray, np.asarray, SLOPE_SCALE),
}
MEASURES = (*SCALES, "ece")


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedClinicalSummary(OfGroups[ClinicalSummary]):
    r"""One `ClinicalSummary` per group of rows, and one of all rows; a mapping from labels.

    Made by ``summary(..., by=...)``. Beside the estimates of each group alone stand *pooled* ones, which borrow
    strength from the other groups.

    Parameters
    ----------
    groups : dict of label to ClinicalSummary
        The groups that have a summary.
    overall : ClinicalSummary
        All rows.
    name : str
        Name of the grouping, such as "site".
    without : dict of label to str
        Groups that have no summary, and why.
    pooling_seed : int
        Seed of the pooled draws.

    Notes
    -----
    Pooled measures have the model of `bayescal.posterior.random_effects.RandomEffectsPosterior`, given the posterior
    mean and standard deviation of each group on the scale on which the posterior is nearly Normal: logit (AUC), log
    (Brier score, O/E) or as they are (calibration in the large, slope). The half-t prior of the standard deviation
    between groups has the scale 0.5, as in [1]_ for the AUC, or 0.3 for the slope, which varies less. The Normal prior
    of the slope of each group is divided out. The ECE has the model of ``evaluate(..., by=, pooling="partial")``.

    References
    ----------
    .. [1] T. P. A. Debray et al. (2019), "A framework for meta-analysis of prediction model studies with binary and
       time-to-event outcomes", Statistical Methods in Medical Research 28, 2768-2786.

    Examples
    --------
    >>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> by_sex = bc.clinical.summary(rows.outcome, rows.confidence, by=["f", "m"] * 1000, rng=1)
    >>> list(by_sex), by_sex["f"].n_rows
    (['f', 'm'], 1000)
    """

    without: dict[Any, str]
    pooling_seed: int

    _index = ("group", "quantity")

    def _badness(self, of_group: ClinicalSummary) -> float:
        return float(of_group.evaluation.ece.mean())

    def draws(self, quantity: str, *, pooled: bool = False) -> dict[Any, Draws]:
        """Return draws of a measure by group; pooled draws are joint over groups.

        Rows of one outcome have no AUC, and rows in clusters and imputations no pooled ECE: they are not in the result.

        Parameters
        ----------
        quantity : {"auc", "brier_score", "observed_expected", "in_the_large", "slope", "ece"}
            The measure; others raise a ValueError.
        pooled : bool, default False
            Whether groups borrow strength from each other.
        """
        _checks.one_of("quantity", quantity, MEASURES)
        if pooled:
            if quantity not in self._pooled:
                self._pooled[quantity] = self._pool(quantity)
            return self._pooled[quantity]
        alone = {label: measure_of(each, quantity) for label, each in self.items()}
        return {label: each for label, each in alone.items() if each is not None}

    @cached_property
    def _pooled(self) -> dict[str, dict[Any, Draws]]:
        """Cache: pooled draws by measure."""
        return {}

    def _pool(self, quantity: str) -> dict[Any, Draws]:
        seed = _checks.seeds(_checks.generator(self.pooling_seed), len(MEASURES))[MEASURES.index(quantity)]
        by_label = self.draws(quantity)
        if not by_label:
            return {}
        if quantity == "ece":
            counts, of_all = [_parts(each).evaluation.counts for each in self.values()], _parts(self.overall).evaluation
            if clusters_of(of_all.counts) is not None or hasattr(of_all, "imputations"):
                return {}  # `evaluate_groups` has no model of it
            options: dict[str, Any] = {"name": self.name, "draws": len(of_all.ece), "rng": seed}
            together = evaluate_groups(list(self), counts, of_all.counts, pooling="partial", **options)
            return {label: each.ece for label, each in together.items()}
        to, back, prior = SCALES[quantity]
        each = np.stack([to(of_group.values) for of_group in by_label.values()])
        center, error = each.mean(axis=1), each.std(axis=1, ddof=1)
        if quantity == "slope":
            center, error = np.array([_without_prior(_parts(of_group)) for of_group in self.values()]).T
        posterior, rng = RandomEffectsPosterior(center[None], error[None], prior), _checks.generator(seed)
        mean, spread, _ = posterior.sample(each.shape[1], rng)
        pooled = back(posterior.sets_given(mean, spread, rng)[:, 0])
        return {label: Draws(pooled[:, place], quantity) for place, label in enumerate(by_label)}

    def difference(self, first: Any, second: Any, quantity: str = "auc", *, pooled: bool = False) -> Draws:
        """Return draws of a measure of the first group minus that of the second, which share no row.

        Parameters
        ----------
        first, second : hashable
            Labels of two groups that have the measure; others raise a KeyError or ValueError.
        quantity, pooled
            As for `draws`. Pooled differences also account for the number of pairs that are looked at.
        """
        by_label = self.draws(quantity, pooled=pooled)
        for label in (first, second):
            if label in self.without or (label in self and label not in by_label):
                why = self.without.get(label) or f"{self[label]._rows_and_events[1]} events, no {words.WORDS[quantity]}"
                raise ValueError(f"group {label!r} cannot be compared: {why}.")
            _checks.label("group", label, tuple(by_label))
        return Draws(by_label[first].values - by_label[second].values, f"{quantity}: {first} - {second}")

    def differences(self, quantity: str = "auc", prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the differences of all pairs of groups as data.

        Keys are first, second, mean, low, high and p_larger, the probability that the first group has the larger value;
        and pooled_mean, pooled_low, pooled_high and pooled_p_larger, the same with pooling (NaN without).

        Parameters
        ----------
        quantity
            As for `draws`.
        """
        prob, rows = _checks.fraction("prob", prob), []
        for pair in combinations(self.draws(quantity), 2):
            row: dict[str, Any] = dict(zip(("first", "second"), pair, strict=True))
            for prefix, pooled in (("", False), ("pooled_", True)):
                numbers: tuple[Any, ...] = (nan,) * len(OF_PAIR)
                if self.draws(quantity, pooled=pooled):
                    gap = self.difference(*pair, quantity, pooled=pooled)
                    numbers = (gap.mean(), *gap.interval(prob), (gap.values > 0).mean())
                row |= {prefix + key: float(value) for key, value in zip(OF_PAIR, numbers, strict=True)}
            rows.append(row)
        return rows

    def new_centre(self, *, rng: Any = None) -> NewCentre:
        """Predict calibration and AUC in a new centre, if groups are centres, as `GroupedRecalibration.new_centre`.

        Parameters
        ----------
        rng : None, int, SeedSequence or Generator
            Seed or generator; by default a seed of this result.
        """
        each, auc = {label: _parts(of).recalibration for label, of in self.items()}, self.draws("auc").values()
        logits, rng = [_logit(draws.values) for draws in auc], self.pooling_seed if rng is None else rng
        return new_centre_of(each, _parts(self.overall).recalibration, self.name, rng, logits)

    def table(self, prob: float = 0.95, *, order: str | None = None) -> list[dict[str, Any]]:
        """Return all measures of each group as data.

        Keys are group, rows, events, those of `ClinicalSummary.table`, and pooled_mean, pooled_low and pooled_high
        (NaN for measures that are not pooled).

        Parameters
        ----------
        order : {"worst first", "given"}, optional
            Order of the groups, as for `in_order`: the largest ECE first.
        """
        head = {label: {"group": label, "rows": self[label].n_rows, "events": self[label].n_events} for label in self}
        return [
            {**head[label], **row, **self._beside(label, row["quantity"], prob)}
            for label in self.in_order(order)
            for row in self[label].table(prob)
        ]

    def _beside(self, label: Any, quantity: str, prob: float) -> dict[str, float]:
        """Return pooled mean and interval of a group, NaN if there are none."""
        of_group = self.draws(quantity, pooled=True).get(label) if quantity in MEASURES and len(self) > 1 else None
        numbers = (nan, nan, nan) if of_group is None else (of_group.mean(), *of_group.interval(prob))
        return dict(zip(POOLED, map(float, numbers), strict=True))

    def _labelled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return self.overall._labelled(rows)

    def sentence(self, prob: float = 0.95) -> str:
        """State the pairs of groups that differ most certainly in AUC, O/E and slope, and the numbers of all rows."""
        texts = []
        for key in ("auc", "observed_expected", "slope"):
            for name, *_, mean, low, high, p in self._pairs(key, prob)[:1]:
                texts.append(f"{words.WORDS[key]}, {name}: {mean} ({low} to {high}), P(> 0) {p}")
        largest = f"Most certain differences (pooled): {'; '.join(texts)}. " if texts else ""
        return f"{largest}All rows: {self.overall.sentence(prob)}"

    def _pairs(self, quantity: str, prob: float = 0.95) -> list[list[str]]:
        """Return differences as text, larger - smaller, at most 15, the most certain first; none of over 30 groups."""
        rows = self.differences(quantity, prob) if len(self) <= MOST_GROUPS else []
        rows = sorted(map(_turned, rows), key=lambda row: -_p_larger(row))[:MOST_PAIRS]
        return [[f"{row['first']} - {row['second']}", *_gap(row, ""), *_gap(row, "pooled_")] for row in rows]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Groups without a summary, and warnings of the groups, each with the groups that it concerns."""
        texts = [f"{label}: no summary: {why}." for label, why in self.without.items()]
        if 1 < len(self) < FEWEST_POOLED_GROUPS:
            few = f"With fewer than {FEWEST_POOLED_GROUPS} groups, pooled values depend on the prior of their spread."
            texts.append(few)
        return (*texts, *of_several({name: each.remarks for name, each in reversed(self._named())}))

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all groups."""
        labels, rows = self.in_order(), []
        kept = labels if whole else labels[:PRINTED_GROUPS]
        shown = [*((label, str(label), self[label]) for label in kept), (None, "all rows", self.overall)]
        named = [{words.words_of(row): row for row in each.table()} for *_, each in shown]
        titles = {words.WORDS[key]: key for key in MEASURES}
        titles |= {title: "" for title, row in named[-1].items() if row["quantity"] in ("net_benefit", "treat_all")}
        for title, key in titles.items():
            rows.append([title, *[""] * len(HEADER)])
            for (label, name, each), of_group in zip(shown, named, strict=True):
                cells = _cells(of_group.get(title), self._beside(label, key, 0.95))
                rows.append([f"  {name}", f"{each.n_events} of {each.n_rows}", *cells])
        left_out = len(labels) - len(kept)
        remarks = [f"Not shown: {left_out} of {len(labels)} groups; see `.table()`."] if left_out else []
        remarks += self.overall.sheet().remarks[:1] if hasattr(self.overall, "imputations") else []
        key = "Pooled: estimates that borrow strength from the other groups. Pairs of groups: `.differences(quantity)`."
        header = (self.name, *HEADER)
        return _render.Sheet(self.sentence(), self.spec, header, rows, [*remarks, *self.remarks], (key, words.KEY))


def _parts(summary: ClinicalSummary) -> ModelParts:
    return summary[summary.models[0]]


def measure_of(summary: ClinicalSummary, quantity: str) -> Draws | None:
    """Return draws of a measure of the first model; None if rows of one outcome have no AUC."""
    parts = _parts(summary)
    of = parts.recalibration if quantity in ("observed_expected", "in_the_large", "slope") else parts.evaluation
    return getattr(of, quantity, None)


def _p_larger(row: Mapping[str, Any]) -> float:
    """Return the probability that the first group of a pair is larger, with pooling if there is any."""
    return float(row["p_larger" if isnan(row["pooled_p_larger"]) else "pooled_p_larger"])


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """Exchange the groups of a pair whose first value is probably smaller, given the other groups."""
    if _p_larger(row) >= 0.5:
        return dict(row)
    turned = {"first": row["second"], "second": row["first"]}
    for prefix in ("", "pooled_"):
        numbers = (-row[f"{prefix}mean"], -row[f"{prefix}high"], -row[f"{prefix}low"], 1 - row[f"{prefix}p_larger"])
        turned |= dict(zip((prefix + key for key in OF_PAIR), numbers, strict=True))
    return turned


def _gap(row: Mapping[str, Any], prefix: str) -> list[str]:
    if isnan(row[f"{prefix}mean"]):
        return [""] * len(OF_PAIR)
    d = _render.interval_decimals(row[f"{prefix}low"], row[f"{prefix}high"], words.DECIMALS)
    return [*(_render.number(row[prefix + key], d) for key in OF_PAIR[:3]), words.of_draws(row[f"{prefix}p_larger"])]


def _cells(row: Mapping[str, Any] | None, pooled: Mapping[str, float]) -> list[str]:
    if row is None:
        return ["-", *[""] * (len(HEADER) - 2)]
    numbers = [*(row[key] for key in OF_PAIR[:3]), *pooled.values()]
    return ["" if isnan(value) else _render.number(value, words.decimals_of(row)) for value in numbers]


def _without_prior(parts: ModelParts) -> tuple[float, float]:
    """Return estimate and standard error of the slope of a group, from which its Normal prior is divided out.

    The prior stays in the mixture of imputations, and in a posterior that is hardly narrower than the prior.
    """
    posterior = parts.recalibration.posterior
    mean, sd = posterior.moments("slope")
    of_prior = posterior.prior.slope_sd**-2 if posterior.prior.kind == "normal" else 0.0
    if hasattr(posterior, "parts") or sd**-2 - of_prior < LEAST_INFORMATION * of_prior:
        return mean, sd
    precision = sd**-2 - of_prior
    return (mean * sd**-2 - of_prior) / precision, precision**-0.5


def summaries_by(
    summary: Callable[..., Any],
    y_true: Any,
    y_prob: Any,
    by: Any,
    *,
    bins: Any,
    binning: str,
    cluster: Any,
    rng: Any,
    **options: Any,
) -> GroupedClinicalSummary:
    """Summarise each group of rows, and all rows; a group that has no summary does not stop the others."""
    named, by_model = probabilities_by_model(y_prob)
    if len(by_model) > 1:
        raise ValueError(
            f"`by` needs one model, and `y_prob` has {len(by_model)}: {list(by_model)}. Summarise one at a time, as in "
            f"`summary(y_true, y_prob[{next(iter(by_model))!r}], by=...)`; compare models in a group by `compare`."
        )
    ((name, p),) = by_model.items()
    reading = {key: options.pop(key) for key in ("weights", "classes", "logits")}
    same_rows({"y_true": y_true, "y_prob": p, "weights": reading["weights"], "by": by, "cluster": cluster})
    rows, stream = read_rows(y_true, p, target="event", **reading).checked(), _checks.generator(rng)
    groups = Groups.from_column(by, len(rows))
    edges = make_bins(bins, binning=binning, confidence=rows.confidence, weights=rows.weight)
    one, summaries, without = partial(summary, bins=edges, **options), {}, {}
    overall = one(y_true, {name: p} if named else p, cluster=cluster, rng=stream, **reading)
    clusters = None if cluster is None else Clusters.from_column(cluster, len(rows))
    seed, *seeds = _checks.seeds(stream, len(groups) + 1)
    parts = zip(groups.labels, groups.split(rows.scale_free()), groups.rows(), seeds, strict=True)
    for label, part, inside, of_group in parts:
        confidence = {name: part.confidence} if named else part.confidence
        within = None if clusters is None else clusters.take(inside).of_row
        try:
            summaries[label] = one(part.outcome, confidence, weights=part.weight, cluster=within, rng=of_group)
        except ValueError as problem:
            events = int(part.outcome.sum())
            without[label] = f"{len(part)} rows with {events} events: {str(problem).partition('. ')[0]}"
    if not summaries:
        raise ValueError(f"`by` must define groups that have a summary; none has: {without}.")
    return GroupedClinicalSummary(summaries, overall, groups.name, without, seed)
