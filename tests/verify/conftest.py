"""What tests of the verification share: points of a PyMC model, and runs of the command."""

import numpy as np
import pytest
from typer.testing import CliRunner

from bayescal import BinnedCounts
from bayescal.app import app


@pytest.fixture(scope="session")
def scattered():
    """At random points: log density of the free variables on their own scale, and every named value."""

    def points(model, n_points=20):
        rng = np.random.default_rng(3)
        named = [*model.free_RVs, *model.deterministics]
        outputs = [model.logp(jacobian=False), *model.replace_rvs_by_values(named)]
        # compiling for speed would take longer than all these points
        compiled = model.compile_fn(outputs, on_unused_input="ignore", mode="FAST_COMPILE")
        start, found = model.initial_point(), []
        for _ in range(n_points):
            point = {name: value + rng.normal(0, 0.8, np.shape(value)) for name, value in start.items()}
            density, *values = compiled(point)
            found.append((float(density), dict(zip([v.name for v in named], values, strict=True))))
        return found

    return points


@pytest.fixture(scope="session")
def assert_same_up_to_a_constant():
    """Check pairs of log densities."""

    def check(pairs, atol=1e-8):
        pairs = np.array(pairs)
        difference = pairs[:, 0] - pairs[:, 1]
        assert np.ptp(pairs[:, 0]) > 1, "points that all look alike show nothing"
        np.testing.assert_allclose(difference, difference[0], rtol=0, atol=atol)

    return check


@pytest.fixture(scope="session")
def weighted():
    """Rows with weights in three bins."""
    rng = np.random.default_rng(2)
    confidence = rng.random(50)
    return BinnedCounts.from_arrays(rng.random(50) < confidence, confidence, bins=3, weights=rng.exponential(size=50))


@pytest.fixture(scope="session")
def run():
    """Run ``bayescal verify`` with arguments."""
    return lambda *arguments: CliRunner().invoke(
        app, ["verify", *map(str, arguments)], env={"COLUMNS": "100", "TERM": "dumb"}
    )


@pytest.fixture
def file(tmp_path):
    """60 rows of outcomes and probabilities."""
    rng = np.random.default_rng(1)
    p = rng.random(60)
    rows = "\n".join(f"{int(y)},{q:.6f}" for y, q in zip(rng.random(60) < p, p, strict=True))
    path = tmp_path / "games.csv"
    path.write_text(f"won,probability\n{rows}\n")
    return path
