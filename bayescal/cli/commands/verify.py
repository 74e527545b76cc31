"""``bayescal verify``: checks a posterior against PyMC, or measures how often intervals contain the truth."""

from pathlib import Path

from bayescal.cli.command import Job
from bayescal.cli.options import (
    AgreementOptions,
    ColumnOptions,
    Coverage,
    JsonOptions,
    OptionalFile,
    StudyOptions,
    VerifyOptions,
    refuse,
)

EXAMPLES = """\b
[bold]Examples[/]
[dim]what `bayescal report` says of this file, from PyMC[/]
  bayescal verify games.csv --label won --prob probability
[dim]the study of the documentation, about a minute and a half for every 20 repeats[/]
  bayescal verify --coverage
[dim]one's own rows and bins, two methods, a few minutes less[/]
  bayescal verify --coverage --sizes 500 --populations top --bins 10 \\
      --curves calibrated,temperature:1.2 --methods shrinkage,percentile-bootstrap
"""


def verify(
    *,
    file: OptionalFile = None,
    columns: ColumnOptions,
    posterior: AgreementOptions,
    coverage: Coverage = False,
    study: StudyOptions,
    options: VerifyOptions,
    outputs: JsonOptions,
) -> Job:
    """Check the package's own claims, on a file or on simulated data of your choice.

    With FILE: is the posterior that `bayescal report` takes for this file the right one?
    The same model, written in PyMC, is sampled by NUTS, and every quantity is compared.
    It takes a minute, several for the default model; the exit code is 1 if they differ.

    With --coverage: how often do the intervals of the models, and of the usual bootstraps, contain the truth?
    A hyphen in a name may stand for a space.
    """
    if file is not None and coverage:
        raise ValueError("FILE and --coverage are two checks; ask for one at a time.")
    if file is not None:
        refuse("go with --coverage, not with FILE", study.given())
        return _verify_file(file, columns, posterior, options, outputs)
    if not coverage:
        raise ValueError("say what is to be verified: FILE or --coverage. `bayescal verify --help` has the options.")
    refuse("go with FILE, not with --coverage", columns.given() | posterior.given())
    from bayescal.cli.coverage import run_study

    return Job(lambda: run_study(study, options), outputs.given())


def _verify_file(
    file: Path, columns: ColumnOptions, posterior: AgreementOptions, options: VerifyOptions, outputs: JsonOptions
) -> Job:
    from bayescal.cli.agreement import check_posterior

    return Job(lambda: check_posterior(file, columns, posterior, options), outputs.given(), [file])
