"""True values of quantities of a population of scores, as sums over rows that represent equal shares of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayescal.draws import BinDraws
from bayescal.estimands.registry import registered
from bayescal.stats.binned import BinnedCounts
from studies.populations import logit

Floats = NDArray[np.float64]

#: Errors below this are rounding errors of calibrated scores.
ROUNDING = 1e-12


def true_values(score: Floats, probability: Floats, *, bins: int = 15) -> dict[str, float]:
    r"""Compute the true value of every quantity with a printed interval, except decisions.

    Parameters
    ----------
    score, probability : ndarray, shape (n,)
        Scores, and true probabilities of the event, of rows that represent equal shares of a population.
    bins : int, default 15
        Number of equal-width bins.

    Returns
    -------
    dict of str to float
        ``ece`` and the other estimands of the bins; ``brier_score``, ``log_score`` and ``auc``; ``observed_expected``;
        ``in_the_large``, ``intercept`` and ``slope``; ``kuiper`` and ``kolmogorov_smirnov``; ``ici``, ``e50``, ``e90``
        and ``emax``. Without the log score if a score of 0 or 1 may be wrong, and without the logits' quantities if any
        score is 0 or 1.

    Notes
    -----
    The intercept and the slope minimise the expected log loss :math:`-\mathrm{E}[m \log h + (1 - m) \log(1 - h)]` with
    :math:`h = \mathrm{expit}(a + b\, \mathrm{logit}\, c)`: the limits of logistic regression.

    Examples
    --------
    Scores uniform on [0, 1] of which the event has probability c^2: the mean error is the integral of c - c^2.

    >>> score = (np.arange(100_000) + 0.5) / 100_000
    >>> found = true_values(score, score**2)
    >>> found["ici"], found["signed_error"], found["auc"]
    (0.1667, -0.1667, 0.8)
    """
    distinct, mean, share = pooled(score, probability)
    return (
        bin_values(score, probability, bins)
        | _scores(distinct, mean, share)
        | _of_curve(distinct, mean, share)
        | (logit_values(distinct, mean, share) if distinct[0] > 0 and distinct[-1] < 1 else {})
    )


def pooled(score: Floats, probability: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores in order, the mean probability at each, and their shares of the rows."""
    distinct, place, count = np.unique(score, return_inverse=True, return_counts=True)
    return distinct, np.bincount(place, probability) / count, count / len(score)


def bin_values(score: Floats, probability: Floats, bins: int = 15) -> dict[str, float]:
    """Compute the estimands that are functions of equal-width bins."""
    true = _bins(score, probability, bins)
    records = (record for record in registered().values() if not record.needs)
    return {record.name: float(record.draw(true, BinnedCounts.empty()).mean()) for record in records}


def _bins(score: Floats, probability: Floats, bins: int) -> BinDraws:
    place = np.minimum(np.searchsorted(np.arange(bins + 1) / bins, score, side="right") - 1, bins - 1)
    rows, confidence, outcome = (
        np.bincount(place, values, bins) for values in (np.ones_like(score), score, probability)
    )
    occupied = rows > 0
    middle = (np.arange(bins) + 0.5) / bins
    confidence = np.divide(confidence, rows, out=middle.copy(), where=occupied)
    accuracy = np.divide(outcome, rows, out=middle, where=occupied)
    accuracy = np.where(np.abs(accuracy - confidence) < ROUNDING, confidence, accuracy)
    mass = rows[None] / len(score)
    return BinDraws(mass, accuracy[None], confidence[None], occupied, mass)


