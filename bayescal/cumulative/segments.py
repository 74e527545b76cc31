"""The segments model: a drift, or errors in segments of neighbouring bins, averaged by marginal likelihood."""

from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.stats.contract import Counts

#: The sub-models: a smooth drift, and segments around exact calibration. Saturated bins have no model of their own:
#: with a third sub-model, the prior probability of exact calibration would be 0.04.
SUB_MODELS = ("logistic", "runs")


def segments_posterior(counts: Counts) -> ShrinkagePosterior:
    """Compute the posterior of many narrow bins under the segments model, without Markov chains.

    The default model of the ECE is designed for few bins: under some of its sub-models, the prior probability that all
    of 64 bins are exact is nearly 0. The segments model keeps two sub-models of `shrinkage_posterior` whose priors
    hardly depend on the number of bins. They have equal prior weights and are averaged by their marginal likelihoods.

    >>> from bayescal import BinnedCounts
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=4)
    >>> {name: round(p, 2) for name, p in segments_posterior(counts).probabilities.items()}
    {'logistic': 0.47, 'runs': 0.53}
    """
    return shrinkage_posterior(counts, sub_models=SUB_MODELS, pool=False)
