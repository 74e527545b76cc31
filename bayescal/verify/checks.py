"""The two checks of ``bayescal verify``: the posterior of a file against PyMC, and the coverage study."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bayescal import __version__, _checks
from bayescal._arrays import Console, Table
from bayescal.cli.columns import ONE_CLASS
from bayescal.cli.command import Result
from bayescal.cli.evaluation import evaluate_file
from bayescal.cli.keywords import keywords_of
from bayescal.cli.options import ColumnOptions
from bayescal.cli.words import console
from bayescal.datasets.simulate import CURVES, POPULATIONS
from bayescal.estimands.registry import meant, registered
from bayescal.results.evaluation import Evaluation
from bayescal.verify.chains import LARGEST_Z, Agreement, agreement
from bayescal.verify.coverage import CoverageStudy, coverage_study, standard_error
from bayescal.verify.methods import methods_of
from bayescal.verify.options import AgreementOptions, StudyOptions, VerifyOptions

#: Formats of the two documents; they change if programs that read them must change.
AGREEMENT_SCHEMA, COVERAGE_SCHEMA = "bayescal.agreement/1", "bayescal.coverage/1"
PYMC_DRAWS = 10_000  #: Number of draws of PyMC.
MARKED_ERRORS = 3  #: Shares more than this many standard errors below the probability of the intervals are marked.


@dataclass(frozen=True)
class CheckedPosterior(Result):
    """The comparison of the posterior of an evaluation with PyMC, and the options that give the same result again."""

    agreement: Agreement
    evaluation: Evaluation
    parameters: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """0 if closed form and PyMC agree, else 1."""
        return 0 if self.agreement.agrees else 1

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document."""
        return {"json": lambda: document(self.agreement, self.evaluation, self.parameters)}

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print a row per quantity, the meaning of the columns, and the verdict."""
        screen.print(f"\n{self.evaluation.question}: closed form against PyMC\n")
        screen.print(table(self.agreement))
        screen.print(
            "z: difference in Monte Carlo standard errors. sd: posterior standard deviation. R-hat, ESS: of the "
            "chains.\n"
        )
        screen.print(self.agreement.verdict + "\n", soft_wrap=True)


def check_posterior(
    file: Path, columns: ColumnOptions, posterior: AgreementOptions, options: VerifyOptions
) -> CheckedPosterior:
    """Evaluate a file, sample the same model with PyMC, and compare the two; invalid options raise before."""
    evaluated = evaluate_file(file, columns, posterior, replace(options, draws=None))
    evaluation = evaluated.evaluation
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"`target='classwise'` gives one posterior per class. Verify one class at a time {ONE_CLASS}")
    console(stderr=True).print(
        "The same model in PyMC: compilation takes some tens of seconds, and then it is sampled."
    )
    compared = agreement(evaluation.posterior, draws=options.draws or PYMC_DRAWS, rng=options.seed, progress=True)
    return CheckedPosterior(compared, evaluation, {**evaluated.parameters, "draws": compared.reference.draws})


def document(agreement: Agreement, evaluation: Evaluation, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as data for JSON."""
    chains = ("draws", "divergences", "target_accept", "seed", "versions")
    return {
        "schema": AGREEMENT_SCHEMA,
        "bayescal": __version__,
        "question": evaluation.question,
        "spec": evaluation.spec,
        "parameters": parameters,
        "agrees": agreement.agrees,
        "verdict": agreement.verdict,
        "quantities": agreement.rows,
        "chains": {name: getattr(agreement.reference, name) for name in chains},
    }


def table(agreement: Agreement) -> "Table":
    """Return a table with one row per quantity; a ! marks differences that are too large."""
    numbers = ("closed\nform", "\nPyMC", "\nz", "sd, closed\nform", "sd,\nPyMC", "\nz", "\nR-hat", "\nESS")
    shown = _table(("quantity", *numbers), left=("quantity",), whole=numbers, padding=(0, 1, 0, 0))
    for row in agreement.rows:
        closed, pymc = (_number(row[name]) for name in ("closed", "pymc"))
        sds = [_number(row[name]) for name in ("closed_sd", "pymc_sd")]
        mixing = (f"{row['r_hat']:.3f}", f"{row['ess']:.0f}")
        shown.add_row(row["quantity"], closed, pymc, _z(row["z"]), *sds, _z(row["z_sd"]), *mixing)
    return shown


