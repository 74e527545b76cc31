"""Proper scores of several classifiers: the posterior by hand, its limits, and refusals of scores of other events."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayescal as bc

Y = [0, 1, 2]
ONE = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]]
OTHER = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]]
SCORES = ("brier", "log")


def classes_of(n, seed, above=2.0, k=3):
    """Labels, and logits whose softmax is the true probability."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), rng.integers(k, size=n)] += above
    true = softmax(logits)
    return (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1), logits, rng


def softmax(logits):
    matrix = np.exp(logits - logits.max(axis=1, keepdims=True))
    return matrix / matrix.sum(axis=1, keepdims=True)


def loss(p, k):
    """Brier (1950), equation 2, of one row with label k, in exact arithmetic."""
    return sum((Fraction(str(q)) - (j == k)) ** 2 for j, q in enumerate(p))


# --- the posterior


def test_the_correlation_by_exact_enumeration():
    """Every row with every label, in fractions: half rows with the extremes, variance of a Bayesian bootstrap."""
    n, half = 3, Fraction(1, 2)

    def variance(values, extra):
        rows = [(Fraction(1), v) for v in values] + [(half, v) for v in extra]
        mean = sum(w * v for w, v in rows) / (n + 1)
        return (sum(w * v**2 for w, v in rows) / (n + 1) - mean**2) / (n + 2)

    losses = [[loss(p, k) for p, k in zip(matrix, Y, strict=True)] for matrix in (ONE, OTHER)]
    possible = [loss(p, k) - loss(q, k) for (p, q), k in product(zip(ONE, OTHER, strict=True), range(3))]
    one, other = (float(variance(of, (0, 2))) for of in losses)
    of_difference = variance([a - b for a, b in zip(*losses, strict=True)], (min(possible), max(possible)))
    found = bc.compare_scores(Y, {"one": ONE, "other": OTHER}, rng=1)
    assert found["one"].sd ** 2 == pytest.approx(one, rel=1e-12)
    expected = (one + other - float(of_difference)) / (2 * np.sqrt(one * other))
    assert found.correlation[0, 1] == found.correlation[1, 0] == pytest.approx(expected, rel=1e-12)
    assert 0.5 < expected < 1


@pytest.mark.parametrize("score", SCORES)
def test_each_classifier_has_the_posterior_of_its_own_score(score):
    y, logits, _ = classes_of(60, 1)
    found = bc.compare_scores(y, {"a": softmax(logits), "b": softmax(2 * logits)}, score=score, draws=4000, rng=1)
    for drawn, each in zip(found.draws().values.T, found.scores.values(), strict=True):
        mean, variance = each.mean, each.sd**2
        if score == "brier":
            m, v = mean / 2, variance / 4
            known = stats.beta(m * (m * (1 - m) / v - 1), (1 - m) * (m * (1 - m) / v - 1), scale=2)
        else:
            known = stats.gamma(mean**2 / variance, scale=variance / mean)
        assert stats.kstest(drawn, known.cdf).pvalue > 0.001
    rows = {row["classifier"]: row for row in found.each()}
    assert (rows["a"]["low"], rows["a"]["high"]) == found["a"].interval()
    assert rows["b"]["observed"] == found["b"].observed


@pytest.mark.parametrize("score", SCORES)
def test_with_many_rows_the_difference_is_that_of_paired_losses(score):
    y, logits, rng = classes_of(100_000, 2)
    p, q = softmax(logits), softmax(logits + 0.5 * rng.normal(size=logits.shape))
    if score == "brier":
        losses = [((m - np.eye(3)[y]) ** 2).sum(axis=1) for m in (p, q)]
    else:
        losses = [-np.log(m[np.arange(len(y)), y]) for m in (p, q)]
    paired = losses[0] - losses[1]
    se = paired.std() / np.sqrt(len(y))
    found = bc.compare_scores(y, {"p": p, "q": q}, score=score, draws=20_000, rng=1).difference("p", "q")
    assert found.interval() == pytest.approx(paired.mean() + np.array([-1, 1]) * 1.959964 * se, abs=0.1 * se)
    assert found.sd() < 0.5 * np.hypot(*(each.std() for each in losses)) / np.sqrt(len(y))  # unpaired


