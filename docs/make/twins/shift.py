"""Distributions over cells, and the calibration error under label shift again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal._arrays import Floats, Generator, pm, xr
from bayescal.estimands.errors import ece
from bayescal.shift.label_shift_result import LabelShiftEvaluation
from bayescal.shift.statistics import CellShiftPosterior, total_variation
from bayescal.verify.named import below, by_name
from bayescal.verify.topic_models import cell_shift_model, rows_by_bin

#: Draws of the closed form that share one set of proposals. The Monte Carlo error of a set is small compared with that
#: of so few draws.
DRAWS_PER_SET = 40
#: Levels at which distribution functions are compared.
LEVELS = (0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False)
class CellShiftTwin:
    """The posterior of both distributions in closed form and in PyMC; for `agreement`.

    `cell_shift_model` describes the model.
    """

    posterior: CellShiftPosterior
    #: For some quantities, points of their distribution function.
    thresholds: Mapping[str, Floats]

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        return cell_shift_model(self.posterior)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Draw the concentration given the chains, and return the quantities of both distributions."""
        chains = by_name(tree, ["common", "sides", "probability"])
        level = np.random.default_rng(0).random(len(chains["common"]))
        equal = chains["probability"][:, :-1].sum(axis=1) < level
        sides = np.where(equal[:, None, None], chains["common"][:, None], chains["sides"])
        return self._named(sides, chains["probability"])

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Any]:
        """Draw with the package, with new proposals for every `DRAWS_PER_SET` draws."""
        sets = range(-(-n_draws // DRAWS_PER_SET))
        sides = np.concatenate([self.posterior.sample(DRAWS_PER_SET, rng=rng) for _ in sets])
        evidence = np.stack([self.posterior.log_evidence(rng) for _ in sets])
        relative = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return self._named(sides, relative / relative.sum(axis=1, keepdims=True))

    def _named(self, sides: Floats, probability: Floats) -> dict[str, Any]:
        """Name the quantities; `probability` has one column per concentration, the last one for no difference."""
        named: dict[str, Any] = {f"P(concentration {i})": each for i, each in enumerate(probability.T)}
        for name, values in quantities(sides).items():
            named |= {name: values} if values.ndim == 1 else {f"{name}[{j}]": each for j, each in enumerate(values.T)}
        for name, points in self.thresholds.items():
            named |= below(name, named[name], points.tolist())
        return named


def quantities(sides: Floats) -> dict[str, Floats]:
    """Return the quantities of pairs of distributions, shape (n_draws, 2, n_cells), that are compared and ranked."""
    source, target = sides[:, 0], sides[:, 1]
    both = {"source": source, "target": target, "difference": target - source}
    return {**both, "total variation": total_variation(sides)}


@dataclass(frozen=True, eq=False)
class LabelShiftTwin:
    """An evaluation of an event under label shift, and a model of all its rows in PyMC; for `agreement`.

    The two posteriors differ. The evaluation computes class frequencies first, from rows by cell. It approximates the
    posterior of the bins given draws of the frequencies, and pools; `agreement` measures the difference. The evaluation
    has ``sub_models=[SUB_MODEL]`` and rows of the target in every bin.
    """

    evaluation: LabelShiftEvaluation

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        part: Any = self.evaluation.posterior.parts[0]
        return rows_by_bin(self.evaluation.counts.rows, part.prior_options)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return the ECE, the frequency of the event, and the position relative to the interval of the evaluation."""
        chains = by_name(tree, ["ece", "pi"])
        return self._named(chains["ece"], chains["pi"][:, 1])

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Any]:
        """Draw with the package; class frequencies are those of the evaluation."""
        errors = ece(self.evaluation.posterior.sample(n_draws, rng=rng)).values
        return self._named(errors, self.evaluation.priors.drawn[:, 1])

    def _named(self, errors: Any, frequency: Any) -> dict[str, Any]:
        ends = self.evaluation.ece.interval(0.95)
        return {"ece": errors, "frequency": frequency, **below("ece", errors, ends)}
