"""Change: a comparison of now with a reference period."""

from dataclasses import dataclass

import numpy as np

from bayescal import _render
from bayescal.draws import Draws
from bayescal.estimands.estimand import EstimandLike, as_estimand
from bayescal.results.comparison import SURE, Comparison
from bayescal.results.remarks import of_several

HEADER = ("", "n", "mean", "sd", "2.5 %", "97.5 %")


@dataclass(frozen=True, eq=False, repr=False)
class Change(Comparison):
    """The posterior of what has changed between a reference and now: a `Comparison` of two times.

    Made by `CalibrationMonitor.change`. Its names are ``"now"`` and ``"reference"``, in this order, so
    ``change.difference()`` is now minus reference: positive where the error has grown. It does all that a `Comparison`
    does, and `plot_comparison` takes it.

    Parameters
    ----------
    evaluations : dict of str to Evaluation
        Now, and the reference.
    pairs : None
        Two times have no row in common.
    rope : float
        Half-width of what counts as no change, in units of the estimand.
    order_seed : int
        Seed of the order of the draws.
    spans : dict of str to str
        When now and the reference were, in words.
    """

    spans: dict[str, str]

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """The result in words, with its direction.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str or callable, default "ece"
            What may have changed.

        Returns
        -------
        str
            Whether it has, by how much, and how sure that is.
        """
        change = self._of_sizes(estimand)
        mean, low, high = (_render.number(v, 3) for v in (change.mean(), *change.interval(prob)))
        decided = self.decide(estimand=estimand)
        told = f"now minus reference {mean}, {100 * prob:g} % credible interval {low} to {high}"
        shares = "; ".join(
            f"{said} {_render.probability(decided[key])}" for key, said in self._outcomes(estimand).items()
        )
        return f"{self.verdict(estimand=estimand)} ({told}; {shares})."

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """The result in words without its numbers, for a title.

        Parameters
        ----------
        estimand : str or callable, default "ece"
            What may have changed.

        Returns
        -------
        str
            What `sentence` begins with.
        """
        what = self.quantity(estimand)
        decided = self.decide(estimand=estimand)
        if decided["p_rope"] >= SURE:
            return f"The {what} is practically unchanged"
        by_more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        if decided[risen] >= SURE:
            return f"The {what} has risen{by_more}"
        if decided[fallen] >= SURE:
            return f"The {what} has fallen{by_more}"
        return f"It is not settled whether the {what} has changed{by_more}"

    @property
    def spec(self) -> str:
        """Rows, target, bins and model, on one line."""
        times = ", against ".join(
            f"{name} {self.spans[name]}, N = {evaluation.counts.n_rows}"
            for name, evaluation in self.evaluations.items()
        )
        now = self.evaluations["now"]
        return f"{times}: {now.counts.target} ECE, {now.counts.bins}, {now.model} model, rope {self.rope:g}"

    def sheet(self) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data."""
        rows = []
        for name in reversed(self.names):
            evaluation = self[name]
            low, high = evaluation.ece.interval(0.95)
            numbers = [evaluation.ece.mean(), evaluation.ece.sd(), low, high]
            of = f"{name} {self.spans[name]}"
            rows.append([of, str(evaluation.counts.n_rows), *map(_render.number, numbers)])
        change = self.difference()
        low, high = change.interval(0.95)
        rows.append(["now - reference", "", *map(_render.number, [change.mean(), change.sd(), low, high])])
        remarks = of_several({name: evaluation.remarks for name, evaluation in self.evaluations.items()})
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, remarks)

    def _in_order(self, estimand: EstimandLike) -> tuple[str, ...]:
        """Return now before the reference, whichever is better: the difference is a change in time."""
        return self.names

    def _of_sizes(self, estimand: EstimandLike) -> Draws:
        """Draws of the change: of absolute values if the value nearest zero is the best."""
        values = self.draws(estimand).values
        now, reference = (np.abs(values) if self._signed(estimand) else values).T
        return Draws(now - reference, "change")

    @staticmethod
    def _directions(estimand: EstimandLike) -> tuple[str, str]:
        """Return the keys of `decide` for a rise and for a fall; a rise is for the worse unless larger is better."""
        keys = ("p_right", "p_left")
        return keys[::-1] if as_estimand(estimand).better == "larger" else keys

    def _outcomes(self, estimand: EstimandLike) -> dict[str, str]:
        """Return the words for the probabilities of `decide`."""
        more = f" by more than {self.rope:g}" if self.rope else ""
        risen, fallen = self._directions(estimand)
        return {risen: f"P(risen{more})", "p_rope": f"P(equal within {self.rope:g})", fallen: f"P(fallen{more})"}
