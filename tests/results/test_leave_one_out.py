"""Leave-one-out cross-validation: refits without the row, ArviZ's estimate from draws, and what is refused."""

import arviz as az
import numpy as np
import pytest

import bayescal as bc
from bayescal.results import model_checks


@pytest.fixture(scope="module")
def rows():
    """1000 rows with five stated probabilities, so that a row has the mean confidence of its bin."""
    rng = np.random.default_rng(5)
    p = rng.choice([0.15, 0.3, 0.5, 0.7, 0.85], 1000)
    return (rng.random(1000) < p**1.2).astype(int), p


@pytest.fixture(scope="module")
def evaluation(rows):
    return bc.evaluate(*rows, bins=5, rng=1)


def refit(rows, i, **options):
    y, p = (np.delete(each, i) for each in rows)
    return bc.evaluate(y, p, bins=5, rng=2, **options)


def values_by_row(evaluation, rows):
    """Return the pointwise values in the order of the rows."""
    pointwise = evaluation.loo().elpd_i
    by_cell = {
        (int(at), int(outcome)): float(value)
        for at, outcome, value in zip(pointwise.row_bin, pointwise.row_outcome, pointwise, strict=True)
    }
    at = np.minimum((rows[1] * 5).astype(int), 4)
    return np.array([by_cell[cell] for cell in zip(at.tolist(), rows[0].tolist(), strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["two-rows", "uniform", np.linspace(0.1, 1.0, 10).reshape(2, 5)])
def test_dirichlet_equals_a_refit_without_the_row(rows, alpha):
    values = values_by_row(bc.evaluate(*rows, bins=5, model="dirichlet", alpha=alpha, rng=1), rows)
    for i in range(0, 1000, 50):
        others = refit(rows, i, model="dirichlet", alpha=alpha)
        mean = others.posterior.accuracy_mean()[min(int(rows[1][i] * 5), 4)]
        assert np.exp(values[i]) == pytest.approx(mean if rows[0][i] else 1 - mean, rel=1e-9, abs=0)


@pytest.mark.slow
def test_shrinkage_equals_a_refit_without_the_row(evaluation, rows):
    """Ten rows, one per cell: a correct value is off by more than 4 errors in 1 of 1600 data sets."""
    values = values_by_row(evaluation, rows)
    at = np.minimum((rows[1] * 5).astype(int), 4)
    chosen = [int(np.flatnonzero((at == b) & (rows[0] == z))[0]) for b in range(5) for z in (0, 1)]
    for i in chosen:
        accuracy = refit(rows, i, draws=40_000).bin_draws.accuracy[:, at[i]]
        drawn = accuracy if rows[0][i] else 1 - accuracy
        assert abs(np.exp(values[i]) - drawn.mean()) < 4 * drawn.std() / np.sqrt(len(drawn))


@pytest.mark.parametrize("confidence", [0.0, 1.0])
@pytest.mark.parametrize("outcome", [0, 1])
def test_a_row_of_a_saturated_bin(outcome, confidence):
    """Contrary outcomes have the prior 0.2 Beta(1/2, 10) + 0.8 Beta(1, 1); here 3 of 30 rows, and one is left out."""
    from scipy.special import betaln

    contrary = outcome != confidence
    y = np.where(np.arange(30) < 3, 1 - confidence, confidence)
    cells = bc.evaluate(y, np.full(30, confidence), bins=2, target="event", rng=1).loo().elpd_i
    left = 3 - contrary
    a, b = np.array([0.5, 1.0]) + left, np.array([10.0, 1.0]) + 29 - left
    log_weight = np.log([0.2, 0.8]) + betaln(a, b) - betaln([0.5, 1.0], [10.0, 1.0])
    weight = np.exp(log_weight - np.logaddexp.reduce(log_weight))
    share = weight @ (a / (a + b))
    values = np.exp(cells.values[cells["row_outcome"] == outcome])
    assert len(values) == (3 if contrary else 27)
    np.testing.assert_allclose(values, share if contrary else 1 - share, rtol=1e-9)


def test_without_the_pool_it_is_the_ratio_of_marginal_likelihoods(rows):
    evaluation = bc.evaluate(*rows, bins=5, pool=False, rng=1)
    values = values_by_row(evaluation, rows)
    for i in range(0, 1000, 100):
        others = refit(rows, i, pool=False)
        gain = evaluation.posterior.log_marginal_likelihood - others.posterior.log_marginal_likelihood
        assert values[i] == pytest.approx(gain, abs=1e-4)  # the accuracy of the integration


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"model": "dirichlet"}, {"pool": False}])
def test_arviz_estimates_the_same_from_draws(rows, options):
    evaluation = bc.evaluate(*rows, bins=5, rng=1, **options)
    exact = evaluation.loo()
    estimated = az.loo(evaluation.to_datatree(predictive=True), pointwise=True)
    difference = (estimated.elpd_i - exact.elpd_i).values
    assert np.abs(difference).max() < 0.02
    assert abs(difference.sum()) < 0.5
    assert exact.p == pytest.approx(estimated.p, abs=0.5)
    assert exact.se == pytest.approx(estimated.se, rel=0.01)


