"""ClasswiseEvaluation: one binary problem per class, and the means over classes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _arviz, _checks, _render
from bayescal.draws import Draws
from bayescal.estimands import errors
from bayescal.estimands.classwise import classwise_mean, marginal_mean
from bayescal.estimands.estimand import EstimandLike, as_estimand, registered
from bayescal.estimands.plug_in import observed_bins
from bayescal.posterior.copula import reorder
from bayescal.results import wording
from bayescal.results.comparable import values_of
from bayescal.results.evaluation import Evaluation
from bayescal.results.evaluations import Evaluations, Floats
from bayescal.results.remarks import of_several, remarks_of
from bayescal.stats.contract import Counts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, eq=False, repr=False)
class ClasswiseEvaluation(Evaluations):
    """The posterior of the classwise ECE: one binary problem per class, and their means.

    The classwise ECE is the mean over classes [1]_. Every class has the posterior of its own counts. That each row is
    counted in every class ties them together: the rank correlation of their draws is that of what the rows add to their
    errors (a Gaussian copula [2]_). Under the shrinkage model 0.3 of the correlation is a common cause, because what
    makes one class over-confident often makes all of them so, and in at most 5 % of the draws all classes are exactly
    calibrated at once.

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
    prior : str
        Its prior in words.
    exact : ndarray of bool, shape (n_draws,)
        Draws in which all classes are exactly calibrated at once, at most 5 %; see `jointly_exact`. The means over
        classes are 0 there; `by_class` keeps the draws of each class.
    evaluate_class : callable
        Gives the `Evaluation` of class number k: the same draws of its ECE, in another order.
    correlations : (ndarray, ndarray), shape (n_classes, n_classes)
        Rank correlation between classes of unsigned errors, and of signed errors.
    order_seed : int
        Seed of the order of the draws.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel and D. Tran (2019), "Measuring calibration in deep learning",
       CVPR Workshops.
    .. [2] R. L. Iman and W. J. Conover (1982), "A distribution-free approach to inducing rank correlation among input
       variables", Communications in Statistics - Simulation and Computation 11, 311-334.
    """

    classes: tuple[Any, ...]
    counts: tuple[Counts, ...]
    by_class: Draws
    null_by_class: Draws
    model: str
    prior: str
    exact: NDArray[np.bool_]
    evaluate_class: Callable[[int], Evaluation]
    correlations: tuple[Floats, Floats]
    order_seed: int

    axis = "class"

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the classes."""
        return self.classes

    def _evaluation(self, label: Any) -> Evaluation:
        return self.evaluate_class(self.classes.index(label))

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        """Draw every class on its own, by a full evaluation per class, and tie the draws.

        A row adds its residual to the signed error of a class, and its residual times the sign of the gap to the
        unsigned errors, so that their correlations are known; those of other estimands are not.
        """
        known = as_estimand(estimand)
        if known is registered()["ece"]:
            return self.by_class.values
        errors_, residuals = self.correlations
        together = residuals if known is registered()["signed_error"] else errors_ if known.of_calibration else None
        if together is None:
            raise ValueError(
                f"`estimand` {known.name!r} has no joint draws over classes, because its dependence between classes is "
                "not known; take it from each class, as in `evaluation[label]`."
            )
        return reorder(
            np.stack([values_of(self[k], known) for k in self.classes], axis=1), together, rng=self.order_seed
        )

    @cached_property
    def ece(self) -> Draws:
        """Draws of the classwise ECE: the unweighted mean over classes."""
        return self._or_exact(classwise_mean(self.by_class))

    @cached_property
    def marginal_error(self) -> Draws:
        """Draws of the mean over classes weighted by their observed frequency."""
        return self._or_exact(marginal_mean(self.by_class, self._frequency))

    def _or_exact(self, mean: Draws) -> Draws:
        return Draws(np.where(self.exact, 0.0, mean.values), mean.name)

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
        """Target, bins, rows and model, in words."""
        return wording.question(f"classwise ECE (mean of {len(self)} classes)", self.counts, self.model, self.prior)

    @cached_property
    def spec(self) -> str:
        """The line to put beside a reported number."""
        return wording.specification(self.question, self.ece, self.null)

    def sentence(self, prob: float = 0.95) -> str:
        """The result in words."""
        return wording.sentence("classwise Expected Calibration Error", self.ece, prob, self.plug_in, self.null)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Every reported number: the two means, then each class; keys as in `Evaluation.table`."""
        plug_in, null = self._plug_in_by_class, self.null_by_class.values
        rows = [
            wording.table_row(self.ece, "classwise ece", prob, self.plug_in, self.null.mean()),
            wording.table_row(
                self.marginal_error,
                "marginal error",
                prob,
                float(plug_in @ self._frequency),
                float((null @ self._frequency).mean()),
            ),
        ]
        for i, label in enumerate(self.classes):
            draws = Draws(self.by_class.values[:, i])
            rows.append(wording.table_row(draws, f"class {label}", prob, float(plug_in[i]), float(null[:, i].mean())))
        return rows

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the classes that it concerns."""
        of_class = zip(self.classes, self.counts, strict=True)
        return tuple(of_several({f"class {label}": remarks_of(counts, self.model) for label, counts in of_class}))

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
        """Return the sentence, table and remarks that printing shows, as data."""
        rows = [[row["quantity"], *(_render.number(v) for v in list(row.values())[1:])] for row in self.table()]
        shown, remarks = rows, []
        if len(rows) > 22:
            shown, remarks = rows[:22], [f"{len(rows) - 22} more classes: see `.summary()` or `.by_class`."]
        remarks += self.remarks
        return _render.Sheet(self.sentence(), self.spec, wording.HEADER, shown, remarks)
