"""Selective prediction: predictions with the largest confidences are kept; their risk is the share of wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtr

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.accuracies import evidence, require_predictions
from bayescal.estimands.area_under_roc import correlations, grid_of, require_clusters_in_ranks
from bayescal.estimands.errors import _of_bins
from bayescal.estimands.estimand import all_labelled
from bayescal.estimands.registry import estimand
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import clusters_of, masses_of_units
from bayescal.stats.contract import Counts, Pairs
from bayescal.stats.ranks import Ranks

#: Most cells between quantiles of the confidence, in which the masses of right and wrong predictions are drawn.
CELLS = 512
#: Rows of the prior, and the share of them in the cells with the largest and the smallest confidences.
PRIOR_ROWS, AT_ENDS = 2.0, 0.9
PARTS = 10  #: Parts of the rows with equal shares, for which the weight of a row of the prior is computed.


@dataclass(frozen=True, eq=False)
class Selection:
    """Shares of all rows that are kept, and that are kept and wrong, if cells of confidences are added from the top.

    Arrays of shape (n_draws, n_cells + 1), which begin with 0; between cells, both are linear.
    """

    kept: Floats
    wrong: Floats

    @classmethod
    def of_cells(cls, wrong: Floats, right: Floats) -> "Selection":
        """Add the masses of wrong and right predictions by cell, from the largest confidence on; (n_draws, n_cells)."""
        total = (wrong + right).sum(axis=1, keepdims=True)
        start = np.zeros((len(total), 1))
        kept, lost = (np.cumsum(each / total, axis=1) for each in (wrong + right, wrong))
        return cls(np.concatenate([start, kept], axis=1), np.concatenate([start, lost], axis=1))

    def inside(self, position: Floats) -> "Selection":
        """Order the rows inside each cell: 0 is right ones first, 1 is wrong ones first, (n_draws, 1)."""
        wrong = np.diff(self.wrong, axis=1)
        right = np.maximum(np.diff(self.kept, axis=1) - wrong, 0.0)
        less, more = np.minimum(wrong, right), np.maximum(wrong, right)
        kept, lost = (np.repeat(each, 3, axis=1)[:, :-2] for each in (self.kept, self.wrong))
        kept[:, 1::3] += less
        kept[:, 2::3] += more
        lost[:, 1::3] += position * less
        lost[:, 2::3] += np.where(wrong > right, wrong - right, 0.0) + position * less
        return Selection(kept, lost)

    def risk(self, share: Floats) -> Floats:
        """Share of wrong ones among the kept predictions, if a given share is kept; shape (n_draws, n_shares)."""
        return np.stack([self._wrong_at(each) / each for each in share.tolist()], axis=1)

    def _wrong_at(self, share: float) -> Floats:
        last = np.clip((self.kept < share).sum(axis=1) - 1, 0, self.kept.shape[1] - 2)[:, None]
        (k0, k1), (w0, w1) = ([_at(each, last + i) for i in (0, 1)] for each in (self.kept, self.wrong))
        part = np.divide(share - k0, k1 - k0, out=np.zeros_like(k0), where=k1 > k0)
        return np.asarray(w0 + np.clip(part, 0, 1) * (w1 - w0))

    def largest_share(self, risk: float) -> Floats:
        """Largest share of which at most `risk` are wrong; 0 if there is none. Shape (n_draws,)."""
        excess = self.wrong - risk * self.kept
        cells, last = excess.shape[1] - 1, self.last_cell(risk)
        after = np.minimum(last + 1, cells)
        (k0, e0), (k1, e1) = ([_at(each, at[:, None]) for each in (self.kept, excess)] for at in (last, after))
        part = np.divide(-e0, e1 - e0, out=np.zeros_like(e0), where=e1 > e0)
        share = np.where(last == cells, 1.0, k0 + part * (k1 - k0))
        return np.where((last == 0) & (excess[:, 1] > 0), 0.0, share)

    def last_cell(self, risk: float) -> Ints:
        """Number of cells down to the last end at which at most `risk` are wrong; 0 if there is none; (n_draws,)."""
        fits = (self.wrong - risk * self.kept)[:, 1:] <= 0
        return np.where(fits.any(axis=1), fits.shape[1] - fits[:, ::-1].argmax(axis=1), 0)

    def last_with(self, risk: float, prob: float) -> int:
        """Largest number of cells at which the risk is met with a probability, at most that quantile of `last_cell`.

        If the risk does not rise with the share, cells can fit in a draw although cells before them do not, so that the
        quantile alone would not hold the promise. The first condition alone picks the most favourable of many cells.
        """
        most = int(np.quantile(self.last_cell(risk), 1 - prob, method="lower"))
        fits = (self.wrong - risk * self.kept <= 0)[:, 1 : most + 1].mean(axis=0) >= prob
        return int(np.flatnonzero(fits)[-1]) + 1 if fits.any() else 0

    def area(self) -> Floats:
        """Mean share of kept and wrong predictions over all shares that may be kept; shape (n_draws,)."""
        height = (self.wrong[:, 1:] + self.wrong[:, :-1]) / 2
        return np.asarray((height * np.diff(self.kept, axis=1)).sum(axis=1))


def _at(values: Floats, index: Ints) -> Floats:
    """Return the value at the index of each draw, (n_draws, 1)."""
    return np.take_along_axis(values, index, axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class Cells:
    """Wrong and right predictions in cells of the confidence, from the largest one on."""

    weight: Floats  # (2, n_cells) sum of w of wrong ones and of right ones
    rows: Floats  # (2, n_cells) their effective numbers (Kish)
    confidence: Floats  # (n_cells,) lower end of each cell
    ends: Floats  # (2, n_cells) weights of a row of the prior at the largest and at the smallest confidence, by cell
    row: float  # weight of another row of the prior
    number: Ints  # cell of each position of the grid of ranks
    clusters: Any  # (n_clusters, 2 n_cells) sums of w of each cluster, sparse; None for independent rows
    are_bins: bool  # whether the order of the rows inside a cell is not known

    @classmethod
    def of_counts(cls, counts: Counts) -> "Cells":
        """Merge the cells of the grid of ranks into at most `CELLS` cells of nearly equal weight."""
        _require(counts)
        ranks = grid_of(counts)
        of_cell = ranks.weight.sum(axis=0)[::-1]
        if not of_cell.any():
            raise ValueError("a selective risk needs rows; these counts have none.")
        reached, cell = np.cumsum(of_cell), np.arange(len(of_cell))
        if len(cell) > CELLS:
            cell = np.minimum((reached - of_cell / 2) / reached[-1] * CELLS, CELLS - 1).astype(np.int64)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        number = np.repeat(np.arange(len(first)), np.diff(first, append=len(cell)))[::-1]
        weight, squares = (np.add.reduceat(v[:, ::-1], first, axis=1) for v in (ranks.weight, ranks.weight_sq))
        rows = np.divide(weight**2, squares, out=np.zeros_like(weight), where=squares > 0)
        merged, size = None, len(first)
        if clusters_of(counts) is not None:
            merged = ranks.by_cluster @ adder(np.concatenate([number, size + number]), 2 * size)
        last = np.append(first[1:], len(cell)) - 1
        ends, row = _rows_of_prior(weight, squares, merged)
        return cls(weight, rows, ranks.lower[::-1][last], ends, row, number, merged, isinstance(ranks.grid, Bins))

    @property
    def unit(self) -> Floats:
        """Weight of an effective row in each cell, (2, n_cells); in empty cells, that of a row of the prior."""
        return np.divide(self.weight, self.rows, out=np.full_like(self.rows, self.row), where=self.rows > 0)

    def draw(self, n_draws: int, rng: np.random.Generator, prior: Floats | None = None) -> Selection:
        """Draw the shares, given prior rows of wrong and of right ones in each cell, by default those of `prior_of`."""
        rows, shape = prior_of(len(self.confidence)) if prior is None else prior, (n_draws, *self.rows.shape)
        if self.clusters is None and np.allclose(self.unit, self.row, rtol=1e-12, atol=0):
            return draw_cells(self.rows, n_draws, rng, rows)
        prior_mass = rng.standard_gamma(rows, shape)
        if self.clusters is None:
            return self.with_prior(self.unit * rng.standard_gamma(self.rows, shape), prior_mass)
        return self.with_prior(masses_of_units(self.clusters, n_draws, rng).reshape(shape), prior_mass)

    def with_prior(self, mass: Floats, prior: Floats) -> Selection:
        """Add draws of rows of the prior, both (n_draws, 2, n_cells), to masses of the rows."""
        for place, weight in zip((0, -1), self.ends, strict=True):
            mass += prior[:, :, place, None] * weight
        mass[:, :, 1:-1] += self.row * prior[:, :, 1:-1]
        return Selection.of_cells(mass[:, 0], mass[:, 1])

    def draw_curve(self, n_draws: int, rng: np.random.Generator) -> Selection:
        """Draw the shares with the posterior; inside bins, with a uniform position between both extreme orders."""
        selection = self.draw(n_draws, rng)
        return selection.inside(rng.random((n_draws, 1))) if self.are_bins else selection

    def last_for(self, risk: float, prob: float, n_draws: int, rng: np.random.Generator) -> int:
        """Return the number of cells that can be kept at a risk with a probability, if one wrong row is added.

        This row is before all others. The upper limit of the risk of cells that are chosen beforehand is then that of
        Clopper and Pearson. The number is the largest one at which the risk is met in a share `prob` of the draws, and
        which is not above the last number at which it is met in any but a share 1 - `prob` of them.
        """
        prior = np.zeros((2, len(self.confidence)))
        prior[:, -1] = 0.5
        prior[0, 0] += 1.0
        return self.draw(n_draws, rng, prior).last_with(risk, prob)

    @cached_property
    def shares(self) -> Floats:
        """Share of the rows down to the end of each cell."""
        reached = np.cumsum(self.weight.sum(axis=0))
        return np.asarray(reached / reached[-1])

    def kept(self, number: int) -> tuple[float, float, float]:
        """Return confidence, share and observed risk if so many cells are kept."""
        if not number:
            return float("inf"), 0.0, float("nan")
        wrong, right = self.weight[:, :number].sum(axis=1)
        return float(self.confidence[number - 1]), float(self.shares[number - 1]), float(wrong / (wrong + right))

    def conformal_last(self, risk: float, prob: float, grid: Floats) -> int:
        """Return the number of cells before the first share of a grid whose limit of Clopper and Pearson is too large.

        Shares with so few rows that no number of wrong ones would do are passed over.
        """
        at = np.searchsorted(self.shares, grid + 1e-9, "right") - 1
        at = np.unique(at[at >= 0])
        wrong, right = np.cumsum(self.rows, axis=1)[:, at]
        enough = wrong + right >= np.log1p(-prob) / np.log1p(-risk)
        fits = betaincinv(wrong + 1, np.maximum(right, 1e-9), prob) <= risk
        tested = fits[enough]
        number = len(tested) if tested.all() else int(tested.argmin())
        return int(at[enough][number - 1]) + 1 if number else 0


def observed_selection(counts: Counts) -> Selection:
    """Return the observed shares; predictions with one confidence are kept in random order."""
    _require(counts)
    wrong, right = grid_of(counts).weight[:, ::-1]
    return Selection.of_cells(wrong[None], right[None])


def selection_of(bin_draws: BinDraws, counts: Counts, rng: Any = None) -> Selection:
    """Draw the shares from their posterior; their AUGRC has the ranks of that of the bins in the same draws."""
    selection = Cells.of_counts(counts).draw_curve(len(bin_draws), _checks.generator(rng))
    wrong = bin_draws.mass * (1 - bin_draws.accuracy)
    by_bin = Selection.of_cells(wrong[:, ::-1], (bin_draws.mass - wrong)[:, ::-1])
    order = np.empty(len(bin_draws), np.int64)
    order[by_bin.area().argsort(kind="stable")] = selection.area().argsort(kind="stable")
    return Selection(selection.kept[order], selection.wrong[order])


def last_confidence(counts: Counts, share: Floats) -> Floats:
    """Return the confidence of the last row if these shares are kept."""
    ranks = grid_of(counts)
    reached = np.cumsum(ranks.weight.sum(axis=0)[::-1])
    at = np.searchsorted(reached / reached[-1], share - 1e-9, "left")
    return ranks.lower[::-1][np.minimum(at, len(reached) - 1)]


def draw_cells(cells: Floats, n_draws: int, rng: np.random.Generator, prior: Floats | None = None) -> Selection:
    """Draw the masses of cells in the order of falling confidence, given their rows.

    `cells` has shape (2, n_cells): numbers of wrong and of right predictions.
    """
    rows = prior_of(cells.shape[-1]) if prior is None else prior
    mass = rng.standard_gamma(cells + rows, (n_draws, *cells.shape))
    return Selection.of_cells(mass[:, 0], mass[:, 1])


def adder(number: Ints, size: int) -> Any:
    """Return the sparse matrix that adds columns with one number, numbers from 0 to `size` - 1."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(number)), (np.arange(len(number)), number)), shape=(len(number), size))


