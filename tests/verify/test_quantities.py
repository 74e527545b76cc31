"""Quantities of chains and of the closed form under the same names."""

import numpy as np
import pytest

from bayescal import BinnedCounts, dirichlet_posterior, shrinkage_posterior
from bayescal.verify.quantities import (
    CALIBRATED,
    is_probability,
    of_closed_form,
    of_pymc,
    probability_of,
    sub_models_of,
)

COUNTS = BinnedCounts.from_arrays([0, 1, 1, 0, 1], [0.1, 0.15, 0.6, 0.7, 0.9], bins=[0, 0.2, 0.4, 1])


def test_closed_forms_have_one_entry_per_number():
    """Three bins, of which the second is empty: it has no mass under the shrinkage model, and one under Dirichlet."""
    drawn = of_closed_form(dirichlet_posterior(COUNTS), (0.1,), 50, rng=np.random.default_rng(1))
    assert {f"{name}[{b}]" for name in ("mass", "accuracy", "confidence", "gap") for b in range(3)} <= set(drawn)
    np.testing.assert_array_equal(drawn["P(ece <= 0.1)"], drawn["ece"] <= 0.1)
    posterior = shrinkage_posterior(COUNTS, sub_models=["logistic", "exact"])
    drawn = of_closed_form(posterior, (), 50, rng=np.random.default_rng(1))
    assert {"mass[0]", "mass[2]", "accuracy[2]", "intercept", "slope"} <= set(drawn)
    assert not {"mass[1]", "gap[0]", "P(off)[0]"} & set(drawn)
    assert drawn["P(exact)"] == posterior.probabilities["exact"]
    assert drawn[CALIBRATED] == posterior.p_calibrated


def test_sub_models_take_part_with_a_weight():
    """By the options; saturated bins leave exact calibration alone."""
    assert sub_models_of(shrinkage_posterior(COUNTS, sub_models=["shared", "exact"])) == ["runs", "offset", "exact"]
    weights = {"sub_models": ["independent"], "sub_model_weights": (0, 1, 0, 0, 2)}
    assert sub_models_of(shrinkage_posterior(COUNTS, **weights)) == ["dense", "logistic_sparse"]
    saturated = BinnedCounts.from_arrays([0, 1, 1], [0.0, 1.0, 1.0], bins=3)
    assert sub_models_of(shrinkage_posterior(saturated)) == ["exact"]


def test_probabilities_have_no_standard_deviation():
    assert all(map(is_probability, ("P(ece <= 0.1)", "P(off)[3]", probability_of("runs"), CALIBRATED)))
    assert not any(map(is_probability, ("ece", "slope", "accuracy[2]")))


@pytest.mark.slow
def test_the_original_weights_are_taken_from_the_cells():
    """P(bin | outcome 1) for the mass, by hand, for chains of two draws."""
    import arviz as az

    rng = np.random.default_rng(1)
    confidence = rng.random(80)
    counts = BinnedCounts.from_arrays(rng.random(80) < confidence, confidence, bins=3)
    rng = np.random.default_rng(3)
    q = rng.dirichlet(np.ones(6), (1, 2)).reshape(1, 2, 2, 3)
    mass, confidence = q.sum(axis=2), np.array([[[0.2, 0.5, 0.8], [0.1, 0.6, 0.9]]])
    accuracy = q[:, :, 1] / mass
    values = {"q": q, "mass": mass, "accuracy": accuracy, "confidence": confidence, "ece": np.zeros((1, 2))}
    dims = {name: ["bin"] for name in ("mass", "accuracy", "confidence")} | {"q": ["outcome", "bin"]}
    tree = az.from_dict({"posterior": values}, dims=dims, coords={"bin": [0, 1, 2], "outcome": [0, 1]})
    found = of_pymc(tree, dirichlet_posterior(counts, formula="original"), ())
    by_hand = (q[0, :, 1] / q[0, :, 1].sum(axis=1, keepdims=True) * (accuracy - confidence)[0]).sum(axis=1)
    np.testing.assert_allclose(found["signed_error"], by_hand)
