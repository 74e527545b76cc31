"""How one estimand of several models on the same rows varies together."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]

#: What a linear fit leaves of one estimand goes with what is left of another as this power of the likeness of the gaps.
LIKENESS_POWER = 4
#: Ridge of the linear fits, relative: bins whose draws do not vary take no part.
RIDGE = 1e-9
#: Correlations nearer to 1 than this are 1: rounding must not part two names of one model.
SAME = 1e-9


def correlation(
    values: Sequence[Floats], bins: Sequence[BinDraws], pairs: Mapping[tuple[int, int], PairedCounts]
) -> Floats:
    r"""Correlation between the posteriors of one estimand of several models, from their joint counts.

    Parameters
    ----------
    values : sequence of ndarray, shape (n_draws,)
        Draws of the estimand of each model, each from its own posterior.
    bins : sequence of BinDraws
        The draws that those were computed from.
    pairs : mapping of (int, int) to PairedCounts
        Joint counts of models i < j.

    Returns
    -------
    ndarray, shape (n_models, n_models)
        Positive semi-definite, with a unit diagonal; for `bayescal.posterior.copula.reorder`.

    Notes
    -----
    Within its posterior an estimand is explained by a linear function of the bins, :math:`\ell = \sum_b \beta_b m_b g_b
    + \gamma_b m_b` (masses m, gaps g), up to a share :math:`1 - R^2` of its variance. Under the joint Dirichlet
    posterior of the cells that occur, the two linear functions have the correlation :math:`r` over rows of what a row
    adds to each, :math:`\beta_b (z - \bar c_b) + \gamma_b`. The residuals are correlated only as far as the two models
    have similar gaps, by the cosine similarity of their expected gaps over rows, :math:`L = \langle g_A g_B \rangle /
    \sqrt{\langle g_A^2 \rangle \langle g_B^2 \rangle}` where positive,

    .. math:: \rho = R_A R_B\, r + \sqrt{(1 - R_A^2)(1 - R_B^2)}\, L^4.

    So the noise of two calibrated models, whose errors lean on bins that happen to be off, does not count as agreement;
    and two names of one model have correlation 1.
    """
    fits = [_linear(v, b) for v, b in zip(values, bins, strict=True)]
    result = np.eye(len(values))
    for (i, j), pair in pairs.items():
        together = _pair_correlation(fits[i], fits[j], bins[i], bins[j], pair)
        result[i, j] = result[j, i] = 1.0 if together > 1 - SAME else together
    return _nearest(result)


class _Fit:
    """Linear fit of an estimand to its bins: coefficients of mass times gap and of mass, and the share explained."""

    def __init__(self, of_gap: Floats, of_mass: Floats, explained: float) -> None:
        self.of_gap, self.of_mass, self.explained = of_gap, of_mass, explained


def _linear(values: Floats, bins: BinDraws) -> _Fit:
    mass = np.broadcast_to(bins.mass, bins.gap.shape)
    features = np.concatenate([mass * bins.gap, mass], axis=1)
    features = features - features.mean(axis=0)
    centred = values - values.mean()
    total = float(centred @ centred)
    if total == 0:
        size = features.shape[1] // 2
        return _Fit(np.zeros(size), np.zeros(size), 0.0)
    # each column on its own scale, so that the ridge treats rare bins as it does common ones
    scale = np.sqrt((features**2).sum(axis=0))
    scaled = features / np.where(scale > 0, scale, 1.0)
    gram = scaled.T @ scaled
    gram[np.diag_indices_from(gram)] += RIDGE
    coefficients = np.linalg.solve(gram, scaled.T @ centred)
    fitted = scaled @ coefficients
    of_gap, of_mass = np.split(coefficients / np.where(scale > 0, scale, 1.0), 2)
    return _Fit(of_gap, of_mass, min(1.0, float(fitted @ fitted) / total))


def _pair_correlation(a: _Fit, b: _Fit, bins_a: BinDraws, bins_b: BinDraws, pair: PairedCounts) -> float:
    bin_a, z_a, bin_b, z_b = pair.cells.T
    moved = [
        fit.of_gap[at] * (z - counts.mean_confidence[at]) + fit.of_mass[at]
        for fit, counts, at, z in ((a, pair.first, bin_a, z_a), (b, pair.second, bin_b, z_b))
    ]
    centres = [np.average(m, weights=pair.weight) if pair.weight.any() else 0.0 for m in moved]
    # where the cells of both are the same, so are the models, also if nothing varies
    same = bool(np.array_equal(pair.cells[:, :2], pair.cells[:, 2:]))
    linear = _cosine(moved[0] - centres[0], moved[1] - centres[1], pair.weight_sq, same)
    gap_a, gap_b = (d.gap.mean(axis=0)[at] for d, at in ((bins_a, bin_a), (bins_b, bin_b)))
    likeness = max(_cosine(gap_a, gap_b, pair.weight, same), 0.0)
    left_over = np.sqrt((1 - a.explained) * (1 - b.explained))
    return float(np.sqrt(a.explained * b.explained) * linear + left_over * likeness**LIKENESS_POWER)


def _cosine(x: Floats, y: Floats, weight: Floats, same: bool) -> float:
    """Weighted cosine similarity; if a vector is zero, 1 for a model with itself and 0 otherwise."""
    xx, yy, xy = (float((weight * p).sum()) for p in (x * x, y * y, x * y))
    if xx == 0 or yy == 0:
        return 1.0 if same else 0.0
    return xy / np.sqrt(xx * yy)


def _nearest(matrix: Floats) -> Floats:
    """Correlation matrix near one that was put together pair by pair: negative eigenvalues cut, unit diagonal."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return matrix
    cut = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(cut))
    result = cut / np.outer(scale, scale)
    result = np.where(result > 1 - SAME, 1.0, result)
    np.fill_diagonal(result, 1.0)
    return result
