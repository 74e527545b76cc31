"""Proper scores: the Brier score of one classifier, and of several on the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _moved
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand, _add
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import LossSums
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]

#: With fewer effective rows the spread of losses over rows says too little about their mean.
LEAST_ROWS = 3


@_moved.keywords(bins="bin_draws")
def brier_score(bin_draws: BinDraws, counts: BinnedCounts, *, rng: Any = None) -> Draws:
    r"""Draws of the Brier score, the mean of (outcome - confidence) squared.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins, from a posterior given `counts`.
    counts : BinnedCounts
        The counts, whose `losses` describe how squared errors vary within each bin.
    rng : None, int, SeedSequence or Generator
        Randomness of the mean losses within bins.

    Returns
    -------
    Draws
        In [0, 1].

    Raises
    ------
    ValueError
        If the counts have no sums of losses, because a file of release 0.1.0 is part of them.

    Notes
    -----
    In each draw the score is

    .. math:: \sum_b m_b \left[\theta_b A_{b1} + (1 - \theta_b) A_{b0}\right]

    with masses m and accuracies :math:`\theta` from `bin_draws`, and :math:`A_{bz}` the mean squared error of the rows
    with outcome z in bin b. :math:`A_{bz}` is Normal around the observed mean with the variance of a Bayesian bootstrap
    [1]_, :math:`s_{bz}^2 / (n_{bz} + 2)`, where two half rows with the smallest and the largest squared error possible
    in the bin are added to the :math:`n_{bz}` rows. Draws outside the possible range are moved to its end. For weighted
    rows :math:`n_{bz}` is Kish's effective number. The variation within bins is thus part of the uncertainty, with one
    bin as with fifteen.

    For top labels this is the score of (right or wrong, confidence), not that of all classes.

    References
    ----------
    .. [1] D. B. Rubin (1981), "The Bayesian Bootstrap", The Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> from bayescal.posterior.dirichlet import dirichlet_posterior
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(4000)
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


def mean_losses(counts: BinnedCounts) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean and standard deviation of the mean squared error of each outcome and bin, and the bounds of the bin.

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


def _losses(counts: BinnedCounts) -> LossSums:
    if counts.losses is None:
        raise ValueError(
            "the Brier score needs the sums of losses, which these counts lack: a file of release 0.1.0 is part of "
            "them, or they were made by hand. Count the rows again."
        )
    return counts.losses


def joint_brier_scores(
    counts: Sequence[BinnedCounts], pairs: Mapping[tuple[int, int], PairedCounts], n_draws: int, *, rng: Any = None
) -> Floats | None:
    r"""Joint draws of the Brier scores of several classifiers on the same rows.

    Parameters
    ----------
    counts : sequence of BinnedCounts
        The counts of each classifier.
    pairs : mapping of (int, int) to PairedCounts
        Joint counts of classifiers i < j, whose `loss_difference` is used.
    n_draws : int
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Randomness.

    Returns
    -------
    ndarray, shape (n_draws, n_classifiers), or None
        In [0, 1]; None with fewer than three effective rows. Two names of one classifier have the same draws.

    Raises
    ------
    ValueError
        If a file of release 0.1.0 is part of the counts.

    Notes
    -----
    The posterior of the mean losses is a multivariate Student t with n - 1 degrees of freedom, centre at the observed
    mean losses and scale matrix :math:`S / (n - 1)`, where S is the covariance of losses over rows and n the effective
    number of rows. The covariance of two classifiers follows from
    the variances of their losses and of the difference of their losses. No accuracy is shrunk towards a confidence,
    because that would move the scores of two classifiers by different amounts, possibly larger than their difference.
    """
    weight = np.array([float(c.weight.sum()) for c in counts])
    rows = min(c.effective_rows for c in counts)
    if rows < LEAST_ROWS:
        return None
    mean = np.array([_losses(c).total.sum() for c in counts]) / weight
    covariance, same = _covariance(counts, mean, pairs)
    values, vectors = np.linalg.eigh(covariance)
    generator = _checks.generator(rng)
    # the symmetric root, which unlike eigenvectors does not change its signs with the last digits of sums
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    drawn = generator.standard_normal((n_draws, len(counts))) @ root
    drawn /= np.sqrt(generator.chisquare(rows - 1, (n_draws, 1)))
    return np.clip(mean + drawn, 0, 1)[:, same]


def _covariance(
    counts: Sequence[BinnedCounts], mean: Floats, pairs: Mapping[tuple[int, int], PairedCounts]
) -> tuple[Floats, list[int]]:
    """Covariance of losses over rows; and for each classifier the first one with exactly the same losses."""
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


def _observed(counts: BinnedCounts) -> float:
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
    )
)
