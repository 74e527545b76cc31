"""Posterior under the shrinkage model: probabilities of the sub-models, and draws.

The bins are divided into saturated ones, empty ones, and the others, which the sub-models describe ("described"). Each
sub-model integrates its likelihood of the described bins over its parameters. The evidences give the probabilities of
the sub-models. Draws are taken from each sub-model in proportion to its probability.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from bayescal import _checks
from bayescal._arrays import Array, Bools, Floats, Generator, Indices
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage import prior as priors
from bayescal.posterior.shrinkage import sub_model as sub_models
from bayescal.posterior.shrinkage.independent.family import ImportanceSample, IndependentBins, IndependentSubModel
from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds, crowded_ends
from bayescal.posterior.shrinkage.saturated import SaturatedBins, is_saturated
from bayescal.posterior.shrinkage.segments import EqualOffsets, Segments
from bayescal.posterior.shrinkage.sub_model import SamplerWarning as SamplerWarning
from bayescal.stats.contract import Counts
from bayescal.stats.sums import VALUE_FLOOR, logit

DIAGNOSTIC_DRAWS = 1000  #: Number of importance draws for diagnostics.


@dataclass(frozen=True, eq=False)
class BinsInUse:
    """Partition of the bins by the model that describes them: masks of shape (n_bins,).

    If not `apart`, saturated bins have no separate model, and `saturated` marks no bin.
    """

    counts: Counts
    apart: bool

    @cached_property
    def confidence(self) -> Floats:
        """Mean confidence of each bin; the midpoint if it is empty."""
        counts = self.counts
        return np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), counts.bins.midpoints)

    @cached_property
    def used(self) -> Bools:
        """Bins in use: those with rows, or all bins if there are no rows."""
        occupied = self.counts.occupied
        return occupied if occupied.any() else np.ones_like(occupied)

    @cached_property
    def saturated(self) -> Bools:
        """Saturated bins, which have a separate model."""
        return self.used & is_saturated(self.confidence) & self.apart

    @cached_property
    def described(self) -> Bools:
        """Bins that the sub-models describe."""
        return self.used & ~self.saturated

    @cached_property
    def crowded(self) -> Bools:
        """Bins that have a share of noise of their own under "label_noise_ends"."""
        return self.described & self.counts.occupied & crowded_ends(self.counts.bins.edges, self.confidence)

    def rows(self, which: Bools) -> tuple[Floats, Floats, Floats]:
        """Return effective rows, effective positives and mean confidences of the bins in a mask."""
        n = self.counts.effective_n[which]
        return n, np.clip(self.counts.effective_k[which], 0.0, n), self.confidence[which]


@dataclass(frozen=True, eq=False)
class ShrinkagePosterior:
    """Posterior under the shrinkage model: an average over sub-models.

    Make it with `shrinkage_posterior`, which describes the model and gives references. Draws are exchangeable and
    nearly independent.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.
    prior_options : ShrinkagePrior
        Constants of the prior.
    """

    counts: Counts
    prior_options: priors.ShrinkagePrior

    def __repr__(self) -> str:
        return f"ShrinkagePosterior({', '.join(filter(None, (repr(self.counts), self.prior)))})"

    @property
    def prior(self) -> str:
        """The prior as text, for printing; empty if all options have their defaults."""
        return str(self.prior_options)

    @cached_property
    def taking_part(self) -> priors.ShrinkagePrior:
        """The prior with the sub-models that apply to these counts: `label_noise_ends` needs a crowded bin."""
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
    def crowded(self) -> Bools:
        """Whether each bin has a share of noise of its own under "label_noise_ends", shape (n_bins,)."""
        return self._bins.crowded

    @property
    def all_saturated(self) -> bool:
        """Whether all bins in use are saturated, so that the sub-models describe no bin."""
        return not self._bins.described.any()

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probabilities of the sub-models, given the counts of bins that are not saturated; they sum to 1."""
        probability = priors.posterior_probabilities(self.taking_part.families, self._evidence, self.taking_part.pooled)
        return {name: probability.get(name, 0.0) for name in self._evidence}

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family.

        The families of the pool have equal totals, unless the data refute small errors; see `pool_shares`. All are
        conditional on the counts of the bins that are not saturated. If all bins are saturated, they are the prior
        probabilities.
        """
        return {family: {n: self.probabilities[n] for n in names} for family, names in self._families.items()}

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood under each sub-model that takes part, and always under ``"exact"``.

        Under ``"exact"``, all bins are calibrated; the other sub-models give saturated bins their own prior.
        """
        return self._evidence_drawn | {priors.EXACT: self._log_exact + self._saturated.log_exact}

    @cached_property
    def _log_exact(self) -> float:
        """Log probability of the outcomes of the described bins under exact calibration."""
        n, k, confidence = self._rows
        inside = np.clip(confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        return float((xlogy(k, inside) + xlog1py(n - k, -inside)).sum())

    @property
    def _evidence_drawn(self) -> dict[str, float]:
        """Log marginal likelihoods of the sub-models as they are drawn: all give saturated bins the same prior."""
        common = self._log_exact + self._saturated.log_evidence
        return {name: common + relative for name, relative in self._evidence.items()}

    @property
    def log_marginal_likelihood(self) -> float:
        """Log probability of the sequence of outcomes, given the bins of the rows and their mean confidences.

        That of the linear pool is the average over its families, weighted by their shares; `prior_odds` have no effect.
        """
        return priors.log_average(self.taking_part.families, self._evidence_drawn, self.taking_part.pooled)

    def log_left_out(self) -> Floats:
        r"""Log probability of the outcome of one row given all other rows, for each cell of outcome and bin.

        It is the average of the predictive probabilities under the sub-models, with their probabilities without the
        row. Under one sub-model, the predictive probability is the ratio of the marginal likelihoods with and without
        the row, :math:`1 / E[1 / p]`, with the posterior mean of the inverse of the probability p of its outcome given
        the parameters and all other rows. The mean confidence of the bin stays that of all rows.

        The shape is (2, n_bins), with outcome 0 in the first row; NaN for cells without rows.
        """
        n, k, _ = self._bins.rows(np.ones_like(self._bins.used))
        result = np.full((2, len(n)), np.nan)
        result[:, self._bins.saturated] = self._saturated.log_left_out()
        counted, prior = np.stack([n - k, k]) > 0, self.taking_part
        inverse = {name: self._sub_models[name].inverse_predictive() for name in self._evidence}
        at = np.flatnonzero(self._bins.described)
        for outcome, b in zip(*np.nonzero(counted[:, at]), strict=True):
            of_cell = {name: each[outcome, b] for name, each in inverse.items()}
            without = {name: evidence + np.log(of_cell[name]) for name, evidence in self._evidence.items()}
            shares = priors.posterior_probabilities(prior.families, without, prior.pooled)
            result[outcome, at[b]] = np.log(sum(share / of_cell[name] for name, share in shares.items()))
        return np.where(counted, result, np.nan)

    @property
    def log_bayes_factor(self) -> float:
        """Natural logarithm of `bayes_factor`, not limited to 700."""
        evidence, weights = self.log_evidence, priors.alternatives(self.taking_part.families, self.taking_part.pooled)
        if not weights:
            return self._saturated.log_exact - self._saturated.log_evidence
        each = np.array([evidence[name] for name in weights]) + np.log(list(weights.values()))
        return evidence[priors.EXACT] - float(np.logaddexp.reduce(each))

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models.

        It is the marginal likelihood of exact calibration divided by the average marginal likelihood of the others.

        A value above 1 means that outcomes support exact calibration [1]_. Values above exp(700) become exp(700).

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
        """Draw from the joint posterior of the bins.

        Mass and accuracy have the shape (n_draws, n_bins), confidence (1, n_bins). Empty bins have mass 0 and gap 0,
        unless there are no rows at all: then all bins are drawn from the prior.

        Parameters
        ----------
        n_draws, rng
            As for `DirichletPosterior.sample`.

        Warns
        -----
        SamplerWarning
            If a sub-model whose probability is not negligible could not be integrated or sampled accurately.
        """
        return self.sample_all(n_draws, rng=rng).bin_draws

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> sub_models.ShrinkageDraws:
        """Draw the bins and the parameters of the sub-models; the bins are those of `sample` with the same `rng`.

        The result has the bins, the sub-model of each draw, its parameters, and which bins are off.

        Parameters
        ----------
        n_draws, rng
            As for `sample`.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        rng = _checks.generator(rng)
        chosen = priors.allot(np.array(list(self.probabilities.values())), n_draws, rng)
        order = rng.permutation(n_draws)
        rows = np.empty(n_draws, np.intp)
        rows[order] = np.arange(n_draws)
        draws = self._draw_described(chosen, rows, rng)
        used, described, saturated = self._bins.used, self._bins.described, self._bins.saturated
        mass = _spread(self._draw_mass(self.mass_parameters[used], n_draws, rng), used, 0.0)
        accuracy, off = _spread(draws.accuracy, described, self.confidence), _spread(draws.off, described, False)
        if saturated.any():
            accuracy[:, saturated], off[:, saturated] = self._saturated.draw(n_draws, rng)
        bins = BinDraws(mass, accuracy, self.confidence[None], used, mass)
        return sub_models.ShrinkageDraws(bin_draws=bins, sub_model=chosen[order], off=off, **draws.parameters)

    def _draw_mass(self, alpha: Floats, n_draws: int, rng: Generator) -> Floats:
        """Draw the masses of the bins in use."""
        return rng.dirichlet(alpha, n_draws)

    def _draw_described(self, chosen: Indices, rows: Indices, rng: Generator) -> sub_models.SubModelDraws:
        """Draw the described bins: row ``rows[i]`` of the result is a draw from sub-model number ``chosen[i]``."""
        shape = (len(rows), len(self._rows[0]))
        accuracy, off = np.empty(shape), np.zeros(shape, bool)
        parameters = {name: np.full(len(rows), value) for name, value in sub_models.PARAMETERS.items()}
        for i, name in enumerate(self.probabilities):
            of_sub_model = rows[np.flatnonzero(chosen == i)]
            if not len(of_sub_model):
                continue
            draws = self._sub_models[name].draw(len(of_sub_model), rng)
            draws.warn_if_poor(name, self.probabilities[name])
            accuracy[of_sub_model], off[of_sub_model] = draws.accuracy, draws.off
            for parameter, values in draws.parameters.items():
                parameters[parameter][of_sub_model] = values
        return sub_models.SubModelDraws(accuracy, off, parameters, len(rows))

    def draw_accuracy(self, sub_model: str, count: int, probability: float, rng: Generator) -> Floats:
        """Draw the accuracies of the described bins from one sub-model, shape (count, n_described)."""
        draws = self._sub_models[sub_model].draw(count, rng)
        draws.warn_if_poor(sub_model, probability)
        return draws.accuracy

    def off_probability(self, family: str | None = None) -> Floats:
        """Posterior probability that each bin is off: that it deviates from the drift or from exact calibration.

        Use it to compare bins with each other. Under a dense residual every bin is off; under a drift alone or label
        noise, no bin is. For a calibrated classifier, all bins often have a probability of about 0.5.

        Probabilities, shape (n_bins,), are NaN for empty bins, unless all bins are empty. Saturated bins have the same
        probability in every family.

        Parameters
        ----------
        family : str, optional
            A key of `families`; by default, the average over all sub-models.

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
        return {name: sub_models.PARAMETERS | each.parameter_means() for name, each in self._sub_models.items()}

    def effective_sample_size(self) -> dict[str, float]:
        """Kish's effective sample size of 1000 importance draws (with a fixed seed), for each sub-model with drift."""
        return {name: sample.effective_size for name, sample in self._diagnostic_samples().items()}

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
        return {name: float(k) for name, k in shapes.items()}

    @cached_property
    def _evidence(self) -> dict[str, float]:
        """Log marginal likelihoods of the sub-models that take part, relative to exact calibration."""
        return {name: each.log_evidence for name, each in self._sub_models.items()}

    @property
    def _families(self) -> dict[str, list[str]]:
        """Names of the sub-models that take part, by family."""
        names = self.taking_part.names
        return {f: [n for n in priors.FAMILIES[f] if n in names] for f in self.taking_part.families}

    def _within(self, family: str) -> dict[str, float]:
        """Posterior probabilities of the sub-models of one family, given that family."""
        only = {family: self.taking_part.families[family]}
        return priors.posterior_probabilities(only, self._evidence)

    @cached_property
    def _bins(self) -> BinsInUse:
        return BinsInUse(self.counts, priors.SATURATED in self.prior_options.sub_models)

    @cached_property
    def _rows(self) -> tuple[Floats, Floats, Floats]:
        """Effective rows, effective positives and mean confidences of the bins that the sub-models describe."""
        return self._bins.rows(self._bins.described)

    @cached_property
    def _saturated(self) -> SaturatedBins:
        return SaturatedBins(*self._bins.rows(self._bins.saturated))

    @cached_property
    def _independent(self) -> IndependentBins:
        return IndependentBins(*self._rows, self.prior_options)

    @cached_property
    def _sub_models(self) -> dict[str, sub_models.SubModel]:
        """The sub-models that take part, fitted to the bins that are not saturated."""
        (n, k, confidence), small = self._rows, self.prior_options.of_small_errors
        names = self.taking_part.names
        if not len(n):
            return {name: sub_models.Exact(confidence) for name in names}
        makers: dict[str, Callable[[], sub_models.SubModel]] = {
            **{name: partial(IndependentSubModel, self._independent, name) for name in priors.SUB_MODELS},
            priors.SMALL: lambda: IndependentSubModel(IndependentBins(n, k, confidence, small), "logistic_dense"),
            "runs": lambda: Segments(n, k, logit(confidence), confidence),
            "offset": lambda: EqualOffsets(n, k, confidence),
            "label_noise": lambda: LabelNoise(n, k, confidence, free_rate=False),
            "label_noise_any_rate": lambda: LabelNoise(n, k, confidence, free_rate=True),
            priors.ENDS: lambda: NoiseAtEnds(n, k, confidence, self.crowded[self._bins.described]),
            priors.EXACT: lambda: sub_models.Exact(confidence),
        }
        return {name: makers[name]() for name in names}

    def _diagnostic_samples(self) -> dict[str, ImportanceSample]:
        independent = {n: each for n, each in self._sub_models.items() if isinstance(each, IndependentSubModel)}
        samples = {name: each.importance(DIAGNOSTIC_DRAWS) for name, each in independent.items()}
        return {name: sample for name, sample in samples.items() if sample is not None}


def _spread(values: Array, bins: Bools, fill: Any) -> Array:
    """Expand values of some bins, shape (n_draws, n), to all bins; `fill` gives the values of the others."""
    if bins.all():
        return values
    result = np.empty((len(values), len(bins)), values.dtype)
    result[:] = fill
    result[:, bins] = values
    return result
