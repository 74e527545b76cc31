"""Distributions of source and target over cells again in PyMC."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.shift.statistics import CellShiftPosterior, total_variation
from bayescal.verify.named import below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


#: Draws of the closed form that share one set of proposals. The Monte Carlo error of a set is small compared with that
#: of so few draws.
DRAWS_PER_SET = 40
#: Levels at which distribution functions are compared.
LEVELS = (0.25, 0.5, 0.75, 0.975)
#: Position of the concentration of the pseudo-prior; see `CellShiftTwin`.
PSEUDO = 3


@dataclass(frozen=True, eq=False)
class CellShiftTwin:
    r"""The posterior of both distributions in closed form and in PyMC; for `agreement`.

    In PyMC the common distribution m and the distributions of both sides are parameters, and the eight concentrations
    are summed out; nothing is integrated out. Without a difference between the sides, the rows of both sides are
    Multinomial(m), and the two distributions are not used. They then have a pseudo-prior, :math:`\mathrm{Dirichlet}(c_4
    m)`, which affects the chains and not the posterior: Carlin and Chib (1995), "Bayesian model choice via Markov chain
    Monte Carlo methods", Journal of the Royal Statistical Society B 57, 473-484. ``shares`` are those of both sides, m
    for both with the probability that there is no difference.
    """

    posterior: CellShiftPosterior
    #: For some quantities, points of their distribution function.
    thresholds: Mapping[str, Floats]

    def model(self, cells: Sequence[str] | None = None) -> "pm.Model":
        """Write the model in PyMC; cells may have names."""
        _packages.require("pymc")
        import pymc as pm
        import pytensor.tensor as pt

        rows = np.stack([self.posterior.source, self.posterior.target])
        n_cells, concentrations = rows.shape[1], self.posterior.concentrations
        coords = {
            "cell": [str(i) for i in range(n_cells)] if cells is None else list(cells),
            "side": ["source", "target"],
            "concentration": [*(f"{c:.4g}" for c in concentrations), "no difference"],
        }
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

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Draw the concentration given the chains, and return the quantities of both distributions."""
        chains = by_name(tree, ["common", "sides", "probability"])
        level = np.random.default_rng(0).random(len(chains["common"]))
        equal = chains["probability"][:, :-1].sum(axis=1) < level
        sides = np.where(equal[:, None, None], chains["common"][:, None], chains["sides"])
        return self._named(sides, chains["probability"])

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package, with new proposals for every `DRAWS_PER_SET` draws."""
        sets = range(-(-n_draws // DRAWS_PER_SET))
        sides = np.concatenate([self.posterior.sample(DRAWS_PER_SET, rng=rng) for _ in sets])
        evidence = np.stack([self.posterior.log_evidence(rng) for _ in sets])
        relative = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return self._named(sides, relative / relative.sum(axis=1, keepdims=True))

    def _named(self, sides: Floats, probability: Floats) -> dict[str, Any]:
        """Name the quantities; `probability` has one column per concentration, the last one for no difference."""
        named: dict[str, Any] = {f"P(concentration {i})": each for i, each in enumerate(probability.T)}
        for name, values in quantities(sides).items():
            named |= {name: values} if values.ndim == 1 else {f"{name}[{j}]": each for j, each in enumerate(values.T)}
        for name, points in self.thresholds.items():
            named |= below(name, named[name], points.tolist())
        return named


def quantities(sides: Floats) -> dict[str, Floats]:
    """Return the quantities of pairs of distributions, shape (n_draws, 2, n_cells), that are compared and ranked."""
    source, target = sides[:, 0], sides[:, 1]
    return {
        "source": source,
        "target": target,
        "difference": target - source,
        "total variation": total_variation(sides),
    }
