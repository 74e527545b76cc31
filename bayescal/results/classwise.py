"""ClasswiseEvaluation: the evaluation of each class as a binary problem, and means over classes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Bools, pd, xr
from bayescal._loops import in_threads
from bayescal._meant import public
from bayescal._metrics import Table
from bayescal.data.reading import reading_of
from bayescal.draws import BinDraws, Draws
from bayescal.estimands import errors
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import EstimandLike, as_estimand, registered
from bayescal.posterior.joint import reorder
from bayescal.results import wording
from bayescal.results.comparable import order_rng, values_of
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import Evaluations, Floats
from bayescal.results.remarks import of_several, reading_remarks, remarks_of
from bayescal.stats.contract import Counts

PRINTED_ROWS = 22  #: Maximum number of rows that are printed: two means, and classes.


@public
@dataclass(frozen=True, eq=False, repr=False)
class ClasswiseEvaluation(Evaluations):
    """The posterior of the classwise ECE: the ECE of each class as a binary problem, and means over classes.

    The classwise ECE is the mean over classes [1]_. The posterior of each class is computed from its own counts.
    Classes are dependent, because each row is counted in every class. Let R be the correlation matrix of the
    contributions of a row to the errors of the classes. A Gaussian copula [2]_ reorders the draws of the classes. Its
    correlation matrix is R under the Dirichlet model, and 0.7 R + 0.3 under the shrinkage model if its sub-models
    include "exact": the 0.3 in every entry stands for a common factor, because classes are often over-confident for the
    same reason. The share of draws in which all classes are exactly calibrated is limited to 5 %; see `jointly_exact`.

    Parameters
    ----------
    classes : tuple
        Label of each class.
    counts : tuple of BinnedCounts
        One per class.
    by_class : Draws
        ECE of each class, shape (n_draws, n_classes).
    null_by_class : Draws
        Draws of the plug-in ECE of each class if the classifier were calibrated, shape (n_draws, n_classes).
    model : str
        Name of the model.
    prior : str
        The prior of the model in words.
    exact : ndarray of bool, shape (n_draws,)
        Whether all classes are exactly calibrated in each draw; true for at most 5 % of the draws, see
        `jointly_exact`. In these draws the means over classes are 0; `by_class` is unchanged.
    evaluate_class : callable
        Returns the `Evaluation` of class number k, with the same draws of its ECE in another order.
    correlations : (ndarray, ndarray), shape (n_classes, n_classes)
        Correlation matrices of the copula: first for unsigned errors, then for signed errors.
    order_seed : int
        Seed with which draws are reordered to become joint draws.
    draw_pooled : callable
        Returns draws of the bins of all pairs of a probability and an outcome.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel and D. Tran (2019), as for `plug_in_ece`.
    .. [2] R. L. Iman and W. J. Conover (1982), as for `bayescal.compare`.
    """

    classes: tuple[Any, ...]
    counts: tuple[Counts, ...]
    by_class: Draws
    null_by_class: Draws
    model: str
    prior: str
    exact: Bools
    evaluate_class: Callable[[int], Evaluation]
    correlations: tuple[Floats, Floats]
    order_seed: int
    draw_pooled: Callable[[], BinDraws]

    axis = "class"

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the classes."""
        return self.classes

    def _evaluation(self, label: Any) -> Evaluation:
        return self.evaluate_class(self.classes.index(label))

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        """Draw each class from its own evaluation, and reorder the draws so that classes are correlated.

        A row contributes its residual to the signed error of a class, and to the unsigned error the residual times the
        sign of the gap of its bin. Correlations follow from these contributions; for other estimands they are unknown.
        """
        record = as_estimand(estimand)
        if record is registered()["ece"]:
            return self.by_class.values
        unsigned, signed = self.correlations
        correlations = signed if record is registered()["signed_error"] else unsigned if record.of_calibration else None
        if correlations is None:
            if "predictions" in record.needs:
                self.evaluate_class(0).draws(record)  # raises: no class has it
            raise ValueError(
                f"`estimand` {record.name!r} has no joint draws over classes, because its dependence between classes "
                "is unknown; take it from each class, as in `evaluation[label]`."
            )
        work = in_threads(lambda k: values_of(self.evaluate_class(k), record), range(len(self)))
        values = np.stack(list(work), axis=1)
        return reorder(values, correlations, rng=order_rng(self.order_seed, record))

    @cached_property
    def ece(self) -> Draws:
        """Draws of the classwise ECE: the unweighted mean over classes."""
        return self._means("ece")[0]

    @cached_property
    def marginal_error(self) -> Draws:
        """Draws of the mean ECE over classes, weighted by their observed frequency."""
        return self._means("ece")[1]

    def mean_over_classes(self, estimand: EstimandLike = "ece") -> Draws:
        """Draws of the unweighted mean over classes of any error of calibration.

        Their shape is (n_draws,). All are 0 for the signed error, because the probabilities of a row and its outcomes
        both add up to 1: classes whose probabilities are too high are balanced by others. The draws of the classes add
        up to 0 only approximately, because each class has a posterior of its own.

        Raises
        ------
        ValueError
            If the estimand has no joint draws over classes.
        """
        return self._means(estimand)[0]

    @cached_property
    def rms_error(self) -> Draws:
        """Draws of the root mean square of the l_2 errors of all classes: the marginal calibration error of [1]_.

        All classes have equal weights. The first use evaluates every class once more. The plug-in value is
        ``plug_in_error(..., target="classwise", order=2)``.

        References
        ----------
        .. [1] A. Kumar, P. Liang and T. Ma (2019), as for `plug_in_error`, section 2.
        """
        errors = self.draws("l2_error").values
        values = np.sqrt(np.einsum("sk,sk->s", errors, errors) / errors.shape[1])
        return Draws(np.where(self.exact, 0.0, values), "rms_error")

    def marginal_calibration_error(self, frequency: ArrayLike | None = None, *, squared: bool = False) -> Draws:
        r"""Draws of :math:`(\sum_k w_k l_{2,k}^2)^{1/2}` of the l_2 errors of all classes (marginal calibration error).

        Definition 2.4 of Kumar, Liang and Ma (2019) for any weights; `rms_error` has equal weights. The plug-in value
        of the square is in ``table(estimand="squared_l2_error")``.

        Parameters
        ----------
        frequency : array-like, shape (n_classes,), optional
            Weights w of the classes, which sum to 1; by default the observed frequencies.
        squared : bool, default False
            Whether to return the squared error, without the root.

        Raises
        ------
        ValueError
            If `frequency` has another length, negative values, or another sum than 1.

        Examples
        --------
        >>> digits = bc.datasets.load_digits()
        >>> by_class = bc.evaluate(digits.y_true, digits.y_prob["naive_bayes"], target="classwise", rng=1)
        >>> by_class.marginal_calibration_error(squared=True)
        Draws(squared_marginal_calibration_error: mean 0.004257, 95 % interval [0.002986, 0.00583], 4000 draws)
        """
        weights = self._frequency if frequency is None else np.asarray(frequency, dtype=np.float64)
        _checks.same_length(("frequency", "by_class"), (len(weights), len(self)))
        if (weights < 0).any() or not abs(weights.sum() - 1) <= 1e-9:
            raise ValueError(f"`frequency` must be >= 0 and sum to 1; it sums to {weights.sum():g}.")
        mean = self.draws("l2_error").values ** 2 @ weights
        name = "squared_marginal_calibration_error" if squared else "marginal_calibration_error"
        return Draws(np.where(self.exact, 0.0, mean if squared else np.sqrt(mean)), name)

    def pooled_error(self, estimand: EstimandLike = "ece") -> Draws:
        """Draws of an error of all pairs of a probability and an outcome, in common bins (pooled calibration).

        It is the event-pooled calibration of Kuleshov and Liang (2015), "Calibrated structured prediction", Advances in
        Neural Information Processing Systems 28, with one event per class. The variance of the errors of a row is at
        most twice that of independent pairs, so their effective number is halved.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            An unsigned error of calibration, as "l2_error".

        Raises
        ------
        ValueError
            If the estimand is not an unsigned calibration error, classes have different bins, or rows are in clusters.
        """
        record = as_estimand(estimand)
        if not record.of_calibration:
            raise ValueError(f"`estimand` must be an unsigned error of calibration, not {record.name!r}.")
        return Draws(record.function(self.draw_pooled()).values, f"pooled_{record.name}")

    def _means(self, estimand: EstimandLike) -> tuple[Draws, Draws]:
        """Draws of the unweighted and of the weighted mean over classes; both are 0 in draws with all classes exact."""
        by_class, (name, weighted) = self.draws(estimand).values, self._names_of_means(estimand)
        known = self.exact | (as_estimand(estimand) is registered()["signed_error"])
        mean = Draws(np.where(known, 0.0, by_class.mean(axis=1)), name)
        return mean, Draws(np.where(self.exact, 0.0, by_class @ self._frequency), weighted)

    @cached_property
    def null(self) -> Draws:
        """Draws of the plug-in classwise ECE if the classifier were exactly calibrated."""
        return Draws(self.null_by_class.values.mean(axis=1), "classwise ece if calibrated")

    @cached_property
    def plug_in(self) -> float:
        """The plug-in classwise ECE."""
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
        """One line that states the question and the result, for a paper."""
        return wording.specification(self.question, self.ece, self.null)

    def sentence(self, prob: float = 0.95) -> str:
        """Return the result in words."""
        return wording.sentence(self._headline(prob), self.ece, prob, self.plug_in, self.null)

    def _headline(self, prob: float) -> str:
        return f"The classwise Expected Calibration Error is {wording.mean_and_interval(self.ece, prob)}."

    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Every reported number, as data: the two means, then each class; keys are as in `Evaluation.table`.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The quantity: an error of calibration, since others have no joint draws over classes.

        Raises
        ------
        ValueError
            If the estimand has no joint draws over classes.
        """
        by_class, (plug_in, null_mean) = self.draws(estimand), self._plug_in_and_null_mean(estimand)
        draws = [*self._means(estimand), *map(Draws, by_class.values.T)]
        names = [name.replace("_", " ", 1) for name in self._names_of_means(estimand)]
        names += [f"class {label}" for label in self.classes]
        rows = zip(draws, names, self._with_means(plug_in), self._with_means(null_mean), strict=True)
        return [wording.table_row(quantity, name, prob, *values) for quantity, name, *values in rows]

    def _tables(self, prob: float, **options: Any) -> list[Table]:
        """Return the means over classes, and the numbers of each class."""
        estimand = options.get("estimand", "ece")
        rows, names = self.table(prob, estimand=estimand), self._names_of_means(estimand)
        means = [row | {"quantity": name} for row, name in zip(rows, names, strict=False)]
        classes = [row | {"class": label} for label, row in zip(self.classes, rows[2:], strict=True)]
        return [Table(means, ("quantity",)), Table(classes, ("class",), self._measured_by(estimand=estimand))]

    def _plug_in_and_null_mean(self, estimand: EstimandLike) -> tuple[Floats, Floats]:
        """Return the plug-in value of each class, and the mean of its null distribution."""
        if as_estimand(estimand) is registered()["ece"]:
            return self._plug_in_by_class, self.null_by_class.values.mean(axis=0)
        rows = [self[label].row(estimand) for label in self.classes]
        plug_in, null_mean = (np.array([row[name] for row in rows]) for name in ("plug_in", "null_mean"))
        return plug_in, null_mean

    def _with_means(self, by_class: Floats) -> list[float]:
        """The unweighted and the weighted mean over classes, then each class."""
        return [float(by_class.mean()), float(by_class @ self._frequency), *map(float, by_class)]

    @staticmethod
    def _names_of_means(estimand: EstimandLike) -> tuple[str, str]:
        """Return the names of the draws of both means, which `summary` shows."""
        name = as_estimand(estimand).name
        return f"classwise_{name}", "marginal_error" if name == "ece" else f"marginal_{name}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the classes that it concerns."""
        shared = self.counts[0]  # all classes have the same rows
        reading = reading_remarks(reading_of(shared), shared.n_rows)
        of_class = {
            f"class {label}": tuple(text for text in remarks_of(counts, self.model) if text not in reading)
            for label, counts in zip(self.classes, self.counts, strict=True)
        }
        return (*reading, *of_several(of_class))

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of the two means and of each class.

        Rows are ``classwise_ece``, ``marginal_error`` and ``ece[label]``, ...; for another estimand, such as the signed
        error: ``classwise_signed_error``, ``marginal_signed_error`` and ``signed_error[label]``, ... For
        ``"l2_error"``, the first row is ``rms_error``.

        Raises
        ------
        ValueError
            If the estimand has no joint draws over classes.
        """
        prob, by_class, name = _checks.fraction("prob", prob), self.draws(estimand), as_estimand(estimand).name
        quantities = {**{mean.name: mean for mean in self._means(estimand)}, name: by_class}
        if as_estimand(estimand) is registered()["l2_error"]:
            quantities = {"rms_error": self.rms_error, **quantities}
        return _arviz.summary(quantities, prob, {name: self.classes}, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Everything as an ArviZ DataTree.

        It has the groups ``posterior`` (classwise_ece, marginal_error; ece along ``class``), ``observed_data``
        (positives of each class) and ``constant_data`` (plug-in value and frequency of each class). For the bins of a
        class take ``evaluation[label].to_datatree()``.
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

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        values = [list(row.values()) for row in self.table()]
        d = _render.places(*(v for _, *numbers in values for v in numbers), least=4)
        rows = [[name, *(_render.number(v, d) for v in numbers)] for name, *numbers in values]
        shown, remarks = rows, []
        if len(rows) > PRINTED_ROWS and not whole:
            more = f"Not shown: {len(rows) - PRINTED_ROWS} of {len(self)} classes; see `.summary()` or `.by_class`."
            shown, remarks = rows[:PRINTED_ROWS], [more]
        remarks += [wording.null_line(self.plug_in, self.null, d), *self.remarks]
        head = self._headline(0.95)
        return _render.Sheet(
            self.sentence(), self.spec, wording.HEADER, shown, remarks, headline=head, question=self.question
        )
