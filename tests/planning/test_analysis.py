"""How many labels: against closed forms of one-bin problems, fresh data of the recommended size, and what must be 0."""

import numpy as np
import pytest
from pilots import ONE_BIN, PAIR, curved_pilot, one_bin_pilot, pair_of, ranked_counts, rows_of_two
from scipy import stats
from scipy.optimize import brentq

import bayescal as bc
from bayescal.estimands.area_under_roc import delong_variance
from bayescal.planning.analysis import labels_needed
from bayescal.planning.simulated import SimulatedRanks

#: Half-width of a Normal's central 95 %.
Z = 1.959964


@pytest.mark.measuring
@pytest.mark.parametrize(
    ("width", "keep", "draws"), [(0.03, True, 2000), (0.03, False, 2000), (0.015, True, 2000), (0.03, True, 200)]
)
def test_rows_for_a_width_are_those_of_the_beta_distribution(width, keep, draws):
    """sd of Beta(a, b) is sqrt(p (1 - p) / n): the width is 2 z times it, so n = (2 z / width)^2 p (1 - p)."""
    plan = labels_needed(
        one_bin_pilot(), width=width, assurance=0.5, keep_pilot=keep, simulations=300, draws=draws, rng=1, **ONE_BIN
    )
    total = (2 * Z / width) ** 2 * 0.8 * 0.2
    # the truth's p (1 - p) varies by 7.5 % given the pilot, an interval of 2000 draws by 2.3 %, so n by 9 %: the median
    # of 300 probit responses is known to about 1 %, and the scatter of seeds was 1.3 %
    assert plan.rows + (400 if keep else 0) == pytest.approx(total, rel=0.06)


@pytest.mark.slow
def test_the_recommended_size_meets_the_goal_as_often_as_asked():
    """Fresh truths and rows, their intervals from the Beta distribution's own quantiles."""
    plan = labels_needed(one_bin_pilot(60, 51), width=0.05, assurance=0.8, simulations=400, rng=2, **ONE_BIN)
    rng = np.random.default_rng(5)
    truth = rng.beta(51, 9, size=20_000)
    k = 51 + rng.binomial(plan.rows, truth)
    low, high = (stats.beta.ppf(q, k, 60 + plan.rows - k) for q in (0.025, 0.975))
    # a share of 0.8 is known from 400 simulations to 0.02 to 0.03, 3 sd; at one truth, 0.85, it would be 0.65
    assert (high - low <= 0.05).mean() == pytest.approx(0.8, abs=0.08)


@pytest.mark.measuring
def test_the_default_model_meets_its_goal_as_often_as_asked():
    """Rows one by one from truths of the pilot's posterior; 50 data sets: sd 2.8 of 40, and the plan's own 2.5."""
    pilot = curved_pilot()
    plan = labels_needed(pilot, width=0.05, simulations=100, draws=300, rng=4)
    assert plan.rows > 0
    rng = np.random.default_rng(6)
    truths = bc.shrinkage_posterior(pilot).sample(50, rng=rng)
    met = 0
    for mass, accuracy in zip(truths.mass, truths.accuracy, strict=True):
        at = rng.choice(len(mass), size=plan.rows, p=mass)
        new = bc.BinnedCounts.from_arrays(
            rng.random(plan.rows) < accuracy[at], pilot.mean_confidence[at], bins=pilot.bins.edges
        )
        low, high = bc.evaluate_counts(pilot + new, draws=300, rng=rng).ece.interval(0.95)
        met += high - low <= 0.05
    assert 29 <= met <= 49


def assurance(n, pilot, estimate, variance):
    """Share of studies in which the sign of a Normal mean is known to 95 %, with n rows besides the pilot's.

    The posterior mean is a martingale: given the pilot, N(estimate, variance (1 / pilot - 1 / (pilot + n))), and then
    its posterior variance is variance / (pilot + n).
    """
    scatter = np.sqrt(variance * (1 / pilot - 1 / (pilot + n)))
    needed = stats.norm.ppf(0.95) * np.sqrt(variance / (pilot + n))
    return stats.norm.sf((needed - estimate) / scatter) + stats.norm.cdf((-needed - estimate) / scatter)


