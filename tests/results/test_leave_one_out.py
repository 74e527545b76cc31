"""Leave-one-out cross-validation: refits without the row, ArviZ's estimate from draws, and what is refused."""

import arviz as az
import numpy as np
import pytest

import bayescal as bc
from bayescal.results import leave_one_out


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
    monkeypatch.setattr(leave_one_out, "MOST_POINTWISE", 999)
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
    with pytest.raises(ValueError, match="differs from the number of rows in 1 bins, first in bin 1"):
        bc.evaluate(*rows, bins=5, weights=weights, rng=1).loo()
    with pytest.raises(ValueError, match="`loo` needs independent rows; these are in 250 clusters"):
        bc.evaluate(*rows, cluster=np.arange(1000) // 4, rng=1).loo()
    grouped = bc.evaluate(*rows, by=np.arange(1000) % 3, pooling="partial", draws=50, rng=1)
    with pytest.raises(TypeError, match="evaluate the rows without `pooling`"):
        grouped[0].loo()


def test_equal_weights_are_no_weights(rows, evaluation):
    assert bc.evaluate(*rows, bins=5, weights=np.full(1000, 3.0), rng=1).loo().elpd == pytest.approx(
        evaluation.loo().elpd
    )
