"""Labels of groups that a file holds as text: their order, and checks that a column holds labels."""

import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from itertools import islice
from typing import Any

from bayescal._invalid import quoted
from bayescal.data.groups import fractions_of_measurement

#: Numbers as text: decimal numbers, and integers as `str` writes them.
_DECIMAL, _INTEGER = re.compile(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?"), re.compile(r"0|-?[1-9]\d{0,17}")
#: Why the number of groups is limited, and what to do.
OF_DRAWS = "the draws of more do not fit into memory", "Use fewer `draws` or `bins`, or a column with fewer values."


def numbers_of_measurement(labels: Iterable[str]) -> list[float]:
    """Return the non-integer numbers among labels, if there are so many that the column is a measurement."""
    return fractions_of_measurement([float(label) for label in labels if _DECIMAL.fullmatch(label)])


def require_group_labels(labels: Collection[str], most: int, why: tuple[str, str] = OF_DRAWS) -> None:
    """Require at most `most` distinct labels that are not numbers of a measurement; `why` is a reason and a hint."""
    numbers = numbers_of_measurement(labels)
    if numbers:
        raise ValueError(
            f"`by` must name a column of group labels; it holds {len(labels)} or more distinct values, of which "
            f"{len(numbers)} are numbers that are not integers, such as {numbers[0]:.8g}. Add a column of ranges to "
            "the file."
        )
    if len(labels) > most:
        first = ", ".join(quoted(label) for label in islice(labels, 3))
        reason, hint = why
        raise ValueError(
            f"`by` must name a column with at most {most} groups, since {reason}; there are {len(labels)} or more, "
            f"such as {first}. {hint}"
        )


def in_order(labels: Iterable[str]) -> dict[Any, str]:
    """Sort distinct labels, as numbers if all are numbers; the keys are integers if all are written as integers.

    Examples
    --------
    >>> in_order(["10", "9"]), in_order(["10", "9b"])
    ({9: '9', 10: '10'}, {'10': '10', '9b': '9b'})
    """
    texts = list(labels)
    if all(map(_INTEGER.fullmatch, texts)):
        return {label: str(label) for label in sorted(map(int, texts))}
    if all(map(_DECIMAL.fullmatch, texts)):
        return {label: label for label in sorted(texts, key=lambda label: (Decimal(label), label))}
    return {label: label for label in sorted(texts)}


def without_weight(label: str, n_rows: int) -> ValueError:
    """Return the error for a group whose weights are all zero."""
    return ValueError(
        f"`weights` must not all be zero in a group; they are in all {n_rows} rows of group {quoted(label)}. Take "
        "these rows out."
    )
