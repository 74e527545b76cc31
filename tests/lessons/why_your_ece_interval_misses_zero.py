"""Checks of the statements in `notebooks/04_why_your_ece_interval_misses_zero.ipynb`."""

import numpy as np


def contained(ends, truth):
    low, high = ends.T
    return (low - 1e-9 <= truth) & (truth <= high)


def check_mean_of_an_absolute_value(gap):
    """A Normal with standard deviation s has a mean absolute value of s sqrt(2 / pi)."""
    assert abs(gap.mean()) < 0.001
    assert abs(np.abs(gap).mean() - np.sqrt(0.7 * 0.3 / 100 * 2 / np.pi)) < 0.001


def check_bootstrap_and_dirichlet_model_miss_zero(bootstrap, dirichlet):
    assert bootstrap.mean() > dirichlet.plug_in
    assert bootstrap.interval(0.95)[0] > 0.01
    assert dirichlet.ece.interval(0.95)[0] > 0.01


def check_more_rows_do_not_help(distance):
    assert len(distance) == 4
    assert min(distance.values()) > 0.4


def check_plug_in_value_is_typical_of_a_calibrated_classifier(dirichlet):
    low, high = dirichlet.null.interval(0.95)
    assert low < dirichlet.plug_in < high


def check_default_interval_begins_at_zero(shrunk, dirichlet):
    low, high = shrunk.ece.interval(0.95)
    assert shrunk.model == "shrinkage"
    assert low < 0.001
    assert high < dirichlet.ece.interval(0.95)[1]
    assert shrunk.ece.mean() < 0.5 * dirichlet.ece.mean()


def check_figure_of_the_calibrated_classifier(of_calibrated):
    bootstrap, dirichlet, default = of_calibrated.values()
    assert not contained(bootstrap, 0).any()
    assert not contained(dirichlet, 0).any()
    assert contained(default, 0).all()
    assert default[:, 0].max() < 0.0005


def check_figure_of_the_miscalibrated_classifier(of_off, truth):
    bootstrap, dirichlet, default = of_off.values()
    assert contained(default, truth).sum() == 29
    assert default[:, 0].min() > 0.01
    centres = [ends.mean(axis=1) for ends in (bootstrap, dirichlet, default)]
    assert np.median(centres[0]) > truth + 0.005
    assert np.median(centres[1]) > truth + 0.005
    assert 0.2 < (centres[2] > truth).mean() < 0.8
    assert contained(bootstrap, truth).mean() > 0.5
    assert contained(dirichlet, truth).mean() > 0.5


def check_bayes_factors(shrunk, miscalibrated):
    assert 5.5 < shrunk.bayes_factor < 7
    assert miscalibrated.bayes_factor < 1e-6
    for ev in (shrunk, miscalibrated):
        assert abs(ev.p_calibrated - ev.bayes_factor / (1 + ev.bayes_factor)) < 1e-9


def check_a_real_classifier(real):
    dirichlet, default = real["dirichlet"], real["shrinkage"]
    assert default.plug_in > default.null.quantile(0.95)
    assert dirichlet.ece.interval(0.95)[0] > 0.01 > default.ece.interval(0.95)[0]
    assert 0.001 < default.ece.interval(0.95)[0] < 0.003
    assert 0.009 < default.ece.mean() < 0.011
    assert 1 / 12 < default.bayes_factor < 1 / 10
    assert 0.075 < default.p_calibrated < 0.09


def check_four_lines_draw_the_posterior(ece, dirichlet, accuracy):
    error = dirichlet.posterior.ece_sd() / np.sqrt(len(ece))
    assert abs(ece.mean() - dirichlet.posterior.ece_mean()) < 5 * error
    assert ece.min() > 0.01
    assert 0.5 < dirichlet.ece.mean() / accuracy.std(axis=0).mean() < 2


def check_the_two_priors(dirichlet, shrunk):
    assert (dirichlet.under_prior().ece < 0.02) < 0.005
    assert 0.25 < (shrunk.under_prior().ece < 0.02) < 0.42


def check_one_bin(without, on_average, gap):
    """Mean absolute values of Normal variables with the variance of a share of 100, and with twice this variance."""
    expected = np.sqrt(0.7 * 0.3 / 100 * 2 / np.pi)
    assert abs(without - expected) < 0.001
    assert abs(on_average - np.sqrt(2) * expected) < 0.001


def check_other_bins_and_priors(by_bins, by_alpha):
    lower = [by_bins[bins, "dirichlet"][0] for bins in (5, 15, 60)]
    assert 0 < lower[0] < lower[1] < lower[2]
    assert all(by_bins[bins, "shrinkage"][0] < 0.0005 for bins in (5, 15, 60))
    assert all(prior[0] > 0.02 for prior, _ in by_alpha.values())
    posteriors = np.array([posterior for _, posterior in by_alpha.values()])
    assert np.ptp(posteriors, axis=0).max() < 0.004


def check_a_small_error(small, small_truth):
    assert 1 < small[1000].bayes_factor < 5
    assert small[10_000].bayes_factor < 0.1
    assert small[10_000].ece.interval(0.95)[0] < 0.002
    low, high = small[100_000].ece.interval(0.95)
    assert 0.005 < low < small_truth < high < 0.02
