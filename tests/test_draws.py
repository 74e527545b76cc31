"""Summaries over draws against numbers known beforehand."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from bayescal import BinDraws, Draws, evaluate
from bayescal.draws import fingerprint


@pytest.fixture
def normal():
    """The 100 001 quantiles of a standard Normal at (i + 1/2)/n."""
    from scipy.special import ndtri

    return Draws(ndtri((np.arange(100_001) + 0.5) / 100_001), "z")


def test_summaries_of_a_normal(normal):
    """1.959964 and 0.674490 are the Normal's own quantiles; P(Z < 1) = 0.841345."""
    assert normal.mean() == pytest.approx(0, abs=1e-12)
    assert normal.median() == pytest.approx(0, abs=1e-12)
    assert normal.sd() == pytest.approx(1, abs=1e-4)
    assert normal.interval(0.95) == pytest.approx((-1.959964, 1.959964), abs=1e-3)
    assert normal.interval(0.5) == pytest.approx((-0.674490, 0.674490), abs=1e-4)
    assert normal.interval(0.95, kind="hdi") == pytest.approx((-1.959964, 1.959964), abs=1e-2)
    assert normal.pr(lambda z: z < 1) == pytest.approx(0.841345, abs=2e-5)
    assert normal.mcse() == pytest.approx(1 / np.sqrt(100_001), rel=1e-3)
    np.testing.assert_allclose(normal.quantile([0.025, 0.975]), [-1.959964, 1.959964], atol=1e-3)


def test_small_numbers_by_hand():
    draws = Draws(np.array([1.0, 2.0, 3.0, 6.0]))
    assert draws.mean() == 3
    assert draws.median() == 2.5
    assert draws.sd() == pytest.approx(np.sqrt((4 + 1 + 0 + 9) / 3))
    assert draws.pr(lambda d: d > 2) == 0.5
    assert draws.quantile(0) == 1
    assert draws.quantile(1) == 6


def test_the_hdi_is_narrower_for_a_skewed_quantity():
    """Of an exponential it begins at 0 and ends at -log(0.05) = 2.9957."""
    draws = Draws(-np.log1p(-(np.arange(50_000) + 0.5) / 50_000))
    low, high = draws.interval(0.95, kind="hdi")
    assert low == pytest.approx(0, abs=1e-3)
    assert high == pytest.approx(2.9957, abs=1e-2)
    equal = draws.interval(0.95)
    assert high - low < equal[1] - equal[0]


def test_scalars_are_floats_and_arrays_arrays(normal):
    for value in (normal.mean(), normal.sd(), normal.median(), normal.mcse(), normal.quantile(0.1), *normal.interval()):
        assert type(value) is float
    assert type(normal.pr(lambda z: z < 0)) is float
    two = Draws(np.arange(12.0).reshape(6, 2))
    for value in (two.mean(), two.sd(), two.median(), two.mcse(), *two.interval(), two.pr(lambda z: z < 4)):
        assert value.shape == (2,)
    np.testing.assert_allclose(two.mean(), [5, 6])
    assert [end.shape for end in two.interval(kind="hdi")] == [(2,), (2,)]
    assert two.quantile([0.1, 0.5, 0.9]).shape == (3, 2)


def test_numpy_gets_the_draws(normal):
    np.testing.assert_array_equal(np.asarray(normal), normal.values)
    assert np.asarray(normal, dtype=np.float32).dtype == np.float32
    assert len(normal) == 100_001
    assert np.quantile(normal, 0.5) == pytest.approx(0, abs=1e-12)


def test_repr():
    assert (
        repr(Draws(np.linspace(0, 1, 1001), "ece")) == "Draws(ece: mean 0.5, 95 % interval [0.025, 0.975], 1001 draws)"
    )
    assert repr(Draws(np.zeros((10, 3)), "gap")) == "Draws(gap: 10 draws of shape (3,))"


@pytest.mark.parametrize(
    ("prob", "error", "message"),
    [
        (0, ValueError, "`prob` must lie strictly between 0 and 1, not 0"),
        (1, ValueError, "`prob` must lie strictly between 0 and 1, not 1"),
        (1.0, ValueError, "strictly between 0 and 1"),
        (-0.1, ValueError, "strictly between 0 and 1"),
        (95, ValueError, "Percent? Divide by 100"),
        (float("nan"), ValueError, "strictly between 0 and 1"),
        ("0.95", TypeError, "`prob` must be a number"),
        (True, TypeError, "`prob` must be a number"),
    ],
)
def test_probabilities_of_intervals_are_checked(normal, prob, error, message):
    """uncertainty-calibration reads alpha = 0.1 as a percentage; here 95 is refused with a hint."""
    for kind in ("equal-tailed", "hdi"):
        with pytest.raises(error) as caught:
            normal.interval(prob, kind=kind)
        assert message in str(caught.value)


