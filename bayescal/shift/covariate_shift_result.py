"""CovariateShiftEvaluation: calibration in a target population under covariate shift, from weighted source rows."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from bayescal import _render
from bayescal._meant import public
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import mistake_remarks, reading_remarks, remarks_of
from bayescal.shift.target_counts import TargetCounts
from bayescal.shift.target_result import TargetEvaluation, few_labelled_rows
from bayescal.shift.weights_result import WeightReport

#: Share of the target rows in bins without source rows above which the interval is doubtful.
MOST_UNCOVERED = 0.05


@public
@dataclass(frozen=True, eq=False, repr=False)
class CovariateShiftEvaluation(TargetEvaluation):
    """The posterior of how well a classifier is calibrated in a target population under covariate shift.

    Returned by `bayescal.shift.covariate`. It is an `Evaluation` whose bins have the masses and mean
    confidences of the target, and the accuracies of the weighted source rows: every estimand, plot and table of an
    `Evaluation` is available. The area under the ROC curve, and the mean losses within bins, are those of the weighted
    source rows; the variance of the area includes that weights depend on the score.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`; `counts` are `TargetCounts`.
    weight_report : WeightReport
        Effective number of rows, largest weight and Pareto shape of the weights.
    """

    counts: TargetCounts
    weight_report: WeightReport | None = None

    population: ClassVar[str] = " in a target under covariate shift"

    @classmethod
    def of(cls, evaluation: Evaluation, weight_report: WeightReport) -> "CovariateShiftEvaluation":
        """Return the evaluation of `TargetCounts` with the report on its weights."""
        known = {field.name: getattr(evaluation, field.name) for field in fields(evaluation)}
        return cls(**known, weight_report=weight_report)

    @property
    def question(self) -> str:
        """Estimand, bins, rows of source and target, and model, in words."""
        counts = self.counts
        model = f"{self.model} model ({self.posterior.prior})" if self.posterior.prior else f"{self.model} model"
        return (
            f"{counts.target} ECE{self._of_label}{self.population}, {counts.bins}, N = "
            f"{counts.n_target_rows} target rows and {counts.n_rows} source rows (weighted, effective N = "
            f"{counts.labelled_rows:.0f}), {model}"
        )

    @property
    def _subject(self) -> str:
        return (
            "If the distribution of the features alone differs, the Expected Calibration Error"
            f"{self._of_label} in the target"
        )

    def _more(self, prob: float) -> dict[str, Any]:
        return {"weight_report": None if self.weight_report is None else self.weight_report.table()}

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        return {} if self.weight_report is None else {"Weights of the source": self.weight_report.sheet()}

    def _row_numbers(self) -> dict[str, object]:
        counts = self.counts
        labelled = {"source rows": counts.n_rows, "effective source rows": f"{counts.labelled_rows:.0f}"}
        return {"target rows": counts.n_target_rows, **labelled}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table."""
        report = () if self.weight_report is None else self.weight_report.remarks
        return (*report, *_remarks(self.counts, self.model))


def _remarks(counts: TargetCounts, model: str) -> list[str]:
    """Return the remarks on labelled rows, on bins without them, and on what cannot be seen."""
    of_target = [f"Target: {text}" for text in reading_remarks(counts.target_reading, counts.n_target_rows)]
    texts = [
        *remarks_of(counts, model),
        *mistake_remarks(counts.source),
        *of_target,
        *few_labelled_rows(counts.labelled_rows, counts, model),
    ]
    if counts.uncovered > 0:
        weak = " Intervals may contain the truth less often than stated." * (counts.uncovered > MOST_UNCOVERED)
        texts.append(
            f"{_render.percent(counts.uncovered)} of the target rows are in bins without source rows of positive "
            "weight: their calibration is taken from the other bins and the prior, and the plug-in estimate leaves it "
            f"out.{weak}"
        )
    texts.append(
        "The interval accounts neither for the uncertainty of the weights, nor for differences in features from which "
        "the weights were not computed."
    )
    return texts
