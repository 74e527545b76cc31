"""Counting source and target in files: the counts of rows, blocks, precision, a second pass, errors."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit, softmax

import bayescal as bc
from bayescal.data.files import source as sources

OPTIONS = {"shift": "label", "draws": 160, "rng": 3}


def event(n=40_000, n_target=50_000):
    rng = np.random.default_rng(1)
    y, y_target = np.arange(n) % 2, rng.random(n_target) < 0.2
    return y, *(expit(2 * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target))


def several(n=3000):
    rng = np.random.default_rng(2)
    y, y_target = rng.integers(3, size=n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return y, *(softmax(2 * (rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[each]), axis=1) for each in (y, y_target))


def written(folder, y, p, p_target, kind="parquet"):
    """Both files; the target has another order of columns, and labels that must not be read."""
    source = {"y": y} | columns_of(p)
    target = {"y": np.full(len(p_target), 9)} | dict(reversed(columns_of(p_target).items()))
    files = []
    for name, frame in (("source", source), ("target", target)):
        files.append(folder / f"{name}.{kind}")
        write = pl.DataFrame(frame).write_csv if kind == "csv" else pl.DataFrame(frame).write_parquet
        write(files[-1])
    return files


def columns_of(p):
    return {"p": p} if p.ndim == 1 else {f"p_{name}": p[:, k] for k, name in enumerate("abc"[: p.shape[1]])}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_have_the_counts_of_rows(tmp_path, monkeypatch, kind):
    """In blocks of 16 384 rows, with the default cells, which need a pass over the source."""
    y, p, p_target = event()
    steps = []
    monkeypatch.setattr(sources, "BLOCK", 1)
    found = bc.count_shift_files(
        *written(tmp_path, y, p, p_target, kind), label="y", prob="p", bins=8, progress=steps.append
    )
    rows = bc.evaluate_shifted(y, p, p_target, bins=8, **OPTIONS)
    assert found.cells == rows.priors.counts.cells
    np.testing.assert_array_equal(found.source, rows.priors.counts.source)
    np.testing.assert_array_equal(found.target, rows.priors.counts.target)
    own, expected = found.binned[0], rows.counts.rows
    np.testing.assert_array_equal(own.by_class, expected.by_class)
    np.testing.assert_array_equal(own.target_rows, expected.target_rows)
    np.testing.assert_allclose(own.target_confidence, expected.target_confidence, rtol=0, atol=1e-14)
    of_source, of_target = [16_384, 32_768, 40_000], [16_384, 32_768, 49_152, 50_000]
    assert [step.rows for step in steps] == of_source * 2 + of_target
    about = np.array([step.about for step in steps])
    np.testing.assert_allclose(about, [40_000] * 6 + [50_000] * 4, rtol=0.0 if kind == "parquet" else 0.1)
    assert [step.step for step in steps] == ["edges"] * 3 + ["counting"] * 7
    assert bc.evaluate_shifted_counts(found, **OPTIONS).ece.mean() == pytest.approx(rows.ece.mean(), abs=1e-9)


def test_a_matrix_has_its_columns_by_name(tmp_path):
    y, p, p_target = several()
    files = written(tmp_path, np.array(list("abc"))[y], p, p_target)
    found = bc.count_shift_files(*files, label="y", prob_prefix="p_", bins=5)
    expected = bc.ShiftCounts.of_source(y, p, cells=found.cells, bins=5, classes=None)
    np.testing.assert_array_equal(found.source, expected.source)
    rows = bc.class_priors(y, p, p_target, rng=1)
    np.testing.assert_array_equal(found.target, rows.counts.target)
    assert found.classes == ("a", "b", "c")
    assert len(found.binned) == 3


@pytest.mark.slow
def test_a_second_pass_counts_adapted_probabilities(tmp_path):
    for y, p, p_target in (event(2000, 2000), several(2000)):
        files = written(tmp_path, y if p.ndim == 1 else np.array(list("abc"))[y], p, p_target)
        how = {"label": "y", "prob": "p"} if p.ndim == 1 else {"label": "y", "prob_prefix": "p_"}
        counts = bc.count_shift_files(*files, **how, bins=5)
        found = bc.evaluate_shifted_counts(counts, **OPTIONS)
        again = bc.count_shift_files(*files, **how, bins=5, cells=counts.cells, adapt=found.adapt)
        both = bc.evaluate_shifted_counts(counts, adapted=again, **OPTIONS)
        rows = bc.evaluate_shifted(y, p, p_target, bins=5, **OPTIONS)
        if p.ndim == 1:
            assert both.adapted.ece.values.tobytes() == rows.adapted.ece.values.tobytes()
        else:
            assert both["b"].adapted.ece.values.tobytes() == rows[1].adapted.ece.values.tobytes()


def test_logits(tmp_path):
    y, p, p_target = event(2000, 2000)
    found = bc.count_shift_files(
        *written(tmp_path, y, logit(p), logit(p_target)), label="y", prob="p", logits=True, cells=CELLS
    )
    expected = bc.ShiftCounts.of_source(y, p, cells=CELLS) + bc.ShiftCounts.of_target(p_target, cells=CELLS)
    assert found == expected


def test_logits_of_several_classes_in_another_order(tmp_path):
    y, p, p_target = several(300)
    files = written(tmp_path, np.array(list("abc"))[y], np.log(p), np.log(p_target))
    how = {"label": "y", "prob_prefix": "p_", "cells": bc.ShiftCells.predicted_class(3)}
    found = bc.count_shift_files(*files, **how, logits=True, classes=["c", "a", "b"])
    assert found.classes == ("c", "a", "b")
    order = [2, 0, 1]
    np.testing.assert_array_equal(found.target, np.bincount(p_target[:, order].argmax(axis=1), minlength=3))
    np.testing.assert_array_equal(found.by_class, np.bincount(y)[order])
    p_target[7, 1] = 1.5
    files = written(tmp_path, np.array(list("abc"))[y], p, p_target, "csv")
    with pytest.raises(ValueError, match=r"'p_\*' of 'target.csv'.*in line 9, column 'p_b'"):
        bc.count_shift_files(*files, **how)
    with pytest.raises(ValueError, match=r"`adapt\(p\)` of 'source.csv' must lie in \[0, 1\]"):
        bc.count_shift_files(files[0], files[0], **how, adapt=lambda p: 2 * p)


def test_names_that_are_numbers_in_another_order(tmp_path):
    """Default numbers of the target's classes would contradict these names."""
    y, p, p_target = several(300)
    columns = [{f"p_{name}": each[:, k] for k, name in enumerate("201")} for each in (p, p_target)]
    for name, frame in zip(("source", "target"), ({"y": np.array([2, 0, 1])[y]} | columns[0], columns[1]), strict=True):
        pl.DataFrame(frame).write_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / f"{name}.parquet" for name in ("source", "target")]
    found = bc.count_shift_files(*files, label="y", prob_prefix="p_", classes=["2", "1", "0"])
    assert [str(name) for name in found.classes] == ["2", "1", "0"]
    np.testing.assert_array_equal(found.by_class, np.bincount(y)[[0, 2, 1]])
    top = found.target.reshape(3, -1).sum(axis=1)
    np.testing.assert_array_equal(top, np.bincount(p_target.argmax(axis=1), minlength=3)[[0, 2, 1]])


