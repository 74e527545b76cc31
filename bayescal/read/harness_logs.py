"""Logs of lm-evaluation-harness: the files ``samples_*.jsonl`` that ``--log_samples`` writes."""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.read.answers import Answers, settled
from bayescal.read.fields import STATED, graded, json_records, log_files, stated, value_at, within

Record = Mapping[str, Any]

#: Name of a file of samples: the task and the time of the run.
NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<time>\d{4}-\d\d-\d\dT[\d.+-]+))?\.jsonl")
CHOICE_SCORES = ("acc", "acc_norm")  #: Scores that the log-likelihoods of choices decide.


@public
def lm_eval(
    paths: Any,
    *,
    score: str | None = None,
    filter_name: str | None = None,
    confidence: str | None = None,
    pattern: str = STATED,
    percent: bool = False,
    subject: str | None = None,
    cluster: str | None = None,
    abstain: str = "refuse",
) -> Answers:
    r"""Read the samples that lm-evaluation-harness writes with ``--log_samples``.

    Multiple-choice questions have one log-likelihood per choice. The confidence is the largest probability of the
    softmax over the choices, and the answer is right if the most probable choice is. Generated answers need a
    confidence that their text states.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files ``samples_*.jsonl``, folders that contain them at any depth, or wildcards.
    score : str, optional
        The score that says whether an answer is right. For multiple choice, ``"acc"`` (default) or ``"acc_norm"``,
        which divides each log-likelihood by the number of characters of its choice before the softmax. For generated
        answers, by default the only metric of the log.
    filter_name : str, optional
        The filter of the answers. It is needed if a file contains the results of several filters, which are other
        readings of the same answers. A single filter of another name is used, too, with a remark.
    confidence : str, optional
        For generated answers, path of the confidence in a record, with dots, as in ``"doc.confidence"``. By default the
        generated text, ``"resps.0.0"``; it is needed if there are several responses to a question.
    pattern, percent
        As for `inspect`.
    subject : str, optional
        Path of the subject in a record, as in ``"doc.subject"``. By default the task.
    cluster : str, optional
        Path of the cluster within its task, as in ``"doc.passage"``: questions about one text depend on each other.
    abstain : {"refuse", "drop", "wrong"}, default "refuse"
        What to do with missing answers: those whose filter found none, or that state no confidence. ``drop`` leaves
        them out, ``wrong`` counts them as wrong, with confidence 0 if none is stated. A remark counts them.

    Returns
    -------
    Answers
        One row per question and model; the model is that of the file ``results_*.json`` of the same run, or else the
        folder.

    Raises
    ------
    FileNotFoundError
        If `paths` names no file.
    ValueError
        If ``acc`` in the log contradicts the log-likelihoods, a model has two answers to a question, several filters
        are in the log, or answers are missing.

    Notes
    -----
    For choices with log-likelihoods :math:`l_1, \dots, l_K` the confidence is :math:`\max_k e^{l_k} / \sum_j e^{l_j}`:
    the probability of a choice, given that the model writes one of the choices. With ``score="acc_norm"`` it is the
    same of :math:`l_k / n_k`, where :math:`n_k` is the number of characters of choice k. These are not probabilities of
    the model, but they decide the answer that ``acc_norm`` scores.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> line = {"doc_id": 0, "target": "1", "filtered_resps": [["-2.5", "False"], ["-1.0", "True"]], "acc": 1.0}
    >>> _ = (folder / "samples_law_2026-07-01T12-00-00.jsonl").write_text(json.dumps(line))
    >>> answers = bc.read.lm_eval(folder)
    >>> answers.subject.tolist(), answers.correct.tolist(), answers.confidence.round(3).tolist()
    (['law'], [True], [0.818])
    """
    read_confidence = stated(pattern, percent, abstain=abstain)
    columns: dict[str, list[Any]] = {name: [] for name in ("correct", "confidence", "subject", "question", "model")}
    columns |= {"cluster": []} if cluster is not None else {}
    files: list[str] = []
    statements: list[Any] = []
    content: list[str | None] = []
    other_filter: list[tuple[str, str]] = []
    unread = 0
    for path in log_files(paths, ["samples_*.jsonl"], "samples of lm-evaluation-harness", "results_*.json"):
        named = NAME.fullmatch(path.name)
        task = named["task"] if named else path.stem
        records, only = _of_one_filter(list(json_records(path).values()), filter_name, path)
        other_filter += [only] if only else []
        beside = path.absolute().with_name(f"results_{named['time']}.json") if named and named["time"] else None
        run = _results(beside) if beside and beside.is_file() else {}
        model = str(run.get("model_name") or path.absolute().parent.name)
        places = [f"document {each.get('doc_id')} in '{path.name}'" for each in records]
        responses = records[0].get("filtered_resps")  # of choices, log-likelihoods and whether the text is greedy
        if isinstance(responses, list) and responses and isinstance(responses[0], list | int | float):
            if confidence is not None:
                raise ValueError(
                    f"`confidence` must be left out for multiple choice, whose confidence is that of the choices; "
                    f"'{path.name}' has log-likelihoods of choices."
                )
            right, certain, unchecked = _of_choices(records, score or "acc", _delimiter(run, task), path.name)
            unread += unchecked
            statements.extend([None] * len(records))
        else:
            key = _metric(records, score, path.name)
            texts = [value_at(each, confidence or _only_response(each, path)) for each in records]
            statements.extend(texts)
            certain = np.array(read_confidence.column(texts, places))
            invalid = [value_at(each, "filtered_resps.0") == "[invalid]" for each in records]
            grades = graded([each.get(key) for each in records], None, (), places, "Name another `score`.")
            right = np.where(invalid, math.nan, grades)
        columns["correct"].extend(right)
        columns["confidence"].extend(certain)
        subjects = [None if subject is None else _required("subject", each, subject, path) for each in records]
        columns["subject"].extend(task if each is None else str(each) for each in subjects)
        columns["question"].extend(within(task, each.get("doc_id")) for each in records)
        if cluster is not None:
            columns["cluster"].extend(within(task, _required("cluster", each, cluster, path)) for each in records)
        columns["model"].extend([model] * len(records))
        content.extend(_content(each) for each in records)
        files.extend([path.name] * len(records))
    columns["epoch"] = [1] * len(files)
    remarks = []
    if other_filter:
        if len(other_filter) == len(set(files)):
            raise ValueError(
                f"no log has the filter {quoted(filter_name)}; the first has only {quoted(other_filter[0][1])}."
            )
        remarks.append(
            f"{len(other_filter)} logs have a single filter that is not {quoted(filter_name)}; it is used, first "
            f"{quoted(other_filter[0][1])} of '{other_filter[0][0]}'."
        )
    if unread:
        remarks.append(
            f"The right choice of {unread} questions could not be read from `target`; `acc` of the log is used "
            "unchecked."
        )
    lacking = "no answer that the filter found"
    return settled(columns, abstain, files, statements=statements, lacking=lacking, remarks=remarks, content=content)


