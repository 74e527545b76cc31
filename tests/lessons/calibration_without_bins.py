"""Checks of the statements in `notebooks/09_calibration_without_bins.ipynb`."""

import numpy as np


def check_bins_hide_the_error(ev, score, below, above):
    # opposite errors, equally frequent up to chance (two standard deviations), in the bin [7/15, 8/15)
    assert set(np.floor(15 * score[below | above])) == {7}
    assert abs(below.sum() - above.sum()) < 2 * np.sqrt((below | above).sum())
    assert abs(ev.ece.mean() - 0.003) < 0.0005
    assert ev.ece.interval(0.95)[0] == 0
    assert abs((below | above).mean() - 0.04) < 0.004


def check_the_slopes_are_the_errors(cd):
    for low, high, true in ((0.47, 0.49, -0.45), (0.49, 0.51, 0.45), (0.51, 1.0, 0.0)):
        slope, error, *_ = cd.slope(low, high)
        assert abs(slope - true) < 3 * error


def check_p_values(cd, p_values):
    # 2000 test sets: standard error 0.005
    assert abs(np.mean(np.array(p_values) <= 0.05) - 0.05) < 0.015
    assert cd.p_kuiper < 0.002


def check_the_size(cd, posterior):
    low, high = posterior.kuiper.interval(0.95)
    assert low < 0.45 * 0.02 < high
    assert posterior.kuiper.mean() < cd.kuiper


def check_one_heavy_row(cd, heavy):
    assert heavy.sigma > 10 * cd.sigma
    assert heavy.p_kuiper > 0.05
    share = 2000 / (2000 + 19_999)
    of_one_row = share * np.sqrt(0.8 * 0.2)
    assert abs(of_one_row / heavy.sigma - 1) < 0.01


def check_subpopulations(screen, table, predicted, y_prob):
    assert set(table.index[table["average_difference"] < -0.1]) == {7, 8}
    assert (table.loc[[k for k in table.index if k not in (7, 8)], "average_difference"].head(4) > 0).all()
    curve, score = screen[8].curve[1:], screen[8].score
    assert curve[-1] < curve[score < 1][-1] < curve[score < 0.99][-1]
    steep = screen[8].slope(0.99, 1)
    assert steep.difference < -5 * steep.standard_error
    assert sum(table["average_difference"] > 0) > len(table) / 2
    exactly_1 = (y_prob.max(axis=1)[predicted == 8] == 1).mean()
    assert 0.5 < exactly_1 < 0.55


def check_exercise_1(fine, ev):
    assert fine.ece.interval(0.95)[0] < 0.018 < fine.ece.interval(0.95)[1]
    assert abs(fine.null.mean() - 0.022) < 0.001
    assert abs(ev.null.mean() - 0.009) < 0.001


def check_exercise_2(wave):
    assert wave.p_kuiper > 0.2
    # the integral of 0.1 sin(40 pi c) over half a period, with the density 1 / 0.8
    assert abs(0.1 * 2 / (40 * np.pi) / 0.8 - 0.002) < 0.0001


def check_exercise_3(logistic):
    assert logistic.p_kuiper > 0.2
    low, high = logistic.posterior(rng=1).kuiper.interval(0.95)
    assert low == 0
    assert abs(high - 0.011) < 0.0005
