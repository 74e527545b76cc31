"""Merging of ordered sums into bins; expected values are computed from the rows."""

import numpy as np
import pytest

from bayescal.cumulative.statistics import cumulative_curve
from bayescal.data.predictions import Predictions
from bayescal.stats.contract import Counts
from bayescal.stats.ordered import OrderedSums, merge_scores


def merged(outcome, score, n_bins, weights=None):
    rows = Predictions.from_outcomes(outcome, score, weights)
    steps = OrderedSums.from_rows(rows)
    return merge_scores(steps, n_bins), steps


def test_bins_have_equal_mass_and_sums_of_their_rows():
    rng = np.random.default_rng(1)
    score, weight = rng.random(1000), rng.exponential(size=1000)
    outcome = (rng.random(1000) < score).astype(int)
    counts, steps = merged(outcome, score, 64, weight)
    assert isinstance(counts, Counts)
    assert len(counts.n) == 64
    order = np.argsort(score)
    end = np.cumsum(counts.n)
    for b, part in enumerate(np.split(order, end[:-1])):
        w, z, c = weight[part], outcome[part], score[part]
        assert counts.upper[b] == c.max()
        assert counts.mean_confidence[b] == pytest.approx((w * c).sum() / w.sum(), rel=1e-12)
        assert counts.accuracy[b] == pytest.approx((w * z).sum() / w.sum(), rel=1e-11, abs=1e-13)
        assert counts.effective_n[b] == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-12)
        assert counts.share[b] == pytest.approx(w.sum() / weight.sum(), rel=1e-12)
        # an equal share to within the weights at its two ends
        assert abs(counts.share[b] - 1 / 64) <= weight.max() / weight.sum()
    assert counts.effective_rows == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=1e-12)
    at = np.searchsorted(np.sort(score), counts.upper)
    np.testing.assert_allclose(counts.curve, cumulative_curve(steps)[1:][at], atol=1e-15)
    assert counts.n_rows == 1000
    assert counts.weighted


@pytest.mark.parametrize("n_bins", [1, 2, 3, 5, 64])
def test_ties_are_never_divided(n_bins):
    score = np.repeat([0.0, 0.2, 0.3, 0.9, 1.0], [50, 1, 200, 3, 46])
    counts, _ = merged(np.arange(300) % 2, score, n_bins)
    assert len(counts.n) <= n_bins
    ends = np.cumsum(counts.n)
    assert set(ends) <= {50, 51, 251, 254, 300}
    assert counts.n.sum() == 300
    assert (np.diff(counts.bins.edges) > 0).all()
    edges = counts.bins.edges
    assert ((edges[1:-1] < counts.upper[1:]) & (counts.upper[:-1] < edges[1:-1])).all()
    # with 5 bins of 60 rows, the ends nearest to 60, 120, 180 and 240 are 51, 51, 251 and 251
    expected = {1: [300], 5: [51, 251, 300], 64: [50, 51, 251, 254, 300]}
    assert ends.tolist() == expected.get(n_bins, ends.tolist())


def test_one_row():
    counts, _ = merged([1], [0.7], 64)
    assert counts.n.tolist() == [1]
    assert counts.curve == pytest.approx([0.3])


def test_mean_step_of_equal_steps():
    """With equal accuracies, n equal steps have a mean of 1 / sqrt(n)."""
    counts, _ = merged(np.arange(640) % 2, np.linspace(0.1, 0.9, 640), 64)
    accuracy = np.full(64, 0.3)
    assert counts.mean_step(accuracy, between="scores") == pytest.approx(640**-0.5, rel=1e-12)
    assert counts.mean_step(accuracy, between="bins") == pytest.approx(1 / 8, rel=1e-12)
    np.testing.assert_allclose(counts.variance(accuracy), np.full(64, 0.21 * 10 / 640**2), rtol=1e-12)


def test_counts_of_equal_mass_cannot_be_added():
    counts, _ = merged([0, 1], [0.2, 0.7], 2)
    with pytest.raises(TypeError, match="cannot be added"):
        counts + counts
