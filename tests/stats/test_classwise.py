"""Counts of all classes in one record: against one-vs-rest problems, in parts and files; joint errors."""

import pickle
import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from class_rows import CLASSES, TABLE, N, P, W, Y, assert_close, count
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.data.matrix import ClassRows
from bayescal.stats.classwise import CHUNK, ClasswiseCounts, _exclusive, error_correlation


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_is_a_binary_problem(weighted, binning):
    counts = count(weighted=weighted, bins=7, binning=binning)
    for k, label in enumerate(CLASSES):
        weights = W if weighted else None
        options = {"bins": 7, "binning": binning, "weights": weights, "target": "classwise"}
        expected = bc.BinnedCounts.from_arrays(label == Y, P[:, k], **options)
        np.testing.assert_array_equal(counts[label].cells, expected.cells)
        np.testing.assert_allclose(counts[label].deviation, expected.deviation, atol=1e-10)
        np.testing.assert_allclose(counts[label].losses.total, expected.losses.total, rtol=1e-11)
    assert counts["dog"].k.sum() == 0
    assert counts.n_rows == N


def test_joint_sums_written_out():
    """The sums of products of residuals over the rows in bin b of one class and in bin c of another."""
    counts = count(weighted=True, bins=3)
    residual = W[:, None] * ((Y[:, None] == np.array(CLASSES)) - P)
    index = np.minimum((P * 3).astype(int), 2)
    for cells, expected in np.ndenumerate(counts.joint):
        (k, b), (j, c) = divmod(cells[0], 3), divmod(cells[1], 3)
        rows = (index[:, k] == b) & (index[:, j] == c)
        assert expected == pytest.approx((residual[rows, k] * residual[rows, j]).sum(), abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_whole(weighted):
    parts = [count(part, weighted) for part in (slice(0, 7), slice(7, 1200), slice(1200, None))]
    assert_close(sum(parts), count(weighted=weighted))
    assert_close(ClasswiseCounts.empty(CLASSES) + parts[0], parts[0])


def test_counts_give_the_same_evaluation_as_rows():
    options = {"rng": 3, "draws": 200}
    rows = bc.evaluate(Y, P, classes=CLASSES, target="classwise", **options)
    counts = bc.evaluate_counts(count(), **options)
    assert isinstance(counts, bc.ClasswiseEvaluation)
    assert counts.classes == CLASSES
    np.testing.assert_array_equal(counts.by_class.values, rows.by_class.values)
    np.testing.assert_array_equal(counts.marginal_error.values, rows.marginal_error.values)
    np.testing.assert_array_equal(counts.null.values, rows.null.values)
    np.testing.assert_array_equal(counts["bee"].ece.values, rows["bee"].ece.values)


def test_draws_do_not_depend_on_the_number_of_threads(monkeypatch):
    one = bc.evaluate_counts(count(), rng=3, draws=100)
    monkeypatch.setenv("BAYESCAL_THREADS", "3")
    three = bc.evaluate_counts(count(), rng=3, draws=100)
    np.testing.assert_array_equal(one.by_class.values, three.by_class.values)
    np.testing.assert_array_equal(one.null_by_class.values, three.null_by_class.values)
    np.testing.assert_array_equal(one.rms_error.values, three.rms_error.values)


def test_labels_that_are_not_named():
    with pytest.raises(ValueError, match=r"must be labels from `classes` \['ant', 'bee'.*\]; 1 of 1 values is not"):
        ClasswiseCounts.from_arrays(["owl"], [[0.2, 0.3, 0.1, 0.4]], classes=CLASSES)
    with pytest.raises(TypeError, match="labels and classes must be of one type"):
        ClasswiseCounts.from_frame(TABLE, probabilities={0: "p_ant", 1: "p_bee"})
    with pytest.raises(ValueError, match="`frame` has no such column"):
        ClasswiseCounts.from_frame(TABLE, probabilities={"ant": "p_ant", "bee": "bee"})


def test_many_classes_have_no_joint_sums():
    rng = np.random.default_rng(1)
    matrix, label = rng.dirichlet(np.ones(40), 200), rng.integers(0, 30, 200)
    counts = ClasswiseCounts.from_arrays(label, matrix)
    assert counts.joint is None
    assert (counts + counts).joint is None
    frame = pa.table({"label": label, **{str(k): matrix[:, k] for k in range(40)}})
    found = ClasswiseCounts.from_frame(frame, probabilities={k: str(k) for k in range(40)})
    for one, other in zip(found.by_class, counts.by_class, strict=True):
        np.testing.assert_array_equal(one.cells, other.cells)
    assert bc.evaluate_counts(counts, draws=50, rng=1, model="dirichlet").ece.mean() > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_a_file_holds_the_same_bits(weighted, binning, tmp_path):
    counts = count(weighted=weighted, binning=binning, bins=6)
    assert bc.load_counts(bc.save_counts(counts, tmp_path / "counts.json")) == counts
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert bc.load_counts(bc.save_counts(replace_joint(counts, None), tmp_path / "counts.json")).joint is None


def replace_joint(counts, joint):
    return ClasswiseCounts(counts.classes, counts.by_class, joint)


def test_what_cannot_be_added():
    other = ClasswiseCounts.from_arrays(Y, P[:, [1, 0, 2, 3]], classes=("bee", "ant", "cat", "dog"))
    with pytest.raises(ValueError, match=r"the same classes in the same order; these have \['ant', 'bee'"):
        count() + other
    with pytest.raises(ValueError, match="the same edges"):
        count() + count(bins=10)
    with pytest.raises(TypeError):
        count() + count().by_class[0]


def test_impossible_records():
    first, *others = count().by_class
    with pytest.raises(ValueError, match="at least two classes"):
        ClasswiseCounts(("a",), (first,))
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        ClasswiseCounts(("a", "a"), (first, others[0]))
    with pytest.raises(ValueError, match="counts of the same rows"):
        ClasswiseCounts(("a", "b"), (first, first + first))
    with pytest.raises(ValueError, match=r"`joint` must have shape \(60, 60\), not \(2, 2\)"):
        ClasswiseCounts(CLASSES, (first, *others), np.eye(2))
    with pytest.raises(KeyError, match=r"no class 'cta' among .* Did you mean 'cat'"):
        count()["cta"]
    with pytest.raises(ValueError, match="`counts` has no rows of positive weight"):
        bc.evaluate_counts(ClasswiseCounts.empty(CLASSES))


@pytest.mark.slow
def test_the_command_line_counts_merges_and_reports(tmp_path):
    def done(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "120", "TERM": "dumb"})
        assert result.exit_code == 0, result.output
        return result.stdout

    files = []
    for number, rows in enumerate((slice(0, 1000), slice(1000, None))):
        files.append(tmp_path / f"{number}.csv")
        pl.from_arrow(TABLE)[rows].write_csv(files[-1])
    columns = ["--label", "label", "--prob-prefix", "p_", "--target", "classwise"]
    for file in files:
        said = done("count", file, *columns, "--bins", 30, "-o", file.with_suffix(".json"))
        assert "target classwise, 4 classes, 30 equal-width bins" in said
    merged = tmp_path / "all.json"
    done("merge", *(file.with_suffix(".json") for file in files), "-o", merged)
    assert_close(bc.load_counts(merged), count(bins=30))
    whole = tmp_path / "whole.csv"
    pl.from_arrow(TABLE).write_csv(whole)
    assert_close(bc.count_file(whole, label="label", prob_prefix="p_", target="classwise", bins=30), count(bins=30))
    options = ["--draws", 200, "--seed", 1]
    from_counts = done("report", merged, "--bins", 15, *options)
    assert from_counts == done("report", whole, *columns, *options)
    assert "class bee" in from_counts
    done("report", merged, *options, "--json", tmp_path / "report.json", "--html", tmp_path / "report.html")


