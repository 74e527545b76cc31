"""Comparison of classifiers, and its base Compared: named evaluations and their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Floats, pd, xr
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand, estimand_called, hint, registered
from bayescal.posterior.contract import Pooled
from bayescal.results import comparable
from bayescal.results.comparable import HEADER, common_estimands, label_lines, pair_cells, pair_key, shown_pairs
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import Evaluations, Judged, OfEstimand
from bayescal.results.remarks import of_several
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Paired


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Judged, Evaluations):
    """Evaluations by name: classifiers, groups, or two periods."""

    evaluations: dict[str, Evaluation]
    #: Joint counts of evaluations i < j on the same rows; None for different rows.
    pairs: Mapping[tuple[int, int], Paired] | None
    rope: float  # half-width of the region of practical equivalence, in units of the estimand
    order_seed: int  # seed with which draws are reordered to become joint draws

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, in the order in which they were given."""
        return tuple(self.evaluations)

    def _evaluation(self, label: str) -> Evaluation:
        return self.evaluations[label]

    def _instead(self, name: str) -> str:
        """Name the call for a difference; for scores of classifiers with different events, say why there is none."""
        meant = estimand_called(name)
        if meant is not None and (different := comparable.different_events(meant, self.pairs)):
            return f" {different}"
        difference = 'and a difference is `difference(a, b, estimand="{0}")'
        return hint(name, f"result[{self.axis}].{{0}}`, {difference}")

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        try:
            return self._draw_jointly(list(self.evaluations.values()), self.pairs, estimand)
        except ValueError as problem:
            raise self._naming(problem, estimand) from problem

    def _draw_jointly(
        self, evaluations: Sequence[Evaluation], pairs: Mapping[tuple[int, int], Paired] | None, estimand: EstimandLike
    ) -> Floats:
        """Draw an estimand of some of the evaluations, given their joint counts."""
        return comparable.joint_values(evaluations, pairs, estimand, self.order_seed)

    def _naming(self, problem: ValueError, estimand: EstimandLike) -> ValueError:
        """Let the message name the evaluations that lack what the estimand needs, and what the others can do."""
        lacking = self._lacking(estimand)
        if not lacking:
            return problem
        others = [name for name in self.names if name not in lacking]
        pair = f"{others[0]!r}, {others[1]!r}" if len(others) > 1 else ""
        hint = f" Others can be compared in pairs, as in `difference({pair}, estimand=...)`." if pair else ""
        several = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        return ValueError(f"{self.axis} {lacking[0]!r}{several}: {problem}{hint}")

    def _lacking(self, estimand: EstimandLike) -> list[str]:
        """Return the names of evaluations whose counts lack what the estimand needs, such as finite losses."""
        record = as_estimand(estimand)
        return [name for name, each in self.evaluations.items() if not each._available(record)]

    def _pair_values(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        """Draw two evaluations of all; if others lack what the estimand needs, only these two."""
        record = self._record(estimand)
        if {self.names[i], self.names[j]}.intersection(lacking := self._lacking(record)) or not lacking:
            return super()._pair_values(i, j, estimand)
        if i > j:
            return self._pair_values(j, i, estimand)[:, ::-1]
        both = [self.evaluations[self.names[at]] for at in (i, j)]
        return self._draw_jointly(both, self.pairs and {(0, 1): self.pairs[i, j]}, record)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the names of the evaluations that it concerns."""
        return tuple(of_several({name: evaluation.remarks for name, evaluation in self.evaluations.items()}))

    #: The decision table.
    table = Evaluations.pairs_table
    _index = ("first", "second")

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every evaluation and every difference.

        Rows are ``ece[A]``, ``ece[B]``, ..., ``difference[A - B]``, ..., the differences as in `table`.
        """
        prob = _checks.fraction("prob", prob)
        name, (pairs, differences) = as_estimand(estimand).name, self._pair_differences(estimand)
        labels = {name: self.names, "difference": pairs}
        return _arviz.summary({name: self.draws(estimand).values, "difference": differences}, prob, labels, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Every estimand that all evaluations have, as an ArviZ DataTree.

        It has the groups ``posterior``, ``observed_data`` (number of rows) and ``constant_data`` (plug-in value), along
        the dimension ``classifier`` (``group`` for groups, ``period`` for a `Change`). Draws of one estimand are joint
        over this dimension. Draws of two estimands are joint only within a single `Evaluation`, not here.
        """
        counts = [evaluation.counts for evaluation in self.evaluations.values()]
        return _arviz.datatree(
            {name: self.draws(name).values for name in common_estimands(self.evaluations.values(), self.pairs)},
            observed={"n_rows": np.array([c.n_rows for c in counts])},
            constant={"plug_in_ece": np.array([e.plug_in for e in self.evaluations.values()])},
            along=self.axis,
            coords={self.axis: np.array(self.names)},
            attrs={"spec": self.spec, "rope": self.rope, "same_rows": int(self.pairs is not None)},
        )

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """Return the result in words without its numbers, for a title."""
        raise NotImplementedError

    def quantity(self, estimand: EstimandLike = "ece") -> str:
        """Return the words for the compared quantity: the estimand, or its absolute value if draws can be negative.

        The words follow "the", as "ECE" or "size of the signed error".
        """
        return self._quantity(estimand)

    @property
    def _first(self) -> Evaluation:
        return next(iter(self.evaluations.values()))

    def _words(self, estimand: EstimandLike | None) -> str:
        return self._record(estimand).words(self._first.counts.target)


MEASURES = ("ece", "brier_score", "auc", "accuracy")  #: Quantities of the table of classifiers.
#: Design effect from which rows count as dependent, and the remark for two classifiers on such rows.
DEPENDENT_DESIGN_EFFECT = 1.5
DEPENDENT_ROWS = text_of("differences of dependent rows")


@public
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(OfEstimand, Compared):
    """The joint posterior of how well several classifiers are calibrated.

    Returned by `compare` (the same rows) or `compare_independent` (different rows). The draws of each classifier are
    those of its own evaluation, reordered to form joint draws. Brier and log scores on the same rows are an exception:
    they are drawn jointly, given sums of the losses of each classifier and of the differences between their losses. So
    are two accuracies, given the numbers of rows that both classifiers, one or none predict correctly.

    An estimand is given by its name, as in ``"ece"`` or ``"brier_score"``, as an `Estimand`, or as a function of draws
    of the bins, as in ``lambda bin_draws: bayescal.estimands.lp_error(bin_draws, 4)``. An `Estimand` states which
    values are better; for a function, values nearer to zero are better.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        The evaluation of each classifier, by name.
    pairs : dict of (int, int) to PairedCounts, or None
        Joint counts of classifiers i < j on the same rows; None for different rows.
    rope : float
        Half-width of the region of practical equivalence [1]_ [2]_, in units of the estimand.
    order_seed : int
        Seed with which draws are reordered to become joint draws.
    axis : str, default "classifier"
        What the names denote: classifiers or groups. It is also a key in the rows of `each`, and the dimension of the
        data tree.

    References
    ----------
    .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), as for `bayescal.compare`.
    .. [2] J. K. Kruschke (2018), as for `bayescal.compare`.
    """

    axis: str = "classifier"

    def models(self, prob: float = 0.95) -> "pd.DataFrame":
        """Return the usual measures of each classifier, with their intervals: one row per classifier.

        Posterior means and intervals are in columns ``ece``, ``ece_low``, ``ece_high``, and the same for
        ``brier_score``, ``auc`` and ``accuracy``, as far as they exist. The index holds the names.

        Notes
        -----
        All numbers of a quantity are from the joint draws of the comparison. *Accuracy* is that of predictions whose
        outcome is whether they are right, under the targets ``top-label`` and ``confidence``. Probabilities of an event
        have no accuracy without a threshold from which on the event is predicted, and counts by bins do not determine
        it, because the threshold need not be the edge of a bin; `net_benefit` takes thresholds. *Brier score* and *AUC*
        need one event for all classifiers, and counts from rows; under ``top-label`` each classifier has another event.

        Examples
        --------
        >>> cancer = bc.datasets.load_breast_cancer()
        >>> models = bc.compare(cancer.y_true, cancer.y_prob, rng=1).models()
        >>> models.loc["naive_bayes", ["ece", "ece_low", "ece_high", "auc"]].round(2).tolist()
        [0.05, 0.03, 0.07, 0.99]
        """
        from bayescal import _export

        return _export.frame(self._measures(prob), (self.axis,), ())

    def _measures(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the rows of `models` as data, with the names."""
        prob = _checks.fraction("prob", prob)
        draws_by_name = {record.name: self.draws(record) for record in self._measured}
        columns: dict[str, Any] = {self.axis: self.labels}
        for quantity, draws in draws_by_name.items():
            low, high = draws.interval(prob)
            columns |= {quantity: draws.mean(), f"{quantity}_low": low, f"{quantity}_high": high}
        rows = zip(*(np.asarray(column, dtype=object) for column in columns.values()), strict=True)
        return [dict(zip(columns, (label, *map(float, numbers)), strict=True)) for label, *numbers in rows]

    @cached_property
    def _measured(self) -> list[Estimand]:
        """The quantities of `models` that all classifiers have and that can be compared."""
        common = common_estimands(self.evaluations.values(), self.pairs)
        return [registered()[name] for name in MEASURES if name in common]

    def _measures_sheet(self) -> _render.Sheet:
        """Return the table of `models` as text: a mean and its 95 % interval per cell."""
        rows, target = self._measures(), self._first.counts.target
        names = [record.name for record in self._measured]
        d = _render.places(*(abs(row[f"{name}_high"]) for row in rows for name in names), least=4)
        cells = [[row[self.axis], *(_with_ends(row, name, d) for name in names)] for row in rows]
        titles = [f"{record.column_label(target)} [95 %]" for record in self._measured]
        return _render.Sheet("", "", (self.axis, *titles), cells)

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """Return the verdict on the best classifier and the second best, in words.

        The sentence also has the difference as in `table` with its interval, and the probabilities of better, worse and
        equal.
        """
        return self._verdict(estimand).sentence(prob)

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line, for a paper: rows, target, estimand, bins and model."""
        first = self._first
        apart = "pooled" if isinstance(first.posterior, Pooled) else "independent"
        rows = "the same rows" if self.pairs is not None else f"different rows, {apart}"
        sizes = sorted({e.counts.n_rows for e in self.evaluations.values()})
        n = f"N = {sizes[0]}" if len(sizes) == 1 else f"N = {sizes[0]} to {sizes[-1]}"
        clusters = clusters_of(first.counts)
        if clusters is not None and self.pairs is not None:
            n += f" in {clusters.number} clusters"
        quantity = as_estimand(estimand).of_target(first.counts.target)
        return (
            f"{len(self.names)} {self.axis}s on {rows}: {quantity}, {first.counts.bins}, {n}, "
            f"{first.model} model, rope {self.rope:g}"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the names of the evaluations that it concerns."""
        clusters = [clusters_of(each.counts) for each in self.evaluations.values()]
        dependent = any(each is not None and each.total_effect >= DEPENDENT_DESIGN_EFFECT for each in clusters)
        return (*super().remarks, DEPENDENT_ROWS) if dependent and self.pairs is not None else super().remarks

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        pairs, words = shown_pairs(self._listed(estimand), whole=whole), self._words(estimand)
        key = pair_key(self.axis, self.rope, words, as_estimand(estimand).comparative)
        rows, each = self._rows(pairs, 0.95, estimand), self.each(estimand=estimand)
        d = _render.places(*(abs(row[end]) for row in (*rows, *each) for end in ("low", "high")), least=4)
        remarks = [*label_lines(each, self.axis, words, d), *self.remarks]
        cells, spec = pair_cells(rows, d), self.specification(estimand=estimand)
        sentence = self.sentence(estimand=estimand)
        return _render.Sheet(sentence, spec, HEADER, cells, remarks, [key], above=self._measures_sheet(), question=spec)


def _with_ends(row: Mapping[str, Any], name: str, decimals: int) -> str:
    """Return a mean with the ends of its interval."""
    mean, low, high = (_render.number(row[key], decimals) for key in (name, f"{name}_low", f"{name}_high"))
    return f"{mean} [{low}, {high}]"
