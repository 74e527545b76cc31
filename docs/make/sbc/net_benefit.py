"""Net benefit of several models: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from twins.net_benefit import margins_of

from bayescal.decisions.analysis import PSEUDO_ROWS
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.posterior import REMAINDER, ScoreCellsPosterior, base_shares
from bayescal.decisions.thresholds import gain_of_treating, net_benefit_of, odds, share_treated
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator, Sampler

Floats = NDArray[np.float64]


class NetBenefitSimulator(NamedSimulator):
    """Joint cells drawn from the Dirichlet process of the prior, and rows given them.

    Masses of cells below 1e-6 are ranked as 0: the sampler of several models omits atoms of about this mass.

    Parameters
    ----------
    models : tuple of str, default ("a", "b")
        Names of the models.
    rows : int, default 30
        Rows of each data set: few, so that the prior matters.
    thresholds : tuple of float, default (0.1, 0.4)
        Thresholds.
    """

    def __init__(
        self, models: tuple[str, ...] = ("a", "b"), rows: int = 30, thresholds: tuple[float, ...] = (0.1, 0.4)
    ) -> None:
        self.models, self.rows, self.thresholds = models, rows, np.array(thresholds)

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], ThresholdCounts]:
        """Draw probabilities of the joint cells, and counts."""
        share = base_shares(self.thresholds)
        shape = (2, *[len(share)] * len(self.models))
        base = np.full(shape, 0.5)
        for axis in range(len(self.models)):
            base *= share.reshape([-1 if a == axis + 1 else 1 for a in range(len(shape))])
        # rates instead of a Dirichlet, whose shares numpy may return as NaN if all parameters are small
        rate = np.maximum(rng.standard_gamma(PSEUDO_ROWS * base), 1e-300)
        q = rate / rate.sum()
        n = rng.multinomial(self.rows, q.ravel()).reshape(shape)
        place = np.argwhere(n)
        cells, found = np.roll(place, -1, axis=1), n[tuple(place.T)]
        order = np.lexsort(cells.T[::-1])
        cells, found = cells[order], found[order]
        squares = np.bincount(cells[:, -1], found, 2).astype(np.float64)
        counts = ThresholdCounts(self.thresholds, self.models, cells, found, found.astype(np.float64), squares)
        mass = margins_of(q[None], len(self.models))
        return {name: values[0] for name, values in self._named(mass).items()}, counts

    def sample_one(self, data: ThresholdCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw the cells of each model with the package, and compute net benefits."""
        posterior = ScoreCellsPosterior(data, PSEUDO_ROWS, given_outcome=False)
        return self._named(posterior.sample(n_draws, rng=rng))

    def log_likelihood_one(self, values: Mapping[str, Any], data: ThresholdCounts) -> Floats:
        """Sum over models of the multinomial log likelihood of their cells."""
        total: Floats = np.zeros(len(next(iter(values.values()))))
        for i, name in enumerate(self.models):
            cells = data.margin(i, data.n).ravel()
            total = total + xlogy(cells, np.maximum(values[f"cells of {name}"], 1e-300)).sum(axis=1)
        return total

    def _named(self, mass: Floats) -> dict[str, Any]:
        """Compute net benefits and their differences, and the masses, from masses (n_draws, n_models, 2, n_bins)."""
        found = net_benefit_of(share_treated(mass), gain_of_treating(self.thresholds))
        named: dict[str, Any] = {}
        for i, name in enumerate(self.models):
            named[f"net benefit of {name}"] = found[:, i]
            cells = mass[:, i].reshape(len(mass), -1)
            named[f"cells of {name}"] = np.where(cells < REMAINDER, 0.0, cells)
            if i:
                named[f"difference of {name}"] = found[:, i] - found[:, 0]
        share = mass[:, 0, 1].sum(axis=-1, keepdims=True)
        named["treat all"] = share - odds(self.thresholds) * (1 - share)
        named["difference from treating all"] = found[:, 0] - named["treat all"]
        return named


def _twice(counts: ThresholdCounts) -> ThresholdCounts:
    return counts + counts


def _flipped(counts: ThresholdCounts) -> ThresholdCounts:
    """Exchange the outcomes."""
    cells = counts.cells.copy()
    cells[:, -1] = 1 - cells[:, -1]
    return replace(counts, cells=cells, weight_sq=counts.weight_sq[::-1])


