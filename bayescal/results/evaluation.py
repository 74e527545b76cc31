"""Evaluation: the result for one classifier and one binary problem."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import Array, Floats, pd
from bayescal._meant import no_attribute, public
from bayescal._metrics import Table
from bayescal.draws import BinDraws, Draws, fingerprint
from bayescal.estimands import errors, registry
from bayescal.estimands.estimand import Estimand, UnavailableError
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.regret import observed_curve, regret_curve, regret_of, require_shrinkage, thresholds_of
from bayescal.estimands.selective import Selection, checked_shares, selection_of
from bayescal.posterior.contract import HasHypotheses, HasParameters, Pooled, Posterior
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.joint import with_ranks_of
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws
from bayescal.results import wording
from bayescal.results.model_checks import ModelChecks
from bayescal.results.regret import WorstRegret, remarks_on
from bayescal.results.remarks import grid_remarks, remarks_of
from bayescal.stats.bins import VALUES
from bayescal.stats.contract import Counts
from bayescal.stats.losses import KINDS

MOST_SHOWN = 21  #: Most bins of one value each whose table is printed, such as every 5 % from 0 to 100.
WITHIN_BINS = 1  #: Together with the seed of the bins, this number seeds the draws of the mean losses within bins.
SCORES = ("brier_score", "auc", "accuracy")  #: Quantities of `metrics` besides those of the table.


@public
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ModelChecks, _presented.Presented):
    """The posterior of how well one classifier is calibrated on one binary problem.

    Returned by `evaluate` or `evaluate_counts`; printing it shows the sentence, the table and the specification.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of the rows.
    posterior : Posterior
        The posterior of the bins.
    bin_draws : BinDraws
        Draws of the bins. All estimands are computed from these draws, so joint statements are possible.
    null_bin_draws : BinDraws or None
        Draws of the observed bins if the classifier were exactly calibrated; None if there are no rows. A function
        without arguments that returns them is called when they are first read.
    model : str
        Name of the model.
    bin_draws_seed : int
        Seed of `bin_draws`, with which the posterior reproduces them.
    dirichlet_seed : int
        Seed of `dirichlet_ece`.
    label : str, default ""
        Name of the rows' outcome in sentences if this is one of several evaluations of the same rows, such as
        ``"class cat"``.
    draw_total_bins : callable, optional
        For rows in clusters, a function without arguments that draws the bins with the design effect of the total, for
        `signed_error`.
    """

    counts: Counts
    posterior: Posterior
    bin_draws: BinDraws
    null_bin_draws: BinDraws | None
    model: str
    bin_draws_seed: int
    dirichlet_seed: int
    label: str = ""
    draw_total_bins: Callable[[], BinDraws] | None = None

    def draws(self, estimand: registry.EstimandLike) -> Draws:
        """Draws of any estimand; registered estimands are also attributes, as in ``evaluation.ece``.

        Their shape is (n_draws,), or (n_draws, n_points) for a curve.

        Parameters
        ----------
        estimand : str, Estimand or callable
            Its name, its record, or a function of `bin_draws`.

        Raises
        ------
        ValueError, TypeError
            If there is no such estimand, the counts lack what it needs, or the function does not return draws of this
            shape. Counts that lack what it needs raise an error that is also an AttributeError, so that
            ``hasattr(evaluation, "auc")`` is False for rows of one outcome.
        """
        record = registry.as_estimand(estimand)
        if not registry.is_registered(record):
            return self._draw(record)
        if record.name not in self._draws_by_name or self._draws_by_name[record.name][0] is not record:
            self._draws_by_name[record.name] = record, self._draw(record)
        return self._draws_by_name[record.name][1]

    @cached_property
    def _draws_by_name(self) -> dict[str, tuple[Estimand, Draws]]:
        """Cache: name of a registered estimand -> the estimand and its draws."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # the draws can be computed again from the bins, and some functions cannot be pickled
        return {name: value for name, value in self.__dict__.items() if name not in ("_draws_by_name", "_selection")}

    def _within_bins(self) -> np.random.SeedSequence:
        """Seed of draws besides the bins; groups with joint draws share the seed of the bins, and not this one."""
        place = (self.posterior.place,) if isinstance(self.posterior, Pooled) else ()
        return np.random.SeedSequence((self.bin_draws_seed, WITHIN_BINS, *place))

    def _draw(self, record: Estimand) -> Draws:
        try:
            if "thresholds" in record.needs:
                require_shrinkage(self.posterior)
            result = record.draw(self.bin_draws, self.counts, rng=self._within_bins())
            if record.of_total and self.draw_total_bins is not None:
                total = record.draw(self.draw_total_bins(), self.counts, rng=self._within_bins())
                result = replace(result, values=with_ranks_of(result.values, total.values))
        except ValueError as problem:
            if self._available(record):
                raise
            # what an event of the same rows has: log losses, and the order of rows in clusters
            both = 0 < self.counts.k.sum() < self.counts.n_rows
            lost = self.counts.target == "classwise" and record.needs & {*KINDS, *(["outcomes"] if both else [])}
            hint = " With the rows, evaluate this class as an event, as in `evaluate(y_true == label, y_prob[:, k])`."
            subject = f"{_render.name(self.label)}: " if self.label else ""
            raise UnavailableError(f"{subject}{problem}{hint if lost else ''}") from problem
        # draws from the order of the rows are independent of the bins, so they are not combined with the others
        needs_outcomes = "outcomes" in record.needs
        origin = (self.bin_draws.fingerprint, record.name) if needs_outcomes else self.bin_draws.fingerprint
        named = record.has_own_event(self.counts.target)
        name = record.draws_label(self.counts.target) if named else result.name
        return replace(result, name=name, origin=origin)

    def _available(self, record: Estimand) -> bool:
        """Whether counts and posterior have what the estimand needs."""
        shrunk = isinstance(self.posterior, HasHypotheses) and not isinstance(self.posterior, Pooled)
        return record.available(self.counts) and (shrunk or "thresholds" not in record.needs)

    def __getattr__(self, name: str) -> Draws:
        """Return the draws of an estimand that was registered after this class was defined."""
        if hasattr(type(self), name) or name.startswith("_") or name not in registry.registered():
            no_attribute(self, name)
        return self.draws(name)

    def _instead(self, name: str) -> str:
        """Return the hint for an attribute that does not exist; may be empty."""
        return registry.hint(name, "evaluation.{}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *registry.registered()})

    def lp_error(self, p: float = 2.0) -> Draws:
        """Draws of the l_p calibration error; see `bayescal.estimands.lp_error`."""
        return replace(errors.lp_error(self.bin_draws, p), origin=self.bin_draws.fingerprint)

    def regret(self, threshold: float) -> Draws:
        r"""Draws of the loss that decisions at a threshold suffer because the classifier is not calibrated.

        Rows whose confidence reaches the threshold t are treated. A false positive costs t and a false negative 1 - t,
        for which t is the best threshold of a calibrated classifier. The regret is the mean loss per row, minus
        the loss of the best decision in each bin.

        Parameters
        ----------
        threshold : float
            An inner edge of the bins, with at least 5 rows on each side.

        Returns
        -------
        Draws
            Shape (n_draws,), >= 0, in units of the loss. At most the ECE of the same draw. Against any other threshold
            on the same scores the loss is at most the Kuiper statistic of the population (c_emp) larger.

        Raises
        ------
        ValueError
            If the threshold is no edge or has fewer than 5 rows on a side, bins are closed on the right, or the model
            is not ``shrinkage``.

        Examples
        --------
        >>> p = np.repeat([0.1, 0.3, 0.6, 0.9], 250)
        >>> y = np.arange(1000) % 10 < 10 * np.repeat([0.1, 0.5, 0.6, 0.9], 250)
        >>> ev = bc.evaluate(y, p, bins=5, rng=1)
        >>> round(ev.regret(0.4).mean(), 3)
        0.022
        """
        return regret_of(self.bin_draws, self.counts, self.posterior, threshold)

    def worst_regret(self) -> WorstRegret:
        """Return the largest regret over all thresholds that are inner edges of the bins, and where it is.

        Returns
        -------
        WorstRegret
            Draws of the largest regret, the regret at each threshold with its band, and the probability of each
            threshold to have the largest one.

        Raises
        ------
        ValueError
            If the model is not the shrinkage model, rows are in clusters, bins are not closed on the left, or there are
            fewer than 2 or more than 200.

        Examples
        --------
        >>> rows = simulate(2000, population="flat", curve="shift", strength=0.5, rng=1)
        >>> worst = bc.evaluate(rows.outcome, rows.confidence, bins=20, rng=1).worst_regret()
        >>> round(worst.largest.mean(), 4), worst.threshold
        (0.0..., 0...)
        """
        thresholds, largest = thresholds_of(self.counts), self.draws("largest_regret")
        regret = Draws(regret_curve(self.bin_draws, thresholds), "regret by threshold", self.bin_draws.fingerprint)
        words = f"largest regret over {len(thresholds)} thresholds"
        question = wording.question(words, [self.counts], self.model, self.posterior.prior)
        return WorstRegret(largest, thresholds, regret, observed_curve(self.counts), question, remarks_on(self.counts))

    @cached_property
    def _selection(self) -> Selection:
        return selection_of(self.bin_draws, self.counts, self._within_bins())

    def selective_risk(self, share: float | Sequence[float]) -> Draws:
        r"""Draws of the share of wrong predictions if only those with the largest confidences are kept.

        Parameters
        ----------
        share : float or sequence of float
            Share of all predictions that are kept, above 0 and at most 1; the others go to a person.

        Returns
        -------
        Draws
            Shape (n_draws,), or (n_draws, n_shares) for several shares; smaller is better.

        Raises
        ------
        ValueError
            If a share is outside (0, 1] or keeps less than one row, or the outcome is not whether a prediction is
            right; for sums of counts of rows in clusters, which do not hold the clusters.

        See Also
        --------
        bayescal.decisions.selective : The curve over all shares, and the confidence from which to keep predictions.

        Notes
        -----
        The rows are sorted by confidence. The masses of right and wrong ones in at most 512 cells between quantiles of
        the confidence have a Dirichlet posterior. The prior has two pseudo-rows, half right and half wrong, of which a
        share of 0.9 is in the first and the last cell, half in each, so that the risk of a share has nearly the prior
        of Jeffreys; that of all rows has a uniform one. It does not depend on `bins` or `model`.

        Examples
        --------
        >>> rows = simulate(2000, population="flat", rng=1)
        >>> ev = bc.evaluate(rows.outcome, rows.confidence, target="confidence", rng=1)
        >>> round(ev.selective_risk(0.2).mean(), 2), round(ev.accuracy.mean(), 2)
        (0.12, 0.51)
        """
        values = self._selection.risk(checked_shares(share, self.counts))
        return self._selective(values if np.ndim(share) else values[:, 0], "selective risk")

    def largest_share(self, risk: float) -> Draws:
        """Draws of the largest share of predictions that can be kept so that the risk is at most `risk`.

        Returns
        -------
        Draws
            Shape (n_draws,), in [0, 1]; larger is better. 0 if not even the most confident predictions reach the risk.

        Raises
        ------
        ValueError
            If `risk` is outside (0, 1), or as for `selective_risk`.

        Examples
        --------
        >>> rows = simulate(2000, population="flat", rng=1)
        >>> ev = bc.evaluate(rows.outcome, rows.confidence, target="confidence", rng=1)
        >>> ev.largest_share(risk=0.1).interval(0.95)
        (0.1..., 0.2...)
        """
        share = self._selection.largest_share(_checks.fraction("risk", risk))
        return self._selective(share, f"largest share at risk {risk:g}")

    def _selective(self, values: Floats, name: str) -> Draws:
        return Draws(values, name, fingerprint("selection", self.bin_draws.fingerprint))

    @cached_property
    def plug_in(self) -> float:
        """The plug-in ECE, computed from the observed shares and gaps. It is biased upwards, and NaN without rows."""
        return self.plug_in_of(errors.ece)

    def plug_in_of(self, estimand: registry.EstimandLike) -> float:
        """Plug-in value of any estimand, as in ``ev.plug_in_of("e90_bins")``; NaN without rows."""
        record = registry.as_scalar(estimand)
        if self.null_bin_draws is None or (record.needs and record.plug_in is None):
            return float("nan")
        if record.plug_in is not None:
            return record.plug_in(self.counts)
        return float(np.asarray(record.function(self._observed_bins))[0])

    @property
    def _observed_bins(self) -> BinDraws:
        return observed_bins(self.counts)

    def _null_mean_of(self, estimand: Estimand) -> float:
        """Mean of the plug-in value if the classifier were calibrated; NaN without rows, or if losses are needed."""
        if self.null_bin_draws is None or estimand.needs:
            return float("nan")
        return float(np.mean(np.asarray(estimand.function(self.null_bin_draws))))

    @property
    def _reported(self) -> list[Estimand]:
        """Estimands of the table."""
        every = registry.registered().values()
        return [each for each in every if each.reported and each.coordinate is None and self._available(each)]

    @cached_property
    def null(self) -> Draws:
        """Draws of the plug-in ECE if the classifier were exactly calibrated: its null distribution.

        Raises
        ------
        ValueError
            If there are no rows.
        """
        if self.null_bin_draws is None:
            raise ValueError(
                "without rows there is no null distribution; the draws of this evaluation come from the prior."
            )
        return Draws(errors.ece(self.null_bin_draws).values, "ece if calibrated")

    @cached_property
    def dirichlet_ece(self) -> Draws:
        """Draws of the ECE under the Dirichlet model, for comparison with the shrinkage model."""
        bin_draws = self._dirichlet_posterior().sample(len(self.bin_draws), rng=self.dirichlet_seed)
        return Draws(errors.ece(bin_draws).values, "ece under the Dirichlet model")

    def _dirichlet_posterior(self) -> Posterior:
        return dirichlet_posterior(self.counts)

    @property
    def p_calibrated(self) -> float:
        """Posterior probability that the classifier is exactly calibrated, for the given prior odds (1:1 by default).

        Raises
        ------
        AttributeError
            For models other than ``shrinkage``.
        """
        return self._hypotheses("p_calibrated").p_calibrated

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""
        return self._hypotheses("bayes_factor").bayes_factor

    @property
    def sub_models(self) -> dict[str, float]:
        """Posterior probability of each sub-model; `shrinkage_posterior` describes them.

        The families ``independent`` and ``shared`` are pooled with fixed, equal weights, so their probabilities are
        equal whatever the data; ``posterior.families`` groups the probabilities by family.
        """
        return self._hypotheses("sub_models").probabilities

    @cached_property
    def parameters(self) -> ShrinkageDraws:
        """Draws of the parameters of the bins (intercept, slope, sub-model, ...), joint with `bin_draws`."""
        if not isinstance(self.posterior, HasParameters):
            raise self._lacks("parameters")
        return self.posterior.sample_all(len(self.bin_draws), rng=self.bin_draws_seed)

    def _hypotheses(self, name: str) -> HasHypotheses:
        if not isinstance(self.posterior, HasHypotheses):
            raise self._lacks(name)
        return self.posterior

    def _lacks(self, name: str) -> AttributeError:
        model = f"model={self.model!r}" if self.model != "shrinkage" else "an average of several shrinkage models"
        return AttributeError(f"`{name}` exists for model='shrinkage' only; this is {model}.")

    @property
    def _of_label(self) -> str:
        """Words such as " of class cat"; empty without a label."""
        return f" of {_render.name(self.label)}" if self.label else ""

    #: Words such as " in a target under label shift"; empty if the rows are those of the question.
    population: ClassVar[str] = ""
    #: Function that compares classifiers on the same rows, which a warning names.
    _compared_by: ClassVar[str] = "compare"
    _observed_words: ClassVar[str] = "observed"  #: Words for the accuracies of the counts, as dots of a picture.
    #: Table of bins: columns of numbers of rows, title -> name in the records; the meaning of a dash.
    _bin_rows: ClassVar[Mapping[str, str]] = {"rows": "n"}
    _bin_dash: ClassVar[str] = "no rows in the bin"

    @property
    def _horizon(self) -> float | None:
        """Time by which the outcome has occurred; None if all outcomes are known."""
        return None

    @property
    def _observed_accuracy(self) -> Floats:
        """Observed accuracy per bin; NaN where it is unknown."""
        return self.counts.accuracy

    @property
    def _censored_share(self) -> Floats | None:
        """Share of all rows that are in a bin and whose outcome is unknown, per bin; None if all outcomes are known."""
        return None

    def _bin_columns(self) -> dict[str, Array]:
        """Return columns of the records of bins in addition to those of every evaluation."""
        return {}

    def _row_numbers(self) -> dict[str, object]:
        """Return numbers of rows by their meaning, for the page."""
        return wording.row_numbers(self.counts)

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        """Return further tables of the page, by title."""
        return {}

    @property
    def question(self) -> str:
        """Target, bins, rows and model, in words."""
        return wording.question(
            f"{self.counts.target} ECE{self._of_label}", [self.counts], self.model, self.posterior.prior
        )

    @cached_property
    def spec(self) -> str:
        """One line for a paper: question, mean, interval, mean of the null distribution, P(ECE < 0.02)."""
        return wording.specification(self.question, self.ece, None if self.null_bin_draws is None else self.null)

    def sentence(self, prob: float = 0.95) -> str:
        """Return posterior mean and interval, the plug-in value, and the mean of its null distribution, in words."""
        null = None if self.null_bin_draws is None else self.null
        return wording.sentence(self._headline(prob), self.ece, prob, self.plug_in, null)

    def _headline(self, prob: float) -> str:
        """Return posterior mean and interval in words, and where they come from if there are no rows."""
        source = wording.PREDICTED if isinstance(self.posterior, Pooled) else wording.OF_PRIOR
        origin = f" {source}" if self.null_bin_draws is None else ""
        return f"{self._subject} is {wording.mean_and_interval(self.ece, prob)}{origin}."

    @property
    def _subject(self) -> str:
        """Subject of the headline."""
        return f"The Expected Calibration Error{self._of_label}"

    def _chosen(self, estimands: Iterable[registry.EstimandLike] | None) -> list[Estimand]:
        """Return the estimands of a table."""
        return self._reported if estimands is None else registry.as_scalars(estimands)

    def table(
        self, prob: float = 0.95, *, estimands: Iterable[registry.EstimandLike] | None = None
    ) -> list[dict[str, Any]]:
        """The numbers of a table, as data: one dict per quantity.

        Keys are quantity, mean, sd, low, high, plug_in, null_mean; the last two are NaN without rows, and null_mean for
        the accuracy.

        Parameters
        ----------
        estimands : list of str, Estimand or callable, optional
            The quantities, as in ``["ece", "auc", "brier_score"]``; by default those that printing shows: the errors of
            calibration, and the accuracy of predictions.
        """
        return [self.row(estimand, prob) for estimand in self._chosen(estimands)]

    _numbers = ("p_calibrated", "counts.n_rows")

    def _tables(self, prob: float, **options: Any) -> list[Table]:
        every = registry.registered().values() if options.get("estimands") is None else ()
        scores = [each for each in every if each.name in SCORES and each.available(self.counts)]
        return [*super()._tables(prob, **options), Table([self.row(each, prob) for each in scores], ("quantity",))]

    def row(self, estimand: registry.EstimandLike, prob: float = 0.95) -> dict[str, Any]:
        """One row of a table, for any estimand, with keys as in `table`.

        Parameters
        ----------
        estimand : str, Estimand or callable
            The quantity.
        """
        record = registry.as_scalar(estimand)
        plug_in, null_mean = self.plug_in_of(record), self._null_mean_of(record)
        return wording.table_row(self.draws(record), record.name, prob, plug_in, null_mean)

    def summary(
        self, prob: float = 0.95, *, estimands: Iterable[registry.EstimandLike] | None = None, **options: Any
    ) -> "pd.DataFrame":
        """ArviZ's table of the reported quantities.

        It has one row per quantity: mean, sd, interval, effective sample sizes, Monte Carlo errors. The draws are
        independent, so that R-hat is near 1 and effective sizes are near `n_draws`.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals. ArviZ's own default is 0.89.
        estimands : list of str, Estimand or callable, optional
            The quantities, as for `table`.
        **options
            Passed to `arviz.summary`, as in ``kind="stats"`` or ``ci_kind="hdi"``.
        """
        prob = _checks.fraction("prob", prob)
        return _arviz.summary({each.name: self.draws(each) for each in self._chosen(estimands)}, prob, **options)

    def _with(self, posterior: Any, *, model: str = "", counts: Counts | None = None) -> "Evaluation":
        """Return the evaluation under another posterior of the same counts, or of empty counts."""
        return Evaluation(
            counts=self.counts if counts is None else counts, posterior=posterior,
            bin_draws=posterior.sample(len(self.bin_draws), rng=self.bin_draws_seed),
            null_bin_draws=self.null_bin_draws if counts is None else None, model=model or self.model,
            bin_draws_seed=self.bin_draws_seed, dirichlet_seed=self.dirichlet_seed, label=self.label,
        )  # fmt: skip

    def sheet(self, *, whole: bool = False, estimands: Iterable[registry.EstimandLike] | None = None) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows.

        Parameters
        ----------
        whole : bool, default False
            Without effect.
        estimands : list of str, Estimand or callable, optional
            The quantities of the table, as for `table`.
        """
        d, chosen = wording.decimals(self.ece), self._chosen(estimands)
        rows = []
        for each in chosen:
            places = d if each.reported else max(d, wording.decimals(self.draws(each)))
            numbers = (_render.number(value, places) for value in list(self.row(each).values())[1:])
            rows.append([each.row_label(self.counts.target), *numbers])
        remarks = [*(each.note for each in chosen if each.note), *self._beside(), *self.remarks]
        remarks += grid_remarks(self.counts, chosen)
        return _render.Sheet(
            self.sentence(), self.spec, wording.HEADER, rows, remarks,
            self._notes(), self._headline(0.95), self._of_values(d), self.question,
        )  # fmt: skip

    def _of_values(self, decimals: int) -> _render.Sheet | None:
        """Return the table of bins if there are a few, one per stated value."""
        counts, accuracy = self.counts, Draws(self.bin_draws.accuracy)
        if counts.bins.kind != VALUES or len(counts.bins) > MOST_SHOWN:
            return None
        stated, happened = wording.axis_words(counts.target)
        rows = [
            [f"{value:.6g}", *map(str, numbers), *(_render.number(each, decimals) for each in shares)]
            for value, numbers, shares in zip(
                counts.mean_confidence,
                zip(*(getattr(counts, name) for name in self._bin_rows.values()), strict=True),
                zip(accuracy.mean(), *accuracy.interval(0.95), self._observed_accuracy, strict=True),
                strict=True,
            )
        ]
        header = (stated, *self._bin_rows, happened, "2.5 %", "97.5 %", "observed")
        return _render.Sheet("", "", header, [row for row, kept in zip(rows, counts.occupied, strict=True) if kept])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table; empty if no problem is known."""
        return remarks_of(self.counts, self.model)

    def _beside(self) -> list[str]:
        """Line below the table: the null distribution of the plug-in value."""
        if self.null_bin_draws is None:
            return []
        return [wording.null_line(self.plug_in, self.null, wording.decimals(self.ece))]

    def _notes(self) -> list[str]:
        """Lines of the details of the shrinkage model: Dirichlet model, plug-in value, probabilities of sub-models."""
        if not isinstance(self.posterior, HasHypotheses) or self.null_bin_draws is None:
            return []
        d = wording.decimals(self.ece)
        dirichlet = wording.with_interval(self.dirichlet_ece, d)
        return [
            f"Dirichlet model: {dirichlet}. It is biased upwards, most strongly near 0.",
            f"Plug-in estimate: {_render.number(self.plug_in, d)}. It is also biased upwards.",
            *wording.probabilities(self.posterior),
        ]


def extended[Kind: Evaluation](kind: type[Kind], evaluation: Evaluation, **more: Any) -> Kind:
    """Make an evaluation of another kind, with further fields, from an evaluation of its counts."""
    return kind(**{field.name: vars(evaluation)[field.name] for field in fields(evaluation)} | more)


class _DrawnWhenRead:
    """A field that may be given as a function without arguments, which is called when the field is first read."""

    def __set__(self, evaluation: Evaluation, value: Any) -> None:
        vars(evaluation)["null_bin_draws"] = value

    def __get__(self, evaluation: Evaluation | None, kind: type) -> BinDraws | None:
        if evaluation is None:  # the class has no value
            raise AttributeError("null_bin_draws")
        value: Any = vars(evaluation)["null_bin_draws"]
        result: BinDraws | None = value() if callable(value) else value
        vars(evaluation)["null_bin_draws"] = result
        return result


def _attribute(estimand: Estimand) -> property:
    """Return a property that gives the draws of an estimand."""

    def draws(self: Evaluation) -> Draws:
        return self.draws(estimand.name)

    draws.__name__ = estimand.name
    draws.__doc__ = f"Draws of the {estimand.title}; see `{estimand.function.__module__}.{estimand.name}`."
    return property(draws)


Evaluation.null_bin_draws = _DrawnWhenRead()  # type: ignore[assignment]  # mypy knows no field with a descriptor
for _estimand in registry.registered().values():
    setattr(Evaluation, _estimand.name, _attribute(_estimand))
