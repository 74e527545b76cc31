"""Calibration from a judge's labels: rows -> counts and evidence -> posterior over error rates -> evaluation."""

import functools
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats, Indices
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import DEFAULT_MODEL, evaluation_of
from bayescal.labels.judge import RATES, error_trend, p_checked_at_random, report_of
from bayescal.labels.nuisance import JudgeRates
from bayescal.labels.posterior import LabelPosterior, Problem, Solved, solve
from bayescal.labels.result import JudgedEvaluation
from bayescal.labels.sums import OF_EACH_LABEL, TWO_FROM, JudgedCounts, strata_of
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.results.evaluation import extended
from bayescal.stats.clusters import require_several_clusters

#: Least number of checked rows; number of them, and of those of each label and range, below which a remark or a warning
#: is given.
FEWEST_CHECKED, FEW_CHECKED, FEW_OF_LABEL = 30, 100, 5


class FewCheckedWarning(UserWarning):
    """Few checked rows have one of the true labels, so that a rate of the judge depends on the prior."""


@public
def judged(
    y_true: Any,
    y_prob: Any,
    *,
    judge: Any,
    strata: Any = "auto",
    rates: Any = None,
    target: str = "confidence",
    bins: Any = 15,
    binning: str = "equal-width",
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
    cluster: Any = None,
) -> JudgedEvaluation:
    r"""Compute the posterior of the calibration error for the true label, from labels of an imperfect judge.

    A judge, such as a language model, labels all rows, and a person checks some of them. The judge's labels alone would
    give the error of the predictions relative to the judge.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        True labels of the rows that were checked; missing (NaN, None, NA or masked) for the others. At least 30 rows,
        unless `rates` are given.
    y_prob : array-like of float, shape (n_rows,)
        Stated probabilities, in [0, 1]: with the default target, the confidence that an answer is right.
    judge : array-like of {0, 1} or bool, shape (n_rows,)
        The judge's labels. They may be missing in rows with a true label.
    strata : "auto", int or sequence of float, default "auto"
        Ranges of confidence in which the judge has a sensitivity and specificity of its own: their number, or their
        inner edges, which are moved to the nearest edge of a bin. By default two ranges if there are at least 200
        checked rows, and 10 of each true label in both; otherwise one. Their edge is the one at which the smallest of
        these numbers of checked rows is largest.
    rates : optional
        What is known about the judge from elsewhere: its (sensitivity, specificity), or the counts ((right, wrong) of
        true label 1, (right, wrong) of true label 0) of other checked rows. By default only the checked rows tell it.
    target : {"confidence", "event"}, default "confidence"
        As for `evaluate`.
    classes : sequence of two labels, optional
        The label that counts as 0 and the one that counts as 1, in `y_true` and in `judge`.

    Returns
    -------
    JudgedEvaluation
        An `Evaluation` of the true label, whose `judge` has sensitivity, specificity and the worth of a judged row.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; if fewer than 30 rows were checked and `rates` are not given; if the judge
        agrees with the checked labels no better than chance; if a row has neither label.

    Warns
    -----
    FewCheckedWarning
        If fewer than 5 checked rows of a range have one of the true labels.
    SamplerWarning
        If few values of the error rates have nearly all weight.

    See Also
    --------
    bayescal.evaluate : If all labels are true.

    Notes
    -----
    Bin b has the accuracy :math:`\theta_b`, with the prior of the shrinkage model. The judge labels a row whose true
    label is 1 with 1 with probability s (sensitivity), and one whose true label is 0 with 0 with probability p
    (specificity), given the true label independently of the confidence within each range. A row of bin b that was not
    checked is then labelled 1 with probability :math:`q_b = 1 - p + (s + p - 1) \theta_b` [1]_. Checked rows give
    evidence about :math:`\theta_b`, s and p. The prior of s and p is uniform where :math:`s + p > 1`. Masses of the
    bins are those of all rows.

    The likelihood is that of true and judged labels together. Therefore the checked rows may be chosen by the judge's
    label and by the confidence: to check all rows that the judge calls wrong is allowed. It is not allowed that
    anything else that is related to the true label decides which rows are checked. Checked rows must not have been used
    to write the judge's prompt or to train it, because s and p would be too good.

    With `cluster`, the likelihoods of checked and of judged rows of a bin are raised to the power 1 / D, where D is the
    design effect of their residuals as for `evaluate`: a bin counts as n / D independent rows. Signed error, accuracy
    and scores have the design effect of the total, for which the posterior is computed a second time.

    Half of the weights of s and p comes from the marginal likelihood of the shrinkage model, and half from that of
    independent accuracies: a linear pool. The shrinkage model alone prefers error rates under which the classifier
    looks calibrated. Accuracy, Brier score and log score do not use shrunk accuracies.

    References
    ----------
    .. [1] W. J. Rogan and B. Gladen (1978), "Estimating prevalence from the results of a screening test", American
       Journal of Epidemiology 107, 71-76.

    Examples
    --------
    Confidences that are too high; the judge has sensitivity 0.9 and specificity 0.8, and 300 of 2000 rows are checked:

    >>> confidence = rng.random(2000)
    >>> right = rng.random(2000) < 0.2 + 0.5 * confidence
    >>> judge = np.where(right, rng.random(2000) < 0.9, rng.random(2000) > 0.8)
    >>> y = np.where(np.arange(2000) < 300, right, np.nan)
    >>> ev = bc.labels.judged(y, confidence, judge=judge, rng=1)
    >>> ev.ece.interval(0.95)
    (0.1..., 0.1...)
    >>> round(ev.judge.sensitivity.mean(), 1), round(ev.judge.specificity.mean(), 1)
    (0.9, 0.8)
    """
    draws = _checks.whole_number("draws", draws, at_least=2)
    columns: dict[str, Any] = {"target": target, "classes": classes, "logits": logits, "cluster": cluster}
    counts = JudgedCounts.from_arrays(y_true, y_prob, judge=judge, bins=bins, binning=binning, **columns)
    return judged_counts(counts, strata=strata, rates=rates, draws=draws, rng=rng)


