"""Which rows to check next, given a judge's labels: a design that minimises the variance of an estimand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats, Ints
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal._texts import text_of
from bayescal.estimands.registry import EstimandLike, as_scalar

#: Least distance of probabilities from 0 and 1, and variance that is added to those of the unknowns.
INSIDE, RIDGE = 1e-4, 1e-9
#: Steps of the search for the best numbers of rows, and the lengths that each of them tries.
STEPS, LENGTHS = 60, np.geomspace(1e-3, 1.0, 12)
#: Below this share of the variance that is linear in the unknowns, a remark says that the width is an upper bound.
LINEAR = 0.8


@public
@dataclass(frozen=True, eq=False, repr=False)
class CheckPlan(Presented):
    """Numbers of rows to check by the judge's label and bin, and the width of the interval that they will give.

    Made by `checks_needed`; printing it shows the sentence and the table.

    Parameters
    ----------
    quantity, prob : str, float
        The estimand and the probability of its interval.
    now : float
        Width of the interval without further checks.
    width : float
        Predicted width with the planned checks.
    at_random : float
        Predicted width if as many rows are checked at random.
    linear : float
        Share of the posterior variance of the estimand that is linear in accuracies and rates of the judge.
    edges : ndarray, shape (n_bins + 1,)
        Edges of the bins.
    unchecked, planned : ndarray of int, shape (2, n_bins)
        Rows that are not checked yet, and those to check, with the judge's label 0 and 1.
    """

    quantity: str
    prob: float
    now: float
    width: float
    at_random: float
    linear: float
    edges: Floats
    unchecked: Ints
    planned: Ints

    _index = ("judge", "from", "to")
    _numbers = ("rows", "now", "width", "at_random")

    @property
    def rows(self) -> int:
        """Number of rows to check."""
        return int(self.planned.sum())

    def sentence(self) -> str:
        """Return the answer in words."""
        now = f"the {100 * self.prob:g} % interval of the {self.quantity} has the width {self.now:.3f} now"
        if not self.rows:
            return f"No further row needs to be checked: {now}."
        return (
            f"Check {self.rows} more rows, {int(self.planned[0].sum())} of them with the judge's label 0: {now}, and "
            f"about {self.width:.3f} then ({self.at_random:.3f} if they are chosen at random)."
        )

    @property
    def spec(self) -> str:
        """Numbers of rows on one line."""
        return f"{int(self.unchecked.sum())} rows with a judge's label only, {len(self.edges) - 1} bins"

    def table(self) -> list[dict[str, Any]]:
        """Return the rows to check by the judge's label and bin, as data.

        Keys are judge (the label), from, to (the bin), unchecked and check (numbers of rows).
        """
        return [
            {
                "judge": label, "from": float(self.edges[b]), "to": float(self.edges[b + 1]),
                "unchecked": int(self.unchecked[label, b]), "check": int(self.planned[label, b]),
            }
            for label in (0, 1) for b in range(len(self.edges) - 1) if self.unchecked[label, b]
        ]  # fmt: skip

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        rows = [
            [str(row["judge"]), f"{row['from']:.3g} to {row['to']:.3g}", str(row["unchecked"]), str(row["check"])]
            for row in self.table()
            if whole or row["check"]
        ]
        header = ("judge", "confidence", "unchecked", "check")
        return _render.Sheet(self.sentence(), self.spec, header if rows else (), rows, list(self.remarks))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Limits of the prediction; empty if none is known."""
        if self.linear >= LINEAR or not self.rows:
            return ()
        return (
            f"Only {100 * self.linear:.0f} % of the variance of the {self.quantity} is linear in the accuracies, as "
            "when the classifier may be calibrated; the interval may become narrower than predicted.",
        )


