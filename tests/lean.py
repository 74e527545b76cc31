"""What a lean environment runs, and what it says about the rest; `test_lean.py` starts this file as a program.

A lean environment has the packages of `.ci/requirements/lean.txt` and no others. Prints JSON: a digest of each result,
or the error.
"""

import contextlib
import hashlib
import json
import sys
import tempfile
import warnings
from importlib.metadata import packages_distributions
from inspect import signature
from operator import attrgetter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(Path(__file__).parent))


def names_in(requirements):
    """Return the names of the packages of a requirement file."""
    lines = Path(requirements).read_text(encoding="utf-8").splitlines()
    return {line.partition("==")[0] for line in lines if "==" in line}


LEAN = names_in(ROOT / ".ci" / "requirements" / "lean.txt") | {"bayescal"}


def others():
    """Return the modules of all installed packages that are not among the lean ones, nor what installs packages."""
    keep = LEAN | {"pip", "setuptools", "wheel"}
    packages = packages_distributions()
    return {
        module for module, of in packages.items() if not {name.lower().replace("_", "-") for name in of} & keep
    } - set(sys.stdlib_module_names)


def digest(thing):
    """Return a text that is different for different results."""
    import every_function

    shown = [str(thing), thing.to_json()] if hasattr(thing, "sheet") else []
    return hashlib.sha256(repr((every_function.bits(thing), shown)).encode()).hexdigest()


#: Calls that need another package, or have other draws without compiled loops, which lean lacks.
NOT_IN_LEAN = ("pymc_model", "judged", "judged_counts", "checks_needed", "partly_observed, band")


def results():
    """Return the digest of each call by its name; of files and PyMC models, which need another package, none."""
    import every_function

    rows = every_function.generated(4, 60, "uniform", "as stated", "none")
    made = {}
    for name in every_function.CALLS:
        with warnings.catch_warnings(action="ignore"):
            if "file" in name or name in NOT_IN_LEAN:
                continue
            try:
                made[name] = digest(every_function.CALLS[name](rows))
            except ValueError as problem:  # these rows have no such result
                made[name] = str(problem)
    return made | {"data sets": data_sets()}


def data_sets():
    """Evaluate the classifiers of the shipped sets."""
    from bayescal import datasets, plug_in_ece

    loaded = [getattr(datasets, f"load_{name}")() for name in datasets.names()]
    return [plug_in_ece(each.y_true, prob, classes=each.classes) for each in loaded for prob in each.y_prob.values()]


def refused():
    """Return what the error says, by what was tried; None if it succeeded."""
    import every_function

    import bayescal as bc

    rows = every_function.generated(4, 60, "uniform", "as stated", "none")
    ev = bc.evaluate(rows.y, rows.p, **every_function.FAST)
    compared = bc.compare(rows.y, {"a": rows.p, "b": rows.q}, **every_function.FAST)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.csv")
        file.write_text("y,p\n0,0.3\n1,0.8\n", encoding="ascii")
        tried = {
            "arviz": [ev.summary, ev.to_datatree, ev.loo, compared.summary],
            "pandas": [ev.to_frame, bc.cumulative_difference(rows.y, rows.p).curve_frame],
            "matplotlib": list(plots(rows)),
            "jinja2": [ev.to_html, lambda: ev.to_html(Path(folder, "page.html"))],
            "duckdb": [
                lambda: bc.count_file(file, label="y", prob="p"),
                lambda: bc.count_file(bc.datasets.path("wine"), label="label", prob="naive_bayes_0"),
            ],
            "inspect_ai": [lambda: bc.plugins.inspect_ai],
            "sklearn": [lambda: bc.plugins.sklearn],
            "torchmetrics": [lambda: bc.plugins.torchmetrics],
            "pymc": [
                lambda: bc.verify.agreement(bc.dirichlet_posterior(ev.counts)),
                lambda: bc.pymc_model(ev),
                ev.to_pymc,
                lambda: bc.verify.dirichlet_model(ev.counts),
            ],
        }
        return {package: [said(call) for call in calls] for package, calls in tried.items()}


def plots(rows):
    """Yield calls of all functions that plot; a colour is checked before axes are made."""
    import every_function

    import bayescal as bc

    for name, of in every_function.PLOTS.items():
        plot, result = attrgetter(name)(bc), every_function.CALLS[of](rows)
        yield lambda plot=plot, result=result: plot(result)
        if "color" in signature(plot).parameters:
            yield lambda plot=plot, result=result: plot(result, color="red")


def said(call):
    """Return the message of the import error that a call raises; None if it raises none."""
    try:
        call()
    except ImportError as problem:
        return str(problem)
    return None


def command_line():
    """Return the exit status of the command line, and what it writes to standard error."""
    import io

    from bayescal.__main__ import main

    with contextlib.redirect_stderr(io.StringIO()) as written:
        try:
            main()
        except SystemExit as end:
            return [end.code, written.getvalue()]
    return None


if __name__ == "__main__":
    made = {"results": results(), "refused": refused(), "command line": command_line(), "others": sorted(others())}
    print(json.dumps(made))
