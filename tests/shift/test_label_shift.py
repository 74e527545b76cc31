"""evaluate_shifted_counts: the result of the rows from addable counts, and its refusals."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax

import bayescal as bc
from bayescal import ShiftCells, ShiftCounts


def event(n=1500, n_target=4000):
    rng = np.random.default_rng(1)
    y, y_target = np.arange(n) % 2, rng.random(n_target) < 0.2
    return y, *(expit(2 * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target))


def several(n=900):
    rng = np.random.default_rng(2)
    y, y_target = rng.integers(3, size=n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return y, *(softmax(2 * (rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[each]), axis=1) for each in (y, y_target))


def counted(y, p, p_target, n_batches=1, **how):
    parts = zip(*(np.array_split(column, n_batches) for column in (y, p, p_target)), strict=True)
    return sum(ShiftCounts.of_source(*of, **how) + ShiftCounts.of_target(target, **how) for *of, target in parts)


def same_bits(one, other):
    assert one.ece.values.tobytes() == other.ece.values.tobytes()
    assert one.brier_score.values.tobytes() == other.brier_score.values.tobytes()
    assert one.priors.drawn.tobytes() == other.priors.drawn.tobytes()
    assert one.spec == other.spec


OPTIONS = {"shift": "label", "draws": 400, "rng": 3}


@pytest.mark.slow
def test_an_event_has_the_bits_of_its_rows():
    y, p, p_target = event()
    how = {"cells": ShiftCells.of_confidences(p, 3), "bins": 8}
    rows = bc.evaluate_shifted(y, p, p_target, bins=8, **OPTIONS)
    counts = counted(y, p, p_target, **how)
    found = bc.evaluate_shifted_counts(counts, **OPTIONS)
    same_bits(found, rows)
    again = counted(y, found.adapt(p), found.adapt(p_target), **how)
    both = bc.evaluate_shifted_counts(counts, adapted=again, **OPTIONS)
    same_bits(both, rows)
    same_bits(both.adapted, rows.adapted)
    assert str(both) == str(rows)
    assert "of the adapted predictions" in both.adapted.sentence()


@pytest.mark.slow
def test_several_classes_have_the_bits_of_their_rows():
    y, p, p_target = several()
    cells = ShiftCells.predicted_class(3)
    rows = bc.evaluate_shifted(y, p, p_target, bins=5, cells=cells, **OPTIONS)
    counts = counted(y, p, p_target, cells=cells, bins=5)
    found = bc.evaluate_shifted_counts(counts, **OPTIONS)
    assert list(found) == list(rows) == [0, 1, 2]
    again = counted(y, found.adapt(p), found.adapt(p_target), cells=cells, bins=5)
    both = bc.evaluate_shifted_counts(counts, adapted=again, **OPTIONS)
    for k in rows:
        same_bits(both[k], rows[k])
        same_bits(both[k].adapted, rows[k].adapted)
    assert str(both) == str(rows)
    assert np.isnan([row["adapted"] for row in found.table()]).all()
    assert "ECE adapted" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("data", [event, several])
def test_batches_differ_from_one_pass_by_rounding_only(data):
    y, p, p_target = data()
    how = {"cells": ShiftCells.of_confidences(p, 2), "bins": 6}
    one, many = (counted(y, p, p_target, number, **how) for number in (1, 7))
    np.testing.assert_array_equal(many.source, one.source)
    np.testing.assert_array_equal(many.target, one.target)
    for own, other in zip(many.binned, one.binned, strict=True):
        np.testing.assert_array_equal(own.by_class, other.by_class)
        np.testing.assert_array_equal(own.source.cells, other.source.cells)
        np.testing.assert_array_equal(own.target_rows, other.target_rows)
        np.testing.assert_allclose(own.target_confidence, other.target_confidence, rtol=0, atol=1e-14)
    found, expected = (bc.evaluate_shifted_counts(each, **OPTIONS) for each in (many, one))
    np.testing.assert_array_equal(found.priors.drawn, expected.priors.drawn)
    found, expected = (each if isinstance(each, bc.Evaluation) else each[2] for each in (found, expected))
    np.testing.assert_allclose(found.ece.values, expected.ece.values, rtol=0, atol=1e-11)


def test_counts_of_files_have_the_bits_of_counts(tmp_path):
    y, p, p_target = event()
    how = {"cells": ShiftCells.of_confidences(p, 3), "bins": 8}
    sides = [ShiftCounts.of_source(y, p, **how), ShiftCounts.of_target(p_target, **how)]
    files = [bc.save_counts(each, tmp_path / f"{i}.json") for i, each in enumerate(sides)]
    found = bc.evaluate_shifted_counts(sum(map(bc.load_counts, files)), **OPTIONS)
    same_bits(found, bc.evaluate_shifted(y, p, p_target, bins=8, **OPTIONS))


def test_what_counts_lack_is_said():
    y, p, p_target = event(400, 400)
    cells = ShiftCells.predicted_class(2)
    found = bc.evaluate_shifted_counts(counted(y, p, p_target, cells=cells, bins=4), **OPTIONS)
    assert "ece adapted" not in str(found)
    assert [row["quantity"] for row in found.table()][-1] != "ece_adapted"
    with pytest.raises(AttributeError, match="adapted predictions were not counted: count the rows again"):
        found.adapted  # noqa: B018  # the attribute raises
    assert pickle.loads(pickle.dumps(found)).spec == found.spec


@pytest.mark.measuring
@pytest.mark.parametrize("data", [event, several])
def test_the_area_of_bins_is_that_of_rows_within_the_error_of_the_bins(data):
    y, p, p_target = data()
    how = {"cells": ShiftCells.of_confidences(p, 3), "bins": 100}
    few = OPTIONS | {"draws": 200}
    rows = bc.evaluate_shifted(y, p, p_target, bins=100, **few)
    found = bc.evaluate_shifted_counts(counted(y, p, p_target, **how), **few)
    for own, other in [(found, rows)] if data is event else [(found[k], rows[k]) for k in rows]:
        error = own.counts.ranks.grid_error
        assert 0 < error < 0.01
        assert abs(own.counts.ranks.auc - other.counts.ranks.auc) <= error
        np.testing.assert_allclose(own.counts.ranks.rows, other.counts.ranks.rows)
        assert own.auc.std() == pytest.approx(other.auc.std(), rel=0.2)
        assert "to within" in own.auc.name


def test_refusals():
    y, p, p_target = event(200, 300)
    how = {"cells": ShiftCells.predicted_class(2), "bins": 4}
    counts = counted(y, p, p_target, **how)
    with pytest.raises(TypeError, match="shift"):
        bc.evaluate_shifted_counts(counts, rng=1)
    with pytest.raises(ValueError, match="`shift='covariate'` needs rows"):
        bc.evaluate_shifted_counts(counts, shift="covariate", rng=1)
    with pytest.raises(ValueError, match="`shift` must be one of"):
        bc.evaluate_shifted_counts(counts, shift="prior", rng=1)
    with pytest.raises(TypeError, match="`counts` must be ShiftCounts, not BinnedCounts"):
        bc.evaluate_shifted_counts(bc.BinnedCounts.empty(3), shift="label")
    without = counted(y, p, p_target, cells=how["cells"])
    with pytest.raises(ValueError, match="`counts` must be counted by bins, too: pass `bins=`"):
        bc.evaluate_shifted_counts(without, shift="label")
    with pytest.raises(ValueError, match=r"`adapted` must hold the rows of `counts`; it has 200 .* and 299 "):
        bc.evaluate_shifted_counts(counts, shift="label", adapted=counted(y, p, p_target[1:], **how))
    with pytest.raises(ValueError, match="`adapted` must be counts of adapted probabilities; they equal `counts`"):
        bc.evaluate_shifted_counts(counts, shift="label", adapted=counts)
    one, other = (ShiftCounts.of_target(p_target, cells=ShiftCells(np.array([[0.7], [cut]]))) for cut in (0.8, 0.9))
    with pytest.raises(ValueError, match=r"same cells; .* with the cuts 0\.8 and 0\.9 in class number 1\. Pass one"):
        one + other
    with pytest.raises(TypeError, match=r"`y_prob_target` must hold probabilities; it holds integers"):
        ShiftCounts.of_target([0, 1, 1], cells=how["cells"])
    with pytest.raises(ValueError, match="no rows of the target"):
        bc.evaluate_shifted_counts(ShiftCounts.of_source(y, p, **how), shift="label")
    with pytest.raises(ValueError, match="`counts` have no rows of the source"):
        bc.evaluate_shifted_counts(ShiftCounts.of_target(p_target, **how), shift="label")
    with pytest.raises(ValueError, match="both have bins; the second was counted without `bins=`"):
        counts + without
    with pytest.raises(ValueError, match="same edges"):
        counts + ShiftCounts.of_target(p_target, cells=how["cells"], bins=5)
    with pytest.raises(ValueError, match="the bins of 1 class and of 2 classes"):
        counts + ShiftCounts.of_target(np.stack([1 - p_target, p_target], axis=1), **how)
    with pytest.raises(TypeError, match=r"when rows are counted: `bayescal\.shift\.label\(y_true, .*bins=10\)`\."):
        bc.evaluate_shifted_counts(counts, shift="label", edges=3)
    with pytest.raises(TypeError, match=r"takes no 'adapt'.*model='shrinkage'"):
        bc.evaluate_shifted_counts(counts, shift="label", adapt=3)
