"""Adapter for Inspect (inspect_ai): the metric `calibration`, for scorers whose scores have a confidence."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayescal._packages import require
from bayescal.evaluate import evaluate
from bayescal.read.fields import STATED, graded, stated, value_at

try:
    from inspect_ai.scorer import SampleScore, metric
except ModuleNotFoundError:
    require("inspect_ai")
    raise

__all__ = ["calibration"]


@metric(name="calibration", scores="unreduced")
def calibration(
    confidence: str = "metadata.confidence",
    pattern: str = STATED,
    percent: bool = False,
    partial: str = "refuse",
    abstain: str = "drop",
    bins: int = 15,
) -> Callable[[list[SampleScore]], dict[str, float]]:
    """Return a metric of Inspect: the posterior of the ECE of stated confidences.

    Answers to one sample in several epochs depend on each other: samples are the clusters of `bayescal.evaluate`.

    Parameters
    ----------
    confidence : str, default "metadata.confidence"
        Path of the confidence: ``"metadata.KEY"`` of the score, ``"sample_metadata.KEY"``, ``"answer"`` or
        ``"explanation"``, whose text states it.
    pattern, percent, partial
        As for `bayescal.read.inspect`.
    abstain : {"drop", "wrong", "refuse"}, default "drop"
        What to do with answers that have the grade N or no confidence; ``missing`` counts them. Scores that are NaN are
        not passed to metrics.
    bins : int, default 15
        Number of bins of equal width.

    Returns
    -------
    callable
        A function of scores that returns ``ece``, ``ece_low`` and ``ece_high`` (posterior mean, 95 % credible
        interval), ``ece_if_calibrated``, ``p_calibrated``, ``n_answers`` and ``missing``.

    Raises
    ------
    ValueError
        By the metric: if grades have another form, a confidence is outside [0, 1], or answers are missing and
        ``abstain="refuse"``.

    Examples
    --------
    >>> from inspect_ai.scorer import accuracy, scorer
    >>> from bayescal.plugins.inspect_ai import calibration
    >>> @scorer(metrics=[accuracy(), calibration()])
    ... def graded(): ...
    """
    read = stated(pattern, percent)

    def calibration_of(scores: list[SampleScore]) -> dict[str, float]:
        grades = np.array(_grades(scores, partial))
        values = np.array([read(_value(each, confidence)) for each in scores], dtype=float)
        sample = np.array([str(each.sample_id) for each in scores])
        missing = np.isnan(grades) | np.isnan(values)
        if missing.any() and abstain == "refuse":
            first = str(sample[int(np.argmax(missing))])
            raise ValueError(
                f"`abstain='refuse'`: {int(missing.sum())} of {len(scores)} answers have no grade or no confidence, "
                f"first that to sample {first!r}."
            )
        if abstain == "wrong" and ((grades == 1) & np.isnan(values)).any():
            raise ValueError("`abstain='wrong'` would count right answers without a confidence as wrong.")
        if abstain == "drop":
            grades, values, sample = grades[~missing], values[~missing], sample[~missing]
        numbers = {"n_answers": float(len(grades)), "missing": float(missing.sum())}
        if not len(grades):
            return (
                dict.fromkeys(("ece", "ece_low", "ece_high", "ece_if_calibrated", "p_calibrated"), math.nan) | numbers
            )
        repeated = len(np.unique(sample)) < len(sample)
        ev: Any = evaluate(
            np.nan_to_num(grades) == 1,
            np.nan_to_num(values),
            target="confidence",
            cluster=sample if repeated else None,
            bins=bins,
            rng=1,
        )
        low, high = ev.ece.interval()
        posterior = {"ece": ev.ece.mean(), "ece_low": low, "ece_high": high, "ece_if_calibrated": ev.null.mean()}
        return {name: float(value) for name, value in (posterior | {"p_calibrated": ev.p_calibrated}).items()} | numbers

    return calibration_of


def _grades(scores: Sequence[SampleScore], partial: str) -> list[float]:
    places = [f"sample {each.sample_id!r}" for each in scores]
    return graded([each.score.value for each in scores], partial, ("N",), places)


def _value(score: SampleScore, path: str) -> Any:
    of_score = {"metadata": score.score.metadata, "answer": score.score.answer, "explanation": score.score.explanation}
    return value_at({**of_score, "sample_metadata": score.sample_metadata}, path)
