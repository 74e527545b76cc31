"""Mistakes in the sampler of the shrinkage model: in its prior, sub-models, drift and bins that are off."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, logit

from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws, SubModel
from bayescal.stats.binned import BinnedCounts
from sbc.control import Control, last_bin_empty, outcomes_flipped, rows_times, with_counts
from sbc.joint_posterior import JointPosterior, joint_draws, sample_not_as_stated, take
from sbc.ranks import Sampler, one_by_one
from sbc.simulators import ShrinkageSimulator
from sbc.stacked import JointDraws

Floats = NDArray[np.float64]
#: Function from the posterior and its right draws to wrong draws.
Change = Callable[[ShrinkagePosterior, ShrinkageDraws, np.random.Generator], ShrinkageDraws]

#: Function from the simulator to a wrong sampler.
Making = Callable[[ShrinkageSimulator], Sampler]

#: Number of nodes at which tau of a bin that is off is drawn.
TAU_NODES = 100


# --- ways to be wrong


def _with_prior(**constants: Any) -> Making:
    """Draw with other constants of the prior."""
    return lambda simulator: replace(simulator, prior=replace(simulator.prior, **constants)).sample


def sampling(wrong: type[ShrinkagePosterior]) -> Making:
    """Draw with another class of posterior."""

    def sampler(simulator: ShrinkageSimulator) -> Sampler:
        return one_by_one(lambda counts: JointPosterior(wrong(counts, simulator.prior)), pool=simulator.pool)

    return sampler


def another_sub_model(change: Callable[[SubModel], SubModel]) -> Making:
    """Draw from the posterior with a changed version of each sub-model."""

    class Wrong(ShrinkagePosterior):
        @cached_property
        def _sub_models(self) -> dict[str, SubModel]:
            right = ShrinkagePosterior(self.counts, self.prior_options)
            return {name: change(sub_model) for name, sub_model in right._sub_models.items()}

    return sampling(Wrong)


def of_class(wrong: type[Any]) -> Making:
    """Draw from the posterior with sub-models of another class that has the same fields."""
    names = [each.name for each in fields(wrong)]

    def change(sub_model: SubModel) -> SubModel:
        assert issubclass(wrong, type(sub_model))
        changed: SubModel = wrong(**{name: getattr(sub_model, name) for name in names})
        return changed

    return another_sub_model(change)


def weighing(weigh: Callable[[ShrinkagePosterior], Floats]) -> Making:
    """Draw with other probabilities of the sub-models, and right draws of each."""

    class Wrong(ShrinkagePosterior):
        @cached_property
        def probabilities(self) -> dict[str, float]:
            right = ShrinkagePosterior(self.counts, self.prior_options)
            weights = weigh(right)
            return dict(zip(right.probabilities, (weights / weights.sum()).tolist(), strict=True))

    return sampling(Wrong)


@dataclass(frozen=True)
class _Spoilt:
    """A posterior whose right draws are changed, after a random subset is taken from a pool; see `one_by_one`."""

    right: ShrinkagePosterior
    change: Change
    pool: int | None

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> JointDraws:
        size = max(self.pool or n_draws, n_draws)
        every = sample_not_as_stated(self.right, size, rng)
        drawn = take(every, rng.choice(size, n_draws, replace=False))
        return joint_draws(self.change(self.right, drawn, rng))


def _drawn(change: Change) -> Making:
    """Change right draws."""

    def sampler(simulator: ShrinkageSimulator) -> Sampler:
        def posterior(counts: BinnedCounts) -> _Spoilt:
            return _Spoilt(ShrinkagePosterior(counts, simulator.prior), change, simulator.pool)

        return one_by_one(posterior)

    return sampler


def _with_accuracy(drawn: ShrinkageDraws, accuracy: Floats, **others: Any) -> ShrinkageDraws:
    return replace(drawn, bin_draws=replace(drawn.bin_draws, accuracy=accuracy), **others)


# --- sub-models


def _heights(posterior: ShrinkagePosterior) -> Floats:
    """Use the largest value of prior times likelihood instead of the integral."""
    _, models = posterior._independent.integration
    log_height = np.array([model.nodes.log_density.max() for model in models.values()])
    return np.exp(log_height - log_height.max() + posterior.prior_options.log_weights)


def most_probable(posterior: ShrinkagePosterior) -> Floats:
    """Give all weight to the most probable sub-model."""
    probability = _probabilities(posterior)
    return (probability == probability.max()).astype(float)


def _probabilities(posterior: ShrinkagePosterior) -> Floats:
    return np.array(list(posterior.probabilities.values()))


def _prior_weights(posterior: ShrinkagePosterior) -> Floats:
    return np.exp(posterior.prior_options.log_weights)


# --- drift


def _centres(posterior: ShrinkagePosterior, intercept: Floats, slope: Floats) -> Floats:
    """Compute the centre h of each bin, shape (n_draws, n_bins)."""
    c = posterior.confidence
    x = logit(np.clip(c, 1e-4, 1 - 1e-4))
    return expit(logit(np.clip(c, 1e-9, 1 - 1e-9)) + intercept[:, None] + (slope - 1)[:, None] * x)


def _drifting(change: Callable[[Floats, Floats, np.random.Generator], tuple[Floats, Floats]]) -> Change:
    """Change intercept and slope in the sub-models with drift, and with them the bins that are not off."""

    def changed(posterior: ShrinkagePosterior, drawn: ShrinkageDraws, rng: np.random.Generator) -> ShrinkageDraws:
        intercept, slope = drawn.intercept.copy(), drawn.slope.copy()
        for sub_model in np.unique(drawn.sub_model[intercept != 0]):
            of = drawn.sub_model == sub_model
            intercept[of], slope[of] = change(intercept[of], slope[of], rng)
        moved = (drawn.intercept != 0)[:, None] & ~drawn.off & posterior.counts.occupied
        accuracy = np.where(moved, _centres(posterior, intercept, slope), drawn.bin_draws.accuracy)
        return _with_accuracy(drawn, accuracy, intercept=intercept, slope=slope)

    return changed


def _normal(values: Floats, rng: np.random.Generator) -> Floats:
    return rng.normal(values.mean(), values.std(), len(values))


# --- bins that are off


@dataclass(frozen=True)
class _Residual:
    """Draw accuracies of the bins that are off, given drift and indicators; without a mistake by default.

    Parameters
    ----------
    rows : float
        Factor of the counts in the Beta.
    swapped : bool
        Whether h and 1 - h are exchanged in the Beta.
    kappa : callable
        Function of tau.
    tau_given_data : bool
        Whether tau is drawn given the data, or from the prior.
    shared : bool
        Whether all bins of a draw have one tau.
    normal : bool
        Whether a Normal with the moments of the Beta replaces it.
    """

    rows: float = 1.0
    swapped: bool = False
    kappa: Callable[[Floats], Floats] = lambda tau: 1 / tau**2 - 1
    tau_given_data: bool = True
    shared: bool = False
    normal: bool = False

    def __call__(
        self, posterior: ShrinkagePosterior, drawn: ShrinkageDraws, rng: np.random.Generator
    ) -> ShrinkageDraws:
        draw, b = np.nonzero(drawn.off)
        h = _centres(posterior, drawn.intercept, drawn.slope)[draw, b]
        n, k = posterior.counts.effective_n[b], posterior.counts.effective_k[b]
        tau = drawn.tau[draw]
        own = np.isnan(tau)
        tau[own] = self._tau(posterior, h[own], n[own], k[own], rng)
        if self.shared:
            first = np.searchsorted(draw, draw)
            tau = tau[first]
        kappa = self.kappa(tau)
        up, down = kappa * h, kappa * (1 - h)
        if self.swapped:
            up, down = down, up
        up, down = np.maximum(up + self.rows * k, 1e-300), np.maximum(down + self.rows * (n - k), 1e-300)
        accuracy = drawn.bin_draws.accuracy.copy()
        accuracy[draw, b] = self._accuracy(up, down, rng)
        return _with_accuracy(drawn, accuracy)

    def _tau(self, posterior: ShrinkagePosterior, h: Floats, n: Floats, k: Floats, rng: np.random.Generator) -> Floats:
        """Draw tau of each bin by inversion of its posterior, on nodes that are equally probable under the prior."""
        place = (np.arange(TAU_NODES) + rng.random((len(h), TAU_NODES))) / TAU_NODES
        tau = np.clip(place ** (1 / posterior.prior_options.sparse_shape), 1e-5, 1 - 1e-9)
        if not self.tau_given_data:
            return tau[np.arange(len(h)), rng.integers(0, TAU_NODES, len(h))]
        kappa, h, n, k = 1 / tau**2 - 1, h[:, None], n[:, None], k[:, None]
        up, down = np.maximum(kappa * h, 1e-300), np.maximum(kappa * (1 - h), 1e-300)
        log_weight = betaln(up + k, down + n - k) - betaln(up, down)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True)).cumsum(axis=1)
        chosen = (weight <= rng.random((len(h), 1)) * weight[:, -1:]).sum(axis=1)
        return tau[np.arange(len(h)), chosen]

    def _accuracy(self, up: Floats, down: Floats, rng: np.random.Generator) -> Floats:
        if not self.normal:
            return rng.beta(up, down)
        mean = up / (up + down)
        return np.clip(rng.normal(mean, np.sqrt(mean * (1 - mean) / (up + down + 1))), 0, 1)


def _not_off(posterior: ShrinkagePosterior, drawn: ShrinkageDraws) -> Floats:
    """Compute accuracies of bins that are not off: their centres, or without drift their mean confidences."""
    still = (drawn.intercept == 0)[:, None]
    return np.where(still, posterior.confidence, _centres(posterior, drawn.intercept, drawn.slope))


def _off_by_prior(posterior: ShrinkagePosterior, drawn: ShrinkageDraws, rng: np.random.Generator) -> ShrinkageDraws:
    """Let bins be off with probability rho, ignoring the predictive probability of the slab."""
    sparse = ~np.isnan(drawn.rho)[:, None]
    off = np.where(sparse, rng.random(drawn.off.shape) < drawn.rho[:, None], drawn.off) & posterior.counts.occupied
    kept = sparse & ~off & posterior.counts.occupied
    accuracy = np.where(kept, _not_off(posterior, drawn), drawn.bin_draws.accuracy)
    return _Residual()(posterior, _with_accuracy(drawn, accuracy, off=off), rng)


def _never_off(posterior: ShrinkagePosterior, drawn: ShrinkageDraws, rng: np.random.Generator) -> ShrinkageDraws:
    sparse = ~np.isnan(drawn.rho)[:, None]
    accuracy = np.where(drawn.off & sparse, _not_off(posterior, drawn), drawn.bin_draws.accuracy)
    return _with_accuracy(drawn, accuracy, off=drawn.off & ~sparse)


def _observed_shares(posterior: ShrinkagePosterior, drawn: ShrinkageDraws, _: np.random.Generator) -> ShrinkageDraws:
    mass = np.tile(posterior.counts.share, (len(drawn.bin_draws), 1))
    return replace(drawn, bin_draws=replace(drawn.bin_draws, mass=mass, weight=mass))


def control(problem: str, name: str, sampler: Making, runs: int) -> Control:
    """Make a control of the shrinkage sampler."""
    return Control(name, problem, sampler, "shrinkage", runs)


#: Controls without a mistake; see `sbc.mistakes.unspoilt`.
UNSPOILT = (
    control("sparse", "bins that are off drawn anew, rightly", _drawn(_Residual()), 1000),
    control("drift", "drift that stays what it is", _drawn(_drifting(lambda a, slope, _: (a, slope))), 1000),
    control("shrinkage", "sub-models by their probabilities", weighing(_probabilities), 1000),
)

SHRINKAGE_MISTAKES = (
    # its counts
    control("shrinkage", "posterior = prior", with_counts(rows_times(1e-9)), 100),
    control("shrinkage", "half the data", with_counts(rows_times(0.5)), 100),
    control("shrinkage", "data counted twice", with_counts(rows_times(2.0)), 100),
    control("shrinkage", "last bin's rows dropped", with_counts(last_bin_empty), 100),
    control("shrinkage", "correct and incorrect rows swapped", with_counts(outcomes_flipped), 100),
    # its prior
    control("dense", "dense scale doubled", _with_prior(dense_scale=0.4), 800),
    control(
        "drift", "variance for standard deviation of the drift", _with_prior(intercept_sd=0.25, log_slope_sd=0.25), 200
    ),
    control("sparse", "tau uniform for tau^(-1/2)", _with_prior(sparse_shape=1.0), 2500),
    control("shrinkage", "one rho, the mean of the four", _with_prior(rho=(0.25,)), 200),
    # its sub-models
    control("many rows", "sub-models by prior weight: evidence forgotten", weighing(_prior_weights), 1000),
    control("many rows", "height for evidence: no Occam factor", weighing(_heights), 1000),
    control("shrinkage", "the most probable sub-model alone", weighing(most_probable), 100),
    control("shrinkage", "drift forgotten", _with_prior(sub_model_weights=(0.0, 1.0, 1.0, 0.0, 0.0)), 100),
    # its drift
    control("shrinkage", "drift drawn as none", _drawn(_drifting(lambda a, slope, _: (0 * a, slope**0))), 100),
    control(
        "drift", "mean drift for a draw", _drawn(_drifting(lambda a, s, _: (0 * a + a.mean(), 0 * s + s.mean()))), 100
    ),
    control(
        "drift",
        "intercept and slope independent",
        _drawn(_drifting(lambda a, slope, rng: (rng.permutation(a), slope))),
        1000,
    ),
    control(
        "drift",
        "drift Normal with the right moments",
        _drawn(_drifting(lambda a, s, rng: (_normal(a, rng), np.exp(_normal(np.log(s), rng))))),
        1000,
    ),
    control("many rows", "log slope for slope", _drawn(lambda p, d, rng: replace(d, slope=1 + np.log(d.slope))), 200),
    # its bins that are off
    control("sparse", "slab's predictive probability omitted", _drawn(_off_by_prior), 500),
    control("sparse", "never a bin off when a few may be", _drawn(_never_off), 100),
    control("dense", "Beta of the prior, without the counts", _drawn(_Residual(rows=0.0)), 200),
    control("dense", "counts twice in the Beta", _drawn(_Residual(rows=2.0)), 800),
    control("dense", "h and 1 - h swapped in the Beta", _drawn(_Residual(swapped=True)), 100),
    control("dense", "kappa = 1 / tau for 1 / tau^2 - 1", _drawn(_Residual(kappa=lambda tau: 1 / tau)), 200),
    control("sparse", "kappa = 1 / tau^2, without - 1", _drawn(_Residual(kappa=lambda tau: 1 / tau**2)), 2500),
    control("sparse", "tau of a bin from its prior", _drawn(_Residual(tau_given_data=False)), 1000),
    control("sparse", "one tau for the bins of a draw", _drawn(_Residual(shared=True)), 2500),
    control("dense", "Normal for Beta", _drawn(_Residual(normal=True)), 800),
    # the draws as a whole
    control("shrinkage", "masses = observed shares", _drawn(_observed_shares), 100),
    control(
        "dense",
        "accuracies of other draws",
        _drawn(lambda p, d, rng: _with_accuracy(d, rng.permuted(d.bin_draws.accuracy, axis=0))),
        200,
    ),
    control(
        "sparse",
        "float32",
        _drawn(lambda p, d, rng: _with_accuracy(d, d.bin_draws.accuracy.astype(np.float32).astype(float))),
        200,
    ),
)
