"""Checks of the statements in `notebooks/06_watching_a_stream.ipynb`."""

import numpy as np


def check_the_stream(monitor, truth, DAYS, ROWS):
    assert len(monitor) == DAYS
    assert monitor.n_rows == DAYS * ROWS
    assert truth[0] < 1e-6
    assert (np.diff(truth) > -1e-9).all()
    assert 0.05 < truth[-1] < 0.12


def check_one_day_at_a_time(plug_in, mean, low, high, truth, before):
    assert 0.025 < plug_in[before].mean() < 0.035
    assert mean[before].mean() < 0.6 * plug_in[before].mean()
    assert ((low <= truth) & (truth <= high)).mean() > 0.9
    assert (low[before] < 0.005).mean() > 0.9


def check_the_alarm(first, risen, evenings, monitor, look):
    assert 31 <= first < 40
    assert 0.65 < risen[0] < 0.99
    assert (risen[evenings < 30] < 0.99).all()
    assert (risen[evenings >= 44] > 0.9).all()
    assert "has risen" in look(monitor, first).verdict()


def check_false_alarms(by_rule):
    """Of 120 looks with an error of 0.05 each, 14 or more are wrong with probability 0.003."""
    each, rare = (np.array(alarms) for alarms in by_rule.values())
    assert each.size == rare.size == 120
    assert each.sum() <= 13
    assert rare.sum() <= 2
    assert rare.any(axis=1).sum() <= each.any(axis=1).sum()
    assert each.any(axis=1).mean() > 3 * each.mean()


def check_the_killed_program(survived):
    assert survived.n_rows == 1000 * len(survived) > 0
    assert list(survived.windows) == list(range(len(survived)))


def check_many_workers(merged, monitor):
    assert merged.n_rows == monitor.n_rows
    assert list(merged.windows) == list(monitor.windows)
    assert all((merged.windows[d].cells == monitor.windows[d].cells).all() for d in monitor.windows)


def check_solution_of_periods(alarms):
    for name, earliest in (("ten days", 33), ("one night", 30)):
        days = [alarms[name, back] for back in (1, 3, 7)]
        assert days[0] >= earliest
        assert days[1] - days[0] == days[2] - days[1] == 1
    assert alarms["one night", 1] == 30


def check_solution_of_the_signed_error(detected, by_ece):
    assert detected["ECE"] == detected["signed error"] < 45
    assert max(by_ece[:2]) < 0.99


def check_solution_of_the_limit(plug_in, limit, exceeded, first, exceeding):
    assert (plug_in[:30] <= 0.05).all()
    assert 31 <= exceeded < first
    assert 0.01 < exceeding < 0.1


def check_solution_of_the_rope(by_rope):
    days, false = zip(*by_rope.values(), strict=True)
    assert days[1] - days[0] == days[2] - days[1] == 1
    assert false == (1, 0, 0)


def check_solution_of_forgetting(kept, monitor):
    assert kept.n_rows == monitor.n_rows - 21 * 400
