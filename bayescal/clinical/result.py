"""ClinicalSummary: discrimination, calibration and clinical utility of risk models in one table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from bayescal import _checks, _presented, _render
from bayescal._meant import public
from bayescal.clinical import words as wording
from bayescal.clinical.curve.result import CalibrationCurve
from bayescal.clinical.slope.result import Recalibration
from bayescal.clinical.words import of_rows
from bayescal.decisions.result import HasDecisionCurve, NetBenefit
from bayescal.decisions.words import remarks_of
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import of_several, rare_error, row_remarks
from bayescal.stats.contract import Counts

#: Parts of the table: keys of quantities, and the value that the best predictions have.
OVERALL = {"auc": 1.0, "brier_score": 0.0, "scaled_brier_score": 1.0}
ERRORS = ("ici", "e50", "e90")
SIDE_BY_SIDE = 3  #: Maximum number of models that stand side by side in the printed table.


@public
@dataclass(frozen=True)
class ModelParts:
    """The results of one model, of which the summary shows numbers.

    Parameters
    ----------
    evaluation : Evaluation
        AUC, Brier score, scaled Brier score and ECE.
    recalibration : Recalibration
        Calibration intercept and slope, and calibration in the large.
    calibration_curve : CalibrationCurve
        ICI, E50 and E90.
    """

    evaluation: Evaluation
    recalibration: Recalibration
    calibration_curve: CalibrationCurve

    @property
    def mean_risk(self) -> float:
        """Mean predicted risk of the rows, weighted if there are weights."""
        counts = self.evaluation.counts
        return float(counts.share[counts.occupied] @ counts.mean_confidence[counts.occupied])

    def records(self, prob: float, event_rate: float) -> Iterator[dict[str, Any]]:
        """Return the rows of discrimination, overall performance and calibration."""
        ev = self.evaluation
        for key, best in OVERALL.items():
            # rows of one outcome have no AUC and no scaled Brier score
            if hasattr(ev, key):
                numbers = {**ev.row(key, prob), "observed": ev.plug_in_of(key)}
                yield _record("discrimination" if key == "auc" else "overall", key, numbers, best)
        yield _record("calibration", "mean_risk", {"mean": self.mean_risk}, event_rate)
        ratio = self.recalibration.observed_expected
        low, high = ratio.interval(prob)
        numbers = {"mean": ratio.mean(), "sd": ratio.sd(), "low": low, "high": high}
        numbers["observed"] = event_rate / self.mean_risk if self.mean_risk > 0 else nan
        yield _record("calibration", "observed_expected", numbers, 1.0)
        for row in self.recalibration.table(prob):
            yield _record("calibration", row["quantity"], row, row["calibrated"])
        yield _record("calibration", "ece", ev.row("ece", prob), 0.0)
        for row in self.calibration_curve.table(prob):
            if row["quantity"] in ERRORS:
                yield _record("calibration", row["quantity"], row, 0.0)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings of the parts, each after the quantities that it concerns."""
        ev = self.evaluation
        of_auc = wording.reversed_event(ev.row("auc")) if hasattr(ev, "auc") else []
        of_parts = {
            # the table has no E90 of bins
            "ECE": [text for text in ev.remarks if text != rare_error(ev.counts)],
            "Intercept and slope": self.recalibration.remarks,
            "ICI, E50 and E90": self.calibration_curve.remarks,
        }
        # of the rows, which all parts share; `of_auc` says what a remark on the ECE says of the AUC
        of_rows = row_remarks(ev.counts)
        others = (f"{words}: {text}" for words, texts in of_parts.items() for text in texts if text not in of_rows)
        return (*(text for text in of_rows if not (of_auc and text.startswith("The AUC"))), *of_auc, *others)


