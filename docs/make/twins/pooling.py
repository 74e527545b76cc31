"""Partial pooling and random effects again in PyMC, without Laplace's method and quadrature."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, softmax

from bayescal._arrays import Floats, Generator, pm, xr
from bayescal.posterior.pooling.evidence import GroupBins
from bayescal.posterior.pooling.posterior import PooledPosterior
from bayescal.posterior.pooling.prior import ALONE, COMMON, PoolingPrior
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.verify.named import Moments, below, by_name
from bayescal.verify.pooling_models import group_model, lever, logit, random_effects_model

#: Scales of the checks: few, so that the weights of a Dirichlet are far from 0.
SCALES: dict[str, Any] = {"drift_sds": ((0.0, 0.0), (0.5, 0.0), (0.7, 0.7)), "taus": (0.0, 0.2), "pseudo_groups": 12.0}
PRECISIONS = (10.0, 100.0)
#: Groups whose errors differ by less are equally bad: all errors are 0 if all groups are calibrated.
ROUNDING = 1e-9
#: Common curve of the checks: deviation of the logits at each of five bins.
CURVE = (-0.6, 0.4, 0.0, -0.4, 0.8)


def named(accuracy: Floats, mass: Floats, confidence: Floats) -> dict[str, Any]:
    """Name the quantities that are compared: ECE of each group, and its standard deviation and maximum over groups.

    Accuracies and masses have shape (n_groups, n_draws, n_bins), quantities (n_draws,) or (n_draws, k).
    """
    ece = (mass * np.abs(accuracy - confidence[:, None])).sum(axis=2).T
    return {
        "ece": ece,
        "heterogeneity": ece.std(axis=1),
        "largest": ece.max(axis=1),
        "rates": np.swapaxes(accuracy, 0, 1).reshape(len(ece), -1),
        "masses": np.swapaxes(mass, 0, 1).reshape(len(ece), -1),
    }


def prior_of(*, together: bool, alone: float = 0.0) -> PoolingPrior:
    """Return one of the two families of the prior, with the scales of the checks and a weight of groups alone."""
    return PoolingPrior(**SCALES, together=float(together), precisions=PRECISIONS, alone=alone)


@dataclass(frozen=True, eq=False)
class UniformAccuracies:
    """Groups alone, for the checks: independent accuracies with uniform priors, and the masses of pooled groups."""

    bins: GroupBins

    @property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods, shape (n_groups,)."""
        return np.asarray(betaln(1 + self.bins.k, 1 + self.bins.n - self.bins.k).sum(axis=1))

    def draw(self, group: int, count: int, rng: Generator) -> tuple[None, Floats]:
        """Draw accuracies of one group, shape (count, n_bins)."""
        n, k = self.bins.n[group], self.bins.k[group]
        return None, rng.beta(1 + k, 1 + n - k, (count, len(n)))


def posterior_of(bins: GroupBins, curve: tuple[float, ...], prior: PoolingPrior) -> PooledPosterior:
    """Return the posterior of the package with one known curve."""
    return PooledPosterior(bins, np.array([curve]), prior, UniformAccuracies(bins) if prior.alone else None)


