"""Numbers of tables as a flat dict with names, for programs that log metrics."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from numbers import Real
from typing import Any, NamedTuple

from bayescal._invalid import quoted
from bayescal._texts import text_of

#: Keys of a row that hold the name of its quantity; the other keys of an index are labels.
NAMING = ("quantity", "statistic", "part")
#: Columns that are named after their quantity, as in ece_low, if the key of a row is a label.
_OF_QUANTITY = re.compile(
    r"mean|value|sd|low|high|plug_in|null_mean|observed|adapted|(p_(left|rope|right)|population|spread)\w*"
)
#: Columns of the label itself, such as its number of rows, if a label has several rows.
_OF_LABEL = {"rows", "threshold"}
#: Suffixes that replace the names of columns; other columns keep their name.
_ENDS = {"mean": "", "value": "", "null_mean": "if_calibrated"}


class Table(NamedTuple):
    """Rows of a table, the keys that identify a row, and the name of their quantity if no key holds it."""

    rows: Iterable[Mapping[str, Any]]
    keys: Sequence[str] = ()
    quantity: str = ""


def require_options(prob: Any, options: Collection[str], parameters: Collection[str]) -> None:
    """Raise TypeError about arguments that `metrics` has in another form; `parameters` are those of the table."""
    if isinstance(prob, str | list | tuple):
        one = prob if isinstance(prob, str) else prob[0] if prob else "ece"
        forms = {"estimands": [one] if isinstance(prob, str) else prob, "estimand": one}
        shown = (
            f" Estimands are `metrics({name}={quoted(form)})`." for name, form in forms.items() if name in parameters
        )
        raise TypeError(f"`prob` must be a number in (0, 1), not {quoted(prob)}.{''.join(shown)}")
    if "estimands" in options and "estimand" in parameters:
        raise TypeError("`metrics` of this result takes one estimand at a time, as `estimand='ece'`: call it for each.")
    if "prefix" in options:
        raise TypeError(text_of("metrics take no prefix"))


def flat(tables: Iterable[Table]) -> dict[str, float]:
    """Return the numbers of tables by name; text and missing numbers are left out."""
    numbers: dict[str, float] = {}
    labels_of: dict[str, tuple[Any, ...]] = {}
    for rows, keys, quantity in tables:
        naming = next((key for key in NAMING if key in keys), None)
        for row in rows:
            labels = tuple(row[key] for key in keys if key != naming)
            prefix = ("_minus_" if "second" in keys else "/").join(map(_name, labels))
            if labels_of.setdefault(prefix, labels) != labels:
                one, other = (quoted(each[0] if len(each) == 1 else each) for each in (labels_of[prefix], labels))
                raise ValueError(
                    f"`metrics` needs labels that differ in letters, digits and _ - . : alone; {one} and {other} would "
                    f"both be named {quoted(prefix)}. Rename one of them."
                )
            of_row = quantity if naming is None else row[naming]
            of_row = of_row and _name(of_row).casefold()
            for column, value in row.items():
                if column in keys or not isinstance(value, Real) or math.isnan(value):
                    continue
                alone = column in _OF_LABEL if naming else not (of_row and _OF_QUANTITY.fullmatch(column))
                words = [column] if alone else [of_row, _ENDS.get(column, column)]
                numbers["/".join(filter(None, [prefix, "_".join(filter(None, words))]))] = float(value)
    return numbers


def nested(record: Mapping[str, Any]) -> list[Table]:
    """Return the numbers of a record as tables: single numbers, and records of numbers at any depth."""
    tables = [Table([{key: value for key, value in record.items() if isinstance(value, Real)}])]
    for key, value in record.items():
        if isinstance(value, Mapping):
            tables.append(Table([{"quantity": key, **value}], ("quantity",)))
            tables += nested({name: each for name, each in value.items() if isinstance(each, Mapping)})
    return tables


def _name(label: Any) -> str:
    """Return a label as part of a name, with letters, digits and _ - . : only."""
    if isinstance(label, tuple):
        return "_".join(map(_name, label))
    text = label.isoformat() if isinstance(label, date) else str(label)
    if isinstance(label, float) and label.is_integer():
        text = f"{label:.0f}"
    name = re.sub(r"[^\w.:-]", "_", text) or "_"
    return name if name.strip(".") else "_" * len(name)
