"""The smooth curve model: Laplace approximations against quadrature, evidences, and draws."""

import numpy as np
import pytest
from scipy import integrate, linalg, optimize, stats
from scipy.special import betaln, expit, log_expit, logit, logsumexp, softmax

import bayescal as bc
from bayescal.clinical.curve import posterior as smooth_curve
from bayescal.clinical.curve.knots import merge_to_knots
from bayescal.clinical.curve.posterior import FAMILIES, covariances, curve_posterior, laplace, smooth_curve_posterior
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import simulate
from bayescal.stats.ordered import OrderedSums, merge_scores


def counts_of(n_rows=600, bins=20, seed=1, **options):
    rows = simulate(n_rows, rng=seed, **{"population": "flat", **options})
    return merge_scores(OrderedSums.from_rows(Predictions.from_outcomes(rows.outcome, rows.confidence)), bins)


def log_likelihood(x, n, k, f):
    return np.sum(k * (x + f) + n * log_expit(-(x + f)), axis=-1)


@pytest.mark.parametrize(("n", "k", "error"), [(10, 3, 0.01), (10, 0, 0.04), (100, 30, 0.004), (400, 390, 0.005)])
def test_one_bin_against_quadrature(n, k, error):
    """Evidence, mean and sd of one deviation with prior sd 0.8; the error falls with rows of the rarer outcome."""
    x, variance = np.array([-0.3]), 0.64

    def integrand(f, power):
        prior = np.exp(-0.5 * f**2 / variance) / np.sqrt(2 * np.pi * variance)
        return f**power * np.exp(log_likelihood(x, n, k, f) - top) * prior

    top = log_likelihood(x, n, k, float(logit((k + 0.5) / (n + 1)) - x[0]))
    moments = [integrate.quad(integrand, -8, 8, args=(power,), points=[0.0], epsabs=1e-14)[0] for power in (0, 1, 2)]
    mode = optimize.minimize_scalar(lambda f: -integrand(f, 0), bounds=(-5, 5), options={"xatol": 1e-9}).x
    fit = laplace(x, np.array([float(n)]), np.array([float(k)]), np.full((1, 1, 1), variance))
    mean, sd = moments[1] / moments[0], np.sqrt(moments[2] / moments[0] - (moments[1] / moments[0]) ** 2)
    assert np.exp(fit.log_evidence[0] - top) == pytest.approx(moments[0], rel=error)
    # without the shift from mode to mean, the difference is a tenth of an sd if ten rows have the rarer outcome
    assert abs(fit.mean[0, 0] - mean) / sd < 0.12 / (min(k, n - k) + 1)
    assert fit.mode[0, 0] == pytest.approx(mode, abs=1e-6)
    assert np.sqrt(fit.covariance[0, 0, 0]) == pytest.approx(sd, rel=0.06)


def test_drift_against_quadrature():
    """The evidence of the drift with sd 0.5, an integral over intercept and slope, in twenty bins."""
    counts = counts_of(curve="temperature", strength=1.3)
    n, k, c = counts.effective_n, counts.effective_k, counts.mean_confidence
    x = logit(c)
    top = log_likelihood(x, n, k, 0.0)

    a, s = np.meshgrid(np.linspace(-1.5, 1.5, 301), np.linspace(-1.2, 1.2, 301), indexing="ij")
    prior = stats.norm.pdf(a, 0, 0.5) * stats.norm.pdf(s, 0, 0.5)
    density = np.exp(log_likelihood(x, n, k, a[..., None] + s[..., None] * x) - top) * prior
    exact = density.sum() * 0.01 * 0.008  # the trapezoidal rule is exact to rounding: the density ends within the grid
    posterior = smooth_curve_posterior(counts)
    assert posterior.covariances.sub_model[:4] == ["drift", "drift", "drift", "curve"]
    assert posterior.fits.log_evidence[2] - posterior.log_evidence_exact == pytest.approx(np.log(exact), abs=0.004)


