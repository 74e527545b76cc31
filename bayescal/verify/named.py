"""Posteriors of named scalar quantities: in closed form and in PyMC, for `agreement`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from bayescal._arrays import Bools, Floats, Generator, pm, xr


class Moments(NamedTuple):
    """Exact mean and standard deviation of a quantity; the standard deviation of a probability is not used."""

    mean: float
    sd: float = 0.0


@runtime_checkable
class Twin(Protocol):
    """A posterior twice, in closed form and in PyMC, with quantities under the same names.

    Names that begin with ``P(`` are probabilities of events: their means alone are compared; see `below`.
    """

    def model(self) -> "pm.Model":
        """Write the model in PyMC, with the same data and prior."""

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Compute every quantity from chains: arrays of shape (n_draws,), one chain after another; see `by_name`."""

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Floats | Moments]:
        """Return draws of every quantity, of shape (n_draws,), or exact moments."""


def by_name(tree: "xr.DataTree", names: Sequence[str]) -> dict[str, Any]:
    """Return variables of the chains of a PyMC model, one chain after another: draws on axis 0."""
    return {name: np.concatenate(tree.posterior[name].values) for name in names}


def below(name: str, values: Any, thresholds: Sequence[float]) -> dict[str, Bools]:
    """Make the events that a quantity is at most each threshold, which compare its distribution function."""
    return {f"P({name} <= {t:.6g})": values <= t for t in thresholds}
