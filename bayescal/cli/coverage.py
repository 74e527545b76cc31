"""``bayescal verify --coverage``: does what the package claims hold on somebody's own bins, sizes and curves?"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import __version__, _checks
from bayescal.cli import outputs
from bayescal.cli.request import bins_asked
from bayescal.cli.words import console, say_saved
from bayescal.datasets.simulate import CURVES, POPULATIONS
from bayescal.verify.studies.coverage import METHODS, STUDY_CURVES, CoverageStudy, coverage_study
from bayescal.verify.studies.study import standard_error

if TYPE_CHECKING:
    from rich.table import Table

#: Changes when a reader of the file would have to change.
SCHEMA = "bayescal.coverage/1"
#: Shares this many standard errors below what was asked for are marked.
MARKED = 3


@dataclass(frozen=True)
class CoverageRequest:
    """Arguments of the command; None stands for the default of `coverage_study`.

    Parameters
    ----------
    sizes, populations, curves, methods, bins : str or None
        Lists, separated by commas; a curve is NAME or NAME:STRENGTH.
    repeats, draws, seed : int
        Data sets per cell, draws or resamples, seed.
    """

    sizes: str | None
    populations: str | None
    curves: str | None
    methods: str | None
    bins: str | None
    repeats: int
    draws: int
    seed: int


def run(request: CoverageRequest, json: Path | None) -> None:
    """Run the coverage study, save it, show it.

    Parameters
    ----------
    request : CoverageRequest
        What was typed.
    json : Path or None
        Where to save all numbers.

    Raises
    ------
    ValueError, TypeError, OSError
        For anything that is wrong with the options, before time is spent on computing.
    """
    to_save = outputs.check({"json": json})
    asked = _asked(request)
    study = coverage_study(**asked, rng=request.seed, progress=True)
    outputs.save(to_save, json=lambda: document(study, request))
    screen = console()
    screen.print()
    screen.print(
        f"Share of {100 * study.prob:g} % intervals that contain the true ECE, {request.repeats} data sets a cell:"
    )
    screen.print(cell_table(study, request.repeats))
    screen.print(overall_table(study))
    error = standard_error(study.prob, request.repeats)
    screen.print(
        f"The standard error of a share near {study.prob:g} is {error:.3f}; * marks shares more than {MARKED} of them "
        "below. RMSE is that of the point estimate (posterior mean, plug-in, plug-in less its bootstrapped bias)."
    )
    if to_save:
        screen.print()
        say_saved(screen, json)


def document(study: CoverageStudy, request: CoverageRequest) -> dict[str, Any]:
    """All numbers of a study and what was asked, for `outputs.save_json`."""
    return {
        "schema": SCHEMA,
        "bayescal": __version__,
        "parameters": asdict(request),
        "prob": study.prob,
        "cells": study.rows,
        "overall": study.overall(),
    }


def cell_table(study: CoverageStudy, repeats: int) -> "Table":
    """One line a cell, the coverage of one method a column; shares that are too low are marked."""
    methods = study.methods
    low = study.prob - MARKED * standard_error(study.prob, repeats)
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in study.rows:
        cell = (str(row["n_rows"]), row["population"], row["curve"], f"{row['truth']:.4f}")
        mark = "*" if row["coverage"] < low else " "
        cells.setdefault(cell, {})[row["method"]] = f"{row['coverage']:.2f}{mark}"
    table = _table(("rows", "confi-\ndences", "curve", "true\nECE", *methods), left=("confi-\ndences", "curve"))
    for place, shares in cells.items():
        table.add_row(*place, *(shares[method] for method in methods))
    return table


def overall_table(study: CoverageStudy) -> "Table":
    """One line a method: its worst cell, and means over cells."""
    table = _table(("method", "worst", "mean\ncoverage", "rmse", "width", "worst cell"), left=("method", "worst cell"))
    for found in study.overall():
        table.add_row(
            found["method"],
            f"{found['worst_coverage']:.2f}",
            f"{found['mean_coverage']:.3f}",
            f"{found['mean_rmse']:.4f}",
            f"{found['mean_width']:.4f}",
            found["worst_cell"],
        )
    return table


def _table(header: Iterable[str], left: Iterable[str]) -> "Table":
    from rich import box
    from rich.table import Table

    # narrow enough for a terminal of 80 columns
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for title in header:
        table.add_column(title, justify="left" if title in left else "right", no_wrap=title in ("curve", "worst cell"))
    return table


def _asked(request: CoverageRequest) -> dict[str, Any]:
    """Keywords of `coverage_study`; every name is looked up before the first cell is run."""
    asked: dict[str, Any] = {"repeats": request.repeats, "draws": request.draws}
    if request.sizes is not None:
        asked["sizes"] = [_size(word) for word in _words("sizes", request.sizes)]
    if request.populations is not None:
        asked["populations"] = [
            _known("populations", word, POPULATIONS) for word in _words("populations", request.populations)
        ]
    if request.methods is not None:
        asked["methods"] = [_known("methods", word, METHODS) for word in _words("methods", request.methods)]
    if request.curves is not None:
        asked["curves"] = [_curve(word) for word in _words("curves", request.curves)]
    if request.bins is not None:
        asked["bins"] = bins_asked(request.bins)
    return asked


def _words(option: str, text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ValueError(f"`{option}` must be a list separated by commas, without gaps; not {text!r}.")
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(f"`{option}` names {twice!r} twice.")
    return words


def _size(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"`sizes` must be whole numbers, as in 300,2000; not {word!r}.") from None


def _known(option: str, word: str, known: Iterable[str]) -> str:
    """A name, in which hyphens may stand for spaces, so that a shell needs no quotes."""
    name = word.replace("-", " ")
    _checks.one_of(option, name, known)
    return name


def _curve(word: str) -> tuple[str, float | None]:
    name, colon, strength = word.partition(":")
    name = _known("curves", name, CURVES)
    if not colon:
        return name, None
    try:
        return name, float(strength)
    except ValueError:
        raise ValueError(f"`curves` takes NAME or NAME:STRENGTH with a number, not {word!r}.") from None


def curves_in_words() -> str:
    """The default curves, as they would be typed."""
    return ",".join(
        name.replace(" ", "-") + ("" if strength is None else f":{strength:g}") for name, strength in STUDY_CURVES
    )
