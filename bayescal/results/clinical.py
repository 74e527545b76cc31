"""ClinicalSummary: discrimination, calibration and clinical utility of risk models in one table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayescal import _checks, _presented, _render
from bayescal.draws import Draws
from bayescal.results.calibration_curve import LEAST_ROWS, CalibrationCurve
from bayescal.results.evaluation import Evaluation
from bayescal.results.net_benefit import NetBenefit
from bayescal.results.net_benefit_words import of_draws, remarks_of
from bayescal.results.recalibration import Recalibration
from bayescal.results.remarks import of_several
from bayescal.stats.thresholds import UNNAMED

#: Words of the quantities in tables, in their order; thresholds follow those of the clinical utility.
WORDS = {
    "auc": "AUC (c-statistic)",
    "brier_score": "Brier score",
    "in_the_large": "calibration in the large",
    "intercept": "calibration intercept",
    "slope": "calibration slope",
    "ece": "ECE",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "net_benefit": "net benefit",
    "treat_all": "treating all",
}
#: Parts of the table: keys of quantities, and the value that the best predictions have.
OVERALL = {"auc": 1.0, "brier_score": 0.0}
ERRORS = ("ici", "e50", "e90")
#: Maximum number of models that stand side by side in the printed table.
SIDE_BY_SIDE = 3
#: Longest name of a model in the head of a column.
LONGEST_HEAD = 24
#: Decimals of all numbers, unless an interval is so narrow that it needs more.
DECIMALS = 3
#: Remark on models that share rows.
SHARED = (
    "All models are measured on the same rows: judge differences by `net_benefit.difference` and `compare`, not by "
    "whether intervals overlap."
)
#: Remark on a table without net benefit.
NO_THRESHOLDS = (
    "No net benefit: it needs `thresholds=`, the risks from which you would treat, as in `thresholds=[0.1, 0.2]`."
)


@dataclass(frozen=True)
class ModelParts:
    """The results of one model, of which the summary shows numbers.

    Parameters
    ----------
    evaluation : Evaluation
        AUC, Brier score and ECE.
    recalibration : Recalibration
        Calibration intercept and slope, and calibration in the large.
    calibration_curve : CalibrationCurve or None
        ICI, E50 and E90; None with fewer than 100 (effective) rows.
    """

    evaluation: Evaluation
    recalibration: Recalibration
    calibration_curve: CalibrationCurve | None

    def records(self, prob: float) -> Iterator[dict[str, Any]]:
        """Return the rows of discrimination, overall performance and calibration."""
        ev = self.evaluation
        for key, best in OVERALL.items():
            # rows of one outcome have no AUC
            if hasattr(ev, key):
                yield _record("discrimination" if key == "auc" else "overall", key, ev.row(key, prob), best)
        for row in self.recalibration.table(prob):
            yield _record("calibration", row["quantity"], row, row["calibrated"])
        yield _record("calibration", "ece", ev.row("ece", prob), 0.0)
        if self.calibration_curve is not None:
            for row in self.calibration_curve.table(prob):
                if row["quantity"] in ERRORS:
                    yield _record("calibration", row["quantity"], row, 0.0)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings of the parts, each after the quantities that it concerns."""
        curve = self.calibration_curve
        of_parts = {
            "ECE": self.evaluation.remarks,
            "Intercept and slope": self.recalibration.remarks,
            "ICI, E50 and E90": () if curve is None else curve.remarks,
        }
        return tuple(f"{words}: {text}" for words, texts in of_parts.items() for text in texts)


