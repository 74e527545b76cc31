"""The scaled Brier score of one classifier, and of several classifiers on the same rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands import scores
from bayescal.estimands.registry import estimand
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.joint import symmetric_root, with_ranks_of
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts, Pairs


def _rate(counts: Counts) -> float:
    return float(counts.share @ np.nan_to_num(counts.accuracy))


def _scaled(score: Floats, rate: Floats) -> Floats:
    scaled: Floats = 1 - score / np.maximum(rate * (1 - rate), np.finfo(np.float64).tiny)
    return scaled


def _plug_in(counts: Counts) -> float:
    score, rate = scores._observed(scores._BRIER, counts), _rate(counts)
    return float(_scaled(np.array(score), np.array(rate))) if 0 < rate < 1 else float("nan")


def joint_scaled_brier_scores(counts: Sequence[Counts], pairs: Pairs, n_draws: int, *, rng: Any) -> Floats | None:
    """Draw the scaled Brier scores of several classifiers on the same rows jointly, shape (n_draws, n_classifiers).

    Brier scores and event rate have the Student t distribution of `joint_brier_scores`, with the covariance of outcome
    and squared error. The event rate is then moved to the quantile of Beta(k + 1/2, n - k + 1/2) of equal probability.
    """
    rows, rate = min(c.effective_rows for c in counts), _rate(counts[0])
    if rows < scores.LEAST_ROWS:
        return None
    mean, covariance, same = scores._moments(scores._BRIER, counts, pairs)
    losses = [float(scores._losses(c, scores._BRIER).total[1].sum() / c.weight.sum()) for c in counts]
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
    plug_in=_plug_in,
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
    cells = scores.sample_mean_losses(counts, bin_draws.accuracy.shape, generator)

    def scaled(accuracy: Floats) -> Floats:
        return _scaled(scores._mean_over_cells(mass, accuracy, cells), (mass * accuracy).sum(axis=-1))

    draws = of_bins = scaled(bin_draws.accuracy)
    if scores.stored_rows(counts) is None:  # as in `brier_score`
        accuracy = generator.beta(*dirichlet_posterior(counts).accuracy_parameters, size=bin_draws.accuracy.shape)
        draws = with_ranks_of(of_bins, scaled(accuracy))
    return Draws(draws, "scaled_brier_score")