def test_counts_of_different_rows_are_refused():
    one = bc.BinnedCounts.from_arrays([1] * 4, [0.9] * 4, target="classwise", bins=5)
    with pytest.raises(ValueError, match="each of which has one class; over all classes there are 12 rows"):
        ClasswiseCounts(("a", "b", "c"), (one, one, one))


def test_copies_cannot_be_changed():
    counts = ClasswiseCounts.from_arrays([0, 1, 2], np.eye(3) * 0.4 + 0.2)
    assert not pickle.loads(pickle.dumps(counts)).joint.flags.writeable


def test_records_with_other_joint_sums_differ():
    counts = count()
    assert counts.joint is not None
    assert counts == count()
    assert counts != ClasswiseCounts(counts.classes, counts.by_class, 2 * counts.joint)
    assert counts != ClasswiseCounts(counts.classes, counts.by_class)
    assert ClasswiseCounts(counts.classes, counts.by_class) == ClasswiseCounts(counts.classes, counts.by_class)


def rows_of(n, weighted):
    rng = np.random.default_rng(n)
    matrix = rng.dirichlet([0.3, 0.7, 2.0], n)
    weight = rng.gamma(0.7, size=n) if weighted else None
    return ClassRows(label=rng.integers(0, 3, n), matrix=matrix, weight=weight)