def test_unknown_kinds_of_interval(normal):
    with pytest.raises(ValueError, match=r"`kind` must be one of \['equal-tailed', 'hdi'\], not 'eti'"):
        normal.interval(0.9, kind="eti")


@pytest.mark.parametrize("event", [0.02, "e < 1", None, lambda e: e, lambda e: True, lambda e: (e < 1)[:3]])
def test_events_that_are_none(normal, event):
    with pytest.raises(TypeError, match="`event` must"):
        normal.pr(event)


def test_gap_is_accuracy_minus_confidence():
    ones = np.ones((2, 1))
    bins = BinDraws(ones, 0.75 * ones, 0.5 * ones, np.array([True]), ones)
    np.testing.assert_allclose(bins.gap, 0.25)
    assert len(bins) == 2


def test_draws_are_frozen(normal):
    with pytest.raises(AttributeError):
        normal.name = "other"


def test_zero_has_no_sign():
    assert repr(Draws(np.array([-0.0, -0.0]))) == "Draws(draws: mean 0, 95 % interval [0, 0], 2 draws)"


def test_a_comparison_is_a_probability():
    """Of the draws 0, 1, ..., 9, three are below 3, and four are not above it."""
    draws = Draws(np.arange(10.0), "x")
    below = draws < 3
    assert (below, draws <= np.float64(3), draws > 3, draws <= 3) == (0.3, 0.4, 0.6, 0.4)
    assert repr(below) == "P(x < 3) = 0.3"
    assert below > 0.2
    assert f"{below:.2f}" == "0.30"
    assert repr(pickle.loads(pickle.dumps(below))) == repr(below)
    with pytest.raises(
        TypeError, match=r"`x < 3` is neither true nor false; it has probability 0\.3\. .*`\(x < 3\) > 0\.95`"
    ):
        bool(below)


def test_a_comparison_of_curves_is_an_array_of_probabilities():
    np.testing.assert_array_equal(Draws(np.array([[0.0, 1.0], [2.0, 3.0]])) < 1.5, [0.5, 0.5])


def test_draws_have_no_order(normal):
    with pytest.raises(TypeError, match="come from the same evaluation"):
        sorted([normal, normal])
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(normal)
    assert normal == normal
    assert normal in [normal]


def test_draws_are_formatted_by_their_mean():
    draws = Draws(np.array([0.25, 0.5]))
    assert f"{draws:.3f}" == "0.375"
    assert float(draws) == 0.375
    assert f"{draws}" == repr(draws)
    with pytest.raises(TypeError, match=r"draws of shape \(2,\) are not one number"):
        float(Draws(np.ones((3, 2))))


@pytest.mark.parametrize(
    ("result", "values", "name"),
    [
        (lambda x: x + 1, [2, 3], "x + 1"),
        (lambda x: 1 - x, [0, -1], "1 - x"),
        (lambda x: np.float64(3) / x, [3, 1.5], "3 / x"),
        (lambda x: -x, [-1, -2], "-(x)"),
        (lambda x: abs(x - 2), [1, 0], "abs(x - 2)"),
        (lambda x: 100 * x**2, [100, 400], "100 * (x ** 2)"),
    ],
)
def test_arithmetic_with_numbers_gives_draws(result, values, name):
    drawn = result(Draws(np.array([1.0, 2.0]), "x", origin=1))
    np.testing.assert_array_equal(drawn.values, values)
    assert (drawn.name, drawn.origin) == (name, 1)


def test_draws_of_one_evaluation_can_be_combined():
    evaluation, other = (evaluate([0, 1, 1, 0, 1], p, draws=50, rng=1) for p in ([0.2, 0.6, 0.9, 0.4, 0.7], [0.5] * 5))
    total = evaluation.overconfidence + evaluation.underconfidence
    np.testing.assert_allclose(total.values, evaluation.ece.values)
    assert (total < evaluation.e90_bins + 1) == 1
    again = pickle.loads(pickle.dumps(evaluation))
    np.testing.assert_array_equal((again.ece - evaluation.ece).values, 0)
    for second in (other.ece, evaluation.null):
        with pytest.raises(TypeError, match=r"same evaluation, .*`bayescal\.compare"):
            evaluation.ece - second


def test_functions_of_numpy_and_arrays_give_arrays(normal):
    np.testing.assert_array_equal(np.exp(normal), np.exp(normal.values))
    np.testing.assert_array_equal(normal - np.zeros(len(normal)), normal.values)
    assert np.std(normal) == normal.values.std()
    assert normal.std() == normal.sd()
    assert normal.hdi(0.5) == normal.interval(0.5, kind="hdi")


def test_complex_numbers_and_booleans_give_arrays(normal):
    for other in (1j, np.complex128(1j), True, np.True_):
        assert type(normal + other) is np.ndarray