@pytest.mark.parametrize("score", SCORES)
def test_true_probabilities_beat_a_constant_classifier(score):
    """The top label of the constant classifier has a small Brier score if it is rarely right: 1/10 in ten classes."""
    y, logits, _ = classes_of(1000, 3, above=0.0, k=10)
    rows = {"true": softmax(logits), "constant": np.full((1000, 10), 0.1)}
    found = bc.compare_scores(y, rows, score=score, rng=1)
    assert found.p_best()["true"] > 0.999
    assert found.verdict() == f"true has a smaller multi-class {found['true'].name.split()[1]} score than constant"
    events = {name: bc.evaluate(y, matrix, rng=1).plug_in_of(f"{score}_score") for name, matrix in rows.items()}
    assert events["constant"] < events["true"]  # so these must not be compared


def test_a_score_has_no_other_estimand():
    found = bc.compare_scores(Y, {"a": ONE, "b": OTHER}, rng=1)
    for call in (found.draws, found.p_best, found.each, found.table):
        with pytest.raises(TypeError, match=r"one quantity, the .* Brier score, and takes no `estimand`"):
            call(estimand="ece")


def test_the_convention_scales_everything():
    whole, half = (bc.compare_scores(Y, {"a": ONE, "b": OTHER}, convention=c, rng=1) for c in (None, "half"))
    np.testing.assert_allclose(half.draws().values, whole.draws().values / 2, rtol=1e-9)
    assert "half the sum over 3 classes" in half.spec


@pytest.mark.parametrize("score", SCORES)
def test_two_names_of_one_classifier_do_not_differ(score):
    y, logits, rng = classes_of(300, 4)
    weights = rng.exponential(size=300)
    same, other = softmax(logits), softmax(1.01 * logits)
    three = {"a": same, "b": other, "again": same}
    found = bc.compare_scores(y, three, score=score, weights=weights, rng=1)
    assert not found.difference("a", "again").values.any()
    assert found.decide("a", "again", rope=0)["p_rope"] == 1
    assert found.p_best()["a"] == found.p_best()["again"]
    assert found.difference("a", "b").values.any()
    two = bc.compare_scores(y, {"a": same, "again": same}, score=score, rng=1)
    assert two.sentence().endswith("in every draw: the difference is exactly 0.")


def test_weights_are_of_any_scale_and_rows_of_weight_0_do_not_count():
    y, logits, rng = classes_of(200, 5)
    a, b, w = softmax(logits), softmax(1.5 * logits), rng.exponential(size=200)
    w[:50] = 0
    a[:50] = np.roll(a[:50], 1, axis=1)  # would change the extremes
    found = bc.compare_scores(y, {"a": a, "b": b}, weights=w, rng=1)
    for rows, weights in ((slice(None), 4 * w), (slice(50, None), w[50:])):
        again = bc.compare_scores(y[rows], {"a": a[rows], "b": b[rows]}, weights=weights, rng=1)
        np.testing.assert_allclose(again.correlation, found.correlation, rtol=1e-12)
        np.testing.assert_allclose(again.draws().values, found.draws().values, rtol=1e-9)


def test_blocks_of_rows_have_the_extremes_of_all_rows(monkeypatch):
    y, logits, rng = classes_of(500, 6)
    rows = {"a": softmax(logits), "b": softmax(logits + rng.normal(size=logits.shape))}
    whole = bc.compare_scores(y, rows, rng=1)
    monkeypatch.setattr("bayescal.scores.multiclass.CHUNK", 21)
    np.testing.assert_array_equal(bc.compare_scores(y, rows, rng=1).correlation, whole.correlation)


