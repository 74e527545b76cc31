"""Answers of language models, in rows: whether they are right, and their confidence."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of

ABSTAIN = ("refuse", "drop", "wrong")  #: Treatments of missing answers (without a grade or a confidence).


@public
@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Answers of one or several models, one row each; all columns have the same length.

    Parameters
    ----------
    correct : array-like of bool, shape (n_answers,)
        Whether each answer is right.
    confidence : array-like of float, shape (n_answers,)
        Confidence in each answer, in [0, 1].
    subject, question, model : array-like of str, shape (n_answers,), optional
        Subject of the question, the question, and the model that answered it. By default all rows have the same subject
        and model, and each its own question.
    epoch : array-like of int, shape (n_answers,), optional
        Number of the repetition of a question, from 1. By default 1.
    cluster : array-like of str, shape (n_answers,), optional
        Cluster of the question, such as the text that it is about. By default each question is a cluster.
    dropped, wrong : int, default 0
        Number of missing answers that were left out, and that count as wrong.
    remarks : sequence of str, optional
        Sentences about the answers, such as how many are missing.

    Raises
    ------
    ValueError
        If the columns have different lengths, `correct` is not boolean, 0 or 1, a confidence is outside [0, 1], a label
        is missing, or a model has two answers to the same question in the same epoch.

    Examples
    --------
    >>> bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6])
    Answers(3 answers to 3 questions, 1 subject, 1 model, 1 epoch; 2 right)
    """

    correct: Array
    confidence: Array
    subject: Array = field(default=None)  # type: ignore[arg-type]  # an array after `__post_init__`
    question: Array = field(default=None)  # type: ignore[arg-type]
    epoch: Array = field(default=None)  # type: ignore[arg-type]
    model: Array = field(default=None)  # type: ignore[arg-type]
    cluster: Array = field(default=None)  # type: ignore[arg-type]
    dropped: int = 0
    wrong: int = 0
    remarks: Sequence[str] = ()
    #: Fingerprint of the content of each question; None where it is unknown.
    _content: Array | None = field(default=None, init=False)
    #: For messages of functions that take columns.
    _instead_of_rows: ClassVar[str] = text_of("answers in place of rows")

    def __post_init__(self) -> None:
        n = len(self.correct)
        defaults = {"subject": np.full(n, "all"), "model": np.full(n, "model"), "epoch": np.ones(n, dtype=np.int64)}
        defaults["question"] = np.arange(n).astype(str)
        for name in COLUMNS:
            column = getattr(self, name)
            values = defaults.get(name, self.question) if column is None else np.asarray(column)
            object.__setattr__(self, name, _as_right(values) if name == "correct" else values)
        _checks.same_length(COLUMNS, [len(getattr(self, name)) for name in COLUMNS])
        for name in ("subject", "question", "epoch", "model", "cluster"):
            _checks.no_missing(name, _missing(getattr(self, name)))
        _require_one_answer(self.model, self.question, self.epoch)
        if n:
            kept = self.confidence.dtype.kind == "f"
            numbers = self.confidence if kept else self.confidence.astype(float)
            object.__setattr__(self, "confidence", _checks.probabilities("confidence", numbers))
        object.__setattr__(self, "remarks", tuple(self.remarks))

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def accuracy(self) -> float:
        """Share of right answers among all rows."""
        return float(self.correct.mean())

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order of the rows."""
        return tuple(dict.fromkeys(self.model.tolist()))

    @property
    def subjects(self) -> tuple[str, ...]:
        """Subjects, in the order of the rows."""
        return tuple(dict.fromkeys(self.subject.tolist()))

    def by_model(self) -> "dict[str, Answers]":
        """Return the answers of each model.

        They are in the order of the rows. With several models, `dropped` and `wrong` are 0, because they are counted
        for all models together.

        Examples
        --------
        >>> answers = bc.read.Answers([1, 0], [0.9, 0.8], question=["q", "q"], model=["a", "b"])
        >>> {name: each.accuracy for name, each in answers.by_model().items()}
        {'a': 1.0, 'b': 0.0}
        """
        if len(self.models) == 1:
            return {self.models[0]: self}
        return {name: self._rows(np.flatnonzero(self.model == name)) for name in self.models}

    def _rows(self, order: Array) -> "Answers":
        answers = Answers(**{name: getattr(self, name)[order] for name in COLUMNS}, remarks=self.remarks)
        return answers._with_content(None if self._content is None else self._content[order])

    def _with_content(self, content: Array | None) -> "Answers":
        object.__setattr__(self, "_content", content)
        return self

    def rows(self, by: str | None = "subject") -> dict[str, Any]:
        """Return the arguments of `bayescal.evaluate`: labels, confidences, groups and clusters.

        Keys are ``y_true``, ``y_prob`` and ``target="confidence"``; ``by`` if there are several subjects; ``cluster``
        if a cluster has several answers, as a question with several epochs, because they depend on each other.

        Parameters
        ----------
        by : {"subject", None}, default "subject"
            Whether each subject is a group; answers to a single subject have no groups.

        Raises
        ------
        ValueError
            If there are answers of several models.

        Examples
        --------
        >>> list(bc.read.Answers([1, 0], [0.9, 0.8], question=["a", "a"], epoch=[1, 2]).rows())
        ['y_true', 'y_prob', 'target', 'cluster']
        """
        _checks.one_of("by", by, ("subject", None))
        self._require_one_model()
        arguments = {"y_true": self.correct, "y_prob": self.confidence, "target": "confidence"}
        if by is not None and len(self.subjects) > 1:
            arguments["by"] = self.subject
        return arguments | ({"cluster": self.cluster} if self._clustered else {})

    @property
    def _clustered(self) -> bool:
        return len(set(self.cluster.tolist())) < len(self)

    def _require_one_model(self) -> None:
        if len(self.models) > 1:
            raise ValueError(
                f"the answers are of {len(self.models)} models, {quoted(list(self.models[:4]))}; evaluate one of them, "
                "as `answers.by_model()[name]`, or compare them: `bayescal.compare(**bayescal.read.matched(answers))`."
            )

    def __repr__(self) -> str:
        numbers = [(len(set(getattr(self, name).tolist())), name) for name in ("subject", "model", "epoch")]
        words = ", ".join(f"{n} {name}{'s' if n != 1 else ''}" for n, name in numbers)
        missing = f", {self.dropped} left out" * bool(self.dropped)
        missing += f", {self.wrong} missing and counted as wrong" * bool(self.wrong)
        n_questions = len(set(self.question.tolist()))
        return f"Answers({len(self)} answers to {n_questions} questions, {words}; {self.correct.sum()} right{missing})"


def _as_right(values: Array) -> Array:
    """Return booleans; refuse values other than booleans, 0 and 1."""
    if values.dtype.kind == "O":
        invalid = np.array([not (isinstance(each, Real | np.bool_) and each in (0, 1)) for each in values], bool)
    else:
        invalid = ~np.isin(values, (0, 1)) if values.dtype.kind in "biuf" else np.ones(len(values), bool)
    if invalid.any():
        i = int(np.argmax(invalid))
        raise ValueError(
            f"`correct` must be true or false, or 1 or 0; {int(invalid.sum())} of {len(values)} values are not, first "
            f"{quoted(values[i].item() if hasattr(values[i], 'item') else values[i])} at index {i}. For grades in "
            "words pass `[grade == 'C' for grade in grades]`."
        )
    return values.astype(bool)


def _missing(values: Array) -> Array:
    """Mark None and NaN in a column of labels."""
    if values.dtype.kind == "O":
        return np.array([each is None or (isinstance(each, float) and math.isnan(each)) for each in values], bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def _require_one_answer(model: Array, question: Array, epoch: Array, files: Sequence[str] = ()) -> None:
    """Require one answer per model, question and epoch; `files` names the file of each row for the message."""
    keys = list(zip(model.tolist(), question.tolist(), epoch.tolist(), strict=True))
    first: dict[tuple[Any, Any, Any], int] = {}
    twice = [i for i, key in enumerate(keys) if first.setdefault(key, i) != i]
    if not twice:
        return
    i, j = first[keys[twice[0]]], twice[0]
    places = f"in {quoted(files[i])} and in {quoted(files[j])}" if len(files) else f"at indexes {i} and {j}"
    hint = "Read each run once." if len(files) else "Repetitions of a question have different numbers in `epoch`."
    raise ValueError(
        f"each question must have one answer per model and epoch; {len(twice)} of {len(keys)} answers are to a "
        f"question that has one already, first {_place(*keys[j][1:])} of model {quoted(keys[j][0])}: {places}. {hint}"
    )


COLUMNS = tuple(each.name for each in fields(Answers))[:7]  #: Columns of `Answers`.


@public
def matched(answers: Any, *, by: str | None = None, unmatched: str = "refuse") -> dict[str, Any]:
    """Return the arguments of `bayescal.compare` for the answers of several models to the same questions.

    Parameters
    ----------
    answers : Answers, mapping of name to Answers, or sequence of Answers
        Answers of at least two models, which a mapping names. Rows are matched by question and epoch, in any order.
    by : {None, "subject"}, optional
        With "subject", models are compared over subjects, as data sets; see `bayescal.compare`.
    unmatched : {"refuse", "drop"}, default "refuse"
        What to do with answers to questions that not all models answered. With "drop", a warning says how many are left
        out.

    Returns
    -------
    dict
        ``y_true`` and ``y_prob``, which map names to columns, and ``target="confidence"``; ``cluster`` if
        clusters have several answers; ``by``, the subject, if it is asked for.

    Raises
    ------
    ValueError
        If there are fewer than two models, questions do not match, or the clusters, the subjects (with `by`) or the
        contents of matched questions differ. Logs of lm-evaluation-harness and of Inspect hold contents.

    Examples
    --------
    >>> a = bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6], question=["x", "y", "z"])
    >>> b = bc.read.Answers([1, 1, 0], [0.7, 0.9, 0.9], question=["z", "y", "x"])
    >>> rows = bc.read.matched({"a": a, "b": b})
    >>> rows["y_true"]["b"].tolist()
    [False, True, True]
    """
    _checks.one_of("by", by, (None, "subject"))
    _checks.one_of("unmatched", unmatched, ("refuse", "drop"))
    named = _named(answers)
    if len(named) < 2:
        raise ValueError(f"`answers` must hold at least two models; there is {quoted(list(named))}.")
    places: dict[str, dict[tuple[str, int], int]] = {}
    for name, each in named.items():
        each._require_one_model()
        keys = zip(each.question.tolist(), each.epoch.tolist(), strict=True)
        places[name] = {key: i for i, key in enumerate(keys)}
    common = [key for key in next(iter(places.values())) if all(key in rows for rows in places.values())]
    left_out = {
        name: [key for key in rows if any(key not in others for others in places.values())]
        for name, rows in places.items()
    }
    if any(left_out.values()):
        words = "; ".join(
            f"{len(keys)} of {len(named[name])} answers of {quoted(name)}, first to {_place(*keys[0])}"
            for name, keys in left_out.items()
            if keys
        )
        if unmatched == "refuse" or not common:
            hint = "Pass `unmatched='drop'` to leave them out." if common else "No question is common to all models."
            raise ValueError(f"`answers` must be to the same questions; not all models answered {words}. {hint}")
        warnings.warn(
            f"Questions that not all models answered are left out: {words}.", skip_file_prefixes=_checks.PACKAGE
        )
    orders = {name: np.array([rows[key] for key in common]) for name, rows in places.items()}
    columns = {name: {key: getattr(each, name)[orders[key]] for key, each in named.items()} for name in COLUMNS[:2]}
    arguments = {"y_true": columns["correct"], "y_prob": columns["confidence"], "target": "confidence"}
    (first, each) = next(iter(named.items()))
    of_rows = each._rows(orders[first])
    _require_same(of_rows, first, {name: each._rows(orders[name]) for name, each in named.items()}, by is not None)
    if by is not None:
        arguments["by"] = of_rows.subject
    return arguments | ({"cluster": of_rows.cluster} if of_rows._clustered else {})


@public
def judged(answers: Answers, checked: Answers) -> dict[str, Any]:
    """Return the arguments of `bayescal.labels.judged` for answers that a judge graded and a person graded in part.

    Parameters
    ----------
    answers : Answers
        The answers of one model with the grades of a judge, as from ``inspect(log, scorer="judge")``.
    checked : Answers
        Some of the same answers with the grades of a person, as from
        ``inspect(log, scorer="person", abstain="drop")``. They are found by question and epoch.

    Returns
    -------
    dict
        ``y_true``, the grades of the person, which are NaN for the other answers; ``y_prob``, ``judge`` and
        ``target="confidence"``; ``cluster`` if a cluster has several answers, as a question with several epochs.

    Raises
    ------
    ValueError
        If there are answers of several models, or an answer of `checked` is not one of `answers` or differs from it
        in its confidence or content.

    Examples
    --------
    >>> answers = bc.read.Answers([1, 0, 1], [0.9, 0.8, 0.6], question=["x", "y", "z"])
    >>> checked = bc.read.Answers([0], [0.6], question=["z"])
    >>> bc.read.judged(answers, checked)["y_true"]
    array([nan, nan,  0.])
    """
    for each in (answers, checked):
        if not isinstance(each, Answers):
            raise TypeError(f"`answers` and `checked` must be Answers, not {type(each).__name__}.")
        each._require_one_model()
    keys, wanted = (list(zip(e.question.tolist(), e.epoch.tolist(), strict=True)) for e in (answers, checked))
    places = {key: i for i, key in enumerate(keys)}
    unknown = [key for key in wanted if key not in places]
    if unknown:
        raise ValueError(
            f"`checked` must be some of `answers`; {len(unknown)} of {len(wanted)} are not, first to "
            f"{_place(*unknown[0])}. Read both from the same logs, with the same options."
        )
    order = np.array([places[key] for key in wanted], dtype=np.intp)
    for what, attribute in {"confidence": "confidence", "content": "_content"}.items():
        ours, theirs = getattr(answers, attribute), getattr(checked, attribute)
        if ours is not None and theirs is not None and (differ := ours[order] != theirs).any():
            raise ValueError(
                f"`checked` must be some of `answers`; the {what} of {int(differ.sum())} of {len(wanted)} differs, "
                f"first of {_place(*wanted[int(differ.argmax())])}."
            )
    y_true = np.full(len(answers), np.nan)
    y_true[order] = checked.correct
    rows = answers.rows(by=None)
    return {"y_true": y_true, "y_prob": rows.pop("y_prob"), "judge": rows.pop("y_true"), **rows}


def _place(question: Any, epoch: int) -> str:
    return f"question {quoted(str(question))}" + (f" in epoch {epoch}" if epoch != 1 else "")


def _named(answers: Any) -> dict[str, Answers]:
    """Return the answers of each model by its name."""
    if isinstance(answers, Answers):
        return answers.by_model()
    if isinstance(answers, Mapping):
        pairs = list(answers.items())
    elif isinstance(answers, Iterable) and not isinstance(answers, str):
        parts = [each.by_model() if isinstance(each, Answers) else {"": each} for each in answers]
        pairs = [pair for each in parts for pair in each.items()]
    else:
        pairs = [("", answers)]
    wrong = next((each for _, each in pairs if not isinstance(each, Answers)), None)
    if wrong is not None:
        raise TypeError(
            "`answers` must be `Answers` of several models, or a dict of name to `Answers`; it holds "
            f"{type(wrong).__name__}."
        )
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError(
            f"`answers` must have different names of models; they are {quoted([name for name, _ in pairs])}. Pass a "
            "dict, as in `{'a': answers, 'b': others}`."
        )
    return named


def _require_same(of_rows: Answers, first: str, named: Mapping[str, Answers], subjects: bool) -> None:
    """Require that matched rows of all models are about the same question, in the same cluster and subject."""
    kinds = {"content": "_content", "cluster": "cluster"} | ({"subject": "subject"} if subjects else {})
    for name, each in named.items():
        for what, attribute in kinds.items():
            ours, theirs = getattr(of_rows, attribute), getattr(each, attribute)
            if ours is None or theirs is None:
                continue
            differ = (ours != theirs) & ~_missing(ours) & ~_missing(theirs)
            if not differ.any():
                continue
            i = int(np.argmax(differ))
            shown = "" if what == "content" else f", which is {quoted(str(ours[i]))} and {quoted(str(theirs[i]))}"
            hint = (
                text_of("samples without ids")
                if what == "content"
                else f"Read the logs of all models with the same `{what}`."
            )
            raise ValueError(
                f"`answers` must be to the same questions; the {what} of {int(differ.sum())} of {len(differ)} answers "
                f"differs between {quoted(first)} and {quoted(name)}, first of "
                f"{_place(of_rows.question[i], int(of_rows.epoch[i]))}{shown}. {hint}"
            )


def settled(
    columns: Mapping[str, Iterable[Any]],
    abstain: str,
    files: Sequence[str],
    *,
    statements: Sequence[Any] = (),
    lacking: str = "no grade",
    remarks: Sequence[str] = (),
    content: Iterable[Any] | None = None,
) -> Answers:
    """Return the answers that logs hold, after treating those that are missing as `abstain` says.

    `columns` are those of `Answers`; NaN stands for no grade and for no confidence. For messages, `files` names the
    file of each row, `statements` are values that should state confidences, and `lacking` is what rows without a grade
    lack.
    """
    data = {name: np.asarray(list(values)) for name, values in columns.items()}
    grade, confidence = data["correct"].astype(float), data["confidence"].astype(float)
    if not len(grade):
        raise ValueError("the logs hold no answers.")
    _require_one_answer(data["model"], data["question"], data["epoch"], files)
    of_rows = None if content is None else np.array(list(content), dtype=object)
    ungraded, unstated = np.isnan(grade), np.isnan(confidence)
    missing = ungraded | unstated
    count, remarks = int(missing.sum()), list(remarks)
    if count:
        words = _missing_words({lacking: ungraded, "no confidence": unstated & ~ungraded}, data, statements)
        if abstain == "refuse":
            raise ValueError(
                f"`abstain` must say what becomes of missing answers: of {len(grade)} answers, {words}. Pass "
                "`abstain='drop'` to leave them out, or `abstain='wrong'` to count them as wrong."
            )
        right = (grade == 1) & unstated
        if abstain == "wrong" and right.any():
            i = int(np.argmax(right))
            raise ValueError(
                f"`abstain='wrong'` would count {int(right.sum())} right answers without a confidence as wrong, first "
                f"to {_place(data['question'][i], int(data['epoch'][i]))}. Pass `abstain='drop'`."
            )
        treatment = "left out" if abstain == "drop" else "counted as wrong, with confidence 0 if none is stated"
        remarks.insert(0, f"Of {len(grade)} answers, {words}; {'it is' if count == 1 else 'they are'} {treatment}.")
        if abstain == "drop":
            if missing.all():
                raise ValueError(f"no answer is left: of {len(grade)} answers, {words}.")
            data = {name: values[~missing] for name, values in data.items()}
            grade, confidence = grade[~missing], confidence[~missing]
            of_rows = None if of_rows is None else of_rows[~missing]
        grade, confidence = np.where(np.isnan(grade), 0.0, grade), np.where(np.isnan(confidence), 0.0, confidence)
    outside = (confidence < 0) | (confidence > 1)
    if outside.any():
        i = int(np.argmax(outside))
        key, shares = _place(data["question"][i], int(data["epoch"][i])), (confidence > 0) & (confidence < 1)
        percentages = 10 < confidence.max() <= 100 and confidence.min() >= 0 and not shares.any()
        raise ValueError(
            f"confidences must lie in [0, 1]; {int(outside.sum())} of {len(grade)} do not, first {confidence[i]:g} of "
            f"{key}.{' Percentages? Pass `percent=True`.' if percentages else ''}"
        )
    counted = {"drop": {"dropped": count}, "wrong": {"wrong": count}}.get(abstain, {})
    answers: Any = data | {"correct": grade == 1, "confidence": confidence, "remarks": remarks, **counted}
    return Answers(**answers)._with_content(of_rows)


def _missing_words(kinds: Mapping[str, Array], data: Mapping[str, Array], statements: Sequence[Any]) -> str:
    """Say how many answers lack a grade and a confidence, and what the first text without a confidence is."""
    words = []
    for what, bad in kinds.items():
        if bad.any():
            i = int(np.argmax(bad))
            texts = statements if what == "no confidence" else ()
            text = next((each for each, no in zip(texts, bad.tolist(), strict=False) if no and each is not None), None)
            place = _place(data["question"][i], int(data["epoch"][i]))
            shown = "" if text is None else f"; the first text without a number is {quoted(text)}"
            words.append(f"{int(bad.sum())} {'have' if bad.sum() != 1 else 'has'} {what} (first {place}{shown})")
    return " and ".join(words)