@dataclass(frozen=True, eq=False, repr=False)
class ClinicalSummary(_presented.Presented):
    """Discrimination, calibration and clinical utility of one or several risk models, with 95 % intervals.

    Returned by `clinical_summary`; printing it shows a sentence and the table. ``summary[name]`` has the results of a
    model, of which the summary shows numbers; with one model, they are attributes of the summary.

    Parameters
    ----------
    parts : dict of str to ModelParts
        The results of each model.
    net_benefit : NetBenefit or None
        Net benefit of all models at the thresholds; None without thresholds.
    decision_curve : NetBenefit
        Net benefit at the thresholds of a picture.
    n_rows, n_events : int
        Numbers of rows and of events.
    event_rate : float
        Share of events, weighted if there are weights.

    Examples
    --------
    >>> import bayescal as bc
    >>> cancer = bc.datasets.load_breast_cancer()
    >>> summary = bc.clinical_summary(cancer.y_true, cancer.y_prob, [0.1], rng=1)
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
            raise KeyError(f"there is no model {model!r}; models: {known}.{_checks.did_you_mean(str(model), known)}")
        return self.parts[model]

    def _only(self, name: str) -> ModelParts:
        if len(self.parts) > 1:
            first = self.models[0]
            raise ValueError(f"the summary has {len(self.parts)} models: name one, as in `summary[{first!r}].{name}`.")
        return self.parts[self.models[0]]

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the only model, with AUC, Brier score and ECE."""
        return self._only("evaluation").evaluation

    @property
    def recalibration(self) -> Recalibration:
        """Intercept, slope and calibration in the large of the only model."""
        return self._only("recalibration").recalibration

    @property
    def calibration_curve(self) -> CalibrationCurve | None:
        """The calibration curve of the only model; None with fewer than 100 (effective) rows."""
        return self._only("calibration_curve").calibration_curve

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per model and quantity.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.

        Returns
        -------
        list of dict
            Keys model, item ("discrimination", "overall", "calibration" or "clinical utility"), quantity, threshold
            (NaN except for the clinical utility), mean, sd, low, high, ideal (the value of perfect predictions, or of
            calibrated ones for measures of calibration; NaN for treating all) and p_useful (NaN except for the net
            benefit of a model at a threshold with enough rows on both sides, see `NetBenefit.few_rows`).

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1.
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for name, parts in self.parts.items():
            rows += [{"model": name, **row} for row in (*parts.records(prob), *self._utility(name, prob))]
        return rows

    def _utility(self, model: str, prob: float) -> Iterator[dict[str, Any]]:
        """Return the net benefit of a model and of treating all at each threshold."""
        nb = self.net_benefit
        if nb is None:
            return
        share = float(nb.prevalence_draws.mean())
        for i, row in enumerate(each for each in nb.table(prob) if each["model"] == model):
            at, useful = row["threshold"], math.nan if nb.few_rows[model][i] else row["p_useful"]
            yield _record("clinical utility", "net_benefit", row, share, threshold=at, p_useful=useful)
            all_treated = Draws(nb.treat_all.values[:, i])
            low, high = all_treated.interval(prob)
            numbers = {"mean": all_treated.mean(), "sd": all_treated.sd(), "low": low, "high": high}
            yield _record("clinical utility", "treat_all", numbers, math.nan, threshold=at)

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(prob, **options)

    @_render.printable
    def sentence(self, prob: float = 0.95) -> str:
        """The main numbers in words, as a paper reports them.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.

        Returns
        -------
        str
            Rows and events; of each model (of the first three) the AUC, calibration in the large and slope with their
            intervals, and the net benefit at the first threshold.
        """
        table, several = self.table(prob), len(self.parts) > 1
        texts = [f"{self.n_rows} rows with {self.n_events} events ({100 * self.event_rate:.1f} %)."]
        for name in self.models[:SIDE_BY_SIDE]:
            rows = [row for row in table if row["model"] == name]
            texts.append(_sentence(name if several else "", rows, f"{100 * prob:g} %"))
        return " ".join(texts)

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
        if first.calibration_curve is not None:
            prior = first.calibration_curve.posterior.prior
            texts.append(f"ICI, E50 and E90: smooth curve{f', {prior}' if prior else ''}")
        if self.net_benefit is not None:
            texts.append(f"net benefit: {self.net_benefit.posterior.prior}")
        return "; ".join(texts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings of all parts, each once, and what the table leaves out."""
        of_models = {_render.name(name): parts.remarks for name, parts in self.parts.items()}
        several = len(self.parts) > 1
        texts = of_several(of_models) if several else [text for each in of_models.values() for text in each]
        first = self.parts[self.models[0]]
        if not hasattr(first.evaluation, "auc"):
            texts.append("No AUC: all rows have the same outcome.")
        if first.calibration_curve is None:
            texts.append(f"No ICI, E50 and E90: a calibration curve needs at least {LEAST_ROWS} (effective) rows.")
        texts += [NO_THRESHOLDS] if self.net_benefit is None else remarks_of(self.net_benefit.counts)
        return (*texts, SHARED) if several else tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        blocks = {name: self.cells(name) for name in self.models}
        counts = [["rows", str(self.n_rows)], ["events", f"{self.n_events} ({100 * self.event_rate:.1f} %)"]]
        if len(blocks) == 1:
            rows = [*_padded(counts, 5), *blocks[self.models[0]]]
            return _render.Sheet(self.sentence(), self.spec, HEADER, rows, (*self.remarks, KEY))
        if len(blocks) <= SIDE_BY_SIDE:
            heads = [_render.cut(_render.name(name), LONGEST_HEAD) for name in self.models]
            rows = [*([row[0], *row[1:] * len(blocks), ""] for row in counts), *_beside(list(blocks.values()))]
            return _render.Sheet(self.sentence(), self.spec, ("", *heads, "ideal"), rows, (*self.remarks, KEY))
        rows = _padded(counts, 5)
        for name, block in blocks.items():
            rows += [*_padded([[name]], 5), *block]
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, (*self.remarks, KEY))

    def cells(self, model: str) -> list[list[str]]:
        """Return the table of one model as text: name, mean, ends of the 95 % interval, ideal value."""
        cells = []
        for row in self.table():
            if row["model"] != model:
                continue
            d = _decimals(row)
            numbers = [_render.number(row[key], d) for key in ("mean", "low", "high")]
            ideal = row["ideal"]
            shown = "" if math.isnan(ideal) else f"{ideal:g}" if ideal in (0.0, 1.0) else _render.number(ideal, d)
            cells.append([_words(row), *numbers, shown])
            if row["quantity"] == "net_benefit":
                useful = "-" if math.isnan(row["p_useful"]) else of_draws(row["p_useful"])
                cells.append([f"P(useful) at {row['threshold']:g}", useful, "", "", ""])
        return cells


#: Titles of the table of one model.
HEADER = ("", "mean", "2.5 %", "97.5 %", "ideal")
#: Meaning of the rows of the table.
KEY = (
    "Posterior means with 95 % credible intervals; ideal: the value of perfect predictions, or of calibrated ones for "
    "measures of calibration. P(useful): probability of a larger net benefit than treating all and treating none."
)


def _record(
    item: str,
    quantity: str,
    row: Mapping[str, Any],
    ideal: float,
    *,
    threshold: float = math.nan,
    p_useful: float = math.nan,
) -> dict[str, Any]:
    numbers = {key: float(row[key]) for key in ("mean", "sd", "low", "high")}
    head = {"item": item, "quantity": quantity, "threshold": threshold}
    return {**head, **numbers, "ideal": ideal, "p_useful": p_useful}


def _words(row: Mapping[str, Any]) -> str:
    at = "" if math.isnan(row["threshold"]) else f" at {row['threshold']:g}"
    return WORDS[row["quantity"]] + at


def _decimals(row: Mapping[str, Any]) -> int:
    return _render.decimals(row["high"] - row["low"], DECIMALS)


def _with_interval(row: Mapping[str, Any], level: str = "") -> str:
    mean, low, high = (_render.number(row[key], _decimals(row)) for key in ("mean", "low", "high"))
    return f"{mean} ({level}{low} to {high})"


def _padded(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    return [[*row, *[""] * (width - len(row))] for row in rows]


def _beside(blocks: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Join the tables of several models: one column per model, of means with intervals.

    Examples
    --------
    >>> _beside([[["AUC", "0.8", "0.7", "0.9", "1"]], [["AUC", "0.6", "0.5", "0.7", "1"]]])
    [['AUC', '0.8 (0.7, 0.9)', '0.6 (0.5, 0.7)', '1']]
    """
    return [
        [lines[0][0], *(f"{mean} ({low}, {high})" if low else mean for _, mean, low, high, _ in lines), lines[0][-1]]
        for lines in zip(*blocks, strict=True)
    ]


def _sentence(name: str, rows: Sequence[Mapping[str, Any]], level: str) -> str:
    """Return the main numbers of a model; the first interval names its probability."""
    found = {row["quantity"]: row for row in reversed(rows)}  # the first threshold is kept
    level, parts = f"{level} credible interval ", []
    for key, words in (("auc", "AUC"), ("in_the_large", WORDS["in_the_large"]), ("slope", WORDS["slope"])):
        if key in found:
            parts.append(f"{words} {_with_interval(found[key], level)}")
            level = ""
    text = ", ".join(parts)
    if "net_benefit" in found:
        row, treat_all = found["net_benefit"], found["treat_all"]
        text += (
            f"; at the threshold {row['threshold']:g}, net benefit {_with_interval(row)} against "
            f"{_render.number(treat_all['mean'], _decimals(row))} of treating all"
        )
        text += "" if math.isnan(row["p_useful"]) else f", P(useful) {of_draws(row['p_useful'])}"
    return f"{_render.name(name)}: {text}." if name and name != UNNAMED else f"{text[0].upper()}{text[1:]}."
