"""A file -> the evaluation of its predictions, as ``bayescal report`` saves and shows it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayescal import _checks, _render
from bayescal._arrays import Figure
from bayescal.analyses.groups import checked_pooling, evaluate_groups, most_groups
from bayescal.cli.columns import ColumnNames, columns_of
from bayescal.cli.command import Result
from bayescal.cli.counts import bars, holds_counts, read_counts
from bayescal.cli.keywords import keywords_of, model_keywords, settings
from bayescal.cli.options import ColumnOptions, Options, given_in, refuse
from bayescal.cli.words import warnings_as_notes
from bayescal.data.files.predictions import RowStream
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import as_scalar
from bayescal.evaluate import evaluate, evaluate_counts
from bayescal.report.document import document
from bayescal.report.figure import groups_picture, picture
from bayescal.report.page import page
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.bins import BINNINGS, make_bins
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.files import Counting, count_classes_of_stream, count_groups_of_stream, count_stream

type FileEvaluation = Evaluation | ClasswiseEvaluation | GroupedEvaluation


@dataclass(frozen=True)
class EvaluatedFile(Result):
    """The evaluation of a file."""

    evaluation: FileEvaluation
    parameters: dict[str, Any]  # values of the options that give the same result again
    notes: Sequence[str] = ()  # on the rows
    estimands: list[Estimand] | None = None  # quantities of the table of an `Evaluation`

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page, the picture or the data tree."""
        return {
            "json": lambda: document(self.evaluation, self.parameters, **self._chosen),
            "html": lambda: page(self.evaluation, parameters=self.parameters, notes=self.notes),
            "plot": self._picture,
            "netcdf": self.evaluation.to_datatree,
        }

    @property
    def _chosen(self) -> dict[str, Any]:
        return {} if self.estimands is None else {"estimands": self.estimands}

    def _picture(self) -> "Figure":
        if isinstance(self.evaluation, GroupedEvaluation):
            return groups_picture(self.evaluation)
        return picture({"": self.evaluation})

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheet of the evaluation, with all groups; after that of stated values, if they are shown."""
        sheet = self.evaluation.sheet(whole=isinstance(self.evaluation, GroupedEvaluation), **self._chosen)
        if sheet.above is None:
            return [sheet]
        values = replace(sheet.above, sentence=sheet.headline, headline=sheet.headline, question=sheet.question)
        return [values, replace(sheet, sentence="", headline="", question="")]


def evaluate_file(file: Path, options: ColumnOptions, *records: Options) -> EvaluatedFile:
    """Evaluate a file of predictions or of counts; `records` state groups, target, bins, model, draws and seed."""
    if holds_counts(file):
        return _evaluate_counted(file, options, *records)
    columns = columns_of(options)
    keywords = keywords_of(evaluate, *records) | {"logits": options.logits}
    keywords["target"] = keywords["target"] or columns.target
    estimands = chosen_estimands(keywords.pop("estimand", None), keywords["by"] or keywords["target"] == "classwise")
    if keywords["by"] is not None and keywords["target"] == "classwise":
        refuse({"by": keywords["by"]}, "with --target classwise, which has one problem per class")
    columns.refuse_as_groups(keywords["by"])
    checked_pooling(keywords["pooling"], groups=keywords["by"] is not None, model=keywords["model"])
    stream = columns.open(file, keywords["by"])
    with warnings_as_notes(stream, stream.called) as notes:
        evaluation = _evaluate(stream, keywords)
    parameters = {"file": file.name, **_parameters(columns, stream, evaluation, keywords), **_named(estimands)}
    return EvaluatedFile(evaluation, parameters, notes, estimands)


def chosen_estimands(keys: list[str] | None, several: Any) -> list[Estimand] | None:
    """Return the estimands that are named, before files are read; `several`: the result has several evaluations."""
    if keys is None:
        return None
    if several:
        shown = "the ECE of each; in Python, `result.table(estimand=...)` shows other quantities"
        refuse({"estimand": keys}, f"with several groups or classes, whose table shows {shown}")
    return [as_scalar(name) for name in named_estimands(keys)]


def named_estimands(keys: list[str] | None) -> list[str]:
    """Split names at commas."""
    return [name.strip().replace("-", "_") for names in keys or () for name in names.split(",")]


def _named(estimands: list[Estimand] | None) -> dict[str, Any]:
    return {} if estimands is None else {"estimand": [each.name for each in estimands]}


def _evaluate_counted(file: Path, options: ColumnOptions, *records: Options) -> EvaluatedFile:
    only_rows = ("by", "pooling", "target", "binning")
    of_rows = {name: value for name, value in given_in(*records).items() if name in only_rows}
    refuse(options.given() | of_rows, "with a file of counts, only with rows")
    keywords = keywords_of(evaluate_counts, *records)
    names, counts = keywords.pop("estimand", None), read_counts(file, keywords.pop("bins", None))
    estimands = chosen_estimands(names, isinstance(counts, ClasswiseCounts))
    evaluation = evaluate_counts(counts, **keywords)
    one = counts.by_class[0] if isinstance(counts, ClasswiseCounts) else counts
    parameters = {"file": file.name, "rows": counts.n_rows, **settings(one, keywords, len(one.bins))}
    return EvaluatedFile(evaluation, {**parameters, **_named(estimands)}, estimands=estimands)


def _evaluate(stream: RowStream, keywords: Mapping[str, Any]) -> FileEvaluation:
    """Evaluate all rows, as `bayescal.evaluate` does."""
    model = model_keywords(keywords)
    _checks.one_of("binning", keywords["binning"], BINNINGS)
    how = Counting(*(keywords[name] for name in ("target", "bins", "binning", "logits")))
    if keywords["by"] is not None:
        most = most_groups(keywords["draws"], len(make_bins(keywords["bins"])))
        with bars(stream.source.path.name) as progress:
            counts_by, overall = count_groups_of_stream(stream, how, most, progress)
        labels, of_groups = list(counts_by), list(counts_by.values())
        return evaluate_groups(labels, of_groups, overall, name=keywords["by"], pooling=keywords["pooling"], **model)
    if keywords["target"] != "classwise":
        with bars(stream.source.path.name) as progress:
            counts = count_stream(stream, how, progress)
        return evaluate_counts(counts, **model)
    if stream.one_column or keywords["binning"] != "equal-width":  # edges for every class need all rows at once
        rows = stream.read()
        of_rows = {"classes": rows.classes, "weights": rows.weights, "cluster": rows.cluster}
        return evaluate(rows.y_true, rows.y_prob, **{**keywords, **of_rows})
    with bars(stream.source.path.name) as progress:
        class_counts = count_classes_of_stream(stream, how, progress)
    return evaluate_counts(class_counts, **model)


def _parameters(
    columns: ColumnNames, rows: RowStream, evaluation: FileEvaluation, keywords: Mapping[str, Any]
) -> dict[str, Any]:
    whole = evaluation.overall if isinstance(evaluation, GroupedEvaluation) else evaluation
    counts = whole.counts[0] if isinstance(whole, ClasswiseEvaluation) else whole.counts
    return {
        "rows": counts.n_rows,
        "label": columns.label,
        "prob": list(rows.columns),
        "weights": columns.options.weights,
        **{name: keywords[name] for name in ("by", "pooling") if keywords[name] is not None},
        **({"cluster": columns.options.cluster} if columns.options.cluster is not None else {}),
        "classes": rows.classes,
        "logits": keywords["logits"],
        **({"logprob": True} if columns.options.logprob else {}),
        **settings(counts, keywords, keywords["bins"]),
    }
