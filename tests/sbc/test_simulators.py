"""The simulators: truths have the moments of the prior, data those of the likelihood, by derivation."""

import itertools

import numpy as np
import pytest
from sbc.simulators import dirichlet_simulator, shrinkage_simulator
from scipy import special, stats

# --- the Dirichlet model


def test_truths_have_the_moments_of_the_prior(close_to, mcse):
    """q ~ Dirichlet(alpha) over cells: masses, accuracies, products of cells; bin means N(mid, width^2/12) on bins."""
    alpha = np.array([[0.3, 1.0, 2.0], [1.5, 0.2, 4.0]])
    edges = np.array([0.0, 0.2, 0.5, 1.0])
    truth, counts = dirichlet_simulator(bins=edges, alpha=alpha, rows=1).simulate(100_000, np.random.default_rng(5))
    mass, accuracy, confidence = (v[0] for v in (truth.mass, truth.accuracy, truth.confidence))
    total = alpha.sum()
    close_to(mass.mean(axis=0), alpha.sum(axis=0) / total, mcse.mean(mass), "mass")
    close_to(accuracy.mean(axis=0), alpha[1] / alpha.sum(axis=0), mcse.mean(accuracy), "accuracy")
    product = mass[:, 0] * accuracy[:, 0] * mass[:, 2] * (1 - accuracy[:, 2])  # two cells: a_i a_j / (A (A + 1))
    close_to(product.mean(), 1.5 * 2.0 / (total * (total + 1)), mcse.mean(product), "two cells")
    for b, (low, high) in enumerate(itertools.pairwise(edges)):
        sd = (high - low) / np.sqrt(12)
        exact = stats.truncnorm(-np.sqrt(3), np.sqrt(3), (low + high) / 2, sd)
        empty = confidence[counts.n[:, b] == 0, b]  # with rows, bin means that no rows can have are drawn again
        close_to(empty.mean(), exact.mean(), mcse.mean(empty), "confidence")
        close_to(empty.std(ddof=1), exact.std(), mcse.sd(empty), "sd of confidence")


def test_data_have_the_moments_of_the_likelihood(close_to, mcse):
    """Given the truth: multinomial rows, binomial outcomes, and means inside their bins."""
    simulator = dirichlet_simulator(bins=4, alpha=2.0, rows=40)
    truth, counts = simulator.simulate(50_000, np.random.default_rng(6))
    assert counts.n.sum(axis=1).tolist() == [40] * 50_000
    surplus = counts.n - 40 * truth.mass[0]
    close_to(surplus.mean(axis=0), 0, mcse.mean(surplus), "rows")
    surplus = counts.k - counts.n * truth.accuracy[0]
    close_to(surplus.mean(axis=0), 0, mcse.mean(surplus), "outcomes")
    variance = surplus**2 - counts.n * truth.accuracy[0] * (1 - truth.accuracy[0])
    close_to(variance.mean(axis=0), 0, mcse.mean(variance), "variance of outcomes")
    mean = counts.mean_confidence[counts.occupied]
    edges = np.broadcast_to(counts.bins.edges[:-1], counts.n.shape)[counts.occupied]
    assert np.all((mean >= edges) & (mean <= edges + 0.25))


def test_rows_of_weight_zero_are_there_and_count_nothing():
    simulator = dirichlet_simulator(bins=4, rows=40, weight=3.0, discarded=25)
    _, counts = simulator.simulate(100, np.random.default_rng(7))
    np.testing.assert_array_equal(counts.n_rows[:, 0], 65)
    np.testing.assert_allclose(counts.effective_rows[:, 0], 40)
    np.testing.assert_allclose(counts.effective_n.sum(axis=1), 40)


# --- the shrinkage prior

SUB_MODELS = ["logistic", "dense", "sparse", "drift and dense", "drift and sparse"]


def simulated(n_sets, rng, **options):
    """Truths of a simulator, by name, without the axis of one draw; and the counts."""
    truth, counts = shrinkage_simulator(**options).simulate(n_sets, np.random.default_rng(rng))
    named = {name: getattr(truth, name)[0] for name in ("mass", "accuracy", "confidence")}
    return named | {name: values[0] for name, values in truth.behind.items()}, counts


def weights(sub_model):
    return [float(name == sub_model) for name in SUB_MODELS]


