"""Properties that hold for any rows, found by hypothesis: order, weights, splits, mirrors, containers, ranges.

Examples are derived from the tests themselves, so every run sees the same ones; with HYPOTHESIS_EXPLORE=1 in the
environment new ones are looked for.
"""

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bayescal import (
    BinnedCounts,
    dirichlet_posterior,
    e90_bins,
    ece,
    evaluate_counts,
    lp_error,
    overconfidence,
    plug_in_ece,
    signed_error,
    underconfidence,
)
from bayescal.estimands.plug_in import observed_bins

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, database=None, max_examples=1000)
settings.load_profile("explore" if os.environ.get("HYPOTHESIS_EXPLORE") else "fixed")

FLOATS = ("weight", "deviation", "deviation_sq", "weight_sq")
N_BINS = st.integers(1, 40)
EDGE = st.builds(lambda k, m: min(k, m) / m, st.integers(0, 40), st.integers(1, 40))
CONFIDENCES = st.one_of(st.floats(0, 1), EDGE)
ROWS = st.lists(st.tuples(st.booleans(), CONFIDENCES), min_size=1, max_size=60)
SEEDS = st.integers(0, 2**32 - 1)


def columns(rows):
    outcome, confidence = zip(*rows, strict=True)
    return np.array(outcome, dtype=int), np.array(confidence, dtype=float)


def assert_same(one, other, scale=1.0):
    """The same rows, and sums equal but for the order of additions; `scale` is the size of the weights."""
    np.testing.assert_array_equal(one.cells, other.cells)
    for name in FLOATS:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12 * scale, err_msg=name
        )
    for name in ("total", "squares"):
        found, expected = (getattr(counts.losses, name) for counts in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale, err_msg=name)


# --- rows


@given(ROWS, N_BINS, SEEDS)
def test_the_order_of_rows_does_not_matter(rows, n_bins, seed):
    """Integers are equal; floats to rounding; and so is everything computed from them."""
    outcome, confidence = columns(rows)
    order = np.random.default_rng(seed).permutation(len(outcome))
    one = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins)
    other = BinnedCounts.from_arrays(outcome[order], confidence[order], bins=n_bins)
    assert_same(one, other)
    first, second = (
        plug_in_ece(y, p, bins=n_bins) for y, p in ((outcome, confidence), (outcome[order], confidence[order]))
    )
    assert first == pytest.approx(second, abs=1e-12)
    drawn, again = (dirichlet_posterior(counts).sample(20, rng=1) for counts in (one, other))
    np.testing.assert_array_equal(drawn.mass, again.mass)
    np.testing.assert_array_equal(drawn.accuracy, again.accuracy)
    np.testing.assert_allclose(drawn.confidence, again.confidence, rtol=0, atol=1e-12)


@given(ROWS, N_BINS, SEEDS)
def test_an_integer_weight_is_a_repetition_for_sums_and_the_plug_in_value(rows, n_bins, seed):
    """Not for the posterior: weights are importance weights, whose evidence is Kish's effective number of rows.

    One row of weight 5 is evidence of one row, five rows are evidence of five.
    """
    outcome, confidence = columns(rows)
    times = np.random.default_rng(seed).integers(0, 5, len(outcome))
    assume(times.sum() > 0)
    weighted = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=times)
    repeated = BinnedCounts.from_arrays(np.repeat(outcome, times), np.repeat(confidence, times), bins=n_bins)
    np.testing.assert_array_equal(weighted.weight, repeated.cells)
    np.testing.assert_array_equal(weighted.occupied, repeated.occupied)
    for name in ("deviation", "deviation_sq"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-12)
    for name in ("accuracy", "mean_confidence", "share"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-12)
    for question in (ece, lp_error, e90_bins, signed_error, overconfidence, underconfidence):
        one, other = (question(observed_bins(counts)).values for counts in (weighted, repeated))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert weighted.effective_rows <= repeated.n_rows * (1 + 1e-12)
    assert weighted.effective_rows <= np.count_nonzero(times) * (1 + 1e-12)


