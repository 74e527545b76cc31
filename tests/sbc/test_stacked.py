"""A stack of data sets is its data sets, and draws may carry parameters behind the bins."""

import numpy as np
from sbc.ranks import one_by_one
from sbc.simulators import dirichlet_simulator
from sbc.stacked import JointDraws, StackedCounts

from bayescal import BinnedCounts, dirichlet_posterior


def test_a_stack_is_its_data_sets():
    """Everything that a posterior computes from stacked counts is what it computes from each data set alone."""
    simulator = dirichlet_simulator(bins=5, rows=30, weight=2.0, discarded=10)
    _, stack = simulator.simulate(20, np.random.default_rng(8))
    assert len(stack) == 20
    assert repr(stack) == "StackedCounts(5 equal-width bins [a, b), 20 data sets)"
    together = dirichlet_posterior(stack, alpha="jeffreys")
    for i, one in enumerate(stack):
        assert type(one) is BinnedCounts
        for name in ("n", "k", "share", "accuracy", "mean_confidence", "effective_n", "effective_k", "occupied"):
            np.testing.assert_array_equal(getattr(stack, name)[i], getattr(one, name), err_msg=name)
        assert stack.effective_rows[i, 0] == one.effective_rows
        assert stack.n_rows[i, 0] == one.n_rows
        alone = dirichlet_posterior(one, alpha="jeffreys")
        np.testing.assert_array_equal(together.mass_parameters[i], alone.mass_parameters)
        for every, single in zip(together.accuracy_parameters, alone.accuracy_parameters, strict=True):
            np.testing.assert_array_equal(every[i], single)
        for every, single in zip(together.confidence_parameters[:2], alone.confidence_parameters[:2], strict=True):
            np.testing.assert_array_equal(np.broadcast_to(every, (20, 5))[i], single)


def test_a_stack_of_one_gives_the_draws_of_one():
    _, stack = dirichlet_simulator(bins=5, rows=30).simulate(1, np.random.default_rng(9))
    many, one = (dirichlet_posterior(c).sample(50, rng=1) for c in (stack, next(iter(stack))))
    for name in ("mass", "accuracy", "confidence"):
        np.testing.assert_array_equal(getattr(many, name)[:, 0], getattr(one, name))


def test_an_empty_stack_of_rows_is_the_prior():
    zero = np.zeros((2, 3, 4))
    stack = StackedCounts(BinnedCounts.empty(4).bins, zero.astype(np.int64), zero, zero, zero[0], zero[0])
    np.testing.assert_array_equal(stack.share, 0)
    np.testing.assert_array_equal(stack.effective_rows, 0)


def test_parameters_behind_the_bins_stay_with_their_draws():
    """`one_by_one` keeps a random few of a pool; what belongs to one draw stays together."""

    class Numbered:
        def __init__(self, counts):
            self.right = dirichlet_posterior(counts)

        def sample(self, n_draws, *, rng):
            drawn = self.right.sample(n_draws, rng=rng)
            first = {"first accuracy": drawn.accuracy[:, 0], "masses": drawn.mass}
            return JointDraws(drawn.mass, drawn.accuracy, drawn.confidence, drawn.occupied, drawn.weight, first)

    _, stack = dirichlet_simulator(bins=3, rows=9).simulate(4, np.random.default_rng(10))
    drawn = one_by_one(Numbered, pool=50)(stack, 20, np.random.default_rng(11))
    assert drawn.accuracy.shape == (20, 4, 3)
    np.testing.assert_array_equal(drawn.behind["first accuracy"], drawn.accuracy[..., 0])
    np.testing.assert_array_equal(drawn.behind["masses"], drawn.mass)
