"""Counts of rows with a judge's labels: batches add up to one pass, tables by hand, strata, files of counts."""

import json

import numpy as np
import pytest
from judged_sets import judged_set

import bayescal as bc
from bayescal.labels.sums import JudgedCounts, strata_of

NAN = float("nan")


def counted(rows, part=slice(None), **options):
    judge = options.pop("judge", rows.judge)
    return JudgedCounts.from_arrays(rows.y[part], rows.confidence[part], judge=judge[part], **options)


def binary_fractions(rows):
    """Confidences that are multiples of 1/1024, whose sums are exact in any order with 16 bins."""
    return type(rows)(np.round(rows.confidence * 1024) / 1024, rows.truth, rows.judge, rows.checked)


# --- batches


@pytest.mark.parametrize("size", [1, 7, 64, 400, 1000])
def test_batches_of_any_size_equal_one_pass(size):
    """All sums but those of log losses are equal to the last digit; some batches have no checked row."""
    rows = binary_fractions(judged_set(n=400, checked=60))
    judge = np.where(rows.checked & (np.arange(400) < 80), NAN, rows.judge)
    whole = counted(rows, judge=judge, bins=16)
    total = sum(counted(rows, slice(at, at + size), judge=judge, bins=16) for at in range(0, 400, size))
    for name in ("rows", "checked", "both_0", "both_1"):
        one, other = getattr(whole, name), getattr(total, name)
        for sums in ("cells", "deviation", "deviation_sq", "losses"):
            assert np.all(getattr(one, sums) == getattr(other, sums)), (name, sums)
        np.testing.assert_allclose(one.log_losses.total, other.log_losses.total, rtol=1e-12)
    assert (whole.n_rows, whole.n_checked) == (total.n_rows, total.n_checked) == (400, 60)


@pytest.mark.slow
def test_the_evaluation_of_batches_is_that_of_the_rows():
    rows = binary_fractions(judged_set(n=1000, checked=220))
    parts = [counted(rows, slice(at, at + 130), bins=16) for at in range(0, 1000, 130)]
    one = rows.judged(draws=300, bins=16)
    other = bc.labels.judged_counts(JudgedCounts.empty(16) + sum(parts), draws=300, rng=1)
    assert one.judge.strata == other.judge.strata == 2
    for name in ("ece", "signed_error", "accuracy", "brier_score"):
        np.testing.assert_array_equal(one.draws(name).values, other.draws(name).values)
    for name in ("p_errors_alike", "p_checked_at_random", "edges"):
        assert getattr(one.judge, name) == getattr(other.judge, name)
    np.testing.assert_array_equal(one.judge.rates, other.judge.rates)
    assert str(one) == str(other)


def test_only_counts_alike_are_added():
    rows = judged_set(n=60, checked=20)
    with pytest.raises(ValueError, match="the same edges"):
        counted(rows) + counted(rows, bins=10)
    with pytest.raises(ValueError, match="the same target"):
        counted(rows) + counted(rows, target="event")
    with pytest.raises(TypeError):
        counted(rows) + bc.BinnedCounts.empty()
    with pytest.raises(TypeError, match="`counts` must be JudgedCounts, not BinnedCounts"):
        bc.labels.judged_counts(bc.BinnedCounts.empty())


def test_parts_must_be_parts_of_the_whole():
    counts = counted(judged_set(n=60, checked=20))
    with pytest.raises(ValueError, match="`both_0` and `both_1` must be rows of `checked`"):
        JudgedCounts(counts.rows, counts.checked, counts.both_0, counts.checked)
    with pytest.raises(ValueError, match="all of them rows of `rows`"):
        JudgedCounts(counts.checked, counts.rows, counts.both_0, counts.both_1)
    with pytest.raises(ValueError, match="`checked` must have the bins and the target"):
        JudgedCounts(counts.rows, bc.BinnedCounts.empty(3), counts.both_0, counts.both_1)


def test_tables_by_hand():
    c = [0.1, 0.1, 0.4, 0.6, 0.6, 0.9]
    counts = JudgedCounts.from_arrays([0, None, 1, None, 1, 0], c, judge=[1, 0, 1, 1, None, 0], bins=2)
    labels, two = counts.of_labels, np.array([0, 1])
    assert labels.n.tolist() == [3, 3]
    assert labels.n_checked.tolist() == [2, 2]
    assert labels.k.tolist() == [1, 1]
    np.testing.assert_allclose(labels.mean_confidence, [0.2, 0.7])
    np.testing.assert_allclose(labels.share, [0.5, 0.5])
    evidence = counts.evidence(two)
    assert evidence.n.tolist() == [1, 1]
    assert evidence.k.tolist() == [0, 1]
    # (1, 1), (1, 0), (0, 0), (0, 1); the row without a judge's label is not in it
    assert counts.table(two).tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]
    assert counts.judged_by_label(two).tolist() == [[2, 1], [1, 1]]
    given = labels.with_kernel(np.array([0.5, 2.0]), np.array([0.5, 1.0]))
    np.testing.assert_allclose(given.accuracy, [1.5 / 3, 3 / 5])
    np.testing.assert_allclose(given.effective_n, [3, 5])