@pytest.mark.slow
def test_rows_for_a_sign_are_those_of_the_normal_assurance():
    """Two models right in 0.75 and 0.70 of the rows, independently; both ECEs are accuracy minus 0.2."""
    known = {"pilot": 400, "estimate": 0.05, "variance": 0.75 * 0.25 + 0.7 * 0.3}
    exact = brentq(lambda n: assurance(n, **known) - 0.8, 10, 1e5)
    plan = labels_needed(pair_of([30, 70, 90, 210]), difference=0, simulations=300, draws=500, rng=1, **ONE_BIN)
    # simulation error of the share, 0.8 +- 0.025, 3 sd; and the answer is of the right size
    assert assurance(plan.rows, **known) == pytest.approx(0.8, abs=0.075)
    assert exact / 2 < plan.rows < exact * 2
    most = plan.curve()[-1]
    # smaller is better, and the second model's accuracy is nearer to the confidence
    assert most["second better"] > 0.7 > 0.3 > most["first better"]
    assert most["equal"] == 0


@pytest.mark.slow
def test_models_that_go_together_need_fewer_rows():
    """The same margins; outcomes that agree as often as they can have a difference with a smaller variance."""
    known = {"simulations": 100, "draws": 300, "rng": 1, "keep_pilot": False, **ONE_BIN}
    alike, apart = (labels_needed(pair_of(c), difference=0, **known) for c in ([100, 0, 20, 280], [30, 70, 90, 210]))
    assert alike.rows < apart.rows / 2


@pytest.mark.slow
def test_more_demanding_goals_need_more_rows():
    pilot, known = one_bin_pilot(), {"simulations": 100, "draws": 500, "rng": 1, **ONE_BIN}
    easy = labels_needed(pilot, width=0.04, assurance=0.6, **known)
    assert 0 < easy.rows < labels_needed(pilot, width=0.03, assurance=0.6, **known).rows
    assert easy.rows < labels_needed(pilot, width=0.04, assurance=0.95, **known).rows
    assert easy.rows < labels_needed(pilot, width=0.04, assurance=0.6, prob=0.99, **known).rows
    assert easy.rows_for(0.6) == easy.rows
    assert easy.rows_for(0.5) < easy.rows < easy.rows_for(0.8)


def test_more_simulations_make_the_interval_narrower():
    known = {"width": 0.03, "draws": 300, "rng": 1, **ONE_BIN}
    few, many = (labels_needed(one_bin_pilot(), simulations=s, **known) for s in (40, 400))
    assert np.log(many.interval[1] / many.interval[0]) < np.log(few.interval[1] / few.interval[0]) / 1.5
    assert many.interval[0] <= many.rows <= many.interval[1]
    assert sum(row["simulations"] for row in many.curve()) == 400


@pytest.mark.measuring
def test_one_model_under_two_names_is_equal_at_once():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    pair = bc.PairedCounts.from_arrays(y, p, y, p, target="event")
    plan = labels_needed(pair, difference=0.01, rng=1)
    assert plan.rows == 0
    assert "P(equal) = 1.00" in plan.sentence()
    # rows to come are the same for both names as well
    alone = labels_needed(pair, difference=0.01, keep_pilot=False, simulations=20, draws=200, rng=1)
    assert all(row["equal"] == 1 for row in alone.curve())
    assert alone.rows <= 2


@pytest.mark.measuring
def test_weights_that_are_equal_change_nothing():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p
    known = {"width": 0.05, "simulations": 20, "draws": 200, "rng": 1}
    plain, doubled = (
        labels_needed(bc.BinnedCounts.from_arrays(y, p, bins=5, weights=w), **known) for w in (None, np.full(200, 2.0))
    )
    assert plain.curve() == doubled.curve()


@pytest.mark.slow
def test_rows_worth_half_need_twice_as_many():
    """Weights 0 and 2 in turn: half of the rows count, so Kish's number of effective rows is half the number."""
    pilot, w = one_bin_pilot(400, 320), np.tile([0.0, 2.0], 400)
    outcome = np.repeat(np.arange(400) < 320, 2)
    weighted = bc.BinnedCounts.from_arrays(outcome, np.full(800, 0.2), bins=[0, 1], weights=w)
    known = {"width": 0.03, "assurance": 0.5, "simulations": 200, "draws": 500, "rng": 1, **ONE_BIN}
    assert labels_needed(weighted, **known).rows == pytest.approx(2 * labels_needed(pilot, **known).rows, rel=0.1)


