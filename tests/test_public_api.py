"""The public names: that they are there, documented, and found under one name only."""

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayescal

STUB = Path(bayescal.__file__).with_suffix(".pyi")
NAMES = sorted(bayescal.__all__)
OBJECTS = {name: getattr(bayescal, name) for name in NAMES if not name.startswith("__")}
FUNCTIONS = [name for name, thing in OBJECTS.items() if inspect.isfunction(thing)]
CLASSES = [name for name, thing in OBJECTS.items() if inspect.isclass(thing)]


def test_the_stub_lists_every_name():
    stub = ast.parse(STUB.read_text())
    listed = sorted(alias.asname for node in stub.body for alias in node.names)
    assert listed == NAMES
    assert set(NAMES) <= set(dir(bayescal))


def test_names_that_the_design_asks_for():
    needed = (
        "evaluate evaluate_counts plug_in_ece Evaluation ClasswiseEvaluation BinnedCounts Predictions Draws "
        "dirichlet_posterior ece lp_error e90_bins signed_error overconfidence underconfidence "
        "plot_reliability plot_posterior datasets __version__"
    )
    assert set(needed.split()) <= set(NAMES)


def test_names_resolve_to_what_their_module_defines():
    """A public object is where its stub says, and its own module calls it by that name."""
    for node in ast.parse(STUB.read_text()).body:
        for alias in node.names:
            thing = getattr(bayescal, alias.asname)
            if node.module:
                module = importlib.import_module(f"bayescal.{node.module}")
                assert getattr(module, alias.name) is thing
                if hasattr(thing, "__module__"):
                    assert thing.__module__ == f"bayescal.{node.module}"
                    assert thing.__name__ == alias.asname


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="evaluat"):
        bayescal.evaluat  # noqa: B018


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert bayescal.__version__ == version("bayescal")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", bayescal.__version__)


# --- documentation


def sections(text):
    """numpydoc sections of a docstring: title -> body."""
    parts = re.split(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.cleandoc(text))
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented_parameters(body):
    heads = re.findall(r"^(\S.*)$", body, flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(" : ")[0].split(",")}


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def members():
    """Public methods and properties that are defined in the package."""
    for name in CLASSES:
        for member, thing in vars(OBJECTS[name]).items():
            if not member.startswith("_") and (
                callable(thing) or isinstance(thing, classmethod | property) or hasattr(thing, "func")
            ):
                yield (
                    f"{name}.{member}",
                    thing.__func__
                    if isinstance(thing, classmethod)
                    else getattr(thing, "fget", getattr(thing, "func", thing)),
                )


MEMBERS = dict(members())


def faults(name, thing):
    """Yield what is missing in the docstring and the annotations of a public function, class, method or property."""
    found = sections(thing.__doc__ or "")
    summary = found["Summary"].split("\n\n")[0].rstrip()
    if not summary or summary[0].islower() or summary[-1] not in ".?:" or len(summary) >= 240:
        yield f"{name}: its docstring must begin with one sentence"
    function, member = inspect.isfunction(thing) and "." not in name, "." in name
    stated = documented_parameters(found.get("Parameters", ""))
    if not (member and "Parameters" not in found) and set(parameters(thing)) != stated:
        yield f"{name}: documented are {sorted(stated)}, its parameters are {parameters(thing)}"
    if function and "Parameters" not in found:
        yield f"{name}: no section of parameters"
    if function and not found.get("Returns", "").strip():
        yield f"{name}: it does not say what it returns"
    if function and ">>> " not in found.get("Examples", ""):
        yield f"{name}: no example"
    if not inspect.isclass(thing) and thing.__annotations__.get("return") is None:
        yield f"{name}: the result is not annotated"
    if not inspect.isclass(thing) and not set(parameters(thing)) <= set(thing.__annotations__):
        yield f"{name}: a parameter is not annotated"


def test_everything_public_is_documented_and_annotated():
    assert len(FUNCTIONS) > 50
    assert len(CLASSES) > 40
    assert len(MEMBERS) > 400
    named = OBJECTS | MEMBERS
    assert [fault for name in (*FUNCTIONS, *CLASSES, *MEMBERS) for fault in faults(name, named[name])] == []


