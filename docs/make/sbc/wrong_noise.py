"""Mistakes in the sub-models of noisy labels and in saturated bins."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.saturated import SLAB_WEIGHTS, SaturatedBins
from bayescal.posterior.shrinkage.sub_model import SubModelDraws
from sbc.control import Control
from sbc.wrong_shrinkage import Making, control, of_class, sampling

Floats = NDArray[np.float64]


# --- ways to be wrong


def _saturated(wrong: type[SaturatedBins]) -> Making:
    class Wrong(ShrinkagePosterior):
        @cached_property
        def _saturated(self) -> SaturatedBins:
            right = ShrinkagePosterior(self.counts, self.prior_options)._saturated
            return wrong(right.n, right.k, right.confidence)

    return sampling(Wrong)


# --- noisy labels


@dataclass(frozen=True, eq=False)
class _Noise(LabelNoise):
    """Changes share and rate after they are drawn; this class leaves them as they are."""

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        drawn = super().draw(count, rng).parameters
        share, rate = self.changed(drawn["noise"], drawn["noise_rate"], rng)
        accuracy = self.accuracy(share, rate).clip(0, 1)
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {"noise": share, "noise_rate": rate}, count)

    def changed(self, share: Floats, rate: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the share and rate to use."""
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
        """Add the noise to the confidence, instead of replacing a part of it."""
        return np.clip(self.confidence + share[:, None] * rate[:, None], 0, 1)


# --- label noise at extreme confidences


class _NoiseAtEnds(NoiseAtEnds):
    """Overrides the step that other classes change, without a mistake."""

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
        """Use Beta(1/2, 1/2) instead of Beta(1/2, 10)."""
        return super()._log_density(b, u) - 9.5 * np.log1p(-(u[:, 0] ** 2))


class _RowsTwice(NoiseAtEnds):
    def _log_density(self, b: int, u: Floats) -> Floats:
        return NoiseAtEnds(2 * self.n, 2 * self.k, self.confidence, self.crowded)._log_density(b, u)


class _OneEnd(NoiseAtEnds):
    @property
    def _bins(self) -> list[int]:
        return super()._bins[:1]


class _SameShare(NoiseAtEnds):
    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Use the share of the first bin for the last one, too."""
        accuracy = super().draw(count, rng).accuracy
        bins = self._bins
        share = (accuracy[:, bins[0]] - self.confidence[bins[0]]) / (
            self._contrary_of(bins[0]) - self.confidence[bins[0]]
        )
        for b in bins[1:]:
            accuracy[:, b] = self.confidence[b] + share * (self._contrary_of(b) - self.confidence[b])
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)


class _AllContrary(NoiseAtEnds):
    def _stated(self, b: int) -> tuple[float, float, float]:
        """Count outcomes as stated as contrary, and the reverse."""
        contrary, stated, rest = super()._stated(b)
        return float(self.n[b]) - contrary, stated, rest


# --- saturated bins


class _FlatBeta(SaturatedBins):
    @property
    def weights(self) -> Floats:
        """Draw from the posterior under Beta(1, 1) alone."""
        return np.array([0.0, 1.0])[:, None] + 0 * self.n


class _FewContrary(SaturatedBins):
    @property
    def weights(self) -> Floats:
        """Draw from the posterior under Beta(1/2, 10) alone."""
        return np.array([1.0, 0.0])[:, None] + 0 * self.n


class _WeightsOfPrior(SaturatedBins):
    @property
    def weights(self) -> Floats:
        """Leave the weights of the components as they are in the prior."""
        return np.array(SLAB_WEIGHTS)[:, None] + 0 * self.n


class _NearOneHalf(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        return np.tile(2 + self._contrary, (2, 1)), np.tile(2 + self.n - self._contrary, (2, 1))


class _NoneContrary(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        a, b = super()._parameters
        return a - self._contrary, b + self._contrary


class _WithoutRows(SaturatedBins):
    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        a, b = super()._parameters
        return a - self._contrary, b - self.n + self._contrary


class _OneShare(SaturatedBins):
    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Use one share for all bins, drawn from the rows of all."""
        accuracy, off = super().draw(count, rng)
        if not len(self.n):
            return accuracy, off
        share = rng.beta(0.5 + self._contrary.sum(), 10 + (self.n - self._contrary).sum(), (count, 1))
        return np.where(off, np.where(self._high, 1 - share, share), accuracy), off


class _Swapped(SaturatedBins):
    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Exchange contrary outcomes and all others."""
        accuracy, off = super().draw(count, rng)
        return np.where(off, 1 - accuracy, accuracy), off


#: Controls without a mistake; see `sbc.mistakes.unspoilt`.
UNSPOILT_NOISE = (
    control("label_noise", "noise: share and rate drawn before, rightly", of_class(_Noise), 1000),
    control("label_noise_ends", "ends: another class, rightly", of_class(_NoiseAtEnds), 1000),
)

NOISE_MISTAKES: tuple[Control, ...] = (
    # noise
    control("label_noise", "noise: rate 1/2 where it is unknown", of_class(_FixedRate), 100),
    control("label_noise", "noise: share of the prior", of_class(_ShareByPrior), 100),
    control("label_noise", "noise: rate of the prior", of_class(_RateByPrior), 400),
    control("label_noise", "noise: rate of the other outcome", of_class(_Mirrored), 100),
    control("label_noise", "noise: share and rate independent", of_class(_Apart), 2500),
    control("label_noise", "noise: u for u^2", of_class(_Unsquared), 2500),
    control("label_noise", "noise: at most 1 for 1.25", of_class(_AtMostOne), 1000),
    control("label_noise", "noise: added, in the place of nothing", of_class(_Added), 100),
    # noise at the ends
    control("label_noise_ends", "ends: share of the prior", of_class(_EndsByPrior), 400),
    control("label_noise_ends", "ends: density of the root for that of the share", of_class(_RootForShare), 400),
    control("label_noise_ends", "ends: Beta(1/2, 1/2) for Beta(1/2, 10)", of_class(_SymmetricPrior), 2500),
    control("label_noise_ends", "ends: rows counted twice", of_class(_RowsTwice), 1500),
    control("label_noise_ends", "ends: the first bin alone", of_class(_OneEnd), 100),
    control("label_noise_ends", "ends: one share for both", of_class(_SameShare), 100),
    control("label_noise_ends", "ends: contrary and other outcomes swapped", of_class(_AllContrary), 100),
    # saturated bins
    control("saturated", "saturated: Beta(1, 1) alone", _saturated(_FlatBeta), 1000),
    control("saturated", "saturated: Beta(1/2, 10) alone", _saturated(_FewContrary), 400),
    control("saturated", "saturated: weights of the prior", _saturated(_WeightsOfPrior), 1000),
    control("saturated", "saturated: Beta(2, 2)", _saturated(_NearOneHalf), 400),
    control("saturated", "saturated: contrary outcomes forgotten", _saturated(_NoneContrary), 100),
    control("saturated", "saturated: Beta of the prior, without the counts", _saturated(_WithoutRows), 100),
    control("saturated", "saturated: one share for all bins", _saturated(_OneShare), 100),
    control("saturated", "saturated: contrary and other outcomes swapped", _saturated(_Swapped), 100),
)
