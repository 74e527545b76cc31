"""Accuracies from known outcomes given the odds ratio of missing ones: a simulator for `sbc`, and wrong samplers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.labels.evidence import VerifiedCounts, VerifiedEvidence
from bayescal.labels.posterior import LabelPosterior, Problem, solve_known
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.shift.target import TargetCounts
from bayescal.stats.binned import BinnedCounts
from sbc.control import Control, with_draws
from sbc.ranks import NamedSimulator

Floats = NDArray[np.float64]
#: Odds ratio of missing outcomes, draws of which a random subset is ranked, and log odds ratios that a mistake learns.
RATIO, DRAWN, LEARNT = 3.0, 500, np.linspace(-1.4, 1.4, 9)


class KnownSimulator(NamedSimulator):
    """Accuracies of all rows from the shrinkage prior without a pool, and known outcomes of some rows given them.

    Parameters
    ----------
    bins : int, default 5
        Number of bins; confidences are their midpoints.
    rows : int, default 400
        Number of rows; outcomes are known more often in higher bins.
    """

    def __init__(self, bins: int = 5, rows: int = 400) -> None:
        self.bins, self.rows = bins, rows
        self.prior = ShrinkagePrior(pool=False)

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], VerifiedCounts]:
        """Draw bins, and rows given them."""
        empty = BinnedCounts.empty(self.bins)
        middle = empty.bins.midpoints
        drawn = ShrinkagePosterior(empty, self.prior).sample(1, rng=rng)
        mass, theta = drawn.mass[0], drawn.accuracy[0]
        rows = rng.multinomial(self.rows, mass / mass.sum())
        n = rng.binomial(rows, 0.1 + 0.6 * middle)
        none = np.zeros(self.bins)
        v, _ = VerifiedEvidence(none, none, (n + 0.5) / (rows + 1)).rate(theta, np.array([RATIO]))
        k = rng.binomial(n, v)
        y = np.concatenate([np.arange(m) < ones for m, ones in zip(n, k, strict=True)]).astype(int)
        source = BinnedCounts.from_arrays(y, np.repeat(middle, n), bins=empty.bins)
        gap = mass * (theta - middle)
        values = {"ece": np.abs(gap).sum(), "signed_error": gap.sum(), "accuracy": theta}
        return values, VerifiedCounts.of(TargetCounts.from_confidences(source, np.repeat(middle, rows)))

    def sample_one(self, data: VerifiedCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        return self.drawn(data, n_draws, rng, np.array([[RATIO]]))

    def drawn(
        self, data: VerifiedCounts, n_draws: int, rng: np.random.Generator, ratios: Floats, learn: bool = False
    ) -> Mapping[str, Any]:
        """Draw given odds ratios with equal weights, or with those of their marginal likelihoods."""
        solved = solve_known([Problem(data, data.evidence(), self.prior)], ratios, DRAWN, rng)
        if learn:
            solved = replace(solved, log_shrunk=solved.of[0].log_evidence, log_free=solved.of[0].log_evidence)
        bins = LabelPosterior(solved).sample(DRAWN, rng=rng)
        kept = rng.choice(DRAWN, n_draws, replace=False)
        gap = (bins.mass * bins.gap)[kept]
        sums = {"ece": np.abs(gap).sum(axis=1), "signed_error": gap.sum(axis=1)}
        return {**sums, "accuracy": bins.accuracy[kept]}

    def log_likelihood_one(self, values: Mapping[str, Any], data: VerifiedCounts) -> Floats:
        """Log likelihood of the known outcomes."""
        each = data.evidence().log_likelihood(np.asarray(values["accuracy"]), np.array([[RATIO]]))
        total: Floats = each.sum(axis=-1)
        return total


def _given(ratios: Floats, learn: bool = False) -> Callable[[NamedSimulator], Any]:
    """Return a sampler with other odds ratios."""
    simulator = KnownSimulator()

    def change(right: dict[str, Any], data: list[VerifiedCounts], rng: np.random.Generator) -> dict[str, Any]:
        drawn = [simulator.drawn(one, len(right["ece"]), rng, ratios[:, None], learn) for one in data]
        return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}

    return with_draws(change)


#: Mistakes in the sampler of accuracies from known outcomes.
KNOWN_MISTAKES = tuple(
    Control(name, "known outcomes", sampler, of="known outcomes", runs=runs)
    for name, sampler, runs in (
        ("missing outcomes taken as at random", _given(np.ones(1)), 100),
        ("odds ratio inverted", _given(np.array([1 / RATIO])), 100),
        ("odds ratio learnt from the data", _given(np.exp(LEARNT), learn=True), 100),
    )
)
