"""Record of a mistake in a sampler, and mistakes in the counts, which are possible for all samplers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sbc.ranks import NamedSimulator, Sampler, Simulator
from sbc.stacked import StackedCounts


@dataclass(frozen=True)
class Control:
    """A sampler with one mistake.

    Parameters
    ----------
    name : str
        Description of the mistake.
    problem : str
        Name of the simulator on which it is tested, out of `problems`.
    sampler : callable
        Function from the simulator to the wrong sampler.
    of : str
        Name of the sampler that has the mistake.
    runs : int
        Number of simulated data sets that suffice to detect it.
    """

    name: str
    problem: str
    sampler: Callable[[Any], Sampler]
    of: str = "dirichlet"
    runs: int = 1000


def with_counts(change: Callable[[StackedCounts], StackedCounts]) -> Callable[[Simulator], Sampler]:
    """Draw from the right posterior of other counts."""
    return lambda simulator: lambda counts, n, rng: simulator.sample(change(counts), n, rng)


def with_data(change: Callable[[Any], Any]) -> Callable[[NamedSimulator], Sampler]:
    """Draw named quantities from the right posterior of other data."""
    return lambda simulator: lambda data, n, rng: simulator.sample([change(one) for one in data], n, rng)


def with_draws(
    change: Callable[[dict[str, Any], list[Any], np.random.Generator], dict[str, Any]],
) -> Callable[[NamedSimulator], Sampler]:
    """Change some of the right draws of named quantities: (draws, data, rng) -> changed draws by name."""

    def sampler(simulator: NamedSimulator) -> Sampler:
        def sample(data: Any, n: int, rng: np.random.Generator) -> dict[str, Any]:
            right = simulator.sample(data, n, rng)
            return right | change(right, data, rng)

        return sample

    return sampler


def rows_times(factor: float) -> Callable[[StackedCounts], StackedCounts]:
    """Multiply the number of rows by a factor; shares and means stay the same."""
    return lambda c: replace(
        c, weight=factor * c.weight, deviation=factor * c.deviation, weight_sq=factor * c.weight_sq
    )


def outcomes_flipped(c: StackedCounts) -> StackedCounts:
    """Exchange correct and incorrect rows."""
    return replace(c, cells=c.cells[::-1], weight=c.weight[::-1], deviation=c.deviation[::-1])


def last_bin_empty(c: StackedCounts) -> StackedCounts:
    """Drop the rows of the last bin."""
    kept = np.arange(len(c.bins)) < len(c.bins) - 1
    return replace(c, weight=c.weight * kept, deviation=c.deviation * kept, weight_sq=c.weight_sq * kept)
