"""Distributions of source and target over cells in PyMC."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from twins.examples import four_cells

pytestmark = pytest.mark.slow


def test_the_model_has_the_counts_and_the_priors():
    """Logarithm of the density by hand, at one point: all eight concentrations, and both tables of counts."""
    pytest.importorskip("pymc")
    from scipy import stats

    twin = four_cells()
    model, rows = twin.model(), (twin.posterior.source, twin.posterior.target)
    common, source, target = np.array([[4, 3, 2, 1], [5, 4, 2, 1], [3, 4, 2, 3]]) / [[10], [12], [12]]
    point = {"u_equal_interval__": 0.0}  # a Uniform, whose log density is 0
    for variable, value in ((model["common"], common), (model["sides"], np.stack([source, target]))):
        own = model.rvs_to_values[variable]
        point[own.name] = model.rvs_to_transforms[variable].forward(value).eval(mode="FAST_COMPILE")

    def of_rows(*shares):
        return sum(stats.multinomial.logpmf(n, n.sum(), p) for n, p in zip(rows, shares, strict=True))

    def of_sides(variation):
        c = 3 / (np.pi * variation**2)
        return sum(stats.dirichlet.logpdf(side, c * common) for side in (source, target))

    each = [of_sides(v) + of_rows(source, target) for v in (0.64, 0.32, 0.16, 0.08, 0.04, 0.02, 0.01)]
    each.append(of_sides(0.08) + of_rows(common, common))  # the pseudo-prior of both sides
    flat = 2 * stats.dirichlet.logpdf(source, np.ones(4))
    by_hand = stats.dirichlet.logpdf(common, np.full(4, 1 / 4)) + flat + logsumexp(each)
    logp = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    assert float(logp(point)) == pytest.approx(by_hand, abs=1e-3)  # the transform of a simplex rounds


def test_sides_without_a_difference_are_the_common_distribution():
    """Draws of both sides that belong to the pseudo-prior are not used."""
    twin, rng = four_cells(), np.random.default_rng(1)
    common, sides = rng.dirichlet(np.ones(4), (4, 5)), rng.dirichlet(np.ones(4), (4, 5, 2))
    for last in (0.0, 1.0):
        probability = np.broadcast_to(np.append(np.full(7, (1 - last) / 7), last), (4, 5, 8))
        arrays = {"common": common, "sides": sides, "probability": probability}
        tree = SimpleNamespace(posterior={name: SimpleNamespace(values=each) for name, each in arrays.items()})
        found = twin.of_pymc(tree)
        expected = common if last else sides[..., 1, :]
        np.testing.assert_array_equal(found["target[2]"], expected[..., 2].ravel())
        assert (found["total variation"] == 0).all() == bool(last)
        np.testing.assert_array_equal(found["P(concentration 7)"], last)


def test_the_twin_names_the_same_quantities():
    drawn = four_cells().of_closed_form(80, np.random.default_rng(1))
    assert {"total variation", "source[0]", "target[3]", "difference[1]", "P(concentration 7)"} <= drawn.keys()
    assert len(drawn) == 29
    assert sum(drawn[f"P(concentration {i})"] for i in range(8)) == pytest.approx(np.ones(2))
