"""Texts that stand in files: long messages, remarks and notes of results, and the help texts of options."""

from functools import cache
from pathlib import Path
from typing import Any


def read_texts(file: Path) -> dict[str, str]:
    """Return the texts of a file by their keys; a line holds a key, a colon and a text, or begins with ``#``."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


@cache
def _texts() -> dict[str, str]:
    return read_texts(Path(__file__).with_suffix(".txt"))


def text_of(key: str, **values: Any) -> str:
    """Return a message, remark or note of ``_texts.txt``; with values, they take the places of their names in it."""
    return _texts()[key].format(**values) if values else _texts()[key]
