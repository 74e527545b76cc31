"""The registry of mistakes: none is lost, each has its problem, and each is one."""

import numpy as np
import pytest
from sbc.mistakes import controls, problems, unspoilt

pytestmark = pytest.mark.measuring


def test_the_mistakes_that_were_asked_for():
    """By name, so that none is lost."""
    wanted = [
        "prior forgotten",
        "posterior = prior",
        "variance for standard deviation",
        "alpha off by one",
        "half the data",
        "Beta arguments swapped",
        "weights ignored",
        "last bin's rows dropped",
        "truncation on the wrong side",
        "truncation forgotten",
        "n for n + 1 in the precision",
        "width / 12 for width^2 / 12",
        "middle of the bin for the observed mean",
        "masses from counts without prior",
        "masses independent of each other",
        "accuracy of the neighbouring bin",
        "float32",
        "one uniform for accuracy and mean confidence",
        "rows of alpha swapped",
        "each draw thrice",
    ]
    names = [control.name for control in controls("dirichlet")]
    assert set(wanted) <= set(names)
    assert len(set(names)) == len(names)


def test_the_mistakes_of_the_shrinkage_sampler():
    wanted = [
        "slab's predictive probability omitted",
        "sub-models by prior weight: evidence forgotten",
        "posterior = prior",
        "height for evidence: no Occam factor",
        "drift drawn as none",
        "Beta of the prior, without the counts",
        "h and 1 - h swapped in the Beta",
        "kappa = 1 / tau for 1 / tau^2 - 1",
        "one tau for the bins of a draw",
        "tau uniform for tau^(-1/2)",
        "Normal for Beta",
        "dense scale doubled",
        "one rho, the mean of the four",
    ]
    names = [control.name for control in controls("shrinkage")]
    assert set(wanted) <= set(names)
    assert len(set(names)) == len(names)


def test_each_new_sub_model_has_several_mistakes():
    wanted = [
        "runs: changes forgotten, all bins one segment",
        "runs: off by the prior, whatever the counts",
        "runs: shift of the wrong sign",
        "runs: likelihood of the first bin alone",
        "runs: neighbouring segments tied",
        "amount: all bins that are off are above",
        "amount: rho = 1/2",
        "amount: that of another draw",
        "noise: rate 1/2 where it is unknown",
        "noise: share of the prior",
        "noise: u for u^2",
        "small: scales of independent bins",
        "small: drift forgotten",
        "saturated: Beta(1, 1) alone",
        "saturated: weights of the prior",
        "saturated: contrary outcomes forgotten",
        "families by prior weight: evidence forgotten",
        "weight of the pool forgotten: all sub-models equal",
    ]
    names = [control.name for control in controls("shrinkage")]
    assert set(wanted) <= set(names)
    for prefix in ("runs", "amount", "small", "noise", "saturated"):
        assert sum(name.startswith(f"{prefix}:") for name in names) >= 5


def test_problems_and_samplers():
    every = controls()
    samplers = ("dirichlet", "shrinkage", "recalibration", "net benefit", "smooth curve")
    samplers += ("random effects", "pooling", "class frequencies", "shift of cells", "judge")
    assert len(every) == sum(len(controls(of)) for of in samplers)
    assert {control.problem for control in every} == set(problems())


def test_every_control_draws_from_its_own_problem():
    """Each differs from the right sampler given the same seed, and keeps the shape."""
    given = {}
    for control in (*controls(), *unspoilt()):
        simulator, of = problems()[control.problem], (control.problem, control.of == "dirichlet")
        if of not in given:
            _, counts = simulator.simulate(20 if control.of == "dirichlet" else 6, np.random.default_rng(3))
            given[of] = counts, everything(simulator.sample(counts, 99, np.random.default_rng(4)))
        counts, right = given[of]
        wrong = everything(control.sampler(simulator)(counts, 99, np.random.default_rng(4)))
        assert wrong.keys() == right.keys(), control.name
        assert all(np.shape(wrong[name]) == np.shape(right[name]) for name in right), control.name
        differs = any(not np.array_equal(right[name], wrong[name]) for name in right)
        assert differs or control in unspoilt(), control.name


def everything(drawn):
    if isinstance(drawn, dict):  # named quantities
        return drawn
    bins = {name: getattr(drawn, name) for name in ("mass", "accuracy", "confidence", "weight")}
    return bins | dict(getattr(drawn, "behind", {}))
