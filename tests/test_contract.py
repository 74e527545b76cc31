"""The contract of every posterior, on which `evaluate` and the estimands rely; and the signatures of the core.

A new posterior joins `POSTERIORS`; a claim that it cannot make is left out there, with its reason.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from moments_of_ece import ece_mean, ece_sd

import bayescal
from bayescal import (
    BinDraws,
    BinnedCounts,
    PairedCounts,
    Predictions,
    dirichlet_posterior,
    ece,
    shrinkage_posterior,
)
from bayescal.data.matrix import ClassRows
from bayescal.estimands.plug_in import null_bins
from bayescal.posterior.dirichlet import DirichletPosterior, sample_truncated_normal
from bayescal.posterior.joint import reorder
from bayescal.stats.bins import make_bins


@dataclass(frozen=True)
class Claim:
    """A posterior and what it says of itself in closed form."""

    make: Callable[[BinnedCounts], object]
    #: Exact means of its prior over three bins, by the name of the draws.
    prior_mean: dict[str, np.ndarray]
    #: What it has an exact mean of: methods `mass_mean` and so on.
    exact: tuple[str, ...] = ("mass", "accuracy", "confidence")
    #: Exact mean and standard deviation of the ECE, if they are known.
    exact_ece: tuple[Callable, Callable] | None = (DirichletPosterior.ece_mean, DirichletPosterior.ece_sd)
    #: Whether bins learn from each other; if not, sixteen times the rows give a quarter of each one's spread.
    pooled: bool = False


def dirichlet_prior(zero, one):
    """Masses are Dirichlet of the summed pseudo-rows, accuracies Beta of them, bin means symmetric in their bins."""
    zero, one = np.broadcast_to(zero, 3), np.broadcast_to(one, 3)
    total = zero + one
    return {"mass": total / total.sum(), "accuracy": one / total, "confidence": np.array([1 / 6, 3 / 6, 5 / 6])}


OWN = np.array([[1.0, 2.0, 3.0], [0.5, 0.5, 4.0]])
POSTERIORS = {
    "dirichlet": Claim(dirichlet_posterior, dirichlet_prior(1 / 3, 1 / 3)),
    "dirichlet, perks": Claim(lambda c: dirichlet_posterior(c, alpha="perks"), dirichlet_prior(1 / 6, 1 / 6)),
    "dirichlet, jeffreys": Claim(lambda c: dirichlet_posterior(c, alpha="jeffreys"), dirichlet_prior(0.5, 0.5)),
    "dirichlet, uniform": Claim(lambda c: dirichlet_posterior(c, alpha="uniform"), dirichlet_prior(1, 1)),
    "dirichlet, a number": Claim(lambda c: dirichlet_posterior(c, alpha=0.7), dirichlet_prior(0.7, 0.7)),
    "dirichlet, an array": Claim(lambda c: dirichlet_posterior(c, alpha=OWN), dirichlet_prior(*OWN)),
    # its weights depend on the accuracies, so its ECE has no closed moments
    "dirichlet, original": Claim(
        lambda c: dirichlet_posterior(c, formula="original"), dirichlet_prior(1 / 3, 1 / 3), exact_ece=None
    ),
}
MIDPOINTS, EQUAL = np.array([1 / 6, 3 / 6, 5 / 6]), np.full(3, 1 / 3)
POSTERIORS |= {
    # accuracies have no closed mean where confidences drift through a sigmoid
    "shrinkage": Claim(shrinkage_posterior, {"mass": EQUAL}, exact=(), exact_ece=(ece_mean, ece_sd), pooled=True),
    # without drift every residual is centred on the mean confidence
    "shrinkage, no drift": Claim(
        lambda c: shrinkage_posterior(c, sub_model_weights=[0, 1, 1, 0, 0], sub_models=["independent"]),
        {"mass": EQUAL, "accuracy": MIDPOINTS},
        exact=(),
        exact_ece=(ece_mean, ece_sd),
        pooled=True,
    ),
}
N_DRAWS = 20_000


@pytest.fixture(params=POSTERIORS, scope="module")
def claim(request):
    return POSTERIORS[request.param]


def rows(n=300):
    rng = np.random.default_rng(1)
    confidence = rng.beta(2, 1, n) * 0.65  # the third of three bins stays empty
    return (rng.random(n) < confidence**1.5).astype(int), confidence


@pytest.fixture(scope="module")
def counts():
    return BinnedCounts.from_arrays(*rows(), bins=3)


def test_draws_have_the_shape_and_range_of_bins(claim, counts):
    bins = claim.make(counts).sample(100, rng=1)
    assert isinstance(bins, BinDraws)
    assert len(bins) == 100
    for name in ("mass", "accuracy", "confidence", "weight", "gap"):
        values = np.broadcast_to(getattr(bins, name), (100, 3))
        low = -1 if name == "gap" else 0
        assert np.all((values >= low) & (values <= 1)), name
    np.testing.assert_allclose(bins.mass.sum(axis=1), 1)
    np.testing.assert_allclose(bins.weight.sum(axis=1), 1)
    assert bins.occupied.shape == (3,)
    assert ece(bins).values.shape == (100,)


def test_empty_bins_are_told_apart(claim, counts):
    assert claim.make(counts).sample(10, rng=1).occupied.tolist() == [True, True, False]


def test_the_posterior_keeps_its_counts(claim, counts):
    posterior = claim.make(counts)
    assert posterior.counts is counts
    assert isinstance(posterior.prior, str)
    with pytest.raises(AttributeError):
        posterior.counts = None


def test_the_same_seed_gives_the_same_draws(claim, counts):
    posterior = claim.make(counts)
    one, same, other = (ece(posterior.sample(100, rng=seed)).values for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_without_a_seed_draws_differ(claim, counts):
    posterior = claim.make(counts)
    assert not np.array_equal(ece(posterior.sample(100)).values, ece(posterior.sample(100)).values)


def test_a_generator_is_used_and_moves_on(claim, counts):
    posterior, rng = claim.make(counts), np.random.default_rng(1)
    first, second = (ece(posterior.sample(100, rng=rng)).values for _ in range(2))
    np.testing.assert_array_equal(first, ece(posterior.sample(100, rng=1)).values)
    assert not np.array_equal(first, second)


def test_draws_are_independent(claim, counts):
    """Lag-one autocorrelation within five standard errors of zero."""
    drawn = ece(claim.make(counts).sample(N_DRAWS, rng=3)).values
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 5 / np.sqrt(N_DRAWS)


def test_monte_carlo_means_are_near_the_exact_ones(claim, counts, close_to, mcse):
    """Ten comparisons at most, each with a false alarm in 1.7 million."""
    posterior = claim.make(counts)
    bins = posterior.sample(N_DRAWS, rng=4)
    for name in claim.exact:
        values = np.broadcast_to(getattr(bins, name), (N_DRAWS, 3))
        close_to(values.mean(axis=0), getattr(posterior, f"{name}_mean")(), mcse.mean(values), name)
    if claim.exact_ece:
        drawn, (mean, sd) = ece(bins).values, claim.exact_ece
        close_to(drawn.mean(), mean(posterior), mcse.mean(drawn), "ece")
        close_to(drawn.std(ddof=1), sd(posterior), mcse.sd(drawn), "sd of ece")


def test_no_rows_give_the_prior(claim, close_to, mcse):
    bins = claim.make(BinnedCounts.empty(3)).sample(N_DRAWS, rng=5)
    assert bins.occupied.all()
    for name, mean in claim.prior_mean.items():
        values = np.broadcast_to(getattr(bins, name), (N_DRAWS, 3))
        close_to(values.mean(axis=0), mean, mcse.mean(values), name)


def test_merged_counts_are_one_pass(claim, counts):
    """Integers are exact and the centred sums all but so: the same draws to many digits."""
    y, p = rows()
    parts = [BinnedCounts.from_arrays(y[i], p[i], bins=3) for i in np.array_split(np.arange(300), 7)]
    merged, whole = (claim.make(c).sample(500, rng=6) for c in (sum(parts), counts))
    np.testing.assert_array_equal(merged.mass, whole.mass)
    np.testing.assert_allclose(merged.accuracy, whole.accuracy, rtol=1e-7)
    np.testing.assert_allclose(merged.confidence, whole.confidence, rtol=1e-12)
    np.testing.assert_allclose(ece(merged).values, ece(whole).values, rtol=1e-7, atol=1e-12)


def test_unit_weights_are_no_weights_exactly(claim, counts):
    weighted = BinnedCounts.from_arrays(*rows(), bins=3, weights=np.ones(300))
    one, other = (claim.make(c).sample(500, rng=7) for c in (counts, weighted))
    for name in ("mass", "accuracy", "confidence", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_order_of_rows_does_not_matter(claim, counts):
    y, p = rows()
    order = np.random.default_rng(8).permutation(300)
    shuffled = claim.make(BinnedCounts.from_arrays(y[order], p[order], bins=3)).sample(200, rng=9)
    np.testing.assert_allclose(ece(shuffled).values, ece(claim.make(counts).sample(200, rng=9)).values, rtol=1e-7)


def test_more_data_is_narrower(claim, counts):
    """Sixteen times the rows: a quarter of the spread (between a third and a fifth) of occupied bins and of the ECE."""
    few, many = (claim.make(c).sample(N_DRAWS, rng=10) for c in (counts, sum([counts] * 16)))
    for name in ("mass",) if claim.pooled else ("mass", "accuracy"):
        ratio = getattr(few, name)[:, :2].std(axis=0) / getattr(many, name)[:, :2].std(axis=0)
        assert np.all((ratio > 3) & (ratio < 5)), (name, ratio)
    assert ece(many).sd() < ece(few).sd() / 2.5


def test_the_posterior_finds_the_truth(claim):
    """A quarter of a million rows with gaps of 0.1 and 0.2 and equal masses: an ECE of 0.15, to 0.01."""
    half = np.arange(125_000)
    y = np.concatenate([half % 10 < 2, half % 10 < 5]).astype(int)
    p = np.concatenate([np.full(125_000, 0.3), np.full(125_000, 0.7)])
    drawn = ece(claim.make(BinnedCounts.from_arrays(y, p, bins=3)).sample(200, rng=11))
    expected = 0.15 if claim.exact_ece else (0.2 * 0.1 + 0.5 * 0.2) / 0.7  # the original weighs by P(bin | outcome 1)
    assert drawn.mean() == pytest.approx(expected, abs=0.01)


# --- arguments have names, and options are given by name only

Z, C, ROWS = [0, 1, 1], [0.2, 0.7, 0.9], Predictions.from_outcomes([0, 1, 1], [0.2, 0.7, 0.9])
TABLE = pa.table({"outcome": Z, "confidence": C, "first_confidence": C, "second_confidence": C})
MATRIX = [[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]
COUNTS = BinnedCounts.from_arrays(Z, C, bins=2)
NORMAL = {"loc": 0.0, "scale": 1.0, "low": 0.0, "high": 1.0}
NAMED = {
    "make_bins": (make_bins, {"bins": 2}, {"binning": "equal-width", "confidence": None}),
    "empty": (BinnedCounts.empty, {"bins": 2}, {"target": "event"}),
    "arrays": (BinnedCounts.from_arrays, {"y_true": Z, "y_prob": C}, {"bins": 2, "target": "event"}),
    "frame": (BinnedCounts.from_frame, {"frame": TABLE}, {"outcome": "outcome", "bins": 2}),
    "predictions": (BinnedCounts.from_predictions, {"predictions": ROWS}, {"bins": 2, "binning": "equal-mass"}),
    "classwise": (BinnedCounts.classwise, {"y_true": Z, "y_prob": MATRIX}, {"bins": 2, "weights": None}),
    "classes": (BinnedCounts.of_classes, {"rows": ClassRows.read(Z, MATRIX)}, {"bins": 2}),
    "no pairs": (PairedCounts.empty, {"first": 2, "second": 3}, {"target": "event"}),
    "pairs": (
        PairedCounts.from_arrays,
        {"first_outcome": Z, "first_confidence": C, "second_outcome": Z, "second_confidence": C},
        {"bins": 2, "binning": "equal-mass"},
    ),
    "pairs of a frame": (PairedCounts.from_frame, {"frame": TABLE}, {"outcome": "outcome", "bins": 2}),
    "dirichlet": (dirichlet_posterior, {"counts": COUNTS}, {"alpha": 1, "formula": "corrected"}),
    "shrinkage": (shrinkage_posterior, {"counts": COUNTS}, {"intercept_sd": 0.5, "rho": 0.2}),
    "draws, dirichlet": (dirichlet_posterior(COUNTS).sample, {"n_draws": 5}, {"rng": 1}),
    "draws, shrinkage": (shrinkage_posterior(COUNTS).sample, {"n_draws": 5}, {"rng": 1}),
    "all draws": (shrinkage_posterior(COUNTS).sample_all, {"n_draws": 5}, {"rng": 1}),
    "truncated normal": (sample_truncated_normal, {**NORMAL, "n_draws": 3}, {"rng": 1}),
    "reorder": (reorder, {"draws": np.ones((3, 2)), "correlation": np.eye(2)}, {"rng": 1}),
    "null": (null_bins, {"counts": COUNTS, "n_draws": 5}, {"rng": 1}),
}


@pytest.mark.parametrize("name", NAMED)
def test_arguments_have_names_and_options_are_given_by_name_only(name):
    function, arguments, options = NAMED[name]
    function(**arguments, **options)
    with pytest.raises(TypeError, match="positional argument"):
        function(*arguments.values(), *options.values())


def records():
    """Return every dataclass of layers and topics with counts and posteriors."""
    for layer in ("posterior", "estimands", "stats", "monitoring", "decisions", "survival", "shift"):
        folder = Path(bayescal.__file__).parent / layer
        for file in sorted(folder.rglob("*.py")):
            path = file.relative_to(folder.parents[1]).with_suffix("")
            module = importlib.import_module(".".join(path.parts).removesuffix(".__init__"))
            yield from (thing for thing in vars(module).values() if is_dataclass(thing) and isinstance(thing, type))


def test_records_are_frozen():
    """Counts and posteriors cannot be modified by code that shares them."""
    found = {record.__name__: record.__dataclass_params__.frozen for record in records()}
    assert {"BinnedCounts", "PairedCounts", "WindowedCounts", "ShrinkagePosterior", "DriftingBins"} <= set(found)
    assert [name for name, frozen in found.items() if not frozen] == []
