"""The table of docs/architecture.md, kept true by reading every import."""

import ast
import functools
import graphlib
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "bayescal"
HEAVY = ("pymc", "arviz", "scipy.stats", "matplotlib", "pandas", "numba")

SUPPORT = {
    "_checks", "_invalid", "_rules", "draws", "_arviz", "_presented", "_render", "_export", "_files", "_locks",
    "_loops", "_compiled", "_meant", "_packages", "_progress", "_version", "_jit",
}  # fmt: skip
CORE = ["data", "stats", "posterior", "estimands", "results", "analyses", "evaluate"]
#: Layer -> layers it may import (itself included).
MAY_IMPORT = {
    "support": {"support"},
    **{layer: {"support", *CORE[: i + 1]} for i, layer in enumerate(CORE)},
    "datasets": {"support", "data", "datasets"},
    "report": {"support", *CORE, "datasets", "report"},
    "verify": {"support", *CORE, "datasets", "verify"},
    "cli": {"support", *CORE, "datasets", "report", "verify", "cli"},
    "app": {"cli"},
    "__main__": {"support", "app"},
}
#: Layer -> third-party modules that may be imported when its modules are loaded.
AT_MODULE_TOP = {
    "support": {"numpy"},
    "data": {"numpy"},
    "stats": {"numpy"},
    "posterior": {"numpy", "scipy.special"},
    "estimands": {"numpy", "scipy.special"},
    "results": {"numpy", "scipy.special"},
    "analyses": {"numpy", "scipy.special"},
    "evaluate": {"numpy"},
    "datasets": {"numpy", "scipy.special"},
    "report": {"numpy"},
    "verify": {"numpy", "scipy.special"},
    "cli": {"numpy", "typer"},
    "app": {"typer"},
    "__main__": set(),
}
#: What one file may import besides, at its top.
ONLY_HERE = {
    "data/frames.py": {"narwhals"},
    "data/engines.py": {"narwhals"},
    "stats/query/class_sums.py": {"narwhals"},
    "stats/query/row_states.py": {"narwhals"},
    "survival/query.py": {"narwhals"},
    "stats/query/row_sums.py": {"narwhals"},
    "verify/pymc_models.py": {"pymc", "pytensor"},
    "verify/pymc_sub_models.py": {"pymc", "pytensor"},
    "__init__.py": {"lazy_loader"},
    "_jit.py": {"numba"},
}
#: Files that are PyMC or compiled loops, as those of posterior/shrinkage/compiled: no other file loads them at its top.
LOADED_WHEN_NEEDED = {
    "__init__.py", "verify/pymc_models.py", "verify/pymc_sub_models.py",
    "_jit.py", "_compiled.py", "posterior/shrinkage/many.py",
}  # fmt: skip
#: Folders that the page of the architecture names as a whole.
WHOLE = ("cli/commands", "posterior/shrinkage/compiled")
#: Floors of the house: the longest chain of layers in which each may import the one before.
MOST_FLOORS = 11


def layer_of(module):
    """Layer of `bayescal.<module>`; a name that no file has is a public name of the package itself."""
    first = module.split(".")[0]
    return "support" if first in SUPPORT else first


def imports(tree):
    """(imported module, whether when the module is loaded) of every import, nested ones too."""
    top, type_checking = set(), set()
    for node in tree.body:
        top.update(ast.walk(node) if isinstance(node, ast.Import | ast.ImportFrom | ast.Try | ast.If) else [])
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            type_checking.update(n for part in node.body for n in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top - type_checking) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                name = f"{module}.{alias.name}"  # the name may be a module itself
                is_module = (
                    module in ("bayescal", "scipy") or (PACKAGE.parent / f"{name.replace('.', '/')}.py").is_file()
                )
                yield name if is_module else module, node in top - type_checking


