"""Intercept and slope: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import recalibration_posterior
from sbc.control import Control, with_data
from sbc.ranks import NamedSimulator, Sampler

Floats = NDArray[np.float64]

PROBLEM = "intercept and slope"


@dataclass(frozen=True, eq=False)
class RecalibrationSimulator(NamedSimulator):
    """Simulator of intercept and slope; the scores are fixed, or drawn for every data set.

    Parameters
    ----------
    rows : int
        Rows of each data set.
    prior : tuple of float
        Standard deviations of shift and slope.
    shape : tuple of float
        Parameters of the Beta distribution of the probabilities.
    step : float
        Width of the cells.
    """

    rows: int = 200
    prior: tuple[float, float] = (2.5, 1.0)
    shape: tuple[float, float] = (1.0, 3.0)
    step: float = 0.05

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], LogitCounts]:
        """Draw scores, intercept and slope, and outcomes at the mean logits of the cells.

        The posterior takes all rows of a cell to be at its mean logit, so the simulator puts them there.
        """
        p = np.clip(rng.beta(*self.shape, self.rows), 1e-12, 1 - 1e-12)
        binned = LogitCounts.from_arrays(np.zeros(self.rows, int), p, step=self.step)
        x, n = binned.logit, binned.n
        stated = n / (2 + np.exp(x) + np.exp(-x))
        lever = (stated * x).sum() / stated.sum()
        slope = 1 + self.prior[1] * rng.standard_normal()
        intercept = self.prior[0] * rng.standard_normal() + lever * (1 - slope)
        k = rng.binomial(n.astype(int), 1 / (1 + np.exp(-(intercept + slope * x))))
        return {"intercept": intercept, "slope": slope, **_extremes(intercept, slope, x)}, with_events(binned, k)

    def sample_one(self, data: LogitCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        drawn = recalibration_posterior(data, prior=self.prior).sample(n_draws, rng=rng)
        return by_quantity(drawn, data)

    def log_likelihood_one(self, values: Mapping[str, Any], data: LogitCounts) -> Floats:
        """Compute the log likelihood of the outcomes."""
        eta = np.asarray(values["intercept"])[:, None] + np.asarray(values["slope"])[:, None] * data.logit
        return np.asarray(eta @ data.k - np.logaddexp(0.0, eta) @ data.n)


def by_quantity(drawn: Floats, data: LogitCounts) -> dict[str, Any]:
    """Name draws of intercept and slope, and their linear predictors at the ends of the scores."""
    intercept, slope = drawn.T
    return {"intercept": intercept, "slope": slope, **_extremes(intercept, slope, data.logit)}


def _extremes(intercept: Any, slope: Any, x: Floats) -> dict[str, Any]:
    return {"lowest": intercept + slope * x[0], "highest": intercept + slope * x[-1]}


def with_events(counts: LogitCounts, k: NDArray[np.int64]) -> LogitCounts:
    """Replace the outcomes of unweighted counts: k rows of each cell have outcome 1.

    Parameters
    ----------
    counts : LogitCounts
        Counts whose rows all have outcome 0 and lie inside (0, 1).
    k : ndarray of int, shape (n_cells,)
        Rows with outcome 1.

    Returns
    -------
    LogitCounts
        Counts with the same logits.
    """
    from dataclasses import replace

    binned = counts.binned
    used = binned.cells[0] > 0
    cells = binned.cells.copy()
    cells[1, used], cells[0, used] = k, cells[0, used] - k
    return LogitCounts(replace(binned, cells=cells, weight=cells.astype(np.float64)))


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
