"""Selective prediction: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from twins.selection import quantities_of

from bayescal.estimands.selective import Selection, draw_cells, prior_of
from sbc.control import Control, with_data
from sbc.ranks import NamedSimulator, Sampler

Floats = NDArray[np.float64]
OF_SELECTION = "selection"
#: Masses below this are ranked as 0: parameters are near 0 in most cells.
LEAST = 1e-9


class SelectionSimulator(NamedSimulator):
    """Masses of cells drawn from the prior, and rows given them.

    Parameters
    ----------
    n_cells : int, default 6
        Cells of confidences, from the largest one on.
    rows : int, default 30
        Rows of each data set: few, so that the prior matters.
    """

    def __init__(self, n_cells: int = 6, rows: int = 30) -> None:
        self.n_cells, self.rows = n_cells, rows

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], Floats]:
        """Draw masses, and numbers of wrong and right rows of each cell."""
        rate = np.maximum(rng.standard_gamma(np.tile(prior_of(self.n_cells), (2, 1))), 1e-300)
        mass = rate / rate.sum()
        rows = rng.multinomial(self.rows, mass.ravel()).reshape(mass.shape).astype(np.float64)
        return {name: values[0] for name, values in _named(mass[None]).items()}, rows

    def sample_one(self, data: Floats, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package."""
        return _named(_masses(draw_cells(data, n_draws, rng)))

    def log_likelihood_one(self, values: Mapping[str, Any], data: Floats) -> Floats:
        """Multinomial log likelihood of the cells."""
        return np.asarray(xlogy(data.ravel(), np.maximum(values["cells"], 1e-300)).sum(axis=1))


def _masses(drawn: Selection) -> Floats:
    """Masses of wrong and right cells, (n_draws, 2, n_cells), from their sums."""
    kept, wrong = np.diff(drawn.kept, axis=1), np.diff(drawn.wrong, axis=1)
    return np.stack([wrong, np.maximum(kept - wrong, 0.0)], axis=1)


def _named(mass: Floats) -> dict[str, Any]:
    cells = mass.reshape(len(mass), -1)
    return {**quantities_of(mass), "cells": np.where(cells < LEAST, 0.0, cells)}


def _of_posterior(
    draw: Callable[[Floats, int, np.random.Generator], Floats],
) -> Callable[[SelectionSimulator], Sampler]:
    """Draw masses from another posterior."""

    def sampler(simulator: SelectionSimulator) -> Sampler:
        def sample(data: Any, n: int, rng: np.random.Generator) -> dict[str, Any]:
            drawn = [_named(draw(one, n, rng)) for one in data]
            return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}

        return sample

    return sampler


def _with_prior(prior: Callable[[int], Any]) -> Callable[[SelectionSimulator], Sampler]:
    def draw(cells: Floats, n: int, rng: np.random.Generator) -> Floats:
        mass = np.maximum(rng.standard_gamma(cells + prior(cells.shape[1]), (n, *cells.shape)), 1e-300)
        return np.asarray(mass / mass.sum(axis=(1, 2), keepdims=True))

    return _of_posterior(draw)


def _one_end(n_cells: int) -> Floats:
    """All of the ends of the prior in the first cell."""
    prior = prior_of(n_cells)
    prior[0], prior[-1] = prior[0] + prior[-1] - prior.min(), prior.min()
    return prior


def _known_shares(cells: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Masses of the cells as observed; only the shares of wrong ones in them are drawn."""
    prior = prior_of(cells.shape[1])
    total = (cells + prior).sum(axis=0)
    wrong = rng.beta(cells[0] + prior, cells[1] + prior, (n, cells.shape[1]))
    mass = np.stack([total * wrong, total * (1 - wrong)], axis=1)
    return np.asarray(mass / total.sum())


#: Mistakes in the sampler of selective prediction.
SELECTION_MISTAKES = tuple(
    Control(name, OF_SELECTION, sampler, of=OF_SELECTION)
    for name, sampler in (
        ("rows counted twice", with_data(lambda cells: 2 * cells)),
        ("smallest confidences kept first", with_data(lambda cells: cells[:, ::-1])),
        ("right and wrong exchanged", with_data(lambda cells: cells[::-1])),
        ("rows of a cell in the next", with_data(lambda cells: np.roll(cells, 1, axis=1))),
        ("no prior at the ends", _with_prior(lambda n: np.full(n, 0.2 / (2 * n)))),
        ("prior spread evenly", _with_prior(lambda n: np.full(n, 1.0 / n))),
        ("prior at the largest confidences only", _with_prior(_one_end)),
        ("shares of the cells known", _of_posterior(_known_shares)),
    )
)
