"""The shrinkage model, the default: a prior that can sit on, or near, exact calibration."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from bayescal import _checks
from bayescal._draws import BinDraws
from bayescal.posterior import _moments
from bayescal.posterior._drift import DriftingBins
from bayescal.posterior._prior import SUB_MODELS, ShrinkagePrior, make_prior
from bayescal.posterior._sampling import BinState, ImportanceSample, draw, importance_sample
from bayescal.posterior._sub_models import COARSE, FINE, Bins, Resolution, SubModel, integrate
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]

#: An importance sample is poor below this effective share of its draws; fewer draws than that say nothing about it.
POOR_SHARE = 0.1
FEWEST_JUDGED = 50
#: A sub-model less probable than this cannot spoil an answer; nor can a smaller share of its mass be missed.
NEGLIGIBLE = 1e-3
#: Size of the importance samples that diagnostics are computed from.
DIAGNOSTIC_DRAWS = 1000


class SamplerWarning(UserWarning):
    """A sub-model that matters could not be integrated or sampled well."""


@dataclass(frozen=True, eq=False)
class ShrinkageDraws:
    """Joint posterior draws of the bins and of everything behind them.

    Parameters
    ----------
    bins : BinDraws
        The bins, as `ShrinkagePosterior.sample` gives them.
    sub_model : ndarray of int, shape (n_draws,)
        Index of the sub-model, in the order of `ShrinkagePosterior.probabilities`.
    intercept, slope : ndarray, shape (n_draws,)
        Calibration intercept a and slope exp(s); 0 and 1 without drift.
    tau : ndarray, shape (n_draws,)
        Standard deviation of accuracies around their centres h in units of sqrt(h (1 - h)), on a grid, where all bins
        share one; NaN elsewhere.
    rho : ndarray, shape (n_draws,)
        Prior share of bins that are off; NaN but under a sparse residual.
    off : ndarray of bool, shape (n_draws, n_bins)
        Whether a bin deviates from the drift.
    """

    bins: BinDraws
    sub_model: NDArray[np.intp]
    intercept: Floats
    slope: Floats
    tau: Floats
    rho: Floats
    off: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ShrinkagePosterior:
    """Posterior under the shrinkage model: five sub-models averaged by their marginal likelihoods; independent draws.

    Made by `shrinkage_posterior`.

    Parameters
    ----------
    counts : BinnedCounts
        What was counted.
    prior_options : ShrinkagePrior
        Constants of the prior.
    """

    counts: BinnedCounts
    prior_options: ShrinkagePrior

    @property
    def prior(self) -> str:
        """The prior in words, for printing."""
        return str(self.prior_options)

    @property
    def mass_parameters(self) -> Floats:
        """Dirichlet parameters of the masses of the bins in use, the others' being 0; shape (n_bins,)."""
        alpha = self.prior_options.mass_alpha
        each = 2 / len(self.counts.bins) if alpha is None else alpha
        return np.where(self._used, each + self.counts.effective_rows * self.counts.share, 0.0)

    @property
    def confidence(self) -> Floats:
        """What accuracies are compared with, shape (n_bins,): the mean confidences; midpoints where a bin is empty."""
        counts = self.counts
        return np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), counts.bins.midpoints)

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model; exact calibration takes no part."""
        return self._probabilities(self._coarse[1])

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of the outcomes under each sub-model and under ``"exact calibration"``."""
        drifting = self._coarse[0].drifting
        n, k = drifting.n, drifting.k
        share = np.divide(k, n, out=np.zeros_like(n), where=n > 0)
        best = float((xlogy(k, share) + xlog1py(n - k, -share)).sum())
        exact = float(drifting.log_likelihood(drifting.logit))
        each = {name: model.log_evidence for name, model in self._coarse[1].items()}
        return {name: best + value for name, value in {**each, "exact calibration": exact}.items()}

    @property
    def log_bayes_factor(self) -> float:
        """Log of `bayes_factor`, which may overflow."""
        evidence = self.log_evidence
        each = np.array([evidence[name] for name in SUB_MODELS]) + self.prior_options.log_weights
        return evidence["exact calibration"] - float(np.logaddexp.reduce(each))

    @property
    def bayes_factor(self) -> float:
        """How many times more probable exact calibration makes the outcomes than the five sub-models on average."""
        return float(np.exp(min(self.log_bayes_factor, 700.0)))

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration at the prior's ``prior_odds``."""
        return float(expit(self.log_bayes_factor + np.log(self.prior_options.prior_odds)))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw independently from the joint posterior of the bins.

        Parameters
        ----------
        n_draws : int, default 4000
            Number of draws.
        rng : None, int, SeedSequence or Generator
            Randomness, as for `numpy.random.default_rng`.

        Returns
        -------
        BinDraws
            Mass and accuracy of shape (n_draws, n_bins), confidence of shape (1, n_bins). Empty bins have mass 0 and
            gap 0; without any rows every bin counts.

        Warns
        -----
        SamplerWarning
            If a sub-model that matters could not be integrated or sampled well.
        """
        return self.sample_all(n_draws, rng=rng).bins

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws:
        """Draw the bins and the parameters behind them; the bins are those of `sample` with the same `rng`.

        Parameters
        ----------
        n_draws, rng
            As for `sample`.

        Returns
        -------
        ShrinkageDraws
            Sub-model, intercept, slope, tau, rho, which bins are off, and the bins.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        rng = _checks.generator(rng)
        chosen = _allot(np.array(list(self.probabilities.values())), n_draws, rng)
        order = rng.permutation(n_draws)
        states = [
            self._draw(name, int((chosen == i).sum()), rng) for i, name in enumerate(SUB_MODELS) if (chosen == i).any()
        ]
        state = BinState(*(np.concatenate(parts)[order] for parts in zip(*states, strict=True)))
        used, shape = self._used, (n_draws, len(self._used))
        confidence = self.confidence[None]
        accuracy, mass, off = np.tile(confidence, (n_draws, 1)), np.zeros(shape), np.zeros(shape, bool)
        accuracy[:, used], off[:, used] = state.accuracy, state.off
        mass[:, used] = rng.dirichlet(self.mass_parameters[used], n_draws)
        return ShrinkageDraws(
            bins=BinDraws(mass, accuracy, confidence, used, mass),
            sub_model=chosen[order],
            intercept=state.intercept,
            slope=np.exp(state.log_slope),
            tau=state.tau,
            rho=state.rho,
            off=off,
        )

    def ece_mean(self) -> float:
        """Posterior mean of the ECE, by quadrature (about four digits), without random numbers."""
        return self._ece_moments[0]

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE; see `ece_mean`."""
        return self._ece_moments[1]

    def off_probability(self) -> Floats:
        """Posterior probability that a bin deviates from the drift, shape (n_bins,); NaN where a bin is empty.

        Under a dense residual every bin does.
        """
        bins, models = self._coarse
        result = np.full(len(self._used), np.nan)
        result[self._used] = sum(p * _moments.off_probability(bins, models[n]) for n, p in self.probabilities.items())
        return result

    def parameter_means(self) -> dict[str, dict[str, float]]:
        """Posterior means of intercept, slope, tau and rho under each sub-model; NaN where it has no such parameter."""
        bins, models = self._coarse
        return {name: _moments.parameter_means(bins, model) for name, model in models.items()}

    def effective_sample_size(self) -> dict[str, float]:
        """Kish's effective number of 1000 importance draws, the same every time, for each sub-model with drift."""
        return {name: sample.effective_size for name, sample in self._diagnostic_samples().items()}

    def pareto_k(self) -> dict[str, float]:
        """Pareto shape of the importance weights of each sub-model with drift, by ArviZ; below 0.7 is good.

        Of the same draws as `effective_sample_size`. Weights are near 1 and bounded, so it is well below 0.5 as a rule.
        """
        from arviz_stats.base import array_stats

        # it takes log-likelihoods, which are minus log weights
        return {name: float(array_stats.psislw(-s.log_weights)[1]) for name, s in self._diagnostic_samples().items()}

    @cached_property
    def _used(self) -> NDArray[np.bool_]:
        """Bins that count: those with rows, or all if there is no row."""
        occupied = self.counts.occupied
        return occupied if occupied.any() else np.ones_like(occupied)

    @cached_property
    def _coarse(self) -> tuple[Bins, dict[str, SubModel]]:
        return self._integrate(COARSE)

    def _integrate(self, resolution: Resolution) -> tuple[Bins, dict[str, SubModel]]:
        prior, used = self.prior_options, self._used
        n = self.counts.effective_n[used]
        k = np.clip(self.counts.effective_k[used], 0.0, n)
        drifting = DriftingBins(n, k, self.confidence[used], prior.intercept_sd, prior.log_slope_sd)
        bins = Bins(drifting, prior, resolution)
        return bins, integrate(bins)

    @cached_property
    def _ece_moments(self) -> tuple[float, float]:
        bins, models = self._integrate(FINE)
        return _moments.ece_moments(bins, models, self._probabilities(models), self.mass_parameters[self._used])

    def _probabilities(self, models: dict[str, SubModel]) -> dict[str, float]:
        joint = np.array([model.log_evidence for model in models.values()]) + self.prior_options.log_weights
        return dict(zip(models, np.exp(joint - np.logaddexp.reduce(joint)).tolist(), strict=True))

    def _draw(self, name: str, count: int, rng: np.random.Generator) -> BinState:
        bins, models = self._coarse
        state, effective = draw(bins, models[name], count, rng)
        poor = count >= FEWEST_JUDGED and effective < POOR_SHARE * count
        unfinished = models[name].unfinished
        if poor or self.probabilities[name] * unfinished > NEGLIGIBLE:
            warnings.warn(
                f"the sub-model {name!r} (probability {self.probabilities[name]:.2g}) is approximate: effective size "
                f"{effective:.0f} of {count} draws, {unfinished:.2g} of its mass not resolved.",
                SamplerWarning,
                skip_file_prefixes=_checks.PACKAGE,
            )
        return state

    def _diagnostic_samples(self) -> dict[str, ImportanceSample]:
        bins, models = self._coarse
        return {
            name: importance_sample(bins, model, DIAGNOSTIC_DRAWS, np.random.default_rng(0))
            for name, model in models.items()
            if model.drift
        }