def _content(record: Record) -> str | None:
    """Return what identifies a question: hashes of the document and of its target; None in logs without them."""
    hashes = [record.get(name) for name in ("doc_hash", "target_hash")]
    return None if None in hashes else "/".join(map(str, hashes))


def _only_response(record: Record, path: Path) -> str:
    """Return the path of the response; refuse several, of which a filter chose the answer."""
    responses = value_at(record, "resps.0")
    if isinstance(responses, list) and len(responses) > 1:
        raise ValueError(
            f"`confidence` must say where the confidence is: document {record.get('doc_id')} of '{path.name}' has "
            f"{len(responses)} responses, and a filter makes one answer of them. `resps.0.0` is the first response."
        )
    return "resps.0.0"


def _delimiter(run: Record, task: str) -> str:
    """Return the text between the question and each choice, which is not part of the choice."""
    config = (run.get("configs") or {}).get(task) or {}
    prefix = config.get("gen_prefix")
    if run.get("chat_template") and (not prefix or str(prefix)[-1].isspace()):
        return ""
    return str(config.get("target_delimiter", " "))


def _required(name: str, record: Record, steps: str, path: Path) -> Any:
    if (value := value_at(record, steps)) is None:
        raise ValueError(
            f"`{name}` must be in every record; document {record.get('doc_id')} of '{path.name}' has no {steps!r}. "
            f"Its keys are {quoted(list(record))}."
        )
    return value


@cache
def _results(path: Path) -> Record:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _of_one_filter(
    records: list[dict[str, Any]], filter_name: str | None, path: Path
) -> tuple[list[dict[str, Any]], tuple[str, str] | None]:
    """Return the records of one filter, and the file and its only filter if that is not the one that is asked for."""
    filters = list(dict.fromkeys(str(each.get("filter", "none")) for each in records))
    if len(filters) == 1:
        return records, (path.name, filters[0]) if filter_name not in (None, filters[0]) else None
    if filter_name is None:
        raise ValueError(
            f"'{path.name}' holds the results of {len(filters)} filters for the same answers: {quoted(filters)}. "
            f"Pass `filter_name`, as in `filter_name={filters[0]!r}`."
        )
    if filter_name not in filters:
        raise ValueError(f"'{path.name}' has no filter {quoted(filter_name)}; its filters are {quoted(filters)}.")
    return [each for each in records if str(each.get("filter", "none")) == filter_name], None


def _metric(records: Sequence[Record], score: str | None, name: str) -> str:
    """Return the metric of generated answers."""
    metrics = [str(each) for each in records[0].get("metrics", ())]
    if score is None and len(metrics) == 1:
        return metrics[0]
    if score is None or score not in metrics:
        raise ValueError(f"`score` must be a metric of '{name}', one of {quoted(metrics)}, not {quoted(score)}.")
    return score


