"""Checks of the statements in `notebooks/05_comparing_two_models.ipynb`."""

import numpy as np
import pytest
from scipy.stats import norm


def width(draws):
    low, high = draws.interval(0.95)
    return high - low


def ratio(one, two, first, second, estimand="ece"):
    return width(one.difference(first, second, estimand)) / width(two.difference(first, second, estimand))


def check_recalibration_helps_clearly(clear, y, test):
    assert (len(y), len(test)) == (1797, 899)
    assert clear.decide("before", "temperature")["p_right"] > 0.999
    assert clear.difference("before", "temperature").interval(0.95)[0] > 0.08
    assert clear["before"].signed_error.mean() < -0.1


def check_two_recalibrations_are_undecided(close, pair):
    low, high = close.difference(*pair).interval(0.95)
    assert low < 0 < high
    assert close["isotonic"].ece.mean() < close["temperature"].ece.mean()
    assert abs(close["temperature"].ece.mean() - 0.022) < 0.002
    assert abs(close["isotonic"].ece.mean() - 0.011) < 0.002
    assert "uncertain" in close.verdict()


def check_rope(close, pair, widths):
    decided = close.decide(*pair)
    assert decided["p_left"] < 0.1
    assert min(decided["p_rope"], decided["p_right"]) > 0.2
    assert 0 < close.rope_curve([0.0], *pair)[0] < 0.03
    assert (close.draws().values == 0).all(axis=1).any()
    assert (np.diff(close.rope_curve(widths, *pair)) > 0).all()


def check_a_rope_from_the_data_decides_nothing(rope_rows):
    assert norm.cdf(0.1) - norm.cdf(-0.1) < 0.08
    assert rope_rows[-1]["P(equal), rope 0.01"] > 0.99
    assert all(row["P(equal), rope sd/10"] < 0.12 for row in rope_rows)
    assert rope_rows[-1]["sd of the difference"] < 0.5 * rope_rows[0]["sd of the difference"]


def check_forests_predict_the_shipped_images(label, y):
    assert (label == y).all()


def check_the_warning(caught, others):
    assert {each.category.__name__ for each in caught} == {"SameRowsWarning"}
    assert len(caught) == len(others)


def check_forests(paired, apart, others):
    assert "practically equal" in paired["other seed"].verdict()
    assert "uncertain" in apart["other seed"].verdict()
    assert paired["two in a leaf"].decide("forest", "two in a leaf")["p_left"] > 0.99
    assert apart["two in a leaf"].decide("forest", "two in a leaf")["p_left"] > 0.95
    for name in others:
        assert ratio(paired[name], apart[name], "forest", name) < 0.5
        assert all(abs(ev.signed_error.mean() - 0.2) < 0.03 for ev in paired[name].evaluations.values())


def check_the_other_way_round(opposed, alike, ratios):
    assert opposed["before"].signed_error.interval(0.95)[1] < 0 < opposed["sigmoid"].signed_error.mean()
    assert np.corrcoef(alike.draws().values.T)[0, 1] > 0.6
    assert np.corrcoef(opposed.draws().values.T)[0, 1] < -0.1
    assert ratios["off in the same way"] < 0.5
    assert ratios["off in opposite ways"] > 1.05


def check_one_classifier_under_two_names(twice, twice_apart):
    assert (twice.difference("model", "same model").values == 0).all()
    assert twice.decide("model", "same model")["p_rope"] == 1
    assert width(twice_apart.difference("model", "same model")) > 0.05


def check_brier_score(scores, scores_apart, pair, models, y, test):
    paired = scores.difference(*pair)
    assert scores.decide(*pair)["p_right"] > 0.95 > (scores_apart > 0.01)
    assert width(paired) < 0.4 * width(scores_apart)
    one_hot = np.eye(10)[y[test]]
    losses = [((models[name] - one_hot) ** 2).sum(axis=1) for name in pair]
    assert abs(paired.mean() - (losses[0] - losses[1]).mean()) < 0.001
    right = {name: (models[name].argmax(axis=1) == y[test]).mean() for name in pair}
    assert right["isotonic"] > right["temperature"] + 0.01


