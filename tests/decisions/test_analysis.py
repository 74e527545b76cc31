"""Decision curves: definitions within a draw, decisions between strategies, counts, printing, and refusals."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.decisions.from_draws import decide, share_treated

T = np.array([0.1, 0.2, 0.5])


def rows(n=400, *, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    return (rng.random(n) < p).astype(int), {"new": p, "old": np.clip(p + 0.2 * rng.standard_normal(n), 0, 1)}


Y, P = rows()
ONE = bc.net_benefit(Y, P["new"], T, rng=1)
TWO = bc.net_benefit(Y, P, T, rng=1)


def net_benefit(y, p, t, w=None):
    """Vickers and Elkin (2006)."""
    w = np.ones(len(y)) if w is None else w
    treated = p >= t
    return (w * treated * (np.where(y == 1, 1.0, -t / (1 - t)))).sum() / w.sum()


# --- definitions


@pytest.mark.parametrize("weighted", [False, True])
def test_observed_values_by_definition(weighted):
    w = np.random.default_rng(2).exponential(size=len(Y)) if weighted else None
    found = bc.net_benefit(Y, P, T, weights=w, rng=1).observed
    for name, p in [*P.items(), ("treat all", np.ones(len(Y)))]:
        np.testing.assert_allclose(found[name], [net_benefit(Y, p, t, w) for t in T], rtol=1e-12)


def test_relations_within_each_draw():
    odds = T / (1 - T)
    model, every = TWO.net_benefit["new"].values, TWO.treat_all.values
    share = every + odds * (1 - TWO.prevalence_draws)  # treating all: prevalence - odds (1 - prevalence)
    np.testing.assert_allclose(share, TWO.prevalence_draws * np.ones(len(T)), rtol=1e-12)
    np.testing.assert_allclose(TWO.standardized["new"].values * TWO.prevalence_draws, model, atol=1e-12)
    np.testing.assert_allclose(TWO.avoided["new"].values, (model - every) / odds, atol=1e-12)
    np.testing.assert_allclose(TWO.difference("new", "old").values, model - TWO.net_benefit["old"].values)
    np.testing.assert_allclose(TWO.difference("new", "treat all").values, model - every)
    np.testing.assert_array_equal(TWO.difference("new", "treat none").values, model)
    assert (TWO.standardized["new"].values <= 1).all()


def test_bounds_and_order_in_each_draw():
    """A net benefit is at most the prevalence; fewer rows are treated at higher thresholds; treating all falls."""
    fine = bc.net_benefit(Y, P["new"], rng=1)
    values = fine.net_benefit["model"].values
    assert values.shape == (4000, 99)
    assert (values <= fine.prevalence_draws + 1e-12).all()
    treated = share_treated(fine.posterior.sample(4000, rng=fine.draws_seed)).sum(axis=2)
    assert (np.diff(treated, axis=-1) <= 0).all()
    assert (np.diff(fine.treat_all.values, axis=1) < 0).all()
    # of a model that treats all, draws are those of treating all
    every = bc.net_benefit(Y, np.ones(len(Y)), pseudo_rows=0.1, rng=1)
    near = every.net_benefit["model"].mean() - every.treat_all.mean()
    assert np.abs(near[:50]).max() < 0.1 / len(Y)


def test_draws_agree_with_exact_moments(close_to, mcse):
    for name in TWO.models:
        drawn, (mean, sd) = TWO.net_benefit[name].values, TWO.moments[name]
        close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
        close_to(drawn.std(axis=0, ddof=1), sd, mcse.sd(drawn))


def test_harm_is_subtracted():
    harmed = bc.net_benefit(Y, P, T, harm={"new": 0.01}, rng=1)
    np.testing.assert_allclose(harmed.net_benefit["new"].values, TWO.net_benefit["new"].values - 0.01)
    np.testing.assert_array_equal(harmed.net_benefit["old"].values, TWO.net_benefit["old"].values)
    np.testing.assert_allclose(harmed.moments["new"][0], TWO.moments["new"][0] - 0.01)
    np.testing.assert_allclose(harmed.observed["new"], TWO.observed["new"] - 0.01)
    assert "harm 0.01 (new)" in harmed.spec
    both = bc.net_benefit(Y, P, T, harm=0.02, rng=1)
    np.testing.assert_allclose(both.net_benefit["old"].values, TWO.net_benefit["old"].values - 0.02)


def test_known_prevalence_undoes_the_sampling_of_cases(close_to):
    """A sample of half cases, with the prevalence of the population, gives the net benefit of the population."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 9, 200_000)
    y = rng.random(len(p)) < p
    cases, controls = np.flatnonzero(y)[:4000], np.flatnonzero(~y)[:4000]
    chosen = np.concatenate([cases, controls])
    found = bc.net_benefit(y[chosen], p[chosen], T, prevalence=float(y.mean()), rng=1)
    mean, sd = found.moments["model"]
    close_to(mean, [net_benefit(y, p, t) for t in T], sd)
    assert (found.prevalence_draws == y.mean()).all()
    np.testing.assert_allclose(found.treat_all.values, y.mean() - T / (1 - T) * (1 - y.mean()) * np.ones((4000, 1)))
    assert f"prevalence {y.mean():g}" in found.spec
    # weights of the outcome change nothing
    weighted = bc.net_benefit(y[chosen], p[chosen], T, prevalence=float(y.mean()), weights=1.0 + 9 * ~y[chosen], rng=1)
    np.testing.assert_allclose(weighted.net_benefit["model"].values, found.net_benefit["model"].values, rtol=1e-9)
    np.testing.assert_allclose(weighted.observed["model"], found.observed["model"])


