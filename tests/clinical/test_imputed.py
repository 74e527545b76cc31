"""Intercept and slope, curve and summary of imputed predictions; Rubin's rules by hand."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit, logit

import bayescal as bc
from bayescal.clinical.slope.new_centre import information_of
from bayescal.clinical.subgroups import _without_prior
from bayescal.results.imputed import Imputed

RNG = np.random.default_rng(7)
N, M = 400, 20
Z = RNG.standard_normal(N)
Y = (RNG.random(N) < expit(-0.3 + 0.8 * Z)).astype(int)
LOST = RNG.random(N) < 0.4
P = [expit(-0.3 + np.where(LOST, 0.4 * (Y - 0.5) + 0.9 * RNG.standard_normal(N), Z)) for _ in range(M)]


def maximum_likelihood(p):
    """Slope and its variance by Newton's method."""
    x, at = np.stack([np.ones(N), logit(p)]), np.array([0.0, 1.0])
    for _ in range(30):
        h = expit(at @ x)
        information = (x * (h * (1 - h))) @ x.T
        at = at + np.linalg.solve(information, x @ (Y - h))
    return at[1], np.linalg.inv(information)[1, 1]


def further(means, within):
    """Factor minus 1 by which means of imputations move: Rubin's variance, and his t distribution to first order."""
    m = len(means)
    between = (1 + 1 / m) * np.var(means, axis=0, ddof=1)
    return np.sqrt((m + 1) / (m - 1) * (1 + (1.96**2 + 1) / 2 * between / (between + within) / (m - 1))) - 1


def test_slope_agrees_with_rubins_rules():
    """Mean and ends within 0.15 standard deviations: the prior and the skewness."""
    best, variance = np.array([maximum_likelihood(p) for p in P]).T
    between = best.var(ddof=1)
    total = variance.mean() + (1 + 1 / M) * between
    sd = total**0.5
    rc = bc.clinical.recalibration(Y, P, draws=400, rng=1)
    row = rc.table()[2]
    assert row["mean"] == pytest.approx(best.mean(), abs=0.15 * sd)
    assert row["low"] == pytest.approx(best.mean() - 1.96 * sd, abs=0.15 * sd)
    assert row["high"] == pytest.approx(best.mean() + 1.96 * sd, abs=0.15 * sd)
    assert row["missing_information"] == pytest.approx((1 + 1 / M) * between / total, abs=0.02)
    assert row["missing_information"] > 0.1  # the case says something


def test_intervals_and_moments_are_those_of_the_mixture():
    """The exact distribution of the slope is the mean of those of the imputations, moved apart."""
    rc = bc.clinical.recalibration(Y, P[:4], draws=400, rng=1)
    low, high = rc.exact_interval("slope", 0.9)
    means, sds = np.array([each.posterior.moments("slope") for each in rc.imputations]).T
    moved = further(means, np.mean(sds**2)) * (means - means.mean())
    ends = [np.array([low, high]) - each for each in moved]
    below = [np.interp(x, *each.posterior._slope_cdf) for x, each in zip(ends, rc.imputations, strict=True)]
    np.testing.assert_allclose(np.mean(below, axis=0), [0.05, 0.95], atol=2e-4)
    total = (sds**2).mean() + (1 + further(means, np.mean(sds**2))) ** 2 * means.var()
    assert rc.posterior.moments("slope") == pytest.approx((means.mean(), total**0.5), rel=1e-4)
    assert rc.slope.sd() == pytest.approx(total**0.5, rel=0.15)
    assert rc.bayes_factor == pytest.approx(np.mean([each.bayes_factor for each in rc.imputations]))
    assert len(rc.slope) == len(rc.in_the_large) == len(rc.observed_expected) == 400
    assert len(rc.slope + rc.observed_expected) == 400  # joint draws


def test_identical_imputations_give_the_result_of_one():
    one, rc = bc.clinical.recalibration(Y, P[0], rng=1), bc.clinical.recalibration(Y, [P[0]] * 5, rng=2)
    for mine, theirs in zip(rc.table()[1:], one.table()[1:], strict=True):  # from the grid
        assert mine == pytest.approx({**theirs, "missing_information": 0.0}, abs=1e-3)
    assert rc.in_the_large.mean() == pytest.approx(one.in_the_large.mean(), abs=6.4 * one.in_the_large.sd() / 4000**0.5)


