"""The rules of docs/architecture.md, kept true by reading every import."""

import ast
import functools
import graphlib
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, PAGE = ROOT / "bayescal", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))
HEAVY = ("pymc", "arviz", "scipy.stats", "matplotlib", "pandas", "numba")

SUPPORT = {"draws", *(p.removesuffix(".py") for p in FILES if re.match(r"_[a-z]\w*\.py", p))}
CORE = ["data", "stats", "posterior", "estimands", "results", "analyses", "evaluate"]
#: Folders with everything about one topic: rows, counts, posterior, results, verbs, plots, page, command.
TOPICS = {"survival", "shift", "decisions", "clinical", "cumulative", "monitoring", "planning", "labels"}
#: Layer -> layers it may import (itself included); topics import each other along the arrows of the page only.
MAY_IMPORT = {
    "support": {"support"},
    **{layer: {"support", *CORE[: i + 1]} for i, layer in enumerate(CORE)},
    "scores": {"support", *CORE[:-1], "scores"},
    "datasets": {"support", "data", "datasets"},
    "read": {"support", "data", "read"},
    "report": {"support", *CORE, "datasets", "report"},
    "cli": {"support", *CORE, "datasets", "read", "report", "cli"},
    **{topic: {"support", *CORE, "datasets", "report", "cli", topic} for topic in TOPICS},
    "verify": {"support", *CORE, "datasets", *TOPICS, "cli", "verify"},
    "plugins": {"support", *CORE, "scores", "read", "report", "plugins"},
    "app": {"support", "cli", "verify"},
    "__main__": {"support", "app"},
}
#: Frame -> names of the files of a topic that may import it: results and verbs work without plots and commands.
FRAME_OF = {
    "report": r"(\w+_)?plot|page|from_files",
    "cli": r"command|options|from_files",
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
    "scores": {"numpy", "scipy.special"},
    "evaluate": {"numpy"},
    "datasets": {"numpy", "scipy.special"},
    "read": {"numpy"},
    "report": {"numpy"},
    "cli": {"numpy", "typer"},
    **{topic: {"numpy", "scipy.special"} for topic in TOPICS},
    "verify": {"numpy", "scipy.special"},
    "plugins": {"numpy"},
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
    **{p: {"pymc", "pytensor"} for p in FILES if re.match(r"verify/\w+_models\.py", p)},
    "_lazy.py": {"lazy_loader"},
    "_jit.py": {"numba", "llvmlite"},
    **{p: {"typer"} for p in FILES if p.endswith("/options.py")},
    **{p: {Path(p).stem} for p in FILES if p.startswith("plugins/")},  # and what else an adapter needs of its program
    "plugins/torchmetrics.py": {"torch", "torchmetrics"},
}
#: Adapters, which load their program: it may be heavy, or not be installed.
ADAPTERS = {p for p in FILES if p.startswith("plugins/")} - {"plugins/__init__.py"}
#: Packages that a file imports only to annotate what a method returns.
ANNOTATED = {("_arrays.py", "pymc")}
#: Files that are PyMC or compiled loops, as those of posterior/shrinkage/compiled: no other file loads them at its top.
LOADED_WHEN_NEEDED = {
    "__init__.py", *(p for p in FILES if re.match(r"verify/\w+_models\.py", p)),
    "_jit.py", "_compiled.py", "posterior/shrinkage/many.py", "plugins/inspect_ai.py",
}  # fmt: skip
#: Folders to which the page gives one line; it names the files of the others.
WHOLE = (*TOPICS, "verify", "plugins", "posterior/shrinkage/compiled")
#: Floors of the house, of which topics are one: the longest chain of layers in which each may import the one before.
MOST_FLOORS = 13
#: Longest chain of topics, from the page.
MOST_TOPICS_IN_A_ROW = 4


def layer_of(module):
    """Layer of `bayescal.<module>`; a name that no file has is a public name of the package itself."""
    first = module.split(".")[0]
    return "support" if first in SUPPORT else first


