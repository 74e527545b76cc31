"""Tables as a pandas DataFrame and as LaTeX."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bayescal import _packages
from bayescal._arrays import pd
from bayescal._invalid import quoted

#: Characters with a meaning in LaTeX, or that the encoding of its default font replaces by others.
ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"{\char34}", "`": r"\textasciigrave{}",
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(ESCAPED)) + "]")
#: Repeated characters, which LaTeX joins into one: dashes, quotes, spaces.
_RUNS = re.compile(r"(?<=-)-|(?<=')'|(?<=,),|(?<= ) ")
_MINUS = re.compile(r"(?<![^ (\[])-(?=\d)")  #: The sign of a number within a cell, as in "-0.1 (-0.2 to 0.0)".
_NUMBER = re.compile(r"-\d+(\.\d+)?(e[-+]?\d+)?")
_LABEL = re.compile(r"[A-Za-z0-9:._/-]+")


def frame(
    rows: Sequence[Mapping[str, Any]], index: Sequence[str], columns: Sequence[str], prob: float | None = None
) -> "pd.DataFrame":
    """Return rows of a table as a DataFrame; numbers are not rounded, and missing ones are NaN.

    The keys `index` become the index; `columns` are the other keys, for a table without rows. With `prob`, the ends low
    and high of an equal-tailed interval of this probability are named as by `arviz.summary`.

    >>> frame([{"quantity": "ece", "low": 0.1, "high": 0.3}], ["quantity"], [], 0.95)
              eti95_lb  eti95_ub
    quantity
    ece            0.1       0.3
    """
    _packages.require("pandas")
    import pandas as pd

    names = [name for name in (rows[0] if rows else [*index, *columns]) if name not in index]
    keys = []
    for key in index:  # a tuple is one label; pandas' type of text cannot hold lone surrogates
        of_rows = [row[key] for row in rows]
        dtype = object if any(isinstance(label, str) for label in of_rows) else None
        keys.append(pd.Index(of_rows, dtype=dtype, name=key, tupleize_cols=False))
    labels = keys[0] if len(keys) == 1 else pd.MultiIndex.from_arrays(keys)
    interval = {} if prob is None else {"low": f"eti{100 * prob:g}_lb", "high": f"eti{100 * prob:g}_ub"}
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in names}, index=labels)
    return frame.rename(columns=interval)


def latex_text(text: str) -> str:
    """Escape text without line breaks for LaTeX, so that it is printed as it is."""
    escaped = _SPECIAL.sub(lambda match: ESCAPED[match[0]], text)
    return _RUNS.sub(lambda match: r"\ " if match[0] == " " else f"{{}}{match[0]}", escaped)


def latex_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str | None = None,
    remarks: Sequence[str] = (),
    key: str = "",
) -> str:
    r"""Return a table of text as LaTeX with the rules of booktabs: the first column aligned left, the others right.

    `caption` is text, not LaTeX; its line breaks become spaces, since LaTeX allows no paragraph there. `label` is for
    ``\ref``, `remarks` become comments, and `key` stands below the table. ValueError or TypeError if there are no
    columns, `caption` is not text, or `label` has characters with a meaning in LaTeX.
    """
    if not header:
        raise ValueError("this result has no table, only a sentence; see `print(result)`.")
    if not isinstance(caption, str):
        raise TypeError(f"`caption` must be text, not {type(caption).__name__}.")
    if label is not None and not (isinstance(label, str) and _LABEL.fullmatch(label)):
        raise ValueError(f"`label` must hold only ASCII letters, digits and : . _ / -, not {quoted(label)}.")
    caption = " ".join(filter(None, map(str.strip, caption.splitlines())))
    note = rf"  \par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {latex_text(key)}\end{{minipage}}"
    lines = [
        *(f"% {remark}" for remark in remarks),
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_text(caption)}}}",
        *([rf"  \label{{{label}}}"] if label else []),
        rf"  \begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"    \toprule",
        _line(header),
        r"    \midrule",
        *map(_line, rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        *([note] if key else []),
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    first, *others = latex_text(cells[0]), *map(_cell, cells[1:])  # the first cell is a name, also if it is "-"
    # LaTeX would take [ and * for an argument of the line break or rule before them
    first = f"{{}}{first}" if first.startswith(("[", "*")) else first
    return f"    {' & '.join([first, *others])} \\\\"


def _cell(text: str) -> str:
    if text == "-":  # a missing number
        return "--"
    if _NUMBER.fullmatch(text):
        return f"${text}$"
    return r"$-$".join(map(latex_text, _MINUS.split(text)))
