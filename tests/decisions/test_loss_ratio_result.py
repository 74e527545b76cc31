"""LossRatio: its posterior against derivations, few rows, words and documents."""

import json

import numpy as np
import pytest
from recalibrated_rows import FOUND, PV, YV, P, T, Y, rows
from scipy import stats

import bayescal as bc


def test_draws_have_the_moments_of_a_dirichlet(close_to, mcse):
    """Rows with their losses, and 3 pseudo-rows: an eighth each is lost with t and with 1 - t, treated or not."""
    after = bc.IsotonicRecalibration().fit(PV, YV).transform(P)
    t, total = np.array(T), len(Y) + 3
    each = [np.array([np.where(p >= k, k * (1 - Y), (1 - k) * Y) for k in T]) for p in (P, after)]
    for drawn, lost in zip((FOUND.before.values, FOUND.after.values), each, strict=True):
        mean = (lost.sum(axis=1) + 3 / 4 * (t + (1 - t))) / total
        second = ((lost**2).sum(axis=1) + 3 / 4 * (t**2 + (1 - t) ** 2)) / total
        close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
        close_to(drawn.std(axis=0, ddof=1), np.sqrt((second - mean**2) / (total + 1)), mcse.sd(drawn))
    # of the pseudo-rows, 3 / 8 each change in either direction with either outcome, and lose or gain t, or 1 - t
    gap = (FOUND.after - FOUND.before).values
    mean = (each[1] - each[0]).sum(axis=1) / total
    second = (((each[1] - each[0]) ** 2).sum(axis=1) + 3 / 4 * (t**2 + (1 - t) ** 2)) / total
    close_to(gap.mean(axis=0), mean, mcse.mean(gap))
    close_to(gap.std(axis=0, ddof=1), np.sqrt((second - mean**2) / (total + 1)), mcse.sd(gap))
    np.testing.assert_allclose(FOUND.ratio.values, FOUND.after.values / FOUND.before.values)
    np.testing.assert_allclose(FOUND.mean_ratio.values, FOUND.ratio.values.mean(axis=1))


def test_one_threshold_is_the_posterior_of_two_models():
    """Kolmogorov-Smirnov: P-values below 1e-4 happen by chance once in 10 000. Priors differ by at most 0.08 rows."""
    after = bc.IsotonicRecalibration().fit(PV, YV).transform(P)
    gap = bc.decisions.net_benefit(Y, {"before": P, "after": after}, T, rng=2).difference("before", "after").values
    for k, t in enumerate(T):
        mine = (FOUND.after - FOUND.before).values[:, k]
        assert stats.ks_2samp(mine, (1 - t) * gap[:, k]).pvalue > 1e-4


def test_pseudo_rows_of_thresholds_are_independent():
    """Where all rows are treated rightly at both thresholds, losses are those of pseudo-rows alone."""
    p, y = np.repeat([0.1, 0.9], 200), np.repeat([0, 1], 200)
    p, y = np.append(p, 0.1), np.append(y, 1)
    found = bc.loss_ratio(y, p, YV, PV, [0.4, 0.6], rng=1)
    ratio = found.ratio.values
    assert found.changed.tolist() == [0, 0]
    assert abs(np.corrcoef(np.log(ratio), rowvar=False)[0, 1]) < 5 / np.sqrt(len(ratio))


def test_where_no_decision_changes_the_ratio_is_not_certain():
    """No test row lies between the threshold and its image: the interval is not the single value 1."""
    p = np.repeat([0.1, 0.9], 150)
    y = (np.random.default_rng(4).random(300) < p).astype(int)
    found = bc.loss_ratio(y, p, YV, PV, 0.5, rng=1)
    assert found.changed.tolist() == [0]
    assert found.observed[1] / found.observed[0] == 1
    low, high = found.ratio.interval()
    assert 0.8 < low[0] < 0.99
    assert 1.01 < high[0] < 1.2
    assert any("fewer than 15 test rows changes at 0.5" in remark for remark in found.sheet().remarks)


@pytest.mark.parametrize(("changed", "few"), [(14, True), (15, False)])
def test_few_changed_decisions_are_remarked(changed, few):
    """Scores of 0.5 are raised above 0.55 by the validation rows, in which all of them have the event."""
    yv, pv = np.repeat([0, 1, 1], 100), np.repeat([0.2, 0.5, 0.8], 100)
    p = np.repeat([0.2, 0.5, 0.8], [200, changed, 200])
    y = np.arange(len(p)) % 2
    weights = np.append(np.ones(len(p)), 0.0)  # a row without weight does not count
    weighted = bc.loss_ratio(np.append(y, 1), np.append(p, 0.5), yv, pv, 0.55, weights=weights, rng=1)
    assert weighted.few_changed.tolist() == [few]
    found = bc.loss_ratio(y, p, yv, pv, 0.55, rng=1)
    assert found.changed.tolist() == [changed]
    assert found.few_changed.tolist() == [few]
    assert any("The decision of fewer than 15" in remark for remark in found.sheet().remarks) is few
    assert found.sheet().rows[0][-1] == str(changed)


def test_few_wrong_decisions_are_remarked():
    alone = bc.loss_ratio([1], [0.3], YV, PV, 0.5, rng=1)
    assert any("Fewer than 5 test rows are decided wrongly" in remark for remark in alone.sheet().remarks)
    assert not any("decided wrongly" in remark for remark in FOUND.sheet().remarks)


def test_loss_and_net_benefit_are_one():
    """L(t) = (1 - t) (prevalence - NB(t))."""
    observed = bc.decisions.net_benefit(Y, P, T, rng=1).observed["model"]
    np.testing.assert_allclose(FOUND.observed[0], (1 - np.array(T)) * (Y.mean() - observed), rtol=1e-12)


def test_draws_of_separate_results_do_not_combine():
    other = bc.loss_ratio(*rows(600, 4), YV, PV, T, rng=1)
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = FOUND.mean_ratio - other.mean_ratio
    assert not (FOUND.ratio - bc.loss_ratio(Y, P, YV, PV, T, rng=1).ratio).values.any()


def test_words_and_documents(tmp_path):
    assert FOUND.mean_ratio.interval()[1] < 1
    assert FOUND.sentence().startswith("Isotonic recalibration on 400 validation rows lowers the loss of decisions")
    same = bc.loss_ratio(*rows(600, 4), *rows(400, 5), T, rng=1)
    assert "raises" in same.sentence()
    assert [row["threshold"] for row in FOUND.table()] == T
    assert FOUND.c_emp == bc.cumulative_difference(Y, P).kuiper
    whole = bc.loss_ratio(Y, P, YV, PV, rng=1)
    assert "The table shows 9 of 19 thresholds" in str(whole)
    assert json.loads(FOUND.to_json())["kind"] == "LossRatio"
    assert FOUND.to_html(tmp_path / "page.html").is_file()
