"""Checks of the statements in `notebooks/08_many_classes.ipynb`."""

import numpy as np


def check_three_questions(top, classwise):
    assert abs(top.ece.mean() - 0.144) < 0.001
    assert abs(classwise.ece.mean() - 0.029) < 0.001
    assert abs(classwise.marginal_error.mean() - classwise.ece.mean()) < 0.001


def check_signed_errors_sum_to_zero(classwise):
    signed = classwise.draws("signed_error").mean()
    assert classwise.ece.mean() < 0.05
    assert np.argmax(classwise.by_class.mean()) == 8
    assert set(np.flatnonzero(signed < -0.02)) == {7, 8}
    assert set(np.flatnonzero(signed > 0.01)) == {2, 3, 4, 9}
    # exactly 0 in the data; the posteriors of the classes are shrunk separately
    assert abs(signed.sum()) < 0.01


def check_the_number_of_classes(by_number):
    top, classwise = ([row[f"true {name}"] for row in by_number] for name in ("top-label", "classwise"))
    assert (np.diff(top) > 0).all()
    assert (np.diff(classwise) < 0).all()
    assert abs(classwise[-1] - 0.006) < 0.0005
    assert 1.5 < by_number[-1]["plug-in"] / classwise[-1] < 1.7
    assert by_number[-1]["by chance"] > 0.7 * by_number[-1]["plug-in"]
    assert all(row["low"] < row["true classwise"] < row["high"] for row in by_number)


def check_two_classes_stand_out(twenty, table, worst):
    low = twenty.by_class.interval(0.95)[0]
    assert set(np.flatnonzero(low > 0.001)) == {3, 11}
    assert abs(table["null_mean"].median() - 0.009) < 0.0005
    assert table.nlargest(2, "plug_in").index.tolist() == ["class 3", "class 11"]
    assert 0.75 < worst[3] < 0.85
    assert worst[3] + worst[11] > 0.999


def check_a_class_without_rows(partial):
    assert partial.counts[7].k.sum() == 0
    assert partial[7].ece.interval(0.95)[0] > 0.02


def check_batches_are_added(together, twenty):
    assert together.counts[3].n.tolist() == twenty.counts[3].n.tolist()
    assert abs(together.ece.mean() - twenty.ece.mean()) < 1e-12


def check_exercise_1(logistic, p_largest):
    assert logistic.plug_in < logistic.null.mean()
    assert logistic.ece.interval(0.95)[0] == 0
    assert p_largest.max() < 0.6


def check_exercise_2(largest, calm_rows):
    assert largest["plug_in"] > 1.2 * largest["null_mean"]
    assert max(row["low"] for row in calm_rows) < 1e-6


def check_exercise_3(off):
    assert off.plug_in < off.null.mean()
    assert off.ece.interval(0.95)[0] < 0.001
