"""Files -> the comparison of the classifiers in them, as ``bayescal compare`` saves and shows it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _render
from bayescal._invalid import RoundingWarning
from bayescal._texts import text_of
from bayescal.analyses.compare import compare
from bayescal.cli.columns import ONE_CLASS, columns_by_name, group_column, refuse_column
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
from bayescal.report.figure import comparison_picture, over_datasets_picture
from bayescal.report.page import page
from bayescal.results.comparison import Comparison
from bayescal.results.over_datasets import ComparisonOverDatasets

PAIR = 24  #: Longer pairs of names are printed on two lines: the columns of numbers leave this much of 80.


@dataclass(frozen=True)
class ComparedFiles(Result):
    """The comparison of classifiers, on one data set or over several."""

    comparison: Comparison | ComparisonOverDatasets
    estimand: Estimand  # that is shown
    parameters: dict[str, Any]  # values of the options that give the same result again
    notes: Sequence[str]  # on the rows

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page, the picture or the data tree."""
        result, estimand = self.comparison, self.estimand
        over = isinstance(result, ComparisonOverDatasets)
        draw: Any = over_datasets_picture if over else comparison_picture
        tree: Any = result.to_datatree
        return {
            "html": lambda: page(result, estimand=estimand, parameters=self.parameters, notes=self.notes),
            "json": lambda: document(result, self.parameters, estimand=estimand),
            "plot": lambda: draw(result, estimand.name),
            "netcdf": partial(tree, estimand=estimand) if over else tree,
        }

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheets of the measures, of the differences and of the classifiers or data sets."""
        comparison, estimand = self.comparison, self.estimand
        if isinstance(comparison, ComparisonOverDatasets):
            sheet, table = comparison.sheet(whole=True, estimand=estimand), tables.by_dataset(comparison, estimand)
            return [replace(sheet, spec=""), _render.Sheet("", sheet.spec, table.header, table.rows)]
        spec, each = comparison.specification(estimand=estimand), tables.classifiers(comparison, estimand)
        classifiers = _render.Sheet("", spec, each.header, each.rows, comparison.remarks, [each.note])
        measures, differences = tables.measures(comparison), difference_sheet(comparison, estimand)
        first = _render.Sheet(differences.sentence, "", measures.header, measures.rows, question=spec)
        return [first, replace(differences, sentence="", headline=""), classifiers]


def compared_files(
    comparison: Any,
    estimand: Estimand,
    read: Mapping[str, Any],
    keywords: Mapping[str, Any],
    by: str | None,
    notes: Any,
) -> ComparedFiles:
    """Return a comparison with its parameters: `read` says where the rows were read, `by` names the data sets."""
    over = isinstance(comparison, ComparisonOverDatasets)
    one = next(iter(comparison.comparisons.values())) if over else comparison
    how = settings(one[one.names[0]].counts, keywords, keywords["bins"])
    parameters = {**read, **how, "rope": one.rope, **({"by": by} if over else {}), "estimand": estimand.name}
    return ComparedFiles(comparison, estimand, parameters, notes)


def compare_files(
    files: Sequence[Path], columns: ColumnOptionsPerClassifier, question: CompareQuestionOptions, model: ModelOptions
) -> ComparedFiles:
    """Compare the classifiers in one file, or in several; with --by, over data sets."""
    keywords = keywords_of(compare, question, model)
    estimand = as_scalar(keywords.pop("estimand").replace("-", "_"))
    estimand.badness(np.zeros(1))  # raises if its values cannot be ranked, before files are read
    if columns.prob_prefix and estimand.has_own_event("top-label"):
        raise ValueError(text_of("estimand of several classes", name=estimand.name, one_class=ONE_CLASS))
    if keywords["target"] == "classwise":
        raise ValueError(
            "`target='classwise'` asks one question per class, and a comparison needs a single one. Use "
            f"`target='top-label'`, or compare one class at a time {ONE_CLASS}"
        )
    if columns.confidence:
        keywords["target"] = keywords["target"] or "confidence"
    classifiers = columns_by_name(files, columns)
    used: dict[str | None, str] = {each.prob: "the probabilities" for each in classifiers.values()}
    used |= {columns.weights: "the weights", columns.key: "the keys"}
    used |= {each.label: "the labels" for each in classifiers.values()}
    refuse_column("by", question.by, "data sets", used)
    rows = read_models(
        classifiers, key=columns.key, weights=columns.weights, cluster=columns.cluster,
        by=question.by, classes=parse_classes(columns.classes), same_labels=not columns.confidence,
    )  # fmt: skip
    first = next(iter(rows.values()))
    keywords |= {"classes": first.classes, "weights": first.weights, "logits": columns.logits}
    keywords["cluster"] = first.cluster
    if question.by is not None:
        keywords["by"] = group_column(question.by, first.group, keywords)
    notes = check_rows(rows, classifiers, columns.weights, keywords)
    y_true = {name: r.y_true for name, r in rows.items()} if columns.confidence else first.y_true
    with warnings_as_notes(first, {}) as more, warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)  # shown above, with the name of the column
        comparison = compare(y_true, {name: r.y_prob for name, r in rows.items()}, **keywords)
        comparison.draws(estimand)  # raises if the estimand cannot be compared, before anything is saved or shown
    read = {"files": [file.name for file in files], **of_columns(columns, "classifiers", classifiers, rows, keywords)}
    return compared_files(comparison, estimand, read, keywords, question.by, [*notes, *more])


def check_rows(
    rows: Mapping[str, Rows], classifiers: Mapping[str, ModelColumns], weights: str | None, keywords: Mapping[str, Any]
) -> list[str]:
    """Check the rows of each classifier by itself, so that messages name its columns and lines of its file."""
    notes: list[str] = []
    arguments = {key: keywords[key] for key in ("target", "classes", "weights", "logits")}
    for name, read in rows.items():
        with warnings_as_notes(read, classifiers[name].called(weights)) as more:
            Predictions.from_labels(read.y_true, read.y_prob, **arguments)
        notes += more
    return notes


def difference_sheet(comparison: Comparison, estimand: Estimand) -> _render.Sheet:
    """Return the sentence, the table of differences and the meaning of its columns."""
    rows = _lines(tables.difference_rows(comparison, estimand))
    key = tables.difference_key(comparison, estimand, " (--rope)")
    sentence, header = comparison.sentence(PROB, estimand=estimand), ("1st - 2nd", *tables.DIFFERENCES)
    return _render.Sheet(sentence, "", header, rows, notes=[key])


def _lines(pairs: Sequence[tuple[str, str, list[str]]]) -> list[list[str]]:
    """Return the rows of a table of differences: one per pair, or two if any pair of names is long."""
    if all(len(f"{first} - {second}") <= PAIR for first, second, _ in pairs):
        return [[f"{first} - {second}", *numbers] for first, second, numbers in pairs]
    lines = []
    for first, second, numbers in pairs:
        lines += [[first, *numbers], [f"- {second}", *[""] * len(numbers)]]
    return lines


def of_columns(
    columns: Any, plural: str, models: Mapping[str, ModelColumns], rows: Mapping[str, Rows], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters that say where rows were read: columns, and each model or classifier with its file."""
    each = [
        {"name": name, "file": read.source.path.name, "label": models[name].label, "prob": list(read.columns)}
        for name, read in rows.items()
    ]
    cluster = getattr(columns, "cluster", None)
    about: dict[str, Any] = {"key": columns.key, "rows": len(next(iter(rows.values())).y_true), plural: each}
    about |= {"weights": columns.weights} | ({} if cluster is None else {"cluster": cluster})
    about |= {"classes": keywords["classes"], "logits": keywords["logits"]}
    return about | ({"logprob": True} if columns.logprob else {})