@pytest.mark.parametrize(
    ("arithmetic", "error", "said"),
    [
        (
            lambda d: 1 / d,
            ZeroDivisionError,
            r"`1 / ece` divides by 0: .*1 of 3 draws are not, the first is number 1 \(inf\)",
        ),
        (
            lambda d: d / 0,
            ZeroDivisionError,
            r"`ece / 0` divides by 0: .*3 of 3 draws are not, the first is number 0 \(inf\)",
        ),
        (lambda d: d / d, ZeroDivisionError, r"1 of 3 draws are not, the first is number 1 \(nan\)"),
        (lambda d: np.divide(1, d), ZeroDivisionError, "divides by 0"),
        (lambda d: d**-1, ValueError, r"`ece \*\* -1` must have finite draws; 1 of 3 draws are not"),
        (lambda d: (d - 1) ** 0.5, ValueError, r"2 of 3 draws are not, the first is number 0 \(nan\)"),
        (lambda d: d * float("inf"), ValueError, "must have finite draws"),
        (lambda d: d * 1e308 * 10, ValueError, "1 of 3 draws are not, the first is number 2"),
        (lambda d: d < float("nan"), ValueError, "`ece < nan` compares with NaN"),
        (lambda d: float("nan") >= d, ValueError, "`ece <= nan` compares with NaN"),
    ],
)
def test_arithmetic_whose_draws_are_not_finite_is_refused(arithmetic, error, said):
    with pytest.raises(error, match=said):
        arithmetic(Draws(np.array([0.5, 0.0, 2.0]), "ece", origin=1))


def test_the_first_draw_of_a_vector_that_is_not_finite():
    with pytest.raises(ZeroDivisionError, match=r"1 of 6 draws are not, the first is number \(2, 1\)"):
        1 / Draws(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), "ece by class", origin=1)


def test_arithmetic_with_finite_draws():
    draws = Draws(np.array([0.5, 0.0, 2.0]), "ece", origin=1)
    assert np.asarray(draws / Fraction(1, 2)).tolist() == [1.0, 0.0, 4.0]
    assert np.asarray(0 / (draws + 1)).tolist() == [0.0, 0.0, 0.0]
    assert (draws < float("inf")) == 1


def test_fingerprints_of_other_contents_differ():
    assert fingerprint(np.arange(3), "seed 1") == fingerprint(np.arange(3), "seed 1")
    assert fingerprint(np.arange(3), "seed 1") != fingerprint(np.arange(3), "seed 2")


# --- simultaneous bands


@pytest.mark.parametrize("prob", [0.5, 0.9, 0.95])
def test_a_band_contains_its_share_of_the_draws(prob):
    """And no more than needed: without its outermost order statistics it contains fewer."""
    steps = np.random.default_rng(1).normal(size=(1000, 30))
    curve = Draws(steps.cumsum(axis=1), "walk")
    low, high = curve.band(prob)
    inside = ((curve.values >= low) & (curve.values <= high)).all(axis=1)
    assert prob <= inside.mean() < prob + 0.06
    narrow_low, narrow_high = curve.interval(prob)
    assert (low < narrow_low).all()
    assert (high > narrow_high).all()
    ordered = np.sort(curve.values, axis=0)
    left_out = int(np.searchsorted(ordered[:, 0], low[0]))
    np.testing.assert_array_equal(low, ordered[left_out])
    np.testing.assert_array_equal(high, ordered[999 - left_out])
    fewer = ((curve.values > low) & (curve.values < high)).all(axis=1)
    assert fewer.mean() < prob


def test_a_band_by_hand():
    """Draw i is (i, 19 - i): a band that leaves out k on each side contains 20 - 2 k of 20 draws."""
    draws = Draws(np.column_stack([np.arange(20.0), 19 - np.arange(20.0)]), "pair")
    for prob, left_out in ((0.99, 0), (0.9, 1), (0.81, 1), (0.8, 2), (0.05, 9)):
        low, high = draws.band(prob)
        assert low.tolist() == [left_out] * 2
        assert high.tolist() == [19 - left_out] * 2


def test_values_at_an_end_of_a_band_are_inside():
    """All draws of a curve that begins with 0 in all of them, and one draw that differs later."""
    values = np.zeros((100, 3))
    values[:4, 2] = 5.0
    low, high = Draws(values, "curve").band(0.95)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [0, 0, 0])
    low, high = Draws(values, "curve").band(0.97)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [0, 0, 5])


def test_bands_of_curves_only(normal):
    with pytest.raises(ValueError, match="these are draws of a single number: use `interval`"):
        normal.band()
    with pytest.raises(ValueError, match="`prob` must lie strictly between 0 and 1, not 95"):
        Draws(np.zeros((4, 2))).band(95)