@pytest.mark.measuring
def test_the_same_seed_gives_the_same_plan():
    known = {"width": 0.05, "simulations": 20, "draws": 200}
    assert (
        labels_needed(curved_pilot(), rng=1, **known).curve() == labels_needed(curved_pilot(), rng=1, **known).curve()
    )


# a limit, and other estimands


def limit_pilot(k=21):
    """100 rows at confidence 0.2, of which k have outcome 1; with ONE_BIN the posterior of the accuracy is a Beta."""
    return one_bin_pilot(100, k)


def p_near(limit, k, n):
    """P(|accuracy - 0.2| < limit) under Beta(k, n - k)."""
    return stats.beta.cdf(0.2 + limit, k, n - k) - stats.beta.cdf(0.2 - limit, k, n - k)


def exact_assurance(n, k, met, pilot=100):
    """Sum of beta-binomial probabilities of the new outcomes with which the posterior is sure."""
    new = np.arange(n + 1)
    return stats.betabinom.pmf(new, n, k, pilot - k)[met(k + new, pilot + n) >= 0.95].sum()


def test_rows_for_a_limit_are_those_of_the_exact_assurance():
    """For k = 21 and a limit of 0.07, the exact share is 0.64 with 200 rows, 0.80 with 1000, 0.91 with all."""
    plan = labels_needed(limit_pilot(), below=0.07, simulations=300, draws=1000, rng=1, **ONE_BIN)

    def met(k, n):
        return p_near(0.07, k, n)

    assert plan.reachable == pytest.approx(p_near(0.07, 21, 100), abs=0.02)
    assert exact_assurance(1000, 21, met) == pytest.approx(0.8, abs=0.001)
    # a share of 0.8 from 300 simulations: 0.023, 3 sd
    assert exact_assurance(plan.rows, 21, met) == pytest.approx(0.8, abs=0.07)
    for row in plan.curve():
        assert abs(row["share"] - exact_assurance(row["rows"], 21, met)) < 4 * row["se"]
    assert "a posterior probability of at least 0.95 that the ECE is below 0.07 with assurance 0.8" in plan.sentence()
    assert "With unlimited rows, the assurance is 0.9" in str(plan)
    assert plan.rows_for(0.95) is None


def test_a_limit_that_the_truth_may_exceed_is_not_promised():
    """For k = 25 and a limit of 0.08, unlimited rows give 0.762, and no number of rows gives more."""
    shares = [exact_assurance(n, 25, lambda k, n: p_near(0.08, k, n)) for n in (10, 100, 1000, 50_000)]
    assert max(shares) < p_near(0.08, 25, 100) == pytest.approx(0.762, abs=0.001)
    plan = labels_needed(limit_pilot(25), below=0.08, rng=1, **ONE_BIN)
    assert (plan.rows, plan.interval, plan.rows_for(0.5), plan.curve()) == (None, (None, None), None, [])
    assert plan.reachable == pytest.approx(0.762, abs=0.025)
    assert plan.sentence().startswith("No number of rows is recommended: with unlimited rows")
    assert "tends to 0.7" in plan.sentence()
    assert '"reachable": 0.7' in plan.to_json()
    # a smaller assurance can be planned
    assert labels_needed(limit_pilot(25), below=0.08, assurance=0.5, simulations=40, rng=1, **ONE_BIN).rows > 100


def test_a_pilot_that_is_sure_of_the_limit_is_enough():
    assert p_near(0.1, 21, 100) > 0.97
    plan = labels_needed(limit_pilot(), below=0.1, rng=1, **ONE_BIN)
    assert plan.rows == 0
    assert plan.sentence().startswith("No more rows are needed for a posterior probability of at least 0.95 that")


