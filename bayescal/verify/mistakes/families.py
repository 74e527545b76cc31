"""Mistakes in the sub-models with shared errors and noisy labels, in saturated bins, and in averages over families."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior._noise import LabelNoise, NoiseAtEnds
from bayescal.posterior._offsets import EqualOffsets
from bayescal.posterior._part import Part, PartDraws
from bayescal.posterior._prior import EXACT
from bayescal.posterior._saturated import SaturatedBins
from bayescal.posterior._segments import Segments
from bayescal.posterior.shrinkage import ShrinkagePosterior
from bayescal.verify.mistakes.control import Control
from bayescal.verify.mistakes.shrinkage import Making, control, most_probable, weighing
from bayescal.verify.sbc import Sampler, one_by_one
from bayescal.verify.simulators import JointPosterior, ShrinkageSimulator, prior_probabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


# --- ways to be wrong


def _sampling(wrong: type[ShrinkagePosterior]) -> Making:
    """The sampler of another class of posterior."""

    def sampler(simulator: ShrinkageSimulator) -> Sampler:
        return one_by_one(lambda counts: JointPosterior(wrong(counts, simulator.prior)), pool=simulator.pool)

    return sampler


def _part(change: Callable[[Part], Part]) -> Making:
    """The right posterior with another sub-model in the place of each."""

    class Wrong(ShrinkagePosterior):
        @cached_property
        def _parts(self) -> dict[str, Part]:
            right = ShrinkagePosterior(self.counts, self.prior_options)
            return {name: change(part) for name, part in right._parts.items()}

    return _sampling(Wrong)


def _believing(**constants: object) -> Making:
    """Segments or offsets with other constants of the prior."""

    def change(part: Part) -> Part:
        assert isinstance(part, Segments | EqualOffsets)
        return replace(part, prior=part.prior._replace(**constants))  # type: ignore[arg-type]  # either's own

    return _part(change)


def _segments(wrong: type[Segments]) -> Making:
    def change(part: Part) -> Part:
        assert isinstance(part, Segments)
        return wrong(part.n, part.k, part.logit, part.confidence)

    return _part(change)


def _offsets(wrong: type[EqualOffsets]) -> Making:
    def change(part: Part) -> Part:
        assert isinstance(part, EqualOffsets)
        return wrong(part.n, part.k, part.confidence)

    return _part(change)


def _noise(wrong: type[LabelNoise]) -> Making:
    def change(part: Part) -> Part:
        assert isinstance(part, LabelNoise)
        return wrong(part.n, part.k, part.confidence, part.free_rate)

    return _part(change)


def _at_ends(wrong: type[NoiseAtEnds]) -> Making:
    def change(part: Part) -> Part:
        assert isinstance(part, NoiseAtEnds)
        return wrong(part.n, part.k, part.confidence, part.crowded)

    return _part(change)


def _saturated(wrong: type[SaturatedBins]) -> Making:
    class Wrong(ShrinkagePosterior):
        @cached_property
        def _saturated(self) -> SaturatedBins:
            right = ShrinkagePosterior(self.counts, self.prior_options)._saturated
            return wrong(right.n, right.k, right.confidence)

    return _sampling(Wrong)


# --- runs of bins off


class _Segments(Segments):
    """Drawn by steps of their own, rightly: what the others change."""

    def _draw_shifts(self, start: Ints, end: Ints, rng: np.random.Generator) -> Floats:
        return super()._draw_shifts(start, end, rng)


class _OffByPrior(Segments):
    @cached_property
    def _off(self) -> Floats:
        return np.full_like(super()._off, self.prior.off)


class _WrongSign(Segments):
    def _draw_shifts(self, start: Ints, end: Ints, rng: np.random.Generator) -> Floats:
        return -super()._draw_shifts(start, end, rng)


class _FirstBinOnly(Segments):
    def _draw_shifts(self, start: Ints, end: Ints, rng: np.random.Generator) -> Floats:
        return super()._draw_shifts(start, start + 1, rng)


class _ShiftByPrior(Segments):
    def _draw_shifts(self, start: Ints, end: Ints, rng: np.random.Generator) -> Floats:
        scale = self.prior.largest_scale * rng.random(len(start)) ** (1 / self.prior.shape)
        return scale * rng.standard_normal(len(start))


class _Tied(Segments):
    def shifts(self, count: int, rng: np.random.Generator) -> Floats:
        """One shift for all segments of a draw, that of the first which is off."""
        shift = super().shifts(count, rng)
        first = shift[np.arange(count), (shift != 0).argmax(axis=1)]
        return np.where(shift != 0, first[:, None], 0.0)


class _SegmentsByPrior(Segments):
    def _draw_segments(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        return Segments(0 * self.n, 0 * self.k, self.logit, self.confidence)._draw_segments(count, rng)


class _MeanShift(Segments):
    def _draw_shifts(self, start: Ints, end: Ints, rng: np.random.Generator) -> Floats:
        term = self._shifted[end] - self._shifted[start] + self._log_prior
        weight = np.exp(term - term.max(axis=1, keepdims=True))
        mean: Floats = (weight @ self._middles) / weight.sum(axis=1)
        return mean


class _EdgeTooFar(Segments):
    def shifts(self, count: int, rng: np.random.Generator) -> Floats:
        """Every segment one bin to the right."""
        shift = super().shifts(count, rng)
        return np.concatenate([shift[:, :1], shift[:, :-1]], axis=1)


# --- bins off by one amount


class _AlwaysUp(EqualOffsets):
    @property
    def up_probability(self) -> Floats:
        return np.ones_like(super().up_probability)


class _Coin(EqualOffsets):
    @property
    def up_probability(self) -> Floats:
        return np.full_like(super().up_probability, 0.5)


class _OffByRho(EqualOffsets):
    def _off(self, i: Ints, j: Ints) -> Floats:
        return np.repeat(np.array(self.prior.rho)[j][:, None], len(self.n), axis=1)


class _UniformAmount(EqualOffsets):
    @cached_property
    def _log_joint(self) -> Floats:
        return super()._log_joint + np.log(self.amounts)[:, None]


class _OtherAmount(EqualOffsets):
    def draw(self, count: int, rng: np.random.Generator) -> PartDraws:
        """Combine the bins that are off, and their directions, with the amount of another draw."""
        drawn = super().draw(count, rng)
        amount = rng.permutation(drawn.parameters["amount"])[:, None]
        sign = np.sign(drawn.accuracy - self.confidence)
        accuracy = np.where(drawn.off, self.shifted(sign * amount), self.confidence)
        return drawn._replace(accuracy=accuracy)


class _OnAccuracies(EqualOffsets):
    def shifted(self, amount: Floats) -> Floats:
        """Twice the amount added to the accuracy itself, as it is in the middle."""
        return np.clip(self.confidence + amount, 0, 1)


class _MostProbableAmount(EqualOffsets):
    @cached_property
    def _log_joint(self) -> Floats:
        right = super()._log_joint
        best = np.unravel_index(right.argmax(), right.shape)[0]
        return np.where((np.arange(len(right)) == best)[:, None], right, -np.inf)


# --- noisy labels


@dataclass(frozen=True, eq=False)
class _Noise(LabelNoise):
    """Share and rate changed after they are drawn; here not at all."""

    def draw(self, count: int, rng: np.random.Generator) -> PartDraws:
        drawn = super().draw(count, rng).parameters
        share, rate = self.changed(drawn["noise"], drawn["noise_rate"], rng)
        accuracy = self.accuracy(share, rate).clip(0, 1)
        return PartDraws(accuracy, np.zeros(accuracy.shape, bool), {"noise": share, "noise_rate": rate}, count)

    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Share and rate that are used."""
        return share, rate


