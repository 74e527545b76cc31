"""One evaluation from counts: its model and its draws."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.analyses.one import MODELS

N = 500


@pytest.fixture(scope="module")
def event():
    rng = np.random.default_rng(1)
    p = rng.random(N)
    return (rng.random(N) < p**1.5).astype(int), p


def test_every_named_model_evaluates(event):
    for model in MODELS:
        ev = bc.evaluate(*event, model=model, rng=1, draws=50)
        assert np.isfinite(ev.ece.values).all()
        assert f"{model} model" in ev.question


def test_more_draws_than_fit_into_memory_are_refused(event):
    with pytest.raises(ValueError, match=r"`draws` times `bins` must be at most 1e\+08 .* 4000 draws of 200000 bins"):
        bc.evaluate(*event, bins=200_000)