def _rows_of_prior(weight: Floats, squares: Floats, clusters: Any) -> tuple[Floats, float]:
    """Return the weight of a row of the prior at both ends, by cell, (2, n_cells), and that of another one.

    Down to a share that is kept, the weight is that of `_prior_row`; from one share to the next, it does not fall.
    """
    n_cells = weight.shape[1]
    reached = np.cumsum(weight.sum(axis=0))
    part = np.clip(np.ceil(reached / reached[-1] * PARTS - 1e-9).astype(np.int64) - 1, 0, PARTS - 1)
    add = adder(part, PARTS)
    of_parts = [weight @ add, squares @ add]
    if clusters is not None:
        by_outcome = adder(np.concatenate([part, PARTS + part]), 2 * PARTS)
        of_parts.append((clusters @ by_outcome).toarray().reshape(-1, 2, PARTS))
    ends = np.zeros((2, n_cells))
    for end, step in zip(ends, (1, -1), strict=True):
        kept = [np.cumsum(each[..., ::step], axis=-1) for each in of_parts]
        ends_of_parts = kept[0].sum(axis=0) / reached[-1]
        held = np.flatnonzero(np.diff(ends_of_parts, prepend=0.0) > 0)  # a cell with many rows leaves parts empty
        units = [_prior_row(*(each[..., i] for each in kept)) for i in held]
        shares = np.cumsum(weight.sum(axis=0)[::step]) / reached[-1]
        by_cell = np.interp(shares, ends_of_parts[held], np.maximum.accumulate(units))
        end[::step] = np.diff(by_cell, prepend=0.0)
    if n_cells == 1:
        ends[1] = 0.0
    return ends, units[-1]


