"""GroupedEvaluation: one evaluation per group, and one for all rows."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import pd, xr
from bayescal._meant import public
from bayescal._metrics import Table
from bayescal._texts import text_of
from bayescal.data.groups import UNNAMED, in_words
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar
from bayescal.results import wording
from bayescal.results.comparable import common_estimands, values_of
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import Evaluations, Floats, checked_rope
from bayescal.results.of_groups import in_order, usual_order
from bayescal.results.remarks import of_several, stated_clusters

HEADER = ("", "n", "mean", "sd", "2.5 %", "97.5 %", "plug-in", "if calibrated")
P_STANDS_OUT = 0.8  #: A group stands out if its error is the largest with at least this probability.
FEWEST_POOLED_GROUPS = 5  #: Least number of groups with which the coverage of partial pooling was measured.
PRINTED_GROUPS = 25  #: Maximum number of groups that are printed.
#: Remark on pooled groups of which none stands out; docs/explanation/partial_pooling.md has the measured numbers.
POOLED_REMARK = text_of("pooled groups")


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedEvaluation(Evaluations, Mapping[Any, Evaluation]):
    """One evaluation per group of rows, and the evaluation of all rows: a mapping from labels to evaluations.

    Returned by ``evaluate(y_true, y_prob, by=column)``. Groups have no row in common, so their posteriors are
    independent. All groups have the same bins, whose edges are chosen from all rows.

    Parameters
    ----------
    groups : dict of hashable to Evaluation
        The groups, in order.
    overall : Evaluation
        The evaluation of all rows, as from `evaluate` without `by` and with the same `rng`.
    seeds : dict of hashable to int
        Seed of each group, which reproduces its evaluation: ``evaluate(y_true[rows], y_prob[rows],
        bins=grouped.overall.counts.bins, rng=grouped.seeds[label])``, with the rows of the group and the other
        arguments of the original call. With 500 or more groups, this call gives the same posterior but other draws.
    name : str
        Name of the column of labels.
    order_seed : int
        Seed of `compare`.
    pooling : {"none", "partial", "complete"}, default "none"
        How the groups borrow strength from each other; see `evaluate`. With pooling, draws of the groups are joint, and
        all groups have the same seed, because none can be evaluated alone.
    """

    groups: dict[Any, Evaluation]
    overall: Evaluation
    seeds: dict[Any, int]
    name: str
    order_seed: int
    pooling: str = "none"

    axis = "group"
    _index = ("group",)
    _one_evaluation = "use that of one group, `grouped[label]`, or `grouped.overall`"

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the groups, in order."""
        return tuple(self.groups)

    def _evaluation(self, label: Any) -> Evaluation:
        return self.groups[label]

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        """Groups have no row in common: their draws are independent, or, if they are pooled, joint."""
        return np.stack([values_of(evaluation, estimand) for evaluation in self.groups.values()], axis=1)

    def _pair_values(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        record = self._record(estimand)
        return np.stack([values_of(self.groups[self.labels[at]], record) for at in (i, j)], axis=1)

    @property
    def n_with_rows(self) -> int:
        """Number of groups that have rows."""
        return sum(bool(each.counts.occupied.any()) for each in self.groups.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names for printing, such as ``fold 3``; strings, times and tuples are printed without the column name."""
        return tuple(in_words(label, self.name) for label in self.groups)

    def compare(self, *, rope: float = 0.01) -> Comparison:
        """Compare the groups with each other; their posteriors are independent, or joint if they are pooled.

        Raises
        ------
        ValueError
            If there is only one group, two groups have the same name, or `rope` is negative.
        """
        width = checked_rope(rope)
        if len(self) < 2:
            raise ValueError(
                f"`by` must define at least two groups for a comparison; it defines {len(self)}: {self.names}."
            )
        if len(set(self.names)) < len(self):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"`by` must have labels that print differently; several groups are called {twice!r}.")
        named = dict(zip(self.names, self.groups.values(), strict=True))
        return Comparison(named, None, width, self.order_seed, self.axis)

    @property
    def order(self) -> str:
        """Order in which groups are printed: "given" for windows of time, otherwise "worst first"; see `in_order`."""
        return usual_order(self.groups)

    def in_order(self, estimand: EstimandLike = "ece", order: str | None = None) -> list[Any]:
        """Return the labels in the order in which groups are printed, drawn and written.

        Parameters
        ----------
        order : {"worst first", "given"}, optional
            "worst first" orders by the posterior mean: the largest error first, the smallest value of a quantity of
            which larger is better, or the value farthest from 0; groups with equal means, or of a quantity without a
            direction, keep their order. This is the default, except for windows of time, which stay in the order of
            time. "given" is the order of this mapping, and of joint draws.

        Examples
        --------
        >>> p, site = [0.2, 0.8] * 100, ["calibrated", "overconfident"] * 100
        >>> y = [i % 10 < 2 if i % 2 == 0 else i % 20 < 4 for i in range(200)]
        >>> bc.evaluate(y, p, by=site, rng=1).in_order()
        ['overconfident', 'calibrated']
        """
        record = as_scalar(estimand)

        def badness(each: Evaluation) -> float:
            return float(record.badness(np.array([values_of(each, record).mean()]))[0])

        return in_order(self.groups, None if record.better is None else badness, order)

    def table(
        self, prob: float = 0.95, *, estimand: EstimandLike = "ece", order: str | None = None
    ) -> list[dict[str, Any]]:
        """Return one dict per group, as data.

        Keys are group (its label), n_rows, mean, sd, low, high, plug_in, null_mean.

        Parameters
        ----------
        order : {"worst first", "given"}, optional
            As for `in_order`: by default the group with the worst posterior mean is first.
        """
        labels = self.in_order(estimand, order)
        return [{"group": label} | _row(self.groups[label], prob, estimand) for label in labels]

    def _tables(self, prob: float, **options: Any) -> list[Table]:
        """Return the numbers of all rows, and those of each group."""
        of_all = self.overall.table(prob, estimands=[options.get("estimand", "ece")])
        return [Table(of_all, ("quantity",)), *super()._tables(prob, **options)]

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table: one row per group, ``ece[label]``, in the order of this mapping."""
        prob, name = _checks.fraction("prob", prob), as_estimand(estimand).name
        return _arviz.summary({name: self.draws(estimand).values}, prob, {name: _coordinates(self)}, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Every named estimand of all groups as an ArviZ DataTree, along the dimension ``group``.

        Draws of one group are joint over estimands; groups are independent, or joint if they are pooled. The data tree
        of all rows is ``grouped.overall.to_datatree()``; the bins of a group are in ``grouped[label].to_datatree()``.
        """
        counts = [evaluation.counts for evaluation in self.groups.values()]
        return _arviz.datatree(
            {name: self.draws(name).values for name in common_estimands(self.groups.values())},
            observed={
                "n_rows": np.array([c.n_rows for c in counts]),
                "n_positive": np.array([c.k.sum() for c in counts]),
            },
            constant={"plug_in_ece": np.array([e.plug_in for e in self.groups.values()])},
            along="group",
            coords={"group": _coordinates(self)},
            attrs={"spec": self.spec, "by": self.name, "overall": self.overall.spec, "pooling": self.pooling},
        )

    def sentence(self, prob: float = 0.95) -> str:
        """State the group that stands out, or that no group does, in words.

        The ECE of a group that stands out is the largest with a probability of at least 0.8; see `standing_out`. If
        there is no such group, the sentence names the group with the highest probability. It also has the ECE of all
        rows.
        """
        largest, label = self.p_largest(), self._named
        n_rows = self.groups[label].counts.n_rows
        group = f"{in_words(label, self.name)} ({n_rows} row{'s' * (n_rows > 1)})"
        probability = _render.probability(largest[label]).removeprefix("= ")
        ece = self.overall.ece
        of_all = f"the ECE of all rows is {_render.numbers(ece.mean(), *ece.interval(prob), least=3)[0]}"
        if len(self) > 1 and self.standing_out() is None:
            means = [evaluation.ece.mean() for evaluation in self.groups.values()]
            low, high = _render.numbers(min(means), max(means), least=3)
            return (
                f"No group stands out: of {len(self)} groups, {group} is the most likely to have the largest ECE, with "
                f"probability {probability}. The posterior means lie between {low} and {high}; {of_all}."
            )
        ece = self.groups[label].ece
        mean, low, high = _render.numbers(ece.mean(), *ece.interval(prob), least=3)
        result = f"{mean} ({100 * prob:g} % credible interval {low} to {high})"
        if len(self) == 1:
            return f"The ECE of {group} is {result}; {of_all}."
        return (
            f"Of {len(self)} groups, {group} stands out: its ECE is {result}, and it is the largest with probability "
            f"{probability}; {of_all}."
        )

    @property
    def _named(self) -> Any:
        """Label of the group that the sentence names: the one whose ECE is most likely the largest."""
        largest = self.p_largest()
        return max(largest, key=largest.__getitem__)

    def p_largest(self, estimand: EstimandLike = "ece") -> dict[Any, float]:
        """Compute the probability that each group is the worst, which is the one with the largest error; see `p_worst`.

        The probabilities are in the order of the groups, and add up to 1.

        Parameters
        ----------
        estimand : str or callable, default "ece"
            The quantity; its absolute value is used if it can be negative.
        """
        return self.p_worst(estimand)

    def heterogeneity(self, estimand: EstimandLike = "ece") -> Draws:
        """Draws of the standard deviation of an estimand over the groups.

        In each draw, it is that of the groups with rows, with their number as divisor. It describes these groups, not a
        population of groups. Without pooling it is too large, because sampling noise is part of it.

        Raises
        ------
        ValueError
            If fewer than two groups have rows.

        Examples
        --------
        >>> p, site = np.tile([0.2, 0.4, 0.6, 0.8], 100), np.arange(400) // 80
        >>> y = np.arange(400) % 10 < 10 * p
        >>> pooled = bc.evaluate(y, p, by=site, pooling="partial", rng=1)
        >>> pooled.heterogeneity().mean() < bc.evaluate(y, p, by=site, rng=1).heterogeneity().mean()
        True
        """
        kept = [i for i, evaluation in enumerate(self.groups.values()) if evaluation.counts.occupied.any()]
        if len(kept) < 2:
            raise ValueError(f"`heterogeneity` needs at least two groups with rows; there are {len(kept)}.")
        values = self.draws(estimand).values[:, kept]
        return Draws(values.std(axis=1), f"sd of {as_estimand(estimand).name} over groups")

    def standing_out(self, estimand: EstimandLike = "ece") -> Hashable | None:
        """Return the group that is the worst with a probability of at least 0.8, or None.

        The largest posterior mean and the highest interval belong to some group even if groups differ only by chance.
        They are therefore not evidence that a group is worse than the others.

        Parameters
        ----------
        estimand : str or callable, default "ece"
            The quantity; its absolute value is used if it can be negative.
        """
        largest = self.p_largest(estimand)
        label = max(largest, key=largest.__getitem__)
        return label if len(self) > 1 and largest[label] >= P_STANDS_OUT else None

    @property
    @_render.printable
    def spec(self) -> str:
        """Groups, target, bins and model, on one line."""
        sizes = sorted(evaluation.counts.n_rows for evaluation in self.groups.values())
        each = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
        by = "" if self.name == UNNAMED else f" by {self.name}"
        groups, rows = f"group{'s' * (len(self) > 1)}", f"row{'s' * (each != '1')}{' each' * (len(self) > 1)}"
        pooling = "" if self.pooling == "none" else f", {self.pooling} pooling"
        return f"{len(self)} {groups}{by}, {each} {rows}: {self.overall.question}{pooling}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        labels = self.in_order()
        kept = labels if whole else _presented.shortened(labels, PRINTED_GROUPS, self._named)
        groups = ((in_words(label, self.name), self.groups[label]) for label in kept)
        shown = [("all rows", self.overall), *groups]
        values = [_row(evaluation, 0.95, "ece").values() for _, evaluation in shown]
        d = _render.places(*(number for _, *numbers in values for number in numbers), least=4)
        rows = [
            [name, str(n), *(_render.number(number, d) for number in numbers)]
            for (name, _), (n, *numbers) in zip(shown, values, strict=True)
        ]
        more = len(self) + 1 - len(shown)
        remarks = [f"Not shown: {more} of {len(self)} groups; see `.table()` or `.summary()`."] if more else []
        if self.pooling == "partial" and self.n_with_rows > 1:
            heterogeneity = self.heterogeneity()
            spread = wording.with_interval(heterogeneity, _render.places(*heterogeneity.interval(0.95), least=4))
            remarks.append(f"Standard deviation of the ECE over the groups: {spread}.")
        remarks += self.remarks
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, remarks, question=self.spec)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about pooling and the intervals, each with the groups that it concerns.

        The clusters of rows are stated for all rows; `remarks` of a group has those of the group.
        """
        of_group = {
            name: tuple(text for text in each.remarks if text != stated_clusters(each.counts))
            for name, each in zip(self.names, self.groups.values(), strict=True)
        }
        return (*self._of_pooling(), *of_several({"all rows": self.overall.remarks, **of_group}))

    def _of_pooling(self) -> tuple[str, ...]:
        """Return the remark on assumptions of pooling that the data cannot check."""
        if self.pooling == "complete":
            return (text_of("complete pooling"),)
        number = self.n_with_rows
        if self.pooling == "none":
            return ()
        if number >= FEWEST_POOLED_GROUPS:
            return (POOLED_REMARK,) if self.standing_out() is None else ()
        groups = "1 group with rows" if number == 1 else f"{number} groups with rows"
        return (
            f"Partial pooling of {groups} depends on the prior of the differences between groups; its coverage was "
            f"measured with {FEWEST_POOLED_GROUPS} groups or more.",
        )


def _row(evaluation: Evaluation, prob: float, estimand: EstimandLike) -> dict[str, Any]:
    row = evaluation.row(estimand, prob)
    del row["quantity"]
    return {"n_rows": evaluation.counts.n_rows} | row


def _coordinates(grouped: GroupedEvaluation) -> list[Any]:
    """Labels that a file can hold: all numbers, or all strings; else the names."""
    plain = [set(map(type, grouped.groups)) <= {kind} for kind in (int, float, str)]
    return list(grouped.groups if any(plain) else grouped.names)