def test_cells_of_many_classes_need_no_pass_of_their_own(tmp_path):
    """With more than five classes, cells are the predicted classes, which need no probabilities."""
    rng, steps = np.random.default_rng(4), []
    y, p = np.arange(60) % 6, rng.dirichlet(np.ones(6), 60)
    columns = {f"p_{k}": p[:, k] for k in range(6)}
    pl.DataFrame({"y": y} | columns).write_parquet(tmp_path / "rows.parquet")
    how = {"label": "y", "prob_prefix": "p_", "progress": steps.append}
    found = bc.count_shift_files(*[tmp_path / "rows.parquet"] * 2, **how)
    assert found.cells == bc.ShiftCells.predicted_class(6)
    np.testing.assert_array_equal(found.target, np.bincount(p.argmax(axis=1), minlength=6))
    assert [(step.step, step.rows) for step in steps] == [("counting", 60)] * 2


def test_files_of_the_same_name_are_told_apart_by_their_folders(tmp_path):
    y, p, p_target = event(50, 50)
    p_target[7] = 2
    folders = [tmp_path / each for each in ("hospital", "screening")]
    for folder in folders:
        folder.mkdir()
    files = [written(folder, y, p, p_target)[i].rename(folder / "rows.parquet") for i, folder in enumerate(folders)]
    with pytest.raises(ValueError, match=r"column 'p' of '.*screening.rows\.parquet' must lie in \[0, 1\]"):
        bc.count_shift_files(*files, label="y", prob="p", cells=CELLS)


CELLS = bc.ShiftCells.predicted_class(2)


def test_equal_scores_of_another_precision_are_equal(tmp_path):
    """0.7 in float32 and float64, at an edge of the bins."""
    y, p = np.array([0, 1] * 50), np.array([0.3, 0.7] * 50)
    files = written(tmp_path, y, p.astype(np.float32), p)
    found = bc.count_shift_files(*files, label="y", prob="p", cells=CELLS, bins=10).binned[0]
    np.testing.assert_array_equal(found.source.n, found.target_rows)
    assert found.target_rows[[2, 3]].max() == 50
    files = written(tmp_path, y, p, p.astype(np.float32))
    found = bc.count_shift_files(*files, label="y", prob="p", cells=CELLS, bins=10).binned[0]
    np.testing.assert_array_equal(found.source.n, found.target_rows)
    y, p, p_target = event(500, 500)
    files = written(tmp_path, y, p, p_target.astype(np.float32))
    rows = bc.class_priors(y, p, p_target.astype(np.float32), rng=1)
    assert bc.count_shift_files(*files, label="y", prob="p").cells == rows.counts.cells


