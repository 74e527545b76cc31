"""Recalibration: against maximum a posteriori of the rows, scikit-learn's isotonic regression, and as a transformer."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import bayescal as bc
from bayescal.datasets.simulate import simulate

BOTH = (bc.LogisticRecalibration, bc.IsotonicRecalibration)


def mode_of_rows(y, p):
    """Intercept and slope with the largest posterior density, from rows instead of bins."""

    def minus_log_posterior(parameters):
        a, s = parameters
        eta = a + np.exp(s) * logit(p)
        return -(y * eta - np.logaddexp(0, eta)).sum() + (a**2 + s**2) / (2 * 0.5**2)

    a, s = minimize(minus_log_posterior, [0.0, 0.0]).x
    return a, np.exp(s)


@pytest.mark.parametrize("population", ["flat", "rare", "top"])
def test_intercept_and_slope_agree_with_the_mode_of_rows(population):
    """With 20 000 rows the posterior mean is the mode, except for the means of confidences within bins."""
    rows = simulate(20_000, population=population, curve="temperature", strength=1.8, rng=1)
    p = rows.confidence.clip(1e-4, 1 - 1e-4)
    fitted = bc.LogisticRecalibration().fit(p, rows.outcome)
    assert (fitted.intercept_, fitted.slope_) == pytest.approx(mode_of_rows(rows.outcome, p), abs=0.02)
    assert fitted.slope_ == pytest.approx(1 / 1.8, abs=0.06)
    inside = np.array([0.001, 0.2, 0.5, 0.99])
    np.testing.assert_allclose(fitted.transform(inside), expit(fitted.intercept_ + fitted.slope_ * logit(inside)))


def test_few_rows_change_little():
    moved = bc.LogisticRecalibration().fit([0.4, 0.6], [1, 0]).transform([0.3, 0.7])
    np.testing.assert_allclose(moved, [0.3, 0.7], atol=0.06)
    narrow = bc.LogisticRecalibration(intercept_sd=1e-3, log_slope_sd=1e-3)
    rows = simulate(2000, population="flat", curve="shift", strength=1, rng=2)
    assert narrow.fit(rows.confidence, rows.outcome).intercept_ == pytest.approx(0, abs=0.01)


def test_logistic_results_are_increasing_and_never_certain():
    rows = simulate(2000, population="flat", curve="temperature", strength=0.4, rng=3)
    fitted = bc.LogisticRecalibration().fit(rows.confidence, rows.outcome)
    at = np.concatenate([[0.0, 1e-12], np.linspace(1e-9, 1 - 1e-9, 2001), [1.0]])
    values = fitted.transform(at)
    assert np.all(np.diff(values) >= 0)
    assert 0 < values.min() < values.max() < 1


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_that_of_scikit_learn(weighted):
    rng = np.random.default_rng(4)
    p, y = rng.random(300).round(2), rng.integers(0, 2, 300)
    weights = rng.gamma(1, size=300) if weighted else None
    ours = bc.IsotonicRecalibration().fit(p, y, weights=weights)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y, sample_weight=weights)
    at = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(ours.transform(at), theirs.predict(at), atol=1e-12)


def test_isotonic_on_its_own_rows_is_calibrated():
    rng = np.random.default_rng(5)
    p = rng.random(500)
    y = rng.random(500) < p**2
    after = bc.IsotonicRecalibration().fit_transform(p, y)
    for value in np.unique(after):
        assert y[after == value].mean() == pytest.approx(value, abs=1e-12)
    assert bc.brier_decomposition(y, after).miscalibration == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", BOTH)
def test_it_is_a_transformer_of_scikit_learn(kind):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(400, 1))
    y = (rng.random(400) < expit(2 * x[:, 0])).astype(int)
    pipeline = make_pipeline(FunctionTransformer(expit), kind())
    after = pipeline.fit(x, y).transform(x)
    assert after.shape == (400, 1)
    direct = kind().fit(expit(x[:, 0]), y)
    np.testing.assert_array_equal(after[:, 0], direct.transform(expit(x[:, 0])))
    np.testing.assert_array_equal(pipeline.fit_transform(x, y), after)
    check_is_fitted(direct)
    copy = clone(direct)
    assert copy.get_params() == direct.get_params()
    with pytest.raises(AttributeError, match="not fitted: call `fit"):
        copy.transform([0.5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(direct)).transform([0.3]), direct.transform([0.3]))


def test_parameters():
    one = bc.LogisticRecalibration(bins=50)
    assert one.set_params(bins=20) is one
    assert one.get_params() == {"bins": 20, "intercept_sd": 0.5, "log_slope_sd": 0.5}
    assert repr(one) == "LogisticRecalibration(bins=20, intercept_sd=0.5, log_slope_sd=0.5)"
    with pytest.raises(ValueError, match="has no parameter 'C'; its parameters: bins, intercept_sd"):
        one.set_params(C=1)
    with pytest.raises(ValueError, match="has no parameter 'C'; its parameters: none"):
        bc.IsotonicRecalibration().set_params(C=1)


@pytest.mark.parametrize("kind", BOTH)
def test_invalid_rows_are_refused(kind):
    with pytest.raises(bc.InvalidRows, match="`y_true` must be binary labels"):
        kind().fit([0, 1, 1], [0.2, 0.7, 0.9])
    with pytest.raises(bc.InvalidRows, match="`y_prob` must be complete"):
        kind().fit([0.2, np.nan], [0, 1])
    with pytest.raises(ValueError, match="`y_prob` must be one column"):
        kind().fit([[0.2, 0.8], [0.4, 0.6]], [0, 1])
    fitted = kind().fit([0.2, 0.7, 0.9], [0, 1, 1])
    with pytest.raises(bc.InvalidRows, match=r"must lie in \[0, 1\].*first at index 1: 1.5"):
        fitted.transform([0.5, 1.5])
    with pytest.raises(ValueError, match="one-dimensional"):
        fitted.transform([[0.2, 0.8]])
    with pytest.raises(ValueError, match="index"):
        kind().fit(pd.Series([0.2, 0.7]), pd.Series([0, 1], index=[1, 0]))


@pytest.mark.parametrize("kind", BOTH)
def test_shapes_and_frames(kind):
    fitted = kind().fit(pd.Series([0.2, 0.4, 0.7, 0.9]), pd.Series([0, 1, 0, 1]))
    given = np.array([0.2, 0.7], dtype=np.float32)
    assert fitted.transform(given).dtype == np.float64
    assert fitted.transform(pd.DataFrame({"p": [0.2, 0.7, 0.8]})).shape == (3, 1)
    assert fitted.transform(np.empty(0)).shape == (0,)
    np.testing.assert_array_equal(given, np.array([0.2, 0.7], dtype=np.float32))


def test_scikit_learn_is_not_loaded(warning_options):
    code = """
