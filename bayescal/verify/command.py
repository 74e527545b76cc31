"""``bayescal verify``: checks a posterior against PyMC, or measures how often intervals contain the truth."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, JsonOptions, refuse
from bayescal.verify.options import AgreementOptions, Coverage, StudyOptions, VerifyFile, VerifyOptions


def verify(
    *,
    file: VerifyFile = None,
    columns: ColumnOptions,
    posterior: AgreementOptions,
    coverage: Coverage = False,
    study: StudyOptions,
    options: VerifyOptions,
    outputs: JsonOptions,
) -> Job:
    """Check the results of this package against PyMC on a file, or against known truths on simulated data.

    With FILE: compare the posterior of `bayescal report` with MCMC.
    The same model, written in PyMC, is sampled by NUTS, and every quantity is compared.
    This takes about a minute, and several minutes for the default model.
    The exit code is 0 if all quantities agree, and 1 otherwise.

    With --coverage: measure how often the intervals of the models, and of bootstraps, contain the truth.
    The truth is the ECE, or the error that --estimand names.
    Hyphens may replace the spaces in names of curves and methods.
    """
    if file is not None and coverage:
        raise ValueError("FILE and --coverage are two checks; give one of them.")
    if file is not None:
        refuse(study.given(), "with FILE, only with --coverage")
        from bayescal.verify.checks import check_posterior

        return Job(lambda: check_posterior(file, columns, posterior, options), outputs.given(), [file])
    if not coverage:
        raise ValueError("give FILE or --coverage; see `bayescal verify --help`.")
    refuse(columns.given() | posterior.given(), "with --coverage, only with FILE")
    from bayescal.verify.checks import run_study

    return Job(lambda: run_study(study, options), outputs.given())


COMMAND = Command(verify)
