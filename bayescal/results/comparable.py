"""Joint draws of an estimand, ranks, and the check that evaluations can be compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar, registered
from bayescal.posterior.copula import reorder
from bayescal.posterior.joint import correlation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.losses import KINDS, is_finite
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]


def checked_rope(rope: Any) -> float:
    """Return a half-width of practical equivalence, which must be a finite number >= 0."""
    width = np.asarray(rope)
    if width.shape != () or width.dtype.kind not in "iuf" or not np.isfinite(width) or width < 0:
        raise ValueError(
            "`rope` must be a number >= 0 in units of the estimand, the half-width of the region of practical "
            f"equivalence; not {rope!r}."
        )
    return float(width)


def common_estimands(
    evaluations: Iterable[Evaluation], pairs: Mapping[tuple[int, int], PairedCounts] | None = None
) -> list[str]:
    """Return the names of the estimands that all of these evaluations have; curves are not among them."""
    counts = [evaluation.counts for evaluation in evaluations]
    missing = {
        need
        for need, kind in KINDS.items()
        if not all(is_finite(getattr(pair, kind.difference)) for pair in (pairs or {}).values())
    }
    return [
        name
        for name, each in registered().items()
        if each.coordinate is None and all(map(each.available, counts)) and not each.needs & missing
    ]


def order_rng(seed: int, estimand: Estimand) -> int | np.random.SeedSequence:
    """Return the seed of the joint draws of one estimand: `seed` for the ECE and errors like it, else one of its own.

    With the same random numbers, the draws of two estimands have nearly the same order. This is appropriate for
    unsigned errors of calibration, which are equal in one bin; others would seem to depend on each other.
    """
    return seed if estimand.of_calibration else np.random.SeedSequence((seed, crc32(estimand.name.encode())))


def joint_values(
    evaluations: Sequence[Evaluation],
    pairs: Mapping[tuple[int, int], PairedCounts] | None,
    estimand: EstimandLike,
    seed: int,
) -> Floats:
    """Joint draws of an estimand of several evaluations, shape (n_draws, n); without `pairs` they are independent."""
    record = as_estimand(estimand)
    rng = order_rng(seed, record)
    if record.joint is not None and pairs:
        counts = [evaluation.counts for evaluation in evaluations]
        joint = record.joint(counts, pairs, len(evaluations[0].bin_draws), rng=rng)
        if joint is not None:
            return joint
    values = [values_of(evaluation, estimand) for evaluation in evaluations]
    bin_draws = [evaluation.bin_draws for evaluation in evaluations]
    if pairs and record.correlation is not None:
        correlations = record.correlation([evaluation.counts for evaluation in evaluations], pairs)
    else:
        correlations = correlation(values, bin_draws, pairs) if pairs else np.eye(len(values))
    return reorder(np.stack(values, axis=1), correlations, rng=rng)


def values_of(evaluation: Evaluation, estimand: EstimandLike) -> Floats:
    """Draws of a scalar estimand of one evaluation."""
    return np.asarray(evaluation.draws(as_scalar(estimand)).values)


def pair_key(axis: str, rope: float) -> str:
    """Explain the columns of probabilities in a table of pairs."""
    return (
        f"P(1st) is the probability that the first {axis} is better: its ECE is smaller by more than {rope:g}. P(2nd) "
        f"is the same for the second {axis}. P(equal) is the probability that the difference is at most {rope:g} (the "
        "rope)."
    )


def p_smallest(values: Floats) -> Floats:
    """Compute the probability that each column is the smallest; columns that tie in a draw share it equally.

    Parameters
    ----------
    values : ndarray, shape (n_draws, n)
        Joint draws.

    Returns
    -------
    ndarray, shape (n,)
        Probabilities that add up to 1.

    Examples
    --------
    >>> p_smallest(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]]))
    array([0.75, 0.25, 0.  ])
    """
    smallest = values == values.min(axis=1, keepdims=True)
    shares: Floats = (smallest / smallest.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def tied_ranks(size: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort the columns of each row; also return the ranks [start, end) that each sorted value shares with its ties."""
    order = np.argsort(size, axis=1, kind="stable")
    ordered = np.take_along_axis(size, order, axis=1)
    place = np.arange(size.shape[1])
    differs = ordered[:, 1:] != ordered[:, :-1]
    first = np.pad(differs, ((0, 0), (1, 0)), constant_values=True)
    last = np.pad(differs, ((0, 0), (0, 1)), constant_values=True)
    start = np.maximum.accumulate(np.where(first, place, 0), axis=1)
    end = np.minimum.accumulate(np.where(last, place + 1, size.shape[1])[:, ::-1], axis=1)[:, ::-1]
    return order, start, end


def same_spec(evaluations: Mapping[str, Evaluation]) -> None:
    """Raise ValueError unless all evaluations have the same target, model, bins and number of draws."""
    named: Sequence[tuple[str, Evaluation]] = list(evaluations.items())
    first_name, first = named[0]
    for name, other in named[1:]:
        for quality, get in _MUST_AGREE.items():
            a, b = get(first), get(other)
            if a != b:
                raise ValueError(
                    f"`evaluations` must agree in {quality}: {first_name!r} has {a}, {name!r} has {b}. "
                    "Evaluate both with the same arguments."
                )


_MUST_AGREE: dict[str, Callable[[Evaluation], Any]] = {
    "target": lambda e: e.counts.target,
    "model": lambda e: f"{e.model} {e.posterior.prior}".strip(),
    "number of bins": lambda e: len(e.counts.bins),
    "kind of bins": lambda e: e.counts.bins.kind,
    "closed side of bins": lambda e: e.counts.bins.closed,
    "edges": lambda e: "their own" if e.counts.bins.kind == "equal-mass" else e.counts.bins.edges.tolist(),
    "number of draws": lambda e: len(e.bin_draws),
}
