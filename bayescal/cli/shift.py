"""Two files -> the evaluation of a target without labels, as ``bayescal shift`` saves and shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.analyses.shift import evaluate_shifted
from bayescal.cli.columns import columns_of
from bayescal.cli.command import Result
from bayescal.cli.counts import holds_counts
from bayescal.cli.evaluation import show_evaluation
from bayescal.cli.keywords import keywords_of, settings
from bayescal.cli.options import ColumnOptions, ModelOptions
from bayescal.cli.shift_options import ShiftColumnOptions, ShiftQuestionOptions
from bayescal.cli.words import warnings_as_notes
from bayescal.data.files.formats import open_source
from bayescal.report.document import document
from bayescal.report.figure import picture
from bayescal.report.page import page
from bayescal.results.label_shift import LabelShiftClasses

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class ShiftedFiles(Result):
    """The evaluation of a target without labels.

    Parameters
    ----------
    evaluation : LabelShiftEvaluation or LabelShiftClasses
        The evaluation.
    parameters : dict
        Values of the options that give the same result again.
    notes : sequence of str
        Notes on the rows.
    """

    evaluation: Any
    parameters: dict[str, Any]
    notes: Sequence[str]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, which includes the class frequencies, the page, the picture or the data tree."""
        return {
            "json": lambda: {
                **document(self.evaluation, self.parameters),
                "class_frequencies": self.evaluation.priors.table(),
            },
            "html": lambda: page(self.evaluation, parameters=self.parameters, notes=self.notes),
            "plot": lambda: picture({"": self._of_event("--plot")}),
            "netcdf": lambda: self._of_event("--netcdf").to_datatree(),
        }

    def _of_event(self, option: str) -> Any:
        if isinstance(self.evaluation, LabelShiftClasses):
            raise ValueError(f"{option} needs a single event: --prob with the column of its probability.")
        return self.evaluation

    def show(self, screen: "Console") -> None:
        """Print the class frequencies and the evaluation."""
        show_evaluation(screen, self.evaluation.priors)
        show_evaluation(screen, self.evaluation)


def evaluate_shifted_files(
    source: Path, target: Path, columns: ShiftColumnOptions, question: ShiftQuestionOptions, model: ModelOptions
) -> ShiftedFiles:
    """Evaluate the predictions of a target.

    Parameters
    ----------
    source, target : Path
        The files.
    columns : ShiftColumnOptions
        Columns of labels and probabilities.
    question : ShiftQuestionOptions
        The difference between source and target, and bins.
    model : ModelOptions
        Model, draws and seed.

    Returns
    -------
    ShiftedFiles
        The evaluation.

    Raises
    ------
    ValueError, TypeError, OSError
        If an option or a file is invalid.
    """
    for file in (source, target):
        if holds_counts(file):
            raise ValueError(f"'{file.name}' holds counts; the rows of both files are needed.")
    if question.shift is None:
        raise ValueError("state what differs between source and target: --shift label for the class frequencies alone.")
    named = columns_of(ColumnOptions(**columns.given()))
    keywords = keywords_of(evaluate_shifted, question, model) | {"logits": columns.logits}
    stream = named.open(source)
    with warnings_as_notes(stream, stream.called) as notes:
        rows = stream.read()
        read = open_source(target).read([(column, "number") for column in rows.columns])
        p_target = np.stack(read, axis=1) if rows.y_prob.ndim > 1 else read[0]
        keywords["classes"] = rows.classes
        evaluation = evaluate_shifted(rows.y_true, rows.y_prob, p_target, **keywords)
    first = next(iter(evaluation.values())) if isinstance(evaluation, LabelShiftClasses) else evaluation
    shared = settings(first.counts, keywords, keywords["bins"])
    del shared["target"]  # the key names the file
    parameters: dict[str, Any] = {
        "file": source.name,
        "target": target.name,
        "rows": first.counts.n_rows,
        "label": named.label,
        "prob": list(rows.columns),
        "classes": rows.classes,
        "logits": columns.logits,
        **question.given(),
        **shared,
    }
    return ShiftedFiles(evaluation, parameters, notes)