@public
def judged_counts(
    counts: JudgedCounts, *, strata: Any = "auto", rates: Any = None, draws: int = 4000, rng: Any = None
) -> JudgedEvaluation:
    """Compute the posterior of the calibration error for the true label from counts of rows with a judge's labels.

    Parameters
    ----------
    counts : JudgedCounts
        The counts, such as the sum of those of batches, or those of a file.
    strata, rates, draws, rng
        As for `judged`.

    Returns
    -------
    JudgedEvaluation
        The evaluation that `judged` returns for the rows.

    See Also
    --------
    JudgedCounts : Counts of arrays, which can be added.
    count_file : Counts of a file.

    Examples
    --------
    A stream of three batches, with 100 checked rows each:

    >>> rng, counts = np.random.default_rng(1), bc.labels.JudgedCounts.empty()
    >>> for _ in range(3):
    ...     confidence = rng.random(700)
    ...     right = rng.random(700) < 0.2 + 0.5 * confidence
    ...     judge = np.where(right, rng.random(700) < 0.9, rng.random(700) > 0.8)
    ...     y = np.where(np.arange(700) < 100, right, np.nan)
    ...     counts += bc.labels.JudgedCounts.from_arrays(y, confidence, judge=judge)
    >>> counts
    JudgedCounts(15 equal-width bins [a, b), 2100 rows, 300 of them checked)
    >>> round(bc.labels.judged_counts(counts, rng=1).ece.mean(), 2)
    0.1
    """
    _checks.instance("counts", counts, JudgedCounts)
    return evaluations_of([counts], strata, rates, draws, rng)[0]


