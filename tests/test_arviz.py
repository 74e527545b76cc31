"""A data tree holds what ArviZ's plots and tables expect."""

import arviz as az
import numpy as np
import pytest
from matplotlib.text import Text

import bayescal as bc


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    return bc.evaluate((rng.random(400) < p**1.5).astype(int), p, bins=3, rng=1, draws=200)


def test_a_forest_shows_quantities_and_no_index(evaluation):
    from matplotlib import pyplot as plt

    shown = az.plot_forest(evaluation.to_datatree())
    words = {text.get_text() for text in plt.gcf().findobj(Text)}
    assert {"ece", "signed_error", "gap", "intercept", "slope"} <= words
    assert "sub_model" not in words
    assert "sub_model" not in shown.viz["/"].data_vars


def test_a_summary_takes_the_whole_tree(evaluation):
    tree = evaluation.to_datatree()
    with np.errstate(divide="ignore", invalid="ignore"):  # confidence is the same in every draw
        table = az.summary(tree, round_to="none")
    assert {"ece", "slope", "gap[0]", "gap[2]"} <= set(table.index)
    assert float(table.loc["ece", "mean"]) == pytest.approx(evaluation.ece.values.mean())
    assert float(table.loc["gap[2]", "mean"]) == pytest.approx(evaluation.bin_draws.gap[:, 2].mean())


def test_counts_and_edges_can_be_put_beside_the_draws(evaluation):
    tree = evaluation.to_datatree()
    gap = tree["posterior"]["gap"].assign_coords(tree["constant_data"].coords)
    np.testing.assert_allclose(gap["bin_low"], [0, 1 / 3, 2 / 3])
    assert int(gap["n"].sum()) == 400


def test_the_sub_model_of_each_draw_is_kept_beside_the_posterior(evaluation, tmp_path):
    tree = evaluation.to_datatree()
    path = tmp_path / "tree.nc"
    tree.to_netcdf(path)
    for of in (tree, az.from_netcdf(path)):
        sub_model = of["sample_stats"]["sub_model"]
        assert sub_model.dims == ("chain", "draw")
        np.testing.assert_array_equal(sub_model.values.ravel(), evaluation.parameters.sub_model)
        assert "sub_model" not in of["posterior"]
        assert "bin" not in of["sample_stats"].coords
        assert len(of.attrs["sub_models"]) == len(evaluation.sub_models) > sub_model.max()


def test_other_models_have_no_sub_models():
    tree = bc.evaluate([0, 1, 1], [0.2, 0.7, 0.9], model="dirichlet", rng=1).to_datatree()
    assert "sample_stats" not in tree.children