def test_weights_of_one_change_nothing_and_their_scale_does_not_matter():
    for weights in (np.ones(len(Y)), np.full(len(Y), 1e200)):
        found = bc.net_benefit(Y, P, T, weights=weights, rng=1)
        np.testing.assert_allclose(found.net_benefit["new"].values, TWO.net_benefit["new"].values, rtol=1e-9)


# --- decisions


def test_decisions_by_hand():
    """Two draws, one threshold: treating all and model a tie in the first, model b is the best in the second."""
    models = np.array([[[0.2], [0.1]], [[0.0], [0.4]]])
    found = decide(models, np.array([[0.2], [-0.3]]))
    np.testing.assert_array_equal(found.p_useful, [[0.0], [0.5]])  # a ties with treating all, then with none
    np.testing.assert_array_equal(found.p_best, [[0.0], [0.25], [0.25], [0.5]])
    # E max = (0.2 + 0.4) / 2; max E = that of b, (0.1 + 0.4) / 2
    np.testing.assert_allclose(found.evpi, [0.3 - 0.25])


def test_probabilities_by_name():
    assert list(TWO.p_best) == ["treat none", "treat all", "new", "old"]
    np.testing.assert_allclose(sum(TWO.p_best.values()), 1)
    useful = TWO.net_benefit["new"].values > np.maximum(TWO.treat_all.values, 0)
    np.testing.assert_array_equal(TWO.p_useful["new"], useful.mean(axis=0))
    assert (TWO.evpi >= 0).all()
    assert TWO.evpi.shape == (3,)


# --- counts and inputs


def test_counts_give_the_same_result():
    counts = sum(
        bc.ThresholdCounts.from_arrays(Y[part], {name: p[part] for name, p in P.items()})
        for part in (slice(0, 150), slice(150, None))
    )
    found = bc.net_benefit_counts(counts, T, rng=1)
    assert found.table() == TWO.table()
    pair = bc.PairedCounts.from_arrays(Y, P["new"], Y, P["old"], bins=10, target="event")
    paired = bc.net_benefit_counts(pair, T, rng=1)
    np.testing.assert_array_equal(paired.net_benefit["first"].values, TWO.net_benefit["new"].values)


def test_a_file_in_blocks(tmp_path):
    path = tmp_path / "scores.csv"
    pd.DataFrame({"y": Y, "p": P["new"]}).to_csv(path, index=False)
    counts = bc.count_file(path, label="y", prob="p", bins=100)
    assert bc.net_benefit_counts(counts, T, rng=1).table() == ONE.table()


def test_a_data_frame_has_one_column_per_model():
    assert bc.net_benefit(Y, pd.DataFrame(P), T, rng=1).table() == TWO.table()
    assert bc.net_benefit(pd.Series(Y), pd.Series(P["new"]), T, rng=1).table() == ONE.table()


