r"""Compare the model of bin means with one of confidences truncated to their bin, whose exact answer is computed.

In the Dirichlet model :math:`c_i \sim \mathrm{N}(\mu_b, s_b^2)`, with :math:`\mu_b` confined to the bin. This is
conjugate, and the mean confidence of the bin is :math:`\mu_b`. In a *truncated likelihood* each :math:`c_i` is confined
to the bin. Its normalising constant depends on :math:`\mu_b`, so the posterior is not conjugate, and the mean
confidence is :math:`E[c \mid \mu_b]`. For one bin, both posteriors are one-dimensional integrals.

The bin is [0, 1] in this module, so that locations are in units of its width, from its lower edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, roots_legendre

from bayescal import _checks, _packages
from bayescal.posterior.beta_binomial import absolute_gap
from bayescal.posterior.dirichlet import DirichletPosterior

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: Variables that may be truncated, as in `bayescal.verify.pymc_models.dirichlet_model`, which loads PyMC.
TRUNCATIONS = ("mean", "confidences")
#: Default standard deviation of a confidence and of the prior of their mean, in widths: that of a uniform on the bin.
RELATIVE_SD = float(np.sqrt(1 / 12))
#: Integrals extend to where the density is exp(-45) = 3e-20 of its peak.
DROP = 45.0
PANELS, ORDER = 40, 16
#: Largest number of rows; beyond it the panels are as narrow as rounding errors.
MOST_ROWS = 1e9

WIDTHS = (1 / 2, 1 / 15, 1 / 100)
N_ROWS = (1, 10, 100, 10_000)
PLACES = (0.5, 0.25, 0.05)
COLUMNS = (
    "width",
    "n_rows",
    "observed",
    "conjugate_mean",
    "conjugate_sd",
    "truncated_mean",
    "truncated_sd",
    "shift",
    "ece_change",
)


@dataclass(frozen=True, eq=False)
class ConfidencePosterior:
    """Posterior of the mean confidence of a bin, as a quadrature rule; made by `confidence_posterior`.

    Parameters
    ----------
    location : ndarray, shape (n_nodes,)
        Nodes of mu, in bin widths from the lower edge, increasing.
    confidence : ndarray, shape (n_nodes,)
        Mean confidence at each node, which increases with mu.
    weight : ndarray, shape (n_nodes,)
        Posterior probabilities; they sum to 1.
    """

    location: Floats
    confidence: Floats
    weight: Floats

    def mean(self) -> float:
        """Posterior mean of the mean confidence, in bin widths."""
        return float(self.weight @ self.confidence)

    def sd(self) -> float:
        """Posterior standard deviation of the mean confidence, in bin widths."""
        return float(np.sqrt(self.weight @ (self.confidence - self.mean()) ** 2))

    def mean_gap(self, accuracy: ArrayLike) -> Floats:
        """Posterior mean of ``|accuracy - confidence|`` at given accuracies, both in bin widths; to five decimals."""
        gap = np.subtract.outer(np.asarray(accuracy, dtype=np.float64), self.confidence)
        return np.asarray(np.abs(gap) @ self.weight)


def confidence_posterior(
    n_rows: float, observed: float = 0.5, *, truncation: str = "confidences", relative_sd: float = RELATIVE_SD
) -> ConfidencePosterior:
    r"""Compute the posterior of the mean confidence of one bin by quadrature.

    Parameters
    ----------
    n_rows : float
        Number of rows in the bin, >= 0; the effective number for weighted rows.
    observed : float, default 0.5
        Their mean confidence in [0, 1], in bin widths from the lower edge. Without rows it has no effect.
    truncation : {"confidences", "mean"}, default "confidences"
        Variable that is confined to the bin. ``mean`` is the conjugate model, by the same integrals.
    relative_sd : float, default sqrt(1 / 12)
        Standard deviation s of one confidence around mu, and of the prior of mu around the middle, in bin widths.

    Returns
    -------
    ConfidencePosterior
        Nodes and weights; moments to about ten digits.

    Raises
    ------
    ValueError, TypeError
        If `observed` is not in [0, 1], `n_rows` is negative, `relative_sd` is not in [1e-3, 10], or `truncation` is
        neither of the two.

    Notes
    -----
    .. math::
        p(\mu \mid c) \propto \exp\left(-\frac{(\mu - 1/2)^2}{2 s^2} - \frac{n (\bar c - \mu)^2}{2 s^2}\right)
        Z(\mu)^{-n}, \quad Z(\mu) = \Phi\left(\frac{1 - \mu}{s}\right) - \Phi\left(\frac{-\mu}{s}\right)

    on [0, 1], with :math:`Z = 1` if the truncation belongs to the mean. The derivative of the logarithm is
    :math:`(1/2 - \mu + n (\bar c - E[c \mid \mu])) / s^2`, which decreases. So there is one peak, and panels of
    Gauss-Legendre nodes cover its surroundings.

    Examples
    --------
    Ten rows whose mean is 0.05 widths from the edge, under the conjugate model and under the other:

    >>> [confidence_posterior(10, 0.05, truncation=t).mean() for t in ("mean", "confidences")]
    [0.1145, 0.2487]
    """
    _checks.one_of("truncation", truncation, TRUNCATIONS)
    n, mean = _number("n_rows", n_rows, 0, MOST_ROWS), _number("observed", observed, 0, 1)
    s = _number("relative_sd", relative_sd, 1e-3, 10)
    density = _Density(n, mean if n > 0 else 0.5, s, truncation)
    peak = density.peak()
    low, high = density.end(peak, 0.0), density.end(peak, 1.0)
    edges = np.concatenate([np.linspace(low, peak, PANELS + 1), np.linspace(peak, high, PANELS + 1)[1:]])
    x, w = roots_legendre(ORDER)
    half = np.diff(edges)[:, None] / 2
    location = (edges[:-1, None] + half * (1 + x)).ravel()
    weight = (half * w).ravel() * np.exp(density.log(location) - density.log(peak))
    return ConfidencePosterior(location, density.confidence(location), weight / weight.sum())


def mean_of_truncated(location: ArrayLike, relative_sd: float = RELATIVE_SD) -> Floats:
    r"""Compute the mean of a Normal truncated to [0, 1].

    Parameters
    ----------
    location : array-like
        Mean before truncation, in [0, 1].
    relative_sd : float, default sqrt(1 / 12)
        Standard deviation before truncation.

    Returns
    -------
    ndarray
        :math:`\mu + s\, (\varphi(\mu / s) - \varphi((1 - \mu) / s)) / Z(\mu)`.

    Examples
    --------
    The smallest possible mean confidence of a bin, in widths from its lower edge:

    >>> float(mean_of_truncated(0.0))
    0.2299
    """
    below, above, inside = _standardised(np.asarray(location, dtype=np.float64), relative_sd)
    shift = (np.exp(-(below**2) / 2) - np.exp(-(above**2) / 2)) / np.sqrt(2 * np.pi)
    return np.asarray(location + relative_sd * shift / inside)


def _standardised(location: Floats, relative_sd: float) -> tuple[Floats, Floats, Floats]:
    """Both ends of the bin in standard deviations from the location, and the probability between them."""
    below, above = -location / relative_sd, (1 - location) / relative_sd
    return below, above, ndtr(above) - ndtr(below)


@dataclass(frozen=True)
class _Density:
    """Density of mu given the rows of its bin, up to a constant; log-concave on [0, 1]."""

    n: float
    observed: float
    s: float
    truncation: str

    def confidence(self, location: Floats) -> Floats:
        """Compute the mean confidence of the bin for each mu."""
        return location if self.truncation == "mean" else mean_of_truncated(location, self.s)

    def log(self, location: Floats) -> Floats:
        squares = (location - 0.5) ** 2 + self.n * (location - self.observed) ** 2
        log_density = -squares / (2 * self.s**2)
        if self.truncation == "confidences":
            log_density = log_density - self.n * np.log(_standardised(location, self.s)[2])
        return np.asarray(log_density)

    def peak(self) -> Floats:
        from scipy.optimize import brentq

        def slope(location: float) -> float:
            missing = self.observed - self.confidence(np.asarray(location))
            return float(0.5 - location + self.n * missing)

        if slope(0.0) <= 0:
            return np.asarray(0.0)
        return np.asarray(1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0, xtol=1e-15))

    def end(self, peak: Floats, edge: float) -> float:
        """Find where integration ends between the peak and an edge of the bin."""
        from scipy.optimize import brentq

        least = float(self.log(peak)) - DROP

        def surplus(location: float) -> float:
            return float(self.log(np.asarray(location))) - least

        return edge if surplus(edge) >= 0 else float(brentq(surplus, float(peak), edge, xtol=1e-15))


def truncated_ece_mean(posterior: DirichletPosterior, *, truncation: str = "confidences") -> float:
    r"""Compute the exact posterior mean of the ECE under the truncated likelihood, by quadrature.

    Parameters
    ----------
    posterior : DirichletPosterior
        Dirichlet model: its counts, and its prior of the cells, which is unchanged.
    truncation : {"confidences", "mean"}, default "confidences"
        As for `confidence_posterior`; ``mean`` gives ``posterior.ece_mean()`` by other integrals.

    Returns
    -------
    float
        :math:`\sum_b E[m_b]\, E|\theta_b - E[c \mid \mu_b]|`.

    Raises
    ------
    NotImplementedError
        For ``formula="original"``, as `DirichletPosterior.ece_mean`.

    Examples
    --------
    >>> from bayescal import BinnedCounts, dirichlet_posterior
    >>> posterior = dirichlet_posterior(BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2))
    >>> posterior.ece_mean(), truncated_ece_mean(posterior)
    (0.2177, 0.2112)
    """
    if posterior.formula == "original":
        raise NotImplementedError("exact moments need a posterior with `formula='corrected'`. Sample instead.")
    counts = posterior.counts
    edges, widths = counts.bins.edges, counts.bins.widths
    observed = np.where(counts.occupied, (counts.mean_confidence - edges[:-1]) / widths, 0.5).clip(0, 1)
    share, (a, b) = posterior.mass_mean(), posterior.accuracy_parameters
    total = 0.0
    for i, (n, place, s) in enumerate(zip(counts.effective_n, observed, posterior.relative_sd, strict=True)):
        of_bin = confidence_posterior(n, place, truncation=truncation, relative_sd=s)
        confidence = np.minimum(edges[i] + widths[i] * of_bin.confidence, edges[i + 1])
        total += float(share[i] * (of_bin.weight @ absolute_gap(confidence, a[i], b[i])))
    return total


@dataclass(frozen=True)
class TruncationStudy:
    """Posteriors of a bin's mean confidence under both likelihoods; made by `truncation_study`.

    Parameters
    ----------
    rows : list of dict
        Keys: ``width`` of the bin; ``n_rows``; ``observed``, their mean confidence; ``conjugate_mean``,
        ``conjugate_sd``, ``truncated_mean``, ``truncated_sd`` of the posteriors, all in bin widths (from the lower
        edge); and in units of probability ``shift``, truncated less conjugate mean, and ``ece_change``, the
        largest possible change of the posterior mean of the ECE over all accuracies if all mass is in this bin.
    """

    rows: list[dict[str, Any]]

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame."""
        _packages.require("pandas")
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))


