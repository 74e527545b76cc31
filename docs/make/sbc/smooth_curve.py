"""The smooth curve model: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.clinical.curve.posterior import (
    DEVIATIONS,
    Laplace,
    SmoothCurvePosterior,
    smooth_curve_posterior,
)
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.topic_models import components
from sbc.control import Control, with_data
from sbc.ranks import NamedSimulator, Sampler

Floats = NDArray[np.float64]

PROBLEM = "smooth curve"


@dataclass(frozen=True, eq=False)
class SmoothCurveSimulator(NamedSimulator):
    """Simulator of a smooth curve, with fixed scores in bins of equal mass.

    Parameters
    ----------
    rows_per_bin : int
        Rows of each bin.
    n_bins : int
        Number of bins.
    prior_exact : float
        Prior probability of exact calibration.
    """

    rows_per_bin: int = 20
    n_bins: int = 10
    prior_exact: float = 0.1

    @cached_property
    def bins(self) -> Bins:
        """Bins of equal width, which have equal mass."""
        return make_bins(self.n_bins)

    @property
    def confidence(self) -> Floats:
        """Scores: the middle of its bin for each row."""
        return self.bins.midpoints

    @cached_property
    def _components(self) -> tuple[list[str], Floats, Floats]:
        return components(self.confidence, self.confidence)  # ranks of uniform scores

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], NDArray[np.int64]]:
        """Draw a sub-model, its parameters, and the rows with outcome 1 of each bin."""
        c = self.confidence
        names, share, matrix = self._components
        others = (1 - self.prior_exact) / len(DEVIATIONS) * share
        j = rng.choice(len(names) + 1, p=np.append(self.prior_exact, others))
        x = np.log(c / (1 - c))
        deviation = matrix[j - 1] @ rng.standard_normal(matrix.shape[2]) if j else np.zeros(len(c))
        accuracy = 1 / (1 + np.exp(-(x + deviation))) if j else c
        truth = {name: values[0] for name, values in self.named(accuracy[None]).items()}
        return truth, rng.binomial(self.rows_per_bin, accuracy)

    def sample_one(self, data: NDArray[np.int64], n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        posterior = smooth_curve_posterior(self.counts(data), prior_exact=self.prior_exact)
        return self.named(posterior.sample(n_draws, rng=rng).accuracy)

    def counts(self, k: NDArray[np.int64]) -> BinnedCounts:
        """Make counts of bins whose rows have equal scores."""
        n = np.full(self.n_bins, self.rows_per_bin)
        cells = np.stack([n - k, k])
        empty = BinnedCounts.empty(self.bins)
        return replace(empty, cells=cells, weight=cells.astype(float), weight_sq=n.astype(float))

    def named(self, accuracy: Floats) -> dict[str, Any]:
        """Name the quantities that are ranked: mean and largest absolute errors with equal masses, and rates."""
        gap = np.abs(accuracy - self.confidence)
        return {"ici": gap.mean(axis=1), "emax": gap.max(axis=1), "rates": accuracy}

    def log_likelihood_one(self, values: Mapping[str, Any], data: NDArray[np.int64]) -> Floats:
        """Compute the log likelihood of the outcomes."""
        rates = np.asarray(values["rates"])
        return np.asarray(np.log(rates) @ data + np.log1p(-rates) @ (self.rows_per_bin - data))


#: Change right draws (n_draws, n_bins): (draws, simulator, rng) -> draws.
Change = Callable[[Floats, SmoothCurveSimulator, np.random.Generator], Floats]


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