def test_order_does_not_matter():
    first, second = (bc.clinical.recalibration(Y, p, draws=400, rng=1) for p in (P[:5], P[4::-1]))
    assert first.table()[2] == pytest.approx(second.table()[2], abs=1e-9)


def test_outcomes_groups_and_weights():
    y = [np.where(LOST, RNG.random(N) < 0.4, Y) for _ in range(5)]
    assert len(bc.clinical.recalibration(y, P[0], draws=50, rng=1).imputations) == 5
    by = bc.clinical.recalibration(Y, P[:3], by=np.arange(N) % 2, draws=60, rng=1)
    assert all(isinstance(each, Imputed) and each.counts.n_rows == 200 for each in by.values())
    assert isinstance(by.overall, Imputed)
    weighted = bc.clinical.recalibration(Y, P[:3], weights=1.0 + (Z > 0), draws=60, rng=1)
    assert weighted.counts.weighted


def test_errors_name_the_imputation():
    with pytest.raises(ValueError, match=r"imputation 1: `y_prob` must lie in .*first at index 0"):
        bc.clinical.recalibration(Y, [P[0], np.append(2.0, P[1][1:])])
    with pytest.raises(ValueError, match="as many imputations as `y_true`"):
        bc.clinical.summary([Y, Y], P[:3])
    with pytest.raises(TypeError, match=r"has no PyMC model: it mixes imputations.*result.imputations\[0\]"):
        bc.pymc_model(bc.clinical.recalibration(Y, P[:2], draws=20, rng=1))


@pytest.fixture(scope="module")
def summary():
    return bc.clinical.summary(Y, P[:5], [0.3], draws=500, rng=1)


def test_the_summary_joins_its_parts(summary):
    numbers = {row["quantity"]: row for row in summary.table()}
    parts = [each.table() for each in summary.imputations]
    for i, row in enumerate(summary.table()):
        assert [each[i]["quantity"] for each in parts] == [row["quantity"]] * 5
        sd = 0.0 if np.isnan(row["sd"]) else row["sd"]  # net benefits: 500 draws beside closed forms
        assert row["mean"] == pytest.approx(np.mean([each[i]["mean"] for each in parts]), abs=4.5 * sd / 500**0.5)
        assert row["observed"] == pytest.approx(np.mean([each[i]["observed"] for each in parts]), nan_ok=True)
    assert numbers["auc"]["missing_information"] > 0.05
    assert np.isnan(numbers["mean_risk"]["missing_information"])
    assert summary["model"].mean_risk == numbers["mean_risk"]["mean"] == pytest.approx(np.mean(P[:5]), rel=1e-6)
    assert len(summary.evaluation.auc) == len(summary.calibration_curve.ici) == 500
    assert summary.decision_curve.thresholds[-1] == min(s.decision_curve.thresholds[-1] for s in summary.imputations)


def test_the_evaluation_of_a_summary_is_a_mixture(summary):
    ev = summary.evaluation
    assert ev.p_calibrated == pytest.approx(np.mean([each.p_calibrated for each in ev.imputations]))
    assert "5 imputations" in str(ev)
    assert ev.table(estimands=["auc"])[0]["missing_information"] == pytest.approx(
        {row["quantity"]: row for row in summary.table()}["auc"]["missing_information"]
    )
    with pytest.raises(AttributeError, match=r"`loo` exists for a single imputation.*imputations\[0\].loo"):
        ev.loo()


