"""The methods of an evaluation that check its model: data tree, prior, leave-one-out cross-validation, sensitivity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayescal import _arviz, _checks, _packages
from bayescal._arrays import Array, Floats, Indices, Ints, az, xr
from bayescal._texts import text_of
from bayescal.draws import BinDraws
from bayescal.estimands.registry import EstimandLike, registered
from bayescal.posterior.contract import HasHypotheses, HasParameters, PredictsOutcomes
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts
from bayescal.stats.sums import VALUE_FLOOR

if TYPE_CHECKING:
    from bayescal.results.sensitivity import ModelSensitivity

# leave-one-out: rows are identified only by bin and outcome; they are sorted by bin, within a bin those with outcome
# 0 are first

MOST_POINTWISE = 10_000_000  #: Largest number of rows with a value for each row.
ROUNDING = 1e-9  #: Relative difference of effective and counted rows that is rounding.
#: What to do in place of a comparison of models and priors.
AGAIN = "Evaluate again with another model or prior, as with `model='dirichlet'`, and compare the intervals."


def require_equal_rows(counts: Counts, name: str) -> None:
    """Refuse counts without rows, rows with different weights or in clusters, and outcomes that may be unknown."""
    if not isinstance(counts, BinnedCounts):
        known = "If all outcomes are known, evaluate them with `evaluate(y_true, y_prob)`."
        raise TypeError(
            f"`{name}` exists for BinnedCounts, whose rows all have an observed outcome, not for "
            f"{type(counts).__name__}. {AGAIN if name == 'sensitivity' else known}"
        )
    if not counts.n_rows:
        raise ValueError(f"`{name}` needs rows; these counts have none.")
    clusters = clusters_of(counts)
    if clusters is not None:
        raise ValueError(
            f"`{name}` needs independent rows; these are in {clusters.number} clusters, whose rows may depend on each "
            "other. Evaluate the rows without `cluster` if they are independent."
        )
    if abs(counts.effective_rows - counts.n_rows) > ROUNDING * counts.n_rows:
        raise ValueError(
            f"`{name}` needs rows with equal weights. The effective number of rows is {counts.effective_rows:g}, for "
            f"{counts.n_rows} rows; evaluate the rows without `weights` if each of them counts once."
        )


def require_exact(posterior: Any, name: str) -> PredictsOutcomes:
    """Refuse posteriors without exact predictive probabilities."""
    if not isinstance(posterior, PredictsOutcomes):
        how = "with `evaluate(y_true, y_prob)`, if their outcomes are known"
        how = f"Evaluate the rows {'without `pooling`' if hasattr(posterior, 'pooled') else how}."
        raise TypeError(
            f"`{name}` exists for the shrinkage model and the Dirichlet model, not for {type(posterior).__name__}. "
            f"{AGAIN if name == 'sensitivity' else how}"
        )
    return posterior


def cells_of_rows(counts: Counts) -> tuple[Indices, Indices]:
    """Return the bin and the outcome of each row."""
    number = np.stack([counts.n - counts.k, counts.k], axis=1).astype(np.int64).ravel()
    cell = np.repeat(np.arange(len(number)), number)
    return cell // 2, cell % 2


def row_coordinates(counts: Counts) -> dict[str, Any]:
    """Return the coordinates of a dimension `row`: its number, bin and outcome."""
    at, outcome = cells_of_rows(counts)
    return {"row": np.arange(len(at)), "row_bin": ("row", at), "row_outcome": ("row", outcome)}


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Log predictive probabilities of single rows, by outcome (first axis) and bin; NaN in cells without rows."""

    counts: Counts
    #: Numbers of rows, and log probabilities of the outcome given all other rows, and given all rows.
    number: Ints
    log_probability: Floats
    given_all: Floats

    @property
    def elpd(self) -> float:
        """Sum over rows."""
        return self._sum(self.log_probability)

    @property
    def se(self) -> float:
        """Standard error of the sum, from the variance over rows."""
        return self._se(self.log_probability)

    @property
    def p(self) -> float:
        """Effective number of parameters."""
        return self._sum(self.given_all - self.log_probability)

    def minus(self, other: "LeftOut") -> tuple[float, float]:
        """Return the difference from another model of the same rows, and its standard error."""
        difference = self.log_probability - other.log_probability
        return self._sum(difference), self._se(difference)

    def elpd_data(self, n_draws: int) -> "az.ELPDData":
        """Return the record of ArviZ."""
        _packages.require("arviz")
        import arviz as az
        import xarray as xr

        n_rows = int(self.number.sum())
        pointwise = None
        if n_rows <= MOST_POINTWISE:
            at, outcome = cells_of_rows(self.counts)
            values, coords = self.log_probability[outcome, at], row_coordinates(self.counts)
            pointwise = xr.DataArray(values, dims="row", coords=coords, name="elpd_i")
        return az.ELPDDataLOO(
            elpd=self.elpd, se=self.se, p=self.p, n_samples=n_draws, n_data_points=n_rows,
            scale="log", warning=False, good_k=None, elpd_i=pointwise, pareto_k=None,
        )  # fmt: skip

    def _sum(self, values: Floats) -> float:
        return float((self.number * values)[self.number > 0].sum())

    def _se(self, values: Floats) -> float:
        centred = values - self._sum(values) / self.number.sum()
        return float(np.sqrt(self._sum(centred**2)))


