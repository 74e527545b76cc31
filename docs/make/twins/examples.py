"""Few rows for each posterior that has a twin, so that priors matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal._arrays import Floats
from bayescal.clinical.curve.posterior import SmoothCurvePosterior, smooth_curve_posterior
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import simulate
from bayescal.posterior.pooling.evidence import GroupBins
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior
from bayescal.shift.counts import ShiftCells, ShiftCounts
from bayescal.shift.statistics import CellShiftPosterior
from bayescal.stats.ordered import OrderedSums, merge_scores
from bayescal.verify.named import Moments, below, by_name
from bayescal.verify.topic_models import frequency_model
from twins import shift
from twins.shift import CellShiftTwin

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: Quantiles of the closed form at which distribution functions are compared.
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False)
class ClassPriorTwin:
    """The posterior of class frequencies from cells, in closed form and in PyMC; for `agreement`.

    In PyMC the classes of the target rows are summed out: class frequencies and cells are parameters, and the rows of
    the target are Multinomial.
    """

    posterior: ClassPriorPosterior
    #: Points of the distribution function of each frequency, shape (n_classes, n_thresholds).
    thresholds: Floats

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        return frequency_model(self.posterior)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return frequencies from chains, and events."""
        return self._named(by_name(tree, ["pi"])["pi"])

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package."""
        return self._named(self.posterior.sample(n_draws, rng=rng))

    def _named(self, pi: Floats) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for k, points in enumerate(self.thresholds):
            name = f"pi[{k}]"
            named |= {name: pi[:, k], **below(name, pi[:, k], points.tolist())}
        return named


def four_cells() -> CellShiftTwin:
    """Make the twin of four cells with few rows, for which no concentration is certain."""
    posterior = CellShiftPosterior(np.array([30, 22, 6, 2]), np.array([14, 20, 12, 4]))
    samples = shift.quantities(posterior.sample(4000, rng=1))
    points = {"total variation": samples["total variation"], "difference[0]": samples["difference"][:, 0]}
    return CellShiftTwin(posterior, {name: np.quantile(values, shift.LEVELS) for name, values in points.items()})


def few_groups() -> GroupBins:
    """Return three groups in five bins, with few rows: one like the curve, one calibrated, one shifted."""
    n = np.array([[8, 4, 6, 10, 12], [6, 9, 5, 8, 7], [3, 0, 4, 5, 2]], dtype=float)
    k = np.array([[0, 2, 3, 6, 12], [1, 2, 3, 6, 6], [2, 0, 4, 5, 2]], dtype=float)
    confidence = np.tile([0.1, 0.3, 0.5, 0.7, 0.9], (3, 1))
    return GroupBins(n, k, n, confidence, np.full(5, 0.2))


def simulated_curve(n_rows: int = 600, n_bins: int = 12) -> SmoothCurvePosterior:
    """Make the posterior of simulated rows in bins of equal mass whose sub-models are all possible; always the same."""
    rows = simulate(n_rows, population="flat", curve="temperature", strength=1.15, rng=5)
    steps = OrderedSums.from_rows(Predictions.from_outcomes(rows.outcome, rows.confidence))
    return smooth_curve_posterior(merge_scores(steps, n_bins))


def three_classes() -> ClassPriorTwin:
    """Make the twin of three classes in six cells, with few rows of one class, so that priors matter."""
    cells = ShiftCells(np.array([[0.7], [0.6], [0.8]]))
    source = np.array([[30, 25, 5, 4, 2, 0], [6, 3, 20, 18, 4, 2], [1, 0, 2, 1, 4, 3]])
    posterior = ClassPriorPosterior(ShiftCounts(source, np.array([20, 14, 25, 21, 18, 12]), cells))
    return ClassPriorTwin(posterior, np.quantile(posterior.sample(4000, rng=1), LEVELS, axis=0).T)


def two_classes() -> ClassPriorTwin:
    """Make the twin of two classes: 200 labelled rows and 2000 of the target; some cells lack labels of a class."""
    cells = ShiftCells(np.array([[0.7, 0.9], [0.7, 0.9]]))
    source = np.array([[22, 32, 33, 8, 4, 1], [10, 0, 0, 26, 30, 34]])
    posterior = ClassPriorPosterior(ShiftCounts(source, np.array([415, 561, 483, 283, 150, 108]), cells))
    return ClassPriorTwin(posterior, np.quantile(posterior.sample(4000, rng=1), LEVELS, axis=0).T)
