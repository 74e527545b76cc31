"""Adapter for lm-evaluation-harness: functions that the YAML files of tasks name.

The ECE of a task. The metric ``brier_score`` passes the right choice and the probabilities of all choices, which `ece`
needs::

    metric_list:
      - metric: acc
        aggregation: mean
        higher_is_better: true
      - metric: brier_score
        aggregation: !function bayescal.plugins.lm_eval.ece
        higher_is_better: false

The ECE with its interval, beside the accuracy, for documents that hold the number or the letter of the right choice::

    process_results: !function bayescal.plugins.lm_eval.process_results
    metric_list:
      - {metric: acc, aggregation: mean, higher_is_better: true}
      - {metric: ece, aggregation: !function bayescal.plugins.lm_eval.ece, higher_is_better: false}
      - {metric: ece_low, aggregation: !function bayescal.plugins.lm_eval.ece_low, higher_is_better: false}
      - {metric: ece_high, aggregation: !function bayescal.plugins.lm_eval.ece_high, higher_is_better: false}
      - {metric: ece_if_calibrated, aggregation: !function bayescal.plugins.lm_eval.ece_if_calibrated,
         higher_is_better: false}

The evaluation is ``bayescal.evaluate(right, confidence, target="confidence", rng=1)``: 15 bins of equal width.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from bayescal._invalid import quoted
from bayescal._meant import attributes, public
from bayescal._texts import text_of
from bayescal.evaluate import evaluate
from bayescal.results.evaluation import Evaluation

__all__ = ["calibration", "ece", "ece_high", "ece_if_calibrated", "ece_low", "process_results"]
__getattr__ = attributes(__name__, __all__)

GOLD = ("gold", "label", "answer", "target", "answerKey")  #: Keys of documents with the right choice.
#: The number that lm_eval writes if the right choice is none of the choices; it counts as a wrong answer there.
NO_CHOICE = -100
CHOICES = "at least two choices"  #: The rule that questions with fewer choices violate.

Row = tuple[float, float]  #: Correctness and confidence.


@public
def calibration(gold: int | Sequence[int], log_likelihoods: Any) -> dict[str, Any]:
    """Return the values of one question under the names of all metrics, for a custom `process_results`.

    Parameters
    ----------
    gold : int or sequence of int
        The right choice, or all right choices.
    log_likelihoods : array-like of float, shape (n_choices,)
        Log-likelihood of each choice.

    Returns
    -------
    dict
        ``acc``, and under ``ece``, ``ece_low``, ``ece_high`` and ``ece_if_calibrated`` the pair of correctness and
        confidence, which the functions of these names aggregate.

    Raises
    ------
    ValueError
        If there are fewer than two choices, a log-likelihood is NaN or positive, all are minus infinity, or `gold`
        is not the number of a choice; -100, which lm-evaluation-harness writes if no choice is right, is accepted.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import calibration
    >>> calibration(1, [-2.0, -1.0])["ece"]
    (1.0, 0.731...)
    """
    ((right, confidence),) = _rows([(gold, log_likelihoods)], _of_logarithms)
    return {"acc": right, **dict.fromkeys(("ece", "ece_low", "ece_high", "ece_if_calibrated"), (right, confidence))}


@public
def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Return the values of one document of a multiple-choice task.

    Parameters
    ----------
    doc : mapping
        The document; one of ``gold``, ``label``, ``answer``, ``target`` and ``answerKey`` holds the number of the right
        choice, from 0, or its letter.
    results : sequence of (float, bool)
        Log-likelihood of each choice, and whether it is that of the greedy text.

    Returns
    -------
    dict
        As from `calibration`.

    Raises
    ------
    ValueError
        If none or several of these keys hold the right choice, or as for `calibration`.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import process_results
    >>> process_results({"answer": "B"}, [(-2.0, False), (-1.0, True)])["acc"]
    1.0
    """
    logs = [float(each[0]) for each in results]
    choices = {key: number for key in GOLD if (number := _number(doc.get(key), len(logs))) is not None}
    if len(set(choices.values())) != 1:
        raise ValueError(
            text_of("no number of the right choice", keys=", ".join(GOLD), last=len(logs) - 1, found=quoted(list(doc)))
        )
    return calibration(next(iter(choices.values())), logs)


