"""Selective prediction: rows -> counts with ranks -> joint draws of the shares that are kept -> SelectivePrediction."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats, Generator, Ints
from bayescal._invalid import errors_of, quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.compare_rows import ClassifierRows
from bayescal.analyses.one import count_rows, remarks_on
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions, read_rows
from bayescal.decisions.selective_result import SelectivePrediction
from bayescal.decisions.thresholds import UNNAMED
from bayescal.estimands.area_under_roc import grid_of
from bayescal.estimands.estimand import EVENTS
from bayescal.estimands.selective import CELLS, Cells, Selection, adder, draw_priors
from bayescal.results.remarks import of_several
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import masses_of_units, require_several_clusters
from bayescal.stats.contract import require_kind
from bayescal.stats.sums import sums_at

BINS = 15  #: Bins of the counts; the posterior depends on the ranks of the rows only.
TOP = 0.1  #: Share of the most confident rows by which classifiers are compared.
#: Largest number of combinations of cells of several classifiers: the time of joint draws is proportional to it.
MOST_COMBINATIONS = 20_000


@public
def selective(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    weights: Any = None,
    cluster: Any = None,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> SelectivePrediction:
    r"""Compute risk-coverage curves: how often predictions are wrong if only the most confident ones are kept.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels, as for `evaluate`; with ``target="confidence"``, whether each prediction is right.
    y_prob : array-like of float, shape (n_rows, n_classes) or (n_rows,), or mapping of str to array-like
        Probabilities of all classes, or, with ``target="confidence"``, the confidence in each prediction. For several
        classifiers on the same rows, a mapping from name to probabilities.
    target : {"top-label", "confidence"}, optional
        What is right: the most probable class, or what `y_true` states. By default ``"top-label"`` for a matrix.

    Returns
    -------
    SelectivePrediction
        Draws of the risk at each share, with bands; the AUGRC; differences of classifiers; the share that can be kept
        at a risk; and the confidence from which to keep predictions, so that a risk is met with a stated probability.

    Raises
    ------
    ValueError, TypeError
        If values are missing or invalid, or columns differ in length; the message gives the first index. If `y_prob`
        is one column of probabilities of an event, whose outcome is not whether a prediction is right.

    See Also
    --------
    bayescal.results.evaluation.Evaluation.selective_risk : The risk at a share, for one classifier.
    selective_counts : The same from counts of streams, engines or files.

    Notes
    -----
    If the share s of the predictions with the largest confidences is kept, the selective risk is the share of wrong
    ones among them. Rows of one confidence are kept in random order. The posterior is that of
    `Evaluation.selective_risk`: a Dirichlet posterior of the masses of right and wrong rows in cells between quantiles
    of the confidence. All rows of a cluster share one standard exponential weight in each draw. For several
    classifiers, the masses are those of all combinations of their cells. Draws are therefore joint, and differences
    are as precise as the common rows allow.

    Examples
    --------
    >>> rows = simulate(2000, population="top", rng=1)
    >>> kept = bc.decisions.selective(rows.outcome, rows.confidence, target="confidence", rng=1)
    >>> kept.risk["model"].mean().round(2)[[19, 79, 99]]
    array([0.01, 0.07, 0.12])
    >>> kept.largest_share(0.02)["model"].interval(0.95)
    (0.2..., 0.4...)
    """
    options = {"target": target, "weights": weights, "classes": classes, "logits": logits}
    named = isinstance(y_prob, Mapping)
    if named and len(y_prob) > 1:
        read = ClassifierRows.read(y_true, y_prob, cluster=cluster, **options)
        rows, clusters = read.rows, read.clusters
    else:
        name, prob = next(iter(y_prob.items())) if named and y_prob else (UNNAMED, y_prob)
        if not isinstance(name, str) or not name:
            raise TypeError(f"`y_prob` must have names that are strings; {name!r} is not.")
        same_rows({"y_true": y_true, "y_prob": prob, "weights": weights, "cluster": cluster})
        rows = {name: read_rows(y_true, prob, **options).checked().scale_free()}
        clusters = None if cluster is None else Clusters.from_column(cluster, len(rows[name]))
    if next(iter(rows.values())).target in EVENTS:
        raise ValueError(text_of("selective prediction of an event"))
    counts = {}
    for name, of_one in rows.items():
        with errors_of(f"classifier {name!r}" if len(rows) > 1 else ""):
            counts[name] = count_rows(of_one, BINS, "equal-width", ranked=True, clusters=clusters)
            require_several_clusters(counts[name])
    on = {name: remarks_on(of_one) for name, of_one in rows.items()}
    of_rows = tuple(of_several(on)) if len(rows) > 1 else next(iter(on.values()))
    return _selective(counts, rows, draws, rng, of_rows)


@public
def selective_counts(
    counts: BinnedCounts, *, draws: int = 4000, rng: Any = None, name: str = UNNAMED
) -> SelectivePrediction:
    """Compute a risk-coverage curve from counts; the cost does not depend on the number of rows.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of right and wrong predictions, such as ``evaluation.counts``. If they hold no ranks, the bins are the
        cells, and draws range over all orders of the rows inside a bin.
    name : str, optional
        Name of the classifier.

    Returns
    -------
    SelectivePrediction
        As from `selective`.

    Raises
    ------
    ValueError, TypeError
        If `counts` are not `BinnedCounts`, have no rows, are counts of an event, or are sums of counts of rows in
        clusters; or `name` is not a string.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.7, 0.8, 0.9], bins=10)
    >>> kept = bc.decisions.selective_counts(counts, rng=1)
    >>> kept.observed["model"][[0, -1]]
    array([0.  , 0.25])
    """
    require_kind(BinnedCounts, "; for rows, use `bayescal.decisions.selective`.", counts)
    if not isinstance(name, str) or not name:
        raise TypeError(f"`name` must be a string that is not empty, not {quoted(name)}.")
    return _selective({name: counts}, {}, draws, rng, ())


def _selective(
    counts: Mapping[str, BinnedCounts], rows: Mapping[str, Predictions], draws: Any, rng: Any, of_rows: tuple[str, ...]
) -> SelectivePrediction:
    n_draws, seed = _checks.whole_number("draws", draws, 2), _checks.seeds(rng, 1)[0]
    cells = {}
    for name, each in counts.items():
        with errors_of(f"classifier {name!r}" if len(counts) > 1 else ""):
            cells[name] = Cells.of_counts(each)
    generator = np.random.default_rng(seed)
    if len(cells) == 1:
        selections = [each.draw_curve(n_draws, generator) for each in cells.values()]
    else:
        selections = joint_selections([*cells.values()], [*rows.values()], [*counts.values()], n_draws, generator)
    return SelectivePrediction(dict(counts), cells, dict(zip(cells, selections, strict=True)), seed, of_rows)


def joint_selections(
    cells: Sequence[Cells], rows: Sequence[Predictions], counts: Sequence[BinnedCounts], n_draws: int, rng: Generator
) -> list[Selection]:
    """Draw the shares of several classifiers, given the same rows.

    Masses are drawn for each combination of ranges of cells and outcomes of the classifiers, and the mass of a range is
    divided among its cells. A sum of Gamma variables is a Gamma variable, so that the draws of each classifier are
    those of its own posterior; with unequal weights, they have its means and variances. Clusters have the same random
    number for all classifiers. Prior rows are the more alike, the more the same rows are the most confident ones, and
    the more outcomes agree. Two names of one classifier have the same draws.
    """
    from scipy.sparse import hstack

    weight = np.ones(len(rows[0])) if rows[0].weight is None else rows[0].weight.astype(np.float64)
    codes = [_codes(each, of_one, of_counts) for each, of_one, of_counts in zip(cells, rows, counts, strict=True)]
    first = [next(j for j in range(i + 1) if np.array_equal(codes[j], code)) for i, code in enumerate(codes)]
    different = sorted(set(first))  # two names of one classifier have the same draws
    agreement = _agreement([codes[i] for i in different], [cells[i] for i in different], weight)
    sizes = [len(cells[i].confidence) for i in different]
    priors = dict(zip(different, draw_priors(sizes, *agreement, n_draws, rng), strict=True))
    seed, merged, shapes = int(rng.integers(2**63)), 0, np.ones(1)
    starts = [np.arange(len(each.confidence)) for each in cells]
    units = [each.clusters for each in cells]
    if units[0] is None:
        codes, merged, (sums, squares) = _combined(codes, [weight, weight**2])
        shapes = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0)
        unit = np.divide(squares, sums, out=np.ones_like(sums), where=sums > 0)[:, None]
        starts = [start[:: 2**merged] for start in starts]
        of_each = zip(codes, map(len, starts), strict=True)
        units = [adder(code % 2 * size + code // 2, 2 * size) * unit for code, size in of_each]
    mass = masses_of_units(hstack(units, "csr"), n_draws, rng, shapes)
    ends, selections = np.cumsum([2 * len(start) for start in starts]), []
    for each, of_one, start, i in zip(cells, np.split(mass, ends[:-1], axis=1), starts, first, strict=True):
        both = of_one.reshape(n_draws, 2, -1)
        if merged:
            of_rows = np.random.default_rng((seed, i)).standard_gamma(each.rows, (n_draws, *each.rows.shape))
            inside = each.unit * of_rows
            total = np.add.reduceat(inside, start, axis=2)
            scale = np.divide(both, total, out=np.zeros_like(both), where=total > 0)
            both = inside * np.repeat(scale, np.diff(start, append=len(each.confidence)), axis=2)
        selections.append(each.with_prior(both, priors[i]))
    return selections


def _agreement(codes: Sequence[Ints], cells: Sequence[Cells], weight: Floats) -> tuple[Floats, Floats]:
    """Return the share of rows with the same outcome, and of the tenth with the largest confidences that is the same.

    Both have shape (n_classifiers, n_classifiers). Predictions of this tenth are the same if outcomes are, too.
    """
    inside = []
    for code, each in zip(codes, cells, strict=True):
        start, end = np.append(0, each.shares[:-1]), each.shares
        inside.append(np.clip((TOP - start) / (end - start), 0, 1)[code // 2])
    outcome, place = np.eye(len(codes)), np.eye(len(codes))
    for i, j in combinations(range(len(codes)), 2):
        same = weight * (codes[i] % 2 == codes[j] % 2)
        outcome[i, j] = outcome[j, i] = same.sum() / weight.sum()
        place[i, j] = place[j, i] = (same @ np.minimum(inside[i], inside[j])) / (TOP * weight.sum())
    return outcome, place


def _combined(codes: Sequence[Ints], values: Sequence[Floats]) -> tuple[list[Ints], int, list[Floats]]:
    """Return combinations of codes, and sums of values; cells are merged in pairs until combinations are few enough.

    The second number says how often they were merged.
    """
    merged, codes = 0, list(codes)
    while True:
        key = codes[0]
        for each in codes[1:]:
            key = np.unique(key * (2 * CELLS) + each, return_inverse=True)[1]
        _, first, at = np.unique(key, return_index=True, return_inverse=True)
        codes, values = [each[first] for each in codes], [sums_at(at, each) for each in values]
        if len(first) <= MOST_COMBINATIONS:
            return codes, merged, list(values)
        merged, codes = merged + 1, [(each // 4) * 2 + each % 2 for each in codes]


def _codes(cells: Cells, rows: Predictions, counts: BinnedCounts) -> Ints:
    """Return twice the cell of each row, plus 1 if the prediction is right."""
    cell: Ints = cells.number[grid_of(counts).cell_of(rows.confidence)]
    return 2 * cell + rows.outcome.astype(np.int64)