@given(ROWS, N_BINS, st.lists(st.integers(0, 60), max_size=6), st.booleans(), SEEDS)
def test_any_split_merges_to_one_pass(rows, n_bins, cuts, weighted, seed):
    outcome, confidence = columns(rows)
    rng = np.random.default_rng(seed)
    weight = rng.gamma(1.0, size=len(outcome)) + 0.01 if weighted else None
    whole = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=weight)
    parts = np.split(np.arange(len(outcome)), np.minimum(sorted(cuts), len(outcome)))
    merged = sum(
        (
            BinnedCounts.from_arrays(
                outcome[i], confidence[i], bins=n_bins, weights=None if weight is None else weight[i]
            )
            for i in parts
            if len(i)
        ),
        start=BinnedCounts.empty(n_bins),
    )
    assert_same(merged, whole)
    assert merged.n_rows == len(outcome)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2**20)), min_size=1, max_size=60),
    st.one_of(N_BINS, st.lists(st.integers(1, 2**9 - 1), max_size=8)),
)
def test_other_outcomes_and_1_minus_p_mirror_the_bins(rows, bins):
    """Confidences k / 2^20, so that 1 - p is exact, and none on an edge, where [a, b) has a mirror image (a, b]."""
    outcome, ticks = columns(rows)
    confidence = ticks / 2**20
    if isinstance(bins, list):
        half = np.unique(bins) / 2**10
        bins = np.concatenate([[0.0], half, 1 - half[::-1], [1.0]])
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=bins)
    assume(np.abs(confidence[:, None] - counts.bins.edges[1:-1]).min(initial=1.0) > 1e-9)
    mirrored = BinnedCounts.from_arrays(1 - outcome, 1 - confidence, bins=bins)
    np.testing.assert_array_equal(mirrored.cells, counts.cells[::-1, ::-1])
    np.testing.assert_allclose(mirrored.deviation, -counts.deviation[::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(mirrored.deviation_sq, counts.deviation_sq[::-1], atol=1e-12)
    one, other = observed_bins(counts), observed_bins(mirrored)
    assert ece(one).values == pytest.approx(ece(other).values, abs=1e-12)
    assert signed_error(one).values == pytest.approx(-signed_error(other).values, abs=1e-12)
    assert overconfidence(one).values == pytest.approx(underconfidence(other).values, abs=1e-12)
    # so does the posterior, exactly: its prior is symmetric
    exact, image = dirichlet_posterior(counts), dirichlet_posterior(mirrored)
    np.testing.assert_allclose(image.mass_mean(), exact.mass_mean()[::-1], rtol=1e-12)
    np.testing.assert_allclose(image.accuracy_mean(), 1 - exact.accuracy_mean()[::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(image.confidence_mean(), 1 - exact.confidence_mean()[::-1], rtol=0, atol=1e-9)
    assert image.ece_mean() == pytest.approx(exact.ece_mean(), abs=1e-9)


# --- containers and dtypes

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda v: np.array(v, dtype=object),
    "a view with a step": lambda v: np.repeat(np.array(v), 2)[::2],
    "read only": lambda v: _read_only(np.array(v)),
    "column": lambda v: np.array(v)[:, None],
    "pandas": pd.Series,
    "pandas, other index": lambda v: pd.Series(v, index=range(len(v), 0, -1)),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "polars": pl.Series,
    "pyarrow": pa.array,
}


def _read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.slow
@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
@settings(max_examples=15)
@given(rows=ROWS, n_bins=N_BINS)
def test_all_containers_give_the_same_counts(make, rows, n_bins):
    """Exactly: the same numbers in the same order."""
    outcome, confidence = columns(rows)
    expected = BinnedCounts.from_arrays(outcome, confidence, bins=n_bins)
    assert BinnedCounts.from_arrays(make(outcome.tolist()), make(confidence.tolist()), bins=n_bins) == expected
    weight = (confidence + 0.5).tolist()
    assert BinnedCounts.from_arrays(
        make(outcome.tolist()), make(confidence.tolist()), bins=n_bins, weights=make(weight)
    ) == BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=np.array(weight))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8"])
@pytest.mark.parametrize("label", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float64])
@settings(max_examples=8)
@given(
    rows=st.lists(st.tuples(st.booleans(), st.integers(0, 2**10)), min_size=1, max_size=60),
    n_bins=st.sampled_from([1, 2, 8, 64]),
)
def test_all_dtypes_give_the_same_counts(dtype, label, rows, n_bins):
    """Exactly, for confidences k / 1024 and edges k / 2^m, which all of them can hold.

    Edges that a dtype cannot hold are rounded to it on purpose, so that float32(0.7) lies on the edge 7/10.
    """
    outcome, ticks = columns(rows)
    expected = BinnedCounts.from_arrays(outcome, ticks / 2**10, bins=n_bins)
    found = BinnedCounts.from_arrays(outcome.astype(label), (ticks / 2**10).astype(dtype), bins=n_bins)
    assert found == expected


@given(ROWS, N_BINS)
def test_the_callers_arrays_are_left_alone(rows, n_bins):
    outcome, confidence = columns(rows)
    before = outcome.copy(), confidence.copy()
    BinnedCounts.from_arrays(outcome, confidence, bins=n_bins, weights=confidence + 1)
    np.testing.assert_array_equal(outcome, before[0])
    np.testing.assert_array_equal(confidence, before[1])


# --- posteriors

CELLS = st.one_of(st.integers(0, 20), st.integers(0, 10**9), st.sampled_from([0, 1, 10**9]))
ALPHAS = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)
#: Posteriors that must take any counts; a new one joins here: (counts, a positive number that its prior may use).
ANY_COUNTS = {
    "dirichlet": lambda counts, alpha: dirichlet_posterior(counts, alpha=alpha),
    "dirichlet, original": lambda counts, alpha: dirichlet_posterior(counts, alpha=alpha, formula="original"),
}