def test_labels_and_logits():
    names = np.where(Y == 1, "ill", "well")
    logits = np.log(P["new"] / (1 - P["new"]))
    found = bc.net_benefit(names, logits, T, classes=("well", "ill"), logits=True, rng=1)
    assert found.observed["model"] == pytest.approx(ONE.observed["model"])


def test_a_hundred_million_rows():
    counts = bc.ThresholdCounts.from_arrays(Y, P, T)
    for _ in range(18):
        counts = counts + counts
    found = bc.net_benefit_counts(counts, rng=1)
    assert found.counts.n_rows == 400 * 2**18
    np.testing.assert_allclose(found.moments["new"][0], TWO.observed["new"], atol=1e-6)


def test_without_rows_the_result_is_the_prior():
    found = bc.net_benefit_counts(bc.ThresholdCounts.empty(T), rng=1)
    # 0.45 of the scores of the prior are 1, and 0.1 are uniform
    np.testing.assert_allclose(found.moments["model"][0], (0.45 + 0.1 * (1 - T)) / 2 * (1 - T / (1 - T)))
    assert np.isnan(found.observed["model"]).all()


def test_reproducible():
    again = bc.net_benefit(Y, P, T, rng=1)
    np.testing.assert_array_equal(again.net_benefit["new"].values, TWO.net_benefit["new"].values)
    assert (bc.net_benefit(Y, P, T, rng=2).net_benefit["new"].values != TWO.net_benefit["new"].values).all()


# --- refusals


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y_true": [0, 2]}, ValueError, "`y_true` must be binary labels, 0 or 1; 1 of 2"),
        (
            {"y_prob": [0.2, 1.7]},
            ValueError,
            r"`y_prob` must lie in \[0, 1\]; 1 of 2 values does not, first at index 1",
        ),
        ({"y_prob": {"a": [0.2, 0.7], "b": [0.2, np.nan]}}, ValueError, r"model 'b': `y_prob` must be complete"),
        ({"y_prob": [0.2]}, ValueError, "same length"),
        ({"y_prob": [[0.2, 0.8], [0.3, 0.7]]}, ValueError, r"For two classes pass `y_prob\[:, 1\]`"),
        ({"thresholds": [0.5, 0.2]}, ValueError, "strictly increasing"),
        ({"pseudo_rows": 0}, ValueError, "`pseudo_rows` must be finite and > 0"),
        ({"pseudo_rows": 1e3}, ValueError, "`pseudo_rows` must give numbers of rows in"),
        ({"prevalence": 1.2}, ValueError, "`prevalence` must lie strictly between 0 and 1"),
        ({"prevalence": "10%"}, TypeError, r"`prevalence`.*Write 0.1"),
        ({"harm": -0.1}, ValueError, r"`harm` must lie in \[0, 1\)"),
        ({"harm": {"modle": 0.1}}, ValueError, r"`harm` must name models; 'modle'.*Did you mean 'model'"),
        ({"harm": "0.1"}, TypeError, "`harm` must be a number"),
        ({"draws": 1}, ValueError, "`draws` must be an integer >= 2"),
        ({"rng": "seed"}, TypeError, "`rng`"),
        ({"y_prob": {}}, ValueError, "at least one model"),
    ],
)
def test_arguments_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        bc.net_benefit(**({"y_true": [0, 1], "y_prob": [0.2, 0.7], "thresholds": [0.2, 0.5]} | arguments))


def test_case_control_weights_need_the_prevalence():
    with pytest.raises(ValueError, match=r"must not depend on the outcome alone.*`prevalence=0.1`"):
        bc.net_benefit(Y, P, T, weights=np.where(Y == 1, 0.2, 1.0))


def test_other_names_of_arguments():
    with pytest.raises(TypeError, match="Here it is called 'thresholds'"):
        bc.net_benefit(Y, P, threshold=0.2)
    with pytest.raises(TypeError, match=r"takes no 'prob'\. Here it is called 'y_prob'"):
        bc.net_benefit(Y, prob=P)
    with pytest.raises(TypeError, match=r"`net_benefit` takes no 'bye'\. Did you mean 'by'\?"):
        bc.net_benefit(Y, P, bye=Y)
    with pytest.raises(ValueError, match="`thresholds` is empty; at least one threshold is needed"):
        bc.net_benefit(Y, P, [])
    with pytest.raises(TypeError, match="Here it is called 'weights'"):
        bc.net_benefit(Y, P, T, importance_weights=Y)