def test_the_pool_makes_arviz_slightly_smaller(evaluation):
    """Weighting draws by 1 / p also weights the families of the pool; the mean of a ratio exceeds its harmonic mean."""
    exact, estimated = evaluation.loo(), az.loo(evaluation.to_datatree(predictive=True), pointwise=True)
    assert 0 < exact.elpd - estimated.elpd < 1


def test_sums_are_those_of_the_rows(evaluation):
    loo = evaluation.loo()
    values = loo.elpd_i.values
    assert loo.n_data_points == len(values) == 1000
    assert loo.elpd == pytest.approx(values.sum())
    assert loo.se == pytest.approx(np.sqrt(1000 * values.var()))
    accuracy = evaluation.bin_draws.accuracy.mean(axis=0)[loo.elpd_i.row_bin.values]
    given_all = np.log(np.where(loo.elpd_i.row_outcome.values, accuracy, 1 - accuracy))
    assert loo.p == pytest.approx(given_all.sum() - values.sum())
    at, outcome = loo.elpd_i.row_bin.values, loo.elpd_i.row_outcome.values
    np.testing.assert_array_equal(np.bincount(at, outcome), evaluation.counts.k)
    assert "elpd_loo" in str(loo)


@pytest.mark.filterwarnings("error")
def test_arviz_compares_it(evaluation, rows):
    dirichlet = bc.evaluate(*rows, bins=5, model="dirichlet", rng=1)
    table = az.compare({"shrinkage": evaluation.loo(), "dirichlet": dirichlet.loo()}, round_to="none")
    assert table.index[0] == "shrinkage"
    difference = dirichlet.loo().elpd - evaluation.loo().elpd
    assert table.loc["dirichlet", "elpd_diff"] == pytest.approx(difference)


def test_many_rows_have_no_pointwise_values(evaluation, monkeypatch):
    whole = evaluation.loo()
    monkeypatch.setattr(model_checks, "MOST_POINTWISE", 999)
    loo = evaluation.loo()
    assert loo.elpd_i is None
    assert (loo.elpd, loo.se) == (whole.elpd, whole.se)


def test_a_single_row_has_the_predictive_probability_of_the_prior():
    evaluation = bc.evaluate([1], [0.7], bins=1, model="dirichlet", alpha=[[1.0], [3.0]], rng=1)
    assert evaluation.loo().elpd == pytest.approx(np.log(3 / 4))


