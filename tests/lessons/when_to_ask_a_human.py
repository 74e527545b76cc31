"""Checks of the statements in `notebooks/17_when_to_ask_a_human.ipynb`."""

import numpy as np


def check_the_curve(kept, right, confidence):
    assert kept.observed["model"][89] < 0.0005
    assert np.median(confidence[~right]) < np.quantile(confidence, 0.05)
    first = kept.table()[0]
    assert first["share"] == 0.01
    assert first["observed"] == 0
    assert first["high"] > 0.03
    assert kept.table()[0]["mean"] > kept.table()[49]["mean"]


def check_the_band_is_wider(risk):
    (low, high), (least, most) = risk.interval(0.95), risk.band(0.95)
    assert (least <= low).all()
    assert (most >= high).all()
    assert ((least <= risk.values) & (risk.values <= most)).all(axis=1).mean() >= 0.949


def check_how_many_can_be_kept(kept):
    share = kept.largest_share(0.01)["model"]
    assert 0.95 < share.mean() < 0.965
    assert abs((share > 0.95) - 0.75) < 0.01


def check_the_mean_is_too_large_in_nearly_half_of_the_draws(kept):
    for limit in (0.01, 0.02):
        share = kept.largest_share(limit)["model"].values
        assert 0.38 < np.mean(share < share.mean()) < 0.52


def check_the_promises_hold_in_the_other_half(chosen_on, confidence, right, half):
    for limit in (0.01, 0.02):
        found = chosen_on.threshold(limit, prob=0.9)
        assert np.mean(~right[~half][confidence[~half] >= found.confidence]) <= limit


def check_many_halves(met, shares):
    posterior, conformal = np.mean(met, axis=0)
    assert abs(posterior - 0.92) < 0.01
    assert conformal == 1
    of_posterior, of_conformal = np.mean(shares, axis=0)
    assert 0.94 < of_conformal < 0.955 < of_posterior


def check_a_recalibration_changes_no_curve(both, confidence, after):
    assert np.abs(both.difference().values).max() == 0
    order = np.argsort(confidence)
    assert (np.diff(after[order])[np.diff(confidence[order]) > 0] > 0).all()


def check_recalibration_repairs_the_forest(confidence, after, right, half):
    import bayescal as bc

    before, repaired = (
        bc.evaluate(right[~half], each[~half], target="confidence", rng=1).ece.mean() for each in (confidence, after)
    )
    assert abs(before - 0.20) < 0.005
    assert abs(repaired - 0.01) < 0.005


def check_the_forest_is_probably_better(gap, two):
    assert (gap > 0) > 0.95
    low, high = two.difference("logistic", "forest").interval(0.95)
    assert np.isclose(two.shares[89], 0.9)
    assert abs(low[89] - 0.003) < 0.0005
    assert abs(high[89] - 0.012) < 0.0005
    widths = [np.diff(two.risk[name].interval(0.95), axis=0)[0][89] for name in two.classifiers]
    assert two.risk["forest"].interval(0.95)[1][89] < two.risk["logistic"].mean()[89]
    assert max(widths) < 0.01


def check_suggestions(top, asked):
    first, _, third = (ev.accuracy.mean() for ev in top.values())
    assert 0.55 < first < 0.65
    assert 0.9 < third < 0.98
    assert 90 < asked.sum() < 110


def check_exercise_1(of_bayes, bayes, y, sure):
    assert sure.sum() == 1299
    assert abs(np.mean(bayes.argmax(axis=1)[sure] != y[sure]) - 0.079) < 0.0005
    assert of_bayes.largest_share(0.02)["model"].values.max() == 0
    assert np.isinf(of_bayes.threshold(0.02).confidence)


def check_exercise_2(ece, power, confidence):
    assert ece.mean() < 0.01
    same = np.round(confidence, 3) == 0.5
    assert len(np.unique(power.max(axis=1)[same])) > 1


def check_exercise_3(of_known, new, right):
    assert of_known.observed_risk < 0.02
    assert np.mean(~right[new]) > 2 * of_known.risk
