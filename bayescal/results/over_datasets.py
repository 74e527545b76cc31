"""ComparisonOverDatasets: several classifiers on several data sets, and how it prints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Floats, pd, xr
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand, estimand_called, hint
from bayescal.results.comparable import Verdict, shown_pairs
from bayescal.results.joint import OfEstimand, decided
from bayescal.results.over_datasets_draws import OverDatasets, Population
from bayescal.results.remarks import of_several

HEADER = (
    "difference", "mean", "2.5 %", "97.5 %", "P(1st)",
    "P(equal)", "P(2nd)", "population", "2.5 %", "97.5 %", "sd",
)  # fmt: skip


def sentence_of(verdict: Verdict, n_datasets: int, population: Population, sign: int, prob: float) -> str:
    """Return the verdict on these data sets, and the mean and a new data set of the population."""
    words = verdict.sentence(prob)
    uncertain = words.startswith("It is uncertain")
    these = f"On average over these {n_datasets} data sets, {'it' + words[2:] if uncertain else words}"
    if verdict.exactly_equal:
        return these
    mean_over_all = population.mean.mean(), *population.mean.interval(prob)
    mean, low, high = (_render.number(v, verdict.decimals) for v in mean_over_all)
    better = _render.probability(float((sign * population.new.values < 0).mean()))
    return (
        f"{these} In a population of data sets like these, the mean difference is {mean} ({low} to {high}), and "
        f"P({verdict.better} has the better value on a new data set) {better}."
    )


def key_of(rope: float, words: str, comparative: str) -> str:
    """Explain the columns of the table."""
    return (
        f"The left part averages over these data sets. P(1st) is the probability that the mean {words} of the first "
        f"classifier is {comparative} by more than {rope:g}, P(2nd) the same for the second, and P(equal) that the "
        f"difference is at most {rope:g} (the rope). The right part is for a population of data sets, of which these "
        "are taken as a random sample: the mean difference, and the sd of differences between data sets."
    )


def cells_of(rows: Iterable[Mapping[str, Any]], decimals: int = 4) -> list[list[str]]:
    """Return the cells of the columns `HEADER`, from rows of the table."""
    left, chances = ("mean", "low", "high"), ("p_left", "p_rope", "p_right")
    right = ("population_mean", "population_low", "population_high", "spread")
    return [
        [
            f"{row['first']} - {row['second']}",
            *(_render.number(row[name], decimals) for name in left),
            *(_render.probability(row[name]).removeprefix("= ") for name in chances),
            *(_render.number(row[name], decimals) for name in right),
        ]
        for row in rows
    ]


def lines_of(rows: Iterable[Mapping[str, Any]], words: str, n_datasets: int, decimals: int = 4) -> list[str]:
    """Return one line per classifier: its mean and mean rank with intervals, and how often it is the best."""
    lines = []
    for row in rows:
        mean, low, high = (_render.number(row[name], decimals) for name in ("mean", "low", "high"))
        best = _render.probability(row["p_best"])
        lines.append(
            f"{row['classifier']}: mean {words} {mean}, 95 % interval [{low}, {high}]; mean rank {row['rank']:.2f} "
            f"[{row['rank_low']:.2f}, {row['rank_high']:.2f}]; P(best on average) {best}, best on "
            f"{row['datasets_won']:.1f} of {n_datasets} data sets in expectation."
        )
    return lines


FEW_DATASETS = 5  #: Below this number of data sets, a remark says that the population depends on the prior.
MANY_DATASETS = 20  #: From this number of data sets on, a remark says that biases of single data sets matter.


@public
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonOverDatasets(OfEstimand, OverDatasets):
    """The joint posterior of several classifiers on several data sets.

    Returned by `compare_over_datasets`. Draws of one data set are those of its `Comparison`; data sets are independent.

    An estimand is given as for a `Comparison`: by its name, as an `Estimand`, or as a function of draws of the bins.

    Parameters
    ----------
    comparisons : dict of str to Comparison
        The comparison of the same classifiers on each data set, by its name.
    rope : float
        Half-width of the region of practical equivalence, in units of the estimand.
    spread : float
        Scale of the half-t prior of the standard deviation between data sets, in units of the estimand.
    order_seed : int
        Seed with which the draws of each data set are permuted, so that data sets are independent, and of the draws of
        populations.
    """

    def _instead(self, name: str) -> str:
        """Say where means of an estimand over the data sets are; may be empty."""
        meant = estimand_called(name)
        parts = (each[label] for each in self.comparisons.values() for label in each.labels)
        if meant is None or not all(each._available(meant) for each in parts):
            return ""
        sentence = hint(name, "result.average('{}')")
        return sentence and f"{sentence[:-1]}, its mean over the data sets."

    def each(self, prob: float = 0.95, *, estimand: EstimandLike | None = None) -> list[dict[str, Any]]:
        """Return one dict per classifier, as data.

        Keys are classifier; mean, sd, low, high (of the mean over data sets); rank, rank_low, rank_high (of the mean
        rank); p_best; and datasets_won, the expected number of data sets on which it is the best.
        """
        average, ranks = self.average(estimand), self.ranks(estimand)
        won = np.sum([list(each.values()) for each in self.p_best_by_dataset(estimand).values()], axis=0)
        best = self.p_best(estimand).values()
        columns = (self.labels, average.mean(), average.sd(), *average.interval(prob), ranks.mean())
        names = ("mean", "sd", "low", "high", "rank", "rank_low", "rank_high", "p_best", "datasets_won")
        rows = zip(*columns, *ranks.interval(prob), best, won, strict=True)
        return [
            {"classifier": label, **{name: float(value) for name, value in zip(names, values, strict=True)}}
            for label, *values in rows
        ]

    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return the decision table as data: one dict per pair.

        Keys are first, second; mean, sd, low, high (of the mean difference over these data sets); those of `decide`;
        population_mean, population_low, population_high; spread, spread_low, spread_high (standard deviation between
        data sets); and p_left_new, p_rope_new, p_right_new (the decision for a new data set). Two classifiers keep the
        order in which they were given; of three or more, ``first`` has the better mean rank.
        """
        return self._rows(combinations(self._listed(estimand), 2), prob, estimand)

    def _rows(
        self, pairs: Iterable[tuple[str, str]], prob: float, estimand: EstimandLike | None
    ) -> list[dict[str, Any]]:
        pairs = list(pairs)
        populations = self._populations([self._pair(*pair) for pair in pairs], estimand)
        return [self._row(pair, each, prob, estimand) for pair, each in zip(pairs, populations, strict=True)]

    def _row(
        self, pair: tuple[str, str], population: Population, prob: float, estimand: EstimandLike | None
    ) -> dict[str, Any]:
        difference = self.difference(*pair, estimand)
        new = decided(self._sign(estimand) * population.new.values, self.rope)
        return {
            "first": pair[0],
            "second": pair[1],
            **_of(difference, prob, "mean", "", sd=True),
            **self.decide(*pair, estimand=estimand),
            **_of(population.mean, prob, "population_mean", "population_"),
            **_of(population.spread, prob, "spread", "spread_"),
            **{f"{name}_new": new[name] for name in ("p_left", "p_rope", "p_right")},
        }

    def by_dataset(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> "pd.DataFrame":
        """Return the difference of each pair on each data set, one row each.

        Columns are mean, sd, eti95_lb and eti95_ub (95 is the percentage `prob`) of the difference first - second, and
        those of `decide`. The index has the levels dataset, first and second; pairs are in the order of `table`.

        Examples
        --------
        >>> rows = {"one": ([0, 1, 1], {"A": [0.2, 0.4, 0.7], "B": [0.1, 0.1, 0.9]})}
        >>> rows["other"] = [0, 0, 1], {"A": [0.3, 0.4, 0.7], "B": [0.1, 0.2, 0.9]}
        >>> differences = bc.compare_over_datasets(rows, bins=2, rng=1).by_dataset()
        >>> differences.index.tolist(), differences.columns[:4].tolist()
        ([('one', 'A', 'B'), ('other', 'A', 'B')], ['mean', 'sd', 'eti95_lb', 'eti95_ub'])
        """
        from bayescal import _export

        prob = _checks.fraction("prob", prob)
        return _export.frame(self._by_dataset(prob, estimand), ("dataset", *self._index), (), prob)

    def _by_dataset(self, prob: float, estimand: EstimandLike) -> list[dict[str, Any]]:
        """Return one dict per data set and pair."""
        rows = []
        for first, second in combinations(self._listed(estimand), 2):
            each = self.differences(first, second, estimand)
            for d, name in enumerate(self.datasets):
                one = Draws(each.values[:, d], each.name)
                row = {"dataset": name, "first": first, "second": second, **_of(one, prob, "mean", "", sd=True)}
                rows.append(row | decided(self._sign(estimand) * one.values, self.rope))
        return rows

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of means over data sets, mean ranks, differences, and populations.

        Rows are ``ece[A]``, ..., ``rank[A]``, ..., ``difference[A - B]``, ..., ``population_mean[A - B]``, ... and
        ``spread[A - B]``, ...
        """
        prob, name = _checks.fraction("prob", prob), as_estimand(estimand).name
        pairs, of_pairs = self._by_pair(estimand)
        arrays = {name: self.average(estimand).values, "rank": self.ranks(estimand).values, **of_pairs}
        labels = {each: pairs if each in of_pairs else self.names for each in arrays}
        return _arviz.summary(arrays, prob, labels, **options)

    def _by_pair(self, estimand: EstimandLike) -> tuple[list[str], dict[str, Floats]]:
        """Names of pairs, and draws of mean differences and of populations, each of shape (n_draws, n_pairs)."""
        names, differences = self._pair_differences(estimand)
        pairs = [self._pair(*pair) for pair in combinations(self._listed(estimand), 2)]
        populations = self._populations(pairs, estimand)
        return names, {
            "difference": differences,
            "population_mean": np.stack([each.mean.values for each in populations], axis=1),
            "spread": np.stack([each.spread.values for each in populations], axis=1),
        }

    def to_datatree(self, *, estimand: EstimandLike = "ece") -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        It has the groups ``posterior`` (the estimand along ``dataset`` and ``classifier``, ``rank`` along
        ``classifier``; ``difference``, ``population_mean`` and ``spread`` along ``pair``) and ``observed_data``
        (numbers of rows).
        """
        name, (pairs, of_pairs) = as_estimand(estimand).name, self._by_pair(estimand)
        posterior: dict[str, tuple[Any, tuple[str, ...]]] = {
            name: (self.draws(estimand).values, ("dataset", "classifier")),
            "rank": (self.ranks(estimand).values, ("classifier",)),
        }
        posterior |= {each: (values, ("pair",)) for each, values in of_pairs.items()}
        return _arviz.tree_of_arrays(
            posterior,
            observed={"n_rows": (np.array(list(self.n_rows.values())), ("dataset",))},
            coords={"dataset": self.datasets, "classifier": self.names, "pair": pairs},
            attrs={"spec": self.specification(estimand=estimand), "rope": self.rope, "spread": self.spread},
        )

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """Return the two best classifiers by mean rank, in words: on these data sets, and in a population.

        The mean over these data sets assumes nothing about other data sets; the mean over a population assumes that
        these are a random sample of it.
        """
        (first, second), verdict = self._listed(estimand)[:2], self._verdict(estimand)
        population, sign = self.population(first, second, estimand), self._sign(estimand)
        sign = sign if first == verdict.better else -sign
        return sentence_of(verdict, len(self.datasets), population, sign, prob)

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line, for a paper: data sets, rows, target, estimand, bins, model, prior."""
        first, sizes = self._first, sorted(self.n_rows.values())
        n = f"N = {sizes[0]}" if sizes[0] == sizes[-1] else f"N = {sizes[0]} to {sizes[-1]}"
        return (
            f"{len(self)} classifiers on {len(self.datasets)} data sets: "
            f"{as_estimand(estimand).of_target(first.counts.target)}, {first.counts.bins}, {n} per data set, "
            f"{first.model} model, rope {self.rope:g}, population of data sets: Normal, half-t prior of its sd with 4 "
            f"degrees of freedom and scale {self.spread:g}"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the data sets that it concerns."""
        n, warnings = len(self.datasets), []
        if n < FEW_DATASETS:
            warnings.append(
                f"With {n} data sets, intervals of the population depend on the prior of the sd between data sets "
                f"(scale {self.spread:g})."
            )
        if n >= MANY_DATASETS:
            warnings.append(
                f"With {n} data sets, the interval of the mean is narrow, and the bias that the prior leaves in the "
                "posterior of each data set does not average out: it can miss the truth by part of its width."
            )
        return (*warnings, *of_several({name: each.remarks for name, each in self.comparisons.items()}))

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        pairs, words = shown_pairs(self._listed(estimand), whole=whole), self._words(estimand)
        remarks = (*lines_of(self.each(estimand=estimand), words, len(self.datasets)), *self.remarks)
        cells = cells_of(self._rows(pairs, 0.95, estimand))
        key = key_of(self.rope, words, as_estimand(estimand).comparative)
        spec = self.specification(estimand=estimand)
        return _render.Sheet(self.sentence(estimand=estimand), spec, HEADER, cells, remarks, [key], question=spec)


def _of(draws: Draws, prob: float, mean: str, prefix: str, *, sd: bool = False) -> dict[str, float]:
    """Return mean, standard deviation if wanted, and ends of the interval, by their keys."""
    low, high = draws.interval(prob)
    moments = {mean: float(draws.mean())} | ({"sd": float(draws.sd())} if sd else {})
    return moments | {f"{prefix}low": float(low), f"{prefix}high": float(high)}
