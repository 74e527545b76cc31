"""Posteriors given labels of some rows again in PyMC, where rates, drift and accuracies have one joint density."""

import numpy as np
import pytest
from judged_sets import problem_counts
from partial_sets import verified_counts

import bayescal as bc
from bayescal.labels.nuisance import JudgeRates
from bayescal.labels.posterior import LabelPosterior, Problem, solve, solve_known
from bayescal.posterior.shrinkage.prior import ShrinkagePrior

pytestmark = pytest.mark.measuring

CONFIDENCE = np.array([0.15, 0.35, 0.5, 0.7, 0.9])
COUNTS, EVIDENCE = problem_counts(
    [6, 9, 5, 10, 20], [2, 4, 2, 6, 17], [40, 50, 30, 60, 90], [20, 26, 17, 40, 78], CONFIDENCE
)
TABLE = np.array([[27.0, 4.0, 15.0, 4.0]])


def dense_model(pm):
    """Write "dense" with the checked rows; the accuracy of `pymc_model` has no gradient for further evidence."""
    checked, scale = COUNTS.checked, ShrinkagePrior().dense_scale
    with pm.Model() as model:
        tau = pm.TruncatedNormal("tau", mu=0, sigma=scale, lower=0, upper=1)
        kappa = tau**-2 - 1
        accuracy = pm.Beta("accuracy", alpha=kappa * CONFIDENCE, beta=kappa * (1 - CONFIDENCE))
        pm.Binomial("outcomes", n=checked.n, p=accuracy, observed=checked.k)
    return model


@pytest.mark.parametrize("sub_model", ["logistic", "dense"])
def test_means_and_standard_deviations(sub_model):
    """Rates and accuracies: differences of means below 0.06 standard deviations (five Monte Carlo errors)."""
    pm = pytest.importorskip("pymc")
    pt = pytest.importorskip("pytensor.tensor")
    one = {"sub_models": [sub_model], "pool": False}
    checked = bc.evaluate_counts(COUNTS.checked, draws=100, rng=1, **one)
    model = dense_model(pm) if sub_model == "dense" else bc.pymc_model(checked)
    with model:
        s, p = pm.Uniform("s"), pm.Uniform("p")
        pm.Potential("better than chance", pt.switch(s + p > 1, 0.0, -np.inf))
        tp, fn, tn, fp = TABLE[0]
        pm.Potential("table", tp * pt.log(s) + fn * pt.log1p(-s) + tn * pt.log(p) + fp * pt.log1p(-p))
        q = s * model["accuracy"] + (1 - p) * (1 - model["accuracy"])
        pm.Binomial("judged", n=EVIDENCE.n.astype(int), p=q, observed=EVIDENCE.k.astype(int))
        tree = pm.sample(
            10_000, tune=2000, chains=2, cores=1, random_seed=1, progressbar=False, target_accept=0.98,
            compute_convergence_checks=False, initvals={"s": 0.9, "p": 0.8},
        )  # fmt: skip
    drawn = tree["posterior"]
    problem = Problem(COUNTS, EVIDENCE, ShrinkagePrior(sub_models=(sub_model,), pool=False))
    judged = TABLE[:, [0, 1]] * 0 + [[EVIDENCE.k.sum() + 31, (EVIDENCE.n - EVIDENCE.k).sum() + 19]]
    solved = solve([problem], JudgeRates(TABLE, judged), rng=1, values=1000, free=0.0)
    posterior = LabelPosterior(solved)
    bins, nu = posterior.sample(20_000, rng=2), solved.nu[posterior.value_of(20_000, 2)]
    pairs = {"s": (drawn["s"], nu[:, 0, 0]), "p": (drawn["p"], nu[:, 1, 0])}
    for b in range(len(CONFIDENCE)):
        pairs[f"accuracy {b}"] = drawn["accuracy"].isel({drawn["accuracy"].dims[-1]: b}), bins.accuracy[:, b]
    for name, (chain, closed) in pairs.items():
        values = np.asarray(chain).ravel()
        assert abs(values.mean() - closed.mean()) < 0.06 * values.std(), name
        assert closed.std() == pytest.approx(values.std(), rel=0.05), name


@pytest.mark.parametrize(("sub_model", "ratio"), [("logistic", 0.3), ("logistic", 3.0), ("dense", 3.0)])
def test_accuracies_from_known_outcomes(sub_model, ratio):
    """Given the odds ratio of missing outcomes: differences of means below 0.06 standard deviations.

    Chains of "dense" diverge with 0.3; draws of the prior test one bin under all sub-models in `test_verified`.
    """
    pm = pytest.importorskip("pymc")
    pt = pytest.importorskip("pytensor.tensor")
    one = {"sub_models": [sub_model], "pool": False}
    counts = verified_counts([20, 30, 10, 30, 60], [8, 12, 5, 22, 50], [80, 60, 50, 40, 90], CONFIDENCE)
    n, k = counts.source.n.astype(float), counts.source.k.astype(float)
    f = (n + 0.5) / (counts.target_rows + 1)
    # the model of the known rows as rows of the bin, whose likelihood is replaced by that of their own rate
    model = bc.pymc_model(bc.evaluate_counts(counts.source, draws=100, rng=1, **one))
    with model:
        theta = model["accuracy"]
        a, b = f * (ratio - 1), f + (1 - f) * ratio - theta * (ratio - 1)
        v = (pt.sqrt(b**2 + 4 * a * theta) - b) / (2 * a)
        own = k * pt.log(v) + (n - k) * pt.log1p(-v)
        pm.Potential("own rate", (own - k * pt.log(theta) - (n - k) * pt.log1p(-theta)).sum())
        tree = pm.sample(4000, tune=1000, chains=2, cores=1, random_seed=1, progressbar=False, target_accept=0.95)
    drawn = np.asarray(tree["posterior"]["accuracy"]).reshape(-1, len(n))
    problem = Problem(counts, counts.evidence(), ShrinkagePrior(sub_models=(sub_model,), pool=False))
    bins = LabelPosterior(solve_known([problem], np.array([[ratio]]), 20_000, 1)).sample(20_000, rng=2)
    sd = drawn.std(axis=0)
    assert (np.abs(drawn.mean(axis=0) - bins.accuracy.mean(axis=0)) < 0.06 * sd).all()
    np.testing.assert_allclose(bins.accuracy.std(axis=0), sd, rtol=0.05)
