"""Coverage of intervals of the accuracy, and of differences of two accuracies, for rows of several designs."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from bayescal import compare, evaluate, shift
from bayescal.datasets.clustered import uniform_in_clusters
from bayescal.draws import BinDraws

Floats = NDArray[np.float64]

#: Accuracies and numbers of rows; accuracies of two classifiers and numbers of rows.
ACCURACIES, SIZES = (0.5, 0.7, 0.9, 0.97, 0.99), (20, 100, 500, 2000)
PAIRS, PAIR_SIZES = ((0.7, 0.7), (0.9, 0.85), (0.97, 0.96)), (20, 200, 2000)
#: Rows per cluster of the designs with clusters.
CLUSTERS = {"clusters of 5": 5, "clusters of 20": 20}
INDEPENDENT, WEIGHTED, BY_CONFIDENCE = "independent rows", "weighted rows", "weights that grow with the confidence"
SHIFTED = "covariate shift, true weights"
DESIGNS = (INDEPENDENT, WEIGHTED, BY_CONFIDENCE, *CLUSTERS, SHIFTED)
#: A third classifier is compared, too.
THREE = "independent rows, three classifiers"
PAIRED = (INDEPENDENT, THREE, WEIGHTED, *CLUSTERS)
#: Independent rows by the mean of the bins under the default model.
OF_BINS = "independent rows, mean of the bins"
#: All confidences are too high by this shift of their log odds.
SHIFT = 0.5
#: Least numbers of rows: four clusters, and so many that no data set is refused for its weights.
FEWEST = {**{name: 4 * rows for name, rows in CLUSTERS.items()}, SHIFTED: 500}
#: Log odds of the target are higher by this, in standard deviations of those of the source.
TARGET_SHIFT = 0.7
#: Correlation of the latent Normal variables of two outcomes in one cluster, and of two classifiers in one row.
DEPENDENCE, TOGETHER = 0.5, 0.7
#: Quantiles that stand for the probabilities of a population.
QUANTILES = 20_000


def cells[T](
    designs: Sequence[str], accuracies: Sequence[T], sizes: Sequence[int], *, quick: bool
) -> list[tuple[str, T, int]]:
    """All cells with at least four clusters, or the rows that a shift needs; if `quick`, those of the second size."""
    every = product(designs, accuracies, sizes[1:2] if quick else sizes)
    return [cell for cell in every if cell[2] >= FEWEST.get(cell[0], 1)]


@cache
def centre(accuracy: float) -> float:
    """Centre of Normal log odds with standard deviation 1 whose mean probability is the accuracy."""
    normal = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    return float(brentq(lambda m: expit(m + normal).mean() - accuracy, -1, 9))


def truth_of(design: str, accuracy: float) -> float:
    """True accuracy: that of the weighted population, if weights depend on the confidence, and of the target."""
    if design not in (BY_CONFIDENCE, SHIFTED):
        return accuracy
    odds = centre(accuracy) + ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    if design == SHIFTED:
        return float(expit(odds + TARGET_SHIFT).mean())
    return float(np.average(expit(odds), weights=expit(odds + SHIFT) ** 2))


def drawn(design: str, size: int, *accuracies: float, rng: np.random.Generator) -> tuple[list[Any], list[Any], Any]:
    """Draw outcomes and confidences of each classifier, and the options of the design."""
    rows = CLUSTERS.get(design, 1)
    cluster = np.repeat(np.arange(size // rows), rows)
    odds = ndtri(uniform_in_clusters(cluster, DEPENDENCE if rows > 1 else 0.0, rng))
    latent = ndtri(uniform_in_clusters(cluster, DEPENDENCE if rows > 1 else 0.0, rng))
    right, confidence = [], []
    for accuracy in accuracies:
        of_one = np.sqrt(TOGETHER) * latent + np.sqrt(1 - TOGETHER) * rng.standard_normal(size)
        right.append((ndtr(of_one) < expit(centre(accuracy) + odds)).astype(np.int64))
        confidence.append(expit(centre(accuracy) + odds + SHIFT))
    options: dict[str, Any] = {"cluster": cluster} if rows > 1 else {}
    if design == WEIGHTED:
        options["weights"] = rng.exponential(size=size)
    elif design == BY_CONFIDENCE:
        options["weights"] = confidence[0] ** 2 * rng.exponential(size=size)
    elif design == SHIFTED:
        options["weights"] = np.exp(TARGET_SHIFT * odds)
    return right, confidence, options


def of_bins(bins: BinDraws) -> Floats:
    """Accuracy of each draw of the bins."""
    mean: Floats = (bins.mass * bins.accuracy).sum(axis=1)
    return mean


def accuracies(
    design: str, accuracy: float, size: int, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Yield draws of the accuracy of one data set, by method; the model determines their order only."""
    (right,), (confidence,), options = drawn(design, size, accuracy, rng=rng)
    settings = {"target": "confidence", "draws": draws, "rng": rng, **options}
    if design == SHIFTED:
        target = expit(centre(accuracy) + TARGET_SHIFT + rng.standard_normal(size) + SHIFT)
        yield design, shift.covariate(right, confidence, target, model="dirichlet", **settings).accuracy.values
        return
    yield design, evaluate(right, confidence, model="dirichlet", **settings).accuracy.values
    if design == INDEPENDENT:
        yield OF_BINS, of_bins(evaluate(right, confidence, **settings).bin_draws)


def differences(
    design: str, pair: tuple[float, float], size: int, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Yield draws of the difference of two accuracies on the same rows."""
    several = (*pair, 0.8) if design == THREE else pair
    right, confidence, options = drawn(design, size, *several, rng=rng)
    of_name = [dict(zip("abc", columns, strict=False)) for columns in (right, confidence)]
    settings = {"target": "confidence", "model": "dirichlet", "draws": draws, "rng": rng, **options}
    yield design, compare(*of_name, **settings).difference("a", "b", estimand="accuracy").values