def test_probabilities_of_0_limit_the_difference_of_log_losses():
    """Class 2 has probability 0 under one classifier: its possible difference is infinite, and counts as 2 log 3."""
    first, second = [[0.5, 0.5, 0.0]] * 20, [[0.4, 0.4, 0.2]] * 20
    found = bc.compare_scores([0, 1] * 10, {"a": first, "b": second}, score="log", rng=1)
    low, high = -np.log(0.5 / 0.4), 2 * np.log(3)
    mean = (20 * low + (low + high) / 2) / 21
    variance = ((20 * low**2 + (low**2 + high**2) / 2) / 21 - mean**2) / 22
    sds = [each.sd for each in found.scores.values()]
    assert found.correlation[0, 1] == pytest.approx((sds[0] ** 2 + sds[1] ** 2 - variance) / (2 * sds[0] * sds[1]))


def test_correlations_of_pairs_need_not_form_a_matrix():
    """No variables have these correlations; the draws keep the margins of every classifier."""
    y, logits, _ = classes_of(100, 7)
    found = bc.compare_scores(y, {str(i): softmax(i * logits) for i in (1, 2, 3)}, draws=20_000, rng=1)
    impossible = np.array([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]])
    assert np.linalg.eigvalsh(impossible)[0] < -0.5
    found = replace(found, correlation=impossible)
    for drawn, each in zip(found.draws().values.T, found.scores.values(), strict=True):
        assert drawn.mean() == pytest.approx(each.mean, abs=5 * each.sd / np.sqrt(20_000))
        assert drawn.std() == pytest.approx(each.sd, rel=0.04)
    np.testing.assert_allclose(found.rank_probabilities().sum(axis=0), 1)
    assert sum(found.p_worst().values()) == pytest.approx(1)
    assert len(found.table()) == 3


@pytest.mark.parametrize("score", SCORES)
def test_coverage_where_the_test_set_has_no_error(score):
    """Fewer than 1 of 1000 rows are wrong, so the t interval of paired losses contains the truth in less than 0.1."""
    y, logits, _ = classes_of(200_000, 8, above=12.0, k=10)

    def pair(logits):
        return {"calibrated": softmax(logits), "over": softmax(1.5 * logits)}

    def difference(y, pair):
        if score == "brier":
            a, b = (((m - np.eye(10)[y]) ** 2).sum(axis=1) for m in pair.values())
        else:
            a, b = (-np.log(m[np.arange(len(y)), y]) for m in pair.values())
        return a - b

    truth = difference(y, pair(logits)).mean()
    inside, of_t = [], []
    for seed in range(60):
        y, logits, _ = classes_of(100, 100 + seed, above=12.0, k=10)
        low, high = bc.compare_scores(y, pair(logits), score=score, draws=500, rng=1).difference().interval()
        inside.append(low <= truth <= high)
        paired = difference(y, pair(logits))
        of_t.append(abs(paired.mean() - truth) <= 1.98 * paired.std(ddof=1) / 10)
    assert np.mean(inside) >= 0.85
    assert np.mean(of_t) < 0.2


# --- what it shows


def test_how_it_prints_and_is_exported(tmp_path):
    y, logits, _ = classes_of(300, 9)
    found = bc.compare_scores(
        y, {"good": softmax(logits), "flat": softmax(0.2 * logits), "<b>": softmax(3 * logits)}, rope=0.02, rng=1
    )
    assert found.sentence().startswith("good has a smaller multi-class Brier score than")
    assert "P(equal within 0.02)" in found.sentence()
    assert found.spec == (
        "3 classifiers on the same rows: multi-class Brier score, sum over 3 classes, N = 300, rope 0.02"
    )
    assert repr(found) == f"ScoreComparison({found.spec})"
    shown = f"{found}\n{found.details()}"
    assert "P(1st) is the probability that the first classifier is better: its multi-class Brier score" in shown
    assert f"observed {found['good'].observed:.4f}" in shown
    frame = found.to_frame(0.9)
    low, high = found.difference("good", "flat").interval(0.9)
    assert frame.loc[("good", "flat"), ["eti90_lb", "eti90_ub"]].tolist() == [low, high]
    page = found.to_html(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<title>Comparison by the multi-class Brier score" in page
    assert "<b></th>" not in page
    assert page.count(">observed<") == 1  # the column of the table; no remark repeats the table
    assert "<svg" in page
    document = json.loads(found.to_json())
    assert (document["kind"], len(document["table"])) == ("ScoreComparison", 3)
    assert document["classifiers"] == found.each()
    with pytest.raises(TypeError, match="the page that `to_html` writes shows scores"):
        bc.plot_comparison(found)
    assert "good - flat" in found.to_latex()
    assert list(found.summary().index[:2]) == ["score[good]", "score[flat]"]
    tree = found.to_datatree()
    assert tree.posterior.score.sizes["classifier"] == 3
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.draws().values, found.draws().values)
    assert (list(found), len(found)) == (["good", "flat", "<b>"], 3)


