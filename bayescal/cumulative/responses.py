"""Responses: real-valued responses with a score and an optional weight per row, validated."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Floats
from bayescal.data.alignment import same_rows
from bayescal.data.columns import (
    allowed_weights,
    binary,
    column,
    own_hints,
    require_marks,
    require_ratios,
    scale_free,
    weight_column,
)
from bayescal.data.frames import to_array

#: Largest absolute response: sums of squares of larger ones could overflow.
LARGEST = 1e100
#: Least range of responses that are not all equal: squares of smaller differences could underflow.
LEAST_RANGE = 1e-80
#: What to pass as a column of members.
MEMBER = "Pass whether each row belongs to the group, as in `group == label`."


@dataclass(frozen=True, eq=False)
class Responses:
    """Validated rows with a real-valued response, a score on any scale, and weights whose squares can be summed."""

    response: Floats
    score: Floats
    weight: Floats | None

    @classmethod
    def read(cls, response: Any, score: Any, weights: Any, *, others: dict[str, Any]) -> "Responses":
        """Check columns of one length; `others` are further columns of the same rows, to compare their indexes.

        >>> Responses.read([1, 3], [0.2, 0.7], None, others={}).response
        array([1., 3.])
        """
        same_rows({"response": response, "score": score, "weights": weights, **others})
        columns = {name: _real(name, values) for name, values in (("response", response), ("score", score))}
        _checks.same_length(tuple(columns), tuple(map(len, columns.values())))
        _checks.not_empty("response", len(columns["response"]), hint="")
        for name, values in columns.items():
            _checks.finite(name, values)
        large = np.abs(columns["response"]) > LARGEST
        if large.any():
            hint = "Divide the responses by a constant, which does not change P-values."
            _checks.refuse(
                "response", f"must lie between {-LARGEST:g} and {LARGEST:g}", large, columns["response"], hint
            )
        extent = float(np.ptp(columns["response"]))
        if 0 < extent < LEAST_RANGE:
            raise ValueError(
                f"`response` must have a range of at least {LEAST_RANGE:g}, or be constant; it is {extent:g}. Multiply "
                "the responses by a constant, which does not change P-values."
            )
        weight = weight_column(weights, len(columns["response"]), "response")
        weight = None if weight is None else require_ratios(scale_free(allowed_weights(weight)))
        return cls(**columns, weight=weight)

    def __len__(self) -> int:
        return len(self.response)

    def __repr__(self) -> str:
        return f"Responses({len(self)} rows{'' if self.weight is None else ', weighted'})"


def _real(name: str, values: Any) -> Floats:
    array = column(name, to_array(name, values))
    if array.dtype.kind not in "biuf":
        hint = "Pass an outcome as 0 and 1, as in `response == label`." if name == "response" else "Pass probabilities."
        shown = _checks.quoted(np.unique(array.astype(str))[:3].tolist())
        raise TypeError(f"`{name}` must hold numbers; it holds other values, such as {shown}. {hint}")
    return array.astype(np.float64, copy=False)


def read_member(member: Any, rows: Responses) -> Bools:
    """Check a column that marks rows of a subpopulation: some rows of positive weight, but not all."""
    values = column("member", to_array("member", member))
    _checks.same_length(("member", "response"), (len(values), len(rows)))
    require_marks("member", values, MEMBER)
    with own_hints(MEMBER, swapped=MEMBER):
        marked = binary("member", values, None) == 1
    counted = np.ones(len(rows), dtype=np.bool_) if rows.weight is None else rows.weight > 0
    marks = f"it marks {np.count_nonzero(marked)} of {len(rows)} rows"
    if not marked[counted].any():
        raise ValueError(f"`member` must mark at least one row of positive weight; {marks}.")
    if marked[counted].all():
        raise ValueError(
            f"`member` must not mark all rows of positive weight; {marks}, so the subpopulation would be compared "
            "with itself."
        )
    return marked