def test_strategies_that_do_not_exist():
    with pytest.raises(ValueError, match=r"`second` must be one of .*Did you mean 'old'"):
        TWO.difference("new", "odl")
    with pytest.raises(TypeError, match="must be two of the strategies"):
        ONE.difference()
    assert (TWO.difference().values == TWO.difference("new", "old").values).all()


def test_draws_of_separate_results_do_not_combine():
    """Independent draws of two models on the same rows would give a difference with a wrong interval."""
    new, old = (bc.net_benefit(Y, P[name], T, rng=1).net_benefit["model"] for name in ("new", "old"))
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = new - old
    for other in (
        bc.net_benefit(1 - Y, P["new"], T, rng=1),
        bc.net_benefit(Y, P["new"], T, rng=2),
        bc.net_benefit(Y, P["new"], T, pseudo_rows=1, rng=1),
        bc.net_benefit(Y, P["new"], T, prevalence=0.2, rng=1),
        bc.net_benefit(Y, P["new"], T + 0.01, rng=1),
    ):
        with pytest.raises(TypeError, match="come from the same evaluation"):
            _ = new - other.net_benefit["model"]
    # the same draws: a harm is subtracted from them
    harmed = bc.net_benefit(Y, P["new"], T, harm=0.01, rng=1).net_benefit["model"]
    np.testing.assert_allclose((new - harmed).values, 0.01)


# --- printing


def test_table_and_frame():
    row = TWO.table()[0]
    assert list(row) == [
        *("model", "threshold", "mean", "sd", "low", "high", "observed", "treat_all", "p_useful", "p_best"),
    ]
    assert len(TWO.table()) == 6
    assert TWO.to_frame().loc[("new", 0.2), "observed"] == pytest.approx(net_benefit(Y, P["new"], 0.2))
    assert TWO.table(0.5)[0]["low"] > row["low"]


def test_sentence_of_one_threshold():
    found = bc.net_benefit(Y, P["new"], 0.2, rng=1)
    mean, (low, high) = found.moments["model"][0][0], found.net_benefit["model"].interval()
    assert found.sentence().startswith(
        f"At the threshold 0.2, the net benefit of the model is {mean:.3f} (95 % credible interval {low[0]:.3f} to "
        f"{high[0]:.3f}), that of treating all {found.treat_all.mean()[0]:.3f}; the probability"
    )


def test_sentence_of_several_thresholds():
    np.testing.assert_array_equal(TWO.p_useful["new"] >= 0.95, [False, True, True])
    np.testing.assert_array_equal(TWO.p_useful["old"] >= 0.95, [False, False, True])
    assert TWO.sentence().endswith("(probability >= 0.95): new at the thresholds 0.2 to 0.5; old at the threshold 0.5.")
    assert "(probability >= 0.9): new at all 3 thresholds, 0.1 to 0.5; old at" in TWO.sentence(0.9)
    assert ONE.sentence() == (
        "The model has a larger net benefit than treating all and treating none (probability >= 0.95) at the "
        "thresholds 0.2 to 0.5."
    )
    useless = bc.net_benefit([0, 1] * 50, [0.9, 0.1] * 50, [0.3, 0.6], rng=1)
    assert useless.sentence().endswith("(probability >= 0.95) at no threshold.")
    many = bc.net_benefit(Y, {f"model {i}": P["new"] for i in range(7)}, T, draws=100, rng=1)
    assert many.sentence().endswith("; and 2 more in the table.")


