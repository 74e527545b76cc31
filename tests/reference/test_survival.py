"""Kaplan-Meier by bin, observed/expected and IPCW Brier scores of R and Python programs, on the same rows."""

import json

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import registered
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.result import observed_ratio
from bayescal.survival.rows import SurvivalRows

#: Quantities of the family that this package does not compute: a hazard regression on the stated risk.
OTHERS = ("cph(", "coxph(")
RISK_COLUMNS = {26: "risk26", 40: "risk40", 52: "risk52"}


def rows_of(record, reference_data):
    """The rows of a record, and its horizon."""
    value = record["value"]
    horizon = value["horizon"] if isinstance(value, dict) else float(record["view"].split(" at ")[1])
    if record["data"] == "rossi_val":
        data = reference_data("rossi_val")
        return SurvivalRows.read(data["time"], data["event"], data[RISK_COLUMNS[horizon]]), float(horizon)
    data, risk = reference_data("dcurves_df_surv"), reference_data("dcurves_pr_failure18")["pr_failure18"]
    return SurvivalRows.read(data["ttcancer"], data["cancer"], risk), float(horizon)


def counts_of(record, reference_data, bins):
    rows, horizon = rows_of(record, reference_data)
    return HorizonCounts.from_rows(rows, horizon, bins)


def brier(counts):
    return registered()["brier_score"].plug_in(counts)


def chosen(records, part):
    found = [r for r in records("survival") if part(r)]
    assert found
    return found


def test_every_record_is_compared_or_named(records):
    """The tests below together read every record of the family apart from hazard regressions."""
    parts = [is_overall, is_binned, is_brier, lambda r: r["call"].startswith("KaplanMeierFitter")]
    left = [r["call"] for r in records("survival") if sum(part(r) for part in parts) != 1]
    assert left
    assert all(any(other in call for other in OTHERS) for call in left)


def is_overall(record):
    return "survfit(Surv(time,event)~1)" in record["call"]


def is_binned(record):
    return record["call"].startswith("KM at")


def is_brier(record):
    return any(word in record["call"] for word in ("brier_score", "Score(", "pec::pec"))


def test_overall_kaplan_meier_and_observed_expected(records, reference_data):
    for record in chosen(records, is_overall):
        counts, value = counts_of(record, reference_data, make_bins(1)), record["value"]
        assert 1 - counts.accuracy[0] == pytest.approx(value["overall"]["log"]["surv"], rel=1e-9), record["call"]
        assert counts.mean_confidence[0] == pytest.approx(value["expected"], rel=1e-9)
        assert observed_ratio(counts) == pytest.approx(value["OE"], rel=1e-9)


def test_kaplan_meier_of_lifelines(records, reference_data):
    for record in chosen(records, lambda r: r["call"].startswith("KaplanMeierFitter")):
        counts = counts_of(record, reference_data, make_bins(1))
        assert 1 - counts.accuracy[0] == pytest.approx(record["value"][0], rel=1e-9)


def bins_of(value, risk):
    """Bins of R; its cut points are risks that were printed with 15 digits, and decide ties."""
    if "cutpoints" not in value:
        return make_bins(10)
    inner = np.array(value["cutpoints"][1:-1])
    nearest = risk[np.abs(risk[:, None] - inner).argmin(axis=0)]
    inner = np.where(np.abs(nearest - inner) < 1e-14, nearest, inner)
    return make_bins([0.0, *inner, 1.0], closed="right")


def test_kaplan_meier_by_bin(records, reference_data):
    """R carries the curve of a bin forward if it ends before the horizon; so do plug-in values."""
    for record in chosen(records, is_binned):
        value = record["value"]
        rows, horizon = rows_of(record, reference_data)
        counts = HorizonCounts.from_rows(rows, horizon, bins_of(value, rows.risk))
        used, expected = counts.occupied, value["bins"]
        assert counts.n[used].tolist() == [b["n"] for b in expected], json.dumps(record["call"])
        for name, found in (("mean_risk", counts.mean_confidence), ("surv", 1 - counts.accuracy)):
            assert found[used] == pytest.approx([b[name] for b in expected], rel=1e-9, abs=1e-12), record["call"]
        assert float(ece(observed_bins(counts)).values[0]) == pytest.approx(value["ece_weighted"], rel=1e-9)


def test_brier_score_with_one_censoring_curve(records, reference_data):
    compared = 0
    for record in chosen(records, is_brier):
        rows, horizon = rows_of(record, reference_data)
        if np.any((rows.event == 0) & (rows.time == horizon)):
            continue  # the next test
        value = record["value"]
        stated = value["Brier"] if isinstance(value, dict) else value
        assert brier(HorizonCounts.from_rows(rows, horizon, make_bins(1))) == pytest.approx(stated, rel=1e-9)
        compared += 1
    assert compared == 8


def test_rows_censored_exactly_at_the_horizon_are_known_to_be_free_of_events(records, reference_data):
    """The deliberate difference: 164 of 216 rows are censored at week 52, when the study ends.

    riskRegression and pec ask for time > horizon and leave these rows out of the Brier score, 0.117. Here their
    outcome is known, as that of every row, and the Brier score is the mean squared error of all rows.
    """
    others = [r for r in chosen(records, is_brier) if isinstance(r["value"], dict) and r["value"]["horizon"] == 52]
    assert [r["value"]["Brier"] for r in others] == pytest.approx([0.117085232742527] * 2, rel=1e-9)
    data = reference_data("rossi_val")
    outcome = data["event"] == 1
    assert np.count_nonzero((data["time"] == 52) & ~outcome) == 164
    ev = bc.evaluate_survival(data["time"], data["event"], data["risk52"], horizon=52, rng=1)
    assert ev.counts.n_censored.sum() == 0
    assert ev.plug_in_of("brier_score") == pytest.approx(np.mean((outcome - data["risk52"]) ** 2), rel=1e-12)
    assert ev.plug_in_of("brier_score") == pytest.approx(0.18096, abs=1e-5)
