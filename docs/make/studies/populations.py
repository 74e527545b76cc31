"""Populations of scores as models state them, with known true curves, for studies of coverage.

Scores of networks, gradient boosting, trees, language models and recalibrated classifiers; errors that are smooth,
local, tiny, of one sign or of two. The true values are sums over a grid of quantiles, see `true_values`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.special import betaincinv, expit, gammaincinv, ndtri

Floats = NDArray[np.float64]
#: Shares in (0, 1) -> scores below which these shares lie.
Quantile = Callable[[Floats], Floats]
#: Values -> values of the same shape.
Function = Callable[[Floats], Floats]

#: Quantiles that represent a population, and those that represent one of many recalibrated classifiers.
GRID, RECALIBRATED_GRID = 200_000, 40_000
#: Distance that scores keep from 0 and 1 before their logit is taken.
MARGIN = 1e-12
#: Rows to which a recalibration is fitted.
FITTED_ROWS = 500
#: Mean and standard deviation of the raw scores of a classifier that is recalibrated.
RAW = (0.3, 1.6)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Distribution as a mixture of parts, each given by its quantiles.

    Parameters
    ----------
    parts : sequence of (float, callable)
        Share and quantile function of each part; the shares sum to 1.

    Examples
    --------
    Two thirds of the values are uniform on [0, 1], and the others are 5:

    >>> mixture = Mixture(((2 / 3, lambda u: u), (1 / 3, lambda u: np.full_like(u, 5.0))))
    >>> mixture.grid(3)
    array([0.25, 0.75, 5.  ])
    """

    parts: Sequence[tuple[float, Quantile]]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Draw values, shape (n_rows,), by inversion."""
        part = rng.choice(len(self.parts), n_rows, p=[share for share, _ in self.parts])
        values, uniform = np.empty(n_rows), rng.random(n_rows)
        for i, (_, quantile) in enumerate(self.parts):
            values[part == i] = quantile(uniform[part == i])
        return values

    def grid(self, size: int) -> Floats:
        """Return values of which each stands for an equal share of the distribution; about `size` of them."""
        counts = [round(share * size) for share, _ in self.parts]
        return np.concatenate(
            [quantile((np.arange(n) + 0.5) / n) for n, (_, quantile) in zip(counts, self.parts, strict=True)]
        )


@dataclass(frozen=True, eq=False)
class Classifier:
    """A classifier whose scores and true probabilities follow from a latent variable.

    Parameters
    ----------
    latent : Mixture
        Distribution of the latent variable; for most populations the score itself.
    score, probability : callable
        Score and probability of the event at values of the latent variable.
    curve : callable or None
        Probability of the event among rows with a score; None if it has jumps nearly everywhere.
    size : int, default 200000
        Number of quantiles that represent the population.
    """

    latent: Mixture
    score: Function
    probability: Function
    curve: Function | None
    size: int = GRID

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
        """Draw outcomes and scores, each of shape (n_rows,)."""
        latent = self.latent.sample(n_rows, rng)
        return (rng.random(n_rows) < self.probability(latent)).astype(np.int64), self.score(latent)

    @cached_property
    def grid(self) -> tuple[Floats, Floats]:
        """Scores and probabilities that represent equal shares of the population."""
        latent = self.latent.grid(self.size)
        return self.score(latent), self.probability(latent)


@dataclass(frozen=True, eq=False)
class Population:
    """A kind of classifier, and the settings with which a study measures it.

    Parameters
    ----------
    name : str
        Name in tables.
    classifier : callable
        ``rng -> Classifier``; every call returns the same one unless `varies`.
    thresholds : (float, float)
        Thresholds of decisions.
    at : tuple of float
        Scores, away from jumps of the curve, at which the pointwise band is measured.
    sizes : (int, int), default (500, 5000)
        Numbers of rows.
    varies : bool, default False
        Whether every data set has a classifier of its own.

    Examples
    --------
    >>> population = population_of("leaves, calibrated")
    >>> outcome, score = population.classifier(np.random.default_rng(1)).draw(500, np.random.default_rng(2))
    >>> len(np.unique(score)), population.thresholds
    (12, (0.1, 0.3))
    """

    name: str
    classifier: Callable[[np.random.Generator], Classifier]
    thresholds: tuple[float, float]
    at: tuple[float, ...]
    sizes: tuple[int, int] = (500, 5000)
    varies: bool = field(default=False)


def population_of(name: str) -> Population:
    """Return a population by its name.

    Parameters
    ----------
    name : str
        One of the names in `POPULATIONS`.

    Returns
    -------
    Population
        The population.
    """
    return next(population for population in POPULATIONS if population.name == name)


# ------------------------------------------------------------------------------------------------ quantiles
def beta(a: float, b: float) -> Quantile:
    """Quantiles of Beta(a, b)."""

    def quantile(share: Floats) -> Floats:
        return np.asarray(betaincinv(a, b, share))

    return quantile


def normal(mean: float, sd: float) -> Quantile:
    """Quantiles of Normal(mean, sd)."""

    def quantile(share: Floats) -> Floats:
        return np.asarray(mean + sd * ndtri(share))

    return quantile


def levels(values: Sequence[float], shares: Sequence[float]) -> Mixture:
    """Return a distribution of a few values."""
    return Mixture([(share, _constant(value)) for value, share in zip(values, shares, strict=True)])


def _constant(value: float) -> Quantile:
    return lambda share: np.full_like(share, value)


def _uniform(low: float, high: float) -> Quantile:
    return lambda share: low + (high - low) * share


def _gamma(shape: float, scale: float, low: float) -> Quantile:
    def quantile(share: Floats) -> Floats:
        return np.asarray(low + scale * gammaincinv(shape, share))

    return quantile


def _expit_of(quantile: Quantile) -> Quantile:
    return lambda share: expit(quantile(share))


def logit(p: Floats) -> Floats:
    """Return log(p / (1 - p)), of probabilities at least 1e-12 away from 0 and 1."""
    return np.asarray(special.logit(np.clip(p, MARGIN, 1 - MARGIN)))


# ------------------------------------------------------------------------------------------------ true curves
def exact(c: Floats) -> Floats:
    """Calibrated."""
    return c


def logistic(intercept: float, slope: float) -> Function:
    """Logits times a slope, plus an intercept."""
    return lambda c: expit(intercept + slope * logit(c))


def lower_above(start: float, amount: float) -> Function:
    """Calibrated up to a score, and lower by an amount above."""
    return lambda c: np.where(c > start, c - amount, c)


def constant_error(amount: float) -> Function:
    """Add an amount to every score, and clip to [0, 1]."""
    return lambda c: np.clip(c + amount, 0, 1)


def by_side(below: Function, above: Function) -> Function:
    """Curves below 0.5, and from 0.5 on."""
    return lambda c: np.where(c < 0.5, below(c), above(c))


def one_wave(size: float) -> Function:
    """Deviate by one period of a sine."""
    return lambda c: np.clip(c + size * np.sin(2 * np.pi * c), 0, 1)


def rates(values: Sequence[float], of: Sequence[float]) -> Function:
    """Event rate of each of a few values."""
    known, rate = np.array(values), np.array(of)
    return lambda c: rate[np.searchsorted(known, c)]


def two_shifts(c: Floats) -> Floats:
    """Halves of the rows with scores Beta(2, 5) and Beta(5, 2), whose logits are 0.5 too low and 0.5 too high."""
    first, second = c * (1 - c) ** 4, c**4 * (1 - c)
    share = np.divide(first, first + second, out=np.full_like(c, 0.5), where=first + second > 0)
    return share * logistic(0.5, 1)(c) + (1 - share) * logistic(-0.5, 1)(c)


# ------------------------------------------------------------------------------------------------ recalibrated
def of_raw(x: Floats) -> Floats:
    """Probability of the event at a raw score, which no intercept and slope describe."""
    return expit(-0.2 + 0.9 * x + 0.12 * x * np.abs(x))


def platt(rng: np.random.Generator) -> Classifier:
    """Logistic regression on the raw scores of 500 rows, by maximum likelihood."""
    x, z = _raw_rows(rng)
    design, coefficients = np.column_stack([np.ones_like(x), x]), np.zeros(2)
    for _ in range(30):
        fitted = expit(design @ coefficients)
        information = (design * (fitted * (1 - fitted))[:, None]).T @ design
        coefficients = coefficients + np.linalg.solve(information, design.T @ (z - fitted))
    a, b = coefficients
    return _recalibrated(lambda raw: expit(a + b * raw), lambda c: of_raw((logit(c) - a) / b))


def isotonic(rng: np.random.Generator) -> Classifier:
    """Isotonic regression on the raw scores of 500 rows; results have three decimals."""
    from bayescal.analyses.recalibrators import IsotonicRecalibration

    x, z = _raw_rows(rng)
    fitted = IsotonicRecalibration().fit(expit(x), z)
    places = logit(fitted.probability_)
    return _recalibrated(lambda raw: np.round(np.interp(raw, places, fitted.recalibrated_), 3), None)


def _raw_rows(rng: np.random.Generator) -> tuple[Floats, Floats]:
    x = rng.normal(*RAW, FITTED_ROWS)
    return x, (rng.random(FITTED_ROWS) < of_raw(x)).astype(np.float64)


def _recalibrated(score: Function, curve: Function | None) -> Classifier:
    return Classifier(Mixture([(1.0, normal(*RAW))]), score, of_raw, curve, RECALIBRATED_GRID)


# ------------------------------------------------------------------------------------------------ the list
def _fixed(
    name: str,
    scores: Mixture | Quantile,
    curve: Function,
    thresholds: tuple[float, float],
    at: tuple[float, ...],
    sizes: tuple[int, int] = (500, 5000),
) -> Population:
    latent = scores if isinstance(scores, Mixture) else Mixture([(1.0, scores)])
    classifier = Classifier(latent, exact, curve, curve)
    return Population(name, lambda rng: classifier, thresholds, at, sizes)


#: A network of which nine tenths of the rows have scores above 0.99.
NETWORK = Mixture([(0.9, _expit_of(_gamma(2, 1.6, 4.6))), (0.1, _expit_of(_uniform(0.2, 4.6)))])
#: The leaves of one tree.
LEAVES = levels(
    (0.03, 0.07, 0.12, 0.18, 0.27, 0.34, 0.46, 0.55, 0.63, 0.74, 0.88, 0.95),
    (0.2, 0.14, 0.12, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02),
)
#: Probabilities that a language model states, and how often it is right.
WORDS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)
WORD_SHARES = (0.04, 0.06, 0.12, 0.14, 0.2, 0.26, 0.1, 0.08)
OVERCONFIDENT = (0.38, 0.52, 0.6, 0.66, 0.71, 0.79, 0.86, 0.9)
#: Gradient boosting that gives seven tenths of the rows a default.
DEFAULT_HEAVY = Mixture([(0.7, _constant(0.02)), (0.3, beta(1.2, 6))])
TWO_GROUPS = Mixture([(0.5, beta(2, 5)), (0.5, beta(5, 2))])

OF_NETWORK, OF_WORDS, MIDDLE = (0.9, 0.99), (0.75, 0.92), (0.3, 0.7)
AT_NETWORK, AT_WORDS, AT_ALL = (0.8, 0.95, 0.99, 0.995, 0.9995), (0.5, 0.8, 0.9, 0.95, 0.99), (0.1, 0.3, 0.5, 0.7, 0.9)
AT_SIDES = (0.1, 0.3, 0.4, 0.6, 0.9)

POPULATIONS = (
    _fixed("network, temperature 1.7", NETWORK, logistic(0, 1 / 1.7), OF_NETWORK, AT_NETWORK),
    _fixed("network, calibrated", NETWORK, exact, OF_NETWORK, AT_NETWORK),
    _fixed("network, 0.004 too high above 0.999", NETWORK, lower_above(0.999, 0.004), OF_NETWORK, AT_NETWORK),
    _fixed("0.12 too high above 0.9", beta(2, 1.2), lower_above(0.9, 0.12), MIDDLE, (0.2, 0.4, 0.6, 0.8, 0.95)),
    _fixed("leaves, calibrated", LEAVES, exact, (0.1, 0.3), (0.03, 0.12, 0.27, 0.55, 0.88)),
    _fixed("two groups, opposite shifts", TWO_GROUPS, two_shifts, MIDDLE, AT_ALL),
    _fixed("words, over-confident", levels(WORDS, WORD_SHARES), rates(WORDS, OVERCONFIDENT), OF_WORDS, AT_WORDS),
    _fixed(
        "words, calibrated but 1.0 is 0.97",
        levels(WORDS, WORD_SHARES),
        rates(WORDS, (*WORDS[:-1], 0.97)),
        OF_WORDS,
        AT_WORDS,
    ),
    _fixed(
        "rare events, shift 0.35",
        _expit_of(normal(-6, 1.1)),
        logistic(0.35, 1),
        (0.01, 0.03),
        (0.0005, 0.0025, 0.01, 0.02, 0.05),
        (5000, 20_000),
    ),
    _fixed("all 0.003 too high", beta(1.5, 1.5), constant_error(-0.003), MIDDLE, AT_ALL, (5000, 100_000)),
    _fixed(
        "jump at 0.5 by 0.16",
        beta(1.5, 1.5),
        by_side(constant_error(0.08), constant_error(-0.08)),
        MIDDLE,
        AT_SIDES,
    ),
    _fixed(
        "default-heavy, slope 0.85", DEFAULT_HEAVY, logistic(0.15, 0.85), (0.05, 0.15), (0.02, 0.05, 0.15, 0.3, 0.5)
    ),
    _fixed("one wave of 0.04", beta(1.5, 1.5), one_wave(0.04), MIDDLE, (0.1, 0.25, 0.5, 0.75, 0.9)),
    _fixed(
        "opposite sides, -20 % and +25 %",
        beta(1.3, 1.3),
        by_side(lambda c: 0.8 * c, lambda c: c + 0.25 * (1 - c)),
        MIDDLE,
        AT_SIDES,
        (750, 3000),
    ),
    Population("logistic recalibration on 500 rows", platt, MIDDLE, (0.2, 0.4, 0.5, 0.6, 0.8), varies=True),
    Population("isotonic recalibration on 500 rows", isotonic, MIDDLE, (), varies=True),
)
