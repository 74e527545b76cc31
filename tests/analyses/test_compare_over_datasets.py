"""Comparisons over data sets: means and ranks by hand, independence, order, populations, and refusals."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.results.over_datasets import ComparisonOverDatasets

NAMES = ("A", "B", "C")


def rows(seed, n=300, names=NAMES):
    """Rows of one data set; A is calibrated, B timid, C shifted."""
    made = simulate(n, population="flat", rng=seed)
    p = made.confidence
    scores = {"A": p, "B": 0.25 + p / 2, "C": p**2}
    return made.outcome, {name: scores[name] for name in names}


@pytest.fixture(scope="module")
def comparisons():
    return {f"set {i}": bc.compare(*rows(i, 200 + 100 * i), rng=i, draws=800) for i in range(5)}


@pytest.fixture(scope="module")
def result(comparisons):
    return bc.compare_over_datasets(comparisons, rng=1)


def test_each_data_set_keeps_its_own_joint_draws(result, comparisons):
    drawn = result.draws("ece").values
    assert drawn.shape == (800, 5, 3)
    for d, comparison in enumerate(comparisons.values()):
        own = comparison.draws("ece").values
        assert not np.array_equal(drawn[:, d], own)
        np.testing.assert_array_equal(drawn[np.lexsort(drawn[:, d].T), d], own[np.lexsort(own.T)])


def test_data_sets_are_independent_although_their_seeds_are_equal():
    """Same seed for all: without a permutation, correlations of 2000 draws would be near 1; the limit is 5 sd."""
    given = {f"set {i}": bc.compare(*rows(i, 500), rng=7, draws=2000) for i in range(3)}
    drawn = bc.compare_over_datasets(given, rng=1).draws("ece").values[..., 1]
    correlations = np.corrcoef(drawn.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_rows_give_the_same_as_their_comparisons():
    given = {f"set {i}": rows(i) for i in range(3)}
    found = bc.compare_over_datasets(given, rope=0.02, draws=400, bins=10, rng=1)
    assert (found.rope, found.spread) == (0.02, 0.1)
    assert found.comparisons["set 1"].rope == 0.02
    assert len(found.comparisons["set 1"]["A"].counts.bins) == 10
    seeds = {each["A"].bin_draws_seed for each in found.comparisons.values()}
    assert len(seeds) == 3
    again = bc.compare_over_datasets(given, rope=0.02, draws=400, bins=10, rng=1)
    np.testing.assert_array_equal(found.draws("ece").values, again.draws("ece").values)
    assert found.sentence() == again.sentence()


def test_classifiers_may_be_in_any_order(comparisons, result):
    y, scores = rows(1, 300)
    turned = {**comparisons, "set 1": bc.compare(y, dict(reversed(scores.items())), rng=1, draws=800)}
    found = bc.compare_over_datasets(turned, rng=1)
    assert found.names == NAMES
    means = found.draws("ece").values[:, 1].mean(axis=0)
    np.testing.assert_allclose(means, [turned["set 1"]["ABC"[k]].ece.mean() for k in range(3)])


def test_one_classifier_may_have_equal_counts_on_two_data_sets():
    """A constant classifier; the rows differ, as the counts of the other classifier show."""
    y, constant = np.array([0, 1] * 100), np.full(200, 0.5)
    given = {f"set {i}": (y, {"A": np.random.default_rng(i).random(200), "constant": constant}) for i in range(2)}
    found = bc.compare_over_datasets(given, rng=1, draws=200)
    assert found.in_order() == ("constant", "A")


def test_two_names_of_one_classifier_are_exactly_equal():
    given = {}
    for i in range(3):
        y, scores = rows(i)
        given[f"set {i}"] = (y, {"A": scores["A"], "again": scores["A"]})
    found = bc.compare_over_datasets(given, rng=1, draws=400)
    assert found.sentence() == (
        "On average over these 3 data sets, A and again have the same ECE in every draw: the difference is exactly 0."
    )
    assert found.p_best() == {"A": 0.5, "again": 0.5}
    assert [row["rank"] for row in found.each()] == [1.5, 1.5]


def test_refusals(comparisons):
    two = dict(list(comparisons.items())[:2])
    over = bc.compare_over_datasets
    with pytest.raises(TypeError, match=r"mapping from names of data sets, like .* not list"):
        over([1])
    with pytest.raises(ValueError, match="at least two data sets; it holds 1"):
        over({"one": two["set 0"]})
    with pytest.raises(TypeError, match="names that are strings; 1 is not"):
        over({1: two["set 0"], "x": two["set 1"]})
    with pytest.raises(TypeError, match=r"`datasets\['x'\]` must be a Comparison .* not Evaluation"):
        over({**two, "x": two["set 0"]["A"]})
    with pytest.raises(TypeError, match="not tuple of length 3"):
        over({**two, "x": (1, 2, 3)})
    with pytest.raises(ValueError, match=r"'x' lacks \['C'\]"):
        over({**two, "x": bc.compare(*rows(9, names=("A", "B")), rng=1, draws=800)})
    y, scores = rows(9)
    with pytest.raises(ValueError, match=r"'set 0' lacks \['D'\]"):
        over({**two, "x": bc.compare(y, scores | {"D": scores["A"]}, rng=1, draws=800)})
    with pytest.raises(ValueError, match="`datasets` must agree in number of bins: 'set 0' has 15, 'x' has 7"):
        over({**two, "x": bc.compare(*rows(9), bins=7, rng=1, draws=800)})
    with pytest.raises(ValueError, match="`datasets` must agree in number of draws"):
        over({**two, "x": bc.compare(*rows(9), rng=1, draws=100)})
    with pytest.raises(ValueError, match=r"must agree in the rope; it is 0\.01 and 0\.05"):
        over({**two, "x": bc.compare(*rows(9), rng=1, draws=800, rope=0.05)})
    with pytest.raises(ValueError, match="'set 0' and 'again' have the same counts"):
        over({**two, "again": bc.compare(*rows(0, 200), rng=5, draws=800)})
    with pytest.raises(TypeError, match="`weights` has one value per row, and belongs to `compare`"):
        over({"a": rows(1), "b": rows(2)}, weights=np.ones(300))
    with pytest.raises(TypeError, match="`bins` is for data sets given as rows"):
        over(two, bins=10)
    with pytest.raises(ValueError, match=r"data set 'bad': .*'A'.* must lie in \[0, 1\]"):
        over({"good": rows(1), "bad": ([0, 1], {"A": [0.5, 1.5], "B": [0.5, 0.5], "C": [0.1, 0.2]})})
    with pytest.raises(ValueError, match="`spread` must be given if the rope is 0"):
        over(two, rope=0)
    with pytest.raises(ValueError, match="`spread` must be a finite number > 0"):
        over(two, spread=-1)
    assert over(two, rope=0, spread=0.05, rng=1).spread == 0.05


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ece", r"\(ECE\) is `result\.average\('ece'\)`, its mean over the data sets\."),
        ("plot", r"drawn by `bayescal\.plot\(result\)`"),
        ("differencs", "Did you mean 'differences'"),
    ],
)
def test_attributes_of_other_results_are_answered(name, message):
    rows = {
        label: ([0, 1, 1, 0], {"A": [0.2, 0.4, 0.7, p], "B": [0.1, 0.1, 0.9, p]})
        for label, p in (("x", 0.3), ("y", 0.4))
    }
    found = bc.compare_over_datasets(rows, bins=2, draws=50, rng=1)
    with pytest.raises(AttributeError, match=message):
        getattr(found, name)
    assert not hasattr(found, "anything")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).ranks().values, found.ranks().values)


# --- a column of data sets


def in_one_table(sizes=(200, 300, 250)):
    """Rows of several data sets below each other, and the label of each row."""
    parts = [rows(seed, n) for seed, n in enumerate(sizes)]
    y = np.concatenate([outcome for outcome, _ in parts])
    p = {name: np.concatenate([scores[name] for _, scores in parts]) for name in NAMES}
    return y, p, np.repeat(np.arange(len(sizes)), sizes)


def test_a_column_of_data_sets_gives_the_comparison_of_their_rows():
    y, p, site = in_one_table()
    by_column = bc.compare(y, p, by=pd.Series(site, name="site"), draws=300, rng=4, rope=0.02, spread=0.1)
    assert isinstance(by_column, ComparisonOverDatasets)
    assert by_column.datasets == ("site 0", "site 1", "site 2")
    parts = {f"site {s}": (y[site == s], {name: each[site == s] for name, each in p.items()}) for s in range(3)}
    explicit = bc.compare_over_datasets(parts, draws=300, rng=4, rope=0.02, spread=0.1)
    assert np.array_equal(by_column.draws().values, explicit.draws().values)
    assert by_column.table() == explicit.table()
    assert (by_column.rope, by_column.spread) == (0.02, 0.1)


def test_weights_and_clusters_follow_their_rows():
    y, p, site = in_one_table()
    weights, cluster = np.random.default_rng(1).gamma(2.0, 1.0, len(y)), np.arange(len(y)) // 3
    found = bc.compare(y, p, by=site, weights=weights, cluster=cluster, draws=200, rng=1)
    for s, one in enumerate(found.comparisons.values()):
        part = {name: each[site == s] for name, each in p.items()}
        own = bc.compare(y[site == s], part, weights=weights[site == s], cluster=cluster[site == s], draws=200, rng=1)
        np.testing.assert_allclose(one["A"].counts.effective_n, own["A"].counts.effective_n)
        assert one["A"].counts.clusters.number == own["A"].counts.clusters.number


def test_all_data_sets_of_a_column_have_the_edges_of_all_rows():
    y, p, site = in_one_table()
    found = bc.compare(y, p, by=site, binning="equal-mass", bins=5, draws=200, rng=1)
    edges = bc.evaluate(y, p["B"], binning="equal-mass", bins=5, draws=200, rng=1).counts.bins
    assert all(one["B"].counts.bins == edges for one in found.comparisons.values())


def test_a_message_about_columns_of_rows_names_a_call_that_works():
    y_true, p, dataset = in_one_table()
    known = {"y_true": y_true, "dataset": dataset, "weights": np.ones(len(y_true)), "cluster": np.arange(len(y_true))}
    known |= {"compare": bc.compare, "p": p["A"], "q": p["B"]}
    for name in ("by", "weights", "cluster"):
        with pytest.raises(TypeError, match=f"`{name}` has one value per row") as refused:
            bc.compare_over_datasets({"one": rows(1), "two": rows(2)}, **{name: dataset})
        (call,) = re.findall(r"`(compare\(.+?cluster=cluster\))`", str(refused.value))
        assert isinstance(eval(call, known), ComparisonOverDatasets)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"by": np.zeros(750)}, ValueError, "`by` must define at least two data sets; it defines 1"),
        ({"by": np.zeros(7)}, ValueError, "`by`"),
        ({"by": "site"}, TypeError, "Pass the column itself, as in `by=frame\\['site'\\]`"),
        ({"spread": 0.1}, TypeError, "give the data set of each row as `by`"),
        ({"by": [1, "group 1"] * 375}, ValueError, "labels that print differently"),
        ({"by": np.repeat([0, 1], 375), "weights": np.repeat([0.0, 1], 375)}, ValueError, "in group 0"),
    ],
)
def test_columns_of_data_sets_that_are_refused(arguments, kind, message):
    y, p, _ = in_one_table()
    with pytest.raises(kind, match=message):
        bc.compare(y, p, draws=100, **arguments)
