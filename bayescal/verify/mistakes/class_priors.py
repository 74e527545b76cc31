"""Wrong samplers of the class frequencies of a target."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior, dirichlet, most_probable
from bayescal.verify.mistakes.control import Control, with_data, with_draws


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
