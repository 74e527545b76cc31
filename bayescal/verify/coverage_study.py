"""The coverage study with the user's bins, sizes and curves, as ``bayescal verify --coverage`` shows it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bayescal import __version__, _checks
from bayescal.cli.command import Result
from bayescal.cli.keywords import keywords_of
from bayescal.datasets.simulate import CURVES, POPULATIONS
from bayescal.estimands.registry import meant, registered
from bayescal.verify.coverage import CoverageStudy, coverage_study, standard_error
from bayescal.verify.methods import methods_of
from bayescal.verify.options import StudyOptions, VerifyOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Format of the document; it changes if programs that read the document must change.
SCHEMA = "bayescal.coverage/1"
#: Shares more than this many standard errors below the probability of the intervals are marked.
MARKED = 3


@dataclass(frozen=True)
class CoverageResult(Result):
    """A coverage study and the options that gave it.

    Parameters
    ----------
    study : CoverageStudy
        The study.
    parameters : dict
        Values of the options.
    """

    study: CoverageStudy
    parameters: dict[str, Any]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document."""
        return {"json": self.document}

    def document(self) -> dict[str, Any]:
        """Return all numbers of the study as data for JSON."""
        return {
            "schema": SCHEMA,
            "bayescal": __version__,
            "parameters": self.parameters,
            "estimand": self.study.estimand,
            "prob": self.study.prob,
            "cells": self.study.rows,
            "overall": self.study.overall(),
        }

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print a table of cells, a table of methods, and the meaning of their columns."""
        prob, repeats = self.study.prob, self.parameters["repeats"]
        screen.print()
        screen.print(
            f"Share of {100 * prob:g} % intervals that contain the true {_symbol(self.study)}, {repeats} data sets per "
            "cell:"
        )
        screen.print(cell_table(self.study, repeats))
        screen.print(overall_table(self.study))
        screen.print(
            f"The standard error of a share near {prob:g} is {standard_error(prob, repeats):.3f}; * marks shares more "
            f"than {MARKED} standard errors below {prob:g}. RMSE: root mean squared error of the point estimate "
            "(posterior mean, plug-in, or plug-in minus its bootstrapped bias).\n"
        )


def run_study(study: StudyOptions, options: VerifyOptions) -> CoverageResult:
    """Run the coverage study.

    Parameters
    ----------
    study : StudyOptions
        Cells, methods and the number of data sets.
    options : VerifyOptions
        Bins, draws and seed.

    Returns
    -------
    CoverageResult
        The study.

    Raises
    ------
    ValueError, TypeError
        If an option is invalid, before anything is computed.
    """
    keywords = _keywords(study, options)
    parameters = {
        **{name: getattr(study, name) for name in LISTS},
        "bins": options.bins,
        "repeats": keywords["repeats"],
        "draws": keywords["draws"],
        "seed": options.seed,
    }
    return CoverageResult(coverage_study(**{**keywords, "progress": True}), parameters)


def cell_table(study: CoverageStudy, repeats: int) -> "Table":
    """Return a table with one row per cell and one column per method; a * marks shares that are too low."""
    methods = study.methods
    low = study.prob - MARKED * standard_error(study.prob, repeats)
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in study.rows:
        cell = (str(row["n_rows"]), row["population"], row["curve"], f"{row['truth']:.4f}")
        mark = "*" if row["coverage"] < low else " "
        cells.setdefault(cell, {})[row["method"]] = f"{row['coverage']:.2f}{mark}"
    truth = f"true\n{_symbol(study).replace(' ', chr(10))}"
    table = _table(("rows", "confi-\ndences", "curve", truth, *methods), left=("confi-\ndences", "curve"))
    for place, shares in cells.items():
        table.add_row(*place, *(shares[method] for method in methods))
    return table


def overall_table(study: CoverageStudy) -> "Table":
    """Return a table with one row per method: its worst cell, and means over cells."""
    table = _table(("method", "worst", "mean\ncoverage", "rmse", "width", "worst cell"), left=("method", "worst cell"))
    for row in study.overall():
        table.add_row(
            row["method"],
            f"{row['worst_coverage']:.2f}",
            f"{row['mean_coverage']:.3f}",
            f"{row['mean_rmse']:.4f}",
            f"{row['mean_width']:.4f}",
            row["worst_cell"],
        )
    return table


def _symbol(study: CoverageStudy) -> str:
    """Return the words for the estimand of a study."""
    return registered()[study.estimand].symbol


def _table(header: Iterable[str], left: Iterable[str]) -> "Table":
    from rich import box
    from rich.table import Table

    # narrow enough for a terminal of 80 columns
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for title in header:
        table.add_column(title, justify="left" if title in left else "right", no_wrap=title in ("curve", "worst cell"))
    return table


def _keywords(study: StudyOptions, options: VerifyOptions) -> dict[str, Any]:
    """Return the keywords of `coverage_study`; every name is looked up before the first cell is computed."""
    keywords = keywords_of(coverage_study, study, options)
    keywords["estimand"] = _estimand(keywords["estimand"])
    entries: dict[str, Callable[[str], Any]] = {
        **LISTS,
        "methods": partial(_name, "methods", methods_of(keywords["estimand"])),
    }
    for name, text in study.given().items():
        if name in entries:
            keywords[name] = [entries[name](word) for word in _words(name, text)]
    return keywords


def _estimand(word: str) -> str:
    """Return the name of an estimand that is a function of the bins, whose true value is known."""
    known = [name for name, each in registered().items() if not each.needs and each.coordinate is None]
    name = word.replace("-", "_")
    _checks.one_of("estimand", name, known, short=meant())
    return name


def _words(option: str, text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ValueError(f"`{option}` must be a list separated by commas, without empty entries; not {text!r}.")
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(f"`{option}` names {twice!r} twice.")
    return words


def _size(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"`sizes` must be whole numbers, as in 300,2000; not {word!r}.") from None


def _name(option: str, names: Iterable[str], word: str) -> str:
    """Return a name; a hyphen may stand for a space, so that a shell needs no quotes."""
    name = word.replace("-", " ")
    _checks.one_of(option, name, names)
    return name


def _curve(word: str) -> tuple[str, float | None]:
    name, colon, strength = word.partition(":")
    name = _name("curves", CURVES, name)
    if not colon:
        return name, None
    try:
        return name, float(strength)
    except ValueError:
        raise ValueError(f"`curves` takes NAME or NAME:STRENGTH with a number, not {word!r}.") from None


#: Options that hold lists separated by commas, and the function that parses one entry; methods depend on the estimand.
LISTS: dict[str, Callable[[str], Any]] = {
    "sizes": _size,
    "populations": partial(_name, "populations", POPULATIONS),
    "curves": _curve,
    "methods": str,
}
