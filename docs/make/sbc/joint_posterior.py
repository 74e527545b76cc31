"""Draws of a shrinkage posterior for simulation-based calibration: the bins and the parameters behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import SATURATED
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws
from sbc.stacked import JointDraws
from sbc.truths import is_saturated

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Parameters of `ShrinkageDraws` that are ranked.
RANKED = ("intercept", "slope", "rho", "amount", "noise", "noise_rate")


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """A shrinkage posterior whose draws include the parameters behind the bins.

    Parameters
    ----------
    shrinkage : ShrinkagePosterior
        The posterior.
    """

    shrinkage: ShrinkagePosterior

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> JointDraws:
        """Draw bins and parameters; see `joint_draws`."""
        return joint_draws(sample_not_as_stated(self.shrinkage, n_draws, np.random.default_rng(rng)))


def sample_not_as_stated(posterior: ShrinkagePosterior, n_draws: int, rng: np.random.Generator) -> ShrinkageDraws:
    """Draw from a posterior conditional on the saturated bins not being all exactly as stated.

    That state has odds that depend on the data and no prior probability, so no truth can be drawn from it. A posterior
    without saturated bins is sampled as it is.

    Parameters
    ----------
    posterior : ShrinkagePosterior
        Posterior with or without saturated bins.
    n_draws : int
        How many draws to return.
    rng : Generator
        Randomness of the draws.

    Returns
    -------
    ShrinkageDraws
        Exactly `n_draws` draws.
    """
    used = posterior.counts.occupied
    apart = used & is_saturated(posterior.confidence) & (SATURATED in posterior.prior_options.sub_models)
    if not apart.any():
        return posterior.sample_all(n_draws, rng=rng)
    drawn = posterior.sample_all(n_draws + n_draws // 10 + 40, rng=rng)  # at most 5 % are as stated
    return take(drawn, np.flatnonzero(drawn.off[:, apart].any(axis=1))[:n_draws])


def take(drawn: ShrinkageDraws, index: NDArray[np.intp]) -> ShrinkageDraws:
    """Select draws by index.

    Parameters
    ----------
    drawn : ShrinkageDraws
        Draws to select from.
    index : ndarray of int
        Indices on axis 0; they may repeat.

    Returns
    -------
    ShrinkageDraws
        The selected draws, in the order of `index`.
    """
    bins, confidence = drawn.bin_draws, drawn.bin_draws.confidence
    some = {f.name: getattr(drawn, f.name)[index] for f in fields(drawn) if f.name != "bin_draws"}
    mass = bins.mass[index]
    return ShrinkageDraws(BinDraws(mass, bins.accuracy[index], confidence, bins.occupied, mass), **some)


def joint_draws(drawn: ShrinkageDraws) -> JointDraws:
    """Convert draws of a shrinkage posterior to those that `sbc` ranks.

    Parameters
    ----------
    drawn : ShrinkageDraws
        Draws of the bins and of all parameters.

    Returns
    -------
    JointDraws
        The bins, and behind them sub_model (its index), bins_off (their number) and the parameters `RANKED`. Sub-models
        without drift have intercept 0 and slope 1; other parameters that a sub-model lacks are 0. Of these, `sbc` ranks
        those that the truths have too. Draws of tau lie on a grid and are not ranked.
    """
    bins = drawn.bin_draws
    behind = behind_the_bins(drawn.sub_model, drawn.off, {name: getattr(drawn, name) for name in RANKED})
    return JointDraws(bins.mass, bins.accuracy, bins.confidence, bins.occupied, bins.weight, behind)


def behind_the_bins(sub_model: Ints, off: NDArray[np.bool_], parameters: Mapping[str, Floats]) -> dict[str, Any]:
    """Collect the quantities that are ranked beside the bins.

    Parameters
    ----------
    sub_model : ndarray of int, shape (n,)
        Index of the sub-model.
    off : ndarray of bool, shape (n, n_bins)
        Which bins are off.
    parameters : mapping of str to ndarray, shape (n,)
        Parameters by name. NaN, for sub-models without the parameter, becomes 0.

    Returns
    -------
    dict of str to ndarray, shape (n,)
        The sub-model, the number of bins that are off, and the parameters.
    """
    ranked = {name: np.nan_to_num(values) for name, values in parameters.items()}
    return {"sub_model": sub_model, "bins_off": off.sum(axis=-1)} | ranked
