"""Calibration intercept and slope at a horizon."""

from functools import partial

import numpy as np
import pytest
from censored_rows import simulated
from scipy.optimize import minimize
from scipy.special import expit, logit

import bayescal as bc
from bayescal.survival.horizon_counts import KnownRows
from bayescal.survival.rows import SurvivalRows


def too_extreme(n, seed, factor=1.5):
    rng = np.random.default_rng(seed)
    true = rng.beta(1.2, 2.4, n)
    died = (np.log(rng.random(n)) / np.log1p(-true)) ** 0.8
    lost = rng.exponential(1.5, n)
    return np.minimum(died, lost), died <= lost, expit(factor * logit(true)), died <= 1


def test_without_censoring_it_is_the_recalibration_of_known_outcomes():
    _, _, risk, known = too_extreme(600, 1)
    died = np.where(known, 0.5, 2.0)
    rc = bc.survival.recalibration(died, np.ones(600, int), risk, horizon=1, rng=1, draws=300)
    same = bc.clinical.recalibration(known, risk, rng=1, draws=300)
    assert rc.drawn == pytest.approx(same.drawn, rel=1e-9)
    assert rc.in_the_large.values == pytest.approx(same.in_the_large.values, abs=1e-7)
    assert rc.observed_expected.values == pytest.approx(same.observed_expected.values, rel=1e-9)


def test_the_mode_is_that_of_the_weighted_likelihood():
    """Flat prior: the posterior mean is near the maximum of the likelihood of the rows with their effective numbers."""
    time, event, risk, _ = too_extreme(2000, 2)
    rc = bc.survival.recalibration(time, event, risk, horizon=1, rng=1, prior="flat", draws=300)
    known = KnownRows.of_rows(SurvivalRows.read(time, event, risk), 1.0, risk)
    x = logit(risk)

    def loss(line):
        eta = line[0] + line[1] * x
        return float(known.effective @ (np.logaddexp(0, eta) - known.outcome * eta))

    best = minimize(loss, [0.0, 1.0]).x
    for name, value in zip(("intercept", "slope"), best, strict=True):
        mean, sd = rc.posterior.moments(name)
        assert abs(mean - value) < 0.1 * sd
    assert rc.exact_interval("slope")[0] < 1 / 1.5 < rc.exact_interval("slope")[1]


def test_masses_are_those_of_all_rows():
    """Rows with large risks are censored early: their share in observed / expected is that of all rows."""
    time, event, risk, known = too_extreme(3000, 3)
    rng = np.random.default_rng(4)
    early = np.where(risk > 0.5, rng.exponential(0.5, 3000), np.inf)
    event, time = np.where(early < time, 0, event), np.minimum(time, early)
    rc = bc.survival.recalibration(time, event, risk, horizon=1, rng=1, draws=1000)
    assert rc.counts.mass.sum() == pytest.approx(3000, rel=1e-9)
    assert rc.observed_expected.mean() == pytest.approx(known.mean() / risk.mean(), abs=4 * rc.observed_expected.sd())
    assert f"worth {rc.counts.n.sum():.0f} rows without censoring" in rc.spec
    assert "slope" in str(rc)
    assert rc.to_dict()["spec"] == rc.spec
    with pytest.raises(TypeError, match="cannot be added"):
        rc.counts + rc.counts


def test_refusals_name_the_risk():
    time, event, risk = simulated(100)
    event[0], time[0], risk[0] = 1, 0.1, 0.0
    with pytest.raises(ValueError, match=r"`risk` must not be exactly 0 for rows with outcome 1"):
        bc.survival.recalibration(time, event, risk, horizon=0.5)
    floored = bc.survival.recalibration(time, event, risk, horizon=0.5, floor=1e-3, rng=1, draws=100)
    assert floored.floor == 1e-3
    assert "at least 0.001 from 0 and 1" in floored.spec
    with pytest.raises(ValueError, match=r"`risk` must have at least two distinct values"):
        bc.survival.recalibration(time, event, np.full(100, 0.3), horizon=0.5)
    with pytest.raises(ValueError, match="`floor`"):
        bc.survival.recalibration(time, event, risk, horizon=0.5, floor=0.7)


def test_rows_of_weight_zero_change_nothing():
    """Also in decision curves: strata are those of the rows of positive weight."""
    time, event, risk, _ = too_extreme(600, 5)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 600)
    kept = weights > 0
    for verb in (bc.survival.recalibration, partial(bc.survival.net_benefit, thresholds=[0.2, 0.5])):
        whole = verb(time, event, risk, weights=weights, horizon=0.8, draws=200, rng=1)
        part = verb(time[kept], event[kept], risk[kept], weights=weights[kept], horizon=0.8, draws=200, rng=1)
        for name in ("mean", "sd", "low", "high"):
            values = [[row[name] for row in each.table()] for each in (whole, part)]
            np.testing.assert_allclose(*values, rtol=1e-9, err_msg=name)


def test_weights_are_named_only_if_there_are_any():
    time, event, risk, _ = too_extreme(300, 6)
    plain = bc.survival.recalibration(time, event, risk, horizon=0.8, draws=50, rng=1)
    weighted = bc.survival.recalibration(time, event, risk, weights=1 + risk, horizon=0.8, draws=50, rng=1)
    assert ("weighted" in plain.spec, "weighted" in weighted.spec) == (False, True)


def test_equal_risks_lead_to_a_measure_of_censored_rows():
    time, event, risk, _ = too_extreme(300, 7)
    with pytest.raises(ValueError, match=r"`risk` must have .* use `survival\.evaluate\(.*\)\.observed_expected`"):
        bc.survival.recalibration(time, event, np.full_like(risk, 0.3), horizon=0.8)
