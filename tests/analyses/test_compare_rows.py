"""Rows of several classifiers: containers, targets, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compared_rows import DRAWS, event, multiclass

import bayescal as bc


def test_top_labels_are_counted_as_for_each_model_alone():
    y, a, b = multiclass()
    found = bc.compare(y, {"a": a, "b": b}, draws=DRAWS, rng=1)
    assert found["a"].counts.target == "top-label"
    for name, matrix in (("a", a), ("b", b)):
        assert found[name].counts == bc.evaluate(y, matrix, draws=2, rng=1).counts
    # each model is right or wrong by itself
    cells = found.pairs[0, 1].cells
    assert (cells[:, 1] != cells[:, 3]).any()
    np.testing.assert_array_equal(found.pairs[0, 1].n.sum(), len(y))
    both = (a.argmax(1) == y) & (b.argmax(1) == y)
    assert found.pairs[0, 1].n[(cells[:, 1] == 1) & (cells[:, 3] == 1)].sum() == both.sum()


def test_confidences_with_outcomes_of_each_model():
    y, a, b = multiclass()
    by_matrix = bc.compare(y, {"a": a, "b": b}, draws=DRAWS, rng=1)
    right = {"a": a.argmax(1) == y, "b": b.argmax(1) == y}
    by_column = bc.compare(right, {"a": a.max(1), "b": b.max(1)}, target="confidence", draws=DRAWS, rng=1)
    np.testing.assert_array_equal(by_column.draws().values, by_matrix.draws().values)
    assert by_column["a"].counts.target == "confidence"


def test_confidences_with_one_outcome_for_all():
    y, p, q = event(200)
    found = bc.compare(y, {"a": p, "b": q}, target="confidence", draws=DRAWS, rng=1)
    np.testing.assert_array_equal(
        found.draws().values, bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=1).draws().values
    )


def test_strings_logits_and_classes_as_for_evaluate():
    y, p, q = event(200)
    known = {"draws": DRAWS, "rng": 1}
    plain = bc.compare(y, {"a": p, "b": q}, **known)
    words = np.where(y == 1, "yes", "no")
    named = bc.compare(words, {"a": p, "b": q}, classes=("no", "yes"), **known)
    np.testing.assert_array_equal(named.draws().values, plain.draws().values)
    by_logit = bc.compare(y, {"a": np.log(p / (1 - p)), "b": np.log(q / (1 - q))}, logits=True, **known)
    np.testing.assert_allclose(by_logit.draws().values, plain.draws().values, atol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_data_frame(library):
    frames = pytest.importorskip(library)
    y, p, q = event(200)
    frame = frames.DataFrame({"y": y, "a": p, "b": q})
    found = bc.compare(frame["y"], {"a": frame["a"], "b": frame["b"]}, draws=DRAWS, rng=1)
    np.testing.assert_array_equal(
        found.draws().values, bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=1).draws().values
    )


Y, P, Q = event(20)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: bc.compare(Y, {"a": P}), ValueError, "`y_prob` must hold at least two classifiers; it holds 1"),
        (lambda: bc.compare(Y, [P, Q]), TypeError, "`y_prob` must be a mapping from names of classifiers"),
        (lambda: bc.compare(Y, {"a": P, 2: Q}), TypeError, "names that are strings; 2 is not"),
        (
            lambda: bc.compare({"a": Y, "b": Y[:9]}, {"a": P, "b": Q[:9]}, target="confidence"),
            ValueError,
            r"same rows; the numbers of rows are \{'a': 20, 'b': 9\}.*`compare_independent`",
        ),
        (lambda: bc.compare(Y, {"a": P, "b": Q[:9]}), ValueError, "classifier 'b': .*same length"),
        (lambda: bc.compare(Y, {"a": P, "b": Q + 1}), ValueError, r"classifier 'b': `y_prob` must lie in \[0, 1\]"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, rope=-0.01), ValueError, "`rope` must be a number >= 0"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, rope="auto"), ValueError, "`rope`.*not 'auto'"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, target="classwise"), ValueError, "must not be 'classwise'"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, target="evnt"), ValueError, "Did you mean 'event'"),
        (lambda: bc.compare(Y, {"a": P, "b": np.stack([1 - Q, Q], 1)}), ValueError, "must have one target"),
        (lambda: bc.compare({"a": Y, "b": Y}, {"a": P, "b": Q}), TypeError, "mapping.*`target='confidence'` only"),
        (lambda: bc.compare({"a": Y}, {"a": P, "b": Q}, target="confidence"), ValueError, "`y_true` has no 'b'"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, model="shrinkge"), ValueError, "Did you mean 'shrinkage'"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, n_bins=10), TypeError, "Here it is called 'bins'"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, rng="one"), TypeError, "`rng`"),
        (lambda: bc.compare(Y, {"a": P, "b": Q}, draws=1), ValueError, "`draws` must be an integer >= 2"),
        (
            lambda: bc.compare_independent({"a": 1, "b": 2}),
            TypeError,
            r"evaluations\['a'\].*must be an Evaluation, not int",
        ),
        (lambda: bc.compare_independent([1, 2]), TypeError, "`evaluations` must be a mapping"),
        (lambda: bc.compare_independent({}), ValueError, "at least two classifiers; it holds 0"),
    ],
)
def test_what_is_no_comparison_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_data_frame_has_a_column_per_classifier(frame):
    columns = {"a": np.asarray(P), "b": np.asarray(Q)}
    drawn, expected = (bc.compare(Y, each, draws=50, rng=1).difference().values for each in (frame(columns), columns))
    np.testing.assert_array_equal(drawn, expected)


def test_columns_of_a_data_frame_need_names():
    with pytest.raises(TypeError, match="must have names that are strings; 0 is not"):
        bc.compare(Y, pd.DataFrame(np.column_stack([P, Q])))