@dataclass(frozen=True, eq=False)
class PoolingTwin:
    """The joint posterior of groups, and the same model in PyMC; for `agreement`.

    In PyMC, intercepts and slopes of each group are standard Normal numbers times the scale of a component, and the
    likelihood sums over components: of each group, or of all groups together. Components, accuracies and masses are
    drawn given the chains.
    """

    bins: GroupBins
    #: One family: ``together`` is 0 or 1.
    prior: PoolingPrior
    #: The common curve, which is known.
    curve: tuple[float, ...] = CURVE

    def _offset(self, centre: str) -> Floats:
        return logit(self.bins.confidence) + (np.array(self.curve) if centre == COMMON else 0.0)

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        shift = np.broadcast_to(self.curve, self.bins.n.shape)
        alone = UniformAccuracies(self.bins).log_evidence if self.prior.alone else None
        return group_model(self.bins, shift, self.prior, alone)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Draw components, accuracies and masses given the chains."""
        chains, rng, bins = by_name(tree, ["z", "probability"]), np.random.default_rng(0), self.bins
        size, x = len(chains["z"]), lever(bins)
        level = rng.random((size, 1 if self.prior.together else len(bins)))
        chosen = (chains["probability"].cumsum(axis=2) < level[..., None]).sum(axis=2)
        chosen = np.minimum(np.broadcast_to(chosen, (size, len(bins))), len(self.prior.components) - 1)
        accuracy = np.empty((len(bins), size, bins.n.shape[1]))
        for j, (centre, intercept_sd, slope_sd, tau) in enumerate(self.prior.components):
            for g in range(len(bins)):
                rows = chosen[:, g] == j
                if centre == ALONE:
                    size_of = int(rows.sum()), bins.n.shape[1]
                    accuracy[g, rows] = rng.beta(1 + bins.k[g], 1 + bins.n[g] - bins.k[g], size_of)
                    continue
                z = chains["z"][rows, g]
                h = 1 / (1 + np.exp(-(self._offset(centre)[g] + intercept_sd * z[:, :1] + slope_sd * z[:, 1:] * x[g])))
                if tau > 0:
                    kappa = 1 / tau**2 - 1
                    h = rng.beta(kappa * h + bins.k[g], kappa * (1 - h) + bins.n[g] - bins.k[g])
                accuracy[g, rows] = h
        return self._named(accuracy, self._masses(size, rng))

    def _masses(self, size: int, rng: Generator) -> Floats:
        """Draw masses; precisions have probabilities by SciPy's Dirichlet-multinomial distribution."""
        from scipy.stats import dirichlet_multinomial

        rows = self.bins.rows.astype(int)
        log_p = [
            sum(dirichlet_multinomial(c * self.bins.share, int(n.sum())).logpmf(n) for n in rows)
            for c in self.prior.precisions
        ]
        c = rng.choice(self.prior.precisions, size, p=softmax(log_p))
        rate = rng.standard_gamma(c[:, None] * self.bins.share + rows[:, None])
        return np.asarray(rate / rate.sum(axis=2, keepdims=True))

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Any]:
        """Draw the same quantities with the package."""
        draws = posterior_of(self.bins, self.curve, self.prior).sample(n_draws, rng=rng)
        return self._named(draws.accuracy, draws.mass)

    def _named(self, accuracy: Floats, mass: Floats) -> dict[str, Any]:
        """Split vectors, and add the event that a group is worse than all others, by more than rounding."""
        entries: dict[str, Any] = {}
        for name, values in named(accuracy, mass, self.bins.confidence).items():
            columns = values[:, None] if values.ndim == 1 else values
            entries |= {f"{name}[{i}]": column for i, column in enumerate(columns.T)}
        ece = np.stack([entries[f"ece[{g}]"] for g in range(len(self.bins))], axis=1)
        others = [np.delete(ece, g, axis=1).max(axis=1) for g in range(len(self.bins))]
        return entries | {f"P(group {g} is the worst)": ece[:, g] > of + ROUNDING for g, of in enumerate(others)}


#: Points of the distribution functions of mean, standard deviation and new difference, in units of the prior scale.
POINTS = (-0.5, 0.0, 0.25, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class RandomEffectsTwin:
    """The posterior of one random-effects problem, estimates and standard errors, in closed form and in PyMC."""

    estimate: Floats
    error: Floats
    #: Scale of the prior of the standard deviation between data sets.
    scale: float

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        return random_effects_model(self.estimate, self.error, self.scale)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return mean, standard deviation between data sets and new difference from chains, and events."""
        chains = by_name(tree, ["mean", "spread", "new"])
        return {**chains, **self._events(chains)}

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package, with the exact moments of the mean."""
        posterior = RandomEffectsPosterior(self.estimate[None], self.error[None], self.scale)
        mean, spread, new = (values[:, 0] for values in posterior.sample(n_draws, rng))
        center, sd = posterior.mean_moments
        draws = {"mean": mean, "spread": spread, "new": new}
        return {**draws, **self._events(draws), "mean": Moments(float(center[0]), float(sd[0]))}

    def _events(self, draws: Mapping[str, Any]) -> dict[str, Any]:
        events: dict[str, Any] = {}
        for name, values in draws.items():
            points = [point for point in POINTS if point > 0 or name != "spread"]
            events |= below(name, values, [self.scale * point for point in points])
        return events