def _number(value: float) -> str:
    """Return a number with four decimals, or with two digits if it is small."""
    if value != value:
        return ""
    return f"{value:.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _z(value: float) -> str:
    if value != value:
        return ""
    return f"{value:.1f}" + ("" if abs(value) < LARGEST_Z else " !")


@dataclass(frozen=True)
class CoverageResult(Result):
    """A coverage study and the options that gave it."""

    study: CoverageStudy
    parameters: dict[str, Any]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document."""
        return {"json": self.document}

    def document(self) -> dict[str, Any]:
        """Return all numbers of the study as data for JSON."""
        head = {"schema": COVERAGE_SCHEMA, "bayescal": __version__, "parameters": self.parameters}
        about = {name: getattr(self.study, name) for name in ("estimand", "prob")}
        return {**head, **about, "cells": self.study.rows, "overall": self.study.overall()}

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print a table of cells, a table of methods, and the meaning of their columns."""
        prob, repeats = self.study.prob, self.parameters["repeats"]
        screen.print()
        screen.print(
            f"Share of {100 * prob:g} % intervals that contain the true {registered()[self.study.estimand].symbol}, "
            f"{repeats} data sets per cell:"
        )
        screen.print(cell_table(self.study, repeats))
        screen.print(overall_table(self.study))
        screen.print(
            f"The standard error of a share near {prob:g} is {standard_error(prob, repeats):.3f}; * marks shares more "
            f"than {MARKED_ERRORS} standard errors below {prob:g}. RMSE: root mean squared error of the point estimate "
            "(posterior mean, plug-in, or plug-in minus its bootstrapped bias).\n"
        )


def run_study(study: StudyOptions, options: VerifyOptions) -> CoverageResult:
    """Run the coverage study; options are validated, and every name is looked up, before anything is computed."""
    keywords = keywords_of(coverage_study, study, options)
    keywords["estimand"] = _estimand(keywords["estimand"])
    entries = LISTS | {"methods": partial(_name, "methods", methods_of(keywords["estimand"]))}
    for name, text in study.given().items():
        if name in entries:
            keywords[name] = [entries[name](word) for word in _words(name, text)]
    numbers = {"repeats": keywords["repeats"], "draws": keywords["draws"], "seed": options.seed}
    parameters = {**{name: getattr(study, name) for name in LISTS}, "bins": options.bins, **numbers}
    return CoverageResult(coverage_study(**{**keywords, "progress": True}), parameters)


def cell_table(study: CoverageStudy, repeats: int) -> "Table":
    """Return a table with one row per cell and one column per method; a * marks shares that are too low."""
    methods = study.methods
    low = study.prob - MARKED_ERRORS * standard_error(study.prob, repeats)
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in study.rows:
        cell = (str(row["n_rows"]), row["population"], row["curve"], f"{row['truth']:.4f}")
        mark = "*" if row["coverage"] < low else " "
        cells.setdefault(cell, {})[row["method"]] = f"{row['coverage']:.2f}{mark}"
    truth = f"true\n{registered()[study.estimand].symbol.replace(' ', chr(10))}"
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


def _table(
    header: Sequence[str], left: Sequence[str], whole: Sequence[str] = ("curve", "worst cell"), padding: Any = 0
) -> "Table":
    """Return a table without rows, some of whose columns are on the left, and `whole` ones not divided over lines."""
    from rich import box
    from rich.table import Table

    # narrow enough for a terminal of 80 columns
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=padding)
    for title in header:
        table.add_column(title, justify="left" if title in left else "right", no_wrap=title in whole)
    return table


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
