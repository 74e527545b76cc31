"""Draws of the accuracies of all groups, given the component of every group in every draw, and of the masses.

Masses of each group are Dirichlet around draws of the shares of all rows, with a common precision.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, softmax

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.pooling import evidence
from bayescal.posterior.pooling.prior import COMMON, PoolingPrior
from bayescal.stats.log_odds import VALUE_FLOOR, logit

STEPS = 2  #: Steps of the independence sampler that corrects the Laplace approximation.
LEAST = 1e-12  #: Smallest parameter of a Gamma variable.


@dataclass(frozen=True, eq=False)
class Chosen:
    """Component and centre of every draw."""

    component: Indices  #: Index into the components of the prior, shape (n_groups, n_draws).
    centre: Indices  #: Index of the draw of the common curve, shape (n_draws,).


@dataclass(frozen=True, eq=False)
class Approximations:
    """Laplace approximations of all components: shapes (n_components, n_centres, n_groups, ...)."""

    mode: Floats
    chol: Floats

    @classmethod
    def of(cls, fits: list[evidence.Deviations], n_centres: int, n_groups: int) -> "Approximations":
        """Stack approximations; those around the diagonal are the same for every centre."""
        mode, chol = (
            np.stack([
                np.broadcast_to(getattr(fit, name).reshape(-1, n_groups, size), (n_centres, n_groups, size))
                for fit in fits
            ])
            for name, size in (("mode", 2), ("chol", 3))
        )  # fmt: skip
        return cls(mode, chol)


@dataclass(frozen=True, eq=False)
class _Target:
    """Posterior density of the deviations of some draws; arrays have one row per draw."""

    n: Floats
    k: Floats
    offset: Floats
    lever: Floats
    sd: Floats
    tau: float

    def proposed(self, mode: Floats, chol: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Place standard Normal numbers, and return the log ratio of the density to that of the proposal, too."""
        at = evidence.placed(mode, chol, z)
        eta = self.offset + at[:, :1] + at[:, 1:] * self.lever
        ratio = evidence.log_likelihood(self.n, self.k, eta, self.tau)
        return at, ratio + evidence.log_prior(at, self.sd) - evidence.log_proposal(z, chol)


def draw_deviations(
    bins: evidence.GroupBins, shifts: Floats, prior: PoolingPrior, fits: Approximations, chosen: Chosen, rng: Generator
) -> Floats:
    """Draw intercepts and slopes, shape (n_groups, n_draws, 2).

    Each is a proposal of the Laplace approximation, followed by Metropolis-Hastings steps with independent proposals of
    the same kind.
    """
    sds = np.array([(c.intercept_sd, c.slope_sd) for c in prior.components])
    taus = np.array([c.tau for c in prior.components])
    around = np.array([c.centre == COMMON for c in prior.components])
    normal = rng.standard_normal((STEPS, *chosen.component.shape, 2))
    uniform = rng.random((STEPS - 1, *chosen.component.shape))
    deviation = np.zeros((*chosen.component.shape, 2))
    live = sds.any(axis=1)
    for tau in prior.taus:
        groups, draws = np.nonzero(live[chosen.component] & (taus[chosen.component] == tau))
        for part in evidence.parts(len(groups), bins.n.shape[1]):
            g, i = groups[part], draws[part]
            of, centre = chosen.component[g, i], chosen.centre[i]
            offset = bins.start[g] + shifts[centre, g] * around[of][:, None]
            fit = fits.mode[of, centre, g], fits.chol[of, centre, g]
            target = _Target(bins.n[g], bins.k[g], offset, bins.lever[g], sds[of], tau)
            at, log_weight = target.proposed(*fit, normal[0, g, i])
            for step in range(1, STEPS):
                other, other_weight = target.proposed(*fit, normal[step, g, i])
                accepted = np.log(uniform[step - 1, g, i]) < other_weight - log_weight
                at = np.where(accepted[:, None], other, at)
                log_weight = np.where(accepted, other_weight, log_weight)
            deviation[g, i] = at
    return deviation


def draw_accuracies(
    bins: evidence.GroupBins, shifts: Floats, prior: PoolingPrior, chosen: Chosen, deviation: Floats, rng: Generator
) -> Floats:
    """Draw accuracies given the deviations, shape (n_groups, n_draws, n_used)."""
    taus = np.array([c.tau for c in prior.components])
    around = np.array([c.centre == COMMON for c in prior.components])
    accuracy = np.empty((*chosen.component.shape, bins.n.shape[1]))
    for part in evidence.parts(len(bins), chosen.component.shape[1], bins.n.shape[1]):
        of = chosen.component[part]
        common = shifts[:, part][chosen.centre].swapaxes(0, 1)
        shift = np.where(around[of][..., None], common, 0.0)
        shift += deviation[part, :, :1] + deviation[part, :, 1:] * bins.lever[part, None]
        confidence = bins.confidence[part, None]
        curve = np.where(shift == 0, confidence, expit(logit(confidence) + shift))
        g, i = np.nonzero(taus[of] > 0)
        kappa = evidence.kappa_of(taus[of[g, i]])[:, None]
        h = np.clip(curve[g, i], VALUE_FLOOR, 1 - VALUE_FLOOR)
        n, k = bins.n[part][g], bins.k[part][g]
        curve[g, i] = rng.beta(kappa * h + k, kappa * (1 - h) + n - k)
        accuracy[part] = curve
    return accuracy


def precision_probabilities(bins: evidence.GroupBins, precisions: Floats) -> Floats:
    """Posterior probability of each precision by the Dirichlet-multinomial likelihood; equally probable before."""
    alpha = precisions[:, None] * bins.share
    by_bin = gammaln(alpha + bins.rows[:, None]) - gammaln(alpha)
    by_group = gammaln(precisions) - gammaln(precisions + bins.rows.sum(axis=1)[:, None])
    return softmax(by_bin.sum(axis=(0, 2)) + by_group.sum(axis=0))


def draw_masses(bins: evidence.GroupBins, precisions: Floats, n_draws: int, rng: Generator) -> Floats:
    """Draw masses, shape (n_groups, n_draws, n_used); the groups of one draw share its precision and its shares."""
    chosen = precisions[rng.choice(len(precisions), n_draws, p=precision_probabilities(bins, precisions))]
    # shares of all rows: groups that are alike are as uncertain as all rows
    share = bins.share if np.isinf(bins.share_rows) else rng.dirichlet(bins.share_rows * bins.share, n_draws)
    alpha = chosen[:, None] * share
    mass = np.empty((len(bins), *alpha.shape))
    for part in evidence.parts(len(bins), *alpha.shape):
        gamma = rng.standard_gamma(np.maximum(alpha + bins.rows[part, None], LEAST), out=mass[part])
        gamma /= gamma.sum(axis=2, keepdims=True)
    return mass