def left_out(counts: Counts, posterior: Any, bin_draws: BinDraws) -> LeftOut:
    """Compute the predictive probabilities of all cells; refuse rows and posteriors that have none."""
    exact = require_exact(posterior, "loo")
    require_equal_rows(counts, "loo")
    number = np.stack([counts.n - counts.k, counts.k]).astype(np.int64)
    inside = np.clip(bin_draws.accuracy.mean(axis=0), VALUE_FLOOR, 1 - VALUE_FLOOR)
    with np.errstate(divide="ignore"):  # cells without rows
        given_all = np.where(number > 0, np.log(np.stack([1 - inside, inside])), np.nan)
    return LeftOut(counts, number, exact.log_left_out(), given_all)


class ModelChecks:
    """Methods of `Evaluation` that check its model."""

    @property
    def _this(self) -> Any:
        """The evaluation, the only class that inherits these methods."""
        return self

    def to_datatree(self, *, prior: bool = False, predictive: bool | str = False) -> "xr.DataTree":
        """Everything as an ArviZ DataTree.

        It has the groups ``posterior`` (each reported quantity; mass, accuracy, confidence and gap along ``bin``; under
        the shrinkage model also intercept and slope), ``observed_data`` (rows, positives, effective rows per bin) and
        ``constant_data`` (edges, observed means). The accuracy of all rows is ``accuracy_of_all_rows``. Bins with mass
        0 are not in the posterior. A quantity that is equal in all draws, such as the confidence of the bins under the
        shrinkage model, is in ``constant_data``. Under the shrinkage model ``sample_stats`` holds ``sub_model``, the
        sub-model of each draw as an index into the attribute ``sub_models``. It is not in ``posterior``, because plots
        and tables would treat it as a quantity. In ``observed_data`` and ``constant_data``, ``bin`` has the coordinates
        bin_low, bin_high, n and mean_confidence;
        ``posterior.gap.assign_coords(constant_data.sel(bin=posterior.bin).coords)`` adds them to the draws.
        ``.to_netcdf`` and `arviz.from_netcdf` keep all of it.

        With `prior`, ``prior`` has the quantities of ``posterior``. With `predictive`, ``posterior_predictive``,
        ``observed_data`` and, if `prior` is True, ``prior_predictive`` hold ``observed_share`` along ``bin`` (bins with
        rows), or ``outcome`` along ``row``; the numbers of rows are in ``constant_data``. ``log_likelihood`` holds
        ``outcome`` along ``row``: the log probability of the outcome of a row, given its bin. Rows stand in the order
        of their bins and then outcomes.

        Parameters
        ----------
        prior : bool, default False
            Whether to add draws of the prior, those of `under_prior`.
        predictive : bool or "rows", default False
            Whether to add predicted outcomes, given the numbers of rows of the bins, and the log likelihood of each
            row. True predicts the share of outcome 1 in each bin, ``"rows"`` the outcome of each row, for functions of
            ArviZ for binary outcomes, such as `arviz.plot_ppc_pava`. Only for at most 20 000 rows that are independent
            and have equal weights; `loo` has no such limit.

        Raises
        ------
        ValueError, TypeError
            If `prior` or `predictive` is something else, or asks for a distribution that does not exist: there are no
            rows, more than 20 000, or rows with weights, in clusters or with censored outcomes.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> tree = ev.to_datatree(prior=True, predictive=True)
        >>> tree["observed_data"]["observed_share"].values
        array([0.5, 1. ])
        >>> tree["log_likelihood"]["outcome"].sizes["row"]
        4
        """
        ev = self._this
        attrs = {"spec": ev.spec, "model": ev.model, "target": ev.counts.target, "plug_in_ece": ev.plug_in}
        return evaluation_tree(ev, attrs, prior=prior, predictive=predictive)

    def under_prior(self) -> Self:
        """Return the same evaluation under empty counts: as many draws of the prior, from the same seed.

        Under the shrinkage model the mean confidence of each bin is its midpoint.

        Raises
        ------
        TypeError
            For groups with pooling, censored outcomes and targets without labels.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> round(ev.under_prior().ece.mean(), 2), round(ev.ece.mean(), 2)
        (0.08, 0.05)
        """
        ev = self._this
        posterior: Any = require_exact(ev.posterior, "under_prior")
        if type(ev.counts) is not BinnedCounts:
            raise TypeError(text_of("prior of other counts", kind=type(ev.counts).__name__, model=ev.model))
        empty = BinnedCounts.empty(ev.counts.bins, target=ev.counts.target)
        result: Self = ev._with(replace(posterior, counts=empty), counts=empty)
        return result

    def loo(self) -> "az.ELPDData":
        r"""Exact leave-one-out cross-validation of the outcomes, given the bins of the rows.

        The expected log predictive density is :math:`\sum_i \log p(z_i \mid z_{-i}, b)` [1]_: the probability of the
        outcome of each row, given its bin and the outcomes of all other rows. It is computed once for each cell of bin
        and outcome, without draws. The mean confidences of the bins stay those of all rows, because the models describe
        outcomes given the bins and these means.

        The result has ``elpd``, ``se`` and ``p`` (effective number of parameters, from the draws), and ``elpd_i`` along
        ``row``, in the order of bins and then outcomes, with the coordinates ``row_bin`` and ``row_outcome``; None for
        more than 10 million rows. `arviz.compare` takes it.

        Raises
        ------
        ValueError, TypeError
            If there are no rows, or rows have weights, are in clusters or have censored outcomes; for groups with
            pooling and for targets without labels.

        Notes
        -----
        Dirichlet model: :math:`p = (\alpha_{zb} + n_{zb} - 1) / (\alpha_b + n_b - 1)`. Shrinkage model: the average of
        the predictive probabilities of the sub-models, with their probabilities without the row. Each sub-model
        contributes the ratio of its marginal likelihoods with and without the row. The families of the linear pool keep
        equal shares without the row, so `arviz.loo`, which weights draws of the posterior, is slightly smaller. With
        ``pool=False`` both estimate the same quantity; `arviz.loo` has the error of importance sampling.

        References
        ----------
        .. [1] A. Vehtari, A. Gelman and J. Gabry (2017), "Practical Bayesian model evaluation using leave-one-out
           cross-validation and WAIC", Statistics and Computing 27, 1413-1432.

        Examples
        --------
        Two rows of one bin with different outcomes: each has the probability 1/3 given the other.

        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1], [0.4, 0.6], bins=1, model="dirichlet", alpha=1.0, rng=1)
        >>> round(ev.loo().elpd, 4)
        -2.1972
        """
        return self._left_out.elpd_data(len(self._this.bin_draws))

    @cached_property
    def _left_out(self) -> LeftOut:
        return left_out(self._this.counts, self._this.posterior, self._this.bin_draws)

    def sensitivity(
        self,
        models: str | Sequence[str] = ("shrinkage", "dirichlet"),
        priors: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
        *,
        estimand: EstimandLike = "ece",
    ) -> "ModelSensitivity":
        """Evaluate the same counts under several models and priors.

        The result has one evaluation per model and prior, with as many draws from the same seed; this evaluation is
        added as the first one if it is not among them. It has estimates, intervals, log marginal likelihoods and exact
        leave-one-out cross-validation of the outcomes given the bins, which all these models describe.

        Parameters
        ----------
        models : str or sequence of str, default ("shrinkage", "dirichlet")
            Names of models, as for `evaluate`.
        priors : mapping of str to mappings, optional
            For each model, the options of each prior by its name, as in ``{"shrinkage": {"odds 4:1": {"prior_odds":
            4.0}}, "dirichlet": {"weak": {"alpha": 0.1}}}``; a model that is not mentioned has its default options. By
            default the shrinkage model has its default options, its scales halved and doubled, no pool, the sub-models
            of independent bins alone, and prior odds of 1:4 and 4:1, which change the probability of exact calibration
            only; the Dirichlet model has its four named priors.

        Raises
        ------
        ValueError, TypeError
            As for `loo`; if a model or an option is unknown, a model lacks the estimand, or `priors` has another model.

        Notes
        -----
        A marginal likelihood averages over the prior, so that a wide prior is penalised even where posteriors agree;
        leave-one-out cross-validation averages over posteriors.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> result = ev.sensitivity(priors={"dirichlet": {"Jeffreys": {"alpha": "jeffreys"}}})
        >>> [(row["model"], row["prior"], round(row["elpd_loo"], 1)) for row in result.table()]
        [('shrinkage', 'default', -2.1), ('dirichlet', 'Jeffreys', -3.3)]
        """
        # the analyses import the results, so that the results can only name them
        analysis = import_module("bayescal.analyses.sensitivity")
        result: ModelSensitivity = analysis.model_sensitivity(self._this, models, priors, estimand)
        return result