def test_a_model_that_treats_nobody_is_not_called_useful():
    """Its net benefit is 0 whatever the outcomes are; the prior, which treats some, is no finding."""
    y = np.repeat([1, 0], [24, 1976])
    constant = bc.net_benefit(y, np.full(2000, 0.012), [0.02, 0.05, 0.1], rng=1)
    assert not constant.observed["model"].any()
    assert constant.p_useful["model"][0] > 0.95
    assert (constant.p_useful["model"] > 0.85).all()
    assert constant.few_rows["model"].all()
    assert constant.sentence().endswith("at no threshold, since all have too few rows on a side.")
    assert [row[-2:] for row in constant.sheet().rows] == [["-", "-"]] * 3
    at_one = bc.net_benefit(y, np.full(2000, 0.012), 0.05, rng=1).sentence()
    assert "too few rows lie on a side of the threshold" in at_one
    # four rows that reach the threshold are too few, five are enough
    for n_above, few in ((4, True), (5, False)):
        found = bc.net_benefit(y, np.repeat([0.5, 0.01], [n_above, 2000 - n_above]), [0.1, 0.3], rng=1)
        assert found.few_rows["model"].tolist() == [few, few]
        assert ("at all 2 thresholds" in found.sentence()) is not few
        assert {row[-2] for row in found.sheet().rows} == {"-" if few else "> 0.99"}


@pytest.mark.parametrize(
    ("t", "n_below", "n_above", "few"),
    [
        (0.01, 299, 2000, True),
        (0.01, 300, 2000, False),
        (0.1, 29, 2000, True),
        (0.1, 30, 2000, False),
        (0.9, 2000, 29, True),
        (0.9, 2000, 30, False),
        (0.5, 5, 100, True),
        (0.5, 6, 6, False),
    ],
)
def test_the_rule_of_three_marks_few_rows(t, n_below, n_above, few):
    """Three rows of the other outcome must be expected on each side of t at a risk of t: 3 / t rows, or 3 / (1 - t)."""
    y = np.arange(n_below + n_above) % 2
    p = np.repeat([t / 2, (1 + t) / 2], [n_below, n_above])
    found = bc.net_benefit(y, p, t, draws=10, rng=1)
    assert found.few_rows["model"].tolist() == [few]
    assert any(remark.startswith("Too few rows") for remark in found.sheet().remarks) is few


def test_rows_without_events_below_a_low_threshold_do_not_show_that_the_model_is_useful():
    """0 events of 15 are compatible with a risk of 0.18 (0.82^15 = 0.05), far above the threshold of 0.01.

    The prior agrees; the posterior says so for any other threshold at which some rows are below.
    """
    rng = np.random.default_rng(1)
    y = np.concatenate([np.zeros(15, int), rng.random(185) < 0.25])
    p = np.concatenate([np.full(15, 0.004), rng.uniform(0.1, 0.5, 185)])
    found = bc.net_benefit(y, p, [0.01, 0.2], rng=1)
    assert found.p_useful["model"][0] < 0.5
    assert "0.01" not in found.sentence()
    assert found.sheet().rows[0][-2:] == ["-", "-"]
    assert "below the threshold at 0.01 (model)" in found.sheet().remarks[0]


@pytest.mark.parametrize(("n_below", "few"), [(6, False), (5, True)])
def test_few_rows_of_case_control_data(n_below, few):
    """With half cases and a prevalence of 0.01, a risk of 0.01 is one of 0.5 in the rows: 6 of them expect 3 events."""
    y = np.arange(206) % 2
    p = np.repeat([0.005, 0.3], [n_below, 206 - n_below])
    options = {"draws": 10, "rng": 1}
    assert bc.net_benefit(y, p, 0.01, prevalence=0.01, **options).few_rows["model"].tolist() == [few]
    assert bc.net_benefit(y, p, 0.01, **options).few_rows["model"].tolist() == [True]


def test_printing_shortens_and_says_so():
    found = bc.net_benefit(Y, P["new"], rng=1)
    text = str(found)
    assert "The table shows 9 of 99 thresholds; `table()` has all." in text
    assert len(found.sheet(whole=True).rows) == 99
    assert "Too few rows reach the threshold at" in text
    assert found.spec == "net benefit of 1 model, 99 thresholds from 0.01 to 0.99, N = 400, prior: 3 pseudo-rows"
    assert "shows" not in str(TWO)


def test_remarks_count_rows():
    y, p = np.array([0, 1] * 20), np.array([0.2, 0.7] * 20)
    remarks = bc.net_benefit(y, p, [0.1, 0.5, 0.9], rng=1).sheet().remarks
    assert any("reach the threshold at 0.9 (model)" in text for text in remarks)
    assert any("below the threshold at 0.1 (model)" in text for text in remarks)
    assert len(bc.net_benefit(y, p, 0.5, rng=1).sheet().remarks) == 0


