"""Posteriors of named scalar quantities: in closed form and in PyMC for `agreement`, with known truths for `sbc`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

Floats = NDArray[np.float64]


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

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Return draws of every quantity, of shape (n_draws,), or exact moments."""


def by_name(tree: "xr.DataTree", names: Sequence[str]) -> dict[str, Any]:
    """Return variables of the chains of a PyMC model, one chain after another.

    Parameters
    ----------
    tree : DataTree
        Result of `pymc.sample`.
    names : sequence of str
        Variables of the model.

    Returns
    -------
    dict of str to ndarray, shape (n_draws, ...)
        Draws on axis 0.
    """
    return {name: np.concatenate(tree.posterior[name].values) for name in names}


def below(name: str, values: Any, thresholds: Sequence[float]) -> dict[str, NDArray[np.bool_]]:
    """Make the events that a quantity is at most each threshold, which compare its distribution function.

    Parameters
    ----------
    name : str
        Name of the quantity.
    values : ndarray
        Draws.
    thresholds : sequence of float
        Points of the distribution function.

    Returns
    -------
    dict of str to ndarray of bool
        One event per threshold.

    Examples
    --------
    >>> below("slope", np.array([0.9, 1.1]), [1.0])
    {'P(slope <= 1)': array([ True, False])}
    """
    return {f"P({name} <= {t:.6g})": values <= t for t in thresholds}


class NamedSimulator(ABC):
    """Base class of simulators for `sbc` whose truths are named quantities; it loops over the data sets.

    A subclass draws one truth and its data, and samples one posterior. `sbc` ranks every quantity that truths and draws
    both have, and the log likelihood.
    """

    #: Quantities with an axis of their own that are independent given the data; see `Ranks`.
    independent: tuple[str, ...] = ()

    @abstractmethod
    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], Any]:
        """Draw the parameters from the prior, and a data set given them: numbers, or arrays of shape (k,), by name."""

    @abstractmethod
    def sample_one(self, data: Any, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw independently from the posterior of one data set: arrays of shape (n_draws,) or (n_draws, k) by name."""

    @abstractmethod
    def log_likelihood_one(self, values: Mapping[str, Any], data: Any) -> Floats:
        """Compute the log likelihood of one data set, up to a constant, at parameters with draws on axis 0."""

    def simulate(self, n_sets: int, rng: np.random.Generator) -> tuple[dict[str, Any], list[Any]]:
        """Draw truths of shape (1, n_sets) or (1, n_sets, k), and a list of data sets."""
        truths, data = zip(*(self.simulate_one(rng) for _ in range(n_sets)), strict=True)
        return {name: np.array([truth[name] for truth in truths])[None] for name in truths[0]}, list(data)

    def sample(self, data: Sequence[Any], n_draws: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draw with the package's sampler: arrays of shape (n_draws, n_sets) or (n_draws, n_sets, k) by name."""
        drawn = [self.sample_one(one, n_draws, rng) for one in data]
        return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}

    def log_likelihood(self, values: Mapping[str, Any], data: Sequence[Any]) -> Floats:
        """Compute the log likelihood of every data set, of shape (n_draws, n_sets)."""
        each = ({name: drawn[:, i] for name, drawn in values.items()} for i in range(len(data)))
        return np.stack([self.log_likelihood_one(one, of) for one, of in zip(each, data, strict=True)], axis=1)
