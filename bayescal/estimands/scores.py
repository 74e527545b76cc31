"""Proper scores: the Brier score of one classifier, and of several classifiers on the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _moved
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import _add
from bayescal.stats.contract import Counts
from bayescal.stats.losses import LossSums
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]

#: Minimum effective number of rows to estimate the variance of a mean loss.
LEAST_ROWS = 3


@_moved.keywords(bins="bin_draws")
def brier_score(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the Brier score, the mean of (outcome - confidence)^2 over the population.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins, from a posterior given `counts`.
    counts : BinnedCounts
        The counts; their `losses` are the sums of squared errors and of their squares in each bin.
    rng : None, int, SeedSequence or Generator
        Seed or generator for the mean losses within bins.

    Returns
    -------
    Draws
        In [0, 1]; smaller is better.

    Raises
    ------
    ValueError
        If the counts have no sums of losses, because they include a file of release 0.1.0.

    Notes
    -----
    In each draw the score is

    .. math:: \sum_b m_b \left[\theta_b A_{b1} + (1 - \theta_b) A_{b0}\right]

    with masses m and accuracies :math:`\theta` from `bin_draws`, and the mean squared error :math:`A_{bz}` of rows with
    outcome z in bin b. To the :math:`n_{bz}` rows, two half rows are added: one with the smallest and one with the
    largest squared error that is possible in the bin. :math:`A_{bz}` is Normal with the mean of these rows and the
    variance of a Bayesian bootstrap [1]_, :math:`s_{bz}^2 / (n_{bz} + 2)`, clipped to the possible range. With weights,
    :math:`n_{bz}` is Kish's effective number of rows. In this way the posterior includes the variation within bins, for
    any number of bins.

    For ``top-label`` it is the score of the binary problem (right or wrong, confidence), not that of all classes. The
    definition in [2]_ sums over both outcomes of an event, which gives twice this value.

    References
    ----------
    .. [1] Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.
    .. [2] G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
       1-3, equation 2.

    Examples
    --------
    >>> from bayescal.posterior.dirichlet import dirichlet_posterior
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(4000)
    >>> from bayescal import BinnedCounts
    >>> counts = BinnedCounts.from_arrays(rng.random(4000) < p, p, bins=1)
    >>> brier_score(dirichlet_posterior(counts).sample(4000, rng=1), counts, rng=1).interval(0.95)
    (0.16..., 0.17...)
    """
    mean, sd, least, most = mean_losses(counts)
    generator = _checks.generator(rng)
    score = np.zeros(len(bin_draws))
    for outcome, share in enumerate((1 - bin_draws.accuracy, bin_draws.accuracy)):
        drawn = generator.standard_normal(bin_draws.accuracy.shape)
        drawn *= sd[outcome]
        drawn += mean[outcome]
        np.clip(drawn, least[outcome], most[outcome], out=drawn)
        drawn *= share
        drawn *= bin_draws.mass
        score += drawn.sum(axis=-1)
    return Draws(score, "brier_score")


