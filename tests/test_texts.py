"""Long messages, remarks and notes that stand in `_texts.txt`: the package uses each of them once, and no others."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bayescal import _texts

PACKAGE = Path(_texts.__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
OPTIONS = sorted(path for path in PACKAGE.rglob("options.txt"))


def test_code_uses_each_text_once():
    used = Counter(key for text in SOURCES.values() for key in re.findall(r"text_of\(\s*[\"']([^\"']+)[\"']", text))
    assert used.keys() == _texts._texts().keys()
    assert set(used.values()) == {1}


@pytest.mark.parametrize("path", [PACKAGE / "_texts.txt", *OPTIONS], ids=lambda path: path.parent.name)
def test_keys_of_a_file_are_unique(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(_texts.read_texts(path)) == len(lines)


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: path.parent.name)
def test_options_use_each_help_text_once(path):
    used = Counter(re.findall(r"HELP\[[\"']([^\"']+)[\"']\]", SOURCES[path.with_suffix(".py")]))
    assert used.keys() == _texts.read_texts(path).keys()
    assert set(used.values()) == {1}


def test_a_line_is_a_key_and_a_text(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("# comment\nkey: text: with a colon\n", encoding="utf-8")
    assert _texts.read_texts(file) == {"key": "text: with a colon"}
    file.write_text("no key\n", encoding="utf-8")
    with pytest.raises(ValueError, match="length 1; 2 is required"):
        _texts.read_texts(file)