def test_the_curve_is_a_mixture_at_common_scores(summary):
    curve = summary.calibration_curve
    low, high = curve.span
    assert low == max(each.span[0] for each in curve.imputations)
    assert high == min(each.span[1] for each in curve.imputations)
    assert (np.diff(curve.score) > 0).all()
    assert curve.curve.values.shape == (500, len(curve.score))
    parts = [each.rates([0.4]).values for each in curve.imputations]
    odds = np.mean(parts, axis=1) / (1 - np.mean(parts, axis=1))
    power = further(np.mean(parts, axis=1), np.mean(np.var(parts, axis=1), axis=0))
    ratio = (odds[1] / np.exp(np.log(odds).mean(axis=0))) ** power
    moved = ratio * parts[1] / (1 - parts[1] + ratio * parts[1])
    np.testing.assert_allclose(curve.rates([0.4]).values[100:200], moved, rtol=1e-4)
    assert sum(curve.probabilities.values()) == pytest.approx(1)
    assert curve.distribution.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="not extrapolated"):
        curve.rates([1.0])
    line = bc.plot(curve, Figure().subplots()).lines[1]
    assert (line.get_xdata().min(), line.get_xdata().max()) == pytest.approx(curve.span)


def test_text_document_and_page(summary):
    text = " ".join(str(summary).split())
    assert "5 imputations. Share of the variance that is due to missing values: AUC 0." in text
    assert summary.to_dict()["imputations"] == 5
    assert summary.to_frame().loc[("model", "auc"), "missing_information"] > 0
    page = summary.to_html()
    assert "5 imputations" in page
    assert "Calibration curve" in page


def test_groups_of_imputations():
    """Pooled slopes are near those alone; no model of a single imputation stands for all of them."""
    site = np.arange(N) % 4
    risks = [P[0], expit(0.3 * logit(P[1])), expit(2 * logit(P[2]))]
    by = bc.clinical.summary(Y, risks, by=site, draws=300, rng=1)
    alone, pooled = by.draws("slope"), by.draws("slope", pooled=True)
    for label in by:
        assert abs(pooled[label].mean() - alone[label].mean()) < 2 * alone[label].sd()
        parts = by[label].parts["model"]
        assert _without_prior(parts) == parts.recalibration.posterior.moments("slope")  # also of the variance between
    assert by.draws("ece", pooled=True) == {}
    assert "3 imputations. Share of the variance" in " ".join(str(by).split())
    for result in (by, bc.clinical.recalibration(Y, risks, by=site, draws=300, rng=1)):
        low, high = result.new_centre().new["slope"].interval()
        assert low < result.new_centre().mean["slope"].mean() < high


def test_information_about_a_centre_follows_the_rules_of_rubin():
    """Without a prior: the inverse covariance is W + (1 + 1 / M) B, by hand from moments of each imputation."""
    lines = bc.clinical.recalibration(Y, [P[0], P[1], P[2]], prior="flat", draws=60, rng=1)
    parts = lines.posterior.parts
    each = [information_of(part, -1.0) for part in parts]
    means = np.array([np.linalg.solve(precision, shift) for precision, shift in each])
    within = np.mean([np.linalg.inv(precision) for precision, _ in each], axis=0)
    precision, shift = information_of(lines.posterior, -1.0)
    between = (means - means.mean(axis=0)).T @ (means - means.mean(axis=0)) / 2
    np.testing.assert_allclose(np.linalg.inv(precision), within + 4 / 3 * between, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.solve(precision, shift), means.mean(axis=0), rtol=1e-9)


def test_a_group_that_one_imputation_cannot_summarise_is_named():
    site = np.where(np.arange(N) < 6, "few", "many")
    equal = [np.where(site == "few", 0.3, P[0]), P[1]]
    for risks, place in ((equal, 0), (equal[::-1], 1)):
        by = bc.clinical.summary(Y, risks, by=site, draws=60, rng=1)
        assert list(by) == ["many"]
        assert by.without["few"].startswith(f"imputation {place}: 6 rows")


def test_a_curve_may_be_logistic_in_one_imputation_only():
    """Outcomes of clusters: with one set of outcomes the rows are worth less than 100 independent ones."""
    cluster = np.repeat(np.arange(65), 2)
    p = np.random.default_rng(1).uniform(0.1, 0.9, 130)
    apart = (np.random.default_rng(2).random(130) < p).astype(int)
    together = np.repeat(apart[::2], 2)
    curve = bc.clinical.calibration_curve([apart, together], p, cluster=cluster, draws=60, rng=1)
    assert len({each.posterior.logistic for each in curve.imputations}) == 2
    assert sum(curve.probabilities.values()) == pytest.approx(1)
