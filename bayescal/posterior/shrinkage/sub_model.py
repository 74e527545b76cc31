"""The interface of the sub-models and their draws, and exact calibration as a sub-model."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Floats, Generator, Indices
from bayescal.draws import BinDraws
from bayescal.stats.sums import VALUE_FLOOR

#: Parameters of the sub-models, and their values under sub-models that lack them.
PARAMETERS = {"intercept": 0.0, "slope": 1.0} | dict.fromkeys(("tau", "rho", "amount", "noise", "noise_rate"), np.nan)
#: An importance sample is poor if its effective size is below POOR_SHARE of its draws. Samples of fewer than
#: FEWEST_JUDGED_DRAWS draws are not judged.
POOR_SHARE = 0.1
FEWEST_JUDGED_DRAWS = 50
#: Largest negligible value of the product of a sub-model's probability and the unresolved share of its mass.
NEGLIGIBLE_MASS = 1e-3


class SamplerWarning(UserWarning):
    """Warns that a sub-model whose probability is not negligible could not be integrated or sampled accurately."""


class SubModelDraws(NamedTuple):
    """Draws of one sub-model."""

    accuracy: Floats  #: Accuracies, shape (n_draws, n_bins).
    #: Whether bins are off, that is, deviate from what the sub-model prescribes for all bins; of the same shape.
    off: Bools
    parameters: dict[str, Floats]  #: The parameters of the sub-model, shape (n_draws,), with names from `PARAMETERS`.
    effective: float  #: Kish's effective number of importance draws.
    unfinished: float = 0.0  #: Share of the posterior mass that the integration did not resolve.

    def warn_if_poor(self, name: str, probability: float) -> None:
        """Warn if the importance sample is poor, or if too much mass is unresolved."""
        count = len(self.accuracy)
        poor = count >= FEWEST_JUDGED_DRAWS and self.effective < POOR_SHARE * count
        if poor or probability * self.unfinished > NEGLIGIBLE_MASS:
            warnings.warn(
                f"draws from the sub-model {name!r} (probability {probability:.2g}) are inaccurate: effective size "
                f"{self.effective:.0f} of {count} draws, {self.unfinished:.2g} of its posterior mass not integrated.",
                SamplerWarning,
                skip_file_prefixes=_checks.PACKAGE,
            )


def inverse_probabilities(accuracy: Floats) -> Floats:
    """Return 1 / (1 - accuracy) and 1 / accuracy on a new first axis; accuracies are clipped as in likelihoods."""
    inside = np.clip(accuracy, VALUE_FLOOR, 1 - VALUE_FLOOR)
    return np.stack([1 / (1 - inside), 1 / inside])


class SubModel(Protocol):
    """One sub-model given the counts, integrated over its parameters."""

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw accuracies and parameters `count` times."""

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin is off, shape (n_bins,)."""

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell, shape (2, n_bins): outcome 0 first.

        p is the probability of the outcome of one row of the cell, given the parameters and all other rows. The mean is
        the ratio of the marginal likelihoods without and with that row. Values of cells without rows have no meaning.
        """

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of the parameters; by default there are none that all bins have in common."""
        return {}


@dataclass(frozen=True, eq=False)
class Exact(SubModel):
    """Exact calibration; also used for every sub-model if there are no bins to describe."""

    confidence: Floats
    log_evidence: float = 0.0

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Return equal draws: accuracies are the mean confidences."""
        accuracy = np.tile(self.confidence, (count, 1))
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)

    @property
    def off_probability(self) -> Floats:
        """Zero: no bin is off."""
        return np.zeros(len(self.confidence))

    def inverse_predictive(self) -> Floats:
        """Return the inverse probabilities of the outcomes at the mean confidences."""
        return inverse_probabilities(self.confidence)


@dataclass(frozen=True, eq=False)
class ShrinkageDraws:
    """Joint posterior draws of the bins, the sub-model and its parameters.

    Parameters
    ----------
    bin_draws : BinDraws
        The bins, as returned by `ShrinkagePosterior.sample`.
    sub_model : ndarray of int, shape (n_draws,)
        Index of the sub-model, in the order of `ShrinkagePosterior.probabilities`.
    intercept, slope : ndarray, shape (n_draws,)
        Calibration intercept a and slope exp(s); 0 and 1 under sub-models without drift.
    tau : ndarray, shape (n_draws,)
        Standard deviation of accuracies around their centres h, in units of sqrt(h (1 - h)), under a dense residual.
        Values are on a grid; NaN under other sub-models.
    rho : ndarray, shape (n_draws,)
        Prior probability that a bin is off under "sparse", "logistic_sparse" and "offset"; NaN under other sub-models.
    amount : ndarray, shape (n_draws,)
        Common offset of the bins under "offset", on the scale of arcsin(sqrt(accuracy)); NaN under other sub-models.
    noise, noise_rate : ndarray, shape (n_draws,)
        Share of noisy labels, and the rate of outcome 1 among them, under "label_noise" and "label_noise_any_rate"; NaN
        under other sub-models.
    off : ndarray of bool, shape (n_draws, n_bins)
        Whether each bin is off: deviates from what its sub-model prescribes (exact calibration, drift or label noise).
    """

    bin_draws: BinDraws
    sub_model: Indices
    intercept: Floats
    slope: Floats
    tau: Floats
    rho: Floats
    amount: Floats
    noise: Floats
    noise_rate: Floats
    off: Bools

    def __repr__(self) -> str:
        n_draws, n_bins = self.off.shape
        return f"ShrinkageDraws({n_draws} draws of {n_bins} bins and of the parameters behind them)"
