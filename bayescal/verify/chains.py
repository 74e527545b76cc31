"""Compare the closed form of a posterior with PyMC, quantity by quantity.

The two share only the counts, the constants of the prior and, for the pool, the marginal likelihoods of the families.
`Reference` holds moments of the chains and their diagnostics, `Agreement` the comparison.
"""

import _thread
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bayescal import _checks, _packages
from bayescal._arrays import Floats, pd, pm, xr
from bayescal._meant import public
from bayescal.estimands.errors import ece
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.results.evaluation import Evaluation
from bayescal.verify.models import pymc_model
from bayescal.verify.named import Moments, Twin
from bayescal.verify.quantities import CALIBRATED, is_probability, of_closed_form, of_pymc

#: Thresholds of R-hat and effective sample size; see `Reference`.
LARGEST_R_HAT = 1.01
SMALLEST_ESS = 400
CHAINS = 4
TUNE = 1500
MOST_SECONDS = 1800.0  #: Longest time in seconds that the chains of one attempt may take.
#: Attempts until chains are kept, their acceptance targets, and the factor by which draws increase.
ATTEMPTS, TARGET_ACCEPT, LONGER = 3, (0.95, 0.99, 0.999), 3
#: The distribution function of the ECE is compared at these quantiles of the closed form.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)
LARGEST_Z = 5.0  #: Largest difference between two numbers that agree, in standard errors.
PRECISION = 1e-6  #: Relative precision of the quadrature rules of the closed form.
#: With fewer expected visits to an event than this, the chain's own standard error of its probability is unreliable.
FEW_VISITS = 20


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations under PyMC, with their Monte Carlo errors; can be stored for later comparisons.

    Chains are kept if no transition diverges, every R-hat is below 1.01 and every effective sample size is at least 400
    (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, Bayesian Analysis 16, 667-718). Otherwise they run again, up
    to three times in all: with smaller steps after divergences, else with three times the draws. These diagnostics
    alone decide, never the comparison with the closed form.
    """

    #: For each quantity: mean, mcse_mean, sd, mcse_sd, r_hat and ess (the smaller of bulk and tail).
    rows: dict[str, dict[str, float]]
    thresholds: tuple[float, ...]  #: Values t of the quantities ``P(ece <= t)``.
    draws: int  #: Number of draws of all chains together, after tuning.
    divergences: int  #: Number of divergent transitions among them.
    target_accept: float  #: Acceptance target of NUTS.
    seed: int  #: Seed of PyMC.
    versions: dict[str, str] = field(default_factory=dict)  #: Versions of the programs.
    earlier: tuple[str, ...] = ()  #: Reasons why earlier attempts, if any, were not kept.

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
    posterior: Posterior, *, draws: int = 10_000, with_calibrated: bool = False, rng: Any = None, progress: bool = False
) -> Reference:
    """Sample the PyMC model of a posterior; arguments are those of `agreement`."""
    draws = _checks.whole_number("draws", draws, at_least=CHAINS)
    if not isinstance(posterior, DirichletPosterior | ShrinkagePosterior):
        raise TypeError(
            "`posterior` must be an evaluation under the Dirichlet or the shrinkage model, its posterior, or a twin; "
            f"not {type(posterior).__name__}. `bayescal.pymc_model(result)` writes the models of other results."
        )
    seed = int(_checks.generator(rng).integers(2**31))
    thresholds = tuple(float(f"{t:.3g}") for t in ece(posterior.sample(4000, rng=seed)).quantile(PROBS))
    form = "rates" if isinstance(posterior, DirichletPosterior) else None  # chains move freely
    model = pymc_model(posterior, with_calibrated=with_calibrated, form=form)

    def quantities(tree: "xr.DataTree") -> Mapping[str, Any]:
        return of_pymc(tree, posterior, thresholds, with_calibrated=with_calibrated)

    return _until_kept(model, quantities, thresholds, draws=draws, seed=seed, progress=progress)


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
            rows=_summary(quantities(tree)), thresholds=thresholds,
            draws=tree.posterior.sizes["chain"] * tree.posterior.sizes["draw"],
            divergences=int(tree.sample_stats.diverging.sum()), target_accept=target_accept,
            seed=seed, versions=_versions(), earlier=tuple(earlier),
        )  # fmt: skip
        if not result.problems:
            break
        earlier.append("; ".join(result.problems))
        if result.divergences:
            target_accept, *smaller_steps = smaller_steps or [target_accept]
        else:
            draws *= LONGER
    return result


def _chains(model: "pm.Model", draws: int, target_accept: float, seed: int, progress: bool) -> "xr.DataTree":
    import logging
    import sys

    _packages.require("pymc")
    import pymc as pm

    log = logging.getLogger("pymc")
    level = log.level
    log.setLevel(logging.WARNING)  # hides the lists of variables and step methods
    try:
        # stdout may be redirected to a file, where a bar does not belong
        with redirect_stdout(sys.stderr), _limited_time(MOST_SECONDS):
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


@contextmanager
def _limited_time(seconds: float) -> Iterator[None]:
    """Interrupt the sampler after this time and raise TimeoutError; in the main thread, which can be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    passed = threading.Event()

    def interrupt() -> None:
        passed.set()
        _thread.interrupt_main()

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if not passed.is_set():  # the user interrupted
            raise
    finally:
        timer.cancel()
    if passed.is_set():  # samplers that are interrupted may return the draws so far
        raise TimeoutError(
            f"the {CHAINS} chains of PyMC were stopped because they did not end within {seconds:g} seconds, which they "
            "do if the sampler hangs. Run them again; without nutpie, PyMC uses its own sampler."
        )


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


