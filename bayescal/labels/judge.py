"""JudgeReport: how often a judge errs, what its labels are worth, and tests of the assumptions about it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import gammaincc

from bayescal import _render
from bayescal._arrays import Floats, Indices, Ints
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal._texts import text_of
from bayescal.draws import BinDraws, Draws
from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.sums import JudgedCounts
from bayescal.results import wording

#: Least number of checked rows of one label and stratum that enter the test of a trend, and least expected numbers.
LEAST_ROWS, LEAST_EXPECTED = 6, 5.0
LEAST_SPREAD = 1e-7  #: Least standard deviation of confidences in the test of a trend; rounding of sums stays below it.
#: Least expected number of errors, and of right labels, of one classifier in the test whether the judge is alike.
LEAST_OF_CLASSIFIER = 2.0
INSIDE = 1e-9  #: Least distance of accuracies from 0 and 1 for the information of a judged row.


@dataclass(frozen=True)
class ErrorTrend:
    """Test of a trend of the judge's errors in the confidence, given the true label; `z` is that of labels 0 and 1."""

    p_value: float
    z: tuple[float, float]


def error_trend(counts: JudgedCounts, stratum: Indices) -> ErrorTrend:
    """Test whether the judge's errors depend on the confidence among checked rows.

    Within each true label and stratum, the score statistic of a linear trend [1]_ is squared and added; the sum has a
    chi-squared distribution. Positive values of z mean more errors at higher confidence.

    .. [1] P. Armitage (1955), "Tests for linear trends in proportions and frequencies", Biometrics 11, 375-386.
    """
    total, freedom, z = 0.0, 0, [0.0, 0.0]
    middle = counts.bins.midpoints
    for label, both in enumerate((counts.both_0, counts.both_1)):
        for each in range(int(stratum.max()) + 1):
            of = stratum == each
            rows, wrong = both.n[of], both.cells[1 - label, of]
            n, n_wrong = rows.sum(), wrong.sum()
            if n < LEAST_ROWS or not 0 < n_wrong < n:
                continue
            deviation = both.deviation[:, of]
            mean = (middle[of] @ rows + deviation.sum()) / n
            off = middle[of] - mean
            variance = (off**2 @ rows + 2 * off @ deviation.sum(axis=0) + both.deviation_sq[of].sum()) / n
            if not variance > LEAST_SPREAD**2:
                continue
            rate = n_wrong / n
            covariance = off @ wrong + deviation[1 - label].sum()
            statistic = float(covariance / np.sqrt(variance * n * rate * (1 - rate)))
            z[label] += statistic
            total, freedom = total + statistic**2, freedom + 1
    return ErrorTrend(chi_squared_tail(total, freedom), (z[0], z[1]))


def p_checked_at_random(counts: JudgedCounts) -> float:
    """Return the P-value of a test whether checked rows differ from the others in judged label and bin.

    It is the chi-squared test of a table with two rows; neighbouring cells are joined until expected numbers are at
    least 5.
    """
    table = np.stack([counts.both.sum(axis=0).ravel(), counts.alone.ravel()])
    total, share = table.sum(axis=1), table.sum(axis=0)
    if not total.all():
        return 1.0
    # cells are joined from the left; what remains belongs to the last one
    smaller, groups = total.min() / total.sum(), list[Ints]()
    current = np.zeros(2, np.int64)
    for column in table.T[share > 0]:
        current = current + column
        if current.sum() * smaller >= LEAST_EXPECTED:
            groups.append(current)
            current = np.zeros(2, np.int64)
    if len(groups) < 2:
        return 1.0
    groups[-1] = groups[-1] + current
    joined = np.array(groups).T
    expected = np.outer(joined.sum(axis=1), joined.sum(axis=0)) / joined.sum()
    return chi_squared_tail(float(((joined - expected) ** 2 / expected).sum()), joined.shape[1] - 1)


def p_judge_alike(tables: Floats) -> float:
    """Return the P-value of a test whether the judge errs equally often for several classifiers.

    `tables`, shape (n_classifiers, n_strata, 4), are the checked rows of each; see `JudgeRates`. Chi-squared statistics
    of the tables (classifier, right or wrong) are added over true labels and strata.

    >>> round(p_judge_alike(np.array([[[90, 10, 50, 0]], [[80, 20, 50, 0]]])), 4)
    0.0477
    """
    table = tables.reshape(*tables.shape[:2], 2, 2).astype(np.float64)
    total = np.maximum(table.sum(axis=(0, 3), keepdims=True), 1)
    expected = table.sum(axis=3, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    used = (expected >= LEAST_OF_CLASSIFIER).all(axis=(0, 3))
    parts = (table - expected) ** 2 / np.where(used[..., None], expected, np.inf)
    return chi_squared_tail(float(parts.sum()), int(used.sum()) * (len(tables) - 1))


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Return the probability that a chi-squared variable is larger; 1 without degrees of freedom.

    >>> round(chi_squared_tail(3.841459, 1), 6)
    0.05
    """
    return float(gammaincc(freedom / 2, statistic / 2)) if freedom else 1.0


def worth(mass: Floats, accuracy: Floats, nu: Floats, evidence: JudgeEvidence) -> Floats:
    r"""Return the checked rows that carry as much information about the accuracies as one judged row.

    It is :math:`\sum_b m_b k^2 \theta_b (1 - \theta_b) / (q_b (1 - q_b))` with :math:`k = s + p - 1`: the Fisher
    information of a judged row relative to that of a checked row. `mass` and `accuracy` have shape (n_draws, n_bins),
    `nu` (n_draws, 2, n_strata); the result has shape (n_draws,).
    """
    theta = np.clip(accuracy, INSIDE, 1 - INSIDE)
    q, change = evidence.rate(theta, nu)
    return np.asarray((mass * change**2 * theta * (1 - theta) / (q * (1 - q))).sum(axis=1))


SMALL_P = 0.05  #: Below this P-value of a test a remark is printed.
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
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
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
            texts.append(text_of("rows not checked at random", p=wording.p_words(self.p_checked_at_random)))
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
