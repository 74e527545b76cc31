"""SelectivePrediction: curves, AUGRC and thresholds against sorted rows, direct loops and other formulas."""

import json

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import roc_auc_score

import bayescal as bc
from bayescal.decisions.selective_result import SelectivePrediction
from bayescal.estimands.selective import last_confidence


def generated(seed, n=1000, ties=False):
    rng = np.random.default_rng(seed)
    c = rng.beta(3, 1, n)
    c = np.round(c, 1) if ties else c
    return rng.random(n) < c, c


def selective(z, c, draws=400, **options):
    return bc.decisions.selective(z, c, target="confidence", draws=draws, rng=1, **options)


ONE = selective(*generated(1))
Z, A = generated(2, 500)
TWO = selective(Z, {"a": A, "b": A**0.5 * np.random.default_rng(1).random(500)})


# --- curves


@pytest.mark.parametrize("n", [100, 200, 1000])
def test_the_observed_risk_is_that_of_the_sorted_rows(n):
    z, c = generated(3, n)
    found = selective(z, c)
    wrong = np.cumsum(~z[np.argsort(-c)])
    kept = np.round(found.shares * n).astype(int)
    np.testing.assert_allclose(found.observed["model"], wrong[kept - 1] / kept, atol=1e-12)
    ordered = np.sort(c)[::-1]
    at = last_confidence(found.counts["model"], found.shares)
    np.testing.assert_array_equal(at, ordered[kept - 1])  # also with more rows than cells


def test_many_rows_with_one_confidence_are_named():
    z, c = generated(3, 1000)
    c = np.where(np.arange(1000) < 140, 0.75, c)
    texts = selective(z, {"net": c}).remarks
    named = "14 % of the predictions by net have one confidence, 0.7500: their order is taken as random"
    assert [named in each for each in texts].count(True) == 1, texts
    assert not any("one confidence" in each for each in selective(z, generated(3, 1000)[1]).remarks)
    assert not any("one confidence" in each for each in selective([1, 0, 1], [0.9, 0.8, 0.7]).remarks)


@pytest.mark.parametrize("seed", range(20))
def test_the_augrc_is_that_of_accuracy_and_auc(seed):
    z, c = generated(seed, 100 + 50 * seed, ties=bool(seed % 2))
    accuracy = z.mean()
    expected = accuracy * (1 - accuracy) * (1 - roc_auc_score(z, c)) + (1 - accuracy) ** 2 / 2
    assert selective(z, c, draws=2).observed_augrc["model"] == pytest.approx(expected, abs=1e-9)


def test_shares_keep_at_least_one_row():
    for n, smallest in ((1, 1.0), (4, 0.25), (30, 0.04), (200, 0.01)):
        z, c = generated(4, n)
        assert selective(z, c).shares[0] == pytest.approx(smallest)
    weights = np.append(np.full(99, 1e-9), [1.0, 1.0])  # two effective rows
    assert selective(np.arange(101) % 2, np.arange(101) / 200, weights=weights).shares[0] == pytest.approx(0.5)


def test_draws_are_joint():
    """The risk of all rows is wrong / all in each draw, and the area lies within its bounds given this risk."""
    wrong = ONE.risk["model"].values[:, -1]
    np.testing.assert_allclose(ONE.selections["model"].wrong[:, -1], wrong, rtol=1e-12)
    area = ONE.augrc["model"].values
    assert ((area >= wrong**2 / 2) & (area <= wrong - wrong**2 / 2)).all()
    difference = TWO.augrc["a"] - TWO.augrc["b"]
    np.testing.assert_array_equal(difference.values, TWO.augrc["a"].values - TWO.augrc["b"].values)
    np.testing.assert_array_equal(TWO.difference().values, -TWO.difference("b", "a").values)


def test_the_largest_share_has_the_risk_in_each_draw():
    share = ONE.largest_share(0.1)["model"].values
    curve = ONE.risk["model"].values
    for i in range(50):
        assert (curve[i, ONE.shares > share[i] + 1e-9] > 0.1).all()
        within = np.interp(share[i], ONE.shares, curve[i] * ONE.shares) / max(share[i], 1e-9)
        assert within == pytest.approx(0.1, abs=0.02) or share[i] < 0.02


