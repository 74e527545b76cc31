"""Pinned versions, declared dependencies and the make targets that CI runs."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = ROOT / ".ci" / "requirements"
#: Requirement files and the dependency groups that each must contain.
NAMES = ("dev", "lean", "build", "docs", "bench", "conformance", "related", "mutation", "spark", "hosts")
GROUPS = {name: [name] for name in NAMES}
#: Modules whose distribution has another name.
DISTRIBUTIONS = {"lazy_loader": "lazy-loader", "sklearn": "scikit-learn", "mpl_toolkits": "matplotlib"}
#: pyarrow is imported only for pyarrow frames, xarray only for annotations, scikit-learn only when it calls, and an
#: adapter imports its program.
OPTIONAL = {"inspect_ai", "pyarrow", "sklearn", "torch", "torchmetrics", "xarray"}

pytestmark = pytest.mark.skipif(not PINS.exists(), reason="the requirement files are not part of a source distribution")


def declared(group):
    """Return the requirements of a dependency group; `dev` includes those of the project itself."""
    of_group = [Requirement(text) for text in PROJECT["dependency-groups"][group]]
    own = PROJECT["project"]["dependencies"] if group == "dev" else []
    return [*of_group, *map(Requirement, own)]


def pinned(name):
    """Return the requirements in a file, without its comment."""
    lines = (PINS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("name", GROUPS)
def test_a_requirement_is_one_exact_version_without_an_address(name):
    for requirement in pinned(name):
        assert re.fullmatch(r"==[\w.+!]+", str(requirement.specifier)), requirement
        assert requirement.url is None
    assert "//" not in (PINS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GROUPS)
def test_every_declared_package_is_pinned_to_a_version_it_allows(name):
    versions = {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in pinned(name)}
    for group in GROUPS[name]:
        for requirement in declared(group):
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_requirement_files_agree_on_every_version():
    """The files are installed into the same environment, except for hosts."""
    versions = {}
    for name in GROUPS.keys() - {"hosts"}:
        for requirement in pinned(name):
            key = canonicalize_name(requirement.name), str(requirement.marker)
            assert versions.setdefault(key, str(requirement.specifier)) == str(requirement.specifier), key


def test_the_hosts_conflict_with_every_other_group():
    """uv then allows the hosts other versions than any other group."""
    pairs = {frozenset(entry["group"] for entry in pair) for pair in PROJECT["tool"]["uv"]["conflicts"]}
    assert pairs == {frozenset({"hosts", group}) for group in PROJECT["dependency-groups"].keys() - {"hosts"}}


def imported_modules():
    """Return the top-level modules that the package imports anywhere in a file."""
    for path in (ROOT / "bayescal").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield str(node.module).partition(".")[0]


def test_every_imported_package_is_declared():
    own = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    others = {m for m in imported_modules() if m not in sys.stdlib_module_names and m != "bayescal"}
    undeclared = {m for m in others if canonicalize_name(DISTRIBUTIONS.get(m, m)) not in own} - OPTIONAL
    assert not undeclared


def test_the_extra_of_the_lessons_has_the_versions_of_the_group_that_runs_them():
    extras = PROJECT["project"]["optional-dependencies"]
    dev = {r.name: r.specifier for r in declared("dev")}
    own, *others = map(Requirement, extras["notebooks"])
    assert (own.name, own.extras) == ("bayescal", {"verify"})
    assert {r.name for r in others} == {"jupyter", "scikit-learn", "scikit-survival"}
    for requirement in [*others, *map(Requirement, extras["verify"])]:
        assert requirement.name == "jupyter" or dev[requirement.name] == requirement.specifier


def test_ci_runs_every_make_target_and_those_that_measure_in_short_form():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    parts_of_test = set(re.search(r"^test:.*\n\t.*--jobs=2 (.*)$", makefile, re.MULTILINE)[1].split()) | {"pytest"}
    # `latest` and `lowest` are excluded, `check` is a part of `test`, and the others measure nothing
    never = {"lock", "latest", "lowest", "help", "clean", "check"} | parts_of_test
    short = {
        t for t in targets if re.search(rf"^{t}:.*\n(\t.*\n)*\t.*(\$\(SHORT\)|\$\(QUICK\))", makefile, re.MULTILINE)
    }
    together = set(re.search(r"QUICK=1 (.*?)\n#", ci, re.DOTALL)[1].replace("\\", "").split())
    assert short <= together
    assert set(re.findall(r"^step ([a-z]+)$", ci, re.MULTILINE)) | together == targets - never
