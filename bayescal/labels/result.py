"""JudgedEvaluation: calibration for the true label, from a judge's labels of which some were checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _render
from bayescal._arrays import Array
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import evaluate_one
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand, UnavailableError
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.labels.judge import JudgeReport
from bayescal.labels.posterior import LabelPosterior
from bayescal.labels.sums import LabelCounts
from bayescal.posterior.contract import Posterior
from bayescal.posterior.joint import with_ranks_of
from bayescal.results import wording
from bayescal.results.evaluation import WITHIN_BINS, Evaluation
from bayescal.results.remarks import cluster_remarks, mistake_remarks
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import Counts

#: Together with the seed of the bins, these numbers seed the draws of free accuracies and the evaluations beside.
OF_FREE, OF_OTHERS = 3, 4
HEADER = ("", "mean", "sd", "2.5 %", "97.5 %")
#: Why parameters of the model are not available.
POOLED = "does not exist for a judge's labels, whose draws are pooled over its error rates."
#: What no interval from a judge's labels includes.
UNSEEN = text_of("assumptions about a judge")


@dataclass(frozen=True, eq=False)
class _Free:
    """The posterior of accuracies that are not shrunk, as a model for comparison."""

    posterior: LabelPosterior

    @property
    def counts(self) -> Counts:
        return self.posterior.counts

    @property
    def prior(self) -> str:
        return ""

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        return self.posterior.sample_free(n_draws, rng=rng)


class BesideOthers(Evaluation):
    """An evaluation under an assumption; its table also has the means of other evaluations of the same rows."""

    #: Attribute of each of the others -> the title of its column.
    _others: ClassVar[Mapping[str, str]]

    @cached_property
    def spec(self) -> str:
        """One line for a paper: question, mean, interval, P(ECE < 0.02)."""
        return wording.specification(self.question, self.ece, None)

    def sentence(self, prob: float = 0.95) -> str:
        """Return the posterior mean and interval in words; see `Evaluation.sentence`."""
        return self._headline(prob)

    def row(self, estimand: EstimandLike, prob: float = 0.95) -> dict[str, Any]:
        """One row of a table, for any estimand; see `Evaluation.row`.

        Keys are those of `Evaluation.row`, and the name of each evaluation beside: its posterior mean, NaN without
        rows.
        """
        record = as_scalar(estimand)
        others = {name: getattr(self, name) for name in self._others}
        means = {k: each.draws(record).mean() if each.counts.n_rows else float("nan") for k, each in others.items()}
        return super().row(record, prob) | means

    def sheet(self, *, whole: bool = False, estimands: Iterable[EstimandLike] | None = None) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows; see `Evaluation.sheet`."""
        d, columns = wording.decimals(self.ece), ("mean", "sd", "low", "high", *self._others)
        labelled = [(each.row_label(self.counts.target), self.row(each)) for each in self._chosen(estimands)]
        rows = [[label, *(_render.number(row[name], d) for name in columns)] for label, row in labelled]
        header = (*HEADER, *self._others.values())
        return replace(super().sheet(whole=whole, estimands=estimands), header=header, rows=rows)


