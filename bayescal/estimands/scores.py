"""Proper scores: Brier score, scaled Brier score and log score of one classifier, and of several on the same rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.registry import estimand
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.joint import symmetric_root, with_ranks_of
from bayescal.stats.clusters import ClusterSums, clusters_of, covariance_of_means
from bayescal.stats.contract import Counts, Paired, Pairs
from bayescal.stats.losses import KINDS, LossSums

LEAST_ROWS = 3  #: Minimum effective number of rows to estimate the variance of a mean loss.
#: Minimum squared coefficient of variation of a Gamma distribution, whose shape would otherwise be infinite.
LEAST_VARIATION = 1e-12
UNKNOWN = "the variance of a mean loss between clusters is unknown: one cluster has nearly all rows."


@dataclass(frozen=True)
class _Score:
    """The words, the sums and the largest value of one score."""

    words: str
    member: str
    losses: str
    lacking: str
    largest: float


_BRIER = _Score("Brier score", "losses", "losses", "", 1.0)
_LOG = _Score("log score", "log_losses", "log losses", "they are counts of one class of a matrix, or ", np.inf)


@public
def brier_score(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the Brier score, the mean of (outcome - confidence)^2 over the population.

    Parameters
    ----------
    counts : BinnedCounts
        The counts; their `losses` are the sums of squared errors and of their squares in each bin.

    Returns
    -------
    Draws
        In [0, 1]; smaller is better.

    Raises
    ------
    ValueError
        If the counts have no sums of losses, because they were made by hand.

    Notes
    -----
    In each draw the score is

    .. math:: \sum_b m_b \left[\theta_b A_{b1} + (1 - \theta_b) A_{b0}\right]

    with masses m from `bin_draws` and accuracies :math:`\theta_b \sim \mathrm{Beta}(1/M + k_b, 1/M + n_b - k_b)`, as in
    the Dirichlet model of M bins, whatever the model of `bin_draws`. These are not shrunk towards the confidences,
    because the score is linear in the outcomes: its observed value has no bias, and shrinkage would only add one. The
    draws have the ranks of the score that follows from the accuracies of `bin_draws`, so that they are joint with the
    draws of the ECE. Under label shift, accuracies come from `bin_draws`, because they vary with the class frequencies.

    :math:`A_{bz}` is the mean squared error of rows with outcome z in bin b. To the :math:`n_{bz}` rows, two half rows
    are added: one with the smallest and one with the largest squared error that is possible in the bin. :math:`A_{bz}`
    is Normal with the mean of these rows and the variance of a Bayesian bootstrap [1]_,
    :math:`s_{bz}^2 / (n_{bz} + 2)`, clipped to the possible range. With weights, :math:`n_{bz}` is Kish's effective
    number of rows. In this way the posterior includes the variation within bins, for any number of bins. For rows in
    clusters, the draws are those of `mean_loss_draws`, with the ranks of these.

    For ``top-label`` it is the score of the binary problem (right or wrong, confidence), not that of all classes. The
    definition in [2]_ sums over both outcomes of an event, which gives twice this value.

    References
    ----------
    .. [1] Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.
    .. [2] G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
       1-3, equation 2.

    Examples
    --------
    >>> p = rng.random(4000)
    >>> counts = bc.BinnedCounts.from_arrays(rng.random(4000) < p, p, bins=1)
    >>> bc.estimands.brier_score(bc.dirichlet_posterior(counts).sample(4000, rng=1), counts, rng=1).interval(0.95)
    (0.16..., 0.17...)
    """
    generator = _checks.generator(rng)
    cells = sample_mean_losses(counts, bin_draws.accuracy.shape, generator)
    return Draws(_unshrunk(_BRIER, bin_draws, counts, cells, generator), "brier_score")


def sample_mean_losses(counts: Counts, shape: tuple[int, ...], rng: Generator) -> list[Floats]:
    """Draw the mean squared error of both outcomes in each bin, (n_draws, n_bins), as described for `brier_score`."""
    cells = []
    for mean, sd, least, most in zip(*mean_losses(counts), strict=True):
        losses = rng.standard_normal(shape)
        losses *= sd
        losses += mean
        cells.append(np.clip(losses, least, most, out=losses))
    return cells