def evaluations_of(
    each_counts: Sequence[JudgedCounts], strata: Any, rates: Any, draws: int, rng: Any, same_rows: bool = False
) -> list[JudgedEvaluation]:
    """Evaluate several classifiers whose labels come from one judge, with joint draws of the judge's error rates.

    They have the same bins. With `same_rows` they are predictions of the same judged outcomes, which count once;
    otherwise each has rows of its own.
    """
    draws, stated = _checks.whole_number("draws", draws, at_least=2), _given_rates(rates)
    counts, copies = functools.reduce(operator.add, each_counts), len(each_counts) if same_rows else 1
    require_several_clusters(counts.rows)
    if stated is None:
        stratum = strata_of(strata, counts, copies)
    elif (isinstance(strata, str) and strata == "auto") or (np.ndim(strata) == 0 and strata == 1):
        stratum = np.zeros(len(counts.bins), np.intp)
    else:
        raise ValueError(f'`rates` are those of all rows, so that `strata` must be 1 or "auto", not {quoted(strata)}.')
    judge = Judge(stratum, stated, copies)
    if stated is None or stated.ndim == 2:
        _require_checked(counts.n_checked // copies, judge.rates_of(counts), learnt=stated is None)
    seed, for_solving = _checks.seeds(rng, 2)
    solved = judge.solve(each_counts, draws, for_solving)
    solved.warn_if_poor()
    evaluations = []
    for place, each in enumerate(each_counts):
        posterior = LabelPosterior(solved, place, _total(judge, each, draws, for_solving))
        notes = tuple(_notes(each, strata, stated, stratum))
        evaluations.append(_evaluation(posterior, each, stratum, notes, draws, seed))
    return evaluations


@dataclass(frozen=True, eq=False)
class Judge:
    """Ranges of confidence, what is known about the judge, and how many times the counts hold each row."""

    stratum: Indices
    stated: Floats | None
    copies: int

    def rates_of(self, counts: JudgedCounts, *, effective: bool = False) -> JudgeRates:
        """Return the evidence of checked rows about the judge, and that of rows checked elsewhere."""
        elsewhere = self.stated.reshape(1, 4) if self.stated is not None and self.stated.ndim == 2 else 0
        table = counts.table(self.stratum, effective=effective)
        return JudgeRates(table / self.copies + elsewhere, counts.judged_by_label(self.stratum) / self.copies)

    def solve(self, each_counts: Sequence[JudgedCounts], draws: int, seed: int) -> Solved:
        """Solve the problems of all counts for values of the judge's rates."""
        rates = self.rates_of(functools.reduce(operator.add, each_counts), effective=True)
        problems = [
            Problem(one.of_labels, one.evidence(self.stratum, effective=True), ShrinkagePrior()) for one in each_counts
        ]
        known = self.stated.reshape(1, 2, 1) if self.stated is not None and self.stated.ndim == 1 else None
        return solve(problems, rates, known=known, rng=seed, draws=draws, same_rows=self.copies > 1)


def _total(judge: Judge, counts: JudgedCounts, draws: int, seed: int) -> Callable[[], Solved] | None:
    """Return a function that solves the problem with the design effect of the total; None without clusters."""
    if counts.rows.clusters is None:
        return None
    return functools.partial(judge.solve, [counts.with_total_effect()], draws, seed)


def _evaluation(
    posterior: LabelPosterior, counts: JudgedCounts, stratum: Indices, notes: tuple[str, ...], draws: int, seed: int
) -> JudgedEvaluation:
    """Draw from the posterior of one problem, and report on its judge."""
    evaluation = evaluation_of(posterior.counts, lambda counts: posterior, model=DEFAULT_MODEL, draws=draws, rng=seed)
    if posterior.of_total is not None:
        evaluation = replace(
            evaluation, draw_total_bins=functools.partial(posterior.with_total_effect.sample, draws, rng=seed)
        )
    cuts = np.flatnonzero(np.diff(stratum)) + 1
    report = report_of(
        evaluation.bin_draws,
        posterior.solved.nu[posterior.value_of(draws, evaluation.bin_draws_seed)],
        counts.evidence(stratum),
        tuple(counts.bins.edges[cuts].tolist()),
        table_of_checked=counts.table(stratum),
        trend=error_trend(counts, stratum),
        p_checked_at_random=p_checked_at_random(counts),
        notes=notes,
    )
    return extended(JudgedEvaluation, evaluation, judge=report)


def _given_rates(rates: Any) -> Floats | None:
    """Return known rates, shape (2,), or counts of right and wrong labels by true label, shape (2, 2)."""
    if rates is None:
        return None
    instead = text_of("rates of a judge")
    try:
        stated = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"`rates` must be numbers, not {quoted(rates)}: {instead}") from problem
    if stated.shape == (2,):
        if not ((stated >= 0) & (stated <= 1)).all() or not stated.sum() >= 1:
            raise ValueError(
                f"`rates` must be a sensitivity and a specificity in [0, 1] whose sum is at least 1, not "
                f"{quoted(rates)}. A sum below 1 means that labels are swapped."
            )
        return stated
    if stated.shape != (2, 2):
        raise ValueError(f"`rates` have shape {stated.shape}: {instead}")
    if not (np.isfinite(stated) & (stated >= 0) & (stated == np.floor(stated))).all():
        raise ValueError(f"`rates` must be counts, whole numbers >= 0, not {quoted(rates)}.")
    return stated


