"""The whole pipeline: what goes in, what comes out, what is kept, and what is refused."""

import pickle

import numpy as np
import pytest
from moments_of_ece import ece_mean

import bayescal as bc
from bayescal.posterior.dirichlet import DirichletPosterior

N = 500


@pytest.fixture(scope="module")
def event():
    rng = np.random.default_rng(1)
    p = rng.random(N)
    return (rng.random(N) < p**1.5).astype(int), p


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), N)
    return np.array([rng.choice(3, p=row) for row in p]), p


def test_an_evaluation_holds_what_was_asked_for(event):
    ev = bc.evaluate(*event, bins=10, draws=123, rng=1)
    assert isinstance(ev, bc.Evaluation)
    assert len(ev.ece) == 123
    assert ev.counts.n_rows == N
    assert len(ev.counts.bins) == 10
    assert ev.model == "shrinkage"
    assert ev.counts.target == "event"
    assert ev.plug_in == pytest.approx(bc.plug_in_ece(*event, bins=10), rel=1e-12)
    assert ev.counts == bc.BinnedCounts.from_predictions(bc.Predictions.from_labels(*event), bins=10)


def test_defaults(event):
    ev = bc.evaluate(*event)
    assert len(ev.ece) == 4000
    assert len(ev.counts.bins) == 15
    assert ev.question.endswith("shrinkage model")
    assert bc.evaluate(*event, model="dirichlet").posterior.prior == "two-rows prior"


def test_the_posterior_is_the_models(event):
    """evaluate adds nothing of its own: its mean is the posterior's exact one, to Monte Carlo error."""
    ev = bc.evaluate(*event, draws=50_000, rng=3, model="dirichlet", alpha="jeffreys")
    counts = bc.BinnedCounts.from_predictions(bc.Predictions.from_labels(*event))
    exact = bc.dirichlet_posterior(counts, alpha="jeffreys")
    assert abs(ev.ece.mean() - exact.ece_mean()) < 5 * ev.ece.mcse()
    assert ev.ece.sd() == pytest.approx(exact.ece_sd(), rel=0.03)