class _FixedRate(LabelNoise):
    def _parameters(self, u: Floats) -> tuple[Floats, Floats]:
        share, rate = super()._parameters(u)
        return share, np.full_like(rate, 0.5)


class _Unsquared(LabelNoise):
    def _parameters(self, u: Floats) -> tuple[Floats, Floats]:
        share, rate = super()._parameters(u**0.5)
        return share, rate**2


class _AtMostOne(LabelNoise):
    def _parameters(self, u: Floats) -> tuple[Floats, Floats]:
        share, rate = super()._parameters(u)
        return share / 1.25, rate


class _ShareByPrior(_Noise):
    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return 1.25 * rng.random(len(share)) ** 2, rate


class _RateByPrior(_Noise):
    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return share, rng.random(len(rate))


class _Apart(_Noise):
    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return share, rng.permutation(rate)


class _Mirrored(_Noise):
    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return share, 1 - rate


class _Added(LabelNoise):
    def accuracy(self, share: Floats, rate: Floats) -> Floats:
        """Noise that comes on top of the confidence, and does not take its place."""
        return np.clip(self.confidence + share[:, None] * rate[:, None], 0, 1)


# --- label noise at the ends


class _NoiseAtEnds(NoiseAtEnds):
    """Drawn by a step of its own, rightly: what the others change."""

    def _log_density(self, b: int, u: Floats) -> Floats:
        return super()._log_density(b, u)


