"""Accuracy: the share of predictions that are right, of one classifier and of several on the same rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.area_under_roc import same_classifier
from bayescal.estimands.estimand import EVENTS
from bayescal.estimands.registry import estimand
from bayescal.estimands.scores import stored_rows
from bayescal.posterior.joint import nearest_correlation, with_ranks_of
from bayescal.stats.clusters import clusters_of, square
from bayescal.stats.contract import Counts, HasSpread, Paired, Pairs
from bayescal.stats.sums import cosine

LEAST_FREEDOM = 0.001  #: Smallest degrees of freedom, if one cluster has nearly all rows.
#: Prior of each of the four joint outcomes of two classifiers, so that the prior of each accuracy is Beta(1/2, 1/2).
OF_FOUR = 0.25


def _observed(counts: Counts) -> float:
    require_predictions(counts)
    return _share_right(counts) if counts.occupied.any() else float("nan")


def _share_right(counts: Counts) -> float:
    """Return the observed accuracy; bins of a target without labelled rows are left out."""
    seen = np.isfinite(counts.accuracy)
    total = float(counts.share[seen].sum())
    return min(float(counts.share[seen] @ counts.accuracy[seen]) / total, 1.0) if total > 0 else 0.0


def require_predictions(counts: Counts, what: str = "the accuracy") -> None:
    """Refuse counts of an event, whose outcome is not whether a prediction is right."""
    if counts.target in EVENTS:
        remedy = (
            "For the most probable class, evaluate the rows with `target='top-label'`."
            if counts.target == "classwise"
            else "If labels state whether each prediction is right, and probabilities its confidence, pass "
            "`target='confidence'`. For the more probable of two classes, pass the probabilities of both, as in "
            "`numpy.column_stack([1 - p, p])`."
        )
        raise ValueError(
            f"{what} needs rows whose outcome is whether a prediction is right, as under the targets 'top-label' "
            f"and 'confidence'; the target of these counts is {counts.target!r}. Probabilities of an event are right "
            f"or wrong only with a decision threshold; `net_benefit` takes thresholds. {remedy}"
        )


class Evidence(NamedTuple):
    """Evidence of counts about the accuracy; see `accuracy`."""

    right: float  # observed accuracy
    rows: float  # effective number of rows
    most: float  # Kish's effective number of rows, without a design effect
    freedom: float  # degrees of freedom of the design effect of clusters; infinite for independent rows


def evidence(counts: Counts) -> Evidence:
    """Return the observed accuracy and its effective number of rows; see `accuracy`."""
    clusters, right = clusters_of(counts), _share_right(counts)
    # shares of the sum of squared weights, relative to the squared sum; without clusters, in any type of counts
    rows = counts.effective_n if clusters is None else counts.effective_n * clusters.effects
    squares = np.divide(counts.share**2, rows, out=np.zeros(len(rows)), where=rows > 0)
    if not squares.any():
        return Evidence(0.0, 0.0, 0.0, np.inf)
    accuracy, kish = np.nan_to_num(counts.accuracy), 1 / squares.sum()
    if clusters is None:
        units, variance = kish, float(squares @ (accuracy * (1 - right) ** 2 + (1 - accuracy) * right**2))
    else:
        units = clusters.effective_number
        variance = square(clusters, np.ones(len(rows)), _centred(counts, right)) / clusters.weight.sum() ** 2
        if isinstance(counts, HasSpread):  # the residuals of `clusters` are relative to the confidence of each row
            spread = 2 * counts.within_covariance - counts.within_variance
            variance += float(squares @ np.nan_to_num(spread))
    alone = right * (1 - right) / kish
    fewer = min(right, 1 - right) * kish
    effect = fewer * max(variance / alone, 1.0) if fewer > 0 else 0.0
    effect = (effect + kish / units) / (fewer + 1)
    return Evidence(right, kish / effect, kish, np.inf if clusters is None else max(units - 1, LEAST_FREEDOM))


def _centred(counts: Counts, right: float) -> Floats:
    """Mean confidence of each bin minus the accuracy: with the sums of residuals, the sums of outcome - accuracy."""
    return np.nan_to_num(counts.mean_confidence - right)


def correlation_of_accuracies(counts: Sequence[Counts], pairs: Pairs) -> Floats:
    r"""Correlation of the accuracies of several classifiers on the same rows, from joint counts of pairs.

    With equal weights it is that of two sums of the Dirichlet posterior of the four joint outcomes, with the prior
    parameters 1/4: :math:`(p_{11} - p_1 p_2) / \sqrt{p_1 (1 - p_1) p_2 (1 - p_2)}` with posterior means p. Otherwise
    rows enter with their squared weights, or sums over clusters. Two names of one classifier have correlation 1.
    """
    result = np.eye(len(counts))
    for (i, j), pair in pairs.items():
        result[i, j] = result[j, i] = _correlation(pair)
    return nearest_correlation(result)


def _correlation(pair: Paired) -> float:
    if same_classifier(pair):
        return 1.0
    weight, squares = float(pair.weight.sum()), float(pair.weight_sq.sum())
    if not weight:
        return 0.0
    rows = weight**2 / squares
    means = [(_share_right(each) * rows + 0.5) / (rows + 1) for each in (pair.first, pair.second)]
    # a row of mean weight, divided evenly between the four outcomes
    row, four = (squares / weight) ** 2, np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    more = row * OF_FOUR * np.array([products.sum() for products in _products(*(four - means).T)])
    if pair.clusters is None:
        sums = _products(*(pair.cells[:, [1, 3]] - means).T) @ pair.weight_sq
    else:
        both: Any = pair.first, pair.second
        ones = np.ones(len(pair.first.bins)), np.ones(len(pair.second.bins))
        one, other = (_centred(each, mean) for each, mean in zip(both, means, strict=True))
        squares_of = [square(each.clusters, *of) for each, *of in zip(both, ones, (one, other), strict=True)]
        sums = np.array([*squares_of, pair.clusters.product(ones, (one, other))])
    return cosine(*(sums + more).tolist(), same=False)


def _products(first: Floats, second: Floats) -> Floats:
    return np.stack([first * first, second * second, first * second])


@estimand(
    "accuracy",
    better="larger",
    needs=frozenset({"predictions"}),
    plug_in=_observed,
    correlation=correlation_of_accuracies,
    citation="Brown, Cai and DasGupta (2001), Statistical Science 16, 101-133",
    formula=r"P(z = 1)",
    synonyms=("accuracy score", "acc", "top-1 accuracy"),
)
@public
def accuracy(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the accuracy: the share of predictions that are right.

    It exists under the targets ``top-label`` and ``confidence``, whose outcome is whether a prediction is right.
    `Evaluation.accuracy` calls this function.

    Parameters
    ----------
    bin_draws : BinDraws
        Posterior draws of the bins; the draws of the accuracy get their ranks.
    counts : BinnedCounts
        The counts.

    Returns
    -------
    Draws
        In [0, 1]; larger is better.

    Raises
    ------
    ValueError
        If the target is ``event`` or ``classwise``. Probabilities of an event have an accuracy only with a threshold
        from which on the event is predicted.

    Notes
    -----
    With the observed accuracy a of N rows, the posterior is

    .. math:: \mathrm{Beta}\left(a N + \tfrac12,\; (1 - a) N + \tfrac12\right),

    from the Jeffreys prior [1]_. It does not use the accuracies of the bins, which the default model shrinks towards
    the confidences. The draws have the ranks of the accuracy that follows from `bin_draws`, so that they are joint with
    the draws of the ECE. Under label shift, the accuracy is that of `bin_draws`, because it varies with the class
    frequencies; under covariate shift, bins without labelled rows enter with the accuracies of `bin_draws`.

    With weights or clusters, N is Kish's effective number of rows divided by a design effect [2]_,

    .. math:: D = \frac{f d + m}{f + 1}, \quad d = \max\left(1, \frac{V}{a (1 - a) / N_{\mathrm{Kish}}}\right).

    V is the variance of a. For weighted rows, it is :math:`\sum w^2 (z - a)^2 / (\sum w)^2`, where weights and outcomes
    are taken as independent within a bin. For rows in clusters, it is the variance of the sums of :math:`w (z - a)`
    over clusters, and m is the effective number of rows per cluster; otherwise m is 1. f is the effective number of
    rows with the rarer outcome: if all predictions are right, the data do not show whether wrong ones of a cluster
    occur together, and the number of clusters counts. With J effective clusters, N is multiplied in each draw by
    :math:`\chi^2_{J - 1} / (J - 1)`, up to Kish's number, because the variance is estimated from J clusters [3]_.

    References
    ----------
    .. [1] L. D. Brown, T. T. Cai and A. DasGupta (2001), "Interval estimation for a binomial proportion", Statistical
       Science 16, 101-133.
    .. [2] L. Kish (1965), "Survey Sampling", Wiley.
    .. [3] E. L. Korn and B. I. Graubard (1998), "Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data", Survey Methodology 24, 193-201.

    Examples
    --------
    Two right answers of three: Beta(5/2, 3/2) has the mean 5/8.

    >>> evaluation = bc.evaluate([1, 0, 1], [0.9, 0.6, 0.7], target="confidence", rng=1)
    >>> round(evaluation.accuracy.mean(), 2), round(evaluation.plug_in_of("accuracy"), 2)
    (0.63, 0.67)
    """
    require_predictions(counts)
    parts = bin_draws.mass * bin_draws.accuracy
    of_bins = parts.sum(axis=1)
    if stored_rows(counts) is not None:  # accuracies vary with the class frequencies of each draw
        return Draws(of_bins, "accuracy")
    generator, (right, rows, most, freedom) = _checks.generator(rng), evidence(counts)
    trials: Any = rows
    if np.isfinite(freedom):
        trials = np.minimum(rows * generator.chisquare(freedom, len(of_bins)) / freedom, most)
    draws = generator.beta(right * trials + 0.5, (1 - right) * trials + 0.5, len(of_bins))
    unlabelled = counts.occupied & np.isnan(counts.accuracy)
    if unlabelled.any():  # bins of a target, whose accuracies come from the model
        draws = draws * (1 - counts.share[unlabelled].sum()) + parts[:, unlabelled].sum(axis=1)
    return Draws(with_ranks_of(of_bins, draws), "accuracy")
