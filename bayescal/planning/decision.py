"""The choice of a strategy after a validation: probability of the best one, and value of the information."""

from dataclasses import dataclass

import numpy as np

from bayescal._arrays import Floats, Generator

#: Simulated studies of each size, the ratio of neighbouring sizes, and the smallest size.
STUDIES, RATIO, SMALLEST_STUDY = 40_000, 1.25, 20
NO_VALUE = 1e-9  #: Net benefit per row below which information has no value.


@dataclass(frozen=True, eq=False)
class Decision:
    """Treat none, by the model, or all, at a threshold with the given odds; arrays have one value per truth."""

    odds: float
    prevalence: Floats
    true_positive: Floats
    false_positive: Floats

    def net_benefits(self, shares: tuple[Floats, Floats, Floats] | None = None) -> Floats:
        """Net benefits per row, shape (n_truths, 3): true ones, or those of observed shares."""
        phi, true, false = shares or (self.prevalence, self.true_positive, self.false_positive)
        return np.stack([np.zeros_like(phi), true - self.odds * false, phi - self.odds * (1 - phi)], axis=1)

    @property
    def best(self) -> Floats:
        """Probability of each strategy that it is the best; the first of equal ones counts."""
        return np.bincount(self.net_benefits().argmax(axis=1), minlength=3) / len(self.prevalence)

    @property
    def evpi(self) -> float:
        """Expected value of perfect information: mean of the largest net benefit minus the largest mean."""
        return float(self.net_benefits().max(axis=1).mean() - self.net_benefits().mean(axis=0).max())

    def after(self, n: int, rng: Generator) -> tuple[float, float]:
        """Probability that a study of n rows finds the best strategy, and the expected value of its information.

        The study chooses the largest observed net benefit, as in Sadatsafavi et al. (2025).
        """
        benefits = self.net_benefits()
        index = np.resize(np.arange(len(benefits)), max(STUDIES, len(benefits)))
        phi, true, false = (of[index] for of in (self.prevalence, self.true_positive, self.false_positive))
        events = rng.binomial(n, phi)
        positive = [
            rng.binomial(of, np.clip(p, 0, 1)) for of, p in ((events, true / phi), (n - events, false / (1 - phi)))
        ]
        reached = benefits[index, self.net_benefits((events / n, positive[0] / n, positive[1] / n)).argmax(axis=1)]
        right = float(np.mean(reached >= benefits.max(axis=1)[index] - 1e-12))
        return right, float(reached.mean() - benefits[index].mean(axis=0).max())

    def curves(self, largest: int, rng: Generator) -> dict[int, tuple[float, float]]:
        """`after` at sizes up to the largest."""
        number = 2 + int(np.log(max(largest / SMALLEST_STUDY, 1)) / np.log(RATIO))
        sizes = np.unique(np.geomspace(min(SMALLEST_STUDY, largest), largest, number).astype(int)).tolist()
        return {n: self.after(n, rng) for n in sizes}


def first_above(curve: dict[int, float], target: float) -> int | None:
    """Rows from which on a curve is at least the target, interpolated in the log of the rows; None if it is not."""
    sizes, values = np.array(list(curve)), np.array(list(curve.values()))
    below = np.flatnonzero(values < target)
    last = int(below[-1]) if len(below) else -1
    if last < 0 or last + 1 == len(sizes):
        return int(sizes[0]) if last < 0 else None
    ends = slice(last, last + 2)
    return int(np.ceil(np.exp(np.interp(target, values[ends], np.log(sizes[ends])))))