# --- thresholds


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_kept_rows_have_at_least_the_confidence(risk, ties, seed):
    z, c = generated(seed, 1500, ties)
    limit = selective(z, c).threshold(risk)
    for confidence, share in ((limit.confidence, limit.share), (limit.conformal_confidence, limit.conformal_share)):
        assert share == pytest.approx(np.mean(c >= confidence), abs=1e-12)
    kept = c >= limit.confidence
    if kept.any():
        assert limit.observed_risk == pytest.approx(np.mean(~z[kept]), abs=1e-12)
        assert limit.observed_risk < risk


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kept_rows_of_a_fine_grid(dtype, monkeypatch):
    """Many rows have confidences at which cells begin, such as 3/4, which belong to the cell below."""
    monkeypatch.setattr("bayescal.stats.ranks.EXACT_ROWS", 1000)
    rng = np.random.default_rng(5)
    c = rng.choice([*np.arange(512, 1024) / 1024, *rng.random(400)], 20_000).astype(dtype)
    z = rng.random(20_000) < c
    found = selective(z, c, draws=100)
    assert found.counts["model"].ranks.grid == "fine"
    for risk in np.linspace(0.02, 0.3, 40):
        limit = found.threshold(risk)
        kept = c >= limit.confidence
        assert limit.share == pytest.approx(kept.mean(), abs=1e-12)
        assert not kept.any() or limit.observed_risk == pytest.approx(np.mean(~z[kept]), abs=1e-12)


@pytest.mark.parametrize("n", [20, 24, 30, 40, 60, 80])
def test_rows_of_one_confidence_are_kept_if_their_risk_is_met(n):
    """One of n rows is wrong, a wrong row is added, and half a row of each outcome: P(Beta(2.5, n - 0.5) < 0.1).

    It is at least 0.015 from 0.9, or 7 sds of 20 000 draws.
    """
    probability = beta(2.5, n - 0.5).cdf(0.1)
    assert abs(probability - 0.9) > 0.015
    limit = selective(np.arange(n) > 0, np.full(n, 0.9), draws=20_000).threshold(0.1)
    assert limit.share == (probability > 0.9)


@pytest.mark.parametrize("n", [20, 24, 30, 300])
def test_an_upper_cell_is_kept_if_its_risk_is_met(n):
    """Below it, all rows are wrong. One of its n rows is wrong: Beta(2, n - 1), the limit of Clopper and Pearson."""
    z, c = np.append(np.arange(n) > 0, np.zeros(n, bool)), np.repeat([0.9, 0.1], n)
    limit = selective(z, c, draws=4000).threshold(0.1)
    assert limit.share == (0.5 if beta(2, n - 1).cdf(0.1) > 0.9 else 0)
    assert limit.confidence == (0.9 if n == 300 else np.inf)


def test_a_risk_that_cannot_be_met_keeps_nothing():
    limit = ONE.threshold(1e-5)
    assert (limit.confidence, limit.share, limit.conformal_confidence, limit.conformal_share) == (np.inf, 0, np.inf, 0)
    assert np.isnan(limit.observed_risk)
    assert (limit.risk, limit.prob) == (1e-5, 0.9)


