"""List every interval that the package prints, with its measured coverage; write
docs/explanation/what_was_measured.md: the last part of `make coverage`. It measures nothing and reads the stored
numbers of the other scripts. With --quick, nothing is written.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from imputed import MIXTURES
from monitoring import SEQUENCE_COLUMNS
from pages import fill, table
from studies import accuracies, small_sets

DOCS = Path(__file__).resolve().parents[1]
PAGE, COMMAND = DOCS / "explanation" / "what_was_measured.md", "make coverage"
Row = dict[str, Any]
#: Values that a column of a row may have.
Values = str | tuple[Any, ...]

#: An interval is weak in a study if its mean coverage or its least coverage is below these.
WEAK_MEAN, WEAK_WORST = 0.93, 0.85
#: Cells with fewer data sets in which the quantity is defined are left out.
LEAST_SETS = 10
#: Scripts whose stored numbers have another name.
SCRIPTS = {"coverage": "intervals"}
#: Pages of the studies whose page has another name.
PAGES = {
    "errors": "coverage_other_errors",
    "differences": "comparing",
    "cumulative_coverage": "cumulative_posterior",
    "subpopulation_coverage": "cumulative_posterior",
    "subpopulation_posterior": "cumulative_posterior",
    "net_benefit_clusters": "net_benefit",
    "imputed": "recalibration",
    "survival_comparison": "survival",
    "survival_weak": "survival",
    "survival_clusters": "survival",
    "survival_measures": "survival",
    "clinical_clusters": "clusters",
    "label_shift": "shift",
    "pooling": "partial_pooling",
    "subgroups": "partial_pooling",
    "new_centre": "recalibration",
    "classwise_means": "classwise",
    "classwise_pooled": "classwise",
    "bin_sensitivity": "choice_of_bins",
    "judged": "judge",
}


@dataclass(frozen=True)
class Study:
    """Rows of a study that are about one interval of the package.

    Parameters
    ----------
    name : str
        Name of the file in docs/_static.
    where : mapping of str to str or tuple
        Columns of the chosen rows, and the values that they have; of a pair of values, one of them.
    parts : tuple of str, default ("rows",)
        Lists of the file.
    share : callable, optional
        Coverage of a row; by default the column ``coverage`` or, where a cell was measured again, ``again``.
    worst : callable, optional
        Least coverage of a row, if it stands for many cells; by default `share`.
    about : str
        What is special about these rows.
    columns : tuple of str
        Columns of lists that are stored without them.
    """

    name: str
    where: Mapping[str, Values] = field(default_factory=dict)
    parts: tuple[str, ...] = ("rows",)
    share: Callable[[Row], float] = lambda row: row["coverage"] if row.get("again") is None else row["again"]
    worst: Callable[[Row], float] | None = None
    about: str = ""
    columns: tuple[str, ...] = ()

    def coverages(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Coverage of every cell."""
        return self._finite(self.share)

    def least(self) -> float:
        """Least coverage of all cells."""
        return float(self._finite(self.worst or self.share).min())

    def _finite(self, value: Callable[[Row], float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        values = np.array([value(row) for row in self._rows()], dtype=np.float64)
        return values[np.isfinite(values)]

    def _rows(self) -> Iterator[Row]:
        numbers = numbers_of(self.name)
        for part in self.parts:
            for stored in numbers.get(part, []):
                row = (
                    stored
                    if isinstance(stored, dict)
                    else dict(zip(self._columns(part, len(stored)), stored, strict=True))
                )
                chosen = all(row[key] in (v if isinstance(v, tuple) else (v,)) for key, v in self.where.items())
                if chosen and row.get("repeats", LEAST_SETS) >= LEAST_SETS:
                    yield row

    def _columns(self, part: str, width: int) -> tuple[str, ...]:
        """Return the columns of a part: those of its name, or else the first that have its width."""
        numbers = numbers_of(self.name)
        named = (f"{part}_columns", "columns", *(key for key in numbers if key.endswith("_columns")))
        every = (tuple(numbers[key]) for key in named if key in numbers)
        return self.columns or next(columns for columns in every if len(columns) == width)


@cache
def numbers_of(name: str) -> dict[str, Any]:
    """Return the stored numbers of a study."""
    numbers: dict[str, Any] = json.loads((DOCS / "_static" / f"{name}.json").read_text(encoding="utf-8"))
    return numbers


@dataclass(frozen=True)
class Interval:
    """An interval that the package prints, and the studies that measured it.

    Parameters
    ----------
    words : str
        Its quantity.
    prints : tuple of str
        Names under which it is printed: registered estimands, quantities of the index, and classes of results.
    studies : tuple of Study
        Studies; none if it has not been measured.
    reason : str
        Why it has not been measured, or what follows from another interval.
    """

    words: str
    prints: tuple[str, ...]
    studies: tuple[Study, ...] = ()
    reason: str = ""


def _populations(quantity: str, about: str = "") -> Study:
    parts = ("errors", "logits", "cumulative", "curve", "decisions", "pairs", "groups", "classes")
    return Study("populations", {"quantity": quantity, "method": "bayescal"}, parts, about=about)


def _errors(estimand: str, about: str = "") -> Study:
    return Study("errors", {"estimand": estimand, "method": "shrinkage"}, about=about)


def _clusters(quantity: str) -> Study:
    parts = ("one_sided",) if quantity in ("overconfidence", "underconfidence") else ("cells", "few")
    return Study("clusters", {"quantity": quantity, "method": "bayescal"}, parts, about="rows in clusters")


def _in_clusters(quantity: str) -> Study:
    where = {"quantity": quantity, "method": "bayescal, cluster="}
    return Study("net_benefit_clusters", where, about="rows in clusters")


def _multiclass(score: str) -> Study:
    where = {"method": f"difference of multi-class {score}s: compare_scores"}
    return Study("decompositions", where, about=score)


def _survival(quantity: str) -> Study:
    return Study("survival", {"quantity": quantity, "method": "bayescal"}, about="right-censored rows")


def _measure(*quantities: str) -> Study:
    return Study("survival_measures", {"quantity": quantities, "method": "bayescal"}, about="right-censored rows")


def _of_clusters(quantity: str) -> Study:
    where = {"quantity": quantity, "method": "bayescal"}
    return Study("clinical_clusters", where, about="rows in clusters")


def _survival_clusters(quantity: str) -> Study:
    where = {"quantity": quantity, "method": "evaluate_survival"}
    return Study("survival_clusters", where, about="right-censored rows in clusters")


def _covariate(quantity: str) -> tuple[Study, ...]:
    plain, squares = "logistic regression", "logistic regression with squares"
    return tuple(
        Study("covariate_shift", {"quantity": quantity, "part": part, "method": method}, about=about)
        for part, method, about in (
            ("linear", plain, "estimated weights"),
            ("quadratic", squares, "estimated weights, with squares"),
            ("quadratic", plain, "estimated weights of the wrong family"),
        )
    )


def _accuracies(part: str) -> tuple[Study, ...]:
    designs = {
        "": (accuracies.INDEPENDENT, accuracies.THREE),
        "weighted rows": (accuracies.WEIGHTED, accuracies.BY_CONFIDENCE),
        "rows in clusters": tuple(accuracies.CLUSTERS),
    }
    return tuple(Study("scores", {"method": methods}, (part,), about=about) for about, methods in designs.items())


def _recalibration(quantity: str) -> Study:
    return Study("recalibration", {"quantity": quantity, "method": "weak"})


def _new_centre(quantity: str, of: str) -> Study:
    where = {"quantity": quantity, "of": of, "method": "two effects"}
    return Study("new_centre", where, about="a new centre" if of == "new" else "the mean centre")


def _subgroups(quantity: str) -> tuple[Study, ...]:
    methods = ("each alone", "pooled")
    return tuple(Study("subgroups", {"quantity": quantity, "method": method}, about=method) for method in methods)


def _curve(quantity: str) -> Study:
    return Study("calibration_curve", {"quantity": quantity, "method": "curve"}, ("300", "2000", "100"))


def _small(*quantities: str) -> Study:
    where = {"quantity": quantities, "method": small_sets.OURS}
    return Study("calibration_curve", where, ("small",), about="40 or 80 rows", columns=small_sets.COLUMNS)


_EXACT = Study(
    "saturated",
    {"method": "bayescal"},
    ("exact",),
    share=lambda row: row["mean"],
    worst=lambda row: row["worst"],
    about="all confidences 0 or 1, exact",
)
_SEQUENCES = Study(
    "monitoring",
    {"method": "confidence sequence"},
    ("sequences",),
    share=lambda row: 1 - row["missed"],
    about="at all times at once",
    columns=tuple(SEQUENCE_COLUMNS),
)

_DEPENDENT = "errors that depend on the confidence"
INTERVALS = (
    Interval(
        "ECE",
        ("ece", "Evaluation", "ModelSensitivity"),
        (
            Study("coverage", {"method": "shrinkage"}),
            Study("hostile", {"method": "shrinkage"}, about="difficult populations"),
            _populations("ece"),
            _EXACT,
            Study("saturated", {"kind": "hard predictions"}, ("simulated",), about="predictions 0 and 1"),
            _clusters("ece"),
        ),
    ),
    Interval("l_2 error", ("l2_error",), (_errors("l2_error"), _populations("l2_error"), _clusters("l2_error"))),
    Interval("squared l_2 error", ("squared_l2_error",), reason="the square of the l_2 error, so of the same coverage"),
    Interval("E90 of bins", ("e90_bins",), (_errors("e90_bins"), _populations("e90_bins"), _clusters("e90_bins"))),
    Interval(
        "signed error",
        ("signed_error",),
        (_errors("signed_error"), _populations("signed_error"), _clusters("signed_error")),
    ),
    Interval(
        "over-confidence",
        ("overconfidence",),
        (_errors("overconfidence"), _populations("overconfidence"), _clusters("overconfidence")),
    ),
    Interval(
        "under-confidence",
        ("underconfidence",),
        (_errors("underconfidence"), _populations("underconfidence"), _clusters("underconfidence")),
    ),
    Interval(
        "Brier score",
        ("brier_score",),
        (Study("scores", {"method": "bayescal"}, ("scores",)), _populations("brier_score"), _clusters("brier_score")),
    ),
    Interval(
        "scaled Brier score", ("scaled_brier_score",), (Study("scores", {"method": "bayescal"}, ("scaled_scores",)),)
    ),
    Interval(
        "log score",
        ("log_score",),
        (Study("scores", {"method": "bayescal"}, ("log_scores",)), _populations("log_score"), _clusters("log_score")),
    ),
    Interval("accuracy", ("accuracy",), _accuracies("accuracies")),
    Interval(
        "AUC",
        ("auc",),
        (
            Study("auc", {"method": "bayescal"}, ("areas",)),
            Study("auc", {"method": "bayescal, counts in 15 bins"}, ("areas",), about="from counts in 15 bins"),
            _populations("auc"),
            _clusters("auc"),
        ),
    ),
    Interval("l_p error", ("l_p error",), (_errors("l4_error", "p = 4"), _errors("mce", "largest error of any bin"))),
    Interval(
        "ECE averaged over choices of bins", ("BinSensitivity",), (Study("bin_sensitivity", {"method": "mixture"}),)
    ),
    Interval(
        "regret of a threshold",
        ("regret of a threshold",),
        (Study("net_benefit", {"quantity": "regret", "method": "bayescal"}, ("regret",)),),
    ),
    *(
        Interval(
            words,
            (printed,),
            (Study("selective", {"quantity": words, "method": "bayescal"}, ("simulated", "populations", "special")),),
        )
        for words, printed in (
            ("AUGRC", "augrc"),
            ("selective risk", "selective risk"),
            ("largest share", "largest share at a risk"),
        )
    ),
    *(
        Interval(
            words,
            names,
            (Study("truthful", {"quantity": words, "method": "bayescal"}, ("simulated", "populations")),),
        )
        for words, names in (
            ("averaged two-bin error", ("atb",)),
            ("largest regret", ("largest_regret", "WorstRegret")),
        )
    ),
    Interval("ECE of the k most probable classes", ("TopK",), (Study("truthful", {"method": "bayescal"}, ("top_k",)),)),
    Interval(
        "pointwise band of the selective risk",
        ("SelectivePrediction",),
        (
            Study(
                "selective",
                {"method": "bayescal, pointwise"},
                ("curves",),
                share=lambda row: row["mean"],
                worst=lambda row: row["least"],
                about="mean over shares, and the worst one",
            ),
        ),
    ),
    Interval(
        "simultaneous band of the selective risk",
        (),
        (Study("selective", {"method": "bayescal, simultaneous"}, ("curves",), share=lambda row: row["whole"]),),
    ),
    *(
        Interval(
            f"difference of {words}",
            (),
            (Study("selective", {"quantity": f"difference of {words}", "method": "bayescal"}, ("differences",)),),
        )
        for words in ("selective risks", "AUGRCs")
    ),
    Interval(
        "confidence for a risk",
        (),
        reason="the page [selective prediction](selective.md) measures how often the promise is held",
    ),
    Interval(
        "observed / expected",
        ("Recalibration", "GroupedRecalibration", "ClinicalSummary"),
        (
            _recalibration("O/E"),
            _populations("observed_expected"),
        ),
    ),
    *(
        Interval(
            f"{words} of imputed predictions",
            prints,
            tuple(Study("imputed", {"quantity": words, "method": method}, about=method) for method in MIXTURES),
        )
        for words, prints in {
            "slope": ("ImputedRecalibration",),
            "in the large": (),
            "O/E": (),
            "AUC": ("ImputedEvaluation",),
            "Brier score": (),
            "net benefit": ("ImputedNetBenefit", "ImputedSummary"),
        }.items()
    ),
    Interval(
        "ICI of imputed predictions",
        ("ImputedCurve",),
        reason="a mixture as those of the other quantities; a study would need 20 curves per data set",
    ),
    Interval(
        "calibration in the large",
        ("in_the_large",),
        (_recalibration("in the large"), _populations("in_the_large"), _of_clusters("in the large")),
    ),
    Interval(
        "calibration intercept",
        ("intercept",),
        (_recalibration("intercept"), _small("intercept"), _populations("intercept")),
    ),
    Interval(
        "calibration slope",
        ("slope",),
        (_recalibration("slope"), _small("slope"), _populations("slope"), _of_clusters("slope")),
    ),
    Interval(
        "ICI of the calibration curve",
        ("ici", "CalibrationCurve"),
        (_curve("ici"), _small("ici"), _populations("ici"), _of_clusters("ICI")),
    ),
    Interval("E50 of the calibration curve", ("e50",), (_curve("e50"), _small("e50"), _populations("e50"))),
    Interval("E90 of the calibration curve", ("e90",), (_curve("e90"), _small("e90"), _populations("e90"))),
    Interval("Emax of the calibration curve", ("emax",), (_curve("emax"), _populations("emax"))),
    Interval(
        "pointwise band of the calibration curve",
        (),
        (_small(*small_sets.RATES), _populations("band"), _of_clusters("curve")),
    ),
    Interval(
        "Kuiper statistic",
        ("Kuiper statistic", "CumulativePosterior", "CurvePosterior"),
        (
            Study("cumulative_coverage", {"quantity": "Kuiper", "method": "pooled"}),
            _populations("kuiper"),
        ),
    ),
    Interval(
        "Kolmogorov-Smirnov statistic",
        ("Kolmogorov-Smirnov statistic",),
        (
            Study("cumulative_coverage", {"quantity": "Kolmogorov-Smirnov", "method": "pooled"}),
            _populations("kolmogorov_smirnov"),
        ),
    ),
    Interval("band of the cumulative difference", (), (Study("cumulative_coverage", {"method": "simultaneous band"}),)),
    Interval(
        "subpopulation difference",
        ("subpopulation difference", "SubpopulationDifference"),
        (
            Study("subpopulation_coverage", share=lambda row: row["interval"]),
            Study("subpopulation_coverage", share=lambda row: row["band"], about="band"),
        ),
    ),
    Interval(
        "posterior of subpopulations",
        ("SubpopulationPosterior", "SubpopulationComparison"),
        (Study("subpopulation_posterior", {"method": "pooled"}),),
    ),
    Interval("number of rows for c_emp", ("number of rows for c_emp",), reason="a bound of Massart, not an estimate"),
    Interval(
        "net benefit",
        ("net benefit", "NetBenefit", "GroupedNetBenefit", "OfGroups"),
        (
            Study("net_benefit", {"quantity": "net benefit", "method": "bayescal"}),
            _populations("net_benefit"),
            _in_clusters("net benefit"),
        ),
    ),
    Interval(
        "difference of net benefits",
        (),
        (
            Study("net_benefit", {"quantity": "difference", "method": "bayescal"}),
            _populations("net_benefit_difference"),
            _in_clusters("difference"),
        ),
    ),
    Interval(
        "standardized net benefit and interventions avoided",
        ("standardized net benefit", "net interventions avoided"),
        reason="from the same draws as the net benefit: a ratio to the event rate, and a multiple of a difference",
    ),
    Interval(
        "expected value of perfect information",
        ("expected value of perfect information",),
        reason="one number of the posterior, printed without an interval",
    ),
    Interval(
        "loss ratio",
        ("loss ratio", "LossRatio"),
        (
            Study(
                "loss_ratio",
                {"method": "bayescal"},
                ("coverage",),
                share=lambda row: row["inside"] if row["cases"] >= LEAST_SETS else float("nan"),
                about="by the number of changed decisions",
            ),
            _populations("loss_ratio", "at one threshold"),
            _populations("mean_loss_ratio", "mean over thresholds"),
        ),
    ),
    Interval(
        "difference of ECEs, paired",
        ("difference of two classifiers", "Comparison", "Compared"),
        (
            Study("differences", {"method": "paired"}),
            _populations("ece_difference"),
            Study("saturated", {"kind": "compare, hard predictions"}, ("simulated",), about="predictions 0 and 1"),
            Study("clusters", {"quantity": "ece", "method": "bayescal"}, ("paired",), about="rows in clusters"),
        ),
    ),
    Interval("difference of ECEs of different rows", ("Change",), (Study("differences", {"method": "unpaired"}),)),
    Interval(
        "difference of Brier scores",
        (),
        (
            Study("scores", {"method": "same rows"}, ("differences",)),
            _populations("brier_difference"),
            Study("clusters", {"quantity": "brier_score", "method": "bayescal"}, ("paired",), about="rows in clusters"),
        ),
    ),
    Interval(
        "difference of scaled Brier scores", (), (Study("scores", {"method": "same rows"}, ("scaled_differences",)),)
    ),
    Interval("difference of log scores", (), (Study("scores", {"method": "same rows"}, ("log_differences",)),)),
    Interval("difference of accuracies", (), _accuracies("accuracy_differences")),
    Interval("difference of AUCs", (), (Study("auc", {"method": "bayescal"}, ("differences",)),)),
    Interval(
        "ECE of groups, partial pooling",
        ("GroupedEvaluation", "Evaluations"),
        (
            Study("pooling", {"method": "partial pooling"}),
            _populations("group_ece"),
        ),
    ),
    Interval(
        "classwise ECE",
        ("classwise ECE", "ClasswiseEvaluation"),
        (
            Study("classwise", {"method": "default"}),
            Study("classwise_means", {"method": "mean"}),
            _populations("classwise_ece"),
        ),
    ),
    Interval(
        "marginal error",
        ("marginal error",),
        (
            Study("classwise_means", {"method": "marginal"}),
            _populations("marginal_error"),
        ),
    ),
    Interval(
        "root mean square over classes",
        ("root mean square over classes",),
        (
            Study("classwise_means", {"method": "rms"}),
            _populations("rms_error"),
        ),
    ),
    Interval(
        "marginal calibration error",
        ("marginal calibration error",),
        (Study("classwise_pooled", {"method": "squared"}, about="squared"),),
    ),
    Interval(
        "pooled calibration error",
        ("pooled calibration error",),
        (
            Study("classwise_pooled", {"method": "pooled"}),
            Study("classwise_pooled", {"method": "pooled_l2"}, about="l_2 error"),
        ),
    ),
    Interval("top-label ECE", (), (_populations("top_label_ece"),)),
    Interval(
        "multi-class Brier score",
        ("multi-class Brier score", "MultiClassScore"),
        (Study("decompositions", {"method": "multi-class Brier score: as offered"}),),
    ),
    Interval(
        "multi-class log score",
        ("multi-class log score",),
        (Study("decompositions", {"method": "multi-class log score: as offered"}),),
    ),
    Interval(
        "difference of multi-class scores",
        ("difference of multi-class scores", "ScoreComparison"),
        (
            _multiclass("Brier score"),
            _multiclass("log score"),
        ),
    ),
    Interval(
        "reliability of the Murphy decomposition",
        ("MurphyDecomposition", "CorpDecomposition"),
        (Study("decompositions", {"method": "reliability: as offered"}),),
    ),
    Interval(
        "mean difference over data sets",
        ("mean difference over data sets", "ComparisonOverDatasets"),
        (Study("several_data_sets", share=lambda row: row["fixed"]),),
    ),
    Interval(
        "difference over a population of data sets",
        ("difference over a population of data sets",),
        (
            Study("several_data_sets", share=lambda row: row["population"], about="mean of the population"),
            Study("several_data_sets", share=lambda row: row["new"], about="a new data set"),
        ),
    ),
    *(
        Interval(
            f"new centre: {words}",
            prints,
            tuple(_new_centre(quantity, of) for of in ("new", "mean") if (quantity, of) != ("ECE", "mean")),
        )
        for quantity, words, prints in (
            ("slope", "slope", ("NewCentre",)),
            ("intercept", "intercept", ()),
            ("O/E", "observed / expected", ()),
            ("ECE", "ECE of the line", ()),
            ("curve", "band of the line", ()),
        )
    ),
    *(
        Interval(f"difference of subgroups: {quantity}", prints, _subgroups(quantity))
        for quantity, prints in (
            ("AUC", ("GroupedClinicalSummary",)),
            ("Brier score", ()),
            ("O/E", ()),
            ("in the large", ()),
            ("slope", ()),
        )
    ),
    Interval(
        "mean rank over data sets",
        ("mean rank over data sets",),
        reason="ranks of the same draws as the differences; the true ranks of equal classifiers are not defined",
    ),
    Interval(
        "ECE at a horizon",
        ("SurvivalEvaluation", "SurvivalHorizons"),
        (
            _survival("ece"),
            Study("survival_weak", {"method": ("censored", "weights")}, about="small groups, weights, small waves"),
            _survival_clusters("ece"),
            Study("saturated", {"kind": "survival, risks 0, censored"}, ("simulated",), about="risks 0"),
        ),
    ),
    Interval("signed error at a horizon", (), (_survival_clusters("signed_error"),)),
    Interval(
        "observed / expected at a horizon",
        (),
        (
            _survival("observed_expected"),
            _survival_clusters("observed_expected"),
        ),
    ),
    Interval("Brier score at a horizon", (), (_survival("brier_score"), _survival_clusters("brier_score"))),
    Interval("AUC at a horizon", (), (_survival("auc"), _survival_clusters("auc"))),
    *(
        Interval(f"{words} at a horizon", prints, (_measure(*quantities),))
        for words, prints, quantities in (
            ("intercept and slope", ("SurvivalRecalibration",), ("intercept", "slope")),
            ("net benefit", ("SurvivalNetBenefit",), tuple(f"net benefit at {t}" for t in (0.1, 0.3, 0.6))),
        )
    ),
    *(
        Interval(
            f"difference at a horizon: {words}",
            prints,
            (Study("survival_comparison", {"quantity": quantity, "method": "compare_survival"}),),
        )
        for quantity, words, prints in (
            ("ece", "ECE", ("SurvivalComparison",)),
            ("observed_expected", "observed / expected", ()),
            ("brier_score", "Brier score", ()),
            ("auc", "AUC", ()),
        )
    ),
    Interval(
        "class frequencies of a target without labels",
        ("ClassPriors",),
        (
            Study("label_shift", {"method": "cells"}, ("two", "priors"), about="from cells"),
            Study("label_shift", {"method": "probabilities"}, ("two", "priors"), about="from probabilities"),
        ),
    ),
    Interval(
        "ECE under label shift",
        ("LabelShiftEvaluation", "LabelShiftClasses"),
        (Study("label_shift", {"method": "pooled over frequencies"}, ("event", "classes", "sizes")),),
    ),
    Interval(
        "distance between source and target", ("ShiftEvidence",), (Study("covariate_shift", parts=("evidence",)),)
    ),
    *(
        Interval(f"under covariate shift: {words}", prints, _covariate(quantity))
        for quantity, words, prints in (
            ("ece", "ECE", ("CovariateShiftEvaluation",)),
            ("signed_error", "signed error", ()),
            ("brier_score", "Brier score", ()),
            ("auc", "AUC", ()),
        )
    ),
    *(
        Interval(
            f"{words} from a judge's labels",
            ("JudgedEvaluation", "JudgeReport") if quantity == "ece" else (),
            (
                Study("judged", {"quantity": quantity, "method": "bayescal"}, ("judged", "further")),
                Study("judged", {"quantity": quantity, "method": "bayescal"}, ("dependent",), about=_DEPENDENT),
            ),
        )
        for quantity, words in (
            ("ece", "ECE"),
            ("signed_error", "signed error"),
            ("accuracy", "accuracy"),
            ("brier_score", "Brier score"),
        )
    ),
    *(
        Interval(
            f"difference of the {words} of two classifiers from labels of one judge",
            ("JudgedComparison",) if quantity == "ece" else (),
            (Study("judged", {"quantity": quantity, "method": "bayescal"}, ("differences",)),),
        )
        for quantity, words in (("ece", "ECE"), ("signed_error", "signed error"), ("brier_score", "Brier score"))
    ),
    Interval(
        "sensitivity and specificity of a judge",
        (),
        (
            Study(
                "judged",
                {"quantity": ("sensitivity", "specificity"), "method": "bayescal"},
                ("judged", "further"),
            ),
        ),
    ),
    Interval(
        "width of the interval after planned checks",
        ("CheckPlan",),
        reason="the page [labels of a judge](judge.md) has predicted and reached widths",
    ),
    Interval(
        "ECE of all rows from known outcomes",
        ("PartlyObservedEvaluation", "PartlyObservedBand"),
        reason="the page [partly observed outcomes](partly_observed.md) measures it under each assumption",
    ),
    Interval(
        "number of rows of a plan",
        ("Plan",),
        reason="the page [plans](plans.md) measures how often a study of that size meets its goal",
    ),
    Interval(
        "number of rows of a validation, without a pilot",
        ("ValidationPlan",),
        reason="the page [plans](plans.md) measures how often studies of that size meet its goals",
    ),
    Interval("confidence sequence of the mean error", ("ConfidenceSequence", "CalibrationMonitor"), (_SEQUENCES,)),
)


def lines_of(interval: Interval) -> Iterator[list[Any]]:
    """Yield one line per study of an interval."""
    for i, study in enumerate(interval.studies):
        shares = study.coverages()
        about = f"; {study.about}" if study.about else ""
        page = PAGES.get(study.name, study.name)
        yield [
            interval.words if i == 0 else "",
            f"[{page}]({page}.md){about}",
            len(shares),
            f"{shares.mean():.3f}",
            f"{study.least():.2f}",
            "weak" if shares.mean() < WEAK_MEAN or study.least() < WEAK_WORST else "",
            f"`docs/make/{SCRIPTS.get(study.name, study.name)}.py`",
        ]


def tables() -> dict[str, str]:
    """Return the tables of the page by the name of their marker."""
    head = "Interval | Study | Cells: | Mean: | Worst: | Verdict | Command"
    every = [line for interval in INTERVALS for line in lines_of(interval)]
    weak = [[interval.words, *line[1:5]] for interval in INTERVALS for line in lines_of(interval) if line[5]]
    unmeasured = [[interval.words, interval.reason] for interval in INTERVALS if not interval.studies]
    return {
        "measured": table(head, every),
        "weak": table("Interval | Study | Cells: | Mean: | Worst:", weak),
        "unmeasured": table("Quantity | Why there is no study", unmeasured),
    }


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="make the tables, and write nothing")
    quick = parser.parse_args().quick
    made = tables()
    if not quick:
        fill(PAGE, COMMAND, made)


if __name__ == "__main__":
    main()
