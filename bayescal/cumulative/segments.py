"""Segments of differences with Normal errors: exact posterior, without Markov chains."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescal._arrays import Floats, Indices

#: Expected numbers of changes between bins, equally probable, and the largest probability of a change at an edge.
CHANGES, LARGEST_RATE = np.array([1.0, 4.0, 16.0]), 0.9
#: Scale of a difference that is not 0, in standard deviations of a response: density 0.5 (tau x LARGEST)^(-1/2) on (0,
#: LARGEST), on a grid.
LARGEST_SCALE = 1.5
SCALES = np.geomspace(0.01, LARGEST_SCALE, 24)


#: Prior probabilities of the scales, from edges halfway between their logarithms.
_EDGES = np.concatenate([[0.0], np.sqrt(SCALES[1:] * SCALES[:-1]), [LARGEST_SCALE]])
SCALE_WEIGHTS = np.diff(np.sqrt(_EDGES / LARGEST_SCALE))


@dataclass(frozen=True, eq=False)
class NormalSegments:
    r"""Posterior of true differences, given observed ones :math:`d_b \sim N(\delta_b, v_b)` in ordered bins.

    Two sub-models have equal prior probabilities and are averaged by their marginal likelihoods:

    * *drift*: :math:`\delta_b = \alpha + \beta x_b` with the position :math:`x_b` of the bin in [-1, 1], and
      :math:`\alpha, \beta \sim N(0, \tau^2)`.
    * *segments*: :math:`\delta_b` is constant on segments of neighbouring bins. At each inner edge, a segment ends with
      probability :math:`\lambda / (M - 1)`, at most 0.9, where :math:`\lambda` is 1, 4 or 16. The difference of a
      segment is 0 with probability 1/2, otherwise :math:`N(0, \tau^2)`, with a scale of its own.

    The scale is :math:`\tau = 1.5 s u^2`, with the standard deviation s of a response and a uniform u.
    """

    difference: Floats  # observed, shape (n_bins,)
    variance: Floats  # of each, shape (n_bins,)
    unit: float  # standard deviation s of a response

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Precision, and precision times difference, of bins i to j - 1, shape (n_bins + 1, n_bins + 1)."""
        ends = (np.append(0.0, np.cumsum(each / self.variance)) for each in (1 + 0 * self.difference, self.difference))
        precision, total = (each - each[:, None] for each in ends)
        return precision, total

    def _log_ratios(self, precision: Floats, total: Floats) -> Floats:
        """Log marginal likelihood of a segment for each scale, relative to a difference of 0; last axis SCALES."""
        squares = (SCALES * self.unit) ** 2
        shrunk = 1 + precision[..., None] * squares
        return 0.5 * (total[..., None] ** 2 * squares / shrunk - np.log(shrunk)) + np.log(SCALE_WEIGHTS)

    @cached_property
    def _evidence(self) -> Floats:
        """Log marginal likelihood of bins i to j - 1 as one segment, relative to differences of 0."""
        upper = np.triu_indices(len(self.difference) + 1, 1)
        evidence = np.full(self._sums[0].shape, -np.inf)
        slab = np.logaddexp.reduce(self._log_ratios(*(each[upper] for each in self._sums)), axis=-1)
        evidence[upper] = np.logaddexp(0.0, slab) - np.log(2)
        return evidence

    @cached_property
    def _rates(self) -> Floats:
        return np.minimum(CHANGES / max(len(self.difference) - 1, 1), LARGEST_RATE)

    def _last_segments(self, end: int) -> Floats:
        """Log joint density of bins before `end` and of the start of the last segment, shape (len(CHANGES), end)."""
        inside = np.arange(end - 1, -1, -1)
        return self._before[:, :end] + self._evidence[:end, end] + inside * np.log1p(-self._rates)[:, None]

    @cached_property
    def _before(self) -> Floats:
        """Log marginal likelihood of the bins before each edge at which a segment ends; (len(CHANGES), n_bins + 1)."""
        n = len(self.difference)
        before = np.zeros((len(CHANGES), n + 1))
        vars(self)["_before"] = before  # `_last_segments` reads what has been computed
        for end in range(1, n + 1):
            before[:, end] = np.logaddexp.reduce(self._last_segments(end), axis=1) + np.log(self._rates) * (end < n)
        return before

    @cached_property
    def _drifts(self) -> tuple[Floats, Floats, Floats]:
        """Log marginal likelihoods, means and roots of covariances of the two coefficients, for each scale."""
        design = np.stack([np.ones(len(self.difference)), self.place], axis=1)
        information, score = design.T @ (design / self.variance[:, None]), design.T @ (self.difference / self.variance)
        prior = (SCALES * self.unit)[:, None, None] ** -2.0 * np.eye(2)
        covariance = np.linalg.inv(information + prior)
        mean = covariance @ score
        evidence = 0.5 * (np.log(np.linalg.det(covariance @ prior)) + mean @ score) + np.log(SCALE_WEIGHTS)
        return evidence, mean, np.linalg.cholesky(covariance)

    @property
    def place(self) -> Floats:
        """Position of each bin, from -1 to 1; shape (n_bins,)."""
        n = len(self.difference)
        return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)

    @cached_property
    def _probabilities(self) -> Floats:
        """Posterior probabilities of drifts by scale, and of segments by expected number of changes."""
        logs = np.concatenate([self._drifts[0], self._before[:, -1] - np.log(len(CHANGES))])
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    @property
    def p_drift(self) -> float:
        """Posterior probability of the drift."""
        return float(self._probabilities[: len(SCALES)].sum())

    def sample(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent true differences; shape (n_draws, n_bins)."""
        which = rng.choice(len(self._probabilities), n_draws, p=self._probabilities)
        in_segments = self._segments(np.maximum(which - len(SCALES), 0), rng)
        _, mean, root = self._drifts
        at = np.minimum(which, len(SCALES) - 1)
        intercept, slope = (mean[at] + (root[at] @ rng.standard_normal((n_draws, 2, 1)))[..., 0]).T
        return np.where((which < len(SCALES))[:, None], intercept[:, None] + slope[:, None] * self.place, in_segments)

    def _segments(self, which: Indices, rng: np.random.Generator) -> Floats:
        """Draw segments from the last to the first, given the number of expected changes of each draw."""
        n = len(self.difference)
        end, first = np.full(len(which), n), np.zeros((len(which), n))
        begins = np.zeros((len(which), n), dtype=np.intp)
        for edge in range(n, 0, -1):
            rows = np.flatnonzero(end == edge)
            begin = _categorical(self._last_segments(edge), rng.random(len(rows)), which[rows])
            precision, total = (each[begin, edge] for each in self._sums)
            ratios = np.concatenate([np.zeros((len(rows), 1)), self._log_ratios(precision, total)], axis=1)
            scale = np.append(0.0, SCALES * self.unit)[_categorical(ratios, rng.random(len(rows)))]
            variance = scale**2 / (1 + precision * scale**2)
            first[rows, begin] = variance * total + np.sqrt(variance) * rng.standard_normal(len(rows))
            begins[rows, begin] = begin
            end[rows] = begin
        return np.take_along_axis(first, np.maximum.accumulate(begins, axis=1), axis=1)


def _categorical(logs: Floats, uniform: Floats, rows: Indices | None = None) -> Indices:
    """Draw an index along the last axis with probabilities proportional to exp(logs); `rows` selects rows of `logs`."""
    cumulative = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    cumulative /= cumulative[:, -1:]
    return (uniform[:, None] > (cumulative if rows is None else cumulative[rows])).sum(axis=1)
