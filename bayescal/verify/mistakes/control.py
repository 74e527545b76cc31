"""One mistake in a sampler, and those that any sampler can be made to make."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal.verify.sbc import Sampler, Simulator
from bayescal.verify.stacked import StackedCounts


@dataclass(frozen=True)
class Control:
    """One mistake.

    Parameters
    ----------
    name : str
        The mistake in words.
    problem : str
        Where it is looked for: a name out of `problems`.
    sampler : callable
        From the problem to the wrong sampler.
    of : str
        The sampler that is spoilt.
    runs : int
        Simulated data sets that suffice to see it.
    """

    name: str
    problem: str
    sampler: Callable[[Any], Sampler]
    of: str = "dirichlet"
    runs: int = 1000


def told(change: Callable[[StackedCounts], StackedCounts]) -> Callable[[Simulator], Sampler]:
    """The right posterior of other counts."""
    return lambda simulator: lambda counts, n, rng: simulator.sample(change(counts), n, rng)


def rows_times(factor: float) -> Callable[[StackedCounts], StackedCounts]:
    """As many rows as that, with the same shares and means."""
    return lambda c: replace(
        c, weight=factor * c.weight, deviation=factor * c.deviation, weight_sq=factor * c.weight_sq
    )


def outcomes_flipped(c: StackedCounts) -> StackedCounts:
    """Correct rows for incorrect ones."""
    return replace(c, cells=c.cells[::-1], weight=c.weight[::-1], deviation=c.deviation[::-1])


def last_bin_empty(c: StackedCounts) -> StackedCounts:
    """Without the rows of the last bin."""
    kept = np.arange(len(c.bins)) < len(c.bins) - 1
    return replace(c, weight=c.weight * kept, deviation=c.deviation * kept, weight_sq=c.weight_sq * kept)