def truncation_study(
    widths: Sequence[float] = WIDTHS, n_rows: Sequence[int] = N_ROWS, observed: Sequence[float] = PLACES
) -> TruncationStudy:
    """Compare the truncated likelihood with the conjugate model, bin by bin.

    Parameters
    ----------
    widths : sequence of float, default (1/2, 1/15, 1/100)
        Widths of bins, in (0, 1].
    n_rows : sequence of int, default (1, 10, 100, 10000)
        Numbers of rows in the bin.
    observed : sequence of float, default (0.5, 0.25, 0.05)
        Their mean confidences, in bin widths from the lower edge. Results are symmetric about the middle of the bin.

    Returns
    -------
    TruncationStudy
        One row for each combination.

    Raises
    ------
    ValueError, TypeError
        If a width is not in (0, 1], or as for `confidence_posterior`.

    Notes
    -----
    Results in units of the width do not depend on the width, which only converts them to probabilities.

    Examples
    --------
    >>> row = truncation_study(widths=[1 / 15], n_rows=[10_000], observed=[0.05]).rows[0]
    >>> row["conjugate_mean"], row["truncated_mean"], row["ece_change"]
    (0.0500, 0.2299, 0.0120)
    """
    cells = [(n, place, _compared(n, place)) for n in n_rows for place in observed]
    rows = []
    for width in widths:
        unit = _number("widths", width, 1e-9, 1)
        for n, place, (in_widths, shift, change) in cells:
            moved = {"shift": unit * shift, "ece_change": unit * change}
            rows.append({"width": unit, "n_rows": n, "observed": place, **in_widths, **moved})
    return TruncationStudy(rows)


def _compared(n_rows: float, observed: float) -> tuple[dict[str, float], float, float]:
    """Compute moments of both, the difference of means, and that of the ECE at the worst accuracy, in widths."""
    conjugate, truncated = (confidence_posterior(n_rows, observed, truncation=t) for t in TRUNCATIONS)
    moments = {
        "conjugate_mean": conjugate.mean(),
        "conjugate_sd": conjugate.sd(),
        "truncated_mean": truncated.mean(),
        "truncated_sd": truncated.sd(),
    }
    # at accuracies outside both posteriors the mean gaps differ by the shift; inside they may differ by more
    accuracy = np.concatenate([[0.0, 1.0], conjugate.confidence, truncated.confidence])
    change = np.abs(truncated.mean_gap(accuracy) - conjugate.mean_gap(accuracy)).max()
    return moments, truncated.mean() - conjugate.mean(), float(change)


def _number(name: str, value: Any, low: float, high: float) -> float:
    return float(_checks.between(name, np.atleast_1d(np.asarray(value, dtype=np.float64)), low, high)[0])
