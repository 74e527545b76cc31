"""Class frequencies of a target again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.shift.cells import ShiftCells
from bayescal.shift.class_frequencies_posterior import ALPHA, ClassPriorPosterior
from bayescal.shift.counts import ShiftCounts
from bayescal.verify.named import Moments, below, by_name

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


def frequency_model(posterior: ClassPriorPosterior) -> "pm.Model":
    """Write the model of class frequencies and cells in PyMC."""
    _packages.require("pymc")
    import pymc as pm

    counts = posterior.counts
    coords = {"class": [str(label) for label in counts.classes], "cell": np.arange(counts.source.shape[1])}
    with pm.Model(coords=coords) as model:
        class_frequencies(posterior)
    return model


def class_frequencies(posterior: ClassPriorPosterior) -> Any:
    """Write class frequencies, cells, and rows of both sides in the PyMC model on the context stack; return ``pi``."""
    _packages.require("pymc")
    import pymc as pm

    counts = posterior.counts
    pi = pm.Dirichlet("pi", np.full(len(counts.source), ALPHA), dims="class")
    cells = pm.Dirichlet("cells", np.full(counts.source.shape, posterior.cell_alpha), dims=("class", "cell"))
    pm.Multinomial("source", n=counts.by_class, p=cells, observed=counts.source, dims=("class", "cell"))
    pm.Multinomial("target", n=counts.n_target, p=pi @ cells, observed=counts.target, dims="cell")
    return pi


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
