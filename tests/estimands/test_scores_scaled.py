"""The scaled Brier score: by hand, against rows, jointly for several classifiers, and where it is refused."""

import numpy as np
import pytest
from scipy.special import expit

import bayescal as bc
from bayescal.estimands.scores import joint_scaled_brier_scores

RNG = np.random.default_rng(4)
X = RNG.normal(-1, 1.2, 20_000)
Y = (RNG.random(20_000) < expit(X)).astype(int)
P, Q = expit(1.4 * X), expit(X + RNG.normal(0, 0.5, 20_000))


def of_rows(y, p, weights=None):
    """1 - Brier score / (share of events * share of others), as scikit-learn computes the Brier score."""
    from sklearn.metrics import brier_score_loss

    rate = np.average(y, weights=weights)
    return 1 - brier_score_loss(y, p, sample_weight=weights) / (rate * (1 - rate))


def influence(y, loss):
    """Influence of each row on 1 - mean(loss) / (rate (1 - rate)): the first-order change if its weight changes."""
    rate, mean = y.mean(), loss.mean()
    variance = rate * (1 - rate)
    return -(loss - mean) / variance + mean * (1 - 2 * rate) / variance**2 * (y - rate)


def test_the_observed_score_by_hand_and_from_rows():
    """Outcomes 0, 0, 1 and probabilities 0.2, 0.4, 0.9: 0.07 / (2/9) = 0.315."""
    three = bc.evaluate([0, 0, 1], [0.2, 0.4, 0.9], bins=2, rng=1)
    assert three.plug_in_of("scaled_brier_score") == pytest.approx(1 - 0.07 * 4.5)
    for weights in (None, RNG.exponential(size=len(Y))):
        ev = bc.evaluate(Y, P, weights=weights, draws=50, rng=1)
        assert ev.plug_in_of("scaled_brier_score") == pytest.approx(of_rows(Y, P, weights), rel=1e-10)
    constant = bc.evaluate(Y, np.full(len(Y), Y.mean()), rng=1)
    assert constant.plug_in_of("scaled_brier_score") == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("bins", [1, 15])
def test_draws_have_the_mean_and_spread_of_the_rows(bins, close_to):
    """With 20 000 rows the posterior is that of the influence of the rows; 4000 draws."""
    ev = bc.evaluate(Y, P, bins=bins, rng=1)
    drawn, sd = ev.scaled_brier_score, influence(Y, (Y - P) ** 2).std() / np.sqrt(len(Y))
    close_to(drawn.mean(), of_rows(Y, P), sd / np.sqrt(4000) + 1e-3 * sd)
    assert drawn.sd() == pytest.approx(sd, rel=0.06)
    assert drawn.values.max() < 1
    if bins == 15:
        assert np.corrcoef(drawn.values, ev.brier_score.values)[0, 1] < -0.5


def test_differences_have_the_spread_of_the_rows():
    """The difference has the influence of the difference of the losses; two names of one classifier do not differ."""
    compared = bc.compare(Y, {"a": P, "b": Q, "same": P}, rng=1)
    difference = compared.difference("a", "b", "scaled_brier_score")
    loss = (Y - P) ** 2 - (Y - Q) ** 2
    assert difference.mean() == pytest.approx(of_rows(Y, P) - of_rows(Y, Q), abs=2e-4)
    assert difference.sd() == pytest.approx(influence(Y, loss).std() / np.sqrt(len(Y)), rel=0.06)
    joint = compared.draws("scaled_brier_score").values
    for i, stated in enumerate((P, Q)):  # each has the covariance of outcome and squared error
        assert joint[:, i].std() == pytest.approx(influence(Y, (Y - stated) ** 2).std() / np.sqrt(len(Y)), rel=0.06)
    assert compared.difference("a", "same", "scaled_brier_score").sd() == 0
    assert bc.estimands.registered()["scaled_brier_score"].best("event") == "largest scaled Brier score"


def test_margins_of_joint_draws_with_few_events():
    """The event rate is Beta(k + 1/2, n - k + 1/2), whose draws stay in (0, 1): scores are finite and below 1."""
    y, p = np.r_[np.ones(2), np.zeros(58)].astype(int), np.r_[0.4, 0.05, np.linspace(0.01, 0.2, 58)]
    pair = bc.PairedCounts.from_arrays(y, p, y, p[::-1].copy(), bins=5)
    drawn = joint_scaled_brier_scores([pair.first, pair.second], {(0, 1): pair}, 4000, rng=1)
    assert np.isfinite(drawn).all()
    assert drawn.max() <= 1
    assert np.median(drawn[:, 0]) == pytest.approx(of_rows(y, p), abs=0.2)


def test_refusals_name_what_is_missing():
    for y, missing in ((np.zeros(50, int), "1 more row of outcome 1"), (np.ones(50, int), "1 more row of outcome 0")):
        ev = bc.evaluate(y, P[:50], rng=1)
        assert not hasattr(ev, "scaled_brier_score")
        with pytest.raises(ValueError, match=missing):
            _ = ev.scaled_brier_score
        assert np.isnan(ev.plug_in_of("scaled_brier_score"))
    clustered = bc.evaluate(Y[:400], P[:400], cluster=np.arange(400) // 4, rng=1)
    assert not hasattr(clustered, "scaled_brier_score")
    with pytest.raises(ValueError, match="of rows in clusters has no interval"):
        _ = clustered.scaled_brier_score
