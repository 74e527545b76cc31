"""Files that commands write: whole or not at all, and refused before anything is computed."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import __version__
from bayescal._draws import Draws
from bayescal._files import replacing
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.wording import SMALL_ECE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = {"json": (".json",), "output": (".json",), "plot": (".png", ".pdf", ".svg"), "netcdf": (".nc", ".netcdf")}
#: Changes when a reader of the file would have to change.
SCHEMA, COMPARISON_SCHEMA = "bayescal.report/1", "bayescal.compare/1"
PROB = 0.95
#: Half-widths of practical equivalence at which its probability is saved, beside the one that was asked for.
ROPES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
DPI = 150
#: What would make two files of the same picture differ.
NO_DATE = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def check(outputs: Mapping[str, Path | None], besides: Path | Sequence[Path] = ()) -> dict[str, Path]:
    """Refuse outputs that could not be written, before time is spent on computing.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        Option ("json", "output", "plot", "netcdf") and file; None where it was not asked for.
    besides : Path or sequence of Path, optional
        The input, which must not be overwritten.

    Returns
    -------
    dict of str to Path
        The outputs asked for, links followed.

    Raises
    ------
    ValueError, OSError
        If a suffix is not supported, a folder does not exist or cannot be written to, or two files are one.
    """
    wanted = {kind: path for kind, path in outputs.items() if path is not None}
    taken = {path.resolve(): "FILE" for path in ([besides] if isinstance(besides, Path) else besides)}
    for kind, path in wanted.items():
        if path.suffix.lower() not in SUFFIXES[kind]:
            raise ValueError(f"--{kind} writes {' or '.join(SUFFIXES[kind])} files; '{path}' is none by its name.")
        place = path.resolve()
        if not place.parent.is_dir():
            raise FileNotFoundError(f"--{kind}: there is no folder '{path.parent}'; make it first.")
        if path.exists() and not path.is_file():
            raise ValueError(f"--{kind}: '{path}' exists and is not a file.")
        if not os.access(place.parent, os.W_OK):
            raise PermissionError(f"--{kind}: the folder '{path.parent}' cannot be written to.")
        if place in taken:
            raise ValueError(f"--{kind} would overwrite {taken[place]}: '{path}'.")
        taken[place] = f"--{kind}"
    return {kind: path.resolve() for kind, path in wanted.items()}


def save(to_save: Mapping[str, Path], **made: Callable[[], Any]) -> None:
    """Write all outputs, or none of them.

    Parameters
    ----------
    to_save : mapping of str to Path
        What `check` gave.
    **made : callable
        For each kind of output what makes it, called only if it is wanted: data for ``json``, a figure for ``plot``, a
        DataTree for ``netcdf``.

    Raises
    ------
    OSError
        If one cannot be written; the others are then as they were, too.
    """
    with replacing(list(to_save.values())) as drafts:
        for kind, draft in zip(to_save, drafts, strict=True):
            content = made[kind]()
            if kind == "json":
                save_json(draft, content)
            elif kind == "plot":
                save_figure(draft, content)
            else:
                content.to_netcdf(draft)


def save_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write JSON that any parser reads: NaN and infinities become null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    # a file name that is not UTF-8 contains lone surrogates, which UTF-8 cannot encode: write them as \\udcff
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def save_figure(path: Path, figure: "Figure") -> None:
    """Write a picture in the format of its suffix, without the date."""
    suffix = path.suffix.lower()
    figure.savefig(path, format=suffix[1:], dpi=DPI, metadata=NO_DATE[suffix])


def document(evaluation: Evaluation | ClasswiseEvaluation, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was found, as data for JSON; no clock and no machine in it.

    Parameters
    ----------
    evaluation : Evaluation or ClasswiseEvaluation
        The result.
    parameters : mapping
        What was asked, enough to ask it again.

    Returns
    -------
    dict
        Keys schema, bayescal (version), spec, sentence, question, parameters, interval, table, probability_below and
        ``bins``, a list of bins; with ``target="classwise"`` in place of it ``classes``, each with its ``bins``.
    """
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "bayescal": __version__,
        "spec": evaluation.spec,
        "sentence": evaluation.sentence(PROB),
        "question": evaluation.question,
        "parameters": dict(parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "table": evaluation.table(PROB),
        "probability_below": {"ece": SMALL_ECE, "probability": evaluation.ece.pr(lambda e: e < SMALL_ECE)},
    }
    if isinstance(evaluation, Evaluation):
        return {**found, "bins": bin_table(evaluation)}
    return {**found, "classes": [{"label": label, "bins": bin_table(evaluation[label])} for label in evaluation]}


