"""Files -> the comparison of the classifiers in them, as ``bayescal compare`` saves and shows it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _render
from bayescal._invalid import RoundingWarning
from bayescal.analyses.compare import compare
from bayescal.cli.classifiers import columns_by_name
from bayescal.cli.columns import ONE_CLASS
from bayescal.cli.command import Result
from bayescal.cli.keywords import keywords_of, parse_classes, settings
from bayescal.cli.options import ColumnOptionsPerClassifier, CompareQuestionOptions, ModelOptions
from bayescal.cli.words import warnings_as_notes
from bayescal.data.files.matching import read_models
from bayescal.data.files.predictions import ModelColumns, Rows
from bayescal.data.predictions import Predictions
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import as_scalar
from bayescal.report import tables
from bayescal.report.document import PROB, document
from bayescal.report.figure import comparison_picture
from bayescal.report.page import page
from bayescal.results.comparison import Comparison

if TYPE_CHECKING:
    pass

#: Longer pairs of names are printed on two lines: the columns of numbers leave this much of 80.
PAIR = 24


@dataclass(frozen=True)
class ComparedFiles(Result):
    """The comparison of classifiers.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    estimand : Estimand
        The quantity that is shown.
    parameters : dict
        Values of the options that give the same result again.
    notes : sequence of str
        Notes on the rows.
    """

    comparison: Comparison
    estimand: Estimand
    parameters: dict[str, Any]
    notes: Sequence[str]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page, the picture or the data tree."""
        read: dict[str, Any] = {"parameters": self.parameters, "notes": self.notes}
        return {
            "html": lambda: page(self.comparison, estimand=self.estimand, **read),
            "json": lambda: document(self.comparison, self.parameters, estimand=self.estimand),
            "plot": lambda: comparison_picture(self.comparison, self.estimand.name),
            "netcdf": self.comparison.to_datatree,
        }

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheets of the differences and of the classifiers."""
        spec, each = (
            self.comparison.specification(estimand=self.estimand),
            tables.classifiers(self.comparison, self.estimand),
        )
        classifiers = _render.Sheet("", spec, each.header, each.rows, self.comparison.remarks, [each.note])
        return [difference_sheet(self.comparison, self.estimand), classifiers]


def compare_files(
    files: Sequence[Path],
    columns: ColumnOptionsPerClassifier,
    question: CompareQuestionOptions,
    model: ModelOptions,
) -> ComparedFiles:
    """Compare the classifiers in one file, or in several.

    Parameters
    ----------
    files : sequence of Path
        The files.
    columns : ColumnOptionsPerClassifier
        Columns of the files.
    question : CompareQuestionOptions
        Estimand, width of practical equivalence, target and bins.
    model : ModelOptions
        Posterior, draws and seed.

    Returns
    -------
    ComparedFiles
        The comparison.

    Raises
    ------
    ValueError, TypeError, OSError
        If an option or a file is invalid.
    """
    keywords = keywords_of(compare, question, model)
    estimand = as_scalar(keywords.pop("estimand").replace("-", "_"))
    estimand.badness(np.zeros(1))  # raises if its values cannot be ranked, before files are read
    if columns.prob_prefix and estimand.has_own_event("top-label"):
        raise ValueError(
            f"--estimand {estimand.name} cannot be compared for --prob-prefix: each classifier has another event, "
            "whether its own most probable class is right. In Python, `bayescal.compare_scores` compares the Brier "
            f"score or the log score of all classes. Or compare one class at a time {ONE_CLASS}"
        )
    if keywords["target"] == "classwise":
        raise ValueError(
            "`target='classwise'` asks one question per class, and a comparison needs a single one. Use "
            f"`target='top-label'`, or compare one class at a time {ONE_CLASS}"
        )
    if columns.confidence:
        keywords["target"] = keywords["target"] or "confidence"
    models = columns_by_name(files, columns)
    rows = read_models(
        models,
        key=columns.key,
        weights=columns.weights,
        cluster=columns.cluster,
        classes=parse_classes(columns.classes),
        same_labels=not columns.confidence,
    )
    first = next(iter(rows.values()))
    keywords |= {"classes": first.classes, "weights": first.weights, "logits": columns.logits}
    keywords["cluster"] = first.cluster
    notes = check_rows(rows, models, columns.weights, keywords)
    y_true = {name: r.y_true for name, r in rows.items()} if columns.confidence else first.y_true
    with warnings_as_notes(first, {}) as more, warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)  # shown above, with the name of the column
        comparison = compare(y_true, {name: r.y_prob for name, r in rows.items()}, **keywords)
        comparison.draws(estimand)  # raises if the estimand cannot be compared, before anything is saved or shown
    parameters = {"files": [file.name for file in files], **_parameters(columns, models, rows, comparison, keywords)}
    return ComparedFiles(comparison, estimand, {**parameters, "estimand": estimand.name}, [*notes, *more])


def check_rows(
    rows: Mapping[str, Rows], models: Mapping[str, ModelColumns], weights: str | None, keywords: Mapping[str, Any]
) -> list[str]:
    """Check the rows of each classifier by itself, so that messages name its columns and lines of its file."""
    notes: list[str] = []
    arguments = {key: keywords[key] for key in ("target", "classes", "weights", "logits")}
    for name, of_model in rows.items():
        with warnings_as_notes(of_model, models[name].called(weights)) as of_this:
            Predictions.from_labels(of_model.y_true, of_model.y_prob, **arguments)
        notes += of_this
    return notes


def difference_sheet(comparison: Comparison, estimand: Estimand) -> _render.Sheet:
    """Return the sentence, the table of differences and the meaning of its columns."""
    rows = _lines(tables.difference_rows(comparison, estimand))
    key = tables.difference_key(comparison, estimand, " (--rope)")
    return _render.Sheet(
        comparison.sentence(PROB, estimand=estimand), "", ("1st - 2nd", *tables.DIFFERENCES), rows, notes=[key]
    )


def _lines(pairs: Sequence[tuple[str, str, list[str]]]) -> list[list[str]]:
    """Return the rows of a table of differences: one per pair, or two if any pair of names is long."""
    if all(len(f"{first} - {second}") <= PAIR for first, second, _ in pairs):
        return [[f"{first} - {second}", *numbers] for first, second, numbers in pairs]
    lines = []
    for first, second, numbers in pairs:
        lines += [[first, *numbers], [f"- {second}", *[""] * len(numbers)]]
    return lines


def _parameters(
    columns: ColumnOptionsPerClassifier,
    models: Mapping[str, ModelColumns],
    rows: Mapping[str, Rows],
    comparison: Comparison,
    keywords: Mapping[str, Any],
) -> dict[str, Any]:
    counts = comparison[comparison.names[0]].counts
    return {
        "key": columns.key,
        "rows": counts.n_rows,
        "classifiers": [
            {"name": name, "file": read.source.path.name, "label": models[name].label, "prob": list(read.columns)}
            for name, read in rows.items()
        ],
        "weights": columns.weights,
        **({"cluster": columns.cluster} if columns.cluster is not None else {}),
        "classes": keywords["classes"],
        "logits": keywords["logits"],
        **({"logprob": True} if columns.logprob else {}),
        **settings(counts, keywords, keywords["bins"]),
        "rope": comparison.rope,
    }
