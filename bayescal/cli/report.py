"""``bayescal report``: a file in, an evaluation shown and saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import _checks, _render
from bayescal.analyses.classwise import evaluate_class_counts
from bayescal.cli import outputs
from bayescal.cli.counted import holds_counts, read_counts
from bayescal.cli.counting import bars
from bayescal.cli.options import defaults_of, refuse
from bayescal.cli.request import ColumnNames, ReportRequest, bins_asked, columns_of, sub_models_of
from bayescal.cli.words import console, say_saved, warnings_as_notes
from bayescal.data.files.predictions import RowStream
from bayescal.evaluate import evaluate, evaluate_counts
from bayescal.report.document import document
from bayescal.report.figure import picture
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.bins import BINNINGS
from bayescal.stats.files import Counting, count_classes_of_stream, count_stream

if TYPE_CHECKING:
    from rich.console import Console


def run(request: ReportRequest, wanted: Mapping[str, Path | None]) -> None:
    """Read, evaluate, save, show: in this order, so that a closed pipe or a narrow terminal loses no file.

    Parameters
    ----------
    request : ReportRequest
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
    outputs.save(
        to_save,
        json=lambda: document(evaluation, parameters),
        plot=lambda: picture({"": evaluation}),
        netcdf=evaluation.to_datatree,
    )
    screen = console()
    show(screen, evaluation)
    say_saved(screen, *(wanted[kind] for kind in to_save))


def evaluate_file(request: ReportRequest) -> tuple[Evaluation | ClasswiseEvaluation, dict[str, Any]]:
    """Read and evaluate; also what would have to be typed to get the same result."""
    if holds_counts(request.file):
        return _evaluate_counted(request)
    columns = columns_of(request)
    asked = {**defaults_of(evaluate), **{k: v for k, v in request.asked.items() if v is not None}}
    asked |= {"bins": bins_asked(asked["bins"]), "target": asked["target"] or columns.target}
    stream = columns.open(request.file, request)
    with warnings_as_notes(stream, stream.called):
        evaluation = _evaluate(stream, asked, request.seed)
    return evaluation, _parameters(request, columns, stream, evaluation, asked)


def _evaluate_counted(request: ReportRequest) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluate counted rows."""
    of_rows = {**request.columns, **{k: request.asked.get(k) for k in ("target", "binning", "logits")}}
    refuse("go with rows, and this file holds counts of them", of_rows)
    known = {k: v for k, v in request.asked.items() if v is not None and k in ("model", "sub_models", "draws")}
    counts = read_counts(request.file, bins_asked(request.asked.get("bins")))
    evaluation = evaluate_counts(counts, **known, rng=request.seed)
    return evaluation, {
        "file": request.file.name,
        "rows": counts.n_rows,
        "target": counts.target,
        "bins": len(counts.bins),
        "binning": counts.bins.kind,
        "model": evaluation.model,
        **sub_models_of(known),
        "draws": evaluation.ece.values.size,
        "seed": request.seed,
    }


def _evaluate(stream: RowStream, asked: Mapping[str, Any], seed: int) -> Evaluation | ClasswiseEvaluation:
    """Evaluate all rows, as `bayescal.evaluate` does."""
    known = {"model": asked["model"], **sub_models_of(asked), "draws": asked["draws"], "rng": seed}
    _checks.one_of("binning", asked["binning"], BINNINGS)
    how = Counting(asked["target"], asked["bins"], asked["binning"], asked["logits"])
    if asked["target"] != "classwise":
        with bars(stream.source.path.name) as progress:
            counted = count_stream(stream, how, progress)
        return evaluate_counts(counted, **known)
    if stream.one_column or asked["binning"] != "equal-width":  # edges for every class need all rows at once
        rows = stream.read()
        return evaluate(
            rows.y_true, rows.y_prob, **{**asked, "classes": rows.classes, "weights": rows.weights, **known}
        )
    with bars(stream.source.path.name) as progress:
        counts, correlations = count_classes_of_stream(stream, how, progress)
    classes = tuple(range(len(counts))) if stream.classes is None else stream.classes
    return evaluate_class_counts(counts, correlations, classes, **known)


def show(screen: "Console", evaluation: Evaluation | ClasswiseEvaluation) -> None:
    """Print the sentence, the table, remarks and the specification."""
    sheet = evaluation.sheet()
    screen.print()
    screen.print(sheet.sentence)
    screen.print(_render.table(sheet, screen.width), crop=False)
    for remark in sheet.remarks:
        screen.print(remark)
    if sheet.remarks:
        screen.print()
    screen.print(sheet.spec + "\n", soft_wrap=True)  # one line, to be copied


def _parameters(
    request: ReportRequest,
    columns: ColumnNames,
    rows: RowStream,
    evaluation: Evaluation | ClasswiseEvaluation,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments that give the same result."""
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
        **sub_models_of(asked),
        "draws": asked["draws"],
        "seed": request.seed,
    }
