"""The model of all rows under label shift in PyMC: its density at one point, by hand."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from twins.shift import LabelShiftTwin

import bayescal as bc
from bayescal.verify.topic_models import SUB_MODEL

pytest.importorskip("pymc")

INTERCEPT, LOG_SLOPE, TAU, Z = 0.2, -0.3, 0.25, np.array([0.5, -1.0])
MASS = np.array([0.6, 0.4])


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(1)
    y, y_target = rng.random(80) < 0.5, rng.random(60) < 0.3
    p, p_target = (expit(2 * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target))
    options = {"bins": 2, "draws": 2000, "rng": 1, "sub_models": [SUB_MODEL]}
    return bc.evaluate_shifted(y, p, p_target, shift="label", **options)


def density(model, **values):
    """Log density in the space of the parameters; ``values`` of others are as above."""
    point = {}
    everything = {"intercept": INTERCEPT, "log_slope": LOG_SLOPE, "tau": TAU, "z": Z, "mass": MASS, **values}
    for name, value in everything.items():
        own, transform = model.rvs_to_values[model[name]], model.rvs_to_transforms[model[name]]
        inputs = model[name].owner.inputs
        value = np.asarray(value, dtype=float)
        point[own.name] = value if transform is None else transform.forward(value, *inputs).eval(mode="FAST_COMPILE")
    return float(model.compile_logp(jacobian=False, mode="FAST_COMPILE")(point))


def accuracies(rows):
    """Accuracies at the point, and the log density of z and of the parameters behind them."""
    confidence, kappa = rows.target_confidence, TAU**-2 - 1
    h = expit(INTERCEPT + np.exp(LOG_SLOPE) * logit(confidence))

    def of(z):
        return expit(logit(h) + z / np.sqrt((kappa + rows.source.n) * h * (1 - h)))

    slope = (of(Z + 1e-5) - of(Z - 1e-5)) / 2e-5
    normal = stats.norm.logpdf(INTERCEPT, 0, 0.5) + stats.norm.logpdf(LOG_SLOPE, 0, 0.5)
    half = stats.truncnorm.logpdf(TAU, 0, 5, scale=0.2)
    return of(Z), normal + half + (stats.beta.logpdf(of(Z), kappa * h, kappa * (1 - h)) + np.log(slope)).sum()


def test_the_density_of_the_model(evaluation):
    rows = evaluation.counts.rows
    theta, expected = accuracies(rows)
    one = (MASS * theta).sum()
    for by_bin, joint, share in zip(rows.by_class, MASS * [1 - theta, theta], (1 - one, one), strict=True):
        expected += stats.multinomial.logpmf(by_bin, by_bin.sum(), joint / share)
    expected += stats.multinomial.logpmf(rows.target_rows, rows.target_rows.sum(), MASS)
    expected += stats.dirichlet.logpdf(MASS, np.ones(2))
    assert density(LabelShiftTwin(evaluation).model()) == pytest.approx(expected, abs=1e-3)


def test_the_twin_names_the_same_quantities(evaluation):
    drawn = LabelShiftTwin(evaluation).of_closed_form(4000, np.random.default_rng(1))
    assert [name.split("<")[0] for name in drawn] == ["ece", "frequency", "P(ece ", "P(ece "]
    low, high = list(drawn.values())[2:]
    assert low.mean() == pytest.approx(0.025, abs=0.02)  # five standard errors
    assert high.mean() == pytest.approx(0.975, abs=0.02)  # five standard errors
