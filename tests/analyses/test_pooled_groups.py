"""`pooling=`: groups that borrow strength, from rows, counts, files and frames, and what their results show."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app

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
