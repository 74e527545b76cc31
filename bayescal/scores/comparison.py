"""Compare classifiers by a proper score of all classes: rows -> losses -> joint posterior -> ScoreComparison."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal.analyses.compare_rows import named_classifiers
from bayescal.data.alignment import same_rows
from bayescal.data.matrix import CHUNK, ClassRows
from bayescal.results.joint import checked_rope
from bayescal.results.scores import MultiClassScore, ScoreComparison
from bayescal.scores.multiclass import ProperScore, brier_score, log_score

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
    classes: Sequence[Any] | None = None,
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
    draws, rng, weights, classes, logits
        As for `bayescal.evaluate`.

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
    .. [1] G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
       1-3, equation 2.
    .. [2] I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14, 107-114.

    Examples
    --------
    Labels are drawn from known probabilities. The other classifier states 1/3 for every class.

    >>> import numpy as np
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> y = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> comparison = bc.scores.compare(y, {"true": true, "constant": np.full((2000, 3), 1 / 3)}, rng=1)
    >>> comparison.decide("true", "constant")["p_left"]
    1.0
    >>> comparison.difference("true", "constant").interval(0.95)
    (-0.18..., -0.15...)
    """
    names = named_classifiers("y_prob", y_prob)
    _checks.one_of("score", score, SCORES)
    if convention is not None and score != "brier":
        raise ValueError("`convention` must not be given for `score='log'`, which has a single convention.")
    width, draws = checked_rope(rope), _checks.whole_number("draws", draws)
    same_rows({"y_true": y_true, **{f"y_prob[{n!r}]": p for n, p in y_prob.items()}, "weights": weights})
    rows, losses = [], []
    for name in names:
        with errors_of(f"classifier {name!r}"):
            rows.append(ClassRows.read(y_true, y_prob[name], classes=classes, logits=logits, weights=weights).checked())
            chosen = _chosen(score, rows[-1].n_classes, convention)
            losses.append(chosen.of_rows(rows[-1]))
    _require_same_classes(names, rows)
    scores = [chosen.posterior(each, of) for each, of in zip(rows, losses, strict=True)]
    seed = _checks.seeds(rng, 1)[0]
    correlation = _correlation(chosen, rows, losses, scores)
    return ScoreComparison(dict(zip(names, scores, strict=True)), correlation, width, draws, seed)


def _chosen(score: str, n_classes: int, convention: str | None) -> ProperScore:
    return brier_score(n_classes, convention or "sum") if score == "brier" else log_score(n_classes)


def _require_same_classes(names: Sequence[str], rows: Sequence[ClassRows]) -> None:
    for name, each in zip(names[1:], rows[1:], strict=True):
        if each.classes != rows[0].classes:
            raise ValueError(
                f"`y_prob` must have the same classes in the same order; {names[0]!r} has {rows[0].classes!r}, "
                f"{name!r} has {each.classes!r}. Reorder the columns, as in `y_prob[{name!r}][columns]`."
            )


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
