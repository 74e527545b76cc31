"""The curve of few rows: against quadrature and the recalibration, under separation, and at its limits."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

import bayescal as bc
from bayescal.clinical.curve.posterior import LogisticCurvePosterior

RNG = np.random.default_rng(11)
X = RNG.normal(-0.5, 1, 60)
Y = (RNG.random(60) < expit(0.3 + 0.7 * X)).astype(int)


def quadrature(x, y, sds):
    """Grid of intercept and slope, its posterior masses, and the log evidence relative to calibration.

    The shift at the mean logit, weighted by p (1 - p), is Normal(0, sds[0]), the slope Normal(1, sds[1]).
    """
    p = expit(x)
    lever = (p * (1 - p)) @ x / (p * (1 - p)).sum()
    shift, b = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-5, 8, 651), indexing="ij")
    a = lever + shift - b * lever
    value = norm.logpdf(shift, 0, sds[0]) + norm.logpdf(b, 1, sds[1])
    for each, outcome in zip(x, y, strict=True):
        value += outcome * (a + b * each) - np.logaddexp(0, a + b * each) - outcome * each + np.logaddexp(0, each)
    cell = (12 / 600) * (13 / 650)
    total = np.log(np.exp(value - value.max()).sum() * cell) + value.max()
    return a, b, np.exp(value - total) * cell, total


@pytest.fixture(scope="module")
def few():
    """Return the curve of 60 rows."""
    return bc.clinical.calibration_curve(Y, expit(X), draws=20_000, rng=1)


def test_the_line_and_the_share_of_exact_draws_by_quadrature(few):
    """The weak prior of the recalibration for the line; Normal(0, 0.5) and Normal(1, 0.5) for the evidence."""
    a, b, mass, _ = quadrature(X, Y, (2.5, 1.0))
    line = few.posterior.line
    assert line.moments("slope")[0] == pytest.approx((mass * b).sum(), abs=1e-3)
    assert line.moments("intercept")[0] == pytest.approx((mass * a).sum(), abs=1e-3)
    *_, log_evidence = quadrature(X, Y, (0.5, 0.5))
    assert few.posterior.log_bayes_factor == pytest.approx(-log_evidence, abs=2e-3)
    share = 1 / (1 + 9 * np.exp(log_evidence))
    assert few.probabilities == pytest.approx({"exact": share, "logistic": 1 - share}, rel=5e-3)
    assert few.p_calibrated == pytest.approx(1 / (1 + 1.5 * np.exp(log_evidence)), rel=5e-3)
    expected = share * 0.3 + (1 - share) * (mass * expit(a + b * logit(0.3))).sum()
    assert few.at(0.3).mean() == pytest.approx(expected, abs=4 * few.at(0.3).sd() / np.sqrt(20_000))


def test_it_is_the_posterior_of_the_recalibration(few):
    """`LogitCounts` merges logits within 0.05, which moves the slope a little; also with weights."""
    weights = RNG.exponential(size=60)
    for given in (None, weights):
        rc = bc.clinical.recalibration(Y, expit(X), weights=given, rng=1)
        line = bc.clinical.calibration_curve(Y, expit(X), weights=given, draws=10, rng=1).posterior.line
        for name in ("slope", "intercept"):
            np.testing.assert_allclose(line.moments(name), rc.posterior.moments(name), atol=3e-3)


def test_curves_are_lines_on_the_logit_scale_between_knots_too(few):
    at = np.linspace(*few.span, 7)
    drawn = logit(few.rates(at).values[:500])
    slope = (drawn[:, -1] - drawn[:, 0]) / (logit(at[-1]) - logit(at[0]))
    np.testing.assert_allclose(drawn, drawn[:, :1] + slope[:, None] * (logit(at) - logit(at[0])), atol=1e-8)
    assert (np.abs(few.ici.values) < 1e-12).mean() == pytest.approx(few.probabilities["exact"], abs=1e-4)


def test_the_limit_of_100_rows_and_what_is_missing():
    x = RNG.normal(0, 1, 100)
    y = (RNG.random(100) < expit(x)).astype(int)
    whole, less = (bc.clinical.calibration_curve(y[:n], expit(x[:n]), draws=10, rng=1) for n in (100, 99))
    assert isinstance(less.posterior, LogisticCurvePosterior) > isinstance(whole.posterior, LogisticCurvePosterior)
    (remark,) = less.remarks
    assert remark == (
        "With fewer than 100 rows the curve is logistic: an intercept and a slope determine it, and errors of another "
        "shape average out. Other shapes need 1 more row."
    )
    counts = bc.BinnedCounts.from_arrays(y[:40], expit(x[:40]), bins=1000, target="event")
    of_counts = bc.clinical.CalibrationCurve.from_counts(counts, rng=1)
    of_rows = bc.clinical.calibration_curve(y[:40], expit(x[:40]), rng=1)
    assert of_counts.ici.mean() == pytest.approx(of_rows.ici.mean(), abs=0.002)
    assert "need 60 more rows" in of_counts.remarks[-1]


@pytest.mark.parametrize("n", [20, 40, 80])
@pytest.mark.parametrize("sign", [1, -1])
def test_separated_outcomes_have_finite_intervals(n, sign):
    """Maximum likelihood has no finite slope; Firth's estimate has one."""
    x = np.random.default_rng(n).normal(0, 1, n)
    y = (sign * x > 0.2).astype(float)
    cv, rc = bc.clinical.calibration_curve(y, expit(x), rng=1), bc.clinical.recalibration(y, expit(x), rng=1)
    low, high = rc.exact_interval("slope")
    assert -8 < low < high < 8
    firth = sign * slope_of_firth(sign * x, y)
    assert (low > 0, high < 0) == (sign > 0, sign < 0)
    assert abs(low + high) / 2 < abs(firth) < 200  # the weak prior shrinks more than Firth's penalty
    assert cv.ici.interval()[1] < 0.8
    assert sum("separates all rows" in remark for remark in cv.remarks) == 1
    mixed = bc.clinical.calibration_curve(np.where(np.arange(n) == np.argmin(sign * x), 1 - y, y), expit(x), rng=1)
    assert not any("separates" in remark for remark in mixed.remarks)


