"""`by=`: each group is what the call of its own rows gives, whatever the labels are, and groups are independent."""

import datetime
import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.data.groups import Groups
from bayescal.data.predictions import Predictions


def rows(n=600, seed=3):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**1.4).astype(int), p, rng.choice(["c", "a", "b"], n, p=[0.5, 0.45, 0.05])


# --- the oracle: a call of its own


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "dirichlet", "alpha": "jeffreys", "bins": 7},
        {"binning": "equal-mass", "bins": 5},
        {"bins": [0, 0.2, 0.9, 1]},
        {"logits": True},
        {"weights": np.linspace(0, 2, 600)},
        {"weights": np.geomspace(1e-200, 1, 600)},
    ],
    ids=lambda o: ", ".join(o) or "default",
)
def test_a_group_is_the_call_of_its_rows(options):
    y, p, by = rows()
    if "logits" in options:
        p = 4 * p - 2
    grouped = bc.evaluate(y, p, by=by, rng=7, draws=200, **options)
    assert list(grouped) == ["a", "b", "c"]
    weights = options.get("weights")
    for label in grouped:
        own = options | {"bins": grouped.overall.counts.bins, "binning": "equal-width"}
        own |= {} if weights is None else {"weights": weights[by == label]}
        alone = bc.evaluate(y[by == label], p[by == label], rng=grouped.seeds[label], draws=200, **own)
        assert grouped[label].counts == alone.counts
        np.testing.assert_array_equal(grouped[label].bin_draws.accuracy, alone.bin_draws.accuracy)
        np.testing.assert_array_equal(grouped[label].ece, alone.ece)
        np.testing.assert_array_equal(grouped[label].null, alone.null)
    everybody = bc.evaluate(y, p, rng=7, draws=200, **options)
    assert grouped.overall.counts == everybody.counts
    np.testing.assert_array_equal(grouped.overall.ece, everybody.ece)
    np.testing.assert_array_equal(grouped.overall.null, everybody.null)


def test_matrix_of_probabilities_with_labels():
    digits = bc.datasets.load_digits()
    by = digits.y_true % 2 == 0
    p = digits.y_prob["naive_bayes"]
    names = [f"digit {k}" for k in range(10)]
    grouped = bc.evaluate(np.array(names)[digits.y_true], p, by=by, classes=names, rng=1, draws=100)
    alone = bc.evaluate(digits.y_true[by], p[by], rng=grouped.seeds[True], draws=100)
    assert grouped[True].counts == alone.counts
    np.testing.assert_array_equal(grouped[True].ece, alone.ece)


def test_edges_are_those_of_all_rows():
    """Six rows, three bins of equal mass: cuts midway between 0.2 and 0.3, and between 0.4 and 0.5."""
    p = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    grouped = bc.evaluate([0, 0, 1, 0, 1, 1], p, by=list("xxyyyx"), bins=3, binning="equal-mass", rng=1, draws=10)
    for evaluation in (*grouped.values(), grouped.overall):
        np.testing.assert_allclose(evaluation.counts.bins.edges, [0, 0.25, 0.45, 1])
        assert evaluation.counts.bins.kind == "equal-mass"
    np.testing.assert_array_equal(grouped["x"].counts.n, [2, 0, 1])
    np.testing.assert_array_equal(grouped["y"].counts.n, [0, 2, 1])


def test_groups_add_up_to_all_rows():
    y, p, by = rows()
    grouped = bc.evaluate(y, p, by=by, rng=1, draws=50)
    summed = sum(e.counts for e in grouped.values())
    np.testing.assert_array_equal(summed.cells, grouped.overall.counts.cells)


def test_groups_are_independent_for_one_seed():
    """The same rows twice: with one seed for both their draws would be equal. |r| < 4 / sqrt(4000), P = 6e-5."""
    y, p, _ = rows(400)
    grouped = bc.evaluate(np.tile(y, 2), np.tile(p, 2), by=np.repeat([0, 1], 400), model="dirichlet", rng=1)
    assert abs(np.corrcoef(grouped.draws().values.T)[0, 1]) < 4 / np.sqrt(4000)
    comparison = grouped.compare()
    assert abs(np.corrcoef(comparison.draws().values.T)[0, 1]) < 4 / np.sqrt(4000)
    # so the variance of a difference is the sum of the variances; their Monte Carlo error is 3 %
    spread = grouped[0].ece.sd() ** 2 + grouped[1].ece.sd() ** 2
    assert comparison.difference("group 0", "group 1").sd() ** 2 == pytest.approx(spread, rel=0.12)