def check_scores_of_top_labels_are_refused(close, pair):
    with pytest.raises(ValueError, match=r"`bayescal\.scores\.compare`"):
        close.difference(*pair, "brier_score")


def check_signed_errors(signed):
    assert signed["temperature"].signed_error.mean() < 0 < signed["sigmoid"].signed_error.mean()
    assert abs(sum(ev.signed_error.mean() for ev in signed.evaluations.values())) < 0.005
    assert signed.difference("temperature", "sigmoid", "signed_error").interval(0.95)[1] < 0
    by_size = signed.decide("temperature", "sigmoid", estimand="signed_error")
    assert max(by_size["p_left"], by_size["p_right"]) < 0.6


def check_all_four(four):
    assert 0.83 < four.p_best()["isotonic"] < 0.87
    assert 0.52 < four.decide("temperature", "isotonic")["p_right"] < 0.56
    assert abs(sum(four.p_best().values()) - 1) < 1e-9
    assert np.allclose(four.rank_probabilities().sum(axis=0), 1)


def check_five_splits(split_rows):
    assert all(row["low"] < 0 < row["high"] for row in split_rows)
    best = [row["P(isotonic is best)"] for row in split_rows]
    assert min(best) < 0.4 < 0.6 < max(best)


def check_groups(grouped, digit_by_digit, isotonic):
    assert grouped.overall.ece.mean() < 0.03
    assert all(grouped[digit].signed_error.interval(0.95)[1] < -0.07 for digit in (7, 8))
    assert abs(grouped[7].signed_error.mean() + 0.16) < 0.01
    assert abs(grouped[8].signed_error.mean() + 0.19) < 0.01
    assert grouped[0].signed_error.interval(0.95)[0] > 0
    assert abs(grouped.overall.signed_error.mean()) < 0.03
    assert digit_by_digit.decide("read as 0", "read as 8")["p_left"] > 0.99
    assert all(abs(isotonic[d].signed_error.mean()) < 0.75 * abs(grouped[d].signed_error.mean()) for d in (7, 8))
    assert all(isotonic[digit].signed_error.interval(0.95)[1] < 0 for digit in (7, 8))


def check_solution_of_the_forest(forest_four, pair_ratios, forest_pair):
    for name in ("temperature", "isotonic", "sigmoid"):
        assert forest_four.decide(name, "before")["p_left"] > 0.99
    for name in ("temperature", "isotonic"):
        assert forest_four.decide(name, "sigmoid")["p_left"] > 0.99
    assert 0.6 < forest_four.decide("temperature", "isotonic")["p_rope"] < 0.95
    assert pair_ratios["naive Bayes"] < 0.5
    assert 0.9 < pair_ratios["forest"] < 1.2
    assert forest_pair["before"].signed_error.mean() > 0.15
    assert abs(forest_pair["temperature"].signed_error.mean()) < 0.01


def check_solution_of_logistic_regression(logistic_rows):
    equal = [row["P(equal)"] for row in logistic_rows]
    assert 0.5 < min(equal) < max(equal) < 0.95
    assert all(row["low"] > -0.02 and row["low"] < 0.001 for row in logistic_rows)


def check_solution_of_the_splits(split_ratios):
    below = [row["ratio"] < 1 for row in split_ratios]
    assert np.flatnonzero(below).tolist() == [1, 3]
    for row, narrower in zip(split_ratios, below, strict=True):
        assert (row["correlation of the ECEs"] > 0) == narrower
        assert (row["rows of sigmoid in over-confident bins"] > 0.25) == narrower


def check_solution_of_other_estimands(other_widths, close, pair):
    assert all(3 < other_widths[name] / other_widths["ECE"] < 5.5 for name in ("l4 error", "E90 of bins"))
    for estimand in ("ece", "e90_bins"):
        low, high = close.difference(*pair, estimand).interval(0.95)
        assert low < 0 < high


def check_solution_of_the_wines(wine_rows):
    undecided, *others = wine_rows
    assert undecided["low"] < 0 < undecided["high"]
    assert 1000 <= undecided["rows for +- 0.01"] <= 1200
    assert all(row["P(1st better)"] > 0.95 for row in others)
