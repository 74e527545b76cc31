"""The data tree of an evaluation: prior, predictive groups and log likelihood, for ArviZ's tables and plots."""

import arviz as az
import numpy as np
import pytest

import bayescal as bc
from bayescal.results import model_checks

MODELS = ["shrinkage", "dirichlet"]


@pytest.fixture(scope="module")
def rows():
    """300 rows in four of five bins."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.79, 300)
    return (rng.random(300) < p).astype(int), p


@pytest.fixture(scope="module", params=MODELS)
def evaluation(request, rows):
    return bc.evaluate(*rows, bins=5, model=request.param, rng=1)


@pytest.fixture(scope="module")
def tree(evaluation):
    return evaluation.to_datatree(prior=True, predictive=True)


def test_groups(evaluation, tree):
    groups = {"posterior", "prior", "posterior_predictive", "prior_predictive", "log_likelihood", "observed_data"}
    assert groups < set(tree.children)
    assert set(tree["posterior"].data_vars) == set(tree["prior"].data_vars)
    assert set(evaluation.to_datatree(predictive=True).children) == set(tree.children) - {"prior", "prior_predictive"}
    assert set(evaluation.to_datatree(prior=True).children) >= {"prior", "observed_data"}
    assert "log_likelihood" not in evaluation.to_datatree(prior=True).children
    without = evaluation.to_datatree()
    assert "prior" not in without.attrs  # ArviZ would take it for the group
    assert without.attrs["model_prior"] == evaluation.posterior.prior


def test_the_prior_is_that_of_empty_counts(evaluation, tree):
    of_prior = bc.evaluate_counts(bc.BinnedCounts.empty(5, target="event"), model=evaluation.model, rng=1)
    np.testing.assert_array_equal(tree["prior"]["ece"].values.ravel(), of_prior.ece.values)
    kept = tree["prior"]["bin"].values
    np.testing.assert_array_equal(
        tree["prior"]["accuracy"].values.reshape(4000, -1), of_prior.bin_draws.accuracy[:, kept]
    )


def test_the_log_likelihood_is_that_of_each_row(evaluation, tree, rows):
    values = tree["log_likelihood"]["outcome"]
    assert values.dims == ("chain", "draw", "row")
    accuracy = evaluation.bin_draws.accuracy
    at = np.minimum((rows[1] * 5).astype(int), 4)
    expected = np.where(rows[0], accuracy[:, at], 1 - accuracy[:, at])
    order = np.lexsort((rows[0], at))
    np.testing.assert_allclose(values.values.reshape(4000, 300), np.log(expected)[:, order])
    np.testing.assert_array_equal(values["row_bin"], at[order])
    np.testing.assert_array_equal(values["row_outcome"], rows[0][order])


def test_predicted_shares_have_the_moments_of_a_binomial(evaluation, tree):
    """Given the accuracy t, a share of n rows has mean t and variance t (1 - t) / n: within five errors in each bin."""
    counts = evaluation.counts
    np.testing.assert_allclose(tree["observed_data"]["observed_share"], counts.k[:4] / counts.n[:4])
    np.testing.assert_array_equal(tree["posterior_predictive"]["bin"], [0, 1, 2, 3])
    for group, bins in (
        ("posterior_predictive", evaluation.bin_draws),
        ("prior_predictive", evaluation.under_prior().bin_draws),
    ):
        shares = tree[group]["observed_share"].values.reshape(4000, 4)
        accuracy = bins.accuracy[:, :4]
        variance = accuracy.var(axis=0) + (accuracy * (1 - accuracy)).mean(axis=0) / counts.n[:4]
        assert (np.abs(shares.mean(axis=0) - accuracy.mean(axis=0)) < 5 * np.sqrt(variance / 4000)).all()
        np.testing.assert_allclose(shares.var(axis=0), variance, rtol=0.15)
        assert np.allclose(shares * counts.n[:4], np.round(shares * counts.n[:4]))


def test_predicted_outcomes_of_rows(evaluation):
    tree = evaluation.to_datatree(predictive="rows")
    outcome, seen = tree["posterior_predictive"]["outcome"], tree["observed_data"]["outcome"]
    assert set(np.unique(outcome)) == {0, 1}
    assert int(seen.sum()) == int(evaluation.counts.k.sum())
    by_row = outcome.mean(("chain", "draw"))
    expected = evaluation.bin_draws.accuracy.mean(axis=0)[seen["row_bin"].values]
    assert np.abs(by_row - expected).max() < 5 * 0.5 / np.sqrt(4000)


def test_constants_are_not_in_the_posterior():
    """Two bins of five have rows; under the shrinkage model their confidences are known."""
    tree = bc.evaluate([0, 1, 1, 0], [0.1, 0.1, 0.5, 0.5], bins=5, rng=1).to_datatree(prior=True)
    assert "confidence" not in tree["posterior"]
    np.testing.assert_allclose(tree["constant_data"]["confidence"], [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_array_equal(tree["posterior"]["bin"], [0, 2])
    np.testing.assert_array_equal(tree["prior"]["bin"], [0, 2])
    assert not any(np.isnan(values).any() for values in tree["posterior"].data_vars.values())
    exact = bc.evaluate([0, 1], [0.1, 0.9], bins=5, sub_models="exact", rng=1).to_datatree()
    assert float(exact["constant_data"]["ece"]) == 0
    assert set(exact["posterior"].data_vars) == {"mass"}


@pytest.mark.filterwarnings("error")
def test_constants_up_to_rounding_are_constants():
    """The mass of the only bin is 1 or the number below."""
    tree = bc.evaluate([0, 1, 1], [0.2, 0.4, 0.9], bins=1, rng=1).to_datatree(prior=True)
    assert "mass" in tree["constant_data"]
    assert "mass" not in tree["posterior"]


def test_every_mean_of_the_summary_is_that_of_the_tree(tree):
    table = az.summary(tree)
    for name, row in table.iterrows():
        quantity, _, at = name.partition("[")
        values = tree["posterior"][quantity]
        mean = float((values.sel(bin=int(at[:-1])) if at else values).mean())
        assert abs(float(row["mean"]) - mean) < 0.01, name
        assert float(row["r_hat"]) < 1.02
        assert float(row["ess_bulk"]) > 2000


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "plot",
    ["plot_prior_posterior", "plot_ppc_dist", "plot_ppc_pit", "plot_forest", "plot_rank_dist", "plot_trace_dist"],
)
def test_plots_of_arviz(tree, plot):
    from matplotlib import pyplot as plt

    names = {"var_names": ["ece", "signed_error"]} if plot != "plot_forest" and "ppc" not in plot else {}
    getattr(az, plot)(tree, **names)
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_functions_of_arviz_for_predictions(evaluation, tree):
    from matplotlib import pyplot as plt

    az.plot_ppc_dist(tree, group="prior_predictive")
    az.plot_ppc_pava(evaluation.to_datatree(predictive="rows"))
    plt.close("all")
    assert az.loo(tree).elpd == pytest.approx(evaluation.loo().elpd, abs=1)
    pit = az.loo_pit(evaluation.to_datatree(predictive="rows"))["outcome"]
    assert ((pit >= 0) & (pit <= 1)).all()


@pytest.mark.filterwarnings("error")
def test_arviz_compares_trees(rows):
    trees = {model: bc.evaluate(*rows, bins=5, model=model, rng=1).to_datatree(predictive=True) for model in MODELS}
    assert az.compare(trees).index[0] == "shrinkage"


def test_a_tree_with_all_groups_is_kept_by_netcdf(tree, tmp_path):
    import xarray as xr

    path = tmp_path / "tree.nc"
    tree.to_netcdf(path)
    loaded = az.from_netcdf(path)
    assert set(loaded.children) == set(tree.children)
    for group in tree.children:
        xr.testing.assert_equal(tree[group].to_dataset(), loaded[group].to_dataset())


def test_what_is_refused(rows, monkeypatch):
    evaluation = bc.evaluate(*rows, bins=5, rng=1)
    with pytest.raises(ValueError, match="`predictive` must be one of"):
        evaluation.to_datatree(predictive="bins")
    with pytest.raises(ValueError, match="`prior` must be one of"):
        evaluation.to_datatree(prior="yes")
    monkeypatch.setattr(model_checks, "MOST_ROWS", 299)
    with pytest.raises(ValueError, match=r"at most 299 rows; there are 300. `ev.loo\(\)` is exact"):
        evaluation.to_datatree(predictive=True)
    monkeypatch.setattr(model_checks, "MOST_ROWS", 300)
    monkeypatch.setattr(model_checks, "MOST_VALUES", 300 * 4000 - 1)
    with pytest.raises(ValueError, match=r"there are 300 rows and 4000 draws\. Evaluate with `draws=3996` or fewer"):
        evaluation.to_datatree(predictive=True)
    with pytest.raises(ValueError, match="`predictive` needs rows"):
        evaluation.under_prior().to_datatree(predictive=True)


def test_the_limit_is_stated():
    assert "20 000 rows" in bc.Evaluation.to_datatree.__doc__
    assert model_checks.MOST_ROWS == 20_000
