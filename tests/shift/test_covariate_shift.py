"""Covariate shift: masses of the target, accuracies of weighted source rows, refusals and warnings."""

import json
import warnings

import numpy as np
import pytest
from scipy.special import expit
from shifted_sides import covariate, labelled_rows

import bayescal as bc
from bayescal.shift.covariate_shift import WeightsWarning
from bayescal.stats.ranks import Ranks

# --- the evaluation


def test_without_a_shift_it_is_the_evaluation_of_the_source():
    """Equal scores in source and target, and weights of 1: every number of `evaluate`."""
    y, p, _ = labelled_rows()
    shifted, plain = covariate(y, p, p, weights=np.ones(1000), rng=1), bc.evaluate(y, p, rng=1)
    for name in ("ece", "e90_bins", "signed_error", "brier_score", "log_score", "auc"):
        np.testing.assert_allclose(shifted.draws(name).values, plain.draws(name).values, rtol=1e-9)
        assert shifted.plug_in_of(name) == pytest.approx(plain.plug_in_of(name))
    np.testing.assert_allclose(shifted.null.values, plain.null.values, rtol=1e-9)


def test_weights_have_no_unit():
    y, p, rng = labelled_rows()
    w, target = rng.lognormal(0, 0.5, 1000), rng.random(500)
    one, other = (covariate(y, p, target, weights=f * w, rng=1) for f in (1.0, 1e200))
    np.testing.assert_allclose(one.ece.values, other.ece.values, rtol=1e-8)


def test_the_truth_under_a_known_shift():
    """Many rows: errors of the target from its own labels, of all estimands, within five standard deviations."""
    rng = np.random.default_rng(3)
    moved, of_event, of_score = np.array([0.8, -0.4]), np.array([1.2, 1.0]), np.array([1.5, 0.3])
    x, z = rng.standard_normal((20_000, 2)), rng.standard_normal((200_000, 2)) + moved
    y, z_label = (rng.random(len(v)) < expit(v @ of_event) for v in (x, z))
    p, q = expit(x @ of_score), expit(z @ of_score)
    ev = covariate(y, p, q, weights=np.exp(x @ moved), bins=10, rng=1)
    known, source = bc.evaluate(z_label, q, bins=10, rng=1), bc.evaluate(y, p, bins=10, rng=1)
    for name in ("ece", "signed_error", "l2_error", "brier_score", "log_score", "auc"):
        own, truth = ev.draws(name), known.draws(name)
        assert abs(own.mean() - truth.mean()) < 5 * np.hypot(own.sd(), truth.sd()), name
    # the source itself has another error: the shift matters here
    assert abs(source.ece.mean() - known.ece.mean()) > 5 * np.hypot(source.ece.sd(), known.ece.sd())


