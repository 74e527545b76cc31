"""``bayescal compare``: several models on the same rows, from one file or from files with a column of keys."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _render
from bayescal.analyses.compare import compare
from bayescal.cli import outputs
from bayescal.cli.options import defaults_of
from bayescal.cli.request import bins_asked, classes_asked, sub_models_of
from bayescal.cli.words import called_columns, console, say_saved, warnings_as_notes
from bayescal.data.files.formats import open_source
from bayescal.data.files.matching import read_models
from bayescal.data.files.predictions import ModelColumns, Rows
from bayescal.data.files.source import Source
from bayescal.data.predictions import Predictions
from bayescal.estimands.estimand import Estimand, as_scalar
from bayescal.report.document import PROB, comparison_document
from bayescal.report.figure import comparison_picture
from bayescal.results.comparison import Comparison

if TYPE_CHECKING:
    from rich.console import Console

#: From this length on, a pair of names stands on two lines: the columns of numbers leave so much of 80.
PAIR = 24


@dataclass(frozen=True)
class CompareRequest:
    """Arguments of the command.

    Parameters
    ----------
    files : sequence of Path
        One file, or several with a column of keys.
    key, label, weights : str or None
        Columns.
    prob, prob_prefix, correct, confidence : sequence of str
        Columns or their prefixes, one a model, each alone or after ``NAME=``.
    classes : str or None
        Labels, separated by commas.
    seed : int
        Seed of the draws.
    estimand : str
        What is compared.
    asked : mapping
        Keywords of `compare`; None where its default is meant.
    """

    files: Sequence[Path]
    key: str | None
    label: str | None
    prob: Sequence[str]
    prob_prefix: Sequence[str]
    correct: Sequence[str]
    confidence: Sequence[str]
    weights: str | None
    classes: str | None
    seed: int
    estimand: str
    asked: Mapping[str, Any]


def run(request: CompareRequest, wanted: Mapping[str, Path | None]) -> None:
    """Read, compare, save, show: in this order, so that a closed pipe or a narrow terminal loses no file.

    Parameters
    ----------
    request : CompareRequest
        What was typed.
    wanted : mapping of str to Path or None
        What is to be saved where.

    Raises
    ------
    ValueError, TypeError, OSError
        For anything that is wrong with the options, the files or the places to write to.
    """
    estimand = as_scalar(request.estimand.replace("-", "_"))
    estimand.badness(np.zeros(1))  # refuses what cannot be ranked before files are read
    to_save = outputs.check(wanted, besides=request.files)
    comparison, parameters = compare_files(request)
    outputs.save(
        to_save,
        json=lambda: comparison_document(comparison, estimand.name, {**parameters, "estimand": estimand.name}),
        plot=lambda: comparison_picture(comparison, estimand.name),
        netcdf=comparison.to_datatree,
    )
    screen = console()
    show(screen, comparison, estimand)
    say_saved(screen, *(wanted[kind] for kind in to_save))


def compare_files(request: CompareRequest) -> tuple[Comparison, dict[str, Any]]:
    """Read and compare; also what would have to be typed to get the same result."""
    asked = {**defaults_of(compare), **{k: v for k, v in request.asked.items() if v is not None}}
    asked |= {"bins": bins_asked(asked["bins"]), "rng": request.seed}
    if asked["target"] == "classwise":
        raise ValueError(
            "`target='classwise'` is one question for each class, and a comparison needs one: `target='top-label'`, or "
            "a class at a time, --prob with its column for each model and a column of 0 and 1 for --label."
        )
    if request.confidence:
        asked["target"] = asked["target"] or "confidence"
    models = _models(request)
    rows = read_models(
        models,
        key=request.key,
        weights=request.weights,
        classes=classes_asked(request.classes),
        same_labels=not request.confidence,
    )
    first = next(iter(rows.values()))
    asked |= {"classes": first.classes, "weights": first.weights}
    for name, of_model in rows.items():
        called = called_columns(models[name].label, models[name].prob, models[name].prob_prefix, request.weights)
        with warnings_as_notes(of_model, called):
            known = {key: asked[key] for key in ("target", "classes", "weights", "logits")}
            Predictions.from_labels(of_model.y_true, of_model.y_prob, **known)
    y_true = {name: r.y_true for name, r in rows.items()} if request.confidence else first.y_true
    with warnings_as_notes(first, {}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`y_prob`:")  # said above, with the name of the column
        comparison = compare(y_true, {name: r.y_prob for name, r in rows.items()}, **asked)
    return comparison, _parameters(request, models, rows, comparison, asked)


def show(screen: "Console", comparison: Comparison, estimand: Estimand) -> None:
    """Print the sentence, the differences, what their columns mean, each model by itself, and the specification."""
    screen.print()
    screen.print(comparison.sentence(PROB, estimand=estimand))
    show_differences(screen, comparison, estimand)
    show_table(screen, *_by_itself(comparison, estimand))
    screen.print(f"P(best): it has the {estimand.best(_target(comparison))} of all, by however little.\n")
    screen.print(comparison.spec + "\n", soft_wrap=True)  # one line, to be copied


def show_differences(screen: "Console", comparison: Comparison, estimand: Estimand) -> None:
    """Print the table of differences and what its columns mean."""
    show_table(screen, *_differences(comparison, estimand))
    name, rope = estimand.words(_target(comparison)), f"{comparison.rope:g}"
    below = "of the signed values" if estimand.better == "nearest zero" else f"below 0, the 1st has the smaller {name}"
    screen.print(
        f"1st - 2nd: {below}. P(1st), P(2nd): that classifier is better, its {name} {estimand.comparative} by more "
        f"than {rope}. P(equal): they are no more than {rope} apart (--rope).\n"
    )


def _target(comparison: Comparison) -> str:
    return comparison[comparison.names[0]].counts.target


def _differences(comparison: Comparison, estimand: Estimand) -> tuple[Sequence[str], list[list[str]]]:
    header = ("1st - 2nd", "mean", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")
    table = comparison.table(PROB, estimand=estimand)
    pairs = [(_render.name(row["first"]), _render.name(row["second"])) for row in table]
    on_one_line = all(len(f"{first} - {second}") <= PAIR for first, second in pairs)
    rows = []
    for (first, second), row in zip(pairs, table, strict=True):
        numbers = [_render.number(row[column]) for column in ("mean", "low", "high")]
        numbers += [_share(row[column]) for column in ("p_left", "p_rope", "p_right")]
        if on_one_line:
            rows.append([f"{first} - {second}", *numbers])
        else:
            rows += [[first, *numbers], [f"- {second}", *[""] * len(numbers)]]
    return header, rows


def _by_itself(comparison: Comparison, estimand: Estimand) -> tuple[Sequence[str], list[list[str]]]:
    header = (estimand.column_label(_target(comparison)), "mean", "sd", "2.5 %", "97.5 %", "P(best)", "mean rank")
    rows = [
        [
            _render.name(row[comparison.axis]),
            *(_render.number(row[column]) for column in ("mean", "sd", "low", "high")),
            _share(row["p_best"]),
            f"{row['rank']:.2f}",
        ]
        for row in comparison.each(PROB, estimand=estimand)
    ]
    return header, rows


def _share(probability: float) -> str:
    return _render.probability(probability).removeprefix("= ")


def show_table(screen: "Console", header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table. In a narrow terminal the names are wrapped; numbers are never cut."""
    screen.print(_render.table(_render.Sheet("", "", header, rows), screen.width), crop=False)


