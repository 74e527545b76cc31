"""Comparison: the joint posterior of several classifiers."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from bayescal import _presented, _render
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.comparable import pair_key
from bayescal.results.compared import SURE, Compared

#: Largest number of pairs in a printed table; beyond it, each classifier is shown against the best one.
MOST_PAIRS = 15
HEADER = ("difference", "mean", "sd", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared):
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

    @_render.printable
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
        better, worse = self._first_two(estimand)
        decided = self.decide(better, worse, estimand=estimand)
        verdict = self.verdict(estimand=estimand)
        if not self.difference(better, worse, estimand).values.any():
            return f"{verdict}: the difference is exactly 0."
        difference = self._difference_of_sizes(better, worse, estimand)
        mean, low, high = (_render.number(v, 3) for v in (difference.mean(), *difference.interval(prob)))
        numbers = (
            f"{self.quantity(estimand)} of {better} minus that of {worse}: {mean}, {100 * prob:g} % "
            f"credible interval {low} to {high}"
        )
        equal = f"P(equal within {self.rope:g}) {_render.probability(decided['p_rope'])}"
        p = decided["p_left"]
        if decided["p_rope"] >= SURE:
            return f"{verdict} ({numbers}; {equal})."
        if p >= SURE:
            return f"{verdict} ({numbers}; P(better) {_render.probability(p)}; {equal})."
        return (
            f"{verdict} ({numbers}; P(better) {_render.probability(p)}, P(worse) "
            f"{_render.probability(decided['p_right'])}, {equal})."
        )

    @_render.printable
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
        better, worse = self._first_two(estimand)
        decided = self.decide(better, worse, estimand=estimand)
        if not self.difference(better, worse, estimand).values.any():
            return f"{better} and {worse} have the same {self._words(estimand)} in every draw"
        if decided["p_rope"] >= SURE:
            return f"{better} and {worse} are practically equal"
        is_better = self._is_better(estimand)
        if decided["p_left"] >= SURE:
            return f"{better} {is_better} {worse}"
        return f"It is uncertain whether {better} {is_better} {worse}"

    def _is_better(self, estimand: EstimandLike) -> str:
        """Return the words between the better classifier and the worse one."""
        record, words = as_estimand(estimand), self._words(estimand)
        if record.of_calibration:
            return "is better calibrated than"
        if self._signed(estimand):
            return f"has a {words} nearer to 0 than"
        return f"has a {'larger' if record.better == 'larger' else 'smaller'} {words} than"

    def _first_two(self, estimand: EstimandLike) -> tuple[str, str]:
        """Return the best classifier and the second best."""
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
            f"{len(self.names)} {self.axis}s on {rows}: {first.counts.target} ECE, {first.counts.bins}, {n}, "
            f"{first.model} model, rope {self.rope:g}"
        )

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        rows = []
        best, *others = self._in_order("ece")
        pairs = list(combinations((best, *others), 2))
        if len(pairs) > MOST_PAIRS and not whole:
            pairs = [(best, other) for other in others]
        for row in self._rows(pairs, 0.95, "ece"):
            numbers = [_render.number(row[name]) for name in ("mean", "sd", "low", "high")]
            shares = [_render.probability(row[name]).removeprefix("= ") for name in ("p_left", "p_rope", "p_right")]
            rows.append([f"{row['first']} - {row['second']}", *numbers, *shares])
        remarks = [
            f"{row[self.axis]}: ECE {_render.number(row['mean'])}, 95 % interval [{_render.number(row['low'])}, "
            f"{_render.number(row['high'])}], P(best) {_render.probability(row['p_best'])}, expected rank "
            f"{row['rank']:.2f}."
            for row in self.each()
        ]
        remarks += self.remarks
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, [pair_key(self.axis, self.rope), *remarks])

    def to_html(self, path: str | Path, *, estimand: EstimandLike = "ece") -> Path:
        """Write the comparison as one HTML page with pictures, tables that can be sorted, and the specification.

        Parameters
        ----------
        path : str or Path
            The file, whose name ends in ``.html`` or ``.htm``. An existing file is replaced in one step.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        ValueError, TypeError, OSError
            As for `Evaluation.to_html`, or if the estimand cannot be compared.
        """
        return _presented.save_page(self, path, estimand=estimand)

    def to_json(self, path: str | Path | None = None, *, estimand: EstimandLike = "ece") -> str | Path:
        """Return the comparison as JSON, or write it to a file, as ``bayescal compare --json`` does.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.json``. An existing file is replaced in one step.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str or Path
            The text; with `path`, the file that was written.

        Raises
        ------
        ValueError, TypeError, OSError
            As for `Evaluation.to_json`, or if the estimand cannot be compared.
        """
        return _presented.json_of(self, path, estimand=estimand)
