"""The random-effects model: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.random_effects import DEGREES, RandomEffectsPosterior
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator

Floats = NDArray[np.float64]


class RandomEffectsSimulator(NamedSimulator):
    """Standard deviations from their prior, differences, and estimates with known errors.

    The mean has a uniform prior and is a location parameter: posteriors shift with the estimates, so that ranks of the
    truth are uniform for any true mean.

    Parameters
    ----------
    n_sets : int, default 5
        Number of data sets.
    scale : float, default 0.05
        Scale of the prior of the standard deviation between data sets.
    """

    def __init__(self, n_sets: int = 5, scale: float = 0.05) -> None:
        self.n_sets, self.scale = n_sets, scale

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], tuple[Floats, Floats]]:
        """Draw the parameters, a new difference, and the data: estimates and their standard errors."""
        mean, spread = 0.02, float(abs(rng.standard_t(DEGREES)) * self.scale)
        error = self.scale * rng.uniform(0.1, 1.0, self.n_sets)
        truth = mean + spread * rng.standard_normal(self.n_sets)
        estimate = truth + error * rng.standard_normal(self.n_sets)
        return {"mean": mean, "spread": spread, "new": mean + spread * rng.standard_normal()}, (estimate, error)

    def sample_one(self, data: tuple[Floats, Floats], n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        mean, spread, new = RandomEffectsPosterior(data[0][None], data[1][None], self.scale).sample(n_draws, rng)
        return {"mean": mean[:, 0], "spread": spread[:, 0], "new": new[:, 0]}

    def log_likelihood_one(self, values: Mapping[str, Any], data: tuple[Floats, Floats]) -> Floats:
        """Log likelihood of the estimates, given mean and standard deviation between data sets."""
        estimate, error = data
        variance = error**2 + np.asarray(values["spread"])[:, None] ** 2
        total: Floats = -0.5 * (
            np.log(variance) + (estimate - np.asarray(values["mean"])[:, None]) ** 2 / variance
        ).sum(1)
        return total


def _half_errors(data: Any) -> Any:
    return data[0], data[1] / 2


def _posteriors_as_truths(data: Any) -> Any:
    """Count the errors twice, as integrating a hierarchical model over posterior draws of the differences does."""
    return data[0], data[1] * np.sqrt(2)


def _equal_weights(data: Any) -> Any:
    return data[0], np.full_like(data[1], np.sqrt((data[1] ** 2).mean()))


def _one_set_missing(data: Any) -> Any:
    return data[0][:-1], data[1][:-1]


def _fixed_effect(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Leave out the differences between data sets, as a fixed-effect meta-analysis does."""
    estimate, error = (np.array(each) for each in zip(*data, strict=True))
    weight = error**-2
    mean = (weight * estimate).sum(axis=1) / weight.sum(axis=1)
    return {"mean": mean + weight.sum(axis=1) ** -0.5 * rng.standard_normal(drawn["mean"].shape)}


def _new_without_spread(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Take the mean for the difference on a new data set."""
    return {"new": drawn["mean"]}


def _variance_as_sd(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"spread": drawn["spread"] ** 2}


#: Mistakes in the sampler of the random-effects model.
RANDOM_EFFECTS_MISTAKES = tuple(
    Control(name, "random effects", sampler, of="random effects", runs=runs)
    for name, sampler, runs in (
        ("errors of the estimates halved", with_data(_half_errors), 1000),
        ("errors of the estimates counted twice", with_data(_posteriors_as_truths), 2000),
        ("equal errors", with_data(_equal_weights), 4000),
        ("last data set left out", with_data(_one_set_missing), 1000),
        ("no differences between data sets", with_draws(_fixed_effect), 1000),
        ("new data set without differences between data sets", with_draws(_new_without_spread), 1000),
        ("variance instead of sd between data sets", with_draws(_variance_as_sd), 1000),
    )
)
