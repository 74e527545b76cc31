"""Documents, printed texts, pages and help of all calls of `every_function`, as files in `tests/golden`.

`test_golden.py` compares them with those that the package makes now. After an intended change run this file as a
program, ``python tests/golden.py``, and read what `git diff` shows.
"""

import functools
import html
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))

import every_function

FOLDER = Path(__file__).with_name("golden")
#: Generated data sets: without weights, and with weights; 60 rows each.
DATA = {
    "rows": every_function.generated(4, 60, "uniform", "as stated", "none"),
    "weighted rows": every_function.generated(2, 60, "uniform", "as stated", "gamma"),
}
#: Numbers of an array that are kept: its first ones.
FIRST = 20


def shown(result):
    """Return what is kept of a result: its document and its print, or its first numbers."""
    if hasattr(result, "sheet"):
        document = json.loads(result.to_json())
        return {"document": {k: v for k, v in document.items() if k != "bayescal"}, "text": str(result).splitlines()}
    if hasattr(result, "accuracy") and hasattr(result, "mass"):  # draws of bins
        return {part: shown(getattr(result, part)) for part in ("mass", "accuracy", "confidence")}
    values = getattr(result, "values", result)
    if not callable(values) and isinstance(values, np.ndarray | list | float | int):
        array = np.asarray(values)
        return {"shape": list(array.shape), "first": array.ravel()[:FIRST].tolist()}
    return {"text": str(result).splitlines()}


@functools.cache
def called(data, name):
    """Return the result of a call, or the error that it raises."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return every_function.CALLS[name](DATA[data])
        except (ValueError, TypeError) as problem:
            return problem


def results(data):
    """Return what is kept of each call; of an error its message."""
    made = {}
    for name in every_function.CALLS:
        result = called(data, name)
        failed = isinstance(result, Exception)
        made[name] = {"error": f"{type(result).__name__}: {result}"} if failed else shown(result)
    return made


def pages():
    """Return the words of the page of each result, without pictures."""
    every = {name: called("rows", name) for name in every_function.CALLS}
    return {name: words_of(result.to_html()) for name, result in every.items() if hasattr(result, "to_html")}


def words_of(page):
    """Return the visible words of a page, one line per element."""
    body = re.sub(r"(?s)<(style|script|svg|head)\b.*?</\1>", "", page)
    lines = (" ".join(html.unescape(line).split()) for line in re.split(r"<[^>]+>", body))
    return [line for line in lines if line]


def helps():
    """Return the page of help of each command."""
    from typer.testing import CliRunner

    from bayescal.app import app

    def page(*command):
        done = CliRunner().invoke(
            app, [*command, "--help"], env={"COLUMNS": "100", "TERM": "dumb"}, prog_name="bayescal"
        )
        return [line.rstrip() for line in done.stdout.splitlines()]

    names = [each.name or each.callback.__name__ for each in app.registered_commands]
    return {"": page(), **{name: page(name) for name in names}}


def made():
    """Return the content of each file."""
    return {**{data.replace(" ", "_"): results(data) for data in DATA}, "pages": pages(), "help": helps()}


def rounded(thing):
    """Round numbers to ten significant digits, of which the last may differ between processors."""
    if isinstance(thing, dict):
        return {key: rounded(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [rounded(value) for value in thing]
    return float(f"{thing:.10g}") if isinstance(thing, float) else thing


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in made().items():
        text = json.dumps(rounded(content), indent=1, ensure_ascii=False)
        FOLDER.joinpath(f"{name}.json").write_text(text + "\n", encoding="utf-8")