def test_edges_from_the_confidences():
    rows = judged_set(n=500, checked=60)
    counts = counted(rows, bins=4, binning="equal-mass")
    assert counts.rows.n.tolist() == [125] * 4
    assert counts.bins == bc.make_bins(4, binning="equal-mass", confidence=rows.confidence)


def test_no_known_label():
    counts = JudgedCounts.from_arrays([None, None], [0.2, 0.7], judge=[1, 0], bins=2)
    assert counts.n_checked == 0
    assert counts.alone.tolist() == [[0, 1], [1, 0]]


# --- strata


def strata(which, n_checked=300, bins=15, slope=1.0):
    return strata_of(which, counted(judged_set(n=3000, checked=n_checked, slope=slope), bins=bins)).tolist()


def test_strata_by_number_and_edges():
    assert strata("auto") in ([0] * 7 + [1] * 8, [0] * 8 + [1] * 7)
    assert strata("auto", n_checked=199) == [0] * 15
    assert strata(1) == [0] * 15
    assert strata(3) == [0] * 5 + [1] * 5 + [2] * 5
    assert strata([0.2, 0.61]) == [0] * 3 + [1] * 6 + [2] * 6
    assert strata([]) == [0] * 15


def fewest_of_a_side(y, confidence, edge):
    """Return the smallest number of checked rows of one true label on one side of an edge."""
    below, known = confidence < edge, ~np.isnan(y)
    return min(int((known & (y == label) & (below == side)).sum()) for label in (0, 1) for side in (False, True))


def test_the_edge_of_auto_is_that_with_most_rows_of_the_rarest_label_and_side():
    """Few checked rows with label 0 above: accuracies of 1 at high confidence."""
    rows = judged_set(n=3000, checked=300, slope=1.0)
    truth = rows.truth | (rows.confidence > 0.5)
    y, judge = np.where(rows.checked, truth, NAN), np.where(rows.checked, truth, rows.judge)
    counts = JudgedCounts.from_arrays(y, rows.confidence, judge=judge)
    stratum = strata_of("auto", counts)
    edges = counts.bins.edges[1:-1]
    numbers = [fewest_of_a_side(y, rows.confidence, edge) for edge in edges]
    assert stratum.max() == 1
    assert numbers[stratum.argmax() - 1] == max(numbers) >= 10


def test_auto_needs_ten_of_each_label_in_both():
    """One range if label 0 occurs in 19 checked rows."""
    rows = judged_set(n=3000, checked=300, slope=1.0)
    truth = np.ones(3000, bool)
    truth[np.flatnonzero(rows.checked)[:19]] = False
    y, judge = np.where(rows.checked, truth, NAN), np.where(rows.checked, truth, rows.judge)
    assert strata_of("auto", JudgedCounts.from_arrays(y, rows.confidence, judge=judge)).max() == 0


@pytest.mark.parametrize("which", ["two", [0.5, 0.4], [0.0, 0.5], [0.52, 0.54], [0.001], [[0.5]], 40, 0, 1.5])
def test_impossible_strata(which):
    with pytest.raises((ValueError, TypeError), match="`strata"):
        strata(which)


# --- files of counts


def test_saved_counts_are_equal(tmp_path):
    counts = counted(judged_set(n=300, checked=60), bins=bc.make_bins([0, 0.3, 0.8, 1], closed="right"))
    assert bc.load_counts(bc.save_counts(counts, tmp_path / "counts.json")) == counts
    halves = [counted(judged_set(n=300, checked=60), part) for part in (slice(0, 100), slice(100, None))]
    paths = [bc.save_counts(each, tmp_path / f"{i}.json") for i, each in enumerate(halves)]
    assert sum(map(bc.load_counts, paths)) == halves[0] + halves[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("both_1"), "entries .'both_1'. are missing"),
        (lambda d: d.update(target="top-label"), "`target` must be one of"),
        (lambda d: d["checked"].update(rows=3), "`checked.rows` must be what the cells add up to"),
        (lambda d: d["checked"].update(weight=[[1.0]]), "`checked` must hold rows without weights"),
        (lambda d: d.update(both_0=d["rows"]), "`both_0` and `both_1` must be rows of `checked`"),
    ],
)
def test_impossible_files_of_counts(change, message, tmp_path):
    path = bc.save_counts(counted(judged_set(n=60, checked=20), bins=2), tmp_path / "counts.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        bc.load_counts(path)
