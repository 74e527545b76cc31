"""Simulated clusters: dependence as stated, outcomes as frequent as the curve says."""

import numpy as np
import pytest
from scipy import stats

from bayescal.datasets.clustered import simulate_clusters, uniform_in_clusters


def test_rows_of_a_cluster_are_equal_if_all_is_shared_and_uniform_in_any_case():
    cluster = np.repeat(np.arange(2000), 3)
    shared = uniform_in_clusters(cluster, 1.0, np.random.default_rng(1)).reshape(-1, 3)
    assert (shared == shared[:, :1]).all()
    half = uniform_in_clusters(cluster, 0.5, np.random.default_rng(2)).reshape(-1, 3)
    for column in (shared[:, 0], half[:, 0], half[:, 2]):
        assert stats.kstest(column, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_latent_variables_have_the_stated_correlation(share):
    """The standard error of a correlation r of n pairs is (1 - r^2) / sqrt(n); four of them."""
    cluster = np.repeat(np.arange(20_000), 2)
    latent = stats.norm.ppf(uniform_in_clusters(cluster, share, np.random.default_rng(3))).reshape(-1, 2)
    assert np.corrcoef(latent.T)[0, 1] == pytest.approx(share, abs=4 * (1 - share**2) / np.sqrt(20_000))


def test_outcomes_are_as_frequent_as_the_curve_says():
    """Clusters are independent: the variance of a mean over clusters gives the standard error; four of them."""
    rows = simulate_clusters([4] * 5000, dependence=0.6, alike=0.3, population="rare", curve="shift", rng=4)
    excess = (rows.outcome - rows.curve(rows.confidence)).reshape(-1, 4).mean(axis=1)
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(5000)
    assert rows.cluster.tolist() == np.repeat(np.arange(5000), 4).tolist()


@pytest.mark.parametrize(
    ("sizes", "keywords", "message"),
    [
        ([3, 0], {"dependence": 0.5}, "`sizes` must be a list of whole numbers >= 1"),
        ([], {"dependence": 0.5}, "`sizes`"),
        ([3], {"dependence": 1.5}, r"`dependence` must lie in \[0, 1\], not 1.5"),
        ([3], {"dependence": 0.5, "alike": -0.1}, r"`alike` must lie in \[0, 1\]"),
    ],
)
def test_wrong_clusters_are_refused(sizes, keywords, message):
    with pytest.raises(ValueError, match=message):
        simulate_clusters(sizes, **keywords)
    with pytest.raises(TypeError, match="whose quantiles are known"):
        simulate_clusters([3], dependence=0.5, population=lambda rng, n: rng.random(n))
