"""Product limits by bin, and how many uncensored rows they are worth, against plain loops and calculations by hand."""

import numpy as np
import pytest

from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.rows import SurvivalRows


def simulated(n, seed, *, causes=1, ties=0):
    """Rows whose censoring depends on the risk; `ties`: times rounded up to so many values per unit."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    first = (np.log(rng.random(n)) / np.log1p(-risk)) ** (1 / 1.3)
    second = rng.exponential(2.0, n) if causes > 1 else np.full(n, np.inf)
    lost = rng.exponential(1.0, n) / np.exp(2 * (risk - 0.3))
    time = np.minimum(np.minimum(first, second), lost)
    event = np.where(time == lost, 0, np.where(time == first, 1, 2))
    return (np.ceil(time * ties) / ties if ties else time), event, risk


def aalen_johansen(time, event, weight, horizon, cause=1):
    """Definition: at each time with events, S(u-) d / Y; also the censoring curve just before each time."""
    surviving, incidence, uncensored, curve = 1.0, 0.0, 1.0, {}
    for u in np.unique(time[time <= horizon]):
        at_risk = weight[time >= u].sum()
        here = time == u
        events, of_cause = weight[here & (event > 0)].sum(), weight[here & (event == cause)].sum()
        curve[u] = uncensored
        incidence += surviving * of_cause / at_risk
        surviving *= 1 - events / at_risk
        left = at_risk - events
        uncensored *= 1 - weight[here & (event == 0)].sum() / left if left > 0 else 1.0
    return incidence, curve


def effective(time, event, risk, weight, horizon, members, cause=1):
    """Definition of the effective number of rows of one bin, a loop over times."""
    times = np.unique(time[(event == cause) & (time <= horizon)])
    step = [weight[(time == u) & (event == cause)].sum() / weight[time >= u].sum() for u in times]
    mean = np.average(risk[members], weights=weight[members])
    scale = -np.log1p(-mean) / sum(step)
    odds = np.diff(np.expm1(scale * np.concatenate([[0.0], np.cumsum(step)])))
    curve = {}
    remaining = 1.0
    for u in np.unique(np.concatenate([times, time[members & (event == 0) & (time < horizon)]])):
        curve[u] = remaining
        here = members & (time == u)
        left = weight[members & (time >= u)].sum() - weight[here & (event > 0)].sum()
        gone = weight[here & (event == 0)].sum()
        remaining *= 1 - gone / left if gone else 1.0
    inverse = np.array([1 / curve[u] for u in times])
    kish = weight[members].sum() ** 2 / (weight[members] ** 2).sum()
    return kish * odds.sum() / (odds * inverse).sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("causes", "ties"), [(1, 0), (1, 8), (2, 0), (2, 8)])
def test_curves_and_effective_rows_follow_their_definitions(causes, ties, weighted):
    time, event, risk = simulated(3000, 3, causes=causes, ties=ties)
    weight = np.random.default_rng(4).gamma(2.0, 1.0, 3000) if weighted else np.ones(3000)
    bins = make_bins([0, 0.1, 0.2, 0.3, 0.45, 1])
    rows = SurvivalRows.read(time, event, risk, weight if weighted else None)
    counts = HorizonCounts.from_rows(rows, 0.75, bins)
    assert counts.followed.all()
    for b in range(len(bins)):
        members = (risk >= bins.edges[b]) & (risk < bins.edges[b + 1])
        expected, _ = aalen_johansen(time[members], event[members], weight[members], 0.75)
        assert counts.accuracy[b] == pytest.approx(expected, rel=1e-11)
        worth = effective(time, event, risk, weight, 0.75, members)
        assert counts.effective_n[b] == pytest.approx(worth, rel=1e-9)
        assert counts.effective_k[b] == pytest.approx(worth * expected, rel=1e-9)
    assert counts.effective_n.sum() < counts.rows.effective_n.sum()


def test_a_bin_by_hand():
    """Six rows: events at 1 and 3, censored at 2, three event-free; S = 5/6 * 3/4, so F = 3/8.

    The pooled hazard is 1/6 + 1/4; with mean risk 1/2, c = log 2 / (5/12), odds rise by 2^(2/5) - 1 and 2 - 2^(2/5),
    and 1 / G is 1 and 5/4 at the two events.
    """
    rows = SurvivalRows.read([1, 2, 3, 9, 9, 9], [1, 0, 1, 0, 0, 0], [0.5] * 6)
    counts = HorizonCounts.from_rows(rows, 4.0, make_bins(1))
    first = 2**0.4 - 1
    assert counts.accuracy[0] == pytest.approx(3 / 8, rel=1e-14)
    assert counts.effective_n[0] == pytest.approx(6 / (first + (1 - first) * 5 / 4), rel=1e-14)
    assert counts.n_censored.tolist() == [1]


def test_order_of_rows_and_of_ties_does_not_matter():
    time, event, risk = simulated(2000, 5, causes=2, ties=4)
    order = np.random.default_rng(6).permutation(2000)
    one, other = (
        HorizonCounts.from_rows(SurvivalRows.read(time[at], event[at], risk[at]), 0.75, make_bins(5))
        for at in (slice(None), order)
    )
    assert one.accuracy == pytest.approx(other.accuracy, rel=1e-13)
    assert one.effective_n == pytest.approx(other.effective_n, rel=1e-12)


def test_equal_weights_change_nothing():
    time, event, risk = simulated(1000, 7)
    plain = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), 0.5, make_bins(5))
    heavy = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk, [3.0] * 1000), 0.5, make_bins(5))
    for name in ("accuracy", "effective_n", "effective_k", "share"):
        assert getattr(plain, name) == pytest.approx(getattr(heavy, name), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("causes", [1, 2])
def test_inverse_censoring_weights_add_up_to_the_product_limit(causes, weighted):
    """Weighted rows with and without the event add up to n F and n (1 - F): IPCW with the own curve is Kaplan-Meier."""
    time, event, risk = simulated(2000, 8, causes=causes)
    weights = np.random.default_rng(9).gamma(2.0, 1.0, 2000) if weighted else None
    counts = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk, weights), 0.5, make_bins(5))
    followed = counts.followed & counts.occupied
    n = counts.rows.weight.sum(axis=0)
    assert counts.weight[1][followed] == pytest.approx((n * counts.accuracy)[followed], rel=1e-10)
    assert counts.weight.sum(axis=0)[followed] == pytest.approx(n[followed], rel=1e-10)


def test_rows_of_weight_zero_change_nothing():
    time, event, risk = simulated(300, 10)
    time[:2], event[:2], risk[:2] = [0.45, 0.2], [0, 0], [0.99, 0.1]  # the last row of a bin, and one of many
    weights = np.random.default_rng(1).gamma(2.0, 1.0, 300)
    weights[:2] = 0
    every = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk, weights), 0.5, make_bins(10))
    rest = HorizonCounts.from_rows(SurvivalRows.read(time[2:], event[2:], risk[2:], weights[2:]), 0.5, make_bins(10))
    for name in ("followed", "accuracy", "effective_n", "effective_k", "weight"):
        assert getattr(every, name) == pytest.approx(getattr(rest, name), rel=1e-12, nan_ok=True), name


def test_a_row_that_outweighs_those_after_it():
    """A share of 10 000 / 10 003 of the rows at risk leaves, and 3 stay; they are the curve from there on."""
    rows = SurvivalRows.read([1, 2, 3, 9], [0, 1, 1, 0], [0.2] * 4, [10_000, 1, 1, 1])
    counts = HorizonCounts.from_rows(rows, 4.0, make_bins(1))
    assert counts.accuracy[0] == pytest.approx(2 / 3, rel=1e-12)
    assert counts.weight.sum() == pytest.approx(counts.rows.weight.sum(), rel=1e-12)


@pytest.mark.parametrize("stated", [0.002, 0.999])
def test_effective_rows_of_risks_near_0_and_1(stated):
    time, event, risk = simulated(400, 11)
    risk[:] = stated + 1e-4 * (risk - 0.5)
    counts = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), 0.5, make_bins(1))
    worth = effective(time, event, risk, np.ones(400), 0.5, np.ones(400, bool))
    assert counts.effective_n[0] == pytest.approx(worth, rel=1e-9)


def test_without_events_the_worth_is_the_share_that_is_not_censored():
    rows = SurvivalRows.read([1, 2, 5, 5], [0, 0, 0, 0], [0.1] * 4)
    counts = HorizonCounts.from_rows(rows, 4.0, make_bins(1))
    assert counts.effective_n.tolist() == pytest.approx([2.0])
    assert counts.effective_k.tolist() == [0.0]


@pytest.mark.parametrize(
    ("last", "followed"),
    [
        ((3.0, 0), False),  # the last row is censored before the horizon
        ((3.0, 1), True),  # the last row has the event: S = 0 from there on
        ((4.0, 0), True),  # censored exactly at the horizon: known to be free of events
        ((9.0, 1), True),
    ],
)
def test_a_bin_is_followed_to_the_horizon(last, followed):
    time, event = [1.0, 2.0, last[0], 1.5, 6.0], [1, 0, last[1], 1, 0]
    counts = HorizonCounts.from_rows(SurvivalRows.read(time, event, [0.2] * 3 + [0.8] * 2), 4.0, make_bins(2))
    assert counts.followed.tolist() == [followed, True]
    assert counts.not_followed == (0.0 if followed else 0.6)
    assert (counts.effective_n[0] > 0) == followed


def test_an_event_and_a_censoring_at_the_last_time_leave_the_bin_open():
    """One of two rows has the event, the other is censored then: the curve stays at 1/2 and nobody is left."""
    rows = SurvivalRows.read([3.0, 3.0, 9.0], [1, 0, 0], [0.2, 0.2, 0.8])
    counts = HorizonCounts.from_rows(rows, 4.0, make_bins(2))
    assert counts.followed.tolist() == [False, True]
    assert counts.accuracy.tolist() == [0.5, 0.0]


def test_without_censoring_all_sums_are_those_of_binned_counts():
    time, event, risk = simulated(500, 9)
    event[event == 0] = 2
    outcome = (event == 1) & (time <= 0.5)
    counts = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), 0.5, make_bins(10))
    plain = BinnedCounts.from_arrays(outcome, risk, bins=10, target="event")
    assert counts.rows == plain
    for name in ("n", "k", "accuracy", "effective_n", "effective_k", "share", "weight", "effective_rows"):
        assert np.array_equal(getattr(counts, name), getattr(plain, name), equal_nan=True), name
    assert counts.losses == plain.losses
    assert counts.log_losses == plain.log_losses


def test_counts_at_a_horizon_cannot_be_added():
    time, event, risk = simulated(100, 1)
    counts = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), 0.5, make_bins(2))
    with pytest.raises(TypeError, match=r"cannot be added.*SurvivalCounts"):
        counts + counts


@pytest.mark.parametrize("seed", range(20))
def test_weights_do_not_hide_that_the_last_row_is_censored(seed):
    """Sums of weights are rounded; nobody is left after the last row all the same."""
    rng = np.random.default_rng(seed)
    time = rng.permutation(30) + 1.0
    event = rng.integers(0, 2, 30)
    event[time.argmax()] = 0
    rows = SurvivalRows.read([*time, 99.0], [*event, 0], [0.2] * 30 + [0.8], rng.gamma(1.0, 1.0, 31))
    counts = HorizonCounts.from_rows(rows, 50.0, make_bins(2))
    assert counts.followed.tolist() == [False, True]
    assert counts.effective_n[0] == 0


def test_a_bin_does_not_depend_on_the_weights_of_other_bins():
    """Weights of one bin are 1e18 times as large, so that sums over both lose those of the other."""
    time, event, risk = [1, 2, 3, 9, 1, 2, 3, 9], [1, 0, 1, 0, 0, 1, 1, 0], [0.2] * 4 + [0.8] * 4
    weights = [2e18, 1e18, 3e18, 1e18, 1, 2, 1, 3]
    both = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk, weights), 4.0, make_bins(2))
    assert both.accuracy[1] == pytest.approx(1 - 4 / 6 * 3 / 4, rel=1e-14)
    assert both.accuracy[0] == pytest.approx(1 - 5 / 7 * 1 / 4, rel=1e-14)
    assert both.followed.all()


def test_no_more_events_than_rows_if_every_known_row_has_the_event():
    """Rounding of a sum of jumps must not exceed 1; the last row of each data set has the event."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        event = rng.integers(0, 2, 30)
        event[-1] = 1
        rows = SurvivalRows.read([*range(1, 31), 99], [*event, 0], [0.2] * 30 + [0.8])
        counts = HorizonCounts.from_rows(rows, 50.0, make_bins(2))
        assert counts.accuracy[0] == pytest.approx(1.0, rel=1e-13)
        assert counts.effective_k[0] <= counts.effective_n[0]


@pytest.mark.parametrize("scale", [4.0, 3.0, 1e-150, 1e150])
def test_the_scale_of_weights_does_not_matter(scale):
    time, event, risk = simulated(300, 12)
    weights = np.random.default_rng(13).gamma(2.0, 1.0, 300)
    one, other = (
        HorizonCounts.from_rows(SurvivalRows.read(time, event, risk, each), 0.5, make_bins(5))
        for each in (weights, scale * weights)
    )
    for name in ("accuracy", "effective_n", "effective_k", "share"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12), name
    some = one.losses.squares > 0
    ratios = other.losses.squares[some] / one.losses.squares[some]
    assert ratios == pytest.approx(ratios[0], rel=1e-12)
