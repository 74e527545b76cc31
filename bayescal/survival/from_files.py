"""A file with times -> an evaluation or a comparison of stated risks, as ``bayescal survival`` saves and shows it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayescal._invalid import InvalidRows
from bayescal.cli.columns import group_column, named_columns, refuse_column
from bayescal.cli.comparison import ComparedFiles
from bayescal.cli.counts import holds_counts
from bayescal.cli.evaluation import EvaluatedFile
from bayescal.cli.keywords import keywords_of, settings
from bayescal.cli.options import ModelOptions, refuse
from bayescal.cli.words import warnings_as_notes
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import Rows
from bayescal.data.files.source import Kind
from bayescal.estimands.registry import as_scalar
from bayescal.results.grouped import GroupedEvaluation
from bayescal.survival.analysis import evaluate
from bayescal.survival.comparison import compare
from bayescal.survival.options import SurvivalColumnOptions, SurvivalQuestionOptions


@dataclass(frozen=True)
class _Read:
    """Columns of a file with times: `rows` has kinds of exit and the risks of the first model, with the file."""

    rows: Rows
    columns: dict[str, Any]
    risks: dict[str, Any]
    named: dict[str, str]
    risk_columns: dict[str, str]


#: What columns hold, by argument.
HELD = {"time": "the times", "event": "the kinds of exit", "risk": "stated risks", "weights": "the weights"}
#: What a column of events holds.
CODES = "Write 0 for censored rows, 1 for the event, and 2, 3, ... for other causes that prevent it."


def evaluate_survival_file(
    file: Path, columns: SurvivalColumnOptions, question: SurvivalQuestionOptions, model: ModelOptions
) -> EvaluatedFile:
    """Evaluate the stated risks in a file."""
    alone = {name: value for name, value in question.given().items() if name in ("estimand", "rope")}
    refuse(alone, "with a single model: repeat --risk to compare several")
    read = _read(file, columns, question)
    keywords = keywords_of(evaluate, question, model)
    risk_column, risk = next(iter(read.risk_columns.values())), next(iter(read.risks.values()))
    named = read.named | {"risk": risk_column}
    called = {name: f"column {column!r}" for name, column in named.items() if name != "by"}
    held = read.columns
    groups = {"by": group_column(named["by"], held["by"], keywords)} if "by" in held else {}  # labels in order
    with warnings_as_notes(read.rows, called) as notes:
        evaluation = evaluate(risk=risk, **keywords | held | groups)
    counts = (evaluation.overall if isinstance(evaluation, GroupedEvaluation) else evaluation).counts
    about = _about(file, counts.n_rows, read, risk_column, question.horizon, keywords)
    return EvaluatedFile(evaluation, about | settings(counts, keywords, len(counts.bins)), notes)


def compare_survival_file(
    file: Path, columns: SurvivalColumnOptions, question: SurvivalQuestionOptions, model: ModelOptions
) -> ComparedFiles:
    """Compare the models whose stated risks are in a file."""
    keywords = keywords_of(compare, question, model)
    alone = {name: column for name, column in columns.given().items() if name in ("cluster", "by")}
    refuse(alone, "with several models")
    estimand = as_scalar(keywords.pop("estimand", "ece").replace("-", "_"))
    read = _read(file, columns, question)
    called = {name: f"column {column!r}" for name, column in read.named.items()}
    called |= {f"risk[{name!r}]": f"column {column!r}" for name, column in read.risk_columns.items()}
    with warnings_as_notes(read.rows, called) as notes:
        comparison = compare(risk=read.risks, **keywords | read.columns)
        comparison.draws(estimand)  # raises if the estimand cannot be compared, before anything is saved or shown
    counts = comparison[comparison.names[0]].counts
    about = _about(file, counts.n_rows, read, list(read.risk_columns.values()), question.horizon, keywords)
    about |= {**settings(counts, keywords, keywords["bins"]), "rope": comparison.rope, "estimand": estimand.name}
    return ComparedFiles(comparison, estimand, about, notes)


def _about(
    file: Path, n_rows: int, read: _Read, risk: Any, horizon: float | None, keywords: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters that both results have."""
    rows = {"file": file.name, "rows": n_rows, **read.named, "risk": risk}
    return {**rows, "horizon": horizon, "cause": keywords["cause"]}


def _read(file: Path, columns: SurvivalColumnOptions, question: SurvivalQuestionOptions) -> _Read:
    """Read the columns, all of which are needed, and those of several risks at once."""
    if holds_counts(file):
        raise ValueError(f"'{file.name}' holds counts; the rows of a file with times are needed.")
    about = {"time": "times", "event": "kinds of exit (0 censored, 1 the event)", "risk": "stated risks"}
    options = columns.given()
    for name, words in about.items():
        if name not in options:
            raise ValueError(f"say where the {words} are: --{name} COLUMN.")
    if question.horizon is None:
        raise ValueError("say at which time the risks are stated: --horizon NUMBER.")
    models = named_columns([file], "risk", options["risk"], [options["event"]], None)
    risk_columns = {name: str(each.prob) for name, each in models.items()}
    named: dict[str, str] = {n: options[n] for n in (*HELD, "cluster", "by") if n in options and n != "risk"}
    used: dict[str | None, str] = {column: HELD[name] for name, column in named.items() if name in HELD}
    used |= dict.fromkeys(risk_columns.values(), HELD["risk"])
    refuse_column("cluster", named.get("cluster"), "clusters", used)
    refuse_column("by", named.get("by"), "groups", used)
    source = open_source(file)
    kinds: dict[str, Kind] = {"event": "label", "cluster": "text", "by": "text"}
    wanted = [(column, kinds.get(name, "number")) for name, column in named.items()]
    try:
        values = source.read([*wanted, *((column, "number") for column in risk_columns.values())])
    except InvalidRows as problem:
        finding = problem.finding
        hint = CODES if finding.argument == named["event"] and "classes=" in finding.hint else finding.hint
        raise InvalidRows(replace(finding, hint=hint)) from None
    read = dict(zip(named, values[: len(named)], strict=True))
    risks = dict(zip(risk_columns, values[len(named) :], strict=True))
    first, names = next(iter(risks.values())), tuple(risk_columns.values())
    rows = Rows(read["event"], first, read.get("weights"), None, names, source)
    return _Read(rows, read, risks, named, risk_columns)
