"""The shrinkage model, the default: a prior with probability on exact calibration and on small deviations from it."""

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

#: Sub-models with a smaller probability are left out of moments.
LEAST_OF_MOMENTS = 1e-8
#: Number of importance draws for diagnostics.
DIAGNOSTIC_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class ShrinkagePosterior:
    """Posterior under the shrinkage model: an average over sub-models.

    Make it with `shrinkage_posterior`, which describes the model and cites its parts. Draws are independent.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.
    prior_options : ShrinkagePrior
        Constants of the prior.
    """

    counts: BinnedCounts
    prior_options: ShrinkagePrior

    @property
    def prior(self) -> str:
        """The prior as text, for printing; empty if all options have their defaults."""
        return str(self.prior_options)

    @cached_property
    def taking_part(self) -> ShrinkagePrior:
        """The prior with the sub-models that apply to these counts: label noise at the ends needs a crowded bin."""
        return self.prior_options if self.crowded.any() else self.prior_options.without_ends()

    @property
    def mass_parameters(self) -> Floats:
        """Dirichlet parameters of the bin masses, shape (n_bins,); 0 for bins that are not in use."""
        alpha = self.prior_options.mass_alpha
        each = 2 / len(self.counts.bins) if alpha is None else alpha
        return np.where(self._bins.used, each + self.counts.effective_rows * self.counts.share, 0.0)

    @property
    def confidence(self) -> Floats:
        """Mean confidence of each bin (the midpoint if it is empty), from which gaps are measured; shape (n_bins,)."""
        return self._bins.confidence

    @property
    def crowded(self) -> NDArray[np.bool_]:
        """Whether each bin has its own share of noise under label noise at the ends, shape (n_bins,)."""
        return self._bins.crowded

    @property
    def all_saturated(self) -> bool:
        """Whether all bins in use are saturated, so that the sub-models describe no bin."""
        return not self._bins.described.any()

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model, given the bins that are not saturated; they sum to 1."""
        evidence = {name: each.log_evidence for name, each in self._sub_models.items()}
        probability = posterior_probabilities(self.taking_part.families, evidence)
        return BySubModel({name: probability.get(name, 0.0) for name in self._sub_models})

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family; the two families of the pool have equal totals.

        They are given the bins that are not saturated. If all bins are saturated, they are the prior probabilities.
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
        """Natural logarithm of `bayes_factor`, which itself may overflow."""
        evidence, weights = self.log_evidence, alternatives(self.taking_part.families)
        if not weights:
            return self._saturated.log_exact - self._saturated.log_evidence
        each = np.array([evidence[name] for name in weights]) + np.log(list(weights.values()))
        return evidence[EXACT] - float(np.logaddexp.reduce(each))

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration: its marginal likelihood over the average of that of the other sub-models.

        Above 1, the outcomes support exact calibration [1]_. Values above exp(700) are returned as exp(700).

        References
        ----------
        .. [1] R. E. Kass and A. E. Raftery (1995), "Bayes factors", Journal of the American Statistical Association 90,
           773-795.
        """
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
            Number of draws, at least 1.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.

        Returns
        -------
        BinDraws
            Mass and accuracy of shape (n_draws, n_bins), confidence of shape (1, n_bins). Empty bins have mass 0 and
            gap 0; if there are no rows at all, all bins are in use.

        Warns
        -----
        SamplerWarning
            If a sub-model of relevant probability could not be integrated or sampled accurately.
        """
        return self.sample_all(n_draws, rng=rng).bins

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws:
        """Draw the bins and the parameters of the sub-models; the bins are those of `sample` with the same `rng`.

        Parameters
        ----------
        n_draws, rng
            As for `sample`.

        Returns
        -------
        ShrinkageDraws
            The bins, the sub-model of each draw, its parameters, and which bins are off.
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
        return ShrinkageDraws(bins=bins, sub_model=chosen[order], off=off, **parameters)

    def ece_mean(self) -> float:
        """Posterior mean of the ECE, in [0, 1], by quadrature without random numbers (about four digits)."""
        return self._ece_moments[0]

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE, by quadrature without random numbers; see `ece_mean`."""
        return self._ece_moments[1]

    def off_probability(self, family: str | None = None) -> Floats:
        """Posterior probability that each bin is off: that it deviates from the drift or from exact calibration.

        Use it to compare bins with each other. Under a dense residual every bin is off; under a drift alone or label
        noise, no bin is. For a calibrated classifier, all bins often have a probability of about 0.5.

        Parameters
        ----------
        family : str, optional
            A key of `families`; by default, the average over all sub-models.

        Returns
        -------
        ndarray, shape (n_bins,)
            In [0, 1]; NaN if a bin is empty. Saturated bins have the same probability in every family.

        Raises
        ------
        ValueError
            If no sub-model of the family takes part.
        """
        if family is not None:
            _checks.one_of("family", family, list(self._families))
        share = self.probabilities if family is None else self._within(family)
        result = np.full(len(self.counts.bins), np.nan)
        result[self._bins.used] = 1 - self._saturated.exact_probability
        off = sum(p * self._sub_models[n].off_probability for n, p in share.items() if p)
        result[self._bins.described] = np.minimum(off, 1.0)  # a sum may exceed 1 by rounding
        return result

    def parameter_means(self) -> dict[str, dict[str, float]]:
        """Posterior means of the parameters under each sub-model.

        A sub-model without drift has intercept 0 and slope 1; other parameters that it lacks are NaN.
        """
        return BySubModel({name: PARAMETERS | each.parameter_means() for name, each in self._sub_models.items()})

    def effective_sample_size(self) -> dict[str, float]:
        """Kish's effective number of 1000 importance draws, with a fixed seed, for each sub-model with drift."""
        return BySubModel({name: sample.effective_size for name, sample in self._diagnostic_samples().items()})

    def pareto_k(self) -> dict[str, float]:
        """Pareto shape k of the importance weights of each sub-model with drift, estimated by ArviZ.

        The draws are those of `effective_sample_size`. Importance sampling is reliable if k < 0.7 [1]_. The weights are
        bounded, so k is usually well below 0.5.

        References
        ----------
        .. [1] A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), "Pareto smoothed importance sampling",
           Journal of Machine Learning Research 25(72), 1-58.
        """
        from arviz_stats.base import array_stats

        # psislw expects log-likelihoods, which are minus the log weights
        shapes = {name: array_stats.psislw(-s.log_weights)[1] for name, s in self._diagnostic_samples().items()}
        return BySubModel({name: float(k) for name, k in shapes.items()})

    @property
    def _families(self) -> dict[str, list[str]]:
        """Names of the sub-models that take part, by family."""
        names = self.taking_part.names
        return {f: [n for n in FAMILIES[f] if n in names] for f in self.taking_part.families}

    def _within(self, family: str) -> dict[str, float]:
        """Posterior probabilities of the sub-models of one family, given that family."""
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
        """The sub-models that take part, fitted to the bins that are not saturated."""
        n, k, confidence = self._rows
        names = self.taking_part.names
        if not len(n):
            return {name: Exact(confidence) for name in names}
        makers: dict[str, Callable[[], SubModel]] = {
            **{name: partial(IndependentSubModel, self._independent, name) for name in SUB_MODELS},
            "runs": lambda: Segments(n, k, logit(confidence), confidence),
            "offset": lambda: EqualOffsets(n, k, confidence),
            "label_noise": lambda: LabelNoise(n, k, confidence, free_rate=False),
            "label_noise_any_rate": lambda: LabelNoise(n, k, confidence, free_rate=True),
            ENDS: lambda: NoiseAtEnds(n, k, confidence, self.crowded[self._bins.described]),
            EXACT: lambda: Exact(confidence),
        }
        return {name: makers[name]() for name in names}

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
    r"""Compute the posterior of the bins under the shrinkage model, which shrinks accuracies towards mean confidences.

    Parameters
    ----------
    counts : BinnedCounts
        Counts; empty counts give the prior.
    intercept_sd : float, default 0.5
        Prior standard deviation of the calibration intercept a. A value of a = 0.5 moves a confidence of 0.5 to 0.62.
        With the intercept alone, the prior mean of the ECE is 0.066.
    log_slope_sd : float, default 0.5
        Prior standard deviation of s, where exp(s) is the calibration slope. Values of s = 0.5 and -0.5 are
        temperatures of 0.6 and 1.65. With the slope alone, the prior mean of the ECE is 0.056.
    dense_scale : float, default 0.2
        Scale of the half-Normal prior of tau if many bins are off: accuracies have the standard deviation
        tau sqrt(h (1 - h)) around their centres h. The prior mean of the ECE is 0.050, about a quarter of the scale.
    sparse_shape : float, default 0.5
        Shape c of the prior density c tau^(c - 1) if a few bins are off, each with its own tau. The density is uniform
        at c = 1; smaller c makes small deviations more probable. The prior mean of the absolute gap of a bin that is
        off is 0.11 (0.16 at c = 1).
    rho : float or sequence of float, default (0.05, 0.15, 0.3, 0.5)
        Equally probable values of the probability that a bin is off if a few are. The prior mean of the ECE is 0.027.
        The ECE is exactly 0 with probability mean((1 - rho)^M), which is 0.14 for 15 bins.
    sub_model_weights : sequence of five float, default equal
        Relative prior weights of the sub-models of the family "independent", in the order "logistic", "dense",
        "sparse", "logistic_dense", "logistic_sparse".
    prior_odds : float, default 1.0
        Prior odds of exact calibration against all other sub-models, for `p_calibrated` only.
    mass_alpha : float, optional
        Dirichlet parameter of each bin mass; default 2 / M, as in the Dirichlet model.
    sub_models : sequence of str, optional
        Names of the sub-models or families that take part; by default all of those in the notes. ``["independent"]``
        is the model of release 0.1.0. Without ``"saturated"``, saturated bins are treated like other bins.

    Returns
    -------
    ShrinkagePosterior
        With `sample`, `ece_mean`, `ece_sd`, the probabilities of the sub-models and `p_calibrated`.

    Raises
    ------
    ValueError, TypeError
        If a scale or the odds are not positive, `sparse_shape` is below 0.05, `rho` is not strictly between 0 and 1,
        `sub_model_weights` are not five numbers >= 0, or `sub_models` has an unknown name or leaves no sub-model.

    Notes
    -----
    A bin with rows has the mean confidence :math:`\bar c_b`, the outcomes :math:`k_b \sim \mathrm{Binomial}(n_b,
    \theta_b)` and the gap :math:`\theta_b - \bar c_b`. The sub-models differ in the prior of the accuracies
    :math:`\theta_b`.

    *Independent bins* ("independent"). Five sub-models combine a drift of the logits with residuals that are
    independent given the drift. The drift has an intercept and a slope [1]_:

    .. math::
        \mathrm{logit}\, h_b = \mathrm{logit}\, \bar c_b + a + (e^s - 1)\, x_b, \quad x_b = \mathrm{logit}\, \bar c_b

    * drift off: :math:`a = s = 0`; drift on ("logistic", "logistic_dense", "logistic_sparse"): :math:`a, s` Normal;
    * no residual ("logistic"): :math:`\theta_b = h_b`; without drift, this is exact calibration, see below;
    * dense residual ("dense", "logistic_dense"): :math:`\theta_b \sim \mathrm{Beta}(\kappa h_b, \kappa (1 - h_b))` with
      :math:`\kappa = 1/\tau^2 - 1` and one half-Normal :math:`\tau` on (0, 1) for all bins;
    * sparse residual ("sparse", "logistic_sparse"), a spike and slab [2]_: with probability :math:`\rho` the same Beta
      with a separate :math:`\tau_b`, otherwise :math:`\theta_b = h_b`.

    *Shared errors* ("shared"). In two sub-models, several bins have the same deviation:

    * "runs": :math:`\mathrm{logit}\, \theta_b = \mathrm{logit}\, \bar c_b + \delta_{g(b)}` with one shift per segment
      g of neighbouring bins (a change-point model [3]_). A segment ends at each inner edge with probability
      :math:`\lambda / (M - 1)`, :math:`\lambda \in \{1, 4, 16\}`. It is exact (:math:`\delta = 0`) with probability
      1/2; otherwise :math:`\delta \sim \mathrm{Normal}(0, \tau^2)` with a density of :math:`\tau` proportional to
      :math:`\tau^{-1/2}` on (0, 2.5). If there are more than 128 bins, neighbours are joined into blocks.
    * "offset": :math:`\theta_b = \sin^2(\arcsin \sqrt{\bar c_b} \pm \delta)` with one :math:`\delta` for all bins that
      are off, uniform in its logarithm on (0.0001, 0.7). The probability of being off is 0.25, 0.5 or 1.

    *Noisy labels* ("noise"). A share :math:`\lambda` of the labels is independent of the confidence:
    :math:`\theta_b = (1 - \lambda) \bar c_b + \lambda \pi` with :math:`\lambda = 1.25 u^2`, :math:`u \sim
    \mathrm{U}(0, 1)`, and :math:`\pi = 1/2` ("label_noise") or :math:`\pi \sim \mathrm{U}(0, 1)`
    ("label_noise_any_rate"). The sub-model "label_noise_ends" takes part if the mean confidence of the first or the
    last bin is within a tenth of the bin width of 0 or 1. In such a bin, a share :math:`\lambda_b \sim
    \mathrm{Beta}(1/2, 10)` of the outcomes is contrary to the confidence: :math:`\theta_b = \bar c_b + \lambda_b
    (1 - \bar c_b)` near 0 and :math:`\bar c_b - \lambda_b \bar c_b` near 1. All other bins are exact.

    *Exact calibration* ("exact"): :math:`\theta_b = \bar c_b`.

    *Averaging*. The families "independent" and "shared" form a linear pool [4]_: each contributes half of its draws,
    whatever their marginal likelihoods are. The reason is that each misses errors that the other describes, and
    weights by marginal likelihood would select one of them on the basis of too few rows. The pool, each sub-model of
    noise and exact calibration are averaged by marginal likelihood [5]_, with prior weights 10, 0.5 and 0.25. The
    marginal likelihood of the pool is the average over its two families.

    *Saturated bins* ("saturated") have a mean confidence within 1e-4 of 0 or 1, and a separate model: the share of
    contrary outcomes in each is :math:`\mathrm{Beta}(1/2, 10)`. If they have no contrary outcome, all of them are exact
    in about 5 % of the draws.

    *Computation*. Given the drift, all posteriors are closed forms or sums over a small grid. Drifts are drawn by
    importance sampling; all draws are independent. Mean confidences are clipped to [1e-9, 1 - 1e-9], so that contrary
    outcomes have positive probability, and in :math:`x_b` to [1e-4, 1 - 1e-4], which limits the leverage of the slope.
    With weights, :math:`n_b` is Kish's effective number of rows. The prior means above are those of 15 empty
    equal-width bins.

    References
    ----------
    .. [1] Cox (1958), "Two further applications of a model for binary regression", Biometrika 45, 562-565.
    .. [2] T. J. Mitchell and J. J. Beauchamp (1988), "Bayesian variable selection in linear regression", Journal of
       the American Statistical Association 83, 1023-1032.
    .. [3] P. Fearnhead (2006), "Exact and efficient Bayesian inference for multiple changepoint problems", Statistics
       and Computing 16, 203-213.
    .. [4] Stone (1961), "The opinion pool", Annals of Mathematical Statistics 32, 1339-1342.
    .. [5] J. A. Hoeting, D. Madigan, A. E. Raftery and C. T. Volinsky (1999), "Bayesian model averaging: a tutorial",
       Statistical Science 14, 382-417.

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
            "bin is within a tenth of its width of 0 or 1; here neither is. Add another sub-model."
        )
    return posterior
