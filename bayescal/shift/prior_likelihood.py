"""Class frequencies of a target without labels, from recalibrated probabilities: Laplace proposals, resampled."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, repeat
from typing import Any

import numpy as np
from scipy.special import chdtrc, logsumexp, softmax

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Ints
from bayescal.shift.class_frequencies_posterior import most_probable, worth_of
from bayescal.shift.rows import ShiftedRows

RECALIBRATIONS = 8  #: Draws of the recalibration, for each of which the class frequencies are drawn.
#: Standard deviations of the Normal priors of the inverse temperature (around 1) and of the biases.
SLOPE_SD, BIAS_SD = 1.0, 2.5
#: Degrees of freedom of proposals, and proposals per draw.
DEGREES, PROPOSALS = 5.0, 4
MANY_ROWS = 20_000  #: Rows of the target from which on the posterior is taken as Normal in log-ratios.
#: Numbers that are held at a time, steps of Newton's method, and size of the last one.
HELD, STEPS, CLOSE = 4_000_000, 60, 1e-8
NEAR = 1e-6  #: Distance from the mode, in standard deviations, from which the last step of the recalibration starts.
LEAST = 1e-12  #: Least probability before logarithms are taken.
FIRST_STEPS = 200  #: Steps of expectation maximisation before Newton's method.
ROUNDING = 1e-9  #: Smaller eigenvalues, relative to the largest information about a parameter, are rounding errors.


@dataclass(frozen=True, eq=False)
class PriorLikelihoodPosterior:
    r"""Posterior of the class frequencies of a target, given probabilities of its rows.

    With probabilities f that are calibrated in the source, where class k has the frequency :math:`\rho_k`, the target's
    rows have the likelihood :math:`\prod_i \sum_k \pi_k f_{ik} / \rho_k` [1]_, and :math:`\pi` is Dirichlet(`alpha`).
    Calibration is not taken for granted: an inverse temperature, with prior Normal(1, 1²), and biases of all classes
    but the last, Normal(0, 2.5²), are fitted on the source [2]_. For each of 8 draws from the Normal approximation of
    their posterior, :math:`\rho` is the mean of the recalibrated probabilities over the source, and :math:`\pi` is
    drawn by importance resampling: proposals are Student t in log-ratios around the most probable value. With more than
    20 000 rows of the target they are Normal and not resampled.

    .. [1] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 21-41.
    .. [2] A. Alexandari, A. Kundaje and A. Shrikumar (2020), "Maximum likelihood with bias-corrected calibration is
       hard-to-beat at label shift adaptation", Proceedings of the 37th International Conference on Machine Learning.
    """

    rows: ShiftedRows
    alpha: float = 1.0

    @cached_property
    def recalibration(self) -> tuple[Floats, Floats]:
        """Most probable parameters of the recalibration, and their covariance; see `recalibrated`."""
        return fit_recalibration(self.rows.source, self.rows.label)

    @cached_property
    def worth(self) -> Floats:
        """Labelled rows that a row of the target is worth for the frequency of each class, shape (n_classes,)."""
        ratio = self._ratios(self.recalibration[0])
        pi = most_probable(ratio.T, np.ones(len(ratio)), self.alpha, steps=FIRST_STEPS)
        scaled = ratio * np.sqrt(pi) / (ratio @ pi)[:, None]
        return worth_of(scaled.T @ scaled / len(ratio), pi)

    @property
    def p_value(self) -> float:
        """P-value of the hypothesis that the recalibration calibrates the probabilities; see `p_of_recalibration`."""
        return p_of_recalibration(self.rows.source, self.rows.label, self.recalibration[0])

    def sample(self, n_draws: int = 1000, *, rng: Any = None) -> Floats:
        """Draw the class frequencies, shape (n_draws, n_classes)."""
        generator = _checks.generator(rng)
        mean, covariance = self.recalibration
        normal = generator.standard_normal((RECALIBRATIONS, len(mean)))
        parameters = mean + normal @ np.linalg.cholesky(covariance).T
        sizes = np.diff(np.linspace(0, n_draws, RECALIBRATIONS + 1).astype(int))
        of = zip(parameters, sizes.tolist(), strict=True)
        parts = [sample_given_ratios(self._ratios(p), size, self.alpha, generator) for p, size in of if size]
        return np.asarray(generator.permutation(np.concatenate(parts)))

    def _ratios(self, parameters: Floats) -> Floats:
        """Return recalibrated probabilities of the target's rows, divided by the frequencies in the source."""
        frequency = recalibrated(self.rows.source, parameters).mean(axis=0)
        return np.asarray(recalibrated(self.rows.target, parameters) / frequency)


