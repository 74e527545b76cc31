"""ComparisonOverDatasets: several classifiers on several data sets, their means, ranks and populations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Floats, pd, xr
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar, estimand_called, hint
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.results.comparable import Verdict, pair_cells, shown_pairs
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import OfEstimand, decided, p_smallest, ranks_of
from bayescal.results.remarks import of_several

HEADER = (
    "difference", "mean", "2.5 %", "97.5 %", "P(1st)",
    "P(equal)", "P(2nd)", "population", "2.5 %", "97.5 %", "sd",
)  # fmt: skip


class Population(NamedTuple):
    """Draws of the difference of two classifiers over a population of data sets.

    `mean` is the mean in the population, `spread` the standard deviation between data sets, and `new` the difference on
    a new data set of the population.
    """

    mean: Draws
    spread: Draws
    new: Draws


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
    return text_of("columns of a comparison over data sets", words=words, comparative=comparative, rope=rope)


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
class ComparisonOverDatasets(OfEstimand):
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

    comparisons: dict[str, Comparison]
    rope: float
    spread: float
    order_seed: int

    axis = "classifier"
    _index = ("first", "second")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classifiers, in the order of the first data set."""
        return next(iter(self.comparisons.values())).labels

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which they were given."""
        return tuple(self.comparisons)

    @property
    def _first(self) -> Evaluation:
        return next(iter(next(iter(self.comparisons.values())).evaluations.values()))

    @property
    def target(self) -> str:
        """Target of the probabilities, the same for all data sets."""
        return self._first.counts.target

    def _words(self, estimand: EstimandLike | None) -> str:
        return self._record(estimand).words(self.target)

    @cached_property
    def _cache(self) -> dict[str, Floats]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def draws(self, estimand: EstimandLike | None = None) -> Draws:
        """Joint draws of an estimand, shape (n_draws, n_datasets, n_classifiers)."""
        record, named = as_scalar(self._record(estimand)), estimand is None or isinstance(estimand, str)
        if record.name in self._cache and named:
            return Draws(self._cache[record.name], record.name)
        streams = _checks.generator(self.order_seed).spawn(len(self.comparisons))
        each = zip(self.datasets, streams, strict=True)
        values = np.stack([stream.permutation(self._of_one(name, estimand)) for name, stream in each], axis=1)
        if named:
            self._cache[record.name] = values
        return Draws(values, record.name)

    def _of_one(self, dataset: str, estimand: EstimandLike | None) -> Floats:
        comparison = self.comparisons[dataset]
        with errors_of(f"data set {dataset!r}"):
            values = comparison.draws(estimand).values
        return values[:, [comparison.labels.index(name) for name in self.labels]]

    def average(self, estimand: EstimandLike | None = None) -> Draws:
        """Draws of the mean of an estimand over these data sets, each with the same weight.

        Their shape is (n_draws, n_classifiers). For an estimand whose best value is nearest zero, they are of absolute
        values.
        """
        return Draws(self._sizes(estimand).mean(axis=1), f"mean {self._record(estimand).compared_name}")

    def _sizes(self, estimand: EstimandLike | None) -> Floats:
        """Values that are averaged and ranked: absolute values if the value nearest zero is the best."""
        return self._record(estimand).compared(self.draws(estimand).values)

    def differences(
        self, first: str | None = None, second: str | None = None, estimand: EstimandLike | None = None
    ) -> Draws:
        """Draws of the value of the first classifier minus that of the second, shape (n_draws, n_datasets).

        Parameters
        ----------
        first, second : str, optional
            Names of two classifiers; may be omitted if there are only two.
        estimand : str, Estimand or callable, optional
            The estimand to compare, by default the ECE; absolute values if the value nearest zero is the best.
        """
        i, j = self._pair(first, second)
        sizes, name = self._sizes(estimand), self._record(estimand).compared_name
        return Draws(sizes[..., i] - sizes[..., j], f"{name}: {self.names[i]} - {self.names[j]}")

    def difference(
        self, first: str | None = None, second: str | None = None, estimand: EstimandLike | None = None
    ) -> Draws:
        """Draws of the mean difference over these data sets, shape (n_draws,).

        Parameters
        ----------
        first, second, estimand
            As for `differences`.
        """
        each = self.differences(first, second, estimand)
        return Draws(each.values.mean(axis=1), f"mean {each.name}")

    def population(
        self, first: str | None = None, second: str | None = None, estimand: EstimandLike | None = None
    ) -> Population:
        """Draws of the difference over a population of data sets, of which these are taken as a random sample.

        It has draws of the mean, of the standard deviation between data sets, and of the difference on a new data set.

        Parameters
        ----------
        first, second, estimand
            As for `differences`.

        Notes
        -----
        A Normal random-effects model, given the posterior mean and standard deviation of each difference; see
        `bayescal.posterior.random_effects.RandomEffectsPosterior`.
        """
        return self._populations([self._pair(first, second)], estimand)[0]

    def _populations(self, pairs: list[tuple[int, int]], estimand: EstimandLike | None) -> list[Population]:
        """Draw the populations of several pairs, given their positions; a pair has the same draws in any list."""
        posterior, n_draws = self._random_effects(pairs, estimand), len(self._sizes(estimand))
        # the same random numbers for each pair: seeded once, drawn for one column, and used for all
        samples = posterior.sample(n_draws, _checks.generator(self.order_seed), common=True)
        names = ("population mean", "sd between data sets", "new data set")
        return [
            Population(*(Draws(values[:, k], name) for values, name in zip(samples, names, strict=True)))
            for k in range(len(pairs))
        ]

    def random_effects(
        self, first: str | None = None, second: str | None = None, estimand: EstimandLike | None = None
    ) -> RandomEffectsPosterior:
        """Posterior of the mean and the standard deviation of a difference over a population of data sets.

        It has one problem: the posterior mean and standard deviation of the difference on each data set, with exact
        moments of the population mean. `population` draws from it.

        Parameters
        ----------
        first, second, estimand
            As for `differences`.
        """
        return self._random_effects([self._pair(first, second)], estimand)

    def _random_effects(self, pairs: list[tuple[int, int]], estimand: EstimandLike | None) -> RandomEffectsPosterior:
        """Compute the posterior of the populations of several pairs, given their positions."""
        sizes = self._sizes(estimand)
        first, second = np.array(pairs).T
        each = sizes[..., first] - sizes[..., second]
        return RandomEffectsPosterior(each.mean(axis=0).T, each.std(axis=0, ddof=1).T, self.spread)

    def _compared_difference(self, first: Any, second: Any, estimand: EstimandLike | None) -> Draws:
        return self.difference(first, second, estimand)

    def _equal(self, first: Any, second: Any, estimand: EstimandLike | None) -> bool:
        """Whether two classifiers have the same value on every data set in every draw."""
        return not self.differences(first, second, estimand).values.any()

    def _decimals(self, difference: Draws) -> int:
        return 3

    def _gap(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        """Return draws of the mean difference of two classifiers; negative means that the first is better."""
        return self._sign(estimand) * self.difference(self.labels[i], self.labels[j], estimand).values

    def _ranked(self, estimand: EstimandLike | None) -> Floats:
        return self._sign(estimand) * self.average(estimand).values

    def _sign(self, estimand: EstimandLike | None) -> int:
        """Return -1 if larger values are better."""
        return -1 if self._record(estimand).better == "larger" else 1

    def ranks(self, estimand: EstimandLike | None = None) -> Draws:
        """Draws of the mean rank of each classifier over these data sets, 1 being the best.

        Their shape is (n_draws, n_classifiers). Within a data set, classifiers that tie share their mean rank.
        """
        badness = self.badness(estimand)
        ranks = ranks_of(badness.reshape(-1, len(self))).reshape(badness.shape)
        return Draws(ranks.mean(axis=1), "mean rank")

    def p_best_by_dataset(self, estimand: EstimandLike | None = None) -> dict[str, dict[str, float]]:
        """Probability that each classifier is the best on each data set."""
        badness = self.badness(estimand)
        return {name: self._by_label(p_smallest(badness[:, d])) for d, name in enumerate(self.datasets)}

    def expected_ranks(self, estimand: EstimandLike | None = None) -> dict[str, float]:
        """Posterior mean of the mean rank of each classifier over these data sets, 1 being the best; see `ranks`."""
        return self._by_label(self.ranks(estimand).values.mean(axis=0))

    def in_order(self, estimand: EstimandLike | None = None) -> tuple[str, ...]:
        """Return the names of the classifiers from the best expected mean rank to the worst; ties keep their order."""
        return self._in_order(estimand)

    @property
    def n_rows(self) -> dict[str, int]:
        """Number of rows of each data set."""
        return {name: next(iter(each.evaluations.values())).counts.n_rows for name, each in self.comparisons.items()}

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
        of_population = ("population_mean", "population_low", "population_high", "spread")
        cells = pair_cells(self._rows(pairs, 0.95, estimand), numbers=("mean", "low", "high"), more=of_population)
        key = key_of(self.rope, words, as_estimand(estimand).comparative)
        spec = self.specification(estimand=estimand)
        return _render.Sheet(self.sentence(estimand=estimand), spec, HEADER, cells, remarks, [key], question=spec)


def _of(draws: Draws, prob: float, mean: str, prefix: str, *, sd: bool = False) -> dict[str, float]:
    """Return mean, standard deviation if wanted, and ends of the interval, by their keys."""
    low, high = draws.interval(prob)
    moments = {mean: float(draws.mean())} | ({"sd": float(draws.sd())} if sd else {})
    return moments | {f"{prefix}low": float(low), f"{prefix}high": float(high)}
