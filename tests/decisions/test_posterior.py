"""The Dirichlet process of outcome and scores: moments by quadrature and by derivation, margins, thresholds."""

import numpy as np
import pytest
from exact_moments import difference_mean_and_sd
from scipy import stats

from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.posterior import ScoreCellsPosterior, base_shares
from bayescal.decisions.thresholds import gain_of_treating, net_benefit_of, share_treated

T = np.array([0.05, 0.1, 0.2, 0.5, 0.8])


def counts(names="a", n=120, thresholds=T, weights=False):
    rng = np.random.default_rng(3)
    p = {"a": rng.beta(1, 2, n)}
    p["b"] = np.clip(p["a"] + 0.2 * rng.standard_normal(n), 0, 1)
    p["c"] = np.sqrt(p["a"])
    y = rng.random(n) < p["a"]
    w = rng.exponential(size=n) if weights else None
    return ThresholdCounts.from_arrays(y, {name: p[name] for name in names}, thresholds, weights=w)


def test_moments_of_one_threshold_by_hand():
    """Three rows and 4 pseudo-rows, half of them treated: parameters 1 + 1 (outcome 0) and 2 + 1 (outcome 1) of 7."""
    of = ThresholdCounts.from_arrays([0, 1, 1], [0.6, 0.7, 0.9], 0.5)
    mean, sd = ScoreCellsPosterior(of, 4.0, given_outcome=False).mean_and_sd(gain_of_treating(np.array([0.5])))
    assert mean[0, 0] == pytest.approx(3 / 7 - 2 / 7)
    # variance of q1 - q0 of a Dirichlet: Var q1 + Var q0 + 2 q1 q0 / (A + 1)
    variance = (3 / 7 * 4 / 7 + 2 / 7 * 5 / 7 + 2 * 3 / 7 * 2 / 7) / 8
    assert sd[0, 0] == pytest.approx(np.sqrt(variance))


def test_known_prevalence_gives_two_independent_betas():
    of = ThresholdCounts.from_arrays([0, 0, 1, 1], [0.6, 0.1, 0.7, 0.9], 0.5)
    gain = gain_of_treating(np.array([0.5]), 0.3)
    mean, sd = ScoreCellsPosterior(of, 4.0, given_outcome=True).mean_and_sd(gain)
    sensitivity, false = stats.beta(2 + 1, 0 + 1), stats.beta(1 + 1, 1 + 1)
    assert mean[0, 0] == pytest.approx(0.3 * sensitivity.mean() - 0.7 * false.mean())
    assert sd[0, 0] == pytest.approx(np.hypot(0.3 * sensitivity.std(), 0.7 * false.std()))


@pytest.mark.parametrize("given_outcome", [False, True])
@pytest.mark.parametrize(("names", "weights"), [("a", False), ("abc", False), ("ab", True)])
def test_draws_have_the_exact_moments(names, weights, given_outcome, close_to, mcse):
    posterior = ScoreCellsPosterior(counts(names, weights=weights), 4.0, given_outcome)
    gain = gain_of_treating(T, 0.3 if given_outcome else None)
    drawn = net_benefit_of(share_treated(posterior.sample(20_000, rng=1)), gain)
    mean, sd = posterior.mean_and_sd(gain)
    close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
    close_to(drawn.std(axis=0, ddof=1), sd, mcse.sd(drawn))
    if len(names) > 1:
        gap = drawn[:, 0] - drawn[:, 1]
        mean, sd = difference_mean_and_sd(posterior, 0, 1, gain)
        close_to(gap.mean(axis=0), mean, mcse.mean(gap))
        close_to(gap.std(axis=0, ddof=1), sd, mcse.sd(gap))


def test_margins_of_several_models_are_those_of_one():
    """Kolmogorov-Smirnov on 10 numbers; each P-value is below 1e-4 by chance once in 10 000."""
    single, gain = ScoreCellsPosterior(counts("a"), 4.0, given_outcome=False), gain_of_treating(T)
    joint = ScoreCellsPosterior(counts("abc"), 4.0, given_outcome=False)
    one = net_benefit_of(share_treated(single.sample(20_000, rng=1)), gain)[:, 0]
    many = net_benefit_of(share_treated(joint.sample(20_000, rng=2)), gain)[:, 0]
    np.testing.assert_allclose(joint.mean_and_sd(gain)[0][0], single.mean_and_sd(gain)[0][0], rtol=1e-12)
    for k in range(len(T)):
        assert stats.ks_2samp(one[:, k], many[:, k]).pvalue > 1e-4


def test_the_prior_of_a_difference_is_that_of_the_product_cells():
    """Without rows, the joint cells of two models at one threshold are one Dirichlet, with parameters 4 w1 w2 / 2.

    A score is below 0.3 with probability 0.45 + 0.1 * 0.3.
    """
    empty = ThresholdCounts.empty([0.3], ["a", "b"])
    posterior = ScoreCellsPosterior(empty, 4.0, given_outcome=False)
    drawn = share_treated(posterior.sample(20_000, rng=1))[..., 0]
    gap = drawn[:, 0, 1] - drawn[:, 1, 1]
    alpha = 2 * np.outer([0.48, 0.52], [0.48, 0.52])
    cells = np.random.default_rng(2).dirichlet(np.concatenate([alpha.ravel(), alpha.ravel()]), 20_000)
    expected = cells[:, 2] - cells[:, 1]
    # half of the mass of the difference is near 0, so that both samples have ties only by chance
    assert stats.ks_2samp(gap, expected).pvalue > 1e-4


