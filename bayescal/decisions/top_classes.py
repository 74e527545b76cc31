"""Calibration of the k most probable classes: is the true class among them as often as they state?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Classes
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions, TopLabels, read_rows
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.results import wording
from bayescal.results.evaluation import Evaluation
from bayescal.results.of_groups import ByLabel
from bayescal.results.remarks import of_several

HEADER = ("k", "stated", "observed", "mean", "sd", "2.5 %", "97.5 %", "plug-in")
MOST_BY_DEFAULT = 10  #: Largest number of classes whose k is evaluated by default.
#: Meaning of the columns of the table.
KEY = text_of("columns of top classes")


@public
@dataclass(frozen=True, eq=False, repr=False)
class TopK(ByLabel[Evaluation]):
    """Evaluations of the k most probable classes: a mapping from k to `Evaluation`.

    Returned by `top_k`. The outcome is whether the true class is among the k most probable ones, and the confidence is
    the sum of their probabilities. Draws of two k are not joint.

    Parameters
    ----------
    evaluations : dict of int to Evaluation
        The evaluations, by k.
    n_classes : int
        Number of classes.
    """

    evaluations: dict[int, Evaluation]
    n_classes: int

    _index = ("k",)
    _label, _results = "k", "evaluations"

    @property
    def spec(self) -> str:
        """Classes, bins, rows and model, on one line."""
        first = next(iter(self.values()))
        listed = ", ".join(map(str, self))
        of = f"{self.n_classes} classes, {first.counts.bins}, N = {first.counts.n_rows}, {first.model} model"
        return f"top-k calibration for k = {listed}, {of}"

    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return one dict per k, as data.

        Keys are k, stated (mean confidence), observed (share of rows with the true class among the k), mean, sd, low,
        high, plug_in and null_mean.
        """
        rows = []
        for k, each in self.items():
            counts, row = each.counts, each.row(estimand, prob)
            used = counts.occupied
            stated, observed = (float(counts.share[used] @ x[used]) for x in (counts.mean_confidence, counts.accuracy))
            numbers = {name: value for name, value in row.items() if name != "quantity"}
            rows.append({"k": k, "stated": stated, "observed": observed, **numbers})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """Return the k with the largest posterior mean of the ECE, in words."""
        return self._worst("ece", prob)

    def _worst(self, estimand: EstimandLike, prob: float = 0.95) -> str:
        record = as_scalar(estimand)
        k, worst = max(self.items(), key=lambda item: float(item[1].draws(record).mean()))
        of = f"The {record.title} of the k most probable classes is largest for k = {k}"
        return f"{of}: {wording.mean_and_interval(worst.draws(record), prob)}."

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        informative = {k: each for k, each in self.items() if k < self.n_classes} or self.evaluations
        d = min(wording.decimals(each.draws(estimand)) for each in informative.values())
        names = ("stated", "observed", "mean", "sd", "low", "high", "plug_in")
        rows = [
            [str(row["k"]), *(_render.number(row[name], d) for name in names)] for row in self.table(estimand=estimand)
        ]
        remarks = of_several({f"k = {k}": each.remarks for k, each in informative.items()})
        key = KEY.format(as_scalar(estimand).symbol)
        return _render.Sheet(self._worst(estimand), self.spec, HEADER, rows, remarks, [key])


@public
def top_k(
    y_true: Any,
    y_prob: Any,
    k: int | Sequence[int] | None = None,
    *,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    cluster: Any = None,
    classes: Classes = None,
    logits: bool = False,
    **options: Any,
) -> TopK:
    """Evaluate whether the true class is among the k most probable ones as often as their probabilities state.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels, as for `evaluate`.
    y_prob : array-like of float, shape (n_rows, n_classes)
        Probabilities of all classes.
    k : int or sequence of int, optional
        Numbers of classes that are shown or accepted, from 1 to the number of classes; by default all up to 10. For
        all classes, the sum is 1 and the true class is always among them.

    Returns
    -------
    TopK
        One `Evaluation` per k. That of k = 1 is ``evaluate(y_true, y_prob, target="top-label")``, with the same
        draws for the same integer `rng`.

    Raises
    ------
    ValueError, TypeError
        If `k` is not between 1 and the number of classes, `y_prob` is not a matrix, or as for `evaluate`.

    Notes
    -----
    Classes with equal probabilities are taken in the order of the columns.

    Examples
    --------
    >>> p = rng.dirichlet([1, 1, 1, 1], 2000)
    >>> y = [rng.choice(4, p=row) for row in p]
    >>> top = bc.decisions.top_k(y, p, rng=1)
    >>> [round(row["observed"], 2) for row in top.table()]
    [0.51, 0.77, 0.93, 1.0]
    """
    read: dict[str, Any] = {"target": "top-label", "classes": classes, "logits": logits, "weights": weights}
    same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights, "cluster": cluster})
    top = read_rows(y_true, y_prob, **read)
    assert isinstance(top, TopLabels)
    clusters = None if cluster is None else Clusters.from_column(cluster, len(top))
    numbers = _checked_k(k, top.rows.n_classes)
    seed = rng if isinstance(rng, int) else _checks.seeds(rng, 1)[0]  # the same for each k
    rows = top.rows.checked()
    evaluations = {}
    for number, of_one in zip(numbers, _predictions(rows, numbers), strict=True):
        counted: Any = top if number == 1 else of_one
        counts = count_rows(counted, bins, binning, ranked=True, clusters=clusters)
        evaluation = evaluate_one(counts, model=model, draws=draws, rng=seed, **options)
        evaluations[number] = evaluation if number == 1 else replace(evaluation, label=f"k = {number}")
    return TopK(evaluations, rows.n_classes)


def _checked_k(k: Any, n_classes: int) -> list[int]:
    """Return the numbers of classes, each once, in the given order."""
    if k is None:
        return list(range(1, min(n_classes, MOST_BY_DEFAULT) + 1))
    numbers = [_checks.whole_number("k", each, 1) for each in (k if isinstance(k, Sequence | np.ndarray) else [k])]
    if not numbers:
        raise ValueError("`k` is empty; at least one number of classes is needed.")
    for number in numbers:
        if number > n_classes:
            raise ValueError(f"`k` must not exceed the number of classes, {n_classes}; got {quoted(number)}.")
    return list(dict.fromkeys(numbers))


def _predictions(rows: ClassRows, numbers: Sequence[int]) -> list[Predictions]:
    """Return the rows of each k: whether the true class is among the k most probable ones, and their sum."""
    order = np.argsort(-rows.matrix, axis=1, kind="stable")
    confidence = np.minimum(np.cumsum(np.take_along_axis(rows.matrix, order, axis=1), axis=1), 1.0)
    place = (order == rows.label[:, None]).argmax(axis=1)
    of_all: dict[str, Any] = {"weight": rows.weight, "target": "confidence", "reading": rows.reading}
    return [Predictions(confidence=confidence[:, k - 1], outcome=place < k, **of_all) for k in numbers]