def test_the_mode_and_the_covariance_of_a_curve():
    """At the mode k - n h = K^-1 f, and the covariance is (K^-1 + W)^-1; dense algebra from scipy."""
    counts = counts_of(n_rows=400, bins=12, curve="wave", strength=0.1)
    n, k, x = counts.effective_n, counts.effective_k, logit(counts.mean_confidence)
    rank = np.cumsum(counts.share) - counts.share / 2
    made = covariances(counts.mean_confidence, rank)
    assert made.sub_model == 3 * ["drift"] + 18 * ["curve"] + 54 * ["both"]
    assert made.share[:3].tolist() == [1 / 6, 1 / 6, 2 / 3]
    for key in ("drift", "curve", "both"):
        assert made.share[np.array(made.sub_model) == key].sum() == pytest.approx(1)
    assert made.share[[3, 20, 74]] == pytest.approx([1 / 36, 5 / 72, 2 / 3 * 5 / 72])
    fit = laplace(x, n, k, made.matrix)
    for j in (3, 13, 20, 74):  # sigma 0.025 and range 0.04; 0.2 and 0.1; 0.8 and 0.3; both
        f, prior = fit.mode[j], made.matrix[j]
        h = expit(x + f)
        np.testing.assert_allclose(prior @ (k - n * h), f, atol=1e-7)
        inverse = linalg.inv(np.eye(len(x)) + prior @ np.diag(n * h * (1 - h)))
        np.testing.assert_allclose(fit.covariance[j], inverse @ prior, atol=1e-7)
    squares, distance = made.matrix[13] - smooth_curve.JITTER * np.eye(12), np.subtract.outer(rank, rank) ** 2
    distance += (np.subtract.outer(x, x) / 8) ** 2
    np.testing.assert_allclose(squares, 0.2**2 * np.exp(-distance / (2 * 0.1**2)))


def test_evidence_of_two_bins_against_quadrature():
    x, n, k = np.array([-1.0, 0.5]), np.array([40.0, 60.0]), np.array([15.0, 33.0])
    prior = np.array([[0.5, 0.3], [0.3, 0.4]])
    top = log_likelihood(x, n, k, 0.0)
    f = np.stack(np.meshgrid(np.linspace(-3, 3, 301), np.linspace(-3, 3, 301)), axis=-1)
    density = np.exp(log_likelihood(x, n, k, f) - top) * stats.multivariate_normal(np.zeros(2), prior).pdf(f)
    exact = density.sum() * 0.02**2
    fit = laplace(x, n, k, prior[None])
    assert fit.log_evidence[0] - top == pytest.approx(np.log(exact), abs=0.008)


def test_odds_of_exact_calibration():
    """Posterior odds are prior odds times the Bayes factor; a share of 1/3 of the others each."""
    counts = counts_of()
    factor = np.exp(smooth_curve_posterior(counts).log_bayes_factor)
    for prior in (0.1, 0.5, 0.9):
        posterior = smooth_curve_posterior(counts, prior_exact=prior)
        p = posterior.probabilities["exact"]
        assert p / (1 - p) == pytest.approx(prior / (1 - prior) * factor)
        assert sum(posterior.probabilities.values()) == pytest.approx(1)
    assert smooth_curve_posterior(counts, prior_exact=0).probabilities["exact"] == 0
    assert (smooth_curve_posterior(counts).prior, "0.5" in smooth_curve_posterior(counts, prior_exact=0.5).prior) == (
        "",
        True,
    )
    for wrong in (1, -0.1, "half"):
        with pytest.raises((ValueError, TypeError), match="`prior_exact`"):
            smooth_curve_posterior(counts, prior_exact=wrong)


