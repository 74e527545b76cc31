"""Fine bins: every choice that is merged from them equals a count of its own."""

from fractions import Fraction

import numpy as np
import pytest

import bayescal as bc
from bayescal.analyses.sensitivity import (
    bins_among,
    can_merge,
    common_refinement,
    equal_effective_mass_among,
    equal_mass_among,
    largest_share,
)
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins

NUMBERS = (5, 7, 10, 15, 50)


def rows(kind, n=3000):
    rng = np.random.default_rng(3)
    p = {
        "smooth": rng.beta(2, 0.6, n),
        "float32": rng.beta(2, 0.6, n).astype(np.float32),
        "ties": rng.integers(0, 21, n) / 20,
        "edges": rng.choice([k / m for m in NUMBERS for k in range(m + 1)], n),
    }[kind]
    return (rng.random(n) < p).astype(int), p


def test_edges_are_the_union_of_all_fractions():
    exact = sorted({Fraction(k, m) for m in NUMBERS for k in range(m + 1)})
    edges = common_refinement(make_bins(m) for m in NUMBERS).edges
    np.testing.assert_array_equal(edges, [float(each) for each in exact])


@pytest.mark.parametrize("kind", ["smooth", "float32", "ties", "edges"])
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_a_merged_count_equals_a_count_of_its_own(kind, binning):
    y, p = rows(kind)
    choices = [make_bins(m, binning=each, confidence=p) for m in NUMBERS for each in ("equal-width", "equal-mass")]
    fine = bc.BinnedCounts.from_arrays(y, p, bins=common_refinement(choices))
    for number in NUMBERS:
        bins = make_bins(number, binning=binning, confidence=p)
        own = bc.BinnedCounts.from_arrays(y, p, bins=bins)
        merged = fine.coarsen(bins)
        np.testing.assert_array_equal(merged.cells, own.cells)
        np.testing.assert_allclose(merged.mean_confidence, own.mean_confidence, atol=1e-12)
        np.testing.assert_allclose(merged.losses.total, own.losses.total, atol=1e-9)
        if binning == "equal-width":
            np.testing.assert_array_equal(fine.coarsen(bins_among(fine, number, binning)).cells, own.cells)


def test_equal_mass_of_fine_bins_that_separate_all_values_is_that_of_the_rows():
    y, p = rows("smooth", 500)
    value = np.sort(p)
    fine = bc.BinnedCounts.from_arrays(y, p, bins=np.concatenate([[0], (value[1:] + value[:-1]) / 2, [1]]))
    for number in NUMBERS:
        own = bc.BinnedCounts.from_arrays(y, p, bins=number, binning="equal-mass")
        np.testing.assert_array_equal(fine.coarsen(bins_among(fine, number, "equal-mass")).n, own.n)


def test_each_cut_is_the_nearest_in_rows():
    """Every cut is compared with all edges of the fine bins."""
    y, p = rows("smooth")
    fine = bc.BinnedCounts.from_arrays(y, p, bins=60)
    below = np.concatenate([[0], np.cumsum(fine.n)])
    edges = equal_mass_among(fine, 7)
    sizes = [len(each) for each in np.array_split(np.arange(3000), 7)]
    nearest = {int(np.abs(below - wanted).min()) for wanted in np.cumsum(sizes)[:-1]}
    at = np.searchsorted(fine.bins.edges, edges[1:-1])
    got = {int(np.abs(np.cumsum(sizes)[:-1] - below[i]).min()) for i in at}
    assert got == nearest
    merged = fine.coarsen(bins_among(fine, 7, "equal-mass"))
    assert largest_share(merged, 7) == merged.n.max() * 7 / 3000
    assert merged.bins.kind == "equal-mass"


def test_one_fine_bin_that_holds_everything_leaves_one_bin():
    counts = bc.BinnedCounts.from_arrays([1, 0, 1], [0.91, 0.92, 0.93], bins=10)
    np.testing.assert_array_equal(equal_mass_among(counts, 3), [0, 1])


def test_the_side_of_the_edges_is_kept():
    counts = bc.BinnedCounts.from_arrays([1, 0, 1], [0.2, 0.4, 0.9], bins=make_bins(10, closed="right"))
    assert bins_among(counts, 5, "equal-width").closed == "right"
    assert bins_among(counts, 2, "equal-mass").closed == "right"
    assert can_merge(counts, 2)
    assert not can_merge(counts, 3)


def test_the_common_refinement_of_halves_and_thirds():
    edges = common_refinement([make_bins(2), make_bins(3)]).edges
    np.testing.assert_allclose(edges, [0, 1 / 3, 1 / 2, 2 / 3, 1], rtol=1e-15)


def test_two_bins_of_equal_width_and_of_equal_mass():
    fine = BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9], bins=10)
    assert fine.coarsen(bins_among(fine, 2, "equal-width")).n.tolist() == [3, 1]
    assert fine.coarsen(bins_among(fine, 2, "equal-mass")).n.tolist() == [2, 2]


def test_three_bins_of_two_rows_each():
    fine = BinnedCounts.from_arrays([1] * 6, [0.05, 0.15, 0.25, 0.35, 0.45, 0.95], bins=10)
    np.testing.assert_allclose(equal_mass_among(fine, 3), [0, 0.2, 0.4, 1], rtol=1e-15)


def test_a_heavy_row_has_a_wide_bin():
    """Of weights 1, 1, 1, 9, two effective rows are below 0.6, and (1 + 9)^2 / (1 + 81) = 1.2 above."""
    fine = BinnedCounts.from_arrays([1] * 4, [0.1, 0.3, 0.6, 0.8], weights=[1, 1, 1, 9], bins=10)
    np.testing.assert_allclose(equal_effective_mass_among(fine, 2), [0, 0.6, 1], rtol=1e-15)
