"""Class frequencies of a target in PyMC."""

import numpy as np
import pytest
from twins.examples import three_classes

pytestmark = pytest.mark.slow


def test_the_model_has_the_counts_and_the_priors():
    """Logarithm of the density by hand, at one point: Dirichlet priors, Multinomial counts, and the transforms."""
    pytest.importorskip("pymc")
    from scipy import stats

    twin = three_classes()
    model, counts = twin.model(), twin.posterior.counts
    pi, cells = (
        np.array([0.5, 0.3, 0.2]),
        np.array([[6, 5, 1, 1, 1, 1], [1, 1, 4, 4, 1, 1], [1, 1, 1, 1, 2, 3]])
        / [
            [15],
            [12],
            [9],
        ],
    )
    point = {}
    for variable, value in ((model["pi"], pi), (model["cells"], cells)):
        own = model.rvs_to_values[variable]
        point[own.name] = model.rvs_to_transforms[variable].forward(value).eval()
    by_hand = (
        stats.dirichlet.logpdf(pi, np.ones(3))
        + sum(stats.dirichlet.logpdf(each, np.full(6, 0.5)) for each in cells)
        + sum(stats.multinomial.logpmf(s, s.sum(), c) for s, c in zip(counts.source, cells, strict=True))
        + stats.multinomial.logpmf(counts.target, counts.target.sum(), pi @ cells)
    )
    logp = float(model.compile_logp(jacobian=False, mode="FAST_COMPILE")(point))
    assert logp == pytest.approx(by_hand, abs=1e-4)  # the transform of a simplex rounds


def test_the_twin_names_the_same_quantities():
    twin = three_classes()
    drawn = twin.of_closed_form(50, np.random.default_rng(1))
    assert {"pi[0]", "pi[1]", "pi[2]"} <= drawn.keys()
    assert len(drawn) == 18
