"""OverDatasets: joint draws of several classifiers on several data sets, their means, ranks and populations."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._invalid import errors_of
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import Judged, p_smallest, ranks_of


class Population(NamedTuple):
    """Draws of the difference of two classifiers over a population of data sets.

    `mean` is the mean in the population, `spread` the standard deviation between data sets, and `new` the difference on
    a new data set of the population.
    """

    mean: Draws
    spread: Draws
    new: Draws


@dataclass(frozen=True, eq=False, repr=False)
class OverDatasets(Judged):
    """Comparisons of the same classifiers on several data sets; see `ComparisonOverDatasets`."""

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

    def badness(self, estimand: EstimandLike | None = None) -> Floats:
        """Joint draws on a scale on which smaller is better, as `Comparison.badness`."""
        return self._record(estimand).badness(self.draws(estimand).values)

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

    def _rope(self) -> float:
        return self.rope

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