#: Largest number of rows of the log likelihood, which has one value per draw and row, and of its values.
MOST_ROWS, MOST_VALUES = 20_000, 80_000_000
PREDICTED = 2  #: Together with the seed of the bins, this number seeds the predicted outcomes.
#: Name of the accuracy in the tree, where "accuracy" is that of the bins.
OVERALL = {"accuracy": "accuracy_of_all_rows"}
#: Value of `predictive` with which the outcome of each row is predicted, in place of the share of each bin.
ROWS = "rows"


def evaluation_tree(
    evaluation: Any, attrs: Mapping[str, Any], *, prior: bool = False, predictive: bool | str = False
) -> "xr.DataTree":
    """Return the groups that `Evaluation.to_datatree` describes, of an `Evaluation`."""
    _checks.one_of("prior", prior, [True, False])
    _checks.one_of("predictive", predictive, [True, False, ROWS])
    counts, posterior = evaluation.counts, evaluation.posterior
    if predictive:
        _require_rows(counts, posterior, len(evaluation.bin_draws))
    under_prior = evaluation.under_prior() if prior else None
    parameters, curves, sample_stats = _parameters(evaluation), {}, {}
    for each in registered().values():
        if each.reported and each.coordinate and each.available(counts):
            curves[each.name] = (*each.coordinate, evaluation.draws(each).values)
    if parameters is not None:
        sample_stats["sub_model"] = parameters.sub_model
    # an attribute `prior` would hide that the group is missing
    attrs = {**attrs, "model_prior": posterior.prior, "bins": str(counts.bins), "n_rows": counts.n_rows}
    if isinstance(posterior, HasHypotheses):
        attrs |= {"p_calibrated": posterior.p_calibrated, "sub_models": list(posterior.probabilities)}
    edges = {"bin_low": counts.bins.edges[:-1], "bin_high": counts.bins.edges[1:]}
    observed_means = {"mean_confidence": counts.mean_confidence, "observed_accuracy": counts.accuracy}
    numbers = {"n_rows": counts.n, "n_positive": counts.k, "effective_n": counts.effective_n}
    tree = _arviz.datatree(
        _variables(evaluation),
        observed={} if predictive else numbers,
        constant={
            **{f"{k}_edge": v for k, v in edges.items()},
            **{f"{k}_of_bin": v for k, v in observed_means.items()},
            **(numbers if predictive else {}),
        },
        along="bin",
        coords={"bin": np.arange(len(counts.bins)), **edges, "n": counts.n, "mean_confidence": counts.mean_confidence},
        attrs=attrs,
        sample_stats=sample_stats,
        curves=curves,
        kept=evaluation.bin_draws.mass.any(axis=0),
        prior=None if under_prior is None else _variables(under_prior),
    )
    if predictive:
        _add_predictive(tree, evaluation, under_prior, by_row=predictive == ROWS)
    return tree


