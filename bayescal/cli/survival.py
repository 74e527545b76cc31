"""A file with times -> the evaluation of its stated risks, as ``bayescal survival`` saves and shows it."""

from dataclasses import replace
from pathlib import Path

from bayescal._invalid import InvalidRows
from bayescal.analyses.survival import evaluate_survival
from bayescal.cli.counts import holds_counts
from bayescal.cli.evaluation import EvaluatedFile
from bayescal.cli.keywords import keywords_of, settings
from bayescal.cli.options import ModelOptions
from bayescal.cli.survival_options import SurvivalColumnOptions, SurvivalQuestionOptions
from bayescal.cli.words import warnings_as_notes
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import Rows
from bayescal.data.files.source import Kind

#: What a column of events holds.
CODES = "Write 0 for censored rows, 1 for the event, and 2, 3, ... for other causes that prevent it."


def evaluate_survival_file(
    file: Path, columns: SurvivalColumnOptions, question: SurvivalQuestionOptions, model: ModelOptions
) -> EvaluatedFile:
    """Evaluate the stated risks in a file.

    Parameters
    ----------
    file : Path
        The file.
    columns : SurvivalColumnOptions
        Columns of the file.
    question : SurvivalQuestionOptions
        Horizon, cause and bins.
    model : ModelOptions
        Model, draws and seed.

    Returns
    -------
    EvaluatedFile
        The evaluation.

    Raises
    ------
    ValueError, TypeError, OSError
        If an option or the file is invalid.
    """
    if holds_counts(file):
        raise ValueError(f"'{file.name}' holds counts; the rows of a file with times are needed.")
    named = _named(columns)
    if question.horizon is None:
        raise ValueError("say at which time the risks are stated: --horizon NUMBER.")
    keywords = keywords_of(evaluate_survival, question, model)
    wanted = named | ({} if columns.weights is None else {"weights": columns.weights})
    kinds: dict[str, Kind] = {"event": "label"}
    source = open_source(file)
    try:
        arrays = source.read([(column, kinds.get(name, "number")) for name, column in wanted.items()])
    except InvalidRows as problem:
        finding = problem.finding
        hint = CODES if finding.argument == wanted["event"] and "classes=" in finding.hint else finding.hint
        raise InvalidRows(replace(finding, hint=hint)) from None
    read = dict(zip(wanted, arrays, strict=True))
    called = {name: f"column {column!r}" for name, column in wanted.items()}
    event, risk, weights = read["event"], read["risk"], read.get("weights")
    rows = Rows(y_true=event, y_prob=risk, weights=weights, classes=None, columns=(named["risk"],), source=source)
    with warnings_as_notes(rows, called) as notes:
        evaluation = evaluate_survival(read["time"], event, risk, **keywords | {"weights": weights})
    parameters = {
        "file": file.name,
        "rows": evaluation.counts.n_rows,
        **wanted,
        "horizon": question.horizon,
        "cause": keywords["cause"],
        **settings(evaluation.counts, keywords, len(evaluation.counts.bins)),
    }
    return EvaluatedFile(evaluation, parameters, notes)


def _named(columns: SurvivalColumnOptions) -> dict[str, str]:
    """Return the three columns, all of which are needed."""
    about = {"time": "times", "event": "kinds of exit (0 censored, 1 the event)", "risk": "stated risks"}
    given = columns.given()
    for name, words in about.items():
        if name not in given:
            raise ValueError(f"say where the {words} are: --{name} COLUMN.")
    return {name: given[name] for name in about}