def written_out(rows, counts):
    """sign(gap of the bin) times weight times (outcome - confidence), a row and a class at a time."""
    edges = np.arange(16) / 15
    w = np.ones(len(rows)) if rows.weight is None else rows.weight
    residual = w[:, None] * ((rows.label[:, None] == np.arange(3)) - rows.matrix)
    influence = np.empty_like(residual)
    for k in range(3):
        b = np.minimum(np.searchsorted(edges, rows.matrix[:, k], side="right") - 1, 14)
        gap = counts[k].accuracy - counts[k].mean_confidence
        influence[:, k] = np.sign(gap[b]) * residual[:, k]
    squares = residual.T @ residual
    size = np.sqrt(np.diag(squares))
    return np.corrcoef(influence.T), squares / np.outer(size, size)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations(weighted):
    rows = rows_of(CHUNK + 500, weighted)
    counts = ClasswiseCounts.from_rows(rows)
    assert_same(counts.correlations, written_out(rows, counts.by_class))


def test_correlations_of_parts_are_those_of_the_whole():
    rows = rows_of(3000, True)
    parts = [
        ClassRows(label=rows.label[part], matrix=rows.matrix[part], weight=rows.weight[part])
        for part in (slice(0, 1000), slice(1000, None))
    ]
    counts = sum(map(ClasswiseCounts.from_rows, parts))
    assert_same(counts.correlations, written_out(rows, counts.by_class))


def test_correlations_on_merged_bins():
    rows = rows_of(2000, False)
    counts = ClasswiseCounts.from_rows(rows, bins=60).coarsen(15)
    assert_same(counts.correlations, written_out(rows, ClasswiseCounts.from_rows(rows).by_class))


