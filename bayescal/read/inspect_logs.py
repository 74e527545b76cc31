"""Logs of Inspect (inspect_ai): ``.eval``, an archive with compressed members, and ``.json``."""

import json
import math
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayescal import _packages
from bayescal._checks import did_you_mean
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.read.answers import Answers, settled
from bayescal.read.fields import STATED, fingerprint, graded, log_files, stated, value_at, within

ZSTD = 93  #: Number in an archive of the compression that Python reads from version 3.14 on.
#: Fields of a member that are read; events and messages, which are long, are not.
FIELDS = ("id", "epoch", "input", "choices", "scores", "metadata", "target", "error", "eval", "status", "results")
COMPLETION = "output.completion"


@public
def inspect(
    paths: Any,
    *,
    scorer: str | None = None,
    confidence: str | None = None,
    pattern: str = STATED,
    percent: bool = False,
    partial: str = "refuse",
    abstained: str | Sequence[Any] = "N",
    subject: str | None = None,
    cluster: str | None = None,
    abstain: str = "refuse",
) -> Answers:
    """Read logs of Inspect (inspect_ai), ``.eval`` or ``.json``.

    Parameters
    ----------
    paths : str, path or sequence of them
        Logs, folders that contain them at any depth, or wildcards. JSON files beside the logs are left out.
    scorer : str, optional
        The score that says whether an answer is right, or ``"name.key"`` for a score with several values. It is needed
        if there are several scores. The grades C, yes, true and 1 are right; I, no, false and 0 are wrong.
    confidence : str, optional
        Path of the confidence in a sample, with dots: ``"scores.NAME.value"``, ``"scores.NAME.metadata.KEY"``,
        ``"metadata.KEY"``, or ``"output.completion"`` for the text of the answer. By default the only one of these
        places that holds confidences: ``metadata.confidence`` of the score or of the sample, a score called
        ``confidence``, or the text.
    pattern : str, optional
        Regular expression for the confidence in a text; its first group is the number, and the last match counts. By
        default as in "Confidence: 90%". A number before a percent sign is divided by 100. A number that is part of
        something else, as in 9/10, 0,9 or 80-90, is no confidence.
    percent : bool, default False
        Whether confidences without a percent sign are percentages too; those between 0 and 1 are then refused.
    partial : {"refuse", "wrong", "right"}, default "refuse"
        What partial credit, the grade P or a number between 0 and 1, counts as.
    abstained : str or sequence, default "N"
        Grades of cases in which the model gave no answer. NaN scores, and samples without this score, are missing too.
    subject : str, optional
        Path of the subject in a sample, as in ``"metadata.subject"``. By default the task, with its arguments if a
        model ran it with several.
    cluster : str, optional
        Path of the cluster within its task, as in ``"metadata.passage"``: questions about one text depend on each
        other. By default the answers to one question are a cluster.
    abstain : {"refuse", "drop", "wrong"}, default "refuse"
        What to do with missing answers: those without a grade, or without a confidence. ``drop`` leaves them out;
        ``wrong`` counts them as wrong, with confidence 0 if none is stated. A remark counts them. The accuracy of
        Inspect counts N as wrong.

    Returns
    -------
    Answers
        One row per sample and epoch.

    Raises
    ------
    FileNotFoundError
        If `paths` names no log.
    ValueError
        If the score or the place of the confidence is not stated and there are several, grades have another form,
        answers are missing, or a log is incomplete.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> sample = {"id": 1, "output": {"completion": "Oslo. Confidence: 90%"}, "scores": {"match": {"value": "C"}}}
    >>> log = {"status": "success", "eval": {"task": "capitals", "model": "a"}, "samples": [sample]}
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.json"
    >>> _ = path.write_text(json.dumps(log))
    >>> answers = bc.read.inspect(path)
    >>> answers.correct.tolist(), answers.confidence.tolist()
    ([True], [0.9])
    """
    read_confidence = stated(pattern, percent, abstain=abstain)
    no_answer = (abstained,) if isinstance(abstained, str) else tuple(abstained)
    logs, others = [], []
    for path, is_named in log_files(paths, ["*.eval", "*.json"], "logs of Inspect").items():
        header, of_log = _read(path)
        if header.get("eval") is None and not is_named and path.suffix == ".json":
            others.append(path.name)  # what Inspect and others write beside logs, as `logs.json`
            continue
        if not value_at(header, "eval.model"):
            hint = " The run was not finished." if path.suffix == ".eval" else ""
            raise ValueError(f"'{path.name}' is not a log of Inspect: it has no `eval` with a model.{hint}")
        logs.append((path.name, header, of_log))
    if not logs:
        raise ValueError(f"`paths` holds no log of Inspect; its files are others: {quoted(others[:4])}.")
    incomplete = [
        (n, name, str(header.get("status"))) for name, header, of_log in logs if (n := _lacking(header, len(of_log)))
    ]
    remarks = _of_incomplete(incomplete, abstain)
    tasks = _tasks([header["eval"] for _, header, _ in logs])
    samples, files, of_sample, models = [], [], [], []
    for task, (name, header, of_log) in zip(tasks, logs, strict=True):
        samples += of_log
        files += [name] * len(of_log)
        of_sample += [task] * len(of_log)
        models += [str(header["eval"]["model"])] * len(of_log)
    if not samples:
        raise ValueError("the logs hold no samples.")
    places = [f"sample {quoted(e.get('id'))} in '{file}'" for e, file in zip(samples, files, strict=True)]
    columns: dict[str, list[Any]] = {
        "subject": [str(each) for each in _everywhere("subject", samples, subject, places)] if subject else of_sample,
        "question": [within(task, each.get("id")) for task, each in zip(of_sample, samples, strict=True)],
        "epoch": [int(each.get("epoch") or 1) for each in samples],
        "model": models,
    }
    if cluster is not None:
        labels = _everywhere("cluster", samples, cluster, places)
        columns["cluster"] = [within(task, each) for task, each in zip(of_sample, labels, strict=True)]
    name, steps = _score(samples, scorer)
    columns["correct"] = graded([value_at(each, steps) for each in samples], partial, no_answer, places)
    place = confidence or _place_of_confidence(samples, name, read_confidence)
    statements = [value_at(each, place) for each in samples]
    columns["confidence"] = read_confidence.column(statements, places)
    if all(map(math.isnan, columns["confidence"])):
        raise ValueError(
            f"`confidence` must lead to numbers or to text that states one; no sample has one at {place!r}. "
            f"{_what_is_at(samples[0], place)} `pattern` finds a number in a text."
        )
    return settled(columns, abstain, files, statements=statements, remarks=remarks, content=map(_content, samples))


