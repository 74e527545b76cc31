"""The posterior of a calibration curve: smooth curves pooled with the shrinkage model on the same knots."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from bayescal import _checks
from bayescal.clinical.curve.knots import AT_END
from bayescal.clinical.curve.posterior import DEVIATIONS, PRIOR_EXACT, SmoothCurvePosterior, smooth_curve_posterior
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.posterior.shrinkage.pool import allot
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.posterior.shrinkage.saturated import SaturatedBins
from bayescal.stats.ordered import MergedCounts

Floats = NDArray[np.float64]

SMOOTH, EVERYTHING = "smooth", "everything"
#: Families of the pool with their prior weights, and the prior weights of the sub-models within each. Those of the
#: smooth family are averaged by `SmoothCurvePosterior`; the others are sub-models of the shrinkage model.
FAMILIES: dict[str, tuple[float, dict[str, float]]] = {
    SMOOTH: (2.0, dict.fromkeys(DEVIATIONS, 1 / 3)),
    "independent": (2.0, dict.fromkeys(("dense", "sparse", "logistic_dense", "logistic_sparse"), 1 / 4)),
    "shared": (2.0, {"runs": 2 / 3, "offset": 1 / 3}),
    "noise": (1.0, dict.fromkeys(("label_noise", "label_noise_any_rate"), 1 / 2)),
}
#: Power of the marginal likelihoods of the families in their shares of the draws.
POWER = 0.1
#: Prior odds of exact calibration in `p_calibrated`.
PRIOR_ODDS = 2 / 3


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """Posterior of a calibration curve; made by `curve_posterior`, which describes the model.

    Parameters
    ----------
    counts : MergedCounts
        Counts by knot.
    prior_exact : float
        Prior probability of exact calibration in the draws.
    contradicted : bool
        Whether rows contradict a score of exactly 0 or 1.
    within : bool
        Whether such rows are in a knot that also has other scores.
    """

    counts: MergedCounts
    prior_exact: float = PRIOR_EXACT
    contradicted: bool = False
    within: bool = False

    @property
    def prior(self) -> str:
        """The prior as text; empty for the default."""
        return "" if self.prior_exact == PRIOR_EXACT else f"prior probability of exact calibration {self.prior_exact:g}"

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Knots at exactly 0 or 1, shape (n_knots,); they have a model of their own."""
        c = self.counts.mean_confidence
        return np.asarray(np.minimum(c, 1 - c) <= AT_END)

    @cached_property
    def smooth(self) -> SmoothCurvePosterior:
        """Posterior of the smooth family, given that calibration is not exact."""
        return smooth_curve_posterior(self._described, prior_exact=0)

    @cached_property
    def shrinkage(self) -> ShrinkagePosterior:
        """Posterior under the sub-models of the shrinkage model."""
        return shrinkage_posterior(self._described, sub_models=[key for key in _WEIGHTS if key not in DEVIATIONS])

    @cached_property
    def _described(self) -> MergedCounts:
        """Counts of the knots that the families describe."""
        return self.counts.part(~self.apart) if self.apart.any() else self.counts

    @cached_property
    def _saturated(self) -> SaturatedBins:
        c, n, k = self.counts.mean_confidence, self.counts.effective_n, self.counts.effective_k
        return SaturatedBins(n[self.apart], k[self.apart], np.round(c[self.apart]))

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihoods of the families relative to exact calibration, of the knots that are not apart."""
        if self.apart.all():
            return dict.fromkeys(FAMILIES, 0.0)
        of = self.shrinkage.log_evidence
        return {
            family: -self.smooth.log_bayes_factor
            if family == SMOOTH
            else float(logsumexp([of[key] for key in inside], b=list(inside.values()))) - of[EXACT]
            for family, (_, inside) in FAMILIES.items()
        }

    @property
    def _log_bayes_factor(self) -> float:
        """Log Bayes factor of exact calibration of the knots that are not apart."""
        return -float(logsumexp(list(self.log_evidence.values()), b=_FAMILY_WEIGHTS))

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the Bayes factor of exact calibration against the weighted mean of the families."""
        if self.contradicted:
            return -np.inf
        # without knots at 0 or 1, the last two are 0
        return self._log_bayes_factor + self._saturated.log_exact - self._saturated.log_evidence

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration at prior odds of 2:3."""
        return float(expit(self.log_bayes_factor + np.log(PRIOR_ODDS)))

    @cached_property
    def families(self) -> dict[str, dict[str, float]]:
        """Shares of the draws, by family and sub-model; they sum to 1."""
        everything, others = self._exact
        log_share = np.log(_FAMILY_WEIGHTS) + POWER * np.array(list(self.log_evidence.values()))
        shares = (1 - everything - others) * np.exp(log_share - logsumexp(log_share))
        found = {EXACT: {EXACT: everything + others}}
        for (family, (_, inside)), share in zip(FAMILIES.items(), shares.tolist(), strict=True):
            found[family] = {key: share * p for key, p in self._within(family, inside).items()}
        return found

    @cached_property
    def _exact(self) -> tuple[float, float]:
        """Shares of draws in which all knots are exact, and in which all but contradicted ones at 0 or 1 are."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(self.prior_exact) - np.log1p(-self.prior_exact)
        share = float(expit(log_odds + self._log_bayes_factor))
        if not self.contradicted and self._saturated.log_exact >= self._saturated.log_evidence:
            return share, 0.0
        return 0.0, share if self.apart.any() and not self.within else 0.0

    def _within(self, family: str, prior: dict[str, float]) -> dict[str, float]:
        """Probabilities of the sub-models of a family, by their marginal likelihoods."""
        if self.apart.all():
            return prior
        if family == SMOOTH:
            return {key: self.smooth.probabilities[key] for key in prior}
        log_joint = np.array([self.shrinkage.log_evidence[key] for key in prior]) + np.log(list(prior.values()))
        return dict(zip(prior, np.exp(log_joint - logsumexp(log_joint)).tolist(), strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        """Shares of the draws of all sub-models; they sum to 1."""
        return {key: p for inside in self.families.values() for key, p in inside.items()}

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw all knots: event rates from the pool, masses from a Dirichlet distribution.

        Parameters
        ----------
        n_draws : int, default 4000
            Number of draws.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.

        Returns
        -------
        BinDraws
            Mass and accuracy of shape (n_draws, n_knots), confidence of shape (1, n_knots).
        """
        rng = _checks.generator(rng)
        counts, apart = self.counts, self.apart
        everything, others = self._exact
        shares = {EVERYTHING: everything, EXACT: others, SMOOTH: sum(self.families[SMOOTH].values())}
        shares |= {key: p for key, p in self.probabilities.items() if key not in (EXACT, *DEVIATIONS)}
        size = np.bincount(allot(np.array(list(shares.values())), n_draws, rng), minlength=len(shares))
        accuracy = np.empty((n_draws, len(apart)))
        described = [
            self._draw(key, share, int(n), rng) for (key, share), n in zip(shares.items(), size, strict=True) if n
        ]
        accuracy[:, ~apart] = np.concatenate(described)
        accuracy[:, apart] = self._saturated.draw(n_draws, rng)[0]
        accuracy[: size[0]] = counts.mean_confidence
        mass = rng.dirichlet(counts.effective_n, n_draws)
        return BinDraws(mass, accuracy[rng.permutation(n_draws)], counts.mean_confidence[None], counts.occupied, mass)

    def _draw(self, key: str, share: float, count: int, rng: np.random.Generator) -> Floats:
        """Draw the rates of the knots that are not apart from one sub-model, or from the smooth family."""
        if key in (EVERYTHING, EXACT) or self.apart.all():
            return np.tile(self.counts.mean_confidence[~self.apart], (count, 1))
        if key == SMOOTH:
            return self.smooth.draw_accuracy(count, rng)
        return self.shrinkage.draw_accuracy(key, count, share, rng)


#: Prior weights of all sub-models within their families, and shares of the families.
_WEIGHTS = {key: weight for _, inside in FAMILIES.values() for key, weight in inside.items()}
_FAMILY_WEIGHTS = np.array([weight for weight, _ in FAMILIES.values()]) / sum(weight for weight, _ in FAMILIES.values())


def curve_posterior(
    counts: MergedCounts, *, prior_exact: float = PRIOR_EXACT, contradicted: bool = False, within: bool = False
) -> CurvePosterior:
    r"""Compute the posterior of a calibration curve at its knots, as a pool of smooth curves and the shrinkage model.

    A knot b holds :math:`n_b` (effective) rows with mean score :math:`c_b`, of which :math:`k_b` have the event;
    :math:`k_b \sim \mathrm{Binomial}(n_b, \theta_b)`. Five families of priors of the rates :math:`\theta_b` compete:

    * "smooth" (prior weight :math:`w_f = 2`): a drift, a Gaussian process, or both, 1/3 each; `smooth_curve_posterior`;
    * "independent" (2): "dense", "sparse", "logistic_dense" and "logistic_sparse" of `shrinkage_posterior`, 1/4 each;
    * "shared" (2): its "runs" (2/3) and "offset" (1/3);
    * "noise" (1): its "label_noise" and "label_noise_any_rate", 1/2 each;
    * "exact": :math:`\theta_b = c_b`.

    A smooth curve describes drifts with few rows; the shrinkage model describes errors of single scores, of ranges, and
    jumps, to which a smooth curve must bend as a whole.

    Parameters
    ----------
    counts : MergedCounts
        Counts by knot, see `merge_to_knots`.
    prior_exact : float, default 0.1
        Prior probability of exact calibration, in [0, 1), for the draws.
    contradicted : bool, default False
        Whether rows contradict a score of exactly 0 or 1. The likelihood of exact calibration is then 0.
    within : bool, default False
        Whether such rows are in a knot that also has other scores, so that not all other knots can be exact.

    Returns
    -------
    CurvePosterior
        Shares of the families and sub-models; independent draws, without Markov chains.

    Raises
    ------
    ValueError, TypeError
        If `prior_exact` is not a number in [0, 1).

    Notes
    -----
    *Exact calibration.* Let :math:`E_f` be the marginal likelihood of family f, averaged over its sub-models, relative
    to that of exact calibration. The Bayes factor of exact calibration is :math:`1 / \sum_f w_f E_f` with the weights
    scaled to sum to 1. With the prior probability `prior_exact`, it gives the share of exact draws, and with prior odds
    of 2:3 `p_calibrated`.

    *Power pool.* The draws that are not exact come from family f with a share proportional to :math:`w_f E_f^{1/10}`,
    a power posterior [1]_. Compared with the best family, one that is worse by a factor of exp(10) counts exp(-1), by
    exp(40) 0.02. Ordinary posterior probabilities (the power 1) select a family with few rows, and each family misses
    errors that the others describe; shares without likelihoods (the power 0) never leave a family. The draws are
    therefore no posterior of a single prior: they are judged by their coverage. Within a family, sub-models have
    ordinary posterior probabilities.

    *Knots at exactly 0 or 1* have the model of saturated bins of `shrinkage_posterior`, a mixture of two Betas for the
    share of contrary outcomes; the families describe the other knots. Their marginal likelihood is part of the Bayes
    factor, but not of the share of exact draws. In exact draws they are exact, too; if outcomes contradict them, they
    have their Betas in all draws, and exact calibration in the draws concerns the other knots.

    Masses of the knots are Dirichlet with their effective rows as parameters (the Bayesian bootstrap), independent of
    the rates.

    References
    ----------
    .. [1] N. Friel and A. N. Pettitt (2008), "Marginal likelihood estimation via power posteriors", Journal of the
       Royal Statistical Society B 70, 589-607.

    Examples
    --------
    Scores are right but for those of 0.9 and above, which are too high by 0.2.

    >>> from bayescal.data.predictions import Predictions
    >>> from bayescal.clinical.curve.knots import merge_to_knots
    >>> from bayescal.stats.ordered import OrderedSums
    >>> generator = np.random.default_rng(1)
    >>> score = generator.random(3000)
    >>> outcome = (generator.random(3000) < np.where(score > 0.9, score - 0.2, score)).astype(int)
    >>> steps = OrderedSums.from_rows(Predictions.from_outcomes(outcome, score))
    >>> posterior = curve_posterior(merge_to_knots(steps, 30))
    >>> {family: round(sum(inside.values()), 2) for family, inside in posterior.families.items()}
    {'exact': 0.0, 'smooth': 0.23, 'independent': 0.19, 'shared': 0.49, 'noise': 0.09}
    """
    return CurvePosterior(counts, _checks.fraction("prior_exact", prior_exact, or_zero=True), contradicted, within)
