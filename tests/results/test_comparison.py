"""What a Comparison says of its draws: made by hand, so that every probability, rank and sentence is known."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

import bayescal as bc
from bayescal import Comparison, Draws, compare, evaluate, evaluate_counts
from bayescal.estimands.errors import lp_error
from bayescal.estimands.registry import registered
from bayescal.stats.binned import BinnedCounts

# --- numbers


def test_differences_are_first_minus_second(eight):
    difference = eight.difference("A", "B")
    assert isinstance(difference, Draws)
    np.testing.assert_allclose(difference.values, [-0.01, 0, -0.03, 0.04, 0, 0.03, -0.04, 0], atol=1e-15)
    np.testing.assert_array_equal(eight.difference("B", "A").values, -difference.values)
    assert not eight.difference("A", "A").values.any()
    assert "A - B" in repr(difference)


# --- words: each form says who is better


@pytest.fixture
def sentence(comparison_of):
    return lambda a, b, rope=0.01: comparison_of({"net": a, "forest": b}, rope).sentence()


def test_a_sure_difference_names_the_better_model_first(sentence):
    low, high = np.linspace(0.01, 0.02, 100), np.linspace(0.05, 0.06, 100)
    said = sentence(low, high)
    assert said.startswith("net is better calibrated than forest (ECE of net minus that of forest: -0.040, ")
    assert "95 % credible interval -0.040 to -0.040" in said
    assert "P(better) = 1.00" in said
    assert "P(equal within 0.01) = 0.00" in said
    assert sentence(high, low).startswith(
        "forest is better calibrated than net (ECE of net minus that of forest: 0.040, "
    )


def test_an_unsure_difference_is_called_unsettled(sentence):
    a, b = np.full(100, 0.03), np.repeat([0.01, 0.06], [30, 70])
    said = sentence(a, b)
    assert said.startswith("It is uncertain whether net is better calibrated than forest (ECE of net minus")
    assert "P(better) = 0.70, P(worse) = 0.30, P(equal within 0.01) = 0.00" in said
    assert (
        sentence(b, a).startswith("It is uncertain whether net is better calibrated than forest (ECE of net") is False
    )
    assert sentence(b, a).startswith("It is uncertain whether forest is better calibrated than net")


@pytest.mark.parametrize(("n_better", "sure"), [(95, True), (94, False)])
def test_from_95_in_100_on_a_direction_is_stated(n_better, sure, sentence):
    a, b = np.full(100, 0.03), np.repeat([0.06, 0.01], [n_better, 100 - n_better])
    assert sentence(a, b).startswith("net is better") is sure


def test_a_small_difference_is_called_practically_equal(sentence):
    rng = np.random.default_rng(1)
    a = rng.random(100) / 10
    said = sentence(a, a + 0.004)
    assert said.startswith("net and forest are practically equal (ECE of net minus that of forest: -0.004000, ")
    assert "P(equal within 0.01) = 1.00" in said
    # the same draws with a rope of nothing: surely, if little, better
    assert sentence(a, a + 0.004, rope=0).startswith("net is better calibrated than forest")


def test_no_difference_at_all(sentence):
    a = np.linspace(0, 0.1, 50)
    said = sentence(a, a.copy())
    assert said == "net and forest have the same ECE in every draw: the difference is exactly 0."


def test_of_several_the_best_against_the_next(eight):
    """Mean ranks: A 1.8125, B 1.875, C 2.3125, from `scipy.stats.rankdata`."""
    assert eight.sentence().startswith("It is uncertain whether A is better calibrated than B")


def test_printing_shows_everything(eight):
    text = f"{eight}\n{eight.details()}"
    assert eight.spec in text
    for needed in ("A - B", "A - C", "B - C", "P(1st)", "P(equal)", "expected rank", "P(best)"):
        assert needed in text
    assert "<table>" in eight._repr_html_()
    assert repr(eight) == f"Comparison({eight.spec})"
    assert "3 classifiers on different rows, independent" in eight.spec
    assert "rope 0.01" in eight.spec


def test_names_are_shown_as_they_are(comparison_of):
    made = comparison_of({"[red]": [0.1, 0.2], "<b>": [0.3, 0.1]})
    assert "[red] - <b>" in str(made)
    assert "&lt;b&gt;" in made._repr_html_()


# --- ArviZ


def test_the_datatree_holds_every_named_estimand(real):
    tree = real.to_datatree()
    assert set(tree["posterior"].data_vars) == set(registered())
    assert tree["posterior"]["classifier"].values.tolist() == ["A", "B"]
    for name in registered():
        drawn = tree["posterior"][name].values
        assert drawn.shape == (4, 50, 2)
        np.testing.assert_array_equal(drawn.reshape(-1, 2), real.draws(name).values)
    np.testing.assert_array_equal(tree["observed_data"]["n_rows"].values, [80, 80])
    np.testing.assert_allclose(tree["constant_data"]["plug_in_ece"].values, [real["A"].plug_in, real["B"].plug_in])
    assert tree.attrs["rope"] == 0.02
    assert tree.attrs["same_rows"] == 0


def test_the_datatree_survives_a_file(real, tmp_path):
    import arviz as az

    tree = real.to_datatree()
    tree.to_netcdf(tmp_path / "comparison.nc")
    back = az.from_netcdf(tmp_path / "comparison.nc")
    for name in registered():
        np.testing.assert_array_equal(back["posterior"][name].values, tree["posterior"][name].values)
    assert back["posterior"]["classifier"].values.tolist() == ["A", "B"]
    assert back.attrs["spec"] == real.spec


def test_the_summary_is_that_of_the_draws(real):
    table = real.summary(0.8, kind="stats", round_to="none")
    assert list(table.index) == ["ece[A]", "ece[B]", "difference[A - B]"]
    for label, draws in (("ece[B]", real["B"].ece), ("difference[A - B]", real.difference("A", "B"))):
        low, high = draws.interval(0.8)
        row = table.loc[label].astype(float)
        assert row.iloc[0] == pytest.approx(draws.mean(), rel=1e-9)
        assert row.iloc[2:4].tolist() == pytest.approx([low, high], abs=1e-3)


# --- estimands and refusals


def test_an_estimand_may_be_a_function_of_the_bins(real):
    def l4(bins):
        return lp_error(bins, 4)

    drawn = real.draws(l4)
    assert "l4" in repr(drawn)
    for i, name in enumerate("AB"):
        np.testing.assert_array_equal(np.sort(drawn.values[:, i]), np.sort(lp_error(real[name].bin_draws, 4).values))
    assert real.decide("A", "B", estimand=l4)["p_rope"] == real.decide("A", "B", estimand=l4)["p_rope"]


def test_every_named_estimand_of_each_model_keeps_its_draws(real):
    for name in registered():
        drawn = real.draws(name).values
        for i, model in enumerate("AB"):
            np.testing.assert_array_equal(np.sort(drawn[:, i]), np.sort(getattr(real[model], name).values))


def test_asking_twice_gives_the_same_draws(real):
    again = Comparison(real.evaluations, None, 0.02, 3)
    np.testing.assert_array_equal(again.draws().values, real.draws().values)
    other = Comparison(real.evaluations, None, 0.02, 4)
    assert not np.array_equal(other.draws().values, real.draws().values)


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda c: c.difference("A", "b"), ValueError, r"must be one of \['A', 'B'\], not 'b'"),
        (lambda c: c.decide("C", "B"), ValueError, "not 'C'"),
        (lambda c: c["a"], KeyError, "no classifier 'a' among"),
        (lambda c: c.draws("eec"), ValueError, "Did you mean 'ece'"),
        (lambda c: c.table(estimand="signed_eror"), ValueError, "Did you mean 'signed_error'"),
        (lambda c: c.decide("A", "B", rope=-0.1), ValueError, "`rope` must be a number >= 0"),
        (lambda c: c.rope_curve([0.1, -1], "A", "B"), ValueError, "`ropes` must be finite and >= 0; 1 of 2"),
        (lambda c: c.rope_curve([0.1, np.nan], "A", "B"), ValueError, "`ropes` must be finite"),
        (lambda c: c.draws(lambda bins: bins.gap), TypeError, r"one number per draw, .* of shape \(200, 4\)"),
        (lambda c: c.summary(95), ValueError, "Percent"),
    ],
)
def test_what_cannot_be_asked_is_refused(real, ask, error, said):
    with pytest.raises(error, match=said):
        ask(real)


# --- sentence and table have one sign


BETTER_LAST = {
    "worse": [0.08, 0.09, 0.07, 0.08],
    "middle": [0.05, 0.05, 0.06, 0.05],
    "better": [0.01, 0.02, 0.02, 0.01],
}


@pytest.mark.parametrize("names", [("worse", "better"), ("better", "worse"), ("worse", "middle", "better")])
def test_the_table_is_oriented_as_the_sentence(names, comparison_of):
    made = comparison_of({name: BETTER_LAST[name] for name in names})
    better, other = "better", "middle" if "middle" in names else "worse"
    one, two = names if len(names) == 2 else (better, other)  # two keep their order, three are listed from the best
    mean = np.mean(np.subtract(BETTER_LAST[one], BETTER_LAST[two]))
    said = f"better is better calibrated than {other} (ECE of {one} minus that of {two}: {mean:.3f}"
    assert said in " ".join(str(made).split())
    first = made.sheet().rows[0]
    assert first[:2] == [f"{one} - {two}", f"{mean:.4f}"]
    assert first[-3:] == (["1.00", "0.00", "0.00"] if one == better else ["0.00", "0.00", "1.00"])
    row = made.table()[0]
    assert (row["first"], row["second"]) == (one, two)
    assert row["mean"] == pytest.approx(mean)
    assert len(made.table()) == len(names) * (len(names) - 1) / 2
    # classifiers that are passed by name keep their order
    assert made.difference("worse", "better").mean() == pytest.approx(np.mean(BETTER_LAST["worse"]) - 0.015)
    assert made.names == names


def test_many_models_stand_against_the_best(comparison_of):
    made = comparison_of({f"m{i}": [0.1 - 0.01 * i + 0.001 * j for j in range(3)] for i in range(7)})
    assert [row[0] for row in made.sheet().rows] == [f"m6 - m{i}" for i in (5, 4, 3, 2, 1, 0)]
    assert all(row[1].startswith("-0.0") for row in made.sheet().rows)


def test_the_details_explain_the_columns(comparison_of):
    made = comparison_of({"A": [0.01, 0.02], "B": [0.08, 0.09]}, rope=0.03)
    printed = " ".join(str(made.details()).split())
    assert "is the probability that" not in str(made)
    assert (
        "P(1st) is the probability that the first classifier is better: its ECE is smaller by more than 0.03."
        in printed
    )
    assert "P(2nd) is the same for the second classifier." in printed
    assert "P(equal) is the probability that the difference is at most 0.03 (the rope)." in printed


def test_a_difference_of_nearly_zero_has_no_sign(comparison_of):
    made = comparison_of({"A": [0.02, 0.03], "B": [0.02 + 1e-9, 0.03]})
    assert re.search(r"-0\.0+\b", str(made)) is None


def test_an_error_of_events_is_not_called_over_confidence(comparison_of):
    made = comparison_of({"A": [0.01, 0.02], "B": [0.08, 0.09]})
    of_events = {
        name: evaluate_counts(
            BinnedCounts.from_arrays([0, 1, 1, 0], [0.2, 0.4, 0.7, 0.9], target="event"), draws=2, rng=1
        )
        for name in "AB"
    }
    said = Comparison(of_events, None, 0.01, 1)
    for comparison in (made, said):
        comparison._joint["overconfidence"] = registered()["overconfidence"], made._joint["ece"][1]
    assert made.verdict(estimand="overconfidence") == "A has a smaller over-confidence than B"
    assert said.verdict(estimand="overconfidence") == "A has a smaller error of probabilities stated too high than B"


# --- estimands other than the ECE


@pytest.fixture(scope="module")
def one_infinite():
    """Three classifiers on the same rows; C states 0 for an event that occurred."""
    rng = np.random.default_rng(8)
    p = rng.uniform(0.05, 0.95, 400)
    y = rng.random(400) < p
    certain = p.copy()
    certain[np.flatnonzero(y)[0]] = 0.0
    y_prob = {"A": p, "B": np.clip(p + 0.1, 0, 1 - 1e-6), "C": certain}
    return y, y_prob, compare(y, y_prob, draws=300, rng=2)


def test_the_specification_names_the_estimand_that_is_compared(one_infinite):
    comparison = one_infinite[2]
    assert ": event ECE, 15 equal-width bins" in comparison.spec == comparison.specification()
    assert ": event Brier score, 15 equal-width bins" in comparison.specification(estimand="brier_score")
    assert ": event E90 of bins, 15" in comparison.specification(estimand="e90_bins")


def test_an_infinite_loss_concerns_only_its_classifier(one_infinite):
    y, y_prob, comparison = one_infinite
    with pytest.raises(ValueError, match=r"^classifier 'C': the log score is infinite.*difference\('A', 'B'"):
        comparison.draws("log_score")
    with pytest.raises(ValueError, match=r"^classifier 'C': the log score is infinite"):
        comparison.difference("A", "C", "log_score")
    difference = comparison.difference("A", "B", "log_score")
    # the mean difference of the losses of the rows, which is the mean of its Student t posterior
    losses = [-np.log(np.where(y, y_prob[name], 1 - y_prob[name])) for name in "AB"]
    error = (losses[0] - losses[1]).std(ddof=1) / 20
    assert difference.mean() == pytest.approx((losses[0] - losses[1]).mean(), abs=4 * error / np.sqrt(300))
    assert difference.sd() == pytest.approx(error, rel=0.2)
    np.testing.assert_array_equal(comparison.difference("B", "A", "log_score").values, -difference.values)
    decided = comparison.decide("A", "B", rope=0, estimand="log_score")
    assert decided["p_left"] == (difference.values < 0).mean()
    assert comparison.rope_curve([1.0], "A", "B", "log_score") == 1.0
    # without infinite losses, a pair has the draws of all
    np.testing.assert_array_equal(
        comparison.difference("A", "C", "brier_score").values,
        comparison.draws("brier_score").values[:, 0] - comparison.draws("brier_score").values[:, 2],
    )


def test_groups_of_finite_loss_are_compared_although_another_has_an_infinite_one():
    p = np.array([0.2, 0.8, 0.3, 0.6, 0.0, 0.5])
    groups = evaluate([0, 1, 1, 0, 1, 1], p, by=["a", "a", "b", "b", "c", "c"], draws=50, rng=1)
    values = groups.difference("a", "b", "log_score").values
    np.testing.assert_array_equal(values, groups["a"].log_score.values - groups["b"].log_score.values)
    with pytest.raises(ValueError, match="the log score is infinite"):
        groups.difference("a", "c", "log_score")


def test_draws_of_two_estimands_do_not_share_their_order():
    """The AUC does not depend on the draws of the bins. |r| of 1000 independent pairs exceeds 0.13 in 4 of 100 000."""
    rng = np.random.default_rng(4)
    p = rng.random(600)
    y = rng.random(600) < p
    comparison = compare(y, {"A": p, "B": rng.random(600)}, draws=1000, rng=3)
    for name in ("auc", "signed_error", "brier_score"):
        for column in range(2):
            pair = np.stack([comparison.draws("ece").values[:, column], comparison.draws(name).values[:, column]])
            assert abs(np.corrcoef(pair.argsort(axis=1).argsort(axis=1))[0, 1]) < 0.13


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("roc_auc", "The Area Under the ROC Curve (AUC) is `result[classifier].auc`, and"),
        ("p_bset", "Did you mean 'p_best'"),
    ],
)
def test_an_unknown_attribute_names_the_right_one(real, name, said):
    with pytest.raises(AttributeError) as caught:
        getattr(real, name)
    assert said in str(caught.value)


# --- other estimands


@pytest.mark.parametrize(("estimand", "words"), [("brier_score", "Brier score is smaller"), ("auc", "AUC is larger")])
def test_the_latex_table_of_an_estimand(estimand, words):
    rng = np.random.default_rng(1)
    p = {name: rng.random(80) for name in "AB"}
    found = compare(rng.random(80) < p["A"], p, draws=200, rng=1)
    text = found.to_latex(estimand=estimand)
    (row,) = found.table(estimand=estimand)
    assert f"{abs(row['mean']):.4f}" in text
    assert f"its {words} by more than 0.01" in text
    assert found.specification(estimand=estimand).partition(",")[0] in text
    assert "ECE" not in text


def test_unknown_attributes_of_comparisons_name_the_difference():
    rng = np.random.default_rng(1)
    p = rng.random((2, 60))
    y = rng.random(60) < p[0]
    event = compare(y, {"A": p[0], "B": p[1]}, draws=50, rng=1)
    with pytest.raises(AttributeError, match=r'`difference\(a, b, estimand="brier_score"\)`'):
        _ = event.brier
    both = {"A": np.stack([1 - p[0], p[0]], axis=1), "B": np.stack([1 - p[1], p[1]], axis=1)}
    matrices = compare(y.astype(int), both, draws=50, rng=1)
    for name in ("brier_score", "log_loss", "roc_auc"):
        with pytest.raises(AttributeError, match=r"cannot be compared under .*Use `bayescal.scores.compare`") as caught:
            getattr(matrices, name)
        assert "result[" not in str(caught.value)
    assert "top-label top-label" not in matrices.specification(estimand="brier_score")
    assert "top-label Brier score" in matrices.specification(estimand="brier_score")


# --- the table of classifiers


@pytest.fixture(scope="module")
def wine():
    data = bc.datasets.load_wine()
    return data, bc.compare(data.y_true, data.y_prob, draws=600, rng=1)


def test_one_row_of_measures_per_classifier():
    cancer = bc.datasets.load_breast_cancer()
    made = bc.compare(cancer.y_true, cancer.y_prob, draws=600, rng=1)
    found = made.models(0.9)
    assert isinstance(found, pd.DataFrame)
    assert (found.index.name, tuple(found.index)) == ("classifier", made.names)
    quantities = ("ece", "brier_score", "auc")
    assert list(found) == [f"{name}{end}" for name in quantities for end in ("", "_low", "_high")]
    for name in quantities:
        rows = made.each(0.9, estimand=name)
        assert list(found[name]) == [row["mean"] for row in rows]
        assert list(found[f"{name}_low"]) == [row["low"] for row in rows]
        assert list(found[f"{name}_high"]) == [row["high"] for row in rows]
    for name, p in cancer.y_prob.items():  # observed values lie in wide intervals
        assert (
            found.loc[name, "brier_score_low"] < np.mean((p - cancer.y_true) ** 2) < found.loc[name, "brier_score_high"]
        )
    with pytest.raises(ValueError, match="`prob`"):
        made.models(1)


def test_accuracy_is_that_of_predictions_that_are_right_or_wrong(wine):
    data, made = wine
    found = made.models()
    assert list(found) == [f"{name}{end}" for name in ("ece", "accuracy") for end in ("", "_low", "_high")]
    for name, p in data.y_prob.items():
        right = float(np.mean(p.argmax(axis=1) == data.y_true))
        assert found.loc[name, "accuracy_low"] < right < found.loc[name, "accuracy_high"] <= 1
        posterior = beta(right * len(p) + 0.5, (1 - right) * len(p) + 0.5)
        error = posterior.std() / np.sqrt(len(made[name].bin_draws))
        assert found.loc[name, "accuracy"] == pytest.approx(posterior.mean(), abs=4 * error)


@pytest.mark.slow
def test_the_measures_are_the_first_block_of_print_page_and_document(wine):
    _, made = wine
    text, title = str(made), "accuracy [95 %]"
    assert text.index(title) < text.index("difference")
    assert "\n\n\n" not in text
    row = made.models().loc["naive_bayes"]
    cell = f"{row['accuracy']:.4f} [{row['accuracy_low']:.4f}, {row['accuracy_high']:.4f}]"
    assert cell in text
    page = made.to_html()
    assert page.index(title) < page.index("<figure") < page.index("<h2>Differences")
    assert cell in page
    assert made._repr_html_().index(title) < made._repr_html_().index("P(equal)")
    document = json.loads(made.to_json())
    keys = list(document)
    assert keys.index("models") < keys.index("differences")
    assert document["models"] == made.models().reset_index().to_dict("records")


def test_measures_of_groups_and_of_survival_models():
    rng = np.random.default_rng(1)
    p = rng.random(400)
    y = rng.random(400) < p
    groups = bc.evaluate(y, p, by=np.repeat(["a", "b"], 200), draws=200, rng=1).compare()
    assert groups.models().index.name == "group"
    assert "auc" in groups.models()
    models = bc.compare_survival(
        rng.exponential(size=400), y, {"A": p, "B": p**2}, horizon=1, draws=200, rng=1
    ).models()
    assert (models.index.name, list(models.index)) == ("model", ["A", "B"])