def _require_checked(n_checked: int, nuisance: JudgeRates, *, learnt: bool) -> None:
    """Refuse too few checked rows, and a judge that is no better than chance; warn about few rows of one label."""
    if learnt and not n_checked:
        raise ValueError(text_of("no true labels"))
    if learnt and n_checked < FEWEST_CHECKED:
        raise ValueError(
            f"`y_true` must have true labels of at least {FEWEST_CHECKED} rows; {n_checked} are not missing. Check "
            "more rows, or give the judge's `rates=` if they are known from elsewhere."
        )
    chance = nuisance.p_no_better_than_chance
    if (chance > 0.5).any():
        each = int(chance.argmax())
        s, p = (nuisance.right / (nuisance.right + nuisance.wrong))[:, each]
        where = f" in range {each} of confidence" if len(chance) > 1 else ""
        raise ValueError(
            f"`judge` agrees with the checked labels{where} no better than chance: sensitivity + specificity - 1 is "
            f"{s + p - 1:.2g} (posterior probability of a negative value: {chance[each]:.2g}). Are its labels swapped?"
        )
    of_label = np.stack([nuisance.table[:, :2].sum(axis=1), nuisance.table[:, 2:].sum(axis=1)])
    few = of_label < FEW_OF_LABEL
    if few.any():
        which, each = (int(at) for at in np.argwhere(few)[0])
        where = f" in range {each} of confidence" if of_label.shape[1] > 1 else ""
        number = int(of_label[which, each])
        warnings.warn(
            f"The judge's {RATES[which]}{where} rests on {number} checked row{'s' * (number != 1)} with true label "
            f"{1 - which}, so that it depends on the prior. Check more rows of this label, for example those that the "
            f"judge labels {1 - which}.",
            FewCheckedWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )


def _notes(counts: JudgedCounts, strata: Any, stated: Floats | None, stratum: Indices) -> list[str]:
    """State what follows from the arguments: rows that are all checked, one range in place of two, few checked rows."""
    if counts.n_checked == counts.n_rows:
        return ["All rows have a true label, so that the judge's labels are not used."]
    texts = []
    if stated is None and isinstance(strata, str) and not stratum.any():
        texts.append(
            f"One sensitivity and one specificity hold for all confidences: two ranges need {TWO_FROM} checked rows, "
            f"and {OF_EACH_LABEL} of each true label in both."
        )
    if stated is None and counts.n_checked < FEW_CHECKED:
        texts.append(
            f"With fewer than {FEW_CHECKED} checked rows, intervals of the accuracy, the Brier score and the signed "
            "error can be too short, more so than those of the ECE. Check more rows if you report them."
        )
    return texts