def test_draws_follow_the_fits(close_to):
    """Share of exact draws, and mean and covariance of the logits of the mixture of Normal distributions."""
    posterior = smooth_curve_posterior(counts_of(bins=15, curve="shift", strength=0.15))
    drawn = posterior.sample(40_000, rng=1)
    exact = (drawn.gap == 0).all(axis=1)
    share = posterior.probabilities["exact"]
    close_to(exact.mean(), share, np.sqrt(share * (1 - share) / 40_000))
    deviation = logit(drawn.accuracy) - logit(drawn.confidence)
    mean = posterior.weights[1:] @ posterior.fits.mean
    close_to(deviation.mean(axis=0), mean, deviation.std(axis=0) / 200)
    second = np.einsum("j,jab->ab", posterior.weights[1:], posterior.fits.covariance)
    second += np.einsum("j,ja,jb->ab", posterior.weights[1:], posterior.fits.mean, posterior.fits.mean)
    products = deviation[:, :, None] * deviation[:, None, :]
    close_to(products.mean(axis=0), second, products.std(axis=0) / 200)
    np.testing.assert_allclose(drawn.mass.sum(axis=1), 1)
    close_to(drawn.mass.mean(axis=0), posterior.counts.share, drawn.mass.std(axis=0) / 200)


def test_draws_are_reproducible_and_mixed():
    posterior = smooth_curve_posterior(counts_of())
    first, again = (posterior.sample(300, rng=7) for _ in range(2))
    np.testing.assert_array_equal(first.accuracy, again.accuracy)
    exact = (first.gap == 0).all(axis=1)
    assert 0 < exact[:150].sum() < exact.sum()  # not all at one end


def test_empty_bins_are_left_out():
    p = np.array([0.05] * 60 + [0.95] * 60)
    counts = bc.BinnedCounts.from_arrays(np.arange(120) % 2, p, bins=10)
    drawn = smooth_curve_posterior(counts).sample(50, rng=1)
    assert (drawn.mass[:, 1:9] == 0).all()
    assert drawn.occupied.tolist() == [True, *8 * [False], True]
    assert bc.ece(drawn).mean() > 0.2


@pytest.mark.parametrize("outcomes", [np.zeros(200), np.ones(200)])
def test_newton_converges_far_from_the_prior(outcomes):
    """One outcome only, and scores of 0 and 1 that contradict it."""
    p = np.concatenate([np.zeros(20), np.linspace(0, 1, 160), np.ones(20)])
    steps = OrderedSums.from_rows(Predictions.from_outcomes(outcomes.astype(int), p))
    posterior = smooth_curve_posterior(merge_scores(steps, 20))
    n, k, x = posterior.counts.effective_n, posterior.counts.effective_k, smooth_curve.logit(posterior.confidence)
    gradient = k - n * expit(x + posterior.fits.mode)
    moved = np.einsum("jab,jb->ja", posterior.covariances.matrix, gradient)
    np.testing.assert_allclose(moved, posterior.fits.mode, atol=1e-5, rtol=1e-5)
    assert np.isfinite(posterior.sample(100, rng=1).accuracy).all()


def knots_of(outcome, score, bins=20):
    return merge_to_knots(OrderedSums.from_rows(Predictions.from_outcomes(np.asarray(outcome, int), score)), bins)


def simulated(curve="calibrated", strength=None, n=1000, bins=20):
    rows = simulate(n, population="flat", curve=curve, strength=strength, rng=3)
    return knots_of(rows.outcome, rows.confidence, bins)