def _closed_on_the_right(counts: ThresholdCounts) -> ThresholdCounts:
    """Put rows of a cell into the one below: thresholds are taken as exceeded one cell too late."""
    cells = counts.cells.copy()
    cells[:, :-1] = np.maximum(cells[:, :-1] - 1, 0)
    return replace(counts, cells=cells)


def _second_as_first(counts: ThresholdCounts) -> ThresholdCounts:
    """Give the second model the cells of the first."""
    cells = counts.cells.copy()
    cells[:, 1] = cells[:, 0]
    return replace(counts, cells=cells)


def _sampled(posterior: Callable[[ThresholdCounts], Any]) -> Callable[[NetBenefitSimulator], Sampler]:
    """Draw masses from another posterior."""

    def sampler(simulator: NetBenefitSimulator) -> Sampler:
        def sample(data: Any, n: int, rng: np.random.Generator) -> dict[str, Any]:
            drawn = [simulator._named(posterior(one).sample(n, rng=rng)) for one in data]
            return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}

        return sample

    return sampler


class _EqualShares(ScoreCellsPosterior):
    """The prior gives all score cells the same share; scores of the prior are drawn so too."""

    def _summed(self, atoms: Any, outcome: Any, score: Any) -> Any:
        return super()._summed(atoms, outcome, _inside(self.counts, (score * self.counts.n_bins).astype(np.intp)))


class _UniformScores(ScoreCellsPosterior):
    """All scores of the prior are uniform: none lies at 0 and at 1."""

    def _summed(self, atoms: Any, outcome: Any, score: Any) -> Any:
        cell = np.searchsorted(self.counts.thresholds, score, side="right")
        return super()._summed(atoms, outcome, _inside(self.counts, cell))


def _inside(counts: ThresholdCounts, cell: Any) -> Any:
    """Ranks in the base distribution of scores in the given cells."""
    last = np.cumsum(base_shares(counts.thresholds))
    return (last - base_shares(counts.thresholds) / 2)[cell]


class _SameScores(ScoreCellsPosterior):
    """Both models have the same scores in the prior, so that they differ only where rows show it."""

    def _prior_mass(self, n_draws: int, rng: np.random.Generator) -> Any:
        mass = super()._prior_mass(n_draws, rng)
        return np.repeat(mass[:1], len(mass), axis=0)


def _independent(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw both models independently: each margin is right, and the difference is not."""
    order = rng.permutation(len(drawn["net benefit of b"]))
    return {"difference of b": drawn["net benefit of b"][order] - drawn["net benefit of a"]}


def _independent_of_treating_all(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw treating all independently of the model, as independent Betas do."""
    order = rng.permutation(len(drawn["treat all"]))
    return {"difference from treating all": drawn["net benefit of a"] - drawn["treat all"][order]}


def _wrong_odds(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Weigh false positives by t instead of t / (1 - t)."""
    counts = data[0]
    cells = drawn["cells of a"].reshape(*drawn["cells of a"].shape[:2], 2, counts.n_bins)
    treated = np.cumsum(cells[..., :0:-1], axis=-1)[..., ::-1]
    return {"net benefit of a": treated[..., 1, :] - counts.thresholds * treated[..., 0, :]}


def _posterior(kind: type[ScoreCellsPosterior], pseudo_rows: float = PSEUDO_ROWS) -> Callable[[ThresholdCounts], Any]:
    return lambda counts: kind(counts, pseudo_rows, given_outcome=False)


#: Mistakes in the sampler of net benefits.
NET_BENEFIT_MISTAKES = tuple(
    Control(name, "net benefit", sampler, of="net benefit", runs=runs)
    for name, sampler, runs in (
        ("rows counted twice", with_data(_twice), 1000),
        ("outcomes exchanged", with_data(_flipped), 1000),
        ("rows of a cell in the cell below", with_data(_closed_on_the_right), 1000),
        ("second model has the cells of the first", with_data(_second_as_first), 1000),
        ("half a pseudo-row instead of three", _sampled(_posterior(ScoreCellsPosterior, 0.5)), 2000),
        ("prior with equal shares of the cells", _sampled(_posterior(_EqualShares)), 4000),
        ("prior with uniform scores", _sampled(_posterior(_UniformScores)), 4000),
        ("prior with the same scores for both models", _sampled(_posterior(_SameScores)), 4000),
        ("models drawn independently", with_draws(_independent), 2000),
        ("model and treating all drawn independently", with_draws(_independent_of_treating_all), 1000),
        ("false positives weighed by t", with_draws(_wrong_odds), 4000),
    )
)