def test_seeds(event):
    one, same, other = (bc.evaluate(*event, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.ece.values, same.ece.values)
    np.testing.assert_array_equal(one.null.values, same.null.values)
    assert not np.array_equal(one.ece.values, other.ece.values)
    assert not np.array_equal(one.null.values, other.null.values)
    assert not np.array_equal(bc.evaluate(*event).ece.values, bc.evaluate(*event).ece.values)


def test_a_generator_moves_on(event):
    rng = np.random.default_rng(4)
    first, second = bc.evaluate(*event, rng=rng), bc.evaluate(*event, rng=rng)
    assert not np.array_equal(first.ece.values, second.ece.values)
    again = bc.evaluate(*event, rng=np.random.default_rng(4))
    np.testing.assert_array_equal(first.ece.values, again.ece.values)


def test_the_global_state_is_left_alone(event):
    np.random.seed(5)  # noqa: NPY002  the state that must not move
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    bc.evaluate(*event, rng=1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_null_does_not_depend_on_the_model(event):
    one, other = bc.evaluate(*event, rng=1), bc.evaluate(*event, rng=1, model="dirichlet", formula="original")
    np.testing.assert_array_equal(one.null.values, other.null.values)


def test_posterior_and_null_are_independent(event):
    """Drawn from streams of their own: no correlation beyond five standard errors."""
    ev = bc.evaluate(*event, rng=1, draws=20_000)
    assert abs(np.corrcoef(ev.ece.values, ev.null.values)[0, 1]) < 5 / np.sqrt(20_000)


def test_counts_give_the_same_evaluation_as_rows(event):
    counts = bc.BinnedCounts.from_predictions(bc.Predictions.from_labels(*event))
    from_counts, from_rows = bc.evaluate_counts(counts, rng=1), bc.evaluate(*event, rng=1)
    np.testing.assert_array_equal(from_counts.ece.values, from_rows.ece.values)
    assert from_counts.spec == from_rows.spec


def test_targets_of_a_two_class_problem_are_different_questions():
    """Stated 0.2 and 0.3 for class 1, which never happens: both errors are 0.25, of opposite sign."""
    p = np.tile([0.2, 0.3], 50)
    event = bc.evaluate(np.zeros(100), p, rng=1)
    top = bc.evaluate(np.zeros(100), np.column_stack([1 - p, p]), rng=1)
    assert event.plug_in == pytest.approx(0.25)
    assert top.plug_in == pytest.approx(0.25)
    assert event.signed_error.mean() < 0 < top.signed_error.mean()
    mixed = bc.evaluate([0, 1], [0.2, 0.3], rng=1).plug_in, bc.evaluate([0, 1], [[0.8, 0.2], [0.7, 0.3]], rng=1).plug_in
    assert mixed == pytest.approx((0.5 * 0.2 + 0.5 * 0.7, 0.5 * 0.2 + 0.5 * 0.7))


def test_targets_are_chosen_by_shape_only(event, matrix):
    assert bc.evaluate(*event, rng=1).counts.target == "event"
    assert bc.evaluate(*matrix, rng=1).counts.target == "top-label"
    assert bc.evaluate(*event, target="confidence", rng=1).counts.target == "confidence"
    assert isinstance(bc.evaluate(*matrix, target="classwise", rng=1), bc.ClasswiseEvaluation)


def test_unit_weights_change_nothing(event):
    plain, weighted = bc.evaluate(*event, rng=1), bc.evaluate(*event, rng=1, weights=np.ones(N))
    np.testing.assert_array_equal(plain.ece.values, weighted.ece.values)
    np.testing.assert_array_equal(plain.null.values, weighted.null.values)
    assert plain.spec == weighted.spec


def test_the_scale_of_weights_changes_nothing(event):
    weight = np.random.default_rng(3).gamma(1, size=N)
    one = bc.evaluate(*event, rng=1, weights=weight)
    for scale in (2.0, 2.0**1000, 2.0**-1000):
        other = bc.evaluate(*event, rng=1, weights=weight * scale)
        np.testing.assert_allclose(other.ece.values, one.ece.values, rtol=1e-9)
        assert other.plug_in == pytest.approx(one.plug_in, rel=1e-12)


def test_uneven_weights_widen_the_posterior(event):
    weight = np.random.default_rng(3).gamma(0.2, size=N)
    assert bc.evaluate(*event, rng=1, weights=weight).ece.sd() > bc.evaluate(*event, rng=1).ece.sd()


def test_more_rows_narrow_the_posterior(event):
    y, p = event
    few, many = bc.evaluate(y[:100], p[:100], rng=1), bc.evaluate(np.tile(y, 20), np.tile(p, 20), rng=1)
    assert many.ece.sd() < few.ece.sd() / 3


def test_equal_mass_bins(event):
    ev = bc.evaluate(*event, binning="equal-mass", bins=10, rng=1)
    assert ev.counts.n.tolist() == [50] * 10
    assert "10 equal-mass bins" in ev.question


def test_nothing_of_the_callers_is_changed(event, matrix):
    for y, p in (event, matrix):
        y_before, p_before, weights = y.copy(), p.copy(), np.full(N, 2.0)
        bc.evaluate(y, p, rng=1, weights=weights)
        bc.plug_in_ece(y, p, weights=weights)
        np.testing.assert_array_equal(y, y_before)
        np.testing.assert_array_equal(p, p_before)
        np.testing.assert_array_equal(weights, 2.0)


# --- classwise


def test_results_can_be_pickled(event, matrix):
    for ev in (bc.evaluate(*event, rng=1, draws=50), bc.evaluate(*matrix, target="classwise", rng=1, draws=50)):
        again = pickle.loads(pickle.dumps(ev))
        np.testing.assert_array_equal(again.ece.values, ev.ece.values)
    np.testing.assert_array_equal(again[1].ece.values, ev[1].ece.values)


@pytest.mark.parametrize("target", ["event", "classwise"])
def test_a_seed_sequence_and_a_restored_state_give_the_same_again(event, target):
    y, p = event
    prob = p if target == "event" else np.stack([1 - p, p], axis=1)

    def drawn(rng):
        return bc.evaluate(y, prob, target=target, draws=20, rng=rng).ece.values

    sequence = np.random.SeedSequence(1)
    np.testing.assert_array_equal(drawn(sequence), drawn(sequence))
    assert sequence.n_children_spawned == 0
    jumped = [drawn(np.random.Generator(np.random.PCG64(1).jumped())) for _ in range(2)]
    np.testing.assert_array_equal(*jumped)
    rng = np.random.default_rng(1)
    state = rng.bit_generator.state
    first = drawn(rng)
    rng.bit_generator.state = state
    np.testing.assert_array_equal(drawn(rng), first)
    moved = np.random.default_rng(1)
    moved.random(5)
    assert not np.array_equal(drawn(moved), first)
    np.testing.assert_array_equal(drawn(np.random.RandomState(1)), drawn(np.random.RandomState(1)))


def test_bins_narrower_than_a_square_can_tell(matrix):
    """Equal-mass edges of an over-sure classifier lie 1e-300 apart; the square of such a width is 0."""
    y, p = [0, 1, 0, 1], [0.0, 2e-310, 3e-310, 0.7]
    for model, exact_mean in (("dirichlet", DirichletPosterior.ece_mean), ("shrinkage", ece_mean)):
        ev = bc.evaluate(y, p, bins=[0, 1e-310, 2.5e-310, 1], model=model, rng=1, draws=200)
        assert np.isfinite(ev.ece.values).all()
        assert np.isfinite(exact_mean(ev.posterior))
    exact = bc.dirichlet_posterior(bc.BinnedCounts.from_arrays(y, p, bins=[0, 5e-324, 1])).ece_mean()
    assert 0 < exact < 1


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_named_classes(matrix, container):
    """A scikit-learn classifier's `classes_` is an array."""
    y, p = matrix
    names = np.array(["cat", "dog", "eel"])
    ev = bc.evaluate(names[y], p, target="classwise", classes=container(names), rng=1, draws=50)
    np.testing.assert_array_equal(np.sort(ev["dog"].ece.values), np.sort(ev.by_class.values[:, 1]))
    with pytest.raises(KeyError, match=r"no class 'dig' among .* Did you mean 'dog'"):
        ev["dig"]
    top = bc.evaluate(names[y], p, classes=container(names), rng=1, draws=50)
    assert top.plug_in == bc.plug_in_ece(y, p)


def test_named_events(event):
    y, p = event
    named = bc.evaluate(np.array(["no", "yes"])[y], p, classes=("no", "yes"), rng=1)
    np.testing.assert_array_equal(named.ece.values, bc.evaluate(y, p, rng=1).ece.values)


# --- logits


def test_logits_only_when_said(event):
    y, p = event
    logit = np.log(p / (1 - p))
    assert bc.plug_in_ece(y, logit, logits=True) == pytest.approx(bc.plug_in_ece(y, p), rel=1e-9)
    with pytest.raises(ValueError, match="Logits"):
        bc.plug_in_ece(y, logit)


# --- the prior


def test_no_rows_give_the_prior():
    """Masses and accuracies of the prior: E|theta - mu| is that of the exact method on empty counts."""
    ev = bc.evaluate_counts(bc.BinnedCounts.empty(10), model="dirichlet", alpha="uniform", draws=20_000, rng=1)
    exact = bc.dirichlet_posterior(bc.BinnedCounts.empty(10), alpha="uniform").ece_mean()
    assert abs(ev.ece.mean() - exact) < 5 * ev.ece.mcse()
    assert np.isnan(ev.plug_in)
    with pytest.raises(ValueError, match="without rows there is no null distribution"):
        _ = ev.null
    assert "under the prior, because there are no rows." in ev.sentence()
    assert "null" not in ev.spec


# --- refusals of the options


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "dirchlet"}, ValueError, r"`model` must be one of .* Did you mean 'dirichlet'\?"),
        ({"draws": 1}, ValueError, "`draws` must be an integer >= 2, not 1"),
        ({"draws": 0}, ValueError, "`draws` must be an integer >= 2"),
        ({"draws": "many"}, TypeError, "`draws` must be an integer"),
        ({"rng": "seed"}, TypeError, "`rng` must be None, an integer"),
        ({"rng": -1}, ValueError, "`rng` must be None, an integer"),
        ({"target": "events"}, ValueError, r"`target` must be one of .* Did you mean 'event'\?"),
        (
            {"alhpa": 1, "model": "dirichlet"},
            TypeError,
            "takes no 'alhpa'.* Did you mean 'alpha'",
        ),
        ({"n_bins": 10}, TypeError, r"takes no 'n_bins'\. Here it is called 'bins'"),
        ({"groups": [0, 1]}, TypeError, r"takes no 'groups'\. Here it is called 'by'"),
        ({"clusters": [0, 1]}, TypeError, r"takes no 'clusters'\. Here it is called 'cluster'"),
        ({"partial_pooling": True}, TypeError, r"takes no 'partial_pooling'\. Here it is called 'pooling'"),
        ({"poolling": "partial"}, TypeError, r"takes no 'poolling'\. Did you mean 'pooling'"),
        ({"random_state": 1}, TypeError, r"Here it is called 'rng'"),
        ({"binning": "equal-mass", "bins": [0, 0.5, 1]}, ValueError, "`bins` gives the edges"),
        ({"alpha": 1e300, "model": "dirichlet"}, ValueError, r"`alpha` must give values in \[1e-12, 1e\+12\]"),
        ({"alpha": -1, "model": "dirichlet"}, ValueError, "`alpha` must be finite and > 0"),
        ({"bins": 0}, ValueError, "`bins` must be an integer >= 1"),
    ],
)
def test_options_that_make_no_sense(event, options, error, message):
    with pytest.raises(error, match=message):
        bc.evaluate(*event, **options)


