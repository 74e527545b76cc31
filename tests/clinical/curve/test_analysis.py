"""calibration_curve: errors from draws, invariances, counts, refusals, and what it prints."""

import json
import math

import numpy as np
import pytest

import bayescal as bc
from bayescal.clinical.curve.result import ERRORS
from bayescal.datasets.simulate import simulate

ROWS = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=3)
Y, P = ROWS.outcome, ROWS.confidence
CV = bc.calibration_curve(Y, P, rng=1)


def test_errors_are_means_and_quantiles_of_the_gaps():
    """By hand: weighted mean, the largest error of at least half and a tenth of the mass, and the maximum."""
    gap, mass = np.abs(CV.bins.accuracy - CV.score), CV.bins.mass
    np.testing.assert_allclose(CV.ici.values, (gap * mass).sum(axis=1))
    np.testing.assert_allclose(CV.emax.values, gap.max(axis=1))
    for draws, share in ((CV.e50, 0.5), (CV.e90, 0.1)):
        for i in (0, 17, 1234):
            held = [mass[i, gap[i] >= t].sum() for t in gap[i]]
            assert draws.values[i] == max(t for t, h in zip(gap[i], held, strict=True) if h >= share)
    ordered = [each.values for each in (CV.e50, CV.e90, CV.emax)]
    assert (np.diff(ordered, axis=0) >= 0).all()
    assert (CV.ici.values <= CV.emax.values).all()


def test_the_truth_lies_within_the_intervals():
    """Temperature 1.5 on a flat population: ICI 0.0587, E50 0.0657, E90 0.0888 and Emax 0.0897 by quadrature."""
    for name, truth in (("ici", 0.0587), ("e50", 0.0657), ("e90", 0.0888), ("emax", 0.0897)):
        low, high = getattr(CV, name).interval(0.99)
        assert low < truth < high
    band = CV.band(0.99)
    rate = 1 / (1 + (1 / band.score - 1) ** (1 / 1.5))
    assert np.mean((band.low < rate) & (rate < band.high)) > 0.9
    assert CV.at(0.5).mean() == pytest.approx(0.5, abs=0.04)


def test_odds_of_exact_calibration():
    """Posterior odds are prior odds times the Bayes factor: 2:3 for `p_calibrated`, 1:9 for the share of the draws."""
    rows = simulate(2000, population="flat", rng=4)
    spike, none = (bc.calibration_curve(rows.outcome, rows.confidence, prior_exact=p, rng=1) for p in (0.1, 0))
    assert spike.ici.interval()[0] == 0
    assert none.probabilities["exact"] == 0
    assert spike.p_calibrated == none.p_calibrated > 0.6
    for probability, prior in ((spike.p_calibrated, 2 / 3), (spike.probabilities["exact"], 1 / 9)):
        assert probability / (1 - probability) == pytest.approx(spike.bayes_factor * prior)
    # independent knots, runs and noise hold errors of exactly 0, too
    zeros = [(each.ici.values == 0).mean() for each in (spike, none)]
    assert zeros[0] > zeros[1] + 0.8 * spike.probabilities["exact"]


def test_order_ties_and_scale_of_weights_have_no_effect():
    order = np.random.default_rng(0).permutation(len(Y))
    again = bc.calibration_curve(Y[order], P[order], rng=1)
    np.testing.assert_allclose(again.ici.values, CV.ici.values)
    tied = np.round(P, 2)
    one, other = (bc.calibration_curve(Y[i], tied[i], rng=1) for i in (np.arange(2000), order))
    np.testing.assert_allclose(one.ici.values, other.ici.values)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(Y))
    a, b = (bc.calibration_curve(Y, P, weights=factor * weights, rng=1) for factor in (1, 1e-200))
    np.testing.assert_allclose(a.ici.values, b.ici.values)
    np.testing.assert_array_equal(bc.calibration_curve(Y, P, weights=np.ones(2000), rng=1).ici.values, CV.ici.values)