def test_documents(tmp_path):
    document = json.loads(TWO.to_json())
    assert document["kind"] == "NetBenefit"
    assert len(document["table"]) == 6
    assert document["pseudo_rows"] == 3
    assert document["seeds"] == {"draws": str(TWO.draws_seed)}
    assert [row["threshold"] for row in document["treat_all"]] == T.tolist()
    assert document["evpi"][1]["evpi"] == TWO.evpi[1]
    page = TWO.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "<script>alert" not in bc.net_benefit(Y, {"<script>alert": P["new"]}, T, rng=1)._repr_html_()
    assert r"\begin{table}" in TWO.to_latex()


def test_data_tree():
    tree = TWO.to_datatree()
    assert tree.posterior["net_benefit[new]"].dims == ("chain", "draw", "threshold")
    np.testing.assert_array_equal(tree.posterior.threshold, T)


def test_outcomes_without_rows_are_remarked():
    """All about rows of an outcome that no row has is the prior: 3 pseudo-rows, of which half have each outcome."""
    p = np.random.default_rng(1).random(50)
    found = bc.net_benefit(np.ones(50, int), p, [0.2], prevalence=0.1, rng=1)
    assert any(remark.startswith("No row has outcome 0") for remark in found.sheet().remarks)
    y = (p > 0.5).astype(int)
    assert not any("outcome" in remark for remark in bc.net_benefit(y, p, [0.2], rng=1).sheet().remarks)
    weights = np.where(p >= 0.5, 0.0, 1.0 + p)
    silent = bc.net_benefit(np.arange(50) % 2, p, [0.7], weights=weights, rng=1).sheet().remarks
    assert any(remark.startswith("Too few rows reach the threshold at 0.7") for remark in silent)


@pytest.mark.parametrize(
    ("t", "zeros", "ones", "few"),
    [
        (0.99, 4, 400, [True, False]),  # 99^2 * 4.5 against 400.5
        (0.99, 5, 400, [False, False]),
        (0.5, 0, 400, [False, False]),  # 0.5 of 401 pseudo-counts of the variance
        (0.5, 4, 5, [True, False]),
        (0.01, 400, 4, [False, True]),  # 4.5 against 400.5 / 99^2
        (0.01, 400, 5, [False, False]),
    ],
)
def test_few_treated_rows_that_decide(t, zeros, ones, few):
    """Fewer than 5 treated rows of an outcome, with a tenth of the variance or more."""
    y = np.repeat([0, 1, 0, 1], [zeros, ones, 2000, 2000])
    p = np.repeat([(1 + t) / 2, t / 2], [zeros + ones, 4000])
    found = bc.net_benefit(y, p, t, draws=10, rng=1)
    assert found.few_treated["model"][:, 0].tolist() == few
    said = [remark for remark in found.sheet().remarks if "determine most of the uncertainty" in remark]
    assert len(said) == any(few) * (not found.few_rows["model"][0])
    if said:
        assert said[0].startswith(
            f"Fewer than 5 treated rows with outcome {few.index(True)} determine most of the uncertainty at {t:g}"
        )


def test_few_treated_rows_of_case_control_data():
    """With a prevalence of 0.1, ten treated of 100 events have more variance than three of 10 000 other rows."""
    y = np.repeat([1, 0], [100, 10_000])
    p = np.repeat([0.6, 0.1, 0.6, 0.1], [10, 90, 3, 9997])
    # 0.1^2 10.5 / 100^2 against 0.9^2 3.5 / 10 000^2
    assert not bc.net_benefit(y, p, 0.5, prevalence=0.1, draws=10, rng=1).few_treated["model"].any()
    # at a prevalence of 0.01 the first is a hundred times smaller
    found = bc.net_benefit(y, p, 0.5, prevalence=0.01, draws=10, rng=1).few_treated["model"]
    assert found[:, 0].tolist() == [True, False]


def test_observed_values_in_all_tables():
    by = bc.net_benefit(Y, P["new"], T, by=np.arange(len(Y)) % 2, rng=1)
    place = by.sheet().header.index("observed")
    assert by.sheet().rows[0][place] == f"{by[0].observed['model'][0]:.4f}"
    every = [row["observed"] for row in TWO.treat_all_table()]
    assert every == TWO.observed["treat all"].tolist()
    assert [row["observed"] for row in json.loads(TWO.to_json())["treat_all"]] == every


