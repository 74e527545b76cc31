"""Checks of the statements in `notebooks/03_what_is_an_ece_worth.ipynb`."""

import numpy as np


def length(ev):
    low, high = ev.ece.interval(0.95)
    return high - low


def check_bias_and_variance_of_the_plug_in_value(plug_in, truth):
    bias = {n: values.mean() - truth for n, values in plug_in.items()}
    scatter = {n: values.std(ddof=1) for n, values in plug_in.items()}
    assert 0.4 < bias[200] / truth < 0.7
    assert 0.25 < scatter[200] / plug_in[200].mean() < 0.4
    assert bias[2000] < 0.15 * truth
    assert scatter[2000] < 0.2 * truth
    assert bias[10_000] < 0.05 * truth
    assert np.mean(plug_in[200] > 0.06) > 0.25


def check_one_test_set_is_typical_and_all_intervals_contain_the_truth(evaluations, plug_in, truth):
    assert abs(evaluations[200].plug_in - plug_in[200].mean()) < 0.005
    for ev in evaluations.values():
        low, high = ev.ece.interval(0.95)
        assert low < truth < high


def check_200_rows_do_not_distinguish(evaluations, truth):
    ev = evaluations[200]
    low, high = ev.ece.interval(0.95)
    assert low < 0.0005
    assert 0.08 < high < 0.09
    assert high > 2 * truth
    assert ev.ece.mean() < ev.plug_in < ev.null.interval(0.95)[1]


def check_more_rows_do(evaluations):
    ev = evaluations[2000]
    assert ev.null.interval(0.95)[1] < 0.6 * ev.plug_in
    assert ev.bayes_factor < 1e-4
    assert 0.8 * ev.ece.mean() < length(ev) < ev.ece.mean()
    assert 0.01 < length(evaluations[10_000]) < 0.015
    assert evaluations[10_000].null.mean() < 0.2 * evaluations[10_000].ece.mean()


def check_coverage(covered):
    """At a true coverage of 0.95, fewer than 87 of 100 would have a probability below 0.001."""
    assert all(over_confident >= 0.87 for over_confident, _ in covered.values())
    assert all(calibrated >= 0.95 for _, calibrated in covered.values())


def check_a_real_classifier(real):
    few, every = real.values()
    assert few.plug_in < few.null.quantile(0.9)
    assert few.ece.interval(0.95)[0] < 0.0005
    assert 0.4 < few.p_calibrated < 0.6
    assert 0.4 < every.plug_in / few.plug_in < 0.6
    assert every.null.mean() < 0.5 * few.null.mean()
    low, high = every.ece.interval(0.95)
    assert 0.0005 < low < high < 0.02
    assert every.p_calibrated < 0.2
    assert every.counts.share[-1] > 0.8
    assert every.counts.accuracy[-1] > 0.99


def check_solutions(by_chance, evaluations, lengths):
    for n, mean in by_chance.items():
        assert abs(mean - evaluations[n].null.mean()) < 0.002
    products = [each * np.sqrt(n) for n, each in lengths.items()]
    assert max(products) < 1.3 * min(products)
    assert 60_000 < (np.mean(products) / 0.005) ** 2 < 100_000
