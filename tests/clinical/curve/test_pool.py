"""The pool of smooth curves and the shrinkage model: weights, exact calibration, knots at 0 and 1, draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, logsumexp, softmax

import bayescal as bc
from bayescal.clinical.curve.knots import merge_to_knots
from bayescal.clinical.curve.posterior import FAMILIES, curve_posterior
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import simulate
from bayescal.stats.ordered import OrderedSums


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
