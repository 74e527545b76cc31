"""Results for partly known outcomes: sentence, table, remarks, document, page, picture, errors."""

import json
import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure
from partial_sets import PartialSet, by_covariate, by_score

import bayescal as bc
from bayescal.estimands.estimand import UnavailableError

FAST = {"draws": 300}


@pytest.fixture(scope="module")
def score():
    return by_score(n=1000).observed(**FAST)


@pytest.fixture(scope="module")
def band():
    return by_score(n=1000).observed("not_at_random", odds_ratio=2, **FAST)


@pytest.fixture(scope="module")
def weighted():
    rows = by_covariate(n=1000)
    return rows.observed("covariates", weights=1 / rows.share, **FAST)


def plain(result):
    return " ".join(str(result).split())


def test_the_sentence_states_the_assumption(score, weighted):
    assert score.sentence().startswith(
        "If missing outcomes are like known ones at equal scores, the Expected Calibration Error of all rows is 0."
    )
    assert weighted.sentence().startswith("If missing outcomes are like known ones at equal covariates, and the wei")
    rows = by_score(n=400)
    prior = rows.observed("not_at_random", prior_sd=0.7, **FAST)
    assert "has a Normal distribution with mean 0 and standard deviation 0.7, the Expected" in prior.sentence()
    assert "missing outcomes are like" not in prior.question


def test_printing_shows_numbers_of_rows_and_the_known_ones_alone(score):
    number = score.counts.n_rows
    text = plain(score)
    assert f"Outcomes are known for {number} of 1000 rows, whose own ECE is 0." in text
    assert f"N = 1000 rows, {number} outcomes known, assuming that missing outcomes are like" in score.spec
    assert "2.5 % 97.5 % known only" in text
    row = score.row("ece")
    assert row["known_only"] == score.known_only.ece.mean()
    rows = by_score(n=1000)
    alone = bc.evaluate(rows.truth[rows.known], rows.p[rows.known], rng=1)
    assert row["known_only"] == pytest.approx(alone.ece.mean(), abs=4 * alone.ece.sd() / np.sqrt(300))
    assert score.known_only.counts.effective_rows == number


def test_the_weights_have_a_table(weighted):
    report = weighted.weight_report
    assert report.n_rows == weighted.counts.n_rows
    assert f"(weighted, effective N = {report.effective_rows:.0f})" in weighted.question
    assert "Weights of the known outcomes" in weighted.to_html()


def test_uneven_weights_have_a_remark():
    rows = by_covariate(n=4000)
    weights = 1 + np.random.default_rng(7).pareto(1.1, 4000)
    ev = rows.observed("covariates", weights=weights, **FAST)
    assert any("are worth" in text and "less than 10 %" in text for text in ev.remarks)
    assert any("have the Pareto shape" in text and "interval is too narrow" in text for text in ev.remarks)
    assert not any("source" in text.casefold() for text in ev.remarks)


def test_bins_without_known_outcomes_have_a_remark():
    rows = by_score(n=1000)
    ev = PartialSet(rows.p, rows.truth, rows.known & (rows.p > 0.2), rows.share).observed(bins=10, **FAST)
    assert any(text.startswith("48 % of the rows are in bins without") or "bins without" in text for text in ev.remarks)
    few = PartialSet(rows.p, rows.truth, np.arange(1000) < 50, rows.share).observed(**FAST)
    assert any("fewer than 10 known outcomes per bin" in text for text in few.remarks)


def test_the_band_prints_the_ends_and_the_middle(band):
    text = plain(band)
    low, high = band.interval()
    assert band.sentence().startswith(
        "If the odds of missing outcomes are between 0.5 and 2 times those of known ones at equal scores, the Expected "
        "Calibration Error of all rows is between "
    )
    assert [row[0] for row in band.sheet().rows] == ["0.5", "1", "2", "union"]
    assert len(band.sheet(whole=True).rows) == len(band) + 1
    assert (f"{low:.4f}", f"{high:.4f}") == tuple(band.sheet().rows[-1][3:])
    assert "union of 95 % credible intervals" in text
    assert "Outcomes are known for" in text
    assert "at the odds ratio" in text or "is 0 already" in text or "above 0 for all" in text
    assert band.known_only is next(iter(band.evaluations.values())).known_only


def test_one_odds_ratio_has_no_union():
    one = by_score(n=400).observed("not_at_random", odds_ratio=(2, 2), **FAST)
    assert "(95 % credible interval)" in one.sentence()
    assert "are 2 times those" in one.sentence()


def test_the_document_of_the_band(band):
    document = json.loads(band.to_json())
    assert document["union"] == dict(zip(("low", "high"), band.interval(), strict=True))
    assert [row["odds_ratio"] for row in document["table"]] == list(band)
    below, above = document["reaches_zero"]["below"], document["reaches_zero"]["above"]
    assert [below, above] == [None if np.isnan(each) else each for each in band.reaches_zero]


def test_documents_and_pages(score, weighted, band):
    assert "union" in band.to_html()
    for each in (score, weighted):
        document = json.loads(each.to_json())
        assert document["missing"] == each.missing
        assert "known outcomes" in each.to_html()


def test_the_picture_is_a_reliability_diagram(score):
    ax = bc.plot(score, Figure().subplots())
    assert ax.get_ylabel() == "event rate"


def test_the_area_under_the_curve_is_not_available_with_an_odds_ratio(band):
    one = band[1.0]
    with pytest.raises(UnavailableError, match="the AUC is not available with outcomes missing not at random"):
        _ = one.auc
    assert not hasattr(one, "auc")
    assert one.known_only.auc.mean() > 0.5


def test_metrics_and_pickles(band, score):
    assert score.metrics()["ece"] == score.ece.mean()
    again = pickle.loads(pickle.dumps(band))
    assert again.interval() == band.interval()
    assert again.reaches_zero == pytest.approx(band.reaches_zero, nan_ok=True)
    assert "ece" in " ".join(band.metrics())
