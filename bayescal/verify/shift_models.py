"""Class frequencies, distributions over cells, and the rows of both sides under label shift in PyMC."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.shift.class_frequencies_posterior import ALPHA, ClassPriorPosterior
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.shift.statistics import CellShiftPosterior

PSEUDO = 3  #: Position of the concentration of the pseudo-prior; see `cell_shift_model`.
#: The sub-model of the shrinkage prior that is written in PyMC: a smooth drift, and many bins off.
SUB_MODEL = "logistic_dense"
LARGEST_KAPPA = 1e9  #: Largest concentration of a Beta; beyond it, differences of log Gammas lose their digits.


def frequency_model(posterior: ClassPriorPosterior) -> pm.Model:
    """Write class frequencies, cells, and the rows of both sides in PyMC."""
    counts = posterior.counts
    coords = {"class": [str(label) for label in counts.classes], "cell": np.arange(counts.source.shape[1])}
    with pm.Model(coords=coords) as model:
        pi = pm.Dirichlet("pi", np.full(len(counts.source), ALPHA), dims="class")
        cells = pm.Dirichlet("cells", np.full(counts.source.shape, posterior.cell_alpha), dims=("class", "cell"))
        pm.Multinomial("source", n=counts.by_class, p=cells, observed=counts.source, dims=("class", "cell"))
        pm.Multinomial("target", n=counts.n_target, p=pi @ cells, observed=counts.target, dims="cell")
    return model


def cell_shift_model(posterior: CellShiftPosterior, cells: Sequence[str] | None = None) -> pm.Model:
    r"""Write the distributions of both sides over cells in PyMC; nothing is integrated out. Cells may have names.

    The common distribution m and the distributions of both sides are parameters, and the eight concentrations are
    summed out. Without a difference between the sides, the rows of both sides are Multinomial(m), and the two
    distributions are not used. They then have a pseudo-prior, :math:`\mathrm{Dirichlet}(c_4 m)`, which affects the
    chains and not the posterior: Carlin and Chib (1995), "Bayesian model choice via Markov chain Monte Carlo methods",
    Journal of the Royal Statistical Society B 57, 473-484. ``shares`` are those of both sides, m for both with the
    probability that there is no difference.
    """
    rows = np.stack([posterior.source, posterior.target])
    n_cells, concentrations = rows.shape[1], posterior.concentrations
    names = [str(i) for i in range(n_cells)] if cells is None else list(cells)
    of = [*(f"{c:.4g}" for c in concentrations), "no difference"]
    coords = {"cell": names, "side": ["source", "target"], "concentration": of}
    with pm.Model(coords=coords) as model:
        common = pm.Dirichlet("common", np.full(n_cells, 1 / n_cells), dims="cell")
        # flat on the simplex: the potential adds the densities that depend on the concentration
        sides = pm.Dirichlet("sides", np.ones((2, n_cells)), dims=("side", "cell"))
        log_density = pm.logp(pm.Dirichlet.dist(concentrations[:, None, None] * common), sides[None]).sum(axis=1)
        apart, equal = (
            pm.logp(pm.Multinomial.dist(n=rows.sum(axis=1), p=shares), rows).sum()
            for shares in (sides, pt.stack([common, common]))
        )
        joint = pt.concatenate([log_density + apart, log_density[PSEUDO : PSEUDO + 1] + equal])
        pm.Potential("rows", pt.logsumexp(joint))
        probability = pm.Deterministic("probability", pt.special.softmax(joint), dims="concentration")
        equal_sides = pm.Uniform("u_equal") < probability[-1]
        pm.Deterministic("shares", pt.switch(equal_sides, common[None], sides), dims=("side", "cell"))
    return model


def rows_by_bin(rows: ShiftedBins, prior: ShrinkagePrior) -> pm.Model:
    r"""Write one model of all rows by class and bin, which uses each row once; every bin has rows of the target.

    The masses m and accuracies :math:`\theta` of the target imply the frequency of the class that the bins are about,
    :math:`\pi = \sum_b m_b \theta_b`, and the bins of each class, :math:`m_b \theta_b / \pi` and
    :math:`m_b (1 - \theta_b) / (1 - \pi)`. The rows of the target, and the labelled rows of each class, are
    Multinomial. The class frequencies have no prior of their own.
    """
    n_bins = len(rows.bins)
    alpha = 2 / n_bins if prior.mass_alpha is None else prior.mass_alpha
    with pm.Model(coords={"bin": np.arange(n_bins), "class": [0, 1]}) as model:
        accuracy = accuracies(rows, prior)
        mass = pm.Dirichlet("mass", np.full(n_bins, alpha), shape=n_bins, dims="bin")
        of_class = accuracy if rows.of == 1 else 1 - accuracy
        joint = pt.stack([mass * (1 - of_class), mass * of_class])
        pi = pm.Deterministic("pi", joint.sum(axis=1), dims="class")
        shares, by_class = joint / pi[:, None], rows.by_class
        pm.Multinomial("source", n=by_class.sum(axis=1), p=shares, observed=by_class, dims=("class", "bin"))
        pm.Multinomial("target", n=rows.target_rows.sum(), p=mass, observed=rows.target_rows, dims="bin")
        pm.Deterministic("ece", (mass * pm.math.abs(accuracy - rows.target_confidence)).sum())
    return model


def accuracies(rows: ShiftedBins, prior: ShrinkagePrior) -> Any:
    r"""Write accuracies with the prior of the sub-model "logistic_dense" in the model on the context stack.

    Logits are :math:`\mathrm{logit}\, h_b + s_b z_b` with :math:`s_b^{-2} = (\kappa + n_b) h_b (1 - h_b)`, and the
    potential gives accuracies their Beta density, in place of the Normal one of z: chains mix well whether the prior or
    the rows determine an accuracy.
    """
    confidence = rows.target_confidence
    x = np.log(confidence) - np.log1p(-confidence)
    intercept = pm.Normal("intercept", 0.0, prior.intercept_sd)
    log_slope = pm.Normal("log_slope", 0.0, prior.log_slope_sd)
    tau = pm.TruncatedNormal("tau", mu=0.0, sigma=prior.dense_scale, lower=0.0, upper=1.0)
    kappa, eta = pt.minimum(tau**-2 - 1, LARGEST_KAPPA), intercept + pt.exp(log_slope) * x
    # written with the log-odds of h and of the accuracies, because 1 - h would be 0 far from the rows
    alpha, beta = (kappa * pm.math.sigmoid(sign * eta) for sign in (1, -1))
    log_scale = (pt.softplus(eta) + pt.softplus(-eta) - pt.log(kappa + rows.source.n)) / 2
    z = pm.Normal("z", dims="bin")
    logit = eta + pt.exp(log_scale) * z
    accuracy = pm.Deterministic("accuracy", pm.math.sigmoid(logit), dims="bin")
    density = log_scale - alpha * pt.softplus(-logit) - beta * pt.softplus(logit)
    density += pt.gammaln(kappa) - pt.gammaln(alpha) - pt.gammaln(beta)
    pm.Potential("prior", (density - pm.logp(pm.Normal.dist(), z)).sum())
    return accuracy