@public
@dataclass(frozen=True, eq=False, repr=False)
class JudgedEvaluation(BesideOthers):
    """The posterior of how well a classifier is calibrated for the true label, from the labels of an imperfect judge.

    Returned by `bayescal.labels.judged`. It is an `Evaluation` of the true label: every estimand, plot and table is
    available, except for the area under the ROC curve. Its draws are pooled over sensitivity and specificity of the
    judge, so that intervals include their uncertainty. Rows of its tables also have the means of `judge_as_truth` and
    `checked_only`.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`. `counts` have the masses of all rows, and accuracies from checked rows and from the judge's
        labels at the posterior mean of its error rates.
    judge : JudgeReport
        Sensitivity and specificity of the judge, the worth of its labels, and tests of the assumptions.
    """

    counts: LabelCounts
    posterior: LabelPosterior
    judge: JudgeReport = None  # type: ignore[assignment]  # fields of the base class have defaults

    _compared_by: ClassVar[str] = "bayescal.labels.compare_judged"
    _bin_rows: ClassVar[Mapping[str, str]] = {"rows": "n", "checked": "n_checked"}
    _bin_dash: ClassVar[str] = "no rows in the bin, or no evidence of its labels"
    population: ClassVar[str] = " of the true label"
    _refused: ClassVar[tuple[str, ...]] = ("loo", "sensitivity", "under_prior")
    _observed_words: ClassVar[str] = "corrected for the judge"
    _others: ClassVar[Mapping[str, str]] = {"judge_as_truth": "judge as truth", "checked_only": "checked only"}

    @cached_property
    def judge_as_truth(self) -> Evaluation:
        """The evaluation of all rows with the judge's labels in place of the true ones, for comparison."""
        return self._other(self.counts.rows)

    @cached_property
    def checked_only(self) -> Evaluation:
        """The evaluation of the checked rows alone, for comparison; that of the prior if no row was checked."""
        return self._other(self.counts.checked)

    def _other(self, counts: BinnedCounts) -> Evaluation:
        rng = np.random.SeedSequence((self.bin_draws_seed, OF_OTHERS))
        return evaluate_one(counts, draws=len(self.bin_draws), rng=rng)

    @cached_property
    def _free_bins(self) -> BinDraws:
        rng = np.random.SeedSequence((self.bin_draws_seed, OF_FREE))
        return self.posterior.with_total_effect.sample_free(len(self.bin_draws), rng=rng)

    def _draw(self, record: Estimand) -> Draws:
        """Draw accuracy and scores from accuracies that are not shrunk, in the order of the shrunk ones."""
        if "outcomes" in record.needs:
            raise UnavailableError(
                f"the {record.symbol} is not available from a judge's labels, which do not tell how scores of rows "
                "with the true label 1 and 0 are ordered within bins. `checked_only` has that of the checked rows."
            )
        draws = super()._draw(record)
        if not (record.needs and record.available(self.counts)):
            return draws
        free = record.draw(
            self._free_bins, self.counts, rng=np.random.SeedSequence((self.bin_draws_seed, WITHIN_BINS, OF_FREE))
        )
        return replace(draws, values=with_ranks_of(draws.values, free.values))

    def _lacks(self, name: str) -> AttributeError:
        return AttributeError(f"`{name}` {POOLED} `checked_only` has that of the checked rows.")

    def _dirichlet_posterior(self) -> Posterior:
        return _Free(self.posterior)

    def _bin_columns(self) -> dict[str, Array]:
        evidence = self.judge.evidence
        judged = {"n_judged": evidence.n.astype(np.int64), "k_judged": evidence.k.astype(np.int64)}
        return {"n_checked": self.counts.n_checked, **judged}

    def _row_numbers(self) -> dict[str, object]:
        return {"rows": self.counts.n_rows, "checked rows": self.counts.checked.n_rows}

    def _more(self, prob: float) -> dict[str, Any]:
        return {"judge": {"rates": self.judge.table(prob), **self.judge._more(prob)}}

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        return {"The judge": self.judge.sheet(whole=True)}

    @property
    def question(self) -> str:
        """Target, bins, rows, ranges of confidence and model, in words."""
        counts, strata = self.counts, self.judge.strata
        model = f"{self.model} model ({self.posterior.prior})" if self.posterior.prior else f"{self.model} model"
        ranges = f", {strata} ranges of confidence with error rates of their own" if strata > 1 else ""
        return (
            f"{counts.target} ECE{self._of_label}{self.population} from a judge, {counts.bins}, N = {counts.n_rows} "
            f"rows, {counts.checked.n_rows} of them checked{ranges}, {model}"
        )

    @property
    def _subject(self) -> str:
        within = " within ranges" if self.judge.strata > 1 else ""
        return (
            f"If the judge's errors do not depend on the confidence{within}, the Expected Calibration Error"
            f"{self._of_label}"
        )

    def _beside(self) -> list[str]:
        """Line below the table: the judge."""
        return [self.judge.sentence()]

    def _notes(self) -> list[str]:
        """Lines of the details: free accuracies, probabilities of sub-models."""
        free = wording.with_interval(self.dirichlet_ece, wording.decimals(self.ece))
        text = f"ECE without shrinkage of the accuracies: {free}. It is biased upwards, most strongly near 0."
        return [text, *wording.probabilities(self.posterior), UNSEEN]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table; empty if no problem is known."""
        about = (*cluster_remarks(self.counts.rows), *mistake_remarks(self.counts.checked))
        return (*super().remarks, *about, *self.judge.remarks)
