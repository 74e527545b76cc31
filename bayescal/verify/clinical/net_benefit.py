"""Net benefit of several models: a twin for `agreement`, and a simulator for `sbc`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bayescal import _packages
from bayescal.decisions.analysis import PSEUDO_ROWS, net_benefit_counts
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.from_draws import gain_of_treating, net_benefit_of, odds, share_treated
from bayescal.decisions.posterior import REMAINDER, ScoreCellsPosterior, base_shares
from bayescal.verify.named import Moments, NamedSimulator, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

Floats = NDArray[np.float64]


def margins_of(q: Floats, n_models: int) -> Floats:
    """Sum joint cells, (n_draws, 2, n_bins, ..., n_bins), to those of each model, (n_draws, n_models, 2, n_bins)."""
    axes = range(2, 2 + n_models)
    return np.stack([q.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes], axis=1)


@dataclass(frozen=True)
class NetBenefitTwin:
    """The posterior of net benefits, in closed form and in PyMC.

    Parameters
    ----------
    counts : ThresholdCounts
        Counts without weights.
    prevalence : float or None
        As for `net_benefit`.
    """

    counts: ThresholdCounts
    prevalence: float | None = None

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        _packages.require("pymc")
        from bayescal.verify.pymc_models import score_cells_model

        return score_cells_model(self.counts, PSEUDO_ROWS)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Compute net benefits from the joint cells of chains."""
        q = by_name(tree, ["q"])["q"]
        mass = margins_of(q, len(self.counts.models))
        if self.prevalence is not None:
            mass = mass / mass.sum(axis=-1, keepdims=True)
        models = net_benefit_of(share_treated(mass), gain_of_treating(self.counts.thresholds, self.prevalence))
        share = q.reshape(len(q), 2, -1)[:, 1].sum(axis=1, keepdims=True)
        share = share if self.prevalence is None else np.full_like(share, self.prevalence)
        return self._named(models, share - odds(self.counts.thresholds) * (1 - share))

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package, with exact moments of net benefits."""
        found = net_benefit_counts(self.counts, prevalence=self.prevalence, draws=n_draws, rng=rng)
        models = np.stack([found.net_benefit[name].values for name in found.models], axis=1)
        drawn: dict[str, Any] = self._named(models, found.treat_all.values)
        for name, (mean, sd) in found.moments.items():
            for t, m, s in zip(self.counts.thresholds, mean, sd, strict=True):
                drawn[f"net benefit of {name} at {t:g}"] = Moments(float(m), float(s))
        return drawn

    def _named(self, models: Floats, treat_all: Floats) -> dict[str, Any]:
        """Net benefits, differences from the first model, and draws in which a model is useful or the best."""
        drawn: dict[str, Any] = {}
        default = np.maximum(treat_all, 0.0)
        for k, t in enumerate(self.counts.thresholds):
            best = np.maximum(models[:, :, k].max(axis=1), default[:, k])
            for i, name in enumerate(self.counts.models):
                drawn[f"net benefit of {name} at {t:g}"] = models[:, i, k]
                drawn[f"P({name} useful at {t:g})"] = models[:, i, k] > default[:, k]
                drawn[f"P({name} best at {t:g})"] = models[:, i, k] >= best
                if i:
                    drawn[f"difference of {name} at {t:g}"] = models[:, i, k] - models[:, 0, k]
            if self.prevalence is None:
                drawn[f"net benefit of treating all at {t:g}"] = treat_all[:, k]
        return drawn


class NetBenefitSimulator(NamedSimulator):
    """Joint cells drawn from the Dirichlet process of the prior, and rows given them.

    Masses of cells below 1e-6 are ranked as 0: the sampler of several models omits atoms of about this mass.

    Parameters
    ----------
    models : tuple of str, default ("a", "b")
        Names of the models.
    rows : int, default 30
        Rows of each data set: few, so that the prior matters.
    thresholds : tuple of float, default (0.1, 0.4)
        Thresholds.
    """

    def __init__(
        self, models: tuple[str, ...] = ("a", "b"), rows: int = 30, thresholds: tuple[float, ...] = (0.1, 0.4)
    ) -> None:
        self.models, self.rows, self.thresholds = models, rows, np.array(thresholds)

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], ThresholdCounts]:
        """Draw probabilities of the joint cells, and counts."""
        share = base_shares(self.thresholds)
        shape = (2, *[len(share)] * len(self.models))
        base = np.full(shape, 0.5)
        for axis in range(len(self.models)):
            base *= share.reshape([-1 if a == axis + 1 else 1 for a in range(len(shape))])
        # rates instead of a Dirichlet, whose shares numpy may return as NaN if all parameters are small
        rate = np.maximum(rng.standard_gamma(PSEUDO_ROWS * base), 1e-300)
        q = rate / rate.sum()
        n = rng.multinomial(self.rows, q.ravel()).reshape(shape)
        place = np.argwhere(n)
        cells, found = np.roll(place, -1, axis=1), n[tuple(place.T)]
        order = np.lexsort(cells.T[::-1])
        cells, found = cells[order], found[order]
        squares = np.bincount(cells[:, -1], found, 2).astype(np.float64)
        counts = ThresholdCounts(self.thresholds, self.models, cells, found, found.astype(np.float64), squares)
        mass = margins_of(q[None], len(self.models))
        return {name: values[0] for name, values in self._named(mass).items()}, counts

    def sample_one(self, data: ThresholdCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw the cells of each model with the package, and compute net benefits."""
        posterior = ScoreCellsPosterior(data, PSEUDO_ROWS, given_outcome=False)
        return self._named(posterior.sample(n_draws, rng=rng))

    def log_likelihood_one(self, values: Mapping[str, Any], data: ThresholdCounts) -> Floats:
        """Sum over models of the multinomial log likelihood of their cells."""
        total: Floats = np.zeros(len(next(iter(values.values()))))
        for i, name in enumerate(self.models):
            cells = data.margin(i, data.n).ravel()
            total = total + xlogy(cells, np.maximum(values[f"cells of {name}"], 1e-300)).sum(axis=1)
        return total

    def _named(self, mass: Floats) -> dict[str, Any]:
        """Compute net benefits and their differences, and the masses, from masses (n_draws, n_models, 2, n_bins)."""
        found = net_benefit_of(share_treated(mass), gain_of_treating(self.thresholds))
        named: dict[str, Any] = {}
        for i, name in enumerate(self.models):
            named[f"net benefit of {name}"] = found[:, i]
            cells = mass[:, i].reshape(len(mass), -1)
            named[f"cells of {name}"] = np.where(cells < REMAINDER, 0.0, cells)
            if i:
                named[f"difference of {name}"] = found[:, i] - found[:, 0]
        share = mass[:, 0, 1].sum(axis=-1, keepdims=True)
        named["treat all"] = share - odds(self.thresholds) * (1 - share)
        named["difference from treating all"] = found[:, 0] - named["treat all"]
        return named