def _models(request: CompareRequest) -> dict[str, ModelColumns]:
    """The models by name: of one file, as many as it has columns named; of several files, one each."""
    option, texts, labels = _columns(request)
    sources = _sources(request)
    names: Sequence[str | None] = [None] * len(texts)
    if len(sources) == 1:
        sources = sources * len(texts)
    elif len(texts) not in (1, len(sources)):
        raise ValueError(
            f"several files hold one model each: one --{option} for all of them, or one for each, in the order of the "
            f"files; there are {len(sources)} files and {len(texts)} --{option}."
        )
    else:
        names = _file_names(request.files)
        texts = texts * len(sources) if len(texts) == 1 else texts
    if len(labels) not in (1, len(texts)):
        raise ValueError(
            f"--correct is given once for all models or once for each; there are {len(labels)} for {len(texts)}."
        )
    labels = labels * len(texts) if len(labels) == 1 else labels
    models: dict[str, ModelColumns] = {}
    for source, text, label, known_as in zip(sources, texts, labels, names, strict=True):
        name, column = _name_and_column(option, text, source)
        name = name or known_as or (column.rstrip("_-.: ") if option == "prob-prefix" else "") or column
        if name in models:
            raise ValueError(
                f"models must have different names; {name!r} names two of them. "
                f"Say what to call each: --{option} NAME={column}."
            )
        where = {"prob_prefix": column} if option == "prob-prefix" else {"prob": column}
        models[name] = ModelColumns(source, label, **where)
    if len(models) < 2:
        raise ValueError(
            f"a comparison needs at least two models: give --{option} once for each, or two files and --key. "
            "One model by itself is `bayescal report`."
        )
    return models


