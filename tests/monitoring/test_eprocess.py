"""E-processes: means of e-values by enumeration of all outcomes, the mixture by its definition, and Ville's bound."""

import itertools

import numpy as np
import pytest
from scipy.special import zeta
from scipy.stats import binom

from bayescal.monitoring.statistics import (
    JUMPING,
    JUMPS,
    PRIOR,
    SHIFT,
    STRETCH,
    LogEValues,
    Mixture,
    calibration_e_values,
    change_e_values,
    score_scale,
)

#: Confidences of the rows of a window, by bin.
WINDOWS = {
    "equal confidences": [[0.3, 0.3, 0.3], [0.9]],
    "unequal confidences": [[0.05, 0.4, 0.45], [0.6, 0.99]],
    "near 0 and 1": [[1e-7, 1e-6, 3e-6], [0.999999, 1.0]],
    "certain": [[0.0, 0.0, 0.0], [1.0, 1.0]],
    "an empty bin": [[0.2, 0.7], []],
}
#: Midpoints of the two bins.
MIDPOINTS = np.array([0.25, 0.75])


def outcomes(rows):
    """Return all outcomes of the rows of a window with their probability, if each confidence is exact."""
    c = np.concatenate([np.array(bin_rows, float) for bin_rows in rows])
    for z in itertools.product((0, 1), repeat=len(c)):
        probability = float(np.prod(np.where(np.array(z), c, 1 - c)))
        if probability > 0:
            yield np.array(z), probability


def counts(rows, z):
    """Return n, k and mean confidence by bin; the mean of an empty bin is not a number."""
    ends = np.cumsum([len(bin_rows) for bin_rows in rows])[:-1]
    n = np.array([len(bin_rows) for bin_rows in rows], float)
    k = np.array([part.sum() for part in np.split(z, ends)], float)
    mean = np.array([np.mean(bin_rows) if bin_rows else np.nan for bin_rows in rows])
    return n, k, mean


@pytest.mark.parametrize("name", WINDOWS)
def test_the_mean_of_every_e_value_is_at_most_1(name):
    drift, jump = np.zeros(len(SHIFT)), np.zeros((2, len(JUMPS)))
    for z, probability in outcomes(WINDOWS[name]):
        n, k, mean = (each[None] for each in counts(WINDOWS[name], z))
        found = calibration_e_values(n, k, mean, MIDPOINTS)
        drift += probability * np.exp(found.drift[0])
        jump += probability * np.exp(found.jump[0])
    assert max(drift.max(), jump.max()) <= 1 + 1e-12
    if name == "equal confidences":
        np.testing.assert_allclose(np.append(drift, jump), 1, rtol=1e-12)
    if name == "unequal confidences":
        assert jump.min() < 0.999  # the bound is not sharp here


def test_many_certain_rows_are_no_evidence():
    """A bin of 10^9 rows with confidence 0 and outcome 0: with a margin of 1e-6 a bet on fewer would win e^1000."""
    n, none = np.array([[1e9]]), np.zeros((1, 1))
    for found in (
        calibration_e_values(n, none, none, np.array([0.03])),
        calibration_e_values(n, n, np.ones((1, 1)), np.array([0.97])),
    ):
        assert abs(found.drift).max() <= 1e-5
        assert abs(found.jump).max() <= 1e-5


def urn(z):
    """Confidences of an urn of 2 + 2 balls: each outcome is that of the ball, and a ball of its colour is added."""
    before = np.concatenate([[0], np.cumsum(z)[:-1]])
    return (2 + before) / (4 + np.arange(len(z)))


def test_confidences_may_depend_on_outcomes_of_their_window():
    """All outcomes of five rows of an urn, in one bin and in two; the hypothesis is true, whatever the bins.

    A change of slope that multiplied the logit of the window's mean confidence would have means up to 1.22 and 1.14.
    """
    means = {1: [0.0, 0.0], 2: [0.0, 0.0]}
    for z in itertools.product((0, 1), repeat=5):
        z, c = np.array(z), urn(z)
        probability = np.prod(np.where(z, c, 1 - c))
        for n_bins, mean in means.items():
            of_bin = (c * n_bins).astype(int)[:, None] == np.arange(n_bins)
            n, k, sums = ((of_bin * np.array(each)[:, None]).sum(axis=0)[None] for each in (np.ones(5), z, c))
            found = calibration_e_values(n, k, sums / np.maximum(n, 1), (np.arange(n_bins) + 0.5) / n_bins)
            for i, log_e in enumerate((found.drift, found.jump)):
                mean[i] = mean[i] + probability * np.exp(log_e[0])
    assert max(each.max() for mean in means.values() for each in mean) <= 1 + 1e-12