import sys, bayescal as bc
for kind in (bc.LogisticRecalibration, bc.IsotonicRecalibration):
    repr(kind().fit([0.2, 0.7, 0.9], [0, 1, 1]).transform([0.5]))
print("sklearn" in sys.modules)
"""
    done = subprocess.run([sys.executable, *warning_options, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_held_out_rows_show_what_the_rows_of_the_fit_hide():
    """Isotonic regression of pure noise: calibrated on its own rows, not on others."""
    rng = np.random.default_rng(7)
    p, y = rng.random(60), rng.integers(0, 2, 60)
    fitted = bc.IsotonicRecalibration().fit(p, y)
    p_new, y_new = rng.random(4000), rng.integers(0, 2, 4000)
    assert bc.plug_in_ece(y, fitted.transform(p)) == pytest.approx(0, abs=1e-12)
    truth = np.mean(np.abs(fitted.transform(p_new) - 0.5))
    low, high = bc.evaluate(y_new, fitted.transform(p_new), rng=1).ece.interval()
    assert low > 0.01
    assert low < truth < high


def test_results_stay_between_0_and_1():
    """A steep slope and a tiny probability round to 0, 1 or infinity otherwise."""
    rows = simulate(20_000, population="flat", curve="temperature", strength=0.2, rng=1)
    steep = bc.LogisticRecalibration().fit(rows.confidence, rows.outcome)
    assert steep.slope_ > 4
    assert (steep.transform([0.0, 1.0, 1 - 1e-5]) > 0).all()
    assert (steep.transform([0.0, 1.0, 1 - 1e-5]) < 1).all()
    assert 0 <= bc.IsotonicRecalibration().fit([0.0, 1e-310], [0, 1]).transform([5e-311])[0] <= 1


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("y_prob", "y_true", "keywords", "error", "said"),
    [
        ([0.2, 0.7], [1, 1], {}, ValueError, "must hold both outcomes.*all 2 rows of positive weight have outcome 1"),
        ([0.2, 0.7, 0.4], [0, 1, 0], {"weights": [1, 0, 1]}, ValueError, "all 2 rows .* outcome 0"),
        ([0.2, 0.7], ["no", "yes"], {}, TypeError, "other labels, such as .*as in `y_true == label`"),
        ([0.2, 0.7], [1, 2], {}, bc.InvalidRows, "Pass whether the event happened, as in `y_true == label`"),
        ([-2.0, 0.7], [0, 1], {}, bc.InvalidRows, r"Pass probabilities, as in `scipy.special.expit\(logits\)`"),
        ([[0.2, 0.8], [0.7, 0.3]], [0, 1], {}, ValueError, r"must be one column.*pass `y_prob\[:, 1\]`"),
        ([0.2, 0.7], [0, 1], {"sample_weight": [1, -2]}, bc.InvalidRows, "`weights` must "),
        ([0.2, 0.7], [0, 1], {"weigths": [1, 2]}, TypeError, "takes no 'weigths'. Did you mean 'weights'"),
    ],
)
def test_errors_advise_what_fit_accepts(kind, y_prob, y_true, keywords, error, said):
    with pytest.raises(error, match=said) as caught:
        kind().fit(y_prob, y_true, **keywords)
    for word in ("`classes=", "`logits=", "`target="):
        assert word not in str(caught.value)


def test_transform_advises_no_keyword_of_evaluate():
    fitted = bc.IsotonicRecalibration().fit([0.2, 0.4, 0.7, 0.9], [0, 1, 0, 1])
    with pytest.raises(bc.InvalidRows, match="expit"):
        fitted.transform([-3.0, 0.5])