class _EndsByPrior(NoiseAtEnds):
    def _log_density(self, b: int, u: Floats) -> Floats:
        return NoiseAtEnds(0 * self.n, 0 * self.k, self.confidence, self.crowded)._log_density(b, u)


class _RootForShare(NoiseAtEnds):
    def _log_density(self, b: int, u: Floats) -> Floats:
        return super()._log_density(b, u) - np.log(2 * u[:, 0])


class _SymmetricPrior(NoiseAtEnds):
    def _log_density(self, b: int, u: Floats) -> Floats:
        """Beta(1/2, 1/2) in the place of Beta(1/2, 10)."""
        return super()._log_density(b, u) - 9.5 * np.log1p(-(u[:, 0] ** 2))


class _RowsTwice(NoiseAtEnds):
    def _log_density(self, b: int, u: Floats) -> Floats:
        return NoiseAtEnds(2 * self.n, 2 * self.k, self.confidence, self.crowded)._log_density(b, u)


class _OneEnd(NoiseAtEnds):
    @property
    def _bins(self) -> list[int]:
        return super()._bins[:1]


class _SameShare(NoiseAtEnds):
    def draw(self, count: int, rng: np.random.Generator) -> PartDraws:
        """The share of the first bin for the last one too."""
        accuracy = super().draw(count, rng).accuracy
        bins = self._bins
        share = (accuracy[:, bins[0]] - self.confidence[bins[0]]) / (
            self._contrary_of(bins[0]) - self.confidence[bins[0]]
        )
        for b in bins[1:]:
            accuracy[:, b] = self.confidence[b] + share * (self._contrary_of(b) - self.confidence[b])
        return PartDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)


class _AllContrary(NoiseAtEnds):
    def _stated(self, b: int) -> tuple[float, float, float]:
        """Outcomes that the bin states are counted as contrary."""
        contrary, stated, rest = super()._stated(b)
        return float(self.n[b]) - contrary, stated, rest


# --- saturated bins


