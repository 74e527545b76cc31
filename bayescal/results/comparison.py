"""What a comparison of several models holds and how it presents itself."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _arviz, _checks, _render
from bayescal._draws import Draws
from bayescal.results.comparable import (
    Estimand,
    called,
    checked_rope,
    in_words,
    joint_values,
    named_estimands,
    p_smallest,
    pair_key,
    tied_ranks,
)
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import of_several
from bayescal.stats.paired import PairedCounts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]

#: Of these the smaller is the better calibrated; the others are parts of it, cancel, or are more than it.
OF_CALIBRATION = ("ece", "l2_error", "max_error")
#: A printed table has no more pairs than this: beyond, every model against the best.
MOST_PAIRS = 15
#: From this probability on, a direction is stated in words without a reservation.
SURE = 0.95
HEADER = ("difference", "mean", "sd", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")


@dataclass(frozen=True, eq=False)
class Comparison:
    """The joint posterior of how well several models are calibrated.

    Made by `compare` (the same rows) or `compare_independent` (different rows). Each model's draws are those of its own
    evaluation, in an order that makes them joint; except that Brier scores on the same rows are drawn together, from
    the sums over rows of each model's losses and of their differences. An estimand is a name (``"ece"``,
    ``"l2_error"``, ``"max_error"``, ``"signed_error"``, ``"overconfidence"``, ``"underconfidence"``, ``"brier_score"``)
    or a function of the bins, as in ``lambda bins: bayescal.lp_error(bins, 4)``. Smaller is better; of what has a sign,
    nearer to 0.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Each model's own, by name.
    pairs : dict of (int, int) to PairedCounts, or None
        Joint counts of models i < j on the same rows; None for different rows.
    rope : float
        Half-width of the region of practical equivalence, in units of the estimand.
    order_seed : int
        Seed of the order of the draws.
    """

    evaluations: dict[str, Evaluation]
    pairs: dict[tuple[int, int], PairedCounts] | None
    rope: float
    order_seed: int
    _joint: dict[Any, Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The models, as they were given."""
        return tuple(self.evaluations)

    def __getitem__(self, name: str) -> Evaluation:
        """The evaluation of one model."""
        _checks.one_of("name", name, self.names)
        return self.evaluations[name]

    def draws(self, estimand: Estimand = "ece") -> Draws:
        """Joint draws of an estimand of all models.

        Parameters
        ----------
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        Draws
            Shape (n_draws, n_models), in the order of `names`.
        """
        if estimand not in self._joint:
            evaluations = list(self.evaluations.values())
            self._joint[estimand] = joint_values(evaluations, self.pairs, estimand, self.order_seed)
        return Draws(self._joint[estimand], f"{called(estimand)} by model")

    def difference(self, first: str | None = None, second: str | None = None, estimand: Estimand = "ece") -> Draws:
        """Draws of an estimand of the first model minus that of the second; negative means that the first is smaller.

        Parameters
        ----------
        first, second : str, optional
            Names of models; of two models, those two in their order.
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        Draws
            Shape (n_draws,). Of what has a sign, signed; `decide` goes by sizes.

        Raises
        ------
        ValueError, TypeError
            If there is no such model, or of more than two models none is named.
        """
        i, j = self._pair(first, second)
        values = self.draws(estimand).values
        return Draws(values[:, i] - values[:, j], f"{called(estimand)}: {self.names[i]} - {self.names[j]}")

    def decide(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        rope: float | None = None,
        estimand: Estimand = "ece",
    ) -> dict[str, float]:
        """Probabilities that one model is better, that the other is, and that they are practically equal.

        Parameters
        ----------
        first, second : str, optional
            Names of models; of two models, those two in their order.
        rope : float, optional
            Half-width of the region of practical equivalence; that of the comparison by default.
        estimand : str or callable, default "ece"
            What is compared, by its size where it has a sign.

        Returns
        -------
        dict of str to float
            ``p_left`` (the first model is smaller by more than the rope: better), ``p_rope`` (the difference is within
            it), ``p_right`` (the second is better); with ``_mcse`` added, the Monte Carlo standard error of each. The
            three add up to 1.

        Raises
        ------
        ValueError
            If there is no such model, or `rope` is negative.
        """
        width = self.rope if rope is None else checked_rope(rope)
        i, j = self._pair(first, second)
        size = np.abs(self.draws(estimand).values)
        gap = size[:, i] - size[:, j]
        shares = {
            "p_left": float((gap < -width).mean()),
            "p_rope": float((np.abs(gap) <= width).mean()),
            "p_right": float((gap > width).mean()),
        }
        errors_ = {f"{name}_mcse": float(np.sqrt(p * (1 - p) / len(gap))) for name, p in shares.items()}
        return shares | errors_

    def rope_curve(
        self, widths: ArrayLike, first: str | None = None, second: str | None = None, estimand: Estimand = "ece"
    ) -> Floats:
        """Probability of practical equivalence as a function of what counts as equal.

        Parameters
        ----------
        widths : array-like
            Half-widths, >= 0, in units of the estimand.
        first, second : str, optional
            Names of models; of two models, those two in their order.
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        ndarray
            Probability that the difference is no larger than each width.
        """
        widths = np.asarray(widths, dtype=np.float64)
        bad = ~(np.isfinite(widths) & (widths >= 0))
        if bad.any():
            _checks.refuse("widths", "must be finite and >= 0", bad, widths)
        i, j = self._pair(first, second)
        size = np.abs(self.draws(estimand).values)
        gap = np.sort(np.abs(size[:, i] - size[:, j]))
        return np.searchsorted(gap, widths, side="right") / len(gap)

    def p_best(self, estimand: Estimand = "ece") -> dict[str, float]:
        """Probability that each model is the best; models that tie in a draw share it. They add up to 1."""
        shares = p_smallest(np.abs(self.draws(estimand).values))
        return dict(zip(self.names, shares.tolist(), strict=True))

    def expected_ranks(self, estimand: Estimand = "ece") -> dict[str, float]:
        """Posterior mean of each model's rank, 1 the best; models that tie in a draw get the mean of their ranks."""
        order, start, end = tied_ranks(np.abs(self.draws(estimand).values))
        summed = np.bincount(order.ravel(), weights=((start + 1 + end) / 2).ravel())
        return dict(zip(self.names, (summed / len(order)).tolist(), strict=True))

    def rank_probabilities(self, estimand: Estimand = "ece") -> Floats:
        """Probability of every rank of every model; models that tie in a draw share the ranks that they take together.

        Parameters
        ----------
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        ndarray, shape (n_models, n_models)
            Row: a model, in the order of `names`. Column: a rank, the first the best. Rows and columns add up to 1.
        """
        order, start, end = tied_ranks(np.abs(self.draws(estimand).values))
        n_draws, size = order.shape
        share = 1 / (end - start)
        # a run of ties takes the ranks start ... end - 1: what begins at one end stops at the other
        steps = np.zeros((size, size + 1))
        for place, sign in ((start, 1), (end, -1)):
            cell = (order * (size + 1) + place).ravel()
            steps += sign * np.bincount(cell, weights=share.ravel(), minlength=steps.size).reshape(steps.shape)
        return np.clip(steps.cumsum(axis=1)[:, :-1] / n_draws, 0, 1)

    def table(self, prob: float = 0.95, *, estimand: Estimand = "ece") -> list[dict[str, Any]]:
        """Return the decision table as data: one dict per pair of models, the better one first, as in `sentence`.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        list of dict
            Keys first, second, mean, sd, low, high (of the difference first - second), and those of `decide`. The model
            ``first`` has the better expected rank. `difference` and `decide` take two models in any order.
        """
        return self._rows(combinations(self._in_order(estimand), 2), prob, estimand)

    def _rows(self, pairs: Iterable[tuple[str, str]], prob: float, estimand: Estimand) -> list[dict[str, Any]]:
        rows = []
        for first, second in pairs:
            difference = self.difference(first, second, estimand)
            low, high = difference.interval(prob)
            about = {"first": first, "second": second, "mean": difference.mean(), "sd": difference.sd()}
            decided = self.decide(first, second, estimand=estimand)
            rows.append({**about, "low": low, "high": high, **decided})
        return rows

    def models(self, prob: float = 0.95, *, estimand: Estimand = "ece") -> list[dict[str, Any]]:
        """One dict for each model: name, mean, sd, low, high, p_best, rank."""
        drawn = self.draws(estimand)
        low, high = drawn.interval(prob)
        best, ranks = self.p_best(estimand), self.expected_ranks(estimand)
        columns = zip(self.names, drawn.mean(), drawn.sd(), low, high, strict=True)
        return [
            {"model": n, "mean": float(m), "sd": float(s), "low": float(lo), "high": float(hi)}
            | {"p_best": best[n], "rank": ranks[n]}
            for n, m, s, lo, hi in columns
        ]

    def summary(self, prob: float = 0.95, *, estimand: Estimand = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every model and every difference.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.
        estimand : str or callable, default "ece"
            What is compared.
        **options
            Passed to `arviz.summary`.

        Returns
        -------
        pandas.DataFrame
            Rows ``ece[A]``, ``ece[B]``, ..., ``difference[A - B]``, ...
        """
        prob = _checks.fraction("prob", prob)
        name, pairs = called(estimand), list(combinations(self.names, 2))
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
            {name: self.draws(name).values for name in named_estimands(self.evaluations.values(), self.pairs)},
            observed={"n_rows": np.array([c.n_rows for c in counts])},
            constant={"plug_in_ece": np.array([e.plug_in for e in self.evaluations.values()])},
            along="model",
            coords={"model": np.array(self.names)},
            attrs={"spec": self.spec, "rope": self.rope, "same_rows": int(self.pairs is not None)},
        )

    @_render.printable
    def sentence(self, prob: float = 0.95, *, estimand: Estimand = "ece") -> str:
        """The result in words, with its direction: of two models, or the best of several against the next.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str or callable, default "ece"
            What is compared.

        Returns
        -------
        str
            Which model is better, by how much, and how sure that is.
        """
        better, worse = self._first_two(estimand)
        decided = self.decide(better, worse, estimand=estimand)
        i, j = self._pair(better, worse)
        size = np.abs(self.draws(estimand).values)
        difference = Draws(size[:, i] - size[:, j], "difference of sizes")
        verdict = self.verdict(estimand=estimand)
        if not self.difference(better, worse, estimand).values.any():
            return f"{verdict}: the difference is exactly 0."
        mean, low, high = (_render.number(v, 3) for v in (difference.mean(), *difference.interval(prob)))
        told = (
            f"{self._what(estimand)} of {better} minus that of {worse}: {mean}, {100 * prob:g} % "
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
    def verdict(self, *, estimand: Estimand = "ece") -> str:
        """The result in words without its numbers, for a title.

        Parameters
        ----------
        estimand : str or callable, default "ece"
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
        is_better = f"has a smaller {self._words(estimand)} than"
        if estimand in OF_CALIBRATION:
            is_better = "is better calibrated than"
        elif self._signed(estimand):
            is_better = f"has a {self._words(estimand)} nearer to 0 than"
        if decided["p_left"] >= SURE:
            return f"{better} {is_better} {worse}"
        return f"It is not settled whether {better} {is_better} {worse}"

    def _words(self, estimand: Estimand) -> str:
        return in_words(estimand, next(iter(self.evaluations.values())).counts.target)

    def _what(self, estimand: Estimand) -> str:
        """Return the words for what is compared: the estimand, or its absolute value if draws are negative."""
        return f"size of the {self._words(estimand)}" if self._signed(estimand) else self._words(estimand)

    def _signed(self, estimand: Estimand) -> bool:
        """Whether some draws are below 0, so that sizes and signed differences are two things."""
        return bool((self.draws(estimand).values < 0).any())

    def _in_order(self, estimand: Estimand) -> tuple[str, ...]:
        """Return the models from the best expected rank to the worst; ties keep the given order."""
        return tuple(sorted(self.names, key=self.expected_ranks(estimand).__getitem__))

    def _first_two(self, estimand: Estimand) -> tuple[str, str]:
        """Return the best model and the second best."""
        better, worse = self._in_order(estimand)[:2]
        return better, worse

    @property
    def spec(self) -> str:
        """What was compared and how, on one line."""
        first = next(iter(self.evaluations.values()))
        rows = "the same rows" if self.pairs is not None else "different rows, independent"
        sizes = sorted({e.counts.n_rows for e in self.evaluations.values()})
        n = f"N = {sizes[0]}" if len(sizes) == 1 else f"N = {sizes[0]} to {sizes[-1]}"
        return (
            f"{len(self.names)} models on {rows}: {first.counts.target} ECE, {first.counts.bins}, {n}, {first.model} "
            f"model, rope {self.rope:g}"
        )

    def sheet(self) -> _render.Sheet:
        """What printing shows, as data."""
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

    def __str__(self) -> str:
        return _render.text(self.sheet())

    def __repr__(self) -> str:
        return f"Comparison({self.spec})"

    def _repr_html_(self) -> str:
        return _render.html(self.sheet())

    def _pair(self, first: str | None, second: str | None) -> tuple[int, int]:
        """Places of two models."""
        if first is None and second is None and len(self.names) == 2:
            return 0, 1
        if first is None or second is None:
            raise TypeError(f"name two of the models: {list(self.names)}.")
        for name in (first, second):
            _checks.one_of("name", name, self.names)
        return self.names.index(first), self.names.index(second)
