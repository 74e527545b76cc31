"""Cumulative differences of Tygert's programs, c_emp from its definition, MAPIE, and published P-values."""

import json

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative import brownian
from bayescal.cumulative import statistics as cumulative

COUNTED = {
    "cumdiff": 13,
    "cumdiff_weighted": 3,
    "c_emp": 9,
    "pvalues": 14,
    "cumdiff_peers": 36,
    "subpop": 8,
    "subpop_weighted": 3,
}


def rows(record, reference_data):
    """Outcome, score and weights of a record."""
    data, view = reference_data(record["data"]), record["view"]
    if record["data"].startswith("cumdiff/"):
        return data["responses"], data["scores"], data.get("weights") if "weight" in record["family"] else None
    if view.startswith("top-label"):
        return top_label(data)
    score, _, outcome = view.partition(",")[0].partition(" vs ")
    weights = data["fnlwgt"] if "weights=" in view else None
    return data[outcome], data[score], weights


def top_label(data):
    probabilities = next(value for value in data.values() if value.ndim == 2)
    labels = next(value for value in data.values() if value.ndim == 1 and len(value) == len(probabilities))
    score = probabilities.max(axis=1).astype(np.float64)
    return probabilities.argmax(axis=1) == labels, score, None


@pytest.mark.parametrize("family", ["cumdiff", "cumdiff_weighted"])
def test_statistics_of_tygerts_programs(records, reference_data, family):
    found = records(family)
    assert len(found) == COUNTED[family]
    for record in found:
        outcome, score, weights = rows(record, reference_data)
        cd = bc.cumulative_difference(outcome, score, weights=weights)
        expected = record["value"]
        for name, value in (("kuiper", cd.kuiper), ("ks", cd.kolmogorov_smirnov), ("sigma", cd.sigma)):
            assert value == pytest.approx(expected[name], rel=1e-9), (record["id"], name)
        assert cd.kuiper / cd.sigma == pytest.approx(expected["kuiper_over_sigma"], rel=1e-9)
        # P-values of the file are 1 - cdf, so that their digits end at 1e-15
        for name in ("kuiper", "kolmogorov_smirnov"):
            p = getattr(cd, f"p_{name}_uncorrected")
            assert p == pytest.approx(expected["p_kuiper" if name == "kuiper" else "p_ks"], rel=1e-9, abs=3e-15)
        if "caption" in record:
            assert_caption(cd, record["caption"])


def assert_caption(cd, caption):
    """All printed digits of the captions of Figures 32, 36 and 46."""
    assert cd.steps.n_rows.sum() == caption["n"]
    for name, value in (
        ("kuiper", cd.kuiper),
        ("kuiper_sigma", cd.kuiper / cd.sigma),
        ("ks", cd.kolmogorov_smirnov),
        ("ks_sigma", cd.kolmogorov_smirnov / cd.sigma),
    ):
        assert f"{value:.4g}" == f"{float(caption[name]):.4g}", name


def view_rows(record, reference_data):
    """Rows of a record that names them by `view_name`; the hand examples stand in the view itself."""
    if record["data"] == "-":
        p, y = (json.loads(part.partition("=")[2]) for part in record["view"].split(", y"))
        return y, p
    outcome, score, _ = rows(record, reference_data)
    return outcome, score


def test_kuiper_is_c_emp(records, reference_data):
    """The supremum over pairs of scores in exact rational numbers; p1 is the score before the interval, or null."""
    found = records("c_emp")
    assert len(found) == COUNTED["c_emp"]
    for record in found:
        outcome, score = view_rows(record, reference_data)
        cd, expected = bc.cumulative_difference(outcome, score), record["value"]
        assert cd.kuiper == pytest.approx(expected["c_emp"], rel=1e-9, abs=0)
        assert len(cd.score) == expected["n_distinct"]
        if cd.kuiper > 0:
            first = 0 if expected["p1"] is None else np.flatnonzero(cd.score == expected["p1"])[0] + 1
            assert cd.worst_interval == (cd.score[first], expected["p2"])