def _unshrunk(score: _Score, bins: BinDraws, counts: Counts, cells: Sequence[Floats], rng: Generator) -> Floats:
    """Draw a score with accuracies that are not shrunk, in the order of the score that follows from `bins`.

    `cells` are draws of the mean losses of outcome 0 and of outcome 1, each of shape (n_draws, n_bins).
    """
    of_bins, clusters = _mean_over_cells(bins.mass, bins.accuracy, cells), clusters_of(counts)
    if clusters is not None:  # from the variance between clusters
        mean, sums = _observed(score, counts), getattr(clusters, score.member)
        draws = mean_loss_draws(clusters, mean, sums, len(of_bins), rng, score.largest)
    elif stored_rows(counts) is not None:  # accuracies vary with the class frequencies of each draw
        return of_bins
    else:
        accuracy = rng.beta(*dirichlet_posterior(counts).accuracy_parameters, size=bins.accuracy.shape)
        draws = _mean_over_cells(bins.mass, accuracy, cells)
    return with_ranks_of(of_bins, draws)


def _mean_over_cells(mass: Floats, accuracy: Floats, cells: Iterable[Floats]) -> Floats:
    """Average draws of the mean losses of outcome 0 and of outcome 1, shape (n_draws, n_bins), over both and bins."""
    score = np.zeros(len(mass))
    for share, of_outcome in zip((1 - accuracy, accuracy), cells, strict=True):
        part = of_outcome * share
        part *= mass
        score += part.sum(axis=-1)
    return score


