"""Joint posteriors of several quantities: correlations from joint counts, and draws that are reordered to have them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal.draws import BinDraws
from bayescal.stats.contract import Pairs

LIKENESS_POWER = 4  #: Correlation of the residuals of two linear fits = (similarity of the gap profiles) ** this power.
RIDGE = 1e-9  #: Relative ridge penalty of the linear fits; with it, bins whose draws do not vary get coefficients of 0.
#: Correlations above 1 minus this are set to 1, so that rounding does not separate two names of one classifier.
SAME = 1e-9
#: Eigenvalues below this are set to 0; rounding would otherwise separate perfectly correlated quantities.
ROUNDING = 1e-12
ROWS = 512  #: Draws that are made correlated at a time.
#: Share of the variance of the errors that all classes of a classifier have in common, besides the correlation over
#: rows. A cause of over-confidence in one class often acts on all classes; posteriors of single classes cannot show it.
COMMON_CAUSE = 0.3


def correlation(values: Sequence[Floats], bins: Sequence[BinDraws], pairs: Pairs) -> Floats:
    r"""Estimate the correlation between the posteriors of one estimand of several classifiers, from joint counts.

    `values` are draws of the estimand of each classifier, shape (n_draws,), each from its own posterior, and `bins` the
    draws from which they were computed; `pairs` holds joint counts of the classifiers i < j. The result is positive
    semi-definite, with a unit diagonal; for `reorder`.

    For each classifier, the draws of the estimand are regressed on the bins: :math:`\ell = \sum_b \beta_b m_b g_b
    + \gamma_b m_b` with masses m and gaps g. The fit explains a share :math:`R^2` of the variance. The correlation of
    two classifiers A and B has two parts.

    *Linear part.* A row with outcome z in bin b contributes :math:`\beta_b (z - \bar c_b) + \gamma_b` to the linear
    function. The correlation r of the two linear functions under the joint Dirichlet posterior of the cells that occur
    is the correlation of these contributions over rows. For rows in clusters, it is the correlation of the sums of
    :math:`\beta_b (z - c) + \gamma_b` over clusters.

    *Residual part.* The correlation of the residuals is taken to be :math:`L^4`, where :math:`L = \max(0, \langle g_A
    g_B \rangle / \sqrt{\langle g_A^2 \rangle \langle g_B^2 \rangle})` is the cosine similarity of the expected gaps
    over rows. Together,

    .. math:: \rho = R_A R_B\, r + \sqrt{(1 - R_A^2)(1 - R_B^2)}\, L^4.

    The power makes the residual part small unless the two gap profiles are similar: the estimated gaps of calibrated
    classifiers are noise, which should not count as agreement. Two names of one classifier have correlation 1.
    """
    fits = [_linear(v, b) for v, b in zip(values, bins, strict=True)]
    result = np.eye(len(values))
    for (i, j), pair in pairs.items():
        a, b = fits[i], fits[j]
        linear = pair.linear_cosine((a.of_gap, b.of_gap), (a.of_mass, b.of_mass))
        similarity = max(pair.gap_cosine((bins[i].gap.mean(axis=0), bins[j].gap.mean(axis=0))), 0.0)
        residual = np.sqrt((1 - a.explained) * (1 - b.explained))
        together = np.sqrt(a.explained * b.explained) * linear + residual * similarity**LIKENESS_POWER
        result[i, j] = result[j, i] = 1.0 if together > 1 - SAME else together
    return nearest_correlation(result)


class _Fit(NamedTuple):
    """Linear fit of an estimand to its bins: coefficients of mass * gap and of mass, and the explained share R^2."""

    of_gap: Floats
    of_mass: Floats
    explained: float


def _linear(values: Floats, bins: BinDraws) -> _Fit:
    mass = np.broadcast_to(bins.mass, bins.gap.shape)
    features = np.concatenate([mass * bins.gap, mass], axis=1)
    features = features - features.mean(axis=0)
    centred = values - values.mean()
    total = float(centred @ centred)
    if total == 0:
        none = np.zeros(mass.shape[1])
        return _Fit(none, none, 0.0)
    # scale each column, so that the ridge penalty acts equally on rare and on common bins
    scale = np.sqrt((features**2).sum(axis=0))
    scaled = features / np.where(scale > 0, scale, 1.0)
    gram = scaled.T @ scaled
    gram[np.diag_indices_from(gram)] += RIDGE
    coefficients = np.linalg.solve(gram, scaled.T @ centred)
    fitted = scaled @ coefficients
    of_gap, of_mass = np.split(coefficients / np.where(scale > 0, scale, 1.0), 2)
    return _Fit(of_gap, of_mass, min(1.0, float(fitted @ fitted) / total))


def nearest_correlation(matrix: Floats) -> Floats:
    """Make pairwise correlations positive semi-definite: clip negative eigenvalues and rescale to a unit diagonal."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return matrix
    cut = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(cut))
    result = cut / np.outer(scale, scale)
    result = np.where(result > 1 - SAME, 1.0, result)
    np.fill_diagonal(result, 1.0)
    return result


def symmetric_root(matrix: Floats) -> Floats:
    """Return the symmetric square root of a covariance matrix; negative eigenvalues count as 0.

    Unlike the signs of eigenvectors, it does not depend on the last digits of sums.
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def with_common_cause(correlation: Floats) -> Floats:
    """Add a common factor to a correlation matrix, which explains 0.3 of the variance of every quantity."""
    return (1 - COMMON_CAUSE) * correlation + COMMON_CAUSE


def reorder(draws: Floats, correlation: Floats, *, rng: Any = None) -> Floats:
    """Reorder the draws of each quantity, shape (n_draws, n_quantities), so that they have a Gaussian copula.

    Columns take the ranks of Normal draws with the given correlation, which is positive semi-definite, with a unit
    diagonal. This is the reordering of Iman and Conover (1982), "A distribution-free approach to inducing rank
    correlation among input variables", Communications in Statistics - Simulation and Computation 11, 311-334, but with
    random Normals in place of fixed scores, so that the rank correlation varies as in a sample.
    """
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.where(values > ROUNDING, values, 0.0))
    # some rows, then one quantity at a time: with a thousand classes, each further array of all draws would be 32 MB
    generator, normals = _checks.generator(rng), np.empty(draws.shape)
    for start in range(0, len(draws), ROWS):
        rows = normals[start : start + ROWS]
        np.matmul(generator.standard_normal(rows.shape), root.T, out=rows)
    for normal, column in zip(normals.T, draws.T, strict=True):
        # perfectly correlated Normals differ by rounding errors only: round them, so that their ranks agree
        normal[:] = with_ranks_of(np.round(normal, 9), column)
    return normals


def with_ranks_of(others: Floats, draws: Floats) -> Floats:
    """Reorder `draws` so that the smallest is at the place of the smallest of `others`, and so on."""
    result = np.empty_like(draws)
    result[others.argsort(kind="stable")] = np.sort(draws)
    return result
