"""CumulativeDifference: outcomes against scores, in the order of the scores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.cumulative import statistics as cumulative
from bayescal.cumulative.base import Cumulative
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.contract import require_kind
from bayescal.stats.ordered import GridSteps, OrderedSums, steps_of_counts

if TYPE_CHECKING:
    from bayescal.cumulative.posterior_result import CumulativePosterior

QUESTION = "cumulative difference between outcomes and scores"  #: What `CumulativeDifference` compares.
EDGE = 1e-9  #: Largest distance between the end of an interval and the edge of a bin that is taken as rounding.


@public
@dataclass(frozen=True, eq=False, repr=False)
class CumulativeDifference(Cumulative):
    r"""The cumulative difference between outcomes and scores, without bins.

    Returned by `bayescal.cumulative.difference`; printing it shows a sentence and the two statistics.

    With the rows in the order of their scores, :math:`S_k = \sum_{i \le k} w_i (z_i - c_i) / \sum_i w_i`. The slope of
    :math:`S` against the cumulative weight is the mean difference between outcome and score: it is 0 where the
    classifier is calibrated, negative where scores are too high, and positive where they are too low.

    Parameters
    ----------
    steps : Steps
        Sums over the rows of each distinct score.
    question : str
        What is compared, and the rows, in words.
    left_out : int
        Number of rows that were left out because their weight is 0.
    target : {"event", "top-label", "classwise", "confidence"}
        Meaning of outcomes and scores; see `evaluate`.
    """

    target: str = "confidence"

    @classmethod
    def from_counts(cls, counts: BinnedCounts) -> "CumulativeDifference":
        """Compute the cumulative difference at the edges of fine bins, from counts of streams, engines or files.

        Parameters
        ----------
        counts : BinnedCounts
            Counts in many bins, such as 1000, with at least one row of positive weight.

        Returns
        -------
        CumulativeDifference
            The curve is exact at the edges of the bins; `score` contains the upper edges of occupied bins. `grid_error`
            bounds the error by the bins. The methods `slope` and `zoom` take the bins that lie wholly in the interval.

        Raises
        ------
        TypeError
            If `counts` are not `BinnedCounts`.
        ValueError
            If there are no rows.

        Examples
        --------
        Within the first bin, the curve of the rows rises to 0.8 / 3 and falls to 0.5 / 3 again. The counts do not
        contain the order: if the curve first fell to -0.1, and then rose to 0.2, the statistic would be 0.3.

        >>> counts = bc.BinnedCounts.from_arrays([1, 0, 1], [0.2, 0.3, 0.9], bins=2)
        >>> cd = bc.cumulative.CumulativeDifference.from_counts(counts)
        >>> round(cd.kuiper, 3), round(cd.grid_error, 3)
        (0.2, 0.1)
        >>> round(bc.cumulative.difference([1, 0, 1], [0.2, 0.3, 0.9]).kuiper, 3)
        0.267
        """
        require_kind(BinnedCounts, "; for rows, use `bayescal.cumulative.difference`.", counts)
        refuse_clusters(counts, "counts", "a cumulative difference")
        if not counts.occupied.any():
            raise ValueError("`counts` must have at least one row of positive weight; a curve needs rows.")
        return cls(steps_of_counts(counts), f"{question_of(counts.target)}, {counts.bins}", counts.target)

    def posterior(self, draws: int = 4000, *, rng: Any = None, model: str = "pooled") -> "CumulativePosterior":
        """Draw the Kuiper and Kolmogorov-Smirnov statistics of the population, and its cumulative difference.

        Parameters
        ----------
        model : {"pooled", "segments"}, default "pooled"
            With "pooled", half of the draws of each statistic come from a posterior of the curve, and half from a
            confidence distribution that removes the upward bias of the plug-in value. With "segments", all draws come
            from the posterior, and those of the statistics and of the curve are joint; the intervals are too high for
            curves that return to 0 many times.

        Returns
        -------
        CumulativePosterior
            Draws, intervals and bands; its notes describe both models.

        Raises
        ------
        ValueError, TypeError
            If `draws` is not an integer of at least 2, `model` is unknown, or the `grid_error` of counts is more than
            10 times the standard deviation of the curve.

        Examples
        --------
        >>> rows = simulate(2000, population="flat", rng=1)
        >>> bc.cumulative.difference(rows.outcome, rows.confidence).posterior(rng=1).kuiper.median()
        0.0
        """
        from bayescal.cumulative.posterior_result import posterior_of  # loads scipy, which the curve does not need

        return posterior_of(self, draws, rng, model)

    def simulated_p_values(self, simulations: int = 10_000, *, rng: Any = None) -> cumulative.PValues:
        """Estimate the P-values by simulation, without the approximation by Brownian motion.

        Outcomes of calibrated scores are independent Bernoulli variables with these probabilities, so that data sets
        can be simulated. Tests by these P-values have at most the stated level for every number of rows. They are for
        few rows, or few expected outcomes that contradict scores near 0 or 1, where a remark in the result says that
        the others are inaccurate. The time is proportional to distinct scores x simulations.

        Parameters
        ----------
        simulations : int, default 10_000
            Number of data sets, B. The smallest possible P-value is 1 / (B + 1).

        Returns
        -------
        PValues
            ``kuiper`` and ``kolmogorov_smirnov``: (1 + number of sets with at least the observed statistic) / (B + 1).

        Raises
        ------
        ValueError, TypeError
            If `simulations` is not a positive integer, the result is from counts, or rows with weights share a score:
            their weights have been added.

        Examples
        --------
        The statistic of these two rows, 0.4, is reached if at least one outcome is 1, with probability 1 - 0.9^2.

        >>> cd = bc.cumulative.difference([1, 0], [0.1, 0.1])
        >>> round(cd.simulated_p_values(100_000, rng=1).kuiper, 2), round(cd.p_kuiper, 2)
        (0.19, 0.07)
        """
        simulations = _checks.whole_number("simulations", simulations, 1)
        if not isinstance(self.steps, OrderedSums):
            raise ValueError(
                "`simulated_p_values` needs the scores of rows, which counts do not contain; make the cumulative "
                "difference with `bayescal.cumulative.difference(outcome, score)`."
            )
        if not self._distinct:
            tied = self.steps.n_rows > 1
            raise ValueError(
                "`simulated_p_values` needs distinct scores if rows have weights: the weights of rows with equal "
                f"scores have been added. {tied.sum()} scores have several rows, first {self.score[tied.argmax()]:g}."
            )
        observed = cumulative.PValues(self.kuiper, self.kolmogorov_smirnov)
        return cumulative.simulate_null(self.steps, observed, simulations, _checks.generator(rng))

    @property
    def _distinct(self) -> bool:
        """Whether outcomes can be simulated: weights of rows with equal scores have been added."""
        return not self.steps.weighted or bool((self.steps.n_rows == 1).all())

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        return low, min(high + self.grid_error, 1.0) if high == high else high

    def c_emp_bound(self, prob: float = 0.95, *, given_scores: bool = False) -> float:
        """Return a bound on the error of the Kuiper statistic (c_emp) that holds for every number of rows.

        Parameters
        ----------
        prob : float, default 0.95
            Probability with which the bound holds.
        given_scores : bool, default False
            Whether the population has the scores (and weights) of these rows, so that only outcomes are random.

        Returns
        -------
        float
            The statistic of the population differs from `kuiper` by at most this number, for every population of
            independent rows that were not used to fit the classifier; see `rows_for_c_emp`. From counts, `grid_error`
            is part of the bound. `kuiper_interval` is much narrower, but approximate.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1, or rows have weights and scores are not given.

        Examples
        --------
        >>> rows = simulate(20000, population="flat", rng=1)
        >>> cd = bc.cumulative.difference(rows.outcome, rows.confidence)
        >>> round(cd.c_emp_bound(), 4), round(cd.c_emp_bound(given_scores=True), 4)
        (0.0384, 0.0192)
        """
        prob = _checks.fraction("prob", prob)
        if self.steps.weighted and not given_scores and not self._equal_weights:
            raise ValueError(
                "`given_scores` must be True for rows with weights; else the bound needs rows of equal weight."
            )
        return cumulative.c_emp_bound(self.effective_n, prob, given_scores=given_scores) + self.grid_error

    @property
    def _equal_weights(self) -> bool:
        steps = self.steps
        one = float(steps.weight_sq.sum()) / float(steps.weight.sum())
        return np.allclose(steps.weight, one * steps.n_rows, rtol=1e-9, atol=0) and bool(
            np.isclose(self.effective_n, self.n, rtol=1e-9)
        )

    @property
    def grid_error(self) -> float:
        """Largest amount by which the two statistics of the rows can exceed those of their counts; 0 for rows."""
        return cumulative.grid_error(self.curve, self.steps) if isinstance(self.steps, GridSteps) else 0.0

    @property
    def _kind_of_step(self) -> tuple[str, str, float]:  # type: ignore[override]  # a constant of the base
        return ("bin", "occupied bin", EDGE) if isinstance(self.steps, GridSteps) else super()._kind_of_step

    def _statistic(self) -> str:
        value = self._number(self.kuiper)
        if not isinstance(self.steps, GridSteps):
            return value
        most = self._number(self.kuiper + self.grid_error)
        return f"at least {value} (at most {most}, depending on the order of the rows within bins)"

    def _remarks(self) -> list[str]:
        """Return also warnings about steps that are far from Normal, with the remedy, and about certain scores."""
        remarks, number = super()._remarks(), self.scale.rare
        few = number < cumulative.FEW_RARE_OUTCOMES
        if few:
            remarks.append(
                "Intervals and bands can be too narrow: the effective number of expected outcomes that contradict "
                f"scores near 0 or 1 is {number:.1f}."
            )
        weak = few or self.scale.mean_step > cumulative.LARGE_STEP
        if weak and isinstance(self.steps, OrderedSums) and self._distinct:
            remarks.append("`simulated_p_values()` returns P-values without these approximations.")
        if np.isin(self.steps.score, (0, 1)).all():
            text = "All scores are 0 or 1: pass probabilities; a single contrary outcome refutes certain predictions."
            remarks.append(text)
        if not isinstance(self.steps, GridSteps):
            return remarks
        return ["From counts: the statistics and P-values are those of the curve at the edges of the bins.", *remarks]

    def _compared(self) -> str:
        return "correct predictions and confidences" if self.target == "top-label" else "outcomes and scores"

    def _difference(self, slope: float) -> str:
        more = "more" if slope > 0 else "less"
        if self.target == "top-label":
            return f"predictions are right {more} often than their confidence states,"
        return f"outcome 1 is {more} frequent than the scores state,"


def question_of(target: str) -> str:
    """Return what is compared, with the target unless outcomes and scores are clear without it."""
    return f"{target} {QUESTION}" if target in ("top-label", "classwise") else QUESTION
