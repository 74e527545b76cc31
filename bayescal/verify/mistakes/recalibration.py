"""Mistakes in the posterior of intercept and slope: in its data, prior, coordinates and draws."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import recalibration_posterior
from bayescal.verify.clinical.recalibration import RecalibrationSimulator, by_quantity
from bayescal.verify.mistakes.control import Control, with_data
from bayescal.verify.sbc import Sampler

Floats = NDArray[np.float64]

PROBLEM = "intercept and slope"


def _with_prior(change: Callable[[tuple[float, float]], Any]) -> Callable[[RecalibrationSimulator], Sampler]:
    """Draw under another prior."""
    return lambda simulator: replace(simulator, prior=change(simulator.prior)).sample


def _drawn(
    change: Callable[[Floats, Any, np.random.Generator], Floats],
) -> Callable[[RecalibrationSimulator], Sampler]:
    """Change right draws (intercept, slope) of each data set, given its posterior."""

    def sampler(simulator: RecalibrationSimulator) -> Sampler:
        def sample(data: list[LogitCounts], n: int, rng: np.random.Generator) -> dict[str, Any]:
            each = []
            for one in data:
                posterior = recalibration_posterior(one, prior=simulator.prior)
                each.append(by_quantity(change(posterior.sample(n, rng=rng), posterior, rng), one))
            return {name: np.stack([drawn[name] for drawn in each], axis=1) for name in each[0]}

        return sample

    return sampler


def _flipped(counts: LogitCounts) -> LogitCounts:
    binned = counts.binned
    return LogitCounts(replace(binned, cells=binned.cells[::-1], weight=binned.weight[::-1]))


def _scaled(drawn: Floats, factors: tuple[float, float]) -> Floats:
    mean = drawn.mean(axis=0)
    return np.asarray(mean + np.array(factors) * (drawn - mean))


def _prior_drawn(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return _from_prior(posterior, len(drawn), rng)


def _too_wide(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return _scaled(drawn, (1.2, 1.2))


def _moved_by_lever(times: float) -> Callable[[Floats, Any, np.random.Generator], Floats]:
    """Add the lever times the slope to the intercept: once gives t, twice has the wrong sign."""
    return lambda drawn, posterior, rng: drawn + times * drawn[:, 1:] * [posterior.lever, 0.0]


def _independent(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return np.stack([rng.permutation(drawn[:, 0]), drawn[:, 1]], axis=1)


def _thrice(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return np.repeat(drawn[: len(drawn) // 3], 3, axis=0)


def _log_slope(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return np.stack([drawn[:, 0], np.exp(drawn[:, 1] - 1)], axis=1)


def _from_prior(posterior: Any, n: int, rng: np.random.Generator) -> Floats:
    prior, counts = posterior.prior, posterior.counts
    stated = counts.n / (2 + np.exp(counts.logit) + np.exp(-counts.logit))
    lever = (stated * counts.logit).sum() / stated.sum()
    slope = 1 + prior.slope_sd * rng.standard_normal(n)
    return np.stack([prior.shift_sd * rng.standard_normal(n) + lever * (1 - slope), slope], axis=1)


def _resampled(drawn: Floats, posterior: Any, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.permutation(drawn))


def _control(name: str, sampler: Callable[[RecalibrationSimulator], Sampler], runs: int) -> Control:
    return Control(name, PROBLEM, sampler, of="recalibration", runs=runs)


RECALIBRATION_MISTAKES = (
    _control("posterior = prior", _drawn(_prior_drawn), 300),
    _control("outcomes flipped", with_data(_flipped), 300),
    _control("rows counted twice", with_data(lambda counts: counts + counts), 2000),
    _control("prior of the shift too narrow", _with_prior(lambda sds: (sds[0] / 4, sds[1])), 1000),
    _control("prior of the slope too narrow", _with_prior(lambda sds: (sds[0], sds[1] / 4)), 1000),
    _control("prior too wide", _with_prior(lambda sds: (4 * sds[0], 4 * sds[1])), 2000),
    _control("standard deviations too large by 20 %", _drawn(_too_wide), 2000),
    _control("t for the intercept", _drawn(_moved_by_lever(1.0)), 300),
    _control("lever of the wrong sign", _drawn(_moved_by_lever(2.0)), 300),
    _control("intercept and slope drawn independently", _drawn(_independent), 1000),
    _control("each draw thrice", _drawn(_thrice), 2000),
    _control("exponential of the slope", _drawn(_log_slope), 300),
)
#: Right draws in another order: the step of the mistakes above without a mistake.
UNSPOILT_RECALIBRATION = (_control("draws permuted", _drawn(_resampled), 300),)
