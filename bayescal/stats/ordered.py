"""Rows in the order of their scores, for cumulative statistics: sums over equal scores, and bins of equal weight."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Array, Bools, Floats, Indices, Ints
from bayescal.data.columns import require_ratios
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.frozen import Whole
from bayescal.stats.losses import total_without_squares
from bayescal.stats.sums import effective_number

Keys = NDArray[np.unsignedinteger[Any]]

CHUNK = 2**14  #: Rows whose keys are made at once, in the cache of the processor.


class OneScore:
    """Steps of a cumulative difference, each with one score; a range of steps has arrays that are views."""

    score: Array
    lower = property(attrgetter("score"))  # smallest score that a step can contain
    upper = property(attrgetter("score"))  # largest score that a step can contain

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, part: slice) -> Self:
        views = {name: value[part] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **views)  # type: ignore[type-var]  # every subclass is a dataclass


@dataclass(frozen=True, eq=False)
class StoredSteps(OneScore):
    """Steps whose sums are stored, because they do not follow from score and response; arrays of shape (n_scores,).

    A row has the residual r = z - e: its response minus its expected response.
    """

    score: Array  # distinct scores, increasing; mean scores of bins
    weight: Floats  # sum of w
    deviation: Floats  # sum of w r
    weight_sq: Floats  # sum of w^2
    deviation_weight_sq: Floats  # sum of w^2 r
    deviation_sq: Floats  # sum of w^2 r^2
    calibrated_variance: Floats  # variance of `deviation` if the mean of r is 0 at each score
    n_rows: Ints  # rows with positive weight
    weighted: bool  # whether rows had weights


@dataclass(frozen=True, eq=False)
class OrderedSums(OneScore):
    """Sums over the rows of each distinct score, arrays of shape (n_scores,), in increasing order of the scores.

    The order of rows has no effect, and rows of weight 0 are left out. Weights of 1 give bitwise the same results as no
    weights, and a power of two in all weights changes no result.
    """

    score: Array  # distinct scores c, increasing
    weight: Floats  # sum of w
    response: Floats  # sum of w z, where z is the outcome
    weight_sq: Floats  # sum of w^2
    response_weight_sq: Floats  # sum of w^2 z
    n_rows: Ints  # rows with positive weight
    weighted: bool = False
    target: str = "confidence"

    @classmethod
    def from_rows(cls, rows: Predictions) -> "OrderedSums":
        """Sort valid rows once and sum them by score."""
        weight = rows.scale_free().weight
        return _unweighted(rows) if weight is None else _weighted(rows, require_ratios(weight))

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weighted else ""
        return f"OrderedSums({self.n_rows.sum()} rows, {len(self)} distinct scores, {self.target}{weighted})"

    def with_effect(self, effect: float) -> "OrderedSums":
        """Return sums whose effective number of rows is divided by a design effect, as for rows in clusters."""
        squares = {name: getattr(self, name) * effect for name in ("weight_sq", "response_weight_sq")}
        return replace(self, **squares)

    @property
    def deviation(self) -> Floats:
        """Sum of w (z - c)."""
        product = np.multiply(self.weight, self.score, dtype=np.float64)
        return np.subtract(self.response, product, out=product)

    @property
    def deviation_weight_sq(self) -> Floats:
        """Sum of w^2 (z - c)."""
        product = np.multiply(self.weight_sq, self.score, dtype=np.float64)
        return np.subtract(self.response_weight_sq, product, out=product)

    @property
    def deviation_sq(self) -> Floats:
        """Sum of w^2 (z - c)^2."""
        negative = (self.weight_sq - self.response_weight_sq) * np.square(self.score, dtype=np.float64)
        return negative + self.response_weight_sq * (1.0 - self.score.astype(np.float64, copy=False)) ** 2

    @property
    def calibrated_variance(self) -> Floats:
        """Sum of w^2 c (1 - c): the variance of `deviation` under exact calibration."""
        score = self.score.astype(np.float64, copy=False)
        return self.weight_sq * (score * (1.0 - score))


def _unweighted(rows: Predictions) -> OrderedSums:
    """Sort keys of score and outcome, which needs one array of the size of the scores and no index."""
    score, outcome = sort_with_outcome(rows.confidence, rows.outcome)
    starts = _starts(score)
    if starts is None:
        n_rows = np.broadcast_to(np.int64(1), score.shape)
        response = outcome.astype(np.float64)
    else:
        n_rows = np.diff(starts, append=len(score))
        response = np.add.reduceat(outcome, starts, dtype=np.float64)
        score = score[starts]
    weight = np.broadcast_to(1.0, score.shape) if starts is None else n_rows.astype(np.float64)
    return OrderedSums(score, weight, response, weight, response, n_rows, weighted=False, target=rows.target)


def _weighted(rows: Predictions, weight: Floats) -> OrderedSums:
    """Sort the index of the rows, because weights follow the scores."""
    order, score = stable_order(rows.confidence)
    weight = np.copysign(weight, 0.5 - rows.outcome)[order]  # signs are outcomes: one random read per row, not two
    del order  # memory for the sums
    if not weight.all():
        counted = weight != 0
        score, weight = score[counted], weight[counted]
    outcome, weight = np.signbit(weight), np.abs(weight, out=weight)
    starts, size = _starts(score), len(score)

    def total(values: Floats) -> Floats:
        return values if starts is None else np.add.reduceat(values, starts)

    sums, responses = total(weight), total(weight * outcome)
    square = np.square(weight, out=None if starts is None else weight)  # weights that are not kept make room
    return OrderedSums(
        score=score if starts is None else score[starts], weight=sums, response=responses,
        weight_sq=total(square), response_weight_sq=total(square * outcome),
        n_rows=np.broadcast_to(np.int64(1), size) if starts is None else np.diff(starts, append=size),
        weighted=True, target=rows.target,
    )  # fmt: skip


def _starts(score: Array) -> Indices | None:
    """Return the first row of each distinct score, or None if all scores are distinct."""
    first = np.empty(len(score), dtype=np.bool_)
    first[:1] = True
    np.not_equal(score[1:], score[:-1], out=first[1:])
    return None if first.all() else np.flatnonzero(first)


def sort_with_outcome(score: Array, outcome: Array) -> tuple[Array, Bools]:
    """Sort scores in [0, 1], and rows of equal scores by outcome; scores of more than 64 bits are rounded to float64.

    The highest two bits of floats below 2 are 0, so a shift by one makes room for the outcome, and no index is needed.
    """
    keys = _bits(_at_most_64_bits(score))
    one = keys.dtype.type(1)
    np.left_shift(keys, one, out=keys)
    np.bitwise_or(keys, outcome == 1, out=keys)
    keys.sort()
    outcome = np.bitwise_and(keys, one).astype(np.bool_)
    np.right_shift(keys, one, out=keys)
    return keys.view(f"f{keys.dtype.itemsize}"), outcome


def stable_order(score: Array) -> tuple[Ints, Array]:
    """Return ``np.argsort(score, kind="stable")`` of one or more scores in [0, 1], and the sorted scores, without -0.

    The highest bits of a score and its index, together 64 bits, are sorted as one integer, and ties sorted again.
    """
    score = _at_most_64_bits(score)
    least, most = (int(_bits(end)[0]) for end in (score.min(keepdims=True), score.max(keepdims=True)))
    index_bits = (len(score) - 1).bit_length()
    left_out = max(0, (most - least).bit_length() + index_bits - 64)
    keys = np.empty(len(score), dtype=np.uint64)
    for begin in range(0, len(score), CHUNK):
        high = _bits(score[begin : begin + CHUNK]).astype(np.uint64) - np.uint64(least) >> np.uint64(left_out)
        index = np.arange(begin, begin + len(high), dtype=np.uint64)
        keys[begin : begin + CHUNK] = high << np.uint64(index_bits) | index
    keys.sort()
    keys &= np.uint64(2**index_bits - 1)
    order = keys.view(np.int64)
    ordered = score[order]
    if left_out and len(wrong := np.flatnonzero(ordered[1:] < ordered[:-1])):
        again = _with_equal_bits(ordered, wrong, least, left_out)
        order[again] = order[again][np.argsort(ordered[again], kind="stable")]
        ordered[again] = score[order[again]]
    ordered += np.zeros((), score.dtype)
    return order, ordered


def _at_most_64_bits(score: Array) -> Array:
    return score if score.dtype.itemsize in (2, 4, 8) else score.astype(np.float64)


def _bits(score: Array) -> Keys:
    """Copy the bits of floats >= 0, which have the order of the floats when they are read as unsigned integers."""
    unsigned = np.dtype(f"u{score.dtype.itemsize}")
    bits = (score + np.zeros((), score.dtype)).view(unsigned)  # adding 0 makes a copy, and 0 of -0
    return bits.astype(unsigned.newbyteorder("="), copy=False)


def _with_equal_bits(score: Array, rows: Indices, least: int, left_out: int) -> Indices:
    """Return all rows that have the highest bits of one of these rows; the highest bits of `score` are sorted."""
    above = _bits(score[rows]).astype(np.uint64) - np.uint64(least) >> np.uint64(left_out)
    lowest = (np.unique(above) << np.uint64(left_out)) + np.uint64(least)
    # bisection is right although lower bits are not sorted: all scores of a range are on one side of its ends
    begin, end = (np.searchsorted(score, bits.view(np.float64)) for bits in (lowest, lowest + np.uint64(2**left_out)))
    size = end - begin
    return np.repeat(end - np.cumsum(size), size) + np.arange(size.sum())


@dataclass(frozen=True, eq=False)
class GridSteps(StoredSteps):
    """Steps whose scores are the mean confidences of occupied bins.

    `rise` and `fall` have the difference `deviation`. Within the bin, the sum lies between -fall and rise in any order
    of its rows.
    """

    rise: Floats  # sum of w (1 - c) over rows with outcome 1
    fall: Floats  # sum of w c over rows with outcome 0
    edges: Floats  # (n_scores, 2) lower and upper edge of each bin

    lower = property(lambda self: self.edges[:, 0])
    upper = property(lambda self: self.edges[:, 1])


Steps = OrderedSums | StoredSteps  #: Steps of a cumulative difference, in increasing order of the scores.


def steps_of_counts(counts: BinnedCounts) -> GridSteps:
    """Return one step per occupied bin of counts with at least one row of positive weight.

    Weights and deviations are exact. Without weights, so are the sums of squares. With weights, the squares of the
    weights are assumed to be unrelated to outcome and confidence within a bin.
    """
    occupied = counts.occupied
    weight, deviation = counts.weight[:, occupied], counts.deviation[:, occupied]
    squares, weight_sq, middle = (v[occupied] for v in (counts.deviation_sq, counts.weight_sq, counts.bins.midpoints))
    total, moved = weight.sum(axis=0), deviation.sum(axis=0)
    rise = np.maximum(weight[1] * (1 - middle) - deviation[1], 0.0)
    fall = np.maximum(weight[0] * middle + deviation[0], 0.0)
    per_weight = weight_sq / total
    # c (1 - c) = m (1 - m) + (1 - 2 m) (c - m) - (c - m)^2, with the midpoint m
    variance = total * middle * (1 - middle) + (1 - 2 * middle) * moved - squares
    loss = total_without_squares(middle, weight, deviation).sum(axis=0) + squares
    return GridSteps(
        score=counts.mean_confidence[occupied], weight=total, deviation=rise - fall, weight_sq=weight_sq,
        deviation_weight_sq=per_weight * (rise - fall), deviation_sq=per_weight * np.maximum(loss, 0.0),
        calibrated_variance=per_weight * np.maximum(variance, 0.0), n_rows=counts.n[occupied],
        weighted=counts.weighted, rise=rise, fall=fall,
        edges=np.column_stack([counts.bins.edges[:-1], counts.bins.edges[1:]])[occupied],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MergedCounts(Whole):
    """Sums over rows by bin, shape (n_bins,); every bin has rows. Every posterior of binned counts accepts it."""

    bins: Bins  # an edge lies halfway between the scores on its two sides
    upper: Floats  # largest score, or upper edge: the cumulative curve of the bins is that of the rows at these scores
    n: Ints  # rows
    weight: Floats  # sum of w
    deviation: Floats  # sum of w (z - c)
    score_sum: Floats  # sum of w c
    weight_sq: Floats  # sum of w^2
    step_size: Floats  # sum over the scores of (sum of w^2)^(3/2), which the mean step of a curve needs
    weighted: bool  # whether rows had weights

    not_added = "bins of equal weight cannot be added, because their edges depend on the rows."
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
    def occupied(self) -> Bools:
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
        """Mean standard deviation of a step between bins or scores, weighted by variance, relative to its end."""
        each = accuracy * (1 - accuracy)
        size = self.step_size if between == "scores" else self.weight_sq**1.5
        return float((each**1.5 * size).sum() / (each * self.weight_sq).sum() ** 1.5)

    def part(self, which: Bools) -> "MergedCounts":
        """Return the bins of a mask, with edges halfway between their mean scores."""
        middle = self.mean_confidence[which]
        arrays = {name: value[which] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        edges = np.concatenate([[0.0], (middle[1:] + middle[:-1]) / 2, [1.0]])
        return replace(self, bins=Bins(edges, "equal-mass"), **arrays)  # type: ignore[arg-type]  # all are arrays


def merge_scores(steps: Steps, n_bins: int) -> MergedCounts:
    """Merge steps of outcomes 0 and 1 less their scores into at most `n_bins` bins of nearly equal weight."""
    return merge_between(steps, ends_of_equal_weight(steps, n_bins))


def ends_of_equal_weight(steps: Steps, n_bins: int) -> Indices:
    """Return the number of scores below each inner edge of at most `n_bins` bins of nearly equal weight."""
    reached = np.cumsum(steps.weight)
    wanted = reached[-1] * np.arange(1, n_bins) / n_bins
    after = np.searchsorted(reached, wanted)  # the score with which the multiple is reached
    before = np.where(after > 0, reached[after - 1], 0.0)
    last = np.where(wanted - before < reached[after] - wanted, after, after + 1)  # number of scores below the edge
    return np.unique(last[(last > 0) & (last < len(steps))])


def merge_between(steps: Steps, ends: Indices) -> MergedCounts:
    """Merge steps into bins, given the number of scores below each inner edge, increasing, shape (n_bins - 1,)."""
    starts = np.concatenate([[0], ends])
    score = steps.score.astype(np.float64, copy=False)

    def total(values: Array) -> Array:
        return np.add.reduceat(values, starts)

    edges = np.concatenate([[0.0], (score[ends - 1] + score[ends]) / 2, [1.0]])
    return MergedCounts(
        bins=Bins(edges, "equal-mass"),
        upper=steps.upper.astype(np.float64, copy=False)[np.append(ends, len(score)) - 1],
        n=total(steps.n_rows), weight=total(steps.weight), deviation=total(steps.deviation),
        score_sum=total(steps.weight * score), weight_sq=total(steps.weight_sq),
        step_size=total(steps.weight_sq * np.sqrt(steps.weight_sq)), weighted=steps.weighted,
    )  # fmt: skip
