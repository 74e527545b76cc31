"""Change the core in one place at a time and check whether its tests fail; write the numbers and the table of
docs/explanation/how_we_know.md: `make mutation`. With --quick, use a small sample and write nothing.

Mutants that compute the same as the code, so that no test can detect them, are listed with a reason in
tests/equivalent_mutants.toml. The exit status is 1 if fewer than 95 % of the other mutants are killed.
"""

import argparse
import json
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any

from mutants import ENDED, ROOT, Copy, Mutant, places, sample
from pages import cells, fill, save_parts, table, versions_of

SCOPE = (
    "bayescal/posterior", "bayescal/estimands", "bayescal/stats", "bayescal/_checks.py",
    "bayescal/planning/goal_curve.py",
)  # fmt: skip
#: Tests of the whole pipeline, which use all layers of the core.
PIPELINE = ("tests/test_evaluate.py", "tests/test_contract.py", "tests/test_properties.py")
#: Additional tests of a module: those of the only class or file that uses it.
FURTHER = {
    "bayescal/_checks.py": "tests/test_invalid.py",
    "bayescal/monitoring/windowed.py": "tests/monitoring/test_monitor.py",
    "bayescal/stats/ordered.py": "tests/cumulative/test_analysis.py",
    "bayescal/cumulative/statistics.py": "tests/cumulative/test_base.py",
} | {f"bayescal/stats/documents/{name}.py": "tests/stats/test_stored.py" for name in ("classes", "pairs", "sums")}
#: The tests of the compiled loops, which are not mutated: to compile one again takes longer than a test may.
LEFT_OUT = tuple(
    f"--ignore=tests/{path}" for path in ("posterior/shrinkage/test_many.py", "posterior/shrinkage/compiled")
)
COMPILED = ("compiled", "many.py")
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.toml"
NUMBERS, PAGE = ROOT / "docs" / "_static" / "mutation.json", ROOT / "docs" / "explanation" / "how_we_know.md"
#: Minimum share of non-equivalent mutants that must be killed.
ENOUGH = 0.95
SAMPLE, QUICK_SAMPLE = 300, 2
#: A short run always has the same sample. A full run has a new sample every day, for which no test was written.
QUICK_SEED = 2
#: Tests that take at least this many seconds are stored, so that a short run starts with faster ones.
SLOW = 0.1
OUTCOMES = ("killed", "survived", "equivalent")
COUNTS = ("places", *OUTCOMES)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help=f"number of mutants: {SAMPLE}, or {QUICK_SAMPLE} with --quick")
    parser.add_argument("--seed", type=int, help=f"of the sample: the date, or {QUICK_SEED} with --quick")
    parser.add_argument(
        "--paths", nargs="+", default=SCOPE, help="folders and modules to mutate; then nothing is written"
    )
    parser.add_argument("--quick", action="store_true", help="a small sample; nothing is written")
    parser.add_argument("--redraw", action="store_true", help="judge the last survivors again; run no test")
    return parser.parse_args()


def main() -> int:
    """Return 0 if enough mutants are killed, 2 if the tests fail without any."""
    asked = arguments()
    numbers = judged_again(stored()) if asked.redraw else measure(asked)
    if numbers is None:
        return 2
    for row in numbers["survivors"]:
        print("SURVIVED  {file}:{line} {function} {operator}\n    {was}\n    {now}".format(**row))
    share = killed_share(numbers["modules"])
    print(", ".join(f"{sum(m[o] for m in numbers['modules'])} {o}" for o in OUTCOMES), f"-> {share:.1%} killed")
    if not asked.quick and tuple(asked.paths) == SCOPE:
        save_parts(NUMBERS, numbers)
        fill(PAGE, "make mutation", sections(numbers))
    return 0 if share >= ENOUGH else 1


def measure(asked: argparse.Namespace) -> dict[str, Any] | None:
    """Draw mutants and test them; return None if a test fails without a mutant."""
    files = sorted(modules(asked.paths))
    size, seed = (QUICK_SAMPLE, QUICK_SEED) if asked.quick else (SAMPLE, int(f"{datetime.now(UTC):%Y%m%d}"))
    size, seed = asked.sample or size, seed if asked.seed is None else asked.seed
    drawn = sample(files, size, seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder).resolve(), stored()["slow_tests"])
        tests = sorted({test for file in files for stage in mirror(file) for test in stage})
        # a short run cannot first run all tests without a mutant; at the end it reruns those that killed one
        failed = "" if asked.quick else copy.learn(tests)
        rows = [] if failed else tested(copy, drawn)
        if killers := sorted({row["killed_by"].removesuffix(" (time)") for row in rows} - {"", ENDED}):
            failed = copy.run([*LEFT_OUT, *killers])
    if failed:
        print(f"This test fails without a mutant, so the run is invalid: {failed}")
        return None
    return numbers_of(files, rows, seed, copy.slow)


def stored() -> dict[str, Any]:
    """Read the numbers of the last full run."""
    return json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"slow_tests": {}}