@public
def log_score(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the log score, the mean of -log(probability of the outcome) over the population, in nats [2]_.

    Parameters
    ----------
    counts : BinnedCounts
        The counts; their `log_losses` are the sums of log losses and of their squares in each bin.

    Returns
    -------
    Draws
        At least 0; smaller is better.

    Raises
    ------
    ValueError
        If a row has probability 0 for the outcome that occurred, so that its loss is infinite; or if the counts have no
        sums of log losses.

    Notes
    -----
    The score is a mean over bins and outcomes, with masses and accuracies as for `brier_score`. An error :math:`\delta`
    of an accuracy changes the score by :math:`-\mathrm{logit}(c)\, \delta`, which is large for confidences c near 0 and
    1. With accuracies that are shrunk towards confidences and few rows, the posterior mean of the score of an
    over-confident classifier would be too small. For rows in clusters, the score is drawn by `mean_loss_draws`.

    The log loss within a bin has a smallest value :math:`l_{bz}`, and in a bin with edge 0 or 1 it has no largest one.
    If confidences are uniform in a bin [0, h], the excess over :math:`l_{b1}` has an exponential distribution with mean
    1. Therefore one row is added to the rows of each cell, whose confidence is uniform in the bin: its mean log loss
    and mean squared log loss are closed forms. The excess of the mean loss over :math:`l_{bz}` is Gamma, with the mean
    of these rows and the variance of a Bayesian bootstrap [1]_, :math:`s_{bz}^2 / (n_{bz} + 2)`, clipped to the
    possible range.

    Confidences are never clipped. If some are exactly 0 or 1 and wrong, clip them before counting, for example with
    ``np.clip(p, 1e-15, 1 - 1e-15)``, and report this: the score then depends on the limits.

    For ``top-label`` it is the score of the binary problem (right or wrong, confidence), not that of all classes.

    References
    ----------
    .. [1] Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.
    .. [2] I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14, 107-114.

    Examples
    --------
    The expected log score of calibrated uniform probabilities is 1/2.

    >>> p = rng.random(4000)
    >>> bc.evaluate(rng.random(4000) < p, p, rng=1).log_score.interval(0.95)
    (0.48..., 0.51...)
    """
    n_draws, generator = len(bin_draws), _checks.generator(rng)
    cells = [sample_mean_log_losses(counts, outcome, n_draws, generator) for outcome in (0, 1)]
    return Draws(_unshrunk(_LOG, bin_draws, counts, cells, generator), "log_score")


def sample_mean_log_losses(counts: Counts, outcome: int, n_draws: int, rng: Generator) -> Floats:
    """Draw the mean log loss of one outcome in each bin, shape (n_draws, n_bins), as described for `log_score`."""
    mean, sd, least, most = (of_outcomes[outcome] for of_outcomes in mean_log_losses(counts))
    excess = mean - least
    variation = np.maximum(np.divide(sd, excess, out=np.zeros_like(sd), where=excess > 0) ** 2, LEAST_VARIATION)
    losses = rng.standard_gamma(1 / variation, (n_draws, len(mean)))
    losses *= excess * variation
    losses += least
    return np.clip(losses, least, most, out=losses)


def mean_log_losses(counts: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute mean, sd and bounds of the mean log loss of each outcome and bin, (2, n_bins) each."""
    edges = counts.bins.edges
    ends = np.stack([1 - edges[::-1], edges])
    low, high = (np.stack([ends[0, side][::-1], ends[1, side]]) for side in (slice(None, -1), slice(1, None)))
    least, most = _log_loss(high), _log_loss(low)
    # a row with uniform probability p: integrals of -log p and of (log p)^2, within bounds despite rounding
    mean, square = (
        (of(high, _log_loss(high, at_0=0.0)) - of(low, _log_loss(low, at_0=0.0))) / (high - low)
        for of in (lambda p, loss: p * (1 + loss), lambda p, loss: p * ((1 + loss) ** 2 + 1))
    )
    return *_with_a_row(counts, _LOG, np.clip(mean, least, most), np.clip(square, least**2, most**2)), least, most


def _log_loss(probability: Floats, at_0: float = np.inf) -> Floats:
    """Return -log of probabilities, with the given value at 0."""
    return 0.0 - np.log(probability, out=np.full(probability.shape, -at_0), where=probability > 0)


def mean_losses(counts: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute mean, sd and bounds of the mean squared error of each outcome and bin, (2, n_bins) each."""
    low, high = counts.bins.edges[:-1], counts.bins.edges[1:]
    least, most = np.stack([low**2, (1 - high) ** 2]), np.stack([high**2, (1 - low) ** 2])
    return *_with_a_row(counts, _BRIER, (least + most) / 2, (least**2 + most**2) / 2), least, most


def _with_a_row(counts: Counts, score: _Score, mean: Floats, square: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the mean loss of each cell, to which a row with these moments is added."""
    losses = _losses(counts, score)
    rows = stored_rows(counts)  # the effective rows whose losses were summed, shape (2, n_bins)
    if rows is None:
        rows = np.stack([counts.effective_n - counts.effective_k, counts.effective_k])
    per_weight = np.divide(rows, counts.weight, out=np.zeros_like(rows), where=counts.weight > 0)
    mean = (per_weight * losses.total + mean) / (rows + 1)
    square = (per_weight * losses.squares + square) / (rows + 1)
    return mean, np.sqrt(np.maximum(square - mean**2, 0) / (rows + 2))


def stored_rows(counts: Counts) -> Floats | None:
    """Return the rows by outcome of counts under label shift, whose effective rows are not those of the losses."""
    return getattr(counts, "rows_by_outcome", None)


def _losses(counts: Counts, score: _Score) -> LossSums:
    losses: LossSums | None = getattr(counts, score.member)
    if losses is None:
        raise ValueError(
            f"the {score.words} needs the sums of {score.losses}, which these counts lack: {score.lacking}they "
            "were made by hand. Count the rows again."
        )
    if infinite := int(losses.infinite.sum()):
        of_outcome_0, of_outcome_1 = (int(n) for n in losses.infinite.sum(axis=1))
        raise ValueError(
            f"the log score is infinite: {infinite} of {counts.n_rows} rows assign probability 0 to the outcome that "
            f"occurred ({of_outcome_1} with confidence 0 and outcome 1, {of_outcome_0} with confidence 1 and outcome 0)"
            ". To limit the loss, clip the probabilities, as in `np.clip(p, 1e-15, 1 - 1e-15)`, and report it."
        )
    return losses


def _joint_scores(score: _Score, counts: Sequence[Counts], pairs: Pairs, n_draws: int, *, rng: Any) -> Floats | None:
    """Draw the scores of several classifiers on the same rows jointly, shape (n_draws, n_classifiers).

    The mean losses are drawn from a multivariate Student t with n - 1 degrees of freedom, centred at the observed mean
    losses, with the scale matrix :math:`S / (n - 1)`. Here S is the covariance of losses over rows (divisor n) and n is
    the effective number of rows; with fewer than three, the result is None. So every mean loss, and every difference of
    two, has the Student t posterior of the mean of a Normal sample with a noninformative prior (Gelman et al. 2013,
    Bayesian Data Analysis, 3rd edition, CRC Press, section 3.2); draws are clipped to possible values. The covariance
    of two classifiers i < j follows from the variances of their losses and of the difference of their losses
    (`loss_difference` of their joint counts); two names of one classifier have equal draws. For rows in clusters, S is
    that of sums over clusters (`covariance_over_clusters`), and n the effective number of clusters. Accuracies are not
    shrunk towards confidences, because shrinkage could change the scores of two classifiers by more than their
    difference.
    """
    rows = min(c.effective_rows for c in counts)
    if rows < LEAST_ROWS:
        return None
    mean, covariance, same = _moments(score, counts, pairs)
    if clusters_of(counts[0]) is not None:
        losses = [_losses(c, score) for c in counts]
        covariance, rows = covariance_over_clusters(counts, losses, pairs, score.member)
    generator = _checks.generator(rng)
    deviation = generator.standard_normal((n_draws, len(counts))) @ symmetric_root(covariance)
    deviation /= np.sqrt(generator.chisquare(rows - 1, (n_draws, 1)))
    return np.clip(mean + deviation, 0, score.largest)[:, same]


joint_brier_scores, joint_log_scores = partial(_joint_scores, _BRIER), partial(_joint_scores, _LOG)


def _moments(score: _Score, counts: Sequence[Counts], pairs: Pairs) -> tuple[Floats, Floats, list[int]]:
    """Return mean losses, their covariance over rows, and the first classifier with the same losses as each."""
    weight, losses = np.array([float(c.weight.sum()) for c in counts]), [_losses(c, score) for c in counts]
    mean = np.array([sums.total.sum() for sums in losses]) / weight
    square = np.array([sums.squares.sum() for sums in losses]) / weight
    return mean, *_covariance(np.maximum(square - mean * mean, 0.0), pairs, score)


def _covariance(variance: Floats, pairs: Pairs, score: _Score) -> tuple[Floats, list[int]]:
    """Return the covariance of losses over rows, and for each classifier the first one with the same losses."""
    covariance, same = np.diag(variance), list(range(len(variance)))
    for (i, j), pair in sorted(pairs.items()):
        difference = _difference(pair, score)
        if not difference.squares:
            same[j] = min(same[j], same[i])
        if pair.loss_covariance is not None:
            covariance[np.ix_((i, j), (i, j))] = pair.loss_covariance
            continue
        total = float(pair.weight.sum())
        of_difference = float(difference.squares) / total - (float(difference.total) / total) ** 2
        covariance[i, j] = covariance[j, i] = (variance[i] + variance[j] - max(of_difference, 0.0)) / 2
    return covariance, same


def _difference(pair: Paired, score: _Score) -> LossSums:
    difference: LossSums | None = getattr(pair, KINDS[score.member].difference)
    if difference is None:
        raise ValueError(
            f"the difference of {score.words}s needs the sums of the difference of {score.losses}, which these counts "
            f"lack: {score.lacking}they were made by hand. Count the rows again."
        )
    return difference


def _observed(score: _Score, counts: Counts) -> float:
    # the Brier score is half of Brier (1950), equation 2, which sums over both outcomes
    return float(_losses(counts, score).total.sum() / counts.weight.sum())


def mean_loss_draws(
    clusters: ClusterSums, mean: float, sums: Floats, n_draws: int, rng: Generator, largest: float
) -> Floats:
    r"""Draw the mean loss of rows in clusters, from its sums over clusters, shape (2,): `losses` or `log_losses`.

    It is Student t with J - 1 degrees of freedom around the observed mean loss, clipped to [0, largest]. Its scale is
    the root of the variance over clusters (`ClusterSums.variance_of_mean`), and J is the effective number of clusters,
    :math:`(\sum_j n_j)^2 / \sum_j n_j^2`: the posterior of the mean of a Normal sample of clusters with a
    noninformative prior. It needs no model of the dependence within clusters. The variance is that of a ratio estimator
    of a cluster sample: Cochran (1977), Sampling Techniques, 3rd edition, Wiley, equation 9A.5 (ratio to size).
    """
    variance = clusters.variance_of_mean(mean, sums)
    if not np.isfinite(variance):
        raise ValueError(UNKNOWN)
    deviation = rng.standard_t(clusters.effective_number - 1, n_draws)
    return np.clip(mean + np.sqrt(variance) * deviation, 0.0, largest)


def covariance_over_clusters(
    counts: Sequence[Counts], losses: Sequence[LossSums], pairs: Pairs, member: str
) -> tuple[Floats, float]:
    """Covariance of mean losses of several classifiers on the same rows in clusters, times J - 1; and J."""
    clusters = [each for each in map(clusters_of, counts) if each is not None]
    means = [float(sums.total.sum()) / float(c.weight.sum()) for c, sums in zip(clusters, losses, strict=True)]
    number = clusters[0].effective_number
    variance = [c.variance_of_mean(mean, getattr(c, member)) for c, mean in zip(clusters, means, strict=True)]
    if not np.isfinite(variance).all():
        raise ValueError(UNKNOWN)
    covariance = np.diag(variance)
    for (i, j), pair in pairs.items():
        assert pair.clusters is not None
        product = float(getattr(pair.clusters, member))
        both = covariance_of_means(clusters[i], clusters[j], (means[i], means[j]), member, product)
        covariance[i, j] = covariance[j, i] = both
    return covariance * (number - 1), number


estimand(
    "Brier score",
    same_event=True,
    needs=frozenset({"losses"}),
    reported=False,
    plug_in=partial(_observed, _BRIER),
    joint=joint_brier_scores,
    citation="Brier (1950), Monthly Weather Review 78, equation 2",
    formula=r"\mathrm{E}\,(z - c)^2",
    synonyms=("mean squared error of probabilities", "quadratic score", "half Brier score"),
)(brier_score)
estimand(
    "log score",
    bounds=(0.0, np.inf),
    same_event=True,
    needs=frozenset({"log_losses"}),
    reported=False,
    plug_in=partial(_observed, _LOG),
    joint=joint_log_scores,
    citation="Good (1952), Journal of the Royal Statistical Society B 14, 107-114",
    formula=r"\mathrm{E}\,\left[-z \log c - (1 - z) \log(1 - c)\right]",
    synonyms=("log loss", "cross-entropy", "negative log-likelihood", "NLL", "ignorance score in nats"),
)(log_score)


def _rate(counts: Counts) -> float:
    return float(counts.share @ np.nan_to_num(counts.accuracy))


def _scaled(score: Floats, rate: Floats) -> Floats:
    scaled: Floats = 1 - score / np.maximum(rate * (1 - rate), np.finfo(np.float64).tiny)
    return scaled


def _scaled_observed(counts: Counts) -> float:
    score, rate = _observed(_BRIER, counts), _rate(counts)
    return float(_scaled(np.array(score), np.array(rate))) if 0 < rate < 1 else float("nan")


def joint_scaled_brier_scores(counts: Sequence[Counts], pairs: Pairs, n_draws: int, *, rng: Any) -> Floats | None:
    """Draw the scaled Brier scores of several classifiers on the same rows jointly, shape (n_draws, n_classifiers).

    Brier scores and event rate have the Student t distribution of `joint_brier_scores`, with the covariance of outcome
    and squared error. The event rate is then moved to the quantile of Beta(k + 1/2, n - k + 1/2) of equal probability.
    """
    rows, rate = min(c.effective_rows for c in counts), _rate(counts[0])
    if rows < LEAST_ROWS:
        return None
    mean, covariance, same = _moments(_BRIER, counts, pairs)
    losses = [float(_losses(c, _BRIER).total[1].sum() / c.weight.sum()) for c in counts]
    of_events = np.array(losses) - mean * rate
    whole = np.block([[covariance, of_events[:, None]], [of_events, np.array(rate * (1 - rate))]])
    generator = _checks.generator(rng)
    deviation = generator.standard_normal((n_draws, len(whole))) @ symmetric_root(whole)
    deviation /= np.sqrt(generator.chisquare(rows - 1, (n_draws, 1)))
    t = deviation[:, -1:] * np.sqrt((rows - 1) / (rate * (1 - rate)))
    rates = betaincinv(rows * rate + 0.5, rows * (1 - rate) + 0.5, stdtr(rows - 1, t))
    return _scaled(np.clip(mean + deviation[:, :-1], 0, 1)[:, same], rates)


@estimand(
    "scaled Brier score",
    better="larger",
    bounds=(-np.inf, 1.0),
    same_event=True,
    needs=frozenset({"losses", "event rate"}),
    reported=False,
    plug_in=_scaled_observed,
    joint=joint_scaled_brier_scores,
    citation="Steyerberg et al. (2010), Epidemiology 21, 128-138",
    formula=r"1 - \mathrm{E}\,(z - c)^2 / [P(z = 1)\, P(z = 0)]",
    synonyms=("Brier skill score", "index of prediction accuracy", "IPA"),
)
@public
def scaled_brier_score(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the scaled Brier score: 1 minus the Brier score, divided by that of the event rate as the only prediction.

    Parameters
    ----------
    counts : BinnedCounts
        The counts; their `losses` are the sums of squared errors and of their squares in each bin.

    Returns
    -------
    Draws
        At most 1, the value of perfect predictions; 0 for a model that states the event rate for every row. Larger is
        better.

    Raises
    ------
    ValueError
        If all rows have the same outcome, rows are in clusters, or the counts have no sums of losses.

    Notes
    -----
    With the Brier score B and the event rate :math:`\pi`, it is :math:`1 - B / (\pi (1 - \pi))` [1]_. Both follow from
    the same masses and accuracies in each draw, :math:`\pi = \sum_b m_b \theta_b`, with the distributions that
    `brier_score` describes. Populations with different event rates are not comparable.

    References
    ----------
    .. [1] E. W. Steyerberg et al. (2010), "Assessing the performance of prediction models: a framework for traditional
       and novel measures", Epidemiology 21, 128-138.

    Examples
    --------
    Calibrated uniform probabilities have the Brier score 1/6 and the event rate 1/2, so that it is 1/3.

    >>> p = rng.random(4000)
    >>> bc.evaluate(rng.random(4000) < p, p, rng=1).scaled_brier_score.interval(0.95)
    (0.3..., 0.3...)
    """
    events, rows = float(counts.effective_k.sum()), float(counts.effective_n.sum())
    if not 0 < events < rows:
        raise ValueError(
            f"the scaled Brier score needs both outcomes: these counts need 1 more row of outcome {int(events == 0)}."
        )
    if clusters_of(counts) is not None:
        raise ValueError(
            "the scaled Brier score of rows in clusters has no interval, unlike the Brier score: sums over clusters do "
            "not tell how Brier score and event rate vary together."
        )
    generator, mass = _checks.generator(rng), bin_draws.mass
    cells = sample_mean_losses(counts, bin_draws.accuracy.shape, generator)

    def scaled(accuracy: Floats) -> Floats:
        return _scaled(_mean_over_cells(mass, accuracy, cells), (mass * accuracy).sum(axis=-1))

    draws = of_bins = scaled(bin_draws.accuracy)
    if stored_rows(counts) is None:  # as in `brier_score`
        accuracy = generator.beta(*dirichlet_posterior(counts).accuracy_parameters, size=bin_draws.accuracy.shape)
        draws = with_ranks_of(of_bins, scaled(accuracy))
    return Draws(draws, "scaled_brier_score")
