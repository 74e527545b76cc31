"""Proper scores of all classes: labels and a matrix of probabilities -> mean loss and its posterior; comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal.analyses.compare_rows import several_named
from bayescal.data.frames import same_rows
from bayescal.data.matrix import CHUNK, ClassRows
from bayescal.results.joint import checked_rope
from bayescal.results.remarks import reading_remarks
from bayescal.results.scores import MultiClassScore, ScoreComparison
from bayescal.stats.sums import effective_number

#: Convention of the multi-class Brier score -> its words.
CONVENTIONS = {"sum": "sum over {K} classes", "mean": "mean over {K} classes", "half": "half the sum over {K} classes"}


@dataclass(frozen=True)
class ProperScore:
    """A proper score of all classes: its words, the bounds of a loss, and its losses."""

    name: str
    convention: str
    prior_loss: float  #: Loss of the second half row of the prior; see `MultiClassScore`.
    largest: float  #: The largest loss.
    of_rows: Callable[[ClassRows], Floats]  #: Takes validated rows; returns the loss of each, shape (n_rows,).
    #: Takes a block of probabilities; returns the loss of every row if its label were each class, of the same shape.
    of_classes: Callable[[Floats], Floats]

    def posterior(self, rows: ClassRows, losses: Floats) -> MultiClassScore:
        """Return the posterior of the mean loss, given the losses of the rows."""
        weight = rows.scale_free().weight
        effective = float(len(losses)) if weight is None else effective_number(weight)
        return MultiClassScore(
            name=self.name, convention=self.convention, n_rows=len(losses),
            effective_rows=effective, observed=float(np.average(losses, weights=weight)),
            mean_square=float(np.average(losses**2, weights=weight)), prior_loss=self.prior_loss,
            largest=self.largest, remarks=reading_remarks(rows.reading, len(losses)),
        )  # fmt: skip


def brier_score(n_classes: int, convention: str = "sum") -> ProperScore:
    """Return the multi-class Brier score."""
    _checks.one_of("convention", convention, CONVENTIONS)
    scale = {"sum": 1.0, "mean": 1 / n_classes, "half": 0.5}[convention]

    def of_rows(rows: ClassRows) -> Floats:
        result, step = np.empty(len(rows)), max(CHUNK // n_classes, 1)
        for start in range(0, len(rows), step):  # blocks of rows in float64 fit in the cache
            some = slice(start, start + step)
            block = rows.matrix[some].astype(np.float64)
            block[np.arange(len(block)), rows.label[some]] -= 1
            result[some] = np.einsum("ik,ik->i", block, block)
        return scale * result

    def of_classes(block: Floats) -> Floats:
        return scale * (np.einsum("ik,ik->i", block, block)[:, None] + 1 - 2 * block)

    return ProperScore(
        "multi-class Brier score",
        CONVENTIONS[convention].format(K=n_classes),
        prior_loss=2 * scale,
        largest=2 * scale,
        of_rows=of_rows,
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
    classes: Classes = None,
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
    y_true: Any, y_prob: Any, *, weights: Any = None, classes: Classes = None, logits: bool = False
) -> MultiClassScore:
    r"""Compute the log score of a matrix of probabilities, with a posterior interval.

    It is :math:`-\frac1N \sum_i \log p_{i y_i}` in nats [1]_, or cross-entropy, log loss and negative log-likelihood.

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
    return -np.log(np.where(probability == 0, 1.0, probability))  # rows of weight 0 may have probability 0


SCORES = ("brier", "log")


