"""Selective prediction: predictions with the largest confidences are kept; their risk is the share of wrong ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv

from bayescal import _checks
from bayescal._arrays import Floats, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.accuracies import evidence, require_predictions
from bayescal.estimands.area_under_roc import grid_of
from bayescal.estimands.errors import _of_bins
from bayescal.estimands.estimand import all_labelled
from bayescal.estimands.registry import estimand
from bayescal.posterior.joint import with_ranks_of
from bayescal.stats.contract import Counts

#: Most cells between quantiles of the confidence, in which the masses of right and wrong predictions are drawn.
CELLS = 512
#: Rows of the prior, and the share of them in the cells with the largest and the smallest confidences.
PRIOR_ROWS, AT_ENDS = 2.0, 0.9


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

    def risk(self, share: Floats) -> Floats:
        """Share of wrong ones among the kept predictions, if a given share is kept; shape (n_draws, n_shares)."""
        return np.stack([self._wrong_at(each) / each for each in share.tolist()], axis=1)

    def _wrong_at(self, share: float) -> Floats:
        last = np.clip((self.kept < share).sum(axis=1) - 1, 0, self.kept.shape[1] - 2)[:, None]
        (k0, k1), (w0, w1) = (
            [np.take_along_axis(each, last + i, axis=1)[:, 0] for i in (0, 1)] for each in (self.kept, self.wrong)
        )
        part = np.divide(share - k0, k1 - k0, out=np.zeros_like(k0), where=k1 > k0)
        return np.asarray(w0 + np.clip(part, 0, 1) * (w1 - w0))

    def largest_share(self, risk: float) -> Floats:
        """Largest share of which at most `risk` are wrong; 0 if there is none. Shape (n_draws,)."""
        excess = self.wrong - risk * self.kept
        cells, last = excess.shape[1] - 1, self.last_cell(risk)
        after = np.minimum(last + 1, cells)
        (k0, e0), (k1, e1) = (
            [np.take_along_axis(each, at[:, None], axis=1)[:, 0] for each in (self.kept, excess)]
            for at in (last, after)
        )
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


@dataclass(frozen=True, eq=False)
class Cells:
    """Wrong and right predictions in cells of the confidence, from the largest one on."""

    weight: Floats  # (2, n_cells) sum of w of wrong ones and of right ones
    rows: Floats  # (2, n_cells) their effective numbers
    confidence: Floats  # (n_cells,) lower end of each cell
    row: float  # weight of a row of the prior: the sum of w^2 over that of w, divided by the design effect of clusters
    number: Ints  # cell of each position of the grid of ranks
    most: float  # largest factor of the rows in draws of the design effect of clusters
    freedom: float  # its degrees of freedom; infinite for independent rows

    @classmethod
    def of_counts(cls, counts: Counts, most_cells: int = CELLS) -> "Cells":
        """Merge the cells of the grid of ranks into at most this number of cells of nearly equal weight."""
        _require(counts)
        (_, rows, most, freedom), ranks = evidence(counts), grid_of(counts)
        if not most:
            raise ValueError("a selective risk needs rows; these counts have none.")
        of_cell = ranks.weight.sum(axis=0)[::-1]
        reached, cell = np.cumsum(of_cell), np.arange(len(of_cell))
        if len(cell) > most_cells:
            cell = np.minimum((reached - of_cell / 2) / reached[-1] * most_cells, most_cells - 1).astype(np.int64)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        number = np.repeat(np.arange(len(first)), np.diff(first, append=len(cell)))
        weight, squares = (
            np.add.reduceat(values[:, ::-1], first, axis=1) for values in (ranks.weight, ranks.weight_sq)
        )
        effect = rows / most if np.isfinite(freedom) else 1.0  # of clusters; that of weights is in the squares
        effective = np.divide(weight**2, squares, out=np.zeros_like(weight), where=squares > 0) * effect
        last = np.append(first[1:], len(cell)) - 1
        row = float(squares.sum() / weight.sum() / effect)
        return cls(weight, effective, ranks.lower[::-1][last], row, number[::-1], most / rows, freedom)

    @property
    def unit(self) -> Floats:
        """Weight of an effective row in each cell, (2, n_cells), relative to that of a row of the prior."""
        return np.divide(self.weight / self.row, self.rows, out=np.ones_like(self.rows), where=self.rows > 0)

    def factors(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw the factor of the numbers of rows, whose design effect is known from clusters only; (n_draws, 1)."""
        if not np.isfinite(self.freedom):
            return np.ones((n_draws, 1))
        return np.minimum(rng.chisquare(self.freedom, (n_draws, 1)) / self.freedom, self.most)

    def draw(self, n_draws: int, rng: np.random.Generator, prior: Floats | None = None) -> Selection:
        """Draw the shares, given prior rows of wrong and of right ones in each cell, by default those of `prior_of`."""
        cells = self.rows
        if np.isfinite(self.freedom):
            cells = cells * self.factors(n_draws, rng)[:, :, None]
        return draw_cells(cells, n_draws, rng, prior, self.unit)

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

    def confidence_at(self, share: Floats) -> Floats:
        """Return the confidence of the last row if these shares are kept."""
        at = np.searchsorted(self.shares, share - 1e-9, "left")
        return self.confidence[np.minimum(at, len(self.confidence) - 1)]

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


