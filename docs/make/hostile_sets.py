"""Populations on which intervals of the ECE have failed or may fail, by cause; see `lists`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayescal import equal_mass_edges
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]
Sampler = Callable[[np.random.Generator, int], Floats]
Curve = Callable[[Floats], Floats]
#: Number of confidences from which the true ECE is computed.
TRUTH_ROWS = 1_000_000


@dataclass(frozen=True)
class TestSet:
    """A kind of test set: source of confidences, true curve, and how rows are counted.

    Parameters
    ----------
    name : str
        What the row of the table is called.
    n_rows : int
        Rows per data set.
    sample : callable
        (rng, n_rows) -> confidences.
    curve : callable
        Confidences -> probabilities of outcome 1.
    bins : int
        Number of bins.
    binning : {"equal-width", "equal-mass"}
        Edges; those of equal mass are taken from each data set.
    weights : callable, optional
        (rng, n_rows) -> importance weights, independent of the rest.
    cause : str
        Why an interval may fail.
    """

    __test__ = False  # pytest collects classes whose name begins with Test

    name: str
    n_rows: int
    sample: Sampler
    curve: Curve
    bins: int = 15
    binning: str = "equal-width"
    weights: Sampler | None = None
    cause: str = ""

    @cached_property
    def _reference(self) -> tuple[Floats, Floats]:
        confidence = self.sample(np.random.default_rng(0), TRUTH_ROWS)
        return confidence, self.curve(confidence) - confidence

    @cached_property
    def _fixed_truth(self) -> float:
        return self._true_ece(np.linspace(0, 1, self.bins + 1))

    def _true_ece(self, edges: Floats) -> float:
        confidence, gap = self._reference
        index = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)
        return float(np.abs(np.bincount(index, gap)).sum() / len(gap))

    def draw(self, rng: np.random.Generator) -> tuple[BinnedCounts, float]:
        """Draw one data set; return its counts and the true ECE on its bins."""
        confidence = self.sample(rng, self.n_rows)
        outcome = rng.random(self.n_rows) < self.curve(confidence)
        weights = None if self.weights is None else self.weights(rng, self.n_rows)
        if self.binning == "equal-width":
            return BinnedCounts.from_arrays(outcome, confidence, bins=self.bins, weights=weights), self._fixed_truth
        edges = equal_mass_edges(confidence, self.bins)
        counts = BinnedCounts.from_arrays(outcome, confidence, bins=edges, weights=weights)
        return counts, self._true_ece(edges)


# ------------------------------------------------------------------------------------------------ confidences
def beta(a: float, b: float, low: float = 0.0) -> Sampler:
    """Draw from low + (1 - low) Beta(a, b)."""
    return lambda rng, n: low + (1 - low) * rng.beta(a, b, n)


def values(levels: list[float], share: list[float] | None = None) -> Sampler:
    """Draw from a few values, as language models state them."""
    return lambda rng, n: rng.choice(levels, n, p=share)


def normal_logits(mean: float, sd: float) -> Sampler:
    """Draw confidences with Normal logits."""
    return lambda rng, n: expit(rng.normal(mean, sd, n))


def _modern(rng: np.random.Generator, n: int) -> Floats:
    return np.where(rng.random(n) < 0.9, 1 - 0.01 * rng.random(n) ** 3, 0.5 + 0.5 * rng.random(n))


def ends(margin: float, saturated: float = 1.0) -> Sampler:
    """Draw a share of the rows within `margin` of 0 or 1, in equal numbers, and the others uniformly."""

    def sample(rng: np.random.Generator, n: int) -> Floats:
        at_ends = np.where(rng.random(n) < 0.5, margin, 1 - margin)
        return np.where(rng.random(n) < saturated, at_ends, rng.random(n))

    return sample


def votes(rng: np.random.Generator, n: int) -> Floats:
    """Draw shares of 100 trees, often unanimous."""
    return np.round(100 * rng.beta(0.5, 0.5, n)) / 100


TOP, FLAT, RARE = beta(2, 0.6, 0.5), beta(1, 1), beta(0.5, 4)
CLICKS = normal_logits(-5.5, 0.9)


# ------------------------------------------------------------------------------------------------ true curves
def _logit(c: Floats) -> Floats:
    return logit(np.clip(c, 1e-9, 1 - 1e-9))


def exact(c: Floats) -> Floats:
    """Calibrated."""
    return c


def temperature(t: float) -> Curve:
    """Logits divided by t."""
    return lambda c: expit(_logit(c) / t)


def shift(delta: float) -> Curve:
    """Logits plus delta."""
    return lambda c: expit(_logit(c) + delta)


def times(factor: float) -> Curve:
    """Probabilities times a factor."""
    return lambda c: np.minimum(factor * c, 1)


def noise(share: float, positive: float = 0.5) -> Curve:
    """A share of the labels is independent of the confidence."""
    return lambda c: (1 - share) * c + share * positive


def constant(value: float) -> Curve:
    """The accuracy does not depend on the confidence."""
    return lambda c: np.full_like(c, value)


def wave(size: float, periods: float = 4) -> Curve:
    """Accuracies deviate by a sine wave."""
    return lambda c: np.clip(c + size * np.sin(2 * np.pi * periods * c), 0, 1)


def board(size: float, bins: int = 15, every: int = 1) -> Curve:
    """The first of every `every` bins is off, by the same amount with alternating signs."""

    def curve(c: Floats) -> Floats:
        b = np.minimum((bins * c).astype(int), bins - 1)
        sign = np.where(b // every % 2 == 0, 1.0, -1.0) * (b % every == 0)
        return np.clip(c + size * sign, 0, 1)

    return curve


def runs(size: float, *stretches: tuple[float, float]) -> Curve:
    """Accuracies are lower by `size` on some intervals of confidence."""

    def curve(c: Floats) -> Floats:
        inside = np.any([(c >= low) & (c < high) for low, high in stretches], axis=0)
        return np.clip(c - size * inside, 0, 1)

    return curve


def wrong_ends(share: float, margin: float = 1e-4) -> Curve:
    """Rows within `margin` of 0 or 1 are wrong with this probability; all others are calibrated."""

    def curve(c: Floats) -> Floats:
        return np.where(c <= margin, share, np.where(c >= 1 - margin, 1 - share, c))

    return curve


def steps(c: Floats) -> Floats:
    """Accuracies take five values only."""
    return (np.floor(5 * np.minimum(c, 0.999)) + 0.5) / 5


def u_shaped(c: Floats) -> Floats:
    """Too high at both ends of the range and too low in the middle."""
    return np.clip(c + 0.4 * ((c - 0.5) ** 2 - 1 / 12), 0, 1)


def ones_wrong(accuracy: float) -> Curve:
    """Only a stated 1.0 is wrong."""
    return lambda c: np.where(c >= 1, accuracy, c)


def _pareto(rng: np.random.Generator, n: int) -> Floats:
    return 1 + rng.pareto(1.5, n)


def _lognormal(rng: np.random.Generator, n: int) -> Floats:
    return rng.lognormal(0, 1.2, n)


FOUR = values([0.7, 0.8, 0.9, 0.95])
FIVE = values([0.5, 0.7, 0.8, 0.9, 1.0])
GRID = values([k / 15 for k in range(16)])
HUNDREDTHS = values([k / 100 for k in range(101)])
RANDOM, SATURATION, NOISE = "accuracy unrelated to confidence", "saturated confidences", "noisy labels"
RESIDUALS, FEW, WEIGHTS = "unrelated errors of many bins", "few rows", "heavy-tailed weights"
DRIFT, NARROW, EXACT = "smooth drift", "few distinct confidences", "exactly calibrated"

#: The audit of release 0.1.0.
AUDIT = [
    TestSet("100 bins, calibrated", 2000, FLAT, exact, 100, cause="many bins"),
    TestSet("ends 0/1, 0.2 % wrong", 1000, ends(0), wrong_ends(0.002), cause=SATURATION),
    TestSet("100 bins, alternating by 0.1", 5000, FLAT, board(0.1, 100), 100, cause=RESIDUALS),
    TestSet("flat, uninformative classifier", 50, FLAT, constant(0.5), cause=RANDOM),
    TestSet("flat, uninformative classifier", 2000, FLAT, constant(0.5), cause=RANDOM),
    TestSet("modern, noise 2 %", 10_000, _modern, noise(0.02), cause=NOISE),
    TestSet("rare, noise 5 %", 20_000, RARE, noise(0.05), cause=NOISE),
    TestSet("flat, half of the bins off by 0.04", 20_000, FLAT, board(0.04, 15, 2), cause=RESIDUALS),
    TestSet("flat, noise 10 %", 2000, FLAT, noise(0.1), cause=NOISE),
    TestSet("rare, shift -2.2", 5000, RARE, shift(-2.2), cause="large shift"),
    TestSet("confidences k/15, temperature 1.5", 1000, GRID, temperature(1.5), cause=NARROW),
    TestSet("flat, alternating by 0.005", 1_000_000, FLAT, board(0.005), cause=RESIDUALS),
    TestSet("flat, Pareto weights, temperature 1.5", 2000, FLAT, temperature(1.5), weights=_pareto, cause=WEIGHTS),
    TestSet("top, equal mass, wave 0.05", 2000, TOP, wave(0.05), binning="equal-mass", cause=DRIFT),
    TestSet("flat, shift -2.2", 2000, FLAT, shift(-2.2), cause="large shift"),
    TestSet("clicks, probabilities times 1.2", 100_000, CLICKS, times(1.2), cause=DRIFT),
    TestSet("clicks, equal mass, times 1.2", 100_000, CLICKS, times(1.2), binning="equal-mass", cause=DRIFT),
    TestSet("flat, 2 bins, temperature 1.5", 1000, FLAT, temperature(1.5), 2, cause="few bins"),
    TestSet("top, temperature 3", 5000, TOP, temperature(3), cause=DRIFT),
    TestSet("flat, temperature 1.5", 50, FLAT, temperature(1.5), cause=FEW),
    TestSet("votes k/100, temperature 1.5", 2000, HUNDREDTHS, temperature(1.5), cause=NARROW),
    TestSet("votes, unanimous ones 1 % wrong", 2000, votes, wrong_ends(0.01), cause=SATURATION),
    TestSet("naive Bayes (logit sd 8), 1 % noise", 2000, normal_logits(0, 8), noise(0.01), cause=SATURATION),
    TestSet("four values, overconfident", 2000, FOUR, lambda c: c - 0.14, cause=NARROW),
    TestSet("five values, not monotone", 1000, FIVE, lambda c: np.where(c == 0.8, 0.6, c * 0.97), cause=NARROW),
    TestSet(
        "clicks, equal mass, slope 0.8",
        100_000,
        CLICKS,
        lambda c: expit(0.8 * _logit(c) - 1.1),
        binning="equal-mass",
        cause=DRIFT,
    ),
    TestSet("modern, temperature 1.5", 1000, _modern, temperature(1.5), cause=DRIFT),
    TestSet("modern, temperature 1.5", 10_000, _modern, temperature(1.5), cause=DRIFT),
    TestSet("flat, temperature 1.05", 1_000_000, FLAT, temperature(1.05), cause=DRIFT),
    TestSet("flat, error in the shape of a U", 2000, FLAT, u_shaped, cause=RESIDUALS),
    TestSet("flat, never right in 0.2 to 0.3", 500, FLAT, runs(0.3, (0.2, 0.3)), cause="one bad stretch"),
    TestSet("flat, lognormal weights, calibrated", 2000, FLAT, exact, weights=_lognormal, cause=WEIGHTS),
    TestSet("flat, outcomes reversed", 500, FLAT, lambda c: 1 - c, cause=RANDOM),
    TestSet("flat, temperature 3", 1000, FLAT, temperature(3), cause=DRIFT),
    TestSet("flat, five steps", 2000, FLAT, steps, cause=RESIDUALS),
    TestSet("flat, accuracy 0.1 + 0.9 c", 2000, FLAT, noise(0.1, 1.0), cause=NOISE),
    TestSet("four values, overconfident", 200, FOUR, lambda c: c - 0.14, cause=NARROW),
    TestSet("clicks, calibrated", 100_000, CLICKS, exact, cause=EXACT),
    TestSet("modern, calibrated", 1000, _modern, exact, cause=EXACT),
    TestSet("top, noise 5 %", 2000, TOP, noise(0.05), cause=NOISE),
    TestSet("flat, 3 bins, temperature 1.5", 300, FLAT, temperature(1.5), 3, cause="few bins"),
    TestSet("flat, 5 bins, wave 0.05", 2000, FLAT, wave(0.05), 5, cause="few bins"),
    TestSet("flat, equal mass, calibrated", 500, FLAT, exact, binning="equal-mass", cause=EXACT),
    TestSet("naive Bayes (logit sd 8), temperature 3", 1000, normal_logits(0, 8), temperature(3), cause=SATURATION),
    TestSet("flat, alternating by 0.05", 2000, FLAT, board(0.05), cause=RESIDUALS),
    TestSet("flat, half of the bins off by 0.04", 2000, FLAT, board(0.04, 15, 2), cause=RESIDUALS),
    TestSet("five values, 1.0 is right in 0.98", 500, FIVE, ones_wrong(0.98), cause=SATURATION),
    TestSet("five values, 1.0 is right in 0.995", 1000, FIVE, ones_wrong(0.995), cause=SATURATION),
    TestSet("clicks, equal mass, calibrated", 100_000, CLICKS, exact, binning="equal-mass", cause=EXACT),
    TestSet("flat, 2 bins, calibrated", 300, FLAT, exact, 2, cause=EXACT),
    TestSet("flat, 100 bins, temperature 1.5", 2000, FLAT, temperature(1.5), 100, cause="many bins"),
    TestSet("top, shift -0.5", 50, TOP, shift(-0.5), cause=FEW),
]
#: Ten further populations, which were not used while the model was developed.
FURTHER = [
    TestSet("half of the rows 0/1, 2 % wrong", 1000, ends(0, 0.5), wrong_ends(0.02), cause=SATURATION),
    TestSet("a fifth of the rows 0/1, 2 % wrong", 1000, ends(0, 0.2), wrong_ends(0.02), cause=SATURATION),
    TestSet("flat, two bad stretches", 2000, FLAT, runs(0.12, (0.1, 0.3), (0.6, 0.75)), cause="bad stretches"),
    TestSet("flat, two bad stretches", 20_000, FLAT, runs(0.04, (0.1, 0.3), (0.6, 0.75)), cause="bad stretches"),
    TestSet("flat, 40 bins, a third off by 0.05", 5000, FLAT, board(0.05, 40, 3), 40, cause=RESIDUALS),
    TestSet("top, saw-tooth of 0.04, 25 bins", 10_000, TOP, board(0.04, 50, 1), 25, cause="errors within bins"),
    TestSet("flat, 10 bins, accuracy 0.3", 500, FLAT, constant(0.3), 10, cause=RANDOM),
    TestSet("rare, 25 equal-mass bins, noise 2 %", 5000, RARE, noise(0.02), 25, "equal-mass", cause=NOISE),
    TestSet(
        "U-shaped confidences, temperature 1.2, noise 3 %",
        5000,
        beta(0.5, 0.5),
        lambda c: noise(0.03)(temperature(1.2)(c)),
        cause="drift and noise together",
    ),
    TestSet("flat, wave 0.02, 8 periods", 20_000, FLAT, wave(0.02, 8), cause=RESIDUALS),
]
#: Saturated and noisy data.
SATURATED = [
    TestSet("ends 0/1, 0.2 % wrong", 1000, ends(0), wrong_ends(0.002)),
    TestSet("ends 0/1, 0.2 % wrong", 4000, ends(0), wrong_ends(0.002)),
    TestSet("ends 0/1, 2 % wrong", 1000, ends(0), wrong_ends(0.02)),
    TestSet("ends 0/1, 0 % wrong", 1000, ends(0), wrong_ends(0.0)),
    TestSet("ends 0/1, 1 % wrong", 200, ends(0), wrong_ends(0.01)),
    TestSet("ends within 1e-6, 0.2 % wrong", 1000, ends(1e-6), wrong_ends(0.002, 2e-6)),
    TestSet("ends within 1e-5, 0.2 % wrong", 1000, ends(1e-5), wrong_ends(0.002, 2e-5)),
    TestSet("ends within 1e-4, 0.2 % wrong", 1000, ends(1e-4), wrong_ends(0.002, 2e-4)),
    TestSet("ends within 1e-3, 0.2 % wrong", 1000, ends(1e-3), wrong_ends(0.002, 2e-3)),
    TestSet("ends within 1e-3, 1 % wrong", 1000, ends(1e-3), wrong_ends(0.01, 2e-3)),
    TestSet("one end only, 1 % wrong", 1000, ends(0), lambda c: np.where(c > 0.5, 0.99, 0.0)),
    TestSet("half at the ends (1 % wrong), half flat", 2000, ends(0, 0.5), wrong_ends(0.01)),
    TestSet("half at the ends, half flat, calibrated", 2000, ends(0, 0.5), exact),
    TestSet("five values, 1.0 is right in 0.98", 500, FIVE, ones_wrong(0.98)),
    TestSet("five values, 1.0 is right in 0.995", 1000, FIVE, ones_wrong(0.995)),
    TestSet("votes, unanimous ones 1 % wrong", 2000, votes, wrong_ends(0.01)),
    TestSet("naive Bayes (logit sd 8), 1 % noise", 2000, normal_logits(0, 8), noise(0.01)),
    TestSet("top, noise 5 %", 2000, TOP, noise(0.05)),
    TestSet("flat, noise 10 %", 2000, FLAT, noise(0.1)),
    TestSet("rare, noise 5 %", 20_000, RARE, noise(0.05)),
    TestSet("modern, noise 2 %", 10_000, _modern, noise(0.02)),
    TestSet("top, temperature 1.5 and noise 4 %", 5000, TOP, lambda c: noise(0.04)(temperature(1.5)(c))),
    TestSet("flat, accuracy 0.1 + 0.9 c", 2000, FLAT, noise(0.1, 1.0)),
    TestSet("flat, error in the shape of a U", 2000, FLAT, u_shaped),
]
#: Exactly calibrated in many bins, and uninformative classifiers.
MANY_BINS = [
    *[TestSet(f"{m} bins, calibrated", 2000, FLAT, exact, m) for m in (2, 15, 30, 50, 100, 300)],
    *[TestSet(f"accuracy {a:g}", n, FLAT, constant(a)) for a, n in ((0.5, 50), (0.5, 2000), (0.3, 2000), (0.7, 300))],
]
#: A million rows.
MILLION = [
    TestSet("calibrated", 1_000_000, FLAT, exact),
    TestSet("all bins off by 0.0005", 1_000_000, FLAT, board(0.0005)),
    TestSet("all bins off by 0.002", 1_000_000, FLAT, board(0.002)),
]


def lists() -> dict[str, Any]:
    """Return all lists by name."""
    return {"audit": AUDIT, "further": FURTHER, "saturated": SATURATED, "many bins": MANY_BINS, "million": MILLION}