def test_pages_are_titled_in_words(tmp_path):
    score = bc.multiclass_brier_score(Y, ONE)
    corp = bc.brier_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9])
    murphy = bc.murphy_decomposition(bc.BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9]))
    for result, title in (
        (score, "Multi-class Brier score"),
        (corp, "Decomposition of the Brier score"),
        (murphy, "Decomposition of the Brier score"),
    ):
        page = result.to_html(tmp_path / "x.html").read_text(encoding="utf-8")
        assert f"<title>{title}" in page
    assert repr(corp).endswith("0.2250 = miscalibration 0.1000 - discrimination 0.1250 + uncertainty 0.2500)")
    assert repr(murphy).startswith("MurphyDecomposition(Brier score, Murphy decomposition")


# --- wrong input


def test_wrong_arguments():
    pair = {"a": ONE, "b": OTHER}
    for options, kind, words in (
        ({"score": "auc"}, ValueError, "`score` must be one of"),
        ({"convention": "brier"}, ValueError, "classifier 'a': `convention` must be one of"),
        ({"score": "log", "convention": "sum"}, ValueError, "`convention` must not be given for `score='log'`"),
        ({"rope": -1}, ValueError, "`rope` must be a number >= 0"),
        ({"draws": 0}, ValueError, "`draws`"),
    ):
        with pytest.raises(kind, match=words):
            bc.compare_scores(Y, pair, **options)
    with pytest.raises(ValueError, match="at least two classifiers; it holds 1"):
        bc.compare_scores(Y, {"a": ONE})
    with pytest.raises(TypeError, match="`y_prob` must be a mapping"):
        bc.compare_scores(Y, [ONE, OTHER])
    with pytest.raises(ValueError, match=r"classifier 'b': `y_true` and `y_prob` must have"):
        bc.compare_scores(Y, {"a": ONE, "b": OTHER[:2]})
    with pytest.raises(bc.InvalidRows, match=r"classifier 'b': `y_prob` must exceed 0.*first at index 1"):
        bc.compare_scores(Y, {"a": ONE, "b": [OTHER[0], [0.5, 0, 0.5], OTHER[2]]}, score="log")
    with pytest.raises(ValueError, match=r"the same classes in the same order; 'a' has .*'b' has"):
        bc.compare_scores(Y, {"a": ONE, "b": np.c_[OTHER, np.zeros(3)]})
    found = bc.compare_scores(Y, pair, rng=1)
    with pytest.raises(KeyError, match="no classifier 'c'"):
        found["c"]
    with pytest.raises(ValueError, match="`ropes` must be finite"):
        found.rope_curve([-1])


def test_columns_of_data_frames_name_the_classes():
    one, other = pd.DataFrame(ONE, columns=list("xyz")), pd.DataFrame(OTHER, columns=list("xyz"))
    found = bc.compare_scores(list("xyz"), {"a": one, "b": other}, rng=1)
    expected = bc.compare_scores(Y, {"a": ONE, "b": OTHER}, rng=1)
    np.testing.assert_array_equal(found.draws().values, expected.draws().values)
    with pytest.raises(ValueError, match="the same classes in the same order"):
        bc.compare_scores(list("xyz"), {"a": one, "b": other[list("zyx")]})


# --- scores of events that differ


def top_label(k=3):
    y, logits, rng = classes_of(400, 10, k=k)
    return y, {"a": softmax(logits), "b": softmax(logits + rng.normal(size=logits.shape))}


