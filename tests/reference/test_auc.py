"""Areas under ROC curves of scikit-learn and pROC on real data, and pROC's intervals after DeLong et al."""

import numpy as np
import pytest
from scipy.stats import norm

import bayescal as bc
from bayescal.estimands.area_under_roc import delong_variance


def test_every_record_is_reproduced(records, reference_data):
    found = {"scikit-learn": 0, "pROC": 0}
    for record in records("scores"):
        if "auc" not in record["call"]:
            continue
        data, package = reference_data(record["data"]), record["package"]
        score, outcome = (data[name] for name in record["view"].split(" vs "))
        counts = bc.evaluate(outcome, score, rng=1).counts
        area, tolerance = counts.ranks.auc, float(record["tolerance"].split()[1])
        assert bc.auc_grid_error(counts) == 0
        if package == "scikit-learn":
            assert area == pytest.approx(record["value"], rel=tolerance), record["id"]
        else:
            half = norm.ppf(0.975) * np.sqrt(delong_variance(counts.ranks))
            assert area == pytest.approx(record["value"]["auc"], rel=tolerance), record["id"]
            assert [area - half, area, area + half] == pytest.approx(record["value"]["ci"], rel=tolerance), record["id"]
        found[package] += 1
    assert found == {"scikit-learn": 9, "pROC": 9}


def test_the_posterior_is_near_the_interval_of_delong_for_many_rows(records, reference_data):
    (record,) = [r for r in records("scores") if r["data"] == "adult_sklearn" and "ci.auc" in r["call"]]
    data = reference_data("adult_sklearn")
    ev = bc.evaluate(data["labels"], data["lr_test"], draws=20_000, rng=1)
    low, _, high = record["value"]["ci"]
    assert ev.auc.interval(0.95) == pytest.approx((low, high), abs=0.03 * (high - low))
