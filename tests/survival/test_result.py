"""Results of survival evaluations: the ratio of observed to expected events, several horizons, and remarks."""

import numpy as np
import pytest
from censored_rows import simulated
from reference_rows import reference_rows

import bayescal as bc
from bayescal.survival.result import _trend, expects_events, observed_ratio

#: Scores that scikit-survival 0.28.0 computes for `reference_rows` at 0.3, 0.6 and 0.9.
SKSURV_BRIER, SKSURV_IBS = [0.07565414090187805, 0.13541423618771253, 0.1655811960100406], 0.12801595232183594
SKSURV_AUC = [0.7527144718804958, 0.8038507092843978, 0.8007354331546574]


def test_the_ratio_of_observed_to_expected_events():
    """Means and variances of the Beta and Dirichlet distributions give those of the ratio, without simulation."""
    time, event, risk = simulated(4000, rate=0.7)
    ev = bc.evaluate_survival(time, event, risk, horizon=1, rng=1, draws=20_000)
    counts = ev.counts
    used = counts.occupied
    n, k, mean = counts.effective_n[used], counts.effective_k[used], counts.mean_confidence[used]
    a, b = k + mean, n - k + 1 - mean
    theta, variance = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)
    mass = ev.posterior.mass_parameters[used]
    mass /= mass.sum()
    expected = mass @ mean
    ratio = ev.observed_expected
    standard_error = np.sqrt(mass**2 @ variance) / expected / np.sqrt(20_000)
    assert ratio.mean() == pytest.approx(mass @ theta / expected, abs=6 * standard_error)
    # masses vary little, and their effect on numerator and denominator nearly cancels in calibrated data
    assert ratio.sd() == pytest.approx(np.sqrt(mass**2 @ variance) / expected, rel=0.05)
    # joint with the other draws: a positive signed error goes with a ratio above 1
    assert np.corrcoef(ratio.values, ev.signed_error.values)[0, 1] > 0.5
    assert (ratio * ev.ece).mean() > 0


def test_several_horizons():
    time, event, risk = simulated(1500)
    at = [0.3, 0.6, 1.0]
    risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)
    every = bc.evaluate_survival(time, event, risks, horizon=at, rng=1, draws=300)
    assert list(every) == at == list(every.horizons)
    alone = bc.evaluate_survival(time, event, risks[:, 1], horizon=0.6, rng=every.seeds[0.6], draws=300)
    assert np.array_equal(alone.ece.values, every[0.6].ece.values)
    assert [row["n_events"] for row in every.table()] == [int(each.counts.k.sum()) for each in every.values()]
    assert "Of 3 horizons" in str(every)
    assert every.to_frame().index.tolist() == at
    with pytest.raises(KeyError, match=r"no horizon 0\.5"):
        every[0.5]
    ratio = every.table(estimand="observed_expected")[0]
    assert ratio["mean"] == every[0.3].observed_expected.mean()


def test_scores_over_time_are_those_of_scikit_survival():
    """`brier_score(y, y, 1 - risks, at)`, `integrated_brier_score` and `cumulative_dynamic_auc(y, y, risks, at)`.

    One bin has one censoring curve, and times have no ties: the definitions are the same.
    """
    time, event, risk = reference_rows()
    at = [0.3, 0.6, 0.9]
    risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)
    several = bc.survival.evaluate(time, event, risks, horizon=at, bins=1, rng=1, draws=1000)
    briers = [each.plug_in_of("brier_score") for each in several.values()]
    assert briers == pytest.approx(SKSURV_BRIER, rel=1e-9)
    assert several.observed_integrated() == pytest.approx(SKSURV_IBS, rel=1e-9)
    assert [each.plug_in_of("auc") for each in several.values()] == pytest.approx(SKSURV_AUC, rel=1e-9)
    # by the trapezoidal rule with equal steps
    assert several.observed_integrated("auc") == pytest.approx(np.array(SKSURV_AUC) @ [0.25, 0.5, 0.25], rel=1e-9)


