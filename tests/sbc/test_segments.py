"""Segments of differences: true differences from the prior of the docstring, and wrong samplers."""

from dataclasses import replace

import numpy as np
import pytest
from sbc.ranks import NamedSimulator, sbc

from bayescal.cumulative.segments import NormalSegments

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-3
BINS, UNIT = 8, 0.5
VARIANCE = np.linspace(0.004, 0.02, BINS)


class SegmentsSimulator(NamedSimulator):
    """Differences from the prior, with a continuous scale tau = 1.5 s u^2; Normal errors of known variance."""

    def simulate_one(self, rng):
        x = np.linspace(-1, 1, BINS)
        if rng.random() < 0.5:
            tau = 1.5 * UNIT * rng.random() ** 2
            difference = rng.normal(0, tau) + rng.normal(0, tau) * x
        else:
            rate = min(rng.choice([1, 4, 16]) / (BINS - 1), 0.9)
            segment = np.append(0, np.cumsum(rng.random(BINS - 1) < rate))
            each = rng.normal(0, 1.5 * UNIT * rng.random(BINS) ** 2) * (rng.random(BINS) < 0.5)
            difference = each[segment]
        observed = rng.normal(difference, VARIANCE**0.5)
        return named(difference[None], observed, first=True), NormalSegments(observed, VARIANCE, UNIT)

    def sample_one(self, data, n_draws, rng):
        return named(data.sample(n_draws, rng), data.difference)

    def log_likelihood_one(self, values, data):
        return -values["distance"]


def named(difference, observed, *, first=False):
    """Quantities of draws; those of the truth are numbers. Ties, as of 0, are broken at random by `sbc`."""
    kuiper = np.ptp(np.append(np.zeros((len(difference), 1)), np.cumsum(difference, axis=1), axis=1), axis=1)
    values = {
        "mean": difference.mean(axis=1),
        "largest": np.abs(difference).max(axis=1),
        "kuiper": kuiper,
        "first": difference[:, 0],
        "changes": np.abs(np.diff(difference, axis=1)).sum(axis=1),
        "zeros": (difference == 0).sum(axis=1).astype(float),
        "distance": ((difference - observed) ** 2 / VARIANCE).sum(axis=1) / 2,
    }
    return {name: value[0] for name, value in values.items()} if first else values


def with_changed(change):
    simulator = SegmentsSimulator()

    def sampler(data, n_draws, rng):
        return simulator.sample([change(one) for one in data], n_draws, rng)

    return sampler


def without_exact_zeros(data, n_draws, rng):
    """Draw again until no difference is 0: the spike is left out."""
    drawn = []
    for one in data:
        many = one.sample(20 * n_draws, rng)
        kept = many[(many != 0).all(axis=1)]
        drawn.append(named(kept[rng.integers(0, len(kept), n_draws)], one.difference))
    return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}


def without_drift(data, n_draws, rng):
    drawn = [named(one._segments(rng.integers(0, 3, n_draws), rng), one.difference) for one in data]
    return {name: np.stack([each[name] for each in drawn], axis=1) for name in drawn[0]}


def test_ranks_are_uniform():
    """A false alarm in a thousand; seed fixed."""
    ranks = sbc(SegmentsSimulator(), runs=1000, rng=1)
    assert set(ranks.samples) >= {"mean", "largest", "kuiper", "first", "changes", "zeros", "log_likelihood"}
    assert ranks.rejected(ERROR_RATE) == []


@pytest.mark.parametrize(
    "wrong",
    [
        with_changed(lambda one: replace(one, variance=2 * one.variance)),
        with_changed(lambda one: replace(one, variance=one.variance / 2)),
        with_changed(lambda one: replace(one, difference=-one.difference)),
        with_changed(lambda one: replace(one, unit=one.unit / 5)),
        without_exact_zeros,
        without_drift,
    ],
    ids=["variances doubled", "variances halved", "signs", "scale", "no spike of 0", "no drift"],
)
def test_wrong_samplers_are_caught(wrong):
    assert sbc(SegmentsSimulator(), wrong, runs=200, rng=2).rejected(ERROR_RATE) != []