def conformal(z, c, risk, prob):
    """Test shares 0.05, 0.1, ... from the first one with enough rows on, until one fails."""
    z, c = z[np.argsort(-c)], np.sort(c)[::-1]
    confidence, share = np.inf, 0.0
    for tested in np.arange(1, 21) / 20:
        # whole groups of equal confidences
        ends = [
            i + 1 for i in range(len(c)) if (i + 1 == len(c) or c[i + 1] < c[i]) and i + 1 <= tested * len(c) + 1e-9
        ]
        if not ends or (1 - risk) ** ends[-1] > 1 - prob:
            continue
        kept = ends[-1]
        wrong = int((~z[:kept]).sum())
        if wrong == kept or beta.ppf(prob, wrong + 1, kept - wrong) > risk:
            break
        confidence, share = c[kept - 1], kept / len(c)
    return confidence, share


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("risk", [0.02, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_the_conformal_answer_is_that_of_a_loop(risk, ties, seed):
    z, c = generated(seed, 500, ties)
    for prob in (0.5, 0.9, 0.99):
        limit = selective(z, c, draws=2).threshold(risk, prob)
        assert (limit.conformal_confidence, limit.conformal_share) == pytest.approx(conformal(z, c, risk, prob))


def test_weights_and_clusters_have_no_conformal_answer():
    z, c = generated(1)
    for options in ({"weights": 1 + c}, {"cluster": np.arange(1000) // 2}):
        limit = selective(z, c, **options).threshold(0.1)
        assert np.isnan([limit.conformal_confidence, limit.conformal_share]).all()
        assert 0 < limit.share < 1
    limit = selective(z, c, weights=np.full(1000, 2.0)).threshold(0.1)
    assert limit == ONE.threshold(0.1)


def test_a_larger_probability_keeps_fewer():
    shares = [ONE.threshold(0.1, prob).share for prob in (0.5, 0.8, 0.95, 0.99)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]


# --- names


def test_names_of_classifiers():
    assert ONE.classifiers == ("model",)
    assert TWO.classifiers == ("a", "b")
    assert TWO.threshold(0.2, classifier="a").share > 0
    for call, error, said in (
        (lambda: TWO.threshold(0.1), TypeError, r"`classifier` must be one of \['a', 'b'\]"),
        (lambda: TWO.threshold(0.1, classifier="c"), ValueError, "`classifier` must be one of"),
        (lambda: TWO.difference("a", "c"), ValueError, "`second` must be one of"),
        (lambda: TWO.difference("a"), TypeError, r"two of the classifiers \['a', 'b'\]"),
        (lambda: ONE.difference(), ValueError, "a difference needs two classifiers: pass `selective` a mapping"),
        (lambda: ONE.threshold(10), ValueError, "`risk` must lie strictly between 0 and 1, not 10. Percent"),
        (lambda: ONE.threshold(0.1, 1), ValueError, "`prob` must lie strictly between 0 and 1"),
        (lambda: ONE.largest_share(0), ValueError, "`risk` must lie strictly between 0 and 1"),
        (lambda: ONE.table(95), ValueError, "`prob` must lie strictly between 0 and 1"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_draws_of_other_results_are_not_combined():
    with pytest.raises(TypeError, match="draws can be combined only if they come from the same evaluation"):
        _ = ONE.augrc["model"] - TWO.augrc["a"]


# --- what is printed


def test_the_table_has_the_numbers():
    rows = TWO.table(0.8)
    assert len(rows) == 200
    for row in (rows[79], rows[179]):
        draws = TWO.risk[row["classifier"]].values[:, 79]
        assert row["share"] == 0.8
        assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(draws, [0.1, 0.9])))
        assert (row["mean"], row["sd"]) == pytest.approx((draws.mean(), draws.std(ddof=1)))
    frame = TWO.to_frame(0.8)
    assert frame.index.names == ["classifier", "share"]
    assert frame.loc[("b", 0.8), "eti80_ub"] == rows[179]["high"]
    metrics = TWO.metrics()
    assert metrics["a/0.8/selective_risk"] == pytest.approx(rows[79]["mean"])


def test_the_document_has_areas():
    document = json.loads(TWO.to_json())
    assert document["kind"] == "SelectivePrediction"
    assert [each["classifier"] for each in document["augrc"]] == ["a", "b"]
    assert document["augrc"][0]["observed"] == TWO.observed_augrc["a"]


def test_sentences():
    assert ONE.sentence().startswith("Of the most confident 80 % of the predictions, a share of 0.")
    assert "; of all predictions, 0." in ONE.sentence()
    assert "The AUGRC of a minus that of b is -0." in TWO.sentence()
    single = selective([1], [0.9])
    assert single.sentence().startswith("Of all predictions, a share of 0.")
    several = selective(Z, dict.fromkeys("abcdefg", A))
    assert "e 0." in several.sentence()
    assert "f 0." not in several.sentence()


def test_few_wrong_predictions_are_named():
    z, c = generated(1, 60)
    few = np.where(np.arange(60) < 3, False, True)
    assert any("most confident 100 % of the predictions are wrong" in each for each in selective(few, c).remarks)
    of_two = selective(few, {"a": c, "b": c}).remarks
    assert any("most confident 100 % of the predictions by a are wrong" in each for each in of_two)
    order = np.argsort(-c)
    first = int(np.flatnonzero(np.cumsum(1 - z[order]) >= 5)[0])  # the fifth wrong prediction in the order
    stated = [each for each in selective(z, c).remarks if "are wrong" in each]
    assert bool(stated) == (np.ceil(100 * (first + 1) / 60) > 20)


def test_bins_alone_are_named():
    z, c = generated(1, 60)
    counts = bc.BinnedCounts.from_arrays(z, c)
    assert any("order rows by bins only" in each for each in bc.decisions.selective_counts(counts, draws=50).remarks)
    assert not any("order rows by bins only" in each for each in selective(z, c).remarks)


def test_a_threshold_in_words():
    z, c = generated(1, 500)
    kept = selective(z, c)
    limit = kept.threshold(0.3, 0.9, "model")
    assert str(limit).startswith(f"Keep predictions with a confidence of at least {limit.confidence:.4g}, ")
    assert "at most 30 % of them are wrong with probability 0.9" in limit.sentence()
    assert kept.threshold(1e-6).sentence().startswith("No confidence is high enough")


def test_risk_at_one_share():
    np.testing.assert_array_equal(TWO.selective_risk(0.8)["a"].values, TWO.risk["a"].values[:, 79])
    with pytest.raises(ValueError, match="`share` must lie in"):
        TWO.selective_risk(1.2)


def test_ties_are_kept_as_a_whole():
    """100 rows at 0.9, 1 wrong, and 100 at 0.1, all wrong: the limit of Clopper and Pearson of 1 of 100 is 0.038."""
    z = np.concatenate([np.arange(100) != 0, np.zeros(100, bool)])
    c = np.repeat([0.9, 0.1], 100)
    limit = bc.decisions.selective(z, c, target="confidence", rng=1).threshold(0.1)
    assert (limit.confidence, limit.share, limit.observed_risk) == pytest.approx((0.9, 0.5, 0.01))


def test_the_tree_has_the_draws():
    tree = TWO.to_datatree()
    np.testing.assert_array_equal(tree["posterior"]["selective_risk[a]"].values.reshape(400, 100), TWO.risk["a"].values)
    np.testing.assert_array_equal(tree["posterior"]["augrc[b]"].values.ravel(), TWO.augrc["b"].values)
    np.testing.assert_array_equal(tree["observed_data"]["selective_risk[b]"].values, TWO.observed["b"])
    assert isinstance(TWO, SelectivePrediction)


def test_a_risk_that_falls_again_does_not_break_the_promise():
    """Very confident predictions are wrong more often: the posterior probability of the kept ones is that stated."""

    def block(n, wrong):
        right = np.ones(n, int)
        right[np.linspace(0, n - 1, wrong).round().astype(int)] = 0
        return right

    z = np.concatenate([block(1000, 20), block(200, 20), block(3000, 40)])
    kept = bc.decisions.selective(z, np.linspace(0.999, 0.5, len(z)), target="confidence", rng=1)
    limit = kept.threshold(0.02)
    if limit.share:
        assert (kept.selective_risk(limit.share)["model"].values <= 0.02).mean() > 0.88


def test_the_question_names_the_posterior():
    z, c = generated(1, 200)
    assert selective(z, c).question == "confidence selective risk, 200 rows, Dirichlet posterior of cells of confidence"
    clustered = selective(z, c, cluster=np.arange(200) // 4)
    assert clustered.question == "confidence selective risk, 200 rows, Bayesian bootstrap of clusters"