def violations(path, source):
    """What a file (path within the package) does that its layer may not."""
    where = Path(path)
    layer = layer_of(where.parts[0].removesuffix(".py")) if path != "__init__.py" else "support"
    found = []
    for module, loaded in imports(ast.parse(source)):
        name = module.split(".")[0]
        if module.startswith("."):
            found.append(f"{path}: relative import {module}")
        elif name == "bayescal":
            inner = module.removeprefix("bayescal.")
            target = layer_of(inner)
            if target not in MAY_IMPORT and layer in ("cli", "app") and inner == "__version__":
                continue  # the command line is a user of the public package
            if target not in MAY_IMPORT.get(layer, set()):
                found.append(f"{path}: {layer} imports {module}")
        elif module in ("scipy.stats", "pymc") and layer != "verify":
            found.append(f"{path}: {layer} imports {module}")
        elif name == "narwhals" and "narwhals" not in ONLY_HERE.get(path, set()):
            found.append(f"{path}: narwhals outside the files that know data frames")
        elif loaded and name not in sys.stdlib_module_names:
            allowed = AT_MODULE_TOP.get(layer, set()) | ONLY_HERE.get(path, set())
            if not any(module == a or module.startswith(f"{a}.") for a in allowed):
                found.append(f"{path}: {layer} loads {module}")
    return found


FILES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


def test_imports_go_upwards_only():
    assert [found for path in FILES for found in violations(path, (PACKAGE / path).read_text())] == []


def test_every_file_has_a_layer():
    layers = {layer_of(Path(p).parts[0].removesuffix(".py")) for p in FILES if p != "__init__.py"}
    assert layers == set(MAY_IMPORT) == set(AT_MODULE_TOP)
    assert {p.removesuffix(".py") for p in FILES if p.startswith("_") and not p.startswith("__")} < SUPPORT


