"""Models of topics in PyMC: intercept and slope, a smooth calibration curve, class frequencies, cells, label shift."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayescal._arrays import Floats
from bayescal.clinical.curve.posterior import DEVIATIONS, DRIFT_SDS, RANGES, SIGMAS, SmoothCurvePosterior
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.posterior.shrinkage.prior import EXACT, ShrinkagePrior
from bayescal.shift.class_frequencies_posterior import ALPHA, ClassPriorPosterior
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.shift.statistics import CellShiftPosterior
from bayescal.verify.pymc_sub_models import LARGEST_KAPPA, categorical

STABLE = 1e-8  #: Variance added to the diagonal of covariances of the twin.
#: Floor of the scores whose logits the slope multiplies, and logits that are as far apart as the first and last rank.
FLOOR, FAR = 1e-4, 8
PSEUDO = 3  #: Position of the concentration of the pseudo-prior; see `cell_shift_model`.
#: The sub-model of the shrinkage prior that is written in PyMC: a smooth drift, and many bins off.
SUB_MODEL = "logistic_dense"


def recalibration_model(posterior: RecalibrationPosterior) -> pm.Model:
    """Write intercept and slope under a Normal prior in PyMC: Binomial outcomes, and Gamma rates of the cells."""
    counts, prior = posterior.counts, posterior.prior
    x, n, k = counts.logit, counts.n, counts.k
    if prior.kind != "normal":
        raise ValueError(
            f"`posterior` must have a Normal prior to be sampled by PyMC, such as `prior='weak'`, not {prior.kind!r}."
        )
    stated = n / (2 + np.exp(x) + np.exp(-x))
    lever = float((stated * x).sum() / stated.sum())
    with pm.Model(coords={"cell": [f"logit {value:.4g}" for value in x]}) as model:
        shift = pm.Normal("shift", 0.0, prior.shift_sd)
        slope = pm.Normal("slope", 1.0, prior.slope_sd)
        intercept = pm.Deterministic("intercept", shift + lever - slope * lever)
        eta = intercept + slope * x
        if (n % 1 == 0).all() and (k % 1 == 0).all():
            pm.Binomial("events", n, logit_p=eta, observed=k.astype(np.int64), dims="cell")
        else:  # effective numbers of rows
            pm.Potential("events", (k * eta - n * pm.math.log1pexp(eta)).sum())
        pm.Gamma("rate", n, 1.0, dims="cell")
    return model


def components(confidence: Floats, rank: Floats) -> tuple[list[str], Floats, Floats]:
    """Return sub-models, prior probabilities within them, and matrices L so that deviations are L times Normal numbers.

    The definitions of `smooth_curve_posterior`, written again: a drift has two parameters, not a covariance. Matrices
    have shape (n_components, n_bins, n_bins + 2); the last two columns belong to intercept and slope.
    """
    inside = np.clip(confidence, FLOOR, 1 - FLOOR)
    x = np.log(inside / (1 - inside))
    across, line = np.zeros((len(x), len(x))), np.stack([np.ones(len(x)), x], axis=1)
    curves = []
    for sigma, of_sigma in SIGMAS.items():
        for length in RANGES:
            distance = np.hypot(rank[:, None] - rank, (x[:, None] - x) / FAR)
            correlation = np.exp(-(distance**2) / (2 * length**2))
            root = np.linalg.cholesky(sigma**2 * correlation + STABLE * np.eye(len(x)))
            curves.append((of_sigma / len(RANGES), root))
    sub_models = [("drift", p, np.hstack([across, sd * line])) for sd, p in DRIFT_SDS.items()]
    sub_models += [("curve", p, np.hstack([root, 0 * line])) for p, root in curves]
    sub_models += [("both", p * q, np.hstack([root, sd * line])) for sd, p in DRIFT_SDS.items() for q, root in curves]
    names, shares, matrices = zip(*sub_models, strict=True)
    return list(names), np.array(shares), np.array(matrices)


def components_of(posterior: SmoothCurvePosterior) -> tuple[list[str], Floats, Floats]:
    """Return the `components` of the bins of a posterior."""
    share = posterior.counts.share
    return components(posterior.confidence, np.cumsum(share) - share / 2)


def logits_of(confidence: Floats) -> Floats:
    """Return logits of mean confidences, kept finite."""
    inside = np.clip(confidence, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(inside / (1 - inside)))


def smooth_curve_model(posterior: SmoothCurvePosterior) -> pm.Model:
    """Write a smooth curve, all of whose bins have rows, in PyMC, without a Gaussian approximation.

    Each component makes deviations from standard Normal numbers, and the likelihood averages the components:
    sub-models, and all sigmas and ranges. Each chain draw gives the probabilities of the components, from which one is
    drawn.
    """
    counts, x = posterior.counts, logits_of(posterior.confidence)
    n, k = counts.effective_n, counts.effective_k
    if not counts.occupied.all():
        raise ValueError("`posterior` must have rows in every bin to be sampled by PyMC.")
    names, share, matrix = components_of(posterior)
    others = (1 - posterior.prior_exact) / len(DEVIATIONS) * share
    with np.errstate(divide="ignore"):  # exact calibration may have no prior probability
        log_prior = np.log(np.append(posterior.prior_exact, others))
    bins = range(len(n))
    coords = {
        "bin": list(bins),
        "number": [*(f"bin {b}" for b in bins), "intercept", "slope"],
        "component": [EXACT, *(f"{name} {i}" for i, name in enumerate(names))],
    }
    with pm.Model(coords=coords) as model:
        z = pm.Normal("z", 0.0, 1.0, dims="number")
        eta = x + pt.dot(matrix, z)
        of_exact = float((k * x - n * np.logaddexp(0, x)).sum())
        of_others = (k * eta - n * pm.math.log1pexp(eta)).sum(axis=1)
        log_joint = log_prior + pt.concatenate([[of_exact], of_others])
        total = pm.math.logsumexp(log_joint)
        pm.Potential("outcomes", total.sum())
        probability = pm.Deterministic("probability", pt.exp(log_joint - total), dims="component")
        rate = pm.Gamma("rate", n, 1.0, dims="bin")

        # the curve of one component, and the error that follows from it
        logits = pt.concatenate([x[None], eta])
        component = pm.Deterministic("chosen_component", categorical(probability, pm.Uniform("u_component")))
        accuracy = pm.Deterministic("accuracy", pm.math.sigmoid(logits[component]), dims="bin")
        mass = pm.Deterministic("mass", rate / rate.sum(), dims="bin")
        pm.Deterministic("ici", (mass * pm.math.abs(accuracy - posterior.confidence)).sum())
    return model


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