class _FlatBeta(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        return 1 + self._contrary, 1 + self.n - self._contrary


class _Jeffreys(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        return 0.5 + self._contrary, 0.5 + self.n - self._contrary


class _NoneContrary(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        return 0.5 + 0 * self.n, 10 + self.n


class _WithoutRows(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        return 0.5 + 0 * self.n, 10 + 0 * self.n


class _OneShare(SaturatedBins):
    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """The share of all bins together for each."""
        accuracy, off = super().draw(count, rng)
        if not len(self.n):
            return accuracy, off
        share = rng.beta(0.5 + self._contrary.sum(), 10 + (self.n - self._contrary).sum(), (count, 1))
        return np.where(off, np.where(self._high, 1 - share, share), accuracy), off


class _Swapped(SaturatedBins):
    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Contrary outcomes for all others."""
        accuracy, off = super().draw(count, rng)
        return np.where(off, 1 - accuracy, accuracy), off


# --- averages over families


def _prior_weights(posterior: ShrinkagePosterior) -> Floats:
    return prior_probabilities(posterior.taking_part)


def _by_evidence(change: Callable[[dict[str, float]], dict[str, float]]) -> Making:
    """Other prior weights, and the right evidences."""

    def weigh(posterior: ShrinkagePosterior) -> Floats:
        names = posterior.taking_part.names
        weight = change(dict(zip(names, prior_probabilities(posterior.taking_part).tolist(), strict=True)))
        log_evidence = np.array([posterior._parts[name].log_evidence for name in names])
        return np.array([weight[name] for name in names]) * np.exp(log_evidence - log_evidence.max())

    return weighing(weigh)


#: The steps that some mistakes below go wrong in, taken right: none of these may be caught.
UNSPOILT_FAMILIES = (
    control("runs of bins off", "runs: another class, rightly", _segments(_Segments), 1000),
    control("label noise", "noise: share and rate drawn before, rightly", _noise(_Noise), 1000),
    control("label noise at the ends", "ends: another class, rightly", _at_ends(_NoiseAtEnds), 1000),
    control("shared errors and others", "families by their probabilities", _by_evidence(lambda w: w), 1000),
)

FAMILY_MISTAKES: tuple[Control, ...] = (
    # runs of bins
    control("runs of bins off", "runs: changes forgotten, all bins one segment", _believing(changes=(1e-6,)), 400),
    control("runs of bins off", "runs: segments of the prior", _segments(_SegmentsByPrior), 800),
    control("runs of bins off", "runs: off by the prior, whatever the counts", _segments(_OffByPrior), 400),
    control("runs of bins off", "runs: off with probability 0.9", _believing(off=0.9), 400),
    control("runs of bins off", "runs: shift of the wrong sign", _segments(_WrongSign), 100),
    control("runs of bins off", "runs: likelihood of the first bin alone", _segments(_FirstBinOnly), 1500),
    control("runs of bins off", "runs: shift of the prior", _segments(_ShiftByPrior), 100),
    control("runs of bins off", "runs: mean shift for a draw", _segments(_MeanShift), 400),
    control("runs of bins off", "runs: neighbouring segments tied", _segments(_Tied), 400),
    control("runs of bins off", "runs: segments one bin too far right", _segments(_EdgeTooFar), 100),
    control("runs of bins off", "runs: tau uniform for tau^(-1/2)", _believing(shape=1.0), 2500),
    control("runs of bins off", "runs: largest tau 1 for 2.5", _believing(largest_scale=1.0), 2500),
    # one amount
    control("bins off by one amount", "amount: all bins that are off are above", _offsets(_AlwaysUp), 100),
    control("bins off by one amount", "amount: up or down by a coin", _offsets(_Coin), 400),
    control("bins off by one amount", "amount: rho = 1/2", _believing(rho=(0.5,)), 400),
    control("bins off by one amount", "amount: off by rho, whatever the counts", _offsets(_OffByRho), 1000),
    control("bins off by one amount", "amount: that of another draw", _offsets(_OtherAmount), 2000),
    control("bins off by one amount", "amount: uniform for its logarithm", _offsets(_UniformAmount), 400),
    control("bins off by one amount", "amount: added to the accuracy itself", _offsets(_OnAccuracies), 400),
    control("bins off by one amount", "amount: the most probable for a draw", _offsets(_MostProbableAmount), 400),
    # noise
    control("label noise", "noise: rate 1/2 where it is unknown", _noise(_FixedRate), 100),
    control("label noise", "noise: share of the prior", _noise(_ShareByPrior), 100),
    control("label noise", "noise: rate of the prior", _noise(_RateByPrior), 400),
    control("label noise", "noise: rate of the other outcome", _noise(_Mirrored), 100),
    control("label noise", "noise: share and rate independent", _noise(_Apart), 2500),
    control("label noise", "noise: u for u^2", _noise(_Unsquared), 2500),
    control("label noise", "noise: at most 1 for 1.25", _noise(_AtMostOne), 1000),
    control("label noise", "noise: added, in the place of nothing", _noise(_Added), 100),
    # noise at the ends
    control("label noise at the ends", "ends: share of the prior", _at_ends(_EndsByPrior), 400),
    control("label noise at the ends", "ends: density of the root for that of the share", _at_ends(_RootForShare), 400),
    control("label noise at the ends", "ends: Beta(1/2, 1/2) for Beta(1/2, 10)", _at_ends(_SymmetricPrior), 2500),
    control("label noise at the ends", "ends: rows counted twice", _at_ends(_RowsTwice), 1500),
    control("label noise at the ends", "ends: the first bin alone", _at_ends(_OneEnd), 100),
    control("label noise at the ends", "ends: one share for both", _at_ends(_SameShare), 100),
    control("label noise at the ends", "ends: contrary and other outcomes swapped", _at_ends(_AllContrary), 100),
    # saturated bins
    control("saturated bins", "saturated: Beta(1, 1)", _saturated(_FlatBeta), 100),
    control("saturated bins", "saturated: Beta(1/2, 1/2)", _saturated(_Jeffreys), 1000),
    control("saturated bins", "saturated: contrary outcomes forgotten", _saturated(_NoneContrary), 100),
    control("saturated bins", "saturated: Beta of the prior, without the counts", _saturated(_WithoutRows), 100),
    control("saturated bins", "saturated: one share for all bins", _saturated(_OneShare), 100),
    control("saturated bins", "saturated: contrary and other outcomes swapped", _saturated(_Swapped), 100),
    # averages
    control("shared errors and others", "families by prior weight: evidence forgotten", weighing(_prior_weights), 1500),
    control("shared errors and others", "the most probable sub-model of all alone", weighing(most_probable), 400),
    control(
        "shared errors and others",
        "weight of the pool forgotten: all sub-models equal",
        _by_evidence(lambda weight: dict.fromkeys(weight, 1.0)),
        2500,
    ),
    control(
        "shared errors and others",
        "exact calibration with the weight of the pool",
        _by_evidence(lambda weight: weight | {EXACT: 1.0}),
        1000,
    ),
)