def test_the_page_names_every_file():
    """docs/architecture.md shows the tree; files of datasets are data, and each folder has an `__init__.py`."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("```")[1]
    missing = [p for p in FILES if Path(p).name != "__init__.py" and not _named(tree, Path(p))]
    assert missing == []


def _named(tree, path):
    """Whether a file stands in the tree below its folder."""
    if path.parent.as_posix() in WHOLE:
        return f"{path.parts[-2]}/" in tree
    lines = tree.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("bayescal/"))
    indent = 0
    for folder in path.parts[:-1]:
        indent += 2
        start = next(i for i in range(start, len(lines)) if lines[i].startswith(" " * indent + f"{folder}/"))
    inside = list(itertools.takewhile(lambda line: line.startswith(" " * (indent + 2)), lines[start + 1 :]))
    return any(re.search(rf"(^| ){re.escape(path.name)}\b", line) for line in inside)


def test_the_house_has_few_floors():
    @functools.cache
    def floor(layer):
        return 1 + max((floor(below) for below in MAY_IMPORT[layer] - {layer}), default=0)

    assert max(floor(layer) for layer in MAY_IMPORT if layer != "__main__") <= MOST_FLOORS


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("stats/bins.py", "from bayescal.posterior.dirichlet import x", "stats imports bayescal.posterior"),
        ("data/files/source.py", "from bayescal import evaluate", "data imports bayescal.evaluate"),
        ("_checks.py", "def f():\n    import bayescal.data.frames", "support imports bayescal.data"),
        (
            "results/evaluation.py",
            "if TYPE_CHECKING:\n    from bayescal.report.posterior import x",
            "results imports bayescal.report",
        ),
        ("results/evaluation.py", "from bayescal.evaluate import x", "results imports bayescal.evaluate"),
        ("report/posterior.py", "import matplotlib.pyplot as plt", "report loads matplotlib.pyplot"),
        ("report/posterior.py", "try:\n    import arviz\nexcept ImportError:\n    pass", "report loads arviz"),
        ("estimands/errors.py", "import bayescal", "estimands imports bayescal"),
        ("estimands/errors.py", "def f():\n    from scipy import stats", "estimands imports scipy.stats"),
        ("posterior/dirichlet.py", "from scipy.stats import beta", "posterior imports scipy.stats"),
        ("posterior/dirichlet.py", "import scipy.linalg", "posterior loads scipy.linalg"),
        ("stats/ranks.py", "from scipy.special import ndtri", "stats loads scipy.special"),
        ("stats/binned.py", "def f():\n    import narwhals", "narwhals outside"),
        ("data/groups.py", "import narwhals as nw", "narwhals outside"),
        ("data/files/source.py", "import duckdb", "data loads duckdb"),
        ("report/posterior.py", "from bayescal.verify.coverage import x", "report imports bayescal.verify"),
        ("evaluate.py", "from .data import frames", "relative import"),
    ],
)
def test_the_reader_finds_what_is_forbidden(path, source, said):
    found = set(violations(path, source))
    assert len(found) == 1
    assert said in found.pop()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("data/frames.py", "import narwhals as nw\nimport numpy as np\nfrom bayescal import _checks"),
        ("stats/query/row_sums.py", "import narwhals as nw\nfrom bayescal.data.groups import Groups"),
        ("posterior/dirichlet.py", "from scipy.special import betainc\nfrom bayescal.stats.binned import BinnedCounts"),
        (
            "report/posterior.py",
            "if TYPE_CHECKING:\n    from matplotlib.axes import Axes\ndef f():\n    import matplotlib",
        ),
        ("evaluate.py", "import json\nfrom bayescal.results.evaluation import Evaluation"),
        ("cli/outputs.py", "import typer\nfrom bayescal import __version__\nfrom bayescal.report.posterior import x"),
    ],
)
def test_the_reader_lets_the_rest_pass(path, source):
    assert violations(path, source) == []


def test_modules_that_are_imported_by_their_name():
    """Such an import evades the tests above.

    Results name the files that write them, the registries their estimands and kinds of counts, the package, in an
    error, their synonyms, and each command of the program the function whose defaults its help shows.
    """
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                found.add((path, ast.unparse(node.args[0])))
    assert found == {
        ("__init__.py", "'bayescal.estimands.names'"),
        ("_presented.py", "f'bayescal.report.{name}'"),
        ("cli/help.py", "module"),
        (
            "stats/kinds.py",
            "'.'.join(('bayescal', *file.relative_to(PACKAGE).with_suffix('').parts)).removesuffix('.__init__')",
        ),
        ("estimands/registry.py", "'bayescal.estimands'"),
        ("estimands/registry.py", "f'bayescal.estimands.{name}'"),
    }


def test_no_two_files_import_each_other():
    """Not within a layer either: following imports never leads back."""
    graph = {}
    for path in FILES:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        wanted = [
            m.removeprefix("bayescal.")
            for m, _ in imports(ast.parse((PACKAGE / path).read_text()))
            if m.startswith("bayescal.")
        ]
        graph[module] = set(wanted)

    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.fixture
def run(warning_options):
    """Return a function that runs code in a process of its own."""
    return lambda code: subprocess.run(
        [sys.executable, *warning_options, "-c", code], capture_output=True, text=True, check=False
    )


def test_importing_the_package_imports_nothing_heavy(run):
    done = run(f"import sys, bayescal; print([m for m in {(*HEAVY, 'scipy')} if m in sys.modules])")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_counting_needs_no_scipy(run):
    done = run(
        "import sys, bayescal as bc; bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.7]); print('scipy' in sys.modules)"
    )
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_no_module_loads_anything_heavy(run):
    """Each module in turn, the command line last; the first that brings in something heavy is named."""
    modules = [
        f"bayescal.{p.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
        for p in FILES
        if p not in LOADED_WHEN_NEEDED and "/compiled/" not in p
    ]
    modules.sort(key=lambda m: (m.startswith(("bayescal.app", "bayescal.cli", "bayescal.__main__")), m))
    assert len(modules) > 20
    code = f"""
import importlib, sys
for module in {modules}:
    importlib.import_module(module)
    heavy = [m for m in {HEAVY} if m in sys.modules]
    assert not heavy, f"{{module}} loads {{heavy}}"
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_first_evaluation_needs_nothing_heavy(run):
    """Rows, counts, posterior, printing, a document: without ArviZ, pandas, matplotlib, scipy.stats, and numba."""
    code = f"""
import sys
import numpy as np
import bayescal as bc
p = np.random.default_rng(1).random(1000)
ev = bc.evaluate(p < 0.4, p, rng=1)
print(len(str(ev)) > 100, len(ev.to_json()) > 100, [m for m in {HEAVY} if m in sys.modules])
"""
    done = run(code)
    assert (done.stdout.strip(), done.stderr) == ("True True []", "")


def test_no_layer_above_asks_for_a_posterior_by_its_class():
    """Results ask for capabilities (posterior/contract.py); only the posteriors and their verification know classes."""
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).parts[0] in ("posterior", "verify"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
            if asks:
                classes = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not {c for c in classes if c.endswith("Posterior")}, f"{file}:{node.lineno}"
