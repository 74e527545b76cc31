"""Reference posteriors: moments of a posterior of the package from chains of PyMC, with diagnostics of the chains."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _packages
from bayescal.estimands.errors import ece
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.verify.named import Twin
from bayescal.verify.quantities import of_pymc, sub_models_of

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: Thresholds of R-hat and effective sample size; see `Reference`.
LARGEST_R_HAT = 1.01
SMALLEST_ESS = 400
CHAINS = 4
TUNE = 1500
#: Attempts until chains are kept, their acceptance targets, and the factor by which draws increase.
ATTEMPTS, TARGET_ACCEPT, LONGER = 3, (0.95, 0.99, 0.999), 3
#: The distribution function of the ECE is compared at these quantiles of the closed form.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations under PyMC, with their Monte Carlo errors; can be stored for later comparisons.

    Chains are kept if no transition diverges, every R-hat is below 1.01 and every effective sample size is at least
    400. Otherwise they run again, up to three times in all: with smaller steps after divergences, else with three times
    the draws. These diagnostics alone decide, never the comparison with the closed form.

    Parameters
    ----------
    rows : dict of str to dict
        For each quantity: mean, mcse_mean, sd, mcse_sd, r_hat and ess (the smaller of bulk and tail).
    thresholds : tuple of float
        Values t of the quantities ``P(ece <= t)``.
    draws : int
        Number of draws of all chains together, after tuning.
    divergences : int
        Number of divergent transitions among them.
    target_accept : float
        Acceptance target of NUTS.
    seed : int
        Seed of PyMC.
    versions : dict of str to str
        Versions of the programs.
    earlier : tuple of str
        Reasons why earlier attempts, if any, were not kept.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization: an improved
    R-hat, Bayesian Analysis 16, 667-718.
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
        reasons = [f"{self.divergences} divergent transitions"] if self.divergences else []
        unmixed = [name for name, row in self.rows.items() if not row["r_hat"] < LARGEST_R_HAT]
        few = [name for name, row in self.rows.items() if not row["ess"] >= SMALLEST_ESS]
        if unmixed:
            reasons.append(f"R-hat of {LARGEST_R_HAT} or more: {some(unmixed)}")
        if few:
            reasons.append(f"effective size below {SMALLEST_ESS}: {some(few)}")
        return reasons

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Reference":
        """Make a reference from the result of `to_dict`."""
        tuples = {name: tuple(stored.get(name, ())) for name in ("thresholds", "earlier")}
        return cls(**{**stored, **tuples})


def reference(
    posterior: Posterior,
    *,
    draws: int = 10_000,
    with_calibrated: bool = False,
    rng: Any = None,
    progress: bool = False,
) -> Reference:
    """Sample the PyMC model of a posterior.

    Parameters
    ----------
    posterior, draws, with_calibrated, rng, progress
        As for `agreement`.

    Returns
    -------
    Reference
        Moments and diagnostics; `Reference.problems` is not empty if the chains have not converged.
    """
    draws = _checks.whole_number("draws", draws, at_least=CHAINS)
    seed = int(_checks.generator(rng).integers(2**31))
    thresholds = tuple(float(f"{t:.3g}") for t in ece(posterior.sample(4000, rng=seed)).quantile(PROBS))
    model = pymc_model(posterior, with_calibrated=with_calibrated)

    def quantities(tree: "xr.DataTree") -> Mapping[str, Any]:
        return of_pymc(tree, posterior, thresholds, with_calibrated=with_calibrated)

    return _until_kept(model, quantities, thresholds, draws=draws, seed=seed, progress=progress)


def reference_of_twin(twin: Twin, *, draws: int = 10_000, rng: Any = None, progress: bool = False) -> Reference:
    """Sample the PyMC model of a posterior of named quantities.

    Parameters
    ----------
    twin : Twin
        The posterior in closed form and in PyMC.
    draws, rng, progress
        As for `agreement`.

    Returns
    -------
    Reference
        Moments and diagnostics; `Reference.problems` is not empty if the chains have not converged.
    """
    draws = _checks.whole_number("draws", draws, at_least=CHAINS)
    seed = int(_checks.generator(rng).integers(2**31))
    return _until_kept(twin.model(), twin.of_pymc, (), draws=draws, seed=seed, progress=progress)


def _until_kept(
    model: "pm.Model",
    quantities: "Callable[[xr.DataTree], Mapping[str, Any]]",
    thresholds: tuple[float, ...],
    *,
    draws: int,
    seed: int,
    progress: bool,
) -> Reference:
    """Run chains until their diagnostics are good, at most three times; see `Reference`."""
    target_accept, *smaller_steps = TARGET_ACCEPT
    earlier: list[str] = []
    for _ in range(ATTEMPTS):
        tree = _chains(model, draws, target_accept, seed, progress)
        result = Reference(
            rows=_summary(quantities(tree)),
            thresholds=thresholds,
            draws=tree.posterior.sizes["chain"] * tree.posterior.sizes["draw"],
            divergences=int(tree.sample_stats.diverging.sum()),
            target_accept=target_accept,
            seed=seed,
            versions=_versions(),
            earlier=tuple(earlier),
        )
        if not result.problems:
            break
        earlier.append("; ".join(result.problems))
        if result.divergences:
            target_accept, *smaller_steps = smaller_steps or [target_accept]
        else:
            draws *= LONGER
    return result


def pymc_model(posterior: Posterior, *, with_calibrated: bool = False) -> "pm.Model":
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
        If the posterior has no PyMC model.
    ValueError
        If `with_calibrated` is set for a posterior that does not average sub-models.
    """
    _packages.require("pymc")
    from bayescal.verify.pymc_models import dirichlet_model, shrinkage_model

    if with_calibrated and not (isinstance(posterior, ShrinkagePosterior) and len(sub_models_of(posterior)) > 1):
        raise ValueError("`with_calibrated` needs a shrinkage posterior of several sub-models.")
    if isinstance(posterior, DirichletPosterior):
        variance = (posterior.relative_sd * posterior.counts.bins.widths) ** 2
        return dirichlet_model(posterior.counts, posterior.alpha, formula=posterior.formula, bin_variance=variance)
    if isinstance(posterior, ShrinkagePosterior):
        names = sub_models_of(posterior)
        return shrinkage_model(
            posterior.counts,
            names[0] if len(names) == 1 else None,
            with_calibrated=with_calibrated,
            family_evidence=None if with_calibrated else family_evidence(posterior),
            **asdict(posterior.prior_options),
        )
    raise TypeError(f"`posterior` has no PyMC model: {type(posterior).__name__}.")


