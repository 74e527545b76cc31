"""Comparison: the joint posterior of several classifiers."""

from dataclasses import dataclass

from bayescal import _render
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.posterior.contract import Pooled
from bayescal.results.compared import Compared
from bayescal.results.of_estimand import OfEstimand
from bayescal.results.verdict import HEADER, Verdict, better_words, label_lines, pair_cells, pair_key, shown_pairs
from bayescal.stats.clusters import clusters_of

#: Design effect from which rows count as dependent, and the remark for two classifiers on such rows.
DEPENDENT = 1.5
DEPENDENT_ROWS = (
    "Rows of one cluster depend on each other. Intervals of differences of ECEs are then too narrow: 95 % intervals "
    "contained the difference in 83 % of simulated data sets with dependent rows. Those of scores and AUCs contained "
    "it in 94 % or more on average."
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(OfEstimand, Compared):
    """The joint posterior of how well several classifiers are calibrated.

    Returned by `compare` (the same rows) or `compare_independent` (different rows). The draws of each classifier are
    those of its own evaluation, reordered to form joint draws. Brier and log scores on the same rows are an exception:
    they are drawn jointly, given sums of the losses of each classifier and of the differences between their losses.

    An estimand is given by its name, as in ``"ece"`` or ``"brier_score"``, as an `Estimand`, or as a function of draws
    of the bins, as in ``lambda bin_draws: bayescal.lp_error(bin_draws, 4)``. An `Estimand` states which values are
    better; for a function, values nearer to zero are better.

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
    .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), "Time for a change: a tutorial for comparing
       multiple classifiers through Bayesian analysis", Journal of Machine Learning Research 18(77), 1-36.
    .. [2] J. K. Kruschke (2018), "Rejecting or accepting parameter values in Bayesian estimation", Advances in Methods
       and Practices in Psychological Science 1, 270-280.
    """

    axis: str = "classifier"

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """The result in words, with its direction: the best classifier against the second best.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            The verdict, the difference with its interval, and the probabilities of better, worse and equal.
        """
        return self._verdict(estimand).sentence(prob)

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """The result in words without its numbers, for a title.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            The beginning of `sentence`.
        """
        return self._verdict(estimand).short()

    def _verdict(self, estimand: EstimandLike) -> Verdict:
        better, worse = self._in_order(estimand)[:2]
        difference = self._difference_of_sizes(better, worse, estimand)
        return Verdict(
            better,
            worse,
            self.decide(better, worse, estimand=estimand),
            difference,
            self.quantity(estimand),
            self._words(estimand),
            better_words(as_estimand(estimand), self._words(estimand), signed=self._signed(estimand)),
            self.rope,
            exactly_equal=not self.difference(better, worse, estimand).values.any(),
            decimals=_render.places(*difference.interval(0.95)),
        )

    @property
    def spec(self) -> str:
        """Rows, target, bins and model, on one line, for the ECE; see `specification` for other estimands."""
        return self.specification()

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line: rows, target, estimand, bins and model.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            The line, for a paper.
        """
        first = next(iter(self.evaluations.values()))
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
        dependent = any(each is not None and each.total_effect >= DEPENDENT for each in clusters)
        return (*super().remarks, DEPENDENT_ROWS) if dependent and self.pairs is not None else super().remarks

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        pairs, words = shown_pairs(self._in_order(estimand), whole=whole), self._words(estimand)
        key = pair_key(self.axis, self.rope, words, as_estimand(estimand).comparative)
        rows, each = self._rows(pairs, 0.95, estimand), self.each(estimand=estimand)
        d = _render.places(*(abs(row[end]) for row in (*rows, *each) for end in ("low", "high")), least=4)
        remarks = [key, *label_lines(each, self.axis, words, d), *self.remarks]
        cells, spec = pair_cells(rows, d), self.specification(estimand=estimand)
        return _render.Sheet(self.sentence(estimand=estimand), spec, HEADER, cells, remarks)