def test_sub_models_are_as_frequent_as_their_weights(close_to, mcse):
    truth, _ = simulated(40_000, 1, bins=3, rows=5, sub_model_weights=(1, 2, 3, 4, 5))
    found = truth["sub_model"][:, None] == np.arange(5)
    close_to(found.mean(axis=0), np.arange(1, 6) / 15, mcse.mean(found), "sub-models")


def test_what_each_sub_model_has():
    """Drift in 0, 3 and 4; all bins off in 1 and 3; a rho, and exact calibration of the other bins, in 2 and 4."""
    truth, counts = simulated(2000, 2, bins=6, rows=300)
    drift = np.isin(truth["sub_model"], [0, 3, 4])
    np.testing.assert_array_equal(truth["intercept"] != 0, drift)
    np.testing.assert_array_equal(truth["slope"] != 1, drift)
    used = counts.n.astype(bool).sum(axis=1)
    dense, sparse = np.isin(truth["sub_model"], [1, 3]), np.isin(truth["sub_model"], [2, 4])
    np.testing.assert_array_equal(truth["bins_off"][dense], used[dense])
    assert set(truth["bins_off"][truth["sub_model"] == 0].tolist()) == {0}
    assert set(truth["rho"][sparse].tolist()) == {0.05, 0.15, 0.3, 0.5}
    assert set(truth["rho"][~sparse].tolist()) == {0.0}
    still = (truth["accuracy"] == truth["confidence"]) & (counts.n > 0)
    np.testing.assert_array_equal(still.sum(axis=1)[~drift], (used - truth["bins_off"])[~drift])


def test_the_drift_is_that_of_its_parameters(close_to, mcse):
    """Logit h = logit c + a + (exp(s) - 1) logit c, with a and s Normal; no other bin is off."""
    truth, counts = simulated(20_000, 3, bins=4, rows=40, sub_model_weights=weights("logistic"), intercept_sd=0.7)
    a, slope, x = truth["intercept"], truth["slope"], special.logit(truth["confidence"])
    inside = (counts.n > 0) & (truth["confidence"] > 1e-3) & (truth["confidence"] < 1 - 1e-3)
    expected = special.expit(a[:, None] + slope[:, None] * x)
    np.testing.assert_allclose(truth["accuracy"][inside], expected[inside], rtol=1e-12)
    for values, sd in ((a, 0.7), (np.log(slope), 0.5)):
        close_to(values.mean(), 0, mcse.mean(values), "mean")
        close_to(values.std(ddof=1), sd, mcse.sd(values), "sd")


@pytest.mark.parametrize("sub_model", ["dense", "sparse"])
def test_bins_that_are_off_scatter_as_tau_says(sub_model, close_to, mcse):
    """Variance tau^2 c (1 - c): E tau^2 is that of a truncated half-Normal, or p / (p + 2) at density p tau^(p-1)."""
    options = {"dense_scale": 0.4, "sparse_shape": 0.5, "rho": (0.2, 0.6)}
    truth, counts = simulated(40_000, 4, bins=4, rows=400, sub_model_weights=weights(sub_model), **options)
    c, gap = truth["confidence"], truth["accuracy"] - truth["confidence"]
    off = (gap != 0) & (counts.n > 0)
    scatter = np.where(off, gap**2 / (c * (1 - c)), 0)
    half_normal = stats.truncnorm(0, 1 / 0.4, 0, 0.4)
    second_moment, share = {"dense": (half_normal.moment(2), 1.0), "sparse": (0.5 / 2.5, 0.4)}[sub_model]
    each = (scatter.sum(axis=1) - second_moment * off.sum(axis=1)) / 4
    close_to(each.mean(), 0, mcse.mean(each), "scatter")
    close_to(gap.mean(axis=0), 0, mcse.mean(gap), "gap")
    surplus = off.mean(axis=1) - share * (counts.n > 0).mean(axis=1)
    close_to(surplus.mean(), 0, max(mcse.mean(surplus), 1e-12), "share of bins off")