def test_what_is_refused(rows):
    with pytest.raises(ValueError, match="`loo` needs rows; these counts have none"):
        bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1).loo()
    weights = np.where(rows[1] == 0.3, np.arange(1000) % 2 + 1.0, 1.0)
    with pytest.raises(
        ValueError, match=r"needs rows with equal weights\. The effective number of rows is 928\.1, for"
    ):
        bc.evaluate(*rows, bins=5, weights=weights, rng=1).loo()
    by_bin = bc.evaluate(*rows, bins=5, weights=1 + 4 * (rows[1] > 0.5), rng=1)
    for method in (by_bin.loo, by_bin.sensitivity, lambda: by_bin.to_datatree(predictive=True)):
        with pytest.raises(ValueError, match="needs rows with equal weights"):
            method()
    with pytest.raises(ValueError, match="`loo` needs independent rows; these are in 250 clusters"):
        bc.evaluate(*rows, cluster=np.arange(1000) // 4, rng=1).loo()
    grouped = bc.evaluate(*rows, by=np.arange(1000) % 3, pooling="partial", draws=50, rng=1)
    with pytest.raises(TypeError, match="Evaluate the rows without `pooling`"):
        grouped[0].loo()


def test_rows_whose_outcomes_may_be_unknown_are_refused(rows):
    """Targets without labels, and times of which all reach the horizon."""
    y, p = rows
    target = bc.shift.covariate(y, p, p[p < 0.5], weights=np.ones(1000), bins=5, model="dirichlet", rng=1)
    times = bc.survival.evaluate(np.linspace(1, 9, 1000), np.ones(1000, int), p, horizon=5, bins=5, draws=50, rng=1)
    for result in (target, times):
        for method in (result.loo, result.sensitivity, lambda result=result: result.to_datatree(predictive=True)):
            with pytest.raises(TypeError, match="exists for BinnedCounts, whose rows all have an observed outcome"):
                method()


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "seed"), [(40, 1), (400, 2)])
def test_one_outcome_of_its_kind(n_rows, seed):
    """The probability of the only positive row is small where the posterior with it has few draws."""
    p = np.random.default_rng(seed).choice([0.1, 0.3, 0.5, 0.7, 0.9], n_rows)
    y = np.zeros(n_rows, int)
    y[0] = 1
    at = int(np.floor(p[0] * 5))
    loo = bc.evaluate(y, p, bins=5, rng=1).loo()
    (value,) = loo.elpd_i.values[loo.elpd_i.row_outcome == 1]
    drawn = bc.evaluate(y[1:], p[1:], bins=5, rng=2, draws=40_000).bin_draws.accuracy[:, at]
    error = drawn.std() / np.sqrt(len(drawn)) / drawn.mean()
    assert value == pytest.approx(np.log(drawn.mean()), abs=4 * error + 0.05)  # 0.05: the grid of noisy labels


def test_saturated_bins_have_the_same_prior_under_every_sub_model():
    """Without the pool, the marginal likelihoods with and without a row give its leave-one-out probability."""
    rng = np.random.default_rng(3)
    p = np.r_[np.zeros(60), rng.choice([0.3, 0.7], 60), np.ones(60)]
    y = (rng.random(180) < np.clip(p, 0.05, 0.9)).astype(int)
    options = {"bins": [0, 1e-9, 0.5, 1 - 1e-9, 1], "sub_models": ["logistic", "exact", "saturated"], "pool": False}
    whole = bc.evaluate(y, p, target="event", rng=1, **options)
    loo = whole.loo().elpd_i
    for i in range(0, 180, 20):
        rest = bc.evaluate(np.delete(y, i), np.delete(p, i), target="event", rng=1, **options)
        gain = whole.posterior.log_marginal_likelihood - rest.posterior.log_marginal_likelihood
        at = int(np.searchsorted(whole.counts.bins.edges, p[i], side="right") - 1)
        value = loo.values[(loo.row_bin == min(at, 3)) & (loo.row_outcome == y[i])][0]
        assert value == pytest.approx(gain, abs=1e-4)


def test_the_effective_number_of_parameters_is_finite():
    evaluation = bc.evaluate([0, 1, 1, 0], [0.0, 0.0, 1.0, 0.6], bins=5, sub_models=["exact"], target="event", rng=1)
    assert evaluation.loo().p == pytest.approx(0, abs=1e-9)
    assert np.isfinite(evaluation.to_datatree(predictive=True)["log_likelihood"]["outcome"]).all()


def test_a_tiny_prior_keeps_its_digits():
    evaluation = bc.evaluate([0, 1, 0], [0.2, 0.3, 0.4], bins=1, model="dirichlet", alpha=1e-12, rng=1)
    value = evaluation.loo().elpd_i.values[-1]
    assert value == pytest.approx(np.log(1e-12) - np.log(2 + 2e-12), rel=1e-12)


def test_equal_weights_are_no_weights(rows, evaluation):
    assert bc.evaluate(*rows, bins=5, weights=np.full(1000, 3.0), rng=1).loo().elpd == pytest.approx(
        evaluation.loo().elpd
    )