def test_draws_over_time_are_joint():
    """The standard deviation of the integrated score is that of an infinitesimal jackknife, by leaving out rows."""
    time, event, risk = simulated(300, rate=0.5)
    at = [0.3, 0.5, 0.7]
    risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)

    def observed(kept):
        several = bc.survival.evaluate(
            time[kept], event[kept], risks[kept], horizon=at, bins=1, rng=1, draws=50, model="dirichlet"
        )
        return [several.observed_integrated(), several.observed_integrated("auc")]

    several = bc.survival.evaluate(time, event, risks, horizon=at, bins=1, rng=1, draws=4000, model="dirichlet")
    part = np.array_split(np.random.default_rng(1).permutation(300), 60)
    left_out = np.array([observed(np.delete(np.arange(300), each)) for each in part])
    jackknife = np.sqrt(59 / 60 * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    for name, sd in zip(("brier_score", "auc"), jackknife, strict=True):
        drawn, joint = several.integrated(name), several.joint(name)
        assert drawn.sd() == pytest.approx(sd, rel=0.35)  # 60 parts: a standard error of 10 %
        assert np.corrcoef(joint.values.T)[0, 2] > 0.3
        for i, each in enumerate(several.values()):
            assert np.sort(joint.values[:, i]).tolist() == np.sort(each.draws(name).values).tolist()
    with pytest.raises(ValueError, match="estimand"):
        several.integrated("ece")
    one = bc.survival.evaluate(time, event, risks[:, :1], horizon=at[:1], rng=1, draws=50)
    with pytest.raises(ValueError, match="at least two horizons"):
        one.integrated()


def test_without_expected_events_there_is_no_ratio():
    time, event, _ = simulated(100)
    ev = bc.evaluate_survival(time, event, np.zeros(100), horizon=0.5, rng=1, draws=100)
    assert "observed / expected" not in str(ev)
    assert "observed_expected" not in ev.to_json()
    assert "observed_expected" not in ev.to_datatree()["posterior"]
    with pytest.raises(ValueError, match="all stated risks are 0: no event is expected"):
        ev.observed_expected.mean()
    both = bc.evaluate_survival(time, event, np.zeros((100, 2)), horizon=[0.2, 0.5], rng=1, draws=100)
    assert len(str(both)) > 100


def test_plug_in_values_and_those_of_a_calibrated_classifier_leave_out_bins_that_are_not_followed():
    """Both describe the same bins: those of a data set without the rows of the other bins."""
    time, event, risk = simulated(2000)
    top = risk >= 0.8
    event[top & (time >= 0.4)] = 0
    time[top] = np.minimum(time[top], 0.4)
    ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=4000)
    assert 0 < ev.not_followed < 0.05
    rest = bc.evaluate_survival(time[~top], event[~top], risk[~top], horizon=0.5, rng=1, draws=4000)
    for name in ("ece", "l2_error", "e90_bins", "signed_error"):
        assert ev.plug_in_of(name) == pytest.approx(rest.plug_in_of(name), rel=1e-12), name
    assert ev.null.mean() == pytest.approx(rest.null.mean(), abs=6 * rest.null.sd() / np.sqrt(2000))
    by_name = {row["quantity"]: row["plug_in"] for row in ev.table()}
    of_rest = {row["quantity"]: row["plug_in"] for row in rest.table()}
    assert by_name["observed_expected"] == pytest.approx(of_rest["observed_expected"], rel=1e-12)
    assert "Plug-in values leave them out" in str(ev).replace("\n", " ")


def test_survival_probabilities_and_a_horizon_without_events_are_suspected():
    time, event, risk = simulated(400)
    reversed_risks = bc.evaluate_survival(time, event, 1 - risk, horizon=0.5, rng=1, draws=100)
    assert any("Are these survival probabilities? Then pass 1 minus them." in text for text in reversed_risks.remarks)
    early = bc.evaluate_survival(time + 1, event, risk, horizon=0.5, rng=1, draws=100)
    assert any(f"by the horizon 0.5, and {risk.sum():.0f} are expected" in text for text in early.remarks)
    for ev in (
        bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=100),
        bc.evaluate_survival(time, event, np.full(400, 0.2), horizon=0.5, rng=1, draws=100),
        bc.evaluate_survival(time + 1, event, risk / 50, horizon=0.5, rng=1, draws=100),  # fewer than 8 are expected
    ):
        assert not any("survival probabilities" in text or "No event" in text for text in ev.remarks)


