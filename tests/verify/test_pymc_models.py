"""The PyMC models without MCMC: their log densities against scipy's, their deterministics against the formulas.

What NUTS samples is the log density; so where that differs from the closed form's by a constant, the two posteriors
are the same. Points are scattered on NUTS's own scale; densities come from scipy, formula by formula.
"""

import numpy as np
import pytest
from scipy import stats

from bayescal import BinnedCounts, dirichlet_posterior
from bayescal.decisions.counts import ThresholdCounts
from bayescal.verify.pymc_models import dirichlet_model, score_cells_model, shrinkage_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def counts():
    """Four bins, the first one empty."""
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.26, 1, 60)
    return BinnedCounts.from_arrays(rng.random(60) < confidence**1.4, confidence, bins=4)


# --- the Dirichlet model


@pytest.mark.parametrize("data", ["counts", "weighted"])
@pytest.mark.parametrize("alpha", ["two-rows", "uniform"])
def test_the_target_of_nuts_is_the_closed_form_posterior(request, data, alpha, assert_same_up_to_a_constant, scattered):
    """Rates of cells given Poisson counts are independent Gammas; bin means are truncated Normals."""
    counts = request.getfixturevalue(data)
    posterior = dirichlet_posterior(counts, alpha=alpha)
    a, b = posterior.accuracy_parameters
    loc, scale, low, high = posterior.confidence_parameters
    beta = posterior.alpha.sum() / counts.effective_rows  # so that as many rows are expected as there are
    pairs = []
    for density, at in scattered(dirichlet_model(counts, alpha, form="rates")):
        rate, mu = at["rate"], at["mu"]
        # masses Dirichlet, accuracies Beta, the sum of the rates Gamma; Jacobian of (mass, accuracy, sum) -> rates
        total = rate.sum()
        expected = stats.dirichlet.logpdf(at["mass"] / at["mass"].sum(), posterior.mass_parameters)
        expected += stats.beta.logpdf(at["accuracy"], a, b).sum()
        expected += stats.gamma.logpdf(total, posterior.mass_parameters.sum(), scale=1 / (1 + beta))
        expected -= np.log(at["mass"]).sum() + (len(counts.bins) * 2 - 1) * np.log(total)
        expected += stats.truncnorm.logpdf(mu, (low - loc) / scale, (high - loc) / scale, loc, scale).sum()
        pairs.append((density, expected))
    assert_same_up_to_a_constant(pairs)


@pytest.mark.parametrize(("alpha", "n_bins"), [("perks", 4), ("jeffreys", 4)])
def test_a_wrong_prior_is_not_that_target(counts, alpha, n_bins, scattered):
    """So that the test above can fail."""
    posterior = dirichlet_posterior(counts, alpha="two-rows")
    a, b = posterior.accuracy_parameters
    differences = [
        density - stats.beta.logpdf(at["accuracy"], a, b).sum()
        for density, at in scattered(dirichlet_model(counts, alpha, form="rates"))
    ]
    assert np.ptp(differences) > 1


def test_the_deterministics_of_the_dirichlet_model(counts, scattered):
    for _, at in scattered(dirichlet_model(counts, form="rates"), 3):
        q = at["rate"] / at["rate"].sum()
        np.testing.assert_allclose(at["q"], q)
        np.testing.assert_allclose(at["mass"], q.sum(axis=0))
        np.testing.assert_allclose(at["accuracy"], q[1] / q.sum(axis=0))
        np.testing.assert_allclose(at["gap"], at["accuracy"] - at["mu"])
        # the formula of section 3 in its other form: sum |q_1 - (q_0 + q_1) mu|
        assert at["ece"] == pytest.approx(np.abs(q[1] - q.sum(axis=0) * at["mu"]).sum())


def test_the_original_formula_weights_by_the_correct_rows(counts, scattered):
    for _, at in scattered(dirichlet_model(counts, formula="original"), 3):
        weight = at["q"][1] / at["q"][1].sum()
        assert at["ece"] == pytest.approx((weight * np.abs(at["gap"])).sum())


def test_the_truncated_likelihood_adds_its_normalising_constant(counts, scattered):
    """n log of what scipy's Normal has inside the bin, and the mean of scipy's truncated Normal."""
    edges = counts.bins.edges
    sd = counts.bins.widths / np.sqrt(12)
    plain = scattered(dirichlet_model(counts))
    truncated = scattered(dirichlet_model(counts, truncation="confidences"))
    for (density, at), (other, beside) in zip(plain, truncated, strict=True):
        mu = at["mu"]
        np.testing.assert_array_equal(mu, beside["mu"])
        inside = stats.norm.cdf(edges[1:], mu, sd) - stats.norm.cdf(edges[:-1], mu, sd)
        assert other - density == pytest.approx(-(counts.n * np.log(inside)).sum())
        mean = stats.truncnorm.mean((edges[:-1] - mu) / sd, (edges[1:] - mu) / sd, mu, sd)
        np.testing.assert_allclose(beside["confidence"], mean)


def test_predicted_rows_are_as_many_as_there_are(counts):
    """Prior and posterior predictive counts of rows: on their scale, not that of the prior's pseudo-rows."""
    import pymc as pm

    for model in (dirichlet_model(counts, form="rates"), shrinkage_model(counts, "logistic")):
        rows = pm.draw(model["rows"], 4000, random_seed=1).sum(axis=-1)
        # Gamma-Poisson: mean 60, variance 60 + 60^2 / alpha, alpha about 2; five standard errors
        assert abs(rows.mean() - 60) < 5 * np.sqrt((60 + 60**2 / 1.5) / 4000)


def test_rates_too_small_for_a_number_keep_a_gradient():
    """100 bins of which most are empty: the log of some rates is below -745."""
    model = dirichlet_model(BinnedCounts.from_arrays([0, 1], [0.1, 0.9], bins=100), form="rates")
    gradient = model.compile_dlogp(mode="FAST_COMPILE")
    start = model.initial_point()
    far = {name: np.full_like(value, -9.0) if "rate" in name else value for name, value in start.items()}
    assert np.isfinite(gradient(far)).all()


def test_dims_are_named_and_a_prior_can_be_changed(counts):
    model = dirichlet_model(counts, form="rates")
    assert model.named_vars_to_dims["rate"] == ("outcome", "bin")
    assert model.coords["outcome"] == (0, 1)
    import pymc as pm

    changed = pm.do(model, {"mu": counts.bins.midpoints})
    assert "mu" not in [v.name for v in changed.free_RVs]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: dirichlet_model(c, truncation="bins"), "`truncation` must be one of"),
        (lambda c: dirichlet_model(c, "flat"), "`alpha` must be one of"),
        (lambda c: shrinkage_model(c, "sparce"), "Did you mean 'sparse'"),
        (lambda c: shrinkage_model(c, dense_scale=-1), "`dense_scale`"),
        (lambda c: shrinkage_model(c, "logistic", with_calibrated=True), "`with_calibrated` needs the average"),
    ],
)
def test_what_is_wrong_is_said(counts, call, message):
    with pytest.raises(ValueError, match=message):
        call(counts)


def test_example_of_score_cells_model():
    model = score_cells_model(ThresholdCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0.5]))
    assert [v.name for v in model.free_RVs] == ["rate"]
