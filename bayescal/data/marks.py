"""Validate 0/1 columns of functions without the keywords `classes` and `logits`, with hints of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._invalid import InvalidRows
from bayescal.data.columns import column
from bayescal.data.frames import to_array

#: What to pass as a column that says whether an event happened.
EVENT = "Pass whether the event happened, as in `y_true == label`."
#: What to pass in place of logits.
EXPIT = "`scipy.special.expit`"
PROBABILITIES = "Logits? Pass probabilities, as in `scipy.special.expit(logits)`."
OF_CLASSES = "Logits? Pass probabilities, as in `scipy.special.softmax(logits, axis=1)`."


def require_marks(name: str, values: Any, instead: str = EVENT) -> None:
    """Raise if a column is empty or not numeric; `instead` says what to pass."""
    labels = column(name, to_array(name, values))
    _checks.not_empty(name, len(labels), hint="")
    if labels.dtype.kind not in "biuf":
        shown = _checks.quoted(np.unique(labels)[:3].tolist())
        raise TypeError(f"`{name}` must hold 0 and 1, or booleans; it holds other labels, such as {shown}. {instead}")


@contextmanager
def own_hints(
    instead: str = EVENT, names: Mapping[str, str] | None = None, *, swapped: str | None = None
) -> Iterator[None]:
    """Replace hints that name keywords of `evaluate`, and `y_true` and `y_prob` by `names`.

    `instead` is a hint for labels that are not 0 and 1, `swapped` one for fractions, if the column cannot be swapped
    with probabilities.
    """
    try:
        yield
    except InvalidRows as problem:
        hint = problem.finding.hint
        if "`classes=" in hint:
            hint = instead
        elif "`logits=" in hint:
            of_logits = OF_CLASSES if len(problem.finding.first or ()) == 2 else PROBABILITIES
            hint = hint.replace("`logits=True`", EXPIT) if "np.exp" in hint else of_logits
        elif ("swapped?" in hint or "choose a threshold" in hint) and swapped is not None:
            hint = swapped
        for theirs, own in (names or {}).items():
            hint = hint.replace(f"`{theirs}`", f"`{own}`")
        if hint == problem.finding.hint:
            raise
        of_all = PROBABILITIES if problem.finding.of_all else ""
        raise InvalidRows(replace(problem.finding, hint=hint, of_all=of_all)) from None
