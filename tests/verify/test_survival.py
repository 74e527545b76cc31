"""Product limits and their moments: against simulation of a bootstrap, binomial counts, and hazards in PyMC."""

import numpy as np
import pytest

from bayescal.verify import references
from bayescal.verify.agreement import agreement
from bayescal.verify.clinical.survival import SurvivalTwin, beta_stacy_moments, risk_sets, simulated_rows


def test_without_censoring_the_moments_are_those_of_a_beta_distribution():
    """1 - S is Beta(k, n - k)."""
    time, event = np.arange(1.0, 21.0), np.ones(20, int)
    mean, variance = beta_stacy_moments(time, event, 7.5)
    assert mean == pytest.approx(7 / 20)
    assert variance == pytest.approx(0.35 * 0.65 / 21)


def test_moments_of_simulated_products(close_to):
    twin = simulated_rows()
    events, at_risk = risk_sets(twin.time, twin.event, twin.horizon)
    drawn = 1 - np.random.default_rng(2).beta(at_risk - events, events, (40_000, len(events))).prod(axis=1)
    mean, variance = beta_stacy_moments(twin.time, twin.event, twin.horizon)
    close_to(drawn.mean(), mean, drawn.std() / 200)
    close_to(drawn.var(), variance, drawn.var() * np.sqrt(2 / 40_000))


def test_nuts_agrees():
    twin = simulated_rows(40, seed=3)
    assert 0 < np.mean((twin.event == 0) & (twin.time < 1)) < 1
    found = agreement(twin, draws=4000, rng=1)
    assert found.agrees, found.verdict
    assert [row["quantity"] for row in found.rows] == ["incidence", "first half"]


def test_rows_that_ignore_censoring_do_not_agree(monkeypatch):
    """Chains that take censored rows as free of events, made without PyMC."""
    import arviz as az

    twin = simulated_rows()
    known = SurvivalTwin(np.where(twin.event == 0, 9.0, twin.time), twin.event, 1.0)
    events, at_risk = risk_sets(known.time, known.event, 1.0)

    def chains(model, draws, target_accept, seed, progress):
        hazard = np.random.default_rng(seed).beta(events, at_risk - events, (4, draws // 4, len(events)))
        flags = np.zeros((4, draws // 4), bool)
        return az.from_dict({"posterior": {"eta": np.log(hazard / (1 - hazard))}, "sample_stats": {"diverging": flags}})

    monkeypatch.setattr(references, "_chains", chains)
    found = agreement(twin, draws=4000, rng=1)
    assert any(row["quantity"] == "incidence" for row in found.apart)
