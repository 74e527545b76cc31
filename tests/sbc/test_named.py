"""Named quantities: a Normal mean with a Normal prior, whose posterior is known, is ranked."""

import numpy as np
import pytest
from jobs import named_streams
from sbc.control import with_data, with_draws
from sbc.controls import broken_rules, run_controls
from sbc.ranks import NamedSimulator, sbc

ERROR_RATE = 1e-6
ROWS = 5


class NormalMean(NamedSimulator):
    """mean ~ Normal(0, 1), five rows ~ Normal(mean, 1): mean | rows ~ Normal(sum / 6, 1 / 6). `pair` has two values."""

    independent = ("pair",)

    def simulate_one(self, rng):
        mean, pair = rng.standard_normal(), rng.standard_normal(2)
        return {"mean": mean, "pair": pair, "only truth": 0.0}, (rng.normal(mean, 1, ROWS), rng.normal(pair, 1))

    def sample_one(self, data, n_draws, rng):
        rows, pair = data
        mean = rng.normal(rows.sum() / (ROWS + 1), (ROWS + 1) ** -0.5, n_draws)
        return {"mean": mean, "pair": rng.normal(pair / 2, 0.5**0.5, (n_draws, 2))}

    def log_likelihood_one(self, values, data):
        rows, pair = data
        return -((rows - values["mean"][:, None]) ** 2).sum(axis=1) / 2 - ((pair - values["pair"]) ** 2).sum(axis=1) / 2


def too_wide(drawn, data, rng):
    return {"mean": drawn["mean"].mean(axis=0) + 1.2 * (drawn["mean"] - drawn["mean"].mean(axis=0))}


def test_ranks_of_a_right_sampler_are_uniform():
    ranks = sbc(NormalMean(), runs=1000, rng=1)
    assert list(ranks.samples) == ["mean", "pair, all bins", "pair[0]", "pair[1]", "log_likelihood"]
    assert ranks.rejected(ERROR_RATE) == []


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (with_draws(too_wide), "mean"),
        (with_data(lambda data: (data[0][:3], data[1])), "mean"),
        # the prior: its ranks are uniform for every parameter, and not for the likelihood
        (with_draws(lambda drawn, data, rng: {"mean": rng.standard_normal(drawn["mean"].shape)}), "log_likelihood"),
        (with_draws(lambda drawn, data, rng: {"pair": drawn["pair"] + 0.3}), "pair, all bins"),
    ],
)
def test_ranks_of_a_wrong_sampler_are_not(wrong, seen):
    simulator = NormalMean()
    assert seen in sbc(simulator, wrong(simulator), runs=2000, rng=2).rejected(ERROR_RATE)


def test_workers_change_nothing():
    alone, together = (sbc(NormalMean(), runs=150, rng=5, workers=workers) for workers in (1, 2))
    for name, ranks in alone.values.items():
        np.testing.assert_array_equal(ranks, together.values[name])


def test_draws_must_be_numbers():
    assert broken_rules({"mean": np.ones(3), "slope": np.array([1, np.nan])}, None) == ["not: slope is a number"]


def test_streams_depend_on_names_alone():
    one, other = (named_streams(np.random.default_rng(3)) for _ in range(2))
    first = one("a", "b").random(3)
    other("something else")
    np.testing.assert_array_equal(other("a", "b").random(3), first)
    assert not np.array_equal(one("ab").random(3), first)
    assert not np.array_equal(named_streams(np.random.default_rng(4))("a", "b").random(3), first)


def test_another_control_changes_no_row():
    from sbc.mistakes import controls

    few = [c for c in controls("dirichlet") if c.name in ("float32", "half the data")]
    both, alone = run_controls(runs=30, rng=5, chosen=few), run_controls(runs=30, rng=5, chosen=few[1:])
    assert both.rows[1:] == alone.rows