@pytest.mark.parametrize("t", [0.001, 0.01, 0.5, 0.99, 0.999])
def test_the_prior_is_nearly_the_same_at_every_threshold(t):
    """Of 3 pseudo-rows, nearly 3 / 4 are treated rows of each outcome, and 3 / 8 those of one of two models only."""
    empty = ThresholdCounts.empty([t], ["a", "b"])
    posterior = ScoreCellsPosterior(empty, 3.0, given_outcome=False)
    np.testing.assert_allclose(posterior.parameters(0), 3 / 4, atol=0.075 + 1e-12)
    drawn = share_treated(posterior.sample(20_000, rng=1))[..., 1, 0]
    # E (p - q)^2 of two cells that only one model treats: 2 c (1 / 8 of the prior) / (3 * 4)
    alone = 3 / 2 * (0.45 + 0.1 * t) * (0.55 - 0.1 * t)
    assert np.mean((drawn[:, 0] - drawn[:, 1]) ** 2) == pytest.approx(2 * alone / 12, rel=0.06)


def test_false_positives_that_were_not_seen_are_possible():
    """None among 60 treated rows at 0.99: the upper end is that of a Beta, with 0.75 pseudo-rows, not near 0."""
    of = ThresholdCounts.from_arrays(np.repeat([1, 0], [60, 40]), np.repeat([0.995, 0.2], [60, 40]), 0.99)
    false = share_treated(ScoreCellsPosterior(of, 3.0, given_outcome=False).sample(20_000, rng=1))[:, 0, 0, 0]
    a = 1.5 * (0.45 + 0.1 * 0.01)
    assert np.quantile(false, 0.975) == pytest.approx(stats.beta(a, 103 - a).ppf(0.975), rel=0.05)
    assert np.quantile(false, 0.975) > 0.025


@pytest.mark.parametrize("names", ["a", "ab"])
def test_other_thresholds_do_not_change_the_posterior(names):
    one = ScoreCellsPosterior(counts(names, thresholds=[0.2]), 4.0, given_outcome=False)
    many = ScoreCellsPosterior(counts(names), 4.0, given_outcome=False)
    for few, more in zip(one.mean_and_sd(gain_of_treating(T[2:3])), many.mean_and_sd(gain_of_treating(T)), strict=True):
        np.testing.assert_allclose(few[:, 0], more[:, 2], rtol=1e-12)


@pytest.mark.parametrize("names", ["a", "abc"])
def test_draws_are_probabilities(names):
    mass = ScoreCellsPosterior(counts(names), 4.0, given_outcome=False).sample(200, rng=1)
    assert mass.shape == (200, len(names), 2, len(T) + 1)
    assert (mass >= 0).all()
    np.testing.assert_allclose(mass.sum(axis=(2, 3)), 1, rtol=1e-12)
    # all models have the same rows and the same atoms, so the share of outcome 1 is the same
    np.testing.assert_allclose(mass[:, :, 1].sum(axis=2), mass[:, :1, 1].sum(axis=2) * np.ones(len(names)), rtol=1e-9)
    given = ScoreCellsPosterior(counts(names), 4.0, given_outcome=True).sample(200, rng=1)
    np.testing.assert_allclose(given.sum(axis=3), 1, rtol=1e-12)


def test_draws_do_not_depend_on_the_size_of_chunks(monkeypatch):
    posterior = ScoreCellsPosterior(counts("abc"), 4.0, given_outcome=False)
    whole = posterior.sample(100, rng=1)
    monkeypatch.setattr("bayescal.decisions.posterior.CHUNK", 700)
    np.testing.assert_allclose(posterior.sample(100, rng=1), whole, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("pseudo_rows", [0.1, 1.0, 4.0, 100.0])
def test_atoms_hold_the_mass_of_the_prior(pseudo_rows, close_to, mcse):
    """The mass of stick-breaking is Gamma(a), and its shares have E sum v^2 = 1 / (1 + a)."""
    posterior = ScoreCellsPosterior(ThresholdCounts.empty(T, ["a", "b"]), pseudo_rows, given_outcome=False)
    atoms, _ = posterior._atoms(20_000, np.random.default_rng(1))
    total = atoms.sum(axis=1)
    close_to(total.mean(), pseudo_rows, mcse.mean(total))
    share = ((atoms / total[:, None]) ** 2).sum(axis=1)
    close_to(share.mean(), 1 / (1 + pseudo_rows), mcse.mean(share))


@pytest.mark.parametrize("pseudo_rows", [0.01, 1000.0])
def test_pseudo_rows_out_of_range(pseudo_rows):
    with pytest.raises(ValueError, match=r"`pseudo_rows` must give numbers of rows in \[0.1, 100\]"):
        ScoreCellsPosterior(counts(), pseudo_rows, given_outcome=False)


def test_example_of_base_shares():
    np.testing.assert_allclose(base_shares(np.array([0.2, 0.7])), [0.47, 0.05, 0.48], rtol=1e-12)
