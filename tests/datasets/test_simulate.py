"""Simulated rows have the truth that they claim: against hand derivations, other quadrature, and the coverage study."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from bayescal.datasets.simulate import (
    CURVES,
    POPULATIONS,
    BetaPopulation,
    Curve,
    Simulated,
    simulate,
    true_curve,
    true_ece,
)
from bayescal.stats.binned import BinnedCounts

# "True ECE" column of the coverage study (design notes, coverage.md): binned ECE, 15 equal-width bins, of three
# million rows of each population, printed to four decimals; where its rows for different n differ, all are listed.
STUDY = {
    ("top", "calibrated", None): (0.0000,),
    ("top", "temperature", 1.1): (0.0138,),
    ("top", "temperature", 1.5): (0.0631,),
    ("top", "shift", 0.3): (0.0246,),
    ("top", "wave", 0.05): (0.0276,),
    ("top", "one bad bin", 0.3): (0.0424, 0.0423, 0.0424),
    ("flat", "calibrated", None): (0.0000,),
    ("flat", "temperature", 1.1): (0.0140,),
    ("flat", "temperature", 1.5): (0.0583,),
    ("flat", "shift", 0.3): (0.0499, 0.0499, 0.0498),
    ("flat", "wave", 0.05): (0.0281, 0.0281, 0.0282),
    ("flat", "one bad bin", 0.3): (0.0210,),
    ("rare", "calibrated", None): (0.0000,),
    ("rare", "temperature", 1.1): (0.0121,),
    ("rare", "temperature", 1.5): (0.0568, 0.0567, 0.0568),
    ("rare", "shift", 0.3): (0.0262,),
    ("rare", "wave", 0.05): (0.0254, 0.0255, 0.0255),
    ("rare", "one bad bin", 0.3): (0.0001,),
}
# densities, written anew: (scipy distribution, lower end, width)
DENSITY = {
    "top": stats.beta(2.0, 0.6, loc=0.5, scale=0.5),
    "flat": stats.uniform(),
    "rare": stats.beta(0.5, 4.0),
}


@pytest.mark.parametrize(("cell", "printed"), STUDY.items(), ids=str)
def test_true_ece_is_that_of_the_coverage_study(cell: tuple, printed: tuple) -> None:
    population, family, strength = cell
    curve = true_curve(family, strength)
    # the study's Monte Carlo error: sd of the gap over its three million rows. Four of those and the rounding: were
    # the truths right, one of the 25 numbers would miss by chance with probability below 0.002
    c = DENSITY[population].rvs(20_000, random_state=1)
    tolerance = 5e-5 + 4 * float(np.std(curve(c) - c)) / np.sqrt(3e6)
    assert true_ece(population, family, strength=strength) == pytest.approx(np.array(printed), abs=tolerance)


@pytest.mark.parametrize(("population", "family", "strength"), [c for c in STUDY if c[1] != "calibrated"], ids=str)
def test_true_ece_agrees_with_adaptive_quadrature_of_the_density(population: str, family: str, strength: float) -> None:
    curve, density = true_curve(family, strength), DENSITY[population]
    total = 0.0
    for b in range(15):
        stops = sorted({b / 15, (b + 1) / 15, *(x for x in (0.5, 0.8, 0.87) if b / 15 < x < (b + 1) / 15)})
        parts = itertools.pairwise(stops)
        total += abs(sum(_integral(curve, density, low, high) for low, high in parts))
    assert true_ece(population, family, strength=strength) == pytest.approx(total, abs=1e-8)


def _integral(curve: Curve, density: object, low: float, high: float) -> float:
    """Integral of gap times density, in c = low + width * sin^2(x): no singular ends."""
    width = high - low

    def integrand(x: float) -> float:
        c = low + width * np.sin(x) ** 2
        return float(curve(c) - c) * density.pdf(c) * width * np.sin(2 * x)

    # rare has an infinite density at 0, top at 1; sin^2 makes it finite but 0 * inf at the very end
    return integrate.quad(integrand, 1e-12, np.pi / 2 - 1e-9, epsabs=1e-11, epsrel=1e-11, limit=500)[0]


def test_true_ece_of_a_shifted_uniform_in_closed_form() -> None:
    # E expit(logit(c) + s) for uniform c is the integral of k c / (1 + (k - 1) c), k = exp(s), which is
    # k / (k - 1) - k log(k) / (k - 1)^2; all gaps have one sign, so any bins give this minus 1/2
    k = np.exp(0.7)
    expected = k / (k - 1) - k * np.log(k) / (k - 1) ** 2 - 0.5
    for bins in (1, 15, [0, 0.123, 0.9, 1]):
        assert true_ece("flat", "shift", strength=0.7, bins=bins) == pytest.approx(expected, abs=1e-9)


def test_gaps_of_opposite_sign_cancel_within_a_bin() -> None:
    # sin(8 pi c) has four periods: a quarter of the range holds a whole one, an eighth half of one, of mean 2 / pi
    assert true_ece("flat", "wave", bins=4) == pytest.approx(0, abs=1e-12)
    assert true_ece("flat", "wave", bins=8) == pytest.approx(0.05 * 2 / np.pi, abs=1e-10)


def test_one_bad_bin_has_mass_times_depth() -> None:
    # a strip of width 0.07 is off by the strength, however the edges lie about it
    for bins in (1, 15, 20, 100):
        assert true_ece("flat", "one bad bin", strength=0.5, bins=bins) == pytest.approx(0.07 * 0.5, abs=1e-12)


def test_breaks_of_an_own_curve_are_integrated_exactly() -> None:
    step = Curve("step", None, lambda c: np.where(c < 1 / np.pi, 0.0, c), breaks=(1 / np.pi,))
    # the gap is -c below 1 / pi: integral 1 / (2 pi^2)
    assert true_ece("flat", step, bins=1) == pytest.approx(1 / (2 * np.pi**2), abs=1e-13)
    assert true_ece("flat", step.function, bins=1) == pytest.approx(1 / (2 * np.pi**2), abs=1e-3)


def test_a_callable_population_is_a_stated_sample() -> None:
    def uniform(rng: np.random.Generator, n_rows: int) -> np.ndarray:
        return rng.random(n_rows)

    # gap of a shift by 0.3 has sd 0.02 under the uniform: four standard errors of 1e5 rows (chance 6e-5)
    k = np.exp(0.3)
    expected = k / (k - 1) - k * np.log(k) / (k - 1) ** 2 - 0.5
    rows = simulate(10, population=uniform, curve="shift", rng=1)
    assert rows.true_ece(rows=100_000) == pytest.approx(expected, abs=4 * 0.023 / np.sqrt(1e5))
    # sin(8 pi c) over eighths: 0.05 * 2 / pi, with gaps of sd 0.036; a bin off by one would let halves cancel
    assert true_ece(uniform, "wave", bins=8, rows=100_000) == pytest.approx(0.1 / np.pi, abs=4 * 0.036 / np.sqrt(1e5))
    assert rows.true_ece(rows=1000) == rows.true_ece(rows=1000)
    assert rows.true_ece(rows=1000) != rows.true_ece(rows=1000, rng=1)
    assert "uniform" in repr(rows)


def test_rows_are_those_of_the_coverage_study() -> None:
    # the tool's own two lines: confidences, then one uniform number a row
    rng = np.random.default_rng(8)
    p = 0.5 + 0.5 * rng.beta(2.0, 0.6, 1000)
    z = (rng.random(1000) < 1 / (1 + (1 / p - 1) ** (1 / 1.5))).astype(int)
    rows = simulate(1000, population="top", curve="temperature", strength=1.5, rng=8)
    assert isinstance(rows, Simulated)
    np.testing.assert_array_equal(rows.confidence, p)
    np.testing.assert_array_equal(rows.outcome, z)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("family", CURVES)
def test_outcomes_follow_the_curve(population: str, family: str) -> None:
    rows = simulate(200_000, population=population, curve=family, rng=3)
    counts = BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=20)
    at = true_curve(family)(rows.confidence)
    index = np.minimum((rows.confidence * 20).astype(int), 19)
    expected, variance = np.bincount(index, at, 20), np.bincount(index, at * (1 - at), 20)
    enough = variance > 20
    assert enough.sum() >= 4
    z = (counts.k - expected)[enough] / np.sqrt(variance[enough])
    # 15 tests of at most 20 bins: |z| < 4.8 has a chance of failure of 5e-4 over all of them
    assert np.abs(z).max() < 4.8


@pytest.mark.parametrize("population", POPULATIONS)
def test_confidences_follow_the_population(population: str) -> None:
    c = simulate(20_000, population=population, rng=4).confidence
    # three tests at 1e-4
    assert stats.kstest(c, DENSITY[population].cdf).pvalue > 1e-4
    q = np.array([0.01, 0.3, 0.8])
    np.testing.assert_allclose(POPULATIONS[population].quantile(q), DENSITY[population].ppf(q), rtol=1e-9)
    np.testing.assert_allclose(POPULATIONS[population].cdf(c[:9]), DENSITY[population].cdf(c[:9]), rtol=1e-9)


def test_curves_at_hand_computed_points() -> None:
    # odds 9 at temperature 2 are odds 3; odds 1 shifted by log 3 are odds 3
    assert true_curve("temperature", 2)(0.9) == pytest.approx(0.75)
    assert true_curve("shift", np.log(3))(0.5) == pytest.approx(0.75)
    assert true_curve("wave", 0.1)(1 / 16) == pytest.approx(1 / 16 + 0.1)
    assert true_curve("wave", 0.9)(1 / 16 + 1 / 8) == 0
    np.testing.assert_allclose(true_curve("one bad bin")([0.8, 0.81, 0.87]), [0.8, 0.51, 0.87])
    assert [str(true_curve(name)) for name in CURVES] == [
        "calibrated",
        "temperature 1.5",
        "shift 0.3",
        "wave 0.05",
        "one bad bin 0.3",
    ]


def test_names_and_objects_are_the_same() -> None:
    by_name = simulate(50, population="rare", curve="wave", strength=0.02, rng=1)
    by_object = simulate(50, population=BetaPopulation(0.5, 4), curve=true_curve("wave", 0.02), rng=1)
    np.testing.assert_array_equal(by_name.confidence, by_object.confidence)
    np.testing.assert_array_equal(by_name.outcome, by_object.outcome)
    assert by_name.true_ece() == by_object.true_ece() == true_ece("rare", "wave", strength=0.02)
    counts = BinnedCounts.from_arrays(by_name.outcome, by_name.confidence, bins=7)
    assert by_name.true_ece(counts.bins) == by_name.true_ece(7)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"population": "topp"}, ValueError, "`population`.*Did you mean 'top'"),
        ({"population": 3}, TypeError, "`population`.*BetaPopulation"),
        ({"population": lambda rng, n: rng.random(n + 1)}, ValueError, r"`population`.*shape \(5,\)"),
        ({"population": lambda rng, n: rng.random(n) + 2}, ValueError, r"`population` must lie in \[0, 1\].*index 0"),
        ({"curve": "temprature"}, ValueError, "`curve`.*Did you mean 'temperature'"),
        ({"curve": 0.5}, TypeError, "`curve`"),
        ({"curve": lambda p: p - 2}, ValueError, r"`curve` must lie in \[0, 1\]"),
        ({"curve": "calibrated", "strength": 0.1}, ValueError, "`strength`.*calibrated"),
        ({"curve": np.sqrt, "strength": 0.1}, ValueError, "`strength`"),
        ({"curve": "shift", "strength": np.nan}, TypeError, "`strength`.*finite"),
        ({"curve": "shift", "strength": "0.3"}, TypeError, "`strength`.*finite"),
        ({"curve": "temperature", "strength": 0.0}, ValueError, "`strength`.*> 0"),
        ({"n_rows": 0}, ValueError, "`n_rows`"),
        ({"rng": "seed"}, TypeError, "`rng`"),
    ],
)
def test_wrong_input_is_refused(given: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        simulate(**{"n_rows": 5, "rng": 1, **given})


@pytest.mark.parametrize("bins", [[0, 0.5], [0, 0.5, 0.5, 1], [[0, 1]], 0, [0.1, 1]])
def test_wrong_bins_are_refused(bins: object) -> None:
    with pytest.raises(ValueError, match="`bins`"):
        true_ece("flat", "wave", bins=bins)


@pytest.mark.parametrize(
    ("given", "word"), [({"a": 0}, "`a`"), ({"b": -1}, "`b`"), ({"low": 1}, "`low`"), ({"low": -0.1}, "`low`")]
)
def test_wrong_population_is_refused(given: dict, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        BetaPopulation(**{"a": 1, "b": 1, **given})
