"""Logs of other programs: JSON lines whose fields the caller names."""

import math
from collections.abc import Sequence
from typing import Any

from bayescal import _checks
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.read.answers import Answers, settled
from bayescal.read.fields import STATED, graded, json_records, log_files, require_abstain, stated, value_at


@public
def json_lines(
    paths: Any,
    *,
    correct: str,
    confidence: str,
    question: str | None = None,
    subject: str | None = None,
    cluster: str | None = None,
    classes: Sequence[Any] | None = None,
    pattern: str = STATED,
    percent: bool = False,
    logprob: bool = False,
    partial: str = "refuse",
    abstained: str | Sequence[Any] = "N",
    abstain: str = "refuse",
) -> Answers:
    r"""Read answers from JSON lines of any program: one object per answer, paths name its fields.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, folders that contain files ``*.jsonl`` at any depth, or wildcards.
    correct, confidence : str
        Paths of the grade and of the confidence in an object, with dots, as in ``"scores.match.value"``. A confidence
        is a number, or a text that states one.
    question : str, optional
        Path of the question. Several answers to one question are its epochs, in the order of the files. By default each
        line is a question of its own.
    subject : str, optional
        Path of the subject. By default the name of the file.
    cluster : str, optional
        Path of the cluster. By default the answers to one question are a cluster.
    classes : sequence of two, optional
        Grades of wrong and of right answers, compared as text; others are refused. By default I, no, false and 0 are
        wrong, and C, yes, true and 1 right.
    pattern, percent, partial, abstained, abstain
        As for `inspect`.
    logprob : bool, default False
        Whether the confidence is the logarithm of a probability.

    Returns
    -------
    Answers
        One row per line.

    Raises
    ------
    FileNotFoundError
        If `paths` names no file.
    ValueError
        If no line has a field, grades have another form, or answers are missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import bayescal as bc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = path.write_text('{"grade": "C", "sure": "80%"}\n{"grade": "N"}\n')
    >>> answers = bc.read.json_lines(path, correct="grade", confidence="sure", abstain="drop")
    >>> answers.confidence.tolist(), answers.dropped
    ([0.8], 1)
    """
    require_abstain(abstain)
    read_confidence = stated(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)" if logprob else pattern, percent)
    files = log_files(paths, ["*.jsonl"], "files of JSON lines")
    records = [(path.stem, number, each) for path in files for number, each in enumerate(json_records(path), 1)]
    places = [f"line {number} of '{stem}'" for stem, number, _ in records]
    named = {"correct": correct, "confidence": confidence}
    of_rows = {"question": question, "subject": subject, "cluster": cluster}
    for name, steps in (named | of_rows).items():
        values = [None if steps is None else value_at(each, steps) for *_, each in records]
        lacking = [i for i, value in enumerate(values) if value is None]
        if steps is not None and (len(lacking) == len(values) or (lacking and name in of_rows)):
            i = lacking[0]
            near = _checks.did_you_mean(steps, records[i][2])
            raise ValueError(
                f"`{name}` must be a field of every line; {len(lacking)} of {len(values)} lines have no "
                f"{quoted(steps)}, first {places[i]}.{near} Its keys are {quoted(list(records[i][2]))}."
            )
    no_answer = (abstained,) if isinstance(abstained, str) else tuple(abstained)
    grades = [value_at(each, correct) for *_, each in records]
    if classes is not None:
        grades = _graded_by(_pair(classes), grades, no_answer, places)
    confidences = [read_confidence(value_at(each, confidence)) for *_, each in records]
    seen: dict[str, int] = {}
    epochs, questions = [], []
    for (stem, number, each), place in zip(records, places, strict=True):
        key = place if question is None else str(value_at(each, question))
        seen[key] = seen.get(key, 0) + 1
        questions.append(key if question else f"{stem}/{number}")
        epochs.append(seen[key])
    columns: dict[str, list[Any]] = {
        "correct": graded(grades, partial, no_answer, places),
        "confidence": [math.exp(value) if logprob else value for value in confidences],
        "subject": [stem if subject is None else str(value_at(each, subject)) for stem, _, each in records],
        "question": questions,
        "epoch": epochs,
        "model": ["model"] * len(records),
    }
    if cluster is not None:
        columns["cluster"] = [str(value_at(each, cluster)) for *_, each in records]
    return settled(columns, abstain, [stem for stem, *_ in records])


def _graded_by(
    classes: tuple[Any, Any], grades: Sequence[Any], abstained: Sequence[Any], places: Sequence[str]
) -> list[Any]:
    """Return 0 and 1 for the grades of wrong and of right answers, compared as text; refuse other grades."""
    numbers = {_text(each): number for number, each in enumerate(classes)}
    missing = [each is None or each in abstained for each in grades]
    other = [i for i, each in enumerate(grades) if not missing[i] and _text(each) not in numbers]
    if other:
        raise ValueError(
            f"grades must be one of `classes`, {quoted(list(classes))}; {len(other)} of {len(grades)} are not, first "
            f"{quoted(grades[other[0]])} of {places[other[0]]}."
        )
    return [None if no else numbers[_text(each)] for each, no in zip(grades, missing, strict=True)]


def _text(grade: Any) -> str:
    """Return a grade as text; true and false as in JSON."""
    return str(grade).lower() if isinstance(grade, bool) else str(grade)


def _pair(classes: Sequence[Any]) -> tuple[Any, Any]:
    if len(classes) != 2 or classes[0] == classes[1]:
        raise ValueError(f"`classes` must be the grades of wrong and of right answers, not {quoted(list(classes))}.")
    return classes[0], classes[1]
