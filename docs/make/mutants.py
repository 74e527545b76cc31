"""Create mutants of the project's code: find the places for them, draw a sample, and run the tests on each mutant.

The mutation operators come from cosmic-ray. Each mutant is written to a copy of the project and tested in a fork of
this process. This takes seconds, because the process has already loaded numpy, scipy and the packages of the tests.
"""

import ast
import difflib
import hashlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("bayescal", "tests", "pyproject.toml")
OPTIONS = ("-q", "-m", "", "-p", "no:benchmark", "--hypothesis-seed=0")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # hypothesis is loaded before pytest starts
ENVIRONMENT = {"BAYESCAL_COMPILE": "never", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
#: Packages that the tests load: importing them takes longer than most tests.
LOADED = ("numpy.testing", "scipy.integrate", "scipy.stats", "hypothesis.extra.numpy", "mpmath", "pandas", "polars")
LOADED += ("pyarrow", "sklearn.metrics", "sklearn.isotonic", "arviz", "xarray", "rich.console", "narwhals")
#: Limits: CPU seconds per test (plus five times its known duration), seconds for all tests of a mutant, and bytes.
ONE_TEST, ALL_TESTS, MEMORY = 10, 300, 8 * 2**30
#: Replaces the name of a failed test if the process ended before a test failed.
ENDED = "(the process ended)"

type Place = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """A module with one change; `was` and `now` hold the changed lines, without indentation."""

    file: str
    function: str
    line: int
    operator: str
    was: str
    now: str
    source: str


def places(source: str) -> dict[Place, list[tuple[str, int]]]:
    """Return (operator, occurrence) of every mutant by line and column; type annotations are left out."""
    operators = {name: get_operator(name)() for name in operator_names() if not get_operator(name).arguments()}
    found: dict[Place, list[tuple[str, int]]] = defaultdict(list)
    occurrences: Counter[str] = Counter()
    ignored = list(_annotations(source))
    for node in ast_nodes(get_ast(source)):
        for name, operator in operators.items():
            for start, _ in operator.mutation_positions(node):
                if not any(first <= start < last for first, last in ignored):
                    found[start].append((name, occurrences[name]))
                occurrences[name] += 1
    return found


def _annotations(source: str) -> Iterable[tuple[Place, Place]]:
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            if (at := getattr(node, name, None)) is not None:
                yield (at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset)


def sample(files: Sequence[str], size: int, seed: int) -> list[Mutant]:
    """Draw mutants from every file in proportion to its places, at most one per place.

    Places and operators are ranked by a hash of the seed, the function and the line, so that a change of one function
    leaves the sample of all others as it was.
    """
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for file in files}
    where = {file: places(source) for file, source in sources.items()}
    shares = _shares({file: len(found) for file, found in where.items()}, size)
    drawn = []
    for file, source in sources.items():
        mutants = _ranked(file, source, where[file], seed)
        drawn += [mutant for mutant, _ in zip(mutants, range(shares[file]), strict=False)]
    return drawn


def _shares(places: Mapping[str, int], size: int) -> dict[str, int]:
    """Divide the sample in proportion to places, by largest remainders."""
    exact = {file: min(size / sum(places.values()), 1) * n for file, n in places.items()}
    shares = {file: int(share) for file, share in exact.items()}
    left = min(size, sum(places.values())) - sum(shares.values())
    for file in sorted(exact, key=lambda f: shares[f] - exact[f])[:left]:
        shares[file] += 1
    return shares


def _ranked(file: str, source: str, found: dict[Place, list[tuple[str, int]]], seed: int) -> Iterable[Mutant]:
    lines, functions = source.splitlines(), _functions(source)

    def rank(place: Place, *more: object) -> bytes:
        text = lines[place[0] - 1]
        column = place[1] - (len(text) - len(text.lstrip()))
        return hashlib.sha256(repr((seed, file, functions[place[0]], text.strip(), column, *more)).encode()).digest()

    for place in sorted(found, key=rank):
        in_order = sorted(enumerate(found[place]), key=lambda o: rank(place, o[0], o[1][0]))
        tries = (_mutant(file, functions[place[0]], place[0], source, *option) for _, option in in_order)
        if (first := next((mutant for mutant in tries if mutant), None)) is not None:
            yield first


def _functions(source: str) -> dict[int, str]:
    """Return the dotted name of the innermost function or class around every line."""
    names: dict[int, str] = defaultdict(str)

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = name
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inside = f"{name}.{child.name}".lstrip(".")
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                names.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), inside))
            visit(child, inside)

    visit(ast.parse(source), "")
    return names


def _mutant(file: str, function: str, line: int, source: str, operator: str, occurrence: int) -> Mutant | None:
    """Return None if the changed text is not a valid program or is the same program."""
    changed = mutate_code(source, get_operator(operator)(), occurrence)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # as in the tests, where `is` with a literal is an error
            compile(changed, file, "exec")
    except (SyntaxError, SyntaxWarning):
        return None
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
        return None
    differences = [x for x in difflib.ndiff(source.splitlines(), changed.splitlines()) if x[0] in "-+"]
    was, now = (" ".join(x[2:].strip() for x in differences if x[0] == sign) for sign in "-+")
    return Mutant(file, function, line, operator.split("/")[-1], was, now, changed)


