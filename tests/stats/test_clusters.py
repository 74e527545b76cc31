"""Sums over clusters against direct sums over pairs of rows, and the design effects that follow from them."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import bayescal as bc
from bayescal.analyses.one import count_rows
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Columns
from bayescal.datasets.clustered import simulate_clusters
from bayescal.estimands.plug_in import null_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.clusters import ClusterCells, ClusterSums

BINS, BINS_OF_CLUSTERS = make_bins(4), 5


def rows_of(rng, n=300, clusters=40, weighted=False):
    p = rng.random(n)
    z = (rng.random(n) < p).astype(np.int64)
    return Columns.read(z, p, rng.random(n) + 0.1 if weighted else None), rng.integers(0, clusters, n)


def sums_of(rows, of_row, bins=BINS):
    return ClusterSums.from_rows(rows, of_row, bins)


def counted(z, p, cluster, bins=BINS, weights=None):
    rows = Columns.read(z, p, weights, target="event")
    return count_rows(rows, bins, "equal-width", clusters=Clusters.from_column(cluster, len(rows)))


@pytest.mark.parametrize("weighted", [False, True])
def test_matrices_are_double_sums_over_pairs_of_rows(weighted):
    rows, of_row = rows_of(np.random.default_rng(1), weighted=weighted)
    sums = sums_of(rows, of_row)
    w = np.ones(len(rows)) if rows.weight is None else rows.weight
    r, b = rows.outcome - rows.confidence, np.minimum((rows.confidence * 4).astype(int), 3)
    together = of_row[:, None] == of_row
    for name, one, other in (("rr", w * r, w * r), ("rn", w * r, w), ("nn", w, w)):
        for i in range(4):
            for j in range(4):
                pairs = together & (b[:, None] == i) & (b == j)
                assert getattr(sums, name)[i, j] == pytest.approx((pairs * np.outer(one, other)).sum(), rel=1e-9)
    size = np.bincount(of_row, w)[of_row]
    for i in range(4):
        for j in range(4):
            pairs = together & (b[:, None] == i) & (b == j)
            assert sums.nn_size[i, j] == pytest.approx((pairs * np.outer(w * size, w)).sum(), rel=1e-9)
    losses = {"losses": r**2, "log_losses": -np.log(np.where(rows.outcome == 1, rows.confidence, 1 - rows.confidence))}
    for name, loss in losses.items():
        expected = [(together * np.outer(w * loss, other)).sum() for other in (w * loss, w)]
        np.testing.assert_allclose(getattr(sums, name), expected, rtol=1e-9)
    assert sums.number == len(set(of_row.tolist()))


def test_the_scatter_is_the_double_sum_of_centred_residuals():
    rows, of_row = rows_of(np.random.default_rng(2), weighted=True)
    sums, w = sums_of(rows, of_row), rows.weight
    b = np.minimum((rows.confidence * 4).astype(int), 3)
    r = rows.outcome - rows.confidence
    gap = np.bincount(b, w * r) / np.bincount(b, w)
    e = w * (r - gap[b])
    together = of_row[:, None] == of_row
    for i in range(4):
        for j in range(4):
            pairs = together & (b[:, None] == i) & (b == j)
            assert sums._scatter[i, j] == pytest.approx((pairs * np.outer(e, e)).sum(), abs=1e-9)
    np.testing.assert_allclose(sums._own_squares, np.bincount(b, e**2), rtol=1e-9)


@pytest.mark.parametrize("sizes", [[5] * 12, [1, 2, 3, 25, 7, 11, 1], [40, 2, 2, 2, 2]])
def test_expected_sums_over_pairs_are_traces(sizes):
    """E[e' P' A P e] = tr(A P S P') for residuals of variance 1, S = I or equal in clusters; sizes may differ."""
    rng = np.random.default_rng(3)
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    n = len(of_row)
    p = np.clip(rng.random(len(sizes))[of_row] + 0.3 * rng.standard_normal(n), 0, 1)  # alike within clusters
    rows = Columns.read(rng.integers(0, 2, n), p)
    sums = sums_of(rows, of_row)
    b = np.minimum((p * 4).astype(int), 3)
    same = (of_row[:, None] == of_row).astype(float)
    centre = np.eye(n) - (b[:, None] == b) / np.bincount(b)[b]
    pairs = same - np.eye(n)
    expected = [np.trace(pairs @ centre @ covariance @ centre.T) for covariance in (np.eye(n), same)]
    np.testing.assert_allclose(sums._expected, expected, rtol=1e-9)


def test_icc_by_definition():
    """Sum over pairs of standardised centred residuals, minus its expectation, relative to that of full dependence."""
    rows = simulate_clusters([3, 9, 5, 20, 8] * 6, dependence=0.6, rng=9)
    sums = sums_of(Columns.read(rows.outcome, rows.confidence), rows.cluster)
    b, n = np.minimum((rows.confidence * 4).astype(int), 3), len(rows.outcome)
    size = np.bincount(b)
    centre = np.eye(n) - (b[:, None] == b) / size[b]
    e = centre @ (rows.outcome - rows.confidence)
    squares = np.bincount(b, e**2)
    # one row with the mean variance of all bins is added to each bin
    variance = (squares + squares.sum() / n) / (size + 1)
    np.testing.assert_allclose(sums.variance, variance)
    same = (rows.cluster[:, None] == rows.cluster).astype(float)
    pairs, z = same - np.eye(n), e / np.sqrt(variance[b])
    none, full = (np.trace(pairs @ centre @ covariance @ centre.T) for covariance in (np.eye(n), same))
    expected = (z @ pairs @ z - none) / (full - none)
    assert 0.1 < expected < 0.9
    assert sums.icc == pytest.approx(expected)


def test_icc_of_one_large_cluster_and_many_small_ones_is_nearly_unbiased():
    """Without clipping: the sum over pairs has the stated expectation whatever the sizes; 100 data sets."""
    rng, truth, found = np.random.default_rng(6), 0.231, []
    for _ in range(100):
        rows = simulate_clusters([500] + [10] * 50, dependence=0.5, rng=rng)
        sums = sums_of(Columns.read(rows.outcome, rows.confidence), rows.cluster, make_bins(15))
        sd, (none, full) = np.sqrt(sums.variance), sums._expected
        total = ((sums._scatter - np.diag(sums._own_squares)) / np.outer(sd, sd)).sum()
        found.append((total - none) / (full - none))
    # `truth`: the same mean over 300 data sets of 40 clusters of 25 rows; its standard error is 0.003
    assert abs(np.mean(found) - truth) < 4 * np.std(found) / 10 + 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("size", "alike"), [(10, 0.0), (10, 0.8), (100, 0.0), (100, 0.8)])
