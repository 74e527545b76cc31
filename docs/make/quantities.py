"""Write the index of quantities, docs/reference/quantities.md: part of `make pictures`. With --quick, nothing is
written.

Registered estimands describe themselves. The other quantities, which are no function of the bins of one evaluation,
are listed here.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pages import fill, table

from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import registered

PAGE = Path(__file__).parents[1] / "reference" / "quantities.md"
COMMAND = "make pictures"
KUMAR = "Kumar, Liang and Ma (2019), NeurIPS"


@dataclass(frozen=True)
class Quantity:
    """A quantity: its name, other names, formula in LaTeX, how to get it, what it needs, its source, and its page."""

    name: str
    synonyms: tuple[str, ...]
    formula: str
    call: str
    needs: str
    source: str
    page: str

    @classmethod
    def of(cls, estimand: Estimand) -> "Quantity":
        """Describe a registered estimand."""
        name = estimand.title if estimand.title == estimand.symbol else f"{estimand.title} ({estimand.symbol})"
        call, needs, formula = f"ev.{estimand.name}", _needs(estimand), estimand.formula
        return cls(name, estimand.synonyms, formula, call, needs, estimand.citation, f"estimands.{estimand.name}")

    @property
    def cells(self) -> list[str]:
        """Cells of a row; bars in formulas would end a cell."""
        formula = f"${self.formula.replace('|', r'\vert ')}$" if self.formula else ""
        call = f"[`{self.call}`](#bayescal.{self.page})"
        return [self.name, ", ".join(self.synonyms), formula, call, self.needs, self.source]


def _needs(estimand: Estimand) -> str:
    """Counts contain everything but the order of the rows within a bin."""
    return "rows, or counts with the error of their grid" if "outcomes" in estimand.needs else "counts"


#: Quantities with an interval that belong to several classes or to a difference.
JOINT = (
    Quantity(
        "classwise ECE",
        ("static calibration error (SCE)", "mean of one-vs-rest ECEs"),
        r"\frac{1}{K} \sum_k \mathrm{ECE}_k",
        'evaluate(y, P, target="classwise").ece',
        "counts of all classes",
        "Nixon et al. (2019), CVPR Workshops",
        "ClasswiseEvaluation",
    ),
    Quantity(
        "marginal error",
        ("classwise ECE weighted by class frequency",),
        r"\sum_k \pi_k \mathrm{ECE}_k",
        'evaluate(y, P, target="classwise").marginal_error',
        "counts of all classes",
        f"{KUMAR}, section 2; there with order 2",
        "ClasswiseEvaluation",
    ),
    Quantity(
        "root mean square over classes",
        ("marginal calibration error with equal weights",),
        r"\left(\frac{1}{K} \sum_k l_{2,k}^2\right)^{1/2}",
        'evaluate(y, P, target="classwise").rms_error',
        "counts of all classes",
        f"{KUMAR}, section 2",
        "ClasswiseEvaluation",
    ),
    Quantity(
        "marginal calibration error",
        ("l_2^2 marginal calibration error (its square)", "weighted root mean square over classes"),
        r"\left(\sum_k w_k l_{2,k}^2\right)^{1/2}",
        'evaluate(y, P, target="classwise").marginal_calibration_error()',
        "counts of all classes",
        f"{KUMAR}, definition 2.4",
        "ClasswiseEvaluation",
    ),
    Quantity(
        "pooled calibration error",
        ("event-pooled calibration", "pooled ECE", "calibration of all classes in common bins"),
        r"\sum_b \frac{1}{K} \left|\sum_k m_{kb} (\theta_{kb} - \mu_{kb})\right|",
        'evaluate(y, P, target="classwise").pooled_error()',
        "counts of all classes",
        "Kuleshov and Liang (2015), NeurIPS 28",
        "ClasswiseEvaluation",
    ),
    Quantity(
        "l_p error",
        ("l_p calibration error",),
        r"\left(\sum_b m_b |\theta_b - \mu_b|^p\right)^{1/p}",
        "ev.lp_error(p)",
        "counts",
        f"{KUMAR}, section 2",
        "estimands.lp_error",
    ),
    Quantity(
        "selective risk",
        ("risk at a coverage", "risk-coverage curve"),
        r"P(z = 0 \mid c \text{ among the largest share } s)",
        "ev.selective_risk(share)",
        "rows, or counts with the error of their grid",
        "",
        "Evaluation",
    ),
    Quantity(
        "largest share at a risk",
        ("coverage at a risk",),
        r"\max \{s: \text{selective risk at } s \le r\}",
        "ev.largest_share(risk)",
        "rows, or counts with the error of their grid",
        "",
        "Evaluation",
    ),
    Quantity(
        "difference of two classifiers",
        ("paired difference",),
        r"\mathrm{ECE}_1 - \mathrm{ECE}_2",
        "compare(y, {...}).difference",
        "rows, or paired counts",
        "",
        "compare",
    ),
    Quantity(
        "multi-class Brier score",
        ("Brier score of all classes", "quadratic score"),
        r"\mathrm{E} \sum_k (c_k - 1\{\text{class } k\})^2",
        "scores.multiclass_brier(y, P)",
        "rows",
        "Brier (1950), Monthly Weather Review 78, equation 2; `convention` divides it by K or by 2",
        "scores.multiclass_brier",
    ),
    Quantity(
        "multi-class log score",
        ("log loss", "cross-entropy", "negative log-likelihood"),
        r"-\mathrm{E} \log c_{\text{class}}",
        "scores.multiclass_log(y, P)",
        "rows",
        "Good (1952), J. R. Stat. Soc. B 14",
        "scores.multiclass_log",
    ),
    Quantity(
        "difference of multi-class scores",
        ("paired difference of losses",),
        r"\mathrm{E}\,(L_1 - L_2)",
        'scores.compare(y, {...}, score="log").difference',
        "rows",
        "",
        "scores.compare",
    ),
    Quantity(
        "mean difference over data sets",
        ("several classifiers on several data sets", "multiple data sets"),
        r"\frac{1}{D} \sum_d (E_{d1} - E_{d2})",
        'compare_over_datasets({"mnli": comparison, ...}).difference("a", "b")',
        "comparisons",
        "Demsar (2006)",
        "compare_over_datasets",
    ),
    Quantity(
        "difference over a population of data sets",
        ("random-effects meta-analysis", "heterogeneity", "prediction interval"),
        r"\mu, \tau: E_{d1} - E_{d2} \sim \mathrm{N}(\mu, \tau^2)",
        'compare_over_datasets({...}).population("a", "b")',
        "comparisons",
        "Röver (2020)",
        "compare_over_datasets",
    ),
    Quantity(
        "mean rank over data sets",
        ("critical difference diagram", "Friedman ranks"),
        r"\frac{1}{D} \sum_d \mathrm{rank}_d",
        "compare_over_datasets({...}).ranks()",
        "comparisons",
        "Demsar (2006)",
        "compare_over_datasets",
    ),
)
#: Point estimates, which have no interval.
POINTS = (
    Quantity(
        "plug-in ECE",
        ("empirical ECE",),
        r"\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|",
        "plug_in_ece(y, p)",
        "rows",
        "Naeini et al. (2015), AAAI; Guo et al. (2017), ICML, equation 3",
        "plug_in_ece",
    ),
    Quantity(
        "plug-in l_p and maximum error",
        ("empirical RMSCE (p = 2)", "empirical MCE (p = infinity)"),
        r"\left(\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|^p\right)^{1/p}",
        "plug_in_error(y, p, order=p)",
        "rows",
        f"{KUMAR}, section 2",
        "plug_in_error",
    ),
    Quantity(
        "debiased squared l_2 error",
        ("debiased calibration error",),
        r"\sum_b \frac{n_b}{N} \left[(\bar z_b - \bar c_b)^2 - \frac{\bar z_b (1 - \bar z_b)}{n_b - 1}\right]",
        "estimands.debiased_squared_l2_error(counts)",
        "counts",
        f"{KUMAR}, section 5",
        "estimands.debiased_squared_l2_error",
    ),
    Quantity(
        "reliability, resolution, uncertainty",
        ("Murphy decomposition of the Brier score", "calibration-refinement decomposition"),
        r"\sum_b \frac{n_b}{N} (\bar c_b - \bar z_b)^2,\ \sum_b \frac{n_b}{N} (\bar z_b - \bar z)^2,\ "
        r"\bar z (1 - \bar z)",
        'scores.brier_decomposition(y, p, method="murphy")',
        "rows, or counts",
        "Murphy (1973), J. Appl. Meteorol. 12; Stephenson, Coelho and Jolliffe (2008), Weather Forecast. 23",
        "scores.brier_decomposition",
    ),
    Quantity(
        "miscalibration, discrimination, uncertainty",
        ("CORP decomposition", "MCB, DSC, UNC"),
        r"S(c) - S(\hat c),\ S(\bar z) - S(\hat c),\ S(\bar z)",
        "scores.brier_decomposition(y, p), scores.log_decomposition(y, p)",
        "rows",
        "Dimitriadis, Gneiting and Jordan (2021), PNAS 118, equation 4",
        "scores.brier_decomposition",
    ),
)
#: Quantities of the rows in the order of their scores, without bins.
CUMULATIVE = (
    Quantity(
        "Kuiper statistic",
        ("c_emp", "empirical calibration measure", "cutoff calibration error", "range of the cumulative difference"),
        r"\sup_{a < b} |\mathrm{E}\,[1\{a < c \le b\} (z - c)]|",
        "cumulative.difference(y, p).kuiper",
        "rows, or fine counts",
        "Tygert (2021), Journal of Big Data 8, 117; Gao, Parameswaran and Peng (2017), EJS 11, who name it c_emp",
        "cumulative.difference",
    ),
    Quantity(
        "Kolmogorov-Smirnov statistic",
        ("KS calibration error", "maximum of the cumulative difference"),
        r"\sup_a |\mathrm{E}\,[1\{c \le a\} (z - c)]|",
        "cumulative.difference(y, p).kolmogorov_smirnov",
        "rows, or fine counts",
        "Tygert (2021), Journal of Big Data 8, 117",
        "cumulative.difference",
    ),
    Quantity(
        "subpopulation difference",
        ("cumulative deviation of a subpopulation",),
        r"\mathrm{E}_{\text{members}}\,[r - \bar r_{\text{cell}}] \approx "
        r"\mathrm{E}_{\text{members}}\,[r - \mathrm{E}(r \mid \text{score})] \text{ if attenuation} \approx 1",
        "cumulative.subpopulation(r, score, member).average_difference",
        "rows",
        "Tygert (2021), Journal of Big Data 8, 117, equations 5 to 33",
        "cumulative.subpopulation",
    ),
    Quantity(
        "number of rows for c_emp",
        ("rows from which c_emp differs from its population value by at most epsilon",),
        r"8 \log(2 / (1 - p)) / \varepsilon^2",
        "cumulative.rows_for_c_emp(epsilon)",
        "no data",
        "from Massart (1990), Ann. Probab. 18; Hoeffding (1963), J. Am. Stat. Assoc. 58, 13-30",
        "cumulative.rows_for_c_emp",
    ),
)
#: Quantities of decisions at a threshold.
DECISIONS = (
    Quantity(
        "net benefit",
        ("decision curve",),
        r"P(p \ge t, y = 1) - \frac{t}{1 - t} P(p \ge t, y = 0)",
        "decisions.net_benefit(y, p, t).net_benefit",
        "rows, or counts between thresholds",
        "Vickers and Elkin (2006), Medical Decision Making 26",
        "decisions.net_benefit",
    ),
    Quantity(
        "standardized net benefit",
        ("relative utility",),
        r"\mathrm{NB}(t) / P(y = 1)",
        "decisions.net_benefit(y, p, t).standardized",
        "rows, or counts between thresholds",
        "Kerr, Brown, Zhu and Janes (2016), Journal of Clinical Oncology 34",
        "decisions.net_benefit",
    ),
    Quantity(
        "net interventions avoided",
        ("treatments avoided", "net reduction in interventions"),
        r"(\mathrm{NB}(t) - \mathrm{NB}_{\text{all}}(t)) (1 - t) / t",
        "decisions.net_benefit(y, p, t).avoided",
        "rows, or counts between thresholds",
        "Vickers and Elkin (2006), Medical Decision Making 26",
        "decisions.net_benefit",
    ),
    Quantity(
        "expected value of perfect information",
        ("EVPI",),
        r"\mathrm{E} \max_s \mathrm{NB}_s(t) - \max_s \mathrm{E}\,\mathrm{NB}_s(t)",
        "decisions.net_benefit(y, p, t).evpi",
        "rows, or counts between thresholds",
        "Cruz and Korthauer (2023), arXiv 2308.02067",
        "decisions.net_benefit",
    ),
    Quantity(
        "regret of a threshold",
        ("loss by miscalibration",),
        r"\sum_b m_b |\theta_b - t|\, 1\{\text{wrong side of } t\}",
        "ev.regret(t)",
        "counts with the edge t",
        "",
        "Evaluation",
    ),
    Quantity(
        "loss ratio",
        ("loss after recalibration / loss before",),
        "",
        "decisions.loss_ratio(y, p, y_val, p_val).ratio",
        "rows",
        "Gao, Parameswaran and Peng",
        "decisions.loss_ratio",
    ),
)
HEAD = "Quantity | Other names | Formula | Call | Needs | Source"


def page_parts() -> dict[str, str]:
    """Return the tables of the page by name of their markers."""
    return {
        "estimands": _table(map(Quantity.of, _of_the_package())),
        "joint": _table(JOINT),
        "cumulative": _table(CUMULATIVE),
        "decisions": _table(DECISIONS),
        "points": _table(POINTS),
    }


def _of_the_package() -> Iterator[Estimand]:
    return (each for each in registered().values() if each.function.__module__.startswith("bayescal."))


def _table(quantities: Iterable[Quantity]) -> str:
    return table(HEAD, _rows(quantities))


def _rows(quantities: Iterable[Quantity]) -> Iterator[list[str]]:
    for each in quantities:
        yield each.cells


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="make the tables, and write nothing")
    quick = parser.parse_args().quick
    parts = page_parts()
    if not quick:
        fill(PAGE, COMMAND, parts)


if __name__ == "__main__":
    main()