def _prior_row(weight: Floats, squares: Floats, clusters: Floats | None = None) -> float:
    """Return the sum of w^2 over that of w, times the design effect of clusters; sums by outcome.

    The design effect is that of the share of wrong ones, as in `accuracies.evidence`: one wrong row more has the design
    effect of clusters whose rows are all right or all wrong.
    """
    total, squared = float(weight.sum()), float(squares.sum())
    if clusters is None:
        return squared / total
    of_cluster, risk = clusters.sum(axis=1), weight[0] / total
    most = max(float(of_cluster @ of_cluster) / squared, 1.0)
    alone = float(squares[0] * (1 - risk) ** 2 + squares[1] * risk**2)
    effect = max(float(((clusters[:, 0] - risk * of_cluster) ** 2).sum()) / alone, 1.0) if alone > 0 else 0.0
    fewer = min(risk, 1 - risk) * total**2 / squared
    return float((fewer * effect + most) / (fewer + 1) * squared / total)


def prior_of(n_cells: int) -> Floats:
    """Prior rows of each outcome in each cell, shape (n_cells,); `AT_ENDS` of them are in the first and the last."""
    prior = np.bincount(_places(n_cells), minlength=n_cells) * (PRIOR_ROWS * (1 - AT_ENDS) / (2 * CELLS))
    prior[[0, -1]] += PRIOR_ROWS * AT_ENDS / 4 * (1 if n_cells > 1 else 2)
    return np.asarray(prior)