def _variables(evaluation: Any) -> dict[str, Any]:
    """Return the draws of the reported estimands, of the bins and of the drift."""
    scalars = evaluation._reported
    variables: dict[str, Any] = {OVERALL.get(each.name, each.name): evaluation.draws(each) for each in scalars}
    bins = evaluation.bin_draws
    shape = bins.accuracy.shape
    variables |= {
        name: np.broadcast_to(getattr(bins, name), shape) for name in ("mass", "accuracy", "confidence", "gap")
    }
    parameters = _parameters(evaluation)
    if parameters is not None:
        variables |= {"intercept": parameters.intercept, "slope": parameters.slope}
    return variables


def _parameters(evaluation: Any) -> Any:
    return evaluation.parameters if isinstance(evaluation.posterior, HasParameters) else None


def _require_rows(counts: Counts, posterior: Any, n_draws: int) -> None:
    """Refuse rows whose outcomes have no probability of their own, and too many rows."""
    require_exact(posterior, "predictive")
    require_equal_rows(counts, "predictive")
    if counts.n_rows > MOST_ROWS:
        raise ValueError(
            f"`predictive` holds one log likelihood per draw and row, for at most {MOST_ROWS} rows; there are "
            f"{counts.n_rows}. `ev.loo()` is exact leave-one-out cross-validation for any number of rows."
        )
    if counts.n_rows * n_draws > MOST_VALUES:
        raise ValueError(
            f"`predictive` holds at most {MOST_VALUES} values; there are {counts.n_rows} rows and {n_draws} draws. "
            f"Evaluate with `draws={MOST_VALUES // counts.n_rows // 4 * 4}` or fewer."
        )