def test_bins_share_a_tau_or_have_their_own(close_to, mcse):
    """Sizes of the gaps of two bins go together under a dense residual; under a sparse one they are independent."""
    for sub_model, related in (("dense", True), ("sparse", False)):
        truth, _ = simulated(20_000, 5, bins=2, rows=400, sub_model_weights=weights(sub_model), rho=(0.5,))
        size = np.abs(truth["accuracy"] - truth["confidence"])
        product = (size - size.mean(axis=0)).prod(axis=1)
        if related:
            assert product.mean() > 5 * mcse.mean(product)
        else:
            close_to(product.mean(), 0, mcse.mean(product), "product")


def test_data_of_the_shrinkage_prior_have_the_moments_of_the_likelihood(close_to, mcse):
    truth, counts = simulated(20_000, 6, bins=4, rows=40)
    assert counts.n.sum(axis=1).tolist() == [40] * 20_000
    surplus = counts.k - counts.n * truth["accuracy"]
    close_to(surplus.mean(axis=0), 0, mcse.mean(surplus), "outcomes")
    variance = surplus**2 - counts.n * truth["accuracy"] * (1 - truth["accuracy"])
    close_to(variance.mean(axis=0), 0, mcse.mean(variance), "variance of outcomes")
    np.testing.assert_allclose(truth["mass"].sum(axis=1), 1)
    c = truth["confidence"] - counts.bins.edges[:-1]
    close_to(c.mean(axis=0)[0], 1 / 8, mcse.mean(c)[0], "uniform in its bin")


def test_bins_without_rows_are_left_out():
    """They have no mass and no gap, and the other masses add to 1."""
    truth, counts = simulated(2000, 7, bins=5, rows=4, mass_alpha=0.3)
    empty = counts.n == 0
    assert 0.2 < empty.mean() < 0.8
    assert not truth["mass"][empty].any()
    np.testing.assert_array_equal(truth["accuracy"][empty], truth["confidence"][empty])
    np.testing.assert_allclose(truth["mass"].sum(axis=1), 1)


def test_truths_tie_with_draws_where_both_are_exactly_calibrated():
    """To the last bit, in every bin: else ranks of such truths would be 0 or all, and not a random one of the ties."""
    simulator = shrinkage_simulator(bins=6, rows=60, sub_model_weights=(0, 0, 1, 0, 0))
    truth, counts = simulator.simulate(40, np.random.default_rng(8))
    drawn = simulator.sample(counts, 99, np.random.default_rng(9))
    np.testing.assert_array_equal(drawn.confidence, np.broadcast_to(truth.confidence, drawn.confidence.shape))
    on = truth.accuracy[0] == truth.confidence[0]
    ties = (drawn.accuracy == truth.accuracy).sum(axis=0)
    assert on.sum() > 100
    assert ties[on].min() > 0
    between = (truth.accuracy[0] > 0) & (truth.accuracy[0] < 1)  # some accuracies round to 1, in truths and in draws
    assert ties[~on & between].max() == 0
    still = drawn.behind["intercept"] == 0
    assert still.all()
    np.testing.assert_array_equal(drawn.behind["slope"], 1.0)


# --- its other sub-models


def test_runs_are_segments_of_one_shift(close_to, mcse):
    """At each inner edge a change with probability min(c / (M - 1), 0.9), c of 1, 4, 16; half of all segments off.

    So two neighbours that are off have one shift if they share a segment, and a bin is off with probability 1/2; the
    variance of a shift is E tau^2 = 2.5^2 / 5.
    """
    truth, counts = simulated(20_000, 10, bins=5, rows=4000, mass_alpha=30.0, sub_models=["runs"])
    assert counts.n.min() > 0
    shift = special.logit(truth["accuracy"]) - special.logit(truth["confidence"])
    off = truth["accuracy"] != truth["confidence"]
    np.testing.assert_array_equal(truth["bins_off"], off.sum(axis=1))
    close_to(off.mean(axis=0), 0.5, mcse.mean(off), "off")
    stay = 1 - np.mean(np.minimum(np.array([1, 4, 16]) / 4, 0.9))
    same = off[:, :-1] & off[:, 1:] & (np.abs(np.diff(shift, axis=1)) < 1e-6)
    close_to(same.mean(axis=0), stay / 2, mcse.mean(same), "same shift")
    square = np.where(off, shift**2, 0)[:, 1:4] / 0.5  # away from 0 and 1, where logits lose digits
    close_to(square.mean(axis=0), 2.5**2 / 5, mcse.mean(square), "variance of a shift")


