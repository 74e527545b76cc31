"""Simulation-based calibration: its ranks, its power, and that our samplers pass it."""

from dataclasses import replace

import numpy as np
import pytest
from sbc.mistakes import SATURATED_ENDS
from sbc.ranks import Ranks, one_by_one, sbc
from sbc.simulators import dirichlet_simulator, shrinkage_simulator
from sbc.stacked import JointDraws
from sbc.uniformity import chi_square_p, ecdf_p

from bayescal import dirichlet_posterior

pytestmark = pytest.mark.measuring

#: Probability that a right sampler fails one of the tests below that say so.
ERROR_RATE = 1e-6


# --- ranks


def ranks_of(values, n_draws=99, n_cells=20, pooled=()):
    return Ranks(values, n_draws, n_cells, pooled)


def test_uniform_ranks_pass_and_others_do_not():
    rng = np.random.default_rng(3)
    uniform = ranks_of({"a": rng.integers(0, 100, 1000), "b": rng.integers(0, 100, (1000, 3))}, pooled=("b",))
    assert set(uniform.samples) == {"a", "b, all bins", "b[0]", "b[1]", "b[2]"}
    assert len(uniform.samples["b, all bins"]) == 3000
    assert uniform.rejected(1e-4) == []
    skew = ranks_of({"a": rng.integers(0, 100, 1000), "b": (100 * rng.beta(1.3, 1, 1000)).astype(int)})
    assert skew.rejected(1e-4) == ["b"]
    assert skew.p_value < 1e-4
    assert {row["quantity"] for row in skew.summary()} == {"a", "b"}


def test_p_values_of_both_tests_are_combined():
    rng = np.random.default_rng(4)
    ranks = ranks_of({name: rng.integers(0, 100, 500) for name in "abc"})
    for name in "abc":
        histogram = np.bincount(ranks.values[name] // 5, minlength=20)
        assert ranks.p_values[name] == min(1, 2 * min(chi_square_p(histogram), ecdf_p(histogram)))
    assert ranks.p_value == min(1, 3 * min(ranks.p_values.values()))


class AllTies:
    """A simulator whose truths and draws are all the same numbers, so that every rank is a tie."""

    parameters = ("accuracy",)
    independent = ()

    def __init__(self):
        self.inner = dirichlet_simulator(bins=3, rows=5)

    def simulate(self, n_sets, rng):
        truth, counts = self.inner.simulate(n_sets, rng)
        return replace(truth, **{name: np.full_like(truth.mass, 1 / 3) for name in FIELDS}), counts

    def log_likelihood(self, bins, counts):
        return np.zeros(bins.mass.shape[:-1])

    def sample(self, counts, n_draws, rng):
        truth, _ = self.inner.simulate(1, rng)
        return replace(truth, **{name: np.full((n_draws, len(counts), 3), 1 / 3) for name in FIELDS})


FIELDS = ("mass", "accuracy", "confidence", "weight")


def test_ties_are_broken_at_random():
    ranks = sbc(AllTies(), runs=2000, rng=1)
    assert ranks.rejected(ERROR_RATE) == []
    assert set(ranks.values["ece"].tolist()) == set(range(100))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"draws": 100}, ValueError, r"20 does not divide 101. Use for example `draws=99`"),
        ({"draws": 5, "cells": 20}, ValueError, "Use for example `draws=19`"),
        ({"runs": 0}, ValueError, "`runs` must be an integer >= 1"),
        ({"cells": 1}, ValueError, "`cells` must be an integer >= 2"),
        ({"rng": -1}, ValueError, "rng|expected non-negative"),
    ],
)
def test_options_that_make_no_sense(options, error, message):
    with pytest.raises(error, match=message):
        sbc(dirichlet_simulator(bins=3), **options)


def test_the_same_seed_gives_the_same_ranks_and_the_same_data_for_every_sampler():
    simulator = dirichlet_simulator(bins=3, rows=20)
    seen = []

    def spy(counts, n_draws, rng):
        seen.append(counts.cells)
        rng.random(7)
        return simulator.sample(counts, n_draws, rng)

    one, same = (sbc(simulator, runs=50, rng=4) for _ in range(2))
    other, _ = sbc(simulator, spy, runs=50, rng=4), sbc(simulator, spy, runs=50, rng=4)
    np.testing.assert_array_equal(one.values["ece"], same.values["ece"])
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(one.values["ece"], other.values["ece"])


def test_workers_change_nothing():
    """Every chunk of data sets has streams of its own; 250 data sets are three chunks."""
    simulator = dirichlet_simulator(bins=3, rows=20)
    alone, together = (sbc(simulator, runs=250, rng=5, workers=workers) for workers in (1, 2))
    assert alone.values.keys() == together.values.keys()
    for name, ranks in alone.values.items():
        np.testing.assert_array_equal(ranks, together.values[name], err_msg=name)
        assert len(ranks) == 250


def test_a_sampler_that_other_processes_cannot_have():
    simulator = dirichlet_simulator(bins=3, rows=20)
    with pytest.raises(TypeError, match=r"functions inside functions.*workers=1"):
        sbc(simulator, lambda counts, n, rng: simulator.sample(counts, n, rng), runs=250, workers=2)


