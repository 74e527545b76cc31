"""Adapter for Inspect (inspect_ai): the metric `calibration`, for scorers whose scores have a confidence."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from bayescal._meant import attributes
from bayescal._packages import require
from bayescal.evaluate import evaluate
from bayescal.read.answers import settled
from bayescal.read.fields import STATED, graded, stated, value_at

try:
    from inspect_ai.scorer import SampleScore, metric
except ModuleNotFoundError:
    require("inspect_ai")
    raise

__all__ = ["calibration"]
__getattr__ = attributes(__name__, __all__)
#: Names of the values that describe the posterior.
POSTERIOR = ("ece", "ece_low", "ece_high", "ece_if_calibrated", "p_calibrated")


def _documented(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a metric of Inspect, whose decorator drops docstring and signature."""
    return update_wrapper(metric(name=function.__name__, scores="unreduced")(function), function)


@_documented
def calibration(
    confidence: str = "metadata.confidence",
    pattern: str = STATED,
    percent: bool = False,
    partial: str = "refuse",
    abstain: str = "drop",
    bins: int = 15,
) -> Callable[[list[SampleScore]], dict[str, float]]:
    """Return a metric of Inspect: the posterior of the ECE of stated confidences.

    The evaluation is ``bayescal.evaluate(..., target="confidence", rng=1)``. Answers to one sample in several epochs
    depend on each other: samples are its clusters.

    Parameters
    ----------
    confidence : str, default "metadata.confidence"
        Path of the confidence: ``"metadata.KEY"`` of the score, ``"sample_metadata.KEY"``, ``"answer"`` or
        ``"explanation"``, whose text states it.
    pattern, percent, partial
        As for `bayescal.read.inspect`.
    abstain : {"drop", "wrong", "refuse"}, default "drop"
        Treatment of answers that have the grade N or no confidence; unlike `bayescal.read.inspect`, the default leaves
        them out. ``missing`` counts them, except scores that are NaN, which Inspect does not pass to metrics.
    bins : int, default 15
        Number of bins of equal width.

    Returns
    -------
    callable
        A function of scores that returns ``ece``, ``ece_low`` and ``ece_high`` (posterior mean, 95 % credible
        interval), ``ece_if_calibrated``, ``p_calibrated``, ``n_answers`` and ``missing``. The first five are NaN if no
        answer is left, or if all answers are those of one sample in several epochs, which do not show how samples
        differ.

    Raises
    ------
    ValueError
        If `abstain` is another word. By the metric: if grades have another form, a confidence is outside [0, 1], or
        answers are missing and ``abstain="refuse"``.

    Examples
    --------
    Of 40 answers with the confidence 0.9, half are right. In a scorer, the metric stands beside others, as in
    ``@scorer(metrics=[accuracy(), calibration()])``.

    >>> from inspect_ai.scorer import SampleScore, Score
    >>> from bayescal.plugins.inspect_ai import calibration
    >>> scores = [Score(value="CI"[i % 2], metadata={"confidence": 0.9}) for i in range(40)]
    >>> values = calibration()([SampleScore(score=score, sample_id=i) for i, score in enumerate(scores)])
    >>> round(values["ece"], 2), values["n_answers"]
    (0.36, 40.0)
    """
    read = stated(pattern, percent, abstain=abstain)

    def calibration_of(scores: list[SampleScore]) -> dict[str, float]:
        places = [f"sample {each.sample_id!r}" for each in scores]
        columns: dict[str, list[Any]] = {
            "correct": graded([each.score.value for each in scores], partial, ("N",), places),
            "confidence": read.column([_value(each, confidence) for each in scores], places),
            "question": [str(each.sample_id) for each in scores],
        }
        missing = [
            math.isnan(a) or math.isnan(b) for a, b in zip(columns["correct"], columns["confidence"], strict=True)
        ]
        if all(missing) and (abstain == "drop" or not scores):
            return dict.fromkeys(POSTERIOR, math.nan) | {"n_answers": 0.0, "missing": float(len(scores))}
        seen: Counter[str] = Counter()
        for each in columns["question"]:
            seen[each] += 1
            columns.setdefault("epoch", []).append(seen[each])
        constant = {"subject": "all", "model": "model"}
        answers = settled(columns | {name: [value] * len(scores) for name, value in constant.items()}, abstain, ["log"])
        values: Sequence[float] = [math.nan] * len(POSTERIOR)
        if len(answers) == 1 or len(set(answers.cluster.tolist())) > 1:
            ev: Any = evaluate(**answers.rows(by=None), bins=bins, rng=1)
            values = (ev.ece.mean(), *ev.ece.interval(), ev.null.mean(), ev.p_calibrated)
        numbers = (*values, len(answers), sum(missing))
        return dict(zip((*POSTERIOR, "n_answers", "missing"), map(float, numbers), strict=True))

    return calibration_of


def _value(score: SampleScore, path: str) -> Any:
    of_score = {"metadata": score.score.metadata, "answer": score.score.answer, "explanation": score.score.explanation}
    return value_at({**of_score, "sample_metadata": score.sample_metadata}, path)