def _columns(request: CompareRequest) -> tuple[str, list[str], list[str]]:
    """Which of the three ways to name the columns was taken: the option, what was typed, and the columns of labels."""
    if request.correct or request.confidence:
        if not (request.correct and request.confidence):
            raise ValueError("--correct and --confidence go together: was the prediction right, and how sure was it?")
        if request.label is not None or request.prob or request.prob_prefix:
            raise ValueError("--correct and --confidence take the place of --label, --prob and --prob-prefix.")
        return "confidence", list(request.confidence), list(request.correct)
    if bool(request.prob) == bool(request.prob_prefix):
        raise ValueError(
            "say where each model's probabilities are: --prob COLUMN (one column a model), --prob-prefix PREFIX (one "
            "column a class), or --confidence COLUMN with --correct COLUMN" + ("; not both." if request.prob else ".")
        )
    if request.label is None:
        raise ValueError("say where the true labels are: --label COLUMN.")
    option = "prob" if request.prob else "prob-prefix"
    return option, list(request.prob or request.prob_prefix), [request.label]


def _sources(request: CompareRequest) -> list[Source]:
    """The files, opened; a key for several, none for one."""
    if len(request.files) == 1:
        if request.key is not None:
            raise ValueError("--key says which rows of several files are the same; there is one FILE.")
    elif request.key is None:
        raise ValueError(
            "several files need --key COLUMN, the column that says which rows are the same. Different test sets are "
            "compared in Python: `bayescal.compare_independent`."
        )
    elif len({file.resolve() for file in request.files}) < len(request.files):
        raise ValueError("one FILE is named twice; models in one file are told apart by --prob or --prob-prefix.")
    return [open_source(file) for file in request.files]


def _file_names(files: Sequence[Path]) -> list[str]:
    """The names of files without suffix, or as much of their paths as tells them apart."""
    stems = [Path(file.name.removesuffix(".gz")).stem for file in files]
    within = [f"{file.resolve().parent.name}/{stem}" for file, stem in zip(files, stems, strict=True)]
    for names in (stems, [file.name for file in files], within):
        if len(set(names)) == len(names):
            return names
    return [str(file) for file in files]


def _name_and_column(option: str, text: str, source: Source) -> tuple[str | None, str]:
    """``NAME=COLUMN`` in two; what is a column (or a prefix of some) as it stands is one."""
    known = any(c.startswith(text) for c in source.columns) if option == "prob-prefix" else text in source.columns
    if "=" not in text or known:
        return None, text
    name, _, column = text.partition("=")
    if not name or not column:
        raise ValueError(f"--{option} must be a column, or NAME=COLUMN to name its model; not {text!r}.")
    return name, column


def _parameters(
    request: CompareRequest,
    models: Mapping[str, ModelColumns],
    rows: Mapping[str, Rows],
    comparison: Comparison,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments that give the same result."""
    first = next(iter(comparison.evaluations.values()))
    return {
        "files": [file.name for file in request.files],
        "key": request.key,
        "rows": first.counts.n_rows,
        "classifiers": [
            {
                "name": name,
                "file": of_model.source.path.name,
                "label": models[name].label,
                "prob": list(of_model.columns),
            }
            for name, of_model in rows.items()
        ],
        "weights": request.weights,
        "classes": asked["classes"],
        "logits": asked["logits"],
        "target": first.counts.target,
        "bins": asked["bins"],
        "binning": first.counts.bins.kind,
        "model": first.model,
        **sub_models_of(asked),
        "draws": asked["draws"],
        "seed": request.seed,
        "rope": comparison.rope,
    }