def mean_losses(counts: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute mean, standard deviation and bounds of the mean squared error of each outcome and bin.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.

    Returns
    -------
    (mean, sd, least, most) : tuple of ndarray, shape (2, n_bins)
        As described for `brier_score`; `least` and `most` bound every squared error in the bin.
    """
    losses = _losses(counts)
    low, high = counts.bins.edges[:-1], counts.bins.edges[1:]
    least, most = np.stack([low**2, (1 - high) ** 2]), np.stack([high**2, (1 - low) ** 2])
    rows = np.stack([counts.effective_n - counts.effective_k, counts.effective_k])
    per_weight = np.divide(rows, counts.weight, out=np.zeros_like(rows), where=counts.weight > 0)
    mean = (per_weight * losses.total + (least + most) / 2) / (rows + 1)
    square = (per_weight * losses.squares + (least**2 + most**2) / 2) / (rows + 1)
    return mean, np.sqrt(np.maximum(square - mean**2, 0) / (rows + 2)), least, most


def _losses(counts: Counts) -> LossSums:
    if counts.losses is None:
        raise ValueError(
            "the Brier score needs the sums of losses, which these counts lack: a file of release 0.1.0 is part of "
            "them, or they were made by hand. Count the rows again."
        )
    return counts.losses


def joint_brier_scores(
    counts: Sequence[Counts], pairs: Mapping[tuple[int, int], PairedCounts], n_draws: int, *, rng: Any = None
) -> Floats | None:
    r"""Draw the Brier scores of several classifiers on the same rows jointly.

    Parameters
    ----------
    counts : sequence of BinnedCounts
        The counts of each classifier.
    pairs : mapping of (int, int) to PairedCounts
        Joint counts of the classifiers i < j; their `loss_difference` is used.
    n_draws : int
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    ndarray, shape (n_draws, n_classifiers), or None
        In [0, 1]; None if there are fewer than three effective rows. Two names of one classifier have equal draws.

    Raises
    ------
    ValueError
        If the counts include a file of release 0.1.0.

    Notes
    -----
    The mean losses are drawn from a multivariate Student t with n - 1 degrees of freedom, centred at the observed mean
    losses, with the scale matrix :math:`S / (n - 1)`. Here S is the covariance of losses over rows (divisor n) and n is
    the effective number of rows. So every mean loss, and every difference of two, has the Student t posterior of the
    mean of a Normal sample with a noninformative prior [1]_; draws are clipped to [0, 1]. The covariance of two
    classifiers follows from the variances of their losses and of the difference of their losses. Accuracies are not
    shrunk towards confidences, because shrinkage could change the scores of two classifiers by more than their
    difference.

    References
    ----------
    .. [1] A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari and D. B. Rubin (2013), Bayesian Data
       Analysis, 3rd edition, CRC Press, section 3.2.
    """
    weight = np.array([float(c.weight.sum()) for c in counts])
    rows = min(c.effective_rows for c in counts)
    if rows < LEAST_ROWS:
        return None
    mean = np.array([_losses(c).total.sum() for c in counts]) / weight
    covariance, same = _covariance(counts, mean, pairs)
    values, vectors = np.linalg.eigh(covariance)
    generator = _checks.generator(rng)
    # the symmetric root: unlike the signs of eigenvectors, it does not depend on the last digits of sums
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    drawn = generator.standard_normal((n_draws, len(counts))) @ root
    drawn /= np.sqrt(generator.chisquare(rows - 1, (n_draws, 1)))
    return np.clip(mean + drawn, 0, 1)[:, same]


def _covariance(
    counts: Sequence[Counts], mean: Floats, pairs: Mapping[tuple[int, int], PairedCounts]
) -> tuple[Floats, list[int]]:
    """Return the covariance of losses over rows, and for each classifier the first one with the same losses."""
    variance = [
        max(float(_losses(c).squares.sum()) / float(c.weight.sum()) - m * m, 0.0)
        for c, m in zip(counts, mean, strict=True)
    ]
    covariance, same = np.diag(variance), list(range(len(counts)))
    for (i, j), pair in sorted(pairs.items()):
        difference = _difference(pair)
        if not difference.squares:
            same[j] = min(same[j], same[i])
        total = float(pair.weight.sum())
        of_difference = float(difference.squares) / total - (float(difference.total) / total) ** 2
        covariance[i, j] = covariance[j, i] = (variance[i] + variance[j] - max(of_difference, 0.0)) / 2
    return covariance, same


def _difference(pair: PairedCounts) -> LossSums:
    if pair.loss_difference is None:
        raise ValueError(
            "the difference of Brier scores needs the sums of the difference of losses, which these counts lack: a "
            "file of release 0.1.0 is part of them, or they were made by hand. Count the rows again."
        )
    return pair.loss_difference


def _observed(counts: Counts) -> float:
    # half of Brier (1950), equation 2, which sums over both outcomes
    return float(_losses(counts).total.sum() / counts.weight.sum())


_add(
    Estimand(
        "brier_score",
        brier_score,
        "Brier score",
        needs=frozenset({"losses"}),
        reported=False,
        plug_in=_observed,
        joint=joint_brier_scores,
        citation="Brier (1950), Monthly Weather Review 78, equation 2",
        formula=r"\mathrm{E}\,(z - c)^2",
        synonyms=("mean squared error of probabilities", "quadratic score", "half Brier score"),
    )
)
