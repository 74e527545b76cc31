"""Sub-models of bins that are off together: shifts of the logit, constant on segments, and one amount for several bins.

A segment is a half-open range [start, end) of blocks; a block is one bin, or several neighbouring bins if there are
more than 128. Tables of segments are indexed by [end, start]. `Segments` computes a grid of shifts, the likelihoods
of all segments, a forward recursion over segments (the evidence), and a backward recursion (draws and probabilities);
Fearnhead (2006).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, ndtr

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.shrinkage.sub_model import SubModel, SubModelDraws, inverse_probabilities
from bayescal.stats.sums import VALUE_FLOOR

LARGEST_SHIFT = 10.0  #: Largest absolute shift of the logit.
#: Segments that are off are shifted from logits of at most this size, that of a confidence of 1 - 1e-4; otherwise a
#: shift could not describe contrary outcomes at confidences of 0 and 1.
FARTHEST_ORIGIN = 9.21
#: The spacing of the grid of shifts is FINENESS / sqrt(1 + I), but at most COARSEST sqrt(1 + (shift / EVEN)^2). I is
#: the Fisher information about a common shift, summed over the bins for which the shift is plausible.
FINENESS, COARSEST, EVEN = 0.4, 0.06, 0.5
PLACES = 200  #: Number of points on each side of 0 at which the spacing is computed.
REACH = 9.0  #: Shifts within this many standard deviations of the observed shift of a bin are plausible for it.
SCALES = 60  #: Number of quadrature points over the standard deviation tau of a shift.
#: Maximum number of blocks. With more bins, several neighbouring bins form one block, which is not divided.
BLOCKS = 128
LEAST = np.finfo(float).tiny  #: The least product of likelihood ratios, relative to the largest terms of its factors.
LARGEST_RATE = 0.9  #: Largest probability of a change between two neighbouring blocks.


class SegmentPrior(NamedTuple):
    """Constants of the prior of segments."""

    #: Equally probable values of the expected number of changes over all bins.
    changes: tuple[float, ...] = (1.0, 4.0, 16.0)
    off: float = 0.5  #: Prior probability that a segment is off.
    #: The shift of a segment that is off is Normal(0, tau^2); the density of tau is proportional to tau^(shape - 1).
    shape: float = 0.5
    largest_scale: float = 2.5  #: Upper bound of tau.


SEGMENT_PRIOR = SegmentPrior()


@dataclass(frozen=True, eq=False)
class Segments(SubModel):
    """Posterior of shifts that are constant on segments of neighbouring bins, and 0 on some segments.

    Given the rate of changes, the starts of successive segments form a Markov chain. A forward recursion over segments
    gives the marginal likelihood, and a backward recursion gives independent draws: P. Fearnhead (2006), "Exact and
    efficient Bayesian inference for multiple changepoint problems", Statistics and Computing 16, 203-213. The
    approximations are the grids of shifts and of tau and, with more than 128 bins, the blocks. Shifts are added to the
    logits of the mean confidences, which are clipped at `FARTHEST_ORIGIN`.
    """

    n: Floats
    k: Floats
    logit: Floats
    confidence: Floats
    prior: SegmentPrior = SEGMENT_PRIOR

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(np.logaddexp.reduce(self._forward[:, -1])) - float(np.log(len(self._rates)))

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw independently, by the backward recursion."""
        shift = self.shifts(count, rng)
        off = shift != 0
        return SubModelDraws(np.where(off, expit(self._origin + shift), self.confidence), off, {}, count)

    def shifts(self, count: int, rng: Generator) -> Floats:
        """Draw shifts of the bins, shape (count, n_bins); exactly 0 on segments that are not off."""
        owner, start, end = self._draw_segments(count, rng)
        off = rng.random(len(owner)) < self._off[end, start]
        owner, start, end = owner[off], start[off], end[off]
        value = self._draw_shifts(start, end, rng)
        change = np.zeros((count, self._blocks + 1))
        # += with an index would add repeated pairs only once, but the pairs (owner, start) and (owner, end) are unique
        change[owner, start] += value
        change[owner, end] -= value
        shift = np.cumsum(change, axis=1)[:, :-1]
        covered = np.zeros((count, self._blocks + 1), np.int8)
        covered[owner, start] += 1
        covered[owner, end] -= 1
        shift[np.cumsum(covered, axis=1)[:, :-1] == 0] = 0.0
        return np.repeat(shift, self._sizes, axis=1)

    @cached_property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin lies in a segment that is off, shape (n_bins,)."""
        joint = self._segment_probability * self._off  # [end, start]
        change = np.zeros(self._blocks + 1)
        change += joint.sum(axis=0)
        change -= joint.sum(axis=1)
        return np.repeat(np.clip(np.cumsum(change)[:-1], 0, 1), self._sizes)

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        joint = self._segment_probability * self._off  # [end, start]
        weight = np.zeros((self._blocks, len(self._middles)))  # posterior mass of each shift, by block
        for end in range(1, self._blocks + 1):
            weight[:end] += np.cumsum(self._cell_mass(end) * joint[end, :end, None], axis=0)
        weight = np.repeat(weight, self._sizes, axis=0)
        shifted = (weight * inverse_probabilities(expit(self._origin[:, None] + self._middles))).sum(axis=2)
        return shifted + (1 - self.off_probability) * inverse_probabilities(self.confidence)

    def _cell_mass(self, end: int) -> Floats:
        """Return the posterior mass of each cell in the segments with this end, if they are off, (end, n_cells)."""
        return np.exp(self._shifted[end] - self._shifted[:end] + self._log_prior - self._log_slab[end, :end, None])

    @property
    def _origin(self) -> Floats:
        """Logits to which shifts are added."""
        return np.clip(self.logit, -FARTHEST_ORIGIN, FARTHEST_ORIGIN)

    def _cumulated(self, values: Floats) -> Floats:
        """Cumulate values of shape (n_bins, n_cells) over blocks; row b is the sum over the blocks before b."""
        sums = np.cumsum(np.add.reduceat(values, self._starts), axis=0)
        return np.concatenate([np.zeros((1, sums.shape[1])), sums])

    @property
    def _middles(self) -> Floats:
        return 0.5 * (self._edges[1:] + self._edges[:-1])

    @cached_property
    def _starts(self) -> Indices:
        """First bin of each block."""
        each = -(-len(self.n) // BLOCKS)
        return np.arange(0, len(self.n), each)

    @property
    def _blocks(self) -> int:
        return len(self._starts)

    @property
    def _sizes(self) -> Indices:
        return np.diff(np.append(self._starts, len(self.n)))

    @cached_property
    def _edges(self) -> Floats:
        """Edges of the cells of the grid of shifts; one cell is centred on 0."""
        down, up = (self._edges_to(sign) for sign in (-1, 1))
        return np.concatenate([-down[::-1], up])

    def _edges_to(self, sign: int) -> Floats:
        """Return the edges on one side of 0 as distances, up to the largest shift that is plausible for any bin."""
        observed = np.log(self.k + 0.5) - np.log(self.n - self.k + 0.5) - self._origin
        reach = REACH * np.sqrt(1 / (self.k + 0.5) + 1 / (self.n - self.k + 0.5))
        nearest, farthest = sign * np.stack([observed - reach, observed + reach])[::sign]  # plausible shifts
        first = 0.5 * FINENESS / np.sqrt(1 + self.n @ (expit(self._origin) * expit(-self._origin)))
        first = min(first, 0.5 * COARSEST)
        place = np.geomspace(first, np.clip(farthest.max(), 2 * first, LARGEST_SHIFT), PLACES)
        # bins for which a shift between the neighbouring points is plausible
        could = (nearest[:, None] <= np.append(place[1:], np.inf)) & (farthest[:, None] >= np.append(0.0, place[:-1]))
        eta = self._origin[:, None] + sign * place
        information = (self.n[:, None] * could * expit(eta) * expit(-eta)).sum(axis=0)
        least = FINENESS / (COARSEST * np.sqrt(1 + (place / EVEN) ** 2))
        density = np.maximum(np.sqrt(1 + information), least) / FINENESS
        count = np.append(0.0, np.cumsum(np.diff(place) * (density[1:] + density[:-1]) / 2))
        return np.interp(np.linspace(0, count[-1], int(np.ceil(count[-1])) + 1), count, place)

    @property
    def _middle(self) -> int:
        """Index of the cell around 0."""
        return int(np.searchsorted(self._edges, 0.0)) - 1

    @cached_property
    def _log_prior(self) -> Floats:
        """Log prior mass of each cell of the grid, given that the segment is off."""
        u = (np.arange(SCALES) + 0.5) / SCALES
        tau = self.prior.largest_scale * u ** (1 / self.prior.shape)
        # differences of tails on one side of 0 do not cancel
        tail = ndtr(-np.abs(self._edges) / tau[:, None])
        mass = np.abs(np.diff(tail, axis=1)).mean(axis=0)
        mass[self._middle] = (1 - tail[:, self._middle] - tail[:, self._middle + 1]).mean()
        with np.errstate(divide="ignore"):
            return np.log(mass)

    @cached_property
    def _shifted(self) -> Floats:
        """Log likelihood ratio of each shift against 0, cumulated over blocks, shape (n_blocks + 1, n_cells)."""
        # with h = expit(eta): k log(h/c) + (n - k) log((1 - h)/(1 - c)) = k (eta - logit c) + n log((1 - h)/(1 - c))
        log_ratio = np.exp(self._origin)[:, None] * np.exp(self._middles)  # the odds of h
        log_ratio += 1
        np.log(log_ratio, out=log_ratio)
        log_ratio += log_expit(-self.logit)[:, None]
        log_ratio *= -self.n[:, None]
        log_ratio += self.k[:, None] * self._middles
        log_ratio += (self.k * (self._origin - self.logit))[:, None]
        return self._cumulated(log_ratio)

    @cached_property
    def _log_slab(self) -> Floats:
        """Log likelihood ratio of each segment, off against exact, by [end, start]; -inf if end <= start.

        All segments across an edge, the sums of whose two parts are multiplied, need one product of matrices. A product
        that underflows belongs to a segment whose parts have far more probability with a shift each.
        """
        shifted, prior = self._shifted, self._log_prior
        result = np.full((self._blocks + 1, self._blocks + 1), -np.inf)
        single, ranges = np.diff(shifted, axis=0) + prior, [(0, self._blocks)]
        top = single.max(axis=1, keepdims=True)
        diagonal = np.arange(1, self._blocks + 1), np.arange(self._blocks)
        result[diagonal] = top[:, 0] + np.log(np.exp(single - top).sum(axis=1))
        for low, high in ranges:  # a list that grows
            middle = (low + high) // 2
            if middle == low:
                continue
            ranges += [(low, middle), (middle, high)]
            before = shifted[middle] - shifted[low:middle]
            after = shifted[middle + 1 : high + 1] - shifted[middle] + prior
            top, tops = before.max(axis=1, keepdims=True), after.max(axis=1, keepdims=True)
            product = np.exp(after - tops) @ np.exp(before - top).T
            result[middle + 1 : high + 1, low:middle] = np.log(np.maximum(product, LEAST)) + tops + top.T
        return result

    @cached_property
    def _log_segment(self) -> Floats:
        """Log likelihood ratio of each segment, averaged over being off and being exact, by [end, start]."""
        return np.logaddexp(np.log(self.prior.off) + self._log_slab, np.log1p(-self.prior.off))

    @cached_property
    def _off(self) -> Floats:
        """Posterior probability that each segment is off, by [end, start]."""
        return np.exp(np.log(self.prior.off) + self._log_slab - self._log_segment)

    @cached_property
    def _rates(self) -> Floats:
        """Probability of a change between two neighbouring blocks, for each expected number of changes."""
        return np.minimum(np.array(self.prior.changes) / max(self._blocks - 1, 1), LARGEST_RATE)

    @cached_property
    def _links(self) -> Floats:
        """Log prior times likelihood ratio of segments [start, end), given the start, by [rate, end, start]."""
        end, start = np.arange(self._blocks + 1)[:, None], np.arange(self._blocks + 1)
        stay, change = np.log1p(-self._rates)[:, None, None], np.log(self._rates)[:, None, None]
        link = self._log_segment + stay * np.maximum(end - start - 1, 0) + np.where(end < self._blocks, change, 0.0)
        return np.where(start < end, link, -np.inf)

    @cached_property
    def _forward(self) -> Floats:
        """Log of the sum over segmentations of the blocks before an edge, the end of a segment, by [rate, edge]."""
        forward = np.full((len(self._rates), self._blocks + 1), -np.inf)
        forward[:, 0] = 0.0
        for end in range(1, self._blocks + 1):
            forward[:, end] = np.logaddexp.reduce(forward[:, :end] + self._links[:, end, :end], axis=1)
        return forward

    @cached_property
    def _backward(self) -> Floats:
        """Posterior probability of the start of a segment, given its end, by [rate, end, start]."""
        with np.errstate(invalid="ignore"):
            return np.exp(self._forward[:, None, :] + self._links - self._forward[:, :, None])

    @cached_property
    def _rate_probability(self) -> Floats:
        """Posterior probability of each rate of changes."""
        return np.exp(self._forward[:, -1] - np.logaddexp.reduce(self._forward[:, -1]))

    @cached_property
    def _segment_probability(self) -> Floats:
        """Posterior probability that [start, end) is a segment, by [end, start]."""
        ends = np.zeros((len(self._rates), self._blocks + 1))
        ends[:, -1] = self._rate_probability
        joint = np.zeros_like(self._backward)
        for end in range(self._blocks, 0, -1):
            joint[:, end] = ends[:, end, None] * self._backward[:, end]
            ends[:, :end] += joint[:, end, :end]
        return joint.sum(axis=0)

    def _draw_segments(self, count: int, rng: Generator) -> tuple[Indices, Indices, Indices]:
        """Draw the segments: index of the draw, first block, and end block (exclusive) of each."""
        cumulative = np.cumsum(self._backward, axis=2)
        # concatenate the rows, each shifted by its index, so that one search serves all draws
        table = (cumulative / np.maximum(cumulative[:, :, -1:], np.finfo(float).tiny)).reshape(-1, self._blocks + 1)
        rows = (table + np.arange(len(table))[:, None]).ravel()
        draw = np.arange(count)
        rate = np.searchsorted(np.cumsum(self._rate_probability)[:-1], rng.random(count))
        at = np.full(count, self._blocks)
        parts = []
        while len(draw):
            row = rate * (self._blocks + 1) + at
            place = np.searchsorted(rows, row + rng.random(len(draw)), side="right")
            start = np.clip(place - row * (self._blocks + 1), 0, at - 1)
            parts.append((draw, start, at))
            more = start > 0
            draw, rate, at = draw[more], rate[more], start[more]
        return tuple(np.concatenate(values) for values in zip(*parts, strict=True))  # type: ignore[return-value]

    def _draw_shifts(self, start: Indices, end: Indices, rng: Generator) -> Floats:
        """Draw shifts of segments that are off: a cell by its posterior mass, then a point within it."""
        pair = start * (self._blocks + 1) + end
        present = np.zeros((self._blocks + 1) ** 2, bool)
        present[pair] = True
        pairs, which = np.flatnonzero(present), (np.cumsum(present) - 1)[pair]
        first, last = pairs // (self._blocks + 1), pairs % (self._blocks + 1)
        mass = self._shifted[last] - self._shifted[first] + self._log_prior
        mass -= mass.max(axis=1, keepdims=True)
        np.cumsum(np.exp(mass, out=mass), axis=1, out=mass)
        mass /= mass[:, -1:].copy()
        mass += np.arange(len(pairs))[:, None]
        rows = mass.ravel()
        cells = len(self._edges) - 1
        place = np.searchsorted(rows, which + rng.random(len(which)), side="right") - which * cells
        cell = np.clip(place, 0, cells - 1)
        # uniform within a cell; in the cell around 0, by the prior density, which has a pole at 0
        part = 2 * rng.random(len(cell)) - 1
        part = np.where(cell == self._middle, np.sign(part) * np.abs(part) ** (1 / self.prior.shape), part)
        return self._middles[cell] + 0.5 * part * np.diff(self._edges)[cell]


#: Number of cells of the grid of log amounts, and number of grids, each on the relevant part of the one before.
CELLS, ROUNDS = 48, 4
HOPELESS = 18.0  #: Cells whose log mass is this far below the largest are not relevant.


class OffsetPrior(NamedTuple):
    """Constants of the prior of equal offsets."""

    least: float = 1e-4  #: Smallest amount delta; its logarithm has a uniform prior.
    largest: float = 0.7  #: Largest amount.
    rho: tuple[float, ...] = (0.25, 0.5, 1.0)  #: Equally probable values of the probability that a bin is off.


OFFSET_PRIOR = OffsetPrior()


@dataclass(frozen=True, eq=False)
class EqualOffsets:
    r"""Posterior of bins that are off by one amount, upwards or downwards with equal probability, on a grid of amounts.

    Offsets are equal on the arcsine scale, which stabilises the variance of a binomial: a bin that is off has
    :math:`\theta_b = \sin^2(\arcsin\sqrt{\bar c_b} \pm \delta)`, where :math:`\delta` is the amount. Its gap is about
    :math:`2 \delta \sqrt{\bar c_b (1 - \bar c_b)}`, proportional to the standard deviation of an outcome.
    """

    n: Floats
    k: Floats
    confidence: Floats
    prior: OffsetPrior = OFFSET_PRIOR

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(np.logaddexp.reduce(self._log_joint, axis=None))

    @property
    def share(self) -> Floats:
        """Posterior probability of each pair of amount and rho, shape (n_amounts, n_rho)."""
        return np.exp(self._log_joint - self.log_evidence)

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw amount and rho on the grid, then the bins."""
        node = rng.choice(self._log_joint.size, count, p=self.share.ravel())
        i, j = np.unravel_index(node, self._log_joint.shape)
        shape = (count, len(self.n))
        off, up = rng.random(shape) < self._off(i, j), rng.random(shape) < self.up_probability[i]
        amount = self.amounts[i] * np.exp(self._step * (rng.random(count) - 0.5))
        accuracy = np.where(off, self.shifted(np.where(up, amount[:, None], -amount[:, None])), self.confidence)
        return SubModelDraws(accuracy, off, {"amount": amount, "rho": np.array(self.prior.rho)[j]}, count)

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of the amount and of rho."""
        amount = float(self.share.sum(axis=1) @ self.amounts)
        return {"amount": amount, "rho": float(self.share.sum(axis=0) @ np.array(self.prior.rho))}

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        up, down = (inverse_probabilities(self.shifted(sign * self.amounts[:, None])) for sign in (1, -1))
        shifted = self.up_probability * up + (1 - self.up_probability) * down
        i, j = np.indices(self._log_joint.shape).reshape(2, -1)
        off, exact = self._off(i, j), inverse_probabilities(self.confidence)[:, None]
        return np.asarray(self.share.ravel() @ ((1 - off) * exact + off * shifted[:, i]))

    def shifted(self, amount: Floats) -> Floats:
        """Return accuracies of bins that are off by a signed amount; broadcasts over bins."""
        angle = np.arcsin(np.sqrt(self.confidence))
        return np.sin(np.clip(angle + amount, 0, np.pi / 2)) ** 2

    @cached_property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin is off, shape (n_bins,)."""
        i, j = np.indices(self._log_joint.shape).reshape(2, -1)
        return self.share.ravel() @ self._off(i, j)

    @property
    def up_probability(self) -> Floats:
        """Posterior probability that a bin that is off lies above its mean confidence, (n_amounts, n_bins)."""
        return expit(np.subtract(*self._log_sides))

    @property
    def amounts(self) -> Floats:
        """Amounts at the centres of the cells of the grid, shape (n_amounts,)."""
        return self._middles(*self._range)

    @staticmethod
    def _middles(low: float, high: float) -> Floats:
        return np.exp(low + (high - low) / CELLS * (np.arange(CELLS) + 0.5))

    @property
    def _step(self) -> float:
        low, high = self._range
        return (high - low) / CELLS

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Bounds of the final grid, in the logarithm of the amount."""
        low, high = np.log(self.prior.least), np.log(self.prior.largest)
        for _ in range(ROUNDS - 1):
            amounts = self._middles(low, high)[:, None]
            log_off = np.logaddexp(self._log_ratio(amounts), self._log_ratio(-amounts)) - np.log(2)
            each = self._log_by_rho(log_off).max(axis=1)
            matters = np.flatnonzero(each > each.max() - HOPELESS)
            step = (high - low) / CELLS
            first, last = max(matters[0] - 1, 0), min(matters[-1] + 2, CELLS)
            low, high = low + step * first, low + step * last
        return float(low), float(high)

    @cached_property
    def _log_sides(self) -> tuple[Floats, Floats]:
        """Log likelihood ratio of each bin, off upwards and downwards against exact, shape (n_amounts, n_bins)."""
        return self._log_ratio(self.amounts[:, None]), self._log_ratio(-self.amounts[:, None])

    def _log_ratio(self, amount: Floats) -> Floats:
        accuracy = np.clip(self.shifted(amount), VALUE_FLOOR, 1 - VALUE_FLOOR)
        stated = np.clip(self.confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        return self.k * np.log(accuracy / stated) + (self.n - self.k) * (np.log1p(-accuracy) - np.log1p(-stated))

    @cached_property
    def _log_off(self) -> Floats:
        """Log likelihood ratio of each bin, off against exact, averaged over directions; shape (n_amounts, n_bins)."""
        return np.logaddexp(*self._log_sides) - np.log(2)

    def _log_by_rho(self, log_off: Floats) -> Floats:
        """Return the log likelihood ratio of all bins for each amount and rho, shape (n_amounts, n_rho)."""
        with np.errstate(divide="ignore"):
            each = [np.logaddexp(np.log(r) + log_off, np.log1p(-r)).sum(axis=1) for r in self.prior.rho]
        return np.stack(each, axis=1)

    @cached_property
    def _log_joint(self) -> Floats:
        """Unnormalised log posterior mass of each amount and rho, shape (n_amounts, n_rho)."""
        width = self._step / np.log(self.prior.largest / self.prior.least)
        return self._log_by_rho(self._log_off) + np.log(width / len(self.prior.rho))

    def _off(self, i: Indices, j: Indices) -> Floats:
        """Return the probability that each bin is off, given the indices of amounts and of rho; shape (n, n_bins)."""
        rho = np.array(self.prior.rho)[j]
        with np.errstate(divide="ignore"):
            prior_odds = np.log(rho) - np.log1p(-rho)
        return expit(prior_odds[:, None] + self._log_off[i])