@st.composite
def any_counts(draw):
    """Any cells up to 1e9 rows, with mean confidences anywhere in their bins, the ends included."""
    n_bins = draw(st.integers(1, 6))
    cells = np.array(draw(st.lists(CELLS, min_size=2 * n_bins, max_size=2 * n_bins))).reshape(2, n_bins)
    place = np.array(draw(st.lists(st.sampled_from([-0.5, -0.49, 0.0, 0.3, 0.5]), min_size=n_bins, max_size=n_bins)))
    bins = BinnedCounts.empty(n_bins).bins
    offset = place * bins.widths
    n = cells.sum(axis=0)
    return BinnedCounts(bins, cells, cells.astype(float), cells * offset, n * offset**2, n.astype(float))


@pytest.mark.parametrize("make", ANY_COUNTS.values(), ids=ANY_COUNTS)
@settings(max_examples=150)
@given(counts=any_counts(), alpha=ALPHAS, seed=SEEDS)
def test_draws_are_probabilities_for_any_counts_and_any_prior(make, counts, alpha, seed):
    bins = make(counts, alpha).sample(40, rng=seed)
    shape = (40, len(counts.bins))
    for name in ("mass", "accuracy", "confidence", "weight"):
        values = np.broadcast_to(getattr(bins, name), shape)
        assert np.all((values >= 0) & (values <= 1)), name  # NaN is neither
    np.testing.assert_allclose(bins.mass.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(bins.weight.sum(axis=1), 1, rtol=1e-12)
    edges = counts.bins.edges
    assert np.all((bins.confidence >= edges[:-1]) & (bins.confidence <= edges[1:]))
    for question in (ece, lp_error, e90_bins, overconfidence, underconfidence):
        values = question(bins).values
        assert np.all((values >= 0) & (values <= 1 + 1e-12)), question.__name__
    assert np.all(np.abs(signed_error(bins).values) <= ece(bins).values + 1e-12)
    parts = overconfidence(bins).values + underconfidence(bins).values
    np.testing.assert_allclose(parts, ece(bins).values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_each", [np.array([[1e-6, 1e6], [1e6, 1e-6]]), np.array([[1e-6, 1e-6], [1e-6, 1e6]])])
@given(counts=any_counts(), seed=SEEDS)
@settings(max_examples=20)
def test_draws_are_probabilities_under_lopsided_priors(n_each, counts, seed):
    alpha = np.resize(n_each, (2, len(counts.bins)))
    bins = dirichlet_posterior(counts, alpha=alpha).sample(40, rng=seed)
    for values in (bins.mass, bins.accuracy, bins.confidence):
        assert np.all((values >= 0) & (values <= 1))
    np.testing.assert_allclose(bins.mass.sum(axis=1), 1, rtol=1e-12)


@settings(max_examples=100)
@given(counts=any_counts(), alpha=ALPHAS)
def test_exact_moments_are_possible_for_any_counts_and_any_prior(counts, alpha):
    """0 <= mean <= 1, and a variance no larger than that of a variable on [0, 1] with this mean."""
    posterior = dirichlet_posterior(counts, alpha=alpha)
    mean, variance = posterior.ece_mean(), posterior.ece_variance()
    assert 0 <= mean <= 1 + 1e-9
    assert -1e-12 <= variance <= mean * (1 - mean) + 1e-9


@settings(max_examples=25)
@given(counts=any_counts(), seed=SEEDS)
def test_an_evaluation_of_any_counts_can_be_printed(counts, seed):
    evaluation = evaluate_counts(counts, model="dirichlet", draws=50, rng=seed)
    assert "nan" not in str(evaluation).lower()
    low, high = evaluation.ece.interval(0.95)
    assert 0 <= low <= evaluation.ece.median() <= high <= 1
