"""Mistakes in the smooth curve model: in its data, prior, approximation and draws."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.clinical.curve.posterior import Laplace, SmoothCurvePosterior, smooth_curve_posterior
from bayescal.verify.clinical.smooth_curve import SmoothCurveSimulator
from bayescal.verify.mistakes.control import Control, with_data
from bayescal.verify.sbc import Sampler

Floats = NDArray[np.float64]
#: Change right draws (n_draws, n_bins): (draws, simulator, rng) -> draws.
Change = Callable[[Floats, SmoothCurveSimulator, np.random.Generator], Floats]

PROBLEM = "smooth curve"


def _drawn(change: Change) -> Callable[[SmoothCurveSimulator], Sampler]:
    """Change the right draws of each data set."""

    def sampler(simulator: SmoothCurveSimulator) -> Sampler:
        def sample(data: list[Any], n: int, rng: np.random.Generator) -> dict[str, Any]:
            each = []
            for one in data:
                right = simulator.sample_one(one, n, rng)["rates"]
                each.append(simulator.named(change(right, simulator, rng)))
            return {name: np.stack([drawn[name] for drawn in each], axis=1) for name in each[0]}

        return sample

    return sampler


def _fitted(change: Callable[[Laplace], Laplace]) -> Callable[[SmoothCurveSimulator], Sampler]:
    """Change the Laplace approximations of each data set."""

    def sampler(simulator: SmoothCurveSimulator) -> Sampler:
        def sample(data: list[Any], n: int, rng: np.random.Generator) -> dict[str, Any]:
            each = []
            for one in data:
                posterior = smooth_curve_posterior(simulator.counts(one), prior_exact=simulator.prior_exact)
                each.append(simulator.named(_with(posterior, change(posterior.fits)).sample(n, rng=rng).accuracy))
            return {name: np.stack([drawn[name] for drawn in each], axis=1) for name in each[0]}

        return sample

    return sampler


def _with(posterior: SmoothCurvePosterior, fits: Laplace) -> SmoothCurvePosterior:
    """Return the posterior with other approximations, which it keeps as a cached property."""
    posterior.__dict__["fits"] = fits
    return posterior


def _with_prior(prior_exact: float) -> Callable[[SmoothCurveSimulator], Sampler]:
    """Draw with another prior probability of exact calibration."""
    return lambda simulator: replace(simulator, prior_exact=prior_exact).sample


def _counted_twice(simulator: SmoothCurveSimulator) -> Sampler:
    twice = replace(simulator, rows_per_bin=2 * simulator.rows_per_bin)
    return lambda data, n, rng: twice.sample([2 * k for k in data], n, rng)


def _flipped(simulator: SmoothCurveSimulator) -> Sampler:
    sampler: Sampler = with_data(lambda k: simulator.rows_per_bin - k)(simulator)
    return sampler


def _from_prior(rates: Floats, simulator: SmoothCurveSimulator, rng: np.random.Generator) -> Floats:
    return np.array([simulator.simulate_one(rng)[0]["rates"] for _ in rates])


def _independent(rates: Floats, simulator: SmoothCurveSimulator, rng: np.random.Generator) -> Floats:
    return rng.permuted(rates, axis=0)


def _mirrored(rates: Floats, simulator: SmoothCurveSimulator, rng: np.random.Generator) -> Floats:
    """Exchange positive and negative errors."""
    return np.clip(2 * simulator.confidence - rates, 1e-9, 1 - 1e-9)


def _thrice(rates: Floats, simulator: SmoothCurveSimulator, rng: np.random.Generator) -> Floats:
    return np.repeat(rates[: len(rates) // 3], 3, axis=0)


def _permuted(rates: Floats, simulator: SmoothCurveSimulator, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.permutation(rates))


def _control(name: str, sampler: Callable[[SmoothCurveSimulator], Sampler], runs: int) -> Control:
    return Control(name, PROBLEM, sampler, of="smooth curve", runs=runs)


SMOOTH_CURVE_MISTAKES = (
    _control("posterior = prior", _drawn(_from_prior), 200),
    _control("outcomes flipped", _flipped, 300),
    _control("rows counted twice", _counted_twice, 1000),
    _control("no exact calibration", _with_prior(0.0), 1000),
    _control("exact calibration too probable", _with_prior(0.5), 1000),
    _control("mode in place of the mean", _fitted(lambda fits: replace(fits, mean=fits.mode)), 6000),
    _control("standard deviations too large by 20 %", _fitted(lambda fits: replace(fits, root=1.2 * fits.root)), 2000),
    _control("bins drawn independently", _drawn(_independent), 1000),
    _control("errors of the wrong sign", _drawn(_mirrored), 300),
    _control("each draw thrice", _drawn(_thrice), 2000),
)
#: Right draws in another order: the step of the mistakes above without a mistake.
UNSPOILT_SMOOTH_CURVE = (_control("draws permuted", _drawn(_permuted), 1000),)