def test_two_rare_models_differ_where_few_rows_show_it():
    """Six rows reach 0.02 by one model only, and one of them has the event: the interval contains the difference of 0.

    Under a prior with uniform scores, nearly no rows would be treated by the second model only.
    """
    p = np.full(3000, 0.004)
    q = p.copy()
    p[:6] = 0.03
    y = np.zeros(3000, int)
    y[[0, 100, 200, 300]] = 1
    low, high = bc.net_benefit(y, {"a": p, "b": q}, 0.02, rng=1).difference("b", "a").interval()
    assert low[0] < 0 < high[0]


# --- a threshold of 0: every row is treated


def test_at_0_every_model_treats_all_and_the_net_benefit_is_the_prevalence():
    found = bc.net_benefit(Y, P, [0.0, *T], rng=1, draws=500)
    for name in found.models:
        assert np.ptp(found.net_benefit[name].values[:, 0] - found.prevalence_draws[:, 0]) < 1e-12
        assert found.observed[name][0] == pytest.approx(Y.mean(), abs=1e-12)
        assert found.avoided[name].values[:, 0].tolist() == [0.0] * 500
        assert not found.few_rows[name][0]
        assert found.p_useful[name][0] == 0
        # the other thresholds have the posterior that they have without 0
        for one, other in zip(found.moments[name], TWO.moments[name], strict=True):
            np.testing.assert_allclose(one[1:], other, rtol=1e-12)
        np.testing.assert_array_equal(found.observed[name][1:], TWO.observed[name])
    assert [float(found.p_best[name][0]) for name in found.strategies] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    # 3 pseudo-rows with an event probability of 1/2
    assert found.moments["new"][0][0] == pytest.approx((Y.sum() + 1.5) / (len(Y) + 3))
    assert found.treat_all_table()[0]["mean"] == pytest.approx((Y.sum() + 1.5) / (len(Y) + 3))


@pytest.mark.parametrize("more", [{}, {"cluster": np.arange(len(Y)) // 4}, {"prevalence": 0.1}])
def test_a_threshold_of_0_alone_and_with_options(more):
    found = bc.net_benefit(Y, P["new"], 0, rng=1, draws=300, **more)
    if "prevalence" in more:
        assert found.net_benefit["model"].mean() == pytest.approx([0.1])
    else:
        assert found.net_benefit["model"].mean() == pytest.approx([Y.mean()], abs=0.01)
    assert found.sentence().startswith("At the threshold 0, the net benefit of the model is 0.")
    assert "0" in str(found)


def test_a_threshold_of_0_in_counts_files_documents_and_pictures(tmp_path):
    every = [0.0, *T]
    counts = bc.ThresholdCounts.from_arrays(Y, P, every)
    assert (counts.cells[:, :-1] > 0).all()
    frame = pd.DataFrame({"y": Y, **P})
    assert bc.ThresholdCounts.from_frame(frame, every, outcome="y", confidence=list(P)) == counts
    assert bc.ThresholdCounts.from_arrays(Y, P, T).at(every) == counts
    assert counts.at(every) == counts
    assert counts.at(T) == bc.ThresholdCounts.from_arrays(Y, P, T)
    bc.save_counts(counts, tmp_path / "counts.json")
    assert bc.load_counts(tmp_path / "counts.json") == counts
    document = json.loads((tmp_path / "counts.json").read_text())
    document["cells"][0][0] = 0
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="must be at least 1 for each model"):
        bc.load_counts(tmp_path / "wrong.json")
    binned = bc.BinnedCounts.from_arrays(Y, P["new"], bins=10, target="event")
    assert bc.ThresholdCounts.from_bins(binned, [0, 0.5]) == bc.ThresholdCounts.from_arrays(Y, P["new"], [0, 0.5])
    found = bc.net_benefit_counts(counts, rng=1, draws=200)
    assert json.loads(found.to_json())["table"][0]["threshold"] == 0
    ax = bc.plot_decision_curve(found)
    assert ax.get_xlim()[0] == 0
    assert all(np.isfinite(line.get_ydata()[0]) for line in ax.lines)
