"""Checks of the statements in `notebooks/10_what_can_be_known_without_assumptions.ipynb`."""

from itertools import pairwise

import numpy as np


def check_the_two_worlds_have_the_same_average_and_other_probabilities(near, by_digits):
    truth = by_digits(near, None)
    assert abs(truth[:-1].mean() - 0.3) < 1 / 200  # 200 points per period
    assert np.count_nonzero(np.diff(truth[:-1].astype(int))) in (19, 20)


def check_l_1(l_1):
    # the integral of 2 x (1 - x) is 1/3; the standard error of the mean of a million rows is below 0.0002
    assert l_1["by chance"] == 0
    assert abs(l_1["by digits"] - 1 / 3) < 0.001


def check_tests_reject_both_worlds_in_5_percent(rejected):
    # 1000 data sets: standard error 0.007; four shares within three standard errors: false alarm below 0.02
    for shares in rejected.values():
        assert (np.abs(np.array(shares) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 1000)).all()


def check_the_first_digits_do_not_tell_the_worlds_apart(by_digits):
    # outcomes in cells of the first three digits have the mean and the variance of Bernoulli numbers
    x = np.random.default_rng(5).random(1_000_000)
    cell, outcome = (1000 * x).astype(int), by_digits(x, None)
    n, events = np.bincount(cell), np.bincount(cell, outcome)
    p = np.bincount(cell, x) / n
    z = (events - n * p) / np.sqrt(n * p * (1 - p))
    # the chi-square statistic of 1000 cells: standard deviation of its mean 0.045
    assert abs(np.mean(z**2) - 1) < 4 * 0.045


def check_l_1_lies_between_0_and_its_largest_value(l_1, same_score, risk, half):
    c = np.random.default_rng(6).random(100_000)
    assert abs(np.mean(2 * c * (1 - c)) - l_1["by digits"]) < 0.003
    assert np.abs(half - risk).mean() <= np.mean(2 * half * (1 - half))
    assert same_score.kuiper <= np.abs(half - risk).mean()


def check_a_calibrated_score_is_wrong_by_0_45(same_score, half, risk, part):
    np.testing.assert_allclose(np.abs(half - risk), 0.45)
    assert round(same_score.kuiper, 4) == 0.0008
    assert same_score.p_kuiper > 0.2
    # standard error of a mean of 50 000 outcomes: 0.001 for the group, 0.0016 for all rows
    assert abs(part.average_difference - 0.45) < 0.008


def check_the_range_is_the_largest_of_all_pairs(every_pair, kuiper_of_few, few, outcome_of_few):
    assert abs(every_pair.max() - kuiper_of_few) < 1e-12
    # some pairs of thresholds, one at a time
    ends = np.concatenate([[-1], np.sort(few)])
    for low, high in ((0, 200), (17, 120), (150, 151), (3, 77)):
        rows = (few > ends[low]) & (few <= ends[high])
        alone = abs(outcome_of_few[rows].sum() - few[rows].sum()) / 200
        assert abs(every_pair[low, high] - alone) < 1e-12


def check_the_bounds(bounds):
    assert round(bounds.loc[1000, "c_emp_bound"], 3) == 0.172
    assert abs(bounds.loc[1000, "c_emp_bound"] - 4 * np.sqrt(np.log(40) / 2000)) < 1e-12
    assert round(bounds.loc[1000, "Theorem 2, at least"], 4) == 0.2015
    assert (bounds["Theorem 2, at least"] > bounds["c_emp_bound"]).all()
    assert (bounds["c_emp_bound"] > bounds["95 % of samples"]).all()
    shrink = bounds.loc[100] / bounds.loc[10_000]
    np.testing.assert_allclose(shrink.iloc[:2], 10, rtol=1e-9)
    assert abs(shrink.iloc[2] - 10) < 1
    assert (np.abs(bounds["c_emp_bound"] / bounds["95 % of samples"] - 5) < 1).all()
    # the constant of the summary
    np.testing.assert_allclose(bounds["c_emp_bound"] * np.sqrt(bounds.index), 5.43, atol=0.005)


def check_isotonic_regression_attains_the_smallest_c_emp(smallest, curve, isotonic, outcome_of_score, own):
    assert abs(np.ptp(curve) - smallest) < 1e-9
    assert smallest > 0.005
    assert own < 1e-12
    # the sums of the fit are a convex curve below the sums of the outcomes
    assert (np.diff(isotonic) >= 0).all()
    assert (np.cumsum(outcome_of_score - isotonic) > -1e-9).all()


def check_scikit_learn_has_the_same_fit(score, outcome_of_score, isotonic, smallest):
    from sklearn.isotonic import IsotonicRegression

    other = IsotonicRegression().fit_transform(score, outcome_of_score.astype(float))
    np.testing.assert_allclose(isotonic, other, atol=1e-12)
    assert abs(np.ptp(np.concatenate([[0], np.cumsum(outcome_of_score - other)])) / 300 - smallest) < 1e-9