def test_icc_is_nearly_unbiased(size, alike):
    """Mean over 200 data sets against a million pairs of rows, with 4 standard errors."""
    rng = np.random.default_rng(4)
    icc = []
    for _ in range(200):
        rows = simulate_clusters([size] * (1000 // size), dependence=0.3, alike=alike, rng=rng)
        icc.append(sums_of(Columns.read(rows.outcome, rows.confidence), rows.cluster, make_bins(15)).icc)
    pairs = simulate_clusters([2] * 1_000_000, dependence=0.3, alike=alike, rng=rng)
    r = (pairs.outcome - pairs.confidence) / np.sqrt(pairs.confidence * (1 - pairs.confidence))
    truth = np.mean(np.clip(r[::2], -5, 5) * np.clip(r[1::2], -5, 5))
    # the standardisation by bins instead of rows changes the correlation by less than 0.02
    assert abs(np.mean(icc) - truth) < 4 * np.std(icc) / np.sqrt(200) + 0.02


def test_design_effects_by_hand():
    """Two clusters; cluster 0 has 2 rows in bin 0 and 1 in bin 1, cluster 1 has 1 and 2."""
    rows = Columns.read([0, 1, 1, 0, 1, 0], [0.1, 0.1, 0.6, 0.1, 0.6, 0.6])
    sums = sums_of(rows, np.array([0, 0, 0, 1, 1, 1]), make_bins(2))
    sums.__dict__["icc"] = 0.5
    # sum n_jb^2 / n_b = (4 + 1) / 3
    np.testing.assert_allclose(sums.bin_effects, 1 + 0.5 * (5 / 3 - 1))
    # residuals of both bins have the same variance: sum n_j^2 / n = 18 / 6
    assert sums.variance[0] == pytest.approx(sums.variance[1])
    assert sums.total_effect == pytest.approx(1 + 0.5 * (3 - 1))
    # of the variance of a gap, 1 / (4 / 3) is that of independent rows
    np.testing.assert_allclose(sums.effects, 3 / 4 * 4 / 3 + 1 / 4 * 2)
    covariance = 0.5 * np.array([[5, 4], [4, 5]]) + 0.5 * np.diag([3, 3])
    np.testing.assert_allclose(sums.correlation[0, 1], covariance[0, 1] / covariance[0, 0])


def test_clusters_within_bins_have_the_effect_of_the_total():
    """If all rows of a cluster are in one bin, the bin and the total have the same effect."""
    rng = np.random.default_rng(8)
    p = np.repeat((np.arange(200) % BINS_OF_CLUSTERS + 0.5) / BINS_OF_CLUSTERS, 6)
    shared = np.repeat(rng.random(200), 6)
    z = np.where(rng.random(1200) < 0.5, shared, rng.random(1200)) < p
    sums = sums_of(Columns.read(z, p), np.repeat(np.arange(200), 6), make_bins(BINS_OF_CLUSTERS))
    assert sums.total_effect > 1.5
    np.testing.assert_allclose(sums.bin_effects, sums.total_effect)
    np.testing.assert_allclose(sums.effects, sums.total_effect)


def test_rows_of_a_cluster_in_different_bins_leave_bins_as_they_are():
    """Without two rows of a cluster in one bin, each bin holds independent rows."""
    p = np.tile((np.arange(5) + 0.5) / 5, 100)
    shared = np.repeat(np.random.default_rng(9).random(100), 5)
    sums = sums_of(Columns.read(shared < p, p), np.repeat(np.arange(100), 5), make_bins(5))
    assert sums.total_effect > 2
    np.testing.assert_allclose(sums.effects, 1)


@pytest.mark.parametrize("m", [2, 7])
def test_repeated_rows_count_once(m):
    """Each row m times, as one cluster: the intra-cluster correlation is 1 and effective counts are those of once."""
    rng = np.random.default_rng(5)
    p = rng.random(200)
    z = (rng.random(200) < p).astype(int)
    counts = counted(np.repeat(z, m), np.repeat(p, m), np.repeat(np.arange(200), m))
    once = BinnedCounts.from_arrays(z, p, bins=BINS)
    assert counts.clusters.icc == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(counts.effective_n, once.n, rtol=0.01)
    np.testing.assert_allclose(counts.effective_k, once.k, rtol=0.01)
    assert counts.effective_rows == pytest.approx(200, rel=0.01)


def test_weights_multiply_rows():
    """Weights do not change with a common factor; and Kish's number is divided by the design effect."""
    rows, of_row = rows_of(np.random.default_rng(6), weighted=True)
    sums = sums_of(rows, of_row)
    scaled = sums_of(replace(rows, weight=4 * rows.weight), of_row)
    assert scaled.icc == pytest.approx(sums.icc)
    np.testing.assert_allclose(scaled.effects, sums.effects)
    z, p, w = rows.outcome, rows.confidence, rows.weight
    counts = counted(z, p, np.repeat(np.arange(100), 3), weights=w)
    plain = BinnedCounts.from_arrays(z, p, weights=w, bins=BINS)
    np.testing.assert_allclose(counts.effective_n * counts.clusters.effects, plain.effective_n)


def test_the_variance_of_a_gap_has_its_design_effect():
    """Variance over 3000 data sets of each gap and of the mean residual, against v / n times the design effect."""
    rng = np.random.default_rng(7)
    confidence = np.tile([0.125, 0.125, 0.625], 60)
    cluster = np.repeat(np.arange(30), 6)
    from scipy.special import ndtr

    latent = np.sqrt(0.5) * rng.standard_normal((3000, 30))[:, cluster] + np.sqrt(0.5) * rng.standard_normal(
        (3000, 180)
    )
    z = ndtr(latent) < confidence
    gaps = np.stack([(z - confidence)[:, confidence == c].mean(axis=1) for c in (0.125, 0.625)], axis=1)
    found = [sums_of(Columns.read(row, confidence), cluster) for row in z[:300]]
    v = np.array([0.125 * 0.875, 0.625 * 0.375])
    bin_effects = np.mean([each.bin_effects[[0, 2]] for each in found], axis=0)
    # the correlation differs between bins; on average over them, effects agree within simulation error
    assert np.mean(gaps.var(axis=0) / (v * bin_effects / [120, 60])) == pytest.approx(1, abs=0.1)
    total = np.mean([each.total_effect for each in found])
    assert (z - confidence).mean(axis=1).var() == pytest.approx(total * (v @ [120, 60]) / 180**2, rel=0.1)


def test_blocks_of_rows_give_the_same_sums_even_if_they_split_clusters():
    rows, of_row = rows_of(np.random.default_rng(8), weighted=True)
    whole = ClusterCells.of_rows(rows, of_row, BINS)
    parts = []
    for s in (slice(0, 101), slice(101, 250), slice(250, None)):
        block = replace(rows, confidence=rows.confidence[s], outcome=rows.outcome[s], weight=rows.weight[s])
        parts.append(ClusterCells.of_rows(block, of_row[s], BINS))
    one, other = ClusterSums.from_cells(whole), ClusterSums.from_cells(ClusterCells.joined(parts))
    for field in fields(one):
        np.testing.assert_allclose(getattr(one, field.name), getattr(other, field.name), rtol=1e-9, atol=1e-12)


def test_sums_of_whole_clusters_add():
    rows, of_row = rows_of(np.random.default_rng(9))
    z, p = rows.outcome, rows.confidence
    first = of_row < 17
    both = counted(z[first], p[first], of_row[first]) + counted(z[~first], p[~first], of_row[~first])
    whole = counted(z, p, of_row)
    assert both.clusters.number == whole.clusters.number
    np.testing.assert_allclose(both.effective_n, whole.effective_n, rtol=1e-9)
    assert (both + BinnedCounts.empty(BINS, target="event")).clusters == both.clusters
    with pytest.raises(ValueError, match=r"cannot be added to counts without.*`cluster=`.*label of its own"):
        whole + BinnedCounts.from_arrays(z, p, bins=BINS, target="event")


def test_coarsened_sums_are_those_of_coarse_bins():
    rows, of_row = rows_of(np.random.default_rng(10), weighted=True)
    counts = counted(rows.outcome, rows.confidence, of_row, make_bins(20), rows.weight)
    coarse = counts.coarsen(4).clusters
    direct = sums_of(rows, of_row)
    assert coarse.icc == pytest.approx(direct.icc, rel=1e-9)
    np.testing.assert_allclose(coarse.effects, direct.effects, rtol=1e-9)


def test_copies_are_equal_and_read_only():
    rows, of_row = rows_of(np.random.default_rng(11))
    counts = counted(rows.outcome, rows.confidence, of_row)
    again = pickle.loads(pickle.dumps(counts))
    assert again == counts
    assert replace(counts, clusters=None) != counts
    with pytest.raises(ValueError, match="read-only"):
        again.clusters.nn[0, 0] = 1


def test_clusters_that_cannot_be_told_from_bins_count_as_fully_dependent():
    """Each cluster has a bin of its own, so its effect is part of the gap."""
    z, p = [0, 1, 0, 1, 1, 0] * 10, np.repeat([0.1, 0.4, 0.6, 0.9], 15)
    counts = counted(z, p, np.repeat([1, 2, 3, 4], 15))
    assert counts.clusters.icc == 1
    np.testing.assert_allclose(counts.effective_n, 1)


def test_refusals():
    rows, of_row = rows_of(np.random.default_rng(12))
    with pytest.raises(ValueError, match=r"`bins` must be at most 512 for rows in clusters.*there are 600"):
        sums_of(rows, of_row, make_bins(600))
    with pytest.raises(ValueError, match=r"`cluster` must hold at least two clusters.*it holds 1"):
        bc.evaluate_counts(counted(rows.outcome, rows.confidence, np.zeros(300, int)), rng=1)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_the_null_distribution_is_that_of_calibrated_clusters(alike):
    """Ranks of simulated plug-in ECEs in their null distributions are uniform (300 data sets, level 1e-4).

    Clusters of 10 rows with correlation 0.3, the same confidences in all data sets.
    """
    rng = np.random.default_rng(13)
    ranks = []
    for _ in range(300):
        rows = simulate_clusters([10] * 100, dependence=0.3, alike=alike, rng=rng)
        counts = counted(rows.outcome, rows.confidence, rows.cluster, make_bins(8))
        null = np.asarray(bc.ece(null_bins(counts, 400, rng=rng)))
        observed = np.abs(counts.share * (counts.accuracy - counts.mean_confidence)).sum()
        ranks.append(np.mean(null < observed))
    assert kstest(ranks, "uniform").pvalue > 1e-4
    assert np.mean(np.array(ranks) > 0.95) < 0.1


def paired_counts(rng):
    from bayescal.data.predictions import Predictions
    from bayescal.stats.paired import PairedCounts

    rows, of_row = rows_of(rng)
    clusters = Clusters.from_column(of_row, len(rows))
    both = [Predictions.from_outcomes(rows.outcome, c, target="event") for c in (rows.confidence, rows.confidence**2)]
    counts = [count_rows(p, BINS, "equal-width", clusters=clusters) for p in both]
    return PairedCounts.from_predictions(*both, *counts, clusters=clusters)


@pytest.mark.parametrize("kind", ["binned", "weighted", "paired", "classwise"])
def test_files_keep_clusters_bit_for_bit(kind, tmp_path):
    rng = np.random.default_rng(14)
    rows, of_row = rows_of(rng, weighted=kind == "weighted")
    if kind == "paired":
        counts = paired_counts(rng)
    elif kind == "classwise":
        y, p = rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300)
        one = bc.ClasswiseCounts.from_arrays(y, p, bins=BINS)
        parts = [counted(y == k, p[:, k], of_row).clusters for k in range(3)]
        counts = replace(one, by_class=tuple(replace(c, clusters=s) for c, s in zip(one.by_class, parts, strict=True)))
    else:
        counts = counted(rows.outcome, rows.confidence, of_row, weights=rows.weight)
    path = bc.save_counts(counts, tmp_path / "counts.json")
    again = bc.load_counts(path)
    assert again == counts
    clusters = again.by_class[0].clusters if kind == "classwise" else again.clusters
    assert clusters is not None


MUTATIONS = {
    "number": lambda c: c.update(number=0),
    "more clusters than rows": lambda c: c.update(number=10**6),
    "weight": lambda c: c["weight"].__setitem__(0, c["weight"][0] + 1),
    "residual": lambda c: c["residual"].__setitem__(1, c["residual"][1] + 1),
    "own_sq": lambda c: c["own_sq"].__setitem__(0, -1.0),
    "too large product": lambda c: c["nn"][0].__setitem__(0, 1e9),
    "too small product": lambda c: c["nn"][1].__setitem__(1, 1.0),
    "too large size": lambda c: c["nn_size"][2].__setitem__(1, 1e9),
    "too small size": lambda c: c["nn_size"][1].__setitem__(1, 1.0),
    "negative size": lambda c: c["nn_size"][1].__setitem__(0, -1.0),
    "covariance": lambda c: c["rn"][0].__setitem__(1, 1e6),
    "negative": lambda c: c["rr"][0].__setitem__(0, -1.0),
    "losses": lambda c: c["losses"].__setitem__(0, 0.0),
    "shape": lambda c: c["rr"].pop(),
    "unknown entry": lambda c: c.update(label=1),
    "missing entry": lambda c: c.pop("own"),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_impossible_sums_are_refused_when_they_are_read(mutation):
    from bayescal.stats.stored import counts_document, counts_from_document

    rows, of_row = rows_of(np.random.default_rng(15))
    document = counts_document(counted(rows.outcome, rows.confidence, of_row))
    counts_from_document(document | {})
    MUTATIONS[mutation](document["clusters"])
    with pytest.raises(ValueError, match="clusters"):
        counts_from_document(document)


def test_a_pair_needs_clusters_of_both_classifiers():
    from bayescal.stats.stored import counts_document, counts_from_document

    document = counts_document(paired_counts(np.random.default_rng(16)))
    del document["second"]["clusters"]
    with pytest.raises(ValueError, match="`clusters` must be given for both classifiers and for the pair"):
        counts_from_document(document)


@pytest.fixture
def csv(tmp_path):
    """Rows in clusters that are spread over the whole file, with a column of groups and three class probabilities."""
    rng = np.random.default_rng(17)
    rows, of_row = rows_of(rng, n=5000, clusters=300)
    p = rng.dirichlet([1, 1, 1], 5000)
    table = pd.DataFrame({"z": rows.outcome, "p": rows.confidence, "q": of_row, "w": rng.random(5000) + 0.5})
    table = table.assign(q="q" + table["q"].astype(str), site=of_row % 3, y=rng.integers(0, 3, 5000))
    table = table.assign(c0=p[:, 0], c1=p[:, 1], c2=1 - p[:, 0] - p[:, 1])
    table.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", pd.read_csv(tmp_path / "rows.csv")


def test_a_file_in_blocks_counts_clusters_as_arrays_do(csv, monkeypatch):
    from bayescal.data.files import source

    path, table = csv
    for limit in ("ROWS", "BLOCK"):
        monkeypatch.setattr(source, limit, 2048)
    counts = bc.count_file(path, label="z", prob="p", weights="w", cluster="q", bins=4)
    arrays = BinnedCounts.from_arrays(table["z"], table["p"], weights=table["w"], cluster=table["q"], bins=4)
    assert counts.clusters.number == 300
    for field in fields(ClusterSums):
        np.testing.assert_allclose(
            getattr(counts.clusters, field.name), getattr(arrays.clusters, field.name), rtol=1e-9, atol=1e-9
        )
    classes = bc.count_file(path, label="y", prob_prefix="c", cluster="q", target="classwise", bins=4)
    for k, of_class in enumerate(classes.by_class):
        one = BinnedCounts.from_arrays(table["y"] == k, table[f"c{k}"], cluster=table["q"], bins=4)
        np.testing.assert_allclose(of_class.effective_n, one.effective_n, rtol=1e-9)


@pytest.mark.parametrize("engine", ["pandas", "polars", "lazy", "pyarrow", "duckdb"])
def test_engines_count_clusters_as_arrays_do(csv, engine):
    import duckdb
    import polars as pl
    import pyarrow as pa

    _, table = csv
    frame = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "lazy": lambda: pl.from_pandas(table).lazy(),
        "pyarrow": lambda: pa.Table.from_pandas(table),
        "duckdb": lambda: duckdb.from_df(table),
    }[engine]()
    counts = BinnedCounts.from_frame(frame, outcome="z", confidence="p", cluster="q", bins=4)
    arrays = BinnedCounts.from_arrays(table["z"], table["p"], cluster=table["q"], bins=4)
    for field in fields(ClusterSums):
        np.testing.assert_allclose(
            getattr(counts.clusters, field.name), getattr(arrays.clusters, field.name), rtol=1e-8, atol=1e-8
        )


def test_refusals_of_a_query(csv):
    _, table = csv
    columns = {"outcome": "z", "confidence": "p", "cluster": "q"}
    with pytest.raises(ValueError, match=r"`cluster` cannot be combined with `weights` or `by` in a query"):
        BinnedCounts.from_frame(table, **columns, weights="w")
    missing = table.assign(q=table["q"].where(table.index > 1))
    with pytest.raises(ValueError, match=r"`cluster` \(column 'q'\).*2 of 5000"):
        BinnedCounts.from_frame(missing, **columns)
