"""The posterior over error rates: exact values, by summing over the true labels of judged rows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from judged_sets import COUNTS, EVIDENCE, PRIOR, PROBLEM, RATES, TABLE, problem_counts
from moments_of_ece import ece_mean
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import binom

from bayescal.labels.posterior import LabelPosterior, Problem, Solved, Values, solve
from bayescal.posterior.shrinkage.model import SamplerWarning
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import EXACT, alternatives


def log_likelihood_of_true_labels(s, p, evidence=EVIDENCE):
    """Log probability of the judge's labels and of the numbers of true labels 1, given these numbers, by bin.

    Given t rows with true label 1 among N, the number that the judge labels 1 is a sum of two Binomial variables. As
    for the sequence of labels, the number of orders of the judge's labels is divided out.
    """
    terms = []
    for n, k in zip(evidence.n.astype(int), evidence.k.astype(int), strict=True):
        each = np.full(n + 1, -np.inf)
        for t in range(n + 1):
            right = np.arange(t + 1)
            joint = binom.pmf(right, t, s) * binom.pmf(k - right, n - t, 1 - p)
            orders = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
            of_truth = gammaln(n + 1) - gammaln(t + 1) - gammaln(n - t + 1)
            with np.errstate(divide="ignore"):
                each[t] = np.log(joint.sum()) - orders + of_truth
        terms.append(each)
    return terms


@pytest.fixture(scope="module")
def completed():
    """The shrinkage posterior for each pair of numbers of true labels 1 among the judged rows."""
    totals = [range(int(n) + 1) for n in EVIDENCE.n]
    made = {}
    for true in product(*totals):
        given = COUNTS.with_kernel(np.array(true, float), EVIDENCE.n - np.array(true))
        made[true] = ShrinkagePosterior(given, PRIOR)
    return made


def exact_given(s, p, completed, value):
    """Log of the sum over numbers of true labels of their probability times exp(value) of the completed counts."""
    first, second = log_likelihood_of_true_labels(s, p)
    return logsumexp([first[t] + second[u] + value(each) for (t, u), each in completed.items()])


@pytest.mark.slow
@pytest.mark.parametrize(("s", "p"), [(0.9, 0.8), (0.7, 0.6), (0.98, 0.4)])
def test_marginal_likelihoods_given_the_rates(s, p, completed):
    """The correction by the ratio of evidence and kernel is exact up to Monte Carlo error, of all four evidences."""
    nu = np.array([[[s], [p]]])
    values = Values.solve(PROBLEM, nu, 20_000, False, np.random.default_rng(1))
    weights = alternatives(next(iter(completed.values())).taking_part.families, ())
    total = exact_given(s, p, completed, lambda each: each.log_marginal_likelihood)
    exact = exact_given(s, p, completed, lambda each: each.log_evidence[EXACT])
    others = exact_given(
        s, p, completed, lambda each: logsumexp([each.log_evidence[n] + np.log(w) for n, w in weights.items()])
    )
    n, k = COUNTS.checked.n, COUNTS.checked.k
    free = exact_given(s, p, completed, lambda e: betaln(k + e.counts.ones + 1, n - k + e.counts.zeros + 1).sum())
    assert values.log_evidence[0] == pytest.approx(total, abs=0.01)
    assert values.log_exact[0] == pytest.approx(exact, abs=1e-6)
    assert values.log_others[0] == pytest.approx(others, abs=0.01)
    assert values.log_free[0] == pytest.approx(free, abs=1e-3)


@pytest.mark.measuring
def test_the_posterior_over_rates_by_quadrature(completed):
    """Means of rates and ECE, and the Bayes factor, on a grid of s and p with exact values at each node."""
    grid = (np.arange(24) + 0.5) / 24
    log_weight, ece, exact, others, rates = [], [], [], [], []
    weights = alternatives(next(iter(completed.values())).taking_part.families, ())
    log_total = np.array([each.log_marginal_likelihood for each in completed.values()])
    log_exact = np.array([each.log_evidence[EXACT] for each in completed.values()])
    log_others = np.array(
        [logsumexp([e.log_evidence[n] + np.log(w) for n, w in weights.items()]) for e in completed.values()]
    )
    means = np.array([ece_mean(each) for each in completed.values()])
    for s, p in product(grid, grid):
        if s + p <= 1:
            continue
        first, second = log_likelihood_of_true_labels(s, p)
        joint = np.array([first[t] + second[u] for t, u in completed])
        prior = TABLE[0] @ np.log([s, 1 - s, p, 1 - p])
        total = logsumexp(joint + log_total)
        log_weight.append(prior + total)
        ece.append(np.exp(joint + log_total - total) @ means)
        exact.append(prior + logsumexp(joint + log_exact))
        others.append(prior + logsumexp(joint + log_others))
        rates.append((s, p))
    weight = np.exp(np.array(log_weight) - logsumexp(log_weight))
    solved = solve([PROBLEM], RATES, rng=1, values=1000, free=0.0)
    posterior = LabelPosterior(solved)
    drawn = posterior.sample(20_000, rng=2)
    nu = solved.nu[posterior.value_of(20_000, 2)][:, :, 0]
    np.testing.assert_allclose(nu.mean(axis=0), weight @ np.array(rates), atol=0.01)
    found = (drawn.mass * np.abs(drawn.gap)).sum(axis=1).mean()
    assert found == pytest.approx(weight @ ece, abs=0.004)
    assert posterior.log_bayes_factor == pytest.approx(logsumexp(exact) - logsumexp(others), abs=0.05)
    assert sum(posterior.probabilities.values()) == pytest.approx(1)
    assert solved.effective_values > 300


def test_free_accuracies_given_the_rates():
    """Means of the accuracies under Beta(c, 1 - c) priors, by sums over the true labels.

    In the first bin the judge labels fewer rows 1 than its errors alone would, so that no Beta kernel fits well.
    """
    s, p, confidence = 0.9, 0.7, np.array([0.4, 0.8])
    counts, evidence = problem_counts([2, 6], [1, 4], [60, 9], [12, 4], confidence)
    solved = solve([Problem(counts, evidence, PRIOR)], RATES, known=np.array([[[s], [p]]]), rng=1, draws=100)
    posterior = LabelPosterior(solved)
    drawn = posterior.sample_free(40_000, rng=1).accuracy.mean(axis=0)
    n, k = counts.checked.n, counts.checked.k
    for b, terms in enumerate(log_likelihood_of_true_labels(s, p, evidence)):
        true = np.arange(len(terms))
        one, zero = k[b] + true + confidence[b], n[b] - k[b] + evidence.n[b] - true + 1 - confidence[b]
        weight = np.exp(terms + betaln(one, zero) - logsumexp(terms + betaln(one, zero)))
        assert drawn[b] == pytest.approx(weight @ (one / (one + zero)), abs=0.003)


def test_joint_draws_of_two_problems_have_the_same_rates():
    solved = solve([PROBLEM, PROBLEM], RATES, rng=1, values=60)
    parts = [LabelPosterior(solved, place).value_of(500, 3) for place in (0, 1)]
    assert (parts[0] == parts[1]).mean() > 0.95
    first, second = (LabelPosterior(solved, place).sample(500, rng=3) for place in (0, 1))
    assert not np.array_equal(first.accuracy, second.accuracy)


def test_the_same_seed_gives_the_same_draws():
    one, other, third = (
        LabelPosterior(solve([PROBLEM], RATES, rng=seed, values=60)).sample(200, rng=1).accuracy for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)


def test_compiled_and_other_loops_agree():
    nu = np.array([[[0.9], [0.8]], [[0.7], [0.9]]])
    one, other = (Values.solve(PROBLEM, nu, 4000, compiled, np.random.default_rng(1)) for compiled in (False, True))
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, atol=0.03)
    np.testing.assert_allclose(one.accuracy.mean(axis=1), other.accuracy.mean(axis=1), atol=0.02)


def test_half_of_the_weight_is_that_of_free_accuracies():
    solved = solve([PROBLEM], RATES, rng=1, values=60)
    expected = 0.5 * np.exp(solved.log_shrunk - logsumexp(solved.log_shrunk))
    expected += 0.5 * np.exp(solved.log_free - logsumexp(solved.log_free))
    np.testing.assert_allclose(solved.weights, expected)
    assert LabelPosterior(solved).p_calibrated == LabelPosterior(replace(solved, free=0.0)).p_calibrated


def test_known_values_keep_equal_weights():
    nu = np.array([[[0.9], [0.8]], [[0.6], [0.9]]])
    solved = solve([PROBLEM], RATES, known=nu, rng=1, draws=400)
    np.testing.assert_array_equal(solved.weights, [0.5, 0.5])
    assert not solved.learnt


def test_a_warning_if_one_value_has_all_weight():
    solved = solve([PROBLEM], RATES, rng=1, values=60)
    log_weight = np.where(np.arange(len(solved.nu)) == 0, 0.0, -1000.0)
    with pytest.warns(SamplerWarning, match="rests on 1 of"):
        Solved(solved.problems, solved.of, log_weight, log_weight, learnt=True).warn_if_poor()