@public
@dataclass(frozen=True)
class Agreement:
    """Comparison of a closed-form posterior with its PyMC model; made by `agreement` or `agreement_with_reference`.

    Parameters
    ----------
    rows : list of dict
        For each quantity: ``quantity``; ``closed`` and ``pymc``, the two means; ``se``, the standard error of their
        difference; ``z``, the difference in standard errors; ``closed_sd``, ``pymc_sd`` and ``z_sd``, the same for the
        standard deviations (NaN for probabilities, which have none of their own); ``r_hat`` and ``ess`` of the chains.
    reference : Reference
        Posterior of the PyMC model.
    """

    rows: list[dict[str, Any]]
    reference: Reference

    @property
    def worst(self) -> float:
        """Largest difference of all means and standard deviations, in standard errors."""
        return max(_largest(row) for row in self.rows)

    @property
    def apart(self) -> list[dict[str, Any]]:
        """Rows whose means or standard deviations are 5 standard errors apart or more, worst first."""
        return sorted((row for row in self.rows if not _largest(row) < LARGEST_Z), key=lambda row: -_largest(row))

    @property
    def problems(self) -> list[str]:
        """Reasons why the two do not agree, or why the chains give no answer; empty if they agree."""
        names = [f"{row['quantity']} ({_largest(row):.3g})" for row in self.apart]
        differences = [f"{LARGEST_Z:g} standard errors or more apart: {some(names)}"] if names else []
        return differences + self.reference.problems

    @property
    def agrees(self) -> bool:
        """Whether every quantity agrees within 5 standard errors and the chains have converged."""
        return not self.problems

    def __str__(self) -> str:
        width = max(len(row["quantity"]) for row in self.rows)
        lines = [f"{'':{width}}  {'closed':>10} {'pymc':>10} {'z':>5}  {'sd':>9} {'pymc sd':>9} {'z':>5}  R-hat   ESS"]
        lines += [
            f"{r['quantity']:{width}}  {r['closed']:10.5f} {r['pymc']:10.5f} {r['z']:5.1f}  "
            f"{r['closed_sd']:9.5f} {r['pymc_sd']:9.5f} {r['z_sd']:5.1f}  {r['r_hat']:5.3f} {r['ess']:5.0f}"
            for r in self.rows
        ]
        return "\n".join([*lines, self.verdict])

    @property
    def verdict(self) -> str:
        """One sentence."""
        chains = f"{self.reference.draws} draws, {self.reference.divergences} divergences"
        if self.agrees:
            return (
                f"They agree: {len(self.rows)} quantities, the largest difference is {self.worst:.1f} standard errors "
                f"({chains}, worst R-hat {self.worst_r_hat:.3f})."
            )
        if self.reference.problems:  # differences from chains that have not converged mean nothing
            return f"No verdict: {'; '.join(self.problems)} ({chains})."
        return f"They differ: {'; '.join(self.problems)} ({chains})."

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame, one per quantity."""
        _packages.require("pandas")
        import pandas as pd

        return pd.DataFrame(self.rows).set_index("quantity")

    @property
    def worst_r_hat(self) -> float:
        """Largest R-hat of all quantities."""
        return max(row["r_hat"] for row in self.rows)


@public
def agreement(
    posterior: Evaluation | Posterior | Twin,
    *,
    draws: int = 10_000,
    with_calibrated: bool = False,
    rng: Any = None,
    progress: bool = False,
) -> Agreement:
    """Sample the PyMC model of a posterior and compare the two.

    Parameters
    ----------
    posterior : Evaluation, DirichletPosterior, ShrinkagePosterior or Twin
        The closed form, an evaluation that has it, or a twin, which contains the closed form and its PyMC model.
    draws : int, default 10000
        Draws of NUTS in all four chains together. If R-hat or effective sample size fail the thresholds of `Reference`,
        the chains run again with three times as many, and then nine. The closed form has twenty times as many draws.
    with_calibrated : bool, default False
        Shrinkage model only: include exact calibration, and compare its posterior probability alone.
    progress : bool, default False
        Whether to show the progress of the chains.

    Returns
    -------
    Agreement
        Printing it gives the table and the verdict.

    Raises
    ------
    TypeError
        If `posterior` is of another model, such as a recalibration.
    TimeoutError
        If the chains do not end within half an hour.

    References
    ----------
    Thresholds of R-hat and effective sample size: Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021),
    Rank-normalization, folding, and localization: an improved R-hat, Bayesian Analysis 16, 667-718.

    Examples
    --------
    This takes tens of seconds, most of them for compiling the PyMC model:

    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> bc.verify.agreement(bc.dirichlet_posterior(counts), rng=1).agrees  # doctest: +SKIP
    True
    """
    for_chains, for_draws = _checks.generator(rng).spawn(2)
    if isinstance(posterior, Evaluation):
        posterior = posterior.posterior
    if isinstance(posterior, Twin):
        if with_calibrated:
            raise ValueError("`with_calibrated` needs a shrinkage posterior of several sub-models.")
        draws, seed = _checks.whole_number("draws", draws, at_least=CHAINS), int(for_chains.integers(2**31))
        chains = _until_kept(posterior.model(), posterior.of_pymc, (), draws=draws, seed=seed, progress=progress)
        return _compared(posterior.of_closed_form(20 * draws, for_draws), chains)
    chains = reference(posterior, draws=draws, with_calibrated=with_calibrated, rng=for_chains, progress=progress)
    return agreement_with_reference(posterior, chains, draws=20 * draws, rng=for_draws)


@public
def agreement_with_reference(
    posterior: Posterior, reference: Reference, *, draws: int = 200_000, rng: Any = None
) -> Agreement:
    """Compare the closed form of a posterior with a reference posterior that PyMC has sampled before.

    Parameters
    ----------
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form.
    reference : Reference
        Result of `bayescal.verify.chains.reference`, or `Agreement.reference`.
    draws : int, default 200000
        Draws of the closed form.

    Returns
    -------
    Agreement
        One row per quantity.

    Raises
    ------
    ValueError
        If the reference is of other quantities: of another model, or of other bins.

    Examples
    --------
    Chains of one model serve for several closed forms:

    >>> posterior = bc.dirichlet_posterior(bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2))
    >>> chains = bc.verify.agreement(posterior, rng=1).reference  # doctest: +SKIP
    >>> bc.verify.agreement_with_reference(posterior, chains, rng=2).agrees  # doctest: +SKIP
    True
    """
    closed = of_closed_form(posterior, reference.thresholds, draws, rng=_checks.generator(rng))
    if CALIBRATED not in reference.rows:
        closed.pop(CALIBRATED, None)
    elif CALIBRATED in closed:
        closed = {CALIBRATED: closed[CALIBRATED]}
    return _compared(closed, reference)


def _compared(closed: Mapping[str, Floats | Moments], reference: Reference) -> Agreement:
    """Compare draws or exact moments with a reference of the same quantities."""
    if set(closed) != set(reference.rows):
        apart = sorted(set(closed) ^ set(reference.rows))
        raise ValueError(
            f"`reference` must have the quantities of `posterior`; {len(apart)} are in one only: {some(apart)}. "
            "Sample a reference of this posterior, with the same bins and sub-models."
        )
    return Agreement([_row(name, closed[name], row) for name, row in reference.rows.items()], reference)


def _row(name: str, closed: Floats | Moments, pymc: Mapping[str, float]) -> dict[str, Any]:
    (mean, sd), se_of_mean, se_of_sd = _moments(closed)
    se = float(np.hypot(pymc["mcse_mean"], se_of_mean))
    if is_probability(name):
        if min(mean, 1 - mean) * pymc["ess"] < FEW_VISITS:
            se = max(se, float(np.sqrt(mean * (1 - mean) / pymc["ess"])))
        sd, z_sd = np.nan, np.nan
    else:
        se_sd = float(np.hypot(pymc["mcse_sd"], se_of_sd))
        z_sd = _in_errors(sd - pymc["sd"], se_sd, scale=sd)
    return {
        "quantity": name, "closed": mean, "pymc": pymc["mean"], "se": se,
        "z": _in_errors(mean - pymc["mean"], se, scale=abs(mean)), "closed_sd": sd,
        "pymc_sd": np.nan if is_probability(name) else pymc["sd"], "z_sd": z_sd,
        "r_hat": pymc["r_hat"], "ess": pymc["ess"],
    }  # fmt: skip


def _moments(closed: Floats | Moments) -> tuple[Moments, float, float]:
    """Return mean and standard deviation, and their standard errors, which are 0 if the moments are exact."""
    if isinstance(closed, Moments):
        return closed, 0.0, 0.0
    mean, sd, size = float(closed.mean()), float(closed.std()), len(closed)
    fourth = float(((closed - mean) ** 4).mean())
    se_of_sd = np.sqrt(max(fourth - sd**4, 0.0) / size) / (2 * sd) if sd > 0 else 0.0
    return Moments(mean, sd), sd / np.sqrt(size), float(se_of_sd)


def _in_errors(difference: float, se: float, scale: float) -> float:
    """Return a difference in standard errors; 0 within the precision of the closed form's integrals."""
    if abs(difference) <= PRECISION * max(scale, 1e-3):
        return 0.0
    return difference / se if se > 0 else np.copysign(np.inf, difference)


def _largest(row: Mapping[str, Any]) -> float:
    return max(abs(row["z"]), 0.0 if np.isnan(row["z_sd"]) else abs(row["z_sd"]))