def family_evidence(posterior: ShrinkagePosterior) -> dict[str, float]:
    """Compute the log marginal likelihoods of the families of the pool.

    Parameters
    ----------
    posterior : ShrinkagePosterior
        The posterior.

    Returns
    -------
    dict of str to float
        Logs of the averages over the sub-models of each family, from the closed form, relative to the first family; see
        `bayescal.verify.pymc_models.shrinkage_model`. Empty without a pool.
    """
    families, log_evidence = posterior.prior_options.families, posterior.log_evidence
    of = {}
    for family in posterior.prior_options.pooled:
        if family in families:
            weights = families[family]
            each = [np.log(w) + log_evidence[name] for name, w in weights.items()]
            of[family] = float(np.logaddexp.reduce(each)) - float(np.log(sum(weights.values())))
    return {family: value - next(iter(of.values())) for family, value in of.items()}


def _chains(model: "pm.Model", draws: int, target_accept: float, seed: int, progress: bool) -> "xr.DataTree":
    import logging
    import sys
    from contextlib import redirect_stdout

    _packages.require("pymc")
    import pymc as pm

    log = logging.getLogger("pymc")
    level = log.level
    log.setLevel(logging.WARNING)  # hides the lists of variables and step methods
    try:
        with redirect_stdout(sys.stderr):  # stdout may be redirected to a file, where a bar does not belong
            return pm.sample(
                -(-draws // CHAINS),
                tune=TUNE,
                chains=CHAINS,
                target_accept=target_accept,
                random_seed=seed,
                progressbar="combined" if progress else False,
                compute_convergence_checks=False,  # done by `Reference.problems`
                model=model,
            )
    finally:
        log.setLevel(level)


def _summary(quantities: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    import arviz as az

    flat = {name: values.astype(float).reshape(CHAINS, -1) for name, values in quantities.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant has no effective size
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
    """Join the first few of many names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in ("bayescal", "pymc", "pytensor", "nutpie", "arviz", "numpy", "scipy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # nutpie is optional
            continue
    return versions
