"""Counts of source and target by cell, and labelled rows as counts of a target."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.scores import mean_log_losses, mean_losses
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.stats.bins import make_bins
from bayescal.stats.stored import counts_document, counts_from_document

PREDICTED = bc.ShiftCells.predicted_class(2)


def test_cells_are_predicted_classes_and_ranges():
    cells = bc.ShiftCells(np.array([[0.5, 0.8], [0.6, 0.7], [0.4, 0.9]]))
    p = np.array([[0.45, 0.45, 0.1], [0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.0, 0.0, 1.0]])
    assert cells.of_rows(p).tolist() == [0, 1, 5, 7, 8]
    assert cells.of_rows(p.tolist()).tolist() == [0, 1, 5, 7, 8]
    assert len(cells) == 9


def test_ranges_hold_a_third_of_each_predicted_class():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 1.0], 3000)
    rows = np.bincount(bc.ShiftCells.of_confidences(p, 3).of_rows(p), minlength=6)
    top = np.bincount(p.argmax(axis=1))
    np.testing.assert_allclose(rows.reshape(2, 3), np.tile(top[:, None] / 3, 3), atol=1)


@pytest.mark.parametrize("of", [lambda p: p, lambda p: p.astype(np.float32).astype(float)])
def test_cells_do_not_depend_on_the_precision_of_equal_scores(of):
    """Scores of one decimal: cuts at observed values would move all rows of a value to another cell."""
    rng = np.random.default_rng(1)
    p = rng.integers(11, size=2000) / 10
    both = np.column_stack([1 - p, p])
    rounded = np.column_stack([1 - p.astype(np.float32).astype(float), p.astype(np.float32).astype(float)])
    cells = bc.ShiftCells.of_confidences(of(both), 3)
    np.testing.assert_array_equal(cells.of_rows(both), cells.of_rows(rounded))
    assert len(np.unique(cells.of_rows(both))) == 6


def test_ranges_of_nearly_equal_scores_are_not_joined():
    p = 1 - np.arange(1, 301) * 1e-12
    rows = np.bincount(
        bc.ShiftCells.of_confidences(np.column_stack([1 - p, p]), 3).of_rows(np.column_stack([1 - p, p]))
    )
    assert rows[3:].tolist() == [100, 100, 100]


def test_batches_add_up_to_all_rows():
    rng = np.random.default_rng(2)
    p, y = rng.dirichlet(np.ones(4), 500), rng.integers(4, size=500)
    cells = bc.ShiftCells.of_confidences(p, 2)
    whole = bc.ShiftCounts.of_source(y, p, cells=cells) + bc.ShiftCounts.of_target(p, cells=cells)
    parts = [bc.ShiftCounts.of_source(y[i::3], p[i::3], cells=cells) for i in range(3)]
    parts += [bc.ShiftCounts.of_target(p[i::3], cells=cells) for i in range(3)]
    summed = sum(parts)
    np.testing.assert_array_equal(summed.source, whole.source)
    np.testing.assert_array_equal(summed.target, whole.target)
    assert whole.n_source == whole.n_target == 500


def test_counts_with_other_cells_or_classes_are_refused():
    target = bc.ShiftCounts.of_target([0.2, 0.9], cells=PREDICTED)
    other = bc.ShiftCounts.of_target([0.2, 0.9], cells=bc.ShiftCells(np.array([[0.6], [0.6]])))
    with pytest.raises(ValueError, match="same cells"):
        target + other
    named = [bc.ShiftCounts.of_source(list(c), [0.2, 0.9], cells=PREDICTED, classes=tuple(c)) for c in ("ab", "xy")]
    assert (named[0] + target).classes == ("a", "b")
    with pytest.raises(ValueError, match="same classes"):
        named[0] + named[1]


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([0.5, 0.6], "shape"),
        ([[0.5], [1.5]], r"`cuts` must be probabilities.*\(1, 0\): 1.5"),
        ([[0.5, 0.6], [0.6, 0.5]], r"decrease.*1 of 4 values does not, first at index \(1, 1\): 0.5"),
    ],
)
def test_impossible_cuts_are_refused(cuts, message):
    with pytest.raises(ValueError, match=message):
        bc.ShiftCells(np.array(cuts))


def test_other_things_than_cells_are_refused():
    y, p = [0, 1], [0.2, 0.9]
    for call in (
        lambda cells: bc.ShiftCounts.of_source(y, p, cells=cells),
        lambda cells: bc.ShiftCounts.of_target(p, cells=cells),
        lambda cells: bc.ShiftCounts([[1, 0], [0, 1]], [1, 1], cells),
        lambda cells: bc.class_priors([0, 1] * 5, p * 5, p, cells=cells),
        lambda cells: bc.shift_evidence([0, 1] * 5, p * 5, p, cells=cells),
    ):
        with pytest.raises(TypeError, match=r"`cells` must be ShiftCells, not 10 \(int\)"):
            call(10)
    with pytest.raises(ValueError, match="`cells` must be those of the 2 classes of `y_prob`; they have 3 classes"):
        bc.class_priors(y * 5, p * 5, p, cells=bc.ShiftCells.predicted_class(3))
    with pytest.raises(ValueError, match="`y_prob` must"):
        bc.ShiftCells.of_confidences([0.2, np.nan], 2)
    with pytest.raises(ValueError, match="`n_ranges` must be an integer >= 1, not 0"):
        bc.ShiftCells.of_confidences(p, 0)
    with pytest.raises(ValueError, match="`matrix` must have one column per class"):
        PREDICTED.of_rows([0.2, 0.9])
    with pytest.raises(TypeError, match=r"Call it as `ShiftCounts\.of_source\(y_true, y_prob, cells=\.\.\.\)`"):
        bc.ShiftCounts.of_source(y, p)


def test_counts_of_one_side_are_named():
    source = bc.ShiftCounts.of_source([0, 1], [0.2, 0.9], cells=PREDICTED)
    for counts, side in ((source, "target"), (bc.ShiftCounts.of_target([0.2], cells=PREDICTED), "source")):
        with pytest.raises(ValueError, match=f"`counts` have no rows of the {side}"):
            bc.class_priors_counts(counts)


def shifted(label, source, target, of=1, n_classes=2):
    return ShiftedBins.from_rows(np.array(label), np.array(source), np.array(target), of, n_classes, make_bins(2))


def test_bayes_rule_in_a_bin():
    """20 of 40 rows have the event in one bin, and the odds are multiplied by 1/3: 1/4 of 40 (1/2 + 1/6)^2 3 rows."""
    y, p = [0] * 30 + [1] * 10 + [0] * 20 + [1] * 20, [0.2] * 40 + [0.8] * 40
    rows = shifted(y, p, [0.3] * 30 + [0.9] * 10)
    rho = 30 / 80
    pi = (rho / (1 - rho) / 3) / (1 + rho / (1 - rho) / 3)
    counts = rows.at(np.array([1 - pi, pi]))
    np.testing.assert_allclose(counts.accuracy[1], 1 / 4)
    np.testing.assert_allclose(counts.effective_n[1], 40 * (4 / 6) ** 2 * 3)
    np.testing.assert_allclose(counts.effective_k, counts.effective_n * counts.accuracy)
    np.testing.assert_allclose(counts.share, [0.75, 0.25])
    np.testing.assert_allclose(counts.mean_confidence, [0.3, 0.9])
    theta = counts.accuracy
    information = counts.effective_n * theta * (1 - theta)
    np.testing.assert_allclose(information, [40 * 0.25 * 0.75, 40 * 0.25])


def test_without_shift_counts_are_those_of_the_source():
    rng = np.random.default_rng(3)
    p, y = rng.random(300), rng.random(300) < 0.4
    rows = shifted(y.astype(int), p, p)
    counts = rows.at(rows.frequency)
    own = bc.BinnedCounts.from_arrays(y, p, bins=2)
    np.testing.assert_allclose(counts.effective_n, own.n)
    np.testing.assert_allclose(counts.effective_k, own.k)
    np.testing.assert_allclose(counts.weight, own.weight)
    np.testing.assert_allclose(counts.losses.total, own.losses.total)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_mean_losses_have_the_evidence_of_labelled_rows(share):
    """One bin: the losses of an outcome have the same distribution in both, so that their mean has the same error."""
    rng = np.random.default_rng(5)
    y = np.arange(600) % 2
    p = np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99)
    counts = ShiftedBins.from_rows(y, p, p, 1, 2, make_bins(1)).at(np.array([1 - share, share]))
    for moments, loss in ((mean_losses, (y - p) ** 2), (mean_log_losses, -np.log(np.where(y, p, 1 - p)))):
        mean, sd, _, _ = moments(counts)
        for z in (0, 1):
            own = loss[y == z]
            assert mean[z, 0] == pytest.approx(own.mean(), rel=0.05)
            assert sd[z, 0] == pytest.approx(own.std() / np.sqrt(len(own)), rel=0.15)


def test_several_classes_have_their_own_ratio_in_each_bin():
    """Weighted rows of a large source: w_1 s_1 / sum w_l s_l, whatever the mixture of the other classes."""
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=300_000)
    p = np.clip(rng.normal(0.2 + 0.25 * y, 0.2), 0, 1)
    priors = np.array([0.7, 0.1, 0.2])
    rows = ShiftedBins.from_rows(y, p, p, 1, 3, make_bins(5))
    weight = (priors / rows.frequency)[:, None] * rows.by_class
    np.testing.assert_allclose(rows.at(priors).accuracy, weight[1] / weight.sum(axis=0), rtol=1e-3)


def test_the_ratio_of_odds_without_labelled_rows_is_that_of_the_frequencies():
    """The second bin has no labelled row: pi / (1 - pi) over rho / (1 - rho), with rho = (1/2, 1/3, 1/6)."""
    priors = np.array([0.2, 0.5, 0.3])
    rows = ShiftedBins.from_rows(
        np.array([0, 0, 0, 1, 1, 2]), np.full(6, 0.2), np.array([0.2, 0.9]), 1, 3, make_bins(2)
    )
    assert rows.odds_ratio(priors)[1] == pytest.approx((0.5 / 0.5) / ((1 / 3) / (2 / 3)))
    # the first one has 3 and 1 rows of the others, and one more that is divided 3 : 1
    assert rows.odds_ratio(priors)[0] == pytest.approx(1.5 * 5 / (3.75 * 0.2 / 0.5 + 1.25 * 0.3 * 6))


def test_area_of_one_of_several_classes_by_hand():
    """Pairs of a row of class 1 and a row of the others, which weigh pi / rho of their class."""
    label, p = np.array([0, 0, 1, 1, 2, 2]), np.array([0.1, 0.3, 0.2, 0.6, 0.4, 0.7])
    rows = ShiftedBins.from_rows(label, p, p, 1, 3, make_bins(2))
    # 0.2 is above one row of class 0; 0.6 is above both rows of class 0 and one of class 2; weights 2 : 1 and 1 : 2
    assert rows.at(np.array([0.6, 0.1, 0.3])).ranks.auc == pytest.approx((2 + (4 + 1)) / (2 * 6))
    assert rows.at(np.array([0.3, 0.1, 0.6])).ranks.auc == pytest.approx((1 + (2 + 2)) / (2 * 6))


def test_observed_losses_are_weighted_by_class():
    """Two classes: sums over rows, with the weight pi / rho of the class of each row."""
    y, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.4, 0.7, 0.8])
    counts = shifted(y, p, p).at(np.array([0.4, 0.6]))
    weight = np.where(y == 1, 0.6 / 0.25, 0.4 / 0.75)
    np.testing.assert_allclose(counts.weight, [[2 * 0.4 / 0.75, 0.4 / 0.75], [0, 2.4]])
    assert counts.losses.total.sum() / counts.weight.sum() == pytest.approx((weight @ (y - p) ** 2) / weight.sum())
    log_loss = -np.log(np.where(y == 1, p, 1 - p))
    assert counts.log_losses.total.sum() / counts.weight.sum() == pytest.approx((weight @ log_loss) / weight.sum())


def test_bins_without_labelled_rows_are_counted():
    rows = shifted([0, 1, 1], [0.2, 0.3, 0.1], [0.2, 0.7, 0.8, 0.9])
    counts = rows.at(np.array([0.5, 0.5]))
    assert counts.without_labels == 0.75
    np.testing.assert_allclose(counts.accuracy[1], counts.mean_confidence[1])
    with pytest.raises(TypeError, match="cannot be added"):
        counts + counts


# --- files


def three(bins=4):
    rng = np.random.default_rng(4)
    y, p, p_target = rng.integers(3, size=200), rng.dirichlet(np.ones(3), 200), rng.dirichlet(np.ones(3), 150)
    cells = bc.ShiftCells.of_confidences(p, 2)
    how = {"cells": cells, "bins": bins, "classes": ("a", "b", "c")}
    return bc.ShiftCounts.of_source(np.array(list("abc"))[y], p, **how) + bc.ShiftCounts.of_target(p_target, **how)


def two(**how):
    p = np.random.default_rng(5).random(90)
    how = {"cells": PREDICTED, **how}
    return bc.ShiftCounts.of_source(np.arange(90) % 2, p, **how) + bc.ShiftCounts.of_target(p, **how)


@pytest.mark.parametrize(
    "counts",
    [
        three,
        lambda: three(None),
        lambda: three([0, 0.1, 0.35, 1]),
        two,
        lambda: two(bins=3),
        lambda: two(bins=3, classes=[0, 1]),
        lambda: bc.ShiftCounts.of_target([0.2, 0.9], cells=PREDICTED, bins=3),
    ],
)
def test_files_hold_every_sum(counts, tmp_path):
    counts = counts()
    path = bc.save_counts(counts, tmp_path / "counts.json")
    loaded = bc.load_counts(path)
    assert loaded == counts
    assert loaded.classes == counts.classes
    for own, other in zip(loaded.binned, counts.binned, strict=True):
        assert own.source.deviation.tobytes() == other.source.deviation.tobytes()
        assert own.unlabelled.deviation_sq.tobytes() == other.unlabelled.deviation_sq.tobytes()
    bc.save_counts(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert loaded + counts == counts + counts


def test_counts_that_differ_are_unequal():
    assert three() == three()
    assert three() != three(None)
    assert three() != three(5)
    assert two() != bc.ShiftCounts.of_target([0.2, 0.9], cells=PREDICTED)
    assert two() != 3


def changed(document, path, change):
    """Return a copy of a document in which the entry at `path` is replaced."""
    if not path:
        return change(document)
    copy = document.copy()
    copy[path[0]] = changed(document[path[0]], path[1:], change)
    return copy


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        (("classes",), lambda v: v[:2], r"`cuts` must be an array of finite numbers up to 1e\+300 of shape"),
        (("classes",), lambda v: ["a", "a", "c"], "`classes` must be different labels"),
        (("classes",), lambda v: [["a"], "b", "c"], "`classes` must be an array of labels"),
        (("classes",), lambda v: [], "shape"),
        (("cuts",), lambda v: [[1.5]] * 3, "`cuts` must be probabilities"),
        (("cuts",), lambda v: "x", "`cuts` must be an array"),
        (("cuts", 1), lambda v: [], "`cuts` must be an array"),
        (("source_rows",), lambda v: v + 1, "`source_rows` must be what the cells add up to, 200"),
        (("target_rows",), lambda v: v - 1, "`target_rows` must be what the cells add up to, 150"),
        (("source", 0, 0), lambda v: -1, "`source` must hold integers >= 0"),
        (("target", 0), lambda v: 2.0, "`target` must hold integers >= 0"),
        (("target",), lambda v: v[:-1], "`target` must be an array of integers"),
        (("binned",), lambda v: v[:2], "`binned` must be an array: empty, of class 1 of two, or of all classes"),
        (("binned",), lambda v: v[:1], "`binned` must be an array"),
        (("binned",), lambda v: v[::-1], r"`binned\[0\].class` must be 0; it is 2"),
        (("binned", 1, "class"), lambda v: True, r"`binned\[1\].class` must hold integers"),
        (("binned", 0, "by_class", 0, 0), lambda v: v + 1, r"`binned\[0\].by_class` must add up to the rows of"),
        (("binned", 0, "by_class"), lambda v: v[::-1], r"`binned\[0\].by_class` must add up to the rows of"),
        (("binned", 2, "source"), lambda v: None, "binned"),
        (("binned", 2, "source", "rows"), lambda v: v + 1, r"`binned\[2\].source.rows` must be what the cells add"),
        (("binned", 2, "source", "deviation"), lambda v: [[9.0] * 4] * 2, "must lie within its bin"),
        (("binned", 2, "target", "cells"), lambda v: v[::-1], r"`binned\[2\].target"),
        (("binned", 1), lambda v: {**v, "more": 1}, "more"),
        ((), lambda v: {**v, "bins": 1}, "bins"),
        ((), lambda v: {name: value for name, value in v.items() if name != "target"}, "target"),
        ((), lambda v: {**v, "kind": "survival"}, r"entries \['bins', 'times'"),
        ((), lambda v: {**v, "schema": "bayescal.monitor/2"}, "schema"),
    ],
)
def test_impossible_files_are_refused(path, change, message):
    with pytest.raises(ValueError, match=message):
        counts_from_document(changed(counts_document(three()), path, change))


def test_rows_by_bin_must_be_those_by_cell():
    other = {**counts_document(three()), "binned": counts_document(three() + three())["binned"]}
    with pytest.raises(ValueError, match="`binned` must hold the rows of `source` and `target`"):
        counts_from_document(other)


def test_weighted_or_clustered_sums_are_refused():
    document = counts_document(two(bins=3))
    rows = np.arange(90) % 2, np.random.default_rng(5).random(90)
    for options in ({"weights": np.linspace(1, 2, 90)}, {"cluster": np.arange(90) // 3}):
        counts = bc.BinnedCounts.from_arrays(*rows, bins=3, target="event", **options)
        sums = {k: v for k, v in counts_document(counts).items() if k not in ("schema", "kind", "target", "bins")}
        with pytest.raises(ValueError, match=r"`binned\[0\].source` must hold rows without weights and clusters"):
            counts_from_document(changed(document, ("binned", 0, "source"), lambda v, sums=sums: sums))


def test_labels_that_are_no_text_are_not_stored(tmp_path):
    with pytest.raises(TypeError, match="`classes` must be text or numbers to be stored"):
        bc.save_counts(bc.ShiftCounts.of_target([0.2], cells=PREDICTED, classes=(None, "b")), tmp_path / "c.json")


def test_labels_of_the_target_are_refused():
    """Possible sums of rows of the target, one of which has outcome 1."""
    document = counts_document(two(bins=3))
    outcome = np.arange(90) == 7
    counts = bc.BinnedCounts.from_arrays(outcome, np.random.default_rng(5).random(90), bins=3, target="event")
    sums = {k: v for k, v in counts_document(counts).items() if k not in ("schema", "kind", "target", "bins")}
    with pytest.raises(ValueError, match=r"`binned\[0\].target.cells` must have outcome 0, because labels are unknown"):
        counts_from_document(changed(document, ("binned", 0, "target"), lambda v: sums))
