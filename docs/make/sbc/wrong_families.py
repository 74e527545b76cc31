"""Mistakes in the sub-models with shared errors and in averages over families."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.shrinkage.independent.family import IndependentSubModel
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.posterior.shrinkage.segments import EqualOffsets, Segments
from bayescal.posterior.shrinkage.sub_model import SubModel, SubModelDraws
from sbc.control import Control
from sbc.simulators import prior_probabilities
from sbc.wrong_noise import NOISE_MISTAKES, UNSPOILT_NOISE
from sbc.wrong_shrinkage import Making, another_sub_model, control, most_probable, of_class, weighing

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Scales of the sub-models of independent bins.
ORDINARY = {"intercept_sd": 0.5, "log_slope_sd": 0.5, "dense_scale": 0.2}


# --- ways to be wrong


def _with_prior(**constants: object) -> Making:
    """Draw from segments or offsets with other constants of the prior."""

    def change(sub_model: SubModel) -> SubModel:
        assert isinstance(sub_model, Segments | EqualOffsets)
        return replace(sub_model, prior=sub_model.prior._replace(**constants))  # type: ignore[arg-type]  # of either class

    return another_sub_model(change)


# --- errors in runs of neighbouring bins


class _Segments(Segments):
    """Overrides the steps that other classes change, without a mistake."""

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
        """Use the shift of the first segment that is off for all segments of a draw."""
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
        """Move every segment one bin to the right."""
        shift = super().shifts(count, rng)
        return np.concatenate([shift[:, :1], shift[:, :-1]], axis=1)


# --- errors of equal size


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
    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Combine the bins that are off, and their directions, with the amount of another draw."""
        drawn = super().draw(count, rng)
        amount = rng.permutation(drawn.parameters["amount"])[:, None]
        sign = np.sign(drawn.accuracy - self.confidence)
        accuracy = np.where(drawn.off, self.shifted(sign * amount), self.confidence)
        return drawn._replace(accuracy=accuracy)


class _OnAccuracies(EqualOffsets):
    def shifted(self, amount: Floats) -> Floats:
        """Add the amount to the accuracy itself, as is right in the middle only."""
        return np.clip(self.confidence + amount, 0, 1)


class _MostProbableAmount(EqualOffsets):
    @cached_property
    def _log_joint(self) -> Floats:
        right = super()._log_joint
        best = np.unravel_index(right.argmax(), right.shape)[0]
        return np.where((np.arange(len(right)) == best)[:, None], right, -np.inf)


# --- small errors


def _small(name: str = "logistic_dense", scales: Mapping[str, float] | None = None) -> Making:
    """Draw small errors as another sub-model of independent bins, or with other scales."""

    def change(sub_model: SubModel) -> SubModel:
        assert isinstance(sub_model, IndependentSubModel)
        changed: dict[str, Any] = {"sub_models": (name,), **(scales or {})}
        prior = replace(sub_model.family.prior, **changed)
        return replace(sub_model, name=name, family=replace(sub_model.family, prior=prior))

    return another_sub_model(change)


# --- averages over families


def _prior_weights(posterior: ShrinkagePosterior) -> Floats:
    return prior_probabilities(posterior.taking_part)


def _by_evidence(change: Callable[[dict[str, float]], dict[str, float]]) -> Making:
    """Weigh sub-models by other prior weights and the right evidences."""

    def weigh(posterior: ShrinkagePosterior) -> Floats:
        names = posterior.taking_part.names
        weight = change(dict(zip(names, prior_probabilities(posterior.taking_part).tolist(), strict=True)))
        log_evidence = np.array([posterior._sub_models[name].log_evidence for name in names])
        return np.array([weight[name] for name in names]) * np.exp(log_evidence - log_evidence.max())

    return weighing(weigh)


#: Controls without a mistake; see `sbc.mistakes.unspoilt`.
UNSPOILT_FAMILIES = (
    control("runs", "runs: another class, rightly", of_class(_Segments), 1000),
    *UNSPOILT_NOISE,
    control("shared errors and others", "families by their probabilities", _by_evidence(lambda w: w), 1000),
)

FAMILY_MISTAKES: tuple[Control, ...] = (
    # runs of bins
    control("runs", "runs: changes forgotten, all bins one segment", _with_prior(changes=(1e-6,)), 400),
    control("runs", "runs: segments of the prior", of_class(_SegmentsByPrior), 800),
    control("runs", "runs: off by the prior, whatever the counts", of_class(_OffByPrior), 400),
    control("runs", "runs: off with probability 0.9", _with_prior(off=0.9), 400),
    control("runs", "runs: shift of the wrong sign", of_class(_WrongSign), 100),
    control("runs", "runs: likelihood of the first bin alone", of_class(_FirstBinOnly), 1500),
    control("runs", "runs: shift of the prior", of_class(_ShiftByPrior), 100),
    control("runs", "runs: mean shift for a draw", of_class(_MeanShift), 400),
    control("runs", "runs: neighbouring segments tied", of_class(_Tied), 400),
    control("runs", "runs: segments one bin too far right", of_class(_EdgeTooFar), 100),
    control("runs", "runs: tau uniform for tau^(-1/2)", _with_prior(shape=1.0), 2500),
    control("runs", "runs: largest tau 1 for 2.5", _with_prior(largest_scale=1.0), 2500),
    # the segments model: a drift or runs of bins
    control("segments", "drift or runs: by prior weight, evidence forgotten", weighing(_prior_weights), 1000),
    control("segments", "drift or runs: the more probable one alone", weighing(most_probable), 800),
    # one amount
    control("offset", "amount: all bins that are off are above", of_class(_AlwaysUp), 100),
    control("offset", "amount: up or down by a coin", of_class(_Coin), 400),
    control("offset", "amount: rho = 1/2", _with_prior(rho=(0.5,)), 400),
    control("offset", "amount: off by rho, whatever the counts", of_class(_OffByRho), 1000),
    control("offset", "amount: that of another draw", of_class(_OtherAmount), 2000),
    control("offset", "amount: uniform for its logarithm", of_class(_UniformAmount), 400),
    control("offset", "amount: added to the accuracy itself", of_class(_OnAccuracies), 400),
    control("offset", "amount: the most probable for a draw", of_class(_MostProbableAmount), 400),
    # small errors
    control("small errors", "small: scales of independent bins", _small(scales=ORDINARY), 400),
    control("small errors", "small: dense scale doubled", _small(scales={"dense_scale": 0.2}), 1000),
    control(
        "small errors", "small: drift of half the size", _small(scales={"intercept_sd": 0.1, "log_slope_sd": 0.1}), 1000
    ),
    control("small errors", "small: drift forgotten", _small("dense"), 400),
    control("small errors", "small: residual forgotten", _small("logistic"), 1000),
    *NOISE_MISTAKES,
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
