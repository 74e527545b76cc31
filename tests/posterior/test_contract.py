"""Capabilities: which posterior has which, and that code asks for them and not for classes."""

import pytest

import bayescal as bc
from bayescal.posterior.contract import HasHypotheses, HasParameters, Pooled


@pytest.fixture(scope="module")
def posteriors():
    y, p, group = [0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.8, 0.1, 0.6, 0.9], ["a", "b"] * 3
    groups = bc.evaluate(y, p, by=group, pooling="partial", bins=3, draws=20, rng=1)
    counts = bc.BinnedCounts.from_arrays(y, p, bins=3)
    return {
        "dirichlet": bc.dirichlet_posterior(counts),
        "shrinkage": bc.shrinkage_posterior(counts),
        "group": groups["b"].posterior,
    }


@pytest.mark.parametrize(
    ("capability", "names"),
    [(HasHypotheses, {"shrinkage"}), (HasParameters, {"shrinkage"}), (Pooled, {"group"})],
)
def test_capabilities(posteriors, capability, names):
    assert {name for name, each in posteriors.items() if isinstance(each, capability)} == names


def test_every_posterior_has_counts_a_prior_in_words_and_draws(posteriors):
    """Draws are on axis 0, masses add to 1, and the place of a group is its position."""
    for each in posteriors.values():
        drawn = each.sample(7, rng=1)
        assert drawn.mass.shape == drawn.accuracy.shape == (7, len(each.counts.bins))
        assert drawn.mass.sum(axis=1) == pytest.approx(1)
        assert isinstance(each.prior, str)
    assert (posteriors["group"].place, posteriors["group"].pooling) == (1, "partial")