@public
def ece(items: Iterable[Any]) -> float:
    r"""Return the posterior mean of the ECE.

    Parameters
    ----------
    items : iterable
        Per question, a pair of correctness and confidence; or of the right choice and the probabilities of all choices,
        as the metric ``brier_score`` has, or their log-likelihoods, as ``likelihood`` has.

    Returns
    -------
    float
        The posterior mean, in [0, 1], of :math:`\sum_b m_b |a_b - c_b|` [1]_: mass, accuracy and mean confidence of 15
        bins of equal width.

    Raises
    ------
    ValueError
        If `items` is empty, a correctness is not 0 or 1, a confidence is outside [0, 1], probabilities do not sum to
        1, or as for `calibration`.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import ece
    >>> items = [(i % 2, [0.7, 0.3]) for i in range(40)]
    >>> round(ece(items), 2)
    0.13

    References
    ----------
    .. [1] M. P. Naeini, G. Cooper and M. Hauskrecht (2015), "Obtaining well calibrated probabilities using Bayesian
       binning", AAAI.
    """
    return float(_evaluation(items).ece.mean())


@public
def ece_low(items: Iterable[Any]) -> float:
    """Return the lower end of the 95 % credible interval of the ECE, in [0, 1].

    The `items` are those of `ece`, with the same errors.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import ece_low
    >>> round(ece_low([(i % 2, [0.7, 0.3]) for i in range(40)]), 2)
    0.0
    """
    return float(_evaluation(items).ece.interval()[0])


@public
def ece_high(items: Iterable[Any]) -> float:
    """Return the upper end of the 95 % credible interval of the ECE, in [0, 1].

    The `items` are those of `ece`, with the same errors.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import ece_high
    >>> round(ece_high([(i % 2, [0.7, 0.3]) for i in range(40)]), 2)
    0.29
    """
    return float(_evaluation(items).ece.interval()[1])


@public
def ece_if_calibrated(items: Iterable[Any]) -> float:
    """Return the mean of the plug-in ECE of a calibrated model with the same confidences, in [0, 1].

    The `items` are those of `ece`, with the same errors.

    Examples
    --------
    >>> from bayescal.plugins.lm_eval import ece_if_calibrated
    >>> round(ece_if_calibrated([(i % 2, [0.7, 0.3]) for i in range(40)]), 2)
    0.06
    """
    return float(_evaluation(items).null.mean())


def _evaluation(items: Iterable[Any]) -> Evaluation:
    right, confidence = zip(*_rows(items, _row), strict=True)
    return cast(Evaluation, evaluate(np.array(right), np.array(confidence), target="confidence", rng=1))


def _rows(items: Iterable[Any], read: Callable[[Any, Any], Row | str]) -> list[Row]:
    """Return correctness and confidence of each question; `read` returns the rule if its values violate one."""
    items = list(items)
    if not items:
        raise ValueError("`items` must hold at least one question; it is empty.")
    rows: list[Row | str] = []
    for each in items:
        try:
            rows.append(read(*each))
        except (TypeError, ValueError):
            rows.append("two parts, which are numbers or lists of numbers")
    if rules := [row for row in rows if isinstance(row, str)]:
        i, count = rows.index(rules[0]), rules.count(rules[0])
        raise ValueError(
            f"a question must have {rules[0]}; {count} of {len(rows)} {'does' if count == 1 else 'do'} not, first at "
            f"index {i}: {quoted(items[i])}."
        )
    return cast(list[Row], rows)


def _row(gold: Any, values: Any) -> Row | str:
    if np.ndim(values) == 0:
        right, confidence = float(gold), float(values)
        valid = right in (0, 1) and 0 <= confidence <= 1
        return (right, confidence) if valid else "a correctness of 0 or 1, and a confidence in [0, 1]"
    numbers = np.asarray(values, dtype=float)
    if (numbers >= 0).all() and abs(numbers.sum() - 1) < 1e-4:
        return _of_choices(gold, numbers)
    return _of_logarithms(gold, numbers)


def _of_logarithms(gold: Any, values: Any) -> Row | str:
    logs = np.asarray(values, dtype=float)
    if logs.size < 2:
        return CHOICES
    top = logs.max()
    if not -np.inf < top <= 0:  # also if one is NaN
        return text_of("log-likelihoods of choices")
    likelihoods = np.exp(logs - top)
    return _of_choices(gold, likelihoods / likelihoods.sum())


def _of_choices(gold: Any, probabilities: Any) -> Row | str:
    """Return the row of the most probable choice."""
    right, n = np.atleast_1d(gold), probabilities.size
    if probabilities.ndim != 1 or n < 2:
        return CHOICES
    if not right.size or not np.isin(right, [*range(n), NO_CHOICE]).all():
        return "the number of the right choice, from 0"
    top = int(probabilities.argmax())
    return float(top in right), float(probabilities[top])


def _number(value: Any, n: int) -> int | None:
    """Return the number of a choice; a letter counts from A."""
    if isinstance(value, str) and len(value) == 1 and value.isascii() and value.isalpha():
        value = ord(value.upper()) - ord("A")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n else None
