"""CalibrationCurve: its errors by hand, rates between knots, counts, remarks, and what it prints."""

import json
import math

import numpy as np
import pytest

import bayescal as bc
from bayescal.clinical.curve.result import ERRORS, _about_gaps
from bayescal.datasets.simulate import simulate


def test_errors_are_means_and_quantiles_of_the_gaps(cv):
    """By hand: weighted mean, the largest error of at least half and a tenth of the mass, and the maximum."""
    gap, mass = np.abs(cv.bins.accuracy - cv.score), cv.bins.mass
    np.testing.assert_allclose(cv.ici.values, (gap * mass).sum(axis=1))
    np.testing.assert_allclose(cv.emax.values, gap.max(axis=1))
    for draws, share in ((cv.e50, 0.5), (cv.e90, 0.1)):
        for i in (0, 17, 1234):
            held = [mass[i, gap[i] >= t].sum() for t in gap[i]]
            assert draws.values[i] == max(t for t, h in zip(gap[i], held, strict=True) if h >= share)
    ordered = [each.values for each in (cv.e50, cv.e90, cv.emax)]
    assert (np.diff(ordered, axis=0) >= 0).all()
    assert (cv.ici.values <= cv.emax.values).all()


def test_fine_counts_give_the_curve_of_the_rows(sample, cv):
    """Counts in which every score has a bin of its own lose nothing; others move the ICI little."""
    on_grid = (np.floor(sample.confidence * 500) + 0.5) / 500
    exact = bc.calibration_curve.from_counts(
        bc.BinnedCounts.from_arrays(sample.outcome, on_grid, bins=500, target="event"), rng=1
    )
    of_rows = bc.calibration_curve(sample.outcome, on_grid, rng=1)
    np.testing.assert_allclose(exact.ici.values, of_rows.ici.values, atol=1e-10)
    halves = [bc.BinnedCounts.from_arrays(sample.outcome[i::2], sample.confidence[i::2], bins=1000) for i in (0, 1)]
    merged = bc.calibration_curve.from_counts(halves[0] + halves[1], rng=1)
    assert merged.ici.mean() == pytest.approx(cv.ici.mean(), abs=0.001)
    assert not any("finer" in remark for remark in merged.remarks)
    coarse = bc.calibration_curve.from_counts(
        bc.BinnedCounts.from_arrays(sample.outcome, sample.confidence, bins=8), rng=1
    )
    assert any("Count in finer bins" in remark for remark in coarse.remarks)


def test_rate_at_a_score(cv, sample):
    """At the mean scores it is the curve; between them and beyond, errors are interpolated as angles."""
    np.testing.assert_allclose(cv.rates(cv.score).values, cv.curve.values, atol=1e-12)
    angle = np.arcsin(np.sqrt(cv.score))
    error = np.arcsin(np.sqrt(cv.curve.values[3])) - angle
    for score in (sample.confidence.min(), 0.31, 0.5, sample.confidence.max()):
        at = np.arcsin(np.sqrt(score))
        expected = np.sin(np.clip(at + np.interp(at, angle, error), 0, np.pi / 2)) ** 2
        assert cv.at(float(score)).values[3] == pytest.approx(expected)
        np.testing.assert_array_equal(cv.rates([score]).values[:, 0], cv.at(float(score)).values)
    assert sample.confidence.min() < cv.score[0] < cv.score[-1] < sample.confidence.max()
    one_score = bc.calibration_curve(sample.outcome, np.full(2000, 0.3), rng=1)
    assert one_score.at(0.3).mean() == pytest.approx(sample.outcome.mean(), abs=0.03)


def test_ties_and_contradictions_are_remarked(sample, cv):
    few = bc.calibration_curve(sample.outcome, np.round(4 * sample.confidence) / 4, rng=1)
    assert any("The curve has 5 knots" in remark and "equal scores" in remark for remark in few.remarks)
    assert cv.remarks == ()


def test_rows_that_contradict_0_or_1_exclude_exact_calibration():
    """One event at a score of 0 has the likelihood 0 under exact calibration, whatever the other rows say."""
    rows = simulate(2000, population="flat", rng=4)
    y, p = np.append(rows.outcome, [1, 0]), np.append(rows.confidence, [0.0, 1.0])
    agree = bc.calibration_curve(np.append(rows.outcome, [0, 1]), p, rng=1)
    assert agree.p_calibrated > 0.1
    assert not any("contradict" in remark for remark in agree.remarks)
    cv = bc.calibration_curve(y, p, rng=1)
    assert (cv.p_calibrated, cv.bayes_factor) == (0, 0)
    assert sum(cv.probabilities.values()) == pytest.approx(1)
    assert any(remark.startswith("2 of 2002 rows contradict a score of exactly 0 or 1") for remark in cv.remarks)
    own_bins = bc.BinnedCounts.from_arrays(y, p, bins=bc.logit_bins(0.1), target="event")
    counted = bc.calibration_curve.from_counts(own_bins, rng=1)
    assert (counted.p_calibrated, counted.contradicted) == (0, 2)
    weighted = bc.calibration_curve(y, p, weights=np.append(np.full(2000, 1.0), [10.0, 10.0]), rng=1)
    assert weighted.contradicted == pytest.approx(20 / 2020)
    assert any("Rows with 0.99 % of the weight contradict" in remark for remark in weighted.remarks)
    none = bc.calibration_curve(y, p, weights=np.append(np.full(2000, 1.0), [0.0, 0.0]), rng=1)
    assert none.p_calibrated > 0.1


def test_one_outcome_only_is_remarked():
    p = np.random.default_rng(1).random(200)
    for outcome in (0, 1):
        cv = bc.calibration_curve(np.full(200, outcome), p, rng=1)
        assert cv.remarks[0].startswith(f"No row has outcome {1 - outcome}: the curve follows from the prior")


def test_it_prints_and_exports(tmp_path, cv):
    text = str(cv)
    assert text.startswith("The integrated calibration index is 0.0")
    for symbol, _ in ERRORS.values():
        assert symbol in text
    assert "(prior 0.40)" in " ".join(str(cv.details()).split())
    frame = cv.to_frame(0.9)
    assert list(frame.columns) == ["mean", "sd", "eti90_lb", "eti90_ub"]
    assert frame.loc["e90", "mean"] == cv.e90.mean()
    document = json.loads(cv.to_json())
    assert document["kind"] == "CalibrationCurve"
    assert [row["quantity"] for row in document["table"]] == list(ERRORS)
    assert document["probabilities"] == pytest.approx(cv.probabilities)
    assert [row["n"] for row in document["curve"]] == cv.counts.n.tolist()
    assert document["curve"][3]["low"] == cv.band().low[3]
    page = cv.to_html(tmp_path / "curve.html").read_text(encoding="utf-8")
    assert "Calibration curve" in page
    assert page.count("<svg") == 1
    assert "E90" in cv.to_latex()
    assert cv.distribution.sum() == pytest.approx(1)


def test_draws_combine_within_one_curve_only(cv, sample):
    assert np.isfinite((cv.e90 - cv.ici).mean())
    other = bc.calibration_curve(sample.outcome, sample.confidence, rng=2)
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = cv.ici - other.ici
    assert not math.isclose(other.ici.mean(), cv.ici.mean(), abs_tol=1e-9)


def test_example_of_about_gaps():
    assert _about_gaps(np.array([0.0, 0.1, 1.0])) == [
        "No row has a score between 0.1 and 1: the curve is interpolated there."
    ]