def _allot(probability: Floats, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A sub-model for each draw, in order, each as often as its probability says to within one draw."""
    edges = np.cumsum(probability)
    return np.searchsorted(edges / edges[-1], (np.arange(n_draws) + rng.random()) / n_draws, side="right")


def shrinkage_posterior(
    counts: BinnedCounts,
    *,
    intercept_sd: float = 0.5,
    log_slope_sd: float = 0.5,
    dense_scale: float = 0.2,
    sparse_shape: float = 0.5,
    rho: float | Sequence[float] = (0.05, 0.15, 0.3, 0.5),
    sub_model_weights: Sequence[float] = (1.0, 1.0, 1.0, 1.0, 1.0),
    prior_odds: float = 1.0,
    mass_alpha: float | None = None,
) -> ShrinkagePosterior:
    r"""Posterior of the shrinkage model: accuracies near the mean confidences, unless the data say otherwise.

    Parameters
    ----------
    counts : BinnedCounts
        Counts; empty counts give the prior.
    intercept_sd : float, default 0.5
        Prior standard deviation of the calibration intercept a: one moves a confidence of 0.5 to 0.62. A drift by the
        intercept alone has a mean ECE of 0.065.
    log_slope_sd : float, default 0.5
        Prior standard deviation of s, where exp(s) is the calibration slope: one is a temperature of 0.6 or 1.65. A
        drift by the slope alone has a mean ECE of 0.056.
    dense_scale : float, default 0.2
        Scale of the half-Normal tau when many bins are off: accuracies scatter around their centres h with standard
        deviation tau sqrt(h (1 - h)). The mean ECE of that sub-model is 0.050, and a quarter of the scale in general.
    sparse_shape : float, default 0.5
        When a few bins are off, each has a tau of its own with density c tau^(c-1): 1 is uniform, and the smaller c,
        the more bins that are off by little. The mean absolute gap of such a bin is 0.11 (0.16 at c = 1).
    rho : float or sequence of float, default (0.05, 0.15, 0.3, 0.5)
        Shares of bins that are off when a few are, equally probable. The mean ECE of that sub-model is 0.027, and is
        exactly 0 with the mean of (1 - rho)^M, 0.14 for 15 bins.
    sub_model_weights : sequence of five float, default equal
        Prior weights of the sub-models, in the order of `ShrinkagePosterior.probabilities`.
    prior_odds : float, default 1.0
        Prior odds of exact calibration against the five sub-models. It matters for `p_calibrated` only.
    mass_alpha : float, optional
        Dirichlet parameter of each bin's mass; default 2 / M, as in the reference model.

    Returns
    -------
    ShrinkagePosterior
        With `sample`, `ece_mean`, `ece_sd`, the probabilities of the sub-models and `p_calibrated`.

    Raises
    ------
    ValueError, TypeError
        If a scale or odds are not positive, `sparse_shape` is below 0.05, `rho` not strictly between 0 and 1, or
        `sub_model_weights` not five numbers >= 0.

    Notes
    -----
    With :math:`\bar c_b` the mean confidence of an occupied bin,

    .. math::
        k_b \sim \mathrm{Binomial}(n_b, \theta_b), \quad
        \mathrm{logit}\, h_b = \mathrm{logit}\, \bar c_b + a + (e^s - 1)\, x_b, \quad x_b = \mathrm{logit}\, \bar c_b

    * drift off: :math:`a = s = 0`; on: :math:`a, s` Normal;
    * residual none: :math:`\theta_b = h_b`; dense: :math:`\theta_b \sim \mathrm{Beta}(\kappa h_b, \kappa (1 - h_b))`
      with :math:`\kappa = 1/\tau^2 - 1` and one half-Normal :math:`\tau` on (0, 1); sparse: with probability
      :math:`\rho` that Beta with a :math:`\tau_b` of its own, else :math:`\theta_b = h_b`.

    The five combinations other than (off, none), which is exact calibration, are averaged by their marginal
    likelihoods. Given the drift everything is closed form; drifts are drawn by importance sampling.

    The mean confidence is kept 1e-9 away from 0 and 1, so that a contrary outcome is not impossible; in :math:`x_b` it
    is kept 1e-4 away, which limits the leverage of the slope. The gap of a bin is :math:`\theta_b - \bar c_b`. Bins
    without rows are left out. With weights a bin's rows are Kish's effective number. Mean ECEs of the prior, above, are
    over 15 equal-width bins without rows.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> posterior = shrinkage_posterior(counts)
    >>> posterior.ece_mean(), posterior.p_calibrated
    (0.069..., 0.538...)
    """
    prior = make_prior(
        intercept_sd=intercept_sd,
        log_slope_sd=log_slope_sd,
        dense_scale=dense_scale,
        sparse_shape=sparse_shape,
        rho=rho,
        sub_model_weights=sub_model_weights,
        prior_odds=prior_odds,
        mass_alpha=mass_alpha,
    )
    return ShrinkagePosterior(counts, prior)
