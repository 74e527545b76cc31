"""Comparison: the joint posterior of several classifiers."""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _arviz, _checks, _render
from bayescal.draws import Draws
from bayescal.estimands.estimand import EstimandLike, as_estimand
from bayescal.results.comparable import common_estimands, joint_values, pair_key
from bayescal.results.evaluation import Evaluation
from bayescal.results.evaluations import Evaluations
from bayescal.results.remarks import of_several
from bayescal.stats.paired import PairedCounts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]

#: A printed table has no more pairs than this: beyond, every model against the best.
MOST_PAIRS = 15
#: From this probability on, a direction is stated in words without a reservation.
SURE = 0.95
HEADER = ("difference", "mean", "sd", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Evaluations):
    """The joint posterior of how well several models are calibrated.

    Made by `compare` (the same rows) or `compare_independent` (different rows). Each model's draws are those of its own
    evaluation, in an order that makes them joint; except that Brier scores on the same rows are drawn together, from
    the sums over rows of each model's losses and of their differences. An estimand is given by its name, as in
    ``"ece"`` or ``"brier_score"``, as an `Estimand`, or as a function of the bins, as in
    ``lambda bins: bayescal.lp_error(bins, 4)``. Its record states which values are better; for a function, values
    nearer to zero are.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Each model's own, by name.
    pairs : dict of (int, int) to PairedCounts, or None
        Joint counts of models i < j on the same rows; None for different rows.
    rope : float
        Half-width of the region of practical equivalence [1]_ [2]_, in units of the estimand.
    order_seed : int
        Seed of the order of the draws.

    References
    ----------
    .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), "Time for a change: a tutorial for comparing
       multiple classifiers through Bayesian analysis", Journal of Machine Learning Research 18(77), 1-36.
    .. [2] J. K. Kruschke (2018), "Rejecting or accepting parameter values in Bayesian estimation", Advances in Methods
       and Practices in Psychological Science 1, 270-280.
    """

    evaluations: dict[str, Evaluation]
    pairs: dict[tuple[int, int], PairedCounts] | None
    rope: float
    order_seed: int

    axis = "model"

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the models, as they were given."""
        return tuple(self.evaluations)

    def _evaluation(self, label: str) -> Evaluation:
        return self.evaluations[label]

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        return joint_values(list(self.evaluations.values()), self.pairs, estimand, self.order_seed)

    def _rope(self) -> float:
        return self.rope

    #: The decision table, and one dict per model, under the names of release 0.1.0.
    table = Evaluations.pairs_table
    models = Evaluations.each

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every model and every difference.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.
        estimand : str, Estimand or callable, default "ece"
            What is compared.
        **options
            Passed to `arviz.summary`.

        Returns
        -------
        pandas.DataFrame
            Rows ``ece[A]``, ``ece[B]``, ..., ``difference[A - B]``, ...
        """
        prob = _checks.fraction("prob", prob)
        name, pairs = as_estimand(estimand).name, list(combinations(self.names, 2))
        differences = np.stack([self.difference(*pair, estimand).values for pair in pairs], axis=1)
        labels = {name: self.names, "difference": [f"{first} - {second}" for first, second in pairs]}
        return _arviz.summary({name: self.draws(estimand).values, "difference": differences}, prob, labels, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Every named estimand of all models as an ArviZ DataTree, along the dimension ``model``.

        Draws of one estimand are joint over models; those of different estimands are joint within each model only in
        its own `Evaluation`.
        """
        counts = [evaluation.counts for evaluation in self.evaluations.values()]
        return _arviz.datatree(
            {name: self.draws(name).values for name in common_estimands(self.evaluations.values(), self.pairs)},
            observed={"n_rows": np.array([c.n_rows for c in counts])},
            constant={"plug_in_ece": np.array([e.plug_in for e in self.evaluations.values()])},
            along="model",
            coords={"model": np.array(self.names)},
            attrs={"spec": self.spec, "rope": self.rope, "same_rows": int(self.pairs is not None)},
        )

    @_render.printable
    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """The result in words, with its direction: of two models, or the best of several against the next.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str, Estimand or callable, default "ece"
            What is compared.

        Returns
        -------
        str
            Which model is better, by how much, and how sure that is.
        """
        better, worse = self._first_two(estimand)
        decided = self.decide(better, worse, estimand=estimand)
        i, j = self._pair(better, worse)
        values = self.draws(estimand).values
        values = np.abs(values) if self._signed(estimand) else values
        difference = Draws(values[:, i] - values[:, j], "difference")
        verdict = self.verdict(estimand=estimand)
        if not self.difference(better, worse, estimand).values.any():
            return f"{verdict}: the difference is exactly 0."
        mean, low, high = (_render.number(v, 3) for v in (difference.mean(), *difference.interval(prob)))
        told = (
            f"{self.quantity(estimand)} of {better} minus that of {worse}: {mean}, {100 * prob:g} % "
            f"credible interval {low} to {high}"
        )
        equal = f"P(equal within {self.rope:g}) {_render.probability(decided['p_rope'])}"
        p = decided["p_left"]
        if decided["p_rope"] >= SURE:
            return f"{verdict} ({told}; {equal})."
        if p >= SURE:
            return f"{verdict} ({told}; P(better) {_render.probability(p)}; {equal})."
        return (
            f"{verdict} ({told}; P(better) {_render.probability(p)}, P(worse) "
            f"{_render.probability(decided['p_right'])}, {equal})."
        )

    @_render.printable
    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """The result in words without its numbers, for a title.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            What is compared.

        Returns
        -------
        str
            What `sentence` begins with.
        """
        better, worse = self._first_two(estimand)
        decided = self.decide(better, worse, estimand=estimand)
        if not self.difference(better, worse, estimand).values.any():
            return f"{better} and {worse} have the same {self._words(estimand)} in every draw"
        if decided["p_rope"] >= SURE:
            return f"{better} and {worse} are practically equal"
        is_better = self._is_better(estimand)
        if decided["p_left"] >= SURE:
            return f"{better} {is_better} {worse}"
        return f"It is not settled whether {better} {is_better} {worse}"

    def _is_better(self, estimand: EstimandLike) -> str:
        """Return the words between the better classifier and the worse one."""
        known, words = as_estimand(estimand), self._words(estimand)
        if known.of_calibration:
            return "is better calibrated than"
        if self._signed(estimand):
            return f"has a {words} nearer to 0 than"
        return f"has a {'larger' if known.better == 'larger' else 'smaller'} {words} than"

    def _words(self, estimand: EstimandLike) -> str:
        return as_estimand(estimand).words(next(iter(self.evaluations.values())).counts.target)

    def quantity(self, estimand: EstimandLike = "ece") -> str:
        """Return the words for what is compared: the estimand, or the size of one whose draws can be negative.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            What is compared.

        Returns
        -------
        str
            Words that follow "the", as in "ECE" or "size of the signed error".
        """
        return f"size of the {self._words(estimand)}" if self._signed(estimand) else self._words(estimand)

    def _signed(self, estimand: EstimandLike) -> bool:
        """Whether absolute values are compared: the value nearest zero is the best, and some draws are below 0."""
        nearest = as_estimand(estimand).better == "nearest zero"
        return nearest and bool((self.draws(estimand).values < 0).any())

    def _first_two(self, estimand: EstimandLike) -> tuple[str, str]:
        """Return the best model and the second best."""
        better, worse = self._in_order(estimand)[:2]
        return better, worse

    @property
    def spec(self) -> str:
        """Rows, target, bins and model, on one line."""
        first = next(iter(self.evaluations.values()))
        rows = "the same rows" if self.pairs is not None else "different rows, independent"
        sizes = sorted({e.counts.n_rows for e in self.evaluations.values()})
        n = f"N = {sizes[0]}" if len(sizes) == 1 else f"N = {sizes[0]} to {sizes[-1]}"
        return (
            f"{len(self.names)} models on {rows}: {first.counts.target} ECE, {first.counts.bins}, {n}, {first.model} "
            f"model, rope {self.rope:g}"
        )

    def sheet(self) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data."""
        rows = []
        best, *others = self._in_order("ece")
        pairs = list(combinations((best, *others), 2))
        if len(pairs) > MOST_PAIRS:
            pairs = [(best, other) for other in others]
        for row in self._rows(pairs, 0.95, "ece"):
            numbers = [_render.number(row[name]) for name in ("mean", "sd", "low", "high")]
            shares = [_render.probability(row[name]).removeprefix("= ") for name in ("p_left", "p_rope", "p_right")]
            rows.append([f"{row['first']} - {row['second']}", *numbers, *shares])
        remarks = [
            f"{m['model']}: ECE {_render.number(m['mean'])}, 95 % interval [{_render.number(m['low'])}, "
            f"{_render.number(m['high'])}], P(best) {_render.probability(m['p_best'])}, expected rank {m['rank']:.2f}."
            for m in self.models()
        ]
        remarks += of_several({name: evaluation.remarks for name, evaluation in self.evaluations.items()})
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, [pair_key(self.rope), *remarks])