def draw_priors(
    n_cells: Sequence[int], same_outcome: Floats, same_place: Floats, n_draws: int, rng: Generator
) -> list[Floats]:
    """Draw the prior rows of each outcome of several classifiers, each of shape (n_draws, 2, n_cells) as of `prior_of`.

    The number of prior rows, and its division among both ends and the cells between, are Gamma variables with a Normal
    copula, whose correlations are the shares of rows with the same outcome, and of confident rows that are the same.
    """
    ends, between = PRIOR_ROWS * AT_ENDS / 4, PRIOR_ROWS * (1 - AT_ENDS) / 2
    number = _correlated_gamma(np.full((2, 1), PRIOR_ROWS / 2), same_outcome, n_draws, rng)
    part = _correlated_gamma(np.tile([ends, between, ends], (2, 1)), same_place, n_draws, rng)
    part *= number / part.sum(axis=-1, keepdims=True)
    inside = rng.standard_gamma(between / CELLS, (n_draws, 2, CELLS))
    inside /= np.maximum(inside.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
    priors = []
    for of_parts, size in zip(part, n_cells, strict=True):
        rows = np.add.reduceat(inside, np.searchsorted(_places(size), np.arange(size)), axis=2) * of_parts[..., 1:2]
        rows[..., 0] += of_parts[..., 0]
        rows[..., -1] += of_parts[..., 2]
        priors.append(rows)
    return priors


def _correlated_gamma(shape: Floats, correlation: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw Gamma variables of several classifiers with a Normal copula; (n_classifiers, n_draws, *shape.shape)."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.tensordot(root, rng.standard_normal((len(root), n_draws, *shape.shape)), axes=1)
    return np.asarray(gammaincinv(shape, ndtr(normal)))


def _places(n_cells: int) -> Ints:
    """Return the cell of each of `CELLS` points, at most so many cells."""
    return np.arange(CELLS) * n_cells // CELLS


def checked_shares(share: Any, counts: Counts) -> Floats:
    """Return shares in (0, 1], each of which keeps at least one (effective) row, shape (n_shares,)."""
    values = np.atleast_1d(np.asarray(share))
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TypeError(f"`share` must be a number in (0, 1], or a one-dimensional array of them; not {quoted(share)}.")
    if not len(values):
        raise ValueError("`share` is empty; at least one share is needed.")
    outside = ~((values > 0) & (values <= 1))  # also if one is NaN
    hint = "Percentages? Divide by 100." if 2 <= values.max() <= 100 else ""
    if outside.any():
        _checks.refuse("share", "must lie in (0, 1]", outside, values, hint)
    _require(counts)
    rows = evidence(counts).rows
    few = values * rows < 1 - 1e-9
    if few.any():
        _checks.refuse("share", f"must keep at least one of the {rows:.6g} (effective) rows", few, values)
    return values.astype(np.float64)


def _require(counts: Counts) -> None:
    require_predictions(counts, "a selective risk")
    if not all_labelled(counts):
        raise ValueError(
            "a selective risk needs rows of the population itself with observed outcomes. Here outcomes are those of "
            "another population or of a judge, or no outcome is observed in some bins, so that which of the most "
            "confident predictions are right is not known."
        )
    require_clusters_in_ranks(counts, "by_cluster", "a selective risk")


def augrc_grid_error(ranks: Ranks) -> float:
    """Return the largest error of the AUGRC because the order of rows inside bins is not known."""
    total = float(ranks.total.sum())
    bins = isinstance(ranks.grid, Bins) and total > 0
    return float(ranks.weight.prod(axis=0).sum() / (2 * total**2)) if bins else 0.0


def _variance_and_error(ranks: Ranks) -> tuple[float, float]:
    """Return the variance of the AUGRC over data sets, with a wrong row more, and its largest error inside bins."""
    rows = float(ranks.total.sum()) ** 2 / float(ranks.weight_sq.sum())
    return (ranks.influence_variance("risk_influences") + 1 / (rows + 1)) / rows, augrc_grid_error(ranks)


def correlation_of_augrcs(counts: Sequence[Counts], pairs: Pairs) -> Floats:
    """Estimate the correlation between the AUGRCs of several classifiers, as `correlation_of_aucs` does for AUCs."""
    return correlations([grid_of(each) for each in counts], pairs, "risk_influences", _variance_and_error)


def _observed(counts: Counts) -> float:
    return float(observed_selection(counts).area()[0]) if counts.occupied.any() else float("nan")


@estimand(
    "AUGRC",
    title="Area Under the Generalized Risk-Coverage Curve",
    needs=frozenset({"predictions", "labelled rows"}),
    reported=False,
    plug_in=_observed,
    correlation=correlation_of_augrcs,
    bounds=(0.0, 0.5),
    citation="Traub, Bungert, Luth, Baumgartner, Maier-Hein, Maier-Hein and Jaeger (2024), NeurIPS",
    formula=r"\int_0^1 P(z = 0,\; c \text{ among the largest share } s) \, ds",
    synonyms=("area under the generalised risk-coverage curve", "generalized risk", "selective prediction"),
)
@_of_bins
@public
def augrc(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the AUGRC: the mean risk of a wrong prediction that is kept, over all shares of predictions that are kept.

    It measures how well confidences say which predictions to keep and which to give to a person. `Evaluation.augrc`
    calls this function.

    Parameters
    ----------
    bin_draws : BinDraws
        Posterior draws of the bins; the draws of the AUGRC get their ranks.
    counts : BinnedCounts
        The counts; their `ranks` are used, or the bins if there are none. The order of rows inside bins is not known:
        draws then range over all orders.
    rng : None, int, SeedSequence or Generator
        Seed or generator.

    Returns
    -------
    Draws
        In [0, 1/2]; smaller is better. With a share e of wrong predictions, it lies between e\ :sup:`2`/2, if all of
        them have the smallest confidences, and e - e\ :sup:`2`/2; if confidences say nothing, it is e/2.

    Raises
    ------
    ValueError
        If the target is ``event`` or ``classwise``, whose outcome is not whether a prediction is right; if the outcomes
        are of another population or a judge, or missing in a bin; for sums of counts of rows in clusters.

    Notes
    -----
    If the share s with the largest confidences is kept, G(s) is the share of all predictions that are kept and wrong.
    The AUGRC is :math:`\int_0^1 G(s) \, ds` [1]_. With the accuracy a and the AUC A of confidence against correctness,

    .. math:: \mathrm{AUGRC} = a (1 - a) (1 - A) + (1 - a)^2 / 2.

    The posterior is that of `Evaluation.selective_risk`. It does not use the accuracies of the bins, which the default
    model shrinks towards the confidences: intervals of a nearly linear quantity would then be too short.

    References
    ----------
    .. [1] J. Traub, T. J. Bungert, C. T. Luth, M. Baumgartner, K. H. Maier-Hein, L. Maier-Hein and P. F. Jaeger (2024),
       "Overcoming common flaws in the evaluation of selective classification systems", Advances in Neural Information
       Processing Systems 37.

    Examples
    --------
    Two right and two wrong predictions, the wrong ones with the second and the smallest confidence: G is 0, 0, 1/4,
    1/4 and 1/2 after 0 to 4 predictions, and the area of the line through these points is 3/16.

    >>> ev = bc.evaluate([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], target="confidence", rng=1)
    >>> ev.plug_in_of("augrc")
    0.1875
    >>> ev.augrc.interval(0.95)
    (0.0..., 0.4...)
    """
    name, error = "augrc", augrc_grid_error(grid_of(counts))
    if error > 0:
        name += f" (to within {error:.2g}, because the order of rows inside bins is not known)"
    return Draws(selection_of(bin_draws, counts, rng).area(), name)