class WithParameters(AllTies):
    """Truths with two parameters behind the bins, draws with one of them, and it is wrong."""

    def simulate(self, n_sets, rng):
        truth, counts = super().simulate(n_sets, rng)
        return joined(truth, {"known": rng.random((1, n_sets)), "unknown": rng.random((1, n_sets))}), counts

    def sample(self, counts, n_draws, rng):
        return joined(super().sample(counts, n_draws, rng), {"known": rng.random((n_draws, len(counts))) ** 2})


def joined(bins, behind):
    return JointDraws(
        *(getattr(bins, name) for name in ("mass", "accuracy", "confidence", "occupied")), bins.weight, behind
    )


def test_parameters_behind_the_bins_are_ranked():
    """Those that truths and draws both have."""
    ranks = sbc(WithParameters(), runs=500, rng=6)
    assert "unknown" not in ranks.values
    assert ranks.rejected(ERROR_RATE) == ["known"]


# --- our samplers


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": "two-rows"},
        {"alpha": "perks"},
        {"alpha": "jeffreys"},
        {"alpha": "uniform"},
        {"alpha": "uniform", "rows": 5},
        {"bins": [0, 0.02, 0.5, 0.9, 1.0], "alpha": "jeffreys"},
        {"bins": 5, "weight": 3.0, "discarded": 50, "alpha": "jeffreys"},
        {"bins": 2, "rows": 10, "alpha": [[1.0, 0.01], [3.0, 20.0]]},
    ],
    ids=str,
)
def test_the_dirichlet_sampler_is_calibrated(options):
    """False alarm rate 1e-6; `test_an_error_of_the_width_is_seen` says what 1000 runs can see."""
    assert sbc(dirichlet_simulator(**options), runs=1000, rng=10).rejected(ERROR_RATE) == []


@pytest.mark.parametrize(
    ("options", "runs", "ranked"),
    [
        ({"bins": 9, "rows": 150}, 300, {"intercept", "slope", "rho"}),
        ({"bins": 4, "rows": 8, "mass_alpha": 0.5}, 200, {"intercept", "slope", "rho"}),
        ({"bins": 9, "rows": 300, "sub_models": ["shared"]}, 600, {"amount", "rho"}),
        ({"bins": 9, "rows": 300, "sub_models": ["small_errors"]}, 300, {"intercept", "slope"}),
        ({"bins": 9, "rows": 300, "sub_models": ["noise"]}, 600, {"noise", "noise_rate"}),
        ({"bins": 9, "rows": 30, "sub_models": ["noise", "exact"], "crowded": True}, 600, {"noise"}),
        (
            {"bins": SATURATED_ENDS, "rows": 300, "sub_models": ["shared", "noise", "saturated"]},
            600,
            {"amount", "rho", "noise", "noise_rate"},
        ),
    ],
    ids=["nine bins", "few rows, bins without any", "shared", "small errors", "noise", "crowded ends", "saturated"],
)
def test_the_shrinkage_sampler_is_calibrated(options, runs, ranked):
    """False alarm rate 1e-6. A posterior takes some 15 ms, so these are few; `make verify` makes 10 000 of 15 bins."""
    ranks = sbc(shrinkage_simulator(**options), runs=runs, rng=15)
    assert ranks.rejected(ERROR_RATE) == []
    assert {"ece", "sub_model", "bins_off"} | ranked <= set(ranks.samples)


def test_one_data_set_after_the_other():
    """The slow path for any posterior; a pool of draws, of which a random few are kept, changes nothing."""
    simulator = dirichlet_simulator(bins=5, rows=50, alpha="jeffreys")
    for pool in (None, 150):
        ranks = sbc(simulator, one_by_one(simulator.posterior, pool=pool), runs=400, rng=11)
        assert ranks.rejected(ERROR_RATE) == []
    wrong = one_by_one(lambda counts: dirichlet_posterior(counts, alpha=5.0))
    assert sbc(simulator, wrong, runs=400, rng=11).rejected(ERROR_RATE)


def wider(simulator, factor):
    """The right sampler with standard deviations of all accuracies times a factor."""

    def sample(counts, n_draws, rng):
        right = simulator.sample(counts, n_draws, rng)
        mean = right.accuracy.mean(axis=0)
        return replace(right, accuracy=np.clip(mean + factor * (right.accuracy - mean), 0, 1))

    return sample


@pytest.mark.parametrize(("runs", "factor"), [(100, 1.25), (1000, 1.05), (1000, 0.95)])
def test_an_error_of_the_width_is_seen(runs, factor):
    """At an error rate of 1e-6, on each of three seeds: so a single run of the test sees it with high probability."""
    simulator = dirichlet_simulator(alpha="uniform")
    for seed in range(3):
        assert "accuracy, all bins" in sbc(simulator, wider(simulator, factor), runs=runs, rng=seed).rejected(
            ERROR_RATE
        )


def test_data_dependent_quantities_are_needed():
    """Draws from the prior have uniform ranks of every parameter; the likelihood and the worst bin tell."""
    simulator = dirichlet_simulator(bins=8, alpha="uniform", rows=50)

    def prior(counts, n_draws, rng):
        truth, _ = simulator.simulate(n_draws * len(counts), rng)
        shape = (n_draws, len(counts), 8)
        return replace(truth, **{name: getattr(truth, name).reshape(shape) for name in FIELDS})

    ranks = sbc(simulator, prior, runs=1000, rng=12)
    rejected = ranks.rejected(ERROR_RATE)
    assert {"log_likelihood", "worst_gap"} <= set(rejected)
    assert not [name for name in rejected if name.startswith(("mass", "accuracy", "ece", "signed"))]
