"""Descriptions of parameters that many public functions share, and usual imports of examples.

`public` completes the docstring of each function, class and method, which `help` and the reference show.
"""

import re
from collections.abc import Iterator
from inspect import CO_VARARGS, CO_VARKEYWORDS, cleandoc
from types import FunctionType

REQUIRED = object()

#: Descriptions by the name and the default of a parameter, or for ``**options`` by the name of the function.
SHARED: dict[tuple[str, object], str] = {
    ("prob", 0.95): "prob : float, default 0.95\n"
    "    Probability of the (equal-tailed) intervals, in (0, 1); others raise a ValueError.",
    ("estimand", "ece"): 'estimand : str, Estimand or callable, default "ece"\n'
    "    The quantity: its name, its record, or a function of draws of the bins.",
    ("estimand", None): "estimand : str, Estimand or callable, optional\n"
    "    The quantity: its name, its record, or a function of draws of the bins; by default the ECE.",
    ("rope", 0.01): "rope : float, default 0.01\n"
    "    Half-width of the region of practical equivalence, in units of the estimand; see `bayescal.compare`.",
    ("bins", 15): "bins : int, array-like or Bins, default 15\n"
    "    Number of equal-width bins, or edges that increase from 0 to 1.",
    ("target", "confidence"): 'target : str, default "confidence"\n'
    "    Meaning of outcome and confidence; see `evaluate`.",
    ("progress", False): "progress : bool, default False\n    Whether to show a progress bar.",
    ("step", 0.05): "step : float, default 0.05\n    Width of the cells on the logit scale, in [0.001, 1].",
    ("draws", 4000): "draws : int, default 4000\n    Number of independent posterior draws, at least 2.",
    ("n_draws", 4000): "n_draws : int, default 4000\n    Number of draws, at least 1.",
    ("rng", None): "rng : None, int, SeedSequence or Generator\n"
    "    Seed or generator, as for `numpy.random.default_rng`.",
    ("weights", None): "weights : array-like of float, shape (n_rows,), optional\n"
    "    Importance weights >= 0. The effective number of rows is that of Kish, (sum w)^2 / sum w^2.",
    ("ax", None): "ax : matplotlib Axes, optional\n    Where to draw. By default on a new pyplot figure.",
    ("y_true", REQUIRED): "y_true : array-like, shape (n_rows,)\n    Labels, as for `bayescal.evaluate`.",
    ("y_prob", REQUIRED): "y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)\n"
    "    Probabilities, as for `bayescal.evaluate`.",
    ("target", None): 'target : {"event", "top-label", "classwise", "confidence"}, optional\n'
    "    The outcome whose frequency is compared with the stated probability; see `bayescal.evaluate`.",
    ("binning", "equal-width"): 'binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default '
    '"equal-width"\n    How the edges are chosen if `bins` is a number; see `bayescal.evaluate`.',
    ("model", "shrinkage"): 'model : {"shrinkage", "dirichlet"}, default "shrinkage"\n'
    "    The posterior; see `bayescal.evaluate`.",
    ("cluster", None): "cluster : array-like, shape (n_rows,), or data frame of several columns, optional\n"
    "    Cluster of each row. Rows of one cluster may depend on each other; by default all rows are independent.",
    ("classes", None): "classes : sequence, optional\n"
    "    Labels in the order of the columns; for ``event``, the labels of outcomes 0 and 1. By default the names of\n"
    "    the columns of a data frame, otherwise 0..K-1.",
    ("logits", False): "logits : bool, default False\n    Whether probabilities are stated as logits.",
    ("color", None): "color : matplotlib color, optional\n"
    "    Colour of estimates and intervals. The default colour is lighter on a dark background.",
    **{
        (f"{side}_color", None): f"{side}_color : matplotlib color, optional\n    Colour of the {part}diagonal; the "
        "default colour is lighter on a dark background."
        for side, part in {"reference": "", "above": "side above the ", "below": "side below the "}.items()
    },
    ("risk", REQUIRED): "risk : float\n"
    "    Largest share of wrong ones among the kept predictions, strictly between 0 and 1.",
    ("path", REQUIRED): "path : str or Path\n"
    "    The file. Its content decides its format; text may be compressed with gzip.",
    ("bin_draws", REQUIRED): "bin_draws : BinDraws\n    Draws of the bins.",
    ("progress", None): "progress : bool, optional\n    Whether to show a progress bar; see `bayescal.evaluate`.",
    **{
        ("options", name): "**options\n    Options of the model, as for `bayescal.evaluate`."
        for name in ("compare_counts", "covariate", "evaluate", "evaluate_counts", "label", "label_counts", "top_k")
    },
    ("options", "summary"): '**options\n    Passed to `arviz.summary`, as in ``kind="stats"``.',
}
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
        yield name, SHARED.get((name, known.get(name, REQUIRED)))
    for name in code.co_varnames[plain : plain + several + keywords]:
        yield name, SHARED.get((name, function.__name__))


def _names(entry: str) -> list[str]:
    """Return the names of parameters that an entry describes."""
    return [name.lstrip("*") for name in entry.partition("\n")[0].partition(" : ")[0].split(", ")]