def test_weights_count_as_effective_rows():
    """Rows of weight 0 do not count; the effective number decides on the number of bins."""
    weights = np.where(np.arange(2000) < 150, 1.0, 0.0)
    part = bc.calibration_curve(Y[:150], P[:150], rng=1)
    np.testing.assert_allclose(bc.calibration_curve(Y, P, weights=weights, rng=1).ici.values, part.ici.values)
    assert 15 <= len(part.score) <= 20  # 15 bins of equal mass, of which some are divided
    heavy = np.where(np.arange(2000) < 10, 1000.0, 1.0)
    with pytest.raises(ValueError, match=r"has 14 effective rows of 2000"):
        bc.calibration_curve(Y, P, weights=heavy)


def test_fine_counts_give_the_curve_of_the_rows():
    """Counts in which every score has a bin of its own lose nothing; others move the ICI little."""
    on_grid = (np.floor(P * 500) + 0.5) / 500
    exact = bc.calibration_curve.from_counts(bc.BinnedCounts.from_arrays(Y, on_grid, bins=500, target="event"), rng=1)
    of_rows = bc.calibration_curve(Y, on_grid, rng=1)
    np.testing.assert_allclose(exact.ici.values, of_rows.ici.values, atol=1e-10)
    halves = [bc.BinnedCounts.from_arrays(Y[i::2], P[i::2], bins=1000) for i in (0, 1)]
    merged = bc.calibration_curve.from_counts(halves[0] + halves[1], rng=1)
    assert merged.ici.mean() == pytest.approx(CV.ici.mean(), abs=0.001)
    assert not any("finer" in remark for remark in merged.remarks)
    coarse = bc.calibration_curve.from_counts(bc.BinnedCounts.from_arrays(Y, P, bins=8), rng=1)
    assert any("Count in finer bins" in remark for remark in coarse.remarks)


def test_classifiers_of_several_classes():
    rng = np.random.default_rng(2)
    probabilities = rng.dirichlet(np.ones(3), 500)
    labels = np.array([rng.choice(3, p=row) for row in probabilities])
    top = bc.calibration_curve(labels, probabilities, rng=1)
    correct, stated = probabilities.argmax(axis=1) == labels, probabilities.max(axis=1)
    again = bc.calibration_curve(correct.astype(int), stated, target="confidence", rng=1)
    np.testing.assert_array_equal(top.ici.values, again.ici.values)
    assert "top-label ICI" in top.spec
    assert "between confidence and accuracy" in top.sentence()
    with pytest.raises(ValueError, match="Pass one class as an event"):
        bc.calibration_curve(labels, probabilities, target="classwise")


def test_refusals():
    with pytest.raises(ValueError, match="`y_true` must have at least 100 rows for a calibration curve, and has 99"):
        bc.calibration_curve(Y[:99], P[:99])
    with pytest.raises(ValueError, match="`counts` must have at least 100 rows"):
        bc.calibration_curve.from_counts(bc.BinnedCounts.from_arrays(Y[:99], P[:99], bins=50))
    with pytest.raises(TypeError, match="`counts` must be BinnedCounts, not ndarray; for rows, use"):
        bc.calibration_curve.from_counts(Y)
    with pytest.raises(ValueError, match="`prior_exact`"):
        bc.calibration_curve(Y, P, prior_exact=1)
    with pytest.raises(ValueError, match="`draws`"):
        bc.calibration_curve(Y, P, draws=1)
    with pytest.raises(ValueError, match=r"`y_prob` must lie in \[0, 1\]; 1 of 2000 values does not, first at index 0"):
        bc.calibration_curve(Y, np.concatenate([[1.5], P[1:]]))
    with pytest.raises(TypeError, match="Here it is called 'rng'"):
        bc.calibration_curve(Y, P, seed=1)
    for score in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match=r"`score` must lie between 0.0.*largest score of the rows, not"):
            CV.at(score)
    for scores in ([0.1, 0.2], np.array([0.3]), True, "0.3"):
        with pytest.raises(TypeError, match="`score` must be one number"):
            CV.at(scores)
    with pytest.raises(TypeError, match=r"a mapping of 2 .first 'new'.*One model at a time"):
        bc.calibration_curve(Y, {"new": P, "old": P})
    with pytest.raises(AttributeError, match="integrated calibration index is `ici`"):
        _ = CV.eavg
    with pytest.raises(ValueError, match="`prob`"):
        CV.band(1)
    with pytest.raises(ValueError, match=r"`score` must lie between .* not 1; the curve is not extrapolated"):
        CV.rates([0.5, 1.0])
    with pytest.raises(TypeError, match="`score`"):
        CV.rates(["a"])


