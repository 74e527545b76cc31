"""A judge's labels of rows in clusters: copies of rows, special cases, batches, files."""

import pickle

import numpy as np
import pytest
from judged_sets import JudgedSet, judged_set, same_ends
from scipy.special import ndtr

import bayescal as bc
from bayescal.labels.sums import JudgedCounts

NAMES = ("ece", "signed_error", "accuracy", "brier_score")


def in_clusters(seed, n=600, size=5, checked=200):
    """Rows of which `size` in succession have correlated outcomes."""
    rng = np.random.default_rng(seed)
    c = rng.random(n)
    common = np.repeat(rng.standard_normal(n // size), size)
    truth = ndtr(np.sqrt(0.6) * common + np.sqrt(0.4) * rng.standard_normal(n)) < c
    judge = np.where(truth, rng.random(n) < 0.9, rng.random(n) >= 0.8)
    return JudgedSet(c, truth, judge, rng.permutation(n) < checked), np.repeat(np.arange(n // size), size)


@pytest.mark.slow
def test_copies_of_rows_are_worth_one_row():
    rows = judged_set(n=600, checked=200)
    copied = JudgedSet(*(np.repeat(each, 4) for each in (rows.confidence, rows.truth, rows.judge, rows.checked)))
    once, clustered, alone = rows.judged(), copied.judged(cluster=np.repeat(np.arange(600), 4)), copied.judged()
    for name in NAMES:
        assert clustered.draws(name).sd() / once.draws(name).sd() == pytest.approx(1, abs=0.12)
    for name in ("accuracy", "brier_score"):
        assert alone.draws(name).sd() / once.draws(name).sd() == pytest.approx(0.5, abs=0.1)
    ratio = clustered.judge.sensitivity.sd() / once.judge.sensitivity.sd()
    assert ratio == pytest.approx(1, abs=0.15)


@pytest.mark.slow
def test_clusters_of_one_row_are_independent_rows():
    rows = judged_set(n=600, checked=200)
    np.testing.assert_array_equal(rows.judged(cluster=np.arange(600)).ece.values, rows.judged().ece.values)


@pytest.mark.slow
def test_all_rows_checked_is_the_evaluation_of_clusters():
    rows, cluster = in_clusters(1, checked=600)
    ev = rows.judged(cluster=cluster)
    whole = bc.evaluate(rows.truth, rows.confidence, target="confidence", cluster=cluster, rng=1)
    for name in ("ece", "signed_error"):
        same_ends(ev.draws(name), whole.draws(name), 0.12)
    alone = rows.judged()
    assert ev.signed_error.sd() > 1.2 * alone.signed_error.sd()
    assert any("The rows are in 120 clusters (5 rows on average)" in text for text in ev.remarks)


@pytest.mark.slow
def test_numbers_of_rows_are_those_that_were_seen():
    rows, cluster = in_clusters(2)
    ev, alone = rows.judged(cluster=cluster), rows.judged()
    np.testing.assert_array_equal(ev.judge.table_of_checked, alone.judge.table_of_checked)
    np.testing.assert_array_equal(ev._bin_columns()["n_judged"], alone._bin_columns()["n_judged"])
    assert ev.counts.checked.n_rows == 200
    assert ev.checked_only.counts.clusters.number == len(np.unique(cluster[rows.checked]))


@pytest.mark.slow
def test_batches_and_files_of_whole_clusters_equal_one_pass(tmp_path):
    rows, cluster = in_clusters(3)
    parts = [
        JudgedCounts.from_arrays(rows.y[part], rows.confidence[part], judge=rows.judge[part], cluster=cluster[part])
        for part in (slice(0, 200), slice(200, 600))
    ]
    whole = JudgedCounts.from_arrays(rows.y, rows.confidence, judge=rows.judge, cluster=cluster)
    bc.save_counts(parts[0], tmp_path / "a.json")
    added = bc.load_counts(tmp_path / "a.json") + parts[1]
    one, other = (bc.labels.judged_counts(each, rng=1) for each in (whole, added))
    np.testing.assert_allclose(one.ece.values, other.ece.values, atol=1e-9)
    np.testing.assert_allclose(one.signed_error.values, other.signed_error.values, atol=1e-9)


def test_a_batch_without_checked_rows_is_added():
    rows, cluster = in_clusters(6)
    y = np.where(np.arange(600) < 300, np.nan, rows.y)
    first, second = (
        JudgedCounts.from_arrays(y[part], rows.confidence[part], judge=rows.judge[part], cluster=cluster[part])
        for part in (slice(0, 300), slice(300, 600))
    )
    for added in (first + second, sum([first, second], JudgedCounts.empty())):
        assert (added.rows.clusters.number, added.n_checked) == (120, second.n_checked)
        assert added.checked.clusters.number == second.checked.clusters.number


@pytest.mark.parametrize("function", [bc.labels.compare_judged, bc.labels.partly_observed])
def test_functions_of_independent_rows_name_the_one_that_takes_clusters(function):
    said = "keep one row per cluster, chosen at random. With a judge, rows in clusters .* `bayescal.labels.judged"
    with pytest.raises(TypeError, match=f"takes no 'cluster'.*{said}") as raised:
        function([1], {"a": [0.1]}, cluster=[1])
    assert "without the judge" not in str(raised.value)


@pytest.mark.slow
def test_a_plan_of_checks_needs_independent_rows():
    rows, cluster = in_clusters(5, n=300, checked=100)
    with pytest.raises(ValueError, match="must be of independent rows: in clusters, a further check is worth less"):
        bc.planning.checks_needed(rows.judged(cluster=cluster, draws=400), rows=50)


@pytest.mark.slow
def test_evaluations_of_clusters_can_be_stored():
    rows, cluster = in_clusters(4, n=300, checked=100)
    ev = rows.judged(cluster=cluster, draws=400)
    again = pickle.loads(pickle.dumps(ev))
    np.testing.assert_array_equal(again.accuracy.values, ev.accuracy.values)
