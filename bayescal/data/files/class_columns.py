"""Columns of a file that form a matrix of probabilities, and the class of each."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from bayescal import _checks
from bayescal._checks import quoted
from bayescal.data.class_names import as_integers
from bayescal.data.files.source import FileError, Source, listed


def class_columns(
    source: Source,
    prefix: str,
    *,
    besides: Sequence[str | None] = (),
    classes: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Find the columns of a probability matrix by the beginning of their names, and the class of each.

    Columns in `besides` are left out. Classes are integers if all endings are integers, otherwise strings. Fewer than
    two columns, and endings that do not name classes, are refused.
    """
    columns = [c for c in source.beginning_with(prefix) if c not in besides]
    if len(columns) < 2:
        matches = (
            f"only {quoted(columns[0])} does (for one column of probabilities use `prob`)" if columns else "none does"
        )
        near = "" if columns else _checks.did_you_mean(prefix, [c for c in source.columns if c not in besides])
        if columns == [prefix] and len(source.beginning_with(f"{prefix}.")) > 1:
            near = f" Is `prob_prefix={quoted(prefix + '.')}` meant, with a dot at its end?"
        raise FileError(
            f"`prob_prefix={quoted(prefix)}` must begin at least two columns of '{source.path.name}'; {matches}."
            f"{near} {source.columns_said}"
        )
    endings = [c.removeprefix(prefix) for c in columns]
    numbers = as_integers(endings)
    if numbers is None:
        _endings_name_classes(prefix, columns, endings)
        if not prefix and classes is None:
            _require_no_longer_prefix(columns)
    else:
        order = sorted(range(len(columns)), key=numbers.__getitem__)
        columns, endings = [columns[i] for i in order], [endings[i] for i in order]
    if classes is None:
        return tuple(columns), named_classes(endings)
    if set(classes) == set(endings):
        columns = [prefix + name for name in classes]
    elif numbers is None or len(classes) != len(columns):
        raise ValueError(
            f"`classes` {quoted(list(classes))} must be the classes that the columns name, {quoted(endings)}"
            + (f", or {len(columns)} names for them." if numbers else ".")
        )
    return tuple(columns), named_classes(classes)


def named_classes(names: Sequence[str]) -> tuple[int, ...] | tuple[str, ...]:
    """Return the classes as integers if all are; otherwise as text, which is then compared with the labels as text.

    Labels that are numbers are read as float64, which cannot hold every integer from 2**53 on. Such classes stay text.
    """
    numbers = as_integers(names)
    if numbers is None or max(map(abs, numbers), default=0) >= 2**53:
        return tuple(names)
    return numbers


def _endings_name_classes(prefix: str, columns: Sequence[str], endings: Sequence[str]) -> None:
    """Refuse endings such as 0, 1, mean or _0, _1, which indicate a prefix that is too short."""
    rule = f"`prob_prefix={quoted(prefix)}` must be followed by the names of the classes;"
    integers = [c for c, ending in zip(columns, endings, strict=True) if as_integers([ending])]
    others = [c for c in columns if c not in integers]
    if integers:
        raise ValueError(
            f"{rule} integers follow in {listed(integers)}, something else in {listed(others)}. "
            "A longer prefix (or renamed columns) tells them apart."
        )
    if endings[0][:1] in tuple("_-.: ") and all(ending[:1] == endings[0][:1] for ending in endings):
        raise ValueError(
            f"{rule} in {listed(columns)} all of them begin with {endings[0][:1]!r}. "
            f"Did you mean the prefix {prefix + endings[0][:1]!r}?"
        )


def _require_no_longer_prefix(columns: Sequence[str]) -> None:
    """Refuse an empty prefix if all names begin alike, as in p_0, p_1 or p_cat, p_dog."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
    common = "".join(letters[0] for letters in alike).rstrip("0123456789")
    endings = [name.removeprefix(common) for name in columns]
    if common and (common[-1] in "_-.: " or as_integers(endings)):
        raise ValueError(
            f"`prob_prefix=''` takes whole names of columns as classes; {listed(list(columns))} begin with "
            f"{quoted(common)}. Did you mean the prefix {quoted(common)}?"
        )
