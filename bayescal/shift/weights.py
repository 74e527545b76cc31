"""The evidence that weighted rows carry: weights -> report."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.data.columns import allowed_weights, column, scale_free, weight_column
from bayescal.data.frames import to_array
from bayescal.stats.sums import effective_number

#: Kish's share below which, and the Pareto shape above which, weights are not reliable.
LEAST_SHARE, LARGEST_SHAPE = 0.1, 0.7
FEWEST_ROWS = 30  #: Effective rows below which `bayescal.shift.covariate` refuses weights.
#: Positive weights from which on a shape is fitted: ArviZ fits the largest fifth of so few, and needs five.
FEWEST_SHAPED = 25


@public
@dataclass(frozen=True, eq=False, repr=False)
class WeightReport(Presented):
    """Effective number of weighted rows, the share of the largest weight, and the Pareto shape of the largest weights.

    Returned by `weight_report`; printing it shows the sentence, the table and warnings.

    Parameters
    ----------
    n_rows : int
        Number of rows, those of weight 0 included.
    n_zero : int
        Number of rows of weight 0.
    effective_rows : float
        Kish's effective number of rows, (sum w)^2 / sum w^2.
    largest_share : float
        Share of the largest weight in the sum of all weights.
    pareto_k : float
        Shape of a generalised Pareto distribution fitted to the largest weights; NaN if there are fewer than about 25
        positive weights, or the largest weights are mostly equal.
    """

    n_rows: int
    n_zero: int
    effective_rows: float
    largest_share: float
    pareto_k: float

    @property
    def effective_share(self) -> float:
        """Effective number of rows divided by the number of rows, in (0, 1]."""
        return self.effective_rows / self.n_rows

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings: why results with these weights are not reliable; empty if no reason is known."""
        texts = []
        if self.effective_share < LEAST_SHARE:
            texts.append(
                f"The {self.n_rows} rows are worth {self.effective_rows:.0f} rows of the target: less than "
                f"{100 * LEAST_SHARE:g} %. Source and target overlap little, and intervals may be too narrow."
            )
        if self.pareto_k > LARGEST_SHAPE:
            texts.append(
                f"The largest weights have the Pareto shape k = {self.pareto_k:.2f}, above {LARGEST_SHAPE:g}: weighted "
                "means depend on rows of the target that the source lacks, and the effective number of rows is too "
                "optimistic."
            )
        if self.effective_rows < FEWEST_ROWS:
            texts.append(
                f"There are fewer than {FEWEST_ROWS} effective rows: `bayescal.shift.covariate` refuses these weights."
            )
        return tuple(texts)

    @property
    def spec(self) -> str:
        """Rows and effective rows on one line."""
        return f"weights, N = {self.n_rows} (effective N = {self.effective_rows:.0f})"

    def sentence(self) -> str:
        """Return the effective number of rows in words."""
        known = f", and the Pareto shape of the largest weights is {self.pareto_k:.2f}"
        shape = "" if np.isnan(self.pareto_k) else known
        largest = _render.percent(self.largest_share)
        return (
            f"The {self.n_rows} weighted rows are worth {self.effective_rows:.0f} rows "
            f"({_render.percent(self.effective_share)}). The largest weight has {largest} of the total{shape}."
        )

    def table(self) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per quantity, with keys quantity and value."""
        names = ("n_rows", "n_zero", "effective_rows", "effective_share", "largest_share", "pareto_k")
        return [{"quantity": name, "value": float(getattr(self, name))} for name in names]

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and warnings that printing shows, as data; it always has all rows."""
        rows = [
            ["rows", str(self.n_rows), ""],
            ["rows of weight 0", str(self.n_zero), ""],
            ["effective rows (Kish)", f"{self.effective_rows:.0f}", f">= {FEWEST_ROWS}"],
            ["share of the rows", f"{self.effective_share:.3f}", f">= {LEAST_SHARE:g}"],
            ["share of the largest weight", f"{self.largest_share:.4f}", ""],
            ["Pareto shape k", _render.number(self.pareto_k, 2), f"<= {LARGEST_SHAPE:g}"],
        ]
        return _render.Sheet(self.sentence(), self.spec, ("", "value", "reliable if"), rows, list(self.remarks))


@public
def weight_report(weights: Any) -> WeightReport:
    r"""Report how many rows weighted rows are worth, and whether single weights dominate.

    Parameters
    ----------
    weights : array-like of float, shape (n_rows,)
        Importance weights >= 0, such as density ratios of a target and a source. Only their ratios matter.

    Returns
    -------
    WeightReport
        Kish's effective number of rows, share of the largest weight, Pareto shape of the largest weights, and warnings.

    Raises
    ------
    ValueError, TypeError
        If there are no weights, or they are missing, infinite, negative or all 0.

    See Also
    --------
    bayescal.shift.covariate : Evaluates a target population with such weights.

    Notes
    -----
    The effective number of rows is :math:`(\sum w)^2 / \sum w^2` [1]_: weighted means have about the variance of means
    of so many rows. It is itself estimated from the weights, and too large if the largest possible weights do not occur
    among the rows. The shape k of the generalised Pareto distribution of the largest weights, fitted by ArviZ, shows
    this: weights have a finite variance if k < 1/2, and weighted means are reliable up to about k = 0.7 [2]_.

    References
    ----------
    .. [1] Kish (1965), Survey Sampling, Wiley.
    .. [2] A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), "Pareto smoothed importance sampling", Journal
       of Machine Learning Research 25(72), 1-58.

    Examples
    --------
    Weights of a Normal distribution with mean 1 relative to one with mean 0 have the expected share exp(-1).

    >>> x = np.random.default_rng(1).standard_normal(2000)
    >>> report = bc.shift.weight_report(np.exp(x - 0.5))
    >>> round(report.effective_share, 2), round(report.pareto_k, 1)
    (0.4, 0.3)
    >>> report.sentence()
    'The 2000 weighted rows are worth ... rows (... %). The largest weight has ... % of the total, and the Pareto ...'
    """
    values = column("weights", to_array("weights", weights))
    _checks.not_empty("weights", len(values), hint="")
    weight = weight_column(values, len(values), "weights")
    assert weight is not None  # `weights` is an array here
    return report_of(scale_free(allowed_weights(weight)))


def report_of(weight: Floats) -> WeightReport:
    """Report on valid weights whose squares can be summed."""
    total = float(weight.sum())
    effective, largest = effective_number(weight, weight @ weight), float(weight.max()) / total
    return WeightReport(
        n_rows=len(weight),
        n_zero=int(np.count_nonzero(weight == 0)),
        effective_rows=effective,
        largest_share=largest,
        pareto_k=_pareto_shape(weight[weight > 0]),
    )


def _pareto_shape(weight: Floats) -> float:
    """Fit the shape of the largest weights; NaN if they are too few, or mostly equal."""
    from arviz_stats.base import array_stats

    if len(weight) < FEWEST_SHAPED:
        return float("nan")
    with np.errstate(all="ignore"):
        try:  # psislw expects log-likelihoods, which are minus the log weights
            shape = float(array_stats.psislw(-np.log(weight))[1])
        except ValueError:  # the largest weights are all equal
            return float("nan")
    return shape if np.isfinite(shape) else float("nan")
