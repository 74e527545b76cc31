"""Logs of other programs: JSON lines whose fields the caller names."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._files import file_names
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.read.answers import Answers, settled
from bayescal.read.fields import STATED, graded, json_records, log_files, stated, value_at, within

#: What to do about words that are no grades.
WORDS_HINT = "Other words are `classes=(wrong, right)`, and those of no answer `abstained`."


@public
def json_lines(
    paths: Any,
    *,
    correct: str,
    confidence: str,
    question: str | None = None,
    subject: str | None = None,
    cluster: str | None = None,
    model: str | None = None,
    classes: Classes = None,
    pattern: str = STATED,
    percent: bool = False,
    logprob: bool = False,
    partial: str = "refuse",
    abstained: str | Sequence[Any] | None = None,
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
        Path of the question within its subject. Several answers of a model to one question are its epochs, in the order
        of the files. By default each line is a question of its own.
    subject : str, optional
        Path of the subject. By default each file is a subject, with its name, and the folder if names are equal.
    cluster : str, optional
        Path of the cluster; without `subject`, clusters lie within a file. By default each question is one.
    model : str, optional
        Path of the name of the model, in files of several models. By default all answers are of one model.
    classes : sequence of two, optional
        Grades of wrong and of right answers, compared as text; others are refused. By default I, no, false and 0 are
        wrong, and C, yes, true and 1 right.
    pattern, percent, partial, abstain
        As for `inspect`.
    abstained : str or sequence, optional
        Grades of answers in which the model gave no answer. By default N, unless it is one of `classes`.
    logprob : bool, default False
        Whether the confidence is the logarithm of a probability, at most 0.

    Returns
    -------
    Answers
        One row per line.

    Raises
    ------
    FileNotFoundError
        If `paths` names no file.
    ValueError
        If no line has a field, grades have another form, answers are missing, or options exclude each other:
        `percent` and `logprob`, or a grade in `classes` and in `abstained`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = path.write_text('{"grade": "C", "sure": "80%"}\n{"grade": "N"}\n')
    >>> answers = bc.read.json_lines(path, correct="grade", confidence="sure", abstain="drop")
    >>> answers.confidence.tolist(), answers.dropped
    ([0.8], 1)
    """
    read_confidence = stated(pattern, percent, logprob, abstain)
    files = list(log_files(paths, ["*.jsonl"], "files of JSON lines"))
    lines = [
        (file, number, each)
        for path, file in zip(files, file_names(files), strict=True)
        for number, each in json_records(path).items()
    ]
    records, places = [each for *_, each in lines], [f"line {number} of '{file}'" for file, number, _ in lines]
    values: dict[str, list[Any]] = {}
    needed = {"correct": correct, "confidence": confidence}
    of_rows = {"question": question, "subject": subject, "cluster": cluster, "model": model}
    for name, steps in (needed | of_rows).items():
        if steps is None:
            continue
        values[name] = [value_at(each, steps) for each in records]
        lacking = [i for i, value in enumerate(values[name]) if value is None]
        if len(lacking) == len(lines) or (lacking and name in of_rows):
            i = lacking[0]
            near = _checks.did_you_mean(steps, records[i])
            raise ValueError(
                f"`{name}` must be a field of every line; {len(lacking)} of {len(lines)} lines have no "
                f"{quoted(steps)}, first {places[i]}.{near} Its keys are {quoted(list(records[i]))}."
            )
    grades, no_answer = values["correct"], _no_answer(abstained, classes)
    if classes is not None:
        grades = _graded_by(_pair(classes), grades, no_answer, places)
    of_line = [file for file, *_ in lines]
    columns: dict[str, list[Any]] = {
        "correct": graded(grades, partial, no_answer, places, WORDS_HINT),
        "confidence": read_confidence.column(values["confidence"], places),
        "subject": [str(each) for each in values.get("subject", of_line)],
        "question": [f"{file}/{number}" for file, number, _ in lines],
        "model": [str(each) for each in values.get("model", ["model"] * len(lines))],
    }
    # labels belong to a subject, and to a file if files are subjects
    spaces = columns["subject"] if subject is not None or len(files) > 1 else [""] * len(lines)
    if question is not None:
        columns["question"] = list(map(within, spaces, values["question"]))
    if cluster is not None:
        spaces = spaces if subject is None else [""] * len(lines)
        columns["cluster"] = list(map(within, spaces, values["cluster"]))
    seen: Counter[tuple[str, str]] = Counter()
    columns["epoch"] = []
    for key in zip(columns["model"], columns["question"], strict=True):
        seen[key] += 1
        columns["epoch"].append(seen[key])
    return settled(columns, abstain, of_line, statements=values["confidence"])


def _no_answer(abstained: str | Sequence[Any] | None, classes: Classes) -> tuple[Any, ...]:
    """Return the grades of abstention; classes are none."""
    of_classes = {_text(each) for each in (() if classes is None else classes)}
    if abstained is None:
        return () if "N" in of_classes else ("N",)
    grades = (abstained,) if isinstance(abstained, str) else tuple(abstained)
    if both := [each for each in grades if _text(each) in of_classes]:
        raise ValueError(f"`abstained` must be other grades than `classes`; both hold {quoted(both[0])}.")
    return grades


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
    if len({_text(each) for each in classes}) != 2 or len(classes) != 2:
        raise ValueError(f"`classes` must be the grades of wrong and of right answers, not {quoted(list(classes))}.")
    return classes[0], classes[1]
