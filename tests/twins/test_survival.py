"""Product limits and their moments: against simulation of a bootstrap, binomial counts, and hazards in PyMC."""

import numpy as np
import pytest
from twins.survival import SurvivalTwin, beta_stacy_moments, risk_sets, simulated_rows

from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.rows import SurvivalRows
from bayescal.verify import chains as module
from bayescal.verify.chains import agreement


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


@pytest.mark.slow
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

    monkeypatch.setattr(module, "_chains", chains)
    found = agreement(twin, draws=4000, rng=1)
    assert any(row["quantity"] == "incidence" for row in found.apart)


def piecewise_model(rows, horizon, bins, pieces=5):
    r"""Write a whole model of survival by bin in PyMC, with hazards that are constant on pieces of equal length.

    Its probabilities of an event, ``theta``, shape (n_bins,), are compared with effective counts, which use none of its
    assumptions. The cumulative hazard of bin b is :math:`-\log(1 - \theta_b) \Pi(u)` with uniform :math:`\theta_b`, and
    one shape for all bins: shares of the pieces with a uniform Dirichlet prior. Rows have one cause and no weights.
    """
    import pymc as pm

    at, ends = bin_index(rows.risk, bins), np.linspace(0, horizon, pieces + 1)
    inside = np.clip(rows.time[:, None] - ends[:-1], 0, np.diff(ends)) / np.diff(ends)
    exposed = np.stack([np.bincount(at, each, len(bins)) for each in inside.T], axis=1)
    hit = (rows.event == 1) & (rows.time <= horizon)
    piece = np.minimum((rows.time[hit] / horizon * pieces).astype(int), pieces - 1)
    events = np.zeros(exposed.shape)
    np.add.at(events, (at[hit], piece), 1.0)
    with pm.Model(coords={"bin": np.arange(len(bins)), "piece": np.arange(pieces)}) as model:
        theta = pm.Uniform("theta", 0.0, 1.0, dims="bin")
        shares = pm.Dirichlet("shares", np.ones(pieces), dims="piece")
        rate = -pm.math.log1p(-theta)[:, None] * shares[None, :]
        pm.Potential("exits", (events * pm.math.log(rate) - rate * exposed).sum())
    return model


@pytest.mark.measuring
def test_effective_counts_agree_with_a_whole_model():
    """Uniform priors in both: means differ by less than 4 standard deviations of the difference, about 3 in 10 000.

    The model in PyMC knows the shape of the hazard of all bins together, so that its standard deviations are smaller on
    average: effective counts err on the safe side. Between an efficient estimate and another one, the variance of the
    difference is the difference of the variances (Hausman 1978, Econometrica 46).
    """
    import pymc as pm

    rng = np.random.default_rng(1)
    risk = rng.beta(1.2, 2.4, 800)
    died = (np.log(rng.random(800)) / np.log1p(-risk)) ** (1 / 1.3)
    lost = rng.exponential(1.0, 800) / np.exp(2 * (risk - 0.3))
    rows = SurvivalRows.read(np.minimum(died, lost), died <= lost, risk)
    bins = make_bins([0, 0.15, 0.3, 0.45, 0.6, 1])
    counts = HorizonCounts.from_rows(rows, 1.0, bins)
    assert counts.n_censored.sum() > 300
    with piecewise_model(rows, 1.0, bins):
        tree = pm.sample(
            500, tune=500, chains=2, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    theta = tree.posterior["theta"].values.reshape(-1, len(bins))
    a, b = counts.effective_k + 1, counts.effective_n - counts.effective_k + 1
    mean, sd = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    own = theta.std(axis=0)
    of_difference = np.sqrt(np.maximum(sd**2 - own**2, 0.05 * sd**2))
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 4 * of_difference)
    assert np.all(own < 1.15 * sd)
    assert np.all(own > 0.6 * sd)
    assert np.mean(own / sd) < 1.0
    # counting censored rows as free of events is far from it
    naive = (counts.k + 1) / (counts.n + 2)
    assert np.abs(theta.mean(axis=0) - naive).max() > 3 * sd.max()
