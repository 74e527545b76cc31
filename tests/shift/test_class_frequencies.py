"""class_priors: rows and counts, names of classes, warnings and remarks."""

import numpy as np
import pytest
from scipy.special import softmax
from shifted_sides import event, several

import bayescal as bc
from bayescal.shift.class_frequencies import FewRowsWarning


def test_a_recalibration_that_does_not_fit_is_mentioned():
    """The probabilities of one class get another power; without it there is no remark."""
    y, p, p_target, _ = several(1000, np.random.default_rng(6))
    for power, n_remarks in (([1, 1, 1], 0), ([0.4, 1, 1], 1)):
        given = (softmax(np.log(each) * power, axis=1) for each in (p, p_target))
        found = bc.class_priors(y, *given, using="probabilities", rng=1)
        remarks = [each for each in found.remarks if "P-value of a score test" in each]
        assert len(remarks) == n_remarks
        assert all(each in str(found).replace("\n", " ") for each in remarks)


def test_labels_keep_their_names():
    y, p, p_target, _ = several(400, np.random.default_rng(4))
    names = np.array(["x", "y", "z"])
    found = bc.class_priors(names[y], p, p_target, classes=["x", "y", "z"], rng=1)
    assert found.classes == ("x", "y", "z")
    numbered = bc.class_priors(y, p, p_target, rng=1)
    np.testing.assert_array_equal(found.drawn, numbered.drawn)


def test_counts_give_the_draws_of_rows():
    y, p, p_target, _ = several(400, np.random.default_rng(5))
    cells = bc.ShiftCells.predicted_class(3)
    counts = bc.ShiftCounts.of_source(y, p, cells=cells) + bc.ShiftCounts.of_target(p_target, cells=cells)
    rows = bc.class_priors(y, p, p_target, cells=cells, rng=1)
    np.testing.assert_array_equal(bc.class_priors_counts(counts, rng=1).drawn, rows.drawn)


def test_probabilities_are_narrower():
    y, p, p_target, y_target = several(1000, np.random.default_rng(6))
    widths = {}
    for using in ("cells", "probabilities"):
        low, high = bc.class_priors(y, p, p_target, using=using, rng=1).interval(0.999)
        true = np.bincount(y_target) / len(y_target)
        assert ((low < true) & (true < high)).all()
        widths[using] = (high - low).mean()
    assert widths["probabilities"] < widths["cells"]


def test_one_column_of_a_data_frame_is_an_event():
    pd = pytest.importorskip("pandas")
    y, p, p_target = event(200, 0.5, np.random.default_rng(7))[:3]
    columns = pd.DataFrame({"p": p}), pd.DataFrame({"p": p_target})
    priors = bc.class_priors(y, *columns, rng=1)
    np.testing.assert_array_equal(priors.drawn, bc.class_priors(y, p, p_target, rng=1).drawn)
    np.testing.assert_array_equal(priors.adapt(columns[1]), priors.adapt(p_target))
    cells = bc.ShiftCells.of_confidences(columns[0], 3)
    assert cells == bc.ShiftCells.of_confidences(np.stack([1 - p, p], axis=1), 3)
    counts = bc.ShiftCounts.of_target(columns[1], cells=cells)
    np.testing.assert_array_equal(counts.target, bc.ShiftCounts.of_target(p_target, cells=cells).target)


def test_few_rows_of_a_class_warn():
    y, p = [0] * 20 + [1] * 3, np.linspace(0.05, 0.95, 23)
    with pytest.warns(FewRowsWarning, match="1 of 2 classes have fewer than 5 labelled rows, the first is 1") as told:
        found = bc.class_priors(y, p, p, rng=1)
    assert len(told) == 1
    assert any("Fewer than 5 labelled rows: class 1" in remark for remark in found.remarks)


def test_classes_that_are_hardly_told_apart_are_named():
    rng = np.random.default_rng(8)
    y, p = rng.integers(2, size=400), rng.random(400)
    found = bc.class_priors(y, p, p, rng=1)
    assert any("little information about the frequency of classes 0, 1" in remark for remark in found.remarks)
    low, high = found.interval()
    assert (high - low > 0.6).all()


def test_cells_without_labelled_rows():
    """Class 1 is predicted for no labelled row, but for rows of the target: the prior decides about its cell.

    With 700 of 1000 rows in it, the posterior has two modes of similar mass, as in [[20, 0], [40, 0]] and [300, 700].
    """
    cells = bc.ShiftCells.predicted_class(2)
    source = bc.ShiftCounts.of_source(np.arange(60) % 2, np.full(60, 0.3), cells=cells)

    def remarks(n):
        target = bc.ShiftCounts.of_target(np.repeat([0.3, 0.6], (1000 - n, n)), cells=cells)
        return " ".join(bc.class_priors_counts(source + target, rng=1).remarks)

    words = "of the target's rows are in cells without labelled rows: the prior determines how likely these cells"
    assert "without labelled rows" not in remarks(0)
    assert f"0.1 % {words}" in remarks(1)
    assert f"50 % {words}" in remarks(500)
    with pytest.raises(
        ValueError, match=r"`counts` must have a target with .* 50\.1 % of the 1000 rows .* in 1 cell w"
    ):
        remarks(501)
