"""Logs of language models, and several files of predictions -> the evaluation or comparison of them."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayescal._checks import did_you_mean
from bayescal._files import file_names
from bayescal._invalid import quoted
from bayescal.analyses.compare import compare
from bayescal.analyses.groups import checked_pooling
from bayescal.cli import options as cli
from bayescal.cli.columns import columns_of, group_column
from bayescal.cli.comparison import ComparedFiles, compare_files, compared_files
from bayescal.cli.evaluation import EvaluatedFile, chosen_estimands, evaluate_file
from bayescal.cli.keywords import keywords_of, parse_classes, settings
from bayescal.cli.words import file_named, say, translated
from bayescal.data.files.predictions import Rows
from bayescal.estimands.registry import as_scalar
from bayescal.evaluate import evaluate
from bayescal.read.answers import Answers, matched
from bayescal.read.harness_logs import lm_eval
from bayescal.read.inspect_logs import inspect
from bayescal.read.record_lines import json_lines
from bayescal.results.grouped import GroupedEvaluation

#: Formats of logs: the function that reads them, its keyword for --correct, and options that it takes.
FORMATS: dict[str, tuple[Callable[..., Answers], str, tuple[str, ...]]] = {
    "lm-eval": (lm_eval, "score", ("filter", "pattern", "percent", "abstain")),
    "inspect": (inspect, "scorer", ("pattern", "percent", "partial", "abstained", "abstain")),
    "json-lines": (json_lines, "correct", ("pattern", "percent", "partial", "abstained", "abstain")),
}
JSON_LINES = "json-lines"
TABLES = {".csv", ".tsv", ".parquet", ".xlsx"}  #: Suffixes of tables, which may be followed by that of a compression.
#: A remedy of `matched`, and that of the command line.
LEAVE_OUT = ("Pass `unmatched='drop'` to leave them out.", "Pass --abstain drop to leave them and missing answers out.")


def report_files(
    files: Sequence[Path], columns: cli.ColumnOptions, logs: cli.LogOptions, *records: cli.Options
) -> EvaluatedFile:
    """Evaluate one file, several files, or logs; `records` state groups, target, bins, model, draws and seed."""
    if logs.given():
        return _evaluate_logs(files, columns, logs, *records)
    _refuse_logs(files, columns)
    if len(files) == 1:
        return evaluate_file(files[0], columns, *records)
    return _evaluate_several(files, columns, *records)


def compare_any(
    files: Sequence[Path],
    columns: cli.ColumnOptionsPerClassifier,
    question: cli.CompareQuestionOptions,
    model: cli.ModelOptions,
    logs: cli.LogOptions,
) -> ComparedFiles:
    """Compare classifiers in files, or language models in logs."""
    if logs.given():
        return _compare_logs(files, columns, question, model, logs)
    _refuse_logs(files, columns)
    return compare_files(files, columns, question, model)


def _refuse_logs(files: Sequence[Path], columns: cli.Options) -> None:
    """Refuse folders and logs without a format, unless the columns of a log are named one by one."""
    for file in files:
        if file.is_dir():
            raise ValueError(
                f"'{file}' is a folder; name its files, or the format of its logs: --format lm-eval, inspect or "
                "json-lines."
            )
        if not columns.given().keys() & {"label", "prob", "prob_prefix"} and (name := _format_of(file)):
            raise ValueError(f"'{file.name}' is a log; add --format {name}.")


def _format_of(file: Path) -> str:
    """Return the format of a log that its name or its first bytes show; empty if neither does."""
    if file.suffix == ".eval":
        return "inspect"
    if not file.is_file() or file.suffix not in (".json", ".jsonl"):
        return ""
    with file.open("rb") as opened:
        head = opened.read(100_000)
    if b'"doc_id"' in head and b'"filtered_resps"' in head:
        return "lm-eval"
    return "inspect" if re.match(rb'\s*\{\s*"version".{,200}"eval"\s*:\s*\{', head, re.DOTALL) else ""


def read_answers(files: Any, columns: cli.Options, logs: cli.LogOptions, by: str | None) -> Answers:
    """Read logs with the options of the command line, `by` being the subject; show remarks on them as notes."""
    name = logs.format or JSON_LINES
    if name not in FORMATS:
        raise ValueError(f"--format must be one of {', '.join(FORMATS)}, not {name!r}.{did_you_mean(name, FORMATS)}")
    read, score, taken = FORMATS[name]
    options = logs.given()
    cli.refuse({key: 0 for key in options if key not in (*taken, "format")}, f"with --format {name}")
    tables = [file for file in (files if isinstance(files, list) else [files]) if TABLES & set(file.suffixes)]
    if name == JSON_LINES and tables:
        words = ", ".join(f"--{key}" for key in options) + (" belongs" if len(options) == 1 else " belong")
        raise ValueError(
            f"{words} to logs of language models; '{tables[0].name}' is a table. Change its columns instead."
        )
    named = columns.given()
    grade, confidence = named.pop("correct", None), named.pop("confidence", None)
    arguments = {"filter_name" if key == "filter" else key: options[key] for key in taken if key in options}
    if name == JSON_LINES:
        if not (grade and confidence):
            if options and not (grade or confidence):
                words = f"--{next(iter(options)).replace('_', '-')} belongs to logs of language models"
                raise ValueError(f"{words}, which need --correct and --confidence, or --format lm-eval or inspect.")
            raise ValueError(
                "--correct and --confidence go together: whether the prediction was right, and how confident it was."
            )
        arguments |= {"question": named.pop("key", None), "logprob": named.pop("logprob", False)}
        arguments["classes"] = parse_classes(named.pop("classes", None))
    arguments["cluster"] = named.pop("cluster", None)
    cli.refuse(named, f"with --format {name}")
    arguments |= {key: _single(key, value) for key, value in ((score, grade), ("confidence", confidence)) if value}
    try:
        return read(files, subject=by, **arguments)
    except (ValueError, TypeError) as problem:
        raise (TypeError if isinstance(problem, TypeError) else ValueError)(translated(problem)) from problem


def _single(name: str, value: Any) -> str:
    """Return the value of an option that may be repeated for several classifiers, but not for logs."""
    if isinstance(value, list):
        if len(value) > 1:
            raise ValueError(f"--{'correct' if name.startswith('scor') else name} is given once for all logs.")
        return str(value[0])
    return str(value)


def _evaluate_logs(
    files: Sequence[Path], columns: cli.ColumnOptions, logs: cli.LogOptions, *records: cli.Options
) -> EvaluatedFile:
    keywords = keywords_of(evaluate, *records)
    subject = keywords.pop("by")
    answers = read_answers(list(files), columns, logs, subject)
    if len(answers.models) > 1:
        raise ValueError(
            f"the logs are of {len(answers.models)} models, {quoted(list(answers.models[:4]))}; name the files of one "
            "of them, or compare them: bayescal compare."
        )
    for remark in answers.remarks:
        say("Note", "yellow", remark)
    rows = answers.rows()
    estimands = chosen_estimands(keywords.pop("estimand", None), "by" in rows)
    checked_pooling(keywords["pooling"], groups="by" in rows, model=keywords["model"])
    by = {"by": group_column(subject or "subject", rows["by"], keywords)} if "by" in rows else {}
    if keywords["target"] not in (None, "confidence"):
        raise ValueError(f"--target must be confidence for logs, not {keywords['target']}.")
    evaluation = evaluate(**keywords | rows | by)
    whole: Any = evaluation.overall if isinstance(evaluation, GroupedEvaluation) else evaluation
    parameters = {"files": [file.name for file in files], **logs.given(), **columns.given(), "rows": len(answers)}
    parameters |= settings(whole.counts, keywords, keywords["bins"])
    return EvaluatedFile(evaluation, parameters, answers.remarks, estimands)


def _evaluate_several(files: Sequence[Path], options: cli.ColumnOptions, *records: cli.Options) -> EvaluatedFile:
    """Evaluate the rows of several files; each file is a group, unless a column names them."""
    paths = [file.resolve() for file in files]
    twice = next((file for file, path in zip(files, paths, strict=True) if paths.count(path) > 1), None)
    if twice is not None:
        raise ValueError(f"FILE must be different files; '{twice}' is named {paths.count(twice.resolve())} times.")
    columns, keywords = columns_of(options), keywords_of(evaluate, *records) | {"logits": options.logits}
    by = keywords.pop("by")
    columns.refuse_as_groups(by)
    keywords["target"] = keywords["target"] or columns.target
    chosen_estimands(keywords.pop("estimand", None), True)
    parts: list[Rows] = []
    for file in files:
        with file_named(file, files):
            parts.append(columns.open(file, by).read())
            if parts[-1].classes != parts[0].classes:
                raise ValueError(f"all files must have the same classes; the first has {parts[0].classes}.")
    named = zip(parts, file_names(files), strict=True)
    labels = [part.group if by else np.full(len(part.y_true), name) for part, name in named]
    groups = group_column(by or "file", _joined(labels).astype(object), keywords)
    per_row = {name: _joined([getattr(part, name) for part in parts]) for name in ("weights", "cluster")}
    rows = {"y_true": _joined([each.y_true for each in parts]), "y_prob": _joined([each.y_prob for each in parts])}
    try:
        evaluation: Any = evaluate(**keywords | rows | per_row | {"classes": parts[0].classes, "by": groups})
    except (ValueError, TypeError) as problem:
        raise ValueError(f"in the rows of {len(files)} files, one after the other: {translated(problem)}") from problem
    parameters = {"files": [file.name for file in files], "rows": len(rows["y_true"]), **cli.given_in(options)}
    parameters |= {"by": by or "file", **settings(evaluation.overall.counts, keywords, keywords["bins"])}
    return EvaluatedFile(evaluation, parameters)


def _joined(parts: Sequence[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _compare_logs(
    files: Sequence[Path],
    columns: cli.ColumnOptionsPerClassifier,
    question: cli.CompareQuestionOptions,
    model: cli.ModelOptions,
    logs: cli.LogOptions,
) -> ComparedFiles:
    keywords = keywords_of(compare, question, model)
    estimand = as_scalar(keywords.pop("estimand").replace("-", "_"))
    estimand.badness(np.zeros(1))
    by, lines = keywords.pop("by"), logs.format in (None, JSON_LINES)
    if by not in (None, "subject") and not lines:
        raise ValueError(f"--by must be subject for logs, the subject of each question, not {by!r}.")
    target = keywords.pop("target")
    if target not in (None, "confidence"):
        raise ValueError(f"--target must be confidence for logs, not {target}.")
    if lines and not columns.key:
        how = "the path of the question, which matches their lines"
        raise ValueError(f"JSON lines of several models need --key, {how}.")
    named = {} if lines else _of_models(files, columns, logs)
    for file, name in zip(files, file_names(files), strict=True) if not named else ():
        answers = read_answers(file, columns, logs, by if lines else None)
        for remark in answers.remarks:
            say("Note", "yellow", f"'{file.name}': {remark}")
        for each, of_model in answers.by_model().items():
            named[_name(each, name, named, logs)] = of_model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = matched(named, by=by and "subject", unmatched="drop" if logs.abstain == "drop" else "refuse")
        except ValueError as problem:
            raise ValueError(str(problem).replace(*LEAVE_OUT)) from problem
    notes = [str(warning.message) for warning in caught]
    for note in notes:
        say("Note", "yellow", note)
    if by is not None:
        rows["by"] = group_column(by, rows["by"], keywords)
    comparison = compare(**keywords | rows)
    comparison.draws(estimand)
    read = {"files": [file.name for file in files], **logs.given(), **columns.given()}
    read["rows"] = len(next(iter(rows["y_true"].values())))
    return compared_files(comparison, estimand, read, keywords, by, notes)


def _of_models(
    files: Sequence[Path], columns: cli.ColumnOptionsPerClassifier, logs: cli.LogOptions
) -> dict[str, Answers]:
    """Return the answers of each model in all files; empty if one model has several answers to a question."""
    try:
        answers = read_answers(list(files), columns, logs, None)
    except ValueError:
        return {}
    if len(answers.models) == 1:
        return {}
    for remark in answers.remarks:
        say("Note", "yellow", remark)
    return answers.by_model()


def _name(model: str, file: str, named: Mapping[str, Answers], logs: cli.LogOptions) -> str:
    """Return the name of a model; that of its file if another has the same, or the log names none."""
    if logs.format in (None, JSON_LINES):
        return file
    name = model if model not in named else f"{file}/{model}"
    if name in named:
        raise ValueError(f"two logs are of model {model!r} and in files called {file!r}; rename one.")
    return name
