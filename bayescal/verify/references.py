"""Reference posteriors: what PyMC finds for a posterior of the package, and whether its chains can be trusted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks
from bayescal.estimands.errors import ece
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import INDEPENDENT, SHARED
from bayescal.verify.quantities import of_pymc, sub_models_of

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: R-hat and divergences as posteriordb asks of reference draws; a least effective size besides.
LARGEST_R_HAT = 1.01
SMALLEST_ESS = 400
CHAINS = 4
TUNE = 1500
#: Chains that diverge are run again with smaller steps, chains that have not mixed with so many times the draws.
#: Whether they are kept depends on their diagnostics alone, never on what they are compared with.
ATTEMPTS = 3
TARGET_ACCEPT = (0.95, 0.99, 0.999)
LONGER = 3
#: Where the distribution function of the ECE is compared: at quantiles of the closed form.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations under PyMC, with their Monte Carlo errors; as stored for later comparisons.

    Chains are run up to three times: again with smaller steps if some transitions diverge, again with three times the
    draws if they have not mixed. What they are compared with plays no part in that; `earlier` says why.

    Parameters
    ----------
    rows : dict of str to dict
        For each quantity: mean, mcse_mean, sd, mcse_sd, r_hat and ess (the smaller of bulk and tail).
    thresholds : tuple of float
        Values t of the quantities ``P(ece <= t)``.
    draws, divergences : int
        Draws of all chains together, after tuning; divergent transitions among them.
    target_accept : float
        Of NUTS.
    seed : int
        Of PyMC.
    versions : dict of str to str
        Of the programs.
    earlier : tuple of str
        Why earlier attempts, if there were any, were not kept.
    """

    rows: dict[str, dict[str, float]]
    thresholds: tuple[float, ...]
    draws: int
    divergences: int
    target_accept: float
    seed: int
    versions: dict[str, str] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Problems of these chains in words: divergences, R-hat, effective size; empty if there are none."""
        found = [f"{self.divergences} divergent transitions"] if self.divergences else []
        unmixed = [name for name, row in self.rows.items() if not row["r_hat"] < LARGEST_R_HAT]
        few = [name for name, row in self.rows.items() if not row["ess"] >= SMALLEST_ESS]
        if unmixed:
            found.append(f"R-hat of {LARGEST_R_HAT} or more: {some(unmixed)}")
        if few:
            found.append(f"effective size below {SMALLEST_ESS}: {some(few)}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Reference":
        """From what `to_dict` gave."""
        return cls(**{**stored, "thresholds": tuple(stored["thresholds"]), "earlier": tuple(stored.get("earlier", ()))})


def reference(
    posterior: Posterior,
    *,
    draws: int = 10_000,
    with_calibrated: bool = False,
    rng: Any = None,
    progress: bool = False,
) -> Reference:
    """Sample the PyMC mirror of a posterior.

    Parameters
    ----------
    posterior, draws, with_calibrated, rng, progress
        As for `agreement`.

    Returns
    -------
    Reference
        With `Reference.problems` if the chains are not to be trusted.
    """
    draws = _checks.whole_number("draws", draws, at_least=CHAINS)
    seed = int(_checks.generator(rng).integers(2**31))
    thresholds = tuple(float(f"{t:.3g}") for t in ece(posterior.sample(4000, rng=seed)).quantile(PROBS))
    model = mirror(posterior, with_calibrated=with_calibrated)
    target_accept, *smaller_steps = TARGET_ACCEPT
    earlier: list[str] = []
    for _ in range(ATTEMPTS):
        tree = _chains(model, draws, target_accept, seed, progress)
        drawn = of_pymc(tree, posterior, thresholds, with_calibrated=with_calibrated)
        found = Reference(
            rows=_summary(drawn),
            thresholds=thresholds,
            draws=tree.posterior.sizes["chain"] * tree.posterior.sizes["draw"],
            divergences=int(tree.sample_stats.diverging.sum()),
            target_accept=target_accept,
            seed=seed,
            versions=_versions(),
            earlier=tuple(earlier),
        )
        if not found.problems:
            break
        earlier.append("; ".join(found.problems))
        if found.divergences:
            target_accept, *smaller_steps = smaller_steps or [target_accept]
        else:
            draws *= LONGER
    return found


def mirror(posterior: Posterior, *, with_calibrated: bool = False) -> "pm.Model":
    """Write a posterior's model in PyMC, with the same counts and prior.

    Parameters
    ----------
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form.
    with_calibrated : bool, default False
        See `agreement`.

    Returns
    -------
    pymc.Model
        See `bayescal.verify.pymc_models`.

    Raises
    ------
    TypeError
        If there is none.
    """
    from bayescal.verify.pymc_models import dirichlet_model, shrinkage_model

    if with_calibrated and not (isinstance(posterior, ShrinkagePosterior) and len(sub_models_of(posterior)) > 1):
        raise ValueError("`with_calibrated` is for the average of the shrinkage model's sub-models.")
    if isinstance(posterior, DirichletPosterior):
        variance = (posterior.relative_sd * posterior.counts.bins.widths) ** 2
        return dirichlet_model(posterior.counts, posterior.alpha, formula=posterior.formula, bin_variance=variance)
    if isinstance(posterior, ShrinkagePosterior):
        names = sub_models_of(posterior)
        return shrinkage_model(
            posterior.counts,
            names[0] if len(names) == 1 else None,
            with_calibrated=with_calibrated,
            log_ratio=0.0 if with_calibrated else log_ratio(posterior),
            **asdict(posterior.prior_options),
        )
    raise TypeError(f"`posterior` has no mirror in PyMC: {type(posterior).__name__}.")


def log_ratio(posterior: ShrinkagePosterior) -> float:
    """Log evidence of the family "shared" less that of "independent"; 0 if one of them takes no part.

    Parameters
    ----------
    posterior : ShrinkagePosterior
        The posterior.

    Returns
    -------
    float
        By the closed form; see `bayescal.verify.pymc_models.shrinkage_model`.
    """
    families = posterior.prior_options.families
    if not {INDEPENDENT, SHARED} <= families.keys():
        return 0.0
    log_evidence = posterior.log_evidence

    def of(family: str) -> float:
        weights = families[family]
        each = [np.log(w) + log_evidence[name] for name, w in weights.items()]
        return float(np.logaddexp.reduce(each)) - float(np.log(sum(weights.values())))

    return of(SHARED) - of(INDEPENDENT)


def _chains(model: "pm.Model", draws: int, target_accept: float, seed: int, progress: bool) -> "xr.DataTree":
    import logging
    import sys
    from contextlib import redirect_stdout

    import pymc as pm

    log = logging.getLogger("pymc")
    level = log.level
    log.setLevel(logging.WARNING)  # names of variables and of steps say nothing to who asked for a comparison
    try:
        with redirect_stdout(sys.stderr):  # what is printed on stdout may go into a file; a bar should not
            return pm.sample(
                -(-draws // CHAINS),
                tune=TUNE,
                chains=CHAINS,
                target_accept=target_accept,
                random_seed=seed,
                progressbar="combined" if progress else False,
                compute_convergence_checks=False,  # `Reference.problems` has them
                model=model,
            )
    finally:
        log.setLevel(level)


def _summary(quantities: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    import arviz as az

    flat = {name: values.astype(float).reshape(CHAINS, -1) for name, values in quantities.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # what never changes has no effective size
        table = az.summary(az.from_dict({"posterior": flat}), kind="all", round_to="none")
    rows = {}
    for name, row in zip(flat, table.to_dict("records"), strict=True):
        constant = np.ptp(flat[name]) == 0
        size = min(float(row["ess_bulk"]), float(row["ess_tail"]))
        rows[name] = {
            "mean": float(flat[name].mean()),
            "mcse_mean": 0.0 if constant else float(row["mcse_mean"]),
            "sd": float(flat[name].std()),
            "mcse_sd": 0.0 if constant else float(row["mcse_sd"]),
            "r_hat": 1.0 if constant else float(row["r_hat"]),
            "ess": float(flat[name].size) if constant else size,
        }
    return rows


def some(names: list[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("bayescal", "pymc", "pytensor", "nutpie", "arviz", "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # nutpie is optional
            continue
    return found
