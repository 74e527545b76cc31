"""Two files -> the evaluation of a target without labels, as ``bayescal shift`` saves and shows it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _render
from bayescal.cli.columns import columns_of
from bayescal.cli.command import Result
from bayescal.cli.counts import holds_counts
from bayescal.cli.keywords import keywords_of, settings
from bayescal.cli.options import ColumnOptions, ModelOptions, refuse
from bayescal.cli.words import file_named, warnings_as_notes
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import Rows
from bayescal.report.document import document
from bayescal.report.figure import picture
from bayescal.report.page import page
from bayescal.report.tables import Table
from bayescal.shift.analysis import evaluate_shifted
from bayescal.shift.covariate_shift import CovariateShiftEvaluation, WeightsWarning
from bayescal.shift.label_shift_result import LabelShiftClasses
from bayescal.shift.options import ShiftColumnOptions, ShiftQuestionOptions
from bayescal.shift.rows import TARGET
from bayescal.shift.shift_evidence import ShiftEvidence
from bayescal.shift.shift_evidence import evidence as shift_evidence

#: Options of one kind of shift alone: the option -> its kind.
SHIFT_OF_OPTION = {"using": "label", "weights": "covariate"}
#: Options of the evaluation, which the evidence of a shift does not use.
OF_EVALUATION = ("using", "weights", "bins", "binning", "model", "sub_models")
#: Part of messages for commands without `--shift`.
NAMED_WITHOUT_SHIFT = (
    "state what differs between source and target: --shift label for the class frequencies alone, or --shift covariate "
    "with --weights COLUMN for the distribution of the features. --evidence alone shows whether the scores differ."
)


@dataclass(frozen=True)
class ShiftedFiles(Result):
    """The evaluation of a target without labels, the evidence that it differs from the source, or both."""

    evaluation: Any
    evidence: ShiftEvidence | None
    parameters: dict[str, Any]
    notes: Sequence[str]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page, the picture or the data tree."""
        return {
            "json": self._document,
            "html": self._page,
            "plot": lambda: picture({"": self._event_evaluation("--plot")}),
            "netcdf": self._tree,
        }

    def _document(self) -> dict[str, Any]:
        """Return the evaluation and the evidence."""
        if self.evaluation is None:
            return document(self.evidence, self.parameters)
        evidence = {} if self.evidence is None else {"evidence": document(self.evidence)}
        return {**document(self.evaluation, self.parameters), **evidence}

    def _page(self) -> str:
        if self.evaluation is None:
            assert self.evidence is not None  # one of the two was computed
            return page(self.evidence, parameters=self.parameters, notes=self.notes)
        more = []
        if self.evidence is not None:
            sheet = self.evidence.sheet(whole=True)
            more = [Table("Evidence of a shift", sheet.header, sheet.rows, sheet.sentence)]
        return page(self.evaluation, parameters=self.parameters, notes=self.notes, more=more)

    def _tree(self) -> Any:
        """Return the data tree of the evaluation, or of the evidence if it stands alone."""
        if self.evaluation is None:
            assert self.evidence is not None
            return self.evidence.to_datatree()
        return self._event_evaluation("--netcdf").to_datatree()

    def _event_evaluation(self, option: str) -> Any:
        if self.evaluation is None:
            raise ValueError(f"{option} needs an evaluation: {NAMED_WITHOUT_SHIFT}")
        if isinstance(self.evaluation, LabelShiftClasses):
            raise ValueError(f"{option} needs a single event: --prob with the column of its probability.")
        return self.evaluation

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheets of the evidence, of the class frequencies or weights, and of the evaluation."""
        sheets = [] if self.evidence is None else [self.evidence.sheet()]
        if self.evaluation is None:
            return sheets
        by_weights = isinstance(self.evaluation, CovariateShiftEvaluation)
        known = (self.evaluation.weight_report if by_weights else self.evaluation.priors).sheet()
        sheet = self.evaluation.sheet()
        left = [remark for remark in sheet.remarks if remark not in known.remarks]
        return [*sheets, known, replace(sheet, remarks=left)]


def evaluate_shifted_files(
    source: Path, target: Path, columns: ShiftColumnOptions, question: ShiftQuestionOptions, model: ModelOptions
) -> ShiftedFiles:
    """Evaluate the predictions of a target, compare its scores with those of the source, or both."""
    _check_options(columns, question, model)
    keywords = keywords_of(evaluate_shifted, question, model) | {"logits": columns.logits}
    wanted = keywords.pop("evidence", False)
    label, rows, unlabelled, called = _read(source, target, columns)
    arguments = rows.y_true, rows.y_prob, unlabelled.y_prob
    keywords["classes"] = rows.classes
    if columns.weights is not None:
        keywords["weights"] = rows.weights
    evidence = evaluation = None
    with warnings_as_notes(rows, called, {TARGET: unlabelled}) as notes, warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsWarning)  # the report on the weights is shown
        if wanted:
            shared = {name: keywords[name] for name in ("classes", "logits", "draws", "rng")}
            evidence = shift_evidence(*arguments, **shared)
        if question.shift is not None:
            evaluation = evaluate_shifted(*arguments, **keywords)
    parameters = {
        "file": source.name,
        "target": target.name,
        "rows": len(rows.y_true),
        "label": label,
        "prob": list(rows.columns),
        **({} if columns.weights is None else {"weights": columns.weights}),
        "classes": rows.classes,
        "logits": columns.logits,
        **({"logprob": True} if columns.logprob else {}),
        **question.given(),
        **_settings(evaluation, keywords),
    }
    return ShiftedFiles(evaluation, evidence, parameters, notes)


def _settings(evaluation: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    if evaluation is None:
        return {"draws": keywords["draws"], "seed": keywords["rng"]}
    first = next(iter(evaluation.values())) if isinstance(evaluation, LabelShiftClasses) else evaluation
    values = settings(first.counts, keywords, keywords["bins"])
    del values["target"]  # the key names the file
    return values


def _check_options(columns: ShiftColumnOptions, question: ShiftQuestionOptions, model: ModelOptions) -> None:
    """Refuse options that are missing, or that have no effect with the others, before files are read."""
    options = columns.given() | question.given() | model.given()
    if columns.label is not None and columns.label == columns.prob:
        raise ValueError(f"--label and --prob must name different columns; both are {columns.label!r}.")
    if question.shift is None:
        if not question.evidence:
            raise ValueError(NAMED_WITHOUT_SHIFT)
        refuse({name: options[name] for name in OF_EVALUATION if name in options}, "without --shift")
    else:
        others = {of: options[of] for of, kind in SHIFT_OF_OPTION.items() if of in options and kind != question.shift}
        refuse(others, f"with --shift {question.shift}")
    if question.shift == "covariate" and columns.weights is None:
        raise ValueError(
            "say where the weights of the source are: --weights COLUMN, the density of the features in the target "
            "divided by that in the source, up to a factor. Weights of 1 assume that the probability of the outcome at "
            "a score is the same in both."
        )


def _read(source: Path, target: Path, columns: ShiftColumnOptions) -> tuple[Any, Rows, Rows, dict[str, str]]:
    """Return the column of labels, the rows of both files, and words for the arguments that hold their columns."""
    both = (source, target)
    for file in both:
        if holds_counts(file):
            raise ValueError(f"'{file.name}' holds counts; the rows of both files are needed.")
    named = columns_of(ColumnOptions(**columns.given()))
    with file_named(source, both):
        stream = named.open(source)
        rows = stream.read()
    with file_named(target, both):
        target_source = open_source(target)
        read = target_source.read(stream.places.probs)
    p_target = read[0] if stream.one_column else np.stack(read, axis=1)
    called = {name: f"{words} of '{source.name}'" for name, words in stream.called.items()}
    called[TARGET] = f"{stream.called['y_prob']} of '{target.name}'"
    unlabelled = Rows(np.empty(0), p_target, None, rows.classes, rows.columns, target_source)
    return named.label, rows, unlabelled, called
