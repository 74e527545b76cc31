"""SelectivePrediction: risk-coverage curves of one or several classifiers, as posteriors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import Floats, xr
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.decisions.thresholds import UNNAMED
from bayescal.decisions.words import records
from bayescal.draws import Draws, fingerprint
from bayescal.estimands.accuracies import evidence
from bayescal.estimands.area_under_roc import grid_of
from bayescal.estimands.selective import Cells, Selection, checked_shares, last_confidence, observed_selection
from bayescal.results import wording
from bayescal.results.remarks import cluster_remarks, of_several
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.ranks import VALUES, Ranks

HEADER = ("", "kept", "risk", "2.5 %", "97.5 %", "observed", "confidence from")
#: Shares of the curves, and the one of the sentence.
SHARES, SHARE_IN_SENTENCE = np.arange(1, 101) / 100, 0.8
PRINTED_SHARES = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)  #: Shares that are printed.
GRID = np.arange(1, 21) / 20  #: Shares of the conformal answer, from the smallest one on.
NAMED_CLASSIFIERS = 5  #: Maximum number of classifiers in the sentence.
#: Fewer wrong predictions than this leave risks to the prior; shares from which on a remark says so.
FEW_WRONG, SHARE_TO_MENTION = 5, 0.2
MANY_TIES = 0.05  #: Share of rows with one confidence from which on a remark says so.
#: Meaning of the columns of the table.
KEY = text_of("columns of selective prediction")


@public
class RiskThreshold(NamedTuple):
    """The confidence from which to keep predictions, so that the risk is met with a stated probability.

    Parameters
    ----------
    risk, prob : float
        Largest share of wrong ones among the kept predictions, and the probability with which the population meets it.
    confidence : float
        Predictions with at least this confidence are kept; infinite if no share can be kept.
    share : float
        Share of the rows that are kept.
    observed_risk : float
        Share of wrong ones among the kept rows; NaN if none is kept.
    conformal_confidence, conformal_share : float
        The same by exact binomial limits, without a model; NaN for rows with unequal weights or in clusters.
    """

    risk: float
    prob: float
    confidence: float
    share: float
    observed_risk: float
    conformal_confidence: float
    conformal_share: float

    def sentence(self) -> str:
        """Return the confidence, the share and what is promised, in words."""
        promise = f"at most {_render.percent(self.risk)} of them are wrong with probability {self.prob:g}"
        if not self.share:
            return f"No confidence is high enough that {promise}."
        return (
            f"Keep predictions with a confidence of at least {self.confidence:.4g}, {_render.percent(self.share)} of "
            f"these rows: {promise} ({_render.percent(self.observed_risk)} of these rows are)."
        )

    def __str__(self) -> str:
        return self.sentence()


@public
@dataclass(frozen=True, eq=False, repr=False)
class SelectivePrediction(_presented.Presented):
    r"""Risk-coverage curves: the share of wrong predictions if only the most confident ones are kept.

    Returned by `selective`. All draws are joint, over shares and over classifiers.

    Parameters
    ----------
    counts : dict of str to BinnedCounts
        Counts of each classifier.
    cells : dict of str to Cells
        Right and wrong rows of each classifier in cells of its confidence.
    selections : dict of str to Selection
        Draws of the shares of all rows that are kept, and that are kept and wrong.
    draws_seed : int
        Seed of the draws.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as wrong columns.
    """

    counts: dict[str, BinnedCounts]
    cells: dict[str, Cells]
    selections: dict[str, Selection]
    draws_seed: int
    of_rows: tuple[str, ...] = ()

    _index = ("classifier", "share")
    _quantity_name = "selective_risk"

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Names of the classifiers."""
        return tuple(self.counts)

    @cached_property
    def shares(self) -> Floats:
        """Shares that are kept, 0.01, 0.02, ..., 1, as far as they keep an (effective) row; shape (n_shares,)."""
        rows = min(map(_evidence_of, self.counts.values()))
        return SHARES[SHARES * rows >= 1 - 1e-9]

    @cached_property
    def _origin(self) -> int:
        cells = [values for each in self.cells.values() for values in (each.rows, each.confidence)]
        return fingerprint(type(self).__name__, self.classifiers, self.draws_seed, *cells)

    def _each(self, values: dict[str, Floats], name: str) -> dict[str, Draws]:
        return {label: Draws(each, f"{name} of {label}", self._origin) for label, each in values.items()}

    @cached_property
    def risk(self) -> dict[str, Draws]:
        """Draws of the risk of each classifier at each of the `shares`, shape (n_draws, n_shares).

        ``risk[name].interval(0.95)`` is the pointwise band of the curve, and ``risk[name].band(0.95)`` the simultaneous
        one.
        """
        return self._each({name: each.risk(self.shares) for name, each in self.selections.items()}, "selective risk")

    @cached_property
    def observed(self) -> dict[str, Floats]:
        """Risk of each classifier in the rows at each of the `shares`; rows of one confidence in random order."""
        return {name: observed_selection(each).risk(self.shares)[0] for name, each in self.counts.items()}

    @cached_property
    def augrc(self) -> dict[str, Draws]:
        """Draws of the AUGRC of each classifier, shape (n_draws,); see `bayescal.estimands.augrc`."""
        return self._each({name: each.area() for name, each in self.selections.items()}, "AUGRC")

    @cached_property
    def observed_augrc(self) -> dict[str, float]:
        """AUGRC of each classifier in the rows."""
        return {name: float(observed_selection(each).area()[0]) for name, each in self.counts.items()}

    def selective_risk(self, share: float | Sequence[float]) -> dict[str, Draws]:
        """Draws of the risk of each classifier at one or several shares; see `bayescal.Evaluation.selective_risk`.

        Parameters
        ----------
        share : float or sequence of float
            Share of all predictions that are kept, above 0 and at most 1.

        Returns
        -------
        dict of str to Draws
            By classifier, shape (n_draws,), or (n_draws, n_shares) for several shares.

        Raises
        ------
        ValueError
            If the share is outside (0, 1], or keeps less than one row.
        """
        at = checked_shares(share, min(self.counts.values(), key=_evidence_of))
        of_each = {name: each.risk(at) for name, each in self.selections.items()}
        if np.ndim(share):
            return self._each(of_each, "selective risk")
        return self._each({name: each[:, 0] for name, each in of_each.items()}, f"risk at {at[0]:g}")

    def largest_share(self, risk: float) -> dict[str, Draws]:
        """Draws of the largest share of predictions that can be kept so that the risk is at most `risk`.

        Returns
        -------
        dict of str to Draws
            By classifier, shape (n_draws,), in [0, 1]; 0 if not even the most confident predictions reach the risk.

        Raises
        ------
        ValueError
            If `risk` is outside (0, 1).
        """
        limit = _checks.fraction("risk", risk)
        share = {name: each.largest_share(limit) for name, each in self.selections.items()}
        return self._each(share, f"largest share at risk {risk:g}")

    def difference(self, first: str | None = None, second: str | None = None) -> Draws:
        """Draws of the risk of the first classifier minus that of the second at each share, on the same rows.

        Parameters
        ----------
        first, second : str, optional
            Names of two classifiers; may be omitted if there are only two.

        Returns
        -------
        Draws
            Shape (n_draws, n_shares); negative means that the first classifier is better. The difference of two AUGRCs
            is ``augrc[first] - augrc[second]``.

        Raises
        ------
        ValueError, TypeError
            If there is no such classifier, or one is missing and there are not two.
        """
        if first is None and second is None and len(self.counts) == 2:
            first, second = self.classifiers
        if len(self.counts) < 2:
            raise ValueError("a difference needs two classifiers: pass `selective` a mapping from name to `y_prob`.")
        if first is None or second is None:
            raise TypeError(f"`first` and `second` must be two of the classifiers {list(self.classifiers)}.")
        for name, classifier in (("first", first), ("second", second)):
            _checks.one_of(name, classifier, self.classifiers)
        values = self.risk[first].values - self.risk[second].values
        return Draws(values, f"selective risk: {first} - {second}", self._origin)

    def threshold(self, risk: float, prob: float = 0.9, classifier: str | None = None) -> RiskThreshold:
        r"""Return the confidence from which to keep predictions, so that the risk is met with probability `prob`.

        Parameters
        ----------
        prob : float, default 0.9
            Probability with which the kept predictions of the population meet the risk.
        classifier : str, optional
            Name of the classifier; may be omitted if there is only one.

        Returns
        -------
        RiskThreshold
            Confidence, share and observed risk; beside them the answer by exact binomial limits.

        Raises
        ------
        ValueError, TypeError
            If `risk` or `prob` is outside (0, 1), or the classifier is missing or unknown.

        Notes
        -----
        The confidence is the smallest one with two properties. The risk of the predictions with at least this
        confidence is met with the posterior probability `prob`; and with this probability, the last confidence down to
        which the risk is met is not larger. The prior has a wrong row before the most confident one, and no right one
        there: for a confidence that is chosen beforehand, and does not keep all rows, the upper limit of the risk is
        then that of Clopper and Pearson. Half a row of each outcome at the smallest confidence raises the limit of all.

        The conformal answer tests shares 0.05, 0.1, ... in this order, each at the level 1 - `prob` with the limit of
        Clopper and Pearson, from the first one with enough rows on, and stops at the first that fails [1]_. It mostly
        keeps less, because a curve is used at 20 places only, and only from the top.

        References
        ----------
        .. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei (2025), "Learn then test: calibrating
           predictive algorithms to achieve risk control", The Annals of Applied Statistics 19.

        Examples
        --------
        >>> rows = simulate(2000, population="top", rng=1)
        >>> kept = bc.decisions.selective(rows.outcome, rows.confidence, target="confidence", rng=1)
        >>> limit = kept.threshold(0.02)
        >>> round(limit.share, 2), round(limit.observed_risk, 3)
        (0.27, 0.011)
        """
        limit, probability = _checks.fraction("risk", risk), _checks.fraction("prob", prob)
        if classifier is None:
            if len(self.counts) > 1:
                raise TypeError(f"`classifier` must be one of {list(self.classifiers)}.")
            (classifier,) = self.counts
        _checks.one_of("classifier", classifier, self.classifiers)
        cells, counts = self.cells[classifier], self.counts[classifier]
        n_draws = len(self.augrc[classifier])
        number = cells.last_for(limit, probability, n_draws, np.random.default_rng((self.draws_seed, 1)))
        confidence, kept, observed = cells.kept(number)
        rival = (float("nan"), float("nan"))
        equal = np.isclose(counts.effective_rows, counts.n_rows, rtol=1e-9)
        if equal and cells.clusters is None:
            rival = cells.kept(cells.conformal_last(limit, probability, GRID))[:2]
        return RiskThreshold(limit, probability, confidence, kept, observed, *rival)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per classifier and share.

        Keys are classifier, share, mean, sd, low, high, observed and confidence, the smallest one that is kept in the
        rows.
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for name, draws in self.risk.items():
            low, high = draws.interval(prob)
            columns = {"share": self.shares, "mean": draws.mean(), "sd": draws.sd(), "low": low, "high": high}
            columns |= {"observed": self.observed[name], "confidence": last_confidence(self.counts[name], self.shares)}
            rows += [{"classifier": name, **row} for row in records(columns)]
        return rows

    def to_datatree(self) -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        It has the group ``posterior`` with one variable per classifier, ``selective_risk[a]`` and so on, along the
        dimension ``share``, and ``augrc[a]``; group ``observed_data`` with the risks in the rows; group
        ``constant_data`` with the smallest confidence that is kept.
        """
        return _arviz.datatree(
            {f"selective_risk[{name}]": each.values for name, each in self.risk.items()}
            | {f"augrc[{name}]": each for name, each in self.augrc.items()},
            observed={f"selective_risk[{name}]": each for name, each in self.observed.items()},
            constant={f"confidence[{name}]": last_confidence(each, self.shares) for name, each in self.counts.items()},
            along="share",
            coords={"share": self.shares},
            attrs={"spec": self.spec},
        )

    def sentence(self, prob: float = 0.95) -> str:
        """Return the risk of the most confident 80 % of the predictions in words, and that of all, or the difference.

        For two classifiers, the sentence states the difference of their AUGRCs.
        """
        prob = _checks.fraction("prob", prob)
        at = int(np.argmin(np.abs(self.shares - SHARE_IN_SENTENCE)))
        kept = {name: wording.mean_and_interval(self._at(each, at), prob) for name, each in self.risk.items()}
        most = f"Of the most confident {100 * self.shares[at]:.0f} % of the predictions,"
        if len(kept) == 1:
            (alone,) = kept.values()
            every = wording.mean_and_interval(self._at(next(iter(self.risk.values())), -1), prob)
            if self.shares[at] == 1:
                return f"Of all predictions, a share of {every} is wrong."
            return f"{most} a share of {alone} is wrong; of all predictions, {every}."
        listed = ", ".join(f"{_render.name(name)} {each}" for name, each in list(kept.items())[:NAMED_CLASSIFIERS])
        text = f"{most} these shares are wrong: {listed}."
        if len(kept) > 2:
            return text
        first, second = self.classifiers
        gap = wording.mean_and_interval(self.augrc[first] - self.augrc[second], prob)
        return f"{text} The AUGRC of {_render.name(first)} minus that of {_render.name(second)} is {gap}."

    @property
    def _alone(self) -> bool:
        return self.classifiers == (UNNAMED,)

    def _of(self, name: str, word: str = "of") -> str:
        return "" if self._alone else f" {word} {_render.name(name)}"

    def _at(self, draws: Draws, place: int) -> Draws:
        return Draws(draws.values[:, place], draws.name, self._origin)

    @property
    def spec(self) -> str:
        """Target, rows, posterior and AUGRC of each classifier, on one line."""
        areas = "; ".join(
            f"AUGRC{self._of(name)} {wording.with_interval(each, wording.decimals(each))}"
            for name, each in self.augrc.items()
        )
        return f"{self.question}: {areas}"

    @property
    def question(self) -> str:
        """Target, rows and posterior, on one line."""
        of, cells = next(iter(self.counts.values())), next(iter(self.cells.values()))
        posterior = (
            "Dirichlet posterior of cells of confidence" if cells.clusters is None else "Bayesian bootstrap of clusters"
        )
        return f"{of.target} selective risk, {of.n_rows} rows, {posterior}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about rows and clusters, which are printed below the table; empty if none is known."""
        of_each = {name: cluster_remarks(each) for name, each in self.counts.items()}
        texts = [*self.of_rows, *(next(iter(of_each.values())) if self._alone else of_several(of_each))]
        for name, counts in self.counts.items():
            wrong = self.observed[name] * self.shares * _evidence_of(counts)
            few = self.shares[wrong < FEW_WRONG - 1e-9]
            if len(few) and few[-1] >= SHARE_TO_MENTION:
                by = self._of(name, "by")
                texts.append(
                    f"Fewer than {FEW_WRONG} of the most confident {100 * few[-1]:.0f} % of the predictions{by} are "
                    "wrong: their risk depends on the prior, which has about half a wrong row in such a share."
                )
            texts += self._on_order(grid_of(counts), self._of(name, "by"))
        return tuple(texts)

    def _on_order(self, ranks: Ranks, by: str) -> list[str]:
        if isinstance(ranks.grid, Bins):
            return [
                "The counts order rows by bins only: draws range over all orders inside bins, and a threshold can only "
                "be an edge."
            ]
        share = ranks.weight.sum(axis=0) / ranks.total.sum()
        most = int(share.argmax())
        rows = ranks.weight[:, most].sum() ** 2 / ranks.weight_sq[:, most].sum()
        if share[most] < MANY_TIES or rows < 1.5:
            return []
        have = "one confidence" if ranks.grid == VALUES else "confidences that the counts do not tell apart"
        return [
            f"{_render.percent(share[most])} of the predictions{by} have {have}, {_render.number(ranks.lower[most])}: "
            "their order is taken as random. To keep a share that ends among them, choose some of them at random."
        ]

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all shares."""
        every = self.table()
        rows = every if whole else [row for row in every if np.isclose(row["share"], PRINTED_SHARES).any()]
        d = max(_render.decimals(row["high"] - row["low"]) for row in rows)
        cells = [
            [
                row["classifier"],
                f"{100 * row['share']:.0f} %",
                *(_render.number(row[name], d) for name in ("mean", "low", "high", "observed")),
                _render.number(row["confidence"]),
            ]
            for row in rows
        ]
        left_out = [f"The table shows {len(rows)} of {len(every)} rows; `table()` has all."] * (len(rows) < len(every))
        return _render.Sheet(self.sentence(), self.spec, HEADER, cells, [*left_out, *self.remarks], [KEY])


def _evidence_of(counts: BinnedCounts) -> float:
    """Return the effective number of rows of an accuracy."""
    return evidence(counts).rows