@public
def checks_needed(
    evaluation: Any,
    *,
    width: float | None = None,
    rows: int | None = None,
    estimand: EstimandLike = "ece",
    prob: float = 0.95,
) -> CheckPlan:
    r"""Plan which rows to check next, after an evaluation with a judge's labels.

    Parameters
    ----------
    evaluation : JudgedEvaluation
        Result of `bayescal.labels.judged`, with rows that have a judge's label only.
    width : float, optional
        Goal: an interval of the estimand of about this width. Exactly one of `width` and `rows` must be given.
    rows : int, optional
        Number of further rows to check, of which the width is predicted.

    Returns
    -------
    CheckPlan
        Rows to check by the judge's label and bin.

    Raises
    ------
    TypeError, ValueError
        If the evaluation is not that of a judge's labels, its rows are in clusters, not exactly one goal is given, all
        rows are checked, or the width is not reached although all rows are checked.

    See Also
    --------
    labels_needed : Without a judge.

    Notes
    -----
    Unknown are the accuracies :math:`\theta_b` and the judge's rates s and p. The true label of a row of bin b with the
    judge's label 1 is 1 with odds :math:`\theta_b s / ((1 - \theta_b)(1 - p))`, and with the label 0 with odds
    :math:`\theta_b (1 - s) / ((1 - \theta_b) p)`. With the gradient d of the log odds and the probability r, checking
    the row adds the information :math:`r (1 - r)\, d d^\top` to the inverse of the posterior covariance. The variance
    of the estimand is that of its linear regression on the unknowns, over the posterior draws; the rest of the variance
    is taken to remain. The numbers of rows minimise it (a c-optimal design), by steps towards the rows with the
    largest reduction [1]_. The width is proportional to the standard deviation.

    The rows may be chosen by label and confidence because the model uses both; see `bayescal.labels.judged`. Within a
    cell of the plan, choose them at random.

    References
    ----------
    .. [1] H. P. Wynn (1970), "The sequential generation of D-optimum experimental designs", Annals of Mathematical
       Statistics 41, 1655-1664.

    Examples
    --------
    >>> confidence = rng.random(2000)
    >>> right = rng.random(2000) < 0.2 + 0.5 * confidence
    >>> judge = np.where(right, rng.random(2000) < 0.9, rng.random(2000) > 0.8)
    >>> y = np.where(np.arange(2000) < 200, right, np.nan)
    >>> ev = bc.labels.judged(y, confidence, judge=judge, rng=1)
    >>> plan = bc.planning.checks_needed(ev, rows=200)
    >>> plan.rows, plan.width < plan.at_random < plan.now
    (200, True)
    """
    evidence = _evidence(evaluation)
    if (width is None) == (rows is None):
        raise TypeError(f"give exactly one of `width` and `rows`, not {'neither' if width is None else 'both'}.")
    prob, record = _checks.fraction("prob", prob), as_scalar(estimand)
    unchecked = np.stack([evidence.n - evidence.k, evidence.k]).astype(np.int64)
    total = int(unchecked.sum())
    if not total:
        raise ValueError("all rows with a judge's label are checked, so that no further row can be checked.")
    values = evaluation.draws(record)
    low, high = values.interval(prob)
    design = _Design.of(evaluation, values.values)
    now = high - low

    def predicted(at: Floats) -> float:
        return now * design.relative_sd(at)

    if width is not None:
        width = float(_checks.positive("width", width))
        if predicted(unchecked.ravel().astype(float)) > width:
            raise ValueError(
                f"`width={width:g}` is not reached although all {total} rows are checked: the predicted width is then "
                f"{predicted(unchecked.ravel().astype(float)):.3g}. More rows narrow the interval further."
            )
        least, most = 0, total  # the answer lies in (least, most] unless the interval is narrow enough now
        if now <= width:
            most = 0
        while most - least > max(1, most // 50):
            middle = (least + most) // 2
            least, most = (least, middle) if predicted(design.best(middle, unchecked)) <= width else (middle, most)
        rows = most
    number = _checks.whole_number("rows", rows, at_least=0)
    if number > total:
        raise ValueError(f"`rows` must be at most {total}, the number of rows with a judge's label only, not {number}.")
    best = design.best(number, unchecked)
    random = number * unchecked.ravel() / total
    return CheckPlan(
        quantity=record.symbol, prob=prob, now=now, width=predicted(best), at_random=predicted(random),
        linear=design.linear, edges=evaluation.counts.bins.edges, unchecked=unchecked,
        planned=_whole(best, number, unchecked),
    )  # fmt: skip


def _evidence(evaluation: Any) -> Any:
    """Return the rows that were judged and not checked; refuse other evaluations, and rows in clusters."""
    judge = getattr(evaluation, "judge", None)
    if judge is None:
        raise TypeError(
            f"`evaluation` must be the result of `labels.judged`, not of type {type(evaluation).__name__}. "
            "`labels_needed` plans test sets without a judge."
        )
    if evaluation.counts.rows.clusters is not None:
        raise ValueError(text_of("plan of checks in clusters"))
    return judge.evidence


@dataclass(frozen=True, eq=False)
class _Design:
    """Precision of the unknowns now, root information of one check of each kind, and the gradient of the estimand."""

    precision: Floats
    root: Floats
    gradient: Floats
    variance: float  # of the estimand
    explained: float  # by the unknowns, now

    @classmethod
    def of(cls, evaluation: Any, values: Floats) -> "_Design":
        accuracy, rates = evaluation.bin_draws.accuracy, evaluation.judge.rates
        unknown = np.concatenate([accuracy, rates.reshape(len(rates), -1)], axis=1)
        covariance = np.cov(unknown, rowvar=False) + RIDGE * np.eye(unknown.shape[1])
        centred = values - values.mean()
        gradient = np.linalg.solve(covariance, (unknown - unknown.mean(axis=0)).T @ centred / (len(values) - 1))
        mean = np.clip(unknown.mean(axis=0), INSIDE, 1 - INSIDE)
        root = _root_information(mean, evaluation.judge.evidence.stratum)
        explained = float(gradient @ covariance @ gradient)
        return cls(np.linalg.inv(covariance), root, gradient, float(values.var(ddof=1)), explained)

    @property
    def linear(self) -> float:
        """Share of the variance that is linear in the unknowns."""
        return min(1.0, self.explained / self.variance) if self.variance > 0 else 1.0

    def after(self, rows: Floats) -> tuple[float, Floats]:
        """Return the linear part of the variance after checks, shape (2 n_bins,), and what one more of each saves."""
        solved = np.linalg.solve(self.precision + (self.root.T * rows) @ self.root, self.gradient)
        return float(self.gradient @ solved), (self.root @ solved) ** 2

    def relative_sd(self, rows: Floats) -> float:
        """Return the standard deviation of the estimand after checks, relative to that of now."""
        if not self.variance > 0:
            return 1.0
        rest = max(self.variance - self.explained, 0.0)
        return float(np.sqrt((rest + self.after(rows)[0]) / (rest + self.explained)))

    def best(self, number: int, unchecked: Ints) -> Floats:
        """Return numbers of checks with the least variance, which sum to `number`, by conditional gradients."""
        room = unchecked.ravel().astype(np.float64)
        rows = number * room / room.sum()
        for _ in range(STEPS):
            variance, saved = self.after(rows)
            order = np.argsort(-saved)
            filled = np.minimum(room[order].cumsum(), number)
            towards = np.empty_like(rows)
            towards[order] = np.diff(filled, prepend=0.0)
            variances = [self.after(rows + length * (towards - rows))[0] for length in LENGTHS]
            least = int(np.argmin(variances))
            if variances[least] >= variance:
                break
            rows = rows + LENGTHS[least] * (towards - rows)
        return rows


def _root_information(mean: Floats, stratum: Ints) -> Floats:
    """Return the root of the information of one check, shape (2 n_bins, n_unknowns), judge's labels 0 first."""
    n_bins, number = len(stratum), int(stratum.max()) + 1
    theta, (s, p) = mean[:n_bins], mean[n_bins:].reshape(2, number)[:, stratum]
    bins, of_s, of_p = np.arange(n_bins), n_bins + stratum, n_bins + number + stratum
    root = np.zeros((2, n_bins, len(mean)))
    for label, (to_one, to_zero) in enumerate(((1 - s, p), (s, 1 - p))):
        odds = theta * to_one / ((1 - theta) * to_zero)
        scale = np.sqrt(odds) / (1 + odds)  # root of r (1 - r)
        sign = 1 if label else -1
        root[label, bins, bins] = scale / (theta * (1 - theta))
        root[label, bins, of_s] = sign * scale / to_one
        root[label, bins, of_p] = sign * scale / to_zero
    return root.reshape(2 * n_bins, -1)


def _whole(rows: Floats, number: int, unchecked: Ints) -> Ints:
    """Round numbers of rows to whole ones with the same sum, largest remainders up."""
    down = np.floor(rows + RIDGE).astype(np.int64)
    order = np.argsort(down - rows, kind="stable")
    down[order[: number - int(down.sum())]] += 1
    return np.minimum(down, unchecked.ravel()).reshape(unchecked.shape)
