"""Counts of a target with weighted source rows: by hand, and as labelled rows of the target."""

import numpy as np
import pytest
from shifted_sides import covariate, labelled_rows

import bayescal as bc
from bayescal.estimands.plug_in import null_bins, observed_bins
from bayescal.shift.target import TargetCounts, readings_of


def test_counts_by_hand():
    """Two bins: sums over rows, written out."""
    y, p, w = [0, 1, 1, 0], [0.1, 0.4, 0.6, 0.9], [1.0, 3.0, 2.0, 2.0]
    source = bc.BinnedCounts.from_arrays(y, p, bins=2, weights=w)
    counts = TargetCounts.from_confidences(source, np.array([0.2, 0.2, 0.3, 0.8]))
    np.testing.assert_allclose(counts.share, [3 / 4, 1 / 4])
    np.testing.assert_allclose(counts.mean_confidence, [0.7 / 3, 0.8])
    np.testing.assert_allclose(counts.accuracy, [3 / 4, 1 / 2])
    np.testing.assert_allclose(counts.effective_n, [16 / 10, 2])  # (1 + 3)^2 / (1 + 9), (2 + 2)^2 / (4 + 4)
    np.testing.assert_allclose(counts.effective_k, [12 / 10, 1])
    assert (counts.n_rows, counts.n_target_rows, counts.labelled_rows) == (4, 4, pytest.approx(64 / 18))
    # 3/4 |3/4 - 7/30| + 1/4 |1/2 - 4/5|
    assert bc.ece(observed_bins(counts)).values[0] == pytest.approx(0.75 * (0.75 - 0.7 / 3) + 0.25 * 0.3)


def test_posterior_is_that_of_labelled_target_rows_with_the_same_counts():
    """Source rows that are equally many per bin as target rows have, by hand, the counts of labelled target rows."""
    y, p = [0, 1, 1, 0, 1, 1] * 40, [0.2, 0.2, 0.3, 0.7, 0.8, 0.9] * 40
    doubled = [2.0] * 3 + [1.0] * 3  # twice the weight of the lower bin: 2/3 of the target
    target = [0.2, 0.2, 0.3] * 80 + [0.7, 0.8, 0.9] * 40
    ev = covariate(y, p, target, weights=doubled * 40, bins=2, rng=1)
    np.testing.assert_allclose(ev.counts.share, [2 / 3, 1 / 3])
    # inside each bin the weights are equal, so no evidence is lost
    np.testing.assert_allclose(ev.counts.effective_n, [120, 120])
    plain = bc.evaluate(y, p, bins=2, rng=1)
    np.testing.assert_allclose(ev.bin_draws.accuracy, plain.bin_draws.accuracy)
    assert ev.bin_draws.mass[:, 0].mean() == pytest.approx(2 / 3, abs=0.003)


def test_bins_without_source_rows():
    """Accuracies are drawn from the model; plug-in value and null distribution leave their gaps out."""
    y, p, rng = labelled_rows()
    y, p = y[p < 0.8], p[p < 0.8]
    target = rng.random(1000)
    ev = covariate(y, p, target, weights=np.ones(len(y)), bins=10, rng=1)
    share = np.mean(target >= 0.8)
    assert ev.counts.uncovered == pytest.approx(share)
    assert any(f"{100 * share:.2g} % of the target rows" in text for text in ev.remarks)
    assert np.isnan(ev.counts.accuracy[8:]).all()
    assert (observed_bins(ev.counts).gap[0, 8:] == 0).all()
    assert (null_bins(ev.counts, 50, rng=1).gap[:, 8:] == 0).all()
    labelled = bc.evaluate(*labelled_rows()[:2], bins=10, rng=1)
    assert ev.bin_draws.accuracy[:, 9].std() > 1.5 * labelled.bin_draws.accuracy[:, 9].std()


def test_few_effective_rows_per_bin_are_a_remark():
    y, p, _ = labelled_rows(100)
    ev = covariate(y, p, np.tile(p, 20), weights=np.ones(100), rng=1)
    assert any("fewer than 10 effective source rows per bin" in text for text in ev.remarks)


def test_rows_that_were_divided_are_stated():
    """0.33 + 0.33 + 0.33 is 0.99; there are no source rows."""
    cells = bc.ShiftCells.predicted_class(3)
    (text,) = readings_of(bc.ShiftCounts.of_target([[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]], cells=cells))
    summed = "1 of 2 rows sum to 1 only up to rounding (largest deviation 0.01)"
    assert text == f"Target: {summed}; the rows were divided by their sums."