def slope_of_firth(x, y):
    """Maximum of the likelihood times the root of the determinant of the information, by a search on a grid."""
    a, b = np.meshgrid(np.linspace(-50, 50, 251), np.linspace(0, 200, 501), indexing="ij")
    value = np.zeros_like(a)
    sums = np.zeros((3, *a.shape))
    for each, outcome in zip(x, y, strict=True):
        eta = a + b * each
        value += outcome * eta - np.logaddexp(0, eta)
        sums += expit(eta) * expit(-eta) * np.array([1.0, each, each**2])[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        value += 0.5 * np.log(np.maximum(sums[0] * sums[2] - sums[1] ** 2, 1e-300))
    return b.ravel()[np.argmax(value)]


def test_rows_that_determine_no_line():
    """Equal scores, one outcome, one row, and scores of 0 and 1, of which one is contradicted."""
    same = bc.clinical.calibration_curve([0, 1, 1], [0.2] * 3, rng=1)
    assert same.at(0.2).mean() > 0.3
    none = bc.clinical.calibration_curve(np.zeros(40), np.full(40, 0.3), rng=1)
    assert none.at(0.3).mean() < 0.05
    assert any("No row has outcome 1" in remark for remark in none.remarks)
    assert np.isfinite(bc.clinical.calibration_curve([1], [0.9], rng=1).ici.mean())
    ends = bc.clinical.calibration_curve([0, 1, 0, 1], [0.0, 1.0, 1.0, 0.5], rng=1)
    assert ends.p_calibrated == 0
    assert any("1 of 4 rows contradict" in remark for remark in ends.remarks)
    near = bc.clinical.calibration_curve([0, 0, 1, 1], [0.0, 5e-324, 1 - 2**-53, 1.0], rng=1)
    assert ((near.curve.values >= 0) & (near.curve.values <= 1)).all()


def test_many_rows_of_little_weight():
    """More than 200 scores are merged; the effective number is that of the rows."""
    rng = np.random.default_rng(5)
    x, weights = rng.normal(0, 1, 1000), rng.exponential(size=1000) ** 6
    y = (rng.random(1000) < expit(x)).astype(int)
    cv = bc.clinical.calibration_curve(y, expit(x), weights=weights, rng=1)
    assert isinstance(cv.posterior, LogisticCurvePosterior)
    assert len(cv.score) <= 200
    assert cv.counts.effective_rows == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    rc = bc.clinical.recalibration(y, expit(x), weights=weights, rng=1)
    assert cv.posterior.line.moments("slope")[0] == pytest.approx(rc.posterior.moments("slope")[0], abs=0.02)


def test_its_model_in_pymc_is_the_line(few):
    """The options of pooled curves do not belong to it; scores of exactly 0 or 1 have no line."""
    pytest.importorskip("pymc")
    model = bc.pymc_model(few)
    assert {each.name for each in model.free_RVs} == {"shift", "slope", "rate"}
    with pytest.raises(ValueError, match="`form` is an option of"):
        bc.pymc_model(few, form="smooth")
    with pytest.raises(ValueError, match="must have scores between 0 and 1"):
        bc.pymc_model(bc.clinical.calibration_curve([0, 1, 0, 1], [0.0, 1.0, 0.3, 0.5], draws=10, rng=1))