def arrows_of(page):
    """Topic -> topics that it may import, from the table of the page."""
    table = re.search(r"^\| Topic \| May import .*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    rows = [line.strip("|").split("|")[:2] for line in table.group(1).splitlines()]
    quoted = [[re.findall(r"`(\w+)`", cell) for cell in row] for row in rows]
    return {topic: set(others) for topics, others in quoted for topic in topics}


ARROWS = arrows_of(PAGE)


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


def refused(path, layer, module):
    """Why a file may not import a module of the package; None if it may."""
    inner = module.removeprefix("bayescal.")
    target = layer_of(inner)
    if target not in MAY_IMPORT and layer in ("cli", "app", "verify") and inner == "__version__":
        return None  # commands are users of the public package
    if layer in TOPICS:
        if target in TOPICS - ARROWS[layer] - {layer}:
            return f"no arrow from {layer} to {target}"
        if target in FRAME_OF and not re.fullmatch(FRAME_OF[target], Path(path).stem):
            return f"{target} in a file of another name"
    allowed = MAY_IMPORT.get(layer, set()) | ARROWS.get(layer, set())
    return None if target in allowed else f"{layer} imports {module}"


def violations(path, source):
    """What a file (path within the package) does that its layer may not."""
    layer = layer_of(Path(path).parts[0].removesuffix(".py")) if path != "__init__.py" else "support"
    found = []
    for module, loaded in imports(ast.parse(source)):
        name = module.split(".")[0]
        if module.startswith("."):
            found.append(f"{path}: relative import {module}")
        elif name == "bayescal":
            problem = refused(path, layer, module)
            found += [f"{path}: {problem}"] if problem else []
        elif module in ("scipy.stats", "pymc") and layer != "verify" and (path, module) not in ANNOTATED:
            found.append(f"{path}: {layer} imports {module}")
        elif name == "narwhals" and "narwhals" not in ONLY_HERE.get(path, set()):
            found.append(f"{path}: narwhals outside the files that know data frames")
        elif loaded and name not in sys.stdlib_module_names:
            allowed = AT_MODULE_TOP.get(layer, set()) | ONLY_HERE.get(path, set())
            if not any(module == a or module.startswith(f"{a}.") for a in allowed):
                found.append(f"{path}: {layer} loads {module}")
    return found


def test_imports_go_upwards_only():
    assert [found for path in FILES for found in violations(path, (PACKAGE / path).read_text())] == []


def test_every_file_has_a_layer():
    layers = {layer_of(Path(p).parts[0].removesuffix(".py")) for p in FILES if p != "__init__.py"}
    assert layers == set(MAY_IMPORT) == set(AT_MODULE_TOP)


def test_the_page_names_topics_and_arrows():
    assert ARROWS.keys() == TOPICS
    assert set().union(*ARROWS.values()) <= TOPICS
    sorted_topics = [*graphlib.TopologicalSorter(ARROWS).static_order()]  # raises CycleError, which names the circle
    length = {}
    for topic in sorted_topics:
        length[topic] = 1 + max((length[below] for below in ARROWS[topic]), default=0)
    assert max(length.values()) <= MOST_TOPICS_IN_A_ROW


def test_the_page_names_every_folder_and_every_file_of_the_core():
    """Each folder has a line; each has an `__init__.py`, and files of data sets are data."""
    missing = [p for p in FILES if not _named(TREE, Path(p) if Path(p).name != "__init__.py" else Path(p).parent)]
    assert missing == []


def test_the_page_names_nothing_else():
    """Names of files and folders of the package in the tree exist."""
    inside = TREE.split("bayescal/")[1].split("\ntests/")[0]
    names = {Path(p).name for p in FILES} | {f"{folder.name}/" for p in FILES for folder in Path(p).parents}
    assert set(re.findall(r"\b\w+\.py\b", inside)) | set(re.findall(r"^ +(\w+/)", inside, re.MULTILINE)) <= names


def test_topics_have_one_line_each():
    lines = [line for line in TREE.splitlines() if re.match(r"  \w+/ +TOPIC: ", line)]
    assert sorted(line.split("/")[0].strip() for line in lines) == sorted(TOPICS)


#: The folders and files, as the page shows them.
TREE = PAGE.split("```")[1]


def _named(tree, path):
    """Whether a file or folder stands in the tree below its folder."""
    parts = path.parts
    for n in range(1, len(parts) + 1):
        if "/".join(parts[:n]) in WHOLE:
            parts = parts[:n]
            break
    lines = tree.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("bayescal/"))
    for depth, name in enumerate(parts, 1):
        indent = " " * (2 * depth)
        inside = itertools.takewhile(lambda line, indent=indent: line.startswith(indent), lines[start + 1 :])
        own = [(i, line) for i, line in enumerate(inside, start + 1) if line[len(indent)] != " "]
        sought = rf"(^|, ){re.escape(name)}(,|  | [A-Z]|$)" if name.endswith(".py") else rf"^{re.escape(name)}/ "
        start = next((i for i, line in own if re.search(sought, line[len(indent) :])), None)
        if start is None:
            return False
    return True


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
        ("report/posterior.py", "from bayescal.shift.result import x", "report imports bayescal.shift"),
        (
            "results/remarks.py",
            "if TYPE_CHECKING:\n    from bayescal.shift.counts import x",
            "results imports bayescal",
        ),
        ("cli/counts.py", "def f():\n    from bayescal import survival", "cli imports bayescal.survival"),
        ("survival/command.py", "from bayescal.verify.coverage import x", "survival imports bayescal.verify"),
        ("cumulative/result.py", "from bayescal.decisions.counts import x", "no arrow from cumulative to decisions"),
        ("monitoring/page.py", "import bayescal.clinical.page", "no arrow from monitoring to clinical"),
        ("survival/analysis.py", "from bayescal.shift.words import x", "no arrow from survival to shift"),
        ("survival/result.py", "from bayescal.report.drawing import x", "report in a file of another name"),
        ("planning/analysis.py", "from bayescal.cli.options import x", "cli in a file of another name"),
        ("clinical/result.py", "import typer", "clinical loads typer"),
        ("shift/statistics.py", "from scipy.stats import beta", "shift imports scipy.stats"),
        ("app.py", "from bayescal.survival import command", "app imports bayescal.survival"),
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
        ("clinical/result.py", "from bayescal.decisions.words import x\nfrom bayescal.results.evaluation import y"),
        ("survival/from_files.py", "from bayescal.cli.options import x\nfrom bayescal.report.document import y"),
        ("verify/sbc.py", "from bayescal.shift.counts import x"),
        ("app.py", "import typer\nfrom bayescal._lazy import MODULES"),
        ("cli/outputs.py", "import typer\nfrom bayescal import __version__\nfrom bayescal.report.posterior import x"),
    ],
)
def test_the_reader_lets_the_rest_pass(path, source):
    assert violations(path, source) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("| `a` | `b` | |\n| `b` | `a` | |\n", {"a": {"b"}, "b": {"a"}}),
        ("| `a`, `b` | none | |\n| `c` | `a`, `b` | words |\n", {"a": set(), "b": set(), "c": {"a", "b"}}),
    ],
)
def test_the_reader_of_arrows(rows, said):
    assert arrows_of(f"text\n\n| Topic | May import | Why |\n|---|---|---|\n{rows}\n`d`\n") == said