def test_variance_of_the_area_under_weights_that_depend_on_the_score():
    """The bootstrap of weighted rows has the variance of the posterior; with weights as they are, and with a target."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal(4000)
    y, p, w = rng.random(4000) < expit(1.5 * x), expit(1.5 * x), np.exp(1.2 * x)
    drawn = []
    for _ in range(300):
        take = rng.integers(4000, size=4000)
        drawn.append(Ranks.of_rows(p[take], y[take], w[take]).auc)
    for ev in (covariate(y, p, p, weights=w, rng=1), bc.evaluate(y, p, weights=w, rng=1)):
        assert ev.auc.sd() == pytest.approx(np.std(drawn), rel=0.1)
        ranks = ev.counts.ranks  # Kish's numbers with the variance of the weighted placements give less
        assert (ranks.spread / ranks.rows).sum() < 0.9**2 * np.var(drawn)


def test_top_labels():
    rng = np.random.default_rng(2)
    matrix, target = rng.dirichlet(np.ones(3), 600), rng.dirichlet(np.ones(3), 400)
    label = np.array([rng.choice(3, p=row) for row in matrix])
    ev = covariate(label, matrix, target, weights=np.ones(600), rng=1)
    column = covariate(
        matrix.argmax(1) == label, matrix.max(1), target.max(1), weights=np.ones(600), target="confidence", rng=1
    )
    assert ev.counts.target == "top-label"
    np.testing.assert_array_equal(ev.ece.values, column.ece.values)


def test_equal_mass_bins_are_those_of_the_target():
    y, p, rng = labelled_rows()
    target = rng.beta(4, 1, 500)
    ev = covariate(y, p, target, weights=np.ones(1000), bins=5, binning="equal-mass", rng=1)
    assert ev.counts.target_rows.tolist() == [100] * 5


def test_bins_of_equal_effective_mass_are_those_of_the_source():
    y, p, _ = labelled_rows()
    weights = np.exp(3 * p)
    ev = covariate(y, p, p**2, weights=weights, bins=5, binning="equal-effective-mass", rng=1)
    plain = bc.evaluate(y, p, weights=weights, bins=5, binning="equal-effective-mass", rng=1)
    np.testing.assert_array_equal(ev.counts.bins.edges, plain.counts.bins.edges)


def test_result_prints_and_exports():
    y, p, rng = labelled_rows()
    ev = covariate(y, p, rng.random(500), weights=rng.lognormal(0, 0.3, 1000), rng=1)
    assert "N = 500 target rows and 1000 source rows (weighted, effective N = 9" in ev.question
    assert "uncertainty of the weights" in str(ev)
    assert "target rows" in ev.to_html()
    assert ev.to_datatree().attrs["spec"] == ev.spec
    assert "weight_report" in dir(ev)
    assert json.loads(ev.to_json())["weight_report"] == ev.weight_report.table()
    with pytest.raises(TypeError, match="counts of a target cannot be added"):
        ev.counts + ev.counts


# --- refusals and warnings


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"weights": None}, ValueError, r"`weights` are needed under covariate shift"),
        (
            {"weights": np.r_[np.ones(20), np.zeros(980)]},
            ValueError,
            r"at least 30 effective rows; the 1000 rows",
        ),
        ({"weights": -np.ones(1000)}, ValueError, r"`weights` must be >= 0"),
        ({"y_prob_target": []}, ValueError, "`y_prob_target` is empty"),
        ({"y_prob_target": [0.2, 1.2]}, ValueError, r"`y_prob_target` must lie in \[0, 1\].*first at index 1"),
        ({"y_prob_target": [0.2, np.nan]}, ValueError, "`y_prob_target` .*missing"),
        ({"y_prob_target": [[0.2, 0.8]]}, ValueError, "`y_prob_target` must be one column"),
        ({"target": "classwise"}, ValueError, "`target='classwise'` needs a matrix"),
        ({"bims": 5}, TypeError, "Did you mean 'bins'"),
    ],
)
def test_refused(change, kind, message):
    y, p, _ = labelled_rows()
    given = {"y_prob_target": p, "weights": np.ones(1000)} | change
    with pytest.raises(kind, match=message):
        covariate(y, p, given.pop("y_prob_target"), rng=1, **given)


def test_a_target_beyond_the_source_is_refused():
    y, p, _ = labelled_rows()
    low = p < 0.4
    with pytest.raises(
        ValueError, match=r"60 % of the 10 rows of the target are in 3 bins without labelled rows of positive weight"
    ):
        covariate(
            y[low], p[low], np.arange(10) / 10 + 0.05, weights=np.ones(low.sum()), bins=[0, 0.4, 0.6, 0.8, 1], rng=1
        )


def test_uneven_weights_warn():
    y, p, rng = labelled_rows()
    w = rng.pareto(1.0, 1000)
    with pytest.warns(WeightsWarning) as caught:
        ev = covariate(y, p, p, weights=w, rng=1)
    few, heavy = (str(each.message) for each in caught)
    assert "rows of the target: less than 10 %" in few
    assert "above 0.7" in heavy
    assert any("Pareto shape" in text for text in ev.remarks)


def test_even_weights_do_not_warn():
    y, p, _ = labelled_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = covariate(y, p, p, weights=np.exp(0.5 * p), rng=1)
    assert found.weight_report.remarks == ()
    assert found.sentence().startswith("If the distribution of the features alone differs, the Expected Calibration ")
    assert "in a target under covariate shift" in found.spec
