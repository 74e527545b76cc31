"""Results of `bayescal.shift.label`, for one event and for several classes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _presented, _render
from bayescal._arrays import Floats, Indices
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.results import wording
from bayescal.results.evaluation import WITHIN_BINS
from bayescal.results.of_groups import ByLabel
from bayescal.results.remarks import mistake_remarks, of_several
from bayescal.shift.class_frequencies import PRINTED_CLASSES, UNLABELLED_SHARE, ClassPriors
from bayescal.shift.over_priors import OverPriors, over_priors
from bayescal.shift.shifted_bins import LabelShiftedCounts
from bayescal.shift.target import TargetEvaluation, few_labelled_rows
from bayescal.stats.contract import Counts

#: Name of the row of the adapted predictions.
ADAPTED = "ece_adapted"
HEADER = ("class", "mean", "sd", "2.5 %", "97.5 %", "plug-in", "frequency")


@public
@dataclass(frozen=True, eq=False, repr=False)
class LabelShiftEvaluation(TargetEvaluation):
    """The posterior of how well a classifier is calibrated in a target without labels, under label shift.

    Returned by `bayescal.shift.label`. It is an `Evaluation` of the target: its estimands, tables and
    plots are available. Its draws are pooled over draws of the class frequencies of the target, so that intervals
    include their uncertainty.

    Parameters
    ----------
    counts, posterior, bin_draws, null_bin_draws, model, bin_draws_seed, dirichlet_seed, label, draw_total_bins
        As for `Evaluation`; `counts` are those of the target at the posterior mean of the class frequencies.
    priors : ClassPriors
        Posterior of the class frequencies.
    evaluate_adapted : callable, optional
        Evaluates the predictions that are adapted to the target; None if these are already adapted, or if the adapted
        predictions were not counted.
    of_adapted : bool, default False
        Whether the predictions are adapted to the target.
    """

    counts: LabelShiftedCounts
    posterior: OverPriors
    priors: ClassPriors = None  # type: ignore[assignment]  # fields of the base class have defaults
    evaluate_adapted: "Callable[[], LabelShiftEvaluation] | None" = None
    of_adapted: bool = False

    population: ClassVar[str] = " in a target under label shift"

    @cached_property
    def adapted(self) -> "LabelShiftEvaluation":
        """Evaluation of the predictions after `adapt`, in the target.

        Raises
        ------
        AttributeError
            If the predictions are adapted already, or the adapted ones were not counted.
        """
        if self.of_adapted:
            raise AttributeError("these predictions are adapted to the target already.")
        if self.evaluate_adapted is None:
            raise AttributeError(
                "the adapted predictions were not counted: count the rows again with `adapt(p)` in place of p, and "
                "pass these counts as `adapted` to `bayescal.shift.label_counts`."
            )
        return self.evaluate_adapted()

    def adapt(self, y_prob: Any) -> Floats:
        """Adapt probabilities to the class frequencies of the target; see `ClassPriors.adapt`."""
        return self.priors.adapt(y_prob)

    def _draw(self, record: Estimand) -> Draws:
        """Draw an estimand that needs more than the bins given each draw of the class frequencies."""
        if not (record.needs and record.available(self.counts)):
            return super()._draw(record)
        counts_at, numbers = self._given_priors(record)
        values, name = np.empty(len(numbers)), record.name
        seeds = np.random.SeedSequence((self.bin_draws_seed, WITHIN_BINS)).spawn(int(numbers.max()) + 1)
        for i in np.unique(numbers).tolist():
            rows = np.flatnonzero(numbers == i)
            part = record.draw(self.bin_draws.part(rows), counts_at(i), rng=seeds[i])
            values[rows], name = part.values, part.name
        origin = self.bin_draws.fingerprint
        return Draws(values, name, (origin, record.name) if "outcomes" in record.needs else origin)

    def _given_priors(self, record: Estimand) -> tuple[Callable[[int], Counts], Indices]:
        """Return a function of i that makes the counts given draw i of the class frequencies, and i for each draw."""
        posterior, size, seed = self.posterior, len(self.bin_draws), self.bin_draws_seed
        if "outcomes" in record.needs:
            near = posterior.each_near
            return lambda i: self.counts.rows.at(near[i]), posterior.priors_of(size, seed)
        return lambda i: posterior.parts[i].counts, posterior.part_of(size, seed)

    def _dirichlet_posterior(self) -> OverPriors:
        """Pool the Dirichlet model over the same draws of the class frequencies."""
        parts = [dirichlet_posterior(each.counts) for each in self.posterior.parts]
        return over_priors(self.counts, parts, self.posterior.near_priors)

    def _more(self, prob: float) -> dict[str, Any]:
        return {"class_frequencies": self.priors.table(prob)}

    def _more_sheets(self) -> dict[str, _render.Sheet]:
        return {"Class frequencies of the target": self.priors.sheet(whole=True)}

    def _row_numbers(self) -> dict[str, object]:
        return {"target rows": f"{self.counts.effective_rows:.0f}", "source rows": self.counts.n_rows}

    def _lacks(self, name: str) -> AttributeError:
        if self.model != "shrinkage":
            return super()._lacks(name)
        return AttributeError(
            f"`{name}` differ between the draws of the class frequencies; those of one draw are "
            "`evaluation.posterior.parts[0].sample_all(1000, rng=1)`."
        )

    @property
    def question(self) -> str:
        """Target, bins, rows and model, in words."""
        counts = self.counts
        model = f"{self.model} model ({self.posterior.prior})" if self.posterior.prior else f"{self.model} model"
        adapted = " of adapted predictions" if self.of_adapted else ""
        return (
            f"ECE{self._of_label}{adapted}{self.population}, {counts.bins}, {counts.n_rows} labelled rows of the "
            f"source, {counts.effective_rows:.0f} rows of the target, {model}"
        )

    def sentence(self, prob: float = 0.95) -> str:
        """Return the posterior mean and interval in words; see `Evaluation.sentence`."""
        return self._headline(prob)

    @property
    def _subject(self) -> str:
        adapted = " of the adapted predictions" if self.of_adapted else ""
        return (
            f"If class frequencies alone differ, the Expected Calibration Error{self._of_label}{adapted} in the target"
        )

    def table(self, prob: float = 0.95, *, estimands: Iterable[EstimandLike] | None = None) -> list[dict[str, Any]]:
        """The numbers of a table, as data; by default with a row ``ece_adapted`` at the end.

        Parameters
        ----------
        prob, estimands
            As for `Evaluation.table`. ``ece_adapted`` is the ECE after `adapt`.
        """
        rows = super().table(prob, estimands=estimands)
        if estimands is not None or self.evaluate_adapted is None:
            return rows
        return [*rows, {**self.adapted.row("ece", prob), "quantity": ADAPTED}]

    def sheet(self, *, whole: bool = False, estimands: Iterable[EstimandLike] | None = None) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows; see `Evaluation.sheet`."""
        sheet = super().sheet(whole=whole, estimands=estimands)
        if estimands is not None or self.evaluate_adapted is None:
            return sheet
        d, row = wording.decimals(self.ece), self.adapted.row("ece")
        cells = ["ece adapted", *(_render.number(value, d) for value in list(row.values())[1:])]
        return replace(sheet, rows=[*sheet.rows, cells])

    def _beside(self) -> list[str]:
        """Line below the table: the class frequencies."""
        row = self.priors.table()[self.counts.rows.of]
        mean, low, high, source = (_render.number(row[name], 3) for name in ("mean", "low", "high", "source"))
        of = f"class {_render.name(row['class'])}"
        return [f"Frequency of {of} in the target: {mean}, 95 % interval [{low}, {high}]; in the source {source}."]

    def _notes(self) -> list[str]:
        return []

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the interval, which are printed below the table; empty if no problem is known."""
        return (*self.own_remarks, *self.priors.remarks)

    @property
    def own_remarks(self) -> tuple[str, ...]:
        """Warnings other than those about the class frequencies, which all classes share."""
        counts, lost = self.counts, self.counts.without_labels
        texts = [*super().remarks, *mistake_remarks(counts.rows.source)]
        texts += few_labelled_rows(counts.n_rows, counts, self.model)
        if lost >= UNLABELLED_SHARE:
            texts.append(
                f"{_render.percent(lost)} of the target's rows are in bins without labelled rows: their calibration is "
                "taken from the other bins and the prior."
            )
        return tuple(texts)


@public
@dataclass(frozen=True, eq=False, repr=False)
class LabelShiftClasses(ByLabel[LabelShiftEvaluation]):
    """Evaluations of several classes in a target under label shift: a mapping from class to `LabelShiftEvaluation`.

    Returned by `bayescal.shift.label` for a matrix of probabilities. Each class is evaluated against the others. Draws
    of different classes are not from a joint posterior and must not be combined.

    Parameters
    ----------
    evaluations : dict
        Class -> its evaluation, in the order of the columns.
    priors : ClassPriors
        Posterior of the class frequencies.
    """

    evaluations: dict[Any, LabelShiftEvaluation]
    priors: ClassPriors

    _index = ("class",)
    _label, _results = "class", "evaluations"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the columns."""
        return tuple(self.evaluations)

    @property
    def _one_evaluation(self) -> str:
        return f"choose a class, as in `result[{self.classes[0]!r}]`"

    def adapt(self, y_prob: Any) -> Floats:
        """Adapt probabilities to the class frequencies of the target; see `ClassPriors.adapt`."""
        return self.priors.adapt(y_prob)

    @property
    def spec(self) -> str:
        """Classes, bins and rows on one line."""
        return self._spec("ece")

    def _spec(self, estimand: EstimandLike) -> str:
        first = next(iter(self.values()))
        counts = first.counts
        words = as_estimand(estimand).words(counts.target)
        return (
            f"{words} of each of {len(self)} classes{first.population}, {counts.bins}, {counts.n_rows} "
            f"labelled rows of the source, {counts.effective_rows:.0f} rows of the target, {first.model} model"
        )

    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return one dict per class, as data.

        Keys are class, mean, sd, low, high, plug_in, null_mean and adapted: the posterior mean after `adapt`, NaN if
        the adapted predictions were not counted.
        """
        rows = []
        for label, each in self.items():
            row = {name: value for name, value in each.row(estimand, prob).items() if name != "quantity"}
            known = each.evaluate_adapted is not None
            after = float(each.adapted.draws(estimand).mean()) if known else float("nan")
            rows.append({"class": label, **row, "adapted": after})
        return rows

    def _more(self, prob: float) -> dict[str, Any]:
        return {"class_frequencies": self.priors.table(prob)}

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """Return the class with the largest posterior mean, in words."""
        record, label = as_estimand(estimand), self._worst(estimand)
        largest = self[label].draws(record)
        words = "Expected Calibration Error" if record.name == "ece" else record.words(self[label].counts.target)
        return (
            f"Of {len(self)} classes in the target, the {words} is largest for class "
            f"{_render.name(label)}: {wording.mean_and_interval(largest, prob)}."
        )

    def _worst(self, estimand: EstimandLike) -> Any:
        """Label of the class that the sentence names."""
        return max(self, key=lambda label: self[label].draws(estimand).mean())

    def sheet(self, *, whole: bool = False, estimand: EstimandLike = "ece") -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        d = max(wording.decimals(each.draws(estimand)) for each in self.values())
        frequency, columns = self.priors.mean(), ("mean", "sd", "low", "high", "plug_in")
        rows = [
            [
                _render.name(row["class"]),
                *(_render.number(row[name], d) for name in columns),
                _render.number(frequency[k], 3),
                _render.number(row["adapted"], d),
            ]
            for k, row in enumerate(self.table(estimand=estimand))
        ]
        shown, remarks = rows, list(self.remarks)
        if len(rows) > PRINTED_CLASSES and not whole:
            kept = _presented.shortened(range(len(rows)), PRINTED_CLASSES, list(self).index(self._worst(estimand)))
            shown = [rows[k] for k in kept]
            remarks = [f"Not shown: {len(rows) - PRINTED_CLASSES} of {len(rows)} classes.", *remarks]
        header = (*HEADER, "ECE adapted" if estimand == "ece" else "adapted")
        sentence, spec = self.sentence(estimand=estimand), self._spec(estimand)
        return _render.Sheet(sentence, spec, header, shown, remarks, question=spec)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals of all classes, and about the class frequencies."""
        texts = of_several({f"class {label}": each.own_remarks for label, each in self.items()})
        return (*texts, *self.priors.remarks)
