"""Change: the posterior of the difference between now and a baseline."""

from dataclasses import dataclass

from bayescal import _render
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.comparison import Compared
from bayescal.results.verdict import SURE

HEADER = ("", "n", "mean", "sd", "2.5 %", "97.5 %")
NOW, BASELINE = "now", "baseline"


@public
@dataclass(frozen=True, eq=False, repr=False)
class Change(Compared):
    """The posterior of the change of an estimand between a baseline and now.

    Returned by `CalibrationMonitor.change`. Its names are ``"now"`` and ``"baseline"``, in this order, so
    ``change.difference()`` is the value of now minus that of the baseline: positive if the error has grown. It has the
    methods of a `Comparison`, and `plot_comparison` takes it.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        The evaluations of now and of the baseline.
    pairs : None
        The two periods have no row in common.
    rope : float
        Half-width of the region of practical equivalence, in units of the estimand.
    order_seed : int
        Seed with which draws are reordered to become joint draws.
    spans : dict of str to str
        The time span of each period in words.
    """

    spans: dict[str, str]

    axis = "period"

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """The result in words, with its direction.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str, Estimand or callable, default "ece"
            The estimand whose change is described.

        Returns
        -------
        str
            The verdict, the change with its interval, and the probabilities of a rise, equality and a fall.
        """
        change = self._compared_difference(NOW, BASELINE, estimand)
        mean, low, high = _render.numbers(change.mean(), *change.interval(prob), least=3)
        decided = self.decide(estimand=estimand)
        numbers = f"now minus baseline {mean}, {100 * prob:g} % credible interval {low} to {high}"
        shares = "; ".join(
            f"{words} {_render.probability(decided[key])}" for key, words in self._outcomes(estimand).items()
        )
        return f"{self.verdict(estimand=estimand)} ({numbers}; {shares})."

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """The result in words without its numbers, for a title.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand whose change is described.

        Returns
        -------
        str
            The beginning of `sentence`.
        """
        words = self.quantity(estimand)
        decided = self.decide(estimand=estimand)
        if decided["p_rope"] >= SURE:
            return f"The {words} is practically unchanged"
        by_more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        if decided[risen] >= SURE:
            return f"The {words} has risen{by_more}"
        if decided[fallen] >= SURE:
            return f"The {words} has fallen{by_more}"
        if decided["p_rope"] <= 1 - SURE:
            return f"It is uncertain whether the {words} has risen or fallen{by_more}"
        return f"It is uncertain whether the {words} has changed{by_more}"

    @property
    def spec(self) -> str:
        """Rows, target, bins and model, on one line."""
        return self._specification("ece")

    def _specification(self, estimand: EstimandLike) -> str:
        periods = ", against ".join(
            f"{name} {self.spans[name]}, N = {evaluation.counts.n_rows}"
            for name, evaluation in self.evaluations.items()
        )
        now = self.evaluations[NOW]
        quantity = as_estimand(estimand).of_target(now.counts.target)
        return f"{periods}: {quantity}, {now.counts.bins}, {now.model} model, rope {self.rope:g}"

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = []
        for name in reversed(self.names):
            evaluation = self[name]
            first = [f"{name} {self.spans[name]}", str(evaluation.counts.n_rows)]
            rows.append([*first, *_cells(evaluation.draws(estimand))])
        label = "size now - size baseline" if self._signed(estimand) else "now - baseline"
        rows.append([label, "", *_cells(self._compared_difference(NOW, BASELINE, estimand))])
        return _render.Sheet(
            self.sentence(estimand=estimand), self._specification(estimand), HEADER, rows, self.remarks
        )

    @staticmethod
    def _directions(estimand: EstimandLike) -> tuple[str, str]:
        """Return the keys of `decide` for a rise and for a fall. A rise is worse, unless larger values are better."""
        keys = ("p_right", "p_left")
        return keys[::-1] if as_estimand(estimand).better == "larger" else keys

    def _outcomes(self, estimand: EstimandLike) -> dict[str, str]:
        """Return the words for the probabilities of `decide`."""
        more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        return {risen: f"P(risen{more})", "p_rope": f"P(equal within {self.rope:g})", fallen: f"P(fallen{more})"}


def _cells(draws: Draws) -> list[str]:
    """Return mean, standard deviation and 95 % interval."""
    return _render.numbers(draws.mean(), draws.sd(), *draws.interval(0.95))
