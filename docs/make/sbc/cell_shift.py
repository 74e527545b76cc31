"""Distributions of source and target over cells: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from twins.shift import quantities

from bayescal.shift.class_frequencies_posterior import dirichlet
from bayescal.shift.statistics import SCALES, CellShiftPosterior
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator, Sampler

Ints = NDArray[np.int64]

Floats = NDArray[np.float64]
Proposed = tuple[Floats, Floats, Floats]

#: A power of the marginal likelihoods with which the largest one decides.
SHARP = 1000.0


#: Smaller shares are ranked as 0: the sampler bounds Gamma variables below by 1e-300.
LEAST_SHARE = 1e-250


class CellShiftSimulator(NamedSimulator):
    """Distributions of both sides from their prior, and rows of both.

    Parameters
    ----------
    n_cells : int, default 4
        Number of cells.
    rows : tuple of int, default (60, 40)
        Rows of source and target.
    posterior : type, default CellShiftPosterior
        The posterior that is drawn from; wrong samplers pass another class.
    """

    def __init__(
        self,
        n_cells: int = 4,
        rows: tuple[int, int] = (60, 40),
        posterior: type[CellShiftPosterior] = CellShiftPosterior,
    ) -> None:
        self.n_cells, self.rows, self.posterior = n_cells, rows, posterior

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], Ints]:
        """Draw a common distribution, a concentration, both distributions, and rows of shape (2, n_cells)."""
        none = CellShiftPosterior(*np.zeros((2, self.n_cells), int))
        common = dirichlet(np.full(self.n_cells, none.alpha), rng)
        concentration = rng.choice(np.append(none.concentrations, np.inf))
        sides = np.stack([common, common])
        if np.isfinite(concentration):
            sides = dirichlet(concentration * sides, rng)
        return self._named(sides[None], 0), rng.multinomial(self.rows, sides)

    def sample_one(self, data: Ints, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the sampler of the package."""
        return self._named(self.posterior(*data).sample(n_draws, rng=rng), slice(None))

    def log_likelihood_one(self, values: Mapping[str, Any], data: Ints) -> Floats:
        """Log likelihood of the rows of both sides."""
        shares = (np.maximum(values[name], LEAST_SHARE) for name in ("source", "target"))
        return np.asarray(sum(np.log(p) @ rows for rows, p in zip(data, shares, strict=True)))

    def _named(self, sides: Floats, draws: Any) -> dict[str, Any]:
        sides = np.where(sides < LEAST_SHARE, 0.0, sides)
        equal = (sides[:, 0] == sides[:, 1]).all(axis=1).astype(np.float64)
        return {name: values[draws] for name, values in {**quantities(sides), "equal": equal}.items()}


def _rows_twice(data: Any) -> Any:
    return 2 * data


def _target_halved(data: Any) -> Any:
    return np.stack([data[0], data[1] // 2])


def _sides_exchanged(data: Any) -> Any:
    return data[::-1]


class _OneRowPerCell(CellShiftPosterior):
    """A prior of the common distribution with one row per cell, in place of one row in total."""

    alpha = property(lambda self: 1.0)


class _NotSquared(CellShiftPosterior):
    """Concentrations that are inverse to the expected total variation, in place of its square."""

    @property
    def concentrations(self) -> Floats:
        return (len(self.source) - 1) / (np.pi * np.array(SCALES))


class _WithoutEquality(CellShiftPosterior):
    """No difference is left out, as with independent sides."""

    def _without_difference(self) -> float:
        return -np.inf


class _HalfEqual(CellShiftPosterior):
    """No difference is as probable as all differences together."""

    def _without_difference(self) -> float:
        return super()._without_difference() + float(np.log(len(self.concentrations)))


class _TwoEvidences(CellShiftPosterior):
    """Under no difference, source and target have distributions of their own."""

    def _without_difference(self) -> float:
        none = np.zeros_like(self.source)
        alone = CellShiftPosterior(self.source, none), CellShiftPosterior(none, self.target)
        return sum(each._without_difference() for each in alone)


class _PluggedIn(CellShiftPosterior):
    """The pooled shares are taken as the common distribution."""

    def _proposed(self, rng: np.random.Generator) -> Proposed:
        common, evidence, weights = super()._proposed(rng)
        pooled = self.source + self.target + self.alpha
        return np.broadcast_to(pooled / pooled.sum(), common.shape), evidence, weights


class _MostProbable(CellShiftPosterior):
    """The concentration with the largest marginal likelihood is taken as known."""

    def _proposed(self, rng: np.random.Generator) -> Proposed:
        common, evidence, weights = super()._proposed(rng)
        return common, SHARP * evidence, weights

    def _without_difference(self) -> float:
        return SHARP * super()._without_difference()


def _from(posterior: type[CellShiftPosterior]) -> Callable[[CellShiftSimulator], Sampler]:
    """Draw from another posterior of the same data."""
    return lambda simulator: CellShiftSimulator(simulator.n_cells, simulator.rows, posterior).sample


def _independent(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw both sides independently, with uniform priors."""
    shape = (len(drawn["equal"]), *np.shape(data[0]))
    found = [quantities(dirichlet(np.broadcast_to(1.0 + rows, shape), rng)) for rows in data]
    return {name: np.stack([each[name] for each in found], axis=1) for name in found[0]}


def _equal_to_target(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Leave out the rows of the source where both sides are equal."""
    size = len(drawn["equal"])
    alone = [dirichlet(np.broadcast_to(rows[1] + 1 / len(rows[1]), (size, len(rows[1]))), rng) for rows in data]
    equal = drawn["equal"][..., None] > 0
    return {name: np.where(equal, np.stack(alone, axis=1), drawn[name]) for name in ("source", "target")}


#: Mistakes in the sampler of both distributions.
CELL_SHIFT_MISTAKES = tuple(
    Control(name, "shift of cells", sampler, of="shift of cells", runs=runs)
    for name, sampler, runs in (
        ("rows counted twice", with_data(_rows_twice), 500),
        ("half of the target's rows", with_data(_target_halved), 500),
        ("source and target exchanged", with_data(_sides_exchanged), 500),
        ("prior of one row per cell", _from(_OneRowPerCell), 500),
        ("concentrations without a square", _from(_NotSquared), 1000),
        ("no difference left out", _from(_WithoutEquality), 500),
        ("no difference as probable as all differences", _from(_HalfEqual), 500),
        ("no difference with two marginal likelihoods", _from(_TwoEvidences), 500),
        ("pooled shares as the common distribution", _from(_PluggedIn), 500),
        ("most probable concentration taken as known", _from(_MostProbable), 500),
        ("independent sides with uniform priors", with_draws(_independent), 500),
        ("equal sides from the target alone", with_draws(_equal_to_target), 3000),
    )
)