def judged_again(numbers: dict[str, Any]) -> dict[str, Any]:
    """Reclassify survivors that have since been listed as equivalent."""
    listed, modules = equivalents(), {row["file"]: row for row in numbers["modules"]}
    for row in [row for row in numbers["survivors"] if is_listed(row, listed)]:
        numbers["survivors"].remove(row)
        modules[row["file"]]["survived"] -= 1
        modules[row["file"]]["equivalent"] += 1
    return numbers


def modules(paths: Iterable[str]) -> set[str]:
    """Return the Python files below the paths, except `__init__.py` (a docstring) and compiled loops."""
    found = [
        file for path in paths for file in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("*.py"))
    ]
    return {
        str(file.relative_to(ROOT))
        for file in found
        if file.name != "__init__.py" and not any(part in str(file) for part in COMPILED)
    }


def mirror(file: str) -> list[list[str]]:
    """Return the tests of a module in stages: its own and its doctests, those of its layer, those of the pipeline."""
    path = Path(file).relative_to("bayescal")
    name, folder = path.stem.strip("_"), f"tests/{path.parts[0]}" if len(path.parts) > 1 else "tests"
    mirrored = (Path("tests") / path.parent / f"test_{name}.py").as_posix()
    own = [test for test in (mirrored, FURTHER.get(file, "")) if (ROOT / test).is_file()]
    stages = [[file, *own], [*LEFT_OUT, folder], [*PIPELINE]]
    return [stage for stage in stages if "tests" not in stage]  # `_checks.py` belongs to no layer


def equivalents() -> list[dict[str, str]]:
    """Read the list of equivalent mutants."""
    return tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]


def is_listed(about: Mapping[str, Any], listed: Iterable[Mapping[str, str]]) -> bool:
    """Return whether a mutant is listed as equivalent."""
    return any(all(about[name] == entry[name] for name in entry.keys() - {"reason"}) for entry in listed)


def tested(copy: Copy, drawn: Sequence[Mutant]) -> list[dict[str, Any]]:
    """Test each mutant, unless it is listed as equivalent."""
    listed, rows = equivalents(), []
    for i, mutant in enumerate(drawn):
        began = time.monotonic()
        about = {name: getattr(mutant, name) for name in ("file", "function", "line", "operator", "was", "now")}
        known = is_listed(about, listed)
        killed_by = "" if known else copy.test(mutant, mirror(mutant.file))
        outcome = "equivalent" if known else "killed" if killed_by else "survived"
        rows.append({**about, "outcome": outcome, "killed_by": killed_by})
        print(f"{i + 1:3} {outcome:10} {time.monotonic() - began:5.1f} s  {mutant.file}:{mutant.line}  {mutant.now}")
        print(f"{'':26}{killed_by}", flush=True)
    return rows


def numbers_of(
    files: Sequence[str], rows: Sequence[Mapping[str, Any]], seed: int, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Assemble the numbers to be stored."""
    counts = Counter((row["file"], row["outcome"]) for row in rows)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {"python": python_version(), **dict(versions_of(["bayescal", "cosmic-ray", "pytest"]))},
        "seed": seed,
        "modules": [
            {"file": f, "places": len(places((ROOT / f).read_text(encoding="utf-8")))}
            | {o: counts[f, o] for o in OUTCOMES}
            for f in files
        ],
        "survivors": [
            {k: v for k, v in row.items() if k not in ("outcome", "killed_by")}
            for row in rows
            if row["outcome"] == "survived"
        ],
        "slow_tests": {test: round(s, 1) for test, s in sorted(seconds.items()) if s >= SLOW},
    }


def killed_share(counts: Iterable[Mapping[str, Any]]) -> float:
    """Return the share of killed mutants among those that are not equivalent."""
    killed, survived = (sum(row[outcome] for row in counts) for outcome in ("killed", "survived"))
    return killed / max(1, killed + survived)


def sections(numbers: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of the page."""
    folders: dict[str, Counter[str]] = {}
    for row in numbers["modules"]:
        name = "/".join(Path(row["file"]).parts[:2])
        folders.setdefault(name, Counter()).update({key: row[key] for key in COUNTS})
    folders["together"] = sum(folders.values(), Counter())
    lines = [
        {"name": name, "share": f"{killed_share([c]):.1%}", **{k: c[k] for k in COUNTS}} for name, c in folders.items()
    ]
    head = "Part | Places: | Killed: | Survived: | Equivalent: | Killed, without the equivalent:"
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    said = f"Run on {numbers['date']} with seed {numbers['seed']} and {versions}.\n\n"
    listed = table(
        "Survivor | Was | Is", cells(map(_escaped, numbers["survivors"]), "{file}, `{function}`|`{was}`|`{now}`")
    )
    return {
        "mutants": said
        + table(head, cells(lines, "{name}|{places}|{killed}|{survived}|{equivalent}|{share}"))
        + (f"\n{listed}" if numbers["survivors"] else "")
    }


def _escaped(row: Mapping[str, Any]) -> dict[str, str]:
    words = {name: str(value).replace("|", "\\|") for name, value in row.items()}
    return words | {"function": words["function"] or "module"}


if __name__ == "__main__":
    sys.exit(main())
