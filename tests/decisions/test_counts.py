"""Counts between thresholds: cells by definition, sums of batches, subsets of thresholds, bins, and refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.decisions import cells
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import as_thresholds

T = np.array([0.1, 0.25, 0.5, 0.8])


def treated_by_definition(y, p, thresholds, weights):
    """Sum of weights of treated rows, p >= t, by outcome and threshold."""
    return np.array([[weights[(y == z) & (p >= t)].sum() for t in thresholds] for z in (0, 1)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", ["a", "abc"])
@pytest.mark.parametrize("dense", [True, False])
def test_treated_rows_by_definition(names, weighted, dtype, dense, monkeypatch, scores):
    if not dense:
        monkeypatch.setattr(cells, "DENSE_CELLS", 1)
    monkeypatch.setattr(cells, "CHUNK", 128)
    y, p, w = scores(dtype=dtype)
    counts = ThresholdCounts.from_arrays(y, {k: p[k] for k in names}, T, weights=w if weighted else None)
    w = w if weighted else np.ones(len(y))
    for i, name in enumerate(names):
        above = np.cumsum(counts.margin(i, counts.weight)[:, ::-1], axis=1)[:, ::-1][:, 1:]
        # thresholds are compared in the type of the scores, in which float32(0.1) reaches 0.1
        np.testing.assert_allclose(above, treated_by_definition(y, p[name], T.astype(dtype), w), rtol=1e-12)
    assert counts.n_rows == len(y)
    np.testing.assert_allclose(counts.weight_sq, [(w[y == z] ** 2).sum() for z in (0, 1)])
    assert counts.weighted is weighted
    assert counts.effective_rows == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert counts.effective().sum() == pytest.approx(counts.effective_rows)
    by_outcome = [w[y == z].sum() ** 2 / (w[y == z] ** 2).sum() for z in (0, 1)]
    np.testing.assert_allclose(counts.by_outcome(counts.effective(by_outcome=True)), by_outcome)


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_add(weighted, scores):
    y, p, w = scores()

    def count(part):
        chosen = {name: p[name][part] for name in "ab"}
        return ThresholdCounts.from_arrays(y[part], chosen, T, weights=w[part] if weighted else None)

    whole, parts = count(slice(None)), sum(count(slice(a, a + 100)) for a in range(0, 500, 100))
    np.testing.assert_array_equal(parts.cells, whole.cells)
    np.testing.assert_array_equal(parts.n, whole.n)
    np.testing.assert_allclose(parts.weight, whole.weight, rtol=1e-12)
    np.testing.assert_allclose(parts.weight_sq, whole.weight_sq, rtol=1e-12)
    if not weighted:
        assert parts == whole
        assert parts + ThresholdCounts.empty(T, ["a", "b"]) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    with pytest.raises(ValueError, match="read-only"):
        whole.n[0] = 1


def test_counts_of_other_thresholds_or_models_do_not_add(scores):
    y, p, _ = scores()
    counts = ThresholdCounts.from_arrays(y, p["a"], T)
    with pytest.raises(ValueError, match="same thresholds"):
        counts + ThresholdCounts.from_arrays(y, p["a"], T[1:])
    with pytest.raises(ValueError, match=r"same models.*'model'.*'new'"):
        counts + ThresholdCounts.from_arrays(y, {"new": p["a"]}, T)
    with pytest.raises(TypeError):
        counts + 1


def test_some_of_the_thresholds(scores):
    y, p, w = scores()
    fine = ThresholdCounts.from_arrays(y, p, weights=w)
    coarse = ThresholdCounts.from_arrays(y, p, T, weights=w)
    found = fine.at(T)
    np.testing.assert_array_equal(found.cells, coarse.cells)
    np.testing.assert_array_equal(found.n, coarse.n)
    np.testing.assert_allclose(found.weight, coarse.weight)
    with pytest.raises(ValueError, match=r"must be among the thresholds.*index 1: 0.255"):
        fine.at([0.1, 0.255])


def test_bins_hold_the_same_counts(scores):
    y, p, _ = scores()
    binned = bc.BinnedCounts.from_arrays(y, p["a"], bins=100, target="event")
    assert ThresholdCounts.from_bins(binned, T) == ThresholdCounts.from_arrays(y, p["a"], T)
    pair = bc.PairedCounts.from_arrays(y, p["a"], y, p["b"], bins=20, target="event")
    two = ThresholdCounts.from_bins(pair, T, models=["a", "b"])
    assert two == ThresholdCounts.from_arrays(y, {"a": p["a"], "b": p["b"]}, T)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y, p, w: bc.BinnedCounts.from_arrays(y, p, bins=10, weights=w, target="event"), "must have no weights"),
        (lambda y, p, w: bc.BinnedCounts.from_arrays(y, p, bins=10), "must be of an event"),
        (
            lambda y, p, w: bc.BinnedCounts.from_arrays(y, p, bins=bc.make_bins(10, closed="right"), target="event"),
            "closed on the left",
        ),
        (lambda y, p, w: bc.BinnedCounts.from_arrays(y, p, bins=1, target="event"), "at least two bins"),
        (lambda y, p, w: bc.PairedCounts.from_arrays(y, p, 1 - y, p, bins=10, target="event"), "same outcome"),
    ],
)
def test_bins_that_are_refused(make, message, scores):
    y, p, w = scores()
    with pytest.raises(ValueError, match=message):
        ThresholdCounts.from_bins(make(y, p["a"], w))


def test_other_counts_are_refused():
    with pytest.raises(TypeError, match=r"must be ThresholdCounts.*not int"):
        ThresholdCounts.from_bins(3)


def test_invalid_rows_name_the_model():
    with pytest.raises(bc.InvalidRows, match=r"`confidence\['b'\]` must lie in \[0, 1\]; 1 of 2 .* index 1: 1.7"):
        ThresholdCounts.from_arrays([0, 1], {"a": [0.2, 0.7], "b": [0.2, 1.7]}, 0.5)


def test_too_many_joint_cells():
    p = {str(i): [0.2, 0.7] for i in range(10)}
    with pytest.raises(ValueError, match=r"10 models with 99 thresholds have 2e\+20 joint cells"):
        ThresholdCounts.from_arrays([0, 1], p)
    with pytest.raises(ValueError, match="7 models with 99 thresholds"):
        ThresholdCounts.from_frame(pd.DataFrame({"outcome": [0, 1], **p}), confidence=[str(i) for i in range(7)])


def test_case_control_weights_are_recognised(scores):
    y, p, w = scores()

    def by_outcome_only(weights):
        return ThresholdCounts.from_arrays(y, p["a"], T, weights=weights).weights_by_outcome_only

    assert by_outcome_only(np.where(y == 1, 0.1, 1.3))
    assert not by_outcome_only(np.full(len(y), 1.3))
    assert not by_outcome_only(w)
    assert not ThresholdCounts.empty(T).weights_by_outcome_only
    by_outcome = np.where(y == 1, 0.1, 1.3)
    assert by_outcome_only(np.where(np.arange(len(y)) % 3 == 0, 0, by_outcome))  # rows of weight 0 do not count
    two = {"outcome": [0, 1], "confidence": [0.2, 0.7], "thresholds": T}
    assert not ThresholdCounts.from_arrays(**two, weights=[1, 2]).weights_by_outcome_only  # any two rows are so
    # an effective number of rows that is whole, 6^2 / 12 = 3, without equal weights
    few = ThresholdCounts.from_arrays([0, 0, 0, 0, 1, 1], [0.1, 0.9, 0.9, 0.9, 0.5, 0.5], T, weights=[3, 1, 1, 1, 5, 5])
    assert not few.weights_by_outcome_only


def test_edges_that_are_no_thresholds(scores):
    """At 1 the weight t / (1 - t) of a false positive is infinite; counts by logit have edges there."""
    y, p, _ = scores()
    counts = bc.LogitCounts.from_arrays(y, p["a"]).binned
    with pytest.raises(bc.InvalidRows, match=r"inner edges of `counts`.*must"):
        ThresholdCounts.from_bins(counts)
    edge = float(counts.bins.edges[len(counts.bins.edges) // 2])
    found = ThresholdCounts.from_bins(counts, edge)
    treated = p["a"] >= edge
    assert found.n[found.cells[:, 0] == 1].sum() == treated.sum()
    assert found.n[(found.cells == 1).all(axis=1)].sum() == (treated & (y == 1)).sum()
    thirds = bc.BinnedCounts.from_arrays(y, p["a"], bins=3, target="event")
    np.testing.assert_array_equal(ThresholdCounts.from_bins(thirds).thresholds, as_thresholds([1 / 3, 2 / 3]))


def test_weights_that_cannot_be_squared():
    with pytest.raises(bc.InvalidRows, match="below 1e\\+140"):
        ThresholdCounts.from_arrays([0, 1], [0.2, 0.7], 0.5, weights=[1.0, 1e150])