DOCUMENTED = """Add numbers.

    Parameters
    ----------
    a, b : int
        Numbers.

    Returns
    -------
    int
        The sum.

    Examples
    --------
    >>> add(1, 2)
    3
    """


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("add", "Add", "add", "begin with one sentence"),
        ("add", "numbers.\n\n", "numbers\n\n", "begin with one sentence"),
        ("add", "Add numbers", "Add " + 60 * "many " + "numbers", "begin with one sentence"),
        ("add", "a, b", "a", "documented are ['a'], its parameters are ['a', 'b']"),
        ("Sums.add", "a, b", "a", "documented are ['a'], its parameters are ['a', 'b']"),
        ("add", "Returns", "Result", "does not say what it returns"),
        ("add", ">>> ", "", "no example"),
        ("add", "", "", None),
        ("Sums.add", ">>> ", "", None),
    ],
)
def test_the_reader_finds_what_is_missing(name, old, new, fault):
    def add(a: int, b: int) -> int:
        return a + b

    add.__doc__ = DOCUMENTED.replace(old, new, 1) if old else DOCUMENTED
    found = list(faults(name, add))
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_the_reader_finds_what_is_not_annotated():
    def add(a, b: int):
        return a + b

    add.__doc__ = DOCUMENTED
    assert len(list(faults("add", add))) == 2
    del add.__doc__
    assert len(list(faults("Sums.add", add))) == 3


def test_nothing_public_returns_anything():
    """The exceptions are statistics of `Draws`, whose type depends on the shape of the draws."""
    of_draws = {f"Draws.{name}" for name in ("mcse", "mean", "median", "pr", "quantile", "sd", "std")}
    returned = {
        name: getattr(thing, "__annotations__", {}).get("return") for name, thing in (OBJECTS | MEMBERS).items()
    }
    returning = {name for name, kind in returned.items() if kind in (Any, "Any")}
    assert returning - of_draws == set()


def test_options_are_keywords():
    """Data by position, options by name: so that options can be added and moved."""
    for name, data in {"evaluate": 2, "plug_in_ece": 2, "evaluate_counts": 1, "dirichlet_posterior": 1}.items():
        kinds = [p.kind for p in inspect.signature(OBJECTS[name]).parameters.values()]
        assert kinds[:data] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * data
        assert all(kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds[data:])


def test_randomness_is_always_called_rng():
    for name, thing in (OBJECTS | MEMBERS).items():
        if callable(thing):
            words = set(inspect.signature(thing).parameters)
            assert not words & {"seed", "random_state", "key"}, name


def test_results_have_no_plot_method():
    """A plot must know what an evaluation is, so it is a function of it: results would import upwards."""
    for name in CLASSES:
        in_report = OBJECTS[name].__module__.startswith("bayescal.report.")  # CalibrationDisplay, as in scikit-learn
        assert hasattr(OBJECTS[name], "plot") == in_report


def test_a_first_session():
    """What a newcomer types, in the order of the README."""
    rng = np.random.default_rng(1)
    p = rng.random(500)
    ev = bayescal.evaluate(rng.random(500) < p, p, rng=1)
    assert 0 < ev.ece.mean() < 0.2
    assert ev.ece.interval(0.95)[0] < ev.ece.mean() < ev.ece.interval(0.95)[1]
    assert 0 <= ev.ece.pr(lambda e: e < 0.02) <= 1
    assert np.asarray(ev.ece).shape == (4000,)
    counts = bayescal.BinnedCounts.from_arrays([0, 1], [0.2, 0.7]) + bayescal.BinnedCounts.from_arrays([1], [0.9])
    assert counts.n_rows == 3
    posterior = bayescal.dirichlet_posterior(counts, alpha="perks")
    assert bayescal.ece(posterior.sample(100, rng=1)).values.shape == (100,)


def test_docstrings_name_their_subject():
    """None begins with "What", "Who" or "Of", which stand for a noun that the reader has to find."""
    for file in Path(bayescal.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").split(" ")[0]
                assert first not in ("What", "Who", "Of"), f"{file.name}: {getattr(node, 'name', 'module')}"


def test_sections_of_docstrings_are_unique_and_citations_resolve():
    for file in Path(bayescal.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                continue
            text, where = ast.get_docstring(node) or "", f"{file}: {getattr(node, 'name', 'module')}"
            sections = re.findall(r"^(\w[\w ]+)\n-{4,}$", text, re.M)
            assert len(sections) == len(set(sections)), where
            assert set(re.findall(r"\[(\d)\]_", text)) == set(re.findall(r"^\.\. \[(\d)\]", text, re.M)), where