class Watch:
    """A pytest plugin that runs fast tests first, limits the time of each, and records failures and durations."""

    def __init__(self, project: Path, slow: Mapping[str, float], only: Container[str]):
        self.project, self.slow, self.only = project, slow, only
        self.note: dict[str, Any] = {"failed": "", "seconds": Counter()}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort tests by known duration; tests without one keep their order."""
        items[:] = [item for item in items if not self.only or item.nodeid in self.only]
        items.sort(key=lambda item: self.slow.get(item.nodeid, 0))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Let the system stop the process when this test exceeds its CPU time."""
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        limit = int(used + ONE_TEST + 5 * self.slow.get(item.nodeid, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        self.write(f"{item.nodeid} (time)")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a module that cannot be loaded."""
        if report.failed:
            self.note["failed"] = self.note["failed"] or report.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the first test that fails and the durations of all tests."""
        self.note["seconds"][report.nodeid] += report.duration
        if report.failed:
            self.note["failed"] = self.note["failed"] or report.nodeid

    def pytest_sessionfinish(self) -> None:
        """Check that the copy was tested, not the installed package."""
        imported = [Path(m.__file__ or "") for name, m in sys.modules.items() if name == "bayescal"]
        assert all(self.project in path.parents for path in imported), imported
        self.write(self.note["failed"])

    def write(self, failed: str) -> None:
        """Write the note to a file, which the parent reads even if this process is stopped."""
        (self.project / "note.json").write_text(json.dumps({**self.note, "failed": failed}), encoding="utf-8")


class Calls(Watch):
    """A `Watch` that also records which functions each test calls."""

    def __init__(self, project: Path):
        super().__init__(project, {}, ())
        self.called: set[str] = set()
        self.note["calls"] = {}
        sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "mutants")
        sys.monitoring.register_callback(sys.monitoring.PROFILER_ID, sys.monitoring.events.PY_START, self._call)
        sys.monitoring.set_events(sys.monitoring.PROFILER_ID, sys.monitoring.events.PY_START)

    def _call(self, code: CodeType, _: int) -> object:
        if (path := Path(code.co_filename)).is_relative_to(self.project):
            names = [name for name in code.co_qualname.split(".") if not name.startswith("<")]
            self.called.add(f"{path.relative_to(self.project)}:{'.'.join(names)}")
        return sys.monitoring.DISABLE

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Start a new set of called functions; unlike a mutant, this run has no time limit per test."""
        self.called = self.note["calls"][item.nodeid] = set()
        sys.monitoring.restart_events()

    def write(self, failed: str) -> None:
        """Write sets as lists."""
        self.note["calls"] = {test: sorted(called) for test, called in self.note["calls"].items()}
        super().write(failed)


class Copy:
    """A copy of the project, in which one mutant after another is tested."""

    def __init__(self, folder: Path, slow: Mapping[str, float]):
        self.path, self.slow = folder, dict(slow)
        self.callers: dict[str, set[str]] = {}
        for part in COPIED:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / part, folder / part)
        os.environ.update(ENVIRONMENT, PYTHONPATH=str(folder))
        sys.path.insert(0, str(folder))
        for name in LOADED:
            with suppress(ImportError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name)

    def learn(self, tests: Sequence[str]) -> str:
        """Run tests without a mutant and record their durations and calls; return the first that fails, or ""."""
        passed, note = self._fork(tests, lambda: Calls(self.path))
        self.slow |= note.get("seconds", {})
        for test, called in note.get("calls", {}).items():
            for function in called:
                self.callers.setdefault(function, set()).add(test)
        return "" if passed else note.get("failed") or ENDED

    def test(self, mutant: Mutant, stages: Sequence[Sequence[str]]) -> str:
        """Return the first test that fails, or ""; run only the tests that call the mutated function, if known."""
        only = self.callers.get(f"{mutant.file}:{mutant.function}", set())
        if only:
            stages = [sorted({test.split("::")[0] for test in only}, key=lambda f: f != mutant.file)]
        path = self.path / mutant.file
        original = path.read_text(encoding="utf-8")
        self._put(path, mutant.source)
        try:
            return next(filter(None, (self.run(["-x", *tests], only) for tests in stages)), "")
        finally:
            self._put(path, original)

    def run(self, tests: Sequence[str], only: Container[str] = ()) -> str:
        """Return the first test that fails, or ""."""
        passed, note = self._fork(tests, lambda: Watch(self.path, self.slow, only))
        return "" if passed else note.get("failed") or ENDED

    @staticmethod
    def _put(path: Path, source: str) -> None:
        # Python reuses bytecode if the source has the same length and the same modification second
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        path.write_text(source, encoding="utf-8")

    def _fork(self, arguments: Sequence[str], plugin: Callable[[], Watch]) -> tuple[bool, dict[str, Any]]:
        """Run pytest in a fork of this process; return whether all tests passed, and the note."""
        note = self.path / "note.json"
        note.unlink(missing_ok=True)
        sys.stdout.flush()
        with warnings.catch_warnings():
            # threads that some packages have started are idle
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            self._child(arguments, plugin)
        code = _wait(child, ALL_TESTS)
        # if no test was selected, none failed
        return code in (0, pytest.ExitCode.NO_TESTS_COLLECTED), json.loads(
            note.read_text(encoding="utf-8")
        ) if note.exists() else {}

    def _child(self, arguments: Sequence[str], plugin: Callable[[], Watch]) -> None:
        code = 99
        try:
            os.setsid()
            os.chdir(self.path)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            output = os.open(self.path / "output.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            code = int(pytest.main([*OPTIONS, *arguments], plugins=[plugin()]))
        except BaseException:  # the child must never return into the parent's code
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _wait(child: int, seconds: float) -> int:
    """Return the exit code of a child; stop it and its children when the time is over."""
    end, done, status = time.monotonic() + seconds, 0, 0
    try:
        while not done and time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
    finally:  # also when this process is interrupted
        if not done:
            os.killpg(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
