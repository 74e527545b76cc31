"""Bins of equal effective mass: sizes worked by hand, Remark 5 of Tygert (2021), and every way to count with them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayescal as bc
from bayescal.stats.bins import SIDES, equal_effective_mass_edges, equal_mass_edges, make_bins
from bayescal.stats.files import count_file
from bayescal.stats.fine import equal_effective_mass_among, equal_mass_among

METHOD = "equal-effective-mass"


def effective(p, w, edges):
    """Kish's (sum w)^2 / sum w^2 of the rows of each bin [a, b)."""
    at = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    return np.array([w[at == b].sum() ** 2 / (w[at == b] ** 2).sum() for b in range(len(edges) - 1)])


def spread(p, w, edges):
    rows = effective(p, w, edges)
    return rows.max() / rows.min()


def alternating(n):
    """Weights 1 in the lower 4/9; above, 1 and 3 alternate: two rows count as (1 + 3)^2 / (1 + 9) = 1.6 rows."""
    i = np.arange(n)
    return (i + 0.5) / n, np.where((i >= 4 * n // 9) & (i % 2 == 1), 3.0, 1.0)


def skewed(n, seed=0):
    """Weights whose spread grows with the confidence: their effective share falls from 1 to exp(-2.25)."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, rng.lognormal(0, 1.5 * p)


def test_effective_numbers_by_hand():
    """80 rows count as 80, and 100 rows as 80: cuts after 40, 80 and 130 rows give 40 effective rows to each bin.

    A bin that contains rows of both kinds counts as less than the sum of its parts, so there is a second solution: cuts
    after 39.6, 81.1 and 130.5 rows. Both have bins of 40 effective rows, to 1.1 %.
    """
    p, w = alternating(180)
    edges = equal_effective_mass_edges(p, w, 4)
    np.testing.assert_allclose(180 * edges, [0, 40, 80, 130, 180], atol=2.1)
    np.testing.assert_allclose(effective(p, w, edges), 40, atol=1.1)
    # bins of 45 rows: the first has 45 effective rows, the others about 36
    assert spread(p, w, equal_mass_edges(p, 4)) > 1.24
    p, w = alternating(18_000)
    rows = effective(p, w, equal_effective_mass_edges(p, w, 4))
    np.testing.assert_allclose(rows, rows[0], rtol=1e-3)
    np.testing.assert_allclose(rows, 4000, rtol=0.011)


@pytest.mark.parametrize("seed", range(5))
def test_ratios_are_similar_where_those_of_equal_mass_are_not(seed):
    p, w = skewed(20_000, seed)
    edges = equal_effective_mass_edges(p, w, 15)
    assert len(edges) == 16
    assert spread(p, w, edges) < 1.02
    assert spread(p, w, equal_mass_edges(p, 15)) > 3


def remark_5(p, w, n_bins, rng):
    """Remark 5 of Tygert (2021): the least upper edges with ||W||_2 / ||W||_1 <= U, where U is that of random rows."""
    order = np.argsort(p)
    p, w = p[order], w[order]
    some = w[rng.permutation(len(w))[: len(w) // n_bins]]
    limit = np.sum(some**2) / np.sum(some) ** 2
    starts, total, squares = [0], 0.0, 0.0
    for j in range(len(w)):
        total, squares = total + w[j], squares + w[j] ** 2
        if squares <= limit * total**2 and j + 1 < len(w):
            starts, total, squares = [*starts, j + 1], 0.0, 0.0
    if len(w) - starts[-1] < (starts[-1] - starts[-2]) / 2:
        starts.pop()
    return np.concatenate([[0], (p[np.array(starts[1:]) - 1] + p[starts[1:]]) / 2, [1]])


def test_bins_are_more_similar_than_those_of_the_published_procedure():
    """It takes the ratio from random rows, so that its number of bins varies and its last bin has the remainder."""
    p, w = skewed(3000)
    theirs = [remark_5(p, w, 15, np.random.default_rng(seed)) for seed in range(20)]
    assert len({len(edges) for edges in theirs}) > 5
    ours = [spread(p, w, equal_effective_mass_edges(p, w, len(edges) - 1)) for edges in theirs]
    assert max(ours) < 1.06
    more_similar = [mine < spread(p, w, edges) for mine, edges in zip(ours, theirs, strict=True)]
    assert sum(more_similar) >= 19


def test_the_variance_of_weighted_averages_is_similar():
    """Outcomes with variance 1/4: the weighted average of a bin has the variance U^2 / 4."""
    p, w = skewed(2000)
    edges = equal_effective_mass_edges(p, w, 8)
    outcome = np.random.default_rng(1).random((4000, 2000)) < 0.5
    at = np.searchsorted(edges, p, side="right") - 1
    means = np.stack([outcome[:, at == b] @ w[at == b] / w[at == b].sum() for b in range(8)])
    # a variance of 4000 normal draws has a relative standard error of sqrt(2 / 4000) = 0.022; bound: 4.5 of them
    np.testing.assert_allclose(means.var(axis=1) * 4 * effective(p, w, edges), 1, atol=0.1)
    assert means.var(axis=1).max() / means.var(axis=1).min() < 1.2


@pytest.mark.parametrize("closed", SIDES)
@pytest.mark.parametrize("weights", [None, 1.0, 0.3, 1e300])
def test_equal_weights_give_equal_mass(closed, weights):
    rng = np.random.default_rng(2)
    for p in (rng.random(103), rng.integers(0, 9, 500) / 8):
        w = None if weights is None else np.full(len(p), weights)
        for n_bins in (1, 7, 15):
            np.testing.assert_array_equal(
                equal_effective_mass_edges(p, w, n_bins, closed=closed), equal_mass_edges(p, n_bins, closed=closed)
            )


def test_scale_order_and_rows_of_weight_0_change_nothing():
    p, w = skewed(1000)
    edges = equal_effective_mass_edges(p, w, 12)
    for factor in (2.0**-40, 2.0**900):
        np.testing.assert_array_equal(equal_effective_mass_edges(p, factor * w, 12), edges)
    order = np.random.default_rng(3).permutation(1000)
    np.testing.assert_array_equal(equal_effective_mass_edges(p[order], w[order], 12), edges)
    more_p, more_w = np.concatenate([p, np.linspace(0, 1, 400)]), np.concatenate([w, np.zeros(400)])
    np.testing.assert_array_equal(equal_effective_mass_edges(more_p, more_w, 12), edges)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0.0, 5e-324, 0.1, 0.25, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1),
            st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 3.0, 1e9, 1e300]) | st.floats(0, 10),
        ),
        min_size=1,
        max_size=40,
    ),
    n_bins=st.integers(1, 12),
    closed=st.sampled_from(SIDES),
)
def test_any_rows_give_edges(rows, n_bins, closed):
    p, w = np.array(rows).T
    if not w.any():
        return
    edges = equal_effective_mass_edges(p, w, n_bins, closed=closed)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert np.all(np.diff(edges) > 0)
    assert 1 <= len(edges) - 1 <= n_bins
    # on equally many bins, the ratios are at least as similar as those of equal mass
    shown, w = w[w > 0], w[w > 0] / w.max()
    even = equal_mass_edges(p[np.array(rows)[:, 1] > 0], n_bins, closed=closed)
    if len(even) == len(edges) and shown.min() > 1e-100 * shown.max() and closed == "left":
        p = p[np.array(rows)[:, 1] > 0]
        assert spread(p, w, edges) <= spread(p, w, even) * (1 + 1e-9)


def test_small_weights_after_a_large_one_count():
    """Differences of cumulative sums would lose them: 1e20 + 1 = 1e20."""
    p = (np.arange(100) + 0.5) / 100
    w = np.where(np.arange(100) < 10, 1e10, 1 + np.arange(100) % 2)
    edges = equal_effective_mass_edges(p, w, 2)
    # the first bin has 10 effective rows, whatever it has besides; two small rows count as (1 + 2)^2 / 5 = 1.8
    rows = effective(p, w, edges)
    assert rows[0] == pytest.approx(10, rel=1e-6)
    assert rows[1] == pytest.approx(10, abs=1.0)


@pytest.mark.parametrize(
    ("weights", "error", "said"),
    [
        ([1.0, -1.0, 1.0], ValueError, r"`weights` must be >= 0.*first at index 1"),
        ([1.0, np.nan, 1.0], ValueError, "`weights`"),
        ([0.0, 0.0, 0.0], ValueError, "`weights`"),
        ([1.0, 1.0], ValueError, "`weights`"),
        (["a", "b", "c"], TypeError, "`weights`"),
    ],
)
def test_invalid_weights_are_refused(weights, error, said):
    with pytest.raises(error, match=said):
        equal_effective_mass_edges([0.1, 0.2, 0.3], weights, 2)


# --- where bins are chosen


@pytest.fixture(scope="module")
def data():
    p, w = skewed(1500)
    return (np.random.default_rng(5).random(1500) < p).astype(int), p, w


def test_evaluate_takes_the_bins_and_says_so(data):
    y, p, w = data
    ev = bc.evaluate(y, p, weights=w, bins=10, binning=METHOD, draws=100, rng=1)
    assert "10 equal-effective-mass bins [a, b)" in ev.spec
    np.testing.assert_array_equal(ev.counts.bins.edges, equal_effective_mass_edges(p, w, 10))
    assert np.ptp(ev.counts.effective_n) < 0.1 * ev.counts.effective_n.mean()
    assert np.ptp(ev.counts.n) > ev.counts.n.mean()
    plain = bc.evaluate(y, p, bins=10, binning=METHOD, draws=100, rng=1)
    np.testing.assert_array_equal(plain.counts.bins.edges, equal_mass_edges(p, 10))


def test_groups_share_the_bins_of_all_rows(data):
    y, p, w = data
    grouped = bc.evaluate(y, p, weights=w, bins=6, binning=METHOD, by=np.arange(1500) % 2, draws=100, rng=1)
    for ev in (*grouped.values(), grouped.overall):
        np.testing.assert_array_equal(ev.counts.bins.edges, equal_effective_mass_edges(p, w, 6))


def test_classes_and_classifiers_have_edges_of_their_own(data):
    y, p, w = data
    classes = bc.evaluate(y, np.stack([1 - p, p], 1), weights=w, target="classwise", bins=5, binning=METHOD, draws=100)
    np.testing.assert_array_equal(classes[1].counts.bins.edges, equal_effective_mass_edges(p, w, 5))
    pair = bc.compare(y, {"a": p, "b": p**2}, weights=w, bins=5, binning=METHOD, draws=100, rng=1)
    np.testing.assert_array_equal(pair["b"].counts.bins.edges, equal_effective_mass_edges(p**2, w, 5))


@pytest.mark.parametrize("weighted", [True, False])
def test_a_file_gives_the_bins_of_its_rows(data, tmp_path, weighted):
    y, p, w = data
    pd.DataFrame({"y": y, "p": p, "w": w}).to_parquet(tmp_path / "rows.parquet")
    column = {"weights": "w"} if weighted else {}
    counts = count_file(tmp_path / "rows.parquet", label="y", prob="p", bins=8, binning=METHOD, **column)
    np.testing.assert_array_equal(counts.bins.edges, equal_effective_mass_edges(p, w if weighted else None, 8))
    bc.save_counts(counts, tmp_path / "counts.json")
    assert bc.load_counts(tmp_path / "counts.json").bins.kind == METHOD


def test_engines_refuse_them_and_name_the_function(data):
    y, p, w = data
    with pytest.raises(ValueError, match=r"equal_effective_mass_edges\(sample, weights_of_sample, 15\)"):
        bc.BinnedCounts.from_frame(
            pd.DataFrame({"y": y, "p": p, "w": w}), outcome="y", confidence="p", weights="w", binning=METHOD
        )


def test_confidences_are_needed():
    with pytest.raises(ValueError, match="`binning='equal-effective-mass'` needs the confidences"):
        make_bins(10, binning=METHOD)


def test_fine_counts_give_nearly_the_same_bins(data):
    y, p, w = data
    fine = bc.BinnedCounts.from_arrays(y, p, weights=w, bins=1000)
    merged = fine.coarsen(equal_effective_mass_among(fine, 10))
    assert np.ptp(merged.effective_n) < 0.2 * merged.effective_n.mean()
    assert np.ptp(fine.coarsen(equal_mass_among(fine, 10)).effective_n) > 0.5 * merged.effective_n.mean()
    plain = bc.BinnedCounts.from_arrays(y, p, bins=1000)
    np.testing.assert_array_equal(equal_effective_mass_among(plain, 10), equal_mass_among(plain, 10))


def test_bin_sensitivity_compares_all_ways(data):
    y, p, w = data
    ways = ("equal-width", "equal-mass", METHOD)
    result = bc.bin_sensitivity(y, p, n_bins=8, binning=ways, weights=w, draws=200, rng=1)
    own = bc.evaluate(y, p, weights=w, bins=8, binning=METHOD, draws=200, rng=1)
    np.testing.assert_allclose(result[METHOD, 8].ece.values, own.ece.values, atol=1e-7)
    assert not any("unions" in remark for remark in result.remarks)
    fine = bc.BinnedCounts.from_arrays(y, p, weights=w, bins=800, target="event")
    merged = bc.bin_sensitivity(fine, n_bins=8, binning=ways, draws=200, rng=1)
    assert any("Equal-effective-mass bins are unions" in remark for remark in merged.remarks)
    rows = merged[METHOD, 8].counts.effective_n
    assert merged.merged[METHOD, 8] == pytest.approx(rows.max() / rows.mean())
    assert len(bc.plot_bin_sensitivity(result).get_legend().get_texts()) == 3