@public
@dataclass(frozen=True, eq=False, repr=False)
class ClinicalSummary(HasDecisionCurve, _presented.Presented):
    """Discrimination, calibration and clinical utility of one or several risk models, with 95 % intervals.

    Returned by `bayescal.clinical.summary`; printing it shows a sentence and the table. ``summary[name]`` has the
    results of a model, of which the summary shows numbers; with one model, they are attributes of the summary.

    Parameters
    ----------
    parts : dict of str to ModelParts
        The results of each model.
    net_benefit : NetBenefit or None
        Net benefit of all models at the thresholds; None without thresholds.
    decision_curve : NetBenefit
        Net benefit at the thresholds of a picture.
    n_rows, n_events : int
        Numbers of rows and of events; rows of weight 0 do not count.
    event_rate : float
        Share of events, weighted if there are weights.

    Examples
    --------
    >>> cancer = bc.datasets.load_breast_cancer()
    >>> summary = bc.clinical.summary(cancer.y_true, cancer.y_prob, [0.1], rng=1)
    >>> summary.models
    ('naive_bayes', 'logistic_regression', 'random_forest')
    >>> round(summary["random_forest"].evaluation.auc.mean(), 2)
    0.99
    """

    parts: dict[str, ModelParts]
    net_benefit: NetBenefit | None
    decision_curve: NetBenefit
    n_rows: int
    n_events: int
    event_rate: float

    _index = ("model", "quantity")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.parts)

    def __getitem__(self, model: str) -> ModelParts:
        """Return the results of a model."""
        if model not in self.parts:
            known = list(self.models)
            hint = _checks.did_you_mean(str(model), known) or " Numbers are in `to_frame()` and `table()`."
            raise KeyError(f"there is no model {model!r}; models: {known}.{hint}")
        return self.parts[model]

    def _only(self, name: str) -> ModelParts:
        if len(self.parts) > 1:
            first = self.models[0]
            raise ValueError(f"the summary has {len(self.parts)} models: name one, as in `summary[{first!r}].{name}`.")
        return self.parts[self.models[0]]

    @property
    def counts(self) -> Counts:
        """Counts of the rows by bin of the first model."""
        return self.parts[self.models[0]].evaluation.counts

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the only model, with AUC, Brier score and ECE."""
        return self._only("evaluation").evaluation

    @property
    def recalibration(self) -> Recalibration:
        """Intercept, slope and calibration in the large of the only model."""
        return self._only("recalibration").recalibration

    @property
    def calibration_curve(self) -> CalibrationCurve:
        """The calibration curve of the only model."""
        return self._only("calibration_curve").calibration_curve

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per model and quantity.

        Keys are model, item ("discrimination", "overall", "calibration" or "clinical utility"), quantity, threshold
        (NaN except for the clinical utility), mean, sd, low, high (NaN for the mean predicted risk), observed (the
        value of the rows themselves, of AUC, Brier scores, observed / expected events and net benefit; else NaN), ideal
        (the value of perfect predictions, or of calibrated ones for measures of calibration; NaN for treat all) and
        p_useful (NaN except for the net benefit of a model at a threshold with enough rows on both sides, see
        `NetBenefit.few_rows`).
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for name, parts in self.parts.items():
            rows += [
                {"model": name, **row} for row in (*parts.records(prob, self.event_rate), *self._utility(name, prob))
            ]
        return rows

    def _utility(self, model: str, prob: float) -> Iterator[dict[str, Any]]:
        """Return the net benefit of a model and of treating all at each threshold."""
        nb = self.net_benefit
        if nb is None:
            return
        treat_all = nb.treat_all_table(prob)
        for i, row in enumerate(each for each in nb.table(prob) if each["model"] == model):
            at, useful = row["threshold"], nan if nb.few_rows[model][i] else row["p_useful"]
            yield _record("clinical utility", "net_benefit", row, self.event_rate, threshold=at, p_useful=useful)
            yield _record("clinical utility", "treat_all", treat_all[i], nan, threshold=at)

    def _labelled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add its threshold to the name of a quantity, so that it is unique."""
        return [
            row if isnan(row["threshold"]) else {**row, "quantity": f"{row['quantity']} at {row['threshold']:g}"}
            for row in rows
        ]

    def sentence(self, prob: float = 0.95) -> str:
        """Return the main numbers in words, as a paper reports them.

        The sentence has rows and events; for each of the first three models the AUC, mean predicted risk, observed /
        expected events and slope with their intervals; which of them differ from the values of calibrated risks; and
        the net benefit at the first threshold.
        """
        table, several = self.table(prob), len(self.parts) > 1
        rows, events = self._rows_and_events
        texts = [f"{rows} rows with {events.replace(' (', ' events (', 1)}."]
        for name in self.models[:SIDE_BY_SIDE]:
            of_model = [row for row in table if row["model"] == name]
            one_outcome = self.n_events in (0, self.n_rows)
            texts.append(
                wording.sentence_of(name if several else "", of_model, f"{100 * prob:g} %", one_outcome=one_outcome)
            )
        left_out = len(self.parts) - SIDE_BY_SIDE
        return " ".join([*texts, f"The table has {left_out} more."] if left_out > 0 else texts)

    @property
    def _rows_and_events(self) -> tuple[str, str]:
        counts = self.parts[self.models[0]].evaluation.counts
        rows = of_rows(self.n_rows, counts.effective_rows, weighted=counts.weighted)
        return rows, wording.of_events(self.n_events, self.event_rate, weighted=counts.weighted)

    @property
    def spec(self) -> str:
        """Rows, bins, models and priors, on one line."""
        first = self.parts[self.models[0]]
        counts, several = first.evaluation.counts, len(self.parts) > 1
        weighted = f" (weighted, effective N = {counts.effective_rows:.0f})" if counts.weighted else ""
        floor = first.recalibration.floor
        texts = [
            f"clinical summary{f' of {len(self.parts)} models' if several else ''}, N = {self.n_rows}{weighted}",
            f"AUC, Brier score and ECE: {counts.bins}, {first.evaluation.model} model",
            f"intercept and slope: {first.recalibration.posterior.prior}"
            + ("" if floor is None else f", probabilities at least {floor:g} from 0 and 1"),
        ]
        prior = first.calibration_curve.posterior.prior
        texts.append(f"ICI, E50 and E90: calibration curve{f', {prior}' if prior else ''}")
        if self.net_benefit is not None:
            texts.append(f"net benefit: {self.net_benefit.posterior.prior}")
        return "; ".join(texts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings of all parts, each once, and measures that the table leaves out."""
        of_models = {_render.name(name): parts.remarks for name, parts in self.parts.items()}
        several = len(self.parts) > 1
        texts = of_several(of_models) if several else [text for each in of_models.values() for text in each]
        first = self.parts[self.models[0]]
        if not hasattr(first.evaluation, "auc"):
            texts.append(wording.one_outcome(self.n_rows, self.n_events))
        texts += wording.few_events(self.n_rows, self.n_events)
        if self.net_benefit is None:
            texts.append(wording.NO_THRESHOLDS)
        else:
            texts += remarks_of(self.net_benefit.counts)
        return (*texts, wording.SHARED) if several else tuple(texts)

    @property
    def _key(self) -> str:
        """Meaning of the rows of the table."""
        nb = self.net_benefit
        return wording.KEY if nb is None or not any(map(any, nb.few_rows.values())) else f"{wording.KEY} {wording.DASH}"

    def _caption(self, sheet: _render.Sheet) -> str:
        """Return the default caption of the LaTeX table."""
        rows, events = self._rows_and_events
        return (
            f"Discrimination, calibration and clinical utility in {rows} rows with "
            f"{events.replace(' (', ' events (', 1)}."
        )

    def sheet(self, *, whole: bool = False, width: int = 100) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows.

        Parameters
        ----------
        whole : bool, default False
            Whether up to three models stand side by side also if the table is then wider than `width`.
        width : int, default 100
            Characters per line.
        """
        blocks = {name: self.cells(name) for name in self.models}
        rows, events = self._rows_and_events
        counts = [["rows", rows], ["events", events]]
        remarks, notes = self.remarks, (self._key,)
        if 1 < len(blocks) <= SIDE_BY_SIDE:
            heads = ("", *(_render.cut(_render.name(name), wording.LONGEST_HEAD) for name in self.models), "ideal")
            cells = [*([row[0], *row[1:] * len(blocks), ""] for row in counts), *wording.beside(list(blocks.values()))]
            if whole or wording.fits(heads, cells, width):
                return _render.Sheet(self.sentence(), self.spec, heads, cells, remarks, notes)
        cells = wording.padded(counts, len(HEADER))
        for name, block in blocks.items():
            cells += [*wording.padded([[name]] if len(blocks) > 1 else [], len(HEADER)), *block]
        if whole or wording.fits(HEADER, cells, width):
            return _render.Sheet(self.sentence(), self.spec, HEADER, cells, remarks, notes)
        return _render.Sheet(
            self.sentence(), self.spec, (*HEADER[:-2], HEADER[-1]), wording.observed_below(cells), remarks, notes
        )

    def cells(self, model: str) -> list[list[str]]:
        """Return the table of one model as text: name, mean, ends of the 95 % interval, observed and ideal value."""
        return wording.cells_of([row for row in self.table() if row["model"] == model])


HEADER = ("", "mean", "2.5 %", "97.5 %", "observed", "ideal")  #: Titles of the table of one model.


def _record(
    item: str, quantity: str, row: Mapping[str, Any], ideal: float, *, threshold: float = nan, p_useful: float = nan
) -> dict[str, Any]:
    numbers = {key: float(row.get(key, nan)) for key in ("mean", "sd", "low", "high", "observed")}
    head = {"item": item, "quantity": quantity, "threshold": threshold}
    return {**head, **numbers, "ideal": ideal, "p_useful": p_useful}
