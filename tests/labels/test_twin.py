"""The posterior over error rates again in PyMC, where rates, drift and accuracies have one joint density."""

import numpy as np
import pytest
from judged_sets import problem_counts

import bayescal as bc
from bayescal.labels.nuisance import JudgeRates
from bayescal.labels.posterior import LabelPosterior, Problem, solve
from bayescal.posterior.shrinkage.prior import ShrinkagePrior

pytestmark = pytest.mark.measuring

CONFIDENCE = np.array([0.15, 0.35, 0.5, 0.7, 0.9])
COUNTS, EVIDENCE = problem_counts(
    [6, 9, 5, 10, 20], [2, 4, 2, 6, 17], [40, 50, 30, 60, 90], [20, 26, 17, 40, 78], CONFIDENCE
)
TABLE = np.array([[27.0, 4.0, 15.0, 4.0]])


@pytest.mark.parametrize("sub_model", ["logistic", "dense"])
def test_means_and_standard_deviations(sub_model):
    """Rates and accuracies: differences of means below 0.06 standard deviations (five Monte Carlo errors)."""
    pm = pytest.importorskip("pymc")
    pt = pytest.importorskip("pytensor.tensor")
    one = {"sub_models": [sub_model], "pool": False}
    checked = bc.evaluate_counts(COUNTS.checked, draws=100, rng=1, **one)
    model = bc.pymc_model(checked)
    with model:
        s, p = pm.Uniform("s"), pm.Uniform("p")
        pm.Potential("better than chance", pt.switch(s + p > 1, 0.0, -np.inf))
        tp, fn, tn, fp = TABLE[0]
        pm.Potential("table", tp * pt.log(s) + fn * pt.log1p(-s) + tn * pt.log(p) + fp * pt.log1p(-p))
        q = s * model["accuracy"] + (1 - p) * (1 - model["accuracy"])
        pm.Binomial("judged", n=EVIDENCE.n.astype(int), p=q, observed=EVIDENCE.k.astype(int))
        tree = pm.sample(
            4000, tune=1000, chains=2, cores=1, random_seed=1, progressbar=False, target_accept=0.95,
            initvals={"s": 0.9, "p": 0.8},
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