def test_larger_values_have_a_lower_limit():
    """Mean accuracy of one bin, Beta(85, 15): sure that it is above 0.8."""
    share = bc.Estimand("share_right", lambda b: (b.mass * b.accuracy).sum(axis=1), "share", better="larger")
    plan = labels_needed(limit_pilot(85), above=0.8, estimand=share, simulations=300, rng=1, **ONE_BIN)
    exact = exact_assurance(plan.rows, 85, lambda k, n: stats.beta.sf(0.8, k, n - k))
    assert exact == pytest.approx(0.8, abs=0.07)
    assert plan.reachable == pytest.approx(stats.beta.sf(0.8, 85, 15), abs=0.02)
    assert "that the share is above 0.8" in plan.sentence()


@pytest.mark.measuring
def test_errors_that_are_equal_have_equal_plans():
    """In one bin the l_2 error, the largest error and the absolute signed error equal the ECE."""
    known = {"simulations": 40, "draws": 200, "rng": 1, **ONE_BIN}
    for goal in ({"width": 0.05}, {"below": 0.07}):
        ece = labels_needed(limit_pilot(), **goal, **known)
        for name in ("l2_error", "e90_bins"):
            assert labels_needed(limit_pilot(), estimand=name, **goal, **known).curve() == ece.curve()
    signed = labels_needed(limit_pilot(), below=0.07, estimand="signed_error", **known)
    assert [row["share"] for row in signed.curve()] == [row["share"] for row in ece.curve()]
    assert "the absolute signed error is below 0.07" in signed.sentence()
    for name in ("ece", "l2_error"):
        curve = labels_needed(PAIR, difference=0.03, estimand=name, **known).curve()
        assert curve == labels_needed(PAIR, difference=0.03, **known).curve()


def test_rows_for_a_width_of_the_brier_score():
    """With confidence 0.2, squared errors are 0.04 and 0.64: the score is 0.04 + 0.6 times the accuracy."""
    plan = labels_needed(
        one_bin_pilot(),
        width=0.02,
        estimand="brier_score",
        assurance=0.5,
        simulations=200,
        draws=1000,
        rng=1,
        **ONE_BIN,
    )
    total = (2 * Z * 0.6 / 0.02) ** 2 * 0.8 * 0.2
    assert plan.rows + 400 == pytest.approx(total, rel=0.1)


def test_a_call_with_rows_is_told_that_counts_are_needed():
    with pytest.raises(
        TypeError, match=r"2 positional arguments .*It takes the counts of a pilot, as in `planning.labels_needed"
    ):
        labels_needed([0, 1], [0.2, 0.3], width=0.1)


# the log score and the area under the ROC curve


def test_rows_for_a_width_of_the_log_score():
    """With confidence 0.2, log losses are -log 0.8 and -log 0.2: the score is linear in the accuracy."""
    plan = labels_needed(
        one_bin_pilot(), width=0.05, estimand="log_score", assurance=0.5, simulations=200, draws=1000, rng=1, **ONE_BIN
    )
    total = (2 * Z * np.log(4) / 0.05) ** 2 * 0.8 * 0.2
    assert plan.rows + 400 == pytest.approx(total, rel=0.1)


def placements(y, p):
    """Share of rows with the other outcome that are ranked correctly relative to each row."""
    above = (p[y == 1][:, None] > p[y == 0]) + (p[y == 1][:, None] == p[y == 0]) / 2
    result = np.empty(len(y))
    result[y == 1], result[y == 0] = above.mean(axis=1), above.mean(axis=0)
    return result


def influences(y, p):
    """Influence of each row on the AUC: its mean is 0, and the variance of the AUC is its variance over n (DeLong)."""
    shares = np.where(y == 1, y.mean(), 1 - y.mean())
    deviation = placements(y, p)
    return (deviation - deviation[y == 1].mean()) / shares


def ranked_pair():
    y, p, q = rows_of_two()
    sides = [bc.Predictions.from_labels(y, each) for each in (p, q)]
    return bc.PairedCounts.from_predictions(*sides, ranked_counts(y, p), ranked_counts(y, q))


