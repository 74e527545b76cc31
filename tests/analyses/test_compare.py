"""Comparing classifiers, from rows or from evaluations: what must hold for any classifiers.

Seeds are fixed; a correlation of D independent draws has standard error 1 / sqrt(D), and five of them are allowed
(`close_to`): a false alarm in 1.7 million.
"""

import warnings
from itertools import combinations

import numpy as np
import pytest
from compared_rows import DRAWS, event, multiclass
from scipy.stats import spearmanr

import bayescal as bc
from bayescal.analyses.compare import SameRowsWarning
from bayescal.estimands.registry import registered


@pytest.fixture(scope="module")
def two():
    y, p, q = event()
    return bc.compare(y, {"honest": p, "bold": q}, draws=DRAWS, rng=1)


#: Estimands of events: probabilities of an event have no accuracy.
OF_EVENTS = [name for name, each in registered().items() if "predictions" not in each.needs]

# --- one model under several names


@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
def test_identical_predictions_differ_by_exactly_nothing(model):
    y, p, _ = event()
    twins = bc.compare(y, {"one": p, "other": p.copy()}, rope=0, model=model, draws=DRAWS, rng=3)
    known = [name for name in OF_EVENTS if hasattr(twins["one"], name)]
    assert set(OF_EVENTS) - {*known} == ({"largest_regret"} if model == "dirichlet" else set())
    for estimand in (*known, lambda bins: bc.lp_error(bins, 3)):
        assert not twins.difference("one", "other", estimand).values.any()
        decided = twins.decide("one", "other", estimand=estimand)
        assert (decided["p_left"], decided["p_rope"], decided["p_right"]) == (0, 1, 0)
        assert decided["p_rope_mcse"] == 0
        assert twins.p_best(estimand) == {"one": 0.5, "other": 0.5}
        assert twins.expected_ranks(estimand) == {"one": 1.5, "other": 1.5}
        np.testing.assert_array_equal(twins.rope_curve([0, 1], "one", "other", estimand), 1)
    assert "exactly 0" in twins.sentence()


@pytest.mark.parametrize("target", ["top-label", "event"])
def test_two_of_three_are_identical(target):
    if target == "event":
        y, a, b = event()
    else:
        y, a, b = multiclass()
    three = bc.compare(y, {"a": a, "b": b, "a again": a}, target=target, draws=DRAWS, rng=1)
    for estimand, record in registered().items():
        if record.has_own_event(target) or (target == "event" and estimand not in OF_EVENTS):
            continue  # see tests/scores/test_comparison.py
        assert not three.difference("a", "a again", estimand).values.any()
        np.testing.assert_array_equal(
            three.difference("a", "b", estimand).values, three.difference("a again", "b", estimand).values
        )
        best = three.p_best(estimand)
        assert best["a"] == best["a again"]
    assert three.difference("a", "b").values.any()


def test_identical_predictions_with_weights():
    y, p, _ = event()
    weights = np.random.default_rng(4).gamma(0.5, size=len(y))
    twins = bc.compare(y, {"one": p, "other": p}, weights=weights, draws=DRAWS, rng=3)
    assert not twins.difference("one", "other").values.any()


# --- margins and dependence


@pytest.mark.parametrize("estimand", [name for name in OF_EVENTS if registered()[name].joint is None])
def test_each_models_draws_are_those_of_its_own_evaluation(two, estimand):
    y, p, q = event()
    drawn = two.draws(estimand).values
    assert drawn.shape == (DRAWS, 2)
    for i, (name, confidence) in enumerate({"honest": p, "bold": q}.items()):
        np.testing.assert_array_equal(np.sort(drawn[:, i]), np.sort(getattr(two[name], estimand).values))
        # all models are drawn with the first number of the generator
        alone = bc.evaluate(y, confidence, draws=DRAWS, rng=int(np.random.default_rng(1).integers(2**63, size=2)[0]))
        np.testing.assert_array_equal(getattr(alone, estimand).values, getattr(two[name], estimand).values)


def test_the_better_model_is_found(two):
    assert two.decide("honest", "bold")["p_left"] == 1
    assert two.decide("bold", "honest")["p_right"] == 1
    assert two.p_best() == {"honest": 1, "bold": 0}
    assert two.expected_ranks() == {"honest": 1, "bold": 2}
    assert two.sentence().startswith("honest is better calibrated than bold (ECE of honest minus that of bold: -0.")