def recalibrated(matrix: Floats, parameters: Floats) -> Floats:
    """Raise probabilities to a power, multiply those of each class by a factor, and normalise rows.

    `parameters`, shape (n_classes,): the power minus 1, and the logarithms of the factors of all classes but the last.
    """
    eta = np.log(np.maximum(matrix, LEAST)) * (1 + parameters[0])
    eta[:, :-1] += parameters[1:]
    return np.asarray(softmax(eta, axis=1))


def fit_recalibration(matrix: Floats, label: Ints) -> tuple[Floats, Floats]:
    """Fit the parameters of `recalibrated` to labelled rows: posterior mode and covariance (inverse curvature)."""
    x, n_classes = np.log(np.maximum(matrix, LEAST)), matrix.shape[1]
    precision = np.r_[SLOPE_SD**-2, np.full(n_classes - 1, BIAS_SD**-2)]
    sum_of_labels, rows_of_class = x[np.arange(len(x)), label].sum(), np.bincount(label, minlength=n_classes)[:-1]
    observed = np.r_[sum_of_labels, rows_of_class]

    def height(parameters: Floats) -> float:
        eta = x * (1 + parameters[0])
        eta[:, :-1] += parameters[1:]
        fit = sum_of_labels + observed @ parameters - logsumexp(eta, axis=1).sum()
        return float(fit - precision @ parameters**2 / 2)

    parameters = np.zeros(n_classes)
    now = height(parameters)
    for _ in range(STEPS):
        gradient, curvature = _derivatives(recalibrated(matrix, parameters), x)
        gradient += observed - precision * parameters
        curvature += np.diag(precision)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < NEAR**2:
            return parameters + step, np.linalg.inv(curvature)
        while (after := height(parameters + step)) < now - CLOSE * abs(now):
            step /= 2
        parameters, now = parameters + step, after
    raise RuntimeError(f"the recalibration of the probabilities did not converge in {STEPS} steps.")


