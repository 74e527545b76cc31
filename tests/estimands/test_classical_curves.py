"""Classical calibration curves: properties that follow from their definitions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.estimands.classical_curves import CURVES, errors_of, logistic_regression, spline_basis
from bayescal.estimands.local_regression import loess, lowess

ROWS = simulate(400, population="flat", curve="shift", strength=0.4, rng=1)
P, Y = ROWS.confidence, ROWS.outcome.astype(float)


@pytest.mark.parametrize("smooth", [lowess, loess])
def test_local_fits_reproduce_their_polynomials_in_any_order(smooth):
    order = np.random.default_rng(0).permutation(400)
    line = 0.3 - 2 * P
    np.testing.assert_allclose(smooth(P, line), line, atol=1e-9)
    np.testing.assert_allclose(smooth(P[order], Y[order]), smooth(P, Y)[order], atol=1e-12)
    tied = np.round(P, 1)
    for value in np.unique(tied):
        assert np.ptp(smooth(tied, Y)[tied == value]) < 1e-12


def test_lowess_by_hand():
    """Five equally spaced rows, three in a neighbourhood: at the middle, neighbours at the radius have weight 0.

    At the first row, the radius is 2: tricube weights 1, (1 - 1/8)^3 and 0 of a line through two points.
    """
    x, y = np.arange(5.0), np.array([0.0, 1, 0, 1, 1])
    np.testing.assert_allclose(lowess(x, y), [0, 1, 0, 1, 1], atol=1e-12)
    # six rows, four in a neighbourhood: radius 2 at row 2 of 0..5, with weights (7/8)^3, 1, (7/8)^3
    x, y = np.arange(6.0), np.array([0.0, 0, 1, 0, 0, 0])
    w = (1 - 1 / 8) ** 3
    assert lowess(x, y)[2] == pytest.approx(1 / (1 + 2 * w))


def test_lowess_and_loess_of_few_distinct_scores():
    assert lowess(np.full(20, 0.3), Y[:20]) == pytest.approx(np.full(20, Y[:20].mean()))
    assert np.isnan(loess(np.full(20, 0.3), Y[:20])).all()
    assert np.isnan(loess(np.repeat([0.2, 0.7], 10), Y[:20])).any()


def test_logistic_regression_maximises_the_likelihood():
    """Against a general optimizer, for every curve by logistic regression."""
    x = logit(P)
    knots = np.quantile(x, (0.05, 0.35, 0.65, 0.95))
    designs = {"logistic": x[:, None], "logistic_probability": P[:, None], "spline_4": spline_basis(x, knots)}
    for key, columns in designs.items():
        design = np.column_stack([np.ones_like(x), columns])

        def loss(beta, design=design):
            eta = design @ beta
            return np.sum(np.logaddexp(0, eta) - Y * eta)

        found = minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(CURVES[key](P, Y), expit(design @ found.x), atol=2e-5)


def test_fits_that_do_not_exist_are_missing():
    constant = np.ones((4, 1))
    assert np.isnan(logistic_regression(constant, np.ones(4))).all()  # one outcome only
    separated = np.column_stack([np.ones(4), np.arange(4)])
    assert np.isnan(logistic_regression(separated, np.array([0.0, 0, 1, 1]))).all()
    collinear = np.column_stack([np.ones(4), np.arange(4), 2 * np.arange(4)])
    assert np.isnan(logistic_regression(collinear, np.array([0.0, 1, 0, 1]))).all()
    ends = np.append(P, [0.0, 1.0])
    for key in ("logistic", "spline_3", "spline_4"):
        assert np.isnan(CURVES[key](ends, np.append(Y, [0.0, 1.0]))).all()


def test_far_logits_do_not_break_newtons_method():
    """Scores of 1e-300 and 1 - 1e-16: the maximum exists, and the score equations hold."""
    x = np.concatenate([np.linspace(-690, -20, 50), np.linspace(-3, 36, 150)])
    y = (np.arange(200) % 3 > 0).astype(float)
    design = np.column_stack([np.ones_like(x), x])
    fitted = logistic_regression(design, y)
    np.testing.assert_allclose(design.T @ (y - fitted), 0, atol=1e-5)


def test_the_result_of_all_curves():
    curves = bc.classical_calibration_curves(ROWS.outcome, P)
    assert list(curves.errors) == list(CURVES)
    for key, fit in CURVES.items():
        assert curves.errors[key] == pytest.approx(errors_of(fit(P, Y), P))
    assert curves.to_frame().loc["loess", "e90"] == curves.errors["loess"]["e90"]
    assert "restricted cubic spline, 3 knots" in str(curves)
    assert curves.remarks == ()
    with_ends = bc.classical_calibration_curves(np.append(ROWS.outcome, 1), np.append(P, 1.0))
    assert "1 rows have score 0 or 1" in with_ends.remarks[0]
    assert with_ends.table()[2]["ici"] != with_ends.table()[2]["ici"]
    assert '"ici": null' in with_ends.to_json()


def test_refusals_of_classical_curves(tmp_path):
    with pytest.raises(ValueError, match="`y_true` must have at least 10 rows for a calibration curve, and has 9"):
        bc.classical_calibration_curves(ROWS.outcome[:9], P[:9])
    with pytest.raises(TypeError, match="defined for rows of equal weight"):
        bc.classical_calibration_curves(ROWS.outcome, P, weights=P)
    page = bc.classical_calibration_curves(ROWS.outcome, P).to_html(tmp_path / "curves.html")
    assert "lowess" in page.read_text(encoding="utf-8")