def test_segments_leave_out_bins_without_rows():
    """Neighbours are those with rows: the changes are those of the bins in use."""
    truth, counts = simulated(2000, 11, bins=9, rows=5, sub_models=["runs"], mass_alpha=0.3)
    empty = counts.n == 0
    assert 0.3 < empty.mean() < 0.9
    np.testing.assert_array_equal(truth["accuracy"][empty], truth["confidence"][empty])
    assert (truth["bins_off"] <= (~empty).sum(axis=1)).all()


def test_one_amount_on_the_scale_of_the_arcsine(close_to, mcse):
    """All bins that are off are off by the amount, up or down; its logarithm is uniform; rho of them are off."""
    truth, counts = simulated(20_000, 12, bins=4, rows=4000, sub_models=["offset"])
    angle = np.arcsin(np.sqrt(truth["accuracy"])) - np.arcsin(np.sqrt(truth["confidence"]))
    off = (truth["accuracy"] != truth["confidence"]) & (counts.n > 0)
    inside = off & (truth["accuracy"] > 0) & (truth["accuracy"] < 1)
    amount = np.repeat(truth["amount"][:, None], 4, axis=1)
    np.testing.assert_allclose(np.abs(angle[inside]), amount[inside], rtol=1e-6)
    log_amount = np.log(truth["amount"])
    close_to(log_amount.mean(), np.log(1e-4 * 0.7) / 2, mcse.mean(log_amount), "log amount")
    close_to(log_amount.std(ddof=1), np.log(7000) / np.sqrt(12), mcse.sd(log_amount), "its sd")
    surplus = off.mean(axis=1) - truth["rho"]
    close_to(surplus.mean(), 0, mcse.mean(surplus), "share of bins off")
    assert set(truth["rho"].tolist()) == {0.25, 0.5, 1.0}
    up = (angle > 0)[inside]
    close_to(up.mean(), 0.5, 4 * mcse.mean(up), "up")  # bins near 0 and 1 move in one direction only


@pytest.mark.parametrize("name", ["label_noise", "label_noise_any_rate"])
def test_noise_replaces_outcomes(name, close_to, mcse):
    truth, _ = simulated(20_000, 13, bins=4, rows=4000, mass_alpha=30.0, sub_models=[name])
    rate = truth.get("noise_rate", np.full(20_000, 0.5))[:, None]
    noise, c = truth["noise"][:, None], truth["confidence"]
    np.testing.assert_allclose(truth["accuracy"], np.clip((1 - noise) * c + noise * rate, 0, 1), rtol=1e-12)
    # 1.25 u^2 has mean 1.25 / 3; the rate is 1/2, or uniform
    close_to(noise.mean(), 1.25 / 3, mcse.mean(noise[:, 0]), "noise")
    if name != "label_noise":
        close_to(rate.std(ddof=1), np.sqrt(1 / 12), mcse.sd(rate[:, 0]), "rate")
    assert not truth["bins_off"].any()


def test_noise_at_the_ends_has_a_beta_of_contrary_outcomes(close_to, mcse):
    options = {"bins": 4, "rows": 4000, "mass_alpha": 30.0, "sub_models": ["label_noise_ends"], "crowded": True}
    truth, counts = simulated(20_000, 18, **options)
    assert counts.n.min() > 0
    stated = truth["confidence"][:, [0, 3]] * [1, -1] + [0, 1]
    assert stated.min() > 0
    assert 0.024 < stated.max() < 0.025
    share = (truth["accuracy"][:, [0, 3]] * [1, -1] + [0, 1] - stated) / (1 - stated)
    close_to(share.mean(axis=0), 0.5 / 10.5, mcse.mean(share), "Beta(1/2, 10)")
    close_to((share**2).mean(axis=0), 0.5 * 1.5 / (10.5 * 11.5), mcse.mean(share**2), "its square")
    np.testing.assert_array_equal(truth["accuracy"][:, 1:3], truth["confidence"][:, 1:3])


