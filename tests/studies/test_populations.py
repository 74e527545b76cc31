"""True values of populations of scores agree with quadrature and sums by hand; samples agree with their grids."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit, logit
from studies.populations import POPULATIONS, Mixture, levels, of_raw, population_of
from studies.true_values import bin_values, classwise_values, decision_losses, net_benefits, top_label_rows, true_values


def values_of(name):
    return true_values(*population_of(name).classifier(np.random.default_rng(1)).grid)


def mean_of(function, distribution, *points):
    """Expectation by adaptive quadrature in quantiles, which may have kinks at the given values."""
    ends = [0.0, *(float(distribution.cdf(x)) for x in points), 1.0]
    return sum(quad(lambda u: function(distribution.ppf(u)), *pair, limit=200)[0] for pair in pairwise(ends))


def test_one_value_that_is_wrong():
    """Beta(2, 1.2): 0.12 times the share above 0.9."""
    above = stats.beta(2, 1.2).sf(0.9)
    found = values_of("0.12 too high above 0.9")
    assert found["ici"] == pytest.approx(0.12 * above, rel=1e-4)
    assert found["signed_error"] == pytest.approx(-0.12 * above, rel=1e-4)
    assert found["overconfidence"] == pytest.approx(0.12 * above, rel=1e-4)
    assert (found["e50"], found["underconfidence"]) == (0, 0)
    assert found["e90"] == pytest.approx(0.12)


def test_words_by_hand():
    """Sums over the eight words, of which 0.8 and 0.85, and 0.95 to 1.0, share a bin of 15."""
    found = values_of("words, over-confident")
    ece = 0.04 * 0.12 + 0.06 * 0.18 + (0.12 * 0.2 + 0.14 * 0.19) + 0.2 * 0.19 + (0.26 * 0.16 + 0.1 * 0.13 + 0.08 * 0.1)
    assert found["ece"] == pytest.approx(ece)
    assert found["emax"] == pytest.approx(0.2)
    assert found["e50"] == pytest.approx(0.18)
    assert not {"log_score", "slope", "intercept", "in_the_large"} & set(found)  # "100 %" is wrong in a tenth
    assert values_of("words, calibrated but 1.0 is 0.97")["kuiper"] == pytest.approx(0.08 * 0.03)


def test_calibrated_leaves():
    """All errors are 0, and the AUC is a sum over pairs of leaves."""
    found = values_of("leaves, calibrated")
    value = np.array([0.03, 0.07, 0.12, 0.18, 0.27, 0.34, 0.46, 0.55, 0.63, 0.74, 0.88, 0.95])
    share = np.array([0.2, 0.14, 0.12, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02])
    events, others = share * value, share * (1 - value)
    wins = (value[:, None] > value) + 0.5 * (value[:, None] == value)
    assert found["auc"] == pytest.approx(events @ wins @ others / (events.sum() * others.sum()))
    assert found["brier_score"] == pytest.approx(share @ (value * (1 - value)))
    assert [found[name] for name in ("ece", "e90_bins", "signed_error", "ici", "emax", "kuiper")] == [0] * 6
    assert (found["intercept"], found["slope"], found["in_the_large"]) == pytest.approx((0, 1, 0), abs=1e-6)


def test_a_shift_of_rare_events():
    """Scores with logits N(-6, 1.1^2): integrals over the Normal, and the intercept is the shift itself."""
    found, logits = values_of("rare events, shift 0.35"), stats.norm(-6, 1.1)
    rate = mean_of(lambda x: expit(x + 0.35), logits)
    score = mean_of(expit, logits)
    brier = mean_of(lambda x: expit(x + 0.35) * (1 - expit(x)) ** 2 + expit(-x - 0.35) * expit(x) ** 2, logits)
    assert found["observed_expected"] == pytest.approx(rate / score, rel=1e-4)
    assert found["signed_error"] == pytest.approx(rate - score, rel=1e-3)
    assert found["brier_score"] == pytest.approx(brier, rel=1e-3)
    assert (found["intercept"], found["slope"], found["in_the_large"]) == pytest.approx((0.35, 1, 0.35), abs=1e-5)


def test_a_temperature():
    found = values_of("network, temperature 1.7")
    assert (found["intercept"], found["slope"]) == pytest.approx((0, 1 / 1.7), abs=1e-5)


def test_one_wave():
    """Both halves of the wave have the same size, so that the Kuiper statistic is half of the mean error."""
    found = values_of("one wave of 0.04")
    ici = mean_of(lambda c: 0.04 * abs(np.sin(2 * np.pi * c)), stats.beta(1.5, 1.5), 0.5)
    assert found["ici"] == pytest.approx(ici, rel=1e-4)
    assert found["kuiper"] == pytest.approx(ici / 2, rel=1e-4)
    assert found["emax"] == pytest.approx(0.04, rel=1e-4)
    assert found["signed_error"] == pytest.approx(0, abs=1e-6)


def test_opposite_sides():
    below = mean_of(lambda c: 0.2 * c * (c < 0.5), stats.beta(1.3, 1.3), 0.5)
    above = mean_of(lambda c: 0.25 * (1 - c) * (c >= 0.5), stats.beta(1.3, 1.3), 0.5)
    found = values_of("opposite sides, -20 % and +25 %")
    assert found["ici"] == pytest.approx(below + above, rel=1e-4)
    assert found["signed_error"] == pytest.approx(above - below, rel=1e-3)


def test_two_groups_are_a_mixture():
    """The rate of all rows is that of both groups, of which each has a shift of its own."""
    found = values_of("two groups, opposite shifts")
    of_groups = [
        mean_of(lambda c, shift=shift: expit(logit(np.clip(c, 1e-15, 1 - 1e-15)) + shift), stats.beta(*shape))
        for shape, shift in (((2, 5), 0.5), ((5, 2), -0.5))
    ]
    expected = (2 / 7 + 5 / 7) / 2
    assert found["observed_expected"] == pytest.approx(np.mean(of_groups) / expected, rel=1e-4)


def test_recalibrated_classifiers():
    """The event rate is that of the raw scores; the curve is the true probability given the score."""
    rate = mean_of(of_raw, stats.norm(0.3, 1.6), 0)
    for name in ("logistic recalibration on 500 rows", "isotonic recalibration on 500 rows"):
        classifier = population_of(name).classifier(np.random.default_rng(3))
        score, probability = classifier.grid
        assert probability.mean() == pytest.approx(rate, rel=1e-4)
        assert abs(score.mean() - rate) < 0.08
        if classifier.curve is not None:
            np.testing.assert_allclose(classifier.curve(score), probability, atol=1e-9)
        other, _ = population_of(name).classifier(np.random.default_rng(4)).grid
        assert not np.array_equal(other, score)


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
def test_samples_agree_with_the_grid(population):
    """Means of scores and outcomes of 20 000 rows; 4.5 standard errors: error rate 7e-6 for each of 32 comparisons."""
    classifier = population.classifier(np.random.default_rng(5))
    outcome, score = classifier.draw(20_000, np.random.default_rng(6))
    expected, probability = classifier.grid
    assert abs(score.mean() - expected.mean()) < 4.5 * expected.std() / np.sqrt(20_000)
    rate = probability.mean()
    assert abs(outcome.mean() - rate) < 4.5 * np.sqrt(rate * (1 - rate) / 20_000)
    if classifier.curve is not None:
        assert (
            (classifier.curve(np.array(population.at)) >= 0) & (classifier.curve(np.array(population.at)) <= 1)
        ).all()
        assert len(population.at) == 5


def test_a_grid_has_the_shares_of_the_parts():
    mixture = Mixture([(0.25, lambda u: u), (0.75, lambda u: 2 + u)])
    np.testing.assert_allclose(mixture.grid(4), [0.5, 2 + 1 / 6, 2.5, 2 + 5 / 6])
    assert np.bincount(levels((1.0, 2.0), (0.1, 0.9)).grid(10).astype(int)).tolist() == [0, 1, 9]


def test_decisions_by_hand():
    """Two rows: of the threshold 0.5, the treated one has probability 0.6, and the other 0.3."""
    score, probability = np.array([0.8, 0.2]), np.array([0.6, 0.3])
    np.testing.assert_allclose(net_benefits(score, probability, [0.5, 0.75]), [(0.6 - 0.4) / 2, (0.6 - 3 * 0.4) / 2])
    losses = [(0.5 * 0.4 + 0.5 * 0.3) / 2, (0.75 * 0.4 + 0.25 * 0.3) / 2]
    np.testing.assert_allclose(decision_losses(score, probability, [0.5, 0.75]), losses)


def test_two_classes_by_hand():
    """Scores 0.9 and 0.2 of which 0.7 and 0.4 are right: both classes have errors of 0.2 in bins of their own."""
    score, probability = np.array([0.9, 0.2]), np.array([0.7, 0.4])
    assert classwise_values(score, probability) == pytest.approx({"ece": 0.2, "marginal_error": 0.2, "rms_error": 0.2})
    confidence, right = top_label_rows(np.array([0.9, 0.2, 0.5]), np.array([0.7, 0.4, 0.4]))
    np.testing.assert_allclose((confidence, right), ([0.9, 0.8, 0.5], [0.7, 0.6, 0.6]))
    assert bin_values(confidence[:2], right[:2])["signed_error"] == pytest.approx(-0.2)
