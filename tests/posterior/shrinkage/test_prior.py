"""The prior in words, and probabilities of sub-models given evidences: the pool, its shares and the alternatives."""

from functools import partial

import numpy as np
import pytest

from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.posterior.shrinkage.prior import (
    ENDS,
    FAMILIES,
    INDEPENDENT,
    alternatives,
    log_average,
    pool_shares,
    posterior_probabilities,
)

independent_posterior = partial(shrinkage_posterior, sub_models=[INDEPENDENT])


def test_the_prior_in_words():
    empty = BinnedCounts.empty(2)
    assert shrinkage_posterior(empty).prior == ""
    changed = shrinkage_posterior(empty, dense_scale=0.3, rho=0.2)
    assert changed.prior == "prior with dense_scale=0.3, rho=(0.2,)"
    assert independent_posterior(empty).prior == "prior with sub_models=['independent']"
    some = shrinkage_posterior(empty, sub_models=["noise", "logistic"])
    assert some.prior == "prior with sub_models=['noise', 'logistic']"


#: The sub-models by family, where no bin at an end is crowded and where one is; the names of the former.
CROWDED = FAMILIES
FAMILIES = {f: {name: w for name, w in of.items() if name != ENDS} for f, of in CROWDED.items()}
ALL = [name for family in FAMILIES.values() for name in family]


def test_families_of_the_pool_have_equal_shares():
    evidence = dict.fromkeys(ALL, -50.0) | {"logistic": 0.0, "runs": -20.0, "small_errors": -8.0, "label_noise": 1.0}
    found = posterior_probabilities(FAMILIES, evidence)
    assert sum(found.values()) == pytest.approx(1)
    # average evidence of the pool: (1/5 + e^-20 2/3 + e^-8) / 3, with weight 10; noise has weight 0.5
    pool, noise = 10 * (1 / 5 + np.exp(-20) / 1.5 + np.exp(-8)) / 3, 0.5 * np.e
    assert found["label_noise"] == pytest.approx(noise / (pool + noise), rel=1e-9)
    for name in ("logistic", "runs", "small_errors"):
        assert found[name] == pytest.approx(pool / 3 / (pool + noise), rel=1e-9)


@pytest.mark.parametrize(("log_evidence", "share"), [(-8.0, 1 / 3), (-10.0, np.exp(-1) / 3), (-40.0, np.exp(-16) / 3)])
def test_the_share_of_small_errors_fades_if_another_family_has_far_more_evidence(log_evidence, share):
    """By the formula: a third times exp(-(d - 8) / 2); the others divide the rest."""
    families = {"independent": {"a": 1.0}, "shared": {"b": 1.0}, "small_errors": {"small_errors": 1.0}}
    found = posterior_probabilities(families, {"a": 0.0, "b": -90.0, "small_errors": log_evidence})
    assert found == pytest.approx({"a": (1 - share) / 2, "b": (1 - share) / 2, "small_errors": share}, rel=1e-9)
    # it fades in relation to the best of the other families, and not at all if they are worse
    assert posterior_probabilities(families, {"a": -99.0, "b": -90.0, "small_errors": 0.0})["b"] == pytest.approx(1 / 3)
    two = posterior_probabilities(
        {f: families[f] for f in ("shared", "small_errors")}, {"b": 0.0, "small_errors": -12.0}
    )
    assert two["small_errors"] == pytest.approx(np.exp(-2) / 2)


def test_one_family_of_the_pool_alone_has_all_of_it():
    families = {"independent": {"a": 1.0, "b": 3.0}}
    assert posterior_probabilities(families, {"a": 0.0, "b": 0.0}) == pytest.approx({"a": 0.25, "b": 0.75})


def test_alternatives_are_all_but_exact_calibration():
    found = alternatives(FAMILIES)
    assert "exact" not in found
    assert found["logistic"] == pytest.approx(10 / 3 / 5 / 11)
    assert found["runs"] == pytest.approx(10 / 3 / 1.5 / 11)
    assert found["small_errors"] == pytest.approx(10 / 3 / 11)
    assert found["label_noise"] == pytest.approx(0.5 / 11)
    assert alternatives({"exact": {"exact": 0.25}}) == {}


def test_example_of_log_average():
    assert float(
        np.exp(log_average({"a": {"a": 1.0}, "b": {"b": 3.0}}, {"a": 0.0, "b": np.log(2.0)}))
    ) == pytest.approx(1.75, abs=1e-2)


def test_example_of_pool_shares():
    shares = pool_shares({"independent": 0.0, "shared": -30.0, "small_errors": -10.0})
    assert {family: round(float(np.exp(share)), 3) for family, share in shares.items()} == {
        "independent": 0.439,
        "shared": 0.439,
        "small_errors": 0.123,
    }
