"""Wrong samplers of the random-effects model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal.verify.mistakes.control import Control, with_data, with_draws


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
