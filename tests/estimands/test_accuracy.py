"""The accuracy against sums over rows, and the targets that have one."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.accuracy import ACCURACY, accuracy, has_accuracy
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import registered


def test_the_accuracy_of_the_observed_bins_is_the_share_of_right_predictions():
    """Three classes: the most probable one is right in two of four rows, for any bins."""
    y, p = [0, 1, 2, 1], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.6, 0.3, 0.1], [0.5, 0.4, 0.1]]
    for bins in (1, 3, 15):
        counts = bc.evaluate(y, p, bins=bins, draws=2, rng=1).counts
        assert accuracy(observed_bins(counts)).values == pytest.approx([0.5])


def test_the_accuracy_is_the_mean_confidence_plus_the_signed_error():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    bins = bc.dirichlet_posterior(bc.BinnedCounts.from_arrays(rng.random(300) < p, p)).sample(50, rng=1)
    mean_confidence = (bins.mass * bins.confidence).sum(axis=1)
    np.testing.assert_allclose(accuracy(bins).values, mean_confidence + bc.signed_error(bins).values)


def test_only_predictions_have_an_accuracy():
    """Under the target "event" the same draws are the prevalence, so the estimand is not registered."""
    assert [t for t in ("top-label", "confidence", "event", "classwise") if has_accuracy(t)] == [
        "top-label",
        "confidence",
    ]
    assert "accuracy" not in registered()
    assert ACCURACY.better == "larger"
