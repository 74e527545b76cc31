"""Results for rows of which some have an outcome: an evaluation under an assumption, and a band of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.analyses.one import evaluate_one
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand, UnavailableError
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.labels.result import HEADER, BesideOthers
from bayescal.results import wording
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import FEW_ROWS_PER_BIN, mistake_remarks, remarks_of
from bayescal.results.sensitivity import Choices
from bayescal.shift.covariate_shift import MOST_UNCOVERED
from bayescal.shift.target import TargetCounts, TargetEvaluation
from bayescal.shift.weights import LARGEST_SHAPE, LEAST_SHARE, WeightReport
from bayescal.stats.binned import BinnedCounts

SCORE, COVARIATES, NOT_AT_RANDOM = "score", "covariates", "not_at_random"
LARGEST_RATIO = 20.0  #: Largest odds ratio.
#: Together with the seed of the bins, this number seeds the evaluation of the rows with known outcome alone.
OF_KNOWN = 4
#: What each interval assumes, for sentences and the question.
ASSUMPTION = {
    SCORE: "missing outcomes are like known ones at equal scores",
    COVARIATES: "missing outcomes are like known ones at equal covariates, and the weights are right",
}
#: What no interval includes.
UNSEEN = "The data cannot tell whether this holds: the interval does not include that it may not."


@public
@dataclass(frozen=True, eq=False, repr=False)
class PartlyObservedEvaluation(BesideOthers, TargetEvaluation):
    """The posterior of how well a classifier is calibrated on all rows, from those whose outcome is known.

    Returned by `bayescal.labels.partly_observed`. It is an `Evaluation` whose bins have the masses and mean confidences
    of all rows: every estimand, plot and table is available. With outcomes missing not at random, the area under the
    ROC curve is not.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`; `counts` have the masses of all rows, and accuracies of all rows under the assumption.
    known : BinnedCounts
        Rows with known outcome on the same bins, without weights.
    missing : {"score", "covariates", "not_at_random"}
        What is assumed.
    weight_report : WeightReport, optional
        Effective number of rows, largest weight and Pareto shape of the weights.
    odds_ratios : tuple of float
        Odds of the outcome where it is missing, divided by those where it is known: a value, or quantiles of the prior.
    prior_sd : float, optional
        Standard deviation of the log odds ratio.
    """

    counts: TargetCounts
    known: BinnedCounts = None  # type: ignore[assignment]  # fields of the base class have defaults
    missing: str = SCORE
    weight_report: WeightReport | None = None
    odds_ratios: tuple[float, ...] = ()
    prior_sd: float | None = None

    _bin_rows: ClassVar[Mapping[str, str]] = {"known outcomes": "n", "rows": "target_rows"}
    _bin_dash: ClassVar[str] = "no rows in the bin"
    population: ClassVar[str] = " of partly observed outcomes"
    _others: ClassVar[Mapping[str, str]] = {"known_only": "known only"}

    @cached_property
    def known_only(self) -> Evaluation:
        """The evaluation of the rows with known outcome alone, without weights, for comparison."""
        rng = np.random.SeedSequence((self.bin_draws_seed, OF_KNOWN))
        return evaluate_one(self.known, draws=len(self.bin_draws), rng=rng)

    def _draw(self, record: Estimand) -> Draws:
        if self.missing == NOT_AT_RANDOM and "outcomes" in record.needs:
            raise UnavailableError(
                f"the {record.symbol} is not available with outcomes missing not at random: how scores are ordered "
                "among rows without an outcome is unknown. `known_only` has that of the others."
            )
        return super()._draw(record)

    @property
    def assumption(self) -> str:
        """The assumption of the interval, in words."""
        if self.missing != NOT_AT_RANDOM:
            return ASSUMPTION[self.missing]
        if self.prior_sd is None:
            return (
                f"the odds of missing outcomes are {self.odds_ratios[0]:.3g} times those of known ones at equal scores"
            )
        return (
            "the log odds ratio of missing and known outcomes at equal scores has a Normal distribution with mean 0 "
            f"and standard deviation {self.prior_sd:g}"
        )

    @property
    def question(self) -> str:
        """Estimand, bins, rows, what is assumed, and model, in words."""
        counts, weighted = self.counts, ""
        if self.weight_report is not None:
            weighted = f" (weighted, effective N = {self.weight_report.effective_rows:.0f})"
        model = f"{self.model} model ({self.posterior.prior})" if self.posterior.prior else f"{self.model} model"
        return (
            f"{counts.target} ECE{self._of_label} of all rows, {counts.bins}, N = {counts.n_target_rows} rows, "
            f"{counts.n_rows} outcomes known{weighted}, assuming that {self.assumption}, {model}"
        )

    @property
    def _subject(self) -> str:
        return f"If {self.assumption}, the Expected Calibration Error{self._of_label} of all rows"

    def _beside(self) -> list[str]:
        """Lines below the table: numbers of rows, and the rows with known outcome alone."""
        return [known_rows(self)]

    def _notes(self) -> list[str]:
        """Lines of the details: probabilities of sub-models, and what no interval includes."""
        posterior: Any = self.posterior
        return [*wording.probabilities(posterior), UNSEEN]

    def _row_numbers(self) -> dict[str, object]:
        return {"rows": self.counts.n_target_rows, "known outcomes": self.counts.n_rows}

    def _more(self, prob: float) -> dict[str, Any]:
        about = {"missing": self.missing, "odds_ratios": list(self.odds_ratios), "prior_sd": self.prior_sd}
        return about | {"weight_report": None if self.weight_report is None else self.weight_report.table()}

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        if self.weight_report is None:
            return {}
        return {"Weights of the known outcomes": replace(self.weight_report.sheet(), remarks=[])}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table; empty if no problem is known."""
        counts, texts = self.counts, _of_weights(self.weight_report)
        if counts.n_rows == counts.n_target_rows:
            texts.append("The outcomes of all rows are known, so that nothing is assumed about missing ones.")
        texts += [*remarks_of(counts, self.model), *mistake_remarks(self.known)]
        rows = self.known if self.weight_report is None else counts.source
        if rows.effective_rows < FEW_ROWS_PER_BIN * (bins := int(counts.occupied.sum())) and bins > 1:
            texts.append(
                f"There are fewer than {FEW_ROWS_PER_BIN} known outcomes per bin. With so few, errors that vary from "
                "bin to bin cannot be distinguished from noise. Use fewer bins."
            )
        if counts.uncovered > 0:
            weak = " Intervals may contain the truth less often than stated." * (counts.uncovered > MOST_UNCOVERED)
            texts.append(
                f"{_render.percent(counts.uncovered)} of the rows are in bins without a known outcome: their "
                f"calibration is taken from the other bins and the prior.{weak}"
            )
        return tuple(texts)


def _of_weights(report: WeightReport | None) -> list[str]:
    """Warn about weights that are not reliable."""
    texts = list[str]()
    if report is not None and report.effective_share < LEAST_SHARE:
        texts.append(
            f"The {report.n_rows} known outcomes are worth {report.effective_rows:.0f}, less than "
            f"{100 * LEAST_SHARE:g} %: a few rows with large weights decide, and intervals may be too narrow."
        )
    if report is not None and report.pareto_k > LARGEST_SHAPE:
        texts.append(
            f"The largest weights have the Pareto shape k = {report.pareto_k:.2f}, above {LARGEST_SHAPE:g}: some rows "
            "had nearly no chance that their outcome became known, and the interval is too narrow."
        )
    return texts


def known_rows(evaluation: PartlyObservedEvaluation) -> str:
    """State the numbers of rows, and the error of the rows with known outcome."""
    counts, ece = evaluation.counts, evaluation.known_only.ece
    return (
        f"Outcomes are known for {counts.n_rows} of {counts.n_target_rows} rows, whose own ECE is "
        f"{wording.mean_and_interval(ece, 0.95)}."
    )


@public
@dataclass(frozen=True, eq=False, repr=False)
class PartlyObservedBand(Choices[float, PartlyObservedEvaluation]):
    """Evaluations of all rows for a range of odds ratios of missing and known outcomes, and the union of intervals.

    Returned by `bayescal.labels.partly_observed` for ``missing="not_at_random"`` with an `odds_ratio`; printing it
    shows the union, and the ends and the middle of the range. ``band[ratio]`` is the evaluation for one odds ratio.

    Parameters
    ----------
    evaluations : mapping of float to PartlyObservedEvaluation
        The evaluation of each odds ratio, in increasing order.
    estimand : Estimand
        The quantity that is printed: the ECE.
    search : callable
        Function of the probability of an interval that returns the odds ratios at which it reaches 0.
    """

    search: Callable[[float], tuple[float, float]]

    _index = ("odds_ratio",)

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest odds ratio."""
        return min(self), max(self)

    def interval(self, estimand: EstimandLike = "ece", prob: float = 0.95) -> tuple[float, float]:
        """Return the union of the intervals over all odds ratios: the smallest lower and the largest upper end."""
        ends = [each.draws(as_scalar(estimand)).interval(prob) for each in self.evaluations.values()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def reaches_zero(self) -> tuple[float, float]:
        """Odds ratios below and above 1, nearest to it, at which the lower end of the 95 % interval of the ECE is 0.

        They need not be in the range; 1 if the end is 0 without a difference, NaN if it is not between 1/20 and 20.
        """
        return self.search(0.95)

    @property
    def known_only(self) -> Evaluation:
        """The evaluation of the rows with known outcome alone, for comparison."""
        return next(iter(self.evaluations.values())).known_only

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the ECE as data: one dict per odds ratio.

        Keys are odds_ratio, mean, sd, low, high.
        """
        prob = _checks.fraction("prob", prob)
        names = ("mean", "sd", "low", "high")
        rows = ((ratio, each.row(self.estimand, prob)) for ratio, each in self.evaluations.items())
        return [{"odds_ratio": ratio} | {name: row[name] for name in names} for ratio, row in rows]

    @property
    def _ratios_in_words(self) -> str:
        low, high = self.range
        return f"{low:.3g} times" if low == high else f"between {low:.3g} and {high:.3g} times"

    def sentence(self, prob: float = 0.95) -> str:
        """Return the union of the intervals in words."""
        ends = self.interval(self.estimand, prob)
        d = _render.interval_decimals(*ends)
        low, high = (_render.number(each, d) for each in ends)
        return (
            f"If the odds of missing outcomes are {self._ratios_in_words} those of known ones at equal scores, the "
            f"Expected Calibration Error of all rows is between {low} and {high} ({'union of ' * (len(self) > 1)}"
            f"{100 * prob:g} % credible interval{'s' * (len(self) > 1)})."
        )

    @property
    def spec(self) -> str:
        """Estimand, bins, rows and odds ratios, on one line."""
        counts = self._first.counts
        return (
            f"{counts.target} ECE of all rows, {counts.bins}, N = {counts.n_target_rows} rows, {counts.n_rows} "
            f"outcomes known, odds of missing outcomes {self._ratios_in_words} those of known ones"
        )

    def _more(self, prob: float) -> dict[str, Any]:
        low, high = self.interval(self.estimand, prob)
        below, above = self.reaches_zero
        return {"union": {"low": low, "high": high}, "reaches_zero": {"below": below, "above": above}}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Numbers of rows, where the lower end reaches 0, and remarks on the rows."""
        return (known_rows(self._first), self._zero_in_words, *self._first.remarks)

    @property
    def _zero_in_words(self) -> str:
        below, above = self.reaches_zero
        if below == above == 1:
            return "The lower end of the 95 % interval is 0 already if missing outcomes are like known ones."
        ratios = [f"{each:.2g}" for each in (below, above) if np.isfinite(each)]
        if not ratios:
            return (
                f"The lower end of the 95 % interval is above 0 for all odds ratios between 1/{LARGEST_RATIO:g} and "
                f"{LARGEST_RATIO:g}."
            )
        return f"The lower end of the 95 % interval reaches 0 at the odds ratio {' and at '.join(ratios)}."

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows; with `whole`, all odds ratios."""
        d, table, columns = wording.decimals(self._first.ece), self.table(), ("mean", "sd", "low", "high")
        low, high = self.range
        middle = 1.0 if low < 1 < high else table[len(table) // 2]["odds_ratio"]
        shown = [row for row in table if whole or row["odds_ratio"] in (low, middle, high)]
        rows = [[f"{row['odds_ratio']:.3g}", *(_render.number(row[name], d) for name in columns)] for row in shown]
        rows.append(["union", "", "", *(_render.number(each, d) for each in self.interval(self.estimand))])
        return _render.Sheet(self.sentence(), self.spec, ("odds ratio", *HEADER[1:]), rows, [*self.remarks], [UNSEEN])

    def __repr__(self) -> str:
        return f"PartlyObservedBand({self.sentence()})"