def test_rate_at_a_score():
    """At the mean scores it is the curve; between them and beyond, errors are interpolated as angles."""
    np.testing.assert_allclose(CV.rates(CV.score).values, CV.curve.values, atol=1e-12)
    angle = np.arcsin(np.sqrt(CV.score))
    error = np.arcsin(np.sqrt(CV.curve.values[3])) - angle
    for score in (P.min(), 0.31, 0.5, P.max()):
        at = np.arcsin(np.sqrt(score))
        expected = np.sin(np.clip(at + np.interp(at, angle, error), 0, np.pi / 2)) ** 2
        assert CV.at(float(score)).values[3] == pytest.approx(expected)
        np.testing.assert_array_equal(CV.rates([score]).values[:, 0], CV.at(float(score)).values)
    assert P.min() < CV.score[0] < CV.score[-1] < P.max()
    one_score = bc.calibration_curve(Y, np.full(2000, 0.3), rng=1)
    assert one_score.at(0.3).mean() == pytest.approx(Y.mean(), abs=0.03)


def test_ties_and_contradictions_are_remarked():
    few = bc.calibration_curve(Y, np.round(4 * P) / 4, rng=1)
    assert any("The curve has 5 knots" in remark and "equal scores" in remark for remark in few.remarks)
    assert CV.remarks == ()


def test_an_error_of_one_score_near_0_is_found():
    """Two in a hundred rows at 1e-7 have the event: no smooth curve reaches this rate, a knot of its own does."""
    p = np.concatenate([np.full(200, 1e-7), P])
    y = np.concatenate([np.arange(200) % 50 == 0, Y]).astype(int)
    cv = bc.calibration_curve(y, p, rng=1)
    low, high = cv.at(1e-7).interval()
    assert low < 0.02 < high < 0.1
    assert cv.p_calibrated < 1e-6


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


def test_an_error_at_one_tied_score():
    """Half of the rows at 0.3 with the rate 0.6: the ICI of the population is 0.5 x 0.3."""
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    p[::2] = 0.3
    y = rng.random(2000) < np.where(p == 0.3, 0.6, p)
    cv = bc.calibration_curve(y, p, rng=1)
    assert cv.ici.mean() == pytest.approx(0.15, abs=0.02)
    assert not any("average out" in remark for remark in cv.remarks)


def test_one_outcome_only_is_remarked():
    p = np.random.default_rng(1).random(200)
    for outcome in (0, 1):
        cv = bc.calibration_curve(np.full(200, outcome), p, rng=1)
        assert cv.remarks[0].startswith(f"No row has outcome {1 - outcome}: the curve follows from the prior")


def test_it_prints_and_exports(tmp_path):
    text = str(CV)
    assert text.startswith("The integrated calibration index is 0.0")
    for symbol, _ in ERRORS.values():
        assert symbol in text
    assert "(prior 0.40)" in " ".join(str(CV.details()).split())
    frame = CV.to_frame(0.9)
    assert list(frame.columns) == ["mean", "sd", "eti90_lb", "eti90_ub"]
    assert frame.loc["e90", "mean"] == CV.e90.mean()
    document = json.loads(CV.to_json())
    assert document["kind"] == "CalibrationCurve"
    assert [row["quantity"] for row in document["table"]] == list(ERRORS)
    assert document["probabilities"] == pytest.approx(CV.probabilities)
    assert [row["n"] for row in document["curve"]] == CV.counts.n.tolist()
    assert document["curve"][3]["low"] == CV.band().low[3]
    page = CV.to_html(tmp_path / "curve.html").read_text(encoding="utf-8")
    assert "Calibration curve" in page
    assert page.count("<svg") == 1
    assert "E90" in CV.to_latex()
    assert CV.distribution.sum() == pytest.approx(1)


def test_draws_combine_within_one_curve_only():
    assert np.isfinite((CV.e90 - CV.ici).mean())
    other = bc.calibration_curve(Y, P, rng=2)
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = CV.ici - other.ici
    assert not math.isclose(other.ici.mean(), CV.ici.mean(), abs_tol=1e-9)
