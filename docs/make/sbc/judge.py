"""Accuracies from a judge's labels: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.nuisance import JudgeRates
from bayescal.labels.posterior import LabelPosterior, Problem, solve
from bayescal.labels.sums import LabelCounts
from bayescal.posterior.shrinkage.prior import EXACT, INDEPENDENT, NOISE
from bayescal.stats.binned import BinnedCounts
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator
from sbc.simulators import shrinkage_simulator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Values of the error rates, and draws of which a random subset is ranked.
VALUES, DRAWN = 120, 1000
#: Accuracies that differ less from mean confidences are equal to them.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class JudgedData:
    """Counts by bin, and the table of checked rows; `judged_checked` are the judge's labels 1 among checked rows."""

    counts: LabelCounts
    evidence: JudgeEvidence
    table: Floats
    judged_checked: Ints


class JudgeSimulator(NamedSimulator):
    """Bins from the prior of one family, uniform error rates with s + p > 1, and rows given them.

    Parameters
    ----------
    bins : int, default 5
        Number of bins.
    rows, checked : int, default 300 and 60
        Number of rows, and of checked ones among them.
    """

    def __init__(self, bins: int = 5, rows: int = 300, checked: int = 60) -> None:
        self.of_bins = shrinkage_simulator(bins=bins, rows=rows, sub_models=[INDEPENDENT, NOISE, EXACT])
        self.prior, self.checked = self.of_bins.prior, checked

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], JudgedData]:
        """Draw bins and error rates, and rows given them."""
        truths, (stack,) = self.of_bins.simulate(1, rng)
        edges, n, k = stack.bins, stack.n, stack.k.astype(int)
        stated = np.where(n > 0, stack.mean_confidence, edges.midpoints)
        s, p = rng.random(2)
        s, p = (s, p) if s + p > 1 else (1 - s, 1 - p)
        cell = np.repeat(np.arange(len(n)), n)
        truth = np.concatenate([np.arange(each) < ones for each, ones in zip(n, k, strict=True)])
        judge = np.where(truth, rng.random(len(cell)) < s, rng.random(len(cell)) >= p)
        checked = rng.permutation(len(cell)) < self.checked

        def counted(outcome: NDArray[np.bool_], kept: Any) -> BinnedCounts:
            return BinnedCounts.from_arrays(outcome[kept], stated[cell][kept], bins=edges)

        def number(kept: NDArray[np.bool_]) -> Ints:
            return np.bincount(cell[kept], minlength=len(n))

        evidence = JudgeEvidence(
            number(~checked).astype(float), number(~checked & judge).astype(float), np.zeros(len(n), np.intp)
        )
        kinds = (truth & judge, truth & ~judge, ~truth & ~judge, ~truth & judge)
        table = np.array([[np.count_nonzero(kind & checked) for kind in kinds]], float)
        counts = LabelCounts.without_kernel(counted(judge, slice(None)), counted(truth, checked))
        # exactly calibrated bins tie with draws to the last bit
        mass, accuracy = truths.mass[0, 0], truths.accuracy[0, 0]
        accuracy = np.where(np.abs(accuracy - stated) < ROUNDING, counts.confidence, accuracy)
        gap = mass * (accuracy - counts.confidence)
        values = {"ece": np.abs(gap).sum(), "signed_error": gap.sum(), "s": s, "p": p, "accuracy": accuracy}
        return values, JudgedData(counts, evidence, table, number(checked & judge))

    def sample_one(self, data: JudgedData, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler; all weights are those of the shrinkage model."""
        return self.drawn(data, n_draws, rng)

    def drawn(
        self, data: JudgedData, n_draws: int, rng: np.random.Generator, known: Floats | None = None
    ) -> Mapping[str, Any]:
        """Draw given unknown error rates, or known ones."""
        judged = np.stack([data.table[:, [0, 3]].sum(axis=1), data.table[:, [1, 2]].sum(axis=1)], axis=1)
        judged += [data.evidence.k.sum(), (data.evidence.n - data.evidence.k).sum()]
        problem, rates = Problem(data.counts, data.evidence, self.prior), JudgeRates(data.table, judged)
        solved = solve([problem], rates, known=known, rng=rng, values=VALUES, draws=DRAWN, free=0.0)
        posterior, seed = LabelPosterior(solved), int(rng.integers(2**32))
        bins, nu = posterior.sample(DRAWN, rng=seed), solved.nu[posterior.value_of(DRAWN, seed)]
        kept = rng.choice(DRAWN, n_draws, replace=False)
        gap = (bins.mass * bins.gap)[kept]
        rates_of = {"s": nu[kept, 0, 0], "p": nu[kept, 1, 0]}
        return {"ece": np.abs(gap).sum(axis=1), "signed_error": gap.sum(axis=1), **rates_of} | {
            "accuracy": bins.accuracy[kept]
        }

    def log_likelihood_one(self, values: Mapping[str, Any], data: JudgedData) -> Floats:
        """Log likelihood of the labels of all rows."""
        theta = np.asarray(values["accuracy"])
        s, p = np.asarray(values["s"]), np.asarray(values["p"])
        nu = np.stack([s, p], axis=1)[:, :, None]
        k, n = data.counts.checked.k, data.counts.checked.n
        of_bins = data.evidence.log_likelihood(theta, nu) + xlogy(k, theta) + xlog1py(n - k, -theta)
        tp, fn, tn, fp = data.table[0]
        of_judge = xlogy(tp, s) + xlog1py(fn, -s) + xlogy(tn, p) + xlog1py(fp, -p)
        total: Floats = of_bins.sum(axis=1) + of_judge
        return total


def _swapped(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    return {"s": drawn["p"], "p": drawn["s"]}


def _checked_twice(data: JudgedData) -> JudgedData:
    """Count the checked rows twice."""
    counts = LabelCounts.without_kernel(data.counts.rows, data.counts.checked + data.counts.checked)
    return replace(data, counts=counts, table=2 * data.table)


def _labels_again(data: JudgedData) -> JudgedData:
    """Use the judge's labels of checked rows as evidence, too."""
    evidence = data.evidence
    more = replace(evidence, n=evidence.n + data.counts.checked.n, k=evidence.k + data.judged_checked)
    return replace(data, evidence=more)


def _given(rates: Callable[[JudgedData], Floats]) -> Callable[[NamedSimulator], Any]:
    """Return a sampler whose accuracies are drawn with known error rates, a function of the data."""
    simulator = JudgeSimulator()

    def change(right: dict[str, Any], data: list[JudgedData], rng: np.random.Generator) -> dict[str, Any]:
        drawn = [simulator.drawn(one, len(right["ece"]), rng, rates(one)) for one in data]
        return {name: np.stack([each[name] for each in drawn], axis=1) for name in ("ece", "signed_error", "accuracy")}

    return with_draws(change)


def _without_errors(data: JudgedData) -> Floats:
    return np.ones((1, 2, 1))


def _estimated(data: JudgedData) -> Floats:
    right = data.table[0, [0, 2]]
    return ((right + 1) / (right + data.table[0, [1, 3]] + 2)).reshape(1, 2, 1)


#: Simulators by name: the default one, and those in which checked rows, or error rates, matter most.
JUDGE_PROBLEMS = {
    "judge": JudgeSimulator(),
    "judge, most rows checked": JudgeSimulator(bins=2, rows=400, checked=380),
    "judge, few rows checked": JudgeSimulator(rows=2000, checked=40),
}
#: Mistakes in the sampler of accuracies from a judge's labels.
JUDGE_MISTAKES = tuple(
    Control(name, problem, sampler, of="judge", runs=runs)
    for name, problem, sampler, runs in (
        ("judge as truth", "judge", _given(_without_errors), 100),
        ("sensitivity and specificity swapped", "judge", with_draws(_swapped), 200),
        ("checked rows used twice", "judge", with_data(_checked_twice), 300),
        ("labels of checked rows used again", "judge, most rows checked", with_data(_labels_again), 1000),
        ("estimated error rates taken as known", "judge, few rows checked", _given(_estimated), 100),
    )
)
