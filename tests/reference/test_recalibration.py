"""Intercept and slope against R's glm on seven data sets: maximum likelihood, Wald and profile intervals."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.clinical.slope.posterior import recalibration_posterior

#: Half of the 0.95 quantile of chi-square with one degree of freedom.
DEPTH = 1.920729
CALL = "glm(y~lp,binomial)"


@pytest.fixture(scope="module")
def glm(records, reference_data):
    """Numbers of R's glm, and posteriors under a flat prior with cells of 0.001."""
    found = {}
    for record in records("clinical"):
        if record["package"] == "stats" and record["call"].startswith(CALL):
            data = reference_data(record["data"])
            score, outcome = (np.asarray(data[name], float) for name in record["view"].split(" vs "))
            counts = bc.LogitCounts.from_arrays(outcome, score, step=0.001)
            found[record["data"]] = record["value"], counts, recalibration_posterior(counts, prior="flat")
    assert len(found) == 7
    return found


def ridge(posterior):
    """Slopes, and the log likelihood maximised over the intercept at each."""
    return posterior.b, posterior.log_mass.max(axis=0) - posterior.log_mass.max()


def test_the_mode_is_maximum_likelihood(glm):
    """The grid has a spacing of 0.05 standard deviations, so a parabola through three nodes finds the maximum."""
    for name, (value, _, posterior) in glm.items():
        b, height = ridge(posterior)
        i = int(height.argmax())
        curve = np.polyfit(b[i - 1 : i + 2] - b[i], height[i - 1 : i + 2], 2)
        at = b[i] - curve[1] / (2 * curve[0])
        assert at == pytest.approx(value["slope"], abs=0.01 * value["slope_se"]), name


def test_profile_intervals(glm):
    """Where the likelihood, maximised over the intercept, is 1.92 below its maximum."""
    for name, (value, _, posterior) in glm.items():
        b, height = ridge(posterior)
        i = int(height.argmax())
        low = np.interp(-DEPTH, height[: i + 1], b[: i + 1])
        high = np.interp(DEPTH, -height[i:], b[i:])
        assert [low, high] == pytest.approx(value["slope_profile95"], abs=0.01 * value["slope_se"]), name


def test_with_a_flat_prior_the_interval_is_nearly_the_profile_interval(glm):
    """To 0.003 for sets of 1000 rows and more; with 100 or 150 rows the likelihood is skewed."""
    for name in ("adult_sklearn", "fte_nfl", "cumdiff/cal_1000_1_2", "cumdiff/cal_10000_1_3"):
        value, _, posterior = glm[name]
        assert posterior.quantile("slope", [0.025, 0.975]) == pytest.approx(value["slope_profile95"], abs=0.003), name
        intercept = posterior.quantile("intercept", [0.025, 0.975])
        assert intercept == pytest.approx(value["intercept_joint_wald95"], abs=0.1 * value["intercept_joint_se"]), name


def test_wald_standard_errors(glm):
    for name in ("adult_sklearn", "fte_nfl", "cumdiff/cal_1000_1_2", "cumdiff/cal_10000_1_3"):
        value, _, posterior = glm[name]
        for key, reported in (("slope", "slope_se"), ("intercept", "intercept_joint_se")):
            assert posterior.moments(key)[1] == pytest.approx(value[reported], rel=0.01), (name, key)


def test_calibration_in_the_large(glm):
    """R fixes the slope at 1; the posterior of the shift has nearly the same mean, also if the slope is 0 or 0.65."""
    for name, (value, counts, _) in glm.items():
        rc = bc.recalibration_counts(counts, rng=1)
        assert rc.in_the_large.mean() == pytest.approx(value["citl"], abs=0.12 * value["citl_se"]), name
        if value["slope"] > 0.9:
            assert rc.in_the_large.sd() == pytest.approx(value["citl_se"], rel=0.06), name


def test_cells_of_the_default_width(glm):
    """They change mean and standard deviation by less than 3 % of the standard deviation."""
    for name, (_, counts, fine) in glm.items():
        coarse = recalibration_posterior(merged(counts), prior="flat")
        for key in ("intercept", "slope"):
            (mean, sd), (other, other_sd) = fine.moments(key), coarse.moments(key)
            assert other == pytest.approx(mean, abs=0.03 * sd), (name, key)
            assert other_sd == pytest.approx(sd, rel=0.03), (name, key)


def merged(counts):
    """The rows of narrow cells, at their mean logits, in cells of the default width."""
    p = 1 / (1 + np.exp(-np.repeat(counts.logit, 2)))
    y = np.tile([0, 1], len(counts.n))
    rows = np.stack([counts.n - counts.k, counts.k], axis=1).ravel()
    return bc.LogitCounts.from_arrays(np.repeat(y, rows.astype(int)), np.repeat(p, rows.astype(int)))


def test_football_forecasts_under_the_default_prior(glm):
    """NUTS, Binomial(n, expit(a + b x)) with the same two Normals: slope [0.792, 1.054], intercept [-0.219, -0.009]."""
    rc = bc.recalibration_counts(glm["fte_nfl"][1], rng=1)
    assert rc.exact_interval("slope") == pytest.approx((0.792, 1.054), abs=0.004)
    assert rc.exact_interval("intercept") == pytest.approx((-0.219, -0.009), abs=0.004)