def test_shares_of_the_families():
    """Weights 2:2:2:1 times evidences to the power 1/10; ordinary evidences within a family, and for exactness."""
    posterior = curve_posterior(simulated("shift", 0.2))
    of = posterior.shrinkage.log_evidence
    relative = {key: value - of["exact"] for key, value in of.items()}
    total = {
        "smooth": logsumexp(posterior.smooth.fits.log_evidence, b=posterior.smooth.covariances.share / 3)
        - posterior.smooth.log_evidence_exact,
        "independent": np.log(np.mean(np.exp([relative[key] for key in FAMILIES["independent"][1]]))),
        "shared": np.log(2 / 3 * np.exp(relative["runs"]) + 1 / 3 * np.exp(relative["offset"])),
        "noise": np.log(np.mean(np.exp([relative[key] for key in FAMILIES["noise"][1]]))),
    }
    weight = np.array([2, 2, 2, 1]) / 7
    values = np.array(list(total.values()))
    factor = -logsumexp(values, b=weight)
    assert posterior.log_bayes_factor == pytest.approx(factor)
    exact = 1 / (1 + 9 * np.exp(-factor))
    shares = {family: sum(inside.values()) for family, inside in posterior.families.items()}
    assert shares["exact"] == pytest.approx(exact)
    expected = (1 - exact) * softmax(np.log(weight) + values / 10)
    assert [shares[family] for family in total] == pytest.approx(expected.tolist())
    runs = posterior.families["shared"]["runs"] / shares["shared"]
    assert runs == pytest.approx(2 / 3 * np.exp(relative["runs"] - total["shared"]))
    assert sum(posterior.probabilities.values()) == pytest.approx(1)
    assert posterior.p_calibrated == pytest.approx(1 / (1 + 1.5 * np.exp(-factor)))


def test_both_modules_measure_evidence_alike():
    """The drift of the smooth family is "logistic" of the shrinkage model, but for the prior of the slope."""
    from bayescal.posterior.shrinkage.model import shrinkage_posterior

    counts = simulated("shift", 0.3)
    posterior = curve_posterior(counts)
    drift = posterior.smooth.fits.log_evidence[2] - posterior.smooth.log_evidence_exact
    logistic = shrinkage_posterior(counts, sub_models=["logistic"]).log_evidence
    assert drift == pytest.approx(logistic["logistic"] - logistic["exact"], abs=0.3)


def test_draws_are_shared_out(close_to):
    """Each draw is from one family: exact draws have their share, and reruns with the same seed agree."""
    posterior = curve_posterior(simulated())
    drawn, again = (posterior.sample(4000, rng=1) for _ in range(2))
    np.testing.assert_array_equal(drawn.accuracy, again.accuracy)
    exact = (drawn.gap == 0).all(axis=1)
    # segments and noise may be exact, too
    assert exact.mean() >= posterior.probabilities["exact"] - 2 / 4000
    assert exact.mean() < posterior.probabilities["exact"] + 0.1
    assert abs(exact[:2000].mean() - exact[2000:].mean()) < 0.08  # mixed
    close_to(drawn.mass.mean(axis=0), posterior.counts.share, drawn.mass.std(axis=0) / np.sqrt(4000))


def saturated_evidence(n, r):
    """Log marginal likelihood of r contrary outcomes: 0.2 Beta(1/2, 10) + 0.8 Beta(1, 1)."""
    of_each = [np.log(w) + betaln(a + r, b + n - r) - betaln(a, b) for w, a, b in ((0.2, 0.5, 10), (0.8, 1, 1))]
    return logsumexp(of_each)


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_one_knot_at_0_that_nothing_contradicts(n):
    """All families describe no knot: the Bayes factor is 1 over the marginal likelihood of the saturated bin."""
    posterior = curve_posterior(knots_of(np.zeros(n), np.zeros(n), 1))
    assert posterior.log_bayes_factor == pytest.approx(-saturated_evidence(n, 0), abs=1e-5)
    drawn = posterior.sample(2000, rng=1)
    assert (drawn.accuracy == 0).mean() > 0.1
    assert 0 < np.quantile(drawn.accuracy, 0.99) < 10 / n