def _add_predictive(tree: "xr.DataTree", evaluation: Any, under_prior: Any, *, by_row: bool) -> None:
    """Add the predicted outcomes, the observed ones and the log likelihood of each row."""
    counts, seed = evaluation.counts, evaluation.bin_draws_seed
    at, outcome = cells_of_rows(counts)
    occupied, rows = counts.n > 0, row_coordinates(counts)

    def predicted(bins: BinDraws, which: int) -> Array:
        rng = np.random.default_rng(np.random.SeedSequence((seed, PREDICTED, which)))
        if by_row:
            return (rng.random((len(bins), len(at))) < bins.accuracy[:, at]).astype(np.int8)
        n = counts.n[occupied]
        return np.asarray(rng.binomial(n, bins.accuracy[:, occupied]) / n)

    if by_row:
        name, dimension, coords, seen = "outcome", "row", rows, outcome.astype(np.int8)
    else:
        name, dimension, coords = "observed_share", "bin", {"bin": np.flatnonzero(occupied)}
        seen = counts.k[occupied] / counts.n[occupied]
    _arviz.add_draws(tree, "posterior_predictive", name, predicted(evaluation.bin_draws, 0), dimension, coords)
    if under_prior is not None:
        _arviz.add_draws(tree, "prior_predictive", name, predicted(under_prior.bin_draws, 1), dimension, coords)
    _arviz.add_values(tree, "observed_data", name, seen, dimension, coords)
    inside = np.clip(evaluation.bin_draws.accuracy, VALUE_FLOOR, 1 - VALUE_FLOOR)  # as in all likelihoods
    by_cell = np.log(np.stack([1 - inside, inside], axis=2))
    _arviz.add_draws(tree, "log_likelihood", "outcome", by_cell[:, at, outcome], "row", rows)
