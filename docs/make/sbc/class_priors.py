"""Class frequencies of a target: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.shift.class_frequencies_posterior import ALPHA, TINY, ClassPriorPosterior, dirichlet, most_probable
from bayescal.shift.counts import ShiftCells, ShiftCounts
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ClassPriorSimulator(NamedSimulator):
    """Class frequencies and cells from their prior, and rows of source and target.

    Parameters
    ----------
    n_classes : int, default 2
        Number of classes.
    n_ranges : int, default 3
        Ranges of confidence per predicted class.
    source_rows : int, default 60
        Labelled rows of each class.
    target_rows : int, default 100
        Rows of the target.
    """

    def __init__(self, n_classes: int = 2, n_ranges: int = 3, source_rows: int = 60, target_rows: int = 100) -> None:
        self.source_rows, self.target_rows = source_rows, target_rows
        self.cells = ShiftCells(np.tile(np.linspace(0.6, 0.9, n_ranges - 1), (n_classes, 1)))

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], ShiftCounts]:
        """Draw frequencies and cells, and counts given them."""
        n_classes, n_cells = self.cells.n_classes, len(self.cells)
        empty = ShiftCounts(np.zeros((n_classes, n_cells), int), np.zeros(n_cells, int), self.cells)
        posterior = ClassPriorPosterior(empty)
        pi = rng.dirichlet(np.full(n_classes, ALPHA))
        cells = rng.dirichlet(np.full(n_cells, posterior.cell_alpha), n_classes)
        source = rng.multinomial(self.source_rows, cells)
        target = rng.multinomial(self.target_rows, pi @ cells)
        return {"pi": pi[1:], "cells": cells.ravel()}, ShiftCounts(source, target, self.cells)

    def sample_one(self, data: ShiftCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        pi, cells = ClassPriorPosterior(data).sample_all(n_draws, rng=rng)
        return {"pi": pi[:, 1:], "cells": cells.reshape(n_draws, -1)}

    def log_likelihood_one(self, values: Mapping[str, Any], data: ShiftCounts) -> Floats:
        """Log likelihood of both tables of counts."""
        rest = np.asarray(values["pi"])
        cells = np.maximum(values["cells"], TINY).reshape(-1, *data.source.shape)
        pi = np.concatenate([1 - rest.sum(axis=1, keepdims=True), rest], axis=1)
        mixed = np.einsum("nk,nkj->nj", pi, cells)
        total: Floats = (data.source * np.log(cells)).sum(axis=(1, 2)) + np.log(np.maximum(mixed, TINY)) @ data.target
        return total


def _source_twice(data: Any) -> Any:
    return replace(data, source=2 * data.source)


def _target_halved(data: Any) -> Any:
    return replace(data, target=data.target // 2)


def _last_cell_merged(data: Any) -> Any:
    """Move the rows of the last cell of the target to the first."""
    target = data.target.copy()
    target[0] += target[-1]
    target[-1] = 0
    return replace(data, target=target)


def _known_cells(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Take the observed cells of each class as known, as the bootstrap of the target alone does."""
    found = []
    for each in data:
        posterior = ClassPriorPosterior(replace(each, source=1000 * each.source))
        found.append(posterior.sample(len(drawn["pi"]), rng=rng)[:, 1:])
    return {"pi": np.stack(found, axis=1)}


def _most_probable(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Leave out the sweeps: draw the cells given the source alone, and solve for the frequencies."""
    found = []
    for each in data:
        own = each.source + ClassPriorPosterior(each).cell_alpha
        cells = dirichlet(np.broadcast_to(own, (len(drawn["pi"]), *own.shape)), rng)
        found.append(most_probable(cells, each.target)[:, 1:])
    return {"pi": np.stack(found, axis=1)}


def _predicted(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Count the predicted classes of the target as if they were its classes."""
    found = []
    for each in data:
        rows = each.target.reshape(each.cells.n_classes, -1).sum(axis=1)
        found.append(rng.dirichlet(1.0 + rows, len(drawn["pi"]))[:, 1:])
    return {"pi": np.stack(found, axis=1)}


#: Mistakes in the sampler of class frequencies.
CLASS_PRIOR_MISTAKES = tuple(
    Control(name, "class frequencies", sampler, of="class frequencies", runs=runs)
    for name, sampler, runs in (
        ("source counted twice", with_data(_source_twice), 500),
        ("half of the target's rows", with_data(_target_halved), 500),
        ("last cell of the target in the first", with_data(_last_cell_merged), 500),
        ("cells of each class known", with_draws(_known_cells), 1000),
        ("no sweeps after the most probable frequencies", with_draws(_most_probable), 500),
        ("predicted classes taken as classes", with_draws(_predicted), 500),
    )
)
