"""Named quantities: a Normal mean with a Normal prior, whose posterior is known, is compared."""

from dataclasses import dataclass

import numpy as np
import pytest

from bayescal.verify import chains as module
from bayescal.verify.chains import agreement
from bayescal.verify.named import Moments, below, by_name


@dataclass
class NormalTwin:
    """The posterior Normal(0.5, 1 / 6); closed form by draws or by exact moments, chains with a shift."""

    exact: bool = False
    shift: float = 0.0

    def model(self):
        return None

    def of_pymc(self, tree):
        mean = by_name(tree, ["mean"])["mean"]
        return {"mean": mean, **below("mean", mean, [0.5])}

    def of_closed_form(self, n_draws, rng):
        drawn = rng.normal(0.5, 6**-0.5, n_draws)
        if self.exact:
            return {"mean": Moments(0.5, 6**-0.5), "P(mean <= 0.5)": Moments(0.5)}
        return {"mean": drawn, **below("mean", drawn, [0.5])}


@pytest.fixture
def chains(monkeypatch):
    """Put independent draws in the place of NUTS."""
    import arviz as az

    def install(shift):
        def drawn(model, draws, target_accept, seed, progress):
            mean = np.random.default_rng(seed).normal(0.5 + shift, 6**-0.5, (4, draws // 4))
            flags = np.zeros(mean.shape, bool)
            return az.from_dict({"posterior": {"mean": mean}, "sample_stats": {"diverging": flags}})

        monkeypatch.setattr(module, "_chains", drawn)

    return install


@pytest.mark.parametrize("exact", [False, True])
def test_a_twin_agrees_with_chains_of_its_own_posterior(chains, exact):
    chains(0.0)
    found = agreement(NormalTwin(exact), rng=1)
    assert found.agrees, found.verdict
    assert [row["quantity"] for row in found.rows] == ["mean", "P(mean <= 0.5)"]
    assert str(found).startswith(" " * 14)


@pytest.mark.parametrize("exact", [False, True])
def test_and_not_with_those_of_another(chains, exact):
    """A shift of 0.1 is 0.24 standard deviations; 10000 draws have standard errors of 0.01 of one."""
    chains(0.1)
    found = agreement(NormalTwin(exact), rng=1)
    assert [row["quantity"] for row in found.apart] == ["mean", "P(mean <= 0.5)"]


def test_a_twin_has_no_hypothesis_of_exact_calibration():
    with pytest.raises(ValueError, match="`with_calibrated` needs a shrinkage posterior"):
        agreement(NormalTwin(), with_calibrated=True)