def comparison_document(comparison: Comparison, estimand: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was found of several models, as data for JSON; no clock and no machine in it.

    Parameters
    ----------
    comparison : Comparison
        The result.
    estimand : str
        What was compared.
    parameters : mapping
        What was asked, enough to ask it again.

    Returns
    -------
    dict
        Keys schema, bayescal (version), spec, sentence, parameters, interval; ``differences``, one
        record for each pair of models, with the probability of practical equivalence at several widths; ``models``,
        one record each, with the table and the bins of its own evaluation.
    """
    differences = comparison.table(PROB, estimand=estimand)
    widths = sorted({*ROPES, comparison.rope})
    for row in differences:
        shares = comparison.rope_curve(widths, row["first"], row["second"], estimand)
        row["p_within"] = [{"rope": w, "probability": p} for w, p in zip(widths, shares, strict=True)]
    models = comparison.models(PROB, estimand=estimand)
    for row in models:
        evaluation = comparison[row["model"]]
        row |= {"question": evaluation.question, "table": evaluation.table(PROB), "bins": bin_table(evaluation)}
    return {
        "schema": COMPARISON_SCHEMA,
        "bayescal": __version__,
        "spec": comparison.spec,
        "sentence": comparison.sentence(PROB, estimand=estimand),
        "parameters": dict(parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "differences": differences,
        "models": models,
    }


def bin_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One record for each bin; means, shares and interval are missing (NaN) where a bin has no rows."""
    counts = evaluation.counts
    ends = np.where(counts.occupied, Draws(evaluation.bins.accuracy).interval(PROB), np.nan)
    columns = {
        "low": counts.bins.edges[:-1],
        "high": counts.bins.edges[1:],
        "n": counts.n,
        "k": counts.k,
        "mean_confidence": counts.mean_confidence,
        "accuracy": counts.accuracy,
        "accuracy_low": ends[0],
        "accuracy_high": ends[1],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    """Numpy's and other types as JSON's; what is not a finite number is null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def picture(evaluations: Mapping[str, Evaluation | ClasswiseEvaluation]) -> "Figure":
    """Draw, for each evaluation, its reliability diagram and its posterior side by side.

    Parameters
    ----------
    evaluations : mapping of str to evaluation
        Titles (may be empty) and results, from top to bottom. The classwise result, which has a reliability diagram
        for every class, shows its posterior alone.

    Returns
    -------
    matplotlib Figure
        Not known to pyplot: nothing to close, and no window.
    """
    from matplotlib.figure import Figure

    from bayescal.report.posterior import plot_posterior
    from bayescal.report.reliability import plot_reliability

    figure = Figure(figsize=(11, 5.4 * len(evaluations)), layout="constrained")
    rows = figure.subfigures(len(evaluations), 1, squeeze=False)[:, 0]
    posteriors = []
    for row, (title, evaluation) in zip(rows, evaluations.items(), strict=True):
        if title:
            row.suptitle(title, x=0.01, ha="left", fontsize="x-large", fontweight="bold")
        if isinstance(evaluation, ClasswiseEvaluation):
            posteriors.append(plot_posterior(evaluation, row.subplots()))
            continue
        left, right = row.subplots(1, 2, width_ratios=[5, 6])
        plot_reliability(evaluation, left)
        posteriors.append(plot_posterior(evaluation, right))
    low, high = np.transpose([ax.get_xlim() for ax in posteriors])
    for ax in posteriors:
        ax.set_xlim(low.min(), high.max())  # errors that are to be compared stand on one scale
    return figure


def comparison_picture(comparison: Comparison, estimand: str) -> "Figure":
    """Draw what `bayescal.plot_comparison` draws, in a figure of that size, not known to pyplot."""
    from matplotlib.figure import Figure

    from bayescal.report.comparison import plot_comparison
    from bayescal.report.forest import rows_height

    height = rows_height(comparison.names)
    size = (6.6, 4.7 + height) if len(comparison.names) == 2 else (9.0, min(2.4 + 2 * height, 20.0))
    figure = Figure(figsize=size, layout="tight")
    plot_comparison(comparison, figure.subplots(), estimand=estimand)
    return figure
