"""Descriptions of parameters that many public functions share (``_described.txt``), and usual imports of examples.

`public` completes the docstring of each function, class and method, which `help` and the reference show.
"""

import re
from collections.abc import Iterator
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc
from pathlib import Path
from types import FunctionType

REQUIRED = object()


@cache
def _shared_texts() -> dict[str, str]:
    """Read the descriptions, by name and default of a parameter, or for ``**options`` by the name of the function."""
    parts = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").rstrip().split("\n\n")
    by_heads = (part.removeprefix("[").split("]\n", 1) for part in parts)
    return {head: text for heads, text in by_heads for head in heads.split(", ")}


#: What plots return, and the errors of those with a colour; plots are the functions with the parameter `ax`.
AXES = "\n\nReturns\n-------\nmatplotlib Axes\n    `ax`, or the new one; its ``.figure`` saves the picture."
PLOT_ERRORS = """\n\nRaises\n------\nTypeError\n    If `{}` is something else, or `ax` is not an Axes.
ValueError\n    If an argument is invalid, such as a colour that is unknown to matplotlib."""

#: Usual first lines of examples, by the beginning of the code that needs them; the last may need the first.
GENERATOR = "rng = np.random.default_rng(1)"
IMPORTS = {
    "np.": "import numpy as np",
    "bc.": "import bayescal as bc",
    "Figure()": "from matplotlib.figure import Figure",
    "simulate(": "from bayescal.datasets.simulate import simulate",
    "rng.": GENERATOR,
}

_HEAD, _NEXT = "\n\nParameters\n----------\n", re.compile(r"\n\n[A-Z][A-Za-z ]+\n-{3,}\n")


def with_imports(text: str | None) -> str | None:
    """Return a docstring whose examples begin with the usual imports, and generator, of the names that they use."""
    head, _, code = (text or "").partition(">>> ")
    makes = re.search(r"\brng\.", code) is not None and "rng = " not in code
    whole = f"{code}{GENERATOR}" if makes else code
    needed = [line for use, line in IMPORTS.items() if re.search(rf"\b{re.escape(use)}", whole) and line not in code]
    needed = [line for line in needed if line != GENERATOR or makes]
    lines = [f">>> {line}\n{head.rpartition('\n')[2]}" for line in needed]
    return f"{head}{''.join(lines)}>>> {code}" if lines else text


def described(function: FunctionType) -> str | None:
    """Return the docstring of a function with shared descriptions, in the order of the signature.

    They are added if they complete the section of parameters, since a list of some parameters would mislead.
    """
    shared = dict(_shared(function))
    if not function.__doc__ or not any(shared.values()):
        return function.__doc__
    summary, _, listed = cleandoc(function.__doc__).partition(_HEAD)
    text = listed or summary
    end = each.start() if (each := _NEXT.search(text)) else len(text)
    rest, entries = text[end:], re.split(r"\n(?=\S)", listed[:end]) if listed else []
    summary = summary if listed else text[:end]
    known = {name for entry in entries for name in _names(entry)}
    added = [entry for name, entry in shared.items() if name not in known]
    is_plot = bool(shared.get("ax"))
    if not all(added) or not (added or (is_plot and "color" in shared)):
        return function.__doc__
    entries += filter(None, added)
    places = {name: place for place, name in enumerate(shared)}
    section = "\n".join(sorted(entries, key=lambda entry: places.get(_names(entry)[0], len(places))))
    return f"{summary}{_HEAD}{section}{_of_plot(shared, rest) if is_plot else rest}"


def _of_plot(shared: dict[str, str | None], rest: str) -> str:
    """Return the sections below the parameters of a plot, with what plots return and raise."""
    if not rest.startswith("\n\nReturns\n---"):
        rest = AXES + rest
    if "color" not in shared or "\n\nRaises\n---" in rest:
        return rest
    end = each.start() if (each := _NEXT.search(rest, 1)) else len(rest)
    return f"{rest[:end]}{PLOT_ERRORS.format(next(iter(shared)))}{rest[end:]}"


def _shared(function: FunctionType) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each parameter with its shared description, or with None if it has none."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    known = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | (function.__kwdefaults__ or {})
    several, keywords = bool(code.co_flags & CO_VARARGS), bool(code.co_flags & CO_VARKEYWORDS)
    plain = code.co_argcount + code.co_kwonlyargcount
    for name in code.co_varnames[names[:1] in (("self",), ("cls",)) : plain]:
        default = known.get(name, REQUIRED)
        yield name, _shared_texts().get(name if default is REQUIRED else f"{name}={default!r}")
    for name in code.co_varnames[plain : plain + several + keywords]:
        yield name, _shared_texts().get(f"{name} of {function.__name__}")


def _names(entry: str) -> list[str]:
    """Return the names of parameters that an entry describes."""
    return [name.lstrip("*") for name in entry.partition("\n")[0].partition(" : ")[0].split(", ")]
