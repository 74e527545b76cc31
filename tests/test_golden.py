"""Documents, prints, pages and help are those in `tests/golden`: a change of structure changes no result.

After an intended change, run ``python tests/golden.py``, and read what `git diff` shows.
"""

import importlib.util
import json
import math
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("golden.py")
SPEC = importlib.util.spec_from_file_location("golden", FILE)
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)
#: Numbers that differ less, relative to their size or in absolute value, are equal: processors differ in last digits.
RELATIVE, ABSOLUTE = 1e-7, 1e-10


def differences(old, new, place=""):
    """Yield where two contents differ, and how."""
    if isinstance(old, dict) and isinstance(new, dict) and list(old) == list(new):
        for key, value in old.items():
            yield from differences(value, new[key], f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{place}/{i}")
    elif isinstance(old, float) and isinstance(new, float | int):
        if not math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{place}: {old} -> {new}"
    elif old != new or isinstance(old, dict):  # dicts with the same items in another order are equal
        yield f"{place}: {old!r:.200} -> {new!r:.200}"


def stored(name):
    return json.loads(golden.FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("data", list(golden.DATA))
def test_documents_prints_and_draws_are_the_same(data):
    assert list(differences(stored(data.replace(" ", "_")), golden.rounded(golden.results(data)))) == []


@pytest.mark.slow
def test_words_of_pages_are_the_same():
    assert list(differences(stored("pages"), golden.pages())) == []


def test_help_is_the_same():
    assert list(differences(stored("help"), golden.helps())) == []


def test_a_difference_is_found():
    old = {"a": [1.0, {"b": "x"}], "c": None}
    new = {"a": [1.0 + 1e-6, {"b": "y"}], "c": 0}
    assert list(differences(old, new)) == ["/a/0: 1.0 -> 1.000001", "/a/1/b: 'x' -> 'y'", "/c: None -> 0"]
    assert list(differences(old, {"a": [1.0 + 1e-9, {"b": "x"}], "c": None})) == []
    assert list(differences([1], [1, 2])) == [": [1] -> [1, 2]"]
    assert list(differences({"a": 1, "b": 2}, {"b": 2, "a": 1})) != []