def test_distribution_functions(records):
    """Values of the distribution functions; the P-values of two published pairs, which the file has as 1 - cdf."""
    found = records("pvalues")
    assert len(found) == COUNTED["pvalues"]
    for record in found:
        if record["view"].startswith("cdf"):
            x, expected = record["value"]
            cdf = brownian.cdf_max_abs if "max" in record["view"] else brownian.cdf_range
            assert cdf(x) == pytest.approx(expected, rel=1e-9, abs=0)
        else:
            value = record["value"]
            tails = brownian.sf_max_abs(value["ks"]), brownian.sf_range(value["ku"])
            for tail, printed, recomputed in zip(tails, value["printed"], value["recomputed"], strict=True):
                assert 1 - tail == pytest.approx(1 - recomputed, rel=1e-9)
                assert printed is None or f"{tail:.1e}" == f"{printed:.1e}"


def test_mapie(records, reference_data):
    """MAPIE leaves out the origin of the curve, and adds noise of 1e-8 to the scores, which breaks ties at random."""
    found = records("cumdiff_peers")
    assert len(found) == COUNTED["cumdiff_peers"]
    compared = 0
    for record in found:
        outcome, score, _ = rows(record, reference_data)
        cd = bc.cumulative_difference(outcome, score)
        if len(cd.score) < len(score):
            continue
        kuiper = "kuiper" in record["call"]
        statistic = cumulative.kuiper(cd.curve[1:]) if kuiper else cumulative.kolmogorov_smirnov(cd.curve[1:])
        value = statistic / cd.sigma
        if "p_value" in record["call"]:
            tail = brownian.sf_range if kuiper else brownian.sf_max_abs
            assert tail(value) == pytest.approx(record["value"], rel=1e-6, abs=1e-10)
        else:
            assert value == pytest.approx(record["value"], rel=1e-6)
        compared += 1
    assert compared == 24  # six data sets without ties


def subpopulation(record, reference_data):
    """Response, score, members and weights of a record."""
    data, view = reference_data(record["data"]), record["view"]
    if record["data"].startswith("cumdiff/"):
        order = np.argsort(data["scores"], kind="stable")  # indices refer to sorted scores
        member = np.zeros(len(order), dtype=bool)
        member[order[data["indices"]]] = True
        return data["responses"], data["scores"], member, data.get("weights")
    column, _, value = view.split("subpopulation ")[1].split(",")[0].partition("==")
    if view.startswith("score top confidence"):
        outcome, score, _ = top_label(data)
        return outcome, score, data["labels"] == int(value), None
    weights = data["fnlwgt"] if "weights=" in view else None
    score = data["lr_test" if "lr_test" in view else "probs"]
    return data["labels"], score, data[column] == int(value), weights


@pytest.mark.parametrize("family", ["subpop", "subpop_weighted"])
def test_subpopulations_of_tygerts_programs(records, reference_data, family):
    found = records(family)
    assert len(found) == COUNTED[family]
    for record in found:
        *columns, weights = subpopulation(record, reference_data)
        sub = bc.cumulative_difference_subpopulation(*columns, weights=weights)
        expected = record["value"]
        for name, value in (
            ("kuiper", sub.kuiper),
            ("ks", sub.kolmogorov_smirnov),
            ("sigma", sub.sigma),
            ("ordinate", sub.average_difference),
            ("kuiper_over_sigma", sub.kuiper / sub.sigma),
            ("ks_over_sigma", sub.kolmogorov_smirnov / sub.sigma),
            ("p_kuiper", sub.p_kuiper_uncorrected),
            ("p_ks", sub.p_kolmogorov_smirnov_uncorrected),
        ):
            assert value == pytest.approx(expected[name], rel=1e-9, abs=1e-14), (record["id"], name)
        if "n_sub" in expected:
            assert sub.steps.n_rows.sum() == expected["n_sub"]
        if "caption" in record:
            assert_caption(sub, record["caption"])