def test_signed_errors_of_one_event_move_together(two):
    """Both are mean outcome less mean confidence on the same rows: nearly all of what varies is shared."""
    y, p, q = event()
    joint = two.draws("signed_error").values
    assert spearmanr(joint).statistic > 0.5
    apart = bc.evaluate(y, p, draws=DRAWS, rng=5), bc.evaluate(y, q, draws=DRAWS, rng=6)
    with pytest.warns(SameRowsWarning):
        unpaired = bc.compare_independent(dict(zip(("honest", "bold"), apart, strict=True)), rng=1)
    assert (
        two.difference("honest", "bold", "signed_error").sd()
        < unpaired.difference("honest", "bold", "signed_error").sd()
    )


def test_similar_models_on_the_same_rows_are_told_apart_with_half_the_width():
    """The interval is the shorter, the more alike they are; as if of different rows it would not be."""
    y, _, q = event(3000)
    rng = np.random.default_rng(5)
    retrained = 1 / (1 + (1 - q) / q * np.exp(0.1 * rng.standard_normal(len(q))))
    same_rows = bc.compare(y, {"old": q, "new": retrained}, draws=DRAWS, rng=1)
    with pytest.warns(SameRowsWarning):
        apart = bc.compare_independent(dict(same_rows.evaluations), rng=1)
    widths = [np.diff(c.difference("old", "new").interval(0.95))[0] for c in (same_rows, apart)]
    assert widths[0] < widths[1] / 2


def test_more_rows_make_it_narrower():
    sds = []
    for n in (300, 3000, 30_000):
        y, p, q = event(n)
        sds.append(bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=1).difference("a", "b").sd())
    # ten times the rows: by sqrt(10) in the limit
    assert sds[0] > 2 * sds[1] > 4 * sds[2]


def test_probabilities_and_ranks_of_many_models_add_up():
    y, p, q = event(300)
    models = {f"mix {s:g}": s * p + (1 - s) * q for s in (0, 0.2, 0.5, 0.8, 1)}
    many = bc.compare(y, models, draws=DRAWS, rng=1)
    for estimand in OF_EVENTS:
        assert sum(many.p_best(estimand).values()) == pytest.approx(1)
        assert sum(many.expected_ranks(estimand).values()) == pytest.approx(5 * 6 / 2)
    assert len(many.table()) == 10
    for row in many.table():
        assert row["p_left"] + row["p_rope"] + row["p_right"] == pytest.approx(1)
        for name in ("p_left", "p_rope", "p_right"):
            assert row[f"{name}_mcse"] == pytest.approx(np.sqrt(row[name] * (1 - row[name]) / DRAWS))


def test_the_rope_is_in_units_of_the_estimand_and_not_of_the_data():
    y, p, q = event()
    small, large = (bc.compare(y[:n], {"a": p[:n], "b": q[:n]}, draws=DRAWS, rng=1) for n in (100, 600))
    assert small.rope == large.rope == 0.01
    wide = bc.compare(y, {"a": p, "b": q}, rope=1, draws=DRAWS, rng=1)
    assert wide.decide("a", "b")["p_rope"] == 1


# --- randomness


def test_a_seed_gives_the_same_comparison():
    y, p, q = event(200)
    one, again, other = (bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.draws().values, again.draws().values)
    assert not np.array_equal(one.draws().values, other.draws().values)
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=generator).draws(), one.draws())


# --- targets and what rows may come as


def test_bins_weights_and_options_go_to_every_model():
    y, p, q = event(200)
    weights = np.random.default_rng(3).gamma(1, size=200)
    known = {"bins": 5, "binning": "equal-mass", "weights": weights, "model": "dirichlet", "alpha": "jeffreys"}
    found = bc.compare(y, {"a": p, "b": q}, draws=DRAWS, rng=1, **known)
    for name, confidence in (("a", p), ("b", q)):
        alone = bc.evaluate(y, confidence, draws=2, rng=1, **known)
        assert found[name].counts == alone.counts
        assert found[name].model == "dirichlet"
        assert found[name].posterior.prior == alone.posterior.prior
    assert found["a"].counts.bins != found["b"].counts.bins


def test_weights_beyond_the_range_of_squares_change_nothing():
    y, p, q = event(200)
    weights = np.random.default_rng(3).gamma(1, size=200)
    plain, huge = (
        bc.compare(y, {"a": p, "b": q}, weights=weights * scale, draws=DRAWS, rng=1) for scale in (1.0, 2.0**700)
    )
    np.testing.assert_allclose(plain.draws().values, huge.draws().values, rtol=1e-9)