def test_rows_for_a_width_of_the_auc_are_those_of_delong():
    y, p, _ = rows_of_two()
    plan = labels_needed(
        ranked_counts(y, p), width=0.04, estimand="auc", assurance=0.5, simulations=200, draws=1000, rng=1, **ONE_BIN
    )
    total = (2 * Z / 0.04) ** 2 * influences(y, p).var()
    assert plan.rows + 400 == pytest.approx(total, rel=0.1)


def test_a_plan_of_the_auc_keeps_the_effect_of_weights_that_depend_on_scores():
    """As many rows as the pilot has give an interval like that of the pilot.

    By the variance of a weighted mean, it is wider than if weights had nothing to do with scores.
    """
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    weights = 1 / (0.1 + p)
    ev = bc.evaluate(rng.random(2000) < p, p, weights=weights, rng=1)
    pilot = ev.counts.ranks
    simulator = SimulatedRanks([ev.counts])
    simulated = [simulator.simulate([pilot.rows], 0.5, rng)[0] for _ in range(100)]
    assert delong_variance(pilot) > 1.2 * (pilot.spread / pilot.rows).sum()
    ratio = np.mean([delong_variance(each) for each in simulated]) / delong_variance(pilot)
    assert ratio == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(simulated[0].rows, pilot.rows, rtol=1e-12)


@pytest.mark.measuring
def test_the_auc_exceeds_its_limit_as_often_as_asked():
    """Truths by the Bayesian bootstrap of the pilot's rows (Rubin), and resampled rows; intervals by DeLong."""
    y, p, _ = rows_of_two()
    limit = placements(y, p)[y == 1].mean() - 0.02
    plan = labels_needed(
        ranked_counts(y, p), above=limit, estimand="auc", assurance=0.7, simulations=200, rng=1, **ONE_BIN
    )
    assert 50 < plan.rows < 20_000
    rng, met = np.random.default_rng(3), []
    weight, one = np.ones(len(y)), y == 1
    below = (p[:, None] > p) + (p[:, None] == p) / 2
    for _ in range(300):
        for rows in (one, ~one):
            weight[rows] = rng.dirichlet(np.ones(rows.sum()))
        shares = np.where(one, y.mean(), 1 - y.mean()) * weight
        n = 1 + rng.multinomial(plan.rows, shares / shares.sum())  # the pilot's rows, and the new ones
        placed = np.where(one, below @ (n * ~one) / n[~one].sum(), 1 - below @ (n * one) / n[one].sum())
        means = [np.average(placed[rows], weights=n[rows]) for rows in (one, ~one)]
        variance = sum(
            np.average((placed[rows] - mean) ** 2, weights=n[rows]) / n[rows].sum()
            for rows, mean in zip((one, ~one), means, strict=True)
        )
        met.append(means[0] - stats.norm.ppf(0.95) * np.sqrt(variance) > limit)
    # standard errors: 0.026 of these studies, and about 0.03 of the plan
    assert np.mean(met) == pytest.approx(0.7, abs=0.12)


@pytest.mark.measuring
@pytest.mark.parametrize("name", ["brier_score", "log_score", "auc"])
def test_rows_for_the_sign_of_a_difference_are_those_of_the_normal_assurance(name):
    y, p, q = rows_of_two()
    of = {
        "brier_score": lambda c: (y - c) ** 2,
        "log_score": lambda c: -np.log(np.where(y == 1, c, 1 - c)),
        "auc": lambda c: placements(y, c)[y == 1].mean() + influences(y, c),
    }[name]
    difference = of(p) - of(q)
    known = {"pilot": 400, "estimate": difference.mean(), "variance": difference.var()}
    plan = labels_needed(ranked_pair(), difference=0, estimand=name, simulations=200, draws=500, rng=1, **ONE_BIN)
    # simulation error of the share, 0.8 +- 0.03, 3 sd
    assert assurance(plan.rows, **known) == pytest.approx(0.8, abs=0.09)
    assert {"auc": " AUC, ", "brier_score": " Brier score, ", "log_score": " log score, "}[name] in plan.spec


def test_the_number_of_simulations_under_another_name():
    with pytest.raises(TypeError, match=r"'n_simulations'\. Here it is called 'simulations'"):
        bc.planning.labels_needed(curved_pilot(), width=0.1, n_simulations=50)