def test_hard_predictions_have_independent_rates(close_to):
    """Half of the rows at 0 and at 1, of which 30 and 20 of 100 are wrong: mixtures of two Betas at both ends."""
    outcome = np.concatenate([np.arange(100) < 30, np.arange(100) >= 20])
    posterior = curve_posterior(knots_of(outcome, np.repeat([0.0, 1.0], 100)), contradicted=True)
    assert posterior.apart.all()
    assert posterior.p_calibrated == 0
    drawn = posterior.sample(20_000, rng=1).accuracy
    for column, r in ((drawn[:, 0], 30), (1 - drawn[:, 1], 20)):
        weights = softmax([np.log(w) + betaln(a + r, b + 100 - r) - betaln(a, b)
                           for w, a, b in ((0.2, 0.5, 10), (0.8, 1, 1))])  # fmt: skip
        of_each = [stats.beta(a + r, b + 100 - r) for a, b in ((0.5, 10), (1, 1))]
        close_to(column.mean(), weights @ [each.mean() for each in of_each], column.std() / np.sqrt(20_000))
        for q in (0.1, 0.3, 0.4):
            p = weights @ [each.cdf(q) for each in of_each]
            close_to((column < q).mean(), p, np.sqrt(p * (1 - p) / 20_000))


def test_a_contradicted_knot_leaves_the_others_exact():
    """1.0 is right in 97 of 100 rows, the other rows are calibrated: those may be exact, all of them are not."""
    rows = simulate(2000, population="flat", rng=4)
    outcome, score = np.append(rows.outcome, np.arange(100) >= 3), np.append(rows.confidence, np.ones(100))
    posterior = curve_posterior(knots_of(outcome, score, 30), contradicted=True)
    assert posterior.apart.tolist() == [*(len(posterior.apart) - 1) * [False], True]
    assert posterior.p_calibrated == 0
    assert posterior.probabilities["exact"] > 0.2
    drawn = posterior.sample(1000, rng=1)
    others = (drawn.gap[:, :-1] == 0).all(axis=1)
    assert others.mean() == pytest.approx(posterior.probabilities["exact"], abs=0.1)
    assert (drawn.gap[:, -1] < 0).all()
    # if the three rows share a knot with other scores, no draw is exact
    mixed = curve_posterior(simulated(n=2000), contradicted=True)
    assert mixed.probabilities["exact"] == 0


def test_many_scores_near_0_are_one_knot_at_0():
    """Scores from 1e-10 to 1e-300, a thousandth of which is wrong: the error is found, not divided among many knots."""
    rng = np.random.default_rng(1)
    score, outcome = 10 ** -rng.uniform(10, 300, 3000), np.arange(3000) < 3
    posterior = curve_posterior(knots_of(outcome, score, 30))
    assert posterior.apart.tolist() == [True]
    assert posterior.p_calibrated < 1e-10
    assert posterior.sample(2000, rng=1).accuracy.mean() == pytest.approx(0.001, rel=0.4)


def test_prior_exact():
    posterior = curve_posterior(simulated(), prior_exact=0)
    assert (posterior.probabilities["exact"], posterior.prior) == (0, "prior probability of exact calibration 0")
    assert curve_posterior(simulated()).prior == ""
    for wrong in (1, -0.1, "half"):
        with pytest.raises((ValueError, TypeError), match="`prior_exact`"):
            curve_posterior(simulated(), prior_exact=wrong)


def test_no_draw_has_exact_knots_if_one_of_them_holds_a_contradicted_row():
    """Two rows of score 0, one with outcome 1, share a knot with other scores; 60 rows of score 1 are apart."""
    rng = np.random.default_rng(3)
    score = np.r_[0, 0, rng.uniform(0.02, 0.6, 200), np.ones(60)]
    outcome = (rng.random(len(score)) < score).astype(int)
    for zero, one, exact in ((1, 1, False), (1, 0, False), (0, 0, True)):
        outcome[[0, -1]] = zero, one
        cv = bc.calibration_curve(outcome, score, rng=1)
        assert cv.p_calibrated == 0
        assert (sum(cv.posterior.families["exact"].values()) > 0.05) is exact
