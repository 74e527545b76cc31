"""The mixture of the results of imputations: joined draws, means, the share of missing information, remarks."""

import numpy as np
import pytest

from bayescal._presented import Presented
from bayescal.draws import Draws
from bayescal.results.imputed import Imputed, _missing, apart, averaged, joined

#: Posterior means of imputations.
MEANS = 0.5 + 0.02 * np.random.default_rng(5).standard_normal(20)


def test_draws_are_joined_and_keep_their_name():
    """Means of 1.5 and 3.0 move away from 2.25 by sqrt(3) and, with B = 1.125 and W = 0.125, by 1 + 2.42 * 27 / 29."""
    found = joined([Draws(np.array([1.0, 2.0]), "ece", 1), Draws(np.array([3.0]), "ece", 2)])
    moved = 0.75 * ((3 * (1 + 2.42 * 27 / 29)) ** 0.5 - 1)
    assert (found.values.tolist(), found.name) == (pytest.approx([1 - moved, 2 - moved, 3 + moved]), "ece")
    other = joined([Draws(np.array([1.0, 2.0]), "slope", 1), Draws(np.array([3.0]), "slope", 2)])
    assert (found + other).values.tolist() == pytest.approx([2 - 2 * moved, 4 - 2 * moved, 6 + 2 * moved])
    with pytest.raises(TypeError, match="same evaluation"):
        found + Draws(np.array([1.0, 2.0, 3.0]), "ece", 1)
    assert joined([{"a": (np.ones(1), np.zeros((1, 2)))}] * 2)["a"][1].shape == (2, 2)


@pytest.mark.parametrize("number", [2, 5, 20])
def test_the_variance_is_that_of_rubins_rules(number):
    """W + k (1 + 1 / M) B, exactly without bounds, and nearly so for narrow posteriors far from them.

    k = 1 + 2.42 lambda / (M - 1) stands for the t distribution, and is nearly 1 with many imputations.
    """
    sets = [mean + 0.01 * np.random.default_rng(k).standard_normal((400, 2)) for k, mean in enumerate(MEANS[:number])]
    means = np.array([each.mean(axis=0) for each in sets])
    within, between = np.mean([each.var(axis=0) for each in sets], axis=0), (1 + 1 / number) * means.var(axis=0, ddof=1)
    total = within + between * (1 + 2.42 * between / (between + within) / (number - 1))
    np.testing.assert_allclose(np.concatenate(apart(sets, (-np.inf, np.inf))).var(axis=0), total)
    for bounds in ((0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0), (-1.0, 1.0)):
        moved = np.concatenate(apart(sets, bounds))
        np.testing.assert_allclose(moved.var(axis=0), total, rtol=0.06)
        np.testing.assert_allclose(moved.mean(axis=0), means.mean(axis=0), atol=1e-3)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, np.inf), (-np.inf, 1.0)])
def test_moved_draws_keep_their_bounds(bounds):
    """Draws at a bound stay there, also of imputations of which all are; no draw crosses a bound."""
    low, high = bounds
    sets = [np.clip(mean + 0.5 * np.random.default_rng(1).standard_normal(200), low, high) for mean in MEANS]
    at_bound = np.full(200, low if np.isfinite(low) else high)
    for each in (sets, [*sets, at_bound], [at_bound] * 3):
        before, after = np.concatenate(each), np.concatenate(apart(each, bounds))
        assert ((after >= low) & (after <= high)).all()
        np.testing.assert_array_equal(after[np.isin(before, bounds)], before[np.isin(before, bounds)])


def test_means():
    assert averaged([1.0, 2.0]) == 1.5
    assert averaged([None, None]) is None
    assert averaged([{"a": np.array([False, True])}, {"a": np.array([False, False])}])["a"].tolist() == [False, True]
    assert averaged([{"a": np.array([1.0, 2.0])}, {"a": np.array([3.0, 4.0])}])["a"].tolist() == [2.0, 3.0]


def test_share_of_missing_information():
    """B = 4, W = 2.5: with M = 3, 4 / 3 B / (4 / 3 B + W) = 16 / 23.5."""
    sets = [{"mean": 0.0, "sd": 1.0}, {"mean": 2.0, "sd": 2.0}, {"mean": 4.0, "sd": 2.5**0.5}]
    assert _missing(sets) == pytest.approx(16 / 23.5)
    assert _missing([{"mean": 1.0, "sd": 0.0}] * 3) == 0.0


class Warned(Presented):
    """A result with remarks."""

    def __init__(self, *remarks):
        self.remarks = remarks


class Mixed(Imputed[Warned]):
    """A mixture of such results."""

    def __init__(self, *results):
        self.imputations = results


def test_each_remark_occurs_once():
    """Remarks that differ in numbers alone are one, which says so; two such remarks on one imputation are two."""
    found = Mixed(*[Warned(f"Only {k} events.", "a 1", "a 2", *["rare"] * (k == 2)) for k in range(6)]).remarks
    first = "6 of 6 imputations, first: Only 0 events."
    assert found == (first, "a 1", "a 2", "1 of 6 imputations, first: rare")
    few = Mixed(*[Warned()] * 4).remarks
    assert few == ("Only 4 imputations: intervals may be too narrow. Make at least 5, better 20.",)
    assert Mixed(*[Warned()] * 5).remarks == ()