@pytest.mark.parametrize("estimand", ["brier_score", "log_score", "auc"])
def test_scores_of_top_labels_are_not_compared(estimand):
    y, rows = top_label()
    found = bc.compare(y, rows, draws=100, rng=1)
    reason = (
        rf"`estimand='{estimand}'` cannot be compared under `target='top-label'`: each classifier has another event"
    )
    for ask in (
        lambda: found.difference("a", "b", estimand),
        lambda: found.decide("a", "b", estimand=estimand),
        lambda: found.p_best(estimand),
        lambda: found.sentence(estimand=estimand),
        lambda: found.to_frame(estimand=estimand),
        lambda: bc.compare_counts({("a", "b"): found.pairs[0, 1]}, draws=100, rng=1).draws(estimand),
        lambda: bc.plot_comparison(found, estimand=estimand),
    ):
        instead = ".*`bayescal\\.scores\\.compare`.*`target='event'` with `y_prob\\[:, 1\\]`"
        with pytest.raises(ValueError, match=reason + instead):
            ask()
    assert estimand not in found.to_datatree().posterior
    assert np.isfinite(found.draws("l2_error").values).all()


@pytest.mark.parametrize("estimand", ["brier_score", "log_score", "auc"])
def test_confidences_are_compared_only_if_outcomes_agree(estimand):
    rng = np.random.default_rng(11)
    p, q = rng.uniform(0.1, 0.9, (2, 300))
    y = (rng.random(300) < p).astype(int)
    same = bc.compare({"p": y, "q": y.copy()}, {"p": p, "q": q}, target="confidence", draws=100, rng=1)
    assert np.isfinite(same.draws(estimand).values).all()
    other = y.copy()
    other[:2] = 1 - other[:2]
    differ = bc.compare({"p": y, "q": other}, {"p": p, "q": q}, target="confidence", draws=100, rng=1)
    with pytest.raises(ValueError, match=f"`estimand='{estimand}'` needs the same outcomes.*; in 2 of 300 rows they"):
        differ.draws(estimand)
    assert np.isfinite(differ.draws("ece").values).all()


def test_one_classifier_on_other_rows_has_one_event():
    """Groups and test sets of one classifier: scores of its top label can be compared."""
    y, rows = top_label()
    groups = bc.evaluate(y, rows["a"], by=y > 0, draws=100, rng=1)
    assert np.isfinite(groups.compare().difference(estimand="brier_score").values).all()
    assert "smaller top-label Brier score than" in groups.compare(rope=0).sentence(estimand="brier_score")


def test_draws_of_a_top_label_name_its_event():
    y, rows = top_label()
    ev = bc.evaluate(y, rows["a"], draws=100, rng=1)
    for estimand in ("auc", "brier_score", "log_score"):
        assert repr(ev.draws(estimand)).startswith(f'Draws({estimand} of the event "top label is right": mean')
    assert repr(ev.ece).startswith("Draws(ece: mean")
    event = bc.evaluate(y == 1, rows["a"][:, 1], draws=100, rng=1)
    assert repr(event.auc).startswith("Draws(auc: mean")


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("metric", r"`score='brier'` or `score='log'`; errors of calibration are compared by `bayescal\.compare\("),
        ("estimand", r"`score='brier'` or `score='log'`; errors of calibration are compared by `bayescal\.compare\("),
        ("seed", r"Here it is called 'rng': `scores\.compare\(y_true, y_prob, rng=\.\.\.\)`\."),
    ],
)
def test_keywords_of_other_functions_name_those_of_this_one(keyword, said):
    with pytest.raises(TypeError, match=said):
        bc.compare_scores(Y, {"a": ONE, "b": OTHER}, **{keyword: 1})


def test_unknown_attributes_name_where_quantities_are():
    found = bc.compare_scores(Y, {"a": ONE, "b": OTHER}, draws=50, rng=1)
    for name, said in (("ece", "come from `compare`"), ("brier", "difference"), ("decid", "Did you mean 'decide'")):
        with pytest.raises(AttributeError, match=f"'ScoreComparison' has no attribute '{name}'.*{said}"):
            getattr(found, name)