def test_invalid_values_are_reported_about_all_rows_of_a_file(tmp_path, monkeypatch):
    y, p, p_target = event()
    monkeypatch.setattr(sources, "BLOCK", 1)
    p_target[[20_000, 45_000]] = 1.5
    files = written(tmp_path, y, p, p_target, "csv")
    with pytest.raises(ValueError, match=r"column 'p' of 'target.csv'.* 2 of 50000 .*in line 20002"):
        bc.count_shift_files(*files, label="y", prob="p", cells=CELLS)
    files = written(tmp_path, np.where(np.arange(40_000) == 39_000, 2, y), p, p, "csv")
    for cells in (CELLS, None):
        with pytest.raises(ValueError, match=r"column 'y' of 'source.csv'.* 1 of 40000 .*in line 39002"):
            bc.count_shift_files(*files, label="y", prob="p", cells=cells)


def test_a_file_that_begins_with_certain_probabilities_is_no_file_of_labels(tmp_path, monkeypatch):
    y, p, p_target = event(400, 40_000)
    p_target = np.sort(np.where(p_target < 0.3, 0.0, p_target))
    assert (p_target[:16_384] == 0).all()
    monkeypatch.setattr(sources, "BLOCK", 1)
    found = bc.count_shift_files(*written(tmp_path, y, p, p_target), label="y", prob="p", cells=CELLS)
    assert found.target.sum() == 40_000


def test_refusals(tmp_path):
    y, p, p_target = event(200, 200)
    files = written(tmp_path, y, p, p_target)
    with pytest.raises(ValueError, match="`adapt` needs `cells`"):
        bc.count_shift_files(*files, label="y", prob="p", adapt=lambda p: p)
    with pytest.raises(TypeError, match="`cells` must be ShiftCells"):
        bc.count_shift_files(*files, label="y", prob="p", cells=3)
    with pytest.raises(ValueError, match=r"'source\.parquet' has no column 'prob'"):
        bc.count_shift_files(*files, label="y", prob="prob")
    pl.DataFrame({"q": p_target}).write_parquet(files[1])
    with pytest.raises(ValueError, match=r"'target\.parquet' has no column 'p'"):
        bc.count_shift_files(*files, label="y", prob="p")
    with pytest.raises(ValueError, match=r"`adapt\(p\)` of 'source.parquet' must lie in \[0, 1\]"):
        bc.count_shift_files(files[0], files[0], label="y", prob="p", cells=CELLS, adapt=lambda p: 2 * p)
    pl.DataFrame({"p": (p_target > 0.5).astype(float)}).write_parquet(files[1])
    with pytest.raises(ValueError, match=r"column 'p' of 'target\.parquet' must hold probabilities, .* its 200 rows"):
        bc.count_shift_files(*files, label="y", prob="p")
    pl.DataFrame({"p": [*p_target[1:], None]}).write_parquet(files[1])
    with pytest.raises(ValueError, match=r"'target\.parquet': column 'p' must be complete; .* 1 of 200"):
        bc.count_shift_files(*files, label="y", prob="p")
    with pytest.raises(ValueError, match="`label` and `prob` must name different columns; both are 'p'"):
        bc.count_shift_files(*files, label="p", prob="p")
    with pytest.raises(ValueError, match="`prob` and `prob_prefix` exclude each other"):
        bc.count_shift_files(*files, label="y", prob="p", prob_prefix="p")
    with pytest.raises(TypeError, match=r"`adapt` must be a function, such as .*, not float"):
        bc.count_shift_files(*files, label="y", prob="p", cells=CELLS, adapt=0.5)
    with pytest.raises(
        ValueError, match=r"'source\.parquet': `adapt\(p\)` must have one value per row; it has 5 for 200 rows"
    ):
        bc.count_shift_files(files[0], files[0], label="y", prob="p", cells=CELLS, adapt=lambda p: p[:5])
    with pytest.raises(ValueError, match="`prob` or `prob_prefix` must say"):
        bc.count_shift_files(*files, label="y")
    with pytest.raises(TypeError, match="`label` must be the name of a column of the file, not NoneType"):
        bc.count_shift_files(*files, label=None, prob="p")
    with pytest.raises(TypeError, match="`prob` must be the name of a column"):
        bc.count_shift_files(*files, label="y", prob=["p"])