@public
def compare(
    y_true: Any,
    y_prob: Mapping[str, Any],
    *,
    score: str = "brier",
    convention: str | None = None,
    rope: float = 0.01,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> ScoreComparison:
    """Compare classifiers on the same rows by a proper score of all classes.

    A proper score is smallest, in expectation, for the true probabilities. `compare` with matrices of probabilities
    describes whether the most probable class is right. This event differs between classifiers, so that its Brier
    score, log score and AUC cannot be compared.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Class numbers 0..K-1, or labels from `classes`.
    y_prob : mapping of str to array-like of shape (n_rows, n_classes)
        The probabilities of each classifier by name; at least two, with the same classes in the same order.
    score : {"brier", "log"}, default "brier"
        The multi-class Brier score [1]_ or the log score [2]_; see `bayescal.scores.multiclass_brier` and
        `bayescal.scores.multiclass_log`.
    convention : {"sum", "mean", "half"}, optional
        Of the Brier score, as for `bayescal.scores.multiclass_brier`; by default "sum".
    rope : float, default 0.01
        Half-width of the region of practical equivalence, in units of the score: classifiers whose scores differ by no
        more count as equal. Choose it before looking at results.

    Returns
    -------
    ScoreComparison
        The `MultiClassScore` of each classifier, and the joint posterior of all.

    Raises
    ------
    ValueError, TypeError
        As for `bayescal.scores.multiclass_brier` and `bayescal.scores.multiclass_log`; if there are fewer than two
        classifiers, or their numbers of rows or their classes differ; if `convention` is given for the log score.

    See Also
    --------
    compare : Calibration errors; scores of an event, whose probabilities are one column per classifier.

    References
    ----------
    .. [1] G. W. Brier (1950), equation 2, as for `multiclass_brier`.
    .. [2] I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14, 107-114.

    Examples
    --------
    Labels are drawn from known probabilities. The other classifier states 1/3 for every class.

    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> y = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> comparison = bc.scores.compare(y, {"true": true, "constant": np.full((2000, 3), 1 / 3)}, rng=1)
    >>> comparison.decide("true", "constant")["p_left"]
    1.0
    >>> comparison.difference("true", "constant").interval(0.95)
    (-0.18..., -0.15...)
    """
    names = several_named("y_prob", y_prob)
    _checks.one_of("score", score, SCORES)
    if convention is not None and score != "brier":
        raise ValueError("`convention` must not be given for `score='log'`, which has a single convention.")
    width, draws = checked_rope(rope), _checks.whole_number("draws", draws)
    same_rows({"y_true": y_true, **{f"y_prob[{n!r}]": p for n, p in y_prob.items()}, "weights": weights})
    rows, losses = [], []
    for name in names:
        with errors_of(f"classifier {name!r}"):
            rows.append(ClassRows.read(y_true, y_prob[name], classes=classes, logits=logits, weights=weights).checked())
            n_classes = rows[-1].n_classes
            chosen = brier_score(n_classes, convention or "sum") if score == "brier" else log_score(n_classes)
            losses.append(chosen.of_rows(rows[-1]))
    for name, each in zip(names[1:], rows[1:], strict=True):
        if each.classes != rows[0].classes:
            raise ValueError(
                f"`y_prob` must have the same classes in the same order; {names[0]!r} has {rows[0].classes!r}, "
                f"{name!r} has {each.classes!r}. Reorder the columns, as in `y_prob[{name!r}][columns]`."
            )
    scores = [chosen.posterior(each, of) for each, of in zip(rows, losses, strict=True)]
    seed = _checks.seeds(rng, 1)[0]
    correlation = _correlation(chosen, rows, losses, scores)
    return ScoreComparison(dict(zip(names, scores, strict=True)), correlation, width, draws, seed)


def _correlation(
    score: ProperScore, rows: Sequence[ClassRows], losses: Sequence[Floats], scores: Sequence[MultiClassScore]
) -> Floats:
    """Return the correlation of the posteriors, with which the differences have the variances of `_variance`."""
    correlation = np.eye(len(rows))
    weight, effective = rows[0].scale_free().weight, scores[0].effective_rows
    for (i, j), ends in _extremes(score, rows).items():
        variance = _variance(losses[i] - losses[j], weight, effective, ends)
        one, other = scores[i].sd, scores[j].sd
        shared = 1.0 if ends == (0.0, 0.0) else (one**2 + other**2 - variance) / (2 * one * other)
        correlation[i, j] = correlation[j, i] = np.clip(shared, -1, 1)
    return correlation


def _variance(difference: Floats, weight: Floats | None, effective: float, ends: tuple[float, float]) -> float:
    """Return the variance of the mean difference of losses in a Bayesian bootstrap with two half rows, at `ends`."""
    low, high = ends
    total = effective + 1
    mean = (effective * float(np.average(difference, weights=weight)) + (low + high) / 2) / total
    square = (effective * float(np.average(difference**2, weights=weight)) + (low**2 + high**2) / 2) / total
    return max(square - mean**2, 0.0) / (effective + 2)


def _extremes(score: ProperScore, rows: Sequence[ClassRows]) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the smallest and the largest difference of the losses of classifiers i < j, over rows and classes."""
    first, limit = rows[0], score.prior_loss
    pairs = list(combinations(range(len(rows)), 2))
    ends = dict.fromkeys(pairs, (0.0, 0.0))
    step = max(CHUNK // first.n_classes, 1)
    for start in range(0, len(first), step):
        some = slice(start, start + step)
        counted = ... if first.weight is None else first.weight[some] > 0
        of_classes = [score.of_classes(each.matrix[some][counted].astype(np.float64)) for each in rows]
        for i, j in pairs:
            difference = of_classes[i] - of_classes[j]
            low, high = ends[i, j]
            ends[i, j] = min(low, float(difference.min(initial=0.0))), max(high, float(difference.max(initial=0.0)))
    return {pair: (max(low, -limit), min(high, limit)) for pair, (low, high) in ends.items()}
