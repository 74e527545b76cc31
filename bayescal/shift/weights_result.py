"""WeightReport: the evidence that weighted rows carry, and whether single weights dominate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _render
from bayescal._meant import public
from bayescal._presented import Presented

#: Kish's share below which, and the Pareto shape above which, weights are not reliable.
LEAST_SHARE, LARGEST_SHAPE = 0.1, 0.7
#: Effective rows below which `bayescal.shift.covariate` refuses weights.
FEWEST_ROWS = 30


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

    Examples
    --------
    >>> import numpy as np
    >>> import bayescal as bc
    >>> report = bc.shift.weight_report(np.random.default_rng(1).lognormal(0, 1, 1000))
    >>> round(report.effective_rows), round(report.effective_share, 2), report.remarks
    (322, 0.32, ())
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
        """The effective number of rows in words."""
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

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(**options)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and warnings that printing shows, as data."""
        rows = [
            ["rows", str(self.n_rows), ""],
            ["rows of weight 0", str(self.n_zero), ""],
            ["effective rows (Kish)", f"{self.effective_rows:.0f}", f">= {FEWEST_ROWS}"],
            ["share of the rows", f"{self.effective_share:.3f}", f">= {LEAST_SHARE:g}"],
            ["share of the largest weight", f"{self.largest_share:.4f}", ""],
            ["Pareto shape k", _render.number(self.pareto_k, 2), f"<= {LARGEST_SHAPE:g}"],
        ]
        return _render.Sheet(self.sentence(), self.spec, ("", "value", "reliable if"), rows, list(self.remarks))
