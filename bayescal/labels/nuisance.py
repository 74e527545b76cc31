"""Sensitivity and specificity of a judge given checked rows, and proposals for importance sampling of parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit, gammaln, logit, logsumexp

from bayescal._arrays import Floats, Generator

#: Degrees of freedom of t proposals, and their standard deviations relative to the estimated ones.
DEGREES, WIDER = 5.0, 1.4
#: Weights of a proposal are flattened, by this power at a time, until so many values per parameter count.
POWER, COUNTING = 0.7, 2.5
#: Least and largest curvature, and step of its differences, at the mode under exact calibration.
LEAST_CURVATURE, MOST_CURVATURE, STEP = 0.05, 1e7, 0.02
#: Negative log density where it is not defined, and the gradient at which the search for the mode ends.
OUTSIDE, GRADIENT = 1e9, 1e-3
#: Nodes of a probability, and least distance of drawn rates from 0 and 1.
NODES, LEAST = 400, 1e-9


class Proposal(Protocol):
    """A distribution of parameters on an unbounded scale, eta of shape (n_values, n_parameters)."""

    def draw(self, size: int, rng: Generator) -> Floats:
        """Draw values."""

    def log_density(self, eta: Floats) -> Floats:
        """Return the log density of values."""


@dataclass(frozen=True, eq=False)
class JudgeRates:
    """Sensitivity and specificity of each stratum: a uniform prior on s + p > 1, times the checked rows.

    The unbounded scale is that of logits, sensitivities first.
    """

    table: Floats  # checked rows with (true label, judge's label) (1, 1), (1, 0), (0, 0), (0, 1); (n_strata, 4)
    judged: Floats  # all rows that the judge labels 1 and 0, shape (n_strata, 2)

    @cached_property
    def right(self) -> Floats:
        """First parameters of the Beta distributions without the constraint, shape (2, n_strata)."""
        return np.asarray(1 + self.table[:, [0, 2]].T)

    @cached_property
    def wrong(self) -> Floats:
        """Second parameters of the Beta distributions."""
        return np.asarray(1 + self.table[:, [1, 3]].T)

    def rates(self, eta: Floats) -> Floats:
        """Return sensitivities and specificities, shape (..., 2, n_strata)."""
        return np.asarray(expit(eta)).reshape(*eta.shape[:-1], 2, len(self.table))

    def log_density(self, eta: Floats) -> Floats:
        """Return the log density of eta given the checked rows alone, up to the constant of the constraint."""
        x = eta.reshape(*eta.shape[:-1], 2, len(self.table))
        value = -self.right * np.logaddexp(0, -x) - self.wrong * np.logaddexp(0, x) - betaln(self.right, self.wrong)
        return np.where((self.rates(eta).sum(axis=-2) > 1).all(axis=-1), value.sum(axis=(-1, -2)), -np.inf)

    def draw(self, size: int, rng: Generator) -> Floats:
        """Draw from the Beta distributions without the constraint; values that violate it have weight 0."""
        rates = np.clip(rng.beta(self.right, self.wrong, (size, *self.right.shape)), LEAST, 1 - LEAST)
        return np.asarray(logit(rates).reshape(size, -1))

    @property
    def start(self) -> Floats:
        """Means of the rates, on the unbounded scale."""
        return np.asarray(logit(self.right / (self.right + self.wrong)).ravel())

    @cached_property
    def verified(self) -> "Verified":
        """Proposal for checked rows that were chosen by the judge's label."""
        return Verified(self.table, self.judged)

    @cached_property
    def p_no_better_than_chance(self) -> Floats:
        """Probability of s + p <= 1 without the constraint, given the checked rows, by stratum."""
        level = ((np.arange(NODES) + 0.5) / NODES)[:, None]
        specificity = betaincinv(self.right[1], self.wrong[1], level)
        return np.asarray(betainc(self.right[0], self.wrong[0], 1 - specificity).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Verified:
    r"""Proposal from the true labels given the judge's labels, for checked rows that were chosen by the latter.

    In each stratum, the probability :math:`\phi_j` of the true label 1 given the judge's label j has a Beta posterior
    from the checked rows, and the share :math:`\pi_j` of the judge's labels is that of all rows. Sensitivity and
    specificity follow by Bayes' rule: Begg and Greenes (1983), "Assessment of diagnostic tests when disease
    verification is subject to selection bias", Biometrics 39, 207-215. Fields are those of `JudgeRates`.
    """

    table: Floats
    judged: Floats

    @cached_property
    def _beta(self) -> tuple[Floats, Floats]:
        """Parameters of the Beta distributions given the judge's labels 1 and 0, each of shape (2, n_strata)."""
        return 1 + self.table[:, [0, 1]].T, 1 + self.table[:, [3, 2]].T

    @cached_property
    def _log_odds(self) -> Floats:
        """Log odds of the judge's label 1, by stratum."""
        return np.asarray(np.log(self.judged[:, 0] + 1) - np.log(self.judged[:, 1] + 1))

    def draw(self, size: int, rng: Generator) -> Floats:
        """Draw values; those with s + p < 1 have weight 0."""
        phi = rng.beta(*self._beta, (size, 2, len(self.table)))
        one, zero = np.moveaxis(np.clip(phi, LEAST, 1 - LEAST), 1, 0)
        s, p = np.log(one / zero) + self._log_odds, np.log1p(-zero) - np.log1p(-one) - self._log_odds
        return np.concatenate([s, p], axis=1)

    def log_density(self, eta: Floats) -> Floats:
        """Return the log density of values."""
        s, p = eta.reshape(len(eta), 2, -1).swapaxes(0, 1)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            a, b = np.exp(s - self._log_odds), np.exp(p + self._log_odds)
            zero = (b - 1) / (a * b - 1)
            one = a * zero
            inside = (zero > 0) & (one < 1) & (one > zero)
            phi = np.where(inside[:, None], np.stack([one, zero], axis=1), 0.5)
            alpha, beta = self._beta
            # Beta densities, divided by the determinant of the derivatives of eta
            value = (alpha * np.log(phi) + beta * np.log1p(-phi) - betaln(alpha, beta)).sum(axis=1)
            value = value - np.log(np.where(inside, one - zero, 1.0))
        return np.where(inside.all(axis=1), value.sum(axis=1), -np.inf)


@dataclass(frozen=True, eq=False)
class Student:
    """Multivariate t distribution."""

    mean: Floats
    covariance: Floats

    @cached_property
    def root(self) -> Floats:
        """Lower triangular root of the covariance."""
        return np.asarray(np.linalg.cholesky(self.covariance))

    def draw(self, size: int, rng: Generator) -> Floats:
        """Draw values."""
        z = rng.standard_normal((size, len(self.mean))) / np.sqrt(rng.chisquare(DEGREES, (size, 1)) / DEGREES)
        return np.asarray(self.mean + z @ self.root.T)

    def log_density(self, eta: Floats) -> Floats:
        """Return the log density of values."""
        z, d = np.linalg.solve(self.root, (eta - self.mean).T), len(self.mean)
        constant = gammaln((DEGREES + d) / 2) - gammaln(DEGREES / 2) - d / 2 * np.log(DEGREES * np.pi)
        constant -= np.log(np.diag(self.root)).sum()
        return np.asarray(constant - (DEGREES + d) / 2 * np.log1p((z**2).sum(axis=0) / DEGREES))


def at_mode(log_density: Callable[[Floats], Floats], start: Floats) -> Student:
    """Return a t distribution around the mode of a density, with its curvature.

    Both are rounded, because last digits of the mode depend on the processor, and draws would depend on them.
    """
    from scipy.optimize import minimize

    def minus(eta: Floats) -> Floats:
        value = log_density(eta)
        return np.where(np.isfinite(value), -value, OUTSIDE)

    mode = minimize(lambda eta: float(minus(eta[None])[0]), start, method="BFGS", options={"gtol": GRADIENT}).x.round(3)
    shift = STEP * np.eye(len(mode))
    i, j = shift[:, None], shift[None]
    at = [minus(mode + each) for each in (i + j, i - j, j - i, -i - j)]
    curvature = (at[0] - at[1] - at[2] + at[3]) / (4 * STEP**2)
    values, vectors = np.linalg.eigh(((curvature + curvature.T) / 2).round(3))
    values = np.clip(values, LEAST_CURVATURE, MOST_CURVATURE)
    return Student(mode, (vectors / values) @ vectors.T * WIDER**2)


def fitted(eta: Floats, log_weight: Floats) -> Student:
    """Return a t distribution with the weighted mean and covariance of values.

    Weights are raised to a power below 1 if needed, so that several values per parameter count.
    """
    finite = np.isfinite(log_weight)
    eta, log_weight, power = eta[finite], log_weight[finite], 1.0
    needed = min(COUNTING * (eta.shape[1] + 1), 0.5 * len(eta))
    weight = normalised(log_weight)
    while 1 / (weight**2).sum() < needed:
        power *= POWER
        weight = normalised(power * log_weight)
    mean = weight @ eta
    covariance = (weight[:, None] * (eta - mean)).T @ (eta - mean) * WIDER**2
    return Student(mean, covariance + 1e-6 * np.eye(eta.shape[1]))


def log_mixture(mixture: Sequence[tuple[int, Proposal]], eta: Floats) -> Floats:
    """Return the log density of the mixture of proposals, each with its number of values (balance heuristic)."""
    total = sum(size for size, _ in mixture)
    return np.asarray(logsumexp([np.log(size / total) + each.log_density(eta) for size, each in mixture], axis=0))


def normalised(log_weight: Floats) -> Floats:
    """Return weights that sum to 1."""
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())