def test_one_row_and_one_class_only():
    found = bc.compare([1], {"a": [0.7], "b": [0.6]}, draws=DRAWS, rng=1)
    assert np.isfinite(found.draws().values).all()
    _, p, q = event(50)
    found = bc.compare(np.ones(50, int), {"a": p, "b": q}, draws=DRAWS, rng=1)
    assert np.isfinite(found.draws().values).all()


def test_the_callers_data_is_left_alone():
    y, p, q = event(100)
    models = {"a": p, "b": q}
    before = y.copy(), p.copy(), q.copy()
    bc.compare(y, models, draws=DRAWS, rng=1)
    for now, then in zip((y, p, q), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert list(models) == ["a", "b"]


# --- refused


# --- different rows


def group(n, seed, **known):
    y, p, _ = event(n, seed)
    return bc.evaluate(y, p, draws=4000, rng=1, **known)


def test_different_rows_are_independent_whatever_their_seed(close_to):
    """One set of rows evaluated twice with one seed: the same draws, until they are said to be of different rows."""
    a, b = group(500, 1), group(500, 1)
    np.testing.assert_array_equal(a.ece.values, b.ece.values)
    with pytest.warns(SameRowsWarning):
        found = bc.compare_independent({"a": a, "b": b}, rng=1)
    for name in OF_EVENTS:
        drawn = found.draws(name).values
        close_to(spearmanr(drawn).statistic, 0, 1 / np.sqrt(4000), f"rank correlation of {name}")
        np.testing.assert_array_equal(np.sort(drawn[:, 0]), np.sort(getattr(a, name).values))
    # variances of independent quantities add; that of 4000 draws has a relative error of about sqrt(2 / 4000)
    total = a.ece.sd() ** 2 + b.ece.sd() ** 2
    close_to(found.difference("a", "b").sd() ** 2, total, total * np.sqrt(2 / 4000))
    assert found.difference("a", "b").mean() == pytest.approx(0, abs=1e-12)


def test_many_groups_of_different_sizes():
    a, b, c = group(500, 1), group(600, 2), group(700, 3)
    found = bc.compare_independent({"a": a, "b": b, "c": c}, rng=1)
    assert found.names == ("a", "b", "c")
    assert found.rope == 0.01
    assert bc.compare_independent({"a": a, "b": b}, rope=0.3).rope == 0.3
    assert "3 classifiers on different rows, independent" in found.spec
    assert "N = 500 to 700" in found.spec
    assert sum(found.p_best().values()) == pytest.approx(1)


def test_evaluations_of_the_same_rows_are_not_taken_for_independent_silently():
    y, p, q = event(300)
    same = {"a": bc.evaluate(y, p, draws=100, rng=1), "b": bc.evaluate(y, q, draws=100, rng=1)}
    with pytest.warns(SameRowsWarning, match="'a' and 'b' have 300 rows each.*use `compare`"):
        bc.compare_independent(same, rng=1)
    different = {"a": same["a"], "b": group(301, 5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bc.compare_independent({**different, "b": bc.evaluate(*event(301, 5)[:2], draws=100, rng=1)}, rng=1)


# --- from rows to ArviZ


def test_same_rows_are_said_everywhere(two):
    assert "2 classifiers on the same rows: event ECE, 15 equal-width bins [a, b), N = 600" in two.spec
    assert two.to_datatree().attrs["same_rows"] == 1
    assert list(two.pairs) == [(0, 1)]
    for (i, j), pair in two.pairs.items():
        names = two.names
        assert (pair.first, pair.second) == (two[names[i]].counts, two[names[j]].counts)


def test_pairs_of_many_models_are_those_of_two():
    y, p, q = event(200)
    models = {"a": p, "b": q, "c": (p + q) / 2}
    three = bc.compare(y, models, draws=100, rng=1)
    for (i, a), (j, b) in combinations(enumerate(models), 2):
        assert three.pairs[i, j] == bc.PairedCounts.from_arrays(y, models[a], y, models[b], target="event")


# --- from counts


def counted(first, second, y):
    return bc.PairedCounts.from_arrays(y, first, y, second, bins=8, target="event")


def test_counts_say_what_rows_say():
    """Three models; one pair in the other order, one in two batches."""
    rng = np.random.default_rng(11)
    p = rng.random(600)
    y = rng.random(600) < p
    models = {"A": p, "B": p**1.3, "C": np.sqrt(p)}
    halves = [counted(models["A"][part], models["C"][part], y[part]) for part in (slice(250), slice(250, None))]
    pairs = {
        ("A", "B"): counted(models["A"], models["B"], y),
        ("A", "C"): sum(halves),
        ("C", "B"): counted(models["C"], models["B"], y),
    }
    of_counts, of_rows = bc.compare_counts(pairs, rng=5), bc.compare(y, models, bins=8, rng=5)
    assert of_counts.names == ("A", "B", "C")
    for pair in (("A", "B"), ("A", "C"), ("B", "C")):
        np.testing.assert_allclose(of_counts.difference(*pair).values, of_rows.difference(*pair).values, atol=1e-12)


@pytest.mark.parametrize(
    ("pairs", "error", "said"),
    [
        (lambda ab, ac: {("A", "B"): ab, ("A", "C"): ac}, ValueError, r"\('B', 'C'\) is missing"),
        (lambda ab, ac: {("A", "B"): ab, ("B", "A"): ac}, ValueError, "different counts in two of them"),
        (lambda ab, ac: {"A": ab}, TypeError, r"pairs of names as keys, such as \('A', 'B'\), not 'A'"),
        (
            lambda ab, ac: {"A": bc.SurvivalCounts.empty(times=[1])},
            TypeError,
            r"not SurvivalCounts. They are .*bayescal\.survival\.compare\(time, event,",
        ),
        (lambda ab, ac: {("A", "B"): ab.first}, TypeError, "must hold PairedCounts, not BinnedCounts"),
        (lambda ab, ac: ab, TypeError, "must be a mapping"),
        (lambda ab, ac: {}, TypeError, "must be a mapping"),
    ],
)
def test_joint_counts_that_do_not_belong_together_are_refused(pairs, error, said):
    rng = np.random.default_rng(12)
    p, y = rng.random(50), rng.integers(0, 2, 50)
    with pytest.raises(error, match=said):
        bc.compare_counts(pairs(counted(p, p**2, y), counted(p, 1 - p, y)))


def test_top_labels_on_as_many_rows_are_noticed_though_their_hits_differ():
    rng = np.random.default_rng(6)
    y, p, q = rng.integers(0, 3, 200), rng.dirichlet(np.ones(3), 200), rng.dirichlet(np.ones(3), 200)
    with pytest.warns(SameRowsWarning, match="200 rows each"):
        bc.compare_independent({name: bc.evaluate(y, m, draws=100, rng=1) for name, m in (("a", p), ("b", q))})


def test_of_two_models_none_need_be_named():
    y, p, q = event(300)
    two = bc.compare(y, {"p": p, "q": q}, draws=200, rng=1)
    np.testing.assert_array_equal(two.difference().values, two.difference("p", "q").values)
    assert two.decide() == two.decide("p", "q")
    three = bc.compare(y, {"p": p, "q": q, "r": p**2}, draws=200, rng=1)
    with pytest.raises(TypeError, match="`first` and `second` must be two of the labels"):
        three.difference()
    with pytest.raises(TypeError, match="`first` and `second` must be two of the labels"):
        three.decide("p")


def test_a_signed_error_nearer_to_0_is_not_called_better_calibrated():
    """Errors that cancel against a small shift: the signed error prefers the one, the ECE the other."""
    rng = np.random.default_rng(8)
    p = rng.random(4000)
    y = rng.random(4000) < p
    found = bc.compare(y, {"cancelling": 0.5 + 0.6 * (p - 0.5), "shifted": np.clip(p + 0.06, 0, 1)}, rng=1)
    assert found.sentence().startswith("shifted is better calibrated than cancelling (ECE of cancelling minus")
    said = found.sentence(estimand="signed_error")
    assert said.startswith("cancelling has a signed error nearer to 0 than shifted (size of the signed error of cancel")
    assert ": -0.0" in said  # the difference of sizes, which says who is nearer
    assert "has a smaller Brier score than" in found.sentence(estimand="brier_score")


def test_an_estimand_without_a_value_is_refused():
    y, p, q = event(200)
    found = bc.compare(y, {"p": p, "q": q}, draws=100, rng=1)
    with pytest.raises(ValueError, match="`estimand` must be finite in every draw; 100 of 100"):
        found.decide(estimand=lambda bins: bins.gap.mean(axis=1) * np.nan)