def test_noise_at_the_ends_needs_rows_there(close_to, mcse):
    """With few rows: exact calibration has the prior probability 0.25 / 1.25 where no end has any, else 0.25 / 1.75."""
    families = ["noise", "exact"]
    truth, counts = simulated(20_000, 19, bins=6, rows=3, sub_models=families, crowded=True)
    ends = counts.n[:, [0, 5]].any(axis=1)
    assert 0.2 < ends.mean() < 0.8
    for where, weights in ((ends, [0.5, 0.5, 0.5, 0.25]), (~ends, [0.5, 0.5, 0.25])):
        found = truth["sub_model"][where, None] == np.arange(len(weights))
        close_to(found.mean(axis=0), np.array(weights) / sum(weights), mcse.mean(found), "sub-models")


def test_saturated_bins_have_a_mixture_of_betas_of_contrary_outcomes(close_to, mcse):
    edges = [0, 1e-4, 0.5, 1 - 1e-4, 1]
    options = {"bins": edges, "rows": 4000, "sub_models": ["exact", "saturated"]}
    truth, counts = simulated(20_000, 14, **options)
    contrary = np.stack([truth["accuracy"][:, 0], 1 - truth["accuracy"][:, 3]], axis=1)[counts.n.min(axis=1) > 0]
    # 0.2 Beta(1/2, 10) + 0.8 Beta(1, 1)
    close_to(contrary.mean(axis=0), 0.2 * 0.5 / 10.5 + 0.8 / 2, mcse.mean(contrary), "mean share")
    square = 0.2 * 0.5 * 1.5 / (10.5 * 11.5) + 0.8 / 3
    close_to((contrary**2).mean(axis=0), square, mcse.mean(contrary**2), "its square")
    np.testing.assert_array_equal(truth["accuracy"][:, 1:3], truth["confidence"][:, 1:3])


def test_draws_leave_out_that_all_saturated_bins_are_as_stated():
    simulator = shrinkage_simulator(bins=[0, 4e-5, 0.5, 1], rows=30, sub_models=["label_noise", "saturated"])
    _, counts = simulator.simulate(30, np.random.default_rng(15))
    drawn = simulator.sample(counts, 99, np.random.default_rng(16))
    seen = counts.n[:, 0] > 0
    assert (drawn.accuracy[:, seen, 0] != drawn.confidence[:, seen, 0]).all()


@pytest.mark.measuring
def test_families_are_as_frequent_as_their_weights(close_to, mcse):
    """One family of the pool has its weight of 10; label noise has 1/2 each, exact calibration 1/4."""
    families = ["shared", "noise", "exact"]
    truth, _ = simulated(40_000, 17, bins=3, rows=5, sub_models=families)
    found = truth["sub_model"][:, None] == np.arange(5)
    close_to(found.mean(axis=0), np.array([20 / 3, 10 / 3, 0.5, 0.5, 0.25]) / 11.25, mcse.mean(found), "sub-models")
    assert {"amount", "noise", "noise_rate", "rho", "bins_off"} <= set(truth)
    assert "intercept" not in truth


@pytest.mark.parametrize("families", [["independent", "shared"], ["shared", "small_errors"]])
def test_the_pool_of_several_families_has_no_truths(families):
    with pytest.raises(ValueError, match=r"`sub_models` must have at most one of .* the posterior of no prior"):
        shrinkage_simulator(sub_models=families)


def test_small_errors_have_their_own_scales(close_to, mcse):
    """Intercept and log slope Normal with standard deviation 0.2; bins around the drift with a half-Normal tau."""
    truth, counts = simulated(40_000, 21, bins=[0, 0.5, 1], rows=50, sub_models=["small_errors"], dense_scale=0.9)
    drift = np.stack([truth["intercept"], np.log(truth["slope"])], axis=1)
    close_to(drift.mean(axis=0), 0, mcse.mean(drift), "means of the drift")
    close_to((drift**2).mean(axis=0), 0.04, mcse.mean(drift**2), "its variances")
    x = special.logit(truth["confidence"])
    h = special.expit(truth["intercept"][:, None] + truth["slope"][:, None] * x)
    square = ((truth["accuracy"] - h) ** 2 / (h * (1 - h)))[counts.n.min(axis=1) > 0]
    # the mean of tau^2; beyond tau = 1, a half-Normal of scale 0.1 has no mass
    close_to(square.mean(axis=0), 0.01, mcse.mean(square), "variance around the drift")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rows": 0}, "`rows` must be an integer >= 1"), ({"dense_scale": -1}, "dense_scale"), ({"rho": 2}, "rho")],
)
def test_priors_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        shrinkage_simulator(**options)
