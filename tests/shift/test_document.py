"""Counts of two sides as JSON: every sum comes back, and impossible files are refused."""

import numpy as np
import pytest
from shifted_sides import PREDICTED, three, two

import bayescal as bc
from bayescal.stats.stored import counts_document, counts_from_document


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
