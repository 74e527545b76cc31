"""Public names are loaded when they are first used, and are those of the stubs."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayescal
from bayescal._lazy import MODULES

STUB = Path(bayescal.__file__).with_suffix(".pyi")


def test_the_stub_lists_every_name():
    for module in ("", *MODULES):
        thing = importlib.import_module(f"bayescal.{module}".rstrip("."))
        stub = ast.parse((STUB.parent / module / "__init__.pyi").read_text())
        listed = sorted(each.asname for node in stub.body if isinstance(node, ast.ImportFrom) for each in node.names)
        assert listed == sorted(dir(thing)) == sorted(thing.__all__)


def test_no_topic_is_loaded_before_it_is_used():
    code = f"""
import sys
import bayescal as bc
bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.7])
print([module for module in {MODULES} if f"bayescal.{{module}}" in sys.modules])
bc.evaluate_survival, dir(bc.planning)
print([module for module in {MODULES} if f"bayescal.{{module}}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == "[]"
    assert "survival" in after
    assert "planning" in after
    assert "cumulative" not in after


def test_a_name_that_is_not_there():
    for module, name, meant in (
        (bayescal, "evaluat", "bayescal.evaluate"),
        (bayescal, "evalute_survival", "bayescal.survival.evaluate"),
        (bayescal, "compare_over_dataset", "bayescal.compare_over_datasets"),
        (bayescal.survival, "compair", "bayescal.survival.compare"),
        (bayescal.shift, "evaluate_shifted_count", "bayescal.shift.label_counts"),
        (bayescal.shift, "evaluate", "bayescal.shift.label"),
        (bayescal.decisions, "evaluate", "bayescal.decisions.net_benefit"),
        (bayescal.clinical, "summarry", "bayescal.clinical.summary"),
    ):
        with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute '{name}'.*`{meant}`"):
            getattr(module, name)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("partly_observed", ["labels.partly_observed"]),
        ("checks_needed", ["planning.checks_needed"]),
        ("judged", ["labels.judged", "read.judged"]),
    ],
)
def test_a_name_of_a_topic_is_found_there(name, places):
    with pytest.raises(AttributeError, match="no attribute") as caught:
        getattr(bayescal, name)
    assert str(caught.value).endswith(f" Did you mean {' or '.join(f'`bayescal.{each}`' for each in places)}?")


def test_a_topic_suggests_its_own_names():
    """Functions of a topic come before former names of the package, and quantities are named where they are."""
    offenders = []
    for module in set(MODULES) - {"estimands", "read", "verify"}:
        public = getattr(bayescal, module)
        for word in {"evaluate", "compare", "fit", "run", "summarize", "count", "evaluations"} - set(public.__all__):
            with pytest.raises(AttributeError) as caught:
                getattr(public, word)
            named = set(re.findall(r"`((?:bayescal|monitor)\.\w+)", str(caught.value)))
            own = {"decisions": {"bayescal.decisions.net_benefit"}, "monitoring": {"monitor.change"}}.get(module, set())
            if not named or not named <= own | {f"bayescal.{module}"}:
                offenders.append((module, word, str(caught.value)))
    assert offenders == []


def test_modules_inside_the_package_that_are_not_public():
    """Each message says so, in words of the package, before the module is imported, and imports nothing."""
    code = """
import importlib, pathlib, sys
import bayescal
from bayescal._lazy import MODULES
for name in ("", *MODULES):
    public = importlib.import_module(f"bayescal.{name}".rstrip("."))
    for file in sorted(pathlib.Path(public.__file__).parent.iterdir()):
        if file.suffix not in ("", ".py"):
            continue
        inner = file.stem
        if inner.startswith(("_", ".")) or inner in {"py", *public.__all__, *vars(public)}:
            continue
        before = [each for each in sys.modules if each.startswith(("bayescal", "numpy"))]
        try:
            getattr(public, inner)
        except AttributeError as problem:
            after = [each for each in sys.modules if each.startswith(("bayescal", "numpy"))]
            print(problem, "" if before == after else "imports")
        else:
            print(public, inner, "is there")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) > 60
    ends = (
        "`bayescal.plot(result)`. ",
        *(f"those of `dir({f'bayescal.{each}'.rstrip('.')})`. " for each in ("", *MODULES)),
    )
    wrong = [
        line
        for line in lines
        if "the name of a module inside it that is not public" not in line or not line.endswith(ends)
    ]
    assert wrong == []
    assert any(line.startswith("module 'bayescal.clinical' has no attribute 'plot'") for line in lines)
