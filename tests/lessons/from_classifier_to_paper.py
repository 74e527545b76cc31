"""Checks of the statements in `notebooks/02_from_classifier_to_paper.ipynb`."""

import numpy as np


def check_a_small_error_of_an_uncertain_size(ev, y_test):
    low, high = ev.ece.interval(0.95)
    assert len(y_test) == 899
    assert 0.01 < ev.ece.mean() < 0.02 < ev.plug_in < 0.03
    assert 0.0005 < low < 0.003
    assert 0.027 < high < 0.031
    assert ev.null.mean() < ev.plug_in < ev.null.interval(0.95)[1]
    assert ev.underconfidence.mean() > 0.9 * ev.ece.mean()


def check_bars_between_a_half_and_95_percent_extend_farther_above_the_diagonal(ev):
    confidence = ev.counts.mean_confidence
    low, high = np.quantile(ev.bin_draws.accuracy, [0.025, 0.975], axis=0)
    shown = (confidence > 0.55) & (confidence < 0.95)
    assert shown.sum() == 6
    assert (high - confidence > confidence - low)[shown].all()
    assert ev.counts.share[-1] > 0.75


def check_the_error_is_small_but_probably_not_zero(ev):
    below = [ev.ece.pr(lambda ece, limit=limit: ece < limit) for limit in (0.02, 0.03, 0.05)]
    assert 0.63 < below[0] < 0.73
    assert below[1] > 0.95
    assert below[2] > 0.99
    assert 1 / 16 < ev.bayes_factor < 1 / 12
    assert 0.055 < ev.p_calibrated < 0.08


def check_the_forest_is_more_accurate_and_worse_calibrated(comparison, forest, logistic, X_test, y_test):
    assert forest.score(X_test, y_test) > logistic.score(X_test, y_test)
    low, high = comparison.difference("forest", "logistic").interval(0.95)
    assert 0.195 < low < high < 0.245
    counts = comparison["forest"].counts
    near_half = abs(counts.mean_confidence - 0.5) < 1 / 30
    assert (counts.accuracy[near_half] > 0.9).all()
    assert near_half.any()


def check_more_bins_increase_the_value_expected_by_chance(by_bins):
    expected = by_bins["if calibrated"].iloc[:4]
    assert expected.is_monotonic_increasing
    assert expected.iloc[3] > 2 * expected.iloc[0]
    assert np.ptp(by_bins["mean"]) < 0.0025  # rounded to 0.001
    assert np.ptp(by_bins["low"]) < 0.0045


def check_the_sentence_for_the_paper(ev):
    low, high = ev.ece.interval(0.95)
    numbers = [f"{value:.3f}" for value in (ev.ece.mean(), low, high, ev.plug_in, ev.null.mean())]
    assert numbers == ["0.017", "0.001", "0.029", "0.023", "0.017"]


def check_solutions(bayes_ev, ev, few, grouped):
    assert -0.165 < bayes_ev.signed_error.mean() < -0.155
    assert any("0.002" in remark for remark in bayes_ev.remarks)
    widths = [high - low for low, high in (each.ece.interval(0.95) for each in (ev, few))]
    assert widths[0] < 0.8 * widths[1]
    assert ev.null.mean() < 0.6 * few.null.mean()
    intervals = [grouped[digit].signed_error.interval(0.95) for digit in range(10)]
    assert all(low < 0 < high for low, high in intervals)
    assert sum(high > 0.05 for _, high in intervals) >= 2
    assert abs(grouped.overall.signed_error.interval(0.95)[0]) < 0.0005
