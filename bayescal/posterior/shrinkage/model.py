"""The shrinkage model, the default: a prior that can sit on, or near, exact calibration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage import gap_moments
from bayescal.posterior.shrinkage.bins_in_use import BinsInUse
from bayescal.posterior.shrinkage.draws import ShrinkageDraws
from bayescal.posterior.shrinkage.independent.drift import VALUE_FLOOR, logit
from bayescal.posterior.shrinkage.independent.family import IndependentBins, IndependentSubModel
from bayescal.posterior.shrinkage.independent.sampling import ImportanceSample
from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds
from bayescal.posterior.shrinkage.offsets import EqualOffsets
from bayescal.posterior.shrinkage.pool import allot, alternatives, posterior_probabilities
from bayescal.posterior.shrinkage.prior import (
    ENDS,
    EXACT,
    FAMILIES,
    SATURATED,
    SUB_MODELS,
    BySubModel,
    ShrinkagePrior,
    make_prior,
)
from bayescal.posterior.shrinkage.saturated import SaturatedBins
from bayescal.posterior.shrinkage.segments import Segments
from bayescal.posterior.shrinkage.sub_model import PARAMETERS, Exact, SubModel
from bayescal.posterior.shrinkage.sub_model import SamplerWarning as SamplerWarning
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]

#: A sub-model less probable than this is left out of moments.
LEAST_OF_MOMENTS = 1e-8
#: Size of the importance samples that diagnostics are computed from.
DIAGNOSTIC_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class ShrinkagePosterior:
    """Posterior under the shrinkage model: an average over families of sub-models; independent draws.

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

    @cached_property
    def taking_part(self) -> ShrinkagePrior:
        """The prior with the sub-models that apply to these counts; label noise at the ends needs a crowded end."""
        return self.prior_options if self.crowded.any() else self.prior_options.without_ends()

    @property
    def mass_parameters(self) -> Floats:
        """Dirichlet parameters of the masses of the bins in use, the others' being 0; shape (n_bins,)."""
        alpha = self.prior_options.mass_alpha
        each = 2 / len(self.counts.bins) if alpha is None else alpha
        return np.where(self._bins.used, each + self.counts.effective_rows * self.counts.share, 0.0)

    @property
    def confidence(self) -> Floats:
        """Confidences that accuracies are compared with, shape (n_bins,): means, or midpoints of empty bins."""
        return self._bins.confidence

    @property
    def crowded(self) -> NDArray[np.bool_]:
        """Whether each bin has noise of its own under label noise at the ends, shape (n_bins,)."""
        return self._bins.crowded

    @property
    def all_saturated(self) -> bool:
        """Whether all bins in use are saturated, so that the sub-models describe none."""
        return not self._bins.described.any()

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model for the bins that are not saturated."""
        evidence = {name: each.log_evidence for name, each in self._sub_models.items()}
        found = posterior_probabilities(self.taking_part.families, evidence)
        return BySubModel({name: found.get(name, 0.0) for name in self._sub_models})

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family; two of the families form a pool with equal shares.

        They are about bins that are not saturated. If all bins are, they are the prior probabilities.
        """
        return {family: {n: self.probabilities[n] for n in names} for family, names in self._families.items()}

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of the outcomes under each sub-model and under ``"exact"``."""
        n, k, confidence = self._rows
        inside = np.clip(confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        exact = float((xlogy(k, inside) + xlog1py(n - k, -inside)).sum())
        saturated = self._saturated.log_evidence
        given = {name: exact + each.log_evidence + saturated for name, each in self._sub_models.items()}
        return BySubModel(given | {EXACT: exact + self._saturated.log_exact})

    @property
    def log_bayes_factor(self) -> float:
        """Log of `bayes_factor`, which may overflow."""
        evidence, weights = self.log_evidence, alternatives(self.taking_part.families)
        if not weights:
            return self._saturated.log_exact - self._saturated.log_evidence
        each = np.array([evidence[name] for name in weights]) + np.log(list(weights.values()))
        return evidence[EXACT] - float(np.logaddexp.reduce(each))

    @property
    def bayes_factor(self) -> float:
        """How many times more probable exact calibration makes the outcomes than the other sub-models on average."""
        return float(np.exp(min(self.log_bayes_factor, 700.0)))

    @property
    def prior_odds(self) -> float:
        """Prior odds of exact calibration."""
        return self.prior_options.prior_odds

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration at the prior's ``prior_odds``."""
        return float(expit(self.log_bayes_factor + np.log(self.prior_odds)))

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
        return self.sample_all(n_draws, rng=rng).bin_draws

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws:
        """Draw the bins and the parameters behind them; the bins are those of `sample` with the same `rng`.

        Parameters
        ----------
        n_draws, rng
            As for `sample`.

        Returns
        -------
        ShrinkageDraws
            Sub-model, its parameters, which bins are off, and the bins.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        rng = _checks.generator(rng)
        chosen = allot(np.array(list(self.probabilities.values())), n_draws, rng)
        order = rng.permutation(n_draws)
        used, described, saturated = self._bins.used, self._bins.described, self._bins.saturated
        shape = (n_draws, len(used))
        confidence = self.confidence[None]
        accuracy, mass, off = np.tile(confidence, (n_draws, 1)), np.zeros(shape), np.zeros(shape, bool)
        parameters = {name: np.full(n_draws, value) for name, value in PARAMETERS.items()}
        place = np.empty(n_draws, np.intp)
        place[order] = np.arange(n_draws)
        for i, name in enumerate(self.probabilities):
            rows = place[np.flatnonzero(chosen == i)]
            if not len(rows):
                continue
            drawn = self._sub_models[name].draw(len(rows), rng)
            drawn.warn_if_poor(name, self.probabilities[name])
            accuracy[np.ix_(rows, described)], off[np.ix_(rows, described)] = drawn.accuracy, drawn.off
            for parameter, values in drawn.parameters.items():
                parameters[parameter][rows] = values
        mass[:, used] = rng.dirichlet(self.mass_parameters[used], n_draws)
        accuracy[:, saturated], off[:, saturated] = self._saturated.draw(n_draws, rng)
        bins = BinDraws(mass, accuracy, confidence, used, mass)
        return ShrinkageDraws(bin_draws=bins, sub_model=chosen[order], off=off, **parameters)

    def ece_mean(self) -> float:
        """Posterior mean of the ECE, by quadrature (about four digits), without random numbers."""
        return self._ece_moments[0]

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE; see `ece_mean`."""
        return self._ece_moments[1]

    def off_probability(self, family: str | None = None) -> Floats:
        """Posterior probability that a bin deviates from the drift, from exact calibration or from what it states.

        Compare bins with each other: under a dense residual every bin is off, under a drift alone or label noise none.
        A calibrated classifier often has about 0.5 in every bin.

        Parameters
        ----------
        family : str, optional
            A key of `families`; by default the average over all sub-models.

        Returns
        -------
        ndarray, shape (n_bins,)
            NaN where a bin is empty. Saturated bins have the same probability in every family.

        Raises
        ------
        ValueError
            If the family takes no part.
        """
        if family is not None:
            _checks.one_of("family", family, list(self._families))
        share = self.probabilities if family is None else self._within(family)
        result = np.full(len(self.counts.bins), np.nan)
        result[self._bins.used] = 1 - self._saturated.exact_probability
        off = sum(p * self._sub_models[n].off_probability for n, p in share.items() if p)
        result[self._bins.described] = np.minimum(off, 1.0)  # but for rounding
        return result

    def parameter_means(self) -> dict[str, dict[str, float]]:
        """Posterior means of the parameters under each sub-model; NaN where it has no such parameter."""
        return BySubModel({name: PARAMETERS | each.parameter_means() for name, each in self._sub_models.items()})

    def effective_sample_size(self) -> dict[str, float]:
        """Kish's effective number of 1000 importance draws, the same every time, for each sub-model with drift."""
        return BySubModel({name: sample.effective_size for name, sample in self._diagnostic_samples().items()})

    def pareto_k(self) -> dict[str, float]:
        """Pareto shape of the importance weights of each sub-model with drift, by ArviZ; below 0.7 is good.

        Of the same draws as `effective_sample_size`. Weights are near 1 and bounded, so it is well below 0.5 as a rule.
        """
        from arviz_stats.base import array_stats

        # it takes log-likelihoods, which are minus log weights
        shapes = {name: array_stats.psislw(-s.log_weights)[1] for name, s in self._diagnostic_samples().items()}
        return BySubModel({name: float(k) for name, k in shapes.items()})

    @property
    def _families(self) -> dict[str, list[str]]:
        """The sub-models that take part, by family."""
        names = self.taking_part.names
        return {f: [n for n in FAMILIES[f] if n in names] for f in self.taking_part.families}

    def _within(self, family: str) -> dict[str, float]:
        """Probabilities of the sub-models of one family, given that family."""
        only = {family: self.taking_part.families[family]}
        return posterior_probabilities(only, {name: self._sub_models[name].log_evidence for name in only[family]})

    @cached_property
    def _bins(self) -> BinsInUse:
        return BinsInUse(self.counts, SATURATED in self.prior_options.sub_models)

    @property
    def _rows(self) -> tuple[Floats, Floats, Floats]:
        return self._bins.rows(self._bins.described)

    @cached_property
    def _saturated(self) -> SaturatedBins:
        return SaturatedBins(*self._bins.rows(self._bins.saturated))

    @cached_property
    def _independent(self) -> IndependentBins:
        return IndependentBins(*self._rows, self.prior_options)

    @cached_property
    def _sub_models(self) -> dict[str, SubModel]:
        """The sub-models that take part, given the counts of the bins that are not saturated."""
        n, k, confidence = self._rows
        names = self.taking_part.names
        if not len(n):
            return {name: Exact(confidence) for name in names}
        made: dict[str, Callable[[], SubModel]] = {
            **{name: partial(IndependentSubModel, self._independent, name) for name in SUB_MODELS},
            "runs": lambda: Segments(n, k, logit(confidence), confidence),
            "offset": lambda: EqualOffsets(n, k, confidence),
            "label_noise": lambda: LabelNoise(n, k, confidence, free_rate=False),
            "label_noise_any_rate": lambda: LabelNoise(n, k, confidence, free_rate=True),
            ENDS: lambda: NoiseAtEnds(n, k, confidence, self.crowded[self._bins.described]),
            EXACT: lambda: Exact(confidence),
        }
        return {name: made[name]() for name in names}

    @cached_property
    def _ece_moments(self) -> tuple[float, float]:
        mass, matters = self.mass_parameters, {n: p for n, p in self.probabilities.items() if p >= LEAST_OF_MOMENTS}
        beside = self._saturated.gap_sums(mass[self._bins.saturated])
        sums = [self._sub_models[name].gap_sums(mass[self._bins.described]).beside(beside) for name in matters]
        return gap_moments.ece_moments(list(matters.values()), sums, float(mass.sum()))

    def _diagnostic_samples(self) -> dict[str, ImportanceSample]:
        drawn = {
            name: each.importance(DIAGNOSTIC_DRAWS)
            for name, each in self._sub_models.items()
            if isinstance(each, IndependentSubModel)
        }
        return {name: sample for name, sample in drawn.items() if sample is not None}


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
    sub_models: Sequence[str] | None = None,
) -> ShrinkagePosterior:
    r"""Posterior of the shrinkage model: accuracies near the mean confidences, unless the data say otherwise.

    Parameters
    ----------
    counts : BinnedCounts
        Counts; empty counts give the prior.
    intercept_sd : float, default 0.5
        Prior standard deviation of the calibration intercept a: one moves a confidence of 0.5 to 0.62. A drift by the
        intercept alone has a mean ECE of 0.066.
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
        Prior weights of the sub-models of the family "independent", relative to each other.
    prior_odds : float, default 1.0
        Prior odds of exact calibration against all other sub-models. It matters for `p_calibrated` only.
    mass_alpha : float, optional
        Dirichlet parameter of each bin's mass; default 2 / M, as in the Dirichlet model.
    sub_models : sequence of str, optional
        Names of the sub-models or families that take part, by default all; see the notes. ``["independent"]`` is
        the model of release 0.1.0. Without ``"saturated"`` among them, such bins are treated as all others.

    Returns
    -------
    ShrinkagePosterior
        With `sample`, `ece_mean`, `ece_sd`, the probabilities of the sub-models and `p_calibrated`.

    Raises
    ------
    ValueError, TypeError
        If a scale or odds are not positive, `sparse_shape` is below 0.05, `rho` not strictly between 0 and 1,
        `sub_model_weights` not five numbers >= 0, or `sub_models` has an unknown name or leaves no sub-model.

    Notes
    -----
    With :math:`\bar c_b` the mean confidence of an occupied bin,
    :math:`k_b \sim \mathrm{Binomial}(n_b, \theta_b)`. The sub-models differ in what they say of the accuracies
    :math:`\theta_b`.

    *Independent bins* ("independent"). Five sub-models, weighted by their marginal likelihoods, combine a drift of the
    logits with residuals that are independent given the drift:

    .. math::
        \mathrm{logit}\, h_b = \mathrm{logit}\, \bar c_b + a + (e^s - 1)\, x_b, \quad x_b = \mathrm{logit}\, \bar c_b

    * drift off: :math:`a = s = 0`; on ("logistic", "logistic_dense", "logistic_sparse"): :math:`a, s` Normal;
    * residual none: :math:`\theta_b = h_b`; dense ("dense", "logistic_dense"):
      :math:`\theta_b \sim \mathrm{Beta}(\kappa h_b, \kappa (1 - h_b))` with :math:`\kappa = 1/\tau^2 - 1` and one
      half-Normal :math:`\tau` on (0, 1); sparse ("sparse", "logistic_sparse"): with probability :math:`\rho` that
      Beta with a :math:`\tau_b` of its own, else :math:`\theta_b = h_b`.

    *Shared errors* ("shared"). Two sub-models in which bins have something in common:

    * "runs": :math:`\mathrm{logit}\, \theta_b = \mathrm{logit}\, \bar c_b + \delta_{g(b)}` with one shift
      for each segment g of neighbouring bins. Segments change at each inner edge with probability :math:`\lambda / (M
      - 1)`, :math:`\lambda \in \{1, 4, 16\}`; a segment is exact (:math:`\delta = 0`) with probability 1/2, else
      :math:`\delta \sim \mathrm{Normal}(0, \tau^2)` with a density of :math:`\tau` proportional to
      :math:`\tau^{-1/2}` on (0, 2.5). With more than 128 bins several neighbours form one block that is not divided.
    * "offset": :math:`\theta_b = \sin^2(\arcsin \sqrt{\bar c_b} \pm \delta)` with one amount, uniform
      in its logarithm on (0.0001, 0.7), for each bin that is off; a share of 0.25, 0.5 or 1 of the bins is off.

    *Noisy labels* ("noise"): :math:`\theta_b = (1 - \lambda) \bar c_b + \lambda \pi` with
    :math:`\lambda = 1.25 u^2`, :math:`u \sim \mathrm{U}(0, 1)`, and :math:`\pi = 1/2` ("label_noise") or
    :math:`\pi \sim \mathrm{U}(0, 1)` ("label_noise_any_rate"). Label noise at the ends ("label_noise_ends") takes
    part if the mean confidence of the first or the last bin is within a tenth of its width of 0 or 1: in such a bin
    an additional share :math:`\lambda_b \sim \mathrm{Beta}(1/2, 10)` of the outcomes is contrary to the confidence,
    :math:`\theta_b = \bar c_b + \lambda_b (1 - \bar c_b)` near 0 and :math:`\bar c_b - \lambda_b \bar c_b` near 1;
    all other bins are exact.

    *Exact calibration* ("exact"): :math:`\theta_b = \bar c_b`.

    The first two families form a linear pool: each contributes half of the draws of the pool, whatever their
    evidences are, because each is blind to errors that the other describes, and an average by evidence chooses too
    soon. The shares are not learnt from the rows. The pool, the sub-models of noise and exact calibration are averaged
    by their marginal likelihoods with prior weights 10, 0.5 for each of noise, and 0.25; the evidence of the pool is
    the average over its families.

    *Saturated bins* ("saturated"), whose mean confidence is within 1e-4 of 0 or 1, are described apart from all
    others: the share of contrary outcomes of each is :math:`\mathrm{Beta}(1/2, 10)` before the outcomes are known.
    Without contrary outcomes 5 % of the draws have all of them exactly as stated.

    Given the drift everything is closed form, or a sum over a small grid; drifts are drawn by importance sampling.
    Draws are independent.

    The mean confidence is kept 1e-9 away from 0 and 1, so that a contrary outcome is not impossible; in :math:`x_b`
    it is kept 1e-4 away, which limits the leverage of the slope. The gap of a bin is :math:`\theta_b - \bar c_b`.
    Bins without rows are left out. With weights a bin's rows are Kish's effective number. Mean ECEs of the prior,
    above, are over 15 equal-width bins without rows.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2)
    >>> posterior = shrinkage_posterior(counts)
    >>> posterior.ece_mean(), posterior.p_calibrated
    (0.052..., 0.530...)
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
        sub_models=sub_models,
    )
    posterior = ShrinkagePosterior(counts, prior)
    if prior.names == (ENDS,) and counts.n_rows and not posterior.crowded.any():
        raise ValueError(
            f"`sub_models` leaves only {ENDS!r}, which takes part only if the mean confidence of the first or the last "
            "bin is within a tenth of its width of 0 or 1, and here neither is. Add another sub-model."
        )
    return posterior
