"""``bayescal verify FILE``: is the posterior of ``bayescal report FILE`` that of the same model in PyMC?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import __version__
from bayescal.cli import outputs
from bayescal.cli.report import evaluate_file
from bayescal.cli.request import ReportRequest
from bayescal.cli.words import console, say_saved
from bayescal.results.evaluation import Evaluation
from bayescal.verify.agreement import LARGEST_Z, Agreement, agreement

if TYPE_CHECKING:
    from rich.table import Table

#: Changes when a reader of the file would have to change.
SCHEMA = "bayescal.agreement/1"
DRAWS = 10_000


def run(request: ReportRequest, draws: int | None, json: Path | None) -> int:
    """Evaluate a file, sample the same model with PyMC, save and show how they compare.

    Parameters
    ----------
    request : ReportRequest
        What was typed.
    draws : int or None
        Of PyMC.
    json : Path or None
        Where to save all numbers.

    Returns
    -------
    int
        Exit code: 0 if they agree, else 1.

    Raises
    ------
    ValueError, TypeError, OSError
        For anything that is wrong with the options or the file, before time is spent on sampling.
    """
    to_save = outputs.check({"json": json}, besides=request.file)
    evaluation, parameters = evaluate_file(request)
    if not isinstance(evaluation, Evaluation):
        raise ValueError(
            "`target='classwise'` is as many posteriors as classes; verify one of them at a time, as an event: "
            "--prob with the column of its probability, and a column of 0 and 1 for --label."
        )
    console(stderr=True).print("The same model in PyMC: compiling takes some tens of seconds, then it is sampled.")
    found = agreement(evaluation.posterior, draws=draws or DRAWS, rng=request.seed, progress=True)
    outputs.save(to_save, json=lambda: document(found, evaluation, {**parameters, "draws": found.reference.draws}))
    screen = console()
    screen.print(f"\n{evaluation.question}: closed form against PyMC\n")
    screen.print(table(found))
    screen.print(
        "z: difference in Monte Carlo standard errors. sd: posterior standard deviation. R-hat, ESS: of the chains.\n"
    )
    screen.print(found.verdict, soft_wrap=True)
    if to_save:
        screen.print()
        say_saved(screen, json)
    return 0 if found.agrees else 1


def document(found: Agreement, evaluation: Evaluation, parameters: dict[str, Any]) -> dict[str, Any]:
    """All numbers and what was asked, for `outputs.save_json`."""
    reference = found.reference
    return {
        "schema": SCHEMA,
        "bayescal": __version__,
        "question": evaluation.question,
        "spec": evaluation.spec,
        "parameters": parameters,
        "agrees": found.agrees,
        "verdict": found.verdict,
        "quantities": found.rows,
        "chains": {
            "draws": reference.draws,
            "divergences": reference.divergences,
            "target_accept": reference.target_accept,
            "seed": reference.seed,
            "versions": reference.versions,
        },
    }


def table(found: Agreement) -> "Table":
    """One line a quantity; what is too far apart is marked."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column("quantity", no_wrap=False)
    for name in ("closed\nform", "\nPyMC", "\nz", "sd, closed\nform", "sd,\nPyMC", "\nz", "\nR-hat", "\nESS"):
        made.add_column(name, justify="right", no_wrap=True)
    for row in found.rows:
        closed, pymc = (_number(row[name]) for name in ("closed", "pymc"))
        sds = [_number(row[name]) for name in ("closed_sd", "pymc_sd")]
        mixing = (f"{row['r_hat']:.3f}", f"{row['ess']:.0f}")
        made.add_row(row["quantity"], closed, pymc, _z(row["z"]), *sds, _z(row["z_sd"]), *mixing)
    return made


def _number(value: float) -> str:
    """Four decimals, or as many digits as a small number has to say."""
    if value != value:
        return ""
    return f"{value:.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _z(value: float) -> str:
    if value != value:
        return ""
    return f"{value:.1f}" + ("" if abs(value) < LARGEST_Z else " !")