def _derivatives(p: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Minus the expected sums of the likelihood of `recalibrated`, and its curvature, by the parameters."""
    weighted = p * x
    centre = weighted.sum(axis=1)
    curvature = np.empty((p.shape[1], p.shape[1]))
    curvature[0, 0] = (weighted * x).sum() - centre @ centre
    curvature[0, 1:] = curvature[1:, 0] = (weighted - p * centre[:, None]).sum(axis=0)[:-1]
    curvature[1:, 1:] = (np.diag(p.sum(axis=0)) - p.T @ p)[:-1, :-1]
    return -np.r_[centre.sum(), p.sum(axis=0)[:-1]], curvature


def p_of_recalibration(matrix: Floats, label: Ints, parameters: Floats) -> float:
    """P-value of a score test of `recalibrated`, fitted to the same rows, against recalibrations with more parameters.

    The alternatives have one power per class (vector scaling [1]_; with two classes beta calibration [2]_), and a
    multiple of the squared logarithm of the probability. The score statistic is asymptotically chi-squared; its degrees
    of freedom are the number of additional parameters, at most the number of classes. The P-value is 1 if the
    probabilities have too few distinct values for more parameters.

    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), "On calibration of modern neural networks", Proceedings
       of the 34th International Conference on Machine Learning, 1321-1330.
    .. [2] M. Kull, T. Silva Filho and P. Flach (2017), "Beta calibration", Proceedings of the 20th International
       Conference on Artificial Intelligence and Statistics, 623-631.
    """
    n_classes = matrix.shape[1]
    p, x = recalibrated(matrix, parameters), np.log(np.maximum(matrix, LEAST))
    x = (x - x.mean()) / max(float(x.std()), LEAST)  # shift and scale do not change the span of the alternatives
    powers = list(accumulate(repeat(x, 4), np.multiply, initial=p))
    sums = [each.sum(axis=0) for each in powers]
    curvature = np.block([[np.diag(sums[a + b]) - powers[a].T @ powers[b] for b in range(3)] for a in range(3)])
    x_of_label = x[np.arange(len(x)), label]
    observed = [np.bincount(label, x_of_label**a, n_classes) for a in range(3)]
    gradient = np.concatenate(observed) - np.concatenate(sums[:3])
    # parameters in terms of multiples of 1, x and x^2 for each class
    all_classes, single = np.ones((n_classes, 1)), np.eye(n_classes)[:, :-1]
    none, nothing = 0 * all_classes, 0 * single
    fitted = np.block([[none, single], [all_classes, nothing], [none, nothing]])
    added = np.block([[none, nothing], [none, single], [all_classes, nothing]])
    slope = added.T @ curvature @ fitted @ np.linalg.pinv(fitted.T @ curvature @ fitted, hermitian=True)
    rest = added.T - slope @ fitted.T
    values, vectors = np.linalg.eigh(rest @ curvature @ rest.T)
    known = values > ROUNDING * float(np.diag(added.T @ curvature @ added).max())
    squares = (vectors.T @ rest @ gradient)[known] ** 2 / values[known]
    return float(chdtrc(known.sum(), squares.sum())) if known.any() else 1.0


def sample_given_ratios(ratio: Floats, n_draws: int, alpha: float, rng: Generator) -> Floats:
    """Draw class frequencies given f / rho of each row, shape (n_rows, n_classes); returns (n_draws, n_classes)."""
    centre, root = _mode(ratio, alpha)
    many = len(ratio) > MANY_ROWS
    normal = rng.standard_normal((n_draws if many else PROPOSALS * n_draws, len(centre)))
    if many:
        return _frequencies(centre + normal @ root.T)
    student = normal * np.sqrt(DEGREES / rng.chisquare(DEGREES, (len(normal), 1)))
    pi = _frequencies(centre + student @ root.T)
    height = alpha * np.log(pi).sum(axis=1) + _log_likelihood(ratio, pi)
    height += 0.5 * (DEGREES + len(centre)) * np.log1p((student**2).sum(axis=1) / DEGREES)
    weight = np.exp(height - height.max())
    return np.asarray(pi[rng.choice(len(pi), n_draws, p=weight / weight.sum())])


def _log_likelihood(ratio: Floats, pi: Floats) -> Floats:
    values = np.empty(len(pi))
    step = max(HELD // len(ratio), 1)
    for start in range(0, len(pi), step):
        part = slice(start, start + step)
        values[part] = np.log(pi[part] @ ratio.T).sum(axis=1)
    return values


def _frequencies(log_ratio: Floats) -> Floats:
    """Return frequencies from log-ratios to the last class, shape (n, n_classes - 1)."""
    return np.asarray(softmax(np.concatenate([log_ratio, np.zeros((len(log_ratio), 1))], axis=1), axis=1))


def _mode(ratio: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return the most probable log-ratios to the last class, and a root of the inverse curvature."""
    n, n_classes = ratio.shape
    total = n + n_classes * alpha
    pi = most_probable(ratio.T, np.ones(n), alpha, steps=FIRST_STEPS)
    eta = np.log(pi[:-1] / pi[-1])
    for _ in range(STEPS):
        pi = _frequencies(eta[None])[0]
        shares = ratio * pi
        shares /= shares.sum(axis=1, keepdims=True)
        expected = shares.sum(axis=0)
        gradient = (expected + alpha - total * pi)[:-1]
        curvature = total * (np.diag(pi) - np.outer(pi, pi)) - (np.diag(expected) - shares.T @ shares)
        values, vectors = np.linalg.eigh(curvature[:-1, :-1])
        values = np.maximum(values, 0.05 * (1 + n_classes * alpha * pi.min()))
        step = vectors @ ((vectors.T @ gradient) / values)
        eta = eta + step * min(1.0, 1.5 / max(float(np.abs(step).max()), LEAST))
        if np.abs(step).max() < CLOSE:
            break
    return eta, vectors / np.sqrt(values)
