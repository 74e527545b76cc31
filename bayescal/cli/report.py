"""``bayescal report``: a file in, an evaluation shown and saved."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import _checks, _render
from bayescal._files import replacing
from bayescal.cli import outputs
from bayescal.cli.counting import Question, count_stream, count_stream_of_classes
from bayescal.cli.options import defaults_of
from bayescal.cli.words import console, warnings_as_notes
from bayescal.data.files import RowStream, open_predictions
from bayescal.evaluate import evaluate, evaluate_class_counts, evaluate_counts
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.bins import BINNINGS

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Columns:
    """Columns of a file that hold what `evaluate` takes, and the target if the options imply one."""

    label: str
    prob: str | None
    prob_prefix: str | None
    target: str | None

    def open(self, file: Path, request: "Request") -> RowStream:
        """Open a file to read these columns of it."""
        return open_predictions(
            file,
            label=self.label,
            prob=self.prob,
            prob_prefix=self.prob_prefix,
            weights=request.weights,
            classes=None if request.classes is None else next(csv.reader([request.classes])),
        )

    def called(self, weights: str | None) -> dict[str, str]:
        """What messages call the arguments of `evaluate` that hold rows."""
        prob = f"column {self.prob!r}" if self.prob is not None else f"the matrix of columns '{self.prob_prefix}*'"
        return {"y_true": f"column {self.label!r}", "y_prob": prob, "weights": f"column {weights!r}"}


@dataclass(frozen=True)
class Request:
    """What was typed.

    Parameters
    ----------
    file : Path
        The file of predictions.
    label, prob, prob_prefix, correct, confidence, weights : str or None
        Columns.
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


def run(request: Request, wanted: Mapping[str, Path | None]) -> None:
    """Read, evaluate, save, show: in this order, so that a closed pipe or a narrow terminal loses no file.

    Parameters
    ----------
    request : Request
        What was typed.
    wanted : mapping of str to Path or None
        What is to be saved where.

    Raises
    ------
    ValueError, TypeError, OSError
        For anything that is wrong with the options, the file or the places to write to.
    """
    to_save = outputs.check(wanted, besides=request.file)
    evaluation, parameters = evaluate_file(request)
    _save(to_save, evaluation, parameters)
    screen = console()
    show(screen, evaluation)
    for kind in to_save:
        screen.print(f"Saved {wanted[kind]}", soft_wrap=True)


def evaluate_file(request: Request) -> tuple[Evaluation | ClasswiseEvaluation, dict[str, Any]]:
    """Read and evaluate; also what would have to be typed to get the same result."""
    columns = columns_of(request)
    asked = {**defaults_of(evaluate), **{k: v for k, v in request.asked.items() if v is not None}}
    asked |= {"bins": bins_asked(asked["bins"]), "target": asked["target"] or columns.target}
    stream = columns.open(request.file, request)
    with warnings_as_notes(stream, columns.called(request.weights)):
        evaluation = _evaluate(stream, asked, request.seed)
    return evaluation, _parameters(request, columns, stream, evaluation, asked)


def _evaluate(stream: RowStream, asked: Mapping[str, Any], seed: int) -> Evaluation | ClasswiseEvaluation:
    """What `bayescal.evaluate` says of all rows."""
    known = {"model": asked["model"], "draws": asked["draws"], "rng": seed}
    _checks.one_of("binning", asked["binning"], BINNINGS)
    question = Question(asked["target"], asked["bins"], asked["binning"], asked["logits"])
    if asked["target"] != "classwise":
        return evaluate_counts(count_stream(stream, question), **known)
    if stream.one_column or asked["binning"] != "equal-width":  # edges for every class need all rows at once
        rows = stream.read()
        return evaluate(
            rows.y_true, rows.y_prob, **{**asked, "classes": rows.classes, "weights": rows.weights, **known}
        )
    counts, correlations = count_stream_of_classes(stream, question)
    classes = tuple(range(len(counts))) if stream.classes is None else stream.classes
    return evaluate_class_counts(counts, correlations, classes, **known)


def show(screen: "Console", evaluation: Evaluation | ClasswiseEvaluation) -> None:
    """Print the sentence, the table, remarks and the specification."""
    sheet = evaluation.sheet()
    screen.print()
    screen.print(sheet.sentence)
    screen.print(_render.table(sheet))
    for remark in sheet.remarks:
        screen.print(remark)
    if sheet.remarks:
        screen.print()
    screen.print(sheet.spec + "\n", soft_wrap=True)  # one line, to be copied


def columns_of(request: Request) -> Columns:
    """Which of the three ways to name the columns was taken."""
    if request.correct is not None or request.confidence is not None:
        if request.correct is None or request.confidence is None:
            raise ValueError("--correct and --confidence go together: was the prediction right, and how sure was it?")
        if any(c is not None for c in (request.label, request.prob, request.prob_prefix)):
            raise ValueError("--correct and --confidence take the place of --label, --prob and --prob-prefix.")
        return Columns(request.correct, request.confidence, None, "confidence")
    if (request.prob is None) == (request.prob_prefix is None):
        raise ValueError(
            "say where the probabilities are: --prob COLUMN (one column), --prob-prefix PREFIX (one column a "
            "class), or --confidence COLUMN with --correct COLUMN" + ("." if request.prob is None else "; not two.")
        )
    if request.label is None:
        raise ValueError("say where the true labels are: --label COLUMN.")
    return Columns(request.label, request.prob, request.prob_prefix, None)


def bins_asked(text: Any) -> Any:
    """A number of bins, or edges separated by commas."""
    if not isinstance(text, str):
        return text
    try:
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise ValueError(f"`bins` must be a whole number, or edges like 0,0.25,0.5,1; not {text!r}.") from None


def _parameters(
    request: Request,
    columns: Columns,
    rows: RowStream,
    evaluation: Evaluation | ClasswiseEvaluation,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """What would have to be typed to get the same result."""
    first = evaluation.counts if isinstance(evaluation, Evaluation) else evaluation.counts[0]
    return {
        "file": request.file.name,
        "rows": first.n_rows,
        "label": columns.label,
        "prob": list(rows.columns),
        "weights": request.weights,
        "classes": rows.classes,
        "logits": asked["logits"],
        "target": first.target,
        "bins": asked["bins"],
        "binning": first.bins.kind,
        "model": evaluation.model,
        "draws": asked["draws"],
        "seed": request.seed,
    }


def _save(
    to_save: Mapping[str, Path], evaluation: Evaluation | ClasswiseEvaluation, parameters: Mapping[str, Any]
) -> None:
    with replacing(list(to_save.values())) as drafts:
        for kind, draft in zip(to_save, drafts, strict=True):
            if kind == "json":
                outputs.save_json(draft, outputs.document(evaluation, parameters))
            elif kind == "plot":
                outputs.save_figure(draft, outputs.picture({"": evaluation}))
            else:
                evaluation.to_datatree().to_netcdf(draft)
