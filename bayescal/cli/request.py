"""Arguments of the commands: the columns of a file, and the question."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayescal.data.files.predictions import RowStream, open_predictions


@dataclass(frozen=True)
class ColumnNames:
    """Columns of a file that hold what `evaluate` takes, and the target if the options imply one."""

    label: str
    prob: str | None
    prob_prefix: str | None
    target: str | None

    def open(self, file: Path, request: "ReportRequest") -> RowStream:
        """Open a file to read these columns of it."""
        return open_predictions(
            file,
            label=self.label,
            prob=self.prob,
            prob_prefix=self.prob_prefix,
            weights=request.weights,
            classes=classes_asked(request.classes),
        )


@dataclass(frozen=True)
class ReportRequest:
    """Arguments of the command.

    Parameters
    ----------
    file : Path
        The file of predictions.
    label, prob, prob_prefix, correct, confidence, weights : str or None
        ColumnNames.
    classes : str or None
        Labels, separated by commas.
    seed : int
        Seed of the draws.
    asked : mapping
        Keywords of `evaluate`; None where its default is meant.
    """

    file: Path
    label: str | None
    prob: str | None
    prob_prefix: str | None
    correct: str | None
    confidence: str | None
    weights: str | None
    classes: str | None
    seed: int
    asked: Mapping[str, Any]

    @property
    def columns(self) -> dict[str, str | None]:
        """The options that name columns of rows."""
        names = ("label", "prob", "prob_prefix", "correct", "confidence", "weights", "classes")
        return {name.replace("_", "-"): getattr(self, name) for name in names}


def columns_of(request: ReportRequest) -> ColumnNames:
    """Which of the three ways to name the columns was taken."""
    if request.correct is not None or request.confidence is not None:
        if request.correct is None or request.confidence is None:
            raise ValueError("--correct and --confidence go together: was the prediction right, and how sure was it?")
        if any(c is not None for c in (request.label, request.prob, request.prob_prefix)):
            raise ValueError("--correct and --confidence take the place of --label, --prob and --prob-prefix.")
        return ColumnNames(request.correct, request.confidence, None, "confidence")
    if (request.prob is None) == (request.prob_prefix is None):
        raise ValueError(
            "say where the probabilities are: --prob COLUMN (one column), --prob-prefix PREFIX (one column a "
            "class), or --confidence COLUMN with --correct COLUMN" + ("." if request.prob is None else "; not two.")
        )
    if request.label is None:
        raise ValueError("say where the true labels are: --label COLUMN.")
    return ColumnNames(request.label, request.prob, request.prob_prefix, None)


def bins_asked(text: Any) -> Any:
    """A number of bins, or edges separated by commas."""
    if not isinstance(text, str):
        return text
    try:
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise ValueError(f"`bins` must be a whole number, or edges like 0,0.25,0.5,1; not {text!r}.") from None


def classes_asked(text: str | None) -> list[str] | None:
    """Split labels at commas; a label that contains a comma or a line break must be in double quotes."""
    return None if text is None else _split("classes", text)


def sub_models_asked(text: str | None) -> list[str] | None:
    """Split keys of sub-models at commas."""
    if text is None:
        return None
    asked = [name.strip() for name in text.split(",")]
    if not any(asked):
        raise ValueError("`sub_models` must hold at least one name, as in 'independent'.")
    return asked


def sub_models_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The choice of sub-models as a keyword, if one was made."""
    return {key: value for key, value in asked.items() if key == "sub_models" and value is not None}


def _split(option: str, text: str, **rules: Any) -> list[str]:
    called = "labels" if option == "classes" else "names"
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True, **rules))
    except csv.Error as problem:
        raise ValueError(f"`{option}` must be {called} separated by commas: {problem}.") from None
    if len(lines) > 1:
        raise ValueError(
            f"`{option}` must be {called} separated by commas on one line; there are {len(lines)} lines. "
            f'Put a {called[:-1]} with a line break in double quotes: "a\\nb",c.'
        )
    return lines[0] if lines else []