def test_the_trend_is_that_of_cochran_and_armitage():
    """40 events in 60 rows and 10 in 40: the test of two proportions, with a share of 1/2 in both together."""
    z = (1 / 4 - 2 / 3) / np.sqrt(1 / 4 * (1 / 60 + 1 / 40))
    assert _trend(np.array([60.0, 40.0]), np.array([40.0, 10.0]), np.array([0.2, 0.8])) == pytest.approx(z, rel=1e-12)


#: Distributions of risks, Beta(a, b), with AUC from 0.56 to 0.8, and numbers of rows.
RISKS = [(1.2, 2.4, 216), (2, 5, 216), (6, 16, 216), (1, 8, 400), (5, 5, 400), (8, 2, 216)]


def suspected(stated, time, event, **options):
    ev = bc.evaluate_survival(time, event, stated, rng=1, draws=100, **options)
    return any("Are these survival probabilities" in text for text in ev.remarks)


@pytest.mark.filterwarnings("ignore::bayescal.survival.analysis.NotFollowedWarning")
@pytest.mark.parametrize(("a", "b", "n"), RISKS)
def test_survival_probabilities_are_suspected_and_risks_are_not(a, b, n):
    """In 12 data sets, half of them with a competing cause: 1 minus the risk is suspected, the risk is not.

    The AUC of 1 minus the risk is below 0.5, or its ratio to the events far from 1. For calibrated risks the AUC is
    above 0.5, so that its 95 % interval lies below 0.5 in fewer than 1 of 40 data sets; seeds are fixed.
    """
    fired = []
    for seed in range(12):
        rng = np.random.default_rng([seed, n, int(a)])
        risk = rng.beta(a, b, n)
        first = rng.random(n) < risk
        died = np.where(first, 1 - rng.random(n), np.inf)  # by the horizon 1 with the probability of the risk
        other = np.where(first | (seed % 2 == 0), np.inf, rng.exponential(3.0, n))
        lost = np.minimum(rng.exponential(3.0, n), 2.0)
        time = np.minimum(np.minimum(died, other), lost)
        event = np.select([time == died, time == other], [1, 2], 0)
        fired.append([suspected(stated, time, event, horizon=1.0) for stated in (1 - risk, risk)])
    wrong, right = np.sum(fired, axis=0)
    assert wrong >= 10
    assert right == 0


def test_rows_whose_auc_is_below_a_half_are_suspected():
    """216 rows with an AUC of 0.35: the trend over bins alone is not below -4, and the ratio is near 1."""
    rng = np.random.default_rng(2)
    risk = rng.beta(4, 8, 216)
    died = rng.random(216) < 0.45 * (1 - risk) ** 1.5 + 0.02
    ev = bc.evaluate_survival(np.where(died, 1.0, 3.0), died, risk, horizon=2, rng=1, draws=500)
    counts = ev.counts
    used = counts.occupied
    assert ev.plug_in_of("auc") == pytest.approx(0.35, abs=0.005)
    assert -4 < _trend(counts.effective_n[used], counts.effective_k[used], counts.mean_confidence[used]) < -2
    low, high = ev.auc.interval(0.95)
    assert any(f"(AUC {low:.2f} to {high:.2f}). Are these survival prob" in text for text in ev.remarks)


def test_the_observed_ratio_by_hand():
    """2 events of 3 rows, and risks that add up to 1; without rows there is no ratio."""
    assert observed_ratio(bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.3, 0.5])) == pytest.approx(2, rel=1e-15)
    assert np.isnan(observed_ratio(bc.BinnedCounts.empty(5)))


@pytest.mark.parametrize(("risk", "expected"), [([0.0, 0.0], False), ([0.0, 0.1], True), ([], True)])
def test_events_are_expected_if_a_risk_is_above_0(risk, expected):
    counts = bc.BinnedCounts.from_arrays([0, 1], risk) if risk else bc.BinnedCounts.empty(10)
    assert expects_events(counts) is expected
