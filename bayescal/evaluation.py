"""What an evaluation holds and how it presents itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._draws import BinDraws, Draws
from bayescal.estimands import errors
from bayescal.estimands.classwise import classwise_mean, marginal_mean
from bayescal.estimands.plug_in import observed_bins
from bayescal.posterior.contract import Posterior
from bayescal.stats.binned import BinnedCounts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

HEADER = ("", "mean", "sd", "2.5 %", "97.5 %", "plug-in", "if calibrated")
#: P(ECE < this) closes every specification.
SMALL_ECE = 0.02


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The posterior of how well one model is calibrated on one binary problem.

    Made by `evaluate` or `evaluate_counts`; printing it shows the sentence, the table and the specification.

    Parameters
    ----------
    counts : BinnedCounts
        What was counted.
    posterior : Posterior
        What is believed.
    bins : BinDraws
        Draws of the bins; every quantity below is computed within them, so joint statements are possible.
    null_bins : BinDraws or None
        Observed bins as they would be if the model were exactly calibrated; None without rows.
    model : str
        Name of the model.
    """

    counts: BinnedCounts
    posterior: Posterior
    bins: BinDraws
    null_bins: BinDraws | None
    model: str

    @cached_property
    def ece(self) -> Draws:
        """Draws of the Expected Calibration Error."""
        return errors.ece(self.bins)

    @cached_property
    def l2_error(self) -> Draws:
        """Draws of the l_2 (root mean square) calibration error."""
        return errors.l2_error(self.bins)

    @cached_property
    def max_error(self) -> Draws:
        """Draws of the largest absolute gap among occupied bins."""
        return errors.max_error(self.bins)

    @cached_property
    def signed_error(self) -> Draws:
        """Draws of accuracy minus confidence on average: negative means over-confident."""
        return errors.signed_error(self.bins)

    @cached_property
    def overconfidence(self) -> Draws:
        """Draws of the part of the ECE from over-confident bins."""
        return errors.overconfidence(self.bins)

    @cached_property
    def underconfidence(self) -> Draws:
        """Draws of the part of the ECE from under-confident bins."""
        return errors.underconfidence(self.bins)

    def lp_error(self, p: float = 2.0) -> Draws:
        """Draws of the l_p calibration error; see `bayescal.lp_error`."""
        return errors.lp_error(self.bins, p)

    @cached_property
    def plug_in(self) -> float:
        """The usual ECE: observed shares and gaps taken for the truth. Biased upwards. NaN without rows."""
        return self.plug_in_of(errors.ece)

    def plug_in_of(self, estimand: Callable[[BinDraws], Draws]) -> float:
        """Plug-in value of any estimand, as in ``ev.plug_in_of(bayescal.max_error)``."""
        if self.null_bins is None:
            return float("nan")
        return float(estimand(observed_bins(self.counts)).values[0])

    @cached_property
    def null(self) -> Draws:
        """Draws of the plug-in ECE if the model were exactly calibrated: what chance alone shows.

        Raises
        ------
        ValueError
            If there are no rows.
        """
        if self.null_bins is None:
            raise ValueError("without rows there is no null reference; this evaluation is the prior.")
        return Draws(errors.ece(self.null_bins).values, "ece if calibrated")

    @property
    def question(self) -> str:
        """What was asked of what: target, bins, rows, model."""
        counts = self.counts
        weighted = f" (weighted, worth {counts.effective_rows:.0f})" if counts.weighted else ""
        return f"{counts.target} ECE, {counts.bins}, N = {counts.n_rows}{weighted}, {self.model} model" + (
            f" ({self.posterior.prior})" if self.posterior.prior else ""
        )

    @cached_property
    def spec(self) -> str:
        """The line to put beside a reported number: question, mean, interval, null reference, P(ECE < 0.02)."""
        return _spec(self.question, self.ece, None if self.null_bins is None else self.null)

    def sentence(self, prob: float = 0.95) -> str:
        """The result in words.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.

        Returns
        -------
        str
            Posterior mean and interval, and what chance alone would show.
        """
        return _sentence(self.ece, prob, self.plug_in, None if self.null_bins is None else self.null)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Every reported number, as data: one dict per quantity.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.

        Returns
        -------
        list of dict
            Keys quantity, mean, sd, low, high, plug_in, null_mean; the last two are NaN without rows.
        """
        rows = []
        for name, estimand in errors.REPORTED.items():
            null = float("nan") if self.null_bins is None else estimand(self.null_bins).mean()
            rows.append(_row(getattr(self, name), name, prob, self.plug_in_of(estimand), null))
        return rows

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of the reported quantities.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals. ArviZ's own default is 0.89.
        **options
            Passed to `arviz.summary`, as in ``kind="stats"`` or ``ci_kind="hdi"``.

        Returns
        -------
        pandas.DataFrame
            One row a quantity: mean, sd, interval, effective sample sizes, Monte Carlo errors. R-hat and effective
            sample size are those of independent draws.
        """
        prob = _checks.fraction("prob", prob)
        return _arviz.summary({name: getattr(self, name) for name in errors.REPORTED}, prob, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Everything as an ArviZ DataTree.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (each reported quantity; mass, accuracy, confidence and gap along ``bin``),
            ``observed_data`` (rows and positives per bin) and ``constant_data`` (edges, observed means). Along
            ``bin`` run the coordinates bin_low, bin_high, n and mean_confidence. ``.to_netcdf`` and
            `arviz.from_netcdf` keep all of it.
        """
        counts = self.counts
        posterior: dict[str, Any] = {name: getattr(self, name) for name in errors.REPORTED}
        shape = self.bins.accuracy.shape
        for name in ("mass", "accuracy", "confidence", "gap"):
            posterior[name] = np.broadcast_to(getattr(self.bins, name), shape)
        edges = {"bin_low": counts.bins.edges[:-1], "bin_high": counts.bins.edges[1:]}
        observed_means = {"mean_confidence": counts.mean_confidence, "observed_accuracy": counts.accuracy}
        return _arviz.datatree(
            posterior,
            observed={"n_rows": counts.n, "n_positive": counts.k},
            constant={
                **{f"{k}_edge": v for k, v in edges.items()},
                **{f"{k}_of_bin": v for k, v in observed_means.items()},
            },
            along="bin",
            coords={
                "bin": np.arange(len(counts.bins)),
                **edges,
                "n": counts.n,
                "mean_confidence": counts.mean_confidence,
            },
            attrs={
                "spec": self.spec,
                "model": self.model,
                "target": counts.target,
                "plug_in_ece": self.plug_in,
            },
        )

    def sheet(self) -> _render.Sheet:
        """What printing shows, as data."""
        rows = [[row["quantity"], *(_render.number(v) for v in list(row.values())[1:])] for row in self.table()]
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows)

    def __str__(self) -> str:
        return _render.text(self.sheet())

    def __repr__(self) -> str:
        return f"Evaluation({self.spec})"

    def _repr_html_(self) -> str:
        return _render.html(self.sheet())


@dataclass(frozen=True, eq=False)
class ClasswiseEvaluation:
    """The posterior of the classwise ECE: one binary problem per class, and their means.

    The classes' posteriors are independent given their counts; that one row is counted in every class is not
    modelled, so intervals of the means are approximate.

    Parameters
    ----------
    classes : tuple
        Label of each class.
    counts : tuple of BinnedCounts
        One per class.
    by_class : Draws
        ECE of each class, shape (n_draws, n_classes).
    null_by_class : Draws
        The same of the plug-in value if the model were calibrated.
    model : str
        Name of the model.
    evaluate_class : callable
        Gives the `Evaluation` of class number k, the same draws again.
    """

    classes: tuple[Any, ...]
    counts: tuple[BinnedCounts, ...]
    by_class: Draws
    null_by_class: Draws
    model: str
    evaluate_class: Callable[[int], Evaluation]

    def __getitem__(self, label: Any) -> Evaluation:
        """The full evaluation of one class, by its label."""
        if label not in self.classes:
            near = _checks.did_you_mean(str(label), self.classes)
            raise KeyError(f"no class {label!r} among {list(self.classes)[:10]!r}.{near}")
        return self.evaluate_class(self.classes.index(label))

    def __len__(self) -> int:
        return len(self.classes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.classes)

    @cached_property
    def ece(self) -> Draws:
        """Draws of the classwise ECE: the unweighted mean over classes."""
        return classwise_mean(self.by_class)

    @cached_property
    def marginal_error(self) -> Draws:
        """Draws of the mean over classes weighted by their observed frequency."""
        return marginal_mean(self.by_class, self._frequency)

    @cached_property
    def null(self) -> Draws:
        """Draws of the plug-in classwise ECE if the model were exactly calibrated."""
        return Draws(classwise_mean(self.null_by_class).values, "classwise ece if calibrated")

    @cached_property
    def plug_in(self) -> float:
        """The usual classwise ECE."""
        return float(np.mean(self._plug_in_by_class))

    @cached_property
    def _plug_in_by_class(self) -> np.ndarray:
        return np.array([errors.ece(observed_bins(c)).values[0] for c in self.counts])

    @property
    def _frequency(self) -> np.ndarray:
        positive = np.array([c.weight[1].sum() for c in self.counts])
        return positive / positive.sum()

    @property
    def question(self) -> str:
        """What was asked of what."""
        first = self.counts[0]
        bins = f"{first.bins}" if all(c.bins == first.bins for c in self.counts) else f"{first.bins} each class"
        return f"classwise ECE (mean of {len(self)} classes), {bins}, N = {first.n_rows}, {self.model} model"

    @cached_property
    def spec(self) -> str:
        """The line to put beside a reported number."""
        return _spec(self.question, self.ece, self.null)

    def sentence(self, prob: float = 0.95) -> str:
        """The result in words."""
        return _sentence(self.ece, prob, self.plug_in, self.null)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Every reported number: the two means, then each class; keys as in `Evaluation.table`."""
        plug_in, null = self._plug_in_by_class, self.null_by_class.values
        rows = [
            _row(self.ece, "classwise ece", prob, self.plug_in, self.null.mean()),
            _row(
                self.marginal_error,
                "marginal error",
                prob,
                float(plug_in @ self._frequency),
                float((null @ self._frequency).mean()),
            ),
        ]
        for i, label in enumerate(self.classes):
            draws = Draws(self.by_class.values[:, i])
            rows.append(_row(draws, f"class {label}", prob, float(plug_in[i]), float(null[:, i].mean())))
        return rows

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of the two means and of each class."""
        prob = _checks.fraction("prob", prob)
        quantities = {"classwise_ece": self.ece, "marginal_error": self.marginal_error, "ece": self.by_class}
        return _arviz.summary(quantities, prob, {"ece": self.classes}, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Everything as an ArviZ DataTree.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (classwise_ece, marginal_error; ece along ``class``), ``observed_data`` (positives of
            each class) and ``constant_data`` (plug-in value and frequency of each class). For the bins of a class take
            ``evaluation[label].to_datatree()``.
        """
        posterior = {"classwise_ece": self.ece, "marginal_error": self.marginal_error, "ece": self.by_class}
        return _arviz.datatree(
            posterior,
            observed={"n_positive": np.array([c.k.sum() for c in self.counts])},
            constant={"plug_in_ece": self._plug_in_by_class, "frequency": self._frequency},
            along="class",
            coords={"class": list(self.classes)},
            attrs={"spec": self.spec, "model": self.model, "target": "classwise", "plug_in_ece_mean": self.plug_in},
        )

    def sheet(self) -> _render.Sheet:
        """What printing shows, as data."""
        rows = [[row["quantity"], *(_render.number(v) for v in list(row.values())[1:])] for row in self.table()]
        shown, remarks = rows, []
        if len(rows) > 22:
            shown, remarks = rows[:22], [f"{len(rows) - 22} more classes: see `.summary()` or `.by_class`."]
        return _render.Sheet(self.sentence(), self.spec, HEADER, shown, remarks)

    def __str__(self) -> str:
        return _render.text(self.sheet())

    def __repr__(self) -> str:
        return f"ClasswiseEvaluation({self.spec})"

    def _repr_html_(self) -> str:
        return _render.html(self.sheet())


def _row(draws: Draws, name: str, prob: float, plug_in: float, null_mean: float) -> dict[str, Any]:
    low, high = draws.interval(prob)
    return {
        "quantity": name,
        "mean": draws.mean(),
        "sd": draws.sd(),
        "low": low,
        "high": high,
        "plug_in": plug_in,
        "null_mean": null_mean,
    }


def _spec(question: str, ece: Draws, null: Draws | None) -> str:
    low, high = ece.interval(0.95)
    chance = "" if null is None else f"null {null.mean():.3f}, "
    small = _render.probability(ece.pr(lambda e: e < SMALL_ECE))
    return f"{question}: {ece.mean():.3f}, 95 % interval [{low:.3f}, {high:.3f}], {chance}P(< {SMALL_ECE:g}) {small}"


def _sentence(ece: Draws, prob: float, plug_in: float, null: Draws | None) -> str:
    low, high = ece.interval(prob)
    said = (
        f"The Expected Calibration Error is {ece.mean():.3f} "
        f"({100 * prob:g} % credible interval {low:.3f} to {high:.3f})"
    )
    if null is None:
        return f"{said} before any row is seen: this is the prior."
    return (
        f"{said}; the plug-in value is {plug_in:.3f}, "
        f"and a perfectly calibrated model would show {null.mean():.3f} by chance."
    )