def test_few_streams_that_react_to_their_outcomes_raise_an_alarm():
    """Each window has 2000 rows of confidence 0.5, then 2000 of 0.532 or 0.468, whichever outcome was in excess.

    Fails with probability 0.001 if Ville's bound is sharp. The logit of the mean confidence of the window, in place of
    that of the midpoint, gave alarms in three of four streams.
    """
    rng, shape = np.random.default_rng(6), (60, 1000, 1)
    first = rng.binomial(2000, 0.5, shape)
    second = np.where(first > 1000, 0.532, 0.468)
    k, mean = (first + rng.binomial(2000, second)).astype(float), (0.5 + second) / 2
    found = calibration_e_values(np.full(shape, 4000.0), k, mean, np.array([0.5]))
    _, values = Mixture.start(1000, 1).after(found)
    assert int((values.max(axis=0) >= np.log(20)).sum()) <= binom.isf(0.001, 1000, 0.05)


def test_alternatives_by_their_definition():
    """The likelihood ratio of accuracies whose logit is moved; the slope multiplies the logit of the midpoint."""
    n, k, c = np.array([[7.0, 12.0]]), np.array([[2.0, 11.0]]), np.array([[0.3, 0.97]])
    found = calibration_e_values(n, k, c, MIDPOINTS)

    def log_ratio(delta):
        q = 1 / (1 + (1 - c[0]) / c[0] * np.exp(-delta))
        return k[0] * np.log(q / c[0]) + (n[0] - k[0]) * np.log((1 - q) / (1 - c[0]))

    for i, (a, s) in enumerate(zip(SHIFT, STRETCH, strict=True)):
        assert found.drift[0, i] == pytest.approx(log_ratio(a + s * np.log([1 / 3, 3])).sum(), rel=1e-12)
    for i, jump in enumerate(JUMPS):
        np.testing.assert_allclose(found.jump[0, :, i], log_ratio(jump), rtol=1e-12)


def test_the_mean_of_the_mixture_is_at_most_1():
    """All outcomes of three windows, merged by the mixture."""
    windows = [[[0.2, 0.4], [0.7]], [[0.3], [0.9, 0.6]], [[0.1, 0.45], []]]
    means = np.zeros(3)
    for parts in itertools.product(*(list(outcomes(rows)) for rows in windows)):
        stacked = (
            np.array(each)
            for each in zip(*(counts(r, z) for r, (z, _) in zip(windows, parts, strict=True)), strict=True)
        )
        _, values = Mixture.start(2).after(calibration_e_values(*stacked, MIDPOINTS))
        means += np.prod([probability for _, probability in parts]) * np.exp(values)
    assert (means <= 1 + 1e-12).all()
    assert (means > 0.9).all()


def test_the_mixture_is_the_sum_over_beginnings():
    """The definition: half drifts, half jumps of single bins, with weight j^-1.5 / zeta(1.5) to begin in window j."""
    rng = np.random.default_rng(1)
    size, n_bins = 5, 3
    found = LogEValues(rng.normal(size=(size, len(SHIFT))), rng.normal(size=(size, n_bins, len(JUMPS))))
    _, values = Mixture.start(n_bins).after(found)
    begin = np.arange(1, size + 1) ** -1.5 / zeta(1.5)
    for t in range(size):
        rest = 1 - begin[: t + 1].sum()
        since = [np.exp(found.drift[j : t + 1].sum(axis=0)) for j in range(t + 1)]
        drifts = rest + sum(w * (PRIOR * e).sum() for w, e in zip(begin, since, strict=False))
        since = [np.exp(found.jump[j : t + 1].sum(axis=0)).mean(axis=1) for j in range(t + 1)]
        jumps = np.prod(1 - JUMPING + JUMPING * (rest + sum(w * e for w, e in zip(begin, since, strict=False))))
        assert values[t] == pytest.approx(np.log((drifts + jumps) / 2), abs=1e-12)


def test_prior_weights():
    """76 drifts; a shift of 0 has 1/4 and a change of slope of 0 has 1/2 before the point without drift is removed."""
    assert len(SHIFT) == 76
    assert PRIOR.sum() == pytest.approx(1)
    assert PRIOR[SHIFT == 0].sum() == pytest.approx((0.25 - 0.125) / 0.875)
    assert PRIOR[STRETCH == 0].sum() == pytest.approx((0.5 - 0.125) / 0.875)


