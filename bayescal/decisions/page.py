"""Pages and documents of the results of this folder."""

from functools import partial
from typing import Any

from bayescal.decisions.loss_ratio_result import LossRatio
from bayescal.decisions.plot import plot_decision_curve, plot_loss_ratio, plot_selective, plot_top_k
from bayescal.decisions.result import HasDecisionCurve, NetBenefit
from bayescal.decisions.selective_result import SelectivePrediction
from bayescal.decisions.thresholds import TREAT_ALL, TREAT_NONE
from bayescal.decisions.top_classes import TopK
from bayescal.decisions.words import records
from bayescal.report.document import NO_PARAMETERS, PROB, Parameters, document_of, with_table
from bayescal.report.page_content import WIDTH, Content, Picture, content, drawn, one_table
from bayescal.report.plot import drawn_by_type
from bayescal.results.wording import row_numbers

drawn_by_type.register(NetBenefit, plot_decision_curve)
drawn_by_type.register(LossRatio, plot_loss_ratio)
drawn_by_type.register(SelectivePrediction, plot_selective)
drawn_by_type.register(TopK, plot_top_k)


def decision_picture(result: NetBenefit | HasDecisionCurve) -> Picture:
    """Return decision curves."""
    draw = partial(drawn, partial(plot_decision_curve, result), 1.4 * WIDTH, WIDTH)
    return Picture("Decision curves", draw, wide=True)


@document_of.register
def _(result: NetBenefit, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``pseudo_rows``, ``prevalence``, ``harm``, and records per threshold of strategies without a model.

    These are ``treat_all``, ``treat_none`` and ``evpi``, the expected value of perfect information.
    """
    at, (low, high) = {"threshold": result.thresholds}, result.treat_all.interval(PROB)
    treat_all = {**at, "mean": result.treat_all.mean(), "low": low, "high": high}
    treat_all |= {"observed": result.observed[TREAT_ALL], "p_best": result.p_best[TREAT_ALL]}
    return {
        **with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "pseudo_rows": result.posterior.pseudo_rows,
        "prevalence": result.prevalence,
        "harm": result.harm,
        "treat_all": records(treat_all),
        "treat_none": records({**at, "p_best": result.p_best[TREAT_NONE]}),
        "evpi": records({**at, "evpi": result.evpi}),
        "seeds": {"draws": str(result.draws_seed)},
    }


@content.register
def _(result: NetBenefit) -> Content:
    sheet = result.sheet(whole=True)
    rows: dict[str, object] = {"rows": result.counts.n_rows}
    if result.counts.weighted:
        rows["effective rows"] = f"{result.counts.effective_rows:.0f}"
    pictures = [decision_picture(result)] if len(result.thresholds) > 1 else []
    return Content("Net benefit", sheet, [one_table("Net benefit", sheet)], rows, pictures)


@document_of.register
def _(result: SelectivePrediction, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the AUGRC of each classifier."""
    names = ("classifier", "mean", "low", "high", "observed")
    rows = ((name, of.mean(), *of.interval(PROB), result.observed_augrc[name]) for name, of in result.augrc.items())
    return {
        **with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "augrc": [dict(zip(names, row, strict=True)) for row in rows],
        "seeds": {"draws": str(result.draws_seed)},
    }


@content.register
def _(result: SelectivePrediction) -> Content:
    sheet = result.sheet(whole=True)
    rows = row_numbers(next(iter(result.counts.values())))
    draw = partial(drawn, partial(plot_selective, result), 1.4 * WIDTH, WIDTH)
    picture = Picture("Risk of the predictions that are kept", draw, wide=True)
    return Content("Selective prediction", sheet, [one_table("Selective risk", sheet)], rows, [picture])


@document_of.register
def _(result: TopK, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the number of classes."""
    interval = {"probability": PROB, "kind": "equal-tailed"}
    return {**with_table(result, parameters), "interval": interval, "n_classes": result.n_classes}


@content.register
def _(result: TopK) -> Content:
    sheet = result.sheet(whole=True)
    draw = partial(drawn, partial(plot_top_k, result), 1.4 * WIDTH, WIDTH)
    rows = row_numbers(next(iter(result.values())).counts)
    picture = Picture("True class among the k most probable ones", draw, wide=True)
    return Content("Top-k calibration", sheet, [one_table("ECE", sheet)], rows, [picture])
