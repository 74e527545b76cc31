"""The calibration error of an event under label shift in PyMC: one model of all rows by class and bin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal.estimands.errors import ece
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.shift.label_shift_result import LabelShiftEvaluation
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.verify.named import below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: The sub-model of the shrinkage prior that is written in PyMC: a smooth drift, and many bins off.
SUB_MODEL = "logistic_dense"
#: Largest concentration of a Beta; beyond it, differences of log Gammas lose their digits.
LARGEST_KAPPA = 1e9


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

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package; class frequencies are those of the evaluation."""
        errors = ece(self.evaluation.posterior.sample(n_draws, rng=rng)).values
        return self._named(errors, self.evaluation.priors.drawn[:, 1])

    def _named(self, errors: Any, frequency: Any) -> dict[str, Any]:
        ends = self.evaluation.ece.interval(0.95)
        return {"ece": errors, "frequency": frequency, **below("ece", errors, ends)}


def rows_by_bin(rows: ShiftedBins, prior: ShrinkagePrior) -> "pm.Model":
    r"""Write one model of all rows by class and bin, which uses each row once; every bin has rows of the target.

    The masses m and accuracies :math:`\theta` of the target imply the frequency of the class that the bins are about,
    :math:`\pi = \sum_b m_b \theta_b`, and the bins of each class, :math:`m_b \theta_b / \pi` and
    :math:`m_b (1 - \theta_b) / (1 - \pi)`. The rows of the target, and the labelled rows of each class, are
    Multinomial. The class frequencies have no prior of their own.
    """
    _packages.require("pymc")
    import pymc as pm
    import pytensor.tensor as pt

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
        _errors(accuracy, mass, rows)
    return model


def accuracies(rows: ShiftedBins, prior: ShrinkagePrior) -> Any:
    r"""Write accuracies with the prior of the sub-model "logistic_dense" in the model on the context stack.

    Logits are :math:`\mathrm{logit}\, h_b + s_b z_b` with :math:`s_b^{-2} = (\kappa + n_b) h_b (1 - h_b)`, and the
    potential gives accuracies their Beta density, in place of the Normal one of z: chains mix well whether the prior or
    the rows determine an accuracy.
    """
    _packages.require("pymc")
    import pymc as pm
    import pytensor.tensor as pt

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


def _errors(accuracy: Any, mass: Any, rows: ShiftedBins) -> None:
    _packages.require("pymc")
    import pymc as pm

    pm.Deterministic("ece", (mass * pm.math.abs(accuracy - rows.target_confidence)).sum())
