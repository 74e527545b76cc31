"""The logarithm of probabilities: against extended precision, at its limits, and in compiled loops."""

import numpy as np
import pytest

from bayescal._logarithm import SMALLEST, log_in_place
from bayescal.stats._kernel import accumulate
from bayescal.stats.bins import make_bins

#: Units in the last place.
MOST_UNITS = 4


def probabilities():
    """Of every size, near 1, near the roots of 2 and of 1/2 at which the power changes, and not normal."""
    rng = np.random.default_rng(1)
    turn = np.sqrt(0.5) * 2.0 ** -np.arange(60.0)
    near = np.concatenate([turn, np.nextafter(turn, 0), np.nextafter(turn, 1)])
    small = SMALLEST * np.array([1.0, 0.5, 0.75, 2.0**-30, 2.0**-52])
    below = 1 - 10.0 ** rng.uniform(-16, 0, 20_000)
    return np.concatenate([rng.random(20_000), 10.0 ** rng.uniform(-300, 0, 20_000), below[below > 0], near, small])


def test_the_error_is_a_few_units_in_the_last_place():
    p = probabilities()
    exact = np.log(p.astype(np.longdouble))
    found = p.copy()
    assert not log_in_place(found).any()
    error = np.abs(found - exact) / np.spacing(np.abs(exact.astype(np.float64)))
    assert error.max() <= MOST_UNITS


def test_zero_is_named_and_has_no_logarithm():
    values = np.array([0.0, 1.0, 0.5, 5e-324])
    zero = log_in_place(values)
    np.testing.assert_array_equal(zero, [True, False, False, False])
    np.testing.assert_array_equal(values[:2], [0.0, 0.0])
    np.testing.assert_allclose(values[2:], [-np.log(2), -1074 * np.log(2)], rtol=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_loops_have_the_same_bits(weighted, monkeypatch):
    """Also for probabilities that are 0 or not normal, and rows of weight 0, which have no infinite loss."""
    p = np.concatenate([probabilities(), [0.0, 0.0, 1.0, 1.0]])
    confidence = np.concatenate([p, 1 - p])
    outcome = np.repeat([1.0, 0.0], len(p))
    weight = np.random.default_rng(2).integers(0, 3, len(confidence)) / 2 if weighted else None
    sums = []
    for choice in ("always", "never"):
        monkeypatch.setenv("BAYESCAL_COMPILE", choice)
        sums.append(accumulate(confidence, outcome, weight, make_bins(15))[0].log_losses)
    for name in ("total", "squares", "infinite"):
        np.testing.assert_array_equal(*(getattr(each, name) for each in sums), err_msg=name)
    impossible = np.abs(1 - outcome - confidence) == 0
    assert sums[0].infinite.sum() == np.sum(impossible if weight is None else impossible & (weight > 0)) > 0