def test_modules_that_are_imported_by_their_name():
    """Such an import evades the tests above.

    Results name the files that write them and their models, the table of models the functions that write those of
    topics, an evaluation the analysis of its sensitivity, the registries their estimands, kinds of counts and pages of
    topics, the adapters their modules, the package, in an error, their synonyms and the names of topics, the program
    the commands of topics, and each command the function whose defaults its help shows.
    """
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                found.add((path, ast.unparse(node.args[0])))
    assert found == {
        ("_lazy.py", "f'{PACKAGE}._meant'"),
        ("_meant.py", "f'{_lazy.PACKAGE}.{topic}'"),
        ("_lazy.py", "f'{PACKAGE}.estimands.registry'"),
        ("_lazy.py", "f'{PACKAGE}.{module}'"),
        ("_presented.py", "f'bayescal.report.{name}'"),
        ("_presented.py", "'bayescal.verify.models'"),
        ("verify/models.py", "f'bayescal.verify.{module}'"),
        ("app.py", "f'bayescal.{topic}.command'"),
        ("cli/command.py", "module"),
        ("results/model_checks.py", "'bayescal.analyses.sensitivity'"),
        ("report/document.py", "f'bayescal.{folders[0]}.page'"),
        ("stats/stored.py", "'.'.join(parts).removesuffix('.__init__')"),
        ("plugins/__init__.py", "f'{__name__}.{name}'"),
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
        if p not in LOADED_WHEN_NEEDED and "/compiled/" not in p and p not in ADAPTERS
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


def test_a_first_evaluation_loads_no_topic(run):
    """Nor do printing, a document, the frame of pages, and a comparison."""
    code = f"""
import sys
import numpy as np
import bayescal as bc
p = np.random.default_rng(1).random(200)
y = p < 0.4
ev, found = bc.evaluate(y, p, rng=1), bc.compare(y, {{"a": p, "b": p**2}}, rng=1)
import bayescal.report.page
print(all(len(str(each)) > 100 and len(each.to_json()) > 100 for each in (ev, found)))
print(sorted({{m.split(".")[1] for m in sys.modules if m.startswith("bayescal.")}} & {TOPICS}))
"""
    done = run(code)
    assert (done.stdout.split("\n"), done.stderr) == (["True", "[]", ""], "")


def imported_by(path):
    """Modules of the package that a file imports."""
    return {module for module, _ in imports(ast.parse((ROOT / path).read_text(encoding="utf-8")))}


#: Question -> files to which the page leads, and what they contain.
QUESTIONS = {
    "Where is the sentence of a survival result written?": {
        "bayescal/survival/result.py": ["def _subject(self)", "def sentence(self"],
    },
    "Where does a new statistic of cumulative differences go?": {
        "bayescal/cumulative/statistics.py": ["def kuiper(", "def kolmogorov_smirnov("],
        "bayescal/cumulative/base.py": ["def kuiper(self)", "def kolmogorov_smirnov(self)"],
    },
    "Which test fails if a posterior of a shift is wrong?": {
        "tests/shift/test_class_frequencies_posterior.py": ["def test_known_cells_agree_with_quadrature("],
        "tests/sbc/test_class_priors.py": ["def test_ranks_are_uniform(", "def test_wrong_samplers_are_caught("],
    },
    "Where is the number below which events are few?": {
        "bayescal/clinical/words.py": ["FEW_EVENTS = 100", "def few_events("],
    },
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_page_leads_to_the_file(question):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {question} |")]
    assert set(re.findall(r"`((?:bayescal|tests)/[\w/]+\.py)`", row)) == QUESTIONS[question].keys()
    for path, contents in QUESTIONS[question].items():
        text = (ROOT / path).read_text(encoding="utf-8")
        assert [words for words in contents if words not in text] == []


def test_the_files_are_the_answers():
    """The sentence and the number are those that users see; the test of a shift is about its posterior."""
    import bayescal as bc
    from bayescal.clinical.words import few_events
    from bayescal.survival import result

    ev = bc.evaluate_survival([1, 2, 3, 4] * 20, [1, 1, 0, 1] * 20, [0.2, 0.7, 0.4, 0.6] * 20, horizon=3, rng=1)
    assert type(ev).__module__ == result.__name__
    assert ev.sentence().startswith(f"{ev._subject} is ")
    assert (few_events(1000, 99) != [], few_events(1000, 100)) == (True, [])
    assert "bayescal.shift.class_frequencies_posterior" in imported_by(
        "tests/shift/test_class_frequencies_posterior.py"
    )


#: Limits of the package: files, lines of them, and the smallest share of modules with a test file of their name.
MOST_FILES, MOST_LINES, MIRRORED = 360, 75_000, 0.9


def test_the_package_is_small():
    assert len(FILES) <= MOST_FILES
    assert sum(len((PACKAGE / path).read_text(encoding="utf-8").splitlines()) for path in FILES) <= MOST_LINES


def test_tests_mirror_the_modules():
    """`bayescal/stats/bins.py` has `tests/stats/test_bins.py`, whose tests may stand in further files, too."""
    modules = [Path(path) for path in FILES if not path.endswith(("__init__.py", "__main__.py", "_version.py"))]
    missing = [m for m in modules if not (ROOT / "tests" / m.parent / f"test_{m.stem.lstrip('_')}.py").is_file()]
    assert len(missing) <= (1 - MIRRORED) * len(modules), missing


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_a_topic_has_one_folder_of_source_and_one_of_tests(topic):
    for folder in ("bayescal", "tests"):
        assert [path for path in (ROOT / folder).rglob(topic) if path.is_dir()] == [ROOT / folder / topic]


#: Words that are no names of things, and where one is a name that users know.
NO_NAMES = {"alike", "drawn", "found", "given", "made", "own", "said", "told"}
KNOWN_NAMES = {
    ("clinical/slope/result.py", "drawn"),
    ("cumulative/posterior_result.py", "drawn"),
    ("datasets/clustered.py", "alike"),
    ("report/page_content.py", "drawn"),
    ("shift/class_frequencies.py", "drawn"),
    ("shift/shift_evidence.py", "drawn"),
    ("stats/clusters.py", "own"),
    ("cli/options.py", "given"),
}


def names_defined(tree):
    """Names of variables, parameters, functions, classes and fields that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_names_are_those_of_things():
    trees = {path: ast.parse((PACKAGE / path).read_text(encoding="utf-8")) for path in map(str, FILES)}
    defined = {(path, name) for path, tree in trees.items() for name in names_defined(tree)}
    no_things = {(path, name) for path, name in defined if name.lower().strip("_") in NO_NAMES}
    assert sorted(no_things - KNOWN_NAMES) == []


#: Working arrays of pooled groups, and of models, which become arrays with draws on the first axis.
NOT_DRAWS_FIRST = {
    *("posterior/pooling/posterior.py", "posterior/pooling/evidence.py", "verify/pooling_models.py"),
    "decisions/posterior.py",
}
STATED_SHAPE = re.compile(r"[Ss]hapes? (\([^()]*\bn_draws\b[^()]*\))")


def test_draws_are_on_the_first_axis_of_all_stated_shapes():
    texts = {path: (PACKAGE / path).read_text(encoding="utf-8") for path in FILES}
    shapes = [(path, shape) for path, text in texts.items() for shape in STATED_SHAPE.findall(text)]
    assert len(shapes) > 80
    assert [each for each in shapes if not each[1].startswith("(n_draws,") and each[0] not in NOT_DRAWS_FIRST] == []


#: Words that do not say of what a limit is, and beginnings of names of limits.
OF_NOTHING = {"FEW", "FEWEST", "MANY", "PRINTED", "NAMED", "REFUSED", "SURE", "DEPENDENT", "LARGE", "MARKED"}
LIMIT = re.compile(r"(FEW|FEWEST|MANY|MOST|LEAST|LARGEST|SMALLEST|LONGEST|PRINTED|NAMED|SHOWN)(_|$)")


def constants(path):
    """Yield the names of constants of a module, and whether a comment stands on or above their line or their block."""
    described = False
    for line in (PACKAGE / path).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([A-Z][A-Z0-9_]*(?:, [A-Z][A-Z0-9_]*)*)(?:: [^=]+)? = ", line):
            yield from ((name, described or "  #" in line) for name in found[1].split(", "))
        elif line.startswith("#"):
            described = True
        elif not line.strip():
            described = False


def test_limits_say_of_what_and_have_a_comment():
    defined = [(path, *each) for path in FILES for each in constants(path)]
    assert [(path, name) for path, name, _ in defined if name in OF_NOTHING] == []
    assert [(path, name) for path, name, described in defined if LIMIT.match(name) and not described] == []
    assert sum(bool(LIMIT.match(name)) for _, name, _ in defined) > 100


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
