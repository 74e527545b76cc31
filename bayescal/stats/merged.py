"""MergedCounts: steps of a cumulative difference merged into bins of nearly equal weight; equal scores share a bin."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.bins import Bins
from bayescal.stats.ordered import Steps
from bayescal.stats.sums import effective_number

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MergedCounts:
    """Sums over rows by bin, shape (n_bins,); every bin has rows. Every posterior of binned counts accepts it."""

    bins: Bins  # an edge lies halfway between the scores on its two sides
    upper: Floats  # largest score, or upper edge: the cumulative curve of the bins is that of the rows at these scores
    n: NDArray[np.int64]  # rows
    weight: Floats  # sum of w
    deviation: Floats  # sum of w (z - c)
    score_sum: Floats  # sum of w c
    weight_sq: Floats  # sum of w^2
    step_size: Floats  # sum over the scores of (sum of w^2)^(3/2), which the mean step of a curve needs
    weighted: bool  # whether rows had weights

    target = "confidence"
    losses = log_losses = ranks = None

    @property
    def k(self) -> Floats:
        """Rows with outcome 1 per bin; with weights, their share of the weight times the number of rows."""
        return self.n * self.accuracy

    @property
    def n_rows(self) -> int:
        """Rows of all bins."""
        return int(self.n.sum())

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Always True; shape (n_bins,)."""
        return np.ones(len(self.n), bool)

    @property
    def accuracy(self) -> Floats:
        """Observed share of outcome 1 per bin."""
        return np.clip((self.score_sum + self.deviation) / self.weight, 0.0, 1.0)

    @property
    def mean_confidence(self) -> Floats:
        """Mean score per bin."""
        return np.clip(self.score_sum / self.weight, 0.0, 1.0)

    @property
    def share(self) -> Floats:
        """Share of all weight per bin."""
        return self.weight / self.weight.sum()

    @property
    def effective_n(self) -> Floats:
        """Kish's effective number of rows per bin."""
        return self.weight**2 / self.weight_sq

    @property
    def effective_k(self) -> Floats:
        """Effective number of rows with outcome 1 per bin."""
        return self.effective_n * self.accuracy

    @property
    def effective_rows(self) -> float:
        """Kish's effective number of rows of all bins."""
        return effective_number(self.weight, self.weight_sq)

    @property
    def curve(self) -> Floats:
        """Cumulative difference at the upper end of each bin, as a share of all weight."""
        return np.cumsum(self.deviation) / self.weight.sum()

    def variance(self, accuracy: Floats) -> Floats:
        """Variances of the steps of `curve` from bin to bin, given the accuracies of the bins."""
        return accuracy * (1 - accuracy) * self.weight_sq / self.weight.sum() ** 2

    def mean_step(self, accuracy: Floats, *, between: str) -> float:
        """Mean standard deviation of a step between bins or scores, weighted by variance, relative to the end."""
        each = accuracy * (1 - accuracy)
        size = self.step_size if between == "scores" else self.weight_sq**1.5
        return float((each**1.5 * size).sum() / (each * self.weight_sq).sum() ** 1.5)

    def part(self, which: NDArray[np.bool_]) -> "MergedCounts":
        """Return the bins of a mask, with edges halfway between their mean scores."""
        middle = self.mean_confidence[which]
        own = {name: value[which] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        edges = np.concatenate([[0.0], (middle[1:] + middle[:-1]) / 2, [1.0]])
        return replace(self, bins=Bins(edges, "equal-mass"), **own)  # type: ignore[arg-type]  # all are arrays

    def __add__(self, other: Any) -> "MergedCounts":
        raise TypeError("bins of equal weight cannot be added, because their edges depend on the rows.")


def merge_scores(steps: Steps, n_bins: int) -> MergedCounts:
    """Merge steps of outcomes 0 and 1 less their scores into at most `n_bins` bins of nearly equal weight.

    For each multiple of 1 / `n_bins`, a bin ends at the score whose cumulative share is nearest. There are fewer bins
    if there are fewer scores, or if single scores have much of the weight.
    """
    return merge_between(steps, ends_of_equal_weight(steps, n_bins))


def ends_of_equal_weight(steps: Steps, n_bins: int) -> NDArray[np.intp]:
    """Return the number of scores below each inner edge of at most `n_bins` bins of nearly equal weight."""
    reached = np.cumsum(steps.weight)
    wanted = reached[-1] * np.arange(1, n_bins) / n_bins
    after = np.searchsorted(reached, wanted)  # the score with which the multiple is reached
    before = np.where(after > 0, reached[after - 1], 0.0)
    last = np.where(wanted - before < reached[after] - wanted, after, after + 1)  # number of scores below the edge
    return np.unique(last[(last > 0) & (last < len(steps))])


def merge_between(steps: Steps, ends: NDArray[np.intp]) -> MergedCounts:
    """Merge steps into bins, given the number of scores below each inner edge, increasing, shape (n_bins - 1,)."""
    starts = np.concatenate([[0], ends])
    score = steps.score.astype(np.float64, copy=False)

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, starts)

    edges = np.concatenate([[0.0], (score[ends - 1] + score[ends]) / 2, [1.0]])
    return MergedCounts(
        bins=Bins(edges, "equal-mass"),
        upper=steps.upper.astype(np.float64, copy=False)[np.append(ends, len(score)) - 1],
        n=total(steps.n_rows),
        weight=total(steps.weight),
        deviation=total(steps.deviation),
        score_sum=total(steps.weight * score),
        weight_sq=total(steps.weight_sq),
        step_size=total(steps.weight_sq * np.sqrt(steps.weight_sq)),
        weighted=steps.weighted,
    )