def test_evaluate_counts_takes_counts_only():
    with pytest.raises(TypeError, match="`counts` must be BinnedCounts, not list; make them with"):
        bc.evaluate_counts([1, 2, 3])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda y, p: bc.evaluate(y, p, closed="right"), "bins=bayescal.make_bins(15, closed='right'))`"),
        (lambda y, p: bc.evaluate(y, p, by=y, closed="right"), "bins=bayescal.make_bins(15, closed='right'))`"),
        (lambda y, p: bc.compare(y, {"a": p, "b": p}, closed="right"), "bins=bayescal.make_bins(15, closed='right'))`"),
        (
            lambda y, p: bc.evaluate(y, p, estimand="auc"),
            "Results have all estimands: `bayescal.evaluate(y_true, y_prob).auc`",
        ),
        (lambda y, p: bc.evaluate(y, p, prob=0.9), "`result.ece.interval(0.9)`"),
        (lambda y, p: bc.evaluate(y, p, n_bins=10), "Here it is called 'bins'"),
        (lambda y, p: bc.evaluate(y, p, bin=10), "Did you mean 'bins'"),
        (
            lambda y, p: bc.evaluate_counts(bc.BinnedCounts.from_arrays(y, p), bins=5),
            "`evaluate_counts` takes no 'bins'",
        ),
        (lambda y, p: bc.bin_sensitivity(y, p, bins=10), "as in `n_bins=(10, 20)`"),
    ],
)
def test_unknown_keywords_name_the_place_where_they_belong(call, said):
    with pytest.raises(TypeError) as caught:
        call([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    assert said in str(caught.value)


def test_a_single_problem_cannot_be_classwise():
    y, p = [0, 1, 2], np.eye(3) * 0.7 + 0.1
    for call in (bc.brier_decomposition, bc.log_score_decomposition, bc.bin_sensitivity):
        with pytest.raises(ValueError, match=r"Pass one class as an event, as in `y_true == label`"):
            call(y, p, target="classwise")
    with pytest.raises(ValueError, match=r"np.column_stack\(\[1 - p, p\]\)"):
        bc.multiclass_brier_score([0, 1], [0.2, 0.7])