def test_windows_in_parts_give_the_same_values():
    rng = np.random.default_rng(2)
    n = rng.integers(0, 30, (20, 4, 3)).astype(float)  # four streams
    k, c = rng.binomial(n.astype(int), 0.4).astype(float), rng.random((20, 4, 3))
    at = np.array([0.2, 0.5, 0.9])
    _, whole = Mixture.start(4, 3).after(calibration_e_values(n, k, c, at))
    mixture, parts = Mixture.start(4, 3), []
    for part in (slice(0, 1), slice(1, 1), slice(1, 13), slice(13, 20)):
        mixture, values = mixture.after(calibration_e_values(n[part], k[part], c[part], at))
        parts.append(values)
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)
    _, one = Mixture.start(3).after(calibration_e_values(n[:, 2], k[:, 2], c[:, 2], at))
    np.testing.assert_allclose(one, whole[:, 2], rtol=1e-12)


def test_long_streams_do_not_overflow():
    """10 000 windows against the process, then evidence beyond the range of float64."""
    n = np.full((11_000, 1), 1000.0)
    k = np.where(np.arange(11_000)[:, None] < 10_000, 500.0, 900.0)
    _, values = Mixture.start(1).after(calibration_e_values(n, k, np.full_like(n, 0.5), np.array([0.5])))
    assert np.isfinite(values).all()
    assert values[9999] < 0
    assert values[-1] > 300_000  # 1000 windows of about KL(0.9, 0.5) * 1000 = 368 nats


def test_change_e_values_by_their_definition():
    rng = np.random.default_rng(3)
    z, scale, c = rng.normal(size=(2, 3)), rng.random((2, 3)), np.array([0.1, 0.5, 0.9995])
    found = change_e_values(z, scale, c)
    logit = np.log(c / (1 - c))
    for i, (a, s) in enumerate(zip(SHIFT, STRETCH, strict=True)):
        d = (a + s * logit) * scale
        np.testing.assert_allclose(found.drift[:, i], (d * z - d**2 / 2).sum(axis=1), atol=1e-12)
    d = JUMPS * scale[..., None]
    np.testing.assert_allclose(found.jump, d * z[..., None] - d**2 / 2)


def test_the_scale_is_the_mean_of_the_score_of_a_shift():
    """k of a window with a small shift has mean n v delta above, and given the total the variance n v N / (N + n)."""
    n, before, c = np.array([100.0]), np.array([300.0]), np.array([0.2])
    expected = 100 * 0.16 * (300 / 400) / np.sqrt(100 * 0.16 * 300 / 400)
    assert score_scale(n, before, c)[0] == pytest.approx(expected)
    near = score_scale(n, before, np.array([0.0005]))[0]
    assert near == pytest.approx(np.sqrt(100 * 0.0005 * 0.9995 * 300 / 400))


def calibrated_streams(n_streams, n_windows, rng):
    """Counts of calibrated streams with 20 rows per window in 5 bins: shape (n_windows, n_streams, 5)."""
    c = rng.random((n_windows, n_streams, 20))
    z = rng.random(c.shape) < c
    of_bin = (c * 5).astype(int)[..., None] == np.arange(5)
    n = of_bin.sum(axis=2).astype(float)
    k = (of_bin & z[..., None]).sum(axis=2).astype(float)
    return n, k, (of_bin * c[..., None]).sum(axis=2) / np.maximum(n, 1)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_few_calibrated_streams_ever_reach_the_threshold(level):
    """Ville's bound; if it is sharp, this test fails with probability 0.001. Bets on seen outcomes break it."""
    n, k, c = calibrated_streams(1000, 60, np.random.default_rng(4))
    at = np.arange(0.1, 1, 0.2)
    _, values = Mixture.start(1000, 5).after(calibration_e_values(n, k, c, at))
    alarms = int((values.max(axis=0) >= np.log(1 / level)).sum())
    assert alarms <= binom.isf(0.001, 1000, level)
    seen = calibration_e_values(n, k, c, at)
    best = LogEValues(np.repeat(seen.drift.max(axis=-1)[..., None], len(SHIFT), axis=-1), seen.jump)
    _, wrong = Mixture.start(1000, 5).after(best)
    assert int((wrong.max(axis=0) >= np.log(1 / level)).sum()) > binom.isf(0.001, 1000, level)
