"""Rows with a judge's label, and the true label where it was checked."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Classes, Floats
from bayescal.data.columns import binary, column
from bayescal.data.frames import same_rows, with_missing
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Columns, Predictions

TARGETS = ("confidence", "event")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Validated rows, arrays of shape (n_rows,).

    `outcome` is the true label where `checked`, and `judge` the judge's label where `judged`; every row has one of
    them.
    """

    predictions: Predictions  # whose outcomes are the judge's labels, and true labels of rows without them
    outcome: Bools
    checked: Bools
    judge: Bools
    judged: Bools
    clusters: Clusters | None = None  # of each row; None if all rows are independent

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, judge: Any, target: str, classes: Classes, logits: bool, cluster: Any = None
    ) -> "JudgedRows":
        """Check the columns."""
        _checks.one_of("target", target, TARGETS)
        same_rows({"y_true": y_true, "y_prob": y_prob, "judge": judge, "cluster": cluster})
        (outcome, checked), (grade, judged) = (
            _labels(name, values, classes) for name, values in (("y_true", y_true), ("judge", judge))
        )
        columns = Columns.read(outcome, y_prob, names=("y_true", "y_prob"), target=target, logits=logits).checked()
        _checks.same_length(("judge", "y_true"), (len(grade), len(outcome)))
        neither = ~(checked | judged)
        if neither.any():
            rule = "must be known where the true label is missing"
            hint = "Leave these rows out of all columns only if they are like the others, or label them."
            _checks.refuse("judge", rule, neither, hint=hint, verb=("is missing, too", "are missing, too"))
        both = np.where(judged, grade, outcome)
        rows = Predictions(confidence=columns.confidence, outcome=both, target=target, reading=columns.reading)
        clusters = None if cluster is None else Clusters.from_column(cluster, len(rows))
        return cls(rows, outcome, checked, grade, judged, clusters)

    @classmethod
    def joined(cls, parts: "Sequence[JudgedRows]") -> "JudgedRows":
        """Return the rows of all parts, which have one target and no clusters."""
        if len(parts) == 1:
            return parts[0]
        confidence, outcome = (
            np.concatenate([getattr(part.predictions, name) for part in parts]) for name in ("confidence", "outcome")
        )
        of_labels: Any = (np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)[1:5])
        rows = Predictions(confidence=confidence, outcome=outcome, target=parts[0].predictions.target)
        return cls(rows, *of_labels)

    @property
    def confidence(self) -> Floats:
        """Stated probabilities."""
        return np.asarray(self.predictions.confidence)


def _labels(name: str, values: Any, classes: Classes) -> tuple[Bools, Bools]:
    """Return labels as booleans, False where they are missing, and whether they are known."""
    array, known = with_missing(name, values)
    labels = column(name, array)
    if not known.any():
        return np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    _checks.in_order("classes", classes)
    fill = False if classes is None else next(iter(classes), False)
    if labels.dtype.kind in ("U" if isinstance(fill, str) else "biuf" if isinstance(fill, int | float) else ""):
        labels = np.where(known, labels, fill)  # errors count invalid labels, and not those that are missing
    return binary(name, labels, classes).astype(bool) & known, known