def test_the_same_seed_gives_the_same_again_and_another_does_not():
    y, p, by = rows()
    first, again, other = (bc.evaluate(y, p, by=by, rng=s, draws=50).draws().values for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# --- small and many


def test_one_row_and_one_class():
    y = [1, 0, 0, 0, 1, 1]
    grouped = bc.evaluate(
        y, [0.9, 0.2, 0.3, 0.1, 0.8, 0.6], by=["one", "zeros", "zeros", "zeros", "ones", "ones"], rng=1
    )
    assert [e.counts.n_rows for e in grouped.values()] == [1, 2, 3]
    assert grouped["one"].plug_in == pytest.approx(0.1)
    assert grouped["zeros"].plug_in == pytest.approx(0.2)  # 0.1, 0.2 and 0.3, all of outcome 0
    assert "one (1 row)" in str(bc.evaluate([1], [0.5], by=["one"], rng=1))
    table = {row["group"]: row for row in grouped.table()}
    assert table["ones"]["n_rows"] == 2
    assert all(0 <= row["low"] <= row["mean"] <= row["high"] <= 1 for row in table.values())
    assert np.isfinite(grouped.compare().draws("brier_score").values).all()


def test_many_groups():
    y, p, _ = rows(2000)
    by = np.arange(2000) % 100
    grouped = bc.evaluate(y, p, by=by, model="dirichlet", draws=40, rng=1)
    assert list(grouped) == list(range(100))
    assert grouped.draws().values.shape == (40, 100)
    assert "Not shown: 75 of 100 groups" in str(grouped)
    assert sum(grouped.compare().p_best().values()) == pytest.approx(1)


# --- labels


CATEGORIES = ["low", "mid", "high"]


@pytest.mark.parametrize(
    ("by", "labels", "of_row"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ((2, 10, 2), (2, 10), [0, 1, 0]),
        (["b", "c", "a"], ("a", "b", "c"), [1, 2, 0]),
        (
            pd.Series(pd.Categorical(["mid", "high", "low"], CATEGORIES, ordered=True)),
            ("low", "mid", "high"),
            [1, 2, 0],
        ),
        (range(3), (0, 1, 2), [0, 1, 2]),
        (np.array([True, False, True]), (False, True), [1, 0, 1]),
        (np.array([1.5, -1, 1.5]), (-1.0, 1.5), [1, 0, 1]),
        ([("x", 2), ("x", 1), ("x", 2)], (("x", 1), ("x", 2)), [1, 0, 1]),
        ([2, "a", 2], (2, "a"), [0, 1, 0]),  # cannot be sorted: as first seen
        (["z", 1, "z"], ("z", 1), [0, 1, 0]),
        (np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()), ("a", "b"), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], index=[9, 1, 0]), ("a", "b"), [1, 0, 1]),
        (pd.Series([2, 1, 2], dtype="Int64"), (1, 2), [1, 0, 1]),
        (pd.Series(pd.Categorical(["high", "low", "high"], CATEGORIES, ordered=True)), ("low", "high"), [1, 0, 1]),
        (pd.Index(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
        (pd.cut([0.6, 0.9, 0.1], [0, 0.5, 0.8, 1], labels=["low", "mid", "high"]), ("low", "mid", "high"), [1, 2, 0]),
        (pd.CategoricalIndex(["mid", "high", "low"], CATEGORIES, ordered=True), ("low", "mid", "high"), [1, 2, 0]),
        (pl.Series(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
        (pl.Series(["high", "low", "high"], dtype=pl.Enum(CATEGORIES)), ("low", "high"), [1, 0, 1]),
        (pa.array(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
        (pa.chunked_array([["b", "a"], ["b"]]), ("a", "b"), [1, 0, 1]),
        (
            pd.to_datetime(pd.Series(["2024-02-01", "2024-01-01", "2024-02-01"])),
            (datetime.datetime(2024, 1, 1), datetime.datetime(2024, 2, 1)),
            [1, 0, 1],
        ),
        (pd.DataFrame({"s": ["m", "f", "m"], "k": [1, 2, 1]}), (("f", 2), ("m", 1)), [1, 0, 1]),
        (pl.DataFrame({"s": ["m", "f", "m"], "k": [1, 2, 1]}), (("f", 2), ("m", 1)), [1, 0, 1]),
        (pd.DataFrame({"s": ["m", "f", "m"]}), ("f", "m"), [1, 0, 1]),
        (np.array([[1, 2], [1, 0], [1, 2]]), ((1, 0), (1, 2)), [1, 0, 1]),
    ],
)
def test_labels_of_any_kind(by, labels, of_row):
    groups = Groups.from_column(by, 3)
    assert groups.labels == labels
    assert groups.of_row.tolist() == of_row


@pytest.mark.parametrize(
    "by",
    [
        ["a", None, "b", None],
        ["a", float("nan"), "b", np.nan],
        np.array([1, np.nan, 2, np.nan]),
        np.array(["a", None, "b", None], dtype=object),
        np.array(["2024-01-01", "NaT", "2024-01-02", "NaT"], dtype="datetime64[D]"),
        np.ma.masked_array([1, 2, 3, 4], [0, 1, 0, 1]),
        np.array(["a", None, "b", None], dtype=np.dtypes.StringDType(na_object=None)),
        pd.Series(["a", None, "b", None]),
        pd.Series([1, None, 2, None], dtype="Int64"),
        pd.Series(pd.to_datetime(["2024-01-01", None, "2024-01-02", None])),
        pd.Series(pd.Categorical(["a", None, "b", None])),
        pd.DataFrame({"s": ["a", None, "b", None], "k": 1}),
        pl.Series([1, None, 2, None]),
        pl.Series(["a", None, "b", None]),
        pa.array(["a", None, "b", None]),
        [("a", 1), ("a", None), ("a", 2), ("b", np.nan)],
    ],
)
def test_missing_labels_are_refused(by):
    told = r"`by` must be complete; 2 of 4 values are missing .* first at index 1\. .* label of their own.*`by\.fillna"
    with pytest.raises(ValueError, match=told):
        bc.evaluate([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], by=by)


@pytest.mark.parametrize(
    ("by", "error", "message"),
    [
        ("sex", TypeError, "by=frame"),
        (3, TypeError, "column or array with one label per row"),
        ({"a": 1}, TypeError, "column or array with one label per row"),
        ([["a"], ["b"], ["c"]], TypeError, "strings, numbers or tuples; it holds values of type list"),
        (["a", "b"], ValueError, "`by` has 2, `y_true` has 3"),
        (np.zeros((3, 2, 2)), TypeError, "column or array with one label per row, not ndarray"),
        ({"a": np.arange(900)}, TypeError, "column or array with one label per row, not dict\\.$"),
    ],
)
def test_what_is_no_column_of_labels(by, error, message):
    with pytest.raises(error, match=message):
        bc.evaluate([0, 1, 1], [0.1, 0.2, 0.3], by=by)


def test_other_refusals(monkeypatch):
    y, p, by = rows(60)
    with pytest.raises(ValueError, match="zero in group 'a'"):
        bc.evaluate(y, p, by=by, weights=np.where(by == "a", 0.0, 1.0))
    with pytest.raises(ValueError, match="`by` cannot be combined with `target='classwise'`"):
        bc.evaluate([0, 1], [[0.5, 0.5], [0.1, 0.9]], target="classwise", by=[0, 1])
    monkeypatch.setattr(sys.modules["bayescal.analyses.groups"], "MOST_DRAWN", 40 * 60 * 15)
    with pytest.raises(ValueError, match=r"60 groups of 60 rows.*cut"):
        bc.evaluate(y, p, by=np.arange(60), draws=41)
    assert len(bc.evaluate(y, p, by=np.arange(60), draws=40, model="dirichlet")) == 60
    grouped = bc.evaluate(y, p, by=by, draws=10)
    with pytest.raises(KeyError, match="no group 'd' among"):
        grouped["d"]
    with pytest.raises(ValueError, match="at least two groups"):
        bc.evaluate(y, p, by=["x"] * 60, draws=10).compare()
    with pytest.raises(
        ValueError, match="must have labels that print differently; several groups are called 'group 1'"
    ):
        bc.evaluate(y, p, by=[1, "group 1"] * 30, draws=10).compare()
    with pytest.raises(ValueError, match="`rope`"):
        grouped.compare(rope=-1)


def test_the_callers_labels_are_not_changed():
    by = np.ma.masked_array(np.array(["a", "b"], dtype=object), [False, False])
    before = by.copy()
    Groups.from_column(by, 2)
    np.testing.assert_array_equal(by, before)


def test_split_keeps_the_order_of_rows():
    predictions = Predictions.from_outcomes([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4])
    parts = list(Groups.from_column(["b", "a", "b", "a"], 4).split(predictions))
    assert [p.confidence.tolist() for p in parts] == [[0.2, 0.4], [0.1, 0.3]]
    assert [p.outcome.tolist() for p in parts] == [[1, 0], [0, 1]]
    assert [p.weight.tolist() for p in parts] == [[2, 4], [1, 3]]


# --- what is shown


def test_names_in_words():
    y, p, _ = rows(30)
    of = {
        "fold": pd.Series([0, 1, 2] * 10, name="fold"),
        "sex, age": pd.DataFrame({"sex": ["m", "f"] * 15, "age": [1, 2, 3] * 10}),
        "group": ["x", "y", "z"] * 10,
    }
    made = {name: bc.evaluate(y, p, by=by, draws=10) for name, by in of.items()}
    assert {name: grouped.name for name, grouped in made.items()} == {name: name for name in of}
    assert made["fold"].names == ("fold 0", "fold 1", "fold 2")
    assert made["sex, age"].names[:2] == ("f, 1", "f, 2")
    assert made["group"].names == ("x", "y", "z")
    assert "3 groups by fold, 10 rows each: event ECE" in repr(made["fold"])
    assert "3 groups, 10 rows each: event ECE" in repr(made["group"])


def test_results_go_to_arviz_and_html(tmp_path):
    y, p, by = rows(60)
    for labels, coordinate in (
        (by, ["a", "b", "c"]),
        ([0, 1] * 30, [0, 1]),
        ([True, 2.5] * 30, ["group True", "group 2.5"]),
    ):
        grouped = bc.evaluate(y, p, by=labels, draws=40, rng=1)
        tree = grouped.to_datatree()
        assert sorted(map(str, tree["posterior"]["group"].values)) == sorted(map(str, coordinate))
        ece = tree["posterior"]["ece"].values.reshape(40, -1)
        np.testing.assert_array_equal(ece, grouped.draws().values)
        np.testing.assert_array_equal(tree["observed_data"]["n_rows"], [e.counts.n_rows for e in grouped.values()])
        tree.to_netcdf(tmp_path / f"{len(coordinate)}{coordinate[0]}.nc")
        assert len(grouped.summary()) == len(grouped)
    html = bc.evaluate(y, p, by=["<b>", "c"] * 30, draws=10)._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_the_sentence_is_not_of_the_smallest_group():
    """One row says nothing; 3000 rows that are off by 0.2 do."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.3, 0.7, 6001)
    off = np.repeat([0, 0.2, 0], [3000, 3000, 1])
    y = (rng.random(6001) < p + off).astype(int)
    grouped = bc.evaluate(y, p, by=np.repeat(["good", "bad", "one"], [3000, 3000, 1]), rng=1)
    assert grouped.sentence().startswith("Of 3 groups, bad (3000 rows) stands out: its ECE is 0.2")
    assert grouped.standing_out() == "bad"
    low, high = grouped["bad"].ece.interval(0.95)
    assert low < 0.2 < high
    decided = grouped.compare(rope=0.05).decide("good", "bad")
    assert decided["p_left"] > 0.99


def test_groups_that_were_counted_elsewhere():
    """Counts of groups from one query of a data frame: what `by=` gives of the rows."""
    rng = np.random.default_rng(5)
    p, site = rng.random(600), rng.choice(["north", "south", "west"], 600)
    y = rng.random(600) < p**1.3
    counted = bc.BinnedCounts.from_frame(
        pl.DataFrame({"y": y, "p": p, "site": site}), outcome="y", confidence="p", by="site", target="event"
    )
    found, expected = bc.evaluate_counts(counted, rng=1, draws=200), bc.evaluate(y, p, by=site, rng=1, draws=200)
    assert list(found) == list(expected) == ["north", "south", "west"]
    for label in found:
        np.testing.assert_allclose(found[label].ece.values, expected[label].ece.values, rtol=1e-9)
    np.testing.assert_allclose(found.overall.ece.values, expected.overall.ece.values, rtol=1e-9)


def test_counts_of_groups_are_checked():
    one = bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.7])
    with pytest.raises(TypeError, match=r"`counts\['b'\]` must be BinnedCounts, not int"):
        bc.evaluate_counts({"a": one, "b": 7})
    with pytest.raises(ValueError, match="`counts` is an empty mapping"):
        bc.evaluate_counts({})
    with pytest.raises(ValueError, match="counts can be added only if they have the same edges"):
        bc.evaluate_counts({"a": one, "b": bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.7], bins=3)})


def test_a_measurement_makes_no_groups():
    """Many distinct non-integer numbers are a measurement; strings and integers are labels, however many."""
    rng = np.random.default_rng(2)
    p = rng.random(600)
    y = rng.random(600) < p
    said = (
        r"^`by` must hold group labels; it holds 600 distinct numbers, 600 of them not integers, such as 0\.\d+\. .*"
        r"pandas\.cut.*astype\(str\)"
    )
    frame = pl.DataFrame({"y": y, "p": p, "x": p, "site": ["a", "b"] * 300})
    objects = ([np.float32(value) for value in p], [Decimal(value) for value in p.tolist()])
    for column in (p, p.tolist(), p.astype(object), pl.Series(p), pd.Series(p), *objects):
        with pytest.raises(ValueError, match=said):
            bc.evaluate(y, p, by=column, rng=1)
    with pytest.raises(ValueError, match=said):
        bc.evaluate(y, p, by=frame.select("site", "x"), rng=1)
    with pytest.raises(ValueError, match="group labels"):
        bc.BinnedCounts.from_frame(frame, outcome="y", confidence="p", by="x")
    with pytest.raises(ValueError, match="31 distinct numbers, 31 of them not integers"):
        Groups.from_column(np.arange(62) % 31 + 0.5, 62)
    assert len(Groups.from_column([Decimal(10**30 + i) for i in range(31)] + [Decimal("Infinity")], 32)) == 32


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (np.arange(62) % 30 + 0.5, 30),
        (np.arange(1000.0), 1000),
        (np.arange(1000), 1000),
        ([f"site {i % 300}" for i in range(1000)], 300),
        (np.linspace(0, 1, 1000).astype(str), 1000),
        (pd.cut(pd.Series(np.linspace(0, 1, 1000)), 40), 40),
        (np.arange(1000).astype("M8[D]"), 1000),
    ],
)
def test_labels_make_as_many_groups_as_there_are(labels, groups):
    assert len(Groups.from_column(labels, len(labels))) == groups


def test_the_name_of_a_column_is_no_column():
    with pytest.raises(TypeError, match=r"Pass the column itself, as in `by=frame\['site'\]`"):
        bc.evaluate([0, 1], [0.2, 0.7], by="site")


RNG = np.random.default_rng(1)


P = RNG.random(900)


SITE = RNG.choice(["east", "north", "south", "west"], 900)


SHIFT = dict(zip(["east", "north", "south", "west"], [0.0, 0.3, -0.3, 1.2], strict=True))


Y = (RNG.random(900) < 1 / (1 + (1 / P - 1) * np.exp(-np.array([SHIFT[s] for s in SITE])))).astype(int)


OPTIONS = {"draws": 400, "rng": 1}


@pytest.fixture(scope="module")
def pooled():
    return bc.evaluate(Y, P, by=SITE, pooling="partial", **OPTIONS)


@pytest.fixture(scope="module")
def plain():
    return bc.evaluate(Y, P, by=SITE, **OPTIONS)


def test_the_default_is_no_pooling(plain):
    """Written out it is the same, to the last digit."""
    again = bc.evaluate(Y, P, by=SITE, pooling="none", **OPTIONS)
    for label in plain:
        np.testing.assert_array_equal(plain[label].bin_draws.accuracy, again[label].bin_draws.accuracy)
    assert plain.pooling == again.pooling == "none"
    assert plain.spec == again.spec


def test_pooling_leaves_the_evaluation_of_all_rows(pooled, plain):
    np.testing.assert_array_equal(pooled.overall.ece, plain.overall.ece)


@pytest.mark.slow
def test_pooling_makes_intervals_of_similar_groups_narrower():
    """Labels that are unrelated to the outcomes: all groups have one curve."""
    ward, y = RNG.integers(0, 16, 900), (RNG.random(900) < P**1.5).astype(int)
    width = {}
    for pooling in ("none", "partial"):
        g = bc.evaluate(y, P, by=ward, pooling=pooling, **OPTIONS)
        width[pooling] = np.mean([np.diff(each.ece.interval()) for each in g.values()])
    assert width["partial"] < 0.85 * width["none"]


def test_the_group_that_is_shifted_stands_out(pooled):
    """Its true ECE is 0.19, those of the others are at most 0.06."""
    assert pooled.standing_out() == "west"
    assert pooled["west"].ece.interval()[0] > 0.1
    assert "west" in pooled.sentence()
    assert sum(pooled.p_worst().values()) == pytest.approx(1)
    assert max(pooled.expected_ranks(), key=pooled.expected_ranks().get) == "west"


def test_draws_are_joint_and_comparisons_keep_them(pooled):
    """Draws of groups share the common curve, so a comparison may not reorder them."""
    values = pooled.draws("ece").values
    compared = pooled.compare()
    np.testing.assert_array_equal(compared.draws("ece").values, values)
    assert "different rows, pooled" in compared.spec
    np.testing.assert_allclose(pooled.heterogeneity().values, values.std(axis=1))
    assert pooled.heterogeneity().name == "sd of ece over groups"


def test_complete_pooling_gives_all_groups_one_curve():
    g = bc.evaluate(Y, P, by=SITE, pooling="complete", **OPTIONS)
    shift = [np.log(e.bin_draws.accuracy / (1 - e.bin_draws.accuracy)) for e in g.values()]
    start = [np.log(e.bin_draws.confidence / (1 - e.bin_draws.confidence)) for e in g.values()]
    # mean confidences of groups differ within a bin, and errors carry over as shifts of logits or as gaps
    np.testing.assert_allclose(shift[0] - start[0], shift[3] - start[3], atol=0.06)
    np.testing.assert_allclose(g["east"].bin_draws.gap, g["west"].bin_draws.gap, atol=0.01)
    assert g.heterogeneity().mean() < 0.01


@pytest.mark.parametrize("pooling", ["partial", "complete"])
def test_groups_that_are_alike_are_no_more_certain_than_all_rows(pooling):
    """No event occurs: the ECE is the mean confidence, and its uncertainty is that of the masses of the bins."""
    p = np.random.default_rng(3).random(600)
    g = bc.evaluate(np.zeros(600, int), p, by=np.arange(600) % 6, pooling=pooling, draws=4000, rng=1)
    of_all = 0.29 / np.sqrt(600)  # standard error of the mean of 600 confidences
    assert g.overall.ece.sd() == pytest.approx(of_all, rel=0.1)
    for each in g.values():
        assert 0.9 * of_all < each.ece.sd() < 1.5 * of_all


def test_certain_statements_of_some_groups_borrow_strength():
    """Stated 1.0 or 0.95, right in 80 %; the logit of 1 is infinite, and the groups are alike all the same."""
    certain, mixed = np.ones(40), np.tile([0.95, 1.0], 20)
    p, site = np.concatenate([certain, mixed] * 6), np.repeat(np.arange(12), 40)
    y = np.tile(np.arange(40) % 10 < 8, 12).astype(int)
    g = bc.evaluate(y, p, by=site, target="confidence", pooling="partial", draws=1000, rng=1)
    for label, each in g.items():
        expected = 0.175 if label % 2 else 0.2
        assert each.signed_error.mean() == pytest.approx(-expected, abs=0.02)
        assert each.ece.sd() < 0.04


def test_a_remark_says_what_is_doubtful_unless_a_group_stands_out(pooled):
    alike = bc.evaluate(Y, P, by=np.arange(900) % 9, pooling="partial", **OPTIONS)
    assert any("probability of being the worst is overstated" in remark for remark in alike.remarks)
    assert not any("overstated" in remark for remark in pooled.remarks)
    assert not any("overstated" in remark for remark in bc.evaluate(Y, P, by=np.arange(900) % 9, **OPTIONS).remarks)


def test_results_depend_on_the_seed_only(pooled):
    again = bc.evaluate(Y, P, by=SITE, pooling="partial", **OPTIONS)
    np.testing.assert_array_equal(again.draws("ece").values, pooled.draws("ece").values)
    label = "north"
    repeated = pooled[label].posterior.sample(400, rng=pooled.seeds[label])
    np.testing.assert_array_equal(repeated.accuracy, pooled[label].bin_draws.accuracy)


@pytest.mark.parametrize(
    "by",
    [
        pd.Series(pd.Categorical(SITE, categories=["east", "centre", "north", "south", "west"])),
        pd.Series(pd.Categorical(SITE, categories=["east", "centre", "north", "south", "west"], ordered=True)),
        pl.Series(SITE, dtype=pl.Enum(["east", "centre", "north", "south", "west"])),
    ],
    ids=["pandas", "ordered", "polars"],
)
def test_categories_without_rows_are_predicted(by):
    g = bc.evaluate(Y, P, by=by, pooling="partial", **OPTIONS)
    assert list(g) == ["east", "centre", "north", "south", "west"]
    new = g["centre"]
    assert new.counts.n_rows == 0
    low, high = new.ece.interval()
    assert high - low > max(np.diff(g[each].ece.interval()) for each in ("north", "south"))
    assert "as predicted from the other groups, because this one has no rows" in new.sentence()
    assert "0 to" in g.spec
    g["centre"].to_datatree(), g.to_datatree()
    assert "centre" not in bc.evaluate(Y, P, by=by, **OPTIONS)


def test_empty_counts_in_a_mapping_are_predicted(pooled):
    counts = {label: pooled[label].counts for label in pooled} | {"new": bc.BinnedCounts.empty(15, target="event")}
    g = bc.evaluate_counts(counts, pooling="partial", **OPTIONS)
    assert g["new"].ece.mean() > 0
    with pytest.raises(ValueError, match="at least one group with rows; all groups are empty"):
        bc.evaluate_counts({"a": bc.BinnedCounts.empty(15)}, pooling="partial")


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).lazy()], ids=["pandas", "polars", "lazy"]
)
def test_counts_of_any_engine_give_the_same(pooled, make):
    frame = make(pd.DataFrame({"y": Y, "p": P, "site": SITE}))
    counts = bc.BinnedCounts.from_frame(frame, outcome="y", confidence="p", by="site", target="event")
    g = bc.evaluate_counts(counts, pooling="partial", **OPTIONS)
    np.testing.assert_allclose(g.draws("ece").values, pooled.draws("ece").values, atol=1e-9)


def test_weights_count_as_effective_rows(pooled):
    """Equal weights change nothing; unequal ones leave fewer effective rows and wider intervals."""
    equal = bc.evaluate(Y, P, by=SITE, weights=np.full(900, 2.5), pooling="partial", **OPTIONS)
    np.testing.assert_allclose(equal.draws("ece").values, pooled.draws("ece").values, atol=1e-9)
    weights = np.where(np.arange(900) % 10 == 0, 50.0, 1.0)
    unequal = bc.evaluate(Y, P, by=SITE, weights=weights, pooling="partial", **OPTIONS)
    assert np.isfinite(unequal.draws("ece").values).all()
    assert np.diff(unequal["west"].ece.interval()) > np.diff(pooled["west"].ece.interval())


def test_the_command_line_gives_the_same(tmp_path, pooled):
    pd.DataFrame({"y": Y, "p": P, "site": SITE}).to_csv(tmp_path / "rows.csv", index=False)
    call = ["report", str(tmp_path / "rows.csv"), "--label", "y", "--prob", "p", "--draws", "400"]
    out = tmp_path / "out.json"
    done = CliRunner().invoke(app, [*call, "--by", "site", "--pooling", "partial", "--json", str(out)])
    assert done.exit_code == 0, done.stderr
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["pooling"] == document["parameters"]["pooling"] == "partial"
    for group in document["groups"]:
        assert group["table"][0]["mean"] == pytest.approx(pooled[group["label"]].ece.mean(), abs=1e-9)
    refused = CliRunner().invoke(app, [*call, "--pooling", "partial"])
    assert (refused.exit_code, "--pooling" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "partial"}, "needs groups, and there are none"),
        ({"pooling": "none"}, "needs groups, and there are none"),
        ({"pooling": "partial", "target": "classwise"}, "needs groups, and there are none"),
        ({"pooling": "some", "by": SITE}, "`pooling` must be one of"),
        ({"pooling": "partial", "by": SITE, "model": "dirichlet"}, "exists for `model='shrinkage'` only"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bc.evaluate(Y, P, **options)


def test_counts_without_groups_are_refused(pooled):
    with pytest.raises(ValueError, match="needs groups"):
        bc.evaluate_counts(pooled["west"].counts, pooling="partial")


def test_a_pooled_group_is_an_evaluation(pooled):
    west = pooled["west"]
    assert isinstance(west, bc.Evaluation)
    assert west.brier_score.mean() == pytest.approx(np.mean((Y - P)[SITE == "west"] ** 2), abs=0.03)
    assert west.plug_in == pytest.approx(bc.evaluate(Y[SITE == "west"], P[SITE == "west"], **OPTIONS).plug_in)
    assert {row["quantity"] for row in west.table()} >= {"ece", "signed_error"}
    assert west.to_datatree().posterior["accuracy"].shape == (4, 100, 15)
    with pytest.raises(AttributeError, match="exists for model='shrinkage' only"):
        _ = west.p_calibrated


def test_scores_of_groups_are_independent_within_bins(pooled):
    """Groups share the seed of the bins, but not that of losses within bins."""
    scores = pooled.draws("brier_score").values
    residual = scores - np.stack(
        [
            (e.bin_draws.mass * (e.bin_draws.accuracy - e.bin_draws.confidence) ** 2).sum(axis=1)
            for e in pooled.values()
        ],
        axis=1,
    )
    assert abs(np.corrcoef(residual.T)[0, 1]) < 0.5


def test_one_group_with_rows_has_no_heterogeneity(pooled):
    g = bc.evaluate(Y, P, by=["all"] * 900, pooling="partial", **OPTIONS)
    with pytest.raises(ValueError, match="at least two groups with rows; there are 1"):
        g.heterogeneity()
    assert "all" in g.sentence()
    assert "Standard deviation" not in str(g)
    assert "Standard deviation of the ECE over the groups" in str(pooled)


def test_a_forest_plot_shows_both(pooled, plain):
    from matplotlib.figure import Figure

    ax = bc.plot_forest(pooled, Figure().subplots(), beside=plain, order="worst first")
    (bars,) = [each for each in ax.collections if each.get_gid() == "beside"]
    places = [text.get_text().split(" ")[0] for text in ax.get_yticklabels()]
    for segment, place in zip(bars.get_segments(), range(4), strict=True):
        assert segment[0, 1] == pytest.approx(place + 0.3)
        assert tuple(segment[:, 0]) == pytest.approx(plain[places[place]].ece.interval())
    assert "thin bars below: no pooling" in ax.get_xlabel().replace("\n", " ")
    with pytest.raises(TypeError, match="`beside` must be a GroupedEvaluation"):
        bc.plot_forest(pooled, beside={"west": plain["west"]})
    with pytest.raises(ValueError, match="it has none of them"):
        bc.plot_forest(pooled, beside=bc.evaluate(Y, P, by=Y, **OPTIONS))


def test_assumptions_of_pooling_that_data_cannot_check_are_stated():
    few = bc.evaluate(Y, P, by=SITE, pooling="partial", draws=200, rng=1)
    assert len(set(SITE)) < 5
    assert f"Partial pooling of {len(set(SITE))} groups with rows depends on the prior" in str(few)
    one = bc.evaluate(Y, P, by=np.zeros(len(Y), int), pooling="partial", draws=200, rng=1)
    assert one.remarks[0].startswith("Partial pooling of 1 group with rows depends")
    assert one.spec.startswith(f"1 group, {len(Y)} rows: event ECE")
    complete = bc.evaluate(Y, P, by=SITE, pooling="complete", draws=200, rng=1)
    assert complete.remarks[0].startswith("Complete pooling assumes that all groups have the same accuracies")
    many = bc.evaluate(Y, P, by=np.arange(len(Y)) % 5, pooling="partial", draws=200, rng=1)
    assert not any("pooling" in remark for remark in (*many.remarks, *bc.evaluate(Y, P, by=SITE, rng=1).remarks))


def test_documents_state_the_heterogeneity_and_the_remarks():
    pooled = bc.evaluate(Y, P, by=SITE, pooling="partial", draws=200, rng=1)
    made, drawn = json.loads(pooled.to_json()), pooled.heterogeneity()
    assert made["heterogeneity"] == {
        "mean": drawn.mean(),
        **dict(zip(("low", "high"), drawn.interval(0.95), strict=True)),
    }
    assert made["remarks"] == list(pooled.remarks)
    assert json.loads(bc.evaluate(Y, P, by=SITE, draws=200, rng=1).to_json())["heterogeneity"] is None