def _scores(score: Floats, mean: Floats, share: Floats) -> dict[str, float]:
    """Brier score, log score, area under the ROC curve, and observed / expected, of distinct scores in order."""
    events, others = share * mean, share * (1 - mean)
    found = {
        "brier_score": float(events @ (1 - score) ** 2 + others @ score**2),
        "auc": float(events @ (np.cumsum(others) - others / 2) / (events.sum() * others.sum())),
        "observed_expected": float(events.sum() / (share @ score)),
    }
    if not (((score == 0) & (events > 0)) | ((score == 1) & (others > 0))).any():
        losses = np.zeros_like(score)
        np.subtract(losses, events * np.log(np.where(score > 0, score, 1)), out=losses)
        np.subtract(losses, others * np.log1p(-np.where(score < 1, score, 0)), out=losses)
        found["log_score"] = float(losses.sum())
    return found


def _of_curve(score: Floats, mean: Floats, share: Floats) -> dict[str, float]:
    """Errors without bins: of the curve, and of the cumulative difference."""
    gap = np.where(np.abs(mean - score) < ROUNDING, 0.0, mean - score)
    error, difference = np.abs(gap), np.concatenate([[0.0], np.cumsum(share * gap)])
    order = np.argsort(error)
    below = np.cumsum(share[order])
    e50, e90 = error[order][np.minimum(np.searchsorted(below, (0.5, 0.9)), len(below) - 1)]
    return {
        "ici": float(share @ error),
        "e50": float(e50),
        "e90": float(e90),
        "emax": float(error.max()),
        "kuiper": float(np.ptp(difference)),
        "kolmogorov_smirnov": float(np.abs(difference).max()),
    }


def logit_values(score: Floats, mean: Floats, share: Floats) -> dict[str, float]:
    """Compute the intercept, the slope and the calibration in the large of distinct scores, by Newton's method."""
    x = logit(score)
    both = np.column_stack([np.ones_like(x), x])
    intercept, slope = _logistic(both, np.array([0.0, 1.0]), np.zeros_like(x), mean, share)
    (in_the_large,) = _logistic(both[:, :1], np.zeros(1), x, mean, share)
    return {"intercept": float(intercept), "slope": float(slope), "in_the_large": float(in_the_large)}


def _logistic(design: Floats, start: Floats, offset: Floats, mean: Floats, share: Floats) -> Floats:
    coefficients = start
    for _ in range(200):
        fitted = expit(offset + design @ coefficients)
        information = (design * (share * fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.solve(information, design.T @ (share * (mean - fitted)))
        coefficients = coefficients + step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return coefficients


def net_benefits(score: Floats, probability: Floats, thresholds: Sequence[float]) -> Floats:
    """Compute the net benefit at each threshold t: true positives less t / (1 - t) false positives, per row."""
    t = np.asarray(thresholds)
    treated = score[:, None] >= t
    return np.asarray((treated * (probability[:, None] - t / (1 - t) * (1 - probability[:, None]))).mean(axis=0))


def decision_losses(score: Floats, probability: Floats, thresholds: Sequence[float]) -> Floats:
    """Compute the mean loss at each threshold t: t for a false positive, 1 - t for a false negative."""
    t = np.asarray(thresholds)
    treated = score[:, None] >= t
    return np.asarray(np.where(treated, t * (1 - probability[:, None]), (1 - t) * probability[:, None]).mean(axis=0))


def top_label_rows(score: Floats, probability: Floats) -> tuple[Floats, Floats]:
    """Return the confidence of the more probable of two classes, and the probability that it is right."""
    second = score > 0.5  # of equal probabilities the first class is predicted
    return np.where(second, score, 1 - score), np.where(second, probability, 1 - probability)


def classwise_values(score: Floats, probability: Floats, bins: int = 15) -> dict[str, float]:
    """Compute the means over both classes of the ECE, plain and by class frequency, and of the squared error."""
    of_class = [bin_values(c, m, bins) for c, m in ((1 - score, 1 - probability), (score, probability))]
    ece = np.array([values["ece"] for values in of_class])
    frequency = np.array([1 - probability.mean(), probability.mean()])
    squares = np.mean([values["l2_error"] ** 2 for values in of_class])
    return {"ece": float(ece.mean()), "marginal_error": float(frequency @ ece), "rms_error": float(np.sqrt(squares))}
