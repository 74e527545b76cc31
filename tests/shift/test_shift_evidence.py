"""Evidence of a shift: level and power, names of cells, what is printed and refused."""

import json

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

import bayescal as bc
from bayescal.shift.counts import ShiftCells, ShiftCounts
from bayescal.shift.statistics import (
    CellShiftPosterior,
    label_shift_test,
    no_shift_test,
    total_variation,
)


def scores(label, rng, moved=0.0):
    return expit(2 * rng.normal(2 * label - 1.0 + moved, 1))


def problem(rng, n=500, share=0.2, moved=0.0):
    """Source with equal classes, target with another share of class 1, and scores moved in its class 0."""
    y, z = rng.random(n) < 0.5, rng.random(n) < share
    return y, scores(y, rng), scores(z, rng, moved * ~z)


def test_intervals_can_contain_no_difference():
    """Equal shares: independent uniform priors exclude 0, this model does not; a clear difference excludes it."""
    rng = np.random.default_rng(1)
    rows = [rng.multinomial(1000, np.full(10, 0.1)) for _ in range(2)]
    assert np.quantile(total_variation(CellShiftPosterior(*rows).sample(4000, rng=1)), 0.025) == 0
    flat = np.stack([rng.dirichlet(1 + each, 4000) for each in rows], axis=1)
    assert np.quantile(total_variation(flat), 0.025) > 0.02
    moved = rows[0] + np.array([150] * 5 + [-50] * 5)
    assert np.quantile(total_variation(CellShiftPosterior(rows[0], moved).sample(4000, rng=1)), 0.025) > 0.1


@pytest.mark.measuring
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_level_under_label_shift(share):
    """200 data sets: the number of alarms at 0.05 is plausible for a rate of 0.05, at 0.001 two-sided."""
    rng, alarms, n = np.random.default_rng(4), [0, 0], 200
    for _ in range(n):
        y, p, q = problem(rng, 300, share)
        matrix, other = (np.column_stack([1 - each, each]) for each in (p, q))
        cells = ShiftCells.of_confidences(np.concatenate([matrix, other]), 4)
        source = np.stack([np.bincount(cells.of_rows(matrix[y == k]), minlength=8) for k in (0, 1)])
        counts = ShiftCounts(source, np.bincount(cells.of_rows(other), minlength=8), cells)
        alarms[0] += label_shift_test(counts, 99, rng=rng).p_value <= 0.05
        alarms[1] += no_shift_test(source.sum(axis=0), counts.target, 99, rng=rng).p_value <= 0.05
    assert binomtest(alarms[0], n, 0.05).pvalue > 0.001
    if share == 0.5:  # no shift at all
        assert binomtest(alarms[1], n, 0.05).pvalue > 0.001
    else:
        assert alarms[1] == n


def test_power_against_a_moved_class():
    rng = np.random.default_rng(5)
    evidence = bc.shift_evidence(*problem(rng, 1000, 0.3, moved=0.7), rng=1)
    assert evidence.no_shift.p_value < 0.01
    assert evidence.label_shift.p_value < 0.01
    assert "do not explain it" in evidence.sentence()


# --- the result


def test_result():
    rng = np.random.default_rng(6)
    y, p, q = problem(rng, 2000)
    evidence = bc.shift_evidence(y, p, q, rng=1)
    assert "alone can explain it" in evidence.sentence()
    table = evidence.table()
    assert len(table) == len(evidence.cells) == 10
    # both sides in the cells: named after class and range, that contain exactly these rows
    low, high = (float(each) for each in evidence.cells[-1].removeprefix("1: ").split(" to "))
    assert table[-1]["n_source"] == pytest.approx(np.count_nonzero((p >= low) & (p <= high)), abs=5)
    shift = np.array([row["share_target"] - row["share_source"] for row in table])
    assert np.abs(shift).sum() / 2 == pytest.approx(evidence.total_variation.mean(), abs=0.03)
    np.testing.assert_allclose([row["mean"] for row in table], shift, atol=0.02)
    assert evidence.to_frame().shape == (10, 7)
    stored = json.loads(evidence.to_json())
    assert stored["tests"]["label_shift"]["p_value"] == evidence.label_shift.p_value
    assert stored["total_variation"]["mean"] == evidence.total_variation.mean()
    tree = evidence.to_datatree()
    moved = (tree["posterior"]["share_target"] - tree["posterior"]["share_source"]).mean(["chain", "draw"])
    np.testing.assert_allclose(moved, evidence.difference.mean(), rtol=0, atol=1e-12)
    assert tree["posterior"]["cell"].values.tolist() == list(evidence.cells)
    assert "alone can explain it" in evidence.to_html()
    assert "labels of the target" in evidence.remarks[0]
    again = bc.shift_evidence(y, p, q, rng=1)
    np.testing.assert_array_equal(again.drawn, evidence.drawn)
    assert (again.no_shift, again.label_shift) == (evidence.no_shift, evidence.label_shift)


def test_names_of_cells_differ():
    """Cuts that differ in the fourth digit, and equal cuts, as arise if many probabilities are equal."""
    y, p = np.arange(400) % 2, np.repeat([0.9991, 0.9992, 0.3, 0.2], 100)
    cells = ShiftCells(np.array([[0.75, 0.75, 0.75], [0.9990, 0.9991, 1.0]]))
    names = bc.shift_evidence(y, p, p, cells=cells, draws=100, simulations=99, rng=1).cells
    assert names[:4] == ("0: 0.5 to 0.75", "0: 0.75 to 0.75", "0: 0.75 to 0.75 (2)", "0: 0.75 to 1")
    assert names[4:] == ("1: 0.5 to 0.999", "1: 0.999 to 0.9991", "1: 0.9991 to 1", "1: 1 to 1")


def test_equal_scores():
    rng = np.random.default_rng(7)
    evidence = bc.shift_evidence(*problem(rng, 500, 0.5), rng=1)
    assert evidence.no_shift.p_value > 0.05
    assert "There is no evidence that the scores of source and target differ" in evidence.sentence()
    assert evidence.total_variation.interval(0.95)[0] == 0


def test_many_classes():
    rng = np.random.default_rng(8)
    matrix, target = rng.dirichlet(np.full(6, 0.3), 800), rng.dirichlet(np.full(6, 0.3), 600)
    label = (matrix.cumsum(axis=1) > rng.random((800, 1))).argmax(axis=1)
    evidence = bc.shift_evidence(label, matrix, target, simulations=200, rng=1)
    assert len(evidence.cells) == 12
    assert evidence.no_shift.p_value > 0.01


def test_refused():
    y, p, q = problem(np.random.default_rng(9))
    with pytest.raises(ValueError, match=r"`cells` must contain more cells than.*2 cells and 2 classes"):
        bc.shift_evidence(y, p, q, cells=ShiftCells.predicted_class(2))
    with pytest.raises(ValueError, match="`y_true` must have labelled rows of every class"):
        bc.shift_evidence(np.zeros(500), p, q)
    with pytest.raises(ValueError, match="`simulations` must be an integer >= 99"):
        bc.shift_evidence(y, p, q, simulations=10)
    with pytest.raises(TypeError, match="Labels of the target are not used"):
        bc.shift_evidence(y, p, q, y_target=y)