def selection_of(counts: Counts, n_draws: int, rng: Any = None) -> Selection:
    """Draw the shares from their posterior; see `selective_risk` of an evaluation."""
    return Cells.of_counts(counts).draw(n_draws, _checks.generator(rng))


def draw_cells(
    cells: Floats, n_draws: int, rng: np.random.Generator, prior: Floats | None = None, unit: Floats | None = None
) -> Selection:
    """Draw the masses of cells in the order of falling confidence, given their rows.

    `cells` has shape (2, n_cells), or (n_draws, 2, n_cells): effective numbers of wrong and of right predictions. With
    unequal weights, `unit` is the weight of an effective row, relative to that of a row of the prior; (2, n_cells).
    """
    rows, shape = prior_of(cells.shape[-1]) if prior is None else prior, (n_draws, *cells.shape[-2:])
    if unit is None or np.allclose(unit, 1.0, rtol=1e-12, atol=0):
        mass = rng.standard_gamma(cells + rows, shape)
    else:
        mass = unit * rng.standard_gamma(np.broadcast_to(cells, shape)) + rng.standard_gamma(rows, shape)
    return Selection.of_cells(mass[:, 0], mass[:, 1])


def prior_of(n_cells: int) -> Floats:
    """Prior rows of each outcome in each cell, shape (n_cells,); `AT_ENDS` of them are in the first and the last."""
    prior = np.bincount(_places(n_cells), minlength=n_cells) * (PRIOR_ROWS * (1 - AT_ENDS) / (2 * CELLS))
    prior[[0, -1]] += PRIOR_ROWS * AT_ENDS / 4 * (1 if n_cells > 1 else 2)
    return np.asarray(prior)


def draw_prior(n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw the prior rows of each outcome at both ends and at `CELLS` points between, shape (n_draws, 2, CELLS + 2)."""
    rows = np.full(CELLS + 2, PRIOR_ROWS * (1 - AT_ENDS) / (2 * CELLS))
    rows[[0, -1]] = PRIOR_ROWS * AT_ENDS / 4
    return rng.standard_gamma(rows, (n_draws, 2, CELLS + 2))


def prior_in_cells(prior: Floats, n_cells: int) -> Floats:
    """Add draws of the prior in cells, shape (n_draws, 2, n_cells); their distribution is that of `prior_of`."""
    rows = np.add.reduceat(prior[:, :, 1:-1], np.searchsorted(_places(n_cells), np.arange(n_cells)), axis=2)
    rows[:, :, 0] += prior[:, :, 0]
    rows[:, :, -1] += prior[:, :, -1]
    return np.asarray(rows)


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
    hint = "Percentages? Divide by 100." if 1 < values.max() <= 100 else ""
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


def _observed(counts: Counts) -> float:
    return float(observed_selection(counts).area()[0]) if counts.occupied.any() else float("nan")


@estimand(
    "AUGRC",
    title="Area Under the Generalized Risk-Coverage Curve",
    needs=frozenset({"predictions", "labelled rows"}),
    reported=False,
    plug_in=_observed,
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
        The counts; their `ranks` are used, or the bins if there are none.
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
        If the target is ``event`` or ``classwise``, whose outcome is not whether a prediction is right.

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

    >>> import bayescal as bc
    >>> ev = bc.evaluate([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], target="confidence", rng=1)
    >>> ev.plug_in_of("augrc")
    0.1875
    >>> ev.augrc.interval(0.95)
    (0.0..., 0.4...)
    """
    draws = selection_of(counts, len(bin_draws), rng).area()
    wrong = bin_draws.mass * (1 - bin_draws.accuracy)
    by_bin = Selection.of_cells(wrong[:, ::-1], (bin_draws.mass - wrong)[:, ::-1])
    return Draws(with_ranks_of(by_bin.area(), draws), "augrc")
