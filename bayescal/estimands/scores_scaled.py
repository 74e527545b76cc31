"""The scaled Brier score of one classifier, and of several classifiers on the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.registry import estimand
from bayescal.estimands.scores import (
    LEAST_ROWS,
    mean_over_cells,
    moments_of_squared_errors,
    sample_mean_losses,
    squared_errors_of,
    stored_rows,
)
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.joint import symmetric_root, with_ranks_of
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts, Paired


def _require(counts: Counts) -> None:
    """Refuse rows of one outcome, and rows in clusters."""
    events, rows = float(counts.effective_k.sum()), float(counts.effective_n.sum())
    if not 0 < events < rows:
        missing = "row of outcome 0" if events else "row of outcome 1"
        raise ValueError(
            f"the scaled Brier score needs rows of both outcomes, because it is relative to the score of the event "
            f"rate; these counts need at least 1 more {missing}."
        )
    if clusters_of(counts) is not None:
        raise ValueError(
            "the scaled Brier score of rows in clusters has no interval: sums over clusters do not tell how Brier "
            "score and event rate vary together. The Brier score has one."
        )


def _observed(counts: Counts) -> float:
    rate = float(counts.share @ np.nan_to_num(counts.accuracy))
    if not 0 < rate < 1:
        return float("nan")
    return 1 - float(squared_errors_of(counts).total.sum() / counts.weight.sum()) / (rate * (1 - rate))


def joint_scaled_brier_scores(
    counts: Sequence[Counts], pairs: Mapping[tuple[int, int], Paired], n_draws: int, *, rng: Any = None
) -> Floats | None:
    """Draw the scaled Brier scores of several classifiers on the same rows jointly, shape (n_draws, n_classifiers).

    Brier scores have the multivariate Student t distribution of `joint_brier_scores`, of which the event rate is one
    more dimension: its covariance with a Brier score is that of outcome and squared error over rows. The draws of the
    event rate are then moved to a Beta distribution with the parameters k + 1/2 and n - k + 1/2 at equal probabilities.
    All classifiers have the same event rate in a draw.
    """
    rows = min(c.effective_rows for c in counts)
    if rows < LEAST_ROWS:
        return None
    mean, covariance, same = moments_of_squared_errors(counts, pairs)
    rate = float(counts[0].share @ np.nan_to_num(counts[0].accuracy))
    of_events = np.array([float(squared_errors_of(c).total[1].sum() / c.weight.sum()) for c in counts]) - mean * rate
    whole = np.block([[covariance, of_events[:, None]], [of_events, np.array(rate * (1 - rate))]])
    generator = _checks.generator(rng)
    deviation = generator.standard_normal((n_draws, len(whole))) @ symmetric_root(whole)
    deviation /= np.sqrt(generator.chisquare(rows - 1, (n_draws, 1)))
    t = deviation[:, -1] * np.sqrt((rows - 1) / (rate * (1 - rate)))
    drawn = betaincinv(rows * rate + 0.5, rows * (1 - rate) + 0.5, stdtr(rows - 1, t))
    score = np.clip(mean + deviation[:, :-1], 0, 1)[:, same]
    return np.asarray(1 - score / _of_rate(drawn)[:, None])


def _of_rate(rate: Floats) -> Floats:
    """Return the Brier score of the event rate as the probability of every row."""
    variance: Floats = np.maximum(rate * (1 - rate), np.finfo(np.float64).tiny)
    return variance


@estimand(
    "scaled Brier score",
    better="larger",
    bounds=(-np.inf, 1.0),
    same_event=True,
    needs=frozenset({"losses", "event rate"}),
    reported=False,
    plug_in=_observed,
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
        At most 1, the value of perfect predictions. It is 0 for a model that states the event rate of the population
        for every row, and below 0 for a worse one. Larger is better.

    Raises
    ------
    ValueError
        If all rows have the same outcome, rows are in clusters, or the counts have no sums of losses.

    Notes
    -----
    With the event rate :math:`\pi`, a model that states :math:`\pi` for every row has the Brier score
    :math:`\pi (1 - \pi)`, and the scaled score [1]_ is

    .. math:: S = 1 - \frac{B}{\pi (1 - \pi)}, \qquad \pi = \sum_b m_b \theta_b.

    Brier score B and event rate follow from the same masses m and accuracies :math:`\theta` in each draw; these and the
    losses within bins have the distributions that `brier_score` describes. The draws have the ranks of the score that
    follows from the accuracies of `bin_draws`. Because B contains :math:`\pi`, S is not comparable between populations
    with different event rates.

    References
    ----------
    .. [1] E. W. Steyerberg et al. (2010), "Assessing the performance of prediction models: a framework for traditional
       and novel measures", Epidemiology 21, 128-138.

    Examples
    --------
    Calibrated uniform probabilities have the Brier score 1/6 and the event rate 1/2, so that S is 1/3.

    >>> import numpy as np
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(4000)
    >>> bc.evaluate(rng.random(4000) < p, p, rng=1).scaled_brier_score.interval(0.95)
    (0.3..., 0.3...)
    """
    _require(counts)
    generator = _checks.generator(rng)
    cells = sample_mean_losses(counts, bin_draws.accuracy.shape, generator)

    def scaled(accuracy: Floats) -> Floats:
        rate = (bin_draws.mass * accuracy).sum(axis=-1)
        return np.asarray(1 - mean_over_cells(bin_draws.mass, accuracy, cells) / _of_rate(rate))

    draws = of_bins = scaled(bin_draws.accuracy)
    if stored_rows(counts) is None:  # as in `brier_score`
        accuracy = generator.beta(*dirichlet_posterior(counts).accuracy_parameters, size=bin_draws.accuracy.shape)
        draws = with_ranks_of(of_bins, scaled(accuracy))
    return Draws(draws, "scaled_brier_score")
