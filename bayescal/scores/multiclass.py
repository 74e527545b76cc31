"""Proper scores of all classes: labels and a matrix of probabilities -> mean loss of the rows and its posterior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats
from bayescal._meant import public
from bayescal.data.matrix import CHUNK, ClassRows
from bayescal.results.remarks import reading_remarks
from bayescal.results.scores import MultiClassScore
from bayescal.stats.sums import effective_number

#: Convention of the multi-class Brier score -> its words.
CONVENTIONS = {"sum": "sum over {K} classes", "mean": "mean over {K} classes", "half": "half the sum over {K} classes"}


@dataclass(frozen=True)
class ProperScore:
    """A proper score of all classes: its words, the bounds of a loss, and its losses."""

    name: str
    convention: str
    #: Loss of the second half row of the prior, and the largest loss; see `MultiClassScore`.
    prior_loss: float
    largest: float
    #: Takes validated rows; returns the loss of each, shape (n_rows,).
    of_rows: Callable[[ClassRows], Floats]
    #: Takes a block of probabilities; returns the loss of every row if its label were each class, of the same shape.
    of_classes: Callable[[Floats], Floats]

    def posterior(self, rows: ClassRows, losses: Floats) -> MultiClassScore:
        """Return the posterior of the mean loss, given the losses of the rows."""
        weight = rows.scale_free().weight
        effective = float(len(losses)) if weight is None else effective_number(weight)
        return MultiClassScore(
            name=self.name,
            convention=self.convention,
            n_rows=len(losses),
            effective_rows=effective,
            observed=float(np.average(losses, weights=weight)),
            mean_square=float(np.average(losses**2, weights=weight)),
            prior_loss=self.prior_loss,
            largest=self.largest,
            remarks=reading_remarks(rows.reading, len(losses)),
        )


def brier_score(n_classes: int, convention: str = "sum") -> ProperScore:
    """Return the multi-class Brier score."""
    _checks.one_of("convention", convention, CONVENTIONS)
    scale = {"sum": 1.0, "mean": 1 / n_classes, "half": 0.5}[convention]

    def of_classes(block: Floats) -> Floats:
        losses: Floats = np.einsum("ik,ik->i", block, block)[:, None] + 1 - 2 * block
        return scale * losses

    return ProperScore(
        "multi-class Brier score",
        CONVENTIONS[convention].format(K=n_classes),
        prior_loss=2 * scale,
        largest=2 * scale,
        of_rows=lambda rows: scale * _by_block(rows, _squared_errors),
        of_classes=of_classes,
    )


def log_score(n_classes: int) -> ProperScore:
    """Return the multi-class log score; probability 0 counts as the smallest positive float in `of_classes`."""
    return ProperScore(
        "multi-class log score",
        f"{n_classes} classes, in nats",
        prior_loss=2 * float(np.log(n_classes)),
        largest=float("inf"),
        of_rows=_log_losses,
        of_classes=lambda block: -np.log(np.maximum(block, np.finfo(np.float64).tiny)),
    )


@public
def multiclass_brier(
    y_true: Any,
    y_prob: Any,
    *,
    convention: str = "sum",
    weights: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> MultiClassScore:
    r"""Compute the Brier score of a matrix of probabilities, with a posterior interval.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Class numbers 0..K-1, or labels from `classes`.
    y_prob : array-like of float, shape (n_rows, n_classes)
        Probability of every class; each row sums to 1.
    convention : {"sum", "mean", "half"}, default "sum"
        "sum" is the definition of Brier [1]_, :math:`\frac1N \sum_i \sum_k (p_{ik} - 1\{y_i = k\})^2`, in [0, 2].
        "mean" divides it by the number of classes K, "half" by 2. With two classes, "mean" and "half" are the binary
        Brier score of `evaluate`. Programs differ, so state the convention with the number.
    weights, classes, logits
        As for `bayescal.evaluate`.

    Returns
    -------
    MultiClassScore
        The score as ``.observed``, its posterior ``.mean``, ``.sd`` and ``.interval(0.95)``.

    Raises
    ------
    ValueError, TypeError
        If the convention is unknown; if values are missing or invalid, or a row does not sum to 1, as for `evaluate`.

    See Also
    --------
    bayescal.scores.compare : The scores of several classifiers on the same rows, and their differences.

    References
    ----------
    .. [1] G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
       1-3, equation 2.

    Examples
    --------
    The first row has the loss 0.2^2 + 0.1^2 + 0.1^2 = 0.06, the second 0.3^2 + 0.5^2 + 0.2^2 = 0.38.

    >>> import bayescal as bc
    >>> y, p = [0, 1], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2]]
    >>> {name: round(bc.scores.multiclass_brier(y, p, convention=name).observed, 4) for name in ("sum", "mean", "half")}
    {'sum': 0.22, 'mean': 0.0733, 'half': 0.11}
    """
    _checks.one_of("convention", convention, CONVENTIONS)
    rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights).checked()
    score = brier_score(rows.n_classes, convention)
    return score.posterior(rows, score.of_rows(rows))


@public
def multiclass_log(
    y_true: Any,
    y_prob: Any,
    *,
    weights: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> MultiClassScore:
    r"""Compute the log score of a matrix of probabilities, with a posterior interval.

    It is :math:`-\frac1N \sum_i \log p_{i y_i}` in nats [1]_, also called cross-entropy, log loss and negative
    log-likelihood.

    Parameters
    ----------
    y_true, y_prob, weights, classes, logits
        As for `bayescal.scores.multiclass_brier`. Rows are not rescaled to sum to 1.

    Returns
    -------
    MultiClassScore
        The score as ``.observed``, its posterior ``.mean``, ``.sd`` and ``.interval(0.95)``. The prior half row has
        twice the loss of uniform probabilities, 2 log K.

    Raises
    ------
    ValueError, TypeError
        As for `bayescal.scores.multiclass_brier`; also if the class of a row has probability 0, because the score is
        then infinite. Probabilities are never clipped.

    References
    ----------
    .. [1] I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14, 107-114.

    Examples
    --------
    The score is -(log 0.8 + log 0.5) / 2.

    >>> import bayescal as bc
    >>> round(bc.scores.multiclass_log([0, 1], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2]]).observed, 4)
    0.4581
    """
    rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights).checked()
    score = log_score(rows.n_classes)
    return score.posterior(rows, score.of_rows(rows))


def _log_losses(rows: ClassRows) -> Floats:
    """Return -log of the probability of the class of each row; raise if a row of positive weight has probability 0."""
    probability = np.take_along_axis(rows.matrix, rows.label[:, None], axis=1)[:, 0].astype(np.float64)
    impossible = probability == 0 if rows.weight is None else (probability == 0) & (rows.weight > 0)
    if impossible.any():
        rule = "must exceed 0 for the class of the row, because the log score is infinite otherwise"
        hint = "To limit the loss, clip the probabilities, as in `np.clip(p, 1e-15, 1 - 1e-15)`, and report the limits."
        _checks.refuse("y_prob", rule, impossible, probability, hint)
    losses: Floats = -np.log(np.where(probability == 0, 1.0, probability))  # rows of weight 0 may have probability 0
    return losses


def _by_block(rows: ClassRows, losses: Callable[[Floats, Array], Floats]) -> Floats:
    """Return the losses of all rows, computed in float64 for blocks of rows that fit in the cache."""
    result, step = np.empty(len(rows)), max(CHUNK // rows.n_classes, 1)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        result[some] = losses(rows.matrix[some].astype(np.float64), rows.label[some])
    return result


def _squared_errors(block: Floats, label: Array) -> Floats:
    """Return the sum over classes of squared errors; the block is overwritten."""
    block[np.arange(len(block)), label] -= 1
    return np.einsum("ik,ik->i", block, block)