def test_what_was_clipped_lies_in_the_bin_it_was_counted_in():
    """Confidences of -5e-7 and 1 + 5e-7: the gap of the first bin is positive, that of the last negative."""
    first = np.r_[np.full(500, -5e-7), np.full(500, 1 + 5e-7)]
    matrix = np.column_stack([first, 1 - first])
    label = (np.random.default_rng(1).random(1000) < 0.3).astype(np.int64)
    rows = ClassRows(label=label, matrix=matrix)
    clipped = ClassRows(label=label, matrix=np.clip(matrix, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ClasswiseCounts.from_rows(rows)
    assert_same(found.correlations, ClasswiseCounts.from_rows(clipped).correlations)


def test_what_was_clipped_is_clipped_again():
    """Three classes, so that correlations are not -1 whatever the residuals; written out with clipped probabilities."""
    rng = np.random.default_rng(2)
    matrix = np.eye(3)[rng.integers(0, 3, 600)]
    matrix[:, 0] += np.where(matrix[:, 0] == 1, 4e-7, -4e-7)
    matrix[:, 1] += np.where(matrix[:, 1] == 1, 3e-7, -3e-7)
    rows = ClassRows(label=rng.integers(0, 3, 600), matrix=matrix)
    clipped = ClassRows(label=rows.label, matrix=np.clip(matrix, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = ClasswiseCounts.from_rows(rows)
    assert_same(counts.correlations, written_out(clipped, counts.by_class))


def test_small_weights_do_not_change_correlations():
    """Sums of squares far below 1, as weights that add up to 1 give."""
    rows = rows_of(400, False)
    counts = ClasswiseCounts.from_rows(rows)
    light = ClassRows(label=rows.label, matrix=rows.matrix, weight=np.full(400, 1 / 400))
    assert_same(ClasswiseCounts.from_rows(light).correlations, written_out(rows, counts.by_class))


@pytest.mark.parametrize("alpha", [[1, 1, 1], [9, 1, 0.5], [30, 0.1, 0.1]])
def test_residuals_of_three_classes_follow_from_their_variances(alpha):
    """The residuals of a row sum to 0, so that 2 r_kl = v_m - v_k - v_l for the three classes k, l and m."""
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(alpha, 3000)
    label = (matrix.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).clip(max=2)
    counts = ClasswiseCounts.from_rows(ClassRows(label=label, matrix=matrix))
    of_errors, of_residuals = error_correlation(counts.by_class, None)
    np.testing.assert_array_equal(of_errors, np.eye(3))
    np.testing.assert_allclose(of_residuals, counts.correlations[1], atol=2e-3)


def test_without_joint_sums_residuals_sum_to_zero():
    """As multinomial counts do: the covariance matrix has the observed variances and annihilates the ones."""
    rng = np.random.default_rng(6)
    matrix = rng.dirichlet(np.r_[5.0, np.full(39, 0.2)], 2000)
    label = (matrix.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=39)
    counts = ClasswiseCounts.from_rows(ClassRows(label=label, matrix=matrix))
    assert counts.joint is None
    sd = np.sqrt(((np.eye(40)[label] - matrix) ** 2).sum(axis=0))
    covariance = counts.correlations[1] * np.outer(sd, sd)
    assert np.abs(covariance.sum(axis=0)).max() < 1e-6 * sd.max() ** 2
    assert np.linalg.eigvalsh(counts.correlations[1]).min() > -1e-9
    residual = np.eye(40)[label] - matrix
    np.testing.assert_allclose(counts.correlations[1], np.corrcoef(residual.T), atol=0.1)


def test_two_classes_are_one_problem_on_any_number_of_bins():
    """300 bins for each of two classes are too many cells; errors are equal in size nevertheless."""
    p = np.random.default_rng(7).random(500)
    counts = bc.ClasswiseCounts.from_arrays((p > 0.4).astype(int), np.column_stack([1 - p, p]), bins=300)
    assert counts.joint is None
    np.testing.assert_array_equal(counts.correlations, [[[1, 1], [1, 1]], [[1, -1], [-1, 1]]])


def test_classes_that_never_vary_are_uncorrelated():
    """All probabilities are 0 or 1 and right: there are no residuals."""
    matrix = np.eye(40)[np.arange(200) % 40]
    counts = ClasswiseCounts.from_rows(ClassRows(label=np.arange(200) % 40, matrix=matrix))
    assert_same(counts.correlations, (np.eye(40), np.eye(40)))


@pytest.mark.parametrize("variance", [[0.1, 0.1, 0.2], [1, 1, 3], [1, 0.5, 0.5, 0, 0], [0.1, 0.2, 0.15]])
def test_variances_of_exclusive_classes_at_the_limit(variance):
    """The residual of one class is minus the sum of the others: the search must end, with a covariance."""
    covariance = _exclusive(np.array(variance, dtype=float))
    assert np.linalg.eigvalsh(covariance).min() >= -1e-12
    assert covariance.sum(axis=0) == pytest.approx(0, abs=1e-8 if max(variance) * 2 != sum(variance) else 1)
    assert np.diag(covariance)[np.argmin(variance)] == pytest.approx(min(variance))


@pytest.mark.parametrize("seed", range(8))
def test_one_class_against_others_row_by_row(seed):
    rng = np.random.default_rng(seed)
    n, classes = 300, 40
    matrix, other, p = np.zeros((n, classes)), rng.choice([1, 2], n), rng.random(n)
    matrix[np.arange(n), 0], matrix[np.arange(n), other] = p, 1 - p
    label = np.where(rng.random(n) < p, 0, other)
    counts = ClasswiseCounts.from_arrays(label, matrix, classes=range(classes))
    assert counts.joint is None
    assert np.isfinite(counts.correlations[1]).all()