def _everywhere(name: str, samples: Sequence[Mapping[str, Any]], path: str, places: Sequence[str]) -> list[Any]:
    """Return the values at a path, which all samples must have."""
    values = [value_at(each, path) for each in samples]
    if None in values:
        raise ValueError(f"`{name}` must be in every sample; {places[values.index(None)]} has no {path!r}.")
    return values


def _what_is_at(sample: Mapping[str, Any], path: str) -> str:
    """Say what a sample has at a path, or the keys where the path ends."""
    if (value := value_at(sample, path)) is not None:
        return f"The first sample holds {quoted(value)}."
    parent = path
    while parent := parent.rpartition(".")[0]:
        if isinstance(inside := value_at(sample, parent), Mapping):
            return f"The keys at {parent!r} are {quoted(list(inside))}."
    usual = ("metadata", "scores", "output.completion")
    return f"Paths begin with {', '.join(usual[:-1])} or are {usual[-1]!r}."


def _tasks(evals: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the name of the task of each log; with its arguments, if a model ran it with several."""
    keys = [(each.get("task"), each["model"], _arguments(each)) for each in evals]
    several = {(task, model) for task, model, _ in set(keys) if len({k for k in keys if k[:2] == (task, model)}) > 1}
    return [f"{task}({arguments})" if (task, model) in several else str(task) for task, model, arguments in keys]


def _arguments(run: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted((run.get("task_args") or {}).items()))


def _content(sample: Mapping[str, Any]) -> str | None:
    """Return what identifies a question: its text, and its choices in any order or its target; None without a text."""
    text = sample.get("input")
    if isinstance(text, list):  # messages, whose ids differ between runs
        text = [{key: value_at(each, key) for key in ("role", "content")} for each in text]
    choices = sample.get("choices")
    return None if text is None else fingerprint([text, sorted(choices) if choices else sample.get("target")])


def _lacking(header: Mapping[str, Any], n: int) -> int:
    """Return how many samples a log lacks."""
    total = value_at(header, "results.total_samples")
    if total is None:
        # the ids are those that were asked for, and the number is that of the whole data set
        ids = value_at(header, "eval.dataset.sample_ids")
        n_ids = len(ids) if ids is not None else value_at(header, "eval.dataset.samples") or 0
        total = n_ids * (value_at(header, "eval.config.epochs") or 1)
    return max(0, int(total) - n)


def _of_incomplete(incomplete: Sequence[tuple[int, str, str]], abstain: str) -> list[str]:
    """Refuse logs that lack samples, or return a remark about them."""
    if not incomplete:
        return []
    n, (_, first, status) = sum(each[0] for each in incomplete), incomplete[0]
    words = (
        f"{n} samples are not in the logs, of {len(incomplete)} incomplete runs, first '{first}' with status {status!r}"
    )
    if abstain != "drop":
        raise ValueError(f"`abstain` must be 'drop' for incomplete logs: {words}.")
    return [f"{words[0].upper()}{words[1:]}; they are left out."]


def _score(samples: Sequence[Mapping[str, Any]], scorer: str | None) -> tuple[str, str]:
    """Return the name of the score that says whether answers are right, and the path of its value."""
    names = list(dict.fromkeys(name for each in samples for name in each.get("scores") or ()))
    if not names:
        raise ValueError("the samples have no scores; score the log first: `inspect score`.")
    if scorer is None:
        if len(names) > 1:
            raise ValueError(
                f"`scorer` must say which of {len(names)} scores says whether an answer is right: {quoted(names)}."
            )
        scorer = names[0]
    begins = [each for each in names if scorer == each or scorer.startswith(f"{each}.")]
    name = max(begins, key=len, default=scorer)
    if name not in names:
        raise ValueError(
            f"the logs have no score {quoted(name)}.{did_you_mean(name, names)} Scores are {quoted(names)}."
        )
    return name, f"scores.{name}.value{scorer.removeprefix(name)}"


def _place_of_confidence(samples: Sequence[Mapping[str, Any]], scorer: str, read: Callable[[Any], float]) -> str:
    """Return the only usual place that holds confidences."""
    usual = (f"scores.{scorer}.metadata.confidence", "metadata.confidence", "scores.confidence.value", COMPLETION)
    counts = {place: sum(not math.isnan(read(value_at(e, place))) for e in samples) for place in usual}
    places_with = [place for place, count in counts.items() if count]
    if len(places_with) == 1:
        return places_with[0]
    if places_with:
        places = ", ".join(f"{place!r} ({counts[place]} of {len(samples)} samples)" for place in places_with)
        raise ValueError(f"`confidence` must say where the confidence is; there are several: {places}.")
    raise ValueError(text_of("no confidence in samples"))


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header of a log, and its samples."""
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    try:
        if is_archive:
            parts = list(_members(path))
            header = next((each for each in parts if value_at(each, "eval.model")), None)
            samples = [each for each in parts if each.get("id") is not None]
        else:
            header = json.loads(path.read_text(encoding="utf-8"))
            samples = header.get("samples") or [] if isinstance(header, dict) else []
    except (ValueError, zipfile.BadZipFile) as problem:
        raise ValueError(f"'{path.name}' cannot be read as a log of Inspect: {problem}") from problem
    return (header if isinstance(header, dict) else {}), samples


def _members(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the header and the samples of an archive."""
    frames, texts = [], []
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        members = {each.filename: each for each in archive.infolist()}  # of members with the same name, the last
        for name, member in members.items():
            if name != "header.json" and not name.startswith("samples/"):
                continue
            if member.compress_type != ZSTD:
                texts.append(archive.read(member))
                continue
            file.seek(member.header_offset)
            local = file.read(30)
            file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
            frames.append(file.read(member.compress_size))
    for text in texts:
        yield json.loads(text)
    if frames:
        yield from _decompressed(frames)


def _decompressed(frames: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects in frames of zstd, with the fields that are needed."""
    _packages.require("duckdb")
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "members.zst"
        stream.write_bytes(b"".join(frames))
        wanted = [f"/{name}" for name in FIELDS] + ["/output/completion"]
        source = (
            f"read_json_objects('{stream}', compression='zstd', format='unstructured', maximum_object_size={2**31 - 1})"
        )
        with duckdb.connect(":memory:") as engine:
            try:
                rows = engine.execute(f"SELECT json_extract(json, {wanted!r}) FROM {source}").fetchall()
            except duckdb.Error as problem:
                raise ValueError(str(problem).partition("\n")[0]) from problem
    if len(rows) != len(frames):
        raise ValueError(f"its members hold {len(rows)} objects, and it has {len(frames)} members.")
    for (values,) in rows:
        *fields, completion = (None if each is None else json.loads(each) for each in values)
        yield {**dict(zip(FIELDS, fields, strict=True)), "output": {"completion": completion}}
