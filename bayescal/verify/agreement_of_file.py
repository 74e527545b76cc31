"""The posterior of a file against the same model in PyMC, as ``bayescal verify FILE`` shows it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import __version__
from bayescal.cli.columns import ONE_CLASS
from bayescal.cli.command import Result
from bayescal.cli.evaluation import evaluate_file
from bayescal.cli.options import ColumnOptions
from bayescal.cli.words import console
from bayescal.results.evaluation import Evaluation
from bayescal.verify.agreement import LARGEST_Z, Agreement, agreement
from bayescal.verify.options import AgreementOptions, VerifyOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Format of the document; it changes if programs that read the document must change.
SCHEMA = "bayescal.agreement/1"
#: Number of draws of PyMC.
DRAWS = 10_000


@dataclass(frozen=True)
class CheckedPosterior(Result):
    """The comparison of a posterior with PyMC.

    Parameters
    ----------
    agreement : Agreement
        The comparison.
    evaluation : Evaluation
        The evaluation with this posterior.
    parameters : dict
        Values of the options that give the same result again.
    """

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
    """Evaluate a file, sample the same model with PyMC, and compare the two.

    Parameters
    ----------
    file : Path
        The file.
    columns : ColumnOptions
        Columns of the file.
    posterior : AgreementOptions
        Target, binning and model.
    options : VerifyOptions
        Bins and seed, and the number of draws of PyMC.

    Returns
    -------
    CheckedPosterior
        The comparison.

    Raises
    ------
    ValueError, TypeError, OSError
        If an option or the file is invalid, before PyMC samples.
    """
    evaluated = evaluate_file(file, columns, posterior, replace(options, draws=None))
    evaluation = evaluated.evaluation
    if not isinstance(evaluation, Evaluation):
        raise ValueError(f"`target='classwise'` gives one posterior per class. Verify one class at a time {ONE_CLASS}")
    console(stderr=True).print(
        "The same model in PyMC: compilation takes some tens of seconds, and then it is sampled."
    )
    compared = agreement(evaluation.posterior, draws=options.draws or DRAWS, rng=options.seed, progress=True)
    return CheckedPosterior(compared, evaluation, {**evaluated.parameters, "draws": compared.reference.draws})


def document(agreement: Agreement, evaluation: Evaluation, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison as data for JSON."""
    reference = agreement.reference
    return {
        "schema": SCHEMA,
        "bayescal": __version__,
        "question": evaluation.question,
        "spec": evaluation.spec,
        "parameters": parameters,
        "agrees": agreement.agrees,
        "verdict": agreement.verdict,
        "quantities": agreement.rows,
        "chains": {
            "draws": reference.draws,
            "divergences": reference.divergences,
            "target_accept": reference.target_accept,
            "seed": reference.seed,
            "versions": reference.versions,
        },
    }


def table(agreement: Agreement) -> "Table":
    """Return a table with one row per quantity; a ! marks differences that are too large."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("quantity", no_wrap=False)
    for name in ("closed\nform", "\nPyMC", "\nz", "sd, closed\nform", "sd,\nPyMC", "\nz", "\nR-hat", "\nESS"):
        shown.add_column(name, justify="right", no_wrap=True)
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
