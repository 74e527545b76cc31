"""Selective prediction again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.estimands.selective import AT_ENDS, PRIOR_ROWS, draw_cells
from bayescal.verify.named import Moments, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: Shares and risks at which both are compared.
SHARES, RISKS = (0.1, 0.3, 0.5, 0.8, 1.0), (0.2, 0.35)


def quantities_of(mass: Floats) -> dict[str, Floats]:
    """Compute risks, largest shares and the AUGRC from masses of wrong and right cells, (n_draws, 2, n_cells)."""
    kept = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass.sum(axis=1), axis=1)], axis=1)
    wrong = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass[:, 0], axis=1)], axis=1)
    found = {
        f"risk at {s:g}": np.array([np.interp(s, k, w) / s for k, w in zip(kept, wrong, strict=True)]) for s in SHARES
    }
    for risk in RISKS:
        found[f"share at {risk:g}"] = np.array([_largest(k, w, risk) for k, w in zip(kept, wrong, strict=True)])
    found["augrc"] = np.trapezoid(wrong, kept, axis=1)
    return found


def _largest(kept: Floats, wrong: Floats, risk: float) -> float:
    """Search a fine grid of shares, and then the cell, for the last share with at most the risk."""
    grid = np.union1d(np.linspace(0, 1, 401)[1:], kept[1:])
    fits = np.interp(grid, kept, wrong) <= risk * grid
    if not fits.any():
        return 0.0
    low = float(grid[fits][-1])
    later = grid[grid > low]
    high = float(later[0]) if len(later) else low
    for _ in range(40):
        middle = (low + high) / 2
        if np.interp(middle, kept, wrong) <= risk * middle:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class SelectionTwin:
    """The posterior of selective prediction in closed form and in PyMC, of cells with falling confidences."""

    cells: Floats  # numbers of wrong and of right predictions, shape (2, n_cells)

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        _packages.require("pymc")
        import pymc as pm

        n_cells = self.cells.shape[1]
        prior = np.full(n_cells, PRIOR_ROWS * (1 - AT_ENDS) / (2 * n_cells))
        prior[[0, -1]] += PRIOR_ROWS * AT_ENDS / 4
        with pm.Model() as model:
            # Gamma rates, whose shares are Dirichlet: chains move freely
            rate = pm.Gamma("rate", np.tile(prior, 2), 1.0, shape=2 * n_cells)
            pm.Poisson("rows", rate, observed=self.cells.ravel().astype(int))
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Compute every quantity from chains."""
        rate = by_name(tree, ["rate"])["rate"]
        return quantities_of((rate / rate.sum(axis=1, keepdims=True)).reshape(len(rate), 2, -1))

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package."""
        drawn = draw_cells(self.cells, n_draws, rng)
        found = dict(zip((f"risk at {s:g}" for s in SHARES), drawn.risk(np.array(SHARES)).T, strict=True))
        found |= {f"share at {risk:g}": drawn.largest_share(risk) for risk in RISKS}
        return {**found, "augrc": drawn.area()}
