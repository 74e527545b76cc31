"""Closed form against PyMC: one posterior from two programs that share no code, compared quantity by quantity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.posterior.contract import Posterior
from bayescal.verify.quantities import CALIBRATED, is_probability, of_closed_form
from bayescal.verify.references import Reference, reference, some

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: How many standard errors apart two numbers may be.
LARGEST_Z = 5.0
#: Relative precision of what the closed form integrates by rules.
PRECISION = 1e-6
#: With fewer expected visits than this, the chain's own standard error of a probability means nothing.
FEW_VISITS = 20


@dataclass(frozen=True)
class Agreement:
    """Whether a closed-form posterior is that of its PyMC model; made by `agreement` or `compare`.

    Parameters
    ----------
    rows : list of dict
        For each quantity: ``quantity``; ``closed`` and ``pymc``, the two means; ``se``, the standard error of their
        difference; ``z``, the difference in standard errors; ``closed_sd``, ``pymc_sd`` and ``z_sd``, the same for the
        standard deviations (NaN for probabilities, which have none of their own); ``r_hat`` and ``ess`` of the chains.
    reference : Reference
        The other side.
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
        """Why the two do not agree, or why it cannot be said; empty if they do."""
        names = [f"{row['quantity']} ({_largest(row):.3g})" for row in self.apart]
        told = [f"more than {LARGEST_Z:g} standard errors apart: {some(names)}"] if names else []
        return told + self.reference.problems

    @property
    def agrees(self) -> bool:
        """Whether every quantity agrees within 5 standard errors, and the chains can be trusted."""
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
        if self.reference.problems:  # then nothing follows from what is apart, or not
            return f"No verdict: {'; '.join(self.problems)} ({chains})."
        return f"They differ: {'; '.join(self.problems)} ({chains})."

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas data frame, one quantity each."""
        import pandas as pd

        return pd.DataFrame(self.rows).set_index("quantity")

    @property
    def worst_r_hat(self) -> float:
        """Largest R-hat of all quantities."""
        return max(row["r_hat"] for row in self.rows)


def agreement(
    posterior: Posterior,
    *,
    draws: int = 10_000,
    with_calibrated: bool = False,
    rng: Any = None,
    progress: bool = False,
) -> Agreement:
    """Sample the PyMC mirror of a posterior and compare the two.

    Parameters
    ----------
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form.
    draws : int, default 10000
        Draws of NUTS in all four chains together; three times as many, and nine, if the chains have not mixed or are
        worth fewer than 400 independent draws. The closed form is drawn twenty times as often.
    with_calibrated : bool, default False
        For the shrinkage model: let exact calibration take part, to compare its posterior probability.
    rng : None, int, SeedSequence or Generator
        Randomness.
    progress : bool, default False
        Whether to show the progress of the chains.

    Returns
    -------
    Agreement
        Printing it gives the table and the verdict.

    Raises
    ------
    TypeError
        If the posterior has no mirror.

    Examples
    --------
    Tens of seconds, most of which PyMC takes to compile:

    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)   # doctest: +SKIP
    >>> agreement(dirichlet_posterior(counts), rng=1).agrees                            # doctest: +SKIP
    True
    """
    for_chains, for_draws = _checks.generator(rng).spawn(2)
    found = reference(posterior, draws=draws, with_calibrated=with_calibrated, rng=for_chains, progress=progress)
    return compare(posterior, found, draws=20 * draws, rng=for_draws)


def compare(posterior: Posterior, found: Reference, *, draws: int = 200_000, rng: Any = None) -> Agreement:
    """Compare a posterior's closed form with what PyMC found, now or in the past.

    Parameters
    ----------
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form.
    found : Reference
        From `reference`.
    draws : int, default 200000
        Of the closed form.
    rng : None, int, SeedSequence or Generator
        Randomness.

    Returns
    -------
    Agreement
        Quantity by quantity.

    Raises
    ------
    ValueError
        If the reference is of other quantities: of another model, or of other bins.
    """
    closed = of_closed_form(posterior, found.thresholds, draws, rng=_checks.generator(rng))
    if CALIBRATED not in found.rows:
        closed.pop(CALIBRATED, None)
    elif CALIBRATED in closed:
        closed = {CALIBRATED: closed[CALIBRATED]}
    if set(closed) != set(found.rows):
        apart = sorted(set(closed) ^ set(found.rows))
        raise ValueError(f"`found` is a reference of other quantities than this posterior has: {some(apart)}.")
    return Agreement([_row(name, closed[name], row) for name, row in found.rows.items()], found)


def _row(name: str, closed: Floats, found: Mapping[str, float]) -> dict[str, Any]:
    mean, sd, size = float(closed.mean()), float(closed.std()), len(closed)
    se = float(np.hypot(found["mcse_mean"], sd / np.sqrt(size)))
    if is_probability(name):
        if min(mean, 1 - mean) * found["ess"] < FEW_VISITS:
            se = max(se, float(np.sqrt(mean * (1 - mean) / found["ess"])))
        sd, z_sd = np.nan, np.nan
    else:
        fourth = float(((closed - mean) ** 4).mean())
        se_sd = np.hypot(found["mcse_sd"], np.sqrt(max(fourth - sd**4, 0.0) / size) / (2 * sd) if sd > 0 else 0.0)
        z_sd = _in_errors(sd - found["sd"], float(se_sd), scale=sd)
    return {
        "quantity": name,
        "closed": mean,
        "pymc": found["mean"],
        "se": se,
        "z": _in_errors(mean - found["mean"], se, scale=abs(mean)),
        "closed_sd": sd,
        "pymc_sd": np.nan if is_probability(name) else found["sd"],
        "z_sd": z_sd,
        "r_hat": found["r_hat"],
        "ess": found["ess"],
    }


def _in_errors(difference: float, se: float, scale: float) -> float:
    """A difference in standard errors; one within the precision of the closed form's integrals is none."""
    if abs(difference) <= PRECISION * max(scale, 1e-3):
        return 0.0
    return difference / se if se > 0 else np.copysign(np.inf, difference)


def _largest(row: Mapping[str, Any]) -> float:
    return max(abs(row["z"]), 0.0 if np.isnan(row["z_sd"]) else abs(row["z_sd"]))
