"""Class frequencies of a target again in PyMC."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal.shift.class_frequencies_posterior import ALPHA, ClassPriorPosterior

if TYPE_CHECKING:
    import pymc as pm


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
