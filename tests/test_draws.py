"""Summaries over draws against numbers known beforehand."""

import numpy as np
import pytest

from bayescal import BinDraws, Draws


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


def test_draws_are_not_compared_with_a_number(normal):
    for compared in (lambda: normal < 0.05, lambda: normal >= np.float64(0.05)):
        with pytest.raises(
            TypeError, match=r"neither smaller nor larger than 0\.05: .*`ece\.pr\(lambda e: e < 0\.05\)`"
        ):
            compared()
    with pytest.raises(TypeError, match="larger than an array"):
        sorted([normal, normal])


def test_draws_are_not_formatted_as_a_number(normal):
    with pytest.raises(TypeError, match=r'cannot be formatted with \'\.3f\': .*f"\{ece\.mean\(\):\.3f\}"'):
        f"{normal:.3f}"
    assert f"{normal}" == repr(normal)
