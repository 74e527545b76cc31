"""Net benefit of several classifiers again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.decisions.analysis import PSEUDO_ROWS, net_benefit_counts
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import gain_of_treating, net_benefit_of, odds, share_treated
from bayescal.verify.named import Moments, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


def margins_of(q: Floats, n_classifiers: int) -> Floats:
    """Sum joint cells (n_draws, 2, n_bins, ...) to those of each classifier, (n_draws, n_classifiers, 2, n_bins)."""
    axes = range(2, 2 + n_classifiers)
    return np.stack([q.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes], axis=1)


@dataclass(frozen=True)
class NetBenefitTwin:
    """The posterior of net benefits of counts without weights, in closed form and in PyMC."""

    counts: ThresholdCounts
    #: As for `net_benefit`.
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
        classifiers = net_benefit_of(share_treated(mass), gain_of_treating(self.counts.thresholds, self.prevalence))
        share = q.reshape(len(q), 2, -1)[:, 1].sum(axis=1, keepdims=True)
        share = share if self.prevalence is None else np.full_like(share, self.prevalence)
        return self._named(classifiers, share - odds(self.counts.thresholds) * (1 - share))

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package, with exact moments of net benefits."""
        result = net_benefit_counts(self.counts, prevalence=self.prevalence, draws=n_draws, rng=rng)
        classifiers = np.stack([result.net_benefit[name].values for name in result.models], axis=1)
        named: dict[str, Any] = self._named(classifiers, result.treat_all.values)
        for name, (mean, sd) in result.moments.items():
            for t, m, s in zip(self.counts.thresholds, mean, sd, strict=True):
                named[f"net benefit of {name} at {t:g}"] = Moments(float(m), float(s))
        return named

    def _named(self, classifiers: Floats, treat_all: Floats) -> dict[str, Any]:
        """Net benefits, differences from the first classifier, and draws in which one is useful or the best."""
        named: dict[str, Any] = {}
        default = np.maximum(treat_all, 0.0)
        for k, t in enumerate(self.counts.thresholds):
            best = np.maximum(classifiers[:, :, k].max(axis=1), default[:, k])
            for i, name in enumerate(self.counts.models):
                named[f"net benefit of {name} at {t:g}"] = classifiers[:, i, k]
                named[f"P({name} useful at {t:g})"] = classifiers[:, i, k] > default[:, k]
                named[f"P({name} best at {t:g})"] = classifiers[:, i, k] >= best
                if i:
                    named[f"difference of {name} at {t:g}"] = classifiers[:, i, k] - classifiers[:, 0, k]
            if self.prevalence is None:
                named[f"net benefit of treating all at {t:g}"] = treat_all[:, k]
        return named