def _of_choices(records: Sequence[Record], score: str, delimiter: str, name: str) -> tuple[Floats, Floats, int]:
    """Return whether answers are right, their confidences, and how many right choices are not in the log."""
    _checks.one_of("score", score, CHOICE_SCORES)
    likelihoods = [_likelihoods(each) for each in records]
    sizes = np.array([len(each) for each in likelihoods])
    if (sizes < 2).any():
        i = int(np.argmin(sizes))
        raise ValueError(
            text_of("a single log-likelihood", document=records[i].get("doc_id"), file=name, number=sizes[i])
        )
    values, starts = np.concatenate(likelihoods), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if score == "acc_norm":
        lengths = [len(text) for each, n in zip(records, sizes, strict=True) for text in _choices(each, n, delimiter)]
        if len(lengths) < len(values):
            raise ValueError(f"`score='acc_norm'` needs the text of every choice; '{name}' has no `arguments` with it.")
        if not all(lengths):
            i = int(np.searchsorted(starts, lengths.index(0), side="right")) - 1
            raise ValueError(
                f"`score='acc_norm'` divides by the number of characters of each choice; document "
                f"{records[i].get('doc_id')} of '{name}' has an empty choice."
            )
        values = values / np.array(lengths)
    bad = np.isnan(np.add.reduceat(values, starts)) | (np.maximum.reduceat(values, starts) == -np.inf)
    largest = np.where(bad, 0.0, np.maximum.reduceat(np.where(np.repeat(bad, sizes), 0.0, values), starts))
    finite = np.where(np.repeat(bad, sizes), 0.0, values)
    confidence = 1 / np.add.reduceat(np.exp(finite - np.repeat(largest, sizes)), starts)
    position = np.arange(len(values))
    top = np.minimum.reduceat(np.where(values == np.repeat(largest, sizes), position, len(values)), starts) - starts
    golds = [_golds(each, int(n), delimiter) for each, n in zip(records, sizes, strict=True)]
    logged = [each.get(score) for each in records]
    right = np.array([math.nan if gold is None else float(t in gold) for t, gold in zip(top, golds, strict=True)])
    right[bad] = math.nan
    written = np.array(graded(logged, None, (), [f"document {each.get('doc_id')} in '{name}'" for each in records]))
    _require_agreement(right, written, records, score, name)
    unknown = ~bad & np.isnan(right) & np.isnan(written)
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(
            f"'{name}' must state `{score}` or the right choice; {int(unknown.sum())} of {len(records)} records have "
            f"neither, first document {records[i].get('doc_id')}, with the target {quoted(records[i].get('target'))}."
        )
    right_or_logged = np.where(np.isnan(right), written, right)
    return right_or_logged, np.where(bad, math.nan, confidence), int((np.isnan(right) & ~bad).sum())


def _require_agreement(right: Floats, written: Floats, records: Sequence[Record], score: str, name: str) -> None:
    """Refuse logs whose score is not that of the most probable choice."""
    differ = ~np.isnan(right) & ~np.isnan(written) & (right != written)
    if differ.any():
        i = int(np.argmax(differ))
        raise ValueError(
            f"`{score}` must say whether the most probable choice is right; {int(differ.sum())} of {len(records)} "
            f"records of '{name}' contradict it, first document {records[i].get('doc_id')}: `{score}` is "
            f"{written[i]:g}, and the most probable choice is {'right' if right[i] else 'wrong'} for the target "
            f"{quoted(records[i].get('target'))}. Another rule decides its answers; compute correctness and confidence "
            "by this rule, and pass them to `bayescal.evaluate`."
        )


def _likelihoods(record: Record) -> Floats:
    """Return the log-likelihoods of the choices; those without the context, for ``acc_mutual_info``, are left out."""
    responses = record.get("filtered_resps") or ()
    try:
        values = np.array([float(each[0] if isinstance(each, list) else each) for each in responses])
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"`filtered_resps` must hold a pair per choice; document {record.get('doc_id')} holds {quoted(responses)}."
        ) from None
    return values[: len(values) // 2] if "acc_mutual_info" in record.get("metrics", ()) else values


def _choices(record: Record, n: int, delimiter: str) -> list[str]:
    """Return the texts of the choices, without the delimiter before them."""
    arguments = record.get("arguments") or ()
    parts = arguments.values() if isinstance(arguments, Mapping) else arguments
    texts = [value_at(each, "arg_1" if isinstance(each, Mapping) else "1") for each in parts]
    return [text.removeprefix(delimiter) for text in texts[:n] if isinstance(text, str)]


def _golds(record: Record, n: int, delimiter: str) -> Sequence[int] | None:
    """Return the right choices; None if the log does not state them as numbers or as texts that differ."""
    target = record.get("target")
    text = str(target).strip()
    if isinstance(target, list) or re.fullmatch(r"\[.*\]", text):
        try:
            several = target if isinstance(target, list) else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return None
        return several if all(isinstance(each, int) for each in several) else None
    choices = [each.strip() for each in _choices(record, n, delimiter)]
    by_text = {choices.index(text)} if choices.count(text) == 1 else set()
    either = by_text | ({int(text)} if text.isdecimal() and int(text) < n else set())
    return tuple(either) if len(either) == 1 else None