def check_other_monotone_functions_have_a_larger_c_emp(smallest, score, outcome_of_score, isotonic):
    for other in (score, score**2, np.full(300, outcome_of_score.mean()), np.clip(isotonic + 0.05, 0, 1)):
        assert np.ptp(np.concatenate([[0], np.cumsum(outcome_of_score - other)])) / 300 > smallest


def check_the_smallest_loss_of_calibrated_functions(candidates, squared, isotonic_of_12, outcome_of_12):
    import bayescal as bc

    assert len(candidates) == 93
    assert np.sum(np.abs(squared - squared.min()) < 1e-12) == 1
    np.testing.assert_allclose(candidates[squared.argmin()], isotonic_of_12, atol=1e-12)
    np.testing.assert_array_equal(candidates[squared.argmax()], np.full(12, outcome_of_12.mean()))
    for each in candidates:
        assert bc.cumulative.difference(outcome_of_12, each).kuiper < 1e-12


def check_nothing_is_shown_on_the_rows_of_the_fit(failing):
    assert failing["c_emp, rows of the fit"].max() < 1e-12
    assert failing["regret, rows of the fit"].max() < 1e-12
    for column in ("c_emp, new rows", "regret, new rows"):
        assert failing[column].min() > 0
        assert (np.diff(failing[column]) < 0).all()
    assert (failing["regret, new rows"] <= failing["c_emp, new rows"]).all()
    assert failing["2.5 %"].min() > 0


def check_the_order_of_the_classifiers(measured, before):
    assert list(measured.index) == ["logistic_regression", "random_forest", "naive_bayes", "boosted_trees", "svm"]
    intervals = [before[name].interval(0.95) for name in measured.index]
    for (_, high), (low, _) in pairwise(intervals):
        assert high < low
    assert measured["c_emp"].iloc[0] < 0.01
    assert abs(measured["c_emp"].iloc[1] / measured["c_emp"].iloc[0] - 4) < 0.6


def check_the_losses(measured, ratio):
    assert (np.abs(measured["loss ratio"].iloc[2:] - 0.75) < 0.03).all()
    assert ratio["logistic_regression"].interval(0.95)[0] > 1
    assert abs(measured.loc["logistic_regression", "loss ratio"] - 1.01) < 0.005
    assert ratio["random_forest"].interval(0.95)[1] < 1


def check_naive_bayes_is_overconfident(census, y):
    prob = census.y_prob["naive_bayes"].astype(float)
    high, low = prob > 0.9, prob < 0.1
    assert y[high].mean() < prob[high].mean() - 0.1
    assert y[low].mean() > prob[low].mean() + 0.02


def check_all_classifiers_have_the_same_error_after_recalibration(after, before):
    means = [draws.mean() for draws in after.values()]
    assert np.abs(np.array(means) - 0.015).max() < 0.0015
    lows, highs = zip(*(draws.interval(0.95) for draws in after.values()), strict=True)
    assert max(lows) < min(means)
    assert min(highs) > max(means)
    assert after["logistic_regression"].interval(0.95)[0] > before["logistic_regression"].interval(0.95)[1]


def check_what_remains_depends_on_the_number_of_rows(remaining):
    for name in ("logistic_regression", "boosted_trees"):
        values = [remaining[n, name] for n in (250, 1000, 4000)]
        assert values[0] > 1.5 * values[1] > 1.5 * 1.2 * values[2]
    assert abs(remaining[250, "logistic_regression"] - 0.03) < 0.005
    for n in (250, 1000, 4000):
        assert abs(remaining[n, "logistic_regression"] - remaining[n, "boosted_trees"]) < 0.003


def check_no_model_has_seen_the_rows(census):
    assert len(census.y_true) == 14_000
    assert "14 000 other rows" in census.description


def check_exercise_1(pair_p_values):
    assert max(pair_p_values) < 0.05


def check_exercise_2(decisions):
    assert (decisions["isotonic"] == decisions["smallest"]).all()
    assert (decisions["largest"] > decisions["smallest"]).all()


def check_exercise_3(census, y, logistic, weighted, equal):
    import bayescal as bc

    ends = {}
    for sex in ("Female", "Male"):
        member = census.columns["sex"] == sex
        of_sex = bc.cumulative.difference(y[member], logistic[member])
        assert of_sex.p_kuiper > 0.2
        low, ends[sex] = of_sex.posterior(rng=1).kuiper.interval(0.95)
        assert low == 0
    assert abs(ends["Female"] - 0.0055) < 0.0003
    assert abs(ends["Male"] - 0.0102) < 0.0003
    assert round(weighted.p_kuiper, 2) == 0.02
    assert weighted.kuiper > equal.kuiper
