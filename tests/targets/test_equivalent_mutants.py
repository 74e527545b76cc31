"""Each entry in the list of equivalent mutants names existing code and says why no test can detect the change."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text(encoding="utf-8"))["mutant"]
ENTRIES = ("file", "function", "operator", "was", "now")


def source_of(file, function):
    """Return the lines of a function, class or module without indentation, as one text."""
    text = (ROOT / file).read_text(encoding="utf-8")
    node, lines = ast.parse(text), text.splitlines()
    for name in filter(None, function.split(".")):
        node = next(n for n in ast.walk(node) if getattr(n, "name", None) == name)
    if isinstance(node, ast.Module):
        return " ".join(line.strip() for line in lines)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return " ".join(line.strip() for line in lines[first - 1 : node.end_lineno])


def faults(mutant):
    """Yield what is wrong with an entry."""
    name = f"{mutant['file']}:{mutant['function']}"
    if not {"file", "function", "operator", "was", "reason"} <= set(mutant) <= {*ENTRIES, "reason"}:
        yield f"{name}: its keys are {sorted(mutant)}"
    if mutant["was"] not in source_of(mutant["file"], mutant["function"]):
        yield f"{name}: {mutant['was']!r} is not in the code"
    if mutant["was"] == mutant.get("now") or len(mutant["reason"].split()) < 4:
        yield f"{name}: no change, or no reason"


def test_every_entry_is_of_code_that_exists():
    """If this fails, the code has changed: judge the mutant again or remove it from `equivalent_mutants.toml`."""
    assert [fault for mutant in LISTED for fault in faults(mutant)] == []


def test_no_entry_is_there_twice():
    keys = [tuple(m.get(entry, "") for entry in ENTRIES) for m in LISTED]
    assert sorted(keys) == sorted(set(keys))
