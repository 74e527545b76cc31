"""The order of scores: that of numpy's stable sort, for any scores in [0, 1]."""

import numpy as np
import pytest

from bayescal.stats.ordered import CHUNK, sort_with_outcome, stable_order

N = 5000
RNG = np.random.default_rng(1)
#: 13 bits of the index of 5000 rows leave 51 bits for the scores. Scores of "equal high bits" differ in the bits that
#: are left out of the key, which begins at 0 because of one small score.
SCORES = {
    "uniform": RNG.random(N),
    "ties": RNG.random(N).round(2),
    "one value": np.full(N, 0.3),
    "near 0 and 1": RNG.beta(0.01, 0.01, N),
    "close together": 0.5 + RNG.integers(0, N, N) * 2.0**-53,
    "equal high bits": np.append(1e-300, 0.5 + RNG.integers(0, 2**12, N) * 2.0**-53),
    "subnormal": RNG.integers(0, 20, N) * 5e-324,
    "zeros of both signs": np.where(RNG.random(N) < 0.5, -0.0, RNG.random(N).round(1)),
    "several parts": RNG.random(2 * CHUNK + 1),
    "one row": np.array([1.0]),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "g"])
@pytest.mark.parametrize("name", SCORES)
def test_order_is_that_of_the_stable_sort(name, dtype):
    score = SCORES[name].astype(dtype)
    before = score.copy()
    order, ordered = stable_order(score)
    np.testing.assert_array_equal(order, np.argsort(score, kind="stable"))
    np.testing.assert_array_equal(ordered, np.sort(score))
    assert not np.signbit(ordered).any()
    np.testing.assert_array_equal(score, before)


def test_equal_high_bits_are_sorted_again(monkeypatch):
    """Without the second sort, the example above is out of order."""
    score = SCORES["equal high bits"]
    monkeypatch.setattr("bayescal.stats.ordered._with_equal_bits", lambda *_: np.zeros(0, dtype=np.intp))
    assert (stable_order(score)[0] != np.argsort(score, kind="stable")).any()


@pytest.mark.parametrize("name", SCORES)
def test_outcomes_follow_their_scores(name):
    score = SCORES[name]
    outcome = np.random.default_rng(2).integers(0, 2, len(score))
    ordered, of_outcome = sort_with_outcome(score, outcome)
    by_both = np.lexsort((outcome, score))
    np.testing.assert_array_equal(ordered, score[by_both])
    np.testing.assert_array_equal(of_outcome, outcome[by_both] == 1)
