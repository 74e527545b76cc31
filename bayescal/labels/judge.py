"""JudgeReport: how often a judge errs, what its labels are worth, and tests of the assumptions about it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayescal import _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.draws import BinDraws, Draws
from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.statistics import ErrorTrend, worth
from bayescal.results import wording

#: Below this P-value of a test a remark is printed.
SMALL_P = 0.05
#: Worth of a judged row below which the judge adds nearly nothing.
LITTLE_WORTH = 0.05
RATES = ("sensitivity", "specificity")
HEADER = ("", "confidence", "mean", "sd", "2.5 %", "97.5 %", "right", "checked")


@public
@dataclass(frozen=True, eq=False, repr=False)
class JudgeReport(Presented):
    """Sensitivity and specificity of a judge, what its labels are worth, and tests of the assumptions about it.

    It is the attribute `judge` of a `JudgedEvaluation`; printing it shows the sentence, the rates by range of
    confidence and remarks. Its draws belong to those of the evaluation.

    Parameters
    ----------
    sensitivity : Draws
        Probability that the judge labels a row with the true label 1 with 1; the mean over ranges of confidence.
    specificity : Draws
        Probability that the judge labels a row with the true label 0 with 0.
    worth : Draws
        Number of checked rows that carry as much information about accuracies as one judged row.
    rates : ndarray, shape (n_draws, 2, n_strata)
        Draws of sensitivity and specificity in each range of confidence.
    edges : tuple of float
        Inner edges of the ranges of confidence.
    table_of_checked : ndarray, shape (n_strata, 4)
        Checked rows of each range with (true label, judge's label) (1, 1), (1, 0), (0, 0) and (0, 1).
    trend : ErrorTrend
        Test of a trend of the judge's errors in the confidence.
    p_checked_at_random : float
        P-value of a test whether checked rows differ from the others in judged label or confidence. Such differences
        are allowed; see `bayescal.labels.judged`.
    evidence : JudgeEvidence
        Rows by bin that were judged and not checked.
    notes : tuple of str
        What follows from the arguments, for remarks.
    """

    sensitivity: Draws
    specificity: Draws
    worth: Draws
    rates: Floats
    edges: tuple[float, ...]
    table_of_checked: Floats
    trend: ErrorTrend
    p_checked_at_random: float
    evidence: JudgeEvidence
    notes: tuple[str, ...] = ()

    _index = ("quantity", "from", "to")

    @property
    def strata(self) -> int:
        """Number of ranges of confidence with rates of their own."""
        return len(self.edges) + 1

    @property
    def p_errors_alike(self) -> float:
        """P-value of a test whether the judge's errors depend on the confidence, within ranges and given true labels.

        With few checked rows it has little power.
        """
        return self.trend.p_value

    @property
    def spec(self) -> str:
        """Numbers of rows on one line."""
        judged, checked = int(self.evidence.n.sum()), int(self.table_of_checked.sum())
        return f"judge, {judged} rows without a true label, {checked} checked rows with a judge's label"

    def sentence(self, prob: float = 0.95) -> str:
        """Return rates and worth in words."""
        one, zero = (wording.mean_and_interval(each, prob) for each in (self.sensitivity, self.specificity))
        return (
            f"The judge has the sensitivity {one} and the specificity {zero}. A judged row is worth "
            f"{self.worth.mean():.2g} checked rows."
        )

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Sensitivity and specificity by range of confidence, as data.

        Keys are quantity, from, to (the range), mean, sd, low, high, right and checked: checked rows of the range with
        the label, and how many of them the judge labelled rightly.
        """
        ends, rows = (0.0, *self.edges, 1.0), []
        for which, name in enumerate(RATES):
            for each, (low, high) in enumerate(pairwise(ends)):
                draws = Draws(self.rates[:, which, each])
                right, wrong = self.table_of_checked[each, 2 * which : 2 * which + 2].astype(int).tolist()
                interval = dict(zip(("low", "high"), draws.interval(prob), strict=True))
                about = {"quantity": name, "from": low, "to": high, "mean": draws.mean(), "sd": draws.sd()}
                rows.append({**about, **interval, "right": right, "checked": right + wrong})
        return rows

    def _more(self, prob: float) -> dict[str, Any]:
        low, high = self.worth.interval(prob)
        tests = {"p_errors_alike": self.p_errors_alike, "p_checked_at_random": self.p_checked_at_random}
        return {"worth": {"mean": self.worth.mean(), "low": low, "high": high}, **tests}

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data."""
        rows = [
            [
                row["quantity"],
                f"{row['from']:.3g} to {row['to']:.3g}",
                *(_render.number(row[name], 3) for name in ("mean", "sd", "low", "high")),
                *(str(row[name]) for name in ("right", "checked")),
            ]
            for row in self.table()
        ]
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, list(self.remarks))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the assumptions about the judge; empty if there are none."""
        texts = list(self.notes)
        if self.p_errors_alike < SMALL_P:
            z = self.trend.z
            label = int(abs(z[1]) > abs(z[0]))
            more = "more of them" if self.strata > 1 else "at least 2"
            texts.append(
                f"The judge errs more often at {'higher' if z[label] > 0 else 'lower'} confidence on rows whose true "
                f"label is {label} (P = {wording.p_words(self.p_errors_alike)}), so that intervals may be wrong. Give "
                f"ranges of confidence their own error rates with `strata=` ({more})."
            )
        if self.p_checked_at_random < SMALL_P:
            texts.append(
                "Checked rows differ from the others in judged label or confidence (P = "
                f"{wording.p_words(self.p_checked_at_random)}). That is allowed, because the model uses both. It is "
                "not allowed that they were chosen by anything else that is related to the true label."
            )
        if self.evidence.present.any() and self.worth.mean() < LITTLE_WORTH:
            texts.append(
                f"A judged row is worth {self.worth.mean():.2g} checked rows: the result is nearly that of the checked "
                "rows, with the masses of all rows."
            )
        return tuple(texts)


def report_of(
    bins: BinDraws, rates: Floats, evidence: JudgeEvidence, edges: tuple[float, ...], **more: Any
) -> JudgeReport:
    """Make the report on a judge from joint draws of the bins and of its rates."""
    truth = (bins.mass * bins.accuracy, bins.mass * (1 - bins.accuracy))
    mean = [_mean_rate(rates[:, i, evidence.stratum], truth[i]) for i in (0, 1)]
    values = (*mean, worth(bins.mass, bins.accuracy, rates, evidence))
    named = zip(values, (*RATES, "worth"), strict=True)
    sensitivity, specificity, of_row = (Draws(each, name, bins.fingerprint) for each, name in named)
    return JudgeReport(sensitivity, specificity, of_row, rates, edges=edges, evidence=evidence, **more)


def _mean_rate(rate: Floats, share: Floats) -> Floats:
    """Average the rates of bins over the rows with one true label, whose shares by bin are given."""
    total = share.sum(axis=1)
    mean = np.divide((share * rate).sum(axis=1), total, out=rate.mean(axis=1), where=total > 0)
    return np.clip(mean, 0.0, 1.0)
